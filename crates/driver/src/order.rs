//! The order in which diagnostics are shown: by file, then by place; each once.

use ein_base::{Diagnostic, FileId, SourceMap, Span};
use std::collections::BTreeMap;

/// Sorts diagnostics by file order and offset and drops exact duplicates. A module that two
/// programs import was loaded twice; what is said about it is still said once.
pub fn sort(files: &SourceMap, diagnostics: &mut Vec<Diagnostic>) {
    let same = duplicates(files);
    if !same.is_empty() {
        for diagnostic in diagnostics.iter_mut() {
            redirect(diagnostic, &same);
        }
    }
    diagnostics.sort_by(|a, b| key(a).cmp(&key(b)));
    diagnostics.dedup();
}

fn key(diagnostic: &Diagnostic) -> (Span, ein_base::Code, &str) {
    (diagnostic.primary.span, diagnostic.code, &diagnostic.message)
}

/// Files that were loaded before under the same name with the same text.
fn duplicates(files: &SourceMap) -> BTreeMap<FileId, FileId> {
    let mut first = BTreeMap::new();
    let mut same = BTreeMap::new();
    for (id, file) in files.iter() {
        match first.get(file.name.as_str()) {
            None => {
                first.insert(file.name.as_str(), id);
            }
            Some(&before) if files.file(before).text == file.text => {
                same.insert(id, before);
            }
            Some(_) => {}
        }
    }
    same
}

fn redirect(diagnostic: &mut Diagnostic, same: &BTreeMap<FileId, FileId>) {
    let labels = diagnostic.labels.iter_mut().map(|label| &mut label.span);
    let edits =
        diagnostic.helps.iter_mut().filter_map(|help| help.edit.as_mut()).map(|it| &mut it.0);
    for span in std::iter::once(&mut diagnostic.primary.span).chain(labels).chain(edits) {
        if let Some(&before) = same.get(&span.file()) {
            *span = Span::new(before, span.lo(), span.hi());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ein_base::Code;

    #[test]
    fn by_file_then_place_each_once() {
        let mut files = SourceMap::default();
        let a = files.add("a.ein".into(), None, "xyz".into());
        let b = files.add("b.ein".into(), None, "xyz".into());
        let again = files.add("a.ein".into(), None, "xyz".into());
        let at =
            |file, lo, text: &str| Diagnostic::new(Code::E0201, Span::new(file, lo, lo + 1), text);
        let mut all = vec![
            at(b, 0, "b0"),
            at(again, 1, "a1"),
            at(a, 2, "a2"),
            at(a, 1, "a1"),
            at(a, 1, "another"),
        ];
        sort(&files, &mut all);
        let texts: Vec<_> = all.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(texts, ["a1", "another", "a2", "b0"]);
    }
}
