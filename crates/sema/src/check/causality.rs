//! Orders recurrences.
//!
//! Before:  `d[i in 1..n, j in 1..m] = f(d[i - 1, j], d[i, j - 1])`
//! After:   the same with `recurrence: i forward, then j forward; lookback 1`
//!
//! Every read of the tensor by its own clauses has a distance along each axis: the position read
//! minus the position being defined. An axis and a direction may come first if no distance points
//! ahead along it; reads that are strictly behind along it are settled, the others must be settled
//! by the axes that follow, where the distance along this one is 0. Taking any axis that may come
//! first is complete: moving it to the front of another legal order keeps that order legal.
//!
//! Needs: a definition whose domains are solved. Refuses: reads of the point being defined (E0601),
//! of later points or of points that no base clause defines (E0602), reads in two directions
//! (E0603), and points that only the data knows (E0604).

use super::paths;
use super::paths::{Path, Visit};
use super::state::{Build, Index, Report};
use ein_base::{Span, Symbol};
use ein_ir::size::{self, Atom, Facts};
use ein_ir::tensor::walk::each_child;
use ein_ir::tensor::{
    AtomDef, Clause, ClauseSlot, Expr, ExprKind, IndexArg, Recurrence, Tensor, Type, VarId,
};
use order::find_order;
pub(super) use order::{lookback, standings};

pub(in crate::check) mod explain;
pub(in crate::check) mod order;

/// Choices in indices are followed both ways, at most this deep.
const MAX_SPLITS: u32 = 3;

/// A read of the tensor by one of its own clauses.
#[derive(Clone, Debug)]
pub(super) struct SelfRead {
    /// The clause that reads.
    pub(super) clause: usize,
    pub(super) span: Span,
    /// The position along each declared axis; an index that is not written may be any.
    pub(super) at: Vec<size::Expr>,
    /// That position minus the one being defined.
    pub(super) distance: Vec<size::Expr>,
    pub(super) facts: Facts,
    /// Whether the facts say everything that decides whether the read happens.
    exact: bool,
    /// The indices as text.
    pub(super) text: String,
    /// The names of what only the run knows, and that the indices depend on.
    unknown: Vec<Symbol>,
}

/// Collects the reads of a variable.
pub(super) struct Collector<'t> {
    var: VarId,
    name: Symbol,
    shape: &'t [Option<size::Expr>],
    clause: usize,
    /// The point being defined.
    point: Vec<size::Expr>,
    reads: Vec<SelfRead>,
}

impl Visit for Collector<'_> {
    fn read(
        &mut self,
        ix: &mut Index,
        build: &Build,
        base: &mut Expr,
        indices: &mut [IndexArg],
        span: Span,
        path: &mut Path,
    ) {
        if matches!(&*base.kind, ExprKind::Var(var) if *var == self.var) {
            let text: Vec<_> = indices
                .iter()
                .map(|index| explain::show_index(ix, build, &index.value, path))
                .collect();
            let text = format!("{}[{}]", self.name, text.join(", "));
            let at =
                indices.iter().map(|index| paths::size_on(ix, build, &index.value, path)).collect();
            self.note(ix, build, at, text, span, path);
        }
    }

    fn var(&mut self, ix: &mut Index, build: &Build, var: VarId, span: Span, path: &mut Path) {
        if var == self.var {
            self.note(ix, build, Vec::new(), self.name.to_string(), span, path);
        }
    }
}

impl<'t> Collector<'t> {
    /// Collects the reads of a variable whose declared axes have this shape.
    pub(super) fn new(var: VarId, name: Symbol, shape: &'t [Option<size::Expr>]) -> Self {
        Collector { var, name, shape, clause: 0, point: Vec::new(), reads: Vec::new() }
    }

    /// What follows stands in this clause.
    pub(super) fn enter(&mut self, clause: usize, point: Vec<size::Expr>) {
        self.clause = clause;
        self.point = point;
    }

    /// What was found.
    pub(super) fn into_reads(self) -> Vec<SelfRead> {
        self.reads
    }

