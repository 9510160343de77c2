//! Literals take the type that their context asks for.

use super::state::Report;
use super::{error, function};
use crate::hir::{self, ExprId, ExprKind as H};
use ein_base::{Code, Span, Symbol};
use ein_ir::tensor::{Expr, ExprKind, Type};
use ein_scalar::{Scalar, ScalarType, parse_float};

/// What a literal without a suffix can become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Digits without a point.
    Int,
    /// Digits with a point or exponent.
    Float,
}

impl Class {
    /// The type of a literal that nothing asks for another one.
    pub(super) fn default_type(self) -> Type {
        match self {
            Class::Int => Type::I32,
            Class::Float => Type::F32,
        }
    }
}

/// Whether an expression is made of literals only, so that its type is still open.
pub(super) fn literal_class(hir: &hir::Program, id: ExprId) -> Option<Class> {
    match &hir.exprs[id].kind {
        H::Int(_, None) => Some(Class::Int),
        H::Float(_, None) => Some(Class::Float),
        H::Unary(hir::UnaryOp::Neg | hir::UnaryOp::Pos, inner) => literal_class(hir, *inner),
        H::Binary(op, a, b) => {
            use hir::BinaryOp as B;
            match op {
                B::Add | B::Sub | B::Mul | B::Div | B::Rem | B::Pow => {
                    Some(literal_class(hir, *a)?.max(literal_class(hir, *b)?))
                }
                B::Or | B::And | B::Eq | B::Ne | B::Lt | B::Gt | B::Le | B::Ge | B::In => None,
            }
        }
        H::Array(items) => {
            let mut class = None;
            for item in items {
                class = class.max(Some(literal_class(hir, *item)?));
            }
            class
        }
        H::If { then, otherwise: Some(otherwise), .. } => {
            Some(literal_class(hir, *then)?.max(literal_class(hir, *otherwise)?))
        }
        H::Match { arms, .. } => {
            let mut class = None;
            for arm in arms {
                class = class.max(Some(literal_class(hir, arm.body)?));
            }
            class
        }
        H::Block { tail: Some(tail), .. } => literal_class(hir, *tail),
        H::Call { callee, args } if args.is_empty() => {
            literal_class(hir, literal_function(hir, *callee)?)
        }
        H::Call { callee, args } if is_open_call(hir, *callee, args.len()) => {
            let mut class = None;
            for arg in args {
                class = class.max(Some(literal_class(hir, arg.value)?));
            }
            class
        }
        _ => None,
    }
}

/// The body of a function that is a named literal: `fn pi() { 3.14159 }`. A call of it takes
/// the type that its context asks for, like the literal itself.
pub(super) fn literal_function(hir: &hir::Program, callee: ExprId) -> Option<ExprId> {
    let H::Fn(def) = &hir.exprs[callee].kind else { return None };
    let function = function::function(hir, *def)?;
    let body = match &hir.exprs[function.body].kind {
        H::Block { stmts, tail: Some(tail) } if stmts.is_empty() => *tail,
        _ => return None,
    };
    let plain = function.params.is_empty() && function.ret.is_none();
    (plain && is_literal(hir, body)).then_some(body)
}

/// Whether a function gives a number of the type that it is given: then a call of it on
/// literals takes the type that its context asks for, as they do.
fn is_open_call(hir: &hir::Program, callee: ExprId, count: usize) -> bool {
    let function = match &hir.exprs[callee].kind {
        H::Fn(def) => function::function(hir, *def),
        _ => None,
    };
    let Some(function) = function else { return false };
    let generic = |ty: &hir::Type| match &ty.kind {
        hir::TypeKind::Param(local) => Some(*local),
        _ => None,
    };
    let taken: Option<Vec<_>> =
        function.params.iter().map(|param| generic(param.ty.as_deref()?)).collect();
    let given = function.ret.as_ref().and_then(generic);
    match (taken, given) {
        (Some(taken), Some(given)) => taken.len() == count && taken.contains(&given),
        _ => false,
    }
}

