//! Reads the text of loop IR that [`print`](super::print) writes.
//!
//! What is read is well formed as text only: [`verify`](super::verify) judges the rest.

mod lanes;

use ein_base::{Idx, IndexVec};
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};

use super::print::{PLAIN, kind_name, lanes::plain};
use super::{
    Addr, Buf, Buffer, BufferKind, For, ForKind, Gemm, Kernel, Matrix, Op, Operand, Reg, Stmt,
};
use crate::text::{Result, Token, Tokens, split};

/// How deep blocks may be nested.
const MAX_NESTING: u32 = 300;
/// The greatest number of a register or buffer, so that a text cannot ask for much memory.
const MAX_NUMBER: usize = 1 << 24;

/// What loops begin with.
const LOOPS: [&str; 10] = [
    "for", "backward", "parallel", "lanes", "vector", "scan", "flushed", "apart", "unrolled",
    "until",
];

/// The kernel that a text is.
pub fn parse(text: &str) -> Result<Kernel> {
    let mut parser = Parser {
        tokens: Tokens::new(text, PLAIN)?,
        depth: 0,
        bufs: IndexVec::new(),
        regs: Vec::new(),
    };
    parser.tokens.word("kernel")?;
    let name = parser.tokens.text()?;
    while !parser.tokens.is_sign("{") {
        parser.declaration()?;
    }
    let body = parser.block()?;
    if *parser.tokens.peek() != Token::End {
        return Err(parser.tokens.error("the kernel has ended before this"));
    }
    // Numbers without a definition belong to no register of the code.
    let regs = parser.regs.iter().map(|ty| ty.unwrap_or(ScalarType::I64)).collect();
    Ok(Kernel { name, bufs: parser.bufs, regs, body })
}

struct Parser {
    tokens: Tokens,
    depth: u32,
    bufs: IndexVec<Buf, Buffer>,
    regs: Vec<Option<ScalarType>>,
}

impl Parser {
    /// A buffer or a register without a definition.
    fn declaration(&mut self) -> Result<()> {
        let word = self.tokens.any_word()?;
        if word == "reg" {
            return self.declared().map(|_| ());
        }
        let kinds = [BufferKind::Input, BufferKind::Output, BufferKind::Scratch, BufferKind::Local];
        let kind = kinds.into_iter().find(|kind| kind_name(*kind) == word);
        let kind = kind.ok_or_else(|| self.tokens.wrong("expected a buffer or `{`"))?;
        let id = self.tokens.any_word()?;
        let (name, number) =
            split(&id).ok_or_else(|| self.tokens.wrong("not the name of a buffer"))?;
        if number != self.bufs.len() {
            return Err(self.tokens.wrong("buffers are declared in order"));
        }
        let name = if let Token::Text(_) = self.tokens.peek() {
            self.tokens.text()?
        } else {
            name.to_owned()
        };
        self.tokens.sign(":")?;
        let ty = self.tokens.ty()?;
        self.tokens.sign("[")?;
        let len = self.tokens.int()?;
        self.tokens.sign("]")?;
        self.bufs.push(Buffer { name, ty, len, kind });
        Ok(())
    }

    /// A register with its type.
    fn declared(&mut self) -> Result<Reg> {
        let reg = self.reg()?;
        self.tokens.sign(":")?;
        let ty = self.tokens.ty()?;
        self.regs[reg.index()] = Some(ty);
        Ok(reg)
    }

    fn reg(&mut self) -> Result<Reg> {
        let word = self.tokens.any_word()?;
        let number = word.strip_prefix('r').and_then(|digits| digits.parse::<usize>().ok());
        let number = number.filter(|number| *number < MAX_NUMBER);
        let number = number.ok_or_else(|| self.tokens.wrong("not a register"))?;
        if self.regs.len() <= number {
            self.regs.resize(number + 1, None);
        }
        Ok(Reg::from_usize(number))
    }

    fn buf(&mut self) -> Result<Buf> {
        let word = self.tokens.any_word()?;
        let number = split(&word).map(|(_, number)| number);
        let number = number.filter(|number| *number < self.bufs.len());
        number.map(Buf::from_usize).ok_or_else(|| self.tokens.wrong("not a buffer"))
    }

