//! Expressions: one function per kind, dispatched here.

pub(in crate::check) mod branch;
pub(in crate::check) mod cast;

use super::state::{Build, Index, Report};
use super::{
    Cx, arms, binary, builtin, call, close, comprehension, construct, consts, data, derivative,
    error, host, index, literal, pipe, pointwise, reduce, stmt, template, types, vars, wheres,
};
use crate::hir::{self, ExprId, ExprKind as H};
use ein_base::{Code, Span};
use ein_ir::tensor::{Bounds, Expr, ExprKind, HostOp, IndexArg, Type};
use ein_scalar::{ScalarType, UnaryOp};

/// Checks an expression. `want` is what its context asks for: literals take its element type,
/// closures its signature. The result need not be of that type.
pub(super) fn expr(cx: &mut Cx, id: ExprId, want: Option<&Type>) -> Expr {
    let hir = cx.hir;
    let node = &hir.exprs[id];
    let span = node.span;
    if !matches!(node.kind, H::If { .. } | H::Block { .. } | H::Match { .. }) {
        cx.infer.f.statement = false;
    }
    match &node.kind {
        H::Int(value, suffix) => cx.report.int_literal(*value, *suffix, want, false, span),
        H::Float(text, suffix) => cx.report.float_literal(*text, *suffix, want, span),
        H::Bool(value) => {
            Expr::new(ExprKind::Const(ein_scalar::Scalar::Bool(*value)), Type::BOOL, span)
        }
        H::Str(parts) => host::string(cx, parts, span),
        H::Local(local) => match want {
            // Without elements it is an array of whatever is asked for.
            Some(want) if cx.infer.empties.contains(local) && !want.has_error() => {
                host::empty_array(&cx.ix, Some(want), span)
            }
            _ => cx.ix.local(*local, span),
        },
        H::Size(local) => {
            let size = types::named_size(&mut cx.ix, *local);
            Expr::size(size, span)
        }
        H::Fn(def) => template::fn_value(&mut cx.infer, &mut cx.ix, &mut cx.report, *def, span),
        H::Const(def) => consts::const_value(cx, *def, span),
        H::Variant(def, index) => construct::variant_value(cx, *def, *index, want, span),
        H::Builtin(builtin) => cx.infer.builtin_value(*builtin, span),
        H::Coord(name) => match close::free_coord(&mut cx.ix, &mut cx.report, *name) {
            Some(index) => cx.ix.index_expr(index, span),
            None => Expr::error(span),
        },
        H::Unary(op, inner) => unary(cx, *op, *inner, want, span),
        H::Binary(op, a, b) => binary::binary(cx, *op, *a, *b, want, span),
        H::Range { lo, hi, inclusive } => range(cx, *lo, *hi, *inclusive, span),
        H::Cast(inner, ty) => cast::cast(cx, *inner, ty, span),
        H::At(inner) => derivative::tangent(cx, *inner, span),
        H::Call { callee, args } => call::call(cx, *callee, &[], args, want, span),
        H::CoordCall { callee, coords, args } => call::call(cx, *callee, coords, args, want, span),
        H::Reduce { op, op_span, binders, body } => {
            reduce::reduce(cx, *op, *op_span, binders, *body, want, span)
        }
        H::Extent { of, coord } => reduce::extent(cx, *of, *coord, span),
        H::Index { base, slots } => {
            let want = literal::wanted_part(cx.hir, *base, want);
            let base = expr(cx, *base, want.as_ref());
            index::index(cx, base, slots, span)
        }
        H::Field(base, name) => {
            let base = expr(cx, *base, None);
            field(cx, base, *name, span)
        }
        H::TupleField(base, position, at) => {
            let base = expr(cx, *base, None);
            tuple_field(&cx.ix, &mut cx.report, base, *position, *at, span)
        }
        H::Array(items) => host::array(cx, items, want, span),
        H::Tuple(items) if items.is_empty() => Expr::new(ExprKind::Unit, Type::Unit, span),
        H::Tuple(items) => tuple(cx, items, want, span),
        H::Comprehension { body, clauses } => {
            comprehension::comprehension(cx, *body, clauses, want, span)
        }
        H::Struct { def, variant, fields } => construct::struct_literal(
            cx,
            *def,
            variant.map(|number| number as usize),
            fields,
            want,
            span,
        ),
        H::Block { stmts, tail } => stmt::block_expr(cx, stmts, *tail, want, span),
        H::If { cond, then, otherwise } => {
            branch::if_expr(cx, *cond, *then, *otherwise, want, span)
        }
        H::Match { scrutinee, arms } => arms::match_expr(cx, *scrutinee, arms, want, span),
        H::Closure { params, body: _, captures } => {
            template::closure_value(cx, id, params, captures, want, span)
        }
        H::OptionPipe { value, local, call } => {
            pipe::pipe(cx, (*value, "?>"), *local, *call, want, span)
        }
        H::ResultPipe { value, local, call } => {
            pipe::pipe(cx, (*value, "!>"), *local, *call, want, span)
        }
        H::OrElse(value, otherwise) => pipe::or_else(cx, *value, *otherwise, want, span),
        H::Catch { value, param, handler } => pipe::catch(cx, *value, *param, *handler, want, span),
        H::Try(inner) => pipe::try_expr(cx, *inner, want, span),
        H::Where { body, items, otherwise } => {
            wheres::where_expr(cx, *body, items, *otherwise, want, span)
        }
        H::Error => Expr::error(span),
    }
}

