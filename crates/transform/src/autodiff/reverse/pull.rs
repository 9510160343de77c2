//! Pulls a cotangent back through an expression, construct by construct.

use super::{Done, Reverse, Seed, Step, element, unsupported, weight};
use crate::autodiff::tangent::moves;
use ein_ir::tensor::{Arm, Expr, ExprKind, HostOp, Pattern, Stmt, StmtKind, Type, VarId};
use ein_scalar::{BinaryOp, Scalar, UnaryOp};

/// Beyond this many nodes a cotangent that is used twice gets a name.
const LONG: usize = 16;

impl Reverse<'_, '_> {
    /// Any value. `own` reads the value itself where that is cheap.
    pub(super) fn pull_value(&mut self, e: &Expr, seed: Seed, own: Option<Expr>) -> Done {
        if !self.depends(e) {
            return Ok(());
        }
        match seed {
            Seed::Value(seed) if e.ty.is_array() => self.pull_array_owned(e, seed, own),
            Seed::Value(seed) => self.pull(e, seed, own),
            Seed::Parts(parts) => self.pull_parts(e, parts),
        }
    }

    /// A number.
    pub(super) fn pull(&mut self, e: &Expr, seed: Expr, own: Option<Expr>) -> Done {
        if !self.depends(e) || !moves(&e.ty) {
            return Ok(());
        }
        let mark = self.path.len();
        let done = self.pull_node(e, seed, own);
        self.path.truncate(mark);
        done
    }

    fn pull_node(&mut self, e: &Expr, seed: Expr, own: Option<Expr>) -> Done {
        let span = e.span;
        match &*e.kind {
            ExprKind::Var(var) => {
                if e.ty.is_array() || !matches!(e.ty, Type::Scalar(_)) {
                    return unsupported("a value of this type");
                }
                self.contribute(*var, &[], Vec::new(), seed);
                Ok(())
            }
            ExprKind::Index { base, indices } => self.pull_read(base, indices, seed, span),
            ExprKind::Unary(op, a) => {
                let value = self.prim(a);
                let Some(seed) = self.slope(*op, value, own, seed) else { return Ok(()) };
                self.pull(a, seed, None)
            }
            ExprKind::Binary(op, a, b) => self.pull_binary(*op, a, b, seed, own),
            ExprKind::Cast(a) => {
                if !moves(&a.ty) {
                    return Ok(());
                }
                let seed = Expr::new(ExprKind::Cast(seed), a.ty.clone(), span);
                self.pull(a, seed, None)
            }
            ExprKind::If { cond, then, otherwise } => {
                let seed = self.shared(seed, e);
                let (yes, no) = self.branches(cond);
                let mark = self.path.len();
                self.push(Step::Guard(yes));
                self.pull(then, seed.clone(), own.clone())?;
                self.path.truncate(mark);
                self.push(Step::Guard(no));
                self.pull(otherwise, seed, own)?;
                self.path.truncate(mark);
                Ok(())
            }
            ExprKind::Block { stmts, value } => {
                self.pull_block(stmts, value, Seed::Value(seed), own)
            }
            ExprKind::Match { value, arms } => {
                self.pull_match(value, arms, &Seed::Value(seed), own.as_ref())
            }
            ExprKind::Reduce(reduce) => self.pull_reduce(reduce, e, seed),
            ExprKind::Call { .. } | ExprKind::CallValue { .. } => {
                self.pull_call(e, Seed::Value(seed), own)
            }
            ExprKind::TupleGet(base, at) | ExprKind::FieldGet(base, at) => {
                self.pull_value(base, Seed::Parts(vec![(*at, Seed::Value(seed))]), None)
            }
            ExprKind::Assert { value, .. } => self.pull(value, seed, own),
            ExprKind::Host(HostOp::Convert, args) => match args.as_slice() {
                [a] if matches!(a.ty, Type::Scalar(_)) => {
                    let seed = Expr::new(ExprKind::Cast(seed), a.ty.clone(), span);
                    self.pull(a, seed, None)
                }
                _ => unsupported("a conversion"),
            },
            ExprKind::Host(..) => unsupported("an operation of the run-time library"),
            ExprKind::Try(_) => unsupported("`try`"),
            ExprKind::Const(_)
            | ExprKind::Str(_)
            | ExprKind::Unit
            | ExprKind::Size(_)
            | ExprKind::And(..)
            | ExprKind::Or(..)
            | ExprKind::Range(..)
            | ExprKind::Error => Ok(()),
            ExprKind::Tensor(_)
            | ExprKind::Scatter(_)
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
            | ExprKind::Derivative(_) => unsupported("a value that is not a number"),
        }
    }

