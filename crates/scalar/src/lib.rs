//! Scalars: the thirteen element types, their values, and what every operation and elementary
//! function means, to the bit.
//!
//! Whatever computes with scalars (constant folding, the oracle, the code generators) takes the
//! meaning from here, so that all agree on every machine:
//!
//! * [`ScalarType`], [`Scalar`]: types and values; [`cast`]: the language's `as`.
//! * [`BinaryOp`], [`UnaryOp`], [`apply_binary`], [`apply_unary`]: the operations.
//! * [`IntSum`], [`IntProd`], [`FloatSum`]: reductions with a defined order and no lost bits.
//! * [`math`]: the elementary functions.
//! * [`parse_int`], [`parse_float`], [`display`], [`format()`], [`format_str`]: text in and out.
//!
//! Does not know: anything else of ours.

#![forbid(unsafe_code)]

mod apply;
mod cast;
mod display;
mod format;
mod literal;
pub mod math;
mod op;
mod reduce;
mod round;
mod scalar;
mod scalar_type;

pub use apply::{ArithError, Overflow, apply_binary, apply_unary};
pub use cast::cast;
pub use display::display;
pub use format::{Align, Spec, format, format_str};
pub use half::{bf16, f16};
pub use literal::{parse_float, parse_int};
pub use op::{BinaryOp, UnaryOp, UnknownOp};
pub use reduce::{FloatSum, IntProd, IntSum};
pub use scalar::Scalar;
pub use scalar_type::ScalarType;
