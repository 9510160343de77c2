//! Integer nodes as sums of multiples of others.

use super::{Ix, Kind, Node, Points};
use ein_scalar::{BinaryOp, UnaryOp};

/// `offset + Σ factor × node`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linear {
    /// Nodes that are not sums themselves, each once, with factors that are not zero.
    pub terms: Vec<(Node, i64)>,
    /// What is added.
    pub offset: i64,
}

impl Linear {
    /// Adds a multiple of another sum.
    pub fn add(&mut self, other: &Linear, factor: i64) {
        for (node, times) in &other.terms {
            self.add_term(*node, times * factor);
        }
        self.offset += other.offset * factor;
    }

    fn add_term(&mut self, node: Node, factor: i64) {
        match self.terms.iter().position(|(other, _)| *other == node) {
            Some(at) => {
                self.terms[at].1 += factor;
                if self.terms[at].1 == 0 {
                    self.terms.remove(at);
                }
            }
            None if factor != 0 => self.terms.push((node, factor)),
            None => {}
        }
    }
}

impl Points {
    /// The sum that an integer node is.
    pub fn linear(&self, node: Node) -> Linear {
        let mut sum = Linear::default();
        self.collect(node, 1, &mut sum);
        sum
    }

    fn collect(&self, node: Node, factor: i64, sum: &mut Linear) {
        match &self.nodes[node].kind {
            Kind::Const(value) if value.as_i64().is_some() => {
                sum.offset += factor * value.as_i64().unwrap_or(0);
            }
            Kind::Binary(BinaryOp::Add, a, b) => {
                self.collect(*a, factor, sum);
                self.collect(*b, factor, sum);
            }
            Kind::Binary(BinaryOp::Sub, a, b) => {
                self.collect(*a, factor, sum);
                self.collect(*b, -factor, sum);
            }
            Kind::Binary(BinaryOp::Mul, a, b) => match (self.as_int(*a), self.as_int(*b)) {
                (Some(times), _) => self.collect(*b, factor * times, sum),
                (_, Some(times)) => self.collect(*a, factor * times, sum),
                _ => sum.add_term(node, factor),
            },
            Kind::Unary(UnaryOp::Neg, a) if self.nodes[node].ty.is_int() => {
                self.collect(*a, -factor, sum);
            }
            Kind::Cast(a) if self.keeps_value(*a, node) => self.collect(*a, factor, sum),
            _ => sum.add_term(node, factor),
        }
    }

    /// Whether a conversion between integers changes nothing.
    fn keeps_value(&self, from: Node, to: Node) -> bool {
        match (self.nodes[from].range, self.nodes[to].ty.int_range()) {
            (Some((lo, hi)), Some((least, most))) => least <= lo && hi <= most,
            _ => false,
        }
    }

    /// The factor of an index variable in an integer node that depends on it only through a
    /// multiple; `Some(0)` if it does not depend on it.
    pub fn factor(&self, node: Node, ix: Ix) -> Option<i64> {
        if !self.depends(node, ix) {
            return Some(0);
        }
        let mut factor = 0;
        for (term, times) in self.linear(node).terms {
            match self.nodes[term].kind {
                Kind::Index(other) if other == ix => factor = times,
                _ if self.depends(term, ix) => return None,
                _ => {}
            }
        }
        Some(factor)
    }

    /// Whether a node is this index variable plus a constant; the constant.
    pub fn offset_from(&self, node: Node, ix: Ix) -> Option<i64> {
        let sum = self.linear(node);
        match sum.terms.as_slice() {
            [(term, 1)] if self.nodes[*term].kind == Kind::Index(ix) => Some(sum.offset),
            _ => None,
        }
    }

    /// Whether a node depends on an index variable.
    pub fn depends(&self, node: Node, ix: Ix) -> bool {
        self.nodes[node].free.binary_search(&ix).is_ok()
    }
}
