//! Conversions between element types.

use super::{one, pointwise, zero};
use crate::cx::Cx;
use crate::elem::Elem;
use crate::node::{Done, Node, refuse_at};

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "Cast" => cast_to(cx, node),
        "CastLike" => cast_like(cx, node),
        _ => return None,
    })
}

fn cast_to(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let code = i32::try_from(node.int("to", 0)).unwrap_or(0);
    match Elem::of(code) {
        Some(to) => cast(cx, node, to),
        None => {
            refuse_at("to", format!("elements of type {} are not supported", Elem::name_of(code)))
        }
    }
}

fn cast_like(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let to = node.input(1)?.elem;
    cast(cx, node, to)
}

fn cast(cx: &mut Cx<'_>, node: &Node<'_>, to: Elem) -> Done {
    let x = node.input(0)?;
    if x.elem == to {
        cx.set(node.out(0), x);
        return Ok(());
    }
    let from = x.elem;
    let saturate = node.int("saturate", 1) != 0;
    let up = node.string("round_mode", "up");
    if to.small_float().is_some() {
        cx.helper("to_small_float", TO_SMALL_FLOAT);
    }
    if to == Elem::F8E8M0 {
        cx.helper(
            "to_power",
            if up == "up" {
                TO_POWER_UP
            } else if up == "down" {
                TO_POWER_DOWN
            } else {
                TO_POWER_NEAR
            },
        );
    }
    pointwise(cx, node.out(0), &[x], to, |x| converted(&x[0], from, to, saturate)).map(drop)
}

/// An element as another type.
pub fn converted(x: &str, from: Elem, to: Elem, saturate: bool) -> String {
    let ty = to.lang();
    if from == to {
        return x.to_owned();
    }
    if from == Elem::Bool {
        return format!("if {x} {{ {} as {ty} }} else {{ {} as {ty} }}", one(to), zero(to));
    }
    if to == Elem::Bool {
        return format!("{x} != {}", zero(from));
    }
    if to == Elem::F8E8M0 {
        return format!("to_power({x} as f32)");
    }
    if let Some(layout) = to.small_float() {
        let beyond = match (saturate || !layout.nan, layout.infinite) {
            (true, _) => format!("{:?}", layout.largest),
            (false, true) => "1.0 / 0.0".into(),
            (false, false) => "0.0 / 0.0".into(),
        };
        let wide = if from.lang() == "f32" { x.to_owned() } else { format!("{x} as f32") };
        let call = format!(
            "to_small_float({wide}, {}, {}, {:?}, {beyond})",
            layout.digits, layout.lowest, layout.largest
        );
        // Where there is no negative zero, adding zero makes it positive.
        if !layout.nan {
            return format!("if {x} == {x} {{ {call} }} else {{ 0.0 }}");
        }
        return if layout.minus_zero { call } else { format!("{call} + 0.0") };
    }
    let (low, high) = to.limits();
    match to {
        Elem::I4 | Elem::I2 | Elem::U4 | Elem::U2 => {
            // Integers below eight bits keep their lowest bits.
            let whole = format!("{x} as i32");
            let size = high - low + 1;
            format!("(std::math::mod({whole} - {}, {size}) + {}) as {ty}", paren(low), paren(low))
                .replace(" - 0,", ",")
                .replace(" + 0)", ")")
        }
        _ if from.lang() == ty => x.to_owned(),
        _ => format!("{x} as {ty}"),
    }
}

fn paren(n: i128) -> String {
    if n < 0 { format!("({n})") } else { n.to_string() }
}

/// The helper that rounds to a float below sixteen bits.
pub const TO_SMALL_FLOAT: &str = "/// `x` rounded to `digits` binary digits after the leading one, at most `largest`; what is larger
/// is `beyond`. The smallest normal number is `2.0 ** lowest`.
fn to_small_float(x: f32, digits: i32, lowest: i32, largest: f32, beyond: f32) -> f32 {
    let size = min(abs(x), 4.0 * largest);
    let guess = max(floor(log2(size)) as i32, lowest);
    // The logarithm may be off by a little.
    let exponent = if 2.0 ** guess > size {
        guess - 1
    } else if 2.0 ** (guess + 1) <= size {
        guess + 1
    } else {
        guess
    };
    let unit = 2.0 ** (max(exponent, lowest) - digits);
    let near = round(size / unit) * unit;
    let result = if near > largest { beyond } else { near };
    if x < 0.0 || 1.0 / x < 0.0 { -result } else { result }
}
";

const TO_POWER_UP: &str = "/// The power of two that is at least `x`.
fn to_power(x: f32) -> f32 {
    let guess = min(max(floor(log2(abs(x))) as i32, -127), 127);
    let power = if 2.0 ** guess >= abs(x) { 2.0 ** guess } else { 2.0 ** min(guess + 1, 127) };
    if x != x { x } else { power }
}
";

const TO_POWER_DOWN: &str = "/// The power of two that is at most `x`.
fn to_power(x: f32) -> f32 {
    let guess = min(max(floor(log2(abs(x))) as i32, -127), 127);
    let power = if 2.0 ** guess > abs(x) { 2.0 ** (guess - 1) } else { 2.0 ** guess };
    if x != x { x } else { power }
}
";

const TO_POWER_NEAR: &str = "/// The power of two that is nearest to `x`.
fn to_power(x: f32) -> f32 {
    let guess = min(max(floor(log2(abs(x))) as i32, -127), 126);
    let power = if abs(x) >= 1.5 * 2.0 ** guess { 2.0 ** (guess + 1) } else { 2.0 ** guess };
    if x != x { x } else { power }
}
";
