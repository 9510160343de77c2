//! Sums of quotients by powers, as forces between bodies are: `sum[j](x[j] / d[j] ** 1.5)`.
//!
//! Before:  a square root and a division for every quotient
//! After:   one inverse power for all quotients, from an estimate and a step towards it
//!
//! The inverse power is off by less than two units in the last place, the quotient by less than one
//! of a rounded power would be. That holds for ordinary divisors. If one was not, as a zero or an
//! infinity, the loop runs again as it was written.
//!
//! Needs: sums that run in vectors, powers that are used as divisors only.
//! Limit: `f32` and the exponent 1.5.

use super::{Acc, neutral};
use crate::points::{Ix, Kind, Node};
use crate::schedule::emit::Emit;
use ein_ir::loops::{ForKind, Op, Operand, Reg, Stmt};
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};

/// Divisors of ordinary size are powers of numbers between this and its inverse: neither the power
/// nor its inverse comes near the ends of the range.
const LEAST: f32 = 1.0 / (1_u64 << 50) as f32;

impl Emit {
    /// Runs the loop over the terms with inverse powers, if there are any.
    pub(super) fn by_inverse_powers(
        &mut self,
        accs: &[Acc],
        ix: Ix,
        (lo, hi): (Operand, Operand),
    ) -> bool {
        let powers = self.power_divisors(accs, ix);
        if powers.is_empty() || self.points.exact {
            return false;
        }
        let parts: Vec<Acc> =
            accs.iter().map(|acc| self.anew(acc, self.kernel.regs[acc.var])).collect();
        let odd = self.reg(ScalarType::I32);
        self.push(Stmt::Var(odd, Operand::Const(Scalar::I32(0))));
        let mut reductions: Vec<(Reg, BinaryOp)> =
            parts.iter().map(|acc| (acc.var, acc.op())).collect();
        reductions.push((odd, BinaryOp::Max));
        self.open(ix, lo, hi, ForKind::Vector { reductions });
        self.note_odd(&powers, odd);
        for (power, base) in powers {
            let inverse = self.inverse_power(base);
            self.inverses.insert(power, inverse);
        }
        parts.iter().for_each(|acc| self.accumulate_one(acc, ix));
        self.inverses.clear();
        self.close();
        self.open_block();
        for acc in &parts {
            let first = neutral(acc.op(), self.kernel.regs[acc.var]);
            self.push(Stmt::Set(acc.var, Operand::Const(first)));
        }
        self.plain_terms(&parts, ix, (lo, hi), true);
        let again = self.close_block();
        let zero = Operand::Const(Scalar::I32(0));
        let some = Op::Binary(BinaryOp::Ne, Operand::Reg(odd), zero);
        let some = self.let_here(ScalarType::Bool, some);
        self.push(Stmt::If(some, again, Vec::new()));
        for (acc, part) in accs.iter().zip(&parts) {
            self.take_in(acc, Operand::Reg(part.var));
        }
        true
    }

    /// The powers that change in the loop and are divisors and nothing else, with their bases.
    fn power_divisors(&self, accs: &[Acc], ix: Ix) -> Vec<(Node, Node)> {
        let sums = |acc: &Acc| {
            acc.op() == BinaryOp::Add && acc.body_ty == ScalarType::F32 && acc.extra.is_none()
        };
        if !accs.iter().all(|acc| sums(acc) && self.kernel.regs[acc.var] == acc.body_ty) {
            return Vec::new();
        }
        let roots: Vec<Node> = accs
            .iter()
            .flat_map(|acc| [Some(acc.reduction.body), acc.reduction.guard])
            .flatten()
            .collect();
        let nodes = self.points.below(&roots);
        let mut found = Vec::new();
        for node in &nodes {
            let Kind::Binary(BinaryOp::Pow, base, exponent) = self.points.nodes[*node].kind else {
                continue;
            };
            let exponent = &self.points.nodes[exponent].kind;
            let divides = |user: &Node| match &self.points.nodes[*user].kind {
                Kind::Binary(BinaryOp::Div, a, b) => a != node && b == node,
                _ => false,
            };
            let uses = |user: &Node| {
                let mut uses = false;
                self.points.each_child(*user, &mut |child| uses |= child == *node);
                uses
            };
            if *exponent == Kind::Const(Scalar::F32(1.5))
                && self.points.depends(*node, ix)
                && !roots.contains(node)
                && nodes.iter().filter(|user| uses(user)).all(divides)
            {
                found.push((*node, base));
            }
        }
        found
    }

    /// Notes in a variable whether a base is not of ordinary size.
    fn note_odd(&mut self, powers: &[(Node, Node)], odd: Reg) {
        let bool = ScalarType::Bool;
        let number = |value: f32| Operand::Const(Scalar::F32(value));
        let mut ordinary: Option<Operand> = None;
        for (_, base) in powers {
            let base = self.value(*base);
            let above = self.let_here(bool, Op::Binary(BinaryOp::Ge, base, number(LEAST)));
            let below = self.let_here(bool, Op::Binary(BinaryOp::Le, base, number(1.0 / LEAST)));
            let both = self.let_here(bool, Op::Binary(BinaryOp::And, above, below));
            ordinary = Some(match ordinary {
                None => both,
                Some(all) => self.let_here(bool, Op::Binary(BinaryOp::And, all, both)),
            });
        }
        let Some(ordinary) = ordinary else { return };
        let other = self.let_here(bool, Op::Unary(UnaryOp::Not, ordinary));
        let other = self.let_here(ScalarType::I32, Op::Cast(other));
        let most = Op::Binary(BinaryOp::Max, Operand::Reg(odd), other);
        let most = self.let_here(ScalarType::I32, most);
        self.push(Stmt::Set(odd, most));
    }

    /// The power -1.5 of a number `d`. With the estimate `y` of the inverse root, `u = y y` and
    /// `e = 1 - d u` it is `u y (1 - e) ** -1.5`, of which three terms are enough.
    fn inverse_power(&mut self, base: Node) -> Operand {
        let ty = ScalarType::F32;
        let number = |value: f32| Operand::Const(Scalar::F32(value));
        let d = self.value(base);
        let y = self.let_here(ty, Op::NearRsqrt(d));
        let u = self.let_here(ty, Op::Binary(BinaryOp::Mul, y, y));
        let minus = self.let_here(ty, Op::Unary(UnaryOp::Neg, d));
        let e = self.let_here(ty, Op::MulAdd(minus, u, number(1.0)));
        let near = self.let_here(ty, Op::Binary(BinaryOp::Mul, u, y));
        let slope = self.let_here(ty, Op::MulAdd(number(1.875), e, number(1.5)));
        let more = self.let_here(ty, Op::Binary(BinaryOp::Mul, slope, e));
        self.let_here(ty, Op::MulAdd(near, more, near))
    }
}
