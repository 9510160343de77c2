//! Built-ins.

pub(in crate::check) mod arrays;
pub(in crate::check) mod einsum;

use super::state::{Build, Index, Report};
use super::{
    Cx, binary, blocks, call, coerce, derivative, error, expr, fields, fold, literal, pointwise,
    template, widen,
};
use crate::hir::{Arg, Builtin, CoordArg, ExprId};
use ein_base::{Code, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::{Expr, ExprKind, HostOp, IoOp, PlainOp, ReduceOp, Type};
use ein_scalar::{BinaryOp, ScalarType, UnaryOp};

/// A call of a built-in by name.
pub(super) fn builtin_call(
    cx: &mut Cx,
    builtin: Builtin,
    coords: &[CoordArg],
    args: &[Arg],
    want: Option<&Type>,
    span: Span,
) -> Expr {
    if let Some(name) = args.iter().find_map(|arg| arg.name) {
        let d =
            error(Code::E0509, name.span, format!("built-ins take no named arguments: `{name}`"))
                .here("named")
                .help("pass it by position");
        return cx.report.fail(d);
    }
    match builtin {
        Builtin::Rerank => template::rerank(cx, args, span),
        Builtin::Blocks => blocks::split_blocks(cx, args, span),
        Builtin::Input => cx.report.fail(
            error(Code::E0516, span, "`input()` stands alone on the right of a `let` with a type")
                .here("a value from outside")
                .help("write `let x: [f32; ?, ?] = input();` at the top level"),
        ),
        Builtin::Python(path) => python_call(cx, path, args, want, span),
        Builtin::Jvp | Builtin::Vjp | Builtin::Hessian => {
            derivative::derivative_product(cx, builtin, args, span)
        }
        Builtin::Binary(op) => {
            let (a, b) = match args {
                [a, b] => (a.value, b.value),
                _ => return cx.report.wrong_count(op.as_str(), 2, args.len(), span),
            };
            let (x, y) = two_numbers(cx, a, b, want);
            match fields::is_record(&cx.ix, &x.ty) || fields::is_record(&cx.ix, &y.ty) {
                true => fields::of_records(cx, op, x, y, span),
                false => scalar_binary(&mut cx.ix, &mut cx.build, &mut cx.report, op, x, y, span),
            }
        }
        Builtin::Reduction(op @ (ReduceOp::Max | ReduceOp::Min)) if args.len() == 2 => {
            let (x, y) = two_numbers(cx, args[0].value, args[1].value, want);
            let op = match op {
                ReduceOp::Max => BinaryOp::Max,
                _ => BinaryOp::Min,
            };
            scalar_binary(&mut cx.ix, &mut cx.build, &mut cx.report, op, x, y, span)
        }
        Builtin::Join if args.len() == 2 => {
            let mapped = call::coords::enter_coords(&mut cx.ix, coords);
            let (a, b) = two_pieces(cx, args[0].value, args[1].value, &mapped);
            call::coords::leave_coords(&mut cx.ix, &mapped);
            blocks::join(&mut cx.ix, &mut cx.build, &mut cx.report, coords, a, b, span)
        }
        Builtin::ArrayAppend if args.len() == 2 && cx.infer.is_nothing(args[0].value) => {
            let item = expr::expr(cx, args[1].value, None);
            let rows = vec![super::anonymous(ein_ir::size::Expr::zero())];
            let like = (!item.ty.has_error()).then(|| Type::array(item.ty.clone(), rows));
            let array = expr::expr(cx, args[0].value, like.as_ref());
            apply_builtin(cx, builtin, &[], vec![array, item], span)
        }
        Builtin::Append | Builtin::ArrayAppend if args.len() == 2 => {
            let (a, b) = two_pieces(cx, args[0].value, args[1].value, &[]);
            apply_builtin(cx, builtin, &[], vec![a, b], span)
        }
        Builtin::Reduce | Builtin::Scan if args.len() == 3 => {
            let op = expr::expr(cx, args[0].value, None);
            // The start value is one more element.
            let (zero, array) = two_pieces(cx, args[1].value, args[2].value, &[]);
            apply_builtin(cx, builtin, &[], vec![op, zero, array], span)
        }
        _ => {
            let want = match builtin {
                Builtin::Unary(_) => want,
                Builtin::Reduction(op) if literal::gives_its_own(op) => want,
                _ => None,
            };
            let mapped = call::coords::enter_coords(&mut cx.ix, coords);
            let args: Vec<Expr> = args
                .iter()
                .map(|arg| call::args::closed_argument(cx, arg.value, want, &mapped))
                .collect();
            call::coords::leave_coords(&mut cx.ix, &mapped);
            apply_builtin(cx, builtin, coords, args, span)
        }
    }
}

/// A call of a function of Python. What it gives is what the place asks for, checked there.
fn python_call(cx: &mut Cx, path: Symbol, args: &[Arg], want: Option<&Type>, span: Span) -> Expr {
    let args: Vec<Expr> =
        args.iter().map(|arg| call::args::closed_argument(cx, arg.value, None, &[])).collect();
    if args.iter().any(|arg| arg.ty.has_error()) {
        return Expr::error(span);
    }
    let ty = match want {
        Some(Type::Array(array)) => Type::AnyRank(Box::new(array.elem.clone())),
        Some(ty @ (Type::AnyRank(_) | Type::Scalar(_) | Type::Str)) => ty.clone(),
        _ => {
            let text = format!("nothing says what `{path}` of Python gives");
            let d = error(Code::E0516, span, text)
                .here("a value of any type")
                .help("write its type: `let y: f64 = python::…;`");
            return cx.report.fail(d);
        }
    };
    Expr::new(ExprKind::Host(HostOp::Python(path), args), ty, span)
}

/// A built-in on checked arguments.
pub(super) fn apply_builtin(
    cx: &mut Cx,
    builtin: Builtin,
    coords: &[CoordArg],
    args: Vec<Expr>,
    span: Span,
) -> Expr {
    if args.iter().any(|arg| arg.ty.is_broken()) {
        return Expr::error(span);
    }
    if let Some((name, count)) = takes(builtin)
        && args.len() != count
    {
        return cx.report.wrong_count(name, count, args.len(), span);
    }
    let mut args = args;
    let mut next = || if args.is_empty() { Expr::error(span) } else { args.remove(0) };
    let Cx { ix, build, report, .. } = cx;
    match builtin {
        Builtin::Print => Expr::new(ExprKind::Host(HostOp::Print, args), Type::Unit, span),
        Builtin::Assert => assertion(ix, report, args, span),
        Builtin::Len => length(ix, build, report, next(), span),
        Builtin::Shape => shape_call(ix, build, report, next(), span),
        Builtin::Typeof => type_name(ix, &next(), span),
        Builtin::Reduction(op) => arrays::whole_reduction(ix, build, report, op, next(), span),
        Builtin::Reduce | Builtin::Scan => {
            let scan = builtin == Builtin::Scan;
            fold::fold_recurrence(cx, scan, next(), next(), next(), span)
        }
        Builtin::Append | Builtin::ArrayAppend => {
            blocks::join(ix, build, report, &[CoordArg::Axis(0, span)], next(), next(), span)
        }
        Builtin::Rotate => arrays::rotate(ix, build, report, next(), next(), span),
        Builtin::Reverse => arrays::reverse(ix, build, report, next(), span),
        Builtin::Reshape => arrays::reshape(ix, build, report, next(), next(), span),
        Builtin::Filter => arrays::filter(cx, next(), next(), span),
        Builtin::Iota => arrays::iota(ix, report, next(), span),
        Builtin::First
        | Builtin::Last
        | Builtin::Rest
        | Builtin::Init
        | Builtin::Take
        | Builtin::Drop => blocks::split(ix, build, report, builtin, coords, args, span),
        Builtin::Join => blocks::join(ix, build, report, coords, next(), next(), span),
        Builtin::Unblocks => blocks::join_blocks(ix, build, report, next(), span),
        Builtin::Unary(op) => fields::of_each(cx, op, next(), span),
        Builtin::Total => fields::total(cx, next(), span),
        Builtin::Binary(op) => scalar_binary(ix, build, report, op, next(), next(), span),
        Builtin::Einsum => einsum::einsum(ix, build, report, next(), next(), span),
        Builtin::Io(io) => self::io(ix, report, io, args, span),
        Builtin::Plain(op) => plain(ix, report, op, args, span),
        Builtin::By(op) => {
            build.f.by = Some(op);
            Expr::new(ExprKind::Unit, Type::Unit, span)
        }
        Builtin::Rerank
        | Builtin::Blocks
        | Builtin::Input
        | Builtin::Python(_)
        | Builtin::Jvp
        | Builtin::Vjp
        | Builtin::Hessian => report.fail(
            error(Code::E0510, span, "this built-in cannot be used as a function value")
                .here("used as a value")
                .help("call it by name"),
        ),
    }
}

/// How many arguments a built-in takes, if that is all there is to say of their number.
fn takes(builtin: Builtin) -> Option<(&'static str, usize)> {
    match builtin {
        Builtin::Len => Some(("len", 1)),
        Builtin::Shape => Some(("shape", 1)),
        Builtin::Typeof => Some(("typeof", 1)),
        Builtin::Reverse => Some(("reverse", 1)),
        Builtin::Iota => Some(("iota", 1)),
        Builtin::Unblocks => Some(("unblocks", 1)),
        Builtin::Unary(op) => Some((op.as_str(), 1)),
        Builtin::Total => Some(("total", 1)),
        Builtin::Reduction(op) => Some((op.as_str(), 1)),
        Builtin::Append => Some(("append", 2)),
        Builtin::ArrayAppend => Some(("array_append", 2)),
        Builtin::Join => Some(("join", 2)),
        Builtin::Rotate => Some(("rotate", 2)),
        Builtin::Reshape => Some(("reshape", 2)),
        Builtin::Filter => Some(("filter", 2)),
        Builtin::Einsum => Some(("einsum", 2)),
        Builtin::Binary(op) => Some((op.as_str(), 2)),
        Builtin::Reduce => Some(("reduce", 3)),
        Builtin::Scan => Some(("scan", 3)),
        _ => None,
    }
}

/// Two numbers, literals taking the type of the other.
fn two_numbers(cx: &mut Cx, a: ExprId, b: ExprId, want: Option<&Type>) -> (Expr, Expr) {
    match (literal::literal_class(cx.hir, a), literal::literal_class(cx.hir, b)) {
        (Some(p), Some(q)) => {
            let ty = Type::Scalar(literal::literal_type(p.max(q), want));
            (expr::expr(cx, a, Some(&ty)), expr::expr(cx, b, Some(&ty)))
        }
        (Some(class), None) => {
            let y = expr::expr(cx, b, want);
            let hint = expr::branch::literal_hint(Some(class), &y, want);
            (expr::expr(cx, a, hint.as_ref()), y)
        }
        (None, class) => {
            let x = expr::expr(cx, a, want);
            let hint = expr::branch::literal_hint(class, &x, want);
            let y = expr::expr(cx, b, hint.as_ref().or(want));
            (x, y)
        }
    }
}

fn two_pieces(
    cx: &mut Cx,
    a: ExprId,
    b: ExprId,
    mapped: &[(Symbol, super::IndexId)],
) -> (Expr, Expr) {
    // `[]` is like the other one.
    if cx.infer.is_nothing(a) && !cx.infer.is_nothing(b) {
        let y = call::args::closed_argument(cx, b, None, mapped);
        let like = Some(&y.ty).filter(|ty| !ty.has_error());
        return (call::args::closed_argument(cx, a, like, mapped), y);
    }
    if cx.infer.is_nothing(b) && !cx.infer.is_nothing(a) {
        let x = call::args::closed_argument(cx, a, None, mapped);
        let like = Some(&x.ty).filter(|ty| !ty.has_error());
        let y = call::args::closed_argument(cx, b, like, mapped);
        return (x, y);
    }
    match (literal::literal_class(cx.hir, a), literal::literal_class(cx.hir, b)) {
        (Some(class), None) => {
            let y = call::args::closed_argument(cx, b, None, mapped);
            let hint = expr::branch::literal_hint(Some(class), &y, None);
            (call::args::closed_argument(cx, a, hint.as_ref(), mapped), y)
        }
        (_, class) => {
            let x = call::args::closed_argument(cx, a, None, mapped);
            let hint = expr::branch::literal_hint(class, &x, None);
            let y = call::args::closed_argument(cx, b, hint.as_ref(), mapped);
            (x, y)
        }
    }
}

pub(super) fn scalar_unary(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    op: UnaryOp,
    arg: Expr,
    span: Span,
) -> Expr {
    let result = arg.ty.scalar().and_then(|ty| op.result_type(ty));
    match result {
        Some(ty) => pointwise::pointwise(ix, build, report, vec![arg], span, |_, mut args| {
            let arg = args.pop().unwrap_or_else(|| Expr::error(span));
            Expr::new(ExprKind::Unary(op, arg), Type::Scalar(ty), span)
        }),
        None => {
            let have = ix.show(&arg.ty);
            let d = error(Code::E0501, arg.span, format!("`{op}` does not take `{have}`"))
                .here(format!("this is `{have}`"));
            let d = match arg.ty.scalar() {
                Some(ty) if ty.is_int() => {
                    d.fix("convert it: `… as f32`", arg.span.end(), " as f32")
                }
                _ => d.help("pass a float, or an array of floats"),
            };
            report.fail(d)
        }
    }
}

pub(super) fn scalar_binary(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    op: BinaryOp,
    x: Expr,
    y: Expr,
    span: Span,
) -> Expr {
    if x.ty.has_error() || y.ty.has_error() {
        return Expr::error(span);
    }
    let result = match (x.ty.scalar(), y.ty.scalar()) {
        (Some(s), Some(t)) => op.result_type(s, t).map(|ty| (ty, None)),
        _ => None,
    };
    let result = result.or_else(|| {
        let to = widen::meet(ix, build, report, &x, &y)?;
        Some((op.result_type(to, to)?, Some(to)))
    });
    match result {
        Some((ty, to)) => {
            pointwise::pointwise(ix, build, report, vec![x, y], span, |ix, mut args| {
                let b = args.pop().unwrap_or_else(|| Expr::error(span));
                let a = args.pop().unwrap_or_else(|| Expr::error(span));
                let (a, b) = match to {
                    Some(to) => (super::widen::cast(a, to), super::widen::cast(b, to)),
                    None => (a, b),
                };
                let value = Expr::new(ExprKind::Binary(op, a, b), Type::Scalar(ty), span);
                match ix.as_one_size(&value) {
                    Some(size) if ty == ScalarType::I32 => Expr::size(size, span),
                    _ => value,
                }
            })
        }
        None => {
            let (a, b) = (ix.show(&x.ty), ix.show(&y.ty));
            let d = error(Code::E0501, span, format!("`{op}` does not take `{a}` and `{b}`"))
                .here("called here")
                .label(x.span, format!("this is `{a}`"))
                .label(y.span, format!("this is `{b}`"))
                .help("pass two numbers of one type");
            let d = binary::numeric_help(ix, d, &x, &y);
            report.fail(d)
        }
    }
}

fn assertion(ix: &Index, report: &mut Report, args: Vec<Expr>, span: Span) -> Expr {
    if args.is_empty() || args.len() > 2 {
        return report.wrong_count("assert", 1, args.len(), span);
    }
    if args[0].ty.scalar() != Some(ScalarType::Bool) {
        return expr::expect_bool(ix, report, args[0].clone(), "an assertion");
    }
    if let Some(message) = args.get(1)
        && message.ty != Type::Str
    {
        let d = coerce::mismatch(ix, message, &Type::Str, "the message of `assert`");
        return report.fail(d);
    }
    Expr::new(ExprKind::Host(HostOp::Assert, args), Type::Unit, span)
}

fn length(ix: &mut Index, build: &mut Build, report: &mut Report, arg: Expr, span: Span) -> Expr {
    match &arg.ty {
        Type::Array(_) | Type::Tuple(_) => expr::length_of(ix, build, arg, span),
        Type::Str | Type::Jagged(..) | Type::AnyRank(_) => {
            Expr::new(ExprKind::Host(HostOp::Len, vec![arg]), Type::I32, span)
        }
        ty => {
            let have = ix.show(ty);
            let d = error(Code::E0501, arg.span, format!("`{have}` has no length"))
                .here("not an array, string or tuple")
                .help("`len` counts elements, characters or components");
            report.fail(d)
        }
    }
}

fn shape_call(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    arg: Expr,
    span: Span,
) -> Expr {
    match &arg.ty {
        Type::Array(_) => expr::shape_of(ix, build, arg, span),
        Type::AnyRank(_) => {
            let size = ix.unknown_size(true);
            let ty = Type::array(Type::I32, vec![super::anonymous(size)]);
            Expr::new(ExprKind::Host(HostOp::Shape, vec![arg]), ty, span)
        }
        Type::Scalar(_) => {
            let ty = Type::array(Type::I32, vec![super::anonymous(size::Expr::zero())]);
            Expr::new(ExprKind::Array(Vec::new()), ty, span)
        }
        ty => {
            let have = ix.show(ty);
            let d = error(Code::E0501, arg.span, format!("`{have}` has no shape"))
                .here("not an array")
                .help("only rectangular arrays have extents");
            report.fail(d)
        }
    }
}

/// `typeof(x)` is decided here.
fn type_name(ix: &Index, arg: &Expr, span: Span) -> Expr {
    let text = match &arg.ty {
        Type::Scalar(ty) => ty.name().to_string(),
        Type::Str => "str".into(),
        Type::Array(_) | Type::AnyRank(_) => "rectangular".into(),
        Type::Jagged(..) => "jagged".into(),
        Type::Tuple(_) => "tuple".into(),
        Type::Template(..) | Type::Signature(_) => "function".into(),
        Type::Data(id, _) => ix.data[*id].name.to_string(),
        Type::Unit => "unit".into(),
        Type::Range => "range".into(),
        Type::Error => return Expr::error(span),
    };
    Expr::new(ExprKind::Str(Symbol::intern(&text)), Type::Str, span)
}

fn io(ix: &mut Index, report: &mut Report, op: IoOp, args: Vec<Expr>, span: Span) -> Expr {
    let (count, ty) = match op {
        IoOp::LoadNpy => (1, Type::AnyRank(Box::new(Type::F32))),
        IoOp::LoadSafetensors => (2, Type::AnyRank(Box::new(Type::F32))),
        IoOp::SaveNpy => (2, Type::BOOL),
        IoOp::CurrentDir => (0, Type::Str),
        IoOp::ScriptDir => (0, Type::Str),
        IoOp::FileExists => (1, Type::BOOL),
        IoOp::IsFile => (1, Type::BOOL),
        IoOp::IsDir => (1, Type::BOOL),
        IoOp::FileSize => (1, Type::Scalar(ScalarType::I64)),
        IoOp::ListDir => (1, fresh_array(ix, Type::Str, 1)),
        IoOp::AbsolutePath => (1, Type::Str),
        IoOp::CreateDir => (1, Type::BOOL),
        IoOp::RemoveDir => (1, Type::BOOL),
        IoOp::DeleteFile => (1, Type::BOOL),
        IoOp::CopyFile => (2, Type::BOOL),
        IoOp::MoveFile => (2, Type::BOOL),
        IoOp::ReadFile => (1, Type::Str),
        IoOp::WriteFile => (2, Type::BOOL),
        IoOp::AppendFile => (2, Type::BOOL),
        IoOp::LoadPng => (1, fresh_array(ix, Type::F32, 3)),
        IoOp::SavePng => (2, Type::BOOL),
        IoOp::Now | IoOp::Monotonic => (0, Type::Scalar(ScalarType::F64)),
    };
    if args.len() != count {
        return report.wrong_count("this file function", count, args.len(), span);
    }
    if let Some(path) = args.first()
        && path.ty != Type::Str
    {
        let d = coerce::mismatch(ix, path, &Type::Str, "a path");
        return report.fail(d);
    }
    Expr::new(ExprKind::Host(HostOp::Io(op), args), ty, span)
}

/// A function that the library computes with the help of the run-time library.
fn plain(ix: &mut Index, report: &mut Report, op: PlainOp, args: Vec<Expr>, span: Span) -> Expr {
    let (count, ty) = match op {
        PlainOp::TextCodes => (1, fresh_array(ix, Type::I32, 1)),
        PlainOp::TextOf | PlainOp::TextUpper | PlainOp::TextLower => (1, Type::Str),
        PlainOp::TextFind => (3, Type::I32),
        PlainOp::TextSplit => (2, fresh_array(ix, Type::Str, 1)),
        PlainOp::TextJoin => (2, Type::Str),
        PlainOp::TextNumber => (1, Type::Scalar(ScalarType::F64)),
        PlainOp::TextInteger => (1, Type::Scalar(ScalarType::I64)),
        PlainOp::TextFormat => (3, Type::Str),
        PlainOp::Paint => (2, args.first().map_or(Type::Error, |it| it.ty.clone())),
    };
    if args.len() != count {
        return report.wrong_count("this function", count, args.len(), span);
    }
    Expr::new(ExprKind::Host(HostOp::Plain(op), args), ty, span)
}

/// An array whose extents are known when the program runs.
fn fresh_array(ix: &mut Index, elem: Type, rank: usize) -> Type {
    let axes = (0..rank).map(|_| super::anonymous(ix.unknown_size(true))).collect();
    Type::array(elem, axes)
}
