//! What programs at the edges mean: trees of scalar operations, evaluated element by element.
//!
//! Nothing of the compiler is used but the meaning of scalars, so a fold of the checker is judged like
//! an engine.

mod judge;
mod text;

use ein_scalar::{
    ArithError, BinaryOp as B, IntProd, IntSum, Overflow, Scalar, ScalarType as S, UnaryOp as U,
    apply_binary, apply_unary, cast,
};
pub use judge::{Verdict, judge};

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
    /// The extent of the array that a program in a function has, as a size without a known value.
    Size,
    /// An element of a given array.
    Read(usize, Box<X>),
    /// An element of the numbers below a count, or the count, if nobody looks at them: the count, and
    /// the position.
    Count(Box<X>, Option<Box<X>>),
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
    /// A value through an array of two of it that is given another shape, in one of several ways.
    Shaped(usize, Box<X>),
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
    /// The extent of an array that definitions in a function are given beside the others.
    pub sized: Option<i64>,
}

/// Why there is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It fails with this code.
    Fails(&'static str),
    /// It takes too long to be a test.
    Endless,
}

/// So many ways of [`X::Shaped`] are right, and [`WRONG_SHAPES`] more are not.
pub const SHAPES: usize = 3;

/// See [`SHAPES`].
pub const WRONG_SHAPES: usize = 3;

/// The wrong one with more positions than integers.
const VAST: usize = SHAPES + 2;

/// The most points of a reduction.
const POINTS: i64 = 64;

/// A number, how far from it engines may be, because sums of floats have no order, and what else it may
/// be, because a product may be added without being rounded.
#[derive(Clone, Debug)]
pub struct Value {
    is: Scalar,
    far: f64,
    others: Vec<Scalar>,
    /// The factors that it is the product of, in each way that it may have come about.
    factors: Vec<(Scalar, Scalar)>,
}

impl Value {
    fn exact(is: Scalar) -> Value {
        Value { is, far: 0.0, others: Vec::new(), factors: Vec::new() }
    }

    /// All numbers that it may be.
    fn all(&self) -> impl Iterator<Item = Scalar> {
        std::iter::once(self.is).chain(self.others.iter().copied())
    }

    /// The same, seen through an operation that rounds nothing.
    fn through(&self, by: impl Fn(Scalar) -> Scalar) -> Value {
        let others = self.others.iter().map(|it| by(*it)).collect();
        let factors = self.factors.iter().map(|(a, b)| (by(*a), *b)).collect();
        Value { is: by(self.is), far: self.far, others, factors }
    }
}

/// How the products of floats are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Products {
    /// They are rounded first.
    Rounded,
    /// They may be added as they are: the C compiler decides it, for `f32` and `f64`.
    Fused,
}

impl Edges {
    /// What the definitions are.
    pub fn values(&self, products: Products) -> Result<Vec<Vec<Value>>, Stop> {
        let mut all = Vec::new();
        for def in &self.defs {
            let cell = |i: i64| {
                let value = self.value(&def.value, &mut vec![i as i32])?;
                Ok(match products {
                    Products::Rounded => Value { others: Vec::new(), ..value },
                    Products::Fused => value,
                })
            };
            all.push((0..def.extent).map(cell).collect::<Result<_, _>>()?);
        }
        Ok(all)
    }

