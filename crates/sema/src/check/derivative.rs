//! Derivative requests and tangent rules: what may be asked for, and the shape of the answer.

use super::instance::{Key, Source};
use super::{Cx, error};
use crate::hir::{Arg, DefId, ExprId, ExprKind as H};
use ein_base::{Code, Name, Span, Symbol};
use ein_ir::tensor::walk::any;
use ein_ir::tensor::{Axis, Coord, Derivative, Expr, ExprKind, FuncId, ReduceOp, Type, VarId};
use ein_scalar::{BinaryOp, UnaryOp};

impl Cx<'_> {
    /// Whether an expression is `@x`.
    pub(super) fn is_request(&self, id: ExprId) -> bool {
        matches!(self.hir.exprs[id].kind, H::At(_))
    }

    /// `@y / @x`
    pub(super) fn derivative(&mut self, target: ExprId, parameter: ExprId, span: Span) -> Expr {
        let (H::At(y), H::At(x)) = (&self.hir.exprs[target].kind, &self.hir.exprs[parameter].kind)
        else {
            // `@x / 2.0` in a rule is arithmetic on a tangent.
            let (a, b) = (self.expr(target, None), self.expr(parameter, None));
            return self.quotient(a, b, span);
        };
        if self.f.rule.is_some() {
            let (a, b) = (self.expr(target, None), self.expr(parameter, None));
            return self.quotient(a, b, span);
        }
        let (y, x) = (*y, *x);
        let y = self.operand(y);
        let x = self.operand(x);
        self.request(y, x, span)
    }

    fn quotient(&mut self, a: Expr, b: Expr, span: Span) -> Expr {
        let Some(ty) = a.ty.scalar() else { return Expr::error(span) };
        self.pointwise(vec![a, b], span, |_, mut args| {
            let b = args.pop().unwrap_or_else(|| Expr::error(span));
            let a = args.pop().unwrap_or_else(|| Expr::error(span));
            Expr::new(ExprKind::Binary(BinaryOp::Div, a, b), Type::Scalar(ty), span)
        })
    }

    fn request(&mut self, y: Expr, x: Expr, span: Span) -> Expr {
        if y.ty.has_error() || x.ty.has_error() {
            return Expr::error(span);
        }
        for (value, role) in [(&y, "has"), (&x, "is no variable to")] {
            if !value.ty.scalar().is_some_and(|ty| ty.is_float()) {
                let have = self.show(&value.ty);
                let name = self.quote(value);
                let message = match role {
                    "has" => format!("{name} is `{have}`, which has no derivative"),
                    _ => format!("{name} is `{have}`: nothing can be differentiated by it"),
                };
                let d = error(Code::E0702, value.span, message)
                    .here("a constant")
                    .help("derivatives are between floats: convert with `as f32` before computing");
                return self.fail(d);
            }
        }
        if y.ty.scalar() != x.ty.scalar() {
            let d = error(
                Code::E0702,
                span,
                format!(
                    "{} is `{}` and {} is `{}`: a derivative needs one element type",
                    self.quote(&y),
                    self.show(&y.ty),
                    self.quote(&x),
                    self.show(&x.ty)
                ),
            )
            .here("different precisions")
            .help("compute both in one element type");
            return self.fail(d);
        }
        let mut axes = y.ty.axes().to_vec();
        for axis in x.ty.axes() {
            let taken = axis.coord.is_some_and(|coord| {
                axes.iter().any(|a| a.coord.is_some_and(|c| c.name == coord.name))
            });
            let coord = axis.coord.map(|coord| {
                if !taken {
                    return coord;
                }
                // The second one is a role over the same domain.
                let name = Symbol::intern(&format!("{}'", coord.name));
                Coord { name, over: Some(coord.root()), contract: coord.contract }
            });
            axes.push(Axis { coord, size: axis.size.clone() });
        }
        let ty = Type::array(y.ty.elem().clone(), axes);
        let request = Derivative::Quotient { target: y, parameter: x };
        Expr::new(ExprKind::Derivative(request), ty, span)
    }

    /// A named value, or an entry of one.
    fn operand(&mut self, id: ExprId) -> Expr {
        let hir = self.hir;
        let node = &hir.exprs[id];
        let named = match &node.kind {
            H::Local(_) => true,
            H::Index { base, .. } => matches!(hir.exprs[*base].kind, H::Local(_)),
            H::Error => return Expr::error(node.span),
            _ => false,
        };
        if named {
            let value = self.expr(id, None);
            let plain = match &*value.kind {
                ExprKind::Var(_) | ExprKind::Error => true,
                ExprKind::Index { base, .. } => matches!(&*base.kind, ExprKind::Var(_)),
                _ => false,
            };
            if plain {
                return value;
            }
        }
        let d = error(Code::E0701, node.span, "only a named value can be differentiated")
            .here("this has no name")
            .help("name it first: `let y = …;`, then `@y / @x`");
        self.fail(d)
    }

    /// `@x`: inside a rule the tangent of a parameter, elsewhere ones in the shape of `x`.
    pub(super) fn tangent(&mut self, inner: ExprId, span: Span) -> Expr {
        if let Some(rule) = &self.f.rule
            && let H::Local(local) = &self.hir.exprs[inner].kind
            && let Some((_, tangent)) = rule.iter().find(|(param, _)| param == local)
        {
            return self.var_expr(*tangent, span);
        }
        let value = self.operand(inner);
        if value.ty.has_error() {
            return value;
        }
        match value.ty.scalar() {
            Some(ty) if ty.is_float() => {
                let one = ein_scalar::Scalar::one(ty);
                let one = Expr::new(ExprKind::Const(one), Type::Scalar(ty), span);
                if value.ty.is_array() {
                    self.tabulate(value.ty.axes().to_vec(), span, |_, _| one)
                } else {
                    one
                }
            }
            _ => {
                let have = self.show(&value.ty);
                let d = error(Code::E0702, value.span, format!("`{have}` has no tangent"))
                    .here("a constant")
                    .help("tangents are of floats");
                self.fail(d)
            }
        }
    }

    /// `jvp(y, x, dx)`, `vjp(y, x, dy)` and `hessian(loss, w)`
    pub(super) fn derivative_product(
        &mut self,
        builtin: crate::hir::Builtin,
        args: &[Arg],
        span: Span,
    ) -> Expr {
        use crate::hir::Builtin;
        let wanted = if builtin == Builtin::Hessian { 2 } else { 3 };
        if args.len() != wanted {
            let name = match builtin {
                Builtin::Hessian => "hessian",
                Builtin::Jvp => "jvp",
                _ => "vjp",
            };
            return self.wrong_count(name, wanted, args.len(), span);
        }
        let y = self.operand(args[0].value);
        let x = self.operand(args[1].value);
        let jacobian = self.request(y.clone(), x.clone(), span);
        if jacobian.ty.has_error() {
            return jacobian;
        }
        if builtin == Builtin::Hessian {
            let var = self.bind(Symbol::intern("gradient"), jacobian);
            let gradient = self.var_expr(var, span);
            let value = self.request(gradient, x, span);
            // It has a name by its word: `print` shows the numbers, not the text of the request.
            let ty = value.ty.clone();
            return Expr::new(ExprKind::Block { stmts: Vec::new(), value }, ty, span);
        }
        let direction = self.expr(args[2].value, Some(y.ty.elem()));
        let (kept, contracted) = match builtin {
            Builtin::Jvp => (y, x),
            _ => (x, y),
        };
        let direction = self.expect_type(direction, &contracted.ty, "the direction");
        if direction.ty.has_error() {
            return direction;
        }
        let forward = builtin == Builtin::Jvp;
        let (target, parameter) = if forward { (kept, contracted) } else { (contracted, kept) };
        let ty = if forward { target.ty.clone() } else { parameter.ty.clone() };
        let product = Derivative::Product { target, parameter, direction, forward };
        Expr::new(ExprKind::Derivative(product), ty, span)
    }

    // ---------------------------------------------------------------- rules

    /// The rule of a function, as a function of its parameters and their tangents.
    pub(super) fn rule_of(&mut self, def: DefId, params: &[Type]) -> Option<FuncId> {
        let function = self.function(def)?;
        let rule = function.rule.as_ref()?;
        let name = self.hir.defs[def].name;
        if rule.params.len() != function.params.len() {
            let d = error(
                Code::E0704,
                rule.span,
                format!(
                    "the rule of `{name}` takes {} parameters, `{name}` takes {}",
                    rule.params.len(),
                    function.params.len()
                ),
            )
            .here("another number of parameters")
            .label(function.header, "declared here")
            .help("a rule has the parameters of its function");
            self.report_at(d);
            return None;
        }
        let erase = super::function::erase;
        let key = Key {
            source: Source::Rule(def),
            captures: Vec::new(),
            params: params.iter().cloned().map(|ty| Some(erase(ty))).collect(),
            packs: Vec::new(),
            types: Vec::new(),
        };
        if let Some(at) = self.instances.table.get(&key) {
            return Some(self.instances.items[*at].func);
        }
        let at = self.new_instance(key, name);
        self.fill_instance(at, |cx| {
            let mut vars = Vec::new();
            for (param, ty) in rule.params.iter().zip(params) {
                vars.push(cx.enter_parameter(param, Some(ty)));
            }
            let mut tangents = Vec::new();
            for (param, ty) in rule.params.iter().zip(params) {
                let open = cx.map_sizes(ty.clone(), &mut |cx, _| cx.unknown_size(true));
                let var = cx.new_var(Symbol::intern("tangent"), param.span, open.clone());
                cx.settle_type(var, open);
                if let crate::hir::PatKind::Bind(local, _) = &param.pat.kind {
                    tangents.push((*local, var));
                }
                vars.push(var);
            }
            cx.instances.items[at].params = vars;
            cx.f.rule = Some(tangents);
            cx.open_value(rule.body, None, None)
        });
        let func = self.instances.items[at].func;
        self.check_linear(func, params.len(), name, rule.span);
        Some(func)
    }

    /// A rule must be linear in the tangents.
    fn check_linear(&mut self, func: FuncId, count: usize, name: Name, span: Span) {
        let params = self.out.funcs[func].params.clone();
        let tangents: Vec<VarId> = params[count..].to_vec();
        let body = self.out.funcs[func].body.clone();
        if body.ty.has_error() {
            return;
        }
        let mut degrees = rustc_hash::FxHashMap::default();
        for var in &tangents {
            degrees.insert(*var, Degree::Linear);
        }
        let degree = degree(&body, &mut degrees);
        if degree == Degree::Other {
            let d = error(
                Code::E0704,
                span,
                format!("the rule of `{name}` is not linear in the tangents"),
            )
            .here("a tangent is multiplied, divided by or transformed by another one")
            .help("a rule is a sum of terms, each a factor times one tangent: `3.0 * x * x * @x`");
            self.report_at(d);
        }
    }
}

