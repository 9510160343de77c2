//! A call against a signature: coordinates, packs, sizes and types are found by matching.

pub(in crate::check) mod packs;
pub(in crate::check) mod result;
pub(in crate::check) mod sizes;

use super::state::{Index, Report};
use super::{Cx, coerce, error, layouts, show, stmt, types};
use crate::hir::{self, Dim, DimKind, LocalId, TypeKind};
use ein_base::{Code, Name, Span, Symbol};
use ein_ir::size::{self, Atom};
use ein_ir::tensor::{AtomDef, Axis, Coord, Expr, Type};
use rustc_hash::FxHashMap;

/// What matching found.
#[derive(Default)]
pub(super) struct Match {
    pub function: Option<Symbol>,
    pub sizes: FxHashMap<LocalId, size::Expr>,
    pub coord_sizes: FxHashMap<Symbol, size::Expr>,
    pub coords: FxHashMap<Symbol, Coord>,
    /// Coordinates named in the call's bracket, with where.
    pub bracket: FxHashMap<Symbol, Span>,
    /// Coordinate parameters of the function.
    pub params: Vec<Symbol>,
    pub packs: FxHashMap<LocalId, Vec<Axis>>,
    /// Coordinates that the call's bracket gives to a pack.
    pub groups: FxHashMap<LocalId, Vec<Name>>,
    /// Packs that are empty unless the call says what they stand for.
    pub empty: Vec<LocalId>,
    pub types: FxHashMap<LocalId, Type>,
    /// The coordinate of the first axis whose extent is just this size, with its argument.
    size_coords: FxHashMap<LocalId, (Coord, Symbol, Span)>,
    placeholders: FxHashMap<LocalId, Atom>,
    /// The parameter whose argument is being matched.
    param: Option<Symbol>,
    equations: Vec<Equation>,
}

impl Match {
    /// Nothing found yet, for a call of a function.
    pub fn of(function: Symbol) -> Self {
        Match { function: Some(function), ..Match::default() }
    }
}

/// `pattern == actual`, to be solved for the sizes in the pattern.
struct Equation {
    pattern: size::Expr,
    actual: size::Expr,
    argument: Option<Symbol>,
    /// The parameter it is for.
    param: Option<Symbol>,
    axis: usize,
    /// What the axis is declared to be.
    coord: Option<Symbol>,
    span: Span,
}

/// How an argument splits into the frame of the call and the cell of the parameter.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    /// Axes of the argument that belong to the frame, in order.
    pub frame: Vec<usize>,
    /// Axes of the cell, in the order of the parameter.
    pub cell: Vec<usize>,
}

