//! Literals take the type that their context asks for.

use super::{Cx, error};
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

impl Cx<'_> {
    /// Whether an expression is made of literals only, so that its type is still open.
    pub(super) fn literal_class(&self, id: ExprId) -> Option<Class> {
        match &self.hir.exprs[id].kind {
            H::Int(_, None) => Some(Class::Int),
            H::Float(_, None) => Some(Class::Float),
            H::Unary(hir::UnaryOp::Neg | hir::UnaryOp::Pos, inner) => self.literal_class(*inner),
            H::Binary(op, a, b) => {
                use hir::BinaryOp as B;
                match op {
                    B::Add | B::Sub | B::Mul | B::Div | B::Rem | B::Pow => {
                        Some(self.literal_class(*a)?.max(self.literal_class(*b)?))
                    }
                    B::Or | B::And | B::Eq | B::Ne | B::Lt | B::Gt | B::Le | B::Ge | B::In => None,
                }
            }
            H::Array(items) => {
                let mut class = None;
                for item in items {
                    class = class.max(Some(self.literal_class(*item)?));
                }
                class
            }
            H::If { then, otherwise: Some(otherwise), .. } => {
                Some(self.literal_class(*then)?.max(self.literal_class(*otherwise)?))
            }
            H::Match { arms, .. } => {
                let mut class = None;
                for arm in arms {
                    class = class.max(Some(self.literal_class(arm.body)?));
                }
                class
            }
            H::Block { stmts, tail: Some(tail) } if stmts.is_empty() => self.literal_class(*tail),
            H::Call { callee, args } if args.is_empty() => {
                self.literal_class(self.literal_function(*callee)?)
            }
            H::Call { callee, args } if self.is_open_call(*callee, args.len()) => {
                let mut class = None;
                for arg in args {
                    class = class.max(Some(self.literal_class(arg.value)?));
                }
                class
            }
            _ => None,
        }
    }

    /// The body of a function that is a named literal: `fn pi() { 3.14159 }`. A call of it takes
    /// the type that its context asks for, like the literal itself.
    pub(super) fn literal_function(&self, callee: ExprId) -> Option<ExprId> {
        let H::Fn(def) = &self.hir.exprs[callee].kind else { return None };
        let function = self.function(*def)?;
        let body = match &self.hir.exprs[function.body].kind {
            H::Block { stmts, tail: Some(tail) } if stmts.is_empty() => *tail,
            _ => return None,
        };
        let plain = function.params.is_empty() && function.ret.is_none();
        (plain && self.is_literal(body)).then_some(body)
    }

    /// Whether a function gives a number of the type that it is given: then a call of it on
    /// literals takes the type that its context asks for, as they do.
    fn is_open_call(&self, callee: ExprId, count: usize) -> bool {
        let function = match &self.hir.exprs[callee].kind {
            H::Fn(def) => self.function(*def),
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
    fn is_literal(&self, id: ExprId) -> bool {
        match &self.hir.exprs[id].kind {
            H::Int(_, None) | H::Float(_, None) => true,
            H::Unary(hir::UnaryOp::Neg | hir::UnaryOp::Pos, inner) => self.is_literal(*inner),
            H::Binary(_, a, b) => self.is_literal(*a) && self.is_literal(*b),
            _ => false,
        }
    }

    /// The scalar type that open literals take where `want` is asked for.
    pub(super) fn literal_type(&self, class: Class, want: Option<&Type>) -> ScalarType {
        match (class, want.and_then(Type::scalar)) {
            (Class::Int, Some(ty)) if ty.is_int() || ty.is_float() => ty,
            (Class::Float, Some(ty)) if ty.is_float() => ty,
            (Class::Int, _) => ScalarType::I32,
            (Class::Float, _) => ScalarType::F32,
        }
    }

    /// The type that literals take beside a value of a type: its own, if it is of their class.
    pub(super) fn literal_like(&self, class: Class, other: &Type) -> Option<Type> {
        let ty = other.scalar()?;
        let fits = match class {
            Class::Int => ty.is_int(),
            Class::Float => ty.is_float(),
        };
        fits.then_some(Type::Scalar(ty))
    }

    pub(super) fn int_literal(
        &mut self,
        value: u64,
        suffix: Option<ScalarType>,
        want: Option<&Type>,
        negative: bool,
        span: Span,
    ) -> Expr {
        let ty = suffix.unwrap_or_else(|| self.literal_type(Class::Int, want));
        let signed = if negative { -i128::from(value) } else { i128::from(value) };
        let scalar = if ty.is_float() {
            parse_float(&signed.to_string(), ty)
        } else {
            Scalar::from_i128(signed, ty)
        };
        match scalar {
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
        let ty = suffix.unwrap_or_else(|| self.literal_type(Class::Float, want));
        match parse_float(text.as_str(), ty) {
            Some(scalar) => Expr::new(ExprKind::Const(scalar), Type::Scalar(ty), span),
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
