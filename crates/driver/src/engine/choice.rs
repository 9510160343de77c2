//! What `auto` takes: the evaluator, the JIT or the system's compiler, by what each is expected to need
//! from start to result.
//!
//! The expectations are rough, and need not be better: they decide between ways that differ by factors.
//! The time of a compiler grows with the statements of a kernel, that of the evaluator with the operations
//! of the program, that of a run with what its loops do one after another (`Counts::pace`): work in vectors
//! is done in a part of the time, and a limit of steps is rarely reached.

use ein_ir::loops::{Kernel, Stmt};
use ein_transform::counts::counts;

/// What runs a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// The evaluator, which needs no kernel.
    Evaluate,
    /// Machine code made in this process.
    Jit,
    /// The system's compiler.
    Native,
}

/// Seconds for an operation in the evaluator.
const EVALUATED: f64 = 1e-7;

/// The same in code of the JIT.
const COMPILED: f64 = 5e-10;

/// What the system's compiler saves of it.
const SAVED: f64 = 0.3;

/// Seconds to make code in this process: at least, and for a statement.
const JIT: (f64, f64) = (1.0e-3, 2.5e-5);

/// Seconds of the system's compiler: at least, and for a statement.
const NATIVE: (f64, f64) = (0.25, 4.0e-3);

/// Chooses for a kernel that takes so many operations and is to run so often.
pub(super) fn choose(kernel: &Kernel, work: f64, runs: f64) -> Choice {
    let statements = count(&kernel.body) as f64;
    let jit = JIT.0 + JIT.1 * statements;
    let native = NATIVE.0 + NATIVE.1 * statements;
    if work * runs * EVALUATED < jit {
        Choice::Evaluate
    } else if counts(kernel).pace * runs * COMPILED * SAVED > native {
        Choice::Native
    } else {
        Choice::Jit
    }
}

fn count(stmts: &[Stmt]) -> usize {
    let inside = |stmt: &Stmt| match stmt {
        Stmt::For(inner) => 1 + count(&inner.body),
        Stmt::If(_, yes, no) => 1 + count(yes) + count(no),
        Stmt::Let(..)
        | Stmt::Var(..)
        | Stmt::Set(..)
        | Stmt::Store(..)
        | Stmt::Gemm(_)
        | Stmt::Trap(_) => 1,
    };
    stmts.iter().map(inside).sum()
}

#[cfg(test)]
mod tests {
    use super::{Choice, choose};
    use ein_ir::loops::{For, ForKind, Kernel, Op, Operand, Stmt};
    use ein_scalar::{BinaryOp, Scalar, ScalarType};

    /// A loop of so many statements, which do one operation each.
    fn kernel(statements: usize, trips: i64, kind: ForKind) -> Kernel {
        let mut kernel = Kernel::default();
        let var = kernel.regs.push(ScalarType::I64);
        let one = Operand::Const(Scalar::F32(1.0));
        let body = (0..statements).map(|_| {
            let reg = kernel.regs.push(ScalarType::F32);
            Stmt::Let(reg, Op::Binary(BinaryOp::Add, one, one))
        });
        let body = body.collect();
        let [lo, hi] = [0, trips].map(|it| Operand::Const(Scalar::I64(it)));
        kernel.body.push(Stmt::For(Box::new(For { var, lo, hi, kind, body })));
        kernel
    }

    fn chosen(statements: usize, trips: i64, kind: ForKind) -> Choice {
        choose(&kernel(statements, trips, kind), statements as f64 * trips as f64, 1.0)
    }

    #[test]
    fn little_work_is_evaluated_and_much_is_worth_a_compiler() {
        assert_eq!(chosen(20, 50, ForKind::Serial), Choice::Evaluate);
        assert_eq!(chosen(20, 50_000, ForKind::Serial), Choice::Jit);
        assert_eq!(chosen(20, 5_000_000_000, ForKind::Serial), Choice::Native);
        let few = kernel(20, 50, ForKind::Serial);
        assert_eq!(choose(&few, 1e3, 1e3), Choice::Jit, "again and again");
    }

    #[test]
    fn a_long_kernel_has_to_save_what_compiling_it_takes() {
        assert_eq!(chosen(20, 150_000_000, ForKind::Serial), Choice::Native);
        assert_eq!(chosen(6000, 500_000, ForKind::Serial), Choice::Jit);
    }

    #[test]
    fn vectors_and_steps_that_a_condition_ends_take_less() {
        let vector = ForKind::Vector { reductions: Vec::new() };
        assert_eq!(chosen(20, 150_000_000, vector), Choice::Jit);
        let until = ForKind::Until(ein_base::Idx::from_usize(0));
        assert_eq!(chosen(20, 150_000_000, until), Choice::Jit);
    }
}
