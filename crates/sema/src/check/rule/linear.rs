//! How the value of a rule depends on the tangents: it must be linear in them.
//!
//! Called functions are looked into, and a recurrence is linear if its steps are. What is not
//! understood and meets a tangent is not linear.

use ein_base::IndexVec;
use ein_ir::tensor::walk::any;
use ein_ir::tensor::{
    Expr, ExprKind, Func, FuncId, HostOp, Item, Pattern, ReduceOp, StmtKind, Tensor, Type, VarId,
};
use ein_scalar::{BinaryOp, UnaryOp};
use rustc_hash::FxHashMap;

/// How an expression depends on the tangents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Degree {
    /// Not at all: it is zero.
    Zero,
    /// Not at all.
    Constant,
    /// Linearly.
    Linear,
    /// As a linear part and a constant one.
    Affine,
    /// In another way.
    Other,
}

impl Degree {
    /// The degree of a sum, and of a value that is one or the other.
    fn plus(self, other: Degree) -> Degree {
        match (self, other) {
            (Degree::Other, _) | (_, Degree::Other) => Degree::Other,
            (Degree::Zero, it) | (it, Degree::Zero) => it,
            (Degree::Constant, Degree::Constant) => Degree::Constant,
            (Degree::Linear, Degree::Linear) => Degree::Linear,
            (Degree::Affine | Degree::Constant | Degree::Linear, _) => Degree::Affine,
        }
    }

    fn times(self, other: Degree) -> Degree {
        match (self, other) {
            (Degree::Zero, _) | (_, Degree::Zero) => Degree::Zero,
            (Degree::Constant, it) | (it, Degree::Constant) => it,
            _ => Degree::Other,
        }
    }

    /// Whether no tangent is in it.
    fn still(self) -> bool {
        match self {
            Degree::Zero | Degree::Constant => true,
            Degree::Linear | Degree::Affine | Degree::Other => false,
        }
    }

    /// The degree of what is taken by something still: a condition, a position, a divisor.
    fn by(self, other: Degree) -> Degree {
        if other.still() { self } else { Degree::Other }
    }
}

/// Finds degrees.
pub(super) struct Linearity<'p> {
    funcs: &'p IndexVec<FuncId, Func>,
    /// The degrees of variables; those that are not here are constants.
    vars: FxHashMap<VarId, Degree>,
    /// The functions that are looked into.
    open: Vec<FuncId>,
}

impl<'p> Linearity<'p> {
    pub(super) fn new(funcs: &'p IndexVec<FuncId, Func>, tangents: &[VarId]) -> Self {
        let vars = tangents.iter().map(|var| (*var, Degree::Linear)).collect();
        Self { funcs, vars, open: Vec::new() }
    }

    pub(super) fn degree(&mut self, e: &Expr) -> Degree {
        match &*e.kind {
            ExprKind::Const(scalar) => {
                // Minus zero is a zero, too.
                if scalar.as_f64() == 0.0 { Degree::Zero } else { Degree::Constant }
            }
            ExprKind::Var(var) => self.vars.get(var).copied().unwrap_or(Degree::Constant),
            ExprKind::Unary(UnaryOp::Neg, a) => self.degree(a),
            ExprKind::Cast(a) if is_float(&a.ty) && is_float(&e.ty) => self.degree(a),
            ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => {
                self.degree(a).plus(self.degree(b))
            }
            ExprKind::Binary(BinaryOp::Mul, a, b) => self.degree(a).times(self.degree(b)),
            ExprKind::Binary(BinaryOp::Div, a, b) => self.degree(a).by(self.degree(b)),
            ExprKind::If { cond, then, otherwise } => {
                let cond = self.degree(cond);
                self.degree(then).plus(self.degree(otherwise)).by(cond)
            }
            ExprKind::Match { value, arms } => {
                let chosen = self.degree(value);
                let mut degree = Degree::Zero;
                let mut by = chosen;
                for arm in arms {
                    self.bind(&arm.pattern, value);
                    if let Some(guard) = &arm.guard {
                        by = by.plus(self.degree(guard));
                    }
                    degree = degree.plus(self.degree(&arm.value));
                }
                degree.by(by)
            }
            ExprKind::Index { base, indices } => {
                indices.iter().fold(self.degree(base), |degree, i| degree.by(self.degree(&i.value)))
            }
            ExprKind::Slice { base, lo, hi, .. } => [lo, hi]
                .into_iter()
                .flatten()
                .fold(self.degree(base), |degree, end| degree.by(self.degree(end))),
            ExprKind::Gather { base, indices, .. } => self.degree(base).by(self.degree(indices)),
            ExprKind::Block { stmts, value } => {
                for stmt in stmts {
                    match &stmt.kind {
                        StmtKind::Let(var, value) => {
                            let degree = self.degree(value);
                            self.vars.insert(*var, degree);
                        }
                        StmtKind::Destructure(pattern, value) => self.bind(pattern, value),
                        StmtKind::Expr(_) | StmtKind::Require(_) => {}
                    }
                }
                self.degree(value)
            }
            ExprKind::Tensor(tensor) => self.tensor(tensor),
            ExprKind::Reduce(reduce) if matches!(reduce.op, ReduceOp::Sum | ReduceOp::Mean) => {
                let by = self.items(&reduce.items);
                self.degree(&reduce.value).by(by)
            }
            ExprKind::Array(items) | ExprKind::Tuple(items) => self.parts(items),
            ExprKind::Make { fields, .. } => self.parts(fields),
            ExprKind::TupleGet(a, position) => match &*a.kind {
                ExprKind::Tuple(items) => self.degree(&items[*position]),
                _ => self.degree(a),
            },
            ExprKind::FieldGet(a, _)
            | ExprKind::Permute { base: a, .. }
            | ExprKind::Assert { value: a, .. } => self.degree(a),
            ExprKind::Join { left, right, .. } => self.degree(left).plus(self.degree(right)),
            ExprKind::Host(HostOp::Reshape | HostOp::Convert, args) if !args.is_empty() => args
                [1..]
                .iter()
                .fold(self.degree(&args[0]), |degree, arg| degree.by(self.degree(arg))),
            ExprKind::Host(HostOp::ZerosLike, _) => Degree::Zero,
            ExprKind::Call { func, closure: None, args, .. } => self.call(*func, args, e),
            _ => self.opaque(e),
        }
    }

