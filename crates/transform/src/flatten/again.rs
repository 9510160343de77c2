//! Functions whose last action is to call themselves: loops whose length only the run knows (tail
//! calls as while loops).
//!
//! Before:  `fn gcd(a, b) { if b == 0 { a } else { gcd(b, a % b) } }`, called with numbers
//! After:   the states `a` and `b`, the condition `b == 0`, the next states `b` and `a % b`, and `a` of
//!          the last ones ([`Again`])
//!
//! The body is evaluated once, with the parameters that change as states. A call of itself is then not
//! entered: it is a [`Turn`], and where branches come together, so do the values they end with and the
//! arguments they go on with. Inside a loop it runs for each of its points by itself; where the program
//! does not come to the call it makes no step.
//!
//! Refuses: arguments that change their shape or are functions, sizes and captures that change, such a
//! call inside another one or in a step of a recurrence, functions that never end.
//!
//! Failures: what a step binds and does not use is computed in it all the same.

use super::array::{Array, ArrayKind};
use super::extent::Extent;
use super::{Flat, Flatten, Val, declined};
use crate::points::{Again, Arr, ArrInfo, Body, Clause, Ix, Node, Source, Write};
use ein_base::{Span, Symbol};
use ein_ir::tensor::FuncId;
use ein_ir::tensor::tail::{kept, last_calls};
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// The most points of the loops around, with the cells of what is kept for each.
const CELLS: i64 = 1 << 24;

/// How a turn of a function ends, if that is not known before it runs.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    /// Whether it ends with a value.
    done: Node,
    /// The value, where it does.
    value: Option<Val>,
    /// The arguments that it goes on with, where it does not.
    next: Option<Rc<[Val]>>,
}

/// The function whose turns are evaluated, all at once.
pub(crate) struct Turns {
    func: FuncId,
    /// How many frames there are in its body.
    depth: usize,
    /// How many loops are around a statement of its body.
    loops: usize,
    /// Sizes and captures, which every turn has.
    fixed: Vec<Val>,
    /// What is filled in each turn.
    parts: Vec<Write>,
}

/// A call of a function whose last action is to call itself, as a loop; none if it is no such
/// function. Of at most so many turns it is what the parameters that change have become.
pub(crate) fn turns(
    flatten: &mut Flatten<'_>,
    func: FuncId,
    (fixed, args): (&[Val], &[Val]),
    most: Option<i64>,
    span: Span,
) -> Option<Flat<Val>> {
    let info = &flatten.program.funcs[func];
    let calls = last_calls(&info.body, func)?;
    if flatten.turns.is_some() || flatten.descent.is_some() || !flatten.pending.is_empty() {
        return None;
    }
    let kept = kept(&info.params, &calls);
    let before = (flatten.points.defs.len(), flatten.loops.len(), flatten.obliged.len());
    let (frames, within, when) = (flatten.frames.len(), flatten.within.len(), flatten.when);
    let result = all_turns(flatten, func, (fixed, args), (&kept, most), span);
    flatten.turns = None;
    if result.is_err() {
        flatten.points.defs.truncate(before.0);
        flatten.points.renumber();
        flatten.obliged.truncate(before.2);
        flatten.frames.truncate(frames);
        flatten.within.truncate(within);
        flatten.pending.clear();
    }
    flatten.loops.truncate(before.1);
    flatten.when = when;
    Some(result)
}

/// A call of the function whose turns are evaluated, from its own body.
pub(crate) fn next_turn(
    flatten: &mut Flatten<'_>,
    func: FuncId,
    fixed: &[Val],
    args: &[Val],
    span: Span,
) -> Option<Flat<Val>> {
    let turns = flatten.turns.as_ref().filter(|turns| turns.func == func)?;
    let again = turns.depth == flatten.frames.len() && turns.loops == flatten.loops.len();
    let same = turns.fixed.iter().zip(fixed).all(|(a, b)| is_same(a, b));
    Some(match again && same {
        true => {
            let done = flatten.points.truth(false);
            let (value, next) = (None, Some(args.into()));
            Ok(Val::Turn(Rc::new(Turn { done, value, next })))
        }
        false => Err(declined("a function that calls itself on other terms", span)),
    })
}

