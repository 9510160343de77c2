//! Scratch buffers that are never in use at the same time share their memory, with each other and
//! with results; and results are written in place into operands that nobody reads afterwards.
//!
//! Before:  `scratch a: f32[100]`, `scratch b: f32[60]`, where `b` is first used after `a` was last
//! After:   `scratch a: f32[100]`, used for both
//!
//! Before:  `gemm y = …`, `for i { store z[i] = tanh(load y[i]) }`, and `y` is read nowhere else
//! After:   `gemm z = …`, `for i { store z[i] = tanh(load z[i]) }`
//!
//! A buffer is in use from the first to the last statement of the kernel that mentions it, a result
//! to the end; a loop with all that is in it is one statement.
//!
//! Needs: which buffers are filled cell by cell, each cell once. What a buffer holds at first is
//! undefined anyway.
//! Refuses: elements of different types; in place, reads of any cell but the one that is written.
//!
//! Failures: none: buffers change their names, no operation its place.

use super::emit::Use;
use super::plan::{Making, What, Why, verify};
use ein_base::IndexVec;
use ein_ir::loops::{Addr, Buf, Buffer, BufferKind, Kernel, Op, Stmt, captures};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// Shares memory, and notes it. Gives for every buffer the one that it is now.
///
/// The cells of the buffers in `once` are each written at most once.
pub(crate) fn run(
    kernel: &mut Kernel,
    uses: &mut Vec<Use>,
    once: &FxHashSet<Buf>,
    plan: &mut Making,
) -> IndexVec<Buf, Buf> {
    let shared = places(kernel, once);
    for (buf, (home, why)) in &shared {
        let [buffer, with] = [*buf, *home].map(|it| kernel.bufs[it].name.clone());
        plan.note(What::Shares { buffer, with }, why.clone());
    }
    let shared: BTreeMap<Buf, Buf> =
        shared.into_iter().map(|(buf, (home, _))| (buf, home)).collect();
    debug_assert_eq!(verify::sharing(kernel, &shared, once), Vec::<String>::new());
    let home = |buf: Buf| shared.get(&buf).copied().unwrap_or(buf);
    for (buf, home) in &shared {
        kernel.bufs[*home].len = kernel.bufs[*home].len.max(kernel.bufs[*buf].len);
    }
    let mut bufs: IndexVec<Buf, Buffer> = IndexVec::default();
    let mut kept = Vec::new();
    let mut places = BTreeMap::new();
    for ((buf, buffer), used) in kernel.bufs.iter_enumerated().zip(uses.iter()) {
        if home(buf) == buf {
            places.insert(buf, bufs.push(buffer.clone()));
            kept.push(used.clone());
        }
    }
    let now: IndexVec<Buf, Buf> = kernel.bufs.ids().map(|buf| places[&home(buf)]).collect();
    kernel.bufs = bufs;
    *uses = kept;
    each_addr(&mut kernel.body, &mut |addr| addr.buf = now[addr.buf]);
    now
}

/// A buffer and the statements from its first to its last use.
#[derive(Clone, Copy)]
struct Life {
    buf: Buf,
    first: usize,
    last: usize,
}

/// The buffers that move into another one, which stays.
fn places(kernel: &Kernel, once: &FxHashSet<Buf>) -> BTreeMap<Buf, (Buf, Why)> {
    let mut moved = BTreeMap::new();
    // The buffers that stay, with what is in them one after another.
    let mut homes: Vec<(Buf, Vec<Life>)> = Vec::new();
    for life in lives(kernel) {
        let own = &kernel.bufs[life.buf];
        let fits = |(home, lives): &(Buf, Vec<Life>)| {
            let home = &kernel.bufs[*home];
            let large = home.kind == BufferKind::Scratch || home.len >= own.len;
            let free = lives.iter().all(|other| are_apart(kernel, once, life, *other));
            own.kind == BufferKind::Scratch && home.ty == own.ty && large && free
        };
        let waste = |home: Buf| (kernel.bufs[home].len - own.len).abs();
        let found = homes.iter_mut().filter(|home| fits(home));
        match found.min_by_key(|(home, _)| waste(*home)) {
            Some((home, lives)) => {
                let meets = |it: &Life| it.last == life.first || life.last == it.first;
                let why = match lives.iter().any(meets) {
                    true => Why::Since("each cell is read where it is overwritten"),
                    false => Why::Since("they are not in use at the same time"),
                };
                moved.insert(life.buf, (*home, why));
                lives.push(life);
            }
            None => homes.push((life.buf, vec![life])),
        }
    }
    moved
}

