//! The memory of tensors: aligned, zeroed buffers under a common limit.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::fmt;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ein_scalar::ScalarType;
use rustc_hash::FxHashMap;

use crate::fork::Here;
use crate::heap;
use crate::torn::Files;

/// Buffers start at a multiple of this, so that vector loads are aligned.
const ALIGNMENT: usize = 64;

/// The size of a huge page. Buffers from this size on are made of such pages where the system has
/// them: with small ones a long array spends a fifth of its time looking up where they are.
const HUGE_PAGE: usize = 2 << 20;

/// Large buffers start so far behind the start of a page. Arrays of other libraries start near the
/// start of one, often not at a cache line. A processor takes a load for one of what it has just
/// stored if both are at the same place in their pages; where such a load also straddles cache
/// lines, the loop waits for every one of them.
const BEHIND: usize = 2048;

/// Counts the bytes of all buffers allocated through it, and refuses what would pass its limit.
///
/// A handle: clones share the counters.
#[derive(Clone, Debug)]
pub struct Memory {
    counters: Arc<Counters>,
}

#[derive(Debug)]
struct Counters {
    used: AtomicU64,
    peak: AtomicU64,
    limit: Option<u64>,
    /// What the process had in use before; see [`heap`].
    before: u64,
    /// The process in which blocks are kept.
    here: Here,
    idle: Mutex<Idle>,
    mapped: Files,
}

/// Buffers that nobody uses, kept because the next step or run wants the same: fresh pages cost more
/// than the numbers in them.
#[derive(Debug, Default)]
struct Idle {
    /// By their size.
    blocks: FxHashMap<usize, Vec<Block>>,
    /// How many bytes there are in all of them.
    bytes: usize,
}

impl Idle {
    fn take(&mut self, bytes: usize) -> Option<Block> {
        let block = self.blocks.get_mut(&bytes)?.pop()?;
        self.bytes -= bytes;
        Some(block)
    }

    fn keep(&mut self, block: Block) {
        self.bytes += block.bytes;
        self.blocks.entry(block.bytes).or_default().push(block);
    }

    /// Gives back to the system until there are at most so many bytes.
    fn shrink(&mut self, most: usize) {
        while self.bytes > most
            && let Some(size) = self.blocks.keys().next().copied()
        {
            if self.take(size).is_none() {
                self.blocks.remove(&size);
            }
        }
    }
}

/// Bytes that belong to nobody.
#[derive(Debug)]
struct Block {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a block owns its bytes.
unsafe impl Send for Block {}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some((layout, behind)) = Buffer::layout(self.bytes) {
            // SAFETY: allocated in `Buffer::fresh` with this layout, and not since freed.
            unsafe { dealloc(self.start.as_ptr().sub(behind), layout) };
        }
    }
}

/// Buffers below this size have some bytes to spare, so that those of about one size are exchangeable.
const LARGE: usize = 1 << 18;

/// At most so many buffers of one such size are kept.
const MOST_OF_A_SIZE: usize = 1 << 10;

/// What the engines need themselves, and what is in small pieces, does not count up to this.
const MACHINERY: u64 = 32 << 20;

/// At most so many bytes are kept.
const MOST_IDLE: usize = 1 << 30;

/// An allocation was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryError {
    /// The bytes asked for; `u128::MAX` stands for even more.
    pub wanted: u128,
    /// The limit, if it was that; otherwise the system had no more.
    pub limit: Option<u64>,
    /// The bytes in use at that time.
    pub used: u64,
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = Bytes(u128::from(self.used));
        write!(f, "{} are needed, but {used} are in use", Bytes(self.wanted))?;
        match self.limit {
            Some(limit) => write!(f, " and the limit is {}", Bytes(u128::from(limit))),
            None => write!(f, " and the system has no more"),
        }
    }
}

impl std::error::Error for MemoryError {}

/// A number of bytes as people read it.
struct Bytes(u128);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        if self.0 < 1024 {
            return write!(f, "{} bytes", self.0);
        }
        let unit = ((self.0.ilog2() / 10) as usize).min(UNITS.len());
        write!(f, "{:.1} {}", self.0 as f64 / f64::from(1024u32).powi(unit as i32), UNITS[unit - 1])
    }
}

impl Default for Memory {
    /// The limit is 80 % of what the system has free, where it says so.
    fn default() -> Memory {
        Memory::new(system_free().map(|free| free / 5 * 4))
    }
}

impl Memory {
    /// Memory with a limit in bytes, or without one.
    pub fn new(limit: Option<u64>) -> Memory {
        let counters = Counters {
            used: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            limit,
            before: heap::in_use(),
            here: Here::now(),
            idle: Mutex::default(),
            mapped: Files::default(),
        };
        Memory { counters: Arc::new(counters) }
    }

