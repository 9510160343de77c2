//! The pullback of a convolution in strides: a convolution for each remainder of the position.
//!
//! Before:  `x'[p] = sum[y](y'[y] * w[p - 2 y])`, where few of all `y` count
//! After:   `full[r, q] = sum[t](y'[q - t] * w[r + 2 t])`, and `x'[p] = full[p % 2, p / 2]`
//!
//! Needs: all of the axis that `y` runs over, so that what is beyond it is zero.

use super::{Full, Range, Read};
use crate::autodiff::reverse::Reverse;
use ein_base::Span;
use ein_ir::size;
use ein_ir::tensor::{Expr, Type, VarId};
use ein_scalar::BinaryOp;
use rustc_hash::FxHashMap;

/// A position `p - stride * y + offset` along an axis of the kernel.
struct Stride {
    /// The place `p`, by number.
    place: usize,
    /// The loop `y`, by number.
    over: usize,
    stride: i64,
    offset: i64,
    /// The extent of the axis.
    extent: i64,
}

impl Reverse<'_, '_> {
    /// The same sum without strides, and the coordinates at which it is the old one.
    pub(super) fn in_phases(
        &mut self,
        full: &Full,
        coords: &[Expr],
        span: Span,
    ) -> Option<(Full, Vec<Expr>)> {
        let (mut full, mut coords) = (full.clone(), coords.to_vec());
        let kernel = full.factors.iter().position(Read::reaches_beyond)?;
        let strides = self.strides(&full, kernel);
        let mut replaced: FxHashMap<VarId, size::Expr> = FxHashMap::default();
        let (mut remainders, mut rests) = (Vec::new(), Vec::new());
        for Stride { place, over, stride, offset, extent } in &strides {
            if !self.runs_over_all(&full.factors[1 - kernel], &full.loops[*over]) {
                return None;
            }
            let mut fresh = |hi: i64| {
                let var = self.pass.local("$r", Type::I32, span);
                let atom = size::Expr::atom(self.pass.atom_of(var));
                (Range { var, lo: 0, hi: size::Expr::constant(hi) }, atom)
            };
            // All steps `t` with `0 <= r + stride * t + offset < extent` for some remainder.
            let first = -(offset + stride - 1).div_euclid(*stride);
            let last = (extent - 1 - offset).div_euclid(*stride);
            let (remainder, r) = fresh(*stride);
            let (_, end) = full.places[*place].known()?;
            let (quotient, q) = fresh((end + stride - 1) / stride);
            let (steps, t) = fresh(last - first + 1);
            let t = t.offset(first);
            replaced.insert(full.places[*place].var, q.mul(&size::Expr::constant(*stride)).add(&r));
            replaced.insert(full.loops[*over].var, q.sub(&t));
            full.places[*place] = quotient;
            full.loops[*over] = steps;
            remainders.push(remainder);
            let by =
                |it: &Self, op| it.pass.arith(op, coords[*place].clone(), Expr::int(*stride, span));
            rests.push(by(self, BinaryOp::FloorMod));
            coords[*place] = by(self, BinaryOp::FloorDiv);
        }
        // Beside the other coordinates of the kernel, so that both matrices are what they were.
        let last = strides.iter().map(|stride| stride.place).max()?;
        let first = strides.iter().map(|stride| stride.place).min()?;
        let after = full.places[last + 1..].iter().any(|place| {
            let atom = self.pass.atom_of(place.var);
            full.factors[kernel].at.iter().any(|at| at.mentions(atom))
        });
        let at = if after { last + 1 } else { first };
        full.places.splice(at..at, remainders);
        coords.splice(at..at, rests);
        let ranges = [full.places.as_slice(), &full.loops].concat();
        for factor in &mut full.factors {
            let at = factor.at.iter().map(|at| self.pass.replaced_size(at, &replaced)).collect();
            *factor = self.read_over(factor.base.clone(), at, &ranges)?;
        }
        Some((full, coords))
    }

    /// The axes of the kernel that are read in strides.
    fn strides(&mut self, full: &Full, kernel: usize) -> Vec<Stride> {
        let read = &full.factors[kernel];
        let mut found = Vec::new();
        for (at, axis) in read.at.iter().zip(read.base.ty.axes()) {
            for (place, p) in full.places.iter().enumerate() {
                let p_atom = self.pass.atom_of(p.var);
                let Some((1, rest)) = at.affine_in(p_atom) else { continue };
                for (over, y) in full.loops.iter().enumerate() {
                    let y_atom = self.pass.atom_of(y.var);
                    let Some((factor, rest)) = rest.affine_in(y_atom) else { continue };
                    let (Some(offset), Some(extent)) =
                        (rest.as_constant(), axis.size.as_constant())
                    else {
                        continue;
                    };
                    if factor < -1 && p.lo == 0 {
                        let stride = -factor;
                        found.push(Stride { place, over, stride, offset, extent });
                    }
                }
            }
        }
        found
    }

    /// Whether a loop is the position along an axis of an array, runs over all of it, and moves
    /// nothing else.
    fn runs_over_all(&mut self, read: &Read, range: &Range) -> bool {
        let atom = self.pass.atom_of(range.var);
        let mentioned = read.at.iter().filter(|at| at.mentions(atom)).count();
        mentioned == 1
            && read.at.iter().zip(read.base.ty.axes()).any(|(at, axis)| {
                let exact = at.sub(&size::Expr::atom(atom)).as_constant() == Some(0);
                exact && range.lo == 0 && axis.size.sub(&range.hi).as_constant() == Some(0)
            })
    }
}
