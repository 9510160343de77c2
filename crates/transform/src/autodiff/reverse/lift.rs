//! Values that get definitions of their own, so that they are computed once and then read.

use super::fails::{Runs, has_points, runs};
use super::{Reverse, Step, element, mentions};
use crate::autodiff::let_stmt;
use crate::autodiff::pattern::bound_by;
use crate::autodiff::rename::Renaming;
use ein_ir::size;
use ein_ir::tensor::walk::{any, each_child, each_child_mut};
use ein_ir::tensor::{
    AtomDef, Axis, Binder, Clause, ClauseSlot, Expr, ExprKind, Item, Require, StmtKind, Tensor,
    Type, VarId,
};
use rustc_hash::{FxHashMap, FxHashSet};

impl Reverse<'_, '_> {
    /// The value of an expression for use in the adjoint: reductions in it are read, not repeated.
    pub(super) fn prim(&mut self, e: &Expr) -> Expr {
        self.pass.count_copy(e);
        let mut copy = e.clone();
        if !self.aliases.is_empty() {
            // What it binds itself is not what the same name stood for at another place.
            let mut own = FxHashSet::default();
            bound_inside(&copy, &mut own);
            if own.iter().any(|var| self.aliases.contains_key(var)) {
                let others = self.aliases.iter().filter(|(var, _)| !own.contains(var));
                let others = others.map(|(var, value)| (*var, value.clone())).collect();
                replace_vars(&mut copy, &others);
            } else {
                replace_vars(&mut copy, &self.aliases);
            }
        }
        let e = &copy;
        if !any(e, &mut |part| self.costly(part)) {
            let binds = any(e, &mut |part| {
                matches!(
                    &*part.kind,
                    ExprKind::Tensor(_)
                        | ExprKind::Scatter(_)
                        | ExprKind::Block { .. }
                        | ExprKind::Match { .. }
                        | ExprKind::Comprehension { .. }
                )
            });
            if binds {
                return self.pass.freshened(e, &mut Renaming::default());
            }
            return e.clone();
        }
        let mut copy = e.clone();
        self.lift_inside(&mut copy);
        copy
    }

    /// Whether a number takes more than a few operations: a reduction, or a call that may have one.
    pub(super) fn costly(&self, e: &Expr) -> bool {
        match &*e.kind {
            ExprKind::Reduce(_) => true,
            ExprKind::Call { func, args, .. } => {
                matches!(e.ty, Type::Scalar(_))
                    && (args.iter().any(|arg| arg.ty.is_array())
                        || any(&self.pass.program.funcs[*func].body, &mut |part| {
                            matches!(&*part.kind, ExprKind::Reduce(_) | ExprKind::Tensor(_))
                        }))
            }
            _ => false,
        }
    }

