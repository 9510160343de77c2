//! Choices that hold for all terms of a reduction but the first or last ones: these stand by themselves.
//!
//! Before:  `min(r in i..j + 1) (if r > i { e[i, r - 1] } else { 0 }) + (if r < j { e[r + 1, j] } else { 0 })`
//! After:   the term of `i`, the least of `i + 1..j`, where nothing is chosen and every read is inside,
//!          and the term of `j`
//!
//! Needs: a comparison of the index with what is at most two positions from where its domain begins or
//! ends. The domain may be empty, or have fewer terms than stand by themselves: then those that it does
//! not have count for nothing.
//! Refuses: few terms, conditions of the reduction itself, numbers that are no floats (of them an
//! extreme over nothing fails), sums of short floats (they are added in wider ones).
//!
//! Failures: reductions that may fail stay as they are.

use super::reduce::{neutral, operation};
use crate::points::{Body, Ix, Kind, Linear, Node, Points, Reduction, Subst};
use ein_ir::tensor::ReduceOp;
use ein_scalar::{BinaryOp, ScalarType};
use rustc_hash::FxHashMap;

/// At most so many terms stand by themselves at an end.
const TERMS: i64 = 2;

/// Shorter reductions stay in one.
const LONG: i64 = 16;

/// Lets terms at the ends of reductions stand by themselves.
pub(crate) fn run(points: &mut Points) {
    if points.exact {
        return;
    }
    let mut defs = std::mem::take(&mut points.defs);
    for def in &mut defs {
        let Body::Clauses(clauses, _) = &mut def.body else { continue };
        for clause in clauses {
            let roots: Vec<Node> = [clause.value].into_iter().chain(clause.otherwise).collect();
            let mut instead = FxHashMap::default();
            for node in points.below(&roots) {
                instead.extend(apart(points, node).map(|parts| (node, parts)));
            }
            if !instead.is_empty() {
                let mut subst = Subst::nodes(instead);
                clause.value = subst.apply(points, clause.value);
                clause.otherwise = clause.otherwise.map(|it| subst.apply(points, it));
            }
        }
    }
    points.defs = defs;
}

/// A reduction in parts, if choices in it change near its ends.
fn apart(points: &mut Points, node: Node) -> Option<Node> {
    let ty = points.nodes[node].ty;
    let Kind::Reduce(reduction) = points.nodes[node].kind.clone() else { return None };
    let [(ix, lo, hi)] = *reduction.binders else { return None };
    let added = matches!(ty, ScalarType::F32 | ScalarType::F64);
    let known = match reduction.op {
        ReduceOp::Sum => added,
        ReduceOp::Max | ReduceOp::Min => ty.is_float(),
        _ => false,
    };
    let body = reduction.body;
    let plain = reduction.guard.is_none() && !points.nodes[node].traps;
    let nested = points.nodes[body].reduces;
    let long = points.most_points(&reduction).is_some_and(|most| most >= LONG);
    if !known || !plain || nested || !long {
        return None;
    }
    let (first, last) = at_the_ends(points, body, (ix, lo, hi))?;
    let op = operation(reduction.op);
    let nothing = points.constant(neutral(op, ty));
    // What is between the ends.
    let by = [first, -last].map(|by| points.int(by));
    let from = points.binary(BinaryOp::Add, lo, by[0], None);
    let to = points.binary(BinaryOp::Add, hi, by[1], None);
    let (least, most) = (points.nodes[from].range?.0, points.nodes[to].range?.1 - 1);
    let name = points.ixs[ix].name;
    let inner = points.fresh_between(name, (least, most.max(least)), from, to);
    let here = points.index(inner);
    let body_there = Subst::one(ix, here).apply(points, body);
    let binders = vec![(inner, from, to)];
    let between = Reduction { op: reduction.op, binders, guard: None, body: body_there };
    let mut all = points.reduce(between, ty);
    // The first terms are there if the domain is so long, the last ones if they are not among these. Asked
    // as the choices ask, so that these need not ask again.
    let before = |points: &mut Points, node: Node| {
        let by = points.int(-1);
        points.binary(BinaryOp::Add, node, by, None)
    };
    let (most, least) = (before(points, hi), before(points, from));
    let firsts = (0..first).map(|at| (lo, at, BinaryOp::Le, most));
    let lasts = (1..=last).map(|at| (hi, -at, BinaryOp::Gt, least));
    for (end, by, compares, other) in firsts.chain(lasts).collect::<Vec<_>>() {
        let by = points.int(by);
        let place = points.binary(BinaryOp::Add, end, by, None);
        let is_there = points.binary(compares, place, other, None);
        let term = Subst::one(ix, place).apply(points, body);
        let term = points.select(is_there, term, nothing);
        all = points.binary(op, all, term, None);
    }
    (!points.nodes[all].traps).then_some(all)
}

/// How many terms at the beginning and at the end have choices of their own, if any have.
fn at_the_ends(points: &Points, body: Node, (ix, lo, hi): (Ix, Node, Node)) -> Option<(i64, i64)> {
    let (lo, hi) = (points.linear(lo), points.linear(hi));
    let (mut first, mut last) = (0, 0);
    for node in points.below(&[body]) {
        let Kind::Select(condition, ..) = points.nodes[node].kind else { continue };
        for part in points.below(&[condition]) {
            for at in changes(points, part, ix) {
                let constant = |sum: Linear| sum.terms.is_empty().then_some(sum.offset);
                let from = constant(at.minus(&lo)).filter(|by| (1..=TERMS).contains(by));
                let to = constant(hi.minus(&at)).filter(|by| (1..=TERMS).contains(by));
                match (from, to) {
                    (Some(by), _) => first = first.max(by),
                    (None, Some(by)) => last = last.max(by),
                    (None, None) => {}
                }
            }
        }
    }
    (first + last > 0).then_some((first, last))
}

/// The positions of an index from which on a comparison says something else.
fn changes(points: &Points, comparison: Node, ix: Ix) -> Vec<Linear> {
    let Kind::Binary(op, a, b) = points.nodes[comparison].kind else { return Vec::new() };
    if !points.nodes[a].ty.is_int() || !points.depends(comparison, ix) {
        return Vec::new();
    }
    let mut rest = points.linear(a).minus(&points.linear(b));
    let own = |node: Node| points.nodes[node].kind == Kind::Index(ix);
    let Some(place) = rest.terms.iter().position(|(term, _)| own(*term)) else { return Vec::new() };
    let (_, factor) = rest.terms.remove(place);
    if factor.abs() != 1 || rest.terms.iter().any(|(term, _)| points.depends(*term, ix)) {
        return Vec::new();
    }
    // `i - at` or `at - i` is compared with zero.
    let mut at = Linear::default();
    at.add(&rest, -factor);
    let after = Linear { offset: at.offset + 1, ..at.clone() };
    match (op, factor) {
        (BinaryOp::Eq | BinaryOp::Ne, _) => vec![at, after],
        (BinaryOp::Lt | BinaryOp::Ge, 1) | (BinaryOp::Gt | BinaryOp::Le, -1) => vec![at],
        (BinaryOp::Le | BinaryOp::Gt, 1) | (BinaryOp::Ge | BinaryOp::Lt, -1) => vec![after],
        _ => Vec::new(),
    }
}
