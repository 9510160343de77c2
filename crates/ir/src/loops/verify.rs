//! Whether loop IR keeps its rules: the ones that can be read off the code.
//!
//! That addresses are inside their buffers, that iterations are independent and that divisors are
//! not zero is promised by whoever made the code, and not checked here.

mod lanes;

use std::collections::BTreeMap;

use ein_base::Idx;
use ein_scalar::{BinaryOp, ScalarType};

use super::{
    Addr, Buf, BufferKind, For, ForKind, Gemm, Kernel, Matrix, Op, Operand, Reg, Stmt, scan,
};

/// The most bytes a local buffer may have: it lives on a stack.
const LOCAL_BYTES: i64 = 1 << 20;

/// Everything that is wrong with a kernel, one line each; nothing if it is right.
pub fn verify(kernel: &Kernel) -> Vec<String> {
    let mut verifier = Verifier {
        kernel,
        defined: vec![false; kernel.regs.len()],
        visible: BTreeMap::new(),
        function: 0,
        functions: 0,
        owner: 0,
        owner_kind: "",
        homes: BTreeMap::new(),
        problems: Vec::new(),
    };
    verifier.buffers();
    verifier.block(&kernel.body);
    verifier.problems
}

/// What a visible register is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Defined once.
    Value,
    /// A variable, of the function with this number.
    Variable(usize),
}

struct Verifier<'a> {
    kernel: &'a Kernel,
    /// Which registers have been defined anywhere.
    defined: Vec<bool>,
    /// The registers that may be used here.
    visible: BTreeMap<Reg, Role>,
    /// The function that this code belongs to: 0 is the kernel, others are bodies of parallel loops.
    function: usize,
    /// How many functions there are beside the kernel so far.
    functions: usize,
    /// The loop whose variables may be assigned here: 0 is the kernel, others run by themselves.
    owner: usize,
    /// How that loop runs.
    owner_kind: &'static str,
    /// The function in which each local buffer is used.
    homes: BTreeMap<Buf, usize>,
    problems: Vec<String>,
}

