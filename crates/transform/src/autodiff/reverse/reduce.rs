//! Reductions: a sum passes to all, a mean its share, a product by the products of the others, an
//! extremum to the first element that attains it.

use super::{Done, Reverse, Seed, Step, unsupported};
use crate::autodiff::rename::Renaming;
use ein_ir::size::{self, Facts, prove_le};
use ein_ir::tensor::{AtomDef, Binder, Expr, ExprKind, Item, Reduce, ReduceOp, Type};
use ein_scalar::{BinaryOp, Scalar};

/// Extrema over several indices with at most so many points know the number of their first one. The
/// quotients of that number cost more than the extremum of the rows of a larger one.
const LARGEST_WINDOW: i64 = 64;

impl Reverse<'_, '_> {
    pub(super) fn pull_reduce(&mut self, reduce: &Reduce, e: &Expr, seed: Expr) -> Done {
        let span = e.span;
        let flowing = Seed::Value(seed);
        if self.pull_outside(e, &flowing, None)? {
            return Ok(());
        }
        let Seed::Value(seed) = flowing else { return unsupported("a reduction of parts") };
        let seed = if super::pull::plain(&seed) { seed } else { self.lift_seed(seed) };
        match reduce.op {
            ReduceOp::Sum => self.pull_sum(reduce, seed),
            ReduceOp::Mean => {
                let count = self.count(reduce, e);
                let seed = self.quotient(seed, count);
                let seed = if super::pull::plain(&seed) { seed } else { self.lift_seed(seed) };
                self.pull_sum(reduce, seed)
            }
            ReduceOp::Prod => {
                let mut names = Renaming::default();
                let mut copy = reduce.clone();
                self.pass.freshen_reduce(&mut copy, &mut names);
                let others = match self.running_products(&copy) {
                    Some(others) => others,
                    None => self.others(&copy, e),
                };
                self.push_reduce(&copy, seed, |it, seed| it.product(seed, others))
            }
            ReduceOp::Max | ReduceOp::Min if reduce.binders.len() == 1 => {
                let place = self.first_place(reduce, span);
                self.push_first(reduce, seed, place, &[])
            }
            ReduceOp::Max | ReduceOp::Min if let Some((flat, extents)) = self.window(reduce) => {
                let place = self.first_place(&flat, span);
                self.push_first(reduce, seed, place, &extents)
            }
            ReduceOp::Max | ReduceOp::Min => {
                // The extremum of the extrema finds the same first element.
                let Some((first, rest)) = reduce.binders.split_first() else {
                    return unsupported("an extremum of nothing");
                };
                let inner = Reduce {
                    op: reduce.op,
                    binders: rest.to_vec(),
                    items: reduce.items.clone(),
                    value: reduce.value.clone(),
                    requires: Vec::new(),
                };
                let value = Expr::new(ExprKind::Reduce(inner), e.ty.clone(), span);
                let outer = Reduce {
                    op: reduce.op,
                    binders: vec![first.clone()],
                    items: Vec::new(),
                    value,
                    requires: Vec::new(),
                };
                self.pull_reduce(&outer, e, seed)
            }
            ReduceOp::Any
            | ReduceOp::All
            | ReduceOp::Argmax
            | ReduceOp::Argmin
            | ReduceOp::Count => Ok(()),
        }
    }

