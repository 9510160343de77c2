//! Control flow: choices, loops and scans. Loops of a few steps are written out, others are
//! recurrences (`steps`).

mod steps;

use crate::cx::Cx;
use crate::dims::Dim;
use crate::elem::Elem;
use crate::node::{Done, MUST_BE_KNOWN, Node, axis, refuse, refuse_at};
use crate::value::{Source, Value};

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "If" => choice(cx, node),
        "Scan" => scan(cx, node),
        "Loop" => repeat(cx, node),
        _ => return None,
    })
}

/// Gives the outputs of a node the results of a graph that is written in its place.
fn inline(cx: &mut Cx<'_>, node: &Node<'_>, graph: &crate::proto::GraphProto) -> Done {
    crate::walk::graph(cx, graph)?;
    let mut results = Vec::new();
    for output in &graph.output {
        match cx.values.get(&output.name).cloned() {
            Some(value) => results.push(value),
            None => {
                return refuse(format!("its graph does not define its output `{}`", output.name));
            }
        }
    }
    for (out, value) in node.outputs.iter().zip(results) {
        if !out.is_empty() {
            cx.values.insert(out.clone(), value);
        }
    }
    Ok(())
}

fn choice(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let condition = node.input(0)?;
    if let Some(known) = condition.int() {
        let branch = node.graph(if known != 0 { "then_branch" } else { "else_branch" })?;
        return inline(cx, node, branch);
    }
    let test = cx.read(&condition, &vec!["0".to_owned(); condition.rank()]);
    let (then_text, then_values) = cx.block(node.graph("then_branch")?, Vec::new())?;
    let (else_text, else_values) = cx.block(node.graph("else_branch")?, Vec::new())?;
    if then_values.len() != node.outputs.len() || else_values.len() != node.outputs.len() {
        return poisoned(cx, node);
    }
    let mut names = Vec::new();
    for ((a, b), out) in then_values.iter().zip(&else_values).zip(node.outputs) {
        if a.elem != b.elem {
            let (a, b) = (a.elem.lang(), b.elem.lang());
            return refuse(format!("its branches give `{out}` different types, {a} and {b}"));
        }
        if a.rank() != b.rank() {
            let (a, b) = (a.rank(), b.rank());
            return refuse(format!(
                "its branches give `{out}` a rank of {a} and of {b}, and its condition is not constant"
            ));
        }
        names.push(cx.names.fresh(out));
    }
    let tuple = |values: &[Value]| {
        let names: Vec<String> = values
            .iter()
            .map(|value| match &value.source {
                Source::Bound(name) => name.clone(),
                Source::Constant(_) | Source::Weight(..) => String::new(),
            })
            .collect();
        if names.len() == 1 { names[0].clone() } else { format!("({})", names.join(", ")) }
    };
    let pattern =
        if names.len() == 1 { names[0].clone() } else { format!("({})", names.join(", ")) };
    let text = format!(
        "let {pattern} = if {test} {{\n{then_text}{}\n}} else {{\n{else_text}{}\n}};",
        tuple(&then_values),
        tuple(&else_values)
    );
    let binds: Vec<&str> = names.iter().map(String::as_str).collect();
    cx.line(&binds, text);
    for ((a, b), (name, out)) in
        then_values.iter().zip(&else_values).zip(names.iter().zip(node.outputs))
    {
        if a.shape != b.shape {
            return refuse(format!("its branches give `{out}` different shapes"));
        }
        let value = cx.bound(name, a.elem, a.shape.clone(), Vec::new());
        cx.set(out, value);
    }
    Ok(())
}

/// The most steps of a loop that are written out one by one where a recurrence would do.
const FEW_STEPS: i64 = 4;

/// The most steps that are written out if what is carried changes its shape.
const MOST_STEPS: i64 = 64;

