//! Operators that work point by point.

use super::{number, one, pointwise, zero};
use crate::cx::Cx;
use crate::elem::Elem;
use crate::node::{Done, Node, refuse, refuse_at};
use crate::value::Value;

/// How many operands one expression has.
const MOST_OPERANDS: usize = 200;

/// Writes a node of this family.
pub fn write(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    Some(match node.op {
        "Add" | "Sub" | "Mul" | "Div" | "Equal" | "Greater" | "GreaterOrEqual" | "Less"
        | "LessOrEqual" | "And" | "Or" | "Xor" => operator(cx, node),
        "Mod" | "Pow" | "PRelu" | "BitShift" | "BitwiseAnd" | "BitwiseOr" | "BitwiseXor" => {
            function(cx, node)
        }
        "Sum" | "Mean" | "Max" | "Min" => variadic(cx, node),
        "Where" => select(cx, node),
        "Clip" => clip(cx, node),
        "SwiGLU" => swiglu(cx, node),
        _ => return unary(cx, node),
    })
}

fn operator(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (a, b) = (node.input(0)?, node.input(1)?);
    alike(&[a.clone(), b.clone()])?;
    let (sign, truth) = match node.op {
        "Add" => ("+", false),
        "Sub" => ("-", false),
        "Mul" => ("*", false),
        "Div" => ("/", false),
        "Equal" => ("==", true),
        "Greater" => (">", true),
        "GreaterOrEqual" => (">=", true),
        "Less" => ("<", true),
        "LessOrEqual" => ("<=", true),
        "And" => ("&&", true),
        "Or" => ("||", true),
        _ => ("!=", true),
    };
    let elem = if truth { Elem::Bool } else { a.elem };
    pointwise(cx, node.out(0), &[a, b], elem, |x| format!("{} {sign} {}", x[0], x[1])).map(drop)
}

/// Holds operands to be of one type.
fn alike(values: &[Value]) -> Done {
    match values {
        [first, rest @ ..] => match rest.iter().find(|it| it.elem.lang() != first.elem.lang()) {
            None => Ok(()),
            Some(other) => {
                let (a, b) = (first.elem.lang(), other.elem.lang());
                refuse(format!("its inputs are of `{a}` and of `{b}`"))
            }
        },
        [] => Ok(()),
    }
}

fn function(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (a, b) = (node.input(0)?, node.input(1)?);
    let elem = a.elem;
    let ty = elem.lang();
    let wide = elem.bits();
    let left = node.string("direction", "LEFT") == "LEFT";
    let plain = node.int("fmod", 0) != 0;
    let name = node.op;
    let (float_a, float_b, other) = (a.elem.is_float(), b.elem.is_float(), b.elem);
    let whole = b.float().filter(|v| *v == v.trunc() && v.abs() <= 8.0);
    match name {
        "BitShift" => {
            cx.helper("shifted_left", SHIFTED_LEFT);
            cx.helper("shifted_right", SHIFTED_RIGHT);
            cx.helper("shifted_down", SHIFTED_DOWN);
        }
        "BitwiseAnd" => cx.helper("both_bits", BOTH_BITS),
        "BitwiseOr" => cx.helper("either_bits", EITHER_BITS),
        "BitwiseXor" => cx.helper("odd_bits", ODD_BITS),
        _ => {}
    }
    pointwise(cx, node.out(0), &[a, b], elem, |x| {
        let (a, b) = (&x[0], &x[1]);
        match name {
            "Mod" if plain => format!("{a} % {b}"),
            "Mod" => format!("std::math::mod({a}, {b})"),
            "Pow" => match (float_a, float_b, whole) {
                (true, _, Some(n)) => format!("{a} ** {}", n as i64),
                (true, true, _) if other == elem => format!("{a} ** {b}"),
                (true, _, _) if elem == Elem::F64 => format!("{a} ** ({b} as f64)"),
                (true, _, _) => format!("({a} as f64 ** ({b} as f64)) as {ty}"),
                _ => format!("(({a} as f64) ** ({b} as f64)) as {ty}"),
            },
            "PRelu" => format!("if {a} < {} {{ {b} * {a} }} else {{ {a} }}", zero(elem)),
            "BitShift" => {
                if left {
                    let unsigned = format!("u{wide}");
                    format!("shifted_left({a} as {unsigned} as u64, {b} as i32, {wide}) as {unsigned} as {ty}")
                } else if elem.is_unsigned() {
                    format!("shifted_right({a} as u64, {b} as i32, {wide}) as {ty}")
                } else {
                    format!("shifted_down({a} as i64, {b} as i32, {wide}) as {ty}")
                }
            }
            _ => {
                let function = match name {
                    "BitwiseAnd" => "both_bits",
                    "BitwiseOr" => "either_bits",
                    _ => "odd_bits",
                };
                let unsigned = format!("u{wide}");
                format!("{function}({a} as {unsigned} as u64, {b} as {unsigned} as u64, {wide}) as {unsigned} as {ty}")
            }
        }
    })
    .map(drop)
}

