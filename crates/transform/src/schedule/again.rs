//! States that change until a condition holds: loops whose length only the run knows (while loops).
//!
//! ```text
//! for p in 0..points {                // what each runs for by itself
//!     var n = first; var ended = false
//!     until(ended) for _ in 0..∞ {
//!         parts; if done(n) { ended = true } else { n = next(n) }
//!     }
//!     store result(n)
//! }
//! ```
//!
//! A state without axes is a variable, one with axes an array; what it becomes is set aside first,
//! unless each cell is computed from itself alone.
//!
//! Failures: what follows the condition is computed only where it does not hold, as the program says. After
//! a step in which something failed there is none: it might go on for ever.

use super::emit::{Emit, Place};
use super::home;
use super::plan::{Turns, What, Why};
use super::until::around_how;
use super::{def_cost, node_cost};
use crate::points::{Again, Arr, Def, Ix, Node, Points, Write};
use ein_base::Symbol;
use ein_ir::loops::{BufferKind, ForKind, Op, Operand, Reg, Stmt};
use ein_scalar::{BinaryOp, Scalar, ScalarType};
use rustc_hash::FxHashMap;

/// An array of at most so many elements is made for each point by itself.
const SMALL: i64 = 1 << 10;

/// About how many operations it takes, if there are as many steps as is usual.
pub(crate) fn cost(points: &Points, body: &Again) -> f64 {
    let of_write = |write: &Write| {
        let loops = write.loops.iter();
        let cells: f64 = loops.map(|(_, lo, hi)| points.trip_count(*lo, *hi)).product();
        cells * (node_cost(points, write.value) + 1.0)
    };
    let next = body.next.iter().map(|(_, write)| of_write(write)).sum::<f64>();
    let asked = body.also.iter().chain([&body.done]).map(|node| node_cost(points, *node));
    let step = body.parts.iter().map(of_write).sum::<f64>() + next + asked.sum::<f64>();
    let once = body.first.iter().chain(&body.results).map(of_write).sum::<f64>();
    let runs: f64 = body.around.iter().map(|ix| (points.ixs[*ix].range.1 + 1) as f64).product();
    runs * (once + points.cost.usual_steps() * step)
}

fn int(value: i64) -> Operand {
    Operand::Const(Scalar::I64(value))
}

/// Runs the steps, and keeps what is wanted of the last states.
pub(crate) fn again(emit: &mut Emit, def: &Def, body: &Again) {
    let work = def_cost(&emit.points, def);
    let outside = emit.in_parallel;
    let shares = rooms(emit, body);
    for (axis, ix) in body.around.iter().enumerate() {
        let (how, why) = around_how(&emit.view(), axis, work);
        let (lo, hi) = emit.points.ixs[*ix].range;
        let turns = Turns::Exactly((hi - lo + 1) as i64);
        let index = emit.points.ixs[*ix].name;
        emit.plan.note(What::Loop { index, turns, how }, why);
        emit.open(*ix, int(lo as i64), int(hi as i64 + 1), how.kind());
    }
    let states = first_states(emit, body);
    steps_of(emit, body, &states);
    let filled = body.filled();
    changes_here(emit, &filled);
    body.results.iter().for_each(|write| fill(emit, write));
    filled.iter().for_each(|arr| {
        emit.floors.remove(arr);
    });
    for _ in &body.around {
        match shares {
            true => emit.close_in_turns(),
            false => emit.close(),
        }
    }
    emit.in_parallel = outside;
    emit.forget(&filled);
}

/// Gives everything a place that is no register; results have theirs from outside, or one for all
/// points. Whether the points share some of it, so that they take turns.
fn rooms(emit: &mut Emit, body: &Again) -> bool {
    let mut shares = false;
    let results: Vec<Arr> = body.results.iter().map(|write| write.arr).collect();
    for arr in body.filled() {
        let shape = &emit.points.arrs[arr].shape;
        let len: i64 = shape.iter().product();
        if emit.places.contains_key(&arr) {
            continue;
        }
        if results.contains(&arr) {
            let why = Why::Since("each point keeps its last state");
            home::give(emit, arr, BufferKind::Scratch, why);
            // Each point has cells of its own.
            if let Some(buf) = emit.kernel.bufs.ids().last() {
                emit.once.insert(buf);
            }
        } else if !shape.is_empty() {
            shares |= len > SMALL;
            let kind = if len <= SMALL { BufferKind::Local } else { BufferKind::Scratch };
            let why = Why::Since("the state of one step");
            home::give(emit, arr, kind, why);
        }
    }
    shares
}

