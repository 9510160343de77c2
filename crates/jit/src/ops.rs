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
use crate::shims;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{self, Type};
use cranelift_codegen::ir::{
    AbiParam, ConstantData, Endianness, InstBuilder, MemFlagsData, SigRef, Signature, Value,
};
use cranelift_frontend::FunctionBuilder;
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};

/// A value in one of the two forms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Val {
    parts: [Value; 2],
    pair: bool,
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

/// Whether four lanes of the type take two vectors.
pub(crate) fn is_wide(ty: ScalarType) -> bool {
    ty.size_bytes() == 8
}

/// Whether the type is narrower than the `f32` that holds it.
pub(crate) fn is_half(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::F16 | ScalarType::BF16)
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
    fn call_like(&mut self, address: usize, arguments: &[Value]) -> Value {
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

    /// `op x`.
    pub(crate) fn unary(&mut self, op: UnaryOp, ty: ScalarType, x: Val) -> Val {
        let result = op.result_type(ty).unwrap_or(ty);
        if self.is_four(x) && !has_vector_unary(op, ty) {
            return self.by_lane([(ty, x)], result, |it, [x]| it.unary(op, ty, x));
        }
        if ty.is_bool() {
            return self.map(x, |it, x| {
                if it.type_of(x).is_vector() {
                    it.b.ins().bnot(x)
                } else {
                    it.b.ins().bxor_imm_u(x, 1)
                }
            });
        }
        if ty.is_float() {
            let exact = self.map(x, |it, x| it.float_unary(op, ty, x));
            return if is_half(ty) && rounds(op) {
                self.map(exact, |it, x| it.round_half(ty, x))
            } else {
                exact
            };
        }
        self.map(x, |it, x| it.int_unary(op, ty, x))
    }

    fn float_unary(&mut self, op: UnaryOp, ty: ScalarType, x: Value) -> Value {
        let machine = self.type_of(x);
        match op {
            UnaryOp::Neg => self.b.ins().fneg(x),
            UnaryOp::Abs => self.b.ins().fabs(x),
            UnaryOp::Sqrt => self.b.ins().sqrt(x),
            UnaryOp::Rsqrt => {
                let (one, root) = (self.float(machine, 1.0), self.b.ins().sqrt(x));
                self.b.ins().fdiv(one, root)
            }
            UnaryOp::Floor => self.b.ins().floor(x),
            UnaryOp::Ceil => self.b.ins().ceil(x),
            UnaryOp::Round => self.b.ins().nearest(x),
            UnaryOp::Trunc => self.b.ins().trunc(x),
            UnaryOp::IsNan => self.b.ins().fcmp(FloatCC::Unordered, x, x),
            UnaryOp::IsInf | UnaryOp::IsFinite => {
                let (magnitude, infinity) =
                    (self.b.ins().fabs(x), self.float(machine, f64::INFINITY));
                let test = if op == UnaryOp::IsInf { FloatCC::Equal } else { FloatCC::LessThan };
                self.b.ins().fcmp(test, magnitude, infinity)
            }
            UnaryOp::Sign => {
                let [zero, one, minus] = [0.0, 1.0, -1.0].map(|value| self.float(machine, value));
                let positive = self.b.ins().fcmp(FloatCC::GreaterThan, x, zero);
                let negative = self.b.ins().fcmp(FloatCC::LessThan, x, zero);
                let nan = self.b.ins().fcmp(FloatCC::Unordered, x, x);
                let flat = self.choose(nan, x, zero);
                let below = self.choose(negative, minus, flat);
                self.choose(positive, one, below)
            }
            op => self.call_like(shims::unary(op, ty == ScalarType::F64), &[x]),
        }
    }

    fn int_unary(&mut self, op: UnaryOp, ty: ScalarType, x: Value) -> Value {
        let machine = self.type_of(x);
        let result = match op {
            UnaryOp::Neg => self.b.ins().ineg(x),
            UnaryOp::Abs if !ty.is_signed() => x,
            UnaryOp::Abs => {
                let (zero, negated) = (self.int(machine, 0), self.b.ins().ineg(x));
                let negative = self.b.ins().icmp(IntCC::SignedLessThan, x, zero);
                self.choose(negative, negated, x)
            }
            UnaryOp::Sign => {
                let [zero, one, minus] = [0, 1, -1].map(|value| self.int(machine, value));
                let nonzero = self.b.ins().icmp(IntCC::NotEqual, x, zero);
                let up = self.choose(nonzero, one, zero);
                if !ty.is_signed() {
                    return up;
                }
                let negative = self.b.ins().icmp(IntCC::SignedLessThan, x, zero);
                return self.choose(negative, minus, up);
            }
            UnaryOp::IsNan | UnaryOp::IsInf => {
                return self.b.ins().icmp(IntCC::NotEqual, x, x);
            }
            UnaryOp::IsFinite => return self.b.ins().icmp(IntCC::Equal, x, x),
            // Rounding: an integer is round. The others take no integers.
            _ => return x,
        };
        self.normal(ty, result)
    }

    /// Brings lanes of 32 bits back into a narrower type.
    pub(crate) fn normal(&mut self, ty: ScalarType, x: Value) -> Value {
        let bits = 8 * ty.size_bytes() as i64;
        if bits >= 32 || !self.type_of(x).is_vector() {
            return x;
        }
        if ty.is_signed() {
            let up = self.b.ins().ishl_imm_u(x, 32 - bits);
            self.b.ins().sshr_imm_u(up, 32 - bits)
        } else {
            let mask = self.int(types::I32X4, (1 << bits) - 1);
            self.b.ins().band(x, mask)
        }
    }

    /// `a op b`, where both are of a type but for the exponents of powers.
    pub(crate) fn binary(&mut self, op: BinaryOp, types: [ScalarType; 2], a: Val, b: Val) -> Val {
        let ty = types[0];
        let result = op.result_type(types[0], types[1]).unwrap_or(ty);
        let four = self.is_four(a);
        if four && !has_vector_binary(op, ty) {
            let operands = [(types[0], a), (types[1], b)];
            return self.by_lane(operands, result, |it, [a, b]| it.binary(op, types, a, b));
        }
        if ty.is_bool() {
            let (a, b) = if four && a.pair != b.pair {
                (self.narrow_mask(a), self.narrow_mask(b))
            } else {
                (a, b)
            };
            return self.map2(a, b, |it, a, b| it.bool_binary(op, a, b));
        }
        if !ty.is_float() {
            if op == BinaryOp::Pow {
                return Val::one(self.int_power(types, a.first(), b.first()));
            }
            return self.map2(a, b, |it, a, b| it.int_binary(op, ty, a, b));
        }
        if op == BinaryOp::Pow && types[1].is_int() {
            let exponent = self.extend(types[1], b.first());
            let (double, signed) = (ty == ScalarType::F64, types[1].is_signed());
            let power = self.call_like(shims::power(double, signed), &[a.first(), exponent]);
            return Val::one(if is_half(ty) { self.round_half(ty, power) } else { power });
        }
        let exact = self.map2(a, b, |it, a, b| it.float_binary(op, ty, a, b));
        if is_half(ty) && !op.is_comparison() {
            self.map(exact, |it, x| it.round_half(ty, x))
        } else {
            exact
        }
    }

    fn bool_binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        match op {
            BinaryOp::And | BinaryOp::Min => self.b.ins().band(a, b),
            BinaryOp::Or | BinaryOp::Max => self.b.ins().bor(a, b),
            op => {
                // The truth of a mask is −1: the order is the other way round.
                let four = self.type_of(a).is_vector();
                let (a, b) = if four { (b, a) } else { (a, b) };
                self.b.ins().icmp(int_condition(op, four), a, b)
            }
        }
    }

    fn float_binary(&mut self, op: BinaryOp, ty: ScalarType, a: Value, b: Value) -> Value {
        match op {
            BinaryOp::Add => self.b.ins().fadd(a, b),
            BinaryOp::Sub => self.b.ins().fsub(a, b),
            BinaryOp::Mul => self.b.ins().fmul(a, b),
            BinaryOp::Div => self.b.ins().fdiv(a, b),
            BinaryOp::Min => self.b.ins().fmin(a, b),
            BinaryOp::Max => self.b.ins().fmax(a, b),
            BinaryOp::Eq => self.b.ins().fcmp(FloatCC::Equal, a, b),
            BinaryOp::Ne => self.b.ins().fcmp(FloatCC::NotEqual, a, b),
            BinaryOp::Lt => self.b.ins().fcmp(FloatCC::LessThan, a, b),
            BinaryOp::Le => self.b.ins().fcmp(FloatCC::LessThanOrEqual, a, b),
            BinaryOp::Gt => self.b.ins().fcmp(FloatCC::GreaterThan, a, b),
            BinaryOp::Ge => self.b.ins().fcmp(FloatCC::GreaterThanOrEqual, a, b),
            op => self.call_like(shims::binary(op, ty == ScalarType::F64), &[a, b]),
        }
    }

    fn int_binary(&mut self, op: BinaryOp, ty: ScalarType, a: Value, b: Value) -> Value {
        let signed = ty.is_signed();
        let result = match op {
            BinaryOp::Add => self.b.ins().iadd(a, b),
            BinaryOp::Sub => self.b.ins().isub(a, b),
            BinaryOp::Mul => self.b.ins().imul(a, b),
            BinaryOp::Min | BinaryOp::Max => {
                let op = if op == BinaryOp::Min { BinaryOp::Lt } else { BinaryOp::Gt };
                let first = self.b.ins().icmp(int_condition(op, signed), a, b);
                return self.choose(first, a, b);
            }
            BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::FloorMod => {
                return self.divide(op, ty, a, b);
            }
            op => return self.b.ins().icmp(int_condition(op, signed), a, b),
        };
        self.normal(ty, result)
    }

    /// Extends an integer to 64 bits.
    pub(crate) fn extend(&mut self, ty: ScalarType, x: Value) -> Value {
        if ty.size_bytes() == 8 {
            x
        } else if ty.is_signed() {
            self.b.ins().sextend(types::I64, x)
        } else {
            self.b.ins().uextend(types::I64, x)
        }
    }

    fn reduce(&mut self, ty: ScalarType, x: Value) -> Value {
        if ty.size_bytes() == 8 { x } else { self.b.ins().ireduce(machine(ty), x) }
    }

    fn int_power(&mut self, types: [ScalarType; 2], a: Value, n: Value) -> Value {
        // The low bits of a power depend only on the low bits of its base.
        let (base, exponent) = (self.extend(types[0], a), self.extend(types[1], n));
        let power = self.call_like(shims::int_power(types[1].is_signed()), &[base, exponent]);
        self.reduce(types[0], power)
    }

    /// Divisions and remainders. Zero and −1 as divisors must not reach the machine's division,
    /// which would stop the process: the first cannot happen but in code whose result is thrown
    /// away, the second overflows for the least number.
    fn divide(&mut self, op: BinaryOp, ty: ScalarType, a: Value, b: Value) -> Value {
        let small = ty.size_bytes() < 4;
        let (a, b) = if small { (self.widen32(ty, a), self.widen32(ty, b)) } else { (a, b) };
        let machine = self.type_of(a);
        let (zero, one) = (self.int(machine, 0), self.int(machine, 1));
        let result = if ty.is_signed() {
            let above = self.b.ins().iadd(b, one);
            // −1 and 0 are 0 and 1 above it.
            let special = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, above, one);
            let divisor = self.b.ins().select(special, one, b);
            let quotient = self.b.ins().sdiv(a, divisor);
            let minus = self.b.ins().icmp(IntCC::SignedLessThan, b, zero);
            let negate = self.b.ins().band(special, minus);
            let product = self.b.ins().imul(quotient, divisor);
            let rest = self.b.ins().isub(a, product);
            let opposite = self.b.ins().bxor(rest, b);
            let uneven = self.b.ins().icmp(IntCC::NotEqual, rest, zero);
            let opposite = self.b.ins().icmp(IntCC::SignedLessThan, opposite, zero);
            let adjust = self.b.ins().band(uneven, opposite);
            match op {
                BinaryOp::Rem => rest,
                BinaryOp::FloorMod => {
                    let up = self.b.ins().iadd(rest, b);
                    self.b.ins().select(adjust, up, rest)
                }
                op => {
                    let negated = self.b.ins().ineg(a);
                    let quotient = self.b.ins().select(negate, negated, quotient);
                    if op == BinaryOp::Div {
                        quotient
                    } else {
                        let down = self.b.ins().isub(quotient, one);
                        self.b.ins().select(adjust, down, quotient)
                    }
                }
            }
        } else {
            let is_zero = self.b.ins().icmp(IntCC::Equal, b, zero);
            let divisor = self.b.ins().select(is_zero, one, b);
            let quotient = self.b.ins().udiv(a, divisor);
            if matches!(op, BinaryOp::Div | BinaryOp::FloorDiv) {
                quotient
            } else {
                let product = self.b.ins().imul(quotient, divisor);
                self.b.ins().isub(a, product)
            }
        };
        if small { self.b.ins().ireduce(crate::ops::machine(ty), result) } else { result }
    }

    /// Extends an integer of 8 or 16 bits to 32.
    pub(crate) fn widen32(&mut self, ty: ScalarType, x: Value) -> Value {
        if ty.is_signed() {
            self.b.ins().sextend(types::I32, x)
        } else {
            self.b.ins().uextend(types::I32, x)
        }
    }

    /// `a * b + c` of floats.
    pub(crate) fn mul_add(&mut self, ty: ScalarType, a: Val, b: Val, c: Val) -> Val {
        let fused = self.host.has_fma;
        let one = |it: &mut Self, n: usize| {
            let (a, b, c) = (a.parts[n], b.parts[n], c.parts[n]);
            let sum = if fused {
                it.b.ins().fma(a, b, c)
            } else {
                let product = it.b.ins().fmul(a, b);
                it.b.ins().fadd(product, c)
            };
            if is_half(ty) { it.round_half(ty, sum) } else { sum }
        };
        let low = one(self, 0);
        if a.pair { Val::pair(low, one(self, 1)) } else { Val::one(low) }
    }

    /// Whether `a op b` leaves its type; a `bool`.
    pub(crate) fn overflows(
        &mut self,
        op: BinaryOp,
        types: [ScalarType; 2],
        a: Val,
        b: Val,
    ) -> Val {
        let ty = types[0];
        if self.is_four(a) && !has_vector_overflow(op, ty) {
            let operands = [(types[0], a), (types[1], b)];
            return self
                .by_lane(operands, ScalarType::Bool, |it, [a, b]| it.overflows(op, types, a, b));
        }
        match op {
            BinaryOp::Pow => {
                let [base, exponent] =
                    [(types[0], a), (types[1], b)].map(|(ty, x)| self.extend(ty, x.first()));
                let function = shims::power_overflows(types);
                let answer = self.call(function, Some(types::I32), &[base, exponent]);
                let answer = answer.expect("a signature with a result gives one");
                Val::one(self.b.ins().icmp_imm_u(IntCC::NotEqual, answer, 0))
            }
            op => self.map2(a, b, |it, a, b| it.overflow(op, ty, a, b)),
        }
    }

    fn overflow(&mut self, op: BinaryOp, ty: ScalarType, a: Value, b: Value) -> Value {
        let four = self.type_of(a).is_vector();
        let small = ty.size_bytes() < 4;
        let (a, b) =
            if small && !four { (self.widen32(ty, a), self.widen32(ty, b)) } else { (a, b) };
        let machine = self.type_of(a);
        let zero = self.int(machine, 0);
        match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul if small => {
                let exact = match op {
                    BinaryOp::Add => self.b.ins().iadd(a, b),
                    BinaryOp::Sub => self.b.ins().isub(a, b),
                    _ => self.b.ins().imul(a, b),
                };
                let fitted = if four {
                    self.normal(ty, exact)
                } else {
                    let low = self.b.ins().ireduce(crate::ops::machine(ty), exact);
                    self.widen32(ty, low)
                };
                self.b.ins().icmp(IntCC::NotEqual, exact, fitted)
            }
            BinaryOp::Add | BinaryOp::Sub if ty.is_signed() => {
                // The sign of the result is wrong: it differs from those of both terms.
                let (left, right) = if op == BinaryOp::Add {
                    let sum = self.b.ins().iadd(a, b);
                    (self.b.ins().bxor(a, sum), self.b.ins().bxor(b, sum))
                } else {
                    let difference = self.b.ins().isub(a, b);
                    (self.b.ins().bxor(a, difference), self.b.ins().bxor(a, b))
                };
                let both = self.b.ins().band(left, right);
                self.b.ins().icmp(IntCC::SignedLessThan, both, zero)
            }
            BinaryOp::Add => {
                let sum = self.b.ins().iadd(a, b);
                self.b.ins().icmp(IntCC::UnsignedLessThan, sum, a)
            }
            BinaryOp::Sub => self.b.ins().icmp(IntCC::UnsignedLessThan, a, b),
            BinaryOp::Mul => {
                let low = self.b.ins().imul(a, b);
                if ty.is_signed() {
                    let high = self.b.ins().smulhi(a, b);
                    let sign = self.b.ins().sshr_imm_u(low, i64::from(machine.lane_bits()) - 1);
                    self.b.ins().icmp(IntCC::NotEqual, high, sign)
                } else {
                    let high = self.b.ins().umulhi(a, b);
                    self.b.ins().icmp(IntCC::NotEqual, high, zero)
                }
            }
            BinaryOp::Div | BinaryOp::FloorDiv if ty.is_signed() => {
                let least = ty.int_range().map_or(0, |(least, _)| least as i64);
                let (least, minus) = (self.int(machine, least), self.int(machine, -1));
                let at_least = self.b.ins().icmp(IntCC::Equal, a, least);
                let by_minus = self.b.ins().icmp(IntCC::Equal, b, minus);
                self.b.ins().band(at_least, by_minus)
            }
            _ => self.b.ins().icmp(IntCC::NotEqual, a, a),
        }
    }
}

