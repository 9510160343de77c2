//! Threads for loops: fork and join at the cost of a few memory accesses.
//!
//! A region is cut into at most [`CHUNKS`] contiguous chunks, a few for each thread. Which chunks
//! are still to be done is a set of bits; a thread takes a chunk by clearing its bit, first its own
//! ones (so that the next region finds its data in the same caches), then those of others. Whoever
//! clears a bit may read the region, because the region does not end before all chunks are done;
//! a thread that comes late finds no bit and touches nothing.
//!
//! Idle threads watch the bits for some tens of microseconds, since loops over time start a region
//! for every step; then they give way to others between two looks, and sleep after a while.

#[cfg(all(test, feature = "loom"))]
mod model;
mod sync;

use std::ffi::c_void;
use std::sync::{Arc, PoisonError};
#[cfg(not(feature = "loom"))]
use std::time::Duration;
use sync::{
    AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Builder, Condvar, Idle, JoinHandle, Mutex, Next,
    Ordering, Slot, inside, set_inside, spin_loop, yield_now,
};

use crate::float::Mode;
use crate::kernel::{BodyFn, LEFT};
use crate::run::Run;

/// The words of the set of chunks; one in the model, which tries all orders of looking at them.
const WORDS: usize = if cfg!(feature = "loom") { 1 } else { 4 };
/// The most chunks a region is cut into, and the most threads.
const CHUNKS: usize = 64 * WORDS;
/// How many chunks each thread gets if there are iterations enough: it evens out threads that are
/// slower or come late.
const SHARE: usize = 8;
/// How long an idle thread watches.
#[cfg(not(feature = "loom"))]
const WATCH: Duration = Duration::from_micros(60);
/// How long it lets others run and looks again before it sleeps: to wake a processor takes as long as a
/// small region, and programs often have only a little between two regions.
#[cfg(not(feature = "loom"))]
const LINGER: Duration = Duration::from_millis(1);
/// Buffers of kernels live on the stack; only what is touched takes memory.
const STACK: usize = 64 << 20;

/// What a body gives in which something failed.
const FAILED: u32 = 1;
/// A thread that runs a region alone asks so often whether it is to be left.
const PIECES: i64 = 64;
/// One that waits for others, each time that it has looked so often whether they are done.
const ASK: u32 = 4096;

/// A number of threads that wait for work, including the one that brings it.
///
/// Regions of different callers exclude each other: the one that comes second runs its region
/// alone.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

impl Pool {
    /// A pool of this many threads, but at least one, and fewer if the system has no more.
    pub fn new(threads: usize) -> Pool {
        let shared = Arc::new(Shared::default());
        let spawn = |number: usize| {
            let shared = Arc::clone(&shared);
            let name = format!("worker {number}");
            let builder = Builder::new().name(name).stack_size(STACK);
            builder.spawn(move || shared.work(number)).ok()
        };
        let workers: Vec<_> = (1..threads.min(CHUNKS)).map_while(spawn).collect();
        shared.threads.store(workers.len() + 1, Ordering::Release);
        Pool { shared, workers }
    }

    /// How many threads share the work.
    pub fn threads(&self) -> usize {
        self.shared.threads.load(Ordering::Relaxed)
    }

    /// How many iterations of parallel loops kernels have run here so far; those of matrix
    /// products do not count.
    pub fn iterations(&self) -> u64 {
        self.shared.iterations.0.load(Ordering::Relaxed)
    }

    /// What its threads share.
    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.wake();
        for worker in self.workers.drain(..) {
            // A worker runs only bodies, which do not unwind.
            let _ = worker.join();
        }
    }
}

