//! Functions of the package as users call them: what they raise ends at the line of the user.
//!
//! A function that is written in Python cannot keep itself out of a traceback; this can.

use crate::fail;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

/// A function of the package. What it raises has no frames of the package.
#[pyclass(frozen, dict, module = "einlang._einlang")]
pub(crate) struct Edge {
    inside: Py<PyAny>,
}

#[pymethods]
impl Edge {
    /// Takes over what the function says of itself, as `functools.wraps` does.
    #[new]
    fn new(py: Python<'_>, inside: Py<PyAny>) -> PyResult<Py<Edge>> {
        let made = Py::new(py, Edge { inside: inside.clone_ref(py) })?;
        py.import("functools")?.getattr("update_wrapper")?.call1((&made, inside))?;
        Ok(made)
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.inside.bind(py).call(args, kwargs).map_err(|error| trimmed(py, error))
    }

    /// As an attribute of a class it is a method.
    fn __get__<'py>(
        slf: &Bound<'py, Self>,
        object: &Bound<'py, PyAny>,
        _class: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if object.is_none() {
            return Ok(slf.clone().into_any());
        }
        slf.py().import("types")?.getattr("MethodType")?.call1((slf, object))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.inside.bind(py).repr()?.to_string())
    }

    /// Pickled by its name, as functions are.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.inside.bind(py).getattr("__qualname__")?.str()
    }
}

/// The exception without the frames of the package, if it is one of ours.
fn trimmed(py: Python<'_>, error: PyErr) -> PyErr {
    let value = error.into_value(py).into_bound(py).into_any();
    match fail::hook(py, "trim").and_then(|trim| trim.call1((&value,))) {
        // Made anew, since it would bring back the traceback that it came with.
        Ok(_) => PyErr::from_value(value),
        Err(other) => other,
    }
}
