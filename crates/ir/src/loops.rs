//! Loop IR: what engines run.
//!
//! A [`Kernel`] is straight code over typed registers and flat buffers: loops with explicit bounds,
//! loads and stores at affine addresses, accumulators, branches and matrix products. No names, no
//! coordinates, no shapes are left. Everything is decided: which loops run in parallel, which in
//! vectors and how ([`vectorise`]), where every intermediate lives. Engines translate, they do not choose.
//!
//! * A register is defined once by [`Stmt::Let`], by a loop as its counter (`i64`), or declared as
//!   a variable by [`Stmt::Var`] and assigned by [`Stmt::Set`]. It is visible after its definition
//!   in its block and in the blocks nested there.
//! * Integer operations wrap. Where overflow is an error, the code says so with [`Op::Overflows`]
//!   and [`Stmt::Trap`]. Divisors are never zero: the code replaces them and traps.
//! * Addresses are always inside their buffers; where that could not be proved, the code has
//!   clamped the position and traps.
//! * A trap is sticky: it interrupts nothing but long loops (`patience`), the kernel reports it at its end.

pub mod abilities;
mod captures;
pub mod lanes;
pub mod parse;
mod patience;
pub mod print;
pub mod run;
pub mod scan;
pub mod stages;
pub mod vectorise;
pub mod verify;

pub use captures::{Captures, captures};

use lanes::Lanes;
use scan::Scan;

use ein_base::{IndexVec, id};
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};

id!(
    /// A register.
    Reg,
    "r"
);
id!(
    /// A buffer.
    Buf,
    "b"
);

/// A piece of a program that an engine runs in one go.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    /// For people: the definitions in it.
    pub name: String,
    /// The buffers. Whoever runs the kernel passes an array of pointers, one for each buffer, in
    /// this order; those of local buffers are ignored.
    pub bufs: IndexVec<Buf, Buffer>,
    /// The types of the registers.
    pub regs: IndexVec<Reg, ScalarType>,
    /// The code.
    pub body: Vec<Stmt>,
}

/// A flat array of elements.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// For people.
    pub name: String,
    /// The type of the elements.
    pub ty: ScalarType,
    /// How many elements it has. Of an input, how many may be reached from its first one; the
    /// strides of an input may be negative, then this is zero.
    pub len: i64,
    /// Where it comes from.
    pub kind: BufferKind,
}

/// Where a buffer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferKind {
    /// Given and only read; may overlap other inputs.
    Input,
    /// Given, 64-byte aligned, written, overlapping nothing; its first contents are undefined.
    Output,
    /// As an output, but of no use afterwards.
    Scratch,
    /// Made by the engine on the stack of the function around it: by the body of the innermost
    /// parallel loop that encloses all its uses, or by the kernel. 64-byte aligned. At most a few
    /// hundred kilobytes.
    Local,
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// Defines a register.
    Let(Reg, Op),
    /// Declares a variable with its first value.
    Var(Reg, Operand),
    /// Assigns a variable.
    Set(Reg, Operand),
    /// Writes an element.
    Store(Addr, Operand),
    /// Runs its body for every value of a counter.
    For(Box<For>),
    /// Runs one of two blocks.
    If(Operand, Vec<Stmt>, Vec<Stmt>),
    /// A matrix product.
    Gemm(Box<Gemm>),
    /// Sets the sticky flag of the kernel if the condition holds.
    Trap(Operand),
}

/// A register or a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    /// A register.
    Reg(Reg),
    /// A constant.
    Const(Scalar),
}

/// The place of an element: `buf[offset + Σ register × factor]`, in elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Addr {
    /// The buffer.
    pub buf: Buf,
    /// `i64` registers, each at most once, with their factors, which are not zero.
    pub terms: Vec<(Reg, i64)>,
    /// What is added.
    pub offset: i64,
}

