//! Lists in brackets, and brackets that are not closed.

use super::mistakes::after_operand;
use super::{Parse, Parser, Reported};
use crate::token::{Token, TokenKind};
use ein_base::{Code, Diagnostic, Span};
use thin_vec::ThinVec;

impl Parser<'_> {
    /// Items separated by commas up to `close`; the opening bracket is taken already.
    pub(super) fn list<T>(
        &mut self,
        open: Token,
        close: TokenKind,
        mut item: impl FnMut(&mut Self) -> Parse<T>,
    ) -> Parse<ThinVec<T>> {
        // Most lists have one or two items; the usual first capacity of four would double the
        // memory of a tree.
        let mut items = ThinVec::new();
        loop {
            if self.eat(close) {
                return Ok(items);
            }
            let next = item(self)?;
            if items.len() < 2 {
                items.reserve_exact(1);
            }
            items.push(next);
            if !self.eat(TokenKind::Comma) && !self.at(close) {
                return Err(self.unclosed(open, close));
            }
        }
    }

    /// Like [`Self::list`], but a broken item is reported, skipped and left out: for lists of
    /// declarations, whose items do not depend on each other.
    pub(super) fn declarations<T>(
        &mut self,
        open: Token,
        close: TokenKind,
        mut item: impl FnMut(&mut Self) -> Parse<T>,
    ) -> Parse<ThinVec<T>> {
        let outer = (self.anchor, self.in_list);
        self.in_list = Some(close);
        let items = self.declarations_inner(open, close, &mut item);
        (self.anchor, self.in_list) = outer;
        items
    }

    fn declarations_inner<T>(
        &mut self,
        open: Token,
        close: TokenKind,
        item: &mut impl FnMut(&mut Self) -> Parse<T>,
    ) -> Parse<ThinVec<T>> {
        let mut items = ThinVec::new();
        while !self.eat(close) {
            let start = self.pos;
            self.anchor = start;
            let mut fine = true;
            match item(self) {
                Ok(item) => items.push(item),
                Err(Reported) => fine = false,
            }
            if fine && (self.eat(TokenKind::Comma) || self.at(close)) {
                continue;
            }
            if fine && self.at(TokenKind::Semi) && close == TokenKind::RBrace {
                self.report_semicolon_in_list();
                continue;
            }
            if fine {
                let ends = self.is_unclosed_here(open);
                self.unclosed(open, close);
                if ends {
                    return Err(Reported);
                }
            }
            if !self.skip_to(start, &[], &[TokenKind::Comma, close]) {
                return Err(Reported);
            }
            self.eat(TokenKind::Comma);
        }
        Ok(items)
    }

    fn report_semicolon_in_list(&mut self) {
        let span = self.span_here();
        self.report(
            Diagnostic::new(Code::E0101, span, "expected `,`, found `;`")
                .here("the entries of this list are separated by commas")
                .fix("write `,`", span, ","),
        );
        self.bump();
    }

    /// Whether what comes now cannot stand in a list, so that its bracket must be missing.
    fn is_unclosed_here(&self, open: Token) -> bool {
        let token = self.token();
        match token.kind {
            TokenKind::Semi | TokenKind::Eof | TokenKind::FatArrow | TokenKind::Arrow => true,
            TokenKind::RParen | TokenKind::RBracket | TokenKind::RBrace => self.has_opener(),
            TokenKind::LBrace => open.kind != TokenKind::LBrace,
            TokenKind::Eq => open.kind == TokenKind::LBracket,
            _ => token.first && self.starts_statement(),
        }
    }

    /// Reports that `close` is missing here: as an open bracket, or as an unexpected token.
    pub(super) fn unclosed(&mut self, open: Token, close: TokenKind) -> Reported {
        let open_span = self.token_span(open);
        let opener = self.slice(open_span);
        let closer = close.text();
        if self.is_unclosed_here(open) {
            let place = Span::new(self.file, self.prev_end, self.prev_end);
            let here = self.span_here();
            let mut diagnostic =
                Diagnostic::new(Code::E0104, open_span, format!("this `{opener}` is not closed"))
                    .here("opened here")
                    .label(here, format!("expected `{closer}` before this"))
                    .fix(format!("close it with `{closer}`"), place, closer);
            if let (TokenKind::LBrace, Some((from, to))) = (open.kind, self.suspect) {
                diagnostic = diagnostic
                    .label(from, "perhaps it is this `{` that is not closed")
                    .label(to, "since this `}` is indented as the end of another block");
            }
            return self.fail(diagnostic);
        }
        let condition = open.kind == TokenKind::LBracket && self.kind() == TokenKind::Where;
        let starts_item = !condition && self.kind().starts_expr() && !self.kind().is_infix();
        let reported_before = self.diagnostics.len();
        let meant = after_operand(self, Some(open.kind));
        let reported = self.unexpected(&format!("`,` or `{closer}`"));
        if let Some(help) = meant {
            if self.diagnostics.len() > reported_before
                && let Some(last) = self.diagnostics.pop()
            {
                self.diagnostics.push(last.help(help));
            }
            return reported;
        }
        if condition
            && self.diagnostics.len() > reported_before
            && let Some(last) = self.diagnostics.pop()
        {
            let help = "a condition stands behind the value: `sum[i](x[i] where i > 0)`, \
                        `let y[i in 0..n] = x[i] where i > 0;`";
            self.diagnostics.push(last.help(help));
        }
        if starts_item && self.diagnostics.len() > reported_before {
            let place = Span::new(self.file, self.prev_end, self.prev_end);
            if let Some(last) = self.diagnostics.pop() {
                self.diagnostics.push(last.fix("separate the two with a comma", place, ","));
            }
        }
        reported
    }
}