/// Matches one argument with the type of its parameter.
pub(super) fn match_param(
    cx: &mut Cx,
    m: &mut Match,
    ty: &hir::Type,
    arg: &Expr,
    param: Symbol,
) -> Option<Cell> {
    let rank = arg.ty.rank();
    m.param = Some(param);
    // Extents inside tuples. Those that only the run knows say nothing here; that parts agree with the
    // sizes is checked where the argument is passed.
    for (dim, axes, at) in sizes::inside(ty, &arg.ty) {
        let told = |atom: &Atom| cx.ix.atoms[*atom].def != AtomDef::Unknown;
        let known = axes.iter().all(|axis| axis.size.atoms().iter().all(told));
        match (&dim.kind, &axes[..]) {
            (DimKind::Pack(local), _) => {
                packs::bind_pack(&cx.ix, &mut cx.report, m, *local, axes, arg, at)?;
            }
            (DimKind::Size(extent) | DimKind::Coord { extent: Some(extent), .. }, [axis]) => {
                let pattern = sizes::pattern_size(cx, m, *extent);
                let (actual, argument) = (axis.size.clone(), cx.ix.show_name(arg));
                let coord = match &dim.kind {
                    DimKind::Coord { name, .. } => Some(name.sym),
                    DimKind::Size(_) | DimKind::Pack(_) | DimKind::Unknown => None,
                };
                let span = arg.span;
                let param = Some(param);
                let equation = Equation { pattern, actual, argument, param, axis: at, coord, span };
                m.equations.extend(known.then_some(equation));
            }
            (DimKind::Coord { name, extent: None, over }, [axis]) if known => {
                m.coord_sizes.entry(over.unwrap_or(*name).sym).or_insert(axis.size.clone());
            }
            (DimKind::Coord { .. } | DimKind::Size(_) | DimKind::Unknown, _) => {}
        }
    }
    match &ty.kind {
        TypeKind::Array { elem, dims, .. } => {
            if !match_elem(cx, m, elem, arg, param) {
                return None;
            }
            let cell = align(&cx.ix, &mut cx.report, m, dims, arg, param)?;
            bind_axes(cx, m, dims, arg, &cell, param)?;
            Some(cell)
        }
        TypeKind::Param(local) if m.types.get(local).is_some_and(Type::is_array) => {
            match_known(&mut cx.ix, &mut cx.report, m, *local, arg, param)
        }
        TypeKind::Scalar(_) | TypeKind::Str | TypeKind::Data(..) | TypeKind::Param(_) => {
            if !match_elem(cx, m, ty, arg, param) {
                return None;
            }
            Some(Cell { frame: (0..rank).collect(), cell: Vec::new() })
        }
        TypeKind::AnyRank(elem) if arg.ty.is_array() => {
            if !match_elem(cx, m, elem, arg, param) {
                return None;
            }
            Some(Cell { frame: Vec::new(), cell: (0..rank).collect() })
        }
        TypeKind::AnyRank(_)
        | TypeKind::Jagged(..)
        | TypeKind::Tuple(_)
        | TypeKind::Function(..)
        | TypeKind::Some(..)
        | TypeKind::Error => Some(Cell { frame: Vec::new(), cell: (0..rank).collect() }),
    }
}

/// `x: T` where another argument says that `T` is an array: its axes are the cell.
fn match_known(
    ix: &mut Index,
    report: &mut Report,
    m: &mut Match,
    local: LocalId,
    arg: &Expr,
    param: Symbol,
) -> Option<Cell> {
    let known = m.types.get(&local)?.clone();
    let rank = arg.ty.rank();
    let Some(frame) = rank.checked_sub(known.rank()) else {
        let d = coerce::mismatch(ix, arg, &known, &format!("parameter `{param}`"));
        report.report_at(d);
        return None;
    };
    let cell = stmt::without_axes(&arg.ty, frame);
    let Some(joined) = coerce::join_types(ix, &known, &cell) else {
        let d = coerce::mismatch(ix, arg, &known, &format!("parameter `{param}`"));
        report.report_at(d);
        return None;
    };
    if !same_layout(ix, report, &known, &cell, arg, param) {
        return None;
    }
    m.types.insert(local, joined);
    Some(Cell { frame: (0..frame).collect(), cell: (frame..rank).collect() })
}

