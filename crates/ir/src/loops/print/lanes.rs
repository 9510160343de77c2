//! What is decided about a vector loop.

use super::operand;
use crate::loops::lanes::{Lanes, Tail, Twice};
use crate::loops::stages::{Call, Source, Stages};
use crate::loops::{Addr, For};

/// What is decided, line by line.
pub(super) fn decided(lanes: &Lanes, addr: &dyn Fn(&Addr) -> String, inner: &For) -> Vec<String> {
    let mut words = vec!["lanes".to_owned()];
    if let Some(sums) = &lanes.sums {
        let mut list = vec![format!("{} * {}", sums.lanes, sums.vectors)];
        list.extend(sums.turns.iter().map(|(count, unrolled)| match unrolled {
            Some(turns) => format!("{count} unrolled {turns}"),
            None => count.to_string(),
        }));
        match sums.tail {
            Tail::None => {}
            Tail::Masked => list.push("masked".to_owned()),
            Tail::Single => list.push("single".to_owned()),
        }
        words.push(format!("sums({})", list.join(", ")));
    }
    if !lanes.pieces.is_empty() {
        let list: Vec<String> =
            lanes.pieces.iter().map(|(from, to)| format!("{from}..{to}")).collect();
        words.push(format!("pieces({})", list.join(", ")));
    }
    if let Some(asks) = &lanes.asks {
        let mut list = vec![asks.every.to_string(), asks.step.to_string()];
        list.extend(asks.addrs.iter().map(addr));
        words.push(format!("asks({})", list.join(", ")));
    }
    match lanes.twice {
        Twice::Never => {}
        Twice::Whole => words.push("twice".to_owned()),
        Twice::Parts(size) => words.push(format!("twice({size})")),
    }
    let mut lines = vec![words.join(" ")];
    lines.extend(lanes.stages.as_ref().map(|it| stages(it, inner)));
    lines
}

fn stages(stages: &Stages, inner: &For) -> String {
    let mut words = vec![format!("stages({}, {}, {})", stages.copies, stages.lanes, stages.tile)];
    if !stages.once.is_empty() {
        words.push(format!("once({})", numbers(&stages.once)));
    }
    if !stages.calls.is_empty() || stages.work != plain(stages, inner.body.len()) {
        let list = (0..=stages.last()).map(|stage| {
            let items: Vec<usize> = stages.items(stage).collect();
            format!("work({})", numbers(&items))
        });
        words.extend(list);
    }
    words.extend(stages.calls.iter().map(call));
    let shared = stages.shared.iter().map(|(tile, other)| format!("share({tile}, {other})"));
    words.extend(shared);
    words.join(" ")
}

/// The work of a loop whose statements are all in the first stage but for those that are done once.
pub(in crate::loops) fn plain(stages: &Stages, len: usize) -> Vec<(usize, usize)> {
    (0..len).filter(|n| !stages.once.contains(n)).map(|n| (0, n)).collect()
}

fn numbers(list: &[usize]) -> String {
    list.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

fn call(call: &Call) -> String {
    let inputs: Vec<String> = call.inputs.iter().map(source).collect();
    format!("call({}, {}, {} = {})", call.stage, call.stmt, source(&call.output), inputs.join(", "))
}

fn source(source: &Source) -> String {
    match source {
        Source::Tile(reg) => format!("tile {reg}"),
        Source::Memory(n) => format!("memory {n}"),
        Source::Fill(value) => format!("fill {}", operand(*value)),
    }
}
