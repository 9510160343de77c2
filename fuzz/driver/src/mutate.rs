//! Changes of inputs: texts by words and lines, files by bytes.

use crate::Rng;

/// Words that are at home in programs and not in every one of them.
const WORDS: &[&str] = &[
    "let",
    "fn",
    "struct",
    "enum",
    "match",
    "if",
    "else",
    "where",
    "until",
    "sum",
    "prod",
    "max",
    "min",
    "argmax",
    "count",
    "mean",
    "any",
    "all",
    "in",
    "as",
    "some",
    "@",
    "..",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ",",
    ";",
    ":",
    "?n",
    "*",
    "**",
    "/",
    "%",
    "-",
    "==",
    "<",
    ">=",
    "&&",
    "||",
    "|",
    "=>",
    "->",
    "=",
    "i",
    "j",
    "k",
    "x",
    "0",
    "1",
    "-1",
    "2147483647",
    "-2147483648",
    "9223372036854775807",
    "1e300",
    "0.0",
    "1.5f64",
    "f16",
    "i8",
    "u64",
    "bool",
    "str",
    "()",
    "[]",
    "..left",
    "..right",
    "input()",
    "print",
    "\"a{x}\"",
    "true",
    "try",
    "use",
    "pub",
    "test",
    "!",
    "'",
    "\"",
    "//",
    "/*",
    "\u{9b}",
    "\u{202e}",
    "é",
    "\0",
    "jvp",
    "vjp",
    "len",
    "shape",
    "iota",
];

/// A text with some changes; `other` is where pieces may come from.
pub fn text(rng: &mut Rng, source: &str, other: &str) -> String {
    let mut tokens = tokens(source);
    let others = self::tokens(other);
    for _ in 0..1 + rng.below(4) {
        change(rng, &mut tokens, &others);
    }
    tokens.concat()
}

fn change<'a>(rng: &mut Rng, tokens: &mut Vec<&'a str>, others: &[&'a str]) {
    let n = tokens.len();
    let at = rng.below(n);
    match rng.below(12) {
        0 if n > 0 => drop(tokens.remove(at)),
        1 if n > 0 => tokens.insert(at, tokens[at]),
        2 if n > 1 => {
            let to = rng.below(n);
            tokens.swap(at, to);
        }
        3 => {
            let word = rng.pick(WORDS).copied().unwrap_or(" ");
            tokens.insert(at.min(n), word);
        }
        4 | 5 if n > 0 => tokens[at] = rng.pick(WORDS).copied().unwrap_or(" "),
        6 | 7 if n > 0 => tokens[at] = rng.pick(others).copied().unwrap_or(" "),
        8 if n > 0 => {
            // Another name, number or sign of the same program.
            let from = rng.below(n);
            tokens[at] = tokens[from];
        }
        9 => {
            // A piece of another program.
            let from = rng.below(others.len());
            let piece = &others[from..(from + rng.below(30)).min(others.len())];
            let at = at.min(n);
            tokens.splice(at..at, piece.iter().copied());
        }
        10 if n > 0 => {
            let end = (at + rng.below(20)).min(n);
            tokens.drain(at..end);
        }
        _ if n > 0 => {
            // A piece twice.
            let end = (at + rng.below(20)).min(n);
            let piece = tokens[at..end].to_vec();
            tokens.splice(at..at, piece);
        }
        _ => tokens.push("let"),
    }
}

/// Words, numbers, spaces, and every other character by itself.
fn tokens(text: &str) -> Vec<&str> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 1,
        ' ' => 2,
        _ => 0,
    };
    let mut found = Vec::new();
    let mut start = 0;
    let mut last = 0;
    for (at, c) in text.char_indices() {
        let here = class(c);
        if at > start && (here == 0 || here != last) {
            found.push(&text[start..at]);
            start = at;
        }
        last = here;
    }
    if start < text.len() {
        found.push(&text[start..]);
    }
    found
}

/// Bytes with some changes.
pub fn bytes(rng: &mut Rng, source: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = source.to_vec();
    for _ in 0..1 + rng.below(6) {
        let at = rng.below(bytes.len());
        match rng.below(8) {
            0 | 1 if !bytes.is_empty() => bytes[at] = rng.draw() as u8,
            2 if !bytes.is_empty() => bytes[at] ^= 1 << rng.below(8),
            3 => bytes.truncate(at),
            4 => bytes.insert(at, *rng.pick(b"0123456789(),:'\"{}[]\0\xff\n").unwrap_or(&0)),
            5 if bytes.len() > 8 => {
                // A number at its limits.
                let value: u64 = *rng
                    .pick(&[0, u64::MAX, 1 << 63, (1 << 63) - 1, 1 << 32, (1 << 31) - 1, 1 << 20])
                    .unwrap_or(&0);
                let at = rng.below(bytes.len() - 8);
                let size = [1, 2, 4, 8][rng.below(4)];
                bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
            }
            6 => {
                let from = rng.below(other.len());
                let piece = &other[from..(from + rng.below(40)).min(other.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            _ => {
                let digits = rng.pick(&["9223372036854775808", "-1", "0", "18446744073709551616"]);
                bytes.splice(at..at, digits.unwrap_or(&"0").bytes());
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_its_tokens() {
        let text = "let é[i] = x1 + 2.5;\n";
        assert_eq!(tokens(text).concat(), text);
        assert_eq!(tokens("ab  c(1)"), ["ab", "  ", "c", "(", "1", ")"]);
    }

    #[test]
    fn nothing_can_be_changed_too() {
        let mut rng = Rng::new(1);
        for _ in 0..1000 {
            let _ = self::text(&mut rng, "", "");
            let _ = bytes(&mut rng, &[], &[]);
        }
    }
}