    /// A condition and its opposite.
    pub(super) fn branches(&mut self, cond: &Expr) -> (Expr, Expr) {
        let yes = self.prim(cond);
        let no = negation(&yes);
        (yes, no)
    }

    /// A cotangent that several parts are about to use.
    pub(super) fn shared(&mut self, seed: Expr, e: &Expr) -> Expr {
        if self.has_reduction(e) && !plain(&seed) {
            return self.lift_seed(seed);
        }
        if weight(&seed, LONG) >= LONG { self.bind("$s", seed) } else { seed }
    }

    fn pull_binary(
        &mut self,
        op: BinaryOp,
        a: &Expr,
        b: &Expr,
        seed: Expr,
        own: Option<Expr>,
    ) -> Done {
        let (left, right) = (self.depends(a) && moves(&a.ty), self.depends(b) && moves(&b.ty));
        let seed = if left && right {
            let whole = Expr::new(ExprKind::Binary(op, a.clone(), b.clone()), a.ty.clone(), a.span);
            self.shared(seed, &whole)
        } else {
            seed
        };
        match op {
            BinaryOp::Add => {
                if left {
                    self.pull(a, seed.clone(), None)?;
                }
                if right { self.pull(b, seed, None) } else { Ok(()) }
            }
            BinaryOp::Sub => {
                if left {
                    self.pull(a, seed.clone(), None)?;
                }
                if !right {
                    return Ok(());
                }
                let seed = self.negative(seed);
                self.pull(b, seed, None)
            }
            BinaryOp::Mul if left && same(a, b) => {
                let factor = self.prim(a);
                let two = self.pass.number(&a.ty, 2.0, a.span);
                let slope = self.product(two, factor);
                let seed = self.product(seed, slope);
                self.pull(a, seed, None)
            }
            BinaryOp::Mul => {
                if left {
                    let factor = self.prim(b);
                    let seed = self.product(seed.clone(), factor);
                    self.pull(a, seed, None)?;
                }
                if !right {
                    return Ok(());
                }
                let factor = self.prim(a);
                let seed = self.product(seed, factor);
                self.pull(b, seed, None)
            }
            BinaryOp::Div => {
                let below = self.prim(b);
                if left {
                    let seed = self.quotient(seed.clone(), below.clone());
                    self.pull(a, seed, None)?;
                }
                if !right {
                    return Ok(());
                }
                let value = match own {
                    Some(own) => own,
                    None => {
                        let above = self.prim(a);
                        self.quotient(above, below.clone())
                    }
                };
                let slope = self.quotient(value, below);
                let seed = self.product(seed, slope);
                let seed = self.negative(seed);
                self.pull(b, seed, None)
            }
            BinaryOp::Min | BinaryOp::Max => {
                let test = if op == BinaryOp::Min { BinaryOp::Le } else { BinaryOp::Ge };
                let (x, y) = (self.prim(a), self.prim(b));
                let span = a.span;
                let first = Expr::new(ExprKind::Binary(test, x, y), Type::BOOL, span);
                let second = negation(&first);
                let mark = self.path.len();
                self.push(Step::Guard(first));
                self.pull(a, seed.clone(), None)?;
                self.path.truncate(mark);
                self.push(Step::Guard(second));
                self.pull(b, seed, None)
            }
            BinaryOp::Pow => {
                if left {
                    let seed = self.power_slope(a, b, seed.clone());
                    self.pull(a, seed, None)?;
                }
                if !right {
                    return Ok(());
                }
                let (x, y) = (self.prim(a), self.prim(b));
                let slope = self.pass.binary_tangent(op, x, y, None, Some(seed), a.span);
                slope.map_or(Ok(()), |seed| self.pull(b, seed, None))
            }
            BinaryOp::Rem | BinaryOp::FloorMod | BinaryOp::Atan2 => {
                let (x, y) = (self.prim(a), self.prim(b));
                if left {
                    let (x, y) = (x.clone(), y.clone());
                    let slope =
                        self.pass.binary_tangent(op, x, y, Some(seed.clone()), None, a.span);
                    if let Some(seed) = slope {
                        self.pull(a, seed, None)?;
                    }
                }
                if !right {
                    return Ok(());
                }
                let slope = self.pass.binary_tangent(op, x, y, None, Some(seed), a.span);
                slope.map_or(Ok(()), |seed| self.pull(b, seed, None))
            }
            BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::FloorDiv => Ok(()),
        }
    }

