//! Sizes as far as the translators follow them: sums of size variables and a number.

use rustc_hash::FxHashMap;

/// A size variable.
pub(crate) type Var = u32;

/// `Σ cᵢ·vᵢ + k`, or something that is known only at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// A sum: the variables in order, each with its factor, and the number.
    Sum(Vec<(Var, i64)>, i64),
    /// Not known.
    Opaque,
}

impl Size {
    pub(crate) fn number(value: i64) -> Self {
        Size::Sum(Vec::new(), value)
    }

    pub(crate) fn var(var: Var) -> Self {
        Size::Sum(vec![(var, 1)], 0)
    }

    /// `self + factor · other`
    pub(crate) fn plus(&self, other: &Size, factor: i64) -> Size {
        let (Size::Sum(a, ka), Size::Sum(b, kb)) = (self, other) else { return Size::Opaque };
        let mut terms = a.clone();
        for (var, count) in b {
            let Some(count) = count.checked_mul(factor) else { return Size::Opaque };
            match terms.iter_mut().find(|it| it.0 == *var) {
                Some(term) => match term.1.checked_add(count) {
                    Some(sum) => term.1 = sum,
                    None => return Size::Opaque,
                },
                None => terms.push((*var, count)),
            }
        }
        terms.retain(|it| it.1 != 0);
        terms.sort_unstable();
        match kb.checked_mul(factor).and_then(|it| ka.checked_add(it)) {
            Some(k) => Size::Sum(terms, k),
            None => Size::Opaque,
        }
    }

    /// `self - other` where that is a number.
    pub(crate) fn distance(&self, other: &Size) -> Option<i64> {
        match self.plus(other, -1) {
            Size::Sum(terms, k) if terms.is_empty() => Some(k),
            _ => None,
        }
    }
}

/// Size variables and what is known of them.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    next: Var,
    known: FxHashMap<Var, Size>,
}

impl Sizes {
    /// A size that nothing is known about.
    pub(crate) fn fresh(&mut self) -> Size {
        self.next += 1;
        Size::var(self.next)
    }

    /// The size with everything known put in.
    pub(crate) fn resolve(&self, size: &Size) -> Size {
        let Size::Sum(terms, k) = size else { return Size::Opaque };
        let mut out = Size::number(*k);
        for (var, count) in terms {
            let value = match self.known.get(var) {
                Some(known) => self.resolve(known),
                None => Size::var(*var),
            };
            out = out.plus(&value, *count);
        }
        out
    }

    /// Makes two sizes equal if a variable stands alone on one side; what cannot be equal is left
    /// to the checker.
    pub(crate) fn unify(&mut self, a: &Size, b: &Size) {
        let (a, b) = (self.resolve(a), self.resolve(b));
        if a == b {
            return;
        }
        for (one, other) in [(&a, &b), (&b, &a)] {
            if let Size::Sum(terms, 0) = one
                && let [(var, 1)] = terms[..]
                && let Size::Sum(others, _) = other
                && others.iter().all(|it| it.0 != var)
            {
                self.known.insert(var, other.clone());
                return;
            }
        }
    }

    /// The size with its own variables, each the same one every time.
    pub(crate) fn instantiate(&mut self, size: &Size, map: &mut FxHashMap<Var, Size>) -> Size {
        let Size::Sum(terms, k) = self.resolve(size) else { return Size::Opaque };
        let mut out = Size::number(k);
        for (var, count) in terms {
            let own = match map.get(&var) {
                Some(own) => own.clone(),
                None => {
                    let own = self.fresh();
                    map.insert(var, own.clone());
                    own
                }
            };
            out = out.plus(&own, count);
        }
        out
    }
}
