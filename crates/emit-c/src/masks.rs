//! Truths that all iterations of a vector loop share, as numbers.
//!
//! A choice by a truth from outside of a loop keeps compilers from making vectors of it, unless they
//! write the loop once for each value, which they do for a few such choices. As a number that is
//! compared in the loop it is a mask like any other; what the number is made of stays hidden, or the
//! comparison would be taken out of the loop again.

use std::collections::BTreeSet;

use ein_ir::loops::{For, Op, Operand, Reg, Stmt};

use crate::emit::Function;

impl Function<'_> {
    /// Writes a vector loop with the truths that its choices take from outside as masks.
    pub fn with_masks(&mut self, inner: &For, write: impl FnOnce(&mut Self)) {
        let masks = masks_of(inner);
        if masks.is_empty() {
            write(self);
            return;
        }
        self.line("{");
        self.depth += 1;
        for reg in &masks {
            self.line(&format!("int32_t {reg}_mask = -(int32_t){reg};"));
            self.line(&format!("__asm__(\"\" : \"+r\"({reg}_mask));"));
        }
        let outside = std::mem::replace(&mut self.masks, masks);
        write(self);
        self.masks = outside;
        self.depth -= 1;
        self.line("}");
    }

    /// The condition of a choice.
    pub fn condition(&self, condition: Operand) -> String {
        match condition {
            Operand::Reg(reg) if self.masks.contains(&reg) => format!("{reg}_mask != 0"),
            Operand::Reg(_) | Operand::Const(_) => self.operand(condition),
        }
    }
}

/// The truths by which a loop chooses and that it does not compute.
fn masks_of(inner: &For) -> BTreeSet<Reg> {
    let chosen: BTreeSet<Reg> = inner
        .body
        .iter()
        .filter_map(|stmt| match stmt {
            Stmt::Let(_, Op::Select(Operand::Reg(condition), ..)) => Some(*condition),
            _ => None,
        })
        .collect();
    if chosen.is_empty() {
        return chosen;
    }
    inner.captures().regs_by_use.into_iter().filter(|reg| chosen.contains(reg)).collect()
}
