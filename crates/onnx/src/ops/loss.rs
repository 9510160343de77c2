//! Losses.

use crate::cx::{Cx, indices};
use crate::node::{Done, Node, refuse, refuse_at};
use crate::value::Value;

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "NegativeLogLikelihoodLoss" => likelihood(cx, node),
        "SoftmaxCrossEntropyLoss" => entropy(cx, node),
        _ => return None,
    })
}

fn likelihood(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    loss(cx, node, &x)
}

fn entropy(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    if x.rank() < 2 {
        return refuse("its input has no classes");
    }
    let log = super::softmax::along_axis(cx, "LogSoftmax", node.out(1), &x, 1);
    loss(cx, node, &log)
}

/// The loss of log-probabilities.
fn loss(cx: &mut Cx<'_>, node: &Node<'_>, x: &Value) -> Done {
    let target = node.input(1)?;
    if x.rank() < 2 || target.rank() + 1 != x.rank() {
        return refuse("its target does not fit its input");
    }
    let ignore = node.attribute("ignore_index").map(|it| it.i);
    let rank = target.rank();
    let axes = indices(&[], rank);
    let class = cx.read(&target, &axes);
    let mut at = axes.clone();
    at.insert(1, class.clone());
    let score = cx.read(x, &at);
    let weight = node.optional(2).map(|it| cx.read(&it, std::slice::from_ref(&class)));
    let protect = |text: String| match ignore {
        Some(ignored) => format!("if {class} == {ignored} {{ 0.0 }} else {{ {text} }}"),
        None => text,
    };
    let each = match &weight {
        Some(weight) => protect(format!("-{score} * {weight}")),
        None => protect(format!("-{score}")),
    };
    let covered = vec![true; rank];
    let reduction = node.string("reduction", "mean");
    if reduction == "none" {
        cx.define(node.out(0), x.elem, target.shape, &axes, &covered, &each);
        return Ok(());
    }
    let parts = cx.temp("each", x.elem, target.shape.clone(), &axes, &covered, &each);
    let part = cx.read(&parts, &axes);
    let over = axes.join(", ");
    let sum = format!("sum[{over}]({part})");
    let body = match reduction.as_str() {
        "sum" => sum,
        "mean" => match (&weight, ignore) {
            (None, None) => format!("mean[{over}]({part})"),
            (None, Some(ignored)) => {
                format!("{sum} / (count[{over}]({class} != {ignored}) as {})", x.elem.lang())
            }
            (Some(weight), _) => {
                let own = cx.temp(
                    "share",
                    x.elem,
                    target.shape.clone(),
                    &axes,
                    &covered,
                    &protect(weight.clone()),
                );
                let own = cx.read(&own, &axes);
                format!("{sum} / sum[{over}]({own})")
            }
        },
        other => return refuse_at("reduction", format!("`{other}` is not known")),
    };
    cx.define(node.out(0), x.elem, Vec::new(), &[], &[], &body);
    Ok(())
}
