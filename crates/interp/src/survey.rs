//! Finding what a loop would compute again and again: calls, reductions and arrays that do not
//! mention all indices around them.
//!
//! A survey covers the value of a clause, or a reduction that stands alone. Every index in it has a
//! bit; an expression has the bits of the indices on which it depends, through local variables too.

use ein_ir::size;
use ein_ir::tensor::walk::{any, each_child};
use ein_ir::tensor::{
    AtomDef, Binder, Clause, ClauseSlot, CompClause, Expr, ExprKind, HostOp, Item, Program, Reduce,
    Require, Scatter, Stmt, StmtKind, Tensor, VarId,
};
use rustc_hash::FxHashMap;

/// The most indices that a kept value may depend on.
pub(crate) const KEYS: usize = 4;

/// What acts on the outside, which every point has to do.
const ACTS: u64 = 1 << 63;

/// What depends on more indices than are told apart.
const MORE: u64 = 1 << 62;

/// An expression with the indices on which it depends.
#[derive(Debug)]
pub(crate) struct Repeated<'p> {
    pub(crate) e: &'p Expr,
    pub(crate) keys: Vec<VarId>,
}

/// Which functions of a program act on the outside, themselves or through others.
pub(crate) fn acting(program: &Program) -> Vec<bool> {
    let mut acts = vec![false; program.funcs.len()];
    loop {
        let before = acts.clone();
        for ((_, func), acts) in program.funcs.iter_enumerated().zip(&mut acts) {
            *acts = *acts || any(&func.body, &mut |e| acts_itself(e, &before));
        }
        if acts == before {
            return acts;
        }
    }
}

fn acts_itself(e: &Expr, acting: &[bool]) -> bool {
    match &*e.kind {
        ExprKind::Host(HostOp::Print | HostOp::Io(_) | HostOp::Python(_), _) => true,
        ExprKind::Call { func, .. } => acting[ein_base::Idx::index(*func)],
        ExprKind::CallValue { .. } => acting.contains(&true),
        _ => false,
    }
}

/// A walk through an expression.
pub(crate) struct Survey<'a, 'p> {
    program: &'p Program,
    acting: &'a [bool],
    /// On what variables depend.
    vars: FxHashMap<VarId, u64>,
    /// The index of each bit; none of what is bound to more than numbers.
    bits: Vec<Option<VarId>>,
    /// The loops around.
    around: u64,
    found: Vec<Repeated<'p>>,
}

impl<'a, 'p> Survey<'a, 'p> {
    fn new(program: &'p Program, acting: &'a [bool]) -> Self {
        let (vars, bits, found) = (FxHashMap::default(), Vec::new(), Vec::new());
        Survey { program, acting, vars, bits, around: 0, found }
    }

