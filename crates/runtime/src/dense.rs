//! Factorisations of dense matrices, by `faer`.
//!
//! Matrices are rows one after another, without gaps. What is not finite gives what is not finite,
//! never a panic; a factorisation that does not come to an end gives NaN.

use faer::linalg::solvers::Solve;
use faer::traits::RealField;
use faer::{MatRef, Side};

/// Numbers that matrices have here.
pub trait Real: RealField + Copy {
    /// Not a number.
    const NAN: Self;
    /// A position, or a half.
    fn of(value: f64) -> Self;
    /// Whether it is neither infinite nor NaN.
    fn finite(self) -> bool;
    /// The root.
    fn root(self) -> Self;
}

/// Says what the numbers are.
macro_rules! reals {
    ($($ty:ty),*) => {$(
        impl Real for $ty {
            const NAN: Self = <$ty>::NAN;
            fn of(value: f64) -> Self {
                value as $ty
            }
            fn finite(self) -> bool {
                self.is_finite()
            }
            fn root(self) -> Self {
                self.sqrt()
            }
        }
    )*};
}

reals!(f32, f64);

fn matrix<T: Real>(a: &[T], rows: usize, cols: usize) -> MatRef<'_, T> {
    MatRef::from_row_major_slice(a, rows, cols)
}

/// The `X` with `A * X == B`, by elimination with exchange of rows; infinite or NaN where `A` is
/// singular. `A` has `n` rows, `B` has `k` columns.
pub fn solve<T: Real>(a: &[T], b: &[T], n: usize, k: usize, x: &mut [T]) {
    if a.iter().chain(b).any(|it| !it.finite()) {
        x.fill(T::NAN);
        return;
    }
    let found = matrix(a, n, n).partial_piv_lu().solve(matrix(b, n, k));
    for (at, cell) in x.iter_mut().enumerate() {
        *cell = found[(at / k, at % k)];
    }
}

/// Both triangles of `A` with its rows exchanged, in one matrix of `n` rows, and a last column with the
/// places that the rows came from. Of a column without a pivot nothing is taken.
pub fn lu<T: Real>(a: &[T], n: usize, packed: &mut [T]) {
    let wide = n + 1;
    if a.iter().all(|it| it.finite()) {
        let lu = matrix(a, n, n).partial_piv_lu();
        let (lower, upper) = (lu.L(), lu.U());
        let (from, _) = lu.P().arrays();
        for i in 0..n {
            for j in 0..n {
                packed[i * wide + j] = if j < i { lower[(i, j)] } else { upper[(i, j)] };
            }
            packed[i * wide + n] = T::of(from[i] as f64);
        }
        if packed.iter().all(|it| it.finite()) {
            return;
        }
    }
    plain_lu(a, n, packed);
}

/// The same step by step, for matrices that are singular or not finite.
fn plain_lu<T: Real>(a: &[T], n: usize, packed: &mut [T]) {
    let wide = n + 1;
    let zero = T::of(0.0);
    for i in 0..n {
        packed[i * wide..i * wide + n].copy_from_slice(&a[i * n..(i + 1) * n]);
        packed[i * wide + n] = T::of(i as f64);
    }
    let size = |x: T| if x < zero { zero - x } else { x };
    for c in 0..n {
        let mut best = c;
        for r in c + 1..n {
            if size(packed[r * wide + c]) > size(packed[best * wide + c]) {
                best = r;
            }
        }
        for j in 0..wide {
            packed.swap(c * wide + j, best * wide + j);
        }
        let pivot = packed[c * wide + c];
        for i in c + 1..n {
            let factor = if pivot == zero { zero } else { packed[i * wide + c] / pivot };
            packed[i * wide + c] = factor;
            for j in c + 1..n {
                let taken = factor * packed[c * wide + j];
                packed[i * wide + j] -= taken;
            }
        }
    }
}

