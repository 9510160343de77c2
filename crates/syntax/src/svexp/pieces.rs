//! Inner axes: `Extr`, `Part`, `Join`, `NumOf`.

use super::axes::{Code, Val, described, merged};
use super::translate::Translator;
use super::tree::Node;
use crate::ast::{BinaryOp, ExprId, ExprKind, SlotKind};
use crate::notation::Elem;
use crate::notation::build::named;
use crate::notation::size::Size;
use ein_base::{Code as ErrorCode, Name, Span};

impl Translator<'_> {
    fn axis(&self, place: usize) -> SlotKind {
        SlotKind::Axis(u32::try_from(place).unwrap_or(u32::MAX))
    }

    /// `Extr00 axis e` and its like.
    pub(super) fn extr(&mut self, piece: &str, axis: u32, node: &Node, span: Span) -> Val {
        let mut value = self.value(node);
        let Some(place) = value.position(axis) else {
            if !value.unknown {
                self.no_axis(axis, &value, node.span);
            }
            return Val { unknown: true, ..value };
        };
        let base = self.written(&value, span);
        let slot = self.axis(place);
        let code = self.b.bracket_call(piece, slot, vec![base], span);
        if matches!(piece, "first" | "last") {
            value.inner.remove(place);
        } else {
            value.inner[place].1 = value.inner[place].1.plus(&Size::number(1), -1);
        }
        Val { code: Code::Plain(code), ..value }
    }

    /// `Part0 axis e n`, `Part1 axis e n`
    pub(super) fn part(&mut self, piece: &str, axis: u32, pair: &[Node; 2], span: Span) -> Val {
        let (mut value, count) = (self.value(&pair[0]), self.value(&pair[1]));
        if !count.inner.is_empty() {
            let message = format!("a place is a scalar, but {}", described(&count));
            let help = "extract one component first: `Extr00 0 …`";
            self.report(ErrorCode::E0506, pair[1].span, message, "not a scalar", help);
        }
        let Some(place) = value.position(axis) else {
            if !value.unknown {
                self.no_axis(axis, &value, pair[0].span);
            }
            return Val { unknown: true, ..value };
        };
        let outer = merged(&[&value, &count]);
        let (base, at) = (self.written(&value, span), self.written(&count, span));
        let slot = self.axis(place);
        let known = self.b.literal(at).map(Size::number);
        let size = &mut value.inner[place].1;
        *size = match (known, piece) {
            (Some(count), "take") => count,
            (Some(count), _) => size.plus(&count, -1),
            (None, _) => Size::Opaque,
        };
        let code = Code::Plain(self.b.bracket_call(piece, slot, vec![base, at], span));
        Val { code, outer, ..value }
    }

    /// `NumOf e axis k`: whether an axis has this extent.
    pub(super) fn num_of(&mut self, axis: u32, pair: &[Node; 2], span: Span) -> Val {
        let (value, count) = (self.value(&pair[0]), self.value(&pair[1]));
        let Some(place) = value.position(axis) else {
            if !value.unknown {
                self.no_axis(axis, &value, pair[0].span);
            }
            return Val { unknown: true, ..self.broken(span) };
        };
        let outer = merged(&[&value, &count]);
        let (base, count) = (self.written(&value, span), self.written(&count, span));
        let extent = self.extent(base, place, span);
        let code = self.b.binary(BinaryOp::Eq, extent, count, span);
        Val { outer, ..Val::scalar(code, Elem::Bool) }
    }

    /// `Join axis a b`: a value without the axis counts as one slice.
    pub(super) fn join(&mut self, axis: u32, pair: &[Node; 2], span: Span) -> Val {
        let (a, b) = (self.value(&pair[0]), self.value(&pair[1]));
        if !a.same_axes(&b, Some(axis)) {
            let message = format!(
                "the values cannot be joined along axis {axis}: {}, {}",
                described(&a),
                described(&b)
            );
            let help = "give both the same axes, apart from the one that is joined";
            self.report(ErrorCode::E0415, span, message, "joined here", help);
            return Val { unknown: true, ..a };
        }
        let elem = a.elem.meet(b.elem);
        let outer = merged(&[&a, &b]);
        let (a, b) = (self.cast(a, elem, span), self.cast(b, elem, span));
        let extent = |it: &Val| match it.position(axis) {
            Some(place) => it.inner[place].1.clone(),
            None if it.unknown => Size::Opaque,
            None => Size::number(1),
        };
        let size = extent(&a).plus(&extent(&b), 1);
        let known = if a.unknown { &b } else { &a };
        let mut inner: Vec<(u32, Size)> =
            known.inner.iter().filter(|it| it.0 != axis).cloned().collect();
        let place = inner.iter().filter(|it| it.0 < axis).count();
        inner.insert(place, (axis, size));
        let neither = a.position(axis).is_none() && b.position(axis).is_none();
        let (x, y) = (self.written(&a, span), self.written(&b, span));
        let code = if neither && !a.unknown && !b.unknown {
            self.slices(x, y, place, inner.len(), outer.is_empty(), span)
        } else {
            let slot = self.axis(place);
            self.b.bracket_call("join", slot, vec![x, y], span)
        };
        Val { code: Code::Plain(code), elem, inner, outer, unknown: false }
    }

    /// Two slices side by side along a new axis.
    fn slices(
        &mut self,
        x: ExprId,
        y: ExprId,
        place: usize,
        rank: usize,
        alone: bool,
        span: Span,
    ) -> ExprId {
        let both = self.b.expr(ExprKind::Array(vec![x, y].into()), span);
        if place == 0 {
            return both;
        }
        let array = named(&self.scope.taken.fresh("t"), span);
        let mut stmts = vec![self.b.let_(array, both, span)];
        let axes: Vec<Name> = (0..rank)
            .map(|at| named(&self.scope.taken.fresh(if at == place { "side" } else { "a" }), span))
            .collect();
        let mut slots = vec![self.b.path(axes[place].sym.as_str(), span)];
        for (at, axis) in axes.iter().enumerate() {
            if at != place {
                slots.push(self.b.path(axis.sym.as_str(), span));
            }
        }
        let base = self.b.path(array.sym.as_str(), span);
        let body = self.b.index(base, slots, span);
        let name = named(&self.scope.taken.fresh("p"), span);
        let left = axes.into_iter().map(|it| (it, None)).collect();
        stmts.push(self.b.clause(name, left, body, span));
        let code = self.b.path(name.sym.as_str(), span);
        if alone {
            self.scope.stmts.append(&mut stmts);
            code
        } else {
            self.b.block(stmts, code, span)
        }
    }
}
