//! The plan of a kernel as data: what runs together, in which loops, and where arrays live, each with
//! its reason.
//!
//! Before:  points, after the passes
//! After:   a tree of decisions, which the writer follows: a group of definitions has the places of its
//!          arrays, the loops that they share and their nests in it; a nest its form, its loops and the
//!          reductions in it
//!
//! * Groups, the places of their arrays, the loops that they share and how histories are kept are
//!   decided for the whole kernel before the first loop is written ([`super::group`], [`super::place`]).
//! * What depends on the loops around is decided for a nest, a reduction, a run of steps or a product
//!   before any of its own loops is written, by functions that see a [`View`](super::view::View) and
//!   cannot write: the indices that are open, the strides of what has its place.
//!
//! [`print`](mod@print) makes the text of it that `einlang dump plan` shows; [`verify`](mod@verify) holds its rules.

mod print;
pub(crate) mod verify;
mod why;

pub use why::{Kept, Why};

use super::{History, Keeps};
use crate::points::{Arr, Ix, Node, Points};
use ein_base::Symbol;
use ein_ir::loops::ForKind;

/// What was decided for a kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The decisions, in the order in which their code runs.
    pub decisions: Vec<Decision>,
}

/// A decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What it is about, and what was decided.
    pub what: What,
    /// The reason.
    pub why: Why,
    /// The decisions inside of it.
    pub inside: Vec<Decision>,
}

/// The things that are decided.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// Definitions that run together, or one by itself.
    Group {
        /// The definitions.
        members: Vec<(Name, Member)>,
        /// The extents of the loops that they share; none if there is one definition.
        shared: Vec<i64>,
        /// How many values of the last shared index are handled together.
        tile: i64,
    },
    /// Recurrences and what reads their steps, segment by segment.
    Sweep {
        /// The recurrences.
        names: Vec<Name>,
        /// The steps of a segment.
        every: i64,
        /// All steps.
        steps: i64,
        /// What is kept of them.
        keeps: Keeps,
    },
    /// A history that is stored whole although derivatives read it back.
    WholeHistory,
    /// Where an array is.
    Place(Placed),
    /// A buffer that takes the memory of another one.
    Shares {
        /// The buffer.
        buffer: String,
        /// The other one.
        with: String,
    },
    /// A loop.
    Loop {
        /// Its index.
        index: Symbol,
        /// How often it runs.
        turns: Turns,
        /// How it runs.
        how: How,
    },
    /// The loops that fill cells of an array.
    Nest(Name, Form),
    /// A change of the loops of a nest.
    Change(Change),
    /// Reductions over the same points.
    Reduction {
        /// How many at a time.
        count: usize,
        /// How.
        how: Reduced,
    },
    /// A matrix product.
    Product(Product),
    /// A run of steps of a recurrence.
    Steps {
        /// The recurrence.
        of: Name,
        /// The first step and one past the last.
        range: (i64, i64),
        /// How.
        how: Stepped,
    },
}

/// A name in the program, or none for what the compiler has made.
pub type Name = Option<Symbol>;

/// The kinds of definitions in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    /// Cell by cell.
    Loops,
    /// A matrix product.
    Contraction,
    /// Step by step.
    Ordered,
    /// Step by step until a condition holds.
    OrderedUntil,
    /// A recursion over one buffer.
    InPlace,
    /// States that replace each other until a condition holds.
    Again,
}

/// How often a loop runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Turns {
    /// So often.
    Exactly(i64),
    /// About so often: other loops or the data decide.
    About(f64),
}

/// How a loop runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// One turn after another.
    Serial,
    /// In vectors.
    Vector,
    /// Shared by threads, which take so many turns at a time.
    Parallel {
        /// The turns.
        grain: i64,
    },
}

impl How {
    /// The kind of loop that runs so.
    pub(crate) fn kind(self) -> ForKind {
        match self {
            How::Serial => ForKind::Serial,
            How::Vector => ForKind::Vector { reductions: Vec::new() },
            How::Parallel { grain } => ForKind::Parallel { grain },
        }
    }
}

/// How the cells of a nest are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// There are no loops.
    Point,
    /// The first so many loops, and in them a nest of the rest.
    Around(usize),
    /// Cell by cell, the last index in vectors.
    Plain,
    /// A row of accumulators of so many cells for each reduction, filled in vectors.
    Rows(i64),
    /// The reductions of a row of so many cells first, then what is done with them in vectors.
    ThenRow(i64),
    /// The same with the reductions that other ones of a row read: a nest of their row, then one of the
    /// cells.
    AfterRows(i64),
    /// So many neighbouring cells at a time, each with its reductions.
    Jammed(i64),
    /// One cell after another.
    OneByOne,
}

/// How the loops of a nest are changed before they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// So many choices are made before the loops: both sides have loops of their own.
    Chosen(usize),
    /// An index is written out: a copy of the cells for each of so many values.
    WrittenOut(Symbol, i64),
    /// The last so many loops are one.
    Merged(usize),
    /// The loop over this index becomes the last.
    Moved(Symbol),
    /// The row is cut into so many pieces between edges.
    Pieces(usize),
    /// Tiles of the last loop and of the one over this index, which it goes across.
    Crossed(Symbol, [i64; 2]),
    /// So many values of the last loop are computed in rows before the loops around.
    Columns(usize),
    /// Quotients by so many divisors are products with their reciprocals, where these are ordinary.
    Reciprocals(usize),
    /// So many rows of accumulators at a time.
    Together(i64),
}