/// The lower triangular `L` with `L * transpose(L) == A`, of which the lower half is read; NaN from the
/// first row on that is not positive.
pub fn cholesky<T: Real>(a: &[T], n: usize, lower: &mut [T]) {
    lower.fill(T::of(0.0));
    if let Ok(found) = matrix(a, n, n).llt(Side::Lower) {
        let found = found.L();
        for i in 0..n {
            for j in 0..=i {
                lower[i * n + j] = found[(i, j)];
            }
        }
        if lower.iter().all(|it| it.finite()) {
            return;
        }
    }
    for i in 0..n {
        for j in 0..=i {
            let mut rest = a[i * n + j];
            for k in 0..j {
                rest -= lower[i * n + k] * lower[j * n + k];
            }
            lower[i * n + j] = if i == j { rest.root() } else { rest / lower[j * n + j] };
        }
    }
}

/// Columns of length one at right angles that span those of `A`, each turned so that it does not point
/// away from its own. `A` has at least as many rows as columns.
pub fn orthonormal<T: Real>(a: &[T], rows: usize, cols: usize, q: &mut [T]) {
    if a.iter().any(|it| !it.finite()) {
        q.fill(T::NAN);
        return;
    }
    let qr = matrix(a, rows, cols).qr();
    let (thin, upper) = (qr.compute_thin_Q(), qr.thin_R());
    for i in 0..rows {
        for j in 0..cols {
            let value = thin[(i, j)];
            q[i * cols + j] = if upper[(j, j)] < T::of(0.0) { -value } else { value };
        }
    }
}

/// Of a symmetric matrix: a diagonal matrix of its eigenvalues in ascending order, and behind it the
/// eigenvectors as columns. Of one that is not symmetric the symmetric half counts.
pub fn eigh<T: Real>(a: &[T], n: usize, both: &mut [T]) {
    let half = T::of(0.5);
    let whole: Vec<T> = (0..n * n).map(|at| half * a[at] + half * a[at % n * n + at / n]).collect();
    if whole.iter().any(|it| !it.finite()) {
        both.fill(T::NAN);
        return;
    }
    let Ok(found) = matrix(&whole, n, n).self_adjoint_eigen(Side::Lower) else {
        both.fill(T::NAN);
        return;
    };
    let (values, vectors) = both.split_at_mut(n * n);
    values.fill(T::of(0.0));
    for i in 0..n {
        values[i * n + i] = found.S()[i];
        for j in 0..n {
            vectors[i * n + j] = found.U()[(i, j)];
        }
    }
}

