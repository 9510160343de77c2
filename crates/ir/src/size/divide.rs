//! Division and remainder, of both kinds.
//!
//! A remainder is not a term of its own: `a % b` is `a - b * (a / b)`, so that
//! `b * (a / b) + a % b` is `a` by merging like terms.

use super::expr::{Expr, Factor, Kind, Rounding, Term};

impl Expr {
    /// The language's integer `/`: the quotient rounded toward zero.
    pub fn div_trunc(&self, divisor: &Expr) -> Expr {
        let apart = || Expr::opaque(Kind::Div(Rounding::Trunc, self.clone(), divisor.clone()));
        let Some(c) = divisor.as_constant() else {
            return self.div_exact(divisor).unwrap_or_else(apart);
        };
        match c {
            0 | i64::MIN => return apart(),
            1 => return self.clone(),
            ..=-1 => return self.div_trunc(&Expr::constant(-c)).neg(),
            _ => {}
        }
        if let Some(value) = self.as_constant() {
            return Expr::constant(value / c);
        }
        if let Some(quotient) = self.div_exact(divisor) {
            return quotient;
        }
        // -a / c is -(a / c): the first coefficient is made positive.
        if self.terms.first().is_some_and(|term| term.coefficient < 0)
            && let Some(negated) = Expr::zero().combine(self, -1)
        {
            return negated.div_trunc(divisor).neg();
        }
        let common = self.terms.iter().fold(gcd(c, self.constant), |g, t| gcd(g, t.coefficient));
        if common > 1
            && let Some(smaller) = self.div_exact(&Expr::constant(common))
        {
            return smaller.div_trunc(&Expr::constant(c / common));
        }
        if let Some((inner, inner_divisor, 0)) = self.as_quotient(Rounding::Trunc)
            && let Some(product) = inner_divisor.checked_mul(c)
        {
            return inner.div_trunc(&Expr::constant(product));
        }
        apart()
    }

    /// The quotient rounded toward minus infinity.
    pub fn div_floor(&self, divisor: &Expr) -> Expr {
        let apart = || Expr::opaque(Kind::Div(Rounding::Floor, self.clone(), divisor.clone()));
        let Some(c) = divisor.as_constant() else {
            return self.div_floor_symbolic(divisor);
        };
        match c {
            0 | i64::MIN => return apart(),
            1 => return self.clone(),
            ..=-1 => {
                return match Expr::zero().combine(self, -1) {
                    Some(negated) => negated.div_floor(&Expr::constant(-c)),
                    None => apart(),
                };
            }
            _ => {}
        }
        // Whole multiples leave: (c * q + r) / c is q + r / c. The signs of coefficients are kept
        // for reading's sake; the constant that stays is between 0 and c.
        let mut whole = Expr::constant(self.constant.div_euclid(c));
        let mut left = Expr::constant(self.constant.rem_euclid(c));
        let mut common = c;
        for Term { factors, coefficient } in &self.terms {
            let push = |into: &mut Expr, coefficient: i64| {
                if coefficient != 0 {
                    into.terms.push(Term { factors: factors.clone(), coefficient });
                }
            };
            push(&mut whole, coefficient / c);
            push(&mut left, coefficient % c);
            common = gcd(common, coefficient % c);
        }
        if left.terms.is_empty() {
            return whole;
        }
        for term in &mut left.terms {
            term.coefficient /= common;
        }
        left.constant = left.constant.div_euclid(common);
        let c = c / common;
        if let Some((inner, inner_divisor, offset)) = left.as_quotient(Rounding::Floor)
            && let Some(product) = inner_divisor.checked_mul(c)
            && let Some(offset) = offset.checked_mul(inner_divisor)
        {
            let inner = inner.offset(offset);
            return inner.div_floor(&Expr::constant(product)).add(&whole);
        }
        Expr::opaque(Kind::Div(Rounding::Floor, left, Expr::constant(c))).add(&whole)
    }

    /// The language's `%`: what `div_trunc` leaves, with the sign of the dividend.
    pub fn rem(&self, divisor: &Expr) -> Expr {
        let quotient = self.div_trunc(divisor);
        if divisor.as_constant() == Some(0) {
            return quotient;
        }
        self.sub(&quotient.mul(divisor))
    }

    /// What `div_floor` leaves: never negative for a positive divisor.
    pub fn mod_floor(&self, divisor: &Expr) -> Expr {
        let quotient = self.div_floor(divisor);
        if divisor.as_constant() == Some(0) {
            return quotient;
        }
        self.sub(&quotient.mul(divisor))
    }

    /// The quotient rounded toward plus infinity, by a positive literal.
    pub(super) fn div_ceil(&self, divisor: i64) -> Expr {
        self.add(&Expr::constant(divisor.saturating_sub(1))).div_floor(&Expr::constant(divisor))
    }

    fn div_floor_symbolic(&self, divisor: &Expr) -> Expr {
        // (h * D + d) / D is h + d / D.
        let mut whole = Expr::zero();
        let mut left = Expr::constant(self.constant);
        for term in &self.terms {
            let single = Expr { terms: vec![term.clone()], constant: 0 };
            match single.div_exact(divisor) {
                Some(quotient) => whole = whole.add(&quotient),
                None => left.terms.push(term.clone()),
            }
        }
        if left == Expr::zero() {
            return whole;
        }
        Expr::opaque(Kind::Div(Rounding::Floor, left, divisor.clone())).add(&whole)
    }

    /// The quotient by a single product that divides every term, if it does.
    pub(super) fn div_exact(&self, divisor: &Expr) -> Option<Expr> {
        if let Some(c) = divisor.as_constant() {
            let constant = exact(self.constant, c)?;
            let terms = self.terms.iter().map(|term| {
                let coefficient = exact(term.coefficient, c)?;
                Some(Term { factors: term.factors.clone(), coefficient })
            });
            return Some(Expr { terms: terms.collect::<Option<_>>()?, constant });
        }
        let [Term { factors, coefficient }] = divisor.terms.as_slice() else { return None };
        if divisor.constant != 0 || self.constant != 0 {
            return None;
        }
        let mut result = Expr::zero();
        for term in &self.terms {
            let coefficient = exact(term.coefficient, *coefficient)?;
            let mut left = term.factors.clone();
            for factor in factors {
                let place = left.iter().position(|own| own == factor)?;
                left.remove(place);
            }
            let quotient = if left.is_empty() {
                Expr::constant(coefficient)
            } else {
                Expr { terms: vec![Term { factors: left, coefficient }], constant: 0 }
            };
            result = result.combine(&quotient, 1)?;
        }
        Some(result)
    }

    /// `(a, c, k)` if this is `a / c + k` with a positive literal `c`.
    pub(super) fn as_quotient(&self, rounding: Rounding) -> Option<(&Expr, i64, i64)> {
        let (Factor::Opaque(opaque), constant) = self.as_factor()? else { return None };
        match &opaque.kind {
            Kind::Div(own, a, b) if *own == rounding => match b.as_constant()? {
                c @ 1.. => Some((a, c, constant)),
                _ => None,
            },
            Kind::Div(..)
            | Kind::Min(_)
            | Kind::Max(_)
            | Kind::Sum(..)
            | Kind::Product(..)
            | Kind::Lost(..) => None,
        }
    }
}

fn exact(a: i64, c: i64) -> Option<i64> {
    if a.checked_rem(c)? == 0 { a.checked_div(c) } else { None }
}

/// The greatest common divisor, never negative (and 1 where it does not fit).
pub fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(1)
}
