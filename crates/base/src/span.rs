//! A place in the text, in eight bytes: every node of a tree and every name has one, so their size
//! is most of what a long program takes.

use crate::{FileId, Idx};
use rustc_hash::FxHashMap;
use std::fmt;
use std::sync::{LazyLock, RwLock};

/// A range of bytes in one file.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    lo: u32,
    /// The file and the length side by side if both are small, which is nearly always; otherwise
    /// [`FAR`] and their number among the [`FarSpans`].
    rest: u32,
}

/// Marks a span whose file and length stand elsewhere.
const FAR: u32 = 1 << 31;
/// Spans of up to half a megabyte…
const LEN_BITS: u32 = 19;
/// …in the first 4,096 files take no room elsewhere.
const FILES: u32 = FAR >> LEN_BITS;

/// The file and length of spans too long, or in too late a file, to say so themselves; each pair
/// once, so that equal spans have equal bits.
#[derive(Default)]
struct FarSpans {
    all: Vec<(FileId, u32)>,
    numbers: FxHashMap<(FileId, u32), u32>,
}

static FAR_SPANS: LazyLock<RwLock<FarSpans>> = LazyLock::new(RwLock::default);

/// Keeps all other threads from the table.
pub(crate) fn locked() -> impl Sized {
    FAR_SPANS.write().unwrap_or_else(|e| e.into_inner())
}

impl Span {
    /// The bytes from `lo` to before `hi`.
    pub fn new(file: FileId, lo: u32, hi: u32) -> Self {
        let (number, len) = (file.index() as u32, hi.saturating_sub(lo));
        let near = number < FILES && len < 1 << LEN_BITS;
        Self { lo, rest: if near { number << LEN_BITS | len } else { far(file, len) } }
    }
    /// The file.
    pub fn file(self) -> FileId {
        self.file_and_len().0
    }
    /// The first byte.
    pub fn lo(self) -> u32 {
        self.lo
    }
    /// One past the last byte.
    pub fn hi(self) -> u32 {
        self.lo + self.file_and_len().1
    }
    /// The smallest span that covers both; `self`'s file wins if they differ.
    pub fn to(self, other: Span) -> Span {
        if self.file() != other.file() {
            return self;
        }
        Span::new(self.file(), self.lo.min(other.lo), self.hi().max(other.hi()))
    }
    /// The same span, ending at `hi`.
    pub fn until(self, hi: u32) -> Span {
        Span::new(self.file(), self.lo, hi)
    }
    /// Whether another span lies in this one.
    pub fn covers(self, other: Span) -> bool {
        self.file() == other.file() && self.lo <= other.lo && other.hi() <= self.hi()
    }
    /// The empty span at the start of this one.
    pub fn start(self) -> Span {
        self.until(self.lo)
    }
    /// The empty span at the end of this one.
    pub fn end(self) -> Span {
        Span::new(self.file(), self.hi(), self.hi())
    }
    /// Its length in bytes.
    pub fn len(self) -> usize {
        self.file_and_len().1 as usize
    }
    /// Whether it covers no byte.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn file_and_len(self) -> (FileId, u32) {
        if self.rest & FAR == 0 {
            let number = self.rest >> LEN_BITS;
            return (FileId::from_usize(number as usize), self.rest & ((1 << LEN_BITS) - 1));
        }
        // A writer that panicked left the table whole: it only appends.
        let table = FAR_SPANS.read().unwrap_or_else(|e| e.into_inner());
        table.all[(self.rest & !FAR) as usize]
    }
}

/// What stands in a span for a file and length that do not fit in it.
#[cold]
fn far(file: FileId, len: u32) -> u32 {
    let mut table = FAR_SPANS.write().unwrap_or_else(|e| e.into_inner());
    let table = &mut *table;
    let number = *table.numbers.entry((file, len)).or_insert_with(|| {
        table.all.push((file, len));
        (table.all.len() - 1) as u32
    });
    FAR | number
}

impl PartialOrd for Span {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// By file, then by place.
impl Ord for Span {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |span: &Span| (span.file(), span.lo(), span.hi());
        key(self).cmp(&key(other))
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}..{}", self.file(), self.lo(), self.hi())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_it_was_made_from_however_long_it_is() {
        for file in [0, 1, 4095, 4096, 100_000].map(FileId::from_usize) {
            for (lo, hi) in [(0, 0), (3, 7), (9, 524_296), (9, 524_297), (1, u32::MAX)] {
                let span = Span::new(file, lo, hi);
                assert_eq!((span.file(), span.lo(), span.hi()), (file, lo, hi));
                assert_eq!(span, Span::new(file, lo, hi));
            }
        }
    }

    #[test]
    fn stands_in_the_order_of_files_and_bytes() {
        let span = |file, lo, hi| Span::new(FileId::from_usize(file), lo, hi);
        let sorted = [
            span(0, 1, 900_000),
            span(0, 2, 3),
            span(0, 2, 700_000),
            span(4_095, 0, 1),
            span(5_000, 0, 0),
        ];
        assert!(sorted.is_sorted());
        assert_eq!(sorted[1].to(sorted[2]), sorted[2]);
        assert_eq!(sorted[0].to(sorted[3]), sorted[0]);
        assert_eq!(sorted[2].end(), span(0, 700_000, 700_000));
    }
}
