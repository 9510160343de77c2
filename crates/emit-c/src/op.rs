//! Operations as C expressions.
//!
//! Integers are computed as unsigned numbers, which wrap, and converted back. Numbers of 16 bits
//! are floats in registers: each result is rounded to the type it stands for.

use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};

/// The C type of a register.
pub(crate) fn register_type(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::F16 | ScalarType::BF16 => "float",
        _ => element_type(ty),
    }
}

/// The C type of an element of a buffer.
pub(crate) fn element_type(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::Bool => "bool",
        ScalarType::I8 => "int8_t",
        ScalarType::I16 => "int16_t",
        ScalarType::I32 => "int32_t",
        ScalarType::I64 => "int64_t",
        ScalarType::U8 => "uint8_t",
        ScalarType::U16 | ScalarType::F16 | ScalarType::BF16 => "uint16_t",
        ScalarType::U32 => "uint32_t",
        ScalarType::U64 => "uint64_t",
        ScalarType::F32 => "float",
        ScalarType::F64 => "double",
    }
}

/// The unsigned type in which an integer is computed: never promoted to a signed one.
pub(crate) fn unsigned_type(ty: ScalarType) -> &'static str {
    if ty.size_bytes() == 8 { "uint64_t" } else { "uint32_t" }
}

/// The type in which a float is computed, as the functions of the prelude name it.
fn suffix(ty: ScalarType) -> &'static str {
    if ty == ScalarType::F64 { "f64" } else { "f32" }
}

/// The letter that ends the names of built-in functions on floats.
fn letter(ty: ScalarType) -> &'static str {
    if ty == ScalarType::F64 { "" } else { "f" }
}

/// Rounds an expression computed in `f32` to the 16 bits of its type.
pub(crate) fn rounded(ty: ScalarType, text: String) -> String {
    match ty {
        ScalarType::F16 => format!("ein_round_f16({text})"),
        ScalarType::BF16 => format!("ein_round_bf16({text})"),
        _ => text,
    }
}

/// A constant.
pub(crate) fn constant(value: Scalar) -> String {
    match value {
        Scalar::Bool(x) => x.to_string(),
        Scalar::I8(x) => format!("(int8_t){x}"),
        Scalar::I16(x) => format!("(int16_t){x}"),
        Scalar::I32(i32::MIN) => "INT32_MIN".into(),
        Scalar::I32(x) => x.to_string(),
        Scalar::I64(x) => int64(x),
        Scalar::U8(x) => format!("(uint8_t){x}"),
        Scalar::U16(x) => format!("(uint16_t){x}"),
        Scalar::U32(x) => format!("{x}u"),
        Scalar::U64(x) => format!("UINT64_C({x})"),
        Scalar::F64(x) => float(x, format!("{x:?}"), ""),
        Scalar::F32(x) => float(f64::from(x), format!("{x:?}"), "f"),
        Scalar::F16(x) => float(f64::from(x.to_f32()), format!("{:?}", x.to_f32()), "f"),
        Scalar::BF16(x) => float(f64::from(x.to_f32()), format!("{:?}", x.to_f32()), "f"),
    }
}

/// An `i64`.
pub(crate) fn int64(x: i64) -> String {
    if x == i64::MIN { "INT64_MIN".into() } else { format!("INT64_C({x})") }
}

fn float(x: f64, digits: String, suffix: &str) -> String {
    if x.is_nan() {
        format!("__builtin_nan{suffix}(\"\")")
    } else if x.is_infinite() {
        let sign = if x < 0.0 { "-" } else { "" };
        format!("{sign}__builtin_inf{suffix}()")
    } else {
        format!("{digits}{suffix}")
    }
}

/// An operand: its text, its type, and its value if it is a constant.
pub(crate) struct Arg {
    pub text: String,
    pub ty: ScalarType,
    pub value: Option<Scalar>,
}

