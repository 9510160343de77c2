//! Expressions.

use super::doc::{Doc, concat, group, line, nest, nil, soft, text};
use super::paren::{CAST, POSTFIX, PREFIX, has_bare_else};
use super::{Formatter, INDENT};
use crate::ast::*;
use crate::token::TokenKind;
use ein_base::{Name, Symbol};
use rustc_hash::FxHashSet;

impl Formatter<'_> {
    /// An expression where any may stand, with the comments before it.
    pub(super) fn expr(&mut self, id: ExprId) -> Doc {
        let before = self.leading(self.expr_span(id).lo());
        let doc = self.bare_expr(id);
        concat([before, doc])
    }

    /// An expression as an operand where operators of level `min` and tighter may stand.
    pub(super) fn operand(&mut self, id: ExprId, min: u8) -> Doc {
        if self.needs_parens(id, min) { self.parens(id) } else { self.expr(id) }
    }

    pub(super) fn parens(&mut self, id: ExprId) -> Doc {
        let before = self.leading(self.expr_span(id).lo());
        let outer = std::mem::replace(&mut self.no_struct, false);
        let doc = self.bare_expr(id);
        self.no_struct = outer;
        concat([before, text("("), doc, text(")")])
    }

    /// What stands after `=`, `=>` and the like: on the same line, unless comments come first.
    pub(super) fn value(&mut self, id: ExprId) -> Doc {
        let before = self.leading(self.expr_span(id).lo());
        if before.is_nil() {
            return concat([text(" "), self.bare_expr(id)]);
        }
        let doc = self.bare_expr(id);
        nest(INDENT, concat([line(), before, doc]))
    }

    pub(super) fn bare_expr(&mut self, id: ExprId) -> Doc {
        let span = self.expr_span(id);
        match self.kind(id) {
            ExprKind::Int { .. }
            | ExprKind::Float { .. }
            | ExprKind::Bool(_)
            | ExprKind::Str(_)
            | ExprKind::Hole
            | ExprKind::Error => self.as_written(span),
            ExprKind::Path(path) => text(joined(path)),
            ExprKind::Size(name) => text(format!("?{name}")),
            ExprKind::Unary(op, inner) => concat([text(op.as_str()), self.operand(*inner, PREFIX)]),
            ExprKind::At(inner) => concat([text("@"), self.operand(*inner, PREFIX)]),
            ExprKind::Binary(..) => self.binary(id),
            ExprKind::Range { lo, hi, inclusive } => {
                let lo = lo.map_or_else(nil, |lo| self.operand(lo, 7));
                let hi = hi.map_or_else(nil, |hi| self.operand(hi, 7));
                concat([lo, text(if *inclusive { "..=" } else { ".." }), hi])
            }
            ExprKind::Cast(inner, ty) => {
                let inner = self.operand(*inner, CAST);
                concat([inner, text(" as "), self.cast_type(*ty)])
            }
            ExprKind::Call { callee, args } => {
                let callee = if matches!(self.kind(*callee), ExprKind::Index { .. }) {
                    self.parens(*callee)
                } else {
                    self.operand(*callee, POSTFIX)
                };
                concat([callee, self.args(args, span.hi())])
            }
            ExprKind::BracketCall { callee, slots, args } => {
                let from = self.expr_span(*callee).hi();
                let callee = self.operand(*callee, POSTFIX);
                let slots = self.slots(slots, from);
                concat([callee, slots, self.args(args, span.hi())])
            }
            ExprKind::Index { base, slots } => {
                let from = self.expr_span(*base).hi();
                let base = self.operand(*base, POSTFIX);
                concat([base, self.slots(slots, from)])
            }
            ExprKind::Field(base, name) => {
                let base = self.field_base(*base);
                concat([base, text(format!(".{name}"))])
            }
            ExprKind::TupleField(base, index, _) => {
                let base = self.field_base(*base);
                concat([base, text(format!(".{index}"))])
            }
            ExprKind::Array(items) => self.array(items, span.hi()),
            ExprKind::Tuple(items) => self.tuple(items, span.hi()),
            ExprKind::Comprehension { body, clauses } => {
                self.comprehension(*body, clauses, span.hi())
            }
            ExprKind::Struct { path, fields } => self.struct_literal(path, fields, span.hi()),
            ExprKind::Block { stmts, tail } => self.block(stmts, *tail, span),
            ExprKind::If { .. } => group(self.if_chain(id)),
            ExprKind::Match { scrutinee, arms } => self.match_expr(*scrutinee, arms, span.hi()),
            ExprKind::Closure { params, body } => self.closure(params, *body),
            ExprKind::Pipe(..) | ExprKind::OrElse(..) | ExprKind::Catch { .. } => self.pipeline(id),
            ExprKind::Try(inner) => concat([text("try "), self.operand(*inner, 2)]),
            ExprKind::Where { body, items, otherwise } => self.where_expr(*body, items, *otherwise),
        }
    }

    fn field_base(&mut self, base: ExprId) -> Doc {
        if matches!(self.kind(base), ExprKind::Int { .. } | ExprKind::Float { .. }) {
            return self.parens(base);
        }
        self.operand(base, POSTFIX)
    }

    /// A chain of operators of one level, broken before each of them or before none.
    fn binary(&mut self, id: ExprId) -> Doc {
        let mut links = Vec::new();
        let mut first = id;
        let ExprKind::Binary(top, ..) = self.kind(id) else { return nil() };
        let level = top.level();
        let (lhs_min, rhs_min) = match level {
            4 | 5 => (6, 6),
            9 => (POSTFIX, 9),
            _ => (level, level + 1),
        };
        while let ExprKind::Binary(op, lhs, rhs) = self.kind(first)
            && op.level() == level
            && (first == id || lhs_min == level)
        {
            links.push((*op, *rhs));
            first = *lhs;
        }
        let first = self.operand(first, lhs_min);
        let mut rest = Vec::new();
        for (op, rhs) in links.into_iter().rev() {
            rest.push(self.trailing(self.expr_span(rhs).lo()));
            rest.push(line());
            rest.push(text(format!("{} ", op.as_str())));
            rest.push(self.operand(rhs, rhs_min));
        }
        group(concat([first, nest(INDENT, concat(rest))]))
    }

    /// A pipeline, broken before each step or before none.
    fn pipeline(&mut self, id: ExprId) -> Doc {
        let mut steps = Vec::new();
        let mut first = id;
        loop {
            let (prefix, lhs, rhs) = match self.kind(first) {
                ExprKind::Pipe(op, lhs, rhs) => (op.as_str().to_string(), *lhs, *rhs),
                ExprKind::OrElse(lhs, rhs) => ("else".to_string(), *lhs, *rhs),
                ExprKind::Catch { value, param, handler } => {
                    (format!("catch |{param}|"), *value, *handler)
                }
                _ => break,
            };
            steps.push((prefix, rhs));
            first = lhs;
        }
        let first = self.operand(first, 2);
        let mut rest = Vec::new();
        for (prefix, rhs) in steps.into_iter().rev() {
            rest.push(self.trailing(self.expr_span(rhs).lo()));
            rest.push(line());
            rest.push(text(format!("{prefix} ")));
            let block = matches!(self.kind(rhs), ExprKind::Block { .. } | ExprKind::Match { .. });
            rest.push(if block { self.expr(rhs) } else { self.operand(rhs, 2) });
        }
        group(concat([first, nest(INDENT, concat(rest))]))
    }

    fn where_expr(&mut self, body: ExprId, items: &[WhereItem], otherwise: Option<ExprId>) -> Doc {
        let body = self.operand_or_apart(body);
        let mut rest = vec![line(), text("where ")];
        let mut aligned = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let last = i + 1 == items.len();
            if i > 0 {
                aligned.push(text(","));
                let (WhereItem::Binding(_, e) | WhereItem::Guard(e)) = item;
                let lo = match item {
                    WhereItem::Binding(name, _) => name.span.lo(),
                    WhereItem::Guard(_) => self.expr_span(*e).lo(),
                };
                aligned.push(self.trailing(lo));
                aligned.push(line());
            }
            let value = match item {
                WhereItem::Binding(name, value) => {
                    aligned.push(self.leading(name.span.lo()));
                    aligned.push(text(format!("{name} = ")));
                    *value
                }
                WhereItem::Guard(value) => *value,
            };
            let apart = has_bare_else(self, value);
            aligned.push(if apart { self.parens(value) } else { self.where_item(value) });
            if last && otherwise.is_some() && self.takes_else(value) {
                // Without the comma, `else` would be part of the item, even in parentheses.
                aligned.push(text(","));
            }
        }
        rest.push(nest("where ".len(), concat(aligned)));
        if let Some(otherwise) = otherwise {
            rest.push(self.trailing(self.expr_span(otherwise).lo()));
            rest.push(line());
            rest.push(text("else "));
            rest.push(self.where_item(otherwise));
        }
        group(concat([body, nest(INDENT, concat(rest))]))
    }

    /// An expression that may not have a `where` of its own.
    pub(super) fn where_item(&mut self, id: ExprId) -> Doc {
        if matches!(self.kind(id), ExprKind::Where { .. }) {
            self.parens(id)
        } else {
            self.expr(id)
        }
    }

    /// What a `where` qualifies.
    fn operand_or_apart(&mut self, id: ExprId) -> Doc {
        let apart = matches!(self.kind(id), ExprKind::Where { .. }) || self.ends_open(id);
        if apart { self.parens(id) } else { self.expr(id) }
    }

    fn args(&mut self, args: &[Arg], end: u32) -> Doc {
        let outer = std::mem::replace(&mut self.no_struct, false);
        let doc = match args {
            [Arg { name: None, value }]
                if self.hugs(*value) && self.peek_comment(end).is_none() =>
            {
                let inner = self.expr(*value);
                concat([text("("), inner, text(")")])
            }
            _ => {
                let refs: Vec<&Arg> = args.iter().collect();
                self.list(
                    ("(", ")"),
                    &refs,
                    end,
                    |f, arg| {
                        let span = f.expr_span(arg.value);
                        (arg.name.map_or(span.lo(), |name| name.span.lo()), span.hi())
                    },
                    |f, arg, last| {
                        let name = arg.name.map_or_else(nil, |name| text(format!("{name} = ")));
                        // A `where` takes all the commas that follow it.
                        let value = if last { f.expr(arg.value) } else { f.where_item(arg.value) };
                        concat([name, value])
                    },
                )
            }
        };
        self.no_struct = outer;
        doc
    }

    /// Whether a single argument may stand directly in its parentheses although it breaks.
    fn hugs(&self, id: ExprId) -> bool {
        match self.kind(id) {
            ExprKind::Array(_)
            | ExprKind::Tuple(_)
            | ExprKind::Comprehension { .. }
            | ExprKind::Struct { .. }
            | ExprKind::Match { .. }
            | ExprKind::Block { .. } => true,
            ExprKind::Closure { body, .. } => {
                matches!(self.kind(*body), ExprKind::Block { .. } | ExprKind::Match { .. })
            }
            _ => false,
        }
    }

    /// The slots of a bracket that opens somewhere after `from`.
    fn slots(&mut self, slots: &[Slot], from: u32) -> Doc {
        let outer = std::mem::replace(&mut self.no_struct, false);
        let end = self.find(TokenKind::RBracket, slots.last().map_or(from, |last| last.span.hi()));
        let refs: Vec<&Slot> = slots.iter().collect();
        let doc = self.list(
            ("[", "]"),
            &refs,
            end,
            |_, slot| (slot.span.lo(), slot.span.hi()),
            |f, slot, _| f.slot(slot),
        );
        self.no_struct = outer;
        doc
    }

    fn slot(&mut self, slot: &Slot) -> Doc {
        match &slot.kind {
            SlotKind::Expr(e) => self.index(*e),
            SlotKind::Stepped { range, step } => {
                concat([self.index(*range), text("; "), self.where_item(*step)])
            }
            SlotKind::Domain { name, domain } => {
                concat([text(format!("{name} in ")), self.where_item(*domain)])
            }
            SlotKind::Pack(name) => text(format!("..{name}")),
            SlotKind::Group(names) => match &names[..] {
                [only] => text(format!("({only},)")),
                _ => {
                    let names: Vec<&str> = names.iter().map(|name| name.sym.as_str()).collect();
                    text(format!("({})", names.join(", ")))
                }
            },
            SlotKind::Named { name, value } => {
                concat([text(format!("{name} = ")), self.where_item(*value)])
            }
            SlotKind::Axis(axis) => text(format!("#{axis}")),
        }
    }

    /// An expression in a slot, where a few forms would be read as something else.
    fn index(&mut self, id: ExprId) -> Doc {
        let group = match self.kind(id) {
            ExprKind::Tuple(items) => items.iter().all(|item| self.single_name(*item).is_some()),
            ExprKind::Where { .. } => true,
            _ => false,
        };
        if group || self.leading_in(id).is_some_and(|lhs| self.single_name(lhs).is_some()) {
            return self.parens(id);
        }
        if let ExprKind::Range { lo: None, hi: Some(hi), inclusive: false } = self.kind(id)
            && self.single_name(*hi).is_some()
        {
            let before = self.leading(self.expr_span(*hi).lo());
            return concat([before, text(".."), self.parens(*hi)]);
        }
        self.expr(id)
    }

    fn array(&mut self, items: &[ExprId], end: u32) -> Doc {
        let outer = std::mem::replace(&mut self.no_struct, false);
        let plain = items.len() > 8 && items.iter().all(|item| self.is_number(*item));
        let doc = if plain && self.peek_comment(end).is_none() {
            self.filled(items)
        } else {
            self.exprs(("[", "]"), items, end)
        };
        self.no_struct = outer;
        doc
    }

    fn exprs(&mut self, brackets: (&str, &str), items: &[ExprId], end: u32) -> Doc {
        self.list(
            brackets,
            items,
            end.saturating_sub(1),
            |f, item| (f.expr_span(item).lo(), f.expr_span(item).hi()),
            |f, item, _| f.where_item(item),
        )
    }

    fn is_number(&self, id: ExprId) -> bool {
        match self.kind(id) {
            ExprKind::Int { .. } | ExprKind::Float { .. } => true,
            ExprKind::Unary(UnaryOp::Neg, inner) => {
                matches!(self.kind(*inner), ExprKind::Int { .. } | ExprKind::Float { .. })
            }
            _ => false,
        }
    }

    /// Numbers, as many on a line as fit.
    fn filled(&mut self, items: &[ExprId]) -> Doc {
        let mut docs = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let doc = self.expr(*item);
            let comma = if i + 1 < items.len() { text(",") } else { super::doc::if_broken(",") };
            docs.push(match i {
                0 => concat([soft(), doc, comma]),
                _ => group(concat([line(), doc, comma])),
            });
        }
        group(concat([text("["), nest(INDENT, concat(docs)), soft(), text("]")]))
    }

    fn tuple(&mut self, items: &[ExprId], end: u32) -> Doc {
        let outer = std::mem::replace(&mut self.no_struct, false);
        let doc = match items {
            [only] => {
                let inner = self.where_item(*only);
                let after = self.trailing(end.saturating_sub(1));
                concat([text("("), inner, text(","), after, text(")")])
            }
            _ => self.exprs(("(", ")"), items, end),
        };
        self.no_struct = outer;
        doc
    }

    fn comprehension(&mut self, body: ExprId, clauses: &[CompClause], end: u32) -> Doc {
        let outer = std::mem::replace(&mut self.no_struct, false);
        let mut docs = vec![soft(), self.expr(body), line(), text("| ")];
        let mut bound: FxHashSet<Symbol> = FxHashSet::default();
        let mut aligned = Vec::new();
        for (i, clause) in clauses.iter().enumerate() {
            if i > 0 {
                aligned.push(text(","));
                aligned.push(line());
            }
            match clause {
                CompClause::Generator(pat, e) => {
                    aligned.push(self.whole_pat(*pat));
                    aligned.push(text(" in "));
                    aligned.push(self.where_item(*e));
                    self.bind(*pat, &mut bound);
                }
                CompClause::Condition(e) => {
                    let generates =
                        self.leading_in(*e).is_some_and(|lhs| match self.single_name(lhs) {
                            Some(name) => !bound.contains(&name),
                            None => true,
                        });
                    let doc = if generates { self.parens(*e) } else { self.where_item(*e) };
                    aligned.push(doc);
                }
                CompClause::Binding(name, e) => {
                    aligned.push(self.leading(name.span.lo()));
                    aligned.push(text(format!("{name} = ")));
                    aligned.push(self.where_item(*e));
                    bound.insert(name.sym);
                }
            }
        }
        docs.push(nest(2, concat(aligned)));
        self.no_struct = outer;
        self.close_list(("[", "]"), docs, end.saturating_sub(1))
    }

    /// Adds the names that a pattern binds.
    fn bind(&self, pat: PatId, bound: &mut FxHashSet<Symbol>) {
        match &self.ast.pat[pat].kind {
            PatKind::Bind { name, .. } => {
                bound.insert(name.sym);
            }
            PatKind::Tuple(items) => {
                for item in items {
                    self.bind(*item, bound);
                }
            }
            _ => {}
        }
    }

    fn struct_literal(&mut self, path: &[Name], fields: &[(Name, ExprId)], end: u32) -> Doc {
        let outer = std::mem::replace(&mut self.no_struct, false);
        let head = format!("{} {{", joined(path));
        let doc = self.list(
            (&head, "}"),
            fields,
            end.saturating_sub(1),
            |f, (name, value)| (name.span.lo(), f.expr_span(value).hi()),
            |f, (name, value), _| {
                if f.single_name(value) == Some(name.sym) {
                    return text(name.sym.as_str());
                }
                if name.sym.as_str() == ".." {
                    return concat([text(".."), f.where_item(value)]);
                }
                concat([text(format!("{name}: ")), f.where_item(value)])
            },
        );
        self.no_struct = outer;
        doc
    }
}

/// The names of a path, as written.
pub(super) fn joined(path: &[Name]) -> String {
    let mut out = String::new();
    for (i, name) in path.iter().enumerate() {
        if i > 0 {
            out.push_str("::");
        }
        out.push_str(name.sym.as_str());
    }
    out
}
