//! The format of suite files.
//!
//! ```text
//! --- name kind ---
//! let x = 1;
//! // Error: E0201 there is no `y`
//! let z = y;
//!
//! --- lens/optics.ein file ---
//! pub fn focus(x) { x }
//! ```
//!
//! A section begins with its name and its kind. `file` sections are not tests but files beside
//! the program of the test above them. Expectations are comments above the line they are about;
//! several may stand above one line. A number or a range after `Error:` is the column, as in
//! `// Error: 5-8 E0201`; the text after the code must occur in the message.

/// A test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name, unique in its file.
    pub name: String,
    /// What kind of test it is.
    pub kind: String,
    /// The line of the suite file where its program begins, one-based.
    pub line: usize,
    /// The program.
    pub text: String,
    /// Files beside it: path and text.
    pub files: Vec<(String, String)>,
}

/// What a comment of a program expects to be reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The one-based line of the program.
    pub line: usize,
    /// The one-based column, if given.
    pub column: Option<usize>,
    /// `error` or `warning`.
    pub severity: &'static str,
    /// The code.
    pub code: String,
    /// Text that the message contains.
    pub text: String,
}

/// The sections of a suite file.
pub fn parse(shown: &str, text: &str) -> Result<Vec<Section>, String> {
    let mut sections: Vec<Section> = Vec::new();
    let mut in_file = false;
    for (i, line) in text.lines().enumerate() {
        let here = || format!("{shown}:{}", i + 1);
        if let Some(header) = line.strip_prefix("--- ") {
            let header = header
                .strip_suffix(" ---")
                .ok_or_else(|| format!("{}: a header ends with ` ---`", here()))?;
            let (name, kind) = header
                .split_once(' ')
                .ok_or_else(|| format!("{}: a header is `--- name kind ---`", here()))?;
            in_file = kind == "file";
            if in_file {
                let owner = sections
                    .last_mut()
                    .ok_or_else(|| format!("{}: a file belongs to a test above it", here()))?;
                owner.files.push((name.to_owned(), String::new()));
            } else if sections.iter().any(|it| it.name == name) {
                return Err(format!("{}: there are two tests `{name}`", here()));
            } else {
                sections.push(Section {
                    name: name.to_owned(),
                    kind: kind.to_owned(),
                    line: i + 2,
                    text: String::new(),
                    files: Vec::new(),
                });
            }
            continue;
        }
        match sections.last_mut() {
            None if line.trim().is_empty() || line.starts_with("//") => {}
            None => return Err(format!("{}: text before the first header", here())),
            Some(section) => {
                let target = match section.files.last_mut() {
                    Some((_, text)) if in_file => text,
                    _ => &mut section.text,
                };
                target.push_str(line);
                target.push('\n');
            }
        }
    }
    for section in &mut sections {
        trim_end(&mut section.text);
        for (_, text) in &mut section.files {
            trim_end(text);
        }
    }
    Ok(sections)
}

/// Drops the empty lines before the next header.
fn trim_end(text: &mut String) {
    text.truncate(text.trim_end().len());
    if !text.is_empty() {
        text.push('\n');
    }
}

/// What the comments of a program expect.
pub fn expectations(text: &str) -> Result<Vec<Expected>, String> {
    let mut expected = Vec::new();
    let mut open: Vec<Expected> = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let comment = line.trim_start().strip_prefix("//").map(str::trim_start);
        let found = comment.and_then(|comment| {
            let error = comment.strip_prefix("Error:").map(|rest| ("error", rest));
            error.or_else(|| comment.strip_prefix("Warning:").map(|rest| ("warning", rest)))
        });
        match found {
            Some((severity, rest)) => open.push(expectation(severity, rest)?),
            None => {
                for one in &mut open {
                    one.line = i + 1;
                }
                expected.append(&mut open);
            }
        }
    }
    match open.is_empty() {
        true => Ok(expected),
        false => Err("an expectation stands above nothing".into()),
    }
}

fn expectation(severity: &'static str, rest: &str) -> Result<Expected, String> {
    let mut rest = rest.trim();
    let mut column = None;
    if rest.starts_with(|c: char| c.is_ascii_digit()) {
        let (range, after) = rest.split_once(' ').unwrap_or((rest, ""));
        let first = range.split('-').next().unwrap_or(range);
        column = Some(first.parse().map_err(|_| format!("`{range}` is not a column"))?);
        rest = after.trim();
    }
    let (code, text) = rest.split_once(' ').unwrap_or((rest, ""));
    if code.is_empty() {
        return Err(format!("an expectation names a code, as in `// {severity}: E0201`"));
    }
    Ok(Expected { line: 0, column, severity, code: code.into(), text: text.trim().into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_files_and_expectations() {
        let text = "// about\n\n--- one check ---\nlet x = 1;\n// Error: 9 E0201 no `y`\n\
                    // Warning: W0101\nlet z = y;\n\n--- a/b.ein file ---\nfn f() { 1 }\n\n\
                    --- two render ---\nz\n";
        let sections = parse("t.ein", text).unwrap();
        assert_eq!(sections.len(), 2);
        assert_eq!(sections[0].files, [("a/b.ein".into(), "fn f() { 1 }\n".into())]);
        assert_eq!((sections[1].line, sections[1].text.as_str()), (13, "z\n"));
        let expected = expectations(&sections[0].text).unwrap();
        assert_eq!(expected.len(), 2);
        assert_eq!((expected[0].line, expected[0].column), (4, Some(9)));
        assert_eq!((expected[1].severity, expected[1].code.as_str()), ("warning", "W0101"));
        assert!(expectations("// Error: E0201\n").is_err());
        assert!(parse("t.ein", "let x = 1;").is_err());
    }
}
