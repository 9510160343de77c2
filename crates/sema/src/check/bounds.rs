//! Proves or refutes every read.
//!
//! Before:  `y[i in 0..3] = x[i + 1] + x[p[i]]`, all reads `Checked`
//! After:   `x[i + 1]` and `p[i]` are `Proved`, `x[p[i]]` stays `Checked`
//!
//! Needs: a program whose domains are solved. Refuses (E0403): reads that leave their array at some
//! point in every run that comes by. Warns (W0202): reads of a region that no clause defines.

use super::facts::{ReadFact, Verdict};
use super::paths::{Path, Visit};
use super::regions::Sides;
use super::state::Report;
use super::state::{Build, Index};
use super::{error, paths, regions};
use ein_base::{Code, Span, Symbol};
use ein_ir::size::{self, Atom, Coverage, Facts};
use ein_ir::tensor::{Bounds, Clause, Expr, ExprKind, FuncId, IndexArg, Tensor, Type, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Choices in indices are followed both ways, at most this deep.
const MAX_SPLITS: u32 = 3;

/// Gives every read of a function its verdict.
pub(super) fn bounds_of_func(
    ix: &mut Index,
    build: &mut Build,
    func: FuncId,
    proving: &mut Proving<'_>,
) {
    let span = build.out.funcs[func].span;
    let mut body = std::mem::replace(&mut build.out.funcs[func].body, Expr::error(span));
    let mut path = Path::new(Facts::new());
    for var in &build.out.funcs[func].sizes {
        if let Some(size) = ix.var_sizes.get(var) {
            path.facts.ge0(size.clone());
        }
    }
    paths::walk::walk_on(ix, build, &mut body, &mut path, proving);
    build.out.funcs[func].body = body;
}

/// Looks at every read.
#[derive(Default)]
pub(super) struct Prover {
    /// Recurrences without an order: something was said of their reads already.
    broken: FxHashSet<VarId>,
    /// The regions that the clauses of a variable define, where they do not fill it.
    partial: FxHashMap<VarId, Vec<Sides>>,
    /// The clauses of a variable, where guards leave some points to others.
    guarded: FxHashMap<VarId, Vec<Clause>>,
}

/// The prover at work.
pub(super) struct Proving<'p> {
    pub prover: &'p mut Prover,
    pub report: &'p mut Report,
}

/// A read along one axis.
struct Place<'e> {
    base: &'e Expr,
    axis: usize,
    value: &'e Expr,
    index: size::Expr,
    extent: size::Expr,
    span: Span,
}

impl Visit for Proving<'_> {
    fn read(
        &mut self,
        ix: &mut Index,
        build: &Build,
        base: &mut Expr,
        indices: &mut [IndexArg],
        span: Span,
        path: &mut Path,
    ) {
        let broken = matches!(&*base.kind, ExprKind::Var(var) if self.prover.broken.contains(var));
        let mut proved = true;
        let mut written = false;
        for (axis, arg) in indices.iter_mut().enumerate() {
            if arg.bounds == Bounds::Proved {
                continue;
            }
            written = true;
            let Some(extent) = base.ty.axes().get(axis).map(|axis| axis.size.clone()) else {
                proved = false;
                continue;
            };
            if !matches!(&arg.value.ty, Type::Scalar(ty) if ty.is_int()) {
                proved = false;
                continue;
            }
            let index = paths::size_on(ix, build, &arg.value, path);
            let place = Place { base, axis, value: &arg.value, index, extent, span };
            let verdict = self::verdict(ix, build, self.report, &place, path, broken);
            if verdict == Verdict::Proved {
                arg.bounds = Bounds::Proved;
            } else {
                proved = false;
            }
            let tensor = ix.show_name(base);
            let fact = ReadFact { tensor, span: arg.value.span, axis, verdict };
            self.report.reads.push(fact);
        }
        if let ExprKind::Var(var) = &*base.kind
            && proved
            && written
            && path.exact
            && let Some(clauses) = self.prover.guarded.get(var)
        {
            regions::guards::check_undefined(ix, self.report, *var, clauses, indices, span, path);
        }
        if let ExprKind::Var(var) = &*base.kind
            && proved
            && written
            && path.exact
            && let Some(regions) = self.prover.partial.get(var)
        {
            check_missing(ix, self.report, *var, regions, (base, indices), span, path);
        }
    }

    fn tensor(&mut self, _ix: &mut Index, _build: &Build, tensor: &Tensor) {
        if let (Some(var), None) = (tensor.self_var, &tensor.recurrence) {
            self.prover.broken.insert(var);
        }
    }

    fn bound(&mut self, ix: &mut Index, _build: &Build, var: VarId, value: &Expr) {
        if let ExprKind::Tensor(tensor) = &*value.kind
            && tensor.name.is_some()
            && let Some(regions) = regions::plain_regions(ix, tensor)
        {
            let guards = super::regions::guarded(tensor);
            let filled = regions.iter().any(|region| {
                region
                    .iter()
                    .zip(value.ty.axes())
                    .all(|((lo, hi), axis)| lo.as_constant() == Some(0) && *hi == axis.size)
            });
            if guards.len() > 1 {
                self.prover.guarded.insert(var, guards);
            } else if !filled {
                self.prover.partial.insert(var, regions);
            }
        }
    }
}

