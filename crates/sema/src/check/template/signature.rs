//! Templates where a signature asks for a function: their code is chosen, and what they give is held
//! to what is wanted.

use super::Template;
use crate::check::instance::{Key, Source};
use crate::check::{Cx, call, choice, coerce, error, function, vars};
use crate::hir::ExprKind as H;
use ein_base::{Code, Name, Span, Symbol};
use ein_ir::tensor::{Axis, Expr, ExprKind, Type};

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
            let count = match &cx.hir.exprs[closure].kind {
                H::Closure { params, .. } => params.len(),
                _ => 0,
            };
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
            super::closure_instance(cx, closure, captures.to_vec(), params.clone(), span)
        }
        Some(Template::Choice(ids)) => {
            choice::choice_instance(cx, id, &ids, captures.to_vec(), params.clone(), span)
        }
        Some(_) => adapter(cx, id, &params, span),
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
    let given = call::map_result(&mut cx.ix, &cx.build, have.clone(), &instance, &[], &args);
    if differs(&given, &ret) {
        let (have, want) = (cx.ix.show(&given), cx.ix.show(&ret));
        let message =
            format!("a function that gives `{want}` is wanted, but this one gives `{have}`");
        let d = error(Code::E0405, span, message)
            .here(format!("gives `{have}`"))
            .help(format!("pass a function whose result is `{want}`"));
        return cx.report.fail(d);
    }
    // A type parameter may still be open in what is wanted: then the function says it.
    let ty = Type::signature(params, if ret.has_error() { have } else { ret });
    Expr::new(ExprKind::Specialise { value, func: instance.func }, ty, span)
}

/// A function of fixed parameter types that calls a template.
fn adapter(cx: &mut Cx, id: u32, params: &[Type], span: Span) -> Option<usize> {
    let erase = crate::check::function::erase;
    let key = Key {
        source: Source::Adapter(id),
        captures: Vec::new(),
        params: params.iter().cloned().map(|ty| Some(erase(ty))).collect(),
        packs: Vec::new(),
        types: Vec::new(),
    };
    if let Some(at) = cx.infer.instances.table.get(&key) {
        return Some(*at);
    }
    let name = match cx.infer.templates.get(id as usize) {
        Some(Template::Fn(def)) => cx.hir.defs[*def].name.sym,
        _ => Symbol::intern("function"),
    };
    let at = function::new_instance(&mut cx.infer, &mut cx.build, key, Name { sym: name, span });
    function::fill_instance(cx, at, |cx| {
        let vars: Vec<_> = params
            .iter()
            .map(|ty| {
                let ty = vars::map_sizes(ty.clone(), &mut |_| cx.ix.unknown_size(true));
                let var = cx.ix.new_var(Symbol::intern("argument"), span, ty.clone());
                cx.ix.settle_type(var, ty);
                cx.ix.size_variable(var, None, true);
                var
            })
            .collect();
        cx.infer.instances.items[at].params = vars.clone();
        let args = vars.into_iter().map(|var| cx.ix.var_expr(var, span)).collect();
        let callee = Expr::new(ExprKind::Unit, Type::Unit, span);
        super::apply_template(cx, id, callee, args, span)
    });
    Some(at)
}

/// Whether an extent in one type is certainly another one than in the other.
fn differs(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Array(x), Type::Array(y)) => {
            let certain = |(p, q): (&Axis, &Axis)| {
                p.size.sub(&q.size).as_constant().is_some_and(|difference| difference != 0)
            };
            x.axes.iter().zip(&y.axes).any(certain) || differs(&x.elem, &y.elem)
        }
        (Type::Tuple(x), Type::Tuple(y)) => x.iter().zip(y).any(|(p, q)| differs(p, q)),
        (Type::Data(m, x), Type::Data(n, y)) if m == n => {
            x.iter().zip(y).any(|(p, q)| differs(p, q))
        }
        _ => false,
    }
}
