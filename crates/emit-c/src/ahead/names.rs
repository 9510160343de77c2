//! Names of programs and bindings as identifiers of C.

use super::Program;

/// The names of the parameters, all different.
pub(crate) struct Parameters {
    pub(crate) inputs: Vec<String>,
    pub(crate) outputs: Vec<String>,
}

impl Parameters {
    pub(crate) fn of(program: &Program<'_>) -> Parameters {
        let mut taken: Vec<String> = Vec::new();
        let mut name = |text: &str| {
            let mut name = identifier(text);
            while taken.contains(&name) {
                name.push('_');
            }
            taken.push(name.clone());
            name
        };
        let inputs = program.inputs.iter().map(|it| name(&it.name)).collect();
        let outputs = program.outputs.iter().map(|it| name(&it.array.name)).collect();
        Parameters { inputs, outputs }
    }
}

/// A text as an identifier that neither C nor the files we write use otherwise.
pub fn identifier(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || c == '_' => name.push(c),
            c if c.is_ascii() => name.push('_'),
            c => name.push_str(&format!("u{:x}", u32::from(c))),
        }
    }
    if name.is_empty() {
        name.push_str("program");
    }
    if name.starts_with(|c: char| c.is_ascii_digit() || c == '_') {
        name.insert(0, 'x');
    }
    let types = name.ends_with("_t");
    if types || name.starts_with("ein_") || is_reserved(&name) {
        name.push('_');
    }
    name
}

/// The words of C and C++, and every function and macro of the headers that we include (`stdlib.h`,
/// `string.h`, `stdio.h`, `pthread.h` and what these include); sorted. A macro breaks a parameter of its
/// name, a function a function of its name.
const RESERVED: &str = include_str!("reserved.txt");

fn is_reserved(name: &str) -> bool {
    RESERVED.lines().any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_identifiers() {
        assert!(RESERVED.lines().is_sorted());
        for taken in ["printf", "BUFSIZ", "getline", "signed", "co_await", "INT64_MAX", "usleep"] {
            assert_eq!(identifier(taken) == taken, taken == "usleep", "{taken}");
        }
        let names = ["heat", "two-layers", "3d", "main", "", "ω", "size_t", "ein_exp_f32", "_x"];
        let expected =
            ["heat", "two_layers", "x3d", "main_", "program", "u3c9", "size_t_", "ein_exp_f32_"];
        let found: Vec<String> = names.iter().map(|it| identifier(it)).collect();
        assert_eq!(found[..8], expected);
        assert_eq!(found[8], "x_x");
    }
}
