//! Views: other shapes and strides over the same elements.

use super::{Tensor, TensorError, count, row_major};

impl Tensor {
    fn check_axis(&self, axis: usize) -> Result<(), TensorError> {
        if axis < self.rank() { Ok(()) } else { Err(TensorError::Axis { axis, rank: self.rank() }) }
    }

    fn check_index(&self, axis: usize, index: usize) -> Result<(), TensorError> {
        self.check_axis(axis)?;
        let extent = self.shape[axis];
        if index < extent { Ok(()) } else { Err(TensorError::Bounds { axis, index, extent }) }
    }

    /// Moves the element at index 0 by `index` along `axis`.
    fn advance(&mut self, axis: usize, index: usize) {
        let moved = self.offset as isize + index as isize * self.strides[axis];
        self.offset = moved as usize;
    }

    /// The part with index `start..end` along an axis.
    pub fn slice(&self, axis: usize, start: usize, end: usize) -> Result<Tensor, TensorError> {
        self.check_axis(axis)?;
        let extent = self.shape[axis];
        if end > extent || start > end {
            return Err(TensorError::Bounds { axis, index: start.max(end), extent });
        }
        self.slice_by(axis, start, end - start, 1)
    }

    /// `count` indices along an axis: `start`, `start + step`, …; the step may be negative.
    pub fn slice_by(
        &self,
        axis: usize,
        start: usize,
        count: usize,
        step: isize,
    ) -> Result<Tensor, TensorError> {
        self.check_axis(axis)?;
        let mut view = self.clone();
        view.shape[axis] = count;
        if count == 0 {
            return Ok(view);
        }
        self.check_index(axis, start)?;
        let far = step.checked_mul(count as isize - 1);
        let last = far.and_then(|far| start.checked_add_signed(far));
        self.check_index(axis, last.unwrap_or(usize::MAX))?;
        view.advance(axis, start);
        view.strides[axis] *= step;
        Ok(view)
    }

    /// The elements along an axis in reverse.
    pub fn reverse(&self, axis: usize) -> Result<Tensor, TensorError> {
        self.check_axis(axis)?;
        let extent = self.shape[axis];
        self.slice_by(axis, extent.saturating_sub(1), extent, -1)
    }

    /// The part at one index of an axis, without that axis.
    pub fn index(&self, axis: usize, index: usize) -> Result<Tensor, TensorError> {
        self.check_index(axis, index)?;
        let mut view = self.clone();
        view.advance(axis, index);
        view.shape.remove(axis);
        view.strides.remove(axis);
        Ok(view)
    }

    /// The axes in another order: axis `i` of the result is axis `order[i]` of this.
    pub fn permute(&self, order: &[usize]) -> Result<Tensor, TensorError> {
        if order.len() != self.rank() {
            return Err(TensorError::Rank { given: order.len(), rank: self.rank() });
        }
        let mut view = self.clone();
        for (to, &from) in order.iter().enumerate() {
            self.check_axis(from)?;
            if order[..to].contains(&from) {
                return Err(TensorError::Axis { axis: from, rank: self.rank() });
            }
            view.shape[to] = self.shape[from];
            view.strides[to] = self.strides[from];
        }
        Ok(view)
    }

    /// A new axis before `axis`, along which all elements are the same.
    pub fn broadcast(&self, axis: usize, extent: usize) -> Result<Tensor, TensorError> {
        if axis > self.rank() {
            return Err(TensorError::Axis { axis, rank: self.rank() });
        }
        let mut view = self.clone();
        view.shape.insert(axis, extent);
        view.strides.insert(axis, 0);
        if !view.shape.contains(&0) && view.shape.iter().try_fold(1, product).is_none() {
            // More elements than can be counted: refused as an allocation would be.
            self.memory().check(self.ty, &view.shape)?;
        }
        Ok(view)
    }

