//! Scalar operations as machine instructions, on one value or on four lanes.
//!
//! A value has one of two forms, told apart by the machine type of its parts:
//!
//! * **one**: a machine scalar; `bool` is 0 or 1 in 8 bits, `f16` and `bf16` are held as the `f32`
//!   of the same value;
//! * **four**: four lanes. Types of 8 bytes are two vectors of two lanes, all others one vector of
//!   four; integers below 32 bits are held in lanes of 32, sign- or zero-extended; `bool` is a mask
//!   of all ones or zeros, in one vector or in two as the comparison that made it.
//!
//! What has no vector instruction is done lane by lane, so that the two forms never differ.

use crate::host::Host;
use cranelift_codegen::ir::types::{self, Type};
use cranelift_codegen::ir::{
    AbiParam, ConstantData, Endianness, InstBuilder, MemFlagsData, SigRef, Signature, Value,
};
use cranelift_frontend::FunctionBuilder;
pub(crate) use ein_ir::loops::abilities::{is_half, is_wide};
use ein_scalar::{Scalar, ScalarType};

/// A value in one of the two forms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Val {
    pub(crate) parts: [Value; 2],
    pub(crate) pair: bool,
}

impl Val {
    /// A value of one part.
    pub(crate) fn one(part: Value) -> Val {
        Val { parts: [part, part], pair: false }
    }

    /// Four lanes in two vectors.
    pub(crate) fn pair(low: Value, high: Value) -> Val {
        Val { parts: [low, high], pair: true }
    }

    /// The parts.
    pub(crate) fn parts(&self) -> &[Value] {
        &self.parts[..if self.pair { 2 } else { 1 }]
    }

    /// The first or only part.
    pub(crate) fn first(self) -> Value {
        self.parts[0]
    }
}

/// The machine type of a scalar in the form *one*.
pub(crate) fn machine(ty: ScalarType) -> Type {
    match ty {
        ScalarType::Bool | ScalarType::I8 | ScalarType::U8 => types::I8,
        ScalarType::I16 | ScalarType::U16 => types::I16,
        ScalarType::I32 | ScalarType::U32 => types::I32,
        ScalarType::I64 | ScalarType::U64 => types::I64,
        ScalarType::F16 | ScalarType::BF16 | ScalarType::F32 => types::F32,
        ScalarType::F64 => types::F64,
    }
}

/// The machine type of a part in the form *four*.
pub(crate) fn machine_four(ty: ScalarType) -> Type {
    match ty {
        ScalarType::Bool
        | ScalarType::I8
        | ScalarType::U8
        | ScalarType::I16
        | ScalarType::U16
        | ScalarType::I32
        | ScalarType::U32 => types::I32X4,
        ScalarType::I64 | ScalarType::U64 => types::I64X2,
        ScalarType::F16 | ScalarType::BF16 | ScalarType::F32 => types::F32X4,
        ScalarType::F64 => types::F64X2,
    }
}

/// A builder of instructions.
pub(crate) struct Ops<'f> {
    pub(crate) b: FunctionBuilder<'f>,
    pub(crate) host: &'f Host,
    signatures: Vec<(Vec<Type>, Option<Type>, SigRef)>,
}

impl<'f> Ops<'f> {
    pub(crate) fn new(b: FunctionBuilder<'f>, host: &'f Host) -> Self {
        Ops { b, host, signatures: Vec::new() }
    }

    /// The machine type of a value.
    pub(crate) fn type_of(&self, value: Value) -> Type {
        self.b.func.dfg.value_type(value)
    }

    /// Whether a value has the form *four*.
    pub(crate) fn is_four(&self, value: Val) -> bool {
        self.type_of(value.first()).is_vector()
    }

    /// Applies a function to each part.
    pub(crate) fn map(&mut self, x: Val, mut f: impl FnMut(&mut Self, Value) -> Value) -> Val {
        let low = f(self, x.parts[0]);
        if x.pair { Val::pair(low, f(self, x.parts[1])) } else { Val::one(low) }
    }

    /// Applies a function to corresponding parts.
    pub(crate) fn map2(
        &mut self,
        x: Val,
        y: Val,
        mut f: impl FnMut(&mut Self, Value, Value) -> Value,
    ) -> Val {
        debug_assert_eq!(x.pair, y.pair);
        let low = f(self, x.parts[0], y.parts[0]);
        if x.pair { Val::pair(low, f(self, x.parts[1], y.parts[1])) } else { Val::one(low) }
    }

    /// An integer constant, in all lanes if the type is a vector.
    pub(crate) fn int(&mut self, ty: Type, value: i64) -> Value {
        let lane = ty.lane_type();
        let bits = if lane.bits() == 64 { value } else { value & ((1 << lane.bits()) - 1) };
        if ty.is_vector() {
            self.splat_bits(ty, bits as u64)
        } else {
            self.b.ins().iconst(ty, bits)
        }
    }

