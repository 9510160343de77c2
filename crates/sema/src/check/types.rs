//! From types as written to types as checked.

use super::{Cx, anonymous, error};
use crate::hir::{self, DimKind, ExprId, TypeKind};
use ein_base::{Code, Symbol};
use ein_ir::size;
use ein_ir::tensor::{AtomDef, Axis, Coord, Type};

impl Cx<'_> {
    /// The type that an annotation means here. Sizes that it names for the first time become
    /// unknowns of that name.
    pub(super) fn lower_type(&mut self, ty: &hir::Type) -> Type {
        match &ty.kind {
            TypeKind::Scalar(scalar) => Type::Scalar(*scalar),
            TypeKind::Str => Type::Str,
            TypeKind::Data(def, args) => {
                let args = args.iter().map(|arg| self.lower_type(arg)).collect::<Vec<_>>();
                self.data_type(*def, args, ty.span)
            }
            TypeKind::Param(local) => self.f.type_params.get(local).cloned().unwrap_or(Type::Error),
            TypeKind::Array { elem, dims, .. } => {
                let elem = self.lower_type(elem);
                let axes = self.lower_dims(dims);
                Type::array(elem, axes)
            }
            TypeKind::AnyRank(elem) => Type::AnyRank(Box::new(self.lower_type(elem))),
            TypeKind::Jagged(elem, depth) => Type::Jagged(Box::new(self.lower_type(elem)), *depth),
            TypeKind::Tuple(items) if items.is_empty() => Type::Unit,
            TypeKind::Tuple(items) => {
                Type::Tuple(items.iter().map(|item| self.lower_type(item)).collect())
            }
            TypeKind::Function(params, ret) => {
                let params = params.iter().map(|param| self.lower_type(param)).collect();
                let ret = self.lower_type(ret);
                Type::signature(params, ret)
            }
            TypeKind::Some(sizes, body) => {
                for size in sizes {
                    let name = self.local_name(*size);
                    let atom = self.new_atom(name, AtomDef::Unknown, false);
                    self.f.sizes.insert(*size, size::Expr::atom(atom));
                }
                self.lower_type(body)
            }
            TypeKind::Error => Type::Error,
        }
    }

    /// The axes that the dimensions of an annotation mean here.
    pub(super) fn lower_dims(&mut self, dims: &[hir::Dim]) -> Vec<Axis> {
        self.check_distinct(dims);
        let mut axes = Vec::new();
        for dim in dims {
            match &dim.kind {
                DimKind::Unknown => {
                    let size = self.unknown_size(true);
                    axes.push(anonymous(size));
                }
                DimKind::Size(e) => {
                    let size = self.size_value(*e);
                    axes.push(anonymous(size));
                }
                DimKind::Coord { name, extent, over } => {
                    let size = match extent {
                        Some(e) => self.size_value(*e),
                        None => match self.f.coord_sizes.get(&over.unwrap_or(*name).sym) {
                            Some(size) => size.clone(),
                            None => self.unknown_size(true),
                        },
                    };
                    let coord = self.declared_coord(name.sym, over.map(|over| over.sym));
                    axes.push(Axis { coord: Some(coord), size });
                }
                DimKind::Pack(local) => {
                    axes.extend(self.f.signature_packs.get(local).cloned().unwrap_or_default());
                }
            }
        }
        axes
    }

    /// A coordinate from a type; roles are remembered.
    pub(super) fn declared_coord(&mut self, name: Symbol, over: Option<Symbol>) -> Coord {
        let coord = contract(name, over);
        if coord.over.is_some() {
            self.declared_roles.insert((coord.name, coord.root()));
        }
        coord
    }

    /// One coordinate may stand on one axis of a type only.
    fn check_distinct(&mut self, dims: &[hir::Dim]) {
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

    /// The value of a size in a type: literals, constants, size names and arithmetic.
    pub(super) fn size_value(&mut self, e: ExprId) -> size::Expr {
        let value = self.scoped(|cx| cx.expr(e, Some(&Type::I32)));
        if value.ty.has_error() {
            return self.unknown_size(true);
        }
        match self.to_size(&value) {
            Some(size) => {
                if size.as_constant().is_some_and(|value| value < 0) {
                    let d = error(Code::E0405, value.span, "an extent cannot be negative")
                        .here(format!("this is {}", self.show_size(&size)))
                        .help("write an extent of zero or more");
                    self.report_at(d);
                    return size::Expr::zero();
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
                self.report_at(d);
                self.unknown_size(true)
            }
        }
    }

    /// The size `?n`: the one already named so, or a new unknown.
    pub(super) fn named_size(&mut self, local: hir::LocalId) -> size::Expr {
        if let Some(size) = self.f.sizes.get(&local) {
            return size.clone();
        }
        let name = self.local_name(local);
        let size = size::Expr::atom(self.new_atom(name, AtomDef::Unknown, true));
        self.f.facts.ge0(size.clone());
        self.f.sizes.insert(local, size.clone());
        size
    }
}

/// A coordinate from a type.
pub(super) fn contract(name: Symbol, over: Option<Symbol>) -> Coord {
    Coord { name, over: over.filter(|over| *over != name), contract: true }
}
