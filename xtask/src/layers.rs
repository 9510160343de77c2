//! Which crate may use which: the graph as data, checked against every `Cargo.toml`.

use std::fs;
use std::path::Path;

/// Each crate with the crates of ours it may use.
const LAYERS: &[(&str, &[&str])] = &[
    ("ein-base", &[]),
    ("ein-scalar", &[]),
    ("ein-syntax", &["ein-base"]),
    ("ein-ir", &["ein-base", "ein-scalar"]),
    ("ein-sema", &["ein-base", "ein-scalar", "ein-syntax", "ein-ir"]),
    ("ein-transform", &["ein-base", "ein-scalar", "ein-ir"]),
    ("ein-runtime", &["ein-scalar"]),
    ("ein-interp", &["ein-base", "ein-scalar", "ein-ir", "ein-runtime"]),
    ("ein-jit", &["ein-base", "ein-scalar", "ein-ir", "ein-runtime"]),
    ("ein-emit-c", &["ein-base", "ein-scalar", "ein-ir", "ein-runtime"]),
    ("ein-onnx", &["ein-scalar", "ein-syntax", "ein-runtime"]),
    (
        "ein-driver",
        &[
            "ein-base",
            "ein-scalar",
            "ein-syntax",
            "ein-ir",
            "ein-sema",
            "ein-transform",
            "ein-runtime",
            "ein-interp",
            "ein-jit",
            "ein-emit-c",
            "ein-onnx",
        ],
    ),
    ("einlang", &["ein-driver"]),
    ("ein-python", &["ein-driver", "einlang"]),
    ("ein-benches", &["ein-base", "ein-ir", "ein-syntax", "ein-sema", "ein-driver"]),
    (
        "ein-fuzz",
        &[
            "ein-base",
            "ein-syntax",
            "ein-ir",
            "ein-transform",
            "ein-runtime",
            "ein-onnx",
            "ein-driver",
        ],
    ),
    ("ein-tests", &["ein-base", "ein-scalar", "ein-syntax", "ein-driver", "ein-fuzz"]),
    ("xtask", &[]),
];

/// What is wrong with the dependencies of the crate in a directory.
pub fn check(manifest: &Path) -> Vec<String> {
    let text = match fs::read_to_string(manifest) {
        Ok(text) => text,
        Err(error) => return vec![format!("{}: {error}", manifest.display())],
    };
    check_text(&manifest.display().to_string(), &text)
}

fn check_text(shown: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut table = "";
    let mut package = None;
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('[') {
            table = line.trim_matches(['[', ']']);
        } else if table == "package"
            && let Some(name) = line.strip_prefix("name = ")
        {
            package = LAYERS.iter().find(|(it, _)| *it == name.trim_matches('"'));
            if package.is_none() {
                problems.push(format!("{shown}:{}: {name} has no layer; give it one", i + 1));
            }
        } else if let Some(("dependencies", kind)) = table_kind(table)
            && let Some(used) = used_crate(line)
        {
            let Some((name, allowed)) = package else { continue };
            // Tests may use what lies below the crate they test, and the crate itself.
            let itself = kind == "dev-" && used == *name;
            if !itself && !allowed.contains(&used) {
                problems.push(format!("{shown}:{}: {name} may not use {used}", i + 1));
            }
            if !line.contains("workspace = true") {
                problems.push(format!("{shown}:{}: versions stand in the workspace", i + 1));
            }
        }
    }
    problems
}

/// `dev-dependencies` is a table of kind `dev-`.
fn table_kind(table: &str) -> Option<(&'static str, &str)> {
    table.strip_suffix("dependencies").map(|kind| ("dependencies", kind))
}

/// The crate of ours that a line of a dependency table names.
fn used_crate(line: &str) -> Option<&str> {
    let name = line.split(['.', ' ', '=']).next()?;
    LAYERS.iter().map(|(it, _)| *it).find(|it| *it == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_uses_only_what_lies_below_it() {
        let with = |line: &str| {
            check_text("x", &format!("[package]\nname = \"ein-ir\"\n[dependencies]\n{line}\n"))
        };
        assert_eq!(with("ein-base.workspace = true"), [] as [&str; 0]);
        assert_eq!(with("memchr.workspace = true"), [] as [&str; 0]);
        assert_eq!(with("ein-sema.workspace = true").len(), 1);
        assert_eq!(with("ein-base = { path = \"../base\" }").len(), 1);
        assert_eq!(check_text("x", "[package]\nname = \"new\"\n").len(), 1);
    }

    #[test]
    fn the_graph_has_no_cycle() {
        // Each crate is listed after everything it may use.
        for (i, (name, uses)) in LAYERS.iter().enumerate() {
            for used in *uses {
                let at = LAYERS.iter().position(|(it, _)| it == used).unwrap();
                assert!(at < i, "{name} uses {used}, which is listed after it");
            }
        }
    }
}