    /// The files that arrays are mapped from.
    pub(crate) fn files(&self) -> &Files {
        &self.counters.mapped
    }

    /// A run begins: what earlier ones mapped and let go is none of its business.
    pub fn begin(&self) {
        self.counters.mapped.begin();
    }

    /// Whether a page of a mapped file could not be read: its file was cut, or the disk failed. What was
    /// computed since is worth nothing.
    pub fn torn(&self) -> bool {
        self.counters.mapped.torn()
    }

    /// A mapped file that is not what it was when it was mapped, if there is one.
    pub fn changed_file(&self) -> Option<PathBuf> {
        self.counters.mapped.changed()
    }

    /// Memory without a limit.
    pub fn unlimited() -> Memory {
        Memory::new(None)
    }

    /// The bytes in use now.
    pub fn used(&self) -> u64 {
        self.counters.used.load(Ordering::Relaxed)
    }

    /// The most bytes that were in use at one time.
    pub fn peak(&self) -> u64 {
        self.counters.peak.load(Ordering::Relaxed)
    }

    /// Starts to look for the peak anew.
    pub fn reset_peak(&self) {
        self.counters.peak.store(self.used(), Ordering::Relaxed);
    }

    /// The limit in bytes.
    pub fn limit(&self) -> Option<u64> {
        self.counters.limit
    }

    /// Whether an array of this type and shape could be allocated now; the error if not.
    pub fn check(&self, ty: ScalarType, shape: &[usize]) -> Result<(), MemoryError> {
        let bytes = bytes_of(ty, shape).ok_or_else(|| self.refuse(wanted(ty, shape)))?;
        match self.limit() {
            Some(limit) if self.used().saturating_add(bytes as u64) > limit => {
                Err(self.refuse(bytes as u128))
            }
            _ => Ok(()),
        }
    }

    /// Whether so many bytes more could be in use, of whatever kind; the error if not.
    ///
    /// Beside the arrays this looks at everything that the process has allocated since the memory
    /// was made, if that is counted ([`heap`]), less [`MACHINERY`].
    pub fn check_bytes(&self, bytes: u128) -> Result<(), MemoryError> {
        let Some(limit) = self.limit() else { return Ok(()) };
        let fits = |used: u64| u128::from(used) + bytes <= u128::from(limit);
        let in_use = || {
            let heap = heap::in_use().saturating_sub(self.counters.before);
            heap.saturating_sub(MACHINERY).max(self.used())
        };
        if fits(in_use()) {
            return Ok(());
        }
        // What is kept for later is not in the way of what is wanted now.
        if let Ok(mut idle) = self.counters.idle.lock() {
            idle.shrink(0);
        }
        let used = in_use();
        if fits(used) {
            Ok(())
        } else {
            Err(MemoryError { wanted: bytes, limit: Some(limit), used })
        }
    }

    fn refuse(&self, wanted: u128) -> MemoryError {
        MemoryError { wanted, limit: self.limit(), used: self.used() }
    }

    /// A buffer of zeros for an array of this type and shape.
    pub(crate) fn allocate(&self, ty: ScalarType, shape: &[usize]) -> Result<Buffer, MemoryError> {
        self.allocate_with(ty, shape, true)
    }

    /// A buffer for an array of this type and shape, of zeros or of whatever is there.
    pub(crate) fn allocate_with(
        &self,
        ty: ScalarType,
        shape: &[usize],
        zeroed: bool,
    ) -> Result<Buffer, MemoryError> {
        let bytes = bytes_of(ty, shape).ok_or_else(|| self.refuse(wanted(ty, shape)))?;
        self.reserve(bytes as u64)?;
        let buffer = match self.take_idle(bytes) {
            Some(mut block) => {
                let start = block.start;
                // The buffer owns the bytes now.
                block.bytes = 0;
                std::mem::forget(block);
                if zeroed {
                    // SAFETY: the block had this many bytes.
                    unsafe { start.write_bytes(0, bytes) };
                }
                Some(Buffer { start, bytes, memory: self.clone(), owner: None })
            }
            None => Buffer::fresh(bytes, self.clone()),
        };
        buffer.ok_or_else(|| {
            self.release(bytes as u64);
            MemoryError { wanted: bytes as u128, limit: None, used: self.used() }
        })
    }

    /// An idle block for a buffer of this size. If there is none, others are given back as far as they
    /// would be too many with the new one, or beyond the limit.
    fn take_idle(&self, bytes: usize) -> Option<Block> {
        let room = room_of(bytes);
        if room == 0 {
            return None;
        }
        let mut idle = self.counters.idle.lock().ok()?;
        let found = idle.take(room);
        if found.is_none() {
            let limit = self.limit().unwrap_or(u64::MAX).saturating_sub(self.used());
            idle.shrink(MOST_IDLE.saturating_sub(room).min(limit.try_into().unwrap_or(usize::MAX)));
        }
        found
    }

