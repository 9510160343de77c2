//! Tangent rules: `@fn f(p, q) { … }` as a function of the parameters and their tangents.

mod linear;

use super::instance::{Key, Source};
use super::symbolic::SizeRelation;
use super::{Cx, error};
use crate::hir::{DefId, ExprId, ExprKind as H};
use ein_base::{Code, Name, Span, Symbol};
use ein_ir::size::{self, Atom};
use ein_ir::tensor::{AtomDef, Expr, FuncId, Type, VarId};
use linear::{Degree, Linearity};
use rustc_hash::FxHashMap;

impl Cx<'_> {
    /// `@p`, `@p[i]`, `@p.x` in a rule: the tangent that flows into a parameter, or the part of it
    /// that belongs to a part of the parameter.
    pub(super) fn flowing_tangent(&mut self, inner: ExprId, span: Span) -> Option<Expr> {
        let hir = self.hir;
        match &hir.exprs[inner].kind {
            H::Local(local) => {
                let rule = self.f.rule.as_ref()?;
                let (_, tangent) = *rule.iter().find(|(param, _)| param == local)?;
                Some(self.var_expr(tangent, span))
            }
            H::Index { base, slots } => {
                let base = self.flowing_tangent(*base, span)?;
                Some(self.index(base, slots, span))
            }
            H::Field(base, name) => {
                let base = self.flowing_tangent(*base, span)?;
                Some(self.field(base, *name, span))
            }
            H::TupleField(base, position, at) => {
                let base = self.flowing_tangent(*base, span)?;
                Some(self.tuple_field(base, *position, *at, span))
            }
            _ => None,
        }
    }

    /// The rule of a function with these parameters and this result.
    pub(super) fn rule_of(&mut self, def: DefId, params: &[Type], result: &Type) -> Option<FuncId> {
        let function = self.function(def)?;
        let rule = function.rule.as_ref()?;
        let name = self.hir.defs[def].name;
        if rule.params.len() != function.params.len() {
            let d = error(
                Code::E0704,
                rule.span,
                format!(
                    "the rule of `{name}` takes {} parameters, `{name}` takes {}",
                    rule.params.len(),
                    function.params.len()
                ),
            )
            .here("another number of parameters")
            .label(function.header, "declared here")
            .help("a rule has the parameters of its function");
            self.report_at(d);
            return None;
        }
        let erase = super::function::erase;
        let key = Key {
            source: Source::Rule(def),
            captures: Vec::new(),
            params: params.iter().cloned().map(|ty| Some(erase(ty))).collect(),
            packs: Vec::new(),
            types: Vec::new(),
        };
        if let Some(at) = self.instances.table.get(&key) {
            return Some(self.instances.items[*at].func);
        }
        let at = self.new_instance(key, name);
        let reported = self.diagnostics.len();
        self.fill_instance(at, |cx| {
            let mut vars = Vec::new();
            for (param, ty) in rule.params.iter().zip(params) {
                vars.push(cx.enter_parameter(param, Some(ty)));
            }
            let mut tangents = Vec::new();
            for number in 0..rule.params.len() {
                let param = &rule.params[number];
                // A tangent has the extents of what it is the tangent of.
                let ty = cx.out.vars[vars[number]].ty.clone();
                let var = cx.new_var(Symbol::intern("tangent"), param.span, ty.clone());
                let constant = ty.scalar().is_some_and(|ty| !ty.is_float());
                if let crate::hir::PatKind::Bind(local, _) = &param.pat.kind
                    && !constant
                {
                    tangents.push((*local, var));
                }
                vars.push(var);
            }
            let result = cx.in_own_sizes(result, params, &vars);
            cx.instances.items[at].params.clone_from(&vars);
            cx.f.rule = Some(tangents);
            let value = cx.open_value(rule.body, Some(result.elem()), None);
            cx.tangent_of_result(value, &result, &vars, name)
        });
        let func = self.instances.items[at].func;
        if self.diagnostics.len() == reported {
            self.check_linear(func, params.len(), name, rule.span);
        }
        Some(func)
    }

    /// The type of the result of a function with the extents of the rule's own parameters in place
    /// of those of the function's.
    fn in_own_sizes(&mut self, result: &Type, params: &[Type], vars: &[VarId]) -> Type {
        let mut own: FxHashMap<Atom, size::Expr> = FxHashMap::default();
        for (ty, var) in params.iter().zip(vars) {
            for position in 0..ty.axes().len() {
                let axes = self.out.vars[*var].ty.axes();
                let (Some(atom), Some(axis)) =
                    (ty.axes()[position].size.as_atom(), axes.get(position))
                else {
                    continue;
                };
                let size = axis.size.clone();
                match own.get(&atom) {
                    // One extent in the signature, and so in every call of the rule.
                    Some(same) => self.f.facts.eq(same, &size),
                    None => {
                        own.insert(atom, size);
                    }
                }
            }
        }
        self.map_sizes(result.clone(), &mut |_, size| {
            size.substitute(&|atom| own.get(&atom).cloned())
        })
    }

    /// What a rule gives has the type and the shape of what its function gives. Extents that only
    /// the run knows are compared where the rule is called.
    fn tangent_of_result(
        &mut self,
        value: Expr,
        result: &Type,
        vars: &[VarId],
        name: Name,
    ) -> Expr {
        if value.ty.has_error() || result.has_error() {
            return value;
        }
        let value = self.settle_expr(value);
        let mut fits = self.same_kind(&value.ty, result);
        for (position, want) in result.axes().iter().enumerate() {
            let Some(have) = value.ty.axes().get(position) else { break };
            let (have, want) = (have.size.clone(), want.size.clone());
            let known = want.atoms().into_iter().all(|atom| match self.out.atoms[atom].def {
                AtomDef::Var(var) | AtomDef::Extent(var, _) | AtomDef::Length(var) => {
                    vars.contains(&var)
                }
                AtomDef::Unknown => false,
            });
            match self.compare_sizes(&have, &want) {
                SizeRelation::Equal => {}
                SizeRelation::Different if known => fits = false,
                SizeRelation::AtRunTime if known => {
                    let what = format!("axis {position} in the rule of `{name}`");
                    self.require(have, want, what, value.span);
                }
                // An extent that the function computes inside; the rule cannot see it.
                SizeRelation::Different | SizeRelation::AtRunTime => {}
            }
        }
        if fits {
            return value;
        }
        let (have, want) = (self.show(&value.ty), self.show(result));
        let d = error(
            Code::E0704,
            value.span,
            format!("the rule of `{name}` gives `{have}`, but `{name}` gives `{want}`"),
        )
        .here(format!("this is `{have}`"))
        .label(name.span, format!("gives `{want}`"))
        .help("a rule gives the tangent of the result, which has the type of the result");
        self.fail(d)
    }

    /// A rule must be linear in the tangents.
    fn check_linear(&mut self, func: FuncId, count: usize, name: Name, span: Span) {
        let rule = &self.out.funcs[func];
        if rule.params.len() != 2 * count {
            return;
        }
        let degree = Linearity::new(&self.out, &rule.params[count..]).degree(&rule.body);
        let here = match degree {
            Degree::Zero | Degree::Linear => return,
            Degree::Constant => "nothing in it depends on a tangent, and it is not zero",
            Degree::Other => "a tangent is multiplied, divided by or transformed by another one",
            Degree::Affine => "a term without a tangent is added to one that has one",
        };
        let d =
            error(Code::E0704, span, format!("the rule of `{name}` is not linear in the tangents"))
                .here(here)
                .help(
                    "a rule is a sum of terms, each a factor times one tangent: `3.0 * x * x * @x`",
                );
        self.report_at(d);
    }
}
