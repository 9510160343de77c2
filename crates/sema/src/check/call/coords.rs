//! What stands in the bracket of a call: coordinates, groups, sizes, axes.

use super::super::matching::Match;
use super::super::{Binding, Cx, Declared, IndexId, error};
use crate::check::state::{Build, Index, Report};
use crate::check::{expr, index, matching, result, vars};
use crate::hir::{self, CoordArg, Function};
use ein_base::{Code, Name, Span, Symbol};
use ein_ir::tensor::{Bounds, Expr, Type};

/// Binds the coordinate arguments of a call while its arguments are checked.
pub(in crate::check) fn enter_coords(
    ix: &mut Index,
    coords: &[CoordArg],
) -> Vec<(Symbol, IndexId)> {
    let mut bound = Vec::new();
    for coord in coords {
        let refs: Vec<hir::CoordRef> = match coord {
            CoordArg::Coord(coord) => vec![*coord],
            CoordArg::Group(group, _) => group.to_vec(),
            CoordArg::Pack(..) | CoordArg::Axis(..) | CoordArg::Size(..) | CoordArg::Error => {
                continue;
            }
        };
        for coord in refs {
            let index = ix.new_index(coord.name, Declared::Name);
            ix.f.coords.push((coord.name.sym, index));
            if let Some(local) = coord.local {
                let outer = ix.f.env.insert(local, Binding::Index(index));
                ix.f.shadowed.push(Some((local, outer)));
            } else {
                ix.f.shadowed.push(None);
            }
            bound.push((coord.name.sym, index));
        }
    }
    bound
}

/// Takes back what `enter_coords` bound. Free coordinates that were met since stay.
pub(in crate::check) fn leave_coords(ix: &mut Index, bound: &[(Symbol, IndexId)]) {
    ix.f.coords.retain(|coord| !bound.contains(coord));
    for _ in bound {
        match ix.f.shadowed.pop().flatten() {
            Some((local, Some(outer))) => {
                ix.f.env.insert(local, outer);
            }
            Some((local, None)) => {
                ix.f.env.remove(&local);
            }
            None => {}
        }
    }
}

/// Inside a definition, the result of a coordinate call is read at the definition's own point.
pub(in crate::check) fn at_point(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    value: Expr,
    coords: &[CoordArg],
    span: Span,
) -> Expr {
    let mut front = Vec::new();
    let mut indices = Vec::new();
    for coord in coords {
        let refs: &[hir::CoordRef] = match coord {
            CoordArg::Coord(coord) => std::slice::from_ref(coord),
            CoordArg::Group(group, _) => group,
            CoordArg::Pack(..) | CoordArg::Axis(..) | CoordArg::Size(..) | CoordArg::Error => &[],
        };
        for coord in refs {
            let Some(local) = coord.local else { continue };
            let Some(Binding::Index(index)) = ix.f.env.get(&local).copied() else { continue };
            let at = value
                .ty
                .axes()
                .iter()
                .position(|axis| axis.coord.is_some_and(|c| c.name == coord.name.sym));
            if let Some(at) = at {
                front.push(at);
                indices.push(ix.index_expr(index, coord.name.span));
            }
        }
    }
    if front.is_empty() || value.ty.has_error() {
        return value;
    }
    let value = vars::atomise(ix, build, value);
    let value = index::permute_front(value, &front, span);
    for (at, index) in indices.iter().enumerate() {
        index::coordinates::check_coordinate(ix, build, report, &value, at, index);
    }
    expr::read(value, indices, Bounds::Checked, span)
}

