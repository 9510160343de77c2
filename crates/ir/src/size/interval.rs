//! Constant bounds of columns, found by propagating rows a few rounds.

use super::facts::Budget;
use super::row::Row;
use super::system::{Columns, Node};

/// Rounds of propagation; bounds that still move then are good enough.
const ROUNDS: usize = 8;
/// Bounds beyond this are treated as absent, so that sums of them cannot overflow.
const FAR: i128 = 1 << 40;

/// A lower and an upper bound for every column.
#[derive(Clone, Debug, Default)]
pub(super) struct Intervals {
    bounds: Vec<(Option<i64>, Option<i64>)>,
}

/// Somebody has no value left.
pub(super) struct Empty;

impl Intervals {
    /// The bounds of a column.
    pub(super) fn get(&self, column: u32) -> (Option<i64>, Option<i64>) {
        self.bounds.get(column as usize).copied().unwrap_or((None, None))
    }

    /// The bounds of a row.
    pub(super) fn of_row(&self, row: &Row) -> (Option<i64>, Option<i64>) {
        let Some(negated) = row.negated() else { return (None, None) };
        let high = self.highest(&row.entries);
        let low = self.highest(&negated.entries);
        let near = |value: i128| i64::try_from(value).ok();
        let constant = i128::from(row.constant);
        (
            low.finite().and_then(|low| near(constant - low)),
            high.finite().and_then(|high| near(constant + high)),
        )
    }

    /// Narrows the bounds by the node's rows.
    pub(super) fn propagate(
        &mut self,
        columns: &Columns,
        node: &Node,
        budget: &mut Budget,
    ) -> Result<(), Empty> {
        self.bounds.resize(columns.len() as usize, (None, None));
        let negated: Vec<Row> = node.equal.iter().filter_map(Row::negated).collect();
        let rows: Vec<&Row> = node.at_least.iter().chain(&node.equal).chain(&negated).collect();
        let cost: usize = rows.iter().map(|row| row.entries.len() + 1).sum();
        for _ in 0..ROUNDS {
            let mut changed = false;
            if !budget.spend(cost + self.bounds.len()) {
                return Ok(());
            }
            for column in 0..columns.len() {
                if columns.is_product(column) {
                    changed |= self.narrow_product(columns, column)?;
                }
            }
            for row in &rows {
                changed |= self.narrow_row(row)?;
            }
            if !changed {
                break;
            }
        }
        Ok(())
    }

    fn highest(&self, entries: &[(u32, i64)]) -> Sum {
        let mut sum = Sum { total: 0, unbounded: 0 };
        for (column, coefficient) in entries {
            let (low, high) = self.get(*column);
            match if *coefficient > 0 { high } else { low } {
                Some(bound) => sum.total += i128::from(*coefficient) * i128::from(bound),
                None => sum.unbounded += 1,
            }
        }
        sum
    }

    fn narrow_row(&mut self, row: &Row) -> Result<bool, Empty> {
        let sum = self.highest(&row.entries);
        let constant = i128::from(row.constant);
        if sum.finite().is_some_and(|total| total + constant < 0) {
            return Err(Empty);
        }
        let mut changed = false;
        for (column, coefficient) in &row.entries {
            let a = i128::from(*coefficient);
            let (low, high) = self.get(*column);
            // a * x >= -(constant + the highest value of the others)
            let rest = match (if a > 0 { high } else { low }, sum.unbounded) {
                (Some(bound), 0) => constant + sum.total - a * i128::from(bound),
                (None, 1) => constant + sum.total,
                (Some(_) | None, _) => continue,
            };
            changed |= if a > 0 {
                self.at_least(*column, -rest.div_euclid(a))?
            } else {
                self.at_most(*column, rest.div_euclid(-a))?
            };
        }
        Ok(changed)
    }

