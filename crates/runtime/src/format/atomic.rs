//! Files that appear complete or not at all.

use std::fs::{self, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Fault, FileErrorKind};

/// Writes a file through a temporary one beside it.
pub(super) fn write(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let temporary = temporary_name(path)?;
    let result = fill(&temporary, content).and_then(|()| Ok(fs::rename(&temporary, path)?));
    if result.is_err() {
        // The first error is the one to report; the file may not even exist.
        let _ = fs::remove_file(&temporary);
    }
    result
}

fn fill(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    content(&mut out)?;
    Ok(out.flush()?)
}

/// A name in the same folder that no other write of this machine uses.
fn temporary_name(path: &Path) -> Result<PathBuf, Fault> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or_else(|| {
        Fault::new(FileErrorKind::Unreadable, "this is not the name of a file".to_owned())
    })?;
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.{count}.tmp", std::process::id()));
    Ok(path.with_file_name(hidden))
}
