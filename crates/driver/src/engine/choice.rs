//! What `auto` takes: the evaluator, the JIT or the system's compiler, by what each is expected to need
//! from start to result.
//!
//! The expectations are rough, and need not be better: they decide between ways that differ by factors.
//! They are estimates that no test holds yet; the time of a compiler grows with
//! the statements of a kernel, that of a run with its operations.

use ein_ir::loops::{Kernel, Stmt};

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
const COMPILED: f64 = 1e-9;

/// What the system's compiler saves of it.
const SAVED: f64 = 0.35;

/// Seconds to make code in this process: at least, and for a statement.
const JIT: (f64, f64) = (1.0e-3, 2.5e-5);

/// Seconds of the system's compiler: at least, and for a statement.
const NATIVE: (f64, f64) = (0.25, 4.0e-3);

/// Chooses for a kernel of so many operations that are still to come.
pub(super) fn choose(kernel: &Kernel, work: f64) -> Choice {
    let statements = count(&kernel.body) as f64;
    let jit = JIT.0 + JIT.1 * statements;
    let native = NATIVE.0 + NATIVE.1 * statements;
    if work * EVALUATED < jit {
        Choice::Evaluate
    } else if work * COMPILED * SAVED > native {
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
    use ein_ir::loops::{Kernel, Op, Operand, Stmt};
    use ein_scalar::{Scalar, ScalarType};

    /// A kernel of so many statements.
    fn kernel(statements: usize) -> Kernel {
        let mut kernel = Kernel::default();
        for _ in 0..statements {
            let reg = kernel.regs.push(ScalarType::I32);
            kernel.body.push(Stmt::Let(reg, Op::Copy(Operand::Const(Scalar::I32(1)))));
        }
        kernel
    }

    #[test]
    fn little_work_is_evaluated_and_much_is_worth_a_compiler() {
        assert_eq!(choose(&kernel(20), 1e3), Choice::Evaluate);
        assert_eq!(choose(&kernel(20), 1e6), Choice::Jit);
        assert_eq!(choose(&kernel(20), 1e11), Choice::Native);
    }

    #[test]
    fn a_long_kernel_has_to_save_what_compiling_it_takes() {
        assert_eq!(choose(&kernel(20), 2e9), Choice::Native);
        assert_eq!(choose(&kernel(6000), 2e9), Choice::Jit);
    }
}
