//! Folders for one process among the system's temporary files.
//!
//! Such a folder goes with what holds it. Its name cannot be guessed, only its owner can use it, and what
//! is there already is never taken: another user cannot put a link in the way of what is written to it.

use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};

/// A folder that goes when it is dropped.
#[derive(Debug)]
pub struct Passing(PathBuf);

impl Drop for Passing {
    fn drop(&mut self) {
        // What is loaded stays loaded; if this fails the next one tries again.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// How the names of such folders begin.
const PASSING: &str = "einlang-passing-";

/// A number that another user cannot foresee: the seed comes from the system.
fn unguessable(attempt: u64) -> u64 {
    RandomState::new().hash_one(attempt)
}

impl Passing {
    /// A new, empty folder.
    pub fn new() -> io::Result<Passing> {
        let among = std::env::temp_dir();
        remove_left_behind(&among);
        for attempt in 0..100 {
            let name = format!("{PASSING}{}-{:016x}", std::process::id(), unguessable(attempt));
            let folder = among.join(name);
            match private_folder(&folder, false) {
                Ok(()) => return Ok(Passing(folder)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

/// Makes a folder that only its owner can use; with `reuse`, it may be there already.
pub(crate) fn private_folder(folder: &Path, reuse: bool) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(reuse);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Removes folders of processes that ended without doing so: ours, and of nobody who still runs.
fn remove_left_behind(among: &Path) {
    let Ok(entries) = fs::read_dir(among) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(PASSING)) else {
            continue;
        };
        let Some(Ok(process)) = rest.split('-').next().map(str::parse::<u32>) else { continue };
        let is_folder = entry.file_type().is_ok_and(|ty| ty.is_dir());
        if is_folder && Path::new("/proc/self").exists() && !is_running(process) {
            // Another user's cannot be removed, which is right.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_running(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passing_folder_goes() {
        let left = std::env::temp_dir().join(format!("{PASSING}4294967295-0"));
        fs::create_dir_all(&left).unwrap();
        let folder = Passing::new().unwrap();
        let path = folder.path().to_path_buf();
        assert!(path.is_dir());
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
            assert!(!left.exists(), "left behind by a process that ended");
        }
        drop(folder);
        assert!(!path.exists());
    }
}
