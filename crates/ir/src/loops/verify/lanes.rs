//! Whether what is decided about a vector loop belongs to it.

use super::{Role, Verifier};
use crate::loops::lanes::{Asks, Lanes, Tail, Twice};
use crate::loops::stages::{Source, Stages, defined};
use crate::loops::{For, Op, Operand, Reg, Stmt, captures};
use std::collections::BTreeMap;

/// What is decided about a vector loop belongs to it.
pub(super) fn check(verifier: &mut Verifier<'_>, inner: &For, lanes: &Lanes) {
    let var = inner.var;
    verifier.vector(inner, &lanes.reductions);
    let reduces = !lanes.reductions.is_empty();
    if let Some(sums) = &lanes.sums {
        let whole = sums.lanes >= 1 && [1, 2].contains(&sums.vectors);
        let all = sums.lanes.saturating_mul(sums.vectors);
        let turns = sums.turns.iter().all(|(count, _)| [sums.lanes, all].contains(count));
        verifier.require(reduces && whole && turns, || format!("{var} has sums of no lanes"));
        let exact = match sums.tail {
            Tail::None => inner.extent().is_some_and(|it| sums.covers(it)),
            Tail::Masked | Tail::Single => true,
        };
        verifier.require(exact, || format!("the sums of {var} leave out iterations"));
        let values = |stmt: &Stmt| matches!(stmt, Stmt::Let(..) | Stmt::Set(..));
        let only = inner.body.iter().all(values) && lanes.twice == Twice::Never;
        verifier.require(only, || format!("{var} has sums and does more than to reduce"));
    }
    if !lanes.pieces.is_empty() {
        let bounds = [inner.lo, inner.hi].map(|bound| match bound {
            Operand::Const(bound) => bound.as_i64(),
            Operand::Reg(_) => None,
        });
        let ends = lanes.pieces.iter().map(|(_, to)| Some(*to));
        let starts = lanes.pieces.iter().map(|(from, _)| Some(*from));
        let joined = [bounds[0]].into_iter().chain(ends).eq(starts.chain([bounds[1]]));
        verifier.require(joined && !reduces, || format!("the pieces of {var} are not the loop"));
    }
    if let Some(Asks { every, step, addrs }) = &lanes.asks {
        let right = *every >= 1 && *step >= 1 && !reduces && lanes.pieces.is_empty();
        verifier.require(right, || format!("{var} cannot ask for what it reads"));
        let visible = verifier.visible.clone();
        verifier.visible.insert(var, Role::Value);
        for addr in addrs {
            verifier.addr(addr);
        }
        verifier.visible = visible;
    }
    match lanes.twice {
        Twice::Never => {}
        Twice::Whole => {
            let again = !inner.reads_what_it_writes();
            verifier.require(again, || format!("{var} cannot run twice: it reads what it writes"));
        }
        Twice::Parts(size) => {
            let alone = size >= 1 && lanes.pieces.is_empty() && lanes.asks.is_none();
            let again = alone && inner.may_set_aside();
            verifier.require(again, || format!("{var} cannot set aside what it stores"));
        }
    }
    if let Some(stages) = &lanes.stages {
        check_stages(verifier, inner, stages);
    }
}

/// Whether every statement is in a stage, done once or a call, what is used is known before, and places
/// of tiles are those of registers.
fn check_stages(verifier: &mut Verifier<'_>, inner: &For, stages: &Stages) {
    let (var, body) = (inner.var, &inner.body);
    let calls = stages.calls.iter();
    let places = calls.clone().flat_map(|it| it.inputs.iter().chain([&it.output]));
    let direct = places.clone().filter_map(|place| match place {
        Source::Memory(n) => Some(*n),
        Source::Tile(_) | Source::Fill(_) => None,
    });
    let mut known: Vec<usize> = stages.once.clone();
    known.extend(stages.work.iter().map(|(_, n)| *n));
    known.extend(calls.clone().map(|call| call.stmt));
    known.extend(direct);
    let loads = |n: usize| matches!(body.get(n), Some(Stmt::Let(_, Op::Load(_))));
    let all = (0..body.len()).all(|n| known.contains(&n) || loads(n));
    let inside = known.iter().all(|n| *n < body.len());
    let ordered = stages.work.is_sorted() && stages.copies >= 1;
    verifier.require(all && inside && ordered, || format!("the stages of {var} are not the loop"));
    let tiled = stages.calls.is_empty() == (stages.tile == 0) && stages.tile >= 0;
    verifier.require(tiled, || format!("{var} has tiles without functions, or the reverse"));
    let defines = |reg: Reg| body.iter().any(|stmt| defined(stmt) == Some(reg));
    let tiles = places.filter_map(|place| match place {
        Source::Tile(reg) => Some(*reg),
        Source::Memory(_) | Source::Fill(_) => None,
    });
    let mut tiles = tiles.chain(stages.shared.iter().flat_map(|(a, b)| [*a, *b]));
    let own = tiles.all(defines);
    verifier.require(own, || format!("a tile of {var} is that of no register"));
    let shapes = calls.clone().all(|call| matches!(body.get(call.stmt), Some(Stmt::Let(..))));
    verifier.require(shapes, || format!("a call of {var} computes nothing"));
    // The stage after which a register is known.
    let mut after: BTreeMap<Reg, usize> = BTreeMap::new();
    for (stage, n) in &stages.work {
        if let Some(reg) = body.get(*n).and_then(defined) {
            after.entry(reg).or_insert(*stage);
        }
    }
    for call in calls {
        if let Some(reg) = body.get(call.stmt).and_then(defined) {
            after.insert(reg, call.stage + 1);
        }
    }
    let used = |n: usize| captures(std::slice::from_ref(&body[n])).regs;
    let early = |stage: usize, reg: Reg| after.get(&reg).is_some_and(|it| *it > stage);
    let right = stages
        .work
        .iter()
        .filter(|(_, n)| *n < body.len())
        .all(|(stage, n)| !used(*n).into_iter().any(|reg| early(*stage, reg)));
    verifier.require(right, || format!("a stage of {var} uses what a later one gives"));
}
