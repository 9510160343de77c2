//! The examples in the documentation of a file, as tests of its own functions.
//!
//! What takes arrays of any rank is checked where it is called: a library file that nobody calls says
//! nothing of most mistakes in it. Its examples call it, here the functions beside them and not those of
//! the library that is built in.

use std::fmt::Write as _;

/// A test for each example in the documentation of a file; nothing if it has none.
pub fn tests(text: &str) -> String {
    let mut tests = String::new();
    let mut inside = false;
    for (at, line) in text.lines().enumerate() {
        let Some(doc) = line.trim_start().strip_prefix("///") else {
            inside = false;
            continue;
        };
        let doc = doc.strip_prefix(' ').unwrap_or(doc);
        match (inside, doc) {
            (false, "```einlang") => {
                let _ = writeln!(tests, "test \"the example of line {}\" {{", at + 1);
                inside = true;
            }
            (true, "```") => {
                tests.push_str("}\n");
                inside = false;
            }
            (true, _) => {
                let _ = writeln!(tests, "{}", without_own(doc, text));
            }
            (false, _) => {}
        }
    }
    tests
}

/// A line, without the imports of what the file itself defines.
fn without_own(line: &str, text: &str) -> String {
    let Some((path, names)) = line
        .strip_prefix("use ")
        .and_then(|rest| rest.strip_suffix(';'))
        .and_then(|rest| rest.rsplit_once("::"))
    else {
        return line.into();
    };
    let defines =
        |name: &&str| ["(", "<", "["].iter().any(|next| text.contains(&format!("fn {name}{next}")));
    let names = names.trim_start_matches('{').trim_end_matches('}').split(',').map(str::trim);
    let others: Vec<&str> = names.filter(|name| !defines(name)).collect();
    match others.is_empty() {
        true => String::new(),
        false => format!("use {path}::{{{}}};", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::tests;

    #[test]
    fn examples_call_the_functions_beside_them() {
        let text = "/// Twice.\n///\n/// ```einlang\n/// use std::x::{twice, other};\n\
                    /// assert(twice(1) == 2);\n/// ```\npub fn twice(x) { x + x }\n";
        let made = "test \"the example of line 3\" {\nuse std::x::{other};\n\
                    assert(twice(1) == 2);\n}\n";
        assert_eq!(tests(text), made);
        assert_eq!(tests("fn plain() { 1 }\n"), "");
    }
}
