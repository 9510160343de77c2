//! Embeds the standard library: writes a table of `library/**/*.ein` for `src/library.rs`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    // Asked for when it runs, not when it was built: a build folder may serve several checkouts.
    let crate_root = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let root = Path::new(&crate_root).join("../../library").canonicalize()?;
    println!("cargo::rerun-if-changed={}", root.display());

    let mut files = Vec::new();
    collect(&root, &mut files)?;
    if files.is_empty() {
        return Err(io::Error::other("the standard library has no files"));
    }

    let mut table = String::from("pub(super) static FILES: &[(&str, &str)] = &[\n");
    let mut named = Vec::new();
    for file in &files {
        let parts: Vec<_> = file
            .strip_prefix(&root)
            .map_err(io::Error::other)?
            .components()
            .map(|part| part.as_os_str().to_string_lossy())
            .collect();
        named.push((parts.join("/"), file));
    }
    // Looked up by binary search on the name.
    named.sort();
    for (name, file) in named {
        let _ = writeln!(table, "    ({name:?}, include_str!({file:?})),");
    }
    table.push_str("];\n");

    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("library.rs"), table)
}

/// All `.ein` files below a directory.
fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|it| it == "ein") {
            files.push(path);
        }
    }
    Ok(())
}
