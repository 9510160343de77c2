//! The primitives that take their argument whole: along the leading axis of any rank.

use super::prim::{Prim, array};
use super::translate::Translator;
use super::types::{Array, Function, FunctionCode, Functions, Ty, Val};
use crate::ast::{BinaryOp, ExprId, ExprKind};
use crate::notation::Elem;
use crate::notation::build::named;
use crate::notation::size::Size;
use ein_base::{Code, Span};

impl Translator {
    /// `reduce`, `scan` and `filter`, whose first argument may be a function.
    pub(super) fn call_fold(&mut self, prim: Prim, args: Vec<Val>, span: Span) -> Val {
        let mut args = args.into_iter();
        let (Some(first), Some(second)) = (args.next(), args.next()) else {
            return Val::Array(self.broken(span));
        };
        let second = self.expect_array(second, span);
        if prim == Prim::Filter {
            return self.filter(first, second, span);
        }
        let Some(third) = args.next() else { return Val::Array(self.broken(span)) };
        let third = self.expect_array(third, span);
        let Val::Functions(Functions { list, array: false }) = &first else {
            let message = format!("`{}` needs a function first", prim.name());
            let help = format!("pass one: `({} + 0 …)`", prim.name());
            self.report(Code::E0510, span, message, "no function", &help);
            return Val::Array(self.broken(span));
        };
        let Some(op) = list.first() else { return Val::Array(self.broken(span)) };
        let elem = second.ty.elem.meet(third.ty.elem);
        let (zero, items) = (self.cast(second, elem), self.cast(third, elem));
        let cell = Ty { elem, shape: items.ty.shape.iter().skip(1).cloned().collect() };
        let (op, _) = self.function_code(op, &[cell.clone(), cell.clone()], span);
        let code = self.b.call_path(prim.name(), vec![op, zero.code, items.code], span);
        let ty = if prim == Prim::Scan { Ty { elem, shape: items.ty.shape } } else { cell };
        array(code, ty)
    }

    fn filter(&mut self, keep: Val, items: Array, span: Span) -> Val {
        let keep = match keep {
            Val::Array(it) => it.code,
            Val::Functions(Functions { list, .. }) => {
                let Some(keep) = list.first() else { return Val::Array(self.broken(span)) };
                let shape = items.ty.shape.iter().skip(1).cloned().collect();
                self.function_code(keep, &[Ty { elem: items.ty.elem, shape }], span).0
            }
        };
        let code = self.b.call_path("filter", vec![keep, items.code], span);
        let mut ty = items.ty;
        if let Some(first) = ty.shape.first_mut() {
            *first = Size::Opaque;
        }
        array(code, ty)
    }

    /// A function as an Einlang value, for arguments of these types.
    fn function_code(&mut self, function: &Function, args: &[Ty], span: Span) -> (ExprId, Ty) {
        if let FunctionCode::Prim(prim) = function.code
            && prim.is_scalar()
            && prim.arity() == args.len()
            && !matches!(prim, Prim::Math(_))
        {
            let path = self.op(prim.name());
            let elem = args.first().map_or(Elem::Unknown, |it| it.elem);
            return (self.b.path(&path, span), Ty::scalar(elem));
        }
        let mut names = Vec::new();
        let mut values = Vec::new();
        for (at, ty) in args.iter().enumerate() {
            let name = self.scope.taken.fresh(["a", "b", "c"].get(at).copied().unwrap_or("d"));
            let code = self.b.path(&name, span);
            names.push(named(&name, span));
            values.push(array(code, ty.clone()));
        }
        let value = self.call(function, values, span);
        let value = self.expect_array(value, span);
        // `|a, b| f(a, b)` is `f`.
        if let ExprKind::Call { callee, args } = &self.b.ast.expr[value.code].kind
            && args.len() == names.len()
            && args.iter().zip(&names).all(|(arg, name)| {
                matches!(&self.b.ast.expr[arg.value].kind,
                    ExprKind::Path(path) if path.len() == 1 && path[0].sym == name.sym)
            })
        {
            return (*callee, value.ty);
        }
        (self.b.closure(names, value.code, span), value.ty)
    }

    /// The other primitives that are not pointwise.
    pub(super) fn call_whole(
        &mut self,
        prim: Prim,
        first: Array,
        second: Option<Array>,
        span: Span,
    ) -> Val {
        match (prim, second) {
            (Prim::Iota, _) => self.iota(first, span),
            (Prim::Reverse, _) => {
                array(self.b.call_path("reverse", vec![first.code], span), first.ty)
            }
            (Prim::Length, _) => {
                let code = self.b.call_path("len", vec![first.code], span);
                array(code, Ty::scalar(Elem::Int))
            }
            (Prim::Transpose, _) => {
                let path = self.array_function("transpose");
                let code = self.b.call_path(&path, vec![first.code], span);
                let mut ty = first.ty;
                if let [.., a, b] = &mut ty.shape[..] {
                    std::mem::swap(a, b);
                }
                array(code, ty)
            }
            (Prim::Append, Some(second)) => self.append(first, second, span),
            (Prim::Rotate, Some(second)) => self.rotate(first, second, span),
            (Prim::Reshape, Some(second)) => self.reshape(first, second, span),
            _ => Val::Array(self.broken(span)),
        }
    }

