//! The rules of points, which hold after every pass.
//!
//! * Nodes are made of nodes before them, of types that their operations take; the interval of an
//!   integer lies inside its type.
//! * An operation on integers that is not checked fits, and divides by no zero.
//! * Every array is an input or filled by exactly one definition, and knows which.
//! * A definition reads inputs, definitions before it, and if it has steps itself.
//! * Positions are integers, as many as the array has axes, and inside it.
//! * A value mentions no index that nothing binds around it.

use super::interval::result_range;
use super::{
    Act, Again, Arr, Body, Clause, Def, End, Ix, Kind, Node, Phase, Points, Range, Source, Step,
};
use ein_ir::tensor::ReduceOp;
use ein_scalar::BinaryOp;
use rustc_hash::{FxHashMap, FxHashSet};

/// What is wrong with points, in one sentence.
pub type Fault = String;

/// Whether points keep the rules.
pub fn verify(points: &Points) -> Result<(), Fault> {
    let mut verify = Verify { points, seen: FxHashSet::default() };
    verify.arrays()?;
    for (at, def) in points.defs.iter().enumerate() {
        let name =
            points.arrs[def.arr].name.map_or("a definition without a name", |it| it.as_str());
        verify.def(at, def).map_err(|fault| format!("`{name}`: {fault}"))?;
    }
    Ok(())
}

struct Verify<'a> {
    points: &'a Points,
    /// The nodes that have been looked at.
    seen: FxHashSet<Node>,
}

type Checked = Result<(), Fault>;

/// What holds, or a sentence that says what does not.
fn rule(holds: bool, sentence: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(sentence()) }
}

