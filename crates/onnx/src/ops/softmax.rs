//! Softmax and its kin.

use super::reduce::reduction;
use crate::cx::Cx;
use crate::dims::count;
use crate::elem::Elem;
use crate::node::{Done, Node, axis, refuse};
use crate::value::Value;

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "Softmax" | "LogSoftmax" | "Hardmax" => softmax(cx, node),
        _ => return None,
    })
}

fn softmax(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    if x.rank() == 0 {
        return refuse("its input has no axes");
    }
    let old = node.opset < 13;
    let along = axis(node.int("axis", if old { 1 } else { -1 }), x.rank())?;
    if old && along + 1 != x.rank() {
        // Before version 13 all axes from this one on are one.
        let shape = x.shape.clone();
        let (front, back) = shape.split_at(along);
        let flat = super::shape::reshape_to(cx, "", &x, vec![count(front), count(back)]);
        let result = along_axis(cx, node.op, "", &flat, 1);
        super::shape::reshape_to(cx, node.out(0), &result, shape.clone());
        return Ok(());
    }
    along_axis(cx, node.op, node.out(0), &x, along);
    Ok(())
}

/// One of the functions along an axis.
pub fn along_axis(cx: &mut Cx<'_>, op: &str, out: &str, x: &Value, along: usize) -> Value {
    let way = reduction(x, &[along], false);
    let at = way.at.clone();
    let index = at[along].clone();
    let element = cx.read(x, &at);
    let covered = vec![true; at.len()];
    if op == "Hardmax" {
        let body = format!("argmax[{index}]({element})");
        let best = cx.temp("best", Elem::I32, way.shape.clone(), &way.axes, &way.covered, &body);
        let best = cx.read(&best, &way.axes);
        let mut covered = covered;
        covered[along] = false;
        let ty = x.elem.lang();
        let body = format!("if {index} == {best} {{ 1.0 as {ty} }} else {{ 0.0 as {ty} }}");
        return cx.define(out, x.elem, x.shape.clone(), &at, &covered, &body);
    }
    let top = cx.temp(
        "top",
        x.elem,
        way.shape.clone(),
        &way.axes,
        &way.covered,
        &format!("max[{index}]({element})"),
    );
    let top = cx.read(&top, &way.axes);
    if op == "LogSoftmax" {
        let body = format!("{top} + log(sum[{index}](exp({element} - {top})))");
        let total = cx.temp("total", x.elem, way.shape.clone(), &way.axes, &way.covered, &body);
        let total = cx.read(&total, &way.axes);
        return cx.define(
            out,
            x.elem,
            x.shape.clone(),
            &at,
            &covered,
            &format!("{element} - {total}"),
        );
    }
    let power = cx.temp(
        "power",
        x.elem,
        x.shape.clone(),
        &at,
        &covered,
        &format!("exp({element} - {top})"),
    );
    let power = cx.read(&power, &at);
    let total = cx.temp(
        "total",
        x.elem,
        way.shape.clone(),
        &way.axes,
        &way.covered,
        &format!("sum[{index}]({power})"),
    );
    let total = cx.read(&total, &way.axes);
    cx.define(out, x.elem, x.shape.clone(), &at, &covered, &format!("{power} / {total}"))
}