    /// Keeps a block; others go if there are too many.
    fn keep_idle(&self, block: Block) {
        if block.bytes <= MOST_IDLE
            // A thread that is not here may have had the lock.
            && self.counters.here == Here::now()
            && let Ok(mut idle) = self.counters.idle.lock()
        {
            let known = idle.blocks.get(&block.bytes).map_or(0, Vec::len);
            if block.bytes >= LARGE || known < MOST_OF_A_SIZE {
                idle.shrink(MOST_IDLE - block.bytes);
                idle.keep(block);
            }
        }
    }

    fn reserve(&self, bytes: u64) -> Result<(), MemoryError> {
        let limit = self.limit().unwrap_or(u64::MAX);
        let add = |used: u64| used.checked_add(bytes).filter(|total| *total <= limit);
        let used = &self.counters.used;
        match used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add) {
            Ok(before) => {
                self.counters.peak.fetch_max(before + bytes, Ordering::Relaxed);
                Ok(())
            }
            Err(_) => Err(self.refuse(u128::from(bytes))),
        }
    }

    fn release(&self, bytes: u64) {
        self.counters.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The size of an array, if the address space has room for it.
fn bytes_of(ty: ScalarType, shape: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    let bytes = shape.iter().try_fold(ty.size_bytes(), |size, extent| size.checked_mul(*extent))?;
    // Room for rounding up to the alignment.
    (bytes <= isize::MAX as usize - HUGE_PAGE).then_some(bytes)
}

/// What a buffer of so many bytes takes.
fn room_of(bytes: usize) -> usize {
    match bytes {
        1..LARGE => bytes.next_multiple_of(ALIGNMENT.max(1 << (bytes.ilog2().max(2) - 2))),
        _ => bytes,
    }
}

/// The size of an array that is too large for the address space.
fn wanted(ty: ScalarType, shape: &[usize]) -> u128 {
    let size = ty.size_bytes() as u128;
    shape.iter().fold(size, |size, extent| size.saturating_mul(*extent as u128))
}

/// Asks the system to use huge pages for whole ones of these bytes, which nobody has touched yet.
#[cfg(target_os = "linux")]
fn want_huge_pages(start: NonNull<u8>, bytes: usize) {
    /// `MADV_HUGEPAGE`.
    const HUGE: i32 = 14;
    unsafe extern "C" {
        fn madvise(start: *mut u8, bytes: usize, advice: i32) -> i32;
    }
    // SAFETY: the start is a multiple of the size of a page, and the bytes are ours. It is advice:
    // nothing depends on whether it is taken.
    let _ = unsafe { madvise(start.as_ptr(), bytes / HUGE_PAGE * HUGE_PAGE, HUGE) };
}

#[cfg(not(target_os = "linux"))]
fn want_huge_pages(_: NonNull<u8>, _: usize) {}

/// What the system says is available, in bytes.
fn system_free() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Zeroed, aligned bytes that give themselves back to their [`Memory`].
pub(crate) struct Buffer {
    start: NonNull<u8>,
    bytes: usize,
    memory: Memory,
    /// What keeps the bytes alive if they belong to somebody else.
    owner: Option<Box<dyn Send + Sync>>,
}

// SAFETY: a buffer owns its bytes and hands them out by the rules of references only.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// What is allocated for a buffer, and how far behind the start of that it begins.
    fn layout(bytes: usize) -> Option<(Layout, usize)> {
        let (alignment, behind) = match bytes {
            HUGE_PAGE.. => (HUGE_PAGE, BEHIND),
            LARGE.. => (2 * BEHIND, BEHIND),
            _ => (ALIGNMENT, 0),
        };
        Some((Layout::from_size_align(bytes + behind, alignment).ok()?, behind))
    }

    /// `None` if the system has no more memory.
    fn fresh(bytes: usize, memory: Memory) -> Option<Buffer> {
        if bytes == 0 {
            let start = NonNull::new(std::ptr::without_provenance_mut(ALIGNMENT))?;
            return Some(Buffer { start, bytes, memory, owner: None });
        }
        let (layout, behind) = Buffer::layout(room_of(bytes))?;
        let start = if bytes < HUGE_PAGE {
            // SAFETY: the size is not zero.
            NonNull::new(heap::may_fail(|| unsafe { alloc_zeroed(layout) }))?
        } else {
            // SAFETY: the size is not zero.
            let start = NonNull::new(heap::may_fail(|| unsafe { alloc(layout) }))?;
            want_huge_pages(start, layout.size());
            // SAFETY: so many bytes have been allocated.
            unsafe { start.write_bytes(0, layout.size()) };
            start
        };
        // SAFETY: the layout has so many bytes before those of the buffer.
        Some(Buffer { start: unsafe { start.add(behind) }, bytes, memory, owner: None })
    }

    /// Bytes that belong to somebody else, counted against no limit and never written to.
    ///
    /// # Safety
    ///
    /// The bytes that tensors over this buffer reach must stay valid until the owner is dropped,
    /// which happens with the buffer.
    pub(crate) unsafe fn foreign(
        start: NonNull<u8>,
        memory: Memory,
        owner: Box<dyn Send + Sync>,
    ) -> Buffer {
        Buffer { start, bytes: 0, memory, owner: Some(owner) }
    }

    /// Whether the bytes belong to somebody else.
    pub(crate) fn is_foreign(&self) -> bool {
        self.owner.is_some()
    }

    /// The first byte.
    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The memory it was taken from.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// All bytes, for a reader that fills them.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the buffer owns `bytes` initialised bytes from `start`, and is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        self.memory.keep_idle(Block { start: self.start, bytes: room_of(self.bytes) });
        self.memory.release(self.bytes as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_holds_and_memory_comes_back() {
        let memory = Memory::new(Some(1000));
        let first = memory.allocate(ScalarType::F64, &[10, 10]).unwrap();
        assert_eq!((memory.used(), first.start() as usize % ALIGNMENT), (800, 0));
        let refused = memory.allocate(ScalarType::F64, &[26]).map(|_| ()).unwrap_err();
        assert_eq!(refused, MemoryError { wanted: 208, limit: Some(1000), used: 800 });
        assert_eq!(memory.check(ScalarType::F64, &[25]), Ok(()));
        drop(first);
        assert_eq!((memory.used(), memory.peak()), (0, 800));
        memory.reset_peak();
        assert_eq!(memory.peak(), 0);
    }

    #[test]
    fn buffers_of_about_one_size_are_used_again() {
        let memory = Memory::unlimited();
        let start = memory.allocate(ScalarType::U8, &[3000]).unwrap().start();
        let mut again = memory.allocate_with(ScalarType::U8, &[3072], false).unwrap();
        again.bytes_mut().fill(7);
        assert_eq!((again.start(), memory.used()), (start, 3072));
        drop(again);
        let mut zeros = memory.allocate(ScalarType::U8, &[2999]).unwrap();
        assert_eq!(zeros.start(), start);
        assert!(zeros.bytes_mut().iter().all(|byte| *byte == 0));
        assert_ne!(memory.allocate(ScalarType::U8, &[3000]).unwrap().start(), start);
    }

    #[test]
    fn what_is_idle_stays_below_the_limit() {
        let memory = Memory::new(Some(10_000));
        let sizes = [4096, 2048, 1024];
        let all: Vec<_> = sizes.map(|size| memory.allocate(ScalarType::U8, &[size])).into();
        drop(all);
        let idle = || memory.counters.idle.lock().unwrap().bytes;
        assert_eq!(idle(), 7168);
        let _large = memory.allocate(ScalarType::U8, &[9000]).unwrap();
        assert!(idle() <= 1000);
    }

    #[test]
    fn large_buffers_start_in_the_middle_of_a_page() {
        let memory = Memory::unlimited();
        for bytes in [LARGE - 1, LARGE, HUGE_PAGE - 1, HUGE_PAGE, 3 * HUGE_PAGE + 5] {
            let mut buffer = memory.allocate(ScalarType::U8, &[bytes]).unwrap();
            let start = buffer.start() as usize;
            assert_eq!(start % ALIGNMENT, 0);
            assert!(bytes < LARGE || start % 4096 == BEHIND, "{bytes} bytes at {start:#x}");
            assert!(buffer.bytes_mut().iter().all(|byte| *byte == 0));
            buffer.bytes_mut().fill(1);
        }
    }

    #[test]
    fn huge_shapes_are_refused() {
        let memory = Memory::unlimited();
        let huge = [usize::MAX, usize::MAX, usize::MAX];
        assert_eq!(memory.check(ScalarType::F64, &huge).unwrap_err().wanted, u128::MAX);
        assert!(memory.allocate(ScalarType::F64, &[1 << 60]).is_err());
        assert!(memory.allocate(ScalarType::U8, &[isize::MAX as usize - 100]).is_err());
        assert!(memory.allocate(ScalarType::F64, &[usize::MAX, 0, usize::MAX]).is_ok());
        assert_eq!(memory.used(), 0);
    }

    #[test]
    fn errors_read_well() {
        let error = MemoryError { wanted: 3_200_000_000, limit: Some(100 << 20), used: 12 };
        assert_eq!(
            error.to_string(),
            "3.0 GiB are needed, but 12 bytes are in use and the limit is 100.0 MiB"
        );
    }
}
