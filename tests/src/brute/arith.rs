//! Arithmetic, comparison and conversion.

use super::value::{V, fit, round};
use super::{Result, fails, unknown};
use ein_scalar::ScalarType;
use ein_syntax::ast::BinaryOp;
use std::cmp::Ordering;
use std::rc::Rc;

/// Floats nearer than this, but not equal, might compare otherwise elsewhere.
const NEAR: f64 = 1e-4;

/// `a op b`, element by element where one is an array.
pub(super) fn binary(op: BinaryOp, a: &V, b: &V) -> Result<V> {
    match (a, b) {
        (V::Arr(x), V::Arr(y)) => {
            if x.len() != y.len() {
                return unknown("arrays of different extents");
            }
            let pairs = x.iter().zip(y.iter());
            Ok(V::list(pairs.map(|(a, b)| binary(op, a, b)).collect::<Result<_>>()?))
        }
        (V::Arr(x), b) => Ok(V::list(x.iter().map(|a| binary(op, a, b)).collect::<Result<_>>()?)),
        (a, V::Arr(y)) => Ok(V::list(y.iter().map(|b| binary(op, a, b)).collect::<Result<_>>()?)),
        _ => scalar(op, a, b),
    }
}

fn scalar(op: BinaryOp, a: &V, b: &V) -> Result<V> {
    if let BinaryOp::Pow = op {
        return power(a, b);
    }
    if let (V::Str(x), V::Str(y), BinaryOp::Add) = (a, b, op) {
        return Ok(V::Str(format!("{x}{y}").into()));
    }
    if let Some(wanted) = ordering(op) {
        return Ok(V::Bool(wanted(compare(a, b)?)));
    }
    match pair(a, b)? {
        Pair::Int(x, y, ty, soft) => {
            let value = match op {
                BinaryOp::Add => x + y,
                BinaryOp::Sub => x - y,
                BinaryOp::Mul => x * y,
                BinaryOp::Div if y == 0 => return fails("division by zero"),
                BinaryOp::Rem if y == 0 => return fails("remainder by zero"),
                BinaryOp::Div => x / y,
                BinaryOp::Rem => x % y,
                _ => return unknown(format!("`{}` of integers", op.as_str())),
            };
            Ok(V::Int(if soft { value } else { fit(value, ty)? }, ty, soft))
        }
        Pair::Float(x, y, ty, soft) => {
            let of = |x: f64, y: f64| {
                Ok(match op {
                    BinaryOp::Add => x + y,
                    BinaryOp::Sub => x - y,
                    BinaryOp::Mul => x * y,
                    BinaryOp::Div => x / y,
                    BinaryOp::Rem => x % y,
                    _ => return unknown(format!("`{}` of floats", op.as_str())),
                })
            };
            float(of(x, y)?, ty, soft.map(|(x, y)| of(x, y)).transpose()?)
        }
    }
}

/// A float of a type; of a soft one also what it is where each step is computed in `f32`.
pub(super) fn float(value: f64, ty: ScalarType, narrow: Option<f64>) -> Result<V> {
    Ok(match narrow {
        Some(narrow) => V::Float(value, ty, Some(round(narrow, ScalarType::F32))),
        None => V::Float(round(value, ty), ty, None),
    })
}

fn ordering(op: BinaryOp) -> Option<fn(Ordering) -> bool> {
    Some(match op {
        BinaryOp::Eq => Ordering::is_eq,
        BinaryOp::Ne => Ordering::is_ne,
        BinaryOp::Lt => Ordering::is_lt,
        BinaryOp::Le => Ordering::is_le,
        BinaryOp::Gt => Ordering::is_gt,
        BinaryOp::Ge => Ordering::is_ge,
        _ => return None,
    })
}

/// Two numbers of one type.
enum Pair {
    Int(i128, i128, ScalarType, bool),
    /// Two soft ones are there twice: as they are, and where each step is computed in `f32`.
    Float(f64, f64, ScalarType, Option<(f64, f64)>),
}

fn pair(a: &V, b: &V) -> Result<Pair> {
    use V::{Float, Int, Zero};
    Ok(match (a, b) {
        (Int(x, s, false), Int(y, t, false)) if s == t => Pair::Int(*x, *y, *s, false),
        (Int(x, t, false), Int(y, _, true)) | (Int(x, _, true), Int(y, t, _)) => {
            let soft = matches!((a, b), (Int(_, _, true), Int(_, _, true)));
            Pair::Int(*x, *y, *t, soft)
        }
        (Float(x, s, None), Float(y, t, None)) if s == t => Pair::Float(*x, *y, *s, None),
        (Float(x, t, None), Float(y, _, Some(n))) => Pair::Float(*x, adapted(*y, *n, *t), *t, None),
        (Float(x, _, Some(n)), Float(y, t, None)) => Pair::Float(adapted(*x, *n, *t), *y, *t, None),
        (Float(x, t, Some(m)), Float(y, _, Some(n))) => Pair::Float(*x, *y, *t, Some((*m, *n))),
        (Float(x, t, soft), Int(y, _, true)) => {
            Pair::Float(*x, *y as f64, *t, soft.map(|it| (it, *y as f64)))
        }
        (Int(x, _, true), Float(y, t, soft)) => {
            Pair::Float(*x as f64, *y, *t, soft.map(|it| (*x as f64, it)))
        }
        (Zero, Float(y, t, soft)) => Pair::Float(0.0, *y, *t, soft.map(|it| (0.0, it))),
        (Float(x, t, soft), Zero) => Pair::Float(*x, 0.0, *t, soft.map(|it| (it, 0.0))),
        (Zero, Int(y, t, soft)) => Pair::Int(0, *y, *t, *soft),
        (Int(x, t, soft), Zero) => Pair::Int(*x, 0, *t, *soft),
        (Zero, Zero) => Pair::Int(0, 0, ScalarType::I32, true),
        _ => return unknown(format!("numbers of two types: {a:?}, {b:?}")),
    })
}

