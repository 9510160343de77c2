//! Which statements may run as one kernel, and what is read after them.

use ein_ir::size;
use ein_ir::tensor::walk::{each_child, each_in_stmt, each_size};
use ein_ir::tensor::{
    AtomDef, Expr, ExprKind, FuncId, HostOp, Place, Program, Stmt, StmtKind, VarId,
};
use rustc_hash::FxHashSet;

/// An array literal with more elements is a value, not work.
const MAX_LITERAL: usize = 16;

/// How many of these statements, from the first on, could be one kernel; none unless the first
/// one has work in it.
pub(super) fn eligible(program: &Program, stmts: &[Stmt]) -> usize {
    let Some(first) = stmts.first() else { return 0 };
    if !has_work(program, std::slice::from_ref(first)) {
        return 0;
    }
    stmts.iter().take_while(|stmt| is_plain(program, stmt)).count()
}

/// Whether there is a loop in these statements.
pub(super) fn has_work(program: &Program, stmts: &[Stmt]) -> bool {
    let mut seen = FxHashSet::default();
    stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Let(_, value) | StmtKind::Destructure(_, value) => {
            loops_in(program, value, &mut seen)
        }
        StmtKind::Expr(_) | StmtKind::Require(_) => false,
    })
}

fn loops_in(program: &Program, e: &Expr, seen: &mut FxHashSet<FuncId>) -> bool {
    let mut found = match &*e.kind {
        ExprKind::Tensor(_) | ExprKind::Reduce(_) | ExprKind::Scatter(_) => true,
        ExprKind::Call { func, .. } if seen.insert(*func) => {
            loops_in(program, &program.funcs[*func].body, seen)
        }
        // Recursion on arrays is a loop over its depth.
        ExprKind::Call { args, .. } => args.iter().any(|arg| arg.ty.is_array()),
        _ => false,
    };
    if !found {
        each_child(e, &mut |child| found = found || loops_in(program, child, seen));
    }
    found
}

pub(super) fn is_plain(program: &Program, stmt: &Stmt) -> bool {
    let mut seen = FxHashSet::default();
    match &stmt.kind {
        StmtKind::Let(_, value) | StmtKind::Destructure(_, value) => {
            is_plain_expr(program, value, &mut seen)
        }
        StmtKind::Require(_) => true,
        StmtKind::Expr(value) => {
            matches!(&*value.kind, ExprKind::Host(HostOp::Assert, _))
                && is_plain_expr(program, value, &mut seen)
        }
    }
}

fn is_plain_expr(program: &Program, e: &Expr, seen: &mut FxHashSet<FuncId>) -> bool {
    // What an assertion says where it fails is the evaluator's to say.
    if let ExprKind::Host(HostOp::Assert, args) = &*e.kind {
        return args.first().is_some_and(|holds| is_plain_expr(program, holds, seen));
    }
    let itself = match &*e.kind {
        ExprKind::Str(_) | ExprKind::Comprehension { .. } | ExprKind::Try(_) => false,
        ExprKind::Derivative(_) | ExprKind::Error | ExprKind::Range(..) => false,
        ExprKind::Array(items) => !items.is_empty() && items.len() <= MAX_LITERAL,
        ExprKind::Host(op, _) => matches!(
            op,
            HostOp::Len
                | HostOp::Equal
                | HostOp::ZerosLike
                | HostOp::Iota
                | HostOp::Reshape
                | HostOp::Convert
        ),
        ExprKind::Call { func, .. } => {
            !seen.insert(*func) || is_plain_expr(program, &program.funcs[*func].body, seen)
        }
        _ => true,
    };
    let mut plain = itself;
    if plain {
        // A text that decides something, as the name of a mode does.
        let decides = matches!(&*e.kind, ExprKind::Call { .. } | ExprKind::Host(HostOp::Equal, _));
        each_child(e, &mut |child| {
            let text = decides && matches!(&*child.kind, ExprKind::Str(_));
            plain = plain && (text || is_plain_expr(program, child, seen));
        });
    }
    plain
}