/// The element type of an argument against that of its parameter.
pub(super) fn match_elem(
    cx: &mut Cx,
    m: &mut Match,
    elem: &hir::Type,
    arg: &Expr,
    param: Symbol,
) -> bool {
    if let TypeKind::Param(local) = &elem.kind {
        let have = arg.ty.elem().clone();
        match m.types.get(local) {
            None => {
                m.types.insert(*local, have);
                return true;
            }
            Some(known) if coerce::same_kind(known, &have) => return true,
            Some(known) => {
                let known = known.clone();
                let d = coerce::mismatch(&cx.ix, arg, &known, &format!("parameter `{param}`"));
                cx.report.report_at(d);
                return false;
            }
        }
    }
    let want = lower_quietly(cx, elem, m);
    if coerce::same_kind(arg.ty.elem(), &want) || want.has_error() {
        return same_layout(&cx.ix, &mut cx.report, &want, arg.ty.elem(), arg, param);
    }
    let function = m.function.map_or("the function".to_string(), |name| format!("`{name}`"));
    let have = cx.ix.show(arg.ty.elem());
    let wanted = cx.ix.show(&want);
    let mut d = error(
        Code::E0501,
        arg.span,
        format!("parameter `{param}` of {function} takes `{wanted}`, but the argument is `{have}`"),
    )
    .here(format!("this is `{}`", cx.ix.show(&arg.ty)))
    .label(elem.span, format!("declared as `{wanted}`"));
    if let (Some(a), Some(b)) = (arg.ty.scalar(), want.scalar())
        && super::is_numeric(a)
        && super::is_numeric(b)
    {
        d = if super::widen::holds(a, b) {
            d.help(format!(
                "pass a value of type `{wanted}`; `… as {wanted}` would lose what does not fit"
            ))
        } else {
            d.fix(format!("convert it: `… as {wanted}`"), arg.span.end(), format!(" as {wanted}"))
        };
    } else {
        d = d.help(format!("pass a value of type `{wanted}`"));
    }
    cx.report.report_at(d);
    false
}

/// Holds an argument, or what it is made of, to the layout that others gave to a type parameter.
fn same_layout(
    ix: &Index,
    report: &mut Report,
    want: &Type,
    have: &Type,
    arg: &Expr,
    param: Symbol,
) -> bool {
    let Some((want, have, axis)) = layouts::clash(ix, want, have) else { return true };
    let (want, have) = (show::show_coords(want), show::show_coords(have));
    let message =
        format!("{} has the layout {have}, but parameter `{param}` wants {want}", ix.quote(arg));
    let d = error(Code::E0311, arg.span, message)
        .here(format!("axis {axis} differs from what the other arguments say"))
        .help(format!("pass a value of layout {want}, by indexing this one by name"));
    let d = ix.with_declaration(d, arg);
    report.report_at(d);
    false
}

/// A type of the signature, in the caller's terms as far as it goes.
pub(super) fn lower_quietly(cx: &mut Cx, ty: &hir::Type, m: &Match) -> Type {
    let saved = std::mem::replace(&mut cx.infer.f.type_params, m.types.clone());
    let sizes = std::mem::replace(&mut cx.ix.f.sizes, m.sizes.clone());
    let packs = std::mem::replace(&mut cx.ix.f.signature_packs, m.packs.clone());
    let lowered = types::lower_type(cx, ty);
    cx.ix.f.signature_packs = packs;
    cx.infer.f.type_params = saved;
    cx.ix.f.sizes = sizes;
    lowered
}

/// The name that a coordinate of the signature has in the caller, if that is settled.
fn wanted(m: &Match, declared: Symbol) -> Option<Symbol> {
    match m.coords.get(&declared) {
        Some(coord) => Some(coord.name),
        None if m.params.contains(&declared) => None,
        None => Some(declared),
    }
}

/// Which axes of an argument are the cell, and which the frame.
fn align(
    ix: &Index,
    report: &mut Report,
    m: &mut Match,
    dims: &[Dim],
    arg: &Expr,
    param: Symbol,
) -> Option<Cell> {
    let rank = arg.ty.rank();
    let packs: Vec<LocalId> = dims
        .iter()
        .filter_map(|dim| match &dim.kind {
            DimKind::Pack(local) => Some(*local),
            _ => None,
        })
        .collect();
    if !packs.is_empty() {
        return packs::align_packs(ix, report, m, dims, &packs, arg, param);
    }
    if rank < dims.len() {
        let function = m.function.map_or("the function".into(), |name| format!("`{name}`"));
        let d = error(
            Code::E0405,
            arg.span,
            format!(
                "parameter `{param}` of {function} takes rank {}, but the argument has rank {rank}",
                dims.len()
            ),
        )
        .here(format!("this is `{}`", ix.show(&arg.ty)))
        .help("pass an array with more axes");
        report.report_at(d);
        return None;
    }
    if let Some(cell) = align_by_name(m, dims, arg) {
        return Some(cell);
    }
    let first = rank - dims.len();
    Some(Cell { frame: (0..first).collect(), cell: (first..rank).collect() })
}

