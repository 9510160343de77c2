//! What generated code calls: the C interface between kernels and the run-time library.

use std::ffi::c_void;

/// The signature of a kernel: pointers to its buffers in order, and the functions it may call.
/// Gives zero unless something trapped.
pub type KernelFn = unsafe extern "C" fn(bufs: *const *mut u8, rt: *const Interface) -> u32;

/// The body of a parallel loop: what it captured, and the iterations `lo..hi` that it is to run.
/// Gives zero unless something trapped.
pub type BodyFn = unsafe extern "C" fn(captured: *const c_void, lo: i64, hi: i64) -> u32;

/// The functions that kernels may call. The layout is part of the interface: fields are only
/// added, at the end.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Interface {
    /// Runs a body over `lo..hi` on several threads, at least `grain` iterations at a time, and
    /// waits for all of them. Gives the bitwise or of what the bodies gave. Inside a body it runs
    /// everything on the calling thread.
    pub parallel: ParallelFn,
    /// `C = A B` or `C += A B` of `f32`.
    pub gemm_f32: GemmFn,
    /// `C = A B` or `C += A B` of `f64`.
    pub gemm_f64: GemmFn,
    /// What these functions take as their first argument.
    pub context: *const c_void,
    /// Runs a body over `lo..hi` on the calling thread, in a mode in which subnormal numbers count
    /// as zeros; what it runs in parallel has the same mode. The grain does not matter.
    pub flushed: ParallelFn,
    /// Whether the run is to be left: then [`LEFT`], otherwise zero.
    pub leaves: unsafe extern "C" fn(context: *const c_void) -> u32,
}

/// What a kernel or a body gives that was left before its end, beside what else it gives: what it would
/// have stored may hold anything, so whoever called it returns this at once.
pub const LEFT: u32 = 2;

// SAFETY: whoever fills in a context sees to it that the functions may be called from any thread.
unsafe impl Send for Interface {}
// SAFETY: as above.
unsafe impl Sync for Interface {}

/// [`Interface::parallel`] and [`Interface::flushed`].
pub type ParallelFn = unsafe extern "C" fn(
    context: *const c_void,
    body: BodyFn,
    captured: *const c_void,
    lo: i64,
    hi: i64,
    grain: i64,
) -> u32;

/// [`Interface::gemm_f32`] and [`Interface::gemm_f64`].
pub type GemmFn = unsafe extern "C" fn(context: *const c_void, args: *const GemmArgs);

/// The arguments of a matrix product.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names of the operation")]
pub struct GemmArgs {
    pub m: i64,
    pub n: i64,
    pub k: i64,
    pub a: *const u8,
    pub a_rows: i64,
    pub a_cols: i64,
    pub b: *const u8,
    pub b_rows: i64,
    pub b_cols: i64,
    pub c: *mut u8,
    pub c_rows: i64,
    pub c_cols: i64,
    /// Whether the product is added to what is there.
    pub accumulate: u32,
    /// Whether several threads may share the work.
    pub parallel: u32,
}
