//! Inverting index expressions: for which values of a variable does a read stay in bounds?
//!
//! Before:  `0 <= 2 * i + k < N`, for all `k` in `0..3`, asked for `i`
//! After:   `0 .. (N - 1) / 2`
//!
//! The other index variables are first put at the end of their range where the expression is least,
//! or greatest; then each of the two inequalities is solved for the one variable that is left.
//! Refuses: a variable that occurs twice beyond merging (`i / 3 + i % 3`), `%`, a quotient by
//! something symbolic.

use super::build::Extreme;
use super::expr::{Expr, Factor, Kind, Rounding, Term};
use super::{Atom, Facts, prove_ge0};

/// More replacements of index variables than this are not made.
const MAX_REPLACED: usize = 16;

/// The range `(lo, hi)`, half-open, of the values of `atom` for which `0 <= e < extent` at *all*
/// values of the other index variables, whose own half-open ranges `ranges` gives; atoms without a
/// range are sizes. `None` if the expression bounds the variable on fewer than two sides or cannot be
/// inverted.
///
/// The start may be negative; the caller cuts it at 0. A quotient rounded toward zero is inverted for
/// nonnegative dividends only. A symbolic coefficient (`h * D + d`) is taken to be a size: not
/// negative.
pub fn solve_range(
    e: &Expr,
    atom: Atom,
    extent: &Expr,
    ranges: &dyn Fn(Atom) -> Option<(Expr, Expr)>,
) -> Option<(Expr, Expr)> {
    if !e.mentions(atom) {
        return None;
    }
    let least = at_end(e, atom, Extreme::Min, ranges)?;
    let greatest = at_end(e, atom, Extreme::Max, ranges)?;
    let mut bounds = Bounds::default();
    bounds.solve(&least, atom)?;
    bounds.solve(&extent.offset(-1).sub(&greatest), atom)?;
    Some((bounds.lower?, bounds.upper?.offset(1)))
}

/// Bounds of one atom, both inclusive.
#[derive(Default)]
pub(super) struct Bounds {
    pub(super) lower: Option<Expr>,
    pub(super) upper: Option<Expr>,
}

impl Bounds {
    fn at_least(&mut self, bound: Expr) {
        self.lower = Some(match self.lower.take() {
            Some(own) => own.max(&bound),
            None => bound,
        });
    }

    fn at_most(&mut self, bound: Expr) {
        self.upper = Some(match self.upper.take() {
            Some(own) => own.min(&bound),
            None => bound,
        });
    }

    /// Adds what `e >= 0` says about the atom; `None` if that is not an interval.
    pub(super) fn solve(&mut self, e: &Expr, atom: Atom) -> Option<()> {
        let mut mentioning = e.terms.iter().filter(|t| t.factors.iter().any(|f| f.mentions(atom)));
        let Some(term) = mentioning.next() else {
            // It must hold by itself, or no value of the atom is right.
            return prove_ge0(&Facts::new(), e).is_proved().then_some(());
        };
        if mentioning.next().is_some() {
            return None;
        }
        let coefficient = term.coefficient;
        let rest = e.sub(&Expr { terms: vec![term.clone()], constant: 0 });
        match term.factors.as_slice() {
            [Factor::Atom(_)] => {
                let (bound, up) = bound_of(&rest, coefficient)?;
                if up {
                    self.at_most(bound)
                } else {
                    self.at_least(bound)
                }
                Some(())
            }
            [Factor::Opaque(opaque)] => self.solve_opaque(&opaque.kind, coefficient, &rest, atom),
            factors => self.solve_scaled(factors, coefficient, &rest, atom),
        }
    }

    /// Adds what `coefficient * opaque + rest >= 0` says, where only the opaque term has the atom.
    fn solve_opaque(
        &mut self,
        kind: &Kind,
        coefficient: i64,
        rest: &Expr,
        atom: Atom,
    ) -> Option<()> {
        match (kind, coefficient > 0) {
            (Kind::Min(items), true) | (Kind::Max(items), false) => {
                for item in items {
                    self.solve(&item.scale(coefficient).add(rest), atom)?;
                }
                Some(())
            }
            (Kind::Div(rounding, dividend, divisor), _) => {
                let c = divisor.as_constant().filter(|c| *c > 0)?;
                let (bound, up) = bound_of(rest, coefficient)?;
                if *rounding == Rounding::Trunc {
                    self.solve(dividend, atom)?;
                }
                // a / c <= q is a <= c * q + c - 1, and a / c >= q is a >= c * q.
                let scaled = bound.scale(c);
                self.solve(
                    &if up { scaled.offset(c - 1).sub(dividend) } else { dividend.sub(&scaled) },
                    atom,
                )
            }
            (
                Kind::Min(_) | Kind::Max(_) | Kind::Sum(..) | Kind::Product(..) | Kind::Lost(..),
                _,
            ) => None,
        }
    }

