//! Tokens: a kind and two offsets, so that a million lines are one flat vector.

use TokenKind::*;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum TokenKind {
    Eof,
    Ident,
    /// Digits in any base with whatever suffix follows; the parser decodes it.
    Int,
    /// A number with a point, an exponent or a float suffix.
    Float,
    /// A whole string, interpolations included.
    Str,
    /// A string that is not closed or not written with `"`; it was reported.
    BadStr,
    // Keywords.
    Let,
    Const,
    Fn,
    Pub,
    Use,
    If,
    Else,
    Match,
    True,
    False,
    Struct,
    Enum,
    Try,
    // Words that are keywords in some places only.
    In,
    Where,
    As,
    Test,
    Some,
    Mod,
    Catch,
    // Words of other languages.
    For,
    While,
    Loop,
    Return,
    Mut,
    Var,
    // Punctuation.
    Underscore,
    LParen,
    RParen,
    LBracket,
    RBracket,
    LBrace,
    RBrace,
    Comma,
    Semi,
    Colon,
    ColonColon,
    Dot,
    DotDot,
    DotDotEq,
    Arrow,
    FatArrow,
    Eq,
    EqEq,
    Ne,
    Lt,
    Gt,
    Le,
    Ge,
    Plus,
    Minus,
    Star,
    StarStar,
    Slash,
    Percent,
    AndAnd,
    OrOr,
    Bar,
    PipePlain,
    PipeOption,
    PipeResult,
    Question,
    Bang,
    At,
    Hash,
}

/// A token of the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Whether it is the first on its line.
    pub first: bool,
    /// Whether the lexer reported something directly in front of it.
    pub after_error: bool,
    /// Its first byte.
    pub start: u32,
    /// One past its last byte.
    pub end: u32,
}

impl TokenKind {
    /// Whether it may be a name: an identifier, or a word that is a keyword in some places only.
    pub fn is_name(self) -> bool {
        self == Ident || (In..=Catch).contains(&self)
    }
    /// Whether it is a keyword everywhere.
    pub fn is_keyword(self) -> bool {
        (Let..=Try).contains(&self)
    }
    /// Whether it is a word of another language.
    pub fn is_foreign(self) -> bool {
        (For..=Var).contains(&self)
    }
    /// Whether an expression may start with it.
    pub fn starts_expr(self) -> bool {
        self.is_name()
            || self.is_foreign()
            || matches!(
                self,
                Int | Float
                    | Str
                    | BadStr
                    | If
                    | Match
                    | True
                    | False
                    | Try
                    | LParen
                    | LBracket
                    | LBrace
                    | DotDot
                    | DotDotEq
                    | Minus
                    | OrOr
                    | Bar
                    | Question
                    | Bang
                    | At
            )
    }
    /// The closing bracket of an opening one.
    pub fn closer(self) -> Option<TokenKind> {
        match self {
            LParen => Option::Some(RParen),
            LBracket => Option::Some(RBracket),
            LBrace => Option::Some(RBrace),
            _ => None,
        }
    }
    /// Whether it closes a bracket.
    pub fn is_closer(self) -> bool {
        matches!(self, RParen | RBracket | RBrace)
    }
    /// Whether it is an operator that needs something on both sides.
    pub fn is_infix(self) -> bool {
        matches!(
            self,
            EqEq | Ne
                | Lt
                | Gt
                | Le
                | Ge
                | Plus
                | Minus
                | Star
                | StarStar
                | Slash
                | Percent
                | AndAnd
                | OrOr
                | PipePlain
                | PipeOption
                | PipeResult
        )
    }
    /// How punctuation is written.
    pub fn text(self) -> &'static str {
        match self {
            LParen => "(",
            RParen => ")",
            LBracket => "[",
            RBracket => "]",
            LBrace => "{",
            RBrace => "}",
            Comma => ",",
            Semi => ";",
            Colon => ":",
            FatArrow => "=>",
            Eq => "=",
            Gt => ">",
            Bar => "|",
            Dot => ".",
            In => "in",
            _ => "",
        }
    }
}

/// The keyword that a word is, or `Ident`.
pub(crate) fn word(text: &[u8]) -> TokenKind {
    match text {
        b"let" => Let,
        b"const" => Const,
        b"fn" => Fn,
        b"pub" => Pub,
        b"use" => Use,
        b"if" => If,
        b"else" => Else,
        b"match" => Match,
        b"true" => True,
        b"false" => False,
        b"struct" => Struct,
        b"enum" => Enum,
        b"try" => Try,
        b"in" => In,
        b"where" => Where,
        b"as" => As,
        b"test" => Test,
        b"some" => TokenKind::Some,
        b"mod" => Mod,
        b"catch" => Catch,
        b"for" => For,
        b"while" => While,
        b"loop" => Loop,
        b"return" => Return,
        b"mut" => Mut,
        b"var" => Var,
        b"_" => Underscore,
        _ => Ident,
    }
}