/// Scans and loops of a known, small number of steps are written out: the graphs of their bodies
/// hold any operators, and each step is checked with the shapes it has.
fn scan(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let body = node.graph("body")?;
    let scanned = usize::try_from(node.int("num_scan_inputs", 0)).unwrap_or(0);
    // In version 8 the first input holds lengths, and all others have a batch.
    let old = node.opset < 9;
    let offset = usize::from(old);
    let inputs: Vec<Value> = node.inputs.iter().skip(offset).flatten().cloned().collect();
    if scanned == 0 || scanned > inputs.len() || body.input.len() != inputs.len() {
        return refuse_at("num_scan_inputs", "does not fit the body");
    }
    if old {
        if node.optional(0).is_some() {
            return refuse("lengths of sequences are not supported");
        }
        if !inputs.iter().all(|it| it.shape.first().is_some_and(|dim| dim.is(1))) {
            return refuse("batches of more than one are not supported before version 9");
        }
    }
    let carried = inputs.len() - scanned;
    let list =
        |name: &str, at: usize| node.ints(name).and_then(|it| it.get(at).copied()).unwrap_or(0);
    let lead = usize::from(old);
    let mut steps = None;
    for (i, value) in inputs[carried..].iter().enumerate() {
        let along = axis(list("scan_input_axes", i), value.rank() - lead)? + lead;
        steps = steps.or(value.shape[along].known());
    }
    if !old && !steps.is_some_and(|n| (1..=FEW_STEPS).contains(&n)) {
        match steps::scan(cx, node, body, &inputs, carried) {
            Err(refusal) if !steps.is_some_and(|n| (1..=MOST_STEPS).contains(&n)) => {
                return Err(refusal);
            }
            Err(_) => {}
            Ok(()) => return Ok(()),
        }
    }
    let Some(steps) = steps.filter(|n| (1..=MOST_STEPS).contains(n)) else {
        return refuse(format!(
            "the number of its steps is not known, or not between 1 and {MOST_STEPS}"
        ));
    };
    let mut state: Vec<Value> = inputs[..carried].to_vec();
    if old {
        state = state
            .iter()
            .map(|it| super::shape::reshape_to(cx, "", it, it.shape[1..].to_vec()))
            .collect();
    }
    let count = body.output.len().saturating_sub(carried);
    let mut rows: Vec<Vec<Value>> = vec![Vec::new(); count];
    for step in 0..steps {
        let outer = cx.values.clone();
        for (value, port) in state.iter().zip(&body.input) {
            cx.values.insert(port.name.clone(), Some(value.clone()));
        }
        for (i, value) in inputs[carried..].iter().enumerate() {
            let along = axis(list("scan_input_axes", i), value.rank() - lead)? + lead;
            let back = list("scan_input_directions", i) != 0 || list("directions", i) != 0;
            let place = if back { steps - 1 - step } else { step };
            let slice = slice_at(cx, value, along, place, old);
            cx.values.insert(body.input[carried + i].name.clone(), Some(slice));
        }
        let results = results_of(cx, body)?;
        cx.values = outer;
        let Some(results) = results else { return poisoned(cx, node) };
        state = results[..carried].to_vec();
        for (row, value) in rows.iter_mut().zip(&results[carried..]) {
            row.push(value.clone());
        }
    }
    for (i, value) in state.iter().enumerate() {
        let value = if old { with_lead(cx, value) } else { value.clone() };
        cx.set(node.out(i), value);
    }
    for (i, mut row) in rows.into_iter().enumerate() {
        if list("scan_output_directions", i) != 0 {
            row.reverse();
        }
        let rank = row[0].rank() + 1;
        let along = axis(list("scan_output_axes", i), rank)?;
        let out = if old { "" } else { node.out(carried + i) };
        let value = stack(cx, out, &row, along);
        if old {
            let value = with_lead(cx, &value);
            cx.set(node.out(carried + i), value);
        }
    }
    Ok(())
}

/// Marks the outputs of a node whose body was refused; what is wrong has been said.
fn poisoned(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    for out in node.outputs {
        cx.values.insert(out.clone(), None);
    }
    Ok(())
}

fn with_lead(cx: &mut Cx<'_>, value: &Value) -> Value {
    let shape: Vec<Dim> = [Dim::from(1)].into_iter().chain(value.shape.iter().cloned()).collect();
    super::shape::reshape_to(cx, "", value, shape)
}

/// Writes a body and gives its results, or nothing if a part of it was refused.
fn results_of(cx: &mut Cx<'_>, body: &crate::proto::GraphProto) -> Done<Option<Vec<Value>>> {
    crate::walk::graph(cx, body)?;
    let mut results = Vec::new();
    for output in &body.output {
        match cx.values.get(&output.name).cloned() {
            Some(Some(value)) => results.push(value),
            Some(None) => return Ok(None),
            None => {
                return refuse(format!("its body does not define its output `{}`", output.name));
            }
        }
    }
    Ok(Some(results))
}

