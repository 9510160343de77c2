//! Expressions as a reader would write them: `2 * n + i - 1`, `min(n, m)`, `(n + 1) / 2`, `i % 4`.

use super::Atom;
use super::expr::{Expr, Factor, Kind, Rounding, Term};

impl Expr {
    /// The expression as text, with these names for its atoms.
    pub fn display(&self, name: &dyn Fn(Atom) -> String) -> String {
        let mut pieces = Pieces::default();
        let rest = pieces.take_remainders(self, name);
        let rest = pieces.take_shifted(&rest, name);
        for term in &rest.terms {
            pieces.push(term.coefficient < 0, term_text(term, name));
        }
        pieces.finish(rest.constant)
    }

    /// Whether the text needs parentheses before `/` and `%`.
    fn is_sum(&self) -> bool {
        match self.terms.as_slice() {
            [] => self.constant < 0,
            [term] => {
                let plain = term.factors.iter().all(|f| match f {
                    Factor::Atom(_) => true,
                    Factor::Opaque(opaque) => matches!(opaque.kind, Kind::Min(_) | Kind::Max(_)),
                });
                self.constant != 0 || term.coefficient < 0 || !plain
            }
            [_, _, ..] => true,
        }
    }
}

/// Summands: those that are added come first, then those that are taken away.
#[derive(Default)]
struct Pieces {
    plus: Vec<String>,
    minus: Vec<String>,
}

impl Pieces {
    fn push(&mut self, negative: bool, text: String) {
        if negative { self.minus.push(text) } else { self.plus.push(text) }
    }

    /// The constant comes last, unless it is all that is added.
    fn finish(mut self, constant: i64) -> String {
        let last = constant != 0 && (constant < 0 || !self.plus.is_empty());
        if !last && (constant != 0 || self.plus.is_empty() && self.minus.is_empty()) {
            self.plus.push(constant.to_string());
        }
        let mut text = self.plus.join(" + ");
        let constant = last.then(|| (constant < 0, constant.unsigned_abs().to_string()));
        let minus = self.minus.into_iter().map(|piece| (true, piece));
        for (negative, piece) in minus.chain(constant) {
            text.push_str(match (negative, text.is_empty()) {
                (true, true) => "-",
                (true, false) => " - ",
                (false, _) => " + ",
            });
            text.push_str(&piece);
        }
        text
    }

    /// Prints `a - b * (a / b)` as `a % b` and returns what is left.
    fn take_remainders(&mut self, expr: &Expr, name: &dyn Fn(Atom) -> String) -> Expr {
        let mut rest = expr.clone();
        for term in &expr.terms {
            for factor in &term.factors {
                let Factor::Opaque(opaque) = factor else { continue };
                let Kind::Div(_, a, b) = &opaque.kind else { continue };
                let product = Expr::from_factor(factor.clone()).mul(b);
                let [whole] = product.terms.as_slice() else { continue };
                let times = match term.coefficient.checked_rem(whole.coefficient) {
                    Some(0) if whole.factors == term.factors => {
                        (term.coefficient / whole.coefficient).checked_neg()
                    }
                    Some(_) | None => None,
                };
                let Some(times) = times else { continue };
                let less = rest.sub(&a.sub(&product).scale(times));
                if less.terms.len() + a.terms.len() + 1 != rest.terms.len() {
                    continue;
                }
                let text = format!("{} % {}", operand(a, name), divisor(b, name));
                let text = match times.unsigned_abs() {
                    1 => text,
                    times => format!("{times} * ({text})"),
                };
                self.push(times < 0, text);
                rest = less;
                break;
            }
        }
        rest
    }

