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
use ein_base::{Code, Diagnostic, IndexVec, Name, Span, Symbol};
use ein_ir::size::{self, Atom, Facts};
use ein_ir::tensor::{
    ArrayType, AtomDef, AtomInfo, Axis, Coord, DataId, Expr, ExprKind, Place, Program, Stmt,
    StmtKind, Type, Var, VarId,
};
use ein_scalar::ScalarType;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

mod arms;
mod binary;
mod blocks;
mod bounds;
mod builtin;
mod call;
mod causality;
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
mod fold;
mod function;
mod host;
mod index;
mod instance;
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
mod rule;
mod show;
mod stmt;
mod symbolic;
mod template;
mod tries;
mod types;

pub use facts::{BindingFact, Broadcast, ReadFact, Report, Verdict};
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
    consts: FxHashMap<DefId, consts::ConstState>,
    data: FxHashMap<DefId, DataId>,
    instances: instance::Instances,
    templates: Vec<template::Template>,
    /// What is compared along coordinates, for `--broadcasts`.
    ledger: Vec<facts::Broadcast>,
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
    /// The scopes of variables that patterns bind.
    frames: FxHashMap<VarId, usize>,
    /// Extents of coordinates that were seen in this scope: for `extent(c)` and `k in c`.
    extents: Vec<CoordExtent>,
    /// Computed indices of the body being checked: tensor, axis, coordinate and index.
    computed: Vec<(Expr, usize, Coord, Expr)>,
    /// Sizes that are compared at run time.
    assumed: Vec<ein_ir::tensor::Require>,
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
        Cx {
            hir,
            out: Program::default(),
            diagnostics: Vec::new(),
            lasting: tries::Lasting::default(),
            indices: IndexVec::new(),
            index_atoms: FxHashMap::default(),
            var_deps: FxHashMap::default(),
            var_sizes: FxHashMap::default(),
            ranges: FxHashMap::default(),
            globals: FxHashMap::default(),
            consts: FxHashMap::default(),
            data: FxHashMap::default(),
            instances: instance::Instances::default(),
            templates: Vec::new(),
            ledger: Vec::new(),
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
        if let Some((name, span)) = self.f.instantiated_at.last()
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

    /// Reports an error and gives an expression that absorbs what follows.
    fn fail(&mut self, diagnostic: Diagnostic) -> Expr {
        let span = diagnostic.primary.span;
        self.report_at(diagnostic);
        Expr::error(span)
    }

    // ---------------------------------------------------------------- variables

    fn new_var(&mut self, name: Symbol, span: Span, ty: Type) -> VarId {
        if self.f.top && self.f.loops == 0 {
            // Functions may read what the top level bound, and the extents of it.
            return self.new_global(name, span, ty);
        }
        self.new_local(name, span, ty)
    }

    fn new_local(&mut self, name: Symbol, span: Span, ty: Type) -> VarId {
        let place = Place::Local(self.f.slots);
        self.f.slots += 1;
        self.out.vars.push(Var { name, span, ty, place })
    }

    fn new_global(&mut self, name: Symbol, span: Span, ty: Type) -> VarId {
        let place = Place::Global(self.out.global_slots);
        self.out.global_slots += 1;
        self.out.vars.push(Var { name, span, ty, place })
    }

    fn new_atom(&mut self, name: Symbol, def: AtomDef, external: bool) -> Atom {
        self.out.atoms.push(AtomInfo { name, def, external })
    }

    /// A size that nothing is known of.
    fn unknown_size(&mut self, external: bool) -> size::Expr {
        let name = Symbol::intern("?");
        size::Expr::atom(self.new_atom(name, AtomDef::Unknown, external))
    }

    /// Gives a variable the type of its value; extents that nothing at run time stands for yet
    /// become extents of this variable.
    fn settle_type(&mut self, var: VarId, ty: Type) -> Type {
        let name = self.out.vars[var].name;
        let ty = match ty {
            Type::Array(mut array) => {
                for position in 0..array.axes.len() {
                    let size = array.axes[position].size.clone();
                    if let Some(external) = self.unsettled(&size) {
                        let size = self.extent_atom(var, name, position, external);
                        Arc::make_mut(&mut array).axes[position].size = size;
                    }
                }
                Type::Array(array)
            }
            other => other,
        };
        self.out.vars[var].ty = ty.clone();
        ty
    }

    /// Whether a size mentions something without a meaning at run time; says whether that came
    /// from outside.
    fn unsettled(&self, size: &size::Expr) -> Option<bool> {
        let mut found = None;
        for atom in size.atoms() {
            let info = &self.out.atoms[atom];
            if info.def == AtomDef::Unknown {
                found = Some(found.unwrap_or(true) && info.external);
            }
        }
        found
    }

    fn extent_atom(&mut self, var: VarId, name: Symbol, axis: usize, external: bool) -> size::Expr {
        let name = Symbol::intern(&format!("{name}.shape[{axis}]"));
        let atom = self.new_atom(name, AtomDef::Extent(var, axis), external);
        let size = size::Expr::atom(atom);
        self.f.facts.ge0(size.clone());
        size
    }

    /// Binds a value to a new local variable in the current scope.
    fn bind(&mut self, name: Symbol, value: Expr) -> VarId {
        let span = value.span;
        let var = self.new_var(name, span, value.ty.clone());
        self.settle_type(var, value.ty.clone());
        if let Some(size) = self.to_size(&value) {
            self.var_sizes.insert(var, size);
        }
        self.emit(Stmt { kind: StmtKind::Let(var, value), span });
        var
    }

    fn emit(&mut self, stmt: Stmt) {
        if let Some(scope) = self.f.pending.last_mut() {
            scope.push(stmt);
        }
    }

    /// The value itself if reading it again costs nothing, else a variable that holds it.
    fn atomise(&mut self, value: Expr) -> Expr {
        match &*value.kind {
            ExprKind::Var(_) | ExprKind::Const(_) | ExprKind::Size(_) | ExprKind::Error => value,
            _ => {
                let span = value.span;
                let var = self.bind(Symbol::intern(TEMPORARY), value);
                self.var_expr(var, span)
            }
        }
    }

    fn var_expr(&self, var: VarId, span: Span) -> Expr {
        Expr::new(ExprKind::Var(var), self.out.vars[var].ty.clone(), span)
    }

    /// Builds an expression whose statements stay inside it.
    fn scoped(&mut self, build: impl FnOnce(&mut Self) -> Expr) -> Expr {
        self.f.pending.push(Vec::new());
        let facts = self.f.facts.len();
        let extents = self.f.extents.len();
        let value = build(self);
        self.f.facts.truncate(facts);
        self.f.extents.truncate(extents);
        let stmts = self.f.pending.pop().unwrap_or_default();
        self.block(stmts, value)
    }

    /// Statements before a value; sizes of variables that end here become unknown.
    fn block(&mut self, stmts: Vec<Stmt>, value: Expr) -> Expr {
        if stmts.is_empty() {
            return value;
        }
        let mut bound = Vec::new();
        for stmt in &stmts {
            match &stmt.kind {
                StmtKind::Let(var, _) => bound.push(*var),
                StmtKind::Destructure(pattern, _) => pattern_vars(pattern, &mut bound),
                StmtKind::Expr(_) | StmtKind::Require(_) => {}
            }
        }
        let ty = self.forget_vars(value.ty.clone(), &|var| bound.contains(&var));
        let span = value.span;
        Expr::new(ExprKind::Block { stmts, value }, ty, span)
    }

    /// Replaces extents that mention variables about to leave scope.
    fn forget_vars(&mut self, ty: Type, dead: &dyn Fn(VarId) -> bool) -> Type {
        self.map_sizes(ty, &mut |cx, size| {
            let gone = size.atoms().into_iter().find(|atom| match cx.out.atoms[*atom].def {
                AtomDef::Var(var) | AtomDef::Extent(var, _) | AtomDef::Length(var) => dead(var),
                AtomDef::Unknown => false,
            });
            match gone {
                Some(atom) => {
                    let external = cx.out.atoms[atom].external;
                    // The name stays, so that messages still speak of `k`.
                    let name = cx.out.atoms[atom].name;
                    size::Expr::atom(cx.new_atom(name, AtomDef::Unknown, external))
                }
                None => size,
            }
        })
    }

    /// Applies a function to every size in a type.
    fn map_sizes(
        &mut self,
        ty: Type,
        map: &mut dyn FnMut(&mut Self, size::Expr) -> size::Expr,
    ) -> Type {
        match ty {
            Type::Array(array) => {
                let ArrayType { elem, mut axes } = Arc::unwrap_or_clone(array);
                let elem = self.map_sizes(elem, map);
                for axis in &mut axes {
                    axis.size = map(self, axis.size.clone());
                }
                Type::Array(Arc::new(ArrayType { elem, axes }))
            }
            Type::AnyRank(elem) => Type::AnyRank(Box::new(self.map_sizes(*elem, map))),
            Type::Jagged(elem, depth) => Type::Jagged(Box::new(self.map_sizes(*elem, map)), depth),
            Type::Tuple(items) => {
                Type::Tuple(items.into_iter().map(|item| self.map_sizes(item, map)).collect())
            }
            Type::Data(id, args) => {
                Type::Data(id, args.into_iter().map(|arg| self.map_sizes(arg, map)).collect())
            }
            Type::Template(..)
            | Type::Signature(_)
            | Type::Unit
            | Type::Scalar(_)
            | Type::Str
            | Type::Range
            | Type::Error => ty,
        }
    }

    // ---------------------------------------------------------------- index variables

    fn new_index(&mut self, name: Name, declared: Declared) -> IndexId {
        let var = self.new_local(name.sym, name.span, Type::I32);
        let atom = self.new_atom(name.sym, AtomDef::Var(var), false);
        self.var_sizes.insert(var, size::Expr::atom(atom));
        let info = IndexInfo {
            name: name.sym,
            span: name.span,
            var,
            atom,
            declared,
            ground: None,
            free: false,
            broken: false,
        };
        let index = self.indices.push(info);
        self.index_atoms.insert(atom, index);
        index
    }

    fn index_expr(&self, index: IndexId, span: Span) -> Expr {
        Expr::new(ExprKind::Var(self.indices[index].var), Type::I32, span)
    }

    /// The value of a local name.
    fn local(&mut self, local: LocalId, span: Span) -> Expr {
        match self.f.env.get(&local) {
            Some(Binding::Var(var)) => self.var_expr(*var, span),
            Some(Binding::Index(index)) => self.index_expr(*index, span),
            None => match self.globals.get(&local) {
                Some(var) => self.var_expr(*var, span),
                // Its binding was broken, or a cycle of errors hid it; that was reported.
                None => Expr::error(span),
            },
        }
    }

    fn local_name(&self, local: LocalId) -> Symbol {
        self.hir.locals[local].name.sym
    }
}

/// All variables that a pattern binds.
fn pattern_vars(pattern: &ein_ir::tensor::Pattern, found: &mut Vec<VarId>) {
    use ein_ir::tensor::Pattern;
    match pattern {
        Pattern::Bind(var) => found.push(*var),
        Pattern::At(var, inner) => {
            found.push(*var);
            pattern_vars(inner, found);
        }
        Pattern::Tuple(items) | Pattern::Or(items) | Pattern::Data { fields: items, .. } => {
            items.iter().for_each(|item| pattern_vars(item, found));
        }
        Pattern::Array { before, rest, after } => {
            before.iter().chain(after).for_each(|item| pattern_vars(item, found));
            found.extend(rest.iter().flatten());
        }
        Pattern::Wild | Pattern::Literal(_) | Pattern::Str(_) | Pattern::Range { .. } => {}
    }
}

/// What the compiler calls values that it names itself.
const TEMPORARY: &str = "$value";

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
