//! Loops and scans as recurrences: the state of a step is what is carried, and what is collected.
//!
//! Before:  `Loop(M, cond, a)` with a body that gives `(going, a, row)`
//! After:   `let s[0] = (true, a, zero); let s[t in 1..M + 1] = { … } until !s[t].0;`, whose last
//!          state is the result, and whose rows are those of `s[t + 1]`

use crate::cx::{Cx, indices};
use crate::data::Data;
use crate::dims::Dim;
use crate::elem::Elem;
use crate::node::{Done, Node, Refusal, axis, refuse};
use crate::ops::zero;
use crate::proto::GraphProto;
use crate::value::{Source, Value};

/// Where nothing says how many steps there may be.
const ENDLESS: i64 = i32::MAX as i64 - 1;

/// A recurrence about to be written.
struct Steps<'a> {
    body: &'a GraphProto,
    /// The number of steps, as text and, if it is an extent, as that.
    count: (String, Option<Dim>),
    /// Whether the first result of the body says that it goes on.
    ends: bool,
    /// What is carried, before the first step.
    state: &'a [Value],
    /// The index of a step, which begins at 1.
    step: String,
    /// What the body gets beside the state: its port, its value and the line that defines it.
    given: Vec<(String, Value, String)>,
    /// How many ports of the body are before what is carried, and whether a condition is a result.
    first: usize,
}

/// A loop.
pub fn repeat(
    cx: &mut Cx<'_>,
    node: &Node<'_>,
    body: &GraphProto,
    (trips, condition): (Option<&Value>, Option<&Value>),
    state: &[Value],
) -> Done {
    let scalar = |cx: &mut Cx<'_>, value: &Value| cx.read(value, &vec!["0".into(); value.rank()]);
    let known = trips.and_then(|trips| trips.known.as_deref()).and_then(Data::as_dims);
    let (most, dim) = match (trips, known.as_deref()) {
        (None, _) => (ENDLESS.to_string(), Some(Dim::from(ENDLESS))),
        // "As often as can be counted" is how exporters write a loop that only its condition ends.
        (Some(given), _) if given.int().is_some_and(|n| n > ENDLESS) => {
            (ENDLESS.to_string(), Some(Dim::from(ENDLESS)))
        }
        (Some(_), Some([dim])) => (dim.to_string(), Some(dim.clone())),
        (Some(trips), _) => (format!("max({}, 0)", scalar(cx, trips)), None),
    };
    let start = condition.filter(|it| it.int() != Some(1));
    let count = match start {
        None => (most, dim),
        Some(condition) => {
            let name = cx.names.fresh("most");
            let test = scalar(cx, condition);
            cx.line(&[&name], format!("let {name} = if {test} {{ {most} }} else {{ 0 }};"));
            (name, None)
        }
    };
    let step = cx.names.fresh("step");
    let number = cx.names.fresh("number");
    let truth = Data::ints(Elem::Bool, vec![], vec![Dim::from(1)]);
    let given = vec![
        (
            body.input[0].name.clone(),
            cx.bound(&number, Elem::I64, Vec::new(), Vec::new()),
            format!("let {number} = ({step} - 1) as i64;"),
        ),
        (body.input[1].name.clone(), cx.constant(truth), String::new()),
    ];
    let steps = Steps { body, count, ends: !goes_on(body), state, step, given, first: 2 };
    let (finals, rows) = write(cx, node, &steps)?;
    for (i, value) in finals.into_iter().enumerate() {
        cx.set(node.out(i), value);
    }
    for (i, row) in rows.into_iter().enumerate() {
        if let Some(row) = row {
            row.collect(cx, node.out(state.len() + i), 0, false);
        }
    }
    Ok(())
}

