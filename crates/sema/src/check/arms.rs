//! `match`: arms that agree on a type, and what matching tells each of them.

use super::pattern::Matched;
use super::state::{Index, Report};
use super::{Cx, choice, exhaustive, expr, infer, layouts, literal, pattern, stmt, vars, widen};
use crate::hir::{self, ExprId};
use ein_base::{Label, Span};
use ein_ir::size::{self, Facts};
use ein_ir::tensor::{Arm, Expr, ExprKind, Pattern, Type};
use ein_scalar::Scalar;

/// How many of the arms above are asked what their failure tells.
const LOOK_BACK: usize = 64;

/// A set of integers: disjoint intervals with both ends, in order.
type Intervals = Vec<(i128, i128)>;

/// One thing that a pattern tests.
enum Test<'e> {
    /// An integer lies in a set, out of all that it can be.
    Size(size::Expr, Intervals, (i128, i128)),
    /// A condition has this value.
    Condition(&'e Expr, bool),
}

pub(super) fn match_expr(
    cx: &mut Cx,
    scrutinee: ExprId,
    arms: &[hir::Arm],
    want: Option<&Type>,
    span: Span,
) -> Expr {
    let statement = std::mem::take(&mut cx.infer.f.statement);
    let value = expr::expr(cx, scrutinee, None);
    let ty = value.ty.clone();
    let mut matched = Vec::new();
    let reported = cx.report.diagnostics.len();
    for arm in arms {
        // What the pattern binds is seen by its own arm only.
        let extents = cx.ix.f.extents.len();
        matched.push(pattern::match_pattern(cx, &arm.pat, &ty, Some(&value)));
        cx.ix.f.extents.truncate(extents);
    }
    let broken = ty == Type::Error || matched.iter().any(|arm| arm.broken);
    if !broken {
        let at = span.until(value.span.hi().max(span.lo()));
        exhaustive::check_exhaustive(cx, &ty, arms, &matched, at);
    }
    show_matched(&cx.ix, &mut cx.report, &value, reported);
    let mut guards: Vec<Option<Expr>> = Vec::new();
    for (position, arm) in arms.iter().enumerate() {
        let guard = arm.guard.map(|guard| {
            vars::scoped(cx, |cx| {
                enter_arm(&mut cx.ix, &value, &matched, &guards, position);
                expr::condition(cx, guard, "a guard")
            })
        });
        guards.push(guard);
    }
    for arm in &mut matched {
        arm.statement = statement;
    }
    let written = expr::branch::is_written(cx.hir, scrutinee);
    if let Some(at) = known_arm(&value, &matched, &guards).filter(|_| !written && !broken) {
        // Ranks and types are known here; the arms that cannot be are not checked.
        let made = arm_value(cx, &value, &matched, &guards, at, arms[at].body, want);
        let (ty, pattern) = (made.ty.clone(), matched.swap_remove(at).pattern);
        let pattern = if let Pattern::Bind(_) = pattern { pattern } else { Pattern::Wild };
        let arms = vec![Arm { pattern, guard: None, value: made }];
        return Expr::new(ExprKind::Match { value, arms }, ty, span);
    }
    let mut values = arm_values(cx, &value, arms, &matched, &guards, want);
    widen::widen_all(&mut cx.ix, &mut cx.build, &mut cx.report, &mut values);
    let number = |at: Vec<Expr>| {
        let tests =
            matched.iter().zip(&guards).map(|(it, guard)| (it.pattern.clone(), guard.clone()));
        let arms = tests.zip(at).map(|((pattern, guard), value)| Arm { pattern, guard, value });
        ExprKind::Match { value: value.clone(), arms: arms.collect() }
    };
    let Cx { infer, ix, build, report, .. } = cx;
    let all: Vec<&Expr> = values.iter().collect();
    if let Some(chosen) = choice::choose_function(infer, ix, build, report, &all, number, span) {
        return chosen;
    }
    let what = "the arms of this `match`";
    let Some(ty) = layouts::join_values(&mut cx.ix, &mut cx.report, &values, what) else {
        return Expr::error(span);
    };
    let parts = matched.into_iter().zip(guards).zip(values);
    let arms = parts
        .map(|((matched, guard), value)| Arm {
            pattern: matched.pattern,
            guard,
            value: complete(value, &ty),
        })
        .collect();
    Expr::new(ExprKind::Match { value, arms }, ty, span)
}

/// The arm that a value takes which is a constant, if the patterns above it tell.
fn known_arm(value: &Expr, matched: &[Matched], guards: &[Option<Expr>]) -> Option<usize> {
    for (at, (arm, guard)) in matched.iter().zip(guards).enumerate() {
        match (takes(&arm.pattern, &value.kind)?, guard) {
            (true, None) => return Some(at),
            (true, Some(_)) => return None,
            (false, _) => {}
        }
    }
    None
}

