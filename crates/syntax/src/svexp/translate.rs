//! Trees to an Einlang tree.

use super::axes::{Code, Val, described, merged};
use super::tree::{Def, Kind, Node, Op, Program};
use crate::ast::{Ast, BinaryOp, ExprId, ExprKind, StmtId, StmtKind};
use crate::notation::Elem;
use crate::notation::build::{Builder, named};
use crate::notation::calls::Calls;
use crate::notation::names::{Taken, readable};
use crate::notation::size::{Size, Sizes, Var};
use ein_base::{Code as ErrorCode, Diagnostic, FileId, Span, Symbol};
use rustc_hash::FxHashMap;

/// Names that translated programs refer to.
const RESERVED: &[&str] = &[
    "first", "rest", "last", "init", "take", "drop", "join", "sum", "prod", "min", "max", "all",
    "any", "len", "result",
];

/// The Einlang tree of a program.
pub(super) fn translate(file: FileId, program: &Program, out: &mut Vec<Diagnostic>) -> Ast {
    let mut taken = Taken::default();
    RESERVED.iter().for_each(|it| taken.reserve(it));
    let mut translator = Translator {
        b: Builder::new(file),
        functions: &program.functions,
        sizes: Sizes::default(),
        sources: FxHashMap::default(),
        taken,
        instances: FxHashMap::default(),
        calls: Calls::default(),
        scope: Scope::default(),
    };
    if let Some(body) = &program.body {
        translator.body(body);
    }
    out.append(&mut translator.calls.said());
    translator.b.ast
}

/// The state of one translation; the files of this module add methods to it.
pub(super) struct Translator<'a> {
    pub(super) b: Builder,
    functions: &'a [Def],
    pub(super) sizes: Sizes,
    /// Where a size can be read: the name of an array, and the place of the axis.
    pub(super) sources: FxHashMap<Var, (String, usize)>,
    /// Names at top level.
    taken: Taken,
    instances: FxHashMap<String, Instance>,
    calls: Calls,
    pub(super) scope: Scope,
}

/// The names of one Einlang function.
#[derive(Debug)]
pub(super) struct Scope {
    names: Vec<(Symbol, Val)>,
    pub(super) taken: Taken,
    /// The index variables of outer axes.
    pub(super) indices: FxHashMap<u32, String>,
    /// The statements of the block that is written.
    pub(super) stmts: Vec<StmtId>,
    /// How many projections are around.
    pub(super) projections: usize,
}

impl Default for Scope {
    fn default() -> Self {
        let mut taken = Taken::default();
        RESERVED.iter().for_each(|it| taken.reserve(it));
        Self {
            names: Vec::new(),
            taken,
            indices: FxHashMap::default(),
            stmts: Vec::new(),
            projections: 0,
        }
    }
}

/// A function as it was translated for some axes.
#[derive(Clone, Debug)]
struct Instance {
    name: String,
    params: Vec<Vec<Size>>,
    /// `None` while it is translated for the first time.
    result: Option<Val>,
}

