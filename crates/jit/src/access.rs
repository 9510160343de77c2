//! Addresses.

use crate::function::{Binding, Function};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ein_base::Idx;
use ein_ir::loops::{Addr, Reg};

impl Function<'_, '_, '_> {
    /// The address of an element: a value and a displacement in bytes.
    pub(crate) fn address(&mut self, addr: &Addr) -> (Value, i32) {
        self.address_with(addr, 0, |it, reg| it.reg(reg))
    }

    /// The address of the element `more` elements after the one given, with other values for
    /// the registers.
    ///
    /// What changes rarely is added first, so that the sum of it can leave the loops in which it
    /// does not change, and is shared by neighbours.
    pub(crate) fn address_with(
        &mut self,
        addr: &Addr,
        more: i64,
        mut reg: impl FnMut(&mut Self, Reg) -> Value,
    ) -> (Value, i32) {
        let size = self.unit.kernel.bufs[addr.buf].ty.size_bytes() as i64;
        let mut offset = addr.offset.wrapping_add(more);
        let mut terms: Vec<(u32, Reg, i64)> = Vec::with_capacity(addr.terms.len());
        for (reg, factor) in &addr.terms {
            match self.regs[reg.index()] {
                Some(Binding::Known(value)) => {
                    offset = offset.wrapping_add(value.wrapping_mul(*factor));
                }
                Some(Binding::Value(_, depth)) => terms.push((depth, *reg, *factor)),
                Some(Binding::Variable(_)) | None => terms.push((u32::MAX, *reg, *factor)),
            }
        }
        terms.sort_by_key(|(depth, ..)| *depth);
        let mut address = self.pointer(addr.buf);
        for (_, term, factor) in terms {
            let value = reg(self, term);
            let step = self.scaled(value, factor.wrapping_mul(size));
            address = self.ops.b.ins().iadd(address, step);
        }
        let bytes = offset.wrapping_mul(size);
        match i32::try_from(bytes) {
            // Room for the displacements of a few vectors more.
            Ok(bytes) if bytes.unsigned_abs() < 1 << 30 => (address, bytes),
            _ => {
                let bytes = self.ops.b.ins().iconst(types::I64, bytes);
                (self.ops.b.ins().iadd(address, bytes), 0)
            }
        }
    }

    fn scaled(&mut self, value: Value, factor: i64) -> Value {
        if factor == 1 {
            value
        } else if factor > 0 && factor.count_ones() == 1 {
            self.ops.b.ins().ishl_imm_u(value, i64::from(factor.trailing_zeros()))
        } else {
            self.ops.b.ins().imul_imm_s(value, factor)
        }
    }
}
