//! Calls. Arguments are evaluated onto the stack of frames, above the caller's frame, and moved
//! into the slots of the new frame from there.

use ein_base::Span;
use ein_ir::size;
use ein_ir::tensor::{Expr, FuncId};
use ein_scalar::Scalar;

use crate::accelerate::{Answer, accelerate_turns};
use crate::keep::Scope;
use crate::machine::Machine;
use crate::parts::{Way, skip_turns};
use crate::stop::{Entry, MarkKind, Stop};
use crate::tail::Ending;
use crate::value::Value;

/// A function that has called itself so often may be a loop that is worth compiling.
const LONG: usize = 1 << 10;

impl<'p> Machine<'p> {
    /// A call of a known function.
    #[inline(never)]
    pub(crate) fn eval_call(
        &mut self,
        func: FuncId,
        sizes: &'p [size::Expr],
        closure: Option<&'p Expr>,
        args: &'p [Expr],
        span: Span,
    ) -> Result<Value, Stop> {
        let start = self.locals.len();
        self.push_arguments(sizes, closure, args, span)?;
        self.call(func, start, span)
    }

    /// The sizes, captures and arguments of a call, onto the stack.
    pub(crate) fn push_arguments(
        &mut self,
        sizes: &'p [size::Expr],
        closure: Option<&'p Expr>,
        args: &'p [Expr],
        span: Span,
    ) -> Result<(), Stop> {
        for size in sizes {
            let size = self.size(size, span)?;
            self.locals.push(Value::Scalar(Scalar::I64(size)));
        }
        if let Some(closure) = closure {
            let value = self.eval(closure)?;
            self.push_captures(&value, span)?;
        }
        for arg in args {
            let value = self.eval(arg)?;
            self.locals.push(value);
        }
        Ok(())
    }

    /// A call of a function value.
    #[inline(never)]
    pub(crate) fn call_value(
        &mut self,
        callee: &'p Expr,
        args: &'p [Expr],
        span: Span,
    ) -> Result<Value, Stop> {
        let start = self.locals.len();
        let func = self.push_callee(callee, args, span)?;
        self.call(func, start, span)
    }

    /// The captures and arguments of a call of a function value, onto the stack; its code.
    pub(crate) fn push_callee(
        &mut self,
        callee: &'p Expr,
        args: &'p [Expr],
        span: Span,
    ) -> Result<FuncId, Stop> {
        let value = self.eval(callee)?;
        let func = match &value {
            Value::Closure(closure) => closure.func,
            other => return Err(self.expected(span, "a function", other)),
        };
        let Some(func) = func else {
            return Err(self.malformed(span, "a function value without code is called"));
        };
        self.push_captures(&value, span)?;
        for arg in args {
            let value = self.eval(arg)?;
            self.locals.push(value);
        }
        Ok(func)
    }

    fn push_captures(&mut self, value: &Value, span: Span) -> Result<(), Stop> {
        match value {
            Value::Closure(closure) => {
                self.locals.extend_from_slice(&closure.captures);
                Ok(())
            }
            other => Err(self.expected(span, "a function", other)),
        }
    }

    /// Calls a function with the sizes, captures and arguments that lie on the stack from `start`;
    /// then the one whose call ends it, in its place, and so on.
    pub(crate) fn call(
        &mut self,
        mut func: FuncId,
        start: usize,
        mut span: Span,
    ) -> Result<Value, Stop> {
        self.descend(span)?;
        let (base, slots, marks) = (self.base, self.slots, self.marks.len());
        let mut entry = Entry { func, at: span };
        let mut turns = 0;
        let result = loop {
            match self.frame(func, (entry, turns), start, span)? {
                Ending::Value(value) => break value,
                Ending::Call(next, at) => {
                    self.tick()?;
                    // What the finished frame held goes; the arguments move down.
                    let above = self.base + self.slots;
                    self.locals.drain(start..above);
                    self.marks.truncate(marks);
                    turns = if func == next { turns + 1 } else { 0 };
                    (func, span) = (next, at);
                    if !self.program.library.contains(&at.file()) {
                        entry = Entry { func, at };
                    }
                }
            }
        };
        self.locals.truncate(start);
        self.marks.truncate(marks);
        self.base = base;
        self.slots = slots;
        self.depth -= 1;
        Ok(result)
    }

    /// Makes a frame of what lies on the stack from `start`, and runs a function in it that has called
    /// itself so often.
    fn frame(
        &mut self,
        func: FuncId,
        (entry, turns): (Entry, usize),
        start: usize,
        span: Span,
    ) -> Result<Ending, Stop> {
        let code = &self.program.funcs[func];
        let given = self.locals.len() - start;
        if given != code.sizes.len() + code.captures.len() + code.params.len() {
            return Err(self.malformed(span, format_args!("`{}` got {given} arguments", code.name)));
        }
        self.base = self.locals.len();
        self.slots = code.slots as usize;
        self.locals.resize_with(self.base + self.slots, Value::default);
        self.push_mark(MarkKind::Call(func, entry));
        let params = code.sizes.iter().chain(&code.captures).chain(&code.params);
        for (at, param) in params.enumerate() {
            let value = std::mem::take(&mut self.locals[start + at]);
            self.bind(*param, value);
        }
        // Whoever has gone on for long is expected to go on as long again.
        if turns >= LONG && turns.is_power_of_two() {
            match accelerate_turns(self, func)? {
                Answer::Made(value) => return Ok(Ending::Value(value)),
                Answer::Failed => skip_turns(self, func),
                Answer::Evaluate => {}
            }
        }
        if code.by.is_some()
            && let Some(value) = crate::hosted::by_host(self, func, span)?
        {
            return Ok(Ending::Value(value));
        }
        let way = match self.accelerate_in_step(&code.body)? {
            Answer::Made(value) => return Ok(Ending::Value(value)),
            Answer::Failed => Way::Alone,
            Answer::Evaluate => Way::Evaluate,
        };
        self.alone(way, |machine| {
            machine.within(Scope::default(), |machine| machine.ending(&code.body)).0
        })
    }
}
