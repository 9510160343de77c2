//! Calls through the interface.

use crate::function::Function;
use crate::memory::memory;
use cranelift_codegen::ir::{InstBuilder, StackSlotData, StackSlotKind, Value, types};
use ein_ir::loops::{Gemm, Matrix};
use ein_runtime::kernel::{GemmArgs, Interface};
use ein_scalar::ScalarType;
use std::mem::offset_of;

impl Function<'_, '_, '_> {
    pub(crate) fn call_interface(
        &mut self,
        field: usize,
        result: Option<types::Type>,
        arguments: &[Value],
    ) -> Option<Value> {
        let interface = self.interface();
        let callee = self.ops.b.ins().load(types::I64, memory(), interface, field as i32);
        let context = offset_of!(Interface, context) as i32;
        let context = self.ops.b.ins().load(types::I64, memory(), interface, context);
        let mut all = vec![context];
        all.extend_from_slice(arguments);
        self.ops.call_value(callee, result, &all)
    }

    pub(crate) fn gemm(&mut self, gemm: &Gemm) {
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, size_of::<GemmArgs>() as u32, 4);
        let slot = self.ops.b.create_sized_stack_slot(data);
        let args = self.ops.b.ins().stack_addr(types::I64, slot, 0);
        let put = |it: &mut Self, value, offset: usize| {
            it.ops.b.ins().store(memory(), value, args, offset as i32);
        };
        for (operand, offset) in [
            (gemm.m, offset_of!(GemmArgs, m)),
            (gemm.n, offset_of!(GemmArgs, n)),
            (gemm.k, offset_of!(GemmArgs, k)),
        ] {
            let value = self.operand(operand);
            put(self, value, offset);
        }
        let places = [
            (
                &gemm.a,
                offset_of!(GemmArgs, a),
                offset_of!(GemmArgs, a_rows),
                offset_of!(GemmArgs, a_cols),
            ),
            (
                &gemm.b,
                offset_of!(GemmArgs, b),
                offset_of!(GemmArgs, b_rows),
                offset_of!(GemmArgs, b_cols),
            ),
            (
                &gemm.c,
                offset_of!(GemmArgs, c),
                offset_of!(GemmArgs, c_rows),
                offset_of!(GemmArgs, c_cols),
            ),
        ];
        for (matrix, first, rows, cols) in places {
            let Matrix { addr, rows: row_step, cols: col_step } = matrix;
            let (address, offset) = self.address(addr);
            let address = self.ops.b.ins().iadd_imm_s(address, i64::from(offset));
            put(self, address, first);
            let (row_step, col_step) = (
                self.ops.b.ins().iconst(types::I64, *row_step),
                self.ops.b.ins().iconst(types::I64, *col_step),
            );
            put(self, row_step, rows);
            put(self, col_step, cols);
        }
        for (flag, offset) in [
            (gemm.accumulate, offset_of!(GemmArgs, accumulate)),
            (gemm.parallel, offset_of!(GemmArgs, parallel)),
        ] {
            let flag = self.ops.b.ins().iconst(types::I32, i64::from(flag));
            put(self, flag, offset);
        }
        let field = match self.unit.kernel.bufs[gemm.c.addr.buf].ty {
            ScalarType::F64 => offset_of!(Interface, gemm_f64),
            _ => offset_of!(Interface, gemm_f32),
        };
        self.call_interface(field, None, &[args]);
    }
}
