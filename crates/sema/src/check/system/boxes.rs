//! Systems whose elements are not all numbers: each element lies in a box of its name.
//!
//! The box is an enum with a variant for every name, so that one array holds them all.

use super::Member;
use super::stack::{Layout, constant, generated};
use crate::check::state::Index;
use crate::check::{pointwise, stmt};
use ein_base::{Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::{Arm, Bounds, Data, DataVariant, Expr, ExprKind, IndexArg, Pattern, Type};

/// The type of the boxes.
pub(super) fn box_type(ix: &mut Index, members: &[Member]) -> Type {
    let variants = members
        .iter()
        .map(|member| DataVariant {
            name: member.name,
            fields: vec![Symbol::intern("0")],
            positional: true,
        })
        .collect();
    let name = Symbol::intern("system");
    Type::Data(ix.data.push(Data { name, variants, is_enum: true }), Default::default())
}

/// A value in its box.
pub(super) fn boxed(layout: &Layout, at: usize, value: Expr) -> Expr {
    let (ty, span) = (layout.ty.elem().clone(), value.span);
    let Type::Data(data, _) = ty else { return Expr::error(span) };
    Expr::new(ExprKind::Make { data, variant: at, fields: vec![value] }, ty, span)
}

/// What lies in a box.
fn unboxed(ix: &mut Index, layout: &Layout, at: usize, value: Expr) -> Expr {
    let span = value.span;
    let place = &layout.names[at];
    let ty = stmt::without_axes(&place.ty, place.rank);
    let var = ix.new_local(Symbol::intern("$b"), span, ty.clone());
    let mut arms: Vec<Arm> = Vec::new();
    let inside = Expr::new(ExprKind::Var(var), ty.clone(), span);
    let fields = vec![Pattern::Bind(var)];
    let pattern = Pattern::Data { variant: at, fields };
    arms.push(Arm { pattern, guard: None, value: inside });
    Expr::new(ExprKind::Match { value, arms }, ty, span)
}

/// A read of a name that lies in boxes; `given` indices were written.
pub(super) fn unboxed_read(
    ix: &mut Index,
    layout: &Layout,
    at: usize,
    base: Expr,
    mut indices: Vec<IndexArg>,
    given: usize,
    span: Span,
) -> Expr {
    let place = &layout.names[at];
    let elem = layout.ty.elem().clone();
    if given >= place.rank {
        let rest = indices.split_off(layout.rank + 1);
        let boxed = Expr::new(ExprKind::Index { base, indices }, elem, span);
        let inside = unboxed(ix, layout, at, boxed);
        if rest.is_empty() {
            return inside;
        }
        let ty = stmt::without_axes(&inside.ty, rest.len());
        return Expr::new(ExprKind::Index { base: inside, indices: rest }, ty, span);
    }
    // Some axes are left: an array of what lies in the boxes along them.
    let sizes: Vec<size::Expr> =
        place.ty.axes()[given..place.rank].iter().map(|axis| axis.size.clone()).collect();
    let missing = layout.rank - place.rank;
    let axes = place.ty.axes()[given..place.rank].to_vec();
    let (slots, own) = generated(ix, &sizes, span);
    indices.extend(own.into_iter().map(inside));
    indices.extend((0..missing).map(|_| constant(0, span)));
    let boxed = Expr::new(ExprKind::Index { base, indices }, elem, span);
    let inside = unboxed(ix, layout, at, boxed);
    pointwise::tensor(ix, None, axes, vec![(slots, inside)], span)
}

/// A whole name; `base` has the axis of the names in front.
pub(super) fn unboxed_view(
    ix: &mut Index,
    layout: &Layout,
    at: usize,
    base: Expr,
    hidden: Option<(usize, size::Expr)>,
    span: Span,
) -> Expr {
    let place = &layout.names[at];
    let mut axes = place.ty.axes()[..place.rank].to_vec();
    if let Some((axis, size)) = hidden {
        let smaller = place.smaller[axis];
        let own = axes[axis].size.clone();
        axes[axis].size = if smaller { own.min(&size) } else { size };
    }
    let sizes: Vec<size::Expr> = axes.iter().map(|axis| axis.size.clone()).collect();
    let (slots, own) = generated(ix, &sizes, span);
    let indices = own.into_iter().map(inside).collect();
    let mut indices = layout.placed(at, indices, || constant(0, span));
    indices.insert(0, constant(at as i64, span));
    let elem = layout.ty.elem().clone();
    let boxed = Expr::new(ExprKind::Index { base, indices }, elem, span);
    let inside = unboxed(ix, layout, at, boxed);
    pointwise::tensor(ix, None, axes, vec![(slots, inside)], span)
}

fn inside(value: Expr) -> IndexArg {
    IndexArg { value, bounds: Bounds::Proved }
}
