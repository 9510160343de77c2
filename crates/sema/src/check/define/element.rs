//! The type of the elements of a recurrence, where literals alone begin it.
//!
//! `let h[0] = 1.0;` says that `h` holds numbers, not which: a literal takes the type that the other
//! clauses say, and they say it by what they do with `h`. So the clauses are checked with the type
//! that the literal has by itself, and where they do not fit together, with the other types that it
//! may have.

use super::{Draft, Drafts};
use crate::check::tries::Mark;
use crate::check::{Binding, Cx, error};
use crate::hir::{self, LocalId};
use ein_base::{Code, Diagnostic, Stage};
use ein_ir::tensor::{Type, VarId};
use ein_scalar::ScalarType as S;
use std::cmp::Reverse;

/// Where the check stood before the clauses of a definition.
pub(in crate::check) struct Before {
    pub(in crate::check) mark: Mark,
    frames: Vec<usize>,
    facts: usize,
    extents: usize,
}

/// How far a type of element is from fitting: by the number of errors, then by how early the first
/// of them stands.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Misfit {
    count: usize,
    first: Reverse<u32>,
}

impl Misfit {
    fn of<'d>(errors: impl Iterator<Item = &'d Diagnostic>) -> Self {
        let places: Vec<u32> = errors.map(|d| d.primary.span.hi()).collect();
        Misfit { count: places.len(), first: Reverse(places.into_iter().min().unwrap_or(0)) }
    }
}

