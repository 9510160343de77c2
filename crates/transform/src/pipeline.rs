//! The passes over points, in the order in which they run.
//!
//! This list is the only one: `einlang dump points --after PASS` and `--disable PASS` take their
//! names from it, and tests compare it with the table in `ARCHITECTURE.md` and with the tests of
//! passes, `tests/passes` beside this crate.
//!
//! After every pass, in builds with debug assertions, [`verify`](crate::points::verify) looks whether
//! the rules of points hold. A pass that is switched off costs speed and nothing else.

use crate::points::verify::verify;
use crate::points::{Arr, Points};
use crate::schedule::{
    address, bins, cases, delay, demand, ends, factor, gather, halves, hoist, means, peel, same,
    scan, settle, terms, tidy, trim,
};
use rustc_hash::FxHashSet;

/// A pass over points.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Its name.
    pub name: &'static str,
    /// What the field calls it.
    pub known_as: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    run: fn(&mut Points, &FxHashSet<Arr>),
}

/// The passes.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "gather",
        known_as: "scatter-to-gather conversion, transposed convolution",
        about: "sums that are scattered by constant strides as sums that each cell gathers",
        run: |points, _| gather::run(points),
    },
    Pass {
        name: "cases",
        known_as: "index-set splitting",
        about: "choices that the steps of a recurrence decide, as clauses of their own",
        run: |points, _| cases::run(points),
    },
    Pass {
        name: "settle",
        known_as: "value-range analysis by induction, loop peeling",
        about: "intervals of recurrences on integers by induction; the first steps are peeled off",
        run: |points, _| settle::run(points),
    },
    Pass {
        name: "scan",
        known_as: "scan or prefix-sum recognition",
        about: "running reductions (`sum` over `0..i + 1`) as recurrences: one pass",
        run: |points, _| scan::run(points),
    },
    Pass {
        name: "ends",
        known_as: "loop peeling, index-set splitting",
        about: "first and last terms of reductions that choose what the others do not, by themselves",
        run: |points, _| ends::run(points),
    },
    Pass {
        name: "address",
        known_as: "argmax vectorisation",
        about: "`argmax` along memory as a maximum and a search, which run in vectors; across it rows keep both",
        run: |points, _| address::run(points),
    },
    Pass {
        name: "means",
        known_as: "mean as a sum over a count",
        about: "means for each value of a key as sums and counts",
        run: |points, _| means::run(points),
    },
    Pass {
        name: "trim",
        known_as: "array shrinking, loop normalisation",
        about: "arrays of which only a part is defined and read are as large as that part",
        run: trim::run,
    },
    Pass {
        name: "same",
        known_as: "common-subexpression elimination, global value numbering",
        about: "definitions, steps of recurrences and reductions that occur more than once are computed once",
        run: |points, _| same::run(points),
    },
    Pass {
        name: "bins",
        known_as: "histogram, segmented reduction, reduce by key",
        about: "sums and extremes for each value of a key take one pass over the points, in a recurrence \
                one for each step; what the key does not mention is summed first",
        run: |points, _| bins::run(points),
    },
    Pass {
        name: "terms",
        known_as: "distributing sums",
        about: "sums of several matrix products as several sums; means over counted points as sums and counts",
        run: |points, _| terms::run(points),
    },
    Pass {
        name: "hoist",
        known_as: "loop-invariant code motion, memoisation",
        about: "reductions that outer loops would repeat are stored for the indices they mention, in a recurrence for each step",
        run: |points, _| hoist::run(points),
    },
    Pass {
        name: "halves",
        known_as: "overflow-free accumulation",
        about: "sums of 64-bit integers as sums of their halves, which cannot overflow",
        run: |points, _| halves::run(points),
    },
    Pass {
        name: "factor",
        known_as: "contraction order, einsum path",
        about: "sums of products of several factors become sums of products of two; what a condition \
                does not mention is summed before it",
        run: |points, _| factor::run(points),
    },
    Pass {
        name: "contract",
        known_as: "loop distribution, idiom recognition (GEMM)",
        about: "contractions inside larger expressions get definitions of their own",
        run: |points, _| tidy::contractions(points),
    },
    Pass {
        name: "inline",
        known_as: "producer-consumer fusion, rematerialisation",
        about: "definitions that are cheap or read once are computed where they are read",
        run: tidy::inline,
    },
    Pass {
        name: "drop",
        known_as: "dead-code elimination",
        about: "definitions that nobody reads and that cannot fail go",
        run: tidy::drop_unread,
    },
    Pass {
        name: "peel",
        known_as: "reduction splitting, loop fusion",
        about: "reductions over all of what the kernel makes go row by row, so that no term is stored",
        run: peel::run,
    },
    Pass {
        name: "demand",
        known_as: "iteration-domain narrowing, dead-region elimination",
        about: "arrays of which others read only what lies between bounds are computed between these",
        run: demand::run,
    },
    Pass {
        name: "delay",
        known_as: "blocked updates, time tiling",
        about: "updates in place of eight steps in one pass over the cells",
        run: |points, _| delay::run(points),
    },
];

/// Which passes run: all of them unless told otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passes {
    /// One bit for each pass that is left out.
    off: u32,
    /// How many of them run, if not all.
    until: Option<usize>,
}

impl Passes {
    /// The same without a pass; `None` if there is none of this name.
    #[must_use]
    pub fn without(self, name: &str) -> Option<Passes> {
        Some(Passes { off: self.off | 1 << position(name)?, ..self })
    }

    /// The same as far as a pass and no further; `None` if there is none of this name.
    #[must_use]
    pub fn up_to(self, name: &str) -> Option<Passes> {
        Some(Passes { until: Some(position(name)? + 1), ..self })
    }

    /// Only one pass; `None` if there is none of this name.
    pub fn only(name: &str) -> Option<Passes> {
        let at = position(name)?;
        Some(Passes { off: !(1 << at), until: None })
    }

    /// None at all.
    pub fn none() -> Passes {
        Passes { off: 0, until: Some(0) }
    }
}

fn position(name: &str) -> Option<usize> {
    PASSES.iter().position(|pass| pass.name == name)
}

/// Runs passes; `wanted` are the arrays that matter outside.
pub fn run(points: &mut Points, wanted: &FxHashSet<Arr>, passes: Passes) {
    keeps_the_rules("flatten", points);
    for (at, pass) in PASSES.iter().enumerate().take(passes.until.unwrap_or(PASSES.len())) {
        if passes.off & 1 << at == 0 {
            (pass.run)(points, wanted);
            points.renumber();
            keeps_the_rules(pass.name, points);
        }
    }
}

/// Looks whether a pass left everything in order.
fn keeps_the_rules(pass: &str, points: &Points) {
    if cfg!(debug_assertions) {
        let kept = verify(points);
        assert!(kept.is_ok(), "after `{pass}`: {}", kept.err().unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for (at, pass) in PASSES.iter().enumerate() {
            assert_eq!(position(pass.name), Some(at));
        }
        assert!(PASSES.len() < 32);
        assert_eq!(Passes::default().without("none such"), None);
    }

    #[test]
    fn the_map_lists_the_passes_as_they_are() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ARCHITECTURE.md");
        let map = std::fs::read_to_string(path).expect("the map is there");
        let rows: Vec<String> = PASSES
            .iter()
            .map(|pass| format!("| {} | {} | {} |", pass.name, pass.known_as, pass.about))
            .collect();
        assert!(map.contains(&rows.join("\n")), "{}", rows.join("\n"));
    }
}
