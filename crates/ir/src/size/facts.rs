//! What is known, what an answer looks like, and how long a question may take.

use std::sync::Arc;

use super::{Atom, Expr};

/// A conjunction of hypotheses about integers. Cheap to clone and to extend.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    items: Vec<Arc<Fact>>,
}

/// One hypothesis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fact {
    pub(super) expr: Expr,
    pub(super) relation: Relation,
}

/// How the expression of a fact stands to zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Relation {
    AtLeast,
    Equal,
    Differs,
}

impl Facts {
    /// Nothing is known.
    pub fn new() -> Facts {
        Facts::default()
    }

    /// Adds `e >= 0`.
    pub fn ge0(&mut self, e: Expr) {
        self.push(e, Relation::AtLeast);
    }

    /// Adds `e == 0`.
    pub fn eq0(&mut self, e: Expr) {
        self.push(e, Relation::Equal);
    }

    /// Adds `e != 0`.
    pub fn ne0(&mut self, e: Expr) {
        self.push(e, Relation::Differs);
    }

    /// Adds `a <= b`.
    pub fn le(&mut self, a: &Expr, b: &Expr) {
        self.ge0(b.sub(a));
    }

    /// Adds `a < b`.
    pub fn lt(&mut self, a: &Expr, b: &Expr) {
        self.ge0(b.sub(a).offset(-1));
    }

    /// Adds `a == b`.
    pub fn eq(&mut self, a: &Expr, b: &Expr) {
        self.eq0(a.sub(b));
    }

    /// Adds `lo <= atom < hi`.
    pub fn with_range(&mut self, atom: Atom, lo: &Expr, hi: &Expr) {
        let atom = Expr::atom(atom);
        self.le(lo, &atom);
        self.lt(&atom, hi);
    }

    /// Adds every fact of another set.
    pub fn extend(&mut self, other: &Facts) {
        self.items.extend(other.items.iter().cloned());
    }

    /// How many facts there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Goes back to the first `len` facts.
    pub fn truncate(&mut self, len: usize) {
        self.items.truncate(len);
    }

    /// Keeps the facts whose expression satisfies the predicate.
    pub fn retain(&mut self, keep: &dyn Fn(&Expr) -> bool) {
        self.items.retain(|fact| keep(&fact.expr));
    }

    /// The expressions in the order they were added: each is at least, equal to, or different from 0.
    pub fn iter(&self) -> impl Iterator<Item = &Expr> {
        self.items.iter().map(|fact| &fact.expr)
    }

    /// The atoms that occur in the facts, sorted, each once.
    pub fn atoms(&self) -> Vec<Atom> {
        let mut atoms = Vec::new();
        for fact in &self.items {
            fact.expr.collect_atoms(&mut atoms);
        }
        atoms.sort_unstable();
        atoms.dedup();
        atoms
    }

    /// Whether a point satisfies every fact; false also where one is undefined.
    pub fn hold_at(&self, value: &dyn Fn(Atom) -> Option<i64>) -> bool {
        self.items.iter().all(|fact| fact.holds_at(value))
    }

    pub(super) fn items(&self) -> &[Arc<Fact>] {
        &self.items
    }

    fn push(&mut self, expr: Expr, relation: Relation) {
        self.items.push(Arc::new(Fact { expr, relation }));
    }
}

impl Fact {
    pub(super) fn holds_at(&self, value: &dyn Fn(Atom) -> Option<i64>) -> bool {
        self.expr.eval(value).is_some_and(|value| match self.relation {
            Relation::AtLeast => value >= 0,
            Relation::Equal => value == 0,
            Relation::Differs => value != 0,
        })
    }
}

/// A point: a value for every atom of the question, sorted by atom.
pub type Witness = Vec<(Atom, i64)>;

/// The answer to a question about all points that satisfy the facts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Truth {
    /// It holds at every such point at which it is defined (also if there is none).
    Proved,
    /// It fails at this one, which satisfies all facts; both were checked by evaluation.
    Refuted(Witness),
    /// Neither was found within the budget.
    Unknown,
}

impl Truth {
    /// Whether it was proved.
    pub fn is_proved(&self) -> bool {
        matches!(self, Truth::Proved)
    }

    /// Whether it was refuted.
    pub fn is_refuted(&self) -> bool {
        matches!(self, Truth::Refuted(_))
    }

    /// The point at which it fails.
    pub fn witness(&self) -> Option<&Witness> {
        match self {
            Truth::Refuted(witness) => Some(witness),
            Truth::Proved | Truth::Unknown => None,
        }
    }
}

/// The elementary steps a question may still take.
#[derive(Clone, Debug)]
pub struct Budget {
    left: u64,
}

impl Budget {
    /// The steps of one question: a few milliseconds at most.
    pub const DEFAULT: u64 = 50_000;

    /// This many steps.
    pub fn new(steps: u64) -> Budget {
        Budget { left: steps }
    }

    /// Takes some steps; false once they do not suffice.
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        let steps = steps as u64;
        if self.left < steps {
            self.left = 0;
            return false;
        }
        self.left -= steps;
        true
    }

    /// A part of what is left, to be tried before the rest.
    pub(super) fn part(&self, divisor: u64) -> Budget {
        Budget { left: self.left / divisor.max(1) }
    }

    /// The steps left.
    pub fn left(&self) -> u64 {
        self.left
    }
}

impl Default for Budget {
    fn default() -> Budget {
        Budget::new(Budget::DEFAULT)
    }
}
