//! Loops that carry a greatest or least value along a row: `x = max(v[i], x - 1)` for every `i`.
//!
//! One value after another takes as long as the operations on `x` do, three cycles each and more where
//! they are floats. Over the integers `max` and `+` may be done in any order, so they are done in
//! vectors; floats are compared as integers in the same order, and nothing is added to them. Such loops
//! are the rows of alignments and distances, and running maxima.

use super::{Addr, For, Kernel, Op, Operand, Reg, Stmt};
use crate::cost::Cost;
use ein_scalar::{BinaryOp, ScalarType};

/// Steps beyond this could make a flag of values that are nowhere near the end of their type.
const STEP: i64 = 1 << 20;

/// How a loop is a scan. Its type is that of the variable: `i32`, `f32` or `f64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// The variable that is carried.
    pub carry: Reg,
    /// What is added to it at each place.
    pub step: i64,
    /// Whether the least is carried, not the greatest.
    pub least: bool,
}

impl For {
    /// What a scan reads at each place, and where the new value goes.
    pub fn scanned(&self) -> Option<[&Addr; 2]> {
        let input = self.body.iter().find_map(|stmt| match stmt {
            Stmt::Let(_, Op::Load(addr)) => Some(addr),
            _ => None,
        });
        let output = self.body.iter().find_map(|stmt| match stmt {
            Stmt::Store(addr, _) => Some(addr),
            _ => None,
        });
        Some([input?, output?])
    }
}

/// What a loop does besides storing, as far as it was read.
#[derive(Default)]
struct Parts<'a> {
    value: Option<(Reg, &'a Addr)>,
    checked: Option<(Reg, Step)>,
    trapped: Option<Reg>,
    stepped: Option<(Reg, Step)>,
    chosen: Option<(Reg, BinaryOp, [Operand; 2])>,
    stored: Option<(&'a Addr, Operand)>,
    set: Option<(Reg, Operand)>,
}

/// An operation on a variable and a constant.
#[derive(Clone, Copy, PartialEq)]
struct Step {
    op: BinaryOp,
    of: Reg,
    by: i64,
}

/// The scan that a loop is run as, if it is one for which the machine has vectors. Floats need none: they
/// are compared faster as integers.
pub(super) fn find(kernel: &Kernel, inner: &For, cost: Cost) -> Option<Scan> {
    let scan = form(kernel, inner)?;
    (kernel.regs[scan.carry].is_float() || cost.scans_integers()).then_some(scan)
}

/// The scan that a loop is, one value after another, if it is one.
pub(super) fn form(kernel: &Kernel, inner: &For) -> Option<Scan> {
    let mut parts = Parts::default();
    for stmt in &inner.body {
        // The variable is assigned last, so that everything before has its old value.
        if parts.set.is_some() || !parts.take(stmt) {
            return None;
        }
    }
    let ((_, input), (output, _)) = (parts.value?, parts.stored?);
    let ty = kernel.bufs.get(input.buf)?.ty;
    let scan = parts.scan()?;
    let known = match ty {
        ScalarType::I32 => true,
        ScalarType::F32 | ScalarType::F64 => parts.stepped.is_none(),
        _ => false,
    };
    let same = |addr: &Addr| kernel.bufs.get(addr.buf).is_some_and(|it| it.ty == ty);
    let along = |addr: &Addr| addr.terms.contains(&(inner.var, 1));
    let apart = input.buf != output.buf || input == output;
    let both = |test: &dyn Fn(&Addr) -> bool| test(input) && test(output);
    (known && both(&same) && both(&along) && apart).then_some(scan)
}

impl<'a> Parts<'a> {
    /// Notes a statement; false if it has no place in a scan.
    fn take(&mut self, stmt: &'a Stmt) -> bool {
        match stmt {
            Stmt::Let(reg, Op::Load(addr)) => self.value.replace((*reg, addr)).is_none(),
            Stmt::Let(reg, Op::Overflows(op, Operand::Reg(of), Operand::Const(by))) => {
                let step = by.as_i64().map(|by| Step { op: *op, of: *of, by });
                step.is_some_and(|step| self.checked.replace((*reg, step)).is_none())
            }
            Stmt::Trap(Operand::Reg(reg)) => self.trapped.replace(*reg).is_none(),
            Stmt::Let(
                reg,
                Op::Binary(
                    op @ (BinaryOp::Add | BinaryOp::Sub),
                    Operand::Reg(of),
                    Operand::Const(by),
                ),
            ) => {
                let step = by.as_i64().map(|by| Step { op: *op, of: *of, by });
                step.is_some_and(|step| self.stepped.replace((*reg, step)).is_none())
            }
            Stmt::Let(reg, Op::Binary(op @ (BinaryOp::Max | BinaryOp::Min), a, b)) => {
                self.chosen.replace((*reg, *op, [*a, *b])).is_none()
            }
            Stmt::Store(addr, value) => self.stored.replace((addr, *value)).is_none(),
            Stmt::Set(reg, value) => self.set.replace((*reg, *value)).is_none(),
            _ => false,
        }
    }

    /// The scan, if all parts belong together.
    fn scan(&self) -> Option<Scan> {
        let (value, _) = self.value?;
        let (result, op, [a, b]) = self.chosen?;
        let (_, stored) = self.stored?;
        let (carry, set) = self.set?;
        let (moved, step) = match self.stepped {
            None => (carry, 0),
            Some((reg, step)) if step.of == carry && step.by.abs() <= STEP => {
                (reg, if step.op == BinaryOp::Sub { -step.by } else { step.by })
            }
            Some(_) => return None,
        };
        let checked = self.checked.map(|(_, step)| step);
        let well_checked = self.checked.map(|(reg, _)| reg) == self.trapped
            && (checked.is_none() || checked == self.stepped.map(|(_, step)| step));
        let [value, moved, result] = [value, moved, result].map(Operand::Reg);
        let choice = (a, b) == (value, moved) || (a, b) == (moved, value);
        (choice && stored == result && set == result && well_checked).then_some(Scan {
            carry,
            step,
            least: op == BinaryOp::Min,
        })
    }
}
