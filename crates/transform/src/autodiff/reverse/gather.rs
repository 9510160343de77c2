//! The adjoint of a variable: the sum of everything that flows to each of its cells.

use super::solve::Place;
use super::{Done, Reverse, Step, Term, element, unsupported};
use ein_ir::size;
use ein_ir::tensor::{
    AtomDef, Binder, Clause, ClauseSlot, Expr, ExprKind, IndexArg, Item, Scatter, Tensor, Type,
    VarId,
};
use rustc_hash::FxHashSet;

/// Beyond this many nodes what flows back to a binding on the way to a point gets a name. The pullback names
/// what it uses twice itself, but each use has a copy of that name.
const REPEATED: usize = 64;

impl Reverse<'_, '_> {
    /// The type of a component of a variable.
    fn part_type(&self, var: VarId, part: &[usize]) -> Option<Type> {
        let mut ty = self.pass.program.vars[var].ty.clone();
        for at in part {
            ty = self.pass.records.parts(self.pass.program, &ty)?.get(*at)?.clone();
        }
        Some(ty)
    }

    /// What has flown to a component of a variable, named at this place; `None` for nothing.
    pub(super) fn adjoint_of(&mut self, var: VarId, part: &[usize]) -> Done<Option<Expr>> {
        let terms: Vec<Term> = match self.active.get(&var) {
            Some(terms) => terms.iter().filter(|term| term.part == part).cloned().collect(),
            None => Vec::new(),
        };
        let Some(first) = terms.first() else { return Ok(None) };
        let span = first.value.span;
        let Some(ty) = self.part_type(var, part) else {
            return unsupported("a component of a struct");
        };
        if !ty.is_array() {
            let mut total = None;
            for term in &terms {
                let steps = self.relative(term);
                let facts = self.path_facts();
                let value = self.sum_over(steps, term.value.clone(), &facts);
                total = Some(self.plus(total, value));
            }
            let Some(total) = total else { return Ok(None) };
            // On the way to a point the pullback itself decides what gets a name, but for what is long: each
            // binding before it may use it several times.
            let short = match self.path.is_empty() {
                true => super::pull::plain(&total) && super::weight(&total, 4) < 4,
                false => super::weight(&total, REPEATED) < REPEATED,
            };
            if short {
                return Ok(Some(total));
            }
            return Ok(Some(self.bind(&self.bar_name(var), total)));
        }
        let extents = self.extents(var, part, &ty);
        let mut axes = ty.axes().to_vec();
        for (axis, extent) in axes.iter_mut().zip(&extents) {
            axis.size = extent.clone();
        }
        let ty = Type::array(ty.elem().clone(), axes);
        let mut slots = Vec::new();
        let mut at = Vec::new();
        for extent in &extents {
            let loop_var = self.pass.local("$i", Type::I32, span);
            let hi = Expr::size(extent.clone(), span);
            slots.push(Binder { var: loop_var, lo: Expr::int(0, span), hi });
            at.push(self.pass.var(loop_var, span));
        }
        let places: Vec<Place> = slots.iter().cloned().map(Place::Loop).collect();
        let mut total: Option<Expr> = None;
        let mut scattered: Vec<Expr> = Vec::new();
        for term in &terms {
            match self.at_cell(term, &places, false) {
                Some(value) => total = Some(self.plus(total, value)),
                None => match self.scatter(term, &extents, &ty) {
                    Some(scatter) => {
                        let scatter = self.bind("$scatter", scatter);
                        scattered.push(scatter);
                    }
                    None => match self.at_cell(term, &places, true) {
                        Some(value) => total = Some(self.plus(total, value)),
                        None => return unsupported("a read at this position"),
                    },
                },
            }
        }
        if total.is_none() && scattered.len() == 1 {
            return Ok(scattered.pop());
        }
        for scatter in scattered {
            total = Some(self.plus(total, element(scatter, &at, span)));
        }
        let Some(value) = total else { return Ok(None) };
        let tensor = Tensor {
            name: None,
            self_var: None,
            shape: extents.into_iter().map(Some).collect(),
            inner_rank: 0,
            clauses: vec![Clause {
                slots: slots.into_iter().map(ClauseSlot::Loop).collect(),
                items: Vec::new(),
                value,
                otherwise: None,
                until: None,
                span,
            }],
            recurrence: None,
            requires: Vec::new(),
        };
        let name = self.bar_name(var);
        Ok(Some(self.bind(&name, Expr::new(ExprKind::Tensor(tensor), ty, span))))
    }

