//! Reads the text of points that [`print`](super::print) writes.
//!
//! What is read is well formed as text only: [`verify`](super::verify) judges the rest.

use super::print::PLAIN;
use super::{
    Act, Again, Arithmetic, Arr, ArrInfo, Body, Clause, Def, End, Fact, InPlace, Input, Ix, Kind,
    Node, Phase, Points, Range, Reduction, Scatter, Slot, Source, Step, Steps, Until, Write,
};
use ein_base::{FileId, Idx as _, Span, Symbol};
use ein_ir::tensor::{ReduceOp, VarId};
use ein_ir::text::{Result, Token, Tokens, split};
use ein_scalar::{BinaryOp, ScalarType, UnaryOp};
use rustc_hash::FxHashSet;

/// How deep anything may be nested.
const MAX_NESTING: u32 = 200;

/// The points that a text is, and the arrays that matter outside.
pub fn parse(text: &str) -> Result<(Points, FxHashSet<Arr>)> {
    let mut tokens = Tokens::new(text, PLAIN)?;
    tokens.word("points")?;
    let wrapping = tokens.eat_word("wrapping");
    let exact = tokens.eat_word("exact");
    let careful = tokens.eat_word("careful");
    let points = Points::new(Arithmetic { wrapping, exact, careful });
    let (values, wanted) = (Vec::new(), FxHashSet::default());
    let mut parser = Parser { tokens, points, values, wanted, depth: 0 };
    while *parser.tokens.peek() != Token::End {
        parser.item()?;
    }
    let Parser { mut points, wanted, .. } = parser;
    points.renumber();
    Ok((points, wanted))
}

struct Parser {
    tokens: Tokens,
    points: Points,
    /// What has a name.
    values: Vec<Node>,
    wanted: FxHashSet<Arr>,
    depth: u32,
}

impl Parser {
    fn item(&mut self) -> Result<()> {
        let adjoint = self.tokens.eat_word("adjoint");
        let word = self.tokens.any_word()?;
        match word.as_str() {
            "input" | "output" | "array" if !adjoint => self.array(&word),
            "index" if !adjoint => self.index(),
            "bounds" if !adjoint => self.bounds(),
            "fact" if !adjoint => self.fact(),
            "let" if !adjoint => self.named(),
            "define" => {
                let arr = self.arr()?;
                let steps = if self.tokens.is_word("along") { Some(self.steps()?) } else { None };
                let clauses = self.clauses()?;
                self.define(arr, Body::Clauses(clauses, steps), adjoint)
            }
            "until" => self.until(adjoint),
            "scatter" => self.scatter(adjoint),
            "place" => self.in_place(adjoint),
            "again" => self.again(adjoint),
            _ => Err(self.tokens.wrong(format!("`{word}` begins nothing"))),
        }
    }

    fn define(&mut self, arr: Arr, body: Body, adjoint: bool) -> Result<()> {
        let span = Span::new(FileId::from_usize(0), 0, 0);
        self.points.defs.push(Def { arr, span, body, adjoint });
        Ok(())
    }

    fn array(&mut self, kind: &str) -> Result<()> {
        let word = self.tokens.any_word()?;
        let found = split(&word).ok_or_else(|| self.tokens.wrong("not the name of an array"))?;
        let mut name = (!found.0.is_empty()).then(|| Symbol::intern(found.0));
        if found.1 != self.points.arrs.len() {
            return Err(self.tokens.wrong("arrays are declared in order"));
        }
        if let Token::Text(_) = self.tokens.peek() {
            name = Some(Symbol::intern(&self.tokens.text()?));
        }
        self.tokens.sign(":")?;
        let ty = self.tokens.ty()?;
        let shape = self.ints()?;
        // Which definition it is is known when that has been read.
        let mut source = Source::Defined(0);
        if kind == "input" {
            self.tokens.word("by")?;
            let strides = self.ints()?;
            self.tokens.word("of")?;
            let var = VarId::from_usize(self.number()?);
            let mut parts = Vec::new();
            while self.tokens.eat_sign(",") {
                parts.push(self.number()?);
            }
            source = Source::Input(Input { var, parts }, strides);
        }
        let arr = self.points.arrs.push(ArrInfo { name, ty, shape, source });
        if kind == "output" {
            self.wanted.insert(arr);
        }
        Ok(())
    }

    fn index(&mut self) -> Result<()> {
        let word = self.tokens.any_word()?;
        if word.strip_prefix('i').and_then(|it| it.parse().ok()) != Some(self.points.ixs.len()) {
            return Err(self.tokens.wrong("indices are declared in order"));
        }
        let name = Symbol::intern(&self.tokens.text()?);
        self.tokens.sign(":")?;
        let (lo, hi) = self.range()?;
        if [lo, hi].iter().any(|end| i32::try_from(*end).is_err()) {
            return Err(self.tokens.wrong("an index outside its type"));
        }
        self.points.fresh(name, (lo, hi));
        Ok(())
    }

