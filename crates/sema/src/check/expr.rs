//! Expressions: one function per kind, dispatched here.

mod branch;
mod cast;

use super::{Cx, error};
use crate::hir::{self, ExprId, ExprKind as H};
use ein_base::{Code, Span};
use ein_ir::tensor::{Bounds, Expr, ExprKind, HostOp, IndexArg, Type};
use ein_scalar::{ScalarType, UnaryOp};

impl Cx<'_> {
    /// Checks an expression. `want` is what its context asks for: literals take its element type,
    /// closures its signature. The result need not be of that type.
    pub(super) fn expr(&mut self, id: ExprId, want: Option<&Type>) -> Expr {
        let hir = self.hir;
        let node = &hir.exprs[id];
        let span = node.span;
        if !matches!(node.kind, H::If { .. } | H::Block { .. } | H::Match { .. }) {
            self.f.statement = false;
        }
        match &node.kind {
            H::Int(value, suffix) => self.int_literal(*value, *suffix, want, false, span),
            H::Float(text, suffix) => self.float_literal(*text, *suffix, want, span),
            H::Bool(value) => {
                Expr::new(ExprKind::Const(ein_scalar::Scalar::Bool(*value)), Type::BOOL, span)
            }
            H::Str(parts) => self.string(parts, span),
            H::Local(local) => match want {
                // Without elements it is an array of whatever is asked for.
                Some(want) if self.empties.contains(local) && !want.has_error() => {
                    self.empty_array(Some(want), span)
                }
                _ => self.local(*local, span),
            },
            H::Size(local) => {
                let size = self.named_size(*local);
                Expr::size(size, span)
            }
            H::Fn(def) => self.fn_value(*def, span),
            H::Const(def) => self.const_value(*def, span),
            H::Variant(def, index) => self.variant_value(*def, *index, want, span),
            H::Builtin(builtin) => self.builtin_value(*builtin, span),
            H::Coord(name) => match self.free_coord(*name) {
                Some(index) => self.index_expr(index, span),
                None => Expr::error(span),
            },
            H::Unary(op, inner) => self.unary(*op, *inner, want, span),
            H::Binary(op, a, b) => self.binary(*op, *a, *b, want, span),
            H::Range { lo, hi, inclusive } => self.range(*lo, *hi, *inclusive, span),
            H::Cast(inner, ty) => self.cast(*inner, ty, span),
            H::At(inner) => self.tangent(*inner, span),
            H::Call { callee, args } => self.call(*callee, &[], args, want, span),
            H::CoordCall { callee, coords, args } => self.call(*callee, coords, args, want, span),
            H::Reduce { op, op_span, binders, body } => {
                self.reduce(*op, *op_span, binders, *body, want, span)
            }
            H::Extent { of, coord } => self.extent(*of, *coord, span),
            H::Index { base, slots } => {
                let base = self.expr(*base, None);
                self.index(base, slots, span)
            }
            H::Field(base, name) => {
                let base = self.expr(*base, None);
                self.field(base, *name, span)
            }
            H::TupleField(base, position, at) => {
                let base = self.expr(*base, None);
                self.tuple_field(base, *position, *at, span)
            }
            H::Array(items) => self.array(items, want, span),
            H::Tuple(items) if items.is_empty() => Expr::new(ExprKind::Unit, Type::Unit, span),
            H::Tuple(items) => self.tuple(items, want, span),
            H::Comprehension { body, clauses } => self.comprehension(*body, clauses, want, span),
            H::Struct { def, variant, fields } => {
                self.struct_literal(*def, variant.map(|number| number as usize), fields, want, span)
            }
            H::Block { stmts, tail } => self.block_expr(stmts, *tail, want, span),
            H::If { cond, then, otherwise } => self.if_expr(*cond, *then, *otherwise, want, span),
            H::Match { scrutinee, arms } => self.match_expr(*scrutinee, arms, want, span),
            H::Closure { params, body: _, captures } => {
                self.closure_value(id, params, captures, want, span)
            }
            H::OptionPipe { value, local, call } => {
                self.option_pipe(*value, *local, *call, want, span)
            }
            H::ResultPipe { value, local, call } => {
                self.result_pipe(*value, *local, *call, want, span)
            }
            H::OrElse(value, otherwise) => self.or_else(*value, *otherwise, want, span),
            H::Catch { value, param, handler } => self.catch(*value, *param, *handler, want, span),
            H::Try(inner) => self.try_expr(*inner, want, span),
            H::Where { body, items, otherwise } => {
                self.where_expr(*body, items, *otherwise, want, span)
            }
            H::Error => Expr::error(span),
        }
    }

    /// An expression that must be a `bool`.
    pub(super) fn condition(&mut self, id: ExprId, what: &str) -> Expr {
        let value = self.expr(id, None);
        self.expect_bool(value, what)
    }

    pub(super) fn expect_bool(&mut self, value: Expr, what: &str) -> Expr {
        if value.ty == Type::BOOL || value.ty.has_error() {
            return value;
        }
        let d = error(
            Code::E0504,
            value.span,
            format!("{what} must be a `bool`, but this is `{}`", self.show(&value.ty)),
        )
        .here("not a `bool`");
        let d = match (&*value.kind, &value.ty, self.show_name(&value)) {
            (ExprKind::Var(_), Type::Scalar(ty), Some(name)) if ty.is_int() => {
                let text = format!("compare it with something: `{name} != 0`");
                d.fix(text, value.span.end(), " != 0")
            }
            (_, Type::Str, _) => d.help("compare it with something: `… != \"\"`"),
            _ => d.help("compare it with something: `… != 0`"),
        };
        self.fail(d)
    }

    /// An expression that must be an integer: an index, a bound, a count.
    pub(super) fn integer(&mut self, id: ExprId, what: &str) -> Expr {
        let value = self.expr(id, Some(&Type::I32));
        self.expect_integer(value, what)
    }

    pub(super) fn expect_integer(&mut self, value: Expr, what: &str) -> Expr {
        match &value.ty {
            Type::Scalar(ty) if ty.is_int() => value,
            ty if ty.has_error() => value,
            ty => {
                let d = error(
                    Code::E0506,
                    value.span,
                    format!("{what} must be an integer, but this is `{}`", self.show(ty)),
                )
                .here("not an integer");
                let d = match ty.scalar() {
                    Some(s) if s.is_float() => {
                        d.fix("convert it: `… as i32`", value.span.end(), " as i32")
                    }
                    _ => d.help("write an integer: `0`, an index, or a value of type `i32`"),
                };
                self.fail(d)
            }
        }
    }

    fn unary(&mut self, op: hir::UnaryOp, inner: ExprId, want: Option<&Type>, span: Span) -> Expr {
        let hir = self.hir;
        if let (hir::UnaryOp::Neg, H::Int(value, suffix)) = (op, &hir.exprs[inner].kind) {
            return self.int_literal(*value, *suffix, want, true, span);
        }
        let want = if op == hir::UnaryOp::Not { None } else { want };
        let value = self.expr(inner, want);
        if value.ty.has_error() {
            return Expr::error(span);
        }
        let scalar = value.ty.scalar();
        let (scalar_op, fits) = match op {
            // A number, or an array of them, is itself.
            hir::UnaryOp::Pos if scalar.is_some_and(super::is_numeric) => return value,
            hir::UnaryOp::Pos => {
                let message = format!("`+` cannot be applied to `{}`", self.show(&value.ty));
                let d = error(Code::E0502, value.span, message)
                    .here("not a number")
                    .help("leave the sign out");
                return self.fail(d);
            }
            hir::UnaryOp::Neg => (
                UnaryOp::Neg,
                scalar.is_some_and(|ty| ty.is_float() || (ty.is_int() && ty.is_signed())),
            ),
            hir::UnaryOp::Not => (UnaryOp::Not, scalar == Some(ScalarType::Bool)),
        };
        match scalar {
            Some(ty) if fits => self.pointwise(vec![value], span, |_, mut args| {
                let arg = args.remove(0);
                Expr::new(ExprKind::Unary(scalar_op, arg), Type::Scalar(ty), span)
            }),
            _ if op == hir::UnaryOp::Not => {
                let d = error(
                    Code::E0504,
                    value.span,
                    format!("`!` needs a `bool`, but this is `{}`", self.show(&value.ty)),
                )
                .here("not a `bool`")
                .help("compare it with something: `… == 0`");
                self.fail(d)
            }
            _ => {
                let d = error(
                    Code::E0502,
                    value.span,
                    format!("`-` cannot be applied to `{}`", self.show(&value.ty)),
                )
                .here("this has no negative")
                .help("negate a signed number: `-(… as i32)`");
                self.fail(d)
            }
        }
    }

    fn range(
        &mut self,
        lo: Option<ExprId>,
        hi: Option<ExprId>,
        inclusive: bool,
        span: Span,
    ) -> Expr {
        let lo = match lo {
            Some(lo) => self.integer(lo, "the start of a range"),
            None => Expr::int(0, span),
        };
        let Some(hi) = hi else {
            return self.fail(
                error(Code::E0418, span, "a range without an end can only slice an array")
                    .here("no end")
                    .help("write the end: `0..n`"),
            );
        };
        let hi = self.integer(hi, "the end of a range");
        let hi = if inclusive { self.plus_one(hi) } else { hi };
        if lo.ty.has_error() || hi.ty.has_error() {
            return Expr::error(span);
        }
        Expr::new(ExprKind::Range(lo, hi), Type::Range, span)
    }

    /// An integer expression plus one.
    pub(super) fn plus_one(&mut self, value: Expr) -> Expr {
        if let Some(size) = self.to_size(&value) {
            return Expr::size(size.offset(1), value.span);
        }
        let (ty, span) = (value.ty.clone(), value.span);
        let Type::Scalar(scalar) = ty else { return value };
        let one = Expr::new(ExprKind::Const(ein_scalar::Scalar::one(scalar)), ty.clone(), span);
        Expr::new(ExprKind::Binary(ein_scalar::BinaryOp::Add, value, one), ty, span)
    }

    fn tuple(&mut self, items: &[ExprId], want: Option<&Type>, span: Span) -> Expr {
        let wants = match want {
            Some(Type::Tuple(wants)) if wants.len() == items.len() => Some(wants.as_slice()),
            _ => None,
        };
        let items: Vec<_> = items
            .iter()
            .enumerate()
            .map(|(position, item)| {
                let want = wants.map(|wants| &wants[position]).filter(|want| **want != Type::Error);
                self.open_value(*item, want, None)
            })
            .collect();
        let ty = Type::Tuple(items.iter().map(|item| item.ty.clone()).collect());
        if self.is_large(&ty) {
            return self.too_large("the type of this tuple", span);
        }
        Expr::new(ExprKind::Tuple(items), ty, span)
    }

    pub(super) fn tuple_field(&mut self, base: Expr, position: u32, at: Span, span: Span) -> Expr {
        let position = position as usize;
        match &base.ty {
            Type::Tuple(items) => match items.get(position) {
                Some(ty) => {
                    let ty = ty.clone();
                    Expr::new(ExprKind::TupleGet(base, position), ty, span)
                }
                None => {
                    let count = items.len();
                    let d = error(
                        Code::E0511,
                        at,
                        format!("this tuple has {count} components, so there is no `.{position}`"),
                    )
                    .here("no such component")
                    .label(base.span, format!("this is `{}`", self.show(&base.ty)))
                    .help(format!("components are `.0` to `.{}`", count.saturating_sub(1)));
                    self.fail(d)
                }
            },
            ty if ty.is_broken() => Expr::error(span),
            ty => {
                let d = error(
                    Code::E0511,
                    at,
                    format!("`{}` has no component `.{position}`", self.show(ty)),
                )
                .here("not a tuple")
                .label(base.span, format!("this is `{}`", self.show(ty)))
                .help("arrays are indexed with brackets: `a[0]`");
                self.fail(d)
            }
        }
    }

    pub(super) fn field(&mut self, base: Expr, name: ein_base::Name, span: Span) -> Expr {
        match (&base.ty, name.sym.as_str()) {
            (ty, _) if ty.is_broken() => Expr::error(span),
            (Type::Array(_), "shape") => self.shape_of(base, span),
            (Type::Array(_), "size") => {
                let base = self.settle_expr(base);
                let one = ein_ir::size::Expr::one();
                let all = base.ty.axes().iter().fold(one, |all, axis| all.mul(&axis.size));
                Expr::size(all, span)
            }
            (Type::AnyRank(_), "size") => {
                let sym = ein_base::Symbol::intern("shape");
                let shape = self.field(base, ein_base::Name { sym, ..name }, span);
                self.apply_builtin(hir::Builtin::Reduction(hir::ReduceOp::Prod), vec![shape], span)
            }
            (Type::Array(_) | Type::Str | Type::Jagged(..), "length") => self.length_of(base, span),
            (Type::AnyRank(_), "shape") => Expr::new(
                ExprKind::Host(HostOp::Shape, vec![base]),
                Type::array(Type::I32, vec![super::anonymous(self.unknown_size(true))]),
                span,
            ),
            (Type::AnyRank(_), "length") => {
                Expr::new(ExprKind::Host(HostOp::Len, vec![base]), Type::I32, span)
            }
            (Type::Data(..), _) => self.struct_field(base, name, span),
            (ty, _) => {
                let have = self.show(ty);
                let d = error(Code::E0511, name.span, format!("`{have}` has no field `{name}`"))
                    .here("no such field")
                    .label(base.span, format!("this is `{have}`"))
                    .help("arrays have `.shape`, `.length` and `.size`, strings have `.length`");
                self.fail(d)
            }
        }
    }

    /// The extents of an array, as known as they are.
    pub(super) fn shape_of(&mut self, base: Expr, span: Span) -> Expr {
        let base = self.evaluated(base);
        let sizes: Vec<_> = base.ty.axes().iter().map(|axis| axis.size.clone()).collect();
        let rank = sizes.len() as i64;
        let items = sizes.into_iter().map(|size| Expr::size(size, span)).collect();
        let ty = Type::array(Type::I32, vec![super::anonymous(ein_ir::size::Expr::constant(rank))]);
        Expr::new(ExprKind::Array(items), ty, span)
    }

    /// The first extent, or the number of characters.
    pub(super) fn length_of(&mut self, base: Expr, span: Span) -> Expr {
        match &base.ty {
            Type::Array(_) => {
                let base = self.evaluated(base);
                let size = base.ty.axes()[0].size.clone();
                Expr::size(size, span)
            }
            Type::Tuple(items) => Expr::int(items.len() as i64, span),
            _ => Expr::new(ExprKind::Host(HostOp::Len, vec![base]), Type::I32, span),
        }
    }

    /// A value of which only the extents are wanted: what may fail is computed all the same, in a
    /// variable.
    fn evaluated(&mut self, value: Expr) -> Expr {
        if !may_fail(&value) {
            return self.settle_expr(value);
        }
        let span = value.span;
        let var = self.bind(ein_base::Symbol::intern(super::vars::TEMPORARY), value);
        self.var_expr(var, span)
    }

    /// The same value in a variable if its extents are not known yet, so that they are.
    pub(super) fn settle_expr(&mut self, value: Expr) -> Expr {
        let open = value.ty.axes().iter().any(|axis| self.unsettled(&axis.size).is_some());
        if open && !matches!(&*value.kind, ExprKind::Var(_)) {
            let span = value.span;
            let var = self.bind(ein_base::Symbol::intern(super::vars::TEMPORARY), value);
            return self.var_expr(var, span);
        }
        value
    }

    /// An element at known positions.
    pub(super) fn read(&self, base: Expr, indices: Vec<Expr>, bounds: Bounds, span: Span) -> Expr {
        let rest = base.ty.axes().get(indices.len()..).unwrap_or(&[]).to_vec();
        let ty = Type::array(base.ty.elem().clone(), rest);
        let indices = indices.into_iter().map(|value| IndexArg { value, bounds }).collect();
        Expr::new(ExprKind::Index { base, indices }, ty, span)
    }
}

/// Whether computing a value may stop the program.
fn may_fail(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Const(_) | ExprKind::Str(_) | ExprKind::Var(_) | ExprKind::Size(_) => false,
        ExprKind::FieldGet(base, _) | ExprKind::TupleGet(base, _) => may_fail(base),
        ExprKind::Array(items) | ExprKind::Tuple(items) => items.iter().any(may_fail),
        _ => true,
    }
}
