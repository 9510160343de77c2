//! Symbolic integers: the normal form of sizes and index expressions, and the solver that decides
//! questions about them.
//!
//! Before:  facts `0 <= h`, `h < H`, `0 <= d`, `d < D`, and the goal `h * D + d < H * D`
//! After:   `Truth::Proved`; or `Refuted` with a checked witness; or `Unknown`
//!
//! * [`Expr`] is a polynomial with integer coefficients over [`Atom`]s, in which `min`, `max` and
//!   integer division are opaque factors whose operands are expressions again.
//! * [`Facts`] is what is known. [`prove_ge0`] and its kin answer by intervals, then by products of
//!   facts for the nonlinear terms, then by the Omega test on what is left.
//! * [`solve_range`] inverts an index expression; [`always_violated`] finds the point at which a read
//!   goes wrong for every size; [`overlap`] and [`covers`] compare the regions of clauses.
//!
//! Sound: `Proved` is never wrong and a witness is evaluated before it is handed out. A division is
//! spoken about only where it is defined. Deterministic: nothing depends on hashing or on time.
//! Bounded: every query has a [`Budget`] of elementary steps, and every expression a limit on its
//! weight; beyond either the answer is `Unknown`.

mod build;
mod compute;
mod corner;
mod display;
mod divide;
mod expr;
mod facts;
mod interval;
mod omega;
mod order;
mod products;
mod prove;
mod range;
mod region;
mod row;
mod search;
mod system;
mod text;

pub use compute::Operation;
pub use corner::{Corner, always_violated};
pub use divide::gcd;
pub use expr::Expr;
pub use facts::{Budget, Facts, Truth, Witness};
pub use prove::{
    is_empty, prove_eq, prove_ge0, prove_ge0_within, prove_le, prove_lt, prove_ne, simplify,
};
pub use range::solve_range;
pub use region::{Coverage, Overlap, covers, overlap, overlap_along};

ein_base::id!(
    /// A symbolic integer: an index variable or the name of a size. The client chooses the number.
    Atom,
    "a"
);
