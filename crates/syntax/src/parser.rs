//! Tokens to a tree, by recursive descent, with recovery.
//!
//! A function that cannot go on reports once and returns [`Reported`]; the nearest construct that
//! can recover (a statement, an arm, a parameter) catches it and skips to a place where reading
//! makes sense again. Mistakes that leave the meaning clear are reported without stopping.

mod expr;
mod item;
mod list;
mod literal;
mod mistakes;
mod node;
mod pattern;
mod primary;
mod recovery;
mod stmt;
mod string;
mod types;
mod window;

use crate::ast::{Ast, Doc, ExprId, MAX_DEPTH};
use crate::lexer::Lexer;
use crate::token::{Token, TokenKind};
use crate::{CommentKind, MAX_DIAGNOSTICS, Parsed};
use ein_base::{Code, Diagnostic, FileId, Name, Span, Symbol};

/// How deep constructs may be nested in the text. Trees are bounded by [`MAX_DEPTH`] besides;
/// this bounds the parser's own stack.
const MAX_NESTING: u32 = MAX_DEPTH / 2;

/// Proof that a diagnostic was issued.
#[derive(Clone, Copy, Debug)]
struct Reported;

type Parse<T> = Result<T, Reported>;

/// Parses a file.
pub(crate) fn parse(file: FileId, text: &str) -> Parsed {
    let mut parser = Parser {
        text,
        file,
        lexer: Lexer::of_file(file, text),
        tokens: Vec::new(),
        pos: 0,
        prev_end: 0,
        prev_kind: TokenKind::Eof,
        ast: Ast::new(file),
        heights: node::Heights::default(),
        next_comment: 0,
        diagnostics: Vec::new(),
        depth: 0,
        anchor: 0,
        blocks: 0,
        no_struct: false,
        hole_ok: false,
        in_guard: false,
        quiet_eof: false,
        taken_words: 0,
        suspect: None,
        in_list: None,
        angles: false,
        deep: false,
    };
    parser.cut();
    parser.file();
    parser.finish()
}

struct Parser<'t> {
    text: &'t str,
    file: FileId,
    lexer: Lexer<'t>,
    /// The tokens from a little before the current statement of the file to a little after the
    /// current token.
    tokens: Vec<Token>,
    /// The current token.
    pos: usize,
    /// Where the token before the current one ends.
    prev_end: u32,
    prev_kind: TokenKind,
    ast: Ast,
    heights: node::Heights,
    next_comment: usize,
    diagnostics: Vec<Diagnostic>,
    /// How deep the parser has recursed.
    depth: u32,
    /// The first token of the construct that will recover from the next error.
    anchor: usize,
    /// How many braces with statements in them are open.
    blocks: u32,
    /// In the head of an `if` or `match`, where `{` opens its body.
    no_struct: bool,
    /// In an array type, where `?` alone is an extent.
    hole_ok: bool,
    /// In a guard, where `else` says what holds if it fails.
    in_guard: bool,
    /// The end of the file was already blamed.
    quiet_eof: bool,
    /// Keywords that the program uses as names (reported once), one bit per kind.
    taken_words: u128,
    /// A pair of braces whose indentation disagrees.
    suspect: Option<(Span, Span)>,
    /// In a list of declarations or arms: what closes it.
    in_list: Option<TokenKind>,
    /// In the type arguments of a type, where `!>` is a `!` and the closing `>`.
    angles: bool,
    /// The depth was reported for the statement at top level that is being parsed.
    deep: bool,
}

impl<'t> Parser<'t> {
    fn file(&mut self) {
        loop {
            let tail = self.statements(|parser, stmt| parser.top_statement(stmt));
            if let Some((tail, docs)) = tail {
                let lo = self.ast.expr[tail].span.lo();
                let stmt = self.stmt(crate::ast::StmtKind::Expr(tail), lo, docs);
                self.top_statement(stmt);
            }
            if self.kind() == TokenKind::Eof {
                break;
            }
            // `statements` stops at `}` or at the end.
            let span = self.span_here();
            let diagnostic = Diagnostic::new(Code::E0105, span, "this `}` closes nothing")
                .here("no `{` is open here")
                .fix("remove it", span, "");
            self.report(diagnostic);
            self.bump();
        }
    }

    /// Adds a statement to the file.
    fn top_statement(&mut self, stmt: crate::ast::StmtId) {
        self.ast.stmts.push(stmt);
        // There are fewer nodes than ids.
        self.ast.ends.push(self.ast.expr.len() as u32);
    }