    /// `f'(a)` times the cotangent, by way of the value where that is simpler.
    fn slope(&mut self, op: UnaryOp, a: Expr, own: Option<Expr>, seed: Expr) -> Option<Expr> {
        let (ty, span) = (a.ty.clone(), a.span);
        let number = |it: &Self, value| it.pass.number(&ty, value, span);
        if let Some(own) = own {
            match op {
                UnaryOp::Tanh => {
                    let square = self.product(own.clone(), own);
                    let slope = self.pass.arith(BinaryOp::Sub, number(self, 1.0), square);
                    return Some(self.product(seed, slope));
                }
                UnaryOp::Exp => return Some(self.product(seed, own)),
                UnaryOp::Sqrt => {
                    let twice = self.product(number(self, 2.0), own);
                    return Some(self.quotient(seed, twice));
                }
                _ => {}
            }
        }
        if op == UnaryOp::Neg {
            return Some(self.negative(seed));
        }
        self.pass.unary_tangent(op, a, seed, span)
    }

    /// `b · a^(b - 1)` times the cotangent; a constant exponent is simplified.
    fn power_slope(&mut self, a: &Expr, b: &Expr, seed: Expr) -> Expr {
        let (ty, span) = (a.ty.clone(), a.span);
        let x = self.prim(a);
        if let Some((n, lower)) = crate::autodiff::scalar::lowered(b) {
            let factor = self.pass.number(&ty, n, span);
            if n == 1.0 {
                return seed;
            }
            if n == 2.0 {
                let slope = self.product(factor, x);
                return self.product(seed, slope);
            }
            if n != 0.0 {
                let lower = Expr::new(ExprKind::Const(lower), b.ty.clone(), span);
                let power = Expr::new(ExprKind::Binary(BinaryOp::Pow, x, lower), ty, span);
                let slope = self.product(factor, power);
                return self.product(seed, slope);
            }
        }
        let y = self.prim(b);
        let zero = self.pass.number(&ty, 0.0, span);
        let slope = self.pass.binary_tangent(BinaryOp::Pow, x, y, Some(seed), None, span);
        slope.unwrap_or(zero)
    }

    // ---------------------------------------------------------------- bindings

    /// Statements, then a value.
    pub(super) fn pull_block(
        &mut self,
        stmts: &[Stmt],
        value: &Expr,
        seed: Seed,
        own: Option<Expr>,
    ) -> Done {
        // A copy, because what the block binds is bound here a second time.
        let copy;
        let (mut stmts, mut value) = (stmts, value);
        if self.path.is_empty() {
            let kind = ExprKind::Block { stmts: stmts.to_vec(), value: value.clone() };
            let block = Expr::new(kind, value.ty.clone(), value.span);
            copy = self.pass.freshened(&block, &mut crate::autodiff::rename::Renaming::default());
            if let ExprKind::Block { stmts: own, value: last } = &*copy.kind {
                (stmts, value) = (own, last);
            }
        }
        let mut bound = Vec::new();
        for stmt in stmts {
            match &stmt.kind {
                StmtKind::Let(var, value) => self.local(*var, value, &mut bound),
                StmtKind::Destructure(pattern, value) => {
                    let whole = self.pass.local("$v", value.ty.clone(), value.span);
                    self.local(whole, value, &mut bound);
                    let whole = self.pass.var(whole, value.span);
                    self.take_apart(pattern, whole, &mut bound)?;
                }
                // Effects happen once, in the primal.
                StmtKind::Expr(_) | StmtKind::Require(_) => {}
            }
        }
        self.pull_value(value, seed, own)?;
        for (var, value) in bound.iter().rev() {
            self.settle(*var, value)?;
        }
        Ok(())
    }