/// The bracket of a call against the coordinate parameters of the function.
pub(super) fn bracket(
    cx: &mut Cx,
    m: &mut Match,
    function: &Function,
    coords: &[CoordArg],
    span: Span,
) -> bool {
    let declared = function.coords.as_deref().unwrap_or(&[]);
    m.params = declared.iter().filter(|p| p.pack.is_none()).map(|p| p.name.sym).collect();
    m.empty = declared.iter().filter(|p| p.empty).filter_map(|p| p.pack).collect();
    let mut params = declared.iter();
    let group = |coord: &CoordArg| matches!(coord, CoordArg::Group(..) | CoordArg::Pack(..));
    let listed = !coords.iter().any(group);
    for coord in coords {
        if let CoordArg::Size(name, value) = coord {
            if !matching::sizes::explicit_size(cx, m, function, *name, *value) {
                return false;
            }
            continue;
        }
        let Some(param) = params.next() else {
            // A pack at the end takes as many coordinates as are left.
            let last = declared.last().and_then(|param| param.pack);
            if let (CoordArg::Coord(coord), Some(pack)) = (coord, last)
                && let Some(group) = m.groups.get_mut(&pack)
                && listed
            {
                group.push(coord.name);
                continue;
            }
            let name = m.function.map_or("the function".into(), |name| format!("`{name}`"));
            let d = error(
                Code::E0302,
                span,
                match declared.len() {
                    0 => format!("{name} takes no coordinates"),
                    1 => format!("{name} takes one coordinate, `{}`", declared[0].name),
                    count => format!("{name} takes {count} coordinates"),
                },
            )
            .here(format!("{} coordinates", coords.len()))
            .label(function.header, "declared here")
            .help("pass at most one coordinate for each parameter in the bracket");
            cx.report.report_at(d);
            return false;
        };
        match (coord, param.pack) {
            (CoordArg::Coord(coord), None) => {
                // An argument that holds it to its name makes it a contract.
                let bound = super::super::types::contract(coord.name.sym, None);
                let bound = ein_ir::tensor::Coord { contract: false, ..bound };
                m.coords.insert(param.name.sym, bound);
                m.bracket.insert(param.name.sym, coord.name.span);
            }
            (CoordArg::Group(group, _), Some(pack)) => {
                m.groups.insert(pack, group.iter().map(|coord| coord.name).collect());
            }
            (CoordArg::Coord(coord), Some(pack)) => {
                m.groups.insert(pack, vec![coord.name]);
            }
            (CoordArg::Pack(own, at), Some(pack)) => {
                let axes = cx.ix.f.signature_packs.get(own).into_iter().flatten();
                let names = axes.map(|axis| axis.coord.map(|coord| coord.name));
                let names: Option<Vec<_>> =
                    names.map(|sym| sym.map(|sym| Name { sym, span: *at })).collect();
                if let Some(names) = names.filter(|_| cx.ix.f.signature_packs.contains_key(own)) {
                    m.groups.insert(pack, names);
                }
            }
            (CoordArg::Group(_, at) | CoordArg::Pack(_, at), None) => {
                let d = error(
                    Code::E0302,
                    *at,
                    format!("`{}` is one coordinate, not a group", param.name),
                )
                .here("a group")
                .label(param.name.span, "declared here")
                .help("pass one coordinate, without parentheses");
                cx.report.report_at(d);
                return false;
            }
            (CoordArg::Axis(_, at), _) => {
                let d = error(Code::E0302, *at, "a position cannot be passed as a coordinate")
                    .here("an axis by position")
                    .help("give the argument a name, and pass the name");
                cx.report.report_at(d);
                return false;
            }
            (CoordArg::Size(..) | CoordArg::Error, _) => {}
        }
    }
    true
}

/// The type of an argument whose parameter has none: what the other parameters call its
/// coordinates. A coordinate that they call by two names is left to its position.
///
/// Without a declared result the caller's names are those of the result as well.
pub(super) fn as_declared(hir: &hir::Program, m: &Match, function: &Function, ty: &Type) -> Type {
    let Type::Array(array) = ty else { return ty.clone() };
    if result::declared(function).is_none() {
        return ty.clone();
    }
    let mut array = (**array).clone();
    for axis in &mut array.axes {
        let Some(coord) = axis.coord.filter(|coord| coord.contract) else { continue };
        let mut names = names_inside(hir, m, coord.name);
        names.dedup();
        axis.coord = match names.as_slice() {
            [] => continue,
            [name] => Some(super::super::types::contract(*name, None)),
            _ => None,
        };
    }
    Type::Array(array.into())
}

/// What the parameters of a function call a coordinate of the caller.
fn names_inside(hir: &hir::Program, m: &Match, caller: Symbol) -> Vec<Symbol> {
    let mut names: Vec<Symbol> = m
        .coords
        .iter()
        .filter(|(_, bound)| bound.contract && bound.name == caller)
        .map(|(name, _)| *name)
        .collect();
    for (pack, axes) in &m.packs {
        for (position, axis) in axes.iter().enumerate() {
            if axis.coord.is_some_and(|coord| coord.contract && coord.name == caller) {
                names.push(super::super::function::pack_coord(hir.locals[*pack].name, position));
            }
        }
    }
    names.sort_unstable();
    names
}
