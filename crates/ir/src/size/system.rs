//! From expressions to rows: a column for every product of variables, a variable for every atom and
//! every opaque term, and for each opaque term the constraints that define it.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Atom;
use super::expr::{Expr, Factor, Kind, Opaque, Rounding};
use super::facts::{Fact, Relation};
use super::interval::Intervals;
use super::row::Row;

/// The columns of one question, shared by all its branches.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// The variables whose product a column is, sorted; a variable's column holds itself.
    factors: Vec<Vec<u32>>,
    products: FxHashMap<Vec<u32>, u32>,
    atoms: FxHashMap<Atom, u32>,
    opaques: FxHashMap<Arc<Opaque>, u32>,
}

/// One branch of a question: rows and what is not yet decided.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) equal: Vec<Row>,
    pub(super) at_least: Vec<Row>,
    pub(super) splits: Vec<Split>,
    pub(super) quotients: Vec<Quotient>,
}

/// Alternatives of which at least one holds; each is a conjunction of rows `>= 0`.
pub(super) type Split = Vec<Vec<Row>>;

/// A quotient whose defining rows wait until the sign of its divisor is known.
#[derive(Clone, Debug)]
pub(super) struct Quotient {
    rounding: Rounding,
    quotient: u32,
    dividend: Row,
    divisor: Row,
}

impl Quotient {
    /// The same quotient, with the signs of both sides changed if `sign` is -1.
    fn signed(&self, sign: i64) -> Option<Quotient> {
        let times = |row: &Row| row.combine(sign, &Row::default(), 0);
        let (dividend, divisor) = (times(&self.dividend)?, times(&self.divisor)?);
        Some(Quotient { dividend, divisor, ..self.clone() })
    }

    /// The same quotient with a positive divisor, if the sign of the divisor is known.
    fn with_positive_divisor(&self, known: &Intervals) -> Option<Quotient> {
        match known.of_row(&self.divisor) {
            (Some(1..), _) => Some(self.clone()),
            (_, Some(..=-1)) => self.signed(-1),
            _ => None,
        }
    }
}

impl Columns {
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.factors.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn factors(&self, column: u32) -> &[u32] {
        self.factors.get(column as usize).map_or(&[], Vec::as_slice)
    }

    pub(super) fn is_product(&self, column: u32) -> bool {
        self.factors(column).len() > 1
    }

    /// The columns of atoms, sorted.
    pub(super) fn atom_columns(&self) -> Vec<u32> {
        let mut columns: Vec<u32> = self.atoms.values().copied().collect();
        columns.sort_unstable();
        columns
    }

    /// The column of an atom, if the atom was met.
    pub(super) fn of_atom(&self, atom: Atom) -> Option<u32> {
        self.atoms.get(&atom).copied()
    }

    fn fresh(&mut self) -> u32 {
        let column = self.len();
        self.factors.push(vec![column]);
        column
    }

    /// The column of a product of variables; `None` for the empty product.
    pub(super) fn of_product(&mut self, mut factors: Vec<u32>) -> Option<u32> {
        factors.sort_unstable();
        match factors.as_slice() {
            [] => None,
            [single] => Some(*single),
            [_, _, ..] => Some(match self.products.get(&factors) {
                Some(column) => *column,
                None => {
                    let column = self.len();
                    self.products.insert(factors.clone(), column);
                    self.factors.push(factors);
                    column
                }
            }),
        }
    }

    /// The column of a product of variables, if it exists already.
    pub(super) fn find_product(&self, mut factors: Vec<u32>) -> Option<u32> {
        factors.sort_unstable();
        match factors.as_slice() {
            [] => None,
            [single] => Some(*single),
            [_, _, ..] => self.products.get(&factors).copied(),
        }
    }

