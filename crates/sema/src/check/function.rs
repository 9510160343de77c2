//! Function bodies: checked once for all sizes, or once for each way an unannotated one is used.

use super::instance::{DEEP, Instance, Key, LIMIT, Over, PARTS, SizeKey, Source};
use super::state::{Build, Index, Infer, Report};
use super::{
    Binding, Cx, annotation, elements, error, formula, infer, look, result, rule, stmt, template,
    types, vars, widen,
};
use crate::hir::{self, DefId, DefKind, DimKind, ExprId, Function, Param, TypeKind};
use ein_base::{Code, Diagnostic, Name, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::{AtomDef, Axis, Expr, ExprKind, Func, Type, VarId};
use ein_scalar::ScalarType;
use std::sync::Arc;

pub(super) fn function(hir: &hir::Program, def: DefId) -> Option<&Function> {
    match &hir.defs[def].kind {
        DefKind::Fn(function) => Some(function),
        DefKind::Const(_) | DefKind::Struct(_) | DefKind::Enum(_) | DefKind::Error => None,
    }
}

/// Checks a function that nobody called yet, if its signature says enough: for all sizes, with
/// one axis for each pack, and for the first element type that its body can take.
pub(super) fn check_uncalled(cx: &mut Cx, def: DefId) {
    let Some(function) = self::function(cx.hir, def) else { return };
    let known = cx.infer.instances.counts.get(&Source::Def(def)).is_some_and(|count| *count > 0);
    let says = |param: &Param| {
        param.ty.as_deref().is_some_and(|ty| !matches!(ty.kind, TypeKind::AnyRank(_)))
    };
    let annotated = function.params.iter().all(says) && function.captures.is_empty();
    if known || !annotated {
        return;
    }
    let fits = infer::fitting_numbers(&cx.infer, &cx.ix, function);
    let elem = Type::Scalar(fits.first().copied().unwrap_or(ScalarType::F32));
    let types = vec![elem; function.generics.len()];
    let packs = vec![1; function.packs.len()];
    let params = vec![None; function.params.len()];
    let name = cx.hir.defs[def].name;
    instance_of(cx, def, params, packs, types, (name.sym, name.span), false);
}

/// The instance of a function for the given argument types (of unannotated parameters), pack
/// lengths and type arguments.
pub(super) fn instance_of(
    cx: &mut Cx,
    def: DefId,
    params: Vec<Option<Type>>,
    packs: Vec<usize>,
    types: Vec<Type>,
    call: (Symbol, Span),
    at_call: bool,
) -> Option<usize> {
    let function = self::function(cx.hir, def)?;
    let erased = params.iter().map(|ty| ty.clone().map(erase)).collect();
    let captures = std::mem::take(&mut cx.infer.f.captures);
    let key = Key {
        source: Source::Def(def),
        captures: captures.iter().cloned().map(erase).collect(),
        params: erased,
        packs: packs.clone(),
        types: types.iter().cloned().map(erase).collect(),
    };
    let name = cx.hir.defs[def].name;
    let reported = (cx.report.diagnostics.len(), cx.report.kept.len());
    if let Some(at) = cx.infer.instances.table.get(&key).copied() {
        report_again(&cx.infer, &mut cx.report, at, call);
        let instance = &mut cx.infer.instances.items[at];
        instance.recursive |= !instance.done;
        instance.called_itself |=
            !instance.done && instance.ret.is_none() && result::declared(function).is_none();
    }
    let known = cx.infer.instances.items.len();
    let open = params.iter().any(Option::is_some) || !types.is_empty();
    let at = instance(cx, key, name, Some(call), |cx, at| {
        cx.infer.instances.items[at].declared = result::declared(function).is_some();
        let own = template::enter_captures(&mut cx.ix, &function.captures, &captures);
        cx.infer.instances.items[at].captures = own;
        enter_signature(cx, at, function, &params, &packs, &types);
        if at_call && open {
            cx.report.instantiated_at.push(call);
        }
        result::function_result(cx, function, name.sym)
    })?;
    if let Some(first) = elements::first_of_types(&cx.report, name.span, reported, call.1) {
        let fits = infer::fitting_numbers(&cx.infer, &cx.ix, function);
        let told = (function, types.as_slice(), at);
        elements::told_of_arguments(&mut cx.infer, &mut cx.report, told, &fits, (first, call));
    }
    if function.rule.is_some() && at >= known {
        let params: Vec<Type> = cx.infer.instances.items[at]
            .params
            .iter()
            .map(|param| cx.ix.vars[*param].ty.clone())
            .collect();
        let func = cx.infer.instances.items[at].func;
        let result = cx.build.out.funcs[func].ret.clone();
        // A function of any numbers has no rule where it is called with whole ones.
        if rule::linear::moves(&result) || !open {
            let rule = rule::rule_of(cx, def, &params, &result);
            cx.build.out.funcs[func].rule = rule;
        }
    }
    Some(at)
}

/// Another call of a function of the library that does not take such arguments.
fn report_again(infer: &Infer, report: &mut Report, at: usize, call: (Symbol, Span)) {
    let Some(broken) = infer.instances.items[at].broken.clone() else { return };
    let (name, span) = call;
    if report.in_library(span) || broken.primary.span == span {
        return;
    }
    let mut again = *broken;
    again.labels.retain(|label| report.in_library(label.span));
    again.primary.span = span;
    again.primary.text = format!("in this call of `{name}`");
    report.report_at(again);
}

/// One more instance of a function, unless there are too many, or its types grow without end.
pub(super) fn count_instance(
    infer: &mut Infer,
    report: &mut Report,
    key: &Key,
    call: (Symbol, Span),
) -> bool {
    let large = infer.has_more_parts(&key.whole(), PARTS);
    let inside = infer.filling.iter().filter(|at| infer.instances.items[**at].of == key.source);
    let deep = inside.count() >= DEEP;
    let count = infer.instances.counts.entry(key.source).or_insert(0);
    *count += 1;
    let (name, span) = call;
    let message = match (large, deep) {
        (true, _) => format!("`{name}` would need an instance for a type of too many parts"),
        (_, true) => format!("`{name}` calls itself with another type {DEEP} times over"),
        _ if *count > LIMIT => format!("`{name}` would need more than {LIMIT} different instances"),
        _ => return true,
    };
    let d = error(Code::E0518, span, message)
        .here("each call needs another type or rank")
        .help("declare the types of its parameters, so that calls of itself agree");
    report.report_at(d);
    false
}

/// The instance of a key: the one that there is, if it still holds, or one that is checked now.
/// `call` is where it is counted, if it is.
pub(super) fn instance(
    cx: &mut Cx,
    key: Key,
    name: Name,
    call: Option<(Symbol, Span)>,
    check: impl Fn(&mut Cx, usize) -> Expr,
) -> Option<usize> {
    let at = match cx.infer.instances.table.get(&key).copied() {
        Some(at) if cx.infer.take_result(at) => return Some(at),
        Some(at) => {
            let items = &mut cx.infer.instances.items;
            items[at] = Instance::new(items[at].of, items[at].func, items[at].round + 1);
            at
        }
        None => {
            if let Some(call) = call
                && !count_instance(&mut cx.infer, &mut cx.report, &key, call)
            {
                return None;
            }
            new_instance(&mut cx.infer, &mut cx.build, key, name)
        }
    };
    fill(cx, at, |cx| check(cx, at));
    Some(at)
}

fn new_instance(infer: &mut Infer, build: &mut Build, key: Key, name: Name) -> usize {
    let func = build.out.funcs.push(nothing(name.sym, name.span));
    let at = infer.instances.items.len();
    infer.instances.items.push(Instance::new(key.source, func, 0));
    infer.instances.table.insert(key, at);
    at
}

/// A function before it is checked.
fn nothing(name: Symbol, span: Span) -> Func {
    Func {
        name,
        span,
        sizes: Vec::new(),
        captures: Vec::new(),
        params: Vec::new(),
        ret: Type::Error,
        body: Expr::error(span),
        slots: 0,
        rule: None,
        by: None,
    }
}

/// Leaves nothing of instances that nobody asked for once the results that they rest on were known.
pub(super) fn drop_outdated(infer: &Infer, build: &mut Build) {
    let items = &infer.instances.items;
    for instance in items.iter().filter(|instance| !instance.holds(items)) {
        let func = &mut build.out.funcs[instance.func];
        let unit = Expr::new(ExprKind::Unit, Type::Unit, func.span);
        *func = Func { ret: Type::Unit, body: unit, ..nothing(func.name, func.span) };
    }
}

/// Checks a body in a frame of its own; again if it called itself before its type was known.
fn fill(cx: &mut Cx, at: usize, check: impl Fn(&mut Cx) -> Expr) {
    let (reported, kept) = (cx.report.diagnostics.len(), cx.report.kept.len());
    let vars = cx.ix.vars.len();
    cx.infer.filling.push(at);
    let (body, mut told) = look::look(cx, |cx| in_frame(cx, at, &check));
    let again = cx.infer.instances.items[at].called_itself;
    if again && !body.ty.has_error() {
        look::forget_types(&mut cx.ix, vars);
        told = settle_result(cx, at, body.ty, check);
    } else if again && told.is_empty() && cx.report.count() == reported + kept {
        let func = &cx.build.out.funcs[cx.infer.instances.items[at].func];
        let (name, span) = (func.name, func.span);
        let d = error(
            Code::E0516,
            span,
            format!("the result of `{name}` cannot be inferred: every branch calls `{name}`"),
        )
        .here("which type does it return?")
        .help("declare the result: `-> f32`");
        // Where the text is broken, that was told.
        let own = |def| function(cx.hir, def).is_some_and(|it| is_broken(cx.hir, it.body));
        if !matches!(cx.infer.instances.items[at].of, Source::Def(def) if own(def)) {
            told.push(d);
        }
    }
    cx.infer.filling.pop();
    // What is left of the errors holds for every call.
    if cx.report.in_library(cx.build.out.funcs[cx.infer.instances.items[at].func].span) {
        let inside = |d: &&Diagnostic| {
            d.is_error()
                && !cx.report.in_library(d.primary.span)
                && d.labels.iter().any(|label| cx.report.in_library(label.span))
        };
        let inner = cx.report.diagnostics.get(reported..).unwrap_or_default();
        let inner = inner.iter().chain(cx.report.kept.get(kept..).unwrap_or_default());
        let broken = told.iter().chain(inner).find(inside).cloned().map(Box::new);
        cx.infer.instances.items[at].broken = broken;
    }
    // What rests on the result of one around it is told with that.
    match cx.infer.instances.items[at].rests.is_empty() {
        true => cx.report.keep(told),
        false => cx.report.tell(told),
    }
    cx.infer.instances.items[at].done = true;
    formula::note(&mut cx.ix, &cx.build, cx.infer.instances.items[at].func);
}

fn is_broken(hir: &hir::Program, id: ExprId) -> bool {
    let mut broken = matches!(hir.exprs[id].kind, hir::ExprKind::Error);
    crate::visit::each_child(hir, id, &mut |child| broken = broken || is_broken(hir, child));
    broken
}

/// Finds the result of a function that calls itself: the paths that do not say what it is, and
/// their extents hold where the others give the same under them. What differs is left open. Numbers are
/// as wide as what the other paths make of them.
fn settle_result(
    cx: &mut Cx,
    at: usize,
    found: Type,
    check: impl Fn(&mut Cx) -> Expr,
) -> Vec<Diagnostic> {
    let mut ret = found;
    let told = loop {
        let over = written_over(&cx.infer, &cx.build, at);
        let instance = &mut cx.infer.instances.items[at];
        instance.round += 1;
        instance.ret = Some(ret.clone());
        instance.over = Some(over.clone());
        let (body, told) = look::look(cx, |cx| in_frame(cx, at, &check));
        let own = written_over(&cx.infer, &cx.build, at);
        let assumed = rewritten(&cx.ix, ret, &over, &own);
        let wide = widen::wider_type(&assumed, &body.ty).unwrap_or_else(|| assumed.clone());
        let open = open_where_unequal(&mut cx.ix, &wide, &body.ty);
        let holds = open == assumed;
        ret = open;
        if holds {
            break told;
        }
    };
    let instance = &mut cx.infer.instances.items[at];
    instance.ret = Some(ret);
    instance.over = None;
    told
}

/// The variables of a frame that a type may be written over.
pub(super) fn written_over(infer: &Infer, build: &Build, at: usize) -> Over {
    let instance = &infer.instances.items[at];
    let values = instance.captures.iter().chain(&instance.params).copied().collect();
    Over { values, sizes: build.out.funcs[instance.func].sizes.clone() }
}

/// A type over the variables of one frame, over those of another one of the same function.
pub(super) fn rewritten(ix: &Index, ty: Type, from: &Over, to: &Over) -> Type {
    vars::map_sizes(ty, &mut |size| {
        size.substitute(&|atom| match ix.atoms[atom].def {
            AtomDef::Extent(var, axis) => {
                let at = from.values.iter().position(|value| *value == var)?;
                let axes = ix.vars[*to.values.get(at)?].ty.axes();
                axes.get(axis).map(|axis| axis.size.clone())
            }
            AtomDef::Var(var) => {
                let same = |from: &[VarId], to: &[VarId]| {
                    let at = from.iter().position(|own| *own == var)?;
                    to.get(at).copied()
                };
                let own = same(&from.sizes, &to.sizes);
                let own = own.or_else(|| same(&from.values, &to.values))?;
                ix.var_sizes.get(&own).cloned()
            }
            AtomDef::Length(_) | AtomDef::Unknown => None,
        })
    })
}

/// A type with its extents open where another one has others, as far as they were not open.
fn open_where_unequal(ix: &mut Index, ty: &Type, other: &Type) -> Type {
    match (ty, other) {
        (Type::Array(own), Type::Array(found)) if own.axes.len() == found.axes.len() => {
            let mut axes = own.axes.clone();
            for (axis, found) in axes.iter_mut().zip(&found.axes) {
                if axis.size != found.size && ix.unsettled(&axis.size).is_none() {
                    axis.size = ix.unknown_size(true);
                }
            }
            Type::array(open_where_unequal(ix, &own.elem, &found.elem), axes)
        }
        (Type::Tuple(own), Type::Tuple(found)) if own.len() == found.len() => {
            Type::Tuple(own.iter().zip(found).map(|(a, b)| open_where_unequal(ix, a, b)).collect())
        }
        (Type::Data(id, own), Type::Data(other, found)) if id == other => Type::Data(
            *id,
            own.iter().zip(found).map(|(a, b)| open_where_unequal(ix, a, b)).collect(),
        ),
        (own, _) => own.clone(),
    }
}

fn in_frame(cx: &mut Cx, at: usize, check: &impl Fn(&mut Cx) -> Expr) -> Expr {
    let outer = cx.enter_frame(false);
    let value = check(cx);
    let stmts = cx.build.f.pending.pop().unwrap_or_default();
    // Statements of the frame itself keep their variables: the sizes stay meaningful to the
    // caller, who maps them.
    let ty = value.ty.clone();
    let span = value.span;
    let body = if stmts.is_empty() {
        value
    } else {
        Expr::new(ExprKind::Block { stmts, value }, ty.clone(), span)
    };
    let func = cx.infer.instances.items[at].func;
    if cx.report.in_library(cx.build.out.funcs[func].span) {
        cx.report.led_to.insert(func, cx.report.instantiated_at.clone());
    }
    let frame = cx.leave_frame(outer);
    let instance = &mut cx.infer.instances.items[at];
    if instance.ret.is_none() || !instance.called_itself {
        instance.ret = Some(ty.clone());
    }
    instance.assumed = frame.build.assumed;
    let by = frame.build.by;
    let func = &mut cx.build.out.funcs[instance.func];
    func.params = instance.params.clone();
    func.captures = instance.captures.clone();
    func.ret = ty;
    func.slots = frame.ix.slots;
    func.by = by;
    func.body = body.clone();
    body
}

/// Binds the sizes, packs and parameters of a signature.
fn enter_signature(
    cx: &mut Cx,
    at: usize,
    function: &Function,
    params: &[Option<Type>],
    packs: &[usize],
    types: &[Type],
) {
    let mut keys = Vec::new();
    let mut vars = Vec::new();
    for (generic, ty) in function.generics.iter().zip(types) {
        // Extents inside of it are the caller's: here they are known at run time only.
        let ty = vars::map_sizes(ty.clone(), &mut |_| cx.ix.unknown_size(true));
        cx.infer.f.type_params.insert(*generic, ty);
    }
    for local in &function.sizes {
        let name = cx.hir.locals[*local].name;
        let size = size_parameter(&mut cx.ix, name, &mut vars);
        keys.push(SizeKey::Name(*local));
        cx.ix.f.sizes.insert(*local, size);
    }
    for name in unstated_coords(function) {
        let size = size_parameter(&mut cx.ix, name, &mut vars);
        keys.push(SizeKey::Coord(name.sym));
        cx.ix.f.coord_sizes.insert(name.sym, size);
    }
    for (local, count) in function.packs.iter().zip(packs) {
        let name = cx.hir.locals[*local].name;
        let mut axes = Vec::new();
        for position in 0..*count {
            let sym = pack_coord(name, position);
            let size = size_parameter(&mut cx.ix, Name { sym, span: name.span }, &mut vars);
            keys.push(SizeKey::Pack(*local, position));
            axes.push(Axis { coord: Some(super::types::contract(sym, None)), size });
        }
        cx.ix.f.signature_packs.insert(*local, axes);
    }
    let func = cx.infer.instances.items[at].func;
    cx.build.out.funcs[func].sizes = vars;
    cx.infer.instances.items[at].sizes = keys;
    let vars = function
        .params
        .iter()
        .zip(params)
        .map(|(param, given)| enter_parameter(cx, param, given.as_ref()))
        .collect();
    cx.infer.instances.items[at].params = vars;
}

fn size_parameter(ix: &mut Index, name: Name, vars: &mut Vec<VarId>) -> size::Expr {
    let var = ix.new_var(name.sym, name.span, Type::Scalar(ScalarType::I64));
    let atom = ix.new_atom(name.sym, AtomDef::Var(var), false);
    let size = size::Expr::atom(atom);
    ix.var_sizes.insert(var, size.clone());
    ix.f.facts.ge0(size.clone());
    vars.push(var);
    size
}

/// Binds one parameter; without an annotation it takes the type of the argument, with extents
/// of its own.
pub(super) fn enter_parameter(cx: &mut Cx, param: &Param, given: Option<&Type>) -> VarId {
    let ty = match (&param.ty, given) {
        // Any rank: the argument says which.
        (Some(ty), Some(given)) if matches!(ty.kind, TypeKind::AnyRank(_)) => {
            vars::map_sizes(given.clone(), &mut |_| cx.ix.unknown_size(true))
        }
        (Some(ty), _) => {
            renew_type_params(&mut cx.infer, &mut cx.ix);
            types::lower_type(cx, ty)
        }
        (None, Some(given)) => own_extents(&mut cx.ix, given),
        (None, None) => Type::Error,
    };
    let name = param.name.unwrap_or(Name { sym: Symbol::intern("parameter"), span: param.span });
    let var = cx.ix.new_var(name.sym, name.span, ty.clone());
    let stated = ty.clone();
    let ty = cx.ix.settle_type(var, ty);
    // A size that a closure names is what it stands for in the argument.
    for (stated, axis) in stated.axes().iter().zip(ty.axes()) {
        annotation::solve_new_size(&mut cx.ix, &stated.size, &axis.size);
    }
    cx.ix.size_variable(var, None, true);
    if let Some(hir::Type { kind: TypeKind::Array { no_broadcast: true, .. }, .. }) =
        param.ty.as_deref()
    {
        cx.ix.no_broadcast.insert(var);
    }
    match &param.pat.kind {
        hir::PatKind::Bind(local, _) => {
            cx.ix.f.env.insert(*local, Binding::Var(var));
            stmt::declare_extents(&mut cx.ix, name.sym, name.span, &ty);
        }
        _ => {
            let pattern = stmt::binding_pattern(cx, &param.pat, &ty, param.span);
            let value = cx.ix.var_expr(var, param.span);
            cx.build.emit(ein_ir::tensor::Stmt {
                kind: ein_ir::tensor::StmtKind::Destructure(pattern, value),
                span: param.span,
            });
        }
    }
    var
}

/// A parameter that the compiler makes up, with extents of its own: an instance is for all of them.
pub(super) fn made_up(ix: &mut Index, name: &str, ty: &Type, span: Span) -> VarId {
    let ty = own_extents(ix, ty);
    let var = ix.new_var(Symbol::intern(name), span, ty.clone());
    ix.settle_type(var, ty);
    ix.size_variable(var, None, true);
    var
}

/// The type of an argument as the body of an instance sees it.
fn own_extents(ix: &mut Index, given: &Type) -> Type {
    match is_short_list(given) {
        true => given.clone(),
        false => vars::map_sizes(given.clone(), &mut |_| ix.unknown_size(true)),
    }
}

/// Gives type arguments extents of their own: two parameters of one type may differ in them.
fn renew_type_params(infer: &mut Infer, ix: &mut Index) {
    for (generic, ty) in infer.f.type_params.clone() {
        let ty = vars::map_sizes(ty, &mut |_| ix.unknown_size(true));
        infer.f.type_params.insert(generic, ty);
    }
}

/// What a function calls the coordinate of one axis of a pack.
pub(super) fn pack_coord(pack: Name, position: usize) -> Symbol {
    Symbol::intern(&format!("{}.{position}", pack.sym))
}

/// The pack that a coordinate is a member of.
pub(super) fn pack_of(coord: Symbol) -> Option<Symbol> {
    coord.as_str().rsplit_once('.').map(|(pack, _)| Symbol::intern(pack))
}

/// The coordinates of a signature whose extents it does not state, in order.
pub(super) fn unstated_coords(function: &Function) -> Vec<Name> {
    let mut names: Vec<Name> = Vec::new();
    for ty in function.params.iter().filter_map(|param| param.ty.as_deref()) {
        unstated_in(ty, &mut names);
    }
    names
}

fn unstated_in(ty: &hir::Type, names: &mut Vec<Name>) {
    match &ty.kind {
        TypeKind::Tuple(items) => items.iter().for_each(|item| unstated_in(item, names)),
        TypeKind::Array { dims, .. } => {
            for dim in dims {
                let DimKind::Coord { name, extent: None, over } = &dim.kind else { continue };
                // Roles of one coordinate have one extent.
                let name = over.unwrap_or(*name);
                if !names.iter().any(|known| known.sym == name.sym) {
                    names.push(name);
                }
            }
        }
        TypeKind::Scalar(_)
        | TypeKind::Str
        | TypeKind::Data(..)
        | TypeKind::Param(_)
        | TypeKind::AnyRank(_)
        | TypeKind::Jagged(..)
        | TypeKind::Function(..)
        | TypeKind::Some(..)
        | TypeKind::Error => {}
    }
}

/// A few integers in a row of known length, such as a shape, strides or a list of axes. The rank of
/// what a function makes of them is their number, so it is part of what an instance is for. Longer
/// rows are data.
fn is_short_list(ty: &Type) -> bool {
    const LONGEST: i64 = 8;
    let Type::Array(array) = ty else { return false };
    matches!(array.elem, Type::Scalar(ScalarType::I32))
        && array.axes.len() == 1
        && array.axes[0].size.as_constant().is_some_and(|length| length <= LONGEST)
}

/// A type without its sizes.
pub(super) fn erase(ty: Type) -> Type {
    match ty {
        _ if is_short_list(&ty) => ty,
        Type::Template(id, captures) => {
            Type::Template(id, captures.into_iter().map(erase).collect())
        }
        Type::Signature(of) => {
            let params = of.params.iter().cloned().map(erase).collect();
            Type::signature(params, erase(of.ret.clone()))
        }
        _ => {
            let mut ty = vars::map_parts(ty, &mut erase);
            if let Type::Array(array) = &mut ty {
                let axes = &mut Arc::make_mut(array).axes;
                axes.iter_mut().for_each(|axis| axis.size = size::Expr::zero());
            }
            ty
        }
    }
}
