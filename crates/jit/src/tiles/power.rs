//! Powers of `f64`: `e^(y log x)`, with the logarithm as a pair of doubles because `y` magnifies its
//! error. The coefficients are those of `ein_scalar::math::pow`.

use super::double::{exp_sum, polynomial, split};
use super::pair::Pair;
use ein_scalar::math::{
    self,
    coefficients::{ATANH_TAIL, LN2_HI, LN2_LO},
};

/// 2/3 and 2/5, the first coefficients of `2 atanh(s) / s - 2`, as pairs.
const TWO_THIRDS: Pair = Pair(0.6666666666666666, 3.700743415417188e-17);
const TWO_FIFTHS: Pair = Pair(0.4, -2.2204460492503132e-17);

/// The natural logarithm of a finite `x > 0`.
#[inline(always)]
fn log_pair(x: f64) -> Pair {
    let (k, f) = split(x);
    let below = Pair::ordered(2.0, f);
    let head = f / below.0;
    let rest = (-head).mul_add(below.0, f) - head * below.1;
    let s = Pair::ordered(head, rest / below.0);
    let z = s.times(s);
    let fifth = TWO_FIFTHS.plus(Pair(z.0 * polynomial::<true, 7>(&ATANH_TAIL, z.0), 0.0));
    let third = TWO_THIRDS.plus(z.times(fifth));
    let fraction = Pair(2.0 * s.0, 2.0 * s.1).plus(s.times(z.times(third)));
    Pair(k * LN2_HI, k * LN2_LO).plus(fraction)
}

/// Whether a power is that of the magnitude but for its sign.
#[inline(always)]
fn is_usual(x: f64, y: f64) -> bool {
    let whole = y == y.trunc();
    let magnitude = x.abs();
    (x > 0.0 || whole) && magnitude > 0.0 && magnitude < f64::INFINITY && y.abs() < 1e15
}

/// Powers of finite numbers with exponents of ordinary size; the others as they are defined.
#[inline(always)]
pub(super) fn pow<const F: bool, const N: usize>(a: &[f64; N], b: &[f64; N], to: &mut [f64; N]) {
    let mut special = u64::from(!F);
    if F {
        for ((to, x), y) in to.iter_mut().zip(a).zip(b) {
            let log = log_pair(x.abs());
            let Pair(head, tail) = Pair::product(*y, log.0);
            let power = exp_sum::<F>(head, y.mul_add(log.1, tail));
            let half = 0.5 * y;
            let odd = *x < 0.0 && half != half.trunc();
            *to = if odd { -power } else { power };
            special |= u64::from(!is_usual(*x, *y));
        }
    }
    if special != 0 {
        for ((to, x), y) in to.iter_mut().zip(a).zip(b) {
            if !F || !is_usual(*x, *y) {
                *to = math::pow(*x, *y);
            }
        }
    }
}
