//! Sums, products, `min`, `max` and substitution, simplified as they are built.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Memory};

use super::Atom;
use super::expr::{Expr, Factor, Kind, Opaque, Rounding, Term};
use super::order::cmp_factors;

/// Above this many nodes an expression is not kept.
const MAX_WEIGHT: u32 = 600;
/// Above this many nested opaque terms an expression is not kept.
const MAX_DEPTH: u32 = 24;
/// Above this many terms a product is not multiplied out.
const MAX_TERMS: usize = 96;
/// Above this degree a product is not multiplied out.
const MAX_DEGREE: usize = 8;

/// Numbers for what was too heavy to keep.
static LOST: AtomicU64 = AtomicU64::new(0);

/// Keeps a number that text has brought from being given again.
pub(super) fn reserve_lost(number: u64) {
    LOST.fetch_max(number.saturating_add(1), Memory::Relaxed);
}

impl Expr {
    /// `self + other`.
    pub fn add(&self, other: &Expr) -> Expr {
        self.combine(other, 1).unwrap_or_else(|| Expr::sum_apart(self, other))
    }

    /// `self - other`.
    pub fn sub(&self, other: &Expr) -> Expr {
        if self == other {
            return Expr::zero();
        }
        self.combine(other, -1).unwrap_or_else(|| Expr::sum_apart(self, &other.neg()))
    }

    /// `-self`.
    pub fn neg(&self) -> Expr {
        self.scale(-1)
    }

    /// `self * factor`.
    pub fn scale(&self, factor: i64) -> Expr {
        if factor == 0 {
            return Expr::zero();
        }
        Expr::zero()
            .combine(self, factor)
            .unwrap_or_else(|| Expr::product_apart(self, &Expr::constant(factor)))
    }

    /// `self + distance`.
    pub fn offset(&self, distance: i64) -> Expr {
        self.add(&Expr::constant(distance))
    }

    /// `self * other`.
    pub fn mul(&self, other: &Expr) -> Expr {
        if let Some(factor) = other.as_constant() {
            return self.scale(factor);
        }
        if let Some(factor) = self.as_constant() {
            return other.scale(factor);
        }
        self.multiply_out(other).unwrap_or_else(|| Expr::product_apart(self, other))
    }

    /// The smaller of the two.
    pub fn min(&self, other: &Expr) -> Expr {
        Expr::extreme(Extreme::Min, vec![self.clone(), other.clone()])
    }

    /// The larger of the two.
    pub fn max(&self, other: &Expr) -> Expr {
        Expr::extreme(Extreme::Max, vec![self.clone(), other.clone()])
    }

    /// The expression with some atoms replaced, all at once.
    pub fn substitute(&self, replacement: &dyn Fn(Atom) -> Option<Expr>) -> Expr {
        let mut result = Expr::constant(self.constant);
        for term in &self.terms {
            let mut product = Expr::constant(term.coefficient);
            for factor in &term.factors {
                product = product.mul(&factor.substitute(replacement));
            }
            result = result.add(&product);
        }
        result
    }

