//! Programs as Python has them.

use crate::around::{Around, Bounds};
use crate::class::Class;
use crate::convert::Taking;
use crate::fail;
use crate::give;
use ein_driver::call::fork::Own;
use ein_driver::call::{self, Failure, Kind, Memory, Program, Signature, Value};
use ein_driver::{Access, Code, Engine, RunOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A program that was checked, for all who call it. In a child of the process that compiled its functions
/// it begins anew: threads that are not there may have been at work on them.
pub(crate) struct Checked(Mutex<Arc<Own<call::Module>>>);

impl Checked {
    /// The program in this process. With the interpreter, whose lock whoever forks has, so that a child
    /// finds this one open.
    pub(crate) fn here(&self, _py: Python<'_>) -> Arc<Own<call::Module>> {
        let mut module = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !module.is_here() {
            *module = Arc::new(Own::new(module.again()));
        }
        Arc::clone(&module)
    }
}

/// A program that was checked.
#[pyclass(subclass, frozen, module = "einlang._einlang")]
pub(crate) struct Module {
    pub(crate) module: Arc<Checked>,
    /// What a call may take and do.
    pub(crate) bounds: Bounds,
}

/// How a program is run.
#[derive(Default, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct How {
    engine: String,
    threads: Option<usize>,
    deterministic: bool,
    memory_limit: Option<u64>,
    /// In seconds, for each call or run.
    time_limit: Option<f64>,
    ad_memory: Option<u64>,
    wrapping: bool,
    paranoid: bool,
    sandbox: bool,
    allow_read: Vec<PathBuf>,
    allow_write: Vec<PathBuf>,
}

impl How {
    /// What a call or run may take and do. A time that no clock can count is no limit.
    fn bounds(&self) -> Bounds {
        let time = self.time_limit.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Bounds { time, sandbox: self.sandbox }
    }

    fn options(&self) -> PyResult<RunOptions> {
        let engines = [Engine::Auto, Engine::Eval, Engine::Jit, Engine::Native];
        let Some(engine) = engines.into_iter().find(|it| it.as_str() == self.engine) else {
            let text = format!(
                "there is no engine `{}`: it is one of auto, eval, jit, native",
                self.engine
            );
            return Err(PyValueError::new_err(text));
        };
        Ok(RunOptions {
            engine,
            threads: self.threads,
            deterministic: self.deterministic,
            memory_limit: self.memory_limit,
            time_limit: self.bounds().time,
            ad_memory: self.ad_memory,
            wrapping: self.wrapping,
            paranoid: self.paranoid,
            access: Access {
                read: self.allow_read.clone(),
                write: self.allow_write.clone(),
                sandbox: self.sandbox,
            },
            ..RunOptions::default()
        })
    }
}

fn program(text: String, name: String, path: Option<PathBuf>, how: &How) -> PyResult<Program> {
    Ok(Program { name, path, text, options: how.options()?, python: true })
}

#[pymethods]
impl Module {
    #[new]
    fn new(
        py: Python<'_>,
        text: String,
        name: String,
        path: Option<PathBuf>,
        how: How,
    ) -> PyResult<Self> {
        let program = program(text, name, path, &how)?;
        let module = py.detach(|| call::Module::new(program));
        let module = Own::new(module.map_err(|failure| fail::raise(py, failure))?);
        let module = Arc::new(Checked(Mutex::new(Arc::new(module))));
        Ok(Self { module, bounds: how.bounds() })
    }

    /// The functions, each as a dictionary.
    fn _functions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for function in self.module.here(py).functions() {
            list.append(signature(py, function)?)?;
        }
        Ok(list)
    }

    /// What the checker warned of.
    fn _warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        fail::told(py, self.module.here(py).warnings())
    }

    /// A name like this one that the program does not use.
    fn _free_name(&self, py: Python<'_>, like: &str) -> String {
        self.module.here(py).free_name(like)
    }
}

fn signature<'py>(py: Python<'py>, function: &Signature) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &function.name)?;
    dict.set_item("doc", &function.doc)?;
    dict.set_item("line", function.line)?;
    dict.set_item("public", function.public)?;
    dict.set_item("result", &function.result)?;
    dict.set_item("layout", function.layout.clone())?;
    let params = PyList::empty(py);
    for param in &function.params {
        let entry = PyDict::new(py);
        entry.set_item("name", &param.name)?;
        entry.set_item("type", &param.text)?;
        entry.set_item("layout", param.layout.clone())?;
        entry.set_item("default", &param.default)?;
        params.append(entry)?;
    }
    dict.set_item("params", params)?;
    Ok(dict)
}

