//! Reads the text of loop IR that [`print`](super::print) writes.
//!
//! What is read is well formed as text only: [`verify`](super::verify) judges the rest.

use std::fmt;

use ein_base::{Idx, IndexVec};
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp, parse_float, parse_int};

use super::print::kind_name;
use super::{
    Addr, Buf, Buffer, BufferKind, For, ForKind, Gemm, Kernel, Matrix, Op, Operand, Reg, Stmt,
};

/// Why a text is not loop IR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The line, from 1.
    pub line: u32,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ParseError {}

type Result<T> = std::result::Result<T, ParseError>;

/// How deep blocks may be nested.
const MAX_NESTING: u32 = 300;
/// The greatest number of a register or buffer, so that a text cannot ask for much memory.
const MAX_NUMBER: usize = 1 << 24;

/// The kernel that a text is.
pub fn parse(text: &str) -> Result<Kernel> {
    let mut parser =
        Parser { tokens: lex(text)?, at: 0, depth: 0, bufs: IndexVec::new(), regs: Vec::new() };
    parser.word("kernel")?;
    let name = parser.text()?;
    while !parser.is_sign("{") {
        parser.declaration()?;
    }
    let body = parser.block()?;
    if *parser.peek() != Token::End {
        return Err(parser.error("the kernel has ended before this"));
    }
    // Numbers without a definition belong to no register of the code.
    let regs = parser.regs.iter().map(|ty| ty.unwrap_or(ScalarType::I64)).collect();
    Ok(Kernel { name, bufs: parser.bufs, regs, body })
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    /// Without its sign, and the type after it.
    Number(String, String),
    Text(String),
    Sign(&'static str),
    End,
}

const SIGNS: [&str; 15] =
    ["..", "+=", "(", ")", "[", "]", "{", "}", ",", ":", "=", "+", "-", "*", "?"];

fn lex(text: &str) -> Result<Vec<(Token, u32)>> {
    let (mut tokens, mut rest, mut line) = (Vec::new(), text, 1);
    loop {
        let trimmed = rest.trim_start();
        line += rest[..rest.len() - trimmed.len()].matches('\n').count() as u32;
        rest = trimmed;
        if rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
            continue;
        }
        let Some(first) = rest.chars().next() else {
            tokens.push((Token::End, line));
            return Ok(tokens);
        };
        let fail = |message: String| ParseError { line, message };
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let word = |text: &str| text.find(|c| !is_word(c)).unwrap_or(text.len());
        let (token, length) = if first.is_ascii_digit() {
            let digits = number_length(rest);
            let end = digits + word(&rest[digits..]);
            (Token::Number(rest[..digits].to_owned(), rest[digits..end].to_owned()), end)
        } else if is_word(first) {
            let end = word(rest);
            (Token::Word(rest[..end].to_owned()), end)
        } else if first == '"' {
            let (text, length) =
                string(rest).ok_or_else(|| fail("a string is not well formed".to_owned()))?;
            (Token::Text(text), length)
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            let sign = sign.ok_or_else(|| fail(format!("unexpected character {first:?}")))?;
            (Token::Sign(sign), sign.len())
        };
        tokens.push((token, line));
        rest = &rest[length..];
    }
}

/// The length of the digits of a number, with fraction and exponent.
fn number_length(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(text);
    if text[length..].starts_with('.') && digits(&text[length + 1..]) > 0 {
        length += 1 + digits(&text[length + 1..]);
    }
    if text[length..].starts_with('e') {
        let exponent = &text[length + 1..];
        let sign = usize::from(exponent.starts_with(['+', '-']));
        if digits(&exponent[sign..]) > 0 {
            length += 1 + sign + digits(&exponent[sign..]);
        }
    }
    length
}

/// A string in quotes without them, and its length in the text.
fn string(text: &str) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, at + 1)),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                'u' => {
                    let code: String =
                        chars.by_ref().map(|(_, c)| c).take_while(|c| *c != '}').collect();
                    let code = u32::from_str_radix(code.strip_prefix('{')?, 16).ok()?;
                    value.push(char::from_u32(code)?);
                }
                c @ ('"' | '\\') => value.push(c),
                _ => return None,
            },
            '\n' => return None,
            c => value.push(c),
        }
    }
    None
}

