//! A definition that failed as a kernel, part by part.
//!
//! A kernel that meets a failure gives no result and does not say where it was, so the message comes from
//! here. To evaluate all cells for the sake of one would take a thousand times as long: rows are asked
//! for in halves, and only those among which a check fails are evaluated, in order, so that the first
//! failure is the one that is told. If none of them fails the alarm was false, and nothing is lost.

use ein_ir::tensor::{Clause, ClauseSlot, Expr};

use crate::accelerate::Rows;
use crate::array::{count, flat};
use crate::definition::Build;
use crate::machine::Machine;
use crate::stop::Stop;
use crate::value::Value;

/// So many parts may fail in which the evaluator finds nothing, before it is left to do the rest.
const ALARMS: u32 = 64;

impl<'p> Machine<'p> {
    /// Whether an accelerator may be asked for rows of a definition.
    pub(crate) fn may_fill_in_parts(&self, build: &mut Build<'p>) -> bool {
        self.accelerator.is_some() && !self.in_a_loop() && build.scalars().is_some()
    }

    /// Fills a definition of one clause that was asked for as a whole in vain.
    pub(crate) fn fill_in_parts(
        &mut self,
        clause: &'p Clause,
        e: &'p Expr,
        build: &mut Build<'p>,
    ) -> Result<(), Stop> {
        let Some(ClauseSlot::Loop(binder)) = clause.slots.first() else {
            return self.fill(clause, 0, 0, build, &mut []);
        };
        let (lo, hi) = self.slot_domain(&clause.slots[0], 0, build.outer[0], clause)?;
        if hi - lo < 2 || build.outer.contains(&0) {
            return self.fill(clause, 0, 0, build, &mut []);
        }
        if build.metered {
            self.meter.enter(0, (hi - lo) as u64);
        }
        let mut alarms = 0;
        // From the last part to the first; the whole is known to fail.
        let mut rest = halves(lo, hi).to_vec();
        while let Some((lo, hi)) = rest.pop() {
            let asked = match hi - lo < 2 || alarms >= ALARMS {
                true => Rows::Evaluate,
                false => self.accelerate_rows(e, lo as usize..hi as usize),
            };
            match asked {
                Rows::Made(value) if value.shape() == build.shape => {
                    self.take_rows(build, &value, lo as usize, hi as usize);
                }
                Rows::Failed => {
                    alarms += 1;
                    rest.extend(halves(lo, hi));
                }
                Rows::Made(_) | Rows::Evaluate => {
                    self.fill_positions(clause, (0, 0), (binder, lo, hi), build, &mut [])?;
                }
            }
        }
        Ok(())
    }

    fn take_rows(&mut self, build: &mut Build<'p>, value: &Value, lo: usize, hi: usize) {
        let row = count(&build.outer[1..]);
        let metered = build.metered;
        if let Some(cells) = build.scalars() {
            for at in lo * row..hi * row {
                // An element of the type that the definition has.
                let _ = cells.set(at, flat(value, at));
            }
        }
        if metered {
            (lo..hi).for_each(|_| self.meter.step(0));
        }
    }
}

/// The upper half and the lower half.
fn halves(lo: i64, hi: i64) -> [(i64, i64); 2] {
    let middle = lo + (hi - lo) / 2;
    [(middle, hi), (lo, middle)]
}
