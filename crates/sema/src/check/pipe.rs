//! Optional values and results: `?>`, `!>`, `else`, `catch` and `try`, as matches over `Option`
//! and `Result`.

use super::arms::complete;
use super::{Cx, error};
use crate::hir::{DefId, ExprId, LocalId};
use ein_base::{Code, Span};
use ein_ir::tensor::{Arm, DataId, Expr, ExprKind, Pattern, Type, VarId};

/// `enum Option<T> { None, Some(T) }`
const NONE: usize = 0;
const SOME: usize = 1;
/// `enum Result<T, E> { Ok(T), Err(E) }`
const OK: usize = 0;
const ERR: usize = 1;

impl Cx<'_> {
    /// `x ?> f`: `f` of what is in an optional. Where `f` gives an optional itself, that is the
    /// result.
    pub(super) fn option_pipe(
        &mut self,
        value: ExprId,
        local: LocalId,
        call: ExprId,
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        let value = self.expr(value, None);
        let Some((id, inner)) = self.option_parts(&value.ty) else {
            return self.not_optional(&value, "?>", span);
        };
        if inner == Type::Error {
            self.unknown_inside("Option::Some", value.span);
            return Expr::error(span);
        }
        let want = match want {
            Some(Type::Data(wanted, args)) if *wanted == id => args.first(),
            _ => None,
        };
        let (var, result) = self.piped(local, inner, call, want);
        if result.ty == Type::Error {
            return Expr::error(span);
        }
        let (result, ty) = match &result.ty {
            Type::Data(own, _) if *own == id => {
                let ty = result.ty.clone();
                (result, ty)
            }
            own => {
                let ty = Type::Data(id, vec![own.clone()].into());
                (make(id, SOME, vec![result], &ty, span), ty)
            }
        };
        let none = make(id, NONE, Vec::new(), &ty, span);
        let arms = vec![arm(SOME, vec![Pattern::Bind(var)], result), arm(NONE, Vec::new(), none)];
        Expr::new(ExprKind::Match { value, arms }, ty, span)
    }

    /// `x !> f`: `f` of what a result carries unless it is an error. Where `f` gives a result
    /// itself, that is the result.
    pub(super) fn result_pipe(
        &mut self,
        value: ExprId,
        local: LocalId,
        call: ExprId,
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        let value = self.expr(value, None);
        let Some((id, inner, failure)) = self.result_parts(&value.ty) else {
            return self.not_optional(&value, "!>", span);
        };
        if inner == Type::Error {
            self.unknown_inside("Result::Ok", value.span);
            return Expr::error(span);
        }
        let want = match want {
            Some(Type::Data(wanted, args)) if *wanted == id => args.first(),
            _ => None,
        };
        let (var, result) = self.piped(local, inner, call, want);
        if result.ty == Type::Error {
            return Expr::error(span);
        }
        let flat = match &result.ty {
            Type::Data(own, args) if *own == id => match args.as_slice() {
                [ok, err] => self.join_types(err, &failure).map(|err| (ok.clone(), err)),
                _ => None,
            },
            _ => None,
        };
        let (result, ty) = match flat {
            Some((ok, err)) => {
                let ty = Type::Data(id, vec![ok, err].into());
                (complete(result, &ty), ty)
            }
            None => {
                let ty = Type::Data(id, vec![result.ty.clone(), failure.clone()].into());
                (make(id, OK, vec![result], &ty, span), ty)
            }
        };
        let message = self.new_local_var("err", span, failure);
        let failed = self.var_expr(message, span);
        let failed = make(id, ERR, vec![failed], &ty, span);
        let arms = vec![
            arm(OK, vec![Pattern::Bind(var)], result),
            arm(ERR, vec![Pattern::Bind(message)], failed),
        ];
        Expr::new(ExprKind::Match { value, arms }, ty, span)
    }

    /// `e else d`
    pub(super) fn or_else(
        &mut self,
        value: ExprId,
        otherwise: ExprId,
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        let value = self.expr(value, None);
        let (present, inner, absent, ignored) =
            if let Some((_, inner)) = self.option_parts(&value.ty) {
                (SOME, inner, NONE, Vec::new())
            } else if let Some((_, inner, _)) = self.result_parts(&value.ty) {
                (OK, inner, ERR, vec![Pattern::Wild])
            } else {
                return self.not_optional(&value, "else", span);
            };
        let hint = if inner.has_error() { want.cloned() } else { Some(inner.clone()) };
        let otherwise = self.scoped(|cx| cx.expr(otherwise, hint.as_ref()));
        let var = self.new_local_var("value", value.span, inner);
        let there = self.var_expr(var, value.span);
        let Some(ty) = self.agree(&there, &otherwise, var) else { return Expr::error(span) };
        let arms = vec![
            arm(present, vec![Pattern::Bind(var)], complete(there, &ty)),
            arm(absent, ignored, complete(otherwise, &ty)),
        ];
        Expr::new(ExprKind::Match { value, arms }, ty, span)
    }

    /// `e catch |err| d`
    pub(super) fn catch(
        &mut self,
        value: ExprId,
        param: LocalId,
        handler: ExprId,
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        let value = self.expr(value, None);
        let Some((_, inner, failure)) = self.result_parts(&value.ty) else {
            return self.not_optional(&value, "catch", span);
        };
        let hint = if inner.has_error() { want.cloned() } else { Some(inner.clone()) };
        let (message, handler) = self.piped(param, failure, handler, hint.as_ref());
        let var = self.new_local_var("value", value.span, inner);
        let there = self.var_expr(var, value.span);
        let Some(ty) = self.agree(&there, &handler, var) else { return Expr::error(span) };
        let arms = vec![
            arm(OK, vec![Pattern::Bind(var)], complete(there, &ty)),
            arm(ERR, vec![Pattern::Bind(message)], complete(handler, &ty)),
        ];
        Expr::new(ExprKind::Match { value, arms }, ty, span)
    }

    /// `try e`: a run-time error becomes an `Err` with its message.
    pub(super) fn try_expr(&mut self, inner: ExprId, want: Option<&Type>, span: Span) -> Expr {
        let Some(id) = self.prelude_id(self.hir.prelude.result) else { return Expr::error(span) };
        let want = match want {
            Some(Type::Data(wanted, args)) if *wanted == id => args.first(),
            _ => None,
        };
        let value = self.scoped(|cx| cx.open_value(inner, want, None));
        if value.ty == Type::Error {
            return Expr::error(span);
        }
        let ty = Type::Data(id, vec![value.ty.clone(), Type::Str].into());
        Expr::new(ExprKind::Try(value), ty, span)
    }

    // ---------------------------------------------------------------- parts

    fn prelude_id(&mut self, def: Option<DefId>) -> Option<DataId> {
        self.data_id(def?)
    }

    /// What is in an optional of this type.
    fn option_parts(&mut self, ty: &Type) -> Option<(DataId, Type)> {
        let id = self.prelude_id(self.hir.prelude.option)?;
        match ty {
            Type::Data(own, args) if *own == id => Some((id, args.first()?.clone())),
            _ => None,
        }
    }

    /// What is in a result of this type: the value and the error.
    fn result_parts(&mut self, ty: &Type) -> Option<(DataId, Type, Type)> {
        let id = self.prelude_id(self.hir.prelude.result)?;
        match ty {
            Type::Data(own, args) if *own == id => match args.as_slice() {
                [value, failure] => Some((id, value.clone(), failure.clone())),
                _ => None,
            },
            _ => None,
        }
    }

    /// A variable of a pattern.
    fn new_local_var(&mut self, name: &str, span: Span, ty: Type) -> VarId {
        let var = self.new_var(ein_base::Symbol::intern(name), span, ty.clone());
        self.settle_type(var, ty);
        self.size_variable(var, None, true);
        self.bound_inside(var);
        var
    }

    /// The value of an expression in which a name stands for what is in the optional.
    fn piped(
        &mut self,
        local: LocalId,
        inner: Type,
        body: ExprId,
        want: Option<&Type>,
    ) -> (VarId, Expr) {
        let name = self.hir.locals[local].name;
        let var = self.new_local_var(name.sym.as_str(), name.span, inner);
        let ty = self.out.vars[var].ty.clone();
        let extents = self.f.extents.len();
        self.declare(local, var, &ty);
        let mut body = self.scoped(|cx| cx.expr(body, want));
        self.f.extents.truncate(extents);
        body.ty = self.forget_vars(body.ty, &|other| other == var);
        (var, body)
    }

    /// The type of a value and of what stands in for it.
    fn agree(&mut self, there: &Expr, otherwise: &Expr, var: VarId) -> Option<Type> {
        let ty = match self.join_types(&there.ty, &otherwise.ty) {
            Some(ty) => ty,
            None => {
                let (x, y) = (self.show(&there.ty), self.show(&otherwise.ty));
                let d = error(
                    Code::E0505,
                    otherwise.span,
                    format!("the value is `{x}`, but what stands in for it is `{y}`"),
                )
                .here(format!("this is `{y}`"))
                .label(there.span, format!("this gives `{x}`"))
                .help(format!("give a value of type `{x}`"));
                self.report_at(d);
                return None;
            }
        };
        Some(self.forget_vars(ty, &|other| other == var))
    }

    fn not_optional(&mut self, value: &Expr, operator: &str, span: Span) -> Expr {
        if value.ty == Type::Error {
            return Expr::error(span);
        }
        let have = self.show(&value.ty);
        let (needs, help) = match operator {
            "?>" => ("an `Option`", "apply the function directly: `x |> f`"),
            "!>" => ("a `Result`", "make it one, `(try x) !> f`, or apply the function: `x |> f`"),
            "catch" => ("a `Result`", "make it one: `(try x) catch |err| …`"),
            _ => (
                "an `Option` or a `Result`",
                "take the value as it is, or make it optional: `try x`",
            ),
        };
        let d = error(
            Code::E0519,
            value.span,
            format!("`{operator}` needs {needs}, but this is `{have}`"),
        )
        .here(format!("not {needs}"))
        .help(help);
        self.fail(d)
    }
}

/// A variant of the prelude.
fn make(data: DataId, variant: usize, fields: Vec<Expr>, ty: &Type, span: Span) -> Expr {
    Expr::new(ExprKind::Make { data, variant, fields }, ty.clone(), span)
}

/// An arm for one variant.
fn arm(variant: usize, fields: Vec<Pattern>, value: Expr) -> Arm {
    Arm { pattern: Pattern::Data { variant, fields }, guard: None, value }
}
