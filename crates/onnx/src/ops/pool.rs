//! Pooling: a window moves over the spatial axes and is reduced.

use super::conv::{Window, inner, spatial, window};
use crate::cx::Cx;
use crate::dims::{Dim, count};
use crate::elem::Elem;
use crate::node::{Done, Node, refuse, refuse_at};
use crate::value::Value;

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "MaxPool" => max(cx, node),
        "AveragePool" | "LpPool" => average(cx, node),
        "GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool" => global(cx, node),
        "MaxUnpool" => unpool(cx, node),
        _ => return None,
    })
}

/// The operand, its window and the names of its axes.
struct Pool {
    x: Value,
    way: Window,
    axes: Vec<String>,
    shape: Vec<Dim>,
    places: Vec<String>,
    guard: String,
    over: Vec<String>,
    steps: Vec<String>,
}

fn pool(node: &Node<'_>) -> Done<Pool> {
    let x = node.input(0)?;
    let n = x.rank().saturating_sub(2);
    if n == 0 {
        return refuse("its input has no spatial axes");
    }
    let Some(kernel) = node.ints("kernel_shape") else {
        return refuse_at("kernel_shape", "is missing");
    };
    let way = window(node, &x.shape[2..], kernel)?;
    let (outs, steps) = (spatial(n), inner(n));
    let (places, guards) = way.places(&outs, &steps, &x.shape[2..]);
    let guard =
        if guards.is_empty() { String::new() } else { format!(" where {}", guards.join(" && ")) };
    let mut over = way.steps(&steps);
    if over.is_empty() {
        over.push(format!("{} in 0..1", steps[0]));
    }
    let axes = ["batch".to_owned(), "channel".to_owned()].into_iter().chain(outs).collect();
    let shape = x.shape[..2].iter().cloned().chain(way.out.clone()).collect();
    Ok(Pool { x, way, axes, shape, places, guard, over, steps })
}

fn max(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let p = pool(node)?;
    let name = cx.name_of(&p.x);
    let element = format!("{name}[batch, channel, {}]", p.places.join(", "));
    let body = format!("max[{}]({element}{})", p.over.join(", "), p.guard);
    let best = cx.define(node.out(0), p.x.elem, p.shape.clone(), &p.axes, &[true, true], &body);
    if !node.has_out(1) {
        return Ok(());
    }
    // The first place of the greatest element, in the order of the whole array.
    let extents = &p.x.shape;
    let columns = node.int("storage_order", 0) == 1;
    let order: Vec<usize> =
        if columns { (0..p.places.len()).rev().collect() } else { (0..p.places.len()).collect() };
    let mut flat = String::new();
    for (i, axis) in order.iter().enumerate() {
        flat = if i == 0 {
            format!("({})", p.places[*axis])
        } else {
            format!("({flat} * {} + {})", extents[2 + axis].factor_text(), p.places[*axis])
        };
    }
    let area = count(&extents[2..]);
    let channels = extents[1].factor_text();
    let whole = format!("(batch * {channels} + channel) * {} + {flat}", area.factor_text());
    let own = cx.read(&best, &p.axes);
    let and = if p.guard.is_empty() {
        format!(" where {element} == {own}")
    } else {
        format!("{} && {element} == {own}", p.guard)
    };
    let body = format!("min[{}]({whole}{and}) as i64", p.over.join(", "));
    cx.define(node.out(1), Elem::I64, p.shape, &p.axes, &[true, true], &body);
    Ok(())
}

fn average(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let p = pool(node)?;
    let name = cx.name_of(&p.x);
    let element = format!("{name}[batch, channel, {}]", p.places.join(", "));
    let over = p.over.join(", ");
    let body = if node.op == "LpPool" {
        power_sum(node.int("p", 2), &over, &element, &p.guard, p.x.elem)
    } else if p.guard.is_empty() {
        format!("mean[{over}]({element})")
    } else if node.int("count_include_pad", 0) == 0 {
        format!("mean[{over}]({element}{})", p.guard)
    } else {
        // Points of the padding count, those beyond it do not.
        let mut parts = Vec::new();
        for i in 0..p.way.kernel.len() {
            let size = p.x.shape[2 + i].plus(&p.way.before[i]).plus(&p.way.after[i]);
            let end = p.way.out[i]
                .plus_int(-1)
                .times(&Dim::from(p.way.strides[i]))
                .plus_int((p.way.kernel[i] - 1) * p.way.dilations[i] + 1);
            if end.minus(&size).known().is_none_or(|n| n > 0) {
                let text = p.way.place(i, &p.axes[2 + i], &p.steps[i]);
                parts.push(format!("{text} < {}", p.x.shape[2 + i].plus(&p.way.after[i])));
            }
        }
        let ty = p.x.elem.lang();
        let number = if parts.is_empty() {
            format!("{}.0", p.way.kernel.iter().product::<i64>())
        } else {
            format!("(count[{over}]({}) as {ty})", parts.join(" && "))
        };
        format!("sum[{over}]({element}{}) / {number}", p.guard)
    };
    cx.define(node.out(0), p.x.elem, p.shape, &p.axes, &[true, true], &body);
    Ok(())
}

