//! The parsers of the other notations: what they say about mistakes, and that no text stops them.

use ein_base::{FileId, Idx};
use ein_syntax::{Notation, parse_as, unparse};

fn codes(notation: Notation, text: &str) -> Vec<String> {
    let parsed = parse_as(notation, FileId::from_usize(0), text);
    parsed.diagnostics.iter().map(|it| it.code.to_string()).collect()
}

fn einlang(notation: Notation, text: &str) -> String {
    unparse(&parse_as(notation, FileId::from_usize(0), text).ast)
}

#[test]
fn remora_says_what_is_wrong() {
    for (text, code) in [
        ("(define x (+ 1 2)", "E0104"),
        ("(define x 1))", "E0105"),
        ("(define x 12ab)", "E0108"),
        ("(define)", "E0101"),
        ("()", "E0101"),
        ("(λ x 1)", "E0101"),
        ("(define (f x) 1)", "E0101"),
        ("(let ((x)) 1)", "E0101"),
        ("(if 1 2)", "E0101"),
        ("#A(2 2)", "E0101"),
        ("(sqrt 1 2)", "E0508"),
        ("(define (f (x 0)) x) (f 1 2)", "E0508"),
        ("(1 2)", "E0510"),
        ("(+ 1 sqrt)", "E0501"),
        ("(reduce 1 0 [1])", "E0510"),
        ("(define (f (x all)) (f [x])) (f 1)", "E0518"),
    ] {
        assert_eq!(codes(Notation::Remora, text), [code], "{text}");
    }
}

#[test]
fn svexp_says_what_is_wrong() {
    for (text, code) in [
        ("def f x = x + in f 1", "E0101"),
        ("def f x = (x in f 1", "E0104"),
        ("[1 2", "E0104"),
        ("1 ! 2", "E0110"),
        ("99999999999999999999", "E0108"),
        ("", "E0101"),
        ("def f x = Typ 0 7 x in f [1]", "E0405"),
        ("Typ 0 7 [1]", "E0405"),
        ("[1] + [2]", "E0408"),
        ("Extr00 1 [1 2]", "E0414"),
        ("Typ 1 7 [1 2]", "E0414"),
        ("Proj 7 0 [1 2]", "E0414"),
        ("Proj 7 0 Typ 1 7 [[1]]", "E0415"),
        ("Join 0 [[1]] 1", "E0415"),
        ("Red + 1 [1 2]", "E0414"),
        ("if true then [1] else 1", "E0405"),
    ] {
        let found = codes(Notation::Svexp, text);
        assert!(found.iter().any(|it| it == code), "{text}: {found:?}");
    }
}

#[test]
fn translations_are_readable() {
    let remora = "(define (dot (xs 1) (ys 1)) (reduce + 0 (* xs ys))) (dot [1 2] [3 4.5])";
    assert_eq!(
        einlang(Notation::Remora, remora),
        "use std::ops::{add, mul};\n\n\
         fn dot(xs: [i32; ?n], ys: [f32; ?n]) -> f32 { reduce(add, 0.0, mul(xs as f32, ys)) }\n\n\
         let result = dot([1, 2], [3.0, 4.5]);\n"
    );
    let svexp = "def t x = Proj 7 0 Proj 8 1 Typ 0 8 Typ 1 7 x in t [[1 2] [3 4]]";
    assert_eq!(
        einlang(Notation::Svexp, svexp),
        "fn t(x) {\n    let p[i, j] = x[j, i];\n    p\n}\n\nlet result = t([[1, 2], [3, 4]]);\n"
    );
}

#[test]
fn no_text_stops_the_parsers() {
    let samples = [
        "(define (f (x 0) (y all) (z (A Num [n (+ n 1)]))) (if (< x 1) y (let ((a [1 2.5])) (f a y z))))",
        "(define g (λ ((op 0)) (λ ((x 1)) (reduce op 0 x)))) ((g +) [[1 2] [3 4]]) ([sqrt length] [1 2])",
        "(UNPACK (n v (iota [2 3])) (rotate (iota [2]) (append v (filter (λ ((r 1)) true) v))))",
        "def f x = if NumOf x 0 1 then x else let a = Extr01 0 x, b = 1.5 in Join 0 (f a) b in Proj 7 1 f Typ 1 7 [[1 2] [-3 4]]",
        "def g x y = Proj 7 0 + (Typ 0 7 x) Typ 0 7 Part1 0 y 1, h x = Red * 0 g x x in Cond (h [1]) <= 2 3 (4 * 5 - 6)",
    ];
    // A small generator of its own: the same texts every time.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below.max(1) as u64).unwrap()
    };
    for round in 0..4000 {
        let mut words: Vec<&str> = samples[round % samples.len()].split_inclusive(' ').collect();
        let other: Vec<&str> = samples[random(samples.len())].split_inclusive(' ').collect();
        for _ in 0..1 + random(4) {
            let at = random(words.len());
            match random(4) {
                0 => _ = words.remove(at),
                1 => words.insert(at, other[random(other.len())]),
                2 => words[at] = ["(", ")", "[", "]", "λ ", "α", "-", "#A", ", in "][random(9)],
                _ => words.swap(at, random(other.len()).min(at)),
            }
            if words.is_empty() {
                break;
            }
        }
        let text = words.concat();
        for notation in [Notation::Remora, Notation::Svexp] {
            let _ = einlang(notation, &text);
        }
    }
    for deep in ["(", "[", "((λ ((x 0)) ", "Proj 7 0 ", "- ", "if ", "(let ((x ", "1 + "] {
        let text = deep.repeat(20_000);
        for notation in [Notation::Remora, Notation::Svexp] {
            let _ = einlang(notation, &text);
        }
    }
}
