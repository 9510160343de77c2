//! Forms to an Einlang tree.

use super::free::{free, is_called};
use super::prim::{Prim, RESERVED, array};
use super::tree::{Form, Kind, Lambda, Node};
use super::types::{
    Array, Binding, BindingCode, Bound, Function, FunctionCode, Functions, Ty, Val,
};
use crate::ast::{Ast, ExprKind, StmtId};
use crate::notation::Elem;
use crate::notation::build::{Builder, named};
use crate::notation::calls::Calls;
use crate::notation::names::{Taken, readable};
use crate::notation::size::{Size, Sizes};
use ein_base::{Code, Diagnostic, FileId, Span, Symbol};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The Einlang tree of a program.
pub(super) fn translate(file: FileId, program: &[Form], diagnostics: &mut Vec<Diagnostic>) -> Ast {
    let mut translator = Translator {
        b: Builder::new(file),
        sizes: Sizes::default(),
        globals: FxHashMap::default(),
        user_names: Taken::default(),
        taken: Taken::default(),
        ops: BTreeSet::new(),
        maths: BTreeSet::new(),
        arrays: BTreeSet::new(),
        instances: FxHashMap::default(),
        calls: Calls::default(),
        scope: Scope::default(),
        function_names: Vec::new(),
    };
    translator.program(program);
    diagnostics.append(&mut translator.calls.said());
    translator.b.ast
}

/// The state of one translation; the files of this module add methods to it.
pub(super) struct Translator {
    pub(super) b: Builder,
    pub(super) sizes: Sizes,
    /// What is defined at top level.
    pub(super) globals: FxHashMap<Symbol, Bound>,
    /// Names of definitions, which library functions must not hide.
    user_names: Taken,
    /// Names at top level.
    pub(super) taken: Taken,
    ops: BTreeSet<&'static str>,
    maths: BTreeSet<&'static str>,
    arrays: BTreeSet<&'static str>,
    pub(super) instances: FxHashMap<String, super::instance::Instance>,
    pub(super) calls: Calls,
    pub(super) scope: Scope,
    /// Functions of the program, which locals must not hide.
    function_names: Vec<String>,
}

/// The names of one Einlang function.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) names: Vec<(Symbol, Bound)>,
    pub(super) taken: Taken,
}

impl Default for Scope {
    fn default() -> Self {
        let mut taken = Taken::default();
        RESERVED.iter().chain(&["each", "rotated"]).for_each(|it| taken.reserve(it));
        Self { names: Vec::new(), taken }
    }
}

impl Translator {
    /// Reports a mistake, with what is to be said at its place and what would make it right.
    pub(super) fn report(
        &mut self,
        code: Code,
        span: Span,
        message: impl Into<String>,
        here: &str,
        help: &str,
    ) {
        self.calls.say(Diagnostic::new(code, span, message).here(here).help(help));
    }

    /// The path of a function of `std::ops`.
    pub(super) fn op(&mut self, name: &'static str) -> String {
        if self.user_names.has(name) {
            return format!("std::ops::{name}");
        }
        self.ops.insert(name);
        name.to_owned()
    }

    /// The path of a function of `std::math`.
    pub(super) fn math(&mut self, name: &'static str) -> String {
        if self.user_names.has(name) {
            return format!("std::math::{name}");
        }
        self.maths.insert(name);
        name.to_owned()
    }

    /// The path of a function of `std::array`.
    pub(super) fn array_function(&mut self, name: &'static str) -> String {
        if self.user_names.has(name) {
            return format!("std::array::{name}");
        }
        self.arrays.insert(name);
        name.to_owned()
    }

    /// A scope in which no local hides a function.
    pub(super) fn new_scope(&self) -> Scope {
        let mut scope = Scope::default();
        self.function_names.iter().for_each(|it| scope.taken.reserve(it));
        scope
    }

    fn program(&mut self, program: &[Form]) {
        RESERVED.iter().for_each(|it| self.taken.reserve(it));
        for form in program {
            if let Form::Define(name, value, _) = form {
                let text = readable(name.sym.as_str());
                self.user_names.reserve(&text);
                if let Kind::Lambda(lambda) = &value.kind {
                    let function = Function {
                        code: FunctionCode::Lambda(lambda.clone()),
                        captured: Vec::new(),
                    };
                    let functions = Functions { list: vec![function], array: false };
                    self.globals.insert(name.sym, Bound::Functions(functions));
                    self.function_names.push(text);
                } else {
                    self.taken.reserve(&text);
                }
            }
        }
        let mut stmts = Vec::new();
        let mut results = Taken::default();
        for form in program {
            let made = self.form(form, &mut results);
            stmts.append(&mut self.calls.items());
            stmts.extend(made);
        }
        self.unused(program);
        stmts.append(&mut self.calls.items());
        let start = Span::new(self.b.ast.file, 0, 0);
        let mut uses = Vec::new();
        for (prefix, names) in
            [("std::array", &self.arrays), ("std::math", &self.maths), ("std::ops", &self.ops)]
        {
            if !names.is_empty() {
                let names: Vec<&str> = names.iter().copied().collect();
                uses.push(self.b.use_(prefix, &names, start));
            }
        }
        uses.append(&mut stmts);
        self.b.ast.stmts = uses;
    }

