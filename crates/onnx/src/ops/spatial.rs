//! Sampling of images at computed places, and windows put back together.

use super::conv::{inner, spatial};
use super::scaled;
use crate::cx::Cx;
use crate::dims::{Dim, count};
use crate::elem::Elem;
use crate::node::{Done, MUST_BE_KNOWN, Node, refuse, refuse_at};

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "GridSample" => grid_sample(cx, node),
        "AffineGrid" => affine_grid(cx, node),
        "Col2Im" => col_to_image(cx, node),
        _ => return None,
    })
}

const REFLECTED: &str = "/// `x` thrown back at both ends until it lies between them.
fn reflected(x: f32, low: f32, high: f32) -> f32 {
    let span = high - low;
    let there = std::math::mod(x - low, 2.0 * span);
    if span == 0.0 { low } else { low + if there > span { 2.0 * span - there } else { there } }
}
";

const CUBIC: &str = "/// The weight of the point `tap` of four around a place `t` behind the second.
fn cubic_weight(t: f32, tap: i32) -> f32 {
    let x = abs(t + 1.0 - (tap as f32));
    if x <= 1.0 { (1.25 * x - 2.25) * x * x + 1.0 } else { ((-0.75 * x + 3.75) * x - 6.0) * x + 3.0 }
}
";

fn grid_sample(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (x, grid) = (node.input(0)?, node.input(1)?);
    let n = x.rank().saturating_sub(2);
    if n == 0 || grid.rank() != n + 2 {
        return refuse("its grid does not fit its input");
    }
    let align = node.int("align_corners", 0) != 0;
    let mode = node.string("mode", "linear");
    let taps = match mode.as_str() {
        "nearest" => 1,
        "linear" | "bilinear" => 2,
        "cubic" | "bicubic" => 4,
        other => return refuse_at("mode", format!("`{other}` is not known")),
    };
    let padding = node.string("padding_mode", "zeros");
    if !["zeros", "border", "reflection"].contains(&padding.as_str()) {
        return refuse_at("padding_mode", format!("`{padding}` is not known"));
    }
    cx.helper("reflected", REFLECTED);
    cx.helper("cubic_weight", CUBIC);
    let outs = spatial(n);
    let steps = inner(n);
    let (xn, gn) = (cx.name_of(&x), cx.name_of(&grid));
    let at = format!("batch, {}", outs.join(", "));
    let axes: Vec<String> =
        std::iter::once("batch".to_owned()).chain(outs.iter().cloned()).collect();
    let plane = grid.shape[..n + 1].to_vec();
    let covered = vec![true; n + 1];
    let (mut places, mut guards, mut factors) = (Vec::new(), Vec::new(), Vec::new());
    for (i, step) in steps.iter().enumerate().take(n) {
        let extent = &x.shape[2 + i];
        let long = match extent.known() {
            Some(size) => format!("{size}.0"),
            None => format!("(({extent}) as f32)"),
        };
        let raw = format!("{gn}[{at}, {}]", n - 1 - i);
        let raw = if grid.elem == Elem::F32 { raw } else { format!("({raw} as f32)") };
        let place = if align {
            format!("({raw} + 1.0) / 2.0 * ({long} - 1.0)")
        } else {
            format!("(({raw} + 1.0) * {long} - 1.0) / 2.0")
        };
        let (low, high) = if align {
            ("0.0".to_owned(), format!("{long} - 1.0"))
        } else {
            ("-0.5".to_owned(), format!("{long} - 0.5"))
        };
        let place = if taps == 1 { format!("round({place})") } else { place };
        let place = match padding.as_str() {
            "border" => format!("min(max({place}, 0.0), {long} - 1.0)"),
            "reflection" => format!("reflected({place}, {low}, {high})"),
            _ => place,
        };
        let value = cx.temp("spot", Elem::F32, plane.clone(), &axes, &covered, &place);
        let spot = cx.read(&value, &axes);
        let index = match taps {
            1 => format!("{spot} as i32"),
            2 => format!("floor({spot}) as i32 + {}", step),
            _ => format!("floor({spot}) as i32 + {} - 1", step),
        };
        match taps {
            1 => {}
            2 => factors.push(format!("(if {} == 0 {{ 1.0 - ({spot} - floor({spot})) }} else {{ {spot} - floor({spot}) }})", step)),
            _ => factors.push(format!("cubic_weight({spot} - floor({spot}), {})", step)),
        }
        let last = extent.plus_int(-1);
        places.push(match padding.as_str() {
            "zeros" => {
                guards.push(format!("({index}) in 0..{extent}"));
                index
            }
            "border" => format!("min(max({index}, 0), {last})"),
            _ => format!("min(max(reflected(({index}) as f32, {low}, {high}) as i32, 0), {last})"),
        });
    }
    let element = format!("{xn}[batch, channel, {}]", places.join(", "));
    let element = if x.elem == Elem::F32 || factors.is_empty() {
        element
    } else {
        format!("({element} as f32)")
    };
    let body = if factors.is_empty() {
        if guards.is_empty() {
            element
        } else {
            format!("if {} {{ {element} }} else {{ 0.0 }}", guards.join(" && "))
        }
    } else {
        let over: Vec<String> = steps.iter().map(|it| format!("{it} in 0..{taps}")).collect();
        let guard = if guards.is_empty() {
            String::new()
        } else {
            format!(" where {}", guards.join(" && "))
        };
        let sum = format!("sum[{}]({} * {element}{guard})", over.join(", "), factors.join(" * "));
        if x.elem == Elem::F32 { sum } else { format!("({sum}) as {}", x.elem.lang()) }
    };
    let axes: Vec<String> =
        ["batch".to_owned(), "channel".to_owned()].into_iter().chain(outs).collect();
    let shape: Vec<Dim> =
        x.shape[..2].iter().cloned().chain(grid.shape[1..n + 1].iter().cloned()).collect();
    cx.define(node.out(0), x.elem, shape, &axes, &[], &body);
    Ok(())
}

