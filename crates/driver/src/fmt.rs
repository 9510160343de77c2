//! Formatting of files: which ones, and how they are written back.

use crate::{Diagnostic, InternalError, SourceMap, guarded, order, sources, unreadable};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What formatting a text gave.
#[derive(Debug)]
pub enum Formatted {
    /// It is formatted already.
    Same,
    /// The formatted text.
    Changed(String),
    /// It could not be read or parsed; the diagnostics and the file they are about.
    Rejected(SourceMap, Vec<Diagnostic>),
}

/// Formats a text.
pub fn format_text(name: &str, text: &Arc<str>) -> Result<Formatted, InternalError> {
    guarded(|| match ein_syntax::format(text) {
        Ok(formatted) if formatted == **text => Formatted::Same,
        Ok(formatted) => Formatted::Changed(formatted),
        Err(mut diagnostics) => {
            let mut files = SourceMap::default();
            files.add(name.to_owned(), None, text.clone());
            order::sort(&files, &mut diagnostics);
            Formatted::Rejected(files, diagnostics)
        }
    })
}

/// Formats the text of a file and, if asked to, writes it back.
pub fn format_file(path: &Path, write: bool) -> Result<io::Result<Formatted>, InternalError> {
    let name = path.display().to_string();
    let text = match sources::read_file(path) {
        Ok(text) => text,
        Err(error) => {
            let mut files = SourceMap::default();
            let file = files.add(name, Some(path.to_owned()), Arc::from(""));
            let diagnostic = unreadable(file, path, &error);
            return Ok(Ok(Formatted::Rejected(files, vec![diagnostic])));
        }
    };
    let formatted = format_text(&name, &text)?;
    if let Formatted::Changed(new) = &formatted
        && write
        && let Err(error) = replace(path, new)
    {
        return Ok(Err(error));
    }
    Ok(Ok(formatted))
}

/// Replaces the text of a file in one step: whoever reads it sees the old text or the new one.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    // Through a link, the file it names is replaced, not the link.
    let path = path.canonicalize()?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = path.with_file_name(format!(".{name}.{}.new", std::process::id()));
    let written = (|| {
        let mut file = fs::File::create_new(&draft)?;
        file.write_all(text.as_bytes())?;
        file.set_permissions(fs::metadata(&path)?.permissions())?;
        file.sync_all()?;
        fs::rename(&draft, &path)
    })();
    if written.is_err() {
        // The draft may not be there; nothing else can be done about one that stays.
        let _ = fs::remove_file(&draft);
    }
    written
}

/// The programs a path names: itself, or all `.ein` files below a directory in order. Hidden
/// directories, build outputs and links to directories are left out.
pub fn program_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    if path.is_dir() {
        collect(path, &mut files)?;
    } else {
        files.push(path.to_owned());
    }
    Ok(files)
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries = fs::read_dir(dir)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let hidden = name.to_string_lossy().starts_with('.');
        if entry.file_type()?.is_dir() {
            if !hidden && name != "target" {
                collect(&entry.path(), files)?;
            }
        } else if !hidden && entry.path().extension().is_some_and(|it| it == "ein") {
            files.push(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_searched_and_files_replaced_in_one_step() {
        let dir = std::env::temp_dir().join(format!("ein-fmt-{}", std::process::id()));
        for part in ["b", ".hidden", "target"] {
            fs::create_dir_all(dir.join(part)).unwrap();
        }
        for file in ["z.ein", "b/a.ein", "b/a.txt", ".hidden/h.ein", "target/t.ein"] {
            fs::write(dir.join(file), "old").unwrap();
        }
        let found = program_files(&dir).unwrap();
        assert_eq!(found, [dir.join("b/a.ein"), dir.join("z.ein")]);

        replace(&dir.join("z.ein"), "new").unwrap();
        assert_eq!(fs::read_to_string(dir.join("z.ein")).unwrap(), "new");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 4);
        fs::remove_dir_all(&dir).unwrap();
    }
}