/// What is read of these arrays is read inside the innermost loop, in each of its steps.
fn changes_here(emit: &mut Emit, arrs: &[Arr]) {
    let here = emit.here();
    arrs.iter().for_each(|arr| {
        emit.floors.insert(*arr, here);
    });
}

fn fill(emit: &mut Emit, write: &Write) {
    match write.loops.as_slice() {
        [] => {
            let value = emit.value(write.value);
            emit.store(write.arr, &write.at, value);
        }
        loops => emit.nest(write.arr, loops.to_vec(), vec![(write.at.clone(), write.value)]),
    }
}

/// The first states: those without axes are variables from now on.
fn first_states(emit: &mut Emit, body: &Again) -> FxHashMap<Arr, Reg> {
    let values: Vec<Option<Operand>> = body
        .first
        .iter()
        .map(|write| match emit.points.arrs[write.arr].shape.is_empty() {
            true => Some(emit.value(write.value)),
            false => {
                fill(emit, write);
                None
            }
        })
        .collect();
    let mut states = FxHashMap::default();
    for (write, value) in body.first.iter().zip(values) {
        let Some(value) = value else { continue };
        let state = emit.reg(emit.points.arrs[write.arr].ty);
        emit.push(Stmt::Var(state, value));
        emit.places.insert(write.arr, Place::Register(Operand::Reg(state)));
        states.insert(write.arr, state);
    }
    states
}

fn steps_of(emit: &mut Emit, body: &Again, states: &FxHashMap<Arr, Reg>) {
    let ended = emit.reg(ScalarType::Bool);
    emit.push(Stmt::Var(ended, Operand::Const(Scalar::Bool(false))));
    let step: Ix = emit.points.fresh(Symbol::intern("step"), (0, i128::from(i32::MAX)));
    emit.open(step, int(0), int(i64::MAX), ForKind::Until(ended));
    let filled = body.filled();
    changes_here(emit, &filled);
    let asked = body.asked_parts(&emit.points);
    let (now, later): (Vec<_>, Vec<_>) =
        body.parts.iter().zip(asked).partition(|(_, asked)| *asked);
    now.iter().for_each(|(part, _)| fill(emit, part));
    for node in &body.also {
        emit.value(*node);
    }
    let done = emit.value(body.done);
    emit.open_block();
    changes_here(emit, &filled);
    later.iter().for_each(|(part, _)| fill(emit, part));
    next_states(emit, body, states);
    let goes_on = emit.close_block();
    changes_here(emit, &filled);
    let ends = vec![Stmt::Set(ended, Operand::Const(Scalar::Bool(true)))];
    emit.push(Stmt::If(done, ends, goes_on));
    end_with_failures(emit, ended);
    emit.close();
    emit.forget(&filled);
}

/// Ends the loop that is open after a step in which something failed: what the states are then may never
/// fulfil the condition.
fn end_with_failures(emit: &mut Emit, ended: Reg) {
    let here = emit.here();
    let stmts = std::mem::take(&mut emit.scopes[here].stmts);
    let failed = emit.reg(ScalarType::Bool);
    let (stmts, some) = noting_failures(emit, stmts, failed);
    let first = Stmt::Var(failed, Operand::Const(Scalar::Bool(false)));
    let first = some.then_some(first);
    first.into_iter().chain(stmts).for_each(|stmt| emit.push(stmt));
    if some {
        let op = Op::Binary(BinaryOp::Or, Operand::Reg(ended), Operand::Reg(failed));
        let either = emit.let_here(ScalarType::Bool, op);
        emit.push(Stmt::Set(ended, either));
    }
}

