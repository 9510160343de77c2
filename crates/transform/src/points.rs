//! Points: definitions as scalar expressions over index variables, at known extents.
//!
//! This is the form between tensor IR and loops. Calls, tuples, views and whole-array operators are
//! gone; what is left says, for every cell of every array, which number it is. Nodes are shared by
//! structure: equal expressions are one node, so common subexpressions cost nothing to find, and
//! each node knows which index variables it depends on, so what is invariant in a loop is known as
//! well.
//!
//! * Integers are exact: [`Kind::Binary`] on integers stands for an operation whose result was
//!   proved to fit, [`Kind::Checked`] for one that traps, [`Kind::Wrapping`] for one that wraps.
//! * The interval of a node holds what its register can hold in any case: also where an operation
//!   before it has failed, or was not meant to run and therefore does not trap. So an operation that
//!   may fail has the interval of its type, and a position that is proved by intervals is inside its
//!   array before anybody looks at a trap.
//! * Nothing that may fail is dropped: an operation is folded, a term cancelled, a side of `min` or
//!   `max` left out only where no [`Info::traps`] is lost. What a branch does not take is not meant to
//!   run: its traps stand under its condition.
//! * Positions of a [`Kind::Load`] are inside the array: proved by intervals, or clamped.
//! * A trap is a hint, not a verdict: the code may run where the program would not have run it, unless
//!   it is [`Points::careful`]. Whoever runs a kernel that trapped asks for smaller parts of it, and in
//!   the end the oracle.
//!
//! Does not know: loops, buffers, the order of anything.
//!
//! Failures: see the third rule above. An operation is dropped, folded or cancelled only if it
//! cannot fail.

mod again;
mod bend;
mod build;
mod interval;
mod linear;
pub mod parse;
mod place;
pub mod print;
pub(crate) mod reduction;
mod select;
pub(crate) mod subst;
pub mod verify;

use ein_base::{IndexVec, Span, Symbol, id};
use ein_ir::cost::Cost;
use ein_ir::tensor::{ReduceOp, VarId};
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};
use rustc_hash::FxHashMap;

pub use again::Again;
pub use bend::Bend;
pub use linear::{Linear, loses_a_trap};
pub use place::Region;
pub(crate) use reduction::{SHORT, in_turn, magnitude};
pub use subst::{Subst, Window};

id!(
    /// An expression.
    Node,
    "n"
);
id!(
    /// An index variable.
    Ix,
    "i"
);
id!(
    /// An array: an input or a definition.
    Arr,
    "a"
);

/// An integer interval, both ends included.
pub type Range = (i128, i128);

/// What a node computes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A constant.
    Const(Scalar),
    /// The value of an index variable, an `i32`.
    Index(Ix),
    /// An element; the positions are integers and inside the array.
    Load(Arr, Box<[Node]>),
    /// A position brought inside `0..extent`; traps if it was outside and the condition, if there
    /// is one, holds. Without `traps` the program was proved never to use it outside.
    Clamp {
        /// The position.
        at: Node,
        /// The extent.
        extent: i64,
        /// Whether being outside is an error.
        traps: bool,
        /// Under which condition.
        when: Option<Node>,
    },
    /// A scalar operation.
    Unary(UnaryOp, Node),
    /// A scalar operation; on integers the result fits and the divisor is not zero.
    Binary(BinaryOp, Node, Node),
    /// An integer operation that traps where it fails, under a condition.
    Checked(BinaryOp, Node, Node, Option<Node>),
    /// An integer operation that wraps.
    Wrapping(BinaryOp, Node, Node),
    /// A conversion to the node's type.
    Cast(Node),
    /// A choice; both sides may be computed.
    Select(Node, Node, Node),
    /// A reduction.
    Reduce(Box<Reduction>),
}

/// A reduction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reduction {
    /// The operation.
    pub op: ReduceOp,
    /// The indices, outermost first, with their bounds.
    pub binders: Vec<(Ix, Node, Node)>,
    /// Points for which it does not hold are skipped.
    pub guard: Option<Node>,
    /// What is reduced.
    pub body: Node,
}

