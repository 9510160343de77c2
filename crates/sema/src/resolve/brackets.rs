//! What brackets and calls mean: reductions, coordinate calls, indices, `extent`.

use super::builtins::Known;
use super::lower::{Found, Lower, Pos};
use super::unknown::Want;
use super::{ItemKind, Target};
use crate::hir::{
    Arg, Binder, Builtin, CoordArg, ExprId, ExprKind, LocalKind, ReduceOp, Slot, WhereItem,
};
use ein_base::{Code, Diagnostic, Name, Span};
use ein_syntax::ast::{self, SlotKind};

/// What stands before a bracket.
enum Head {
    /// A reduction.
    Reduce(ReduceOp, Span),
    /// Something that takes coordinates.
    Coords(ExprId),
    /// A local, which the bracket may index or pass coordinates to.
    Local(ExprId),
    /// An array.
    Array(ExprId),
    /// Something that was reported.
    Error,
}

impl<'r> Lower<'r, '_> {
    /// `f(x)`, perhaps with a first argument from a pipeline.
    pub(super) fn call(
        &mut self,
        callee: ast::ExprId,
        first: Option<ExprId>,
        args: &'r [ast::Arg],
        pos: Pos,
    ) -> ExprKind {
        if let ast::ExprKind::Path(path) = &self.ast.expr[callee].kind
            && let [name] = path[..]
            && name.sym == self.r.builtins.words.extent
            && self.find(name.sym, false) == Found::Target(Target::Known(Known::Extent))
        {
            return self.extent(name, first, args, pos);
        }
        let callee = self.operand(callee, Want::Function);
        let args = self.args(first, args, pos);
        ExprKind::Call { callee, args: args.into() }
    }

    fn args(&mut self, first: Option<ExprId>, args: &'r [ast::Arg], pos: Pos) -> Vec<Arg> {
        let mut lowered = Vec::with_capacity(args.len() + usize::from(first.is_some()));
        lowered.extend(first.map(|value| Arg { name: None, value }));
        for arg in args {
            lowered.push(Arg { name: arg.name, value: self.expr(arg.value, pos.inner()) });
        }
        lowered
    }

    /// `extent(c)`, `extent(x, c)`
    fn extent(
        &mut self,
        name: Name,
        first: Option<ExprId>,
        args: &'r [ast::Arg],
        pos: Pos,
    ) -> ExprKind {
        let count = args.len() + usize::from(first.is_some());
        let (Some((coord, rest)), 1 | 2) = (args.split_last(), count) else {
            self.args(None, args, pos);
            self.report(
                Diagnostic::new(
                    Code::E0508,
                    name.span,
                    format!("`extent` takes one or two arguments, not {count}"),
                )
                .here(format!("{count} arguments"))
                .help("write `extent(c)` or `extent(x, c)`"),
            );
            return ExprKind::Error;
        };
        let of = first.or_else(|| rest.first().map(|arg| self.expr(arg.value, pos.inner())));
        let expr = &self.ast.expr[coord.value];
        if let ast::ExprKind::Path(path) = &expr.kind
            && let [coord] = path[..]
        {
            return ExprKind::Extent { of, coord: self.coord_ref(coord) };
        }
        if !matches!(expr.kind, ast::ExprKind::Error) {
            let text = "`extent` takes the name of a coordinate";
            self.report(
                Diagnostic::new(Code::E0212, expr.span, text)
                    .here("this is no name")
                    .help("the extents of an array are `x.shape`"),
            );
        }
        ExprKind::Error
    }

    /// `f[c](x)`, whatever it turns out to be.
    pub(super) fn bracket_call(
        &mut self,
        id: ast::ExprId,
        callee: ast::ExprId,
        slots: &'r [ast::Slot],
        first: Option<ExprId>,
        args: &'r [ast::Arg],
        pos: Pos,
    ) -> ExprKind {
        match self.head(callee, slots) {
            Head::Reduce(op, op_span) => self.reduce(id, (op, op_span), slots, first, args, pos),
            Head::Coords(callee) => {
                let coords = slots.iter().map(|slot| self.coord_arg(slot)).collect();
                let args = self.args(first, args, pos);
                ExprKind::CoordCall { callee, coords, args: args.into() }
            }
            Head::Local(local) if self.passes_coords(slots) => {
                let coords = slots.iter().map(|slot| self.coord_arg(slot)).collect();
                let args = self.args(first, args, pos);
                ExprKind::CoordCall { callee: local, coords, args: args.into() }
            }
            Head::Local(base) | Head::Array(base) => {
                let end = slots.last().map_or(self.span(callee), |slot| slot.span);
                let span = self.span(callee).to(end);
                let slots = self.slots(slots);
                let callee = self.push(ExprKind::Index { base, slots: slots.into() }, span);
                let args = self.args(first, args, pos);
                ExprKind::Call { callee, args: args.into() }
            }
            Head::Error => {
                // The names in the bracket may have been indices: take them as such.
                let mark = self.scopes.mark();
                for slot in slots {
                    match &slot.kind {
                        SlotKind::Expr(expr) => {
                            if let Some(name) = self.bare(*expr) {
                                self.declare(name, LocalKind::Index);
                            }
                        }
                        SlotKind::Domain { name, .. } => {
                            self.declare(*name, LocalKind::Index);
                        }
                        SlotKind::Pack(name) => {
                            self.declare(*name, LocalKind::Pack);
                        }
                        SlotKind::Group(_)
                        | SlotKind::Named { .. }
                        | SlotKind::Axis(_)
                        | SlotKind::Stepped { .. } => {}
                    }
                }
                self.args(first, args, pos);
                self.leave(mark);
                ExprKind::Error
            }
        }
    }

    /// The name that an expression is, if it is nothing else.
    pub(super) fn bare(&self, id: ast::ExprId) -> Option<Name> {
        match &self.ast.expr[id].kind {
            ast::ExprKind::Path(path) => match path[..] {
                [name] => Some(name),
                _ => None,
            },
            _ => None,
        }
    }

    /// The reduction that a bracketed call of this name is, if it is one. A function without
    /// brackets of its own (`std::math::max`) does not hide the reduction of its name.
    pub(super) fn reduction(&mut self, name: Name) -> Option<ReduceOp> {
        let Some(Known::Builtin(Builtin::Reduction(op))) =
            self.r.builtins.functions.get(&name.sym).copied()
        else {
            return None;
        };
        match self.find(name.sym, false) {
            Found::Target(Target::Known(_)) => Some(op),
            Found::Target(Target::Item(item)) => {
                (self.r.items[item].kind == ItemKind::Fn { coords: false }).then_some(op)
            }
            Found::Target(Target::Variant(..) | Target::Error)
            | Found::Local(..)
            | Found::Coord
            | Found::Nothing(_) => None,
        }
    }

    fn head(&mut self, callee: ast::ExprId, slots: &[ast::Slot]) -> Head {
        let expr = &self.ast.expr[callee];
        let Some(name) = self.bare(callee) else {
            if !matches!(expr.kind, ast::ExprKind::Path(_)) {
                return Head::Array(self.base(callee));
            }
            let callee = self.operand(callee, Want::Function);
            return self.head_of(callee);
        };
        let named = slots.iter().any(|slot| matches!(slot.kind, SlotKind::Named { .. }));
        if !named && let Some(op) = self.reduction(name) {
            return Head::Reduce(op, name.span);
        }
        let callee = self.operand(callee, Want::Function);
        self.head_of(callee)
    }

    fn head_of(&self, callee: ExprId) -> Head {
        match self.r.program.exprs[callee].kind {
            ExprKind::Error => Head::Error,
            ExprKind::Fn(_) | ExprKind::Builtin(_) => Head::Coords(callee),
            ExprKind::Local(_) => Head::Local(callee),
            _ => Head::Array(callee),
        }
    }

    /// Whether the bracket after a local passes coordinates rather than indexes it.
    fn passes_coords(&mut self, slots: &[ast::Slot]) -> bool {
        let mut values = true;
        for slot in slots {
            match &slot.kind {
                SlotKind::Expr(expr) => {
                    let Some(name) = self.bare(*expr) else { return false };
                    values &= match self.find(name.sym, true) {
                        Found::Local(..) => true,
                        Found::Target(Target::Item(item)) => {
                            self.r.items[item].kind == ItemKind::Const
                        }
                        Found::Target(_) | Found::Coord | Found::Nothing(_) => false,
                    };
                }
                SlotKind::Stepped { .. } => return false,
                SlotKind::Group(_)
                | SlotKind::Named { .. }
                | SlotKind::Axis(_)
                | SlotKind::Domain { .. }
                | SlotKind::Pack(_) => values = false,
            }
        }
        !values
    }

    fn reduce(
        &mut self,
        id: ast::ExprId,
        (op, op_span): (ReduceOp, Span),
        slots: &'r [ast::Slot],
        first: Option<ExprId>,
        args: &'r [ast::Arg],
        pos: Pos,
    ) -> ExprKind {
        let mark = self.scopes.mark();
        let mut binders = self.binders(op, slots);
        let items = self.plans.remove(&id);
        let items = items.map(|items| self.where_items(&items, pos));
        let args = self.args(first, args, pos);
        for binder in &mut binders {
            self.recover_domain(binder);
        }
        let body = match &args[..] {
            [arg] => arg.value,
            _ => {
                let text = format!("`{}[…]` takes one argument, not {}", op.as_str(), args.len());
                self.report(
                    Diagnostic::new(Code::E0508, op_span, text)
                        .here(format!("{} arguments", args.len()))
                        .help(format!("reduce one expression: `{}[i](…)`", op.as_str())),
                );
                self.error(op_span)
            }
        };
        if let Some(Arg { name: Some(name), .. }) = args.first() {
            let text = format!("the argument of `{}[…]` has no name", op.as_str());
            self.report(
                Diagnostic::new(Code::E0509, name.span, text)
                    .here("a named argument")
                    .help("pass it by position"),
            );
        }
        let body = match items {
            Some(items) => self.filtered(body, items),
            None => body,
        };
        self.leave(mark);
        ExprKind::Reduce { op, op_span, binders: binders.into(), body }
    }

    /// The body of a reduction under the items of a `where` that follows it.
    fn filtered(&mut self, body: ExprId, items: Vec<WhereItem>) -> ExprId {
        let span = self.r.program.exprs[body].span;
        self.push(ExprKind::Where { body, items: items.into(), otherwise: None }, span)
    }

    fn binders(&mut self, op: ReduceOp, slots: &'r [ast::Slot]) -> Vec<Binder> {
        let mut binders: Vec<Binder> = Vec::with_capacity(slots.len());
        for slot in slots {
            match &slot.kind {
                SlotKind::Expr(expr) => match self.bare(*expr) {
                    Some(name) => self.add_binder(name, false, None, &mut binders),
                    None => self.not_an_index(op, slot.span, *expr),
                },
                SlotKind::Domain { name, domain } => {
                    self.add_binder(*name, false, Some(*domain), &mut binders);
                }
                SlotKind::Pack(name) => self.add_binder(*name, true, None, &mut binders),
                SlotKind::Group(names) => {
                    let text = format!("`{}[…]` takes its indices one by one", op.as_str());
                    let list = names.iter().map(Name::to_string).collect::<Vec<_>>().join(", ");
                    self.report(Diagnostic::new(Code::E0101, slot.span, text).fix(
                        "without the parentheses",
                        slot.span,
                        list,
                    ));
                    for name in names {
                        self.add_binder(*name, false, None, &mut binders);
                    }
                }
                SlotKind::Named { .. } | SlotKind::Axis(_) | SlotKind::Stepped { .. } => {
                    let text = format!("`{}[…]` takes names of indices", op.as_str());
                    self.report(
                        Diagnostic::new(Code::E0101, slot.span, text)
                            .help(format!("write `{0}[i]` or `{0}[i in 0..n]`", op.as_str())),
                    );
                }
            }
        }
        binders
    }

    fn add_binder(
        &mut self,
        name: Name,
        pack: bool,
        domain: Option<ast::ExprId>,
        binders: &mut Vec<Binder>,
    ) {
        self.check_new(name, binders.iter().map(|binder| binder.name));
        let binder = self.binder(name, pack, domain);
        binders.push(binder);
    }

    fn not_an_index(&mut self, op: ReduceOp, span: Span, expr: ast::ExprId) {
        if !matches!(self.ast.expr[expr].kind, ast::ExprKind::Error) {
            let text = format!("`{}[…]` takes names of indices, not expressions", op.as_str());
            self.report(
                Diagnostic::new(Code::E0101, span, text)
                    .help(format!("write `{0}[i]` or `{0}[i in 0..n]`", op.as_str())),
            );
        }
    }

    fn coord_arg(&mut self, slot: &'r ast::Slot) -> CoordArg {
        match &slot.kind {
            SlotKind::Expr(expr) => match self.bare(*expr) {
                Some(name) => CoordArg::Coord(self.coord_ref(name)),
                None => {
                    self.not_a_coord(slot.span, *expr);
                    CoordArg::Error
                }
            },
            SlotKind::Group(names) => {
                let names = names.iter().map(|name| self.coord_ref(*name)).collect();
                CoordArg::Group(names, slot.span)
            }
            SlotKind::Pack(name) => CoordArg::Pack(self.pack(*name), slot.span),
            SlotKind::Axis(axis) => CoordArg::Axis(*axis, slot.span),
            SlotKind::Named { name, value } => CoordArg::Size(*name, self.expr(*value, Pos::Value)),
            SlotKind::Domain { domain, .. } => {
                self.expr(*domain, Pos::Deep);
                self.misplaced(slot.span, "a domain stands in a definition or a reduction");
                CoordArg::Error
            }
            SlotKind::Stepped { range, step } => {
                self.not_a_coord(slot.span, *range);
                self.expr(*step, Pos::Deep);
                CoordArg::Error
            }
        }
    }

    fn not_a_coord(&mut self, span: Span, expr: ast::ExprId) {
        let given = self.r.files.text(span);
        let text = format!("a coordinate is passed by its name, not as `{given}`");
        let diagnostic = Diagnostic::new(Code::E0302, span, text);
        match &self.ast.expr[expr].kind {
            ast::ExprKind::Error => {}
            ast::ExprKind::Int { value, .. } => {
                let text = "an axis by position is written with `#`";
                self.report(diagnostic.here("a number").fix(text, span, format!("#{value}")));
            }
            _ => {
                self.expr(expr, Pos::Deep);
                self.report(
                    diagnostic
                        .here("this is an expression")
                        .help("name a coordinate of the argument, or an axis by position: `#0`"),
                );
            }
        }
    }

    /// The indices of `a[…]`.
    pub(super) fn slots(&mut self, slots: &'r [ast::Slot]) -> Vec<Slot> {
        let mut lowered = Vec::with_capacity(slots.len());
        for slot in slots {
            lowered.push(match &slot.kind {
                SlotKind::Expr(expr) => Slot::Expr(self.expr(*expr, Pos::Slot)),
                SlotKind::Stepped { range, step } => {
                    let range = self.expr(*range, Pos::Slot);
                    Slot::Stepped(range, self.expr(*step, Pos::Deep))
                }
                SlotKind::Pack(name) => self.pack_or_slice(*name, slot.span),
                SlotKind::Domain { domain, .. } => {
                    self.expr(*domain, Pos::Deep);
                    self.misplaced(slot.span, "a domain stands in a definition or a reduction");
                    Slot::Expr(self.error(slot.span))
                }
                SlotKind::Group(_) => {
                    self.misplaced(slot.span, "a group of coordinates stands in a call");
                    Slot::Expr(self.error(slot.span))
                }
                SlotKind::Named { value, .. } => {
                    self.expr(*value, Pos::Deep);
                    self.misplaced(slot.span, "a size argument stands in a call");
                    Slot::Expr(self.error(slot.span))
                }
                SlotKind::Axis(_) => {
                    self.misplaced(slot.span, "an axis by position stands in a call");
                    Slot::Expr(self.error(slot.span))
                }
            });
        }
        lowered
    }

    fn misplaced(&mut self, span: Span, text: &str) {
        self.report(Diagnostic::new(Code::E0101, span, text).here("not in an index"));
    }

    /// `..name`: a pack in scope, a slice up to a value, or a free pack.
    fn pack_or_slice(&mut self, name: Name, span: Span) -> Slot {
        if let Some(pack) = self.known_pack(name.sym) {
            return Slot::Pack(pack, span);
        }
        let end = match self.find(name.sym, false) {
            Found::Local(local, frame) => {
                self.use_local(local, frame);
                ExprKind::Local(local)
            }
            Found::Target(Target::Item(item)) if self.r.items[item].kind == ItemKind::Const => {
                ExprKind::Const(self.refer(item, name.span))
            }
            Found::Target(_) | Found::Coord | Found::Nothing(_) => {
                return Slot::Pack(self.pack(name), span);
            }
        };
        let hi = Some(self.push(end, name.span));
        Slot::Expr(self.push(ExprKind::Range { lo: None, hi, inclusive: false }, span))
    }
}
