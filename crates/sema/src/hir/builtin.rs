//! What is there without being defined.

use super::{ArrayOp, IoOp, PlainOp, ReduceOp};
use ein_base::Symbol;
use ein_scalar::{BinaryOp as ScalarBinary, UnaryOp as ScalarUnary};

/// What is there without being defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names of the language")]
pub enum Builtin {
    Print,
    Assert,
    Len,
    Shape,
    Typeof,
    ArrayAppend,
    /// `input()`
    Input,
    /// A reduction called with whole arrays: `sum(a)`, `max(x, y)`.
    Reduction(ReduceOp),
    Rerank,
    Reduce,
    Scan,
    Append,
    Rotate,
    Reverse,
    Reshape,
    Filter,
    Iota,
    First,
    Last,
    Rest,
    Init,
    Take,
    Drop,
    Join,
    Blocks,
    Unblocks,
    /// `einsum("ij,jk->ik", (a, b))`, known to the library only.
    Einsum,
    /// The sum of all numbers of a value, of the parts of structs and tuples too.
    Total,
    Jvp,
    Vjp,
    Hessian,
    /// `std::intrinsics::sqrt` and the like: one scalar.
    Unary(ScalarUnary),
    /// `std::intrinsics::atan2` and the like: two scalars.
    Binary(ScalarBinary),
    /// `std::intrinsics::load_npy` and the like.
    Io(IoOp),
    /// `std::intrinsics::text_codes` and the like.
    Plain(PlainOp),
    /// `std::intrinsics::by_lu` and the like: what of the host computes the function it stands in.
    By(ArrayOp),
    /// A function of Python by its path: `numpy.linalg.norm`.
    Python(Symbol),
}

impl Builtin {
    /// Whether it works along coordinates that a bracket names: `first[c](x)`.
    pub fn takes_coordinates(self) -> bool {
        matches!(
            self,
            Builtin::First
                | Builtin::Last
                | Builtin::Rest
                | Builtin::Init
                | Builtin::Take
                | Builtin::Drop
                | Builtin::Join
        )
    }
}
