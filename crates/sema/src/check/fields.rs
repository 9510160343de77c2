//! Structs and tuples as wholes: arithmetic field by field, and derivatives by them.
//!
//! `p - 0.1 * g` of two values of one struct type is the struct of the differences, and `@loss / @p`
//! the struct of the derivatives by its fields. What has no derivative (a text, an integer) is `()`
//! there, and `()` leaves what it is added to as it is. A derivative whose fields have other types
//! than those of the struct (of an array, or in another precision) is a struct of the same form.

use super::{Cx, error, is_numeric};
use crate::hir::{DefId, ExprId};
use ein_base::{Code, Span, Symbol};
use ein_ir::tensor::{Data, DataId, Expr, ExprKind, Type};
use ein_scalar::BinaryOp;
use ein_syntax::ast::BinaryOp as B;

/// A part of a struct or tuple, with its name.
type Part = (Symbol, Expr);

impl Cx<'_> {
    /// Whether values of a type have parts: a tuple or a struct, not an enum.
    pub(super) fn is_record(&self, ty: &Type) -> bool {
        match ty {
            Type::Tuple(_) => true,
            Type::Data(id, _) => !self.out.data[*id].is_enum,
            _ => false,
        }
    }

    /// The types of the fields of a struct.
    pub(super) fn types_of_fields(&mut self, id: DataId, def: DefId, args: &[Type]) -> Vec<Type> {
        match self.derived.contains_key(&id) {
            true => args.to_vec(),
            false => self.field_types(def, 0, args),
        }
    }

    /// The types of the parts of a tuple or struct.
    pub(super) fn part_types(&mut self, ty: &Type) -> Vec<Type> {
        match ty {
            Type::Tuple(items) => items.to_vec(),
            Type::Data(id, args) => match self.data_def(*id) {
                Some(def) => self.types_of_fields(*id, def, args),
                None => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// The parts of a value that costs nothing to read again.
    pub(super) fn parts_of(&mut self, value: &Expr) -> Vec<Part> {
        let span = value.span;
        match &value.ty {
            Type::Tuple(items) => items
                .iter()
                .enumerate()
                .map(|(at, ty)| {
                    let kind = ExprKind::TupleGet(value.clone(), at);
                    let part = Expr::new(kind, ty.clone(), span);
                    (Symbol::intern(&at.to_string()), self.settle_part(part))
                })
                .collect(),
            Type::Data(id, args) => {
                let Some(def) = self.data_def(*id) else { return Vec::new() };
                let names = self.out.data[*id].variants[0].fields.clone();
                let types = self.types_of_fields(*id, def, args);
                names
                    .into_iter()
                    .zip(types)
                    .enumerate()
                    .map(|(at, (name, ty))| {
                        let part = Expr::new(ExprKind::FieldGet(value.clone(), at), ty, span);
                        (name, self.settle_part(part))
                    })
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// A value of the form of `like` with other parts.
    fn with_parts(&mut self, like: &Type, parts: Vec<Expr>, span: Span) -> Expr {
        match like {
            Type::Tuple(_) => {
                let types = parts.iter().map(|part| part.ty.clone()).collect();
                Expr::new(ExprKind::Tuple(parts), Type::Tuple(types), span)
            }
            Type::Data(id, args) => {
                let Some(def) = self.data_def(*id) else { return Expr::error(span) };
                let own = match self.derived.contains_key(id) {
                    true => None,
                    false => Some(self.field_types(def, 0, args)),
                };
                let fits = own.is_some_and(|own| {
                    own.iter().zip(&parts).all(|(own, part)| {
                        own.rank() == part.ty.rank() && self.same_kind(own, &part.ty)
                    })
                });
                let ty = match fits {
                    true => like.clone(),
                    false => {
                        let types = parts.iter().map(|part| part.ty.clone()).collect();
                        Type::Data(self.derived_form(def, *id), types)
                    }
                };
                let Type::Data(data, _) = ty else { return Expr::error(span) };
                Expr::new(ExprKind::Make { data, variant: 0, fields: parts }, ty, span)
            }
            _ => Expr::error(span),
        }
    }

    /// A struct of the form of another one, whose fields may have any types.
    fn derived_form(&mut self, def: DefId, id: DataId) -> DataId {
        let known = self.derived.iter().find(|(_, own)| **own == def).map(|(id, _)| *id);
        if let Some(known) = known {
            return known;
        }
        let form = &self.out.data[id];
        let form = Data { name: form.name, variants: form.variants.clone(), is_enum: false };
        let derived = self.out.data.push(form);
        self.derived.insert(derived, def);
        derived
    }

    /// The declaration of a struct, also of one that was derived from it.
    fn form_of(&self, ty: &Type) -> Option<DefId> {
        match ty {
            Type::Data(id, _) => self.data_def(*id),
            _ => None,
        }
    }

    // ---------------------------------------------------------------- arithmetic

    /// Arithmetic with a struct or tuple on one side at least; literals have the numbers of their
    /// expressions.
    pub(super) fn fieldwise(
        &mut self,
        op: B,
        (x, a): (Expr, ExprId),
        (y, b): (Expr, ExprId),
        span: Span,
    ) -> Expr {
        if x.ty.has_error() || y.ty.has_error() {
            return Expr::error(span);
        }
        if !matches!(op, B::Add | B::Sub | B::Mul) {
            return self.no_operator(op, &x, &y, span);
        }
        let x = self.atomise(x);
        let y = self.atomise(y);
        let literal = |cx: &Self, id: ExprId| cx.literal_class(id).map(|_| id);
        let literals = (literal(self, a), literal(self, b));
        self.combined(op, x, y, literals, span)
    }

    /// Quotients and powers of parts, which only the library writes: `std::intrinsics::div(m, root)`.
    pub(super) fn of_records(&mut self, op: BinaryOp, x: Expr, y: Expr, span: Span) -> Expr {
        let op = match op {
            BinaryOp::Div => B::Div,
            BinaryOp::Pow => B::Pow,
            _ => return self.scalar_binary(op, x, y, span),
        };
        let x = self.atomise(x);
        let y = self.atomise(y);
        self.combined(op, x, y, (None, None), span)
    }

    fn combined(
        &mut self,
        op: B,
        x: Expr,
        y: Expr,
        literals: (Option<ExprId>, Option<ExprId>),
        span: Span,
    ) -> Expr {
        let (record_x, record_y) = (self.is_record(&x.ty), self.is_record(&y.ty));
        let scalar = |e: &Expr| matches!(e.ty, Type::Scalar(ty) if is_numeric(ty));
        let alike = match (record_x, record_y) {
            (true, true) => match (&x.ty, &y.ty) {
                (Type::Tuple(a), Type::Tuple(b)) => a.len() == b.len(),
                (a, b) => self.form_of(a).is_some() && self.form_of(a) == self.form_of(b),
            },
            (true, false) => scalar(&y),
            (false, _) => scalar(&x),
        };
        if !alike {
            return self.no_operator(op, &x, &y, span);
        }
        let left = if record_x { self.parts_of(&x) } else { Vec::new() };
        let right = if record_y { self.parts_of(&y) } else { Vec::new() };
        let mut parts = Vec::new();
        for at in 0..left.len().max(right.len()) {
            let (name, whole) = match left.get(at).or(right.get(at)) {
                Some((name, _)) => (*name, if record_x { &x } else { &y }),
                None => continue,
            };
            let part = |side: &[Part], other: &Expr| match side.get(at) {
                Some((_, part)) => part.clone(),
                None => other.clone(),
            };
            let (p, q) = (part(&left, &x), part(&right, &y));
            let Some(value) = self.of_parts(op, (p, q, record_x && record_y), literals, span)
            else {
                let have = self.show(&whole.ty);
                let ty = match left.get(at).or(right.get(at)) {
                    Some((_, part)) => self.show(&part.ty),
                    None => String::new(),
                };
                let message = format!(
                    "`{}` of `{have}` goes field by field, and `{name}` is `{ty}`",
                    op.as_str()
                );
                let d = error(Code::E0502, span, message)
                    .here(format!("`{name}` has no `{}`", op.as_str()))
                    .label(whole.span, format!("this is `{have}`"))
                    .help(format!(
                        "compute the other fields one by one, and copy `{name}`: `… {{ …, ..value }}`"
                    ));
                return self.fail(d);
            };
            if value.ty.is_broken() {
                return Expr::error(span);
            }
            parts.push(value);
        }
        // The form of the value that has types of its own.
        let like = match (&x.ty, &y.ty) {
            (Type::Data(id, _), _) if record_x && self.derived.contains_key(id) && record_y => {
                &y.ty
            }
            _ if record_x => &x.ty,
            _ => &y.ty,
        };
        let like = like.clone();
        self.with_parts(&like, parts, span)
    }

    /// Two parts, if there is such an operation.
    fn of_parts(
        &mut self,
        op: B,
        (p, q, both): (Expr, Expr, bool),
        literals: (Option<ExprId>, Option<ExprId>),
        span: Span,
    ) -> Option<Expr> {
        // What has no derivative stays as it is.
        match (&p.ty, &q.ty) {
            (Type::Unit, Type::Unit) => return Some(p),
            (_, Type::Unit) => return Some(if both { p } else { q }),
            (Type::Unit, _) if !both => return Some(p),
            (Type::Unit, _) if matches!(op, B::Add) => return Some(q),
            (Type::Unit, _) => return None,
            _ => {}
        }
        if self.is_record(&p.ty) || self.is_record(&q.ty) {
            return Some(self.combined(op, p, q, literals, span));
        }
        let number = |e: &Expr| e.ty.scalar().filter(|ty| is_numeric(*ty));
        let (Some(s), Some(t)) = (number(&p), number(&q)) else { return None };
        // A literal takes the type of each field.
        let typed = |cx: &mut Self, e: Expr, id: Option<ExprId>, ty| match id {
            Some(id) => {
                let value = cx.expr(id, Some(&Type::Scalar(ty)));
                if value.ty.has_error() { e } else { value }
            }
            None => e,
        };
        let p = typed(self, p, literals.0, t);
        let q = typed(self, q, literals.1, s);
        Some(match op {
            B::Pow => self.powers(p, q, span),
            _ => self.arithmetic(op, p, q, span),
        })
    }

    // ---------------------------------------------------------------- derivatives

    /// The derivative by every part of a struct or tuple.
    pub(super) fn request_by_parts(&mut self, y: Expr, x: &Expr, span: Span) -> Expr {
        let mut parts = Vec::new();
        for (_, part) in self.parts_of(x) {
            let moves = part.ty.scalar().is_some_and(|ty| ty.is_float());
            let value = match self.is_record(&part.ty) {
                true => self.request_by_parts(y.clone(), &part, span),
                false if moves => {
                    let part = self.as_part(part);
                    self.request(y.clone(), part, span)
                }
                false => Expr::new(ExprKind::Unit, Type::Unit, span),
            };
            if value.ty.is_broken() {
                return Expr::error(span);
            }
            parts.push(value);
        }
        self.with_parts(&x.ty.clone(), parts, span)
    }
}
