//! Reductions as loops with accumulators.
//!
//! Reductions over the same indices that are needed at the same place share one loop nest. Long
//! sums of `f32` are added as `f64`. Sums of integers are exact: they are added in 32 bits where
//! they surely fit and in 64 bits otherwise, and only the result has to fit its type. A reduction
//! outside all loops with enough work is cut into a fixed number of parts that threads share, so the
//! result does not depend on how many there are. Each part has four streams; those of a long sum are
//! added to each other as `f32` first, term by term.
//!
//! Failures: an integer sum is proved to fit, or each step sets the flag; of an extreme over no
//! point the flag is set after the loop. A term under a condition fails only where it holds, and
//! in a careful kernel one of `any` or `all` only before the one that decides.

mod before;
mod blocks;
mod how;
mod parts;
mod quotients;

use how::{counts_points, fits, in_vectors, not_in_vectors, order, shared_by_threads};
pub(crate) use how::{fits_a_row, is_accumulated, row_type, start};

use super::emit::{Emit, takes_turns};
use super::plan::{Reduced, What, Why};
use super::windows;
use crate::points::{Ix, Kind, Node, Reduction, in_turn};
use ein_ir::loops::{ForKind, Op, Operand, Reg, Stmt};
use ein_ir::tensor::ReduceOp;
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};

/// So many terms of a sum of `f32` are added in `f32`; more in `f64`.
const LONG_SUM: i64 = 1024;

/// Fewer integers are faster one by one: bringing lanes together costs more than adding them.
const FEW_TERMS: i64 = 8;

/// Streams of a part.
const STREAMS: i64 = 4;

/// How many points a mean is over.
enum Points {
    /// So many.
    Known(i64),
    /// As many as were counted.
    Counted(Reg),
}

/// A reduction being computed.
#[derive(Clone)]
struct Acc {
    reduction: Reduction,
    /// The type of the result.
    ty: ScalarType,
    /// The type of what is reduced.
    body_ty: ScalarType,
    /// The accumulator: the best value so far of `argmax`.
    var: Reg,
    /// The address of the best value; the number of points of a guarded `mean`; whether there was a
    /// point at all.
    extra: Option<Reg>,
}

impl Acc {
    fn op(&self) -> BinaryOp {
        operation(self.reduction.op)
    }

    fn addresses(&self) -> bool {
        matches!(self.reduction.op, ReduceOp::Argmax | ReduceOp::Argmin)
    }
}

impl Emit {
    /// The value of a reduction, and the scope it is in. Others over the same indices that are
    /// wanted as well are computed with it.
    pub(crate) fn reduction(&mut self, node: Node) -> (Operand, usize) {
        let level = self.level(node);
        if self.is_vector(level) {
            if let Some(terms) = windows::to_write_out(&self.view(), node) {
                let how = Reduced::WrittenOut(terms);
                let why = Why::Since("no loop can stand in a loop in vectors");
                self.plan.note(What::Reduction { count: 1, how }, why);
                return (self.written_out_terms(node), level);
            }
            // A loop has to go over the terms, and perhaps count them: the one around it is no vector loop.
            takes_turns(self, level);
        }
        let group = self.companions(node, level);
        let inner = self.scopes.split_off(level + 1);
        let outer = self.any_parallel();
        let parallel = std::mem::replace(&mut self.in_parallel, outer);
        let values = self.reduce_together(&group);
        self.in_parallel = parallel;
        for (node, value) in group.iter().zip(&values) {
            self.remember_at(level, *node, *value);
        }
        self.scopes.extend(inner);
        (values[0], level)
    }

