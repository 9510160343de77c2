//! The standard library: every public function of the modules in [`MODULES`] is documented, and is
//! compared with what NumPy gives.
//!
//! The programs in `tests/library/numpy/` are written by `make.py` there; they run like every
//! program with a `.out` file beside it. `files.ein` changes files, so it runs here, in a folder of
//! its own, and what it saves is compared with what NumPy saved, byte by byte.

use crate::{Case, repository};
use ein_driver::render::Style;
use ein_driver::{Access, FileSources, Input, Options, RunOptions, Session, library};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The modules: a name, and what the paths of their files begin with.
const MODULES: &[(&str, &str)] = &[
    ("array", "array.ein"),
    ("io", "io.ein"),
    ("math", "math/"),
    ("ml", "ml/"),
    ("ops", "ops.ein"),
];

/// Files that the library is written on and nobody else calls.
const INTERNAL: &[&str] = &["ml/axes.ein", "ml/spatial.ein"];

/// The functions that NumPy has no counterpart of, with the reason; `files.ein` calls them.
const UNCOMPARED: &[(&str, &str)] = &[
    ("save_npy", "its result is a file, which is compared with NumPy's"),
    ("write_file", "its result is a file"),
    ("append_file", "its result is a file"),
    ("copy_file", "its result is a file"),
    ("move_file", "its result is a file"),
    ("delete_file", "its result is that a file is gone"),
    ("create_dir", "its result is a folder"),
    ("remove_dir", "its result is that a folder is gone"),
    ("current_dir", "it depends on where the test is started"),
    ("script_dir", "it depends on where the test lies"),
];

/// Files that NumPy wrote in an order of elements or bytes that we read, but do not write.
const OTHER_ORDER: &[&str] = &["big_endian.npy", "columns_first.npy"];

/// Three tests of what stands in the library, and one that changes files.
pub fn cases() -> impl Iterator<Item = Case> {
    [
        Case { name: "library::every-function-is-documented".into(), run: Box::new(documented) },
        Case { name: "library::every-function-is-compared".into(), run: Box::new(compared) },
        Case { name: "library::every-name-is-there".into(), run: Box::new(named) },
        Case { name: "library::numpy/files.ein".into(), run: Box::new(files) },
    ]
    .into_iter()
}

/// A public function of the library.
struct Function {
    module: &'static str,
    name: String,
    parameters: Vec<String>,
    documentation: String,
}

/// All public functions of the modules.
fn functions() -> Vec<Function> {
    let mut found = Vec::new();
    for (module, start) in MODULES {
        let files = library::files()
            .iter()
            .filter(|(path, _)| path.starts_with(start) && !INTERNAL.contains(path));
        files.for_each(|(_, text)| public(module, text, &mut found));
    }
    found
}

/// The public functions of a file.
fn public(module: &'static str, text: &str, found: &mut Vec<Function>) {
    let mut documentation = String::new();
    for line in text.lines() {
        if let Some(line) = line.strip_prefix("///") {
            documentation.push_str(line);
            documentation.push('\n');
            continue;
        }
        let declared = line.strip_prefix("pub fn ").map(|rest| {
            let end = rest.find(['<', '[', '(']).unwrap_or(rest.len());
            (rest[..end].to_owned(), parameters(rest))
        });
        let passed_on = line.strip_prefix("pub use std::intrinsics::");
        let passed_on = passed_on.map(|name| (name.trim_end_matches(';').to_owned(), Vec::new()));
        if let Some((name, parameters)) = declared.or(passed_on) {
            let documentation = documentation.clone();
            found.push(Function { module, name, parameters, documentation });
        }
        documentation.clear();
    }
}

