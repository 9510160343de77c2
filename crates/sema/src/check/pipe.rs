//! Optional values and results: `?>`, `!>`, `else`, `catch` and `try`, as matches over `Option`
//! and `Result`.

use super::arms::complete;
use super::state::{Build, Index, Infer, Report};
use super::{Cx, close, coerce, data, error, expr, infer, layouts, literal, stmt, vars, widen};
use crate::hir::{self, DefId, ExprId, LocalId};
use ein_base::{Code, Span};
use ein_ir::tensor::{Arm, DataId, Expr, ExprKind, Pattern, Type, VarId};

/// `enum Option<T> { None, Some(T) }`
const NONE: usize = 0;
const SOME: usize = 1;
/// `enum Result<T, E> { Ok(T), Err(E) }`
const OK: usize = 0;
const ERR: usize = 1;

/// `x ?> f` and `x !> f`: `f` of what is in an optional, or of what a result carries unless it is an error.
/// Where `f` gives an optional or a result itself, that is the result.
pub(super) fn pipe(
    cx: &mut Cx,
    (value, operator): (ExprId, &str),
    local: LocalId,
    call: ExprId,
    want: Option<&Type>,
    span: Span,
) -> Expr {
    let value = expr::expr(cx, value, None);
    let prelude = &cx.hir.prelude;
    let (def, full) = match operator {
        "?>" => (prelude.option, "Option::Some"),
        _ => (prelude.result, "Result::Ok"),
    };
    let Some((id, inner, others)) = parts(&mut cx.infer, &mut cx.ix, def, &value.ty) else {
        let at = value.span;
        return not_optional(&cx.ix, &mut cx.report, &value, operator, at);
    };
    if inner == Type::Error {
        cx.report.unknown_inside(full, value.span);
        return Expr::error(span);
    }
    let (var, result) = piped(cx, local, inner, call, wanted_inside(want, id));
    let piped = Piped { value, id, var, result };
    match piped.result.ty {
        Type::Error => Expr::error(span),
        _ if operator == "?>" => optional(piped, span),
        _ => result_of(&mut cx.ix, &mut cx.build, piped, others, span),
    }
}

fn optional(Piped { value, id, var, result }: Piped, span: Span) -> Expr {
    let (result, ty) = match &result.ty {
        Type::Data(own, _) if *own == id => {
            let ty = result.ty.clone();
            (result, ty)
        }
        own => {
            let ty = Type::Data(id, vec![own.clone()].into());
            (make(id, SOME, vec![result], &ty, span), ty)
        }
    };
    let none = make(id, NONE, Vec::new(), &ty, span);
    let arms = vec![arm(SOME, vec![Pattern::Bind(var)], result), arm(NONE, Vec::new(), none)];
    Expr::new(ExprKind::Match { value, arms }, ty, span)
}

fn result_of(
    ix: &mut Index,
    build: &mut Build,
    Piped { value, id, var, result }: Piped,
    mut others: Vec<Type>,
    span: Span,
) -> Expr {
    let failure = others.pop().unwrap_or(Type::Error);
    let flat = match &result.ty {
        Type::Data(own, args) if *own == id => match args.as_slice() {
            [ok, err] => coerce::join_types(ix, err, &failure).map(|err| (ok.clone(), err)),
            _ => None,
        },
        _ => None,
    };
    let (result, ty) = match flat {
        Some((ok, err)) => {
            let ty = Type::Data(id, vec![ok, err].into());
            (complete(result, &ty), ty)
        }
        None => {
            let ty = Type::Data(id, vec![result.ty.clone(), failure.clone()].into());
            (make(id, OK, vec![result], &ty, span), ty)
        }
    };
    let message = new_local_var(ix, build, "err", span, failure);
    let failed = ix.var_expr(message, span);
    let failed = make(id, ERR, vec![failed], &ty, span);
    let arms = vec![
        arm(OK, vec![Pattern::Bind(var)], result),
        arm(ERR, vec![Pattern::Bind(message)], failed),
    ];
    Expr::new(ExprKind::Match { value, arms }, ty, span)
}

/// What comes out of a pipe.
struct Piped {
    value: Expr,
    id: DataId,
    /// What is in the value.
    var: VarId,
    /// What is made of that.
    result: Expr,
}

/// What is asked of the value inside where such an optional or result is asked for.
fn wanted_inside(want: Option<&Type>, id: DataId) -> Option<&Type> {
    match want {
        Some(Type::Data(wanted, args)) if *wanted == id => args.first(),
        _ => None,
    }
}

