//! Tensors: an element type and a strided view of a shared buffer.

mod construct;
mod copy;
mod error;
mod foreign;
mod view;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use ein_scalar::{Scalar, ScalarType};

use crate::memory::{Buffer, Memory};
use crate::{Element, print_array};

pub use error::TensorError;

/// An array of scalars of one type, of any rank; rank 0 is a single scalar.
///
/// Cloning and taking views share the elements. Writing first makes a tensor the only owner of
/// what it writes to. For kernels, the layout is: a pointer to the element at index 0 everywhere, an
/// extent and a stride (in elements, possibly zero or negative) for each axis.
#[derive(Clone)]
pub struct Tensor {
    ty: ScalarType,
    shape: Vec<usize>,
    strides: Vec<isize>,
    /// The element at index 0 everywhere, counted from the start of the buffer.
    offset: usize,
    buffer: Arc<Buffer>,
}

impl Tensor {
    /// A whole buffer in row-major order.
    pub(crate) fn over(ty: ScalarType, shape: &[usize], buffer: Buffer) -> Tensor {
        let strides = row_major(shape);
        Tensor { ty, shape: shape.to_vec(), strides, offset: 0, buffer: Arc::new(buffer) }
    }

    /// The element type.
    pub fn ty(&self) -> ScalarType {
        self.ty
    }

    /// The extents.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// For each axis, how many elements further the next one lies.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        count(&self.shape)
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory that copies of this tensor are taken from.
    pub fn memory(&self) -> &Memory {
        self.buffer.memory()
    }

    /// The element at index 0 everywhere, for kernels that read.
    ///
    /// Valid while the tensor lives; only the elements its shape and strides reach may be read.
    pub fn as_ptr(&self) -> *const u8 {
        self.buffer.start().wrapping_add(self.offset * self.ty.size_bytes())
    }

    /// The same for kernels that write, after making the tensor the only owner of its elements.
    pub fn as_mut_ptr(&mut self) -> Result<*mut u8, TensorError> {
        self.make_unique()?;
        Ok(self.as_ptr().cast_mut())
    }

    /// The element at an index.
    pub fn get(&self, index: &[usize]) -> Result<Scalar, TensorError> {
        let position = self.position(index)?;
        // SAFETY: the position is that of an element.
        Ok(unsafe { read(self.ty, self.buffer.start(), position) })
    }

    /// Replaces the element at an index.
    pub fn set(&mut self, index: &[usize], value: Scalar) -> Result<(), TensorError> {
        if value.ty() != self.ty {
            return Err(TensorError::Type { given: value.ty(), expected: self.ty });
        }
        self.position(index)?;
        self.make_unique()?;
        let position = self.position(index)?;
        // SAFETY: the position is that of an element, and nobody else holds the buffer.
        unsafe { write(self.buffer.start(), position, value) };
        Ok(())
    }

    /// The place of an index in the buffer.
    fn position(&self, index: &[usize]) -> Result<usize, TensorError> {
        if index.len() != self.rank() {
            return Err(TensorError::Rank { given: index.len(), rank: self.rank() });
        }
        let mut position = self.offset as isize;
        for (axis, (&i, &extent)) in index.iter().zip(&self.shape).enumerate() {
            if i >= extent {
                return Err(TensorError::Bounds { axis, index: i, extent });
            }
            position += i as isize * self.strides[axis];
        }
        Ok(position as usize)
    }

    /// The elements in row-major order.
    pub fn iter(&self) -> Elements<'_> {
        let (position, left) = (self.offset as isize, self.len());
        Elements { tensor: self, index: vec![0; self.rank()], position, left }
    }

    /// Whether the elements lie one after another in row-major order.
    pub fn is_contiguous(&self) -> bool {
        let expected = row_major(&self.shape);
        let axes = self.shape.iter().zip(self.strides.iter().zip(&expected));
        self.is_empty() || axes.into_iter().all(|(&extent, (a, b))| extent == 1 || a == b)
    }

    /// The elements as a slice, if they are of type `T` and contiguous.
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        if T::TYPE != self.ty || !self.is_contiguous() {
            return None;
        }
        // SAFETY: `len` initialised elements of type `T` lie there, aligned; while the slice lives
        // the tensor is borrowed, and writing needs the only reference to the buffer.
        Some(unsafe { std::slice::from_raw_parts(self.as_ptr().cast::<T>(), self.len()) })
    }

    /// The elements as a slice to be written to, after making them contiguous and unshared.
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T], TensorError> {
        if T::TYPE != self.ty {
            return Err(TensorError::Type { given: T::TYPE, expected: self.ty });
        }
        if !self.is_contiguous() {
            *self = self.contiguous()?;
        }
        let start = self.as_mut_ptr()?.cast::<T>();
        // SAFETY: as in `as_slice`, and `as_mut_ptr` has made this the only owner.
        Ok(unsafe { std::slice::from_raw_parts_mut(start, self.len()) })
    }

    /// The elements in row-major order as a vector, if they are of type `T`.
    pub fn to_vec<T: Element>(&self) -> Option<Vec<T>> {
        (T::TYPE == self.ty).then_some(())?;
        match self.as_slice::<T>() {
            Some(slice) => Some(slice.to_vec()),
            None => self.contiguous().ok()?.as_slice::<T>().map(<[T]>::to_vec),
        }
    }

    /// The range of the buffer that a contiguous tensor covers, in bytes.
    pub(crate) fn byte_range(&self) -> Range<usize> {
        let size = self.ty.size_bytes();
        self.offset * size..(self.offset + self.len()) * size
    }

    /// The bytes of a contiguous tensor, as this machine orders them.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        // SAFETY: the bytes of initialised elements without padding; see `as_slice`.
        let bytes =
            || unsafe { std::slice::from_raw_parts(self.as_ptr(), self.byte_range().len()) };
        self.is_contiguous().then(bytes)
    }

    /// Whether nobody else can see or change the elements.
    pub fn is_own(&self) -> bool {
        Arc::strong_count(&self.buffer) == 1 && !self.buffer.is_foreign()
    }

    /// Copies the elements unless this tensor is the only owner and no two indices share one.
    fn make_unique(&mut self) -> Result<(), TensorError> {
        let shared = Arc::strong_count(&self.buffer) != 1 || self.buffer.is_foreign();
        let mut axes = self.shape.iter().zip(&self.strides);
        if shared || axes.any(|(&extent, &stride)| extent > 1 && stride == 0) {
            *self = self.copied()?;
        }
        Ok(())
    }
}