    /// A float constant, in all lanes if the type is a vector.
    pub(crate) fn float(&mut self, ty: Type, value: f64) -> Value {
        match (ty.is_vector(), ty.lane_type() == types::F32) {
            (false, true) => self.b.ins().f32const(value as f32),
            (false, false) => self.b.ins().f64const(value),
            (true, true) => self.splat_bits(ty, u64::from((value as f32).to_bits())),
            (true, false) => self.splat_bits(ty, value.to_bits()),
        }
    }

    fn splat_bits(&mut self, ty: Type, bits: u64) -> Value {
        let bytes = bits.to_le_bytes();
        let lane = ty.lane_type().bytes() as usize;
        let all: Vec<u8> = bytes[..lane].iter().copied().cycle().take(16).collect();
        let constant = self.b.func.dfg.constants.insert(ConstantData::from(&all[..]));
        self.b.ins().vconst(ty, constant)
    }

    /// A vector constant.
    pub(crate) fn lanes_const(&mut self, ty: Type, bytes: &[u8]) -> Value {
        let constant = self.b.func.dfg.constants.insert(ConstantData::from(bytes));
        self.b.ins().vconst(ty, constant)
    }

    /// A constant in the form *one*.
    pub(crate) fn constant(&mut self, value: Scalar) -> Value {
        let ty = value.ty();
        if ty.is_float() {
            self.float(machine(ty), value.as_f64())
        } else {
            self.int(machine(ty), value.to_bits() as i64)
        }
    }

    /// A constant in the form *four*.
    pub(crate) fn constant_four(&mut self, value: Scalar) -> Val {
        let (ty, part) = (value.ty(), machine_four(value.ty()));
        let lanes = match value {
            Scalar::Bool(truth) => self.int(part, if truth { -1 } else { 0 }),
            _ if ty.is_float() => self.float(part, value.as_f64()),
            Scalar::U64(x) => self.int(part, x as i64),
            value => self.int(part, value.as_i64().unwrap_or_default()),
        };
        if is_wide(ty) { Val::pair(lanes, lanes) } else { Val::one(lanes) }
    }

    /// One value in all lanes.
    pub(crate) fn splat(&mut self, ty: ScalarType, value: Value) -> Val {
        let lane = self.lane_of(ty, value);
        let lanes = self.b.ins().splat(machine_four(ty), lane);
        if is_wide(ty) { Val::pair(lanes, lanes) } else { Val::one(lanes) }
    }

    /// A scalar as what stands in a lane.
    pub(crate) fn lane_of(&mut self, ty: ScalarType, value: Value) -> Value {
        match ty {
            ScalarType::Bool => {
                let wide = self.b.ins().uextend(types::I32, value);
                self.b.ins().ineg(wide)
            }
            ScalarType::I8 | ScalarType::I16 => self.b.ins().sextend(types::I32, value),
            ScalarType::U8 | ScalarType::U16 => self.b.ins().uextend(types::I32, value),
            ScalarType::I32 | ScalarType::U32 | ScalarType::I64 | ScalarType::U64 => value,
            ScalarType::F16 | ScalarType::BF16 | ScalarType::F32 | ScalarType::F64 => value,
        }
    }

    /// What stands in a lane as a scalar.
    pub(crate) fn scalar_of(&mut self, ty: ScalarType, lane: Value) -> Value {
        match ty {
            ScalarType::Bool => {
                let low = self.b.ins().ireduce(types::I8, lane);
                self.b.ins().band_imm_u(low, 1)
            }
            ScalarType::I8 | ScalarType::U8 => self.b.ins().ireduce(types::I8, lane),
            ScalarType::I16 | ScalarType::U16 => self.b.ins().ireduce(types::I16, lane),
            ScalarType::I32 | ScalarType::U32 | ScalarType::I64 | ScalarType::U64 => lane,
            ScalarType::F16 | ScalarType::BF16 | ScalarType::F32 | ScalarType::F64 => lane,
        }
    }

    /// The four lanes as scalars.
    pub(crate) fn lanes(&mut self, ty: ScalarType, x: Val) -> [Value; 4] {
        [0u8, 1, 2, 3].map(|i| {
            let (part, lane) =
                if x.pair { (x.parts[usize::from(i / 2)], i % 2) } else { (x.parts[0], i) };
            let lane = self.b.ins().extractlane(part, lane);
            self.scalar_of(ty, lane)
        })
    }

    /// Four scalars as lanes.
    pub(crate) fn joined(&mut self, ty: ScalarType, lanes: [Value; 4]) -> Val {
        let lanes = lanes.map(|lane| self.lane_of(ty, lane));
        let part = machine_four(ty);
        let gather = |it: &mut Self, lanes: &[Value]| {
            let mut vector = it.b.ins().scalar_to_vector(part, lanes[0]);
            for (i, lane) in lanes.iter().enumerate().skip(1) {
                vector = it.b.ins().insertlane(vector, *lane, i as u8);
            }
            vector
        };
        if is_wide(ty) {
            Val::pair(gather(self, &lanes[..2]), gather(self, &lanes[2..]))
        } else {
            Val::one(gather(self, &lanes))
        }
    }

