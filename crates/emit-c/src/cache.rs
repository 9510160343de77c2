//! Built libraries on disk, by the hash of what they were built from.
//!
//! An entry is a shared library with its own hash appended, which loaders ignore: a file that was
//! cut short or changed is noticed before anything of it is mapped. Files are written under a name
//! of their own and renamed, so processes may share the folder.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// The most bytes the folder may hold; the oldest entries go first.
const LIMIT: u64 = 512 << 20;
const MARK: &[u8; 8] = b"einlang1";

#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
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
        let name = format!("einlang-{}", std::process::id());
        Cache::at(&std::env::temp_dir().join(name))
    }

    /// This folder, made if need be; others must not be able to write what we are going to run.
    pub fn at(folder: &Path) -> io::Result<Cache> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
        let cache = Cache { folder: folder.to_path_buf() };
        // A folder in which nothing can be written is of no use.
        let probe = cache.temporary();
        fs::write(&probe, b"")?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let (own, folder) = (fs::metadata(&probe)?.uid(), fs::metadata(folder)?.uid());
            if own != folder {
                let _ = fs::remove_file(&probe);
                return Err(io::Error::from(io::ErrorKind::PermissionDenied));
            }
        }
        fs::remove_file(&probe)?;
        Ok(cache)
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
        if end[..8] == *MARK && end[8..] == hash(2, contents).to_le_bytes() {
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
        let end = hash(2, &bytes[..]).to_le_bytes();
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
        put("a");
        put("b");
        cache.trim(1500);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
    }
}
