//! Comprehensions: every element by its place in the order of the generators.
//!
//! Before:  `v = [w[i] * x | i in 0..3, x in xs]`
//! After:   what flows back to `v[i * n + k]`, where `xs` has `n` elements, flows to `w[i]` and `xs[k]`
//!
//! With conditions, or generators that depend on earlier ones, where an element stands is known only
//! after all before it. Then what the generators were at is collected in the same way:
//!
//! Before:  `v = [w[i] * x | i in 0..3, x in xs, x > 0.0]`
//! After:   `is = [i | i in 0..3, k in 0..n, x = xs[k], x > 0.0]`, `ks` likewise, and what flows back to
//!          `v[p]` flows to `w[is[p]]` and `xs[ks[p]]`

use super::{Done, Reverse, Step, element, proved, unsupported};
use crate::autodiff::pattern::bound_by;
use crate::autodiff::rename::Renaming;
use ein_base::Span;
use ein_ir::tensor::{Axis, Binder, CompClause, Expr, ExprKind, Pattern, Type, VarId};
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
        if self.is_irregular(clauses) {
            return self.pull_collected(clauses, body, bar, span);
        }
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
                CompClause::Condition(_) => return unsupported("a condition"),
            }
        }
        let Some(place) = place else { return unsupported("a comprehension") };
        self.pull_element(body, bar, place, span)?;
        self.settle_all(&bound)
    }

    /// The element of a comprehension that stands at a place.
    fn pull_element(&mut self, body: &Expr, bar: &Expr, place: Expr, span: Span) -> Done {
        let mut at = vec![place];
        let mut inner = Vec::new();
        for axis in body.ty.axes().to_vec() {
            inner.push(self.full_loop(&axis.size, span));
        }
        at.extend(inner.iter().cloned());
        let read = self.indexed(body, inner.into_iter().map(proved).collect(), span)?;
        self.pull(&read, element(bar.clone(), &at, span), None)
    }

    /// Whether the place of an element depends on what the generators give.
    fn is_irregular(&self, clauses: &[CompClause]) -> bool {
        let mut inside = Vec::new();
        clauses.iter().any(|clause| match clause {
            CompClause::Generator(pattern, source) => {
                let mut used = FxHashSet::default();
                self.variables(source, &mut used);
                let depends = inside.iter().any(|var| used.contains(var));
                bound_by(pattern, &mut inside);
                depends
            }
            CompClause::Binding(var, _) => {
                inside.push(*var);
                false
            }
            CompClause::Condition(_) => true,
        })
    }

    /// A comprehension whose elements stand where the generators and conditions put them.
    fn pull_collected(
        &mut self,
        clauses: &[CompClause],
        body: &Expr,
        bar: &Expr,
        span: Span,
    ) -> Done {
        let (collecting, positions) = self.collecting(clauses)?;
        let extent = bar.ty.axes()[0].size.clone();
        let ty = Type::array(Type::I32, vec![Axis::anonymous(extent.clone())]);
        let mut collected = Vec::new();
        for var in positions {
            let body = self.pass.var(var, span);
            let kind = ExprKind::Comprehension { clauses: collecting.clone(), body };
            let all = self.prim(&Expr::new(kind, ty.clone(), span));
            collected.push(self.bind("$at", all));
        }
        let place = self.full_loop(&extent, span);
        let mut bound = Vec::new();
        let mut collected = collected.into_iter();
        for clause in clauses {
            match clause {
                CompClause::Generator(Pattern::Bind(var), source) => {
                    let Some(all) = collected.next() else {
                        return unsupported("a comprehension");
                    };
                    let at = element(all, std::slice::from_ref(&place), span);
                    let item = match &*source.kind {
                        ExprKind::Range(..) => at,
                        _ => {
                            let at = self.bind("$p", at);
                            self.indexed(source, vec![proved(at)], span)?
                        }
                    };
                    self.local(*var, &item, &mut bound);
                }
                CompClause::Generator(..) => return unsupported("a generator of this kind"),
                CompClause::Binding(var, value) => self.local(*var, value, &mut bound),
                // It held, or there would be no element.
                CompClause::Condition(_) => {}
            }
        }
        self.pull_element(body, bar, place, span)?;
        self.settle_all(&bound)
    }

    /// The clauses with generators over positions only, and the variables that hold these.
    fn collecting(&mut self, clauses: &[CompClause]) -> Done<(Vec<CompClause>, Vec<VarId>)> {
        let (mut made, mut positions) = (Vec::new(), Vec::new());
        for clause in clauses {
            match clause {
                CompClause::Generator(Pattern::Bind(var), source) => {
                    let span = source.span;
                    if matches!(&*source.kind, ExprKind::Range(lo, _) if lo.ty == Type::I32) {
                        positions.push(*var);
                        made.push(clause.clone());
                        continue;
                    }
                    let Some(axis) = source.ty.axes().first() else {
                        return unsupported("a generator of this kind");
                    };
                    let hi = Expr::size(axis.size.clone(), span);
                    let range = ExprKind::Range(Expr::int(0, span), hi);
                    let range = Expr::new(range, Type::Range, span);
                    let at = self.pass.local("$i", Type::I32, span);
                    let item = element(source.clone(), &[self.pass.var(at, span)], span);
                    made.push(CompClause::Generator(Pattern::Bind(at), range));
                    made.push(CompClause::Binding(*var, item));
                    positions.push(at);
                }
                CompClause::Generator(..) => return unsupported("a generator of this kind"),
                CompClause::Binding(..) | CompClause::Condition(_) => made.push(clause.clone()),
            }
        }
        Ok((made, positions))
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