    /// `self + factor * other`, or nothing if a coefficient leaves `i64` or it grows too heavy.
    pub(super) fn combine(&self, other: &Expr, factor: i64) -> Option<Expr> {
        let constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        if other.terms.is_empty() {
            return Some(Expr { terms: self.terms.clone(), constant });
        }
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (Some(a), Some(b)) => cmp_factors(&a.factors, &b.factors),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => break,
            };
            let from_left = if order.is_le() { left.next() } else { None };
            let from_right = if order.is_ge() { right.next() } else { None };
            let Some(shown) = from_left.or(from_right) else { break };
            let a = from_left.map_or(0, |term| term.coefficient);
            let b = from_right.map_or(0, |term| term.coefficient).checked_mul(factor)?;
            let coefficient = a.checked_add(b)?;
            if coefficient != 0 {
                terms.push(Term { factors: shown.factors.clone(), coefficient });
            }
        }
        let result = Expr { terms, constant };
        (result.weight() <= MAX_WEIGHT).then_some(result)
    }

    fn multiply_out(&self, other: &Expr) -> Option<Expr> {
        if (self.terms.len() + 1) * (other.terms.len() + 1) > MAX_TERMS {
            return None;
        }
        let mut result = self.scale(other.constant);
        for right in &other.terms {
            for left in &self.terms {
                let coefficient = left.coefficient.checked_mul(right.coefficient)?;
                let mut factors = left.factors.clone();
                factors.extend_from_slice(&right.factors);
                if factors.len() > MAX_DEGREE {
                    return None;
                }
                factors.sort_by(Factor::structural_cmp);
                let term = Expr { terms: vec![Term { factors, coefficient }], constant: 0 };
                result = result.combine(&term, 1)?;
            }
            let coefficient = self.constant.checked_mul(right.coefficient)?;
            if coefficient != 0 {
                let term = Term { factors: right.factors.clone(), coefficient };
                result = result.combine(&Expr { terms: vec![term], constant: 0 }, 1)?;
            }
        }
        Some(result)
    }

    fn sum_apart(a: &Expr, b: &Expr) -> Expr {
        let (a, b) = if a.structural_cmp(b).is_le() { (a, b) } else { (b, a) };
        Expr::opaque(Kind::Sum(a.clone(), b.clone()))
    }

    fn product_apart(a: &Expr, b: &Expr) -> Expr {
        let (a, b) = if a.structural_cmp(b).is_le() { (a, b) } else { (b, a) };
        Expr::opaque(Kind::Product(a.clone(), b.clone()))
    }

    /// An opaque term by itself, or a token if it is too heavy.
    pub(super) fn opaque(kind: Kind) -> Expr {
        let operands = kind.operands();
        let weight = operands.iter().fold(1u32, |sum, e| sum.saturating_add(e.weight()));
        let depth = 1 + operands.iter().map(|e| e.depth()).max().unwrap_or(0);
        // A sum of two opaque terms can be heavy without end, so `2 *` leaves room for `combine`.
        if 2 * weight > MAX_WEIGHT || depth > MAX_DEPTH {
            let mut atoms = Vec::new();
            for operand in operands {
                operand.collect_atoms(&mut atoms);
            }
            atoms.sort_unstable();
            atoms.dedup();
            return Expr::lost(atoms);
        }
        Expr::from_factor(Factor::Opaque(Arc::new(Opaque { weight, depth, kind })))
    }

    fn lost(atoms: Vec<Atom>) -> Expr {
        let kind = Kind::Lost(LOST.fetch_add(1, Memory::Relaxed), atoms);
        Expr::from_factor(Factor::Opaque(Arc::new(Opaque { weight: 1, depth: 1, kind })))
    }

    /// The least or greatest of some operands: flattened, merged, sorted, and with the constant of
    /// the first operand that is not a literal drawn out, so that `min(n - 1, m - 1) + 1` is
    /// `min(n, m)`.
    pub(super) fn extreme(which: Extreme, items: Vec<Expr>) -> Expr {
        let mut flat: Vec<Expr> = Vec::with_capacity(items.len());
        for item in items {
            match item.as_factor() {
                Some((Factor::Opaque(opaque), constant)) if which.matches(&opaque.kind) => {
                    flat.extend(opaque.kind.operands().into_iter().map(|e| e.offset(constant)));
                }
                Some(_) | None => flat.push(item),
            }
        }
        flat.sort_by(Expr::structural_cmp);
        let mut merged: Vec<Expr> = Vec::with_capacity(flat.len());
        for item in flat {
            match merged.last_mut() {
                // Sorted by terms, then by constant: the first of a run is the least.
                Some(last) if last.terms == item.terms => match which {
                    Extreme::Min => {}
                    Extreme::Max => *last = item,
                },
                Some(_) | None => merged.push(item),
            }
        }
        if let [only] = merged.as_slice() {
            return only.clone();
        }
        let drawn = merged.iter().find(|e| !e.terms.is_empty()).map_or(0, |e| e.constant);
        let shifted: Option<Vec<Expr>> = merged
            .iter()
            .map(|e| {
                let constant = e.constant.checked_sub(drawn)?;
                Some(Expr { terms: e.terms.clone(), constant })
            })
            .collect();
        let (items, drawn) = match shifted {
            Some(items) => (items, drawn),
            None => (merged, 0),
        };
        let kind = match which {
            Extreme::Min => Kind::Min(items),
            Extreme::Max => Kind::Max(items),
        };
        Expr::opaque(kind).offset(drawn)
    }
}

/// Which end is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Extreme {
    Min,
    Max,
}

impl Extreme {
    fn matches(self, kind: &Kind) -> bool {
        match kind {
            Kind::Min(_) => self == Extreme::Min,
            Kind::Max(_) => self == Extreme::Max,
            Kind::Div(..) | Kind::Sum(..) | Kind::Product(..) | Kind::Lost(..) => false,
        }
    }
}

impl Factor {
    fn substitute(&self, replacement: &dyn Fn(Atom) -> Option<Expr>) -> Expr {
        let opaque = match self {
            Factor::Atom(atom) => {
                return replacement(*atom).unwrap_or_else(|| Expr::from_factor(self.clone()));
            }
            Factor::Opaque(opaque) => opaque,
        };
        let all = |items: &[Expr]| items.iter().map(|e| e.substitute(replacement)).collect();
        match &opaque.kind {
            Kind::Min(items) => Expr::extreme(Extreme::Min, all(items)),
            Kind::Max(items) => Expr::extreme(Extreme::Max, all(items)),
            Kind::Div(rounding, a, b) => {
                let (a, b) = (a.substitute(replacement), b.substitute(replacement));
                match rounding {
                    Rounding::Floor => a.div_floor(&b),
                    Rounding::Trunc => a.div_trunc(&b),
                }
            }
            Kind::Sum(a, b) => a.substitute(replacement).add(&b.substitute(replacement)),
            Kind::Product(a, b) => a.substitute(replacement).mul(&b.substitute(replacement)),
            Kind::Lost(_, atoms) => {
                let replaced: Vec<Option<Expr>> = atoms.iter().map(|a| replacement(*a)).collect();
                if replaced.iter().all(Option::is_none) {
                    return Expr::from_factor(self.clone());
                }
                let mut inside = Vec::new();
                for (atom, new) in atoms.iter().zip(&replaced) {
                    match new {
                        Some(new) => new.collect_atoms(&mut inside),
                        None => inside.push(*atom),
                    }
                }
                inside.sort_unstable();
                inside.dedup();
                Expr::lost(inside)
            }
        }
    }
}