fn verdict(
    ix: &mut Index,
    build: &Build,
    report: &mut Report,
    place: &Place<'_>,
    path: &mut Path,
    quiet: bool,
) -> Verdict {
    let Place { index, extent, .. } = place;
    if let Some(atom) = index.as_atom()
        && let Some(domain) = path.domains.iter().rev().find(|domain| domain.atom == atom)
        && domain.lo.as_constant().is_some_and(|lo| lo >= 0)
        && domain.hi == *extent
    {
        return Verdict::Proved;
    }
    let below = index.clone();
    let above = extent.sub(index).offset(-1);
    let low = paths::holds_ge0(ix, build, &below, path, MAX_SPLITS);
    let high = paths::holds_ge0(ix, build, &above, path, MAX_SPLITS);
    if low && high {
        return Verdict::Proved;
    }
    if !path.exact || quiet || path.choice(index).is_some() || report.has_two_extents(place) {
        return Verdict::Checked;
    }
    for (goal, held) in [(&above, high), (&below, low)] {
        if held {
            continue;
        }
        let facts = paths::relevant_facts(ix, path, &[goal]);
        let mut sizes = facts.atoms();
        sizes.extend(goal.atoms());
        sizes.retain(|atom| path.domains.iter().all(|domain| domain.atom != *atom));
        if let Some(corner) = size::always_violated(&facts, goal, &sizes) {
            out_of_bounds(ix, report, place, &corner, path);
            return Verdict::Refuted;
        }
    }
    Verdict::Checked
}

impl Report {
    /// Whether it was said already that the index runs over another extent elsewhere.
    fn has_two_extents(&self, place: &Place<'_>) -> bool {
        self.diagnostics.iter().any(|d| {
            d.code == Code::E0402
                && (d.primary.span == place.value.span
                    || d.labels.iter().any(|label| label.span == place.value.span))
        })
    }
}

