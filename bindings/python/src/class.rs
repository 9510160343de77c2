//! Which library an array is of.

use crate::tensor::TensorBase;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use rustc_hash::FxHashMap;
use std::sync::{Mutex, PoisonError};

/// Classes by the addresses of types, which are kept.
type Known = FxHashMap<usize, (Py<PyType>, Class)>;

/// The library that an array is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Numpy,
    /// Of NumPy, with elements that are not there.
    Masked,
    NumpyNumber,
    Torch,
    Jax,
    Tracer,
    Xarray,
    Ein,
    Other,
}

impl Class {
    /// What the other part calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Class::Numpy | Class::Masked | Class::NumpyNumber => "numpy",
            Class::Torch => "torch",
            Class::Jax | Class::Tracer => "jax",
            Class::Xarray => "xarray",
            Class::Ein | Class::Other => "einlang",
        }
    }

    /// The class of the object.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Class> {
        static KNOWN: PyOnceLock<Mutex<Known>> = PyOnceLock::new();
        let py = object.py();
        let ty = object.get_type();
        let known = KNOWN.get_or_init(py, Mutex::default);
        let key = ty.as_ptr() as usize;
        if let Some((_, class)) = known.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(*class);
        }
        let class = Class::look(&ty)?;
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        // The entry keeps the type, so that its address stays its own.
        known.insert(key, (ty.unbind(), class));
        Ok(class)
    }

    fn look(ty: &Bound<'_, PyType>) -> PyResult<Class> {
        if ty.is_subclass_of::<TensorBase>()? {
            return Ok(Class::Ein);
        }
        for base in ty.mro().iter() {
            let base = base.cast_into::<PyType>()?;
            let module = base.module()?.to_string();
            let name = base.name()?.to_string();
            let found = match (module.split('.').next().unwrap_or_default(), name.as_str()) {
                ("numpy", "MaskedArray") => Class::Masked,
                ("numpy", "ndarray") => Class::Numpy,
                ("numpy", "generic") => Class::NumpyNumber,
                ("torch", "Tensor") => Class::Torch,
                ("jax" | "jaxlib", "Array" | "ArrayImpl") => Class::Jax,
                ("jax", "Tracer") => Class::Tracer,
                ("xarray", "DataArray") => Class::Xarray,
                _ => continue,
            };
            return Ok(found);
        }
        Ok(Class::Other)
    }
}
