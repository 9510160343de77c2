//! The examples in documentation.
//!
//! A block of documentation between ```` ```einlang ```` and ```` ``` ```` is an example. It sees the
//! file in which it stands: [`woven`] gives the text of the file in which the examples of the top
//! level have become `test` blocks, line for line and column for column, so that messages about an
//! example point into the documentation. An example that imports its own file, or that stands inside
//! a function, is a program of its own that lies beside the file ([`Example::add`]); so are the
//! examples of the library, whose files are no programs by themselves.

use ein_base::{FileId, Idx as _, SourceMap, Span};
use ein_syntax::ast::{Ast, Doc, StmtId, StmtKind};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// An example.
pub(crate) struct Example {
    /// The line of its first statement, from 1.
    line: usize,
    /// Its lines.
    text: String,
    /// The comments it is made of, with those of its fences.
    comments: Vec<Span>,
    /// The other comments of the documentation it stands in.
    around: Vec<Span>,
    /// Whether it sees its file: see above.
    sees: bool,
}

/// The examples in the documentation of a file and of everything in it.
pub(crate) fn of(files: &SourceMap, file: FileId) -> Vec<Example> {
    let source = files.file(file);
    let stem = source.path.as_deref().and_then(|path| path.file_stem());
    let stem = stem.map(|stem| stem.to_string_lossy().into_owned());
    let ast = ein_syntax::parse(file, &source.text).ast;
    let mut examples = Vec::new();
    blocks(files, &ast.docs, true, &mut examples);
    let top: FxHashSet<StmtId> = ast.stmts.iter().copied().collect();
    for (at, stmt) in ast.stmt.iter().enumerate() {
        blocks(files, &stmt.docs, top.contains(&StmtId::from_usize(at)), &mut examples);
    }
    for example in &mut examples {
        example.sees &= !stem.as_deref().is_some_and(|stem| example.imports(file, stem));
    }
    examples.sort_by_key(|example| example.line);
    examples
}

fn blocks(files: &SourceMap, docs: &[Doc], top: bool, examples: &mut Vec<Example>) {
    let first = examples.len();
    let mut open: Option<Example> = None;
    for doc in docs {
        let text = doc.text.as_str();
        let (line, _) = files.position(doc.span);
        match &mut open {
            Some(example) if text.trim() == "```" => {
                example.comments.push(doc.span);
                examples.extend(open.take());
            }
            Some(example) => {
                example.comments.push(doc.span);
                example.text.push_str(text);
                example.text.push('\n');
            }
            None if text.trim() == "```einlang" => {
                open = Some(Example {
                    line: line + 1,
                    text: String::new(),
                    comments: vec![doc.span],
                    around: Vec::new(),
                    sees: top,
                });
            }
            None => {}
        }
    }
    let all = || docs.iter().map(|doc| doc.span);
    examples[first..].iter_mut().for_each(|example| {
        example.around = all().filter(|it| !example.comments.contains(it)).collect();
    });
}

/// The text of a file with these of its examples as tests.
pub(crate) fn woven(text: &str, examples: &[&Example]) -> String {
    // What replaces the bytes from a place on: the marks of comments make room for code.
    let mut edits: Vec<(usize, usize, String)> = Vec::new();
    for example in examples {
        for span in &example.around {
            let taken = examples.iter().any(|other| other.comments.contains(span));
            let at = span.lo() as usize;
            if !taken && !edits.iter().any(|(edited, ..)| *edited == at) {
                edits.push((at, at + 3, "// ".to_string()));
            }
        }
        let last = example.comments.len() - 1;
        for (at, span) in example.comments.iter().enumerate() {
            let (lo, hi) = (span.lo() as usize, span.hi() as usize);
            edits.push(match at {
                0 => (lo, hi, format!("test \"{}\" {{", example.name())),
                _ if at == last => (lo, hi, "}".to_string()),
                _ => (lo, lo + 3, "   ".to_string()),
            });
        }
    }
    edits.sort();
    let mut woven = String::with_capacity(text.len());
    let mut done = 0;
    for (lo, hi, with) in edits {
        woven.push_str(&text[done..lo]);
        woven.push_str(&with);
        done = hi;
    }
    woven.push_str(&text[done..]);
    woven
}

impl Example {
    /// What it is called in the list of tests.
    pub(crate) fn name(&self) -> String {
        format!("example at line {}", self.line)
    }

    /// Whether it can be a test in the text of its file.
    pub(crate) fn sees_its_file(&self) -> bool {
        self.sees
    }

    /// Whether it imports the module of this name.
    fn imports(&self, file: FileId, module: &str) -> bool {
        let ast: Ast = ein_syntax::parse(file, &self.text).ast;
        let mut uses = ast.stmts.iter().filter_map(|stmt| match &ast.stmt[*stmt].kind {
            StmtKind::Use(import) => import.tree.prefix.first(),
            _ => None,
        });
        uses.any(|first| first.sym.as_str() == module)
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