/// The names between the parentheses of a declaration.
fn parameters(declaration: &str) -> Vec<String> {
    let Some((_, rest)) = declaration.split_once('(') else { return Vec::new() };
    let mut depth = 0;
    let mut names = Vec::new();
    let mut name = Some(String::new());
    for c in rest.chars() {
        match c {
            ')' if depth == 0 => break,
            '[' | '(' | '<' => depth += 1,
            ']' | ')' | '>' => depth -= 1,
            ',' if depth == 0 => names.extend(name.replace(String::new())),
            ':' => names.extend(name.take()),
            c => name.iter_mut().for_each(|name| name.push(c)),
        }
    }
    names.extend(name);
    names.iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

/// Every function has a description of itself and its parameters, and an example.
fn documented() -> Result<(), String> {
    let mut lacking = Vec::new();
    for Function { module, name, parameters, documentation } in functions() {
        let listed = documentation.lines().filter(|line| line.starts_with(" * "));
        let listed: Vec<&str> = listed.collect();
        let mut unlisted = parameters
            .iter()
            .filter(|parameter| !listed.iter().any(|it| it.contains(&format!("`{parameter}`"))));
        if documentation.trim().is_empty() {
            lacking.push(format!("std::{module}::{name} has no documentation"));
        } else if !documentation.contains("```einlang") {
            lacking.push(format!("std::{module}::{name} has no example"));
        } else if let Some(parameter) = unlisted.next() {
            lacking.push(format!("std::{module}::{name} does not describe `{parameter}`"));
        }
    }
    if lacking.is_empty() { Ok(()) } else { Err(lacking.join("\n")) }
}

/// Every function is called in the program of its module that NumPy's numbers are in, or is
/// excepted and called in `files.ein`.
fn compared() -> Result<(), String> {
    let files = read(&folder().join("files.ein"))?;
    let mut lacking = Vec::new();
    for (module, _) in MODULES {
        let program = read(&folder().join(format!("{module}.ein")))?;
        for Function { name, .. } in functions().iter().filter(|it| it.module == *module) {
            let call = format!("{module}::{name}(");
            let excepted = UNCOMPARED.iter().any(|(other, _)| other == name) && *module == "io";
            let there = if excepted { &files } else { &program };
            if !there.contains(&call) || excepted == program.contains(&call) {
                lacking.push(format!("`std::{call}…)` is not compared with NumPy"));
            }
        }
    }
    if lacking.is_empty() { Ok(()) } else { Err(lacking.join("\n")) }
}

/// Every path in `tests/library/names.txt`, which programs rely on, leads to something.
fn named() -> Result<(), String> {
    let names = read(&repository().join("tests/library/names.txt"))?;
    let imports = names.lines().enumerate().map(|(at, name)| format!("use {name} as n{at};\n"));
    let program: String = imports.collect();
    let mut session = Session::new(Options::default(), FileSources::on_disk());
    let input = Input::Text { name: "<names>".into(), text: program.into() };
    let checked = session.check(&[input]).map_err(|bug| format!("{bug}: {}", bug.detail))?;
    let errors: Vec<_> = checked.diagnostics.into_iter().filter(|it| it.is_error()).collect();
    if errors.is_empty() { Ok(()) } else { Err(session.render(&errors, Style::Plain)) }
}

/// The folder of the programs.
fn folder() -> PathBuf {
    repository().join("tests/library/numpy")
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Runs `files.ein` on a copy of the data, and compares what it saved.
fn files() -> Result<(), String> {
    let copy = std::env::temp_dir().join(format!("einlang-library-{}", std::process::id()));
    let ran = copied(&copy)
        .map_err(|error| format!("{}: {error}", copy.display()))
        .and_then(|()| changed(&copy))
        .and_then(|()| saved(&copy));
    let removed = fs::remove_dir_all(&copy);
    ran?;
    removed.map_err(|error| format!("{}: {error}", copy.display()))
}

fn copied(to: &Path) -> io::Result<()> {
    fs::create_dir_all(to.join("data"))?;
    fs::copy(folder().join("files.ein"), to.join("files.ein"))?;
    for entry in fs::read_dir(folder().join("data"))? {
        let entry = entry?;
        fs::copy(entry.path(), to.join("data").join(entry.file_name()))?;
    }
    Ok(())
}

/// Runs the program in a folder that it may write.
fn changed(folder: &Path) -> Result<(), String> {
    let mut session = Session::new(Options::default(), FileSources::on_disk());
    let access = Access { write: vec![folder.to_owned()], ..Access::default() };
    let options = RunOptions { access, ..RunOptions::default() };
    let input = Input::File(folder.join("files.ein"));
    let report = session
        .run(&input, &options, Arc::default(), &mut |_| {})
        .map_err(|bug| format!("{bug}: {}", bug.detail))?;
    let mut diagnostics = report.checked.diagnostics;
    diagnostics.extend(report.failure);
    match diagnostics.is_empty() {
        true => Ok(()),
        false => Err(session.render(&diagnostics, Style::Plain)),
    }
}

/// Whether the files that were saved are those that NumPy saved.
fn saved(folder: &Path) -> Result<(), String> {
    let bytes =
        |path: PathBuf| fs::read(&path).map_err(|error| format!("{}: {error}", path.display()));
    let listed = fs::read_dir(folder.join("data")).map_err(|error| error.to_string())?;
    for entry in listed {
        let name = entry.map_err(|error| error.to_string())?.file_name();
        let name = name.to_string_lossy();
        if !name.ends_with(".npy") || OTHER_ORDER.contains(&&*name) {
            continue;
        }
        let ours = bytes(folder.join("out/saved").join(&*name))?;
        if ours != bytes(folder.join("data").join(&*name))? {
            return Err(format!("`{name}` is not saved as NumPy saves it"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::parameters;

    #[test]
    fn names_of_parameters() {
        assert_eq!(parameters("f() -> i32 { 1 }"), Vec::<String>::new());
        assert_eq!(parameters("save(path: str, arr) -> bool {"), ["path", "arr"]);
        assert_eq!(parameters("t<T>[r, c](m: [T; ..l, r, c], k: T) {"), ["m", "k"]);
    }
}
