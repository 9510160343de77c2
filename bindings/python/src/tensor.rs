//! `einlang.Tensor`: an array of ours as Python sees it.
//!
//! PyO3 makes a base class of it. The class itself adds the buffer protocol, with slots that every
//! CPython since 3.10 understands, although the stable interface names them only since 3.11.

use crate::array::{buffer, dlpack};
use ein_driver::call::{Memory, ScalarType, Tensor};
use pyo3::exceptions::{PyBufferError, PyMemoryError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyTuple, PyType};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// Keeps the memory of an array that another library shows, and hands tensors to `Tensor`.
#[pyclass(frozen, module = "einlang._einlang")]
pub(crate) struct Holder {
    pub(crate) tensor: Arc<Tensor>,
    pub(crate) dims: Vec<Option<String>>,
}

/// An array of numbers whose axes may have names.
#[pyclass(subclass, frozen, name = "TensorBase", module = "einlang")]
pub(crate) struct TensorBase {
    pub(crate) tensor: Arc<Tensor>,
    pub(crate) dims: Vec<Option<String>>,
}

static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Makes the class.
pub(crate) fn make_type(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    /// `Py_bf_getbuffer` and `Py_bf_releasebuffer`.
    const GET: c_int = 1;
    const RELEASE: c_int = 2;
    let base = py.get_type::<TensorBase>();
    let bases = PyTuple::new(py, [base])?;
    let mut slots = [
        ffi::PyType_Slot { slot: GET, pfunc: get_buffer as *mut c_void },
        ffi::PyType_Slot { slot: RELEASE, pfunc: release_buffer as *mut c_void },
        ffi::PyType_Slot { slot: 0, pfunc: std::ptr::null_mut() },
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"einlang.Tensor".as_ptr(),
        basicsize: 0,
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_BASETYPE) as _,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the specification is complete; CPython copies what it keeps.
    let made = unsafe {
        let made = ffi::PyType_FromSpecWithBases(&mut spec, bases.as_ptr());
        Bound::from_owned_ptr_or_err(py, made)?
    };
    let ty = made.cast_into::<PyType>()?;
    let _ = TYPE.set(py, ty.clone().unbind());
    Ok(ty.into_any())
}

/// A tensor of ours as `einlang.Tensor`.
pub(crate) fn wrap<'py>(
    py: Python<'py>,
    tensor: Arc<Tensor>,
    dims: Vec<Option<String>>,
) -> PyResult<Bound<'py, PyAny>> {
    let ty = TYPE.get(py).ok_or_else(|| PyTypeError::new_err("einlang is not imported"))?;
    ty.bind(py).call1((Bound::new(py, Holder { tensor, dims })?,))
}

unsafe extern "C" fn get_buffer(
    object: *mut ffi::PyObject,
    view: *mut c_void,
    flags: c_int,
) -> c_int {
    // SAFETY: Python calls this with an object of the class, attached, and a view to fill in.
    unsafe {
        let py = Python::assume_attached();
        let object = Bound::from_borrowed_ptr(py, object);
        let filled = object
            .cast::<TensorBase>()
            .map_err(PyErr::from)
            .and_then(|it| buffer::fill(view.cast(), &object, &it.get().tensor, flags));
        match filled {
            Ok(()) => 0,
            Err(error) => {
                error.restore(py);
                -1
            }
        }
    }
}

unsafe extern "C" fn release_buffer(_: *mut ffi::PyObject, view: *mut c_void) {
    // SAFETY: it is a view that `get_buffer` filled in.
    unsafe { buffer::forget(view.cast()) };
}

#[pymethods]
impl TensorBase {
    #[new]
    #[pyo3(signature = (array, dims = None))]
    fn new(array: &Bound<'_, PyAny>, dims: Option<Vec<Option<String>>>) -> PyResult<Self> {
        if let Ok(holder) = array.cast::<Holder>() {
            let holder = holder.get();
            return Ok(Self { tensor: Arc::clone(&holder.tensor), dims: holder.dims.clone() });
        }
        let (tensor, own) = crate::convert::tensor(array)?;
        let dims = dims.unwrap_or(own);
        if dims.len() != tensor.rank() {
            let text = format!("{} names for {} axes", dims.len(), tensor.rank());
            return Err(PyValueError::new_err(text));
        }
        Ok(Self { tensor: Arc::new(tensor), dims })
    }

