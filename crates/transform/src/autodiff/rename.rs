//! Copies of code with variables of their own, and with index variables replaced by values.
//!
//! Everything that is bound inside a copy gets a fresh variable, because a slot that is bound again
//! further in would lose its value. Symbolic integers follow: an atom that stands for a renamed
//! variable becomes an atom of the new one.

use super::Pass;
use super::truth::truth;
use ein_ir::size::{self, Atom};
use ein_ir::tensor::symbolic::to_size;
use ein_ir::tensor::walk::each_child_mut;
use ein_ir::tensor::{
    AtomDef, AtomInfo, Axis, Binder, ClauseSlot, CompClause, Expr, ExprKind, Item, Pattern, Reduce,
    Require, Stmt, StmtKind, Type, VarId,
};
use ein_scalar::BinaryOp;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// New variables for old ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Renaming {
    pub vars: FxHashMap<VarId, VarId>,
    /// Variables that are sizes, and what takes their place.
    pub sizes: FxHashMap<VarId, size::Expr>,
    /// The same for extents of arrays along their axes.
    pub extents: FxHashMap<(VarId, usize), size::Expr>,
    /// What was bound further out, and is bound again where the copy is now: the name from before.
    shadowed: Vec<(VarId, VarId)>,
}

impl Renaming {
    fn is_empty(&self) -> bool {
        self.vars.is_empty() && self.sizes.is_empty() && self.extents.is_empty()
    }
}

