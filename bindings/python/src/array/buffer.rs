//! The buffer protocol, in both directions.
//!
//! Its functions are part of the stable interface since CPython 3.11 only, but they and their
//! structure are the same in 3.10, so they are declared here.

use ein_driver::call::{Memory, ScalarType, Tensor};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

/// `Py_buffer`.
#[repr(C)]
pub(crate) struct View {
    buf: *mut c_void,
    obj: *mut ffi::PyObject,
    len: isize,
    itemsize: isize,
    readonly: c_int,
    ndim: c_int,
    format: *mut c_char,
    shape: *mut isize,
    strides: *mut isize,
    suboffsets: *mut isize,
    internal: *mut c_void,
}

unsafe extern "C" {
    fn PyObject_GetBuffer(object: *mut ffi::PyObject, view: *mut View, flags: c_int) -> c_int;
    fn PyBuffer_Release(view: *mut View);
}

const WRITABLE: c_int = 1;
const FORMAT: c_int = 4;
const ND: c_int = 8;
const STRIDES: c_int = 0x10 | ND;
const C_CONTIGUOUS: c_int = 0x20 | STRIDES;
const F_CONTIGUOUS: c_int = 0x40 | STRIDES;
const ANY_CONTIGUOUS: c_int = 0x80 | STRIDES;

/// A view that may be open, and stays where it is; closing it needs the interpreter.
struct Open(View);

// SAFETY: the view is only touched to close it, attached to the interpreter.
unsafe impl Send for Open {}
// SAFETY: as above.
unsafe impl Sync for Open {}

impl Drop for Open {
    fn drop(&mut self) {
        if self.0.obj.is_null() {
            return;
        }
        let view: *mut View = &mut self.0;
        // SAFETY: it was opened once and is closed once. Without an interpreter there is nobody
        // left who would want to know.
        Python::try_attach(|_| unsafe { PyBuffer_Release(view) });
    }
}

/// What came of an object that may be a buffer.
pub(crate) enum Taken {
    /// A tensor over its elements, and whether they had to be copied.
    Tensor(Tensor, bool),
    /// Elements that we have no type for: their format.
    Format(String),
    /// It has no buffer.
    None,
}

/// A tensor over the elements of an object with a buffer.
pub(crate) fn take(object: &Bound<'_, PyAny>, memory: &Memory) -> PyResult<Taken> {
    let mut open = Box::new(Open(View {
        buf: std::ptr::null_mut(),
        obj: std::ptr::null_mut(),
        len: 0,
        itemsize: 0,
        readonly: 0,
        ndim: 0,
        format: std::ptr::null_mut(),
        shape: std::ptr::null_mut(),
        strides: std::ptr::null_mut(),
        suboffsets: std::ptr::null_mut(),
        internal: std::ptr::null_mut(),
    }));
    // SAFETY: the object is alive and the view is ours.
    if unsafe { PyObject_GetBuffer(object.as_ptr(), &mut open.0, STRIDES | FORMAT) } != 0 {
        drop(PyErr::take(object.py()));
        return Ok(Taken::None);
    }
    let view = &open.0;
    let size = view.itemsize as usize;
    let format = match view.format.is_null() {
        true => "B".into(),
        // SAFETY: a format ends with a zero.
        false => unsafe { CStr::from_ptr(view.format) }.to_string_lossy(),
    };
    let Some(ty) = super::of_format(&format, size) else {
        return Ok(Taken::Format(format.into_owned()));
    };
    let rank = view.ndim as usize;
    let shape: Vec<usize> = match view.shape.is_null() {
        true if rank == 0 => Vec::new(),
        true => vec![view.len as usize / size],
        // SAFETY: there is one for each axis.
        false => unsafe { std::slice::from_raw_parts(view.shape, rank) }
            .iter()
            .map(|it| *it as usize)
            .collect(),
    };
    let steps = match view.strides.is_null() {
        // Arrays of `ctypes` give none although they are asked for.
        true => super::compact(size, &shape),
        // SAFETY: there is one for each axis.
        false => unsafe { std::slice::from_raw_parts(view.strides, rank) }.to_vec(),
    };
    let first = view.buf.cast::<u8>().cast_const();
    tensor(ty, shape, steps, first, memory, open).map(|(it, copied)| Taken::Tensor(it, copied))
}

