//! What the checker knows while it walks, in four parts.
//!
//! A function takes the parts that it touches: [`Index`] as `ix`, [`Infer`] as `infer`, [`Build`] as
//! `build`, [`Report`] as `report`, shared where it only looks. What needs all of them is part of the
//! walk over the program and takes [`Cx`].

use super::consts::ConstState;
use super::instance::Instances;
use super::template::Template;
use super::{Binding, CoordExtent, IndexId, IndexInfo, facts, formula, function, parts, recursion};
use crate::hir::{self, DefId, LocalId};
use ein_base::{Diagnostic, FileId, IndexVec, Span, Symbol};
use ein_ir::size::{self, Atom, Facts};
use ein_ir::tensor::{
    ArrayOp, AtomInfo, Axis, Coord, Data, DataId, Expr, FuncId, Program, Require, Stmt, Type, Var,
    VarId,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// All of it.
pub(super) struct Cx<'a> {
    pub hir: &'a hir::Program,
    pub infer: Infer<'a>,
    pub ix: Index<'a>,
    pub build: Build,
    pub report: Report,
}

/// What types, constants and functions are taken to be.
pub(super) struct Infer<'a> {
    pub hir: &'a hir::Program,
    /// Names of `[]` without a type of their own: each use says what they would hold.
    pub empties: FxHashSet<LocalId>,
    pub consts: FxHashMap<DefId, ConstState>,
    pub data: FxHashMap<DefId, DataId>,
    /// Structs of the form of a declared one, whose type arguments are the types of the fields.
    pub derived: FxHashMap<DataId, DefId>,
    pub instances: Instances,
    /// The instances whose bodies are being checked, outermost first.
    pub filling: Vec<usize>,
    pub templates: Vec<Template>,
    /// Whether the module being checked is the root.
    pub root_module: bool,
    /// The parameters whose defaults are being checked.
    pub defaults: Vec<Span>,
    pub f: InferFrame,
}

/// What is inferred of the body being checked.
#[derive(Default)]
pub(super) struct InferFrame {
    pub type_params: FxHashMap<LocalId, Type>,
    /// The types of what a nested function that is being called captured.
    pub captures: Vec<Type>,
    /// The function value that a call of a nested function goes through.
    pub callee: Option<(DefId, Expr)>,
    /// Whether the next expression stands where its value is not used.
    pub statement: bool,
    /// In a tangent rule: its parameters and their tangents.
    pub rule: Option<Vec<(LocalId, VarId)>>,
}

/// Names and what is known of them: variables and their slots, index variables, domains, sizes, the
/// facts that the solver is asked with.
pub(super) struct Index<'a> {
    pub hir: &'a hir::Program,
    /// Names that inputs replace.
    pub inputs: &'a FxHashSet<Symbol>,
    pub vars: IndexVec<VarId, Var>,
    pub atoms: IndexVec<Atom, AtomInfo>,
    /// Structs and enums, as the program has them.
    pub data: IndexVec<DataId, Data>,
    pub global_slots: u32,
    /// Index variables of all definitions and reductions.
    pub indices: IndexVec<IndexId, IndexInfo>,
    /// Their symbolic values.
    pub index_atoms: FxHashMap<Atom, IndexId>,
    /// The index variables that the value of a `where` name or local depends on.
    pub var_deps: FxHashMap<VarId, Vec<IndexId>>,
    /// Integer variables whose value is known symbolically.
    pub var_sizes: FxHashMap<VarId, size::Expr>,
    /// The functions that are formulas of their arguments.
    pub formulas: FxHashMap<FuncId, formula::Formula>,
    /// The ranges of index variables, once they are known.
    pub ranges: FxHashMap<Atom, (size::Expr, size::Expr)>,
    /// Values of globals, for functions that read them.
    pub globals: FxHashMap<LocalId, VarId>,
    /// The names whose clauses are being checked, in all bodies that are open.
    pub defining: Vec<LocalId>,
    /// The names of the systems that are being checked, as far as their extents are not known.
    pub open_names: Vec<VarId>,
    /// All names of these systems.
    pub system_names: Vec<Symbol>,
    /// Parameters that must not broadcast.
    pub no_broadcast: FxHashSet<VarId>,
    /// Variables that hold inputs.
    pub input_vars: FxHashSet<VarId>,
    /// Roles that types declare, each with its coordinate.
    pub declared_roles: FxHashSet<(Symbol, Symbol)>,
    /// The coordinate that the (elements of the) value of a variable address.
    pub addresses: FxHashMap<VarId, Symbol>,
    pub f: IndexFrame,
}