/// An expression that must be a `bool`.
pub(super) fn condition(cx: &mut Cx, id: ExprId, what: &str) -> Expr {
    let value = expr(cx, id, None);
    expect_bool(&cx.ix, &mut cx.report, value, what)
}

pub(super) fn expect_bool(ix: &Index, report: &mut Report, value: Expr, what: &str) -> Expr {
    if value.ty == Type::BOOL || value.ty.has_error() {
        return value;
    }
    let d = error(
        Code::E0504,
        value.span,
        format!("{what} must be a `bool`, but this is `{}`", ix.show(&value.ty)),
    )
    .here("not a `bool`");
    let d = match (&*value.kind, &value.ty, ix.show_name(&value)) {
        (ExprKind::Var(_), Type::Scalar(ty), Some(name)) if ty.is_int() => {
            let text = format!("compare it with something: `{name} != 0`");
            d.fix(text, value.span.end(), " != 0")
        }
        (_, Type::Str, _) => d.help("compare it with something: `… != \"\"`"),
        _ => d.help("compare it with something: `… != 0`"),
    };
    report.fail(d)
}

/// An expression that must be an integer: an index, a bound, a count.
pub(super) fn integer(cx: &mut Cx, id: ExprId, what: &str) -> Expr {
    let value = expr(cx, id, Some(&Type::I32));
    expect_integer(&cx.ix, &mut cx.report, value, what)
}

pub(super) fn expect_integer(ix: &Index, report: &mut Report, value: Expr, what: &str) -> Expr {
    match &value.ty {
        Type::Scalar(ty) if ty.is_int() => value,
        ty if ty.has_error() => value,
        ty => {
            let d = error(
                Code::E0506,
                value.span,
                format!("{what} must be an integer, but this is `{}`", ix.show(ty)),
            )
            .here("not an integer");
            let d = match ty.scalar() {
                Some(s) if s.is_float() => {
                    d.fix("convert it: `… as i32`", value.span.end(), " as i32")
                }
                _ => d.help("write an integer: `0`, an index, or a value of type `i32`"),
            };
            report.fail(d)
        }
    }
}

fn unary(cx: &mut Cx, op: hir::UnaryOp, inner: ExprId, want: Option<&Type>, span: Span) -> Expr {
    let hir = cx.hir;
    if let (hir::UnaryOp::Neg, H::Int(value, suffix)) = (op, &hir.exprs[inner].kind) {
        return cx.report.int_literal(*value, *suffix, want, true, span);
    }
    let want = if op == hir::UnaryOp::Not { None } else { want };
    let value = expr(cx, inner, want);
    if value.ty.has_error() {
        return Expr::error(span);
    }
    let scalar = value.ty.scalar();
    let (scalar_op, fits) = match op {
        // A number, or an array of them, is itself.
        hir::UnaryOp::Pos if scalar.is_some_and(super::is_numeric) => return value,
        hir::UnaryOp::Pos => {
            let message = format!("`+` cannot be applied to `{}`", cx.ix.show(&value.ty));
            let d = error(Code::E0502, value.span, message)
                .here("not a number")
                .help("leave the sign out");
            return cx.report.fail(d);
        }
        hir::UnaryOp::Neg => (
            UnaryOp::Neg,
            scalar.is_some_and(|ty| ty.is_float() || (ty.is_int() && ty.is_signed())),
        ),
        hir::UnaryOp::Not => (UnaryOp::Not, scalar == Some(ScalarType::Bool)),
    };
    match scalar {
        Some(ty) if fits => pointwise::pointwise(
            &mut cx.ix,
            &mut cx.build,
            &mut cx.report,
            vec![value],
            span,
            |_, mut args| {
                let arg = args.remove(0);
                Expr::new(ExprKind::Unary(scalar_op, arg), Type::Scalar(ty), span)
            },
        ),
        _ => {
            let have = cx.ix.show(&value.ty);
            let d = match op {
                hir::UnaryOp::Not => {
                    let message = format!("`!` needs a `bool`, but this is `{have}`");
                    let d = error(Code::E0504, value.span, message).here("not a `bool`");
                    d.help("compare it with something: `… == 0`")
                }
                _ => error(Code::E0502, value.span, format!("`-` cannot be applied to `{have}`"))
                    .here("this has no negative")
                    .help("negate a signed number: `-(… as i32)`"),
            };
            cx.report.fail(d)
        }
    }
}