/// A tensor over elements elsewhere, with strides in bytes; copied if they are not where elements
/// can be.
pub(crate) fn tensor(
    ty: ScalarType,
    shape: Vec<usize>,
    steps: Vec<isize>,
    first: *const u8,
    memory: &Memory,
    owner: Box<dyn Send + Sync>,
) -> PyResult<(Tensor, bool)> {
    let size = ty.size_bytes() as isize;
    let whole = steps.iter().zip(&shape).all(|(step, extent)| *extent <= 1 || step % size == 0);
    if whole && (first as usize).is_multiple_of(size as usize) || shape.contains(&0) {
        let strides = steps.into_iter().map(|step| step / size).collect();
        // SAFETY: the caller gives elements that stay as long as their owner.
        let Some(tensor) = (unsafe { memory.foreign(ty, shape, strides, first, owner) }) else {
            return Err(PyBufferError::new_err("the elements cannot be read where they are"));
        };
        return truths(tensor).map(|tensor| (tensor, false));
    }
    let mut copy = memory
        .zeros(ty, &shape)
        .map_err(|error| pyo3::exceptions::PyMemoryError::new_err(error.to_string()))?;
    let to = copy
        .as_mut_ptr()
        .map_err(|error| pyo3::exceptions::PyMemoryError::new_err(error.to_string()))?;
    let mut index = vec![0usize; shape.len()];
    for at in 0..copy.len() {
        let from: isize = index.iter().zip(&steps).map(|(i, step)| *i as isize * step).sum();
        // SAFETY: both are within their arrays; the source need not be aligned.
        unsafe {
            std::ptr::copy_nonoverlapping(
                first.offset(from),
                to.add(at * size as usize),
                size as usize,
            );
        }
        for (i, extent) in index.iter_mut().zip(&shape).rev() {
            *i += 1;
            if *i < *extent {
                break;
            }
            *i = 0;
        }
    }
    drop(owner);
    truths(copy).map(|copy| (copy, true))
}

/// Refuses truth values that are none.
fn truths(tensor: Tensor) -> PyResult<Tensor> {
    match tensor.ty() != ScalarType::Bool || super::are_truths(&tensor) {
        true => Ok(tensor),
        false => Err(pyo3::exceptions::PyValueError::new_err(
            "an array of truth values has bytes other than 0 and 1",
        )),
    }
}

/// The shape and strides that a view of ours points to.
struct Axes {
    shape: Vec<isize>,
    strides: Vec<isize>,
    _tensor: Arc<Tensor>,
}

/// Fills in a view of a tensor of ours.
///
/// # Safety
///
/// The view must be one that Python wants filled in.
pub(crate) unsafe fn fill(
    view: *mut View,
    object: &Bound<'_, PyAny>,
    tensor: &Arc<Tensor>,
    flags: c_int,
) -> PyResult<()> {
    let _ = WRITABLE;
    let contiguous = tensor.is_contiguous();
    let c_wanted = flags & C_CONTIGUOUS == C_CONTIGUOUS
        || flags & ANY_CONTIGUOUS == ANY_CONTIGUOUS
        || flags & STRIDES != STRIDES;
    let f_wanted = flags & F_CONTIGUOUS == F_CONTIGUOUS && tensor.rank() > 1;
    if (c_wanted && !contiguous) || f_wanted {
        return Err(PyBufferError::new_err("the tensor does not lie in that order"));
    }
    let format = format_of(tensor.ty()).ok_or_else(|| {
        PyBufferError::new_err(format!("the buffer protocol has no type {}", tensor.ty()))
    })?;
    let size = tensor.ty().size_bytes() as isize;
    let mut axes = Box::new(Axes {
        shape: tensor.shape().iter().map(|it| *it as isize).collect(),
        strides: tensor.strides().iter().map(|it| it * size).collect(),
        _tensor: Arc::clone(tensor),
    });
    // SAFETY: as the caller promises; what is pointed to lives until `forget`.
    unsafe {
        (*view).buf = tensor.as_ptr().cast_mut().cast();
        (*view).len = tensor.len() as isize * size;
        (*view).itemsize = size;
        (*view).readonly = 0;
        (*view).ndim = if flags & ND == ND { tensor.rank() as c_int } else { 1 };
        (*view).format = match flags & FORMAT == FORMAT {
            true => format.as_ptr().cast_mut(),
            false => std::ptr::null_mut(),
        };
        (*view).shape = match flags & ND == ND {
            true => axes.shape.as_mut_ptr(),
            false => std::ptr::null_mut(),
        };
        (*view).strides = match flags & STRIDES == STRIDES {
            true => axes.strides.as_mut_ptr(),
            false => std::ptr::null_mut(),
        };
        (*view).suboffsets = std::ptr::null_mut();
        (*view).internal = Box::into_raw(axes).cast();
        (*view).obj = object.clone().into_ptr();
    }
    Ok(())
}

/// Frees what a view of ours points to.
///
/// # Safety
///
/// The view was filled in by [`fill`], and nobody uses it any more.
pub(crate) unsafe fn forget(view: *mut View) {
    // SAFETY: as the caller promises.
    unsafe {
        if !(*view).internal.is_null() {
            drop(Box::from_raw((*view).internal.cast::<Axes>()));
            (*view).internal = std::ptr::null_mut();
        }
    }
}

fn format_of(ty: ScalarType) -> Option<&'static CStr> {
    Some(match ty {
        ScalarType::Bool => c"?",
        ScalarType::I8 => c"b",
        ScalarType::I16 => c"h",
        ScalarType::I32 => c"i",
        ScalarType::I64 => c"q",
        ScalarType::U8 => c"B",
        ScalarType::U16 => c"H",
        ScalarType::U32 => c"I",
        ScalarType::U64 => c"Q",
        ScalarType::F16 => c"e",
        ScalarType::BF16 => return None,
        ScalarType::F32 => c"f",
        ScalarType::F64 => c"d",
    })
}