    fn value(&self, x: &X, at: &mut Vec<i32>) -> Result<Value, Stop> {
        match x {
            X::Literal(value) => Ok(Value::exact(*value)),
            X::Index(index) => Ok(Value::exact(Scalar::I32(at[*index]))),
            X::Size => Ok(Value::exact(Scalar::I32(self.sized.unwrap_or(0) as i32))),
            X::Count(count, place) => {
                let count = self.whole(count, at)?;
                if count < 0 {
                    return Err(Stop::Fails("E0809"));
                }
                let Some(place) = place else { return Ok(Value::exact(Scalar::I32(count as i32))) };
                let place = self.place(place, count, at)?;
                match (0..count).contains(&place) {
                    true => Ok(Value::exact(Scalar::I32(place as i32))),
                    false => Err(Stop::Fails("E0801")),
                }
            }
            X::Read(array, place) => {
                let extent = self.given[*array].cells.len() as i64;
                let place = self.place(place, extent, at)?;
                let cell =
                    usize::try_from(place).ok().and_then(|at| self.given[*array].cells.get(at));
                cell.map(|cell| Value::exact(*cell)).ok_or(Stop::Fails("E0801"))
            }
            X::Unary(op, a) => {
                let a = self.value(a, at)?;
                let is = apply_unary(*op, a.is, Overflow::Trap).map_err(failed)?;
                let by = |it| apply_unary(*op, it, Overflow::Trap).unwrap_or(is);
                let value = a.through(by);
                // Only the sign of a product is that of one factor.
                Ok(if *op == U::Neg { value } else { Value { factors: Vec::new(), ..value } })
            }
            X::Binary(op, a, b) => {
                let (a, b) = (self.value(a, at)?, self.value(b, at)?);
                combined(*op, &a, &b)
            }
            X::Cast(ty, a) => {
                let a = self.value(a, at)?;
                let cast = |it| cast(it, *ty);
                let others = a.others.iter().map(|it| cast(*it)).collect();
                Ok(Value { is: cast(a.is), far: a.far, others, factors: Vec::new() })
            }
            X::And(a, b) => match self.truth(a, at)? {
                true => self.value(b, at),
                false => Ok(Value::exact(Scalar::Bool(false))),
            },
            X::Or(a, b) => match self.truth(a, at)? {
                true => Ok(Value::exact(Scalar::Bool(true))),
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
            X::Shaped(way, a) => {
                let a = self.value(a, at)?;
                match *way {
                    0..SHAPES => Ok(a),
                    VAST => Err(Stop::Fails("E0802")),
                    _ => Err(Stop::Fails("E0804")),
                }
            }
            X::Reduce(op, bounds, guard, body) => {
                self.reduced(*op, bounds, guard.as_deref(), body, at)
            }
        }
    }

    /// A position in so many elements: a literal below zero counts from the end.
    fn place(&self, x: &X, extent: i64, at: &mut Vec<i32>) -> Result<i64, Stop> {
        let literal = match x {
            X::Literal(_) => true,
            X::Unary(U::Neg, a) => matches!(&**a, X::Literal(_)),
            _ => false,
        };
        let place = self.whole(x, at)?;
        Ok(if literal && place < 0 { place + extent } else { place })
    }

    /// An integer.
    fn whole(&self, x: &X, at: &mut Vec<i32>) -> Result<i64, Stop> {
        Ok(self.value(x, at)?.is.as_i64().unwrap_or(-1))
    }

    fn truth(&self, x: &X, at: &mut Vec<i32>) -> Result<bool, Stop> {
        Ok(self.value(x, at)?.is.as_bool() == Some(true))
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
            Some((lo, hi)) => (self.whole(lo, at)?, self.whole(hi, at)?),
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
            terms.extend(term?.map(|term| term.is));
        }
        let ty = type_of(body, &self.given);
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
                let rounded = |total: f64| cast(Scalar::F64(total), ty);
                // Near a tie what was added in single floats may fall to the other side.
                let near = size * terms.len() as f64 * 0.5f64.powi(24);
                let sides = [total - near, total + near].map(|side| rounded(side).as_f64());
                let far = match ty {
                    S::F16 | S::BF16 => far.max(sides[1] - sides[0]),
                    _ => far,
                };
                Ok(Value { far, ..Value::exact(rounded(total)) })
            }
            Red::Sum => {
                let mut sum = IntSum::new();
                terms.iter().for_each(|term| sum.add(term.as_i128().unwrap_or(0)));
                Ok(Value::exact(sum.finish(ty, Overflow::Trap).map_err(failed)?))
            }
            Red::Prod => {
                let mut product = IntProd::new();
                terms.iter().for_each(|term| product.mul(term.as_i128().unwrap_or(0)));
                Ok(Value::exact(product.finish(ty, Overflow::Trap).map_err(failed)?))
            }
            Red::Max | Red::Min => {
                let numbers = terms.iter().filter_map(|term| term.as_i128());
                let best = if op == Red::Max { numbers.max() } else { numbers.min() };
                let best = best.ok_or(Stop::Fails("E0807"))?;
                Ok(Value::exact(Scalar::from_i128(best, ty).unwrap_or(Scalar::zero(ty))))
            }
        }
    }
}

fn failed(why: ArithError) -> Stop {
    Stop::Fails(code(why))
}

/// An operation on all that its operands may be.
fn combined(op: B, a: &Value, b: &Value) -> Result<Value, Stop> {
    let is = apply_binary(op, a.is, b.is, Overflow::Trap).map_err(failed)?;
    // What is near is not looked at behind an operation on it.
    let far = if a.far + b.far > 0.0 { f64::INFINITY } else { 0.0 };
    let mut value = Value { far, ..Value::exact(is) };
    if !is.ty().is_float() {
        return Ok(value);
    }
    let apply = |x, y| apply_binary(op, x, y, Overflow::Trap).unwrap_or(is);
    for x in a.all() {
        value.others.extend(b.all().map(|y| apply(x, y)));
    }
    let minus = |it| apply_unary(U::Neg, it, Overflow::Trap).unwrap_or(it);
    match op {
        B::Mul => value.factors = a.all().flat_map(|x| b.all().map(move |y| (x, y))).collect(),
        B::Add | B::Sub => {
            let right = |it| if op == B::Sub { minus(it) } else { it };
            for (x, y) in &a.factors {
                value.others.extend(b.all().filter_map(|more| fused(*x, *y, right(more))));
            }
            for (x, y) in &b.factors {
                value.others.extend(a.all().filter_map(|more| fused(right(*x), *y, more)));
            }
        }
        _ => {}
    }
    let bits = |it: &Scalar| it.to_bits();
    value.others.sort_by_key(bits);
    value.others.dedup_by_key(|it| bits(it));
    value.others.truncate(64);
    Ok(value)
}

/// `x * y + more`, rounded once.
fn fused(x: Scalar, y: Scalar, more: Scalar) -> Option<Scalar> {
    match (x, y, more) {
        (Scalar::F32(x), Scalar::F32(y), Scalar::F32(more)) => {
            Some(Scalar::F32(x.mul_add(y, more)))
        }
        (Scalar::F64(x), Scalar::F64(y), Scalar::F64(more)) => {
            Some(Scalar::F64(x.mul_add(y, more)))
        }
        _ => None,
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
        X::Index(_) | X::Size | X::Count(..) => S::I32,
        X::Read(array, _) => given[*array].ty,
        X::Unary(_, a) | X::First(_, a, _) | X::If(_, a, _) | X::Shaped(_, a) => type_of(a, given),
        X::Binary(op, ..) if op.is_comparison() => S::Bool,
        X::Binary(_, a, _) | X::Reduce(_, _, _, a) => type_of(a, given),
        X::Cast(ty, _) => *ty,
        X::And(..) | X::Or(..) => S::Bool,
    }
}
