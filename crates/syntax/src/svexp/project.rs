//! Outer axes: `Typ`, `Proj`, and reductions over them.

use super::axes::{Code, Limit, Projected, Val, add_limits, described};
use super::translate::Translator;
use super::tree::{Node, Op};
use crate::ast::{Ast, BinaryOp, ExprId, ExprKind, SlotKind};
use crate::notation::Elem;
use crate::notation::build::named;
use crate::notation::names::readable;
use crate::notation::size::Size;
use ein_base::{Code as ErrorCode, Name, Span};

impl Translator<'_> {
    /// The index variable of an outer axis.
    fn index(&mut self, axis: u32, span: Span) -> Name {
        let name = match self.scope.indices.get(&axis) {
            Some(name) => name.clone(),
            None => {
                let wanted = match axis {
                    7 => "i".to_owned(),
                    8 => "j".to_owned(),
                    9 => "k".to_owned(),
                    _ => format!("i{axis}"),
                };
                let name = self.scope.taken.fresh(&wanted);
                self.scope.indices.insert(axis, name.clone());
                name
            }
        };
        named(&name, span)
    }

    /// A size that can be read off an array.
    pub(super) fn source(&mut self, name: &str, place: usize) -> Size {
        let size = self.sizes.fresh();
        if let Size::Sum(terms, _) = &size
            && let [(var, _)] = terms[..]
        {
            self.sources.insert(var, (name.to_owned(), place));
        }
        size
    }

    /// The value under a name of its own.
    pub(super) fn stated(&mut self, value: Val, name: &str, span: Span) -> Val {
        let text = self.scope.taken.fresh(&readable(name));
        let stmt = match value.code {
            Code::Plain(code) => self.b.let_(named(&text, span), code, span),
            Code::Projected(axes, body) => {
                let slots = axes.into_iter().map(|it| (it.index, it.domain)).collect();
                self.b.clause(named(&text, span), slots, body, span)
            }
        };
        self.scope.stmts.push(stmt);
        let inner = value
            .inner
            .into_iter()
            .enumerate()
            .map(|(at, (axis, size))| match size {
                Size::Opaque => (axis, self.source(&text, at)),
                size => (axis, size),
            })
            .collect();
        let code = Code::Plain(self.b.path(&text, span));
        Val { code, inner, ..value }
    }

    /// The expression of a value; a projection that is not written yet gets a name.
    pub(super) fn written(&mut self, value: &Val, span: Span) -> ExprId {
        match &value.code {
            Code::Plain(code) => *code,
            Code::Projected(axes, body) => {
                let name = named(&self.scope.taken.fresh("p"), span);
                let slots = axes.iter().map(|it| (it.index, it.domain)).collect();
                let stmt = self.b.clause(name, slots, *body, span);
                let path = self.b.path(name.sym.as_str(), span);
                if value.outer.is_empty() {
                    self.scope.stmts.push(stmt);
                    path
                } else {
                    self.b.block(vec![stmt], path, span)
                }
            }
        }
    }

    /// The extent of an axis of an array.
    pub(super) fn extent(&mut self, array: ExprId, place: usize, span: Span) -> ExprId {
        if place == 0 {
            return self.b.call_path("len", vec![array], span);
        }
        let shape = self.b.expr(ExprKind::Field(array, named("shape", span)), span);
        let place = self.b.int(i64::try_from(place).unwrap_or(0), span);
        self.b.index(shape, vec![place], span)
    }

    /// `Typ inner outer e`
    pub(super) fn typ(&mut self, inner: u32, outer: u32, node: &Node, span: Span) -> Val {
        let mut value = self.value(node);
        let Some(place) = value.position(inner) else {
            if !value.unknown {
                self.no_axis(inner, &value, node.span);
                value = self.spoiled(value, span);
            }
            value.outer.push((outer, Vec::new()));
            value.unknown = true;
            return value;
        };
        let mut base = self.written(&value, span);
        if value.outer.is_empty() && !is_simple(&self.b.ast, base) {
            value = self.stated(Val { code: Code::Plain(base), ..value }, "t", node.span);
            base = self.written(&value, span);
        }
        let (_, size) = value.inner.remove(place);
        let code = self.extent(base, place, span);
        let limit = Limit { size, code };
        match value.outer.iter_mut().find(|it| it.0 == outer) {
            Some(known) => add_limits(&mut known.1, &[limit]),
            None => value.outer.push((outer, vec![limit])),
        }
        let index = self.index(outer, span);
        let index = self.b.path(index.sym.as_str(), span);
        let code = Code::Plain(self.indexed(base, place, index, span));
        Val { code, ..value }
    }

    /// `base[.., index]`; further indices of what is indexed already join the others.
    fn indexed(&mut self, base: ExprId, place: usize, index: ExprId, span: Span) -> ExprId {
        let whole = |it: &Self, slot: ExprId| {
            matches!(it.b.ast.expr[slot].kind, ExprKind::Range { lo: None, hi: None, .. })
        };
        let (base, mut slots) = match &self.b.ast.expr[base].kind {
            ExprKind::Index { base, slots } => {
                let slots = slots.iter().filter_map(|it| match it.kind {
                    SlotKind::Expr(slot) => Some(slot),
                    _ => None,
                });
                (*base, slots.collect())
            }
            _ => (base, Vec::new()),
        };
        let mut seen = 0;
        for slot in &mut slots {
            if whole(self, *slot) {
                if seen == place {
                    *slot = index;
                    return self.b.index(base, slots, span);
                }
                seen += 1;
            }
        }
        for _ in seen..place {
            slots.push(self.b.whole_axis(span));
        }
        slots.push(index);
        self.b.index(base, slots, span)
    }

    pub(super) fn no_axis(&mut self, axis: u32, value: &Val, span: Span) {
        let message = format!("this value has no axis {axis}: {}", described(value));
        let help = "name an axis that the value has";
        self.report(ErrorCode::E0414, span, message, "no such axis", help);
    }

    /// `Proj outer inner e`
    pub(super) fn proj(&mut self, outer: u32, inner: u32, node: &Node, span: Span) -> Val {
        self.scope.projections += 1;
        let mut value = self.value(node);
        self.scope.projections -= 1;
        let Some(at) = value.outer.iter().position(|it| it.0 == outer) else {
            if !value.unknown {
                let message = format!("this value is not typical along axis {outer}");
                let help = format!("take its typical components first: `Typ {outer} 7 …`");
                self.report(ErrorCode::E0414, node.span, message, "not typical", &help);
                return self.spoiled(value, span);
            }
            return value;
        };
        if value.position(inner).is_some() {
            let message = format!("this value already has axis {inner}");
            let help = "project to an axis that is free";
            self.report(ErrorCode::E0415, node.span, message, "one axis twice", help);
            return self.spoiled(value, span);
        }
        let (_, limits) = value.outer.remove(at);
        if value.unknown {
            return value;
        }
        let (size, domain) = self.least(&limits, span);
        let index = self.index(outer, span);
        let place = value.inner.iter().filter(|it| it.0 < inner).count();
        value.inner.insert(place, (inner, size));
        let own = Projected { axis: inner, index, domain };
        match value.code {
            Code::Plain(body) if value.inner.len() == 1 => {
                Val { code: Code::Projected(vec![own], body), ..value }
            }
            Code::Projected(mut axes, body) if axes.iter().all(|it| it.index.sym != index.sym) => {
                let place = axes.iter().filter(|it| it.axis < inner).count();
                axes.insert(place, own);
                Val { code: Code::Projected(axes, body), ..value }
            }
            _ => self.array_body(value, own, place, span),
        }
    }

    /// A projection whose components are arrays: their axes follow, and are brought into order.
    fn array_body(&mut self, value: Val, own: Projected, place: usize, span: Span) -> Val {
        let body = match &value.code {
            Code::Plain(body) => *body,
            Code::Projected(..) => {
                // Its own index hides the one around it, so it must be complete before that.
                let inside = Val { outer: vec![(own.axis, Vec::new())], ..value.clone() };
                self.written(&inside, span)
            }
        };
        let name = named(&self.scope.taken.fresh("p"), span);
        let mut stmts = vec![self.b.clause(name, vec![(own.index, own.domain)], body, span)];
        let mut code = self.b.path(name.sym.as_str(), span);
        if place > 0 {
            let axes: Vec<Name> = (0..value.inner.len())
                .map(|at| match at {
                    _ if at == place => own.index,
                    _ => named(&self.scope.taken.fresh("a"), span),
                })
                .collect();
            let mut slots = vec![self.b.path(own.index.sym.as_str(), span)];
            for (at, axis) in axes.iter().enumerate() {
                if at != place {
                    slots.push(self.b.path(axis.sym.as_str(), span));
                }
            }
            let body = self.b.index(code, slots, span);
            let name = named(&self.scope.taken.fresh("p"), span);
            let left = axes.into_iter().map(|it| (it, None)).collect();
            stmts.push(self.b.clause(name, left, body, span));
            code = self.b.path(name.sym.as_str(), span);
        }
        if value.outer.is_empty() {
            self.scope.stmts.append(&mut stmts);
        } else {
            code = self.b.block(stmts, code, span);
        }
        Val { code: Code::Plain(code), ..value }
    }

    /// The least of some limits, and the domain that says so where it is not the only one.
    fn least(&mut self, limits: &[Limit], span: Span) -> (Size, Option<ExprId>) {
        // Limits at a known distance from each other are one: the least of them.
        let mut least: Vec<Limit> = Vec::new();
        let mut cut = false;
        for limit in limits {
            let near = |it: &&mut Limit| limit.size.distance(&it.size).is_some();
            match least.iter_mut().find(near) {
                Some(known) => {
                    let distance = limit.size.distance(&known.size).unwrap_or(0);
                    cut |= distance != 0;
                    if distance < 0 {
                        *known = limit.clone();
                    }
                }
                None => least.push(limit.clone()),
            }
        }
        let size = match &least[..] {
            [only] => only.size.clone(),
            _ => Size::Opaque,
        };
        if least.len() < 2 && !cut {
            return (size, None);
        }
        let mut codes: Vec<ExprId> = Vec::new();
        for limit in &least {
            codes.push(match self.size_code(&limit.size, span) {
                Some(code) => code,
                None => limit.code,
            });
        }
        let mut codes = codes.into_iter();
        let Some(mut code) = codes.next() else { return (size, None) };
        for next in codes {
            code = self.b.call_path("min", vec![code, next], span);
        }
        (size, Some(self.b.range_to(code, span)))
    }

    /// A size as an expression, if it can be read off arrays.
    fn size_code(&mut self, size: &Size, span: Span) -> Option<ExprId> {
        let Size::Sum(terms, number) = size else { return None };
        let mut sum: Option<ExprId> = None;
        for (var, factor) in terms {
            let (name, place) = self.sources.get(var)?.clone();
            if *factor != 1 {
                return None;
            }
            let array = self.b.path(&name, span);
            let term = self.extent(array, place, span);
            sum = Some(match sum {
                Some(sum) => self.b.binary(BinaryOp::Add, sum, term, span),
                None => term,
            });
        }
        Some(match sum {
            None => self.b.int(*number, span),
            Some(sum) if *number == 0 => sum,
            Some(sum) => {
                let op = if *number < 0 { BinaryOp::Sub } else { BinaryOp::Add };
                let number = self.b.int(number.saturating_abs(), span);
                self.b.binary(op, sum, number, span)
            }
        })
    }

    /// `Red op axis e`
    pub(super) fn red(&mut self, op: Op, axis: u32, node: &Node, span: Span) -> Val {
        self.scope.projections += 1;
        let mut value = self.value(node);
        self.scope.projections -= 1;
        let (name, elem) = match op {
            Op::Mul => ("prod", value.elem),
            Op::Min => ("min", value.elem),
            Op::Max => ("max", value.elem),
            Op::And => ("all", Elem::Bool),
            Op::Or => ("any", Elem::Bool),
            _ => ("sum", value.elem),
        };
        if !value.unknown && value.position(axis).is_none() {
            self.no_axis(axis, &value, node.span);
            value = self.spoiled(value, span);
        } else if value.inner.len() > 1 {
            let message =
                format!("a vector along axis {axis} is reduced, but {}", described(&value));
            let help = "reduce along an axis of the value, one axis at a time";
            self.report(ErrorCode::E0405, node.span, message, "reduced here", help);
            value = self.spoiled(value, span);
        }
        let code = match &value.code {
            Code::Projected(axes, body) if axes.len() == 1 => {
                let Projected { index, domain, .. } = axes[0];
                let slot = match domain {
                    Some(domain) => SlotKind::Domain { name: index, domain },
                    None => SlotKind::Expr(self.b.path(index.sym.as_str(), span)),
                };
                self.b.bracket_call(name, slot, vec![*body], span)
            }
            _ => {
                let whole = self.written(&value, span);
                self.b.call_path(name, vec![whole], span)
            }
        };
        Val { outer: value.outer, ..Val::scalar(code, elem) }
    }
}

/// What may be indexed in place: names and pieces of them.
fn is_simple(ast: &Ast, code: ExprId) -> bool {
    match &ast.expr[code].kind {
        ExprKind::Path(_) => true,
        ExprKind::BracketCall { callee, args, .. } => {
            let pieces = ["first", "rest", "last", "init"];
            let piece = matches!(&ast.expr[*callee].kind, ExprKind::Path(path)
                if path.first().is_some_and(|it| pieces.contains(&it.sym.as_str())));
            piece && args.iter().all(|it| is_simple(ast, it.value))
        }
        _ => false,
    }
}
