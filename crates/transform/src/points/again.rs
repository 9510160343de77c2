//! Steps of which only the last state is kept, until a condition holds: a loop whose length only the
//! run knows (a while loop).

use super::{Arr, Ix, Node, Points, Write};

/// For each point of the leading indices: the states are filled, then changed step by step until the
/// condition holds of them, and what is wanted of the last ones is kept.
///
/// Inside, a state is read as an array. Those without axes are meant to be registers.
#[derive(Clone, Debug)]
pub struct Again {
    /// The indices of the leading axes of the results: for each of their points it runs by itself.
    pub around: Vec<Ix>,
    /// The first states; one write fills each.
    pub first: Vec<Write>,
    /// What is filled in each step before the condition is asked, in order, from the states and what
    /// stands before.
    pub parts: Vec<Write>,
    /// What is computed in each step because it may fail.
    pub also: Vec<Node>,
    /// Whether the states are the last ones.
    pub done: Node,
    /// What the states become, all at once: each state with what is written, which goes to the state
    /// itself if that has no axes, and otherwise to an array that is set aside.
    pub next: Vec<(Arr, Write)>,
    /// What is kept of the last states.
    pub results: Vec<Write>,
}

impl Again {
    /// The arrays that are filled, the states first.
    pub fn filled(&self) -> Vec<Arr> {
        let mut filled: Vec<Arr> = Vec::new();
        let next = self.next.iter().map(|(_, write)| write);
        for write in self.first.iter().chain(&self.parts).chain(next).chain(&self.results) {
            if !filled.contains(&write.arr) {
                filled.push(write.arr);
            }
        }
        filled
    }

    /// All writes, in the order in which they are made.
    pub fn writes(&self) -> impl Iterator<Item = &Write> {
        let next = self.next.iter().map(|(_, write)| write);
        self.first.iter().chain(&self.parts).chain(next).chain(&self.results)
    }

    /// The nodes that are computed.
    pub fn roots(&self) -> Vec<Node> {
        let mut roots: Vec<Node> = self.writes().flat_map(Write::roots).collect();
        roots.extend(&self.also);
        roots.push(self.done);
        roots
    }

    /// Calls `f` with every node, to be replaced.
    pub fn each_node(&mut self, f: &mut dyn FnMut(&mut Node)) {
        let next = self.next.iter_mut().map(|(_, write)| write);
        let before = self.first.iter_mut().chain(&mut self.parts);
        before.chain(next).chain(&mut self.results).for_each(|write| write.each_node(f));
        self.also.iter_mut().for_each(&mut *f);
        f(&mut self.done);
    }

    /// Keeps a result in another array.
    pub fn keep_in(&mut self, arr: Arr, instead: Arr) {
        for write in self.results.iter_mut().filter(|write| write.arr == arr) {
            write.arr = instead;
        }
    }

    /// Whether an array is read in the steps, so that what is computed there is computed in each.
    pub fn loops_over(&self, points: &Points, arr: Arr) -> bool {
        let next = self.next.iter().map(|(_, write)| write);
        let writes = self.parts.iter().chain(next).flat_map(Write::roots);
        let roots: Vec<Node> = writes.chain(self.also.iter().copied()).chain([self.done]).collect();
        points.loads(&roots).iter().any(|(of, _)| *of == arr)
    }

    /// The parts that have to be there when the condition is asked, or when the results are kept: the
    /// others are for the next states only.
    pub fn asked_parts(&self, points: &Points) -> Vec<bool> {
        let results = self.results.iter().flat_map(Write::roots);
        let mut roots: Vec<Node> = results.chain(self.also.iter().copied()).collect();
        roots.push(self.done);
        let mut asked = vec![false; self.parts.len()];
        for (at, part) in self.parts.iter().enumerate().rev() {
            asked[at] = points.loads(&roots).iter().any(|(arr, _)| *arr == part.arr);
            if asked[at] {
                roots.extend(part.roots());
            }
        }
        asked
    }
}

impl Write {
    /// The nodes that a write is made of.
    pub fn roots(&self) -> Vec<Node> {
        let bounds = self.loops.iter().flat_map(|(_, lo, hi)| [*lo, *hi]);
        bounds.chain(self.at.iter().copied()).chain([self.value]).collect()
    }

    /// Calls `f` with every node, to be replaced.
    pub fn each_node(&mut self, f: &mut dyn FnMut(&mut Node)) {
        for (_, lo, hi) in &mut self.loops {
            f(lo);
            f(hi);
        }
        self.at.iter_mut().for_each(&mut *f);
        f(&mut self.value);
    }
}
