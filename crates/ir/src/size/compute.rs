//! An expression as a sequence of operations, for whoever makes code of it.

use super::expr::{Factor, Kind, Rounding, Term};
use super::{Atom, Expr};

/// One operation on what has been made already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation<T> {
    /// A literal.
    Constant(i64),
    /// The value of an atom.
    Atom(Atom),
    /// A sum.
    Add(T, T),
    /// A product.
    Mul(T, T),
    /// The lesser one.
    Min(T, T),
    /// The greater one.
    Max(T, T),
    /// The quotient rounded toward zero.
    Div(T, T),
    /// The quotient rounded toward minus infinity.
    DivFloor(T, T),
    /// What the division rounded toward zero leaves over.
    Rem(T, T),
}

impl Expr {
    /// Makes the expression by its operations, operands first; nothing if `make` refuses one, or if
    /// a part of the expression was too heavy to keep.
    pub fn compute<T>(&self, make: &mut dyn FnMut(Operation<T>) -> Option<T>) -> Option<T> {
        // `a - b * (a / b)` is what the language's `%` became.
        if let Some((a, b, rest)) = self.remainder() {
            let (a, b) = (a.compute(make)?, b.compute(make)?);
            let left = make(Operation::Rem(a, b))?;
            return if rest.as_constant() == Some(0) {
                Some(left)
            } else {
                let rest = rest.compute(make)?;
                make(Operation::Add(left, rest))
            };
        }
        let mut total = match self.constant {
            0 if !self.terms.is_empty() => None,
            constant => Some(make(Operation::Constant(constant))?),
        };
        for Term { factors, coefficient } in &self.terms {
            let mut product = match coefficient {
                1 => None,
                other => Some(make(Operation::Constant(*other))?),
            };
            for factor in factors {
                let factor = factor.compute(make)?;
                product = Some(match product {
                    Some(product) => make(Operation::Mul(product, factor))?,
                    None => factor,
                });
            }
            total = Some(match (total, product) {
                (Some(total), Some(product)) => make(Operation::Add(total, product))?,
                (total, product) => total.or(product)?,
            });
        }
        total
    }

    /// `(a, b, rest)` with `self == a - b * (a / b) + rest`, the quotient gone from `rest`.
    fn remainder(&self) -> Option<(Expr, Expr, Expr)> {
        let factors = self.terms.iter().flat_map(|term| &term.factors);
        for factor in factors {
            let Factor::Opaque(opaque) = factor else { continue };
            let Kind::Div(Rounding::Trunc, a, b) = &opaque.kind else { continue };
            let quotient = Expr::from_factor(factor.clone());
            let rest = self.sub(&a.sub(&b.mul(&quotient)));
            let gone = rest.terms.iter().all(|term| !term.factors.contains(factor));
            if gone && rest.terms.len() < self.terms.len() {
                return Some((a.clone(), b.clone(), rest));
            }
        }
        None
    }
}

impl Factor {
    fn compute<T>(&self, make: &mut dyn FnMut(Operation<T>) -> Option<T>) -> Option<T> {
        let opaque = match self {
            Factor::Atom(atom) => return make(Operation::Atom(*atom)),
            Factor::Opaque(opaque) => opaque,
        };
        let combine: fn(T, T) -> Operation<T> = match &opaque.kind {
            Kind::Min(_) => Operation::Min,
            Kind::Max(_) => Operation::Max,
            Kind::Div(Rounding::Floor, ..) => Operation::DivFloor,
            Kind::Div(Rounding::Trunc, ..) => Operation::Div,
            Kind::Sum(..) => Operation::Add,
            Kind::Product(..) => Operation::Mul,
            Kind::Lost(..) => return None,
        };
        let mut value: Option<T> = None;
        for operand in opaque.kind.operands() {
            let operand = operand.compute(make)?;
            value = Some(match value {
                Some(value) => make(combine(value, operand))?,
                None => operand,
            });
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(e: &Expr, at: &[i64]) -> Option<i64> {
        e.compute(&mut |operation| match operation {
            Operation::Constant(value) => Some(value),
            Operation::Atom(atom) => at.get(ein_base::Idx::index(atom)).copied(),
            Operation::Add(a, b) => a.checked_add(b),
            Operation::Mul(a, b) => a.checked_mul(b),
            Operation::Min(a, b) => Some(a.min(b)),
            Operation::Max(a, b) => Some(a.max(b)),
            Operation::Div(a, b) => a.checked_div(b),
            Operation::DivFloor(a, b) => a.checked_div_euclid(b),
            Operation::Rem(a, b) => a.checked_rem(b),
        })
    }

    #[test]
    fn operations_give_the_value() {
        let atom = |at: usize| Expr::atom(<Atom as ein_base::Idx>::from_usize(at));
        let (i, n) = (atom(0), atom(1));
        let next = i.offset(1);
        let around = next.rem(&n);
        for e in [
            around.clone(),
            around.mul(&n).add(&i.scale(3)).offset(-2),
            i.mul(&n).sub(&i.mul(&i)),
            next.div_trunc(&n).offset(5),
            Expr::constant(7),
        ] {
            for (x, y) in [(0, 1), (4, 5), (11, 3), (-7, 4)] {
                let point = |atom: Atom| [x, y].get(ein_base::Idx::index(atom)).copied();
                assert_eq!(value(&e, &[x, y]), e.eval(&point), "{e:?} at {x}, {y}");
            }
        }
        let mut remainders = 0;
        around.compute(&mut |operation| {
            remainders += usize::from(matches!(operation, Operation::Rem(..)));
            matches!(
                operation,
                Operation::Rem(..)
                    | Operation::Add(..)
                    | Operation::Constant(_)
                    | Operation::Atom(_)
            )
            .then_some(())
        });
        assert_eq!(remainders, 1, "the remainder is one operation");
    }
}
