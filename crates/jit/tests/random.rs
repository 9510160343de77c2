//! Random bodies of loops: vector loops give the same bits as serial ones.
//!
//! Only operations whose results do not depend on the form are used; the elementary functions
//! among them are those that are computed one element after another. Half of the bodies have only
//! what wide vectors have instructions for.

#![allow(clippy::unwrap_used, reason = "in a test")]

mod support;

use ein_ir::loops::parse::parse;
use ein_scalar::{BinaryOp, ScalarType, UnaryOp};
use std::fmt::Write;
use support::{Array, kinds, run, run_with, samples};

/// A generator of numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

const LEN: usize = 700;

/// A body under construction.
struct Body {
    random: Random,
    text: String,
    regs: Vec<(String, ScalarType)>,
    next: usize,
    /// Whether there is only what wide vectors can do.
    wide: bool,
}

/// Types of wide vectors; the first ones have at most four bytes.
const WIDE_TYPES: [ScalarType; 11] = [
    ScalarType::Bool,
    ScalarType::I8,
    ScalarType::U8,
    ScalarType::I16,
    ScalarType::U16,
    ScalarType::I32,
    ScalarType::U32,
    ScalarType::F32,
    ScalarType::I64,
    ScalarType::U64,
    ScalarType::F64,
];
const SHORT_TYPES: &[ScalarType] = WIDE_TYPES.split_at(8).0;