/// `op a`.
pub(crate) fn unary(op: UnaryOp, a: &Arg) -> String {
    let (x, ty) = (&a.text, a.ty);
    if !ty.is_float() {
        return int_unary(op, x, ty);
    }
    let (s, f) = (suffix(ty), letter(ty));
    let called = |name: &str| format!("ein_{name}_{s}({x})");
    let text = match op {
        UnaryOp::Neg => format!("-{x}"),
        UnaryOp::Not => format!("!{x}"),
        UnaryOp::Abs => format!("__builtin_fabs{f}({x})"),
        UnaryOp::Sign => {
            let real = register_type(ty);
            format!("{x} != {x} ? {x} : ({real})(({x} > 0) - ({x} < 0))")
        }
        UnaryOp::Sqrt => format!("__builtin_sqrt{f}({x})"),
        UnaryOp::Rsqrt => format!("1.0{f} / __builtin_sqrt{f}({x})"),
        UnaryOp::Floor => format!("__builtin_floor{f}({x})"),
        UnaryOp::Ceil => format!("__builtin_ceil{f}({x})"),
        UnaryOp::Round => format!("__builtin_rint{f}({x})"),
        UnaryOp::Trunc => format!("__builtin_trunc{f}({x})"),
        UnaryOp::IsNan => return format!("{x} != {x}"),
        UnaryOp::IsInf => return format!("__builtin_fabs{f}({x}) == __builtin_inf{f}()"),
        UnaryOp::IsFinite => return format!("__builtin_fabs{f}({x}) < __builtin_inf{f}()"),
        UnaryOp::Exp | UnaryOp::Expm1 | UnaryOp::Exp2 => called(op.as_str()),
        UnaryOp::Log | UnaryOp::Log1p | UnaryOp::Log2 | UnaryOp::Log10 => called(op.as_str()),
        UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan => called(op.as_str()),
        UnaryOp::Asin | UnaryOp::Acos | UnaryOp::Atan => called(op.as_str()),
        UnaryOp::Sinh | UnaryOp::Cosh | UnaryOp::Tanh => called(op.as_str()),
        UnaryOp::Asinh | UnaryOp::Acosh | UnaryOp::Atanh => called(op.as_str()),
        UnaryOp::Erf => called(op.as_str()),
    };
    match op {
        UnaryOp::Neg | UnaryOp::Abs => text,
        _ => rounded(ty, text),
    }
}

fn int_unary(op: UnaryOp, x: &str, ty: ScalarType) -> String {
    let (own, unsigned) = (register_type(ty), unsigned_type(ty));
    let negative = format!("({own})(0 - ({unsigned}){x})");
    match op {
        UnaryOp::Not => format!("!{x}"),
        UnaryOp::Neg => negative,
        UnaryOp::Abs if ty.is_signed() => format!("{x} < 0 ? {negative} : {x}"),
        UnaryOp::Sign if ty.is_signed() => format!("({own})(({x} > 0) - ({x} < 0))"),
        UnaryOp::Sign => format!("({own})({x} != 0)"),
        UnaryOp::IsNan | UnaryOp::IsInf => "false".into(),
        UnaryOp::IsFinite => "true".into(),
        UnaryOp::Abs | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Trunc => x.into(),
        // Only floats have these.
        UnaryOp::Sqrt | UnaryOp::Rsqrt | UnaryOp::Exp | UnaryOp::Expm1 | UnaryOp::Exp2 => x.into(),
        UnaryOp::Log | UnaryOp::Log1p | UnaryOp::Log2 | UnaryOp::Log10 | UnaryOp::Erf => x.into(),
        UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan | UnaryOp::Asin | UnaryOp::Acos => x.into(),
        UnaryOp::Atan | UnaryOp::Sinh | UnaryOp::Cosh | UnaryOp::Tanh | UnaryOp::Asinh => x.into(),
        UnaryOp::Acosh | UnaryOp::Atanh => x.into(),
    }
}

/// `a op b`; `chained` if the next turn of the loop waits for it.
pub(crate) fn binary(op: BinaryOp, a: &Arg, b: &Arg, chained: bool) -> String {
    let (x, y, ty) = (&a.text, &b.text, a.ty);
    if let Some(sign) = comparison(op) {
        return format!("{x} {sign} {y}");
    }
    match op {
        BinaryOp::Min | BinaryOp::Max if ty.is_float() => float_extreme(op, a, b, chained),
        _ if ty.is_float() => float_binary(op, a, b),
        _ => int_binary(op, x, b, ty),
    }
}

