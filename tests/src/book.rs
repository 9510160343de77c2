//! The programs in the book and in the README: every block marked `einlang` is executed.
//!
//! | mark | holds if |
//! | --- | --- |
//! | `einlang` | it is formatted, and runs without errors and warnings |
//! | `einlang input NAME=VALUE …` | the same, with these inputs |
//! | `einlang warns CODE` | it runs, and exactly this warning is given |
//! | `einlang fails CODE` | it is rejected, or stops, with this code and no other |
//! | `einlang file PATH` | no test: a file beside the programs that follow in the chapter |
//! | `text output` | what the program before it prints; then, if it fails, its diagnostics |
//! | `text codes` | it lists all codes, as `einlang explain --list` does |
//!
//! Marks that do not begin with `einlang` are not looked at.

use crate::markdown::{Block, blocks};
use crate::{Case, repository};
use ein_driver::render::Style;
use ein_driver::{
    Access, Diagnostic, Engine, FileSources, Formatted, Input, InputValue, Options, RunOptions,
    Session, format_text,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What diagnostics call a program of the book.
const PROGRAM: &str = "program.ein";

/// The mark of the list of all codes.
const LIST: &str = "text codes";

/// A program of the book.
struct Program {
    text: String,
    files: Vec<(String, String)>,
    inputs: Vec<(String, InputValue)>,
    expected: Expected,
    output: Option<String>,
}

/// What becomes of a program.
enum Expected {
    Runs,
    Warns(String),
    Fails(String),
}

/// One test for each program of the book and of the README.
pub fn cases() -> Result<Vec<Case>, String> {
    let root = repository();
    let mut chapters = vec![root.join("README.md")];
    let folder = root.join("book/src");
    chapters.extend(markdown_files(&folder)?);
    let name = "book/src/SUMMARY.md".to_owned();
    let mut cases = vec![Case { name, run: Box::new(move || contents(&folder)) }];
    for path in chapters {
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let shown = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        for Block { line, text, .. } in blocks(&text).into_iter().filter(|it| it.mark == LIST) {
            let name = format!("{shown}:{line}");
            cases.push(Case { name, run: Box::new(move || codes(&text)) });
        }
        for (line, program) in programs(&text).map_err(|why| format!("{shown}:{why}"))? {
            let name = format!("{shown}:{line}");
            cases.push(Case { name, run: Box::new(move || run(&program)) });
        }
    }
    Ok(cases)
}

/// Whether the table of contents names every chapter, and nothing else.
fn contents(folder: &Path) -> Result<(), String> {
    let summary =
        std::fs::read_to_string(folder.join("SUMMARY.md")).map_err(|error| error.to_string())?;
    let mut named: Vec<&str> = summary
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .chain(["SUMMARY.md"])
        .collect();
    named.sort_unstable();
    let there: Vec<String> = markdown_files(folder)?
        .iter()
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    match named == there {
        true => Ok(()),
        false => Err(format!("it names {named:?}, but the chapters are {there:?}")),
    }
}

fn markdown_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|it| it == "md"))
        .collect();
    files.sort();
    Ok(files)
}

/// The programs of a chapter, each with its line.
fn programs(chapter: &str) -> Result<Vec<(usize, Program)>, String> {
    let mut programs: Vec<(usize, Program)> = Vec::new();
    let mut files: Vec<(String, String)> = Vec::new();
    for Block { mark, line, text } in blocks(chapter) {
        let words: Vec<&str> = mark.split_whitespace().collect();
        let (expected, inputs) = match words.as_slice() {
            ["text", "output"] => {
                let (_, program) = programs
                    .last_mut()
                    .ok_or_else(|| format!("{line}: an output without a program"))?;
                if program.output.replace(text).is_some() {
                    return Err(format!("{line}: a second output of one program"));
                }
                continue;
            }
            ["einlang", "file", path] => {
                files.retain(|(other, _)| other != path);
                files.push(((*path).to_owned(), text));
                continue;
            }
            ["einlang"] => (Expected::Runs, Vec::new()),
            ["einlang", "input", inputs @ ..] => (Expected::Runs, parse_inputs(line, inputs)?),
            ["einlang", "warns", code] => (Expected::Warns((*code).to_owned()), Vec::new()),
            ["einlang", "fails", code] => (Expected::Fails((*code).to_owned()), Vec::new()),
            ["einlang", ..] => return Err(format!("{line}: a mark that means nothing: `{mark}`")),
            _ => continue,
        };
        let files = files.clone();
        programs.push((line, Program { text, files, inputs, expected, output: None }));
    }
    Ok(programs)
}

