//! Matrix products, by the `gemm` crate on our own threads.
//!
//! The result is cut into blocks, each a product of its own. That repeats the packing of factors,
//! which is little beside the product as long as blocks are large, and it needs no second pool.
//! Threads are rarely equally fast, on shared machines least of all: each takes one block of most
//! of its share, and who is done first takes more of the smaller blocks that are left.
//!
//! The product of a matrix with itself turned is symmetric: one half is computed, and mirrored.

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

/// Symmetric products of fewer rows are computed whole, and so are their parts.
const HALVES: i64 = 96;
/// From how many terms on half a product costs more than mirroring it.
const MIRRORED: i64 = 32;
/// Numbers are mirrored in squares of this extent, of which both sides stay in the nearest cache.
const SQUARE: i64 = 16;

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
    let symmetric = is_symmetric(args);
    let blocks = if symmetric { half(args, threads) } else { blocks(args, threads) };
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
    if symmetric {
        // SAFETY: as the caller promises; all blocks are done.
        unsafe { mirror::<T>(args) }
    }
}

/// Whether a product is one of a matrix with itself turned, and large enough that half is less work.
fn is_symmetric(args: &GemmArgs) -> bool {
    let same = args.a == args.b && args.a_rows == args.b_cols && args.a_cols == args.b_rows;
    same && args.m == args.n && args.accumulate == 0 && args.m >= HALVES && args.k >= MIRRORED
}

/// Blocks that cover the diagonal and what is on one side of it.
fn half(args: &GemmArgs, threads: usize) -> Vec<(Range<i64>, Range<i64>)> {
    let work = args.m as f64 * args.n as f64 * args.k as f64 / 2.0;
    let threads = (threads as f64).min(work / WORK).max(1.0) as i64;
    let mut blocks = Vec::new();
    let mut squares: Vec<Range<i64>> = std::iter::once(0..args.n).collect();
    // The largest first, so that threads end at about the same time.
    while !squares.is_empty() {
        let mut smaller = Vec::new();
        for square in squares {
            let extent = square.end - square.start;
            if extent < HALVES {
                blocks.push((square.clone(), square));
                continue;
            }
            let middle = square.start + extent / 2 / 16 * 16;
            let parts = threads.min((square.end - middle) / BLOCK).max(1);
            let cols = cut(square.end - middle, parts);
            let cols = cols.map(|cols| middle + cols.start..middle + cols.end);
            blocks.extend(cols.map(|cols| (square.start..middle, cols)));
            smaller.extend([square.start..middle, middle..square.end]);
        }
        squares = smaller;
    }
    blocks
}

/// Copies what [`half`] computes to the other side of the diagonal.
///
/// # Safety
///
/// The result is there, and nobody else uses it.
unsafe fn mirror<T: Real>(args: &GemmArgs) {
    let c = args.c.cast::<T>();
    let at = |i: i64, j: i64| c.wrapping_offset((i * args.c_rows + j * args.c_cols) as isize);
    for top in (0..args.n).step_by(SQUARE as usize) {
        for left in (0..=top).step_by(SQUARE as usize) {
            for i in top..args.n.min(top + SQUARE) {
                for j in left..i.min(left + SQUARE) {
                    // SAFETY: both are elements of the result.
                    unsafe { at(i, j).write(at(j, i).read()) };
                }
            }
        }
    }
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
        let run = crate::Run::new(pool, &|| false);
        let rt = run.interface();
        unsafe { (rt.gemm_f32)(rt.context, &args) };
        assert!(c == expected, "{m} {n} {k} layout {layout} accumulate {accumulate}");
    }

    /// A product of fractions, which are rounded; with itself turned where it can be.
    fn fractions(pool: &Pool, [m, n, k]: [i64; 3]) -> Vec<f32> {
        let value = |i: i64| ((i * 7919) % 1013) as f32 / 1013.0 - 0.4;
        let a: Vec<f32> = (0..m * k).map(value).collect();
        let b: Vec<f32> = (0..k * n).map(value).collect();
        let mut c = vec![0.0; (m * n) as usize];
        let (b, b_rows, b_cols) = if m == n { (&a, 1, k) } else { (&b, n, 1) };
        #[rustfmt::skip]
        let args = GemmArgs {
            m, n, k, a: a.as_ptr().cast(), a_rows: k, a_cols: 1, b: b.as_ptr().cast(), b_rows,
            b_cols, c: c.as_mut_ptr().cast(), c_rows: n, c_cols: 1, accumulate: 0, parallel: 1,
        };
        let run = crate::Run::new(pool, &|| false);
        let rt = run.interface();
        unsafe { (rt.gemm_f32)(rt.context, &args) };
        c
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let pools = [1, 2, 3, 5].map(Pool::new);
        for size in [
            [64, 100, 700],
            [64, 200, 700],
            [500, 40, 700],
            [170, 171, 1100],
            [170, 170, 1100],
            [400, 400, 700],
            [9, 900, 90],
        ] {
            let [one, rest @ ..] = &pools;
            let alone = fractions(one, size);
            assert!(rest.iter().all(|pool| fractions(pool, size) == alone), "{size:?}");
        }
    }

    #[test]
    fn products_with_itself_are_symmetric() {
        let pool = Pool::new(3);
        for (n, k) in [(96, 32), (150, 64), (257, 40), (500, 33)] {
            for (a_rows, a_cols) in [(k, 1), (1, n)] {
                for (c_rows, c_cols) in [(n, 1), (1, n)] {
                    let a: Vec<f64> = (0..n * k).map(|i| ((i * 7919) % 17 - 8) as f64).collect();
                    let mut c = vec![f64::NAN; (n * n) as usize];
                    let (pa, pc) = (a.as_ptr().cast(), c.as_mut_ptr().cast());
                    #[rustfmt::skip]
                    let args = GemmArgs {
                        m: n, n, k, a: pa, a_rows, a_cols, b: pa, b_rows: a_cols, b_cols: a_rows,
                        c: pc, c_rows, c_cols, accumulate: 0, parallel: 1,
                    };
                    assert!(is_symmetric(&args));
                    for threads in [1, 3] {
                        let blocks = half(&args, threads);
                        let size = |it: &Range<i64>| it.end - it.start;
                        let area = blocks.iter().map(|(rows, cols)| size(rows) * size(cols));
                        assert!(area.sum::<i64>() < n * n * 4 / 5);
                    }
                    let run = crate::Run::new(&pool, &|| false);
                    let rt = run.interface();
                    unsafe { (rt.gemm_f64)(rt.context, &args) };
                    let at = |i: i64, l: i64| a[(i * a_rows + l * a_cols) as usize];
                    for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                        let dot: f64 = (0..k).map(|l| at(i, l) * at(j, l)).sum();
                        assert!(c[(i * c_rows + j * c_cols) as usize] == dot, "{n} {k} {i} {j}");
                    }
                    assert!(!is_symmetric(&GemmArgs { accumulate: 1, ..args }));
                    assert!(!is_symmetric(&GemmArgs { b_cols: a_rows + 1, ..args }));
                }
            }
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
