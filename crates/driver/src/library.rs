//! The standard library, embedded when the driver is built.

mod table {
    include!(concat!(env!("OUT_DIR"), "/library.rs"));
}

/// The text of a library file by its path from the library's root (`math/basic.ein`).
pub fn text(path: &str) -> Option<&'static str> {
    let files = files();
    let at = files.binary_search_by(|(name, _)| (*name).cmp(path)).ok()?;
    files.get(at).map(|(_, text)| *text)
}

/// Whether a text is that of a library file.
pub fn holds(text: &str) -> bool {
    files().iter().any(|(_, own)| *own == text)
}

/// Every library file with its text, ordered by path.
pub fn files() -> &'static [(&'static str, &'static str)] {
    table::FILES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_file_is_found_by_its_path() {
        for (path, content) in files() {
            assert_eq!(text(path), Some(*content), "{path}");
        }
        assert_eq!(text("no/such/file.ein"), None);
    }
}
