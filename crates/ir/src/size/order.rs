//! The order that normal forms are sorted by. It says nothing about values, so `Expr` is not `Ord`:
//! `a < b` and `a.max(b)` on expressions would compile and be wrong.

use std::cmp::Ordering;
use std::sync::Arc;

use super::expr::{Expr, Factor, Kind, Term};

impl Expr {
    /// An order by structure, for sorting and for ordered maps; it says nothing about values.
    pub fn structural_cmp(&self, other: &Expr) -> Ordering {
        each(&self.terms, &other.terms, Term::structural_cmp)
            .then(self.constant.cmp(&other.constant))
    }
}

impl Term {
    fn structural_cmp(&self, other: &Term) -> Ordering {
        cmp_factors(&self.factors, &other.factors).then(self.coefficient.cmp(&other.coefficient))
    }
}

/// The order of products.
pub(super) fn cmp_factors(a: &[Factor], b: &[Factor]) -> Ordering {
    each(a, b, Factor::structural_cmp)
}

impl Factor {
    /// Atoms come before opaque terms.
    pub(super) fn structural_cmp(&self, other: &Factor) -> Ordering {
        match (self, other) {
            (Factor::Atom(a), Factor::Atom(b)) => a.cmp(b),
            (Factor::Atom(_), Factor::Opaque(_)) => Ordering::Less,
            (Factor::Opaque(_), Factor::Atom(_)) => Ordering::Greater,
            (Factor::Opaque(a), Factor::Opaque(b)) if Arc::ptr_eq(a, b) => Ordering::Equal,
            (Factor::Opaque(a), Factor::Opaque(b)) => {
                a.weight.cmp(&b.weight).then_with(|| a.kind.structural_cmp(&b.kind))
            }
        }
    }
}

impl Kind {
    fn structural_cmp(&self, other: &Kind) -> Ordering {
        self.rank().cmp(&other.rank()).then_with(|| match (self, other) {
            (Kind::Lost(a, _), Kind::Lost(b, _)) => a.cmp(b),
            (a, b) => each(&a.operands(), &b.operands(), |a, b| a.structural_cmp(b)),
        })
    }

    fn rank(&self) -> (u8, u8) {
        match self {
            Kind::Min(_) => (0, 0),
            Kind::Max(_) => (1, 0),
            Kind::Div(rounding, ..) => (2, *rounding as u8),
            Kind::Sum(..) => (3, 0),
            Kind::Product(..) => (4, 0),
            Kind::Lost(..) => (5, 0),
        }
    }
}

fn each<T>(a: &[T], b: &[T], compare: impl Fn(&T, &T) -> Ordering) -> Ordering {
    for (a, b) in a.iter().zip(b) {
        let order = compare(a, b);
        if order.is_ne() {
            return order;
        }
    }
    a.len().cmp(&b.len())
}
