//! The Omega test: whether a system of linear integer constraints has a solution.
//!
//! Equalities are removed by unimodular substitutions, inequalities by Fourier–Motzkin elimination,
//! which is exact where one of the two coefficients is 1. Elsewhere the real shadow refutes, a point
//! of it that extends or the dark shadow confirms, and splinters decide what is left between.
//! Complete but for the budget and coefficients that leave `i64`.

use super::facts::Budget;
use super::row::{Point, Row, Tight};

/// More rows than this are not worked on.
const MAX_ROWS: usize = 600;

/// What became of a system.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Unsat,
    Sat(Point),
    Unknown,
}

/// Rows `== 0` and rows `>= 0` over columns below `next`.
#[derive(Clone, Debug, Default)]
pub(super) struct Linear {
    pub(super) equal: Vec<Row>,
    pub(super) at_least: Vec<Row>,
    pub(super) next: u32,
}

/// How the value of a removed column is found again.
enum Step {
    /// It is this row.
    Is(u32, Row),
    /// Anything that these rows allow.
    Within(u32, Vec<Row>),
}

/// Why the reduction stopped early.
enum Stop {
    Unsat,
    GiveUp,
}

/// Finds an integer point of the system, or shows that there is none.
pub(super) fn solve(mut system: Linear, budget: &mut Budget) -> Outcome {
    let mut steps = Vec::new();
    let point = loop {
        match reduce(&mut system, &mut steps, budget) {
            Ok(()) => {}
            Err(Stop::Unsat) => return Outcome::Unsat,
            Err(Stop::GiveUp) => return Outcome::Unknown,
        }
        let Some(choice) = Choice::best(&system) else { break Point::default() };
        if choice.exact {
            match eliminate(&mut system, choice.column, 0, budget) {
                Ok(rows) => steps.push(Step::Within(choice.column, rows)),
                Err(Stop::Unsat) => return Outcome::Unsat,
                Err(Stop::GiveUp) => return Outcome::Unknown,
            }
        } else {
            match inexact(&system, choice.column, budget) {
                Outcome::Sat(point) => break point,
                other @ (Outcome::Unsat | Outcome::Unknown) => return other,
            }
        }
    };
    replay(point, &steps).map_or(Outcome::Unknown, Outcome::Sat)
}

fn replay(mut point: Point, steps: &[Step]) -> Option<Point> {
    for step in steps.iter().rev() {
        let (column, value) = match step {
            Step::Is(column, row) => (*column, i64::try_from(row.value_at(&point)?).ok()?),
            Step::Within(column, rows) => (*column, pick(*column, rows, &point)?),
        };
        point.set(column, value);
    }
    Some(point)
}

/// The value nearest to 0 that the rows allow for the column at a point of the others.
fn pick(column: u32, rows: &[Row], point: &Point) -> Option<i64> {
    let (mut low, mut high) = (i128::from(i64::MIN), i128::from(i64::MAX));
    let mut others = point.clone();
    others.set(column, 0);
    for row in rows {
        let coefficient = i128::from(row.coefficient(column));
        let rest = row.value_at(&others)?;
        if coefficient > 0 {
            low = low.max(-rest.div_euclid(coefficient));
        } else if coefficient < 0 {
            high = high.min(rest.div_euclid(-coefficient));
        }
    }
    if low > high {
        return None;
    }
    i64::try_from(0.clamp(low, high)).ok()
}

