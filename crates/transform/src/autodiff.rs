//! Replaces derivative requests by ordinary code.
//!
//! Before:  `let g = @loss / @w;`
//! After:   `let g[p] = { t_w = onehot(p); …; t_loss };`, where `t_v` is the tangent of `v`,
//!          or   `let z' = …; let g[k, h] = sum[n](z'[n, h] * x[n, k]);` with adjoints (`reverse`)
//!
//! Every value between the parameter and the target gets a tangent: the derivative of its
//! definition in the direction that the parameter moves. Tangents are made construct by construct
//! (`scalar`, `tensor`, `reduce`, `call`, `host`), keep guards, domains and the order of
//! recurrences, and read the primal values that are already there. One direction gives one column
//! of the Jacobian; a request for all of it is a definition over the axes of the parameter.
//! Adjoints go the other way, and give a row. What a request is used for decides how much of it
//! there is (`lazy`, `loops`), and what is fewer which way it is made (`modes`).
//!
//! Needs: a checked program. After: no derivative request is left.
//! Refuses (E0703): operations without a rule. Warns (W0401): a target that does not depend on its
//! parameter.
//!
//! Failures: the primal is kept and fails as before. Integers have no derivative, so tangents and
//! adjoints add no integer operation but positions, which are those of the primal, or are solved
//! from them and tested before they are used.

use ein_base::{Code, Diagnostic, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::walk::{any, each_child_mut, each_in_stmt, each_in_stmt_mut};
use ein_ir::tensor::{
    Binder, Bounds, ClauseSlot, Derivative, Expr, ExprKind, FuncId, HostOp, IndexArg, Item, Place,
    Program, Stmt, StmtKind, Tensor, Type, Var, VarId,
};
use ein_scalar::{BinaryOp, Scalar};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::Cell;
use std::rc::Rc;

pub use decision::{Decision, Mode, Sparse};

mod bands;
mod call;
mod columns;
mod decision;
mod host;
mod known;
mod lazy;
mod loops;
mod modes;
mod outer;
mod pattern;
mod positions;
mod reduce;
pub(crate) mod rename;
mod reverse;
mod scalar;
mod share;
mod structure;
mod symbolic;
mod tangent;
mod tensor;
mod truth;
mod unfold;
mod until;

/// What came of the requests of a program.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What is wrong with them.
    pub diagnostics: Vec<Diagnostic>,
    /// How each was computed, in the order in which they were decided.
    pub decisions: Vec<Decision>,
}

const UNKNOWN_FUNCTION: &str = "this function value has no derivative";

/// Replaces all derivative requests of a program.
pub fn run(program: &mut Program) -> Outcome {
    differentiated(program, false)
}

/// The same for a program that will run, or for a look at one that is rejected.
fn differentiated(program: &mut Program, rejected: bool) -> Outcome {
    if !asks(program) {
        return Outcome { diagnostics: Vec::new(), decisions: Vec::new() };
    }
    crate::fields::run(program);
    known::specialise(program);
    let mut pass = Pass::new(program);
    outer::run(&mut pass);
    if rejected {
        pass.rejected = true;
        pass.work.set(share::BUDGET - share::BUDGET / 16);
    }
    let funcs: Vec<FuncId> = pass.program.funcs.ids().collect();
    for func in funcs {
        pass.clean_function(func);
    }
    pass.clean_top();
    pass.report_unknown();
    Outcome { diagnostics: pass.diagnostics, decisions: pass.decisions }
}

/// What is wrong with the requests of a program that is rejected for other reasons: of those that
/// its mistakes do not reach. Less is derived for it: nobody waits for the derivatives of such a program, and
/// what is too large for the rest of the budget need not be too large for all of it.
pub fn survey(program: &mut Program) -> Vec<Diagnostic> {
    if !asks(program) {
        return Vec::new();
    }
    crate::sound::keep_sound(program);
    differentiated(program, true).diagnostics
}

