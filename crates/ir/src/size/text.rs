//! Normal forms as the textual IR writes them: exact, where `display` is for people.
//!
//! A sum of products (`2 * n_1 * m_2 - 1`) whose factors are atoms or `min(…)`, `max(…)`,
//! `div(a, b)` (rounded down), `quot(a, b)` (toward zero), `plus(a, b)` and `times(a, b)` (kept
//! apart) and `lost(number, atoms)`. Building it again from its parts gives the same form.

use std::fmt::Write;
use std::sync::Arc;

use super::Atom;
use super::build::reserve_lost;
use super::expr::{Expr, Factor, Kind, Opaque, Rounding};

impl Expr {
    /// Writes the expression exactly, with these names for its atoms.
    pub(crate) fn write_exact(&self, out: &mut String, name: &dyn Fn(Atom) -> String) {
        for (position, term) in self.terms.iter().enumerate() {
            out.push_str(match (position, term.coefficient < 0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            });
            if term.coefficient.unsigned_abs() != 1 {
                let _ = write!(out, "{} * ", term.coefficient.unsigned_abs());
            }
            for (position, factor) in term.factors.iter().enumerate() {
                if position > 0 {
                    out.push_str(" * ");
                }
                factor.write_exact(out, name);
            }
        }
        let _ = match (self.terms.is_empty(), self.constant) {
            (false, 0) => Ok(()),
            (true, constant) => write!(out, "{constant}"),
            (false, 1..) => write!(out, " + {}", self.constant),
            (false, ..=-1) => write!(out, " - {}", self.constant.unsigned_abs()),
        };
    }

    /// What was too heavy to keep, under the number it was written with.
    pub(crate) fn lost_again(number: u64, mut atoms: Vec<Atom>) -> Expr {
        reserve_lost(number);
        atoms.sort_unstable();
        atoms.dedup();
        let kind = Kind::Lost(number, atoms);
        Expr::from_factor(Factor::Opaque(Arc::new(Opaque { weight: 1, depth: 1, kind })))
    }
}

impl Factor {
    fn write_exact(&self, out: &mut String, name: &dyn Fn(Atom) -> String) {
        let opaque = match self {
            Factor::Atom(atom) => return out.push_str(&name(*atom)),
            Factor::Opaque(opaque) => opaque,
        };
        out.push_str(match &opaque.kind {
            Kind::Min(_) => "min(",
            Kind::Max(_) => "max(",
            Kind::Div(Rounding::Floor, ..) => "div(",
            Kind::Div(Rounding::Trunc, ..) => "quot(",
            Kind::Sum(..) => "plus(",
            Kind::Product(..) => "times(",
            Kind::Lost(..) => "lost(",
        });
        if let Kind::Lost(number, atoms) = &opaque.kind {
            let _ = write!(out, "{number}");
            for atom in atoms {
                let _ = write!(out, ", {}", name(*atom));
            }
        }
        for (position, operand) in opaque.kind.operands().into_iter().enumerate() {
            if position > 0 {
                out.push_str(", ");
            }
            operand.write_exact(out, name);
        }
        out.push(')');
    }
}
