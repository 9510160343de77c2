//! The reference of a library or a program, made from its documentation comments: pages of HTML with
//! a search that needs no server.
//!
//! [`modules`] reads what is exported and documented; [`pages`] turns it into files.

mod html;

use crate::{Input, InternalError, Session, guarded, library};
use ein_base::{Diagnostic, Span};
use ein_syntax::ast::{Ast, Doc, Stmt, StmtId, StmtKind};
use std::path::Path;

pub use html::pages;

/// What a module exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its path: `std::math::trig`.
    pub path: String,
    /// What it says of itself, in Markdown.
    pub docs: String,
    /// What it exports, in source order.
    pub items: Vec<Item>,
}

/// Something that a module exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// Its name.
    pub name: String,
    /// How it is declared, on one line for a function.
    pub signature: String,
    /// Its description, in Markdown.
    pub docs: String,
}

/// The kinds of things that have a description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// `fn`
    Function,
    /// `struct`
    Struct,
    /// `enum`
    Enum,
    /// `const`
    Constant,
    /// `mod` and `pub use`: a way to somewhere else.
    Export,
}

impl ItemKind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            ItemKind::Function => "function",
            ItemKind::Struct => "struct",
            ItemKind::Enum => "enum",
            ItemKind::Constant => "constant",
            ItemKind::Export => "export",
        }
    }
}

impl Session {
    /// The modules of the standard library.
    pub fn library_modules(&mut self) -> Result<Vec<Module>, InternalError> {
        guarded(|| {
            let mut found = Vec::new();
            for (path, text) in library::files() {
                let file = self.files.add(path.to_string(), None, (*text).into());
                modules(&ein_syntax::parse(file, text).ast, text, &library_path(path), &mut found);
            }
            found.sort_by(|a, b| a.path.cmp(&b.path));
            found
        })
    }

    /// The modules of a program, called by the name of its file; or why it cannot be read.
    pub fn program_modules(
        &mut self,
        path: &Path,
    ) -> Result<Result<Vec<Module>, Box<Diagnostic>>, InternalError> {
        guarded(|| match self.load(&Input::File(path.to_owned())) {
            Err(unreadable) => Err(unreadable),
            Ok(root) => {
                let (ast, report) = self.parse(root);
                if let Some(error) = report.diagnostics.into_iter().find(Diagnostic::is_error) {
                    return Err(Box::new(error));
                }
                let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let mut found = Vec::new();
                modules(&ast, &self.files.file(root).text, &stem, &mut found);
                Ok(found)
            }
        })
    }
}

/// The path under which a file of the library is imported.
fn library_path(file: &str) -> String {
    let path = file.strip_suffix(".ein").unwrap_or(file);
    let path = path.strip_suffix("/mod").unwrap_or(path);
    format!("std::{}", path.replace('/', "::"))
}

fn modules(ast: &Ast, text: &str, path: &str, found: &mut Vec<Module>) {
    module(ast, text, path, joined(&ast.docs), &ast.stmts, found);
}

fn module(
    ast: &Ast,
    text: &str,
    path: &str,
    docs: String,
    stmts: &[StmtId],
    found: &mut Vec<Module>,
) {
    let at = found.len();
    found.push(Module { path: path.to_string(), docs, items: Vec::new() });
    for stmt in stmts.iter().map(|id| &ast.stmt[*id]) {
        if let StmtKind::Mod(inner) = &stmt.kind
            && let (true, Some(body)) = (inner.public, &inner.body)
        {
            let path = format!("{path}::{}", inner.name.sym);
            module(ast, text, &path, joined(&stmt.docs), body, found);
        }
        found[at].items.extend(item(ast, text, stmt));
    }
}

/// What a statement exports.
fn item(ast: &Ast, text: &str, stmt: &Stmt) -> Option<Item> {
    declared(ast, text, stmt).filter(|(public, _)| *public).map(|(_, item)| item)
}

/// How an item of a text is declared, and what is said of it; of the library, if the name is a path.
pub(crate) fn described(text: &str, name: &str) -> Option<String> {
    let of = |text: &str, name: &str| {
        let ast = ein_syntax::parse(<ein_base::FileId as ein_base::Idx>::from_usize(0), text).ast;
        let mut items = ast.stmts.iter().filter_map(|id| declared(&ast, text, &ast.stmt[*id]));
        let (_, item) = items.find(|(_, it)| it.name == name && it.kind != ItemKind::Export)?;
        Some(format!("{}\n\n{}", item.signature, item.docs).trim_end().to_owned())
    };
    let Some((module, last)) = name.rsplit_once("::") else { return of(text, name) };
    library::files().iter().find_map(|(path, text)| {
        let here = library_path(path);
        // Each directory module re-exports its parts.
        let parent = here.rsplit_once("::").is_some_and(|(parent, _)| parent == module);
        if here == module || parent { of(text, last) } else { None }
    })
}