    /// The coordinates of the axes; None for one without a name.
    #[getter]
    fn dims<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.dims)
    }

    /// The extents.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tensor.shape())
    }

    /// For each axis, how many bytes further the next element lies.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let size = self.tensor.ty().size_bytes() as isize;
        PyTuple::new(py, self.tensor.strides().iter().map(|stride| stride * size))
    }

    /// The type of the elements, as Einlang calls it.
    #[getter]
    fn dtype(&self) -> String {
        self.tensor.ty().to_string()
    }

    /// The number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.tensor.rank()
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.tensor.len()
    }

    fn __len__(&self) -> PyResult<usize> {
        match self.tensor.shape().first() {
            Some(extent) => Ok(*extent),
            None => Err(PyTypeError::new_err("a tensor without axes has no length")),
        }
    }

    /// For `pickle` and `copy`: what makes one of the type, extents, names and bytes.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let whole = match self.tensor.is_contiguous() {
            true => Arc::clone(&self.tensor),
            false => {
                let whole = Memory::unlimited().from_scalars(
                    self.tensor.ty(),
                    self.tensor.shape(),
                    self.tensor.iter(),
                );
                Arc::new(whole.map_err(|error| PyMemoryError::new_err(error.to_string()))?)
            }
        };
        let count = whole.len() * whole.ty().size_bytes();
        // SAFETY: the elements lie one after the other.
        let bytes = unsafe { std::slice::from_raw_parts(whole.as_ptr(), count) };
        let parts = (self.dtype(), self.shape(py)?, self.dims(py)?, PyBytes::new(py, bytes));
        let make = py.import("einlang._einlang")?.getattr("tensor_of_bytes")?;
        PyTuple::new(py, [make, parts.into_pyobject(py)?.into_any()])
    }

    /// The elements as nested lists.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        crate::array::lists(py, &self.tensor)
    }

    /// The only element as a number.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match (self.tensor.len(), self.tensor.iter().next()) {
            (1, Some(only)) => crate::array::number(py, only),
            (count, _) => {
                let text = format!("a tensor of {count} elements is not one number");
                Err(PyValueError::new_err(text))
            }
        }
    }

    /// What `print` shows of it.
    fn __str__(&self) -> String {
        ein_driver::call::print_array(&self.tensor)
    }

    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let kind = match self.tensor.ty() {
            // Two bytes that mean nothing to most.
            ScalarType::BF16 => "V",
            ScalarType::Bool => "b",
            ty if ty.is_float() => "f",
            ty if ty.is_signed() => "i",
            _ => "u",
        };
        let size = self.tensor.ty().size_bytes();
        let order = if size == 1 { '|' } else { '<' };
        dict.set_item("version", 3)?;
        dict.set_item("shape", self.shape(py)?)?;
        dict.set_item("strides", self.strides(py)?)?;
        dict.set_item("typestr", format!("{order}{kind}{size}"))?;
        dict.set_item("data", (self.tensor.as_ptr() as usize, false))?;
        Ok(dict)
    }

    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = stream;
        if dl_device.is_some_and(|device| device != (1, 0)) {
            return Err(PyBufferError::new_err("the tensor is in the memory of the processor"));
        }
        let this = slf.get();
        let tensor = match copy {
            Some(true) => Arc::new(crate::array::copied(slf.py(), &this.tensor)?),
            Some(false) | None => Arc::clone(&this.tensor),
        };
        dlpack::give(slf.py(), tensor, max_version.is_some_and(|(major, _)| major >= 1))
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        (1, 0)
    }
}

/// A tensor of bytes that another one was taken apart into.
#[pyfunction]
pub(crate) fn tensor_of_bytes<'py>(
    py: Python<'py>,
    dtype: &str,
    shape: Vec<usize>,
    dims: Vec<Option<String>>,
    bytes: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    let ty = ScalarType::ALL.iter().find(|ty| ty.to_string() == dtype);
    let count = shape.iter().try_fold(1usize, |count, extent| count.checked_mul(*extent));
    let size = ty.and_then(|ty| count?.checked_mul(ty.size_bytes()));
    let (Some(ty), true) = (ty, size == Some(bytes.len()) && dims.len() == shape.len()) else {
        return Err(PyValueError::new_err("these are not the parts of a tensor"));
    };
    let failed = |error: &dyn std::fmt::Display| PyMemoryError::new_err(error.to_string());
    let mut tensor = Memory::unlimited().zeros(*ty, &shape).map_err(|error| failed(&error))?;
    let to = tensor.as_mut_ptr().map_err(|error| failed(&error))?;
    // SAFETY: the tensor has so many bytes.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    if *ty == ScalarType::Bool && !crate::array::are_truths(&tensor) {
        return Err(PyValueError::new_err("a truth value is a byte of 0 or 1"));
    }
    wrap(py, Arc::new(tensor), dims)
}
