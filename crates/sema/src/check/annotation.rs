//! Values that meet the types written beside them.

use super::state::{Index, Report};
use super::symbolic::SizeRelation;
use super::{Cx, close, coerce, error, expr, layouts, result, show, stmt, types, vars, widen};
use crate::hir::{self, Dim, DimKind, ExprId, ExprKind as H, TypeKind};
use ein_base::{Code, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::{AtomDef, Expr, ExprKind, Type};

/// Checks a value against an annotation.
pub(super) fn annotated(cx: &mut Cx, value: ExprId, ty: &hir::Type, what: &str) -> Expr {
    let ty = opened(&mut cx.ix, ty);
    let mut layout = None;
    let want = match &ty.kind {
        TypeKind::Array { elem, dims, .. } if !matches!(elem.kind, TypeKind::Some(..)) => {
            layout = layout_of(dims);
            let elem = types::lower_type(cx, elem);
            wanted_of_nothing(cx, value, &elem, dims).unwrap_or(elem)
        }
        TypeKind::AnyRank(elem) => types::lower_type(cx, elem),
        _ => types::lower_type(cx, ty),
    };
    let value = close::open_value(cx, value, Some(&want), layout.as_deref());
    meet(cx, value, ty, what)
}

/// A value that is there already against an annotation.
pub(super) fn meet(cx: &mut Cx, value: Expr, ty: &hir::Type, what: &str) -> Expr {
    let ty = opened(&mut cx.ix, ty);
    match &ty.kind {
        TypeKind::Array { elem, dims, .. } if !matches!(elem.kind, TypeKind::Some(..)) => {
            let elem = types::lower_type(cx, elem);
            let dims = result::expand_packs(&cx.ix, dims);
            let dims = open_packs(&dims, value.ty.rank()).unwrap_or(dims);
            meet_array(cx, value, elem, &dims, what)
        }
        // A frame of rows whose lengths differ.
        TypeKind::Array { dims, .. } => {
            let want = types::lower_type(cx, ty);
            let value = coerce::expect_type(cx, value, &want, what);
            meet_frame(cx, value, dims, what)
        }
        // Any rank: that of the value.
        TypeKind::AnyRank(elem) => {
            let elem = types::lower_type(cx, elem);
            let whole = Type::AnyRank(Box::new(elem.clone()));
            let value = widen::widen_to(&mut cx.ix, &mut cx.build, &mut cx.report, value, &whole);
            if value.ty.is_array() && coerce::same_kind(value.ty.elem(), &elem) {
                return value;
            }
            coerce::expect_type(cx, value, &whole, what)
        }
        TypeKind::Scalar(_)
        | TypeKind::Str
        | TypeKind::Data(..)
        | TypeKind::Param(_)
        | TypeKind::Jagged(..)
        | TypeKind::Tuple(_)
        | TypeKind::Function(..)
        | TypeKind::Some(..)
        | TypeKind::Error => {
            let generic = matches!(ty.kind, TypeKind::Param(_));
            let ty = types::lower_type(cx, ty);
            let value = coerce::expect_type(cx, value, &ty, what);
            match value.ty {
                Type::Error if !generic => Expr::new(ExprKind::Error, ty, value.span),
                _ => value,
            }
        }
    }
}

/// What `some` stands before; the sizes that it hides are new ones.
fn opened<'t>(ix: &mut Index, mut ty: &'t hir::Type) -> &'t hir::Type {
    while let TypeKind::Some(sizes, body) = &ty.kind {
        sizes.iter().for_each(|size| _ = ix.f.sizes.remove(size));
        ty = body;
    }
    ty
}

/// Dimensions with one pack, as so many open ones as a value of this rank leaves to it.
fn open_packs(dims: &[Dim], rank: usize) -> Option<Vec<Dim>> {
    let at = dims.iter().position(|dim| matches!(dim.kind, DimKind::Pack(_)))?;
    let count = (rank + 1).checked_sub(dims.len())?;
    let open = Dim { kind: DimKind::Unknown, span: dims[at].span };
    let mut open_dims = dims[..at].to_vec();
    open_dims.extend(vec![open; count]);
    open_dims.extend_from_slice(&dims[at + 1..]);
    Some(open_dims)
}

