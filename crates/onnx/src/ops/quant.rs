//! Quantised numbers: integers with a scale and a zero.

use super::cast::{TO_SMALL_FLOAT, converted};
use super::conv::convolve;
use super::linear::product;
use crate::cx::{Cx, indices};
use crate::elem::Elem;
use crate::node::{Done, Node, axis, refuse_at};
use crate::value::Value;

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "QuantizeLinear" => quantize(cx, node),
        "DequantizeLinear" => dequantize(cx, node),
        "DynamicQuantizeLinear" => dynamic(cx, node),
        "MatMulInteger" => matmul_integer(cx, node),
        "ConvInteger" => conv_integer(cx, node),
        "QLinearMatMul" => q_matmul(cx, node),
        "QLinearConv" => q_conv(cx, node),
        _ => return None,
    })
}

/// One element of a scale or a zero that belongs to a point.
fn part(
    cx: &mut Cx<'_>,
    node: &Node<'_>,
    value: &Value,
    x: &Value,
    axes: &[String],
) -> Done<String> {
    if value.rank() == 0 {
        return Ok(cx.read(value, &[]));
    }
    let block = node.int("block_size", 0);
    if value.rank() == 1 && x.rank() != 1 || block == 0 && value.rank() == 1 {
        if value.shape[0].is(1) {
            return Ok(cx.read(value, &["0".to_owned()]));
        }
        let along = axis(node.int("axis", 1), x.rank())?;
        return Ok(cx.read(value, &[axes[along].clone()]));
    }
    let along = axis(node.int("axis", 1), x.rank())?;
    if value.rank() != x.rank() || block < 1 {
        return refuse_at("block_size", "does not fit the scale");
    }
    let mut at = axes.to_vec();
    at[along] = format!("{} / {block}", axes[along]);
    Ok(cx.read(value, &at))
}

fn quantize(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (x, scale, zero) = (node.input(0)?, node.input(1)?, node.optional(2));
    let code = i32::try_from(node.int("output_dtype", 0)).unwrap_or(0);
    let to = match (&zero, Elem::of(code)) {
        (_, Some(elem)) => elem,
        (Some(zero), None) => zero.elem,
        (None, None) => Elem::U8,
    };
    let axes = indices(&x.axes, x.rank());
    let element = cx.read(&x, &axes);
    let by = part(cx, node, &scale, &x, &axes)?;
    let ratio = if x.elem.is_float() && x.elem == scale.elem {
        format!("{element} / {by}")
    } else {
        format!("({element} as f32) / ({by} as f32)")
    };
    let zero = match zero {
        Some(zero)
            if zero
                .known
                .as_ref()
                .and_then(|it| it.as_ints())
                .is_none_or(|it| it.iter().any(|n| *n != 0)) =>
        {
            Some(part(cx, node, &zero, &x, &axes)?)
        }
        _ => None,
    };
    let body = quantized(cx, &ratio, zero.as_deref(), to, node.int("saturate", 1) != 0);
    let covered = vec![true; axes.len()];
    cx.define(node.out(0), to, x.shape, &axes, &covered, &body);
    Ok(())
}

/// A float as a quantised number.
fn quantized(cx: &mut Cx<'_>, ratio: &str, zero: Option<&str>, to: Elem, saturate: bool) -> String {
    if to.small_float().is_some() {
        cx.helper("to_small_float", TO_SMALL_FLOAT);
        let ratio = format!("({ratio})");
        return converted(&ratio, Elem::F64, to, saturate);
    }
    let (low, high) = to.limits();
    let shifted = match zero {
        Some(zero) => format!("round({ratio}) as f32 + ({zero} as f32)"),
        None => format!("round({ratio}) as f32"),
    };
    format!("min(max({shifted}, {low}.0), {high}.0) as {}", to.lang())
}

fn dequantize(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (x, scale, zero) = (node.input(0)?, node.input(1)?, node.optional(2));
    let axes = indices(&x.axes, x.rank());
    let element = cx.read(&x, &axes);
    let by = part(cx, node, &scale, &x, &axes)?;
    let code = i32::try_from(node.int("output_dtype", 0)).unwrap_or(0);
    let to = Elem::of(code).unwrap_or(scale.elem);
    let ty = to.lang();
    let body = match zero {
        _ if x.elem.is_float() => format!("({element} as {ty}) * ({by} as {ty})"),
        None => format!("({element} as {ty}) * ({by} as {ty})"),
        Some(zero) => {
            let zero = part(cx, node, &zero, &x, &axes)?;
            format!("(({element} as i64) - ({zero} as i64)) as {ty} * ({by} as {ty})")
        }
    };
    let covered = vec![true; axes.len()];
    cx.define(node.out(0), to, x.shape, &axes, &covered, &body);
    Ok(())
}