    /// A binding on the way: its value is at hand from here on.
    pub(super) fn local(&mut self, var: VarId, value: &Expr, bound: &mut Vec<(VarId, Expr)>) {
        self.enter(var, value.clone(), bound);
        if matches!(value.ty, Type::Fn(_)) {
            return;
        }
        let value = self.prim(value);
        if !value.ty.is_array() && is_name(&value) {
            self.aliases.insert(var, value.clone());
        }
        if self.path.is_empty() {
            self.out.push(crate::autodiff::let_stmt(var, value));
        } else {
            self.push(Step::Let(var, value));
        }
    }

    /// The names of a pattern as parts of a value.
    fn take_apart(
        &mut self,
        pattern: &Pattern,
        value: Expr,
        bound: &mut Vec<(VarId, Expr)>,
    ) -> Done {
        let span = value.span;
        match pattern {
            Pattern::Wild => Ok(()),
            Pattern::Bind(var) => {
                self.local(*var, &value, bound);
                Ok(())
            }
            Pattern::At(var, inner) => {
                self.local(*var, &value, bound);
                self.take_apart(inner, value, bound)
            }
            Pattern::Tuple(items) => {
                let Type::Tuple(types) = value.ty.clone() else {
                    return unsupported("a pattern");
                };
                for (at, (item, ty)) in items.iter().zip(types).enumerate() {
                    let part = Expr::new(ExprKind::TupleGet(value.clone(), at), ty, span);
                    self.take_apart(item, part, bound)?;
                }
                Ok(())
            }
            Pattern::Array { before, rest: None, after } if after.is_empty() => {
                for (at, item) in before.iter().enumerate() {
                    let part = element(value.clone(), &[Expr::int(at as i64, span)], span);
                    self.take_apart(item, part, bound)?;
                }
                Ok(())
            }
            Pattern::Data { fields, variant: 0 } => {
                let Type::Data(data, _) = value.ty else { return unsupported("a pattern") };
                if self.pass.program.data[data].is_enum {
                    return unsupported("a variant");
                }
                for (at, field) in fields.iter().enumerate() {
                    let mut names = Vec::new();
                    crate::autodiff::pattern::bound_by(field, &mut names);
                    let [var] = names.as_slice() else {
                        if names.is_empty() {
                            continue;
                        }
                        return unsupported("a pattern inside a struct");
                    };
                    if !matches!(field, Pattern::Bind(_)) {
                        return unsupported("a pattern inside a struct");
                    }
                    let ty = self.pass.program.vars[*var].ty.clone();
                    let part = Expr::new(ExprKind::FieldGet(value.clone(), at), ty, span);
                    self.take_apart(field, part, bound)?;
                }
                Ok(())
            }
            Pattern::Literal(_)
            | Pattern::Str(_)
            | Pattern::Range { .. }
            | Pattern::Array { .. }
            | Pattern::Data { .. }
            | Pattern::Or(_) => unsupported("a pattern"),
        }
    }

    /// A choice by pattern: each arm under the condition that it is the one.
    pub(super) fn pull_match(
        &mut self,
        value: &Expr,
        arms: &[Arm],
        seed: &Seed,
        own: Option<&Expr>,
    ) -> Done {
        let span = value.span;
        let truth = |holds| Expr::new(ExprKind::Const(Scalar::Bool(holds)), Type::BOOL, span);
        let subject = self.prim(value);
        let moving = self.depends(value);
        let arms = &crate::autodiff::pattern::single(arms);
        for (at, arm) in arms.iter().enumerate() {
            let mark = self.path.len();
            let mut tests: Vec<Arm> = arms[..=at].to_vec();
            for (number, test) in tests.iter_mut().enumerate() {
                test.value = truth(number == at);
            }
            let always = at + 1 == arms.len() && arm.guard.is_none() && arms.len() == 1;
            if !always {
                tests.push(Arm { pattern: Pattern::Wild, guard: None, value: truth(false) });
                let kind = ExprKind::Match { value: subject.clone(), arms: tests };
                let test = Expr::new(kind, Type::BOOL, span);
                let mut names = crate::autodiff::rename::Renaming::default();
                let test = self.pass.freshened(&test, &mut names);
                self.push(Step::Guard(test));
            }
            let mut names = Vec::new();
            crate::autodiff::pattern::bound_by(&arm.pattern, &mut names);
            let mut bound = Vec::new();
            if !names.is_empty() {
                if moving {
                    let whole = self.pass.local("$v", value.ty.clone(), span);
                    self.local(whole, value, &mut bound);
                    let whole = self.pass.var(whole, span);
                    self.take_apart(&arm.pattern, whole, &mut bound)?;
                } else {
                    return unsupported("a pattern that binds");
                }
            }
            self.pull_value(&arm.value, seed.clone(), own.cloned())?;
            for (var, value) in bound.iter().rev() {
                self.settle(*var, value)?;
            }
            self.path.truncate(mark);
        }
        Ok(())
    }