/// One ending or another.
pub(crate) fn merge_turns(
    flatten: &mut Flatten<'_>,
    cond: Node,
    a: Val,
    b: Val,
    span: Span,
) -> Flat<Val> {
    let (a, b) = (as_turn(flatten, a), as_turn(flatten, b));
    let value = match (a.value.clone(), b.value.clone()) {
        (Some(a), Some(b)) => Some(flatten.merge(cond, a, b, span)?),
        (a, b) => a.or(b),
    };
    let next = match (a.next.clone(), b.next.clone()) {
        (Some(a), Some(b)) => {
            let pairs = a.iter().cloned().zip(b.iter().cloned());
            let args = pairs.map(|(a, b)| flatten.merge(cond, a, b, span));
            Some(args.collect::<Flat<Vec<Val>>>()?.into())
        }
        (a, b) => a.or(b),
    };
    let done = either(flatten, cond, a.done, b.done);
    Ok(Val::Turn(Rc::new(Turn { done, value, next })))
}

/// A truth or another, without a choice where one of them is known.
fn either(flatten: &mut Flatten<'_>, cond: Node, a: Node, b: Node) -> Node {
    let not = flatten.points.unary(UnaryOp::Not, cond, None);
    let (op, left, right) = match (flatten.known_truth(a), flatten.known_truth(b)) {
        (Some(true), Some(false)) => return cond,
        (Some(false), Some(true)) => return not,
        (Some(true), _) => (BinaryOp::Or, cond, b),
        (Some(false), _) => (BinaryOp::And, not, b),
        (None, Some(true)) => (BinaryOp::Or, not, a),
        (None, Some(false)) => (BinaryOp::And, cond, a),
        (None, None) => return flatten.points.select(cond, a, b),
    };
    flatten.points.binary(op, left, right, None)
}

fn as_turn(flatten: &mut Flatten<'_>, value: Val) -> Rc<Turn> {
    match value {
        Val::Turn(turn) => turn,
        value => {
            let done = flatten.points.truth(true);
            Rc::new(Turn { done, value: Some(value), next: None })
        }
    }
}