    /// `row * product of factors`.
    pub(super) fn times(&mut self, row: &Row, by: &[u32]) -> Option<Row> {
        let mut result = Row::default();
        for (column, coefficient) in &row.entries {
            let mut factors = self.factors(*column).to_vec();
            factors.extend_from_slice(by);
            let single = Row::column(self.of_product(factors)?);
            result = result.combine(1, &single, *coefficient)?;
        }
        match self.of_product(by.to_vec()) {
            Some(column) => result.combine(1, &Row::column(column), row.constant),
            None => result.combine(1, &Row::constant(row.constant), 1),
        }
    }

    /// `a * b`.
    pub(super) fn multiply(&mut self, a: &Row, b: &Row) -> Option<Row> {
        let mut result = a.combine(b.constant, &Row::default(), 0)?;
        for (column, coefficient) in &b.entries {
            let factors = self.factors(*column).to_vec();
            result = result.combine(1, &self.times(a, &factors)?, *coefficient)?;
        }
        Some(result)
    }
}

/// Adds a fact to a node. A fact that does not fit is left out, which only weakens what is known.
pub(super) fn add_fact(columns: &mut Columns, node: &mut Node, fact: &Fact) {
    let Some(row) = row_of(columns, node, &fact.expr) else { return };
    match fact.relation {
        Relation::AtLeast => node.at_least.push(row),
        Relation::Equal => node.equal.push(row),
        Relation::Differs => {
            let (above, below) = (row.lowered(1), row.negated().and_then(|row| row.lowered(1)));
            if let (Some(above), Some(below)) = (above, below) {
                node.splits.push(vec![vec![above], vec![below]]);
            }
        }
    }
}

/// The row of an expression; the definitions of its opaque terms go to the node.
fn row_of(columns: &mut Columns, node: &mut Node, expr: &Expr) -> Option<Row> {
    let mut row = Row::constant(expr.constant);
    for term in &expr.terms {
        let mut factors = Vec::with_capacity(term.factors.len());
        for factor in &term.factors {
            factors.push(match factor {
                Factor::Atom(atom) => match columns.atoms.get(atom) {
                    Some(column) => *column,
                    None => {
                        let column = columns.fresh();
                        columns.atoms.insert(*atom, column);
                        column
                    }
                },
                Factor::Opaque(opaque) => match columns.opaques.get(opaque) {
                    Some(column) => *column,
                    None => {
                        let column = columns.fresh();
                        columns.opaques.insert(Arc::clone(opaque), column);
                        define(columns, node, column, &opaque.kind);
                        column
                    }
                },
            });
        }
        let column = columns.of_product(factors)?;
        row = row.combine(1, &Row::column(column), term.coefficient)?;
    }
    Some(row)
}

/// States what an opaque term is, as far as rows and splits can say it.
fn define(columns: &mut Columns, node: &mut Node, column: u32, kind: &Kind) {
    let own = Row::column(column);
    let (items, sign) = match kind {
        Kind::Min(items) => (items, 1),
        Kind::Max(items) => (items, -1),
        Kind::Div(rounding, a, b) => {
            if let (Some(dividend), Some(divisor)) =
                (row_of(columns, node, a), row_of(columns, node, b))
            {
                let rounding = *rounding;
                node.quotients.push(Quotient { rounding, quotient: column, dividend, divisor });
            }
            return;
        }
        Kind::Sum(..) | Kind::Product(..) | Kind::Lost(..) => return,
    };
    let mut split = Split::new();
    let mut complete = true;
    for item in items {
        let row = row_of(columns, node, item);
        let above = row.as_ref().and_then(|row| row.combine(sign, &own, -sign));
        let below = row.as_ref().and_then(|row| row.combine(-sign, &own, sign));
        match (above, below) {
            (Some(above), Some(below)) => {
                node.at_least.push(above);
                split.push(vec![below]);
            }
            (None, _) | (_, None) => complete = false,
        }
    }
    if complete {
        node.splits.push(split);
    }
}

impl Node {
    /// About how many steps it takes to look at everything once.
    pub(super) fn size(&self) -> usize {
        let rows = self.equal.iter().chain(&self.at_least);
        let rows = rows.chain(self.splits.iter().flatten().flatten());
        rows.map(|row| row.entries.len() + 3).sum()
    }

