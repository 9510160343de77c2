//! Every operation on every type, in vectors, against `ein-scalar`.

use ein_ir::loops::{Kernel, Op};
use ein_scalar::{
    ArithError, BinaryOp, Overflow, Scalar, ScalarType, UnaryOp, apply_binary, apply_unary,
};

use crate::builder::{Data, compiler, pointwise, pool, value};

/// Numbers without pattern, the same each time.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    /// From -1 to 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// Values of a type: special ones, and many others.
pub fn samples(ty: ScalarType, count: usize) -> Vec<Scalar> {
    let mut random = Random(7);
    if ty.size_bytes() <= 2 {
        let all = if ty.is_bool() { 2 } else { 1u64 << (8 * ty.size_bytes()) };
        return (0..all).map(|bits| Scalar::from_bits(ty, bits)).collect();
    }
    if let Some((min, max)) = ty.int_range() {
        let near = (0..40).flat_map(|i| [min + i, max - i, i, -i, 1 << i, -(1 << i)]);
        let mut values: Vec<Scalar> = near.filter_map(|x| Scalar::from_i128(x, ty)).collect();
        while values.len() < count {
            let bits = random.bits();
            values.push(Scalar::from_bits(ty, bits >> (random.bits() % 64)));
            values.push(Scalar::from_bits(ty, bits));
        }
        return values;
    }
    let pi = std::f64::consts::PI;
    let special = [
        0.0,
        0.5,
        1.0,
        1.5,
        2.0,
        3.0,
        4.0,
        10.0,
        100.0,
        88.7,
        88.73,
        89.0,
        104.0,
        709.7,
        710.0,
        745.2,
        746.0,
        1e9,
        1e17,
        1e30,
        1e-8,
        1e-17,
        1e-30,
        1e300,
        1e-300,
        pi,
        pi / 2.0,
        pi / 4.0,
        22.0,
        1.6e6,
        9007199254740992.0,
        9007199254740993.0,
        4.9e-324,
        2.2e-308,
        1.2e-38,
        1.4e-45,
        f64::INFINITY,
        f64::NAN,
        0.9999999999999999,
        1.0000000000000002,
        0.99999994,
        1.0000001,
        2147483648.0,
        4294967296.0,
        9.3e18,
        1.9e19,
        127.5,
        128.0,
        255.5,
        256.0,
        32768.0,
        65536.0,
    ];
    let mut values: Vec<f64> = special.iter().flat_map(|&x| [x, -x]).collect();
    let mut bits = Vec::new();
    while values.len() < count / 2 {
        let x = random.unit();
        values.extend([x, 10.0 * x, 100.0 * x, 1000.0 * x, 1.0 + x / 100.0, 1.0 + x * 1e-6]);
        let k = (random.bits() % 2000) as f64 - 1000.0;
        values.extend([k * pi / 2.0, k * pi / 2.0 + x / 1e4, k, k + 0.5]);
    }
    for _ in 0..count / 2 {
        bits.push(Scalar::from_bits(ty, random.bits()));
    }
    let mut scalars: Vec<Scalar> = values.iter().filter_map(|&x| Scalar::from_f64(x, ty)).collect();
    scalars.extend(bits);
    scalars
}

/// How many floats lie between two; zeros of different sign are far apart.
pub fn distance(a: Scalar, b: Scalar) -> u64 {
    if a == b || !a.ty().is_float() {
        return if a == b { 0 } else { u64::MAX };
    }
    if a.is_nan() || b.is_nan() || (a.as_f64() == 0.0 && b.as_f64() == 0.0) {
        return u64::MAX;
    }
    let top = 8 * a.ty().size_bytes() - 1;
    let ordered = |x: Scalar| {
        let size = (x.to_bits() & ((1 << top) - 1)) as i64;
        if x.to_bits() >> top == 1 { -size } else { size }
    };
    ordered(a).abs_diff(ordered(b))
}

/// How far an operation may be off.
fn allowed(op: &str) -> u64 {
    let exact = [
        "neg", "not", "abs", "sign", "sqrt", "floor", "ceil", "round", "trunc", "isnan", "isinf",
        "isfinite", "add", "sub", "mul", "div", "rem", "min", "max", "eq", "ne", "lt", "le", "gt",
        "ge", "and", "or", "floordiv", "floormod",
    ];
    if exact.contains(&op) { 0 } else { 2 }
}

/// A kernel with its name and what it should give for each point, `None` if that does not matter.
struct Case {
    name: String,
    op: &'static str,
    kernel: Kernel,
    inputs: Vec<Data>,
    expected: Vec<Option<Scalar>>,
}