/// The variables of statements of the top level that matter after them.
pub(super) fn needed_after(program: &Program, run: &[Stmt]) -> FxHashSet<VarId> {
    let mut needed: FxHashSet<VarId> = program.outputs.iter().copied().collect();
    let mut sizes: FxHashSet<VarId> = FxHashSet::default();
    let mut of_size = |size: &size::Expr| {
        sizes.extend(size.atoms().into_iter().filter_map(|atom| behind(&program.atoms[atom].def)));
    };
    let mut called = Called { program, funcs: FxHashSet::default(), open: Vec::new() };
    let inside = run.as_ptr_range();
    for stmt in &program.top {
        if inside.contains(&(&raw const *stmt)) {
            // Function values that are made in there are called by anybody.
            each_in_stmt(stmt, &mut |e| called.note(e, false));
            continue;
        }
        each_in_stmt(stmt, &mut |e| called.note(e, true));
        stmt_vars(stmt, &mut needed);
        each_in_stmt(stmt, &mut |e| each_size(e, &mut of_size));
        if let StmtKind::Require(require) = &stmt.kind {
            of_size(&require.left);
            of_size(&require.right);
        }
    }
    // What functions read that nothing calls any more is not needed for them.
    called.open.extend(program.main.into_iter().chain(program.tests.iter().map(|test| test.2)));
    for func in called.all() {
        let body = &program.funcs[func].body;
        let mut used = FxHashSet::default();
        expr_vars(body, &mut used);
        let global = |var: &VarId| matches!(program.vars[*var].place, Place::Global(_));
        needed.extend(used.into_iter().filter(global));
        each_size(body, &mut of_size);
    }
    needed.extend(sizes);
    needed
}

/// The functions that may be called from some places.
struct Called<'p> {
    program: &'p Program,
    funcs: FxHashSet<FuncId>,
    open: Vec<FuncId>,
}

impl Called<'_> {
    /// Notes what an expression makes a value of, and what it calls, if its calls count.
    fn note(&mut self, e: &Expr, calls: bool) {
        match &*e.kind {
            ExprKind::Call { func, .. } if calls => self.open.push(*func),
            ExprKind::Closure { func: Some(func), .. } | ExprKind::Specialise { func, .. } => {
                self.open.push(*func);
            }
            _ => {}
        }
        each_child(e, &mut |child| self.note(child, calls));
    }

    /// All of them, with those that they call.
    fn all(mut self) -> FxHashSet<FuncId> {
        while let Some(func) = self.open.pop() {
            if self.funcs.insert(func) {
                let program = self.program;
                self.note(&program.funcs[func].body, true);
            }
        }
        self.funcs
    }
}

/// The variables that matter in the rest of a block and in its value.
pub(super) fn needed_in_block(program: &Program, rest: &[Stmt], value: &Expr) -> FxHashSet<VarId> {
    let atoms = program.atoms.iter();
    let mut needed: FxHashSet<VarId> = atoms.filter_map(|atom| behind(&atom.def)).collect();
    rest.iter().for_each(|stmt| stmt_vars(stmt, &mut needed));
    expr_vars(value, &mut needed);
    needed
}

/// The variable for whose value or extent a part of a size stands.
fn behind(def: &AtomDef) -> Option<VarId> {
    match def {
        AtomDef::Var(var) | AtomDef::Extent(var, _) | AtomDef::Length(var) => Some(*var),
        AtomDef::Unknown => None,
    }
}

fn stmt_vars(stmt: &Stmt, found: &mut FxHashSet<VarId>) {
    match &stmt.kind {
        StmtKind::Let(_, value) | StmtKind::Destructure(_, value) | StmtKind::Expr(value) => {
            expr_vars(value, found);
        }
        StmtKind::Require(_) => {}
    }
}

fn expr_vars(e: &Expr, found: &mut FxHashSet<VarId>) {
    if let ExprKind::Var(var) = &*e.kind {
        found.insert(*var);
    }
    each_child(e, &mut |child| expr_vars(child, found));
}

/// Some variable of the program.
pub(super) fn any_var(program: &Program) -> Option<VarId> {
    program.vars.ids().next()
}
