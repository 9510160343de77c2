//! Loop IR as it is meant: one operation after another, with everything looked at.
//!
//! Before:  `for i in 0..8 parallel { b1[i + 1] = 0 }`, with `b1` of eight elements
//! After:   "a write to `b1` at 8, which has 8 elements"
//!
//! Engines trust what kernels promise: that addresses are inside their buffers, that divisors are not
//! zero, that no two iterations of a parallel or vector loop write one element. Here nothing is trusted, so
//! a promise that is broken is found whether or not it does harm. It is slow: some hundred times as
//! slow as an engine.
//!
//! Does not know: engines, where buffers are in memory.

use super::{Addr, Buf, BufferKind, For, ForKind, Gemm, Kernel, Matrix, Op, Operand, Reg, Stmt};
use ein_base::Idx;
use ein_scalar::{
    ArithError, BinaryOp, Overflow, Scalar, ScalarType, UnaryOp, apply_binary, apply_unary, cast,
};
use rustc_hash::FxHashMap;

/// The elements of a buffer.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// The elements; nothing where memory between them belongs to somebody else.
    pub cells: Vec<Option<Scalar>>,
    /// Where the element with address zero is.
    pub origin: i64,
}

/// Why a run ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The kernel breaks a promise: how.
    Broken(String),
    /// It takes more steps than are worth it.
    TooLong,
}

/// Runs a kernel on images of its buffers, those of local ones included. Says whether it trapped.
pub fn run(kernel: &Kernel, images: Vec<Image>, steps: u64) -> Result<(bool, Vec<Image>), Ended> {
    let regs = kernel.regs.iter().map(|ty| Scalar::zero(*ty)).collect();
    let mut machine =
        Machine { kernel, regs, images, trapped: false, left: steps, around: Vec::new() };
    machine.block(&kernel.body)?;
    Ok((machine.trapped, machine.images))
}

/// A loop around whose iterations are independent.
#[derive(Debug)]
struct Around {
    /// How it runs, for people.
    kind: &'static str,
    /// Whether local buffers are those of an iteration.
    own_locals: bool,
    /// Where it is.
    iteration: i64,
    /// The iterations that wrote elements.
    written: FxHashMap<(Buf, i64), i64>,
}

struct Machine<'k> {
    kernel: &'k Kernel,
    regs: Vec<Scalar>,
    images: Vec<Image>,
    trapped: bool,
    left: u64,
    around: Vec<Around>,
}

type Done<T> = Result<T, Ended>;