fn all_turns(
    flatten: &mut Flatten<'_>,
    func: FuncId,
    (fixed, args): (&[Val], &[Val]),
    (kept, most): (&[bool], Option<i64>),
    span: Span,
) -> Flat<Val> {
    let info = &flatten.program.funcs[func];
    let around = flatten.loops.clone();
    let at = flatten.points.defs.len();
    let mut first = Vec::new();
    let mut states = Vec::new();
    for ((param, arg), kept) in info.params.iter().zip(args).zip(kept) {
        let name = flatten.program.vars[*param].name;
        states.push(match kept {
            true => arg.clone(),
            false => state(flatten, arg, at, name, &mut first, span)?,
        });
    }
    // The turns that are left.
    let left = match most {
        Some(most) => {
            let most = Val::Scalar(flatten.points.constant(Scalar::I64(most)));
            Some(state(flatten, &most, at, Symbol::intern("left"), &mut first, span)?)
        }
        None => None,
    };
    let Some(main) = first.first().map(|write| write.arr) else {
        return Err(declined("a function that calls itself with the same arguments", span));
    };
    // Its clauses come when they are known; what is made meanwhile does not read it.
    let body = Body::Clauses(Vec::new(), None);
    flatten.points.defs.push(crate::points::Def { arr: main, span, body, adjoint: false });
    flatten.pending.extend(first.iter().map(|write| write.arr));
    let step = flatten.points.fresh(Symbol::intern("step"), (0, 0));
    flatten.loops.push(step);
    let names = info.sizes.iter().chain(&info.captures).chain(&info.params);
    let values = fixed.iter().chain(&states).cloned();
    let frame: FxHashMap<_, _> = names.copied().zip(values).collect();
    flatten.frames.push(frame);
    let (obliged, inside, reached) = (flatten.obliged.len(), flatten.within.len(), flatten.when);
    let (depth, loops) = (flatten.frames.len(), flatten.loops.len());
    let (fixed, parts) = (fixed.to_vec(), Vec::new());
    flatten.turns = Some(Turns { func, depth, loops, fixed, parts });
    let result = flatten.expr(&info.body)?;
    flatten.frames.pop();
    let parts = flatten.turns.take().map(|turns| turns.parts).unwrap_or_default();
    flatten.loops.pop();
    if flatten.within.len() > inside {
        return Err(declined("a recurrence inside a loop that a condition ends", span));
    }
    let turn = as_turn(flatten, result);
    let value = match most {
        Some(_) => {
            let changing = states.iter().zip(kept).filter(|(_, kept)| !**kept);
            Some(Val::Tuple(changing.map(|(state, _)| state.clone()).collect()))
        }
        None => turn.value.clone(),
    };
    let Some(value) = value else {
        return Err(declined("a function that calls itself without end", span));
    };
    // Where the program does not come to the call there is no step.
    let done = match reached {
        None => turn.done,
        Some(reached) => {
            let not = flatten.points.unary(UnaryOp::Not, reached, None);
            flatten.points.binary(BinaryOp::Or, not, turn.done, None)
        }
    };
    let mut next = Vec::new();
    let arguments = turn.next.clone().unwrap_or_else(|| states.clone().into());
    for ((state, to), _) in states.iter().zip(arguments.iter()).zip(kept).filter(|it| !it.1) {
        next_state(flatten, state, to, &mut next, span)?;
    }
    let mut done = done;
    if let Some(Val::Scalar(left)) = left {
        let [none, one] = [0, 1].map(|it| flatten.points.constant(Scalar::I64(it)));
        let over = flatten.points.binary(BinaryOp::Eq, left, none, None);
        done = flatten.points.binary(BinaryOp::Or, over, done, None);
        let fewer = Val::Scalar(flatten.points.binary(BinaryOp::Sub, left, one, None));
        next_state(flatten, &Val::Scalar(left), &fewer, &mut next, span)?;
    }
    let also = flatten.obliged.split_off(obliged);
    let mut body =
        Again { around: Vec::new(), first, parts, also, done, next, results: Vec::new() };
    let mut used = flatten.points.below(&body.roots());
    used.retain(|node| !flatten.points.nodes[*node].free.is_empty());
    let mut leaves = Vec::new();
    nodes_of_result(flatten, &value, &mut leaves);
    let free: FxHashSet<Ix> = used
        .iter()
        .chain(&leaves)
        .flat_map(|node| flatten.points.nodes[*node].free.iter().copied())
        .collect();
    body.around = around.into_iter().filter(|ix| free.contains(ix)).collect();
    let known = |ix: &Ix| {
        let info = &flatten.points.ixs[*ix];
        info.bounds.is_none() && info.range.0 >= 0
    };
    if !body.around.iter().all(known) {
        return Err(declined("a loop that a condition ends, inside a loop", span));
    }
    let name = info.name;
    let kept = kept_of(flatten, &value, name, &body.around.clone(), &mut body.results, span)?;
    let below: FxHashSet<Node> = flatten
        .points
        .below(&body.writes().flat_map(Write::roots).chain([done]).collect::<Vec<_>>())
        .into_iter()
        .collect();
    body.also.retain(|node| !below.contains(node));
    if body.results.is_empty() {
        return Err(declined("a function without a value that is a number", span));
    }
    body.filled().iter().for_each(|arr| {
        flatten.pending.remove(arr);
    });
    if let Some(def) = flatten.points.defs.iter().position(|def| def.arr == main) {
        flatten.points.defs[def].body = Body::Again(body);
        flatten.move_last(def);
    }
    Ok(kept)
}

/// A state that begins with a value: what it is in each turn.
fn state(
    flatten: &mut Flatten<'_>,
    value: &Val,
    def: usize,
    name: Symbol,
    first: &mut Vec<Write>,
    span: Span,
) -> Flat<Val> {
    match value {
        Val::Unit => Ok(Val::Unit),
        Val::Scalar(node) => {
            let ty = flatten.points.nodes[*node].ty;
            let arr = aside(flatten, name, ty, Vec::new(), def);
            let (loops, at) = (Vec::new(), Vec::new());
            first.push(Write { arr, loops, at, value: *node });
            Ok(Val::Scalar(flatten.points.load(arr, &[])))
        }
        Val::Array(array) => {
            let shape = fixed_extents(array, span)?;
            let arr = aside(flatten, name, array.ty, shape, def);
            let cells = flatten.cells(array);
            first.push(written(flatten, arr, &[], cells));
            let kind = ArrayKind::Stored(arr, Vec::new());
            Ok(Val::Array(Rc::new(Array { kind, ..(**array).clone() })))
        }
        Val::Tuple(items) => {
            let items = items.iter().map(|item| state(flatten, item, def, name, first, span));
            Ok(Val::Tuple(items.collect::<Flat<Vec<Val>>>()?.into()))
        }
        Val::Data(made, items) => {
            let items = items.iter().map(|item| state(flatten, item, def, name, first, span));
            Ok(Val::Data(*made, items.collect::<Flat<Vec<Val>>>()?.into()))
        }
        Val::Text(_) | Val::Fn(..) | Val::Turn(_) => {
            Err(declined("a function that changes from call to call", span))
        }
    }
}

