//! Tokens to trees.
//!
//! The arguments of a function and of a primitive follow it, as many as it takes, without
//! brackets around what is applied: `Proj 7 0 Proj 8 1 f x y`. Infix operators are weaker than
//! any application.

use super::lexer::{Token, TokenKind};
use super::tree::{Def, Kind, Node, Op, Program};
use crate::notation::MAX_NESTING;
use crate::remora::decimal;
use ein_base::{Code, Diagnostic, FileId, Name, Span, Symbol};
use rustc_hash::FxHashMap;

/// Parses a program.
pub(super) fn parse(
    file: FileId,
    tokens: &[Token<'_>],
    diagnostics: &mut Vec<Diagnostic>,
) -> Program {
    let end = tokens.last().map_or(Span::new(file, 0, 0), |it| it.span);
    let mut parser =
        Parser { tokens, at: 0, end, depth: 0, functions: FxHashMap::default(), diagnostics };
    parser.heads();
    parser.program()
}

struct Parser<'a, 'd> {
    tokens: &'a [Token<'a>],
    at: usize,
    end: Span,
    depth: u32,
    /// Place and number of parameters by name.
    functions: FxHashMap<&'a str, (usize, usize)>,
    diagnostics: &'d mut Vec<Diagnostic>,
}

const KEYWORDS: &[&str] = &[
    "def", "in", "if", "then", "else", "let", "and", "or", "Typ", "Proj", "Extr00", "Extr01",
    "Extr10", "Extr11", "Join", "Red", "Part0", "Part1", "NumOf", "Numof", "Cond", "true", "false",
];