fn dynamic(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let axes = indices(&x.axes, x.rank());
    let element = cx.read(&x, &axes);
    let over = axes.join(", ");
    let low =
        cx.temp("low", Elem::F32, vec![], &[], &[], &format!("min(min[{over}]({element}), 0.0)"));
    let high =
        cx.temp("high", Elem::F32, vec![], &[], &[], &format!("max(max[{over}]({element}), 0.0)"));
    let (low, high) = (cx.name_of(&low), cx.name_of(&high));
    let scale =
        cx.define(node.out(1), Elem::F32, vec![], &[], &[], &format!("({high} - {low}) / 255.0"));
    let scale = cx.name_of(&scale);
    let zero = cx.define(
        node.out(2),
        Elem::U8,
        vec![],
        &[],
        &[],
        &format!("round(min(max(-{low} / {scale}, 0.0), 255.0)) as u8"),
    );
    let zero = cx.name_of(&zero);
    let body = quantized(cx, &format!("{element} / {scale}"), Some(&zero), Elem::U8, true);
    let covered = vec![true; axes.len()];
    cx.define(node.out(0), Elem::U8, x.shape, &axes, &covered, &body);
    Ok(())
}

/// What is taken off an element, as text: zeros may differ by row or by column.
fn zero_text(cx: &mut Cx<'_>, zero: Option<&Value>, index: &str) -> Option<String> {
    let zero = zero?;
    if zero.known.as_ref().and_then(|it| it.as_ints()).is_some_and(|it| it.iter().all(|n| *n == 0))
    {
        return None;
    }
    let at: Vec<String> = match zero.rank() {
        0 => vec![],
        1 if zero.shape[0].is(1) => vec!["0".into()],
        1 => vec![index.to_owned()],
        2 if zero.shape[0].is(1) => vec!["0".into(), index.to_owned()],
        _ => vec![index.to_owned(), "0".into()],
    };
    Some(cx.read(zero, &at))
}

fn less(element: &str, zero: Option<&String>) -> String {
    match zero {
        Some(zero) => format!("(({element} as i32) - ({zero} as i32))"),
        None => format!("({element} as i32)"),
    }
}

fn matmul_integer(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (a, b) = (node.input(0)?, node.input(1)?);
    let za = zero_text(cx, node.optional(2).as_ref(), "row");
    let zb = zero_text(cx, node.optional(3).as_ref(), "col");
    product(cx, node.out(0), &a, &b, Elem::I32, |a, b| {
        format!("{} * {}", less(a, za.as_ref()), less(b, zb.as_ref()))
    })
    .map(drop)
}

fn conv_integer(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (x, w) = (node.input(0)?, node.input(1)?);
    let zx = zero_text(cx, node.optional(2).as_ref(), "0");
    let zw = zero_text(cx, node.optional(3).as_ref(), "channel");
    convolve(cx, node, node.out(0), &x, &w, Elem::I32, None, |x, w| {
        format!("{} * {}", less(x, zx.as_ref()), less(w, zw.as_ref()))
    })
    .map(drop)
}

fn q_matmul(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (a, b) = (node.input(0)?, node.input(3)?);
    let (sa, sb, sy) = (node.input(1)?, node.input(4)?, node.input(6)?);
    let zero = node.input(7)?;
    let za = zero_text(cx, node.optional(2).as_ref(), "row");
    let zb = zero_text(cx, node.optional(5).as_ref(), "col");
    let whole = product(cx, "", &a, &b, Elem::I32, |a, b| {
        format!("{} * {}", less(a, za.as_ref()), less(b, zb.as_ref()))
    })?;
    let axes = whole.axes.clone();
    let element = cx.read(&whole, &axes);
    let scale = |cx: &mut Cx<'_>, v: &Value, index: &str| {
        let text = zero_text(cx, Some(v), index).unwrap_or_else(|| "1.0".into());
        if v.elem == Elem::F32 || v.single().is_some() { text } else { format!("({text} as f32)") }
    };
    let (sa, sb, sy) = (scale(cx, &sa, "row"), scale(cx, &sb, "col"), scale(cx, &sy, "row"));
    let zy = zero_text(cx, Some(&zero), "row");
    let ratio = format!("{element} as f32 * ({sa} * {sb} / {sy})");
    let body = quantized(cx, &ratio, zy.as_deref(), zero.elem, true);
    let covered = vec![true; axes.len()];
    cx.define(node.out(0), zero.elem, whole.shape, &axes, &covered, &body);
    Ok(())
}

fn q_conv(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (x, w) = (node.input(0)?, node.input(3)?);
    let (sx, sw, sy) = (node.input(1)?, node.input(4)?, node.input(6)?);
    let zero = node.input(7)?;
    let zx = zero_text(cx, node.optional(2).as_ref(), "0");
    let zw = zero_text(cx, node.optional(5).as_ref(), "channel");
    let bias = node.optional(8);
    let whole = convolve(cx, node, "", &x, &w, Elem::I32, bias.as_ref(), |x, w| {
        format!("{} * {}", less(x, zx.as_ref()), less(w, zw.as_ref()))
    })?;
    let axes = whole.axes.clone();
    let element = cx.read(&whole, &axes);
    let scale = |cx: &mut Cx<'_>, v: &Value| {
        zero_text(cx, Some(v), "channel").unwrap_or_else(|| "1.0".into())
    };
    let (sx, sw, sy) = (scale(cx, &sx), scale(cx, &sw), scale(cx, &sy));
    let zy = zero_text(cx, Some(&zero), "channel");
    let ratio = format!("{element} as f32 * ({sx} * {sw} / {sy})");
    let body = quantized(cx, &ratio, zy.as_deref(), zero.elem, true);
    let covered = vec![true; axes.len()];
    cx.define(node.out(0), zero.elem, whole.shape, &axes, &covered, &body);
    Ok(())
}
