//! What a call gives: the declared result with everything that matching found put in.

use super::super::Cx;
use super::Match;
use crate::hir::{self, DimKind, ExprId, TypeKind};
use ein_ir::size::{self};
use ein_ir::tensor::{AtomDef, Axis, Type};

impl Cx<'_> {
    /// The declared result in the caller's terms.
    pub(in crate::check) fn result_type(&mut self, m: &Match, ty: &hir::Type) -> Type {
        match &ty.kind {
            TypeKind::Array { elem, dims, .. } => {
                if let TypeKind::Some(_, row) = &elem.kind {
                    let row = self.result_type(m, row);
                    return Type::Jagged(Box::new(row.elem().clone()), 2);
                }
                let elem = self.result_type(m, elem);
                let mut axes = Vec::new();
                for dim in dims {
                    match &dim.kind {
                        DimKind::Unknown => {
                            let size = self.unknown_size(true);
                            axes.push(super::super::anonymous(size));
                        }
                        DimKind::Size(e) => {
                            let size = self.result_size(m, *e);
                            axes.push(super::super::anonymous(size));
                        }
                        DimKind::Coord { name, extent, over } => {
                            let size = match extent {
                                Some(e) => self.result_size(m, *e),
                                None => match m.coord_sizes.get(&over.unwrap_or(*name).sym) {
                                    Some(size) => size.clone(),
                                    None => self.unknown_size(true),
                                },
                            };
                            let coord = match m.coords.get(&name.sym) {
                                Some(coord) => *coord,
                                None => {
                                    let over = over.map(|over| {
                                        m.coords.get(&over.sym).map_or(over.sym, |c| c.name)
                                    });
                                    self.declared_coord(name.sym, over)
                                }
                            };
                            axes.push(Axis { coord: Some(coord), size });
                        }
                        DimKind::Pack(local) => {
                            axes.extend(m.packs.get(local).cloned().unwrap_or_default());
                        }
                    }
                }
                Type::array(elem, axes)
            }
            TypeKind::Some(hidden, body) => {
                let mut inner = Match {
                    sizes: m.sizes.clone(),
                    coord_sizes: m.coord_sizes.clone(),
                    coords: m.coords.clone(),
                    packs: m.packs.clone(),
                    types: m.types.clone(),
                    ..Match::default()
                };
                for local in hidden {
                    let name = self.local_name(*local);
                    let atom = self.new_atom(name, AtomDef::Unknown, false);
                    inner.sizes.insert(*local, size::Expr::atom(atom));
                }
                self.result_type(&inner, body)
            }
            TypeKind::Tuple(items) if items.is_empty() => Type::Unit,
            TypeKind::Tuple(items) => {
                Type::Tuple(items.iter().map(|item| self.result_type(m, item)).collect())
            }
            TypeKind::Function(params, ret) => Type::signature(
                params.iter().map(|param| self.result_type(m, param)).collect(),
                self.result_type(m, ret),
            ),
            TypeKind::Data(def, args) => {
                let args = args.iter().map(|arg| self.result_type(m, arg)).collect();
                self.data_type(*def, args, ty.span)
            }
            TypeKind::Param(local) => {
                // A type argument says the rank of an array; its extents are found at run time.
                let ty = m.types.get(local).cloned().unwrap_or(Type::Error);
                self.map_sizes(ty, &mut |cx, _| cx.unknown_size(true))
            }
            TypeKind::Scalar(_)
            | TypeKind::Str
            | TypeKind::AnyRank(_)
            | TypeKind::Jagged(..)
            | TypeKind::Error => self.lower_quietly(ty, m),
        }
    }

    fn result_size(&mut self, m: &Match, e: ExprId) -> size::Expr {
        let saved = std::mem::take(&mut self.f.sizes);
        let mut sizes = saved.clone();
        sizes.extend(m.sizes.iter().map(|(local, size)| (*local, size.clone())));
        self.f.sizes = sizes;
        let size = self.size_value(e);
        self.f.sizes = saved;
        size
    }
}