fn takes(pattern: &Pattern, value: &ExprKind) -> Option<bool> {
    match (pattern, value) {
        (_, ExprKind::Const(_) | ExprKind::Str(_))
            if matches!(pattern, Pattern::Wild | Pattern::Bind(_)) =>
        {
            Some(true)
        }
        (Pattern::Literal(literal), ExprKind::Const(value)) => Some(literal == value),
        (Pattern::Str(literal), ExprKind::Str(value)) => Some(literal == value),
        (Pattern::Or(items), _) => {
            items.iter().try_fold(false, |any, item| Some(takes(item, value)? || any))
        }
        _ => None,
    }
}

/// Points the errors in patterns, all those from a number on, at the value that is matched.
fn show_matched(ix: &Index, report: &mut Report, value: &Expr, reported: usize) {
    let text = format!("this is `{}`", ix.show(&value.ty));
    for diagnostic in report.diagnostics[reported..].iter_mut().filter(|it| it.is_error()) {
        diagnostic.labels.push(Label { span: value.span, text: text.clone() });
    }
}

/// The values of all arms; literals take the type of the others.
fn arm_values(
    cx: &mut Cx,
    value: &Expr,
    arms: &[hir::Arm],
    matched: &[Matched],
    guards: &[Option<Expr>],
    want: Option<&Type>,
) -> Vec<Expr> {
    let classes: Vec<_> = arms.iter().map(|arm| literal::literal_class(cx.hir, arm.body)).collect();
    let mut values: Vec<Option<Expr>> = arms.iter().map(|_| None).collect();
    let mut empty: Vec<bool> = arms.iter().map(|arm| cx.infer.has_nothing(arm.body)).collect();
    if want.is_none() && !empty.contains(&true) {
        empty = arms.iter().map(|arm| expr::branch::is_open_record(cx.hir, arm.body)).collect();
    }
    for (position, arm) in arms.iter().enumerate() {
        if classes[position].is_none() && !empty[position] {
            let body = arm_value(cx, value, matched, guards, position, arm.body, want);
            values[position] = Some(body);
        }
    }
    let other = super::host::widest(values.iter().flatten());
    let class = classes.iter().copied().flatten().max();
    let literal = class.map(|class| Type::Scalar(literal::literal_type(class, want)));
    for (position, arm) in arms.iter().enumerate() {
        if classes[position].is_some() && !empty[position] {
            let hint = match &other {
                Some(other) => expr::branch::literal_hint(classes[position], other, want),
                None => literal.clone(),
            };
            let hint = hint.as_ref();
            let body = arm_value(cx, value, matched, guards, position, arm.body, hint);
            values[position] = Some(body);
        }
    }
    // `[]` takes the type of another arm.
    let found = values.iter().zip(arms).filter_map(|(value, arm)| Some((value.as_ref()?, arm)));
    let example = found.min_by_key(|(value, _)| value.ty.has_error());
    let example = example.map(|(value, arm)| (arm.body, value.ty.clone()));
    for (position, arm) in arms.iter().enumerate().filter(|(position, _)| empty[*position]) {
        let hint = match &example {
            Some((other, ty)) => Some(infer::nothing_hint(&cx.infer, &cx.ix, arm.body, *other, ty)),
            None => want.cloned(),
        };
        let body = arm_value(cx, value, matched, guards, position, arm.body, hint.as_ref());
        values[position] = Some(body);
    }
    values.into_iter().flatten().collect()
}

/// The value of one arm, under what matching says.
fn arm_value(
    cx: &mut Cx,
    value: &Expr,
    matched: &[Matched],
    guards: &[Option<Expr>],
    position: usize,
    body: ExprId,
    want: Option<&Type>,
) -> Expr {
    let mut body = vars::scoped(cx, |cx| {
        enter_arm(&mut cx.ix, value, matched, guards, position);
        cx.infer.f.statement = matched[position].statement;
        expr::expr(cx, body, want)
    });
    let bound = &matched[position].bound;
    body.ty = cx.ix.forget_vars(body.ty, &|var| bound.contains(&var));
    body
}

/// The scope of an arm: the coordinates of what it binds, and what is known in it.
fn enter_arm(
    ix: &mut Index,
    value: &Expr,
    matched: &[Matched],
    guards: &[Option<Expr>],
    position: usize,
) {
    for var in &matched[position].bound {
        let var = ix.vars[*var].clone();
        stmt::declare_extents(ix, var.name, var.span, &var.ty);
    }
    let above = matched[..position].iter().zip(guards);
    let above = above.map(|(matched, guard)| (&matched.pattern, guard.as_ref()));
    let guard = guards.get(position).and_then(Option::as_ref);
    assume_arm(ix, value, above, (&matched[position].pattern, guard));
}