    fn bounds(&mut self) -> Result<()> {
        let (ix, lo, hi) = self.binder()?;
        self.points.ixs[ix].bounds = Some((lo, hi));
        Ok(())
    }

    fn fact(&mut self) -> Result<()> {
        let arr = self.arr()?;
        self.tokens.word("along")?;
        let axis = self.number()?;
        self.tokens.word("at")?;
        let steps = self.range()?;
        self.tokens.sign(":")?;
        let range = self.range()?;
        self.points.facts.entry(arr).or_default().push(Fact { axis, steps, range });
        Ok(())
    }

    /// A value with a name.
    fn named(&mut self) -> Result<()> {
        let word = self.tokens.any_word()?;
        if word.strip_prefix('n').and_then(|it| it.parse().ok()) != Some(self.values.len()) {
            return Err(self.tokens.wrong("values are named in order"));
        }
        let mut told = None;
        if self.tokens.eat_sign(":") {
            let ty = self.tokens.ty()?;
            let range = if self.tokens.eat_word("in") { Some(self.range()?) } else { None };
            told = Some((ty, range));
        }
        self.tokens.sign("=")?;
        let value = self.kind()?;
        let node = self.made(value, told)?;
        self.values.push(node);
        Ok(())
    }

    fn steps(&mut self) -> Result<Vec<Step>> {
        self.tokens.word("along")?;
        let mut steps = Vec::new();
        while !self.tokens.is_sign("{") && !self.tokens.is_word("around") {
            let backward = self.tokens.eat_word("back");
            steps.push(Step { axis: self.number()?, backward });
            if !self.tokens.eat_sign(",") {
                break;
            }
        }
        Ok(steps)
    }

    fn clauses(&mut self) -> Result<Vec<Clause>> {
        self.tokens.sign("{")?;
        let mut clauses = Vec::new();
        while !self.tokens.eat_sign("}") {
            let slots = self.binders()?.into_iter().map(|(ix, lo, hi)| Slot { ix, lo, hi });
            let slots = slots.collect();
            let guard = self.after_word("where")?;
            self.tokens.sign("=")?;
            let value = self.node()?;
            let otherwise = self.after_word("else")?;
            clauses.push(Clause { slots, guard, value, otherwise });
        }
        Ok(clauses)
    }

    fn until(&mut self, adjoint: bool) -> Result<()> {
        let arr = self.arr()?;
        let steps = self.steps()?;
        self.tokens.word("around")?;
        self.tokens.sign("[")?;
        let around = self.list("]", Self::ix)?;
        self.tokens.word("last")?;
        let last = self.arr()?;
        let end = if self.tokens.eat_word("made") {
            End::Made(self.node()?)
        } else {
            let fails = self.tokens.eat_word("must");
            if !fails {
                self.tokens.word("may")?;
            }
            let ix = self.ix()?;
            self.tokens.word("in")?;
            let lo = self.tokens.int()?;
            self.tokens.sign("..")?;
            let asked = (lo, self.tokens.int()?);
            self.tokens.sign(":")?;
            End::Asked { ix, asked, cond: self.node()?, fails }
        };
        let clauses = self.clauses()?;
        self.define(arr, Body::Until(Until { clauses, steps, around, last, end }), adjoint)
    }

    fn scatter(&mut self, adjoint: bool) -> Result<()> {
        let arr = self.arr()?;
        self.tokens.word("by")?;
        let op = self.tokens.binary_op()?;
        let binders = self.binders()?;
        let guard = self.after_word("where")?;
        self.tokens.sign("{")?;
        self.tokens.sign("[")?;
        let at = self.list("]", Self::node)?;
        self.tokens.sign("=")?;
        let value = self.node()?;
        self.tokens.sign("}")?;
        self.define(arr, Body::Scatter(Scatter { binders, guard, at, value, op }), adjoint)
    }

    fn in_place(&mut self, adjoint: bool) -> Result<()> {
        let arr = self.arr()?;
        self.tokens.word("with")?;
        self.tokens.sign("[")?;
        let others = self.list("]", Self::arr)?;
        let places = self.tokens.text()?;
        self.tokens.sign("{")?;
        let mut phases = Vec::new();
        while !self.tokens.eat_sign("}") {
            phases.push(self.nested(Self::phase)?);
        }
        self.define(arr, Body::InPlace(InPlace { others, phases, places }), adjoint)
    }

