//! Pages about diagnostics, as text for a terminal.

use crate::named::distance;
use ein_base::{Code, Stage};
use std::fmt::Write as _;

/// A code that does not exist, with the ones that look most like it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownCode {
    /// At most three.
    pub nearest: Vec<Code>,
}

/// The page of a code.
pub fn page(code: &str) -> Result<String, UnknownCode> {
    match code.parse::<Code>() {
        Ok(code) => Ok(plain(code.page())),
        Err(()) => Err(UnknownCode { nearest: nearest(code) }),
    }
}

/// Every code with its title, by the stage that reports it.
pub fn list() -> String {
    let mut out = String::new();
    let mut last = None;
    for &code in Code::ALL {
        if last != Some(code.stage()) {
            if last.is_some() {
                out.push('\n');
            }
            let _ = writeln!(out, "{}", stage_title(code.stage()));
            last = Some(code.stage());
        }
        let _ = writeln!(out, "  {code}  {}", code.title());
    }
    out
}

fn stage_title(stage: Stage) -> &'static str {
    match stage {
        Stage::Syntax => "Syntax",
        Stage::Names => "Names and modules",
        Stage::Coordinates => "Coordinates",
        Stage::Ranges => "Ranges, bounds, shapes and sizes",
        Stage::Types => "Types, casts, patterns and calls",
        Stage::Recurrences => "Recurrences",
        Stage::Derivatives => "Derivatives",
        Stage::RunTime => "While running",
        Stage::InputOutput => "Input, output and engines",
        Stage::Warning => "Warnings",
    }
}

/// Markdown without its marks: headings underlined, examples indented and named.
fn plain(markdown: &str) -> String {
    let mut out = String::new();
    let mut in_example = false;
    for line in markdown.trim_end().lines() {
        if let Some(mark) = line.strip_prefix("```") {
            in_example = !in_example;
            match mark.trim().strip_prefix("einlang").map(str::trim) {
                Some("fails") => out.push_str("This fails:\n\n"),
                Some("fixed") => out.push_str("This passes:\n\n"),
                Some(other) if other.starts_with("file ") => {
                    let _ = writeln!(out, "With the file {}:\n", &other["file ".len()..]);
                }
                _ => {}
            }
        } else if in_example {
            let _ = writeln!(out, "{}", format!("    {line}").trim_end());
        } else if let Some(title) = line.strip_prefix('#') {
            let title = title.trim_start_matches('#').trim();
            let _ = writeln!(out, "{title}\n{}", "=".repeat(title.chars().count()));
        } else {
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

/// The codes that look most like what was typed.
fn nearest(typed: &str) -> Vec<Code> {
    let typed = typed.trim().to_ascii_uppercase();
    if typed.is_empty() || typed.len() > 16 {
        return Vec::new();
    }
    // Someone who types only the number means an error.
    let bare = typed.chars().all(|c| c.is_ascii_digit());
    let wanted = if bare { format!("E{typed:0>4}") } else { typed };
    let mut ranked: Vec<(usize, Code)> =
        Code::ALL.iter().map(|&code| (distance(&wanted, code.as_str()), code)).collect();
    ranked.sort();
    ranked.into_iter().take_while(|(far, _)| *far <= 2).take(3).map(|(_, code)| code).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_found_in_any_case_of_letters() {
        assert!(page("E0201").is_ok());
        assert_eq!(page("e0201"), page("E0201"));
    }

    #[test]
    fn an_unknown_code_names_its_neighbours() {
        assert_eq!(page("E0299").unwrap_err().nearest.len(), 3);
        assert_eq!(page("201").unwrap_err().nearest.first(), Some(&Code::E0201));
        assert_eq!(page("nonsense").unwrap_err().nearest, []);
        assert_eq!(page("").unwrap_err().nearest, []);
    }

    #[test]
    fn markdown_is_shown_plainly() {
        let shown = plain("# E1: t\n\nText `x`.\n\n```einlang fails\nlet x;\n```\n");
        assert_eq!(shown, "E1: t\n=====\n\nText `x`.\n\nThis fails:\n\n    let x;\n");
    }

    #[test]
    fn the_list_holds_every_code_once() {
        let list = list();
        for code in Code::ALL {
            assert_eq!(list.matches(&format!("  {code}  ")).count(), 1, "{code}");
        }
    }
}
