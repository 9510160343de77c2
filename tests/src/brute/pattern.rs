//! Patterns.

use super::value::V;
use super::{Brute, Result, arith, unknown};
use ein_syntax::ast::{PatId, PatKind};

impl Brute<'_> {
    /// Whether a value matches; its bindings stay also where it does not.
    pub(super) fn matches(&mut self, pat: PatId, value: &V) -> Result<bool> {
        let ast = self.ast;
        Ok(match &ast.pat[pat].kind {
            PatKind::Wild => true,
            PatKind::Bind { name, .. } => {
                self.env.push((name.sym, value.clone()));
                true
            }
            PatKind::Literal(literal) => {
                let literal = self.eval(*literal)?;
                arith::compare(&literal, value)?.is_eq()
            }
            PatKind::Range { lo, hi, inclusive } => {
                let mut inside = true;
                if let Some(lo) = lo {
                    let lo = self.eval(*lo)?;
                    inside = arith::compare(&lo, value)?.is_le();
                }
                if let Some(hi) = hi {
                    let order = arith::compare(value, &self.eval(*hi)?)?;
                    inside = inside && (order.is_lt() || (*inclusive && order.is_eq()));
                }
                inside
            }
            PatKind::Tuple(pats) => {
                let V::Tuple(items) = value else { return unknown("a tuple pattern") };
                pats.len() == items.len() && self.all_match(pats, items)?
            }
            PatKind::Array { before, rest, after } => {
                let V::Arr(items) = value else { return unknown("an array pattern") };
                let fixed = before.len() + after.len();
                if items.len() < fixed || (rest.is_none() && items.len() > fixed) {
                    return Ok(false);
                }
                let end = items.len() - after.len();
                if let Some(name) = rest.as_ref().and_then(|rest| rest.name) {
                    let rest = items[before.len()..end].to_vec();
                    self.env.push((name.sym, V::list(rest)));
                }
                self.all_match(before, items)? && self.all_match(after, &items[end..])?
            }
            PatKind::Path(path) => {
                let V::Data(which, _) = value else { return unknown("a variant pattern") };
                path.last().is_some_and(|last| last.sym == *which)
            }
            PatKind::Variant { path, args } => {
                let V::Data(which, fields) = value else { return unknown("a variant pattern") };
                let items: Vec<V> = fields.iter().map(|field| field.1.clone()).collect();
                path.last().is_some_and(|last| last.sym == *which)
                    && self.all_match(args, &items)?
            }
            PatKind::Struct { path, fields, .. } => {
                let V::Data(which, values) = value else { return unknown("a struct pattern") };
                if path.last().is_none_or(|last| last.sym != *which) {
                    return Ok(false);
                }
                for (name, pat) in fields {
                    let Some((_, value)) = values.iter().find(|it| it.0 == name.sym) else {
                        return unknown("a field of a pattern");
                    };
                    if !self.matches(*pat, value)? {
                        return Ok(false);
                    }
                }
                true
            }
            PatKind::Or(pats) => {
                for pat in pats {
                    let mark = self.env.len();
                    if self.matches(*pat, value)? {
                        return Ok(true);
                    }
                    self.env.truncate(mark);
                }
                false
            }
            PatKind::At(name, pat) => {
                self.env.push((name.sym, value.clone()));
                self.matches(*pat, value)?
            }
            PatKind::Error => return unknown("a pattern"),
        })
    }

    fn all_match(&mut self, pats: &[PatId], items: &[V]) -> Result<bool> {
        for (pat, item) in pats.iter().zip(items) {
            if !self.matches(*pat, item)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