    fn again(&mut self, adjoint: bool) -> Result<()> {
        let arr = self.arr()?;
        self.tokens.word("around")?;
        self.tokens.sign("[")?;
        let around = self.list("]", Self::ix)?;
        self.tokens.sign("{")?;
        let first = self.after_each("first", Self::write)?;
        let parts = self.after_each("part", Self::write)?;
        self.tokens.word("also")?;
        self.tokens.sign("[")?;
        let also = self.list("]", Self::node)?;
        self.tokens.word("until")?;
        let done = self.node()?;
        let next = self.after_each("next", |parser| {
            let state = parser.arr()?;
            parser.tokens.word("by")?;
            Ok((state, parser.write()?))
        })?;
        let results = self.after_each("keep", Self::write)?;
        self.tokens.sign("}")?;
        let body = Again { around, first, parts, also, done, next, results };
        self.define(arr, Body::Again(body), adjoint)
    }

    /// What stands after each of these words that follow.
    fn after_each<T>(
        &mut self,
        word: &str,
        mut one: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut all = Vec::new();
        while self.tokens.eat_word(word) {
            all.push(one(self)?);
        }
        Ok(all)
    }

    fn phase(&mut self) -> Result<Phase> {
        let mut steps = None;
        if !self.tokens.eat_word("once") {
            self.tokens.word("steps")?;
            let backward = self.tokens.eat_word("back");
            self.tokens.sign("[")?;
            let (ix, lo, hi) = self.binder()?;
            self.tokens.sign("]")?;
            steps = Some(Steps { ix, lo, hi, backward });
        }
        self.tokens.sign("{")?;
        let mut acts = Vec::new();
        while !self.tokens.eat_sign("}") {
            let inner = self.tokens.is_word("once") || self.tokens.is_word("steps");
            acts.push(match inner {
                true => Act::Phase(self.nested(Self::phase)?),
                false => Act::Write(self.write()?),
            });
        }
        Ok(Phase { steps, acts })
    }

    fn write(&mut self) -> Result<Write> {
        let arr = self.arr()?;
        let loops = self.binders()?;
        self.tokens.word("at")?;
        self.tokens.sign("[")?;
        let at = self.list("]", Self::node)?;
        self.tokens.sign("=")?;
        Ok(Write { arr, loops, at, value: self.node()? })
    }

    fn node(&mut self) -> Result<Node> {
        if let Token::Word(word) = self.tokens.peek()
            && let Some(number) = word.strip_prefix('n').and_then(|it| it.parse::<usize>().ok())
        {
            let known = self.values.get(number).copied();
            let known = known.ok_or_else(|| self.tokens.error("a value without a definition"))?;
            self.tokens.take();
            return Ok(known);
        }
        let value = self.nested(Self::kind)?;
        self.made(value, None)
    }

