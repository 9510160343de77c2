//! Clauses of one definition with different numbers of indices.
//!
//! Before:  `let w[0, f in 0..3] = …;`, `let w[k in 1..9] = step(w[k - 1]);`
//! After:   `let w[0, f in 0..3] = …;`, `let w[k in 1..9, f] = step(w[k - 1])[f];`
//!
//! The value of a clause with fewer indices is an array, whose first axes are the missing ones. Only a
//! clause that reads its own name continues one above it that way: otherwise it is another definition,
//! and hides that one. A number has no axes, so a literal stays a definition of its own (E0417).

use super::lower::Lower;
use super::stmts::{Group, List};
use crate::hir::{self, Binder, ExprId, ExprKind, LeftSlot, LeftSlotKind, LocalKind, Slot};
use ein_base::{Name, Span, Symbol};
use ein_syntax::ast;

impl Lower<'_, '_> {
    /// Whether a clause continues a definition with another number of indices.
    pub(super) fn continues(&mut self, clause: &ast::Clause, group: &Group, list: &List) -> bool {
        let own = clause.slots.iter().filter_map(|slot| match &slot.kind {
            ast::LeftSlotKind::Index { name, .. } | ast::LeftSlotKind::Pack(name) => Some(name.sym),
            ast::LeftSlotKind::Literal(_)
            | ast::LeftSlotKind::Point(_)
            | ast::LeftSlotKind::Error => None,
        });
        let (mut bound, mut found): (Vec<Symbol>, _) = (own.collect(), Vec::new());
        self.mentions(clause.value, &mut bound, &mut found);
        let reads_itself = found.contains(&clause.name.sym);
        let number = |body: ExprId| match &self.r.program.exprs[body].kind {
            ExprKind::Where { body, .. } => self.is_number(*body),
            _ => self.is_number(body),
        };
        let shorter_is_number = clause.slots.len() > group.slots
            && list.clauses(group.at).iter().any(|clause| number(clause.body));
        reads_itself && !shorter_is_number
    }

    fn is_number(&self, body: ExprId) -> bool {
        matches!(
            self.r.program.exprs[body].kind,
            ExprKind::Int(..) | ExprKind::Float(..) | ExprKind::Bool(_)
        )
    }

    /// The clauses of a definition, each with as many indices as the one that has the most.
    pub(super) fn of_one_rank(&mut self, mut clauses: Vec<hir::Clause>) -> Vec<hir::Clause> {
        let is_pack = |slot: &LeftSlot| match &slot.kind {
            LeftSlotKind::Index(binder) => binder.pack,
            LeftSlotKind::Literal(_) | LeftSlotKind::Point(_) | LeftSlotKind::Error => false,
        };
        let rank = clauses.iter().map(|clause| clause.slots.len()).max().unwrap_or(0);
        let even = clauses.iter().all(|clause| clause.slots.len() == rank);
        if even || clauses.iter().any(|clause| clause.slots.iter().any(is_pack)) {
            return clauses;
        }
        let names: Vec<Option<Name>> = (0..rank)
            .map(|axis| {
                clauses.iter().find_map(|clause| match &clause.slots.get(axis)?.kind {
                    LeftSlotKind::Index(binder) => Some(binder.name),
                    LeftSlotKind::Literal(_) | LeftSlotKind::Point(_) | LeftSlotKind::Error => None,
                })
            })
            .collect();
        for clause in &mut clauses {
            let missing = &names[clause.slots.len()..];
            let mut indices = Vec::new();
            for (at, name) in missing.iter().enumerate() {
                let own = || Name { sym: Symbol::intern(&format!("${at}")), span: clause.span };
                let name = name.unwrap_or_else(own);
                let local = self.local(name, LocalKind::Index);
                self.r.program.locals[local].used = true;
                let binder = Binder { local, name, pack: false, domain: None };
                let kind = LeftSlotKind::Index(binder);
                clause.slots.push(LeftSlot { kind, span: clause.name.span });
                indices.push(local);
            }
            if !indices.is_empty() {
                clause.body = self.element_of(clause.body, &indices);
            }
        }
        clauses
    }

    /// An element of the value of a clause.
    fn element_of(&mut self, body: ExprId, indices: &[hir::LocalId]) -> ExprId {
        let span = self.r.program.exprs[body].span;
        if let ExprKind::Where { body: inner, otherwise, .. } = &self.r.program.exprs[body].kind {
            let (inner, otherwise) = (*inner, *otherwise);
            let inner = self.element_of(inner, indices);
            let otherwise = otherwise.map(|value| self.indexed(value, indices, span));
            if let ExprKind::Where { body, otherwise: other, .. } =
                &mut self.r.program.exprs[body].kind
            {
                (*body, *other) = (inner, otherwise);
            }
            return body;
        }
        self.indexed(body, indices, span)
    }

    fn indexed(&mut self, base: ExprId, indices: &[hir::LocalId], span: Span) -> ExprId {
        let at = indices.iter().map(|local| Slot::Expr(self.push(ExprKind::Local(*local), span)));
        let slots = at.collect();
        self.push(ExprKind::Index { base, slots }, span)
    }
}