struct Parser {
    tokens: Vec<(Token, u32)>,
    at: usize,
    depth: u32,
    bufs: IndexVec<Buf, Buffer>,
    regs: Vec<Option<ScalarType>>,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)].0
    }

    fn error(&self, message: impl Into<String>) -> ParseError {
        let line = self.tokens[self.at.min(self.tokens.len() - 1)].1;
        ParseError { line, message: message.into() }
    }

    /// An error at the token before.
    fn wrong(&self, message: impl Into<String>) -> ParseError {
        let line = self.tokens[self.at.min(self.tokens.len()).saturating_sub(1)].1;
        ParseError { line, message: message.into() }
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(it) if *it == sign)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(it) if it == word)
    }

    fn eat_sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        self.at += usize::from(found);
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn sign(&mut self, sign: &str) -> Result<()> {
        if self.eat_sign(sign) { Ok(()) } else { Err(self.error(format!("expected `{sign}`"))) }
    }

    fn word(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) { Ok(()) } else { Err(self.error(format!("expected `{word}`"))) }
    }

    fn any_word(&mut self) -> Result<String> {
        match self.peek() {
            Token::Word(word) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.error("expected a word")),
        }
    }

    fn text(&mut self) -> Result<String> {
        match self.peek() {
            Token::Text(text) => {
                let text = text.clone();
                self.at += 1;
                Ok(text)
            }
            _ => Err(self.error("expected a string")),
        }
    }

    fn int(&mut self) -> Result<i64> {
        let sign = if self.eat_sign("-") { "-" } else { "" };
        match self.next() {
            Token::Number(digits, suffix) if suffix.is_empty() => {
                format!("{sign}{digits}").parse().map_err(|_| self.wrong("not an i64"))
            }
            _ => Err(self.wrong("expected an integer")),
        }
    }

    fn ty(&mut self) -> Result<ScalarType> {
        let word = self.any_word()?;
        ScalarType::from_name(&word).ok_or_else(|| self.wrong("not a type"))
    }

    /// A buffer or a register without a definition.
    fn declaration(&mut self) -> Result<()> {
        let word = self.any_word()?;
        if word == "reg" {
            return self.declared().map(|_| ());
        }
        let kinds = [BufferKind::Input, BufferKind::Output, BufferKind::Scratch, BufferKind::Local];
        let kind = kinds.into_iter().find(|kind| kind_name(*kind) == word);
        let kind = kind.ok_or_else(|| self.wrong("expected a buffer or `{`"))?;
        let id = self.any_word()?;
        let (name, number) = split(&id).ok_or_else(|| self.wrong("not the name of a buffer"))?;
        if number != self.bufs.len() {
            return Err(self.wrong("buffers are declared in order"));
        }
        let name = if let Token::Text(_) = self.peek() { self.text()? } else { name.to_owned() };
        self.sign(":")?;
        let ty = self.ty()?;
        self.sign("[")?;
        let len = self.int()?;
        self.sign("]")?;
        self.bufs.push(Buffer { name, ty, len, kind });
        Ok(())
    }

    /// A register with its type.
    fn declared(&mut self) -> Result<Reg> {
        let reg = self.reg()?;
        self.sign(":")?;
        let ty = self.ty()?;
        self.regs[reg.index()] = Some(ty);
        Ok(reg)
    }

    fn reg(&mut self) -> Result<Reg> {
        let word = self.any_word()?;
        let number = word.strip_prefix('r').and_then(|digits| digits.parse::<usize>().ok());
        let number = number.filter(|number| *number < MAX_NUMBER);
        let number = number.ok_or_else(|| self.wrong("not a register"))?;
        if self.regs.len() <= number {
            self.regs.resize(number + 1, None);
        }
        Ok(Reg::from_usize(number))
    }

    fn buf(&mut self) -> Result<Buf> {
        let word = self.any_word()?;
        let number = split(&word).map(|(_, number)| number);
        let number = number.filter(|number| *number < self.bufs.len());
        number.map(Buf::from_usize).ok_or_else(|| self.wrong("not a buffer"))
    }

    fn block(&mut self) -> Result<Vec<Stmt>> {
        self.sign("{")?;
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(self.error("nested too deeply"));
        }
        let mut block = Vec::new();
        while !self.eat_sign("}") {
            block.push(self.stmt()?);
        }
        self.depth -= 1;
        Ok(block)
    }

    fn stmt(&mut self) -> Result<Stmt> {
        if self.eat_word("var") {
            let reg = self.declared()?;
            self.sign("=")?;
            Ok(Stmt::Var(reg, self.operand()?))
        } else if self.eat_word("set") {
            let reg = self.reg()?;
            self.sign("=")?;
            Ok(Stmt::Set(reg, self.operand()?))
        } else if self.eat_word("store") {
            let addr = self.addr()?;
            self.sign("=")?;
            Ok(Stmt::Store(addr, self.operand()?))
        } else if self.eat_word("trap") {
            Ok(Stmt::Trap(self.operand()?))
        } else if self.eat_word("if") {
            let condition = self.operand()?;
            let then = self.block()?;
            let other = if self.eat_word("else") { self.block()? } else { Vec::new() };
            Ok(Stmt::If(condition, then, other))
        } else if self.is_word("gemm") {
            self.gemm(false)
        } else if ["for", "backward", "parallel", "vector", "flushed", "apart", "unrolled", "until"]
            .iter()
            .any(|word| self.is_word(word))
        {
            self.for_loop()
        } else {
            let reg = self.declared()?;
            self.sign("=")?;
            Ok(Stmt::Let(reg, self.op()?))
        }
    }

    fn for_loop(&mut self) -> Result<Stmt> {
        let kind = if self.eat_word("backward") {
            ForKind::Backward
        } else if self.eat_word("flushed") {
            ForKind::Flushed
        } else if self.eat_word("apart") {
            ForKind::Apart
        } else if self.eat_word("unrolled") {
            ForKind::Unrolled
        } else if self.eat_word("parallel") {
            if self.is_word("gemm") {
                return self.gemm(true);
            }
            self.sign("(")?;
            let grain = self.int()?;
            self.sign(")")?;
            ForKind::Parallel { grain }
        } else if self.eat_word("until") {
            self.sign("(")?;
            let ends = self.reg()?;
            self.sign(")")?;
            ForKind::Until(ends)
        } else if self.eat_word("vector") {
            self.sign("(")?;
            let mut reductions = Vec::new();
            while !self.eat_sign(")") {
                let op = self.binary_op()?;
                reductions.push((self.reg()?, op));
                if !self.is_sign(")") {
                    self.sign(",")?;
                }
            }
            ForKind::Vector { reductions }
        } else {
            ForKind::Serial
        };
        self.word("for")?;
        let var = self.reg()?;
        self.regs[var.index()] = Some(ScalarType::I64);
        self.word("in")?;
        let lo = self.operand()?;
        self.sign("..")?;
        let hi = self.operand()?;
        let body = self.block()?;
        Ok(Stmt::For(Box::new(For { var, lo, hi, kind, body })))
    }

    fn gemm(&mut self, parallel: bool) -> Result<Stmt> {
        self.word("gemm")?;
        self.sign("(")?;
        let m = self.operand()?;
        self.sign(",")?;
        let n = self.operand()?;
        self.sign(",")?;
        let k = self.operand()?;
        self.sign(")")?;
        let c = self.matrix()?;
        let accumulate = self.eat_sign("+=");
        if !accumulate {
            self.sign("=")?;
        }
        let a = self.matrix()?;
        self.sign("*")?;
        let b = self.matrix()?;
        Ok(Stmt::Gemm(Box::new(Gemm { m, n, k, a, b, c, accumulate, parallel })))
    }

    fn matrix(&mut self) -> Result<Matrix> {
        let addr = self.addr()?;
        self.word("by")?;
        let rows = self.int()?;
        self.sign(",")?;
        Ok(Matrix { addr, rows, cols: self.int()? })
    }

    fn addr(&mut self) -> Result<Addr> {
        let buf = self.buf()?;
        self.sign("[")?;
        let (mut terms, mut offset) = (Vec::new(), 0i64);
        loop {
            if let Token::Word(_) = self.peek() {
                let reg = self.reg()?;
                let factor = if self.eat_sign("*") { self.int()? } else { 1 };
                terms.push((reg, factor));
            } else {
                offset = offset.wrapping_add(self.int()?);
            }
            if self.eat_sign("]") {
                return Ok(Addr { buf, terms, offset });
            }
            self.sign("+")?;
        }
    }

    fn op(&mut self) -> Result<Op> {
        let word = self.any_word()?;
        if let Ok(op) = word.parse::<UnaryOp>() {
            return Ok(Op::Unary(op, self.operand()?));
        }
        if let Ok(op) = word.parse::<BinaryOp>() {
            let [a, b] = self.operands()?;
            return Ok(Op::Binary(op, a, b));
        }
        match word.as_str() {
            "copy" => Ok(Op::Copy(self.operand()?)),
            "load" => Ok(Op::Load(self.addr()?)),
            "cast" => Ok(Op::Cast(self.operand()?)),
            "near_rsqrt" => Ok(Op::NearRsqrt(self.operand()?)),
            "muladd" => self.operands().map(|[a, b, c]| Op::MulAdd(a, b, c)),
            "select" => self.operands().map(|[a, b, c]| Op::Select(a, b, c)),
            "overflows" => {
                let op = self.binary_op()?;
                let [a, b] = self.operands()?;
                Ok(Op::Overflows(op, a, b))
            }
            _ => Err(self.wrong(format!("`{word}` is not an operation"))),
        }
    }

    fn binary_op(&mut self) -> Result<BinaryOp> {
        let word = self.any_word()?;
        word.parse().map_err(|_| self.wrong(format!("`{word}` is not an operation")))
    }

    /// Operands with commas between them.
    fn operands<const N: usize>(&mut self) -> Result<[Operand; N]> {
        let mut operands = [Operand::Const(Scalar::Bool(false)); N];
        for (n, operand) in operands.iter_mut().enumerate() {
            if n > 0 {
                self.sign(",")?;
            }
            *operand = self.operand()?;
        }
        Ok(operands)
    }

    fn operand(&mut self) -> Result<Operand> {
        if self.eat_word("true") {
            return Ok(Operand::Const(Scalar::Bool(true)));
        }
        if self.eat_word("false") {
            return Ok(Operand::Const(Scalar::Bool(false)));
        }
        if self.eat_word("bits") {
            self.sign("(")?;
            let ty = self.ty()?;
            self.sign(",")?;
            let bits = match self.next() {
                Token::Number(digits, suffix) if suffix.is_empty() => digits.parse().ok(),
                _ => None,
            };
            let bits = bits.ok_or_else(|| self.wrong("not the bits of a number"))?;
            self.sign(")")?;
            return Ok(Operand::Const(Scalar::from_bits(ty, bits)));
        }
        if let Token::Word(_) = self.peek() {
            return Ok(Operand::Reg(self.reg()?));
        }
        let sign = if self.eat_sign("-") { "-" } else { "" };
        let Token::Number(digits, suffix) = self.next() else {
            return Err(self.wrong("expected an operand"));
        };
        let ty = match suffix.as_str() {
            "" => Some(ScalarType::I64),
            name => ScalarType::from_name(name),
        };
        let text = format!("{sign}{digits}");
        let value = ty.and_then(|ty| {
            if ty.is_float() {
                parse_float(&text, ty)
            } else {
                parse_int(&text).and_then(|value| Scalar::from_i128(value, ty))
            }
        });
        value
            .map(Operand::Const)
            .ok_or_else(|| self.wrong(format!("`{text}{suffix}` is no number")))
    }
}

/// A name and its number: `x_3`.
fn split(word: &str) -> Option<(&str, usize)> {
    let (name, number) = word.rsplit_once('_')?;
    Some((name, number.parse().ok()?))
}