/// The frame of rows of unequal lengths against what an annotation states of it.
fn meet_frame(cx: &mut Cx, value: Expr, dims: &[Dim], what: &str) -> Expr {
    let [dim] = dims else { return value };
    let extent = match &dim.kind {
        DimKind::Size(e) | DimKind::Coord { extent: Some(e), .. } => *e,
        DimKind::Unknown | DimKind::Coord { extent: None, .. } | DimKind::Pack(_) => {
            return value;
        }
    };
    if value.ty.has_error() {
        return value;
    }
    let known = frame_extent(&cx.ix, &value);
    let value = vars::atomise(&mut cx.ix, &mut cx.build, value);
    let actual = match (known, &*value.kind) {
        (Some(known), _) => known,
        (None, ExprKind::Var(var)) => {
            let name = Symbol::intern(&format!("len({})", cx.ix.vars[*var].name));
            size::Expr::atom(cx.ix.new_atom(name, AtomDef::Length(*var), true))
        }
        (None, _) => return value,
    };
    match_extent(cx, extent, &actual, &value, 0, None, what);
    value
}

/// The number of rows of a jagged value, where what makes it says so.
fn frame_extent(ix: &Index, value: &Expr) -> Option<size::Expr> {
    match &*value.kind {
        ExprKind::Block { value, .. } => frame_extent(ix, value),
        ExprKind::Comprehension { clauses, .. } => match clauses.as_slice() {
            [ein_ir::tensor::CompClause::Generator(_, source)] => match &*source.kind {
                ExprKind::Range(lo, hi) => {
                    let (lo, hi) = (ix.to_size(lo)?, ix.to_size(hi)?);
                    Some(hi.sub(&lo))
                }
                _ => source.ty.axes().first().map(|axis| axis.size.clone()),
            },
            _ => None,
        },
        ExprKind::Host(ein_ir::tensor::HostOp::Convert, args) => {
            args.first()?.ty.axes().first().map(|axis| axis.size.clone())
        }
        ExprKind::Tensor(tensor) => tensor.shape.first()?.clone(),
        ExprKind::Array(items) => Some(size::Expr::constant(items.len() as i64)),
        _ => None,
    }
}

/// What is asked of `[]`: without rows nothing but the annotation tells how long they are.
pub(super) fn wanted_of_nothing(
    cx: &mut Cx,
    value: ExprId,
    elem: &Type,
    dims: &[Dim],
) -> Option<Type> {
    let is_empty = cx.infer.is_empty(value);
    let in_row = dims.iter().any(|dim| matches!(dim.kind, DimKind::Pack(_)));
    if !is_empty || in_row || dims.len() + elem.rank() < 2 {
        return None;
    }
    let mut axes = Vec::new();
    for dim in dims {
        let stated = match &dim.kind {
            DimKind::Size(e) | DimKind::Coord { extent: Some(e), .. } => {
                stmt::constant_extent(cx, *e)
            }
            DimKind::Unknown | DimKind::Coord { extent: None, .. } | DimKind::Pack(_) => None,
        };
        axes.push(super::anonymous(stated.unwrap_or_else(size::Expr::zero)));
    }
    Some(Type::array(elem.clone(), axes))
}

/// A value against an array type.
pub(super) fn meet_array(cx: &mut Cx, value: Expr, elem: Type, dims: &[Dim], what: &str) -> Expr {
    if value.ty.is_broken() {
        return as_declared(cx, elem, dims, value.span);
    }
    // A pack may stand for no axes at all.
    if dims.is_empty() {
        return coerce::expect_type(cx, value, &elem, what);
    }
    let value = super::arms::complete(value, &elem);
    let value = match (&elem, value.ty.elem()) {
        (Type::Signature(_), Type::Template(..)) if value.ty.is_array() => {
            coerce::each_item(cx, value, &elem, what)
        }
        _ => value,
    };
    let value = match (elem.scalar(), value.ty.scalar()) {
        (Some(to), Some(from)) if value.ty.is_array() && super::widen::holds(to, from) => {
            widen::widen(&mut cx.ix, &mut cx.build, &mut cx.report, value, to)
        }
        _ => value,
    };
    let value = match &*value.kind {
        // What Python gives has the rank that is asked for, checked where it arrives.
        ExprKind::Host(ein_ir::tensor::HostOp::Python(_), _) if !value.ty.is_array() => {
            let ty = Type::AnyRank(Box::new(value.ty));
            Expr { ty, ..value }
        }
        _ => value,
    };
    if let Type::AnyRank(_) = &value.ty {
        let axes = types::lower_dims(cx, dims);
        let span = value.span;
        return expr::cast::assert_shape(&cx.ix, value, Type::array(elem, axes), span);
    }
    if !coerce::same_kind(value.ty.elem(), &elem)
        || value.ty.rank() != dims.len()
        || !value.ty.is_array()
    {
        let wrong = as_declared(cx, elem, dims, value.span);
        let mut d = coerce::mismatch(&cx.ix, &value, &wrong.ty, what);
        if matches!(value.ty, Type::Jagged(..)) {
            d.code = Code::E0405;
            d.message = format!(
                "{what} is a rectangular array, but the rows of this value differ in length"
            );
        }
        cx.report.report_at(d);
        // Of the wrong rank, it is not known which of both is meant.
        return if value.ty.rank() == dims.len() { wrong } else { Expr::error(value.span) };
    }
    let stated = layouts::stated(cx, dims);
    if !layouts::check_paths(&mut cx.ix, &mut cx.report, &value, &stated, what) {
        return as_declared(cx, elem, dims, value.span);
    }
    let value = expr::settle_expr(&mut cx.ix, &mut cx.build, value);
    adopt(cx, value, dims, what)
}

