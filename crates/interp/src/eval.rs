//! Expressions.
//!
//! `scalar` and `eval` call each other. Numbers take the first way, on which nothing is allocated;
//! everything else takes the second. Both keep their frames small: what is rare is a function of
//! its own.

use std::sync::Arc;

use ein_base::Code;
use ein_ir::size;
use ein_ir::tensor::{CompClause, Expr, ExprKind, Type};
use ein_scalar::{Scalar, ScalarType, cast};

use crate::assemble::written_out;
use crate::keep::Scope;
use crate::machine::Machine;
use crate::stop::Stop;
use crate::value::{Closure, DataValue, Value};

impl<'p> Machine<'p> {
    /// The value of an expression that is a number or truth value.
    pub(crate) fn scalar(&mut self, e: &'p Expr) -> Result<Scalar, Stop> {
        match &*e.kind {
            ExprKind::Const(value) => Ok(*value),
            ExprKind::Var(var) => match self.var(*var) {
                Value::Scalar(value) => Ok(*value),
                other => Err(self.expected(e.span, "a number", other)),
            },
            ExprKind::Binary(op, a, b) => {
                let a = self.scalar(a)?;
                let b = self.scalar(b)?;
                self.binary(*op, a, b, e.span)
            }
            ExprKind::Unary(op, a) => {
                let a = self.scalar(a)?;
                self.unary(*op, a, e.span)
            }
            ExprKind::Cast(a) => {
                let a = self.scalar(a)?;
                self.cast(a, e)
            }
            ExprKind::Index { base, indices } => self.index_scalar(e, base, indices),
            ExprKind::Size(size) => self.size_value(size, e),
            ExprKind::And(a, b) => {
                if self.truth(a)? {
                    self.scalar(b)
                } else {
                    Ok(Scalar::Bool(false))
                }
            }
            ExprKind::Or(a, b) => {
                if self.truth(a)? {
                    Ok(Scalar::Bool(true))
                } else {
                    self.scalar(b)
                }
            }
            ExprKind::If { cond, then, otherwise } => {
                if self.truth(cond)? {
                    self.scalar(then)
                } else {
                    self.scalar(otherwise)
                }
            }
            ExprKind::Reduce(reduce) => self.kept_reduce(reduce, e),
            ExprKind::Block { .. }
            | ExprKind::Match { .. }
            | ExprKind::Call { .. }
            | ExprKind::CallValue { .. }
            | ExprKind::Tensor(_)
            | ExprKind::TupleGet(..)
            | ExprKind::FieldGet(..)
            | ExprKind::Host(..)
            | ExprKind::Assert { .. }
            | ExprKind::Scatter(_)
            | ExprKind::Str(_)
            | ExprKind::Unit
            | ExprKind::Slice { .. }
            | ExprKind::Gather { .. }
            | ExprKind::Permute { .. }
            | ExprKind::Join { .. }
            | ExprKind::Array(_)
            | ExprKind::Comprehension { .. }
            | ExprKind::Tuple(_)
            | ExprKind::Make { .. }
            | ExprKind::Closure { .. }
            | ExprKind::Specialise { .. }
            | ExprKind::Range(..)
            | ExprKind::Try(_)
            | ExprKind::Derivative(_)
            | ExprKind::Error => self.eval_scalar(e),
        }
    }

    #[inline(never)]
    fn eval_scalar(&mut self, e: &'p Expr) -> Result<Scalar, Stop> {
        match self.eval(e)? {
            Value::Scalar(value) => Ok(value),
            other => Err(self.expected(e.span, "a number", &other)),
        }
    }

    #[inline(never)]
    fn cast(&self, value: Scalar, e: &'p Expr) -> Result<Scalar, Stop> {
        match e.ty {
            Type::Scalar(ty) => Ok(cast(value, ty)),
            _ => Err(self.malformed(e.span, "a cast to something that is not a number")),
        }
    }

    #[inline(never)]
    fn size_value(&self, size: &size::Expr, e: &'p Expr) -> Result<Scalar, Stop> {
        let value = self.size(size, e.span)?;
        let ty = e.ty.scalar().unwrap_or(ScalarType::I32);
        match Scalar::from_i128(i128::from(value), ty) {
            Some(value) => Ok(value),
            None => Err(self.too_large(e.span, value, ty.name())),
        }
    }

