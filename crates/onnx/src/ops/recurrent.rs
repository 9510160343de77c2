//! Recurrent layers: recurrences over time.

use std::fmt::Write as _;

use super::number;
use crate::cx::Cx;
use crate::dims::Dim;
use crate::elem::Elem;
use crate::node::{Done, Node, refuse, refuse_at};
use crate::value::Value;

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "RNN" | "GRU" | "LSTM" => layer(cx, node),
        _ => return None,
    })
}

/// The activations of one direction, as functions from text to text.
struct Activations(Vec<(String, f64, f64)>);

impl Activations {
    fn of(node: &Node<'_>, direction: usize) -> Done<Activations> {
        let defaults: &[&str] = match node.op {
            "RNN" => &["Tanh"],
            "GRU" => &["Sigmoid", "Tanh"],
            _ => &["Sigmoid", "Tanh", "Tanh"],
        };
        let count = defaults.len();
        let names = node.strings("activations").filter(|it| !it.is_empty());
        let (alphas, betas) =
            (node.attribute("activation_alpha"), node.attribute("activation_beta"));
        let mut out = Vec::new();
        // Parameters are listed for the activations that have any, in order.
        let (mut a, mut b) = (0, 0);
        for i in 0..count * (direction + 1) {
            let name = match &names {
                Some(names) => match names.get(i) {
                    Some(name) => name.clone(),
                    None => return refuse_at("activations", "does not say one for each gate"),
                },
                None => defaults[i % count].to_owned(),
            };
            let (alpha, beta) = match name.as_str() {
                "LeakyRelu" => (Some(0.01), None),
                "ThresholdedRelu" | "Elu" => (Some(1.0), None),
                "HardSigmoid" => (Some(0.2), Some(0.5)),
                "ScaledTanh" | "Affine" => (Some(1.0), Some(1.0)),
                _ => (None, None),
            };
            let take = |default: Option<f64>,
                        list: Option<&crate::proto::AttributeProto>,
                        at: &mut usize| match default {
                None => 0.0,
                Some(default) => {
                    *at += 1;
                    list.and_then(|it| it.floats.get(*at - 1)).map_or(default, |v| f64::from(*v))
                }
            };
            let pair = (take(alpha, alphas, &mut a), take(beta, betas, &mut b));
            if i >= count * direction {
                out.push((name, pair.0, pair.1));
            }
        }
        for (name, _, _) in &out {
            let known = [
                "Relu",
                "Tanh",
                "Sigmoid",
                "Affine",
                "LeakyRelu",
                "ThresholdedRelu",
                "ScaledTanh",
                "HardSigmoid",
                "Elu",
                "Softsign",
                "Softplus",
            ];
            if !known.contains(&name.as_str()) {
                return refuse_at("activations", format!("`{name}` is not known"));
            }
        }
        Ok(Activations(out))
    }

    fn apply(&self, which: usize, x: &str, elem: Elem) -> String {
        let (name, alpha, beta) = &self.0[which];
        let (alpha, beta) = (number(*alpha, elem), number(*beta, elem));
        match name.as_str() {
            "Relu" => format!("max({x}, 0.0)"),
            "Tanh" => format!("tanh({x})"),
            "Sigmoid" => format!("1.0 / (1.0 + exp(-({x})))"),
            "Affine" => format!("{alpha} * ({x}) + {beta}"),
            "LeakyRelu" => format!("max({x}, 0.0) + {alpha} * min({x}, 0.0)"),
            "ThresholdedRelu" => format!("if {x} >= {alpha} {{ {x} }} else {{ 0.0 }}"),
            "ScaledTanh" => format!("{alpha} * tanh({beta} * ({x}))"),
            "HardSigmoid" => format!("min(max({alpha} * ({x}) + {beta}, 0.0), 1.0)"),
            "Elu" => format!("if {x} >= 0.0 {{ {x} }} else {{ {alpha} * (exp({x}) - 1.0) }}"),
            "Softsign" => format!("({x}) / (1.0 + abs({x}))"),
            _ => format!("log1p(exp({x}))"),
        }
    }
}

