//! The nodes of a tree, in pieces of one size: a tree of any length grows without being moved, and
//! gives back what its reader is done with while another tree grows in its place.

use crate::Idx;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// How many bytes a piece takes: few for an allocator, many for a tree.
const PIECE: usize = 64 << 10;

/// Nodes by their ids, appended one by one.
#[derive(Clone, Debug)]
pub struct Nodes<I, T> {
    /// All full but the last.
    pieces: Vec<Vec<T>>,
    /// How many nodes of the front were forgotten.
    forgotten: usize,
    marker: PhantomData<fn(I) -> I>,
}

impl<I: Idx, T> Nodes<I, T> {
    /// How many bits of an id count within a piece.
    const BITS: u32 = (PIECE / size_of::<T>()).ilog2();
    /// How many nodes a piece holds.
    const LEN: usize = 1 << Self::BITS;

    /// No nodes.
    pub fn new() -> Self {
        Self { pieces: Vec::new(), forgotten: 0, marker: PhantomData }
    }
    /// How many nodes there are, forgotten ones included.
    pub fn len(&self) -> usize {
        match self.pieces.split_last() {
            Some((last, full)) => full.len() * Self::LEN + last.len(),
            None => 0,
        }
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }
    /// Appends a node and returns its id.
    pub fn push(&mut self, node: T) -> I {
        let id = I::from_usize(self.len());
        match self.pieces.last_mut() {
            Some(last) if last.len() < Self::LEN => last.push(node),
            other => {
                // A short file has a short first piece; a long one has no other like it.
                let room = if other.is_none() { 0 } else { Self::LEN };
                let mut piece = Vec::with_capacity(room);
                piece.push(node);
                self.pieces.push(piece);
            }
        }
        id
    }
    /// The node, if the id is in range and the node was not forgotten.
    pub fn get(&self, id: I) -> Option<&T> {
        self.pieces.get(id.index() >> Self::BITS)?.get(id.index() % Self::LEN)
    }
    /// All nodes that were not forgotten, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.pieces.iter().flatten()
    }
    /// Drops everything from `len` on; used by parsers that take a try back.
    pub fn truncate(&mut self, len: usize) {
        self.pieces.truncate(len.div_ceil(Self::LEN));
        if let Some(last) = self.pieces.get_mut(len >> Self::BITS) {
            last.truncate(len % Self::LEN);
        }
    }
    /// Gives back the pieces all of whose nodes come before `end`, the number of one. Nobody may
    /// ask for a node before it again.
    pub fn forget_before(&mut self, end: usize) {
        let from = self.forgotten >> Self::BITS;
        for piece in self.pieces.iter_mut().take(end >> Self::BITS).skip(from) {
            *piece = Vec::new();
        }
        self.forgotten = self.forgotten.max(end);
    }
}

impl<I: Idx, T> Default for Nodes<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Idx, T> Index<I> for Nodes<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        debug_assert!(id.index() >= self.forgotten, "the node {id:?} was given back");
        &self.pieces[id.index() >> Self::BITS][id.index() % Self::LEN]
    }
}

impl<I: Idx, T> IndexMut<I> for Nodes<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        debug_assert!(id.index() >= self.forgotten, "the node {id:?} was given back");
        &mut self.pieces[id.index() >> Self::BITS][id.index() % Self::LEN]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id;

    id!(
        /// A node.
        Node,
        "n"
    );

    fn numbers(count: u64) -> Nodes<Node, u64> {
        let mut nodes = Nodes::<Node, u64>::new();
        for number in 0..count {
            assert_eq!(nodes.push(number).index() as u64, number);
        }
        nodes
    }

    #[test]
    fn nodes_are_where_their_ids_say() {
        let piece = Nodes::<Node, u64>::LEN as u64;
        for count in [0, 1, piece - 1, piece, piece + 1, 3 * piece] {
            let nodes = numbers(count);
            assert_eq!(nodes.len() as u64, count);
            assert_eq!(nodes.is_empty(), count == 0);
            assert!(nodes.iter().copied().eq(0..count));
            assert!((0..count).all(|n| nodes[Node::from_usize(n as usize)] == n));
            assert_eq!(nodes.get(Node::from_usize(count as usize)), None);
        }
    }

    #[test]
    fn a_try_is_taken_back() {
        let piece = Nodes::<Node, u64>::LEN;
        for len in [0, 1, piece - 1, piece, piece + 1, 2 * piece, 2 * piece + 5] {
            let mut nodes = numbers(2 * piece as u64 + 5);
            nodes.truncate(len);
            assert_eq!(nodes.len(), len);
            assert_eq!(nodes.push(7).index(), len);
            assert_eq!(nodes[Node::from_usize(len)], 7);
        }
    }

    #[test]
    fn what_is_forgotten_is_given_back_and_the_rest_stays() {
        let piece = Nodes::<Node, u64>::LEN;
        let mut nodes = numbers(3 * piece as u64);
        nodes.forget_before(piece + 1);
        nodes.forget_before(2 * piece);
        assert_eq!(nodes.len(), 3 * piece);
        assert!(nodes.iter().copied().eq(2 * piece as u64..3 * piece as u64));
        assert_eq!(nodes[Node::from_usize(2 * piece)], 2 * piece as u64);
        assert_eq!(nodes.get(Node::from_usize(0)), None);
        assert_eq!(nodes.push(1).index(), 3 * piece);
    }
}