/// [`Interface::parallel`](crate::kernel::Interface::parallel).
pub(crate) unsafe extern "C" fn parallel(
    context: *const c_void,
    body: BodyFn,
    captured: *const c_void,
    lo: i64,
    hi: i64,
    grain: i64,
) -> u32 {
    // SAFETY: the context is that of the interface of a run that is still there.
    let run = unsafe { &*context.cast::<Run<'_>>() };
    let mode = Mode::here();
    let region = Region { run: context, body, captured, lo, hi, chunks: 0, mode, counts: true };
    // SAFETY: the body may run with what it captured, as the caller promises.
    unsafe { run.shared().run(region, grain) }
}

/// How many threads the pool of an interface has for a region that starts here.
///
/// # Safety
///
/// `context` is that of the interface of a run that is still there.
pub(crate) unsafe fn threads_here(context: *const c_void) -> usize {
    // SAFETY: as the caller promises.
    let shared = unsafe { &*context.cast::<Run<'_>>() }.shared();
    if inside() { 1 } else { shared.threads.load(Ordering::Relaxed) }
}

/// Runs a function for every number below `count` on the threads of a pool.
///
/// # Safety
///
/// `context` is that of the interface of a run that is still there.
pub(crate) unsafe fn for_each(context: *const c_void, count: usize, f: &(dyn Fn(usize) + Sync)) {
    unsafe extern "C" fn body(captured: *const c_void, lo: i64, hi: i64) -> u32 {
        // SAFETY: it is the reference that was captured below, which is still alive.
        let f = unsafe { *captured.cast::<&(dyn Fn(usize) + Sync)>() };
        (lo..hi).for_each(|i| f(i as usize));
        0
    }
    let captured = (&raw const f).cast();
    let (hi, mode) = (count as i64, Mode::here());
    // SAFETY: the run is still there, as the caller promises.
    let run = unsafe { &*context.cast::<Run<'_>>() };
    let region = Region { run: context, body, captured, lo: 0, hi, chunks: 0, mode, counts: false };
    // SAFETY: the reference lives until the region has ended.
    unsafe { run.shared().run(region, 1) };
}

/// What all chunks of a region have in common.
#[derive(Clone, Copy, Debug)]
struct Region {
    /// What it is part of; there until the region has ended.
    run: *const c_void,
    body: BodyFn,
    captured: *const c_void,
    lo: i64,
    hi: i64,
    chunks: usize,
    /// How whoever brought it computes.
    mode: Mode,
    /// Whether its iterations are counted.
    counts: bool,
}

impl Region {
    /// Runs one chunk: the iterations are divided as evenly as whole numbers allow.
    ///
    /// # Safety
    ///
    /// The body may be called with what it captured.
    unsafe fn run_chunk(&self, chunk: usize, shared: &Shared) -> u32 {
        let (count, chunks) = ((self.hi - self.lo) as u64, self.chunks as u64);
        let (each, more) = (count / chunks, count % chunks);
        let start = |chunk: u64| self.lo + (chunk * each + chunk.min(more)) as i64;
        let chunk = chunk as u64;
        // SAFETY: as the caller promises.
        unsafe { self.run(start(chunk), start(chunk + 1), shared) }
    }

    /// Runs some iterations, and counts them.
    ///
    /// # Safety
    ///
    /// The body may be called with what it captured.
    unsafe fn run(&self, lo: i64, hi: i64, shared: &Shared) -> u32 {
        // Whoever multiplies matrices cannot say that he was left.
        if self.counts && self.part_of().is_left() {
            return LEFT;
        }
        // SAFETY: as the caller promises.
        let result = self.mode.run(|| unsafe { (self.body)(self.captured, lo, hi) });
        if self.counts {
            shared.iterations.0.fetch_add((hi - lo) as u64, Ordering::Relaxed);
            if result & FAILED != 0 {
                self.part_of().fail();
            }
            if result & LEFT != 0 {
                self.part_of().leave();
            }
        }
        result
    }

    /// Runs everything on this thread, where it may be left, in pieces between which that is asked.
    ///
    /// # Safety
    ///
    /// The body may be called with what it captured.
    unsafe fn run_alone(&self, grain: i64, shared: &Shared) -> u32 {
        let count = self.hi.saturating_sub(self.lo);
        let piece = (count / PIECES).max(grain).max(1);
        if inside() || !self.counts || piece >= count {
            // SAFETY: as the caller promises.
            return unsafe { self.run(self.lo, self.hi, shared) };
        }
        let (mut result, mut lo) = (0, self.lo);
        set_inside(true);
        while lo < self.hi && result & LEFT == 0 {
            // What is left after the last whole piece belongs to it.
            let hi = if self.hi - lo < piece.saturating_mul(2) { self.hi } else { lo + piece };
            // SAFETY: as the caller promises.
            result |= unsafe { self.run(lo, hi, shared) };
            lo = hi;
            self.part_of().looks();
        }
        set_inside(false);
        result
    }

    /// The run that it is part of.
    fn part_of(&self) -> &Run<'_> {
        // SAFETY: whoever made the region promises that the run is there until it has ended; on other
        // threads than its own only what is atomic is looked at.
        unsafe { &*self.run.cast::<Run<'_>>() }
    }
}

/// A word on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line<T>(T);

#[derive(Debug)]
pub(crate) struct Shared {
    /// The chunks that nobody has taken.
    open: Line<[AtomicU64; WORDS]>,
    /// How many chunks have been run.
    done: Line<AtomicUsize>,
    /// How many iterations that count have been run since the pool was made.
    iterations: Line<AtomicU64>,
    /// What the bodies gave.
    result: AtomicU32,
    /// The region; may be read by whoever has taken a chunk and not yet counted it as done.
    region: Slot<Option<Region>>,
    /// Whether a region is running.
    busy: AtomicBool,
    /// How many threads share the work.
    threads: AtomicUsize,
    /// How many chunks are meant for each thread.
    share: AtomicUsize,
    /// How many workers sleep or are about to.
    asleep: Line<AtomicUsize>,
    /// Whether workers are to end.
    stop: AtomicBool,
    door: Mutex<()>,
    bell: Condvar,
}

// SAFETY: `region` is written only by the thread that has set `busy`, while no chunk is open or
// being run, and read only by threads that have taken a chunk.
unsafe impl Sync for Shared {}
// SAFETY: the pointers in `region` are used under the rules above only.
unsafe impl Send for Shared {}

impl Default for Shared {
    fn default() -> Shared {
        Shared {
            open: Line::default(),
            done: Line::default(),
            iterations: Line::default(),
            result: AtomicU32::new(0),
            region: Slot::new(None),
            busy: AtomicBool::new(false),
            threads: AtomicUsize::new(1),
            share: AtomicUsize::new(1),
            asleep: Line::default(),
            stop: AtomicBool::new(false),
            door: Mutex::new(()),
            bell: Condvar::new(),
        }
    }
}

impl Shared {
    /// Runs a region to its end.
    ///
    /// # Safety
    ///
    /// The body may be called with what it captured, from any thread.
    unsafe fn run(&self, mut region: Region, grain: i64) -> u32 {
        if region.lo >= region.hi {
            return 0;
        }
        let threads = self.threads.load(Ordering::Relaxed);
        let most = (region.hi.saturating_sub(region.lo) / grain.max(1)) as usize;
        let alone = threads == 1 || most < 2 || inside();
        if alone || self.busy.swap(true, Ordering::Acquire) {
            // SAFETY: as the caller promises.
            return unsafe { region.run_alone(grain, self) };
        }
        let share = if most >= threads * SHARE { SHARE } else { 1 };
        region.chunks = most.min(threads * share).min(CHUNKS);
        self.share.store(share, Ordering::Relaxed);
        // SAFETY: `busy` is ours, and all chunks of the region before are done.
        unsafe { self.region.set(Some(region)) };
        self.done.0.store(0, Ordering::Relaxed);
        self.result.store(0, Ordering::Relaxed);
        for (word, open) in self.open.0.iter().enumerate() {
            let here = region.chunks.saturating_sub(64 * word).min(64);
            let bits = if here == 64 { u64::MAX } else { (1 << here) - 1 };
            // A swap, which costs what such a store does, comes after whatever a thread that was late
            // for the region before has done to the bits.
            open.swap(bits, Ordering::SeqCst);
        }
        if self.asleep.0.load(Ordering::SeqCst) > 0 {
            self.wake();
        }
        set_inside(true);
        self.take_chunks(0);
        set_inside(false);
        let mut waited = 0_u32;
        while self.done.0.load(Ordering::Acquire) < region.chunks {
            waited = waited.wrapping_add(1);
            if waited < 2000 {
                spin_loop()
            } else {
                yield_now()
            }
            if waited.is_multiple_of(ASK) && region.counts {
                region.part_of().looks();
            }
        }
        let result = self.result.load(Ordering::Relaxed);
        self.busy.store(false, Ordering::Release);
        result
    }

    /// Runs chunks until none is open: first those of this thread.
    fn take_chunks(&self, number: usize) {
        // A hint only: it may be that of another region.
        let mut mine = number * self.share.load(Ordering::Relaxed);
        while let Some(chunk) = self.take(mine) {
            // SAFETY: we have taken a chunk, so the region stays until we count it as done; and
            // whoever made the region promises that its body may be called.
            let result = unsafe {
                match self.region.get() {
                    Some(region) => region.run_chunk(chunk, self),
                    None => 0,
                }
            };
            if result != 0 {
                self.result.fetch_or(result, Ordering::Relaxed);
            }
            self.done.0.fetch_add(1, Ordering::Release);
            mine = chunk + 1;
        }
    }

    /// Takes an open chunk: the first one from `start` on, or else the first one.
    fn take(&self, start: usize) -> Option<usize> {
        let start = if start < CHUNKS { start } else { 0 };
        for step in 0..=WORDS {
            let word = (start / 64 + step) % WORDS;
            let open = &self.open.0[word];
            let mut bits = open.load(Ordering::Relaxed);
            while bits != 0 {
                let above = bits & (u64::MAX << (start % 64));
                let bit = if step == 0 && above != 0 { above } else { bits }.trailing_zeros();
                let before = open.fetch_and(!(1 << bit), Ordering::AcqRel);
                if before & (1 << bit) != 0 {
                    return Some(64 * word + bit as usize);
                }
                bits = before;
            }
        }
        None
    }

    fn is_open(&self) -> bool {
        self.open.0.iter().any(|word| word.load(Ordering::SeqCst) != 0)
    }

    /// The life of a worker.
    fn work(&self, number: usize) {
        set_inside(true);
        loop {
            let idle = Idle::now();
            while !self.is_open() && !self.stop.load(Ordering::Relaxed) {
                match idle.next() {
                    Next::Look => (0..16).for_each(|_| spin_loop()),
                    Next::Yield => yield_now(),
                    Next::Sleep => {
                        self.sleep();
                        break;
                    }
                }
            }
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            self.take_chunks(number);
        }
    }

    /// Sleeps until something is open.
    fn sleep(&self) {
        let mut door = self.door.lock().unwrap_or_else(PoisonError::into_inner);
        self.asleep.0.fetch_add(1, Ordering::SeqCst);
        // Whoever opens chunks after this look sees that we sleep, and rings.
        while !self.is_open() && !self.stop.load(Ordering::SeqCst) {
            door = self.bell.wait(door).unwrap_or_else(PoisonError::into_inner);
        }
        self.asleep.0.fetch_sub(1, Ordering::SeqCst);
    }

    fn wake(&self) {
        drop(self.door.lock().unwrap_or_else(PoisonError::into_inner));
        self.bell.notify_all();
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicI64;
    use std::thread;

    struct Count {
        sum: AtomicI64,
        calls: AtomicUsize,
        rt: crate::kernel::Interface,
        nested: bool,
    }

    unsafe extern "C" fn count(captured: *const c_void, lo: i64, hi: i64) -> u32 {
        let count = unsafe { &*captured.cast::<Count>() };
        count.calls.fetch_add(1, Ordering::Relaxed);
        if count.nested {
            let inner = Count {
                sum: AtomicI64::new(0),
                calls: AtomicUsize::new(0),
                nested: false,
                ..*count
            };
            let at = (&raw const inner).cast();
            unsafe { (count.rt.parallel)(count.rt.context, super::tests::count, at, lo, hi, 1) };
            assert_eq!(inner.calls.into_inner(), 1, "nested regions run on one thread");
            count.sum.fetch_add(inner.sum.into_inner(), Ordering::Relaxed);
        } else {
            count.sum.fetch_add((lo..hi).sum(), Ordering::Relaxed);
        }
        (u32::from(lo <= 3 && 3 < hi) | u32::from(lo <= 77 && 77 < hi) << 1) << 2
    }

    fn region(pool: &Pool, lo: i64, hi: i64, grain: i64, nested: bool) -> (i64, usize, u32) {
        let run = Run::new(pool, &|| false);
        let rt = run.interface();
        let it = Count { sum: AtomicI64::new(0), calls: AtomicUsize::new(0), rt, nested };
        let at = (&raw const it).cast();
        let result = unsafe { (rt.parallel)(rt.context, count, at, lo, hi, grain) };
        (it.sum.into_inner(), it.calls.into_inner(), result)
    }

    #[test]
    fn every_iteration_runs_once() {
        for threads in [1, 2, 3, 8, 70] {
            let pool = Pool::new(threads);
            assert_eq!(pool.threads(), threads);
            for (lo, hi) in [(0, 0), (5, 5), (7, 3), (0, 1), (-3, 100), (0, 12345)] {
                for grain in [1, 7, 1000] {
                    let (sum, calls, result) = region(&pool, lo, hi, grain, false);
                    assert_eq!(sum, (lo..hi).sum::<i64>(), "{threads} {lo}..{hi} by {grain}");
                    assert!(calls <= 1 || calls as i64 * grain <= hi - lo);
                    let has = |x: i64| u32::from(lo <= x && x < hi);
                    assert_eq!(result, (has(3) | has(77) << 1) << 2);
                }
            }
            assert_eq!(region(&pool, 0, 1000, 1, true).0, 499_500);
            let before = pool.iterations();
            region(&pool, -3, 997, 1, false);
            // SAFETY: the pool exists.
            unsafe { for_each(Run::new(&pool, &|| false).interface().context, 50, &|_| {}) };
            assert_eq!(pool.iterations() - before, 1000, "those of kernels count");
        }
    }

    #[test]
    fn regions_follow_each_other_and_exclude_each_other() {
        let pool = Pool::new(3);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for i in 0..3000 {
                        assert_eq!(region(&pool, 0, 100, 1, false).0, 4950);
                        if i % 1000 == 0 {
                            thread::sleep(Duration::from_millis(1));
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn numbers_are_given_out() {
        let pool = Pool::new(2);
        let hits: Vec<AtomicU32> = (0..9).map(|_| AtomicU32::new(0)).collect();
        let hit = |i: usize| {
            hits[i].fetch_add(1, Ordering::Relaxed);
        };
        unsafe { for_each(Run::new(&pool, &|| false).interface().context, 9, &hit) };
        assert!(hits.iter().all(|hit| hit.load(Ordering::Relaxed) == 1));
        assert_eq!(unsafe { threads_here(Run::new(&pool, &|| false).interface().context) }, 2);
    }
}
