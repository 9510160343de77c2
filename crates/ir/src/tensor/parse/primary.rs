//! Reads everything that starts with a bracket or a word.

use super::expr::Node;
use super::{Parser, Result};
use crate::tensor::lex::Token;
use crate::tensor::names::HOST;
use crate::tensor::{Arm, CompClause, Derivative, Expr, ExprKind, HostOp};
use crate::tensor::{IoOp, PlainOp};
use ein_base::Symbol;
use ein_scalar::{Align, BinaryOp, Spec, UnaryOp};

impl Parser {
    pub(super) fn primary(&mut self) -> Result<Node> {
        if self.at_constant() {
            let value = self.constant()?;
            return Ok(self.node(ExprKind::Const(value)));
        }
        match self.peek().clone() {
            Token::Text(text) => {
                self.at += 1;
                Ok(self.node(ExprKind::Str(Symbol::intern(&text))))
            }
            Token::Sign("(") => self.group(),
            Token::Sign("[") => self.brackets(),
            Token::Sign("{") => self.block(),
            Token::Sign("$") => self.size_value(),
            Token::Sign("@") => self.call(),
            Token::Word(_) if self.id_number().is_some() => {
                let var = self.id()?;
                Ok(self.node(ExprKind::Var(var)))
            }
            Token::Word(word) => self.keyword(&word),
            Token::Number(..) | Token::Sign(_) | Token::End => self.expected("an expression"),
        }
    }

    /// `(e)`, `(e : T)`, `()`, or a tuple.
    fn group(&mut self) -> Result<Node> {
        self.sign("(")?;
        if self.eat(")") {
            return Ok(self.node(ExprKind::Unit));
        }
        if self.eat(",") {
            self.sign(")")?;
            return Ok(self.node(ExprKind::Tuple(Vec::new())));
        }
        let mut first = self.operators(0)?;
        if self.eat(":") {
            first.ty = Some(self.ty()?);
            self.sign(")")?;
            return Ok(first);
        }
        if self.eat(")") {
            return Ok(first);
        }
        self.sign(",")?;
        let mut items = vec![self.typed(first)?];
        items.extend(self.list(")", Self::expr)?);
        Ok(self.node(ExprKind::Tuple(items)))
    }

    /// `[a, b]` or `[e | for p in s, if c, let v = e]`.
    fn brackets(&mut self) -> Result<Node> {
        self.sign("[")?;
        if self.eat("]") {
            return Ok(self.node(ExprKind::Array(Vec::new())));
        }
        let body = self.expr()?;
        if !self.eat("|") {
            let mut items = vec![body];
            if self.eat(",") {
                items.extend(self.list("]", Self::expr)?);
            } else {
                self.sign("]")?;
            }
            return Ok(self.node(ExprKind::Array(items)));
        }
        let clauses = self.list("]", |it| {
            if it.eat_word("for") {
                let pattern = it.pattern()?;
                it.word("in")?;
                return Ok(CompClause::Generator(pattern, it.expr()?));
            }
            if it.eat_word("if") {
                return it.expr().map(CompClause::Condition);
            }
            it.word("let")?;
            let var = it.id()?;
            it.sign("=")?;
            Ok(CompClause::Binding(var, it.expr()?))
        })?;
        Ok(self.node(ExprKind::Comprehension { clauses, body }))
    }

    fn block(&mut self) -> Result<Node> {
        self.sign("{")?;
        let mut stmts = Vec::new();
        loop {
            match self.stmt_or_value()? {
                Ok(stmt) => stmts.push(stmt),
                Err(value) => {
                    self.sign("}")?;
                    return Ok(self.node(ExprKind::Block { stmts, value }));
                }
            }
        }
    }

    fn size_value(&mut self) -> Result<Node> {
        self.sign("$")?;
        let size = if self.eat("(") {
            let size = self.size()?;
            self.sign(")")?;
            size
        } else {
            crate::size::Expr::atom(self.id()?)
        };
        Ok(self.node(ExprKind::Size(size)))
    }