/// Runs all cases, built in one go, and reports the worst distances.
fn check(cases: Vec<Case>) {
    let kernels: Vec<&Kernel> = cases.iter().map(|case| &case.kernel).collect();
    let compiled = match compiler().compile_all(&kernels) {
        Ok(compiled) => compiled,
        Err(error) => panic!("{error}\n{}", error.log),
    };
    let mut failures = Vec::new();
    for (mut case, compiled) in cases.into_iter().zip(compiled) {
        let last = case.kernel.bufs.iter().last().expect("an output");
        let mut out = Data::zeros(last.ty, last.len as usize);
        let mut pointers: Vec<*mut u8> = case.inputs.iter_mut().map(Data::pointer).collect();
        pointers.push(out.pointer());
        // SAFETY: the buffers are as long as the kernel says.
        let trap = unsafe {
            compiled.run(&pointers, &ein_runtime::Run::new(pool(), &|| false).interface())
        };
        assert_eq!(trap, 0);
        let (mut worst, mut at) = (0, 0);
        for (i, expected) in case.expected.iter().enumerate() {
            if let Some(expected) = expected {
                let far = distance(out.get(i), *expected);
                if far > worst {
                    (worst, at) = (far, i);
                }
            }
        }
        if worst > 0 {
            println!("{}: {worst} ulp", case.name);
        }
        if worst > allowed(case.op) {
            let inputs: Vec<Scalar> = case.inputs.iter().map(|it| it.get(at)).collect();
            let (found, expected) = (out.get(at), case.expected[at]);
            failures.push(format!(
                "{}: {inputs:?} gives {found:?}, not {expected:?}: {worst} ulp",
                case.name
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn unary_cases(ty: ScalarType, count: usize) -> Vec<Case> {
    unary_cases_of(ty, &samples(ty, count))
}

fn unary_cases_of(ty: ScalarType, values: &[Scalar]) -> Vec<Case> {
    let ops = UnaryOp::ALL.iter().filter_map(|&op| Some((op, op.result_type(ty)?)));
    ops.map(|(op, result)| Case {
        name: format!("{op} of {ty}"),
        op: op.as_str(),
        kernel: pointwise(&[ty], result, values.len(), |b, x| b.unary(op, x[0])),
        inputs: vec![Data::new(ty, values)],
        expected: values.iter().map(|&x| apply_unary(op, x, Overflow::Wrap).ok()).collect(),
    })
    .collect()
}

#[test]
fn unary_f32() {
    check(unary_cases(ScalarType::F32, 400_000));
}

#[test]
fn unary_f64() {
    check(unary_cases(ScalarType::F64, 200_000));
}

/// A loop with a number that is far runs again; here it does not.
#[test]
fn unary_f64_near() {
    let near = |x: &Scalar| x.as_f64().abs() < 1.6e6;
    let values: Vec<Scalar> = samples(ScalarType::F64, 400_000).into_iter().filter(near).collect();
    let mut cases = unary_cases_of(ScalarType::F64, &values);
    cases.retain(|case| ["sin", "cos", "tan"].contains(&case.op));
    assert_eq!(cases.len(), 3);
    check(cases);
}

#[test]
fn unary_of_other_types() {
    for ty in ScalarType::ALL {
        if !matches!(ty, ScalarType::F32 | ScalarType::F64) {
            check(unary_cases(ty, 3000));
        }
    }
}

/// Pairs of samples: special ones with each other, and many without pattern.
fn pairs(a: ScalarType, b: ScalarType, count: usize) -> (Vec<Scalar>, Vec<Scalar>) {
    let (left, right) = (samples(a, count), samples(b, count));
    let mut random = Random(3);
    let mut pick = |from: &[Scalar]| from[random.bits() as usize % from.len()];
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    let specials = |from: &[Scalar]| from[..from.len().min(104)].to_vec();
    for &x in &specials(&left) {
        for &y in &specials(&right) {
            xs.push(x);
            ys.push(y);
        }
    }
    for _ in 0..count {
        xs.push(pick(&left));
        ys.push(pick(&right));
    }
    (xs, ys)
}

fn binary_cases(ty: ScalarType, count: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for &op in BinaryOp::ALL {
        let mut seconds = vec![ty];
        if op == BinaryOp::Pow && ty.is_float() {
            seconds.extend([ScalarType::I32, ScalarType::I64, ScalarType::U64]);
        }
        for second in seconds {
            let Some(result) = op.result_type(ty, second) else { continue };
            let (xs, mut ys) = pairs(ty, second, count);
            if op == BinaryOp::Pow && second.is_int() && ty.is_int() {
                // Exponents that are not nearly all too large.
                let small = |y: &Scalar| Scalar::from_bits(second, y.to_bits() & 15);
                ys = ys.iter().map(small).collect();
            }
            let divides = matches!(
                op,
                BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::FloorMod
            );
            if divides && ty.is_int() {
                let one = Scalar::one(ty);
                ys = ys.iter().map(|&y| if y == Scalar::zero(ty) { one } else { y }).collect();
            }
            let expected =
                |(&x, &y): (&Scalar, &Scalar)| match apply_binary(op, x, y, Overflow::Wrap) {
                    Ok(value) => Some(value),
                    // The least number by -1 wraps; it must not stop the process.
                    Err(ArithError::Overflow) => Some(x),
                    Err(_) => None,
                };
            cases.push(Case {
                name: format!("{op} of {ty} and {second}"),
                op: if op == BinaryOp::Pow && ty.is_int() { "mul" } else { op.as_str() },
                kernel: pointwise(&[ty, second], result, xs.len(), |b, x| b.binary(op, x[0], x[1])),
                expected: xs.iter().zip(&ys).map(expected).collect(),
                inputs: vec![Data::new(ty, &xs), Data::new(second, &ys)],
            });
        }
    }
    cases
}

#[test]
fn binary_on_floats() {
    check(binary_cases(ScalarType::F32, 100_000));
    check(binary_cases(ScalarType::F64, 100_000));
    check(binary_cases(ScalarType::F16, 20_000));
    check(binary_cases(ScalarType::BF16, 20_000));
}

#[test]
fn binary_on_integers() {
    for ty in ScalarType::ALL {
        if !ty.is_float() {
            check(binary_cases(ty, 5_000));
        }
    }
}

#[test]
fn overflow_is_told() {
    for ty in ScalarType::ALL.into_iter().filter(|ty| ty.is_int()) {
        let mut cases = Vec::new();
        let asked = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Pow, BinaryOp::Div];
        for op in asked {
            let (xs, mut ys) = pairs(ty, ty, 5_000);
            if op == BinaryOp::Pow {
                ys = ys.iter().map(|y| Scalar::from_bits(ty, y.to_bits() & 15)).collect();
            }
            let expected =
                |(&x, &y): (&Scalar, &Scalar)| match apply_binary(op, x, y, Overflow::Trap) {
                    Ok(_) => Some(Scalar::Bool(false)),
                    Err(ArithError::Overflow) => Some(Scalar::Bool(true)),
                    Err(_) => None,
                };
            cases.push(Case {
                name: format!("overflow of {op} of {ty}"),
                op: "eq",
                kernel: pointwise(&[ty, ty], ScalarType::Bool, xs.len(), |b, x| {
                    b.let_(ScalarType::Bool, Op::Overflows(op, x[0], x[1]))
                }),
                expected: xs.iter().zip(&ys).map(expected).collect(),
                inputs: vec![Data::new(ty, &xs), Data::new(ty, &ys)],
            });
        }
        check(cases);
    }
}

#[test]
fn constants_beside_an_operand() {
    let mut cases = Vec::new();
    for ty in [ScalarType::F32, ScalarType::F64] {
        let values = samples(ty, 20_000);
        let mut case = |op: BinaryOp, c: Scalar, first: bool| {
            let apply = |x: Scalar| {
                let (a, b) = if first { (c, x) } else { (x, c) };
                apply_binary(op, a, b, Overflow::Wrap).ok()
            };
            cases.push(Case {
                name: format!("{op} of {ty} with {c:?}"),
                op: op.as_str(),
                kernel: pointwise(&[ty], ty, values.len(), |b, x| {
                    if first { b.binary(op, value(c), x[0]) } else { b.binary(op, x[0], value(c)) }
                }),
                expected: values.iter().map(|&x| apply(x)).collect(),
                inputs: vec![Data::new(ty, &values)],
            });
        };
        for c in [0.0, -0.0, 1.5, -2.0, f64::INFINITY, f64::NAN] {
            let c = Scalar::from_f64(c, ty).unwrap();
            for first in [false, true] {
                case(BinaryOp::Min, c, first);
                case(BinaryOp::Max, c, first);
            }
        }
        for c in [0.0, 1.0, 2.0, 3.0, 4.0, -1.0, -2.0, 0.5, -0.5, 1.5, 2.5] {
            case(BinaryOp::Pow, Scalar::from_f64(c, ty).unwrap(), false);
        }
        for c in [0, 1, 2, 3, 4, 5, -1, -2, -3] {
            case(BinaryOp::Pow, Scalar::I32(c), false);
        }
    }
    check(cases);
}