fn codes(text: &str) -> Result<(), String> {
    let list = ein_driver::explain::list();
    match text.trim_end() == list.trim_end() {
        true => Ok(()),
        false => Err(format!("the list of codes is\n{list}")),
    }
}

fn parse_inputs(line: usize, inputs: &[&str]) -> Result<Vec<(String, InputValue)>, String> {
    inputs
        .iter()
        .map(|input| {
            let (name, value) = input
                .split_once('=')
                .ok_or_else(|| format!("{line}: an input is `NAME=VALUE`, not `{input}`"))?;
            Ok((name.to_owned(), InputValue::Scalar(value.to_owned())))
        })
        .collect()
}

fn run(program: &Program) -> Result<(), String> {
    if !matches!(program.expected, Expected::Fails(_)) {
        formatted(&program.text)?;
    }
    for engine in [Engine::Auto, Engine::Jit] {
        run_on(engine, program).map_err(|why| format!("on `{}`: {why}", engine.as_str()))?;
    }
    Ok(())
}

fn run_on(engine: Engine, program: &Program) -> Result<(), String> {
    let mut sources = FileSources::in_memory();
    sources.insert(PROGRAM, program.text.as_str());
    for (path, text) in &program.files {
        formatted(text)?;
        sources.insert(path, text.as_str());
    }
    let mut session = Session::new(Options::default(), sources);
    let options = RunOptions {
        inputs: program.inputs.clone(),
        engine,
        access: Access { sandbox: true, ..Access::default() },
        ..RunOptions::default()
    };
    let mut found = String::new();
    let mut print = |line: &str| {
        found.push_str(line);
        found.push('\n');
    };
    let interrupted = Arc::new(AtomicBool::new(false));
    let report = session
        .run(&Input::File(PROGRAM.into()), &options, interrupted, &mut print)
        .map_err(|bug| format!("{bug}: {}", bug.detail))?;

    let mut diagnostics: Vec<Diagnostic> = report.checked.diagnostics;
    diagnostics.extend(report.failure);
    let rendered = session.render(&diagnostics, Style::Plain);
    let codes: Vec<&str> = diagnostics.iter().map(|it| it.code.as_str()).collect();
    match &program.expected {
        Expected::Runs if !codes.is_empty() => {
            return Err(format!("it does not run without a word:\n{rendered}"));
        }
        Expected::Runs => {}
        Expected::Warns(code) | Expected::Fails(code) => {
            if codes.is_empty() || codes.iter().any(|it| it != code) {
                return Err(format!("it gives {codes:?} instead of {code}:\n{rendered}"));
            }
        }
    }
    found.push_str(&rendered);
    match &program.output {
        Some(expected) if expected.trim_end() != found.trim_end() => {
            Err(format!("the output is\n{found}\nand not\n{expected}"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Whether a program is in the canonical format.
fn formatted(text: &str) -> Result<(), String> {
    let text: Arc<str> = Arc::from(text);
    match format_text(PROGRAM, &text).map_err(|bug| format!("{bug}: {}", bug.detail))? {
        Formatted::Same => Ok(()),
        Formatted::Changed(better) => Err(format!("it is not formatted; write\n{better}")),
        Formatted::Rejected(files, diagnostics) => {
            Err(ein_driver::render::render(&files, &diagnostics, Style::Plain))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_understood_or_refused() {
        let chapter = "```sh\nls\n```\n```einlang file a.ein\npub fn f() { 1 }\n```\n\
                       ```einlang input n=3\nlet n: i32 = input();\nprint(n + a::f());\n```\n\
                       ```text output\n4\n```\n```einlang fails E0201\nlet x = y;\n```\n";
        let programs = programs(chapter).unwrap();
        assert_eq!(programs.len(), 2);
        assert_eq!((programs[0].0, programs[0].1.output.as_deref()), (7, Some("4\n")));
        for (_, program) in &programs {
            run(program).unwrap();
        }
        assert!(super::programs("```einlang ignore\n```\n").is_err());
        assert!(super::programs("```text output\n```\n").is_err());
        let wrong = super::programs("```einlang\nlet x = y;\n```\n").unwrap();
        assert!(run(&wrong[0].1).is_err());
    }
}
