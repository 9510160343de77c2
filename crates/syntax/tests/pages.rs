//! The pages about syntax errors show what they say.

use ein_base::{Code, FileId, Idx, Stage};
use ein_syntax::parse;

/// The text of the code block with this header.
fn block<'a>(page: &'a str, header: &str) -> &'a str {
    let start = page.find(header).expect("the page has this block") + header.len() + 1;
    let end = page[start..].find("```").expect("the block is closed");
    &page[start..start + end]
}

#[test]
fn examples_fail_and_pass_as_they_say() {
    // Whether a slot on the left is a constant is known when names are resolved; the suite runs
    // that page with the others.
    let parsed = |code: &Code| code.stage() == Stage::Syntax && *code != Code::E0113;
    for code in Code::ALL.iter().copied().filter(parsed) {
        let page = code.page();
        assert!(page.starts_with(&format!("# {code}: {}", code.title())), "{code}");
        let fails = parse(FileId::from_usize(0), block(page, "```einlang fails"));
        let found: Vec<Code> = fails.diagnostics.iter().map(|d| d.code).collect();
        assert_eq!(found, [code]);
        let fixed = block(page, "```einlang fixed");
        let diagnostics = parse(FileId::from_usize(0), fixed).diagnostics;
        assert!(diagnostics.is_empty(), "{code}: {diagnostics:?}");
        assert_eq!(
            ein_syntax::format(fixed).as_deref(),
            Ok(fixed),
            "{code}: the example is in canonical form"
        );
    }
}