    /// The reductions that are computed with this one, itself first.
    fn companions(&self, node: Node, level: usize) -> Vec<Node> {
        let Kind::Reduce(reduction) = &self.points.nodes[node].kind else { return vec![node] };
        let mut group = vec![node];
        if in_turn(&self.points, reduction) {
            return group;
        }
        for other in &self.wanted {
            let Kind::Reduce(candidate) = &self.points.nodes[*other].kind else { continue };
            // One inside a loop that is not open yet has to wait for it.
            let free = &self.points.nodes[*other].free;
            let fits = !group.contains(other)
                && !in_turn(&self.points, candidate)
                && candidate.binders == reduction.binders
                && free.iter().all(|ix| self.is_bound(*ix))
                && self.level(*other) == level
                && !self.scopes.iter().any(|scope| scope.knows(*other));
            let contains = |a: Node, b: Node| self.points.below(&[a]).contains(&b);
            if fits && group.iter().all(|it| !contains(*it, *other) && !contains(*other, *it)) {
                group.push(*other);
            }
        }
        group
    }

    fn reduce_together(&mut self, group: &[Node]) -> Vec<Operand> {
        if let Some(why) = shared_by_threads(&self.view(), group) {
            let how = Reduced::Parts(self.points.cost.reduction_parts());
            self.plan.begin(What::Reduction { count: group.len(), how }, why);
            let values = self.reduce_in_parts(group);
            self.plan.end();
            return values;
        }
        let accs: Vec<Acc> = group.iter().map(|node| self.accumulator(*node)).collect();
        match accs.as_slice() {
            [acc] if in_turn(&self.points, &acc.reduction) => {
                let why = Why::Since("what comes after the term that decides may fail");
                self.plan.note(What::Reduction { count: 1, how: Reduced::InTurn }, why);
                accumulate_in_turn(self, acc);
            }
            accs => {
                let binders = order(&self.view(), accs);
                self.accumulate(accs, &binders);
            }
        }
        accs.iter().map(|acc| self.finish_acc(acc)).collect()
    }

    fn accumulator(&mut self, node: Node) -> Acc {
        let Kind::Reduce(reduction) = self.points.nodes[node].kind.clone() else {
            unreachable!("only reductions are grouped")
        };
        let (ty, body_ty) = (self.points.nodes[node].ty, self.points.nodes[reduction.body].ty);
        let counted = counts_points(&self.view(), &reduction);
        let (kind, first) = start(&self.view(), &reduction);
        let var = self.reg(kind);
        self.push(Stmt::Var(var, Operand::Const(first)));
        let extra = if matches!(reduction.op, ReduceOp::Argmax | ReduceOp::Argmin) {
            Some(Scalar::I64(-1))
        } else {
            let few = self.points.point_count(&reduction).is_some_and(|n| n < 1 << 31);
            counted.then_some(if few { Scalar::I32(0) } else { Scalar::I64(0) })
        };
        let extra = extra.map(|first| {
            let reg = self.reg(first.ty());
            self.push(Stmt::Var(reg, Operand::Const(first)));
            reg
        });
        Acc { reduction: *reduction, ty, body_ty, var, extra }
    }

    fn accumulate(&mut self, accs: &[Acc], binders: &[(Ix, Node, Node)]) {
        let Some(((ix, lo, hi), outer)) = binders.split_last() else { return };
        for (ix, lo, hi) in outer {
            let (lo, hi) = (self.bound_value(*lo), self.bound_value(*hi));
            self.open(*ix, lo, hi, ForKind::Serial);
        }
        match self.checked_before(accs, (*ix, *lo, *hi)) {
            Some((accs, ix, (lo, hi))) => self.innermost(&accs, ix, lo, hi),
            None => {
                let (lo, hi) = (self.bound_value(*lo), self.bound_value(*hi));
                self.innermost(accs, *ix, lo, hi);
            }
        }
        outer.iter().for_each(|_| self.close());
    }

    fn innermost(&mut self, accs: &[Acc], ix: Ix, lo: Operand, hi: Operand) {
        let length = match (lo, hi) {
            (Operand::Const(Scalar::I64(lo)), Operand::Const(Scalar::I64(hi))) => Some(hi - lo),
            _ => None,
        };
        let (how, why) = self.how_reduced(accs, ix, length);
        self.plan.note(What::Reduction { count: accs.len(), how }, why);
        match (how, lo) {
            (Reduced::Blocks { terms, streams }, Operand::Const(Scalar::I64(lo))) => {
                let length = length.unwrap_or(0);
                self.in_blocks(accs, ix, (lo, lo + length), (terms, streams));
            }
            (how, _) => self.terms(accs, ix, lo, hi, how == Reduced::Lanes),
        }
    }

