//! Elementary functions on tiles: precompiled, with the widest vectors that the machine has.
//!
//! Each function is written once for one element, without branches, and is compiled several times
//! for different machines. The tile may be worked on in place.

mod angle;
mod arcs;
mod double;
mod hyperbolic;
mod pair;
mod power;
mod single;

use ein_ir::target::Vectors;
use ein_scalar::{BinaryOp, UnaryOp};

/// A function on tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TileFn {
    /// `(from, to, count)`.
    Unary(UnaryOp),
    /// `(a, b, to, count)`.
    Binary(BinaryOp),
}

/// How many elements are worked on at a time.
const BLOCK: usize = 64;

/// And at the end of a tile, which is filled up to it.
const SHORT: usize = 16;

/// Applies a function to the elements of tiles, block by block; both functions are the same one, for
/// blocks of two lengths.
///
/// # Safety
///
/// There are `count` elements at each place of `from` and room for as many at `to`, which is one of
/// these places or does not overlap them.
#[inline(always)]
unsafe fn by_blocks<T: Copy + Default, const N: usize>(
    from: [*const T; N],
    to: *mut T,
    count: i64,
    long: impl Fn(&[[T; BLOCK]; N], &mut [T; BLOCK]),
    short: impl Fn(&[[T; SHORT]; N], &mut [T; SHORT]),
) {
    let count = usize::try_from(count).unwrap_or(0);
    let mut done = 0;
    while count - done >= BLOCK {
        // SAFETY: as many elements are left, by the contract of this function.
        unsafe { block(from.map(|it| it.add(done)), to.add(done), BLOCK, &long) };
        done += BLOCK;
    }
    while done < count {
        let part = SHORT.min(count - done);
        // SAFETY: as above.
        unsafe { block(from.map(|it| it.add(done)), to.add(done), part, &short) };
        done += part;
    }
}

/// Applies a function to a block, or the beginning of one.
#[inline(always)]
unsafe fn block<T: Copy + Default, const N: usize, const LEN: usize>(
    from: [*const T; N],
    to: *mut T,
    part: usize,
    f: impl Fn(&[[T; LEN]; N], &mut [T; LEN]),
) {
    let (mut input, mut output) = ([[T::default(); LEN]; N], [T::default(); LEN]);
    for (from, input) in from.iter().zip(&mut input) {
        // SAFETY: the caller vouches for the places.
        unsafe {
            if part < LEN {
                // With one of the elements, so that none is more special than they are.
                *input = [**from; LEN];
            }
            copy(*from, input.as_mut_ptr(), part, LEN);
        }
    }
    f(&input, &mut output);
    // SAFETY: as above.
    unsafe { copy(output.as_ptr(), to, part, LEN) };
}

/// Copies the elements of a block, or the beginning of one.
#[inline(always)]
unsafe fn copy<T>(from: *const T, to: *mut T, count: usize, whole: usize) {
    // SAFETY: the caller vouches for the places.
    unsafe {
        if count == whole {
            // Of a known length: a few moves.
            std::ptr::copy_nonoverlapping(from, to, whole);
        } else {
            std::ptr::copy_nonoverlapping(from, to, count);
        }
    }
}

