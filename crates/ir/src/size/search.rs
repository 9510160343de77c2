//! Deciding a node: relax, refute or find a point, and split where the point is not good enough.

use super::facts::{Budget, Witness};
use super::interval::Intervals;
use super::omega::{self, Linear, Outcome};
use super::products::{self, Reach};
use super::row::{Point, Row};
use super::system::{Columns, Node};

/// Splits deeper than this are not tried.
const MAX_DEPTH: usize = 24;
/// A variable with no more values than this is tried at all of them.
const MAX_VALUES: i64 = 24;
/// A nonlinear question about no more points than this is answered by looking at all of them.
const MAX_POINTS: usize = 2048;

/// Whether a node has a point.
pub(super) enum Answer {
    None,
    Point(Witness),
    Unknown,
}

/// Decides a node. `check` evaluates a point in the question as it was asked, in about `weight`
/// steps.
pub(super) fn decide(
    columns: &mut Columns,
    mut node: Node,
    check: &dyn Fn(&Columns, &Point) -> Option<Witness>,
    weight: usize,
    budget: &mut Budget,
) -> Answer {
    let Ok(known) = settle(columns, &mut node, budget) else { return Answer::None };
    let mut search = Search { columns, check, budget };
    if products::nonlinear(search.columns, &node).is_empty() && node.quotients.is_empty() {
        return search.run(node, 0);
    }
    if let Some(answer) = search.sweep(&known, weight) {
        return answer;
    }
    // First the products that reach near, on part of the budget, then the others.
    let mut near = node.clone();
    search.strengthen(&mut near, &known, Reach::Near);
    let mut part = search.budget.part(3);
    let before = part.left();
    let answer = Search { columns: search.columns, check, budget: &mut part }.run(near, 0);
    let spent = usize::try_from(before - part.left()).unwrap_or(usize::MAX);
    if !search.budget.spend(spent) {
        return Answer::Unknown;
    }
    match answer {
        Answer::Unknown => {
            search.strengthen(&mut node, &known, Reach::Far);
            search.run(node, 0)
        }
        Answer::None | Answer::Point(_) => answer,
    }
}

/// Bounds by propagation, and the definitions of all quotients whose divisor is positive.
fn settle(
    columns: &mut Columns,
    node: &mut Node,
    budget: &mut Budget,
) -> Result<Intervals, super::interval::Empty> {
    let mut known = Intervals::default();
    loop {
        known.propagate(columns, node, budget)?;
        if !node.define_quotients(columns, &known) {
            return Ok(known);
        }
    }
}

/// The answers of all branches.
#[derive(Default)]
struct All {
    unknown: bool,
}

impl All {
    /// Takes the answer of one branch; gives it back if it settles the matter.
    fn take(&mut self, answer: Answer) -> Option<Answer> {
        match answer {
            Answer::Point(_) => return Some(answer),
            Answer::Unknown => self.unknown = true,
            Answer::None => {}
        }
        None
    }

    fn answer(self) -> Answer {
        if self.unknown { Answer::Unknown } else { Answer::None }
    }
}

struct Search<'a> {
    columns: &'a mut Columns,
    check: &'a dyn Fn(&Columns, &Point) -> Option<Witness>,
    budget: &'a mut Budget,
}