/// What a state becomes.
fn next_state(
    flatten: &mut Flatten<'_>,
    state: &Val,
    to: &Val,
    next: &mut Vec<(Arr, Write)>,
    span: Span,
) -> Flat<()> {
    match (state, to) {
        (Val::Unit, Val::Unit) => Ok(()),
        (Val::Scalar(state), Val::Scalar(to)) => {
            let [(arr, _)] = flatten.points.loads(&[*state])[..] else {
                return Err(declined("a state that is not kept", span));
            };
            let (loops, at) = (Vec::new(), Vec::new());
            next.push((arr, Write { arr, loops, at, value: *to }));
            Ok(())
        }
        (Val::Array(state), Val::Array(to)) => {
            let ArrayKind::Stored(arr, _) = state.kind else {
                return Err(declined("a state that is not kept", span));
            };
            if fixed_extents(to, span)? != flatten.points.arrs[arr].shape || to.ty != state.ty {
                return Err(declined("an array that changes from call to call", span));
            }
            let ArrInfo { name, ty, shape, source } = flatten.points.arrs[arr].clone();
            let aside = flatten.points.arrs.push(ArrInfo { name, ty, shape, source });
            let cells = flatten.cells(to);
            next.push((arr, written(flatten, aside, &[], cells)));
            Ok(())
        }
        (Val::Tuple(state), Val::Tuple(to)) if state.len() == to.len() => {
            let mut pairs = state.iter().zip(to.iter());
            pairs.try_for_each(|(state, to)| next_state(flatten, state, to, next, span))
        }
        (Val::Data(made, state), Val::Data(other, to)) if made == other => {
            let mut pairs = state.iter().zip(to.iter());
            pairs.try_for_each(|(state, to)| next_state(flatten, state, to, next, span))
        }
        _ => Err(declined("arguments of another form", span)),
    }
}

/// What is kept of a value after the last turn, for each point of the loops around.
fn kept_of(
    flatten: &mut Flatten<'_>,
    value: &Val,
    name: Symbol,
    around: &[Ix],
    results: &mut Vec<Write>,
    span: Span,
) -> Flat<Val> {
    let points: Vec<Node> = around.iter().map(|ix| flatten.points.index(*ix)).collect();
    let mut room: Vec<i64> =
        around.iter().map(|ix| flatten.points.ixs[*ix].range.1 as i64 + 1).collect();
    match value {
        Val::Unit => Ok(Val::Unit),
        Val::Scalar(node) => {
            let arr = aside(flatten, name, flatten.points.nodes[*node].ty, room, 0);
            not_too_many(flatten, arr, span)?;
            results.push(Write { arr, loops: Vec::new(), at: points.clone(), value: *node });
            Ok(Val::Scalar(flatten.points.load(arr, &points)))
        }
        Val::Array(array) => {
            room.extend(fixed_extents(array, span)?);
            let arr = aside(flatten, name, array.ty, room, 0);
            not_too_many(flatten, arr, span)?;
            let cells = flatten.cells(array);
            results.push(written(flatten, arr, &points, cells));
            let kind = ArrayKind::Stored(arr, points);
            Ok(Val::Array(Rc::new(Array { kind, ..(**array).clone() })))
        }
        Val::Tuple(items) => {
            let items = items.iter();
            let items = items.map(|item| kept_of(flatten, item, name, around, results, span));
            Ok(Val::Tuple(items.collect::<Flat<Vec<Val>>>()?.into()))
        }
        Val::Data(made, items) => {
            let items = items.iter();
            let items = items.map(|item| kept_of(flatten, item, name, around, results, span));
            Ok(Val::Data(*made, items.collect::<Flat<Vec<Val>>>()?.into()))
        }
        Val::Text(_) | Val::Fn(..) | Val::Turn(_) => {
            Err(declined("a value that is neither a number nor an array", span))
        }
    }
}

