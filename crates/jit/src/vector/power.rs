//! Powers with short constant exponents: a few multiplications, divisions and square roots.

use crate::function::Function;
use crate::ops::{Val, is_half};
use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::FloatCC;
use ein_scalar::ScalarType;

impl Function<'_, '_, '_> {
    /// `x ** n` of floats, accurate to 2 ulp, with the special cases of IEEE 754.
    pub(super) fn short_power(&mut self, ty: ScalarType, x: Val, exponent: f64) -> Val {
        let ops = &mut self.ops;
        ops.map(x, |ops, x| {
            let float = ops.type_of(x);
            let one = ops.float(float, 1.0);
            let whole = exponent.fract() == 0.0;
            let power = if whole {
                let square = ops.b.ins().fmul(x, x);
                match exponent as i64 {
                    -1 => ops.b.ins().fdiv(one, x),
                    1 => x,
                    2 => square,
                    3 => ops.b.ins().fmul(square, x),
                    _ => ops.b.ins().fmul(square, square),
                }
            } else {
                // −0 is as +0, and −∞ as +∞.
                let zero = ops.float(float, 0.0);
                let lowest = ops.float(float, f64::NEG_INFINITY);
                let infinity = ops.float(float, f64::INFINITY);
                let is_lowest = ops.b.ins().fcmp(FloatCC::Equal, x, lowest);
                let x = ops.choose(is_lowest, infinity, x);
                let x = ops.b.ins().fadd(x, zero);
                let root = ops.b.ins().sqrt(x);
                if exponent == 0.5 {
                    root
                } else if exponent == 1.5 {
                    ops.b.ins().fmul(x, root)
                } else {
                    ops.b.ins().fdiv(one, root)
                }
            };
            if is_half(ty) { ops.round_half(ty, power) } else { power }
        })
    }
}