impl Cx<'_> {
    pub(in crate::check) fn before_trial(&self) -> Before {
        Before {
            mark: self.mark(),
            frames: self.f.pending.iter().map(Vec::len).collect(),
            facts: self.f.facts.len(),
            extents: self.f.extents.len(),
        }
    }

    /// What a literal is by itself that begins the tensor, also if it is too large for that.
    pub(super) fn literal_element(
        &self,
        clauses: &[hir::Clause],
        recursive: &[bool],
    ) -> Option<Type> {
        let at = recursive.iter().position(|recursive| !recursive)?;
        let class = self.literal_class(clauses[at].body)?;
        self.only_literals(clauses, recursive).then(|| class.default_type())
    }

    /// Whether every clause that does not read the tensor itself is made of literals.
    pub(in crate::check) fn only_literals(
        &self,
        clauses: &[hir::Clause],
        recursive: &[bool],
    ) -> bool {
        let mut plain = clauses.iter().zip(recursive).filter(|(_, recursive)| !**recursive);
        plain.all(|(clause, _)| self.literal_class(clause.body).is_some())
    }

    /// Checks the clauses that read the tensor itself with the first type of element with which
    /// all clauses agree, beginning with the given one; and what is made of literals with it.
    pub(super) fn by_trial(
        &mut self,
        definition: &hir::Definition,
        recursive: &[bool],
        elem: &Type,
        before: &Before,
        drafts: &mut Drafts,
    ) -> VarId {
        let others = other_types(elem);
        if others.is_empty() {
            return self.recurrent_clauses(definition, recursive, elem, drafts);
        }
        let mut nearest: Option<(Misfit, &Type)> = None;
        for ty in std::iter::once(elem).chain(&others) {
            if ty != elem {
                self.plain_clauses(&definition.clauses, recursive, Some(ty), drafts);
            }
            let var = self.recurrent_clauses(definition, recursive, ty, drafts);
            // Only errors about types say that this is not the one.
            let fits = |draft: &Draft| draft.clause.value.ty.scalar() == ty.scalar();
            let errors =
                self.diagnostics[before.mark.diagnostics..].iter().filter(|d| about_types(d));
            let misfit = Misfit::of(errors);
            if misfit.count == 0 && drafts.iter().flatten().all(fits) {
                return var;
            }
            if misfit.count > 0 && nearest.as_ref().is_none_or(|(least, _)| misfit < *least) {
                nearest = Some((misfit, ty));
            }
            self.take_back_trial(before);
            for (draft, recursive) in drafts.iter_mut().zip(recursive) {
                if *recursive {
                    *draft = None;
                }
            }
        }
        // None fits, so the mistake is another one: it is told of the type that is nearest.
        let elem = nearest.map_or(elem, |(_, ty)| ty);
        self.plain_clauses(&definition.clauses, recursive, Some(elem), drafts);
        self.recurrent_clauses(definition, recursive, elem, drafts)
    }

    pub(in crate::check) fn take_back_trial(&mut self, before: &Before) {
        self.roll_back(&before.mark);
        for (stmts, length) in self.f.pending.iter_mut().zip(&before.frames) {
            stmts.truncate(*length);
        }
        self.f.facts.truncate(before.facts);
        self.f.extents.truncate(before.extents);
    }

    /// The type that all clauses agree with where each of them reads the tensor itself, as in
    /// `let x[i in 0..n] = b[i] - sum[k in 0..i](a[i, k] * x[k]);`. `None` if nothing says which.
    fn fitting_element(
        &mut self,
        definition: &hir::Definition,
        recursive: &[bool],
    ) -> Option<Type> {
        let complete = definition.clauses.iter().all(|clause| self.starts_at_zero(clause));
        if recursive.contains(&false) || !complete {
            return None;
        }
        let before = self.before_trial();
        let mut fitting: Vec<S> = Vec::new();
        for scalar in ELEMENTS {
            let ty = Type::Scalar(scalar);
            let mut drafts: Drafts = definition.clauses.iter().map(|_| None).collect();
            self.recurrent_clauses(definition, recursive, &ty, &mut drafts);
            let wrong = self.diagnostics[before.mark.diagnostics..].iter().any(about_types);
            let is_fit = |draft: &Option<Draft>| {
                draft.as_ref().is_some_and(|draft| draft.clause.value.ty == ty)
            };
            if !wrong && drafts.iter().all(is_fit) {
                fitting.push(scalar);
            }
            self.take_back_trial(&before);
        }
        // What fits floats as well as integers is told by neither.
        let floats = fitting.iter().any(|scalar| scalar.is_float());
        let others = fitting.iter().any(|scalar| !scalar.is_float());
        // A narrow type fits wherever a wider one does, as it is widened there.
        let narrowest = fitting.iter().copied().find(|narrow| {
            fitting.iter().all(|wide| wide == narrow || crate::check::widen::holds(*wide, *narrow))
        });
        (floats != others).then(|| Type::Scalar(narrowest.unwrap_or(fitting[0])))
    }

    /// Whether a clause leaves no room for a base before its first point.
    fn starts_at_zero(&mut self, clause: &hir::Clause) -> bool {
        clause.slots.iter().all(|slot| match &slot.kind {
            hir::LeftSlotKind::Index(hir::Binder { domain: Some(domain), .. }) => match domain {
                hir::Domain::Range { lo, .. } => {
                    self.quiet_size(*lo, false).is_some_and(|lo| lo.as_constant() == Some(0))
                }
                hir::Domain::Coord(_) => true,
                hir::Domain::Other(_) => false,
            },
            hir::LeftSlotKind::Index(_)
            | hir::LeftSlotKind::Literal(_)
            | hir::LeftSlotKind::Point(_) => false,
            hir::LeftSlotKind::Error => false,
        })
    }

    /// The type of an element when every clause reads the tensor itself: what the branches that do
    /// not read it say, or what fits everything that is done with it.
    pub(super) fn guess_element(
        &mut self,
        definition: &hir::Definition,
        recursive: &[bool],
    ) -> Type {
        let elem = self.quiet_element(definition, recursive);
        if elem.has_error()
            && let Some(fitting) = self.fitting_element(definition, recursive)
        {
            return fitting;
        }
        if elem.has_error() {
            self.no_element(definition);
        }
        elem
    }

    /// Nothing says what the elements are.
    pub(in crate::check) fn no_element(&mut self, definition: &hir::Definition) {
        let name = definition.clauses[0].name;
        let message = format!("the type of `{name}` cannot be inferred");
        let d = error(Code::E0516, name.span, message)
            .here("every value of it is made from other values of it");
        let d = match self.bound_above(definition) {
            Some((_, var)) => d
                .label(
                    self.out.vars[var].span,
                    format!("not this `{name}`: a definition reads itself"),
                )
                .help(format!("give one of them another name: `let next[…] = … {name}[…] …;`")),
            None => d.help(format!("add a base clause: `let {name}[0] = …;`")),
        };
        self.report_at(d);
    }

    /// What the branches say that do not read the tensor, without reporting anything.
    pub(in crate::check) fn quiet_element(
        &mut self,
        definition: &hir::Definition,
        recursive: &[bool],
    ) -> Type {
        let reported = self.diagnostics.len();
        let facts = self.f.facts.len();
        let tried = self.out.vars.len();
        let var = self.self_variable(definition, &[], Type::Error);
        self.f.env.insert(definition.local, Binding::Var(var));
        let mut elem = Type::Error;
        for (clause, recursive) in definition.clauses.iter().zip(recursive) {
            if *recursive && elem.has_error() {
                self.f.pending.push(Vec::new());
                if let Some(draft) = self.clause(clause, None, Some(var)) {
                    elem = draft.clause.value.ty;
                }
                self.f.pending.pop();
            }
        }
        self.take_back(reported);
        self.f.facts.truncate(facts);
        self.forget_types(tried);
        elem
    }

    /// The nearest value above a definition that has its name.
    fn bound_above(&self, definition: &hir::Definition) -> Option<(LocalId, VarId)> {
        let name = self.hir.locals[definition.local].name;
        let before = self.f.env.keys().chain(self.globals.keys()).copied().filter(|local| {
            let other = self.hir.locals[*local].name;
            other.sym == name.sym
                && other.span.file() == name.span.file()
                && other.span.lo() < name.span.lo()
        });
        let before = before.max_by_key(|local| self.hir.locals[*local].name.span.lo())?;
        match self.f.env.get(&before) {
            Some(Binding::Var(var)) => Some((before, *var)),
            _ => Some((before, *self.globals.get(&before)?)),
        }
    }

    /// A recurrence without a base may have one above it with another number of indices, which is
    /// a tensor of its own then.
    pub(super) fn base_apart(
        &mut self,
        definition: &hir::Definition,
        recursive: &[bool],
    ) -> Option<Diagnostic> {
        let complete = definition.clauses.iter().all(|clause| self.starts_at_zero(clause));
        if recursive.contains(&false) || complete {
            return None;
        }
        let name = self.hir.locals[definition.local].name;
        let rank = definition.clauses[0].slots.len();
        let (before, var) = self.bound_above(definition)?;
        // What is read is meant as a tensor of its own.
        if self.hir.locals[before].used || self.out.vars[var].ty.rank() == 0 {
            return None;
        }
        let other = self.out.vars[var].ty.rank();
        let apart = "so this is another tensor";
        let (message, here, there) = if other == rank {
            let message = format!("the clauses of `{name}` have different numbers of indices");
            (message, format!("of {rank} indices"), format!("of another number, {apart}"))
        } else {
            let ranks = format!("{other} and {rank}");
            let message = format!("the clauses of `{name}` have different ranks: {ranks}");
            (message, format!("of rank {rank}"), format!("of rank {other}, {apart}"))
        };
        let d = error(Code::E0417, name.span, message)
            .here(here)
            .label(self.out.vars[var].span, there)
            .note("clauses with the same number of indices form one definition")
            .help(format!("write all clauses of `{name}` with the same number of indices"));
        Some(d)
    }
}

