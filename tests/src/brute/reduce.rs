//! Reductions: every point, in order.

use super::arith::{self, compare};
use super::names::name;
use super::value::{V, fit};
use super::{Brute, Result, fails, unknown};
use ein_base::Symbol;
use ein_scalar::ScalarType;
use ein_syntax::ast::{ExprId, ExprKind, Slot, SlotKind, WhereItem};
use std::cmp::Ordering;

/// The reductions with brackets.
pub(super) const NAMES: [&str; 10] =
    ["sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin", "count"];

/// A point, its value unless a guard skips it, and perhaps what that would have been.
type Point = (Vec<i64>, Option<V>, Option<V>);

/// An index of a reduction.
enum Index {
    Over(Symbol, Option<ExprId>),
}

impl Brute<'_> {
    /// `op[slots](body)`
    pub(super) fn reduction(
        &mut self,
        e: ExprId,
        op: &str,
        slots: &[Slot],
        body: ExprId,
    ) -> Result<V> {
        let mut indices = Vec::new();
        for slot in slots {
            match &slot.kind {
                SlotKind::Expr(e) => match name(self.ast, *e) {
                    Some(name) => indices.push(Index::Over(name, None)),
                    None => return unknown("an index of a reduction"),
                },
                SlotKind::Domain { name, domain } => {
                    indices.push(Index::Over(name.sym, Some(*domain)));
                }
                _ => return unknown("a slot of a reduction"),
            }
        }
        let mark = self.env.len();
        let missing = indices
            .iter()
            .any(|Index::Over(var, domain)| domain.is_none() && self.range_of(*var).is_none());
        if missing {
            for (var, lo, hi) in self.infer(&[], &[e])? {
                self.env.push((var, V::Domain(lo, hi)));
            }
        }
        let mut items = self.attached.get(&e).cloned().unwrap_or_default();
        let mut value = body;
        if let ExprKind::Where { body, items: inside, otherwise: None } = &self.ast.expr[body].kind
        {
            items.extend(inside.iter().cloned());
            value = *body;
        }
        let mut points = Vec::new();
        let result = self.points(&indices, &items, value, &mut Vec::new(), &mut points);
        self.env.truncate(mark);
        result?;
        if points.iter().all(|it| it.1.is_none()) {
            return Ok(nothing(op, points.into_iter().find_map(|it| it.2)));
        }
        let points = points.into_iter().filter_map(|(at, value, _)| Some((at, value?)));
        fold(op, points.collect())
    }

    fn points(
        &mut self,
        indices: &[Index],
        items: &[WhereItem],
        body: ExprId,
        at: &mut Vec<i64>,
        out: &mut Vec<Point>,
    ) -> Result<()> {
        let mark = self.env.len();
        let Some((Index::Over(var, domain), rest)) = indices.split_first() else {
            if self.items(items)? {
                let value = self.eval(body)?;
                out.push((at.clone(), Some(value), None));
            } else if out.is_empty() {
                // For its type only.
                let sample = self.eval(body).and_then(|value| value.settle(None));
                out.push((at.clone(), None, sample.ok()));
            }
            self.env.truncate(mark);
            return Ok(());
        };
        let (lo, hi) = match domain {
            Some(domain) => self.domain(*domain)?,
            None => match self.range_of(*var) {
                Some(range) => range,
                None => return unknown(format!("no range for `{var}`")),
            },
        };
        for index in lo..hi {
            self.env.push((*var, V::index(index)));
            at.push(index);
            self.points(rest, items, body, at, out)?;
            at.pop();
            self.env.truncate(mark);
        }
        Ok(())
    }
}

/// The reduction of no points; `sample` tells the type.
fn nothing(op: &str, sample: Option<V>) -> V {
    match (op, sample) {
        ("count", _) => V::index(0),
        ("any" | "all", _) => V::Bool(op == "all"),
        ("prod", Some(V::Int(_, ty, soft))) => V::Int(1, ty, soft),
        ("prod", Some(V::Float(_, ty, soft))) => V::Float(1.0, ty, soft.map(|_| 1.0)),
        ("prod", _) => V::Int(1, ScalarType::I32, true),
        (_, Some(sample)) => sample.zero(),
        _ => V::Zero,
    }
}