/// The names of the body being checked.
#[derive(Default)]
pub(super) struct IndexFrame {
    /// The next free slot of the frame.
    pub slots: u32,
    /// Whether this is the top level of a module.
    pub top: bool,
    /// How many loops (clauses, reductions, generated definitions) enclose this place.
    pub loops: u32,
    pub env: FxHashMap<LocalId, Binding>,
    /// Packs in scope, as index variables.
    pub packs: FxHashMap<LocalId, Vec<IndexId>>,
    /// The axes of the packs of the signature.
    pub signature_packs: FxHashMap<LocalId, Vec<Axis>>,
    /// The axes of packs of the bodies around, by name: those of what was captured.
    pub captured_packs: FxHashMap<Symbol, Vec<Axis>>,
    /// How many axes free packs stand for.
    pub pack_lengths: FxHashMap<LocalId, usize>,
    /// Extents of the coordinates of the signature that it does not state.
    pub coord_sizes: FxHashMap<Symbol, size::Expr>,
    /// What a caller calls the coordinates of a signature, while its result is made.
    pub coord_names: FxHashMap<Symbol, Coord>,
    /// Whether type arguments say the ranks of arrays only, and their extents are found at run time.
    pub open_types: bool,
    /// Sizes `?n` in scope.
    pub sizes: FxHashMap<LocalId, size::Expr>,
    /// Coordinates bound by name: those of a coordinate call's arguments and of open expressions.
    pub coords: Vec<(Symbol, IndexId)>,
    /// What coordinate arguments hide while the arguments of their call are checked.
    pub shadowed: Vec<Option<(LocalId, Option<Binding>)>>,
    /// Frames that collect free coordinates; `None` where none may be free.
    pub opens: Vec<Option<Vec<IndexId>>>,
    /// What is known on the path to here.
    pub facts: Facts,
    /// Extents of coordinates that were seen in this scope: for `extent(c)` and `k in c`.
    pub extents: Vec<CoordExtent>,
    /// Whether an argument of the coordinate call being checked is read at its coordinates.
    pub indexed: bool,
}

/// The tensor IR being made.
#[derive(Default)]
pub(super) struct Build {
    /// The program, but for its variables, atoms and data types, which are in [`Index`].
    pub out: Program,
    /// Statements that give constants their values, before anything else runs.
    pub const_stmts: Vec<Stmt>,
    pub f: BuildFrame,
}

/// What is made of the body being checked.
#[derive(Default)]
pub(super) struct BuildFrame {
    /// Statements to run before the expression being built, by scope.
    pub pending: Vec<Vec<Stmt>>,
    /// Variables that hold parts of structs and tuples.
    pub parts: FxHashMap<parts::Part, VarId>,
    /// What these variables are bound to.
    pub part_values: FxHashMap<VarId, Expr>,
    /// The scopes of variables that patterns bind.
    pub frames: FxHashMap<VarId, usize>,
    /// Computed indices of the body being checked: tensor, axis, coordinate and index.
    pub computed: Vec<(Expr, usize, Coord, Expr)>,
    /// Sizes that are compared at run time.
    pub assumed: Vec<Require>,
    /// What of the host computes the function being checked.
    pub by: Option<ArrayOp>,
}

/// What is told: diagnostics, and facts for tools.
#[derive(Default)]
pub(super) struct Report {
    /// The files of the embedded library.
    pub library_files: FxHashSet<FileId>,
    pub diagnostics: Vec<Diagnostic>,
    /// How many checks are going on of which it is open what will be told.
    pub looking: u32,
    /// What was told in them of constants and functions, which are checked once.
    pub kept: Vec<Diagnostic>,
    /// What is compared along coordinates, for `--broadcasts`.
    pub ledger: Vec<facts::Broadcast>,
    /// Numbers that were widened, for `--widenings`.
    pub widenings: Vec<facts::Widening>,
    /// Verdicts of reads, for `--bounds` and `--facts`.
    pub reads: Vec<facts::ReadFact>,
    /// What the checker says of top-level bindings.
    pub bindings: Vec<facts::BindingFact>,
    /// Why recursive functions end.
    pub recursions: Vec<recursion::RecursionFact>,
    /// The calls through which this body is being checked, outermost first.
    pub instantiated_at: Vec<(Symbol, Span)>,
    /// The same for the functions of the library that were checked, for what is found out later.
    pub led_to: FxHashMap<FuncId, Vec<(Symbol, Span)>>,
}

/// The state of one body, or of the top level of a module.
pub(super) struct Frame {
    pub infer: InferFrame,
    pub ix: IndexFrame,
    pub build: BuildFrame,
    instantiated_at: Vec<(Symbol, Span)>,
}

