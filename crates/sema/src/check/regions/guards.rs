//! Clauses with guards: whether two of them define a common point, and whether a read meets a point
//! that none of them defines.
//!
//! A guard that the algebra understands (`i < j`, `i % 2 == 0`) is part of the region of its
//! clause. What it does not understand (`x[i] > 0.0`) decides nothing, so nothing is said.

use crate::check::paths::Path;
use crate::check::state::{Index, Report};
use ein_base::{Span, Symbol};
use ein_ir::size::{self, Atom, Facts, Truth};
use ein_ir::tensor::{Clause, ClauseSlot, Expr, ExprKind, IndexArg, Item, Tensor, VarId};
use ein_scalar::UnaryOp;

/// More cases than this are not looked at.
const MAX_CASES: usize = 64;

/// Whether a clause defines only some points of its domain.
pub(super) fn is_partial(clause: &Clause) -> bool {
    clause.otherwise.is_none() && guards(clause).next().is_some()
}

fn guards(clause: &Clause) -> impl Iterator<Item = &Expr> {
    clause.items.iter().filter_map(|item| match item {
        Item::Guard(cond) => Some(cond),
        Item::Let(..) => None,
    })
}

/// The clauses of a definition of several, if guards leave points of some of them to others.
pub(in crate::check) fn guarded(tensor: &Tensor) -> Vec<Clause> {
    match tensor.clauses.len() > 1 && tensor.clauses.iter().any(is_partial) {
        true => tensor.clauses.clone(),
        false => Vec::new(),
    }
}

/// Warns of two clauses that provably define a common point; says whether it did.
pub(super) fn check_guards(
    ix: &Index,
    report: &mut Report,
    name: Symbol,
    earlier: &Clause,
    later: &Clause,
) -> bool {
    let Some(point) = common_point(ix, earlier, later) else { return false };
    let shown: Vec<String> = point.iter().map(ToString::to_string).collect();
    let region = format!("{name}[{}]", shown.join(", "));
    report.overlap((name, &region), earlier, later, "make the guards exclude each other");
    true
}

/// A point that both clauses define, if it is certain that there is one.
fn common_point(ix: &Index, a: &Clause, b: &Clause) -> Option<Vec<i64>> {
    let mut facts = Facts::new();
    let place = positions(ix, a)?;
    assume_region(ix, a, &place, &mut facts)?;
    assume_region(ix, b, &place, &mut facts)?;
    let boxes = facts.atoms();
    for clause in [a, b] {
        for guard in guards(clause).filter(|_| is_partial(clause)) {
            if !ix.assume(guard, true, &mut facts) {
                return None;
            }
        }
    }
    // A guard by a value that nothing relates to the domains decides nothing here.
    if facts.atoms().into_iter().any(|atom| !boxes.contains(&atom)) {
        return None;
    }
    let Truth::Refuted(witness) = size::is_empty(&facts) else { return None };
    let value = |atom: Atom| witness.iter().find(|(own, _)| *own == atom).map(|(_, at)| *at);
    place.iter().map(|position| position.eval(&value)).collect()
}

/// The point that a clause defines, by axis.
fn positions(ix: &Index, clause: &Clause) -> Option<Vec<size::Expr>> {
    let position = |slot: &ClauseSlot| match slot {
        ClauseSlot::Point(at) => Some(size::Expr::constant(*at)),
        ClauseSlot::Loop(binder) => ix.var_sizes.get(&binder.var).cloned(),
    };
    clause.slots.iter().map(position).collect()
}

/// Adds that a point lies in the domain of a clause.
fn assume_region(ix: &Index, clause: &Clause, at: &[size::Expr], facts: &mut Facts) -> Option<()> {
    let own = positions(ix, clause)?;
    for ((slot, own), at) in clause.slots.iter().zip(&own).zip(at) {
        facts.eq(own, at);
        if let ClauseSlot::Loop(binder) = slot {
            facts.le(&ix.to_size(&binder.lo)?, own);
            facts.lt(own, &ix.to_size(&binder.hi)?);
        }
    }
    Some(())
}

