//! Reads of tensors that stay in bounds.

use super::{Ctx, E, Gen, Index, S, Var};

impl Gen {
    /// An element of some tensor of this type, if there is one.
    pub(super) fn read(&mut self, ty: S, ctx: &Ctx) -> Option<E> {
        let fitting: Vec<Var> =
            self.vars.iter().filter(|var| var.ty == ty && !var.shape.is_empty()).cloned().collect();
        let var = self.rng.pick(&fitting)?.clone();
        Some(self.read_of(&var, ctx, None))
    }

    /// An element of a tensor; `fixed` is an index that must stand bare at an axis.
    pub(super) fn read_of(&mut self, var: &Var, ctx: &Ctx, fixed: Option<(usize, &str)>) -> E {
        let mut slots = Vec::new();
        for (axis, extent) in var.shape.iter().enumerate() {
            let slot = match fixed {
                Some((at, name)) if at == axis => name.to_owned(),
                _ => self.slot(*extent as i64, ctx, true, var.symbolic),
            };
            slots.push(slot);
        }
        let text = if slots.len() > 1 && self.rng.one_in(12) {
            format!("{}[{}]", var.text, slots.join("]["))
        } else {
            format!("{}[{}]", var.text, slots.join(", "))
        };
        E { text, lo: var.lo, hi: var.hi }
    }

    /// An index from 0 to `extent - 1`.
    fn slot(&mut self, extent: i64, ctx: &Ctx, deep: bool, symbolic: bool) -> String {
        for _ in 0..4 {
            if let Some(text) = self.try_slot(extent, ctx, deep, symbolic) {
                return text;
            }
        }
        self.rng.between(0, extent - 1).to_string()
    }

    fn try_slot(&mut self, extent: i64, ctx: &Ctx, deep: bool, symbolic: bool) -> Option<String> {
        let index = self.rng.pick(&ctx.indices)?.clone();
        let Index { name, lo, hi, inferred, lonely } = &index;
        let last = hi - 1;
        if last < *lo {
            return None;
        }
        match self.rng.below(12) {
            0..=4 => {
                let exact = *lo == 0 && *hi == extent && !lonely && !(symbolic && *inferred);
                let inside = *lo >= 0 && *hi <= extent && !inferred;
                (exact || inside).then(|| name.clone())
            }
            5 => {
                let shift = self.rng.between(-lo, extent - 1 - last);
                if -lo > extent - 1 - last || shift == 0 {
                    return None;
                }
                Some(if shift < 0 {
                    format!("{name} - {}", -shift)
                } else {
                    format!("{name} + {shift}")
                })
            }
            6 => (*lo >= 0 && *hi <= extent).then(|| format!("{} - {name}", extent - 1)),
            7 => {
                let shift = self.rng.between(0, 1);
                (*lo >= 0 && 2 * last + shift < extent).then(|| format!("2 * {name} + {shift}"))
            }
            8 => (*lo >= 0 && last / 2 < extent).then(|| format!("{name} / 2")),
            9 => {
                let other = self.rng.pick(&ctx.indices)?.clone();
                let fits = lo + other.lo >= 0 && last + other.hi - 1 < extent;
                (fits && other.name != *name).then(|| format!("{name} + {}", other.name))
            }
            10 => {
                let shift = self.rng.between(0, 3);
                (*lo >= 0).then(|| format!("({name} * 3 + {shift}) % {extent}"))
            }
            _ if deep => {
                let fits = |var: &&Var| var.ty == S::I32 && var.lo >= 0.0 && var.hi < extent as f64;
                let routes: Vec<Var> = self.vars.iter().filter(fits).cloned().collect();
                let route = self.rng.pick(&routes)?.clone();
                if route.shape.is_empty() {
                    return Some(route.text);
                }
                let mut slots = Vec::new();
                for extent in &route.shape {
                    slots.push(self.slot(*extent as i64, ctx, false, route.symbolic));
                }
                Some(format!("{}[{}]", route.text, slots.join(", ")))
            }
            _ => None,
        }
    }

    /// A read that a condition keeps in bounds.
    pub(super) fn protected_read(&mut self, ty: S, ctx: &Ctx) -> Option<E> {
        let index = self.rng.pick(&ctx.indices)?.clone();
        if index.inferred {
            return None;
        }
        let fits = |var: &&Var| var.ty == ty && var.shape.len() == 1;
        let vectors: Vec<Var> = self.vars.iter().filter(fits).cloned().collect();
        let var = self.rng.pick(&vectors)?.clone();
        let extent = var.shape[0] as i64;
        let shift = self.rng.between(-2, 2);
        let place = match shift {
            0 => index.name.clone(),
            shift if shift < 0 => format!("{} - {}", index.name, -shift),
            shift => format!("{} + {shift}", index.name),
        };
        let otherwise = self.literal(ty);
        let inside = if self.rng.one_in(2) {
            format!("{place} >= 0 && {place} < {extent}")
        } else {
            format!("({place}) in 0..{extent}")
        };
        Some(E {
            text: format!(
                "(if {inside} {{ {}[{place}] }} else {{ {} }})",
                var.text, otherwise.text
            ),
            lo: var.lo.min(otherwise.lo),
            hi: var.hi.max(otherwise.hi),
        })
    }
}
