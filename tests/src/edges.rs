//! What programs at the edges mean: trees of scalar operations, evaluated element by element.
//!
//! Nothing of the compiler is used but the meaning of scalars, so a fold of the checker is judged like
//! an engine.

use crate::engines::{Ran, Setting, run};
use ein_scalar::{
    ArithError, BinaryOp as B, IntProd, IntSum, Overflow, Scalar, ScalarType as S, UnaryOp as U,
    apply_binary, apply_unary, cast,
};
use serde_json::Value as Json;

/// A reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Red {
    /// A sum.
    Sum,
    /// A product.
    Prod,
    /// The greatest.
    Max,
    /// The least.
    Min,
}

/// The bounds of an index, if there is one.
pub type Bounds = Option<(Box<X>, Box<X>)>;

/// An expression.
#[derive(Clone, Debug)]
pub enum X {
    /// A number.
    Literal(Scalar),
    /// An index: 0 of the definition, then those of reductions, outermost first.
    Index(usize),
    /// An element of a given array.
    Read(usize, Box<X>),
    /// An operation.
    Unary(U, Box<X>),
    /// An operation.
    Binary(B, Box<X>, Box<X>),
    /// A conversion.
    Cast(S, Box<X>),
    /// The second only if the first holds.
    And(Box<X>, Box<X>),
    /// The second only if the first does not.
    Or(Box<X>, Box<X>),
    /// One of two.
    If(Box<X>, Box<X>, Box<X>),
    /// The first of two, both of which are computed, written in one of several ways.
    First(usize, Box<X>, Box<X>),
    /// A reduction, perhaps under a condition.
    Reduce(Red, Bounds, Option<Box<X>>, Box<X>),
}

/// An array whose elements are written down.
#[derive(Clone, Debug)]
pub struct Array {
    /// Their type.
    pub ty: S,
    /// The elements.
    pub cells: Vec<Scalar>,
}

/// A definition over one index from zero.
#[derive(Clone, Debug)]
pub struct Def {
    /// How many elements it has.
    pub extent: i64,
    /// Their type.
    pub ty: S,
    /// What they are.
    pub value: X,
}

/// A program.
#[derive(Clone, Debug)]
pub struct Edges {
    /// Arrays.
    pub given: Vec<Array>,
    /// Definitions.
    pub defs: Vec<Def>,
}

/// Why there is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It fails with this code.
    Fails(&'static str),
    /// It takes too long to be a test.
    Endless,
}

/// The most points of a reduction.
const POINTS: i64 = 64;

/// A number, and how far from it engines may be: sums of floats have no order.
type Value = (Scalar, f64);

impl Edges {
    /// The text.
    pub fn text(&self) -> String {
        let mut lines = vec!["use std::math::abs;".to_owned()];
        lines.push("struct Both<A, B> { a: A, b: B }".to_owned());
        lines.push("fn first(x, _y) { x }".to_owned());
        for (at, array) in self.given.iter().enumerate() {
            let cells: Vec<String> = array.cells.iter().map(|cell| literal(*cell)).collect();
            let ty = array.ty.name();
            lines.push(format!("let a{at}: [{ty}] = [{}];", cells.join(", ")));
        }
        for (at, def) in self.defs.iter().enumerate() {
            let value = text(&def.value, 1);
            lines.push(format!("let d{at}[i0 in 0..{}] = {value};", def.extent));
        }
        lines.join("\n")
    }

    /// What the definitions are, perhaps with products that are added without being rounded.
    pub fn values(&self, fused: bool) -> Result<Vec<Vec<Value>>, Stop> {
        let mut all = Vec::new();
        for def in &self.defs {
            let near = fused && def.ty.is_float() && multiplies(&def.value);
            let cell = |i: i64| {
                let (value, far) = self.value(&def.value, &mut vec![i as i32])?;
                Ok((value, if near { f64::INFINITY } else { far }))
            };
            all.push((0..def.extent).map(cell).collect::<Result<_, _>>()?);
        }
        Ok(all)
    }

