//! Tensors of PyTorch by the shortest way: DLPack's functions in C where PyTorch has them, otherwise its
//! functions that make capsules of tensors, and tensors of capsules.

use super::dlpack;
use super::exchange::Exchange;
use ein_driver::call::{Memory, Tensor};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::sync::Arc;

/// How tensors come and go.
struct Functions {
    exchange: Option<Exchange>,
    to_dlpack: Py<PyAny>,
    from_dlpack: Py<PyAny>,
}

fn functions(py: Python<'_>) -> PyResult<&Functions> {
    static FUNCTIONS: PyOnceLock<Functions> = PyOnceLock::new();
    FUNCTIONS.get_or_try_init(py, || {
        let module = py.import("torch.utils.dlpack")?;
        let function = |name| module.getattr(name).map(Bound::unbind);
        Ok(Functions {
            exchange: Exchange::of(&py.import("torch")?.getattr("Tensor")?),
            to_dlpack: function("to_dlpack")?,
            from_dlpack: function("from_dlpack")?,
        })
    })
}

/// The elements of a tensor whatever follows it, and whether they were copied; none if its numbers are not
/// as they lie in memory, or if it cannot be read, which others find out why.
pub(crate) fn take(object: &Bound<'_, PyAny>, memory: &Memory) -> PyResult<Option<(Tensor, bool)>> {
    let py = object.py();
    if object.call_method0(intern!(py, "is_neg"))?.is_truthy()? {
        return Ok(None);
    }
    let functions = functions(py)?;
    if let Some(exchange) = &functions.exchange {
        return Ok(exchange.take(object, memory).ok());
    }
    let Ok(capsule) = functions.to_dlpack.bind(py).call1((object,)) else { return Ok(None) };
    Ok(dlpack::take(&capsule, memory).ok())
}

/// A tensor of ours as one of PyTorch that owns it.
pub(crate) fn give(py: Python<'_>, tensor: Arc<Tensor>) -> PyResult<Bound<'_, PyAny>> {
    let functions = functions(py)?;
    if let Some(exchange) = &functions.exchange {
        return exchange.give(py, tensor);
    }
    let capsule = dlpack::give(py, tensor, false)?;
    functions.from_dlpack.bind(py).call1((capsule,))
}
