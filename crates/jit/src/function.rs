//! One function: its registers, buffers and statements.

use crate::Unsupported;
use crate::memory::memory;
use crate::module::{Body, Unit};
use crate::ops::{Ops, Val, machine};
use cranelift_codegen::ir::{InstBuilder, StackSlotData, StackSlotKind, Value, types};
use cranelift_frontend::{FunctionBuilder, Variable};
use ein_base::Idx;
use ein_ir::loops::{Buf, BufferKind, Op, Operand, Reg, Stmt, abilities, captures};
use ein_scalar::{ScalarType, UnaryOp};

/// What a register is.
#[derive(Clone, Copy)]
pub(crate) enum Binding {
    /// A value, and how deep in loops it was computed.
    Value(Value, u32),
    /// A number known now.
    Known(i64),
    /// A variable.
    Variable(Variable),
}

/// A function under construction.
pub(crate) struct Function<'f, 'u, 'k> {
    pub(crate) ops: Ops<'f>,
    pub(crate) unit: &'u mut Unit<'k>,
    pub(crate) regs: Vec<Option<Binding>>,
    pub(crate) bufs: Vec<Option<Value>>,
    /// The functions that may be called.
    interface: Option<Value>,
    /// The sticky flag, of 8 bits.
    pub(crate) trap: Variable,
    /// How many loops there are around this place.
    pub(crate) depth: u32,
}

impl<'f, 'u, 'k> Function<'f, 'u, 'k> {
    pub(crate) fn new(mut ops: Ops<'f>, unit: &'u mut Unit<'k>) -> Self {
        let trap = ops.b.declare_var(types::I8);
        Function {
            ops,
            regs: vec![None; unit.kernel.regs.len()],
            bufs: vec![None; unit.kernel.bufs.len()],
            unit,
            interface: None,
            trap,
            depth: 0,
        }
    }