impl Verifier<'_> {
    fn problem(&mut self, text: String) {
        self.problems.push(text);
    }

    fn require(&mut self, holds: bool, text: impl FnOnce() -> String) {
        if !holds {
            self.problem(text());
        }
    }

    fn buffers(&mut self) {
        for (buf, buffer) in self.kernel.bufs.iter_enumerated() {
            let len = buffer.len;
            self.require(len >= 0, || format!("{buf} has a negative length"));
            let bytes = len.saturating_mul(buffer.ty.size_bytes() as i64);
            let small = buffer.kind != BufferKind::Local || bytes <= LOCAL_BYTES;
            self.require(small, || format!("{buf} is local and has {bytes} bytes"));
        }
    }

    fn block(&mut self, block: &[Stmt]) {
        let outside = self.visible.clone();
        for stmt in block {
            self.stmt(stmt);
        }
        self.visible = outside;
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let(reg, op) => {
                let ty = self.op(op, *reg);
                self.define(*reg, ty, Role::Value);
            }
            Stmt::Var(reg, value) => {
                let ty = self.operand(*value);
                self.define(*reg, ty, Role::Variable(self.owner));
            }
            Stmt::Set(reg, value) => {
                let (ty, own) = (self.operand(*value), self.reg(*reg));
                self.require(ty == own || ty.is_none(), || format!("{reg} is set to another type"));
                match self.visible.get(reg).copied() {
                    Some(Role::Value) => self.problem(format!("{reg} is set but no variable")),
                    Some(Role::Variable(owner)) => {
                        let (here, kind) = (owner == self.owner, self.owner_kind);
                        self.require(here, || format!("{reg} of outside is set in a {kind} loop"));
                    }
                    None => {}
                }
            }
            Stmt::Store(addr, value) => {
                let (ty, element) = (self.operand(*value), self.addr(addr));
                let buf = addr.buf;
                self.require(ty == element || ty.is_none() || element.is_none(), || {
                    format!("a value of another type is stored to {buf}")
                });
                self.written(buf);
            }
            Stmt::For(inner) => self.for_loop(inner),
            Stmt::If(condition, yes, no) => {
                self.typed(*condition, ScalarType::Bool, "a condition");
                self.block(yes);
                self.block(no);
            }
            Stmt::Gemm(gemm) => self.gemm(gemm),
            Stmt::Trap(condition) => self.typed(*condition, ScalarType::Bool, "a trap"),
        }
    }

    fn define(&mut self, reg: Reg, ty: Option<ScalarType>, role: Role) {
        let Some(&own) = self.kernel.regs.get(reg) else {
            return self.problem(format!("{reg} has no type"));
        };
        if let Some(ty) = ty {
            self.require(ty == own, || format!("{reg} is of type {own} but gets {ty}"));
        }
        if std::mem::replace(&mut self.defined[reg.index()], true) {
            self.problem(format!("{reg} is defined twice"));
        }
        self.visible.insert(reg, role);
    }

    /// The type of a register that is used.
    fn reg(&mut self, reg: Reg) -> Option<ScalarType> {
        let seen = self.visible.contains_key(&reg);
        self.require(seen, || format!("{reg} is used where it is not visible"));
        self.kernel.regs.get(reg).copied()
    }

    fn operand(&mut self, operand: Operand) -> Option<ScalarType> {
        match operand {
            Operand::Reg(reg) => self.reg(reg),
            Operand::Const(value) => Some(value.ty()),
        }
    }

    fn typed(&mut self, operand: Operand, ty: ScalarType, what: &str) {
        let found = self.operand(operand);
        let right = found.is_none_or(|found| found == ty);
        self.require(right, || format!("{what} is not of type {ty}"));
    }

    /// The type of the elements at an address.
    fn addr(&mut self, addr: &Addr) -> Option<ScalarType> {
        let buf = addr.buf;
        for (i, &(reg, factor)) in addr.terms.iter().enumerate() {
            let ty = self.reg(reg);
            let whole = ty.is_none_or(|ty| ty == ScalarType::I64);
            self.require(whole, || format!("{reg} in an address of {buf} is not of type i64"));
            self.require(factor != 0, || format!("{reg} in an address of {buf} has factor 0"));
            let once = addr.terms[..i].iter().all(|(other, _)| *other != reg);
            self.require(once, || format!("{reg} is twice in an address of {buf}"));
        }
        let Some(buffer) = self.kernel.bufs.get(buf) else {
            self.problem(format!("there is no {buf}"));
            return None;
        };
        if buffer.kind == BufferKind::Local {
            let home = *self.homes.entry(buf).or_insert(self.function);
            let here = home == self.function;
            self.require(here, || format!("{buf} is local but not used in one function only"));
        }
        Some(buffer.ty)
    }

    fn written(&mut self, buf: Buf) {
        let input = self.kernel.bufs.get(buf).is_some_and(|it| it.kind == BufferKind::Input);
        self.require(!input, || format!("{buf} is an input but written"));
    }

    /// The type that an operation gives, if it can be told.
    fn op(&mut self, op: &Op, reg: Reg) -> Option<ScalarType> {
        match op {
            Op::Copy(a) => self.operand(*a),
            Op::Load(addr) => self.addr(addr),
            Op::Unary(op, a) => {
                let a = self.operand(*a)?;
                self.known(op.result_type(a), || format!("{op} of {a}"))
            }
            Op::Binary(op, a, b) => {
                let (a, b) = (self.operand(*a)?, self.operand(*b)?);
                self.known(op.result_type(a, b), || format!("{op} of {a} and {b}"))
            }
            Op::MulAdd(a, b, c) => {
                let (a, b, c) = (self.operand(*a)?, self.operand(*b)?, self.operand(*c)?);
                let right = a == b && b == c && a.is_float();
                self.known(right.then_some(a), || format!("muladd of {a}, {b} and {c}"))
            }
            Op::NearRsqrt(a) => {
                let a = self.operand(*a)?;
                let right = a == ScalarType::F32;
                self.known(right.then_some(a), || format!("near_rsqrt of {a}"))
            }
            Op::Overflows(op, a, b) => {
                let (a, b) = (self.operand(*a)?, self.operand(*b)?);
                let asked = match op {
                    BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div => a == b,
                    BinaryOp::Pow => b.is_int(),
                    BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::FloorMod => false,
                    BinaryOp::Min | BinaryOp::Max | BinaryOp::And | BinaryOp::Or => false,
                    BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le => false,
                    BinaryOp::Gt | BinaryOp::Ge | BinaryOp::Atan2 => false,
                };
                let right = asked && a.is_int();
                let ty = right.then_some(ScalarType::Bool);
                self.known(ty, || format!("overflow of {op} of {a} and {b}"))
            }
            Op::Cast(a) => {
                self.operand(*a)?;
                self.kernel.regs.get(reg).copied()
            }
            Op::Select(condition, a, b) => {
                self.typed(*condition, ScalarType::Bool, "a condition");
                let (a, b) = (self.operand(*a)?, self.operand(*b)?);
                self.known((a == b).then_some(a), || format!("a choice of {a} or {b}"))
            }
        }
    }

    fn known(
        &mut self,
        ty: Option<ScalarType>,
        what: impl FnOnce() -> String,
    ) -> Option<ScalarType> {
        self.require(ty.is_some(), || format!("there is no {}", what()));
        ty
    }

    fn for_loop(&mut self, inner: &For) {
        self.typed(inner.lo, ScalarType::I64, "a bound");
        self.typed(inner.hi, ScalarType::I64, "a bound");
        let outside = (self.visible.clone(), self.function, self.owner, self.owner_kind);
        let var = inner.var;
        match &inner.kind {
            ForKind::Serial | ForKind::Backward => {}
            ForKind::Until(ends) => {
                self.typed(Operand::Reg(*ends), ScalarType::Bool, "what ends a loop");
            }
            ForKind::Unrolled => {
                let constant =
                    matches!((inner.lo, inner.hi), (Operand::Const(_), Operand::Const(_)));
                self.require(constant, || format!("the loop of {var} has no constant bounds"));
            }
            ForKind::Parallel { grain } => {
                let first = self.function == 0;
                self.require(first, || format!("the parallel loop of {var} is in another one"));
                self.require(*grain >= 1, || format!("the grain of {var} is less than 1"));
                self.functions += 1;
                (self.function, self.owner) = (self.functions, self.functions);
                self.owner_kind = "parallel";
            }
            ForKind::Flushed => {
                self.functions += 1;
                (self.owner, self.owner_kind) = (self.functions, "flushed");
            }
            ForKind::Apart => {
                self.functions += 1;
                (self.owner, self.owner_kind) = (self.functions, "separate");
            }
            ForKind::Vector { reductions } => self.vector(inner, reductions),
            ForKind::Lanes(lanes) => lanes::check(self, inner, lanes),
            ForKind::Scan(scan) => {
                let is_one = scan::form(self.kernel, inner) == Some(*scan);
                self.require(is_one, || format!("the loop of {var} is no such scan"));
            }
        }
        self.define(var, Some(ScalarType::I64), Role::Value);
        self.block(&inner.body);
        (self.visible, self.function, self.owner, self.owner_kind) = outside;
    }

    fn vector(&mut self, inner: &For, reductions: &[(Reg, BinaryOp)]) {
        let var = inner.var;
        for stmt in &inner.body {
            match stmt {
                Stmt::Let(..) | Stmt::Store(..) | Stmt::Trap(_) => {}
                Stmt::Set(reg, _) => {
                    let listed = reductions.iter().any(|(it, _)| it == reg);
                    self.require(listed, || format!("{reg} is set but not reduced by {var}"));
                }
                Stmt::Var(..) | Stmt::For(_) | Stmt::If(..) | Stmt::Gemm(_) => {
                    self.problem(format!("the vector loop of {var} has a statement of no vectors"));
                }
            }
        }
        for (i, &(reg, op)) in reductions.iter().enumerate() {
            let once = reductions[..i].iter().all(|(it, _)| *it != reg);
            self.require(once, || format!("{reg} is listed twice as a reduction of {var}"));
            let reduces = match op {
                BinaryOp::Add | BinaryOp::Mul | BinaryOp::Min | BinaryOp::Max => true,
                BinaryOp::And | BinaryOp::Or => true,
                BinaryOp::Sub | BinaryOp::Div | BinaryOp::Rem | BinaryOp::Pow => false,
                BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le => false,
                BinaryOp::Gt | BinaryOp::Ge | BinaryOp::Atan2 => false,
                BinaryOp::FloorDiv | BinaryOp::FloorMod => false,
            };
            self.require(reduces, || format!("{op} is no reduction"));
            let form = is_reduced(inner, reg, op);
            self.require(form, || {
                format!("{reg} is not reduced by {op} once and used nowhere else")
            });
        }
    }

    fn gemm(&mut self, gemm: &Gemm) {
        let Gemm { m, n, k, a, b, c, accumulate: _, parallel } = gemm;
        for size in [m, n, k] {
            self.typed(*size, ScalarType::I64, "a size of a matrix product");
        }
        let mut types = Vec::new();
        for Matrix { addr, rows: _, cols: _ } in [a, b, c] {
            types.extend(self.addr(addr));
        }
        let real = |ty: &ScalarType| matches!(ty, ScalarType::F32 | ScalarType::F64);
        let right = types.iter().all(real) && types.windows(2).all(|two| two[0] == two[1]);
        self.require(right, || "a matrix product is not of f32 or f64 alone".to_string());
        self.written(c.addr.buf);
        let nested = *parallel && self.function != 0;
        self.require(!nested, || "a parallel matrix product is in a parallel loop".to_string());
    }
}

