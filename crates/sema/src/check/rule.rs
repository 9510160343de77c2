//! Tangent rules: `@fn f(p, q) { … }` as a function of the parameters and their tangents.

pub(in crate::check) mod linear;

use super::instance::{Key, Source};
use super::state::{Build, Index, Report};
use super::symbolic::SizeRelation;
use super::{Cx, close, coerce, error, expr, function, index, layouts, vars};
use crate::hir::{DefId, ExprId, ExprKind as H};
use ein_base::{Code, Name, Span, Symbol};
use ein_ir::size::{self, Atom};
use ein_ir::tensor::{AtomDef, Expr, FuncId, Type, VarId};
use linear::{Degree, Linearity};
use rustc_hash::FxHashMap;

/// `@p`, `@p[i]`, `@p.x` in a rule: the tangent that flows into a parameter, or the part of it
/// that belongs to a part of the parameter.
pub(super) fn flowing_tangent(cx: &mut Cx, inner: ExprId, span: Span) -> Option<Expr> {
    let hir = cx.hir;
    match &hir.exprs[inner].kind {
        H::Local(local) => {
            let rule = cx.infer.f.rule.as_ref()?;
            let (_, tangent) = *rule.iter().find(|(param, _)| param == local)?;
            Some(cx.ix.var_expr(tangent, span))
        }
        H::Index { base, slots } => {
            let base = flowing_tangent(cx, *base, span)?;
            Some(index::index(cx, base, slots, span))
        }
        H::Field(base, name) => {
            let base = flowing_tangent(cx, *base, span)?;
            Some(expr::field(cx, base, *name, span))
        }
        H::TupleField(base, position, at) => {
            let base = flowing_tangent(cx, *base, span)?;
            Some(expr::tuple_field(&cx.ix, &mut cx.report, base, *position, *at, span))
        }
        _ => None,
    }
}

/// The rule of a function with these parameters and this result.
pub(super) fn rule_of(cx: &mut Cx, def: DefId, params: &[Type], result: &Type) -> Option<FuncId> {
    let function = function::function(cx.hir, def)?;
    let rule = function.rule.as_ref()?;
    let name = cx.hir.defs[def].name;
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
        cx.report.report_at(d);
        return None;
    }
    let key = Key::new(Source::Rule(def), &[], params);
    let (known, reported) = (cx.infer.instances.items.len(), cx.report.count());
    let at = function::instance(cx, key, name, None, |cx, at| {
        let mut vars = Vec::new();
        for (param, ty) in rule.params.iter().zip(params) {
            vars.push(function::enter_parameter(cx, param, Some(ty)));
        }
        let mut tangents = Vec::new();
        for number in 0..rule.params.len() {
            let param = &rule.params[number];
            // A tangent has the extents of what it is the tangent of.
            let ty = cx.ix.vars[vars[number]].ty.clone();
            let var = cx.ix.new_var(Symbol::intern("tangent"), param.span, ty.clone());
            let constant = ty.scalar().is_some_and(|ty| !ty.is_float());
            if let crate::hir::PatKind::Bind(local, _) = &param.pat.kind
                && !constant
            {
                tangents.push((*local, var));
            }
            vars.push(var);
        }
        let result = in_own_sizes(&mut cx.ix, result, params, &vars);
        cx.infer.instances.items[at].params.clone_from(&vars);
        cx.infer.f.rule = Some(tangents);
        let value = close::open_value(cx, rule.body, Some(result.elem()), None);
        tangent_of_result(&mut cx.ix, &mut cx.build, &mut cx.report, value, &result, &vars, name)
    })?;
    let func = cx.infer.instances.items[at].func;
    if at >= known && cx.report.count() == reported {
        check_linear(&cx.build, &mut cx.report, func, params.len(), name, rule.span);
    }
    Some(func)
}

/// The type of the result of a function with the extents of the rule's own parameters in place
/// of those of the function's.
fn in_own_sizes(ix: &mut Index, result: &Type, params: &[Type], vars: &[VarId]) -> Type {
    let mut own: FxHashMap<Atom, size::Expr> = FxHashMap::default();
    for (ty, var) in params.iter().zip(vars) {
        for position in 0..ty.axes().len() {
            let axes = ix.vars[*var].ty.axes();
            let (Some(atom), Some(axis)) = (ty.axes()[position].size.as_atom(), axes.get(position))
            else {
                continue;
            };
            let size = axis.size.clone();
            match own.get(&atom) {
                // One extent in the signature, and so in every call of the rule.
                Some(same) => ix.f.facts.eq(same, &size),
                None => {
                    own.insert(atom, size);
                }
            }
        }
    }
    vars::map_sizes(result.clone(), &mut |size| size.substitute(&|atom| own.get(&atom).cloned()))
}

/// What a rule gives has the type and the shape of what its function gives. Extents that only
/// the run knows are compared where the rule is called.
fn tangent_of_result(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    value: Expr,
    result: &Type,
    vars: &[VarId],
    name: Name,
) -> Expr {
    if value.ty.has_error() || result.has_error() {
        return value;
    }
    let value = expr::settle_expr(ix, build, value);
    let mut fits =
        coerce::same_kind(&value.ty, result) && layouts::clash(ix, &value.ty, result).is_none();
    for (position, want) in result.axes().iter().enumerate() {
        let Some(have) = value.ty.axes().get(position) else { break };
        let (have, want) = (have.size.clone(), want.size.clone());
        let known = want.atoms().into_iter().all(|atom| match ix.atoms[atom].def {
            AtomDef::Var(var) | AtomDef::Extent(var, _) | AtomDef::Length(var) => {
                vars.contains(&var)
            }
            AtomDef::Unknown => false,
        });
        match ix.compare_sizes(&have, &want) {
            SizeRelation::Equal => {}
            SizeRelation::Different if known => fits = false,
            SizeRelation::AtRunTime if known => {
                let what = format!("axis {position} in the rule of `{name}`");
                coerce::require(ix, build, have, want, what, value.span);
            }
            // An extent that the function computes inside; the rule cannot see it.
            SizeRelation::Different | SizeRelation::AtRunTime => {}
        }
    }
    if fits {
        return value;
    }
    let (have, want) = (ix.show(&value.ty), ix.show(result));
    let d = error(
        Code::E0704,
        value.span,
        format!("the rule of `{name}` gives `{have}`, but `{name}` gives `{want}`"),
    )
    .here(format!("this is `{have}`"))
    .label(name.span, format!("gives `{want}`"))
    .help("a rule gives the tangent of the result, which has the type of the result");
    report.fail(d)
}

/// A rule must be linear in the tangents.
fn check_linear(
    build: &Build,
    report: &mut Report,
    func: FuncId,
    count: usize,
    name: Name,
    span: Span,
) {
    let rule = &build.out.funcs[func];
    if rule.params.len() != 2 * count {
        return;
    }
    let degree = Linearity::new(&build.out.funcs, &rule.params[count..]).degree(&rule.body);
    let here = match degree {
        Degree::Zero | Degree::Linear => return,
        Degree::Constant => "nothing in it depends on a tangent, and it is not zero",
        Degree::Other => "a tangent is multiplied, divided by or transformed by another one",
        Degree::Affine => "a term without a tangent is added to one that has one",
    };
    let d = error(Code::E0704, span, format!("the rule of `{name}` is not linear in the tangents"))
        .here(here)
        .help("a rule is a sum of terms, each a factor times one tangent: `3.0 * x * x * @x`");
    report.report_at(d);
}