impl Search<'_> {
    /// Looks at every point, if there are few.
    fn sweep(&mut self, known: &Intervals, weight: usize) -> Option<Answer> {
        let mut sides = Vec::new();
        let mut points = 1usize;
        for column in self.columns.atom_columns() {
            let (low, high) = known.get(column);
            let (low, high) = (low?, high?);
            points = points.checked_mul(usize::try_from(high.checked_sub(low)?).ok()? + 1)?;
            if points > MAX_POINTS {
                return None;
            }
            sides.push((column, low, high));
        }
        let mut point = Point::default();
        for (column, low, _) in &sides {
            point.set(*column, *low);
        }
        loop {
            if !self.budget.spend(weight) {
                return Some(Answer::Unknown);
            }
            if let Some(witness) = (self.check)(self.columns, &point) {
                return Some(Answer::Point(witness));
            }
            // The next point: the first coordinate that can go on does, those before start again.
            let mut carry = true;
            for (column, low, high) in &sides {
                let value = point.get(*column);
                carry = value >= *high;
                point.set(*column, if carry { *low } else { value + 1 });
                if !carry {
                    break;
                }
            }
            if carry {
                return Some(Answer::None);
            }
        }
    }

    fn strengthen(&mut self, node: &mut Node, known: &Intervals, reach: Reach) {
        products::strengthen(self.columns, node, known, reach, self.budget);
        let mut known = known.clone();
        if known.propagate(self.columns, node, self.budget).is_err() {
            node.at_least.push(Row::constant(-1));
            return;
        }
        products::bound_products(self.columns, node, &known);
    }

    fn run(&mut self, node: Node, depth: usize) -> Answer {
        if !self.budget.spend(node.size()) {
            return Answer::Unknown;
        }
        let linear = Linear {
            equal: node.equal.clone(),
            at_least: node.at_least.clone(),
            next: self.columns.len(),
        };
        let point = match omega::solve(linear, self.budget) {
            Outcome::Unsat => return Answer::None,
            Outcome::Unknown => return Answer::Unknown,
            Outcome::Sat(point) => point,
        };
        if let Some(witness) = (self.check)(self.columns, &point) {
            return Answer::Point(witness);
        }
        if depth >= MAX_DEPTH {
            return Answer::Unknown;
        }
        let broken = node.splits.iter().position(|split| {
            let holds = |row: &Row| row.value_at(&point).is_some_and(|value| value >= 0);
            !split.iter().any(|branch| branch.iter().all(holds))
        });
        if let Some(place) = broken {
            return self.split(node, place, depth);
        }
        if !node.quotients.is_empty() {
            return self.split_by_divisor(&node, depth);
        }
        let present = products::nonlinear(self.columns, &node);
        let variables = products::variables_of(self.columns, &present);
        if variables.is_empty() {
            return Answer::Unknown;
        }
        self.enumerate(node, &variables, &point, depth)
    }

    /// Tries every alternative of a split.
    fn split(&mut self, mut node: Node, place: usize, depth: usize) -> Answer {
        let mut all = All::default();
        for branch in node.splits.remove(place) {
            let mut next = node.clone();
            next.at_least.extend(branch);
            if let Some(answer) = all.take(self.run(next, depth + 1)) {
                return answer;
            }
        }
        all.answer()
    }

    /// Defines a quotient for both signs of its divisor: by zero it has no value.
    fn split_by_divisor(&mut self, node: &Node, depth: usize) -> Answer {
        let mut all = All::default();
        for sign in [1, -1] {
            let mut next = node.clone();
            next.fix_divisor(self.columns, sign);
            let answer = match settle(self.columns, &mut next, self.budget) {
                Ok(_) => self.run(next, depth + 1),
                Err(_) => Answer::None,
            };
            if let Some(answer) = all.take(answer) {
                return answer;
            }
        }
        all.answer()
    }

    /// Tries values of a variable that stands in products: all of them if they are few.
    fn enumerate(&mut self, node: Node, variables: &[u32], point: &Point, depth: usize) -> Answer {
        let mut known = Intervals::default();
        if known.propagate(self.columns, &node, self.budget).is_err() {
            return Answer::None;
        }
        let width = |variable: u32| match known.get(variable) {
            (Some(low), Some(high)) => high.saturating_sub(low),
            _ => i64::MAX,
        };
        let narrowest = variables.iter().copied().min_by_key(|variable| width(*variable));
        let Some(variable) = narrowest else { return Answer::Unknown };
        let (low, high) = known.get(variable);
        let complete = width(variable) < MAX_VALUES;
        let values: Vec<i64> = match (low, high) {
            (Some(low), Some(high)) if complete => (low..=high).collect(),
            _ => samples(low, high, point.get(variable)),
        };
        let mut all = All { unknown: !complete };
        for value in values {
            let mut next = node.clone();
            if !self.budget.spend(2 * node.size())
                || next.assign(self.columns, variable, value).is_none()
            {
                return Answer::Unknown;
            }
            let answer = match settle(self.columns, &mut next, self.budget) {
                Ok(_) => self.run(next, depth + 1),
                Err(_) => Answer::None,
            };
            if let Some(answer) = all.take(answer) {
                return answer;
            }
        }
        all.answer()
    }
}

/// Values worth a try: those near the ends, near zero, and where the relaxation put it.
fn samples(low: Option<i64>, high: Option<i64>, guess: i64) -> Vec<i64> {
    let mut values = vec![guess];
    if let Some(low) = low {
        values.extend((0..4).filter_map(|step| low.checked_add(step)));
    }
    if let Some(high) = high {
        values.extend((0..3).filter_map(|step| high.checked_sub(step)));
    }
    values.extend([0, 1, 2, 3, 4, 7, -1, -2]);
    let within =
        |value: &i64| low.is_none_or(|low| *value >= low) && high.is_none_or(|high| *value <= high);
    values.retain(within);
    let mut seen = Vec::new();
    values.retain(|value| {
        let new = !seen.contains(value);
        seen.push(*value);
        new
    });
    values
}
