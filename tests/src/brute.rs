//! A second meaning of programs, written only to be compared with the first: a brute-force
//! evaluator of syntax trees.
//!
//! Values are nested lists whose numbers know their type; ranges are found by trying indices;
//! recurrences are computed by recursion with a memo. It knows the part of the language that
//! [`crate::generate`] writes and shares nothing with the checker, the IR and the evaluator.

mod arith;
mod call;
mod define;
mod domain;
mod eval;
mod names;
mod pattern;
mod reduce;
mod value;

use ein_base::{SourceMap, Symbol};
use ein_syntax::ast::{Ast, ExprId, StmtId, WhereItem};
use std::collections::{HashMap, HashSet};

pub use value::V;

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The program fails while running.
    Fails(String),
    /// This evaluator does not know the construct, or cannot decide (a comparison of floats that
    /// nearly tie).
    Unknown(String),
}

type Result<T> = std::result::Result<T, Stop>;

fn unknown<T>(what: impl Into<String>) -> Result<T> {
    Err(Stop::Unknown(what.into()))
}

fn fails<T>(what: impl Into<String>) -> Result<T> {
    Err(Stop::Fails(what.into()))
}

/// The bindings in scope, the innermost last.
type Env = Vec<(Symbol, V)>;

/// An evaluation under way.
struct Brute<'a> {
    ast: &'a Ast,
    env: Env,
    /// The functions of the file.
    functions: HashMap<Symbol, StmtId>,
    /// Items of a trailing `where` that belong to the reduction before it.
    attached: HashMap<ExprId, Vec<WhereItem>>,
    /// The bindings at top level so far.
    globals: std::rc::Rc<Env>,
    /// Where the indices stand that were used.
    touched: HashSet<u32>,
    depth: usize,
    steps: usize,
}

/// What a program means.
#[derive(Debug)]
pub struct Meaning {
    /// The value of every binding at top level, in source order; of a name bound twice the last.
    pub bindings: Vec<(String, V)>,
    /// Where in the text the indices stand that were used.
    pub touched: HashSet<u32>,
}

/// Evaluates a program.
pub fn run(text: &str) -> Result<Meaning> {
    let mut files = SourceMap::default();
    let file = files.add("brute".into(), None, text.into());
    let parsed = ein_syntax::parse(file, text);
    if let Some(first) = parsed.diagnostics.first() {
        return unknown(format!("does not parse: {}", first.message));
    }
    let ast = &parsed.ast;
    let mut brute = Brute {
        ast,
        env: Vec::new(),
        functions: HashMap::new(),
        attached: HashMap::new(),
        globals: std::rc::Rc::default(),
        touched: HashSet::new(),
        depth: 0,
        steps: 0,
    };
    brute.hoist(&ast.stmts);
    brute.statements(&ast.stmts)?;
    let mut out: Vec<(String, V)> = Vec::new();
    for (name, value) in brute.env {
        out.retain(|(known, _)| known != name.as_str());
        if !matches!(value, V::Closure(..) | V::Unit) {
            out.push((name.to_string(), value));
        }
    }
    Ok(Meaning { bindings: out, touched: brute.touched })
}
