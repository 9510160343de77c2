//! Results as values of Python, in the caller's kind of array.

use crate::array::{self, dlpack, numpy, torch};
use crate::class::Class;
use crate::convert::refuse;
use crate::fail;
use crate::tensor::wrap;
use ein_driver::Code;
use ein_driver::call::{Field, Tensor, Value};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use std::sync::Arc;

/// The name of a struct, and its fields.
type NameOf<'a> = dyn Fn(&Value) -> Option<(String, Vec<Field>)> + 'a;

/// Fields of which only the names are known.
pub(crate) fn fields(names: &[String]) -> Vec<Field> {
    names.iter().map(|name| Field { name: name.clone(), layout: Vec::new() }).collect()
}

/// The names of so many axes by a declared layout, whose pack stands for those that are left.
pub(crate) fn names_by(layout: &[String], rank: usize) -> Vec<Option<String>> {
    let mut names = Vec::with_capacity(rank);
    for axis in layout {
        match axis.as_str() {
            "?" => names.push(None),
            pack if pack.starts_with("..") => {
                names.extend((layout.len() - 1..rank).map(|_| None));
            }
            name => names.push(Some(name.to_owned())),
        }
    }
    if names.len() == rank { names } else { vec![None; rank] }
}

/// A result as the caller's kind of array.
pub(crate) fn give<'py>(
    py: Python<'py>,
    class: Option<Class>,
    value: Value,
    dims: &[Option<String>],
    name_of: &NameOf<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let tensor = match value {
        Value::Scalar(scalar) => match class {
            Some(
                Class::Numpy
                | Class::NumpyNumber
                | Class::Masked
                | Class::Torch
                | Class::Jax
                | Class::Xarray,
            ) => Tensor::scalar(scalar),
            Some(Class::Tracer | Class::Ein | Class::Other) | None => {
                return array::number(py, scalar);
            }
        },
        Value::Tensor(tensor) => {
            let tensor = Arc::try_unwrap(tensor).unwrap_or_else(|shared| (*shared).clone());
            match tensor.is_own() {
                true => tensor,
                false => array::copied(py, &tensor)?,
            }
        }
        Value::Unit => return Ok(py.None().into_bound(py)),
        Value::Str(text) => return Ok(PyString::new(py, &text).into_any()),
        Value::Tuple(items) => {
            let items: PyResult<Vec<_>> =
                items.iter().map(|it| give(py, class, it.clone(), &[], name_of)).collect();
            return Ok(PyTuple::new(py, items?)?.into_any());
        }
        Value::Jagged(rows) => {
            let list = PyList::empty(py);
            for row in rows.iter() {
                list.append(give(py, class, row.clone(), &[], name_of)?)?;
            }
            return Ok(list.into_any());
        }
        Value::Objects(ref objects) => {
            let list = PyList::empty(py);
            for item in &objects.items {
                list.append(give(py, class, item.clone(), &[], name_of)?)?;
            }
            return Ok(list.into_any());
        }
        Value::Data(ref data) => {
            let (name, fields) = name_of(&value).unwrap_or_default();
            let dict = PyDict::new(py);
            for (at, item) in data.fields.iter().enumerate() {
                let field = fields.get(at).cloned();
                let Field { name, layout } =
                    field.unwrap_or_else(|| Field { name: at.to_string(), layout: Vec::new() });
                let rank = item.shape().len();
                let dims = names_by(&layout, rank);
                dict.set_item(name, give(py, class, item.clone(), &dims, name_of)?)?;
            }
            return fail::hook(py, "record")?.call1((name, dict));
        }
        Value::Range(range) => {
            return py.import("builtins")?.getattr("range")?.call1(*range);
        }
        Value::Closure(_) | Value::Pending(_) | Value::History(_) => {
            let message =
                "the result is a function of Einlang, which Python cannot hold".to_owned();
            return Err(refuse(py, Code::E0501, message, "give back what it computes"));
        }
    };
    let tensor = Arc::new(tensor);
    let dims = || match dims.len() == tensor.rank() {
        true => dims.to_vec(),
        false => vec![None; tensor.rank()],
    };
    match class {
        Some(Class::Numpy | Class::NumpyNumber | Class::Masked) => numpy::give(py, tensor),
        Some(Class::Jax) if let Some(given) = jax(py, &tensor)? => Ok(given),
        Some(Class::Torch) => torch::give(py, tensor),
        Some(class @ (Class::Jax | Class::Xarray)) => {
            let dims = dims();
            let wrapped = wrap(py, tensor, dims)?;
            fail::hook(py, "give")?.call1((class.name(), wrapped))
        }
        Some(Class::Tracer | Class::Ein | Class::Other) | None => {
            let dims = dims();
            wrap(py, tensor, dims)
        }
    }
}

/// A tensor as an array of JAX by the shortest way, if that leads there: not for arrays without
/// memory, and not for types that JAX may want narrower.
fn jax<'py>(py: Python<'py>, tensor: &Arc<Tensor>) -> PyResult<Option<Bound<'py, PyAny>>> {
    static QUICK: PyOnceLock<Option<(Py<PyAny>, Py<PyAny>)>> = PyOnceLock::new();
    let narrow = tensor.ty().size_bytes() < 8;
    let find = || fail::hook(py, "jax")?.call0()?.extract();
    let Some((make, device)) = QUICK.get_or_try_init(py, find)?.as_ref().filter(|_| narrow) else {
        return Ok(None);
    };
    if tensor.is_empty() {
        return Ok(None);
    }
    let capsule = dlpack::give(py, Arc::clone(tensor), false)?;
    make.bind(py).call1((capsule, device, py.None(), py.None())).map(Some)
}
