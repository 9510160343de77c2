//! Reads definitions, reductions and views.

use super::expr::Node;
use super::{Parser, Result};
use crate::tensor::lex::Token;
use crate::tensor::spans::nowhere;
use crate::tensor::{
    Binder, Clause, ClauseSlot, Expr, ExprKind, Item, Recurrence, RecurrenceAxis, Reduce, ReduceOp,
    Scatter, Tensor, Until,
};
use ein_base::Symbol;

impl Parser {
    /// `def name shape(…) … : T { clauses }`
    pub(super) fn definition(&mut self) -> Result<Node> {
        self.word("def")?;
        let name = if self.eat_word("_") { None } else { Some(self.name()?) };
        self.word("shape")?;
        self.sign("(")?;
        let shape = self.list(")", Self::optional_size)?;
        let inner_rank = if self.eat_word("inner") { self.count()? } else { 0 };
        let self_var = if self.eat_word("self") { Some(self.id()?) } else { None };
        let recurrence = self.recurrence()?;
        let requires = self.requires()?;
        self.sign(":")?;
        let ty = self.ty()?;
        self.sign("{")?;
        let mut clauses = Vec::new();
        while !self.eat("}") {
            clauses.push(self.clause()?);
        }
        let tensor = Tensor {
            name,
            self_var,
            shape,
            inner_rank,
            clauses,
            recurrence: recurrence.map(Box::new),
            requires,
        };
        Ok(Node { kind: ExprKind::Tensor(tensor), ty: Some(ty) })
    }

    fn recurrence(&mut self) -> Result<Option<Recurrence>> {
        if !self.eat_word("recurrent") {
            return Ok(None);
        }
        self.sign("(")?;
        let axes = self.list(")", |it| {
            Ok(RecurrenceAxis { axis: it.count()?, backward: it.eat_word("down") })
        })?;
        let lookback = if self.eat_word("lookback") { Some(self.count()?) } else { None };
        let adjoint = self.eat_word("adjoint");
        Ok(Some(Recurrence { axes, lookback, adjoint }))
    }

    fn clause(&mut self) -> Result<Clause> {
        self.sign("[")?;
        let slots = self.list("]", |it| {
            if it.id_number().is_some() {
                return it.binder().map(ClauseSlot::Loop);
            }
            it.point().map(ClauseSlot::Point)
        })?;
        let items = self.items()?;
        self.sign("=")?;
        let value = self.expr()?;
        let otherwise = if self.eat_word("else") { Some(self.expr()?) } else { None };
        let until = if self.eat_word("until") {
            let cond = self.expr()?;
            let otherwise = if self.eat_word("error") { Some(self.expr()?) } else { None };
            Some(Box::new(Until { cond, otherwise }))
        } else {
            None
        };
        self.sign(";")?;
        Ok(Clause { slots, items, value, otherwise, until, span: nowhere() })
    }

    /// A literal point; it may be negative.
    fn point(&mut self) -> Result<i64> {
        let minus = if self.eat("-") { "-" } else { "" };
        let value = match self.peek() {
            Token::Number(digits, suffix) if suffix.is_empty() => {
                format!("{minus}{digits}").parse().ok()
            }
            _ => None,
        };
        match value {
            Some(value) => {
                self.at += 1;
                Ok(value)
            }
            None => self.expected("a point or an index with its domain"),
        }
    }

    fn binder(&mut self) -> Result<Binder> {
        let var = self.id()?;
        self.sign(":")?;
        let lo = self.expr()?;
        self.sign("..")?;
        Ok(Binder { var, lo, hi: self.expr()? })
    }

    /// `where let v = e, if c`, if it stands here.
    fn items(&mut self) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        if !self.eat_word("where") {
            return Ok(items);
        }
        loop {
            if self.eat_word("if") {
                items.push(Item::Guard(self.expr()?));
            } else {
                self.word("let")?;
                let var = self.id()?;
                self.sign("=")?;
                items.push(Item::Let(var, self.expr()?));
            }
            if !self.eat(",") {
                return Ok(items);
            }
        }
    }

    /// `sum[k: 0..n where …](e)`
    pub(super) fn reduction(&mut self, word: &str) -> Result<Node> {
        let Some(op) = ReduceOp::ALL.into_iter().find(|op| op.as_str() == word) else {
            return self.expected("a reduction");
        };
        self.at += 1;
        self.sign("[")?;
        let mut binders = Vec::new();
        while self.id_number().is_some() {
            binders.push(self.binder()?);
            if !self.eat(",") {
                break;
            }
        }
        let items = self.items()?;
        let requires = self.requires()?;
        self.sign("]")?;
        self.sign("(")?;
        let value = self.expr()?;
        self.sign(")")?;
        Ok(self.node(ExprKind::Reduce(Reduce { op, binders, items, value, requires })))
    }

    /// `scatter shape(n) [k: 0..m where …] [at[k]?](e)`
    pub(super) fn scatter(&mut self) -> Result<Node> {
        self.word("scatter")?;
        self.word("shape")?;
        self.sign("(")?;
        let shape = self.list(")", Self::size)?;
        self.sign("[")?;
        let mut binders = Vec::new();
        while self.id_number().is_some() {
            binders.push(self.binder()?);
            if !self.eat(",") {
                break;
            }
        }
        let items = self.items()?;
        self.sign("]")?;
        self.sign("[")?;
        let indices = self.list("]", Self::index_arg)?;
        self.sign("(")?;
        let value = self.expr()?;
        self.sign(")")?;
        Ok(self.node(ExprKind::Scatter(Box::new(Scatter {
            shape,
            binders,
            items,
            indices,
            value,
        }))))
    }

    /// `slice(x, 0, _, 5)`, `gather(x, 0, at)`, `permute(x, 1, 0)`, `join(x, 0, y)`
    pub(super) fn view(&mut self, word: &str) -> Result<Node> {
        self.at += 1;
        self.sign("(")?;
        let base = self.expr()?;
        if word == "permute" {
            let mut order = Vec::new();
            while self.eat(",") {
                order.push(self.count()?);
            }
            self.sign(")")?;
            return Ok(self.node(ExprKind::Permute { base, order }));
        }
        self.sign(",")?;
        let axis = self.count()?;
        self.sign(",")?;
        let kind = match word {
            "slice" => {
                let lo = self.optional_expr()?;
                self.sign(",")?;
                ExprKind::Slice { base, axis, lo, hi: self.optional_expr()? }
            }
            "gather" => {
                let indices = self.expr()?;
                let mut name = None;
                if self.eat(",") {
                    name = Some(Symbol::intern(&self.text()?));
                }
                ExprKind::Gather { base, axis, indices, name }
            }
            _ => ExprKind::Join { axis, left: base, right: self.expr()? },
        };
        self.sign(")")?;
        Ok(self.node(kind))
    }

    fn optional_expr(&mut self) -> Result<Option<Expr>> {
        if self.eat_word("_") { Ok(None) } else { self.expr().map(Some) }
    }
}