fn comparison(op: BinaryOp) -> Option<&'static str> {
    match op {
        BinaryOp::Eq => Some("=="),
        BinaryOp::Ne => Some("!="),
        BinaryOp::Lt => Some("<"),
        BinaryOp::Le => Some("<="),
        BinaryOp::Gt => Some(">"),
        BinaryOp::Ge => Some(">="),
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => None,
        BinaryOp::Pow | BinaryOp::Min | BinaryOp::Max | BinaryOp::And | BinaryOp::Or => None,
        BinaryOp::Atan2 | BinaryOp::FloorDiv | BinaryOp::FloorMod => None,
    }
}

fn float_binary(op: BinaryOp, a: &Arg, b: &Arg) -> String {
    let (x, y, ty) = (&a.text, &b.text, a.ty);
    let (s, f) = (suffix(ty), letter(ty));
    let text = match op {
        BinaryOp::Add => format!("{x} + {y}"),
        BinaryOp::Sub => format!("{x} - {y}"),
        BinaryOp::Mul => format!("{x} * {y}"),
        BinaryOp::Div => format!("{x} / {y}"),
        BinaryOp::Rem => format!("__builtin_fmod{f}({x}, {y})"),
        BinaryOp::Pow => power(a, b),
        BinaryOp::Min | BinaryOp::Max => unreachable!("extremes have been handled"),
        BinaryOp::Atan2 | BinaryOp::FloorDiv | BinaryOp::FloorMod => {
            format!("ein_{op}_{s}({x}, {y})")
        }
        BinaryOp::And | BinaryOp::Or => format!("{x} && {y}"),
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
            unreachable!("comparisons have been handled")
        }
    };
    rounded(ty, text)
}

/// A minimum or maximum; one comparison is enough beside a constant.
fn float_extreme(op: BinaryOp, a: &Arg, b: &Arg, chained: bool) -> String {
    let (x, c) = match (a.value, b.value) {
        (Some(c), None) => (&b.text, (c.as_f64(), &a.text)),
        (None, Some(c)) => (&a.text, (c.as_f64(), &b.text)),
        _ => {
            let chained = if chained { "_chained" } else { "" };
            return format!("ein_{op}{chained}_{}({}, {})", suffix(a.ty), a.text, b.text);
        }
    };
    let (value, text) = c;
    // The comparison is false for NaN, which stays; of two zeros the right one is taken.
    let sign = match op == BinaryOp::Max {
        _ if value.is_nan() => return text.clone(),
        true if value == 0.0 && value.is_sign_positive() => "<=",
        true => "<",
        false if value == 0.0 && value.is_sign_negative() => ">=",
        false => ">",
    };
    format!("{x} {sign} {text} ? {text} : {x}")
}

/// A power of a float; some constant exponents need no logarithm.
fn power(a: &Arg, b: &Arg) -> String {
    let (x, s, f) = (&a.text, suffix(a.ty), letter(a.ty));
    let inf = format!("__builtin_inf{f}()");
    let root = format!("__builtin_sqrt{f}({x} + 0.0{f})");
    let known = match b.value.map(Scalar::as_f64) {
        Some(0.0) => Some(format!("1.0{f}")),
        Some(1.0) => Some(x.clone()),
        Some(2.0) => Some(format!("{x} * {x}")),
        Some(3.0) => Some(format!("{x} * {x} * {x}")),
        Some(4.0) => Some(format!("({x} * {x}) * ({x} * {x})")),
        Some(-1.0) => Some(format!("1.0{f} / {x}")),
        Some(-2.0) => Some(format!("(1.0{f} / {x}) * (1.0{f} / {x})")),
        Some(0.5) => Some(format!("{x} == -{inf} ? {inf} : {root}")),
        Some(-0.5) => Some(format!("{x} == -{inf} ? 0.0{f} : 1.0{f} / {root}")),
        Some(1.5) => Some(format!("{x} == -{inf} ? {inf} : {x} * __builtin_sqrt{f}({x})")),
        _ => None,
    };
    match known {
        Some(text) => text,
        None if b.ty.is_int() => {
            let wide = if b.ty.is_signed() { "int64_t" } else { "uint64_t" };
            let y = &b.text;
            let rest = if b.ty.size_bytes() == 8 {
                format!("(double)(({wide}){y} - (__int128)(double){y})")
            } else {
                "0.0".into()
            };
            format!("ein_powi_{s}({x}, (double){y}, {rest}, {y} & 1)")
        }
        None => format!("ein_pow_{s}({x}, {})", b.text),
    }
}

