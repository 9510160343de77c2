//! Which expressions need parentheses where.

use super::Formatter;
use crate::ast::*;
use crate::token::{TokenKind, word};

/// The level of `as`.
pub(super) const CAST: u8 = 10;
/// The level of prefix operators.
pub(super) const PREFIX: u8 = 11;
/// The level of calls, indices and fields.
pub(super) const POSTFIX: u8 = 12;

impl Formatter<'_> {
    /// How tight an expression is, on the scale of language.md, section 3.
    pub(super) fn level(&self, id: ExprId) -> u8 {
        match self.kind(id) {
            ExprKind::Where { .. } | ExprKind::Closure { .. } => 0,
            ExprKind::Pipe(..)
            | ExprKind::OrElse(..)
            | ExprKind::Catch { .. }
            | ExprKind::Try(_) => 1,
            ExprKind::Binary(op, ..) => op.level(),
            ExprKind::Range { .. } => 6,
            ExprKind::Cast(..) => CAST,
            ExprKind::Unary(..) | ExprKind::At(_) => PREFIX,
            ExprKind::Call { .. }
            | ExprKind::BracketCall { .. }
            | ExprKind::Index { .. }
            | ExprKind::Field(..)
            | ExprKind::TupleField(..) => POSTFIX,
            ExprKind::Int { .. }
            | ExprKind::Float { .. }
            | ExprKind::Bool(_)
            | ExprKind::Str(_)
            | ExprKind::Path(_)
            | ExprKind::Size(_)
            | ExprKind::Hole
            | ExprKind::Array(_)
            | ExprKind::Tuple(_)
            | ExprKind::Comprehension { .. }
            | ExprKind::Struct { .. }
            | ExprKind::Block { .. }
            | ExprKind::If { .. }
            | ExprKind::Match { .. }
            | ExprKind::Error => 13,
        }
    }

    /// Whether an operand is put in parentheses whatever its operator: because it ends in a block,
    /// extends as far as it can, or has no end.
    pub(super) fn stands_apart(&self, id: ExprId) -> bool {
        match self.kind(id) {
            ExprKind::Block { .. }
            | ExprKind::If { .. }
            | ExprKind::Match { .. }
            | ExprKind::Closure { .. }
            | ExprKind::Try(_)
            | ExprKind::Range { hi: None, .. } => true,
            ExprKind::Struct { .. } => self.no_struct,
            _ => false,
        }
    }

    /// Whether an operand needs parentheses where operators of level `min` and tighter may stand.
    pub(super) fn needs_parens(&self, id: ExprId, min: u8) -> bool {
        self.level(id) < min || self.stands_apart(id)
    }

    /// Whether `else` after this expression would be taken to be part of it.
    pub(super) fn takes_else(&self, id: ExprId) -> bool {
        match self.kind(id) {
            ExprKind::If { otherwise: None, .. } => true,
            ExprKind::If { otherwise: Some(otherwise), .. } => self.takes_else(*otherwise),
            _ => self.level(id) <= 1,
        }
    }

    /// Whether an expression ends in a range without an end, which would take a name after it.
    pub(super) fn ends_open(&self, id: ExprId) -> bool {
        match self.kind(id) {
            ExprKind::Range { hi: None, .. } => true,
            ExprKind::Closure { body, .. } => self.ends_open(*body),
            _ => false,
        }
    }

    /// The leftmost operand that is printed without parentheses before it.
    fn leftmost(&self, id: ExprId) -> ExprId {
        let mut id = id;
        loop {
            let (inner, min) = match self.kind(id) {
                ExprKind::Where { body, .. } => (*body, 1),
                ExprKind::Pipe(_, inner, _)
                | ExprKind::OrElse(inner, _)
                | ExprKind::Catch { value: inner, .. } => (*inner, 1),
                ExprKind::Binary(op, inner, _) => (*inner, op.level()),
                ExprKind::Range { lo: Some(inner), .. } => (*inner, 7),
                ExprKind::Cast(inner, _) => (*inner, CAST),
                ExprKind::Call { callee: inner, .. }
                | ExprKind::BracketCall { callee: inner, .. }
                | ExprKind::Index { base: inner, .. }
                | ExprKind::Field(inner, _)
                | ExprKind::TupleField(inner, ..) => (*inner, POSTFIX),
                _ => return id,
            };
            if self.needs_parens(inner, min) {
                return id;
            }
            id = inner;
        }
    }

    /// Where the first token of an expression stands, parentheses around its start not counted.
    pub(super) fn first_place_of(&self, id: ExprId) -> u32 {
        let mut id = id;
        loop {
            id = match self.kind(id) {
                ExprKind::Where { body: inner, .. }
                | ExprKind::Pipe(_, inner, _)
                | ExprKind::OrElse(inner, _)
                | ExprKind::Catch { value: inner, .. }
                | ExprKind::Binary(_, inner, _)
                | ExprKind::Range { lo: Some(inner), .. }
                | ExprKind::Cast(inner, _)
                | ExprKind::Call { callee: inner, .. }
                | ExprKind::BracketCall { callee: inner, .. }
                | ExprKind::Index { base: inner, .. }
                | ExprKind::Field(inner, _)
                | ExprKind::TupleField(inner, ..) => *inner,
                _ => return self.expr_span(id).lo(),
            };
        }
    }

    /// The `x in e` at the left edge of an expression, which would be read as a domain or a
    /// generator: its `x`.
    pub(super) fn leading_in(&self, id: ExprId) -> Option<ExprId> {
        let mut id = id;
        loop {
            match self.kind(id) {
                ExprKind::Binary(BinaryOp::In, lhs, _) if !self.needs_parens(*lhs, 6) => {
                    match self.kind(*lhs) {
                        ExprKind::Path(path) if path.len() == 1 => return Some(*lhs),
                        ExprKind::Tuple(_) => return Some(*lhs),
                        _ => id = *lhs,
                    }
                }
                ExprKind::Where { body: inner, .. }
                | ExprKind::Pipe(_, inner, _)
                | ExprKind::OrElse(inner, _)
                | ExprKind::Catch { value: inner, .. }
                | ExprKind::Binary(_, inner, _)
                | ExprKind::Range { lo: Some(inner), .. }
                | ExprKind::Cast(inner, _) => id = *inner,
                _ => return None,
            }
        }
    }

    /// Whether an expression, as the start of a statement after `}`, would continue what stands
    /// before it.
    pub(super) fn continues(&self, id: ExprId) -> bool {
        match self.kind(self.leftmost(id)) {
            ExprKind::Path(path) => path.first().is_some_and(is_operator),
            ExprKind::Struct { path, .. } => path.first().is_some_and(is_operator),
            ExprKind::Range { lo: None, .. } => true,
            _ => false,
        }
    }

    /// Whether a pattern, as the start of an arm after `}`, would continue what stands before it.
    pub(super) fn pattern_continues(&self, id: PatId) -> bool {
        match &self.ast.pat[id].kind {
            PatKind::Range { lo: None, .. } => false,
            PatKind::Range { lo: Some(lo), .. } => self.continues(*lo),
            PatKind::Or(items) => items.first().is_some_and(|first| self.pattern_continues(*first)),
            PatKind::Bind { name, .. } | PatKind::At(name, _) => is_operator(name),
            PatKind::Path(path) | PatKind::Variant { path, .. } | PatKind::Struct { path, .. } => {
                path.first().is_some_and(is_operator)
            }
            PatKind::Wild
            | PatKind::Literal(_)
            | PatKind::Tuple(_)
            | PatKind::Array { .. }
            | PatKind::Error => false,
        }
    }

    /// The name that an expression consists of.
    pub(super) fn single_name(&self, id: ExprId) -> Option<ein_base::Symbol> {
        match self.kind(id) {
            ExprKind::Path(path) if path.len() == 1 => path.first().map(|name| name.sym),
            _ => None,
        }
    }
}

/// Whether a name is a word that is an operator after an operand.
fn is_operator(name: &ein_base::Name) -> bool {
    let kind = word(name.sym.as_str().as_bytes());
    matches!(kind, TokenKind::In | TokenKind::As | TokenKind::Where | TokenKind::Catch)
}

/// Whether a pipeline has an `else` that a guard takes for its own: one after what is no pipeline of an
/// optional value.
pub(super) fn has_bare_else(f: &Formatter, id: ExprId) -> bool {
    match f.kind(id) {
        ExprKind::OrElse(value, _) => {
            let fails = match f.kind(*value) {
                ExprKind::Pipe(op, ..) => *op != PipeOp::Plain,
                ExprKind::OrElse(..) | ExprKind::Catch { .. } | ExprKind::Try(_) => true,
                _ => false,
            };
            !fails || has_bare_else(f, *value)
        }
        ExprKind::Pipe(_, value, _) | ExprKind::Catch { value, .. } => has_bare_else(f, *value),
        _ => false,
    }
}