    /// The bits of a value as another type of the same size.
    pub(crate) fn bits(&mut self, ty: Type, value: Value) -> Value {
        if self.type_of(value) == ty {
            return value;
        }
        let flags = MemFlagsData::new().with_endianness(Endianness::Little);
        self.b.ins().bitcast(ty, flags, value)
    }

    /// The bytes of two vectors, chosen by number.
    pub(crate) fn shuffle(&mut self, a: Value, b: Value, bytes: [u8; 16], ty: Type) -> Value {
        let (a, b) = (self.bits(types::I8X16, a), self.bits(types::I8X16, b));
        let mask = self.b.func.dfg.immediates.push(ConstantData::from(&bytes[..]));
        let shuffled = self.b.ins().shuffle(a, b, mask);
        self.bits(ty, shuffled)
    }

    /// A mask in one vector.
    pub(crate) fn narrow_mask(&mut self, mask: Val) -> Val {
        if !mask.pair {
            return mask;
        }
        let even = [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27];
        Val::one(self.shuffle(mask.parts[0], mask.parts[1], even, types::I32X4))
    }

    /// A mask in two vectors.
    pub(crate) fn widen_mask(&mut self, mask: Val) -> Val {
        if mask.pair {
            return mask;
        }
        let low = self.b.ins().swiden_low(mask.parts[0]);
        Val::pair(low, self.b.ins().swiden_high(mask.parts[0]))
    }

    /// `a` where the condition holds, else `b`; of one part.
    pub(crate) fn choose(&mut self, condition: Value, a: Value, b: Value) -> Value {
        let ty = self.type_of(a);
        if ty.is_vector() {
            let mask = self.bits(ty, condition);
            self.b.ins().bitselect(mask, a, b)
        } else {
            self.b.ins().select(condition, a, b)
        }
    }

    /// [`choose`](Self::choose) for values of a type.
    pub(crate) fn select(&mut self, ty: ScalarType, condition: Val, a: Val, b: Val) -> Val {
        if !self.is_four(a) {
            return Val::one(self.choose(condition.first(), a.first(), b.first()));
        }
        if ty.is_bool() {
            let [condition, a, b] = [condition, a, b].map(|mask| self.narrow_mask(mask));
            return Val::one(self.choose(condition.first(), a.first(), b.first()));
        }
        let mask =
            if is_wide(ty) { self.widen_mask(condition) } else { self.narrow_mask(condition) };
        let low = self.choose(mask.parts[0], a.parts[0], b.parts[0]);
        if a.pair {
            Val::pair(low, self.choose(mask.parts[1], a.parts[1], b.parts[1]))
        } else {
            Val::one(low)
        }
    }

    /// Calls a function at an address.
    pub(crate) fn call(
        &mut self,
        address: usize,
        result: Option<Type>,
        arguments: &[Value],
    ) -> Option<Value> {
        let callee = self.b.ins().iconst(types::I64, address as i64);
        self.call_value(callee, result, arguments)
    }

    /// Calls a function whose address is a value.
    pub(crate) fn call_value(
        &mut self,
        callee: Value,
        result: Option<Type>,
        arguments: &[Value],
    ) -> Option<Value> {
        let params: Vec<Type> = arguments.iter().map(|value| self.type_of(*value)).collect();
        let known =
            self.signatures.iter().find(|(p, r, _)| *p == params && *r == result).map(|it| it.2);
        let signature = known.unwrap_or_else(|| {
            let mut signature = Signature::new(self.host.call_conv());
            signature.params.extend(params.iter().map(|ty| AbiParam::new(*ty)));
            signature.returns.extend(result.map(AbiParam::new));
            let signature = self.b.import_signature(signature);
            self.signatures.push((params, result, signature));
            signature
        });
        let call = self.b.ins().call_indirect(signature, callee, arguments);
        self.b.inst_results(call).first().copied()
    }

    /// Calls a function that gives a value of the type of its first argument.
    pub(crate) fn call_like(&mut self, address: usize, arguments: &[Value]) -> Value {
        let ty = self.type_of(arguments[0]);
        self.call(address, Some(ty), arguments).expect("a signature with a result gives one")
    }

    /// Does an operation on scalars lane by lane.
    pub(crate) fn by_lane<const N: usize>(
        &mut self,
        operands: [(ScalarType, Val); N],
        result: ScalarType,
        mut f: impl FnMut(&mut Self, [Val; N]) -> Val,
    ) -> Val {
        let lanes = operands.map(|(ty, x)| self.lanes(ty, x));
        let results =
            [0, 1, 2, 3].map(|i| f(self, std::array::from_fn(|n| Val::one(lanes[n][i]))).first());
        self.joined(result, results)
    }
}