impl Verify<'_> {
    fn arrays(&self) -> Checked {
        let mut filled: FxHashMap<Arr, usize> = FxHashMap::default();
        for (at, def) in self.points.defs.iter().enumerate() {
            for arr in Points::filled(def) {
                rule(filled.insert(arr, at).is_none(), || format!("{arr:?} is filled twice"))?;
                let knows = self.points.arrs[arr].source == Source::Defined(at);
                rule(knows, || {
                    format!("{arr:?} is filled by definition {at} and does not know it")
                })?;
            }
        }
        Ok(())
    }

    fn def(&mut self, at: usize, def: &Def) -> Checked {
        let roots = self.points.roots(def);
        for node in self.points.below(&roots) {
            if self.seen.insert(node) {
                self.node(node)?;
            }
            if let Kind::Load(arr, _) = &self.points.nodes[node].kind {
                self.reads(at, def, *arr)?;
            }
        }
        match &def.body {
            Body::Clauses(clauses, steps) => {
                self.steps(def.arr, steps.as_deref().unwrap_or_default())?;
                clauses.iter().try_for_each(|clause| self.clause(def.arr, clause))
            }
            Body::Until(until) => {
                self.steps(def.arr, &until.steps)?;
                rule(!until.steps.is_empty(), || "steps that end have no axis".to_owned())?;
                let mut bound = until.around.clone();
                match &until.end {
                    End::Asked { ix, cond, .. } => {
                        bound.push(*ix);
                        self.truth(*cond)?;
                        self.closed(*cond, &bound)?;
                    }
                    End::Made(count) => self.closed(*count, &bound)?,
                }
                until.clauses.iter().try_for_each(|clause| self.clause(def.arr, clause))
            }
            Body::Scatter(scatter) => {
                let bound = self.binders(&scatter.binders, &[])?;
                scatter.guard.iter().try_for_each(|guard| {
                    self.truth(*guard)?;
                    self.closed(*guard, &bound)
                })?;
                self.cell(def.arr, &scatter.at, scatter.value, &bound)
            }
            Body::InPlace(body) => body.phases.iter().try_for_each(|phase| self.phase(phase, &[])),
            Body::Again(body) => self.again(body),
        }
    }

    /// A definition may read what is there when it runs.
    fn reads(&self, at: usize, def: &Def, arr: Arr) -> Checked {
        let steps = match &def.body {
            Body::Clauses(_, steps) => steps.is_some(),
            Body::Until(_) | Body::InPlace(_) | Body::Again(_) => true,
            Body::Scatter(_) => false,
        };
        let own = Points::filled(def).contains(&arr);
        match self.points.arrs[arr].source {
            Source::Input(..) => Ok(()),
            Source::Defined(_) if own => rule(steps, || "it reads itself without steps".to_owned()),
            Source::Defined(of) => {
                let filled =
                    self.points.defs.get(of).is_some_and(|def| Points::filled(def).contains(&arr));
                rule(filled, || format!("it reads {arr:?}, which nothing fills"))?;
                rule(of < at, || format!("it reads {arr:?}, which is filled after it"))
            }
        }
    }

    fn steps(&self, arr: Arr, steps: &[Step]) -> Checked {
        let rank = self.points.arrs[arr].shape.len();
        rule(steps.iter().all(|step| step.axis < rank), || "steps along no axis".to_owned())
    }

    fn clause(&self, arr: Arr, clause: &Clause) -> Checked {
        let shape = &self.points.arrs[arr].shape;
        rule(clause.slots.len() == shape.len(), || "a clause of another rank".to_owned())?;
        let slots: Vec<_> = clause.slots.iter().map(|slot| (slot.ix, slot.lo, slot.hi)).collect();
        let bound = self.binders(&slots, &[])?;
        for (slot, extent) in clause.slots.iter().zip(shape) {
            let (lo, hi) = self.points.ixs[slot.ix].range;
            let empty = self.points.trip_count(slot.lo, slot.hi) == 0.0 || lo > hi;
            let inside = lo >= 0 && hi < i128::from(*extent);
            rule(inside || empty, || format!("cells {lo}..={hi} along an axis of {extent}"))?;
        }
        if let Some(cond) = clause.guard {
            self.truth(cond)?;
            self.closed(cond, &bound)?;
        }
        for value in [Some(clause.value), clause.otherwise].into_iter().flatten() {
            self.closed(value, &bound)?;
            self.stored(arr, value)?;
        }
        Ok(())
    }

    fn phase(&self, phase: &Phase, around: &[Ix]) -> Checked {
        let steps: Vec<_> = phase.steps.iter().map(|it| (it.ix, it.lo, it.hi)).collect();
        let bound = self.binders(&steps, around)?;
        phase.acts.iter().try_for_each(|act| match act {
            Act::Phase(inner) => self.phase(inner, &bound),
            Act::Write(write) => {
                let bound = self.binders(&write.loops, &bound)?;
                self.cell(write.arr, &write.at, write.value, &bound)
            }
        })
    }

    fn again(&self, body: &Again) -> Checked {
        let around = &body.around;
        body.writes().try_for_each(|write| {
            let bound = self.binders(&write.loops, around)?;
            self.cell(write.arr, &write.at, write.value, &bound)
        })?;
        body.also.iter().try_for_each(|node| self.closed(*node, around))?;
        self.truth(body.done)?;
        self.closed(body.done, around)?;
        let states: Vec<Arr> = body.first.iter().map(|write| write.arr).collect();
        let changed = |arr: &Arr| body.next.iter().filter(|(state, _)| state == arr).count() == 1;
        let all = states.len() == body.next.len() && states.iter().all(changed);
        rule(all, || "not every state has a next one".to_owned())?;
        body.next.iter().try_for_each(|(state, write)| {
            let (state, written) = (&self.points.arrs[*state], &self.points.arrs[write.arr]);
            let same = state.shape == written.shape && state.ty == written.ty;
            rule(same, || "a state becomes one of another shape".to_owned())
        })
    }

    /// Indices with bounds that depend on those before them: all that are bound then.
    fn binders(&self, binders: &[(Ix, Node, Node)], around: &[Ix]) -> Result<Vec<Ix>, Fault> {
        // The bounds of a clause may mention any of its indices.
        let bound: Vec<Ix> = around.iter().copied().chain(binders.iter().map(|it| it.0)).collect();
        for (ix, lo, hi) in binders {
            for bound_of in [lo, hi] {
                let integer = self.points.nodes[*bound_of].ty.is_int();
                rule(integer, || format!("a bound of {ix:?} is no integer"))?;
                self.closed(*bound_of, &bound)?;
            }
        }
        Ok(bound)
    }

    /// A cell that is written.
    fn cell(&self, arr: Arr, at: &[Node], value: Node, bound: &[Ix]) -> Checked {
        at.iter().try_for_each(|at| self.closed(*at, bound))?;
        self.closed(value, bound)?;
        self.positions(arr, at)?;
        self.stored(arr, value)
    }

    fn closed(&self, node: Node, bound: &[Ix]) -> Checked {
        let open = self.points.nodes[node].free.iter().find(|ix| !bound.contains(ix));
        rule(open.is_none(), || format!("{node:?} mentions {open:?}, which nothing binds"))
    }

    fn truth(&self, node: Node) -> Checked {
        rule(self.points.nodes[node].ty.is_bool(), || format!("{node:?} is no condition"))
    }

    fn stored(&self, arr: Arr, value: Node) -> Checked {
        let (cell, ty) = (self.points.arrs[arr].ty, self.points.nodes[value].ty);
        rule(cell == ty, || format!("a value of type {ty} in a cell of type {cell}"))
    }

    fn positions(&self, arr: Arr, at: &[Node]) -> Checked {
        let shape = &self.points.arrs[arr].shape;
        rule(at.len() == shape.len(), || format!("{} positions of {arr:?}", at.len()))?;
        // Of an array without cells nothing is read: whatever stands there does not run.
        if shape.contains(&0) {
            return Ok(());
        }
        for (at, extent) in at.iter().zip(shape) {
            let range = self.points.nodes[*at].range;
            let inside = |(lo, hi): Range| lo >= 0 && hi < i128::from(*extent);
            // By its interval, or by the bounds of the indices in it, which may depend on each other.
            let reach = || self.points.reach(&self.points.linear(*at));
            rule(range.is_some_and(inside) || reach().is_some_and(inside), || {
                format!("the position {at:?} of {arr:?} is in {range:?}, the extent is {extent}")
            })?;
        }
        Ok(())
    }

    fn node(&self, node: Node) -> Checked {
        let points = self.points;
        let info = &points.nodes[node];
        let mut before = true;
        points.each_child(node, &mut |child| before &= child < node);
        rule(before, || format!("{node:?} is made of a later node"))?;
        let inside = match (info.range, info.ty.int_range()) {
            (None, None) => true,
            (Some((lo, hi)), Some((least, most))) => least <= lo && hi <= most,
            (Some(_), None) | (None, Some(_)) => false,
        };
        rule(inside, || format!("{node:?} of type {} is in {:?}", info.ty, info.range))?;
        let of = |node: Node| points.nodes[node].ty;
        match &info.kind {
            Kind::Load(arr, at) => self.positions(*arr, at),
            Kind::Clamp { at, extent, when, .. } => {
                rule(of(*at).is_int() && *extent >= 0, || format!("{node:?} is no position"))?;
                when.iter().try_for_each(|when| self.truth(*when))
            }
            Kind::Binary(op, a, b) if of(*a).is_int() && of(*b).is_int() && info.ty.is_int() => {
                let ranges = points.nodes[*a].range.zip(points.nodes[*b].range);
                let exact = ranges.and_then(|(a, b)| result_range(*op, a, b));
                let divides = matches!(op, BinaryOp::Min | BinaryOp::Max);
                let fits = exact.zip(info.ty.int_range());
                let fits = fits.is_some_and(|((lo, hi), (least, most))| least <= lo && hi <= most);
                rule(fits || divides, || format!("{node:?}: `{op}` may fail and is not checked"))
            }
            Kind::Checked(op, a, b, when) => {
                rule(op.result_type(of(*a), of(*b)) == Some(info.ty), || {
                    format!("{node:?}: `{op}` of {} and {}", of(*a), of(*b))
                })?;
                when.iter().try_for_each(|when| self.truth(*when))
            }
            Kind::Binary(op, a, b) | Kind::Wrapping(op, a, b) => {
                rule(op.result_type(of(*a), of(*b)) == Some(info.ty), || {
                    format!("{node:?}: `{op}` of {} and {}", of(*a), of(*b))
                })
            }
            Kind::Unary(op, a) => rule(op.result_type(of(*a)) == Some(info.ty), || {
                format!("{node:?}: `{op}` of {}", of(*a))
            }),
            Kind::Select(c, a, b) => {
                self.truth(*c)?;
                rule(of(*a) == info.ty && of(*b) == info.ty, || {
                    format!("{node:?} chooses between {} and {}", of(*a), of(*b))
                })
            }
            Kind::Reduce(reduction) => {
                reduction.guard.iter().try_for_each(|guard| self.truth(*guard))?;
                let body = of(reduction.body);
                let takes = match reduction.op {
                    ReduceOp::Any | ReduceOp::All | ReduceOp::Count => body.is_bool(),
                    ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Mean => true,
                    ReduceOp::Max | ReduceOp::Min => body == info.ty,
                    ReduceOp::Argmax | ReduceOp::Argmin => info.ty.is_int(),
                };
                rule(takes, || format!("{node:?}: `{}` of {body}", reduction.op.as_str()))
            }
            Kind::Const(_) | Kind::Index(_) | Kind::Cast(_) => Ok(()),
        }
    }
}