/// Whether there is a derivative in the program at all; most have none, and need not be read closely.
fn asks(program: &Program) -> bool {
    let derivative = |e: &Expr| any(e, &mut |e| matches!(*e.kind, ExprKind::Derivative(_)));
    let mut found = program.funcs.iter().any(|func| derivative(&func.body));
    for stmt in &program.top {
        each_in_stmt(stmt, &mut |e| found = found || derivative(e));
    }
    found
}

/// The function whose slots new variables take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    Top,
    Func(FuncId),
}

/// A binding in scope.
#[derive(Clone, Debug)]
struct Bound {
    var: VarId,
    value: Rc<Expr>,
    /// What it reads, in the functions that it calls as well.
    reads: Rc<FxHashSet<VarId>>,
}

/// The state of the pass.
pub(crate) struct Pass<'p> {
    program: &'p mut Program,
    /// What structs are made of.
    records: crate::records::Records,
    diagnostics: Vec<Diagnostic>,
    /// Calls of functions that only a caller knows, each in the body that it stands in.
    unknown: Vec<(FuncId, Span)>,
    /// Functions without requests.
    clean: FxHashSet<FuncId>,
    /// Tangent functions, by what they are the tangent of.
    tangents: FxHashMap<call::Key, FuncId>,
    frame: Frame,
    /// What is bound on the way to here, in order.
    scope: Vec<Bound>,
    /// The symbolic integers of variables, as far as looked at.
    atoms: FxHashMap<VarId, size::Atom>,
    atoms_seen: usize,
    /// Adjoints that are at hand: of this target, by this parameter.
    adjoints: FxHashMap<(VarId, VarId), Expr>,
    /// Why there are none, where they were tried.
    refused: FxHashMap<(VarId, VarId), &'static str>,
    decisions: Vec<Decision>,
    /// Whether the result is for people, in its simplest form.
    as_text: bool,
    /// How many steps it has taken so far.
    work: Cell<u64>,
    /// Whether the program is rejected for other reasons.
    rejected: bool,
    /// Functions that were written out wherever they are called: their own requests are nobody's.
    written_out: FxHashSet<FuncId>,
}

impl<'p> Pass<'p> {
    /// Before anything was looked at.
    pub(crate) fn new(program: &'p mut Program) -> Pass<'p> {
        let records = crate::records::Records::of(program);
        Pass {
            records,
            program,
            diagnostics: Vec::new(),
            unknown: Vec::new(),
            clean: FxHashSet::default(),
            tangents: FxHashMap::default(),
            frame: Frame::Top,
            scope: Vec::new(),
            atoms: FxHashMap::default(),
            atoms_seen: 0,
            adjoints: FxHashMap::default(),
            refused: FxHashMap::default(),
            decisions: Vec::new(),
            as_text: false,
            work: Cell::new(0),
            rejected: false,
            written_out: FxHashSet::default(),
        }
    }
}

impl Pass<'_> {
    /// Goes over the bodies of all functions and over the top level; new variables belong to the
    /// frame that is being visited.
    pub(crate) fn each_body(&mut self, f: &mut dyn FnMut(&mut Pass<'_>, &mut Expr)) {
        for func in self.program.funcs.ids().collect::<Vec<_>>() {
            let span = self.program.funcs[func].span;
            let mut body = std::mem::replace(&mut self.program.funcs[func].body, Expr::error(span));
            self.frame = Frame::Func(func);
            f(self, &mut body);
            self.program.funcs[func].body = body;
        }
        self.frame = Frame::Top;
        let mut top = std::mem::take(&mut self.program.top);
        for stmt in &mut top {
            each_in_stmt_mut(stmt, &mut |e| f(self, e));
        }
        self.program.top = top;
    }

    /// The program.
    pub(crate) fn program(&self) -> &Program {
        self.program
    }

    /// An index variable of the frame.
    pub(crate) fn index_variable(&mut self, span: Span) -> VarId {
        self.local("_", Type::I32, span)
    }

    /// A variable as a value.
    pub(crate) fn variable(&self, var: VarId, span: Span) -> Expr {
        self.var(var, span)
    }

    // ---------------------------------------------------------------- finding requests

    /// Removes the requests of a function, once.
    fn clean_function(&mut self, func: FuncId) {
        if !self.clean.insert(func) {
            return;
        }
        let span = self.program.funcs[func].span;
        let mut body = std::mem::replace(&mut self.program.funcs[func].body, Expr::error(span));
        let frame = std::mem::replace(&mut self.frame, Frame::Func(func));
        let scope = std::mem::take(&mut self.scope);
        self.clean_expr(&mut body);
        self.scope = scope;
        self.frame = frame;
        self.program.funcs[func].body = body;
    }

    fn clean_top(&mut self) {
        let mut top = std::mem::take(&mut self.program.top);
        self.take_parts(&mut top, None);
        self.out_of_loops(&mut top, None);
        self.clean_stmts(&mut top, None);
        self.program.top = top;
    }

    fn clean_stmt(&mut self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::Let(var, value) => {
                self.clean_expr(value);
                self.enter_scope(*var, value);
            }
            StmtKind::Destructure(pattern, value) => {
                self.clean_expr(value);
                self.scope_pattern(pattern, value);
            }
            StmtKind::Expr(value) => self.clean_expr(value),
            StmtKind::Require(_) => {}
        }
    }

