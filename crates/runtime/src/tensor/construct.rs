//! Making tensors.

use ein_scalar::{Scalar, ScalarType};

use super::{Tensor, TensorError, write};
use crate::{Element, Memory, MemoryError};

impl Memory {
    /// An array of zeros.
    pub fn zeros(&self, ty: ScalarType, shape: &[usize]) -> Result<Tensor, MemoryError> {
        Ok(Tensor::over(ty, shape, self.allocate(ty, shape)?))
    }

    /// An array whose elements are whatever they are, for a kernel that writes all of them.
    pub fn room(&self, ty: ScalarType, shape: &[usize]) -> Result<Tensor, MemoryError> {
        Ok(Tensor::over(ty, shape, self.allocate_with(ty, shape, false)?))
    }

    /// An array with one value everywhere.
    pub fn full(&self, value: Scalar, shape: &[usize]) -> Result<Tensor, MemoryError> {
        let mut tensor = self.zeros(value.ty(), shape)?;
        if value != Scalar::zero(value.ty()) {
            tensor.fill_own(|| value);
        }
        Ok(tensor)
    }

    /// An array of these elements, in row-major order.
    pub fn from_slice<T: Element>(
        &self,
        elements: &[T],
        shape: &[usize],
    ) -> Result<Tensor, TensorError> {
        let mut tensor = self.zeros(T::TYPE, shape)?;
        let place = tensor.as_mut_slice::<T>()?;
        if place.len() != elements.len() {
            return Err(TensorError::Count { given: elements.len(), shape: shape.to_vec() });
        }
        place.copy_from_slice(elements);
        Ok(tensor)
    }

    /// An array whose elements, of type `ty`, come in row-major order.
    pub fn from_scalars(
        &self,
        ty: ScalarType,
        shape: &[usize],
        elements: impl IntoIterator<Item = Scalar>,
    ) -> Result<Tensor, TensorError> {
        let mut elements = elements.into_iter();
        let mut given = 0;
        let tensor = self.try_fill::<TensorError>(ty, shape, || {
            let short = || TensorError::Count { given, shape: shape.to_vec() };
            let value = elements.next().ok_or_else(short)?;
            given += 1;
            Ok(value)
        })?;
        match elements.count() {
            0 => Ok(tensor),
            more => Err(TensorError::Count { given: given + more, shape: shape.to_vec() }),
        }
    }

    /// An array whose element at each index, visited in row-major order, is what `element` says.
    pub fn from_fn<E: From<TensorError>>(
        &self,
        ty: ScalarType,
        shape: &[usize],
        mut element: impl FnMut(&[usize]) -> Result<Scalar, E>,
    ) -> Result<Tensor, E> {
        let mut index = vec![0; shape.len()];
        self.try_fill(ty, shape, || {
            let value = element(&index)?;
            for (i, extent) in index.iter_mut().zip(shape).rev() {
                *i += 1;
                if *i < *extent {
                    break;
                }
                *i = 0;
            }
            Ok(value)
        })
    }

    /// An array filled in row-major order by elements that must be of type `ty`.
    fn try_fill<E: From<TensorError>>(
        &self,
        ty: ScalarType,
        shape: &[usize],
        mut next: impl FnMut() -> Result<Scalar, E>,
    ) -> Result<Tensor, E> {
        let tensor = self.zeros(ty, shape).map_err(TensorError::from)?;
        for position in 0..tensor.len() {
            let value = next()?;
            if value.ty() != ty {
                return Err(TensorError::Type { given: value.ty(), expected: ty }.into());
            }
            // SAFETY: the tensor is new and not shared, and the position is one of its elements.
            unsafe { write(tensor.buffer.start(), position, value) };
        }
        Ok(tensor)
    }
}

impl Tensor {
    /// A tensor of rank 0.
    ///
    /// Its few bytes are not counted against any limit.
    pub fn scalar(value: Scalar) -> Tensor {
        match Memory::unlimited().full(value, &[]) {
            Ok(tensor) => tensor,
            Err(error) => std::alloc::handle_alloc_error(
                std::alloc::Layout::from_size_align(error.wanted as usize, 8)
                    .unwrap_or(std::alloc::Layout::new::<u64>()),
            ),
        }
    }

    /// An array of zeros outside any limit.
    pub fn zeros(ty: ScalarType, shape: &[usize]) -> Result<Tensor, MemoryError> {
        Memory::unlimited().zeros(ty, shape)
    }

    /// An array of these elements in row-major order, outside any limit.
    pub fn from_vec<T: Element>(elements: Vec<T>, shape: &[usize]) -> Result<Tensor, TensorError> {
        Memory::unlimited().from_slice(&elements, shape)
    }

    /// Fills a tensor that was just made from what `next` gives.
    fn fill_own(&mut self, mut next: impl FnMut() -> Scalar) {
        for position in 0..self.len() {
            // SAFETY: the tensor is new and not shared; the callers give values of its type.
            unsafe { write(self.buffer.start(), position, next()) };
        }
    }
}
