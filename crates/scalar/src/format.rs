//! Format specifications of interpolated strings: `{x:8.3f}`, `{n:05d}`, `{name:>6}`.
//!
//! They mean what Python's mean. Numbers stand at the right of their field by default, text and
//! `bool` at the left.

use crate::display::{display, non_finite, positional, scientific, split};
use crate::{Scalar, ScalarType};

/// Where a value stands in its field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Align {
    /// `<`
    Left,
    /// `>`
    Right,
    /// `^`
    Center,
    /// `=`: the fill goes between the sign and the digits.
    AfterSign,
}

/// A parsed format specification.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Spec {
    /// The character that fills the field; a space if absent.
    pub fill: Option<char>,
    /// Where the value stands; by its type if absent.
    pub align: Option<Align>,
    /// Whether a number that is not negative gets a `+`.
    pub plus: bool,
    /// Whether the field is filled with zeros after the sign.
    pub zero: bool,
    /// The least number of characters.
    pub width: Option<u32>,
    /// Digits after the point, significant digits, or the most characters of a string.
    pub precision: Option<u32>,
    /// `f F e E g G % d x X b o s`, or the plain form if absent.
    pub kind: Option<char>,
}

/// The greatest width and precision.
const LIMIT: u32 = 10_000;

/// Formats a scalar; the error says what is wrong with the specification.
pub fn format(value: Scalar, spec: &Spec) -> Result<String, String> {
    check_limits(spec)?;
    let ty = value.ty();
    let (negative, body) = match spec.kind {
        None if ty.is_bool() => return format_str(&display(value), spec),
        Some('s') if ty.is_bool() => return format_str(&display(value), spec),
        None | Some('d' | 'x' | 'X' | 'b' | 'o') if !ty.is_float() => int_body(value, spec)?,
        None if spec.precision.is_some() => significant(value.as_f64(), spec, true),
        None => unsigned(&display(value)),
        Some('f' | 'F' | 'e' | 'E' | 'g' | 'G' | '%') => float_body(value.as_f64(), spec),
        Some(kind) => return Err(refused(kind, ty.name())),
    };
    let sign = if negative {
        "-"
    } else if spec.plus {
        "+"
    } else {
        ""
    };
    let (fill, align) = match (spec.zero, spec.fill, spec.align) {
        (true, fill, None) => (fill.unwrap_or('0'), Align::AfterSign),
        (true, fill, Some(align)) => (fill.unwrap_or('0'), align),
        (false, fill, align) => (fill.unwrap_or(' '), align.unwrap_or(Align::Right)),
    };
    Ok(pad(sign, &body, fill, align, spec.width))
}

/// Formats a string: kind `s` or none, where the precision cuts it.
pub fn format_str(text: &str, spec: &Spec) -> Result<String, String> {
    check_limits(spec)?;
    match spec.kind {
        None | Some('s') => {}
        Some(kind) => return Err(refused(kind, "a string")),
    }
    if spec.plus {
        return Err("a sign does not apply to text".to_owned());
    }
    if spec.align == Some(Align::AfterSign) {
        return Err("the alignment `=` does not apply to text".to_owned());
    }
    let kept: String = match spec.precision {
        Some(most) => text.chars().take(most as usize).collect(),
        None => text.to_owned(),
    };
    let fill = spec.fill.unwrap_or(if spec.zero { '0' } else { ' ' });
    Ok(pad("", &kept, fill, spec.align.unwrap_or(Align::Left), spec.width))
}

fn check_limits(spec: &Spec) -> Result<(), String> {
    for (what, number) in [("width", spec.width), ("precision", spec.precision)] {
        if number.is_some_and(|n| n > LIMIT) {
            return Err(format!("a {what} of more than {LIMIT} is not supported"));
        }
    }
    Ok(())
}

fn refused(kind: char, what: &str) -> String {
    match kind {
        'd' | 'x' | 'X' | 'b' | 'o' => {
            format!("`{kind}` formats integers, but the value is {what}")
        }
        's' => format!("`s` formats strings, but the value is {what}"),
        'f' | 'F' | 'e' | 'E' | 'g' | 'G' | '%' => {
            format!("`{kind}` formats numbers, but the value is {what}")
        }
        _ => format!("unknown format `{kind}`; there are f e g % d x b o s"),
    }
}

