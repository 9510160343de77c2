//! Names of a graph as identifiers of a program.

use std::collections::HashSet;

/// Words that a value is never called: keywords, what the generated text calls or counts with.
const RESERVED: &str = "let const fn pub use mod as in if else match where true false struct enum type \
    try catch for while loop return mut var until some test self super crate std input print assert \
    len shape extent typeof array_append sum prod max min mean any all argmax argmin count rerank \
    reduce scan append rotate reverse reshape filter iota first last rest init take drop join blocks \
    unblocks abs sqrt exp log sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh floor ceil \
    round trunc erf mod fmod div_floor log1p load_safetensors weight bool i8 i16 i32 i64 u8 u16 u32 u64 f16 \
    bf16 f32 f64 str jagged error Option Some None Result Ok Err _";

/// Words that count in generated text.
const INDICES: &str = "batch channel row col depth time feature hidden query key head group class \
    token dim inner i j k l m n o p q r s t u v a b c d e f g h at slot place";

/// Gives out identifiers, each once.
#[derive(Debug)]
pub struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// Nothing but the reserved words is taken.
    pub fn new() -> Names {
        let words = RESERVED.split_whitespace().chain(INDICES.split_whitespace());
        Names { taken: words.map(str::to_owned).collect() }
    }

    /// Keeps an identifier from being given out.
    pub fn take(&mut self, name: &str) {
        self.taken.insert(name.to_owned());
    }

    /// An identifier that reads like `name` and has not been given out.
    pub fn fresh(&mut self, name: &str) -> String {
        let plain = identifier(name);
        let mut candidate = plain.clone();
        let mut round = 1;
        while self.taken.contains(&candidate) {
            round += 1;
            candidate = if round == 2 && plain.len() <= 2 && !plain.ends_with('_') {
                format!("{plain}_in")
            } else {
                format!("{plain}_{round}")
            };
        }
        self.taken.insert(candidate.clone());
        candidate
    }
}

/// A name as an identifier: lower case, words joined by `_`.
fn identifier(name: &str) -> String {
    const LONGEST: usize = 40;
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
    }
    let out = out.trim_end_matches('_');
    // The end of a long path says more than its beginning.
    let start = out.len().saturating_sub(LONGEST);
    let word = out[start..].find('_').filter(|_| start > 0).unwrap_or(0);
    let out = out[start + word..].trim_start_matches('_');
    match out.chars().next() {
        None => "value".into(),
        Some(c) if c.is_ascii_digit() => format!("v{out}"),
        Some(_) => out.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_distinct_and_legal() {
        let mut names = Names::new();
        assert_eq!(names.fresh("conv1/BatchNorm:0"), "conv1_batchnorm_0");
        assert_eq!(names.fresh("conv1.BatchNorm.0"), "conv1_batchnorm_0_2");
        assert_eq!(names.fresh("42"), "v42");
        assert_eq!(names.fresh("sum"), "sum_2");
        assert_eq!(names.fresh("…"), "value");
    }
}
