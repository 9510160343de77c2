//! Matrix products, by the `gemm` crate on our own threads.
//!
//! The result is cut into blocks, each a product of its own. That repeats the packing of factors,
//! which is little beside the product as long as blocks are large, and it needs no second pool.
//! Threads are rarely equally fast, on shared machines least of all: each takes one block of most
//! of its share, and who is done first takes more of the smaller blocks that are left.

use std::ffi::c_void;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use gemm::Parallelism;

use crate::kernel::GemmArgs;
use crate::pool;

/// The least number of multiplications worth a thread.
const WORK: f64 = 500_000.0;
/// One of so many columns is in smaller blocks.
const SMALLER: i64 = 4;
/// How many smaller blocks there are for each thread.
const SPARE: i64 = 2;
/// The least number of rows of a smaller block: packing it must cost little.
const SPARE_ROWS: i64 = 128;
/// From how many multiplications for each thread on there are smaller blocks.
const UNEVEN: f64 = 64e6;
/// The least extent of a block. The library adds the terms of matrices with at most 64 rows and
/// columns in another order, and results must not depend on how many threads there are.
const BLOCK: i64 = 80;

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
    let args = &oriented(args);
    // SAFETY: as the caller promises.
    let threads = if args.parallel == 0 { 1 } else { unsafe { pool::threads_here(context) } };
    let blocks = blocks(args, threads);
    let (whole, next) = (Whole(args), AtomicUsize::new(0));
    let take_blocks = |_| {
        let whole = &whole;
        while let Some((rows, cols)) = blocks.get(next.fetch_add(1, Ordering::Relaxed)) {
            // SAFETY: blocks of the result do not overlap; otherwise as the caller promises.
            unsafe { block::<T>(whole.0, rows.clone(), cols.clone()) }
        }
    };
    // SAFETY: as the caller promises.
    unsafe { pool::for_each(context, threads.min(blocks.len()), &take_blocks) }
}

/// The same product, or that of the factors turned and in the other order, so that it is better
/// cut by columns than by rows.
///
/// The library packs both factors, the one along which the result lies in memory into wide panels
/// and the other one into narrow ones. Narrow panels that all threads make again cost less than
/// wide ones, unless there are many more of them.
fn oriented(args: &GemmArgs) -> GemmArgs {
    let along_rows = args.c_rows.unsigned_abs() < args.c_cols.unsigned_abs();
    let by_rows = match (args.m >= 2 * BLOCK, args.n >= 2 * BLOCK) {
        (true, true) if along_rows => args.m > args.n / 4,
        (true, true) => args.m / 4 >= args.n,
        (rows, _) => rows,
    };
    if !by_rows {
        return *args;
    }
    GemmArgs {
        m: args.n,
        n: args.m,
        a: args.b,
        a_rows: args.b_cols,
        a_cols: args.b_rows,
        b: args.a,
        b_rows: args.a_cols,
        b_cols: args.a_rows,
        c_rows: args.c_cols,
        c_cols: args.c_rows,
        ..*args
    }
}

/// The rows and columns of each block.
fn blocks(args: &GemmArgs, threads: usize) -> Vec<(Range<i64>, Range<i64>)> {
    let work = args.m as f64 * args.n as f64 * args.k.max(0) as f64;
    let threads = (threads as f64).min(work / WORK).min((args.n / BLOCK) as f64) as i64;
    if threads < 2 {
        return vec![(0..args.m, 0..args.n)];
    }
    let spare = SPARE * threads;
    let uneven = work / threads as f64 >= UNEVEN && args.m / spare >= SPARE_ROWS;
    let even = if uneven { args.n - args.n / SMALLER / 16 * 16 } else { args.n };
    let mut blocks: Vec<_> = cut(even, threads).map(|cols| (0..args.m, cols)).collect();
    if even < args.n {
        blocks.extend(cut(args.m, spare).map(|rows| (rows, even..args.n)));
    }
    blocks
}

