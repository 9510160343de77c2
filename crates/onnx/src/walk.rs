//! The nodes of a graph in an order in which each comes after what it reads.

use std::collections::{HashMap, HashSet};

use crate::cx::{Cx, Problem};
use crate::data::Stored;
use crate::dims::Dim;
use crate::fold;
use crate::node::{Done, Node, Refusal, refuse};
use crate::ops;
use crate::proto::{AttributeProto, FunctionProto, GraphProto, NodeProto};
use crate::value::Value;

/// How deep graphs and functions may be nested.
const DEEPEST: usize = 24;

/// Writes what a graph computes; its inputs have values already.
pub fn graph(cx: &mut Cx<'_>, graph: &GraphProto) -> Done {
    if cx.depth >= DEEPEST {
        return refuse("graphs and functions are nested too deeply");
    }
    if !graph.sparse_initializer.is_empty() {
        return refuse("sparse weights are not supported");
    }
    let mut seen = HashSet::new();
    if let Some(twice) = graph.initializer.iter().find(|it| !seen.insert(&it.name)) {
        return refuse(format!("two weights are called `{}`", twice.name));
    }
    cx.depth += 1;
    for tensor in &graph.initializer {
        // Those that are inputs as well have a value from outside, or this one.
        if !matches!(cx.values.get(&tensor.name), Some(Some(_))) || cx.depth > 1 {
            match Stored::read(tensor, std::path::Path::new(&cx.folder)) {
                Ok(stored) => {
                    let value = cx.weight(&tensor.name, stored);
                    cx.set(&tensor.name, value);
                }
                Err(why) => {
                    cx.values.insert(tensor.name.clone(), None);
                    cx.problems.push(Problem {
                        node: tensor.name.clone(),
                        op: "initializer".into(),
                        refusal: Refusal { attribute: None, why },
                    });
                }
            }
        }
    }
    let wanted: Vec<&str> = graph.output.iter().map(|it| it.name.as_str()).collect();
    let result = nodes(cx, &graph.node, &wanted);
    cx.depth -= 1;
    result
}

/// Writes nodes, those on which the results depend.
fn nodes(cx: &mut Cx<'_>, nodes: &[NodeProto], wanted: &[&str]) -> Done {
    for at in ordered(nodes, wanted)? {
        let proto = &nodes[at];
        if let Err(refusal) = node(cx, proto) {
            for out in &proto.output {
                cx.values.insert(out.clone(), None);
            }
            let name = if proto.name.is_empty() {
                proto.output.first().cloned().unwrap_or_default()
            } else {
                proto.name.clone()
            };
            let op = match proto.domain.as_str() {
                "" | "ai.onnx" => proto.op_type.clone(),
                domain => format!("{domain}.{}", proto.op_type),
            };
            cx.problems.push(Problem { node: name, op, refusal });
        }
    }
    Ok(())
}

/// The nodes that are needed, sorted; an error if they go in a circle.
fn ordered(nodes: &[NodeProto], wanted: &[&str]) -> Done<Vec<usize>> {
    let mut maker: HashMap<&str, usize> = HashMap::new();
    for (i, node) in nodes.iter().enumerate() {
        for out in node.output.iter().filter(|it| !it.is_empty()) {
            if maker.insert(out, i).is_some() {
                return refuse(format!("two nodes define `{out}`"));
            }
        }
    }
    let reads: Vec<HashSet<usize>> = nodes
        .iter()
        .map(|node| {
            let mut names = HashSet::new();
            mentioned(node, &mut names, 0);
            names.into_iter().filter_map(|name| maker.get(name).copied()).collect()
        })
        .collect();
    // A walk in depth without recursion: a graph may be one long chain.
    let mut state = vec![0u8; nodes.len()];
    let mut order = Vec::new();
    let mut roots: Vec<usize> = wanted.iter().filter_map(|it| maker.get(it).copied()).collect();
    roots.sort_unstable();
    for root in roots {
        let mut stack = vec![(root, false)];
        while let Some((at, done)) = stack.pop() {
            if done {
                state[at] = 2;
                order.push(at);
                continue;
            }
            match state[at] {
                2 => continue,
                1 => {
                    return refuse(format!(
                        "the graph goes in a circle at `{}`",
                        nodes[at].output[0]
                    ));
                }
                _ => {}
            }
            state[at] = 1;
            stack.push((at, true));
            let mut next: Vec<usize> = reads[at].iter().copied().collect();
            next.sort_unstable_by(|a, b| b.cmp(a));
            for read in next {
                match state[read] {
                    1 => {
                        return refuse(format!(
                            "the graph goes in a circle through `{}`",
                            nodes[read].output[0]
                        ));
                    }
                    2 => {}
                    _ => stack.push((read, false)),
                }
            }
        }
    }
    // The order of the file is the reader's, where it is one.
    let mut sorted = order.clone();
    sorted.sort_unstable();
    let fits = sorted.iter().all(|at| reads[*at].iter().all(|read| read < at));
    Ok(if fits { near_their_readers(&sorted, &reads) } else { order })
}

