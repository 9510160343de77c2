//! Einlang inside Python: the part of the package `einlang` that is not written in Python.
//!
//! * `array`: arrays of Python as tensors, without copies (the buffer protocol, DLPack,
//!   `__array_interface__`), and tensors as arrays of Python.
//! * `function`: what a call costs is decided here.
//! * `edge`: what the functions written in Python raise.
//! * `module`, `session`: programs, and programs that are written entry by entry.
//!
//! What is not hot is Python, in `python/einlang`.
//!
//! Unsafe: the interfaces of CPython, DLPack and NumPy that are pointers, in `array` and `tensor`.
//!
//! Does not know: anything below the driver.

mod around;
mod array;
mod class;
mod convert;
mod edge;
mod fail;
mod function;
mod give;
mod literal;
mod module;
mod session;
mod tensor;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use std::sync::OnceLock;

/// Refuses a second interpreter in one process: what modules, classes and signals belong to is kept
/// once for the process.
fn only_interpreter() -> PyResult<()> {
    static FIRST: OnceLock<i64> = OnceLock::new();
    // SAFETY: a module is initialised in an interpreter, which has a number.
    let here = unsafe { pyo3::ffi::PyInterpreterState_GetID(pyo3::ffi::PyInterpreterState_Get()) };
    match *FIRST.get_or_init(|| here) == here {
        true => Ok(()),
        false => Err(PyImportError::new_err(
            "einlang is in use by another interpreter of this process, and can be by one only: \
             use threads or processes",
        )),
    }
}

/// The compiled part of the package.
#[pymodule]
fn _einlang(py: Python<'_>, m: &Bound<'_, PyModule>) -> PyResult<()> {
    only_interpreter()?;
    m.add_class::<module::Module>()?;
    m.add_class::<function::Function>()?;
    m.add_class::<session::Session>()?;
    m.add_class::<edge::Edge>()?;
    m.add_class::<tensor::Holder>()?;
    m.add("Tensor", tensor::make_type(py)?)?;
    m.add_function(wrap_pyfunction!(module::check, m)?)?;
    m.add_function(wrap_pyfunction!(module::run, m)?)?;
    m.add_function(wrap_pyfunction!(module::explain, m)?)?;
    m.add_function(wrap_pyfunction!(session::is_unfinished, m)?)?;
    m.add_function(wrap_pyfunction!(session::words, m)?)?;
    m.add_function(wrap_pyfunction!(fail::set_hooks, m)?)?;
    m.add_function(wrap_pyfunction!(command, m)?)?;
    let ends = wrap_pyfunction!(around::end_runs, m)?;
    py.import("atexit")?.call_method1("register", (ends,))?;
    m.add_function(wrap_pyfunction!(around::before_fork, m)?)?;
    m.add_function(wrap_pyfunction!(around::after_fork, m)?)?;
    m.add_function(wrap_pyfunction!(convert::borrowed, m)?)?;
    m.add_function(wrap_pyfunction!(tensor::tensor_of_bytes, m)?)?;
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    Ok(())
}

/// Does what the arguments of a command line say, its name among them; gives the exit code.
#[pyfunction]
fn command(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| ein_cli::main(arguments))
}
