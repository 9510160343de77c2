//! Comprehensions without conditions: every element by its place in the order of the generators.
//!
//! Before:  `v = [w[i] * x | i in 0..3, x in xs]`
//! After:   what flows back to `v[i * n + k]`, where `xs` has `n` elements, flows to `w[i]` and `xs[k]`
//!
//! Refuses: conditions, and generators whose length depends on earlier ones. Where an element stands
//! is then known only after all before it.

use super::{Done, Reverse, Step, element, proved, unsupported};
use crate::autodiff::rename::Renaming;
use ein_ir::tensor::{Binder, CompClause, Expr, ExprKind, Pattern, Type, VarId};
use ein_scalar::BinaryOp;
use rustc_hash::FxHashSet;

impl Reverse<'_, '_> {
    /// A comprehension, with the cotangent of all of it.
    pub(super) fn pull_comprehension(&mut self, e: &Expr, bar: &Expr) -> Done {
        let span = e.span;
        let copy = self.pass.freshened(e, &mut Renaming::default());
        let ExprKind::Comprehension { clauses, body } = &*copy.kind else {
            return unsupported("a comprehension");
        };
        let mut place: Option<Expr> = None;
        let mut bound = Vec::new();
        let mut inside: FxHashSet<VarId> = FxHashSet::default();
        for clause in clauses {
            match clause {
                CompClause::Generator(pattern, source) => {
                    let (at, count) = self.generator(pattern, source, &mut inside, &mut bound)?;
                    place = Some(match place {
                        None => at,
                        Some(before) => {
                            let before = self.pass.arith(BinaryOp::Mul, before, count);
                            self.pass.arith(BinaryOp::Add, before, at)
                        }
                    });
                }
                CompClause::Binding(var, value) => {
                    self.local(*var, value, &mut bound);
                    inside.insert(*var);
                }
                CompClause::Condition(_) => return unsupported("a comprehension with a condition"),
            }
        }
        let Some(place) = place else { return unsupported("a comprehension") };
        let mut at = vec![place];
        let mut inner = Vec::new();
        for axis in body.ty.axes().to_vec() {
            inner.push(self.full_loop(&axis.size, span));
        }
        at.extend(inner.iter().cloned());
        let read = self.indexed(body, inner.into_iter().map(proved).collect(), span)?;
        self.pull(&read, element(bar.clone(), &at, span), None)?;
        self.settle_all(&bound)
    }

    /// The loop of a generator: the number of the element, and how many there are.
    fn generator(
        &mut self,
        pattern: &Pattern,
        source: &Expr,
        inside: &mut FxHashSet<VarId>,
        bound: &mut Vec<(VarId, Expr)>,
    ) -> Done<(Expr, Expr)> {
        let span = source.span;
        let mut used = FxHashSet::default();
        self.variables(source, &mut used);
        if !used.is_disjoint(inside) {
            return unsupported("a generator that depends on another one");
        }
        match (&*source.kind, pattern) {
            (ExprKind::Range(lo, hi), Pattern::Bind(var)) if lo.ty == Type::I32 => {
                let (lo, hi) = (self.prim(lo), self.prim(hi));
                let count = self.pass.arith(BinaryOp::Sub, hi.clone(), lo.clone());
                self.push(Step::Loop(Binder { var: *var, lo: lo.clone(), hi }));
                inside.insert(*var);
                let at = self.pass.var(*var, span);
                Ok((self.pass.arith(BinaryOp::Sub, at, lo), count))
            }
            (_, Pattern::Bind(var)) if source.ty.is_array() => {
                let count = source.ty.axes()[0].size.clone();
                let at = self.full_loop(&count, span);
                let item = self.indexed(source, vec![proved(at.clone())], span)?;
                self.local(*var, &item, bound);
                inside.insert(*var);
                Ok((at, Expr::size(count, span)))
            }
            _ => unsupported("a generator of this kind"),
        }
    }
}