/// Parts of about the same extent that start at multiples of a vector.
fn cut(extent: i64, parts: i64) -> impl Iterator<Item = Range<i64>> {
    let start = move |i: i64| if i == parts { extent } else { extent * i / parts / 16 * 16 };
    (0..parts).map(move |i| start(i)..start(i + 1))
}

/// The arguments, shared between threads.
struct Whole<'a>(&'a GemmArgs);

// SAFETY: threads write different blocks of the result, and only read the factors.
unsafe impl Sync for Whole<'_> {}

/// A block of a product.
///
/// # Safety
///
/// The matrices are there, and nobody else uses this part of the result.
unsafe fn block<T: Real>(args: &GemmArgs, rows: Range<i64>, cols: Range<i64>) {
    let (m, n) = (rows.end - rows.start, cols.end - cols.start);
    let a = args.a.cast::<T>().wrapping_offset((rows.start * args.a_rows) as isize);
    let b = args.b.cast::<T>().wrapping_offset((cols.start * args.b_cols) as isize);
    let start = rows.start * args.c_rows + cols.start * args.c_cols;
    let c = args.c.cast::<T>().wrapping_offset(start as isize);
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

    /// A product of fractions, which are rounded.
    fn fractions(pool: &Pool, [m, n, k]: [i64; 3]) -> Vec<f32> {
        let value = |i: i64| ((i * 7919) % 1013) as f32 / 1013.0 - 0.4;
        let a: Vec<f32> = (0..m * k).map(value).collect();
        let b: Vec<f32> = (0..k * n).map(value).collect();
        let mut c = vec![0.0; (m * n) as usize];
        #[rustfmt::skip]
        let args = GemmArgs {
            m, n, k, a: a.as_ptr().cast(), a_rows: k, a_cols: 1, b: b.as_ptr().cast(), b_rows: n,
            b_cols: 1, c: c.as_mut_ptr().cast(), c_rows: n, c_cols: 1, accumulate: 0, parallel: 1,
        };
        let rt = pool.interface();
        unsafe { (rt.gemm_f32)(rt.context, &args) };
        c
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let pools = [1, 2, 3, 5].map(Pool::new);
        for size in [[64, 100, 700], [64, 200, 700], [500, 40, 700], [170, 170, 1100], [9, 900, 90]]
        {
            let [one, rest @ ..] = &pools;
            let alone = fractions(one, size);
            assert!(rest.iter().all(|pool| fractions(pool, size) == alone), "{size:?}");
        }
    }

    #[test]
    fn blocks_cover_the_result_once() {
        let nothing = std::ptr::null_mut();
        for (m, n, k) in [(1024, 1024, 1024), (800, 3000, 500), (10_000, 40, 700), (5, 31, 9)] {
            for threads in [1, 2, 3, 16] {
                #[rustfmt::skip]
                let args = GemmArgs {
                    m, n, k, a: nothing, a_rows: k, a_cols: 1, b: nothing, b_rows: n, b_cols: 1,
                    c: nothing, c_rows: n, c_cols: 1, accumulate: 0, parallel: 1,
                };
                let blocks = blocks(&args, threads);
                let area = |(rows, cols): &(Range<i64>, Range<i64>)| {
                    (rows.end - rows.start) * (cols.end - cols.start)
                };
                assert_eq!(blocks.iter().map(area).sum::<i64>(), m * n);
                let apart = |a: &Range<i64>, b: &Range<i64>| a.end <= b.start || b.end <= a.start;
                for (i, (rows, cols)) in blocks.iter().enumerate() {
                    assert!(rows.start >= 0 && rows.end <= m && cols.start >= 0 && cols.end <= n);
                    let rest = &blocks[i + 1..];
                    assert!(
                        rest.iter().all(|other| apart(rows, &other.0) || apart(cols, &other.1))
                    );
                }
                let large = m * n * k >= 1 << 30 && threads < 4;
                assert_eq!(blocks.len() > threads, large && threads > 1, "{m} {n} {k} {threads}");
            }
        }
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
                check(&pool, [300, 70, 90], layout, accumulate);
            }
        }
    }
}