/// A soft number where a type is asked for.
pub(super) fn adapted(value: f64, narrow: f64, ty: ScalarType) -> f64 {
    if ty == ScalarType::F32 { narrow } else { round(value, ty) }
}

fn power(a: &V, b: &V) -> Result<V> {
    match (a, b) {
        (V::Int(x, ty, soft), V::Int(y, ..)) if (0..64).contains(y) => {
            let value = (0..*y).try_fold(1i128, |value, _| value.checked_mul(*x));
            match value {
                Some(value) => Ok(V::Int(if *soft { value } else { fit(value, *ty)? }, *ty, *soft)),
                None => fails("a power overflows"),
            }
        }
        (V::Float(x, ty, soft), V::Int(y, ..)) => {
            let of = |x: f64| x.powi(*y as i32);
            float(of(*x), *ty, soft.map(of))
        }
        _ => unknown("a power"),
    }
}

/// How two values compare; unknown where rounding might decide.
pub(super) fn compare(a: &V, b: &V) -> Result<Ordering> {
    match (a, b) {
        (V::Bool(x), V::Bool(y)) => Ok(x.cmp(y)),
        (V::Zero, V::Bool(y)) => Ok(false.cmp(y)),
        (V::Bool(x), V::Zero) => Ok(x.cmp(&false)),
        (V::Str(x), V::Str(y)) => Ok(x.cmp(y)),
        (V::Tuple(x), V::Tuple(y)) => lexicographic(x.iter().zip(y.iter())),
        (V::Data(x, f), V::Data(y, g)) => match x.as_str().cmp(y.as_str()) {
            Ordering::Equal => {
                lexicographic(f.iter().map(|it| &it.1).zip(g.iter().map(|it| &it.1)))
            }
            different => Ok(different),
        },
        _ => match pair(a, b)? {
            Pair::Int(x, y, ..) => Ok(x.cmp(&y)),
            Pair::Float(x, y, ..) => {
                if x != y && (x - y).abs() < NEAR * x.abs().max(y.abs()) {
                    return unknown("a comparison of floats that nearly tie");
                }
                x.partial_cmp(&y).map_or_else(|| unknown("a comparison with NaN"), Ok)
            }
        },
    }
}

fn lexicographic<'v>(pairs: impl Iterator<Item = (&'v V, &'v V)>) -> Result<Ordering> {
    for (a, b) in pairs {
        match compare(a, b)? {
            Ordering::Equal => {}
            different => return Ok(different),
        }
    }
    Ok(Ordering::Equal)
}

/// `-a`
pub(super) fn negate(a: &V) -> Result<V> {
    Ok(match a {
        V::Int(x, ty, true) => V::Int(-x, *ty, true),
        V::Int(x, ty, false) => V::Int(fit(-x, *ty)?, *ty, false),
        V::Float(x, ty, soft) => V::Float(-x, *ty, soft.map(|it| -it)),
        V::Arr(items) => V::list(items.iter().map(negate).collect::<Result<_>>()?),
        V::Zero => V::Zero,
        other => return unknown(format!("minus {other:?}")),
    })
}

/// `!a`
pub(super) fn not(a: &V) -> Result<V> {
    Ok(match a {
        V::Arr(items) => V::list(items.iter().map(not).collect::<Result<_>>()?),
        other => V::Bool(!other.truth()?),
    })
}

/// `a as ty`
pub(super) fn cast(a: &V, ty: ScalarType) -> Result<V> {
    let is_int = ty.is_int();
    Ok(match a {
        V::Arr(items) => V::list(items.iter().map(|it| cast(it, ty)).collect::<Result<_>>()?),
        V::Int(x, ..) if is_int => match fit(*x, ty) {
            Ok(value) => V::Int(value, ty, false),
            Err(_) => return unknown("a narrowing conversion"),
        },
        V::Int(x, ..) if ty.is_float() => V::Float(round(*x as f64, ty), ty, None),
        // Literals, and functions of them, are computed in what the conversion asks for: only what a few
        // digits hold is the same in both types. (Large numbers of the narrow one have no more.)
        V::Float(x, _, Some(_))
            if ty == ScalarType::F64 && ((x * 4096.0).fract() != 0.0 || x.abs() >= 2048.0) =>
        {
            return unknown("the precision of literals under a conversion");
        }
        V::Float(x, _, Some(narrow)) if ty.is_float() => {
            V::Float(adapted(*x, *narrow, ty), ty, None)
        }
        V::Float(x, ..) if ty.is_float() => V::Float(round(*x, ty), ty, None),
        V::Float(x, ..) if is_int => {
            if (x - x.round()).abs() < NEAR && *x != x.round() {
                return unknown("a conversion of a float near an integer");
            }
            V::Int(fit(x.trunc() as i128, ty)?, ty, false)
        }
        V::Bool(x) if is_int => V::Int(i128::from(*x), ty, false),
        V::Bool(x) if ty.is_float() => V::Float(f64::from(u8::from(*x)), ty, None),
        V::Zero => V::Zero,
        other => return unknown(format!("{other:?} as {}", ty.name())),
    })
}

/// Applies a function of one float.
pub(super) fn map_float(a: &V, f: &dyn Fn(f64) -> f64) -> Result<V> {
    Ok(match a {
        V::Float(x, ty, soft) => float(f(*x), *ty, soft.map(f))?,
        V::Arr(items) => {
            V::Arr(Rc::new(items.iter().map(|it| map_float(it, f)).collect::<Result<_>>()?))
        }
        other => return unknown(format!("a float function of {other:?}")),
    })
}
