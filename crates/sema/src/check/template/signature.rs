//! Templates where a signature asks for a function: their code is chosen, and what they give is held
//! to what is wanted.

use super::Template;
use crate::check::instance::{Key, Source};
use crate::check::state::{Index, Infer, Report};
use crate::check::{Cx, call, choice, coerce, error, function};
use crate::hir::{ExprKind as H, LocalId};
use ein_base::{Code, Diagnostic, Name, Span, Symbol};
use ein_ir::tensor::{Axis, Expr, ExprKind, Signature, Type};

/// A template as a value of a fixed signature.
pub(in crate::check) fn specialise_value(
    cx: &mut Cx,
    value: Expr,
    params: Vec<Type>,
    ret: Type,
) -> Expr {
    let span = value.span;
    let Type::Template(id, captures) = value.ty.clone() else { return value };
    let at = match cx.infer.templates.get(id as usize).cloned() {
        Some(Template::Closure(closure)) => {
            let hir = cx.hir;
            let own = match &hir.exprs[closure].kind {
                H::Closure { params, .. } => &params[..],
                _ => &[],
            };
            let count = own.len();
            if count != params.len() {
                let d = error(
                    Code::E0508,
                    span,
                    format!(
                        "a function of {} arguments is wanted, this closure takes {count}",
                        params.len()
                    ),
                )
                .here("the closure")
                .help("give the closure that many parameters");
                return cx.report.fail(d);
            }
            match own.iter().any(|param| param.ty.is_some()) {
                // What it declares may be lifted over what is wanted, or refuse it.
                true => adapter(cx, id, &captures, &params, span),
                false => {
                    super::closure_instance(cx, closure, captures.to_vec(), params.clone(), span)
                }
            }
        }
        Some(Template::Choice(ids)) => {
            choice::choice_instance(cx, id, &ids, captures.to_vec(), params.clone(), span)
        }
        Some(_) => adapter(cx, id, &captures, &params, span),
        None => None,
    };
    let Some(at) = at else { return Expr::error(span) };
    let instance = cx.infer.instances.items[at].clone();
    let have = instance.ret.clone().unwrap_or(Type::Error);
    if !coerce::same_kind(&have, &ret) && !ret.has_error() {
        let (have, want) = (cx.ix.show(&have), cx.ix.show(&ret));
        let d = error(
            Code::E0501,
            span,
            format!("a function that gives `{want}` is wanted, but this one gives `{have}`"),
        )
        .here(format!("gives `{have}`"))
        .help(format!("pass a function whose result is `{want}`"));
        return cx.report.fail(d);
    }
    // What the extents of its result are for arguments of the wanted types.
    let args: Vec<Expr> =
        params.iter().map(|ty| Expr::new(ExprKind::Error, ty.clone(), span)).collect();
    let reported = cx.report.diagnostics.len();
    call::check_assumed(&cx.ix, &mut cx.build, &mut cx.report, &instance, &[], &args, span);
    if cx.report.diagnostics.len() > reported {
        return Expr::error(span);
    }
    let given = call::map_result(&mut cx.ix, &cx.build, have.clone(), &instance, &[], &args);
    if let Some(code) = differs(&given, &ret) {
        return cx.report.fail(other(&cx.ix, code, ("gives", "result"), &given, &ret, span));
    }
    // A type parameter may still be open in what is wanted: then the function says it.
    let ty = Type::signature(params, if ret.has_error() { have } else { ret });
    Expr::new(ExprKind::Specialise { value, func: instance.func }, ty, span)
}

/// A function value of one signature where another one is wanted: of the same kinds, so that only
/// extents and layouts may differ.
pub(in crate::check) fn hold_signature(
    ix: &Index,
    report: &mut Report,
    value: Expr,
    wanted: &Signature,
) -> Expr {
    let Type::Signature(own) = &value.ty else { return value };
    let params = own.params.iter().zip(&wanted.params);
    let parts = params.map(|(own, wanted)| (("takes", "parameter"), own, wanted));
    for (words, own, wanted) in parts.chain([(("gives", "result"), &own.ret, &wanted.ret)]) {
        if let Some(code) = differs(own, wanted) {
            return report.fail(other(ix, code, words, own, wanted, value.span));
        }
    }
    value
}