    fn form(&mut self, form: &Form, results: &mut Taken) -> Option<StmtId> {
        self.scope = self.new_scope();
        let (name, value, span) = match form {
            Form::Define(name, value, span) => {
                if matches!(value.kind, Kind::Lambda(_)) {
                    return None;
                }
                (*name, value, *span)
            }
            Form::Value(value) => (named(&results.fresh("result"), value.span), value, value.span),
        };
        match self.value(value) {
            Val::Array(it) => {
                let text = readable(name.sym.as_str());
                let cell = it.ty.rank();
                let code = BindingCode::Name(text.clone());
                self.globals.insert(name.sym, Bound::Array(Binding { code, ty: it.ty, cell }));
                Some(self.b.let_(named(&text, name.span), it.code, span))
            }
            Val::Functions(it) => {
                self.globals.insert(name.sym, Bound::Functions(it));
                None
            }
        }
    }

    /// Functions that are never called are translated for elements of any type.
    fn unused(&mut self, program: &[Form]) {
        let called: BTreeSet<usize> = self.instances.values().map(|it| it.lambda).collect();
        for form in program {
            let Form::Define(_, value, _) = form else { continue };
            let Kind::Lambda(lambda) = &value.kind else { continue };
            let plain = !lambda.params.iter().any(|it| is_called(it.0.sym, &lambda.body));
            if !called.contains(&lambda.id) && plain && !matches!(lambda.body.kind, Kind::Lambda(_))
            {
                self.any_instance(lambda);
            }
        }
    }

    /// An expression that must be an array.
    pub(super) fn array(&mut self, node: &Node) -> Array {
        let value = self.value(node);
        self.expect_array(value, node.span)
    }

    pub(super) fn expect_array(&mut self, value: Val, span: Span) -> Array {
        match value {
            Val::Array(it) => it,
            Val::Functions(_) => {
                let message = "a value is wanted here, not a function";
                let help = "call it: `(f x)`";
                self.report(Code::E0501, span, message, "a function", help);
                self.broken(span)
            }
        }
    }

    pub(super) fn broken(&mut self, span: Span) -> Array {
        let code = self.b.error(span);
        Array { code, ty: Ty::scalar(Elem::Unknown), items: None }
    }

    /// The value of an expression.
    pub(super) fn value(&mut self, node: &Node) -> Val {
        let span = node.span;
        match &node.kind {
            Kind::Int(value) => array(self.b.int(*value, span), Ty::scalar(Elem::Int)),
            Kind::Float(text) => array(self.b.float(text, span), Ty::scalar(Elem::Float)),
            Kind::Bool(value) => {
                array(self.b.expr(ExprKind::Bool(*value), span), Ty::scalar(Elem::Bool))
            }
            Kind::Name(name) => self.name(*name, span),
            Kind::Array(items) => self.array_literal(items, span),
            Kind::Apply(callee, args) => self.apply(callee, args, span),
            Kind::Lambda(lambda) => self.lambda(lambda),
            Kind::Let(bindings, body) => self.let_(bindings, body, span),
            Kind::If(parts) => self.if_(parts, span),
            Kind::Error => Val::Array(self.broken(span)),
        }
    }

    fn lookup(&self, name: Symbol) -> Option<Bound> {
        let local = self.scope.names.iter().rev().find(|it| it.0 == name);
        local.map(|it| &it.1).or_else(|| self.globals.get(&name)).cloned()
    }

    fn name(&mut self, name: Symbol, span: Span) -> Val {
        match self.lookup(name) {
            Some(Bound::Array(it)) => {
                let code = self.binding_code(&it.code, span);
                array(code, it.ty)
            }
            Some(Bound::Functions(it)) => Val::Functions(it),
            None => match Prim::find(name.as_str()) {
                Some(prim) => {
                    let code = FunctionCode::Prim(prim);
                    let list = vec![Function { code, captured: Vec::new() }];
                    Val::Functions(Functions { list, array: false })
                }
                // The resolver says that there is no such name.
                None => {
                    let text = readable(name.as_str());
                    array(self.b.path(&text, span), Ty::scalar(Elem::Unknown))
                }
            },
        }
    }

