//! Matrices of patterns, after Maranget, "Warnings for pattern matching": they are taken apart
//! column by column to find what no row matches, and rows that match nothing new.
//!
//! Integers are split at the ends of the ranges in a column, so coverage of a type's whole range
//! is exact. Texts, floats and arrays are never covered without a catch-all. The work is bounded.

use ein_base::{IndexVec, Symbol};
use ein_ir::tensor::{Data, DataId};
use ein_scalar::{Scalar, ScalarType};

/// How many cells of matrices are looked at for one question.
const BUDGET: usize = 4_000_000;
/// The longest array pattern whose reachability is decided.
const LONGEST: usize = 32;

/// A pattern without its variables.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Pat {
    /// Matches everything.
    Any,
    /// A constructor with a pattern for each part.
    Con(Con, Vec<Pat>),
    /// Any of these.
    Or(Vec<Pat>),
}

static ANY: Pat = Pat::Any;

/// What a value is made with.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Con {
    /// An integer in an interval with both ends; `false` is 0 and `true` is 1.
    Int(i128, i128, ScalarType),
    /// A variant, or a struct.
    Variant(DataId, usize),
    /// A tuple.
    Tuple,
    /// A text.
    Str(Symbol),
    /// A float, or a range of them.
    Float(Option<Scalar>, Option<Scalar>, bool),
    /// An array: how many elements from the front and from the back, and whether more may follow.
    Array(usize, usize, bool),
}

/// The work was too much.
struct Overspent;

/// A row of a matrix; the next column is the last entry.
pub(super) type Row<'p> = Vec<&'p Pat>;

/// The least and greatest value of an integer type or `bool`.
fn whole(ty: ScalarType) -> (i128, i128) {
    ty.int_range().unwrap_or((0, 1))
}

/// One analysis.
pub(super) struct Check<'c> {
    data: &'c IndexVec<DataId, Data>,
    budget: usize,
}

impl<'c> Check<'c> {
    /// An analysis of values of these structs and enums.
    pub(super) fn new(data: &'c IndexVec<DataId, Data>) -> Self {
        Check { data, budget: BUDGET }
    }