fn int_condition(op: BinaryOp, signed: bool) -> IntCC {
    match (op, signed) {
        (BinaryOp::Ne, _) => IntCC::NotEqual,
        (BinaryOp::Lt, true) => IntCC::SignedLessThan,
        (BinaryOp::Le, true) => IntCC::SignedLessThanOrEqual,
        (BinaryOp::Gt, true) => IntCC::SignedGreaterThan,
        (BinaryOp::Ge, true) => IntCC::SignedGreaterThanOrEqual,
        (BinaryOp::Lt, false) => IntCC::UnsignedLessThan,
        (BinaryOp::Le, false) => IntCC::UnsignedLessThanOrEqual,
        (BinaryOp::Gt, false) => IntCC::UnsignedGreaterThan,
        (BinaryOp::Ge, false) => IntCC::UnsignedGreaterThanOrEqual,
        // `Eq`; operations that are no comparisons never come here.
        (_, _) => IntCC::Equal,
    }
}

/// Whether the result of the operation on a half may need rounding.
fn rounds(op: UnaryOp) -> bool {
    !matches!(
        op,
        UnaryOp::Neg
            | UnaryOp::Abs
            | UnaryOp::Sign
            | UnaryOp::Floor
            | UnaryOp::Ceil
            | UnaryOp::Round
            | UnaryOp::Trunc
            | UnaryOp::IsNan
            | UnaryOp::IsInf
            | UnaryOp::IsFinite
    )
}

/// Whether there are vector instructions for an operation.
pub(crate) fn has_vector_unary(op: UnaryOp, ty: ScalarType) -> bool {
    !is_elementary(op) || !ty.is_float()
}

/// Whether the operation on floats is a call.
pub(crate) fn is_elementary(op: UnaryOp) -> bool {
    rounds(op) && !matches!(op, UnaryOp::Sqrt | UnaryOp::Rsqrt | UnaryOp::Not)
}

/// Whether there are vector instructions for an operation.
pub(crate) fn has_vector_binary(op: BinaryOp, ty: ScalarType) -> bool {
    match op {
        BinaryOp::Div => ty.is_float(),
        BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::FloorMod => false,
        BinaryOp::Pow | BinaryOp::Atan2 => false,
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Min | BinaryOp::Max => true,
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le => true,
        BinaryOp::Gt | BinaryOp::Ge | BinaryOp::And | BinaryOp::Or => true,
    }
}

/// Whether there are vector instructions that tell an overflow.
pub(crate) fn has_vector_overflow(op: BinaryOp, ty: ScalarType) -> bool {
    match op {
        BinaryOp::Pow => false,
        BinaryOp::Mul => ty.size_bytes() < 4,
        _ => true,
    }
}