    fn finish(mut self) -> Parsed {
        let file_docs = self.lexer.comments.iter().filter(|c| c.kind == CommentKind::FileDoc);
        self.ast.docs = file_docs.map(|comment| self.doc(comment.span)).collect();
        let Lexer { comments, mut diagnostics, .. } = self.lexer;
        diagnostics.append(&mut self.diagnostics);
        diagnostics.sort_by_key(|d| d.primary.span.lo());
        if diagnostics.len() >= MAX_DIAGNOSTICS {
            diagnostics.truncate(MAX_DIAGNOSTICS);
            if let Some(last) = diagnostics.last_mut() {
                last.notes.push("there are more syntax errors; they are not shown".into());
            }
        }
        Parsed { ast: self.ast, comments, diagnostics }
    }

    // Looking at tokens.

    fn token(&self) -> Token {
        self.tokens[self.pos]
    }
    fn kind(&self) -> TokenKind {
        self.tokens[self.pos].kind
    }
    /// The kind of the token `n` places ahead, at most [`window::AHEAD`].
    fn ahead(&self, n: usize) -> TokenKind {
        self.tokens.get(self.pos + n).map_or(TokenKind::Eof, |t| t.kind)
    }
    fn at(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }
    /// Where the current token starts.
    fn lo(&self) -> u32 {
        self.tokens[self.pos].start
    }
    fn span_here(&self) -> Span {
        self.token_span(self.token())
    }
    fn token_span(&self, token: Token) -> Span {
        Span::new(self.file, token.start, token.end)
    }
    /// From `lo` to the end of the token before the current one.
    fn span_from(&self, lo: u32) -> Span {
        Span::new(self.file, lo, self.prev_end.max(lo))
    }
    fn prev_span(&self) -> Span {
        match self.pos.checked_sub(1) {
            Some(prev) => self.token_span(self.tokens[prev]),
            None => Span::new(self.file, 0, 0),
        }
    }
    fn slice(&self, span: Span) -> &'t str {
        self.text.get(span.lo() as usize..span.hi() as usize).unwrap_or("")
    }

    // Moving.

    fn bump(&mut self) {
        let token = self.tokens[self.pos];
        self.prev_end = token.end;
        self.prev_kind = token.kind;
        if token.kind != TokenKind::Eof {
            self.pos += 1;
            if self.pos + window::AHEAD >= self.tokens.len() {
                self.cut();
            }
        }
    }
    /// Returns to an earlier token.
    fn go_back(&mut self, pos: usize) {
        self.pos = pos;
        let before = pos.checked_sub(1).map(|at| self.tokens[at]);
        self.prev_end = before.map_or(0, |token| token.end);
        self.prev_kind = before.map_or(TokenKind::Eof, |token| token.kind);
    }
    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }
    /// Takes `kind` from the front of a longer token, such as `|` from `||`.
    fn split(&mut self, whole: TokenKind, rest: TokenKind) -> bool {
        if !self.at(whole) {
            return false;
        }
        let token = &mut self.tokens[self.pos];
        token.kind = rest;
        token.start += 1;
        token.first = false;
        self.prev_end = token.start;
        self.prev_kind = rest;
        true
    }

    // Names.

    /// The name in the current token, which is taken.
    fn take_name(&mut self) -> Name {
        let span = self.span_here();
        let sym = Symbol::intern(self.slice(span));
        self.bump();
        Name { sym, span }
    }

    /// Expects a name; `what` completes "expected …". A keyword is reported and taken as one.
    fn name(&mut self, what: &str) -> Parse<Name> {
        let token = self.token();
        if token.kind.is_name() || self.is_taken(token.kind) {
            return Ok(self.take_name());
        }
        let word = token.kind.is_keyword() || token.kind.is_foreign();
        if word && !(token.first && self.starts_statement()) {
            self.report_word_as_name();
            return Ok(self.take_name());
        }
        if token.kind == TokenKind::Underscore {
            let span = self.span_here();
            return Err(self.fail(
                Diagnostic::new(Code::E0101, span, format!("expected {what}, found `_`"))
                    .here("`_` is a pattern, not a name")
                    .help("give it a name; one that starts with `_` is never reported as unused"),
            ));
        }
        Err(self.unexpected(what))
    }

    /// Whether this word was reported as a misused name before, and may now be one in silence.
    fn is_taken(&self, kind: TokenKind) -> bool {
        self.taken_words & (1 << kind as u8) != 0
    }

    fn report_word_as_name(&mut self) {
        let span = self.span_here();
        let kind = self.kind();
        let word = self.slice(span);
        self.taken_words |= 1 << kind as u8;
        let diagnostic = if kind.is_foreign() {
            Diagnostic::new(Code::E0106, span, format!("`{word}` is reserved and cannot be a name"))
                .here("reserved, since other languages give it a meaning")
                .fix(format!("write `{word}_`, or choose another name"), span, format!("{word}_"))
        } else {
            Diagnostic::new(
                Code::E0107,
                span,
                format!("`{word}` is a keyword and cannot be a name"),
            )
            .here("a keyword of Einlang")
            .fix(
                format!("write `{word}_`, or choose another name"),
                span,
                format!("{word}_"),
            )
        };
        self.report(diagnostic);
    }

    // Reporting.

    fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < 2 * MAX_DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Reports, unless the lexer already blamed this place, and gives up the current construct.
    fn fail(&mut self, diagnostic: Diagnostic) -> Reported {
        let blamed = self.token().after_error
            || self.prev_kind == TokenKind::BadStr
            || (self.at(TokenKind::Eof) && self.quiet_eof);
        if !blamed {
            self.report(diagnostic);
        }
        if self.at(TokenKind::Eof) {
            self.quiet_eof = true;
        }
        Reported
    }

    /// How the current token is called in a message.
    fn found(&self) -> String {
        let token = self.token();
        match token.kind {
            TokenKind::Eof => "the end of the file".into(),
            TokenKind::Str | TokenKind::BadStr => "a string".into(),
            _ => format!("`{}`", self.slice(self.token_span(token))),
        }
    }

    /// "expected …, found …" at the current token.
    fn unexpected(&mut self, what: &str) -> Reported {
        let span = self.span_here();
        if self.kind().is_closer() && !self.has_opener() {
            let closer = self.found();
            return self.fail(
                Diagnostic::new(Code::E0105, span, format!("this {closer} closes nothing"))
                    .here(format!("expected {what}"))
                    .fix(
                        format!("remove the {closer}, or open the bracket it should close"),
                        span,
                        "",
                    ),
            );
        }
        let found = self.found();
        self.fail(
            Diagnostic::new(Code::E0101, span, format!("expected {what}, found {found}"))
                .here(format!("expected {what}")),
        )
    }

    fn expect(&mut self, kind: TokenKind) -> Parse<()> {
        if self.eat(kind) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{}`", kind.text())))
    }

    // Depth.

    /// Counts one level of nesting around `inner`.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= MAX_NESTING {
            return Err(self.too_deep());
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn too_deep(&mut self) -> Reported {
        self.quiet_eof = true;
        if std::mem::replace(&mut self.deep, true) {
            return Reported;
        }
        let span = self.span_here();
        self.report(
            Diagnostic::new(Code::E0115, span, "this is nested too deeply")
                .here("the limit is reached here")
                .note(format!(
                    "brackets may be nested {MAX_NESTING} deep, and a chain of operators may have {MAX_DEPTH} links"
                ))
                .help("name parts of it with `let`, or use an array and a reduction such as `sum`"),
        );
        Reported
    }

    // Documentation.

    fn doc(&self, span: Span) -> Doc {
        let text = self.slice(span);
        let text = text.get(3..).unwrap_or("");
        let text = text.strip_prefix(' ').unwrap_or(text).trim_end();
        Doc { text: Symbol::intern(text), span }
    }

    /// The documentation between the last statement and the current token. What follows something
    /// on its line is a remark about that.
    fn docs(&mut self) -> Vec<Doc> {
        let start = self.lo();
        let mut docs = Vec::new();
        while let Some(comment) = self.lexer.comments.get(self.next_comment).copied() {
            if comment.span.lo() >= start {
                break;
            }
            self.next_comment += 1;
            let end = self.prev_end;
            if comment.kind == CommentKind::Doc && comment.span.lo() >= end {
                let between = Span::new(self.file, end, comment.span.lo());
                if end == 0 || self.slice(between).contains('\n') {
                    docs.push(self.doc(comment.span));
                }
            }
        }
        docs
    }

    /// An expression that stands for what could not be parsed.
    fn error_expr(&mut self) -> ExprId {
        let span = Span::new(self.file, self.prev_end, self.prev_end);
        self.leaf(crate::ast::ExprKind::Error, span)
    }
}
