//! One mistake does not hide another: of mistakes planted between the statements of the examples, and
//! inside the functions of the examples and of the library, each is reported, at its line, and nothing
//! else is.
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

/// Statements that are wrong inside the body of a function; they read nothing of it.
const INSIDE: [&str; 8] = [
    "let _planted_N = not_known_N;",
    "let _planted_N: [f32; 3] = [1.0, 2.0];",
    "let _planted_N = 1 + \"one\";",
    "let _planted_N[i in 0..4] = [1.0, 2.0][i];",
    "let _planted_N = [1.0, 2.0] + [1.0, 2.0, 3.0];",
    "let _planted_N = if true { 1 } else { \"two\" };",
    "let _planted_N: f32 = 1e50;",
    "let _planted_N = (1, 2).7;",
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

/// The files of a folder that are right, as the text of one file.
fn files(folder: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let mut found = Vec::new();
    let mut left = vec![folder];
    while let Some(folder) = left.pop() {
        let mut entries: Vec<PathBuf> = std::fs::read_dir(&folder)
            .expect("the folder is there")
            .map(|entry| entry.expect("a folder can be read").path())
            .collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|it| it == "ein") {
                let text = std::fs::read_to_string(&path).expect("a program is text");
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

/// Whether a statement may stand after a line in a body: it ends one that begins there.
fn is_inside(line: &str) -> bool {
    let begins = ["    let ", "    assert("].iter().any(|word| line.starts_with(word));
    begins && line.ends_with(';')
}

/// A file with mistakes after some of the lines, and their lines.
fn planted(text: &str, places: &[usize], mistakes: &[&str], seed: u64) -> (String, Vec<usize>) {
    let wanted = 2 + (seed / 7 % 19) as usize;
    let every = (places.len() / wanted).max(1);
    let (mut out, mut wrong): (Vec<String>, Vec<usize>) = (Vec::new(), Vec::new());
    for (at, line) in text.lines().enumerate() {
        out.push(line.to_owned());
        let place = places.iter().position(|place| *place == at);
        if place.is_some_and(|place| place % every == 0) && wrong.len() < wanted {
            let number = wrong.len();
            let kind = (seed as usize).wrapping_mul(31).wrapping_add(number * 3) % mistakes.len();
            let indent = &line[..line.len() - line.trim_start().len()];
            out.push(format!("{indent}{}", mistakes[kind].replace('N', &number.to_string())));
            wrong.push(out.len());
        }
    }
    (out.join("\n"), wrong)
}

/// A file and the lines after which mistakes may stand.
struct Field {
    path: PathBuf,
    text: String,
    places: Vec<usize>,
}

fn check(fields: &[Field], mistakes: &[&str]) {
    let found = Mutex::new((0, Vec::new()));
    seeds::run(seeds::setting("EINLANG_PROGRAMS", 60), |seed| {
        let Field { path, text, places } = &fields[seed as usize % fields.len()];
        let (text, wrong) = planted(text, places, mistakes, seed);
        let reported = errors(path, &text);
        let mut found = found.lock().expect("no worker panics with the lock");
        found.0 += wrong.len();
        if reported != wrong {
            found.1.push(format!("{} ({seed}): {wrong:?}, but {reported:?}", path.display()));
        }
    });
    let (count, wrong) = found.into_inner().expect("no worker panics with the lock");
    println!("{count} mistakes in {} files", fields.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_mistake_has_its_message() {
    let field = |(path, text): (PathBuf, String)| {
        let lines = text.lines().enumerate().filter(|(_, line)| is_statement(line));
        let places = lines.map(|(at, _)| at).collect();
        Field { path, text, places }
    };
    let fields: Vec<Field> = files("examples").into_iter().map(field).collect();
    assert!(fields.len() > 10, "only {} examples are right", fields.len());
    check(&fields, &MISTAKES);
}

#[test]
fn each_mistake_in_a_body_has_its_message() {
    let mut fields = Vec::new();
    for (path, text) in files("examples").into_iter().chain(files("library")) {
        let lines = text.lines().enumerate().filter(|(_, line)| is_inside(line));
        let places: Vec<usize> = lines.map(|(at, _)| at).collect();
        // A body that nothing calls and whose parameters have no types is not looked at, and a read
        // outside in a branch that data decide is an error of the run, if it is taken.
        let looked_at = places.iter().copied().filter(|place| {
            [&INSIDE[1..2], &INSIDE[3..4]].into_iter().all(|alone| {
                let (text, wrong) = planted(&text, &[*place], alone, 0);
                errors(&path, &text) == wrong
            })
        });
        let places: Vec<usize> = looked_at.collect();
        if places.len() > 1 {
            fields.push(Field { path, text, places });
        }
    }
    let places: usize = fields.iter().map(|field| field.places.len()).sum();
    assert!(places > 300, "only {places} places in {} files", fields.len());
    check(&fields, &INSIDE);
}
