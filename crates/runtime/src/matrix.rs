//! Matrix products, by the `gemm` crate on our own threads.
//!
//! The result is cut into blocks, one for each thread, along its longer side; each block is a
//! product of its own. That repeats the packing of one factor, which is little beside the product
//! as long as blocks are large, and it needs no second pool.

use std::ffi::c_void;

use gemm::Parallelism;

use crate::kernel::GemmArgs;
use crate::pool;

/// The least number of multiplications worth a thread.
const WORK: f64 = 500_000.0;
/// The least extent of a block, so that vectors and registers are filled.
const BLOCK: i64 = 32;

/// Lets the allocator keep the room that products take for themselves at every call: by default it
/// goes back to the system each time, and fresh pages cost more than the product.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn keep_workspace() {
    /// `M_TRIM_THRESHOLD` and `M_MMAP_THRESHOLD`, with their values in bytes.
    const LIMITS: [(i32, i32); 2] = [(-1, 64 << 20), (-3, 8 << 20)];
    unsafe extern "C" {
        fn mallopt(parameter: i32, value: i32) -> i32;
    }
    for (parameter, value) in LIMITS {
        // SAFETY: these parameters may be set at any time. Nothing depends on whether they are.
        let _ = unsafe { mallopt(parameter, value) };
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn keep_workspace() {}

/// [`Interface::gemm_f32`](crate::kernel::Interface::gemm_f32).
pub(crate) unsafe extern "C" fn gemm_f32(context: *const c_void, args: *const GemmArgs) {
    // SAFETY: as the caller promises.
    unsafe { product::<f32>(context, &*args) }
}

/// [`Interface::gemm_f64`](crate::kernel::Interface::gemm_f64).
pub(crate) unsafe extern "C" fn gemm_f64(context: *const c_void, args: *const GemmArgs) {
    // SAFETY: as the caller promises.
    unsafe { product::<f64>(context, &*args) }
}

trait Real: Copy + 'static {
    const ZERO: Self;
    const ONE: Self;
}

impl Real for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
}

impl Real for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
}

/// # Safety
///
/// The matrices are there, the result overlaps nothing, the context is that of a pool.
unsafe fn product<T: Real>(context: *const c_void, args: &GemmArgs) {
    if args.m <= 0 || args.n <= 0 {
        return;
    }
    // SAFETY: as the caller promises.
    let threads = if args.parallel == 0 { 1 } else { unsafe { pool::threads_here(context) } };
    let work = args.m as f64 * args.n as f64 * args.k.max(0) as f64;
    let by_rows = args.m >= args.n;
    let extent = if by_rows { args.m } else { args.n };
    let parts = (threads as f64).min(work / WORK).min((extent / BLOCK) as f64) as i64;
    if parts < 2 {
        // SAFETY: as the caller promises.
        return unsafe { block::<T>(args, by_rows, 0, extent) };
    }
    let whole = Whole(args);
    let part = |i: usize| {
        let whole = &whole;
        // Blocks start at multiples of a register tile.
        let start = |i: i64| if i == parts { extent } else { extent * i / parts / 8 * 8 };
        // SAFETY: blocks of the result do not overlap; otherwise as the caller promises.
        unsafe { block::<T>(whole.0, by_rows, start(i as i64), start(i as i64 + 1)) }
    };
    // SAFETY: as the caller promises.
    unsafe { pool::for_each(context, parts as usize, &part) }
}

/// The arguments, shared between threads.
struct Whole<'a>(&'a GemmArgs);

// SAFETY: threads write different blocks of the result, and only read the factors.
unsafe impl Sync for Whole<'_> {}

/// The rows or columns `lo..hi` of a product.
///
/// # Safety
///
/// The matrices are there, and nobody else uses this part of the result.
unsafe fn block<T: Real>(args: &GemmArgs, by_rows: bool, lo: i64, hi: i64) {
    let (mut a, mut b) = (args.a.cast::<T>(), args.b.cast::<T>());
    let mut c = args.c.cast::<T>();
    let (mut m, mut n) = (args.m, args.n);
    if by_rows {
        m = hi - lo;
        a = a.wrapping_offset((lo * args.a_rows) as isize);
        c = c.wrapping_offset((lo * args.c_rows) as isize);
    } else {
        n = hi - lo;
        b = b.wrapping_offset((lo * args.b_cols) as isize);
        c = c.wrapping_offset((lo * args.c_cols) as isize);
    }
    if args.k <= 0 {
        if args.accumulate == 0 {
            for i in 0..m {
                for j in 0..n {
                    let at = (i * args.c_rows + j * args.c_cols) as isize;
                    // SAFETY: it is an element of the result.
                    unsafe { c.wrapping_offset(at).write(T::ZERO) };
                }
            }
        }
        return;
    }
    // SAFETY: as the caller promises.
    unsafe {
        gemm::gemm(
            m as usize,
            n as usize,
            args.k as usize,
            c,
            args.c_cols as isize,
            args.c_rows as isize,
            args.accumulate != 0,
            a,
            args.a_cols as isize,
            args.a_rows as isize,
            b,
            args.b_cols as isize,
            args.b_rows as isize,
            T::ONE,
            T::ONE,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pool;

    /// A product of integers, which is exact, against three loops.
    fn check(pool: &Pool, [m, n, k]: [i64; 3], layout: u32, accumulate: bool) {
        let bit = |i: u32| layout >> i & 1 == 1;
        let strides =
            |rows: i64, cols: i64, turned: bool| if turned { (1, rows) } else { (cols, 1) };
        let value = |i: i64| ((i * 7919) % 17 - 8) as f32;
        let a: Vec<f32> = (0..m * k).map(value).collect();
        let b: Vec<f32> = (0..k * n).map(value).collect();
        let mut c: Vec<f32> = (0..m * n).map(value).collect();
        let ((a_rows, a_cols), (b_rows, b_cols)) = (strides(m, k, bit(0)), strides(k, n, bit(1)));
        let (c_rows, c_cols) = strides(m, n, bit(2));
        let mut expected = c.clone();
        for i in 0..m {
            for j in 0..n {
                let at = |i: i64, j: i64, (rows, cols): (i64, i64)| (i * rows + j * cols) as usize;
                let terms =
                    (0..k).map(|l| a[at(i, l, (a_rows, a_cols))] * b[at(l, j, (b_rows, b_cols))]);
                let out = &mut expected[at(i, j, (c_rows, c_cols))];
                *out = terms.sum::<f32>() + if accumulate { *out } else { 0.0 };
            }
        }
        let (pa, pb, pc) = (a.as_ptr().cast(), b.as_ptr().cast(), c.as_mut_ptr().cast());
        let flag = u32::from(accumulate);
        #[rustfmt::skip]
        let args = GemmArgs {
            m, n, k, a: pa, a_rows, a_cols, b: pb, b_rows, b_cols, c: pc, c_rows, c_cols,
            accumulate: flag, parallel: 1,
        };
        let rt = pool.interface();
        unsafe { (rt.gemm_f32)(rt.context, &args) };
        assert!(c == expected, "{m} {n} {k} layout {layout} accumulate {accumulate}");
    }

    #[test]
    fn products_are_right() {
        let pool = Pool::new(3);
        for layout in 0..8 {
            for accumulate in [false, true] {
                for size in [[1, 1, 1], [3, 5, 7], [0, 4, 4], [4, 4, 0], [33, 1, 70], [1, 90, 40]] {
                    check(&pool, size, layout, accumulate);
                }
                check(&pool, [129, 67, 140], layout, accumulate);
                check(&pool, [70, 250, 90], layout, accumulate);
            }
        }
    }
}
