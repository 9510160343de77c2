//! Calls: functions of the program, closures, and the built-ins that the generator uses.

use super::names::name;
use super::reduce::{self, flatten};
use super::value::V;
use super::{Brute, Result, arith, fails, unknown};
use ein_base::Symbol;
use ein_scalar::ScalarType;
use ein_syntax::ast::{Arg, BinaryOp, ExprId, ExprKind, StmtKind, TypeId, TypeKind, VariantData};
use std::rc::Rc;

/// How deep calls may nest.
const DEPTH: usize = 100;

impl Brute<'_> {
    /// `f(args)`
    pub(super) fn call(&mut self, callee: ExprId, args: &[Arg]) -> Result<V> {
        let mut values = Vec::new();
        for arg in args {
            values.push((arg.name.map(|name| name.sym), self.eval(arg.value)?));
        }
        self.apply(callee, values)
    }

    /// `x |> f` and `x |> f(a)`
    pub(super) fn pipe(&mut self, first: ExprId, callee: ExprId) -> Result<V> {
        let mut values = vec![(None, self.eval(first)?)];
        let callee = match &self.ast.expr[callee].kind {
            ExprKind::Call { callee, args } => {
                for arg in args {
                    values.push((arg.name.map(|name| name.sym), self.eval(arg.value)?));
                }
                *callee
            }
            _ => callee,
        };
        self.apply(callee, values)
    }

    fn apply(&mut self, callee: ExprId, args: Vec<(Option<Symbol>, V)>) -> Result<V> {
        let ast = self.ast;
        let path: Vec<Symbol> = match &ast.expr[callee].kind {
            ExprKind::Path(path) => path.iter().map(|name| name.sym).collect(),
            _ => Vec::new(),
        };
        let known = name(ast, callee).and_then(|name| self.find(name).cloned());
        let value = match (path.as_slice(), known) {
            ([], None) => self.eval(callee)?,
            ([only], None) => {
                if let Some(stmt) = self.functions.get(only).copied() {
                    let StmtKind::Fn(function) = &ast.stmt[stmt].kind else {
                        return unknown("a function");
                    };
                    return self.call_function(function, args);
                }
                return built_in(only.as_str(), args.into_iter().map(|it| it.1).collect());
            }
            (_, Some(value)) => value,
            ([first, .., last], None) if first.as_str() == "std" => {
                return built_in(last.as_str(), args.into_iter().map(|it| it.1).collect());
            }
            ([.., kind, last], None) => return self.variant(*kind, *last, args),
        };
        match value {
            V::Closure(e, captured) => {
                let ExprKind::Closure { params, body } = &ast.expr[e].kind else {
                    return unknown("a closure");
                };
                let outside = std::mem::replace(&mut self.env, captured.to_vec());
                self.depth += 1;
                let mut result = Ok(V::Unit);
                for (param, (_, value)) in params.iter().zip(args) {
                    let want = param.ty.and_then(|ty| self.scalar_type(ty));
                    result = value
                        .settle(want)
                        .and_then(|value| self.matches(param.pat, &value))
                        .map(|_| V::Unit);
                }
                let result = result.and_then(|_| self.eval(*body));
                self.depth -= 1;
                self.env = outside;
                result
            }
            other => unknown(format!("a call of {other:?}")),
        }
    }

    fn variant(
        &mut self,
        kind: Symbol,
        which: Symbol,
        args: Vec<(Option<Symbol>, V)>,
    ) -> Result<V> {
        let types = self.ast.stmt.iter().find_map(|stmt| match &stmt.kind {
            StmtKind::Enum(it) if it.name.sym != kind => None,
            StmtKind::Enum(it) => it.variants.iter().find_map(|variant| match &variant.data {
                VariantData::Tuple(types) if variant.name.sym == which => Some(types.clone()),
                _ => None,
            }),
            _ => None,
        });
        let types = types.unwrap_or_default();
        let mut fields = Vec::new();
        for (at, (_, value)) in args.into_iter().enumerate() {
            let want = types.get(at).and_then(|ty| self.scalar_type(*ty));
            fields.push((Symbol::intern(&at.to_string()), value.settle(want)?));
        }
        Ok(V::Data(which, Rc::new(fields)))
    }

    fn call_function(
        &mut self,
        function: &ein_syntax::ast::Function,
        args: Vec<(Option<Symbol>, V)>,
    ) -> Result<V> {
        let mut given: Vec<Option<V>> = vec![None; function.params.len()];
        for (at, (named, value)) in args.into_iter().enumerate() {
            let at = match named {
                None => at,
                Some(named) => {
                    let place = function.params.iter().position(|param| {
                        matches!(&self.ast.pat[param.pat].kind,
                            ein_syntax::ast::PatKind::Bind { name, .. } if name.sym == named)
                    });
                    match place {
                        Some(place) => place,
                        None => return unknown("a named argument"),
                    }
                }
            };
            match given.get_mut(at) {
                Some(slot) => *slot = Some(value),
                None => return unknown("too many arguments"),
            }
        }
        let mut values = Vec::new();
        for (param, value) in function.params.iter().zip(given) {
            let want = param.ty.and_then(|ty| self.scalar_type(ty));
            let value = match (value, param.default) {
                (Some(value), _) => value,
                (None, Some(default)) => self.eval(default)?,
                (None, None) => return unknown("a missing argument"),
            };
            values.push(value.settle(want)?);
        }
        let ranks: Vec<Option<usize>> =
            function.params.iter().map(|param| param.ty.and_then(|ty| self.rank(ty))).collect();
        self.lifted(function, &ranks, values)
    }

    /// Calls a function once for each point of the frame of its arguments.
    fn lifted(
        &mut self,
        function: &ein_syntax::ast::Function,
        ranks: &[Option<usize>],
        args: Vec<V>,
    ) -> Result<V> {
        let over =
            |(value, rank): (&V, &Option<usize>)| rank.is_some_and(|rank| value.rank() > rank);
        let mut extent = None;
        for (value, rank) in args.iter().zip(ranks) {
            if over((value, rank)) {
                let here = value.shape()[0];
                if *extent.get_or_insert(here) != here {
                    return unknown("frames that do not agree");
                }
            }
        }
        let Some(extent) = extent else { return self.body(function, args) };
        let mut out = Vec::new();
        for at in 0..extent {
            let parts = args.iter().zip(ranks).map(|(value, rank)| {
                if over((value, rank)) { value.at(at as i64) } else { Ok(value.clone()) }
            });
            let parts = parts.collect::<Result<Vec<V>>>()?;
            out.push(self.lifted(function, ranks, parts)?);
        }
        Ok(V::list(V::agree(out)?))
    }

    fn body(&mut self, function: &ein_syntax::ast::Function, args: Vec<V>) -> Result<V> {
        if self.depth > DEPTH {
            return unknown("deep recursion");
        }
        let globals = self.globals.to_vec();
        let outside = std::mem::replace(&mut self.env, globals);
        self.depth += 1;
        let mut bound = Ok(true);
        for (param, value) in function.params.iter().zip(&args) {
            bound = bound.and(self.matches(param.pat, value));
        }
        let want = function.ret.and_then(|ty| self.scalar_type(ty));
        let result = bound.and_then(|_| self.eval(function.body)?.settle(want));
        self.depth -= 1;
        self.env = outside;
        result
    }

    /// The rank that a parameter type asks for; `None` takes everything whole.
    fn rank(&self, ty: TypeId) -> Option<usize> {
        match &self.ast.ty[ty].kind {
            TypeKind::Path { .. } => self.scalar_type(ty).map(|_| 0),
            TypeKind::Array { dims: None, .. } => Some(1),
            TypeKind::Array { dims: Some(dims), .. } => Some(dims.len()),
            _ => None,
        }
    }
}