/// Named cells are found by name, wherever they stand.
fn align_by_name(m: &Match, dims: &[Dim], arg: &Expr) -> Option<Cell> {
    let axes = arg.ty.axes();
    let mut cell = Vec::new();
    let mut named = false;
    for dim in dims {
        let DimKind::Coord { name, .. } = &dim.kind else {
            cell.push(None);
            continue;
        };
        let wanted = self::wanted(m, name.sym)?;
        let at = axes.iter().enumerate().position(|(at, axis)| {
            !cell.contains(&Some(at))
                && axis.coord.is_some_and(|c| c.name == wanted || c.root() == wanted)
        })?;
        named = true;
        cell.push(Some(at));
    }
    if !named {
        return None;
    }
    let mut free: Vec<usize> = (0..axes.len()).filter(|at| !cell.contains(&Some(*at))).collect();
    let mut result = Vec::new();
    for at in cell.into_iter().rev() {
        match at {
            Some(at) => result.push(at),
            None => result.push(free.pop()?),
        }
    }
    result.reverse();
    // The declared relative order is part of the contract; `bind_axes` reports a swap.
    if result.windows(2).any(|pair| pair[0] > pair[1]) {
        return None;
    }
    Some(Cell { frame: free, cell: result })
}

/// Binds the coordinates and sizes of the cell.
fn bind_axes(
    cx: &mut Cx,
    m: &mut Match,
    dims: &[Dim],
    arg: &Expr,
    cell: &Cell,
    param: Symbol,
) -> Option<()> {
    let mut cursor = cell.cell.iter();
    for dim in dims {
        let (name, extent) = match &dim.kind {
            DimKind::Pack(local) => {
                for _ in 0..m.packs.get(local).map_or(0, Vec::len) {
                    cursor.next();
                }
                continue;
            }
            DimKind::Unknown => (None, None),
            DimKind::Size(e) => (None, Some(*e)),
            DimKind::Coord { name, extent, over } => {
                (Some((*name, over.unwrap_or(*name).sym)), *extent)
            }
        };
        let at = *cursor.next()?;
        let axis = arg.ty.axes().get(at)?.clone();
        if let Some((name, root)) = name {
            bind_coord(&cx.ix, &mut cx.report, m, name, axis.coord, Met { arg, at, param })?;
            if extent.is_none() {
                // Roles of one coordinate have one extent.
                match m.coord_sizes.get(&root) {
                    Some(known) => m.equations.push(Equation {
                        pattern: known.clone(),
                        actual: axis.size.clone(),
                        argument: cx.ix.show_name(arg),
                        param: Some(param),
                        axis: at,
                        coord: Some(name.sym),
                        span: arg.span,
                    }),
                    None => {
                        m.coord_sizes.insert(root, axis.size.clone());
                    }
                }
            }
        }
        if let (None, Some(e)) = (name, extent) {
            sizes::bind_size_coord(&cx.ix, &mut cx.report, m, e, axis.coord, arg, param)?;
        }
        if let Some(e) = extent {
            let pattern = sizes::pattern_size(cx, m, e);
            m.equations.push(Equation {
                pattern,
                actual: axis.size.clone(),
                argument: cx.ix.show_name(arg),
                param: Some(param),
                axis: at,
                coord: name.map(|(name, _)| name.sym),
                span: arg.span,
            });
        }
    }
    Some(())
}

/// The axis of an argument that meets one of the signature.
#[derive(Clone, Copy)]
struct Met<'e> {
    arg: &'e Expr,
    at: usize,
    param: Symbol,
}