    fn lift_inside(&mut self, e: &mut Expr) {
        if self.costly(e) {
            *e = self.lift_whole(e);
            return;
        }
        match &mut *e.kind {
            // What is bound in there is not bound where a definition would stand.
            ExprKind::Tensor(_)
            | ExprKind::Scatter(_)
            | ExprKind::Block { .. }
            | ExprKind::Match { .. }
            | ExprKind::Comprehension { .. } => {
                let mut names = Renaming::default();
                self.pass.freshen(e, &mut names);
            }
            // Only the taken branch is computed.
            ExprKind::If { cond, then, otherwise } => {
                self.lift_inside(cond);
                self.pass.freshen(then, &mut Renaming::default());
                self.pass.freshen(otherwise, &mut Renaming::default());
            }
            ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                self.lift_inside(a);
                self.pass.freshen(b, &mut Renaming::default());
            }
            _ => each_child_mut(e, &mut |child| self.lift_inside(child)),
        }
    }

    /// A read of a definition of this value over the loops on the way, or a copy if there can be
    /// none.
    pub(super) fn lift_whole(&mut self, e: &Expr) -> Expr {
        if self.path.is_empty() {
            let key = format!("{e:?}");
            if let Some(known) = self.lifted.get(&key) {
                return known.clone();
            }
            let mut names = Renaming::default();
            let value = self.pass.freshened(e, &mut names);
            let read = self.bind("$r", value);
            self.lifted.insert(key, read.clone());
            return read;
        }
        match self.definition("$r", e) {
            Some(read) => read,
            None => {
                let mut names = Renaming::default();
                self.pass.freshened(e, &mut names)
            }
        }
    }

    /// A cotangent that a reduction is about to use at all its points.
    pub(super) fn lift_seed(&mut self, seed: Expr) -> Expr {
        if self.path.is_empty() {
            return self.bind("$s", seed);
        }
        if let Some(read) = self.lift_head(&seed) {
            return read;
        }
        match self.definition("$s", &seed) {
            Some(read) => read,
            None if super::weight(&seed, 16) >= 16 => self.bind("$s", seed),
            None => seed,
        }
    }

    /// A definition over the loops on the way that a number or an array depends on.
    pub(super) fn definition(&mut self, name: &str, e: &Expr) -> Option<Expr> {
        if !matches!(e.ty.elem(), Type::Scalar(_)) || self.is_running(e) {
            return None;
        }
        let mut path: Vec<Step> = self.path.iter().map(|at| self.steps[*at].clone()).collect();
        path.retain(|step| match step {
            Step::Guard(cond) => {
                !matches!(&*cond.kind, ExprKind::Const(ein_scalar::Scalar::Bool(true)))
            }
            Step::Loop(_) | Step::Let(..) => true,
        });
        let mut wanted: FxHashSet<VarId> = FxHashSet::default();
        self.variables(e, &mut wanted);
        // Guards decide what may be computed, and bindings are computed with what they mention.
        for step in &path {
            if let Step::Guard(cond) = step {
                self.variables(cond, &mut wanted);
            }
        }
        let mut keep = kept(self, &path, wanted.clone());
        // Where a loop has no points, what is in it is not computed, and need not succeed.
        let runs = runs(self, &path);
        let open = |at: &usize| {
            matches!(path[*at], Step::Loop(_)) && !keep[*at] && runs[*at] != Runs::Surely
        };
        let open: Vec<usize> = (0..path.len()).filter(open).collect();
        if !open.is_empty() && !needs_no_loop(self, &path, &keep, e) {
            // From the inside out: a condition may need the indices of loops before it.
            for at in open.into_iter().rev() {
                if let Step::Loop(binder) = &path[at]
                    && !keep[at]
                {
                    let cond = has_points(binder, e.span);
                    self.variables(&cond, &mut wanted);
                    path[at] = Step::Guard(cond);
                    keep = kept(self, &path, wanted.clone());
                }
            }
        }
        let blocked = path.iter().zip(&keep).any(|(step, keep)| match step {
            Step::Let(_, e) | Step::Guard(e) => *keep && self.is_running(e),
            Step::Loop(_) => false,
        });
        if blocked {
            return None;
        }
        let kept: Vec<Step> =
            path.into_iter().zip(&keep).filter(|(_, keep)| **keep).map(|(step, _)| step).collect();
        // Every loop needs an extent that is known before all of them.
        let mut loops: Vec<(Binder, size::Expr)> = Vec::new();
        let mut inside: FxHashSet<VarId> = FxHashSet::default();
        for step in &kept {
            match step {
                Step::Loop(binder) => {
                    let extent = self.pass.size_of(&binder.hi)?;
                    if !self.known_outside(&extent, &inside) {
                        return None;
                    }
                    let lo = self.pass.size_of(&binder.lo)?;
                    if lo.as_constant().is_none_or(|lo| lo < 0) {
                        return None;
                    }
                    loops.push((binder.clone(), extent));
                    inside.insert(binder.var);
                }
                Step::Let(var, _) => {
                    inside.insert(*var);
                }
                Step::Guard(_) => {}
            }
        }
        let guarded = kept.iter().any(|step| matches!(step, Step::Guard(_)));
        if e.ty.is_array() && loops.is_empty() && guarded
            || !e.ty.axes().iter().all(|axis| self.known_outside(&axis.size, &inside))
        {
            return None;
        }
        let at: Vec<Expr> =
            loops.iter().map(|(binder, _)| self.pass.var(binder.var, e.span)).collect();
        // Under another guard it is another definition: zero at other points.
        let key = format!("{e:?} over {kept:?}");
        if let Some(known) = self.lifted.get(&key) {
            return Some(element(known.clone(), &at, e.span));
        }
        let known = self.define(name, &kept, &loops, e);
        self.lifted.insert(key, known.clone());
        Some(element(known, &at, e.span))
    }

    /// Whether a value is part of an adjoint that is being made.
    fn is_running(&self, e: &Expr) -> bool {
        self.running.iter().any(|running| mentions(e, running.bar) || mentions(e, running.head))
    }

    /// Whether an extent can be computed where these variables are not bound.
    fn known_outside(&self, extent: &size::Expr, inside: &FxHashSet<VarId>) -> bool {
        extent.atoms().iter().all(|atom| match self.pass.program.atoms[*atom].def {
            AtomDef::Var(var) | AtomDef::Extent(var, _) | AtomDef::Length(var) => {
                !inside.contains(&var)
            }
            AtomDef::Unknown => false,
        })
    }

    /// The statement that defines a value over loops.
    fn define(
        &mut self,
        name: &str,
        steps: &[Step],
        loops: &[(Binder, size::Expr)],
        e: &Expr,
    ) -> Expr {
        let span = e.span;
        let mut names = Renaming::default();
        let mut slots = Vec::new();
        let mut items = Vec::new();
        for step in steps {
            match step {
                Step::Loop(binder) => {
                    let mut binder = binder.clone();
                    self.pass.freshen_binder(&mut binder, &mut names);
                    slots.push(ClauseSlot::Loop(binder));
                }
                Step::Let(var, value) => {
                    let value = self.pass.freshened(value, &mut names);
                    items.push(Item::Let(self.pass.fresh(*var, &mut names), value));
                }
                Step::Guard(cond) => {
                    items.push(Item::Guard(self.pass.freshened(cond, &mut names)));
                }
            }
        }
        let value = self.pass.freshened(e, &mut names);
        if loops.is_empty() {
            let value = super::sums::with_items(items, value, || zero_of(&e.ty, span));
            let var = self.pass.local(name, e.ty.clone(), span);
            self.out.push(let_stmt(var, value));
            return self.pass.var(var, span);
        }
        let outer = loops.iter().map(|(_, extent)| Axis::anonymous(extent.clone()));
        let axes = outer.chain(e.ty.axes().iter().cloned()).collect();
        let ty = Type::array(e.ty.elem().clone(), axes);
        let tensor = Tensor {
            name: None,
            self_var: None,
            shape: loops.iter().map(|(_, extent)| Some(extent.clone())).collect(),
            inner_rank: e.ty.rank(),
            clauses: vec![Clause { slots, items, value, otherwise: None, until: None, span }],
            recurrence: None,
            requires: Vec::new(),
        };
        let var = self.pass.local(name, ty.clone(), span);
        self.out.push(let_stmt(var, Expr::new(ExprKind::Tensor(tensor), ty, span)));
        self.pass.var(var, span)
    }

    /// The variables that a value needs, in sizes as well.
    pub(super) fn variables(&self, e: &Expr, found: &mut FxHashSet<VarId>) {
        let mut size = |size: &size::Expr| self.size_variables(size, found);
        match &*e.kind {
            ExprKind::Var(var) => {
                found.insert(*var);
            }
            ExprKind::Size(own) => size(own),
            ExprKind::Tensor(tensor) => {
                tensor.shape.iter().flatten().for_each(&mut size);
                compared(&tensor.requires).for_each(size);
            }
            ExprKind::Reduce(reduce) => compared(&reduce.requires).for_each(size),
            ExprKind::Scatter(scatter) => scatter.shape.iter().for_each(size),
            ExprKind::Call { sizes, .. } => sizes.iter().for_each(size),
            ExprKind::Assert { extents, .. } => extents.iter().flatten().for_each(size),
            ExprKind::Block { stmts, .. } => {
                for stmt in stmts {
                    if let StmtKind::Require(require) = &stmt.kind {
                        compared(std::slice::from_ref(require)).for_each(&mut size);
                    }
                }
            }
            _ => {}
        }
        each_child(e, &mut |child| self.variables(child, found));
    }

    /// The variables that a size needs.
    pub(super) fn size_variables(&self, size: &size::Expr, found: &mut FxHashSet<VarId>) {
        for atom in size.atoms() {
            match self.pass.program.atoms[atom].def {
                AtomDef::Var(var) | AtomDef::Extent(var, _) | AtomDef::Length(var) => {
                    found.insert(var);
                }
                AtomDef::Unknown => {}
            }
        }
    }

    /// Whether something that moves is reduced in here.
    pub(super) fn has_reduction(&self, e: &Expr) -> bool {
        let mut looked = 0;
        let found = any(e, &mut |part| {
            looked += 1;
            self.costly(part) && self.depends(part)
        });
        crate::autodiff::share::count_looks(self.pass, looked);
        found
    }
}

