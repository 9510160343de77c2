//! Turns of a function that ends by calling itself, which failed as a kernel.
//!
//! More and more of them are asked for as long as they do not fail, then fewer and fewer: what is left are
//! a few turns before the one that fails.

use ein_ir::tensor::FuncId;
use ein_ir::tensor::tail::{kept, last_calls};

use crate::accelerate::{Answer, Part};
use crate::machine::Machine;
use crate::value::Value;

/// So many turns are asked for first; fewer are evaluated.
const FIRST: i64 = 256;

/// Goes on with the turns of the function whose frame is the current one, as far as they do not fail:
/// then its parameters are those of a later turn.
pub(crate) fn skip_turns(machine: &mut Machine<'_>, func: FuncId) {
    let info = &machine.program.funcs[func];
    let Some(calls) = last_calls(&info.body, func) else { return };
    let kept = kept(&info.params, &calls);
    let (mut most, mut grows) = (FIRST, true);
    while most >= FIRST {
        match machine.accelerate_part(Part::Turns(func, most), Value::Unit) {
            Answer::Made(Value::Tuple(values)) => {
                let changing = info.params.iter().zip(&kept).filter(|(_, kept)| !**kept);
                for ((param, _), value) in changing.zip(values.iter()) {
                    machine.bind(*param, value.clone());
                }
            }
            Answer::Failed => grows = false,
            Answer::Made(_) | Answer::Evaluate => return,
        }
        // So many turns take longer than anybody waits: it ends without a failure.
        let Some(next) = (if grows { most.checked_mul(2) } else { Some(most / 2) }) else { return };
        most = next;
    }
}
