//! Reads: what may stand at an axis, and what the read gives.
//!
//! Which names an axis accepts is the business of `coordinates`.

use super::{Cx, error};
use crate::hir::{self, ExprId, ExprKind as H, LocalKind, Slot};
use ein_base::{Code, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::{Axis, Bounds, Expr, ExprKind, HostOp, Type};

mod coordinates;
mod select;

/// A slot after checking.
enum Part {
    Point(Expr),
    Slice(Option<Expr>, Option<Expr>),
    /// A slice of which every so many positions count.
    Stepped(Option<Expr>, Option<Expr>, Expr),
    Gather(Expr),
    /// The positions at which an array of truths holds.
    Mask(Expr),
}

impl Cx<'_> {
    pub(super) fn index(&mut self, base: Expr, slots: &[Slot], span: Span) -> Expr {
        for slot in slots {
            if let Slot::Pack(local, at) = slot
                && !self.pack_is_bound(*local, *at)
            {
                return Expr::error(span);
            }
        }
        if !base.ty.is_array() && self.reads_nothing(slots) {
            // A definition over packs without axes is a scalar.
            return base;
        }
        match &base.ty {
            Type::Array(_) => {}
            Type::Str | Type::Jagged(..) => return self.element(base, slots, span),
            Type::Tuple(_) => {
                let d = error(Code::E0512, span, "a tuple is not indexed with brackets")
                    .here("indexed like an array")
                    .label(base.span, format!("this is `{}`", self.show(&base.ty)))
                    .help("components are reached by position: `t.0`");
                return self.fail(d);
            }
            ty if ty.has_error() => {
                return Expr::error(span);
            }
            // A clause with fewer indices than others: its value is read at those that it lacks.
            ty if base.span == span => {
                let have = self.show(ty);
                let message = "the clauses of a definition have different numbers of indices";
                let d = error(Code::E0417, span, message)
                    .here(format!("`{have}` has no axes for the indices that this clause lacks"))
                    .help("write all clauses with the same number of indices, or an array here");
                return self.fail(d);
            }
            ty => {
                let have = self.show(ty);
                let d = error(Code::E0404, span, format!("`{have}` cannot be indexed"))
                    .here("indexed like an array")
                    .label(base.span, format!("this is `{have}`"))
                    .help("only arrays and strings have positions");
                return self.fail(d);
            }
        }
        self.solve_pack_read(&base, slots, span);
        // What counts from the end needs an extent that has a value here.
        let base = if self.counts_back(slots) { self.settle_expr(base) } else { base };
        let mut parts = Vec::new();
        for slot in slots {
            match slot {
                Slot::Expr(id) => {
                    let position = parts.len();
                    match self.part(&base, position, *id) {
                        Some(part) => parts.push(part),
                        None => return Expr::error(span),
                    }
                }
                Slot::Stepped(range, step) => {
                    let position = parts.len();
                    match self.stepped_part(&base, position, *range, *step) {
                        Some(part) => parts.push(part),
                        None => return Expr::error(span),
                    }
                }
                Slot::Pack(local, at) => {
                    for index in self.pack_members(*local) {
                        let position = parts.len();
                        let value = self.index_expr(index, *at);
                        self.check_coordinate(&base, position, &value);
                        parts.push(Part::Point(value));
                    }
                }
            }
        }
        if parts.len() > base.ty.rank() {
            return self.too_many(&base, parts.len(), span);
        }
        self.assemble(base, parts, span)
    }

    /// Whether all indices are packs that stand for no axis.
    fn reads_nothing(&mut self, slots: &[Slot]) -> bool {
        slots.iter().all(|slot| match slot {
            Slot::Pack(local, _) => self.pack_members(*local).is_empty(),
            Slot::Expr(_) | Slot::Stepped(..) => false,
        })
    }

    fn too_many(&mut self, base: &Expr, count: usize, span: Span) -> Expr {
        let rank = base.ty.rank();
        let name = self.quote(base);
        let mut d = error(
            Code::E0404,
            span,
            format!("{name} has {rank} {}, but is read with {count} indices", axes_word(rank)),
        )
        .here(format!("{count} indices"))
        .help(format!("leave out {} of the indices", count - rank));
        if let Some(at) = self.declared_at(base) {
            d = d.label(at, format!("{name} is `{}`", self.show(&base.ty)));
        }
        self.fail(d)
    }

    /// One slot of a read.
    fn part(&mut self, base: &Expr, position: usize, id: ExprId) -> Option<Part> {
        let hir = self.hir;
        let node = &hir.exprs[id];
        match &node.kind {
            H::Range { lo, hi, inclusive } => {
                let lo = match lo {
                    Some(lo) => {
                        Some(self.slice_end(base, position, *lo, "the start of a slice")?)
                    }
                    None => None,
                };
                let hi = match hi {
                    Some(hi) => Some(self.slice_end(base, position, *hi, "the end of a slice")?),
                    None => None,
                };
                let hi = hi.map(|hi| if *inclusive { self.plus_one(hi) } else { hi });
                return Some(Part::Slice(lo, hi));
            }
            _ => {
                if let Some(back) = self.back_from_end(id) {
                    return self.index_from_end(base, position, back, node.span).map(Part::Point);
                }
            }
        }
        let value = self.expr(id, Some(&Type::I32));
        if value.ty.has_error() {
            return None;
        }
        if let Type::Array(array) = &value.ty
            && array.axes.len() == 1
            && array.elem.scalar().is_some_and(|ty| ty.is_int())
        {
            return Some(Part::Gather(value));
        }
        if let Type::Array(array) = &value.ty
            && array.elem == Type::BOOL
        {
            return Some(Part::Mask(value));
        }
        let value = self.expect_integer(value, "an index");
        if value.ty.has_error() {
            return None;
        }
        self.check_coordinate(base, position, &value);
        self.warn_if_hidden(base, position, id);
        Some(Part::Point(value))
    }

    /// Warns where a value stands in the place of the coordinate whose name it bears. A parameter
    /// or a name of `where` was meant to be one.
    fn warn_if_hidden(&mut self, base: &Expr, position: usize, id: ExprId) {
        let hir = self.hir;
        let H::Local(local) = &hir.exprs[id].kind else { return };
        let local = &hir.locals[*local];
        let coord = base.ty.axes().get(position).and_then(|axis| axis.coord);
        let is_let = matches!(local.kind, LocalKind::Let | LocalKind::Global);
        if !is_let || !coord.is_some_and(|it| it.contract && it.name == local.name.sym) {
            return;
        }
        let name = local.name.sym;
        let d = error(
            Code::W0302,
            hir.exprs[id].span,
            format!("`{name}` is a value here and hides the coordinate `{name}`"),
        )
        .here("reads one position")
        .label(local.name.span, "bound here")
        .help(format!("give the value another name than `{name}`"));
        let d = self.with_declaration(d, base);
        self.report_at(d);
    }

    /// An end of a slice; a negative literal counts from the end of the axis.
    fn slice_end(&mut self, base: &Expr, position: usize, id: ExprId, what: &str) -> Option<Expr> {
        match self.back_from_end(id) {
            Some(back) => {
                let span = self.hir.exprs[id].span;
                self.index_from_end(base, position, back, span)
            }
            None => Some(self.integer(id, what)),
        }
    }

    /// Whether an index, or an end of a slice, counts from the end.
    fn counts_back(&self, slots: &[Slot]) -> bool {
        let back = |id: &ExprId| self.back_from_end(*id).is_some();
        slots.iter().any(|slot| match slot {
            Slot::Expr(id) | Slot::Stepped(id, _) => match &self.hir.exprs[*id].kind {
                H::Range { lo, hi, .. } => lo.iter().chain(hi).any(back),
                _ => back(id),
            },
            Slot::Pack(..) => false,
        })
    }

    /// The number of a negative literal, without its sign.
    fn back_from_end(&self, id: ExprId) -> Option<u64> {
        let H::Unary(hir::UnaryOp::Neg, inner) = &self.hir.exprs[id].kind else { return None };
        match self.hir.exprs[*inner].kind {
            H::Int(value, _) => Some(value),
            _ => None,
        }
    }

    /// `a[-1]`: a negative literal counts from the end.
    fn index_from_end(
        &mut self,
        base: &Expr,
        position: usize,
        value: u64,
        span: Span,
    ) -> Option<Expr> {
        let size = base.ty.axes().get(position)?.size.clone();
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        if size.as_constant().is_some_and(|extent| value > extent) {
            let d = error(
                Code::E0403,
                span,
                format!(
                    "index -{value} is out of bounds: axis {position} of {} has extent {}",
                    self.quote(base),
                    self.show_size(&size)
                ),
            )
            .here("counts from the end")
            .help(format!("the first element is `-{}`", self.show_size(&size)));
            self.report_at(d);
            return None;
        }
        Some(Expr::size(size.offset(-value), span))
    }

    fn assemble(&mut self, base: Expr, parts: Vec<Part>, span: Span) -> Expr {
        if parts.iter().all(|part| matches!(part, Part::Point(_))) {
            let indices = parts
                .into_iter()
                .filter_map(|part| match part {
                    Part::Point(value) => Some(value),
                    Part::Slice(..) | Part::Stepped(..) | Part::Gather(_) | Part::Mask(_) => None,
                })
                .collect();
            return self.read_merged(base, indices, span);
        }
        let first = parts.iter().take_while(|part| matches!(part, Part::Point(_))).count();
        if first > 0 {
            // `c[n - 1, 0..2]` is `c[n - 1][0..2]`: a read of one step.
            let mut parts = parts;
            let rest = parts.split_off(first);
            let row = self.assemble(base, parts, span);
            return match row.ty.has_error() {
                true => row,
                false => self.assemble(row, rest, span),
            };
        }
        if let [Part::Mask(mask)] = parts.as_slice()
            && mask.ty.rank() > 1
        {
            return self.mask_of_rank(base, mask.clone(), span);
        }
        let mut value = base;
        let mut points = Vec::new();
        for (axis, part) in parts.into_iter().enumerate() {
            if value.ty.has_error() {
                return value;
            }
            match part {
                Part::Point(index) => points.push((axis, index)),
                Part::Slice(lo, hi) => value = self.slice(value, axis, lo, hi, span),
                Part::Stepped(lo, hi, step) => {
                    value = self.slice(value, axis, lo, hi, span);
                    value = self.every(value, axis, step, span);
                }
                Part::Gather(indices) => value = self.gather(value, axis, indices, span),
                Part::Mask(mask) => value = self.mask(value, axis, mask, span),
            }
        }
        if points.is_empty() || value.ty.has_error() {
            return value;
        }
        let front: Vec<usize> = points.iter().map(|(axis, _)| *axis).collect();
        let value = self.permute_front(value, &front, span);
        let indices = points.into_iter().map(|(_, index)| index).collect();
        self.read_merged(value, indices, span)
    }

    /// The given axes moved to the front.
    pub(super) fn permute_front(&mut self, value: Expr, front: &[usize], span: Span) -> Expr {
        let rank = value.ty.rank();
        let mut order = front.to_vec();
        order.extend((0..rank).filter(|axis| !front.contains(axis)));
        self.permute(value, order, span)
    }

    /// The axes in another order.
    pub(super) fn permute(&mut self, value: Expr, order: Vec<usize>, span: Span) -> Expr {
        if order.iter().enumerate().all(|(position, axis)| position == *axis) {
            return value;
        }
        let axes: Vec<Axis> = order.iter().map(|axis| value.ty.axes()[*axis].clone()).collect();
        let ty = Type::array(value.ty.elem().clone(), axes);
        Expr::new(ExprKind::Permute { base: value, order }, ty, span)
    }

    /// A read; `a[i][j]` is `a[i, j]`.
    fn read_merged(&mut self, base: Expr, indices: Vec<Expr>, span: Span) -> Expr {
        if let ExprKind::Index { base: inner, indices: before } = &*base.kind {
            let mut all: Vec<Expr> = before.iter().map(|index| index.value.clone()).collect();
            all.extend(indices);
            return self.read(inner.clone(), all, Bounds::Checked, span);
        }
        if let (ExprKind::Array(items), [index]) = (&*base.kind, indices.as_slice())
            && let Some(position) = self.to_size(index).and_then(|size| size.as_constant())
            && let Some(item) = usize::try_from(position).ok().and_then(|at| items.get(at))
            && matches!(&*item.kind, ExprKind::Size(_) | ExprKind::Const(_))
        {
            // `x.shape[0]` is a size.
            return item.clone();
        }
        if matches!(base.ty.elem(), Type::Template(..)) {
            let message = format!("{} holds functions, which cannot be indexed", self.quote(&base));
            return self.fail(
                error(Code::E0510, span, message)
                    .here("functions differ in code, so `[…]` cannot choose among them")
                    .help("call all of them, `[f, g](x)`, or say what they take and give: `let fs: [(f32) -> f32] = …`"),
            );
        }
        self.read(base, indices, Bounds::Checked, span)
    }

    fn slice(
        &mut self,
        base: Expr,
        axis: usize,
        lo: Option<Expr>,
        hi: Option<Expr>,
        span: Span,
    ) -> Expr {
        let base = self.settle_expr(base);
        let extent = base.ty.axes()[axis].size.clone();
        let from = lo.as_ref().map_or(Some(size::Expr::zero()), |lo| self.to_size(lo));
        let to = hi.as_ref().map_or(Some(extent.clone()), |hi| self.to_size(hi));
        let size = match (&from, &to) {
            (Some(from), Some(to)) => {
                let negative = |size: &size::Expr| size.as_constant().is_some_and(|it| it < 0);
                if negative(from) || negative(&extent.sub(to)) || negative(&to.sub(from)) {
                    let d = error(
                        Code::E0403,
                        span,
                        format!(
                            "the slice {}..{} leaves {}: axis {axis} has extent {}",
                            self.show_size(from),
                            self.show_size(to),
                            self.quote(&base),
                            self.show_size(&extent)
                        ),
                    )
                    .here("out of bounds")
                    .help(format!("slice within 0..{}", self.show_size(&extent)));
                    return self.fail(d);
                }
                to.sub(from)
            }
            _ => self.unknown_size(true),
        };
        let mut axes = base.ty.axes().to_vec();
        axes[axis].size = size;
        let ty = Type::array(base.ty.elem().clone(), axes);
        Expr::new(ExprKind::Slice { base, axis, lo, hi }, ty, span)
    }

    fn gather(&mut self, base: Expr, axis: usize, indices: Expr, span: Span) -> Expr {
        let mut axes = base.ty.axes().to_vec();
        axes[axis] = indices.ty.axes()[0].clone();
        let ty = Type::array(base.ty.elem().clone(), axes);
        let name = self.show_name(&base);
        Expr::new(ExprKind::Gather { base, axis, indices, name }, ty, span)
    }

    /// A character of a string, or an element of a jagged array.
    fn element(&mut self, base: Expr, slots: &[Slot], span: Span) -> Expr {
        let mut value = base;
        for slot in slots {
            let Slot::Expr(id) = slot else {
                return self.fail(
                    error(Code::E0404, span, "a pack cannot index this value")
                        .here("not a rectangular array")
                        .help("use one index at a time"),
                );
            };
            let hir = self.hir;
            let index = match &hir.exprs[*id].kind {
                H::Unary(hir::UnaryOp::Neg, inner)
                    if matches!(hir.exprs[*inner].kind, H::Int(..)) =>
                {
                    let back = self.integer(*id, "an index");
                    let value = self.atomise(value.clone());
                    let length =
                        Expr::new(ExprKind::Host(HostOp::Len, vec![value]), Type::I32, span);
                    Expr::new(
                        ExprKind::Binary(ein_scalar::BinaryOp::Add, length, back),
                        Type::I32,
                        span,
                    )
                }
                _ => self.integer(*id, "an index"),
            };
            if index.ty.has_error() {
                return Expr::error(span);
            }
            let (op, ty) = match &value.ty {
                Type::Str => (HostOp::CharAt, Type::Str),
                Type::Jagged(elem, 2) => {
                    // Rows that an index chooses differ from one step to the next.
                    let size = self.unknown_size(self.index_deps(&index).is_empty());
                    (HostOp::ElementAt, Type::array((**elem).clone(), vec![super::anonymous(size)]))
                }
                Type::Jagged(elem, depth) => {
                    (HostOp::ElementAt, Type::Jagged(elem.clone(), depth - 1))
                }
                Type::Array(_) => {
                    let var = self.bind(Symbol::intern(super::vars::TEMPORARY), value);
                    let base = self.var_expr(var, span);
                    value = self.read(base, vec![index], Bounds::Checked, span);
                    continue;
                }
                other => {
                    let have = self.show(other);
                    return self.fail(
                        error(Code::E0404, span, format!("`{have}` cannot be indexed further"))
                            .here("too many indices")
                            .help("leave out the last index"),
                    );
                }
            };
            value = Expr::new(ExprKind::Host(op, vec![value, index]), ty, span);
        }
        value
    }
}

/// `axis` or `axes`.
pub(super) fn axes_word(rank: usize) -> &'static str {
    if rank == 1 { "axis" } else { "axes" }
}
