//! The same meaning in other words: programs of the repository in which values pass through blocks,
//! functions, closures, branches, tuples and structs on their way (metamorphic testing).
//!
//! Whatever two engines share (the checker, derivatives) they can get wrong together; a program and its
//! other form cannot. A program is a function of a number, as in [`crate::changed`].

use crate::changed;
use ein_fuzz::Rng;

/// What the other forms are made of.
const HELPERS: &str = "fn kept_as_it_is(v) { v }\nstruct KeptInField<T> { kept: T }";

/// In which words a value may be said again: the first so many of them.
#[derive(Clone, Copy)]
enum Words {
    /// Those that cost nothing.
    Free = 5,
    /// Those that have a derivative.
    Derived = 7,
    All = 8,
}

/// A program, and the same in other words, both by statements of the top level.
pub fn program(seed: u64) -> (Vec<String>, Vec<String>) {
    let plain = changed::program_with(seed, 2);
    // `try` has no derivative.
    let derived = |it: &String| ["@", "jvp", "vjp", "hessian"].iter().any(|d| it.contains(d));
    let words = if plain.iter().any(derived) { Words::Derived } else { Words::All };
    let other = in_other_words(&mut Rng::new(seed ^ 0x5eed_cafe), &plain, words);
    (plain, other)
}

/// The statements of a text, and the same in other words that cost nothing: without choices and `try`.
pub fn of_text(text: &str, seed: u64) -> (Vec<String>, Vec<String>) {
    let plain = changed::statements(&changed::split(text).concat());
    let other = in_other_words(&mut Rng::new(seed), &plain, Words::Free);
    (plain, other)
}

/// The helpers, then statement by statement the same.
fn in_other_words(rng: &mut Rng, plain: &[String], words: Words) -> Vec<String> {
    let mut other: Vec<String> = HELPERS.lines().map(str::to_owned).collect();
    let mut known: Vec<String> = Vec::new();
    let several = |name: &str| {
        let of_name = |it: &&String| changed::names(std::slice::from_ref(it)) == [name];
        plain.iter().filter(of_name).count() > 1
    };
    // Between two clauses of a name everything belongs to one system, in whose words it has to stay.
    let between = |at: usize| {
        let own = |it: &String| changed::names(std::slice::from_ref(it));
        let before = plain[..at].iter().flat_map(own);
        let after: Vec<String> = plain[at..].iter().skip(1).flat_map(own).collect();
        before.into_iter().any(|name| after.contains(&name))
    };
    for (at, statement) in plain.iter().enumerate() {
        if between(at) {
            other.push(statement.clone());
            continue;
        }
        let mut text = statement.clone();
        for _ in 0..rng.below(3) {
            text = value_elsewhere(rng, &text, &known, words);
        }
        if let [name] = changed::names(std::slice::from_ref(statement)).as_slice()
            && !several(name)
        {
            if rng.below(3) == 0 {
                text = definition_elsewhere(rng, &text, name);
            }
            known.push(name.clone());
        }
        other.push(text);
    }
    other
}

/// One use of a known name, as the value of something that gives it.
fn value_elsewhere(rng: &mut Rng, text: &str, known: &[String], words: Words) -> String {
    // Derivatives are asked of names.
    if ["jvp(", "vjp(", "hessian("].iter().any(|it| text.contains(it)) {
        return text.to_owned();
    }
    let mut tokens = changed::split(text);
    // The parameters of a function are other names, and take what their calls say.
    let function = ["fn ", "@fn ", "pub fn "].iter().any(|it| text.starts_with(it));
    let body = tokens.iter().position(|it| it == if function { "{" } else { "=" }).unwrap_or(0);
    let bound = |name: &String| function && tokens[..body].contains(name);
    // A recurrence holds the numbers that its text says.
    let own = changed::names(std::slice::from_ref(&text.to_owned()));
    if own.iter().any(|name| tokens[body..].contains(name)) {
        return text.to_owned();
    }
    let uses: Vec<usize> = (body..tokens.len())
        .filter(|&at| known.contains(&tokens[at]) && !bound(&tokens[at]))
        .filter(|&at| is_value(&tokens, at))
        .collect();
    let Some(&at) = rng.pick(&uses) else { return text.to_owned() };
    let a = &tokens[at];
    tokens[at] = match rng.below(words as usize) {
        0 => format!("kept_as_it_is({a})"),
        1 => format!("({{ let inner_value = {a}; inner_value }})"),
        2 => format!("({a}, 1).0"),
        3 => format!("(KeptInField {{ kept: {a} }}).kept"),
        4 => format!("(|one_value| one_value)({a})"),
        5 => format!("(if 1 < 2 {{ {a} }} else {{ {a} }})"),
        6 => format!("(match 7 {{ 7 => {a}, _ => {a} }})"),
        _ => format!("((try {a}) else {a})"),
    };
    tokens.concat()
}

/// Whether the name at this place is read, and not bound, called, derived by or named of something else.
fn is_value(tokens: &[String], at: usize) -> bool {
    let blank = |it: &&String| !it.trim().is_empty();
    let before = tokens[..at].iter().rev().find(blank).map_or("", String::as_str);
    let after: String = tokens[at + 1..].concat();
    let after = after.trim_start();
    let bound = after.starts_with(['{', '(', ':', '}'])
        || (after.starts_with('=') && !after.starts_with("=="))
        || after.starts_with("in ")
        || after.starts_with("=>");
    !bound
        && !["@", ".", "|", "fn", "let", "in", "struct", ":", "until", "use"].contains(&before)
        && !after.starts_with('|')
}

/// A definition inside of a block, a function or a closure, of which only its value is known outside.
fn definition_elsewhere(rng: &mut Rng, text: &str, name: &str) -> String {
    if !text.starts_with("let ") || ["@", "print", "input("].iter().any(|it| text.contains(it)) {
        return text.to_owned();
    }
    match rng.below(4) {
        0 => format!("let {name} = {{ {text} {name} }};"),
        1 => format!("fn made_{name}() {{ {text} {name} }}\nlet {name} = made_{name}();"),
        2 => format!("let {name} = (|| {{ {text} {name} }})();"),
        _ => format!("let ({name}, _) = {{ {text} ({name}, 0) }};"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_where_they_are_read() {
        let reads = |text: &str| {
            let tokens = changed::split(text);
            (0..tokens.len()).filter(|&at| tokens[at] == "a" && is_value(&tokens, at)).count()
        };
        assert_eq!(reads("let y[i] = a[i] + f(a) * (a == 1);"), 3);
        assert_eq!(reads("let y = @a / @a + p.a + a(1) + a::b + |a| 1;"), 0);
    }

    #[test]
    fn programs_have_another_form() {
        let differ = (0..200).filter(|&seed| program(seed).1.len() > 2).count();
        assert!(differ > 150, "{differ}");
        assert_eq!(program(7), program(7));
    }
}