/// Sign and digits of an integer or a `bool`.
fn int_body(value: Scalar, spec: &Spec) -> Result<(bool, String), String> {
    if spec.precision.is_some() {
        return Err("a precision does not apply to integers; use `f` for decimals".to_owned());
    }
    let number = match value.ty() {
        ScalarType::Bool => i128::from(value == Scalar::Bool(true)),
        _ => value.as_i128().unwrap_or(0),
    };
    let magnitude = number.unsigned_abs();
    let digits = match spec.kind {
        Some('x') => format!("{magnitude:x}"),
        Some('X') => format!("{magnitude:X}"),
        Some('b') => format!("{magnitude:b}"),
        Some('o') => format!("{magnitude:o}"),
        _ => format!("{magnitude}"),
    };
    Ok((number < 0, digits))
}

/// Sign and digits of a number under `f e g %`.
fn float_body(x: f64, spec: &Spec) -> (bool, String) {
    let precision = spec.precision.unwrap_or(6) as usize;
    let kind = spec.kind.unwrap_or('g');
    let (negative, text) = match (kind.to_ascii_lowercase(), non_finite(x)) {
        ('%', Some(text)) => {
            let (negative, text) = unsigned(text);
            (negative, text + "%")
        }
        (_, Some(text)) => unsigned(text),
        ('%', None) => unsigned(&format!("{:.precision$}%", x * 100.0)),
        ('f', None) => unsigned(&format!("{x:.precision$}")),
        ('e', None) => {
            let text = format!("{x:.precision$e}");
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let exponent: i32 = exponent.parse().unwrap_or(0);
            let sign = if exponent < 0 { '-' } else { '+' };
            unsigned(&format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs()))
        }
        (_, None) => significant(x, spec, false),
    };
    (negative, if kind.is_ascii_uppercase() { text.to_uppercase() } else { text })
}

/// Sign and digits with a number of significant digits; `keep_point` is the form without a kind,
/// which always shows that the number is a float.
fn significant(x: f64, spec: &Spec, keep_point: bool) -> (bool, String) {
    if let Some(text) = non_finite(x) {
        return unsigned(text);
    }
    let precision = spec.precision.unwrap_or(6).max(1);
    let (negative, digits, exponent) = split(&format!("{:.*e}", precision as usize - 1, x));
    let most = precision as i32 - i32::from(keep_point);
    if exponent < -4 || exponent >= most {
        return (negative, scientific(&digits, exponent));
    }
    let text = positional(&digits, exponent);
    let short = text.strip_suffix(".0").filter(|_| !keep_point).map(str::to_owned);
    (negative, short.unwrap_or(text))
}

/// Splits off the sign of a printed number.
fn unsigned(text: &str) -> (bool, String) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest.to_owned()),
        None => (false, text.to_owned()),
    }
}

