//! Coefficients of functions that engines compute many at a time, in code that is not that of this crate:
//! the tiles of the JIT and the C of native code take them from here.

pub use super::exp::{EXP, LN2_HI, LN2_LO};
pub use super::inverse_trig::{ASIN, ATAN};
pub use super::log::LOG;
pub use super::pow::TAIL as ATANH_TAIL;
pub use super::trig::{COS, SIN};

/// `erf(x) / x - 1`, a polynomial in `x^2`, for |x| <= 15/16.
pub const ERF_NEAR: [f64; 12] = [
    0.12837916709551256,
    -0.376126389031837,
    0.11283791670952198,
    -0.026866170644508157,
    0.005223977618583903,
    -0.0008548326577474217,
    0.00012055314563830252,
    -1.4925148308491612e-05,
    1.645294611968375e-06,
    -1.625443618410487e-07,
    1.3935959482578172e-08,
    -8.233551170498576e-10,
];

/// `e^(x^2) erfc(x)`, a polynomial in `t = (x - 5/2) / (x + 5/2)`, from 15/16 to 6.
pub const ERF_FAR: [f64; 15] = [
    0.2108063640611436,
    -0.3717367339489733,
    0.25171319321744984,
    -0.12503305237886875,
    0.03992253907536028,
    -0.003993701162478524,
    -0.002642365948272913,
    0.0008759153357782583,
    0.00022837991031159706,
    -0.00012887530926314762,
    -3.417534249105514e-05,
    1.859901852815325e-05,
    7.498553342078754e-06,
    -2.2369996516285705e-06,
    -1.5864735995305071e-06,
];

/// The coefficients of this name, a number alone as one of them; for code that is written as text.
pub fn table(name: &str) -> Option<&'static [f64]> {
    Some(match name {
        "EXP" => &EXP,
        "LN2_HI" => &[LN2_HI],
        "LN2_LO" => &[LN2_LO],
        "LOG" => &LOG,
        "ASIN" => &ASIN,
        "ATAN" => &ATAN,
        "ATANH_TAIL" => &ATANH_TAIL,
        "SIN" => &SIN,
        "COS" => &COS,
        "ERF_NEAR" => &ERF_NEAR,
        "ERF_FAR" => &ERF_FAR,
        _ => return None,
    })
}
