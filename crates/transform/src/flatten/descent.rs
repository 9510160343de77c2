//! Recursion on shrinking arrays becomes a loop over its depth, and works in place.
//!
//! Before:  `fn lu(A) { if extent(row) <= 1 { A } else { …; join[row](top, join[col](m, lu(S))) } }`
//! After:   one matrix with the cells of `A`; at each depth the cells of `S`, then those of `m`
//!
//! The body of the function is evaluated twice with the depth as an index variable, and shapes that
//! fall with it. The first time the arguments and the result of the recursive call are unknown
//! arrays: this tells what becomes of each argument from call to call and where the inner result
//! stands in the outer one. With that everything has a place that does not move (the [`plan`]),
//! and the second time the body is evaluated on these places. What the writes of one depth are, and
//! in which order they destroy nothing, is decided in [`writes`].
//!
//! Refuses: several recursive calls, ends that data decide, sizes that do not fall by constants,
//! results and changing arguments that are neither arrays nor numbers.
//!
//! Failures: the operations of each depth are those of the call at that depth, and fail as it does.
//! Nothing is computed beyond the last depth.

mod plan;
mod writes;

use super::array::{Array, ArrayKind};
use super::extent::Extent;
use super::{Flat, Flatten, Val, declined};
use crate::points::{Arr, ArrInfo, Ix, Kind, Node, Source};
use ein_base::{Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::walk::each_child;
use ein_ir::tensor::{Expr, ExprKind, FuncId, Type, VarId};
use ein_scalar::{BinaryOp, ScalarType, UnaryOp};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A recursion whose body is being evaluated at an unknown depth.
pub(crate) struct Descent {
    pub(crate) func: FuncId,
    /// The depth.
    pub(crate) step: Ix,
    /// The last depth for which shapes have to be right.
    pub(crate) last: i64,
    /// What the recursive call gives.
    inner: Val,
    /// The arguments of the recursive call, once it was met.
    args: Option<Vec<Val>>,
    /// The recursion goes on as long as each condition has this truth.
    goes_on: Vec<(Node, bool)>,
}

/// The recursive call of a function.
struct Recursion<'p> {
    sizes: &'p [size::Expr],
    args: &'p [Expr],
}

/// A call that is to become a loop.
struct Call<'a> {
    func: FuncId,
    /// The sizes at depth 0 and how much they fall from depth to depth.
    sizes: Vec<Extent>,
    captures: &'a [Val],
    args: &'a [Val],
    /// Whether an argument is the same in all calls.
    kept: Vec<bool>,
    span: Span,
}

/// What one evaluation of the body gives.
struct Level {
    args: Vec<Val>,
    result: Val,
    goes_on: Vec<(Node, bool)>,
}

impl<'p> Flatten<'p> {
    /// A call of a function that calls itself on smaller arrays, as a loop; none if the function is
    /// not of that kind.
    pub(crate) fn descend(
        &mut self,
        func: FuncId,
        sizes: &[Val],
        captures: &[Val],
        args: &[Val],
        span: Span,
    ) -> Option<Flat<Val>> {
        let recursion = only_recursion(&self.program.funcs[func].body, func)?;
        let has_array = args.iter().any(|arg| matches!(arg, Val::Array(_)));
        if self.descent.is_some() || !self.loops.is_empty() || !has_array {
            return None;
        }
        let (defs, obliged) = (self.points.defs.len(), self.obliged.len());
        let result = self.falling_sizes(func, &recursion, sizes, span).and_then(|sizes| {
            let params = &self.program.funcs[func].params;
            let kept = recursion.args.iter().zip(params).map(|(arg, param)| is_var(arg, *param));
            let kept = kept.collect();
            self.as_loop(&Call { func, sizes, captures, args, kept, span })
        });
        if result.is_err() {
            self.descent = None;
            self.loops.clear();
            self.points.defs.truncate(defs);
            self.obliged.truncate(obliged);
        }
        Some(result)
    }

    /// The sizes of a function with how much they fall from call to call.
    fn falling_sizes(
        &mut self,
        func: FuncId,
        recursion: &Recursion<'p>,
        first: &[Val],
        span: Span,
    ) -> Flat<Vec<Extent>> {
        let vars = &self.program.funcs[func].sizes;
        let mut sizes = Vec::new();
        for ((var, next), first) in vars.iter().zip(recursion.sizes).zip(first) {
            let Val::Scalar(first) = first else {
                return Err(declined("a size that is not a number", span));
            };
            let first = self.constant_int(*first, span)?;
            let is_it = |atom: &size::Atom| matches!(self.program.atoms[*atom].def, ein_ir::tensor::AtomDef::Var(v) if v == *var);
            let own = next.atoms().into_iter().find(is_it).and_then(|atom| next.affine_in(atom));
            let fall = match own {
                Some((1, rest)) => rest.as_constant().map(|by| -by),
                _ => None,
            };
            let fall = fall.filter(|fall| *fall >= 0);
            let fall = fall.ok_or_else(|| declined("a size that does not fall evenly", span))?;
            sizes.push(Extent { first, fall, counted: None });
        }
        Ok(sizes)
    }