    /// The function of the kernel.
    pub(crate) fn kernel(mut self) -> Result<FunctionBuilder<'f>, Unsupported> {
        let params = self.enter();
        self.interface = Some(params[1]);
        for buf in captures(&self.unit.kernel.body).bufs {
            let kind = self.unit.kernel.bufs[buf].kind;
            if kind != BufferKind::Local {
                let offset = 8 * buf.index() as i32;
                let pointer = self.ops.b.ins().load(types::I64, memory(), params[0], offset);
                self.bufs[buf.index()] = Some(pointer);
            } else if self.unit.owners[buf.index()].is_none() {
                self.local(buf)?;
            }
        }
        let kernel = self.unit.kernel;
        self.block(&kernel.body)?;
        Ok(self.leave())
    }

    /// The function of the body of a parallel loop.
    pub(crate) fn body(mut self, body: &Body<'k>) -> Result<FunctionBuilder<'f>, Unsupported> {
        let params = self.enter();
        let captured = params[0];
        self.interface = Some(self.ops.b.ins().load(types::I64, memory(), captured, 0));
        let mut offset = 8;
        for reg in &body.regs {
            let ty = machine(self.unit.kernel.regs[*reg]);
            let value = self.ops.b.ins().load(ty, memory(), captured, offset);
            self.regs[reg.index()] = Some(Binding::Value(value, 0));
            offset += 8;
        }
        for buf in &body.bufs {
            let pointer = self.ops.b.ins().load(types::I64, memory(), captured, offset);
            self.bufs[buf.index()] = Some(pointer);
            offset += 8;
        }
        for buf in body.inner.captures().bufs {
            if self.unit.owners[buf.index()] == Some(&raw const *body.inner) {
                self.local(buf)?;
            }
        }
        self.serial(body.inner, params[1], params[2])?;
        Ok(self.leave())
    }

    fn enter(&mut self) -> Vec<Value> {
        let entry = self.ops.b.create_block();
        self.ops.b.append_block_params_for_function_params(entry);
        self.ops.b.switch_to_block(entry);
        self.ops.b.seal_block(entry);
        let clear = self.ops.b.ins().iconst(types::I8, 0);
        self.ops.b.def_var(self.trap, clear);
        self.ops.b.block_params(entry).to_vec()
    }

    fn leave(mut self) -> FunctionBuilder<'f> {
        let trap = self.ops.b.use_var(self.trap);
        let trap = self.ops.b.ins().uextend(types::I32, trap);
        self.ops.b.ins().return_(&[trap]);
        self.ops.b
    }

    /// Room on the stack, aligned to 64 bytes.
    pub(crate) fn room(&mut self, bytes: u64) -> Result<Value, Unsupported> {
        let size = u32::try_from(bytes + 64)
            .ok()
            .filter(|size| *size < 1 << 30)
            .ok_or_else(|| Unsupported::new("a local buffer is too large for the stack"))?;
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, size, 4);
        let slot = self.ops.b.create_sized_stack_slot(data);
        let start = self.ops.b.ins().stack_addr(types::I64, slot, 63);
        Ok(self.ops.b.ins().band_imm_s(start, -64))
    }

    fn local(&mut self, buf: Buf) -> Result<(), Unsupported> {
        let buffer = &self.unit.kernel.bufs[buf];
        let bytes = buffer.len.max(0) as u64 * buffer.ty.size_bytes() as u64;
        self.bufs[buf.index()] = Some(self.room(bytes)?);
        Ok(())
    }

    /// The type of an operand.
    pub(crate) fn operand_type(&self, operand: Operand) -> ScalarType {
        match operand {
            Operand::Reg(reg) => self.unit.kernel.regs[reg],
            Operand::Const(value) => value.ty(),
        }
    }

    /// The number that an operand is known to be.
    pub(crate) fn known(&self, operand: Operand) -> Option<i64> {
        match operand {
            Operand::Const(value) => value.as_i64(),
            Operand::Reg(reg) => match self.regs[reg.index()] {
                Some(Binding::Known(value)) => Some(value),
                Some(Binding::Value(..) | Binding::Variable(_)) | None => None,
            },
        }
    }

    /// The value of a register.
    pub(crate) fn reg(&mut self, reg: Reg) -> Value {
        match self.regs[reg.index()] {
            Some(Binding::Value(value, _)) => value,
            Some(Binding::Known(value)) => self.ops.b.ins().iconst(types::I64, value),
            Some(Binding::Variable(variable)) => self.ops.b.use_var(variable),
            None => panic!("register {reg} is used before its definition"),
        }
    }

    /// The value of an operand.
    pub(crate) fn operand(&mut self, operand: Operand) -> Value {
        match operand {
            Operand::Reg(reg) => self.reg(reg),
            Operand::Const(value) => self.ops.constant(value),
        }
    }

    pub(crate) fn define(&mut self, reg: Reg, value: Value) {
        self.regs[reg.index()] = Some(Binding::Value(value, self.depth));
    }

    /// Assigns a variable.
    pub(crate) fn assign(&mut self, reg: Reg, value: Value) {
        match self.regs[reg.index()] {
            Some(Binding::Variable(variable)) => self.ops.b.def_var(variable, value),
            Some(Binding::Value(..) | Binding::Known(_)) | None => {
                panic!("{reg} is assigned and no variable")
            }
        }
    }

    pub(crate) fn block(&mut self, block: &'k [Stmt]) -> Result<(), Unsupported> {
        block.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    /// Translates a statement.
    pub(crate) fn stmt(&mut self, stmt: &'k Stmt) -> Result<(), Unsupported> {
        match stmt {
            Stmt::Let(reg, op) => {
                let value = self.op(op, self.unit.kernel.regs[*reg]);
                self.define(*reg, value);
            }
            Stmt::Var(reg, first) => {
                let ty = machine(self.unit.kernel.regs[*reg]);
                let variable = self.ops.b.declare_var(ty);
                let value = self.operand(*first);
                self.ops.b.def_var(variable, value);
                self.regs[reg.index()] = Some(Binding::Variable(variable));
            }
            Stmt::Set(reg, value) => {
                let value = self.operand(*value);
                self.assign(*reg, value);
            }
            Stmt::Store(addr, value) => {
                let value = self.operand(*value);
                let (address, offset) = self.address(addr);
                self.ops.store(self.unit.kernel.bufs[addr.buf].ty, value, address, offset);
            }
            Stmt::For(inner) => self.run_loop(inner)?,
            Stmt::If(condition, then, other) => self.branch(*condition, then, other)?,
            Stmt::Gemm(gemm) => self.gemm(gemm),
            Stmt::Trap(condition) => {
                let condition = self.operand(*condition);
                self.trap_if(condition);
            }
        }
        Ok(())
    }

    /// Sets the sticky flag if a `bool` holds.
    pub(crate) fn trap_if(&mut self, condition: Value) {
        let flag = self.ops.b.use_var(self.trap);
        let flag = self.ops.b.ins().bor(flag, condition);
        self.ops.b.def_var(self.trap, flag);
    }

    /// The value of an operation that gives a type.
    pub(crate) fn op(&mut self, op: &Op, ty: ScalarType) -> Value {
        let types = |it: &Self, a, b| [it.operand_type(a), it.operand_type(b)];
        let value = match op {
            Op::Copy(a) => return self.operand(*a),
            Op::Load(addr) => {
                let (address, offset) = self.address(addr);
                return self.ops.load(self.unit.kernel.bufs[addr.buf].ty, address, offset);
            }
            Op::Unary(op, a) => {
                let x = Val::one(self.operand(*a));
                self.ops.unary(*op, self.operand_type(*a), x)
            }
            Op::Binary(op, a, b) if let Some(shift) = abilities::shift(*op, *b) => {
                let x = Val::one(self.operand(*a));
                self.ops.shifted(*op, ty, x, shift)
            }
            Op::Binary(op, a, b) => {
                let (x, y) = (Val::one(self.operand(*a)), Val::one(self.operand(*b)));
                self.ops.binary(*op, types(self, *a, *b), x, y)
            }
            Op::Overflows(op, a, b) => {
                let (x, y) = (Val::one(self.operand(*a)), Val::one(self.operand(*b)));
                self.ops.overflows(*op, types(self, *a, *b), x, y)
            }
            Op::NearRsqrt(a) => {
                let x = Val::one(self.operand(*a));
                self.ops.unary(UnaryOp::Rsqrt, ScalarType::F32, x)
            }
            Op::MulAdd(a, b, c) => {
                let [a, b, c] = [a, b, c].map(|operand| Val::one(self.operand(*operand)));
                self.ops.mul_add(ty, a, b, c)
            }
            Op::Cast(a) => {
                let x = Val::one(self.operand(*a));
                self.ops.cast(self.operand_type(*a), ty, x)
            }
            Op::Select(a, b, c) => {
                let [a, b, c] = [a, b, c].map(|operand| Val::one(self.operand(*operand)));
                self.ops.select(ty, a, b, c)
            }
        };
        value.first()
    }

    pub(crate) fn interface(&self) -> Value {
        self.interface.expect("set on entering the function")
    }

    /// The start of a buffer.
    pub(crate) fn pointer(&self, buf: Buf) -> Value {
        self.bufs[buf.index()].expect("every buffer in use has been given its pointer")
    }
}
