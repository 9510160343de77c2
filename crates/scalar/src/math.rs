//! The elementary functions, written once so that every engine computes the same bits.
//!
//! The functions here are for `f64`, those of [`single`] for `f32`; `f16` and `bf16` take the
//! latter and round its result. Nothing calls the platform's mathematical library: only `+ - * /`,
//! square roots, comparisons, and the bits of a double are used, without fused multiply-add, so a
//! machine has no room to differ. Each function is a range reduction and a polynomial, with few and
//! simple branches, so that it can be spelled out in loop IR.
//!
//! **The budget** is 2 ulp, over all arguments. In `f64` each function aims below 1 ulp: the
//! final addition costs 0.5, and what it adds is kept as a head and a tail (a pair of doubles whose
//! sum is the value) wherever a single rounding before it would be felt; the polynomials are good
//! to 2^-56 or better. [`powi`] and [`pow`] carry the logarithm to 2^-66, since the exponent
//! magnifies its error. In `f32` the work is done in `f64`, so all but the rarest results are
//! correctly rounded. `tests/ulp.rs` holds every function to its share against values computed at
//! high precision, and prints the worst error found with `--nocapture`.
//!
//! Every function returns NaN for NaN (but `pow(1, NaN)` and `pow(NaN, 0)` are 1, as in IEEE 754),
//! keeps the sign of zero where it is odd, and treats infinities as limits.

pub mod coefficients;
mod exp;
mod hyperbolic;
mod inverse_trig;
mod log;
mod pair;
mod pow;
pub mod single;
mod special;
mod trig;

pub use exp::{exp, exp2, expm1};
pub use hyperbolic::{acosh, asinh, atanh, cosh, sinh, tanh};
pub use inverse_trig::{acos, asin, atan, atan2};
pub use log::{log, log1p, log2, log10};
pub use pow::{pow, powi};
pub use special::erf;
pub use trig::{cos, sin, tan};

/// `1 / sqrt(x)`: two roundings.
pub fn rsqrt(x: f64) -> f64 {
    1.0 / x.sqrt()
}

/// `c[0] + c[1] x + c[2] x^2 + …` by Horner's rule, from the last coefficient.
fn polynomial<const N: usize>(coefficients: &[f64; N], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}
