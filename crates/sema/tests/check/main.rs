//! The checker by itself: the text of a program in, diagnostics and tensor IR out.
//!
//! Each `programs/NAME.ein` stands beside `NAME.out`: what is said of it, one line each, and where
//! nothing is an error the tensor IR that it becomes, which must keep its rules and read back as
//! itself. `EINLANG_BLESS=1` writes these files; look at the difference.

use ein_base::{Diagnostic, SourceError, SourceMap, Sources};
use ein_ir::tensor::{parse::parse, print::print, verify::verify};
use ein_sema::check::check;
use ein_sema::resolve::resolve;
use rustc_hash::FxHashSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// No other files, and no library.
struct Nothing;

impl Sources for Nothing {
    fn read(&self, _: &Path) -> Result<Arc<str>, SourceError> {
        Err(SourceError::Missing)
    }
    fn is_file(&self, _: &Path) -> bool {
        false
    }
    fn library(&self, _: &str) -> Option<Arc<str>> {
        None
    }
}

/// What the checker says and makes of a program.
fn checked(name: &str, text: &str) -> String {
    let mut files = SourceMap::default();
    let root = files.add("main.ein".into(), Some("main.ein".into()), text.into());
    let resolved = resolve(&mut files, root, &Nothing);
    let checked = check(&resolved.program, &FxHashSet::default());
    let diagnostics: Vec<&Diagnostic> =
        resolved.diagnostics.iter().chain(&checked.diagnostics).collect();
    let mut out = String::new();
    for d in &diagnostics {
        let (line, column) = files.position(d.primary.span);
        let _ = writeln!(out, "{line}:{column} {} {}", d.code, d.message);
        for label in &d.labels {
            let _ = writeln!(out, "    {}: {}", files.position(label.span).0, label.text);
        }
    }
    if diagnostics.iter().all(|d| !d.is_error()) {
        verify(&checked.program).unwrap_or_else(|broken| panic!("{name}: {broken:?}"));
        let ir = print(&checked.program);
        let again = parse(&ir).unwrap_or_else(|error| panic!("{name}: {error:?}\n{ir}"));
        assert_eq!(print(&again), ir, "{name} does not read back");
        out += &ir;
    }
    out
}

#[test]
fn programs_become_what_stands_beside_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/check/programs");
    let entries = fs::read_dir(&folder).expect("the folder is part of the crate");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == "ein"));
    paths.sort();
    assert!(paths.len() >= 20, "programs are missing");
    let mut wrong = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(&path).expect("a file that was listed");
        let (got, beside) = (checked(&name, &text), path.with_extension("out"));
        if std::env::var_os("EINLANG_BLESS").is_some() {
            fs::write(&beside, &got).expect("the folder can be written");
        } else if fs::read_to_string(&beside).unwrap_or_default() != got {
            wrong.push(format!("{name}:\n{got}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