/// A built-in, or a function of the library.
fn built_in(which: &str, args: Vec<V>) -> Result<V> {
    match (which, args.as_slice()) {
        ("print", _) => Ok(V::Unit),
        ("assert", [condition, ..]) => {
            let mut all = Vec::new();
            flatten(condition, &mut all);
            for (_, value) in all {
                if !value.truth()? {
                    return fails("an assertion");
                }
            }
            Ok(V::Unit)
        }
        ("len", [V::Arr(items)]) => Ok(V::index(items.len() as i64)),
        ("len", [V::Str(text)]) => Ok(V::index(text.chars().count() as i64)),
        ("len", [V::Tuple(items)]) => Ok(V::index(items.len() as i64)),
        ("shape", [value]) => {
            Ok(V::list(value.shape().into_iter().map(|n| V::index(n as i64)).collect()))
        }
        ("max" | "min", [a, b]) => extreme(which, a, b),
        ("sum" | "prod" | "max" | "min" | "mean" | "any" | "all", [value @ V::Arr(_)]) => {
            let mut all = Vec::new();
            flatten(value, &mut all);
            reduce::fold(which, all)
        }
        ("sqrt", [x]) => arith::map_float(x, &f64::sqrt),
        ("exp", [x]) => arith::map_float(x, &f64::exp),
        ("sin", [x]) => arith::map_float(x, &f64::sin),
        ("abs", [x]) => absolute(x),
        ("reverse", [V::Arr(items)]) => Ok(V::list(items.iter().rev().cloned().collect())),
        ("append", [V::Arr(a), V::Arr(b)]) => {
            Ok(V::list(V::agree([a.as_slice(), b.as_slice()].concat())?))
        }
        ("iota", [V::Int(n, ..)]) => {
            Ok(V::list((0..*n).map(|at| V::Int(at, ScalarType::I32, false)).collect()))
        }
        _ => unknown(format!("the function `{which}`")),
    }
}

fn extreme(which: &str, a: &V, b: &V) -> Result<V> {
    match (a, b) {
        (V::Arr(x), V::Arr(y)) if x.len() == y.len() => {
            let items = x.iter().zip(y.iter()).map(|(a, b)| extreme(which, a, b));
            Ok(V::list(items.collect::<Result<_>>()?))
        }
        (V::Arr(x), b) => {
            Ok(V::list(x.iter().map(|a| extreme(which, a, b)).collect::<Result<_>>()?))
        }
        (a, V::Arr(y)) => {
            Ok(V::list(y.iter().map(|b| extreme(which, a, b)).collect::<Result<_>>()?))
        }
        _ => {
            // Adding zero gives both the type of the pair; near ties do not matter here.
            let zero = arith::binary(BinaryOp::Mul, b, &V::Int(0, ScalarType::I32, true))?;
            let x = arith::binary(BinaryOp::Add, a, &zero)?;
            let zero = arith::binary(BinaryOp::Mul, a, &V::Int(0, ScalarType::I32, true))?;
            let y = arith::binary(BinaryOp::Add, b, &zero)?;
            let larger = match (&x, &y) {
                (V::Float(x, ..), V::Float(y, ..)) => x > y,
                (V::Int(x, ..), V::Int(y, ..)) => x > y,
                _ => return unknown("an extreme"),
            };
            Ok(if larger == (which == "max") { x } else { y })
        }
    }
}

fn absolute(x: &V) -> Result<V> {
    match x {
        V::Int(value, ..) if *value < 0 => arith::negate(x),
        V::Int(..) => Ok(x.clone()),
        V::Arr(items) => Ok(V::list(items.iter().map(absolute).collect::<Result<_>>()?)),
        x => arith::map_float(x, &f64::abs),
    }
}
