//! Tensors over memory that belongs to somebody else: arrays of the program that calls us.

use std::ptr::NonNull;
use std::sync::Arc;

use ein_scalar::ScalarType;

use super::Tensor;
use crate::Memory;
use crate::memory::Buffer;

impl Memory {
    /// A tensor over elements that lie elsewhere; they are read there, and copied before anything
    /// writes to them. Copies are taken from this memory. `None` if an element is not aligned.
    ///
    /// # Safety
    ///
    /// All elements that the shape and the strides (in elements) reach from `first`, which is the
    /// one at index 0 everywhere, must be valid for reads and not change until `owner` is dropped.
    pub unsafe fn foreign(
        &self,
        ty: ScalarType,
        shape: Vec<usize>,
        mut strides: Vec<isize>,
        first: *const u8,
        owner: Box<dyn Send + Sync>,
    ) -> Option<Tensor> {
        let size = ty.size_bytes();
        if shape.len() != strides.len() {
            return None;
        }
        let empty = shape.contains(&0);
        let mut below = 0usize;
        let mut step = 1isize;
        for (extent, stride) in shape.iter().zip(strides.iter_mut()).rev() {
            // Nobody takes such a step; one way to write it means one kernel.
            if *extent <= 1 || empty {
                *stride = step;
            } else if *stride < 0 {
                below += (extent - 1) * stride.unsigned_abs();
            }
            step = step.wrapping_mul((*extent).max(1) as isize);
        }
        let start = match empty {
            true => std::ptr::without_provenance_mut(64),
            false => first.cast_mut().wrapping_sub(below * size),
        };
        if !(start as usize).is_multiple_of(size) {
            return None;
        }
        // SAFETY: as the caller promises.
        let buffer = unsafe { Buffer::foreign(NonNull::new(start)?, self.clone(), owner) };
        Some(Tensor { ty, shape, strides, offset: below, buffer: Arc::new(buffer) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    struct Owner(Vec<i32>, Arc<AtomicBool>);

    impl Drop for Owner {
        fn drop(&mut self) {
            self.1.store(true, Ordering::Relaxed);
        }
    }

    #[test]
    fn elements_are_read_in_place_and_never_written() {
        let gone = Arc::new(AtomicBool::new(false));
        let owner = Owner((0..12).collect(), Arc::clone(&gone));
        // Every second column of a 3 by 4 matrix, from the back.
        let first = owner.0.as_ptr().wrapping_add(3).cast::<u8>();
        let memory = Memory::unlimited();
        // SAFETY: the elements belong to the owner.
        let tensor = unsafe {
            memory.foreign(ScalarType::I32, vec![3, 2], vec![4, -2], first, Box::new(owner))
        };
        let tensor = tensor.unwrap();
        assert_eq!(tensor.as_ptr(), first);
        assert_eq!(tensor.to_vec::<i32>().unwrap(), [3, 1, 7, 5, 11, 9]);
        let mut other = tensor.clone();
        other.set(&[0, 0], 100.into()).unwrap();
        assert!(other.is_own() && !tensor.is_own());
        assert_eq!(tensor.get(&[0, 0]), Ok(3.into()));
        drop(tensor);
        assert!(gone.load(Ordering::Relaxed));
    }

    #[test]
    fn odd_addresses_are_refused_and_nothing_is_read_of_empty_arrays() {
        let memory = Memory::unlimited();
        let bytes = [0u8; 16];
        let odd = bytes.as_ptr().wrapping_add(1 + bytes.as_ptr().align_offset(8));
        // SAFETY: refused before it is read.
        let refused =
            unsafe { memory.foreign(ScalarType::F64, vec![1], vec![1], odd, Box::new(())) };
        assert!(refused.is_none());
        // SAFETY: there is nothing to read.
        let empty =
            unsafe { memory.foreign(ScalarType::F64, vec![0, 3], vec![-9, 7], odd, Box::new(())) };
        assert_eq!(empty.unwrap().shape(), [0, 3]);
    }
}