fn power_sum(p: i64, over: &str, element: &str, guard: &str, elem: Elem) -> String {
    let ty = elem.lang();
    match p {
        1 => format!("sum[{over}](abs({element}){guard})"),
        2 => format!("sqrt(sum[{over}]({element} * {element}{guard}))"),
        p => format!("sum[{over}](abs({element}) ** {p}{guard}) ** (1.0 / {p}.0 as {ty})"),
    }
}

fn global(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let n = x.rank().saturating_sub(2);
    if n == 0 {
        cx.set(node.out(0), x);
        return Ok(());
    }
    let over = spatial(n);
    let name = cx.name_of(&x);
    let element = format!("{name}[batch, channel, {}]", over.join(", "));
    let over_text = over.join(", ");
    let body = match node.op {
        "GlobalAveragePool" => format!("mean[{over_text}]({element})"),
        "GlobalMaxPool" => format!("max[{over_text}]({element})"),
        _ => power_sum(node.int("p", 2), &over_text, &element, "", x.elem),
    };
    let axes: Vec<String> = ["batch".to_owned(), "channel".to_owned()]
        .into_iter()
        .chain(over.iter().map(|it| format!("_{it}")))
        .collect();
    let shape = x.shape[..2].iter().cloned().chain((0..n).map(|_| Dim::from(1))).collect();
    cx.define(node.out(0), x.elem, shape, &axes, &[true, true], &body);
    Ok(())
}

fn unpool(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (x, places) = (node.input(0)?, node.input(1)?);
    let n = x.rank().saturating_sub(2);
    let Some(kernel) = node.ints("kernel_shape").filter(|it| it.len() == n && n > 0) else {
        return refuse_at("kernel_shape", "does not say a number for each axis");
    };
    let strides = node.ints("strides").unwrap_or_else(|| vec![1; n]);
    let pads = node.ints("pads").unwrap_or_else(|| vec![0; 2 * n]);
    if strides.len() != n || pads.len() != 2 * n {
        return refuse_at("strides", "does not say a number for each axis");
    }
    // The places count in the array that the pooling saw; a stated shape may be larger.
    let mut first: Vec<Dim> = x.shape[..2].to_vec();
    for i in 0..n {
        let dim = x.shape[2 + i].plus_int(-1).times(&Dim::from(strides[i]));
        first.push(dim.plus_int(kernel[i].saturating_sub(pads[i]).saturating_sub(pads[n + i])));
    }
    let shape = match node.optional(2) {
        None => first.clone(),
        Some(v) => match v.known.as_deref().and_then(crate::data::Data::as_dims) {
            Some(dims) if dims.len() == x.rank() => dims,
            Some(_) => return refuse_at("output_shape", "does not say an extent for each axis"),
            None => return refuse_at("output_shape", crate::node::MUST_BE_KNOWN),
        },
    };
    let (outs, steps) = (spatial(n), inner(n));
    let flat = outs.iter().enumerate().fold(
        "(batch * ".to_owned() + &first[1].factor_text() + " + channel)",
        |text, (i, out)| format!("({text} * {} + {out})", first[2 + i].factor_text()),
    );
    let at = format!("batch, channel, {}", steps.join(", "));
    let (x_name, p_name) = (cx.name_of(&x), cx.name_of(&places));
    let inside: Vec<String> = outs
        .iter()
        .enumerate()
        .filter(|(i, _)| shape[2 + i] != first[2 + i])
        .map(|(i, out)| format!(" && {out} < {}", first[2 + i]))
        .collect();
    let body = format!(
        "sum[{}]({x_name}[{at}] where {p_name}[{at}] == {flat} as i64{})",
        steps.join(", "),
        inside.concat()
    );
    let axes: Vec<String> =
        ["batch".to_owned(), "channel".to_owned()].into_iter().chain(outs).collect();
    cx.define(node.out(0), x.elem, shape, &axes, &[true, true], &body);
    Ok(())
}
