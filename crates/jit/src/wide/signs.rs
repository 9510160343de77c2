//! Signs of numbers in wide loops.

use super::asm::{Map, Rm, Under};
use super::code::{Emitter, Loc};
use super::operands::constant;
use super::ops::int;
use ein_scalar::{BinaryOp, Scalar, ScalarType};

/// One or minus one by the sign of `x`, and where it has none what is in `still`.
pub(super) fn of(emitter: &mut Emitter<'_, '_>, ty: ScalarType, x: u8, still: u8) -> Option<Loc> {
    let minus = match ty.is_float() {
        true => Scalar::from_f64(-1.0, ty)?,
        false => Scalar::from_bits(ty, u64::MAX),
    };
    let to = emitter.new_vector();
    blend(emitter, BinaryOp::Gt, ty, [to, still, x], Scalar::one(ty))?;
    if ty.is_signed() {
        blend(emitter, BinaryOp::Lt, ty, [to, to, x], minus)?;
    }
    Some(Loc::Vector(to))
}

/// `to = value` where `x` compares so with zero, and `other` elsewhere.
fn blend(
    emitter: &mut Emitter<'_, '_>,
    test: BinaryOp,
    ty: ScalarType,
    [to, other, x]: [u8; 3],
    value: Scalar,
) -> Option<()> {
    let zero = emitter.uniform_vector(constant(Scalar::zero(ty)));
    let value = emitter.uniform_vector(constant(value));
    let (mask, bytes) = (emitter.temporary_mask()?, emitter.bytes(ty));
    emitter.compare(test, ty, mask, x, Rm::Reg(zero));
    let ins = int(Map::B, ty, 0x65);
    emitter.asm.vector(ins, bytes, Under::Merge(mask), [to, other], Rm::Reg(value), None);
    Some(())
}
