//! Linear rows over numbered columns, with arithmetic that gives up instead of overflowing.

use super::divide::gcd;

/// `sum of coefficient * column + constant`; what it is compared with is the holder's business.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Row {
    /// Sorted by column; no coefficient 0.
    pub(super) entries: Vec<(u32, i64)>,
    pub(super) constant: i64,
}

/// A row `>= 0` after division by the common divisor of its coefficients.
pub(super) enum Tight {
    /// It holds everywhere.
    Holds,
    /// It holds nowhere.
    Fails,
    /// It says something.
    Says(Row),
}

impl Row {
    pub(super) fn constant(constant: i64) -> Row {
        Row { entries: Vec::new(), constant }
    }

    pub(super) fn column(column: u32) -> Row {
        Row { entries: vec![(column, 1)], constant: 0 }
    }

    pub(super) fn coefficient(&self, column: u32) -> i64 {
        match self.entries.binary_search_by_key(&column, |entry| entry.0) {
            Ok(place) => self.entries[place].1,
            Err(_) => 0,
        }
    }

    /// `a * self + b * other`, in full.
    pub(super) fn combine(&self, a: i64, other: &Row, b: i64) -> Option<Row> {
        if let Some(row) = self.combine_narrow(a, other, b) {
            return Some(row);
        }
        let (entries, constant) = self.combine_wide(a, other, b)?;
        fit(&entries, constant)
    }

    /// [`Row::combine`] as long as nothing on the way leaves `i64`.
    fn combine_narrow(&self, a: i64, other: &Row, b: i64) -> Option<Row> {
        let constant = self.constant.checked_mul(a)?.checked_add(other.constant.checked_mul(b)?)?;
        let mut entries = Vec::with_capacity(self.entries.len() + other.entries.len());
        let (mut left, mut right) = (self.entries.as_slice(), other.entries.as_slice());
        loop {
            let (column, coefficient);
            match (left, right) {
                ([l, rest @ ..], [r, ..]) if l.0 < r.0 => {
                    (column, coefficient) = (l.0, l.1.checked_mul(a)?);
                    left = rest;
                }
                ([l, ls @ ..], [r, rs @ ..]) if l.0 == r.0 => {
                    column = l.0;
                    coefficient = l.1.checked_mul(a)?.checked_add(r.1.checked_mul(b)?)?;
                    (left, right) = (ls, rs);
                }
                (_, [r, rest @ ..]) => {
                    (column, coefficient) = (r.0, r.1.checked_mul(b)?);
                    right = rest;
                }
                ([l, rest @ ..], []) => {
                    (column, coefficient) = (l.0, l.1.checked_mul(a)?);
                    left = rest;
                }
                ([], []) => return Some(Row { entries, constant }),
            }
            if coefficient != 0 {
                entries.push((column, coefficient));
            }
        }
    }

    /// `a * self + b * other - gap`, divided by the common divisor of its coefficients; the constant
    /// is rounded down, which `>= 0` allows.
    pub(super) fn combine_tight(&self, a: i64, other: &Row, b: i64, gap: i64) -> Option<Tight> {
        let narrow = self.combine_narrow(a, other, b).and_then(|row| row.into_lowered(gap));
        if let Some(row) = narrow {
            return Some(row.tighten());
        }
        let (mut entries, constant) = self.combine_wide(a, other, b)?;
        let mut constant = constant.checked_sub(i128::from(gap))?;
        if entries.is_empty() {
            return Some(if constant >= 0 { Tight::Holds } else { Tight::Fails });
        }
        let mut common = 0;
        for entry in &entries {
            common = wide_gcd(common, entry.1.unsigned_abs());
            if common == 1 {
                break;
            }
        }
        let common = i128::try_from(common).ok()?;
        if common > 1 {
            for entry in &mut entries {
                entry.1 /= common;
            }
            constant = constant.div_euclid(common);
        }
        Some(Tight::Says(fit(&entries, constant)?))
    }

