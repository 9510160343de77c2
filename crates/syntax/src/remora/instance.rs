//! Functions, once for each combination of element types and ranks.
//!
//! The sizes of a function's cells are variables while its body is translated; what meets there
//! becomes equal, and the signature says so.

use super::prim::array;
use super::translate::Translator;
use super::tree::{Cell, Index, Lambda};
use super::types::{Array, Binding, BindingCode, Bound, Ty, Val};
use crate::ast::{BinaryOp, ExprId, ExprKind, TypeId};
use crate::notation::Elem;
use crate::notation::build::named;
use crate::notation::names::readable;
use crate::notation::size::{Size, Var};
use ein_base::{Code, Name, Span, Symbol};
use rustc_hash::FxHashMap;

/// A function as it was translated for some types.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    /// The function it came from.
    pub(super) lambda: usize,
    name: String,
    /// The cells of its parameters.
    params: Vec<Vec<Size>>,
    /// `None` while it is translated for the first time.
    result: Option<Ty>,
}

/// The names of sizes in a signature.
#[derive(Debug, Default)]
struct SizeNames {
    names: FxHashMap<Var, String>,
    next: usize,
}

impl Translator {
    /// Calls the instance of a function for what its names are bound to.
    pub(super) fn call_instance(
        &mut self,
        lambda: &Lambda,
        bound: Vec<(Symbol, Bound)>,
        span: Span,
    ) -> Val {
        let mut key = format!("#{}", lambda.id);
        bound.iter().for_each(|(_, it)| it.signature(&mut key));
        if !self.instances.contains_key(&key) && !self.make_instance(lambda, &bound, &key, span) {
            return Val::Array(self.broken(span));
        }
        let Some(instance) = self.instances.get(&key).cloned() else {
            return Val::Array(self.broken(span));
        };
        if instance.result.is_none() {
            self.calls.asked(&key);
        }
        self.call_made(&instance, &bound, span)
    }

    /// A call of an instance: its sizes are matched, the rest of each argument is a frame.
    fn call_made(&mut self, instance: &Instance, bound: &[(Symbol, Bound)], span: Span) -> Val {
        let mut inputs = Vec::new();
        bound.iter().for_each(|(_, it)| it.arrays(&mut inputs));
        let mut own = FxHashMap::default();
        let mut frames = Vec::new();
        let mut codes = Vec::new();
        for (input, cell) in inputs.iter().zip(&instance.params) {
            let split = input.ty.rank().saturating_sub(input.cell);
            let (frame, given) = input.ty.shape.split_at(split);
            frames.push(frame);
            for (wanted, given) in cell.iter().zip(given) {
                let wanted = self.sizes.instantiate(wanted, &mut own);
                self.sizes.unify(&wanted, given);
            }
            codes.push(self.binding_code(&input.code, span));
        }
        let mut shape = self.agree(&frames);
        let result = instance.result.clone().unwrap_or(Ty::scalar(Elem::Unknown));
        for size in &result.shape {
            let size = self.sizes.instantiate(size, &mut own);
            shape.push(self.sizes.resolve(&size));
        }
        let code = self.b.call_path(&instance.name, codes, span);
        array(code, Ty { elem: result.elem, shape })
    }

    /// Translates a function; says whether that could be begun.
    fn make_instance(
        &mut self,
        lambda: &Lambda,
        bound: &[(Symbol, Bound)],
        key: &str,
        span: Span,
    ) -> bool {
        if !self.calls.begin(key) {
            let message = "too many functions follow from this call";
            let help = "let the function call itself with arguments of the same rank";
            self.report(Code::E0518, span, message, "each call needs another one", help);
            return false;
        }
        let name = lambda.name.map_or("each".to_owned(), |it| readable(it.as_str()));
        let name = self.calls.name(key, || self.taken.fresh(&name));
        let mut result = self.translate_body(lambda, bound, key, &name, None);
        if let Some(stale) = self.calls.known() {
            // Now the type of its result is known.
            stale.iter().for_each(|it| _ = self.instances.remove(it));
            result = self.translate_body(lambda, bound, key, &name, Some(result));
        }
        self.calls.end();
        if let Some(instance) = self.instances.get_mut(key) {
            instance.result = Some(result);
            for cell in &mut instance.params {
                for size in cell {
                    *size = self.sizes.resolve(size);
                }
            }
        }
        true
    }