    /// The node of an expression, with the type and interval that were told or follow.
    fn made(
        &mut self,
        (kind, to): (Kind, ScalarType),
        told: Option<(ScalarType, Option<Range>)>,
    ) -> Result<Node> {
        let (ty, range) = match told.or_else(|| self.points.plain(&kind, to)) {
            Some(known) => known,
            None => return Err(self.tokens.wrong("an operation on operands of the wrong type")),
        };
        let inside = match (range, ty.int_range()) {
            (Some((lo, hi)), Some((least, most))) => least <= lo && lo <= hi && hi <= most,
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if !inside {
            return Err(self.tokens.wrong("an interval outside its type"));
        }
        if let Kind::Reduce(reduction) = &kind {
            self.points.remember(reduction);
        }
        Ok(self.points.intern_within((kind, ty), range))
    }

    /// An expression; the type is that of a conversion.
    fn kind(&mut self) -> Result<(Kind, ScalarType)> {
        if let Some(value) = self.tokens.scalar()? {
            return Ok((Kind::Const(value), PLAIN));
        }
        if let Token::Word(word) = self.tokens.peek() {
            if word.strip_prefix('i').is_some_and(|it| it.parse::<usize>().is_ok()) {
                return Ok((Kind::Index(self.ix()?), PLAIN));
            }
            if split(word).is_some_and(|(_, number)| number < self.points.arrs.len()) {
                let arr = self.arr()?;
                self.tokens.sign("[")?;
                let at = self.list("]", Self::node)?;
                return Ok((Kind::Load(arr, at.into()), PLAIN));
            }
        }
        let word = self.tokens.any_word()?;
        if word == "as" {
            let ty = self.tokens.ty()?;
            let [a] = self.operands()?;
            return Ok((Kind::Cast(a), ty));
        }
        let kind = match word.as_str() {
            "select" => self.operands().map(|[c, a, b]| Kind::Select(c, a, b))?,
            "reduce" => self.reduction()?,
            "inside" | "clamp" => {
                let extent = self.tokens.int()?;
                if extent < 0 {
                    return Err(self.tokens.wrong("an extent below zero"));
                }
                let (at, when) = self.some_operands::<1>()?;
                Kind::Clamp { at: at[0], extent, traps: word == "inside", when }
            }
            "checked" => {
                let op = self.tokens.binary_op()?;
                let ([a, b], when) = self.some_operands()?;
                Kind::Checked(op, a, b, when)
            }
            "wrapping" => {
                let op = self.tokens.binary_op()?;
                let [a, b] = self.operands()?;
                Kind::Wrapping(op, a, b)
            }
            name => match (name.parse::<UnaryOp>(), name.parse::<BinaryOp>()) {
                (Ok(op), _) => self.operands().map(|[a]| Kind::Unary(op, a))?,
                (_, Ok(op)) => self.operands().map(|[a, b]| Kind::Binary(op, a, b))?,
                _ => return Err(self.tokens.wrong(format!("`{name}` is not an operation"))),
            },
        };
        Ok((kind, PLAIN))
    }

    fn reduction(&mut self) -> Result<Kind> {
        let name = self.tokens.any_word()?;
        let op = ReduceOp::ALL.into_iter().find(|op| op.as_str() == name);
        let op = op.ok_or_else(|| self.tokens.wrong("not a reduction"))?;
        let binders = self.binders()?;
        self.tokens.sign("(")?;
        let body = self.node()?;
        let guard = self.after_word("where")?;
        self.tokens.sign(")")?;
        Ok(Kind::Reduce(Box::new(Reduction { op, binders, guard, body })))
    }

    /// Operands in brackets.
    fn operands<const N: usize>(&mut self) -> Result<[Node; N]> {
        match self.some_operands()? {
            (operands, None) => Ok(operands),
            (_, Some(_)) => Err(self.tokens.wrong("one operand too many")),
        }
    }

    /// Operands in brackets, perhaps with a condition after them.
    fn some_operands<const N: usize>(&mut self) -> Result<([Node; N], Option<Node>)> {
        self.tokens.sign("(")?;
        let mut list = self.list(")", Self::node)?;
        let when = if list.len() > N { list.pop() } else { None };
        let operands = list.try_into().map_err(|_| self.tokens.wrong("not as many operands"))?;
        Ok((operands, when))
    }

    fn binders(&mut self) -> Result<Vec<(Ix, Node, Node)>> {
        self.tokens.sign("[")?;
        self.list("]", Self::binder)
    }

    fn binder(&mut self) -> Result<(Ix, Node, Node)> {
        let ix = self.ix()?;
        self.tokens.word("in")?;
        let lo = self.node()?;
        self.tokens.sign("..")?;
        Ok((ix, lo, self.node()?))
    }

    fn after_word(&mut self, word: &str) -> Result<Option<Node>> {
        if self.tokens.eat_word(word) { self.node().map(Some) } else { Ok(None) }
    }

    /// What stands between commas, up to a sign.
    fn list<T>(&mut self, end: &str, one: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut list = Vec::new();
        while !self.tokens.eat_sign(end) {
            list.push(one(self)?);
            if !self.tokens.is_sign(end) {
                self.tokens.sign(",")?;
            }
        }
        Ok(list)
    }

    fn nested<T>(&mut self, inner: impl Fn(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(self.tokens.error("nested too deeply"));
        }
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn ix(&mut self) -> Result<Ix> {
        let word = self.tokens.any_word()?;
        let number = word.strip_prefix('i').and_then(|it| it.parse::<usize>().ok());
        let number = number.filter(|number| *number < self.points.ixs.len());
        number.map(Ix::from_usize).ok_or_else(|| self.tokens.wrong("not a known index"))
    }

    fn arr(&mut self) -> Result<Arr> {
        let word = self.tokens.any_word()?;
        let number = split(&word).map(|(_, number)| number);
        let number = number.filter(|number| *number < self.points.arrs.len());
        number.map(Arr::from_usize).ok_or_else(|| self.tokens.wrong("not a known array"))
    }

    fn ints(&mut self) -> Result<Vec<i64>> {
        self.tokens.sign("[")?;
        self.list("]", |parser| parser.tokens.int())
    }

    fn number(&mut self) -> Result<usize> {
        let number = self.tokens.int()?;
        let number = u32::try_from(number).map_err(|_| self.tokens.wrong("not a number of it"))?;
        Ok(number as usize)
    }

    /// An interval, both ends included.
    fn range(&mut self) -> Result<Range> {
        let lo = self.wide()?;
        self.tokens.sign("..=")?;
        Ok((lo, self.wide()?))
    }

    fn wide(&mut self) -> Result<i128> {
        let sign = if self.tokens.eat_sign("-") { "-" } else { "" };
        match self.tokens.take() {
            Token::Number(digits, suffix) if suffix.is_empty() => {
                let number = format!("{sign}{digits}").parse();
                number.map_err(|_| self.tokens.wrong("not an integer"))
            }
            _ => Err(self.tokens.wrong("expected an integer")),
        }
    }
}