// ---------------------------------------------------------------- what an arm knows

/// Adds what is known where a value matches `pattern` and none of the arms above, each with
/// its guard.
pub(super) fn assume_arm<'e>(
    ix: &mut Index,
    value: &'e Expr,
    above: impl Iterator<Item = (&'e Pattern, Option<&'e Expr>)>,
    (pattern, guard): (&Pattern, Option<&Expr>),
) {
    let mut taken = std::mem::take(&mut ix.f.facts);
    let facts = &mut taken;
    let mut own = Vec::new();
    pattern_tests(ix, value, pattern, &mut own);
    let mut known: Vec<(size::Expr, Intervals)> = Vec::new();
    for test in own {
        match test {
            Test::Size(size, allowed, _) => known.push((size, allowed)),
            Test::Condition(cond, holds) => {
                ix.assume(cond, holds, facts);
            }
        }
    }
    for (pattern, guard) in above.take(LOOK_BACK) {
        let mut tests = Vec::new();
        let complete = pattern_tests(ix, value, pattern, &mut tests);
        match (complete, tests.as_slice(), guard) {
            (true, [], Some(guard)) => {
                ix.assume(guard, false, facts);
            }
            (true, [Test::Condition(cond, holds)], None) => {
                ix.assume(cond, !holds, facts);
            }
            (true, [Test::Size(size, taken, all)], None) => {
                let entry = match known.iter().position(|(other, _)| other == size) {
                    Some(at) => &mut known[at].1,
                    None => {
                        known.push((size.clone(), vec![*all]));
                        let last = known.len() - 1;
                        &mut known[last].1
                    }
                };
                *entry = without(entry, taken);
            }
            _ => {}
        }
    }
    for (size, allowed) in known {
        assume_in(&size, &allowed, facts);
    }
    if let Some(guard) = guard {
        ix.assume(guard, true, facts);
    }
    ix.f.facts = taken;
}

/// Collects what a pattern tests; returns whether that is all it tests.
fn pattern_tests<'e>(
    ix: &Index,
    value: &'e Expr,
    pattern: &Pattern,
    found: &mut Vec<Test<'e>>,
) -> bool {
    match pattern {
        Pattern::Wild | Pattern::Bind(_) => true,
        Pattern::At(_, inner) => pattern_tests(ix, value, inner, found),
        Pattern::Literal(Scalar::Bool(holds)) => {
            found.push(Test::Condition(value, *holds));
            true
        }
        Pattern::Literal(literal) => {
            let range = literal.as_i128().map(|at| (at, at));
            integer_test(ix, value, range, found)
        }
        Pattern::Range { lo, hi, inclusive } => {
            let range = value.ty.scalar().and_then(|ty| ty.int_range()).and_then(|all| {
                let lo = lo.map_or(Some(all.0), Scalar::as_i128)?;
                let last = |hi: Scalar| Some(hi.as_i128()? - i128::from(!*inclusive));
                Some((lo, hi.map_or(Some(all.1), last)?))
            });
            integer_test(ix, value, range, found)
        }
        Pattern::Tuple(items) => match &*value.kind {
            ExprKind::Tuple(values) => items
                .iter()
                .zip(values)
                .fold(true, |all, (item, value)| pattern_tests(ix, value, item, found) && all),
            _ => items.iter().all(trivial),
        },
        Pattern::Array { before, rest, after } => {
            let count = (before.len() + after.len()) as i128;
            let Some(axis) = value.ty.axes().first() else { return false };
            if ix.unsettled(&axis.size).is_some() {
                return false;
            }
            let last = if rest.is_some() { i128::from(i64::MAX) } else { count };
            let all = (0, i128::from(i64::MAX));
            found.push(Test::Size(axis.size.clone(), vec![(count, last)], all));
            before.iter().chain(after).all(trivial)
        }
        Pattern::Or(items) => any_of(ix, value, items, found),
        Pattern::Str(_) | Pattern::Data { .. } => false,
    }
}

fn integer_test<'e>(
    ix: &Index,
    value: &'e Expr,
    range: Option<(i128, i128)>,
    found: &mut Vec<Test<'e>>,
) -> bool {
    let all = value.ty.scalar().and_then(|ty| ty.int_range());
    match (ix.to_size(value), range, all) {
        (Some(size), Some(range), Some(all)) => {
            found.push(Test::Size(size, vec![range], all));
            true
        }
        _ => false,
    }
}