    /// Adds the defining rows of the quotients whose divisor now has a known sign; returns
    /// whether there were any.
    pub(super) fn define_quotients(&mut self, columns: &mut Columns, known: &Intervals) -> bool {
        let mut waiting = Vec::new();
        let mut defined = false;
        for quotient in std::mem::take(&mut self.quotients) {
            match quotient.with_positive_divisor(known) {
                None => waiting.push(quotient),
                Some(quotient) => {
                    defined = true;
                    // A definition that does not fit is left out.
                    let _ = self.define_quotient(columns, known, &quotient);
                }
            }
        }
        self.quotients = waiting;
        defined
    }

    fn define_quotient(
        &mut self,
        columns: &mut Columns,
        known: &Intervals,
        Quotient { rounding, quotient, dividend, divisor }: &Quotient,
    ) -> Option<()> {
        let own = Row::column(*quotient);
        // floor: 0 <= a - b * q < b;  toward zero, for a negative dividend: -b < a - b * q <= 0.
        let left = dividend.combine(1, &columns.multiply(divisor, &own)?, -1)?;
        let below = divisor.combine(1, &left, -1)?.lowered(1)?;
        let above = divisor.combine(1, &left, 1)?.lowered(1)?;
        let (low, high) = known.of_row(dividend);
        let at_or_above_zero = [left.clone(), below.clone()];
        if *rounding == Rounding::Floor || low.is_some_and(|low| low >= 0) {
            self.at_least.extend(at_or_above_zero);
            if *rounding == Rounding::Trunc {
                self.at_least.push(own);
            }
        } else if high.is_some_and(|high| high <= 0) {
            self.at_least.extend([left.negated()?, above, own.negated()?]);
        } else {
            self.at_least.extend([below, above]);
            let positive = at_or_above_zero.into_iter().chain([dividend.clone(), own.clone()]);
            let negative = [left.negated()?, dividend.negated()?.lowered(1)?, own.negated()?];
            self.splits.push(vec![positive.collect(), negative.to_vec()]);
        }
        Some(())
    }

    /// Gives the divisor of the first open quotient a sign, and adds the quotient's defining rows.
    /// What does not fit is left out.
    pub(super) fn fix_divisor(&mut self, columns: &mut Columns, sign: i64) {
        if self.quotients.is_empty() {
            return;
        }
        let quotient = self.quotients.remove(0);
        if let Some(quotient) = quotient.signed(sign) {
            self.at_least.extend(quotient.divisor.lowered(1));
            let _ = self.define_quotient(columns, &Intervals::default(), &quotient);
        }
    }

    /// Sets a variable to a value: products that contain it become smaller.
    pub(super) fn assign(
        &mut self,
        columns: &mut Columns,
        variable: u32,
        value: i64,
    ) -> Option<()> {
        let mut fix = |row: &Row| fixed(columns, row, variable, value);
        for row in self.equal.iter_mut().chain(&mut self.at_least) {
            *row = fix(row)?;
        }
        for row in self.splits.iter_mut().flatten().flatten() {
            *row = fix(row)?;
        }
        for quotient in &mut self.quotients {
            quotient.dividend = fix(&quotient.dividend)?;
            quotient.divisor = fix(&quotient.divisor)?;
        }
        self.equal.push(Row { entries: vec![(variable, 1)], constant: value.checked_neg()? });
        Some(())
    }
}

fn fixed(columns: &mut Columns, row: &Row, variable: u32, value: i64) -> Option<Row> {
    let mut result = Row::constant(row.constant);
    for (column, coefficient) in &row.entries {
        let mut factors = columns.factors(*column).to_vec();
        let before = factors.len();
        factors.retain(|factor| *factor != variable);
        let mut coefficient = *coefficient;
        for _ in factors.len()..before {
            coefficient = coefficient.checked_mul(value)?;
        }
        let single = match columns.of_product(factors) {
            Some(column) => Row::column(column),
            None => Row::constant(1),
        };
        result = result.combine(1, &single, coefficient)?;
    }
    Some(result)
}
