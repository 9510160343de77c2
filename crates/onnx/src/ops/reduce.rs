//! Reductions, running sums, and places of extremes.

use crate::cx::{Cx, indices};
use crate::dims::{Dim, count};
use crate::elem::Elem;
use crate::node::{Done, Node, axis, refuse_at};
use crate::value::Value;

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "ReduceSum" | "ReduceMean" | "ReduceProd" | "ReduceMax" | "ReduceMin" | "ReduceL1"
        | "ReduceL2" | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceSumSquare" => reduce(cx, node),
        "ArgMax" | "ArgMin" => place(cx, node),
        "CumSum" | "CumProd" => running(cx, node),
        _ => return None,
    })
}

/// How the axes of an array are reduced.
pub struct Reduction {
    /// The index names of the array.
    pub at: Vec<String>,
    /// The index names that are reduced.
    pub over: Vec<String>,
    /// The extents of the result.
    pub shape: Vec<Dim>,
    /// The index names of the result.
    pub axes: Vec<String>,
    /// Those of its axes that are read.
    pub covered: Vec<bool>,
}

/// Reduces axes of a value; they stay with extent one if `keep`.
pub fn reduction(x: &Value, axes: &[usize], keep: bool) -> Reduction {
    let at = indices(&x.axes, x.rank());
    let over: Vec<String> = axes.iter().map(|axis| at[*axis].clone()).collect();
    let mut result =
        Reduction { at: at.clone(), over, shape: vec![], axes: vec![], covered: vec![] };
    for (i, dim) in x.shape.iter().enumerate() {
        if !axes.contains(&i) {
            result.shape.push(dim.clone());
            result.axes.push(at[i].clone());
            result.covered.push(true);
        } else if keep {
            result.shape.push(Dim::from(1));
            // The same name inside the reduction is another index.
            result.axes.push(format!("_{}", at[i]));
            result.covered.push(false);
        }
    }
    result
}

fn reduce(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let given = node.known_ints("axes", 1)?;
    let keep = node.int("keepdims", 1) != 0;
    let none = given.as_ref().is_none_or(Vec::is_empty);
    let axes: Vec<usize> = match given {
        _ if none && node.int("noop_with_empty_axes", 0) != 0 => Vec::new(),
        Some(axes) if !axes.is_empty() => {
            let mut axes =
                axes.into_iter().map(|it| axis(it, x.rank())).collect::<Done<Vec<_>>>()?;
            axes.sort_unstable();
            axes.dedup();
            axes
        }
        _ => (0..x.rank()).collect(),
    };
    let elem = x.elem;
    let way = reduction(&x, &axes, keep);
    let over = way.over.join(", ");
    let element = cx.read(&x, &way.at);
    let fold = |function: &str, body: &str| {
        if over.is_empty() { body.to_owned() } else { format!("{function}[{over}]({body})") }
    };
    let size = count(&axes.iter().map(|it| x.shape[*it].clone()).collect::<Vec<_>>());
    let size_text = |dim: &Dim| match dim.known() {
        Some(n) => {
            if elem.is_float() {
                format!("{n}.0")
            } else {
                n.to_string()
            }
        }
        None => format!("(({dim}) as {})", elem.lang()),
    };
    let magnitude = if elem.is_unsigned() { element.clone() } else { format!("abs({element})") };
    let float = |text: String| if elem.is_float() { text } else { format!("({text} as f64)") };
    let back =
        |text: String| if elem.is_float() { text } else { format!("({text}) as {}", elem.lang()) };
    let body = match node.op {
        "ReduceSum" => fold("sum", &element),
        "ReduceMean" if over.is_empty() => element.clone(),
        "ReduceMean" => format!("{} / {}", fold("sum", &element), size_text(&size)),
        "ReduceProd" => fold("prod", &element),
        "ReduceMax" if elem == Elem::Bool => fold("any", &element),
        "ReduceMin" if elem == Elem::Bool => fold("all", &element),
        "ReduceMax" | "ReduceMin" => {
            let function = if node.op == "ReduceMax" { "max" } else { "min" };
            if size.is(0) && !elem.is_float() {
                let (low, high) = elem.limits();
                format!("{} as {}", if function == "max" { low } else { high }, elem.lang())
            } else {
                fold(function, &element)
            }
        }
        "ReduceL1" => fold("sum", &magnitude),
        "ReduceL2" => {
            back(format!("sqrt({})", float(fold("sum", &format!("{element} * {element}")))))
        }
        "ReduceLogSum" => back(format!("log({})", float(fold("sum", &element)))),
        "ReduceSumSquare" => fold("sum", &format!("{element} * {element}")),
        _ => {
            let element = float(element);
            if over.is_empty() {
                back(format!("log(exp({element}))"))
            } else {
                // Shifted by the greatest element, so that no exponential overflows.
                let kind = if elem.is_float() { elem } else { Elem::F64 };
                let flat = reduction(&x, &axes, false);
                let top = format!("max[{over}]({element})");
                let top = cx.temp("top", kind, flat.shape.clone(), &flat.axes, &flat.covered, &top);
                let base = cx.read(&top, &flat.axes);
                let safe = format!("if abs({base}) < 1.0 / 0.0 {{ {base} }} else {{ 0.0 }}");
                let shift =
                    cx.temp("shift", kind, flat.shape.clone(), &flat.axes, &flat.covered, &safe);
                let base = cx.read(&shift, &flat.axes);
                back(format!("{base} + log(sum[{over}](exp({element} - {base})))"))
            }
        }
    };
    cx.define(node.out(0), elem, way.shape, &way.axes, &way.covered, &body);
    Ok(())
}

fn place(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let along = axis(node.int("axis", 0), x.rank())?;
    let way = reduction(&x, &[along], node.int("keepdims", 1) != 0);
    let function = if node.op == "ArgMax" { "argmax" } else { "argmin" };
    let index = &way.at[along];
    let body = if node.int("select_last_index", 0) != 0 {
        let last = x.shape[along].plus_int(-1);
        let mut at = way.at.clone();
        at[along] = format!("{last} - {index}");
        let element = cx.read(&x, &at);
        format!("({last} - {function}[{index} in 0..{}]({element})) as i64", x.shape[along])
    } else {
        let element = cx.read(&x, &way.at);
        format!("{function}[{index}]({element}) as i64")
    };
    cx.define(node.out(0), Elem::I64, way.shape, &way.axes, &way.covered, &body);
    Ok(())
}

fn running(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let Some(along) = node.input(1)?.int() else {
        return refuse_at("axis", crate::node::MUST_BE_KNOWN);
    };
    let along = axis(along, x.rank())?;
    let axes = indices(&x.axes, x.rank());
    let step = crate::cx::others(&axes, &["k"]).remove(0);
    let mut at = axes.clone();
    at[along].clone_from(&step);
    let element = cx.read(&x, &at);
    let own = &axes[along];
    let extent = &x.shape[along];
    let range = match (node.int("exclusive", 0) != 0, node.int("reverse", 0) != 0) {
        (false, false) => format!("0..{own} + 1"),
        (true, false) => format!("0..{own}"),
        (false, true) => format!("{own}..{extent}"),
        (true, true) => format!("{own} + 1..{extent}"),
    };
    let function = if node.op == "CumSum" { "sum" } else { "prod" };
    let body = format!("{function}[{step} in {range}]({element})");
    let mut covered = vec![true; x.rank()];
    covered[along] = false;
    cx.define(node.out(0), x.elem, x.shape, &axes, &covered, &body);
    Ok(())
}