fn range(cx: &mut Cx, lo: Option<ExprId>, hi: Option<ExprId>, inclusive: bool, span: Span) -> Expr {
    let lo = match lo {
        Some(lo) => integer(cx, lo, "the start of a range"),
        None => Expr::int(0, span),
    };
    let Some(hi) = hi else {
        return cx.report.fail(
            error(Code::E0418, span, "a range without an end can only slice an array")
                .here("no end")
                .help("write the end: `0..n`"),
        );
    };
    let hi = integer(cx, hi, "the end of a range");
    let hi = if inclusive { plus_one(&cx.ix, hi) } else { hi };
    if lo.ty.has_error() || hi.ty.has_error() {
        return Expr::error(span);
    }
    Expr::new(ExprKind::Range(lo, hi), Type::Range, span)
}

/// An integer expression plus one.
pub(super) fn plus_one(ix: &Index, value: Expr) -> Expr {
    if let Some(size) = ix.to_size(&value) {
        return Expr::size(size.offset(1), value.span);
    }
    let (ty, span) = (value.ty.clone(), value.span);
    let Type::Scalar(scalar) = ty else { return value };
    let one = Expr::new(ExprKind::Const(ein_scalar::Scalar::one(scalar)), ty.clone(), span);
    Expr::new(ExprKind::Binary(ein_scalar::BinaryOp::Add, value, one), ty, span)
}

fn tuple(cx: &mut Cx, items: &[ExprId], want: Option<&Type>, span: Span) -> Expr {
    let wants = match want {
        Some(Type::Tuple(wants)) if wants.len() == items.len() => Some(wants.as_slice()),
        _ => None,
    };
    let items: Vec<_> = items
        .iter()
        .enumerate()
        .map(|(position, item)| {
            let want = wants.map(|wants| &wants[position]).filter(|want| **want != Type::Error);
            close::open_value(cx, *item, want, None)
        })
        .collect();
    let ty = Type::Tuple(items.iter().map(|item| item.ty.clone()).collect());
    if cx.infer.is_large(&ty) {
        return cx.report.too_large("the type of this tuple", span);
    }
    Expr::new(ExprKind::Tuple(items), ty, span)
}

pub(super) fn tuple_field(
    ix: &Index,
    report: &mut Report,
    base: Expr,
    position: u32,
    at: Span,
    span: Span,
) -> Expr {
    let position = position as usize;
    match &base.ty {
        Type::Tuple(items) => match items.get(position) {
            Some(ty) => {
                let ty = ty.clone();
                Expr::new(ExprKind::TupleGet(base, position), ty, span)
            }
            None => {
                let count = items.len();
                let d = error(
                    Code::E0511,
                    at,
                    format!("this tuple has {count} components, so there is no `.{position}`"),
                )
                .here("no such component")
                .label(base.span, format!("this is `{}`", ix.show(&base.ty)))
                .help(format!("components are `.0` to `.{}`", count.saturating_sub(1)));
                report.fail(d)
            }
        },
        ty if ty.is_broken() => Expr::error(span),
        ty => {
            let d =
                error(Code::E0511, at, format!("`{}` has no component `.{position}`", ix.show(ty)))
                    .here("not a tuple")
                    .label(base.span, format!("this is `{}`", ix.show(ty)))
                    .help("arrays are indexed with brackets: `a[0]`");
            report.fail(d)
        }
    }
}

pub(super) fn field(cx: &mut Cx, base: Expr, name: ein_base::Name, span: Span) -> Expr {
    match (&base.ty, name.sym.as_str()) {
        (ty, _) if ty.is_broken() => Expr::error(span),
        (Type::Array(_), "shape") => shape_of(&mut cx.ix, &mut cx.build, base, span),
        (Type::Array(_), "size") => {
            let base = settle_expr(&mut cx.ix, &mut cx.build, base);
            let one = ein_ir::size::Expr::one();
            let all = base.ty.axes().iter().fold(one, |all, axis| all.mul(&axis.size));
            Expr::size(all, span)
        }
        (Type::AnyRank(_), "size") => {
            let sym = ein_base::Symbol::intern("shape");
            let shape = field(cx, base, ein_base::Name { sym, ..name }, span);
            let op = hir::Builtin::Reduction(ein_ir::tensor::ReduceOp::Prod);
            builtin::apply_builtin(cx, op, &[], vec![shape], span)
        }
        (Type::Array(_) | Type::Str | Type::Jagged(..), "length") => {
            length_of(&mut cx.ix, &mut cx.build, base, span)
        }
        (Type::AnyRank(_), "shape") => Expr::new(
            ExprKind::Host(HostOp::Shape, vec![base]),
            Type::array(Type::I32, vec![super::anonymous(cx.ix.unknown_size(true))]),
            span,
        ),
        (Type::AnyRank(_), "length") => {
            Expr::new(ExprKind::Host(HostOp::Len, vec![base]), Type::I32, span)
        }
        (Type::Data(..), _) => data::struct_field(cx, base, name, span),
        (ty, _) => {
            let have = cx.ix.show(ty);
            let d = error(Code::E0511, name.span, format!("`{have}` has no field `{name}`"))
                .here("no such field")
                .label(base.span, format!("this is `{have}`"))
                .help(instead_of_field(name.sym.as_str()));
            cx.report.fail(d)
        }
    }
}