    /// How the innermost loop over the terms runs, of which there are so many.
    fn how_reduced(&self, accs: &[Acc], ix: Ix, length: Option<i64>) -> (Reduced, Why) {
        let integers = accs.iter().any(|acc| acc.body_ty.is_int());
        if let Some(terms) = length.filter(|terms| *terms < FEW_TERMS && integers) {
            return (Reduced::Serial, Why::Count(terms, "integers are faster one by one"));
        }
        if let Some(why) = not_in_vectors(&self.view(), accs, ix) {
            return (Reduced::Serial, why);
        }
        match length.and_then(|length| self.blocks(accs, length)) {
            Some(((terms, streams), why)) => (Reduced::Blocks { terms, streams }, why),
            None => (Reduced::Lanes, Why::Only),
        }
    }

    /// The loop over the terms.
    fn terms(&mut self, accs: &[Acc], ix: Ix, lo: Operand, hi: Operand, vectors: bool) {
        if !(vectors && self.by_inverse_powers(accs, ix, (lo, hi))) {
            self.plain_terms(accs, ix, (lo, hi), vectors);
        }
    }

    fn plain_terms(&mut self, accs: &[Acc], ix: Ix, (lo, hi): (Operand, Operand), vectors: bool) {
        let kind = if vectors {
            let counts = accs.iter().filter_map(|acc| acc.extra.map(|it| (it, BinaryOp::Add)));
            let reductions = accs.iter().map(|acc| (acc.var, acc.op())).chain(counts);
            ForKind::Vector { reductions: reductions.collect() }
        } else {
            ForKind::Serial
        };
        self.open(ix, lo, hi, kind);
        for acc in accs {
            self.accumulate_one(acc, ix);
        }
        self.close();
    }

    fn accumulate_one(&mut self, acc: &Acc, ix: Ix) {
        let target = acc.var;
        let guard = acc.reduction.guard.map(|guard| self.value(guard));
        if acc.addresses() {
            return self.better(acc, ix, guard);
        }
        let ty = self.kernel.regs[target];
        let op = acc.op();
        // A product of two numbers is added in one go.
        let factors = match self.points.nodes[acc.reduction.body].kind {
            Kind::Binary(BinaryOp::Mul, a, b)
                if op == BinaryOp::Add
                    && ty.is_float()
                    && ty == acc.body_ty
                    && guard.is_none()
                    && !self.is_known(acc.reduction.body) =>
            {
                Some((a, b))
            }
            _ => None,
        };
        let result = match factors {
            Some((a, b)) => {
                let (a, b) = (self.value(a), self.value(b));
                self.let_here(ty, Op::MulAdd(a, b, Operand::Reg(target)))
            }
            None => {
                let value = self.term(acc, guard);
                self.let_here(ty, Op::Binary(op, Operand::Reg(target), value))
            }
        };
        self.push(Stmt::Set(target, result));
        if let Some(count) = acc.extra {
            let ty = self.kernel.regs[count];
            let one = match guard {
                Some(guard) => self.let_here(ty, Op::Cast(guard)),
                None => Operand::Const(Scalar::one(ty)),
            };
            let more = Op::Binary(BinaryOp::Add, Operand::Reg(count), one);
            let more = self.let_here(ty, more);
            self.push(Stmt::Set(count, more));
        }
    }

    /// What is put to an accumulator, after a check that it has room.
    fn term(&mut self, acc: &Acc, guard: Option<Operand>) -> Operand {
        let (ty, op) = (self.kernel.regs[acc.var], acc.op());
        let mut value = self.value(acc.reduction.body);
        if ty != acc.body_ty {
            value = self.let_here(ty, Op::Cast(value));
        }
        if let Some(guard) = guard {
            let neutral = neutral(op, ty);
            value = self.let_here(ty, Op::Select(guard, value, Operand::Const(neutral)));
        }
        if !fits(&self.view(), &acc.reduction) {
            let overflows = Op::Overflows(op, Operand::Reg(acc.var), value);
            let overflows = self.let_here(ScalarType::Bool, overflows);
            self.push(Stmt::Trap(overflows));
        }
        value
    }

