//! Arrays of Python and tensors of ours, without copies on the way.

pub(crate) mod buffer;
pub(crate) mod dlpack;
pub(crate) mod exchange;
pub(crate) mod interface;
pub(crate) mod numpy;
pub(crate) mod torch;

use crate::fail;
use ein_driver::Code;
use ein_driver::call::{Scalar, ScalarType, Tensor, Told};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList};

/// A number as Python has it.
pub(crate) fn number<'py>(py: Python<'py>, value: Scalar) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Scalar::Bool(it) => PyBool::new(py, it).to_owned().into_any(),
        Scalar::I8(it) => PyInt::new(py, it).into_any(),
        Scalar::I16(it) => PyInt::new(py, it).into_any(),
        Scalar::I32(it) => PyInt::new(py, it).into_any(),
        Scalar::I64(it) => PyInt::new(py, it).into_any(),
        Scalar::U8(it) => PyInt::new(py, it).into_any(),
        Scalar::U16(it) => PyInt::new(py, it).into_any(),
        Scalar::U32(it) => PyInt::new(py, it).into_any(),
        Scalar::U64(it) => PyInt::new(py, it).into_any(),
        Scalar::F16(it) => PyFloat::new(py, it.to_f64()).into_any(),
        Scalar::BF16(it) => PyFloat::new(py, it.to_f64()).into_any(),
        Scalar::F32(it) => PyFloat::new(py, f64::from(it)).into_any(),
        Scalar::F64(it) => PyFloat::new(py, it).into_any(),
    })
}

/// The elements as nested lists.
pub(crate) fn lists<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    fn level<'py>(
        py: Python<'py>,
        shape: &[usize],
        next: &mut dyn Iterator<Item = Scalar>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match shape.split_first() {
            None => match next.next() {
                Some(value) => number(py, value),
                None => Ok(py.None().into_bound(py)),
            },
            Some((extent, rest)) => {
                let list = PyList::empty(py);
                for _ in 0..*extent {
                    list.append(level(py, rest, next)?)?;
                }
                Ok(list.into_any())
            }
        }
    }
    level(py, tensor.shape(), &mut tensor.iter())
}

/// A copy with memory of its own.
pub(crate) fn copied(py: Python<'_>, tensor: &Tensor) -> PyResult<Tensor> {
    let mut copy = tensor.clone();
    // The clone shares the elements, so this copies them.
    match copy.as_mut_ptr() {
        Ok(_) => Ok(copy),
        Err(error) => Err(no_room(py, &error.to_string())),
    }
}

/// The exception for memory that is not there.
pub(crate) fn no_room(py: Python<'_>, why: &str) -> PyErr {
    let fix = "take less of it at a time, or raise the limit".to_owned();
    fail::error(py, "run", &[Told::alone(Code::E0805, why.to_owned(), vec![fix])])
}

/// The strides in bytes of elements that lie one after the other.
pub(crate) fn compact(size: usize, shape: &[usize]) -> Vec<isize> {
    let mut step = size as isize;
    let mut steps = vec![0; shape.len()];
    for (at, extent) in shape.iter().enumerate().rev() {
        steps[at] = step;
        step = step.wrapping_mul(*extent as isize);
    }
    steps
}

/// The scalar type of a format as the buffer protocol and `struct` write it.
pub(crate) fn of_format(format: &str, size: usize) -> Option<ScalarType> {
    let native = format.trim_start_matches(['@', '=', '<', '|']);
    if format.starts_with(['>', '!']) && size > 1 {
        return None;
    }
    Some(match (native, size) {
        ("?", 1) => ScalarType::Bool,
        ("b", 1) => ScalarType::I8,
        ("B", 1) => ScalarType::U8,
        ("h" | "i" | "l" | "q" | "n", 2) => ScalarType::I16,
        ("i" | "l" | "q" | "n", 4) => ScalarType::I32,
        ("l" | "q" | "n", 8) => ScalarType::I64,
        ("H" | "I" | "L" | "Q" | "N", 2) => ScalarType::U16,
        ("I" | "L" | "Q" | "N", 4) => ScalarType::U32,
        ("L" | "Q" | "N", 8) => ScalarType::U64,
        ("e", 2) => ScalarType::F16,
        ("f", 4) => ScalarType::F32,
        ("d" | "g", 8) => ScalarType::F64,
        _ => return None,
    })
}

/// Whether every byte of an array of truth values is one.
pub(crate) fn are_truths(tensor: &Tensor) -> bool {
    // Read as bytes: anything but 0 and 1 is no `bool`.
    let mut index = vec![0usize; tensor.rank()];
    if tensor.is_empty() {
        return true;
    }
    loop {
        let at: isize = index.iter().zip(tensor.strides()).map(|(i, s)| *i as isize * s).sum();
        // SAFETY: the index is within the shape, and an element is one byte.
        if unsafe { *tensor.as_ptr().offset(at) } > 1 {
            return false;
        }
        let mut axis = index.len();
        loop {
            if axis == 0 {
                return true;
            }
            axis -= 1;
            index[axis] += 1;
            if index[axis] < tensor.shape()[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
}