    fn block(&mut self) -> Result<Vec<Stmt>> {
        self.tokens.sign("{")?;
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(self.tokens.error("nested too deeply"));
        }
        let mut block = Vec::new();
        while !self.tokens.eat_sign("}") {
            block.push(self.stmt()?);
        }
        self.depth -= 1;
        Ok(block)
    }

    fn stmt(&mut self) -> Result<Stmt> {
        if self.tokens.eat_word("var") {
            let reg = self.declared()?;
            self.tokens.sign("=")?;
            Ok(Stmt::Var(reg, self.operand()?))
        } else if self.tokens.eat_word("set") {
            let reg = self.reg()?;
            self.tokens.sign("=")?;
            Ok(Stmt::Set(reg, self.operand()?))
        } else if self.tokens.eat_word("store") {
            let addr = self.addr()?;
            self.tokens.sign("=")?;
            Ok(Stmt::Store(addr, self.operand()?))
        } else if self.tokens.eat_word("trap") {
            Ok(Stmt::Trap(self.operand()?))
        } else if self.tokens.eat_word("if") {
            let condition = self.operand()?;
            let then = self.block()?;
            let other = if self.tokens.eat_word("else") { self.block()? } else { Vec::new() };
            Ok(Stmt::If(condition, then, other))
        } else if self.tokens.is_word("gemm") {
            self.gemm(false)
        } else if LOOPS.iter().any(|word| self.tokens.is_word(word)) {
            self.for_loop()
        } else {
            let reg = self.declared()?;
            self.tokens.sign("=")?;
            Ok(Stmt::Let(reg, self.op()?))
        }
    }

    fn for_loop(&mut self) -> Result<Stmt> {
        let kind = if self.tokens.eat_word("backward") {
            ForKind::Backward
        } else if self.tokens.eat_word("flushed") {
            ForKind::Flushed
        } else if self.tokens.eat_word("apart") {
            ForKind::Apart
        } else if self.tokens.eat_word("unrolled") {
            ForKind::Unrolled
        } else if self.tokens.eat_word("parallel") {
            if self.tokens.is_word("gemm") {
                return self.gemm(true);
            }
            self.tokens.sign("(")?;
            let grain = self.tokens.int()?;
            self.tokens.sign(")")?;
            ForKind::Parallel { grain }
        } else if self.tokens.eat_word("until") {
            self.tokens.sign("(")?;
            let ends = self.reg()?;
            self.tokens.sign(")")?;
            ForKind::Until(ends)
        } else if self.tokens.eat_word("vector") {
            ForKind::Vector { reductions: lanes::reductions(self)? }
        } else if self.tokens.eat_word("lanes") {
            ForKind::Lanes(Box::new(lanes::decided(self)?))
        } else if self.tokens.eat_word("scan") {
            ForKind::Scan(lanes::scan(self)?)
        } else {
            ForKind::Serial
        };
        self.tokens.word("for")?;
        let var = self.reg()?;
        self.regs[var.index()] = Some(ScalarType::I64);
        self.tokens.word("in")?;
        let lo = self.operand()?;
        self.tokens.sign("..")?;
        let hi = self.operand()?;
        let body = self.block()?;
        let mut kind = kind;
        if let ForKind::Lanes(lanes) = &mut kind
            && let Some(stages) = &mut lanes.stages
            && stages.work.is_empty()
            && stages.calls.is_empty()
        {
            stages.work = plain(stages, body.len());
        }
        Ok(Stmt::For(Box::new(For { var, lo, hi, kind, body })))
    }

    fn gemm(&mut self, parallel: bool) -> Result<Stmt> {
        self.tokens.word("gemm")?;
        self.tokens.sign("(")?;
        let m = self.operand()?;
        self.tokens.sign(",")?;
        let n = self.operand()?;
        self.tokens.sign(",")?;
        let k = self.operand()?;
        self.tokens.sign(")")?;
        let c = self.matrix()?;
        let accumulate = self.tokens.eat_sign("+=");
        if !accumulate {
            self.tokens.sign("=")?;
        }
        let a = self.matrix()?;
        self.tokens.sign("*")?;
        let b = self.matrix()?;
        Ok(Stmt::Gemm(Box::new(Gemm { m, n, k, a, b, c, accumulate, parallel })))
    }

    fn matrix(&mut self) -> Result<Matrix> {
        let addr = self.addr()?;
        self.tokens.word("by")?;
        let rows = self.tokens.int()?;
        self.tokens.sign(",")?;
        Ok(Matrix { addr, rows, cols: self.tokens.int()? })
    }

    fn addr(&mut self) -> Result<Addr> {
        let buf = self.buf()?;
        self.tokens.sign("[")?;
        let (mut terms, mut offset) = (Vec::new(), 0i64);
        loop {
            if let Token::Word(_) = self.tokens.peek() {
                let reg = self.reg()?;
                let factor = if self.tokens.eat_sign("*") { self.tokens.int()? } else { 1 };
                terms.push((reg, factor));
            } else {
                offset = offset.wrapping_add(self.tokens.int()?);
            }
            if self.tokens.eat_sign("]") {
                return Ok(Addr { buf, terms, offset });
            }
            self.tokens.sign("+")?;
        }
    }

    fn op(&mut self) -> Result<Op> {
        let word = self.tokens.any_word()?;
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
                let op = self.tokens.binary_op()?;
                let [a, b] = self.operands()?;
                Ok(Op::Overflows(op, a, b))
            }
            _ => Err(self.tokens.wrong(format!("`{word}` is not an operation"))),
        }
    }

    /// Operands with commas between them.
    fn operands<const N: usize>(&mut self) -> Result<[Operand; N]> {
        let mut operands = [Operand::Const(Scalar::Bool(false)); N];
        for (n, operand) in operands.iter_mut().enumerate() {
            if n > 0 {
                self.tokens.sign(",")?;
            }
            *operand = self.operand()?;
        }
        Ok(operands)
    }

    fn operand(&mut self) -> Result<Operand> {
        match self.tokens.scalar()? {
            Some(value) => Ok(Operand::Const(value)),
            None => Ok(Operand::Reg(self.reg()?)),
        }
    }
}
