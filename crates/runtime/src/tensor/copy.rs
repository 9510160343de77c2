//! Tensors made from the elements of others. They are taken from the memory of the first one.

use ein_scalar::{Scalar, ScalarType, cast};

use super::{Tensor, TensorError};

impl Tensor {
    /// This tensor with its elements one after another; a copy only if they are not.
    pub fn contiguous(&self) -> Result<Tensor, TensorError> {
        if self.is_contiguous() { Ok(self.clone()) } else { self.copied() }
    }

    /// This tensor with elements that nobody outside can change; a copy only if they are foreign.
    pub fn detached(&self) -> Result<Tensor, TensorError> {
        if self.buffer.is_foreign() { self.copied() } else { Ok(self.clone()) }
    }

    /// A contiguous copy with a buffer of its own.
    pub(super) fn copied(&self) -> Result<Tensor, TensorError> {
        let copy = self.memory().zeros(self.ty, &self.shape)?;
        // SAFETY: the copy is new, of the same type and shape.
        unsafe { copy_elements(self, &copy) };
        Ok(copy)
    }

    /// Converts every element as the language's `as` does.
    pub fn cast(&self, ty: ScalarType) -> Result<Tensor, TensorError> {
        if ty == self.ty { Ok(self.clone()) } else { self.map(ty, |x| cast(x, ty)) }
    }

    /// Applies a function, which must give values of type `ty`, to every element.
    pub fn map(
        &self,
        ty: ScalarType,
        mut function: impl FnMut(Scalar) -> Scalar,
    ) -> Result<Tensor, TensorError> {
        self.memory().from_scalars(ty, &self.shape, self.iter().map(&mut function))
    }

    /// Joins tensors along an axis; the other extents and the types must agree.
    pub fn concat(axis: usize, parts: &[Tensor]) -> Result<Tensor, TensorError> {
        let Some(first) = parts.first() else {
            return Err(TensorError::Count { given: 0, shape: vec![1] });
        };
        if axis >= first.rank() {
            return Err(TensorError::Axis { axis, rank: first.rank() });
        }
        let mut shape = first.shape.clone();
        shape[axis] = 0;
        for part in parts {
            let mut expected = first.shape.clone();
            if part.rank() == first.rank() {
                expected[axis] = part.shape[axis];
            }
            if part.shape != expected {
                let (left, right) = (first.shape.clone(), part.shape.clone());
                return Err(TensorError::Shape { left, right });
            }
            if part.ty != first.ty {
                return Err(TensorError::Type { given: part.ty, expected: first.ty });
            }
            // A sum beyond usize is refused by the allocation.
            shape[axis] = shape[axis].saturating_add(part.shape[axis]);
        }
        let joined = first.memory().zeros(first.ty, &shape)?;
        let mut start = 0;
        for part in parts {
            let place = joined.slice(axis, start, start + part.shape[axis])?;
            // SAFETY: only views of this function share the new buffer, and nobody reads it yet;
            // the shapes agree.
            unsafe { copy_elements(part, &place) };
            start += part.shape[axis];
        }
        Ok(joined)
    }

    /// The parts at these indices of an axis, one after another.
    pub fn gather(&self, axis: usize, indices: &[usize]) -> Result<Tensor, TensorError> {
        let rank = self.rank();
        let mut shape = self.shape.clone();
        *shape.get_mut(axis).ok_or(TensorError::Axis { axis, rank })? = indices.len();
        let extent = self.shape[axis];
        if let Some(&index) = indices.iter().find(|&&index| index >= extent) {
            return Err(TensorError::Bounds { axis, index, extent });
        }
        let gathered = self.memory().zeros(self.ty, &shape)?;
        for (to, &from) in indices.iter().enumerate() {
            let (part, place) = (self.index(axis, from)?, gathered.index(axis, to)?);
            // SAFETY: as in `concat`.
            unsafe { copy_elements(&part, &place) };
        }
        Ok(gathered)
    }
}

impl Tensor {
    /// Writes all elements of another tensor of this type over those of a tensor of rank 1, from a
    /// position on; whether they fit there.
    pub fn write_row(&mut self, at: usize, row: &Tensor) -> bool {
        let end = at.checked_add(row.len());
        let fits =
            self.rank() == 1 && self.ty == row.ty && end.is_some_and(|end| end <= self.len());
        let (Some(end), true) = (end.filter(|_| fits), self.as_mut_ptr().is_ok()) else {
            return false;
        };
        let place = self.slice(0, at, end).and_then(|place| place.reshape(row.shape()));
        let Ok(place) = place else { return false };
        // SAFETY: the same type and shape; `self` is the only owner of its elements, and borrowed.
        unsafe { copy_elements(row, &place) };
        true
    }
}