fn out_of_bounds(
    ix: &Index,
    report: &mut Report,
    place: &Place<'_>,
    corner: &[(Atom, size::Expr)],
    path: &Path,
) {
    let Place { base, axis, value, index, extent, span } = place;
    let name = ix.quote(base);
    let along = match base.ty.axes().get(*axis).and_then(|axis| axis.coord) {
        Some(coord) => format!("`{}`", coord.name),
        None => format!("axis {axis}"),
    };
    let shown = ix.show_size(extent);
    let text = ix.show_size(index);
    let reached =
        index.substitute(&|atom| Some(corner.iter().find(|(own, _)| *own == atom)?.1.clone()));
    let reached = ix.show_size(&reached);
    let message = if index.as_constant().is_some() {
        format!("{name} has extent {shown} along {along}, but is read at {text}")
    } else {
        let points: Vec<String> = corner
            .iter()
            .filter(|(atom, _)| index.mentions(*atom))
            .map(|(atom, at)| format!("{} = {}", ix.atoms[*atom].name, ix.show_size(at)))
            .collect();
        let points =
            if points.is_empty() { String::new() } else { format!(" (at {})", points.join(", ")) };
        format!("{name} has extent {shown} along {along}, but `{text}` reaches {reached}{points}")
    };
    let mut d = error(Code::E0403, value.span, message).here(format!("outside 0..{shown}"));
    if value.span.is_empty() {
        d.primary.span = *span;
    }
    if let Some(at) = ix.declared_at(base) {
        d = d.label(at, format!("{name} is `{}`", ix.show(&base.ty)));
    }
    let mut helped = false;
    for domain in path.domains.iter().rev().filter(|domain| index.mentions(domain.atom)) {
        let variable = ix.atoms[domain.atom].name;
        d = d.label(
            domain.span,
            format!(
                "`{variable}` runs over {}..{}",
                ix.show_size(&domain.lo),
                ix.show_size(&domain.hi)
            ),
        );
        let others = |atom: Atom| {
            let found = path.domains.iter().find(|domain| domain.atom == atom)?;
            Some((found.lo.clone(), found.hi.clone()))
        };
        let legal = size::solve_range(index, domain.atom, extent, &others);
        if let Some((lo, hi)) = legal
            && !helped
        {
            let lo = ix.greater(&lo, &domain.lo);
            let hi = ix.smaller(&hi, &domain.hi);
            let empty = hi.sub(&lo).as_constant().is_some_and(|length| length <= 0);
            if !empty {
                helped = true;
                d = d.help(format!(
                        "narrow the domain: `{variable} in {}..{}`, or read only where it is legal: `if …`",
                        ix.show_size(&lo),
                        ix.show_size(&hi)
                    ));
            }
        }
    }
    if !helped {
        d = match extent.as_constant() {
            Some(0) => d.help(format!("{name} has no elements along {along}")),
            _ => d.help(format!("read within 0..{shown}, or only where it is legal: `if …`")),
        };
    }
    report.report_at(d);
}

// ---------------------------------------------------------------- regions that are missing

/// Warns of a read that provably meets points which no clause defines.
fn check_missing(
    ix: &Index,
    report: &mut Report,
    var: VarId,
    regions: &[Sides],
    (base, indices): (&Expr, &[IndexArg]),
    span: Span,
    path: &Path,
) {
    let Some(sides) = box_of(ix, base, indices, regions, path) else { return };
    let facts = paths::relevant_facts(ix, path, &[]);
    let Coverage::Missing(missing) = size::covers(regions, &sides, &facts) else { return };
    let name: Symbol = ix.vars[var].name;
    let region = regions::show_region(ix, name, &missing);
    report.undefined(&ix.vars[var], &region, span);
}

/// The box that a read covers, if it is one: constants, and variables that run freely.
fn box_of(
    ix: &Index,
    base: &Expr,
    indices: &[IndexArg],
    regions: &[Sides],
    path: &Path,
) -> Option<Sides> {
    let rank = regions.first()?.len();
    let mut used: Vec<Atom> = Vec::new();
    let mut sides = Sides::new();
    for axis in 0..rank {
        let Some(arg) = indices.get(axis) else {
            sides.push((size::Expr::zero(), base.ty.axes().get(axis)?.size.clone()));
            continue;
        };
        let index = ix.to_size(&arg.value)?;
        if index.as_constant().is_some() {
            sides.push((index.clone(), index.offset(1)));
            continue;
        }
        let atom = index.as_atom()?;
        let domain = path.domains.iter().rev().find(|domain| domain.atom == atom)?;
        let free =
            |side: &size::Expr| side.atoms().iter().all(|atom| !ix.index_atoms.contains_key(atom));
        if used.contains(&atom) || !free(&domain.lo) || !free(&domain.hi) {
            return None;
        }
        used.push(atom);
        sides.push((domain.lo.clone(), domain.hi.clone()));
    }
    // Conditions may keep the read away from what is missing.
    let conditions = path.facts.len() > 2 * path.domains.len();
    (!conditions).then_some(sides)
}