/// Nodes that read no others (constants, mostly) right before the first that reads them: whoever reads the
/// program sees them there, and so does a kernel, which then knows what they are.
fn near_their_readers(order: &[usize], reads: &[HashSet<usize>]) -> Vec<usize> {
    let read: HashSet<usize> = order.iter().flat_map(|at| &reads[*at]).copied().collect();
    let mut placed = HashSet::new();
    let mut result = Vec::new();
    for at in order {
        if reads[*at].is_empty() && read.contains(at) {
            continue;
        }
        let mut sources: Vec<usize> = reads[*at].iter().copied().collect();
        sources.retain(|it| reads[*it].is_empty() && placed.insert(*it));
        sources.sort_unstable();
        result.append(&mut sources);
        result.push(*at);
    }
    result
}

/// The names that a node reads, those in its graphs included unless they are bound there.
fn mentioned<'a>(node: &'a NodeProto, names: &mut HashSet<&'a str>, depth: usize) {
    names.extend(node.input.iter().map(String::as_str));
    if depth >= DEEPEST {
        return;
    }
    for graph in node.attribute.iter().filter_map(|it| it.g.as_ref()) {
        let mut inside: HashSet<&str> = graph.output.iter().map(|it| it.name.as_str()).collect();
        for inner in &graph.node {
            mentioned(inner, &mut inside, depth + 1);
        }
        let bound = graph.input.iter().map(|it| it.name.as_str());
        let bound = bound.chain(graph.initializer.iter().map(|it| it.name.as_str()));
        let bound = bound.chain(graph.node.iter().flat_map(|it| &it.output).map(String::as_str));
        bound.for_each(|name| {
            inside.remove(name);
        });
        names.extend(inside);
    }
}

/// Writes one node.
fn node(cx: &mut Cx<'_>, proto: &NodeProto) -> Done {
    let mut inputs = Vec::new();
    for name in &proto.input {
        if name.is_empty() {
            inputs.push(None);
            continue;
        }
        match cx.values.get(name) {
            Some(Some(value)) => inputs.push(Some(value.clone())),
            // What it reads was refused: that has been said.
            Some(None) => {
                for out in &proto.output {
                    cx.values.insert(out.clone(), None);
                }
                return Ok(());
            }
            None => return refuse(format!("it reads `{name}`, which nothing defines")),
        }
    }
    let key = (proto.domain.clone(), proto.op_type.clone());
    if let Some(function) = cx.functions.get(&key).copied() {
        return call(cx, function, proto, inputs);
    }
    let domain = if proto.domain == "ai.onnx" { "" } else { proto.domain.as_str() };
    let opset = cx.opsets.get(domain).copied().unwrap_or(1);
    let node = Node {
        op: &proto.op_type,
        inputs,
        outputs: &proto.output,
        attributes: &proto.attribute,
        opset,
    };
    if domain.is_empty() && fold::node(cx, &node) {
        return Ok(());
    }
    ops::write(cx, domain, &node)?;
    for out in &proto.output {
        let shape = cx.values.get(out).and_then(Option::as_ref).map(|it| &it.shape);
        let mut extents = shape.into_iter().flatten().filter_map(Dim::known);
        if let Some(extent) = extents.find(|it| i32::try_from(*it).is_err()) {
            return refuse(format!("its result `{out}` has the extent {extent}"));
        }
    }
    Ok(())
}

/// Writes a function of the model in the place of its call.
fn call(
    cx: &mut Cx<'_>,
    function: &FunctionProto,
    proto: &NodeProto,
    inputs: Vec<Option<Value>>,
) -> Done {
    if cx.depth >= DEEPEST {
        return refuse("graphs and functions are nested too deeply");
    }
    let outer = std::mem::take(&mut cx.values);
    for (name, value) in function.input.iter().zip(inputs) {
        cx.values.insert(name.clone(), value);
    }
    let mut attributes: HashMap<&str, &AttributeProto> =
        function.attribute_proto.iter().map(|it| (it.name.as_str(), it)).collect();
    attributes.extend(proto.attribute.iter().map(|it| (it.name.as_str(), it)));
    let body: Vec<NodeProto> = function
        .node
        .iter()
        .map(|node| {
            let mut node = node.clone();
            node.attribute = node
                .attribute
                .iter()
                .filter_map(|it| match it.ref_attr_name.as_str() {
                    "" => Some(it.clone()),
                    // An attribute that the call does not give is left out.
                    name => attributes
                        .get(name)
                        .map(|given| AttributeProto { name: it.name.clone(), ..(*given).clone() }),
                })
                .collect();
            // Inputs that the call leaves out are left out inside, too.
            for input in &mut node.input {
                if matches!(cx.values.get(input), Some(None)) && function.input.contains(input) {
                    input.clear();
                }
            }
            node
        })
        .collect();
    let versions = cx.opsets.clone();
    cx.opsets.extend(function.opset_import.iter().map(|it| (it.domain.clone(), it.version)));
    cx.depth += 1;
    let wanted: Vec<&str> = function.output.iter().map(String::as_str).collect();
    let result = nodes(cx, &body, &wanted);
    cx.depth -= 1;
    cx.opsets = versions;
    let inner = std::mem::replace(&mut cx.values, outer);
    for (out, name) in proto.output.iter().zip(&function.output) {
        if !out.is_empty() {
            cx.values.insert(out.clone(), inner.get(name).cloned().flatten());
        }
    }
    result
}
