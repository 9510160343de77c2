//! Extents: integers, and polynomials over sizes that are known only when the program runs.

use std::collections::BTreeMap;
use std::fmt;

/// An extent, or an integer computed from extents: a sum of products of atoms.
///
/// An atom is a piece of program text that stands for an integer: a size `?n`, or a quotient
/// `(?n + 1) / 2`. Two extents are equal if their normal forms are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Dim {
    /// The coefficient of each product of atoms; none is zero. The empty product is the constant.
    terms: BTreeMap<Vec<String>, i64>,
}

impl From<i64> for Dim {
    fn from(value: i64) -> Dim {
        let mut terms = BTreeMap::new();
        if value != 0 {
            terms.insert(Vec::new(), value);
        }
        Dim { terms }
    }
}

impl Dim {
    /// A size that stands for itself.
    pub fn atom(text: impl Into<String>) -> Dim {
        Dim { terms: BTreeMap::from([(vec![text.into()], 1)]) }
    }

    /// The integer, if it is known.
    pub fn known(&self) -> Option<i64> {
        match self.terms.len() {
            0 => Some(0),
            1 => self.terms.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// Whether it is this integer.
    pub fn is(&self, value: i64) -> bool {
        self.known() == Some(value)
    }

    /// The sum; integers that do not fit are cut off, and are refused where an extent is used.
    pub fn plus(&self, other: &Dim) -> Dim {
        let mut terms = self.terms.clone();
        for (product, factor) in &other.terms {
            let sum = terms.entry(product.clone()).or_insert(0);
            *sum = sum.saturating_add(*factor);
            if *sum == 0 {
                terms.remove(product);
            }
        }
        Dim { terms }
    }

    /// The difference.
    pub fn minus(&self, other: &Dim) -> Dim {
        self.plus(&other.times(&Dim::from(-1)))
    }

    /// The product.
    pub fn times(&self, other: &Dim) -> Dim {
        let mut sum = Dim::default();
        for (a, m) in &self.terms {
            for (b, n) in &other.terms {
                let mut product = [a.as_slice(), b.as_slice()].concat();
                product.sort();
                let factor = m.saturating_mul(*n);
                sum = sum.plus(&Dim { terms: BTreeMap::from([(product, factor)]) });
            }
        }
        sum
    }

    /// The sum with an integer.
    pub fn plus_int(&self, value: i64) -> Dim {
        self.plus(&Dim::from(value))
    }

    /// The quotient if there is no remainder for any size.
    pub fn exactly_over(&self, other: &Dim) -> Option<Dim> {
        if other.terms.len() != 1 {
            return (self == other && !other.terms.is_empty()).then(|| Dim::from(1));
        }
        let (divisor, factor) = other.terms.first_key_value()?;
        let mut terms = BTreeMap::new();
        for (product, value) in &self.terms {
            let mut rest = product.clone();
            for atom in divisor {
                let at = rest.iter().position(|it| it == atom)?;
                rest.remove(at);
            }
            if value.checked_rem(*factor)? != 0 {
                return None;
            }
            terms.insert(rest, value.checked_div(*factor)?);
        }
        Some(Dim { terms })
    }

    /// The quotient rounded down, for extents that are not negative.
    pub fn over(&self, other: &Dim) -> Dim {
        if let (Some(a), Some(b)) = (self.known(), other.known()) {
            return match b {
                0 => Dim::from(0),
                _ => Dim::from(a.wrapping_div_euclid(b)),
            };
        }
        if let Some(exact) = self.exactly_over(other) {
            return exact;
        }
        Dim::atom(format!("({self}) / {}", other.factor_text()))
    }

    /// The smaller of two.
    pub fn smaller(&self, other: &Dim) -> Dim {
        match (self.known(), other.known(), self.minus(other).known()) {
            (Some(a), Some(b), _) => Dim::from(a.min(b)),
            (_, _, Some(difference)) => {
                if difference <= 0 {
                    self.clone()
                } else {
                    other.clone()
                }
            }
            _ => Dim::atom(format!("min({self}, {other})")),
        }
    }

    /// The larger of two.
    pub fn larger(&self, other: &Dim) -> Dim {
        match (self.known(), other.known(), self.minus(other).known()) {
            (Some(a), Some(b), _) => Dim::from(a.max(b)),
            (_, _, Some(difference)) => {
                if difference >= 0 {
                    self.clone()
                } else {
                    other.clone()
                }
            }
            _ => Dim::atom(format!("max({self}, {other})")),
        }
    }

    /// As a factor of a product.
    pub fn factor_text(&self) -> String {
        let text = self.to_string();
        let plain = self.known().is_some_and(|n| n >= 0)
            || self.terms.len() == 1
                && self.terms.iter().all(|(p, f)| p.len() == 1 && *f == 1 && !p[0].contains(' '));
        if plain { text } else { format!("({text})") }
    }

    /// The size, if it is one that only the program finds (the text of such a size begins with `?found`).
    pub fn hidden(&self) -> Option<&str> {
        let (product, factor) = self.terms.first_key_value()?;
        match product.as_slice() {
            [atom] if self.terms.len() == 1 && *factor == 1 => {
                atom.strip_prefix('?').filter(|it| it.starts_with("found"))
            }
            _ => None,
        }
    }

    /// Whether the text is made of sizes of the signature and integers alone.
    pub fn is_plain(&self) -> bool {
        self.terms.keys().flatten().all(|atom| {
            let computed = ["len(", "min(", "max(", "[", "?found"];
            (atom.starts_with('?') || atom.starts_with('('))
                && !computed.iter().any(|it| atom.contains(it))
        })
    }
}

/// As program text.
impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.terms.is_empty() {
            return f.write_str("0");
        }
        // The constant, which comes first in the order of the map, is written last.
        let (constant, products): (Vec<_>, Vec<_>) =
            self.terms.iter().partition(|(product, _)| product.is_empty());
        // A positive term first, so that the text does not begin with a sign where it need not.
        let mut ordered: Vec<_> = products.into_iter().chain(constant).collect();
        if let Some(at) = ordered.iter().position(|(_, factor)| **factor > 0) {
            let first = ordered.remove(at);
            ordered.insert(0, first);
        }
        for (i, (product, factor)) in ordered.into_iter().enumerate() {
            let sign = if *factor < 0 { "-" } else { "+" };
            match i {
                0 if *factor < 0 => f.write_str("-")?,
                0 => {}
                _ => write!(f, " {sign} ")?,
            }
            let size = factor.unsigned_abs();
            let mut parts = Vec::new();
            if size != 1 || product.is_empty() {
                parts.push(size.to_string());
            }
            for atom in product {
                let lone = product.len() == 1 && size == 1;
                parts.push(if atom.contains('/') && !lone {
                    format!("({atom})")
                } else {
                    atom.clone()
                });
            }
            f.write_str(&parts.join(" * "))?;
        }
        Ok(())
    }
}

/// The number of elements of a shape.
pub fn count(shape: &[Dim]) -> Dim {
    shape.iter().fold(Dim::from(1), |product, dim| product.times(dim))
}

/// A shape of integers, if all of them are known.
pub fn known(shape: &[Dim]) -> Option<Vec<i64>> {
    shape.iter().map(Dim::known).collect()
}

/// Extents from integers.
pub fn dims(shape: &[i64]) -> Vec<Dim> {
    shape.iter().map(|n| Dim::from(*n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_have_a_normal_form() {
        let n = Dim::atom("?n");
        let twice = n.plus(&n).plus_int(1);
        assert_eq!(twice.to_string(), "2 * ?n + 1");
        assert_eq!(twice.minus(&n).minus(&n), Dim::from(1));
        assert_eq!(twice.over(&Dim::from(2)).to_string(), "(2 * ?n + 1) / 2");
        assert_eq!(n.times(&Dim::from(6)).over(&Dim::from(3)).to_string(), "2 * ?n");
        assert_eq!(Dim::from(7).over(&Dim::from(2)), Dim::from(3));
        assert_eq!(Dim::from(3).minus(&n).to_string(), "3 - ?n");
        assert_eq!(n.exactly_over(&Dim::from(0)), None);
    }
}