impl<'a> Parser<'a, '_> {
    fn token(&self) -> Token<'a> {
        let end = Token { kind: TokenKind::End, text: "", span: self.end, joined: false };
        self.tokens.get(self.at).copied().unwrap_or(end)
    }

    fn is(&self, text: &str) -> bool {
        let token = self.token();
        token.text == text && token.kind != TokenKind::Number
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.is(text);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, text: &str) {
        if !self.eat(text) {
            self.unexpected(&format!("`{text}`"));
        }
    }

    fn unexpected(&mut self, wanted: &str) {
        let token = self.token();
        let found = match token.kind {
            TokenKind::End => "the end of the program".to_owned(),
            _ => format!("`{}`", token.text),
        };
        let message = format!("expected {wanted}, found {found}");
        // One mistake is reported once.
        if self.diagnostics.last().is_none_or(|it| it.primary.span != token.span) {
            self.diagnostics.push(Diagnostic::new(Code::E0101, token.span, message));
        }
    }

    fn error(&mut self, wanted: &str) -> Node {
        self.unexpected(wanted);
        Node { kind: Kind::Error, span: self.token().span }
    }

    /// Finds `f x y =` throughout the definitions, so that calls know how many arguments follow.
    fn heads(&mut self) {
        let mut starts = self.is("def");
        let mut depth = 0_i64;
        let mut place = 0;
        for (at, token) in self.tokens.iter().enumerate() {
            if starts && at > 0 {
                let name = token;
                let rest = self.tokens.get(at + 1..).unwrap_or_default();
                let params = rest
                    .iter()
                    .take_while(|it| it.kind == TokenKind::Word && !KEYWORDS.contains(&it.text))
                    .count();
                let head = rest.get(params).is_some_and(|it| it.text == "=");
                if head && name.kind == TokenKind::Word && !KEYWORDS.contains(&name.text) {
                    self.functions.insert(name.text, (place, params));
                    place += 1;
                }
            }
            match token.text {
                "(" | "[" | "let" => depth += 1,
                ")" | "]" => depth -= 1,
                "in" if depth > 0 => depth -= 1,
                "in" => return,
                _ => {}
            }
            starts = token.text == "def" || (token.text == "," && depth == 0);
        }
    }

    fn program(&mut self) -> Program {
        let mut program = Program::default();
        if self.eat("def") {
            loop {
                if let Some(def) = self.def() {
                    program.functions.push(def);
                }
                // After a mistake the next definition begins after the next comma.
                while !self.is(",") && !self.is("in") && self.token().kind != TokenKind::End {
                    self.unexpected("`,` or `in`");
                    self.at += 1;
                }
                if !self.eat(",") {
                    break;
                }
            }
            self.expect("in");
        }
        if self.token().kind == TokenKind::End {
            self.unexpected("the value of the program");
            return program;
        }
        program.body = Some(self.expr());
        if self.token().kind != TokenKind::End {
            self.unexpected("the end of the program");
        }
        program
    }

    fn def(&mut self) -> Option<Def> {
        let start = self.token().span;
        let name = self.name()?;
        let mut params = Vec::new();
        while self.token().kind == TokenKind::Word && !KEYWORDS.contains(&self.token().text) {
            params.extend(self.name());
        }
        self.expect("=");
        let body = self.expr();
        let span = start.to(body.span);
        // Only what `heads` has seen keeps the places right.
        self.functions.contains_key(name.sym.as_str()).then_some(Def { name, params, body, span })
    }

    fn name(&mut self) -> Option<Name> {
        let token = self.token();
        if token.kind != TokenKind::Word || KEYWORDS.contains(&token.text) {
            self.unexpected("a name");
            return None;
        }
        self.at += 1;
        Some(Name { sym: Symbol::intern(token.text), span: token.span })
    }

    fn operator(&self) -> Option<(Op, u8)> {
        let token = self.token();
        if token.kind == TokenKind::Number {
            return None;
        }
        Some(match token.text {
            "or" => (Op::Or, 1),
            "and" => (Op::And, 2),
            "<" => (Op::Lt, 3),
            ">" => (Op::Gt, 3),
            "<=" => (Op::Le, 3),
            ">=" => (Op::Ge, 3),
            "=" => (Op::Eq, 3),
            "+" => (Op::Add, 4),
            "-" => (Op::Sub, 4),
            "*" => (Op::Mul, 5),
            "/" => (Op::Div, 5),
            _ => return None,
        })
    }

    /// An expression, with infix operators.
    fn expr(&mut self) -> Node {
        self.depth += 1;
        let node = if self.depth > MAX_NESTING {
            let span = self.token().span;
            let message = format!("more than {MAX_NESTING} levels");
            if self.diagnostics.iter().all(|it| it.code != Code::E0115) {
                self.diagnostics.push(Diagnostic::new(Code::E0115, span, message));
            }
            self.at = self.tokens.len();
            Node { kind: Kind::Error, span }
        } else {
            self.infix(0)
        };
        self.depth -= 1;
        node
    }

    fn infix(&mut self, level: u8) -> Node {
        let mut left = self.operand();
        let mut count = 0;
        while let Some((op, strength)) = self.operator()
            && strength > level
        {
            self.at += 1;
            count += 1;
            if count > MAX_NESTING {
                return self.too_long(left.span);
            }
            let right = self.infix(strength);
            let span = left.span.to(right.span);
            left = Node { kind: Kind::Binary(op, Box::new([left, right])), span };
        }
        left
    }

    fn too_long(&mut self, span: Span) -> Node {
        let message = format!("more than {MAX_NESTING} operators in a row");
        self.diagnostics.push(Diagnostic::new(Code::E0115, span, message));
        self.at = self.tokens.len();
        Node { kind: Kind::Error, span }
    }

    /// An expression without infix operators; bounded like a bracketed one.
    fn operand(&mut self) -> Node {
        self.depth += 1;
        let node = if self.depth > MAX_NESTING {
            self.depth -= 1;
            return self.too_long(self.token().span);
        } else {
            self.prefix()
        };
        self.depth -= 1;
        node
    }

    fn prefix(&mut self) -> Node {
        let token = self.token();
        let start = token.span;
        if token.kind == TokenKind::Number {
            return self.number(false);
        }
        if token.text == "-"
            && token.joined
            && self.tokens.get(self.at + 1).is_some_and(|it| it.kind == TokenKind::Number)
        {
            self.at += 1;
            return self.number(true);
        }
        if let Some((op, _)) = self.operator() {
            self.at += 1;
            let pair = [self.operand(), self.operand()];
            return self.spanned(Kind::Binary(op, Box::new(pair)), start);
        }
        if token.kind == TokenKind::End {
            return self.error("an expression");
        }
        self.at += 1;
        let kind = match token.text {
            "(" => {
                let inner = self.expr();
                if !self.eat(")") {
                    self.unclosed(start, "(", ")");
                }
                return Node { kind: inner.kind, span: start.to(inner.span) };
            }
            "[" => self.array(start),
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            "if" => {
                let cond = self.expr();
                self.expect("then");
                let then = self.expr();
                self.expect("else");
                Kind::If(Box::new([cond, then, self.expr()]))
            }
            "let" => self.bindings(),
            "Cond" => Kind::If(Box::new([self.operand(), self.operand(), self.operand()])),
            "Typ" => {
                let (inner, outer) = (self.axis(), self.axis());
                Kind::Typ(inner, outer, Box::new(self.operand()))
            }
            "Proj" => {
                let (outer, inner) = (self.axis(), self.axis());
                Kind::Proj(outer, inner, Box::new(self.operand()))
            }
            "Extr00" => Kind::Extr("first", self.axis(), Box::new(self.operand())),
            "Extr01" => Kind::Extr("rest", self.axis(), Box::new(self.operand())),
            "Extr10" => Kind::Extr("last", self.axis(), Box::new(self.operand())),
            "Extr11" => Kind::Extr("init", self.axis(), Box::new(self.operand())),
            "Join" => Kind::Join(self.axis(), Box::new([self.operand(), self.operand()])),
            "Red" => {
                let op = self.reduction();
                let axis = self.axis();
                Kind::Red(op, axis, Box::new(self.operand()))
            }
            "Part0" => Kind::Part("take", self.axis(), Box::new([self.operand(), self.operand()])),
            "Part1" => Kind::Part("drop", self.axis(), Box::new([self.operand(), self.operand()])),
            "NumOf" | "Numof" => {
                let value = self.operand();
                let axis = self.axis();
                Kind::NumOf(axis, Box::new([value, self.operand()]))
            }
            _ if token.kind == TokenKind::Word && !KEYWORDS.contains(&token.text) => {
                match self.functions.get(token.text).copied() {
                    Some((place, arity)) => {
                        Kind::Call(place, (0..arity).map(|_| self.operand()).collect())
                    }
                    None => Kind::Name(Symbol::intern(token.text)),
                }
            }
            _ => {
                self.at -= 1;
                return self.error("an expression");
            }
        };
        self.spanned(kind, start)
    }

    /// A node from its first token to the one before this.
    fn spanned(&self, kind: Kind, start: Span) -> Node {
        let last = self.at.checked_sub(1).and_then(|it| self.tokens.get(it));
        Node { kind, span: last.map_or(start, |it| start.to(it.span)) }
    }

    fn unclosed(&mut self, open: Span, bracket: &str, close: &str) {
        let here = self.token().span;
        let message = format!("this `{bracket}` is not closed");
        self.diagnostics.push(
            Diagnostic::new(Code::E0104, open, message)
                .label(here, format!("expected `{close}` here")),
        );
    }

    fn array(&mut self, start: Span) -> Kind {
        let mut items = Vec::new();
        while !self.is("]") {
            let token = self.token();
            if token.kind == TokenKind::End
                || [")", ",", "in", "then", "else"].contains(&token.text)
            {
                self.unclosed(start, "[", "]");
                return Kind::Array(items);
            }
            let before = self.at;
            items.push(self.operand());
            if self.at == before {
                self.at += 1;
            }
        }
        self.at += 1;
        Kind::Array(items)
    }

    fn bindings(&mut self) -> Kind {
        let mut out = Vec::new();
        while let Some(name) = self.name() {
            self.expect("=");
            out.push((name, self.expr()));
            if !self.eat(",") {
                break;
            }
        }
        self.expect("in");
        Kind::Let(out, Box::new(self.expr()))
    }

    fn axis(&mut self) -> u32 {
        let token = self.token();
        if token.kind == TokenKind::Number
            && let Ok(axis) = token.text.parse()
        {
            self.at += 1;
            return axis;
        }
        self.unexpected("the number of an axis");
        0
    }

    fn reduction(&mut self) -> Op {
        let op = match (self.operator(), self.token().text) {
            (Some((op @ (Op::Add | Op::Mul | Op::And | Op::Or), _)), _) => op,
            (_, "min") => Op::Min,
            (_, "max") => Op::Max,
            _ => {
                self.unexpected("an operator that reduces: `+ * min max and or`");
                return Op::Add;
            }
        };
        self.at += 1;
        op
    }

    fn number(&mut self, negative: bool) -> Node {
        let token = self.token();
        self.at += 1;
        let sign = if negative { "-" } else { "" };
        let text = format!("{sign}{}", token.text);
        let kind = match text.parse::<i64>() {
            Ok(value) => Kind::Int(value),
            Err(_) if text.contains(['.', 'e', 'E']) => Kind::Float(decimal(&text)),
            Err(_) => {
                let message = format!("`{text}` is too large");
                self.diagnostics.push(Diagnostic::new(Code::E0108, token.span, message));
                Kind::Error
            }
        };
        Node { kind, span: token.span }
    }
}