/// Warns of a read that provably meets a point which no clause defines.
pub(in crate::check) fn check_undefined(
    ix: &Index,
    report: &mut Report,
    var: VarId,
    clauses: &[Clause],
    indices: &[IndexArg],
    span: Span,
    path: &Path,
) {
    let rank = clauses.first().map_or(0, |clause| clause.slots.len());
    let at: Option<Vec<size::Expr>> =
        indices.iter().take(rank).map(|index| ix.to_size(&index.value)).collect();
    let Some(at) = at.filter(|at| at.len() == rank) else { return };
    let mut facts = path.facts.clone();
    for place in &at {
        facts.ge0(place.clone());
    }
    let mut cases = MAX_CASES;
    let Some(point) = outside_all(ix, clauses, &at, &mut facts, &mut cases) else { return };
    let name: Symbol = ix.vars[var].name;
    let shown: Vec<String> = point.iter().map(ToString::to_string).collect();
    let region = format!("{name}[{}]", shown.join(", "));
    report.undefined(&ix.vars[var], &region, span);
}

/// A point that is read and that none of the clauses defines.
fn outside_all(
    ix: &Index,
    clauses: &[Clause],
    at: &[size::Expr],
    facts: &mut Facts,
    cases: &mut usize,
) -> Option<Vec<i64>> {
    *cases = cases.checked_sub(1)?;
    let Some((clause, rest)) = clauses.split_first() else {
        // Sizes that only the run knows decide whether there is such a point.
        if facts.atoms().into_iter().any(|atom| !ix.index_atoms.contains_key(&atom)) {
            return None;
        }
        let Truth::Refuted(witness) = size::is_empty(facts) else { return None };
        let value = |atom: Atom| witness.iter().find(|(own, _)| *own == atom).map(|(_, at)| *at);
        return at.iter().map(|place| place.eval(&value)).collect();
    };
    let start = facts.len();
    for way in ways_around(ix, clause, at)? {
        facts.extend(&way);
        if !size::is_empty(facts).is_proved() {
            let found = outside_all(ix, rest, at, facts, cases);
            if found.is_some() {
                return found;
            }
        }
        facts.truncate(start);
    }
    None
}

/// The ways in which a clause does not define a point; `None` if a guard is not understood.
fn ways_around(ix: &Index, clause: &Clause, at: &[size::Expr]) -> Option<Vec<Facts>> {
    let own = positions(ix, clause)?;
    let mut ways = Vec::new();
    // Outside along one axis, inside along those before it.
    let mut inside = Facts::new();
    for ((slot, own), at) in clause.slots.iter().zip(&own).zip(at) {
        match slot {
            ClauseSlot::Point(_) => {
                let mut way = inside.clone();
                way.ne0(at.sub(own));
                ways.push(way);
                inside.eq(at, own);
            }
            ClauseSlot::Loop(binder) => {
                let (lo, hi) = (ix.to_size(&binder.lo)?, ix.to_size(&binder.hi)?);
                let mut below = inside.clone();
                below.lt(at, &lo);
                let mut above = inside.clone();
                above.le(&hi, at);
                ways.extend([below, above]);
                inside.eq(at, own);
                inside.le(&lo, own);
                inside.lt(own, &hi);
            }
        }
    }
    if is_partial(clause) {
        for guard in guards(clause) {
            failures(ix, guard, &inside, &mut ways)?;
        }
    }
    Some(ways)
}

/// The ways in which a condition fails.
fn failures(ix: &Index, cond: &Expr, known: &Facts, ways: &mut Vec<Facts>) -> Option<()> {
    match &*cond.kind {
        ExprKind::And(a, b) => {
            failures(ix, a, known, ways)?;
            failures(ix, b, known, ways)
        }
        ExprKind::Unary(UnaryOp::Not, a) => {
            let mut way = known.clone();
            ix.assume(a, true, &mut way).then(|| ways.push(way))
        }
        _ => {
            let mut way = known.clone();
            ix.assume(cond, false, &mut way).then(|| ways.push(way))
        }
    }
}

/// Whether a point that is read is certainly one that a clause defines.
pub(in crate::check) fn is_inside(
    ix: &Index,
    clause: &Clause,
    at: &[size::Expr],
    facts: &Facts,
) -> bool {
    ways_around(ix, clause, at).is_some_and(|ways| {
        ways.iter().all(|way| {
            let mut facts = facts.clone();
            facts.extend(way);
            size::is_empty(&facts).is_proved()
        })
    })
}

/// Whether it is certainly none of them.
pub(in crate::check) fn is_outside(
    ix: &Index,
    clause: &Clause,
    at: &[size::Expr],
    facts: &Facts,
) -> bool {
    let mut facts = facts.clone();
    if assume_region(ix, clause, at, &mut facts).is_none() {
        return false;
    }
    for guard in guards(clause).filter(|_| is_partial(clause)) {
        ix.assume(guard, true, &mut facts);
    }
    size::is_empty(&facts).is_proved()
}