    /// `@f_3<sizes>{closure}(args)`
    fn call(&mut self) -> Result<Node> {
        self.sign("@")?;
        let func = self.id()?;
        let sizes = if self.eat("<") { self.list(">", Self::size)? } else { Vec::new() };
        let mut closure = None;
        if self.eat("{") {
            closure = Some(self.expr()?);
            self.sign("}")?;
        }
        let args = self.arguments()?;
        Ok(self.node(ExprKind::Call { func, sizes, closure, args }))
    }

    fn arguments(&mut self) -> Result<Vec<Expr>> {
        self.sign("(")?;
        self.list(")", Self::expr)
    }

    fn keyword(&mut self, word: &str) -> Result<Node> {
        let next = self.peek_at(1).clone();
        match word {
            "if" => self.choice(),
            "match" => self.match_arms(),
            "def" => self.definition(),
            "scatter" => self.scatter(),
            "slice" | "gather" | "permute" | "join" => self.view(word),
            "make" => self.make(),
            "closure" => self.closure(),
            "specialise" => self.specialise(),
            "check" => self.check(),
            "host" => self.host(),
            "error" => {
                self.at += 1;
                Ok(self.node(ExprKind::Error))
            }
            _ if next == Token::Sign("[") => self.reduction(word),
            _ if next == Token::Sign("(") => self.operation(word),
            _ => self.expected("an expression"),
        }
    }

    /// What is written like a call.
    fn operation(&mut self, word: &str) -> Result<Node> {
        let unary: Option<UnaryOp> = word.parse().ok();
        let binary: Option<BinaryOp> = word.parse().ok();
        let known =
            ["range", "try", "derivative", "tangent", "apply", "jvp", "vjp"].contains(&word);
        if unary.is_none() && binary.is_none() && !known {
            return self.expected("an operation");
        }
        self.at += 1;
        let mut args = self.arguments()?.into_iter();
        let kind = match (unary, binary, args.next(), args.next(), args.len()) {
            (Some(op), _, Some(a), None, _) => ExprKind::Unary(op, a),
            (_, Some(op), Some(a), Some(b), 0) => ExprKind::Binary(op, a, b),
            (None, None, Some(a), None, _) if word == "try" => ExprKind::Try(a),
            (None, None, Some(a), None, _) if word == "tangent" => {
                ExprKind::Derivative(Derivative::Tangent(a))
            }
            (None, None, Some(a), Some(b), 0) if word == "range" => ExprKind::Range(a, b),
            (None, None, Some(target), Some(parameter), 0) if word == "derivative" => {
                ExprKind::Derivative(Derivative::Quotient { target, parameter })
            }
            (None, None, Some(target), Some(parameter), 1) if word == "jvp" || word == "vjp" => {
                let Some(direction) = args.next() else {
                    return self.error(format!("`{word}` takes another number of operands"));
                };
                let forward = word == "jvp";
                let product = Derivative::Product { target, parameter, direction, forward };
                ExprKind::Derivative(product)
            }
            (None, None, Some(callee), first, _) if word == "apply" => {
                ExprKind::CallValue { callee, args: first.into_iter().chain(args).collect() }
            }
            _ => return self.error(format!("`{word}` takes another number of operands")),
        };
        Ok(self.node(kind))
    }

    fn choice(&mut self) -> Result<Node> {
        self.word("if")?;
        let cond = self.expr()?;
        self.sign("{")?;
        let then = self.expr()?;
        self.sign("}")?;
        self.word("else")?;
        self.sign("{")?;
        let otherwise = self.expr()?;
        self.sign("}")?;
        Ok(self.node(ExprKind::If { cond, then, otherwise }))
    }

    fn match_arms(&mut self) -> Result<Node> {
        self.word("match")?;
        let value = self.expr()?;
        self.sign("{")?;
        let arms = self.list("}", |it| {
            let pattern = it.pattern()?;
            let guard = if it.eat_word("if") { Some(it.expr()?) } else { None };
            it.sign("=>")?;
            Ok(Arm { pattern, guard, value: it.expr()? })
        })?;
        Ok(self.node(ExprKind::Match { value, arms }))
    }

    fn make(&mut self) -> Result<Node> {
        self.word("make")?;
        self.sign("#")?;
        let data = self.id()?;
        self.sign(".")?;
        let variant = self.count()?;
        let fields = self.arguments()?;
        Ok(self.node(ExprKind::Make { data, variant, fields }))
    }

