//! Where the array of a definition is: all of it, a window of its steps, or what one turn of the loops
//! of its group needs.

use super::emit::{AxisPlace, Emit, Place, Use};
use super::nest::VECTOR;
use super::packed::Packed;
use super::plan::{Placed, What, Where, Why};
use super::row_major;
use crate::points::{Arr, Def, Points};
use ein_ir::loops::{Buf, BufferKind, Reg};
use std::sync::Arc;

/// A place that has been decided.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    placed: Placed,
    why: Why,
    /// The buffer that holds it; none if it is a register.
    kind: Option<BufferKind>,
    /// How positions count; of packed parts along the axes before the one that tells them apart, as if each
    /// part were one cell.
    axes: Vec<Axis>,
    /// Parts that lie one after another.
    packed: Option<Arc<Packed>>,
    /// The cells that are kept.
    len: i64,
}

/// How a position along an axis counts.
#[derive(Clone, Copy, Debug)]
enum Axis {
    /// So many elements per step.
    Strided(i64),
    /// Not at all.
    Fixed,
    /// So many elements per step from the start of the tile.
    Tiled(i64),
    /// So many elements per step, modulo the number of steps that are kept.
    Ring(i64, i64),
}

impl Home {
    /// The array and where it is.
    pub(crate) fn placed(&self) -> &Placed {
        &self.placed
    }

    /// Whether it is made inside of the loops that its group shares.
    pub(crate) fn is_inside(&self) -> bool {
        !matches!(self.kind, Some(BufferKind::Scratch | BufferKind::Output))
    }
}

/// A buffer for all cells of an array.
pub(crate) fn whole(points: &Points, arr: Arr, kind: BufferKind, why: Why) -> Home {
    let place = if kind == BufferKind::Output { Where::Output } else { Where::Whole };
    let placed = Placed::of(points, arr, place);
    let len = placed.shape.iter().product();
    let axes = row_major(&placed.shape).into_iter().map(Axis::Strided).collect();
    Home { placed, why, kind: Some(kind), axes, packed: None, len }
}

/// A window of the steps of a recurrence that few of them suffice for; all of anything else. Parts of
/// unequal shapes lie one after another, unless steps are copied as they are.
pub(crate) fn of_definition(points: &Points, def: &Def, copied: bool) -> Home {
    let (ring, why) = match points.window(def) {
        Ok((axis, kept)) => (Some((axis, kept.steps())), Why::Steps(kept)),
        Err(why) => (None, why),
    };
    let after = ring.map_or(0, |(axis, _)| axis + 1);
    let packed = if copied { None } else { Packed::of(points, def, after) };
    let mut room = points.arrs[def.arr].shape.clone();
    if let Some((axis, steps)) = ring {
        room[axis] = steps;
    }
    if let Some(packed) = &packed {
        room.truncate(packed.axis());
    }
    let of = |(at, stride)| match ring {
        Some((axis, steps)) if at == axis => Axis::Ring(stride, steps),
        Some(_) | None => Axis::Strided(stride),
    };
    let axes = row_major(&room).into_iter().enumerate().map(of).collect();
    let packed = packed.map(|packed| packed.kept(room.iter().product()));
    room.extend(packed.as_ref().map(Packed::cells));
    let len = room.iter().product();
    let place = match ring {
        Some((axis, steps)) => Where::Ring { axis, steps, room },
        None => Where::Whole,
    };
    let parts = packed.iter().flat_map(Packed::shapes).map(<[i64]>::to_vec).collect();
    let placed = Placed { parts, ..Placed::of(points, def.arr, place) };
    let packed = packed.map(Arc::new);
    Home { placed, why, kind: Some(BufferKind::Scratch), axes, packed, len }
}

/// In which order the axes of a turn lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// As those of the array.
    AsItIs,
    /// Short axes first, so that the tile runs along memory.
    TileLast,
    /// Those that are less than a vector before the last one that is not.
    LongLast,
}

