//! Whether what the checker says answers four questions: which name, on what, declared where, and
//! what would make it right.
//!
//! Every error of the stages in [`HELD`], in every section of the suite and on every page, says
//! something at the place at fault, quotes what it is about, and shows a way out. For each code
//! there is a section `render` of its name under `suite/rendered/`, which ends with what its
//! rendering must show:
//!
//! ```text
//! --- E0301 render ---
//! let logits: [f32; batch: 4, feature: 4] = input();
//! let top[batch] = max[class](logits[batch, class]);
//! // names: class, logits
//! // declared: 1
//! ```
//!
//! `names` stand in backquotes in the rendering: the coordinate, the tensor, the binding. At the
//! lines that `declared` lists, of the program or as `FILE:LINE` of a file beside it, a label shows
//! where they were declared. What a code cannot answer stands in [`WITHOUT`], with the reason.

use crate::Case;
use crate::section::{self, Section};
use ein_driver::render::Style;
use ein_driver::{Code, Diagnostic, Session, Stage};
use std::path::Path;

/// The stages whose errors answer.
const HELD: &[Stage] =
    &[Stage::Names, Stage::Coordinates, Stage::Ranges, Stage::Types, Stage::Recurrences];

/// A question that an error answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question {
    /// Which coordinate, tensor, binding or item is concerned?
    Name,
    /// Where was it declared?
    Declaration,
}

/// The questions that have no answer, each with the reason.
const WITHOUT: &[(Code, Question, &str)] = &[
    (Code::E0208, Question::Declaration, "the two files it names are the declarations"),
    (Code::E0210, Question::Declaration, "the file it names cannot be shown"),
    (Code::E0213, Question::Declaration, "what Python declares is not part of the program"),
    (Code::E0416, Question::Name, "it is about the rows of a literal, which have no names"),
    (Code::E0416, Question::Declaration, "a literal stands where it is declared"),
    (Code::E0515, Question::Declaration, "a literal stands where it is declared"),
    (Code::E0516, Question::Name, "it is about a literal, which has no name"),
    (Code::E0516, Question::Declaration, "a literal stands where it is declared"),
    (Code::E0517, Question::Declaration, "a type that is not known is not declared"),
    (Code::E0521, Question::Name, "it is about a tuple, which has no name"),
    (Code::E0521, Question::Declaration, "a tuple stands where it is declared"),
];

fn held(code: Code) -> bool {
    HELD.contains(&code.stage())
}

fn without(code: Code, question: Question) -> bool {
    WITHOUT.iter().any(|(other, which, _)| (*other, *which) == (code, question))
}

/// One test for each code whose errors answer.
pub fn cases() -> impl Iterator<Item = Case> {
    let codes = Code::ALL.iter().copied().filter(|code| held(*code));
    codes
        .map(|code| Case { name: format!("answers::{code}"), run: Box::new(move || answers(code)) })
}

/// What an error of the checker must have wherever it is reported.
pub fn complete(session: &Session, diagnostics: &[Diagnostic]) -> Result<(), String> {
    for diagnostic in diagnostics.iter().filter(|it| held(it.code)) {
        let lacks = |what: &str| {
            let shown = session.render(std::slice::from_ref(diagnostic), Style::Plain);
            Err(format!("an error {what}:\n{shown}"))
        };
        if diagnostic.primary.text.is_empty() && !diagnostic.primary.span.is_empty() {
            return lacks("says nothing at the place at fault");
        }
        if diagnostic.helps.is_empty() {
            return lacks("shows no way out");
        }
        let labels = diagnostic.labels.iter().map(|label| &label.text);
        let mut texts = labels.chain([&diagnostic.message, &diagnostic.primary.text]);
        if !texts.any(|text| text.contains('`')) && !without(diagnostic.code, Question::Name) {
            return lacks("names nothing");
        }
    }
    Ok(())
}

/// Whether the rendering of a code shows what its section says.
fn answers(code: Code) -> Result<(), String> {
    let folder = crate::repository().join("tests/suite/rendered");
    let golden = folder.join(format!("{code}.stderr"));
    let shown = read(&golden)?;
    if !shown.contains(&format!("error[{code}]")) {
        return Err(format!("{} does not show {code}", golden.display()));
    }
    if !shown.contains("= help: ") {
        return Err(format!("{} shows no way out", golden.display()));
    }
    match section_of(&folder, code)? {
        Some(section) => answered(code, &section, &shown),
        // The page about the code is rendered instead: it needs real files.
        None if without(code, Question::Declaration) => Ok(()),
        None => Err(format!("there is no section `--- {code} render ---`")),
    }
}

/// The section that renders a code.
fn section_of(folder: &Path, code: Code) -> Result<Option<Section>, String> {
    let mut files = Vec::new();
    crate::collect(folder, &mut files).map_err(|error| format!("{}: {error}", folder.display()))?;
    for path in files {
        let sections = section::parse(&path.display().to_string(), &read(&path)?)?;
        let found = sections.into_iter().find(|it| it.name == code.as_str() && it.kind == "render");
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn answered(code: Code, section: &Section, shown: &str) -> Result<(), String> {
    let names = listed(section, "// names: ");
    if names.is_empty() != without(code, Question::Name) {
        return Err("it must either list `// names:` or be excepted, not both".into());
    }
    if let Some(name) = names.iter().find(|name| !shown.contains(&format!("`{name}`"))) {
        return Err(format!("the rendering does not name `{name}`:\n{shown}"));
    }
    let declared = listed(section, "// declared: ");
    if declared.is_empty() != without(code, Question::Declaration) {
        return Err("it must either list `// declared:` or be excepted, not both".into());
    }
    let places = labelled(shown);
    let own = format!("{}.ein", section.name);
    for place in declared {
        let (file, line) = place.split_once(':').unwrap_or((&own, &place));
        if !places.contains(&format!("{file}:{line}")) {
            return Err(format!("no label shows the declaration at line {place}:\n{shown}"));
        }
    }
    Ok(())
}

/// What a comment of a section lists.
fn listed(section: &Section, before: &str) -> Vec<String> {
    let lines = section.text.lines().filter_map(|line| line.strip_prefix(before));
    lines.flat_map(|line| line.split(", ")).map(str::to_owned).collect()
}

/// The lines of a rendering that carry a label, as `FILE:LINE`.
fn labelled(shown: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut file, mut number) = ("", "");
    for line in shown.lines() {
        let text = line.trim_start();
        if let Some(place) = text.strip_prefix("--> ").or_else(|| text.strip_prefix("::: ")) {
            file = place.split(':').next().unwrap_or(place);
            continue;
        }
        let Some((margin, text)) = line.split_once('|') else { continue };
        let marked = text.trim_start().starts_with(['^', '-']);
        match margin.trim() {
            "" if marked && !number.is_empty() => found.push(format!("{file}:{number}")),
            "" => {}
            line => number = line,
        }
    }
    found
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::labelled;

    #[test]
    fn lines_with_labels() {
        let shown = "error[E0301]: m\n --> a.ein:2:4\n  |\n1 | let x = 1;\n  |     - here\n\
                     2 | let y = 2;\n3 | x[c]\n  |   ^ there\n  |\n ::: b.ein:7:1\n  |\n\
                     7 | fn f\n  |    -\n  |    |\n  |    far\n  = help: h\n";
        assert_eq!(labelled(shown), ["a.ein:1", "a.ein:3", "b.ein:7"]);
    }
}
