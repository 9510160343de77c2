//! Patterns: the tangent of what is taken apart is taken apart in the same way.

use super::Pass;
use super::tangent::{Tangents, moves};
use ein_ir::tensor::{Arm, Bounds, Expr, ExprKind, IndexArg, Pattern, Stmt, StmtKind, Type, VarId};
use rustc_hash::FxHashMap;

impl Pass<'_> {
    /// The same pattern for the tangent of the value: literals match anything, names bind twins.
    pub(super) fn tangent_pattern(&mut self, pattern: &Pattern, t: &mut Tangents) -> Pattern {
        match pattern {
            Pattern::Wild | Pattern::Literal(_) | Pattern::Str(_) | Pattern::Range { .. } => {
                Pattern::Wild
            }
            Pattern::Bind(var) => {
                let info = self.program.vars[*var].clone();
                let twin = self.local("$t", info.ty.clone(), info.span);
                if moves(&info.ty) {
                    t.set(*var, twin);
                }
                Pattern::Bind(twin)
            }
            Pattern::Tuple(items) => {
                Pattern::Tuple(items.iter().map(|item| self.tangent_pattern(item, t)).collect())
            }
            Pattern::Array { before, rest, after } => Pattern::Array {
                before: before.iter().map(|item| self.tangent_pattern(item, t)).collect(),
                rest: rest.map(|rest| {
                    rest.map(|var| {
                        let info = self.program.vars[var].clone();
                        let twin = self.local("$t", info.ty, info.span);
                        t.set(var, twin);
                        twin
                    })
                }),
                after: after.iter().map(|item| self.tangent_pattern(item, t)).collect(),
            },
            Pattern::Data { variant, fields } => Pattern::Data {
                variant: *variant,
                fields: fields.iter().map(|field| self.tangent_pattern(field, t)).collect(),
            },
            // Which alternative the primal matched is not known here: its tangent cannot be taken
            // apart, and must not be dropped.
            Pattern::Or(items) => {
                for item in items {
                    self.refuse_bindings(item);
                }
                Pattern::Wild
            }
            Pattern::At(var, inner) => {
                let info = self.program.vars[*var].clone();
                let twin = self.local("$t", info.ty.clone(), info.span);
                if moves(&info.ty) {
                    t.set(*var, twin);
                }
                let inner = self.tangent_pattern(inner, t);
                Pattern::At(twin, Box::new(inner))
            }
        }
    }

    /// Reports the names of an alternative whose values move.
    fn refuse_bindings(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Bind(var) => self.refuse_binding(*var),
            Pattern::At(var, inner) => {
                self.refuse_binding(*var);
                self.refuse_bindings(inner);
            }
            Pattern::Tuple(items) | Pattern::Or(items) | Pattern::Data { fields: items, .. } => {
                items.iter().for_each(|item| self.refuse_bindings(item));
            }
            Pattern::Array { before, rest, after } => {
                before.iter().chain(after).for_each(|item| self.refuse_bindings(item));
                rest.iter().flatten().for_each(|var| self.refuse_binding(*var));
            }
            Pattern::Wild | Pattern::Literal(_) | Pattern::Str(_) | Pattern::Range { .. } => {}
        }
    }

    fn refuse_binding(&mut self, var: VarId) {
        let info = &self.program.vars[var];
        if moves(&info.ty) {
            let (name, span) = (info.name, info.span);
            let message = format!(
                "`{name}` is bound by one of several alternatives, which has no derivative"
            );
            self.refuse(span, &message);
        }
    }

    /// `match`: the arm that the primal takes, with the tangents of what it binds.
    pub(super) fn match_tangent(
        &mut self,
        value: &Expr,
        arms: &[Arm],
        e: &Expr,
        t: &mut Tangents,
    ) -> Option<Expr> {
        let moving = self.tangent(value, t);
        let mut moves_at_all = false;
        let mut result = Vec::new();
        for arm in &single(arms) {
            let mut inner = t.clone();
            let mut stmts = Vec::new();
            if let Some(tangent) = &moving {
                let pattern = self.tangent_pattern(&arm.pattern, &mut inner);
                let kind = StmtKind::Destructure(pattern, tangent.clone());
                stmts.push(Stmt { kind, span: arm.value.span });
            }
            let tangent = self.tangent(&arm.value, &mut inner);
            moves_at_all |= tangent.is_some();
            let tangent =
                tangent.unwrap_or_else(|| self.zeros_like(self.primal(&arm.value, &inner)));
            let (ty, span) = (tangent.ty.clone(), tangent.span);
            let value = if stmts.is_empty() {
                tangent
            } else {
                Expr::new(ExprKind::Block { stmts, value: tangent }, ty, span)
            };
            result.push(Arm {
                pattern: arm.pattern.clone(),
                guard: arm.guard.as_ref().map(|guard| self.primal(guard, t)),
                value,
            });
        }
        if !moves_at_all {
            return None;
        }
        let kind = ExprKind::Match { value: self.primal(value, t), arms: result };
        Some(Expr::new(kind, e.ty.clone(), e.span))
    }

    /// Notes what a pattern binds as parts of a value, so that requests find them.
    pub(super) fn scope_pattern(&mut self, pattern: &Pattern, value: &Expr) {
        let span = value.span;
        match pattern {
            Pattern::Bind(var) => self.enter_scope(*var, value),
            Pattern::At(var, inner) => {
                self.enter_scope(*var, value);
                self.scope_pattern(inner, value);
            }
            Pattern::Tuple(items) => {
                let Type::Tuple(types) = value.ty.clone() else { return };
                for (at, (item, ty)) in items.iter().zip(types).enumerate() {
                    let part = Expr::new(ExprKind::TupleGet(value.clone(), at), ty, span);
                    self.scope_pattern(item, &part);
                }
            }
            Pattern::Array { before, .. } => {
                for (at, item) in before.iter().enumerate() {
                    let rest = value.ty.axes().get(1..).unwrap_or(&[]).to_vec();
                    let ty = Type::array(value.ty.elem().clone(), rest);
                    let index =
                        IndexArg { value: Expr::int(at as i64, span), bounds: Bounds::Checked };
                    let kind = ExprKind::Index { base: value.clone(), indices: vec![index] };
                    self.scope_pattern(item, &Expr::new(kind, ty, span));
                }
            }
            Pattern::Data { fields, .. } => {
                for (at, field) in fields.iter().enumerate() {
                    if let Pattern::Bind(var) = field {
                        let ty = self.program.vars[*var].ty.clone();
                        let part = Expr::new(ExprKind::FieldGet(value.clone(), at), ty, span);
                        self.scope_pattern(field, &part);
                    }
                }
            }
            Pattern::Wild
            | Pattern::Literal(_)
            | Pattern::Str(_)
            | Pattern::Range { .. }
            | Pattern::Or(_) => {}
        }
    }
}