/// The same statements, after which a variable says whether something failed in them, and whether anything
/// can. What other threads do, or functions of their own, cannot set it.
fn noting_failures(emit: &mut Emit, stmts: Vec<Stmt>, failed: Reg) -> (Vec<Stmt>, bool) {
    let (mut all, mut some) = (Vec::with_capacity(stmts.len()), false);
    let mut failures = Vec::new();
    for stmt in stmts {
        match stmt {
            Stmt::Trap(cond) => {
                failures.push(cond);
                all.push(stmt);
            }
            Stmt::If(cond, yes, no) => {
                let (yes, a) = noting_failures(emit, yes, failed);
                let (no, b) = noting_failures(emit, no, failed);
                some |= a || b;
                all.push(Stmt::If(cond, yes, no));
            }
            Stmt::For(mut inner) => {
                let apart = matches!(
                    inner.kind,
                    ForKind::Parallel { .. } | ForKind::Flushed | ForKind::Apart
                );
                if !apart {
                    let body = std::mem::take(&mut inner.body);
                    let (body, inside) = noting_failures(emit, body, failed);
                    inner.body = body;
                    if let (ForKind::Vector { reductions }, true) = (&mut inner.kind, inside) {
                        reductions.push((failed, BinaryOp::Or));
                    }
                    some |= inside;
                }
                all.push(Stmt::For(inner));
            }
            Stmt::Let(..) | Stmt::Var(..) | Stmt::Set(..) | Stmt::Store(..) | Stmt::Gemm(_) => {
                all.push(stmt);
            }
        }
    }
    if let Some((first, rest)) = failures.split_first() {
        let or = |emit: &mut Emit, all: &mut Vec<Stmt>, a: Operand, b: Operand| {
            let either = emit.reg(ScalarType::Bool);
            all.push(Stmt::Let(either, Op::Binary(BinaryOp::Or, a, b)));
            Operand::Reg(either)
        };
        let any = rest.iter().fold(*first, |any, it| or(emit, &mut all, any, *it));
        let now = or(emit, &mut all, Operand::Reg(failed), any);
        all.push(Stmt::Set(failed, now));
        some = true;
    }
    (all, some)
}

/// All states change at once: none is written before all that is read of it has been read.
fn next_states(emit: &mut Emit, body: &Again, states: &FxHashMap<Arr, Reg>) {
    let mut numbers = Vec::new();
    for (state, write) in &body.next {
        if let Some(var) = states.get(state) {
            let (value, ty) = (emit.value(write.value), emit.points.arrs[*state].ty);
            // It may be the variable of another state.
            numbers.push((*var, emit.let_here(ty, Op::Copy(value))));
        }
    }
    let mut aside = Vec::new();
    for (state, write) in &body.next {
        if states.contains_key(state) {
            continue;
        }
        match is_own(emit, body, *state, write) {
            true => aside.push(Write { arr: *state, ..write.clone() }),
            false => {
                fill(emit, write);
                let value = emit.points.load(write.arr, &write.at);
                aside.push(Write { arr: *state, value, ..write.clone() });
            }
        }
    }
    aside.iter().for_each(|write| fill(emit, write));
    for (var, value) in numbers {
        emit.push(Stmt::Set(var, value));
    }
}

/// Whether each cell of a state is computed from itself alone, and no other array from it: then it
/// needs no second place.
fn is_own(emit: &Emit, body: &Again, state: Arr, write: &Write) -> bool {
    let reads = |root: Node| emit.points.loads(&[root]);
    let others = body.next.iter().filter(|(other, _)| *other != state);
    let mut others = others.filter(|(_, write)| !write.loops.is_empty());
    let own = |(arr, at): &(Arr, Box<[Node]>)| *arr != state || **at == *write.at;
    !emit.points.nodes[write.value].reduces
        && reads(write.value).iter().all(own)
        && !others.any(|(_, other)| reads(other.value).iter().any(|(arr, _)| *arr == state))
}
