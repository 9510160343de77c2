//! Where source text comes from: texts in memory first, then the file system; the embedded
//! library beside both.

use crate::library;
use ein_base::{SourceError, Sources};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Byte offsets are 32 bits wide, so a source must be smaller than this.
const SIZE_LIMIT: u64 = 1 << 32;

/// The sources of one compilation.
#[derive(Clone, Debug)]
pub struct FileSources {
    overlay: BTreeMap<PathBuf, Arc<str>>,
    disk: bool,
    python: bool,
}

impl FileSources {
    /// The file system, with an overlay that is empty so far.
    pub fn on_disk() -> Self {
        Self { overlay: BTreeMap::new(), disk: true, python: false }
    }

    /// Only what [`FileSources::insert`] puts there: for tests, editors and other places without
    /// files.
    pub fn in_memory() -> Self {
        Self { overlay: BTreeMap::new(), disk: false, python: false }
    }

    /// Says that functions of Python can be called.
    pub fn inside_python(&mut self) {
        self.python = true;
    }

    /// Puts a text at a path, in front of whatever the file system has there.
    pub fn insert(&mut self, path: impl AsRef<Path>, text: impl Into<Arc<str>>) {
        self.overlay.insert(normalize(path.as_ref()), text.into());
    }

    /// Takes a text of the overlay away again.
    pub fn remove(&mut self, path: impl AsRef<Path>) {
        self.overlay.remove(&normalize(path.as_ref()));
    }
}

impl Sources for FileSources {
    fn read(&self, path: &Path) -> Result<Arc<str>, SourceError> {
        if let Some(text) = self.overlay.get(&normalize(path)) {
            return Ok(text.clone());
        }
        if self.disk { read_file(path) } else { Err(SourceError::Missing) }
    }

    fn is_file(&self, path: &Path) -> bool {
        self.overlay.contains_key(&normalize(path)) || (self.disk && path.is_file())
    }

    fn has_python(&self) -> bool {
        self.python
    }

    fn library(&self, path: &str) -> Option<Arc<str>> {
        library::text(path).map(Arc::from)
    }

    fn names_in(&self, dir: &Path) -> Vec<String> {
        let here = normalize(dir);
        let texts = self.overlay.keys().filter_map(|path| path.strip_prefix(&here).ok());
        let mut names: Vec<String> = texts
            .filter_map(|path| path.components().next())
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .collect();
        if self.disk {
            let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
            let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
            names.extend(entries.map(|entry| entry.file_name().to_string_lossy().into_owned()));
        }
        names.sort();
        names.dedup();
        names
    }

    fn library_names_in(&self, dir: &str) -> Vec<String> {
        let below = library::files().iter().filter_map(|(path, _)| path.strip_prefix(dir));
        let mut names: Vec<String> =
            below.filter_map(|path| path.split('/').next()).map(str::to_string).collect();
        names.dedup();
        names
    }
}

/// Reads and decodes a file.
pub fn read_file(path: &Path) -> Result<Arc<str>, SourceError> {
    // Asked before it is opened: a pipe would wait for its other end, a device may never end.
    let about = std::fs::metadata(path).map_err(|error| describe(&error))?;
    if about.is_dir() {
        return Err(SourceError::Directory);
    }
    if !about.is_file() {
        return Err(SourceError::Unreadable("it is not a plain file".into()));
    }
    let file = File::open(path).map_err(|error| describe(&error))?;
    if about.len() >= SIZE_LIMIT {
        return Err(SourceError::TooLarge);
    }
    read_stream(file)
}

/// Reads and decodes everything that a stream has.
pub fn read_stream(stream: impl Read) -> Result<Arc<str>, SourceError> {
    let mut bytes = Vec::new();
    stream.take(SIZE_LIMIT).read_to_end(&mut bytes).map_err(|error| describe(&error))?;
    decode(bytes)
}

/// Source text from bytes: UTF-8, a byte order mark dropped.
pub fn decode(bytes: Vec<u8>) -> Result<Arc<str>, SourceError> {
    if bytes.len() as u64 >= SIZE_LIMIT {
        return Err(SourceError::TooLarge);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Arc::from(text.strip_prefix('\u{feff}').unwrap_or(&text))),
        Err(error) => Err(SourceError::NotUtf8(error.utf8_error().valid_up_to())),
    }
}

/// What the system said, as a reason for the user.
fn describe(error: &io::Error) -> SourceError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => SourceError::Missing,
        io::ErrorKind::IsADirectory => SourceError::Directory,
        io::ErrorKind::PermissionDenied => SourceError::Unreadable("permission denied".into()),
        _ => SourceError::Unreadable(error.to_string()),
    }
}

/// The path without `.` and with `..` taken back where a name stands before it, so that the
/// overlay finds a text under every spelling of its path.
fn normalize(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => match out.components().next_back() {
                Some(Component::Normal(_)) => {
                    out.pop();
                }
                Some(Component::RootDir) => {}
                _ => out.push(part),
            },
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> Result<String, SourceError> {
        decode(bytes.to_vec()).map(|text| text.to_string())
    }

    #[test]
    fn text_is_utf8_without_its_mark() {
        assert_eq!(decoded(b"let x = 1;"), Ok("let x = 1;".into()));
        assert_eq!(decoded(b"\xef\xbb\xbflet"), Ok("let".into()));
        assert_eq!(decoded(b"ab\xffc"), Err(SourceError::NotUtf8(2)));
        assert_eq!(decoded(b""), Ok(String::new()));
    }

    #[test]
    fn the_overlay_knows_a_path_under_every_spelling() {
        let mut sources = FileSources::in_memory();
        sources.insert("a/./b/../m.ein", "1");
        assert!(sources.is_file(Path::new("a/m.ein")));
        assert_eq!(sources.read(Path::new("./a/x/../m.ein")).as_deref(), Ok("1"));
        assert_eq!(sources.read(Path::new("m.ein")), Err(SourceError::Missing));
        assert_eq!(normalize(Path::new("../x")), Path::new("../x"));
        assert_eq!(normalize(Path::new("/../x")), Path::new("/x"));
        sources.remove("a/m.ein");
        assert!(!sources.is_file(Path::new("a/m.ein")));
    }

    #[test]
    fn files_that_are_not_there_say_so() {
        let dir = std::env::temp_dir();
        assert_eq!(read_file(&dir), Err(SourceError::Directory));
        assert_eq!(read_file(&dir.join("ein-no-such-file.ein")), Err(SourceError::Missing));
    }
}
