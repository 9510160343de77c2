//! Where a derivative can be different from zero: windows along the axes of the parameter.
//!
//! `y[i] = x[i - 1] + x[i + 1]` reads, at the point `i`, nothing outside `x[i - 1 .. i + 2]`. So
//! `@y[i] / @x[j]` is zero unless `i - 1 <= j < i + 2`: a window of three positions whose place is a
//! function of the point. Every value between the parameter and the target has such windows, one
//! for each axis of the parameter, in terms of its own positions (`reach`); where a value reads
//! another one at `f(i)`, the windows of that one are taken at `f(i)`, and those of several reads
//! are joined into the least that holds them all.
//!
//! The answer is never too narrow. A read at a position that is data, a sum over a length that is
//! no constant, and whatever is not understood have no window.

use super::{Bound, Pass};
use ein_ir::size::{self, Budget, Facts, prove_ge0_within};
use ein_ir::tensor::{AtomDef, VarId};
use reach::{Reach, Value};
use std::rc::Rc;

mod reach;

/// The steps that a question about such a distance may take, and all of them together.
const STEPS: u64 = 5_000;
const ALL_STEPS: u64 = 2_000_000;

/// Windows that are wider count as everything; nor may reads be farther apart whose distance is not a
/// constant, but lies between constants.
const WIDE: i64 = 64;

/// Positions `lo .. lo + width`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// The first position, a function of the point.
    pub lo: size::Expr,
    /// How many there are, at least one.
    pub width: i64,
}

/// Where the elements of a target depend on a parameter.
#[derive(Clone, Debug)]
pub(super) struct Structure {
    /// The position in the target, as the windows name it.
    pub at: Vec<VarId>,
    /// For each axis of the parameter; `None` for everywhere.
    pub windows: Vec<Option<Window>>,
}

/// What one read reaches along each axis of the parameter: from the first position to the last;
/// `None` for everywhere. And what is known where it happens.
#[derive(Clone, Debug)]
struct Leaf {
    spans: Vec<Option<(size::Expr, size::Expr)>>,
    facts: Rc<Facts>,
}

impl Pass<'_> {
    /// The windows of a target, if it depends on the parameter and has any.
    pub(super) fn structure(&mut self, y: VarId, x: VarId) -> Option<Structure> {
        let between = self.behind(y);
        let mut reach = Reach::new(self, x);
        for Bound { var, value, .. } in &between {
            if *var != x {
                reach.bind(*var, value);
            }
        }
        let Value::Array(summary) = reach.finished(y) else { return None };
        let Structure { at, mut windows } = summary;
        let axes = self.program.vars[x].ty.axes();
        for (window, axis) in windows.iter_mut().zip(axes) {
            let says_something = |window: &Window| {
                axis.size.as_constant().is_none_or(|extent| window.width < extent)
                    && self.is_known_here(&window.lo, &at, y, x)
            };
            if !window.as_ref().is_some_and(says_something) {
                *window = None;
            }
        }
        let any = windows.iter().any(Option::is_some);
        any.then_some(Structure { at, windows })
    }

    /// Whether a size is made of positions and of what is there where the derivative is wanted.
    fn is_known_here(&self, size: &size::Expr, at: &[VarId], y: VarId, x: VarId) -> bool {
        let mut extents = Vec::new();
        for var in [y, x] {
            for axis in self.program.vars[var].ty.axes() {
                extents.extend(axis.size.atoms());
            }
        }
        size.atoms().iter().all(|atom| {
            extents.contains(atom)
                || match self.program.atoms[*atom].def {
                    AtomDef::Var(var) => {
                        at.contains(&var) || self.scope.iter().any(|bound| bound.var == var)
                    }
                    AtomDef::Extent(..) | AtomDef::Length(_) | AtomDef::Unknown => false,
                }
        })
    }
}

/// The least window along an axis that holds what all the reads reach at a position.
fn window(leaves: &[Leaf], axis: usize, at: &[size::Expr], steps: &mut u64) -> Option<Window> {
    let mut spans = Vec::new();
    for leaf in leaves {
        let (lo, hi) = leaf.spans[axis].as_ref()?;
        spans.push((lo, hi, &*leaf.facts));
    }
    let mut anchors: Vec<&size::Expr> = Vec::new();
    for (lo, ..) in &spans {
        let same = |other: &&size::Expr| lo.sub(other).as_constant().is_some();
        if anchors.len() < 4 && !anchors.iter().any(same) {
            anchors.push(lo);
        }
    }
    // Reads that are all cut off at the ends of an axis are near the position itself.
    if !anchors.iter().any(|anchor| is_affine(anchor)) {
        anchors.extend(at);
    }
    let mut best: Option<Window> = None;
    for anchor in anchors {
        let Some((first, width)) = around(anchor, &spans, steps) else { continue };
        let narrower = |best: &Window| {
            width < best.width || width == best.width && is_affine(anchor) && !is_affine(&best.lo)
        };
        if width <= WIDE && best.as_ref().is_none_or(narrower) {
            best = Some(Window { lo: anchor.offset(first), width });
        }
    }
    best
}

/// How far before an anchor spans begin, and how many positions from there to where they end.
fn around(
    anchor: &size::Expr,
    spans: &[(&size::Expr, &size::Expr, &Facts)],
    steps: &mut u64,
) -> Option<(i64, i64)> {
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    for (lo, hi, facts) in spans {
        first = first.min(distance(anchor, lo, facts, steps)?);
        last = last.max(distance(hi, anchor, facts, steps)?.checked_neg()?);
    }
    let width = last.checked_sub(first)?.checked_add(1)?;
    Some((first, width.max(1)))
}

/// Whether a size is a sum of multiples, without quotients or choices.
fn is_affine(size: &size::Expr) -> bool {
    size.atoms().iter().all(|atom| size.affine_in(*atom).is_some())
}

/// The largest constant with `anchor + constant <= e`, as far as it is known.
fn distance(anchor: &size::Expr, e: &size::Expr, facts: &Facts, steps: &mut u64) -> Option<i64> {
    let difference = e.sub(anchor);
    if let Some(constant) = difference.as_constant() {
        return Some(constant);
    }
    let mut holds = |constant: i64| {
        let mut budget = Budget::new(STEPS.min(*steps));
        let before = budget.left();
        let truth = prove_ge0_within(facts, &difference.offset(-constant), &mut budget);
        *steps -= before.saturating_sub(budget.left());
        truth.is_proved()
    };
    if !holds(-WIDE) {
        return None;
    }
    let (mut yes, mut no) = (-WIDE, WIDE + 1);
    while no - yes > 1 {
        let middle = (yes + no).div_euclid(2);
        if holds(middle) {
            yes = middle;
        } else {
            no = middle;
        }
    }
    Some(yes)
}
