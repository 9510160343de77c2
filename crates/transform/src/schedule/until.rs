//! Steps that end when a condition holds.
//!
//! ```text
//! for r in 0..rows {                  // what the steps end for by itself
//!     var done = false; var last = limit - 1
//!     until(done) for n in 0..limit { the cells of step n; done = cond; last = done ? n : last }
//!     store last[r]
//! }
//! ```
//!
//! Steps of which there are as many as of others have that number as their end.

use super::def_cost;
use super::emit::Emit;
use super::home;
use super::plan::{How, Turns, What, Why};
use super::view::View;
use crate::points::{Clause, Def, End, Ix, Node, Until};
use ein_ir::loops::{BufferKind, Op, Operand, Reg, Stmt};
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};

/// What ends the steps that are being written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ends {
    /// A condition.
    Asked(Asked),
    /// There are so many of them.
    Made(Operand),
}

/// The condition that ends steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    ix: Ix,
    pub(crate) asked: (i64, i64),
    cond: Node,
    /// Whether they have ended.
    pub(crate) done: Reg,
    /// The last step that was made.
    last: Reg,
}

/// How a loop around recurrences runs that do so much together.
pub(crate) fn around_how(view: &View<'_>, axis: usize, work: f64) -> (How, Why) {
    let least = view.points.cost.thread_work();
    match axis == 0 && !view.in_parallel {
        true if work > least => (How::Parallel { grain: 1 }, Why::Work { work, turns: 1.0, least }),
        true => (How::Serial, Why::LittleWork { work, least }),
        false => (How::Serial, Why::Only),
    }
}

fn int(value: i64) -> Operand {
    Operand::Const(Scalar::I64(value))
}

impl Emit {
    /// Fills a recurrence until its steps end.
    pub(crate) fn until(&mut self, def: &Def, body: &Until) {
        let shape = self.points.arrs[def.arr].shape.clone();
        let work = def_cost(&self.points, def);
        if !self.places.contains_key(&body.last) {
            let why = Why::Since("the number of steps that were made");
            home::give(self, body.last, BufferKind::Scratch, why);
        }
        // What all of them read is made once, before the first begins.
        let turned =
            |emit: &mut Self, clause| emit.with_turned_arrays(def.arr, clause, &body.steps);
        let clauses: Vec<Clause> = body.clauses.iter().map(|it| turned(self, it)).collect();
        let (made, outside) = (self.kernel.bufs.len(), self.in_parallel);
        let mut shared = Vec::new();
        for (axis, ix) in body.around.iter().enumerate() {
            let (how, why) = around_how(&self.view(), axis, work);
            // Not all positions of the axis: what is read was proved for those of the loop.
            let (lo, hi) = self.points.ixs[*ix].range;
            let turns = Turns::Exactly((hi - lo + 1) as i64);
            let index = self.points.ixs[*ix].name;
            self.plan.note(What::Loop { index, turns, how }, why);
            let var = self.open(*ix, int(lo as i64), int(hi as i64 + 1), how.kind());
            clauses.iter().for_each(|clause| self.alias(clause.slots[axis].ix, var));
            shared.push((axis, None));
        }
        let ends = match body.end {
            End::Made(count) => Ends::Made(self.bound_value(count)),
            End::Asked { ix, asked, cond, .. } => {
                let (done, last) = (self.reg(ScalarType::Bool), self.reg(ScalarType::I64));
                self.push(Stmt::Var(done, Operand::Const(Scalar::Bool(false))));
                self.push(Stmt::Var(last, int(shape[body.axis()] - 1)));
                Ends::Asked(Asked { ix, asked, cond, done, last })
            }
        };
        let outer = self.ends.replace(ends);
        self.recurrence(def.arr, &clauses, &body.steps, &shared);
        self.ends = outer;
        if let (Ends::Asked(asked), End::Asked { fails, .. }) = (ends, &body.end) {
            let at: Vec<Node> = body.around.iter().map(|ix| self.points.index(*ix)).collect();
            let made = self.let_here(ScalarType::I32, Op::Cast(Operand::Reg(asked.last)));
            self.store(body.last, &at, made);
            if *fails {
                let op = Op::Unary(UnaryOp::Not, Operand::Reg(asked.done));
                let never = self.let_here(ScalarType::Bool, op);
                self.push(Stmt::Trap(never));
            }
        }
        // Room that the steps made for themselves is one for all of them: then they take turns.
        let shares = self.kernel.bufs.iter().skip(made).any(|it| it.kind == BufferKind::Scratch);
        for _ in &body.around {
            match shares {
                true => self.close_in_turns(),
                false => self.close(),
            }
        }
        self.in_parallel = outside;
    }

    /// The condition that is asked after each of these steps.
    pub(crate) fn asked_after(&self, (lo, hi): (i64, i64)) -> Option<Asked> {
        match self.ends {
            Some(Ends::Asked(it)) if it.asked.0 <= lo && hi <= it.asked.1 => Some(it),
            Some(Ends::Asked(_) | Ends::Made(_)) | None => None,
        }
    }

    /// Where steps end, of which there may be fewer.
    pub(crate) fn end_of_steps(&mut self, (lo, hi): (i64, i64)) -> Operand {
        match self.ends {
            Some(Ends::Made(count)) => {
                self.let_here(ScalarType::I64, Op::Binary(BinaryOp::Min, count, int(hi)))
            }
            Some(Ends::Asked(it)) if lo > it.asked.0 => {
                let op = Op::Select(Operand::Reg(it.done), int(lo), int(hi));
                self.let_here(ScalarType::I64, op)
            }
            Some(Ends::Asked(_)) | None => int(hi),
        }
    }

    /// Whether the steps end with the one that has been written.
    pub(crate) fn asks(&mut self, it: Asked, step: Reg) {
        self.alias(it.ix, step);
        let cond = self.value(it.cond);
        let op = Op::Select(cond, Operand::Reg(step), Operand::Reg(it.last));
        let last = self.let_here(ScalarType::I64, op);
        self.push(Stmt::Set(it.last, last));
        self.push(Stmt::Set(it.done, cond));
    }
}
