//! Functions that a condition chooses: `if flag { double } else { |x| x + 1 }`.
//!
//! Function values have no types of their own until they are called, so two of them need not agree.
//! Where each alternative is a function or closure by itself, the value is a *choice*: the number of
//! the one that was chosen and what all of them captured. A call of it chooses among calls, each with
//! the code that these arguments ask for. Where an alternative is computed, all take the signature
//! that one of them declares.

use super::instance::{Key, Source};
use super::template::Template;
use super::{Cx, error};
use crate::hir::{Arg, TypeKind};
use ein_base::{Code, Name, Span, Symbol};
use ein_ir::tensor::{Arm, Expr, ExprKind, Signature, Type, VarId};
use ein_scalar::BinaryOp;

impl Cx<'_> {
    /// The two branches of an `if` as a choice between functions, if they are that.
    pub(super) fn choose_function(
        &mut self,
        then: &Expr,
        otherwise: &Expr,
        cond: &Expr,
        span: Span,
    ) -> Option<Expr> {
        let values = [then, otherwise];
        if !self.are_different_functions(&values) {
            return None;
        }
        let number = |at: i64| Expr::int(at, span);
        let kind = ExprKind::If { cond: cond.clone(), then: number(0), otherwise: number(1) };
        let selector = Expr::new(kind, Type::I32, span);
        self.choice_value(&values, selector, span)
    }

    /// The arms of a `match` as a choice between functions, if they are that.
    pub(super) fn choose_arm(
        &mut self,
        values: &[Expr],
        value: &Expr,
        arms: &[Arm],
        span: Span,
    ) -> Option<Expr> {
        let all: Vec<&Expr> = values.iter().collect();
        if !self.are_different_functions(&all) {
            return None;
        }
        let arms = arms
            .iter()
            .zip(0..)
            .map(|(arm, at)| Arm { value: Expr::int(at, span), ..arm.clone() })
            .collect();
        let kind = ExprKind::Match { value: value.clone(), arms };
        let selector = Expr::new(kind, Type::I32, span);
        self.choice_value(&all, selector, span)
    }

    /// Whether values are functions that do not have one type already.
    fn are_different_functions(&self, values: &[&Expr]) -> bool {
        let all = values.iter().all(|value| matches!(value.ty, Type::Template(..)));
        let first = values.first().map(|value| &value.ty);
        all && values.iter().any(|value| Some(&value.ty) != first)
    }

    fn choice_value(&mut self, values: &[&Expr], selector: Expr, span: Span) -> Option<Expr> {
        let mut ids = Vec::new();
        let mut captures = vec![self.atomise(selector)];
        for value in values {
            let Type::Template(id, _) = &value.ty else { return None };
            let ExprKind::Closure { func: None, captures: own } = &*plain(value).kind else {
                return None;
            };
            ids.push(*id);
            captures.extend(own.iter().cloned());
        }
        Some(self.template_value(Template::Choice(ids), captures, span))
    }

    /// Functions of which one declares its types, all in its signature.
    pub(super) fn functions_alike(&mut self, a: Expr, b: Expr) -> (Expr, Expr) {
        let wanted = match (&a.ty, &b.ty) {
            (Type::Signature(of), Type::Template(..))
            | (Type::Template(..), Type::Signature(of)) => Some((**of).clone()),
            (Type::Template(x, _), Type::Template(y, _)) if a.ty != b.ty => {
                self.declared_signature(*x).or_else(|| self.declared_signature(*y))
            }
            _ => None,
        };
        let Some(Signature { params, ret }) = wanted else { return (a, b) };
        let mut take = |value: Expr| match value.ty {
            Type::Template(..) => {
                let (params, ret) = (params.clone(), ret.clone());
                self.scoped(|cx| cx.specialise_value(value, params, ret))
            }
            _ => value,
        };
        (take(a), take(b))
    }

    /// The signature of a function that says all of it.
    fn declared_signature(&mut self, id: u32) -> Option<Signature> {
        let Some(Template::Fn(def)) = self.templates.get(id as usize).cloned() else { return None };
        let function = self.function(def)?;
        let plain = |ty: &crate::hir::Type| matches!(ty.kind, TypeKind::Scalar(_) | TypeKind::Str);
        let params: Option<Vec<Type>> = function
            .params
            .iter()
            .map(|param| {
                let ty = param.ty.as_deref().filter(|ty| plain(ty))?;
                Some(self.lower_type(ty))
            })
            .collect();
        let ret = function.ret.as_ref().filter(|ty| plain(ty))?;
        let ret = self.lower_type(ret);
        Some(Signature { params: params?, ret })
    }

    /// The arguments of a call of a choice: literals take what the parameters of the first function
    /// that declares them ask for.
    pub(super) fn choice_args(&mut self, ids: &[u32], args: &[Arg]) -> Vec<Expr> {
        let declares =
            |id: &&u32| matches!(self.templates.get(**id as usize), Some(Template::Fn(_)));
        match ids.iter().find(declares).or(ids.first()) {
            Some(id) => {
                let id = *id;
                self.reranked_args(id, args)
            }
            None => Vec::new(),
        }
    }

    /// A call of a choice on checked arguments.
    pub(super) fn call_choice(
        &mut self,
        id: u32,
        ids: &[u32],
        callee: Expr,
        args: Vec<Expr>,
        span: Span,
    ) -> Expr {
        if args.iter().any(|arg| arg.ty.is_broken()) {
            return Expr::error(span);
        }
        let args: Vec<Expr> = args.into_iter().map(|arg| self.settle_expr(arg)).collect();
        let types: Vec<Type> = args.iter().map(|arg| arg.ty.clone()).collect();
        let captures = match &callee.ty {
            Type::Template(_, captures) => captures.to_vec(),
            _ => Vec::new(),
        };
        let Some(at) = self.choice_instance(id, ids, captures, types, span) else {
            return Expr::error(span);
        };
        let instance = self.instances.items[at].clone();
        let ty = match &instance.ret {
            Some(ret) => self.map_result(ret.clone(), &instance, &[], &args),
            None => Type::Error,
        };
        let closure = Some(callee);
        let kind = ExprKind::Call { func: instance.func, sizes: Vec::new(), closure, args };
        Expr::new(kind, ty, span)
    }

    /// The code of a choice for arguments of some types.
    pub(super) fn choice_instance(
        &mut self,
        id: u32,
        ids: &[u32],
        captures: Vec<Type>,
        types: Vec<Type>,
        span: Span,
    ) -> Option<usize> {
        let erase = super::function::erase;
        let key = Key {
            source: Source::Adapter(id),
            captures: captures.iter().cloned().map(erase).collect(),
            params: types.iter().cloned().map(|ty| Some(erase(ty))).collect(),
            packs: Vec::new(),
            types: Vec::new(),
        };
        if let Some(at) = self.instances.table.get(&key) {
            return Some(*at);
        }
        let name = Name { sym: Symbol::intern("choice"), span };
        if !self.count_instance(&key, (name.sym, span)) {
            return None;
        }
        let at = self.new_instance(key, name);
        self.fill_instance(at, |cx| {
            let own: Vec<VarId> =
                captures.iter().map(|ty| cx.plain_variable("captured", ty, span)).collect();
            let args: Vec<VarId> =
                types.iter().map(|ty| cx.plain_variable("argument", ty, span)).collect();
            cx.instances.items[at].captures = own.clone();
            cx.instances.items[at].params = args.clone();
            cx.chosen_call(ids, &own, &args, span)
        });
        Some(at)
    }

    /// A variable of a frame that the compiler makes up.
    fn plain_variable(&mut self, name: &str, ty: &Type, span: Span) -> VarId {
        let ty = self.map_sizes(ty.clone(), &mut |cx, size| {
            if size.as_constant().is_some() { size } else { cx.unknown_size(true) }
        });
        let var = self.new_var(Symbol::intern(name), span, ty.clone());
        self.settle_type(var, ty);
        self.size_variable(var, None, true);
        var
    }

    /// The call of the alternative that a selector names.
    fn chosen_call(&mut self, ids: &[u32], own: &[VarId], args: &[VarId], span: Span) -> Expr {
        let Some((selector, captured)) = own.split_first() else { return Expr::error(span) };
        let mut rest = captured;
        let mut values = Vec::new();
        for id in ids {
            let count = self.captures_of(*id, rest);
            let (mine, others) = rest.split_at(count.min(rest.len()));
            rest = others;
            let captures: Vec<Expr> = mine.iter().map(|var| self.var_expr(*var, span)).collect();
            let types = captures.iter().map(|capture| capture.ty.clone()).collect();
            let kind = ExprKind::Closure { func: None, captures };
            let callee = Expr::new(kind, Type::Template(*id, types), span);
            let args = args.iter().map(|var| self.var_expr(*var, span)).collect();
            values.push(self.scoped(|cx| cx.apply_template(*id, callee, args, span)));
        }
        self.widen_all(&mut values);
        let mut chosen = match values.pop() {
            Some(last) => last,
            None => return Expr::error(span),
        };
        for (at, value) in values.into_iter().enumerate().rev() {
            let Some(ty) = self.join_types(&value.ty, &chosen.ty) else {
                let (x, y) = (self.show(&value.ty), self.show(&chosen.ty));
                let message = format!("the functions chosen here give `{x}` and `{y}`");
                let d = error(Code::E0505, span, message)
                    .here("one call, one type")
                    .help("make both functions give values of one type");
                return self.fail(d);
            };
            let selector = self.var_expr(*selector, span);
            let cond = Expr::new(
                ExprKind::Binary(BinaryOp::Eq, selector, Expr::int(at as i64, span)),
                Type::BOOL,
                span,
            );
            chosen = Expr::new(ExprKind::If { cond, then: value, otherwise: chosen }, ty, span);
        }
        chosen
    }

    /// How many values a function of a choice captured.
    fn captures_of(&self, id: u32, left: &[VarId]) -> usize {
        match self.templates.get(id as usize) {
            Some(Template::Closure(closure)) => match &self.hir.exprs[*closure].kind {
                crate::hir::ExprKind::Closure { captures, .. } => captures.len(),
                _ => 0,
            },
            Some(Template::Fn(def)) => {
                self.function(*def).map_or(0, |function| function.captures.len())
            }
            Some(Template::Choice(ids)) => {
                let mut rest = left.get(1..).unwrap_or_default();
                let mut count = 1;
                for id in ids {
                    let own = self.captures_of(*id, rest).min(rest.len());
                    count += own;
                    rest = &rest[own..];
                }
                count
            }
            Some(Template::Rerank(inner, _)) => self.captures_of(*inner, left),
            Some(Template::Builtin(_)) | None => 0,
        }
    }
}

/// The value of blocks without statements.
fn plain(e: &Expr) -> &Expr {
    match &*e.kind {
        ExprKind::Block { stmts, value } if stmts.is_empty() => plain(value),
        _ => e,
    }
}
