//! Application: of primitives, of functions, of arrays of functions.

use super::free::free;
use super::prim::{Prim, array};
use super::translate::Translator;
use super::tree::{Cell, Kind, Lambda, Node};
use super::types::{
    Array, Binding, BindingCode, Bound, Function, FunctionCode, Functions, Ty, Val,
};
use crate::notation::Elem;
use crate::notation::size::Size;
use ein_base::{Code, Span, Symbol};
use std::rc::Rc;

impl Translator {
    pub(super) fn apply(&mut self, callee: &Node, args: &[Node], span: Span) -> Val {
        let functions = match self.value(callee) {
            Val::Functions(it) => it,
            Val::Array(it) => {
                // An unknown name was left to the resolver.
                if it.ty.elem != Elem::Unknown {
                    let help = "put a function first: `(f x y)`";
                    let message = "this is not a function";
                    self.report(Code::E0510, callee.span, message, "called here", help);
                }
                let args = args.iter().map(|arg| self.array(arg).code).collect();
                let code = self.b.call(it.code, args, span);
                return array(code, Ty::scalar(Elem::Unknown));
            }
        };
        let args: Vec<Val> = args.iter().map(|it| self.value(it)).collect();
        self.call_all(&functions, args, span)
    }

    /// Calls one function, or each of an array of functions: those are a frame.
    fn call_all(&mut self, functions: &Functions, args: Vec<Val>, span: Span) -> Val {
        if let ([function], false) = (&functions.list[..], functions.array) {
            return self.call(function, args, span);
        }
        if !self.functions_agree(functions, &args, span) {
            return Val::Array(self.broken(span));
        }
        let mut cells = Vec::with_capacity(functions.list.len());
        for (at, function) in functions.list.iter().enumerate() {
            let args: Vec<Val> = args
                .iter()
                .enumerate()
                .map(|(place, arg)| match arg {
                    Val::Array(it) if it.ty.rank() > function.cell_rank(place, it.ty.rank()) => {
                        let index = self.b.int(i64::try_from(at).unwrap_or(i64::MAX), span);
                        let code = self.b.index(it.code, vec![index], span);
                        let shape = it.ty.shape.iter().skip(1).cloned().collect();
                        array(code, Ty { elem: it.ty.elem, shape })
                    }
                    other => other.clone(),
                })
                .collect();
            let value = self.call(function, args, span);
            cells.push(self.expect_array(value, span));
        }
        self.collect(cells, span)
    }

    /// Whether the functions of an array take cells of the same ranks, and the frames of the
    /// arguments begin with theirs.
    fn functions_agree(&mut self, functions: &Functions, args: &[Val], span: Span) -> bool {
        let count = Size::number(i64::try_from(functions.list.len()).unwrap_or(i64::MAX));
        for (place, arg) in args.iter().enumerate() {
            let Val::Array(arg) = arg else { continue };
            let rank = arg.ty.rank();
            let mut cells = functions.list.iter().map(|it| it.cell_rank(place, rank));
            let Some(first) = cells.next() else { continue };
            if let Some(other) = cells.find(|cell| *cell != first) {
                let message = format!(
                    "the functions of one array take cells of one rank, but one takes rank {first} here and another rank {other}"
                );
                let help = "call the functions one by one";
                self.report(Code::E0409, span, message, "one call, one frame", help);
                return false;
            }
            let Some(frame) = arg.ty.shape.first().filter(|_| rank > first) else { continue };
            let more = self.sizes.resolve(frame).distance(&count);
            if let Some(more) = more.filter(|more| *more != 0) {
                let have = functions.list.len();
                let message =
                    format!("an array of {have} functions meets a frame of {}", have as i64 + more);
                let help = "one frame must be a prefix of the other: compare the leading axes";
                self.report(Code::E0409, span, message, "one call, one frame", help);
                return false;
            }
        }
        true
    }

