//! Names of other notations as Einlang names.

use rustc_hash::FxHashMap;

const KEYWORDS: &[&str] = &[
    "let", "const", "fn", "pub", "use", "if", "else", "match", "true", "false", "struct", "enum",
    "try", "in", "where", "as", "test", "some", "mod", "catch", "for", "while", "loop", "return",
    "mut", "var", "crate", "self", "super", "std", "python", "main",
];

/// An Einlang name that reads like this one: `odd-sum` becomes `odd_sum`.
pub(crate) fn readable(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '_' => out.push(c),
            '0'..='9' if !out.is_empty() => out.push(c),
            '-' => out.push('_'),
            _ => {
                if !out.is_empty() && !out.ends_with('_') {
                    out.push('_');
                }
                match word(c) {
                    Some(word) => out.push_str(word),
                    None => out.push_str(&format!("u{:x}", u32::from(c))),
                }
            }
        }
    }
    if out.is_empty() || out.chars().all(|c| c == '_') {
        out.push_str("value");
    }
    if KEYWORDS.contains(&out.as_str()) {
        out.push('_');
    }
    out
}

fn word(c: char) -> Option<&'static str> {
    Some(match c {
        '*' => "star",
        '+' => "plus",
        '/' => "over",
        '%' => "percent",
        '?' => "p",
        '!' => "do",
        '<' => "below",
        '>' => "above",
        '=' => "equal",
        '&' => "and",
        '\'' => "prime",
        'α' => "alpha",
        'β' => "beta",
        'γ' => "gamma",
        'δ' => "delta",
        'ε' => "epsilon",
        'θ' => "theta",
        'κ' => "kappa",
        'λ' => "lambda",
        'μ' => "mu",
        'π' => "pi",
        'ρ' => "rho",
        'σ' => "sigma",
        'τ' => "tau",
        'φ' => "phi",
        'ω' => "omega",
        '0'..='9' => {
            return Some(
                ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"]
                    .get(c.to_digit(10)? as usize)?,
            );
        }
        _ => return None,
    })
}

/// Names that are taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Taken(
    /// Each name with the number from which the next one like it is tried.
    FxHashMap<String, usize>,
);

impl Taken {
    /// Keeps a name free of other uses.
    pub(crate) fn reserve(&mut self, name: &str) {
        self.0.entry(name.to_owned()).or_insert(2);
    }

    /// Whether it is taken.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A name like this one that nothing else has; it is taken from now on.
    pub(crate) fn fresh(&mut self, name: &str) -> String {
        let Some(next) = self.0.get(name) else {
            self.reserve(name);
            return name.to_owned();
        };
        let mut count = *next;
        let mut out = format!("{name}_{count}");
        while self.has(&out) {
            count += 1;
            out = format!("{name}_{count}");
        }
        self.0.insert(name.to_owned(), count + 1);
        self.reserve(&out);
        out
    }
}