impl Body {
    /// The types of a body: in every fourth, none of 8 bytes.
    fn types(&self, seed: u64) -> &'static [ScalarType] {
        match (self.wide, seed % 4) {
            (false, _) => &ScalarType::ALL,
            (true, 1) => SHORT_TYPES,
            (true, _) => &WIDE_TYPES,
        }
    }

    fn has_cast(&self, from: ScalarType, to: ScalarType) -> bool {
        !self.wide || !from.is_float() || !to.is_int() || to == ScalarType::I32
    }

    fn has_unary(&self, op: UnaryOp, ty: ScalarType) -> bool {
        let ints = [UnaryOp::Neg, UnaryOp::Abs, UnaryOp::Sign];
        !self.wide || !op.is_elementary() && (!ty.is_int() || ints.contains(&op))
    }

    fn has_binary(&self, op: BinaryOp, ty: ScalarType) -> bool {
        let no =
            [BinaryOp::Pow, BinaryOp::Atan2, BinaryOp::Rem, BinaryOp::FloorDiv, BinaryOp::FloorMod];
        let order = [BinaryOp::Le, BinaryOp::Ge];
        !self.wide
            || !no.contains(&op)
                && (op != BinaryOp::Div || ty.is_float())
                && !(ty.is_bool() && order.contains(&op))
    }

    fn define(&mut self, ty: ScalarType, op: &str) -> String {
        let reg = format!("r{}", self.next);
        self.next += 1;
        let _ = writeln!(self.text, "{reg}: {ty} = {op}");
        self.regs.push((reg.clone(), ty));
        reg
    }

    fn of_type(&mut self, ty: ScalarType) -> Option<String> {
        let fitting: Vec<String> =
            self.regs.iter().filter(|it| it.1 == ty).map(|it| it.0.clone()).collect();
        (!fitting.is_empty()).then(|| fitting[self.random.below(fitting.len())].clone())
    }

    fn load(&mut self, types: &[ScalarType]) {
        let n = self.random.below(types.len());
        let place = match self.random.below(6) {
            0..=3 if self.wide && types[n].size_bytes() < 4 => "r0 + 2".to_owned(),
            0 => "r0*2 + 3".to_owned(),
            1 => "5".to_owned(),
            2 => "r0*-1 + 400".to_owned(),
            3 if self.wide && self.of_type(ScalarType::I64).is_some() => {
                let index = self.of_type(ScalarType::I64).unwrap();
                let index = self.define(ScalarType::I64, &format!("max {index}, 0"));
                let near = self.define(ScalarType::I64, &format!("min {index}, 100"));
                format!("{near}*3 + r0")
            }
            3 if !self.wide && self.of_type(ScalarType::I64).is_some() => {
                let index = self.of_type(ScalarType::I64).unwrap();
                let near = self.define(ScalarType::I64, &format!("floormod {index}, 300"));
                format!("{near} + r0")
            }
            _ => "r0 + 1".to_owned(),
        };
        self.define(types[n], &format!("load x{n}_{n}[{place}]"));
    }

    fn step(&mut self, types: &[ScalarType]) {
        let (a, ty) = {
            let n = self.random.below(self.regs.len());
            self.regs[n].clone()
        };
        match self.random.below(9) {
            0 => self.load(types),
            1 | 2 => {
                let to = if self.random.below(2) == 0 {
                    self.random.pick(types)
                } else if self.wide {
                    self.random.pick(SHORT_TYPES)
                } else {
                    self.random.pick(&ScalarType::ALL)
                };
                if self.has_cast(ty, to) {
                    self.define(to, &format!("cast {a}"));
                }
            }
            3 => {
                let ops: Vec<UnaryOp> = UnaryOp::ALL
                    .iter()
                    .copied()
                    .filter(|op| op.result_type(ty).is_some() && is_exact(*op, ty))
                    .filter(|op| self.has_unary(*op, ty))
                    .collect();
                if ops.is_empty() {
                    return;
                }
                let op = self.random.pick(&ops);
                self.define(op.result_type(ty).unwrap(), &format!("{op} {a}"));
            }
            4 => {
                if let Some(condition) = self.of_type(ScalarType::Bool) {
                    let b = self.of_type(ty).unwrap();
                    self.define(ty, &format!("select {condition}, {a}, {b}"));
                }
            }
            5 if ty.is_int() => {
                let b = self.of_type(ty).unwrap();
                let ops = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div];
                if self.wide && ty.size_bytes() < 4 {
                    return;
                }
                let op = self.random.pick(if self.wide { &ops[..2] } else { &ops });
                self.define(ScalarType::Bool, &format!("overflows {op} {a}, {b}"));
            }
            6 if ty.is_float() => {
                let (b, c) = (self.of_type(ty).unwrap(), self.of_type(ty).unwrap());
                self.define(ty, &format!("muladd {a}, {b}, {c}"));
            }
            _ => {
                let ops: Vec<BinaryOp> = BinaryOp::ALL
                    .iter()
                    .copied()
                    .filter(|op| op.result_type(ty, ty).is_some())
                    .filter(|op| *op != BinaryOp::Pow || ty.is_int())
                    .filter(|op| *op != BinaryOp::Atan2 || ty != ScalarType::F64)
                    .filter(|op| self.has_binary(*op, ty))
                    .collect();
                let (op, b) = (self.random.pick(&ops), self.of_type(ty).unwrap());
                self.define(op.result_type(ty, ty).unwrap(), &format!("{op} {a}, {b}"));
            }
        }
    }
}

/// Whether the function gives the same bits in vector loops.
fn is_exact(op: UnaryOp, ty: ScalarType) -> bool {
    let fast = [
        UnaryOp::Exp,
        UnaryOp::Log,
        UnaryOp::Tanh,
        UnaryOp::Sin,
        UnaryOp::Cos,
        UnaryOp::Log1p,
        UnaryOp::Tan,
        UnaryOp::Erf,
        UnaryOp::Cosh,
        UnaryOp::Exp2,
        UnaryOp::Expm1,
        UnaryOp::Log2,
        UnaryOp::Log10,
        UnaryOp::Sinh,
    ];
    if ty == ScalarType::F64 {
        !fast[..9].contains(&op) && op != UnaryOp::Atan
    } else {
        !fast.contains(&op)
    }
}

