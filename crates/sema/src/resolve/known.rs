//! Names that the library knows: where a name that means nothing here could be imported from.
//!
//! The library is only read for this when a message needs it.

use super::Resolver;
use ein_base::{FileId, Idx as _, Symbol};
use ein_syntax::ast::{StmtKind, UseKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// For each public function and type of the library the shortest paths that lead to it.
pub(super) type Known = FxHashMap<Symbol, Vec<String>>;

/// How many places a message names.
const SHOWN: usize = 3;

impl Resolver<'_> {
    /// How a name of the library is imported: `use std::io::load_npy;`.
    pub(super) fn import_of(&mut self, name: Symbol) -> Option<String> {
        if self.known.is_none() {
            let mut known = Known::default();
            self.collect_known("", &mut known);
            for paths in known.values_mut() {
                paths.sort_by_key(|path| (path.matches("::").count(), path.clone()));
                paths.dedup();
            }
            self.known = Some(known);
        }
        let paths = self.known.as_ref()?.get(&name)?;
        let (first, rest) = paths.split_first()?;
        let others: Vec<String> = rest.iter().take(SHOWN - 1).map(|it| format!("`{it}`")).collect();
        let others = match others.as_slice() {
            [] => String::new(),
            others => format!("; there is {}, too", others.join(" and ")),
        };
        Some(format!("the library has it: `use {first};`{others}"))
    }

    /// Notes what the files in a directory of the library export; gives the parts whose names the
    /// directory's own file exports again.
    fn collect_known(&self, dir: &str, known: &mut Known) {
        let names = self.sources.library_names_in(dir);
        let again = self.exported_again(dir);
        for name in names {
            match name.strip_suffix(".ein") {
                Some(stem) => {
                    let Some(text) = self.sources.library(&format!("{dir}{name}")) else {
                        continue;
                    };
                    let own = stem == "mod" || again.contains(stem);
                    let part = if own { String::new() } else { format!("{stem}::") };
                    let path = format!("std::{}{part}", dir.replace('/', "::"));
                    for item in exports(&text) {
                        known.entry(item).or_default().push(format!("{path}{item}"));
                    }
                }
                None => self.collect_known(&format!("{dir}{name}/"), known),
            }
        }
    }

    /// The parts of a directory of which `mod.ein` says `pub use self::part::*;`.
    fn exported_again(&self, dir: &str) -> FxHashSet<String> {
        let Some(text) = self.sources.library(&format!("{dir}mod.ein")) else {
            return FxHashSet::default();
        };
        let ast = ein_syntax::parse(FileId::from_usize(0), &text).ast;
        let globs = ast.stmts.iter().filter_map(|stmt| match &ast.stmt[*stmt].kind {
            StmtKind::Use(import) if import.public && matches!(import.tree.kind, UseKind::Glob) => {
                import.tree.prefix.last().map(|last| last.sym.to_string())
            }
            _ => None,
        });
        globs.collect()
    }
}

/// The names that a file exports.
fn exports(text: &str) -> Vec<Symbol> {
    let ast = ein_syntax::parse(FileId::from_usize(0), text).ast;
    let names = ast.stmts.iter().filter_map(|stmt| match &ast.stmt[*stmt].kind {
        StmtKind::Fn(function) if function.public => Some(function.name.sym),
        StmtKind::Struct(item) if item.public => Some(item.name.sym),
        StmtKind::Enum(item) if item.public => Some(item.name.sym),
        _ => None,
    });
    names.collect()
}