/// Whether a body has `t = op(v, x); v = t` or `t = muladd(a, b, v); v = t`, and `v` and `t`
/// nowhere else.
fn is_reduced(inner: &For, var: Reg, op: BinaryOp) -> bool {
    let reduced = inner.reduced(&[(var, op)]);
    reduced.is_some_and(|it| uses(&inner.body, var) == 2 && uses(&inner.body, it[0].result) == 1)
}

/// How often a register is used in a body without blocks; being set counts as a use.
fn uses(body: &[Stmt], reg: Reg) -> usize {
    let mut count = 0;
    let mut used = |operand: Operand| count += usize::from(operand == Operand::Reg(reg));
    let terms = |addr: &Addr| addr.terms.iter().filter(|(it, _)| *it == reg).count();
    let mut in_addresses = 0;
    for stmt in body {
        match stmt {
            Stmt::Let(_, op) => {
                op.operands(&mut used);
                if let Op::Load(addr) = op {
                    in_addresses += terms(addr);
                }
            }
            Stmt::Set(it, value) => {
                used(Operand::Reg(*it));
                used(*value);
            }
            Stmt::Store(addr, value) => {
                in_addresses += terms(addr);
                used(*value);
            }
            Stmt::Trap(condition) => used(*condition),
            Stmt::Var(..) | Stmt::For(_) | Stmt::If(..) | Stmt::Gemm(_) => {}
        }
    }
    count + in_addresses
}

#[cfg(test)]
mod tests;
