//! The examples on the pages about diagnostics: the failing one fails with exactly the code of
//! its page, the fixed one passes.
//!
//! An example is a block marked `einlang fails` or `einlang fixed`. A block `einlang file PATH`
//! in front of one is a file beside both; in an example, `// file: PATH` starts another file.

use crate::markdown::{Block, blocks};
use crate::{Case, kinds};
use ein_driver::render::Style;
use ein_driver::{Code, Diagnostic, Session, Stage};

/// The stages whose pages have examples that are executed: a stage joins when it is written.
pub const ENABLED: &[Stage] = &[
    Stage::Syntax,
    Stage::Names,
    Stage::Coordinates,
    Stage::Ranges,
    Stage::Types,
    Stage::Recurrences,
    Stage::Derivatives,
    Stage::RunTime,
    Stage::InputOutput,
    Stage::Warning,
];

/// The pages that need more than a program that is checked or run, each with the reason.
pub const EXCEPT: &[(Code, &str)] = &[
    (Code::E0210, "needs a file that is not text"),
    (Code::E0903, "needs a damaged file"),
    (Code::E0904, "needs an input"),
    (Code::E0905, "needs an input"),
    (Code::E0907, "needs a folder that the program may write to"),
];

/// Whether the examples of the page about a code are executed.
fn enabled(code: Code) -> bool {
    ENABLED.contains(&code.stage()) && !EXCEPT.iter().any(|(except, _)| *except == code)
}

/// One test for each page of an enabled stage, and one that no code is left out.
pub fn cases() -> impl Iterator<Item = Case> {
    let pages = Code::ALL.iter().copied().filter(|code| enabled(*code));
    let pages = pages
        .map(|code| Case { name: format!("pages::{code}"), run: Box::new(move || page(code)) });
    let all = Case { name: "pages::every-code-is-produced".into(), run: Box::new(produced) };
    pages.chain([all])
}

/// Every code is produced by the example of its page or by a section of the suite, or it is listed
/// with the reason why not.
fn produced() -> Result<(), String> {
    let mut said = String::new();
    let root = crate::repository().join("tests/suite");
    let mut files = Vec::new();
    crate::collect(&root, &mut files).map_err(|error| format!("{}: {error}", root.display()))?;
    for path in files {
        let text = std::fs::read_to_string(&path);
        said.push_str(&text.map_err(|error| format!("{}: {error}", path.display()))?);
    }
    let excused = |code: Code| EXCEPT.iter().any(|(except, _)| *except == code);
    let silent: Vec<&str> = Code::ALL
        .iter()
        .filter(|code| !enabled(**code) && !excused(**code) && !said.contains(code.as_str()))
        .map(|code| code.as_str())
        .collect();
    match silent.is_empty() {
        true => Ok(()),
        false => Err(format!("nothing produces {}", silent.join(", "))),
    }
}

fn page(code: Code) -> Result<(), String> {
    let blocks = blocks(code.page());
    let files: Vec<(String, String)> = blocks
        .iter()
        .filter_map(|Block { mark, text, .. }| Some((mark.strip_prefix("einlang file ")?, text)))
        .map(|(path, text)| (path.trim().to_owned(), text.clone()))
        .collect();
    let example = |mark: &str| {
        let found = blocks.iter().find(|it| it.mark == mark).map(|it| it.text.as_str());
        found.ok_or_else(|| format!("the page of {code} has no block marked `{mark}`"))
    };

    let (session, found) = diagnostics(code, example("einlang fails")?, &files)?;
    let codes: Vec<Code> = found.iter().map(|it| it.code).collect();
    if codes.is_empty() || codes.iter().any(|it| *it != code) {
        let shown = session.render(&found, Style::Plain);
        return Err(format!("the failing example gives {codes:?} instead of {code}:\n{shown}"));
    }

    let (session, found) = diagnostics(code, example("einlang fixed")?, &files)?;
    if found.is_empty() {
        return Ok(());
    }
    let shown = session.render(&found, Style::Plain);
    Err(format!("the fixed example does not pass:\n{shown}"))
}

/// What is said about an example: examples of what goes wrong in a run are run.
fn diagnostics(
    code: Code,
    text: &str,
    files: &[(String, String)],
) -> Result<(Session, Vec<Diagnostic>), String> {
    let mut files = files.to_vec();
    let mut parts = text.split("// file: ");
    let text = parts.next().unwrap_or_default();
    files.extend(parts.filter_map(|part| {
        let (path, text) = part.split_once('\n')?;
        Some((path.trim().to_owned(), text.to_owned()))
    }));
    match code.stage() {
        Stage::RunTime | Stage::InputOutput => {
            let (session, found, _) = kinds::ran("page.ein", text, &files)?;
            Ok((session, found))
        }
        _ => {
            let (session, report) = kinds::checked("page.ein", text, &files)?;
            Ok((session, report.diagnostics))
        }
    }
}
