//! Literals take the type that their context asks for.

use super::state::Report;
use super::{error, function};
use crate::hir::{self, Builtin, ExprId, ExprKind as H, LocalId};
use ein_base::{Code, Span, Symbol};
use ein_ir::tensor::{Expr, ExprKind, ReduceOp, Type};
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

/// How many calls deep bodies without declared types are followed.
const DEPTH: u32 = 4;

/// How many expressions of such bodies are looked at.
const STEPS: u32 = 1000;

/// Whether an expression is made of literals only, so that its type is still open.
pub(super) fn literal_class(hir: &hir::Program, id: ExprId) -> Option<Class> {
    Open { hir, locals: Vec::new(), depth: 0, steps: 0 }.class(id)
}

/// A walk through an expression that may be made of literals.
struct Open<'h> {
    hir: &'h hir::Program,
    /// Names in scope that stand for such expressions themselves.
    locals: Vec<(LocalId, Class)>,
    depth: u32,
    steps: u32,
}

impl Open<'_> {
    fn class(&mut self, id: ExprId) -> Option<Class> {
        let hir = self.hir;
        self.steps += u32::from(self.depth > 0);
        if self.steps > STEPS {
            return None;
        }
        match &hir.exprs[id].kind {
            H::Int(_, None) => Some(Class::Int),
            H::Float(_, None) => Some(Class::Float),
            H::Local(local) => {
                self.locals.iter().rev().find(|(name, _)| name == local).map(|(_, class)| *class)
            }
            H::Unary(hir::UnaryOp::Neg | hir::UnaryOp::Pos, inner) => self.class(*inner),
            H::Binary(op, a, b) => {
                use hir::BinaryOp as B;
                match op {
                    B::Add | B::Sub | B::Mul | B::Div | B::Rem | B::Pow => self.all([*a, *b]),
                    B::Or | B::And | B::Eq | B::Ne | B::Lt | B::Gt | B::Le | B::Ge | B::In => None,
                }
            }
            H::Array(items) => self.all(items.iter().copied()),
            H::Index { base, .. } => self.class(*base),
            H::If { then, otherwise: Some(otherwise), .. } => self.all([*then, *otherwise]),
            H::Match { arms, .. } => self.all(arms.iter().map(|arm| arm.body)),
            H::Block { tail: Some(tail), .. } => self.class(*tail),
            H::Reduce { op, body, .. } if gives_its_own(*op) => self.class(*body),
            H::Where { body, items, otherwise } => self.within(|it| {
                for item in items {
                    if let hir::WhereItem::Binding(local, value) = item {
                        it.bind(*local, *value);
                    }
                }
                it.all([Some(*body), *otherwise].into_iter().flatten())
            }),
            H::Comprehension { body, clauses } => self.within(|it| {
                for clause in clauses {
                    match clause {
                        hir::CompClause::Generator(pat, source) => {
                            if let hir::PatKind::Bind(local, None) = &pat.kind {
                                it.bind(*local, *source);
                            }
                        }
                        hir::CompClause::Binding(local, value) => it.bind(*local, *value),
                        hir::CompClause::Condition(_) => {}
                    }
                }
                it.class(*body)
            }),
            H::OrElse(value, otherwise) | H::Catch { value, handler: otherwise, .. } => {
                self.all([tried(hir, *value)?, *otherwise])
            }
            H::Call { callee, args } if args.is_empty() => {
                self.class(literal_function(hir, *callee)?)
            }
            H::Call { callee, args } | H::CoordCall { callee, args, .. } => {
                self.call(*callee, args)
            }
            _ => None,
        }
    }

    /// The class of several expressions that become one type.
    fn all(&mut self, ids: impl IntoIterator<Item = ExprId>) -> Option<Class> {
        let mut class = None;
        for id in ids {
            class = class.max(Some(self.class(id)?));
        }
        class
    }

    /// What is bound inside is forgotten after it.
    fn within(&mut self, walk: impl FnOnce(&mut Self) -> Option<Class>) -> Option<Class> {
        let before = self.locals.len();
        let class = walk(self);
        self.locals.truncate(before);
        class
    }

    /// A name of floats; one of integers may be an extent, so it keeps the type that it has.
    fn bind(&mut self, local: LocalId, value: ExprId) {
        if let Some(Class::Float) = self.class(value) {
            self.locals.push((local, Class::Float));
        }
    }

    /// A call of what gives a number of the type that it is given: on literals it takes the type
    /// that its context asks for, as they do.
    fn call(&mut self, callee: ExprId, args: &[hir::Arg]) -> Option<Class> {
        let hir = self.hir;
        match &hir.exprs[callee].kind {
            H::Builtin(Builtin::Unary(_) | Builtin::Binary(_)) => {
                self.all(args.iter().map(|arg| arg.value))
            }
            H::Builtin(Builtin::Reduction(op)) if gives_its_own(*op) => {
                self.all(args.iter().map(|arg| arg.value))
            }
            H::Fn(def) if args.iter().all(|arg| arg.name.is_none()) => {
                let classes: Vec<_> = args.iter().map(|arg| self.class(arg.value)).collect();
                self.function(function::function(hir, *def)?, &classes)
            }
            _ => None,
        }
    }

    /// The same for a function on arguments of these classes; some may be no literals.
    fn function(&mut self, function: &hir::Function, classes: &[Option<Class>]) -> Option<Class> {
        let params = &function.params;
        if params.len() != classes.len() {
            return None;
        }
        let generic = |ty: &hir::Type| match &ty.kind {
            hir::TypeKind::Param(local) => Some(*local),
            _ => None,
        };
        let taken: Option<Vec<_>> =
            params.iter().map(|param| generic(param.ty.as_deref()?)).collect();
        match (taken, &function.ret) {
            (Some(taken), Some(ret)) if taken.contains(&generic(ret)?) => {
                classes.iter().copied().collect::<Option<Vec<_>>>()?.into_iter().max()
            }
            // Without types, the body says what is made of them.
            (None, None) if self.depth < DEPTH => {
                self.depth += 1;
                let made = self.within(|it| {
                    for (param, class) in params.iter().zip(classes) {
                        if let (hir::PatKind::Bind(local, None), None, Some(class)) =
                            (&param.pat.kind, &param.ty, class)
                        {
                            it.locals.push((*local, *class));
                        }
                    }
                    it.class(function.body)
                });
                self.depth -= 1;
                made
            }
            _ => None,
        }
    }
}