    // ---------------------------------------------------------------- simple arithmetic

    pub(super) fn product(&self, a: Expr, b: Expr) -> Expr {
        match (constant(&a), constant(&b)) {
            (Some(x), Some(y)) => self.pass.number(&a.ty, x * y, a.span),
            (Some(1.0), _) => b,
            (_, Some(1.0)) => a,
            (Some(-1.0), _) => self.negative(b),
            (_, Some(-1.0)) => self.negative(a),
            _ => self.pass.times(a, b),
        }
    }

    pub(super) fn quotient(&self, a: Expr, b: Expr) -> Expr {
        match (constant(&a), constant(&b)) {
            (_, Some(1.0)) => a,
            (Some(x), Some(y)) => self.pass.number(&a.ty, x / y, a.span),
            _ => self.pass.arith(BinaryOp::Div, a, b),
        }
    }

    pub(super) fn negative(&self, a: Expr) -> Expr {
        match *a.kind {
            ExprKind::Unary(UnaryOp::Neg, inner) => inner,
            ExprKind::Const(_) => match constant(&a) {
                Some(value) => self.pass.number(&a.ty, -value, a.span),
                None => a,
            },
            _ => {
                let (ty, span) = (a.ty.clone(), a.span);
                Expr::new(ExprKind::Unary(UnaryOp::Neg, a), ty, span)
            }
        }
    }
}

/// The opposite of a condition. A comparison of floats is not turned around: NaN fails both.
pub(super) fn negation(cond: &Expr) -> Expr {
    match &*cond.kind {
        ExprKind::Unary(UnaryOp::Not, inner) => inner.clone(),
        ExprKind::Const(Scalar::Bool(truth)) => {
            Expr::new(ExprKind::Const(Scalar::Bool(!truth)), Type::BOOL, cond.span)
        }
        _ => Expr::new(ExprKind::Unary(UnaryOp::Not, cond.clone()), Type::BOOL, cond.span),
    }
}

/// The value of a float constant.
pub(in crate::autodiff) fn constant(e: &Expr) -> Option<f64> {
    match &*e.kind {
        ExprKind::Const(value) if value.ty().is_float() => Some(value.as_f64()),
        _ => None,
    }
}

/// Whether a cotangent is as good as a read.
pub(super) fn plain(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Const(_) | ExprKind::Var(_) => true,
        ExprKind::Index { base, .. } => matches!(&*base.kind, ExprKind::Var(_)),
        ExprKind::Unary(UnaryOp::Neg, a) => plain(a),
        ExprKind::Binary(BinaryOp::Mul, a, b) => {
            constant(a).is_some() && plain(b) || constant(b).is_some() && plain(a)
        }
        _ => false,
    }
}

/// Whether a value is a name, a constant, or a read at such positions.
pub(super) fn is_name(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Const(_) | ExprKind::Var(_) => true,
        ExprKind::Index { base, indices } => {
            matches!(&*base.kind, ExprKind::Var(_))
                && indices.iter().all(|index| match &*index.value.kind {
                    ExprKind::Binary(_, a, b) => is_name(a) && is_name(b),
                    _ => is_name(&index.value),
                })
        }
        _ => false,
    }
}

/// Whether two reads are the same.
fn same(a: &Expr, b: &Expr) -> bool {
    match (&*a.kind, &*b.kind) {
        (ExprKind::Var(a), ExprKind::Var(b)) => a == b,
        (ExprKind::Const(a), ExprKind::Const(b)) => format!("{a:?}") == format!("{b:?}"),
        (ExprKind::Binary(p, a, b), ExprKind::Binary(q, c, d)) => {
            p == q && same(a, c) && same(b, d)
        }
        (ExprKind::Index { base: a, indices: i }, ExprKind::Index { base: b, indices: j }) => {
            same(a, b)
                && i.len() == j.len()
                && i.iter().zip(j).all(|(i, j)| same(&i.value, &j.value))
        }
        _ => false,
    }
}