/// A scan.
pub fn scan(
    cx: &mut Cx<'_>,
    node: &Node<'_>,
    body: &GraphProto,
    inputs: &[Value],
    carried: usize,
) -> Done {
    let list =
        |name: &str, at: usize| node.ints(name).and_then(|it| it.get(at).copied()).unwrap_or(0);
    let step = cx.names.fresh("step");
    let mut count: Option<Dim> = None;
    let mut given = Vec::new();
    for (i, value) in inputs[carried..].iter().enumerate() {
        let along = axis(list("scan_input_axes", i), value.rank())?;
        let n = value.shape[along].clone();
        let axes = indices(&value.axes, value.rank());
        let mut at = axes.clone();
        at[along] = match list("scan_input_directions", i) != 0 {
            true => format!("{n} - {step}"),
            false => format!("{step} - 1"),
        };
        let kept: Vec<usize> = (0..value.rank()).filter(|i| *i != along).collect();
        let names: Vec<String> = kept.iter().map(|i| axes[*i].clone()).collect();
        let shape: Vec<Dim> = kept.iter().map(|i| value.shape[*i].clone()).collect();
        let (name, own) = (cx.names.fresh("slice"), cx.name_of(value));
        let slots =
            if names.is_empty() { String::new() } else { format!("[{}]", names.join(", ")) };
        let line = format!("let {name}{slots} = {own}[{}];", at.join(", "));
        let port = body.input[carried + i].name.clone();
        given.push((port, cx.bound(&name, value.elem, shape, names), line));
        count = count.filter(|it| it.known().is_some()).or(Some(n));
    }
    let Some(count) = count else { return refuse("it scans nothing") };
    let count = (count.to_string(), Some(count));
    let state = &inputs[..carried];
    let steps = Steps { body, count, ends: false, state, step, given, first: 0 };
    let (finals, rows) = write(cx, node, &steps)?;
    for (i, value) in finals.into_iter().enumerate() {
        cx.set(node.out(i), value);
    }
    for (i, row) in rows.into_iter().enumerate() {
        let Some(row) = row else { continue };
        let along = axis(list("scan_output_axes", i), row.of.rank() + 1)?;
        let back = list("scan_output_directions", i) != 0;
        row.collect(cx, node.out(carried + i), along, back);
    }
    Ok(())
}

/// Whether the condition that a body gives is the one it gets, so that there is nothing to look at.
fn goes_on(body: &GraphProto) -> bool {
    let (Some(gives), Some(gets)) = (body.output.first(), body.input.get(1)) else { return false };
    let passes_on = |node: &crate::proto::NodeProto| {
        node.op_type == "Identity" && node.input.contains(&gets.name)
    };
    let maker = body.node.iter().find(|node| node.output.contains(&gives.name));
    gives.name == gets.name || maker.is_some_and(passes_on)
}

/// What each step adds to an output.
struct Row {
    of: Value,
    /// How it is read of the state at `{t}`.
    read: String,
    count: Dim,
}

impl Row {
    /// All of them, as one array.
    fn collect(self, cx: &mut Cx<'_>, out: &str, along: usize, back: bool) {
        let mut axes = indices(&self.of.axes, self.of.rank());
        let inner = axes.clone();
        let t = crate::cx::others(&axes, &["t"]).remove(0);
        axes.insert(along, t.clone());
        let at = if back { format!("{} - {t}", self.count) } else { format!("{t} + 1") };
        let read = self.read.replace("{t}", &at);
        let body = if inner.is_empty() { read } else { format!("{read}[{}]", inner.join(", ")) };
        let mut shape = self.of.shape.clone();
        shape.insert(along, self.count);
        let covered: Vec<bool> = (0..axes.len()).map(|i| i != along).collect();
        cx.define(out, self.of.elem, shape, &axes, &covered, &body);
    }
}

/// One part of a state, as text.
struct Part {
    after: String,
    start: String,
    before: String,
}

