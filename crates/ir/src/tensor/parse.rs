//! Reads the text of tensor IR that [`print`](super::print) writes.
//!
//! Declarations are read first, bodies after them: the types that the text leaves out follow from
//! the declarations. Names of ids are for people; the numbers count, and declarations stand in their
//! order. Every span is empty. What is read is well formed as text only: [`verify`](super::verify)
//! judges the rest.

mod array;
mod expr;
mod primary;
mod size;
mod types;

use super::lex::{Token, lex};
use super::names::readable;
use super::spans::nowhere;
use super::{
    ArrayOp, AtomDef, AtomInfo, Data, DataVariant, Expr, Func, FuncId, Place, Program, Stmt, Var,
    VarId,
};
use crate::text::ParseError;
use ein_base::{Idx, Symbol};

/// How deep brackets may be nested.
const MAX_NESTING: u32 = 300;

/// The program that a text is.
pub fn parse(text: &str) -> std::result::Result<Program, ParseError> {
    let mut parser = Parser { tokens: lex(text)?, at: 0, depth: 0, program: Program::default() };
    let (bodies, top) = parser.declarations()?;
    for (func, at) in bodies {
        parser.at = at;
        parser.sign("{")?;
        let body = parser.expr()?;
        parser.sign("}")?;
        parser.program.funcs[func].body = body;
    }
    if let Some(at) = top {
        parser.at = at;
        parser.program.top = parser.top()?;
    }
    Ok(parser.program)
}

type Result<T> = std::result::Result<T, ParseError>;

/// Where the bodies of functions start, and the statements of the top level.
type Bodies = (Vec<(FuncId, usize)>, Option<usize>);

struct Parser {
    tokens: Vec<(Token, u32)>,
    at: usize,
    depth: u32,
    program: Program,
}

impl Parser {
    // ---------------------------------------------------------------- tokens