/// Removes all equalities, tightens all inequalities, and makes opposite ones equalities.
fn reduce(system: &mut Linear, steps: &mut Vec<Step>, budget: &mut Budget) -> Result<(), Stop> {
    loop {
        while let Some(row) = system.equal.pop() {
            substitute(system, row, steps, budget)?;
        }
        let mut keyed = Vec::with_capacity(system.at_least.len());
        for row in system.at_least.drain(..) {
            match row.tighten() {
                Tight::Holds => {}
                Tight::Fails => return Err(Stop::Unsat),
                Tight::Says(row) => {
                    let flipped = row.entries.first().is_some_and(|entry| entry.1 < 0);
                    let key = if flipped { row.into_negated().ok_or(Stop::GiveUp)? } else { row };
                    keyed.push((key.entries, flipped, key.constant));
                }
            }
        }
        if !budget.spend(keyed.iter().map(|k| k.0.len() + 2).sum()) || keyed.len() > MAX_ROWS {
            return Err(Stop::GiveUp);
        }
        // In each run of equal rows the tightest comes first among `>= 0`, last among `<= 0`.
        keyed.sort();
        let mut run = keyed.into_iter().peekable();
        while let Some((entries, flipped, constant)) = run.next() {
            let (mut low, mut high) = (None, None);
            if flipped {
                high = Some(constant)
            } else {
                low = Some(constant)
            }
            while let Some(next) = run.next_if(|next| next.0 == entries) {
                if next.1 {
                    high = Some(next.2);
                } else if low.is_none() {
                    low = Some(next.2);
                }
            }
            match (low, high) {
                // entries + low >= 0 and entries + high <= 0.
                (Some(low), Some(high)) if low < high => return Err(Stop::Unsat),
                (Some(low), Some(high)) if low == high => {
                    system.equal.push(Row { entries, constant: low });
                }
                (low, high) => {
                    if let Some(high) = high {
                        let row = Row { entries: entries.clone(), constant: high };
                        system.at_least.push(row.into_negated().ok_or(Stop::GiveUp)?);
                    }
                    if let Some(low) = low {
                        system.at_least.push(Row { entries, constant: low });
                    }
                }
            }
        }
        if system.equal.is_empty() {
            return Ok(());
        }
    }
}

/// Solves an equality for one column, or makes its coefficients smaller by a change of variables.
fn substitute(
    system: &mut Linear,
    mut row: Row,
    steps: &mut Vec<Step>,
    budget: &mut Budget,
) -> Result<(), Stop> {
    let common = row.common_divisor();
    if common == 0 {
        return if row.constant == 0 { Ok(()) } else { Err(Stop::Unsat) };
    }
    if row.constant % common != 0 {
        return Err(Stop::Unsat);
    }
    row.constant /= common;
    for entry in &mut row.entries {
        entry.1 /= common;
    }
    let smallest = row.entries.iter().min_by_key(|entry| entry.1.unsigned_abs()).copied();
    let Some((column, coefficient)) = smallest else { return Ok(()) };
    let mut by = Row::default();
    if coefficient.unsigned_abs() == 1 {
        by = row.clone();
        by.entries.retain(|entry| entry.0 != column);
        by = by.combine(-coefficient, &Row::default(), 0).ok_or(Stop::GiveUp)?;
    } else {
        // column = fresh - sum of round(a / coefficient) * other
        for &(other, a) in row.entries.iter().filter(|entry| entry.0 != column) {
            let q = round_div(a, coefficient).checked_neg().ok_or(Stop::GiveUp)?;
            if q != 0 {
                by.entries.push((other, q));
            }
        }
        by.constant = round_div(row.constant, coefficient).checked_neg().ok_or(Stop::GiveUp)?;
        by.entries.push((system.next, 1));
        system.next = system.next.checked_add(1).ok_or(Stop::GiveUp)?;
        let row = row.replace(column, &by).ok_or(Stop::GiveUp)?;
        system.equal.push(row);
    }
    let rows = system.equal.iter_mut().chain(&mut system.at_least);
    for row in rows.filter(|row| row.coefficient(column) != 0) {
        if !budget.spend(row.entries.len() + by.entries.len() + 2) {
            return Err(Stop::GiveUp);
        }
        *row = row.replace(column, &by).ok_or(Stop::GiveUp)?;
    }
    steps.push(Step::Is(column, by));
    Ok(())
}

/// The integer nearest to `a / b`.
fn round_div(a: i64, b: i64) -> i64 {
    let (a, b) = (i128::from(a), i128::from(b));
    let (a, b) = if b < 0 { (-a, -b) } else { (a, b) };
    i64::try_from((2 * a + b).div_euclid(2 * b)).unwrap_or(0)
}

/// The column to eliminate next.
struct Choice {
    column: u32,
    exact: bool,
}

impl Choice {
    /// One without bounds on a side, else the cheapest exact one, else the cheapest.
    fn best(system: &Linear) -> Option<Choice> {
        let mut seen: Vec<(u32, i64)> =
            system.at_least.iter().flat_map(|row| row.entries.iter().copied()).collect();
        seen.sort_unstable();
        let mut best: Option<((bool, i64), u32)> = None;
        for group in seen.chunk_by(|a, b| a.0 == b.0) {
            let lowers = group.iter().filter(|entry| entry.1 > 0).count();
            let uppers = group.len() - lowers;
            let exact =
                group.iter().all(|entry| entry.1 >= -1) || group.iter().all(|entry| entry.1 <= 1);
            let cost = (lowers * uppers) as i64 - (lowers + uppers) as i64;
            let key = (!exact, cost);
            if best.is_none_or(|(least, _)| key < least) {
                best = Some((key, group.first()?.0));
            }
        }
        best.map(|((inexact, _), column)| Choice { column, exact: !inexact })
    }
}

