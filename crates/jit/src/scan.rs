//! Loops that carry a greatest or least value along a row, in vectors: a precompiled function.

use crate::Unsupported;
use crate::function::Function;
use crate::ops::machine;
use cranelift_codegen::ir::{InstBuilder, types};
use ein_ir::loops::For;
use ein_ir::loops::scan::Scan;
use ein_ir::target::Vectors;
use ein_scalar::ScalarType;

/// The bit of the result that tells a trap.
const TRAPPED: i64 = 1 << 32;

/// The function for integers, where there are the vectors that it needs.
fn integers(vectors: Vectors) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if vectors >= Vectors::Bits256 {
        return Some(vectors::scan as *const () as usize);
    }
    let _ = vectors;
    None
}

impl<'k> Function<'_, '_, 'k> {
    /// Runs a scan.
    pub(crate) fn scan(&mut self, inner: &'k For, scan: Scan) -> Result<(), Unsupported> {
        let (lo, hi) = (self.operand(inner.lo), self.operand(inner.hi));
        let ty = self.unit.kernel.regs[scan.carry];
        let function = match ty {
            ScalarType::F64 => Some(floats::doubles as *const () as usize),
            ScalarType::F32 => Some(floats::singles as *const () as usize),
            _ => integers(self.unit.vectors),
        };
        // A kernel that was decided for another machine is right all the same.
        let (Some(function), Some([input, output])) = (function, inner.scanned()) else {
            return self.serial(inner, lo, hi);
        };
        let places = [output, input].map(|addr| {
            let at = |it: &mut Self, reg| if reg == inner.var { lo } else { it.reg(reg) };
            let (address, offset) = self.address_with(addr, 0, at);
            self.ops.b.ins().iadd_imm_s(address, i64::from(offset))
        });
        // Turned over, the least is the greatest.
        let (step, flip) = if scan.least { (-scan.step, -1) } else { (scan.step, 0) };
        let count = self.ops.b.ins().isub(hi, lo);
        let carry = self.reg(scan.carry);
        if ty.is_float() {
            let least = self.ops.int(types::I32, i64::from(scan.least));
            let arguments = [places[0], places[1], count, carry, least];
            let result = self.ops.call(function, Some(machine(ty)), &arguments);
            self.assign(scan.carry, result.expect("a signature with a result gives one"));
            return Ok(());
        }
        let [step, flip] = [step, flip].map(|it| self.ops.int(types::I32, it));
        let arguments = [places[0], places[1], count, carry, step, flip];
        let result = self.ops.call(function, Some(types::I64), &arguments);
        let result = result.expect("a signature with a result gives one");
        let carried = self.ops.b.ins().ireduce(types::I32, result);
        self.assign(scan.carry, carried);
        let high = self.ops.b.ins().ushr_imm_u(result, i64::from(TRAPPED.trailing_zeros()));
        let trapped = self.ops.b.ins().ireduce(types::I8, high);
        self.trap_if(trapped);
        Ok(())
    }
}

/// `out[i] = carry = max(in[i], carry)` for every `i`, or the least. Floats are compared as integers in
/// the same order, all NaN at the end that wins: a choice between integers takes a cycle or two, one
/// between floats that knows of NaN and of two zeros several times as long.
mod floats {
    macro_rules! scan {
        ($name:ident, $float:ty, $int:ty) => {
            /// # Safety
            ///
            /// There are `count` elements at `from` and room for as many at `out`, which is the same
            /// place or does not overlap it.
            pub(super) unsafe extern "C" fn $name(
                out: *mut $float,
                from: *const $float,
                count: i64,
                carry: $float,
                least: i32,
            ) -> $float {
                const SIGN: u32 = <$int>::BITS - 1;
                let turned = |bits: $int| bits ^ ((bits >> SIGN) & <$int>::MAX);
                let key = |x: $float| match x.is_nan() {
                    true if least != 0 => <$int>::MIN,
                    true => <$int>::MAX,
                    false => turned(x.to_bits() as $int),
                };
                let number = |key: $int| <$float>::from_bits(turned(key) as _);
                let mut carried = key(carry);
                for i in 0..usize::try_from(count).unwrap_or(0) {
                    // SAFETY: the contract is the caller's.
                    let value = key(unsafe { *from.add(i) });
                    carried = if least != 0 { carried.min(value) } else { carried.max(value) };
                    // SAFETY: as above.
                    unsafe { *out.add(i) = number(carried) };
                }
                number(carried)
            }
        };
    }
    scan!(singles, f32, i32);
    scan!(doubles, f64, i64);
}