    /// Another shape for the same elements in row-major order; copies them if they are not
    /// contiguous.
    pub fn reshape(&self, shape: &[usize]) -> Result<Tensor, TensorError> {
        let fits = shape.contains(&0) || shape.iter().try_fold(1, product).is_some();
        if !fits || count(shape) != self.len() {
            return Err(TensorError::Count { given: self.len(), shape: shape.to_vec() });
        }
        let mut view = self.contiguous()?;
        view.shape = shape.to_vec();
        view.strides = row_major(shape);
        Ok(view)
    }
}

fn product(so_far: usize, extent: &usize) -> Option<usize> {
    so_far.checked_mul(*extent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers() -> Tensor {
        Tensor::from_vec((0..24).collect::<Vec<i32>>(), &[2, 3, 4]).unwrap()
    }

    #[track_caller]
    fn check(view: &Tensor, shape: &[usize], elements: &[i32]) {
        assert_eq!(view.shape(), shape);
        assert_eq!(view.to_vec::<i32>().unwrap(), elements);
        let again = Tensor::from_vec(elements.to_vec(), shape).unwrap();
        assert_eq!(*view, again);
    }

    #[test]
    fn slices() {
        let x = numbers();
        let part = x.slice(1, 1, 3).unwrap().slice(2, 3, 4).unwrap();
        check(&part, &[2, 2, 1], &[7, 11, 19, 23]);
        check(&x.slice(0, 1, 1).unwrap(), &[0, 3, 4], &[]);
        let odd = x.index(0, 0).unwrap().index(0, 0).unwrap().slice_by(0, 3, 2, -2).unwrap();
        check(&odd, &[2], &[3, 1]);
        check(&odd.reverse(0).unwrap(), &[2], &[1, 3]);
        assert!(x.slice(1, 2, 4).is_err());
        assert!(x.slice(1, 2, 1).is_err());
        assert!(x.slice(3, 0, 1).is_err());
        assert!(x.slice_by(2, 1, 3, -1).is_err());
        assert!(x.slice_by(2, 0, 3, isize::MAX).is_err());
    }

    #[test]
    fn axes() {
        let x = numbers();
        check(&x.index(1, 2).unwrap(), &[2, 4], &[8, 9, 10, 11, 20, 21, 22, 23]);
        let turned = x.index(0, 1).unwrap().permute(&[1, 0]).unwrap();
        check(&turned, &[4, 3], &[12, 16, 20, 13, 17, 21, 14, 18, 22, 15, 19, 23]);
        check(
            &turned.reshape(&[2, 6]).unwrap().index(0, 0).unwrap(),
            &[6],
            &[12, 16, 20, 13, 17, 21],
        );
        let row = Tensor::from_vec(vec![1, 2], &[2]).unwrap();
        check(&row.broadcast(0, 3).unwrap(), &[3, 2], &[1, 2, 1, 2, 1, 2]);
        check(&row.broadcast(1, 3).unwrap(), &[2, 3], &[1, 1, 1, 2, 2, 2]);
        assert!(row.broadcast(1, usize::MAX).is_err());
        assert!(x.permute(&[0, 0, 1]).is_err());
        assert!(x.permute(&[0, 1]).is_err());
        assert!(x.reshape(&[5, 5]).is_err());
        assert!(x.reshape(&[usize::MAX, usize::MAX]).is_err());
        assert!(x.index(0, 2).is_err());
    }

    #[test]
    fn writing_leaves_other_views_alone() {
        let x = numbers();
        let mut row = x.index(0, 0).unwrap().index(0, 0).unwrap();
        row.set(&[1], 100.into()).unwrap();
        check(&row, &[4], &[0, 100, 2, 3]);
        assert_eq!(x, numbers());
        let mut wide = Tensor::scalar(7.into()).broadcast(0, 3).unwrap();
        wide.set(&[1], 8.into()).unwrap();
        check(&wide, &[3], &[7, 8, 7]);
        assert!(wide.set(&[3], 8.into()).is_err());
        assert!(wide.set(&[0], 8i64.into()).is_err());
        assert!(wide.set(&[], 8.into()).is_err());
    }
}