/// Alternatives that all test one integer are one set.
fn any_of<'e>(ix: &Index, value: &'e Expr, items: &[Pattern], found: &mut Vec<Test<'e>>) -> bool {
    let mut union: Option<(size::Expr, Intervals, (i128, i128))> = None;
    for item in items {
        let mut tests = Vec::new();
        let complete = pattern_tests(ix, value, item, &mut tests);
        match (complete, tests.pop(), tests.is_empty()) {
            (true, Some(Test::Size(size, intervals, all)), true) => match &mut union {
                None => union = Some((size, intervals, all)),
                Some((known, set, _)) if *known == size => set.extend(intervals),
                Some(_) => return false,
            },
            _ => return items.iter().any(trivial),
        }
    }
    if let Some((size, set, all)) = union {
        found.push(Test::Size(size, joined(set), all));
    }
    true
}

/// A value whose type its context completes: `Option::None` beside an `Option<i32>`.
pub(super) fn complete(value: Expr, ty: &Type) -> Expr {
    let mut value = value;
    if value.ty.has_error() && !matches!(&*value.kind, ExprKind::Error) {
        value.ty = completed(&value.ty, ty);
    }
    value
}

/// A type with what it leaves open as another one says, which may be that of its elements.
fn completed(open: &Type, ty: &Type) -> Type {
    match (open, ty) {
        (Type::Error, ty) => ty.clone(),
        (Type::Array(open), ty) => {
            let elem = if let Type::Array(ty) = ty { &ty.elem } else { ty };
            Type::array(completed(&open.elem, elem), open.axes.clone())
        }
        (Type::Tuple(open), Type::Tuple(items)) if open.len() == items.len() => {
            Type::Tuple(open.iter().zip(items).map(|(open, ty)| completed(open, ty)).collect())
        }
        (Type::Data(id, open), Type::Data(other, args)) if id == other => {
            Type::Data(*id, open.iter().zip(args).map(|(open, ty)| completed(open, ty)).collect())
        }
        (Type::AnyRank(open), Type::AnyRank(ty)) => Type::AnyRank(Box::new(completed(open, ty))),
        (Type::Jagged(open, depth), Type::Jagged(ty, _)) => {
            Type::Jagged(Box::new(completed(open, ty)), *depth)
        }
        _ => open.clone(),
    }
}

/// Whether a pattern matches every value.
fn trivial(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::Wild | Pattern::Bind(_) => true,
        Pattern::At(_, inner) => trivial(inner),
        Pattern::Tuple(items) => items.iter().all(trivial),
        Pattern::Or(items) => items.iter().any(trivial),
        Pattern::Array { before, rest, after } => {
            rest.is_some() && before.is_empty() && after.is_empty()
        }
        Pattern::Literal(_) | Pattern::Str(_) | Pattern::Range { .. } | Pattern::Data { .. } => {
            false
        }
    }
}

/// The same set with its intervals in order and apart.
fn joined(mut set: Intervals) -> Intervals {
    set.sort_unstable();
    let mut result: Intervals = Vec::new();
    for (lo, hi) in set {
        match result.last_mut() {
            Some(last) if lo <= last.1.saturating_add(1) => last.1 = last.1.max(hi),
            _ => result.push((lo, hi)),
        }
    }
    result
}

/// What is in one set and not in the other.
fn without(set: &Intervals, taken: &Intervals) -> Intervals {
    let mut left = set.clone();
    for (from, to) in taken {
        left = left
            .into_iter()
            .flat_map(|(lo, hi)| [(lo, hi.min(from - 1)), (lo.max(to + 1), hi)])
            .filter(|(lo, hi)| lo <= hi)
            .collect();
    }
    left
}

/// Adds that an integer lies in a set, as far as facts can say it.
fn assume_in(size: &size::Expr, allowed: &Intervals, facts: &mut Facts) {
    // The ends of the type say nothing that is not known.
    let constant = |value: i128| match i32::try_from(value) {
        Ok(i32::MIN | i32::MAX) | Err(_) => None,
        Ok(value) => Some(size::Expr::constant(i64::from(value))),
    };
    let (Some(first), Some(last)) = (allowed.first(), allowed.last()) else { return };
    let (lo, hi) = (constant(first.0), constant(last.1));
    match (first.0 == last.1, lo, hi) {
        (true, Some(value), _) => facts.eq(size, &value),
        (_, lo, hi) => {
            if let Some(lo) = lo {
                facts.le(&lo, size);
            }
            if let Some(hi) = hi {
                facts.le(size, &hi);
            }
        }
    }
    for pair in allowed.windows(2) {
        if let [(_, before), (after, _)] = pair
            && before + 2 == *after
            && let Some(hole) = constant(before + 1)
        {
            facts.ne0(size.sub(&hole));
        }
    }
}