/// All elements of an array.
pub(super) fn flatten(value: &V, out: &mut Vec<(Vec<i64>, V)>) {
    match value {
        V::Arr(items) => items.iter().for_each(|item| flatten(item, out)),
        scalar => out.push((vec![out.len() as i64], scalar.clone())),
    }
}

/// The reduction of the values at some points.
pub(super) fn fold(op: &str, points: Vec<(Vec<i64>, V)>) -> Result<V> {
    let (places, values): (Vec<Vec<i64>>, Vec<V>) = points.into_iter().unzip();
    let values = V::fill_zeros(V::agree(values)?);
    match op {
        "count" => {
            let mut count = 0;
            for value in &values {
                count += i64::from(value.truth()?);
            }
            Ok(V::index(count))
        }
        "any" | "all" => {
            let mut result = op == "all";
            for value in &values {
                let value = value.truth()?;
                result = if op == "all" { result && value } else { result || value };
            }
            Ok(V::Bool(result))
        }
        "argmax" | "argmin" | "max" | "min" => {
            let wanted = if op.ends_with("max") { Ordering::Greater } else { Ordering::Less };
            let mut best: Option<usize> = None;
            for (at, value) in values.iter().enumerate() {
                let better = match best {
                    Some(best) => compare(value, &values[best])? == wanted,
                    None => true,
                };
                if better {
                    best = Some(at);
                }
            }
            match best {
                None => unknown("the extreme of nothing"),
                Some(best) if op.starts_with("arg") => match places[best].as_slice() {
                    [at] => Ok(V::index(*at)),
                    _ => unknown("the place of an extreme in several axes"),
                },
                Some(best) => Ok(values[best].clone()),
            }
        }
        "sum" | "prod" | "mean" => total(op, &values),
        other => unknown(format!("the reduction `{other}`")),
    }
}

fn total(op: &str, values: &[V]) -> Result<V> {
    match values.first() {
        None if op == "prod" => Ok(V::Int(1, ScalarType::I32, true)),
        None if op == "mean" => fails("the mean of nothing"),
        None | Some(V::Zero) => Ok(V::Zero),
        Some(V::Int(_, ty, soft)) => {
            let mut total = i128::from(op == "prod");
            for value in values {
                let V::Int(value, ..) = value else { return unknown("a sum of mixed values") };
                let next = if op == "prod" {
                    total.checked_mul(*value)
                } else {
                    total.checked_add(*value)
                };
                total = match next {
                    Some(next) => next,
                    None => return unknown("a total beyond 128 bits"),
                };
            }
            Ok(V::Int(if *soft { total } else { fit(total, *ty)? }, *ty, *soft))
        }
        Some(V::Float(_, ty, soft)) => {
            let (mut wide, mut narrow) = (Vec::new(), Vec::new());
            for value in values {
                let V::Float(value, _, soft) = value else {
                    return unknown("a sum of mixed values");
                };
                wide.push(*value);
                narrow.push(soft.unwrap_or(*value));
            }
            arith::float(total_of(op, &wide), *ty, soft.map(|_| total_of(op, &narrow)))
        }
        Some(other) => unknown(format!("the total of {other:?}")),
    }
}

/// A sum, product or mean, as if it were rounded once.
fn total_of(op: &str, values: &[f64]) -> f64 {
    if op == "prod" {
        return values.iter().product();
    }
    let (mut total, mut lost) = (0.0, 0.0);
    for value in values {
        let next = total + value;
        lost += if f64::abs(total) >= value.abs() {
            (total - next) + value
        } else {
            (value - next) + total
        };
        total = next;
    }
    total += lost;
    if op == "mean" { total / values.len() as f64 } else { total }
}