/// A node with what is known of it.
#[derive(Clone, Debug)]
pub struct Info {
    /// What it computes.
    pub kind: Kind,
    /// Its type.
    pub ty: ScalarType,
    /// The values it can have, if it is an integer.
    pub range: Option<Range>,
    /// The index variables that it depends on, in order.
    pub free: Box<[Ix]>,
    /// How many levels of reductions are in it: what keeps their indices apart.
    level: u32,
    /// Whether it may trap.
    pub traps: bool,
    /// Whether a reduction is in it.
    pub reduces: bool,
    /// About how many operations one evaluation takes.
    pub cost: f64,
}

/// An index variable.
#[derive(Clone, Debug)]
pub struct IxInfo {
    /// Its name, for people.
    pub name: Symbol,
    /// The values it can have.
    pub range: Range,
    /// Its bounds, the second one excluded, if they depend on other index variables.
    pub bounds: Option<(Node, Node)>,
}

/// An array.
#[derive(Clone, Debug)]
pub struct ArrInfo {
    /// Its name, for people.
    pub name: Option<Symbol>,
    /// The type of its elements.
    pub ty: ScalarType,
    /// Its extents.
    pub shape: Vec<i64>,
    /// Where it comes from.
    pub source: Source,
}

/// A value that is there before: that of a variable, or a part of the tuple or struct in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Input {
    /// The variable.
    pub var: VarId,
    /// The way to the part.
    pub parts: Vec<usize>,
}

/// Where an array comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A value of the program, with its strides in elements.
    Input(Input, Vec<i64>),
    /// The definition with this number.
    Defined(usize),
}

/// A definition.
#[derive(Clone, Debug)]
pub struct Def {
    /// What it defines.
    pub arr: Arr,
    /// Where it stands.
    pub span: Span,
    /// How it is defined.
    pub body: Body,
    /// Whether it is a recurrence that reverse mode has made.
    pub adjoint: bool,
}

/// How an array is defined.
#[derive(Clone, Debug)]
pub enum Body {
    /// By clauses; where several cover a cell the last one counts, where none does it is zero.
    Clauses(Vec<Clause>, Option<Vec<Step>>),
    /// By adding to cells that start at zero, in the order of the points.
    Scatter(Scatter),
    /// By writing cells in an order, some of them more than once.
    InPlace(InPlace),
    /// By clauses, step by step, until a condition holds.
    Until(Until),
    /// From the last of states that change step by step until a condition holds of them.
    Again(Again),
}

/// Steps that end when a condition holds: the cells of later steps are undefined.
#[derive(Clone, Debug)]
pub struct Until {
    /// The clauses.
    pub clauses: Vec<Clause>,
    /// The recurrence axes; the first one is that of the steps that end.
    pub steps: Vec<Step>,
    /// The indices of the leading axes: for each of their points the steps end by themselves.
    pub around: Vec<Ix>,
    /// The number of the last step that was made, for each point of the leading axes.
    pub last: Arr,
    /// What ends them.
    pub end: End,
}

/// What ends steps.
#[derive(Clone, Debug)]
pub enum End {
    /// A condition, the first time that it holds.
    Asked {
        /// The index of a step in it.
        ix: Ix,
        /// The first of the steps after which it is asked, and one past the last.
        asked: (i64, i64),
        /// The condition.
        cond: Node,
        /// Whether it is an error if it holds after none of them.
        fails: bool,
    },
    /// There are as many of them as of others, which have told `last`.
    Made(Node),
}

impl End {
    /// The condition, or the number of steps.
    pub fn node(&self) -> Node {
        match self {
            End::Asked { cond, .. } => *cond,
            End::Made(count) => *count,
        }
    }

    /// The same, to be replaced.
    pub fn node_mut(&mut self) -> &mut Node {
        match self {
            End::Asked { cond, .. } => cond,
            End::Made(count) => count,
        }
    }
}

impl Until {
    /// The axis of the steps that end.
    pub fn axis(&self) -> usize {
        self.steps.first().map_or(0, |step| step.axis)
    }
}

