//! `__array_interface__`: a pointer, a type and strides in a dictionary.

use super::buffer;
use ein_driver::call::{Memory, Tensor};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A tensor over the elements of an object with `__array_interface__`, and whether they were copied;
/// or the type of its elements, if we have none for it.
pub(crate) fn take(
    object: &Bound<'_, PyAny>,
    memory: &Memory,
) -> PyResult<Result<(Tensor, bool), String>> {
    let about = object.getattr("__array_interface__")?.cast_into::<PyDict>()?;
    let entry = |name: &str| {
        about
            .get_item(name)?
            .ok_or_else(|| PyBufferError::new_err(format!("`__array_interface__` has no `{name}`")))
    };
    let typestr: String = entry("typestr")?.extract()?;
    let shape: Vec<usize> = entry("shape")?.extract()?;
    let (address, _): (usize, bool) = entry("data")?.extract()?;
    let size: usize = typestr.get(2..).and_then(|digits| digits.parse().ok()).unwrap_or(0);
    let format = match typestr.get(1..2) {
        Some("b") => "?",
        Some("i") => ["", "b", "h", "", "i", "", "", "", "q"].get(size).copied().unwrap_or(""),
        Some("u") => ["", "B", "H", "", "I", "", "", "", "Q"].get(size).copied().unwrap_or(""),
        Some("f") => ["", "", "e", "", "f", "", "", "", "d"].get(size).copied().unwrap_or(""),
        _ => "",
    };
    let order = if typestr.starts_with('>') { ">" } else { "" };
    let Some(ty) = super::of_format(&format!("{order}{format}"), size) else {
        return Ok(Err(typestr));
    };
    let strides: Option<Vec<isize>> = match about.get_item("strides")? {
        Some(strides) if !strides.is_none() => Some(strides.extract()?),
        _ => None,
    };
    let steps = strides.unwrap_or_else(|| super::compact(size, &shape));
    if steps.len() != shape.len() {
        return Err(PyBufferError::new_err("`__array_interface__` has a stride too many or few"));
    }
    let first = std::ptr::with_exposed_provenance::<u8>(address);
    let owner = Box::new(object.clone().unbind());
    buffer::tensor(ty, shape, steps, first, memory, owner).map(Ok)
}