/// Whether it says that a type does not fit.
pub(in crate::check) fn about_types(d: &Diagnostic) -> bool {
    d.is_error() && d.code.stage() == Stage::Types
}

/// The types of elements, those that literals have by themselves before others of their kind.
const ELEMENTS: [S; 13] = [
    S::F32,
    S::F64,
    S::F16,
    S::BF16,
    S::I32,
    S::I64,
    S::U8,
    S::U32,
    S::U64,
    S::I8,
    S::I16,
    S::U16,
    S::Bool,
];

/// The types that literals may have which by themselves are of type `ty`, those that are most in
/// use first.
fn other_types(ty: &Type) -> Vec<Type> {
    let others: &[S] = match ty.scalar() {
        Some(S::F32) => &[S::F64, S::F16, S::BF16],
        Some(S::I32) => {
            &[S::I64, S::F32, S::F64, S::U8, S::U32, S::U64, S::I8, S::I16, S::U16, S::F16, S::BF16]
        }
        _ => &[],
    };
    others.iter().map(|scalar| with_scalar(ty, *scalar)).collect()
}

pub(in crate::check) fn with_scalar(ty: &Type, scalar: S) -> Type {
    match ty.axes() {
        [] => Type::Scalar(scalar),
        axes => Type::array(Type::Scalar(scalar), axes.to_vec()),
    }
}