    fn is_known(&self, node: Node) -> bool {
        self.scopes.iter().any(|scope| scope.knows(node))
    }

    /// Keeps the better of two values with its address.
    fn better(&mut self, acc: &Acc, ix: Ix, guard: Option<Operand>) {
        let Some(at) = acc.extra else { return };
        let bool = ScalarType::Bool;
        let value = self.value(acc.reduction.body);
        let best = Operand::Reg(acc.var);
        let op = if acc.op() == BinaryOp::Max { BinaryOp::Gt } else { BinaryOp::Lt };
        let none = Op::Binary(BinaryOp::Lt, Operand::Reg(at), Operand::Const(Scalar::I64(0)));
        let none = self.let_here(bool, none);
        let mut better = self.let_here(bool, Op::Binary(op, value, best));
        if acc.body_ty.is_float() {
            let value_nan = self.let_here(bool, Op::Unary(UnaryOp::IsNan, value));
            let best_nan = self.let_here(bool, Op::Unary(UnaryOp::IsNan, best));
            let best_is = self.let_here(bool, Op::Unary(UnaryOp::Not, best_nan));
            better = self.let_here(bool, Op::Binary(BinaryOp::Or, better, value_nan));
            better = self.let_here(bool, Op::Binary(BinaryOp::And, better, best_is));
        }
        better = self.let_here(bool, Op::Binary(BinaryOp::Or, better, none));
        if let Some(guard) = guard {
            better = self.let_here(bool, Op::Binary(BinaryOp::And, better, guard));
        }
        let place = self.points.index(ix);
        let (place, _) = match self.points.as_int(place) {
            Some(place) => (Operand::Const(Scalar::I64(place)), 0),
            None => {
                let (reg, level) = self.position(place);
                (Operand::Reg(reg), level)
            }
        };
        let value = self.let_here(acc.body_ty, Op::Select(better, value, best));
        let place = self.let_here(ScalarType::I64, Op::Select(better, place, Operand::Reg(at)));
        self.push(Stmt::Set(acc.var, value));
        self.push(Stmt::Set(at, place));
    }

    /// The result that an accumulator holds.
    fn finish_acc(&mut self, acc: &Acc) -> Operand {
        let held = Operand::Reg(acc.var);
        let held_ty = self.kernel.regs[acc.var];
        if let Some(extra) = acc.extra {
            let ty = self.kernel.regs[extra];
            let limit = if acc.addresses() { Scalar::zero(ty) } else { Scalar::one(ty) };
            let none = Op::Binary(BinaryOp::Lt, Operand::Reg(extra), Operand::Const(limit));
            let none = self.let_here(ScalarType::Bool, none);
            self.push(Stmt::Trap(none));
        }
        if acc.addresses() {
            let at = acc.extra.unwrap_or(acc.var);
            return self.let_here(acc.ty, Op::Cast(Operand::Reg(at)));
        }
        if acc.reduction.op == ReduceOp::Mean {
            let points = match acc.extra {
                Some(count) => Points::Counted(count),
                None => Points::Known(self.points.point_count(&acc.reduction).unwrap_or(1)),
            };
            return self.mean((held, held_ty), points, acc.ty);
        }
        self.narrow(held, held_ty, acc.ty)
    }

