//! The normal form itself, and what can be read off it.

use std::sync::Arc;

use super::Atom;

/// An integer expression in normal form: a sum of integer coefficients times products of atoms,
/// plus a constant; `min`, `max` and integer divisions are opaque factors whose operands are again
/// normal forms.
///
/// Two expressions that are equal as values of this type are equal as functions, wherever their
/// divisions are defined. A sum or product whose coefficients leave `i64` stays behind as an opaque
/// factor, and one that grows too heavy becomes a token that is equal only to itself.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Expr {
    /// Sorted by factors; no two with the same factors; no coefficient 0.
    pub(super) terms: Vec<Term>,
    pub(super) constant: i64,
}

/// A coefficient times a product.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Term {
    /// Sorted, never empty; a power repeats its base.
    pub(super) factors: Vec<Factor>,
    pub(super) coefficient: i64,
}

/// What a product is made of.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Factor {
    Atom(Atom),
    Opaque(Arc<Opaque>),
}

/// A term that the polynomial form does not look into.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Opaque {
    /// The number of nodes below, this one included.
    pub(super) weight: u32,
    /// The longest chain of opaque terms below, this one included.
    pub(super) depth: u32,
    pub(super) kind: Kind,
}

/// The kinds of opaque terms.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Kind {
    /// The least of two or more operands, sorted.
    Min(Vec<Expr>),
    /// The greatest of two or more operands, sorted.
    Max(Vec<Expr>),
    /// A quotient; undefined where the divisor is zero.
    Div(Rounding, Expr, Expr),
    /// A sum whose coefficients leave `i64`.
    Sum(Expr, Expr),
    /// A product whose coefficients leave `i64`, or of too high a degree.
    Product(Expr, Expr),
    /// What was too heavy to keep: a number used once, and the atoms it may depend on.
    Lost(u64, Vec<Atom>),
}

/// Where a quotient is rounded to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Rounding {
    /// Toward minus infinity.
    Floor,
    /// Toward zero: the language's own `/`.
    Trunc,
}

impl Kind {
    /// The operands, in order.
    pub(super) fn operands(&self) -> Vec<&Expr> {
        match self {
            Kind::Min(items) | Kind::Max(items) => items.iter().collect(),
            Kind::Div(_, a, b) | Kind::Sum(a, b) | Kind::Product(a, b) => vec![a, b],
            Kind::Lost(..) => Vec::new(),
        }
    }
}

impl Expr {
    /// A literal.
    pub fn constant(value: i64) -> Expr {
        Expr { terms: Vec::new(), constant: value }
    }

    /// A symbolic integer by itself.
    pub fn atom(atom: Atom) -> Expr {
        Expr::from_factor(Factor::Atom(atom))
    }

    /// The literal 0.
    pub fn zero() -> Expr {
        Expr::constant(0)
    }

    /// The literal 1.
    pub fn one() -> Expr {
        Expr::constant(1)
    }

    /// One factor by itself.
    pub(super) fn from_factor(factor: Factor) -> Expr {
        Expr { terms: vec![Term { factors: vec![factor], coefficient: 1 }], constant: 0 }
    }

    /// The value, if it is a literal.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The atom, if it is nothing else.
    pub fn as_atom(&self) -> Option<Atom> {
        match self.as_factor()? {
            (Factor::Atom(atom), 0) => Some(*atom),
            (Factor::Atom(_) | Factor::Opaque(_), _) => None,
        }
    }