/// Writes in order. A value is computed from what the arrays hold when its phase, or the step of
/// its phase, begins; the writes are ordered so that none destroys what a later one needs.
#[derive(Clone, Debug)]
pub struct InPlace {
    /// Arrays that are filled on the way, besides the one that is defined.
    pub others: Vec<Arr>,
    /// What happens, one after another.
    pub phases: Vec<Phase>,
    /// Where the arguments of the recursion are, for people.
    pub places: String,
}

/// What happens once, or once in every step.
#[derive(Clone, Debug)]
pub struct Phase {
    /// The steps, if there are several.
    pub steps: Option<Steps>,
    /// What happens in a step.
    pub acts: Vec<Act>,
}

/// A part of a step.
#[derive(Clone, Debug)]
pub enum Act {
    /// Cells are written.
    Write(Write),
    /// There are smaller steps.
    Phase(Phase),
}

/// Steps one after another.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// The number of the step.
    pub ix: Ix,
    /// The first one.
    pub lo: Node,
    /// One past the last.
    pub hi: Node,
    /// Whether they run downward.
    pub backward: bool,
}

/// Writes one value into each of many cells.
#[derive(Clone, Debug)]
pub struct Write {
    /// The array.
    pub arr: Arr,
    /// The points, outermost first, with their bounds; different points are different cells.
    pub loops: Vec<(Ix, Node, Node)>,
    /// The cell.
    pub at: Vec<Node>,
    /// The value.
    pub value: Node,
}

/// One recurrence axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The axis.
    pub axis: usize,
    /// Whether it runs downward.
    pub backward: bool,
}

/// A clause.
#[derive(Clone, Debug)]
pub struct Clause {
    /// The cells it covers, one slot per axis.
    pub slots: Vec<Slot>,
    /// Where the guard fails the cell is `otherwise`.
    pub guard: Option<Node>,
    /// The value.
    pub value: Node,
    /// The value where the guard fails; zero if absent.
    pub otherwise: Option<Node>,
}

/// What a clause covers along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The index variable; its range is `lo..hi`, or a dependent part of it.
    pub ix: Ix,
    /// The first position.
    pub lo: Node,
    /// One past the last.
    pub hi: Node,
}

/// Adds values to cells, or keeps the extreme ones.
#[derive(Clone, Debug)]
pub struct Scatter {
    /// The points, outermost first, with their bounds.
    pub binders: Vec<(Ix, Node, Node)>,
    /// Points for which it does not hold are skipped.
    pub guard: Option<Node>,
    /// The cell, inside the array.
    pub at: Vec<Node>,
    /// What is added.
    pub value: Node,
    /// How it is taken in: an addition, a minimum or a maximum.
    pub op: BinaryOp,
}

fn phase_roots(phase: &Phase, roots: &mut Vec<Node>) {
    roots.extend(phase.steps.iter().flat_map(|steps| [steps.lo, steps.hi]));
    for act in &phase.acts {
        match act {
            Act::Phase(inner) => phase_roots(inner, roots),
            Act::Write(write) => roots.extend(write.roots()),
        }
    }
}

impl InPlace {
    /// Whether cells of an array are computed from cells of the same array.
    pub fn overwrites(&self, points: &Points, arr: Arr) -> bool {
        self.phases.iter().any(|phase| {
            phase.acts.iter().any(|act| match act {
                Act::Phase(_) => false,
                Act::Write(write) => {
                    let loads = points.loads(&[write.value]);
                    write.arr == arr && loads.iter().any(|(from, _)| *from == arr)
                }
            })
        })
    }
}

impl Phase {
    /// Calls `f` with every node, to be replaced.
    pub fn each_node(&mut self, f: &mut dyn FnMut(&mut Node)) {
        if let Some(steps) = &mut self.steps {
            f(&mut steps.lo);
            f(&mut steps.hi);
        }
        for act in &mut self.acts {
            match act {
                Act::Phase(inner) => inner.each_node(f),
                Act::Write(write) => write.each_node(f),
            }
        }
    }
}

/// How numbers are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arithmetic {
    /// Whether integers wrap.
    pub wrapping: bool,
    /// Whether every number must have the bits that the oracle gives it.
    pub exact: bool,
    /// Whether nothing may fail that the program does not compute, at the cost of speed.
    pub careful: bool,
}

