//! Scratch buffers that are never in use at the same time share their memory.
//!
//! Before:  `scratch a: f32[100]`, `scratch b: f32[60]`, where `b` is first used after `a` was last
//! After:   `scratch a: f32[100]`, used for both
//!
//! A buffer is in use from the first to the last statement of the kernel that mentions it; a loop
//! with all that is in it is one statement.
//!
//! Needs: nothing; what a buffer holds at first is undefined anyway.
//! Refuses: elements of different types.
//! Limit: a result never takes the place of an operand of the same statement.

use super::emit::Use;
use ein_base::IndexVec;
use ein_ir::loops::{Addr, Buf, Buffer, BufferKind, Kernel, Op, Stmt, captures};
use std::collections::BTreeMap;

/// Shares memory. Gives for every buffer the one that it is now.
pub(crate) fn run(kernel: &mut Kernel, uses: &mut Vec<Use>) -> IndexVec<Buf, Buf> {
    let shared = places(kernel);
    let mut now: IndexVec<Buf, Buf> = IndexVec::default();
    let mut bufs: IndexVec<Buf, Buffer> = IndexVec::default();
    let mut kept = Vec::new();
    for ((buf, buffer), used) in kernel.bufs.iter_enumerated().zip(uses.iter()) {
        match shared.get(&buf) {
            // Its place comes before it.
            Some(place) => {
                let place = now[*place];
                bufs[place].len = bufs[place].len.max(buffer.len);
                now.push(place);
            }
            None => {
                now.push(bufs.push(buffer.clone()));
                kept.push(used.clone());
            }
        }
    }
    kernel.bufs = bufs;
    *uses = kept;
    each_addr(&mut kernel.body, &mut |addr| addr.buf = now[addr.buf]);
    now
}

/// The buffers that move into another one, which is named before them.
fn places(kernel: &Kernel) -> BTreeMap<Buf, Buf> {
    let mut lives: BTreeMap<Buf, (usize, usize)> = BTreeMap::new();
    for (at, stmt) in kernel.body.iter().enumerate() {
        for buf in captures(std::slice::from_ref(stmt)).bufs {
            lives.entry(buf).or_insert((at, at)).1 = at;
        }
    }
    let mut moved = BTreeMap::new();
    // The buffers that stay, with the last use of what is in them.
    let mut homes: Vec<(Buf, usize)> = Vec::new();
    for (buf, (first, last)) in lives {
        let own = &kernel.bufs[buf];
        if own.kind != BufferKind::Scratch {
            continue;
        }
        let fits = |(home, until): &(Buf, usize)| *until < first && kernel.bufs[*home].ty == own.ty;
        let waste = |home: Buf| (kernel.bufs[home].len - own.len).abs();
        let found = (0..homes.len()).filter(|at| fits(&homes[*at]));
        match found.min_by_key(|at| waste(homes[*at].0)) {
            Some(at) => {
                homes[at].1 = last;
                moved.insert(buf, homes[at].0);
            }
            None => homes.push((buf, last)),
        }
    }
    moved
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