fn int_binary(op: BinaryOp, x: &str, b: &Arg, ty: ScalarType) -> String {
    let (own, unsigned, y) = (register_type(ty), unsigned_type(ty), &b.text);
    let wrapping = |sign: &str| format!("({own})(({unsigned}){x} {sign} ({unsigned}){y})");
    // The least number by -1 would stop the process; narrow types are computed in 32 bits.
    let risky =
        ty.is_signed() && ty.size_bytes() >= 4 && b.value.is_none_or(|v| v.as_i64() == Some(-1));
    let negative = format!("({own})(0 - ({unsigned}){x})");
    let shift = b.value.and_then(Scalar::as_i64).filter(|n| n.count_ones() == 1 && *n > 0);
    match op {
        BinaryOp::FloorDiv if let Some(n) = shift => {
            format!("({own})({x} >> {})", n.trailing_zeros())
        }
        BinaryOp::FloorMod if let Some(n) = shift => format!("({own})({x} & {})", n - 1),
        BinaryOp::Add => wrapping("+"),
        BinaryOp::Sub => wrapping("-"),
        BinaryOp::Mul => wrapping("*"),
        BinaryOp::Div if risky => format!("{y} == -1 ? {negative} : {x} / {y}"),
        BinaryOp::Div => format!("({own})({x} / {y})"),
        BinaryOp::Rem if risky => format!("{y} == -1 ? 0 : {x} % {y}"),
        // Whether the rest is zero would be made a truth out of one bit, which is in no vector.
        BinaryOp::Rem if ty.is_signed() && b.value.and_then(Scalar::as_i64) == Some(2) => {
            format!("({own})(({unsigned}){x} - ({unsigned})2 * ({unsigned})({x} / 2))")
        }
        BinaryOp::Rem => format!("({own})({x} % {y})"),
        BinaryOp::FloorDiv if !ty.is_signed() => format!("({own})({x} / {y})"),
        BinaryOp::FloorMod if !ty.is_signed() => format!("({own})({x} % {y})"),
        BinaryOp::FloorDiv => {
            let quotient =
                format!("({own})({x} / {y} - ({x} % {y} != 0 && ({x} < 0) != ({y} < 0)))");
            if risky { format!("{y} == -1 ? {negative} : {quotient}") } else { quotient }
        }
        BinaryOp::FloorMod => {
            let rest = format!(
                "({own})({x} % {y} + ({x} % {y} != 0 && ({x} < 0) != ({y} < 0) ? {y} : 0))"
            );
            if risky { format!("{y} == -1 ? 0 : {rest}") } else { rest }
        }
        BinaryOp::Pow => match b.value.and_then(Scalar::as_i64) {
            Some(2) => format!("({own})(({unsigned}){x} * ({unsigned}){x})"),
            Some(3) => format!("({own})(({unsigned}){x} * ({unsigned}){x} * ({unsigned}){x})"),
            _ => format!("({own})ein_power_int((uint64_t){x}, (int64_t){y})"),
        },
        BinaryOp::Min if ty.is_bool() => format!("{x} & {y}"),
        BinaryOp::Max if ty.is_bool() => format!("{x} | {y}"),
        BinaryOp::Min => format!("{x} < {y} ? {x} : {y}"),
        BinaryOp::Max => format!("{x} > {y} ? {x} : {y}"),
        BinaryOp::And => format!("{x} & {y}"),
        BinaryOp::Or => format!("{x} | {y}"),
        BinaryOp::Atan2 => x.into(),
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
            unreachable!("comparisons have been handled")
        }
    }
}