/// What a statement declares, or leads to for others, and whether it is exported.
fn declared(ast: &Ast, text: &str, stmt: &Stmt) -> Option<(bool, Item)> {
    let until = |end: u32| slice(text, stmt.span.lo(), end);
    let (public, kind, name, signature) = match &stmt.kind {
        StmtKind::Fn(f) => {
            let head = until(ast.expr[f.body].span.lo());
            let head = head.split_whitespace().collect::<Vec<_>>().join(" ");
            (f.public, ItemKind::Function, f.name.sym, head)
        }
        StmtKind::Struct(s) => (s.public, ItemKind::Struct, s.name.sym, whole(text, stmt.span)),
        StmtKind::Enum(e) => (e.public, ItemKind::Enum, e.name.sym, whole(text, stmt.span)),
        StmtKind::Const(c) => (c.public, ItemKind::Constant, c.name.sym, whole(text, stmt.span)),
        StmtKind::Mod(m) if m.public => {
            (true, ItemKind::Export, m.name.sym, format!("mod {}", m.name.sym))
        }
        StmtKind::Use(u) if u.public => {
            let name = u.tree.prefix.last().map(|name| name.sym)?;
            (true, ItemKind::Export, name, whole(text, stmt.span))
        }
        StmtKind::Mod(_)
        | StmtKind::Use(_)
        | StmtKind::Let(_)
        | StmtKind::Clause(_)
        | StmtKind::Rule(_)
        | StmtKind::Test(_)
        | StmtKind::Expr(_)
        | StmtKind::Error => return None,
    };
    let docs = joined(&stmt.docs);
    Some((public, Item { kind, name: name.to_string(), signature, docs }))
}

fn whole(text: &str, span: Span) -> String {
    slice(text, span.lo(), span.hi()).to_string()
}

fn slice(text: &str, lo: u32, hi: u32) -> &str {
    text.get(lo as usize..hi as usize).unwrap_or_default().trim()
}

fn joined(docs: &[Doc]) -> String {
    let mut all = String::new();
    for doc in docs {
        all.push_str(doc.text.as_str());
        all.push('\n');
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileSources, Options};

    fn of(text: &str) -> Vec<Module> {
        let mut sources = FileSources::in_memory();
        sources.insert("shapes.ein", text);
        let mut session = Session::new(Options::default(), sources);
        session.program_modules(Path::new("shapes.ein")).expect("no bug").expect("a program")
    }

    #[test]
    fn what_is_exported_is_described() {
        let found = of(
            "//! Shapes.\n\n/// The area\n/// of a box.\npub fn area(\n    a: f32, b: f32,\n) -> f32 { a * b }\nfn hidden() { 1 }\n\
                        /// Inside.\npub mod inner { pub const N: i32 = 3; }\npub struct P { x: f32 }\n",
        );
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].path.as_str(), found[0].docs.as_str()), ("shapes", "Shapes.\n"));
        let names: Vec<&str> = found[0].items.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["area", "inner", "P"]);
        assert_eq!(found[0].items[0].signature, "pub fn area( a: f32, b: f32, ) -> f32");
        assert_eq!(found[0].items[0].docs, "The area\nof a box.\n");
        assert_eq!(
            (found[1].path.as_str(), found[1].docs.as_str()),
            ("shapes::inner", "Inside.\n")
        );
        assert_eq!(found[1].items[0].signature, "pub const N: i32 = 3;");
    }

    #[test]
    fn pages_escape_what_they_are_given() {
        let found = of(
            "//! <script>alert(1)</script> & `a<b`\n/// See <b>this</b>.\npub fn f<T>(x: T) -> T { x }\n",
        );
        let pages = pages("Shapes & more", &found);
        let text = &pages.iter().find(|(name, _)| name == "shapes.html").expect("a page").1;
        assert!(!text.contains("<script>alert") && text.contains("&lt;script&gt;"), "{text}");
        assert!(
            !text.contains("<b>this") && text.contains("pub fn f&lt;T&gt;(x: T) -&gt; T"),
            "{text}"
        );
        let index = &pages.iter().find(|(name, _)| name == "index.html").expect("an index").1;
        assert!(index.contains("Shapes &amp; more") && index.contains("shapes.html"), "{index}");
        let search = &pages.iter().find(|(name, _)| name == "search.js").expect("a search").1;
        assert!(search.contains("shapes.html#f"), "{search}");
    }

    #[test]
    fn the_library_has_a_page_for_every_module() {
        let mut session = Session::new(Options::default(), FileSources::in_memory());
        let found = session.library_modules().expect("no bug");
        let trig = found.iter().find(|it| it.path == "std::math::trig").expect("trig");
        assert!(trig.items.iter().any(|it| it.name == "sin" && it.docs.contains("radians")));
        assert!(found.iter().any(|it| it.path == "std::math"));
    }
}
