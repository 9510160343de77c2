//! Reads at places that are data.

use crate::cx::{Cx, indices, others};
use crate::dims::Dim;
use crate::node::{Done, Node, axis, refuse, refuse_at};
use crate::value::Value;

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "Gather" => gather(cx, node),
        "GatherElements" => elements(cx, node),
        "GatherND" => nested(cx, node),
        "ReverseSequence" => reverse(cx, node),
        _ => return None,
    })
}

/// A place that counts from the end if it is negative.
pub fn from_end(index: &Value, text: &str, extent: &Dim) -> String {
    if index.elem.is_unsigned() {
        return text.to_owned();
    }
    if let Some(ints) = index.ints()
        && ints.iter().all(|n| *n >= 0)
    {
        return text.to_owned();
    }
    format!("if {text} < 0 {{ {text} + {extent} }} else {{ {text} }}")
}

fn gather(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (x, index) = (node.input(0)?, node.input(1)?);
    let along = axis(node.int("axis", 0), x.rank())?;
    let own = indices(&x.axes, x.rank());
    let spare = others(&own, &vec!["a"; index.rank()]);
    let mut axes = own[..along].to_vec();
    axes.extend(spare.iter().cloned());
    axes.extend_from_slice(&own[along + 1..]);
    let mut shape = x.shape[..along].to_vec();
    shape.extend(index.shape.iter().cloned());
    shape.extend_from_slice(&x.shape[along + 1..]);
    let place = match index.int() {
        Some(n) if n < 0 => x.shape[along].plus_int(n).to_string(),
        Some(n) => n.to_string(),
        None => {
            let text = cx.read(&index, &spare);
            from_end(&index, &text, &x.shape[along])
        }
    };
    let mut at = own.clone();
    at[along] = place;
    let name = cx.name_of(&x);
    let mut covered = vec![true; shape.len()];
    if index.int().is_some() {
        covered[along..along + index.rank()].fill(false);
    }
    cx.define(node.out(0), x.elem, shape, &axes, &covered, &format!("{name}[{}]", at.join(", ")));
    Ok(())
}

fn elements(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (x, index) = (node.input(0)?, node.input(1)?);
    if x.rank() != index.rank() {
        return refuse("its inputs have different ranks");
    }
    let along = axis(node.int("axis", 0), x.rank())?;
    let axes = indices(&x.axes, x.rank());
    let name = cx.name_of(&index);
    let text = format!("{name}[{}]", axes.join(", "));
    let mut at = axes.clone();
    at[along] = from_end(&index, &text, &x.shape[along]);
    let x_name = cx.name_of(&x);
    cx.define(
        node.out(0),
        x.elem,
        index.shape,
        &axes,
        &[],
        &format!("{x_name}[{}]", at.join(", ")),
    );
    Ok(())
}

fn nested(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (x, index) = (node.input(0)?, node.input(1)?);
    let batch = usize::try_from(node.int("batch_dims", 0)).unwrap_or(usize::MAX);
    let Some(depth) = index.shape.last().and_then(Dim::known).map(|n| n as usize) else {
        return refuse_at("indices", "has an extent that is not known");
    };
    if batch >= index.rank() || batch + depth > x.rank() {
        return refuse_at("batch_dims", "does not fit its inputs");
    }
    let lead = index.rank() - 1;
    let rank = lead + x.rank() - batch - depth;
    let axes = indices(&[], rank);
    let name = cx.name_of(&index);
    let mut at: Vec<String> = axes[..batch].to_vec();
    for i in 0..depth {
        let text = format!(
            "{name}[{}]",
            axes[..lead].iter().cloned().chain([i.to_string()]).collect::<Vec<_>>().join(", ")
        );
        at.push(from_end(&index, &text, &x.shape[batch + i]));
    }
    at.extend_from_slice(&axes[lead..]);
    let shape = index.shape[..lead].iter().chain(&x.shape[batch + depth..]).cloned().collect();
    let x_name = cx.name_of(&x);
    let body = if at.is_empty() { x_name } else { format!("{x_name}[{}]", at.join(", ")) };
    let covered = vec![true; rank];
    cx.define(node.out(0), x.elem, shape, &axes, &covered, &body);
    Ok(())
}

fn reverse(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (x, lengths) = (node.input(0)?, node.input(1)?);
    let (batch, time) =
        (axis(node.int("batch_axis", 1), x.rank())?, axis(node.int("time_axis", 0), x.rank())?);
    let axes = indices(&x.axes, x.rank());
    let length = cx.read(&lengths, &[axes[batch].clone()]);
    let own = &axes[time];
    let mut at = axes.clone();
    at[time] = format!(
        "if {own} as i64 < {length} {{ {length} - 1 - ({own} as i64) }} else {{ {own} as i64 }}"
    );
    let body = cx.read(&x, &at);
    let mut covered = vec![true; axes.len()];
    covered[time] = false;
    cx.define(node.out(0), x.elem, x.shape, &axes, &covered, &body);
    Ok(())
}
