//! Packs in a signature: which axes of an argument they stand for.

use super::super::error;
use super::{Cell, Equation, Match, Met};
use crate::check::state::{Index, Report};
use crate::check::{show, vars};
use crate::hir::{Dim, DimKind, LocalId};
use ein_base::{Code, Symbol};
use ein_ir::tensor::{Axis, Expr};
use rustc_hash::FxHashMap;

pub(super) fn align_packs(
    ix: &Index,
    report: &mut Report,
    m: &mut Match,
    dims: &[Dim],
    packs: &[LocalId],
    arg: &Expr,
    param: Symbol,
) -> Option<Cell> {
    let rank = arg.ty.rank();
    let fixed = dims.len() - packs.len();
    groups_exist(ix, report, m, packs, arg)?;
    let known: usize = packs.iter().filter_map(|pack| known_length(m, *pack)).sum();
    let open: Vec<LocalId> =
        packs.iter().copied().filter(|pack| known_length(m, *pack).is_none()).collect();
    let function = m.function.map_or("the function".to_string(), |name| format!("`{name}`"));
    if rank < fixed + known || (open.is_empty() && rank != fixed + known) {
        let axes = match (fixed + known, open.is_empty()) {
            (1, true) => "1 axis".to_string(),
            (1, false) => "at least 1 axis".to_string(),
            (count, true) => format!("{count} axes"),
            (count, false) => format!("at least {count} axes"),
        };
        let takes = format!("parameter `{param}` of {function} takes {axes}");
        let message = format!("{takes}, but the argument has {rank}");
        let d = error(Code::E0405, arg.span, message)
            .here(format!("this is `{}`", ix.show(&arg.ty)))
            .help(match known {
                0 => format!("pass an array of {axes}"),
                _ => "packs of one name stand for the same axes in every argument".to_string(),
            });
        report.report_at(d);
        return None;
    }
    let rest = rank - fixed - known;
    let mut lengths: FxHashMap<LocalId, usize> = FxHashMap::default();
    match open.as_slice() {
        [] => {}
        [one] => {
            lengths.insert(*one, rest);
        }
        [first, ..] => {
            let none_left = (rest == 0).then_some(0);
            let before = none_left
                .or_else(|| length_by_name(m, dims, *first, arg))
                .or_else(|| length_by_default(m, dims, &open, rest));
            let Some(before) = before else {
                let d = error(
                        Code::E0315,
                        arg.span,
                        format!("{function} can split the axes of this argument in more than one way"),
                    )
                    .here(format!("this is `{}`", ix.show(&arg.ty)))
                    .note(format!("candidates are {}", show::show_coords(arg.ty.axes())))
                    .help("name the coordinate in the call's bracket, and give the argument that coordinate");
                report.report_at(d);
                return None;
            };
            lengths.insert(*first, before);
            let mut left = rest.saturating_sub(before);
            for pack in &open[1..open.len() - 1] {
                lengths.insert(*pack, 0);
            }
            if let Some(last) = open.last() {
                lengths.insert(*last, std::mem::take(&mut left));
            }
        }
    }
    let mut at = 0;
    for dim in dims {
        match &dim.kind {
            DimKind::Pack(local) => {
                let count = match lengths.get(local) {
                    Some(count) => *count,
                    None => known_length(m, *local).unwrap_or(0),
                };
                let axes = arg.ty.axes().get(at..at + count)?.to_vec();
                let axes = in_group(ix, report, m, *local, axes, Met { arg, at, param })?;
                bind_pack(ix, report, m, *local, axes, arg, at)?;
                at += count;
            }
            _ => at += 1,
        }
    }
    Some(Cell { frame: Vec::new(), cell: (0..rank).collect() })
}

/// How many axes stand before the named coordinate that follows a pack.
fn length_by_name(m: &Match, dims: &[Dim], pack: LocalId, arg: &Expr) -> Option<usize> {
    let start = dims.iter().position(|dim| matches!(dim.kind, DimKind::Pack(p) if p == pack))?;
    let (next, wanted) = dims[start + 1..].iter().enumerate().find_map(|(next, dim)| {
        let wanted = match &dim.kind {
            DimKind::Coord { name, .. } => super::wanted(m, name.sym),
            DimKind::Pack(local) => m.groups.get(local)?.first().map(|name| name.sym),
            DimKind::Unknown | DimKind::Size(_) => return None,
        };
        Some((next, wanted))
    })?;
    let wanted = wanted?;
    let at = arg.ty.axes().iter().position(|axis| {
        axis.coord.is_some_and(|coord| coord.name == wanted || coord.root() == wanted)
    })?;
    at.checked_sub(start + next)
}

