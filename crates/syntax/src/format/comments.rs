//! Comments, taken in source order.

use super::doc::{
    Doc, blank, concat, group, hard, if_broken, line, line_comment, nest, nil, soft, text,
};
use super::{Formatter, INDENT};
use crate::token::TokenKind;
use crate::{Comment, CommentKind};

impl Formatter<'_> {
    /// The next comment, if it starts before `pos`.
    pub(super) fn peek_comment(&self, pos: u32) -> Option<Comment> {
        self.comments.get(self.next).copied().filter(|comment| comment.span.lo() < pos)
    }

    /// A comment by itself.
    pub(super) fn comment(&mut self, comment: Comment) -> Doc {
        self.next += 1;
        let source = self.source(comment.span);
        if comment.kind == CommentKind::Block {
            return text(source.replace('\r', ""));
        }
        line_comment(source.trim_end())
    }

    /// The comments before `pos`, in front of what stands there.
    pub(super) fn leading(&mut self, pos: u32) -> Doc {
        let mut docs = Vec::new();
        while let Some(comment) = self.peek_comment(pos) {
            self.odd = true;
            docs.push(self.comment(comment));
            let breaks =
                comment.kind != CommentKind::Block || self.source(comment.span).contains('\n');
            docs.push(if breaks { hard() } else { text(" ") });
        }
        if docs.is_empty() { nil() } else { concat(docs) }
    }

    /// The comments before `pos`, after what stands before them.
    pub(super) fn trailing(&mut self, pos: u32) -> Doc {
        let mut docs = Vec::new();
        while let Some(comment) = self.peek_comment(pos) {
            self.odd = true;
            docs.push(text(" "));
            docs.push(self.comment(comment));
        }
        if docs.is_empty() { nil() } else { concat(docs) }
    }

    /// The comments on the line where `from` is, before `until`: those that say something about
    /// what ends at `from`. One in front of something else on that line is left to it.
    fn on_same_line(&mut self, from: u32, until: u32) -> Doc {
        let mut docs = Vec::new();
        let mut from = from;
        while let Some(comment) = self.peek_comment(until) {
            let between = self.slice(from, comment.span.lo());
            let after = self.slice(comment.span.hi(), until);
            let ends_line = comment.kind != CommentKind::Block
                || after.trim_start_matches([' ', '\t', '\r', ',']).starts_with('\n');
            if between.contains('\n') || !ends_line {
                break;
            }
            self.odd = true;
            docs.push(text(" "));
            docs.push(self.comment(comment));
            from = comment.span.hi();
        }
        if docs.is_empty() { nil() } else { concat(docs) }
    }

    pub(super) fn slice(&self, lo: u32, hi: u32) -> &str {
        self.text.get(lo as usize..hi as usize).unwrap_or("")
    }

    /// Where the next token of this kind starts, from `pos` on.
    pub(super) fn find(&self, kind: TokenKind, pos: u32) -> u32 {
        let first = self.tokens.partition_point(|token| token.start < pos);
        let found = self.tokens.get(first..).and_then(|rest| rest.iter().find(|t| t.kind == kind));
        found.map_or(pos, |token| token.start)
    }

    /// Items between brackets: on one line, or one per line with a trailing comma. `place` gives
    /// the extent of an item in the source, `end` where the closing bracket stands.
    pub(super) fn list<T: Copy>(
        &mut self,
        brackets: (&str, &str),
        items: &[T],
        end: u32,
        place: impl Fn(&Self, T) -> (u32, u32),
        mut print: impl FnMut(&mut Self, T, bool) -> Doc,
    ) -> Doc {
        let places: Vec<(u32, u32)> = items.iter().map(|item| place(self, *item)).collect();
        let mut docs = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let last = i + 1 == items.len();
            let until = places.get(i + 1).map_or(end, |next| next.0);
            docs.push(if i == 0 { soft() } else { line() });
            docs.push(self.leading(places[i].0));
            docs.push(print(self, *item, last));
            docs.push(self.before_comma(places[i].1, until));
            docs.push(if last { if_broken(",") } else { text(",") });
            docs.push(self.on_same_line(places[i].1, until));
        }
        self.close_list(brackets, docs, end)
    }

    /// The comments between an item and its comma.
    fn before_comma(&mut self, from: u32, until: u32) -> Doc {
        if self.peek_comment(until).is_none() {
            return nil();
        }
        let comma = self.find(TokenKind::Comma, from).min(until);
        let mut docs = Vec::new();
        while let Some(comment) = self.peek_comment(comma) {
            let source = self.source(comment.span);
            if comma == until || comment.kind != CommentKind::Block || source.contains('\n') {
                break;
            }
            self.odd = true;
            docs.push(text(" "));
            docs.push(self.comment(comment));
        }
        if docs.is_empty() { nil() } else { concat(docs) }
    }

    pub(super) fn close_list(
        &mut self,
        brackets: (&str, &str),
        mut docs: Vec<Doc>,
        end: u32,
    ) -> Doc {
        let empty = docs.is_empty();
        while let Some(comment) = self.peek_comment(end) {
            self.odd = true;
            docs.push(if comment.kind == CommentKind::Block { line() } else { hard() });
            docs.push(self.comment(comment));
        }
        if docs.is_empty() {
            return text(format!("{}{}", brackets.0, brackets.1));
        }
        // `{ x }` has spaces inside where `(x)` has none; the items begin with a soft break.
        let spaced = brackets.0.ends_with('{');
        if spaced && !empty {
            docs[0] = line();
        }
        let close = if spaced { line() } else { soft() };
        group(concat([text(brackets.0), nest(INDENT, concat(docs)), close, text(brackets.1)]))
    }

    /// Whether there is an empty line between two places.
    pub(super) fn blank_between(&self, lo: u32, hi: u32) -> bool {
        self.slice(lo, hi).bytes().filter(|b| *b == b'\n').count() > 1
    }

    /// The comments on lines of their own before `pos`, with their blank lines; `from` is where
    /// the thing before them ends. Returns where the last one ends.
    pub(super) fn own_lines(&mut self, docs: &mut Vec<Doc>, mut from: u32, pos: u32) -> u32 {
        while let Some(comment) = self.peek_comment(pos) {
            docs.push(if self.blank_between(from, comment.span.lo()) { blank() } else { hard() });
            docs.push(self.comment(comment));
            from = comment.span.hi();
        }
        from
    }

    /// The comments that follow a statement on its last line.
    pub(super) fn after_statement(&mut self, from: u32, until: u32) -> (Doc, u32) {
        let mut docs = Vec::new();
        let mut from = from;
        while let Some(comment) = self.peek_comment(until) {
            if self.slice(from, comment.span.lo()).contains('\n') {
                break;
            }
            docs.push(text(" "));
            docs.push(self.comment(comment));
            from = comment.span.hi();
        }
        (if docs.is_empty() { nil() } else { concat(docs) }, from)
    }
}
