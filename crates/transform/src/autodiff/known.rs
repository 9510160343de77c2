//! Functions that are given known functions become functions that call them.
//!
//! Before:  `fn newton(f, x) { … f(x) … }` and `newton(square, 2.0)`
//! After:   `fn newton(x) { … square(x) … }` and `newton(2.0)`
//!
//! What a function value computes is not known where it is called, so it has no tangent; a call of
//! a function has. Limit: values that are passed as arguments; one that captures something is still
//! passed, for what it captured.

use ein_base::Idx;
use ein_ir::tensor::walk::{any, each_child_mut, each_in_stmt, each_in_stmt_mut};
use ein_ir::tensor::{Expr, ExprKind, FuncId, Program, Type, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// A function value whose code is known.
#[derive(Clone)]
struct Value {
    func: FuncId,
    /// The value itself, if it captures nothing.
    closed: Option<Expr>,
}

type Values = FxHashMap<VarId, Value>;

/// Copies of functions by the code of their arguments.
type Copies = FxHashMap<(FuncId, Vec<Option<FuncId>>), FuncId>;

/// Gives calls of functions with known functions as arguments functions of their own.
pub(super) fn specialise(program: &mut Program) {
    let takes = |ty: &Type| matches!(ty, Type::Signature(_));
    let any_takes = program
        .funcs
        .iter()
        .any(|func| func.params.iter().any(|param| takes(&program.vars[*param].ty)));
    if !any_takes {
        return;
    }
    let bodies = program.funcs.iter().map(|func| func.body.clone()).collect();
    let mut pass = Known { program, bodies, copies: Copies::default() };
    let originals: Vec<FuncId> = pass.program.funcs.ids().collect();
    for func in &originals {
        pass.body(*func, &Values::default());
    }
    let mut top = std::mem::take(&mut pass.program.top);
    for stmt in &mut top {
        each_in_stmt_mut(stmt, &mut |e| pass.expr(e, &Values::default()));
    }
    pass.program.top = top;
    pass.forget_unused();
}

struct Known<'p> {
    program: &'p mut Program,
    /// The bodies of all functions as they were: one may be copied while it is being changed.
    bodies: Vec<Expr>,
    copies: Copies,
}

impl Known<'_> {
    fn body(&mut self, func: FuncId, values: &Values) {
        let span = self.program.funcs[func].span;
        let mut body = std::mem::replace(&mut self.program.funcs[func].body, Expr::error(span));
        self.expr(&mut body, values);
        self.program.funcs[func].body = body;
    }

    fn expr(&mut self, e: &mut Expr, values: &Values) {
        each_child_mut(e, &mut |child| self.expr(child, values));
        match &mut *e.kind {
            ExprKind::Var(var) => {
                if let Some(Value { closed: Some(value), .. }) = values.get(var) {
                    *e = value.clone();
                }
            }
            ExprKind::CallValue { callee, args } => {
                let Some(Value { func, closed }) = self.value(callee, values) else { return };
                let code = &self.program.funcs[func];
                if !code.sizes.is_empty() || code.params.len() != args.len() {
                    return;
                }
                let closure = closed.is_none().then(|| callee.clone());
                let args = std::mem::take(args);
                *e.kind = ExprKind::Call { func, sizes: Vec::new(), closure, args };
            }
            ExprKind::Call { func, args, .. } => {
                let known: Vec<Option<Value>> = args
                    .iter()
                    .map(|arg| match arg.ty {
                        Type::Signature(_) => self.value(arg, values),
                        _ => None,
                    })
                    .collect();
                let callee = &self.program.funcs[*func];
                let fits = callee.rule.is_none() && callee.params.len() == args.len();
                if fits && known.iter().any(Option::is_some) {
                    let mut closed =
                        known.iter().map(|it| matches!(it, Some(it) if it.closed.is_some()));
                    *func = self.copy(*func, &known);
                    args.retain(|_| closed.next() != Some(true));
                }
            }
            _ => {}
        }
    }

    /// The code of a function value, where it can be seen.
    fn value(&self, e: &Expr, values: &Values) -> Option<Value> {
        match &*e.kind {
            ExprKind::Var(var) => values.get(var).cloned(),
            ExprKind::Specialise { func, .. } | ExprKind::Closure { func: Some(func), .. } => {
                let closed = self.program.funcs[*func].captures.is_empty();
                Some(Value { func: *func, closed: closed.then(|| e.clone()) })
            }
            _ => None,
        }
    }

    /// A function with the code of some of its parameters chosen.
    fn copy(&mut self, func: FuncId, known: &[Option<Value>]) -> FuncId {
        let codes = known.iter().map(|it| it.as_ref().map(|it| it.func)).collect();
        let key = (func, codes);
        if let Some(copy) = self.copies.get(&key) {
            return *copy;
        }
        let mut copied = self.program.funcs[func].clone();
        if let Some(body) = self.bodies.get(func.index()) {
            copied.body = body.clone();
        }
        let mut values = Values::default();
        for (param, value) in copied.params.iter().zip(known) {
            if let Some(value) = value {
                values.insert(*param, value.clone());
            }
        }
        copied.params.retain(|param| !matches!(values.get(param), Some(it) if it.closed.is_some()));
        let copy = self.program.funcs.push(copied);
        self.copies.insert(key, copy);
        self.body(copy, &values);
        copy
    }

    /// A function that only its copies have taken the place of must not be asked for its
    /// derivatives any more.
    fn forget_unused(&mut self) {
        let used = called(self.program);
        let mut copies: Vec<(FuncId, FuncId)> =
            self.copies.iter().map(|((func, _), copy)| (*func, *copy)).collect();
        copies.sort();
        for (func, copy) in copies {
            if !used.contains(&func) {
                self.program.funcs[func].body = self.program.funcs[copy].body.clone();
            }
        }
    }
}

/// The functions that a run of the program, its `main` or its tests may come to.
pub(super) fn called(program: &Program) -> FxHashSet<FuncId> {
    let mut used: FxHashSet<FuncId> = FxHashSet::default();
    let mut open: Vec<FuncId> = program.tests.iter().map(|(_, _, func)| *func).collect();
    open.extend(program.main);
    used.extend(&open);
    let mut found = |e: &Expr, open: &mut Vec<FuncId>| {
        any(e, &mut |e| {
            if let ExprKind::Call { func, .. }
            | ExprKind::Specialise { func, .. }
            | ExprKind::Closure { func: Some(func), .. } = &*e.kind
                && used.insert(*func)
            {
                open.push(*func);
            }
            false
        });
    };
    for stmt in &program.top {
        each_in_stmt(stmt, &mut |e| found(e, &mut open));
    }
    while let Some(func) = open.pop() {
        let callee = &program.funcs[func];
        found(&callee.body, &mut open);
        if let Some(rule) = callee.rule {
            found(&program.funcs[rule].body, &mut open);
        }
    }
    used
}
