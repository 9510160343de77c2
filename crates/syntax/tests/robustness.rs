//! Whatever the text, the parser ends, does not panic, and says something sensible.

mod support;

use ein_base::{FileId, Idx};
use ein_syntax::{Parsed, dump, format, parse};
use proptest::prelude::*;
use support::Rng;

/// Parses, dumps and formats on a thread with the stack of a test, and checks what must always
/// hold: spans inside the text, diagnostics in order.
#[track_caller]
fn check(source: &str) -> Parsed {
    let parsed = parse(FileId::from_usize(0), source);
    let _ = dump(&parsed.ast);
    assert_eq!(format(source).is_ok(), parsed.diagnostics.is_empty());
    let starts: Vec<u32> = parsed.diagnostics.iter().map(|d| d.primary.span.lo()).collect();
    assert!(starts.is_sorted());
    let spans =
        parsed.ast.expr.iter().map(|e| e.span).chain(parsed.ast.stmt.iter().map(|s| s.span));
    for span in spans {
        assert!(source.get(span.lo() as usize..span.hi() as usize).is_some(), "{span:?}\n{source}");
    }
    for diagnostic in &parsed.diagnostics {
        let places = diagnostic.labels.iter().map(|l| l.span).chain([diagnostic.primary.span]);
        let edits = diagnostic.helps.iter().filter_map(|h| h.edit.as_ref().map(|e| e.0));
        for span in places.chain(edits) {
            assert!(
                source.get(span.lo() as usize..span.hi() as usize).is_some(),
                "{diagnostic:?}\n{source}"
            );
        }
    }
    parsed
}

/// Runs in a thread with the two megabytes that threads usually have.
fn with_small_stack(run: impl FnOnce() + Send + 'static) {
    let thread =
        std::thread::Builder::new().stack_size(2 << 20).spawn(run).expect("threads can be started");
    thread.join().expect("it does not overflow");
}

