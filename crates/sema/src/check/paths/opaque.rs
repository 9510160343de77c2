//! Expressions that the symbolic algebra cannot speak about, and the atoms that stand for them.
//!
//! A stack, since what is known on a path ends with it, found by what the expression is and by its
//! atom: a long program binds many such expressions.

use super::peel;
use ein_ir::size::Atom;
use ein_ir::tensor::{Expr, ExprKind};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

/// All opaque expressions of a path.
#[derive(Clone, Debug, Default)]
pub(super) struct Opaque {
    list: Vec<Entry>,
    /// The entries with this digest, in order.
    by_digest: FxHashMap<u64, Vec<usize>>,
    /// The first entry of an atom.
    by_atom: FxHashMap<Atom, usize>,
}

#[derive(Clone, Debug)]
struct Entry {
    e: Expr,
    atom: Atom,
    digest: Option<u64>,
}

impl Opaque {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }
    /// Forgets all but the first `len`.
    pub fn truncate(&mut self, len: usize) {
        while self.list.len() > len
            && let Some(Entry { atom, digest, .. }) = self.list.pop()
        {
            if let Some(entries) = digest.and_then(|digest| self.by_digest.get_mut(&digest)) {
                entries.pop();
            }
            if self.by_atom.get(&atom) == Some(&self.list.len()) {
                self.by_atom.remove(&atom);
            }
        }
    }
    /// Says that an atom stands for an expression.
    pub fn push(&mut self, e: Expr, atom: Atom) {
        let (digest, at) = (digest(&e), self.list.len());
        if let Some(digest) = digest {
            self.by_digest.entry(digest).or_default().push(at);
        }
        self.by_atom.entry(atom).or_insert(at);
        self.list.push(Entry { e, atom, digest });
    }
    /// The atom of an expression that computes the same.
    pub fn atom(&self, e: &Expr) -> Option<Atom> {
        let entries = self.by_digest.get(&digest(e)?)?;
        entries.iter().map(|at| &self.list[*at]).find(|it| same(&it.e, e)).map(|it| it.atom)
    }
    /// The expression that an atom stands for.
    pub fn expr(&self, atom: Atom) -> Option<&Expr> {
        self.by_atom.get(&atom).map(|at| &self.list[*at].e)
    }
    /// All of them, in the order in which they were met.
    pub fn iter(&self) -> impl Iterator<Item = (&Expr, Atom)> {
        self.list.iter().map(|it| (&it.e, it.atom))
    }
}

/// Whether two expressions compute the same for sure. Calls may read files, so they never do.
fn same(a: &Expr, b: &Expr) -> bool {
    let (a, b) = (peel(a), peel(b));
    match (&*a.kind, &*b.kind) {
        (ExprKind::Const(a), ExprKind::Const(b)) => a == b,
        (ExprKind::Var(a), ExprKind::Var(b)) => a == b,
        (ExprKind::Size(a), ExprKind::Size(b)) => a == b,
        (ExprKind::Unary(p, a), ExprKind::Unary(q, b)) => p == q && same(a, b),
        (ExprKind::Binary(p, a, c), ExprKind::Binary(q, b, d)) => {
            p == q && same(a, b) && same(c, d)
        }
        (ExprKind::And(a, c), ExprKind::And(b, d)) | (ExprKind::Or(a, c), ExprKind::Or(b, d)) => {
            same(a, b) && same(c, d)
        }
        (ExprKind::Cast(x), ExprKind::Cast(y)) => a.ty == b.ty && same(x, y),
        (
            ExprKind::If { cond: a, then: b, otherwise: c },
            ExprKind::If { cond: x, then: y, otherwise: z },
        ) => same(a, x) && same(b, y) && same(c, z),
        (ExprKind::Index { base: a, indices: p }, ExprKind::Index { base: b, indices: q }) => {
            same(a, b)
                && p.len() == q.len()
                && p.iter().zip(q).all(|(p, q)| same(&p.value, &q.value))
        }
        (ExprKind::TupleGet(a, i), ExprKind::TupleGet(b, j))
        | (ExprKind::FieldGet(a, i), ExprKind::FieldGet(b, j)) => i == j && same(a, b),
        _ => false,
    }
}

/// A number that expressions have in common if they are the same; `None` if nothing is the same as
/// this one.
fn digest(e: &Expr) -> Option<u64> {
    let mut hasher = FxHasher::default();
    add(e, &mut hasher).then(|| hasher.finish())
}

fn add(e: &Expr, to: &mut FxHasher) -> bool {
    let e = peel(e);
    std::mem::discriminant(&*e.kind).hash(to);
    match &*e.kind {
        // Equal numbers may differ in their bits; sizes are compared, not read.
        ExprKind::Const(value) => {
            value.as_i64().hash(to);
            true
        }
        ExprKind::Size(_) => true,
        ExprKind::Var(var) => {
            var.hash(to);
            true
        }
        ExprKind::Unary(op, a) => {
            op.hash(to);
            add(a, to)
        }
        ExprKind::Binary(op, a, b) => {
            op.hash(to);
            add(a, to) && add(b, to)
        }
        ExprKind::And(a, b) | ExprKind::Or(a, b) => add(a, to) && add(b, to),
        ExprKind::Cast(a) => add(a, to),
        ExprKind::If { cond, then, otherwise } => {
            add(cond, to) && add(then, to) && add(otherwise, to)
        }
        ExprKind::Index { base, indices } => {
            add(base, to) && indices.iter().all(|index| add(&index.value, to))
        }
        ExprKind::TupleGet(a, i) | ExprKind::FieldGet(a, i) => {
            i.hash(to);
            add(a, to)
        }
        _ => false,
    }
}