/// An operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// A copy.
    Copy(Operand),
    /// Reads an element.
    Load(Addr),
    /// A scalar operation as `ein-scalar` defines it; integers wrap.
    Unary(UnaryOp, Operand),
    /// A scalar operation on two operands of one type (the exponent of `Pow` may be an integer);
    /// integers wrap. Both operands of `And` and `Or` have been computed.
    Binary(BinaryOp, Operand, Operand),
    /// `a * b + c` of floats, rounded once or twice as the machine likes.
    MulAdd(Operand, Operand, Operand),
    /// About `1 / sqrt(a)` of an `f32` between 2^-100 and 2^100: a thousandth of it away at most.
    NearRsqrt(Operand),
    /// Whether the integer operation on these operands leaves its type: of `Add`, `Sub`, `Mul`,
    /// `Pow`; of `Div` whether it is the least number by −1; a `bool`.
    Overflows(BinaryOp, Operand, Operand),
    /// A conversion to the type of the register, as `ein_scalar::cast` defines it: saturating from
    /// floats to integers, wrapping between integers.
    Cast(Operand),
    /// The second operand if the first, a `bool`, holds, else the third. All have been computed.
    Select(Operand, Operand, Operand),
}

/// A loop.
#[derive(Clone, Debug)]
pub struct For {
    /// The counter, an `i64`.
    pub var: Reg,
    /// Its first value.
    pub lo: Operand,
    /// One past its last value; not after `lo` if there is nothing to do.
    pub hi: Operand,
    /// How it may run.
    pub kind: ForKind,
    /// What it does.
    pub body: Vec<Stmt>,
}

/// How a loop may run.
#[derive(Clone, Debug, PartialEq)]
pub enum ForKind {
    /// One value after another, upward.
    Serial,
    /// One value after another, from the last to the first.
    Backward,
    /// Iterations are independent and assign no variable of outside: split between threads, at
    /// least `grain` of them to each. Never inside another parallel loop.
    Parallel {
        /// The least number of iterations worth a thread.
        grain: i64,
    },
    /// Iterations are independent but for the variables listed, each of which is reduced with one
    /// operation in any order: `v = op(v, x)` once, or `v = muladd(a, b, v)`. The body has only
    /// `Let`, `Set` of these variables, `Store` and `Trap`. Whether and how it runs in vectors is still
    /// to be decided by [`vectorise`]; until then it is one value after another.
    Vector {
        /// The variables with their operations (`Add`, `Mul`, `Min`, `Max`, `And`, `Or`).
        reductions: Vec<(Reg, BinaryOp)>,
    },
    /// As `Vector`, with all that is decided about it.
    Lanes(Box<Lanes>),
    /// One value after another, upward, which carries a greatest or least value along a row: a loop that
    /// may be run in vectors all the same.
    Scan(Scan),
    /// One value after another, upward, in a function of its own in which subnormal numbers may
    /// count as zeros. Assigns no variable of outside.
    Flushed,
    /// One value after another, upward, in a function of its own that is compiled by itself: with
    /// equal bodies it gives equal bits, whatever stands around it. Assigns no variable of outside.
    Apart,
    /// One value after another, upward; after an iteration at whose end this variable, a `bool`, holds
    /// there is none.
    Until(Reg),
    /// As many copies of the body as there are iterations: a short loop of constant bounds that the
    /// engine should unroll. Otherwise as `Serial`.
    Unrolled,
}

/// `C = A B` or `C += A B`, with element `(i, j)` of a matrix at `addr + i rows + j cols`.
#[derive(Clone, Debug)]
pub struct Gemm {
    /// The rows of A and C.
    pub m: Operand,
    /// The columns of B and C.
    pub n: Operand,
    /// The columns of A and rows of B.
    pub k: Operand,
    /// The left factor.
    pub a: Matrix,
    /// The right factor.
    pub b: Matrix,
    /// The result; overlaps neither factor.
    pub c: Matrix,
    /// Whether the product is added to what is there.
    pub accumulate: bool,
    /// Whether several threads may share the work; never inside a parallel loop.
    pub parallel: bool,
}

/// A strided matrix of `f32` or `f64`.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// Its first element.
    pub addr: Addr,
    /// From a row to the next, in elements.
    pub rows: i64,
    /// From a column to the next, in elements.
    pub cols: i64,
}