/// How reductions are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduced {
    /// In so many parts that threads share.
    Parts(i64),
    /// Term by term, until one decides.
    InTurn,
    /// In vectors, with a lane for each of several accumulators.
    Lanes,
    /// In vectors, in blocks of so many terms and so many streams with accumulators of their own.
    Blocks {
        /// The terms of a block.
        terms: i64,
        /// The streams.
        streams: i64,
    },
    /// Term by term.
    Serial,
    /// The terms are written out.
    WrittenOut(i64),
}

/// How a contraction is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// The rows, columns and terms of one product.
    pub size: [i64; 3],
    /// The loops around the products.
    pub loops: usize,
    /// Whether the operands are copied first, and the result after.
    pub copied: [bool; 3],
    /// Whether threads share each product.
    pub parallel: bool,
}

/// How steps of a recurrence are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stepped {
    /// One after another.
    InOrder,
    /// Written out, with so many cells in variables.
    State(usize),
    /// One cell at a time, the last one in a variable.
    Carried,
    /// The parts that wait for no other cell first, in vectors, so many at a time.
    TwoPasses(i64),
    /// Tiles of one diagonal together, so many cells long.
    Wavefront(i64),
    /// Blocks of steps over tiles of rows that move with the steps.
    Skewed {
        /// The rows of a tile.
        rows: i64,
        /// The steps of a block.
        steps: i64,
    },
}

/// An array with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The array.
    pub arr: Arr,
    /// Its name.
    pub name: Name,
    /// Its extents.
    pub shape: Vec<i64>,
    /// Where it is.
    pub place: Where,
    /// The extents of parts that lie one after another; none if it is one box.
    pub parts: Vec<Vec<i64>>,
}

/// Where an array is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Where {
    /// In a buffer that was given.
    Input,
    /// In a buffer of a result.
    Output,
    /// In a buffer of its own.
    Whole,
    /// The last steps of a recurrence, one in the place of another.
    Ring {
        /// The axis of the steps.
        axis: usize,
        /// How many are kept.
        steps: i64,
        /// What is kept of each step.
        room: Vec<i64>,
    },
    /// In a buffer for one step of the loops of its group.
    Tile(Vec<i64>),
    /// In a register.
    Register,
    /// Some steps of a recurrence, beside its ring.
    Sample {
        /// From one to the next.
        every: i64,
    },
    /// A copy of an array with this axis last.
    Turned(usize),
}

impl Plan {
    /// The histories that recurrences run over in segments.
    pub fn histories(&self) -> Vec<History> {
        let of = |decision: &Decision| match &decision.what {
            What::Sweep { names, every, keeps, .. } => names
                .iter()
                .filter_map(|name| name.map(|name| History { name, every: *every, keeps: *keeps }))
                .collect(),
            _ => Vec::new(),
        };
        self.decisions.iter().flat_map(of).collect()
    }

    /// The places of arrays, in the order in which they are needed.
    pub fn places(&self) -> Vec<(&Placed, &Why)> {
        fn each<'p>(decisions: &'p [Decision], found: &mut Vec<(&'p Placed, &'p Why)>) {
            for decision in decisions {
                if let What::Place(placed) = &decision.what {
                    found.push((placed, &decision.why));
                }
                each(&decision.inside, found);
            }
        }
        let mut found = Vec::new();
        each(&self.decisions, &mut found);
        found
    }
}

impl Placed {
    /// An array of these points in a place.
    pub(crate) fn of(points: &Points, arr: Arr, place: Where) -> Placed {
        let info = &points.arrs[arr];
        Placed { arr, name: info.name, shape: info.shape.clone(), place, parts: Vec::new() }
    }
}

/// The decision on a loop over an index with these bounds.
pub(crate) fn looped(points: &Points, (ix, lo, hi): (Ix, Node, Node), how: How) -> What {
    let turns = match (points.as_int(lo), points.as_int(hi)) {
        (Some(lo), Some(hi)) => Turns::Exactly(hi - lo),
        _ => Turns::About(points.trip_count(lo, hi)),
    };
    What::Loop { index: points.ixs[ix].name, turns, how }
}

/// A plan in the making: decisions that are open, outermost first.
#[derive(Debug, Default)]
pub(crate) struct Making {
    plan: Plan,
    open: Vec<Decision>,
}

impl Making {
    /// Begins a decision: what is noted until its end is inside of it.
    pub(crate) fn begin(&mut self, what: What, why: Why) {
        self.open.push(Decision { what, why, inside: Vec::new() });
    }

    /// Ends the innermost open decision. One that says the same as another beside it is not kept.
    pub(crate) fn end(&mut self) {
        let Some(done) = self.open.pop() else { return };
        let beside = match self.open.last_mut() {
            Some(around) => &mut around.inside,
            None => &mut self.plan.decisions,
        };
        if !beside.contains(&done) {
            beside.push(done);
        }
    }

    /// Notes a decision with nothing inside.
    pub(crate) fn note(&mut self, what: What, why: Why) {
        self.begin(what, why);
        self.end();
    }

    /// The plan.
    pub(crate) fn finish(mut self) -> Plan {
        while !self.open.is_empty() {
            self.end();
        }
        self.plan
    }
}