/// An array that a turn makes from the states, and keeps until its end. None where it has to be
/// computed where it is read.
pub(crate) fn part_of_turn(
    flatten: &mut Flatten<'_>,
    name: Option<Symbol>,
    ty: ScalarType,
    shape: &[Extent],
    clauses: &[Clause],
) -> Option<Val> {
    let turns = flatten.turns.as_ref()?;
    let [clause] = clauses else { return None };
    let whole = |(slot, extent): (&crate::points::Slot, &Extent)| {
        flatten.points.as_int(slot.lo) == Some(0)
            && extent.constant().is_some()
            && flatten.points.as_int(slot.hi) == extent.constant()
    };
    let all = clause.guard.is_none() && clause.slots.iter().zip(shape).all(whole);
    if !all || turns.loops != flatten.loops.len() || turns.depth > flatten.frames.len() {
        return None;
    }
    let extents = shape.iter().map(|extent| extent.first).collect();
    let name = name.unwrap_or_else(|| Symbol::intern("part"));
    let arr = aside(flatten, name, ty, extents, 0);
    flatten.pending.insert(arr);
    let part = written(flatten, arr, &[], clause.clone());
    flatten.turns.as_mut()?.parts.push(part);
    let kind = ArrayKind::Stored(arr, Vec::new());
    Some(Val::Array(Rc::new(Array { ty, shape: shape.to_vec(), kind })))
}

fn aside(
    flatten: &mut Flatten<'_>,
    name: Symbol,
    ty: ScalarType,
    shape: Vec<i64>,
    def: usize,
) -> Arr {
    flatten.points.arrs.push(ArrInfo { name: Some(name), ty, shape, source: Source::Defined(def) })
}

fn fixed_extents(array: &Array, span: Span) -> Flat<Vec<i64>> {
    let extents: Option<Vec<i64>> = array.shape.iter().map(|extent| extent.constant()).collect();
    extents.ok_or_else(|| declined("an array of unknown shape in a loop", span))
}

fn not_too_many(flatten: &Flatten<'_>, arr: Arr, span: Span) -> Flat<()> {
    let shape = &flatten.points.arrs[arr].shape;
    match shape.iter().try_fold(1i64, |cells, extent| cells.checked_mul(*extent)) {
        Some(cells) if cells <= CELLS => Ok(()),
        Some(_) | None => Err(declined("a loop that a condition ends, inside a loop", span)),
    }
}
/// A clause as a write of all its cells, behind these positions.
fn written(flatten: &mut Flatten<'_>, arr: Arr, leading: &[Node], clause: Clause) -> Write {
    let loops = clause.slots.iter().map(|slot| (slot.ix, slot.lo, slot.hi)).collect();
    let own = clause.slots.iter().map(|slot| flatten.points.index(slot.ix));
    let at = leading.iter().copied().chain(own).collect();
    Write { arr, loops, at, value: clause.value }
}

/// The nodes of the cells of a value.
fn nodes_of_result(flatten: &mut Flatten<'_>, value: &Val, nodes: &mut Vec<Node>) {
    match value {
        Val::Unit | Val::Text(_) | Val::Fn(..) | Val::Turn(_) => {}
        Val::Scalar(node) => nodes.push(*node),
        Val::Array(array) => {
            let cells = flatten.cells(array);
            nodes.push(cells.value);
        }
        Val::Tuple(items) | Val::Data(_, items) => {
            items.iter().for_each(|item| nodes_of_result(flatten, item, nodes));
        }
    }
}

/// Whether two values are the same, as far as that can be seen.
fn is_same(a: &Val, b: &Val) -> bool {
    let all =
        |a: &[Val], b: &[Val]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b));
    match (a, b) {
        (Val::Unit, Val::Unit) => true,
        (Val::Text(a), Val::Text(b)) => a == b,
        (Val::Scalar(a), Val::Scalar(b)) => a == b,
        (Val::Array(a), Val::Array(b)) => match (&a.kind, &b.kind) {
            (ArrayKind::Stored(x, at), ArrayKind::Stored(y, other)) => x == y && at == other,
            _ => Rc::ptr_eq(a, b),
        },
        (Val::Tuple(a), Val::Tuple(b)) => all(a, b),
        (Val::Data(x, a), Val::Data(y, b)) => x == y && all(a, b),
        (Val::Fn(x, a), Val::Fn(y, b)) => x == y && all(a, b),
        _ => false,
    }
}
