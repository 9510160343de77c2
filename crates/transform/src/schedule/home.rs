//! Where the array of a definition is: all of it, a window of its steps, or what one turn of the loops
//! of its group needs.

use super::emit::{AxisPlace, Emit, Place, Use};
use super::nest::VECTOR;
use super::packed::{Packed, strides};
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
    /// How positions count; of packed parts as if cells were next to each other along each axis.
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

impl Axis {
    /// The same where so many elements are from each place to the next.
    fn times(self, apart: i64) -> Axis {
        match self {
            Axis::Strided(stride) => Axis::Strided(stride * apart),
            Axis::Fixed => Axis::Fixed,
            Axis::Tiled(stride) => Axis::Tiled(stride * apart),
            Axis::Ring(stride, steps) => Axis::Ring(stride * apart, steps),
        }
    }
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
    let axes = points.arrs[def.arr].shape.iter().enumerate().map(|(at, extent)| match ring {
        Some((axis, steps)) if axis == at => (Axis::Ring(1, steps), steps),
        Some(_) | None => (Axis::Strided(1), *extent),
    });
    let (axes, room): (Vec<Axis>, Vec<i64>) = axes.unzip();
    let order: Vec<usize> = (0..room.len()).collect();
    let lies = Lies { axes, room, order, packs: !copied };
    let place = |room| match ring {
        Some((axis, steps)) => Where::Ring { axis, steps, room },
        None => Where::Whole,
    };
    lies.home(points, def, (place, why, BufferKind::Scratch))
}

/// How an array lies: how positions count along its axes, each as if cells were next to each other, the room
/// along them, and the order of the axes.
struct Lies {
    axes: Vec<Axis>,
    room: Vec<i64>,
    order: Vec<usize>,
    /// Whether parts may lie one after another.
    packs: bool,
}

impl Lies {
    fn home(
        self,
        points: &Points,
        def: &Def,
        (place, why, kind): (impl FnOnce(Vec<i64>) -> Where, Why, BufferKind),
    ) -> Home {
        let Lies { mut axes, mut room, order, packs } = self;
        let same = axes.iter().map(|axis| !matches!(axis, Axis::Strided(_)));
        let boxed: Vec<(i64, bool)> = room.iter().copied().zip(same).collect();
        let packed = if packs { Packed::of(points, def, (&boxed, &order)) } else { None };
        match &packed {
            Some(packed) => room = vec![packed.cells()],
            None => {
                let strides = strides(&room, &order);
                axes.iter_mut().zip(strides).for_each(|(axis, stride)| *axis = axis.times(stride));
            }
        }
        let len = room.iter().product();
        let parts = packed.iter().flat_map(Packed::rooms).map(<[i64]>::to_vec).collect();
        let placed = Placed { parts, ..Placed::of(points, def.arr, place(room)) };
        Home { placed, why, kind: Some(kind), axes, packed: packed.map(Arc::new), len }
    }
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
    let mut lies: Vec<usize> = (0..room.len()).collect();
    match order {
        Order::AsItIs => {}
        Order::TileLast => lies.sort_by_key(|axis| (tiled(*axis), *axis)),
        Order::LongLast => {
            let long = |axis: &usize| room[*axis] >= VECTOR;
            let last = lies.iter().rposition(long);
            if let Some(last) = last {
                lies[last..].rotate_left(1);
            }
        }
    }
    let place = |axis: usize| match ring {
        Some((ring_axis, steps)) if ring_axis == axis => Axis::Ring(1, steps),
        _ if tiled(axis) => Axis::Tiled(1),
        _ if shared.contains(&axis) => Axis::Fixed,
        _ => Axis::Strided(1),
    };
    let axes = (0..room.len()).map(place).collect();
    let (ring, why) = match window {
        Some((axis, kept)) => (Some((axis, kept.steps())), Why::Steps(kept)),
        None => (None, why),
    };
    let place = |room| match ring {
        Some((axis, steps)) => Where::Ring { axis, steps, room },
        None => Where::Tile(room),
    };
    Lies { axes, room, order: lies, packs: true }.home(points, def, (place, why, BufferKind::Local))
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
