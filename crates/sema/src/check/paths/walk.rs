//! The walk: every expression with the facts of its path.

use super::{Domain, Path, Visit, is_integer, peel};
use crate::check::Cx;
use ein_ir::size;
use ein_ir::tensor::walk::each_child_mut;
use ein_ir::tensor::{
    AtomDef, Binder, Clause, ClauseSlot, CompClause, Expr, ExprKind, HostOp, Item, Pattern,
    Require, Stmt, StmtKind, Type, VarId,
};

impl Cx<'_> {
    /// Walks an expression.
    pub(in crate::check) fn walk_on(
        &mut self,
        e: &mut Expr,
        path: &mut Path,
        visit: &mut dyn Visit,
    ) {
        let span = e.span;
        match &mut *e.kind {
            ExprKind::Var(var) => visit.var(self, *var, span, path),
            ExprKind::Index { base, indices } => {
                for index in indices.iter_mut() {
                    self.walk_on(&mut index.value, path, visit);
                }
                visit.read(self, base, indices, span, path);
                if !matches!(&*base.kind, ExprKind::Var(_)) {
                    self.walk_on(base, path, visit);
                }
            }
            ExprKind::If { cond, then, otherwise } => {
                self.walk_on(cond, path, visit);
                let mark = path.mark();
                self.enter(cond, true, path);
                self.walk_on(then, path, visit);
                path.reset(mark);
                self.enter(cond, false, path);
                self.walk_on(otherwise, path, visit);
                path.reset(mark);
            }
            ExprKind::And(a, b) => self.walk_after(a, true, b, path, visit),
            ExprKind::Or(a, b) => self.walk_after(a, false, b, path, visit),
            ExprKind::Block { stmts, value } => {
                let mark = path.mark();
                for stmt in stmts {
                    self.walk_stmt(stmt, path, visit);
                }
                self.walk_on(value, path, visit);
                path.reset(mark);
            }
            ExprKind::Match { value, arms } => {
                self.walk_on(value, path, visit);
                let all = path.mark();
                for arm in arms {
                    let mark = path.mark();
                    path.exact &= self.matches_on(&arm.pattern, value, path);
                    if let Some(guard) = &mut arm.guard {
                        self.walk_on(guard, path, visit);
                        self.enter(guard, true, path);
                    }
                    self.walk_on(&mut arm.value, path, visit);
                    path.reset(mark);
                    let said = arm.guard.is_none() && self.differs_on(&arm.pattern, value, path);
                    path.exact &= said;
                }
                path.reset(all);
            }
            ExprKind::Comprehension { clauses, body } => {
                let mark = path.mark();
                for clause in clauses {
                    match clause {
                        CompClause::Generator(pattern, e) => {
                            self.walk_on(e, path, visit);
                            self.generate(pattern, e, path);
                        }
                        CompClause::Condition(e) => {
                            self.walk_on(e, path, visit);
                            self.enter(e, true, path);
                        }
                        CompClause::Binding(var, e) => self.walk_let(*var, e, path, visit),
                    }
                }
                self.walk_on(body, path, visit);
                path.reset(mark);
            }
            ExprKind::Tensor(tensor) => {
                visit.tensor(self, tensor);
                let mark = path.mark();
                self.require_on(&tensor.requires, path);
                for clause in &mut tensor.clauses {
                    self.walk_clause(clause, path, visit);
                }
                path.reset(mark);
            }
            ExprKind::Reduce(reduce) => {
                let mark = path.mark();
                self.require_on(&reduce.requires, path);
                for binder in &mut reduce.binders {
                    self.walk_binder(binder, path, visit);
                }
                self.walk_items(&mut reduce.items, path, visit);
                self.walk_on(&mut reduce.value, path, visit);
                path.reset(mark);
            }
            ExprKind::Try(inner) => {
                // What goes wrong inside is caught.
                let mark = path.mark();
                path.exact = false;
                self.walk_on(inner, path, visit);
                path.reset(mark);
            }
            _ => each_child_mut(e, &mut |child| self.walk_on(child, path, visit)),
        }
    }

    fn walk_after(
        &mut self,
        first: &mut Expr,
        holds: bool,
        second: &mut Expr,
        path: &mut Path,
        visit: &mut dyn Visit,
    ) {
        self.walk_on(first, path, visit);
        let mark = path.mark();
        self.enter(first, holds, path);
        self.walk_on(second, path, visit);
        path.reset(mark);
    }

    /// Walks a statement; what it says stays known.
    pub(in crate::check) fn walk_stmt(
        &mut self,
        stmt: &mut Stmt,
        path: &mut Path,
        visit: &mut dyn Visit,
    ) {
        match &mut stmt.kind {
            StmtKind::Let(var, e) => self.walk_let(*var, e, path, visit),
            StmtKind::Destructure(_, e) => self.walk_on(e, path, visit),
            StmtKind::Expr(e) => {
                self.walk_on(e, path, visit);
                if let ExprKind::Host(HostOp::Assert, args) = &*e.kind
                    && let Some(cond) = args.first()
                {
                    self.assume_on(cond, true, path);
                }
            }
            StmtKind::Require(require) => self.require_on(std::slice::from_ref(require), path),
        }
    }

    fn require_on(&mut self, requires: &[Require], path: &mut Path) {
        for require in requires {
            path.facts.eq(&require.left, &require.right);
        }
    }

    /// Walks a clause of a definition.
    pub(in crate::check) fn walk_clause(
        &mut self,
        clause: &mut Clause,
        path: &mut Path,
        visit: &mut dyn Visit,
    ) {
        let mark = path.mark();
        for slot in &mut clause.slots {
            if let ClauseSlot::Loop(binder) = slot {
                self.walk_binder(binder, path, visit);
            }
        }
        let inside = path.mark();
        self.walk_items(&mut clause.items, path, visit);
        self.walk_on(&mut clause.value, path, visit);
        path.reset(inside);
        if let Some(otherwise) = &mut clause.otherwise {
            let mut guards = clause.items.iter().filter_map(|item| match item {
                Item::Guard(cond) => Some(cond),
                Item::Let(..) => None,
            });
            match (guards.next(), guards.next()) {
                (Some(guard), None) => self.enter(guard, false, path),
                _ => path.exact = false,
            }
            self.walk_on(otherwise, path, visit);
        }
        path.reset(inside);
        if let Some(until) = &mut clause.until {
            self.walk_on(&mut until.cond, path, visit);
            until.otherwise.iter_mut().for_each(|message| self.walk_on(message, path, visit));
        }
        path.reset(mark);
    }

    fn walk_binder(&mut self, binder: &mut Binder, path: &mut Path, visit: &mut dyn Visit) {
        self.walk_on(&mut binder.lo, path, visit);
        self.walk_on(&mut binder.hi, path, visit);
        self.bind_on(binder.var, &binder.lo, &binder.hi, path);
    }

    /// Lets a variable run from `lo` to `hi`.
    fn bind_on(&mut self, var: VarId, lo: &Expr, hi: &Expr, path: &mut Path) {
        let (lo, hi) = (self.size_on(lo, path), self.size_on(hi, path));
        path.exact &= !self.is_opaque(&lo, path) && !self.is_opaque(&hi, path);
        if let Some(atom) = self.var_sizes.get(&var).and_then(size::Expr::as_atom) {
            path.facts.with_range(atom, &lo, &hi);
            let span = self.out.vars[var].span;
            path.domains.push(Domain { atom, lo, hi, span });
        }
    }

    fn walk_items(&mut self, items: &mut [Item], path: &mut Path, visit: &mut dyn Visit) {
        for item in items {
            match item {
                Item::Let(var, e) => self.walk_let(*var, e, path, visit),
                Item::Guard(e) => {
                    self.walk_on(e, path, visit);
                    self.enter(e, true, path);
                }
            }
        }
    }

    fn walk_let(&mut self, var: VarId, e: &mut Expr, path: &mut Path, visit: &mut dyn Visit) {
        self.walk_on(e, path, visit);
        visit.bound(self, var, e);
        if e.ty == Type::BOOL {
            path.truths.push((var, e.clone()));
        }
        // The variable and what it is bound to are one atom.
        if is_integer(&e.ty)
            && let Some(atom) = self.var_sizes.get(&var).and_then(size::Expr::as_atom)
            && self.out.atoms[atom].def == AtomDef::Var(var)
        {
            let value = peel(e);
            let own = size::Expr::atom(atom);
            match path.opaque.atom(value) {
                Some(other) => path.facts.eq(&own, &size::Expr::atom(other)),
                None => path.opaque.push(value.clone(), atom),
            }
        }
    }

    fn generate(&mut self, pattern: &Pattern, e: &Expr, path: &mut Path) {
        match (pattern, &*e.kind) {
            (Pattern::Bind(var), ExprKind::Range(lo, hi)) => self.bind_on(*var, lo, hi, path),
            _ => path.exact = false,
        }
    }
}
