//! The examples on the pages about diagnostics: the failing one fails with exactly the code of
//! its page, the fixed one passes.
//!
//! An example is a block marked `einlang fails` or `einlang fixed`. A block `einlang file PATH`
//! in front of one is a file beside both.

use crate::{Case, kinds};
use ein_driver::render::Style;
use ein_driver::{Code, Stage};

/// The stages whose pages have examples that are executed: a stage joins when it is written.
pub const ENABLED: &[Stage] = &[Stage::Syntax, Stage::Names];

/// The pages that need more than a program that is checked, each with the reason.
pub const EXCEPT: &[(Code, &str)] = &[];

/// One test for each page of an enabled stage.
pub fn cases() -> impl Iterator<Item = Case> {
    let enabled = |code: &&Code| {
        ENABLED.contains(&code.stage()) && !EXCEPT.iter().any(|(except, _)| except == *code)
    };
    Code::ALL
        .iter()
        .filter(enabled)
        .map(|&code| Case { name: format!("pages::{code}"), run: Box::new(move || page(code)) })
}

/// The blocks of a page: what stands after the opening mark, and the text.
fn blocks(page: &str) -> Vec<(&str, String)> {
    let mut blocks: Vec<(&str, String)> = Vec::new();
    let mut open = false;
    for line in page.lines() {
        if let Some(mark) = line.strip_prefix("```") {
            open = !open;
            if open {
                blocks.push((mark.trim(), String::new()));
            }
        } else if open && let Some((_, text)) = blocks.last_mut() {
            text.push_str(line);
            text.push('\n');
        }
    }
    blocks
}

fn page(code: Code) -> Result<(), String> {
    let blocks = blocks(code.page());
    let files: Vec<(String, String)> = blocks
        .iter()
        .filter_map(|(mark, text)| Some((mark.strip_prefix("einlang file ")?, text)))
        .map(|(path, text)| (path.trim().to_owned(), text.clone()))
        .collect();
    let example = |mark: &str| {
        let found = blocks.iter().find(|(it, _)| *it == mark).map(|(_, text)| text.as_str());
        found.ok_or_else(|| format!("the page of {code} has no block marked `{mark}`"))
    };

    let (session, report) = kinds::checked("page.ein", example("einlang fails")?, &files)?;
    let codes: Vec<Code> = report.diagnostics.iter().map(|it| it.code).collect();
    if codes.is_empty() || codes.iter().any(|it| *it != code) {
        let shown = session.render(&report.diagnostics, Style::Plain);
        return Err(format!("the failing example gives {codes:?} instead of {code}:\n{shown}"));
    }

    let (session, report) = kinds::checked("page.ein", example("einlang fixed")?, &files)?;
    if report.diagnostics.is_empty() {
        return Ok(());
    }
    let shown = session.render(&report.diagnostics, Style::Plain);
    Err(format!("the fixed example does not pass:\n{shown}"))
}
