//! What the checker found out, for `einlang check --facts`, `--bounds` and `--broadcasts`.

use super::recursion::RecursionFact;
use super::state;
use super::state::{Build, Index, Infer};
use ein_base::{Span, Symbol};
use ein_ir::tensor::{Type, VarId};
use ein_scalar::ScalarType;
use rustc_hash::FxHashMap;

/// What is known of a program.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The top-level bindings of the root, in source order.
    pub bindings: Vec<BindingFact>,
    /// Every read with its verdict, in source order.
    pub reads: Vec<ReadFact>,
    /// Every broadcast, in source order.
    pub broadcasts: Vec<Broadcast>,
    /// Every number or array that was converted to a wider type unasked, in source order.
    pub widenings: Vec<Widening>,
    /// Functions whose recursion ends, in source order.
    pub recursions: Vec<RecursionFact>,
}

/// What is known of a top-level binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingFact {
    /// Its name.
    pub name: Symbol,
    /// Where it is bound.
    pub span: Span,
    /// Its type, in the syntax of the language.
    pub ty: String,
    /// The coordinate of each axis.
    pub layout: Vec<Option<String>>,
    /// The extent of each axis; `?` where only the run knows.
    pub shape: Vec<String>,
}

/// What is known of a read along one axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadFact {
    /// What is read.
    pub tensor: Option<Symbol>,
    /// Where the index stands.
    pub span: Span,
    /// The axis.
    pub axis: usize,
    /// Whether it stays in bounds.
    pub verdict: Verdict,
}

/// Whether a read stays in bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// For all points.
    Proved,
    /// The run will tell.
    Checked,
    /// For some point it certainly does not.
    Refuted,
}

impl Verdict {
    /// The verdict in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Proved => "proved",
            Verdict::Checked => "checked",
            Verdict::Refuted => "refuted",
        }
    }
}

/// An operand that is repeated along indices that it does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broadcast {
    /// Where the operand stands.
    pub span: Span,
    /// What it is called.
    pub operand: String,
    /// The indices along which it is repeated.
    pub missing: Vec<Symbol>,
}

/// A value that is converted where it meets a wider type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Widening {
    /// Where it stands.
    pub span: Span,
    /// What it is called.
    pub operand: String,
    /// The type that it has.
    pub from: ScalarType,
    /// The type that it is converted to.
    pub to: ScalarType,
}

impl state::Report {
    /// Everything found out. A body that was checked for several calls counts once, with the worst
    /// of the verdicts.
    pub(super) fn summary(&self) -> Report {
        let mut reads: Vec<ReadFact> = Vec::new();
        let mut seen: FxHashMap<(Span, usize), usize> = FxHashMap::default();
        for read in &self.reads {
            match seen.get(&(read.span, read.axis)) {
                Some(at) => reads[*at].verdict = reads[*at].verdict.max(read.verdict),
                None => {
                    seen.insert((read.span, read.axis), reads.len());
                    reads.push(read.clone());
                }
            }
        }
        reads.sort_by_key(|read| (read.span, read.axis));
        let mut broadcasts = self.ledger.clone();
        broadcasts.sort_by_key(|entry| entry.span);
        broadcasts.dedup();
        let mut widenings = self.widenings.clone();
        widenings.sort_by_key(|entry| entry.span);
        widenings.dedup();
        let mut recursions = self.recursions.clone();
        recursions.sort_by_key(|fact| fact.span);
        Report { bindings: self.bindings.clone(), reads, broadcasts, widenings, recursions }
    }
}

/// Records a top-level binding of the root: what is known of it, and that it is an output.
pub(super) fn note_global(
    infer: &Infer,
    ix: &Index,
    build: &mut Build,
    report: &mut state::Report,
    var: VarId,
    ty: &Type,
) {
    let (name, span) = (ix.vars[var].name, ix.vars[var].span);
    if !infer.root_module || ty.is_fn() {
        return;
    }
    let layout =
        ty.axes().iter().map(|axis| axis.coord.map(|coord| coord.name.to_string())).collect();
    let shape = ty
        .axes()
        .iter()
        .map(|axis| match ix.unsettled(&axis.size) {
            Some(_) => "?".into(),
            None => ix.show_size(&axis.size),
        })
        .collect();
    let fact = BindingFact { name, span, ty: ix.show(ty), layout, shape };
    report.bindings.push(fact);
    build.out.outputs.push(var);
}

/// Puts outputs and facts in source order; of a name bound twice the last binding counts.
pub(super) fn settle_outputs(ix: &Index, build: &mut Build, report: &mut state::Report) {
    let mut last: FxHashMap<Symbol, Span> = FxHashMap::default();
    for fact in &report.bindings {
        let at = last.entry(fact.name).or_insert(fact.span);
        *at = (*at).max(fact.span);
    }
    report.bindings.retain(|fact| last.get(&fact.name) == Some(&fact.span));
    report.bindings.sort_by_key(|fact| fact.span);
    let vars = &ix.vars;
    build.out.outputs.retain(|var| last.get(&vars[*var].name) == Some(&vars[*var].span));
    build.out.outputs.sort_by_key(|var| vars[*var].span);
}
