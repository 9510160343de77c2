//! Where reading makes sense again after an error.

use super::Parser;
use crate::token::{Token, TokenKind};

impl Parser<'_> {
    /// Whether the current token can only be the start of a statement.
    pub(super) fn starts_statement(&self) -> bool {
        match self.kind() {
            TokenKind::Let
            | TokenKind::Fn
            | TokenKind::Const
            | TokenKind::Use
            | TokenKind::Struct
            | TokenKind::Enum
            | TokenKind::Pub => true,
            TokenKind::At => self.ahead(1) == TokenKind::Fn,
            TokenKind::Mod => self.at_module(),
            TokenKind::Test => self.ahead(1) == TokenKind::Str,
            TokenKind::For => self.ahead(1).is_name(),
            TokenKind::While => self.ahead(1).starts_expr(),
            TokenKind::Loop => self.ahead(1) == TokenKind::LBrace,
            TokenKind::Return | TokenKind::Var => !self.is_taken(self.kind()),
            _ => false,
        }
    }

    /// Whether `mod` here starts a module, rather than being a name.
    pub(super) fn at_module(&self) -> bool {
        self.at(TokenKind::Mod)
            && (self.ahead(1) == TokenKind::Ident
                || (self.ahead(1).is_name()
                    && matches!(self.ahead(2), TokenKind::Semi | TokenKind::LBrace)))
    }

    /// Whether the closing bracket here closes something: one opened since the anchor, or the
    /// block around it.
    pub(super) fn has_opener(&self) -> bool {
        let close = self.kind();
        if close == TokenKind::RBrace && self.blocks > 0 || self.in_list == Some(close) {
            return true;
        }
        let mut open = Vec::new();
        for token in self.tokens.get(self.anchor..self.pos).unwrap_or_default() {
            if let Some(closer) = token.kind.closer() {
                open.push(closer);
            } else if token.kind.is_closer() && open.last() == Some(&token.kind) {
                open.pop();
            }
        }
        open.contains(&close)
    }

    /// Skips the rest of the statement that began at token `start`: past its `;`, up to the `}`
    /// of the block around it, or up to a line that starts a statement.
    pub(super) fn synchronise(&mut self, start: usize, item: bool) {
        let mut braces = 0u32;
        for token in self.tokens.get(start..self.pos).unwrap_or_default() {
            braces = after(braces, token.kind);
        }
        let margin = self.column(self.tokens[start]);
        let mut new_line = false;
        loop {
            let token = self.token();
            match token.kind {
                TokenKind::Eof => return,
                TokenKind::Semi if braces == 0 => {
                    self.bump();
                    return;
                }
                // Inside a block it ends the block. Outside of any it is part of the mess, unless
                // it has a line of its own and so is a mess of its own.
                TokenKind::RBrace
                    if braces == 0 && (self.blocks > 0 || token.first || new_line) =>
                {
                    return;
                }
                TokenKind::RBrace if braces == 1 && item => {
                    self.bump();
                    return;
                }
                _ if token.first
                    && self.pos > start
                    && self.starts_statement()
                    && (braces == 0 || self.column(token) <= margin) =>
                {
                    return;
                }
                _ => {}
            }
            new_line |= token.first;
            braces = after(braces, token.kind);
            self.bump();
        }
    }

    /// Skips to one of the tokens in `loose`, at any depth of brackets but outside of braces, or
    /// to one in `strict`, outside of all brackets opened since token `start`. Gives up, and says
    /// so, where the statement must have ended.
    pub(super) fn skip_to(
        &mut self,
        start: usize,
        loose: &[TokenKind],
        strict: &[TokenKind],
    ) -> bool {
        let (mut brackets, mut braces) = (0u32, 0u32);
        for token in self.tokens.get(start..self.pos).unwrap_or_default() {
            (brackets, braces) = (after_bracket(brackets, token.kind), after(braces, token.kind));
        }
        loop {
            let token = self.token();
            if braces == 0
                && (loose.contains(&token.kind) || brackets == 0 && strict.contains(&token.kind))
            {
                return true;
            }
            match token.kind {
                TokenKind::Eof => return false,
                TokenKind::Semi | TokenKind::RBrace if braces == 0 => return false,
                _ if token.first && braces == 0 && self.pos > start && self.starts_statement() => {
                    return false;
                }
                _ => {}
            }
            (brackets, braces) = (after_bracket(brackets, token.kind), after(braces, token.kind));
            self.bump();
        }
    }

    /// Skips a construct of another language: its head, and its body in braces.
    pub(super) fn skip_construct(&mut self) -> bool {
        let start = self.pos;
        self.bump();
        if !self.skip_to(start, &[TokenKind::LBrace], &[]) {
            return false;
        }
        let mut braces = 0;
        loop {
            let kind = self.kind();
            braces = after(braces, kind);
            self.bump();
            if braces == 0 || kind == TokenKind::Eof {
                return true;
            }
        }
    }

    /// How far a token stands from the start of its line, in bytes; at most a few hundred, which
    /// is all that indentation needs.
    pub(super) fn column(&self, token: Token) -> usize {
        let end = token.start as usize;
        let from = end.saturating_sub(400);
        let line = self.text.as_bytes().get(from..end).unwrap_or_default();
        memchr::memrchr(b'\n', line).map_or(line.len(), |newline| line.len() - newline - 1)
    }

    /// How far the line of a token is indented, in bytes.
    pub(super) fn indentation(&self, token: Token) -> usize {
        let start = token.start as usize - self.column(token);
        let line = self.text.as_bytes().get(start..).unwrap_or_default();
        line.iter().take(400).take_while(|b| matches!(b, b' ' | b'\t')).count()
    }
}

/// How many braces are open after this token.
fn after(braces: u32, kind: TokenKind) -> u32 {
    match kind {
        TokenKind::LBrace => braces + 1,
        TokenKind::RBrace => braces.saturating_sub(1),
        _ => braces,
    }
}

/// How many brackets of any kind are open after this token.
fn after_bracket(brackets: u32, kind: TokenKind) -> u32 {
    match kind {
        TokenKind::LParen | TokenKind::LBracket | TokenKind::LBrace => brackets + 1,
        TokenKind::RParen | TokenKind::RBracket | TokenKind::RBrace => brackets.saturating_sub(1),
        _ => brackets,
    }
}