/// Zero, as an element.
pub(super) fn zero_of(ty: &Type, span: ein_base::Span) -> Expr {
    match ty {
        Type::Scalar(scalar) => {
            Expr::new(ExprKind::Const(ein_scalar::Scalar::zero(*scalar)), ty.clone(), span)
        }
        _ => Expr::error(span),
    }
}

/// The names that an expression binds to values: in blocks, patterns and `where`.
fn bound_inside(e: &Expr, found: &mut FxHashSet<VarId>) {
    let mut names = Vec::new();
    let mut items: &[Item] = &[];
    match &*e.kind {
        ExprKind::Block { stmts, .. } => {
            for stmt in stmts {
                match &stmt.kind {
                    StmtKind::Let(var, _) => names.push(*var),
                    StmtKind::Destructure(pattern, _) => bound_by(pattern, &mut names),
                    StmtKind::Expr(_) | StmtKind::Require(_) => {}
                }
            }
        }
        ExprKind::Match { arms, .. } => {
            arms.iter().for_each(|arm| bound_by(&arm.pattern, &mut names));
        }
        ExprKind::Tensor(tensor) => {
            for clause in &tensor.clauses {
                names.extend(clause.items.iter().filter_map(bound_by_item));
            }
        }
        ExprKind::Reduce(reduce) => items = &reduce.items,
        ExprKind::Scatter(scatter) => items = &scatter.items,
        _ => {}
    }
    found.extend(names);
    found.extend(items.iter().filter_map(bound_by_item));
    each_child(e, &mut |child| bound_inside(child, found));
}