    fn value(&self, x: &X, at: &mut Vec<i32>) -> Result<Value, Stop> {
        let exact = |value: Result<Scalar, ArithError>| match value {
            Ok(value) => Ok((value, 0.0)),
            Err(why) => Err(Stop::Fails(code(why))),
        };
        match x {
            X::Literal(value) => Ok((*value, 0.0)),
            X::Index(index) => Ok((Scalar::I32(at[*index]), 0.0)),
            X::Read(array, place) => {
                let literal = match &**place {
                    X::Literal(_) => true,
                    X::Unary(U::Neg, a) => matches!(&**a, X::Literal(_)),
                    _ => false,
                };
                let mut place = self.value(place, at)?.0.as_i64().unwrap_or(-1);
                if literal && place < 0 {
                    // It counts from the end.
                    place += self.given[*array].cells.len() as i64;
                }
                let cell =
                    usize::try_from(place).ok().and_then(|at| self.given[*array].cells.get(at));
                cell.map(|cell| (*cell, 0.0)).ok_or(Stop::Fails("E0801"))
            }
            X::Unary(op, a) => {
                let (a, far) = self.value(a, at)?;
                Ok((exact(apply_unary(*op, a, Overflow::Trap))?.0, far))
            }
            X::Binary(op, a, b) => {
                let (a, near_a) = self.value(a, at)?;
                let (b, near_b) = self.value(b, at)?;
                let value = exact(apply_binary(*op, a, b, Overflow::Trap))?.0;
                // What is near is not looked at behind an operation on it.
                Ok((value, if near_a + near_b > 0.0 { f64::INFINITY } else { 0.0 }))
            }
            X::Cast(ty, a) => {
                let (a, far) = self.value(a, at)?;
                Ok((cast(a, *ty), far))
            }
            X::And(a, b) => match self.truth(a, at)? {
                true => self.value(b, at),
                false => Ok((Scalar::Bool(false), 0.0)),
            },
            X::Or(a, b) => match self.truth(a, at)? {
                true => Ok((Scalar::Bool(true), 0.0)),
                false => self.value(b, at),
            },
            X::If(cond, a, b) => {
                let holds = self.truth(cond, at)?;
                self.value(if holds { a } else { b }, at)
            }
            X::First(_, a, b) => {
                let a = self.value(a, at)?;
                self.value(b, at)?;
                Ok(a)
            }
            X::Reduce(op, bounds, guard, body) => {
                self.reduced(*op, bounds, guard.as_deref(), body, at)
            }
        }
    }

    fn truth(&self, x: &X, at: &mut Vec<i32>) -> Result<bool, Stop> {
        Ok(self.value(x, at)?.0.as_bool() == Some(true))
    }

    fn reduced(
        &self,
        op: Red,
        bounds: &Bounds,
        guard: Option<&X>,
        body: &X,
        at: &mut Vec<i32>,
    ) -> Result<Value, Stop> {
        let (lo, hi) = match bounds {
            None => (0, 1),
            Some((lo, hi)) => {
                let lo = self.value(lo, at)?.0.as_i64().unwrap_or(0);
                (lo, self.value(hi, at)?.0.as_i64().unwrap_or(0))
            }
        };
        if hi - lo > POINTS {
            return Err(Stop::Endless);
        }
        let mut terms = Vec::new();
        for k in lo..hi {
            if bounds.is_some() {
                at.push(k as i32);
            }
            let term = (|| {
                let holds = guard.is_none_or(|guard| self.truth(guard, at) == Ok(true));
                if let Some(guard) = guard {
                    self.truth(guard, at)?;
                }
                if holds { self.value(body, at).map(Some) } else { Ok(None) }
            })();
            if bounds.is_some() {
                at.pop();
            }
            terms.extend(term?.map(|term| term.0));
        }
        let ty = type_of(body, &self.given);
        let failed = |why| Stop::Fails(code(why));
        match op {
            Red::Sum if ty.is_float() => {
                let total = terms.iter().fold(0.0, |all, term| all + term.as_f64());
                let size: f64 = terms.iter().map(|term| term.as_f64().abs()).sum();
                let digits = match ty {
                    S::F16 => 11,
                    S::BF16 => 8,
                    S::F32 => 24,
                    _ => 53,
                };
                // Pairs of pairs: each level rounds once. Half floats are rounded once at all.
                let levels = match ty {
                    S::F16 | S::BF16 => 1.01,
                    _ => 1.0 + (terms.len().max(1) as f64).log2().ceil(),
                };
                let far = size * levels * 0.5f64.powi(digits);
                Ok((cast(Scalar::F64(total), ty), far))
            }
            Red::Sum => {
                let mut sum = IntSum::new();
                terms.iter().for_each(|term| sum.add(term.as_i128().unwrap_or(0)));
                Ok((sum.finish(ty, Overflow::Trap).map_err(failed)?, 0.0))
            }
            Red::Prod => {
                let mut product = IntProd::new();
                terms.iter().for_each(|term| product.mul(term.as_i128().unwrap_or(0)));
                Ok((product.finish(ty, Overflow::Trap).map_err(failed)?, 0.0))
            }
            Red::Max | Red::Min => {
                let numbers = terms.iter().filter_map(|term| term.as_i128());
                let best = if op == Red::Max { numbers.max() } else { numbers.min() };
                let best = best.ok_or(Stop::Fails("E0807"))?;
                Ok((Scalar::from_i128(best, ty).unwrap_or(Scalar::zero(ty)), 0.0))
            }
        }
    }
}