    fn note(
        &mut self,
        ix: &mut Index,
        build: &Build,
        mut at: Vec<size::Expr>,
        text: String,
        span: Span,
        path: &mut Path,
    ) {
        let mark = path.mark();
        at.truncate(self.point.len());
        for axis in at.len()..self.point.len() {
            if axis >= self.shape.len() {
                at.push(size::Expr::zero());
                continue;
            }
            // The whole axis: any position on it.
            let any = ix.new_atom(Symbol::intern("_"), AtomDef::Unknown, false);
            match self.shape.get(axis).and_then(Option::as_ref) {
                Some(extent) => path.facts.with_range(any, &size::Expr::zero(), extent),
                None => path.facts.ge0(size::Expr::atom(any)),
            }
            at.push(size::Expr::atom(any));
        }
        self.split(ix, build, at, (&text, span), path, MAX_SPLITS);
        path.reset(mark);
    }

    /// Follows the choices in a position.
    fn split(
        &mut self,
        ix: &mut Index,
        build: &Build,
        at: Vec<size::Expr>,
        (text, span): (&str, Span),
        path: &mut Path,
        splits: u32,
    ) {
        let choice = at.iter().find_map(|at| path.choice(at));
        if splits > 0
            && let Some((atom, choice)) = choice
            && let ExprKind::If { cond, then, otherwise } = &*choice.kind
        {
            for (value, holds) in [(then, true), (otherwise, false)] {
                let mark = path.mark();
                path.exact &= paths::assume_on(ix, build, cond, holds, path);
                let value = paths::size_on(ix, build, value, path);
                path.facts.eq(&size::Expr::atom(atom), &value);
                let replace = |own| (own == atom).then(|| value.clone());
                let at = at.iter().map(|at| at.substitute(&replace)).collect();
                self.split(ix, build, at, (text, span), path, splits - 1);
                path.reset(mark);
            }
            return;
        }
        let distance: Vec<_> = at.iter().zip(&self.point).map(|(at, own)| at.sub(own)).collect();
        let mut unknown: Vec<Symbol> = Vec::new();
        let mut seen: Vec<Atom> = at.iter().flat_map(size::Expr::atoms).collect();
        seen.sort_unstable();
        seen.dedup();
        for atom in seen {
            let name = ix.atoms[atom].name;
            match (path.opaque(atom), ix.atoms[atom].def) {
                (Some(e), _) => {
                    let before = unknown.len();
                    arrays_in(ix, e, &mut unknown);
                    if unknown.len() == before {
                        unknown.push(name);
                    }
                }
                (None, AtomDef::Var(_)) if !ix.index_atoms.contains_key(&atom) => {
                    unknown.push(name);
                }
                _ => {}
            }
        }
        let goals: Vec<&size::Expr> = at.iter().chain(&distance).collect();
        let facts = paths::relevant_facts(ix, path, &goals);
        self.reads.push(SelfRead {
            clause: self.clause,
            span,
            at,
            distance,
            facts,
            exact: path.exact,
            text: text.to_string(),
            unknown,
        });
    }
}

/// The names of the arrays that an expression reads.
fn arrays_in(ix: &Index, e: &Expr, found: &mut Vec<Symbol>) {
    if let ExprKind::Var(var) = &*e.kind
        && matches!(e.ty, Type::Array(_) | Type::AnyRank(_) | Type::Jagged(..))
    {
        let name = ix.vars[*var].name;
        if !found.contains(&name) {
            found.push(name);
        }
    }
    each_child(e, &mut |child| arrays_in(ix, child, found));
}