    /// Whether a pattern matches nothing that those above it do not match, as far as the work
    /// allows to say so.
    pub(super) fn adds_nothing(&mut self, rows: &[Row<'_>], pat: &Pat) -> bool {
        if self.budget == 0 {
            return false;
        }
        match self.useful(rows.to_vec(), vec![pat]) {
            Ok(useful) => !useful,
            Err(Overspent) => false,
        }
    }

    /// Some of the values that no row matches, at most so many; empty if every value is matched.
    pub(super) fn all_missing(&mut self, rows: &[Row<'_>], most: usize) -> Vec<Pat> {
        let mut found: Vec<Pat> = Vec::new();
        while found.len() < most {
            let named = found.iter().map(|pat| vec![pat]);
            let rows: Vec<Row<'_>> = rows.iter().cloned().chain(named).collect();
            let case = match self.missing(rows, 1) {
                Ok(case) => case.and_then(|mut case| case.pop()),
                Err(Overspent) if found.is_empty() => Some(Pat::Any),
                Err(Overspent) => None,
            };
            match case {
                Some(case) => found.push(case),
                None => break,
            }
        }
        found
    }

    fn spend(&mut self, rows: usize, width: usize) -> Result<(), Overspent> {
        match self.budget.checked_sub((rows + 1).saturating_mul(width + 1)) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => {
                self.budget = 0;
                Err(Overspent)
            }
        }
    }

    /// The number of parts of a value made with this; arrays aside.
    fn arity(&self, con: &Con, parts: usize) -> usize {
        match con {
            Con::Variant(id, variant) => {
                self.data[*id].variants.get(*variant).map_or(0, |variant| variant.fields.len())
            }
            Con::Tuple | Con::Array(..) => parts,
            Con::Int(..) | Con::Str(_) | Con::Float(..) => 0,
        }
    }

    /// A value that no row matches: one pattern for each column, the first column last.
    fn missing(&mut self, rows: Vec<Row<'_>>, width: usize) -> Result<Option<Vec<Pat>>, Overspent> {
        self.spend(rows.len(), width)?;
        if width == 0 {
            return Ok(rows.is_empty().then(Vec::new));
        }
        if rows.iter().any(|row| row.iter().all(|pat| **pat == Pat::Any)) {
            return Ok(None);
        }
        let rows = self.split_alternatives(rows)?;
        let Some((first, parts)) = first_con(&rows) else {
            return self.missing_made_with(None, rows, width);
        };
        match first {
            Con::Tuple => {
                let con = Some((Con::Tuple, parts));
                self.missing_made_with(con, rows, width)
            }
            Con::Variant(id, _) => {
                for variant in 0..self.data[id].variants.len() {
                    let con = Con::Variant(id, variant);
                    let arity = self.arity(&con, 0);
                    self.spend(rows.len(), width)?;
                    let case = self.missing_made_with(Some((con, arity)), rows.clone(), width)?;
                    if case.is_some() {
                        return Ok(case);
                    }
                }
                Ok(None)
            }
            Con::Int(_, _, ty) if width == 1 => Ok(first_gap(&rows, whole(ty))
                .map(|(lo, hi)| vec![Pat::Con(Con::Int(lo, hi, ty), Vec::new())])),
            Con::Int(_, _, ty) => {
                let (min, max) = whole(ty);
                for (lo, hi) in segments(&rows, (min, max)) {
                    let con = Some((Con::Int(lo, hi, ty), 0));
                    self.spend(rows.len(), width)?;
                    let case = self.missing_made_with(con, rows.clone(), width)?;
                    if case.is_some() {
                        return Ok(case);
                    }
                }
                Ok(None)
            }
            Con::Str(_) | Con::Float(..) | Con::Array(..) => {
                self.missing_made_with(None, rows, width)
            }
        }
    }

    /// The same among the values whose first part is made in one way, or in one that no row names.
    fn missing_made_with(
        &mut self,
        con: Option<(Con, usize)>,
        rows: Vec<Row<'_>>,
        width: usize,
    ) -> Result<Option<Vec<Pat>>, Overspent> {
        let Some((con, arity)) = con else {
            let rows = rows.into_iter().filter_map(without_first).collect();
            return Ok(self.missing(rows, width - 1)?.map(|mut case| {
                case.push(Pat::Any);
                case
            }));
        };
        let rows = rows.into_iter().filter_map(|row| specialise(row, &con, arity)).collect();
        Ok(self.missing(rows, width - 1 + arity)?.map(|mut case| {
            let mut parts = case.split_off(case.len().saturating_sub(arity));
            parts.reverse();
            case.push(Pat::Con(con, parts));
            case
        }))
    }

    /// Whether a row matches anything that those above it do not.
    fn useful(&mut self, rows: Vec<Row<'_>>, row: Row<'_>) -> Result<bool, Overspent> {
        self.spend(rows.len(), row.len())?;
        let mut row = row;
        let Some(head) = row.pop() else { return Ok(rows.is_empty()) };
        let rows = self.split_alternatives(rows)?;
        match head {
            Pat::Or(items) => {
                for item in items {
                    let mut row = row.clone();
                    row.push(item);
                    if self.useful(rows.clone(), row)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Pat::Con(con, parts) => self.useful_con(rows, row, con, parts),
            Pat::Any => match first_con(&rows) {
                None | Some((Con::Str(_) | Con::Float(..) | Con::Array(..), _)) => {
                    let rows = rows.into_iter().filter_map(without_first).collect();
                    self.useful(rows, row)
                }
                Some((Con::Tuple, parts)) => {
                    let any = vec![Pat::Any; parts];
                    self.useful_con(rows, row, &Con::Tuple, &any)
                }
                Some((Con::Variant(id, _), _)) => {
                    for variant in 0..self.data[id].variants.len() {
                        let con = Con::Variant(id, variant);
                        let any = vec![Pat::Any; self.arity(&con, 0)];
                        if self.useful_con(rows.clone(), row.clone(), &con, &any)? {
                            return Ok(true);
                        }
                    }
                    Ok(false)
                }
                Some((Con::Int(_, _, ty), _)) => {
                    let (min, max) = whole(ty);
                    self.useful_con(rows, row, &Con::Int(min, max, ty), &[])
                }
            },
        }
    }

    /// The same for a row without its first pattern, which is a constructor with these parts.
    fn useful_con(
        &mut self,
        rows: Vec<Row<'_>>,
        row: Row<'_>,
        con: &Con,
        parts: &[Pat],
    ) -> Result<bool, Overspent> {
        let cases: Vec<Con> = match con {
            Con::Int(lo, hi, _) if row.is_empty() => {
                self.spend(rows.len(), 1)?;
                let all = rows.iter().any(|row| matches!(row.last(), Some(Pat::Any)));
                return Ok(!all && first_gap(&rows, (*lo, *hi)).is_some());
            }
            Con::Int(lo, hi, ty) => segments(&rows, (*lo, *hi))
                .into_iter()
                .map(|(lo, hi)| Con::Int(lo, hi, *ty))
                .collect(),
            Con::Array(before, after, rest) => {
                let least = before + after;
                let longest = longest_array(&rows).max(least);
                if longest > LONGEST {
                    return Ok(true);
                }
                let last = if *rest { longest + 1 } else { least };
                (least..=last).map(|length| Con::Array(length, 0, false)).collect()
            }
            Con::Variant(..) | Con::Tuple | Con::Str(_) | Con::Float(..) => vec![con.clone()],
        };
        for case in cases {
            let arity = match &case {
                Con::Array(length, ..) => *length,
                case => self.arity(case, parts.len()),
            };
            self.spend(rows.len(), row.len())?;
            let above = rows.iter().cloned();
            let above = above.filter_map(|row| specialise(row, &case, arity)).collect();
            let mut row = row.clone();
            push_parts(&mut row, con, parts, arity);
            if self.useful(above, row)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Rows whose first pattern has alternatives become one row for each.
    fn split_alternatives<'p>(&mut self, rows: Vec<Row<'p>>) -> Result<Vec<Row<'p>>, Overspent> {
        if !rows.iter().any(|row| matches!(row.last(), Some(Pat::Or(_)))) {
            return Ok(rows);
        }
        let mut split = Vec::new();
        let mut open = rows;
        open.reverse();
        while let Some(mut row) = open.pop() {
            match row.last() {
                Some(Pat::Or(items)) => {
                    self.spend(items.len(), row.len())?;
                    row.pop();
                    for item in items.iter().rev() {
                        let mut row = row.clone();
                        row.push(item);
                        open.push(row);
                    }
                }
                _ => split.push(row),
            }
        }
        Ok(split)
    }

    // ---------------------------------------------------------------- cases as text

    /// A case in the syntax of the language.
    pub(super) fn show(&self, pat: &Pat) -> String {
        let (con, parts) = match pat {
            Pat::Any => return "_".into(),
            Pat::Or(items) => {
                let items: Vec<_> = items.iter().map(|item| self.show(item)).collect();
                return items.join(" | ");
            }
            Pat::Con(con, parts) => (con, parts),
        };
        let shown = || parts.iter().map(|part| self.show(part)).collect::<Vec<_>>().join(", ");
        match con {
            Con::Int(lo, hi, ScalarType::Bool) if lo == hi => (*lo == 1).to_string(),
            Con::Int(lo, hi, ty) => match (whole(*ty), lo == hi) {
                (_, true) => lo.to_string(),
                ((min, max), _) if *lo == min && *hi == max => "_".into(),
                ((min, _), _) if *lo == min => format!("..={hi}"),
                ((_, max), _) if *hi == max => format!("{lo}.."),
                _ => format!("{lo}..={hi}"),
            },
            Con::Tuple if parts.iter().all(|part| *part == Pat::Any) => "_".into(),
            Con::Tuple if parts.len() == 1 => format!("({},)", shown()),
            Con::Tuple => format!("({})", shown()),
            Con::Variant(id, variant) => {
                let data = &self.data[*id];
                let Some(variant) = data.variants.get(*variant) else { return "_".into() };
                let name = match data.is_enum {
                    true => format!("{}::{}", data.name, variant.name),
                    false => data.name.to_string(),
                };
                if parts.is_empty() {
                    return name;
                }
                if variant.positional {
                    return format!("{name}({})", shown());
                }
                let mut fields: Vec<String> = variant
                    .fields
                    .iter()
                    .zip(parts)
                    .filter(|(_, part)| **part != Pat::Any)
                    .map(|(field, part)| format!("{field}: {}", self.show(part)))
                    .collect();
                match fields.len() {
                    0 if !data.is_enum => return "_".into(),
                    count if count < parts.len() => fields.push("..".into()),
                    _ => {}
                }
                format!("{name} {{ {} }}", fields.join(", "))
            }
            Con::Str(text) => format!("{:?}", text.as_str()),
            Con::Float(..) | Con::Array(..) => "_".into(),
        }
    }
}

/// The first constructor in the first column, and how many parts it has there.
fn first_con(rows: &[Row<'_>]) -> Option<(Con, usize)> {
    rows.iter().find_map(|row| match row.last() {
        Some(Pat::Con(con, parts)) => Some((con.clone(), parts.len())),
        Some(Pat::Any | Pat::Or(_)) | None => None,
    })
}

/// The longest array pattern in the first column.
fn longest_array(rows: &[Row<'_>]) -> usize {
    let lengths = rows.iter().map(|row| match row.last() {
        Some(Pat::Con(Con::Array(before, after, _), _)) => before + after,
        _ => 0,
    });
    lengths.max().unwrap_or(0)
}

/// The first integers of an interval that no interval in the first column covers.
fn first_gap(rows: &[Row<'_>], (lo, hi): (i128, i128)) -> Option<(i128, i128)> {
    let mut covered: Vec<(i128, i128)> = rows
        .iter()
        .filter_map(|row| match row.last() {
            Some(Pat::Con(Con::Int(from, to, _), _)) => Some((*from, *to)),
            _ => None,
        })
        .collect();
    covered.sort_unstable();
    let mut next = lo;
    for (from, to) in covered {
        if from > next {
            return (next <= hi).then_some((next, hi.min(from - 1)));
        }
        next = next.max(to + 1);
    }
    (next <= hi).then_some((next, hi))
}

/// An interval cut at the ends of all intervals in the first column.
fn segments(rows: &[Row<'_>], (lo, hi): (i128, i128)) -> Vec<(i128, i128)> {
    // The first values of segments.
    let mut starts = vec![lo];
    for row in rows {
        if let Some(Pat::Con(Con::Int(from, to, _), _)) = row.last() {
            starts.extend([*from, to + 1].into_iter().filter(|start| lo < *start && *start <= hi));
        }
    }
    starts.sort_unstable();
    starts.dedup();
    let ends = starts.iter().skip(1).map(|start| start - 1).chain([hi]);
    starts.iter().copied().zip(ends).filter(|(lo, hi)| lo <= hi).collect()
}

/// A row for values whose first part is made in a way that no row names.
fn without_first(mut row: Row<'_>) -> Option<Row<'_>> {
    match row.pop() {
        Some(Pat::Any) => Some(row),
        _ => None,
    }
}

/// A row for values whose first part is made in one way; nothing if it does not match them.
fn specialise<'p>(mut row: Row<'p>, con: &Con, arity: usize) -> Option<Row<'p>> {
    match row.pop()? {
        Pat::Any => row.extend(std::iter::repeat_n(&ANY, arity)),
        Pat::Con(own, parts) => {
            let fits = match (own, con) {
                (Con::Int(a, b, _), Con::Int(lo, hi, _)) => a <= lo && hi <= b,
                (Con::Array(before, after, rest), Con::Array(length, ..)) => {
                    before + after == *length || *rest && before + after < *length
                }
                (own, con) => own == con,
            };
            if !fits {
                return None;
            }
            push_parts(&mut row, own, parts, arity);
        }
        Pat::Or(_) => return None,
    }
    Some(row)
}

/// The parts of a constructor as columns; an array is filled up to the length asked for.
fn push_parts<'p>(row: &mut Row<'p>, con: &Con, parts: &'p [Pat], arity: usize) {
    let (before, after) = match con {
        Con::Array(before, ..) => parts.split_at((*before).min(parts.len())),
        _ => (parts, &parts[parts.len()..]),
    };
    row.extend(after.iter().rev());
    row.extend(std::iter::repeat_n(&ANY, arity.saturating_sub(parts.len())));
    row.extend(before.iter().rev());
}