/// Removes a column: every lower bound is set against every upper bound. With `dark` set to 1 the
/// dark shadow is built, else the real one. Returns the rows that bounded the column.
fn eliminate(
    system: &mut Linear,
    column: u32,
    dark: i64,
    budget: &mut Budget,
) -> Result<Vec<Row>, Stop> {
    let rows = std::mem::take(&mut system.at_least);
    let (bounds, rest): (Vec<Row>, Vec<Row>) =
        rows.into_iter().partition(|row| row.coefficient(column) != 0);
    system.at_least = rest;
    for lower in bounds.iter().filter(|row| row.coefficient(column) > 0) {
        for upper in bounds.iter().filter(|row| row.coefficient(column) < 0) {
            if !budget.spend(lower.entries.len() + upper.entries.len() + 6)
                || system.at_least.len() > MAX_ROWS
            {
                return Err(Stop::GiveUp);
            }
            // b * x + lower >= 0 and upper - a * x >= 0 give b * upper + a * lower >= 0.
            let b = lower.coefficient(column);
            let a = upper.coefficient(column).checked_neg().ok_or(Stop::GiveUp)?;
            let gap = if dark == 0 { Some(0) } else { (a - 1).checked_mul(b - 1) };
            let gap = gap.ok_or(Stop::GiveUp)?;
            match lower.combine_tight(a, upper, b, gap).ok_or(Stop::GiveUp)? {
                Tight::Holds => {}
                Tight::Fails => return Err(Stop::Unsat),
                Tight::Says(row) => system.at_least.push(row),
            }
        }
    }
    Ok(bounds)
}

/// Decides a system by a column none of whose sides has all coefficients 1.
fn inexact(system: &Linear, column: u32, budget: &mut Budget) -> Outcome {
    let mut unknown = false;
    for dark in [0, 1] {
        let mut shadow = system.clone();
        let bounds = match eliminate(&mut shadow, column, dark, budget) {
            Ok(bounds) => bounds,
            Err(Stop::Unsat) if dark == 0 => return Outcome::Unsat,
            Err(Stop::Unsat) => continue,
            Err(Stop::GiveUp) => {
                unknown |= dark == 1;
                continue;
            }
        };
        match solve(shadow, budget) {
            Outcome::Unsat if dark == 0 => return Outcome::Unsat,
            Outcome::Unsat => {}
            Outcome::Unknown => unknown |= dark == 1,
            Outcome::Sat(mut point) => {
                if let Some(value) = pick(column, &bounds, &point) {
                    point.set(column, value);
                    return Outcome::Sat(point);
                }
                unknown |= dark == 1;
            }
        }
    }
    match splinters(system, column, budget) {
        Outcome::Unsat if unknown => Outcome::Unknown,
        outcome @ (Outcome::Unsat | Outcome::Sat(_) | Outcome::Unknown) => outcome,
    }
}

/// Looks for points that lie just above a lower bound: all that the dark shadow leaves out.
fn splinters(system: &Linear, column: u32, budget: &mut Budget) -> Outcome {
    let steepest = system.at_least.iter().map(|row| row.coefficient(column)).min().unwrap_or(0);
    let Some(a) = steepest.checked_neg() else { return Outcome::Unknown };
    let size: usize = system.at_least.iter().map(|row| row.entries.len() + 2).sum();
    let mut unknown = false;
    for lower in system.at_least.iter().filter(|row| row.coefficient(column) > 0) {
        let b = lower.coefficient(column);
        // b * x = lower bound + distance, for distances up to (a * b - a - b) / a.
        let most = a.checked_mul(b).and_then(|p| p.checked_sub(a)?.checked_sub(b));
        let Some(most) = most.map(|most| most.div_euclid(a.max(1))) else {
            return Outcome::Unknown;
        };
        for distance in 0..=most {
            if !budget.spend(8 + size) {
                return Outcome::Unknown;
            }
            let Some(row) = lower.lowered(distance) else { return Outcome::Unknown };
            let mut splinter = system.clone();
            splinter.equal.push(row);
            match solve(splinter, budget) {
                Outcome::Unsat => {}
                Outcome::Unknown => unknown = true,
                outcome @ Outcome::Sat(_) => return outcome,
            }
        }
    }
    if unknown { Outcome::Unknown } else { Outcome::Unsat }
}
