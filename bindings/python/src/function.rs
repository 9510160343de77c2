//! A function of a program as Python calls it.

use crate::around::{Around, Bounds};
use crate::class::Class;
use crate::convert::Taking;
use crate::fail;
use crate::give;
use crate::module::{Checked, Module};
use ein_driver::Code;
use ein_driver::call::fork::Own;
use ein_driver::call::{self, Declared, Failure, Kind, Request, Special, Told, Tree, Value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::{Arc, Mutex, PoisonError};

/// A request compiled for the kinds of arguments that were last seen.
type Compiled = (Vec<Kind>, Arc<Special>);

/// A parameter: its name, its name in the text, and the function and parameter it is passed to.
type Param = (String, String, Option<(usize, usize)>);

/// The type of the numbers of a result, and its coordinates.
type Shown = (Option<String>, Vec<Option<String>>);

/// Something that can be called: a function of a program, or a request about one.
#[pyclass(subclass, frozen, module = "einlang._einlang")]
pub(crate) struct Function {
    module: Arc<Checked>,
    name: String,
    params: Vec<(String, Declared)>,
    request: Request,
    /// Locked with the interpreter only, as [`Checked`] is.
    last: Mutex<Option<Arc<Own<Compiled>>>>,
    /// What a call may take and do.
    bounds: Bounds,
    /// Whether several outputs are a tuple although there is only one.
    several: bool,
}

#[pymethods]
impl Function {
    /// `params` are names with the numbers of the function and its parameter that they are passed
    /// to, if they are.
    #[new]
    #[pyo3(signature = (module, name, params, body, outputs, before = "", several = false))]
    fn new(
        module: &Bound<'_, Module>,
        name: String,
        params: Vec<Param>,
        body: String,
        outputs: Vec<String>,
        before: &str,
        several: bool,
    ) -> Self {
        let bounds = module.get().bounds;
        let checked = module.get().module.here(module.py());
        let declared = |at: Option<(usize, usize)>| {
            let (function, param) = at?;
            let function = checked.functions().get(function)?;
            Some(function.params.get(param)?.declared.clone())
        };
        let names = params.iter().map(|(_, inner, _)| inner.clone()).collect();
        let params = params
            .into_iter()
            .map(|(name, _, at)| (name, declared(at).unwrap_or_default()))
            .collect();
        let module = Arc::clone(&module.get().module);
        let request = Request { params: names, before: before.to_owned(), body, outputs };
        Self { module, name, params, request, last: Mutex::default(), bounds, several }
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let this = slf.get();
        if kwargs.is_none_or(|kwargs| kwargs.is_empty()) && args.len() == this.params.len() {
            let args: Vec<Bound<'py, PyAny>> = args.iter().collect();
            return this.call(slf.py(), &args);
        }
        let bound = this.bind(args, kwargs)?;
        if bound.iter().all(Option::is_some) {
            let args: Vec<Bound<'py, PyAny>> = bound.into_iter().flatten().collect();
            return this.call(slf.py(), &args);
        }
        // What was left out has a default; without it this is another request.
        let given: Vec<bool> = bound.iter().map(Option::is_some).collect();
        let other = slf.call_method1("_without", (PyTuple::new(slf.py(), given)?,))?;
        let args: Vec<Bound<'py, PyAny>> = bound.into_iter().flatten().collect();
        other.call1(PyTuple::new(slf.py(), args)?)
    }

    /// How a call with these arguments is computed: its loops, storage, and why.
    #[pyo3(signature = (*args, c = false))]
    fn _plan(&self, args: &Bound<'_, PyTuple>, c: bool) -> PyResult<String> {
        let py = args.py();
        let args: Vec<_> = args.iter().collect();
        let module = self.module.here(py);
        let mut taking = Taking::new(module.memory());
        taking.all(&self.params, &args)?;
        let around = Around::new(py, Bounds::default(), None)?;
        let (kinds, values) = (taking.kinds, taking.values);
        let planned = py.detach(|| {
            let special = module.special(&self.request, &kinds, &around)?;
            special.plan(&values, c)
        });
        let mut text = String::new();
        for name in &taking.copied {
            text.push_str(&format!("# `{name}` is copied: its elements are not aligned\n"));
        }
        text.push_str(&planned.map_err(|failure| fail::raise(py, failure))?);
        Ok(text)
    }

    /// The type of the numbers of each argument, if it is a number or an array.
    #[pyo3(signature = (*args))]
    fn _types(&self, args: &Bound<'_, PyTuple>) -> PyResult<Vec<Option<String>>> {
        let module = self.module.here(args.py());
        let args: Vec<_> = args.iter().collect();
        let mut taking = Taking::new(module.memory());
        taking.all(&self.params, &args)?;
        let name = |kind: &Kind| match kind {
            Kind::Array { ty, .. } | Kind::Scalar(ty) => Some(ty.to_string()),
            Kind::Text | Kind::Tuple(_) | Kind::Record(..) => None,
        };
        Ok(taking.kinds.iter().map(name).collect())
    }

    /// The types of the results for these arguments: for each leaf its type and coordinates.
    #[pyo3(signature = (*args))]
    fn _results(&self, args: &Bound<'_, PyTuple>) -> PyResult<Vec<Shown>> {
        let py = args.py();
        let args: Vec<_> = args.iter().collect();
        let module = self.module.here(py);
        let mut taking = Taking::new(module.memory());
        taking.all(&self.params, &args)?;
        let around = Around::new(py, Bounds::default(), None)?;
        let kinds = taking.kinds;
        let special = py.detach(|| module.special(&self.request, &kinds, &around));
        let special = special.map_err(|failure| fail::raise(py, failure))?;
        let leaf = |leaf: &call::Leaf| (leaf.ty.map(|ty| ty.to_string()), leaf.dims.clone());
        Ok(special.leaves().iter().map(leaf).collect())
    }
}

impl Function {
    /// The arguments in the order of the parameters.
    fn bind<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        let py = args.py();
        let refuse = |code, message: String, fix: String| {
            fail::error(py, "argument", &[Told::alone(code, message, vec![fix])])
        };
        let names: Vec<&str> = self.params.iter().map(|(name, _)| name.as_str()).collect();
        let wants = format!("its parameters are {}", names.join(", "));
        if args.len() > names.len() {
            let message =
                format!("`{}` takes {} arguments, but {} came", self.name, names.len(), args.len());
            return Err(refuse(Code::E0508, message, wants));
        }
        let mut bound: Vec<Option<Bound<'py, PyAny>>> = vec![None; names.len()];
        for (slot, arg) in bound.iter_mut().zip(args.iter()) {
            *slot = Some(arg);
        }
        for (key, value) in kwargs.into_iter().flatten() {
            let key = key.str()?.to_string();
            let Some(at) = names.iter().position(|name| *name == key) else {
                let message = format!("`{}` has no parameter `{key}`", self.name);
                return Err(refuse(Code::E0509, message, wants));
            };
            if bound[at].replace(value).is_some() {
                let message = format!("`{}` gets `{key}` twice", self.name);
                return Err(refuse(Code::E0509, message, "pass it once".to_owned()));
            }
        }
        Ok(bound)
    }

    fn call<'py>(
        &self,
        py: Python<'py>,
        args: &[Bound<'py, PyAny>],
    ) -> PyResult<Bound<'py, PyAny>> {
        let module = self.module.here(py);
        let mut taking = Taking::new(module.memory());
        taking.all(&self.params, args)?;
        let Taking { kinds, values, class, .. } = taking;
        let around = Around::new(py, self.bounds, None)?;
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let found = last().clone().filter(|last| last.is_here() && last.0 == kinds);
        let is_new = found.is_none();
        let outcome: Result<(Arc<Own<Compiled>>, Vec<Value>), Failure> = py.detach(|| {
            let compiled = match found {
                Some(compiled) => compiled,
                None => {
                    let special = module.special(&self.request, &kinds, &around)?;
                    Arc::new(Own::new((kinds.clone(), special)))
                }
            };
            let results = compiled.1.call(&values, &around)?;
            Ok((compiled, results))
        });
        let explained = |failure| self.explained(py, &module, failure, &kinds, &values);
        let (compiled, results) = around.outcome(py, outcome.map_err(explained))?;
        if is_new {
            *last() = Some(Arc::clone(&compiled));
        }
        drop(values);
        self.give(py, class.flatten(), &compiled.1, results)
    }

    /// A failure of a run, in the words of the checker if it is about shapes.
    fn explained(
        &self,
        py: Python<'_>,
        module: &call::Module,
        failure: Failure,
        kinds: &[Kind],
        values: &[Value],
    ) -> Failure {
        if let Failure::Stopped(told) = &failure
            && told.iter().any(|it| matches!(it.code, "E0804" | "E0801" | "E0807"))
        {
            let extents: Vec<Vec<usize>> = values.iter().map(|it| it.shape().to_vec()).collect();
            let better = py.detach(|| module.check_extents(&self.request, kinds, &extents));
            if let Ok(better) = better
                && !better.is_empty()
            {
                return Failure::Rejected(better);
            }
        }
        failure
    }

    fn give<'py>(
        &self,
        py: Python<'py>,
        class: Option<Class>,
        special: &Special,
        results: Vec<Value>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut objects = Vec::with_capacity(results.len());
        let names = |value: &Value| special.names_of(value);
        for (leaf, value) in special.leaves().iter().zip(results) {
            objects.push(give::give(py, class, value, &leaf.dims, &names)?);
        }
        match special.outputs() {
            [Tree::Leaf(0)] if !self.several && objects.len() == 1 => Ok(objects.swap_remove(0)),
            [only] if !self.several => assemble(py, only, &objects),
            all => {
                let all: PyResult<Vec<_>> =
                    all.iter().map(|it| assemble(py, it, &objects)).collect();
                Ok(PyTuple::new(py, all?)?.into_any())
            }
        }
    }
}

/// An output of its leaves.
fn assemble<'py>(
    py: Python<'py>,
    tree: &Tree,
    leaves: &[Bound<'py, PyAny>],
) -> PyResult<Bound<'py, PyAny>> {
    match tree {
        Tree::Leaf(at) => Ok(leaves[*at].clone()),
        Tree::Tuple(parts) if parts.is_empty() => Ok(py.None().into_bound(py)),
        Tree::Tuple(parts) => {
            let parts: PyResult<Vec<_>> = parts.iter().map(|it| assemble(py, it, leaves)).collect();
            Ok(PyTuple::new(py, parts?)?.into_any())
        }
        Tree::Record(name, fields) => {
            let dict = PyDict::new(py);
            for (field, part) in fields {
                dict.set_item(field, assemble(py, part, leaves)?)?;
            }
            fail::hook(py, "record")?.call1((name, dict))
        }
    }
}
