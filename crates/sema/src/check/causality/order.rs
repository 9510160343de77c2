//! The search for an order: which axis comes first, and in which direction.

use super::SelfRead;
use ein_ir::size::{self, Facts};
use ein_ir::tensor::RecurrenceAxis;

/// The deepest read along an axis, if all are at constant distances.
pub(in crate::check) fn lookback(reads: &[SelfRead], first: RecurrenceAxis) -> Option<u32> {
    let mut deepest = 0;
    for read in reads {
        let distance = read.distance.get(first.axis)?.as_constant()?;
        let back = if first.backward { distance } else { -distance };
        deepest = deepest.max(u32::try_from(back).ok()?);
    }
    Some(deepest)
}

/// How a read stands along an axis in a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Strictly before the point.
    Before,
    /// Nowhere else than the point.
    Level,
    /// Not behind it.
    NotAfter,
    /// Perhaps behind it.
    Unclear,
}

fn standing(distance: &size::Expr, facts: &Facts, backward: bool) -> Standing {
    let behind = if backward { distance.clone() } else { distance.neg() };
    if let Some(behind) = behind.as_constant() {
        return match behind.signum() {
            1 => Standing::Before,
            0 => Standing::Level,
            // A place that is never reached has no order.
            _ if size::is_empty(facts).is_proved() => Standing::Before,
            _ => Standing::Unclear,
        };
    }
    if size::prove_ge0(facts, &behind.offset(-1)).is_proved() {
        Standing::Before
    } else if !size::prove_ge0(facts, &behind).is_proved() {
        Standing::Unclear
    } else if size::prove_ge0(facts, &behind.neg()).is_proved() {
        Standing::Level
    } else {
        Standing::NotAfter
    }
}

/// An order in which every read is of an earlier point: axes with their directions, outermost
/// first. Forward is preferred to backward, and one axis that settles everything to several.
pub(super) fn find_order(reads: &[&SelfRead], rank: usize) -> Option<Vec<RecurrenceAxis>> {
    let mut open: Vec<(&SelfRead, Facts)> =
        reads.iter().map(|read| (*read, read.facts.clone())).collect();
    let mut order: Vec<RecurrenceAxis> = Vec::new();
    while !open.is_empty() {
        let reads: Vec<(&SelfRead, &Facts)> =
            open.iter().map(|(read, facts)| (*read, facts)).collect();
        let (step, before) = standings(&reads, rank, &order)?;
        let mut left = Vec::new();
        for ((read, mut facts), before) in open.into_iter().zip(before) {
            if !before {
                facts.eq0(read.distance[step.axis].clone());
                left.push((read, facts));
            }
        }
        open = left;
        order.push(step);
    }
    Some(order)
}

/// An axis that may come next after these, and for each read whether that settles it.
pub(in crate::check) fn standings(
    open: &[(&SelfRead, &Facts)],
    rank: usize,
    order: &[RecurrenceAxis],
) -> Option<(RecurrenceAxis, Vec<bool>)> {
    let mut choice: Option<(RecurrenceAxis, Vec<Standing>)> = None;
    'axes: for backward in [false, true] {
        for axis in (0..rank).filter(|axis| order.iter().all(|step| step.axis != *axis)) {
            let mut standings = Vec::with_capacity(open.len());
            for (read, facts) in open {
                let standing = standing(&read.distance[axis], facts, backward);
                standings.push(standing);
                if standing == Standing::Unclear {
                    break;
                }
            }
            if standings.last() == Some(&Standing::Unclear)
                || standings.iter().all(|standing| *standing == Standing::Level)
            {
                continue;
            }
            let settles = standings.iter().all(|standing| *standing == Standing::Before);
            if settles || choice.is_none() {
                choice = Some((RecurrenceAxis { axis, backward }, standings));
            }
            if settles {
                break 'axes;
            }
        }
    }
    let (step, standings) = choice?;
    Some((step, standings.into_iter().map(|it| it == Standing::Before).collect()))
}
