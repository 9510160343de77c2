//! The questions: for all integer points that satisfy the facts, does this hold?
//!
//! Each is answered by looking for a point that satisfies the facts and violates the goal. Facts that
//! share no atom with the goal, not even through others, are asked separately.

use std::sync::Arc;

use super::expr::{Expr, Factor, Kind, Rounding};
use super::facts::{Budget, Fact, Facts, Relation, Truth, Witness};
use super::row::Point;
use super::search::{self, Answer};
use super::system::{Columns, Node, add_fact};
use super::{Atom, build::Extreme};

/// Whether `e >= 0` at every point that satisfies the facts.
pub fn prove_ge0(facts: &Facts, e: &Expr) -> Truth {
    prove_ge0_within(facts, e, &mut Budget::default())
}

/// [`prove_ge0`] with a budget of one's own.
pub fn prove_ge0_within(facts: &Facts, e: &Expr, budget: &mut Budget) -> Truth {
    if e.as_constant().is_some_and(|value| value >= 0) {
        return Truth::Proved;
    }
    // Not e >= 0 is -1 - e >= 0.
    let expr = Expr::constant(-1).sub(e);
    find(facts, Some(Fact { expr, relation: Relation::AtLeast }), budget)
}

/// Whether `a <= b` at every point that satisfies the facts.
pub fn prove_le(facts: &Facts, a: &Expr, b: &Expr) -> Truth {
    prove_ge0(facts, &b.sub(a))
}

/// Whether `a < b` at every point that satisfies the facts.
pub fn prove_lt(facts: &Facts, a: &Expr, b: &Expr) -> Truth {
    prove_ge0(facts, &b.sub(a).offset(-1))
}

/// Whether `a == b` at every point that satisfies the facts.
pub fn prove_eq(facts: &Facts, a: &Expr, b: &Expr) -> Truth {
    let expr = a.sub(b);
    if expr.as_constant() == Some(0) {
        return Truth::Proved;
    }
    find(facts, Some(Fact { expr, relation: Relation::Differs }), &mut Budget::default())
}

/// Whether `a != b` at every point that satisfies the facts.
pub fn prove_ne(facts: &Facts, a: &Expr, b: &Expr) -> Truth {
    let expr = a.sub(b);
    find(facts, Some(Fact { expr, relation: Relation::Equal }), &mut Budget::default())
}

/// Whether no point satisfies the facts; refuted with a point that does.
pub fn is_empty(facts: &Facts) -> Truth {
    find(facts, None, &mut Budget::default())
}

/// An equal expression that is simpler under the facts: quotients of nonnegative dividends are
/// rounded down, and operands of `min` and `max` that never count are left out. Sizes that are
/// compared by `==` should have gone through this.
pub fn simplify(facts: &Facts, e: &Expr) -> Expr {
    simplify_within(facts, e, &mut Budget::default())
}

fn simplify_within(facts: &Facts, e: &Expr, budget: &mut Budget) -> Expr {
    if e.depth() == 0 {
        return e.clone();
    }
    let mut result = Expr::constant(e.constant);
    for term in &e.terms {
        let mut product = Expr::constant(term.coefficient);
        for factor in &term.factors {
            product = product.mul(&simplify_factor(facts, factor, budget));
        }
        result = result.add(&product);
    }
    result
}

fn simplify_factor(facts: &Facts, factor: &Factor, budget: &mut Budget) -> Expr {
    let Factor::Opaque(opaque) = factor else { return Expr::from_factor(factor.clone()) };
    match &opaque.kind {
        Kind::Min(items) => simplify_extreme(facts, Extreme::Min, items, budget),
        Kind::Max(items) => simplify_extreme(facts, Extreme::Max, items, budget),
        Kind::Div(rounding, a, b) => {
            let a = simplify_within(facts, a, budget);
            let b = simplify_within(facts, b, budget);
            let positive = || b.as_constant().is_some_and(|c| c > 0);
            match rounding {
                Rounding::Trunc
                    if positive() && prove_ge0_within(facts, &a, budget).is_proved() =>
                {
                    a.div_floor(&b)
                }
                Rounding::Trunc => a.div_trunc(&b),
                Rounding::Floor => a.div_floor(&b),
            }
        }
        Kind::Sum(..) | Kind::Product(..) | Kind::Lost(..) => Expr::from_factor(factor.clone()),
    }
}

