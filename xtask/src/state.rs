//! Who can touch what: methods per type, and what of the checker's state its functions take.
//!
//! A type with hundreds of methods is a program in which every line may change every field. So no type
//! has more than [`MOST`] methods; those that have more today are known, and only shrink. The checker
//! has no such type: its functions name the parts that they touch, and `cargo xtask parts` counts them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The most methods a type may have.
const MOST: usize = 60;

/// Types that have more, with how many: a crate, the name (of all types of that name), a number that
/// is lowered when it can be.
const KNOWN: &[(&str, &str, usize)] = &[
    ("interp", "Machine", 213),
    ("ir", "Parser", 96),
    ("ir", "Verifier", 61),
    ("jit", "Emitter", 82),
    ("sema", "Lower", 159),
    ("sema", "Resolver", 80),
    ("syntax", "Formatter", 88),
    ("syntax", "Parser", 216),
    ("syntax", "Translator", 91),
    ("transform", "Emit", 211),
    ("transform", "Flatten", 154),
    ("transform", "Pass", 189),
    ("transform", "Points", 85),
    ("transform", "Reverse", 171),
];

/// The most functions of the checker that may take all of its state.
const WHOLE: usize = 233;

/// The parts of the checker's state, as parameters name them; the first is all of them.
const PARTS: [&str; 5] = ["Cx", "Infer", "Index", "Build", "Report"];

/// Types with too many methods, and too many functions that can touch everything.
pub fn check(root: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    for ((krate, name), count) in methods(root) {
        let known = KNOWN.iter().find(|(at, known, _)| *at == krate && *known == name);
        let most = known.map_or(MOST, |(_, _, most)| *most);
        if count > most {
            problems.push(format!("crates/{krate}: {count} methods of `{name}` (at most {most})"));
        }
    }
    let whole = takes(root).iter().filter(|parts| parts[0] != Take::Nothing).count();
    if whole > WHOLE {
        problems.push(format!(
            "crates/sema/src/check: {whole} functions take the whole state (at most {WHOLE})"
        ));
    }
    problems
}

/// How many functions of the checker can look at each part, and how many can change it.
pub fn table(root: &Path) -> String {
    let takes = takes(root);
    let mut text =
        format!("{} functions\n\n| part | look | change |\n| --- | --- | --- |\n", takes.len());
    for (at, part) in PARTS.iter().enumerate() {
        let count =
            |least: Take| takes.iter().filter(|parts| parts[at].max(parts[0]) >= least).count();
        text += &format!("| {part} | {} | {} |\n", count(Take::Shared), count(Take::Mutable));
    }
    let mut together: BTreeMap<String, usize> = BTreeMap::new();
    for parts in &takes {
        let named = parts.iter().zip(PARTS).filter(|(take, _)| **take != Take::Nothing);
        let named: Vec<&str> = named.map(|(_, part)| part).collect();
        *together.entry(named.join(", ")).or_default() += 1;
    }
    text += "\n| takes | functions |\n| --- | --- |\n";
    for (named, count) in together {
        text += &format!("| {} | {count} |\n", if named.is_empty() { "nothing" } else { &named });
    }
    text
}

/// What a function takes of a part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Take {
    Nothing,
    Shared,
    Mutable,
}

/// What each function of the checker takes of each part.
fn takes(root: &Path) -> Vec<[Take; 5]> {
    let check = root.join("crates/sema/src/check");
    let mut all = Vec::new();
    for path in sources(&check).into_iter().chain([check.with_extension("rs")]) {
        let text = fs::read_to_string(path).unwrap_or_default();
        let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        each_fn(text, &mut |owner, signature| {
            all.push(PARTS.map(|part| {
                let words: Vec<&str> = signature.split([' ', '\n', '(', ',', ')', '<']).collect();
                let own = owner == Some(part);
                let named = |name: &[&str]| words.windows(name.len()).any(|it| it == name);
                let reference = format!("&{part}");
                if own && named(&["&mut", "self"]) || named(&["&mut", part]) {
                    Take::Mutable
                } else if own && named(&["&self"]) || named(&[&reference]) {
                    Take::Shared
                } else {
                    Take::Nothing
                }
            }));
        });
    }
    all
}