    fn as_loop(&mut self, call: &Call<'_>) -> Flat<Val> {
        // No size can fall below zero.
        let falling = call.sizes.iter().filter(|size| size.fall > 0);
        let Some(most) = falling.map(|size| size.first / size.fall).min() else {
            return Err(declined("recursion on arrays that do not shrink", call.span));
        };
        let step = self.step_ix(most);
        let func = call.func;
        let inner = Val::Unit;
        self.descent =
            Some(Descent { func, step, last: 0, inner, args: None, goes_on: Vec::new() });
        let unknown = self.unknown(call)?;
        let level = self.level(call, unknown.params.clone(), unknown.inner.clone())?;
        let depth = self.depth(&level.goes_on, step, most, call.span)?;
        if depth == 0 {
            return Err(declined("recursion that ends at once", call.span));
        }
        let plan = self.plan(call, &unknown, &level)?;
        let step = self.step_ix(depth - 1);
        if let Some(descent) = &mut self.descent {
            (descent.step, descent.last) = (step, depth - 1);
        }
        let result = self.fill(call, &unknown, &plan, depth);
        self.descent = None;
        result
    }

    /// An index variable for the depth.
    fn step_ix(&mut self, last: i64) -> Ix {
        self.points.fresh(Symbol::intern("depth"), (0, i128::from(last)))
    }

    /// Evaluates the body at an unknown depth.
    fn level(&mut self, call: &Call<'_>, params: Vec<Val>, inner: Val) -> Flat<Level> {
        if let Some(descent) = &mut self.descent {
            descent.inner = inner;
            self.loops.push(descent.step);
        }
        let obliged = self.obliged.len();
        let sizes: Vec<Val> =
            call.sizes.iter().map(|size| Val::Scalar(self.extent_node(*size))).collect();
        let result = self.body(call, sizes, params)?;
        self.loops.pop();
        let met = self
            .descent
            .as_mut()
            .and_then(|descent| Some((descent.args.take()?, std::mem::take(&mut descent.goes_on))));
        let Some((args, goes_on)) = met else {
            return Err(declined("recursion that a part of the body decides", call.span));
        };
        if self.obliged.len() > obliged {
            return Err(declined("recursion in which something may fail", call.span));
        }
        Ok(Level { args, result, goes_on })
    }

    /// The value of the body for sizes and parameters.
    fn body(&mut self, call: &Call<'_>, sizes: Vec<Val>, params: Vec<Val>) -> Flat<Val> {
        let info = &self.program.funcs[call.func];
        let names = info.sizes.iter().chain(&info.captures).chain(&info.params);
        let values = sizes.into_iter().chain(call.captures.iter().cloned()).chain(params);
        let frame: FxHashMap<VarId, Val> = names.copied().zip(values).collect();
        self.frames.push(frame);
        let result = self.expr(&info.body);
        self.frames.pop();
        result
    }

    /// The recursive call of the body under evaluation, if it is one.
    pub(crate) fn inner_call(
        &mut self,
        func: FuncId,
        args: &[Val],
        span: Span,
    ) -> Option<Flat<Val>> {
        let descent = self.descent.as_mut().filter(|descent| descent.func == func)?;
        if self.loops.len() != 1 || descent.args.is_some() {
            return Some(Err(declined("recursion inside a loop", span)));
        }
        descent.args = Some(args.to_vec());
        Some(Ok(descent.inner.clone()))
    }