/// `e else d`
pub(super) fn or_else(
    cx: &mut Cx,
    value: ExprId,
    otherwise: ExprId,
    want: Option<&Type>,
    span: Span,
) -> Expr {
    let tried = wanted_of_tried(&mut cx.infer, &mut cx.ix, value, otherwise, want);
    let value = expr::expr(cx, value, tried.as_ref());
    let (option, result) = (cx.hir.prelude.option, cx.hir.prelude.result);
    let (present, inner, absent, ignored) =
        if let Some((_, inner, _)) = parts(&mut cx.infer, &mut cx.ix, option, &value.ty) {
            (SOME, inner, NONE, Vec::new())
        } else if let Some((_, inner, _)) = parts(&mut cx.infer, &mut cx.ix, result, &value.ty) {
            (OK, inner, ERR, vec![Pattern::Wild])
        } else {
            return not_optional(&cx.ix, &mut cx.report, &value, "else", span);
        };
    let hint = hint_beside(cx.hir, otherwise, &inner, want);
    let otherwise = vars::scoped(cx, |cx| expr::expr(cx, otherwise, hint.as_ref()));
    let Cx { ix, build, report, .. } = cx;
    let variants = (present, absent, ignored);
    in_place(ix, build, report, (value, inner), variants, otherwise, span)
}

/// What is asked of the left side of `else` and `catch`: literals that are tried take the type of what
/// stands in for them, or the one that is asked for.
fn wanted_of_tried(
    infer: &mut Infer,
    ix: &mut Index,
    value: ExprId,
    otherwise: ExprId,
    want: Option<&Type>,
) -> Option<Type> {
    let hir = ix.hir;
    let class = literal::literal_class(hir, literal::tried(hir, value)?)?;
    let hint = match literal::literal_class(hir, otherwise) {
        Some(other) => Some(Type::Scalar(literal::literal_type(class.max(other), want))),
        None => infer::known_number(infer, ix, otherwise)
            .and_then(|other| literal::literal_like(class, &other))
            .or_else(|| want.cloned()),
    };
    let id = data::data_id(infer, ix, hir.prelude.result?)?;
    Some(Type::Data(id, vec![hint?, Type::Str].into()))
}

/// What is asked of what stands in for a value: to be like it, or like what is asked for.
fn hint_beside(
    hir: &hir::Program,
    otherwise: ExprId,
    inner: &Type,
    want: Option<&Type>,
) -> Option<Type> {
    if inner.has_error() {
        return want.cloned();
    }
    let class = literal::literal_class(hir, otherwise);
    match (class, want.and_then(Type::scalar), inner.scalar()) {
        (Some(class), Some(want), Some(inner)) if widen::holds(want, inner) => {
            literal::literal_like(class, &Type::Scalar(want))
        }
        _ => Some(inner.clone()),
    }
}

/// A match that takes what is there, or another value in its place, for which a variable was bound.
fn in_place(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    (value, inner): (Expr, Type),
    (present, absent, bound): (usize, usize, Vec<Pattern>),
    otherwise: Expr,
    span: Span,
) -> Expr {
    // Where nothing can be there, what stands in says of what type it would be.
    let (value, inner) = match (&value.ty, inner.has_error()) {
        (Type::Data(id, args), true) => {
            let args = std::iter::once(&otherwise.ty).chain(args.iter().skip(1)).cloned();
            let ty = Type::Data(*id, args.collect());
            (complete(value, &ty), otherwise.ty.clone())
        }
        _ => (value, inner),
    };
    let var = new_local_var(ix, build, "value", value.span, inner);
    let mut both = [ix.var_expr(var, value.span), otherwise];
    widen::widen_all(ix, build, report, &mut both);
    let [there, otherwise] = both;
    let what = "a value and what stands in for it";
    let both = [&there, &otherwise];
    let Some(ty) = layouts::join_values(ix, report, both, what) else {
        return Expr::error(span);
    };
    let ty = ix.forget_vars(ty, &|other| other == var);
    let arms = vec![
        arm(present, vec![Pattern::Bind(var)], complete(there, &ty)),
        arm(absent, bound, complete(otherwise, &ty)),
    ];
    Expr::new(ExprKind::Match { value, arms }, ty, span)
}

