//! The names that a text gives to variables, and which of them are left again where a scope ends.

use ein_ir::tensor::VarId;
use rustc_hash::{FxHashMap, FxHashSet};

/// Names that are given.
#[derive(Default)]
pub(super) struct Names {
    /// Names that the program uses.
    taken: FxHashSet<String>,
    of: FxHashMap<VarId, String>,
    /// How many variables have a name.
    uses: FxHashMap<String, usize>,
    /// Below these numbers a name has no free one.
    next: FxHashMap<String, u32>,
    /// What was given, and what the variable was called before.
    given: Vec<(VarId, Option<String>)>,
}

/// How much was given at some time.
#[derive(Clone, Copy)]
pub(super) struct Mark(usize);

impl Names {
    /// Keeps a name from being given.
    pub fn reserve(&mut self, name: &str) {
        self.taken.insert(name.to_owned());
    }

    /// The name of a variable, if it has one.
    pub fn get(&self, var: VarId) -> Option<&str> {
        self.of.get(&var).map(String::as_str)
    }

    /// Gives a variable a name.
    pub fn insert(&mut self, var: VarId, name: String) {
        *self.uses.entry(name.clone()).or_default() += 1;
        let before = self.of.insert(var, name);
        if let Some(before) = &before {
            self.leave(before);
        }
        self.given.push((var, before));
    }

    /// Now, to come back to.
    pub fn mark(&self) -> Mark {
        Mark(self.given.len())
    }

    /// Takes back what was given since then.
    pub fn reset(&mut self, mark: Mark) {
        while self.given.len() > mark.0 {
            let Some((var, before)) = self.given.pop() else { return };
            let now = match before {
                Some(before) => {
                    *self.uses.entry(before.clone()).or_default() += 1;
                    self.of.insert(var, before)
                }
                None => self.of.remove(&var),
            };
            if let Some(now) = now {
                self.leave(&now);
            }
        }
    }

    fn leave(&mut self, name: &str) {
        if let Some(uses) = self.uses.get_mut(name) {
            *uses -= 1;
            if *uses > 0 {
                return;
            }
            self.uses.remove(name);
        }
        if let Some((plain, number)) = name.rsplit_once('_')
            && let Ok(number) = number.parse::<u32>()
            && let Some(next) = self.next.get_mut(plain)
        {
            *next = number.min(*next);
        }
    }

    pub fn is_free(&self, name: &str) -> bool {
        !self.taken.contains(name) && !self.uses.contains_key(name)
    }

    /// A name, or with the first number that makes it one of its own.
    pub fn numbered(&mut self, name: &str) -> String {
        if self.is_free(name) {
            return name.to_string();
        }
        let mut number = self.next.get(name).copied().unwrap_or(1);
        while !self.is_free(&format!("{name}_{number}")) {
            number += 1;
        }
        self.next.insert(name.to_owned(), number);
        format!("{name}_{number}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ein_base::Idx as _;

    #[test]
    fn numbers_are_the_first_free_ones() {
        let mut names = Names::default();
        let var = |at: usize| VarId::from_usize(at);
        names.reserve("x_2");
        let give = |names: &mut Names, at| {
            let name = names.numbered("x");
            names.insert(var(at), name.clone());
            name
        };
        assert_eq!((give(&mut names, 0), give(&mut names, 1)), ("x".into(), "x_1".into()));
        let mark = names.mark();
        assert_eq!((give(&mut names, 2), give(&mut names, 3)), ("x_3".into(), "x_4".into()));
        names.insert(var(1), "y".into());
        assert_eq!(give(&mut names, 4), "x_1");
        names.reset(mark);
        assert_eq!(names.get(var(1)), Some("x_1"));
        assert_eq!(names.get(var(2)), None);
        assert_eq!(give(&mut names, 5), "x_3");
    }
}
