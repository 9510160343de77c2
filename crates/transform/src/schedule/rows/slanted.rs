//! Rows of sums whose first or last term depends on the cell: triangular loops.
//!
//! Before:  `for j { for k in j..i { acc[j] += l[k] * x[k, j] } }`, across memory
//! After:   `for k in 0..i { for j in 0..k + 1 { acc[j] += l[k] * x[k, j] } }`, along it, several `k` at a time:
//!          the cells that all of them have in one loop, the few others term by term
//!
//! Needs: one index, one end of which is a sum with the index of the row in it once.
//!
//! Failures: exactly the terms of each cell are computed, in another order.

use super::{Row, TERMS, clear_rows};
use crate::points::{Ix, Kind, Linear, Node, Reduction};
use crate::schedule::emit::Emit;
use crate::schedule::nest::Loop;
use crate::schedule::view::View;
use ein_base::Symbol;
use ein_ir::loops::{ForKind, Op, Operand};
use ein_ir::tensor::ReduceOp;
use ein_scalar::{BinaryOp, Scalar, ScalarType};

/// The terms of the cells of a row.
pub(super) struct Slant {
    /// The index of the terms, with its ends for one cell.
    binder: Loop,
    /// Whether the first term depends on the cell, and not the end.
    first: bool,
    /// How many times the index of the row that end has, 1 or -1, and what else.
    sign: i64,
    rest: Linear,
}

/// The terms of a reduction if its ends depend on this index in a way that rows can follow.
pub(super) fn of(view: &View<'_>, reduction: &Reduction, ix: Ix) -> Option<Slant> {
    let points = view.points;
    let [binder] = *reduction.binders.as_slice() else { return None };
    let (own, lo, hi) = binder;
    let first = match (points.depends(lo, ix), points.depends(hi, ix)) {
        (true, false) => true,
        (false, true) => false,
        (true, true) | (false, false) => return None,
    };
    let mut rest = points.linear(if first { lo } else { hi });
    let of_row = |node: Node| points.nodes[node].kind == Kind::Index(ix);
    let place = rest.terms.iter().position(|(term, _)| of_row(*term))?;
    let (_, sign) = rest.terms.remove(place);
    let still = |node: Node| !points.depends(node, ix) && !points.depends(node, own);
    let fits = sign.abs() == 1
        && rest.terms.iter().all(|(term, _)| still(*term))
        && [lo, hi].iter().all(|end| !points.nodes[*end].traps && !points.nodes[*end].reduces)
        && reduction.op == ReduceOp::Sum;
    fits.then_some(Slant { binder, first, sign, rest })
}

/// Clears rows of accumulators and adds all terms to them.
pub(super) fn fill(emit: &mut Emit, accs: &[Row], slant: &Slant, row: Loop, place: Node) {
    clear_rows(emit, accs, row, place, 0);
    let int = ScalarType::I64;
    let constant = |value: i64| Operand::Const(Scalar::I64(value));
    let binary = |emit: &mut Emit, op, a, b| emit.let_here(int, Op::Binary(op, a, b));
    let (ix, lo, hi) = slant.binder;
    let (begin, end) = (emit.bound_value(row.1), emit.bound_value(row.2));
    let rest = emit.points.sum_node(&slant.rest);
    let rest = emit.bound_value(rest);
    // The terms of all cells: the end that moves, where it is outermost.
    let last = binary(emit, BinaryOp::Sub, end, constant(1));
    let outermost = if slant.first == (slant.sign > 0) { begin } else { last };
    let turned = binary(emit, BinaryOp::Mul, outermost, constant(slant.sign));
    let outermost = binary(emit, BinaryOp::Add, turned, rest);
    let (from, to) = match slant.first {
        true => (outermost, emit.bound_value(hi)),
        false => (emit.bound_value(lo), outermost),
    };
    let count = binary(emit, BinaryOp::Sub, to, from);
    let count = binary(emit, BinaryOp::Max, count, constant(0));
    let groups = binary(emit, BinaryOp::Div, count, constant(TERMS));
    let info = emit.points.ixs[ix].clone();
    let group = emit.points.fresh(Symbol::intern("group"), info.range);
    let var = Operand::Reg(emit.open(group, constant(0), groups, ForKind::Serial));
    let start = binary(emit, BinaryOp::Mul, var, constant(TERMS));
    let start = binary(emit, BinaryOp::Add, start, from);
    // Each term has an index of its own with the range of the first, in which all of them are.
    let mut terms = Vec::new();
    for at in 0..TERMS {
        let term = emit.points.fresh(info.name, info.range);
        let here = binary(emit, BinaryOp::Add, start, constant(at));
        emit.bind(term, here);
        terms.push((emit.points.index(term), cells(emit, slant, (begin, end, rest), here)));
    }
    // The term with the fewest cells says which all of them have: more have a later one, or fewer.
    let fewest = if slant.first { 0 } else { terms.len() - 1 };
    let shared = terms[fewest].1;
    let all: Vec<Node> = terms.iter().map(|(term, _)| *term).collect();
    add(emit, accs, (row.0, shared), place, ix, &all);
    for (term, own) in &terms {
        let left = match slant.stops_early() {
            true => (shared.1, own.1),
            false => (own.0, shared.0),
        };
        if *term != all[fewest] {
            add(emit, accs, (row.0, left), place, ix, &[*term]);
        }
    }
    emit.close();
    let taken = binary(emit, BinaryOp::Mul, groups, constant(TERMS));
    let from = binary(emit, BinaryOp::Add, from, taken);
    let here = Operand::Reg(emit.open(ix, from, to, ForKind::Serial));
    let own = cells(emit, slant, (begin, end, rest), here);
    let term = emit.points.index(ix);
    add(emit, accs, (row.0, own), place, ix, &[term]);
    emit.close();
}

impl Slant {
    /// Whether the cells that have a term are those before a position, and not those from one on.
    fn stops_early(&self) -> bool {
        self.first == (self.sign > 0)
    }
}

/// The cells of a row that have a term, between the ends of the row: never less than none.
fn cells(
    emit: &mut Emit,
    slant: &Slant,
    (begin, end, rest): (Operand, Operand, Operand),
    term: Operand,
) -> (Operand, Operand) {
    let int = ScalarType::I64;
    let binary = |emit: &mut Emit, op, a, b| emit.let_here(int, Op::Binary(op, a, b));
    // The cell at which the end that moves is this term.
    let at = match slant.sign > 0 {
        true => binary(emit, BinaryOp::Sub, term, rest),
        false => binary(emit, BinaryOp::Sub, rest, term),
    };
    // Ends are beyond the last term: `k < j + r` from `j = k - r + 1` on, `k < r - j` below `j = r - k`;
    // `j + r <= k` below `j = k - r + 1`, `r - j <= k` from `j = r - k` on.
    let one = Operand::Const(Scalar::I64(i64::from(slant.sign > 0)));
    let at = binary(emit, BinaryOp::Add, at, one);
    let at = binary(emit, BinaryOp::Max, at, begin);
    let at = binary(emit, BinaryOp::Min, at, end);
    if slant.stops_early() { (begin, at) } else { (at, end) }
}

/// Adds terms to these cells of rows.
fn add(
    emit: &mut Emit,
    accs: &[Row],
    (row, (from, to)): (Ix, (Operand, Operand)),
    place: Node,
    ix: Ix,
    terms: &[Node],
) {
    emit.open(row, from, to, ForKind::Vector { reductions: Vec::new() });
    for of in accs {
        emit.accumulate_row(of, place, ix, terms);
    }
    emit.close();
}