#[cfg(target_arch = "x86_64")]
mod vectors {
    use super::TRAPPED;
    use std::arch::x86_64::*;

    /// `out[i] = carry = max(in[i], carry + step)` for every `i`, eight at a time: each value reaches
    /// those after it in three strides, and the carry reaches all. With `flip` −1 everything is turned
    /// over, which makes it `min(in[i], carry - step)`. Traps where a value is so near the end of its
    /// type that a stride may have left it; before that nothing wrong can be the greatest.
    ///
    /// # Safety
    ///
    /// There are `count` elements at `from` and room for as many at `out`, which is the same place or
    /// does not overlap it. The machine has AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe extern "C" fn scan(
        out: *mut i32,
        from: *const i32,
        count: i64,
        carry: i32,
        step: i32,
        flip: i32,
    ) -> i64 {
        let count = usize::try_from(count).unwrap_or(0);
        let whole = count - count % 8;
        let (mut carry, mut trapped) = (carry ^ flip, false);
        if whole > 0 {
            // SAFETY: the contract is the caller's.
            (carry, trapped) = unsafe { eights(out, from, whole, carry, step, flip) };
        }
        for i in whole..count {
            // SAFETY: as above.
            let value = unsafe { *from.add(i) } ^ flip;
            let (moved, overflows) = carry.overflowing_add(step);
            trapped |= overflows;
            carry = value.max(moved);
            // SAFETY: as above.
            unsafe { *out.add(i) = carry ^ flip };
        }
        i64::from((carry ^ flip) as u32) | if trapped { TRAPPED } else { 0 }
    }

    /// The whole vectors of a row. Gives the carry and whether it trapped.
    #[target_feature(enable = "avx2")]
    unsafe fn eights(
        out: *mut i32,
        from: *const i32,
        count: usize,
        carry: i32,
        step: i32,
        flip: i32,
    ) -> (i32, bool) {
        let low = if step < 0 { i32::MIN - step * 8 } else { i32::MIN };
        let high = if step > 0 { i32::MAX - step * 8 } else { i32::MAX };
        let least = if step < 0 { low + 1 } else { i32::MIN };
        let all = |x: i32| _mm256_set1_epi32(x);
        let (lows, flips, leasts, highs) = (all(low), all(flip), all(least), all(high));
        let (one, two, four) = (all(step), all(step * 2), all(step * 4));
        let numbers = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8);
        let steps = _mm256_mullo_epi32(numbers, one);
        let outside = |v: __m256i| {
            _mm256_or_si256(_mm256_cmpgt_epi32(leasts, v), _mm256_cmpgt_epi32(v, highs))
        };
        let by_one = _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6);
        let by_two = _mm256_setr_epi32(0, 0, 0, 1, 2, 3, 4, 5);
        let by_four = _mm256_setr_epi32(0, 0, 0, 0, 0, 1, 2, 3);
        let last = all(7);
        let mut carried = all(carry);
        let mut trapped = outside(carried);
        for i in (0..count).step_by(8) {
            // SAFETY: the contract is the caller's.
            let v = unsafe { _mm256_loadu_si256(from.add(i).cast()) };
            let v = _mm256_max_epi32(_mm256_xor_si256(v, flips), lows);
            let w = _mm256_permutevar8x32_epi32(_mm256_add_epi32(v, one), by_one);
            let v = _mm256_max_epi32(v, _mm256_blend_epi32::<1>(w, lows));
            let w = _mm256_permutevar8x32_epi32(_mm256_add_epi32(v, two), by_two);
            let v = _mm256_max_epi32(v, _mm256_blend_epi32::<3>(w, lows));
            let w = _mm256_permutevar8x32_epi32(_mm256_add_epi32(v, four), by_four);
            let v = _mm256_max_epi32(v, _mm256_blend_epi32::<15>(w, lows));
            let v = _mm256_max_epi32(v, _mm256_add_epi32(carried, steps));
            trapped = _mm256_or_si256(trapped, outside(v));
            carried = _mm256_permutevar8x32_epi32(v, last);
            // SAFETY: as above.
            unsafe { _mm256_storeu_si256(out.add(i).cast(), _mm256_xor_si256(v, flips)) };
        }
        (_mm256_extract_epi32::<0>(carried), _mm256_movemask_epi8(trapped) != 0)
    }
}
