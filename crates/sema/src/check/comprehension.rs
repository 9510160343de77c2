//! Comprehensions: loops that collect.

use super::{Cx, error};
use crate::hir::{self, ExprId};
use ein_base::{Code, Span};
use ein_ir::size;
use ein_ir::tensor::{Axis, CompClause, Expr, ExprKind, Pattern, Type, VarId};

/// The state of a comprehension being checked.
struct Draft {
    /// What its clauses bind.
    bound: Vec<VarId>,
    /// How many elements there are, as long as that can be said before it runs.
    count: Option<size::Expr>,
    broken: bool,
}

impl Cx<'_> {
    /// `[e | x in xs, cond, z = x * y]`
    pub(super) fn comprehension(
        &mut self,
        body: ExprId,
        clauses: &[hir::CompClause],
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        let facts = self.f.facts.len();
        let extents = self.f.extents.len();
        let mut draft = Draft { bound: Vec::new(), count: Some(size::Expr::one()), broken: false };
        let mut checked = Vec::new();
        for clause in clauses {
            let clause = match clause {
                hir::CompClause::Generator(pat, source) => self.generator(pat, *source, &mut draft),
                hir::CompClause::Condition(cond) => {
                    draft.count = None;
                    let cond =
                        self.scoped(|cx| cx.condition(*cond, "a condition of a comprehension"));
                    let mut facts = std::mem::take(&mut self.f.facts);
                    self.assume(&cond, true, &mut facts);
                    self.f.facts = facts;
                    CompClause::Condition(cond)
                }
                hir::CompClause::Binding(local, value) => {
                    let value = self.scoped(|cx| cx.expr(*value, None));
                    let name = self.hir.locals[*local].name;
                    let var = self.new_var(name.sym, name.span, value.ty.clone());
                    let ty = self.settle_type(var, value.ty.clone());
                    self.size_variable(var, Some(&value), true);
                    self.note_address(var, &value);
                    let deps = self.index_deps(&value);
                    self.var_deps.insert(var, deps);
                    self.declare(*local, var, &ty);
                    draft.bound.push(var);
                    CompClause::Binding(var, value)
                }
            };
            checked.push(clause);
        }
        let row = want.map(|want| self.wanted_row(want));
        let body = self.scoped(|cx| cx.expr(body, row.as_ref()));
        self.f.facts.truncate(facts);
        self.f.extents.truncate(extents);
        if body.ty == Type::Error || draft.broken {
            return Expr::error(span);
        }
        let (body, ty) = self.collected(body, &draft, want);
        Expr::new(ExprKind::Comprehension { clauses: checked, body }, ty, span)
    }

    /// `x in xs`
    fn generator(&mut self, pat: &hir::Pat, source: ExprId, draft: &mut Draft) -> CompClause {
        let source = if draft.bound.is_empty() {
            // It is evaluated once, so its extents may be those of a variable.
            let source = self.expr(source, None);
            self.settle_expr(source)
        } else {
            self.scoped(|cx| cx.expr(source, None))
        };
        let Some(row) = self.row_type(&source.ty) else {
            let have = self.show(&source.ty);
            let d = error(Code::E0520, source.span, format!("`{have}` cannot be iterated"))
                .here("not a range, an array or a text");
            let d = match &source.ty {
                Type::Scalar(ty) if ty.is_int() => {
                    d.fix("count up to it: `0..n`", source.span.start(), "0..")
                }
                Type::AnyRank(_) => d.help("give it a rank: `… as [f32; ?]`"),
                Type::Tuple(_) => d.help("write an array instead of a tuple: `[a, b]`"),
                _ => d.help("a comprehension runs over ranges, arrays and texts: `x in 0..n`"),
            };
            self.report_at(d);
            draft.broken = true;
            return CompClause::Generator(Pattern::Wild, source);
        };
        draft.broken |= row == Type::Error;
        let length = self.generated(&source).filter(|length| !self.depends(length, &draft.bound));
        draft.count = draft.count.take().zip(length).map(|(count, length)| count.mul(&length));
        let matched = self.match_pattern(pat, &row, None);
        let deps = self.index_deps(&source);
        if !deps.is_empty() {
            for var in &matched.bound {
                self.var_deps.insert(*var, deps.clone());
            }
        }
        if let Pattern::Bind(var) = matched.pattern {
            self.note_address(var, &source);
            self.assume_generated(var, &source);
        }
        draft.bound.extend(&matched.bound);
        CompClause::Generator(matched.pattern, source)
    }

    /// How many elements a generator gives.
    fn generated(&mut self, source: &Expr) -> Option<size::Expr> {
        if let ExprKind::Range(lo, hi) = &*source.kind {
            let length = self.to_size(hi)?.sub(&self.to_size(lo)?);
            return Some(self.greater(&length, &size::Expr::zero()));
        }
        let length = source.ty.axes().first()?.size.clone();
        self.unsettled(&length).is_none().then_some(length)
    }

    /// The values of a range are in it.
    fn assume_generated(&mut self, var: VarId, source: &Expr) {
        let ExprKind::Range(lo, hi) = &*source.kind else { return };
        let Some(value) = self.var_sizes.get(&var).cloned() else { return };
        if let Some(lo) = self.to_size(lo) {
            self.f.facts.le(&lo, &value);
        }
        if let Some(hi) = self.to_size(hi) {
            self.f.facts.lt(&value, &hi);
        }
    }

    /// The body and the type of the whole: an array, or a jagged one if the bodies differ in
    /// shape.
    fn collected(&mut self, body: Expr, draft: &Draft, want: Option<&Type>) -> (Expr, Type) {
        let jagged = matches!(want, Some(Type::Jagged(..))) && body.ty.is_array();
        if jagged || matches!(body.ty, Type::Jagged(..)) || self.varies(&body, &draft.bound) {
            return self.ragged_row(body);
        }
        let row = self.forget_vars(body.ty.clone(), &|var| draft.bound.contains(&var));
        if let Type::AnyRank(elem) = row {
            return (body, Type::AnyRank(elem));
        }
        let size = match &draft.count {
            Some(count) => count.clone(),
            None => self.unknown_size(false),
        };
        (body, Type::array(row, vec![Axis::anonymous(size)]))
    }
}