    fn clean_expr(&mut self, e: &mut Expr) {
        let depth = self.scope.len();
        if let ExprKind::Host(HostOp::Print, args) = &mut *e.kind {
            for arg in args {
                if let Some(text) = self.symbolic(arg) {
                    *arg = text;
                }
            }
        }
        match &mut *e.kind {
            ExprKind::Block { stmts, value } => {
                let known = self.adjoints.clone();
                self.take_parts(stmts, Some(&mut *value));
                self.out_of_loops(stmts, Some(&mut *value));
                self.clean_stmts(stmts, Some(&mut *value));
                self.prepare_value(stmts, value);
                self.clean_expr(value);
                self.adjoints = known;
            }
            ExprKind::Tensor(tensor) => {
                for clause in &mut tensor.clauses {
                    let depth = self.scope.len();
                    self.clean_items(&mut clause.items);
                    self.clean_expr(&mut clause.value);
                    clause.otherwise.iter_mut().for_each(|e| self.clean_expr(e));
                    if let Some(until) = &mut clause.until {
                        self.clean_expr(&mut until.cond);
                        until.otherwise.iter_mut().for_each(|e| self.clean_expr(e));
                    }
                    self.scope.truncate(depth);
                }
            }
            ExprKind::Reduce(reduce) => {
                self.clean_items(&mut reduce.items);
                self.clean_expr(&mut reduce.value);
            }
            _ => each_child_mut(e, &mut |child| self.clean_expr(child)),
        }
        if let ExprKind::Derivative(request) = &*e.kind {
            *e = self.request(&request.clone(), e.ty.clone(), e.span);
        }
        self.scope.truncate(depth);
    }

    fn clean_items(&mut self, items: &mut [Item]) {
        for item in items {
            match item {
                Item::Let(var, value) => {
                    self.clean_expr(value);
                    self.enter_scope(*var, value);
                }
                Item::Guard(cond) => self.clean_expr(cond),
            }
        }
    }

    // ---------------------------------------------------------------- one request

    fn request(&mut self, request: &Derivative, ty: Type, span: Span) -> Expr {
        match request {
            Derivative::Quotient { target, parameter } => {
                self.quotient(target, parameter, ty, span)
            }
            Derivative::Tangent(inner) => self.constant_like(inner, 1.0, span),
            Derivative::Product { target, parameter, direction, forward } => {
                self.product(target, parameter, direction, *forward, ty, span)
            }
        }
    }

    /// Tangents of everything bound after the parameter, up to the target. Returns whether the
    /// target depends on the parameter.
    fn sweep(
        &mut self,
        x: VarId,
        y: VarId,
        tangents: &mut tangent::Tangents,
        stmts: &mut Vec<Stmt>,
    ) -> bool {
        for Bound { var, value, .. } in self.behind(y) {
            if var == x || tangents.get(var).is_some() {
                continue;
            }
            if let Some(tangent) = self.bound_tangent(var, &value, tangents) {
                let t = self.local("$t", tangent.ty.clone(), tangent.span);
                stmts.push(let_stmt(t, tangent));
                tangents.set(var, t);
            }
        }
        tangents.get(y).is_some()
    }

