//! The checker: coordinates, ranges, sizes, shapes and types, and elaboration to tensor IR.
//!
//! Checking and elaboration are one traversal: what an expression *is* cannot be said without
//! knowing its type and layout, and once they are known the IR node is known too. The rest is
//! passes over the result:
//!
//! 1. functions over `Cx` walk the statements of the top level and the bodies of the functions they call
//!    (and of every function that can be checked without a call), giving tensor IR; `state` says
//!    what they know on the way, in four parts, of which the others take what they touch;
//! 2. `ranges` fills in the domains of index variables at the end of each definition;
//! 3. `causality` orders recurrences; `bounds` proves or refutes every read;
//! 4. `declared` points the errors at the declarations of what they are about.
//!
//! Errors never stop it: [`Type::Error`] absorbs what follows from a mistake already reported.

use crate::hir;
use ein_base::{Code, Diagnostic, Span, Symbol};
use ein_ir::size::{self, Atom};
use ein_ir::tensor::{Axis, Coord, Program, VarId};
use ein_scalar::ScalarType;
use rustc_hash::FxHashSet;

mod annotation;
mod arms;
mod binary;
mod blocks;
mod bounds;
mod builtin;
mod call;
mod causality;
mod choice;
mod close;
mod coerce;
mod comprehension;
mod construct;
mod consts;
mod data;
mod declared;
mod define;
mod derivative;
mod elements;
mod exhaustive;
mod expr;
mod facts;
mod fields;
mod fold;
mod formula;
mod function;
mod host;
mod index;
mod infer;
mod instance;
mod large;
mod layouts;
mod ledger;
mod lift;
mod literal;
mod look;
mod lost;
mod matching;
mod matrix;
mod packs;
mod parts;
mod paths;
mod pattern;
mod pipe;
mod pointwise;
mod ragged;
mod ranges;
mod recursion;
mod reduce;
mod regions;
mod report;
mod result;
mod rule;
mod show;
mod state;
mod stmt;
mod symbolic;
mod system;
mod template;
mod types;
mod vars;
mod wheres;
mod widen;

pub use facts::{BindingFact, Broadcast, ReadFact, Report, Verdict, Widening};
pub use lost::lost;
pub use recursion::RecursionFact;
use state::Cx;

/// A checked program.
#[derive(Debug)]
pub struct Checked {
    /// The program; runnable if no diagnostic is an error.
    pub program: Program,
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
    /// What is known of its top-level bindings and reads.
    pub report: Report,
}

/// Checks a resolved program.
/// `inputs` names the top-level bindings that values from outside will replace.
pub fn check(hir: &hir::Program, inputs: &FxHashSet<Symbol>) -> Checked {
    let mut cx = Cx::new(hir, inputs);
    report::program(&mut cx);
    recursion::check_recursion(&cx.infer, &cx.ix, &cx.build, &mut cx.report);
    declared::point_at_declarations(&cx.ix, &mut cx.report);
    let (program, told) = cx.into_program();
    let report = told.summary();
    Checked { program, diagnostics: told.diagnostics, report }
}

ein_base::id!(
    /// An index variable with what is known of it.
    IndexId,
    "i"
);

/// What is known of an index variable.
#[derive(Clone, Debug)]
struct IndexInfo {
    name: Symbol,
    span: Span,
    var: VarId,
    atom: Atom,
    declared: Declared,
    /// The contract coordinate it was first used at.
    ground: Option<Ground>,
    /// Whether it is a free coordinate of an open expression, held to the tensors' own names.
    free: bool,
    /// Whether a mistake with it was reported already.
    broken: bool,
}

/// How an index variable was introduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Declared {
    /// By its name alone.
    Name,
    /// With an explicit range.
    Range,
    /// Over a coordinate.
    Over(Symbol),
    /// As a member of a pack, or by the compiler: takes the coordinate of the axis it meets.
    Any,
}

/// Where an index variable got its coordinate.
#[derive(Clone, Copy, Debug)]
struct Ground {
    coord: Coord,
    /// The tensor read there.
    tensor: Option<Symbol>,
    span: Span,
}

/// What a local name stands for in the body being checked.
#[derive(Clone, Copy, Debug)]
enum Binding {
    Var(VarId),
    Index(IndexId),
}

/// The extent of a coordinate on some value in scope.
#[derive(Clone, Debug)]
struct CoordExtent {
    name: Symbol,
    /// The coordinate that it is a role of.
    over: Option<Symbol>,
    contract: bool,
    size: size::Expr,
    /// The value that carries it.
    owner: Symbol,
    span: Span,
}

/// An error at a place.
fn error(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(code, span, message)
}

/// The scalar types a literal of integer digits may take.
fn is_numeric(ty: ScalarType) -> bool {
    ty != ScalarType::Bool
}

/// An axis as the caller sees it.
fn anonymous(size: size::Expr) -> Axis {
    Axis::anonymous(size)
}