    /// Adds what `coefficient * atom * sizes + rest >= 0` says, where that divides evenly.
    fn solve_scaled(
        &mut self,
        factors: &[Factor],
        coefficient: i64,
        rest: &Expr,
        atom: Atom,
    ) -> Option<()> {
        let mut sizes = factors.to_vec();
        sizes.remove(sizes.iter().position(|factor| *factor == Factor::Atom(atom))?);
        if sizes.iter().any(|factor| factor.mentions(atom)) {
            return None;
        }
        let term = Term { factors: sizes, coefficient };
        // atom >= -rest / sizes, or atom <= rest / -sizes.
        let bound = rest.neg().div_exact(&Expr { terms: vec![term], constant: 0 })?;
        if coefficient > 0 {
            self.at_least(bound)
        } else {
            self.at_most(bound)
        }
        Some(())
    }
}

/// The bound that `coefficient * x + rest >= 0` puts on `x`, and whether it is an upper one.
fn bound_of(rest: &Expr, coefficient: i64) -> Option<(Expr, bool)> {
    if coefficient > 0 {
        Some((rest.neg().div_ceil(coefficient), false))
    } else {
        Some((rest.div_floor(&Expr::constant(coefficient.checked_neg()?)), true))
    }
}

/// The expression with every index variable but `atom` at the end of its range where the expression
/// is least or greatest.
fn at_end(
    e: &Expr,
    atom: Atom,
    which: Extreme,
    ranges: &dyn Fn(Atom) -> Option<(Expr, Expr)>,
) -> Option<Expr> {
    let mut e = e.clone();
    for _ in 0..MAX_REPLACED {
        let open: Vec<(Atom, (Expr, Expr))> = e
            .atoms()
            .into_iter()
            .filter(|other| *other != atom)
            .filter_map(|other| Some((other, ranges(other)?)))
            .collect();
        // A variable whose range depends on another goes first.
        let free =
            |one: Atom| !open.iter().any(|(_, (lo, hi))| lo.mentions(one) || hi.mentions(one));
        let Some((other, (lo, hi))) = open.iter().find(|(one, _)| free(*one)).or(open.first())
        else {
            return Some(e);
        };
        let last = hi.offset(-1);
        let at = |value: &Expr| e.substitute(&|a| (a == *other).then(|| value.clone()));
        e = match direction(&e, *other) {
            Some(Direction::Up) => at(if which == Extreme::Min { lo } else { &last }),
            Some(Direction::Down) => at(if which == Extreme::Min { &last } else { lo }),
            None if is_linear(&e, *other) => Expr::extreme(which, vec![at(lo), at(&last)]),
            None => return None,
        };
    }
    None
}

/// Which way an expression goes when a variable grows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// The direction of an expression along a variable, if all its terms agree.
fn direction(e: &Expr, atom: Atom) -> Option<Direction> {
    let mut found = None;
    for term in e.terms.iter().filter(|t| t.factors.iter().any(|f| f.mentions(atom))) {
        let own = match term.factors.as_slice() {
            [Factor::Atom(_)] => Direction::Up,
            [Factor::Opaque(opaque)] => match &opaque.kind {
                Kind::Div(_, a, b) if b.as_constant().is_some_and(|c| c > 0) => direction(a, atom)?,
                Kind::Min(items) | Kind::Max(items) => {
                    let mut ways = items.iter().filter(|e| e.mentions(atom));
                    let first = direction(ways.next()?, atom)?;
                    if !ways.all(|e| direction(e, atom) == Some(first)) {
                        return None;
                    }
                    first
                }
                Kind::Div(..) | Kind::Sum(..) | Kind::Product(..) | Kind::Lost(..) => return None,
            },
            _ => return None,
        };
        let own = match (own, term.coefficient > 0) {
            (Direction::Up, true) | (Direction::Down, false) => Direction::Up,
            (Direction::Up, false) | (Direction::Down, true) => Direction::Down,
        };
        if found.is_some_and(|found| found != own) {
            return None;
        }
        found = Some(own);
    }
    found
}

/// Whether an expression is linear in a variable, with whatever coefficients.
fn is_linear(e: &Expr, atom: Atom) -> bool {
    e.terms.iter().all(|term| {
        let mentioning: Vec<&Factor> = term.factors.iter().filter(|f| f.mentions(atom)).collect();
        match mentioning.as_slice() {
            [] => true,
            [single] => **single == Factor::Atom(atom),
            [_, _, ..] => false,
        }
    })
}
