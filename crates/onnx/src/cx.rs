//! The program while it is written: names, lines, and what is known of each value.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use crate::data::{Data, Stored};
use crate::dims::Dim;
use crate::elem::Elem;
use crate::names::Names;
use crate::node::Refusal;
use crate::proto::{FunctionProto, GraphProto};
use crate::value::{Source, Value};

/// A statement of the program.
#[derive(Clone, Debug)]
pub struct Line {
    /// What it binds.
    pub binds: Vec<String>,
    /// Its text.
    pub text: String,
}

/// A node that cannot be imported.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Its name, or that of its first output.
    pub node: String,
    /// Its operator.
    pub op: String,
    /// Why.
    pub refusal: Refusal,
}

/// Weights that were loaded, in order.
#[derive(Debug)]
pub struct Weight {
    /// Its name in the file of weights.
    pub name: String,
    /// Its elements.
    pub stored: Rc<Stored>,
}

/// Constants of at most as many elements stand in the text.
const INLINE: usize = 8;

/// Computed constants of more elements are written with the weights.
const LITERAL: usize = 256;

/// The state of the importer.
#[derive(Debug)]
pub struct Cx<'m> {
    /// The values of the graph by name; `None` if the node that makes it was refused.
    pub values: HashMap<String, Option<Value>>,
    /// Identifiers.
    pub names: Names,
    /// The lines of the block that is being written.
    pub lines: Vec<Line>,
    /// The lines that load weights.
    pub loads: Vec<Line>,
    /// Helper functions that were asked for, by name.
    pub helpers: BTreeMap<String, String>,
    /// Nodes that cannot be imported.
    pub problems: Vec<Problem>,
    /// The weights that are written.
    pub weights: Vec<Weight>,
    /// Constants that stand in the text already.
    pub placed: HashMap<u32, String>,
    /// Functions of the model.
    pub functions: HashMap<(String, String), &'m FunctionProto>,
    /// The types that the graph states of its values.
    pub stated: HashMap<String, Vec<Option<i64>>>,
    /// The versions of the operator sets by domain.
    pub opsets: HashMap<String, i64>,
    /// How deep functions and graphs are nested.
    pub depth: usize,
    /// Where data outside the file may lie.
    pub folder: std::path::PathBuf,
    /// The file that the weights are written to.
    pub weights_file: String,
    next: u32,
}

