//! What a match says about an integer.

use super::{Path, is_integer};
use crate::check::state::{Build, Index};
use ein_ir::size;
use ein_ir::tensor::{Expr, ExprKind, Pattern};
use ein_scalar::Scalar;

/// Adds that a value matches a pattern; whether that was said completely.
pub(super) fn matches_on(
    ix: &mut Index,
    build: &Build,
    pattern: &Pattern,
    value: &Expr,
    path: &mut Path,
) -> bool {
    match pattern {
        Pattern::Wild => true,
        Pattern::Bind(var) => {
            if is_integer(&value.ty)
                && let Some(own) = ix.var_sizes.get(var).cloned()
            {
                let value = super::size_on(ix, build, value, path);
                path.facts.eq(&own, &value);
            }
            true
        }
        Pattern::At(var, inner) => {
            matches_on(ix, build, &Pattern::Bind(*var), value, path)
                && matches_on(ix, build, inner, value, path)
        }
        Pattern::Literal(literal) => match scrutinee(ix, build, value, Some(literal), path) {
            Some((value, literal)) => {
                path.facts.eq(&value, &literal);
                !super::is_opaque(&value, path)
            }
            None => false,
        },
        Pattern::Range { lo, hi, inclusive } => {
            let mut said = true;
            for (bound, low) in [(lo, true), (hi, false)] {
                let Some(bound) = bound else { continue };
                match scrutinee(ix, build, value, Some(bound), path) {
                    Some((value, bound)) if low => path.facts.le(&bound, &value),
                    Some((value, bound)) if *inclusive => path.facts.le(&value, &bound),
                    Some((value, bound)) => path.facts.lt(&value, &bound),
                    None => said = false,
                }
            }
            said
        }
        Pattern::Tuple(items) => match &*value.kind {
            ExprKind::Tuple(values) => items
                .iter()
                .zip(values)
                .fold(true, |said, (item, value)| matches_on(ix, build, item, value, path) && said),
            _ => false,
        },
        _ => false,
    }
}

/// Adds that a value does not match a pattern; whether that was said completely.
pub(super) fn differs_on(
    ix: &mut Index,
    build: &Build,
    pattern: &Pattern,
    value: &Expr,
    path: &mut Path,
) -> bool {
    match pattern {
        Pattern::Literal(literal) => match scrutinee(ix, build, value, Some(literal), path) {
            Some((value, literal)) => {
                path.facts.ne0(value.sub(&literal));
                !super::is_opaque(&value, path)
            }
            None => false,
        },
        Pattern::Or(items) => {
            {
                // Every item adds what it says, also after one that does not say all.
                let said: Vec<bool> =
                    items.iter().map(|item| differs_on(ix, build, item, value, path)).collect();
                said.into_iter().all(|said| said)
            }
        }
        Pattern::At(_, inner) => differs_on(ix, build, inner, value, path),
        Pattern::Range { lo: None, hi: Some(hi), inclusive } => {
            match scrutinee(ix, build, value, Some(hi), path) {
                Some((value, hi)) => {
                    let first = if *inclusive { hi.offset(1) } else { hi };
                    path.facts.le(&first, &value);
                    !super::is_opaque(&value, path)
                }
                None => false,
            }
        }
        Pattern::Range { lo: Some(lo), hi: None, .. } => {
            match scrutinee(ix, build, value, Some(lo), path) {
                Some((value, lo)) => {
                    path.facts.lt(&value, &lo);
                    !super::is_opaque(&value, path)
                }
                None => false,
            }
        }
        Pattern::Tuple(items) => {
            let ExprKind::Tuple(values) = &*value.kind else { return false };
            let wild = |item: &Pattern| matches!(item, Pattern::Wild | Pattern::Bind(_));
            let mut open = items.iter().zip(values).filter(|(item, _)| !wild(item));
            match (open.next(), open.next()) {
                (Some((item, value)), None) => differs_on(ix, build, item, value, path),
                _ => false,
            }
        }
        _ => false,
    }
}

fn scrutinee(
    ix: &mut Index,
    build: &Build,
    value: &Expr,
    literal: Option<&Scalar>,
    path: &mut Path,
) -> Option<(size::Expr, size::Expr)> {
    if !is_integer(&value.ty) {
        return None;
    }
    let literal = size::Expr::constant(literal?.as_i64()?);
    Some((super::size_on(ix, build, value, path), literal))
}
