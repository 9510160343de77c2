//! Any text can be parsed without a panic, and what formats formats to itself.
//!
//! `cargo +nightly fuzz run parse`
#![no_main]

use ein_base::SourceMap;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut files = SourceMap::default();
    let file = files.add("fuzz.ein".into(), None, text.into());
    let parsed = ein_syntax::parse(file, text);
    for diagnostic in &parsed.diagnostics {
        let span = diagnostic.primary.span;
        assert!(span.lo() <= span.hi() && span.hi() as usize <= text.len());
    }
    if let Ok(once) = ein_syntax::format(text) {
        let twice = ein_syntax::format(&once);
        assert_eq!(twice.as_deref().ok(), Some(once.as_str()));
    }
});