#[test]
fn bodies() {
    let count = std::env::var("EINLANG_KERNELS").ok().and_then(|it| it.parse().ok()).unwrap_or(250);
    for seed in 0..count {
        let mut body = Body {
            random: Random(seed),
            text: String::new(),
            regs: Vec::new(),
            next: 1,
            wide: false,
        };
        body.wide = seed % 4 != 0 && seed % 4 != 2;
        if seed % 4 != 1 {
            body.regs.push(("r0".to_owned(), ScalarType::I64));
        }
        let some = body.types(seed);
        let types: Vec<ScalarType> = (0..3).map(|_| body.random.pick(some)).collect();
        body.load(&types);
        // A third of the registers are stored, one buffer each, some on the way.
        let mut stores: Vec<ScalarType> = Vec::new();
        for _ in 0..4 + body.random.below(14) {
            body.step(&types);
            if body.random.below(3) == 0 {
                let (reg, ty) = body.regs.last().unwrap().clone();
                let n = types.len() + stores.len();
                let _ = writeln!(body.text, "store y_{n}[r0*1] = {reg}");
                stores.push(ty);
                if body.random.below(3) == 0 {
                    let again = body.define(ty, &format!("load y_{n}[r0]"));
                    let _ = writeln!(body.text, "store y_{n}[r0] = {again}");
                }
            }
        }
        let traps = body.of_type(ScalarType::Bool);
        if let Some(condition) = &traps {
            let _ = writeln!(body.text, "trap {condition}");
        }
        let (last, ty) = body.regs.last().unwrap().clone();
        let op = match ty {
            ScalarType::Bool => "or",
            ty if ty.is_float() => "max",
            _ => body.random.pick(&["add", "min", "max", "mul"]),
        };
        let sum = body.define(ty, &format!("{op} r9999, {last}"));
        let _ = writeln!(body.text, "set r9999 = {sum}");

        let lo = body.random.below(3);
        let hi =
            lo + if seed % 2 == 0 { body.random.below(40) } else { 240 + body.random.below(40) };
        let kernel = |kind: &str| {
            let mut text = String::from("kernel \"random\"\n");
            for (n, ty) in types.iter().enumerate() {
                let _ = writeln!(text, "input x{n}_{n}: {ty}[{LEN}]");
            }
            for (n, ty) in stores.iter().chain([&ty]).enumerate() {
                let _ = writeln!(text, "output y_{}: {ty}[{LEN}]", types.len() + n);
            }
            let total = types.len() + stores.len();
            let zero = if ty.is_bool() { "false".to_owned() } else { format!("bits({ty}, 0)") };
            let _ = write!(
                text,
                "{{ var r9999: {ty} = {zero}\nr9998: i64 = copy {hi}\n{kind} for r0 in {lo}..r9998 {{\n{}}}\nstore y_{total}[0] = r9999 }}",
                body.text
            );
            text
        };
        let inputs: Vec<Array> = types
            .iter()
            .map(|ty| {
                let some = samples(*ty);
                let values: Vec<_> =
                    (0..LEN).map(|n| some[(n * 7 + n / 11) % some.len()]).collect();
                Array::of(*ty, &values)
            })
            .collect();
        let (plain, plain_trap) = run(&kernel(""), &inputs);
        let vector = kernel(&format!("vector({op} r9999)"));
        for vectors in kinds() {
            let parsed = parse(&vector).expect("as above");
            let (lanes, lanes_trap) = run_with(&parsed, &inputs, vectors);
            assert_eq!(plain_trap, lanes_trap, "seed {seed}, {vectors:?}\n{vector}");
            for (n, (a, b)) in plain.iter().zip(&lanes).enumerate() {
                let differs = a.values().iter().zip(b.values()).position(|(a, b)| *a != b);
                if let Some(at) = differs {
                    panic!(
                        "seed {seed}, {vectors:?}, output {n} at {at}: {:?} and {:?}\n{vector}",
                        a.get(at),
                        b.get(at)
                    );
                }
            }
        }
    }
}