const SHIFTED_LEFT: &str =
    "/// `x` with its bits moved up by `n` places in a word of `width`; what leaves it is lost.
fn shifted_left(x: u64, n: i32, width: i32) -> u64 {
    if n == 0 { x } else if n < 0 || n >= width { 0 } else { x % 2u64 ** (width - n) * 2u64 ** n }
}
";

const SHIFTED_RIGHT: &str = "/// `x` with its bits moved down by `n` places.
fn shifted_right(x: u64, n: i32, width: i32) -> u64 {
    if n >= width { 0 } else { x / 2u64 ** n }
}
";

const SHIFTED_DOWN: &str =
    "/// `x` with its bits moved down by `n` places; its sign fills what becomes free.
fn shifted_down(x: i64, n: i32, width: i32) -> i64 {
    if n < 0 || n >= width { if x < 0 { -1 } else { 0 } } else { div_floor(x, 2i64 ** n) }
}
";

const BOTH_BITS: &str = "/// The bits that `x` and `y` have both.
fn both_bits(x: u64, y: u64, width: i32) -> u64 {
    sum[bit in 0..width](x / 2u64 ** bit % 2 * (y / 2u64 ** bit % 2) * 2u64 ** bit)
}
";

const EITHER_BITS: &str = "/// The bits that `x` or `y` has.
fn either_bits(x: u64, y: u64, width: i32) -> u64 {
    sum[bit in 0..width](max(x / 2u64 ** bit % 2, y / 2u64 ** bit % 2) * 2u64 ** bit)
}
";

const ODD_BITS: &str = "/// The bits that only one of `x` and `y` has.
fn odd_bits(x: u64, y: u64, width: i32) -> u64 {
    sum[bit in 0..width]((x / 2u64 ** bit % 2 + y / 2u64 ** bit % 2) % 2 * 2u64 ** bit)
}
";

fn variadic(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let values = node.all();
    let elem = node.input(0)?.elem;
    let count = values.len();
    if count > MOST_OPERANDS {
        return refuse(format!("it has {count} inputs, more than {MOST_OPERANDS}"));
    }
    alike(&values)?;
    let op = node.op;
    pointwise(cx, node.out(0), &values, elem, |x| match op {
        "Sum" => x.join(" + "),
        "Mean" if count == 1 => x[0].clone(),
        "Mean" => format!("({}) / {count}.0", x.join(" + ")),
        _ => {
            let function = if op == "Max" { "max" } else { "min" };
            let (first, rest) = x.split_first().expect("an operand was asked for above");
            rest.iter().fold(first.clone(), |a, b| format!("{function}({a}, {b})"))
        }
    })
    .map(drop)
}

