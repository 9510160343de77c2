//! What functions give: results against what their signatures say.

use super::state::Index;
use super::symbolic::SizeRelation;
use super::{Cx, annotation, close, coerce, error, expr, types, widen};
use crate::hir::{self, Dim, DimKind, Function, TypeKind};
use ein_base::{Code, Name, Symbol};
use ein_ir::tensor::{Axis, Expr, Type};

/// The result that a function declares; `[T; *]` leaves its rank, and so all but its elements, to the
/// body.
pub(super) fn declared(function: &Function) -> Option<&hir::Type> {
    function.ret.as_ref().filter(|ret| !matches!(ret.kind, TypeKind::AnyRank(_)))
}

/// The value of a body, held to the declared result.
pub(super) fn function_result(cx: &mut Cx, function: &Function, name: Symbol) -> Expr {
    let what = format!("the result of `{name}`");
    let Some(ret) = &function.ret else {
        cx.infer.f.statement = true;
        return close::open_value(cx, function.body, None, None);
    };
    match &ret.kind {
        TypeKind::Array { elem, dims, .. } if !matches!(elem.kind, TypeKind::Some(..)) => {
            let layout = signature_layout(&cx.ix, dims);
            let elem = types::lower_type(cx, elem);
            let value = close::open_value(cx, function.body, Some(&elem), layout.as_deref());
            let dims = expand_packs(&cx.ix, dims);
            meet_result(cx, value, elem, &dims, &what)
        }
        // The extents are those of the value: hidden, or of a type that only a call knows.
        TypeKind::Some(..) | TypeKind::Param(_) => {
            let want = match &ret.kind {
                TypeKind::Some(_, body) => types::lower_type(cx, body),
                _ => types::lower_type(cx, ret),
            };
            let value = close::open_value(cx, function.body, Some(&want), None);
            if value.ty.is_broken() {
                return value;
            }
            let value = widen::widen_to(&mut cx.ix, &mut cx.build, &mut cx.report, value, &want);
            if coerce::same_kind(&value.ty, &want) {
                return super::arms::complete(value, &want);
            }
            let d = coerce::mismatch(&cx.ix, &value, &want, &what);
            cx.report.fail(d)
        }
        TypeKind::Tuple(items) if items.is_empty() => {
            cx.infer.f.statement = true;
            let value = close::open_value(cx, function.body, None, None);
            expr::branch::discard(value)
        }
        _ => annotation::annotated(cx, function.body, ret, &what),
    }
}

/// The coordinates of a declared result, packs expanded, if every axis has one.
pub(super) fn signature_layout(ix: &Index, dims: &[Dim]) -> Option<Vec<Symbol>> {
    let mut layout = Vec::new();
    for dim in dims {
        match &dim.kind {
            DimKind::Coord { name, .. } => layout.push(name.sym),
            DimKind::Pack(local) => {
                let axes = ix.pack_axes(*local)?;
                layout.extend(axes.iter().filter_map(|axis| axis.coord.map(|c| c.name)));
            }
            DimKind::Unknown | DimKind::Size(_) => return None,
        }
    }
    Some(layout)
}

/// The dimensions with packs as the coordinates they stand for; those that are not known yet stay.
pub(super) fn expand_packs(ix: &Index, dims: &[Dim]) -> Vec<Dim> {
    let mut expanded = Vec::new();
    for dim in dims {
        let pack = match &dim.kind {
            DimKind::Pack(local) => ix.pack_axes(*local),
            DimKind::Unknown | DimKind::Size(_) | DimKind::Coord { .. } => None,
        };
        match pack {
            Some(axes) => {
                expanded.extend(axes.iter().map(|axis| {
                    let kind = match axis.coord {
                        Some(coord) => {
                            let name = Name { sym: coord.name, span: dim.span };
                            DimKind::Coord { name, extent: None, over: None }
                        }
                        None => DimKind::Unknown,
                    };
                    Dim { kind, span: dim.span }
                }));
            }
            None => expanded.push(dim.clone()),
        }
    }
    expanded
}

/// A result against its declared array type: layout, and extents of coordinates and packs.
pub(super) fn meet_result(cx: &mut Cx, value: Expr, elem: Type, dims: &[Dim], what: &str) -> Expr {
    if dims.is_empty() {
        return coerce::expect_type(cx, value, &elem, what);
    }
    let value = annotation::meet_array(cx, value, elem, dims, what);
    if value.ty.has_error() {
        return value;
    }
    for (position, dim) in dims.iter().enumerate() {
        let DimKind::Coord { name, extent: None, over } = &dim.kind else { continue };
        let root = over.unwrap_or(*name).sym;
        let mut packs = cx.ix.f.signature_packs.values().flatten();
        let own = |axis: &&Axis| axis.coord.is_some_and(|coord| coord.name == name.sym);
        let of_pack = || packs.find(own).map(|axis| axis.size.clone());
        let declared = cx.ix.f.coord_sizes.get(&root).cloned().or_else(of_pack);
        let (Some(declared), Some(axis)) = (declared, value.ty.axes().get(position)) else {
            continue;
        };
        let have = axis.size.clone();
        match cx.ix.compare_sizes(&have, &declared) {
            SizeRelation::Equal => {}
            SizeRelation::AtRunTime => {
                let what = format!("coordinate `{name}` in {what}");
                coerce::require(&mut cx.ix, &mut cx.build, have, declared, what, value.span);
            }
            SizeRelation::Different => {
                let (stated, own) = (cx.ix.show_size(&declared), cx.ix.show_size(&have));
                let message = format!(
                    "coordinate `{name}` of {what} has the extent that it has in the parameters, \
                     {stated}, but this value has {own}"
                );
                let d = error(Code::E0405, value.span, message)
                    .here(format!("this is `{}`", cx.ix.show(&value.ty)))
                    .help("state the extent in the result, for example `c: ?n - 1`");
                cx.report.report_at(d);
                return value;
            }
        }
    }
    value
}