    /// The factor and the constant, if it is one factor plus a constant.
    pub(super) fn as_factor(&self) -> Option<(&Factor, i64)> {
        match self.terms.as_slice() {
            [Term { factors, coefficient: 1 }] => match factors.as_slice() {
                [factor] => Some((factor, self.constant)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The atoms that occur, also inside opaque terms, sorted, each once.
    pub fn atoms(&self) -> Vec<Atom> {
        let mut atoms = Vec::new();
        self.collect_atoms(&mut atoms);
        atoms.sort_unstable();
        atoms.dedup();
        atoms
    }

    pub(super) fn collect_atoms(&self, atoms: &mut Vec<Atom>) {
        for factor in self.terms.iter().flat_map(|term| &term.factors) {
            match factor {
                Factor::Atom(atom) => atoms.push(*atom),
                Factor::Opaque(opaque) => {
                    if let Kind::Lost(_, inside) = &opaque.kind {
                        atoms.extend_from_slice(inside);
                    }
                    for operand in opaque.kind.operands() {
                        operand.collect_atoms(atoms);
                    }
                }
            }
        }
    }

    /// Whether the atom occurs, also inside opaque terms.
    pub fn mentions(&self, atom: Atom) -> bool {
        self.terms.iter().flat_map(|term| &term.factors).any(|factor| factor.mentions(atom))
    }

    /// `(c, rest)` with `self == c * atom + rest` and `rest` free of the atom, also inside opaque
    /// terms.
    pub fn affine_in(&self, atom: Atom) -> Option<(i64, Expr)> {
        let mut coefficient = 0;
        let mut rest =
            Expr { terms: Vec::with_capacity(self.terms.len()), constant: self.constant };
        for term in &self.terms {
            if term.factors.as_slice() == [Factor::Atom(atom)] {
                coefficient = term.coefficient;
            } else if term.factors.iter().any(|factor| factor.mentions(atom)) {
                return None;
            } else {
                rest.terms.push(term.clone());
            }
        }
        Some((coefficient, rest))
    }

    /// The exact value at a point; `None` if an atom is missing, if the value leaves `i64`, or if
    /// something is divided by zero.
    pub fn eval(&self, value: &dyn Fn(Atom) -> Option<i64>) -> Option<i64> {
        i64::try_from(self.eval_wide(value)?).ok()
    }

    fn eval_wide(&self, value: &dyn Fn(Atom) -> Option<i64>) -> Option<i128> {
        let mut total = i128::from(self.constant);
        for term in &self.terms {
            let mut product = i128::from(term.coefficient);
            for factor in &term.factors {
                let factor = match factor {
                    Factor::Atom(atom) => i128::from(value(*atom)?),
                    Factor::Opaque(opaque) => opaque.kind.eval_wide(value)?,
                };
                product = product.checked_mul(factor)?;
            }
            total = total.checked_add(product)?;
        }
        Some(total)
    }

    /// The number of nodes.
    pub(super) fn weight(&self) -> u32 {
        let mut weight = 1u32;
        for factor in self.terms.iter().flat_map(|term| &term.factors) {
            weight = weight.saturating_add(match factor {
                Factor::Atom(_) => 1,
                Factor::Opaque(opaque) => opaque.weight,
            });
        }
        weight
    }

    /// The longest chain of opaque terms.
    pub(super) fn depth(&self) -> u32 {
        let factors = self.terms.iter().flat_map(|term| &term.factors);
        factors
            .map(|factor| match factor {
                Factor::Atom(_) => 0,
                Factor::Opaque(opaque) => opaque.depth,
            })
            .max()
            .unwrap_or(0)
    }
}

impl Factor {
    pub(super) fn mentions(&self, atom: Atom) -> bool {
        match self {
            Factor::Atom(own) => *own == atom,
            Factor::Opaque(opaque) => match &opaque.kind {
                Kind::Lost(_, inside) => inside.contains(&atom),
                kind => kind.operands().iter().any(|operand| operand.mentions(atom)),
            },
        }
    }
}

impl Kind {
    fn eval_wide(&self, value: &dyn Fn(Atom) -> Option<i64>) -> Option<i128> {
        match self {
            Kind::Min(items) => extreme(items, value, i128::min),
            Kind::Max(items) => extreme(items, value, i128::max),
            Kind::Div(rounding, a, b) => {
                let (a, b) = (a.eval_wide(value)?, b.eval_wide(value)?);
                let quotient = a.checked_div(b)?;
                let below = a.checked_rem(b)? != 0 && (a < 0) != (b < 0);
                match rounding {
                    Rounding::Floor if below => quotient.checked_sub(1),
                    Rounding::Floor | Rounding::Trunc => Some(quotient),
                }
            }
            Kind::Sum(a, b) => a.eval_wide(value)?.checked_add(b.eval_wide(value)?),
            Kind::Product(a, b) => a.eval_wide(value)?.checked_mul(b.eval_wide(value)?),
            Kind::Lost(..) => None,
        }
    }
}

fn extreme(
    items: &[Expr],
    value: &dyn Fn(Atom) -> Option<i64>,
    choose: fn(i128, i128) -> i128,
) -> Option<i128> {
    let mut best = None;
    for item in items {
        let item = item.eval_wide(value)?;
        best = Some(best.map_or(item, |best| choose(best, item)));
    }
    best
}
