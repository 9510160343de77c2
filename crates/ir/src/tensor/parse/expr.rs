//! Reads statements and operators.

use super::{Parser, Result};
use crate::tensor::infer::infer;
use crate::tensor::lex::Token;
use crate::tensor::print::infix;
use crate::tensor::spans::nowhere;
use crate::tensor::{Bounds, Expr, ExprKind, IndexArg, Stmt, StmtKind, Type};
use ein_scalar::{BinaryOp, UnaryOp};

impl Parser {
    /// A statement with its semicolon.
    pub(super) fn stmt(&mut self) -> Result<Stmt> {
        match self.stmt_or_value()? {
            Ok(stmt) => Ok(stmt),
            Err(_) => self.expected("`;`"),
        }
    }

    /// A statement, or the value that ends a block.
    pub(super) fn stmt_or_value(&mut self) -> Result<std::result::Result<Stmt, Expr>> {
        let kind = if self.eat_word("let") {
            let var = self.id()?;
            self.sign("=")?;
            StmtKind::Let(var, self.expr()?)
        } else if self.eat_word("destructure") {
            let pattern = self.pattern()?;
            self.sign("=")?;
            StmtKind::Destructure(pattern, self.expr()?)
        } else if self.eat_word("require") {
            StmtKind::Require(Box::new(self.require()?))
        } else {
            let value = self.expr()?;
            if !self.is_sign(";") {
                return Ok(Err(value));
            }
            StmtKind::Expr(value)
        };
        self.sign(";")?;
        Ok(Ok(Stmt { kind, span: nowhere() }))
    }

    /// A node whose type its parts tell; `None` as its type until `(e : T)` states it.
    pub(super) fn node(&self, kind: ExprKind) -> Node {
        let ty = infer(&kind, &self.program);
        Node { kind, ty }
    }

    /// An expression whose type is known.
    pub(super) fn expr(&mut self) -> Result<Expr> {
        let node = self.operators(0)?;
        self.typed(node)
    }

    pub(super) fn typed(&self, node: Node) -> Result<Expr> {
        match node.ty {
            Some(ty) => Ok(Expr::new(node.kind, ty, nowhere())),
            None => self.error("the type of this expression is not stated"),
        }
    }

    /// Operators that bind at least as tightly as `least`.
    pub(super) fn operators(&mut self, least: u8) -> Result<Node> {
        self.nested(|it| {
            let mut left = it.unary()?;
            while let Some((operator, strength)) = it.operator()
                && strength >= least
            {
                it.at += 1;
                let a = it.typed(left)?;
                let right = it.operators(strength + 1)?;
                let b = it.typed(right)?;
                left = it.node(match operator {
                    Operator::And => ExprKind::And(a, b),
                    Operator::Or => ExprKind::Or(a, b),
                    Operator::Binary(op) => ExprKind::Binary(op, a, b),
                });
            }
            Ok(left)
        })
    }

    /// The operator that stands here, and how tightly it binds.
    fn operator(&self) -> Option<(Operator, u8)> {
        let Token::Sign(sign) = self.peek() else { return None };
        match *sign {
            "||" => Some((Operator::Or, 1)),
            "&&" => Some((Operator::And, 2)),
            sign => BinaryOp::ALL.iter().find_map(|op| match infix(*op) {
                // Powers bind more tightly than a sign, and are read with what they stand on.
                Some((own, strength)) if own == sign && *op != BinaryOp::Pow => {
                    Some((Operator::Binary(*op), strength))
                }
                Some(_) | None => None,
            }),
        }
    }

    /// Signs in front and conversions behind.
    fn unary(&mut self) -> Result<Node> {
        let mut node = self.prefix()?;
        while self.eat_word("as") {
            let value = self.typed(node)?;
            node = Node { kind: ExprKind::Cast(value), ty: Some(self.ty()?) };
        }
        Ok(node)
    }

    fn prefix(&mut self) -> Result<Node> {
        let op = match self.peek() {
            Token::Sign("-") if !self.at_constant() => UnaryOp::Neg,
            Token::Sign("!") => UnaryOp::Not,
            _ => return self.power(),
        };
        self.at += 1;
        self.nested(|it| {
            let operand = it.prefix()?;
            let operand = it.typed(operand)?;
            Ok(it.node(ExprKind::Unary(op, operand)))
        })
    }

    fn power(&mut self) -> Result<Node> {
        let mut left = self.postfix()?;
        while self.eat("**") {
            let a = self.typed(left)?;
            let b = self.postfix()?;
            let b = self.typed(b)?;
            left = self.node(ExprKind::Binary(BinaryOp::Pow, a, b));
        }
        Ok(left)
    }

    /// `i`, or `i?` where the run has to check.
    pub(super) fn index_arg(&mut self) -> Result<IndexArg> {
        let value = self.expr()?;
        let bounds = if self.eat("?") { Bounds::Checked } else { Bounds::Proved };
        Ok(IndexArg { value, bounds })
    }

    /// Reads and components.
    fn postfix(&mut self) -> Result<Node> {
        let mut node = self.primary()?;
        loop {
            if self.eat("[") {
                let base = self.typed(node)?;
                let indices = self.list("]", Self::index_arg)?;
                node = self.node(ExprKind::Index { base, indices });
            } else if self.eat(".") {
                let base = self.typed(node)?;
                node = self.component(base)?;
            } else {
                return Ok(node);
            }
        }
    }

    /// `.0` of a tuple, `.f0` of a struct.
    fn component(&mut self, base: Expr) -> Result<Node> {
        let field = match self.peek() {
            Token::Word(word) => word.strip_prefix('f').and_then(|digits| digits.parse().ok()),
            Token::Number(..) | Token::Text(_) | Token::Sign(_) | Token::End => None,
        };
        match field {
            Some(field) => {
                self.at += 1;
                Ok(self.node(ExprKind::FieldGet(base, field)))
            }
            None => {
                let at = self.count()?;
                Ok(self.node(ExprKind::TupleGet(base, at)))
            }
        }
    }
}

/// An expression whose type may yet be stated.
pub(super) struct Node {
    pub(super) kind: ExprKind,
    pub(super) ty: Option<Type>,
}

/// What stands between two operands.
enum Operator {
    And,
    Or,
    Binary(BinaryOp),
}
