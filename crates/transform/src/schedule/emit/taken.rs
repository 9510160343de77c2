//! Choices of which only the side that is taken is computed.
//!
//! Before:  `L[i, j] = if i == j { sqrt(… sum(k) …) } else { … sum(k) … }`, both sums for every cell
//! After:   a branch, with the sum of each side inside it
//!
//! Other things are computed faster than jumped over. What the sides share with other cells is still
//! hoisted out of them: only what the innermost loop around changes stays inside.
//!
//! Failures: those of the side that is not taken are not evaluated, as the program says. What is
//! hoisted out of a side may raise an alarm, in a kernel that is not careful.

use super::{Emit, Scope};
use crate::points::{Kind, Node};
use ein_ir::loops::{Operand, Stmt};
use ein_scalar::Scalar;
use rustc_hash::FxHashSet;

impl Emit {
    /// Whether a side of a choice holds a reduction that is computed where the choice is made.
    pub(super) fn is_dear_choice(&self, node: Node, yes: Node, no: Node) -> bool {
        let info = &self.points.nodes[node];
        if !info.reduces {
            return false;
        }
        let level = self.level(node);
        let of_indices = info.free.iter().filter_map(|ix| self.bound(*ix)).map(|(at, _)| at).max();
        // Nothing is jumped over in vectors, and what no loop changes is chosen once.
        let loops = level > 0
            && of_indices.is_some()
            && !(level..=self.here()).any(|it| self.is_vector(it));
        let dear = |side: Node| {
            self.points.nodes[side].reduces
                && self.points.below(&[side]).into_iter().any(|part| {
                    let reduces = matches!(self.points.nodes[part].kind, Kind::Reduce(_));
                    let open = self.points.nodes[part].free.iter().all(|ix| self.is_bound(*ix));
                    let known = self.scopes.iter().any(|scope| scope.knows(part));
                    reduces && open && !known && self.level(part) == level
                })
        };
        loops && (dear(yes) || dear(no))
    }

    /// A choice as a branch: its value, and the scope it is in.
    pub(super) fn taken(
        &mut self,
        node: Node,
        cond: Node,
        yes: Node,
        no: Node,
    ) -> (Operand, usize) {
        let level = self.level(node);
        let inner = self.scopes.split_off(level + 1);
        let cond = self.value(cond);
        let ty = self.points.nodes[node].ty;
        let var = self.reg(ty);
        self.push(Stmt::Var(var, Operand::Const(Scalar::zero(ty))));
        let yes = self.side(level, var, yes);
        let no = self.side(level, var, no);
        self.push(Stmt::If(cond, yes, no));
        let value = self.let_here(ty, ein_ir::loops::Op::Copy(Operand::Reg(var)));
        self.scopes.extend(inner);
        (value, level)
    }

    /// The statements of one side. Nothing that is computed in it is known outside, so reductions that
    /// others want are not computed with its own.
    fn side(&mut self, level: usize, var: ein_ir::loops::Reg, value: Node) -> Vec<Stmt> {
        // What the loop around changes belongs to the block.
        let ixs = self.scopes[level].ixs.clone();
        let floors = self.floors.clone();
        self.floors
            .values_mut()
            .filter(|floor| **floor == level)
            .for_each(|floor| *floor = level + 1);
        self.scopes.push(Scope { ixs, ..Scope::default() });
        let below: FxHashSet<Node> = self.points.below(&[value]).into_iter().collect();
        let own = self.wanted.iter().copied().filter(|node| below.contains(node)).collect();
        let wanted = std::mem::replace(&mut self.wanted, own);
        let value = self.value(value);
        self.wanted = wanted;
        self.push(Stmt::Set(var, value));
        self.floors = floors;
        self.close_block()
    }
}