    /// Into the point of an extremum that is at the place: the value of the one index, or the number
    /// of the point in a window of these extents.
    fn push_first(
        &mut self,
        reduce: &Reduce,
        seed: Expr,
        place: Expr,
        extents: &[size::Expr],
    ) -> Done {
        let span = place.span;
        let mut names = Renaming::default();
        let mut copy = reduce.clone();
        self.pass.freshen_reduce(&mut copy, &mut names);
        let mut here: Option<Expr> = None;
        for (number, binder) in copy.binders.iter().enumerate() {
            let mut at = self.pass.var(binder.var, span);
            if let Some(extent) = extents.get(number) {
                if !self.is_zero(&binder.lo) {
                    at = self.pass.arith(BinaryOp::Sub, at, binder.lo.clone());
                }
                if let Some(before) = here {
                    let rows = Expr::size(extent.clone(), span);
                    let rows = self.pass.arith(BinaryOp::Mul, before, rows);
                    at = self.pass.arith(BinaryOp::Add, rows, at);
                }
            }
            here = Some(at);
        }
        if let Some(here) = here {
            let test = ExprKind::Binary(BinaryOp::Eq, here, place);
            copy.items.insert(0, Item::Guard(Expr::new(test, Type::BOOL, span)));
        }
        self.push_reduce(&copy, seed, |_, seed| seed)
    }

    fn is_zero(&mut self, e: &Expr) -> bool {
        self.pass.size_of(e).and_then(|size| size.as_constant()) == Some(0)
    }

    /// A small window over several indices as one over the numbers of its points, and its extents.
    fn window(&mut self, reduce: &Reduce) -> Option<(Reduce, Vec<size::Expr>)> {
        let span = reduce.value.span;
        let mut extents = Vec::new();
        for binder in &reduce.binders {
            let lo = self.pass.size_of(&binder.lo)?;
            extents.push(self.pass.size_of(&binder.hi)?.sub(&lo));
        }
        let product = |of: &[size::Expr]| of.iter().fold(size::Expr::one(), |all, it| all.mul(it));
        let points = product(&extents);
        let small = match points.as_constant() {
            Some(points) => (1..=LARGEST_WINDOW).contains(&points),
            None => extents.iter().all(|extent| is_given(self, reduce, extent)),
        };
        if !small {
            return None;
        }
        let mut flat = Reduce { requires: Vec::new(), ..reduce.clone() };
        self.pass.freshen_reduce(&mut flat, &mut Renaming::default());
        let var = self.pass.local("$w", Type::I32, span);
        let number = Binder { var, lo: Expr::int(0, span), hi: Expr::size(points, span) };
        let mut items = Vec::new();
        for (axis, binder) in flat.binders.iter().enumerate() {
            let below = product(&extents[axis + 1..]);
            let mut at = self.pass.var(var, span);
            if axis > 0 {
                let row = Expr::size(below.mul(&extents[axis]), span);
                at = self.pass.arith(BinaryOp::Rem, at, row);
            }
            if below.as_constant() != Some(1) {
                at = self.pass.arith(BinaryOp::Div, at, Expr::size(below, span));
            }
            if !self.is_zero(&binder.lo) {
                at = self.pass.arith(BinaryOp::Add, at, binder.lo.clone());
            }
            items.push(Item::Let(binder.var, at));
        }
        items.append(&mut flat.items);
        Some((Reduce { binders: vec![number], items, ..flat }, extents))
    }

    fn pull_sum(&mut self, reduce: &Reduce, seed: Expr) -> Done {
        let mut names = Renaming::default();
        let mut copy = reduce.clone();
        self.pass.freshen_reduce(&mut copy, &mut names);
        self.push_reduce(&copy, seed, |_, seed| seed)
    }

    /// Into the points of a reduction.
    fn push_reduce(
        &mut self,
        reduce: &Reduce,
        seed: Expr,
        share: impl FnOnce(&mut Self, Expr) -> Expr,
    ) -> Done {
        let mark = self.path.len();
        for binder in &reduce.binders {
            self.push(Step::Loop(binder.clone()));
        }
        let mut bound = Vec::new();
        self.items(&reduce.items, &mut bound);
        let seed = share(self, seed);
        self.pull(&reduce.value, seed, None)?;
        self.settle_all(&bound)?;
        self.path.truncate(mark);
        Ok(())
    }