fn select(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (c, a, b) = (node.input(0)?, node.input(1)?, node.input(2)?);
    let elem = a.elem;
    let untyped = a.single().is_some() && b.single().is_some();
    pointwise(cx, node.out(0), &[c, a, b], elem, |x| {
        let (a, b) = (&x[1], &x[2]);
        if untyped && elem != Elem::Bool {
            let ty = elem.lang();
            format!("if {} {{ {a} as {ty} }} else {{ {b} as {ty} }}", x[0])
        } else {
            format!("if {} {{ {a} }} else {{ {b} }}", x[0])
        }
    })
    .map(drop)
}

fn clip(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let x = node.input(0)?;
    let elem = x.elem;
    let shape = x.shape.clone();
    let axes = super::axes_of(&[&x], x.rank());
    let at = cx.read(&x, &axes);
    let mut limit = |name: &str, input: usize| -> Option<String> {
        if let Some(attribute) = node.attribute(name) {
            return Some(number(f64::from(attribute.f), elem));
        }
        let value = node.optional(input)?;
        let places = vec!["0".to_owned(); value.rank()];
        Some(cx.read(&value, &places))
    };
    let (low, high) = (limit("min", 1), limit("max", 2));
    let body = match (low, high) {
        (None, None) => at,
        (Some(low), None) => format!("max({at}, {low})"),
        (None, Some(high)) => format!("min({at}, {high})"),
        (Some(low), Some(high)) => format!("min(max({at}, {low}), {high})"),
    };
    let covered = vec![true; shape.len()];
    cx.define(node.out(0), elem, shape, &axes, &covered, &body);
    Ok(())
}

fn swiglu(cx: &mut Cx<'_>, node: &Node<'_>) -> Done {
    let (a, b) = (node.input(0)?, node.input(1)?);
    let elem = a.elem;
    let alpha = number(node.float("alpha", 1.0), elem);
    pointwise(cx, node.out(0), &[a, b], elem, |x| {
        format!("{0} / (1.0 + exp(-{alpha} * {0})) * {1}", x[0], x[1])
    })
    .map(drop)
}

