//! Built libraries on disk, by the hash of what they were built from.
//!
//! An entry is a shared library with a hash of itself and of its name appended, which loaders ignore:
//! a file that was cut short, changed or put under another name is noticed before anything of it is
//! mapped. That is for accidents. Whoever can write to the folder can run code as its owner, so a
//! folder that others can write is not used. Files are written under a name
//! of their own and renamed, so processes may share the folder.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use crate::passing::{Passing, private_folder};

/// The most bytes the folder may hold; the oldest entries go first.
const LIMIT: u64 = 512 << 20;
const MARK: &[u8; 8] = b"einlang2";

#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    /// The same folder if it goes with this.
    _passing: Option<Passing>,
}

/// Refuses a folder that is a link, belongs to another than who made the probe in it, or that
/// others can write.
#[cfg(unix)]
fn check_owner(folder: &Path, probe: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let about = fs::symlink_metadata(folder)?;
    let refused = |why: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    if !about.is_dir() {
        return refused("the folder is a link");
    }
    if about.uid() != probe.uid() {
        return refused("the folder belongs to another user");
    }
    if about.mode() & 0o022 != 0 {
        return refused("others can write to the folder");
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_owner(_: &Path, _: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// A name for what was built from these texts.
pub(crate) fn key(parts: &[&str]) -> String {
    format!("{:016x}{:016x}", hash(0, parts), hash(1, parts))
}

fn hash(seed: u64, value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    seed.hash(&mut hasher);
    value.hash(&mut hasher);
    hasher.finish()
}

impl Cache {
    /// The folder that the environment names, or one of this user.
    pub fn open() -> io::Result<Cache> {
        let named = std::env::var_os("EINLANG_CACHE").filter(|it| !it.is_empty());
        let shared = std::env::var_os("XDG_CACHE_HOME").filter(|it| Path::new(it).is_absolute());
        let home = std::env::home_dir().filter(|it| it.is_absolute());
        let choices = [
            named.map(PathBuf::from),
            shared.map(|it| Path::new(&it).join("einlang")),
            home.map(|it| it.join(".cache").join("einlang")),
        ];
        for folder in choices.into_iter().flatten() {
            if let Ok(cache) = Cache::at(&folder) {
                return Ok(cache);
            }
        }
        Cache::passing()
    }

    /// A new folder for this process alone.
    fn passing() -> io::Result<Cache> {
        let folder = Passing::new()?;
        let cache = Cache::at(folder.path())?;
        Ok(Cache { _passing: Some(folder), ..cache })
    }

    /// This folder, made if need be; others must not be able to write what we are going to run.
    pub fn at(folder: &Path) -> io::Result<Cache> {
        private_folder(folder, true)?;
        let cache = Cache { folder: folder.to_path_buf(), _passing: None };
        // A folder in which nothing can be written is of no use.
        let probe = cache.temporary();
        let made = fs::File::options().write(true).create_new(true).open(&probe)?;
        let ours = check_owner(folder, &made.metadata()?);
        fs::remove_file(&probe)?;
        ours.map(|()| cache)
    }

    /// A name that nobody else uses.
    pub fn temporary(&self) -> PathBuf {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        self.folder.join(format!("new-{}-{next}", std::process::id()))
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.so"))
    }

    /// The library of this name, if it is there and whole.
    pub fn get(&self, key: &str) -> Option<PathBuf> {
        let path = self.path(key);
        let bytes = fs::read(&path).ok()?;
        let (contents, end) = bytes.split_at_checked(bytes.len().checked_sub(16)?)?;
        if end[..8] == *MARK && end[8..] == hash(2, (key, contents)).to_le_bytes() {
            let now = fs::File::options().append(true).open(&path);
            // Only the order in which entries go depends on it.
            let _ = now.and_then(|file| file.set_modified(SystemTime::now()));
            return Some(path);
        }
        self.forget(key);
        None
    }

    /// Takes a library that was built under a temporary name in.
    pub fn put(&self, key: &str, built: &Path) -> io::Result<PathBuf> {
        let mut bytes = fs::read(built)?;
        let end = hash(2, (key, &bytes[..])).to_le_bytes();
        bytes.extend_from_slice(MARK);
        bytes.extend_from_slice(&end);
        fs::write(built, &bytes)?;
        let path = self.path(key);
        fs::rename(built, &path)?;
        self.trim(LIMIT);
        Ok(path)
    }

    /// Removes a library.
    pub fn forget(&self, key: &str) {
        // If it cannot be removed it is replaced.
        let _ = fs::remove_file(self.path(key));
    }

    /// Removes the oldest files until the rest is within a limit.
    fn trim(&self, limit: u64) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let data = entry.metadata().ok()?;
                let name = entry.file_name();
                let ours = name.to_str().is_some_and(|it| it.ends_with(".so"));
                (ours && data.is_file()).then_some((
                    data.modified().ok()?,
                    data.len(),
                    entry.path(),
                ))
            })
            .collect();
        let mut total: u64 = files.iter().map(|(_, len, _)| len).sum();
        files.sort();
        for (_, len, path) in files {
            if total <= limit {
                return;
            }
            if fs::remove_file(path).is_ok() {
                total -= len;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn folders_of_others_are_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = std::env::temp_dir().join(format!("einlang-open-{}", std::process::id()));
        let link = folder.with_extension("link");
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(Cache::at(&folder).is_err(), "others can write");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(Cache::at(&folder).is_ok());
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert!(Cache::at(&link).is_err(), "a link");
        fs::remove_file(&link).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn entries_are_checked_and_trimmed() {
        let folder = std::env::temp_dir().join(format!("einlang-cache-{}", std::process::id()));
        let cache = Cache::at(&folder).unwrap();
        let put = |name: &str| {
            let built = cache.temporary();
            fs::write(&built, vec![7; 1000]).unwrap();
            cache.put(name, &built).unwrap()
        };
        assert_eq!(cache.get("a"), None);
        let path = put("a");
        assert_eq!(cache.get("a"), Some(path.clone()));
        fs::write(&path, &fs::read(&path).unwrap()[..500]).unwrap();
        assert_eq!(cache.get("a"), None);
        assert!(!path.exists());
        let (a, b) = (put("a"), put("b"));
        fs::copy(&a, &b).unwrap();
        assert_eq!(cache.get("b"), None, "an entry under another name");
        put("b");
        cache.trim(1500);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
    }
}