    /// Prints `min(n + 1, m) - 1` as `min(n, m - 1)` and `(n + 1) / 2 - 1` as `(n - 1) / 2` where
    /// that has less to read, and returns what is left.
    fn take_shifted(&mut self, expr: &Expr, name: &dyn Fn(Atom) -> String) -> Expr {
        if expr.constant == 0 {
            return expr.clone();
        }
        for (place, term) in expr.terms.iter().enumerate() {
            let (1, [Factor::Opaque(opaque)]) = (term.coefficient, term.factors.as_slice()) else {
                continue;
            };
            let shift = expr.constant;
            let text = match &opaque.kind {
                Kind::Min(items) | Kind::Max(items) => {
                    let moved: Vec<Expr> = items.iter().map(|e| e.offset(shift)).collect();
                    if noise(&moved) > noise(items).saturating_add(shift.unsigned_abs()) {
                        continue;
                    }
                    extreme_text(&opaque.kind, &moved, name)
                }
                Kind::Div(Rounding::Floor, a, b) => {
                    let Some(c) = b.as_constant() else { continue };
                    let moved = a.add(&Expr::constant(c).scale(shift));
                    let before = a.constant.unsigned_abs().saturating_add(shift.unsigned_abs());
                    if moved.constant.unsigned_abs() >= before {
                        continue;
                    }
                    format!("{} / {}", operand(&moved, name), divisor(b, name))
                }
                Kind::Div(Rounding::Trunc, ..)
                | Kind::Sum(..)
                | Kind::Product(..)
                | Kind::Lost(..) => continue,
            };
            self.push(false, text);
            let mut rest = expr.clone();
            rest.terms.remove(place);
            rest.constant = 0;
            return rest;
        }
        expr.clone()
    }
}

/// How much constant there is to read beside other terms.
fn noise(items: &[Expr]) -> u64 {
    let beside = items.iter().filter(|e| !e.terms.is_empty());
    beside.fold(0, |sum: u64, e| sum.saturating_add(e.constant.unsigned_abs()))
}

fn term_text(term: &Term, name: &dyn Fn(Atom) -> String) -> String {
    let alone = term.factors.len() == 1 && term.coefficient.unsigned_abs() == 1;
    let mut parts = Vec::new();
    if term.coefficient.unsigned_abs() != 1 {
        parts.push(term.coefficient.unsigned_abs().to_string());
    }
    for factor in &term.factors {
        parts.push(factor_text(factor, alone && term.coefficient == 1, name));
    }
    parts.join(" * ")
}

fn factor_text(factor: &Factor, alone: bool, name: &dyn Fn(Atom) -> String) -> String {
    let opaque = match factor {
        Factor::Atom(atom) => return name(*atom),
        Factor::Opaque(opaque) => opaque,
    };
    let text = match &opaque.kind {
        kind @ (Kind::Min(items) | Kind::Max(items)) => return extreme_text(kind, items, name),
        Kind::Lost(number, _) => return format!("?{number}"),
        Kind::Div(_, a, b) => format!("{} / {}", operand(a, name), divisor(b, name)),
        Kind::Sum(a, b) => format!("{} + {}", a.display(name), operand(b, name)),
        Kind::Product(a, b) => format!("{} * {}", operand(a, name), divisor(b, name)),
    };
    if alone { text } else { format!("({text})") }
}

fn extreme_text(kind: &Kind, items: &[Expr], name: &dyn Fn(Atom) -> String) -> String {
    let word = if matches!(kind, Kind::Min(_)) { "min" } else { "max" };
    // Literals read best at the end.
    let (literals, others): (Vec<&Expr>, Vec<&Expr>) =
        items.iter().partition(|e| e.terms.is_empty());
    let texts: Vec<String> = others.iter().chain(&literals).map(|e| e.display(name)).collect();
    format!("{word}({})", texts.join(", "))
}

fn operand(expr: &Expr, name: &dyn Fn(Atom) -> String) -> String {
    let text = expr.display(name);
    if expr.is_sum() { format!("({text})") } else { text }
}

fn divisor(expr: &Expr, name: &dyn Fn(Atom) -> String) -> String {
    let text = expr.display(name);
    let simple = expr.as_atom().is_some() || expr.as_constant().is_some_and(|c| c >= 0);
    if simple { text } else { format!("({text})") }
}
