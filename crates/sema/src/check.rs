//! The checker: coordinates, ranges, sizes, shapes and types, and elaboration to tensor IR.
//!
//! Checking and elaboration are one traversal: what an expression *is* cannot be said without
//! knowing its type and layout, and once they are known the IR node is known too. The rest is
//! passes over the result:
//!
//! 1. `Cx` walks the statements of the top level and the bodies of the functions they call
//!    (and of every function that can be checked without a call), giving tensor IR;
//! 2. `ranges` fills in the domains of index variables at the end of each definition;
//! 3. `causality` orders recurrences; `bounds` proves or refutes every read;
//! 4. `declared` points the errors at the declarations of what they are about.
//!
//! Errors never stop it: [`Type::Error`] absorbs what follows from a mistake already reported.

use crate::hir::{self, DefId, LocalId};
use ein_base::{Code, Diagnostic, IndexVec, Span, Symbol};
use ein_ir::size::{self, Atom, Facts};
use ein_ir::tensor::{Axis, Coord, DataId, Expr, Program, Stmt, Type, VarId};
use ein_scalar::ScalarType;
use rustc_hash::{FxHashMap, FxHashSet};

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
mod exhaustive;
mod expr;
mod facts;
mod fields;
mod fold;
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
mod stmt;
mod symbolic;
mod system;
mod template;
mod tries;
mod types;
mod vars;
mod wheres;
mod widen;

pub use facts::{BindingFact, Broadcast, ReadFact, Report, Verdict, Widening};
pub use lost::lost;
pub use recursion::RecursionFact;

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
    cx.program();
    cx.check_recursion();
    cx.point_at_declarations();
    let report = cx.report();
    Checked { program: cx.out, diagnostics: cx.diagnostics, report }
}

/// Everything the checker knows while it walks.
struct Cx<'a> {
    hir: &'a hir::Program,
    out: Program,
    diagnostics: Vec<Diagnostic>,
    /// Which of them stay when a try is taken back.
    lasting: tries::Lasting,
    /// Index variables of all definitions and reductions.
    indices: IndexVec<IndexId, IndexInfo>,
    /// Their symbolic values.
    index_atoms: FxHashMap<Atom, IndexId>,
    /// The index variables that the value of a `where` name or local depends on.
    var_deps: FxHashMap<VarId, Vec<IndexId>>,
    /// Integer variables whose value is known symbolically.
    var_sizes: FxHashMap<VarId, size::Expr>,
    /// The ranges of index variables, once they are known.
    ranges: FxHashMap<Atom, (size::Expr, size::Expr)>,
    /// Values of globals, for functions that read them.
    globals: FxHashMap<LocalId, VarId>,
    /// Names of `[]` without a type of their own: each use says what they would hold.
    empties: FxHashSet<LocalId>,
    consts: FxHashMap<DefId, consts::ConstState>,
    data: FxHashMap<DefId, DataId>,
    /// Structs of the form of a declared one, whose type arguments are the types of the fields.
    derived: FxHashMap<DataId, DefId>,
    /// The names of the systems that are being checked, as far as their extents are not known.
    open_names: Vec<VarId>,
    /// All names of these systems.
    system_names: Vec<Symbol>,
    instances: instance::Instances,
    /// The files of the embedded library.
    library_files: FxHashSet<ein_base::FileId>,
    /// The instances whose bodies are being checked, outermost first.
    filling: Vec<usize>,
    templates: Vec<template::Template>,
    /// What is compared along coordinates, for `--broadcasts`.
    ledger: Vec<facts::Broadcast>,
    /// Numbers that were widened, for `--widenings`.
    widenings: Vec<facts::Widening>,
    /// Verdicts of reads, for `--bounds` and `--facts`.
    reads: Vec<facts::ReadFact>,
    /// Statements that give constants their values, before anything else runs.
    const_stmts: Vec<Stmt>,
    /// The constants in the order in which they were met, so that a try can forget its own.
    const_order: Vec<hir::DefId>,
    /// Whether the module being checked is the root.
    root_module: bool,
    /// Whether tests of the library are to be checked, too.
    check_library: bool,
    /// The parameters whose defaults are being checked.
    defaults: Vec<Span>,
    /// Names that inputs replace.
    inputs: &'a FxHashSet<Symbol>,
    /// Parameters that must not broadcast.
    no_broadcast: FxHashSet<VarId>,
    /// Variables that hold inputs.
    input_vars: FxHashSet<VarId>,
    /// Roles that types declare, each with its coordinate.
    declared_roles: FxHashSet<(Symbol, Symbol)>,
    /// The coordinate that the (elements of the) value of a variable address.
    addresses: FxHashMap<VarId, Symbol>,
    /// What the checker says of top-level bindings.
    bindings: Vec<facts::BindingFact>,
    /// Why recursive functions end.
    recursions: Vec<recursion::RecursionFact>,
    f: FnState,
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

