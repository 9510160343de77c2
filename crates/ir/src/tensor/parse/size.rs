//! Reads sizes.

use super::{Parser, Result};
use crate::size;
use crate::tensor::Require;
use crate::tensor::lex::Token;
use crate::tensor::spans::nowhere;

impl Parser {
    /// A sum of products.
    pub(super) fn size(&mut self) -> Result<size::Expr> {
        self.nested(|it| {
            let mut negative = it.eat("-");
            let mut sum = it.product(negative)?;
            loop {
                if it.eat("+") {
                    negative = false;
                } else if it.eat("-") {
                    negative = true;
                } else {
                    return Ok(sum);
                }
                sum = sum.add(&it.product(negative)?);
            }
        })
    }

    fn product(&mut self, negative: bool) -> Result<size::Expr> {
        let mut coefficient = if negative { -1 } else { 1 };
        let mut product = size::Expr::one();
        let mut more = true;
        if let Token::Number(digits, suffix) = self.peek()
            && suffix.is_empty()
        {
            let value = digits.parse::<i128>();
            match value.map(|value| value.checked_mul(coefficient)) {
                Ok(Some(value)) => coefficient = value,
                Ok(None) | Err(_) => return self.expected("a size"),
            }
            self.at += 1;
            more = self.eat("*");
        }
        while more {
            product = product.mul(&self.factor()?);
            more = self.eat("*");
        }
        match i64::try_from(coefficient) {
            Ok(coefficient) => Ok(product.scale(coefficient)),
            Err(_) => self.error("this number does not fit"),
        }
    }

    fn factor(&mut self) -> Result<size::Expr> {
        if self.id_number().is_some() {
            return Ok(size::Expr::atom(self.id()?));
        }
        let Token::Word(name) = self.peek().clone() else { return self.expected("a size") };
        if !["min", "max", "div", "quot", "plus", "times", "lost"].contains(&name.as_str()) {
            return self.expected("a size");
        }
        self.at += 1;
        self.sign("(")?;
        if name == "lost" {
            let number: u32 = self.count()?;
            let mut atoms = Vec::new();
            while self.eat(",") {
                atoms.push(self.id()?);
            }
            self.sign(")")?;
            return Ok(size::Expr::lost_again(u64::from(number), atoms));
        }
        let items = self.list(")", Self::size)?;
        let least = |all: &[size::Expr]| all.iter().skip(1).fold(all[0].clone(), |a, b| a.min(b));
        let most = |all: &[size::Expr]| all.iter().skip(1).fold(all[0].clone(), |a, b| a.max(b));
        match (name.as_str(), items.as_slice()) {
            ("min", all @ [_, ..]) => Ok(least(all)),
            ("max", all @ [_, ..]) => Ok(most(all)),
            ("div", [a, b]) => Ok(a.div_floor(b)),
            ("quot", [a, b]) => Ok(a.div_trunc(b)),
            ("plus", [a, b]) => Ok(a.add(b)),
            ("times", [a, b]) => Ok(a.mul(b)),
            _ => self.error(format!("`{name}` takes another number of sizes")),
        }
    }

    /// A size, or `_`.
    pub(super) fn optional_size(&mut self) -> Result<Option<size::Expr>> {
        if self.eat_word("_") { Ok(None) } else { self.size().map(Some) }
    }

    /// Two sizes and what they are the extents of.
    pub(super) fn require(&mut self) -> Result<Require> {
        let left = self.size()?;
        self.sign("==")?;
        let right = self.size()?;
        let what = self.text()?;
        Ok(Require { left, right, what, span: nowhere() })
    }

    /// `requires(…)`, if it stands here.
    pub(super) fn requires(&mut self) -> Result<Vec<Require>> {
        if !self.eat_word("requires") {
            return Ok(Vec::new());
        }
        self.sign("(")?;
        self.list(")", Self::require)
    }
}
