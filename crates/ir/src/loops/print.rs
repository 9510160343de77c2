//! Loop IR as text: `einlang dump plan`. [`parse`](super::parse) reads it back.
//!
//! ```text
//! kernel "y"
//! input x_0: f32[1024]
//! output y_1: f32[8]
//! {
//!   parallel(1) for r0 in 0..8 {
//!     var r1: f32 = -0.0f32
//!     lanes sums(16 * 2, 32 unrolled 4)
//!     vector(add r1) for r2 in 0..128 {
//!       r3: f32 = load x_0[r0*128 + r2]
//!       r4: f32 = muladd r3, r3, r1
//!       set r1 = r4
//!     }
//!     store y_1[r0] = r1
//!   }
//! }
//! ```
//!
//! * Buffers are names with a number, of which only the number counts; a name that is no word is
//!   given as a string where the buffer is declared.
//! * Registers have their type where they are defined; those that are defined nowhere are declared
//!   before the body.
//! * A number without a type is an `i64`.
//! * What is decided about a vector loop stands on a line before it: `sums` with the lanes of a vector
//!   and the vectors of accumulators, the iterations of each loop over them (and how many turns are
//!   written out), and what the last iterations are; `pieces` that it is cut into; what it `asks`
//!   memory for every so many iterations, by so many; whether it may run `twice`, and in parts
//!   of how many iterations. On another line stand its `stages`: copies of the body, lanes of long vectors, elements of a tile, what is done `once`
//!   and in which stage each statement is, if not all others in the first, by numbers of statements;
//!   the functions that are called on tiles, and tiles that share a place.

pub(super) mod lanes;

use std::fmt::Write;

use ein_base::Idx;
use ein_scalar::{BinaryOp, ScalarType};

use crate::text::{is_plain, scalar_text, write_string};

use super::{Addr, Buf, BufferKind, For, ForKind, Gemm, Kernel, Matrix, Op, Operand, Reg, Stmt};

/// The type of a number without one.
pub(super) const PLAIN: ScalarType = ScalarType::I64;

/// The text of a kernel.
pub fn print(kernel: &Kernel) -> String {
    let mut printer = Printer { kernel, out: String::new(), indent: 1 };
    printer.kernel();
    printer.out
}

struct Printer<'a> {
    kernel: &'a Kernel,
    out: String,
    indent: usize,
}