/// Everything that the checker has to say about a program.
#[pyfunction]
pub(crate) fn check<'py>(
    py: Python<'py>,
    text: String,
    name: String,
    path: Option<PathBuf>,
) -> PyResult<Bound<'py, PyList>> {
    let program = Program { name, path, text, options: RunOptions::default(), python: true };
    let found = py.detach(|| program.check());
    let found = found.map_err(|bug| fail::raise(py, Failure::Internal(bug)))?;
    fail::told(py, &found)
}

/// Runs a program; its outputs by name.
#[pyfunction]
#[pyo3(signature = (text, name, path, how, inputs, observe = None, progress = None))]
#[allow(clippy::too_many_arguments, reason = "the keywords of a function of Python")]
pub(crate) fn run<'py>(
    py: Python<'py>,
    text: String,
    name: String,
    path: Option<PathBuf>,
    how: How,
    inputs: &Bound<'py, PyDict>,
    observe: Option<Vec<String>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let program = program(text, name, path, &how)?;
    let memory = Memory::unlimited();
    let mut taking = Taking::new(&memory);
    let mut given: Vec<(String, Value)> = Vec::new();
    for (key, object) in inputs.iter() {
        let key = key.str()?.to_string();
        let before = taking.values.len();
        let (declared, layout) = program.declared(&key).unwrap_or_default();
        let kind = taking.one(&key, &declared, &object)?;
        if let Kind::Array { dims: Some(dims), .. } = &kind {
            same_names(py, &key, &layout, dims)?;
        }
        if taking.values.len() != before + 1 {
            let message = format!("input `{key}` is neither a number nor an array");
            let told = call::Told::alone(Code::E0904, message, Vec::new());
            return Err(fail::error(py, "compile", &[told]));
        }
        given.extend(taking.values.pop().map(|value| (key, value)));
    }
    let class: Option<Class> = taking.class.flatten();
    let around = Around::new(py, how.bounds(), progress)?;
    let outcome = py.detach(|| program.run(&given, observe.as_deref(), &around));
    let outputs = around.outcome(py, outcome)?;
    drop(given);
    let dict = PyDict::new(py);
    for output in outputs {
        let names = |_: &Value| Some((String::new(), give::fields(&output.fields)));
        let value = output.value.clone();
        dict.set_item(&output.name, give::give(py, class, value, &output.dims, &names)?)?;
    }
    Ok(dict)
}

/// Holds the names of the axes of an input against those that are declared.
fn same_names(
    py: Python<'_>,
    name: &str,
    layout: &[String],
    dims: &[Option<String>],
) -> PyResult<()> {
    let wanted = give::names_by(layout, dims.len());
    let differs = |(a, b): (&Option<String>, &Option<String>)| a.is_some() && b.is_some() && a != b;
    let Some(at) = wanted.iter().zip(dims).position(differs) else { return Ok(()) };
    let shown = |names: &[Option<String>]| -> String {
        names.iter().map(|it| it.as_deref().unwrap_or("?")).collect::<Vec<_>>().join(", ")
    };
    let swapped = wanted.iter().all(|it| it.is_none() || dims.contains(it));
    let code = if swapped { Code::E0311 } else { Code::E0309 };
    let (want, have) = (wanted[at].as_deref().unwrap_or("?"), dims[at].as_deref().unwrap_or("?"));
    let message = format!(
        "`{name}` has the layout {{{}}}, but is declared with {{{}}}: axis {at} is `{have}`, not `{want}`",
        shown(dims),
        shown(&wanted)
    );
    let fix = match swapped {
        true => {
            let order: Vec<String> =
                wanted.iter().flatten().map(|it| format!("\"{it}\"")).collect();
            format!("put the axes in order: `{name}.transpose({})`", order.join(", "))
        }
        false => {
            format!("pass an array with `{want}`, or rename it: `{name}.rename({have}=\"{want}\")`")
        }
    };
    Err(fail::error(py, "compile", &[call::Told::alone(code, message, vec![fix])]))
}

/// The page about a code.
#[pyfunction]
pub(crate) fn explain(code: &str) -> PyResult<String> {
    ein_driver::explain::page(code)
        .map_err(|_| PyValueError::new_err(format!("there is no code `{code}`")))
}