impl<'m> Cx<'m> {
    /// An empty program.
    pub fn new(weights_file: &str) -> Cx<'m> {
        Cx {
            values: HashMap::new(),
            names: Names::new(),
            lines: Vec::new(),
            loads: Vec::new(),
            helpers: BTreeMap::new(),
            problems: Vec::new(),
            weights: Vec::new(),
            placed: HashMap::new(),
            functions: HashMap::new(),
            stated: HashMap::new(),
            opsets: HashMap::new(),
            depth: 0,
            folder: std::path::PathBuf::new(),
            weights_file: weights_file.to_owned(),
            next: 0,
        }
    }

    fn number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// A constant as a value.
    pub fn constant(&mut self, data: Data) -> Value {
        let source = Source::Constant(self.number());
        let (shape, elem) = (data.dims(), data.elem);
        Value { elem, shape, axes: Vec::new(), known: Some(Rc::new(data)), source }
    }

    /// A tensor of the file as a value.
    pub fn weight(&mut self, name: &str, stored: Stored) -> Value {
        let shape = stored.shape.iter().map(|n| Dim::from(*n as i64)).collect();
        let known = stored.data().map(Rc::new);
        let source = Source::Weight(self.number(), Rc::new(stored.clone()), name.into());
        Value { elem: stored.elem, shape, axes: Vec::new(), known, source }
    }

    /// A value of the program by its name there.
    pub fn bound(&mut self, name: &str, elem: Elem, shape: Vec<Dim>, axes: Vec<String>) -> Value {
        Value { elem, shape, axes, known: None, source: Source::Bound(name.into()) }
    }

    /// Gives a value of the graph its meaning.
    pub fn set(&mut self, out: &str, value: Value) {
        if !out.is_empty() {
            self.values.insert(out.to_owned(), Some(value));
        }
    }

    /// Gives a value of the graph a constant.
    pub fn set_constant(&mut self, out: &str, data: Data) {
        let value = self.constant(data);
        self.set(out, value);
    }

    /// A statement.
    pub fn line(&mut self, binds: &[&str], text: impl Into<String>) {
        let binds = binds.iter().map(|it| (*it).to_owned()).collect();
        self.lines.push(Line { binds, text: text.into() });
    }

    /// The name of a value in the program; a constant is put there first.
    pub fn name_of(&mut self, value: &Value) -> String {
        match value.source.clone() {
            Source::Bound(name) => name,
            Source::Constant(id) => {
                if let Some(name) = self.placed.get(&id) {
                    return name.clone();
                }
                let Some(data) = value.known.clone() else { return "()".into() };
                if data.len() > LITERAL
                    && let Some(stored) = Stored::of(&data)
                {
                    let weight = self.names.fresh("table");
                    let source = Source::Weight(id, Rc::new(stored), weight.as_str().into());
                    return self.name_of(&Value { source, ..value.clone() });
                }
                let name = self.names.fresh("constant");
                let text = self.literal_line(&name, &data);
                self.line(&[&name], text);
                self.placed.insert(id, name.clone());
                name
            }
            Source::Weight(id, stored, weight) => {
                if let Some(name) = self.placed.get(&id) {
                    return name.clone();
                }
                let name = self.names.fresh(&weight);
                let text = match &value.known {
                    Some(data) if data.len() <= INLINE => self.literal_line(&name, data),
                    _ => {
                        let ty = type_text(stored.elem, &value.shape);
                        self.weights.push(Weight { name: weight.to_string(), stored });
                        self.helper("weight", format!(
                            "/// A weight by its name in the model.\nfn weight(name: str) {{ load_safetensors({}, name) }}\n",
                            string_text(&self.weights_file)
                        ));
                        format!("let {name} = weight({}) as {ty};", string_text(&weight))
                    }
                };
                self.loads.push(Line { binds: vec![name.clone()], text });
                self.placed.insert(id, name.clone());
                name
            }
        }
    }

    fn literal_line(&mut self, name: &str, data: &Data) -> String {
        let ty = type_text(data.elem, &data.dims());
        let literal = data.literal();
        format!("let {name}: {ty} = {literal};")
    }

    /// One element of a value; the only element of a constant stands in the text.
    pub fn read(&mut self, value: &Value, at: &[String]) -> String {
        if let Some(data) = value.single() {
            let text = data.text(0);
            return if text.starts_with('-') { format!("({text})") } else { text };
        }
        let name = self.name_of(value);
        if at.is_empty() { name } else { format!("{name}[{}]", at.join(", ")) }
    }

    /// One element of a value that is repeated to a larger shape, and which axes of that it covers.
    pub fn read_repeated(
        &mut self,
        value: &Value,
        at: &[String],
        shape: &[Dim],
    ) -> (String, Vec<bool>) {
        let lead = shape.len().saturating_sub(value.rank());
        let mut covered = vec![false; shape.len()];
        let mut places = Vec::new();
        for (axis, dim) in value.shape.iter().enumerate() {
            if dim.is(1) && !shape[lead + axis].is(1) {
                places.push("0".to_owned());
            } else {
                covered[lead + axis] = value.single().is_none();
                places.push(at[lead + axis].clone());
            }
        }
        (self.read(value, &places), covered)
    }

    /// A definition of a helper value.
    pub fn temp(
        &mut self,
        hint: &str,
        elem: Elem,
        shape: Vec<Dim>,
        axes: &[String],
        covered: &[bool],
        body: &str,
    ) -> Value {
        let name = self.names.fresh(hint);
        let slots: Vec<String> = axes
            .iter()
            .zip(&shape)
            .enumerate()
            .map(|(i, (axis, dim))| match covered.get(i) {
                Some(true) => axis.clone(),
                _ => format!("{axis} in 0..{dim}"),
            })
            .collect();
        let text = if slots.is_empty() {
            format!("let {name} = {body};")
        } else {
            format!("let {name}[{}] = {body};", slots.join(", "))
        };
        self.line(&[&name], text);
        self.bound(&name, elem, shape, axes.to_vec())
    }

    /// The definition of an output of the graph.
    pub fn define(
        &mut self,
        out: &str,
        elem: Elem,
        shape: Vec<Dim>,
        axes: &[String],
        covered: &[bool],
        body: &str,
    ) -> Value {
        let value = self.temp(out, elem, shape, axes, covered, body);
        self.set(out, value.clone());
        value
    }

    /// Asks for a helper function.
    pub fn helper(&mut self, name: &str, text: impl Into<String>) {
        self.helpers.insert(name.to_owned(), text.into());
    }

    /// What a nested graph computes, as the lines of a block and its results.
    pub fn block(
        &mut self,
        graph: &GraphProto,
        inputs: Vec<(String, Value)>,
    ) -> Result<(String, Vec<Value>), Refusal> {
        let values = self.values.clone();
        let placed = self.placed.clone();
        let outer = std::mem::take(&mut self.lines);
        for (name, value) in inputs {
            self.values.insert(name, Some(value));
        }
        let problems = self.problems.len();
        let result = crate::walk::graph(self, graph);
        let mut out = Vec::new();
        for output in &graph.output {
            match self.values.get(&output.name) {
                Some(Some(value)) => out.push(value.clone()),
                _ if self.problems.len() > problems => {}
                _ => {
                    return crate::node::refuse(format!(
                        "its graph does not define its output `{}`",
                        output.name
                    ));
                }
            }
        }
        // Constants that are results must stand in the block itself.
        let names: Vec<String> = out.iter().map(|value| self.name_of(value)).collect();
        let lines = std::mem::replace(&mut self.lines, outer);
        self.values = values;
        self.placed.retain(|id, name| {
            placed.contains_key(id) || self.loads.iter().any(|l| l.binds.contains(name))
        });
        result?;
        let kept = crate::program::needed(&lines, &names);
        let text = kept.iter().map(|line| format!("{}\n", line.text)).collect();
        let mut values = Vec::new();
        for (value, name) in out.into_iter().zip(names) {
            values.push(Value { source: Source::Bound(name), ..value });
        }
        Ok((text, values))
    }
}