/// Operators of one operand; `None` for those of other families.
fn unary(cx: &mut Cx<'_>, node: &Node<'_>) -> Option<Done> {
    let x = node.optional(0)?;
    let elem = x.elem;
    let a = |name: &str, default: f64| number(node.float(name, default), elem);
    let (nil, unit) = (zero(elem), one(elem));
    let mut result = elem;
    let body: Box<dyn Fn(&str) -> String> = match node.op {
        "Abs" if elem.is_unsigned() => Box::new(str::to_owned),
        "Abs" => Box::new(|x| format!("abs({x})")),
        "Exp" | "Log" | "Sqrt" | "Sin" | "Cos" | "Tan" | "Asin" | "Acos" | "Atan" | "Sinh"
        | "Cosh" | "Tanh" | "Asinh" | "Acosh" | "Atanh" | "Erf" | "Floor" | "Ceil" | "Round" => {
            let function = node.op.to_lowercase();
            Box::new(move |x| format!("{function}({x})"))
        }
        "Neg" => Box::new(|x| format!("-{x}")),
        "Not" => Box::new(|x| format!("!{x}")),
        "Reciprocal" => Box::new(|x| format!("1.0 / {x}")),
        "Sign" if elem.is_unsigned() => Box::new(|x| format!("if {x} > 0 {{ 1 }} else {{ 0 }}")),
        "Sign" => Box::new(move |x| {
            format!(
                "if {x} > {nil} {{ {unit} }} else if {x} < {nil} {{ -{unit} }} else {{ {nil} }}"
            )
        }),
        "Relu" => Box::new(move |x| format!("max({x}, {nil})")),
        "Sigmoid" => Box::new(|x| format!("1.0 / (1.0 + exp(-{x}))")),
        "Softplus" => Box::new(|x| format!("max({x}, 0.0) + log1p(exp(-abs({x})))")),
        "Softsign" => Box::new(|x| format!("{x} / (1.0 + abs({x}))")),
        "IsNaN" => {
            result = Elem::Bool;
            Box::new(|x| format!("{x} != {x}"))
        }
        "IsInf" => {
            result = Elem::Bool;
            let (up, down) =
                (node.int("detect_positive", 1) != 0, node.int("detect_negative", 1) != 0);
            Box::new(move |x| match (up, down) {
                (true, true) => format!("abs({x}) == 1.0 / 0.0"),
                (true, false) => format!("{x} == 1.0 / 0.0"),
                (false, true) => format!("{x} == -1.0 / 0.0"),
                (false, false) => format!("{x} != {x} && false"),
            })
        }
        "LeakyRelu" => {
            let slope = a("alpha", 0.01);
            Box::new(move |x| format!("if {x} < 0.0 {{ {slope} * {x} }} else {{ {x} }}"))
        }
        "Elu" => {
            let alpha = a("alpha", 1.0);
            Box::new(move |x| {
                format!("if {x} < 0.0 {{ {alpha} * (exp({x}) - 1.0) }} else {{ {x} }}")
            })
        }
        "Celu" => {
            let alpha = a("alpha", 1.0);
            Box::new(move |x| {
                format!("max({x}, 0.0) + min(0.0, {alpha} * (exp({x} / {alpha}) - 1.0))")
            })
        }
        "Selu" => {
            let (alpha, gamma) =
                (a("alpha", 1.673_263_192_176_818_8), a("gamma", 1.050_701_022_148_132_3));
            Box::new(move |x| {
                format!("{gamma} * if {x} <= 0.0 {{ {alpha} * (exp({x}) - 1.0) }} else {{ {x} }}")
            })
        }
        "HardSigmoid" => {
            let (alpha, beta) = (a("alpha", 0.2), a("beta", 0.5));
            Box::new(move |x| format!("max(0.0, min(1.0, {alpha} * {x} + {beta}))"))
        }
        "HardSwish" => Box::new(|x| format!("{x} * max(0.0, min(1.0, {x} / 6.0 + 0.5))")),
        "ThresholdedRelu" => {
            let alpha = a("alpha", 1.0);
            Box::new(move |x| format!("if {x} > {alpha} {{ {x} }} else {{ 0.0 }}"))
        }
        "Mish" => Box::new(|x| format!("{x} * tanh(max({x}, 0.0) + log1p(exp(-abs({x}))))")),
        "Gelu" if node.string("approximate", "none") == "tanh" => Box::new(|x| {
            format!("0.5 * {x} * (1.0 + tanh(0.7978845608028654 * ({x} + 0.044715 * {x} ** 3)))")
        }),
        "Gelu" => Box::new(|x| format!("0.5 * {x} * (1.0 + erf({x} * 0.7071067811865476))")),
        "Swish" => {
            let alpha = a("alpha", 1.0);
            Box::new(move |x| format!("{x} / (1.0 + exp(-{alpha} * {x}))"))
        }
        "Shrink" => {
            let (bias, lambd) = (node.float("bias", 0.0), node.float("lambd", 0.5));
            if elem.is_int() && (bias.fract() != 0.0 || lambd.fract() != 0.0) {
                return Some(refuse_at("bias", "is no integer, as the elements are"));
            }
            let int =
                |v: f64| if elem.is_int() { format!("{}", v as i64) } else { number(v, elem) };
            let (bias, lambd) = (int(bias), int(lambd));
            Box::new(move |x| {
                format!(
                    "if {x} < -{lambd} {{ {x} + {bias} }} else if {x} > {lambd} {{ {x} - {bias} }} else {{ {nil} }}"
                )
            })
        }
        "BitwiseNot" => {
            if elem.is_unsigned() {
                let top = elem.limits().1;
                Box::new(move |x| format!("{top} - {x}"))
            } else {
                Box::new(|x| format!("-1 - {x}"))
            }
        }
        _ => return None,
    };
    Some(pointwise(cx, node.out(0), &[x], result, |x| body(&x[0])).map(drop))
}
