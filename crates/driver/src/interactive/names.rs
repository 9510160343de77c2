//! Names that completion offers.

use crate::{guarded, library};
use ein_base::{FileId, Idx as _};
use ein_syntax::ast::{Ast, PatId, PatKind, StmtKind};
use std::collections::BTreeSet;

/// Names that need no import.
const BUILT_IN: &[&str] = &[
    "print",
    "assert",
    "len",
    "shape",
    "extent",
    "typeof",
    "array_append",
    "sum",
    "prod",
    "max",
    "min",
    "mean",
    "any",
    "all",
    "argmax",
    "argmin",
    "count",
    "rerank",
    "reduce",
    "scan",
    "append",
    "rotate",
    "reverse",
    "reshape",
    "filter",
    "iota",
    "first",
    "last",
    "rest",
    "init",
    "take",
    "drop",
    "join",
    "blocks",
    "unblocks",
];

/// Words of the language that begin something.
const WORDS: &[&str] = &[
    "let", "const", "fn", "pub", "use", "mod", "if", "else", "match", "where", "true", "false",
    "struct", "enum", "try", "catch", "in", "as",
];

/// The words that mean something in every program: of the language, built in, and the paths of
/// the library.
pub fn words() -> Vec<String> {
    let mut all: BTreeSet<String> =
        BUILT_IN.iter().chain(WORDS).map(|word| (*word).to_owned()).collect();
    for (path, text) in library::files() {
        let module = path.trim_end_matches(".ein").trim_end_matches("/mod").replace('/', "::");
        let module = format!("std::{module}");
        let found = guarded(|| public(&ein_syntax::parse(FileId::from_usize(0), text).ast));
        for name in found.unwrap_or_default() {
            all.insert(format!("{module}::{name}"));
            // Each directory module re-exports its parts.
            if let Some((parent, _)) = module.rsplit_once("::") {
                all.insert(format!("{parent}::{name}"));
            }
        }
        all.insert(module);
    }
    all.into_iter().collect()
}

fn public(ast: &Ast) -> Vec<String> {
    let name = |kind: &StmtKind| match kind {
        StmtKind::Fn(it) if it.public => Some(it.name.to_string()),
        StmtKind::Const(it) if it.public => Some(it.name.to_string()),
        StmtKind::Struct(it) if it.public => Some(it.name.to_string()),
        StmtKind::Enum(it) if it.public => Some(it.name.to_string()),
        _ => None,
    };
    ast.stmts.iter().filter_map(|stmt| name(&ast.stmt[*stmt].kind)).collect()
}

/// The names that the top level of a program binds.
pub(crate) fn declared(ast: &Ast) -> Vec<String> {
    let mut names = BTreeSet::new();
    for stmt in &ast.stmts {
        match &ast.stmt[*stmt].kind {
            StmtKind::Let(it) => bound(ast, it.pat, &mut names),
            StmtKind::Clause(it) => drop(names.insert(it.name.to_string())),
            StmtKind::Const(it) => drop(names.insert(it.name.to_string())),
            StmtKind::Fn(it) => drop(names.insert(it.name.to_string())),
            StmtKind::Struct(it) => drop(names.insert(it.name.to_string())),
            StmtKind::Mod(it) => drop(names.insert(it.name.to_string())),
            StmtKind::Enum(it) => {
                for variant in &it.variants {
                    names.insert(format!("{}::{}", it.name, variant.name));
                }
                names.insert(it.name.to_string());
            }
            _ => {}
        }
    }
    names.into_iter().collect()
}

fn bound(ast: &Ast, pat: PatId, names: &mut BTreeSet<String>) {
    match &ast.pat[pat].kind {
        PatKind::Bind { name, .. } => drop(names.insert(name.to_string())),
        PatKind::Tuple(parts) => parts.iter().for_each(|part| bound(ast, *part, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_paths_are_words() {
        let words = words();
        for word in ["print", "let", "std::math::sqrt", "std::math"] {
            assert!(words.iter().any(|it| it == word), "{word}");
        }
    }
}
