//! What runs over index variables: definitions with their clauses, reductions and accumulations.

use super::{Expr, IndexArg, Require, VarId};
use crate::size;
use ein_base::{Span, Symbol};

/// An indexed definition.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Its name in the source.
    pub name: Option<Symbol>,
    /// What its own clauses read it by, in a recurrence.
    pub self_var: Option<VarId>,
    /// The extents of the declared axes: `None` where only the domains of the clauses tell.
    pub shape: Vec<Option<size::Expr>>,
    /// How many of the axes come from array-valued bodies.
    pub inner_rank: usize,
    /// The clauses; where several define a point the last one counts.
    pub clauses: Vec<Clause>,
    /// How to run it, if it reads itself.
    pub recurrence: Option<Box<Recurrence>>,
    /// Sizes to be compared before anything is computed.
    pub requires: Vec<Require>,
}

/// The order of a recurrence.
#[derive(Clone, Debug)]
pub struct Recurrence {
    /// The axes along which points depend on each other, outermost first.
    pub axes: Vec<RecurrenceAxis>,
    /// The deepest self-read along the first of these axes, if every one is at a constant distance.
    pub lookback: Option<u32>,
    /// Whether reverse mode has made it: what flows back through steps. Engines may take its
    /// subnormal numbers for zeros.
    pub adjoint: bool,
}

/// One axis of a recurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecurrenceAxis {
    /// The axis.
    pub axis: usize,
    /// Whether it runs downward.
    pub backward: bool,
}

/// One clause.
#[derive(Clone, Debug)]
pub struct Clause {
    /// The slots, one per declared axis.
    pub slots: Vec<ClauseSlot>,
    /// Bindings and guards, in order.
    pub items: Vec<Item>,
    /// The value; an array if the definition has inner axes.
    pub value: Expr,
    /// The value where a guard fails. If absent, an earlier clause counts there, or zero where
    /// there is none; once `guards` has run, none of an earlier clause is left to count.
    pub otherwise: Option<Expr>,
    /// Where it stands.
    pub span: Span,
}

impl Clause {
    /// Its indices, by axis.
    pub fn indices(&self) -> impl Iterator<Item = (usize, &Binder)> {
        self.slots.iter().enumerate().filter_map(|(axis, slot)| match slot {
            ClauseSlot::Loop(binder) => Some((axis, binder)),
            ClauseSlot::Point(_) => None,
        })
    }
}

/// A slot on the left of a clause.
#[derive(Clone, Debug)]
pub enum ClauseSlot {
    /// A literal point.
    Point(i64),
    /// A loop.
    Loop(Binder),
}

/// An index variable with its domain.
#[derive(Clone, Debug)]
pub struct Binder {
    /// The variable, an `i32`.
    pub var: VarId,
    /// The first value, an integer expression over what is bound before.
    pub lo: Expr,
    /// One past the last value.
    pub hi: Expr,
}

/// A binding or a guard.
#[derive(Clone, Debug)]
pub enum Item {
    /// Binds a variable.
    Let(VarId, Expr),
    /// Skips the point unless it holds.
    Guard(Expr),
}

/// A reduction.
#[derive(Clone, Debug)]
pub struct Reduce {
    /// The operation.
    pub op: ReduceOp,
    /// The indices, outermost first; the domain of one may mention those before it.
    pub binders: Vec<Binder>,
    /// Bindings and guards inside.
    pub items: Vec<Item>,
    /// What is reduced, a scalar.
    pub value: Expr,
    /// Sizes to be compared before anything is computed.
    pub requires: Vec<Require>,
}

/// An accumulation: zeros of `shape`, then, for every point of the binders in lexicographic order
/// whose guards hold, `out[indices] += value`, in the element type and in that order.
#[derive(Clone, Debug)]
pub struct Scatter {
    /// The extents of the result, one per axis.
    pub shape: Vec<size::Expr>,
    /// The points, outermost index first; the domain of one may mention those before it.
    pub binders: Vec<Binder>,
    /// Bindings and guards inside.
    pub items: Vec<Item>,
    /// The cell of a point, one index per axis.
    pub indices: Vec<IndexArg>,
    /// What is added, a number.
    pub value: Expr,
}

/// The reductions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names of the language")]
pub enum ReduceOp {
    Sum,
    Prod,
    Max,
    Min,
    Mean,
    Any,
    All,
    Argmax,
    Argmin,
    Count,
}

impl ReduceOp {
    /// Every reduction.
    pub const ALL: [ReduceOp; 10] = [
        ReduceOp::Sum,
        ReduceOp::Prod,
        ReduceOp::Max,
        ReduceOp::Min,
        ReduceOp::Mean,
        ReduceOp::Any,
        ReduceOp::All,
        ReduceOp::Argmax,
        ReduceOp::Argmin,
        ReduceOp::Count,
    ];

    /// Its name in the language.
    pub fn as_str(self) -> &'static str {
        match self {
            ReduceOp::Sum => "sum",
            ReduceOp::Prod => "prod",
            ReduceOp::Max => "max",
            ReduceOp::Min => "min",
            ReduceOp::Mean => "mean",
            ReduceOp::Any => "any",
            ReduceOp::All => "all",
            ReduceOp::Argmax => "argmax",
            ReduceOp::Argmin => "argmin",
            ReduceOp::Count => "count",
        }
    }
}