/// Strides of the elements of a shape laid one after another, the last axis fastest.
fn row_major(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![0; shape.len()];
    let mut step: isize = 1;
    for (stride, extent) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.wrapping_mul(*extent as isize);
    }
    strides
}

/// The number of elements of a shape that was allocated or has a zero.
fn count(shape: &[usize]) -> usize {
    if shape.contains(&0) { 0 } else { shape.iter().product() }
}

/// Reads one element.
///
/// # Safety
///
/// The buffer must hold an element of type `ty` at `position`.
unsafe fn read(ty: ScalarType, start: *const u8, position: usize) -> Scalar {
    // SAFETY: by the contract of this function.
    unsafe fn at<T: Element>(start: *const u8, position: usize) -> Scalar {
        unsafe { start.cast::<T>().add(position).read() }.into()
    }
    // SAFETY: by the contract of this function.
    unsafe {
        match ty {
            ScalarType::Bool => at::<bool>(start, position),
            ScalarType::I8 => at::<i8>(start, position),
            ScalarType::I16 => at::<i16>(start, position),
            ScalarType::I32 => at::<i32>(start, position),
            ScalarType::I64 => at::<i64>(start, position),
            ScalarType::U8 => at::<u8>(start, position),
            ScalarType::U16 => at::<u16>(start, position),
            ScalarType::U32 => at::<u32>(start, position),
            ScalarType::U64 => at::<u64>(start, position),
            ScalarType::F16 => at::<ein_scalar::f16>(start, position),
            ScalarType::BF16 => at::<ein_scalar::bf16>(start, position),
            ScalarType::F32 => at::<f32>(start, position),
            ScalarType::F64 => at::<f64>(start, position),
        }
    }
}

/// Writes one element.
///
/// # Safety
///
/// The buffer must hold an element of the value's type at `position`, and nobody else may have
/// access to it now.
unsafe fn write(start: *mut u8, position: usize, value: Scalar) {
    // SAFETY: by the contract of this function.
    unsafe {
        match value {
            Scalar::Bool(x) => start.cast::<bool>().add(position).write(x),
            Scalar::I8(x) => start.cast::<i8>().add(position).write(x),
            Scalar::I16(x) => start.cast::<i16>().add(position).write(x),
            Scalar::I32(x) => start.cast::<i32>().add(position).write(x),
            Scalar::I64(x) => start.cast::<i64>().add(position).write(x),
            Scalar::U8(x) => start.add(position).write(x),
            Scalar::U16(x) => start.cast::<u16>().add(position).write(x),
            Scalar::U32(x) => start.cast::<u32>().add(position).write(x),
            Scalar::U64(x) => start.cast::<u64>().add(position).write(x),
            Scalar::F16(x) => start.cast::<ein_scalar::f16>().add(position).write(x),
            Scalar::BF16(x) => start.cast::<ein_scalar::bf16>().add(position).write(x),
            Scalar::F32(x) => start.cast::<f32>().add(position).write(x),
            Scalar::F64(x) => start.cast::<f64>().add(position).write(x),
        }
    }
}

/// The elements of a tensor in row-major order.
pub struct Elements<'a> {
    tensor: &'a Tensor,
    index: Vec<usize>,
    position: isize,
    left: usize,
}

impl Iterator for Elements<'_> {
    type Item = Scalar;

    fn next(&mut self) -> Option<Scalar> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let tensor = self.tensor;
        // SAFETY: the index is within the shape, so the position is that of an element.
        let value = unsafe { read(tensor.ty, tensor.buffer.start(), self.position as usize) };
        for axis in (0..self.index.len()).rev() {
            self.index[axis] += 1;
            self.position += tensor.strides[axis];
            if self.index[axis] < tensor.shape[axis] {
                break;
            }
            self.position -= tensor.strides[axis] * tensor.shape[axis] as isize;
            self.index[axis] = 0;
        }
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Elements<'_> {}

impl PartialEq for Tensor {
    /// Same type, shape and elements, by bits (all NaNs are one value).
    fn eq(&self, other: &Tensor) -> bool {
        self.ty == other.ty && self.shape == other.shape && self.iter().eq(other.iter())
    }
}

impl Eq for Tensor {}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let element = |index: &[usize]| self.get(index).map_or(String::new(), |x| x.to_string());
        f.write_str(&print_array(&self.shape, element))
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?} {self}", self.ty, self.shape)
    }
}