/// The arms with one arm for each alternative that binds: which one the value has taken is then
/// known where its parts are.
pub(super) fn single(arms: &[Arm]) -> Vec<Arm> {
    let mut result = Vec::new();
    for arm in arms {
        for pattern in alternatives(&arm.pattern) {
            result.push(Arm { pattern, guard: arm.guard.clone(), value: arm.value.clone() });
        }
    }
    result
}

/// Patterns without alternatives that bind, which together match what one matches, in its order.
fn alternatives(pattern: &Pattern) -> Vec<Pattern> {
    let mut bound = Vec::new();
    bound_by(pattern, &mut bound);
    if bound.is_empty() {
        return vec![pattern.clone()];
    }
    match pattern {
        Pattern::Or(items) => items.iter().flat_map(alternatives).collect(),
        Pattern::Tuple(items) => products(items).into_iter().map(Pattern::Tuple).collect(),
        Pattern::Data { variant, fields } => products(fields)
            .into_iter()
            .map(|fields| Pattern::Data { variant: *variant, fields })
            .collect(),
        Pattern::Array { before, rest, after } => {
            let all: Vec<Pattern> = before.iter().chain(after).cloned().collect();
            let split = before.len();
            products(&all)
                .into_iter()
                .map(|mut before| {
                    let after = before.split_off(split);
                    Pattern::Array { before, rest: *rest, after }
                })
                .collect()
        }
        Pattern::At(var, inner) => alternatives(inner)
            .into_iter()
            .map(|inner| Pattern::At(*var, Box::new(inner)))
            .collect(),
        Pattern::Wild
        | Pattern::Bind(_)
        | Pattern::Literal(_)
        | Pattern::Str(_)
        | Pattern::Range { .. } => vec![pattern.clone()],
    }
}

/// Every choice of an alternative for each of several patterns, the last one changing fastest.
fn products(items: &[Pattern]) -> Vec<Vec<Pattern>> {
    let mut result: Vec<Vec<Pattern>> = vec![Vec::new()];
    for item in items {
        let choices = alternatives(item);
        result = result
            .into_iter()
            .flat_map(|before| {
                choices.iter().map(move |choice| {
                    let mut row = before.clone();
                    row.push(choice.clone());
                    row
                })
            })
            .collect();
    }
    result
}

/// The variables that a pattern binds.
pub(super) fn bound_by(pattern: &Pattern, found: &mut Vec<VarId>) {
    match pattern {
        Pattern::Wild | Pattern::Literal(_) | Pattern::Str(_) | Pattern::Range { .. } => {}
        Pattern::Bind(var) => found.push(*var),
        Pattern::Tuple(items) | Pattern::Data { fields: items, .. } | Pattern::Or(items) => {
            items.iter().for_each(|item| bound_by(item, found));
        }
        Pattern::Array { before, rest, after } => {
            before.iter().for_each(|item| bound_by(item, found));
            found.extend(rest.iter().flatten());
            after.iter().for_each(|item| bound_by(item, found));
        }
        Pattern::At(var, inner) => {
            found.push(*var);
            bound_by(inner, found);
        }
    }
}

/// Gives the variables that a pattern binds other names.
pub(super) fn replace_bound(pattern: &mut Pattern, names: &FxHashMap<VarId, VarId>) {
    let new = |var: &mut VarId| {
        if let Some(name) = names.get(var) {
            *var = *name;
        }
    };
    match pattern {
        Pattern::Wild | Pattern::Literal(_) | Pattern::Str(_) | Pattern::Range { .. } => {}
        Pattern::Bind(var) => new(var),
        Pattern::Tuple(items) | Pattern::Data { fields: items, .. } | Pattern::Or(items) => {
            items.iter_mut().for_each(|item| replace_bound(item, names));
        }
        Pattern::Array { before, rest, after } => {
            before.iter_mut().for_each(|item| replace_bound(item, names));
            rest.iter_mut().flatten().for_each(new);
            after.iter_mut().for_each(|item| replace_bound(item, names));
        }
        Pattern::At(var, inner) => {
            new(var);
            replace_bound(inner, names);
        }
    }
}