impl Machine<'_> {
    fn block(&mut self, stmts: &[Stmt]) -> Done<()> {
        stmts.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    fn stmt(&mut self, stmt: &Stmt) -> Done<()> {
        self.left = self.left.checked_sub(1).ok_or(Ended::TooLong)?;
        match stmt {
            Stmt::Let(reg, op) => {
                let value = self.op(op, self.kernel.regs[*reg])?;
                self.set(*reg, value)
            }
            Stmt::Var(reg, value) | Stmt::Set(reg, value) => self.set(*reg, self.value(*value)),
            Stmt::Store(addr, value) => {
                let at = self.address(addr);
                self.store(addr.buf, at, self.value(*value))
            }
            Stmt::For(inner) => self.repeat(inner),
            Stmt::If(cond, yes, no) => {
                let holds = self.truth(*cond)?;
                self.block(if holds { yes } else { no })
            }
            Stmt::Gemm(gemm) => self.product(gemm),
            Stmt::Trap(cond) => {
                self.trapped |= self.truth(*cond)?;
                Ok(())
            }
        }
    }

    fn repeat(&mut self, inner: &For) -> Done<()> {
        let (lo, hi) = (self.int(inner.lo)?, self.int(inner.hi)?);
        let apart = match &inner.kind {
            ForKind::Parallel { .. } => Some(("parallel", true)),
            ForKind::Vector { .. } | ForKind::Lanes(_) => Some(("vector", false)),
            ForKind::Serial | ForKind::Backward | ForKind::Unrolled | ForKind::Scan(_) => None,
            ForKind::Flushed | ForKind::Apart | ForKind::Until(_) => None,
        };
        if let Some((kind, own_locals)) = apart {
            let written = FxHashMap::default();
            self.around.push(Around { kind, own_locals, iteration: lo, written });
        }
        let mut count = lo;
        while count < hi {
            let at = match inner.kind {
                ForKind::Backward => lo + (hi - 1 - count),
                _ => count,
            };
            if apart.is_some()
                && let Some(around) = self.around.last_mut()
            {
                around.iteration = at;
            }
            self.set(inner.var, Scalar::I64(at))?;
            self.left = self.left.checked_sub(1).ok_or(Ended::TooLong)?;
            self.block(&inner.body)?;
            count += 1;
            if let ForKind::Until(ends) = inner.kind
                && self.truth(Operand::Reg(ends))?
            {
                break;
            }
        }
        if apart.is_some() {
            self.around.pop();
        }
        Ok(())
    }

    fn product(&mut self, gemm: &Gemm) -> Done<()> {
        let (m, n, k) = (self.int(gemm.m)?, self.int(gemm.n)?, self.int(gemm.k)?);
        let place = |this: &Self, matrix: &Matrix, row: i64, column: i64| {
            let first = this.address(&matrix.addr);
            first
                + i128::from(row) * i128::from(matrix.rows)
                + i128::from(column) * i128::from(matrix.cols)
        };
        for i in 0..m {
            for j in 0..n {
                self.left = self.left.checked_sub(k.max(1) as u64).ok_or(Ended::TooLong)?;
                let c = place(self, &gemm.c, i, j);
                let buf = gemm.c.addr.buf;
                let ty = self.kernel.bufs[buf].ty;
                let mut total = match gemm.accumulate {
                    true => self.load(buf, c)?.as_f64(),
                    false => 0.0,
                };
                for l in 0..k {
                    let (a, b) = (place(self, &gemm.a, i, l), place(self, &gemm.b, l, j));
                    let a = self.load(gemm.a.addr.buf, a)?;
                    let b = self.load(gemm.b.addr.buf, b)?;
                    total += a.as_f64() * b.as_f64();
                }
                self.store(buf, c, cast(Scalar::F64(total), ty))?;
            }
        }
        Ok(())
    }

    // ---------------------------------------------------------------- values

    fn set(&mut self, reg: Reg, value: Scalar) -> Done<()> {
        let ty = self.kernel.regs[reg];
        if value.ty() != ty {
            return broken(format!("{reg} is a {ty} and was given a {}", value.ty()));
        }
        self.regs[reg.index()] = value;
        Ok(())
    }

    fn value(&self, operand: Operand) -> Scalar {
        match operand {
            Operand::Reg(reg) => self.regs[reg.index()],
            Operand::Const(value) => value,
        }
    }

    fn truth(&self, operand: Operand) -> Done<bool> {
        self.value(operand).as_bool().map_or_else(|| broken("a condition that is none"), Ok)
    }

    fn int(&self, operand: Operand) -> Done<i64> {
        self.value(operand).as_i64().map_or_else(|| broken("a bound that is no integer"), Ok)
    }

    fn op(&mut self, op: &Op, ty: ScalarType) -> Done<Scalar> {
        match op {
            Op::Copy(a) => Ok(self.value(*a)),
            Op::Load(addr) => {
                let at = self.address(addr);
                self.load(addr.buf, at)
            }
            Op::Unary(op, a) => {
                let a = self.value(*a);
                apply_unary(*op, a, Overflow::Wrap).or_else(|why| undefined(format!("{op:?}"), why))
            }
            Op::Binary(op, a, b) => {
                let (a, b) = (self.value(*a), self.value(*b));
                if divides(*op) && overflows(BinaryOp::Div, a, b) {
                    return broken(format!("{a} {op:?} {b}, which processors refuse"));
                }
                apply_binary(*op, a, b, Overflow::Wrap)
                    .or_else(|why| undefined(format!("{a} {op:?} {b}"), why))
            }
            Op::MulAdd(a, b, c) => {
                let [a, b, c] = [a, b, c].map(|it| self.value(*it).as_f64());
                Ok(match ty {
                    ScalarType::F32 => Scalar::F32((a as f32).mul_add(b as f32, c as f32)),
                    ty => cast(Scalar::F64(a.mul_add(b, c)), ty),
                })
            }
            Op::NearRsqrt(a) => {
                let a = self.value(*a);
                let root = apply_unary(UnaryOp::Rsqrt, a, Overflow::Wrap);
                root.or_else(|why| undefined("rsqrt".to_owned(), why))
            }
            Op::Overflows(op, a, b) => {
                Ok(Scalar::Bool(overflows(*op, self.value(*a), self.value(*b))))
            }
            Op::Cast(a) => Ok(cast(self.value(*a), ty)),
            Op::Select(cond, a, b) => Ok(self.value(if self.truth(*cond)? { *a } else { *b })),
        }
    }

    // ---------------------------------------------------------------- memory

    fn address(&self, addr: &Addr) -> i128 {
        let term = |(reg, factor): &(Reg, i64)| {
            let value = self.regs[reg.index()].as_i64().unwrap_or(0);
            i128::from(value) * i128::from(*factor)
        };
        i128::from(addr.offset) + addr.terms.iter().map(term).sum::<i128>()
    }

    /// The place of an element in the image of its buffer, after it was looked at.
    fn place(&mut self, buf: Buf, at: i128, writes: bool) -> Done<usize> {
        let image = &self.images[buf.index()];
        let shown = |what: &str| {
            let name = &self.kernel.bufs[buf].name;
            let (many, how) = (image.cells.len(), if writes { "write to" } else { "read of" });
            format!("a {how} {buf} (`{name}`) at {at}, {what} ({many} elements)")
        };
        let Ok(place) = usize::try_from(at + i128::from(image.origin)) else {
            return broken(shown("before its first element"));
        };
        match image.cells.get(place) {
            None => return broken(shown("behind its last element")),
            Some(None) => return broken(shown("which is none of its elements")),
            Some(Some(_)) => {}
        }
        let kind = self.kernel.bufs[buf].kind;
        if writes && kind == BufferKind::Input {
            return broken(shown("which is only to be read"));
        }
        if !writes {
            // What another iteration writes may be read, as long as nobody uses it: reads run ahead of
            // the conditions that they stand under.
            return Ok(place);
        }
        for around in &mut self.around {
            if around.own_locals && kind == BufferKind::Local {
                continue;
            }
            let now = around.iteration;
            let other = around.written.insert((buf, at as i64), now).filter(|other| *other != now);
            if let Some(other) = other {
                let kind = around.kind;
                let both =
                    format!("in iteration {now} of a {kind} loop, as iteration {other} does");
                return broken(shown(&both));
            }
        }
        Ok(place)
    }

    fn load(&mut self, buf: Buf, at: i128) -> Done<Scalar> {
        let place = self.place(buf, at, false)?;
        let ty = self.kernel.bufs[buf].ty;
        Ok(self.images[buf.index()].cells[place].unwrap_or(Scalar::zero(ty)))
    }

    fn store(&mut self, buf: Buf, at: i128, value: Scalar) -> Done<()> {
        let place = self.place(buf, at, true)?;
        if value.ty() != self.kernel.bufs[buf].ty {
            return broken(format!("a {} stored in {buf}", value.ty()));
        }
        self.images[buf.index()].cells[place] = Some(value);
        Ok(())
    }
}