/// Whether a reduction of numbers gives one of their type.
pub(super) fn gives_its_own(op: ReduceOp) -> bool {
    match op {
        ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Max | ReduceOp::Min | ReduceOp::Mean => true,
        ReduceOp::Any | ReduceOp::All | ReduceOp::Count | ReduceOp::Argmax | ReduceOp::Argmin => {
            false
        }
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

/// What is asked of a part of an expression of which this is asked, if the part is made of literals:
/// numbers of that type. Nothing is asked of other parts.
pub(super) fn wanted_part(hir: &hir::Program, id: ExprId, want: Option<&Type>) -> Option<Type> {
    let scalar = want.and_then(Type::scalar)?;
    let class = literal_class(hir, id)?;
    literal_like(class, &Type::Scalar(scalar))
}

/// The same for a name that is bound to it: floats only, since integers may be extents.
pub(super) fn wanted_of_name(hir: &hir::Program, id: ExprId, want: Option<&Type>) -> Option<Type> {
    wanted_part(hir, id, want).filter(|ty| ty.scalar().is_some_and(ScalarType::is_float))
}

/// Whether a call of a function whose parameters have no types takes the type that its context asks
/// for, as the literals do that it is given.
pub(super) fn is_open_call(
    hir: &hir::Program,
    function: &hir::Function,
    values: &[Option<ExprId>],
) -> bool {
    if function.params.iter().all(|param| param.ty.is_some()) {
        return false;
    }
    let mut open = Open { hir, locals: Vec::new(), depth: 0, steps: 0 };
    let classes: Vec<_> = values.iter().map(|value| value.and_then(|id| open.class(id))).collect();
    open.function(function, &classes).is_some()
}

/// What `try` is said of, perhaps in braces.
pub(super) fn tried(hir: &hir::Program, id: ExprId) -> Option<ExprId> {
    match &hir.exprs[id].kind {
        H::Try(inner) => Some(*inner),
        _ => None,
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
