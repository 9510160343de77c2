//! Branches and loops, but for vector loops.

use crate::Unsupported;
use crate::function::{Binding, Function};
use crate::memory::memory;
use crate::module::{Body, body_signature, reference};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value, types};
use cranelift_module::{Linkage, Module};
use ein_base::Idx;
use ein_ir::loops::{Buf, For, ForKind, Operand, Reg, Stmt};
use ein_runtime::kernel::{Interface, LEFT};
use ein_scalar::Scalar;
use std::mem::offset_of;

/// Loops of at most so many statements in all copies are unrolled.
const UNROLL_LIMIT: usize = 1024;

impl<'k> Function<'_, '_, 'k> {
    pub(crate) fn branch(
        &mut self,
        condition: Operand,
        then: &'k [Stmt],
        other: &'k [Stmt],
    ) -> Result<(), Unsupported> {
        let condition = self.operand(condition);
        let [yes, no, end] = [(); 3].map(|()| self.ops.b.create_block());
        self.ops.b.ins().brif(condition, yes, &[], no, &[]);
        for (start, block) in [(yes, then), (no, other)] {
            self.ops.b.switch_to_block(start);
            self.ops.b.seal_block(start);
            self.block(block)?;
            self.ops.b.ins().jump(end, &[]);
        }
        self.ops.b.switch_to_block(end);
        self.ops.b.seal_block(end);
        Ok(())
    }

    pub(crate) fn run_loop(&mut self, inner: &'k For) -> Result<(), Unsupported> {
        match &inner.kind {
            // Nothing that stands around code changes what it computes here.
            // What nobody has decided runs in no vectors.
            ForKind::Serial | ForKind::Apart | ForKind::Until(_) | ForKind::Vector { .. } => {
                let (lo, hi) = (self.operand(inner.lo), self.operand(inner.hi));
                self.serial(inner, lo, hi)
            }
            ForKind::Scan(scan) => self.scan(inner, *scan),
            ForKind::Backward => self.backward(inner),
            ForKind::Parallel { grain } => {
                self.by_itself(inner, offset_of!(Interface, parallel), *grain)
            }
            ForKind::Flushed => self.by_itself(inner, offset_of!(Interface, flushed), 1),
            ForKind::Lanes(lanes) => self.vector(inner, lanes),
            ForKind::Unrolled => match (self.known(inner.lo), self.known(inner.hi)) {
                (Some(lo), Some(hi)) if copies(lo, hi) * size(&inner.body) <= UNROLL_LIMIT => {
                    for value in lo..hi {
                        self.regs[inner.var.index()] = Some(Binding::Known(value));
                        self.block(&inner.body)?;
                    }
                    Ok(())
                }
                _ => {
                    let (lo, hi) = (self.operand(inner.lo), self.operand(inner.hi));
                    self.serial(inner, lo, hi)
                }
            },
        }
    }

    /// Runs the body upward, tested at its end: whether that was the last one, and whether it ends the
    /// loop.
    pub(crate) fn serial(
        &mut self,
        inner: &'k For,
        lo: Value,
        hi: Value,
    ) -> Result<(), Unsupported> {
        let [body, end] = [(); 2].map(|()| self.ops.b.create_block());
        let counter = self.ops.b.append_block_param(body, types::I64);
        let turns = inner.asks_after();
        let part = turns.map(|turns| {
            let part = self.ops.b.declare_var(types::I64);
            let first = self.part_end(lo, hi, turns);
            self.ops.b.def_var(part, first);
            part
        });
        let some = self.ops.b.ins().icmp(IntCC::SignedLessThan, lo, hi);
        self.ops.b.ins().brif(some, body, &[BlockArg::Value(lo)], end, &[]);
        self.ops.b.switch_to_block(body);
        self.depth += 1;
        self.define(inner.var, counter);
        self.block(&inner.body)?;
        self.depth -= 1;
        let next = self.ops.b.ins().iadd_imm_s(counter, 1);
        if let ForKind::Until(ends) = inner.kind {
            let ends = self.operand(Operand::Reg(ends));
            let go_on = self.ops.b.create_block();
            self.ops.b.ins().brif(ends, end, &[], go_on, &[]);
            self.ops.b.switch_to_block(go_on);
            self.ops.b.seal_block(go_on);
        }
        let Some((part, turns)) = part.zip(turns) else {
            let more = self.ops.b.ins().icmp(IntCC::SignedLessThan, next, hi);
            self.ops.b.ins().brif(more, body, &[BlockArg::Value(next)], end, &[]);
            self.ops.b.seal_block(body);
            self.ops.b.switch_to_block(end);
            self.ops.b.seal_block(end);
            return Ok(());
        };
        let [asks, again] = [(); 2].map(|()| self.ops.b.create_block());
        let until = self.ops.b.use_var(part);
        let more = self.ops.b.ins().icmp(IntCC::SignedLessThan, next, until);
        self.ops.b.ins().brif(more, body, &[BlockArg::Value(next)], asks, &[]);
        self.ops.b.switch_to_block(asks);
        self.ops.b.seal_block(asks);
        let more = self.ops.b.ins().icmp(IntCC::SignedLessThan, next, hi);
        self.ops.b.ins().brif(more, again, &[], end, &[]);
        self.ops.b.switch_to_block(again);
        self.ops.b.seal_block(again);
        self.ask_to_leave();
        let until = self.part_end(next, hi, turns);
        self.ops.b.def_var(part, until);
        self.ops.b.ins().jump(body, &[BlockArg::Value(next)]);
        self.ops.b.seal_block(body);
        self.ops.b.switch_to_block(end);
        self.ops.b.seal_block(end);
        Ok(())
    }

