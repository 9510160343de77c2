//! Calls that are the last action of a function: they take the place of the function that makes
//! them, so a loop written as a recursion needs neither stack nor memory, however long it runs.
//!
//! Before:  the frame of `f`, above it the arguments of the call that ends it
//! After:   those arguments where the ones of `f` lay, and nothing of `f`

use ein_base::{Code, Span};
use ein_ir::tensor::tail::put_together_again;
use ein_ir::tensor::{Arm, Expr, ExprKind, FuncId};

use crate::machine::Machine;
use crate::stop::Stop;
use crate::value::Value;

/// How the body of a function ends.
pub(crate) enum Ending {
    /// With a value.
    Value(Value),
    /// With a call, whose sizes, captures and arguments lie above the frame.
    Call(FuncId, Span),
}

impl<'p> Machine<'p> {
    /// The value of an expression, or the call that gives it.
    pub(crate) fn ending(&mut self, mut e: &'p Expr) -> Result<Ending, Stop> {
        loop {
            if let ExprKind::If { cond, then, otherwise } = &*e.kind {
                e = if self.truth(cond)? { then } else { otherwise };
            } else if let ExprKind::Block { stmts, value } = &*e.kind
                && let Some(whole) = put_together_again(stmts, value)
            {
                e = whole;
            } else if let ExprKind::Block { stmts, value } = &*e.kind {
                self.block(stmts, value)?;
                e = value;
            } else if let ExprKind::Match { value, arms } = &*e.kind {
                e = self.chosen_arm(value, arms, e.span)?;
            } else if let ExprKind::Call { func, sizes, closure, args } = &*e.kind {
                self.push_arguments(sizes, closure.as_ref(), args, e.span)?;
                return Ok(Ending::Call(*func, e.span));
            } else if let ExprKind::CallValue { callee, args } = &*e.kind {
                let func = self.push_callee(callee, args, e.span)?;
                return Ok(Ending::Call(func, e.span));
            } else {
                return self.eval(e).map(Ending::Value);
            }
        }
    }

    /// The arm of a `match` that is taken.
    #[inline(never)]
    pub(crate) fn chosen_arm(
        &mut self,
        value: &'p Expr,
        arms: &'p [Arm],
        span: Span,
    ) -> Result<&'p Expr, Stop> {
        let value = self.eval(value)?;
        for arm in arms {
            if !self.matches(&arm.pattern, &value, span)? {
                continue;
            }
            let holds = match &arm.guard {
                Some(guard) => self.truth(guard)?,
                None => true,
            };
            if holds {
                return Ok(&arm.value);
            }
        }
        let shown = crate::display(&value, self.program);
        Err(self.fail(Code::E0809, span, format!("no arm of the match fits {shown}")))
    }
}
