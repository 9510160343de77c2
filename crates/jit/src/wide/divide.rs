//! Divisions of integers by constants in wide loops, and whether products overflow: both by the upper
//! half of a product, for which there is an instruction on every other lane.

use super::asm::{Map, Rm};
use super::code::{Emitter, Loc, Uniform};
use super::ops::int;
use ein_ir::loops::Operand;
use ein_scalar::{BinaryOp, ScalarType};

const I32: ScalarType = ScalarType::I32;
const PAIRS: ScalarType = ScalarType::I64;

/// The number by which to multiply, and the bits by which to shift the upper half of the product, that
/// divide every `i32` by `divisor`, which is above 1 (Hacker's Delight, 10-1).
fn magic(divisor: u32) -> (i32, u8) {
    const HALF: u32 = 1 << 31;
    let most = HALF - 1 - HALF % divisor;
    let (mut a, mut b) = ((HALF / most, HALF % most), (HALF / divisor, HALF % divisor));
    let double = |(quotient, rest): (u32, u32), by: u32| {
        let more = u32::from(rest >= by - rest);
        (quotient.wrapping_mul(2).wrapping_add(more), rest.wrapping_mul(2).wrapping_sub(more * by))
    };
    let mut power = 31;
    loop {
        power += 1;
        (a, b) = (double(a, most), double(b, divisor));
        let missing = divisor - b.1;
        if a.0 > missing || (a.0 == missing && a.1 != 0) {
            return (b.0.wrapping_add(1) as i32, power - 32);
        }
    }
}

/// The upper halves of products of signed lanes of 32 bits.
fn upper(it: &mut Emitter<'_, '_>, x: u8, y: u8) -> u8 {
    let (even, odd, other) = (it.temporary(), it.temporary(), it.temporary());
    let product = int(Map::B, PAIRS, 0x28);
    let shift = int(Map::A, PAIRS, 0x73);
    it.apply(product, I32, [even, x], Rm::Reg(y), None);
    it.apply(shift, I32, [2, odd], Rm::Reg(x), Some(32));
    it.apply(shift, I32, [2, other], Rm::Reg(y), Some(32));
    it.apply(product, I32, [odd, odd], Rm::Reg(other), None);
    it.apply(shift, I32, [2, even], Rm::Reg(even), Some(32));
    it.apply(shift, I32, [2, odd], Rm::Reg(odd), Some(32));
    it.apply(shift, I32, [6, odd], Rm::Reg(odd), Some(32));
    it.apply(int(Map::A, PAIRS, 0xeb), I32, [even, even], Rm::Reg(odd), None);
    even
}

/// The signs of lanes of 32 bits, as −1 and 0.
fn signs(it: &mut Emitter<'_, '_>, to: u8, x: u8) {
    it.apply(int(Map::A, I32, 0x72), I32, [4, to], Rm::Reg(x), Some(31));
}

/// A quotient or remainder by a constant above 1.
pub(super) fn divided(
    it: &mut Emitter<'_, '_>,
    op: BinaryOp,
    a: Operand,
    divisor: u32,
) -> Option<Loc> {
    let ty = it.type_of(a);
    let (number, shift) = magic(divisor);
    let x = it.vector(a)?;
    let constant = |number: i32| Uniform::Const(u64::from(number as u32), 4);
    let factor = it.uniform_vector(constant(number));
    let quotient = upper(it, x, factor);
    let (add, subtract) = (int(Map::A, I32, 0xfe), int(Map::A, I32, 0xfa));
    if number < 0 {
        it.apply(add, I32, [quotient, quotient], Rm::Reg(x), None);
    }
    it.apply(int(Map::A, I32, 0x72), I32, [4, quotient], Rm::Reg(quotient), Some(shift));
    let (sign, to) = (it.temporary(), it.new_vector());
    signs(it, sign, x);
    it.apply(subtract, I32, [quotient, quotient], Rm::Reg(sign), None);
    if op == BinaryOp::Div {
        it.copy(to, quotient);
    } else {
        let by = it.uniform_vector(constant(divisor as i32));
        let rest = it.temporary();
        it.apply(int(Map::B, I32, 0x40), I32, [rest, quotient], Rm::Reg(by), None);
        it.apply(subtract, I32, [rest, x], Rm::Reg(rest), None);
        signs(it, sign, rest);
        match op {
            BinaryOp::FloorDiv => {
                it.apply(add, I32, [to, quotient], Rm::Reg(sign), None);
            }
            BinaryOp::FloorMod => {
                it.apply(int(Map::A, I32, 0xdb), I32, [sign, sign], Rm::Reg(by), None);
                it.apply(add, I32, [to, rest], Rm::Reg(sign), None);
            }
            _ => it.copy(to, rest),
        }
    }
    it.normal(ty, to);
    Some(Loc::Vector(to))
}

/// Whether products of `i32` leave it: the upper half is not all sign.
pub(super) fn product_overflows(it: &mut Emitter<'_, '_>, a: Operand, b: Operand) -> Option<Loc> {
    let (x, y, to) = (it.vector(a)?, it.vector(b)?, it.new_mask()?);
    let upper = upper(it, x, y);
    let lower = it.temporary();
    it.apply(int(Map::B, I32, 0x40), I32, [lower, x], Rm::Reg(y), None);
    signs(it, lower, lower);
    it.compare(BinaryOp::Ne, I32, to, upper, Rm::Reg(lower));
    Some(Loc::Mask(to))
}

/// The constant above 1 by which lanes of 32 bits are divided, if an operation is that.
pub(super) fn divisor(op: BinaryOp, ty: ScalarType, by: Operand) -> Option<u32> {
    let divides =
        matches!(op, BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::FloorMod);
    match by {
        Operand::Const(by) if divides && ty.is_signed() && ty.is_int() && ty.size_bytes() <= 4 => {
            by.as_i64().and_then(|by| u32::try_from(by).ok()).filter(|by| *by > 1)
        }
        Operand::Const(_) | Operand::Reg(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_divide_as_division_does() {
        let ends = [0, 1, 2, 6, 7, 8, 99, 1 << 16, (1 << 30) + 1, i32::MAX - 1, i32::MAX];
        for divisor in (2..2000).chain([10_007, 65_536, 1 << 30, i32::MAX as u32]) {
            let (number, shift) = magic(divisor);
            let near = [divisor as i32, (divisor as i32).wrapping_mul(12345)];
            let all = ends.iter().chain(&near).flat_map(|x| [*x, -x, x.wrapping_sub(1)]);
            for x in all.chain([i32::MIN, i32::MIN + 1]) {
                let mut quotient = ((i64::from(x) * i64::from(number)) >> 32) as i32;
                quotient = quotient.wrapping_add(if number < 0 { x } else { 0 });
                quotient = (quotient >> shift) - (x >> 31);
                assert_eq!(
                    i64::from(quotient),
                    i64::from(x) / i64::from(divisor),
                    "{x} / {divisor}"
                );
            }
        }
    }
}