/// What stands for a value that is wrong: all that is declared of it holds.
fn as_declared(cx: &mut Cx, elem: Type, dims: &[Dim], span: Span) -> Expr {
    let axes = types::lower_dims(cx, dims);
    Expr::new(ExprKind::Error, Type::array(elem, axes), span)
}

/// Gives a value the coordinates and sizes that an annotation declares, after comparing them
/// with its own.
pub(super) fn adopt(cx: &mut Cx, value: Expr, dims: &[Dim], what: &str) -> Expr {
    let declared: Vec<Option<Symbol>> = dims
        .iter()
        .map(|dim| match &dim.kind {
            DimKind::Coord { name, .. } => Some(name.sym),
            DimKind::Unknown | DimKind::Size(_) | DimKind::Pack(_) => None,
        })
        .collect();
    if !check_names(&cx.ix, &mut cx.report, &value, &declared, what, value.span) {
        return as_declared(cx, value.ty.elem().clone(), dims, value.span);
    }
    let mut axes = value.ty.axes().to_vec();
    for (position, dim) in dims.iter().enumerate() {
        let (extent, coord) = match &dim.kind {
            DimKind::Unknown => (None, None),
            DimKind::Size(e) => (Some(*e), None),
            DimKind::Coord { name, extent, over } => (
                *extent,
                Some(types::declared_coord(&mut cx.ix, name.sym, over.map(|over| over.sym))),
            ),
            DimKind::Pack(_) => continue,
        };
        let Some(axis) = axes.get_mut(position) else { break };
        if let Some(coord) = coord {
            // A role keeps what it is a role of.
            let over = coord.over.or(axis
                .coord
                .and_then(|old| (old.name == coord.name).then_some(old.over).flatten()));
            axis.coord = Some(super::types::contract(coord.name, over));
        }
        if let Some(extent) = extent {
            let size = axis.size.clone();
            let name = coord.map(|coord| coord.name);
            axes[position].size = match_extent(cx, extent, &size, &value, position, name, what);
        }
    }
    cx.report.check_distinct(dims);
    let mut value = value;
    value.ty = Type::array(value.ty.elem().clone(), axes);
    value
}

/// One stated extent against the extent that is there; gives the size to go on with, which is the
/// stated one also where it is wrong: what follows goes by what is written.
pub(super) fn match_extent(
    cx: &mut Cx,
    extent: ExprId,
    actual: &size::Expr,
    value: &Expr,
    position: usize,
    coord: Option<Symbol>,
    what: &str,
) -> size::Expr {
    if let H::Size(local) = &cx.hir.exprs[extent].kind
        && !cx.ix.f.sizes.contains_key(local)
    {
        let name = vars::local_name(cx.hir, *local);
        if let Some(atom) = actual.as_atom()
            && cx.ix.atoms[atom].name.as_str().contains(".shape[")
        {
            cx.ix.atoms[atom].name = name;
        }
        cx.ix.f.sizes.insert(*local, actual.clone());
        return actual.clone();
    }
    let stated = types::size_value(cx, extent);
    let stated = solve_new_size(&mut cx.ix, &stated, actual);
    match cx.ix.compare_sizes(actual, &stated) {
        SizeRelation::Equal => {}
        SizeRelation::AtRunTime => {
            let axis = format!("{} in {what}", show::show_axis(coord, position));
            let (actual, wanted) = (actual.clone(), stated.clone());
            coerce::require(&mut cx.ix, &mut cx.build, actual, wanted, axis, value.span);
        }
        SizeRelation::Different => {
            let axis = show::show_axis(coord, position);
            let (have, want) = (cx.ix.show_size(actual), cx.ix.show_size(&stated));
            let d = error(
                Code::E0405,
                value.span,
                format!("{axis} has extent {have}, but {what} says {want}"),
            )
            .here(format!("this is `{}`", cx.ix.show(&value.ty)))
            .label(cx.hir.exprs[extent].span, format!("stated as {want}"))
            .help(match have.as_str() {
                "?" => {
                    "say that its extent is known only when it runs: `some k. […; k]`".to_string()
                }
                _ => format!("state the extent that the value has: `{have}`"),
            });
            cx.report.report_at(d);
        }
    }
    stated
}