    pub(super) fn binding_code(&mut self, code: &BindingCode, span: Span) -> crate::ast::ExprId {
        match code {
            BindingCode::Name(name) => self.b.path(name, span),
            BindingCode::Value(value) => *value,
        }
    }

    fn array_literal(&mut self, items: &[Node], span: Span) -> Val {
        let values: Vec<Val> = items.iter().map(|it| self.value(it)).collect();
        if !values.is_empty() && values.iter().all(|it| matches!(it, Val::Functions(_))) {
            let list = values
                .into_iter()
                .flat_map(|it| match it {
                    Val::Functions(it) => it.list,
                    Val::Array(_) => Vec::new(),
                })
                .collect();
            return Val::Functions(Functions { list, array: true });
        }
        let mut arrays = Vec::with_capacity(values.len());
        for (value, node) in values.into_iter().zip(items) {
            arrays.push(self.expect_array(value, node.span));
        }
        self.collect(arrays, span)
    }

    /// An array of cells.
    pub(super) fn collect(&mut self, cells: Vec<Array>, span: Span) -> Val {
        let elem = cells.iter().fold(Elem::Unknown, |elem, it| elem.meet(it.ty.elem));
        let frames: Vec<&[Size]> = cells.iter().map(|it| &it.ty.shape[..]).collect();
        let mut shape = vec![Size::number(i64::try_from(cells.len()).unwrap_or(i64::MAX))];
        shape.extend(self.agree(&frames));
        let items: Vec<_> = cells.into_iter().map(|it| self.cast(it, elem).code).collect();
        let code = self.b.expr(ExprKind::Array(items.clone().into()), span);
        Val::Array(Array { code, ty: Ty { elem, shape }, items: Some(items) })
    }

    fn lambda(&mut self, lambda: &Rc<Lambda>) -> Val {
        let captured = self.capture(lambda);
        let code = FunctionCode::Lambda(lambda.clone());
        Val::Functions(Functions { list: vec![Function { code, captured }], array: false })
    }

    /// The local names that a function takes from around it.
    fn capture(&self, lambda: &Lambda) -> Vec<(Symbol, Bound)> {
        free(lambda)
            .into_iter()
            .filter_map(|name| {
                let local = self.scope.names.iter().rev().find(|it| it.0 == name)?;
                Some((name, local.1.clone()))
            })
            .collect()
    }

    fn let_(&mut self, bindings: &[(ein_base::Name, Node)], body: &Node, span: Span) -> Val {
        let values: Vec<Val> = bindings.iter().map(|it| self.value(&it.1)).collect();
        let depth = self.scope.names.len();
        let mut stmts = Vec::new();
        for ((name, node), value) in bindings.iter().zip(values) {
            let bound = match value {
                Val::Functions(it) => Bound::Functions(it),
                Val::Array(it) => {
                    let text = self.scope.taken.fresh(&readable(name.sym.as_str()));
                    let place = name.span.to(node.span);
                    stmts.push(self.b.let_(named(&text, name.span), it.code, place));
                    let cell = it.ty.rank();
                    Bound::Array(Binding { code: BindingCode::Name(text), ty: it.ty, cell })
                }
            };
            self.scope.names.push((name.sym, bound));
        }
        let value = self.value(body);
        self.scope.names.truncate(depth);
        if stmts.is_empty() {
            return value;
        }
        let value = self.expect_array(value, body.span);
        let code = self.b.block(stmts, value.code, span);
        array(code, value.ty)
    }

    fn if_(&mut self, parts: &[Node; 3], span: Span) -> Val {
        let [cond, then, otherwise] = parts;
        let cond = self.array(cond);
        let (a, b) = (self.array(then), self.array(otherwise));
        let elem = a.ty.elem.meet(b.ty.elem);
        // A recursive call is not known while its function is translated.
        let shape = if a.ty.elem == Elem::Unknown { &b.ty.shape } else { &a.ty.shape };
        let shape: Vec<Size> = shape
            .iter()
            .enumerate()
            .map(|(at, size)| match (a.ty.shape.get(at), b.ty.shape.get(at)) {
                (Some(x), Some(y)) if self.sizes.resolve(x) != self.sizes.resolve(y) => {
                    Size::Opaque
                }
                _ => size.clone(),
            })
            .collect();
        let (a, b) = (self.cast(a, elem), self.cast(b, elem));
        let code = self.b.if_else(cond.code, a.code, b.code, span);
        array(code, Ty { elem, shape })
    }
}
