//! From types as written to types as checked.

use super::state::{Index, Report};
use super::{Cx, anonymous, data, error, expr, vars};
use crate::hir::{self, DimKind, ExprId, TypeKind};
use ein_base::{Code, Symbol};
use ein_ir::size;
use ein_ir::tensor::{AtomDef, Axis, Coord, Type};

/// The type that an annotation means here. Sizes that it names for the first time become
/// unknowns of that name.
pub(super) fn lower_type(cx: &mut Cx, ty: &hir::Type) -> Type {
    match &ty.kind {
        TypeKind::Scalar(scalar) => Type::Scalar(*scalar),
        TypeKind::Str => Type::Str,
        TypeKind::Data(def, args) => {
            let args = args.iter().map(|arg| lower_type(cx, arg)).collect::<Vec<_>>();
            data::data_type(&mut cx.infer, &mut cx.ix, &mut cx.report, *def, args, ty.span)
        }
        TypeKind::Param(local) => {
            let ty = cx.infer.f.type_params.get(local).cloned().unwrap_or(Type::Error);
            match cx.ix.f.open_types {
                true => vars::map_sizes(ty, &mut |_| cx.ix.unknown_size(true)),
                false => ty,
            }
        }
        TypeKind::Array { elem, dims, .. } => {
            let rows = matches!(elem.kind, TypeKind::Some(..));
            let elem = lower_type(cx, elem);
            if rows {
                return Type::Jagged(Box::new(elem.elem().clone()), 2);
            }
            let axes = lower_dims(cx, dims);
            Type::array(elem, axes)
        }
        TypeKind::AnyRank(elem) => Type::AnyRank(Box::new(lower_type(cx, elem))),
        TypeKind::Jagged(elem, depth) => Type::Jagged(Box::new(lower_type(cx, elem)), *depth),
        TypeKind::Tuple(items) if items.is_empty() => Type::Unit,
        TypeKind::Tuple(items) => {
            Type::Tuple(items.iter().map(|item| lower_type(cx, item)).collect())
        }
        TypeKind::Function(params, ret) => {
            let params = params.iter().map(|param| lower_type(cx, param)).collect();
            let ret = lower_type(cx, ret);
            Type::signature(params, ret)
        }
        TypeKind::Some(sizes, body) => {
            for size in sizes {
                let name = vars::local_name(cx.hir, *size);
                let atom = cx.ix.new_atom(name, AtomDef::Unknown, false);
                cx.ix.f.sizes.insert(*size, size::Expr::atom(atom));
            }
            lower_type(cx, body)
        }
        TypeKind::Error => Type::Error,
    }
}

/// The axes that the dimensions of an annotation mean here.
pub(super) fn lower_dims(cx: &mut Cx, dims: &[hir::Dim]) -> Vec<Axis> {
    cx.report.check_distinct(dims);
    let mut axes = Vec::new();
    for dim in dims {
        match &dim.kind {
            DimKind::Unknown => {
                let size = cx.ix.unknown_size(true);
                axes.push(anonymous(size));
            }
            DimKind::Size(e) => {
                let size = size_value(cx, *e);
                axes.push(anonymous(size));
            }
            DimKind::Coord { name, extent, over } => {
                let size = match extent {
                    Some(e) => size_value(cx, *e),
                    None => match cx.ix.f.coord_sizes.get(&over.unwrap_or(*name).sym) {
                        Some(size) => size.clone(),
                        None => cx.ix.unknown_size(true),
                    },
                };
                let known = |name: &Symbol| cx.ix.f.coord_names.get(name).copied();
                let over = over.map(|over| known(&over.sym).map_or(over.sym, |it| it.name));
                let coord = match known(&name.sym) {
                    Some(coord) => coord,
                    None => declared_coord(&mut cx.ix, name.sym, over),
                };
                axes.push(Axis { coord: Some(coord), size });
            }
            DimKind::Pack(local) => {
                axes.extend(cx.ix.pack_axes(*local).cloned().unwrap_or_default());
            }
        }
    }
    axes
}

/// A coordinate from a type; roles are remembered.
pub(super) fn declared_coord(ix: &mut Index, name: Symbol, over: Option<Symbol>) -> Coord {
    let coord = contract(name, over);
    if coord.over.is_some() {
        ix.declared_roles.insert((coord.name, coord.root()));
    }
    coord
}

impl Report {
    /// One coordinate may stand on one axis of a type only.
    pub(super) fn check_distinct(&mut self, dims: &[hir::Dim]) {
        for (position, dim) in dims.iter().enumerate() {
            let DimKind::Coord { name, .. } = &dim.kind else { continue };
            let first = dims[..position].iter().find(|other| {
                matches!(&other.kind, DimKind::Coord { name: first, .. } if first.sym == name.sym)
            });
            if let Some(first) = first {
                let d = error(
                    Code::E0312,
                    dim.span,
                    format!("coordinate `{name}` stands on two axes of one type"),
                )
                .here("the second time")
                .label(first.span, "the first time")
                .note("each axis needs a name of its own, or swapping the two could not be seen")
                .help(format!("give each axis a role: `[…; query in {name}, key in {name}]`"));
                self.report_at(d);
            }
        }
    }
}

/// The value of a size in a type: literals, constants, size names and arithmetic.
pub(super) fn size_value(cx: &mut Cx, e: ExprId) -> size::Expr {
    let value = vars::scoped(cx, |cx| expr::expr(cx, e, Some(&Type::I32)));
    if value.ty.has_error() {
        return cx.ix.unknown_size(true);
    }
    match cx.ix.to_size(&value) {
        Some(size) => {
            if size.as_constant().is_some_and(|value| value < 0) {
                let d = error(Code::E0405, value.span, "an extent cannot be negative")
                    .here(format!("this is {}", cx.ix.show_size(&size)))
                    .help("write an extent of zero or more");
                cx.report.report_at(d);
                return cx.ix.unknown_size(true);
            }
            size
        }
        None => {
            let d = error(
                Code::E0410,
                value.span,
                "an extent must be made of literals, constants and size names",
            )
            .here("this is computed while the program runs")
            .help("leave the extent open: `?`, or name it: `?n`");
            cx.report.report_at(d);
            cx.ix.unknown_size(true)
        }
    }
}

/// The size `?n`: the one already named so, or a new unknown.
pub(super) fn named_size(ix: &mut Index, local: hir::LocalId) -> size::Expr {
    if let Some(size) = ix.f.sizes.get(&local) {
        return size.clone();
    }
    let name = vars::local_name(ix.hir, local);
    let size = size::Expr::atom(ix.new_atom(name, AtomDef::Unknown, true));
    ix.f.facts.ge0(size.clone());
    ix.f.sizes.insert(local, size.clone());
    size
}

/// A coordinate from a type.
pub(super) fn contract(name: Symbol, over: Option<Symbol>) -> Coord {
    Coord { name, over: over.filter(|over| *over != name), contract: true }
}
