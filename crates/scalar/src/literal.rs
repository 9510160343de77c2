//! Numbers in source text and in files, read exactly at the precision they are for.

use std::cmp::Ordering;

use crate::{Scalar, ScalarType};

/// Reads an integer literal (`42`, `-7`, `1_000`, `0xff`, `0o17`, `0b1010`) of any size up to
/// 127 bits; `None` if it is not one or is larger.
pub fn parse_int(text: &str) -> Option<i128> {
    let (negative, magnitude) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (radix, digits) = match magnitude.get(..2) {
        Some("0x" | "0X") => (16, &magnitude[2..]),
        Some("0b" | "0B") => (2, &magnitude[2..]),
        Some("0o" | "0O") => (8, &magnitude[2..]),
        _ => (10, magnitude),
    };
    let digits: String = digits.chars().filter(|c| *c != '_').collect();
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let value = i128::from_str_radix(&digits, radix).ok()?;
    Some(if negative { -value } else { value })
}

/// Reads a decimal number (`3.14`, `1e-5`, `1_000.5`, `inf`, `nan`) as a float of type `ty`,
/// rounded to nearest once; `None` if it is not a number or `ty` is not a float type.
pub fn parse_float(text: &str, ty: ScalarType) -> Option<Scalar> {
    let text: String = text.chars().filter(|c| *c != '_').collect();
    match ty {
        ScalarType::F64 => text.parse().ok().map(Scalar::F64),
        ScalarType::F32 => text.parse().ok().map(Scalar::F32),
        ScalarType::F16 | ScalarType::BF16 => {
            let near: f64 = text.parse().ok()?;
            let (below, above) = (near.next_down(), near.next_up());
            // Only where its neighbours round apart does it matter on which side the text lies.
            if !near.is_finite() || Scalar::from_f64(below, ty) == Scalar::from_f64(above, ty) {
                return Scalar::from_f64(near, ty);
            }
            match compare(&text, near) {
                Ordering::Less => Scalar::from_f64(below, ty),
                Ordering::Equal => Scalar::from_f64(near, ty),
                Ordering::Greater => Scalar::from_f64(above, ty),
            }
        }
        ScalarType::Bool => None,
        ScalarType::I8 | ScalarType::I16 | ScalarType::I32 | ScalarType::I64 => None,
        ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => None,
    }
}

/// How the number that `text` writes compares with `value`, the finite double nearest to it.
fn compare(text: &str, value: f64) -> Ordering {
    // A double has no more than 1074 digits after the point, and Rust prints them all.
    let (negative, magnitude) = Decimal::read(text);
    let (_, exact) = Decimal::read(&format!("{:.1074}", value.abs()));
    let order = magnitude.cmp(&exact);
    if negative { order.reverse() } else { order }
}

/// `0.digits * 10^exponent` without zeros at either end; zero has no digits.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Decimal {
    exponent: i64,
    digits: Vec<u8>,
}

impl Decimal {
    /// The sign and magnitude of a decimal number that is known to be well formed.
    fn read(text: &str) -> (bool, Decimal) {
        let negative = text.starts_with('-');
        let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        // An exponent beyond i64 only occurs with a value of zero or infinity.
        let mut exponent: i64 = power.parse::<i64>().unwrap_or(0).clamp(-1 << 40, 1 << 40);
        let mut digits = Vec::new();
        let mut point = false;
        for c in mantissa.bytes() {
            match c {
                b'.' => point = true,
                b'0'..=b'9' => {
                    let leading_zero = digits.is_empty() && c == b'0';
                    exponent += match (point, leading_zero) {
                        (false, false) => 1,
                        (true, true) => -1,
                        (false, true) | (true, false) => 0,
                    };
                    if !leading_zero {
                        digits.push(c);
                    }
                }
                _ => {}
            }
        }
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        if digits.is_empty() {
            exponent = i64::MIN;
        }
        (negative, Decimal { exponent, digits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        assert_eq!(parse_int("1_000_000"), Some(1_000_000));
        assert_eq!(parse_int("0xff"), Some(255));
        assert_eq!(parse_int("-0b1010"), Some(-10));
        assert_eq!(parse_int("9223372036854775808"), Some(1 << 63));
        for bad in ["", "-", "0x", "1.0", "+-1", "--1", "1e3", "é"] {
            assert_eq!(parse_int(bad), None, "{bad}");
        }
    }

    #[test]
    fn halves_round_once() {
        // The midpoint of 1 and the next f16, a hair above and below it.
        let tie = "1.00048828125";
        let one = half::f16::ONE;
        let next = half::f16::from_bits(one.to_bits() + 1);
        let read = |text: &str| parse_float(text, ScalarType::F16);
        assert_eq!(read(tie), Some(Scalar::F16(one)));
        assert_eq!(read(&format!("{tie}{}1", "0".repeat(60))), Some(Scalar::F16(next)));
        assert_eq!(read("1.000488281249999999999999999999999"), Some(Scalar::F16(one)));
        assert_eq!(read(&format!("-{tie}{}1", "0".repeat(60))), Some(Scalar::F16(-next)));
        // The tie above that one rounds up to even, unless the text is a hair below.
        assert_eq!(
            read("1.00146484375"),
            Some(Scalar::F16(half::f16::from_bits(one.to_bits() + 2)))
        );
        assert_eq!(read("1.0014648437499999999999999999999999"), Some(Scalar::F16(next)));
        assert_eq!(read("104.88e-2"), Scalar::from_f64(1.0488, ScalarType::F16));
        assert_eq!(read("1e400"), Some(Scalar::F16(half::f16::INFINITY)));
        assert_eq!(read("1e-400"), Some(Scalar::F16(half::f16::ZERO)));
        assert_eq!(read("-0.0"), Some(Scalar::F16(half::f16::NEG_ZERO)));
        assert_eq!(read("x"), None);
    }

    #[test]
    fn doubles_and_singles() {
        assert_eq!(parse_float("2.34", ScalarType::F64), Some(Scalar::F64(2.34)));
        assert_eq!(parse_float("0.1", ScalarType::F32), Some(Scalar::F32(0.1)));
        assert_eq!(parse_float("1_0.5e1_0", ScalarType::F64), Some(Scalar::F64(10.5e10)));
        assert_eq!(parse_float("1", ScalarType::I32), None);
    }
}