/// `e catch |err| d`
pub(super) fn catch(
    cx: &mut Cx,
    value: ExprId,
    param: LocalId,
    handler: ExprId,
    want: Option<&Type>,
    span: Span,
) -> Expr {
    let tried = wanted_of_tried(&mut cx.infer, &mut cx.ix, value, handler, want);
    let value = expr::expr(cx, value, tried.as_ref());
    let def = cx.hir.prelude.result;
    let Some((_, inner, mut failure)) = parts(&mut cx.infer, &mut cx.ix, def, &value.ty) else {
        return not_optional(&cx.ix, &mut cx.report, &value, "catch", span);
    };
    let failure = failure.pop().unwrap_or(Type::Error);
    let hint = hint_beside(cx.hir, handler, &inner, want);
    let (message, handler) = piped(cx, param, failure, handler, hint.as_ref());
    let failed = vec![Pattern::Bind(message)];
    let Cx { ix, build, report, .. } = cx;
    in_place(ix, build, report, (value, inner), (OK, ERR, failed), handler, span)
}

/// `try e`: a run-time error becomes an `Err` with its message.
pub(super) fn try_expr(cx: &mut Cx, inner: ExprId, want: Option<&Type>, span: Span) -> Expr {
    let def = cx.hir.prelude.result;
    let id = def.and_then(|def| data::data_id(&mut cx.infer, &mut cx.ix, def));
    let Some(id) = id else { return Expr::error(span) };
    let want = wanted_inside(want, id);
    let value = vars::scoped(cx, |cx| close::open_value(cx, inner, want, None));
    if value.ty == Type::Error {
        return Expr::error(span);
    }
    let ty = Type::Data(id, vec![value.ty.clone(), Type::Str].into());
    Expr::new(ExprKind::Try(value), ty, span)
}

// ---------------------------------------------------------------- parts

/// What is in an optional or result of this type: the value, and what else may be there.
fn parts(
    infer: &mut Infer,
    ix: &mut Index,
    def: Option<DefId>,
    ty: &Type,
) -> Option<(DataId, Type, Vec<Type>)> {
    let id = data::data_id(infer, ix, def?)?;
    match ty {
        Type::Data(own, args) if *own == id => {
            let (value, others) = args.split_first()?;
            Some((id, value.clone(), others.to_vec()))
        }
        _ => None,
    }
}

/// A variable of a pattern.
fn new_local_var(ix: &mut Index, build: &mut Build, name: &str, span: Span, ty: Type) -> VarId {
    let var = ix.new_var(ein_base::Symbol::intern(name), span, ty.clone());
    ix.settle_type(var, ty);
    ix.size_variable(var, None, true);
    build.bound_inside(var);
    var
}

/// The value of an expression in which a name stands for what is in the optional.
fn piped(
    cx: &mut Cx,
    local: LocalId,
    inner: Type,
    body: ExprId,
    want: Option<&Type>,
) -> (VarId, Expr) {
    let name = cx.hir.locals[local].name;
    let var = new_local_var(&mut cx.ix, &mut cx.build, name.sym.as_str(), name.span, inner);
    let ty = cx.ix.vars[var].ty.clone();
    let extents = cx.ix.f.extents.len();
    stmt::declare(cx, local, var, &ty);
    let mut body = vars::scoped(cx, |cx| expr::expr(cx, body, want));
    cx.ix.f.extents.truncate(extents);
    body.ty = cx.ix.forget_vars(body.ty, &|other| other == var);
    (var, body)
}

fn not_optional(ix: &Index, report: &mut Report, value: &Expr, operator: &str, span: Span) -> Expr {
    if value.ty == Type::Error {
        return Expr::error(span);
    }
    let have = ix.show(&value.ty);
    let (needs, help) = match operator {
        "?>" => ("an `Option`", "apply the function directly: `x |> f`"),
        "!>" => ("a `Result`", "make it one, `(try x) !> f`, or apply the function: `x |> f`"),
        "catch" => ("a `Result`", "make it one: `(try x) catch |err| …`"),
        _ => ("an `Option` or a `Result`", "take the value as it is, or make it optional: `try x`"),
    };
    let d =
        error(Code::E0519, value.span, format!("`{operator}` needs {needs}, but this is `{have}`"))
            .here(format!("not {needs}"))
            .help(help);
    report.fail(d)
}

/// A variant of the prelude.
fn make(data: DataId, variant: usize, fields: Vec<Expr>, ty: &Type, span: Span) -> Expr {
    Expr::new(ExprKind::Make { data, variant, fields }, ty.clone(), span)
}

/// An arm for one variant.
fn arm(variant: usize, fields: Vec<Pattern>, value: Expr) -> Arm {
    Arm { pattern: Pattern::Data { variant, fields }, guard: None, value }
}
