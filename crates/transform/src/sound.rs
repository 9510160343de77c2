//! What is left of a program when everything that a mistake reaches is taken out.
//!
//! Before:  a checked program with `Error` nodes.
//! After:   statements without them, of variables and functions that do not come from one. It never
//!          runs; later passes look at it for mistakes of their own, so that all are found at once.

use ein_ir::size;
use ein_ir::tensor::walk::{any, each_in_stmt};
use ein_ir::tensor::{
    AtomDef, Expr, ExprKind, FuncId, Pattern, Program, Stmt, StmtKind, Type, VarId,
};
use rustc_hash::FxHashSet;

/// Takes out of a rejected program what its mistakes reach.
pub fn keep_sound(program: &mut Program) {
    let mut reached = Reached::default();
    while reached.spread(program) {}
    reached.stmts(&mut program.top, &program.atoms);
    for func in program.funcs.ids() {
        reached.body(&mut program.funcs[func].body, &program.atoms);
    }
    program.outputs.retain(|var| !reached.vars.contains(var));
    program.main = program.main.filter(|main| !reached.funcs.contains(main));
    program.tests.retain(|(_, _, func)| !reached.funcs.contains(func));
}

type Atoms = ein_base::IndexVec<size::Atom, ein_ir::tensor::AtomInfo>;

/// What mistakes reach.
#[derive(Default)]
struct Reached {
    vars: FxHashSet<VarId>,
    funcs: FxHashSet<FuncId>,
}

impl Reached {
    /// Goes over the program once; says whether anything new was reached.
    fn spread(&mut self, program: &Program) -> bool {
        let before = (self.vars.len(), self.funcs.len());
        self.spread_stmts(&program.top, &program.atoms);
        for (func, known) in program.funcs.iter_enumerated() {
            if let ExprKind::Block { stmts, .. } = &*known.body.kind {
                self.spread_stmts(stmts, &program.atoms);
            }
            let by_rule = known.rule.is_some_and(|rule| self.funcs.contains(&rule));
            if by_rule || self.reaches(&known.body, &program.atoms) {
                self.funcs.insert(func);
            }
        }
        before != (self.vars.len(), self.funcs.len())
    }

    fn spread_stmts(&mut self, stmts: &[Stmt], atoms: &Atoms) {
        for stmt in stmts {
            if self.reaches_stmt(stmt, atoms) {
                match &stmt.kind {
                    StmtKind::Let(var, _) => {
                        self.vars.insert(*var);
                    }
                    StmtKind::Destructure(pattern, _) => self.bound(pattern),
                    StmtKind::Expr(_) | StmtKind::Require(_) => {}
                }
            }
        }
    }

    fn bound(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Bind(var) => {
                self.vars.insert(*var);
            }
            Pattern::At(var, inner) => {
                self.vars.insert(*var);
                self.bound(inner);
            }
            Pattern::Tuple(items) | Pattern::Or(items) | Pattern::Data { fields: items, .. } => {
                items.iter().for_each(|item| self.bound(item));
            }
            Pattern::Array { before, rest, after } => {
                before.iter().chain(after).for_each(|item| self.bound(item));
                self.vars.extend(rest.iter().flatten());
            }
            Pattern::Wild | Pattern::Literal(_) | Pattern::Str(_) | Pattern::Range { .. } => {}
        }
    }

    fn reaches_stmt(&self, stmt: &Stmt, atoms: &Atoms) -> bool {
        if let StmtKind::Require(require) = &stmt.kind {
            return self.in_size(&require.left, atoms) || self.in_size(&require.right, atoms);
        }
        let mut reached = false;
        each_in_stmt(stmt, &mut |e| reached = reached || self.reaches(e, atoms));
        reached
    }

    fn reaches(&self, e: &Expr, atoms: &Atoms) -> bool {
        any(e, &mut |e| {
            let here = match &*e.kind {
                ExprKind::Error => true,
                ExprKind::Var(var) => self.vars.contains(var),
                ExprKind::Size(size) => self.in_size(size, atoms),
                ExprKind::Call { func, .. } | ExprKind::Specialise { func, .. } => {
                    self.funcs.contains(func)
                }
                ExprKind::Closure { func, .. } => func.is_some_and(|it| self.funcs.contains(&it)),
                _ => false,
            };
            here || e.ty.is_broken() || e.ty.axes().iter().any(|it| self.in_size(&it.size, atoms))
        })
    }

    fn in_size(&self, size: &size::Expr, atoms: &Atoms) -> bool {
        size.atoms().into_iter().any(|atom| match atoms[atom].def {
            AtomDef::Var(var) | AtomDef::Extent(var, _) | AtomDef::Length(var) => {
                self.vars.contains(&var)
            }
            AtomDef::Unknown => false,
        })
    }

    fn stmts(&self, stmts: &mut Vec<Stmt>, atoms: &Atoms) {
        stmts.retain(|stmt| !self.reaches_stmt(stmt, atoms));
    }

    /// The body of a function: of one that is reached, the statements that are not.
    fn body(&self, body: &mut Expr, atoms: &Atoms) {
        if !self.reaches(body, atoms) {
            return;
        }
        match &mut *body.kind {
            ExprKind::Block { stmts, value } => {
                self.stmts(stmts, atoms);
                if self.reaches(value, atoms) {
                    *value = nothing_at(value);
                    body.ty = Type::Unit;
                }
            }
            _ => *body = nothing_at(body),
        }
    }
}

fn nothing_at(e: &Expr) -> Expr {
    Expr::new(ExprKind::Unit, Type::Unit, e.span)
}
