//! An array of functions is a frame: the frames of the arguments begin with it.
//!
//! Before:  `[up, down](m)` with `m`: `[2, n]` and functions of numbers
//! After:   `[up(m[0]), down(m[1])]`
//!
//! Limit: only functions whose parameters have types with fixed ranks take part of an argument;
//! all others take arguments whole.

use super::super::symbolic::SizeRelation;
use super::super::{Cx, error};
use crate::hir::{Arg, CoordArg, DefId, DimKind, ExprId, ExprKind as H, Function, Param, TypeKind};
use ein_base::{Code, Span};
use ein_ir::size;
use ein_ir::tensor::{Bounds, Expr, Type};

impl<'a> Cx<'a> {
    /// Calls each function of an array on its part of the arguments.
    pub(super) fn call_functions(
        &mut self,
        items: &[ExprId],
        coords: &[CoordArg],
        args: &[Arg],
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        let Some(functions) = self.ranked_functions(items) else {
            let results =
                items.iter().map(|item| self.call(*item, coords, args, want, span)).collect();
            return self.stack(results, span);
        };
        let ranks = |at: usize| -> Vec<Option<usize>> {
            let function: &Function = functions[at].1;
            function.params.iter().map(cell_rank).collect()
        };
        if let Some(other) = (1..functions.len()).find(|at| ranks(*at) != ranks(0)) {
            let [a, b] = [0, other].map(|at| self.hir.defs[functions[at].0].name);
            let d = error(
                Code::E0409,
                span,
                format!(
                    "the functions of one array, `{a}` and `{b}`, take arguments of different ranks"
                ),
            )
            .here("the function's frame is that of all of them")
            .help("call the functions one by one");
            return self.fail(d);
        }
        let count = functions.len();
        let results = functions
            .into_iter()
            .enumerate()
            .map(|(at, (def, function))| {
                let name = self.hir.defs[def].name;
                let Some(values) = self.assign_args(function, name, args, span) else {
                    return Expr::error(span);
                };
                let mapped = self.enter_coords(coords);
                let exprs = self.arguments(function, &values, &mapped, want);
                self.leave_coords(mapped.len());
                let parts = function
                    .params
                    .iter()
                    .zip(exprs)
                    .map(|(param, arg)| self.part_for(arg, param, at, count))
                    .collect();
                let result = self.apply(def, function, coords, parts, span);
                self.at_point(result, coords, span)
            })
            .collect();
        self.stack(results, span)
    }

    /// The functions of an array if all of them say the ranks of their cells.
    fn ranked_functions(&self, items: &[ExprId]) -> Option<Vec<(DefId, &'a Function)>> {
        items
            .iter()
            .map(|item| {
                let H::Fn(def) = self.hir.exprs[*item].kind else { return None };
                let function = self.function(def)?;
                function.params.iter().all(|it| cell_rank(it).is_some()).then_some((def, function))
            })
            .collect()
    }

    /// What the function at a place of the array gets of an argument.
    fn part_for(&mut self, arg: Expr, param: &Param, at: usize, count: usize) -> Expr {
        let (span, rank) = (arg.span, cell_rank(param).unwrap_or(0));
        if arg.ty.has_error() || arg.ty.rank() <= rank {
            return arg;
        }
        let arg = self.settle_expr(arg);
        let frame = arg.ty.axes()[0].size.clone();
        let wanted = size::Expr::constant(count as i64);
        match self.compare_sizes(&frame, &wanted) {
            SizeRelation::Equal => {}
            SizeRelation::AtRunTime => {
                let what = "the frame of an array of functions".into();
                self.require(frame, wanted, what, span);
            }
            SizeRelation::Different => {
                let d = error(
                    Code::E0409,
                    span,
                    format!(
                        "an array of {count} functions meets a frame of {}",
                        self.show_size(&frame)
                    ),
                )
                .here(format!("this is `{}`", self.show(&arg.ty)))
                .help("one frame must be a prefix of the other: compare the leading axes");
                return self.fail(d);
            }
        }
        let arg = self.atomise(arg);
        self.read(arg, vec![Expr::int(at as i64, span)], Bounds::Proved, span)
    }
}

/// The rank of the cells that a parameter takes, if its type says one.
fn cell_rank(param: &Param) -> Option<usize> {
    match &param.ty.as_deref()?.kind {
        TypeKind::Scalar(_) | TypeKind::Str => Some(0),
        TypeKind::Array { dims, .. } => {
            let packs = dims.iter().any(|dim| matches!(dim.kind, DimKind::Pack(_)));
            (!packs).then_some(dims.len())
        }
        TypeKind::Tuple(_)
        | TypeKind::Data(..)
        | TypeKind::Param(_)
        | TypeKind::AnyRank(_)
        | TypeKind::Jagged(..)
        | TypeKind::Function(..)
        | TypeKind::Some(..)
        | TypeKind::Error => None,
    }
}