    /// Of a choice that depends on nothing but the depth, the side on which the recursion goes on.
    pub(crate) fn side_that_goes_on(
        &mut self,
        cond: Node,
        then: &'p Expr,
        other: &'p Expr,
    ) -> Option<&'p Expr> {
        let descent = self.descent.as_mut()?;
        if *self.points.nodes[cond].free != [descent.step] {
            return None;
        }
        let goes_on = match (calls(then, descent.func), calls(other, descent.func)) {
            (true, false) => true,
            (false, true) => false,
            _ => return None,
        };
        descent.goes_on.push((cond, goes_on));
        Some(if goes_on { then } else { other })
    }

    /// The first depth at which a condition ends the recursion.
    fn depth(&self, goes_on: &[(Node, bool)], step: Ix, most: i64, span: Span) -> Flat<i64> {
        let mut first = None;
        for (cond, truth) in goes_on {
            let ends = self.first_failure(*cond, *truth, step);
            first = [first, ends].into_iter().flatten().min();
        }
        // Beyond `most` a size would be negative.
        first
            .filter(|first| *first <= most)
            .ok_or_else(|| declined("recursion whose end is not known", span))
    }

    /// The least step at which a condition does not have a truth; none if it always has.
    fn first_failure(&self, cond: Node, truth: bool, step: Ix) -> Option<i64> {
        match self.points.nodes[cond].kind {
            Kind::Unary(UnaryOp::Not, a) => self.first_failure(a, !truth, step),
            Kind::Binary(BinaryOp::And, a, b) if truth => {
                let both = [a, b].map(|side| self.first_failure(side, true, step));
                both.into_iter().flatten().min()
            }
            Kind::Binary(BinaryOp::Or, a, b) if !truth => {
                let both = [a, b].map(|side| self.first_failure(side, false, step));
                both.into_iter().flatten().min()
            }
            Kind::Binary(op, a, b) if op.is_comparison() => {
                let sum = self.points.linear(a).minus(&self.points.linear(b));
                let factor = match sum.terms.as_slice() {
                    [(term, factor)] if self.points.nodes[*term].kind == Kind::Index(step) => {
                        *factor
                    }
                    _ => return None,
                };
                let op = if truth { op } else { negated(op)? };
                first_false(op, sum.offset, factor)
            }
            _ => None,
        }
    }

    /// An array that nothing fills: it stands for one that is not known yet.
    fn unknown_array(&mut self, ty: ScalarType, shape: &[Extent]) -> Arr {
        let shape = shape.iter().map(|extent| extent.first).collect();
        let source = Source::Defined(usize::MAX);
        let arr = self.points.arrs.push(ArrInfo { name: None, ty, shape, source });
        self.pending.insert(arr);
        arr
    }

    /// The extents that a type states, for the sizes of a call.
    fn typed_shape(&mut self, call: &Call<'_>, ty: &Type) -> Flat<Vec<Extent>> {
        let vars = &self.program.funcs[call.func].sizes;
        let mut frame = FxHashMap::default();
        for (var, size) in vars.iter().zip(&call.sizes) {
            frame.insert(*var, Val::Scalar(self.extent_node(*size)));
        }
        self.frames.push(frame);
        let axes = ty.axes().iter();
        let shape = axes.map(|axis| self.extent(&axis.size, call.span)).collect();
        self.frames.pop();
        shape
    }
}

/// An array or number in one of the arrays of points.
fn stored(ty: ScalarType, shape: Vec<Extent>, arr: Arr) -> Rc<Array> {
    Rc::new(Array { ty, shape, kind: ArrayKind::Stored(arr, Vec::new()) })
}

/// The only call of a function in its own body, outside of loops and inner functions.
fn only_recursion(body: &Expr, func: FuncId) -> Option<Recursion<'_>> {
    let mut found = Vec::new();
    find(body, func, &mut found);
    match found.pop() {
        Some(recursion) if found.is_empty() => Some(recursion),
        _ => None,
    }
}

fn find<'p>(e: &'p Expr, func: FuncId, found: &mut Vec<Recursion<'p>>) {
    if let ExprKind::Call { func: callee, sizes, args, .. } = &*e.kind
        && *callee == func
    {
        found.push(Recursion { sizes, args });
    }
    each_child(e, &mut |child| find(child, func, found));
}

fn calls(e: &Expr, func: FuncId) -> bool {
    let mut found = Vec::new();
    find(e, func, &mut found);
    !found.is_empty()
}

fn is_var(e: &Expr, var: VarId) -> bool {
    matches!(&*e.kind, ExprKind::Var(other) if *other == var)
}

/// The comparison that is true where another is not.
fn negated(op: BinaryOp) -> Option<BinaryOp> {
    Some(match op {
        BinaryOp::Lt => BinaryOp::Ge,
        BinaryOp::Le => BinaryOp::Gt,
        BinaryOp::Gt => BinaryOp::Le,
        BinaryOp::Ge => BinaryOp::Lt,
        BinaryOp::Eq => BinaryOp::Ne,
        BinaryOp::Ne => BinaryOp::Eq,
        _ => return None,
    })
}

/// The least `step ≥ 0` at which `offset + factor × step` does not compare so with zero.
fn first_false(op: BinaryOp, offset: i64, factor: i64) -> Option<i64> {
    let holds = |value: i64| match op {
        BinaryOp::Lt => value < 0,
        BinaryOp::Le => value <= 0,
        BinaryOp::Gt => value > 0,
        BinaryOp::Ge => value >= 0,
        BinaryOp::Eq => value == 0,
        BinaryOp::Ne => value != 0,
        _ => false,
    };
    if !holds(offset) {
        return Some(0);
    }
    // Where the sum reaches zero, or would if it did so at a whole step.
    let zero = if factor == 0 { 0 } else { (-offset).div_euclid(factor).max(0) };
    ((zero - 1).max(0)..=zero + 2).find(|step| !holds(offset + factor * step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_failures_are_those_of_a_search() {
        let ops =
            [BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge, BinaryOp::Eq, BinaryOp::Ne];
        for op in ops {
            for offset in -9..=9 {
                for factor in -4..=4 {
                    let holds = |step: i64| {
                        let value = offset + factor * step;
                        match op {
                            BinaryOp::Lt => value < 0,
                            BinaryOp::Le => value <= 0,
                            BinaryOp::Gt => value > 0,
                            BinaryOp::Ge => value >= 0,
                            BinaryOp::Eq => value == 0,
                            _ => value != 0,
                        }
                    };
                    let searched = (0..40).find(|step| !holds(*step));
                    assert_eq!(
                        first_false(op, offset, factor),
                        searched,
                        "{op:?} {offset} {factor}"
                    );
                }
            }
        }
    }
}