    /// A total divided by the number of its terms.
    fn mean(
        &mut self,
        (total, of): (Operand, ScalarType),
        points: Points,
        ty: ScalarType,
    ) -> Operand {
        let points = match points {
            // Up to here a quotient of `f32` is what a quotient of `f64` rounds to.
            Points::Known(count) if of == ScalarType::F32 && ty == of && count < 1 << 24 => {
                let count = Operand::Const(Scalar::F32(count as f32));
                return self.let_here(ty, Op::Binary(BinaryOp::Div, total, count));
            }
            Points::Known(count) => Operand::Const(Scalar::F64(count as f64)),
            Points::Counted(count) => self.let_here(ScalarType::F64, Op::Cast(Operand::Reg(count))),
        };
        let wide = match of {
            ScalarType::F64 => total,
            _ => self.let_here(ScalarType::F64, Op::Cast(total)),
        };
        let mean = self.let_here(ScalarType::F64, Op::Binary(BinaryOp::Div, wide, points));
        match ty {
            ScalarType::F64 => mean,
            ty => self.let_here(ty, Op::Cast(mean)),
        }
    }

    /// What a row of accumulators holds for a reduction of known extent.
    pub(crate) fn finish_row(&mut self, node: Node, held: (Operand, ScalarType)) -> Operand {
        let ty = self.points.nodes[node].ty;
        if let Kind::Reduce(reduction) = &self.points.nodes[node].kind
            && reduction.op == ReduceOp::Mean
        {
            let count = self.points.point_count(reduction).unwrap_or(1);
            return self.mean(held, Points::Known(count), ty);
        }
        if held.1 == ty { held.0 } else { self.narrow(held.0, held.1, ty) }
    }

    /// A total as a value of its type, which it has to fit.
    fn narrow(&mut self, value: Operand, from: ScalarType, to: ScalarType) -> Operand {
        if from == to {
            return self.let_here(to, Op::Copy(value));
        }
        let result = self.let_here(to, Op::Cast(value));
        if to.is_int() && from.is_int() && !self.points.wrapping {
            let back = self.let_here(from, Op::Cast(result));
            let lost = self.let_here(ScalarType::Bool, Op::Binary(BinaryOp::Ne, back, value));
            self.push(Stmt::Trap(lost));
        }
        result
    }
}

/// Takes terms in until one decides.
fn accumulate_in_turn(emit: &mut Emit, acc: &Acc) {
    let decided = match acc.op() {
        BinaryOp::Or => acc.var,
        _ => {
            let decided = emit.reg(ScalarType::Bool);
            emit.push(Stmt::Var(decided, Operand::Const(Scalar::Bool(false))));
            decided
        }
    };
    let binders = &acc.reduction.binders;
    for (ix, lo, hi) in binders {
        let (lo, hi) = (emit.bound_value(*lo), emit.bound_value(*hi));
        emit.open(*ix, lo, hi, ForKind::Until(decided));
    }
    if let Some((ix, ..)) = binders.last() {
        emit.accumulate_one(acc, *ix);
    }
    if decided != acc.var {
        let fails = emit.let_here(ScalarType::Bool, Op::Unary(UnaryOp::Not, Operand::Reg(acc.var)));
        emit.push(Stmt::Set(decided, fails));
    }
    binders.iter().for_each(|_| emit.close());
}

/// The operation that takes a term in.
pub(crate) fn operation(op: ReduceOp) -> BinaryOp {
    match op {
        ReduceOp::Sum | ReduceOp::Mean | ReduceOp::Count => BinaryOp::Add,
        ReduceOp::Prod => BinaryOp::Mul,
        ReduceOp::Max | ReduceOp::Argmax => BinaryOp::Max,
        ReduceOp::Min | ReduceOp::Argmin => BinaryOp::Min,
        ReduceOp::Any => BinaryOp::Or,
        ReduceOp::All => BinaryOp::And,
    }
}

/// Half floats are added as `f32`.
fn wide_enough(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::F16 | ScalarType::BF16 => ScalarType::F32,
        ty => ty,
    }
}

/// What changes nothing.
pub(crate) fn neutral(op: BinaryOp, ty: ScalarType) -> Scalar {
    match op {
        BinaryOp::Mul => Scalar::one(ty),
        BinaryOp::Max => Scalar::lowest(ty),
        BinaryOp::Min => Scalar::highest(ty),
        BinaryOp::And => Scalar::Bool(true),
        BinaryOp::Or => Scalar::Bool(false),
        _ => Scalar::zero(ty),
    }
}