/// A type as program text.
pub fn type_text(elem: Elem, shape: &[Dim]) -> String {
    if shape.is_empty() {
        return elem.lang().into();
    }
    let dims: Vec<String> =
        shape.iter().map(|dim| if dim.is_plain() { dim.to_string() } else { "?".into() }).collect();
    format!("[{}; {}]", elem.lang(), dims.join(", "))
}

/// A text as a literal.
pub fn string_text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '{' => out.push_str("{{"),
            '}' => out.push_str("}}"),
            c if c.is_control() => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Index names for a rank: those given if they are distinct, else `i j k …`.
pub fn indices(axes: &[String], rank: usize) -> Vec<String> {
    let distinct = axes.iter().collect::<BTreeSet<_>>().len() == rank;
    if axes.len() == rank && distinct {
        // Names of axes that had one point say nothing about what they are now.
        let kept: Vec<String> = axes.iter().filter(|it| !it.starts_with('_')).cloned().collect();
        let mut new = others(&kept, &vec!["u"; rank - kept.len()]).into_iter();
        let named = |axis: &String| match axis.starts_with('_') {
            true => new.next().unwrap_or_default(),
            false => axis.clone(),
        };
        return axes.iter().map(named).collect();
    }
    const NAMES: [&str; 12] = ["i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"];
    (0..rank)
        .map(|i| NAMES.get(i).map_or_else(|| format!("axis{i}"), |it| (*it).to_owned()))
        .collect()
}

/// Index names that are none of those in use.
pub fn others(used: &[String], wanted: &[&str]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let spare = ["u", "v", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"];
    for name in wanted {
        let free = |it: &str, out: &[String]| {
            !used.iter().any(|u| u == it) && !out.iter().any(|o| o == it)
        };
        let chosen = std::iter::once(*name).chain(spare).find(|it| free(it, &out)).unwrap_or("z");
        out.push(chosen.to_owned());
    }
    out
}