impl Translator<'_> {
    /// Reports a mistake, with what is to be said at its place and what would make it right.
    pub(super) fn report(
        &mut self,
        code: ErrorCode,
        span: Span,
        message: impl Into<String>,
        here: &str,
        help: &str,
    ) {
        self.calls.say(Diagnostic::new(code, span, message).here(here).help(help));
    }

    /// A value that says nothing, after an error.
    pub(super) fn broken(&mut self, span: Span) -> Val {
        let code = self.b.error(span);
        Val { unknown: true, ..Val::scalar(code, Elem::Unknown) }
    }

    /// What stands for a value that is wrong: it is looked at by itself, and nothing follows from it.
    pub(super) fn spoiled(&mut self, value: Val, span: Span) -> Val {
        let code = self.written(&value, span);
        let alone = self.b.stmt(StmtKind::Expr(code), span);
        let error = self.b.error(span);
        let code = self.b.block(vec![alone], error, span);
        Val { outer: value.outer, unknown: true, ..Val::scalar(code, Elem::Unknown) }
    }

    /// A scope in which no local hides a function.
    fn new_scope(&self) -> Scope {
        let mut scope = Scope::default();
        for def in self.functions {
            scope.taken.reserve(&readable(def.name.sym.as_str()));
        }
        scope
    }

    fn body(&mut self, body: &Node) {
        self.scope = self.new_scope();
        let value = self.value(body);
        let value = self.no_outer(value, body.span, "the value of the program");
        let name = named("result", body.span);
        let last = match &value.code {
            Code::Projected(axes, inside) if self.scope.stmts.is_empty() => {
                let slots = axes.iter().map(|it| (it.index, it.domain)).collect();
                self.b.clause(name, slots, *inside, body.span)
            }
            // What is computed on the way is no output.
            _ => {
                let tail = self.written(&value, body.span);
                let stmts = std::mem::take(&mut self.scope.stmts);
                let code =
                    if stmts.is_empty() { tail } else { self.b.block(stmts, tail, body.span) };
                self.b.let_(name, code, body.span)
            }
        };
        let mut stmts = self.calls.items();
        stmts.push(last);
        self.b.ast.stmts = stmts;
    }

    fn no_outer(&mut self, value: Val, span: Span, what: &str) -> Val {
        let Some((axis, _)) = value.outer.first() else { return value };
        let message = format!("{what} still is typical along axis {axis}");
        let help = format!("put it along an inner axis: `Proj {axis} 0 …`");
        self.report(ErrorCode::E0405, span, message, "not one value", &help);
        self.broken(span)
    }

    /// The value of an expression.
    pub(super) fn value(&mut self, node: &Node) -> Val {
        let span = node.span;
        match &node.kind {
            Kind::Int(value) => Val::scalar(self.b.int(*value, span), Elem::Int),
            Kind::Float(text) => Val::scalar(self.b.float(text, span), Elem::Float),
            Kind::Bool(value) => Val::scalar(self.b.expr(ExprKind::Bool(*value), span), Elem::Bool),
            Kind::Name(name) => self.name(*name, span),
            Kind::Array(items) => self.array(items, span),
            Kind::Call(place, args) => self.call(*place, args, span),
            Kind::Binary(op, pair) => self.binary(*op, pair, span),
            Kind::If(parts) => self.if_(parts, span),
            Kind::Let(bindings, body) => self.let_(bindings, body),
            Kind::Typ(inner, outer, value) => self.typ(*inner, *outer, value, span),
            Kind::Proj(outer, inner, value) => self.proj(*outer, *inner, value, span),
            Kind::Extr(piece, axis, value) => self.extr(piece, *axis, value, span),
            Kind::Join(axis, pair) => self.join(*axis, pair, span),
            Kind::Red(op, axis, value) => self.red(*op, *axis, value, span),
            Kind::Part(piece, axis, pair) => self.part(piece, *axis, pair, span),
            Kind::NumOf(axis, pair) => self.num_of(*axis, pair, span),
            Kind::Error => self.broken(span),
        }
    }

    fn name(&mut self, name: Symbol, span: Span) -> Val {
        let found = self.scope.names.iter().rev().find(|it| it.0 == name).map(|it| it.1.clone());
        match found {
            Some(mut value) => {
                if let Code::Plain(code) = value.code
                    && let ExprKind::Path(path) = &self.b.ast.expr[code].kind
                {
                    let kind = ExprKind::Path(path.clone());
                    value.code = Code::Plain(self.b.expr(kind, span));
                }
                value
            }
            // The resolver says that there is no such name.
            None => {
                let code = self.b.path(&readable(name.as_str()), span);
                Val { unknown: true, ..Val::scalar(code, Elem::Unknown) }
            }
        }
    }

    /// The value with elements of this type, if they are integers and floats are asked for.
    pub(super) fn cast(&mut self, value: Val, elem: Elem, span: Span) -> Val {
        if elem != Elem::Float || value.elem != Elem::Int {
            return value;
        }
        let code = self.written(&value, span);
        let code = self.b.floats(code);
        Val { code: Code::Plain(code), elem, ..value }
    }

    /// `[a b]` along axis 0; nested ones are rows.
    fn array(&mut self, items: &[Node], span: Span) -> Val {
        let mut values = Vec::new();
        for item in items {
            let mut value = self.value(item);
            if !value.inner.is_empty() && !matches!(item.kind, Kind::Array(_)) {
                self.report(
                    ErrorCode::E0405,
                    item.span,
                    format!("an element of a vector is a scalar, but {}", described(&value)),
                    "not a scalar",
                    "join vectors instead: `Join 0 … …`",
                );
                value = self.spoiled(value, item.span);
            }
            values.push(value);
        }
        let elem = values.iter().fold(Elem::Unknown, |elem, it| elem.meet(it.elem));
        let count = i64::try_from(values.len()).unwrap_or(i64::MAX);
        let mut inner = vec![(0, Size::number(count))];
        if let Some(first) = values.first() {
            inner.extend(first.inner.iter().map(|(axis, size)| (axis + 1, size.clone())));
        }
        let outer = merged(&values.iter().collect::<Vec<_>>());
        let mut codes = Vec::new();
        for value in values {
            let value = self.cast(value, elem, span);
            codes.push(self.written(&value, span));
        }
        let code = Code::Plain(self.b.expr(ExprKind::Array(codes.into()), span));
        Val { code, elem, inner, outer, unknown: false }
    }

    fn binary(&mut self, op: Op, pair: &[Node; 2], span: Span) -> Val {
        let operands = [self.value(&pair[0]), self.value(&pair[1])];
        let mut nodes = pair.iter();
        let [a, b] = operands.map(|value| {
            let (Some((axis, _)), Some(node)) = (value.inner.first(), nodes.next()) else {
                return value;
            };
            let message = format!("arithmetic is on scalars, but {}", described(&value));
            let help = format!("take its typical components: `Typ {axis} 7 …`");
            self.report(ErrorCode::E0408, node.span, message, "not a scalar", &help);
            self.spoiled(value, node.span)
        });
        let elem = a.elem.meet(b.elem);
        let outer = merged(&[&a, &b]);
        let (a, b) = (self.cast(a, elem, span), self.cast(b, elem, span));
        let (x, y) = (self.written(&a, span), self.written(&b, span));
        let (op, elem) = match op {
            Op::Add => (BinaryOp::Add, elem),
            Op::Sub => (BinaryOp::Sub, elem),
            Op::Mul => (BinaryOp::Mul, elem),
            Op::Div => (BinaryOp::Div, elem),
            Op::Lt => (BinaryOp::Lt, Elem::Bool),
            Op::Gt => (BinaryOp::Gt, Elem::Bool),
            Op::Le => (BinaryOp::Le, Elem::Bool),
            Op::Ge => (BinaryOp::Ge, Elem::Bool),
            Op::Eq => (BinaryOp::Eq, Elem::Bool),
            Op::And => (BinaryOp::And, Elem::Bool),
            Op::Or => (BinaryOp::Or, Elem::Bool),
            Op::Min | Op::Max => {
                let path = if op == Op::Min { "min" } else { "max" };
                let code = self.b.call_path(path, vec![x, y], span);
                return Val { outer, ..Val::scalar(code, elem) };
            }
        };
        let code = self.b.binary(op, x, y, span);
        Val { outer, ..Val::scalar(code, elem) }
    }

    /// A branch: what it computes on the way stays in it.
    fn branch(&mut self, node: &Node) -> (Val, Vec<StmtId>) {
        let outside = std::mem::take(&mut self.scope.stmts);
        let value = self.value(node);
        let code = self.written(&value, node.span);
        let stmts = std::mem::replace(&mut self.scope.stmts, outside);
        (Val { code: Code::Plain(code), ..value }, stmts)
    }

    fn if_(&mut self, parts: &[Node; 3], span: Span) -> Val {
        let mut cond = self.value(&parts[0]);
        if !cond.inner.is_empty() {
            let message = format!("a condition is a scalar, but {}", described(&cond));
            let help = "take its typical components: `Typ 0 7 …`";
            self.report(ErrorCode::E0504, parts[0].span, message, "not a scalar", help);
            cond = self.spoiled(cond, parts[0].span);
        }
        let (mut a, before_a) = self.branch(&parts[1]);
        let (mut b, before_b) = self.branch(&parts[2]);
        if !a.same_axes(&b, None) {
            let message =
                format!("the branches differ in their axes: {}, {}", described(&a), described(&b));
            let help = "give both branches the same axes";
            self.report(ErrorCode::E0405, span, message, "one value, one set of axes", help);
            (a, b) = (self.spoiled(a, parts[1].span), self.spoiled(b, parts[2].span));
        }
        let elem = a.elem.meet(b.elem);
        let outer = merged(&[&cond, &a, &b]);
        let (a, b) = (self.cast(a, elem, span), self.cast(b, elem, span));
        let known = if a.unknown { &b } else { &a };
        let inner = known
            .inner
            .iter()
            .map(|(axis, size)| {
                let other = b.position(*axis).map(|at| &b.inner[at].1);
                match other {
                    Some(other) if *size == Size::Opaque => (*axis, other.clone()),
                    _ => (*axis, size.clone()),
                }
            })
            .collect();
        let unknown = a.unknown && b.unknown;
        let c = self.written(&cond, span);
        let (x, y) = (self.written(&a, span), self.written(&b, span));
        let then = self.b.block(before_a, x, parts[1].span);
        let otherwise = self.b.block(before_b, y, parts[2].span);
        let code = Code::Plain(self.b.if_else(c, then, otherwise, span));
        Val { code, elem, inner, outer, unknown }
    }

    fn let_(&mut self, bindings: &[(ein_base::Name, Node)], body: &Node) -> Val {
        let depth = self.scope.names.len();
        for (name, node) in bindings {
            let value = self.value(node);
            // What is typical along an axis has meaning only where that axis is projected.
            let value = if value.outer.is_empty() {
                self.stated(value, name.sym.as_str(), node.span)
            } else {
                value
            };
            self.scope.names.push((name.sym, value));
        }
        let value = self.value(body);
        self.scope.names.truncate(depth);
        value
    }

    fn call(&mut self, place: usize, args: &[Node], span: Span) -> Val {
        let Some(def) = self.functions.get(place) else { return self.broken(span) };
        let args: Vec<Val> = args.iter().map(|it| self.value(it)).collect();
        let mut key = format!("{place}");
        for arg in &args {
            let axes: Vec<u32> = arg.inner.iter().map(|it| it.0).collect();
            key.push_str(&format!(" {:?}{axes:?}", arg.elem));
        }
        if !self.instances.contains_key(&key) && !self.instance(def, &args, &key, span) {
            return self.broken(span);
        }
        let Some(instance) = self.instances.get(&key).cloned() else { return self.broken(span) };
        if instance.result.is_none() {
            self.calls.asked(&key);
        }
        let mut own = FxHashMap::default();
        for (cell, arg) in instance.params.iter().zip(&args) {
            for (size, (_, given)) in cell.iter().zip(&arg.inner) {
                if let Size::Sum(terms, 0) = size
                    && let [(var, 1)] = terms[..]
                {
                    own.insert(var, given.clone());
                }
            }
        }
        let outer = merged(&args.iter().collect::<Vec<_>>());
        let codes: Vec<ExprId> = args.iter().map(|it| self.written(it, span)).collect();
        let code = Code::Plain(self.b.call_path(&instance.name, codes, span));
        let Some(result) = instance.result else {
            let unknown = Val::scalar(self.b.error(span), Elem::Unknown);
            return Val { code, outer, unknown: true, ..unknown };
        };
        let inner = result
            .inner
            .iter()
            .map(|(axis, size)| (*axis, self.sizes.instantiate(size, &mut own)))
            .collect();
        let value = Val { code, elem: result.elem, inner, outer, unknown: result.unknown };
        if self.scope.projections > 0 && value.outer.is_empty() {
            // Once, not for each component.
            return self.stated(value, &format!("{}_value", def.name.sym), span);
        }
        value
    }

    fn instance(&mut self, def: &Def, args: &[Val], key: &str, span: Span) -> bool {
        if !self.calls.begin(key) {
            let help = "let the function call itself with values of the same axes";
            let message = format!("too many functions follow from this call of `{}`", def.name);
            self.report(ErrorCode::E0518, span, message, "each call needs another one", help);
            return false;
        }
        let base = readable(def.name.sym.as_str());
        let name = self.calls.name(key, || self.taken.fresh(&base));
        let mut result = self.function(def, args, key, &name, None);
        if let Some(stale) = self.calls.known() {
            // Now the axes of its result are known.
            stale.iter().for_each(|it| _ = self.instances.remove(it));
            result = self.function(def, args, key, &name, Some(result));
        }
        self.calls.end();
        if let Some(instance) = self.instances.get_mut(key) {
            instance.result = Some(result);
        }
        true
    }

    fn function(
        &mut self,
        def: &Def,
        args: &[Val],
        key: &str,
        name: &str,
        assumed: Option<Val>,
    ) -> Val {
        let inside = self.new_scope();
        let outside = std::mem::replace(&mut self.scope, inside);
        let mut params = Vec::new();
        let mut cells = Vec::new();
        for (param, arg) in def.params.iter().zip(args) {
            let text = self.scope.taken.fresh(&readable(param.sym.as_str()));
            let inner: Vec<(u32, Size)> = arg
                .inner
                .iter()
                .enumerate()
                .map(|(at, (axis, _))| (*axis, self.source(&text, at)))
                .collect();
            cells.push(inner.iter().map(|it| it.1.clone()).collect());
            let code = Code::Plain(self.b.path(&text, param.span));
            let value =
                Val { code, elem: arg.elem, inner, outer: Vec::new(), unknown: arg.unknown };
            self.scope.names.push((param.sym, value));
            params.push((named(&text, param.span), None));
        }
        let instance = Instance { name: name.to_owned(), params: cells, result: assumed };
        self.instances.insert(key.to_owned(), instance);
        let value = self.value(&def.body);
        let value = self.no_outer(value, def.body.span, "the result of the function");
        let tail = self.written(&value, def.body.span);
        let stmts = std::mem::take(&mut self.scope.stmts);
        let body = self.b.block(stmts, tail, def.body.span);
        let name = named(name, def.name.span);
        let item = self.b.function(name, Vec::new(), params, None, body, def.span);
        self.calls.add(item);
        self.scope = outside;
        Val { code: Code::Plain(tail), outer: Vec::new(), ..value }
    }
}
