//! `if`, `match` and closures.

use super::doc::{Doc, blank, concat, group, hard, nest, text};
use super::{Formatter, INDENT};
use crate::ast::*;

impl Formatter<'_> {
    /// The condition of `if`, or what `match` looks at.
    pub(super) fn head(&mut self, id: ExprId) -> Doc {
        let outer = std::mem::replace(&mut self.no_struct, true);
        let doc = self.operand(id, 1);
        self.no_struct = outer;
        doc
    }

    /// `if … else if … else …`; its branches break together.
    pub(super) fn if_chain(&mut self, id: ExprId) -> Doc {
        let ExprKind::If { cond, then, otherwise } = self.kind(id) else { return self.expr(id) };
        let mut docs = vec![text("if "), self.head(*cond), text(" "), self.branch(*then)];
        if let Some(otherwise) = otherwise {
            let lo = self.expr_span(*otherwise).lo();
            docs.push(self.trailing(lo));
            docs.push(text(" else "));
            let is_if = matches!(self.kind(*otherwise), ExprKind::If { .. });
            docs.push(if is_if { self.if_chain(*otherwise) } else { self.branch(*otherwise) });
        }
        concat(docs)
    }

    /// A block that breaks when what it is a part of breaks.
    pub(super) fn branch(&mut self, id: ExprId) -> Doc {
        let span = self.expr_span(id);
        let before = self.leading(span.lo());
        match self.kind(id) {
            ExprKind::Block { stmts, tail } => {
                let doc = self.block_parts(stmts, *tail, span);
                concat([before, doc])
            }
            _ => concat([before, self.bare_expr(id)]),
        }
    }

    pub(super) fn match_expr(&mut self, scrutinee: ExprId, arms: &[Arm], end: u32) -> Doc {
        let head = concat([text("match "), self.head(scrutinee), text(" {")]);
        let outer = std::mem::replace(&mut self.no_struct, false);
        let mut docs = Vec::new();
        let mut from = arms.first().map_or(end, |arm| arm.span.lo());
        for (i, arm) in arms.iter().enumerate() {
            let until = arms.get(i + 1).map_or(end.saturating_sub(1), |next| next.span.lo());
            self.odd |= self.peek_comment(arm.span.lo()).is_some();
            from = self.own_lines(&mut docs, from, arm.span.lo());
            let apart = i > 0 && self.blank_between(from, arm.span.lo());
            docs.push(if apart { blank() } else { hard() });
            docs.push(self.arm(arm, arms.get(i + 1)));
            let (after, end) = self.after_statement(arm.span.hi(), until);
            docs.push(after);
            from = end;
        }
        self.odd |= self.peek_comment(end.saturating_sub(1)).is_some();
        self.own_lines(&mut docs, from, end.saturating_sub(1));
        self.no_struct = outer;
        if docs.is_empty() {
            return concat([head, text("}")]);
        }
        concat([head, nest(INDENT, concat(docs)), hard(), text("}")])
    }

    fn arm(&mut self, arm: &Arm, next: Option<&Arm>) -> Doc {
        let mut docs = vec![self.pat(arm.pat)];
        if let Some(guard) = arm.guard {
            docs.push(text(" where "));
            docs.push(self.where_item(guard));
        }
        docs.push(text(" =>"));
        docs.push(match self.kind(arm.body) {
            ExprKind::Where { .. } => concat([text(" "), self.parens(arm.body)]),
            _ => self.value(arm.body),
        });
        let needs_comma = next.is_some_and(|next| self.pattern_continues(next.pat));
        if needs_comma || !matches!(self.kind(arm.body), ExprKind::Block { .. }) {
            docs.push(text(","));
        }
        group(concat(docs))
    }

    pub(super) fn closure(&mut self, params: &[Param], body: ExprId) -> Doc {
        let mut docs = vec![text("|")];
        for (i, param) in params.iter().enumerate() {
            if i > 0 {
                docs.push(text(", "));
            }
            docs.push(self.param(param));
        }
        docs.push(text("| "));
        docs.push(self.where_item(body));
        concat(docs)
    }
}