/// Whether there is a product in it.
fn multiplies(x: &X) -> bool {
    match x {
        X::Literal(_) | X::Index(_) => false,
        X::Binary(B::Mul, ..) => true,
        X::Read(_, a) | X::Unary(_, a) | X::Cast(_, a) => multiplies(a),
        X::Binary(_, a, b) | X::And(a, b) | X::Or(a, b) | X::First(_, a, b) => {
            multiplies(a) || multiplies(b)
        }
        X::If(a, b, c) => multiplies(a) || multiplies(b) || multiplies(c),
        X::Reduce(_, _, _, a) => multiplies(a),
    }
}

fn code(why: ArithError) -> &'static str {
    match why {
        ArithError::Overflow => "E0802",
        ArithError::DivisionByZero => "E0803",
        ArithError::NegativeExponent | ArithError::Operands => "E0809",
    }
}

fn type_of(x: &X, given: &[Array]) -> S {
    match x {
        X::Literal(value) => value.ty(),
        X::Index(_) => S::I32,
        X::Read(array, _) => given[*array].ty,
        X::Unary(_, a) | X::First(_, a, _) | X::If(_, a, _) => type_of(a, given),
        X::Binary(op, ..) if op.is_comparison() => S::Bool,
        X::Binary(_, a, _) | X::Reduce(_, _, _, a) => type_of(a, given),
        X::Cast(ty, _) => *ty,
        X::And(..) | X::Or(..) => S::Bool,
    }
}

fn literal(value: Scalar) -> String {
    let ty = value.ty();
    let suffix = if matches!(ty, S::I32 | S::F32) { "" } else { ty.name() };
    if ty.is_float() {
        let number = value.as_f64();
        let name = ty.name();
        return match number {
            _ if number.is_nan() => format!("((0.0 / 0.0) as {name})"),
            _ if number.is_infinite() => format!("((1.0 / 0.0) as {name})"),
            _ if number.is_sign_negative() => format!("(-{:?}{suffix})", -number),
            _ => format!("{number:?}{suffix}"),
        };
    }
    match (value.as_i128(), ty.int_range()) {
        (Some(number), Some((least, _))) if number == least && least < 0 => {
            format!("(-{}{suffix} - 1{suffix})", -(least + 1))
        }
        (Some(number), _) if number < 0 => format!("(-{}{suffix})", -number),
        (Some(number), _) => format!("{number}{suffix}"),
        (None, _) => value.to_string(),
    }
}

