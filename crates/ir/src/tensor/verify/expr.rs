//! Expressions, by kind.

use super::types::{agree, show};
use super::{Verifier, is_int};
use crate::size;
use crate::tensor::{Arm, Expr, ExprKind, FuncId, HostOp, IndexArg, Type, walk};

impl Verifier<'_> {
    /// An expression: its own type, its parts, and how they fit.
    pub(super) fn expr(&mut self, e: &Expr) {
        self.ty(&e.ty);
        match &*e.kind {
            ExprKind::Block { stmts, value } => {
                let start = self.scope.len();
                stmts.iter().for_each(|stmt| self.stmt(stmt));
                self.expr(value);
                self.leave(start);
                self.agrees(&e.ty, &value.ty, "the value of a block");
            }
            ExprKind::Match { value, arms } => self.match_arms(value, arms, e),
            ExprKind::Tensor(tensor) => self.tensor(tensor, e),
            ExprKind::Reduce(reduce) => self.reduce(reduce, e),
            ExprKind::Scatter(scatter) => self.scatter(scatter, e),
            ExprKind::Comprehension { clauses, body } => self.comprehension(clauses, body),
            _ => {
                walk::each_child(e, &mut |child| self.expr(child));
                self.node(e);
            }
        }
    }

    /// A node whose children are done and which binds nothing.
    fn node(&mut self, e: &Expr) {
        match &*e.kind {
            ExprKind::Const(value) => {
                self.agrees(&Type::Scalar(value.ty()), &e.ty, "a constant");
            }
            ExprKind::Str(_) => self.agrees(&Type::Str, &e.ty, "a text"),
            ExprKind::Unit => self.agrees(&Type::Unit, &e.ty, "`()`"),
            ExprKind::Var(var) => {
                self.used(*var);
                if let Some(ty) = self.var_type(*var) {
                    let name = self.name(*var);
                    self.agrees(ty, &e.ty, &name);
                }
            }
            ExprKind::Size(size) => {
                self.size(size);
                self.check(is_int(&e.ty), || "a size is not an integer".into());
            }
            ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::And(..)
            | ExprKind::Or(..)
            | ExprKind::Cast(_) => self.scalar_node(e),
            ExprKind::If { cond, then, otherwise } => {
                self.bool(&cond.ty, "a condition");
                self.agrees(&e.ty, &then.ty, "a branch");
                self.agrees(&e.ty, &otherwise.ty, "a branch");
            }
            ExprKind::Index { base, indices } => self.index(base, indices, e),
            ExprKind::Slice { .. }
            | ExprKind::Gather { .. }
            | ExprKind::Permute { .. }
            | ExprKind::Join { .. } => self.view(e),
            ExprKind::Array(items) => self.array(items, e),
            ExprKind::Tuple(items) => {
                let types = items.iter().map(|item| item.ty.clone()).collect();
                self.agrees(&e.ty, &Type::Tuple(types), "a tuple");
            }
            ExprKind::TupleGet(tuple, at) => match &tuple.ty {
                Type::Tuple(items) if *at < items.len() => {
                    self.agrees(&items[*at], &e.ty, "a component");
                }
                other => self.report(format!("there is no component {at} of {}", show(other))),
            },
            ExprKind::Make { data, variant, fields } => {
                let variant = self.program.data.get(*data).and_then(|it| it.variants.get(*variant));
                let fits = variant.is_some_and(|it| it.fields.len() == fields.len());
                self.check(fits, || "a struct or variant is not there or has other fields".into());
                let own = matches!(&e.ty, Type::Data(own, _) if own == data);
                self.check(own, || format!("what makes {data} is {}", show(&e.ty)));
            }
            ExprKind::FieldGet(value, at) => {
                let data = match &value.ty {
                    Type::Data(data, _) => self.program.data.get(*data),
                    _ => None,
                };
                let known = data.and_then(|it| it.variants.first());
                let known = known.is_some_and(|it| *at < it.fields.len());
                self.check(known, || format!("there is no field {at} of {}", show(&value.ty)));
            }
            ExprKind::Call { func, sizes, closure, args } => {
                self.call(*func, sizes, closure.as_ref(), args, e);
            }
            ExprKind::CallValue { callee, args } => self.call_value(callee, args, e),
            ExprKind::Closure { func, captures } => {
                if let Some(func) = func {
                    let count = self.program.funcs.get(*func).map(|it| it.captures.len());
                    self.check(count == Some(captures.len()), || {
                        format!("a closure has {} captures for {func}", captures.len())
                    });
                }
                self.function_value(&e.ty);
            }
            ExprKind::Specialise { value, func } => {
                let known = self.program.funcs.get(*func).is_some();
                self.check(known, || format!("there is no function {func}"));
                self.function_value(&value.ty);
                self.function_value(&e.ty);
            }
            ExprKind::Range(lo, hi) => {
                self.int_type(&lo.ty, "the start of a range");
                self.int_type(&hi.ty, "the end of a range");
                self.agrees(&Type::Range, &e.ty, "a range");
            }
            ExprKind::Try(_) => {
                let data = matches!(e.ty, Type::Data(..));
                self.check(data, || format!("`try` is {}", show(&e.ty)));
            }
            ExprKind::Host(HostOp::Format(specs), args) => {
                let fits = specs.len() == args.len();
                self.check(fits, || "a format has another number of specifications".into());
            }
            ExprKind::Host(..) => {}
            ExprKind::Assert { extents, .. } => {
                extents.iter().flatten().for_each(|extent| self.size(extent));
            }
            ExprKind::Derivative(_) => {
                let allowed = self.derivatives;
                self.check(allowed, || "a derivative request is left".into());
            }
            ExprKind::Error => self.report("an error node is left".into()),
            ExprKind::Block { .. }
            | ExprKind::Match { .. }
            | ExprKind::Tensor(_)
            | ExprKind::Reduce(_)
            | ExprKind::Scatter(_)
            | ExprKind::Comprehension { .. } => {}
        }
    }

    fn scalar_node(&mut self, e: &Expr) {
        let scalar = |e: &Expr| match e.ty {
            Type::Scalar(ty) => Some(ty),
            _ => None,
        };
        let (word, result) = match &*e.kind {
            ExprKind::Unary(op, a) => {
                (op.as_str(), scalar(a).and_then(|a| op.result_type(a)).map(Type::Scalar))
            }
            ExprKind::Binary(op, a, b) => {
                let types = scalar(a).zip(scalar(b));
                (op.as_str(), types.and_then(|(a, b)| op.result_type(a, b)).map(Type::Scalar))
            }
            ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                self.bool(&a.ty, "an operand of `&&` or `||`");
                self.bool(&b.ty, "an operand of `&&` or `||`");
                ("`&&` or `||`", Some(Type::BOOL))
            }
            ExprKind::Cast(a) => ("a cast", scalar(a).and(scalar(e)).map(Type::Scalar)),
            _ => return,
        };
        match result {
            Some(result) => self.agrees(&result, &e.ty, &format!("the result of {word}")),
            None => self.report(format!("{word} does not take these operands")),
        }
    }

    fn match_arms(&mut self, value: &Expr, arms: &[Arm], e: &Expr) {
        self.expr(value);
        for arm in arms {
            let start = self.scope.len();
            self.pattern(&arm.pattern, &value.ty);
            if let Some(guard) = &arm.guard {
                self.truth(guard, "a guard");
            }
            self.expr(&arm.value);
            self.agrees(&e.ty, &arm.value.ty, "an arm");
            self.leave(start);
        }
    }

    fn index(&mut self, base: &Expr, indices: &[IndexArg], e: &Expr) {
        for index in indices {
            self.int_type(&index.value.ty, "an index");
        }
        let count = indices.len();
        match &base.ty {
            Type::Array(array) if count <= array.axes.len() => {
                let rest = Type::array(array.elem.clone(), array.axes[count..].to_vec());
                self.agrees(&rest, &e.ty, "a read");
            }
            Type::AnyRank(_) | Type::Jagged(..) | Type::Error => {}
            other => self.report(format!("{count} indices into {}", show(other))),
        }
    }

    fn view(&mut self, e: &Expr) {
        match &*e.kind {
            ExprKind::Slice { base, axis, lo, hi } => {
                for end in lo.iter().chain(hi) {
                    self.int_type(&end.ty, "the end of a slice");
                }
                self.axis(*axis, &base.ty);
                self.agrees(&base.ty, &e.ty, "a slice");
            }
            ExprKind::Gather { base, axis, indices, .. } => {
                self.axis(*axis, &base.ty);
                let ints = indices.ty.scalar().is_some_and(|ty| ty.is_int());
                let one = matches!(&indices.ty, Type::Array(array) if array.axes.len() == 1);
                self.check(ints && one, || format!("positions that are {}", show(&indices.ty)));
            }
            ExprKind::Permute { base, order } => {
                let rank = base.ty.rank();
                let whole = order.len() == rank && (0..rank).all(|axis| order.contains(&axis));
                self.check(whole, || format!("the order {order:?} of {rank} axes"));
                self.agrees(&base.ty, &e.ty, "a permutation");
            }
            ExprKind::Join { axis, left, right } => {
                self.axis(*axis, &e.ty);
                for part in [left, right] {
                    let fits = agree(part.ty.elem(), e.ty.elem()) || !e.ty.is_array();
                    self.check(fits, || format!("{} is joined", show(&part.ty)));
                }
            }
            _ => {}
        }
    }

    /// An axis that is there, as far as the type says.
    fn axis(&mut self, axis: usize, ty: &Type) {
        let there = match ty {
            Type::Array(array) => axis < array.axes.len(),
            Type::Str | Type::Jagged(..) => axis == 0,
            Type::AnyRank(_) | Type::Error => true,
            Type::Unit | Type::Scalar(_) | Type::Tuple(_) | Type::Data(..) => false,
            Type::Template(..) | Type::Signature(_) | Type::Range => false,
        };
        self.check(there, || format!("{} has no axis {axis}", show(ty)));
    }

    fn array(&mut self, items: &[Expr], e: &Expr) {
        match &e.ty {
            Type::Array(array) => {
                let rest = array.axes.iter().skip(1).cloned().collect();
                let part = Type::array(array.elem.clone(), rest);
                for item in items {
                    self.agrees(&part, &item.ty, "an element");
                }
            }
            Type::Jagged(..) | Type::AnyRank(_) | Type::Error => {}
            other => self.report(format!("an array is {}", show(other))),
        }
    }

    fn call(
        &mut self,
        func: FuncId,
        sizes: &[size::Expr],
        closure: Option<&Expr>,
        args: &[Expr],
        e: &Expr,
    ) {
        sizes.iter().for_each(|size| self.size(size));
        if let Some(closure) = closure {
            self.function_value(&closure.ty);
        }
        let Some(info) = self.program.funcs.get(func) else {
            return self.report(format!("there is no function {func}"));
        };
        let name = info.name;
        let (found, expected) = (sizes.len(), info.sizes.len());
        self.check(found == expected, || format!("`{name}` takes {expected} sizes, not {found}"));
        let (found, expected) = (args.len(), info.params.len());
        self.check(found == expected, || {
            format!("`{name}` takes {expected} arguments, not {found}")
        });
        let captured = closure.is_some() || info.captures.is_empty();
        self.check(captured, || format!("`{name}` is called without its captures"));
        for (arg, param) in args.iter().zip(&info.params) {
            if let Some(ty) = self.var_type(*param) {
                self.agrees(ty, &arg.ty, &format!("an argument of `{name}`"));
            }
        }
        self.agrees(&info.ret, &e.ty, &format!("the result of `{name}`"));
    }

    fn call_value(&mut self, callee: &Expr, args: &[Expr], e: &Expr) {
        match &callee.ty {
            Type::Signature(of) => {
                let (found, expected) = (args.len(), of.params.len());
                // Once per derivative, a tangent takes the tangents of all arguments as well.
                let tangent = !self.derivatives
                    && found.checked_rem(expected) == Some(0)
                    && (found / expected).is_power_of_two();
                self.check(found == expected || tangent, || {
                    format!("a function value takes {expected} arguments, not {found}")
                });
                for (arg, param) in args.iter().zip(of.params.iter().cycle()) {
                    self.agrees(param, &arg.ty, "an argument of a function value");
                }
                self.agrees(&of.ret, &e.ty, "the result of a function value");
            }
            Type::Error => {}
            other => self.report(format!("{} is called", show(other))),
        }
    }

    fn function_value(&mut self, ty: &Type) {
        let function = matches!(ty, Type::Template(..) | Type::Signature(_) | Type::Error);
        self.check(function, || format!("a function value is {}", show(ty)));
    }

    // ---------------------------------------------------------------- what is asked of a type

    fn bool(&mut self, ty: &Type, what: &str) {
        self.agrees(&Type::BOOL, ty, what);
    }

    fn int_type(&mut self, ty: &Type, what: &str) {
        self.check(is_int(ty) || *ty == Type::Error, || format!("{what} is {}", show(ty)));
    }

    /// A condition.
    pub(super) fn truth(&mut self, e: &Expr, what: &str) {
        self.expr(e);
        self.bool(&e.ty, what);
    }

    /// An integer.
    pub(super) fn int(&mut self, e: &Expr, what: &str) {
        self.expr(e);
        self.int_type(&e.ty, what);
    }
}