    /// What is repeated in the value of a clause.
    pub(crate) fn clause(
        program: &'p Program,
        acting: &'a [bool],
        clause: &'p Clause,
    ) -> Vec<Repeated<'p>> {
        let mut survey = Survey::new(program, acting);
        for slot in &clause.slots {
            if let ClauseSlot::Loop(binder) = slot {
                survey.index(Some(binder.var));
            }
        }
        survey.items(&clause.items);
        survey.expr(&clause.value);
        clause.otherwise.iter().for_each(|e| {
            survey.expr(e);
        });
        survey.found
    }

    /// What is repeated in a reduction.
    pub(crate) fn reduction(
        program: &'p Program,
        acting: &'a [bool],
        reduce: &'p Reduce,
    ) -> Vec<Repeated<'p>> {
        let mut survey = Survey::new(program, acting);
        survey.looped(&reduce.binders, &reduce.items, &[&reduce.value]);
        survey.found
    }

    /// What is repeated in an accumulation.
    pub(crate) fn accumulation(
        program: &'p Program,
        acting: &'a [bool],
        scatter: &'p Scatter,
    ) -> Vec<Repeated<'p>> {
        let mut survey = Survey::new(program, acting);
        survey.scattered(scatter);
        survey.found
    }

    fn scattered(&mut self, scatter: &'p Scatter) -> u64 {
        let cells = scatter.indices.iter().map(|index| &index.value);
        let values: Vec<&'p Expr> = cells.chain([&scatter.value]).collect();
        self.looped(&scatter.binders, &scatter.items, &values)
    }

    /// A new index, or something else that a loop binds.
    fn index(&mut self, var: Option<VarId>) -> u64 {
        let bit = if self.bits.len() < 62 { 1 << self.bits.len() } else { MORE };
        if bit != MORE {
            self.bits.push(var);
            self.around |= bit;
        }
        if let Some(var) = var {
            self.vars.insert(var, bit);
        }
        bit
    }

    /// On what an expression depends.
    fn expr(&mut self, e: &'p Expr) -> u64 {
        let on = match &*e.kind {
            ExprKind::Var(var) => self.var(*var),
            ExprKind::Size(size) => self.size(size),
            ExprKind::Block { stmts, value } => {
                let stmts: u64 = stmts.iter().fold(0, |on, stmt| on | self.stmt(stmt));
                stmts | self.expr(value)
            }
            ExprKind::Match { value, arms } => {
                let mut on = self.expr(value);
                for arm in arms {
                    let bound = on;
                    self.vars.extend(arm.pattern.variables().into_iter().map(|var| (var, bound)));
                    on |= arm.guard.as_ref().map_or(0, |guard| self.expr(guard));
                    on |= self.expr(&arm.value);
                }
                on
            }
            ExprKind::Tensor(tensor) => self.tensor(tensor),
            ExprKind::Reduce(reduce) => {
                let on = self.looped(&reduce.binders, &reduce.items, &[&reduce.value]);
                on | self.requires(&reduce.requires)
            }
            ExprKind::Scatter(scatter) => self.scattered(scatter) | self.sizes(&scatter.shape),
            ExprKind::Comprehension { clauses, body } => self.comprehension(clauses, body),
            // What fails inside goes back to how things were before.
            ExprKind::Try(inner) => self.without_finds(|it| it.expr(inner)),
            ExprKind::Call { sizes, .. } => self.sizes(sizes) | self.children(e),
            ExprKind::Assert { extents, .. } => {
                let stated = extents.iter().flatten().fold(0, |on, size| on | self.size(size));
                stated | self.children(e)
            }
            _ => self.children(e),
        };
        let axes = e.ty.axes().iter().fold(0, |on, axis| on | self.size(&axis.size));
        let acts = if acts_itself(e, self.acting) { ACTS } else { 0 };
        self.note(e, on | axes | acts);
        on | axes | acts
    }

    /// Notes an expression that loops around it repeat.
    fn note(&mut self, e: &'p Expr, on: u64) {
        let costly = matches!(
            &*e.kind,
            ExprKind::Reduce(_)
                | ExprKind::Call { .. }
                | ExprKind::CallValue { .. }
                | ExprKind::Tensor(_)
                | ExprKind::Comprehension { .. }
                | ExprKind::Scatter(_)
        );
        if costly && on & ACTS == 0 {
            self.found_if_repeated(e, on);
        }
    }

    /// A binding takes effect at the outermost place where all its names are known, whatever it does
    /// there.
    fn note_binding(&mut self, e: &'p Expr, on: u64) {
        let on = match on & ACTS {
            0 => on,
            _ => {
                let on = on & !ACTS;
                let outer = u64::MAX.checked_shr(on.leading_zeros()).unwrap_or(0);
                on | (self.around & outer)
            }
        };
        if !self.found.last().is_some_and(|last| std::ptr::eq(last.e, e)) {
            self.found_if_repeated(e, on);
        }
    }

    fn found_if_repeated(&mut self, e: &'p Expr, on: u64) {
        if on & MORE != 0 || self.around & !on == 0 {
            return;
        }
        let used = self.bits.iter().enumerate().filter(|(bit, _)| on >> bit & 1 == 1);
        let keys: Option<Vec<VarId>> = used.map(|(_, var)| *var).collect();
        if let Some(keys) = keys.filter(|keys| keys.len() <= KEYS) {
            self.found.push(Repeated { e, keys });
        }
    }

    fn children(&mut self, e: &'p Expr) -> u64 {
        let mut on = 0;
        each_child(e, &mut |child| on |= self.expr(child));
        on
    }

    fn var(&self, var: VarId) -> u64 {
        self.vars.get(&var).copied().unwrap_or(0)
    }

    fn size(&self, size: &size::Expr) -> u64 {
        // Sizes of types that nobody computes may be no atoms of the program.
        let atoms = size.atoms().into_iter().filter_map(|atom| self.program.atoms.get(atom));
        atoms.fold(0, |on, atom| match atom.def {
            AtomDef::Var(var) | AtomDef::Extent(var, _) | AtomDef::Length(var) => {
                on | self.var(var)
            }
            AtomDef::Unknown => on,
        })
    }

    fn sizes(&self, sizes: &[size::Expr]) -> u64 {
        sizes.iter().fold(0, |on, size| on | self.size(size))
    }

    fn requires(&self, requires: &[Require]) -> u64 {
        requires.iter().fold(0, |on, it| on | self.size(&it.left) | self.size(&it.right))
    }

    fn stmt(&mut self, stmt: &'p Stmt) -> u64 {
        match &stmt.kind {
            StmtKind::Let(var, e) => {
                let on = self.expr(e);
                self.vars.insert(*var, on);
                on
            }
            StmtKind::Destructure(pattern, e) => {
                let on = self.expr(e);
                self.vars.extend(pattern.variables().into_iter().map(|var| (var, on)));
                on
            }
            StmtKind::Expr(e) => self.expr(e),
            StmtKind::Require(require) => self.size(&require.left) | self.size(&require.right),
        }
    }

    fn items(&mut self, items: &'p [Item]) -> u64 {
        let mut all = 0;
        for item in items {
            all |= match item {
                Item::Let(var, e) => {
                    let on = self.expr(e);
                    self.note_binding(e, on);
                    self.vars.insert(*var, on);
                    on
                }
                Item::Guard(e) => self.expr(e),
            };
        }
        all
    }

    /// On what loops depend, their own indices apart.
    fn looped(&mut self, binders: &'p [Binder], items: &'p [Item], values: &[&'p Expr]) -> u64 {
        let around = self.around;
        let (mut on, mut own) = (0, 0);
        for binder in binders {
            on |= self.expr(&binder.lo) | self.expr(&binder.hi);
            own |= self.index(Some(binder.var));
        }
        on |= self.items(items);
        on |= values.iter().fold(0, |on, value| on | self.expr(value));
        self.around = around;
        on & !(own & !MORE)
    }

    fn comprehension(&mut self, clauses: &'p [CompClause], body: &'p Expr) -> u64 {
        let around = self.around;
        let (mut on, mut own) = (0, 0);
        for clause in clauses {
            match clause {
                CompClause::Condition(e) => on |= self.expr(e),
                CompClause::Binding(var, e) => {
                    let value = self.expr(e);
                    self.vars.insert(*var, value);
                    on |= value;
                }
                CompClause::Generator(pattern, e) => {
                    on |= self.expr(e);
                    let bit = self.index(None);
                    self.vars.extend(pattern.variables().into_iter().map(|var| (var, bit)));
                    own |= bit;
                }
            }
        }
        on |= self.expr(body);
        self.around = around;
        on & !(own & !MORE)
    }

    /// A definition keeps what it repeats itself.
    fn tensor(&mut self, tensor: &'p Tensor) -> u64 {
        let stated = tensor.shape.iter().flatten().fold(0, |on, size| on | self.size(size));
        let required = self.requires(&tensor.requires);
        let clauses = self.without_finds(|it| {
            let mut on = 0;
            for clause in &tensor.clauses {
                for slot in &clause.slots {
                    if let ClauseSlot::Loop(binder) = slot {
                        on |= it.expr(&binder.lo) | it.expr(&binder.hi);
                        it.vars.insert(binder.var, 0);
                    }
                }
                on |= it.items(&clause.items) | it.expr(&clause.value);
                on |= clause.otherwise.as_ref().map_or(0, |e| it.expr(e));
                if let Some(until) = &clause.until {
                    on |= it.expr(&until.cond);
                    on |= until.otherwise.as_ref().map_or(0, |e| it.expr(e));
                }
            }
            on
        });
        stated | required | clauses
    }

    fn without_finds(&mut self, walk: impl FnOnce(&mut Self) -> u64) -> u64 {
        let found = self.found.len();
        let on = walk(self);
        self.found.truncate(found);
        on
    }
}
