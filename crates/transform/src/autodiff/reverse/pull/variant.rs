//! Matches on variants that carry what moves: the match is made where the variant is.
//!
//! Before:  `s = if c { Circle(r) } else { Square(a) }; match s { Circle(r) => f(r), Square(a) => g(a) }`
//! After:   `if c { f(r) } else { g(a) }`, which is pulled back instead
//!
//! Calls are looked into. Refuses: variants whose making is not in sight, as elements of arrays.

use crate::autodiff::let_stmt;
use crate::autodiff::rename::Renaming;
use crate::autodiff::reverse::{Done, Reverse, Seed, unsupported};
use ein_ir::tensor::{Arm, Expr, ExprKind, Pattern, StmtKind, Type};

impl Reverse<'_, '_> {
    pub(super) fn is_enum(&self, ty: &Type) -> bool {
        matches!(ty, Type::Data(data, _) if self.pass.program.data[*data].is_enum)
    }

    /// A match on a variant.
    pub(super) fn pull_variant(
        &mut self,
        value: &Expr,
        arms: &[Arm],
        seed: &Seed,
        own: Option<&Expr>,
    ) -> Done {
        let Some(chosen) = self.matched(value, arms) else { return unsupported("a variant") };
        // Arms may be there several times now, with all that they bind.
        let chosen = self.pass.freshened(&chosen, &mut Renaming::default());
        self.pull_value(&chosen, seed.clone(), own.cloned())
    }

    /// What a match on a value is, in terms of what the variants were made from.
    fn matched(&mut self, value: &Expr, arms: &[Arm]) -> Option<Expr> {
        let (ty, span) = (arms.first()?.value.ty.clone(), value.span);
        let kind = match &*value.kind {
            ExprKind::Var(var) => {
                let known = self.known.get(var)?.clone();
                return self.matched(&known, arms);
            }
            ExprKind::Make { variant, fields, .. } => return self.taken(*variant, fields, arms),
            ExprKind::If { cond, then, otherwise } => ExprKind::If {
                cond: cond.clone(),
                then: self.matched(then, arms)?,
                otherwise: self.matched(otherwise, arms)?,
            },
            ExprKind::Block { stmts, value } => {
                // The match takes the place of the value, so it sees what the block binds.
                for stmt in stmts {
                    if let StmtKind::Let(var, made) = &stmt.kind
                        && self.is_enum(&made.ty)
                    {
                        self.known.insert(*var, made.clone());
                    }
                }
                ExprKind::Block { stmts: stmts.clone(), value: self.matched(value, arms)? }
            }
            ExprKind::Call { .. } | ExprKind::CallValue { .. } => {
                let (stmts, body) = self.as_block(value).ok()?;
                let block = ExprKind::Block { stmts, value: body };
                return self.matched(&Expr::new(block, value.ty.clone(), span), arms);
            }
            ExprKind::Match { value, arms: inner } => {
                let mut made = inner.clone();
                for arm in &mut made {
                    arm.value = self.matched(&arm.value, arms)?;
                }
                ExprKind::Match { value: value.clone(), arms: made }
            }
            _ => return None,
        };
        Some(Expr::new(kind, ty, span))
    }

    /// The arm that takes a variant, with its fields bound.
    fn taken(&mut self, variant: usize, fields: &[Expr], arms: &[Arm]) -> Option<Expr> {
        for arm in arms {
            if arm.guard.is_some() {
                return None;
            }
            match &arm.pattern {
                Pattern::Wild => return Some(arm.value.clone()),
                Pattern::Data { variant: other, .. } if *other != variant => {}
                Pattern::Data { fields: names, .. } => {
                    let mut stmts = Vec::new();
                    for (name, field) in names.iter().zip(fields) {
                        match name {
                            Pattern::Wild => {}
                            Pattern::Bind(var) => stmts.push(let_stmt(*var, field.clone())),
                            _ => return None,
                        }
                    }
                    let (ty, span) = (arm.value.ty.clone(), arm.value.span);
                    let kind = ExprKind::Block { stmts, value: arm.value.clone() };
                    return Some(Expr::new(kind, ty, span));
                }
                _ => return None,
            }
        }
        None
    }
}