fn bound_by_item(item: &Item) -> Option<VarId> {
    match item {
        Item::Let(var, _) => Some(*var),
        Item::Guard(_) => None,
    }
}

/// Puts values in the place of variables.
pub(in crate::autodiff) fn replace_vars(e: &mut Expr, with: &FxHashMap<VarId, Expr>) {
    if let ExprKind::Var(var) = &*e.kind {
        if let Some(value) = with.get(var) {
            let ty = std::mem::replace(&mut e.ty, Type::Error);
            *e = Expr { ty, ..value.clone() };
        }
        return;
    }
    each_child_mut(e, &mut |child| replace_vars(child, with));
}

/// The sizes that are compared.
fn compared(requires: &[Require]) -> impl Iterator<Item = &size::Expr> {
    requires.iter().flat_map(|it| [&it.left, &it.right])
}

/// The steps of a way that a value over these variables needs, and the conditions.
fn kept(it: &Reverse<'_, '_>, path: &[Step], mut wanted: FxHashSet<VarId>) -> Vec<bool> {
    let mut keep = vec![false; path.len()];
    for (at, step) in path.iter().enumerate().rev() {
        match step {
            Step::Guard(_) => keep[at] = true,
            Step::Let(var, value) => {
                if wanted.contains(var) {
                    keep[at] = true;
                    it.variables(value, &mut wanted);
                }
            }
            Step::Loop(binder) => {
                if wanted.contains(&binder.var) {
                    keep[at] = true;
                    it.variables(&binder.lo, &mut wanted);
                    it.variables(&binder.hi, &mut wanted);
                }
            }
        }
    }
    keep
}

/// Whether a value, and what is bound on the way to it, cannot fail in the loops that are kept.
pub(super) fn needs_no_loop(
    it: &mut Reverse<'_, '_>,
    path: &[Step],
    keep: &[bool],
    e: &Expr,
) -> bool {
    let mut facts = size::Facts::new();
    for (step, _) in path.iter().zip(keep).filter(|(_, keep)| **keep) {
        match step {
            Step::Loop(binder) => {
                let ends = [&binder.lo, &binder.hi];
                if !ends.into_iter().all(|end| it.never_fails(end, &facts)) {
                    return false;
                }
                it.loop_facts(binder, &mut facts);
            }
            Step::Let(_, value) | Step::Guard(value) => {
                if !it.never_fails(value, &facts) {
                    return false;
                }
            }
        }
    }
    it.never_fails(e, &facts)
}
