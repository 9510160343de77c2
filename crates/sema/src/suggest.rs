//! The nearest known name, for "did you mean".

use ein_base::Symbol;

/// Finds the name nearest to one that is not known.
pub(crate) struct Nearest<'a> {
    wanted: &'a str,
    limit: usize,
    best: Option<(usize, Symbol)>,
}

impl<'a> Nearest<'a> {
    /// Looks for names near `wanted`.
    pub(crate) fn new(wanted: &'a str) -> Self {
        let limit = (wanted.chars().count() / 3).min(3);
        Self { wanted, limit, best: None }
    }

    /// Takes a name into account; one of the wrong kind must be nearer to win.
    pub(crate) fn offer(&mut self, name: Symbol, right_kind: bool) {
        let text = name.as_str();
        if text == self.wanted || text.len().abs_diff(self.wanted.len()) > 4 * self.limit {
            return;
        }
        let distance = if text.eq_ignore_ascii_case(self.wanted) {
            0
        } else {
            match distance(self.wanted, text, self.limit) {
                Some(distance) => distance,
                None => return,
            }
        };
        let cost = 2 * distance + usize::from(!right_kind);
        if self.best.is_none_or(|(best, _)| cost < best) {
            self.best = Some((cost, name));
        }
    }

    /// The nearest of all names offered.
    pub(crate) fn best(&self) -> Option<Symbol> {
        self.best.map(|(_, name)| name)
    }
}

/// The candidate nearest to a name, if one is near.
pub(crate) fn nearest(
    name: Symbol,
    candidates: impl IntoIterator<Item = Symbol>,
) -> Option<Symbol> {
    let mut nearest = Nearest::new(name.as_str());
    for candidate in candidates {
        nearest.offer(candidate, true);
    }
    nearest.best()
}

/// The number of insertions, deletions, replacements and swaps of neighbours between two names,
/// if it is at most `limit`.
fn distance(a: &str, b: &str, limit: usize) -> Option<usize> {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    if limit == 0 || a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (above[j] + 1).min(row[j - 1] + 1).min(above[j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().filter(|d| *d <= limit)
}

#[cfg(test)]
mod tests {
    use super::nearest;
    use ein_base::Symbol;

    #[track_caller]
    fn check(name: &str, known: &[&str], expected: Option<&str>) {
        let known = known.iter().map(|name| Symbol::intern(name));
        let found = nearest(Symbol::intern(name), known);
        assert_eq!(found.map(Symbol::as_str), expected, "{name}");
    }

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        check("lenght", &["width", "length"], Some("length"));
        check("Batch", &["row", "batch"], Some("batch"));
        check("colour", &["shape", "mass"], None);
        check("ab", &["cd"], None);
    }
}
