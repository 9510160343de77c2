//! The type of the elements of a recurrence, where no clause that stands for itself says it.

use crate::check::tries::Mark;
use crate::check::{Binding, Cx, error};
use crate::hir::{self, LocalId};
use ein_base::{Code, Diagnostic};
use ein_ir::tensor::{Type, VarId};
use ein_scalar::ScalarType as S;

/// Where the check stood before the clauses of a definition.
pub(in crate::check) struct Before {
    pub(in crate::check) mark: Mark,
    frames: Vec<usize>,
    facts: usize,
    extents: usize,
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

    /// Whether every clause that does not read the tensor itself is made of literals.
    pub(in crate::check) fn only_literals(
        &self,
        clauses: &[hir::Clause],
        recursive: &[bool],
    ) -> bool {
        let mut plain = clauses.iter().zip(recursive).filter(|(_, recursive)| !**recursive);
        plain.all(|(clause, _)| self.literal_class(clause.body).is_some())
    }

    pub(in crate::check) fn take_back_trial(&mut self, before: &Before) {
        self.roll_back(&before.mark);
        for (stmts, length) in self.f.pending.iter_mut().zip(&before.frames) {
            stmts.truncate(*length);
        }
        self.f.facts.truncate(before.facts);
        self.f.extents.truncate(before.extents);
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
    /// not read it say, of the numbers that its clauses make; or those numbers.
    pub(super) fn guess_element(
        &mut self,
        definition: &hir::Definition,
        recursive: &[bool],
        number: Option<S>,
    ) -> Type {
        let elem = self.quiet_element(definition, recursive);
        let complete = !recursive.contains(&false)
            && definition.clauses.iter().all(|clause| self.starts_at_zero(clause));
        match (elem.has_error(), number) {
            (false, Some(number)) if elem.scalar().is_some() => with_scalar(&elem, number),
            (true, Some(number)) if complete => Type::Scalar(number),
            (false, _) => elem,
            (true, _) => {
                self.no_element(definition);
                elem
            }
        }
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

/// A type with other numbers.
pub(in crate::check) fn with_scalar(ty: &Type, scalar: S) -> Type {
    match ty.axes() {
        [] => Type::Scalar(scalar),
        axes => Type::array(Type::Scalar(scalar), axes.to_vec()),
    }
}
