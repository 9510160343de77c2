//! The tokens around the current one.
//!
//! Tokens are cut from the text when the parser comes near them and forgotten between the
//! statements of the file, so that a long file never has all its tokens in memory.

use super::Parser;
use crate::token::TokenKind;

/// How many tokens are cut at a time.
const CHUNK: usize = 1 << 10;

/// How far ahead of the current token there always are tokens, up to the end of the text.
pub(super) const AHEAD: usize = 4;

impl Parser<'_> {
    /// Cuts more tokens, unless the end is among those that are there.
    #[inline(never)]
    pub(super) fn cut(&mut self) {
        if self.tokens.last().is_none_or(|token| token.kind != TokenKind::Eof) {
            self.lexer.cut(CHUNK, &mut self.tokens);
        }
    }

    /// The kind of the token `n` places ahead, however many that are.
    pub(super) fn far_ahead(&mut self, n: usize) -> TokenKind {
        while self.pos + n >= self.tokens.len() {
            let before = self.tokens.len();
            self.cut();
            if self.tokens.len() == before {
                return TokenKind::Eof;
            }
        }
        self.ahead(n)
    }

    /// Between two statements of the file nothing returns to the tokens before the last one, and
    /// nothing asks how high the nodes of earlier statements are.
    pub(super) fn forget(&mut self) {
        if self.blocks == 0 && self.depth == 0 && self.pos > CHUNK {
            self.tokens.drain(..self.pos - 1);
            self.pos = 1;
            self.heights.forget();
        }
    }
}