/// A coordinate of the signature meets one of the caller.
fn bind_coord(
    ix: &Index,
    report: &mut Report,
    m: &mut Match,
    declared: Name,
    have: Option<Coord>,
    met: Met<'_>,
) -> Option<()> {
    let arg = met.arg;
    let bound = m.coords.get(&declared.sym).copied();
    let is_param = m.params.contains(&declared.sym);
    match (bound, have) {
        (Some(bound), Some(have)) => {
            let same = bound.name == have.name
                || bound.root() == have.root()
                || bound.root() == have.name
                || have.root() == bound.name;
            let renamed = !have.contract && !carries(arg, bound.name);
            if same || renamed {
                let keeps = have.name == bound.name && bound.over.is_none();
                if !bound.contract && have.contract {
                    m.coords.insert(declared.sym, have);
                } else if keeps && have.over.is_some() {
                    // A role stays one.
                    m.coords.insert(declared.sym, Coord { over: have.over, ..bound });
                }
                return Some(());
            }
            wrong_coord(ix, report, m, declared, bound, have, met);
            None
        }
        (Some(_), None) => Some(()),
        (None, Some(have)) if is_param => {
            m.coords.insert(declared.sym, have);
            Some(())
        }
        (None, Some(have)) => {
            let same = have.name == declared.sym || have.root() == declared.sym;
            let fixed = super::types::contract(declared.sym, None);
            // What no argument holds to its name, the caller may rename.
            if same {
                m.coords.insert(declared.sym, have);
                return Some(());
            }
            if !have.contract && !carries(arg, declared.sym) {
                m.coords.insert(declared.sym, Coord { contract: false, ..fixed });
                return Some(());
            }
            wrong_coord(ix, report, m, declared, fixed, have, met);
            None
        }
        (None, None) => {
            let name = super::types::contract(declared.sym, None);
            m.coords.insert(declared.sym, Coord { contract: false, ..name });
            Some(())
        }
    }
}

fn carries(arg: &Expr, name: Symbol) -> bool {
    arg.ty.axes().iter().any(|axis| axis.coord.is_some_and(|coord| coord.name == name))
}

fn wrong_coord(
    ix: &Index,
    report: &mut Report,
    m: &Match,
    declared: Name,
    wanted: Coord,
    have: Coord,
    met: Met<'_>,
) {
    let Met { arg, at, param } = met;
    let function = m.function.map_or("the function".to_string(), |name| format!("`{name}`"));
    let tensor = ix.quote(arg);
    let layout = show::show_coords(arg.ty.axes());
    let there = carries(arg, wanted.name);
    let name = wanted.name;
    let here = |code, message: String| {
        error(code, arg.span, message)
            .here(format!("axis {at} is `{}`", have.name))
            .label(declared.span, format!("`{declared}` is declared here"))
    };
    let wants = format!("parameter `{param}` of {function} wants");
    let d = match m.bracket.get(&declared.sym) {
        Some(bracket) if !there => {
            error(Code::E0302, *bracket, format!("{tensor} has no coordinate `{name}`"))
                .here(format!("given for `{declared}` of {function}"))
                .label(arg.span, format!("has the coordinates {layout}"))
                .help(format!("did you mean `{}`?", have.name))
        }
        _ if there => {
            let other =
                format!("{tensor} has the layout {layout}, but {wants} `{name}` at axis {at}");
            let tensor = tensor.trim_matches('`');
            let help = format!("pass the axes in the declared order, by name: `{tensor}[…]`");
            here(Code::E0311, other).help(help)
        }
        _ => {
            let none = format!(
                "{tensor} has no coordinate `{name}`: {wants} it, and {tensor} has {layout}"
            );
            here(Code::E0309, none).help(format!("pass a value that has `{name}`"))
        }
    };
    let d = ix.with_declaration(d, arg);
    report.report_at(d);
}

// ---------------------------------------------------------------- sizes
