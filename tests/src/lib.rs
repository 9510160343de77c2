//! Tests of the whole, driven by files: programs under `suite/` that say in comments what must
//! happen, the examples on the pages about diagnostics, the programs in the book, the programs
//! under `examples/` and `library/`, those in the other notations, and what must hold of all errors
//! and of the whole library.
//!
//! Does not know: anything below the driver.

#![forbid(unsafe_code)]

pub mod answers;
pub mod book;
pub mod brute;
pub mod changed;
pub mod compare;
pub mod edges;
pub mod engines;
pub mod generate;
pub mod kinds;
pub mod library;
pub mod markdown;
pub mod mutants;
pub mod notations;
pub mod pages;
pub mod programs;
pub mod rewritten;
pub mod section;
pub mod seeds;

use section::Section;
use std::io;
use std::path::{Path, PathBuf};

/// Set to `1`, golden files are written instead of compared.
pub const BLESS: &str = "EINLANG_BLESS";

/// Whether golden files are to be written.
pub fn bless() -> bool {
    std::env::var_os(BLESS).is_some_and(|it| it == "1")
}

/// The root of the repository.
pub fn repository() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests).to_owned()
}

/// One test: a name, and what it does. `Err` says why it failed.
pub struct Case {
    /// `syntax/brackets.ein::unclosed`
    pub name: String,
    /// The test.
    pub run: Box<dyn FnOnce() -> Result<(), String> + Send>,
}

/// All tests of the suite, of the pages, of the book, and of the programs in the repository.
pub fn all() -> Result<Vec<Case>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("suite");
    let mut files = Vec::new();
    collect(&root, &mut files).map_err(|error| format!("{}: {error}", root.display()))?;
    files.sort();

    let mut cases = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let shown = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        for section in section::parse(&shown, &text)? {
            cases.push(case(&shown, path.clone(), section)?);
        }
    }
    cases.extend(pages::cases());
    cases.extend(answers::cases());
    cases.extend(book::cases()?);
    cases.extend(programs::cases()?);
    cases.extend(library::cases());
    cases.extend(notations::cases()?);
    Ok(cases)
}

fn case(shown: &str, path: PathBuf, section: Section) -> Result<Case, String> {
    let kind = kinds::ALL.iter().find(|kind| kind.name == section.kind).ok_or_else(|| {
        format!("{shown}:{}: there is no kind of test `{}`", section.line, section.kind)
    })?;
    let name = format!("{shown}::{}", section.name);
    Ok(Case { name, run: Box::new(move || (kind.run)(&path, &section)) })
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|it| it == "ein") {
            files.push(path);
        }
    }
    Ok(())
}
