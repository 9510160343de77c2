//! Products of facts: what linear reasoning must be told about nonlinear terms.
//!
//! From `H - 1 - h >= 0` and `D >= 0` follows `H * D - D - h * D >= 0`: every fact that bounds a
//! factor of a product is multiplied by the other factors of that product, where their signs are
//! known; and facts are multiplied pairwise where that makes no product that was not there before.

use rustc_hash::FxHashSet;

use super::facts::Budget;
use super::interval::Intervals;
use super::row::Row;
use super::system::{Columns, Node};

/// At most this many rows are added.
const MAX_PRODUCTS: usize = 160;
/// Facts are multiplied pairwise when there are no more than this.
const MAX_PAIRS: usize = 24;
/// Products of a higher degree are not formed.
const MAX_DEGREE: usize = 4;

/// How far products may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    /// Only into products that divide one that was there before.
    Near,
    /// Into new ones as well.
    Far,
}

/// Adds products of facts to a node that has nonlinear columns.
pub(super) fn strengthen(
    columns: &mut Columns,
    node: &mut Node,
    known: &Intervals,
    reach: Reach,
    budget: &mut Budget,
) {
    let present = nonlinear(columns, node);
    let mut sources = node.at_least.clone();
    for variable in variables_of(columns, &present) {
        sources.extend(bound_rows(variable, known));
    }
    sources.retain(|row| row.entries.iter().all(|(column, _)| !columns.is_product(*column)));
    sources.sort();
    sources.dedup();
    let mut maker = Maker { allowed: divisors(columns, &present), reach, made: Vec::new() };
    for &product in &present {
        let factors = columns.factors(product).to_vec();
        for place in 0..factors.len() {
            if place > 0 && factors[place] == factors[place - 1] {
                continue;
            }
            let mut others = factors.clone();
            let own = others.remove(place);
            for source in sources.iter().filter(|row| row.coefficient(own) != 0) {
                if !budget.spend(12 * source.entries.len()) {
                    return;
                }
                maker.bounded(columns, source, &others, known);
            }
            for source in node.equal.clone().iter().filter(|row| row.coefficient(own) != 0) {
                if !budget.spend(12 * source.entries.len()) {
                    return;
                }
                if let Some(row) = maker.times(columns, source, &others)
                    && !node.equal.contains(&row)
                {
                    node.equal.push(row);
                }
            }
        }
    }
    if sources.len() <= MAX_PAIRS {
        for (place, a) in sources.iter().enumerate() {
            for b in &sources[place..] {
                if !budget.spend(4 * a.entries.len() * b.entries.len()) {
                    return;
                }
                maker.pair(columns, a, b);
            }
        }
    }
    let mut made = maker.made;
    made.sort();
    made.dedup();
    node.at_least.extend(made);
}

/// Adds what is known of the bounds of nonlinear columns as rows.
pub(super) fn bound_products(columns: &Columns, node: &mut Node, known: &Intervals) {
    for product in nonlinear(columns, node) {
        node.at_least.extend(bound_rows(product, known));
    }
}

/// The nonlinear columns of a node, sorted.
pub(super) fn nonlinear(columns: &Columns, node: &Node) -> Vec<u32> {
    let rows = node.at_least.iter().chain(&node.equal);
    let rows = rows.chain(node.splits.iter().flatten().flatten());
    let mut present: Vec<u32> = rows
        .flat_map(|row| row.entries.iter().map(|entry| entry.0))
        .filter(|column| columns.is_product(*column))
        .collect();
    present.sort_unstable();
    present.dedup();
    present
}

/// The variables that occur in some products, sorted.
pub(super) fn variables_of(columns: &Columns, products: &[u32]) -> Vec<u32> {
    let mut variables: Vec<u32> =
        products.iter().flat_map(|product| columns.factors(*product).iter().copied()).collect();
    variables.sort_unstable();
    variables.dedup();
    variables
}

fn bound_rows(column: u32, known: &Intervals) -> Vec<Row> {
    let (low, high) = known.get(column);
    let mut rows = Vec::new();
    if let Some(constant) = low.and_then(i64::checked_neg) {
        rows.push(Row { entries: vec![(column, 1)], constant });
    }
    if let Some(constant) = high {
        rows.push(Row { entries: vec![(column, -1)], constant });
    }
    rows
}

/// All products of some of the factors of products that are present.
fn divisors(columns: &Columns, present: &[u32]) -> FxHashSet<Vec<u32>> {
    let mut found = FxHashSet::default();
    for &product in present {
        let factors = columns.factors(product);
        if factors.len() > MAX_DEGREE {
            found.insert(factors.to_vec());
            continue;
        }
        for choice in 0u32..1 << factors.len() {
            let chosen = factors.iter().enumerate().filter(|(place, _)| choice >> place & 1 == 1);
            found.insert(chosen.map(|(_, factor)| *factor).collect());
        }
    }
    found
}

struct Maker {
    /// The products that may be formed without reaching far.
    allowed: FxHashSet<Vec<u32>>,
    reach: Reach,
    made: Vec<Row>,
}

impl Maker {
    /// `source * (others - their least value)` and, for one other, `source * (its greatest - it)`.
    fn bounded(&mut self, columns: &mut Columns, source: &Row, others: &[u32], known: &Intervals) {
        if self.made.len() >= MAX_PRODUCTS {
            return;
        }
        let Some(product) = self.times(columns, source, others) else { return };
        let least = others.iter().try_fold(1i64, |least, other| match known.get(*other).0 {
            Some(low) if low >= 0 => least.checked_mul(low),
            Some(_) | None => None,
        });
        let least = match others {
            [single] => known.get(*single).0,
            _ => least,
        };
        let low = least.and_then(|least| product.combine(1, source, least.checked_neg()?));
        self.made.extend(low);
        if let [single] = others
            && let Some(most) = known.get(*single).1
        {
            self.made.extend(product.combine(-1, source, most));
        }
    }

    /// `a * b`, if it needs no product that was not there before.
    fn pair(&mut self, columns: &mut Columns, a: &Row, b: &Row) {
        if self.made.len() >= MAX_PRODUCTS {
            return;
        }
        for (left, _) in &a.entries {
            for (right, _) in &b.entries {
                let mut factors = columns.factors(*left).to_vec();
                factors.extend_from_slice(columns.factors(*right));
                if columns.find_product(factors).is_none() {
                    return;
                }
            }
        }
        self.made.extend(columns.multiply(a, b));
    }

    /// `source * others`, if it reaches no further than it may.
    fn times(&self, columns: &mut Columns, source: &Row, others: &[u32]) -> Option<Row> {
        for (column, _) in &source.entries {
            let mut factors = columns.factors(*column).to_vec();
            factors.extend_from_slice(others);
            factors.sort_unstable();
            let fits = match self.reach {
                Reach::Near => self.allowed.contains(&factors),
                Reach::Far => factors.len() <= MAX_DEGREE,
            };
            if !fits {
                return None;
            }
        }
        columns.times(source, others)
    }
}
