//! How far a kernel is: parallel iterations that are done, weighed by the work in them.
//!
//! The pool counts iterations while a kernel runs. They come in the order of the statements of the
//! kernel, so their number says which statements are done and which part of the next one. What a
//! statement costs is estimated, hence the fraction is; of a kernel without parallel loops, or with
//! one whose length is computed, nothing is said.

use ein_ir::loops::{Kernel, Operand, Stmt};

/// The trips of a loop whose bounds are computed: the usual tile.
const TILE: f64 = 32.0;

/// A flop of a matrix product takes this part of the time of another operation.
const GEMM: f64 = 1.0 / 8.0;

/// The statements of a kernel as time passes.
#[derive(Debug, PartialEq)]
pub(super) struct Course {
    /// For each statement the parallel iterations in it, and its work.
    stages: Vec<(f64, f64)>,
}

impl Course {
    /// The course of a kernel, if it has one that can be followed.
    pub(super) fn of(kernel: &Kernel) -> Option<Course> {
        let mut stages = Vec::new();
        for stmt in &kernel.body {
            stages.push((iterations(stmt)?, work(stmt)));
        }
        let is_followed = stages.iter().any(|(iterations, _)| *iterations > 0.0);
        is_followed.then_some(Course { stages })
    }

    /// Which part of the work is done when so many iterations are.
    pub(super) fn fraction(&self, done: u64) -> f64 {
        let all: f64 = self.stages.iter().map(|(_, work)| work).sum();
        let (mut left, mut finished) = (done as f64, 0.0);
        for (iterations, work) in &self.stages {
            if left < *iterations {
                finished += work * left / iterations;
                break;
            }
            // A statement without iterations is done when those after it have begun.
            if *iterations == 0.0 && left == 0.0 {
                break;
            }
            left -= iterations;
            finished += work;
        }
        if all > 0.0 { (finished / all).min(1.0) } else { 0.0 }
    }
}

/// How often a loop runs, if that is written in the kernel.
fn trips(lo: &Operand, hi: &Operand) -> Option<f64> {
    match (lo, hi) {
        (Operand::Const(lo), Operand::Const(hi)) => {
            Some((hi.as_i64()?.checked_sub(lo.as_i64()?)?.max(0)) as f64)
        }
        (Operand::Reg(_), _) | (_, Operand::Reg(_)) => None,
    }
}

/// The parallel iterations in a statement; `None` if that is not known beforehand.
fn iterations(stmt: &Stmt) -> Option<f64> {
    match stmt {
        Stmt::For(it) if matches!(it.kind, ein_ir::loops::ForKind::Parallel { .. }) => {
            trips(&it.lo, &it.hi)
        }
        Stmt::For(it) => {
            let inside = it.body.iter().map(iterations).sum::<Option<f64>>()?;
            if inside == 0.0 { Some(0.0) } else { Some(inside * trips(&it.lo, &it.hi)?) }
        }
        Stmt::If(_, yes, no) => {
            let inside = yes.iter().chain(no).map(iterations).sum::<Option<f64>>()?;
            (inside == 0.0).then_some(0.0)
        }
        Stmt::Let(..) | Stmt::Var(..) | Stmt::Set(..) | Stmt::Store(..) => Some(0.0),
        Stmt::Gemm(_) | Stmt::Trap(_) => Some(0.0),
    }
}

/// About how many operations a statement does.
fn work(stmt: &Stmt) -> f64 {
    match stmt {
        Stmt::For(it) => {
            trips(&it.lo, &it.hi).unwrap_or(TILE) * it.body.iter().map(work).sum::<f64>()
        }
        Stmt::If(_, yes, no) => {
            let [yes, no] = [yes, no].map(|block| block.iter().map(work).sum::<f64>());
            1.0 + yes.max(no)
        }
        Stmt::Gemm(it) => {
            let extent = |operand: &Operand| match operand {
                Operand::Const(value) => value.as_i64().map_or(TILE, |value| value as f64),
                Operand::Reg(_) => TILE,
            };
            2.0 * extent(&it.m) * extent(&it.n) * extent(&it.k) * GEMM
        }
        Stmt::Let(..) | Stmt::Var(..) | Stmt::Set(..) | Stmt::Store(..) | Stmt::Trap(_) => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ein_base::Idx as _;
    use ein_ir::loops::{For, ForKind, Reg};
    use ein_scalar::Scalar;

    fn trap() -> Stmt {
        Stmt::Trap(Operand::Const(Scalar::Bool(false)))
    }

    fn loop_of(kind: ForKind, hi: Operand, body: Vec<Stmt>) -> Stmt {
        let lo = Operand::Const(Scalar::I64(0));
        Stmt::For(Box::new(For { var: Reg::from_usize(0), lo, hi, kind, body }))
    }

    fn count(hi: i64) -> Operand {
        Operand::Const(Scalar::I64(hi))
    }

    fn kernel(body: Vec<Stmt>) -> Kernel {
        Kernel { name: "k".into(), bufs: Default::default(), regs: Default::default(), body }
    }

    #[test]
    fn iterations_are_weighed_by_their_work() {
        let parallel = || ForKind::Parallel { grain: 1 };
        let light = loop_of(parallel(), count(100), vec![trap()]);
        let heavy = loop_of(parallel(), count(10), vec![trap(); 30]);
        let course = Course::of(&kernel(vec![light, heavy])).expect("it has parallel loops");
        let parts: Vec<f64> = [0, 50, 100, 105, 110].map(|done| course.fraction(done)).to_vec();
        assert_eq!(parts, [0.0, 0.125, 0.25, 0.625, 1.0]);
    }

    #[test]
    fn steps_of_a_recurrence_count_and_unknown_lengths_do_not() {
        let parallel = || ForKind::Parallel { grain: 1 };
        let step = || loop_of(parallel(), count(8), vec![trap()]);
        let serial = loop_of(ForKind::Serial, count(1000), vec![step()]);
        let course = Course::of(&kernel(vec![trap(), serial])).expect("it has parallel loops");
        assert_eq!(course.fraction(0), 0.0);
        assert!((course.fraction(4000) - 0.5).abs() < 0.01);
        let unknown = loop_of(parallel(), Operand::Reg(Reg::from_usize(1)), vec![trap()]);
        assert_eq!(Course::of(&kernel(vec![unknown])), None);
        let alone = loop_of(ForKind::Serial, count(1000), vec![trap()]);
        assert_eq!(Course::of(&kernel(vec![alone])), None);
    }
}