    fn narrow_product(&mut self, columns: &Columns, column: u32) -> Result<bool, Empty> {
        let factors = columns.factors(column);
        let mut bounds = (Some(1), Some(1));
        for power in factors.chunk_by(|a, b| a == b) {
            let base = self.get(power[0]);
            let mut raised = base;
            for _ in 1..power.len() {
                raised = multiply(raised, base);
            }
            if power.len() % 2 == 0 {
                raised.0 = Some(raised.0.unwrap_or(0).max(0));
            }
            bounds = multiply(bounds, raised);
        }
        let mut changed = false;
        if let Some(low) = bounds.0 {
            changed |= self.at_least(column, i128::from(low))?;
        }
        if let Some(high) = bounds.1 {
            changed |= self.at_most(column, i128::from(high))?;
        }
        // A positive product of nonnegative factors has only positive factors, and a factor is no
        // larger than the product when the others are positive.
        let lows: Vec<Option<i64>> = factors.iter().map(|f| self.get(*f).0).collect();
        if lows.iter().all(|low| low.is_some_and(|low| low >= 0)) {
            let (low, high) = self.get(column);
            for (place, factor) in factors.iter().enumerate() {
                if low.is_some_and(|low| low >= 1) {
                    changed |= self.at_least(*factor, 1)?;
                }
                let others = lows.iter().enumerate().filter(|(other, _)| *other != place);
                if let Some(high) = high
                    && others.into_iter().all(|(_, low)| low.is_some_and(|low| low >= 1))
                {
                    changed |= self.at_most(*factor, i128::from(high))?;
                }
            }
        }
        Ok(changed)
    }

    fn at_least(&mut self, column: u32, bound: i128) -> Result<bool, Empty> {
        let Some(own) = self.bounds.get_mut(column as usize) else { return Ok(false) };
        if bound.abs() >= FAR || own.0.is_some_and(|low| i128::from(low) >= bound) {
            return Ok(false);
        }
        own.0 = i64::try_from(bound).ok();
        if own.1.is_some_and(|high| i128::from(high) < bound) { Err(Empty) } else { Ok(true) }
    }

    fn at_most(&mut self, column: u32, bound: i128) -> Result<bool, Empty> {
        let Some(own) = self.bounds.get_mut(column as usize) else { return Ok(false) };
        if bound.abs() >= FAR || own.1.is_some_and(|high| i128::from(high) <= bound) {
            return Ok(false);
        }
        own.1 = i64::try_from(bound).ok();
        if own.0.is_some_and(|low| i128::from(low) > bound) { Err(Empty) } else { Ok(true) }
    }
}

/// A sum of bounds, some of which may be missing.
struct Sum {
    total: i128,
    unbounded: usize,
}

impl Sum {
    fn finite(&self) -> Option<i128> {
        (self.unbounded == 0).then_some(self.total)
    }
}

type Bounds = (Option<i64>, Option<i64>);

/// The bounds of a product.
fn multiply(a: Bounds, b: Bounds) -> Bounds {
    let zero = (Some(0), Some(0));
    if a == zero || b == zero {
        return zero;
    }
    let one = (Some(1), Some(1));
    if a == one {
        return b;
    }
    let nonnegative = |x: Bounds| x.0.is_some_and(|low| low >= 0);
    let product = |x: Option<i64>, y: Option<i64>| x.zip(y).and_then(|(x, y)| x.checked_mul(y));
    if nonnegative(a) && nonnegative(b) {
        return (product(a.0, b.0).or(Some(0)), product(a.1, b.1));
    }
    let nonpositive = |x: Bounds| x.1.is_some_and(|high| high <= 0);
    if nonpositive(a) && nonpositive(b) {
        return (product(a.1, b.1).or(Some(0)), product(a.0, b.0));
    }
    if nonnegative(a) && nonpositive(b) || nonpositive(a) && nonnegative(b) {
        let (up, down) = if nonnegative(a) { (a, b) } else { (b, a) };
        return (product(up.1, down.0), product(up.0, down.1).or(Some(0)));
    }
    let corners = [product(a.0, b.0), product(a.0, b.1), product(a.1, b.0), product(a.1, b.1)];
    let corners: Option<Vec<i64>> = corners.into_iter().collect();
    match corners {
        Some(corners) => (corners.iter().min().copied(), corners.iter().max().copied()),
        None => (None, None),
    }
}
