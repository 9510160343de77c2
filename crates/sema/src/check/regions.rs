//! Compares the regions of the clauses of one definition.
//!
//! Before:  `y[i in 0..3] = …`, `y[i in 2..4] = …`
//! After:   the same, with the warning W0201: the later clause replaces `y[2]`
//!
//! A literal point, or a base that a recurrence leaves room for, is meant to replace what is
//! there, so nothing is said of those. Guards count: `where i < j` and `where i >= j` share no
//! point, and what cannot be decided is not spoken of (`guards`).
//!
//! Needs: clauses whose domains are solved. Warns (W0201): regions that overlap for all sizes.

pub(in crate::check) mod guards;

use super::error;
use super::state::{Index, Report};
use ein_base::{Code, Span, Symbol};
use ein_ir::size::{self, Atom, Overlap};
use ein_ir::tensor::walk::{any, each_in_clause};
use ein_ir::tensor::{Clause, ClauseSlot, ExprKind, Tensor, Var, VarId};

/// A box, half-open along each axis.
pub(super) type Sides = Vec<(size::Expr, size::Expr)>;

/// Warns of clauses that replace a part of an earlier one.
pub(super) fn check_regions(ix: &mut Index, report: &mut Report, tensor: &Tensor, name: Symbol) {
    if tensor.clauses.len() < 2 {
        return;
    }
    let axes: Vec<Atom> = (0..tensor.shape.len())
        .map(|axis| {
            let name = Symbol::intern(&format!("#{axis}"));
            ix.new_atom(name, ein_ir::tensor::AtomDef::Unknown, false)
        })
        .collect();
    let regions: Vec<Option<Sides>> =
        tensor.clauses.iter().map(|clause| self::region(ix, clause, &axes)).collect();
    for (number, later) in tensor.clauses.iter().enumerate() {
        if later.slots.iter().any(|slot| matches!(slot, ClauseSlot::Point(_))) {
            continue;
        }
        for (earlier, other) in tensor.clauses.iter().zip(&regions).take(number) {
            let base = reads(earlier, tensor.self_var) && !reads(later, tensor.self_var);
            let (Some(a), Some(b), false) = (other, &regions[number], base) else { continue };
            if guards::is_partial(earlier) || guards::is_partial(later) {
                if guards::check_guards(ix, report, name, earlier, later) {
                    break;
                }
                continue;
            }
            let Overlap::Shared(shared) = size::overlap_along(&axes, a, b, &ix.f.facts) else {
                continue;
            };
            let region = show_region(ix, name, &shared);
            let help = "make the domains disjoint";
            report.overlap((name, &region), earlier, later, help);
            break;
        }
    }
}

impl Report {
    /// Two clauses define something, and the later one counts.
    fn overlap(&mut self, at: (Symbol, &str), earlier: &Clause, later: &Clause, help: &str) {
        let (name, region) = at;
        let message =
            format!("this clause of `{name}` overlaps an earlier one: both define `{region}`");
        let d = error(Code::W0201, later.span, message)
            .here("this one counts there")
            .label(earlier.span, format!("replaced at `{region}`"))
            .help(help);
        self.report_at(d);
    }

    /// A read of what no clause defines.
    pub(super) fn undefined(&mut self, var: &Var, region: &str, span: Span) {
        let name = var.name;
        let message = format!("`{region}` is read here, but no clause of `{name}` defines it");
        let d = error(Code::W0202, span, message)
            .here("zero there")
            .label(var.span, format!("`{name}` is defined here"))
            .help(format!("add a clause for `{region}`, or read only what is defined"));
        self.report_at(d);
    }
}

/// The region of a clause in terms of common atoms for its axes.
fn region(ix: &Index, clause: &Clause, axes: &[Atom]) -> Option<Sides> {
    let own: Vec<Option<Atom>> = clause
        .slots
        .iter()
        .map(|slot| match slot {
            ClauseSlot::Loop(binder) => ix.var_sizes.get(&binder.var)?.as_atom(),
            ClauseSlot::Point(_) => None,
        })
        .collect();
    let common = |e: size::Expr| {
        e.substitute(&|atom| {
            let axis = own.iter().position(|own| *own == Some(atom))?;
            axes.get(axis).map(|axis| size::Expr::atom(*axis))
        })
    };
    clause
        .slots
        .iter()
        .map(|slot| match slot {
            ClauseSlot::Point(at) => {
                Some((size::Expr::constant(*at), size::Expr::constant(at + 1)))
            }
            ClauseSlot::Loop(binder) => {
                Some((common(ix.to_size(&binder.lo)?), common(ix.to_size(&binder.hi)?)))
            }
        })
        .collect()
}

/// The regions of all clauses, if none depends on index variables or on data.
pub(super) fn plain_regions(ix: &Index, tensor: &Tensor) -> Option<Vec<Sides>> {
    let regions: Option<Vec<Sides>> =
        tensor.clauses.iter().map(|clause| region(ix, clause, &[])).collect();
    let regions = regions?;
    let plain = regions.iter().flatten().all(|(lo, hi)| {
        [lo, hi]
            .into_iter()
            .all(|side| side.atoms().iter().all(|atom| !ix.index_atoms.contains_key(atom)))
    });
    plain.then_some(regions)
}

/// A region as text: `y[2, 0..4]`.
pub(super) fn show_region(ix: &Index, name: Symbol, sides: &[(size::Expr, size::Expr)]) -> String {
    let sides: Vec<String> = sides
        .iter()
        .map(|(lo, hi)| {
            if hi.sub(lo).as_constant() == Some(1) {
                ix.show_size(lo)
            } else {
                format!("{}..{}", ix.show_size(lo), ix.show_size(hi))
            }
        })
        .collect();
    format!("{name}[{}]", sides.join(", "))
}

pub(super) use guards::guarded;

/// Whether a clause reads a variable.
fn reads(clause: &Clause, var: Option<VarId>) -> bool {
    let Some(var) = var else { return false };
    let mut found = false;
    each_in_clause(clause, &mut |e| {
        found = found || any(e, &mut |e| matches!(&*e.kind, ExprKind::Var(other) if *other == var));
    });
    found
}