fn layer(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (x, w, r) = (node.input(0)?, node.input(1)?, node.input(2)?);
    if x.rank() != 3 || w.rank() != 3 || r.rank() != 3 {
        return refuse("its inputs do not have three axes");
    }
    let batch_first = node.int("layout", 0) != 0;
    let (steps, batch) = if batch_first {
        (x.shape[1].clone(), x.shape[0].clone())
    } else {
        (x.shape[0].clone(), x.shape[1].clone())
    };
    let hidden = r.shape[2].clone();
    let directions = match node.string("direction", "forward").as_str() {
        "forward" => vec![false],
        "reverse" => vec![true],
        "bidirectional" => vec![false, true],
        other => return refuse_at("direction", format!("`{other}` is not known")),
    };
    let lengths = node.optional(4);
    let mut states = Vec::new();
    for (d, back) in directions.iter().enumerate() {
        states.push(direction(
            cx,
            node,
            d,
            *back,
            batch_first,
            &steps,
            &batch,
            &hidden,
            lengths.as_ref(),
        )?);
    }
    // The output at a time is the state after that step.
    let length =
        lengths.as_ref().map(|it| format!("({} as i32)", cx.read(it, &["batch".to_owned()])));
    let part = |state: &str, cell: usize, back: bool| {
        let end = length.clone().unwrap_or_else(|| steps.to_string());
        let at = if back { format!("{end} - time") } else { "time + 1".to_owned() };
        let read = format!("{state}[{at}, {cell}, batch, feature]");
        match &length {
            Some(length) => format!("if time < {length} {{ {read} }} else {{ 0.0 }}"),
            None => read,
        }
    };
    let either = |texts: Vec<String>| match texts.as_slice() {
        [one] => one.clone(),
        many => format!("if side == 0 {{ {} }} else {{ {} }}", many[0], many[1]),
    };
    let sides = Dim::from(directions.len() as i64);
    let names = |list: &[&str]| -> Vec<String> { list.iter().map(|it| (*it).to_owned()).collect() };
    let side = if directions.len() == 1 { "_side" } else { "side" };
    if node.has_out(0) {
        let body =
            either(states.iter().zip(&directions).map(|(s, back)| part(s, 0, *back)).collect());
        let (shape, axes) = if batch_first {
            (
                vec![batch.clone(), steps.clone(), sides.clone(), hidden.clone()],
                names(&["batch", "time", side, "feature"]),
            )
        } else {
            (
                vec![steps.clone(), sides.clone(), batch.clone(), hidden.clone()],
                names(&["time", side, "batch", "feature"]),
            )
        };
        cx.define(node.out(0), x.elem, shape, &axes, &[], &body);
    }
    for (output, cell) in [(1, 0), (2, 1)] {
        if node.has_out(output) {
            let body = either(
                states.iter().map(|s| format!("{s}[{steps}, {cell}, batch, feature]")).collect(),
            );
            let (shape, axes) = if batch_first {
                (
                    vec![batch.clone(), sides.clone(), hidden.clone()],
                    names(&["batch", side, "feature"]),
                )
            } else {
                (
                    vec![sides.clone(), batch.clone(), hidden.clone()],
                    names(&[side, "batch", "feature"]),
                )
            };
            cx.define(node.out(output), x.elem, shape, &axes, &[], &body);
        }
    }
    Ok(())
}