impl<'a> Cx<'a> {
    pub(super) fn new(hir: &'a hir::Program, inputs: &'a FxHashSet<Symbol>) -> Self {
        let library_files = library_files(hir);
        let mut library: Vec<FileId> = library_files.iter().copied().collect();
        library.sort_unstable();
        let infer = Infer {
            hir,
            empties: FxHashSet::default(),
            consts: FxHashMap::default(),
            data: FxHashMap::default(),
            derived: FxHashMap::default(),
            instances: Instances::default(),
            filling: Vec::new(),
            templates: Vec::new(),
            root_module: false,
            defaults: Vec::new(),
            f: InferFrame::default(),
        };
        let ix = Index {
            hir,
            inputs,
            vars: IndexVec::new(),
            atoms: IndexVec::new(),
            data: IndexVec::new(),
            global_slots: 0,
            indices: IndexVec::new(),
            index_atoms: FxHashMap::default(),
            var_deps: FxHashMap::default(),
            var_sizes: FxHashMap::default(),
            formulas: FxHashMap::default(),
            ranges: FxHashMap::default(),
            globals: FxHashMap::default(),
            defining: Vec::new(),
            open_names: Vec::new(),
            system_names: Vec::new(),
            no_broadcast: FxHashSet::default(),
            input_vars: FxHashSet::default(),
            declared_roles: FxHashSet::default(),
            addresses: FxHashMap::default(),
            f: IndexFrame::default(),
        };
        let out = Program { library, ..Program::default() };
        let build = Build { out, ..Build::default() };
        let report = Report { library_files, ..Report::default() };
        let mut cx = Cx { hir, infer, ix, build, report };
        cx.enter_frame(true);
        cx
    }

    /// The program that was made.
    pub(super) fn into_program(mut self) -> (Program, Report) {
        function::drop_outdated(&self.infer, &mut self.build);
        let Index { vars, atoms, data, global_slots, .. } = self.ix;
        (Program { vars, atoms, data, global_slots, ..self.build.out }, self.report)
    }

    /// Begins a body (or top level) of its own, and gives the state of the one around it.
    pub(super) fn enter_frame(&mut self, top: bool) -> Frame {
        let calls = &self.report.instantiated_at;
        let frame = Frame {
            infer: InferFrame::default(),
            ix: IndexFrame { top, ..IndexFrame::default() },
            build: BuildFrame { pending: vec![Vec::new()], ..BuildFrame::default() },
            instantiated_at: if top { Vec::new() } else { calls.clone() },
        };
        self.leave_frame(frame)
    }

    /// Goes back to the body around, and gives the state of the one that ends.
    pub(super) fn leave_frame(&mut self, outer: Frame) -> Frame {
        Frame {
            infer: std::mem::replace(&mut self.infer.f, outer.infer),
            ix: std::mem::replace(&mut self.ix.f, outer.ix),
            build: std::mem::replace(&mut self.build.f, outer.build),
            instantiated_at: std::mem::replace(
                &mut self.report.instantiated_at,
                outer.instantiated_at,
            ),
        }
    }
}

impl Report {
    /// Reports a diagnostic, once, with the calls that led to the body it lies in.
    pub(super) fn report_at(&mut self, diagnostic: Diagnostic) {
        let mut diagnostic = diagnostic;
        if diagnostic.is_error()
            && let Some(moved) = self.at_caller(&diagnostic)
        {
            diagnostic = moved;
        } else if let Some((name, span)) = self.instantiated_at.last()
            && diagnostic.is_error()
        {
            diagnostic = diagnostic.label(*span, format!("in this call of `{name}`"));
        }
        self.push_once(diagnostic);
    }

    /// Adds a diagnostic, unless it was told already.
    pub(super) fn push_once(&mut self, diagnostic: Diagnostic) {
        let known = self.diagnostics.iter().rev().take(64).any(|other| {
            other.code == diagnostic.code && other.primary.span == diagnostic.primary.span
        });
        if !known {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Whether a place lies in the embedded library.
    pub(super) fn in_library(&self, span: Span) -> bool {
        self.library_files.contains(&span.file())
    }

    /// An error inside a function of the library, at the call that brought it there; what the
    /// library says is shown beside it.
    fn at_caller(&self, diagnostic: &Diagnostic) -> Option<Diagnostic> {
        let place = diagnostic.primary.span;
        if !self.in_library(place) {
            return None;
        }
        let mut calls = self.instantiated_at.iter().rev();
        let (name, span) = *calls.find(|(_, span)| !self.in_library(*span))?;
        let mut moved = diagnostic.clone();
        moved.primary.span = span;
        moved.primary.text = format!("in this call of `{name}`");
        let inside = match diagnostic.primary.text.as_str() {
            "" => "what it does with them".to_string(),
            text => text.to_string(),
        };
        let moved = moved.label(place, inside);
        Some(match calls.next() {
            Some((name, span)) => moved.label(*span, format!("in this call of `{name}`")),
            None => moved,
        })
    }

    /// Reports an error and gives an expression that absorbs what follows.
    pub(super) fn fail(&mut self, diagnostic: Diagnostic) -> Expr {
        let span = diagnostic.primary.span;
        self.report_at(diagnostic);
        Expr::error(span)
    }
}

/// The files of the embedded library. Folders stand in the root's file, which is not one.
fn library_files(hir: &hir::Program) -> FxHashSet<FileId> {
    let own = |file| hir.modules.iter().any(|other| other.file == file && !other.library);
    let modules = hir.modules.iter().filter(|module| module.library && !own(module.file));
    modules.map(|module| module.file).collect()
}