/// Everything that a region of a program computes.
#[derive(Clone, Debug, Default)]
pub struct Points {
    /// The expressions.
    pub nodes: IndexVec<Node, Info>,
    /// The index variables.
    pub ixs: IndexVec<Ix, IxInfo>,
    /// The arrays.
    pub arrs: IndexVec<Arr, ArrInfo>,
    /// The definitions, each after those it reads.
    pub defs: Vec<Def>,
    /// Whether integers wrap.
    pub wrapping: bool,
    /// Whether every number must have the bits that the oracle gives it.
    pub exact: bool,
    /// Whether nothing may fail that the program does not compute, at the cost of speed.
    pub careful: bool,
    /// What pays on the machine that they are for.
    pub cost: Cost,
    /// What is known of the cells of arrays.
    pub facts: FxHashMap<Arr, Vec<Fact>>,
    /// The cells of short rows of integers that are constants.
    pub rows: FxHashMap<Arr, Box<[Scalar]>>,
    shared: FxHashMap<(Kind, ScalarType), Node>,
    canonical: FxHashMap<(u32, Node, Node), Ix>,
}

/// Cells of an array of integers lie in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Along this axis …
    pub axis: usize,
    /// … at these positions, first and last.
    pub steps: Range,
    /// The interval.
    pub range: Range,
}

impl Points {
    /// Nothing yet.
    pub fn new(arithmetic: Arithmetic) -> Points {
        let Arithmetic { wrapping, exact, careful } = arithmetic;
        Points { wrapping, exact, careful, ..Points::default() }
    }

    /// The number of the definition of an array, if it is one.
    pub fn def_of(&self, arr: Arr) -> Option<usize> {
        match self.arrs[arr].source {
            Source::Defined(def) => Some(def),
            Source::Input(..) => None,
        }
    }

    /// Tells every array which definition it is, after definitions came, went or moved.
    pub fn renumber(&mut self) {
        for (at, def) in self.defs.iter().enumerate() {
            for arr in Points::filled(def) {
                self.arrs[arr].source = Source::Defined(at);
            }
        }
    }

    /// A new index variable.
    pub fn fresh(&mut self, name: Symbol, range: Range) -> Ix {
        self.ixs.push(IxInfo { name, range, bounds: None })
    }

    /// A new index variable with bounds that may depend on others.
    pub fn fresh_between(&mut self, name: Symbol, range: Range, lo: Node, hi: Node) -> Ix {
        let bounds = self.dependent(lo, hi);
        self.ixs.push(IxInfo { name, range, bounds })
    }

    /// Bounds that are worth remembering: those that are not constants.
    fn dependent(&self, lo: Node, hi: Node) -> Option<(Node, Node)> {
        let fixed = |node: Node| self.as_int(node).is_some();
        (!fixed(lo) || !fixed(hi)).then_some((lo, hi))
    }

    /// The constant integer that a node is.
    pub fn as_int(&self, node: Node) -> Option<i64> {
        match self.nodes[node].kind {
            Kind::Const(value) => value.as_i64(),
            _ => None,
        }
    }

    /// Whether a floating-point node can be `-0.0`, as far as can be told: squares never are, nor
    /// are sums with a term that is not.
    pub fn may_be_negative_zero(&self, mut node: Node) -> bool {
        let never = |node: Node| match self.nodes[node].kind {
            Kind::Binary(BinaryOp::Mul, a, b) => a == b,
            Kind::Const(value) => value.as_f64() != 0.0 || value.as_f64().is_sign_positive(),
            _ => false,
        };
        while !never(node) {
            match self.nodes[node].kind {
                Kind::Binary(BinaryOp::Add, a, b) if !never(b) => node = a,
                Kind::Binary(BinaryOp::Add, ..) => return false,
                _ => return true,
            }
        }
        false
    }

    /// The children of a node, guards and bounds included.
    pub fn each_child(&self, node: Node, f: &mut dyn FnMut(Node)) {
        self.nodes[node].kind.each_operand(f);
    }

