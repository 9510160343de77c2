//! Tensors of ours as NumPy arrays, through the table of functions that NumPy gives to C.
//!
//! The places in the table are part of NumPy's binary interface since its first version. Where
//! there is no table the array is made by `numpy.asarray`.

use crate::tensor::{Holder, wrap};
use ein_driver::call::{ScalarType, Tensor};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// The functions of NumPy that we call.
struct Table {
    array_type: *mut ffi::PyTypeObject,
    descr: unsafe extern "C" fn(c_int) -> *mut ffi::PyObject,
    make: unsafe extern "C" fn(
        *mut ffi::PyTypeObject,
        *mut ffi::PyObject,
        c_int,
        *const isize,
        *const isize,
        *mut c_void,
        c_int,
        *mut ffi::PyObject,
    ) -> *mut ffi::PyObject,
    set_base: unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> c_int,
}

// SAFETY: constants of a library that stays loaded.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

const ARRAY_TYPE: usize = 2;
const DESCR_FROM_TYPE: usize = 45;
const NEW_FROM_DESCR: usize = 94;
const SET_BASE_OBJECT: usize = 282;
/// `NPY_ARRAY_WRITEABLE`
const WRITEABLE: c_int = 0x0400;

fn table(py: Python<'_>) -> Option<&'static Table> {
    static TABLE: PyOnceLock<Option<Table>> = PyOnceLock::new();
    let find = || -> PyResult<Table> {
        let module = py
            .import("numpy._core._multiarray_umath")
            .or_else(|_| py.import("numpy.core._multiarray_umath"))?;
        let capsule = module.getattr("_ARRAY_API")?;
        // SAFETY: the capsule holds a table of pointers, and these places are what they are called.
        unsafe {
            let start = ffi::PyCapsule_GetPointer(capsule.as_ptr(), std::ptr::null());
            if start.is_null() {
                return Err(PyErr::fetch(py));
            }
            let at = |place: usize| *start.cast::<*mut c_void>().add(place);
            Ok(Table {
                array_type: at(ARRAY_TYPE).cast(),
                descr: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(c_int) -> *mut ffi::PyObject,
                >(at(DESCR_FROM_TYPE)),
                make: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(
                        *mut ffi::PyTypeObject,
                        *mut ffi::PyObject,
                        c_int,
                        *const isize,
                        *const isize,
                        *mut c_void,
                        c_int,
                        *mut ffi::PyObject,
                    ) -> *mut ffi::PyObject,
                >(at(NEW_FROM_DESCR)),
                set_base: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> c_int,
                >(at(SET_BASE_OBJECT)),
            })
        }
    };
    TABLE.get_or_init(py, || find().ok()).as_ref()
}

fn type_number(ty: ScalarType) -> Option<c_int> {
    Some(match ty {
        ScalarType::Bool => 0,
        ScalarType::I8 => 1,
        ScalarType::U8 => 2,
        ScalarType::I16 => 3,
        ScalarType::U16 => 4,
        ScalarType::I32 => 5,
        ScalarType::U32 => 6,
        // `long` where it has eight bytes, as NumPy's `int64` does, and `long long` elsewhere.
        ScalarType::I64 => {
            if size_of::<std::ffi::c_long>() == 8 {
                7
            } else {
                9
            }
        }
        ScalarType::U64 => {
            if size_of::<std::ffi::c_long>() == 8 {
                8
            } else {
                10
            }
        }
        ScalarType::F32 => 11,
        ScalarType::F64 => 12,
        ScalarType::F16 => 23,
        ScalarType::BF16 => return None,
    })
}

/// A tensor as a NumPy array that owns it; one without axes as a NumPy number.
pub(crate) fn give<'py>(py: Python<'py>, tensor: Arc<Tensor>) -> PyResult<Bound<'py, PyAny>> {
    let (Some(table), Some(number)) = (table(py), type_number(tensor.ty())) else {
        let wrapped = wrap(py, tensor, Vec::new())?;
        return crate::fail::hook(py, "give")?.call1(("numpy", wrapped));
    };
    let size = tensor.ty().size_bytes() as isize;
    let rank = tensor.rank();
    let shape: Vec<isize> = tensor.shape().iter().map(|it| *it as isize).collect();
    let strides: Vec<isize> = tensor.strides().iter().map(|it| it * size).collect();
    let data = tensor.as_ptr().cast_mut().cast();
    let holder = Bound::new(py, Holder { tensor, dims: Vec::new() })?;
    // SAFETY: the array gets a description of its own, extents and strides that fit the data, and an
    // owner of the data; the calls take over the references that are given away.
    let array = unsafe {
        let descr = (table.descr)(number);
        let made = (table.make)(
            table.array_type,
            descr,
            rank as c_int,
            shape.as_ptr(),
            strides.as_ptr(),
            data,
            WRITEABLE,
            std::ptr::null_mut(),
        );
        let made = Bound::from_owned_ptr_or_err(py, made)?;
        if (table.set_base)(made.as_ptr(), holder.into_ptr()) != 0 {
            return Err(PyErr::fetch(py));
        }
        made
    };
    if rank == 0 {
        return array.get_item(pyo3::types::PyTuple::empty(py));
    }
    Ok(array)
}
