//! Writes at places that are data: each point asks which updates are for it.

use super::gather::from_end;
use crate::cx::{Cx, indices, others};
use crate::dims::Dim;
use crate::elem::Elem;
use crate::node::{Done, Node, axis, refuse, refuse_at};
use crate::value::Value;

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "ScatterElements" | "Scatter" => elements(cx, node),
        "ScatterND" => nested(cx, node),
        "TensorScatter" => cache(cx, node),
        _ => return None,
    })
}

/// How updates and what was there are put together.
fn combined(
    cx: &mut Cx<'_>,
    reduction: &str,
    x: &Value,
    axes: &[String],
    over: &str,
    update: &str,
    here: &str,
) -> Done<String> {
    let own = cx.read(x, axes);
    Ok(match reduction {
        "none" if x.elem == Elem::Bool => {
            format!("if any[{over}]({here}) {{ any[{over}]({update} && {here}) }} else {{ {own} }}")
        }
        "none" => {
            let covered = vec![true; axes.len()];
            let hits = cx.temp(
                "hits",
                Elem::I32,
                x.shape.clone(),
                axes,
                &vec![false; covered.len()],
                &format!("count[{over}]({here})"),
            );
            let hits = cx.read(&hits, axes);
            format!("if {hits} > 0 {{ sum[{over}]({update} where {here}) }} else {{ {own} }}")
        }
        "add" => format!("{own} + sum[{over}]({update} where {here})"),
        "mul" => format!("{own} * prod[{over}]({update} where {here})"),
        "max" | "min" => format!(
            "{reduction}({own}, {reduction}[{over}](if {here} {{ {update} }} else {{ {own} }}))"
        ),
        other => return refuse_at("reduction", format!("`{other}` is not known")),
    })
}

fn elements(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (x, index, updates) = (node.input(0)?, node.input(1)?, node.input(2)?);
    if x.rank() != index.rank() || x.rank() != updates.rank() {
        return refuse("its inputs have different ranks");
    }
    let along = axis(node.int("axis", 0), x.rank())?;
    let axes = indices(&x.axes, x.rank());
    let step = others(&axes, &["k"]).remove(0);
    let mut at = axes.clone();
    at[along].clone_from(&step);
    let (index_name, update_name) = (cx.name_of(&index), cx.name_of(&updates));
    let places = at.join(", ");
    let target = from_end(&index, &format!("{index_name}[{places}]"), &x.shape[along]);
    let mut here = format!("({target}) == {} as {}", axes[along], index.elem.lang());
    // Along the other axes there may be fewer updates than points.
    for (i, name) in axes.iter().enumerate() {
        if i != along && index.shape[i] != x.shape[i] {
            here = format!("{name} < {} && {here}", index.shape[i]);
        }
    }
    let over = format!("{step} in 0..{}", index.shape[along]);
    let update = format!("{update_name}[{places}]");
    let body = combined(cx, &node.string("reduction", "none"), &x, &axes, &over, &update, &here)?;
    let covered = vec![false; axes.len()];
    cx.define(node.out(0), x.elem, x.shape, &axes, &covered, &body);
    Ok(())
}

fn nested(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (x, index, updates) = (node.input(0)?, node.input(1)?, node.input(2)?);
    let Some(depth) = index.shape.last().and_then(Dim::known).map(|n| n as usize) else {
        return refuse_at("indices", "has an extent that is not known");
    };
    let lead = index.rank() - 1;
    if depth > x.rank() || updates.rank() != lead + x.rank() - depth {
        return refuse("its updates do not fit its indices");
    }
    let axes = indices(&x.axes, x.rank());
    let steps = others(&axes, &vec!["u"; lead]);
    let (index_name, update_name) = (cx.name_of(&index), cx.name_of(&updates));
    let mut tests = Vec::new();
    for (i, axis) in axes.iter().enumerate().take(depth) {
        let at: Vec<String> = steps.iter().cloned().chain([i.to_string()]).collect();
        let text = format!("{index_name}[{}]", at.join(", "));
        tests.push(format!(
            "({}) == {} as {}",
            from_end(&index, &text, &x.shape[i]),
            axis,
            index.elem.lang()
        ));
    }
    if steps.is_empty() || tests.is_empty() {
        return refuse("it has no indices");
    }
    let over: Vec<String> =
        steps.iter().zip(&index.shape).map(|(s, dim)| format!("{s} in 0..{dim}")).collect();
    let at: Vec<String> = steps.iter().cloned().chain(axes[depth..].iter().cloned()).collect();
    let update = format!("{update_name}[{}]", at.join(", "));
    let body = combined(
        cx,
        &node.string("reduction", "none"),
        &x,
        &axes,
        &over.join(", "),
        &update,
        &tests.join(" && "),
    )?;
    let covered = vec![false; axes.len()];
    cx.define(node.out(0), x.elem, x.shape, &axes, &covered, &body);
    Ok(())
}

/// A cache with a piece written into it at a place of its own for each member of the batch.
fn cache(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (x, update) = (node.input(0)?, node.input(1)?);
    let along = axis(node.int("axis", -2), x.rank())?;
    let axes = indices(&x.axes, x.rank());
    let circular = node.string("mode", "linear") == "circular";
    let start = match node.optional(2) {
        Some(start) => format!("({} as i32)", cx.read(&start, &[axes[0].clone()])),
        None => "0".into(),
    };
    let own = &axes[along];
    let offset = if circular {
        format!("std::math::mod({own} - {start}, {})", x.shape[along])
    } else {
        format!("{own} - {start}")
    };
    let mut at = axes.clone();
    at[along].clone_from(&offset);
    let (old, new) = (cx.read(&x, &axes), cx.name_of(&update));
    let body = format!(
        "if {offset} in 0..{} {{ {new}[{}] }} else {{ {old} }}",
        update.shape[along],
        at.join(", ")
    );
    let covered = vec![true; axes.len()];
    cx.define(node.out(0), x.elem, x.shape, &axes, &covered, &body);
    Ok(())
}
