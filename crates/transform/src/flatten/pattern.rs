//! Patterns.

use super::{Flat, Flatten, Val, declined};
use crate::points::Node;
use ein_base::Span;
use ein_ir::tensor::{Arm, Expr, Pattern, VarId};
use ein_scalar::{BinaryOp, UnaryOp};

impl<'p> Flatten<'p> {
    /// Takes a value apart; the pattern always matches.
    pub(crate) fn destructure(
        &mut self,
        pattern: &'p Pattern,
        value: &Val,
        span: Span,
    ) -> Flat<()> {
        self.oblige(value, span)?;
        let cond = self.matches(pattern, value, span)?;
        match cond.map(|cond| self.known_truth(cond)) {
            None | Some(Some(true)) => Ok(()),
            _ => Err(declined("a pattern that may not match", span)),
        }
    }

    /// Binds what a pattern binds; the condition under which it matches, none if always.
    fn matches(&mut self, pattern: &'p Pattern, value: &Val, span: Span) -> Flat<Option<Node>> {
        match (pattern, value) {
            (Pattern::Wild, _) => Ok(None),
            (Pattern::Bind(var), value) => {
                self.bind(*var, value.clone());
                Ok(None)
            }
            (Pattern::At(var, inner), value) => {
                self.bind(*var, value.clone());
                self.matches(inner, value, span)
            }
            (Pattern::Literal(literal), Val::Scalar(node)) => {
                let literal = self.points.constant(*literal);
                Ok(Some(self.points.binary(BinaryOp::Eq, *node, literal, None)))
            }
            (Pattern::Range { lo, hi, inclusive }, Val::Scalar(node)) => {
                let mut cond = None;
                if let Some(lo) = lo {
                    let lo = self.points.constant(*lo);
                    let above = self.points.binary(BinaryOp::Ge, *node, lo, None);
                    cond = self.points.both(cond, Some(above));
                }
                if let Some(hi) = hi {
                    let op = if *inclusive { BinaryOp::Le } else { BinaryOp::Lt };
                    let hi = self.points.constant(*hi);
                    let below = self.points.binary(op, *node, hi, None);
                    cond = self.points.both(cond, Some(below));
                }
                Ok(cond)
            }
            (Pattern::Tuple(parts), Val::Tuple(items)) if parts.len() == items.len() => {
                let mut cond = None;
                for (part, item) in parts.iter().zip(items.iter()) {
                    let more = self.matches(part, item, span)?;
                    cond = self.points.both(cond, more);
                }
                Ok(cond)
            }
            (Pattern::Data { variant, fields }, Val::Data((_, is), items)) => {
                if variant != is {
                    return Ok(Some(self.points.truth(false)));
                }
                let mut cond = None;
                for (part, item) in fields.iter().zip(items.iter()) {
                    let more = self.matches(part, item, span)?;
                    cond = self.points.both(cond, more);
                }
                Ok(cond)
            }
            (Pattern::Or(options), value) => {
                let mut names = Vec::new();
                options.iter().for_each(|option| bound(option, &mut names));
                if !names.is_empty() {
                    return Err(declined("alternatives that bind", span));
                }
                let mut cond = self.points.truth(false);
                for option in options {
                    match self.matches(option, value, span)? {
                        None => return Ok(None),
                        Some(more) => cond = self.points.binary(BinaryOp::Or, cond, more, None),
                    }
                }
                Ok(Some(cond))
            }
            _ => Err(declined("a pattern over data", span)),
        }
    }

    /// A choice by pattern.
    pub(crate) fn match_arms(&mut self, value: &'p Expr, arms: &'p [Arm], span: Span) -> Flat<Val> {
        let value = self.expr(value)?;
        self.oblige(&value, span)?;
        self.arms_from(&value, arms, span)
    }

    fn arms_from(&mut self, value: &Val, arms: &'p [Arm], span: Span) -> Flat<Val> {
        let Some((arm, rest)) = arms.split_first() else {
            return Err(declined("a match without an arm that matches", span));
        };
        let before = self.when;
        let mut cond = self.matches(&arm.pattern, value, span)?;
        if let Some(guard) = &arm.guard {
            self.when = self.points.both(before, cond);
            let guard = self.scalar(guard)?;
            cond = self.points.both(cond, Some(guard));
        }
        let known = cond.map(|cond| self.known_truth(cond));
        if let Some(Some(false)) = known {
            self.when = before;
            return self.arms_from(value, rest, span);
        }
        self.when = self.points.both(before, cond);
        let taken = self.expr(&arm.value)?;
        self.when = before;
        let Some(cond) = cond.filter(|_| known != Some(Some(true)) && !rest.is_empty()) else {
            return Ok(taken);
        };
        let not = self.points.unary(UnaryOp::Not, cond, None);
        self.when = self.points.both(before, Some(not));
        let other = self.arms_from(value, rest, span)?;
        self.when = before;
        self.merge(cond, taken, other, span)
    }
}

/// The variables that a pattern binds.
pub(crate) fn bound(pattern: &Pattern, vars: &mut Vec<VarId>) {
    match pattern {
        Pattern::Wild | Pattern::Literal(_) | Pattern::Str(_) | Pattern::Range { .. } => {}
        Pattern::Bind(var) => vars.push(*var),
        Pattern::Tuple(parts) | Pattern::Or(parts) => {
            parts.iter().for_each(|part| bound(part, vars));
        }
        Pattern::Array { before, rest, after } => {
            before.iter().chain(after).for_each(|part| bound(part, vars));
            vars.extend(rest.iter().flatten());
        }
        Pattern::Data { fields, .. } => fields.iter().for_each(|part| bound(part, vars)),
        Pattern::At(var, inner) => {
            vars.push(*var);
            bound(inner, vars);
        }
    }
}
