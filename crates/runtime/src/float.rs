//! The floating-point mode of a thread: whether subnormal numbers count as zeros.
//!
//! A processor may take a hundred cycles for an operation on a subnormal number. What flows back
//! through the steps of a recurrence often decays into such numbers and stays there, so kernels run
//! these loops, and no others, in a mode that flushes them. The language is told to expect the
//! usual mode; therefore the mode is changed around generated code only, and put back after it.

use std::ffi::c_void;

use crate::kernel::BodyFn;

/// The bits of the control register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode(u64);

impl Mode {
    /// The mode of this thread.
    pub(crate) fn here() -> Mode {
        Mode(register())
    }

    /// The same, with subnormal operands and results taken for zeros.
    fn flushing(self) -> Mode {
        Mode(self.0 | FLUSH)
    }

    /// Runs a function in this mode.
    pub(crate) fn run<T>(self, f: impl FnOnce() -> T) -> T {
        let before = Mode::here();
        if before == self {
            return f();
        }
        set_register(self.0);
        let result = f();
        set_register(before.0);
        result
    }
}

/// [`Interface::flushed`](crate::kernel::Interface::flushed).
pub(crate) unsafe extern "C" fn flushed(
    _context: *const c_void,
    body: BodyFn,
    captured: *const c_void,
    lo: i64,
    hi: i64,
    _grain: i64,
) -> u32 {
    // SAFETY: the body may run with what it captured, as the caller promises.
    Mode::here().flushing().run(|| unsafe { body(captured, lo, hi) })
}

/// Flush to zero, and denormals are zeros.
#[cfg(target_arch = "x86_64")]
const FLUSH: u64 = 0x8040;

#[cfg(target_arch = "x86_64")]
fn register() -> u64 {
    let mut bits = 0_u32;
    // SAFETY: it stores four bytes at the address, which has room for them.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut bits, options(nostack)) };
    u64::from(bits)
}

#[cfg(target_arch = "x86_64")]
fn set_register(bits: u64) {
    let bits = bits as u32;
    // SAFETY: the bits are those that the register had, but for the two of `FLUSH`.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const bits, options(nostack)) };
}

/// Flush to zero, of operands as well.
#[cfg(target_arch = "aarch64")]
const FLUSH: u64 = 1 << 24;

#[cfg(target_arch = "aarch64")]
fn register() -> u64 {
    let bits: u64;
    // SAFETY: it reads a register that every program may read.
    unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) bits, options(nostack)) };
    bits
}

#[cfg(target_arch = "aarch64")]
fn set_register(bits: u64) {
    // SAFETY: the bits are those that the register had, but for that of `FLUSH`.
    unsafe { std::arch::asm!("msr fpcr, {}", in(reg) bits, options(nostack)) };
}

/// Other machines have no such mode, or do not need it.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const FLUSH: u64 = 0;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn register() -> u64 {
    0
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn set_register(_: u64) {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Pool;
    use std::hint::black_box;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Counts the iterations that run with subnormal numbers.
    unsafe extern "C" fn count(captured: *const c_void, lo: i64, hi: i64) -> u32 {
        let kept = black_box(black_box(f32::MIN_POSITIVE) * 0.5) != 0.0;
        let counter = unsafe { &*captured.cast::<AtomicU32>() };
        counter.fetch_add(if kept { (hi - lo) as u32 } else { 0 }, Ordering::Relaxed);
        0
    }

    struct Nested {
        rt: crate::kernel::Interface,
        kept: AtomicU32,
    }

    unsafe extern "C" fn nested(captured: *const c_void, lo: i64, hi: i64) -> u32 {
        let it = unsafe { &*captured.cast::<Nested>() };
        let at = (&raw const it.kept).cast();
        unsafe { (it.rt.parallel)(it.rt.context, count, at, lo, hi, 1) }
    }

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn the_mode_holds_inside_on_all_threads_and_nowhere_else() {
        let pool = Pool::new(3);
        let run = crate::Run::new(&pool, &|| false);
        let rt = run.interface();
        for _ in 0..100 {
            let it = Nested { rt, kept: AtomicU32::new(0) };
            let at = (&raw const it).cast();
            unsafe { (rt.flushed)(rt.context, nested, at, 0, 1000, 1) };
            assert_eq!(it.kept.load(Ordering::Relaxed), 0);
            unsafe { nested(at, 0, 1000) };
            assert_eq!(it.kept.load(Ordering::Relaxed), 1000);
        }
    }
}