/// Solves `?n + 1 == actual` for the new name `?n`, if there is one.
pub(super) fn solve_new_size(
    ix: &mut Index,
    stated: &size::Expr,
    actual: &size::Expr,
) -> size::Expr {
    let open: Vec<_> =
        stated.atoms().into_iter().filter(|atom| ix.atoms[*atom].def == AtomDef::Unknown).collect();
    if let [atom] = open.as_slice()
        && let Some((1, rest)) = stated.affine_in(*atom)
    {
        let solved = actual.sub(&rest);
        for size in ix.f.sizes.values_mut() {
            if size.as_atom() == Some(*atom) {
                *size = solved.clone();
            }
        }
        return actual.clone();
    }
    stated.clone()
}

/// The names of a value's axes against declared ones. Contract axes must carry the declared
/// names; given ones are renamed by position unless they are the declared names in another
/// order.
pub(super) fn check_names(
    ix: &Index,
    report: &mut Report,
    value: &Expr,
    declared: &[Option<Symbol>],
    what: &str,
    span: Span,
) -> bool {
    let axes = value.ty.axes();
    let have: Vec<Option<Symbol>> =
        axes.iter().map(|axis| axis.coord.map(|coord| coord.name)).collect();
    let wrong =
        axes.iter().zip(declared).position(|(axis, declared)| match (axis.coord, declared) {
            (Some(coord), Some(name)) => coord.name != *name && coord.root() != *name,
            _ => false,
        });
    let Some(position) = wrong else { return true };
    let Some(wanted) = declared[position] else { return true };
    let swapped =
        have.iter().enumerate().any(|(other, name)| other != position && *name == Some(wanted));
    let contract = axes[position].coord.is_some_and(|coord| coord.contract);
    let found = have[position].map_or("_".into(), |name| name.to_string());
    let names: Vec<_> = declared.iter().flatten().map(Symbol::to_string).collect();
    let names = format!("{{{}}}", names.join(", "));
    let layout = show::show_coords(axes);
    let quoted = ix.quote(value);
    let d = if swapped {
        error(
            Code::E0311,
            span,
            format!("{quoted} has the layout {layout}, but {what} says {names}"),
        )
        .here(format!("axis {position} is `{found}`, declared as `{wanted}`"))
        .help(format!(
            "write the declared order by name: `{}[{}]`",
            ix.show_name(value).map_or("x".into(), |name| name.to_string()),
            have.iter().flatten().map(Symbol::to_string).collect::<Vec<_>>().join(", ")
        ))
    } else if contract {
        error(
            Code::E0309,
            span,
            format!(
                "{quoted} has no coordinate `{wanted}`: it has {layout}, and {what} says {names}"
            ),
        )
        .here(format!("axis {position} is `{found}`"))
        .help(format!("declare it as `{found}`, or pass a value that has `{wanted}`"))
    } else {
        return true;
    };
    let d = match ix.declared_at(value) {
        Some(at) => d.label(at, format!("declared with {layout}")),
        None => d,
    };
    report.report_at(d);
    false
}

/// The coordinates of an annotation, if every axis has one.
fn layout_of(dims: &[Dim]) -> Option<Vec<Symbol>> {
    dims.iter()
        .map(|dim| match &dim.kind {
            DimKind::Coord { name, .. } => Some(name.sym),
            DimKind::Unknown | DimKind::Size(_) | DimKind::Pack(_) => None,
        })
        .collect()
}