    fn peek(&self) -> &Token {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> &Token {
        self.tokens.get(self.at + ahead).map_or(&Token::End, |(token, _)| token)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len());
        token
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        let line = self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |(_, line)| *line);
        Err(ParseError { line, message: message.into() })
    }

    fn expected<T>(&self, what: &str) -> Result<T> {
        let found = match self.peek() {
            Token::Word(word) => format!("`{word}`"),
            Token::Number(number, suffix) => format!("`{number}{suffix}`"),
            Token::Text(text) => format!("{text:?}"),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end".into(),
        };
        self.error(format!("expected {what}, found {found}"))
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(own) if *own == sign)
    }

    fn eat(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        self.at += usize::from(found);
        found
    }

    fn sign(&mut self, sign: &str) -> Result<()> {
        if self.eat(sign) { Ok(()) } else { self.expected(&format!("`{sign}`")) }
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(own) if own == word)
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    /// A name: a word or a string.
    fn name(&mut self) -> Result<Symbol> {
        match self.peek() {
            Token::Word(text) | Token::Text(text) => {
                let name = Symbol::intern(text);
                self.at += 1;
                Ok(name)
            }
            Token::Number(..) | Token::Sign(_) | Token::End => self.expected("a name"),
        }
    }

    fn text(&mut self) -> Result<String> {
        match self.next() {
            Token::Text(text) => Ok(text),
            _ => {
                self.at = self.at.saturating_sub(1);
                self.expected("a string")
            }
        }
    }

    /// A whole number without a sign.
    fn count<T: TryFrom<u64>>(&mut self) -> Result<T> {
        let value = match self.peek() {
            Token::Number(digits, suffix) if suffix.is_empty() => digits.parse::<u64>().ok(),
            _ => None,
        };
        match value.and_then(|value| T::try_from(value).ok()) {
            Some(value) => {
                self.at += 1;
                Ok(value)
            }
            None => self.expected("a whole number"),
        }
    }

    /// An id: the number after the last `_` of a word.
    fn id<I: Idx>(&mut self) -> Result<I> {
        match self.id_number() {
            Some(number) => {
                self.at += 1;
                Ok(I::from_usize(number as usize))
            }
            None => self.expected("a name with its number"),
        }
    }

    fn id_number(&self) -> Option<u32> {
        match self.peek() {
            Token::Word(word) => {
                let (_, digits) = word.rsplit_once('_')?;
                digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
            }
            Token::Number(..) | Token::Text(_) | Token::Sign(_) | Token::End => None,
        }
    }

    /// An id where it is declared, which is the next one; with its name.
    fn declared(&mut self, next: usize) -> Result<Symbol> {
        let word = match self.peek() {
            Token::Word(word) => word.clone(),
            Token::Number(..) | Token::Text(_) | Token::Sign(_) | Token::End => String::new(),
        };
        match self.id_number() {
            Some(number) if number as usize == next => self.at += 1,
            Some(_) => return self.error(format!("expected the declaration of number {next}")),
            None => return self.expected("a name with its number"),
        }
        if let Token::Text(_) = self.peek() {
            return self.name();
        }
        let name = word.rsplit_once('_').map_or("", |(name, _)| name);
        let name = Symbol::intern(name);
        if readable(name) == name.as_str() { Ok(name) } else { self.expected("a name") }
    }

    /// Items up to a sign, with commas between them.
    fn list<T>(
        &mut self,
        close: &str,
        mut one: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut items = Vec::new();
        while !self.eat(close) {
            items.push(one(self)?);
            if !self.eat(",") {
                self.sign(close)?;
                break;
            }
        }
        Ok(items)
    }

    /// Counts one level of nesting around `inner`.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_NESTING {
            return self.error("nested too deeply");
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    // ---------------------------------------------------------------- declarations

    fn declarations(&mut self) -> Result<Bodies> {
        let mut bodies = Vec::new();
        let mut top = None;
        loop {
            let keyword = match self.next() {
                Token::Word(word) => word,
                Token::End => return Ok((bodies, top)),
                Token::Number(..) | Token::Text(_) | Token::Sign(_) => String::new(),
            };
            match keyword.as_str() {
                "frame" => {
                    self.word("globals")?;
                    self.program.global_slots = self.count()?;
                    self.word("locals")?;
                    self.program.top_slots = self.count()?;
                }
                "data" => self.data()?,
                "atom" => self.atom()?,
                "var" => self.var()?,
                "func" => {
                    let func = self.header()?;
                    bodies.push((func, self.at));
                    self.skip_block()?;
                }
                "top" => {
                    top = Some(self.at);
                    self.skip_block()?;
                }
                "outputs" => {
                    while self.id_number().is_some() {
                        let var = self.id()?;
                        self.program.outputs.push(var);
                        if !self.eat(",") {
                            break;
                        }
                    }
                }
                "main" => {
                    self.sign("@")?;
                    self.program.main = Some(self.id()?);
                }
                "test" => {
                    let name = Symbol::intern(&self.text()?);
                    self.sign("@")?;
                    let func = self.id()?;
                    self.program.tests.push((name, nowhere(), func));
                }
                _ => {
                    self.at = self.at.saturating_sub(1);
                    return self.expected("a declaration");
                }
            }
        }
    }

    /// Passes over everything between a brace and the one that closes it.
    fn skip_block(&mut self) -> Result<()> {
        self.sign("{")?;
        let mut open = 1;
        while open > 0 {
            match self.next() {
                Token::Sign("{") => open += 1,
                Token::Sign("}") => open -= 1,
                Token::End => return self.error("a brace is not closed"),
                Token::Sign(_) | Token::Word(_) | Token::Number(..) | Token::Text(_) => {}
            }
        }
        Ok(())
    }

    fn data(&mut self) -> Result<()> {
        self.sign("#")?;
        let name = self.declared(self.program.data.len())?;
        let is_enum = self.eat_word("enum");
        if !is_enum {
            self.word("struct")?;
        }
        self.sign("{")?;
        let variants = self.list("}", |it| {
            let name = it.name()?;
            let positional = it.eat_word("positional");
            it.sign("(")?;
            let fields = it.list(")", Self::name)?;
            Ok(DataVariant { name, fields, positional })
        })?;
        self.program.data.push(Data { name, variants, is_enum });
        Ok(())
    }

    fn atom(&mut self) -> Result<()> {
        let name = self.declared(self.program.atoms.len())?;
        self.sign("=")?;
        let def = if self.eat_word("var") {
            AtomDef::Var(self.id()?)
        } else if self.eat_word("extent") {
            AtomDef::Extent(self.id()?, self.count()?)
        } else if self.eat_word("length") {
            AtomDef::Length(self.id()?)
        } else {
            self.word("unknown")?;
            AtomDef::Unknown
        };
        let external = self.eat_word("external");
        self.program.atoms.push(AtomInfo { name, def, external });
        Ok(())
    }

    fn var(&mut self) -> Result<()> {
        let name = self.declared(self.program.vars.len())?;
        self.sign(":")?;
        let ty = self.ty()?;
        self.sign("=")?;
        let place = if self.eat_word("global") {
            Place::Global(self.count()?)
        } else {
            self.word("local")?;
            Place::Local(self.count()?)
        };
        self.program.vars.push(Var { name, span: nowhere(), ty, place });
        Ok(())
    }

    fn header(&mut self) -> Result<FuncId> {
        self.sign("@")?;
        let name = self.declared(self.program.funcs.len())?;
        let vars = |it: &mut Self, open: &str, close: &str| -> Result<Vec<VarId>> {
            if it.eat(open) { it.list(close, Self::id) } else { Ok(Vec::new()) }
        };
        let sizes = vars(self, "<", ">")?;
        let captures = vars(self, "{", "}")?;
        self.sign("(")?;
        let params = self.list(")", Self::id)?;
        self.sign("->")?;
        let ret = self.ty()?;
        self.word("slots")?;
        let slots = self.count()?;
        let rule = if self.eat_word("rule") {
            self.sign("@")?;
            Some(self.id()?)
        } else {
            None
        };
        let by = ArrayOp::NAMES.iter().find(|(name, _)| self.eat_word(name)).map(|(_, op)| *op);
        let (span, body) = (nowhere(), Expr::error(nowhere()));
        let func = Func { name, span, sizes, captures, params, ret, body, slots, rule, by };
        Ok(self.program.funcs.push(func))
    }

    fn top(&mut self) -> Result<Vec<Stmt>> {
        self.sign("{")?;
        let mut stmts = Vec::new();
        while !self.eat("}") {
            stmts.push(self.stmt()?);
        }
        Ok(stmts)
    }
}
