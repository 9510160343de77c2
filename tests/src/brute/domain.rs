//! Ranges that are not written, found by trying every index.

use super::names::{children, mentioned, name};
use super::value::V;
use super::{Brute, Result, unknown};
use ein_base::Symbol;
use ein_syntax::ast::{BinaryOp, ExprId, ExprKind, SlotKind, WhereItem};
use std::collections::HashMap;

/// Indices up to here are tried.
const LIMIT: i64 = 48;

/// An index variable with its domain, if it has one.
pub(super) type Binder = (Symbol, Option<ExprId>);

/// What an expression says about its index variables.
#[derive(Default)]
struct Survey {
    /// Outer ones first.
    binders: Vec<Binder>,
    /// Names bound by `where`.
    bound: HashMap<Symbol, ExprId>,
    reads: Vec<Read>,
}

/// An index at an axis.
struct Read {
    slot: ExprId,
    extent: i64,
    /// Whether it happens at every point.
    always: bool,
}

impl Brute<'_> {
    /// The range of each index variable without a domain, of `outer` and of the reductions in
    /// `exprs`.
    pub(super) fn infer(
        &mut self,
        outer: &[Binder],
        exprs: &[ExprId],
    ) -> Result<Vec<(Symbol, i64, i64)>> {
        let mut survey = Survey { binders: outer.to_vec(), ..Survey::default() };
        for e in exprs {
            self.survey(*e, true, &mut survey);
        }
        let unsolved: Vec<Symbol> =
            survey.binders.iter().filter(|it| it.1.is_none()).map(|it| it.0).collect();
        let mut ranges: HashMap<Symbol, (i64, i64)> = HashMap::new();
        for var in &unsolved {
            let direct = |always: bool| {
                let here = survey.reads.iter().filter(|read| read.always || !always);
                let here = here.filter(|read| name(self.ast, read.slot) == Some(*var));
                here.map(|read| read.extent).min()
            };
            if let Some(extent) = direct(true).or_else(|| direct(false)) {
                ranges.insert(*var, (0, extent));
            }
        }
        // Twice: what has direct reads first, then what depends on it.
        let (with, without): (Vec<Symbol>, Vec<Symbol>) =
            unsolved.iter().partition(|var| ranges.contains_key(var));
        for var in with.iter().chain(&without).chain(&without) {
            let known = ranges.get(var).copied();
            if let Some(range) = self.narrow(*var, known, &survey, &ranges)? {
                ranges.insert(*var, range);
            }
        }
        unsolved
            .iter()
            .filter_map(|var| ranges.get(var).map(|(lo, hi)| Ok((*var, *lo, *hi))))
            .collect()
    }

    fn survey(&mut self, e: ExprId, always: bool, survey: &mut Survey) {
        let ast = self.ast;
        let below = children(ast, e);
        match &ast.expr[e].kind {
            ExprKind::BracketCall { slots, .. } => {
                for slot in slots {
                    match &slot.kind {
                        SlotKind::Expr(e) => {
                            survey.binders.extend(name(ast, *e).map(|name| (name, None)));
                        }
                        SlotKind::Domain { name, domain } => {
                            survey.binders.push((name.sym, Some(*domain)));
                        }
                        _ => {}
                    }
                }
            }
            ExprKind::Index { base, slots } => {
                let shape = self.known_shape(*base, survey);
                let rigid = slots.iter().filter(|s| !matches!(s.kind, SlotKind::Pack(_))).count();
                let mut axis = 0;
                for slot in slots {
                    match &slot.kind {
                        SlotKind::Expr(e) => {
                            if let Some(extent) = shape.get(axis) {
                                let extent = *extent as i64;
                                survey.reads.push(Read { slot: *e, extent, always });
                            }
                            axis += 1;
                        }
                        _ => axis += shape.len().saturating_sub(rigid),
                    }
                }
            }
            ExprKind::If { cond, .. } => {
                self.survey(*cond, always, survey);
                below[1..].iter().for_each(|e| self.survey(*e, false, survey));
                return;
            }
            ExprKind::Match { scrutinee, .. } => {
                self.survey(*scrutinee, always, survey);
                below[1..].iter().for_each(|e| self.survey(*e, false, survey));
                return;
            }
            ExprKind::Binary(BinaryOp::And | BinaryOp::Or, a, b) => {
                self.survey(*a, always, survey);
                self.survey(*b, false, survey);
                return;
            }
            ExprKind::Where { items, .. } => {
                let mut always = always;
                for item in items {
                    match item {
                        WhereItem::Binding(name, value) => {
                            survey.bound.insert(name.sym, *value);
                        }
                        WhereItem::Guard(_) => always = false,
                    }
                }
                below.into_iter().for_each(|e| self.survey(e, always, survey));
                return;
            }
            _ => {}
        }
        below.into_iter().for_each(|e| self.survey(e, always, survey));
    }

    /// The shape of what is indexed, if it has a value before the indices have one.
    fn known_shape(&mut self, base: ExprId, survey: &Survey) -> Vec<usize> {
        if let ExprKind::Index { base, slots } = &self.ast.expr[base].kind {
            // `a[i][j]` is `a[i, j]`.
            let shape = self.known_shape(*base, survey);
            return shape.get(slots.len()..).unwrap_or_default().to_vec();
        }
        let names = mentioned(self.ast, base);
        let depends = survey.binders.iter().any(|(var, _)| names.contains(var));
        if depends || names.iter().any(|name| matches!(self.find(*name), None | Some(V::Lazy(_)))) {
            return Vec::new();
        }
        self.eval(base).map(|value| value.shape()).unwrap_or_default()
    }

    /// The indices at which every read with `var` inside arithmetic is in bounds.
    fn narrow(
        &mut self,
        var: Symbol,
        known: Option<(i64, i64)>,
        survey: &Survey,
        ranges: &HashMap<Symbol, (i64, i64)>,
    ) -> Result<Option<(i64, i64)>> {
        let usable = self.usable(var, true, survey, ranges);
        // Where nothing else is known, also reads under a condition count.
        let usable = match known {
            None if usable.is_empty() => self.usable(var, false, survey, ranges),
            _ => usable,
        };
        if usable.is_empty() {
            return Ok(known);
        }
        let (from, to) = known.unwrap_or((0, LIMIT));
        let (mut lo, mut hi) = (None, from);
        for at in from..to {
            let mark = self.env.len();
            self.env.push((var, V::index(at)));
            let mut fits = true;
            for (read, others) in &usable {
                fits = fits && self.fits(read, others, survey, ranges)?;
            }
            self.env.truncate(mark);
            if fits {
                lo = lo.or(Some(at));
                hi = at + 1;
            }
        }
        if hi == LIMIT && known.is_none() {
            return unknown("a range without an end");
        }
        Ok(Some((lo.unwrap_or(from), hi)))
    }

    /// The reads with `var` inside arithmetic whose other indices have ranges.
    fn usable<'s>(
        &self,
        var: Symbol,
        always: bool,
        survey: &'s Survey,
        ranges: &HashMap<Symbol, (i64, i64)>,
    ) -> Vec<(&'s Read, Vec<Binder>)> {
        let mut usable: Vec<(&Read, Vec<Binder>)> = Vec::new();
        for read in survey.reads.iter().filter(|read| read.always || !always) {
            if name(self.ast, read.slot) == Some(var) || !self.is_arithmetic(read.slot, survey) {
                continue;
            }
            let vars = self.variables(read.slot, survey);
            if !vars.iter().any(|it| it.0 == var) {
                continue;
            }
            let others: Vec<Binder> = vars.into_iter().filter(|it| it.0 != var).collect();
            if others.iter().all(|(name, domain)| domain.is_some() || ranges.contains_key(name)) {
                usable.push((read, others));
            }
        }
        usable
    }

    /// Whether an index is built of indices and numbers only.
    fn is_arithmetic(&self, e: ExprId, survey: &Survey) -> bool {
        match &self.ast.expr[e].kind {
            ExprKind::Index { .. } | ExprKind::Call { .. } | ExprKind::BracketCall { .. } => false,
            ExprKind::Binary(BinaryOp::Rem, ..) | ExprKind::Cast(..) | ExprKind::If { .. } => false,
            ExprKind::Path(path) => {
                let bound = survey.bound.get(&path[0].sym);
                bound.is_none_or(|value| self.is_arithmetic(*value, survey))
            }
            _ => children(self.ast, e).into_iter().all(|e| self.is_arithmetic(e, survey)),
        }
    }

    /// The index variables that an index depends on, outer ones first.
    fn variables(&self, e: ExprId, survey: &Survey) -> Vec<Binder> {
        let mut names = mentioned(self.ast, e);
        loop {
            let before = names.len();
            for (name, value) in &survey.bound {
                if names.contains(name) {
                    names.extend(mentioned(self.ast, *value));
                }
            }
            for (var, domain) in &survey.binders {
                if let Some(domain) = domain
                    && names.contains(var)
                {
                    names.extend(mentioned(self.ast, *domain));
                }
            }
            if names.len() == before {
                break;
            }
        }
        survey.binders.iter().filter(|it| names.contains(&it.0)).copied().collect()
    }

    /// Whether a read is in bounds for all values of the other indices.
    fn fits(
        &mut self,
        read: &Read,
        others: &[Binder],
        survey: &Survey,
        ranges: &HashMap<Symbol, (i64, i64)>,
    ) -> Result<bool> {
        let Some(((other, domain), rest)) = others.split_first() else {
            let mark = self.env.len();
            let bound: Vec<(Symbol, ExprId)> = survey.bound.iter().map(|(n, e)| (*n, *e)).collect();
            // A binding may need another one: as many rounds as there are bindings.
            for _ in 0..bound.len() {
                for (name, value) in &bound {
                    if let Ok(value) = self.eval(*value) {
                        self.env.push((*name, value));
                    }
                }
            }
            let index = self.eval(read.slot).and_then(|index| index.int());
            self.env.truncate(mark);
            return Ok((0..read.extent).contains(&index?));
        };
        let (lo, hi) = match domain {
            Some(domain) => self.domain(*domain)?,
            None => ranges[other],
        };
        let mark = self.env.len();
        for at in lo..hi {
            self.env.push((*other, V::index(at)));
            let fits = self.fits(read, rest, survey, ranges);
            self.env.truncate(mark);
            if !fits? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A domain as written.
    pub(super) fn domain(&mut self, e: ExprId) -> Result<(i64, i64)> {
        match self.eval(e)? {
            V::Range(lo, hi) => Ok((lo as i64, hi as i64)),
            other => unknown(format!("the domain {other:?}")),
        }
    }
}
