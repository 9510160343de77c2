//! What a call gives: the declared result with everything that matching found put in.

use super::super::Cx;
use super::Match;
use crate::check::{data, types, vars};
use crate::hir::{self, DimKind, ExprId, TypeKind};
use ein_ir::size::{self};
use ein_ir::tensor::{AtomDef, Axis, Type};

/// The declared result in the caller's terms.
pub(in crate::check) fn result_type(cx: &mut Cx, m: &Match, ty: &hir::Type) -> Type {
    match &ty.kind {
        TypeKind::Array { elem, dims, .. } => {
            if let TypeKind::Some(_, row) = &elem.kind {
                let row = result_type(cx, m, row);
                return Type::Jagged(Box::new(row.elem().clone()), 2);
            }
            let elem = result_type(cx, m, elem);
            let mut axes = Vec::new();
            for dim in dims {
                match &dim.kind {
                    DimKind::Unknown => {
                        let size = cx.ix.unknown_size(true);
                        axes.push(super::super::anonymous(size));
                    }
                    DimKind::Size(e) => {
                        let size = result_size(cx, m, *e);
                        axes.push(super::super::anonymous(size));
                    }
                    DimKind::Coord { name, extent, over } => {
                        let size = match extent {
                            Some(e) => result_size(cx, m, *e),
                            None => match m.coord_sizes.get(&over.unwrap_or(*name).sym) {
                                Some(size) => size.clone(),
                                None => cx.ix.unknown_size(true),
                            },
                        };
                        let coord = match m.coords.get(&name.sym) {
                            Some(coord) => *coord,
                            None => {
                                let over = over.map(|over| {
                                    m.coords.get(&over.sym).map_or(over.sym, |c| c.name)
                                });
                                types::declared_coord(&mut cx.ix, name.sym, over)
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
                let name = vars::local_name(cx.hir, *local);
                let atom = cx.ix.new_atom(name, AtomDef::Unknown, false);
                inner.sizes.insert(*local, size::Expr::atom(atom));
            }
            result_type(cx, &inner, body)
        }
        TypeKind::Tuple(items) if items.is_empty() => Type::Unit,
        TypeKind::Tuple(items) => {
            Type::Tuple(items.iter().map(|item| result_type(cx, m, item)).collect())
        }
        TypeKind::Function(params, ret) => Type::signature(
            params.iter().map(|param| result_type(cx, m, param)).collect(),
            result_type(cx, m, ret),
        ),
        TypeKind::Data(def, args) => {
            let args = args.iter().map(|arg| result_type(cx, m, arg)).collect();
            data::data_type(&mut cx.infer, &mut cx.ix, &mut cx.report, *def, args, ty.span)
        }
        TypeKind::Param(local) => {
            // A type argument says the rank of an array; its extents are found at run time.
            let ty = m.types.get(local).cloned().unwrap_or(Type::Error);
            vars::map_sizes(ty, &mut |_| cx.ix.unknown_size(true))
        }
        TypeKind::Scalar(_)
        | TypeKind::Str
        | TypeKind::AnyRank(_)
        | TypeKind::Jagged(..)
        | TypeKind::Error => super::lower_quietly(cx, ty, m),
    }
}

fn result_size(cx: &mut Cx, m: &Match, e: ExprId) -> size::Expr {
    let saved = std::mem::take(&mut cx.ix.f.sizes);
    let mut sizes = saved.clone();
    sizes.extend(m.sizes.iter().map(|(local, size)| (*local, size.clone())));
    cx.ix.f.sizes = sizes;
    let size = types::size_value(cx, e);
    cx.ix.f.sizes = saved;
    size
}