    fn combine_wide(&self, a: i64, other: &Row, b: i64) -> Option<(Vec<(u32, i128)>, i128)> {
        let (a, b) = (i128::from(a), i128::from(b));
        let product = |coefficient: i64, by: i128| i128::from(coefficient).checked_mul(by);
        let constant = product(self.constant, a)?.checked_add(product(other.constant, b)?)?;
        let mut entries = Vec::with_capacity(self.entries.len() + other.entries.len());
        let (mut i, mut j) = (0, 0);
        loop {
            let left = self.entries.get(i);
            let right = other.entries.get(j);
            let column = match (left, right) {
                (Some(l), Some(r)) => l.0.min(r.0),
                (Some(l), None) => l.0,
                (None, Some(r)) => r.0,
                (None, None) => break,
            };
            let mut coefficient = 0;
            if let Some(l) = left.filter(|l| l.0 == column) {
                coefficient = product(l.1, a)?;
                i += 1;
            }
            if let Some(r) = right.filter(|r| r.0 == column) {
                coefficient = coefficient.checked_add(product(r.1, b)?)?;
                j += 1;
            }
            if coefficient != 0 {
                entries.push((column, coefficient));
            }
        }
        Some((entries, constant))
    }

    /// `self - distance`.
    pub(super) fn lowered(&self, distance: i64) -> Option<Row> {
        self.clone().into_lowered(distance)
    }

    fn into_lowered(mut self, distance: i64) -> Option<Row> {
        self.constant = self.constant.checked_sub(distance)?;
        Some(self)
    }

    /// `-self`.
    pub(super) fn negated(&self) -> Option<Row> {
        self.clone().into_negated()
    }

    /// `-self`, in place.
    pub(super) fn into_negated(mut self) -> Option<Row> {
        for entry in &mut self.entries {
            entry.1 = entry.1.checked_neg()?;
        }
        self.constant = self.constant.checked_neg()?;
        Some(self)
    }

    /// The row `>= 0` in its tightest form.
    pub(super) fn tighten(mut self) -> Tight {
        match self.common_divisor() {
            0 if self.constant >= 0 => Tight::Holds,
            0 => Tight::Fails,
            1 => Tight::Says(self),
            common => {
                for entry in &mut self.entries {
                    entry.1 /= common;
                }
                self.constant = self.constant.div_euclid(common);
                Tight::Says(self)
            }
        }
    }

    /// The row with `column` replaced.
    pub(super) fn replace(&self, column: u32, by: &Row) -> Option<Row> {
        match self.coefficient(column) {
            0 => Some(self.clone()),
            coefficient => {
                let mut rest = self.clone();
                rest.entries.retain(|entry| entry.0 != column);
                rest.combine(1, by, coefficient)
            }
        }
    }

    /// The greatest common divisor of the coefficients.
    pub(super) fn common_divisor(&self) -> i64 {
        let mut common = 0;
        for entry in &self.entries {
            common = gcd(common, entry.1);
            if common == 1 {
                break;
            }
        }
        common
    }

    /// The value at a point.
    pub(super) fn value_at(&self, point: &Point) -> Option<i128> {
        let mut total = i128::from(self.constant);
        for (column, coefficient) in &self.entries {
            let product = i128::from(*coefficient).checked_mul(i128::from(point.get(*column)))?;
            total = total.checked_add(product)?;
        }
        Some(total)
    }
}

fn fit(entries: &[(u32, i128)], constant: i128) -> Option<Row> {
    let entries: Option<Vec<(u32, i64)>> = entries
        .iter()
        .map(|(column, coefficient)| Some((*column, i64::try_from(*coefficient).ok()?)))
        .collect();
    Some(Row { entries: entries?, constant: i64::try_from(constant).ok()? })
}

fn wide_gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A value for every column; 0 where none was set.
#[derive(Clone, Debug, Default)]
pub(super) struct Point {
    values: Vec<i64>,
}

impl Point {
    pub(super) fn get(&self, column: u32) -> i64 {
        self.values.get(column as usize).copied().unwrap_or(0)
    }

    pub(super) fn set(&mut self, column: u32, value: i64) {
        let place = column as usize;
        if self.values.len() <= place {
            self.values.resize(place + 1, 0);
        }
        self.values[place] = value;
    }
}
