//! Points at which a bound fails whatever the sizes are.

use super::facts::{Budget, Relation};
use super::prove::prove_ge0_within;
use super::range::Bounds;
use super::{Atom, Expr, Facts, Truth, prove_ge0};

/// For each index variable of the goal the place at which the goal fails; a variable that is not
/// listed may be anywhere. The places are in terms of sizes, or of index variables that are not
/// listed.
pub type Corner = Vec<(Atom, Expr)>;

/// Steps for all questions about corners together.
const BUDGET: u64 = Budget::DEFAULT;
/// At most this many corners are tried.
const MAX_CORNERS: usize = 96;
/// At most this many bounds of one variable are tried.
const MAX_BOUNDS: usize = 4;

/// A corner of the domain at which `goal >= 0` fails, for *all* values of the `sizes`: whenever the
/// facts hold anywhere, they hold there, too. And they do hold somewhere.
///
/// So a bound that fails here is wrong in every run that comes by, and not for unlucky sizes only.
/// Sufficient, not necessary: bounds of the index variables are tried as places, and the place where
/// the goal was refuted.
pub fn always_violated(facts: &Facts, goal: &Expr, sizes: &[Atom]) -> Option<Corner> {
    let Truth::Refuted(witness) = prove_ge0(facts, goal) else { return None };
    let mut indices = goal.atoms();
    indices.retain(|atom| !sizes.contains(atom));
    let mentioned = |atom: &Atom| goal.mentions(*atom) || facts.iter().any(|e| e.mentions(*atom));
    let place = |atom: Atom| {
        let found = witness.iter().find(|(own, _)| *own == atom);
        found.map(|(_, value)| Expr::constant(*value))
    };
    let seen: Corner = indices.iter().filter_map(|atom| Some((*atom, place(*atom)?))).collect();
    if !sizes.iter().any(mentioned) {
        return Some(seen);
    }
    let mut budget = Budget::new(BUDGET);
    let mut corners = vec![Corner::new()];
    for &atom in &indices {
        let bounds = bounds_of(facts, goal, atom);
        let mut next = Vec::new();
        for corner in &corners {
            for bound in &bounds {
                next.extend(extended(corner, atom, bound));
            }
            next.push(corner.clone());
        }
        next.truncate(MAX_CORNERS);
        corners = next;
    }
    // Those that move the fewest variables are the easiest to understand.
    corners.sort_by_key(Vec::len);
    corners.push(seen);
    corners.into_iter().find(|corner| fails_at(facts, goal, corner, &mut budget))
}

/// The places that the facts give as ends of an index variable's range: first those toward which the
/// goal falls.
fn bounds_of(facts: &Facts, goal: &Expr, atom: Atom) -> Vec<Expr> {
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    for fact in facts.items() {
        let negated = (fact.relation == Relation::Equal).then(|| fact.expr.neg());
        if fact.relation == Relation::Differs || !fact.expr.mentions(atom) {
            continue;
        }
        for expr in [Some(&fact.expr), negated.as_ref()].into_iter().flatten() {
            let mut bounds = Bounds::default();
            if bounds.solve(expr, atom).is_some() {
                lower.extend(bounds.lower);
                upper.extend(bounds.upper);
            }
        }
    }
    let rises = goal.affine_in(atom).is_some_and(|(coefficient, _)| coefficient > 0);
    let (mut first, second) = if rises { (lower, upper) } else { (upper, lower) };
    first.truncate(MAX_BOUNDS);
    first.extend(second.into_iter().take(MAX_BOUNDS));
    first
}

/// The corner with one more place, each free of the others' variables.
fn extended(corner: &Corner, atom: Atom, bound: &Expr) -> Option<Corner> {
    let bound = place_in(bound, corner);
    if bound.mentions(atom) {
        return None;
    }
    let mut result = corner.clone();
    for (_, place) in &mut result {
        *place = place.substitute(&|own| (own == atom).then(|| bound.clone()));
    }
    result.push((atom, bound));
    Some(result)
}

fn place_in(e: &Expr, corner: &Corner) -> Expr {
    e.substitute(&|atom| Some(corner.iter().find(|(own, _)| *own == atom)?.1.clone()))
}

/// Whether the goal fails at the corner, and the corner is in the domain if anything is.
fn fails_at(facts: &Facts, goal: &Expr, corner: &Corner, budget: &mut Budget) -> bool {
    let mut proved = |e: &Expr| prove_ge0_within(facts, e, budget).is_proved();
    let negative = |e: &Expr| Expr::constant(-1).sub(e);
    if !proved(&negative(&place_in(goal, corner))) {
        return false;
    }
    facts.items().iter().all(|fact| {
        if !corner.iter().any(|(atom, _)| fact.expr.mentions(*atom)) {
            return true;
        }
        let moved = place_in(&fact.expr, corner);
        match fact.relation {
            Relation::AtLeast => proved(&moved),
            Relation::Equal => proved(&moved) && proved(&moved.neg()),
            Relation::Differs => proved(&moved.offset(-1)) || proved(&negative(&moved)),
        }
    })
}
