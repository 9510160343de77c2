//! ONNX models as programs.
//!
//! [`read`] takes an ONNX file and gives the text of a program and its weights. The file is
//! untrusted: nothing is allocated before its size has been compared with the data that are there,
//! and what cannot be imported is listed, node by node, before anything is written.
//!
//! * `proto`: the messages of the format; `data`, `elem`: constant tensors and their types;
//! * `dims`: extents, with sizes that are known only when the program runs;
//! * `walk`: the nodes in order; `fold`: what is constant is computed here; `ops`: what each
//!   operator means as text; `cx`, `program`: the text.
//!
//! Does not know: the checker, any engine. It writes text.

#![forbid(unsafe_code)]

mod cx;
mod data;
mod dims;
mod elem;
mod fold;
mod names;
mod node;
mod ops;
mod program;
mod proto;
mod value;
mod walk;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use bytes::Bytes;
use ein_runtime::{FileError, Memory, Tensor, format};
use prost::Message;

pub use program::Port;

use cx::{Cx, type_text};
use data::{Data, Items};
use dims::Dim;
use elem::Elem;
use proto::{ModelProto, TypeProto};
use value::Value;

/// A model as a program.
#[derive(Debug)]
pub struct Imported {
    /// The text of the program.
    pub program: String,
    /// The weights by name.
    pub weights: Vec<(String, Tensor)>,
    /// What the program takes.
    pub inputs: Vec<Port>,
    /// What it gives.
    pub outputs: Vec<Port>,
    /// The number of nodes of the graph.
    pub nodes: usize,
}

impl Imported {
    /// Writes the weights, if there are any.
    pub fn write_weights(&self, path: &Path) -> Result<(), FileError> {
        let arrays: Vec<(&str, &Tensor)> =
            self.weights.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
        format::write(path, &arrays)
    }
}

/// How a model is imported.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Inputs that are constant, with the files that hold their values.
    pub constants: Vec<(String, std::path::PathBuf)>,
    /// Extents that the model leaves open: by their name there, or as `INPUT.AXIS`.
    pub sizes: Vec<(String, i64)>,
    /// The name of the file of weights that the program loads.
    pub weights_file: String,
}

/// Reads a model. What is wrong is said in lines of text.
pub fn read(path: &Path, options: &Options) -> Result<Imported, Vec<String>> {
    let shown = path.display();
    let about =
        std::fs::metadata(path).map_err(|error| vec![format!("cannot read {shown}: {error}")])?;
    if !about.is_file() {
        return Err(vec![format!("cannot read {shown}: this is not a plain file")]);
    }
    let bytes =
        std::fs::read(path).map_err(|error| vec![format!("cannot read {shown}: {error}")])?;
    let model = ModelProto::decode(Bytes::from(bytes))
        .map_err(|error| vec![format!("{shown} is not an ONNX model: {error}")])?;
    import(&model, path, options)
}

fn import(model: &ModelProto, path: &Path, options: &Options) -> Result<Imported, Vec<String>> {
    let shown = path.display().to_string();
    let Some(graph) = &model.graph else {
        return Err(vec![format!("{shown} is not an ONNX model: it has no graph")]);
    };
    let mut cx = Cx::new(&options.weights_file);
    cx.folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
    if cx.folder.as_os_str().is_empty() {
        cx.folder = ".".into();
    }
    for set in &model.opset_import {
        let domain = if set.domain == "ai.onnx" { "" } else { set.domain.as_str() };
        cx.opsets.insert(domain.to_owned(), set.version);
    }
    for function in &model.functions {
        cx.functions.insert((function.domain.clone(), function.name.clone()), function);
    }
    let mut problems = Vec::new();
    for info in graph.value_info.iter().chain(&graph.output) {
        if let Some(shape) = info.r#type.as_ref().and_then(stated) {
            cx.stated.insert(info.name.clone(), shape);
        }
    }
    let stem =
        path.file_stem().map_or_else(|| "model".into(), |it| it.to_string_lossy().into_owned());
    let function = cx.names.fresh(if graph.name.is_empty() { &stem } else { &graph.name });
    let mut inputs = Vec::new();
    let mut sizes: HashMap<String, Dim> = HashMap::new();
    let weights: HashSet<&str> = graph.initializer.iter().map(|it| it.name.as_str()).collect();
    for info in &graph.input {
        if weights.contains(info.name.as_str()) {
            continue;
        }
        if let Some((_, file)) = options.constants.iter().find(|(name, _)| *name == info.name) {
            match constant(&info.name, info.r#type.as_ref(), file) {
                Ok(data) => cx.set_constant(&info.name, data),
                Err(why) => problems.push(why),
            }
            continue;
        }
        match input(&mut cx, info, &mut sizes, &options.sizes) {
            Ok((port, value)) => {
                cx.set(&info.name, value);
                inputs.push(port);
            }
            Err(why) => {
                cx.values.insert(info.name.clone(), None);
                problems.push(format!("input `{}`: {why}", info.name));
            }
        }
    }
    if let Err(refusal) = walk::graph(&mut cx, graph) {
        problems.push(format!("{shown}: {}", refusal.why));
    }
    // Outside the function its own names are free again.
    let mut names = names::Names::new();
    for taken in inputs.iter().map(|it| it.name.as_str()).chain([function.as_str()]) {
        names.take(taken);
    }
    cx.helpers.keys().for_each(|it| names.take(it));
    let mut results = Vec::new();
    for output in &graph.output {
        match cx.values.get(&output.name).cloned() {
            Some(Some(value)) => {
                let name = names.fresh(&output.name);
                results.push((output.name.clone(), name, value));
            }
            Some(None) => {}
            None if problems.is_empty() => {
                problems.push(format!("output `{}`: nothing defines it", output.name));
            }
            None => {}
        }
    }
    for problem in &cx.problems {
        let about = problem.refusal.attribute.as_ref();
        let attribute = about.map(|it| format!(", `{it}`")).unwrap_or_default();
        problems.push(format!(
            "node `{}`: operator {}{attribute}: {}",
            problem.node, problem.op, problem.refusal.why
        ));
    }
    if results.is_empty() && problems.is_empty() {
        problems.push(format!("{shown}: the graph has no outputs"));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let file =
        path.file_name().map_or_else(|| shown.clone(), |it| it.to_string_lossy().into_owned());
    let title = format!(
        "`{}`, imported from {}.",
        graph.name.replace(char::is_control, " "),
        file.replace(char::is_control, " ")
    );
    let program = program::write(&mut cx, &title, &function, &inputs, &results)
        .map_err(|refusal| vec![refusal.why])?;
    let outputs = results
        .into_iter()
        .map(|(graph, name, value)| Port { graph, name, ty: type_text(value.elem, &value.shape) })
        .collect();
    let mut weights = Vec::new();
    for weight in &cx.weights {
        let tensor =
            weight.stored.tensor().map_err(|why| vec![format!("`{}`: {why}", weight.name)])?;
        weights.push((weight.name.clone(), tensor));
    }
    Ok(Imported { program, weights, inputs, outputs, nodes: graph.node.len() })
}

