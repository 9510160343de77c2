//! Changes inside a body: the indices of a read, the index of a reduction, the direction of a
//! recurrence.

use super::{Index, Maker, Place};
use crate::mutants::layouts::{Axis, Layout};
use crate::mutants::walk::{bare, binder, free, shifted};
use ein_base::{Span, Symbol};
use ein_syntax::ast::{Arg, BinaryOp, ExprId, ExprKind, Slot, SlotKind};

/// A slot that is one index variable, with the axis it stands at.
struct At<'a> {
    position: usize,
    name: Symbol,
    span: Span,
    axis: &'a Axis,
}

impl Maker<'_> {
    /// Mutants of one read.
    pub(super) fn access(
        &mut self,
        id: ExprId,
        tensor: Symbol,
        layout: &Layout,
        slots: &[Slot],
        place: &Place,
    ) {
        let span = self.ast.expr[id].span;
        let known: Vec<At<'_>> = slots
            .iter()
            .zip(layout)
            .enumerate()
            .filter_map(|(position, (slot, axis))| {
                let SlotKind::Expr(index) = &slot.kind else { return None };
                let name = shifted(self.ast, *index)?;
                // Positions on the left and in reductions, not values that are computed with.
                let variable = self.declared(name, place).is_some() || place.open;
                (variable && !axis.pack).then_some(At { position, name, span: slot.span, axis })
            })
            .collect();
        self.swap_indices(span, tensor, &known, place);
        self.other_index(span, tensor, &known, place);
        self.drop_index(span, tensor, layout, slots, &known, place);
        if place.binds == Some(tensor) {
            self.off_direction(span, tensor, slots);
        }
    }

    fn declared(&self, name: Symbol, place: &Place) -> Option<Index> {
        place.indices.iter().rev().find(|index| index.name == name).copied()
    }

    /// Whether a variable must not stand at an axis: its own name is another one, and it is not
    /// declared over the coordinate of the axis.
    fn wrong_at(&self, name: Symbol, axis: &Axis, place: &Place) -> bool {
        let index = self.declared(name, place);
        let ranged = index.is_some_and(|index| index.ranged);
        let over = index.and_then(|index| index.over);
        axis.contract
            && axis.name.is_some()
            && axis.name != Some(name)
            && axis.root() != Some(name)
            && !ranged
            && (over.is_none() || over != axis.root())
    }

    /// Two indices of one read change places. Both axes are contracts and each index has the name
    /// of its axis, so each stands at the axis of another name. Two roles that a definition gave
    /// to one coordinate may be swapped by variables over it.
    fn swap_indices(&mut self, span: Span, tensor: Symbol, known: &[At<'_>], place: &Place) {
        for (i, a) in known.iter().enumerate() {
            for b in &known[i + 1..] {
                let own = |at: &At<'_>| at.axis.contract && at.axis.name == Some(at.name);
                let roles = a.axis.root() == b.axis.root();
                let by_name = |at: &At<'_>| {
                    self.declared(at.name, place).is_none_or(|it| it.over.is_none() && !it.ranged)
                };
                let wrong = if roles {
                    (a.axis.declared && b.axis.declared) || by_name(a) || by_name(b)
                } else {
                    self.wrong_at(a.name, b.axis, place) || self.wrong_at(b.name, a.axis, place)
                };
                if !own(a) || !own(b) || !wrong {
                    continue;
                }
                let edits = [
                    (a.span, self.source(b.span).to_owned()),
                    (b.span, self.source(a.span).to_owned()),
                ];
                let mentions = vec![tensor, a.name, b.name];
                self.make("swap-indices", span, &edits, Some(place.span), mentions);
            }
        }
    }

    /// Another index variable of the same statement at a contract axis.
    fn other_index(&mut self, span: Span, tensor: Symbol, known: &[At<'_>], place: &Place) {
        let mut candidates = self.slot_names(place.body);
        candidates.extend(place.indices.iter().map(|index| index.name));
        candidates.dedup();
        for at in known {
            for other in &candidates {
                let variable = self.declared(*other, place).is_some()
                    || (place.open && self.scope.layout(*other).is_none());
                if *other == at.name || !variable || !self.wrong_at(*other, at.axis, place) {
                    continue;
                }
                let text = self.source(at.span).replacen(at.name.as_str(), other.as_str(), 1);
                let edits = [(at.span, text)];
                let mentions = vec![tensor, at.name, *other];
                self.make("other-index", span, &edits, Some(place.span), mentions);
            }
        }
    }

    /// An index is left out. If one follows, it now stands at the axis of another name. If it was
    /// the last one, the read is an array along its coordinate: wrong where that coordinate is
    /// also an index of the same body, or where the left side has it and nothing else carries it.
    fn drop_index(
        &mut self,
        span: Span,
        tensor: Symbol,
        layout: &Layout,
        slots: &[Slot],
        known: &[At<'_>],
        place: &Place,
    ) {
        for at in known {
            if !at.axis.contract || at.axis.name != Some(at.name) {
                continue;
            }
            let last = at.position + 1 == slots.len();
            let mut mentions = vec![tensor, at.name];
            let wrong = if last {
                if slots.len() != layout.len() {
                    continue;
                }
                let elsewhere = free(self.ast, place.body, at.name) > 1;
                let reduced = self.reduced_around(place, span, at.name);
                let left = !place.open && !reduced;
                if reduced { self.reduced_twice(place, span, at.name) } else { elsewhere || left }
            } else {
                let next = known.iter().find(|it| it.position == at.position + 1);
                let Some(next) = next else { continue };
                mentions.push(next.name);
                self.wrong_at(next.name, at.axis, place)
            };
            if !wrong {
                continue;
            }
            let edit = match (at.position, slots.len()) {
                (_, 1) => Span::new(span.file(), slots[0].span.lo() - 1, span.hi()),
                (0, _) => Span::new(span.file(), at.span.lo(), slots[1].span.lo()),
                (position, _) => {
                    Span::new(span.file(), slots[position - 1].span.hi(), at.span.hi())
                }
            };
            self.make("drop-index", span, &[(edit, String::new())], Some(place.span), mentions);
        }
    }

    /// The innermost reduction around a read that binds a name.
    fn reduction_of(&self, place: &Place, read: Span, name: Symbol) -> Option<ExprId> {
        let ast = self.ast;
        super::all(ast, place.body).into_iter().rfind(|id| {
            let expr = &ast.expr[*id];
            matches!(&expr.kind, ExprKind::BracketCall { callee, slots, .. }
                if super::is_reduction(ast, *callee)
                    && expr.span.lo() <= read.lo()
                    && read.hi() <= expr.span.hi()
                    && slots.iter().any(|slot| binder(ast, &slot.kind) == Some(name)))
        })
    }

    fn reduced_around(&self, place: &Place, read: Span, name: Symbol) -> bool {
        self.reduction_of(place, read, name).is_some()
    }

    /// Whether the reduction around a read mentions its index elsewhere, too.
    fn reduced_twice(&self, place: &Place, read: Span, name: Symbol) -> bool {
        let Some(id) = self.reduction_of(place, read, name) else { return false };
        let ExprKind::BracketCall { args, .. } = &self.ast.expr[id].kind else { return false };
        args.iter().map(|arg| free(self.ast, arg.value, name)).sum::<usize>() > 1
    }

    /// A recurrence reads the other way: `t - 1` becomes `t + 1`.
    fn off_direction(&mut self, span: Span, tensor: Symbol, slots: &[Slot]) {
        for slot in slots {
            let SlotKind::Expr(index) = &slot.kind else { continue };
            let ExprKind::Binary(op, a, b) = &self.ast.expr[*index].kind else { continue };
            let Some(name) = bare(self.ast, *a) else { continue };
            let other = match op {
                BinaryOp::Sub => "+",
                BinaryOp::Add => "-",
                _ => continue,
            };
            let by = self.source(self.ast.expr[*b].span);
            let edits = [(slot.span, format!("{name} {other} {by}"))];
            self.make(
                "off-direction",
                span,
                &edits,
                Some(self.statement(span)),
                vec![tensor, name],
            );
        }
    }

    /// The span of the statement around a place.
    fn statement(&self, span: Span) -> Span {
        let around = self
            .ast
            .stmt
            .iter()
            .filter(|stmt| stmt.span.lo() <= span.lo() && span.hi() <= stmt.span.hi());
        around.map(|stmt| stmt.span).min_by_key(|span| span.len()).unwrap_or(span)
    }

    /// A reduction over another index of its body: the one that was reduced is bound nowhere.
    pub(super) fn reduction(&mut self, id: ExprId, slots: &[Slot], args: &[Arg], place: &Place) {
        let ast = self.ast;
        let span = ast.expr[id].span;
        let bound: Vec<Symbol> = slots.iter().filter_map(|slot| binder(ast, &slot.kind)).collect();
        let Some(body) = args.first().map(|arg| arg.value) else { return };
        let candidates = self.slot_names(body);
        for slot in slots {
            let (name, at) = match &slot.kind {
                SlotKind::Expr(e) => match bare(ast, *e) {
                    Some(name) => (name, slot.span),
                    None => continue,
                },
                SlotKind::Domain { name, .. } => (name.sym, name.span),
                _ => continue,
            };
            if self.declared(name, place).is_some() || free(ast, body, name) == 0 {
                continue;
            }
            for other in &candidates {
                let variable = self.declared(*other, place).is_some() || place.open;
                if bound.contains(other) || !variable {
                    continue;
                }
                let lines = if place.open && !place.fixed {
                    let named = [(0, name), (0, *other), (1, name), (1, *other)];
                    let Some(binds) = place.binds else { continue };
                    if !self.read_by_name(binds, &named, place.span.hi(), place.end) {
                        continue;
                    }
                    None
                } else {
                    Some(place.span)
                };
                let mentions = vec![name, *other];
                let edits = [(at, other.to_string())];
                self.make("other-reduction", span, &edits, lines, mentions);
            }
        }
    }
}
