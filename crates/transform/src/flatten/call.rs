//! Calls: functions are entered; recursion on shrinking arrays becomes a loop.

use super::{Flat, Flatten, MAX_CALLS, MAX_DEPTH, Val, again, declined};
use ein_base::Span;
use ein_ir::size;
use ein_ir::tensor::walk::each_child;
use ein_ir::tensor::{Expr, ExprKind, FuncId};
use rustc_hash::FxHashMap;

impl<'p> Flatten<'p> {
    /// A call of a known function.
    pub(crate) fn call(
        &mut self,
        func: FuncId,
        sizes: &[size::Expr],
        closure: Option<&'p Expr>,
        args: &'p [Expr],
        span: Span,
    ) -> Flat<Val> {
        let captures = match closure {
            None => Vec::new(),
            Some(closure) => match self.expr(closure)? {
                Val::Fn(_, captures) => captures.to_vec(),
                _ => return Err(declined("a function that data decides", span)),
            },
        };
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(self.expr(arg)?);
        }
        let mut given = Vec::with_capacity(sizes.len());
        for size in sizes {
            given.push(Val::Scalar(self.size(size, span)?));
        }
        self.enter_function(func, given, captures, values, span)
    }

    /// A call of a function value.
    pub(crate) fn call_value(
        &mut self,
        callee: &'p Expr,
        args: &'p [Expr],
        span: Span,
    ) -> Flat<Val> {
        let Val::Fn(Some(func), captures) = self.expr(callee)? else {
            return Err(declined("a function that data decides", span));
        };
        let args: Flat<Vec<Val>> = args.iter().map(|arg| self.expr(arg)).collect();
        self.enter_function(func, Vec::new(), captures.to_vec(), args?, span)
    }

    fn enter_function(
        &mut self,
        func: FuncId,
        sizes: Vec<Val>,
        captures: Vec<Val>,
        args: Vec<Val>,
        span: Span,
    ) -> Flat<Val> {
        let info = &self.program.funcs[func];
        let fits = info.sizes.len() == sizes.len()
            && info.captures.len() == captures.len()
            && info.params.len() == args.len();
        if !fits {
            return Err(declined("a call of another shape", span));
        }
        if let (Some(op), Some(Val::Array(first)), true) =
            (info.by, args.first(), self.world.has_host())
        {
            let pays = self.constants(&first.shape, span).is_ok_and(|shape| op.pays(&shape));
            if pays {
                return Err(declined("a function that a library of the host computes", span));
            }
        }
        if let Some(inner) = self.inner_call(func, &args, span) {
            return inner;
        }
        let fixed: Vec<Val> = sizes.iter().chain(&captures).cloned().collect();
        if let Some(again) = again::next_turn(self, func, &fixed, &args, span) {
            return again;
        }
        if let Some(result) = self.descend(func, &sizes, &captures, &args, span) {
            match result {
                Ok(value) => return Ok(value),
                // A few calls can be written out.
                Err(why) if self.frames.len() > MAX_DEPTH / 2 => return Err(why),
                Err(_) => {}
            }
        }
        if let Some(Ok(value)) = again::turns(self, func, (&fixed, &args), None, span) {
            return Ok(value);
        }
        if self.frames.len() > MAX_DEPTH {
            return Err(declined("recursion", span));
        }
        self.again += usize::from(self.entered.contains(&func));
        if self.again > MAX_CALLS && calls_twice(self, func) {
            return Err(declined("recursion that branches", span));
        }
        self.not_too_large(span)?;
        for arg in captures.iter().chain(&args) {
            self.oblige(arg, span)?;
        }
        let names = info.sizes.iter().chain(&info.captures).chain(&info.params);
        let values = sizes.into_iter().chain(captures).chain(args);
        let frame: FxHashMap<_, _> = names.copied().zip(values).collect();
        self.frames.push(frame);
        self.entered.push(func);
        let result = self.expr(&info.body);
        self.entered.pop();
        self.frames.pop();
        result
    }
}

/// Whether a function calls itself in several places.
fn calls_twice(flatten: &Flatten<'_>, func: FuncId) -> bool {
    fn calls(e: &Expr, func: FuncId) -> usize {
        let called = matches!(&*e.kind, ExprKind::Call { func: other, .. } if *other == func);
        let mut count = usize::from(called);
        each_child(e, &mut |child| count += calls(child, func));
        count
    }
    calls(&flatten.program.funcs[func].body, func) > 1
}