    /// How many points a mean divides by.
    fn count(&mut self, reduce: &Reduce, e: &Expr) -> Expr {
        let span = e.span;
        let guarded = reduce.items.iter().any(|item| matches!(item, Item::Guard(_)));
        if !guarded {
            let mut product = Some(size::Expr::one());
            for binder in &reduce.binders {
                let extent = match (self.pass.size_of(&binder.lo), self.pass.size_of(&binder.hi)) {
                    (Some(lo), Some(hi)) => {
                        let atoms: Vec<_> =
                            reduce.binders.iter().map(|it| self.pass.atom_of(it.var)).collect();
                        let extent = hi.sub(&lo);
                        (!atoms.iter().any(|atom| extent.mentions(*atom))).then_some(extent)
                    }
                    _ => None,
                };
                product = product.zip(extent).map(|(a, b)| a.mul(&b));
            }
            if let Some(product) = product {
                if let Some(count) = product.as_constant() {
                    return self.pass.number(&e.ty, count as f64, span);
                }
                let count = Expr::size(product, span);
                return Expr::new(ExprKind::Cast(count), e.ty.clone(), span);
            }
        }
        let truth = Expr::new(ExprKind::Const(Scalar::Bool(true)), Type::BOOL, span);
        let count = Reduce { op: ReduceOp::Count, value: truth, ..reduce.clone() };
        let count = Expr::new(ExprKind::Reduce(count), Type::I32, span);
        let count = self.prim(&count);
        Expr::new(ExprKind::Cast(count), e.ty.clone(), span)
    }

    /// The product of all other factors, at the point of `reduce`, which is about to be entered.
    fn others(&mut self, reduce: &Reduce, e: &Expr) -> Expr {
        let copy = Reduce { requires: Vec::new(), ..reduce.clone() };
        let others = self.pass.without_this_point(copy, &reduce.binders, e.span);
        Expr::new(ExprKind::Reduce(others), e.ty.clone(), e.span)
    }

    /// Where the extremum is attained first; -1 if there is no point.
    fn first_place(&mut self, reduce: &Reduce, span: ein_base::Span) -> Expr {
        let op = if reduce.op == ReduceOp::Max { ReduceOp::Argmax } else { ReduceOp::Argmin };
        let mut at = Reduce { op, ..reduce.clone() };
        at.requires = Vec::new();
        let place = Expr::new(ExprKind::Reduce(at), Type::I32, span);
        let guarded = reduce.items.iter().any(|item| matches!(item, Item::Guard(_)));
        let nonempty = !guarded
            && reduce.binders.iter().all(|binder| {
                match (self.pass.size_of(&binder.lo), self.pass.size_of(&binder.hi)) {
                    (Some(lo), Some(hi)) => prove_le(&Facts::new(), &lo.offset(1), &hi).is_proved(),
                    _ => false,
                }
            });
        if nonempty {
            return self.prim(&place);
        }
        let truth = Expr::new(ExprKind::Const(Scalar::Bool(true)), Type::BOOL, span);
        let any =
            Reduce { op: ReduceOp::Any, value: truth, requires: Vec::new(), ..reduce.clone() };
        let cond = Expr::new(ExprKind::Reduce(any), Type::BOOL, span);
        let none = Expr::int(-1, span);
        let kind = ExprKind::If { cond, then: place, otherwise: none };
        let place = Expr::new(kind, Type::I32, span);
        self.lift_whole(&place)
    }
}

/// Whether an extent is a number that the program computes, as those of windows are: arrays are what
/// is long.
fn is_given(reverse: &Reverse<'_, '_>, reduce: &Reduce, extent: &size::Expr) -> bool {
    let is_index = |var| {
        reduce.binders.iter().any(|binder| binder.var == var)
            || reverse
                .path
                .iter()
                .any(|at| matches!(&reverse.steps[*at], Step::Loop(binder) if binder.var == var))
    };
    extent.atoms().into_iter().all(|atom| match reverse.pass.program.atoms[atom].def {
        AtomDef::Var(var) => !is_index(var),
        AtomDef::Extent(..) | AtomDef::Length(_) | AtomDef::Unknown => false,
    })
}
