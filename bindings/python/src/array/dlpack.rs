//! DLPack, in both directions: capsules with a version, and those from before.

use super::buffer;
use ein_driver::call::{Memory, ScalarType, Tensor};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

const NEW: &CStr = c"dltensor_versioned";
const NEW_USED: &CStr = c"used_dltensor_versioned";
const OLD: &CStr = c"dltensor";
const OLD_USED: &CStr = c"used_dltensor";

#[repr(C)]
#[derive(Clone, Copy)]
struct Device {
    kind: i32,
    id: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct Plain {
    data: *mut c_void,
    device: Device,
    ndim: i32,
    dtype: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: Plain,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
pub(super) struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Plain,
}

/// A tensor that somebody gave us, to be given back.
enum Given {
    Old(*mut Managed),
    New(*mut Versioned),
}

// SAFETY: it is only touched to give it back.
unsafe impl Send for Given {}
// SAFETY: as above.
unsafe impl Sync for Given {}

impl Drop for Given {
    fn drop(&mut self) {
        // Whoever gave it may free objects of Python.
        Python::try_attach(|_| {
            // SAFETY: it is given back once.
            unsafe {
                match *self {
                    Given::Old(it) => (*it).deleter.into_iter().for_each(|free| free(it)),
                    Given::New(it) => (*it).deleter.into_iter().for_each(|free| free(it)),
                }
            }
        });
    }
}

fn scalar(ty: DataType) -> Option<ScalarType> {
    if ty.lanes != 1 {
        return None;
    }
    Some(match (ty.code, ty.bits) {
        (0, 8) => ScalarType::I8,
        (0, 16) => ScalarType::I16,
        (0, 32) => ScalarType::I32,
        (0, 64) => ScalarType::I64,
        (1, 8) => ScalarType::U8,
        (1, 16) => ScalarType::U16,
        (1, 32) => ScalarType::U32,
        (1, 64) => ScalarType::U64,
        (2, 16) => ScalarType::F16,
        (2, 32) => ScalarType::F32,
        (2, 64) => ScalarType::F64,
        (4, 16) => ScalarType::BF16,
        (6, 8) => ScalarType::Bool,
        _ => return None,
    })
}

fn data_type(ty: ScalarType) -> DataType {
    let code = match ty {
        ScalarType::Bool => 6,
        ScalarType::I8 | ScalarType::I16 | ScalarType::I32 | ScalarType::I64 => 0,
        ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => 1,
        ScalarType::F16 | ScalarType::F32 | ScalarType::F64 => 2,
        ScalarType::BF16 => 4,
    };
    DataType { code, bits: 8 * ty.size_bytes() as u8, lanes: 1 }
}

/// A tensor over the elements of an object with `__dlpack__`, and whether they were copied.
pub(crate) fn take(object: &Bound<'_, PyAny>, memory: &Memory) -> PyResult<(Tensor, bool)> {
    let py = object.py();
    if object.is_instance_of::<PyCapsule>() {
        return opened(object, memory);
    }
    let method = object.getattr("__dlpack__")?;
    let versioned = PyDict::new(py);
    versioned.set_item("max_version", (1, 0))?;
    let capsule = match method.call((), Some(&versioned)) {
        Ok(capsule) => capsule,
        // It is older than the argument.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => method.call0()?,
        Err(error) => return Err(error),
    };
    opened(&capsule, memory)
}

fn opened(capsule: &Bound<'_, PyAny>, memory: &Memory) -> PyResult<(Tensor, bool)> {
    let raw = capsule.as_ptr();
    // SAFETY: what a capsule of such a name holds is settled by DLPack; renaming it makes it ours.
    unsafe {
        if ffi::PyCapsule_IsValid(raw, NEW.as_ptr()) == 1 {
            let given: *mut Versioned = ffi::PyCapsule_GetPointer(raw, NEW.as_ptr()).cast();
            ffi::PyCapsule_SetName(raw, NEW_USED.as_ptr());
            return taken(given, memory);
        }
        if ffi::PyCapsule_IsValid(raw, OLD.as_ptr()) == 1 {
            let given: *mut Managed = ffi::PyCapsule_GetPointer(raw, OLD.as_ptr()).cast();
            ffi::PyCapsule_SetName(raw, OLD_USED.as_ptr());
            return over(&(*given).tensor, memory, Given::Old(given));
        }
    }
    Err(PyBufferError::new_err("`__dlpack__` gave no DLPack capsule"))
}

/// A tensor over what somebody gave, and whether its elements were copied.
///
/// # Safety
///
/// It must be what DLPack says, and ours to give back.
pub(super) unsafe fn taken(given: *mut Versioned, memory: &Memory) -> PyResult<(Tensor, bool)> {
    let owner = Given::New(given);
    // SAFETY: as the caller promises; the version stands in front in every version.
    unsafe {
        if (*given).major != 1 {
            return Err(PyBufferError::new_err("a DLPack tensor of an unknown version"));
        }
        over(&(*given).tensor, memory, owner)
    }
}

/// # Safety
///
/// The tensor must be what DLPack says, and stay until the owner is dropped.
unsafe fn over(plain: &Plain, memory: &Memory, owner: Given) -> PyResult<(Tensor, bool)> {
    if plain.device.kind != 1 && plain.device.kind != 3 {
        return Err(PyBufferError::new_err(
            "the array is not in the memory of the processor: move it there first (`x.cpu()`)",
        ));
    }
    let Some(ty) = scalar(plain.dtype) else {
        let DataType { code, bits, lanes } = plain.dtype;
        let text = format!("elements of DLPack type {code} with {bits} bits and {lanes} lanes");
        return Err(PyBufferError::new_err(text));
    };
    let rank = plain.ndim as usize;
    let size = ty.size_bytes() as isize;
    // SAFETY: there are so many extents, and strides unless the array is compact.
    let (shape, steps) = unsafe {
        let shape: Vec<usize> = match rank {
            0 => Vec::new(),
            _ => {
                std::slice::from_raw_parts(plain.shape, rank).iter().map(|n| *n as usize).collect()
            }
        };
        let steps: Vec<isize> = match plain.strides.is_null() {
            false => std::slice::from_raw_parts(plain.strides, rank)
                .iter()
                .map(|step| *step as isize * size)
                .collect(),
            true => super::compact(size as usize, &shape),
        };
        (shape, steps)
    };
    let first = plain.data.cast::<u8>().wrapping_add(plain.byte_offset as usize);
    buffer::tensor(ty, shape, steps, first, memory, Box::new(owner))
}

/// What we keep while somebody has a tensor of ours.
struct Kept {
    shape: Vec<i64>,
    strides: Vec<i64>,
    tensor: Arc<Tensor>,
}

impl Kept {
    fn plain(&mut self) -> Plain {
        Plain {
            data: self.tensor.as_ptr().cast_mut().cast(),
            device: Device { kind: 1, id: 0 },
            ndim: self.shape.len() as i32,
            dtype: data_type(self.tensor.ty()),
            shape: self.shape.as_mut_ptr(),
            strides: self.strides.as_mut_ptr(),
            byte_offset: 0,
        }
    }
}

unsafe extern "C" fn free_old(it: *mut Managed) {
    // SAFETY: made in `give`, and given back once.
    unsafe {
        drop(Box::from_raw((*it).context.cast::<Kept>()));
        drop(Box::from_raw(it));
    }
}

unsafe extern "C" fn free_new(it: *mut Versioned) {
    // SAFETY: made in `give`, and given back once.
    unsafe {
        drop(Box::from_raw((*it).context.cast::<Kept>()));
        drop(Box::from_raw(it));
    }
}

/// A capsule that nobody took frees what is in it.
unsafe extern "C" fn unused(capsule: *mut ffi::PyObject) {
    // SAFETY: the name says what it holds, and that nobody has taken it.
    unsafe {
        let holds = |name: &CStr| ffi::PyCapsule_IsValid(capsule, name.as_ptr()) == 1;
        let pointer = |name: *const c_char| ffi::PyCapsule_GetPointer(capsule, name);
        if holds(OLD) {
            free_old(pointer(OLD.as_ptr()).cast());
        } else if holds(NEW) {
            free_new(pointer(NEW.as_ptr()).cast());
        }
    }
}

/// What is kept of a tensor of ours, and what points into it.
fn kept(tensor: Arc<Tensor>) -> (*mut c_void, Plain) {
    let mut kept = Box::new(Kept {
        shape: tensor.shape().iter().map(|it| *it as i64).collect(),
        strides: tensor.strides().iter().map(|it| *it as i64).collect(),
        tensor,
    });
    let plain = kept.plain();
    (Box::into_raw(kept).cast(), plain)
}

/// A tensor of ours for somebody who gives it back by its deleter.
pub(super) fn versioned(tensor: Arc<Tensor>) -> *mut Versioned {
    let (context, tensor) = kept(tensor);
    let deleter = Some(free_new as unsafe extern "C" fn(*mut Versioned));
    Box::into_raw(Box::new(Versioned { major: 1, minor: 0, context, deleter, flags: 0, tensor }))
}

/// A tensor of ours as a capsule.
pub(crate) fn give(
    py: Python<'_>,
    tensor: Arc<Tensor>,
    with_version: bool,
) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the capsule owns what it points to.
    unsafe {
        let made = if with_version {
            ffi::PyCapsule_New(versioned(tensor).cast(), NEW.as_ptr(), Some(unused))
        } else {
            let (context, plain) = kept(tensor);
            let deleter = Some(free_old as unsafe extern "C" fn(*mut Managed));
            let it = Managed { tensor: plain, context, deleter };
            ffi::PyCapsule_New(Box::into_raw(Box::new(it)).cast(), OLD.as_ptr(), Some(unused))
        };
        Bound::from_owned_ptr_or_err(py, made)
    }
}

/// Whether an object is a DLPack capsule or gives them.
pub(crate) fn has(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyCapsule>() || object.get_type().hasattr("__dlpack__").unwrap_or(false)
}
