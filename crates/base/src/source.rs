//! Source files, places in them, and the trait through which the compiler asks for text.

use crate::{IndexVec, Span, id};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

id!(
    /// A source file of this compilation.
    FileId,
    "file"
);

/// One loaded file.
#[derive(Debug)]
pub struct SourceFile {
    /// What diagnostics call it: a path, `<stdin>`, or `std/math/basic.ein`.
    pub name: String,
    /// Where it lies, for resolving modules beside it; `None` for text without a place.
    pub path: Option<PathBuf>,
    /// Its text.
    pub text: Arc<str>,
    /// Made when a position is first asked for: most files have nothing to report.
    lines: OnceLock<LineIndex>,
}

/// Byte offsets of line starts.
#[derive(Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// The lines of a text.
    pub fn new(text: &str) -> Self {
        let starts = std::iter::once(0).chain(
            text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1),
        );
        Self { starts: starts.collect() }
    }
    /// The zero-based line that holds this byte.
    pub fn line(&self, offset: u32) -> usize {
        self.starts.partition_point(|&start| start <= offset).saturating_sub(1)
    }
    /// The byte where a zero-based line starts.
    pub fn start(&self, line: usize) -> u32 {
        self.starts[line]
    }
}

impl SourceFile {
    /// One-based line and column of a byte; the column counts characters.
    pub fn position(&self, offset: u32) -> (usize, usize) {
        let mut offset = (offset as usize).min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let lines = self.lines.get_or_init(|| LineIndex::new(&self.text));
        let line = lines.line(offset as u32);
        let start = lines.start(line) as usize;
        (line + 1, self.text[start..offset].chars().count() + 1)
    }
}

/// All files of a compilation.
#[derive(Debug, Default)]
pub struct SourceMap {
    files: IndexVec<FileId, SourceFile>,
}

impl SourceMap {
    /// Adds a file and returns its id.
    pub fn add(&mut self, name: String, path: Option<PathBuf>, text: Arc<str>) -> FileId {
        self.files.push(SourceFile { name, path, text, lines: OnceLock::new() })
    }
    /// The file with this id.
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id]
    }
    /// The text a span covers.
    pub fn text(&self, span: Span) -> &str {
        self.files[span.file()].text.get(span.lo() as usize..span.hi() as usize).unwrap_or("")
    }
    /// One-based line and column of the start of a span.
    pub fn position(&self, span: Span) -> (usize, usize) {
        self.files[span.file()].position(span.lo())
    }
    /// All files, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files.iter_enumerated()
    }
}

/// Why a source could not be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceError {
    /// There is nothing at this path.
    Missing,
    /// The path names a directory.
    Directory,
    /// The bytes are not UTF-8; the offset is that of the first bad byte.
    NotUtf8(usize),
    /// The file is larger than the compiler takes (4 GiB).
    TooLarge,
    /// The system said no, in its words.
    Unreadable(String),
}

impl SourceError {
    /// What would make the file readable.
    pub fn remedy(&self) -> &'static str {
        match self {
            SourceError::Missing => "write the file, or correct the path",
            SourceError::Directory => "name a file that ends in `.ein`",
            SourceError::NotUtf8(_) => "save the file as UTF-8",
            SourceError::TooLarge => "split the file into modules",
            SourceError::Unreadable(_) => "see to it that the file may be read",
        }
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceError::Missing => f.write_str("there is no such file"),
            SourceError::Directory => f.write_str("it is a directory"),
            SourceError::NotUtf8(at) => write!(f, "it is not UTF-8 text (first bad byte at {at})"),
            SourceError::TooLarge => f.write_str("it is larger than 4 GiB"),
            SourceError::Unreadable(why) => f.write_str(why),
        }
    }
}

/// Where source text comes from. The driver implements it over the file system, an overlay of
/// texts in memory, and the embedded library; the compiler never opens a file itself.
pub trait Sources {
    /// The text at a path.
    fn read(&self, path: &Path) -> Result<Arc<str>, SourceError>;
    /// Whether a file is there.
    fn is_file(&self, path: &Path) -> bool;
    /// The text of a file of the embedded library, by its path from the library's root
    /// (`math/basic.ein`).
    fn library(&self, path: &str) -> Option<Arc<str>>;
    /// Whether functions of Python can be called: the program runs inside it.
    fn has_python(&self) -> bool {
        false
    }
    /// The names of the files and folders in a directory, so that a misspelt module can be told
    /// from a missing one. Whoever cannot say leaves it out.
    fn names_in(&self, _dir: &Path) -> Vec<String> {
        Vec::new()
    }
    /// The same for a directory of the embedded library: empty, or ending in `/`.
    fn library_names_in(&self, _dir: &str) -> Vec<String> {
        Vec::new()
    }
}
