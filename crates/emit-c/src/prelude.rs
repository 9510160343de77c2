//! The C functions that kernels call, of which each kernel gets those it needs.
//!
//! They stand in `prelude/*.h`. A line `//: name` starts a block, which defines that name and ends
//! at the next such line. A block needs every other block whose name occurs in its text. `@NAME[i]` and
//! `@NAME` stand for coefficients of [`ein_scalar::math::coefficients`].

use ein_scalar::math::coefficients;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

const FILES: [&str; 4] = [
    include_str!("prelude/base.h"),
    include_str!("prelude/double.h"),
    include_str!("prelude/single.h"),
    include_str!("prelude/scan.h"),
];

/// What every source starts with.
const HEADERS: &str = "#include <stdbool.h>\n#include <stdint.h>\n";

struct Block {
    text: String,
    needs: Vec<usize>,
}

struct Blocks {
    list: Vec<Block>,
    by_name: BTreeMap<&'static str, usize>,
}

/// The compiler must put functions where they are called: a loop that calls one has no vectors, and
/// whether a call rounds as the others do would depend on how many there are.
const INLINE: &str = "#define EIN_INLINE static inline __attribute__((always_inline))\n";

/// The blocks that define these names, with all they need, each after what it needs.
pub(crate) fn select<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let blocks = blocks();
    let mut text = HEADERS.to_string();
    text.push_str(INLINE);
    let mut done = BTreeSet::new();
    for name in names {
        if let Some(&block) = blocks.by_name.get(name) {
            push(blocks, block, &mut done, &mut text);
        }
    }
    text
}

fn push(blocks: &Blocks, block: usize, done: &mut BTreeSet<usize>, text: &mut String) {
    if done.insert(block) {
        for &needed in &blocks.list[block].needs {
            push(blocks, needed, done, text);
        }
        text.push('\n');
        text.push_str(&blocks.list[block].text);
        text.push('\n');
    }
}

/// The names in a text that could be those of blocks.
pub(crate) fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("ein_"))
}

fn blocks() -> &'static Blocks {
    static BLOCKS: OnceLock<Blocks> = OnceLock::new();
    BLOCKS.get_or_init(|| {
        let parts = FILES.iter().flat_map(|file| file.split("//: ")).filter(|it| !it.is_empty());
        let named: Vec<(&str, &str)> =
            parts.filter_map(|part| part.split_once('\n')).map(|(n, t)| (n, t.trim())).collect();
        let by_name: BTreeMap<_, _> =
            named.iter().enumerate().map(|(i, (name, _))| (*name, i)).collect();
        let needs = |own: &str, text: &str| {
            let mut found: Vec<usize> = names(text)
                .filter(|it| *it != own)
                .filter_map(|it| by_name.get(it))
                .copied()
                .collect();
            found.sort_unstable();
            found.dedup();
            found
        };
        let list = named
            .iter()
            .map(|&(name, text)| Block { text: with_coefficients(text), needs: needs(name, text) })
            .collect();
        Blocks { list, by_name }
    })
}

/// The column of the sign that continues a line of a macro.
const CONTINUED: usize = 98;

/// A text in which names of coefficients are numbers.
fn with_coefficients(text: &str) -> String {
    let line = |line: &str| match line.strip_suffix('\\') {
        _ if !line.contains('@') => line.to_owned(),
        Some(line) => format!("{:CONTINUED$}\\", named_numbers(line.trim_end())),
        None => named_numbers(line),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn named_numbers(line: &str) -> String {
    let mut pieces = line.split('@');
    let mut full = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, rest) = piece.split_at(piece.find(|c| !is_name(c)).unwrap_or(piece.len()));
        let place = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let (place, rest) = place.unwrap_or(("0", rest));
        let place: usize = place.parse().expect("the number of a coefficient");
        let table = coefficients::table(name).expect("a table of coefficients");
        full.push_str(&number(table[place]));
        full.push_str(rest);
    }
    full
}

/// The shortest text that is read as this number.
fn number(value: f64) -> String {
    if (1e-4..1e16).contains(&value.abs()) {
        return format!("{value:?}");
    }
    let text = format!("{value:e}");
    match text.split_once("e-") {
        Some((digits, exponent)) => format!("{digits}e-{exponent:0>2}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_after_what_they_need() {
        let text = select(["ein_sinh_f64"]);
        let at = |name: &str| text.find(name).unwrap_or_else(|| panic!("no {name}"));
        assert!(at("} ein_pair;") < at("ein_pair ein_pair_over("));
        assert!(at("ein_pair ein_pair_over(") < at("double ein_sinh_f64("));
        assert!(!text.contains("ein_log"));
        assert_eq!(text.matches("} ein_pair;").count(), 1);
    }

    #[test]
    fn coefficients_are_those_of_the_definition() {
        let text = select(["ein_exp_f64", "ein_erf_f64"]);
        assert!(!text.contains('@'));
        for value in coefficients::EXP.iter().chain(&coefficients::ERF_FAR) {
            let shown = number(*value);
            assert_eq!(shown.parse(), Ok(*value));
            assert!(text.contains(&shown), "{shown}");
        }
        assert_eq!(number(-2.0916860635231786e-9), "-2.0916860635231786e-09");
        assert_eq!(with_coefficients("a(@LN2_HI, 1)"), "a(0.6931471803691238, 1)");
    }

    #[test]
    fn every_name_is_defined() {
        for block in &blocks().list {
            for name in names(&block.text) {
                let field = name == "ein_turns_f32";
                let known = blocks().by_name.contains_key(name) || field;
                let own = ["ein_body", "ein_gemm", "ein_i32x8", "ein_u32x8"].contains(&name);
                assert!(known || own, "{name} is not a block");
            }
        }
    }
}
