//! Convolutions whose windows are read at places that data move: `DeformConv`.

use super::conv::{Window, inner, spatial, window};
use crate::cx::Cx;
use crate::dims::Dim;
use crate::node::{Done, Node, refuse, refuse_at};
use crate::value::Value;

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "DeformConv" => deformed(cx, node),
        _ => return None,
    })
}

/// How many channels there are, and which of them belong together.
struct Parts {
    /// Channels of the array.
    channels: i64,
    /// Channels of the array that a window takes together.
    within: i64,
    /// Channels of the result that take the same of them.
    outer: i64,
    /// Channels of the array that are moved together.
    moved: i64,
}

fn parts(node: &Node<'_>, x: &Value, w: &Value) -> Done<Parts> {
    let (Some(channels), Some(all), Some(within)) =
        (x.shape[1].known(), w.shape[0].known(), w.shape[1].known())
    else {
        return refuse("the channels of its operands are not known");
    };
    let (groups, sets) = (node.int("group", 1), node.int("offset_group", 1));
    if groups < 1 || all % groups != 0 || within.saturating_mul(groups) != channels {
        return refuse_at("group", "does not fit the channels");
    }
    if sets < 1 || channels % sets != 0 {
        return refuse_at("offset_group", "does not divide the channels");
    }
    Ok(Parts { channels, within, outer: all / groups, moved: channels / sets })
}

fn deformed(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (x, w, offset) = (node.input(0)?, node.input(1)?, node.input(2)?);
    let n = x.rank().saturating_sub(2);
    if n == 0 || w.rank() != x.rank() || offset.rank() != x.rank() {
        return refuse("its operands do not have a batch, channels and the same spatial axes");
    }
    if !x.elem.is_float() || w.elem != x.elem || offset.elem != x.elem {
        return refuse("its operands are not floats of one type");
    }
    let Some(kernel) = crate::dims::known(&w.shape[2..]) else {
        return refuse_at("W", "has an extent that is not known");
    };
    let parts = parts(node, &x, &w)?;
    let way = window(node, &x.shape[2..], kernel)?;
    let (outs, steps) = (spatial(n), inner(n));
    let taken = sampled(cx, node, &x, &offset, &way, &parts);
    let taken = cx.name_of(&taken);
    // Channels of one group of the result read those of one group of the array.
    let channel = match parts.channels == parts.within {
        true => "k".to_owned(),
        false => format!("channel / {} * {} + k", parts.outer, parts.within),
    };
    let weight = cx.name_of(&w);
    let mut body = format!(
        "sum[k, {}]({weight}[channel, k, {}] * {taken}[batch, {channel}, {}, {}])",
        steps.join(", "),
        steps.join(", "),
        steps.join(", "),
        outs.join(", "),
    );
    if let Some(bias) = node.optional(3) {
        body = format!("{body} + {}", cx.read(&bias, &["channel".to_owned()]));
    }
    let axes: Vec<String> =
        ["batch".to_owned(), "channel".to_owned()].into_iter().chain(outs).collect();
    let shape: Vec<Dim> =
        [x.shape[0].clone(), w.shape[0].clone()].into_iter().chain(way.out).collect();
    cx.define(node.out(0), x.elem, shape, &axes, &[], &body);
    Ok(())
}

/// What each point of each window is: the points around its place by their weights, zeros outside.
fn sampled(
    cx: &mut Cx<'_>,
    node: &Node<'_>,
    x: &Value,
    offset: &Value,
    way: &Window,
    parts: &Parts,
) -> Value {
    let n = way.kernel.len();
    let (outs, steps) = (spatial(n), inner(n));
    let ty = x.elem.lang();
    // Points of the window in one row, as the offsets and the mask have them.
    let mut point = "0".to_owned();
    for (step, extent) in steps.iter().zip(&way.kernel) {
        point = if point == "0" { step.clone() } else { format!("({point}) * {extent} + {step}") };
    }
    let points: i64 = way.kernel.iter().product();
    let set = |channel: &str| match parts.moved == parts.channels {
        true => "0".to_owned(),
        false => format!("{channel} / {}", parts.moved),
    };
    let places = outs.join(", ");
    let lead = |first: &str| -> Vec<String> {
        ["batch", first]
            .iter()
            .map(|it| (*it).to_owned())
            .chain(steps.clone())
            .chain(outs.clone())
            .collect()
    };
    let extents = |first: i64| -> Vec<Dim> {
        let kernel = way.kernel.iter().map(|k| Dim::from(*k));
        [x.shape[0].clone(), Dim::from(first)]
            .into_iter()
            .chain(kernel)
            .chain(way.out.clone())
            .collect()
    };
    let name = cx.name_of(offset);
    let (mut reads, mut guards, mut factors) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..n {
        let whole = way.place(i, &outs[i], &steps[i]);
        let row = format!("(set * {points} + {point}) * {n} + {i}");
        let body = format!("({whole}) as {ty} + {name}[batch, {row}, {places}]");
        let spot = cx.temp(
            "spot",
            x.elem,
            extents(parts.channels / parts.moved),
            &lead("set"),
            &[],
            &body,
        );
        let mut at = lead("set");
        at[1] = set("channel");
        let spot = cx.read(&spot, &at);
        let share = format!("({spot} - floor({spot}))");
        let tap = format!("tap{i}");
        factors.push(format!("(if {tap} == 0 {{ 1.0 - {share} }} else {{ {share} }})"));
        let index = format!("floor({spot}) as i32 + {tap}");
        guards.push(format!("({index}) in 0..{}", x.shape[2 + i]));
        reads.push(index);
    }
    let taps: Vec<String> = (0..n).map(|i| format!("tap{i} in 0..2")).collect();
    let mut body = format!(
        "sum[{}]({} * {}[batch, channel, {}] where {})",
        taps.join(", "),
        factors.join(" * "),
        cx.name_of(x),
        reads.join(", "),
        guards.join(" && "),
    );
    if let Some(mask) = node.optional(4) {
        let row = format!("({}) * {points} + {point}", set("channel"));
        body = format!("{body} * {}[batch, {row}, {places}]", cx.name_of(&mask));
    }
    cx.temp("sampled", x.elem, extents(parts.channels), &lead("channel"), &[], &body)
}
