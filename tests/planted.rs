//! One mistake does not hide another: of mistakes planted between the statements of the examples, each
//! is reported, at its line, and nothing else is.
//!
//! `EINLANG_PROGRAMS=500` plants more, `EINLANG_SEED=7` begins at another number.

use ein_driver::{FileSources, Input, Options, Session};
use ein_tests::seeds;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Statements that are wrong, each in its own way; `N` is a number that no other has.
const MISTAKES: [&str; 10] = [
    "let planted_N = not_known_N;",
    "let planted_N: [f32; 3] = [1.0, 2.0];",
    "let planted_N = 1 + \"one\";",
    "let planted_N = [1.0, 2.0][5];",
    "let planted_N[i in 0..4] = [1.0, 2.0][i];",
    "let planted_N = [1.0, 2.0] + [1.0, 2.0, 3.0];",
    "let planted_N[t in 0..4] = planted_N[t] + 1;",
    "let planted_N = if true { 1 } else { \"two\" };",
    "let planted_N: f32 = 1e50;",
    "let planted_N = (1, 2).7;",
];

/// The lines of the errors in a program.
fn errors(path: &Path, text: &str) -> Vec<usize> {
    let input = Input::Text { name: path.display().to_string(), text: text.into() };
    let mut session = Session::new(Options::default(), FileSources::on_disk());
    let checked = session.check(&[input]).expect("the compiler does not break");
    let line = |at: u32| text[..at as usize].matches('\n').count() + 1;
    let mut lines: Vec<usize> = checked
        .diagnostics
        .iter()
        .filter(|d| d.is_error())
        .map(|d| line(d.primary.span.lo()))
        .collect();
    lines.sort_unstable();
    lines
}

/// The files that are right, as the text of one file.
fn files() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut found = Vec::new();
    let mut left = vec![folder];
    while let Some(folder) = left.pop() {
        let mut entries: Vec<PathBuf> = std::fs::read_dir(&folder)
            .expect("the examples are there")
            .map(|entry| entry.expect("a folder can be read").path())
            .collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|it| it == "ein") {
                let text = std::fs::read_to_string(&path).expect("an example is text");
                if errors(&path, &text).is_empty() {
                    found.push((path, text));
                }
            }
        }
    }
    found
}

/// Whether a statement may stand after a line: it ends one that begins in the first column.
fn is_statement(line: &str) -> bool {
    let begins = ["let ", "print(", "use ", "const "].iter().any(|word| line.starts_with(word));
    begins && line.ends_with(';')
}

/// A file with mistakes, and their lines.
fn planted(text: &str, seed: u64) -> (String, Vec<usize>) {
    let lines: Vec<&str> = text.lines().collect();
    let places: Vec<usize> = (0..lines.len()).filter(|at| is_statement(lines[*at])).collect();
    let wanted = 2 + (seed / 7 % 19) as usize;
    let every = (places.len() / wanted).max(1);
    let (mut out, mut wrong): (Vec<String>, Vec<usize>) = (Vec::new(), Vec::new());
    for (at, line) in lines.iter().enumerate() {
        out.push((*line).to_owned());
        let place = places.iter().position(|place| *place == at);
        if place.is_some_and(|place| place % every == 0) && wrong.len() < wanted {
            let number = wrong.len();
            let kind = (seed as usize).wrapping_mul(31).wrapping_add(number * 3) % MISTAKES.len();
            out.push(MISTAKES[kind].replace('N', &number.to_string()));
            wrong.push(out.len());
        }
    }
    (out.join("\n"), wrong)
}

#[test]
fn each_mistake_has_its_message() {
    let files = files();
    assert!(files.len() > 10, "only {} examples are right", files.len());
    let found = Mutex::new((0, Vec::new()));
    seeds::run(seeds::setting("EINLANG_PROGRAMS", 60), |seed| {
        let (path, text) = &files[seed as usize % files.len()];
        let (text, wrong) = planted(text, seed);
        let reported = errors(path, &text);
        let mut found = found.lock().expect("no worker panics with the lock");
        found.0 += wrong.len();
        if reported != wrong {
            found.1.push(format!("{} ({seed}): {wrong:?}, but {reported:?}", path.display()));
        }
    });
    let (count, wrong) = found.into_inner().expect("no worker panics with the lock");
    println!("{count} mistakes in {} files", files.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