    /// Notes a binding.
    fn enter_scope(&mut self, var: VarId, value: &Expr) {
        let mut reads = FxHashSet::default();
        self.reads_in(value, &mut reads, &mut FxHashSet::default());
        let mut value = value.clone();
        positions::narrow(&mut value);
        self.scope.push(Bound { var, value: Rc::new(value), reads: Rc::new(reads) });
    }

    /// The bindings that a variable is computed from, itself included, in order.
    fn behind(&self, target: VarId) -> Vec<Bound> {
        let mut wanted: FxHashSet<VarId> = FxHashSet::default();
        wanted.insert(target);
        let mut found = Vec::new();
        for bound in self.scope.iter().rev() {
            if wanted.contains(&bound.var) {
                wanted.extend(bound.reads.iter().copied());
                found.push(bound.clone());
            }
        }
        found.reverse();
        found
    }

    /// The direction in which one element of a parameter moves.
    fn seed(&mut self, x: VarId, position: &[VarId], span: Span) -> Expr {
        let ty = self.program.vars[x].ty.clone();
        let one = self.number(&ty, 1.0, span);
        if !ty.is_array() {
            return one;
        }
        let zero = self.number(&ty, 0.0, span);
        let mut slots = Vec::new();
        let mut cond: Option<Expr> = None;
        for (axis, p) in ty.axes().iter().zip(position) {
            let var = self.local("$i", Type::I32, span);
            let binder =
                Binder { var, lo: Expr::int(0, span), hi: Expr::size(axis.size.clone(), span) };
            slots.push(ClauseSlot::Loop(binder));
            let (a, b) = (self.var(var, span), self.var(*p, span));
            let equal = Expr::new(ExprKind::Binary(BinaryOp::Eq, a, b), Type::BOOL, span);
            cond = Some(match cond {
                None => equal,
                Some(cond) => Expr::new(ExprKind::And(cond, equal), Type::BOOL, span),
            });
        }
        let Some(cond) = cond else { return one };
        let elem = ty.elem().clone();
        let value = Expr::new(ExprKind::If { cond, then: one, otherwise: zero }, elem, span);
        let tensor = Tensor {
            name: None,
            self_var: None,
            shape: ty.axes().iter().map(|axis| Some(axis.size.clone())).collect(),
            inner_rank: 0,
            clauses: vec![ein_ir::tensor::Clause {
                slots,
                items: Vec::new(),
                value,
                otherwise: None,
                until: None,
                span,
            }],
            recurrence: None,
            requires: Vec::new(),
        };
        Expr::new(ExprKind::Tensor(tensor), ty, span)
    }

    // ---------------------------------------------------------------- building

    /// A new variable of the frame.
    fn local(&mut self, name: &str, ty: Type, span: Span) -> VarId {
        let slots = match self.frame {
            Frame::Top => &mut self.program.top_slots,
            Frame::Func(func) => &mut self.program.funcs[func].slots,
        };
        let place = Place::Local(*slots);
        *slots += 1;
        self.program.vars.push(Var { name: Symbol::intern(name), span, ty, place })
    }

    fn var(&self, var: VarId, span: Span) -> Expr {
        Expr::new(ExprKind::Var(var), self.program.vars[var].ty.clone(), span)
    }

    /// A number of the element type of `ty`.
    fn number(&self, ty: &Type, value: f64, span: Span) -> Expr {
        let scalar = ty.scalar().and_then(|ty| Scalar::from_f64(value, ty));
        match scalar {
            Some(scalar) => Expr::new(ExprKind::Const(scalar), Type::Scalar(scalar.ty()), span),
            None => Expr::error(span),
        }
    }

    /// Zeros in the shape of a value.
    fn zeros_like(&self, primal: Expr) -> Expr {
        let (ty, span) = (primal.ty.clone(), primal.span);
        if let Type::Scalar(scalar) = ty {
            return Expr::new(ExprKind::Const(Scalar::zero(scalar)), ty, span);
        }
        Expr::new(ExprKind::Host(HostOp::ZerosLike, vec![primal]), ty, span)
    }

