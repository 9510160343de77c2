//! Positions in files, fast for any length of line.

use ein_base::{FileId, LineIndex, SourceMap, Span};
use std::collections::BTreeMap;

/// Characters are counted once for every this many bytes of a long line.
const STRIDE: usize = 4096;

/// The files of a compilation as rendering sees them; what is computed for one diagnostic is kept
/// for the next.
pub(super) struct Views<'a> {
    files: &'a SourceMap,
    views: BTreeMap<FileId, View<'a>>,
}

impl<'a> Views<'a> {
    /// All files; nothing is computed yet.
    pub(super) fn new(files: &'a SourceMap) -> Self {
        Self { files, views: BTreeMap::new() }
    }

    /// One file.
    pub(super) fn view(&mut self, file: FileId) -> &mut View<'a> {
        let files = self.files;
        self.views.entry(file).or_insert_with(|| {
            let file = files.file(file);
            let lines = LineIndex::new(&file.text);
            View { name: &file.name, text: &file.text, lines, counts: Vec::new() }
        })
    }

    /// One-based line and column of the start of a span; columns count characters.
    pub(super) fn position(&mut self, span: Span) -> (usize, usize) {
        let view = self.view(span.file());
        let offset = view.clamp(span.lo() as usize);
        (view.line(offset) + 1, view.column(offset) + 1)
    }
}

/// One file.
pub(super) struct View<'a> {
    name: &'a str,
    text: &'a str,
    lines: LineIndex,
    // Characters before each multiple of `STRIDE`; filled when first needed.
    counts: Vec<u32>,
}

impl<'a> View<'a> {
    /// What diagnostics call the file.
    pub(super) fn name(&self) -> &'a str {
        self.name
    }

    /// Whether it has no text.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The nearest offset at or before this one that is in the text and between characters.
    pub(super) fn clamp(&self, offset: usize) -> usize {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    }

    /// The zero-based line that holds this offset.
    pub(super) fn line(&self, offset: usize) -> usize {
        self.lines.line(offset as u32)
    }

    /// Where the text of a zero-based line begins and ends, its line break left out.
    pub(super) fn line_range(&self, line: usize) -> std::ops::Range<usize> {
        let start = self.lines.start(line) as usize;
        let last = self.lines.line(u32::MAX);
        let end =
            if line < last { self.lines.start(line + 1) as usize - 1 } else { self.text.len() };
        let carriage_return = end > start && self.text.as_bytes()[end - 1] == b'\r';
        start..end - usize::from(carriage_return)
    }

    /// The text between two offsets.
    pub(super) fn text(&self, range: std::ops::Range<usize>) -> &'a str {
        self.text.get(range).unwrap_or("")
    }

    /// The zero-based column of an offset, in characters.
    pub(super) fn column(&mut self, offset: usize) -> usize {
        let start = self.line_range(self.line(offset)).start;
        if offset - start <= 2 * STRIDE {
            return characters(&self.text.as_bytes()[start..offset]);
        }
        if self.counts.is_empty() {
            let mut total = 0;
            for chunk in self.text.as_bytes().chunks(STRIDE) {
                self.counts.push(total);
                total += characters(chunk) as u32;
            }
        }
        self.characters_before(offset) - self.characters_before(start)
    }

    fn characters_before(&self, offset: usize) -> usize {
        let Some(chunk) = offset.checked_sub(1).map(|it| it / STRIDE) else { return 0 };
        let counted = self.counts[chunk] as usize;
        counted + characters(&self.text.as_bytes()[chunk * STRIDE..offset])
    }
}

/// How many characters start in these bytes of UTF-8.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}