/// Where results and scratch are in use, from the last to the first: results, which stay where they
/// are, come first, and what ends before them finds their places free.
fn lives(kernel: &Kernel) -> Vec<Life> {
    let mut lives: BTreeMap<Buf, Life> = BTreeMap::new();
    for (at, stmt) in kernel.body.iter().enumerate() {
        for buf in captures(std::slice::from_ref(stmt)).bufs {
            let last = match kernel.bufs[buf].kind {
                BufferKind::Output => usize::MAX,
                BufferKind::Scratch => at,
                BufferKind::Input | BufferKind::Local => continue,
            };
            lives.entry(buf).or_insert(Life { buf, first: at, last }).last = last;
        }
    }
    let mut lives: Vec<Life> = lives.into_values().collect();
    lives.sort_by_key(|life| std::cmp::Reverse((life.last, life.first)));
    lives
}

/// Whether two buffers can be in the same place: one ends before the other begins, or cell by cell
/// while the other is filled.
fn are_apart(kernel: &Kernel, once: &FxHashSet<Buf>, a: Life, b: Life) -> bool {
    let (before, after) = if a.first < b.first { (a, b) } else { (b, a) };
    before.last < after.first
        || before.last == after.first
            && once.contains(&after.buf)
            && dies_into(&kernel.body[before.last], before.buf, after.buf)
}

/// Whether a statement reads the cells of one buffer only to write the same cells of another one,
/// which it does at most once in any run of its innermost block.
pub(super) fn dies_into(stmt: &Stmt, dying: Buf, born: Buf) -> bool {
    stores_after_loads(std::slice::from_ref(stmt), dying, born).is_some_and(|stores| stores <= 1)
}

/// How many stores to a buffer there are on any way through a block; `None` unless all that happens
/// to the other buffer are loads of a cell before it is stored in the same block.
fn stores_after_loads(block: &[Stmt], dying: Buf, born: Buf) -> Option<usize> {
    let mut stores = 0;
    let mut loaded: Vec<&Addr> = Vec::new();
    for stmt in block {
        match stmt {
            Stmt::Let(_, Op::Load(addr)) if addr.buf == dying => loaded.push(addr),
            Stmt::Store(addr, _) if addr.buf == dying => return None,
            Stmt::Store(addr, _) if addr.buf == born => {
                let same = |it: &&Addr| it.terms == addr.terms && it.offset == addr.offset;
                if !loaded.iter().all(same) {
                    return None;
                }
                loaded.clear();
                stores += 1;
            }
            // The place that was loaded has changed its name.
            Stmt::Set(var, _) if loaded.iter().any(|it| it.terms.iter().any(|t| t.0 == *var)) => {
                return None;
            }
            Stmt::Let(..) | Stmt::Var(..) | Stmt::Set(..) | Stmt::Store(..) | Stmt::Trap(_) => {}
            Stmt::For(inner) => stores += stores_after_loads(&inner.body, dying, born)?,
            Stmt::If(_, then, other) => {
                let then = stores_after_loads(then, dying, born)?;
                stores += then.max(stores_after_loads(other, dying, born)?);
            }
            Stmt::Gemm(gemm) => {
                let matrices = [&gemm.a, &gemm.b, &gemm.c];
                if matrices.iter().any(|it| it.addr.buf == dying || it.addr.buf == born) {
                    return None;
                }
            }
        }
    }
    loaded.is_empty().then_some(stores)
}

fn each_addr(block: &mut [Stmt], f: &mut impl FnMut(&mut Addr)) {
    for stmt in block {
        match stmt {
            Stmt::Let(_, Op::Load(addr)) | Stmt::Store(addr, _) => f(addr),
            Stmt::Let(..) | Stmt::Var(..) | Stmt::Set(..) | Stmt::Trap(_) => {}
            Stmt::For(inner) => each_addr(&mut inner.body, f),
            Stmt::If(_, then, other) => {
                each_addr(then, f);
                each_addr(other, f);
            }
            Stmt::Gemm(gemm) => {
                let gemm = &mut **gemm;
                [&mut gemm.a, &mut gemm.b, &mut gemm.c].into_iter().for_each(|it| f(&mut it.addr));
            }
        }
    }
}