    fn zeros_of_var(&self, var: VarId, span: Span) -> Expr {
        self.zeros_like(self.var(var, span))
    }

    /// A constant in the shape of a value.
    fn constant_like(&mut self, primal: &Expr, value: f64, span: Span) -> Expr {
        let constant = self.number(&primal.ty, value, span);
        if !primal.ty.is_array() {
            return constant;
        }
        let slots = primal.ty.axes().iter().map(|axis| axis.size.clone()).collect::<Vec<_>>();
        let mut loops = Vec::new();
        for size in &slots {
            let var = self.local("$i", Type::I32, span);
            let hi = Expr::size(size.clone(), span);
            loops.push(ClauseSlot::Loop(Binder { var, lo: Expr::int(0, span), hi }));
        }
        let tensor = Tensor {
            name: None,
            self_var: None,
            shape: slots.into_iter().map(Some).collect(),
            inner_rank: 0,
            clauses: vec![ein_ir::tensor::Clause {
                slots: loops,
                items: Vec::new(),
                value: constant,
                otherwise: None,
                until: None,
                span,
            }],
            recurrence: None,
            requires: Vec::new(),
        };
        Expr::new(ExprKind::Tensor(tensor), primal.ty.clone(), span)
    }

    /// Reports something that has no derivative.
    fn refuse(&mut self, span: Span, message: &str) -> Expr {
        let known = self.diagnostics.iter().any(|d| d.primary.span == span);
        if !known {
            self.diagnostics.push(
                Diagnostic::new(Code::E0703, span, message)
                    .here("no rule for this")
                    .help("write its tangent yourself: `@fn f(x) { … * @x }`"),
            );
        }
        Expr::error(span)
    }

    /// The tangent of a call of a function value whose code is not known here. In a function that
    /// nothing calls that is no mistake: a call says which function it is.
    fn unknown_function(&mut self, primal: Expr) -> Expr {
        let span = primal.span;
        match self.frame {
            Frame::Top => self.refuse(span, UNKNOWN_FUNCTION),
            Frame::Func(func) => {
                self.unknown.push((func, span));
                self.zeros_like(primal)
            }
        }
    }

    /// Reports what the program would call without knowing its tangent.
    fn report_unknown(&mut self) {
        let unknown = std::mem::take(&mut self.unknown);
        if unknown.is_empty() {
            return;
        }
        let called = known::called(self.program);
        for (func, span) in unknown {
            if called.contains(&func) {
                self.refuse(span, UNKNOWN_FUNCTION);
            }
        }
    }

    fn independent(&mut self, y: VarId, x: VarId, span: Span) {
        // Not every field of a struct is used by everything.
        let nobodys = matches!(self.frame, Frame::Func(func) if self.written_out.contains(&func));
        if nobodys || self.program.vars[x].name.as_str().starts_with('$') {
            return;
        }
        let (y, x) = (self.program.vars[y].name, self.program.vars[x].name);
        self.diagnostics.push(
            Diagnostic::new(
                Code::W0401,
                span,
                format!("`{y}` does not depend on `{x}`: this derivative is zero"),
            )
            .here("always zero")
            .help(format!("differentiate something that is computed from `{x}`")),
        );
    }
}

/// A variable, and the indices it is read at: a value with a name, or a part of one.
type Named<'a> = (VarId, &'a [IndexArg]);

/// What an expression names.
fn named(e: &Expr) -> Option<Named<'_>> {
    match &*e.kind {
        ExprKind::Var(var) => Some((*var, &[])),
        ExprKind::Index { base, indices } => match &*base.kind {
            ExprKind::Var(var) => Some((*var, indices)),
            _ => None,
        },
        _ => None,
    }
}

fn let_stmt(var: VarId, value: Expr) -> Stmt {
    let span = value.span;
    Stmt { kind: StmtKind::Let(var, value), span }
}

/// Reads at positions that are known to be legal because the primal reads them too.
fn proved(indices: &[IndexArg]) -> Vec<IndexArg> {
    indices
        .iter()
        .map(|index| IndexArg { value: index.value.clone(), bounds: Bounds::Checked })
        .collect()
}