/// The columns of `U` of a singular value decomposition, each as long as its value, and below them the
/// columns of `V`: `rows + cols` rows.
pub fn svd<T: Real>(a: &[T], rows: usize, cols: usize, both: &mut [T]) {
    let found = match a.iter().all(|it| it.finite()) {
        true => matrix(a, rows, cols).svd().ok(),
        false => None,
    };
    let Some(found) = found else {
        both.fill(T::NAN);
        return;
    };
    let (above, below) = both.split_at_mut(rows * cols);
    above.fill(T::of(0.0));
    for j in 0..rows.min(cols) {
        for i in 0..rows {
            above[i * cols + j] = found.U()[(i, j)] * found.S()[j];
        }
    }
    for i in 0..cols {
        for j in 0..cols {
            below[i * cols + j] = found.V()[(i, j)];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers without a pattern, between -1 and 1.
    fn numbers(count: usize) -> Vec<f64> {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let next = |_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        (0..count).map(next).collect()
    }

    fn product(a: &[f64], b: &[f64], rows: usize, inner: usize, cols: usize) -> Vec<f64> {
        let cell = |at: usize| {
            (0..inner).map(|k| a[at / cols * inner + k] * b[k * cols + at % cols]).sum()
        };
        (0..rows * cols).map(cell).collect()
    }

    fn turned(a: &[f64], rows: usize, cols: usize) -> Vec<f64> {
        (0..rows * cols).map(|at| a[at % rows * cols + at / rows]).collect()
    }

    fn close(a: &[f64], b: &[f64]) {
        assert_eq!(a.len(), b.len());
        for (x, y) in a.iter().zip(b) {
            assert!((x - y).abs() < 1e-9 * (1.0 + y.abs()), "{x} and {y}");
        }
    }

    #[test]
    fn systems_are_solved() {
        let (a, x) = (numbers(49 * 49), numbers(49 * 3));
        let mut found = vec![0.0; 49 * 3];
        solve(&a, &product(&a, &x, 49, 49, 3), 49, 3, &mut found);
        close(&found, &x);
    }

    #[test]
    fn triangles_give_the_matrix_back() {
        for n in [1, 2, 5, 50] {
            let mut a = numbers(n * n);
            for singular in [false, true] {
                if singular {
                    for i in 0..n {
                        a[i * n + n / 2] = 0.0;
                    }
                }
                let mut packed = vec![0.0; n * (n + 1)];
                lu(&a, n, &mut packed);
                let part = |i: usize, j: usize| packed[i * (n + 1) + j];
                for i in 0..n {
                    for j in 0..n {
                        let low = |k: usize| if k == i { 1.0 } else { part(i, k) };
                        let sum: f64 = (0..=i.min(j)).map(|k| low(k) * part(k, j)).sum();
                        let from = part(i, n) as usize;
                        assert!((sum - a[from * n + j]).abs() < 1e-9, "{n} {i} {j}");
                    }
                }
            }
        }
    }

    #[test]
    fn roots_of_matrices() {
        let a = numbers(50 * 50);
        let mut square = product(&a, &turned(&a, 50, 50), 50, 50, 50);
        for i in 0..50 {
            square[i * 51] += 1.0;
        }
        let mut lower = vec![0.0; 2500];
        cholesky(&square, 50, &mut lower);
        close(&product(&lower, &turned(&lower, 50, 50), 50, 50, 50), &square);
        // What is not positive is NaN from there on.
        square[10 * 51] = -1.0;
        cholesky(&square, 50, &mut lower);
        assert!(lower[9 * 51].is_finite() && lower[10 * 51].is_nan());
    }

    #[test]
    fn columns_at_right_angles() {
        let (rows, cols) = (60, 40);
        let a = numbers(rows * cols);
        let mut q = vec![0.0; rows * cols];
        orthonormal(&a, rows, cols, &mut q);
        let unit: Vec<f64> =
            (0..cols * cols).map(|at| f64::from(u8::from(at / cols == at % cols))).collect();
        close(&product(&turned(&q, rows, cols), &q, cols, rows, cols), &unit);
        let r = product(&turned(&q, rows, cols), &a, cols, rows, cols);
        close(&product(&q, &r, rows, cols, cols), &a);
        assert!((0..cols).all(|j| r[j * cols + j] > 0.0));
    }

    #[test]
    fn values_and_vectors() {
        let n = 40;
        let a = numbers(n * n);
        let whole: Vec<f64> = (0..n * n).map(|at| a[at] + a[at % n * n + at / n]).collect();
        let mut both = vec![0.0; 2 * n * n];
        eigh(&whole, n, &mut both);
        let (values, vectors) = both.split_at(n * n);
        let back = product(vectors, values, n, n, n);
        close(&product(&whole, vectors, n, n, n), &back);
        assert!((1..n).all(|i| values[i * n + i] >= values[(i - 1) * n + i - 1]));
    }

    #[test]
    fn singular_values_of_tall_and_wide_matrices() {
        for (rows, cols) in [(60, 40), (40, 60), (33, 33)] {
            let a = numbers(rows * cols);
            let mut both = vec![0.0; (rows + cols) * cols];
            svd(&a, rows, cols, &mut both);
            let (above, below) = both.split_at(rows * cols);
            close(&product(above, &turned(below, cols, cols), rows, cols, cols), &a);
        }
    }

    #[test]
    fn what_is_not_finite_ends() {
        for bad in [f64::NAN, f64::INFINITY] {
            let n = 40;
            let mut a = numbers(n * n);
            a[77] = bad;
            let mut out = vec![0.0; 2 * n * n];
            eigh(&a, n, &mut out);
            svd(&a, n, n, &mut out);
            assert!(out.iter().all(|it| it.is_nan()));
            solve(&a, &numbers(n), n, 1, &mut out[..n]);
            orthonormal(&a, n, n, &mut out[..n * n]);
            cholesky(&a, n, &mut out[..n * n]);
            lu(&a, n, &mut out[..n * (n + 1)]);
            assert!(out.iter().any(|it| it.is_nan()));
        }
    }
}