    fn translate_body(
        &mut self,
        lambda: &Lambda,
        bound: &[(Symbol, Bound)],
        key: &str,
        name: &str,
        assumed: Option<Ty>,
    ) -> Ty {
        let inner = self.new_scope();
        let outer = std::mem::replace(&mut self.scope, inner);
        let mut sizes = SizeNames::default();
        let params = self.declare(lambda, bound, &mut sizes);
        let cells = params.iter().map(|it| it.1.shape.clone()).collect();
        self.instances.insert(
            key.to_owned(),
            Instance { lambda: lambda.id, name: name.to_owned(), params: cells, result: assumed },
        );
        let body = self.array(&lambda.body);
        let result = self.function(lambda, name, &params, body, &mut sizes);
        self.scope = outer;
        result
    }

    /// Binds the names of a function to parameters; gives those.
    fn declare(
        &mut self,
        lambda: &Lambda,
        bound: &[(Symbol, Bound)],
        sizes: &mut SizeNames,
    ) -> Vec<(Name, Ty)> {
        let mut named_sizes: FxHashMap<Symbol, Size> = FxHashMap::default();
        let mut params = Vec::new();
        for (symbol, bound) in bound {
            let known = lambda.params.iter().find(|it| it.0.sym == *symbol);
            let mut arrays = Vec::new();
            bound.arrays(&mut arrays);
            let mut own = Vec::new();
            for input in arrays {
                let name = self.scope.taken.fresh(&readable(symbol.as_str()));
                let cell = known.map(|it| &it.1).filter(|_| matches!(bound, Bound::Array(_)));
                let shape = self.cell(cell, input.cell, &mut named_sizes, sizes);
                let ty = Ty { elem: input.ty.elem, shape };
                let place = known.map_or(lambda.span, |it| it.0.span);
                params.push((named(&name, place), ty.clone()));
                own.push(Binding { code: BindingCode::Name(name), ty, cell: input.cell });
            }
            let bound = bound.replaced(&mut own.into_iter());
            self.scope.names.push((*symbol, bound));
        }
        params
    }

    /// The sizes of a cell.
    fn cell(
        &mut self,
        cell: Option<&Cell>,
        rank: usize,
        named_sizes: &mut FxHashMap<Symbol, Size>,
        names: &mut SizeNames,
    ) -> Vec<Size> {
        let dims = cell.map_or(&[][..], |it| &it.dims);
        (0..rank)
            .map(|at| match dims.get(at) {
                Some(index) => self.index(index, named_sizes, names),
                None => self.sizes.fresh(),
            })
            .collect()
    }

    fn index(
        &mut self,
        index: &Index,
        named_sizes: &mut FxHashMap<Symbol, Size>,
        names: &mut SizeNames,
    ) -> Size {
        match index {
            Index::Any => self.sizes.fresh(),
            Index::Number(value) => Size::number(*value),
            Index::Name(name) => {
                if let Some(size) = named_sizes.get(name) {
                    return size.clone();
                }
                let size = self.sizes.fresh();
                if let Size::Sum(terms, _) = &size
                    && let [(var, _)] = terms[..]
                {
                    names.names.insert(var, readable(name.as_str()));
                }
                named_sizes.insert(*name, size.clone());
                size
            }
            Index::Sum(parts) => parts.iter().fold(Size::number(0), |sum, part| {
                let part = self.index(part, named_sizes, names);
                sum.plus(&part, 1)
            }),
        }
    }