/// How an expression depends on the tangents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Degree {
    /// Not at all.
    Constant,
    /// Linearly.
    Linear,
    /// In another way.
    Other,
}

fn both(a: Degree, b: Degree) -> Degree {
    match (a, b) {
        (Degree::Other, _) | (_, Degree::Other) => Degree::Other,
        (Degree::Linear, _) | (_, Degree::Linear) => Degree::Linear,
        (Degree::Constant, Degree::Constant) => Degree::Constant,
    }
}

fn degree(e: &Expr, vars: &mut rustc_hash::FxHashMap<VarId, Degree>) -> Degree {
    match &*e.kind {
        ExprKind::Var(var) => vars.get(var).copied().unwrap_or(Degree::Constant),
        ExprKind::Unary(UnaryOp::Neg, a) | ExprKind::Cast(a) => degree(a, vars),
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => {
            both(degree(a, vars), degree(b, vars))
        }
        ExprKind::Binary(BinaryOp::Mul, a, b) => match (degree(a, vars), degree(b, vars)) {
            (Degree::Constant, other) | (other, Degree::Constant) => other,
            _ => Degree::Other,
        },
        ExprKind::Binary(BinaryOp::Div, a, b) => match (degree(a, vars), degree(b, vars)) {
            (other, Degree::Constant) => other,
            _ => Degree::Other,
        },
        ExprKind::If { cond, then, otherwise } => match degree(cond, vars) {
            Degree::Constant => both(degree(then, vars), degree(otherwise, vars)),
            _ => Degree::Other,
        },
        ExprKind::Index { base, indices } => {
            let fixed = indices.iter().all(|i| degree(&i.value, vars) == Degree::Constant);
            if fixed { degree(base, vars) } else { Degree::Other }
        }
        ExprKind::Block { stmts, value } => {
            for stmt in stmts {
                if let ein_ir::tensor::StmtKind::Let(var, value) = &stmt.kind {
                    let degree = degree(value, vars);
                    vars.insert(*var, degree);
                }
            }
            degree(value, vars)
        }
        ExprKind::Tensor(tensor) => tensor
            .clauses
            .iter()
            .map(|clause| degree(&clause.value, vars))
            .fold(Degree::Constant, both),
        ExprKind::Reduce(reduce) if matches!(reduce.op, ReduceOp::Sum | ReduceOp::Mean) => {
            degree(&reduce.value, vars)
        }
        ExprKind::Array(items) | ExprKind::Tuple(items) => {
            items.iter().map(|item| degree(item, vars)).fold(Degree::Constant, both)
        }
        ExprKind::TupleGet(a, _)
        | ExprKind::FieldGet(a, _)
        | ExprKind::Slice { base: a, .. }
        | ExprKind::Permute { base: a, .. } => degree(a, vars),
        ExprKind::Join { left, right, .. } => both(degree(left, vars), degree(right, vars)),
        _ => {
            let moves = any(e, &mut |part| {
                matches!(&*part.kind, ExprKind::Var(var)
                    if vars.get(var).is_some_and(|degree| *degree != Degree::Constant))
            });
            if moves { Degree::Other } else { Degree::Constant }
        }
    }
}