/// The state of the function body (or top level) being checked.
#[derive(Default)]
struct FnState {
    /// The next free slot of the frame.
    slots: u32,
    /// Whether this is the top level of a module.
    top: bool,
    /// How many loops (clauses, reductions, generated definitions) enclose this place.
    loops: u32,
    env: FxHashMap<LocalId, Binding>,
    /// Packs in scope, as index variables.
    packs: FxHashMap<LocalId, Vec<IndexId>>,
    /// The axes of the packs of the signature.
    signature_packs: FxHashMap<LocalId, Vec<Axis>>,
    /// How many axes free packs stand for.
    pack_lengths: FxHashMap<LocalId, usize>,
    /// Extents of the coordinates of the signature that it does not state.
    coord_sizes: FxHashMap<Symbol, size::Expr>,
    /// Sizes `?n` in scope.
    sizes: FxHashMap<LocalId, size::Expr>,
    type_params: FxHashMap<LocalId, Type>,
    /// Coordinates bound by name: those of a coordinate call's arguments and of open expressions.
    coords: Vec<(Symbol, IndexId)>,
    /// What coordinate arguments hide while the arguments of their call are checked.
    shadowed: Vec<Option<(LocalId, Option<Binding>)>>,
    /// Frames that collect free coordinates; `None` where none may be free.
    opens: Vec<Option<Vec<IndexId>>>,
    /// What is known on the path to here.
    facts: Facts,
    /// Statements to run before the expression being built, by scope.
    pending: Vec<Vec<Stmt>>,
    /// Variables that hold parts of structs and tuples.
    parts: FxHashMap<parts::Part, VarId>,
    /// What these variables are bound to.
    part_values: FxHashMap<VarId, Expr>,
    /// The scopes of variables that patterns bind.
    frames: FxHashMap<VarId, usize>,
    /// Extents of coordinates that were seen in this scope: for `extent(c)` and `k in c`.
    extents: Vec<CoordExtent>,
    /// Computed indices of the body being checked: tensor, axis, coordinate and index.
    computed: Vec<(Expr, usize, Coord, Expr)>,
    /// Sizes that are compared at run time.
    assumed: Vec<ein_ir::tensor::Require>,
    /// Whether an argument of the coordinate call being checked is read at its coordinates.
    indexed: bool,
    /// The types of what a nested function that is being called captured.
    captures: Vec<Type>,
    /// The function value that a call of a nested function goes through.
    callee: Option<(DefId, Expr)>,
    /// Whether the next expression stands where its value is not used.
    statement: bool,
    /// In a tangent rule: its parameters and their tangents.
    rule: Option<Vec<(LocalId, VarId)>>,
    /// The calls through which this body is being checked, outermost first.
    instantiated_at: Vec<(Symbol, Span)>,
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

impl<'a> Cx<'a> {
    fn new(hir: &'a hir::Program, inputs: &'a FxHashSet<Symbol>) -> Self {
        let library_files = library_files(hir);
        let mut library: Vec<ein_base::FileId> = library_files.iter().copied().collect();
        library.sort_unstable();
        Cx {
            hir,
            out: Program { library, ..Program::default() },
            diagnostics: Vec::new(),
            lasting: tries::Lasting::default(),
            indices: IndexVec::new(),
            index_atoms: FxHashMap::default(),
            var_deps: FxHashMap::default(),
            var_sizes: FxHashMap::default(),
            ranges: FxHashMap::default(),
            globals: FxHashMap::default(),
            empties: FxHashSet::default(),
            consts: FxHashMap::default(),
            data: FxHashMap::default(),
            derived: FxHashMap::default(),
            open_names: Vec::new(),
            system_names: Vec::new(),
            instances: instance::Instances::default(),
            filling: Vec::new(),
            library_files,
            templates: Vec::new(),
            ledger: Vec::new(),
            widenings: Vec::new(),
            reads: Vec::new(),
            const_stmts: Vec::new(),
            const_order: Vec::new(),
            root_module: false,
            check_library: false,
            defaults: Vec::new(),
            inputs,
            no_broadcast: FxHashSet::default(),
            input_vars: FxHashSet::default(),
            declared_roles: FxHashSet::default(),
            addresses: FxHashMap::default(),
            bindings: Vec::new(),
            recursions: Vec::new(),
            f: FnState { top: true, pending: vec![Vec::new()], ..FnState::default() },
        }
    }

    /// Reports a diagnostic, once, with the calls that led to the body it lies in.
    fn report_at(&mut self, diagnostic: Diagnostic) {
        let mut diagnostic = diagnostic;
        if diagnostic.is_error()
            && let Some(moved) = self.at_caller(&diagnostic)
        {
            diagnostic = moved;
        } else if let Some((name, span)) = self.f.instantiated_at.last()
            && diagnostic.is_error()
        {
            diagnostic = diagnostic.label(*span, format!("in this call of `{name}`"));
        }
        let known = self.diagnostics.iter().rev().take(64).any(|other| {
            other.code == diagnostic.code && other.primary.span == diagnostic.primary.span
        });
        if !known {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Whether a place lies in the embedded library.
    fn in_library(&self, span: Span) -> bool {
        self.library_files.contains(&span.file())
    }

    /// An error inside a function of the library, at the call that brought it there; what the
    /// library says is shown beside it.
    fn at_caller(&self, diagnostic: &Diagnostic) -> Option<Diagnostic> {
        let place = diagnostic.primary.span;
        if !self.in_library(place) {
            return None;
        }
        let calls = self.f.instantiated_at.iter().rev();
        let (name, span) = *calls.clone().find(|(_, span)| !self.in_library(*span))?;
        let mut moved = diagnostic.clone();
        moved.primary.span = span;
        moved.primary.text = format!("in this call of `{name}`");
        let inside = match diagnostic.primary.text.as_str() {
            "" => "what it does with them".to_string(),
            text => text.to_string(),
        };
        Some(moved.label(place, inside))
    }

    /// Reports an error and gives an expression that absorbs what follows.
    fn fail(&mut self, diagnostic: Diagnostic) -> Expr {
        let span = diagnostic.primary.span;
        self.report_at(diagnostic);
        Expr::error(span)
    }
}

/// The files of the embedded library. Folders stand in the root's file, which is not one.
fn library_files(hir: &hir::Program) -> FxHashSet<ein_base::FileId> {
    let own = |file| hir.modules.iter().any(|other| other.file == file && !other.library);
    let modules = hir.modules.iter().filter(|module| module.library && !own(module.file));
    modules.map(|module| module.file).collect()
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