    /// The value of a condition.
    #[inline]
    pub(crate) fn truth(&mut self, e: &'p Expr) -> Result<bool, Stop> {
        match self.scalar(e)? {
            Scalar::Bool(truth) => Ok(truth),
            other => Err(self.expected(e.span, "a truth value", &Value::Scalar(other))),
        }
    }

    /// The value of an expression.
    pub(crate) fn eval(&mut self, e: &'p Expr) -> Result<Value, Stop> {
        match &*e.kind {
            ExprKind::Const(_)
            | ExprKind::Binary(..)
            | ExprKind::Unary(..)
            | ExprKind::Cast(_)
            | ExprKind::Size(_)
            | ExprKind::And(..)
            | ExprKind::Or(..)
            | ExprKind::Reduce(_) => self.scalar(e).map(Value::Scalar),
            ExprKind::Var(var) => Ok(self.var(*var).clone()),
            ExprKind::Str(text) => Ok(Value::str(text.as_str())),
            ExprKind::Unit => Ok(Value::Unit),
            ExprKind::If { cond, then, otherwise } => {
                if self.truth(cond)? {
                    self.eval(then)
                } else {
                    self.eval(otherwise)
                }
            }
            ExprKind::Block { stmts, value } => {
                self.block(stmts, value)?;
                self.eval(value)
            }
            ExprKind::Match { value, arms } => {
                let arm = self.chosen_arm(value, arms, e.span)?;
                self.eval(arm)
            }
            ExprKind::Tensor(tensor) => self.kept(e, |it| it.definition(tensor, e)),
            ExprKind::Scatter(scatter) => self.kept(e, |it| it.scatter(scatter, e)),
            ExprKind::Index { base, indices } => self.index(e, base, indices),
            ExprKind::Slice { base, axis, lo, hi } => {
                self.slice(e, base, *axis, lo.as_ref(), hi.as_ref())
            }
            ExprKind::Gather { base, axis, indices, name } => {
                self.gather(e, base, *axis, indices, *name)
            }
            ExprKind::Permute { base, order } => self.permute(e, base, order),
            ExprKind::Join { axis, left, right } => self.join(e, *axis, left, right),
            ExprKind::Array(items) => {
                if let Some(numbers) = written_out(self, items, &e.ty, e.span) {
                    return numbers;
                }
                let items = self.eval_all(items)?;
                self.assemble(items, &e.ty, e.span)
            }
            ExprKind::Comprehension { clauses, body } => {
                self.kept(e, |it| it.comprehension(e, clauses, body))
            }
            ExprKind::Tuple(items) => Ok(Value::tuple(self.eval_all(items)?)),
            ExprKind::TupleGet(tuple, at) => self.tuple_get(tuple, *at),
            ExprKind::Make { data, variant, fields } => {
                let fields = self.eval_all(fields)?;
                Ok(Value::Data(Arc::new(DataValue { data: *data, variant: *variant, fields })))
            }
            ExprKind::FieldGet(value, at) => self.field_get(value, *at),
            ExprKind::Call { func, sizes, closure, args } => {
                self.kept(e, |it| it.eval_call(*func, sizes, closure.as_ref(), args, e.span))
            }
            ExprKind::CallValue { callee, args } => {
                self.kept(e, |it| it.call_value(callee, args, e.span))
            }
            ExprKind::Closure { func, captures } => {
                let captures = self.eval_all(captures)?;
                Ok(Value::Closure(Arc::new(Closure { func: *func, captures })))
            }
            ExprKind::Specialise { value, func } => match self.eval(value)? {
                Value::Closure(closure) => {
                    let captures = closure.captures.clone();
                    Ok(Value::Closure(Arc::new(Closure { func: Some(*func), captures })))
                }
                other => Err(self.expected(e.span, "a function", &other)),
            },
            ExprKind::Range(lo, hi) => {
                let (lo, hi) = self.limits(lo, hi)?;
                Ok(Value::Range(Arc::new((lo, hi.max(lo)))))
            }
            ExprKind::Try(inner) => self.try_eval(e, inner),
            ExprKind::Host(op, args) => self.host_op(op, args, e),
            ExprKind::Assert { value, extents, what } => {
                let value = self.eval(value)?;
                self.assert_type(value, extents, what, e)
            }
            ExprKind::Derivative(_) => Err(self.malformed(e.span, "a derivative request is left")),
            ExprKind::Error => Err(self.malformed(e.span, "an error is left")),
        }
    }