/// Literals and arithmetic on them, without calls.
fn is_literal(hir: &hir::Program, id: ExprId) -> bool {
    match &hir.exprs[id].kind {
        H::Int(_, None) | H::Float(_, None) => true,
        H::Unary(hir::UnaryOp::Neg | hir::UnaryOp::Pos, inner) => is_literal(hir, *inner),
        H::Binary(_, a, b) => is_literal(hir, *a) && is_literal(hir, *b),
        _ => false,
    }
}

/// The scalar type that open literals take where `want` is asked for.
pub(super) fn literal_type(class: Class, want: Option<&Type>) -> ScalarType {
    match (class, want.and_then(Type::scalar)) {
        (Class::Int, Some(ty)) if ty.is_int() || ty.is_float() => ty,
        (Class::Float, Some(ty)) if ty.is_float() => ty,
        (Class::Int, _) => ScalarType::I32,
        (Class::Float, _) => ScalarType::F32,
    }
}

/// The type that literals take beside a value of a type: its own, if it is of their class.
pub(super) fn literal_like(class: Class, other: &Type) -> Option<Type> {
    let ty = other.scalar()?;
    let fits = match class {
        Class::Int => ty.is_int(),
        Class::Float => ty.is_float(),
    };
    fits.then_some(Type::Scalar(ty))
}

impl Report {
    pub(super) fn int_literal(
        &mut self,
        value: u64,
        suffix: Option<ScalarType>,
        want: Option<&Type>,
        negative: bool,
        span: Span,
    ) -> Expr {
        let ty = suffix.unwrap_or_else(|| literal_type(Class::Int, want));
        let signed = if negative { -i128::from(value) } else { i128::from(value) };
        if ty.is_float() {
            return self.float_constant(&signed.to_string(), ty, suffix.is_some(), span);
        }
        match Scalar::from_i128(signed, ty) {
            Some(scalar) => Expr::new(ExprKind::Const(scalar), Type::Scalar(ty), span),
            None => {
                let (lo, hi) = ty.int_range().unwrap_or((0, 0));
                let wider = [ScalarType::I64, ScalarType::U64]
                    .into_iter()
                    .find(|wide| Scalar::from_i128(signed, *wide).is_some());
                let mut d =
                    error(Code::E0515, span, format!("`{signed}` does not fit in `{}`", ty.name()))
                        .here(format!("`{}` holds {lo} to {hi}", ty.name()));
                d = d.help(match (wider, suffix) {
                    (Some(wide), None) => {
                        format!("give it a wider type: `{signed}{}`", wide.name())
                    }
                    _ => format!("write a number from {lo} to {hi}"),
                });
                self.fail(d)
            }
        }
    }

    pub(super) fn float_literal(
        &mut self,
        text: Symbol,
        suffix: Option<ScalarType>,
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        let ty = suffix.unwrap_or_else(|| literal_type(Class::Float, want));
        self.float_constant(text.as_str(), ty, suffix.is_some(), span)
    }

    /// A number of a float type: near enough to what is written, which infinity never is.
    fn float_constant(&mut self, text: &str, ty: ScalarType, fixed: bool, span: Span) -> Expr {
        match parse_float(text, ty) {
            Some(scalar) if scalar.as_f64().is_finite() => {
                Expr::new(ExprKind::Const(scalar), Type::Scalar(ty), span)
            }
            Some(_) => {
                let wide = ScalarType::F64;
                let wider = !fixed
                    && ty != wide
                    && parse_float(text, wide).is_some_and(|it| it.as_f64().is_finite());
                let most = match ty {
                    ScalarType::F16 => "65504",
                    ScalarType::BF16 => "3.39e38",
                    ScalarType::F64 => "1.797e308",
                    _ => "3.403e38",
                };
                let name = ty.name();
                let d = error(Code::E0515, span, format!("`{text}` does not fit in `{name}`"))
                    .here(format!("the largest `{name}` is about {most}"));
                self.fail(d.help(match wider {
                    true => format!("give it a wider type: `{text}{}`", wide.name()),
                    false => format!(
                        "write a number up to {most}, or use `std::math::constants::infinity`"
                    ),
                }))
            }
            None => self.fail(
                error(
                    Code::E0515,
                    span,
                    format!("`{text}` is not a number of type `{}`", ty.name()),
                )
                .here("this literal")
                .help("write digits with a point or an exponent: `1.5`, `2e-3`"),
            ),
        }
    }
}
