//! The examples in documentation.
//!
//! A block of documentation between ```` ```einlang ```` and ```` ``` ```` is a program of its own
//! that lies beside the file it documents, so that it can `use` it.

use ein_base::{FileId, SourceMap};
use ein_syntax::ast::{Ast, Doc};
use std::sync::Arc;

/// An example.
pub(crate) struct Example {
    /// The line of its first statement, from 1.
    line: usize,
    /// Its lines.
    text: String,
}

/// The examples in the documentation of a file and of everything in it.
pub(crate) fn of(files: &SourceMap, file: FileId) -> Vec<Example> {
    let parsed = ein_syntax::parse(file, &files.file(file).text);
    let ast: &Ast = &parsed.ast;
    let mut examples = Vec::new();
    for docs in std::iter::once(&ast.docs[..]).chain(ast.stmt.iter().map(|stmt| &stmt.docs[..])) {
        blocks(files, docs, &mut examples);
    }
    examples.sort_by_key(|example| example.line);
    examples
}

fn blocks(files: &SourceMap, docs: &[Doc], examples: &mut Vec<Example>) {
    let mut open: Option<Example> = None;
    for doc in docs {
        let text = doc.text.as_str();
        let (line, _) = files.position(doc.span);
        match &mut open {
            Some(_) if text.trim() == "```" => examples.extend(open.take()),
            Some(example) => {
                example.text.push_str(text);
                example.text.push('\n');
            }
            None if text.trim() == "```einlang" => {
                open = Some(Example { line: line + 1, text: String::new() });
            }
            None => {}
        }
    }
}

impl Example {
    /// What it is called in the list of tests.
    pub(crate) fn name(&self) -> String {
        format!("example at line {}", self.line)
    }

    /// Adds it as a program that lies beside the file it documents. Its lines keep their numbers,
    /// so that messages about it point into the documentation.
    pub(crate) fn add(&self, files: &mut SourceMap, documented: FileId) -> FileId {
        let text = format!("{}{}", "\n".repeat(self.line.saturating_sub(1)), self.text);
        let file = files.file(documented);
        let path = file.path.as_ref().map(|path| path.with_extension("example.ein"));
        files.add(file.name.clone(), path, Arc::from(text))
    }
}
