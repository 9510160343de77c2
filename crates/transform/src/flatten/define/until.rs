//! Recurrences that end when a condition holds.
//!
//! Before:  `x[n in 1..1000] = step(x[n - 1]) until done(x[n])`, and `x[extent(n) - 1]`
//! After:   clauses over all 1000 steps with the condition beside them, the number of the last step as
//!          an array of its own, and `x[last]`
//!
//! What reads the steps has an extent that only the run knows: loops over it end there, and positions
//! are compared with it. Inside a loop the steps end for each of its points by themselves.

use super::super::array::Array;
use super::super::extent::Extent;
use super::super::{Flat, Flatten, Output, Val, declined};
use crate::points::{Arr, ArrInfo, Body, Clause, End, Ix, Node, Step, Until};
use ein_base::{Span, Symbol};
use ein_ir::tensor::{Clause as IrClause, ClauseSlot, Expr, VarId};
use ein_scalar::{BinaryOp, ScalarType};

/// The most cells that are kept of steps which end by themselves.
const CELLS: i64 = 1 << 24;

impl<'p> Flatten<'p> {
    /// When the steps of a clause end; their clauses are filled in later.
    pub(super) fn ends(
        &mut self,
        clause: &'p IrClause,
        (arr, around): (Arr, &[Ix]),
        steps: &[Step],
        e: &'p Expr,
    ) -> Flat<Until> {
        let (Some(until), Some(step)) = (&clause.until, steps.first()) else {
            return Err(declined("steps that end in an unknown order", e.span));
        };
        let Some(ClauseSlot::Loop(binder)) = clause.slots.get(step.axis) else {
            return Err(declined("a condition without steps", e.span));
        };
        let scope = self.enter();
        let Some((ix, lo, hi)) = self.open(binder)? else {
            return Err(declined("steps of which there is none", e.span));
        };
        let (Some(lo), Some(hi)) = (self.points.as_int(lo), self.points.as_int(hi)) else {
            return Err(declined("a recurrence with dependent steps", e.span));
        };
        let cond = self.scalar(&until.cond)?;
        let cond = self.discharge(scope.obliged, cond, &[]);
        self.leave(&scope);
        let alone = Clause { slots: Vec::new(), guard: None, value: cond, otherwise: None };
        self.stands_alone_but_for(&alone, arr, around, e)?;
        let shape: Vec<i64> =
            around.iter().map(|ix| self.points.ixs[*ix].range.1 as i64 + 1).collect();
        let source = self.points.arrs[arr].source.clone();
        let name = Some(Symbol::intern("last"));
        let last = self.points.arrs.push(ArrInfo { name, ty: ScalarType::I32, shape, source });
        self.counts.insert(last);
        let fails = until.otherwise.is_some();
        let end = End::Asked { ix, asked: (lo, hi), cond, fails };
        let (clauses, steps) = (Vec::new(), Vec::new());
        Ok(Until { clauses, steps, around: around.to_vec(), last, end })
    }

    /// As many steps as others that have ended; their clauses are filled in later.
    pub(super) fn as_many(&mut self, count: Node, around: &[Ix], e: &Expr) -> Flat<Until> {
        let others = self.points.loads(&[count]);
        let [(last, _)] = others.as_slice() else {
            return Err(declined("a recurrence with dependent steps", e.span));
        };
        if self.points.nodes[count].free.iter().any(|ix| !around.contains(ix)) {
            return Err(declined("a recurrence inside a loop", e.span));
        }
        let (clauses, steps, end) = (Vec::new(), Vec::new(), End::Made(count));
        Ok(Until { clauses, steps, around: around.to_vec(), last: *last, end })
    }

    /// The condition reads the steps themselves, and nothing else that is being computed.
    fn stands_alone_but_for(
        &mut self,
        cond: &Clause,
        arr: Arr,
        around: &[Ix],
        e: &Expr,
    ) -> Flat<()> {
        self.pending.remove(&arr);
        match self.stands_alone(std::slice::from_ref(cond), around, e)? {
            true => Ok(()),
            false => {
                let why = "steps that a condition ends, inside a step of a recurrence";
                Err(declined(why, e.span))
            }
        }
    }

    /// How many steps were made.
    pub(super) fn counted(&mut self, body: &Until, arr: Arr) -> Extent {
        let around: Vec<Node> = body.around.iter().map(|ix| self.points.index(*ix)).collect();
        let last = self.points.load(body.last, &around);
        let most = self.points.arrs[arr].shape[body.axis()];
        let last = self.points.position(last, most, false, None);
        let one = self.points.int(1);
        let count = self.points.binary(BinaryOp::Add, last, one, None);
        Extent { first: most, fall: 0, counted: Some(count) }
    }

    /// A position along steps that ended by themselves.
    pub(super) fn counted_position(&mut self, place: Node, extent: Extent, checked: bool) -> Node {
        let most = extent.first;
        let count = self.extent_node(extent);
        let behind = self.points.linear(place).minus(&self.points.linear(count));
        // A number of steps before the last one, or an index that ends where they do.
        let before = self.points.reach(&behind).is_some_and(|(_, most)| most < 0);
        if !checked || before {
            return self.points.given_position(place, most, checked, self.when);
        }
        let outside = self.points.int(-1);
        let outside = self.points.cast(outside, self.points.nodes[place].ty);
        let below = {
            let (place, count) = (
                self.points.cast(place, ScalarType::I64),
                self.points.cast(count, ScalarType::I64),
            );
            self.points.binary(BinaryOp::Lt, place, count, None)
        };
        let place = self.points.select(below, place, outside);
        self.points.given_position(place, most, true, self.when)
    }

    /// Refuses steps of which more may be made, and have to be kept, than there is room for: the host
    /// keeps those that are made.
    pub(in super::super) fn fits(&self, outputs: &[(VarId, Output)]) -> Flat<()> {
        for def in &self.points.defs {
            let Body::Until(body) = &def.body else { continue };
            let shape = &self.points.arrs[def.arr].shape;
            let whole = |(_, output): &(VarId, Output)| output.arrays().contains(&def.arr);
            let kept = match self.points.window(def) {
                Ok((_, kept)) if !outputs.iter().any(whole) => kept.steps(),
                Ok(_) | Err(_) => shape[body.axis()],
            };
            let beside = shape.iter().enumerate().filter(|(axis, _)| *axis != body.axis());
            let cells = beside.fold(kept, |cells, (_, extent)| cells.saturating_mul(*extent));
            if cells > CELLS {
                let why = "more steps that may have to be kept than there is room for";
                return Err(declined(why, def.span));
            }
        }
        Ok(())
    }

    /// An array of which only the run knows how much of it there is.
    pub(in super::super) fn part(
        &mut self,
        array: &Array,
        name: Symbol,
        span: Span,
    ) -> Flat<Output> {
        let mut ends = Vec::new();
        for (axis, extent) in array.shape.iter().enumerate() {
            if let Some(count) = extent.counted {
                ends.push((axis, self.store_scalar(count, None, span)));
            }
        }
        let whole = Array {
            shape: array.shape.iter().map(|it| Extent::fixed(it.first)).collect(),
            ..array.clone()
        };
        let output = self.output(&Val::Array(whole.into()), name, span)?;
        match output {
            Output::Array(arr) => Ok(Output::Part(arr, ends)),
            Output::Part(..)
            | Output::Scalar(_)
            | Output::Constant(_)
            | Output::Same(_)
            | Output::Record(..) => Err(declined("steps that end when a condition holds", span)),
        }
    }
}
