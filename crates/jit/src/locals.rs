//! Which function makes which local buffer.

use ein_base::Idx;
use ein_ir::loops::{Buf, BufferKind, For, ForKind, Kernel, Stmt, captures};
use std::collections::BTreeSet;

/// Which loop: its place in memory.
pub(crate) type LoopId = *const For;

/// What is known so far: nothing, or who makes a buffer.
type Owners = [Option<Option<LoopId>>];

/// For each local buffer the parallel loop whose body makes it, or `None` if the kernel does.
pub(crate) fn owners(kernel: &Kernel) -> Vec<Option<LoopId>> {
    let mut owners: Box<Owners> = vec![None; kernel.bufs.len()].into();
    find_owners(&kernel.body, &mut owners);
    kernel
        .bufs
        .iter_enumerated()
        .map(|(buf, buffer)| match buffer.kind {
            BufferKind::Local => owners[buf.index()].flatten(),
            BufferKind::Input | BufferKind::Output | BufferKind::Scratch => None,
        })
        .collect()
}

fn find_owners(block: &[Stmt], owners: &mut Owners) {
    fn note(owners: &mut Owners, bufs: BTreeSet<Buf>, owner: Option<LoopId>) {
        for buf in bufs {
            let known = &mut owners[buf.index()];
            *known = match *known {
                None => Some(owner),
                Some(other) if other == owner => Some(owner),
                Some(_) => Some(None),
            };
        }
    }
    for stmt in block {
        match stmt {
            Stmt::For(inner) => match inner.kind {
                ForKind::Parallel { .. } => {
                    note(owners, inner.captures().bufs, Some(&raw const **inner));
                }
                ForKind::Serial
                | ForKind::Backward
                | ForKind::Flushed
                | ForKind::Apart
                | ForKind::Until(_)
                | ForKind::Scan(_)
                | ForKind::Unrolled => find_owners(&inner.body, owners),
                ForKind::Vector { .. } | ForKind::Lanes(_) => {
                    note(owners, inner.captures().bufs, None);
                }
            },
            Stmt::If(_, then, other) => {
                find_owners(then, owners);
                find_owners(other, owners);
            }
            Stmt::Let(..)
            | Stmt::Var(..)
            | Stmt::Set(..)
            | Stmt::Trap(_)
            | Stmt::Store(..)
            | Stmt::Gemm(_) => {
                note(owners, captures(std::slice::from_ref(stmt)).bufs, None);
            }
        }
    }
}