    pub(super) fn bar_name(&self, var: VarId) -> String {
        let name = self.pass.program.vars[var].name;
        format!("{}'", name.as_str().trim_start_matches('$'))
    }

    /// The extents of a component of a variable, in terms that can be computed here.
    pub(super) fn extents(&mut self, var: VarId, part: &[usize], ty: &Type) -> Vec<size::Expr> {
        let mut extents = Vec::new();
        let mut holder = None;
        for (at, axis) in ty.axes().iter().enumerate() {
            if !self.is_open(&axis.size) {
                extents.push(axis.size.clone());
                continue;
            }
            let of = match holder {
                Some(of) => of,
                None => self.holder(var, part),
            };
            holder = Some(of);
            let info = ein_ir::tensor::AtomInfo {
                name: self.pass.program.vars[var].name,
                def: AtomDef::Extent(of, at),
                external: false,
            };
            extents.push(size::Expr::atom(self.pass.program.atoms.push(info)));
        }
        extents
    }

    /// A variable that holds a component of another one, whose extents are those of the component.
    fn holder(&mut self, var: VarId, part: &[usize]) -> VarId {
        if part.is_empty() {
            return var;
        }
        let span = self.pass.program.vars[var].span;
        let mut value = match self.aliases.get(&var) {
            Some(own) => own.clone(),
            None => self.pass.var(var, span),
        };
        for at in part {
            let parts = self.pass.records.parts(self.pass.program, &value.ty);
            let Some(ty) = parts.and_then(|parts| parts.get(*at).cloned()) else { return var };
            value = crate::records::part(value, *at, ty);
        }
        let held = self.bind("$part", value);
        match *held.kind {
            ExprKind::Var(held) => held,
            _ => var,
        }
    }

    /// The steps of a term beyond those on the way to here.
    pub(super) fn relative(&self, term: &Term) -> Vec<Step> {
        let common =
            self.path.iter().zip(&term.path).take_while(|(here, there)| here == there).count();
        term.path[common..].iter().map(|at| self.steps[*at].clone()).collect()
    }

    /// What a term adds to cells that only the run knows.
    fn scatter(&mut self, term: &Term, extents: &[size::Expr], ty: &Type) -> Option<Expr> {
        let steps = self.relative(term);
        let cells: Vec<&Expr> = term.cell.iter().map(|index| &index.value).collect();
        let steps = self.needed(steps, &term.value, &cells);
        let mut binders = Vec::new();
        let mut items: Vec<Item> = Vec::new();
        let mut bound: FxHashSet<VarId> = FxHashSet::default();
        for step in steps {
            match step {
                Step::Loop(mut binder) => {
                    // A domain that is no size may fail, so it is asked for where conditions before
                    // it hold; elsewhere it has no points.
                    let safe = self.pass.size_of(&binder.lo).is_some()
                        && self.pass.size_of(&binder.hi).is_some();
                    let guards = items.iter().filter_map(|item| match item {
                        Item::Guard(cond) => Some(cond.clone()),
                        Item::Let(..) => None,
                    });
                    let guard = guards.reduce(|a, b| {
                        let span = a.span;
                        Expr::new(ExprKind::And(a, b), Type::BOOL, span)
                    });
                    if let Some(cond) = guard.filter(|_| !safe) {
                        for end in [&mut binder.lo, &mut binder.hi] {
                            let (span, ty) = (end.span, end.ty.clone());
                            let then = std::mem::replace(end, Expr::error(span));
                            let otherwise = super::lift::zero_of(&ty, span);
                            let kind = ExprKind::If { cond: cond.clone(), then, otherwise };
                            *end = Expr::new(kind, ty, span);
                        }
                    }
                    let mut used = FxHashSet::default();
                    self.variables(&binder.lo, &mut used);
                    self.variables(&binder.hi, &mut used);
                    if !used.is_disjoint(&bound) {
                        return None;
                    }
                    binders.push(binder);
                }
                Step::Let(var, value) => {
                    bound.insert(var);
                    items.push(Item::Let(var, value));
                }
                Step::Guard(cond) => items.push(Item::Guard(cond)),
            }
        }
        let scatter = Scatter {
            shape: extents.to_vec(),
            binders,
            items,
            indices: term
                .cell
                .iter()
                .map(|index| IndexArg { value: index.value.clone(), bounds: index.bounds })
                .collect(),
            value: term.value.clone(),
        };
        Some(Expr::new(ExprKind::Scatter(Box::new(scatter)), ty.clone(), term.value.span))
    }
}