impl Pass<'_> {
    /// A variable of this frame like another one.
    pub(crate) fn fresh(&mut self, var: VarId, names: &mut Renaming) -> VarId {
        let info = self.program.vars[var].clone();
        let new = self.local(info.name.as_str(), info.ty.clone(), info.span);
        if let Some(before) = names.vars.insert(var, new) {
            names.shadowed.push((var, before));
        }
        // An extent that only the run knows is an extent of the variable itself.
        self.program.vars[new].ty = self.renamed_type(&info.ty, names);
        new
    }

    /// A copy in which everything that it binds is fresh.
    pub(crate) fn freshened(&mut self, e: &Expr, names: &mut Renaming) -> Expr {
        let mut copy = e.clone();
        self.freshen(&mut copy, names);
        copy
    }

    pub(crate) fn freshen(&mut self, e: &mut Expr, names: &mut Renaming) {
        let outside = names.shadowed.len();
        self.freshen_within(e, names);
        for (var, before) in names.shadowed.drain(outside..).rev() {
            names.vars.insert(var, before);
        }
    }

    fn freshen_within(&mut self, e: &mut Expr, names: &mut Renaming) {
        self.rename_type_in_place(&mut e.ty, names);
        match &mut *e.kind {
            ExprKind::Var(var) => {
                if let Some(new) = names.vars.get(var) {
                    *var = *new;
                } else if let Some(size) = names.sizes.get(var) {
                    *e.kind = ExprKind::Size(size.clone());
                }
            }
            ExprKind::Size(size) => *size = self.renamed_size(size, names),
            ExprKind::Block { stmts, value } => {
                stmts.iter_mut().for_each(|stmt| self.freshen_stmt(stmt, names));
                self.freshen(value, names);
            }
            ExprKind::If { cond, then, otherwise } => {
                self.freshen(cond, names);
                if let Some(holds) = truth(cond) {
                    // The other one would be carried along by everything that is made of the copy.
                    let mut taken = (if holds { then } else { otherwise }).clone();
                    self.freshen(&mut taken, names);
                    *e = taken;
                    return;
                }
                self.freshen(then, names);
                self.freshen(otherwise, names);
            }
            ExprKind::Match { value, arms } => {
                self.freshen(value, names);
                for arm in arms {
                    self.freshen_pattern(&mut arm.pattern, names);
                    arm.guard.iter_mut().for_each(|guard| self.freshen(guard, names));
                    self.freshen(&mut arm.value, names);
                }
            }
            ExprKind::Tensor(tensor) => {
                if let Some(var) = &mut tensor.self_var {
                    *var = self.fresh(*var, names);
                }
                for extent in tensor.shape.iter_mut().flatten() {
                    *extent = self.renamed_size(extent, names);
                }
                rename_requires(self, &mut tensor.requires, names);
                for clause in &mut tensor.clauses {
                    for slot in &mut clause.slots {
                        if let ClauseSlot::Loop(binder) = slot {
                            self.freshen_binder(binder, names);
                        }
                    }
                    self.freshen_items(&mut clause.items, names);
                    self.freshen(&mut clause.value, names);
                    clause.otherwise.iter_mut().for_each(|e| self.freshen(e, names));
                    if let Some(until) = &mut clause.until {
                        self.freshen(&mut until.cond, names);
                        until.otherwise.iter_mut().for_each(|e| self.freshen(e, names));
                    }
                }
            }
            ExprKind::Reduce(reduce) => self.freshen_reduce(reduce, names),
            ExprKind::Scatter(scatter) => {
                for extent in &mut scatter.shape {
                    *extent = self.renamed_size(extent, names);
                }
                scatter.binders.iter_mut().for_each(|binder| self.freshen_binder(binder, names));
                self.freshen_items(&mut scatter.items, names);
                scatter.indices.iter_mut().for_each(|index| self.freshen(&mut index.value, names));
                self.freshen(&mut scatter.value, names);
            }
            ExprKind::Comprehension { clauses, body } => {
                for clause in clauses {
                    match clause {
                        CompClause::Generator(pattern, source) => {
                            self.freshen(source, names);
                            self.freshen_pattern(pattern, names);
                        }
                        CompClause::Condition(cond) => self.freshen(cond, names),
                        CompClause::Binding(var, value) => {
                            self.freshen(value, names);
                            *var = self.fresh(*var, names);
                        }
                    }
                }
                self.freshen(body, names);
            }
            ExprKind::Call { sizes, closure, args, .. } => {
                for size in sizes {
                    *size = self.renamed_size(size, names);
                }
                closure.iter_mut().chain(args).for_each(|e| self.freshen(e, names));
            }
            ExprKind::Assert { value, extents, .. } => {
                for extent in extents.iter_mut().flatten() {
                    *extent = self.renamed_size(extent, names);
                }
                self.freshen(value, names);
            }
            _ => each_child_mut(e, &mut |child| self.freshen(child, names)),
        }
    }

    pub(super) fn freshen_reduce(&mut self, reduce: &mut Reduce, names: &mut Renaming) {
        rename_requires(self, &mut reduce.requires, names);
        reduce.binders.iter_mut().for_each(|binder| self.freshen_binder(binder, names));
        self.freshen_items(&mut reduce.items, names);
        self.freshen(&mut reduce.value, names);
    }

    pub(super) fn freshen_binder(&mut self, binder: &mut Binder, names: &mut Renaming) {
        self.freshen(&mut binder.lo, names);
        self.freshen(&mut binder.hi, names);
        binder.var = self.fresh(binder.var, names);
    }

    pub(crate) fn freshen_items(&mut self, items: &mut [Item], names: &mut Renaming) {
        for item in items {
            match item {
                Item::Let(var, value) => {
                    self.freshen(value, names);
                    *var = self.fresh(*var, names);
                }
                Item::Guard(cond) => self.freshen(cond, names),
            }
        }
    }

    pub(super) fn freshen_stmt(&mut self, stmt: &mut Stmt, names: &mut Renaming) {
        match &mut stmt.kind {
            StmtKind::Let(var, value) => {
                self.freshen(value, names);
                *var = self.fresh(*var, names);
            }
            StmtKind::Destructure(pattern, value) => {
                self.freshen(value, names);
                self.freshen_pattern(pattern, names);
            }
            StmtKind::Expr(value) => self.freshen(value, names),
            StmtKind::Require(require) => {
                rename_requires(self, std::slice::from_mut(require), names);
            }
        }
    }

    pub(super) fn freshen_pattern(&mut self, pattern: &mut Pattern, names: &mut Renaming) {
        match pattern {
            Pattern::Wild | Pattern::Literal(_) | Pattern::Str(_) | Pattern::Range { .. } => {}
            Pattern::Bind(var) => *var = self.fresh(*var, names),
            Pattern::Tuple(items) | Pattern::Data { fields: items, .. } => {
                items.iter_mut().for_each(|item| self.freshen_pattern(item, names));
            }
            Pattern::Array { before, rest, after } => {
                before.iter_mut().for_each(|item| self.freshen_pattern(item, names));
                for var in rest.iter_mut().flatten() {
                    *var = self.fresh(*var, names);
                }
                after.iter_mut().for_each(|item| self.freshen_pattern(item, names));
            }
            // The alternatives bind the same variables.
            Pattern::Or(items) => {
                let before = names.clone();
                let mut shared = Renaming::default();
                for item in items {
                    let mut inner = before.clone();
                    inner.vars.retain(|var, _| !shared.vars.contains_key(var));
                    inner.vars.extend(shared.vars.iter().map(|(a, b)| (*a, *b)));
                    self.freshen_alternative(item, &mut inner, &mut shared);
                }
                names.vars.extend(shared.vars);
            }
            Pattern::At(var, inner) => {
                *var = self.fresh(*var, names);
                self.freshen_pattern(inner, names);
            }
        }
    }

    fn freshen_alternative(
        &mut self,
        pattern: &mut Pattern,
        names: &mut Renaming,
        shared: &mut Renaming,
    ) {
        let mut bound = Vec::new();
        super::pattern::bound_by(pattern, &mut bound);
        for var in &bound {
            if !shared.vars.contains_key(var) {
                let new = self.fresh(*var, names);
                shared.vars.insert(*var, new);
            }
        }
        super::pattern::replace_bound(pattern, &shared.vars);
    }

    /// The same expression with extents of other variables; what it reads stays.
    pub(super) fn rename_extents(&mut self, e: &mut Expr, names: &Renaming) {
        self.rename_type_in_place(&mut e.ty, names);
        match &mut *e.kind {
            ExprKind::Size(size) => *size = self.renamed_size(size, names),
            ExprKind::Tensor(tensor) => {
                for extent in tensor.shape.iter_mut().flatten() {
                    *extent = self.renamed_size(extent, names);
                }
                rename_requires(self, &mut tensor.requires, names);
            }
            ExprKind::Reduce(reduce) => rename_requires(self, &mut reduce.requires, names),
            ExprKind::Call { sizes, .. } => {
                for size in sizes {
                    *size = self.renamed_size(size, names);
                }
            }
            ExprKind::Block { stmts, .. } => {
                for stmt in stmts {
                    if let StmtKind::Require(require) = &mut stmt.kind {
                        rename_requires(self, std::slice::from_mut(require), names);
                    }
                }
            }
            _ => {}
        }
        each_child_mut(e, &mut |child| self.rename_extents(child, names));
    }

    pub(super) fn renamed_type(&mut self, ty: &Type, names: &Renaming) -> Type {
        let mut ty = ty.clone();
        self.rename_type_in_place(&mut ty, names);
        ty
    }

    fn rename_type_in_place(&mut self, ty: &mut Type, names: &Renaming) {
        if names.is_empty() {
            return;
        }
        match ty {
            Type::Array(array) => {
                let constant = |axis: &Axis| axis.size.as_constant().is_some();
                if array.axes.iter().all(constant) {
                    return;
                }
                for Axis { size, .. } in &mut Arc::make_mut(array).axes {
                    *size = self.renamed_size(size, names);
                }
            }
            Type::Tuple(items) | Type::Data(_, items) => {
                items.iter_mut().for_each(|item| self.rename_type_in_place(item, names));
            }
            Type::Unit
            | Type::Scalar(_)
            | Type::Str
            | Type::AnyRank(_)
            | Type::Jagged(..)
            | Type::Template(..)
            | Type::Signature(_)
            | Type::Range
            | Type::Error => {}
        }
    }

    /// A size in terms of the new variables.
    pub(crate) fn renamed_size(&mut self, size: &size::Expr, names: &Renaming) -> size::Expr {
        if size.as_constant().is_some() {
            return size.clone();
        }
        let mut new: FxHashMap<Atom, size::Expr> = FxHashMap::default();
        for atom in size.atoms() {
            let info = self.program.atoms[atom];
            let known = match info.def {
                AtomDef::Var(var) => names.sizes.get(&var),
                AtomDef::Extent(var, axis) => names.extents.get(&(var, axis)),
                AtomDef::Length(_) | AtomDef::Unknown => None,
            };
            if let Some(size) = known {
                new.insert(atom, size.clone());
                continue;
            }
            let def = match info.def {
                AtomDef::Var(var) => names.vars.get(&var).map(|var| AtomDef::Var(*var)),
                AtomDef::Extent(var, axis) => {
                    names.vars.get(&var).map(|var| AtomDef::Extent(*var, axis))
                }
                AtomDef::Length(var) => names.vars.get(&var).map(|var| AtomDef::Length(*var)),
                AtomDef::Unknown => None,
            };
            if let Some(def) = def {
                new.insert(atom, size::Expr::atom(self.atom_for(def, info)));
            }
        }
        if new.is_empty() {
            return size.clone();
        }
        size.substitute(&|atom| new.get(&atom).cloned())
    }

    fn atom_for(&mut self, def: AtomDef, like: AtomInfo) -> Atom {
        if let AtomDef::Var(var) = def {
            return self.atom_of(var);
        }
        self.program.atoms.push(AtomInfo { def, ..like })
    }

    /// The symbolic integer that an integer variable is.
    pub(super) fn atom_of(&mut self, var: VarId) -> Atom {
        if self.atoms_seen < self.program.atoms.len() {
            let start = self.atoms_seen;
            for (atom, info) in self.program.atoms.iter_enumerated().skip(start) {
                if let AtomDef::Var(var) = info.def {
                    self.atoms.entry(var).or_insert(atom);
                }
            }
            self.atoms_seen = self.program.atoms.len();
        }
        if let Some(atom) = self.atoms.get(&var) {
            return *atom;
        }
        let name = self.program.vars[var].name;
        let info = AtomInfo { name, def: AtomDef::Var(var), external: false };
        let atom = self.program.atoms.push(info);
        self.atoms.insert(var, atom);
        self.atoms_seen = self.program.atoms.len();
        atom
    }

    /// The value of an integer expression in the symbolic algebra, where it has one.
    pub(crate) fn size_of(&mut self, e: &Expr) -> Option<size::Expr> {
        let mut vars = Vec::new();
        int_vars(e, &mut vars);
        let atoms: FxHashMap<VarId, Atom> =
            vars.into_iter().map(|var| (var, self.atom_of(var))).collect();
        to_size(e, &|e| match &*e.kind {
            ExprKind::Var(var) => atoms.get(var).map(|atom| size::Expr::atom(*atom)),
            _ => None,
        })
    }

    /// A symbolic integer as plain arithmetic on its variables, as far as it is affine in them.
    pub(super) fn size_expr(&mut self, size: &size::Expr, span: ein_base::Span) -> Expr {
        let mut rest = size.clone();
        let mut positive: Option<Expr> = None;
        let mut negative: Vec<Expr> = Vec::new();
        for atom in size.atoms() {
            let AtomDef::Var(var) = self.program.atoms[atom].def else { continue };
            if self.program.vars[var].ty != Type::I32 {
                continue;
            }
            let Some((coefficient, without)) = rest.affine_in(atom) else { continue };
            if coefficient == 0 {
                continue;
            }
            rest = without;
            let value = self.var(var, span);
            let scaled = match coefficient.abs() {
                1 => value,
                factor => self.arith(BinaryOp::Mul, Expr::int(factor, span), value),
            };
            if coefficient > 0 {
                positive = Some(match positive {
                    None => scaled,
                    Some(sum) => self.arith(BinaryOp::Add, sum, scaled),
                });
            } else {
                negative.push(scaled);
            }
        }
        let mut result = match (positive, rest.as_constant()) {
            (Some(sum), Some(0)) => sum,
            (Some(sum), Some(offset)) if offset < 0 => {
                self.arith(BinaryOp::Sub, sum, Expr::int(-offset, span))
            }
            (Some(sum), _) => self.arith(BinaryOp::Add, sum, Expr::size(rest, span)),
            (None, _) => Expr::size(rest, span),
        };
        for part in negative {
            result = self.arith(BinaryOp::Sub, result, part);
        }
        result
    }

    /// Replaces integer variables by what they are equal to.
    pub(crate) fn replace_indices(&mut self, e: &mut Expr, with: &FxHashMap<VarId, size::Expr>) {
        if with.is_empty() {
            return;
        }
        if e.ty == Type::I32
            && matches!(&*e.kind, ExprKind::Binary(..))
            && let Some(size) = self.size_of(e)
        {
            let new = self.replaced_size(&size, with);
            if new != size {
                *e = self.size_expr(&new, e.span);
                return;
            }
            // The variables may be in there all the same: `i % 1` is zero.
        }
        match &mut *e.kind {
            ExprKind::Var(var) => {
                if let Some(size) = with.get(var) {
                    let (span, ty) = (e.span, e.ty.clone());
                    let new = self.size_expr(size, span);
                    *e = if new.ty == ty { new } else { Expr::new(ExprKind::Cast(new), ty, span) };
                }
            }
            ExprKind::Size(size) => {
                let (new, span, ty) = (self.replaced_size(size, with), e.span, e.ty.clone());
                let plain = if ty == Type::I32 {
                    self.size_expr(&new, span)
                } else {
                    Expr::new(ExprKind::Size(new), ty, span)
                };
                *e = plain;
            }
            ExprKind::Tensor(tensor) => {
                for extent in tensor.shape.iter_mut().flatten() {
                    *extent = self.replaced_size(extent, with);
                }
                for require in &mut tensor.requires {
                    require.left = self.replaced_size(&require.left, with);
                    require.right = self.replaced_size(&require.right, with);
                }
                each_child_mut(e, &mut |child| self.replace_indices(child, with));
            }
            ExprKind::Reduce(reduce) => {
                for require in &mut reduce.requires {
                    require.left = self.replaced_size(&require.left, with);
                    require.right = self.replaced_size(&require.right, with);
                }
                each_child_mut(e, &mut |child| self.replace_indices(child, with));
            }
            ExprKind::Scatter(scatter) => {
                for extent in &mut scatter.shape {
                    *extent = self.replaced_size(extent, with);
                }
                each_child_mut(e, &mut |child| self.replace_indices(child, with));
            }
            ExprKind::Call { sizes, .. } => {
                for size in sizes {
                    *size = self.replaced_size(size, with);
                }
                each_child_mut(e, &mut |child| self.replace_indices(child, with));
            }
            _ => each_child_mut(e, &mut |child| self.replace_indices(child, with)),
        }
    }

    pub(super) fn replaced_size(
        &mut self,
        size: &size::Expr,
        with: &FxHashMap<VarId, size::Expr>,
    ) -> size::Expr {
        let atoms = &self.program.atoms;
        size.substitute(&|atom| match atoms[atom].def {
            AtomDef::Var(var) => with.get(&var).cloned(),
            AtomDef::Extent(..) | AtomDef::Length(_) | AtomDef::Unknown => None,
        })
    }
}

/// The integer variables of an index expression.
fn int_vars(e: &Expr, found: &mut Vec<VarId>) {
    if let ExprKind::Var(var) = &*e.kind {
        found.push(*var);
    }
    ein_ir::tensor::walk::each_child(e, &mut |child| int_vars(child, found));
}

/// Comparisons of sizes in terms of the new variables.
fn rename_requires(pass: &mut Pass<'_>, requires: &mut [Require], names: &Renaming) {
    for require in requires {
        require.left = pass.renamed_size(&require.left, names);
        require.right = pass.renamed_size(&require.right, names);
    }
}
