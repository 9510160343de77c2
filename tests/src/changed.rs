//! Programs of the repository, changed a little: another number, type, operator or name here and there,
//! and questions asked about what they define. Most of them are still programs, with forms and library
//! calls in them that no grammar of a generator has.
//!
//! A program is a function of a number and of the programs that there are, so a find keeps its number
//! only as long as they stay as they are: what was found becomes a test of its own.

use ein_fuzz::Rng;
use ein_fuzz::seeds::Seeds;
use std::sync::LazyLock;

/// What the changes begin with.
static PROGRAMS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut programs = Seeds::load(&crate::repository()).programs;
    // Files, the clock and what is to be rejected say nothing about engines.
    programs.retain(|text| {
        text.len() < 2500
            && !["std::io", "std::time", "input()", "// Error:", "std::plot", "--- "]
                .iter()
                .any(|word| text.contains(word))
    });
    programs
});

/// A program, by statements of the top level.
pub fn program(seed: u64) -> Vec<String> {
    program_with(seed, 4)
}

/// A program with fewer than so many changes.
pub(crate) fn program_with(seed: u64, changes: usize) -> Vec<String> {
    let mut rng = Rng::new(seed);
    let mut tokens: Vec<String> = rng.pick(&PROGRAMS).map(|text| split(text)).unwrap_or_default();
    for _ in 0..rng.below(changes) {
        change(&mut rng, &mut tokens);
    }
    let mut statements = statements(&tokens.concat());
    let names = names(&statements);
    for at in 0..rng.below(3) {
        statements.extend(question(&mut rng, &names, at));
    }
    statements
}

/// Words, numbers, and every other character by itself.
pub(crate) fn split(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut chars = text.chars().peekable();
    let wordy = |c: char| c.is_alphanumeric() || c == '_';
    while let Some(c) = chars.next() {
        let mut word = c.to_string();
        if c == '/' && chars.peek() == Some(&'/') {
            // Comments say what is expected, which no longer holds.
            while chars.next_if(|&c| c != '\n').is_some() {}
            continue;
        }
        if c == '"' {
            while let Some(c) = chars.next() {
                word.push(c);
                match c {
                    '"' => break,
                    '\\' => word.extend(chars.next()),
                    _ => {}
                }
            }
        } else if wordy(c) {
            let number = c.is_ascii_digit();
            while let Some(&next) = chars.peek() {
                // A point belongs to a number if a digit follows it.
                let mut ahead = chars.clone();
                ahead.next();
                let point = number
                    && next == '.'
                    && !word.contains('.')
                    && ahead.peek().is_some_and(char::is_ascii_digit);
                if !wordy(next) && !point {
                    break;
                }
                word.push(next);
                chars.next();
            }
        }
        found.push(word);
    }
    found
}

const TYPES: [&str; 12] =
    ["f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"];
const REDUCTIONS: [&str; 6] = ["sum", "prod", "max", "min", "mean", "argmax"];
const SIGNS: [&str; 5] = ["+", "-", "*", "/", "%"];
const WHOLE: [&str; 14] = [
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "7",
    "8",
    "16",
    "17",
    "31",
    "100",
    "2147483647",
    "9223372036854775807",
];
const FLOATS: [&str; 8] = ["0.0", "1.0", "0.5", "2.0", "3.25", "1e-8", "65504.0", "1e30"];

/// What a token is, as far as it can stand for another one.
fn kind(token: &str) -> Option<&'static [&'static str]> {
    let first = token.chars().next()?;
    if first.is_ascii_digit() {
        return Some(if token.contains(['.', 'e']) { &FLOATS } else { &WHOLE });
    }
    [&TYPES[..], &REDUCTIONS[..], &SIGNS[..]].into_iter().find(|all| all.contains(&token))
}

/// A name of the program, not a word of the language.
fn is_name(token: &str) -> bool {
    let words = [
        "let", "fn", "if", "else", "in", "where", "until", "struct", "enum", "match", "use", "std",
        "as", "print", "assert", "test", "true", "false", "for", "type", "const", "pub", "some",
        "try", "catch", "error", "len", "shape", "math", "ml",
    ];
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && kind(token).is_none()
        && !words.contains(&token)
}