    /// Calls a function.
    pub(super) fn call(&mut self, function: &Function, args: Vec<Val>, span: Span) -> Val {
        match &function.code {
            FunctionCode::Prim(prim) => self.call_prim(*prim, args, span),
            FunctionCode::Lambda(lambda) => {
                if lambda.params.len() != args.len() {
                    return self.wrong_arity(lambda.params.len(), args.len(), span);
                }
                if let Kind::Lambda(inner) = &lambda.body.kind {
                    return self.returned(lambda, inner, function, args);
                }
                let mut bound = function.captured.clone();
                for ((name, cell), value) in lambda.params.iter().zip(args) {
                    bound.push((name.sym, self.bound(value, cell, span)));
                }
                self.call_instance(lambda, bound, span)
            }
        }
    }

    fn wrong_arity(&mut self, wanted: usize, given: usize, span: Span) -> Val {
        let message = format!("this function takes {wanted} arguments, here it gets {given}");
        let help = "pass one argument for each parameter";
        self.report(Code::E0508, span, message, "called here", help);
        Val::Array(self.broken(span))
    }

    /// An argument as its parameter sees it.
    fn bound(&mut self, value: Val, cell: &Cell, span: Span) -> Bound {
        match value {
            Val::Functions(it) => {
                if it.array {
                    let message = "an array of functions cannot be given to a function";
                    let help = "give one function at a time";
                    self.report(Code::E0501, span, message, "several functions", help);
                }
                Bound::Functions(it)
            }
            Val::Array(it) => {
                let it = self.cast(it, cell.elem.unwrap_or(Elem::Unknown));
                let rank = if cell.rest { it.ty.rank() } else { cell.dims.len() };
                let code = BindingCode::Value(it.code);
                Bound::Array(Binding { code, ty: it.ty, cell: rank })
            }
        }
    }

    /// The result of a function whose body is a function: what it captures keeps the frames of
    /// the arguments, over which its own call will be lifted.
    fn returned(
        &mut self,
        outer: &Rc<Lambda>,
        inner: &Rc<Lambda>,
        function: &Function,
        args: Vec<Val>,
    ) -> Val {
        let mut known: Vec<(Symbol, Bound)> = function.captured.clone();
        for ((name, cell), value) in outer.params.iter().zip(args) {
            let bound = self.bound(value, cell, inner.span);
            known.push((name.sym, bound));
        }
        let captured = free(inner)
            .into_iter()
            .filter_map(|name| known.iter().rev().find(|it| it.0 == name).cloned())
            .collect();
        let code = FunctionCode::Lambda(inner.clone());
        Val::Functions(Functions { list: vec![Function { code, captured }], array: false })
    }

    fn call_prim(&mut self, prim: Prim, mut args: Vec<Val>, span: Span) -> Val {
        if let (Prim::Arithmetic(_, "sub"), 1) = (prim, args.len()) {
            let value = args.remove(0);
            let value = self.expect_array(value, span);
            return self.negate(value, span);
        }
        let folds = matches!(prim, Prim::Arithmetic(..) | Prim::Extreme(_) | Prim::Logic(..));
        if args.len() != prim.arity() && !(folds && args.len() > 2) {
            return self.wrong_arity(prim.arity(), args.len(), span);
        }
        if matches!(prim, Prim::Reduce | Prim::Scan | Prim::Filter) {
            return self.call_fold(prim, args, span);
        }
        let mut arrays: Vec<Array> = Vec::with_capacity(args.len());
        for arg in args {
            arrays.push(self.expect_array(arg, span));
        }
        let mut arrays = arrays.into_iter();
        let Some(first) = arrays.next() else { return Val::Array(self.broken(span)) };
        if !prim.is_scalar() {
            return self.call_whole(prim, first, arrays.next(), span);
        }
        let mut value = Val::Array(first);
        let mut alone = true;
        for next in arrays {
            let left = self.expect_array(value, span);
            value = self.pointwise_two(prim, left, next, span);
            alone = false;
        }
        match value {
            Val::Array(it) if alone => self.pointwise_one(prim, it, span),
            it => it,
        }
    }
}

impl Function {
    /// The rank of the cells that it takes at a place; `rank` for one that takes everything.
    fn cell_rank(&self, place: usize, rank: usize) -> usize {
        match &self.code {
            FunctionCode::Prim(prim) if prim.is_scalar() => 0,
            FunctionCode::Prim(_) => rank,
            FunctionCode::Lambda(lambda) => match lambda.params.get(place) {
                Some((_, cell)) if !cell.rest => cell.dims.len(),
                _ => rank,
            },
        }
    }
}
