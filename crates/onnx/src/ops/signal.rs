//! Fourier transforms, written as the sums they are.

use crate::cx::{Cx, indices};
use crate::dims::Dim;
use crate::node::{Done, MUST_BE_KNOWN, Node, axis, refuse, refuse_at};

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "DFT" => transform(cx, node),
        "STFT" => frames(cx, node),
        _ => return None,
    })
}

/// The angle of a factor: whole turns are left out first, so that it stays exact.
fn angle(product: &str, length: i64) -> String {
    format!("6.283185307179586 * (((({product}) % {length}) as f64) / {length}.0)")
}

fn transform(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let along = match (node.opset >= 20, node.optional(2)) {
        (true, Some(v)) => match v.int() {
            Some(n) => n,
            None => return refuse_at("axis", MUST_BE_KNOWN),
        },
        (true, None) => -2,
        (false, _) => node.int("axis", 1),
    };
    let along = axis(along, x.rank())?;
    let rank = x.rank();
    let Some(parts) = x.shape[rank - 1].known() else {
        return refuse("its last extent is not known");
    };
    let Some(extent) = x.shape[along].known() else {
        return refuse("the extent of its axis is not known");
    };
    if along + 1 == rank {
        return refuse_at("axis", "is that of real and imaginary parts");
    }
    let inverse = node.int("inverse", 0) != 0;
    let one_sided = node.int("onesided", 0) != 0;
    let default = if inverse && one_sided { 2 * (extent - 1) } else { extent };
    let length = match node.optional(1) {
        None => default,
        Some(v) => match v.int() {
            Some(n) if (1..=1 << 24).contains(&n) => n,
            Some(_) => return refuse_at("dft_length", "is not positive"),
            None => return refuse_at("dft_length", MUST_BE_KNOWN),
        },
    };
    let axes = indices(&[], rank);
    let own = axes[along].clone();
    let step = crate::cx::others(&axes, &["t"]).remove(0);
    let part = axes[rank - 1].clone();
    let mut at = axes.clone();
    at[along].clone_from(&step);
    let name = cx.name_of(&x);
    let element = |c: &str, at: &[String]| {
        let mut at = at.to_vec();
        at[rank - 1] = c.to_owned();
        format!("({name}[{}] as f64)", at.join(", "))
    };
    let mut shape = x.shape.clone();
    let turn = angle(&format!("{own} * {step}"), length);
    let ty = x.elem.lang();
    if inverse && one_sided {
        // Half of the spectrum says the rest: a real result.
        let half = length / 2 + 1;
        let known = half.min(extent);
        let twice = format!("if {step} == 0 || 2 * {step} == {length} {{ 1.0 }} else {{ 2.0 }}");
        let (re, im) =
            (element("0", &at), if parts == 2 { element("1", &at) } else { "0.0".into() });
        let body = format!(
            "(sum[{step} in 0..{known}](({twice}) * ({re} * cos({turn}) - {im} * sin({turn}))) / {length}.0) as {ty}"
        );
        shape[along] = Dim::from(length);
        shape[rank - 1] = Dim::from(1);
        cx.define(node.out(0), x.elem, shape, &axes, &[], &body);
        return Ok(());
    }
    let number = length.min(extent);
    let (re, im) = (element("0", &at), element("1", &at));
    let (plus, minus) = if inverse { ("-", "+") } else { ("+", "-") };
    let (real, imaginary) = if parts == 2 {
        (
            format!("{re} * cos({turn}) {plus} {im} * sin({turn})"),
            format!("{im} * cos({turn}) {minus} {re} * sin({turn})"),
        )
    } else {
        (
            format!("{re} * cos({turn})"),
            format!("{}{re} * sin({turn})", if inverse { "" } else { "-" }),
        )
    };
    let scale = if inverse { format!(" / {length}.0") } else { String::new() };
    let over = format!("{step} in 0..{number}");
    let body = format!(
        "if {part} == 0 {{ (sum[{over}]({real}){scale}) as {ty} }} else {{ (sum[{over}]({imaginary}){scale}) as {ty} }}"
    );
    shape[along] = Dim::from(if one_sided { length / 2 + 1 } else { length });
    shape[rank - 1] = Dim::from(2);
    cx.define(node.out(0), x.elem, shape, &axes, &[], &body);
    Ok(())
}

fn frames(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    if x.rank() != 3 {
        return refuse("its signal does not have three axes");
    }
    let Some(step) = node.input(1)?.int().filter(|n| *n >= 1) else {
        return refuse_at("frame_step", MUST_BE_KNOWN);
    };
    let window = node.optional(2);
    let length = match (node.optional(3), &window) {
        (Some(v), _) => match v.int() {
            Some(n) => n,
            None => return refuse_at("frame_length", MUST_BE_KNOWN),
        },
        (None, Some(window)) => window.shape[0].known().unwrap_or(0),
        (None, None) => return refuse("neither a window nor a length is given"),
    };
    if !(1..=1 << 24).contains(&length) {
        return refuse_at("frame_length", "is not positive");
    }
    let name = cx.name_of(&x);
    let weight = match &window {
        Some(window) => format!(" * ({}[t] as f64)", cx.name_of(window)),
        None => String::new(),
    };
    let read = |part: i64| format!("({name}[batch, frame * {step} + t, {part}] as f64){weight}");
    let turn = angle("frequency * t", length);
    let (real, imaginary) = if x.shape[2].is(2) {
        (
            format!("{} * cos({turn}) + {} * sin({turn})", read(0), read(1)),
            format!("{} * cos({turn}) - {} * sin({turn})", read(1), read(0)),
        )
    } else {
        (format!("{} * cos({turn})", read(0)), format!("-{} * sin({turn})", read(0)))
    };
    let ty = x.elem.lang();
    let over = format!("t in 0..{length}");
    let body = format!(
        "if part == 0 {{ sum[{over}]({real}) as {ty} }} else {{ sum[{over}]({imaginary}) as {ty} }}"
    );
    let number = x.shape[1].plus_int(-length).over(&Dim::from(step)).plus_int(1);
    let width = if node.int("onesided", 1) != 0 { length / 2 + 1 } else { length };
    let shape = vec![x.shape[0].clone(), number, Dim::from(width), Dim::from(2)];
    let axes: Vec<String> =
        ["batch", "frame", "frequency", "part"].iter().map(|it| (*it).to_owned()).collect();
    cx.define(node.out(0), x.elem, shape, &axes, &[], &body);
    Ok(())
}
