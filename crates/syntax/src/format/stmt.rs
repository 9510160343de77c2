//! Statements, items and blocks.

use super::doc::{Doc, Printer, blank, concat, group, hard, line, nest, nil, text};
use super::expr::joined;
use super::{Formatter, INDENT};
use crate::CommentKind;
use crate::ast::*;
use crate::token::TokenKind;
use ein_base::{Name, Span};

impl Formatter<'_> {
    /// The whole file, one statement at a time.
    pub(super) fn file(&mut self, printer: &mut Printer) {
        let stmts = &self.ast.stmts;
        let end = self.text.len() as u32;
        let mut from = 0;
        for (i, stmt) in stmts.iter().enumerate() {
            let mut docs = Vec::new();
            let next = stmts.get(i + 1);
            from = self.statement(&mut docs, from, *stmt, next.copied(), end, false);
            printer.print(&concat(docs));
        }
        let mut docs = Vec::new();
        self.own_lines(&mut docs, from, end);
        printer.print(&concat(docs));
    }

    /// A statement on lines of its own, with the comments around it. `from` is where the one
    /// before it ends; returns where this one does.
    fn statement(
        &mut self,
        docs: &mut Vec<Doc>,
        from: u32,
        id: StmtId,
        next: Option<StmtId>,
        end: u32,
        last: bool,
    ) -> u32 {
        let span = self.ast.stmt[id].span;
        let from = self.own_lines(docs, from, span.lo());
        docs.push(if self.blank_between(from, span.lo()) { blank() } else { hard() });
        docs.push(self.stmt(id, next, last));
        let until = next.map_or(end, |next| self.ast.stmt[next].span.lo());
        let (after, from) = self.after_statement(span.hi(), until);
        docs.push(after);
        from
    }

    fn stmt(&mut self, id: StmtId, next: Option<StmtId>, last: bool) -> Doc {
        let ast = self.ast;
        let stmt = &ast.stmt[id];
        let end = stmt.span.hi();
        match &stmt.kind {
            StmtKind::Let(it) => {
                let pat = self.whole_pat(it.pat);
                let ty = self.annotation(it.ty);
                self.binding(concat([text("let "), pat, ty]), it.value, end)
            }
            StmtKind::Clause(it) => {
                let slots_end = self.find(
                    TokenKind::RBracket,
                    it.slots.last().map_or(it.name.span, |slot| slot.span).hi(),
                );
                let refs: Vec<&LeftSlot> = it.slots.iter().collect();
                let head = format!("let {}[", it.name);
                let slots = self.list(
                    (&head, "]"),
                    &refs,
                    slots_end,
                    |_, slot| (slot.span.lo(), slot.span.hi()),
                    |f, slot, _| f.left_slot(slot),
                );
                self.binding(slots, it.value, end)
            }
            StmtKind::Const(it) => {
                let ty = self.annotation(it.ty);
                let head = concat([text(format!("{}const {}", public(it.public), it.name)), ty]);
                self.binding(head, it.value, end)
            }
            StmtKind::Fn(it) => self.function("fn", it),
            StmtKind::Rule(it) => self.function("@fn", it),
            StmtKind::Use(it) => {
                let tree = self.use_tree(&it.tree);
                let after = self.trailing(end);
                concat([text(format!("{}use ", public(it.public))), tree, after, text(";")])
            }
            StmtKind::Mod(it) => self.module(it, stmt.span),
            StmtKind::Struct(it) => {
                let head =
                    format!("{}struct {}{} {{", public(it.public), it.name, generics(&it.generics));
                self.fields(&head, &it.fields, end.saturating_sub(1))
            }
            StmtKind::Enum(it) => self.enumeration(it, end),
            StmtKind::Test(it) => {
                let name = self.source(it.name_span);
                concat([text(format!("test {name} ")), self.expr(it.body)])
            }
            StmtKind::Expr(e) => {
                let blocky = matches!(
                    self.kind(*e),
                    ExprKind::If { .. } | ExprKind::Match { .. } | ExprKind::Block { .. }
                );
                let next_continues = next.is_some_and(|next| match &ast.stmt[next].kind {
                    StmtKind::Expr(e) => self.continues(*e),
                    _ => false,
                });
                // Comments inside the parentheses that it starts with must stay inside: in front
                // of the statement they could document it.
                let inside = self.peek_comment(self.first_place_of(*e)).is_some();
                let doc = if inside {
                    let before = self.leading(self.first_place_of(*e));
                    let doc = self.expr(*e);
                    concat([
                        text("("),
                        nest(INDENT, concat([hard(), before, doc])),
                        hard(),
                        text(")"),
                    ])
                } else {
                    self.expr(*e)
                };
                let after = self.trailing(end);
                let bare = blocky && !inside && !last && !next_continues && after.is_nil();
                concat([doc, after, text(if bare { "" } else { ";" })])
            }
            StmtKind::Error => self.as_written(stmt.span),
        }
    }

    fn annotation(&mut self, ty: Option<TypeId>) -> Doc {
        match ty {
            Some(ty) => concat([text(": "), self.ty(ty)]),
            None => nil(),
        }
    }

    /// `head = value;`
    fn binding(&mut self, head: Doc, value: ExprId, end: u32) -> Doc {
        let value = self.value(value);
        let after = self.trailing(end);
        group(concat([head, text(" ="), value, after, text(";")]))
    }

    fn left_slot(&mut self, slot: &LeftSlot) -> Doc {
        match &slot.kind {
            LeftSlotKind::Index { name, domain: None } => text(name.sym.as_str()),
            LeftSlotKind::Index { name, domain: Some(domain) } => {
                concat([text(format!("{name} in ")), self.where_item(*domain)])
            }
            LeftSlotKind::Point(point) => self.where_item(*point),
            LeftSlotKind::Pack(name) => text(format!("..{name}")),
            LeftSlotKind::Literal(value) => {
                let sign =
                    if *value < 0 || self.source(slot.span).starts_with('-') { "-" } else { "" };
                let source = self.source(slot.span);
                let digits = source.trim_start_matches(|c: char| !c.is_ascii_digit());
                // A comment may stand between the sign and the digits, and may hold digits.
                let digits = digits.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
                text(format!("{sign}{}", digits.unwrap_or_default()))
            }
            LeftSlotKind::Error => self.as_written(slot.span),
        }
    }

    fn function(&mut self, word: &str, it: &Function) -> Doc {
        let mut head = format!("{}{word} {}{}", public(it.public), it.name, generics(&it.generics));
        if let Some(coords) = &it.coords {
            let coords: Vec<String> = coords
                .iter()
                .map(|coord| {
                    let (dots, default) = (
                        if coord.pack { ".." } else { "" },
                        if coord.empty { " = ()" } else { "" },
                    );
                    format!("{dots}{}{default}", coord.name)
                })
                .collect();
            head.push_str(&format!("[{}]", coords.join(", ")));
        }
        head.push('(');
        let end = match it.params.last() {
            Some(last) => self.find(TokenKind::RParen, last.span.hi()),
            None => 0,
        };
        let refs: Vec<&Param> = it.params.iter().collect();
        let params = self.list(
            (&head, ")"),
            &refs,
            end,
            |_, param| (param.span.lo(), param.span.hi()),
            |f, param, _| f.param(param),
        );
        let ret = match it.ret {
            Some(ret) => concat([text(" -> "), self.ty(ret)]),
            None => nil(),
        };
        // One group: a body stays on the line of its head only if all of the function does.
        group(concat([params, ret, text(" "), self.branch(it.body)]))
    }

    fn use_tree(&mut self, tree: &UseTree) -> Doc {
        let prefix = joined(&tree.prefix);
        let sep = if tree.prefix.is_empty() { "" } else { "::" };
        match &tree.kind {
            UseKind::Name(None) => text(prefix),
            UseKind::Name(Some(alias)) => text(format!("{prefix} as {alias}")),
            UseKind::Glob => text(format!("{prefix}{sep}*")),
            UseKind::Group(trees) => {
                let refs: Vec<&UseTree> = trees.iter().collect();
                let head = format!("{prefix}{sep}");
                let group = self.list(
                    ("", ""),
                    &refs,
                    tree.span.hi().saturating_sub(1),
                    |_, tree| (tree.span.lo(), tree.span.hi()),
                    |f, tree, _| f.use_tree(tree),
                );
                concat([text(head + "{"), group, text("}")])
            }
        }
    }

    fn module(&mut self, it: &Module, span: Span) -> Doc {
        let head = format!("{}mod {}", public(it.public), it.name);
        let Some(body) = &it.body else {
            let after = self.trailing(span.hi());
            return concat([text(head), after, text(";")]);
        };
        let open = self.find(TokenKind::LBrace, it.name.span.hi());
        let head = concat([text(head), self.trailing(open)]);
        let end = self.close_brace(span);
        let mut docs = self.after_brace(open, end);
        let mut from = body.first().map_or(open, |first| self.first_place(open, *first));
        for (i, stmt) in body.iter().enumerate() {
            from = self.statement(&mut docs, from, *stmt, body.get(i + 1).copied(), end, false);
        }
        self.own_lines(&mut docs, from, end);
        if docs.is_empty() {
            return concat([head, text(" {}")]);
        }
        concat([head, text(" {"), nest(INDENT, concat(docs)), hard(), text("}")])
    }

    /// A comment to the end of the line on which a block opens: it stays there, since on a line of
    /// its own it could document what follows.
    fn after_brace(&mut self, open: u32, end: u32) -> Vec<Doc> {
        match self.peek_comment(end) {
            Some(comment)
                if comment.kind != CommentKind::Block
                    && self
                        .slice(open, comment.span.lo())
                        .bytes()
                        .all(|b| matches!(b, b' ' | b'\t' | b'{' | b';')) =>
            {
                vec![text(" "), self.comment(comment)]
            }
            _ => Vec::new(),
        }
    }

    /// Where the first thing after an opening brace starts, so that no blank line is seen there.
    fn first_place(&self, open: u32, first: StmtId) -> u32 {
        let lo = self.ast.stmt[first].span.lo();
        self.comments.get(self.next).map_or(lo, |comment| comment.span.lo().clamp(open, lo))
    }

    /// Where the closing brace that ends a span stands; a `;` may follow it.
    fn close_brace(&self, span: Span) -> u32 {
        let source = self.source(span);
        span.lo() + source.rfind('}').unwrap_or(source.len()) as u32
    }

    fn fields(&mut self, head: &str, fields: &[Field], end: u32) -> Doc {
        let refs: Vec<&Field> = fields.iter().collect();
        self.list(
            (head, "}"),
            &refs,
            end,
            |f, field| (field.name.span.lo(), f.ast.ty[field.ty].span.hi()),
            |f, field, _| concat([text(format!("{}: ", field.name)), f.ty(field.ty)]),
        )
    }

    fn enumeration(&mut self, it: &Enum, end: u32) -> Doc {
        let refs: Vec<&Variant> = it.variants.iter().collect();
        let head = format!("{}enum {}{} {{", public(it.public), it.name, generics(&it.generics));
        self.list(
            (&head, "}"),
            &refs,
            end.saturating_sub(1),
            |f, variant| {
                let name = variant.name.span;
                let hi = match &variant.data {
                    VariantData::Unit => name.hi(),
                    VariantData::Tuple(types) => {
                        types.last().map_or(name.hi(), |ty| f.ast.ty[*ty].span.hi())
                    }
                    VariantData::Struct(fields) => {
                        fields.last().map_or(name.hi(), |field| f.ast.ty[field.ty].span.hi())
                    }
                };
                (name.lo(), hi)
            },
            |f, variant, _| f.variant(variant),
        )
    }

    fn variant(&mut self, variant: &Variant) -> Doc {
        let name = variant.name;
        match &variant.data {
            VariantData::Unit => text(name.sym.as_str()),
            VariantData::Tuple(types) => {
                let end = types
                    .last()
                    .map_or(0, |ty| self.find(TokenKind::RParen, self.ast.ty[*ty].span.hi()));
                self.list(
                    (&format!("{name}("), ")"),
                    types,
                    end,
                    |f, ty| (f.ast.ty[ty].span.lo(), f.ast.ty[ty].span.hi()),
                    |f, ty, _| f.ty(ty),
                )
            }
            VariantData::Struct(fields) => {
                let end = fields
                    .last()
                    .map_or(0, |last| self.find(TokenKind::RBrace, self.ast.ty[last.ty].span.hi()));
                self.fields(&format!("{name} {{"), fields, end)
            }
        }
    }

    /// A block: on one line if it is a single expression that fits.
    pub(super) fn block(&mut self, stmts: &[StmtId], tail: Option<ExprId>, span: Span) -> Doc {
        group(self.block_parts(stmts, tail, span))
    }

    pub(super) fn block_parts(
        &mut self,
        stmts: &[StmtId],
        tail: Option<ExprId>,
        span: Span,
    ) -> Doc {
        let outer = std::mem::replace(&mut self.no_struct, false);
        let doc = self.block_inner(stmts, tail, span);
        self.no_struct = outer;
        doc
    }

    fn block_inner(&mut self, stmts: &[StmtId], tail: Option<ExprId>, span: Span) -> Doc {
        let end = span.hi().saturating_sub(1);
        if stmts.is_empty() && self.peek_comment(end).is_none() {
            return match tail {
                None => text("{}"),
                Some(tail) => {
                    let tail = self.expr(tail);
                    concat([text("{"), nest(INDENT, concat([line(), tail])), line(), text("}")])
                }
            };
        }
        let open = span.lo() + 1;
        let mut docs = self.after_brace(open, end);
        let first = match (stmts.first(), tail) {
            (Some(first), _) => self.ast.stmt[*first].span.lo(),
            (None, Some(tail)) => self.expr_span(tail).lo(),
            (None, None) => end,
        };
        // No blank line is kept after the opening brace.
        let mut from =
            self.comments.get(self.next).map_or(first, |c| c.span.lo().min(first)).max(open);
        for (i, stmt) in stmts.iter().enumerate() {
            let next = stmts.get(i + 1).copied();
            let until = tail.map_or(end, |tail| self.expr_span(tail).lo());
            // Without a tail, a last `if` must not become one; with one, it must not run into it.
            let last = next.is_none() && tail.is_none_or(|tail| self.continues(tail));
            from = self.statement(&mut docs, from, *stmt, next, until, last);
        }
        if let Some(tail) = tail {
            let lo = self.expr_span(tail).lo();
            from = self.own_lines(&mut docs, from, lo);
            docs.push(if self.blank_between(from, lo) { blank() } else { hard() });
            docs.push(self.expr(tail));
            let (after, end) = self.after_statement(self.expr_span(tail).hi(), end);
            docs.push(after);
            from = end;
        }
        self.own_lines(&mut docs, from, end);
        concat([text("{"), nest(INDENT, concat(docs)), hard(), text("}")])
    }
}

fn public(public: bool) -> &'static str {
    if public { "pub " } else { "" }
}

fn generics(names: &[Name]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = names.iter().map(|name| name.sym.as_str()).collect();
    format!("<{}>", names.join(", "))
}