    fn closure(&mut self) -> Result<Node> {
        self.word("closure")?;
        let mut func = None;
        if !self.eat_word("_") {
            self.sign("@")?;
            func = Some(self.id()?);
        }
        self.sign("{")?;
        let captures = self.list("}", Self::expr)?;
        Ok(self.node(ExprKind::Closure { func, captures }))
    }

    fn specialise(&mut self) -> Result<Node> {
        self.word("specialise")?;
        self.sign("(")?;
        let value = self.expr()?;
        self.sign(",")?;
        self.sign("@")?;
        let func = self.id()?;
        self.sign(")")?;
        Ok(self.node(ExprKind::Specialise { value, func }))
    }

    fn check(&mut self) -> Result<Node> {
        self.word("check")?;
        self.sign("(")?;
        let value = self.expr()?;
        self.sign(",")?;
        self.sign("[")?;
        let extents = self.list("]", Self::optional_size)?;
        self.sign(",")?;
        let what = self.text()?;
        self.sign(")")?;
        Ok(self.node(ExprKind::Assert { value, extents, what }))
    }

    fn host(&mut self) -> Result<Node> {
        self.word("host")?;
        let op = self.host_op()?;
        let args = self.arguments()?;
        Ok(self.node(ExprKind::Host(op, args)))
    }

    fn host_op(&mut self) -> Result<HostOp> {
        let name = match self.next() {
            Token::Word(name) => name,
            Token::Number(..) | Token::Text(_) | Token::Sign(_) | Token::End => String::new(),
        };
        if let Some((_, op)) = HOST.iter().find(|(own, _)| *own == name) {
            return Ok(op.clone());
        }
        match name.as_str() {
            "io" => {
                self.sign(".")?;
                let name = self.name()?;
                match IoOp::NAMES.iter().find(|(own, _)| *own == name.as_str()) {
                    Some((_, op)) => Ok(HostOp::Io(*op)),
                    None => self.error(format!("there is no file function `{name}`")),
                }
            }
            "plain" => {
                self.sign(".")?;
                let name = self.name()?;
                match PlainOp::NAMES.iter().find(|(own, _)| *own == name.as_str()) {
                    Some((_, op)) => Ok(HostOp::Plain(*op)),
                    None => self.error(format!("there is no function `{name}` of the library")),
                }
            }
            "input" => {
                self.sign("[")?;
                let name = Symbol::intern(&self.text()?);
                self.sign("]")?;
                Ok(HostOp::Input(name))
            }
            "python" => {
                self.sign("[")?;
                let path = Symbol::intern(&self.text()?);
                self.sign("]")?;
                Ok(HostOp::Python(path))
            }
            "format" => {
                self.sign("[")?;
                let specs =
                    self.list(
                        "]",
                        |it| {
                            if it.eat_word("_") { Ok(None) } else { it.spec().map(Some) }
                        },
                    )?;
                Ok(HostOp::Format(specs))
            }
            _ => {
                self.at = self.at.saturating_sub(1);
                self.expected("an operation of the run-time library")
            }
        }
    }

    fn spec(&mut self) -> Result<Spec> {
        self.word("spec")?;
        self.sign("(")?;
        let mut spec = Spec::default();
        let letter = |it: &mut Self| -> Result<Option<char>> { Ok(it.text()?.chars().next()) };
        while !self.eat(")") {
            let part = self.name()?;
            match part.as_str() {
                "fill" => spec.fill = letter(self)?,
                "left" => spec.align = Some(Align::Left),
                "right" => spec.align = Some(Align::Right),
                "center" => spec.align = Some(Align::Center),
                "after_sign" => spec.align = Some(Align::AfterSign),
                "plus" => spec.plus = true,
                "zero" => spec.zero = true,
                "width" => spec.width = Some(self.count()?),
                "precision" => spec.precision = Some(self.count()?),
                "kind" => spec.kind = letter(self)?,
                other => return self.error(format!("a format has no `{other}`")),
            }
        }
        Ok(spec)
    }
}