/// Every coordinate of a group exists in an argument whose axes all have names.
fn groups_exist(
    ix: &Index,
    report: &mut Report,
    m: &Match,
    packs: &[LocalId],
    arg: &Expr,
) -> Option<()> {
    let axes = arg.ty.axes();
    if !axes.iter().all(|axis| axis.coord.is_some_and(|coord| coord.contract)) {
        return Some(());
    }
    let ghost = packs.iter().filter_map(|pack| m.groups.get(pack)).flatten().find(|name| {
        !axes.iter().any(|axis| {
            axis.coord.is_some_and(|coord| coord.name == name.sym || coord.root() == name.sym)
        })
    });
    let Some(ghost) = ghost else { return Some(()) };
    let (tensor, layout) = (ix.quote(arg), show::show_coords(axes));
    let known = axes.iter().filter_map(|axis| axis.coord.map(|coord| coord.name));
    let d = error(Code::E0302, ghost.span, format!("{tensor} has no coordinate `{ghost}`"))
        .here("given in the call's bracket")
        .label(arg.span, format!("has the coordinates {layout}"));
    let d = match crate::suggest::nearest(ghost.sym, known) {
        Some(near) => d.fix(format!("did you mean `{near}`?"), ghost.span, near.as_str()),
        None => d.help(format!("name coordinates of {tensor}")),
    };
    let d = ix.with_declaration(d, arg);
    report.report_at(d);
    None
}

/// The axes of a pack under the names that the call's bracket gives them.
fn in_group(
    ix: &Index,
    report: &mut Report,
    m: &Match,
    pack: LocalId,
    mut axes: Vec<Axis>,
    met: Met<'_>,
) -> Option<Vec<Axis>> {
    let Some(group) = m.groups.get(&pack).cloned() else { return Some(axes) };
    for (position, (axis, name)) in axes.iter_mut().zip(group).enumerate() {
        let wanted = super::super::types::contract(name.sym, None);
        match axis.coord {
            Some(have) if have.name == name.sym || have.root() == name.sym => {}
            Some(have) if have.contract || super::carries(met.arg, name.sym) => {
                let declared = ix.hir.locals[pack].name;
                let met = Met { at: met.at + position, ..met };
                super::wrong_coord(ix, report, m, declared, wanted, have, met);
                return None;
            }
            Some(_) | None => axis.coord = Some(wanted),
        }
    }
    Some(axes)
}

/// The axes of a pack: the same in every argument.
pub(super) fn bind_pack(
    ix: &Index,
    report: &mut Report,
    m: &mut Match,
    pack: LocalId,
    axes: Vec<Axis>,
    arg: &Expr,
    at: usize,
) -> Option<()> {
    let Some(known) = m.packs.get(&pack).cloned() else {
        m.packs.insert(pack, axes);
        return Some(());
    };
    if known.len() != axes.len() {
        let (pack, own) = (vars::local_name(ix.hir, pack), axes.len());
        let message =
            format!("`..{pack}` is {} axes in one argument and {own} in another", known.len());
        let d = error(Code::E0405, arg.span, message)
            .here(format!("this is `{}`", ix.show(&arg.ty)))
            .help("packs of one name stand for the same axes in every argument");
        report.report_at(d);
        return None;
    }
    for (position, (known, axis)) in known.iter().zip(&axes).enumerate() {
        if let (Some(a), Some(b)) = (known.coord, axis.coord)
            && a.contract
            && b.contract
            && a.root() != b.root()
        {
            let d = error(
                Code::E0307,
                arg.span,
                format!(
                    "`..{}` is `{}` in one argument and `{}` in another",
                    vars::local_name(ix.hir, pack),
                    a.name,
                    b.name
                ),
            )
            .here(format!("has `{}`", b.name))
            .help("pass arguments with the same coordinates");
            report.report_at(d);
            return None;
        }
        m.equations.push(Equation {
            pattern: known.size.clone(),
            actual: axis.size.clone(),
            argument: ix.show_name(arg),
            param: m.param,
            axis: at + position,
            coord: known.coord.map(|coord| coord.name),
            span: arg.span,
        });
        if known.coord.is_none()
            && let Some(bound) = m.packs.get_mut(&pack)
        {
            bound[position].coord = axis.coord;
        }
    }
    Some(())
}

/// How many axes the first of two packs stands for when the call's bracket does not name the
/// coordinates between them, and the other one is declared to be empty then.
fn length_by_default(m: &Match, dims: &[Dim], open: &[LocalId], rest: usize) -> Option<usize> {
    let named = dims.iter().any(|dim| match &dim.kind {
        DimKind::Coord { name, .. } => m.bracket.contains_key(&name.sym),
        DimKind::Unknown | DimKind::Size(_) | DimKind::Pack(_) => false,
    });
    match open {
        _ if named => None,
        [_, second] if m.empty.contains(second) => Some(rest),
        [first, _] if m.empty.contains(first) => Some(0),
        _ => None,
    }
}

/// How many axes a pack stands for, if another argument or the call's bracket says so.
fn known_length(m: &Match, pack: LocalId) -> Option<usize> {
    let bound = m.packs.get(&pack).map(Vec::len);
    bound.or_else(|| m.groups.get(&pack).map(Vec::len))
}
