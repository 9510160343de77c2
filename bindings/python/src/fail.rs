//! Failures as exceptions, and the functions of the package that are written in Python.

use ein_driver::call::{Failure, Told};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList};

static HOOKS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

/// Tells the compiled part what the other part does for it: `fail`, `take`, `give`.
#[pyfunction]
pub(crate) fn set_hooks(py: Python<'_>, hooks: Bound<'_, PyDict>) -> PyResult<()> {
    let _ = HOOKS.set(py, hooks.unbind());
    Ok(())
}

/// A function of the other part.
pub(crate) fn hook<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let hooks = HOOKS.get(py).ok_or_else(|| PyRuntimeError::new_err("einlang is not imported"))?;
    hooks
        .bind(py)
        .get_item(name)?
        .ok_or_else(|| PyRuntimeError::new_err(format!("einlang has no hook `{name}`")))
}

/// Diagnostics as Python has them.
pub(crate) fn told<'py>(py: Python<'py>, all: &[Told]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for one in all {
        let dict = PyDict::new(py);
        dict.set_item("code", one.code)?;
        dict.set_item("message", &one.message)?;
        dict.set_item("severity", if one.is_error { "error" } else { "warning" })?;
        let spans: Vec<(&str, usize, usize, &str)> = one
            .places
            .iter()
            .map(|place| (place.file.as_str(), place.line, place.column, place.label.as_str()))
            .collect();
        dict.set_item("spans", spans)?;
        dict.set_item("notes", one.notes.clone())?;
        dict.set_item("fixes", one.fixes.clone())?;
        dict.set_item("text", &one.text)?;
        dict.set_item("coloured", &one.coloured)?;
        list.append(dict)?;
    }
    Ok(list)
}

/// The exception for diagnostics.
pub(crate) fn error(py: Python<'_>, kind: &str, all: &[Told]) -> PyErr {
    let made = hook(py, "fail").and_then(|fail| fail.call1((kind, told(py, all)?)));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// What is wrong with a value that came while a program ran, which is no fault of the call.
pub(crate) fn while_running(py: Python<'_>, error: PyErr) -> PyErr {
    let again = || -> PyResult<PyErr> {
        let package = py.import("einlang")?;
        if !error.matches(py, package.getattr("CompileError")?)? {
            return Ok(error.clone_ref(py));
        }
        let all = error.value(py).getattr("diagnostics")?;
        Ok(PyErr::from_value(package.getattr("RunError")?.call1((all,))?))
    };
    again().unwrap_or_else(|other| other)
}

/// The exception for a failure.
pub(crate) fn raise(py: Python<'_>, failure: Failure) -> PyErr {
    match failure {
        Failure::Rejected(all) => error(py, "compile", &all),
        Failure::Stopped(all) => error(py, "run", &all),
        Failure::Interrupted => pyo3::exceptions::PyKeyboardInterrupt::new_err(()),
        Failure::Internal(bug) => internal(py, &bug),
    }
}

/// The exception for a bug of ours.
pub(crate) fn internal(py: Python<'_>, bug: &ein_driver::InternalError) -> PyErr {
    let message = format!("{bug}: this is a bug of Einlang, not of your program ({})", bug.detail);
    let made = hook(py, "fail").and_then(|fail| fail.call1(("internal", message)));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}
