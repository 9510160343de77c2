//! Sizes that only the result of a function names: its caller cannot know them.

use super::defs::Signature;
use super::lower::Lower;
use crate::hir::{self, DimKind, LocalId, TypeKind};
use ein_base::{Code, Diagnostic, Name, Span};
use rustc_hash::FxHashSet;

/// Reports sizes of a result that no parameter determines. Everything after goes on as if the
/// result left these extents open.
pub(super) fn hide_sizes(
    lower: &mut Lower<'_, '_>,
    function: Name,
    params: &[hir::Param],
    ret: &mut hir::Type,
    signature: &mut Signature,
) {
    let program = &lower.r.program;
    let mut known = FxHashSet::default();
    for ty in params.iter().filter_map(|param| param.ty.as_deref()) {
        sizes_in(program, ty, &mut |local, _| {
            known.insert(local);
        });
    }
    let mut hidden: Vec<(LocalId, Span)> = Vec::new();
    sizes_in(program, ret, &mut |local, span| {
        let own = signature.sizes.contains(&local) && !known.contains(&local);
        if own && hidden.iter().all(|(other, _)| *other != local) {
            hidden.push((local, span));
        }
    });
    for (local, span) in &hidden {
        let name = lower.r.program.locals[*local].name;
        let text = format!("size `?{name}` is not known to the caller of `{function}`");
        let diagnostic = Diagnostic::new(Code::E0412, *span, text)
            .here("appears in no parameter")
            .label(function.span, format!("`{function}` is declared here"))
            .help(format!("hide it: `-> some {name}. […; {name}]`"));
        lower.report(diagnostic);
    }
    if !hidden.is_empty() {
        signature.sizes.retain(|local| hidden.iter().all(|(other, _)| other != local));
        leave_open(&lower.r.program, ret, &hidden);
    }
}

/// Leaves the extents of a type open that depend on sizes nobody knows.
fn leave_open(program: &hir::Program, ty: &mut hir::Type, sizes: &[(LocalId, Span)]) {
    match &mut ty.kind {
        TypeKind::Array { elem, dims, .. } => {
            leave_open(program, elem, sizes);
            for dim in dims.iter_mut() {
                let mut unknown = false;
                if let DimKind::Size(e) | DimKind::Coord { extent: Some(e), .. } = &dim.kind {
                    sizes_in_expr(program, *e, &mut |local, _| {
                        unknown |= sizes.iter().any(|(other, _)| *other == local);
                    });
                }
                match &mut dim.kind {
                    DimKind::Coord { extent, .. } if unknown => *extent = None,
                    kind if unknown => *kind = DimKind::Unknown,
                    _ => {}
                }
            }
        }
        TypeKind::Tuple(items) | TypeKind::Data(_, items) => {
            items.iter_mut().for_each(|item| leave_open(program, item, sizes));
        }
        TypeKind::AnyRank(elem) | TypeKind::Jagged(elem, _) | TypeKind::Some(_, elem) => {
            leave_open(program, elem, sizes);
        }
        TypeKind::Function(..)
        | TypeKind::Scalar(_)
        | TypeKind::Str
        | TypeKind::Param(_)
        | TypeKind::Error => {}
    }
}

/// Calls `f` on every `?n` in a type, but for those that it hides itself.
fn sizes_in(hir: &hir::Program, ty: &hir::Type, f: &mut dyn FnMut(LocalId, Span)) {
    match &ty.kind {
        TypeKind::Array { elem, dims, .. } => {
            sizes_in(hir, elem, f);
            for dim in dims {
                match &dim.kind {
                    DimKind::Size(e) | DimKind::Coord { extent: Some(e), .. } => {
                        sizes_in_expr(hir, *e, f);
                    }
                    DimKind::Unknown | DimKind::Coord { extent: None, .. } | DimKind::Pack(_) => {}
                }
            }
        }
        TypeKind::Tuple(items) | TypeKind::Data(_, items) => {
            items.iter().for_each(|item| sizes_in(hir, item, f));
        }
        TypeKind::AnyRank(elem) | TypeKind::Jagged(elem, _) => sizes_in(hir, elem, f),
        TypeKind::Some(hidden, body) => {
            sizes_in(hir, body, &mut |local, span| {
                if !hidden.contains(&local) {
                    f(local, span);
                }
            });
        }
        TypeKind::Function(..)
        | TypeKind::Scalar(_)
        | TypeKind::Str
        | TypeKind::Param(_)
        | TypeKind::Error => {}
    }
}

fn sizes_in_expr(hir: &hir::Program, id: hir::ExprId, f: &mut dyn FnMut(LocalId, Span)) {
    let node = &hir.exprs[id];
    if let hir::ExprKind::Size(local) = &node.kind {
        f(*local, node.span);
    }
    crate::visit::each_child(hir, id, &mut |child| sizes_in_expr(hir, child, f));
}