/// Whether an operation on integers leaves their type.
pub(crate) fn overflows(op: BinaryOp, a: &Arg, b: &Arg) -> String {
    let (x, y, ty) = (&a.text, &b.text, a.ty);
    let (own, unsigned, signed) = (register_type(ty), unsigned_type(ty), ty.is_signed());
    let Some((low, high)) = ty.int_range() else { return "false".into() };
    let narrow = ty.size_bytes() < 4;
    let sum = |sign: &str| format!("({unsigned}){x} {sign} ({unsigned}){y}");
    match op {
        BinaryOp::Add | BinaryOp::Sub if narrow => {
            let sign = if op == BinaryOp::Add { "+" } else { "-" };
            format!("({x} {sign} {y}) != ({own})({x} {sign} {y})")
        }
        // The sign of the result differs from that of both operands, or of what counts as both.
        BinaryOp::Add if signed => {
            let s = sum("+");
            format!("({own})((({unsigned}){x} ^ ({s})) & (({unsigned}){y} ^ ({s}))) < 0")
        }
        BinaryOp::Sub if signed => {
            let s = sum("-");
            format!("({own})((({unsigned}){x} ^ ({unsigned}){y}) & (({unsigned}){x} ^ ({s}))) < 0")
        }
        BinaryOp::Add => format!("{} < {x}", sum("+")),
        BinaryOp::Sub => format!("{x} < {y}"),
        BinaryOp::Mul if ty.size_bytes() == 8 => {
            format!("__builtin_mul_overflow({x}, {y}, &({own}){{0}})")
        }
        BinaryOp::Mul => {
            let wide = if signed { "int64_t" } else { "uint64_t" };
            format!("({wide}){x} * ({wide}){y} != ({own})(({wide}){x} * ({wide}){y})")
        }
        BinaryOp::Pow => format!("ein_power_leaves({x}, {y}, {}, {})", wide(low), wide(high)),
        BinaryOp::Div | BinaryOp::FloorDiv if signed => {
            format!("({x} == {}) & ({y} == -1)", wide(low))
        }
        BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::FloorMod => "false".into(),
        BinaryOp::Min | BinaryOp::Max | BinaryOp::And | BinaryOp::Or | BinaryOp::Atan2 => {
            "false".into()
        }
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
            "false".into()
        }
    }
}

/// A bound of an integer type.
fn wide(x: i128) -> String {
    match i64::try_from(x) {
        Ok(x) => int64(x),
        Err(_) => format!("UINT64_C({x})"),
    }
}

/// A conversion, as `ein_scalar::cast` defines it.
pub(crate) fn cast(a: &Arg, to: ScalarType) -> String {
    let (x, from) = (&a.text, a.ty);
    let own = register_type(to);
    if from == to {
        return x.clone();
    }
    if to.is_bool() {
        return format!("{x} != 0");
    }
    if from.is_bool() {
        return format!("({own}){x}");
    }
    match to {
        ScalarType::F16 | ScalarType::BF16 => rounded(to, to_half(x, from, to)),
        ScalarType::F32 | ScalarType::F64 => format!("({own}){x}"),
        _ if from.is_float() => float_to_int(x, from, to),
        _ => format!("({own}){x}"),
    }
}

/// A float that rounds to the same number of 16 bits as `x` does.
fn to_half(x: &str, from: ScalarType, to: ScalarType) -> String {
    if from.is_float() && from != ScalarType::F64 {
        x.to_string()
    } else if from.is_int() && from.size_bytes() == 8 && to == ScalarType::BF16 {
        format!("ein_odd_f32(ein_odd_i128({x}))")
    } else {
        format!("ein_odd_f32((double){x})")
    }
}

/// Truncates and saturates; NaN gives 0.
fn float_to_int(x: &str, from: ScalarType, to: ScalarType) -> String {
    let (own, f) = (register_type(to), letter(from));
    let (low, high) = to.int_range().unwrap_or((0, 0));
    let (min, max) = (wide(low), wide(high));
    if to.size_bytes() < 4 {
        let clamped =
            format!("({x} < {low}.0{f} ? {low}.0{f} : {x} > {high}.0{f} ? {high}.0{f} : {x})");
        return format!("({own})({x} != {x} ? 0 : (int32_t){clamped})");
    }
    // One past the greatest value is a power of two, which every float type has.
    let (below, beyond) = (format!("{low}.0{f}"), format!("{}.0{f}", high + 1));
    let inside = format!("({own})({x} > {below} && {x} < {beyond} ? {x} : 0.0{f})");
    format!("{x} >= {beyond} ? ({own}){max} : {x} <= {below} ? ({own}){min} : {inside}")
}
