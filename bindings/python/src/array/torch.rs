//! Tensors of PyTorch by the shortest way: its functions that make capsules of tensors, and tensors of
//! capsules.

use super::dlpack;
use ein_driver::call::Tensor;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::sync::Arc;

/// `to_dlpack` and `from_dlpack`.
type Functions = (Py<PyAny>, Py<PyAny>);

fn functions(py: Python<'_>) -> PyResult<&Functions> {
    static FUNCTIONS: PyOnceLock<Functions> = PyOnceLock::new();
    FUNCTIONS.get_or_try_init(py, || {
        let module = py.import("torch.utils.dlpack")?;
        let function = |name| module.getattr(name).map(Bound::unbind);
        Ok((function("to_dlpack")?, function("from_dlpack")?))
    })
}

/// A tensor as a capsule, whatever follows it; none if its numbers are not as they lie in memory, or if it
/// cannot be one, which others find out why.
pub(crate) fn capsule<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    if object.call_method0("is_neg")?.is_truthy()? {
        return Ok(None);
    }
    Ok(functions(py)?.0.bind(py).call1((object,)).ok())
}

/// A tensor of ours as one of PyTorch that owns it.
pub(crate) fn give(py: Python<'_>, tensor: Arc<Tensor>) -> PyResult<Bound<'_, PyAny>> {
    let capsule = dlpack::give(py, tensor, false)?;
    functions(py)?.1.bind(py).call1((capsule,))
}
