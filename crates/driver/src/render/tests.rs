//! Tests of rendering.

use super::*;
use ein_base::{Code, FileId, Span};
use std::time::{Duration, Instant};

fn one(name: &str, text: &str) -> (SourceMap, FileId) {
    let mut files = SourceMap::default();
    let file = files.add(name.into(), None, text.into());
    (files, file)
}

fn span(files: &SourceMap, file: FileId, needle: &str) -> Span {
    let at = files.file(file).text.find(needle).unwrap() as u32;
    Span::new(file, at, at + needle.len() as u32)
}

#[track_caller]
fn check(files: &SourceMap, diagnostic: Diagnostic, expected: &str) {
    let text = render(files, &[diagnostic], Style::Plain);
    assert_eq!(text.trim_end(), expected.trim_matches('\n'), "\n{text}");
}

#[test]
fn the_message_of_the_book() {
    let text = "let a = 1;\nlet logits: [f32; batch, feature] = input();\n\n\n\n\n\
                let result = sum[class](logits[batch, class]);\n";
    let (files, file) = one("model.ein", text);
    let diagnostic = Diagnostic::new(
        Code::E0301,
        span(&files, file, "class"),
        "`logits` has no coordinate `class`",
    )
    .here("not a coordinate of `logits`")
    .label(span(&files, file, "batch, feature"), "declared with {batch, feature}")
    .note("the coordinates are {batch, feature}")
    .help("did you mean `feature`?");
    check(
        &files,
        diagnostic,
        r"
error[E0301]: `logits` has no coordinate `class`
 --> model.ein:7:18
  |
2 | let logits: [f32; batch, feature] = input();
  |                   -------------- declared with {batch, feature}
...
7 | let result = sum[class](logits[batch, class]);
  |                  ^^^^^ not a coordinate of `logits`
  |
  = note: the coordinates are {batch, feature}
  = help: did you mean `feature`?",
    );
}

#[test]
fn labels_in_another_file() {
    let (mut files, a) = one("a.ein", "use b::f;\nf(1);\n");
    let b = files.add("b.ein".into(), None, "// one\nfn f() { 1 }\n".into());
    let diagnostic = Diagnostic::new(Code::E0205, span(&files, a, "f;"), "`f` is private")
        .label(span(&files, b, "f()"), "defined here");
    check(
        &files,
        diagnostic,
        r"
error[E0205]: `f` is private
 --> a.ein:1:8
  |
1 | use b::f;
  |        ^^
  |
 ::: b.ein:2:4
  |
2 | fn f() { 1 }
  |    --- defined here",
    );
}

#[test]
fn wide_characters_combining_ones_and_tabs() {
    let (files, file) = one("w.ein", "\tlet 変数 = e\u{301} + nope;\n");
    let diagnostic = Diagnostic::new(Code::E0201, span(&files, file, "nope"), "unknown").here("x");
    check(
        &files,
        diagnostic,
        "
error[E0201]: unknown
 --> w.ein:1:16
  |
1 |     let 変数 = e\u{301} + nope;
  |                    ^^^^ x",
    );
}

#[test]
fn places_at_the_edges_of_a_file() {
    let (files, file) = one("e.ein", "let x = (1\r\n");
    let end = files.file(file).text.len() as u32;
    for (lo, hi) in [(end, end), (end, end + 9), (end - 1, end), (end - 2, end), (0, end), (0, 0)] {
        let diagnostic = Diagnostic::new(Code::E0104, Span::new(file, lo, hi), "m").here("h");
        let text = render(&files, &[diagnostic], Style::Plain);
        assert!(text.contains(" --> e.ein:") && text.contains("^"), "{text}");
    }
}

#[test]
fn a_file_without_text_is_only_named() {
    let (files, file) = one("gone.ein", "");
    let diagnostic = Diagnostic::new(Code::E0210, Span::new(file, 0, 0), "cannot read `gone.ein`");
    check(&files, diagnostic, "error[E0210]: cannot read `gone.ein`\n--> gone.ein");
}

#[test]
fn a_long_line_is_cut_and_keeps_its_column() {
    let text =
        format!("let é = [{}BAD, {}OTHER];\n", "1, ".repeat(3_000_000), "2, ".repeat(300_000));
    let (files, file) = one("long.ein", &text);
    let bad = span(&files, file, "BAD");
    let diagnostic = Diagnostic::new(Code::E0101, bad, "m")
        .here("this")
        .label(span(&files, file, "OTHER"), "that");
    let start = Instant::now();
    let all = vec![diagnostic; 200];
    let plain = render(&files, &all, Style::Plain);
    let json = render(&files, &all, Style::Json);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert!(plain.len() < 200 * 2000);
    assert!(plain.contains(" --> long.ein:1:9000010\n"), "{}", &plain[..900]);
    assert!(plain.contains("^^^ this") && plain.contains("----- that"), "{}", &plain[..900]);
    assert!(json.contains(r#""column":9000010"#));
}

#[test]
fn many_diagnostics_in_a_long_file() {
    let text = "let a = 1;\n".repeat(200_000);
    let (files, file) = one("long.ein", &text);
    let all: Vec<_> = (0..2000)
        .map(|i| {
            let at = i * 1000;
            Diagnostic::new(Code::E0201, Span::new(file, at, at + 3), "m")
                .label(Span::new(file, 0, 3), "first")
                .label(Span::new(file, 0, text.len() as u32), "all of it")
        })
        .collect();
    let start = Instant::now();
    let shown = render(&files, &all, Style::Plain);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert!(shown.contains(" ::: long.ein:1:1\n"));
}

#[test]
fn spans_over_several_lines() {
    let text = format!("fn f() {{\n{}}}\nlet x = 1;\n", "    let a = 1;\n".repeat(40));
    let (files, file) = one("m.ein", &text);
    let hi = text.find("\nlet x").unwrap() as u32;
    let shown = render(
        &files,
        &[Diagnostic::new(Code::E0501, Span::new(file, 0, hi), "m").here("all this")],
        Style::Plain,
    );
    assert!(shown.contains(" 1 | / fn f() {\n"), "{shown}");
    assert!(shown.contains("42 | | }\n   | |_^ all this\n"), "{shown}");
}

#[test]
fn json_has_what_tools_need() {
    let (mut files, a) = one("a.ein", "let x = y;\n");
    let b = files.add("b.ein".into(), None, "é = 1".into());
    let diagnostic = Diagnostic::new(Code::W0101, span(&files, a, "y"), "a \"quoted\" one")
        .here("here")
        .label(Span::new(a, 4, 5), "there")
        .label(span(&files, b, "="), "far")
        .note("n")
        .fix("f", Span::new(a, 0, 1), "z");
    assert_eq!(
        render(&files, &[diagnostic], Style::Json),
        concat!(
            r#"{"severity":"warning","code":"W0101","message":"a \"quoted\" one","file":"a.ein","#,
            r#""line":1,"column":9,"labels":[{"line":1,"column":9,"text":"here"},"#,
            r#"{"line":1,"column":5,"text":"there"},"#,
            r#"{"line":1,"column":3,"text":"far","file":"b.ein"}],"notes":["n"],"help":["f"]}"#,
            "\n"
        )
    );
}
