//! `where`: bindings, guards and what stands where no guard holds.

use super::state::{Build, Index};
use super::{Binding, Cx, coerce, define, error, expr, layouts, literal, pointwise, vars, widen};
use crate::hir::{self, ExprId, LocalId, WhereItem};
use ein_base::{Code, Span, Symbol};
use ein_ir::tensor::{Expr, ExprKind, Item, Stmt, StmtKind, Type};
use ein_scalar::Scalar;

/// Bindings and guards, in order; what a guard says is known from there on.
/// Names of literals take the type that is asked of the whole.
pub(super) fn where_items(cx: &mut Cx, items: &[WhereItem], want: Option<&Type>) -> Vec<Item> {
    let mut checked = Vec::new();
    for item in items {
        match item {
            WhereItem::Binding(local, id) => {
                let want = literal::wanted_of_name(cx.hir, *id, want);
                let value = vars::scoped(cx, |cx| expr::expr(cx, *id, want.as_ref()));
                let name = cx.hir.locals[*local].name;
                let var = cx.ix.new_var(name.sym, name.span, value.ty.clone());
                cx.ix.settle_type(var, value.ty.clone());
                cx.ix.size_variable(var, Some(&value), false);
                let deps = cx.ix.index_deps(&value);
                cx.ix.var_deps.insert(var, deps);
                cx.ix.note_address(var, &value);
                cx.build.bound_inside(var);
                cx.ix.f.env.insert(*local, Binding::Var(var));
                checked.push(Item::Let(var, value));
            }
            WhereItem::Guard(id) => {
                let cond = vars::scoped(cx, |cx| expr::condition(cx, *id, "a guard"));
                cx.ix.assume_here(&cond, true);
                checked.push(Item::Guard(cond));
            }
        }
    }
    checked
}

/// `e where …` outside definitions and reductions: bindings, then a choice.
pub(super) fn where_expr(
    cx: &mut Cx,
    body: ExprId,
    items: &[WhereItem],
    otherwise: Option<ExprId>,
    want: Option<&Type>,
    span: Span,
) -> Expr {
    vars::scoped(cx, |cx| {
        let before = cx.ix.f.facts.len();
        let written = items;
        let items = where_items(cx, written, want);
        let value = vars::scoped(cx, |cx| expr::expr(cx, body, want));
        // After `else` the guards do not hold.
        cx.ix.f.facts.truncate(before);
        let (mut result, otherwise) = match otherwise {
            Some(id) => else_value(cx, body, written, value, id),
            None => {
                let zero = zero_value(&mut cx.ix, &mut cx.build, &value.ty, span);
                (value, zero)
            }
        };
        for item in items.into_iter().rev() {
            match item {
                Item::Let(var, bound) => {
                    let at = bound.span;
                    let stmt = Stmt { kind: StmtKind::Let(var, bound), span: at };
                    result = cx.ix.block(vec![stmt], result);
                }
                Item::Guard(cond) => {
                    let ty = result.ty.clone();
                    let kind = ExprKind::If { cond, then: result, otherwise: otherwise.clone() };
                    result = Expr::new(kind, ty, span);
                }
            }
        }
        result
    })
}

/// A value and the one where its guard fails, in one type: a body of literals takes that of the
/// other, and numbers are widened.
pub(super) fn else_value(
    cx: &mut Cx,
    body: ExprId,
    items: &[WhereItem],
    value: Expr,
    id: ExprId,
) -> (Expr, Expr) {
    let again = read_again(cx.hir, items, id);
    let otherwise = vars::scoped(cx, |cx| {
        let outside = |(local, _): &(LocalId, _)| Some((*local, *cx.ix.f.env.get(local)?));
        let before: Vec<_> = again.iter().filter_map(outside).collect();
        let again = again.iter().map(|(local, value)| WhereItem::Binding(*local, *value));
        for item in where_items(cx, &again.collect::<Vec<_>>(), Some(&value.ty)) {
            if let Item::Let(var, value) = item {
                let span = value.span;
                cx.build.emit(Stmt { kind: StmtKind::Let(var, value), span });
            }
        }
        let otherwise = expr::expr(cx, id, Some(&value.ty));
        cx.ix.f.env.extend(before);
        otherwise
    });
    let classes = (literal::literal_class(cx.hir, body), literal::literal_class(cx.hir, id));
    let open = match classes {
        (Some(class), None) if otherwise.ty != value.ty => {
            literal::literal_like(class, &otherwise.ty)
        }
        (Some(class), Some(other)) if class < other => otherwise.ty.scalar().map(Type::Scalar),
        _ => None,
    };
    let value = match open {
        Some(ty) => vars::scoped(cx, |cx| expr::expr(cx, body, Some(&ty))),
        None => value,
    };
    let mut both = [value, otherwise];
    widen::widen_all(&mut cx.ix, &mut cx.build, &mut cx.report, &mut both);
    let [value, otherwise] = both;
    if coerce::same_kind(&otherwise.ty, &value.ty) {
        let what = "the values before and after `else`";
        layouts::agree_in_layout(&cx.ix, &mut cx.report, &value, &otherwise, what);
        let Cx { ix, build, report, .. } = cx;
        coerce::expect_sizes(ix, build, report, &otherwise, &value.ty, "the value before `else`");
        return (value, otherwise);
    }
    let (have, other) = (cx.ix.show(&value.ty), cx.ix.show(&otherwise.ty));
    let message = format!("the value is `{have}`, but after `else` it is `{other}`");
    let d = error(Code::E0505, cx.hir.exprs[id].span, message)
        .here("of another type")
        .label(value.span, format!("this is `{have}`"))
        .help("make both values of one type");
    (value, cx.report.fail(d))
}

/// What `otherwise` reads of the names that stand behind a guard: they are bound once more for it alone,
/// since where the guard fails they were not computed.
fn read_again(
    hir: &hir::Program,
    items: &[WhereItem],
    otherwise: ExprId,
) -> Vec<(LocalId, ExprId)> {
    let guard = items.iter().position(|item| matches!(item, WhereItem::Guard(_)));
    let behind = guard.map_or(&[][..], |at| &items[at..]);
    let mut readers = vec![otherwise];
    let mut again = Vec::new();
    for item in behind.iter().rev() {
        if let WhereItem::Binding(local, value) = item
            && readers.iter().any(|reader| define::mentions(hir, *reader, &[*local]))
        {
            readers.push(*value);
            again.push((*local, *value));
        }
    }
    again.reverse();
    again
}

/// What stands where nothing is defined.
pub(super) fn zero_value(ix: &mut Index, build: &mut Build, ty: &Type, span: Span) -> Expr {
    match ty {
        Type::Scalar(scalar) => Expr::new(ExprKind::Const(Scalar::zero(*scalar)), ty.clone(), span),
        Type::Str => Expr::new(ExprKind::Str(Symbol::intern("")), Type::Str, span),
        Type::Array(array) => {
            let elem = array.elem.clone();
            pointwise::tabulate(ix, build, array.axes.clone(), span, |ix, build, _| {
                zero_value(ix, build, &elem, span)
            })
        }
        Type::Tuple(items) => {
            let items = items.iter().map(|item| zero_value(ix, build, item, span)).collect();
            Expr::new(ExprKind::Tuple(items), ty.clone(), span)
        }
        _ => Expr::error(span),
    }
}