/// Room for one turn of the loops that a group shares over these axes, the last of them in tiles.
pub(crate) fn of_turn(
    points: &Points,
    def: &Def,
    (shared, tile): (&[usize], i64),
    order: Order,
) -> Home {
    let extents = &points.arrs[def.arr].shape;
    let tiled = |axis: usize| tile > 1 && shared.last() == Some(&axis);
    let window = points.window(def).ok();
    let ring = window.map(|(axis, kept)| (axis, kept.steps()));
    let of = |(axis, extent): (usize, &i64)| match ring {
        Some((ring_axis, steps)) if ring_axis == axis => steps,
        _ if tiled(axis) => tile,
        _ if shared.contains(&axis) => 1,
        _ => *extent,
    };
    let room: Vec<i64> = extents.iter().enumerate().map(of).collect();
    let why = Why::Since("only what runs in the same loops reads it");
    if room.iter().product::<i64>() == 1 && tile == 1 && ring.is_none() {
        let placed = Placed::of(points, def.arr, Where::Register);
        return Home { placed, why, kind: None, axes: Vec::new(), packed: None, len: 1 };
    }
    let mut axes: Vec<usize> = (0..room.len()).collect();
    match order {
        Order::AsItIs => {}
        Order::TileLast => axes.sort_by_key(|axis| (tiled(*axis), *axis)),
        Order::LongLast => {
            let long = |axis: &usize| room[*axis] >= VECTOR;
            let last = axes.iter().rposition(long);
            if let Some(last) = last {
                axes[last..].rotate_left(1);
            }
        }
    }
    let ordered: Vec<i64> = axes.iter().map(|axis| room[*axis]).collect();
    let mut strides = vec![0; room.len()];
    for (axis, stride) in axes.iter().zip(row_major(&ordered)) {
        strides[*axis] = stride;
    }
    let place = |axis: usize| match ring {
        Some((ring_axis, steps)) if ring_axis == axis => Axis::Ring(strides[axis], steps),
        _ if tiled(axis) => Axis::Tiled(strides[axis]),
        _ if shared.contains(&axis) => Axis::Fixed,
        _ => Axis::Strided(strides[axis]),
    };
    let axes = (0..room.len()).map(place).collect();
    let len = room.iter().product();
    let (place, why) = match window {
        Some((axis, kept)) => (Where::Ring { axis, steps: kept.steps(), room }, Why::Steps(kept)),
        None => (Where::Tile(room), why),
    };
    let placed = Placed::of(points, def.arr, place);
    Home { placed, why, kind: Some(BufferKind::Local), axes, packed: None, len }
}

/// Room for some steps of a recurrence beside its ring.
pub(crate) fn sample(points: &Points, to: Arr, every: i64) -> Home {
    let why = Why::Since("others read no more of it than these and the last steps");
    let home = whole(points, to, BufferKind::Scratch, why);
    Home { placed: Placed { place: Where::Sample { every }, ..home.placed }, ..home }
}

/// Room for a copy of an array with an axis last.
pub(crate) fn turned(points: &Points, to: Arr, axis: usize) -> Home {
    let why = Why::Since("what reads it runs along that axis");
    let home = whole(points, to, BufferKind::Scratch, why);
    Home { placed: Placed { place: Where::Turned(axis), ..home.placed }, ..home }
}

/// Gives an array a buffer for all its cells.
pub(crate) fn give(emit: &mut Emit, arr: Arr, kind: BufferKind, why: Why) {
    let home = whole(&emit.points, arr, kind, why);
    settle(emit, &home, None);
}

/// Makes the place of an array; tiles begin at `origin`. The buffer, if it is one.
pub(crate) fn settle(emit: &mut Emit, home: &Home, origin: Option<Reg>) -> Option<Buf> {
    let Home { placed, why, kind, axes, packed, len } = home;
    emit.plan.note(What::Place(placed.clone()), why.clone());
    let Some(kind) = *kind else {
        emit.places.remove(&placed.arr);
        return None;
    };
    let axis = |axis: &Axis| match (*axis, origin) {
        (Axis::Strided(stride), _) | (Axis::Tiled(stride), None) => AxisPlace::Strided(stride),
        (Axis::Tiled(stride), Some(origin)) => AxisPlace::From(stride, origin),
        (Axis::Fixed, _) => AxisPlace::Fixed,
        (Axis::Ring(stride, steps), _) => AxisPlace::Ring(stride, steps),
    };
    let axes = axes.iter().map(axis).collect();
    let used = match kind {
        BufferKind::Output => Use::Output(placed.shape.clone()),
        BufferKind::Local => Use::Local,
        BufferKind::Scratch | BufferKind::Input => Use::Scratch,
    };
    let name = placed.name.map_or_else(|| "t".to_owned(), |name| name.to_string());
    let buf = emit.buffer(name, emit.points.arrs[placed.arr].ty, *len, kind, used);
    let place = match packed {
        Some(packed) => Place::Packed(buf, axes, Arc::clone(packed)),
        None => Place::Buffer(buf, axes),
    };
    emit.places.insert(placed.arr, place);
    Some(buf)
}
