//! Values as people read them: the shortest text that reads back to the same value.

use crate::{Scalar, parse_float};

/// The text of a value as `print` writes it.
///
/// Floats get the fewest digits that read back in their own type, at least one of them after the
/// point, and an exponent from 1e16 up and below 1e-4: `1.0`, `0.1`, `1e+16`, `1.5e-07`, `nan`,
/// `inf`, `-inf`.
pub fn display(value: Scalar) -> String {
    match value {
        Scalar::Bool(x) => x.to_string(),
        Scalar::F16(_) | Scalar::BF16(_) | Scalar::F32(_) | Scalar::F64(_) => display_float(value),
        Scalar::I8(x) => x.to_string(),
        Scalar::I16(x) => x.to_string(),
        Scalar::I32(x) => x.to_string(),
        Scalar::I64(x) => x.to_string(),
        Scalar::U8(x) => x.to_string(),
        Scalar::U16(x) => x.to_string(),
        Scalar::U32(x) => x.to_string(),
        Scalar::U64(x) => x.to_string(),
    }
}

fn display_float(value: Scalar) -> String {
    if let Some(text) = non_finite(value.as_f64()) {
        return text.to_owned();
    }
    let (negative, digits, exponent) = split(&shortest(value));
    let sign = if negative { "-" } else { "" };
    if !(-4..16).contains(&exponent) {
        return format!("{sign}{}", scientific(&digits, exponent));
    }
    format!("{sign}{}", positional(&digits, exponent))
}

/// `nan`, `inf` or `-inf`.
pub(crate) fn non_finite(x: f64) -> Option<&'static str> {
    if x.is_nan() {
        Some("nan")
    } else if x.is_infinite() {
        Some(if x < 0.0 { "-inf" } else { "inf" })
    } else {
        None
    }
}

/// The shortest digits in scientific form (`1.5e-7`); of two such texts the one nearer to the
/// value, and of two equally near the one with the even digit.
fn shortest(value: Scalar) -> String {
    let reads_back = |text: &String| parse_float(text, value.ty()) == Some(value);
    let x = value.as_f64();
    let text = match value {
        Scalar::F32(x) => format!("{x:e}"),
        Scalar::F16(_) | Scalar::BF16(_) => {
            // Five digits tell any two halves apart.
            let mut texts = (0..5).map(|digits| format!("{x:.digits$e}"));
            return texts.find(reads_back).unwrap_or_else(|| format!("{x:e}"));
        }
        _ => format!("{x:e}"),
    };
    let digits = text.split('e').next().unwrap_or("").bytes().filter(u8::is_ascii_digit).count();
    Some(format!("{x:.*e}", digits.saturating_sub(1))).filter(reads_back).unwrap_or(text)
}

/// Splits Rust's scientific form into sign, digits without trailing zeros, and the exponent of
/// the first digit.
pub(crate) fn split(text: &str) -> (bool, String, i32) {
    let negative = text.starts_with('-');
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let trimmed = digits.trim_end_matches('0');
    let digits = if trimmed.is_empty() { "0" } else { trimmed };
    (negative, digits.to_owned(), exponent.parse().unwrap_or(0))
}

/// `1.5e-07` from digits and exponent: a sign and at least two digits of exponent.
pub(crate) fn scientific(digits: &str, exponent: i32) -> String {
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{first}{point}{rest}e{sign}{:02}", exponent.unsigned_abs())
}

/// `1500.0` from digits and exponent, with at least one digit on either side of the point.
pub(crate) fn positional(digits: &str, exponent: i32) -> String {
    let Ok(whole) = usize::try_from(exponent) else {
        return format!("0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1));
    };
    match digits.split_at_checked(whole + 1) {
        Some((whole, "")) => format!("{whole}.0"),
        Some((whole, fraction)) => format!("{whole}.{fraction}"),
        None => format!("{digits}{}.0", "0".repeat(whole + 1 - digits.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ScalarType;
    use half::{bf16, f16};

    #[track_caller]
    fn check(value: impl Into<Scalar>, expected: &str) {
        assert_eq!(display(value.into()), expected);
    }

    #[test]
    fn doubles_print_as_python_prints_them() {
        for (x, text) in [
            (1.0, "1.0"),
            (0.1, "0.1"),
            (-2.5, "-2.5"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (123456789012345680.0, "1.2345678901234568e+17"),
            (9999999999999998.0, "9999999999999998.0"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (0.00012345, "0.00012345"),
            (1e100, "1e+100"),
            (5e-324, "5e-324"),
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (f64::NAN, "nan"),
            (-f64::NAN, "nan"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (100.0, "100.0"),
            (8_799_074_991_457_089.0 / 4.0, "2199768747864272.2"),
            (9007199254740993.0, "9007199254740992.0"),
            (123.456, "123.456"),
        ] {
            check(x, text);
        }
    }

    #[test]
    fn each_type_is_shortest_for_itself() {
        check(0.1f32, "0.1");
        check(1.0f32 / 3.0, "0.33333334");
        check(16_777_216.0f32, "16777216.0");
        check(1e-7f32, "1e-07");
        check(3.4028235e38f32, "3.4028235e+38");
        check(f16::from_f32(0.1), "0.1");
        check(f16::MAX, "65500.0");
        check(f16::from_bits(1), "6e-08");
        check(bf16::from_f32(1.0 / 3.0), "0.334");
        check(bf16::from_f32(3.0), "3.0");
        check(true, "true");
        check(-5i8, "-5");
        check(u64::MAX, "18446744073709551615");
    }

    #[test]
    fn every_half_reads_back() {
        for bits in 0..=u16::MAX {
            for ty in [ScalarType::F16, ScalarType::BF16] {
                let value = Scalar::from_bits(ty, u64::from(bits));
                assert_eq!(parse_float(&display(value), ty), Some(value));
            }
        }
    }
}