    /// What is not looked into: a constant, if no tangent is in it.
    fn opaque(&mut self, e: &Expr) -> Degree {
        let moves = any(e, &mut |part| {
            matches!(&*part.kind, ExprKind::Var(var)
                if self.vars.get(var).is_some_and(|degree| !degree.still()))
        });
        if moves { Degree::Other } else { Degree::Constant }
    }

    /// The parts of a value, of which those that are no floats have no tangent.
    fn parts(&mut self, items: &[Expr]) -> Degree {
        items.iter().fold(Degree::Zero, |degree, item| {
            if moves(&item.ty) { degree.plus(self.degree(item)) } else { degree }
        })
    }

    fn call(&mut self, func: FuncId, args: &[Expr], e: &Expr) -> Degree {
        let callee = &self.funcs[func];
        let known = !self.open.contains(&func) && !callee.body.ty.has_error();
        if !known || callee.params.len() != args.len() {
            return self.opaque(e);
        }
        let degrees: Vec<Degree> = args.iter().map(|arg| self.degree(arg)).collect();
        for (param, degree) in callee.params.iter().zip(degrees) {
            self.vars.insert(*param, degree);
        }
        self.open.push(func);
        let degree = self.degree(&callee.body);
        self.open.pop();
        degree
    }

    /// A definition; a recurrence is what its steps make of it, which can only rise.
    fn tensor(&mut self, tensor: &Tensor) -> Degree {
        let mut known = Degree::Zero;
        loop {
            if let Some(var) = tensor.self_var {
                self.vars.insert(var, known);
            }
            let mut degree = known;
            for clause in &tensor.clauses {
                let by = self.items(&clause.items);
                degree = degree.plus(self.degree(&clause.value).by(by));
                if let Some(otherwise) = &clause.otherwise {
                    degree = degree.plus(self.degree(otherwise).by(by));
                }
            }
            if degree == known || tensor.self_var.is_none() {
                return degree;
            }
            known = degree;
        }
    }

    /// Binds what items bind, and gives the degree of their guards.
    fn items(&mut self, items: &[Item]) -> Degree {
        let mut guards = Degree::Zero;
        for item in items {
            match item {
                Item::Let(var, value) => {
                    let degree = self.degree(value);
                    self.vars.insert(*var, degree);
                }
                Item::Guard(guard) => guards = guards.plus(self.degree(guard)),
            }
        }
        guards
    }

    /// Binds the variables of a pattern; those of a tuple that is written out one by one.
    fn bind(&mut self, pattern: &Pattern, value: &Expr) {
        if let (Pattern::Tuple(parts), ExprKind::Tuple(items)) = (pattern, &*value.kind)
            && parts.len() == items.len()
        {
            for (part, item) in parts.iter().zip(items) {
                self.bind(part, item);
            }
            return;
        }
        let degree = self.degree(value);
        for var in pattern.variables() {
            self.vars.insert(var, degree);
        }
    }
}

fn is_float(ty: &Type) -> bool {
    ty.scalar().is_some_and(|ty| ty.is_float())
}

/// Whether a value of this type can have a tangent.
pub(in crate::check) fn moves(ty: &Type) -> bool {
    match ty.scalar() {
        Some(ty) => ty.is_float(),
        None => !matches!(ty, Type::Str | Type::Unit),
    }
}