/// How many methods the types of each crate have.
fn methods(root: &Path) -> BTreeMap<(String, String), usize> {
    let mut counts = BTreeMap::new();
    let crates = fs::read_dir(root.join("crates")).into_iter().flatten().flatten();
    for entry in crates {
        let krate = entry.file_name().to_string_lossy().into_owned();
        for path in sources(&entry.path().join("src")) {
            let text = fs::read_to_string(path).unwrap_or_default();
            each_fn(&text, &mut |owner, _| {
                if let Some(owner) = owner {
                    *counts.entry((krate.clone(), owner.to_owned())).or_default() += 1;
                }
            });
        }
    }
    counts
}

/// Every function of formatted text that is not inside another one: the type whose own method it is,
/// and its signature.
fn each_fn(text: &str, f: &mut dyn FnMut(Option<&str>, &str)) {
    let mut owner = None;
    let mut inside = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let rest = &text[at..];
        at += line.len();
        if let Some(header) = line.strip_prefix("impl") {
            inside = true;
            owner = owner_of(header);
        } else if line.starts_with('}') {
            (inside, owner) = (false, None);
        }
        let depth = if inside { "    " } else { "" };
        let is_fn = line.strip_prefix(depth).is_some_and(|line| {
            !line.starts_with(' ') && line.split(['(', '<']).next().is_some_and(is_function)
                || line.starts_with("pub(") && line.contains(" fn ")
        });
        if is_fn {
            let end = rest.find(['{', ';']).unwrap_or(rest.len());
            f(owner, &rest[..end]);
        }
    }
}

/// Whether what stands before the parameters is the name of a function.
fn is_function(words: &str) -> bool {
    words.split(' ').rev().nth(1) == Some("fn")
}

/// The type of an `impl` that is not of a trait.
fn owner_of(header: &str) -> Option<&str> {
    if header.contains(" for ") {
        return None;
    }
    let header = match header.strip_prefix('<') {
        Some(generic) => generic.split_once("> ")?.1,
        None => header.trim_start(),
    };
    let path = header.split(['<', ' ']).next()?;
    path.rsplit("::").next()
}

/// All Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|it| it == "rs") {
            files.push(path);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_and_their_owners_are_found() {
        let text = "impl<'a> Cx<'a> {\n    pub(super) fn a(&mut self) {\n        fn not() {}\n    }\n\n    \
                    fn b<T>(\n        &self,\n        x: T,\n    ) -> u8 {\n    }\n}\n\n\
                    impl Visit for Cx<'_> {\n    fn c(&self) {}\n}\n\n\
                    pub(in crate::check) fn d(ix: &mut Index) {\n}\n\nimpl state::Report {\n    fn e(&self) {}\n}\n";
        let mut found = Vec::new();
        each_fn(text, &mut |owner, signature| {
            let name = signature.split("fn ").nth(1).and_then(|it| it.chars().next());
            found.push((owner.map(str::to_owned), name));
        });
        let cx = || Some("Cx".to_owned());
        let report = Some("Report".to_owned());
        assert_eq!(
            found,
            [
                (cx(), Some('a')),
                (cx(), Some('b')),
                (None, Some('c')),
                (None, Some('d')),
                (report, Some('e'))
            ]
        );
    }

    #[test]
    fn no_known_number_is_missing_or_small() {
        let counts = methods(&crate::root());
        for (krate, name, most) in KNOWN {
            let count = counts.get(&((*krate).to_owned(), (*name).to_owned())).copied();
            assert!(
                count.is_some_and(|count| count > MOST),
                "{krate} {name}: no longer above {MOST}"
            );
            assert!(*most > MOST, "{krate} {name}");
        }
    }
}
