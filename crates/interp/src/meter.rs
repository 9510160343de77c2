//! How far the evaluation is: the loops of the outermost definition or reduction under way.
//!
//! Loops inside those are not looked at: what a point costs is not known before it is computed.

use ein_base::{Symbol, Work};

use crate::machine::Machine;
use crate::stop::{MarkKind, is_written};

/// The loops that are counted. They belong to whoever started them; all others count nothing.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// Whether they belong to somebody.
    pub(crate) taken: bool,
    /// How many pieces of work there have been.
    number: u64,
    /// For each loop, from the outermost inward, the steps done and all of them.
    loops: Vec<(u64, u64)>,
}

impl Meter {
    /// Takes the meter; false if somebody else has it.
    pub(crate) fn take(&mut self) -> bool {
        if self.taken {
            return false;
        }
        self.taken = true;
        self.start();
        true
    }

    /// Gives it back, if it was taken.
    pub(crate) fn give_back(&mut self, taken: bool) {
        if taken {
            self.taken = false;
            self.loops.clear();
        }
    }

    /// A new piece of work; its number.
    pub(crate) fn start(&mut self) -> u64 {
        self.loops.clear();
        self.number += 1;
        self.number
    }

    /// A loop of `total` steps begins inside `level` others.
    pub(crate) fn enter(&mut self, level: usize, total: u64) {
        self.loops.truncate(level);
        self.loops.push((0, total));
    }

    /// A step of the loop inside `level` others is done.
    #[inline]
    pub(crate) fn step(&mut self, level: usize) {
        self.loops.truncate(level + 1);
        if let Some((done, _)) = self.loops.get_mut(level) {
            *done += 1;
        }
    }

    /// Which part of all the loops is done; absent if none is under way.
    fn fraction(&self) -> Option<f64> {
        let part = |inner: f64, (done, total): &(u64, u64)| match total {
            0 => 1.0,
            _ => ((*done as f64 + inner) / *total as f64).min(1.0),
        };
        (!self.loops.is_empty()).then(|| self.loops.iter().rev().fold(0.0, part))
    }
}

impl Machine<'_> {
    /// Tells the host how far the evaluation is.
    pub(crate) fn report_progress(&mut self) {
        let Some(name) = self.under_way() else { return };
        let work = Work { number: self.meter.number, name, fraction: self.meter.fraction() };
        self.host.progress(work);
    }

    /// The outermost definition in which loops run; without loops, the innermost thing that has a
    /// name.
    fn under_way(&self) -> Option<Symbol> {
        let looping = self.marks.iter().position(|it| matches!(it.kind, MarkKind::Index(_)));
        let marks = &self.marks[..looping.unwrap_or(self.marks.len())];
        marks.iter().rev().find_map(|mark| {
            let name = match mark.kind {
                MarkKind::Definition(name) => name?,
                MarkKind::Let(var) => self.program.vars[var].name,
                MarkKind::Call(func, _) => self.program.funcs[func].name,
                MarkKind::Index(_) => return None,
            };
            is_written(name.as_str()).then_some(name)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_inside_loops_are_parts_of_a_step() {
        let mut meter = Meter::default();
        assert!(meter.take());
        assert!(!meter.take(), "a loop inside counts nothing");
        assert_eq!(meter.fraction(), None);
        meter.enter(0, 4);
        meter.step(0);
        meter.enter(1, 2);
        meter.step(1);
        assert_eq!(meter.fraction(), Some(0.375));
        meter.step(0);
        assert_eq!(meter.fraction(), Some(0.5));
        meter.give_back(false);
        assert!(!meter.take());
        meter.give_back(true);
        assert!(meter.take());
        meter.enter(0, 0);
        assert_eq!(meter.fraction(), Some(1.0), "nothing to do is done");
    }
}