fn simplify_extreme(facts: &Facts, which: Extreme, items: &[Expr], budget: &mut Budget) -> Expr {
    let mut kept: Vec<Expr> =
        items.iter().map(|item| simplify_within(facts, item, budget)).collect();
    let mut place = 0;
    while place < kept.len() && kept.len() > 1 {
        let item = &kept[place];
        let beaten = kept.iter().enumerate().any(|(other, by)| {
            let margin = match which {
                Extreme::Min => item.sub(by),
                Extreme::Max => by.sub(item),
            };
            other != place && prove_ge0_within(facts, &margin, budget).is_proved()
        });
        if beaten {
            kept.remove(place);
        } else {
            place += 1;
        }
    }
    Expr::extreme(which, kept)
}

/// Looks for a point of the facts and of one more; `Proved` says that there is none.
fn find(facts: &Facts, violation: Option<Fact>, budget: &mut Budget) -> Truth {
    let mut all: Vec<Arc<Fact>> = violation.into_iter().map(Arc::new).collect();
    all.extend(facts.items().iter().cloned());
    let mut witness = Witness::new();
    let mut unknown = false;
    for group in components(&all) {
        match find_in(&group, budget) {
            Answer::None => return Truth::Proved,
            Answer::Unknown => unknown = true,
            Answer::Point(part) => witness.extend(part),
        }
    }
    if unknown {
        return Truth::Unknown;
    }
    witness.sort_unstable();
    Truth::Refuted(witness)
}

/// The facts in groups that share no atoms, in the order of their first members.
fn components(facts: &[Arc<Fact>]) -> Vec<Vec<Arc<Fact>>> {
    let mut groups: Vec<(Vec<Atom>, Vec<Arc<Fact>>)> = Vec::new();
    for fact in facts {
        let atoms = fact.expr.atoms();
        let meets =
            |group: &(Vec<Atom>, _)| group.0.iter().any(|atom| atoms.binary_search(atom).is_ok());
        let mut home: Option<usize> = None;
        let mut place = 0;
        while place < groups.len() {
            if !meets(&groups[place]) {
                place += 1;
                continue;
            }
            match home {
                None => {
                    home = Some(place);
                    place += 1;
                }
                Some(home) => {
                    let (atoms, facts) = groups.remove(place);
                    groups[home].0.extend(atoms);
                    groups[home].1.extend(facts);
                }
            }
        }
        match home {
            Some(home) => {
                groups[home].0.extend(atoms);
                groups[home].1.push(Arc::clone(fact));
            }
            None => groups.push((atoms, vec![Arc::clone(fact)])),
        }
    }
    groups.into_iter().map(|group| group.1).collect()
}

fn find_in(facts: &[Arc<Fact>], budget: &mut Budget) -> Answer {
    let mut columns = Columns::default();
    let mut node = Node::default();
    let mut atoms = Vec::new();
    let mut weight = 0;
    for fact in facts {
        weight += fact.expr.weight() as usize;
        if !budget.spend(fact.expr.weight() as usize) {
            return Answer::Unknown;
        }
        add_fact(&mut columns, &mut node, fact);
        fact.expr.collect_atoms(&mut atoms);
    }
    atoms.sort_unstable();
    atoms.dedup();
    let check = |columns: &Columns, point: &Point| {
        let value = |atom: Atom| columns.of_atom(atom).map_or(0, |column| point.get(column));
        let holds = facts.iter().all(|fact| fact.holds_at(&|atom| Some(value(atom))));
        holds.then(|| atoms.iter().map(|atom| (*atom, value(*atom))).collect())
    };
    search::decide(&mut columns, node, &check, weight, budget)
}