/// The extents that a type states.
fn stated(ty: &TypeProto) -> Option<Vec<Option<i64>>> {
    let shape = ty.tensor_type.as_ref()?.shape.as_ref()?;
    Some(shape.dim.iter().map(|dim| dim.dim_value.filter(|n| *n >= 0)).collect())
}

/// An input of the program.
fn input(
    cx: &mut Cx<'_>,
    info: &proto::ValueInfoProto,
    sizes: &mut HashMap<String, Dim>,
    fixed: &[(String, i64)],
) -> Result<(Port, Value), String> {
    let ty = info.r#type.as_ref().ok_or("it has no type")?;
    let Some(tensor) = &ty.tensor_type else {
        return Err("sequences and optional values are not supported as inputs".into());
    };
    let elem = Elem::of(tensor.elem_type).ok_or_else(|| {
        format!("elements of type {} are not supported", Elem::name_of(tensor.elem_type))
    })?;
    let shape = tensor.shape.as_ref().ok_or("its rank is not known")?;
    let mut dims = Vec::new();
    for (axis, dim) in shape.dim.iter().enumerate() {
        let place = format!("{}.{axis}", info.name);
        let param = dim.dim_param.as_deref().filter(|it| !it.is_empty());
        let given = fixed.iter().find(|(name, _)| *name == place || Some(name.as_str()) == param);
        dims.push(match (given, dim.dim_value, param) {
            (Some((_, n)), _, _) => Dim::from(*n),
            (None, Some(n), _) if (0..=i64::from(i32::MAX)).contains(&n) => Dim::from(n),
            // Some writers say -1 where they mean that nothing is known.
            (None, Some(-1), _) => Dim::atom(format!("?{}", cx.names.fresh("size"))),
            (None, Some(n), _) => return Err(format!("the extent {n} is not possible")),
            (None, None, Some(param)) => sizes
                .entry(param.to_owned())
                .or_insert_with(|| Dim::atom(format!("?{}", cx.names.fresh(param))))
                .clone(),
            (None, None, None) => Dim::atom(format!("?{}", cx.names.fresh("size"))),
        });
    }
    let name = cx.names.fresh(&info.name);
    let value = cx.bound(&name, elem, dims.clone(), Vec::new());
    Ok((Port { graph: info.name.clone(), name, ty: type_text(elem, &dims) }, value))
}

/// The value of an input that is constant.
fn constant(name: &str, ty: Option<&TypeProto>, file: &Path) -> Result<Data, String> {
    let tensor = format::read(file, Some(name), &Memory::unlimited())
        .map_err(|error| format!("input `{name}`: cannot read {error}"))?;
    let code = ty.and_then(|it| it.tensor_type.as_ref()).map_or(1, |it| it.elem_type);
    let elem = Elem::of(code).ok_or_else(|| {
        format!("input `{name}`: elements of type {} are not supported", Elem::name_of(code))
    })?;
    if tensor.len() > data::MOST_FOLDED {
        return Err(format!("input `{name}`: it is too large for a constant"));
    }
    let items = if elem.is_float() {
        Items::Floats(tensor.iter().map(data::as_f64).collect())
    } else {
        Items::Ints(tensor.iter().map(|it| Dim::from(data::as_i64(it))).collect())
    };
    Ok(Data { elem, shape: tensor.shape().to_vec(), items })
}