    /// Where so many turns from a first one on end, of a loop that goes to `hi`.
    fn part_end(&mut self, lo: Value, hi: Value, turns: i64) -> Value {
        // Where there is nothing left it does not matter.
        let left = self.ops.b.ins().isub(hi, lo);
        let most = self.ops.b.ins().iconst(types::I64, turns);
        let turns = self.ops.b.ins().umin(left, most);
        self.ops.b.ins().iadd(lo, turns)
    }

    /// Returns if something has failed here, or if the run is to be left for another reason.
    fn ask_to_leave(&mut self) {
        let trap = self.ops.b.use_var(self.trap);
        let answer = self.call_interface(offset_of!(Interface, leaves), Some(types::I32), &[]);
        let trap = self.ops.b.ins().uextend(types::I32, trap);
        let some = match answer {
            Some(answer) => self.ops.b.ins().bor(trap, answer),
            None => trap,
        };
        self.leave_if(some);
    }

    /// Returns at once, and says so, if a number is not zero.
    fn leave_if(&mut self, condition: Value) {
        let [leave, stay] = [(); 2].map(|()| self.ops.b.create_block());
        self.ops.b.ins().brif(condition, leave, &[], stay, &[]);
        self.ops.b.switch_to_block(leave);
        self.ops.b.seal_block(leave);
        let left = self.ops.b.ins().iconst(types::I32, i64::from(LEFT));
        self.ops.b.ins().return_(&[left]);
        self.ops.b.switch_to_block(stay);
        self.ops.b.seal_block(stay);
    }

    /// Runs the body downward.
    fn backward(&mut self, inner: &'k For) -> Result<(), Unsupported> {
        let (lo, hi) = (self.operand(inner.lo), self.operand(inner.hi));
        let [body, end] = [(); 2].map(|()| self.ops.b.create_block());
        let above = self.ops.b.append_block_param(body, types::I64);
        let some = self.ops.b.ins().icmp(IntCC::SignedLessThan, lo, hi);
        self.ops.b.ins().brif(some, body, &[BlockArg::Value(hi)], end, &[]);
        self.ops.b.switch_to_block(body);
        self.depth += 1;
        let counter = self.ops.b.ins().iadd_imm_s(above, -1);
        self.define(inner.var, counter);
        self.block(&inner.body)?;
        self.depth -= 1;
        let more = self.ops.b.ins().icmp(IntCC::SignedGreaterThan, counter, lo);
        self.ops.b.ins().brif(more, body, &[BlockArg::Value(counter)], end, &[]);
        self.ops.b.seal_block(body);
        self.ops.b.switch_to_block(end);
        self.ops.b.seal_block(end);
        Ok(())
    }

    /// Hands the body to a function of the interface, with the values it needs in a block on the
    /// stack.
    fn by_itself(&mut self, inner: &'k For, runner: usize, grain: i64) -> Result<(), Unsupported> {
        let uses = inner.captures();
        let number = self.unit.loops;
        self.unit.loops += 1;
        let mut bufs: Vec<Buf> = uses.bufs.into_iter().collect();
        // The others belong to this loop or to a parallel one in it.
        bufs.retain(|buf| self.bufs[buf.index()].is_some());
        let regs: Vec<Reg> = uses.regs.into_iter().collect();
        let signature = body_signature(self.unit.host);
        let id = self
            .unit
            .module
            .declare_function(&format!("body{number}"), Linkage::Local, &signature)
            .map_err(|error| Unsupported::new(format!("{error:?}")))?;

        if inner.has_long_loops() {
            let trap = self.ops.b.use_var(self.trap);
            self.leave_if(trap);
        }
        let interface = self.interface();
        let mut values = vec![interface];
        values.extend(regs.iter().map(|reg| self.reg(*reg)));
        values.extend(bufs.iter().map(|buf| self.pointer(*buf)));
        let captured = self.room(8 * values.len() as u64)?;
        for (n, value) in values.into_iter().enumerate() {
            self.ops.b.ins().store(memory(), value, captured, 8 * n as i32);
        }
        let callee = reference(&mut self.unit.module, id, self.ops.b.func);
        let body = self.ops.b.ins().func_addr(types::I64, callee);
        let (lo, hi) = (self.operand(inner.lo), self.operand(inner.hi));
        let grain = self.ops.b.ins().iconst(types::I64, grain);
        let trapped =
            self.call_interface(runner, Some(types::I32), &[body, captured, lo, hi, grain]);
        if let Some(trapped) = trapped {
            let left = self.ops.b.ins().band_imm_u(trapped, i64::from(LEFT));
            self.leave_if(left);
            let trapped = self.ops.b.ins().icmp_imm_u(IntCC::NotEqual, trapped, 0);
            self.trap_if(trapped);
        }
        self.unit.bodies.push(Body { id, inner, regs, bufs });
        Ok(())
    }
}

fn copies(lo: i64, hi: i64) -> usize {
    usize::try_from(hi.saturating_sub(lo)).unwrap_or(0)
}

/// How many statements there are in a block.
fn size(block: &[Stmt]) -> usize {
    block
        .iter()
        .map(|stmt| match stmt {
            Stmt::For(inner) => {
                let copies = match (&inner.kind, inner.lo, inner.hi) {
                    (
                        ForKind::Unrolled,
                        Operand::Const(Scalar::I64(lo)),
                        Operand::Const(Scalar::I64(hi)),
                    ) => copies(lo, hi),
                    _ => 1,
                };
                (1 + size(&inner.body)).saturating_mul(copies)
            }
            Stmt::If(_, then, other) => 1 + size(then) + size(other),
            Stmt::Let(..) | Stmt::Var(..) | Stmt::Set(..) | Stmt::Store(..) => 1,
            Stmt::Gemm(_) | Stmt::Trap(_) => 1,
        })
        .fold(0, usize::saturating_add)
}