/// Finds the order of a definition that reads itself, or says why there is none.
pub(super) fn order_recurrence(
    ix: &mut Index,
    build: &Build,
    report: &mut Report,
    tensor: &mut Tensor,
    name: Symbol,
    _span: Span,
) {
    let Some(var) = tensor.self_var else { return };
    let rank = tensor.shape.len();
    let shape = tensor.shape.clone();
    let mut collector = Collector::new(var, name, &shape);
    let mut path = Path::new(ix.f.facts.clone());
    for require in &tensor.requires {
        path.facts.eq(&require.left, &require.right);
    }
    for (number, clause) in tensor.clauses.iter_mut().enumerate() {
        let Some(point) = point_of(ix, clause) else { return };
        collector.enter(number, point);
        // What ends the steps is asked after them.
        let until = clause.until.take();
        paths::walk::walk_clause(ix, build, clause, &mut path, &mut collector);
        clause.until = until;
    }
    let reads = collector.reads;
    let all: Vec<&SelfRead> = reads.iter().collect();
    let found = find_order(&all, rank).or_else(|| {
        // What no recurrent clause defines is computed first.
        let recurrent: Vec<&Clause> = recurrent_clauses(tensor, &reads);
        let bound: Vec<&SelfRead> = reads
            .iter()
            .filter(|read| !recurrent.iter().all(|clause| is_outside(ix, read, clause)))
            .collect();
        find_order(&bound, rank)
    });
    let Some(axes) = found else {
        let d = explain::no_order(ix, tensor, name, &reads, rank);
        report.report_at(d);
        return;
    };
    if let Some(d) = explain::missing_base(ix, tensor, name, &reads, &axes) {
        report.report_at(d);
        return;
    }
    let lookback = axes.first().and_then(|first| lookback(&reads, *first));
    tensor.recurrence = Some(Box::new(Recurrence { axes, lookback, adjoint: false }));
}

/// A read of the tensor by the condition that ends its steps along an axis, of a step that may not have
/// been made: where it stands, and its position along the axis.
pub(super) fn later_read(
    ix: &mut Index,
    build: &Build,
    tensor: &mut Tensor,
    axis: usize,
) -> Option<(Span, size::Expr)> {
    let var = tensor.self_var?;
    let shape = tensor.shape.clone();
    let mut collector = Collector::new(var, Symbol::intern("_"), &shape);
    let mut path = Path::new(ix.f.facts.clone());
    let clause = tensor.clauses.iter_mut().find(|clause| clause.until.is_some())?;
    let asked = clause.until.as_ref()?.cond.span;
    collector.enter(0, point_of(ix, clause)?);
    paths::walk::walk_clause(ix, build, clause, &mut path, &mut collector);
    let made = |read: &SelfRead| {
        let ahead = read.distance.get(axis);
        ahead.is_none_or(|ahead| size::prove_ge0(&read.facts, &ahead.neg()).is_proved())
    };
    let later = collector.reads.iter().find(|read| asked.covers(read.span) && !made(read))?;
    Some((later.span, later.at.get(axis)?.clone()))
}

/// The point that a clause defines.
pub(super) fn point_of(ix: &Index, clause: &Clause) -> Option<Vec<size::Expr>> {
    let position = |slot: &ClauseSlot| match slot {
        ClauseSlot::Point(at) => Some(size::Expr::constant(*at)),
        ClauseSlot::Loop(binder) => ix.var_sizes.get(&binder.var).cloned(),
    };
    clause.slots.iter().map(position).collect()
}

/// Whether a read provably lies outside the region of a clause.
pub(super) fn is_outside(ix: &Index, read: &SelfRead, clause: &Clause) -> bool {
    let Some(point) = point_of(ix, clause) else { return false };
    // The clause's own variables stand for the position that is read.
    let moved = |e: &size::Expr| {
        e.substitute(&|atom| {
            let axis = point.iter().position(|own| own.as_atom() == Some(atom))?;
            read.at.get(axis).cloned()
        })
    };
    let mut facts = read.facts.clone();
    for (slot, at) in clause.slots.iter().zip(&read.at) {
        match slot {
            ClauseSlot::Point(own) => facts.eq(at, &size::Expr::constant(*own)),
            ClauseSlot::Loop(binder) => {
                if let Some(lo) = ix.to_size(&binder.lo) {
                    facts.le(&moved(&lo), at);
                }
                if let Some(hi) = ix.to_size(&binder.hi) {
                    facts.lt(at, &moved(&hi));
                }
            }
        }
    }
    size::is_empty(&facts).is_proved()
}

/// The clauses that read the tensor.
fn recurrent_clauses<'t>(tensor: &'t Tensor, reads: &[SelfRead]) -> Vec<&'t Clause> {
    tensor
        .clauses
        .iter()
        .enumerate()
        .filter(|(number, _)| reads.iter().any(|read| read.clause == *number))
        .map(|(_, clause)| clause)
        .collect()
}