fn change(rng: &mut Rng, tokens: &mut [String]) {
    let of_kind: Vec<usize> = (0..tokens.len()).filter(|&at| kind(&tokens[at]).is_some()).collect();
    let of_names: Vec<usize> = (0..tokens.len()).filter(|&at| is_name(&tokens[at])).collect();
    match rng.below(8) {
        0..=3 => {
            let Some(&at) = rng.pick(&of_kind) else { return };
            let near = tokens[at].parse::<u32>().ok();
            tokens[at] = match (near, rng.below(3)) {
                (Some(n), 0) => n.saturating_add(1).to_string(),
                (Some(n), 1) => n.saturating_sub(1).to_string(),
                _ => {
                    let others = kind(&tokens[at]).unwrap_or(&WHOLE);
                    rng.pick(others).copied().unwrap_or("1").to_owned()
                }
            };
        }
        4 => {
            // A type or a sort of number everywhere.
            let types: Vec<&String> =
                tokens.iter().filter(|it| TYPES.contains(&it.as_str())).collect();
            let Some(old) = rng.pick(&types).map(|it| (*it).clone()) else { return };
            let new = rng.pick(&TYPES).copied().unwrap_or("f64").to_owned();
            tokens.iter_mut().filter(|it| **it == old).for_each(|it| it.clone_from(&new));
        }
        5 => {
            let (Some(&at), Some(&from)) = (rng.pick(&of_names), rng.pick(&of_names)) else {
                return;
            };
            tokens[at] = tokens[from].clone();
        }
        6 => {
            // A number everywhere: extents stay equal where they were.
            let whole: Vec<&usize> =
                of_kind.iter().filter(|&&at| tokens[at].parse::<u32>().is_ok()).collect();
            let Some(&&at) = rng.pick(&whole) else { return };
            let old = tokens[at].clone();
            let new = rng.pick(&WHOLE[..11]).copied().unwrap_or("1").to_owned();
            tokens.iter_mut().filter(|it| **it == old).for_each(|it| it.clone_from(&new));
        }
        _ => {
            // Another position.
            let Some(&at) = rng.pick(&of_names) else { return };
            let inside = tokens.get(at + 1).is_some_and(|it| it == "]" || it == ",");
            if inside {
                let shift = [" + 1", " - 1", " / 2", " * 2", " % 3"];
                let shift = rng.pick(&shift).copied().unwrap_or_default();
                tokens[at].push_str(shift);
            }
        }
    }
}

/// The statements of the top level, each with its end.
pub(crate) fn statements(text: &str) -> Vec<String> {
    let (mut found, mut depth, mut start) = (Vec::new(), 0i32, 0);
    let mut chars = text.char_indices().peekable();
    let mut quoted = false;
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' if quoted => drop(chars.next()),
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        let closes =
            !quoted && depth == 0 && (c == ';' || (c == '}' && !continued(&text[at + 1..])));
        if closes {
            found.push(text[start..=at].trim().to_owned());
            start = at + 1;
        }
    }
    found.push(text[start..].trim().to_owned());
    found.retain(|it| !it.is_empty());
    found
}

/// Whether a block is only a part of what it stands in.
fn continued(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.starts_with("else") || rest.starts_with(|c: char| ";.,)]+-*/<>=&|@[".contains(c))
}

/// The names that are bound at the top level.
pub(crate) fn names(statements: &[String]) -> Vec<String> {
    let mut names = Vec::new();
    for rest in statements.iter().filter_map(|it| it.strip_prefix("let ")) {
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Something that is asked about what there is.
fn question(rng: &mut Rng, names: &[String], at: usize) -> Vec<String> {
    let (Some(a), Some(b)) = (rng.pick(names), rng.pick(names)) else { return Vec::new() };
    let q = format!("asked_{at}");
    match rng.below(9) {
        0 | 1 => vec![format!("let {q} = @{a} / @{b};")],
        2 => vec![
            format!("let {q}_l = sum[..all]({a}[..all] * {a}[..all]);"),
            format!("let {q} = @{q}_l / @{b};"),
        ],
        3 => vec![format!("let {q}[p] = {a}[p] + {b}[p];")],
        4 => vec![format!("let {q}[p] = {a}[max(p - 1, 0)] where p in 0..len({a});")],
        5 => vec![format!("let {q} = sum[p, q]({a}[p] * {b}[q] where p < q);")],
        6 => vec![format!("fn {q}_f(v) {{ v * v + v }}"), format!("let {q} = {q}_f({a});")],
        7 => vec![format!("let {q}[0] = {a};"), format!("let {q}[t in 1..4] = {q}[t - 1] * {b};")],
        _ => vec![format!("let {q} = max[p]({a}[p]);"), format!("let {q}_g = @{q} / @{a};")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split_into_words_and_statements() {
        let text = "let a[i in 0..3] = 1.5 + i as f64; // no\nfn f(x) { if x { 1 } else { 2 } }\nprint(\"a;{a}\");";
        let tokens = split(text);
        assert!(["0", "1.5", "f64", "\"a;{a}\""].iter().all(|it| tokens.iter().any(|t| t == it)));
        let found = statements(&tokens.concat());
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(names(&found), ["a"]);
    }

    #[test]
    fn there_are_programs_to_change() {
        assert!(PROGRAMS.len() > 800, "{}", PROGRAMS.len());
        assert_eq!(program(7), program(7));
    }
}