    /// Adds the Einlang function; gives the type of its result.
    fn function(
        &mut self,
        lambda: &Lambda,
        name: &str,
        params: &[(Name, Ty)],
        body: Array,
        sizes: &mut SizeNames,
    ) -> Ty {
        let mut typed = Vec::new();
        let mut generics = Vec::new();
        for (param, ty) in params {
            let written = self.type_of(ty, &mut generics, sizes, param.span);
            typed.push((*param, Some(written)));
        }
        let shape: Vec<Size> = body.ty.shape.iter().map(|it| self.sizes.resolve(it)).collect();
        let result = Ty { elem: body.ty.elem, shape };
        let known = result.shape.iter().all(|size| match size {
            Size::Sum(terms, _) => terms.iter().all(|it| sizes.names.contains_key(&it.0)),
            Size::Opaque => false,
        });
        let place = lambda.body.span;
        let ret = (known && generics.is_empty() && result.elem != Elem::Unknown)
            .then(|| self.type_of(&result, &mut Vec::new(), sizes, place));
        let name = named(name, lambda.span);
        let item = self.b.function(name, generics, typed, ret, body.code, lambda.span);
        self.calls.add(item);
        result
    }

    fn type_of(
        &mut self,
        ty: &Ty,
        generics: &mut Vec<Name>,
        sizes: &mut SizeNames,
        span: Span,
    ) -> TypeId {
        let elem = if ty.elem == Elem::Unknown {
            let letter = char::from(b'A' + u8::try_from(generics.len() % 26).unwrap_or(0));
            let name = named(&letter.to_string(), span);
            generics.push(name);
            self.b.named_type(name.sym.as_str(), span)
        } else {
            self.b.scalar(ty.elem, span)
        };
        let dims = ty.shape.iter().map(|it| self.size(it, sizes, span)).collect();
        self.b.array_type(elem, dims, span)
    }

    /// `?n + 1`
    fn size(&mut self, size: &Size, names: &mut SizeNames, span: Span) -> ExprId {
        let Size::Sum(terms, number) = self.sizes.resolve(size) else {
            return self.b.expr(ExprKind::Hole, span);
        };
        let mut sum: Option<ExprId> = None;
        for (var, factor) in terms {
            let name = names.of(var);
            let mut term = self.b.expr(ExprKind::Size(named(&name, span)), span);
            if factor != 1 {
                let factor = self.b.int(factor, span);
                term = self.b.binary(BinaryOp::Mul, factor, term, span);
            }
            sum = Some(match sum {
                Some(sum) => self.b.binary(BinaryOp::Add, sum, term, span),
                None => term,
            });
        }
        match sum {
            None => self.b.int(number, span),
            Some(sum) if number == 0 => sum,
            Some(sum) => {
                let op = if number < 0 { BinaryOp::Sub } else { BinaryOp::Add };
                let number = self.b.int(number.saturating_abs(), span);
                self.b.binary(op, sum, number, span)
            }
        }
    }

    /// Translates a function that is never called for elements of any type.
    pub(super) fn any_instance(&mut self, lambda: &Lambda) {
        self.scope = self.new_scope();
        let mut bound = Vec::new();
        for (name, cell) in &lambda.params {
            let rank = if cell.rest { cell.dims.len().max(1) } else { cell.dims.len() };
            let shape = (0..rank).map(|_| self.sizes.fresh()).collect();
            let ty = Ty { elem: cell.elem.unwrap_or(Elem::Unknown), shape };
            let code = BindingCode::Name(readable(name.sym.as_str()));
            bound.push((name.sym, Bound::Array(Binding { code, ty, cell: rank })));
        }
        let key = format!("any#{}", lambda.id);
        self.make_instance(lambda, &bound, &key, lambda.span);
    }
}

impl SizeNames {
    fn of(&mut self, var: Var) -> String {
        if let Some(name) = self.names.get(&var) {
            return name.clone();
        }
        loop {
            let name = match ["n", "m", "k", "l", "p", "q"].get(self.next) {
                Some(name) => (*name).to_owned(),
                None => format!("n{}", self.next),
            };
            self.next += 1;
            if self.names.values().all(|it| *it != name) {
                self.names.insert(var, name.clone());
                return name;
            }
        }
    }
}