fn broken<T>(why: impl Into<String>) -> Done<T> {
    Err(Ended::Broken(why.into()))
}

fn undefined<T>(what: String, why: ArithError) -> Done<T> {
    broken(format!("{what} has no value ({why:?})"))
}

fn divides(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::FloorMod)
}

fn overflows(op: BinaryOp, a: Scalar, b: Scalar) -> bool {
    a.ty().is_int() && apply_binary(op, a, b, Overflow::Trap) == Err(ArithError::Overflow)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::parse::parse;

    fn check(text: &str, wanted: Result<(), &str>) {
        let kernel = parse(text).expect("a kernel");
        let image = |buffer: &super::super::Buffer| Image {
            cells: vec![Some(Scalar::zero(buffer.ty)); buffer.len as usize],
            origin: 0,
        };
        let images = kernel.bufs.iter().map(image).collect();
        match (run(&kernel, images, 10_000), wanted) {
            (Ok(_), Ok(())) => {}
            (Err(Ended::Broken(found)), Err(wanted)) if found.contains(wanted) => {}
            (found, wanted) => panic!("{found:?}, not {wanted:?}"),
        }
    }

    fn stores(kind: &str, code: &str) -> String {
        format!(
            "kernel \"k\" input x_0: i32[8] output y_1: i32[8] {{ {kind} for r0 in 0..8 {{ {code} }} }}"
        )
    }

    #[test]
    fn addresses_are_looked_at() {
        check(&stores("", "store y_1[r0] = 1i32"), Ok(()));
        check(&stores("", "store y_1[r0 + 1] = 1i32"), Err("at 8, behind its last"));
        check(&stores("backward", "r1: i32 = load x_0[r0 + -1]"), Err("at -1, before its first"));
        check(&stores("", "store x_0[r0] = 1i32"), Err("only to be read"));
    }

    #[test]
    fn independent_iterations_are() {
        for kind in ["parallel(1)", "vector()"] {
            check(&stores(kind, "store y_1[r0] = 1i32"), Ok(()));
            check(&stores(kind, "store y_1[0] = 1i32"), Err("as iteration 0 does"));
        }
        check(&stores("", "store y_1[0] = 1i32"), Ok(()));
    }

    #[test]
    fn divisors_are_not_zero() {
        let by = |b: &str| stores("", &format!("r1: i32 = div -2147483648i32, {b}i32"));
        check(&by("2"), Ok(()));
        check(&by("0"), Err("has no value"));
        check(&by("-1"), Err("processors refuse"));
    }
}