    /// All nodes below these, each once, children first.
    pub fn below(&self, roots: &[Node]) -> Vec<Node> {
        let mut order = Vec::new();
        let mut seen = rustc_hash::FxHashSet::default();
        for root in roots {
            self.visit(*root, &mut seen, &mut order);
        }
        order
    }

    fn visit(&self, node: Node, seen: &mut rustc_hash::FxHashSet<Node>, order: &mut Vec<Node>) {
        if !seen.insert(node) {
            return;
        }
        let mut children = Vec::new();
        self.each_child(node, &mut |child| children.push(child));
        children.into_iter().for_each(|child| self.visit(child, seen, order));
        order.push(node);
    }

    /// The arrays that a definition fills.
    pub fn filled(def: &Def) -> Vec<Arr> {
        match &def.body {
            Body::InPlace(body) => [def.arr].into_iter().chain(body.others.clone()).collect(),
            Body::Until(Until { last, end: End::Asked { .. }, .. }) => vec![def.arr, *last],
            Body::Until(_) => vec![def.arr],
            Body::Again(body) => body.filled(),
            Body::Clauses(..) | Body::Scatter(_) => vec![def.arr],
        }
    }

    /// The index variables that a definition binds outside its values.
    pub fn bound(&self, def: &Def) -> Vec<Ix> {
        fn phase(inner: &Phase, found: &mut Vec<Ix>) {
            found.extend(inner.steps.iter().map(|steps| steps.ix));
            for act in &inner.acts {
                match act {
                    Act::Phase(inner) => phase(inner, found),
                    Act::Write(write) => found.extend(write.loops.iter().map(|it| it.0)),
                }
            }
        }
        let slots = |clauses: &[Clause]| -> Vec<Ix> {
            clauses.iter().flat_map(|clause| clause.slots.iter().map(|slot| slot.ix)).collect()
        };
        match &def.body {
            Body::Clauses(clauses, _) => slots(clauses),
            Body::Until(body) => {
                let mut found = body.around.clone();
                if let End::Asked { ix, .. } = &body.end {
                    found.push(*ix);
                }
                found.extend(slots(&body.clauses));
                found
            }
            Body::Scatter(scatter) => scatter.binders.iter().map(|it| it.0).collect(),
            Body::InPlace(body) => {
                let mut found = Vec::new();
                body.phases.iter().for_each(|inner| phase(inner, &mut found));
                found
            }
            Body::Again(body) => {
                let inner = body.writes().flat_map(|write| write.loops.iter().map(|it| it.0));
                body.around.iter().copied().chain(inner).collect()
            }
        }
    }

    /// The nodes that a definition is made of.
    pub fn roots(&self, def: &Def) -> Vec<Node> {
        let mut roots = Vec::new();
        let in_clauses = |clauses: &[Clause], roots: &mut Vec<Node>| {
            for clause in clauses {
                roots.extend(clause.slots.iter().flat_map(|slot| [slot.lo, slot.hi]));
                roots.extend(clause.guard);
                roots.push(clause.value);
                roots.extend(clause.otherwise);
            }
        };
        match &def.body {
            Body::Clauses(clauses, _) => in_clauses(clauses, &mut roots),
            Body::Until(body) => {
                in_clauses(&body.clauses, &mut roots);
                roots.push(body.end.node());
            }
            Body::Scatter(scatter) => {
                roots.extend(scatter.binders.iter().flat_map(|(_, lo, hi)| [*lo, *hi]));
                roots.extend(scatter.guard);
                roots.extend(&scatter.at);
                roots.push(scatter.value);
            }
            Body::InPlace(body) => {
                body.phases.iter().for_each(|phase| phase_roots(phase, &mut roots));
            }
            Body::Again(body) => roots = body.roots(),
        }
        roots
    }

    /// The loads of an expression: each array with its positions.
    pub fn loads(&self, roots: &[Node]) -> Vec<(Arr, Box<[Node]>)> {
        self.below(roots)
            .into_iter()
            .filter_map(|node| match &self.nodes[node].kind {
                Kind::Load(arr, at) => Some((*arr, at.clone())),
                _ => None,
            })
            .collect()
    }
}