    /// The size that an expression is.
    fn size_of(&self, code: ExprId) -> Size {
        match self.b.literal(code) {
            Some(number) if number >= 0 => Size::number(number),
            _ => Size::Opaque,
        }
    }

    fn iota(&mut self, dims: Array, span: Span) -> Val {
        if dims.ty.rank() == 0 {
            let size = self.size_of(dims.code);
            let code = self.b.call_path("iota", vec![dims.code], span);
            return array(code, Ty { elem: Elem::Int, shape: vec![size] });
        }
        let Some(items) = &dims.items else {
            let message = "`iota` needs a shape that is written out: `[n m]`";
            let help = "write the extents in brackets: `(iota [2 3])`";
            self.report(Code::E0410, span, message, "its length is the rank of the result", help);
            return Val::Array(self.broken(span));
        };
        let shape = items.iter().map(|it| self.size_of(*it)).collect();
        let ty = Ty { elem: Elem::Int, shape };
        let mut factors = items.iter().copied();
        let Some(mut count) = factors.next() else {
            return array(self.b.int(0, span), Ty::scalar(Elem::Int));
        };
        if items.len() == 1 {
            return array(self.b.call_path("iota", vec![count], span), ty);
        }
        for factor in factors {
            count = self.b.binary(BinaryOp::Mul, count, factor, span);
        }
        let flat = self.b.call_path("iota", vec![count], span);
        array(self.b.call_path("reshape", vec![flat, dims.code], span), ty)
    }

    fn append(&mut self, a: Array, b: Array, span: Span) -> Val {
        let elem = a.ty.elem.meet(b.ty.elem);
        let (a, b) = (self.cast(a, elem), self.cast(b, elem));
        let code = self.b.call_path("append", vec![a.code, b.code], span);
        let mut shape = Vec::new();
        if let (Some(m), Some(n)) = (a.ty.shape.first(), b.ty.shape.first()) {
            shape.push(self.sizes.resolve(m).plus(&self.sizes.resolve(n), 1));
        }
        let rest = |it: &Array| it.ty.shape.iter().skip(1).cloned().collect::<Vec<_>>();
        shape.extend(self.agree(&[&rest(&a), &rest(&b)]));
        array(code, Ty { elem, shape })
    }

    /// `rotate` takes one amount; several are a frame, over which a function of its own is lifted.
    fn rotate(&mut self, amount: Array, items: Array, span: Span) -> Val {
        if amount.ty.rank() == 0 {
            let code = self.b.call_path("rotate", vec![items.code, amount.code], span);
            return array(code, items.ty);
        }
        let name = self.taken.fresh("rotated");
        let mut sizes = Vec::new();
        for at in 0..items.ty.rank() {
            let name = ["n", "m", "k"].get(at).map_or(format!("n{at}"), |it| (*it).to_owned());
            sizes.push(self.b.expr(ExprKind::Size(named(&name, span)), span));
        }
        let elem = self.b.scalar(items.ty.elem, span);
        let ty = self.b.array_type(elem, sizes, span);
        let int = self.b.scalar(Elem::Int, span);
        let args = vec![self.b.path("items", span), self.b.path("amount", span)];
        let body = self.b.call_path("rotate", args, span);
        let params = vec![(named("amount", span), Some(int)), (named("items", span), Some(ty))];
        let item = self.b.function(named(&name, span), Vec::new(), params, Some(ty), body, span);
        self.calls.add(item);
        let code = self.b.call_path(&name, vec![amount.code, items.code], span);
        let mut shape = amount.ty.shape;
        shape.extend(items.ty.shape);
        array(code, Ty { elem: items.ty.elem, shape })
    }

    fn reshape(&mut self, dims: Array, items: Array, span: Span) -> Val {
        let shape = match (&dims.items, dims.ty.shape.first()) {
            (Some(list), _) => list.iter().map(|it| self.size_of(*it)).collect(),
            (None, Some(Size::Sum(terms, rank))) if terms.is_empty() => {
                vec![Size::Opaque; usize::try_from(*rank).unwrap_or(0).min(16)]
            }
            _ => vec![Size::Opaque],
        };
        let code = self.b.call_path("reshape", vec![items.code, dims.code], span);
        array(code, Ty { elem: items.ty.elem, shape })
    }
}