/// Writes one direction and gives the name of its states: time, then hidden and cell.
#[allow(clippy::too_many_arguments, reason = "the sizes of the layer")]
fn direction(
    cx: &mut Cx<'_>,
    node: &Node<'_>,
    d: usize,
    back: bool,
    batch_first: bool,
    steps: &Dim,
    batch: &Dim,
    hidden: &Dim,
    lengths: Option<&Value>,
) -> Done<String> {
    let (x, w, r) = (node.input(0)?, node.input(1)?, node.input(2)?);
    let elem = x.elem;
    let ty = elem.lang();
    let act = Activations::of(node, d)?;
    let gates: i64 = match node.op {
        "RNN" => 1,
        "GRU" => 3,
        _ => 4,
    };
    let wide = hidden.times(&Dim::from(gates));
    let parts = if node.op == "LSTM" { 2 } else { 1 };
    let (xn, wn, rn) = (cx.name_of(&x), cx.name_of(&w), cx.name_of(&r));
    let length = lengths.map(|it| format!("({} as i32)", cx.read(it, &["batch".to_owned()])));
    let now = match (back, &length) {
        (false, _) => "time".to_owned(),
        (true, None) => format!("{} - time", steps.plus_int(-1)),
        (true, Some(length)) => {
            format!("if time < {length} {{ {length} - 1 - time }} else {{ time }}")
        }
    };
    let read = if batch_first {
        format!("{xn}[batch, {now}, k]")
    } else {
        format!("{xn}[{now}, batch, k]")
    };
    // The part of the input, for all steps at once.
    let bias = node.optional(3);
    let gru_late = node.op == "GRU" && node.int("linear_before_reset", 0) != 0;
    let mut body = format!("sum[k]({read} * {wn}[{d}, gate, k])");
    let bias_name = bias.as_ref().map(|it| cx.name_of(it));
    if let Some(b) = &bias_name {
        let second = format!("{b}[{d}, gate + {wide}]");
        if gru_late {
            let _ = write!(
                body,
                " + {b}[{d}, gate] + if gate < {} {{ {second} }} else {{ 0.0 }}",
                hidden.times(&Dim::from(2))
            );
        } else {
            let _ = write!(body, " + {b}[{d}, gate] + {second}");
        }
    }
    let axes = ["time".to_owned(), "batch".to_owned(), "gate".to_owned()];
    let shape = vec![steps.clone(), batch.clone(), wide.clone()];
    let given = cx.temp("given", elem, shape, &axes, &[], &body);
    let given = cx.name_of(&given);
    // The step as a function of its own: its text is the cell of the layer.
    let clip = node.attribute("clip").map(|it| number(f64::from(it.f), elem));
    let clipped = |text: String| match &clip {
        Some(limit) => format!("min(max({text}, -{limit}), {limit})"),
        None => text,
    };
    let name = cx.names.fresh(&format!("{}_step", node.op.to_lowercase()));
    let mut parameters =
        format!("given: [{ty}; ?b, ?g], state: [{ty}; {parts}, ?b, ?h], r: [{ty}; ?g, ?h]");
    let mut arguments = format!("{given}[time - 1], STATE[time - 1], {rn}[{d}]");
    let recurrent = "sum[k](state[0, b, k] * r[gate, k])";
    let mut text = String::new();
    let gate = |i: i64| match i {
        0 => "sums[b, j]".to_owned(),
        1 => "sums[b, j + ?h]".to_owned(),
        n => format!("sums[b, j + {n} * ?h]"),
    };
    match node.op {
        "RNN" => {
            let _ = write!(
                text,
                "let sums[b, gate] = given[b, gate] + {recurrent};\n let hidden[b, j in 0..?h] = {};\n",
                act.apply(0, &clipped("sums[b, j]".into()), elem)
            );
        }
        "GRU" => {
            let _ = write!(
                text,
                "let sums[b, gate in 0..2 * ?h] = given[b, gate] + {recurrent};\n let update[b, j in 0..?h] = {};\n let reset[b, j in 0..?h] = {};\n",
                act.apply(0, &clipped(gate(0)), elem),
                act.apply(0, &clipped(gate(1)), elem)
            );
            if gru_late {
                let late = if let Some(b) = &bias_name {
                    let _ = write!(parameters, ", late: [{ty}; ?l]");
                    let _ = write!(arguments, ", {b}[{d}]");
                    " + late[j + 5 * ?h]"
                } else {
                    ""
                };
                let inner = format!(
                    "given[b, j + 2 * ?h] + reset[b, j] * (sum[k](state[0, b, k] * r[j + 2 * ?h, k]){late})"
                );
                let _ = writeln!(
                    text,
                    "let fresh[b, j in 0..?h] = {};",
                    act.apply(1, &clipped(inner), elem)
                );
            } else {
                let inner = "given[b, j + 2 * ?h] + sum[k](reset[b, k] * state[0, b, k] * r[j + 2 * ?h, k])";
                let _ = writeln!(
                    text,
                    "let fresh[b, j in 0..?h] = {};",
                    act.apply(1, &clipped(inner.into()), elem)
                );
            }
            text.push_str("let hidden[b, j] = (1.0 - update[b, j]) * fresh[b, j] + update[b, j] * state[0, b, j];\n");
        }
        _ => {
            let peep = node.optional(7);
            let hole = |at: i64, cell: &str| match &peep {
                None => String::new(),
                Some(_) => format!(
                    " + peep[{}] * {cell}",
                    match at {
                        0 => "j".to_owned(),
                        1 => "j + ?h".to_owned(),
                        n => format!("j + {n} * ?h"),
                    }
                ),
            };
            let (hi, ho, hf) =
                (hole(0, "state[1, b, j]"), hole(1, "cell[b, j]"), hole(2, "state[1, b, j]"));
            if let Some(peep) = &peep {
                let peep = cx.name_of(peep);
                let _ = write!(parameters, ", peep: [{ty}; ?l]");
                let _ = write!(arguments, ", {peep}[{d}]");
            }
            let forget = if node.int("input_forget", 0) != 0 {
                "1.0 - enter[b, j]".to_owned()
            } else {
                act.apply(0, &clipped(format!("{}{hf}", gate(2))), elem)
            };
            let _ = write!(
                text,
                "let sums[b, gate] = given[b, gate] + {recurrent};\n let enter[b, j in 0..?h] = {};\n let forget[b, j in 0..?h] = {forget};\n let fresh[b, j in 0..?h] = {};\n let cell[b, j] = forget[b, j] * state[1, b, j] + enter[b, j] * fresh[b, j];\n let leave[b, j in 0..?h] = {};\n let hidden[b, j] = (leave[b, j]) * ({});\n",
                act.apply(0, &clipped(format!("{}{hi}", gate(0))), elem),
                act.apply(1, &clipped(gate(3)), elem),
                act.apply(0, &clipped(format!("{}{ho}", gate(1))), elem),
                act.apply(2, "cell[b, j]", elem)
            );
        }
    }
    if lengths.is_some() {
        parameters.push_str(", going: [bool; ?b]");
    }
    let new = if parts == 2 {
        "if part == 0 { hidden[b, j] } else { cell[b, j] }"
    } else {
        "hidden[b, j]"
    };
    let new = if lengths.is_some() {
        format!("if going[b] {{ {new} }} else {{ state[part, b, j] }}")
    } else {
        new.to_owned()
    };
    let _ = write!(text, "let next[part in 0..{parts}, b, j] = {new};\n next\n");
    cx.helper(&name, format!("/// One step of the layer: the state after it, `hidden`{}.\nfn {name}({parameters}) -> [{ty}; {parts}, ?b, ?h] {{\n{text}}}\n", if parts == 2 { " and `cell`" } else { "" }));
    if let Some(length) = &length {
        let going = cx.temp(
            "going",
            Elem::Bool,
            vec![steps.clone(), batch.clone()],
            &["time".to_owned(), "batch".to_owned()],
            &[],
            &format!("time < {length}"),
        );
        let going = cx.name_of(&going);
        let _ = write!(arguments, ", {going}[time - 1]");
    }
    // What it begins with.
    let begin = |cx: &mut Cx<'_>, at: usize| match node.optional(at) {
        None => format!("0.0 as {ty}"),
        Some(v) => {
            let v = cx.name_of(&v);
            if batch_first {
                format!("{v}[batch, {d}, feature]")
            } else {
                format!("{v}[{d}, batch, feature]")
            }
        }
    };
    let first = begin(cx, 5);
    let start = if parts == 2 {
        let second = begin(cx, 6);
        format!("if part == 0 {{ {first} }} else {{ {second} }}")
    } else {
        first
    };
    let axes = ["part".to_owned(), "batch".to_owned(), "feature".to_owned()];
    let start = cx.temp(
        "start",
        elem,
        vec![Dim::from(parts), batch.clone(), hidden.clone()],
        &axes,
        &[],
        &start,
    );
    let start = cx.name_of(&start);
    let state = cx.names.fresh("states");
    let arguments = arguments.replace("STATE", &state);
    cx.line(
        &[&state],
        format!(
            "let {state}[0] = {start};\nlet {state}[time in 1..{}] = {name}({arguments});",
            steps.plus_int(1)
        ),
    );
    Ok(state)
}
