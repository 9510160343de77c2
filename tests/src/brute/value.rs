//! Values as nested lists.

use super::arith;
use super::define::Lazy;
use super::{Env, Result, fails, unknown};
use ein_base::Symbol;
use ein_scalar::ScalarType;
use ein_syntax::ast::ExprId;
use std::rc::Rc;

/// A value. A *soft* number comes from a literal and takes the type of whatever it meets.
#[derive(Clone, Debug)]
pub enum V {
    /// A truth value.
    Bool(bool),
    /// An integer, its type, and whether it is soft.
    Int(i128, ScalarType, bool),
    /// A float and its type; of a soft one also what it is where each step is computed in `f32`.
    Float(f64, ScalarType, Option<f64>),
    /// A text.
    Str(Rc<str>),
    /// A list of values of one shape.
    Arr(Rc<Vec<V>>),
    /// A tuple.
    Tuple(Rc<Vec<V>>),
    /// A struct or a variant: its name and its fields.
    Data(Symbol, Rc<Vec<(Symbol, V)>>),
    /// A function value: parameters, body, what it captured.
    Closure(ExprId, Rc<Env>),
    /// `lo..hi`
    Range(i128, i128),
    /// The range of an index variable.
    Domain(i64, i64),
    /// The values of the indices of a pack.
    Pack(Rc<Vec<i64>>),
    /// A definition whose points are computed when read.
    Lazy(Rc<Lazy>),
    /// Zero of a type that nothing told.
    Zero,
    /// `()`
    Unit,
}

impl V {
    pub(super) fn index(value: i64) -> V {
        V::Int(i128::from(value), ScalarType::I32, false)
    }

    pub(super) fn list(items: Vec<V>) -> V {
        V::Arr(Rc::new(items))
    }

    pub(super) fn int(&self) -> Result<i64> {
        match self {
            V::Int(value, ..) => Ok(*value as i64),
            V::Zero => Ok(0),
            other => unknown(format!("not an integer: {other:?}")),
        }
    }

    pub(super) fn truth(&self) -> Result<bool> {
        match self {
            V::Bool(value) => Ok(*value),
            V::Zero => Ok(false),
            other => unknown(format!("not a truth value: {other:?}")),
        }
    }

    /// How deep the lists nest.
    pub(super) fn rank(&self) -> usize {
        self.shape().len()
    }

    pub(super) fn shape(&self) -> Vec<usize> {
        match self {
            V::Arr(items) => {
                let mut shape = vec![items.len()];
                shape.extend(items.first().map(V::shape).unwrap_or_default());
                shape
            }
            V::Lazy(lazy) => lazy.extents.clone(),
            _ => Vec::new(),
        }
    }

    /// The element at an index.
    pub(super) fn at(&self, index: i64) -> Result<V> {
        match self {
            V::Arr(items) => match usize::try_from(index).ok().and_then(|at| items.get(at)) {
                Some(item) => Ok(item.clone()),
                None => fails(format!("index {index} of {}", items.len())),
            },
            V::Zero => Ok(V::Zero),
            other => unknown(format!("cannot be indexed: {other:?}")),
        }
    }

    /// Whether it is a number whose type is settled, and which.
    fn hard(&self) -> Option<ScalarType> {
        match self {
            V::Int(_, ty, false) | V::Float(_, ty, None) => Some(*ty),
            V::Arr(items) => items.iter().find_map(V::hard),
            _ => None,
        }
    }

    /// Soft numbers in it take this type, or their own if there is none.
    pub(super) fn settle(self, want: Option<ScalarType>) -> Result<V> {
        Ok(match (self, want) {
            (V::Int(value, _, true), Some(ty)) if ty.is_float() => {
                V::Float(round(value as f64, ty), ty, None)
            }
            (V::Int(value, ty, true), want) => {
                let ty = want.unwrap_or(ty);
                V::Int(fit(value, ty)?, ty, false)
            }
            (V::Float(value, ty, Some(narrow)), want) => {
                let ty = want.filter(|ty| ty.is_float()).unwrap_or(ty);
                V::Float(arith::adapted(value, narrow, ty), ty, None)
            }
            (V::Arr(items), want) => {
                let want = items.iter().find_map(V::hard).or(want);
                V::list(items.iter().map(|item| item.clone().settle(want)).collect::<Result<_>>()?)
            }
            (V::Tuple(items), _) => {
                let items: Result<Vec<V>> =
                    items.iter().map(|it| it.clone().settle(None)).collect();
                V::Tuple(Rc::new(items?))
            }
            (other, _) => other,
        })
    }

    /// Soft numbers take the type of a settled one beside them; nothing else changes.
    pub(super) fn agree(items: Vec<V>) -> Result<Vec<V>> {
        match items.iter().find_map(V::hard) {
            Some(ty) => items.into_iter().map(|item| item.settle(Some(ty))).collect(),
            None => Ok(items),
        }
    }

    /// The zero of its type and shape.
    pub(super) fn zero(&self) -> V {
        match self {
            V::Bool(_) => V::Bool(false),
            V::Int(_, ty, soft) => V::Int(0, *ty, *soft),
            V::Float(_, ty, soft) => V::Float(0.0, *ty, soft.map(|_| 0.0)),
            V::Str(_) => V::Str("".into()),
            V::Arr(items) => V::list(items.iter().map(V::zero).collect()),
            _ => V::Zero,
        }
    }

    /// Whether nothing in it has a type.
    pub(super) fn is_typeless(&self) -> bool {
        match self {
            V::Zero => true,
            V::Arr(items) => !items.is_empty() && items.iter().all(V::is_typeless),
            _ => false,
        }
    }

    /// Zeros without a type become this value.
    pub(super) fn replace_zeros(&self, zero: &V) -> V {
        match self {
            V::Zero => zero.clone(),
            V::Arr(items) => V::list(items.iter().map(|it| it.replace_zeros(zero)).collect()),
            other => other.clone(),
        }
    }

    /// Zeros without a type take that of their neighbours.
    pub(super) fn fill_zeros(items: Vec<V>) -> Vec<V> {
        let Some(known) = items.iter().find(|item| !item.is_typeless()) else { return items };
        let zero = known.zero();
        let fill = |item: V| if item.is_typeless() { zero.clone() } else { item };
        items.into_iter().map(fill).collect()
    }
}

/// An integer in its type, or overflow.
pub(super) fn fit(value: i128, ty: ScalarType) -> Result<i128> {
    let (lo, hi): (i128, i128) = match ty {
        ScalarType::I8 => (i8::MIN.into(), i8::MAX.into()),
        ScalarType::I16 => (i16::MIN.into(), i16::MAX.into()),
        ScalarType::I32 => (i32::MIN.into(), i32::MAX.into()),
        ScalarType::I64 => (i64::MIN.into(), i64::MAX.into()),
        ScalarType::U8 => (0, u8::MAX.into()),
        ScalarType::U16 => (0, u16::MAX.into()),
        ScalarType::U32 => (0, u32::MAX.into()),
        ScalarType::U64 => (0, u64::MAX.into()),
        _ => return unknown(format!("an integer of type {}", ty.name())),
    };
    if (lo..=hi).contains(&value) { Ok(value) } else { fails(format!("{value} as {}", ty.name())) }
}

/// A float rounded to its type.
pub(super) fn round(value: f64, ty: ScalarType) -> f64 {
    match ty {
        ScalarType::F64 => value,
        ScalarType::F32 => f64::from(value as f32),
        other => ein_scalar::Scalar::from_f64(value, other).map_or(value, |it| it.as_f64()),
    }
}
