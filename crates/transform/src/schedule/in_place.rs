//! Arrays that are filled in place, phase by phase and step by step.

use super::emit::{Emit, Use};
use super::node_cost;
use crate::points::{Arr, InPlace, Phase, Points, Write};
use ein_ir::loops::{BufferKind, ForKind, Operand};
use ein_scalar::Scalar;

/// About how many operations the phases take.
pub(crate) fn cost(points: &Points, body: &InPlace) -> f64 {
    let of_write = |write: &Write| {
        let loops = write.loops.iter();
        let cells: f64 = loops.map(|(_, lo, hi)| points.trip_count(*lo, *hi)).product();
        cells * (node_cost(points, write.value) + 1.0)
    };
    let of_phase = |phase: &Phase| {
        let steps = phase.steps.map_or(1.0, |steps| {
            let (lo, hi) = points.ixs[steps.ix].range;
            (hi - lo + 1) as f64
        });
        steps * phase.writes.iter().map(of_write).sum::<f64>()
    };
    body.phases.iter().map(of_phase).sum()
}

impl Emit {
    /// Fills an array and what is filled with it.
    pub(crate) fn in_place(&mut self, arr: Arr, body: &InPlace) {
        for other in &body.others {
            self.whole(*other, BufferKind::Scratch, Use::Scratch);
        }
        let filled: Vec<Arr> = body.others.iter().copied().chain([arr]).collect();
        for phase in &body.phases {
            if let Some(steps) = phase.steps {
                let int = |value: i128| Operand::Const(Scalar::I64(value as i64));
                let (lo, hi) = self.points.ixs[steps.ix].range;
                let kind = if steps.backward { ForKind::Backward } else { ForKind::Serial };
                self.open(steps.ix, int(lo), int(hi + 1), kind);
            }
            // What is read inside is read again in every step.
            let here = self.here();
            filled.iter().for_each(|arr| {
                self.floors.insert(*arr, here);
            });
            for write in &phase.writes {
                let empty = |(_, lo, hi): &(_, _, _)| {
                    self.constant_extent(*lo, *hi).is_some_and(|extent| extent <= 0)
                };
                if write.loops.iter().any(empty) {
                    continue;
                }
                let cell = (write.at.clone(), write.value);
                self.nest(write.arr, write.loops.clone(), vec![cell]);
            }
            if phase.steps.is_some() {
                self.close();
            }
            filled.iter().for_each(|arr| {
                self.floors.remove(arr);
            });
            self.forget(&filled);
        }
    }
}
