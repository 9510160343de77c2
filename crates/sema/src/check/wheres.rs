//! `where`: bindings, guards and what stands where no guard holds.

use super::{Binding, Cx, error};
use crate::hir::{ExprId, WhereItem};
use ein_base::{Code, Span, Symbol};
use ein_ir::tensor::{Expr, ExprKind, Item, Type};
use ein_scalar::Scalar;

impl Cx<'_> {
    /// Bindings and guards, in order; what a guard says is known from there on.
    pub(super) fn where_items(&mut self, items: &[WhereItem]) -> Vec<Item> {
        let mut checked = Vec::new();
        for item in items {
            match item {
                WhereItem::Binding(local, id) => {
                    let value = self.scoped(|cx| cx.expr(*id, None));
                    let name = self.hir.locals[*local].name;
                    let var = self.new_var(name.sym, name.span, value.ty.clone());
                    self.settle_type(var, value.ty.clone());
                    self.size_variable(var, Some(&value), false);
                    let deps = self.index_deps(&value);
                    self.var_deps.insert(var, deps);
                    self.note_address(var, &value);
                    self.bound_inside(var);
                    self.f.env.insert(*local, Binding::Var(var));
                    checked.push(Item::Let(var, value));
                }
                WhereItem::Guard(id) => {
                    let cond = self.scoped(|cx| cx.condition(*id, "a guard"));
                    let mut facts = std::mem::take(&mut self.f.facts);
                    self.assume(&cond, true, &mut facts);
                    self.f.facts = facts;
                    checked.push(Item::Guard(cond));
                }
            }
        }
        checked
    }

    /// `e where …` outside definitions and reductions: bindings, then a choice.
    pub(super) fn where_expr(
        &mut self,
        body: ExprId,
        items: &[WhereItem],
        otherwise: Option<ExprId>,
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        self.scoped(|cx| {
            let before = cx.f.facts.len();
            let items = cx.where_items(items);
            let value = cx.scoped(|cx| cx.expr(body, want));
            // After `else` the guards do not hold.
            cx.f.facts.truncate(before);
            let otherwise = match otherwise {
                Some(id) => cx.else_value(id, &value),
                None => cx.zero_value(&value.ty, span),
            };
            let mut result = value;
            for item in items.into_iter().rev() {
                match item {
                    Item::Let(var, bound) => {
                        let at = bound.span;
                        let stmt = ein_ir::tensor::Stmt {
                            kind: ein_ir::tensor::StmtKind::Let(var, bound),
                            span: at,
                        };
                        result = cx.block(vec![stmt], result);
                    }
                    Item::Guard(cond) => {
                        let ty = result.ty.clone();
                        let kind =
                            ExprKind::If { cond, then: result, otherwise: otherwise.clone() };
                        result = Expr::new(kind, ty, span);
                    }
                }
            }
            result
        })
    }

    /// The value where a guard fails; of the type that it has where the guard holds.
    pub(super) fn else_value(&mut self, id: ExprId, value: &Expr) -> Expr {
        let otherwise = self.scoped(|cx| cx.expr(id, Some(&value.ty)));
        let otherwise = self.scoped_widening(otherwise, &value.ty);
        if self.same_kind(&otherwise.ty, &value.ty) {
            self.expect_sizes(&otherwise, &value.ty, "the value before `else`");
            return otherwise;
        }
        let (have, other) = (self.show(&value.ty), self.show(&otherwise.ty));
        let message = format!("the value is `{have}`, but after `else` it is `{other}`");
        let d = error(Code::E0505, self.hir.exprs[id].span, message)
            .here("of another type")
            .label(value.span, format!("this is `{have}`"))
            .help("make both values of one type");
        self.fail(d)
    }

    /// What stands where nothing is defined.
    pub(super) fn zero_value(&mut self, ty: &Type, span: Span) -> Expr {
        match ty {
            Type::Scalar(scalar) => {
                Expr::new(ExprKind::Const(Scalar::zero(*scalar)), ty.clone(), span)
            }
            Type::Str => Expr::new(ExprKind::Str(Symbol::intern("")), Type::Str, span),
            Type::Array(array) => {
                let elem = array.elem.clone();
                self.tabulate(array.axes.clone(), span, |cx, _| cx.zero_value(&elem, span))
            }
            Type::Tuple(items) => {
                let items = items.iter().map(|item| self.zero_value(item, span)).collect();
                Expr::new(ExprKind::Tuple(items), ty.clone(), span)
            }
            _ => Expr::error(span),
        }
    }
}
