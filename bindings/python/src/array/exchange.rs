//! The functions by which libraries exchange arrays in C, without capsules: DLPack's, since its version 1.3.
//!
//! A library that has them shows them as `__dlpack_c_exchange_api__` of the type of its arrays.

use super::dlpack::{self, Versioned};
use ein_driver::call::{Memory, Tensor};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CStr, c_int, c_void};
use std::sync::Arc;

const NAME: &CStr = c"dlpack_exchange_api";

/// `DLPackExchangeAPI`, as far as it is used; what stands in front of the functions is the same in every
/// version.
#[repr(C)]
struct Table {
    major: u32,
    minor: u32,
    older: *const Table,
    allocate: *const c_void,
    take: Option<unsafe extern "C" fn(*mut c_void, *mut *mut Versioned) -> c_int>,
    give: Option<unsafe extern "C" fn(*mut Versioned, *mut *mut c_void) -> c_int>,
}

/// The functions of a library.
pub(crate) struct Exchange(&'static Table);

// SAFETY: constants of a library that stays loaded.
unsafe impl Send for Exchange {}
// SAFETY: as above.
unsafe impl Sync for Exchange {}

impl Exchange {
    /// Those of the library with this type of arrays; none if it has none of a version that is known.
    pub(crate) fn of(arrays: &Bound<'_, PyAny>) -> Option<Exchange> {
        let capsule = arrays.getattr("__dlpack_c_exchange_api__").ok()?;
        // SAFETY: what a capsule of this name points to is settled by DLPack, and is there as long as
        // the library.
        unsafe {
            if ffi::PyCapsule_IsValid(capsule.as_ptr(), NAME.as_ptr()) != 1 {
                return None;
            }
            let mut table: *const Table =
                ffi::PyCapsule_GetPointer(capsule.as_ptr(), NAME.as_ptr()).cast();
            while !table.is_null() && (*table).major != 1 {
                table = (*table).older;
            }
            let table = table.as_ref()?;
            (table.take.is_some() && table.give.is_some()).then_some(Exchange(table))
        }
    }

    /// A tensor over the elements of an array of the library, and whether they were copied.
    pub(crate) fn take(
        &self,
        object: &Bound<'_, PyAny>,
        memory: &Memory,
    ) -> PyResult<(Tensor, bool)> {
        let mut given: *mut Versioned = std::ptr::null_mut();
        let Some(take) = self.0.take else { return Err(missing()) };
        // SAFETY: the object is an array of the library; what it gives is ours to give back.
        unsafe {
            if take(object.as_ptr().cast(), &mut given) != 0 || given.is_null() {
                return Err(PyErr::take(object.py()).unwrap_or_else(missing));
            }
            dlpack::taken(given, memory)
        }
    }

    /// A tensor of ours as an array of the library that owns it.
    pub(crate) fn give<'py>(
        &self,
        py: Python<'py>,
        tensor: Arc<Tensor>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut made: *mut c_void = std::ptr::null_mut();
        let Some(give) = self.0.give else { return Err(missing()) };
        // SAFETY: the library takes the tensor over. Whether it has where it fails nobody says, so that
        // it is left alone then.
        unsafe {
            if give(dlpack::versioned(tensor), &mut made) != 0 {
                return Err(PyErr::take(py).unwrap_or_else(missing));
            }
            Bound::from_owned_ptr_or_err(py, made.cast())
        }
    }
}

fn missing() -> PyErr {
    PyBufferError::new_err("the array cannot be exchanged")
}
