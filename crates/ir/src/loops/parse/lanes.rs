//! How vector loops run, and what scans carry.

use super::Parser;
use crate::loops::Reg;
use crate::loops::lanes::{Asks, Lanes, Sums, Tail, Twice};
use crate::loops::scan::Scan;
use crate::loops::stages::{Call, Source, Stages};
use crate::text::Result;
use ein_scalar::BinaryOp;

/// What a scan carries.
pub(super) fn scan(parser: &mut Parser) -> Result<Scan> {
    parser.tokens.sign("(")?;
    let least = parser.tokens.eat_word("min");
    if !least {
        parser.tokens.word("max")?;
    }
    let carry = parser.reg()?;
    parser.tokens.word("by")?;
    let step = parser.tokens.int()?;
    parser.tokens.sign(")")?;
    Ok(Scan { carry, step, least })
}

/// The variables that a loop reduces, with their operations.
pub(super) fn reductions(parser: &mut Parser) -> Result<Vec<(Reg, BinaryOp)>> {
    list(parser, |it| {
        let op = it.tokens.binary_op()?;
        Ok((it.reg()?, op))
    })
}

/// Items with commas between them, in brackets.
fn list<T>(parser: &mut Parser, mut item: impl FnMut(&mut Parser) -> Result<T>) -> Result<Vec<T>> {
    parser.tokens.sign("(")?;
    let mut items = Vec::new();
    while !parser.tokens.eat_sign(")") {
        items.push(item(parser)?);
        if !parser.tokens.is_sign(")") {
            parser.tokens.sign(",")?;
        }
    }
    Ok(items)
}

/// What is decided about a vector loop, and what it reduces.
pub(super) fn decided(parser: &mut Parser) -> Result<Lanes> {
    let mut lanes = Lanes::default();
    loop {
        if parser.tokens.eat_word("sums") {
            lanes.sums = Some(sums(parser)?);
        } else if parser.tokens.eat_word("pieces") {
            lanes.pieces = list(parser, |it| {
                let from = it.tokens.int()?;
                it.tokens.sign("..")?;
                Ok((from, it.tokens.int()?))
            })?;
        } else if parser.tokens.eat_word("asks") {
            parser.tokens.sign("(")?;
            let every = parser.tokens.int()?;
            parser.tokens.sign(",")?;
            let (step, mut addrs) = (parser.tokens.int()?, Vec::new());
            while parser.tokens.eat_sign(",") {
                addrs.push(parser.addr()?);
            }
            parser.tokens.sign(")")?;
            lanes.asks = Some(Asks { every, step, addrs });
        } else if parser.tokens.eat_word("twice") {
            lanes.twice = match parser.tokens.eat_sign("(") {
                true => {
                    let size = parser.tokens.int()?;
                    parser.tokens.sign(")")?;
                    Twice::Parts(size)
                }
                false => Twice::Whole,
            };
        } else if parser.tokens.eat_word("stages") {
            lanes.stages = Some(stages(parser)?);
        } else {
            parser.tokens.word("vector")?;
            lanes.reductions = reductions(parser)?;
            return Ok(lanes);
        }
    }
}

fn sums(parser: &mut Parser) -> Result<Sums> {
    parser.tokens.sign("(")?;
    let lanes = parser.tokens.int()?;
    parser.tokens.sign("*")?;
    let vectors = parser.tokens.int()?;
    let mut sums = Sums { lanes, vectors, turns: Vec::new(), tail: Tail::None };
    while parser.tokens.eat_sign(",") {
        if parser.tokens.eat_word("masked") {
            sums.tail = Tail::Masked;
        } else if parser.tokens.eat_word("single") {
            sums.tail = Tail::Single;
        } else {
            let count = parser.tokens.int()?;
            let unrolled = parser.tokens.eat_word("unrolled");
            sums.turns.push((count, unrolled.then(|| parser.tokens.int()).transpose()?));
        }
    }
    parser.tokens.sign(")")?;
    Ok(sums)
}

/// Stages; without calls their work may be left out, if it is all that is not done once.
fn stages(parser: &mut Parser) -> Result<Stages> {
    parser.tokens.sign("(")?;
    let copies = number(parser)?;
    parser.tokens.sign(",")?;
    let lanes = number(parser)?;
    parser.tokens.sign(",")?;
    let mut stages = Stages { copies, lanes, tile: parser.tokens.int()?, ..Stages::default() };
    parser.tokens.sign(")")?;
    let mut stage = 0;
    loop {
        if parser.tokens.eat_word("once") {
            stages.once = list(parser, number)?;
        } else if parser.tokens.eat_word("work") {
            let items = list(parser, number)?;
            stages.work.extend(items.into_iter().map(|n| (stage, n)));
            stage += 1;
        } else if parser.tokens.eat_word("call") {
            stages.calls.push(call(parser)?);
        } else if parser.tokens.eat_word("share") {
            parser.tokens.sign("(")?;
            let tile = parser.reg()?;
            parser.tokens.sign(",")?;
            stages.shared.push((tile, parser.reg()?));
            parser.tokens.sign(")")?;
        } else {
            return Ok(stages);
        }
    }
}

fn call(parser: &mut Parser) -> Result<Call> {
    parser.tokens.sign("(")?;
    let stage = number(parser)?;
    parser.tokens.sign(",")?;
    let stmt = number(parser)?;
    parser.tokens.sign(",")?;
    let output = source(parser)?;
    parser.tokens.sign("=")?;
    let mut inputs = vec![source(parser)?];
    while parser.tokens.eat_sign(",") {
        inputs.push(source(parser)?);
    }
    parser.tokens.sign(")")?;
    Ok(Call { stage, stmt, inputs, output })
}

fn source(parser: &mut Parser) -> Result<Source> {
    if parser.tokens.eat_word("tile") {
        Ok(Source::Tile(parser.reg()?))
    } else if parser.tokens.eat_word("memory") {
        Ok(Source::Memory(number(parser)?))
    } else {
        parser.tokens.word("fill")?;
        Ok(Source::Fill(parser.operand()?))
    }
}

/// A number that is not negative, and not great enough to ask for much memory.
fn number(parser: &mut Parser) -> Result<usize> {
    let number = usize::try_from(parser.tokens.int()?).ok();
    let number = number.filter(|number| *number < super::MAX_NUMBER);
    number.ok_or_else(|| parser.tokens.wrong("not a number of something"))
}