/// Writes the recurrence; the last values of what is carried, and what is collected.
fn write(
    cx: &mut Cx<'_>,
    node: &Node<'_>,
    steps: &Steps<'_>,
) -> Done<(Vec<Value>, Vec<Option<Row>>)> {
    let carried = steps.state.len();
    let own = cx.names.fresh("state");
    let mut inputs = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for (value, port) in steps.state.iter().zip(&steps.body.input[steps.first..]) {
        let name = cx.names.fresh(&port.name);
        names.push(name.clone());
        let value = Value { known: None, source: Source::Bound(name), ..value.clone() };
        inputs.push((port.name.clone(), value));
    }
    inputs.extend(steps.given.iter().map(|(port, value, _)| (port.clone(), value.clone())));
    let problems = cx.problems.len();
    let (text, results) = cx.block(steps.body, inputs)?;
    if results.len() != steps.body.output.len() {
        // Written out it may be possible; if it is not, this is said once.
        let why = cx.problems.drain(problems..).next().map(|it| it.refusal);
        let none = Refusal { attribute: None, why: "its body cannot be written".into() };
        return Err(why.unwrap_or(none));
    }
    let lead = usize::from(steps.first == 2);
    for (old, new) in steps.state.iter().zip(&results[lead..]) {
        if old.elem != new.elem || old.shape != new.shape {
            return refuse("what it carries changes its shape or type from step to step");
        }
    }
    let collected = &results[lead + carried..];
    let wanted: Vec<bool> = (0..collected.len()).map(|i| node.has_out(carried + i)).collect();
    let name_of = |value: &Value| match &value.source {
        Source::Bound(name) => name.clone(),
        Source::Constant(_) | Source::Weight(..) => String::new(),
    };
    let mut parts: Vec<Part> = Vec::new();
    if steps.ends {
        let at = match results[0].rank() {
            0 => String::new(),
            rank => format!("[{}]", vec!["0"; rank].join(", ")),
        };
        let after = format!("{}{at}", name_of(&results[0]));
        parts.push(Part { after, start: "true".into(), before: "_going".into() });
    }
    for ((start, new), name) in steps.state.iter().zip(&results[lead..]).zip(&names) {
        let (after, start) = (name_of(new), cx.name_of(start));
        parts.push(Part { after, start, before: name.clone() });
    }
    for (at, row) in collected.iter().enumerate().filter(|(at, _)| wanted[*at]) {
        let start = nothing(cx, row);
        parts.push(Part { after: name_of(row), start, before: format!("_row{at}") });
    }
    let tuple = |of: &dyn Fn(&Part) -> String| match parts.as_slice() {
        [one] => of(one),
        _ => format!("({})", parts.iter().map(of).collect::<Vec<_>>().join(", ")),
    };
    let field = |at: usize, step: &str| match parts.len() {
        1 => format!("{own}[{step}]"),
        _ => format!("{own}[{step}].{at}"),
    };
    let (t, count) = (&steps.step, &steps.count.0);
    let mut lines = format!("let {} = {own}[{t} - 1];\n", tuple(&|it| it.before.clone()));
    for (_, value, line) in &steps.given {
        // A body may take no notice of the number of its step.
        if !line.is_empty() && text.contains(&name_of(value)) {
            lines.push_str(line);
            lines.push('\n');
        }
    }
    let end = match &steps.count.1 {
        Some(dim) => dim.plus_int(1).to_string(),
        None => format!("{count} + 1"),
    };
    let until = if steps.ends { format!(" until !{}", field(0, t)) } else { String::new() };
    let text = format!(
        "let {own}[0] = {};\nlet {own}[{t} in 1..{end}] = {{\n{lines}{text}{}\n}}{until};",
        tuple(&|it| it.start.clone()),
        tuple(&|it| it.after.clone()),
    );
    cx.line(&[&own], text);
    let made = match (&steps.count.1, steps.ends) {
        (Some(dim), false) => dim.clone(),
        (Some(_) | None, _) => {
            let made = cx.names.fresh("made");
            cx.line(&[&made], format!("let {made} = len({own}) - 1;"));
            Dim::atom(made)
        }
    };
    let skip = usize::from(steps.ends);
    let mut finals = Vec::new();
    for (i, value) in steps.state.iter().enumerate() {
        let name = cx.names.fresh(node.out(i));
        cx.line(&[&name], format!("let {name} = {};", field(skip + i, &made.to_string())));
        finals.push(cx.bound(&name, value.elem, value.shape.clone(), value.axes.clone()));
    }
    let mut rows = Vec::new();
    let mut at = skip + carried;
    for (value, wanted) in collected.iter().zip(wanted) {
        rows.push(wanted.then(|| {
            let read = field(at, "{t}");
            at += 1;
            Row { of: value.clone(), read, count: made.clone() }
        }));
    }
    Ok((finals, rows))
}

/// What stands for a row before the first step.
fn nothing(cx: &mut Cx<'_>, row: &Value) -> String {
    let axes = indices(&[], row.rank());
    let body = match row.elem {
        Elem::Bool => "false".to_owned(),
        elem => format!("{} as {}", zero(elem), elem.lang()),
    };
    let covered = vec![false; row.rank()];
    let value = cx.temp("nothing", row.elem, row.shape.clone(), &axes, &covered, &body);
    cx.name_of(&value)
}