fn slice_at(cx: &mut Cx<'_>, value: &Value, along: usize, place: i64, old: bool) -> Value {
    let axes = crate::cx::indices(&value.axes, value.rank());
    let mut at = axes.clone();
    at[along] = place.to_string();
    let skip = |i: usize| i == along || old && i == 0;
    if old {
        at[0] = "0".into();
    }
    let kept: Vec<String> =
        (0..value.rank()).filter(|i| !skip(*i)).map(|i| axes[i].clone()).collect();
    let shape: Vec<Dim> =
        (0..value.rank()).filter(|i| !skip(*i)).map(|i| value.shape[i].clone()).collect();
    let name = cx.name_of(value);
    let covered = vec![true; kept.len()];
    cx.temp("slice", value.elem, shape, &kept, &covered, &format!("{name}[{}]", at.join(", ")))
}

/// Values one beside the other along a new axis.
fn stack(cx: &mut Cx<'_>, out: &str, values: &[Value], along: usize) -> Value {
    let first = &values[0];
    let names: Vec<String> = values.iter().map(|it| cx.name_of(it)).collect();
    let inner = crate::cx::indices(&first.axes, first.rank());
    let name = cx.names.fresh(out);
    let mut text = Vec::new();
    for (i, value) in names.iter().enumerate() {
        let mut slots: Vec<String> = inner.clone();
        slots.insert(along, i.to_string());
        let read =
            if inner.is_empty() { value.clone() } else { format!("{value}[{}]", inner.join(", ")) };
        text.push(format!("let {name}[{}] = {read};", slots.join(", ")));
    }
    cx.line(&[&name], text.join("\n"));
    let mut shape = first.shape.clone();
    shape.insert(along, Dim::from(values.len() as i64));
    let value = cx.bound(&name, first.elem, shape, Vec::new());
    cx.set(out, value.clone());
    value
}

fn repeat(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let body = node.graph("body")?;
    let (trips, condition) = (node.optional(0), node.optional(1));
    let state: Vec<Value> = node.inputs.iter().skip(2).flatten().cloned().collect();
    let known = trips.as_ref().and_then(Value::int);
    let start = condition.as_ref().map_or(Some(1), Value::int);
    let carried = state.len();
    if body.input.len() != carried + 2 || body.output.len() < carried + 1 {
        return refuse_at("body", "does not fit the inputs");
    }
    match (known, start) {
        (Some(n), Some(_)) if n <= FEW_STEPS => {
            written_out(cx, node, body, state, (n, start))?;
            Ok(())
        }
        _ => match steps::repeat(cx, node, body, (trips.as_ref(), condition.as_ref()), &state) {
            Err(refusal) => match known {
                Some(n) if n <= MOST_STEPS => {
                    let result = written_out(cx, node, body, state, (n, start));
                    // What a recurrence cannot do either is the better answer.
                    result.map_err(|_| refusal)
                }
                _ => Err(refusal),
            },
            Ok(()) => Ok(()),
        },
    }
}

/// The steps of a loop one after the other.
fn written_out(
    cx: &mut Cx<'_>,
    node: &Node<'_>,
    body: &crate::proto::GraphProto,
    mut state: Vec<Value>,
    (steps, start): (i64, Option<i64>),
) -> Done {
    let Some(start) = start else { return refuse_at("cond", MUST_BE_KNOWN) };
    let mut going = start != 0;
    let carried = state.len();
    let count = body.output.len().saturating_sub(carried + 1);
    let mut rows: Vec<Vec<Value>> = vec![Vec::new(); count];
    for step in 0..steps {
        if !going {
            break;
        }
        let outer = cx.values.clone();
        let number = cx.constant(crate::data::Data::ints(Elem::I64, vec![], vec![Dim::from(step)]));
        let truth = cx.constant(crate::data::Data::ints(Elem::Bool, vec![], vec![Dim::from(1)]));
        for (value, port) in
            [number, truth].into_iter().chain(state.iter().cloned()).zip(&body.input)
        {
            cx.values.insert(port.name.clone(), Some(value));
        }
        let results = results_of(cx, body)?;
        cx.values = outer;
        let Some(results) = results else { return poisoned(cx, node) };
        let Some(next) = results.first().and_then(Value::int) else {
            return refuse("its condition is computed from data");
        };
        going = next != 0;
        state = results[1..=carried].to_vec();
        for (row, value) in rows.iter_mut().zip(&results[1 + carried..]) {
            row.push(value.clone());
        }
    }
    for (i, value) in state.iter().enumerate() {
        cx.set(node.out(i), value.clone());
    }
    for (i, row) in rows.into_iter().enumerate() {
        if !node.has_out(carried + i) {
            continue;
        }
        if row.is_empty() {
            return refuse("it makes no step, so the shape of what it collects is not known");
        }
        stack(cx, node.out(carried + i), &row, 0);
    }
    Ok(())
}