fn pad(sign: &str, body: &str, fill: char, align: Align, width: Option<u32>) -> String {
    let length = sign.len() + body.chars().count();
    let missing = (width.unwrap_or(0) as usize).saturating_sub(length);
    let fill = |count: usize| fill.to_string().repeat(count);
    match align {
        Align::Left => format!("{sign}{body}{}", fill(missing)),
        Align::Right => format!("{}{sign}{body}", fill(missing)),
        Align::AfterSign => format!("{sign}{}{body}", fill(missing)),
        Align::Center => {
            let left = missing / 2;
            format!("{}{sign}{body}{}", fill(left), fill(missing - left))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tiny reader of specifications, for the tables below only.
    fn spec(text: &str) -> Spec {
        let align = |c: char| match c {
            '<' => Some(Align::Left),
            '>' => Some(Align::Right),
            '^' => Some(Align::Center),
            '=' => Some(Align::AfterSign),
            _ => None,
        };
        let mut rest: Vec<char> = text.chars().collect();
        let mut spec = Spec::default();
        if rest.len() > 1 && align(rest[1]).is_some() {
            spec.fill = Some(rest.remove(0));
        }
        if let Some(found) = rest.first().copied().and_then(align) {
            spec.align = Some(found);
            rest.remove(0);
        }
        if rest.first() == Some(&'+') {
            spec.plus = true;
            rest.remove(0);
        }
        if rest.first() == Some(&'0') {
            spec.zero = true;
            rest.remove(0);
        }
        let text: String = rest.into_iter().collect();
        let (text, kind) = match text.chars().last() {
            Some(c) if !c.is_ascii_digit() => (&text[..text.len() - 1], Some(c)),
            _ => (&text[..], None),
        };
        spec.kind = kind;
        let (width, precision) = text.split_once('.').unwrap_or((text, ""));
        spec.width = width.parse().ok();
        spec.precision = precision.parse().ok();
        spec
    }

    #[track_caller]
    fn check(value: impl Into<Scalar>, text: &str, expected: &str) {
        assert_eq!(format(value.into(), &spec(text)).as_deref(), Ok(expected), "{text}");
    }

    #[test]
    fn numbers_as_python_formats_them() {
        check(2.71159f32, ".2f", "2.71");
        check(2.71159f32, ".0f", "3");
        check(2.71159f32, ">10", "   2.71159");
        check(2.71159f32, "8.3f", "   2.712");
        check(-2.71159f32, ".1f", "-2.7");
        check(42, "05d", "00042");
        check(-42, "05d", "-0042");
        check(42, ">6", "    42");
        check(42, "<6", "42    ");
        check(42, "*^7", "**42***");
        check(42, "+", "+42");
        check(42, "x=+6d", "+xxx42");
        check(255, "x", "ff");
        check(255, "X", "FF");
        check(-5, "b", "-101");
        check(8, "o", "10");
        check(42, ".1f", "42.0");
        check(42, "e", "4.200000e+01");
        check(1.5, "e", "1.500000e+00");
        check(1.5e-10, ".3e", "1.500e-10");
        check(1.5e-10, ".3E", "1.500E-10");
        check(0.0, "e", "0.000000e+00");
        check(1e22, "f", "10000000000000000000000.000000");
        check(0.125, "%", "12.500000%");
        check(0.125, ".0%", "12%");
        check(2.5, ".0f", "2");
        check(3.5, ".0f", "4");
        check(0.25, ".1f", "0.2");
        check(-0.0001, ".2f", "-0.00");
        check(f64::NAN, "f", "nan");
        check(f64::NEG_INFINITY, "08.1f", "-0000inf");
        check(f64::INFINITY, "F", "INF");
        check(1.0, "+.1f", "+1.0");
        check(1.0, "08.2f", "00001.00");
        check(true, "", "true");
        check(true, ">6", "  true");
        check(true, "d", "1");
        check(1.0, "", "1.0");
        check(1e16, "8", "   1e+16");
    }

    #[test]
    fn significant_digits() {
        for (x, text, expected) in [
            (1234567.0, "g", "1.23457e+06"),
            (123456.0, "g", "123456"),
            (100000.0, ".3g", "1e+05"),
            (0.0001, "g", "0.0001"),
            (0.00001, "g", "1e-05"),
            (0.0, "g", "0"),
            (1.5, "g", "1.5"),
            (10.0, "g", "10"),
            (1e10, "G", "1E+10"),
            (99.99, ".2g", "1e+02"),
            (1.0, ".3", "1.0"),
            (100.0, ".3", "1e+02"),
            (10.0, ".3", "10.0"),
            (2.71159, ".3", "2.71"),
            (1.0, ".1", "1e+00"),
            (0.5, ".1", "0.5"),
            (0.0, ".1", "0e+00"),
        ] {
            check(x, text, expected);
        }
    }

    #[test]
    fn strings() {
        let check = |text: &str, to: &str, expected: &str| {
            assert_eq!(format_str(text, &spec(to)).as_deref(), Ok(expected), "{to}");
        };
        check("ein", ">6", "   ein");
        check("ein", "6", "ein   ");
        check("ein", "6s", "ein   ");
        check("naïve", "^7", " naïve ");
        check("tensor", ".3", "ten");
    }

    #[test]
    fn refusals_say_why() {
        let message = |value: Scalar, text: &str| format(value, &spec(text)).unwrap_err();
        assert!(message(Scalar::F32(1.0), "d").contains("integers"));
        assert!(message(Scalar::I32(1), ".2d").contains("precision"));
        assert!(message(Scalar::I32(1), "s").contains("strings"));
        assert!(message(Scalar::I32(1), "q").contains("unknown format"));
        assert!(message(Scalar::I32(1), "99999d").contains("width"));
        assert!(format_str("x", &spec(".2f")).unwrap_err().contains("a string"));
    }
}