/// What is written here for a field or method that arrays have in other languages.
fn instead_of_field(name: &str) -> &'static str {
    match name {
        "T" | "mT" | "transpose" | "swapaxes" | "permute" => {
            "name the axes: `let y[j, i] = x[i, j];` swaps them"
        }
        "sum" | "mean" | "prod" | "max" | "min" | "argmax" | "argmin" | "any" | "all" => {
            "a reduction names what it runs over: `sum[i](x[i])`"
        }
        "ndim" => "`len(x.shape)` is the number of axes",
        "astype" | "to" | "float" | "int" => "elements are converted by `x[i] as f64`",
        "reshape" | "view" => "it is a function: `reshape(x, [2, 3])`",
        "len" => "it is a function: `len(x)`",
        "dot" | "matmul" => "write the sum: `sum[k](a[i, k] * b[k, j])`",
        _ => "arrays have `.shape`, `.length` and `.size`, strings have `.length`",
    }
}

/// The extents of an array, as known as they are.
pub(super) fn shape_of(ix: &mut Index, build: &mut Build, base: Expr, span: Span) -> Expr {
    let base = evaluated(ix, build, base);
    let sizes: Vec<_> = base.ty.axes().iter().map(|axis| axis.size.clone()).collect();
    let rank = sizes.len() as i64;
    let items = sizes.into_iter().map(|size| Expr::size(size, span)).collect();
    let ty = Type::array(Type::I32, vec![super::anonymous(ein_ir::size::Expr::constant(rank))]);
    Expr::new(ExprKind::Array(items), ty, span)
}

/// The first extent, or the number of characters.
pub(super) fn length_of(ix: &mut Index, build: &mut Build, base: Expr, span: Span) -> Expr {
    match &base.ty {
        Type::Array(_) => {
            let base = evaluated(ix, build, base);
            let size = base.ty.axes()[0].size.clone();
            Expr::size(size, span)
        }
        Type::Tuple(items) => Expr::int(items.len() as i64, span),
        _ => Expr::new(ExprKind::Host(HostOp::Len, vec![base]), Type::I32, span),
    }
}

/// A value of which only the extents are wanted: what may fail is computed all the same, in a
/// variable.
fn evaluated(ix: &mut Index, build: &mut Build, value: Expr) -> Expr {
    if !may_fail(&value) {
        return settle_expr(ix, build, value);
    }
    let span = value.span;
    let var = vars::bind(ix, build, ein_base::Symbol::intern(super::vars::TEMPORARY), value);
    ix.var_expr(var, span)
}

/// The same value in a variable if its extents are not known yet, so that they are.
pub(super) fn settle_expr(ix: &mut Index, build: &mut Build, value: Expr) -> Expr {
    let open = value.ty.axes().iter().any(|axis| ix.unsettled(&axis.size).is_some());
    if open && !matches!(&*value.kind, ExprKind::Var(_)) {
        let span = value.span;
        let var = vars::bind(ix, build, ein_base::Symbol::intern(super::vars::TEMPORARY), value);
        return ix.var_expr(var, span);
    }
    value
}

/// An element at known positions.
pub(super) fn read(base: Expr, indices: Vec<Expr>, bounds: Bounds, span: Span) -> Expr {
    let rest = base.ty.axes().get(indices.len()..).unwrap_or(&[]).to_vec();
    let ty = Type::array(base.ty.elem().clone(), rest);
    let indices = indices.into_iter().map(|value| IndexArg { value, bounds }).collect();
    Expr::new(ExprKind::Index { base, indices }, ty, span)
}

/// Whether computing a value may stop the program.
fn may_fail(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Const(_) | ExprKind::Str(_) | ExprKind::Var(_) | ExprKind::Size(_) => false,
        ExprKind::FieldGet(base, _) | ExprKind::TupleGet(base, _) => may_fail(base),
        ExprKind::Array(items) | ExprKind::Tuple(items) => items.iter().any(may_fail),
        _ => true,
    }
}