    /// The values of several expressions, in order.
    pub(crate) fn eval_all(&mut self, items: &'p [Expr]) -> Result<Vec<Value>, Stop> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            values.push(self.eval(item)?);
        }
        Ok(values)
    }

    fn tuple_get(&mut self, tuple: &'p Expr, at: usize) -> Result<Value, Stop> {
        let value = self.eval(tuple)?;
        match &value {
            Value::Tuple(items) if at < items.len() => Ok(items[at].clone()),
            other => Err(self.expected(tuple.span, "a tuple", other)),
        }
    }

    fn field_get(&mut self, base: &'p Expr, at: usize) -> Result<Value, Stop> {
        let value = self.eval(base)?;
        match &value {
            Value::Data(data) if at < data.fields.len() => Ok(data.fields[at].clone()),
            other => Err(self.expected(base.span, "a struct", other)),
        }
    }

    /// `try`: an error becomes a value.
    #[inline(never)]
    fn try_eval(&mut self, e: &'p Expr, inner: &'p Expr) -> Result<Value, Stop> {
        let Type::Data(data, _) = e.ty else {
            return Err(self.malformed(e.span, "the type of `try` is not `Result`"));
        };
        let back = self.checkpoint();
        let (result, _) = self.within(Scope::default(), |machine| machine.eval(inner));
        let (variant, field) = match result {
            Ok(value) => (0, value),
            Err(Stop::Error(diagnostic)) => {
                self.go_back(&back);
                (1, Value::str(diagnostic.message))
            }
            Err(Stop::Interrupted) => return Err(Stop::Interrupted),
        };
        Ok(Value::Data(Arc::new(DataValue { data, variant, fields: vec![field] })))
    }

    #[inline(never)]
    fn comprehension(
        &mut self,
        e: &'p Expr,
        clauses: &'p [CompClause],
        body: &'p Expr,
    ) -> Result<Value, Stop> {
        let mut items = Vec::new();
        self.collect(clauses, body, &mut items)?;
        self.assemble(items, &e.ty, e.span)
    }

    fn collect(
        &mut self,
        clauses: &'p [CompClause],
        body: &'p Expr,
        items: &mut Vec<Value>,
    ) -> Result<(), Stop> {
        let Some((clause, rest)) = clauses.split_first() else {
            let item = self.eval(body)?;
            self.push_item(items, item, body.span)?;
            return Ok(());
        };
        match clause {
            CompClause::Condition(cond) => {
                if self.truth(cond)? {
                    self.collect(rest, body, items)?;
                }
                Ok(())
            }
            CompClause::Binding(var, value) => {
                let value = self.eval(value)?;
                self.bind(*var, value);
                self.collect(rest, body, items)
            }
            CompClause::Generator(pattern, source) => {
                let values = self.eval(source)?;
                let values = self.settle(values, source.span)?;
                let Some(length) = self.length(&values) else {
                    return Err(self.expected(source.span, "something to iterate over", &values));
                };
                let text: Vec<char> = values.as_str().unwrap_or_default().chars().collect();
                for at in 0..length {
                    self.tick()?;
                    let item = match text.get(at as usize) {
                        Some(letter) => Value::str(*letter),
                        None => self.nth(&values, at, source.span)?,
                    };
                    if !self.matches(pattern, &item, source.span)? {
                        let shown = crate::display(&item, self.program);
                        let message = format!("the pattern does not match the element {shown}");
                        return Err(self.fail(Code::E0804, source.span, message));
                    }
                    self.collect(rest, body, items)?;
                }
                Ok(())
            }
        }
    }
}