fn affine_grid(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let theta = node.input(0)?;
    let Some(size) = node.input(1)?.ints() else { return refuse_at("size", MUST_BE_KNOWN) };
    let n = size.len().saturating_sub(2);
    if n == 0 || theta.rank() != 3 || size.iter().any(|it| *it < 1) {
        return refuse_at("size", "does not fit");
    }
    let align = node.int("align_corners", 0) != 0;
    let outs = spatial(n);
    let name = cx.name_of(&theta);
    let ty = theta.elem.lang();
    let mut terms = Vec::new();
    // Coordinates go from the last axis to the first.
    for (j, i) in (0..n).rev().enumerate() {
        let long = size[2 + i];
        let place = &outs[i];
        let coordinate = match (align, long) {
            (true, 1) => format!("0.0 as {ty}"),
            (true, _) => format!("2.0 * ({place} as {ty}) / {}.0 - 1.0", long - 1),
            (false, _) => format!("(2.0 * ({place} as {ty}) + 1.0) / {long}.0 - 1.0"),
        };
        terms.push(format!("{name}[batch, axis, {j}] * ({coordinate})"));
    }
    terms.push(format!("{name}[batch, axis, {n}]"));
    let axes: Vec<String> =
        std::iter::once("batch".to_owned()).chain(outs).chain(["axis".to_owned()]).collect();
    let shape: Vec<Dim> = std::iter::once(Dim::from(size[0]))
        .chain(size[2..].iter().map(|n| Dim::from(*n)))
        .chain([Dim::from(n as i64)])
        .collect();
    cx.define(node.out(0), theta.elem, shape, &axes, &[], &terms.join(" + "));
    Ok(())
}

fn col_to_image(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let Some(image) = node.input(1)?.ints() else { return refuse_at("image_shape", MUST_BE_KNOWN) };
    let Some(block) = node.input(2)?.ints() else { return refuse_at("block_shape", MUST_BE_KNOWN) };
    let n = image.len();
    let list = |name: &str, default: i64, count: usize| {
        node.ints(name).unwrap_or_else(|| vec![default; count])
    };
    let (dilations, strides, pads) =
        (list("dilations", 1, n), list("strides", 1, n), list("pads", 0, 2 * n));
    if n == 0
        || block.len() != n
        || dilations.len() != n
        || strides.len() != n
        || pads.len() != 2 * n
        || x.rank() != 3
    {
        return refuse("its attributes do not fit its input");
    }
    if strides.iter().chain(&dilations).chain(&block).any(|it| !(1..=1 << 20).contains(it)) {
        return refuse_at("strides", "is not positive");
    }
    let (outs, steps) = (spatial(n), inner(n));
    let (mut guards, mut column, mut place) = (Vec::new(), String::new(), String::new());
    for i in 0..n {
        let reach = (block[i] - 1) * dilations[i] + 1;
        let number = (image[i] + pads[i] + pads[n + i] - reach) / strides[i] + 1;
        let from = format!("{} + {} - {}", outs[i], pads[i], scaled(dilations[i], &steps[i]));
        guards.push(format!("{from} >= 0"));
        if strides[i] > 1 {
            guards.push(format!("({from}) % {} == 0", strides[i]));
        }
        let step = if strides[i] == 1 {
            format!("({from})")
        } else {
            format!("({from}) / {}", strides[i])
        };
        guards.push(format!("{step} < {number}"));
        (column, place) = if i == 0 {
            (format!("channel * {} + {}", block[i], steps[i]), step)
        } else {
            (
                format!("({column}) * {} + {}", block[i], steps[i]),
                format!("({place}) * {number} + {step}"),
            )
        };
    }
    let over: Vec<String> =
        steps.iter().zip(&block).map(|(s, k)| format!("{s} in 0..{k}")).collect();
    let name = cx.name_of(&x);
    let body = format!(
        "sum[{}]({name}[batch, {column}, {place}] where {})",
        over.join(", "),
        guards.join(" && ")
    );
    let area = count(&crate::dims::dims(&block));
    let axes: Vec<String> =
        ["batch".to_owned(), "channel".to_owned()].into_iter().chain(outs).collect();
    let shape: Vec<Dim> = [x.shape[0].clone(), x.shape[1].over(&area)]
        .into_iter()
        .chain(crate::dims::dims(&image))
        .collect();
    cx.define(node.out(0), x.elem, shape, &axes, &[], &body);
    Ok(())
}
