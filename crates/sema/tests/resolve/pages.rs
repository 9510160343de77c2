//! Every page about names holds a program that fails with exactly its code, and one that passes.
//!
//! Programs of several files are written as one text: `// file: path` starts a further file. A
//! file whose text is `UNREADABLE` cannot be read.

use crate::support::{line, run};
use ein_base::{Code, Stage};

fn block<'a>(page: &'a str, kind: &str) -> Option<&'a str> {
    let start = page.find(&format!("```einlang {kind}\n"))?;
    let (_, rest) = page[start..].split_once('\n')?;
    rest.split("```").next()
}

#[test]
fn examples_fail_and_pass_as_they_say() {
    let warnings = [Code::W0101, Code::W0102];
    let codes = Code::ALL.iter().copied();
    for code in codes.filter(|c| c.stage() == Stage::Names || warnings.contains(c)) {
        let page = code.page();
        assert!(page.starts_with(&format!("# {code}: {}\n", code.title())), "{code}");
        let fails = block(page, "fails").unwrap_or_else(|| panic!("{code} has no failing example"));
        let fixed = block(page, "fixed").unwrap_or_else(|| panic!("{code} has no fixed example"));
        let (files, resolved) = run(fails);
        let got: Vec<String> = resolved.diagnostics.iter().map(|d| line(&files, d)).collect();
        assert!(!got.is_empty(), "{code}: the failing example passes");
        assert!(resolved.diagnostics.iter().all(|d| d.code == code), "{code}: {got:#?}");
        let (files, resolved) = run(fixed);
        let got: Vec<String> = resolved.diagnostics.iter().map(|d| line(&files, d)).collect();
        assert_eq!(got, Vec::<String>::new(), "{code}: the fixed example fails");
    }
}