/// One version of a function, with or without a fused multiply-add.
macro_rules! version {
    ($(#[$features:meta])* $name:ident, $fused:expr, $float:ident, [$($x:ident),+], $module:ident::$f:ident) => {
        $(#[$features])*
        unsafe extern "C" fn $name($($x: *const $float,)+ to: *mut $float, count: i64) {
            // SAFETY: the contract is the caller's.
            unsafe {
                by_blocks(
                    [$($x),+],
                    to,
                    count,
                    |[$($x),+], to| $module::$f::<{ $fused }, _>($($x,)+ to),
                    |[$($x),+], to| $module::$f::<{ $fused }, _>($($x,)+ to),
                )
            }
        }
    };
}

/// The version of a function for some vectors.
macro_rules! fastest {
    ($vectors:ident, $float:ident, $args:tt, $module:ident::$f:ident) => {{
        version!(
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
            widest,
            true,
            $float,
            $args,
            $module::$f
        );
        version!(
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            wide,
            true,
            $float,
            $args,
            $module::$f
        );
        version!(plain, FUSED, $float, $args, $module::$f);
        #[cfg(target_arch = "x86_64")]
        match $vectors {
            Vectors::Bits512 => widest as *const () as usize,
            Vectors::Bits256 => wide as *const () as usize,
            Vectors::Bits128 => plain as *const () as usize,
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = $vectors;
        #[cfg(not(target_arch = "x86_64"))]
        (plain as *const () as usize)
    }};
}

/// The version of a function of one argument for some vectors.
macro_rules! unary {
    ($vectors:ident, $float:ident, $module:ident::$f:ident) => {
        fastest!($vectors, $float, [x], $module::$f)
    };
}

/// The version of a function of two arguments for some vectors.
macro_rules! binary {
    ($vectors:ident, $float:ident, $module:ident::$f:ident) => {
        fastest!($vectors, $float, [a, b], $module::$f)
    };
}

/// Whether every machine of this architecture has a fused multiply-add.
const FUSED: bool = cfg!(target_arch = "aarch64");

/// The address of a function for some vectors, on tiles of `f64` or `f32`.
pub(crate) fn address(vectors: Vectors, function: TileFn, double: bool) -> usize {
    match (function, double) {
        (TileFn::Unary(op), false) => unary_single(vectors, op),
        (TileFn::Unary(op), true) => unary_double(vectors, op),
        (TileFn::Binary(BinaryOp::Pow), false) => binary!(vectors, f32, single::pow),
        (TileFn::Binary(BinaryOp::Pow), true) => binary!(vectors, f64, power::pow),
        (TileFn::Binary(_), false) => binary!(vectors, f32, arcs::atan2),
        (TileFn::Binary(_), true) => binary!(vectors, f64, angle::atan2),
    }
}

fn unary_single(vectors: Vectors, op: UnaryOp) -> usize {
    match op {
        UnaryOp::Exp => unary!(vectors, f32, single::exp),
        UnaryOp::Expm1 => unary!(vectors, f32, single::expm1),
        UnaryOp::Exp2 => unary!(vectors, f32, single::exp2),
        UnaryOp::Log => unary!(vectors, f32, single::log),
        UnaryOp::Log1p => unary!(vectors, f32, single::log1p),
        UnaryOp::Log2 => unary!(vectors, f32, single::log2),
        UnaryOp::Log10 => unary!(vectors, f32, single::log10),
        UnaryOp::Sin => unary!(vectors, f32, single::sin),
        UnaryOp::Cos => unary!(vectors, f32, single::cos),
        UnaryOp::Tan => unary!(vectors, f32, single::tan),
        UnaryOp::Tanh => unary!(vectors, f32, single::tanh),
        UnaryOp::Sinh => unary!(vectors, f32, single::sinh),
        UnaryOp::Cosh => unary!(vectors, f32, single::cosh),
        UnaryOp::Asin => unary!(vectors, f32, arcs::asin),
        UnaryOp::Acos => unary!(vectors, f32, arcs::acos),
        UnaryOp::Atan => unary!(vectors, f32, arcs::atan),
        UnaryOp::Asinh => unary!(vectors, f32, arcs::asinh),
        UnaryOp::Acosh => unary!(vectors, f32, arcs::acosh),
        UnaryOp::Atanh => unary!(vectors, f32, arcs::atanh),
        UnaryOp::Erf => unary!(vectors, f32, single::erf),
        op => unreachable!("{op} is an instruction"),
    }
}

fn unary_double(vectors: Vectors, op: UnaryOp) -> usize {
    match op {
        UnaryOp::Exp => unary!(vectors, f64, double::exp),
        UnaryOp::Log => unary!(vectors, f64, double::log),
        UnaryOp::Tanh => unary!(vectors, f64, double::tanh),
        UnaryOp::Sin => unary!(vectors, f64, double::sin),
        UnaryOp::Cos => unary!(vectors, f64, double::cos),
        UnaryOp::Expm1 => unary!(vectors, f64, hyperbolic::expm1),
        UnaryOp::Exp2 => unary!(vectors, f64, hyperbolic::exp2),
        UnaryOp::Log1p => unary!(vectors, f64, double::log1p),
        UnaryOp::Log2 => unary!(vectors, f64, hyperbolic::log2),
        UnaryOp::Log10 => unary!(vectors, f64, hyperbolic::log10),
        UnaryOp::Tan => unary!(vectors, f64, double::tan),
        UnaryOp::Sinh => unary!(vectors, f64, hyperbolic::sinh),
        UnaryOp::Cosh => unary!(vectors, f64, double::cosh),
        UnaryOp::Asin => unary!(vectors, f64, angle::asin),
        UnaryOp::Acos => unary!(vectors, f64, angle::acos),
        UnaryOp::Atan => unary!(vectors, f64, angle::atan),
        UnaryOp::Asinh => unary!(vectors, f64, hyperbolic::asinh),
        UnaryOp::Acosh => unary!(vectors, f64, hyperbolic::acosh),
        UnaryOp::Atanh => unary!(vectors, f64, hyperbolic::atanh),
        UnaryOp::Erf => unary!(vectors, f64, double::erf),
        op => unreachable!("{op} is an instruction"),
    }
}

/// The address of what fills a tile with one value: `(to, value, count)`.
pub(crate) fn fill(double: bool) -> usize {
    unsafe extern "C" fn long(to: *mut f64, value: f64, count: i64) {
        for n in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: the caller vouches for the room.
            unsafe { *to.add(n) = value };
        }
    }
    unsafe extern "C" fn short(to: *mut f32, value: f32, count: i64) {
        for n in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: the caller vouches for the room.
            unsafe { *to.add(n) = value };
        }
    }
    if double { long as *const () as usize } else { short as *const () as usize }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ein_scalar::math;

    /// The function that a block is compared with.
    type Exact = fn(f64) -> f64;

    /// The versions for machines without a fused multiply-add, which this one may not run.
    #[test]
    fn plain_singles() {
        type Block = fn(&[f32; BLOCK], &mut [f32; BLOCK]);
        let functions: [(&str, Block, Exact); 20] = [
            ("asin", arcs::asin::<false, BLOCK>, math::asin),
            ("acos", arcs::acos::<false, BLOCK>, math::acos),
            ("atan", arcs::atan::<false, BLOCK>, math::atan),
            ("asinh", arcs::asinh::<false, BLOCK>, math::asinh),
            ("acosh", arcs::acosh::<false, BLOCK>, math::acosh),
            ("atanh", arcs::atanh::<false, BLOCK>, math::atanh),
            ("exp", single::exp::<false, BLOCK>, math::exp),
            ("expm1", single::expm1::<false, BLOCK>, math::expm1),
            ("exp2", single::exp2::<false, BLOCK>, math::exp2),
            ("log", single::log::<false, BLOCK>, math::log),
            ("log1p", single::log1p::<false, BLOCK>, math::log1p),
            ("log2", single::log2::<false, BLOCK>, math::log2),
            ("log10", single::log10::<false, BLOCK>, math::log10),
            ("sin", single::sin::<false, BLOCK>, math::sin),
            ("cos", single::cos::<false, BLOCK>, math::cos),
            ("tan", single::tan::<false, BLOCK>, math::tan),
            ("tanh", single::tanh::<false, BLOCK>, math::tanh),
            ("sinh", single::sinh::<false, BLOCK>, math::sinh),
            ("cosh", single::cosh::<false, BLOCK>, math::cosh),
            ("erf", single::erf::<false, BLOCK>, math::erf),
        ];
        for (name, f, exact) in functions {
            for block in 0..3000u32 {
                let from: [f32; BLOCK] = std::array::from_fn(|n| {
                    let n = block * BLOCK as u32 + n as u32;
                    if n.is_multiple_of(2) {
                        f32::from_bits(n.wrapping_mul(2_654_435_761))
                    } else if n.is_multiple_of(3) {
                        n as f32 / 96_000.0 - 1.0
                    } else {
                        n as f32 * 0.0007 - 60.0
                    }
                });
                let mut to = [0.0; BLOCK];
                f(&from, &mut to);
                for (x, y) in from.into_iter().zip(to) {
                    let expected = exact(f64::from(x));
                    let (near, y64) = (expected as f32, f64::from(y));
                    let unit = f64::from(near.abs().max(f32::MIN_POSITIVE)) * 2f64.powi(-23);
                    let close = y.to_bits() == near.to_bits()
                        || y.is_nan() && near.is_nan()
                        || (y64 - expected).abs() <= 2.0 * unit;
                    assert!(close, "{name}({x:e}) is {y:e}, not {near:e}");
                }
            }
        }
    }

    #[test]
    fn plain_doubles() {
        type Block = fn(&[f64; BLOCK], &mut [f64; BLOCK]);
        let functions: [(&str, Block, Exact); 24] = [
            ("expm1", hyperbolic::expm1::<true, BLOCK>, math::expm1),
            ("exp2", hyperbolic::exp2::<true, BLOCK>, math::exp2),
            ("log2", hyperbolic::log2::<true, BLOCK>, math::log2),
            ("log10", hyperbolic::log10::<true, BLOCK>, math::log10),
            ("sinh", hyperbolic::sinh::<true, BLOCK>, math::sinh),
            ("asinh", hyperbolic::asinh::<true, BLOCK>, math::asinh),
            ("acosh", hyperbolic::acosh::<true, BLOCK>, math::acosh),
            ("atanh", hyperbolic::atanh::<true, BLOCK>, math::atanh),
            ("asin", angle::asin::<true, BLOCK>, math::asin),
            ("acos", angle::acos::<true, BLOCK>, math::acos),
            ("erf", double::erf::<false, BLOCK>, math::erf),
            ("erf", double::erf::<true, BLOCK>, math::erf),
            ("cosh", double::cosh::<false, BLOCK>, math::cosh),
            ("cosh", double::cosh::<true, BLOCK>, math::cosh),
            ("tan", double::tan::<false, BLOCK>, math::tan),
            ("tan", double::tan::<true, BLOCK>, math::tan),
            ("atan", angle::atan::<false, BLOCK>, math::atan),
            ("log1p", double::log1p::<false, BLOCK>, math::log1p),
            ("log1p", double::log1p::<true, BLOCK>, math::log1p),
            ("exp", double::exp::<false, BLOCK>, math::exp),
            ("log", double::log::<false, BLOCK>, math::log),
            ("tanh", double::tanh::<false, BLOCK>, math::tanh),
            ("sin", double::sin::<false, BLOCK>, math::sin),
            ("cos", double::cos::<false, BLOCK>, math::cos),
        ];
        for (name, f, exact) in functions {
            for block in 0..3000u64 {
                let from: [f64; BLOCK] = std::array::from_fn(|n| {
                    let n = block * BLOCK as u64 + n as u64;
                    if n.is_multiple_of(2) {
                        f64::from_bits(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
                    } else if n.is_multiple_of(3) {
                        n as f64 / 96_000.0 - 1.0
                    } else {
                        n as f64 * 0.0007 - 60.0
                    }
                });
                let mut to = [0.0; BLOCK];
                f(&from, &mut to);
                for (x, y) in from.into_iter().zip(to) {
                    let expected = exact(x);
                    let close = y.is_nan() && expected.is_nan()
                        || y.to_bits().abs_diff(expected.to_bits()) <= 2;
                    assert!(close, "{name}({x:e}) is {y:e}, not {expected:e}");
                }
            }
        }
    }

    #[test]
    fn angles_of_singles() {
        let special = [0.0, -0.0, 1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-45, -1e38];
        for block in 0..1000usize {
            let number = |n: usize| match (block * BLOCK + n) % 3 {
                0 => special[(block + n * 5) % 8],
                1 => special[(block / 8 + n) % 8],
                _ => f32::from_bits(((block * BLOCK + n) as u32).wrapping_mul(2_654_435_761)),
            };
            let x: [f32; BLOCK] = std::array::from_fn(number);
            let y: [f32; BLOCK] = std::array::from_fn(|n| number(n * 7 + block));
            let mut to = [0.0; BLOCK];
            arcs::atan2::<false, BLOCK>(&y, &x, &mut to);
            for ((y, x), result) in y.into_iter().zip(x).zip(to) {
                let expected = math::single::atan2(y, x);
                let close = result.is_nan() && expected.is_nan()
                    || result.to_bits().abs_diff(expected.to_bits()) <= 2;
                assert!(close, "atan2({y:e}, {x:e}) is {result:e}, not {expected:e}");
            }
        }
    }

    #[test]
    fn powers_and_angles() {
        type Block = fn(&[f64; BLOCK], &[f64; BLOCK], &mut [f64; BLOCK]);
        type Exact = fn(f64, f64) -> f64;
        let special = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324];
        let functions: [(&str, Block, Exact); 4] = [
            ("pow", power::pow::<false, BLOCK>, math::pow),
            ("pow", power::pow::<true, BLOCK>, math::pow),
            ("atan2", angle::atan2::<false, BLOCK>, math::atan2),
            ("atan2", angle::atan2::<true, BLOCK>, math::atan2),
        ];
        for block in 0..3000usize {
            let number = |n: usize| (n.wrapping_mul(2_654_435_761) % 20_011) as f64 / 997.0 - 10.0;
            let at = |n: usize| block * BLOCK + n;
            let x: [f64; BLOCK] = std::array::from_fn(|n| match at(n) % 5 {
                0 => special[at(n) / 5 % 8],
                1 => number(at(n)).exp2().powi(90),
                _ => number(at(n)),
            });
            let y: [f64; BLOCK] = std::array::from_fn(|n| match at(n) % 7 {
                0 => special[at(n) / 7 % 8],
                1 | 2 => number(at(n) + 1),
                _ => (number(at(n) + 2) * 4.0).round(),
            });
            for (name, f, exact) in functions {
                let mut to = [0.0; BLOCK];
                f(&x, &y, &mut to);
                for ((x, y), result) in x.into_iter().zip(y).zip(to) {
                    let expected = exact(x, y);
                    let close = result.is_nan() && expected.is_nan()
                        || result.to_bits().abs_diff(expected.to_bits()) <= 2;
                    assert!(close, "{name}({x:e}, {y:e}) is {result:e}, not {expected:e}");
                }
            }
        }
    }
}