const PIECES: &[&str] = &[
    "let ",
    "fn ",
    "f",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ";",
    ",",
    "=",
    "==",
    "..",
    "..=",
    "..s",
    "1",
    "2.5",
    "\"",
    "\"{",
    "}\"",
    "where ",
    "in ",
    "else ",
    "match ",
    "=>",
    "if ",
    "|",
    "||",
    "|>",
    "!>",
    "?>",
    "?",
    "?n",
    "-",
    "**",
    "@",
    "@fn ",
    "#",
    "as ",
    ":",
    "::",
    ".",
    "//",
    "/*",
    "*/",
    "\n",
    "for ",
    "return ",
    "mut ",
    "$",
    "\0",
    "λ",
    "“",
    "'",
    "<",
    ">",
    "!",
    "some n. ",
    "test ",
    "mod ",
    "use ",
    "struct ",
    "enum ",
    "pub ",
    "const ",
    "try ",
    "catch |e| ",
    "_",
    "0x",
    "1e",
    "\\",
    "///",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in ".{0,60}") {
        check(&text);
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_pieces(picks in proptest::collection::vec(0..PIECES.len(), 0..40)) {
        let text: String = picks.into_iter().map(|i| PIECES[i]).collect();
        check(&text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_programs(seed in any::<u64>()) {
        let mut rng = Rng::new(seed);
        let mut text = support::program(rng.next(), rng.chance(30));
        for _ in 0..1 + rng.below(4) {
            let mut at = rng.below(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            if rng.chance(50) {
                let mut end = (at + rng.below(12)).min(text.len());
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
                text.replace_range(at..end.max(at), "");
            } else {
                text.insert_str(at, rng.pick(PIECES));
            }
        }
        check(&text);
    }
}

/// A text that must give exactly one diagnostic before the mistake on its last line.
#[track_caller]
fn check_deep(source: String) {
    let source = source + "\nlet b = ;\n";
    let parsed = check(&source);
    let codes: Vec<&str> = parsed.diagnostics.iter().map(|d| d.code.as_str()).collect();
    assert_eq!(codes, ["E0115", "E0101"], "{}", &source[..40]);
}

#[test]
fn deep_nesting_is_one_error() {
    with_small_stack(|| {
        let n = 20_000;
        for (open, middle, close) in [
            ("(", "1", ")"),
            ("[", "1", "]"),
            ("{ ", "1", " }"),
            ("-", "1", ""),
            ("!", "1", ""),
            ("@", "1", ""),
            ("f(", "1", ")"),
            ("x[", "1", "]"),
            ("sum[i](", "1", ")"),
            ("|x| ", "1", ""),
            ("try ", "1", ""),
            ("if c { ", "1", " }"),
            ("if c { 1 } else ", "{ 2 }", ""),
            ("match x { _ => ", "1", " }"),
            ("P { x: ", "1", " }"),
            ("2 ** ", "1", ""),
            ("1 + (", "1", ")"),
            ("\"{", "1", "}\""),
            ("[x | x in ", "y", "]"),
            ("{ let a = ", "1", "; a }"),
            ("{ fn f() ", "{}", " }"),
        ] {
            check_deep(format!("let a = {}{middle}{};", open.repeat(n), close.repeat(n)));
        }
        for (open, middle, close) in [
            ("[", "f32", "]"),
            ("(", "f32", ",)"),
            ("() -> ", "f32", ""),
            ("some n. ", "f32", ""),
            ("Option<", "f32", ">"),
        ] {
            check_deep(format!("let a: {}{middle}{} = 1;", open.repeat(n), close.repeat(n)));
        }
        check_deep(format!("match x {{ {}1{} => 2 }}", "(".repeat(n), ")".repeat(n)));
        check_deep(format!("let {}a{} = 2;", "(".repeat(n), ",)".repeat(n)));
        check_deep(format!("use {}a{};", "a::{".repeat(n), "}".repeat(n)));
        check_deep(format!("{}{}", "mod a { ".repeat(n), "}".repeat(n)));
        check_deep(format!("{}{}", "fn f() { ".repeat(n), "}".repeat(n)));
    });
}

#[test]
fn brackets_that_never_close_are_one_error() {
    with_small_stack(|| {
        for open in ["(", "[", "{", "f(", "x[", "if c {", "match x { _ => "] {
            let parsed = check(&format!("let a = {}", open.repeat(20_000)));
            assert_eq!(parsed.diagnostics.len(), 1, "{open}: {:?}", parsed.diagnostics);
        }
    });
}

#[test]
fn long_chains_are_one_error() {
    with_small_stack(|| {
        for link in [" + 1", " |> f", ".x", "(1)", "[0]", " as f32", " && c", " ?> f else 1"] {
            check_deep(format!("let a = 1{};", link.repeat(20_000)));
        }
        // Ten megabytes on one line.
        check_deep(format!("let a = {}1;", "1 + ".repeat(2_500_000)));
    });
}

#[test]
fn nesting_within_the_limits_is_fine() {
    with_small_stack(|| {
        let n = 200;
        for (open, middle, close) in [
            ("(", "1", ")"),
            ("[", "1", "]"),
            ("f(", "1", ")"),
            ("-", "1", ""),
            ("if c { ", "1", " }"),
            ("{ let a = ", "1", "; a }"),
        ] {
            let parsed = check(&format!("let a = {}{middle}{};", open.repeat(n), close.repeat(n)));
            assert!(parsed.diagnostics.is_empty(), "{open}: {:?}", parsed.diagnostics);
        }
        let parsed = check(&format!("let a = 1{};", " + 1".repeat(500)));
        assert!(parsed.diagnostics.is_empty());
        let long = format!("let a = [{}];", "1, ".repeat(100_000));
        assert!(check(&long).diagnostics.is_empty());
    });
}

#[test]
fn odd_bytes() {
    assert!(check("").diagnostics.is_empty());
    assert!(check("\u{feff}").diagnostics.is_empty());
    assert!(check("\u{feff}let a = 1;\r\n").diagnostics.is_empty());
    for source in [
        "\0",
        "let a = 1;\0",
        "\"",
        "\"\\",
        "\"{",
        "\"{\"",
        "/*",
        "/* /* */",
        "\"\\u{",
        "let a\u{feff} = 1;",
        "'",
        "“",
        "\\",
        "0x",
        "1e+",
    ] {
        assert!(!check(source).diagnostics.is_empty(), "{source:?}");
    }
}

#[test]
fn a_flood_of_mistakes_is_cut_off() {
    for piece in ["$ ", "' ", "\"{ ", "let a = ;", "} ", ") ", "0 10, ", "“ ", "\"{x:q}\";"] {
        let parsed = parse(FileId::from_usize(0), &piece.repeat(200_000));
        assert!(!parsed.diagnostics.is_empty() && parsed.diagnostics.len() <= 1000, "{piece}");
    }
}

#[test]
fn long_texts_are_read_to_their_end() {
    // Fifty megabytes, then ten on one line.
    let lines = "let weight[i in 0..8] = scale(x[i]) + 1.5; // a remark\n".repeat(950_000);
    let line = format!("let a = [{}];", "1, ".repeat(3_400_000));
    for (text, stmts) in [(lines, 950_000), (line, 1)] {
        let parsed = parse(FileId::from_usize(0), &(text + "let b = ;"));
        assert_eq!(parsed.ast.stmts.len(), stmts + 1);
        let codes: Vec<&str> = parsed.diagnostics.iter().map(|d| d.code.as_str()).collect();
        assert_eq!(codes, ["E0101"]);
    }
}

/// The tree and the diagnostics of a text, those with their distance from `start`.
fn tree(text: &str, start: usize) -> (String, Vec<(String, usize)>) {
    let parsed = parse(FileId::from_usize(0), text);
    let place = |span: ein_base::Span| (span.lo() as usize).saturating_sub(start);
    let said = parsed.diagnostics.iter().map(|d| (d.message.clone(), place(d.primary.span)));
    (dump(&parsed.ast), said.collect())
}

#[test]
fn what_stands_before_a_program_changes_nothing_in_it() {
    // Tokens are cut in portions, and forgotten: each program lies across the end of a portion.
    let mut rng = Rng::new(7);
    for seed in 0..1500 {
        let mut text = support::program(seed, false);
        if rng.chance(40) {
            let at = text.char_indices().map(|(at, _)| at).nth(rng.below(200)).unwrap_or(0);
            text.insert_str(at, rng.pick(PIECES));
        }
        // An empty statement is one token. Recovery looks at columns, so they stay.
        let before = ";".repeat(1024 * (1 + rng.below(2)) - rng.below(80)) + "\n";
        let moved = format!("{before}{text}");
        assert_eq!(tree(&text, 0), tree(&moved, before.len()), "{text}");
    }
}