/// A function that takes or gives something else than is wanted.
fn other(
    ix: &Index,
    code: Code,
    (does, part): (&str, &str),
    have: &Type,
    want: &Type,
    span: Span,
) -> Diagnostic {
    let (have, want) = (ix.show(have), ix.show(want));
    let message =
        format!("a function that {does} `{want}` is wanted, but this one {does} `{have}`");
    error(code, span, message)
        .here(format!("{does} `{have}`"))
        .help(format!("pass a function whose {part} is `{want}`"))
}

/// A function of fixed parameter types that calls a template.
fn adapter(cx: &mut Cx, id: u32, captures: &[Type], params: &[Type], span: Span) -> Option<usize> {
    let key = Key::new(Source::Adapter(id), captures, params);
    let name = match cx.infer.templates.get(id as usize) {
        Some(Template::Fn(def)) => cx.hir.defs[*def].name.sym,
        Some(Template::Closure(_)) => Symbol::intern("closure"),
        _ => Symbol::intern("function"),
    };
    function::instance(cx, key, Name { sym: name, span }, None, |cx, at| {
        let made_up = |ty| function::made_up(&mut cx.ix, "argument", ty, span);
        let vars: Vec<_> = params.iter().map(made_up).collect();
        cx.infer.instances.items[at].params = vars.clone();
        let args = vars.into_iter().map(|var| cx.ix.var_expr(var, span)).collect();
        let callee = match own_captures(&cx.infer, id) {
            Some((inner, locals)) => {
                let own = super::enter_captures(&mut cx.ix, locals, captures);
                cx.infer.instances.items[at].captures.clone_from(&own);
                let values = own.into_iter().map(|var| cx.ix.var_expr(var, span)).collect();
                cx.infer.template_value(inner, values, span)
            }
            None => Expr::new(ExprKind::Unit, Type::Unit, span),
        };
        super::apply_template(cx, id, callee, args, span)
    })
}

/// A closure, or a nested function, with what it captures.
fn own_captures<'a>(infer: &Infer<'a>, id: u32) -> Option<(Template, &'a [LocalId])> {
    let hir = infer.hir;
    let template = infer.templates.get(id as usize)?.clone();
    match &template {
        Template::Closure(closure) => match &hir.exprs[*closure].kind {
            H::Closure { captures, .. } => Some((template, captures)),
            _ => None,
        },
        Template::Fn(def) => {
            let captures = &function::function(hir, *def)?.captures[..];
            (!captures.is_empty()).then_some((template, captures))
        }
        Template::Rerank(inner, _) => own_captures(infer, *inner),
        Template::Builtin(_) | Template::Choice(_) => None,
    }
}

/// How one type certainly differs from another one of its kind: in layout, or in an extent.
pub(in crate::check) fn differs(a: &Type, b: &Type) -> Option<Code> {
    let parts = |a: &[Type], b: &[Type]| a.iter().zip(b).find_map(|(p, q)| differs(p, q));
    match (a, b) {
        (Type::Array(x), Type::Array(y)) => {
            let names = |(p, q): (&Axis, &Axis)| match (p.coord, q.coord) {
                (Some(p), Some(q)) => p.contract && q.contract && p.name != q.name,
                _ => false,
            };
            let extents = |(p, q): (&Axis, &Axis)| {
                p.size.sub(&q.size).as_constant().is_some_and(|difference| difference != 0)
            };
            if x.axes.iter().zip(&y.axes).any(names) {
                return Some(Code::E0311);
            }
            let other = x.axes.iter().zip(&y.axes).any(extents).then_some(Code::E0405);
            other.or_else(|| differs(&x.elem, &y.elem))
        }
        (Type::Tuple(x), Type::Tuple(y)) => parts(x, y),
        (Type::Data(m, x), Type::Data(n, y)) if m == n => parts(x, y),
        _ => None,
    }
}