/// How an expression is written, inside so many indices.
fn text(x: &X, depth: usize) -> String {
    let t = |x: &X| text(x, depth);
    match x {
        X::Literal(value) => literal(*value),
        X::Index(at) => format!("i{at}"),
        X::Read(array, at) => format!("a{array}[{}]", t(at)),
        X::Unary(U::Neg, a) => format!("(-{})", t(a)),
        X::Unary(op, a) => format!("{}({})", format!("{op:?}").to_lowercase(), t(a)),
        X::Binary(op, a, b) => {
            let sign = match op {
                B::Add => "+",
                B::Sub => "-",
                B::Mul => "*",
                B::Div => "/",
                B::Rem => "%",
                B::Lt => "<",
                B::Le => "<=",
                B::Gt => ">",
                B::Ge => ">=",
                B::Eq => "==",
                B::Ne => "!=",
                B::Min => return format!("min({}, {})", t(a), t(b)),
                _ => return format!("max({}, {})", t(a), t(b)),
            };
            format!("({} {sign} {})", t(a), t(b))
        }
        X::Cast(ty, a) => format!("({} as {})", t(a), ty.name()),
        X::And(a, b) => format!("({} && {})", t(a), t(b)),
        X::Or(a, b) => format!("({} || {})", t(a), t(b)),
        X::If(cond, a, b) => format!("(if {} {{ {} }} else {{ {} }})", t(cond), t(a), t(b)),
        X::First(way, a, b) => match way {
            0 => format!("{{ let u{depth} = {}; let _v{depth} = {}; u{depth} }}", t(a), t(b)),
            1 => format!("({}, {}).0", t(a), t(b)),
            2 => format!("Both {{ a: {}, b: {} }}.a", t(a), t(b)),
            3 => format!("first({}, {})", t(a), t(b)),
            4 => format!("(|p{depth}, _q{depth}| p{depth})({}, {})", t(a), t(b)),
            _ => format!("{{ let (u{depth}, _v{depth}) = ({}, {}); u{depth} }}", t(a), t(b)),
        },
        X::Reduce(op, bounds, guard, body) => {
            let name = match op {
                Red::Sum => "sum",
                Red::Prod => "prod",
                Red::Max => "max",
                Red::Min => "min",
            };
            let inner = depth + usize::from(bounds.is_some());
            let domain = match bounds {
                None => String::new(),
                Some((lo, hi)) => format!("i{depth} in {}..{}", t(lo), t(hi)),
            };
            let guard = match guard {
                Some(guard) => format!(" where {}", text(guard, inner)),
                None => String::new(),
            };
            format!("{name}[{domain}]({}{guard})", text(body, inner))
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Values as they should be; whether something was compiled.
    Right(bool),
    /// It fails as it should.
    Fails,
    /// It is rejected, and would fail.
    Rejected,
    /// It takes too long to be a test.
    Endless,
    /// Something else than it should be.
    Wrong(String),
}

/// Runs a program and compares.
pub fn judge(program: &Edges, setting: &Setting) -> Verdict {
    let expected = match program.values(setting.engine == ein_driver::Engine::Native) {
        Err(Stop::Endless) => return Verdict::Endless,
        Err(Stop::Fails(code)) => Err(code),
        Ok(values) => Ok(values),
    };
    let ran = match run(&program.text(), setting) {
        Ok(ran) => ran,
        // The checker may see that it must fail, and it forbids some forms also where they do not run:
        // reads that are always outside, and domains that start below zero.
        Err(why) if expected.is_err() && !why.contains("internal") => return Verdict::Rejected,
        Err(why) if why.contains("error[E0403]") || why.contains("error[E0418]") => {
            return Verdict::Rejected;
        }
        Err(why) => return Verdict::Wrong(why),
    };
    match (expected, &ran.failure) {
        (Err(code), Some((found, _))) if code == found => Verdict::Fails,
        (Err(code), found) => Verdict::Wrong(format!("not {code} but {found:?}")),
        (Ok(_), Some((_, why))) => Verdict::Wrong(why.clone()),
        (Ok(values), None) => match compare(&values, &ran) {
            Some(why) => Verdict::Wrong(why),
            None => Verdict::Right(ran.compiled),
        },
    }
}

fn compare(values: &[Vec<Value>], ran: &Ran) -> Option<String> {
    for (at, wanted) in values.iter().enumerate() {
        let name = format!("d{at}");
        let (_, found) = ran.outputs.iter().find(|(known, _)| *known == name)?;
        let found = found.get("data").and_then(Json::as_array)?;
        if found.len() != wanted.len() {
            return Some(format!("`{name}` has {} elements", found.len()));
        }
        for (i, (found, (wanted, far))) in found.iter().zip(wanted).enumerate() {
            if !is(found, *wanted, *far) {
                return Some(format!("{name}[{i}] is {found}, not {wanted}"));
            }
        }
    }
    None
}

fn is(found: &Json, wanted: Scalar, far: f64) -> bool {
    if let Some(wanted) = wanted.as_i128().filter(|_| !wanted.ty().is_float()) {
        let found = found.as_i64().map(i128::from).or(found.as_u64().map(i128::from));
        return found == Some(wanted);
    }
    if let Some(wanted) = wanted.as_bool() {
        return found.as_bool() == Some(wanted);
    }
    let number = match found {
        Json::String(text) => text.parse().ok(),
        found => found.as_f64(),
    };
    // The text has as many digits as its type needs.
    let wanted_ty = wanted.ty();
    let number = number.map(|number: f64| cast(Scalar::F64(number), wanted.ty()).as_f64());
    let (Some(number), wanted) = (number, wanted.as_f64()) else { return false };
    let near = far > 0.0 && ((number - wanted).abs() <= far || far.is_infinite() || far.is_nan());
    // The JSON reader rounds the last digit of a double as it likes.
    let read = wanted_ty == S::F64 && (number - wanted).abs() <= wanted.abs() * f64::EPSILON;
    near || read && number != 0.0
        || number == wanted && number.is_sign_negative() == wanted.is_sign_negative()
        || number.is_nan() && wanted.is_nan()
}
