//! Arrays that are filled in place, phase by phase and step by step.

use super::emit::Emit;
use super::home;
use super::node_cost;
use super::plan::Why;
use crate::points::{Act, Arr, InPlace, Phase, Points, Write};
use ein_ir::loops::{BufferKind, ForKind};

/// About how many operations the phases take.
pub(crate) fn cost(points: &Points, body: &InPlace) -> f64 {
    body.phases.iter().map(|phase| phase_cost(points, phase)).sum()
}

fn phase_cost(points: &Points, phase: &Phase) -> f64 {
    let of_write = |write: &Write| {
        let loops = write.loops.iter();
        let cells: f64 = loops.map(|(_, lo, hi)| points.trip_count(*lo, *hi)).product();
        cells * (node_cost(points, write.value) + 1.0)
    };
    let acts = phase.acts.iter().map(|act| match act {
        Act::Write(write) => of_write(write),
        Act::Phase(inner) => phase_cost(points, inner),
    });
    let steps = phase.steps.map_or(1.0, |steps| points.trip_count(steps.lo, steps.hi));
    steps * acts.sum::<f64>()
}

impl Emit {
    /// Fills an array and what is filled with it.
    pub(crate) fn in_place(&mut self, arr: Arr, body: &InPlace) {
        for other in &body.others {
            let why = Why::Since("the recursion fills it step by step");
            home::give(self, *other, BufferKind::Scratch, why);
        }
        let filled: Vec<Arr> = body.others.iter().copied().chain([arr]).collect();
        for phase in &body.phases {
            self.phase(phase, &filled);
        }
        filled.iter().for_each(|arr| {
            self.floors.remove(arr);
        });
    }

    fn phase(&mut self, phase: &Phase, filled: &[Arr]) {
        if let Some(steps) = phase.steps {
            let (lo, hi) = (self.bound_value(steps.lo), self.bound_value(steps.hi));
            let kind = if steps.backward { ForKind::Backward } else { ForKind::Serial };
            self.open(steps.ix, lo, hi, kind);
        }
        for act in &phase.acts {
            match act {
                Act::Write(write) => {
                    self.not_before_here(filled);
                    self.write(write);
                }
                Act::Phase(inner) => {
                    // The smaller steps change what was read before them.
                    self.phase(inner, filled);
                }
            }
        }
        if phase.steps.is_some() {
            self.close();
        }
        self.forget(filled);
    }

    /// What is read from these arrays is read inside the innermost loop, in each of its steps.
    fn not_before_here(&mut self, filled: &[Arr]) {
        let here = self.here();
        filled.iter().for_each(|arr| {
            self.floors.insert(*arr, here);
        });
    }

    fn write(&mut self, write: &Write) {
        let cell = (write.at.clone(), write.value);
        self.nest(write.arr, write.loops.clone(), vec![cell]);
    }
}