/// Copies all elements of one tensor to another.
///
/// # Safety
///
/// The two must have the same type and shape and different buffers, and nobody may have access
/// to the elements of `to` now.
unsafe fn copy_elements(from: &Tensor, to: &Tensor) {
    let (source, target) = (from.as_ptr(), to.as_ptr().cast_mut());
    if from.is_contiguous() && to.is_contiguous() {
        // SAFETY: by the contract, both hold this many bytes.
        unsafe { source.copy_to_nonoverlapping(target, from.byte_range().len()) };
        return;
    }
    // SAFETY: by the contract; an element is as wide as the integer it is copied as.
    unsafe {
        match from.ty.size_bytes() {
            1 => copy_strided::<u8>(from, to, source, target),
            2 => copy_strided::<u16>(from, to, source.cast(), target.cast()),
            4 => copy_strided::<u32>(from, to, source.cast(), target.cast()),
            _ => copy_strided::<u64>(from, to, source.cast(), target.cast()),
        }
    }
}

/// Copies row after row of the last axis.
///
/// # Safety
///
/// As [`copy_elements`], with pointers to the elements at index 0 of the two.
unsafe fn copy_strided<T: Copy>(from: &Tensor, to: &Tensor, source: *const T, target: *mut T) {
    if from.is_empty() {
        return;
    }
    let outer = from.rank().saturating_sub(1);
    let row = from.shape.last().copied().unwrap_or(1);
    let step = (from.strides.last().copied().unwrap_or(0), to.strides.last().copied().unwrap_or(0));
    let mut index = vec![0; outer];
    let (mut read, mut written) = (0isize, 0isize);
    loop {
        for i in 0..row as isize {
            // SAFETY: the index is within the common shape.
            unsafe { *target.offset(written + i * step.1) = *source.offset(read + i * step.0) };
        }
        let mut axis = outer;
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            index[axis] += 1;
            read += from.strides[axis];
            written += to.strides[axis];
            if index[axis] < from.shape[axis] {
                break;
            }
            read -= from.strides[axis] * from.shape[axis] as isize;
            written -= to.strides[axis] * from.shape[axis] as isize;
            index[axis] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Memory;

    fn matrix() -> Tensor {
        Tensor::from_vec(vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap()
    }

    #[test]
    fn joins() {
        let x = matrix();
        let right = x.slice(1, 0, 1).unwrap();
        let wide = Tensor::concat(1, &[x.clone(), right]).unwrap();
        assert_eq!(wide.to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 1.0, 4.0, 5.0, 6.0, 4.0]);
        let tall = Tensor::concat(0, &[x.clone(), x.clone()]).unwrap();
        assert_eq!(tall.shape(), [4, 3]);
        assert!(Tensor::concat(1, &[x.clone(), x.slice(0, 0, 1).unwrap()]).is_err());
        assert!(Tensor::concat(0, &[x.clone(), x.cast(ScalarType::F64).unwrap()]).is_err());
        assert!(Tensor::concat(0, &[x, Tensor::scalar(1f32.into())]).is_err());
        assert!(Tensor::concat(0, &[]).is_err());
    }

    #[test]
    fn gathers() {
        let x = matrix();
        let picked = x.gather(1, &[2, 0, 2]).unwrap();
        assert_eq!(picked.to_vec::<f32>().unwrap(), [3.0, 1.0, 3.0, 6.0, 4.0, 6.0]);
        assert_eq!(x.gather(0, &[]).unwrap().shape(), [0, 3]);
        assert_eq!(
            x.gather(0, &[0, 2]).unwrap_err(),
            TensorError::Bounds { axis: 0, index: 2, extent: 2 }
        );
    }

    #[test]
    fn casts_and_maps() {
        let x = matrix().cast(ScalarType::I8).unwrap();
        assert_eq!(x.to_vec::<i8>().unwrap(), [1, 2, 3, 4, 5, 6]);
        assert!(x.map(ScalarType::I8, |_| Scalar::I32(1)).is_err());
        let odd = x.map(ScalarType::Bool, |x| Scalar::Bool(x.to_bits() & 1 == 1)).unwrap();
        assert_eq!(odd.as_slice::<bool>().unwrap(), [true, false, true, false, true, false]);
    }

    #[test]
    fn copies_are_counted() {
        let memory = Memory::new(Some(100));
        let x = memory.full(Scalar::F64(1.0), &[2, 3]).unwrap();
        let turned = x.permute(&[1, 0]).unwrap();
        assert_eq!(memory.used(), 48);
        let copy = turned.contiguous().unwrap();
        assert_eq!(memory.used(), 96);
        assert!(matches!(turned.reshape(&[6]), Err(TensorError::Memory(_))));
        drop(copy);
        assert_eq!((memory.used(), memory.peak()), (48, 96));
    }

    #[test]
    fn filled_from_elements() {
        let memory = Memory::unlimited();
        let error = |given| TensorError::Count { given, shape: vec![2] };
        let make = |n: i32| memory.from_scalars(ScalarType::I32, &[2], (0..n).map(Scalar::I32));
        assert_eq!(make(1).unwrap_err(), error(1));
        assert_eq!(make(3).unwrap_err(), error(3));
        assert_eq!(make(2).unwrap().get(&[1]), Ok(Scalar::I32(1)));
        let grid = memory.from_fn::<TensorError>(ScalarType::U64, &[2, 3], |index| {
            Ok(Scalar::U64((10 * index[0] + index[1]) as u64))
        });
        assert_eq!(grid.unwrap().to_vec::<u64>().unwrap(), [0, 1, 2, 10, 11, 12]);
        assert!(memory.from_slice(&[1u8], &[2]).is_err());
    }
}