impl Printer<'_> {
    fn kernel(&mut self) {
        self.put("kernel ");
        write_string(&mut self.out, &self.kernel.name);
        self.put("\n");
        for (id, buffer) in self.kernel.bufs.iter_enumerated() {
            self.put(kind_name(buffer.kind));
            self.put(" ");
            self.put(&self.buf(id));
            if !is_plain(&buffer.name) {
                self.put(" ");
                write_string(&mut self.out, &buffer.name);
            }
            let _ = writeln!(self.out, ": {}[{}]", buffer.ty, buffer.len);
        }
        let mut defined = vec![false; self.kernel.regs.len()];
        mark_defined(&self.kernel.body, &mut defined);
        for (reg, ty) in self.kernel.regs.iter_enumerated() {
            if !defined[reg.index()] {
                let _ = writeln!(self.out, "reg {reg}: {ty}");
            }
        }
        self.put("{");
        self.block(&self.kernel.body);
        self.put("\n}\n");
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn buf(&self, buf: Buf) -> String {
        match self.kernel.bufs.get(buf) {
            Some(buffer) if is_plain(&buffer.name) => format!("{}_{}", buffer.name, buf.index()),
            Some(_) | None => format!("b_{}", buf.index()),
        }
    }

    fn block(&mut self, block: &[Stmt]) {
        for stmt in block {
            self.put("\n");
            self.put(&"  ".repeat(self.indent));
            self.stmt(stmt);
        }
    }

    /// A block in braces.
    fn nested(&mut self, block: &[Stmt]) {
        self.put("{");
        self.indent += 1;
        self.block(block);
        self.indent -= 1;
        self.put("\n");
        self.put(&"  ".repeat(self.indent));
        self.put("}");
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let(reg, op) => {
                let text = format!("{} = {}", self.declared(*reg), self.op(op));
                self.put(&text);
            }
            Stmt::Var(reg, value) => {
                let text = format!("var {} = {}", self.declared(*reg), operand(*value));
                self.put(&text);
            }
            Stmt::Set(reg, value) => {
                let _ = write!(self.out, "set {reg} = {}", operand(*value));
            }
            Stmt::Store(addr, value) => {
                let text = format!("store {} = {}", self.addr(addr), operand(*value));
                self.put(&text);
            }
            Stmt::For(inner) => self.for_loop(inner),
            Stmt::If(condition, then, other) => {
                let _ = write!(self.out, "if {} ", operand(*condition));
                self.nested(then);
                if !other.is_empty() {
                    self.put(" else ");
                    self.nested(other);
                }
            }
            Stmt::Gemm(gemm) => self.gemm(gemm),
            Stmt::Trap(condition) => {
                let _ = write!(self.out, "trap {}", operand(*condition));
            }
        }
    }

    fn declared(&self, reg: Reg) -> String {
        match self.kernel.regs.get(reg) {
            Some(ty) => format!("{reg}: {ty}"),
            None => format!("{reg}: ?"),
        }
    }

    fn for_loop(&mut self, inner: &For) {
        match &inner.kind {
            ForKind::Serial => {}
            ForKind::Backward => self.put("backward "),
            ForKind::Parallel { grain } => {
                let _ = write!(self.out, "parallel({grain}) ");
            }
            ForKind::Vector { reductions } => self.vector(reductions),
            ForKind::Lanes(lanes) => {
                for line in lanes::decided(lanes, &|addr| self.addr(addr), inner) {
                    self.put(&line);
                    self.put("\n");
                    self.put(&"  ".repeat(self.indent));
                }
                self.vector(&lanes.reductions);
            }
            ForKind::Scan(scan) => {
                let op = if scan.least { "min" } else { "max" };
                let _ = write!(self.out, "scan({op} {} by {}) ", scan.carry, scan.step);
            }
            ForKind::Flushed => self.put("flushed "),
            ForKind::Apart => self.put("apart "),
            ForKind::Unrolled => self.put("unrolled "),
            ForKind::Until(ends) => {
                let _ = write!(self.out, "until({ends}) ");
            }
        }
        let (lo, hi) = (operand(inner.lo), operand(inner.hi));
        let _ = write!(self.out, "for {} in {lo}..{hi} ", inner.var);
        self.nested(&inner.body);
    }

    fn vector(&mut self, reductions: &[(Reg, BinaryOp)]) {
        let list: Vec<String> = reductions.iter().map(|(reg, op)| format!("{op} {reg}")).collect();
        let _ = write!(self.out, "vector({}) ", list.join(", "));
    }

    fn gemm(&mut self, gemm: &Gemm) {
        let sizes = [gemm.m, gemm.n, gemm.k].map(operand).join(", ");
        let [a, b, c] = [&gemm.a, &gemm.b, &gemm.c].map(|matrix| self.matrix(matrix));
        let kind = if gemm.parallel { "parallel gemm" } else { "gemm" };
        let sign = if gemm.accumulate { "+=" } else { "=" };
        let _ = write!(self.out, "{kind}({sizes}) {c} {sign} {a} * {b}");
    }

    fn matrix(&self, matrix: &Matrix) -> String {
        format!("{} by {}, {}", self.addr(&matrix.addr), matrix.rows, matrix.cols)
    }

    fn addr(&self, addr: &Addr) -> String {
        let mut terms: Vec<String> = addr
            .terms
            .iter()
            .map(|(reg, factor)| match factor {
                1 => reg.to_string(),
                factor => format!("{reg}*{factor}"),
            })
            .collect();
        if addr.offset != 0 || terms.is_empty() {
            terms.push(addr.offset.to_string());
        }
        format!("{}[{}]", self.buf(addr.buf), terms.join(" + "))
    }

    fn op(&self, op: &Op) -> String {
        let list = |operands: &[Operand]| {
            operands.iter().map(|it| operand(*it)).collect::<Vec<_>>().join(", ")
        };
        match op {
            Op::Copy(a) => format!("copy {}", operand(*a)),
            Op::Load(addr) => format!("load {}", self.addr(addr)),
            Op::Unary(op, a) => format!("{op} {}", operand(*a)),
            Op::Binary(op, a, b) => format!("{op} {}", list(&[*a, *b])),
            Op::NearRsqrt(a) => format!("near_rsqrt {}", operand(*a)),
            Op::MulAdd(a, b, c) => format!("muladd {}", list(&[*a, *b, *c])),
            Op::Overflows(op, a, b) => format!("overflows {op} {}", list(&[*a, *b])),
            Op::Cast(a) => format!("cast {}", operand(*a)),
            Op::Select(a, b, c) => format!("select {}", list(&[*a, *b, *c])),
        }
    }
}

/// The word before a buffer.
pub(super) fn kind_name(kind: BufferKind) -> &'static str {
    match kind {
        BufferKind::Input => "input",
        BufferKind::Output => "output",
        BufferKind::Scratch => "scratch",
        BufferKind::Local => "local",
    }
}

fn mark_defined(block: &[Stmt], defined: &mut [bool]) {
    fn mark(reg: Reg, defined: &mut [bool]) {
        if let Some(it) = defined.get_mut(reg.index()) {
            *it = true;
        }
    }
    for stmt in block {
        match stmt {
            Stmt::Let(reg, _) | Stmt::Var(reg, _) => mark(*reg, defined),
            Stmt::For(inner) => {
                mark(inner.var, defined);
                mark_defined(&inner.body, defined);
            }
            Stmt::If(_, then, other) => {
                mark_defined(then, defined);
                mark_defined(other, defined);
            }
            Stmt::Set(..) | Stmt::Store(..) | Stmt::Gemm(_) | Stmt::Trap(_) => {}
        }
    }
}

fn operand(operand: Operand) -> String {
    match operand {
        Operand::Reg(reg) => reg.to_string(),
        Operand::Const(value) => scalar_text(value, PLAIN),
    }
}
