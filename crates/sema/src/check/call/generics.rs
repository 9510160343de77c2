//! The type arguments of a call: what stands inside of the types of its arguments.
//!
//! A parameter `x: T` takes a cell of the argument, so matching finds `T` with the frame. Everything
//! else that mentions `T` (`Option<T>`, `(T, U)`, `(T) -> U`) is taken apart here.

use super::super::arms::complete;
use super::super::matching::Match;
use super::super::template::Template;
use super::super::{Cx, error};
use crate::check::{construct, function, matching, template, vars};
use crate::hir::{self, DimKind, ExprKind as H, Function, LocalId, TypeKind};
use ein_base::{Code, Span, Symbol};
use ein_ir::tensor::{Expr, Type};
use rustc_hash::FxHashMap;

/// What structured arguments say, before the others are matched.
pub(super) fn infer_from_parts(cx: &mut Cx, m: &mut Match, function: &Function, args: &[Expr]) {
    if function.generics.is_empty() {
        return;
    }
    for (param, arg) in function.params.iter().zip(args) {
        if let Some(ty) = &param.ty {
            infer_from_part(cx, ty, &arg.ty, &mut m.types);
        }
    }
}

/// What one argument says about type parameters, if it is taken apart.
pub(super) fn infer_from_part(
    cx: &mut Cx,
    ty: &hir::Type,
    have: &Type,
    found: &mut FxHashMap<LocalId, Type>,
) {
    match &ty.kind {
        TypeKind::Function(params, _) if matches!(have, Type::Template(..)) => {
            for (param, declared) in params.iter().zip(declared_params(cx, have)) {
                if let Some(declared) = declared {
                    construct::infer_args(&mut cx.ix, param, &declared, found);
                }
            }
        }
        TypeKind::Tuple(_)
        | TypeKind::Function(..)
        | TypeKind::Jagged(..)
        | TypeKind::AnyRank(_) => construct::infer_args(&mut cx.ix, ty, have, found),
        TypeKind::Data(..) => construct::infer_args(&mut cx.ix, ty, have.elem(), found),
        TypeKind::Array { elem, .. } => infer_from_part(cx, elem, have.elem(), found),
        TypeKind::Scalar(_)
        | TypeKind::Str
        | TypeKind::Param(_)
        | TypeKind::Some(..)
        | TypeKind::Error => {}
    }
    found.retain(|_, ty| !ty.has_error());
}

/// The types of the parameters of a function value, as far as it declares them.
fn declared_params(cx: &mut Cx, value: &Type) -> Vec<Option<Type>> {
    let Type::Template(id, _) = value else { return Vec::new() };
    let hir = cx.hir;
    let params = match cx.infer.templates.get(*id as usize) {
        Some(Template::Closure(closure)) => match &hir.exprs[*closure].kind {
            H::Closure { params, .. } => params,
            _ => return Vec::new(),
        },
        Some(Template::Fn(def)) => match function::function(cx.hir, *def) {
            Some(function) if function.generics.is_empty() && function.coords.is_none() => {
                &function.params
            }
            _ => return Vec::new(),
        },
        Some(Template::Builtin(_) | Template::Rerank(..) | Template::Choice(_)) | None => {
            return Vec::new();
        }
    };
    let declared = params.iter().map(|param| param.ty.as_deref().filter(|ty| is_plain(ty)));
    let lowered = declared.map(|ty| {
        let ty = matching::lower_quietly(cx, ty?, &Match::default());
        // Its extents are those of the arguments that it gets.
        Some(vars::map_sizes(ty, &mut |_| cx.ix.unknown_size(true)))
    });
    lowered.collect()
}

/// What functions give, once matching has found what they take; and all arguments with the
/// types that are known now. `None` if a type is left that nothing says.
pub(super) fn infer_from_functions(
    cx: &mut Cx,
    m: &mut Match,
    function: &Function,
    mut args: Vec<Expr>,
    span: Span,
) -> Option<Vec<Expr>> {
    if function.generics.is_empty() {
        return Some(args);
    }
    let reported = cx.report.count();
    for (param, arg) in function.params.iter().zip(&mut args) {
        let Some(ty) = param.ty.as_deref() else { continue };
        let TypeKind::Function(_, ret) = &ty.kind else { continue };
        let Type::Signature(wanted) = matching::lower_quietly(cx, ty, m) else { continue };
        if wanted.params.iter().any(Type::has_error) {
            continue;
        }
        if let Type::Template(..) = arg.ty {
            let value = std::mem::replace(arg, Expr::error(arg.span));
            *arg = template::signature::specialise_value(
                cx,
                value,
                wanted.params.clone(),
                wanted.ret.clone(),
            );
        }
        match &arg.ty {
            Type::Signature(have) => {
                let have = have.ret.clone();
                construct::infer_args(&mut cx.ix, ret, &have, &mut m.types);
            }
            Type::Error => return None,
            _ => {}
        }
    }
    let unknown = function.generics.iter().find(|generic| !m.types.contains_key(generic));
    if let Some(generic) = unknown {
        // A function that does not take its arguments says nothing of what it gives.
        if cx.report.count() > reported {
            return None;
        }
        let name = m.function.map_or("the function".into(), |name| format!("`{name}`"));
        let generic = cx.hir.locals[*generic].name;
        let message = format!("the type `{generic}` of {name} cannot be inferred here");
        let d = error(Code::E0516, span, message)
            .here(format!("which type is `{generic}`?"))
            .label(generic.span, "declared here")
            .help("pass an argument whose type says it, bound with an annotation if need be");
        cx.report.report_at(d);
        return None;
    }
    let mut fit = true;
    for (param, arg) in function.params.iter().zip(&mut args) {
        let Some(ty) = param.ty.as_deref() else { continue };
        if arg.ty.has_error() {
            let ty = matching::lower_quietly(cx, ty, m);
            let value = std::mem::replace(arg, Expr::error(arg.span));
            *arg = complete(value, &ty);
        }
        let cell = match &ty.kind {
            TypeKind::Array { elem, .. } => elem,
            _ => ty,
        };
        if matches!(arg.ty, Type::Error) {
            continue;
        }
        if let TypeKind::Data(..) = cell.kind {
            // Matching took any value while the type arguments were open.
            let name = param.name.map_or(Symbol::intern("_"), |name| name.sym);
            fit &= matching::match_elem(cx, m, cell, arg, name);
        }
    }
    fit.then_some(args)
}

/// Whether a type mentions nothing that is declared elsewhere, and no pack.
fn is_plain(ty: &hir::Type) -> bool {
    match &ty.kind {
        TypeKind::Scalar(_) | TypeKind::Str => true,
        TypeKind::Tuple(items) | TypeKind::Data(_, items) => items.iter().all(is_plain),
        TypeKind::Array { elem, dims, .. } => {
            is_plain(elem) && !dims.iter().any(|dim| matches!(dim.kind, DimKind::Pack(_)))
        }
        TypeKind::AnyRank(_)
        | TypeKind::Jagged(..)
        | TypeKind::Function(..)
        | TypeKind::Some(..)
        | TypeKind::Param(_)
        | TypeKind::Error => false,
    }
}
