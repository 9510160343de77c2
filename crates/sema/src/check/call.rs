//! Calls: arguments to parameters, coordinate arguments, and what the call gives.

pub(in crate::check) mod args;
pub(in crate::check) mod coords;
pub(in crate::check) mod functions;
pub(in crate::check) mod generics;

use super::instance::{Instance, SizeKey};
use super::matching::{Cell, Match};
use super::state::{Build, Index, Report};
use super::{
    Binding, Cx, builtin, coerce, construct, error, expr, function, layouts, lift, literal,
    matching, parts, ragged, result, stmt, template, vars, widen,
};
use crate::hir::{self, Arg, CoordArg, DefId, ExprId, ExprKind as H, Function, TypeKind};
use crate::resolve::builtins::builtin_name;
use ein_base::{Code, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::{AtomDef, Expr, ExprKind, Place, Require, Signature, Type};

pub(super) fn call(
    cx: &mut Cx,
    callee: ExprId,
    coords: &[CoordArg],
    args: &[Arg],
    want: Option<&Type>,
    span: Span,
) -> Expr {
    let hir = cx.hir;
    if !coords.is_empty() && !takes_coordinates(cx.hir, callee) {
        return no_coordinates(cx.hir, &mut cx.report, callee, coords.len(), span);
    }
    match &hir.exprs[callee].kind {
        H::Fn(_) if args.is_empty() && literal::literal_function(cx.hir, callee).is_some() => {
            match literal::literal_function(cx.hir, callee) {
                Some(body) => Expr { span, ..expr::expr(cx, body, want) },
                None => Expr::error(span),
            }
        }
        H::Fn(def) => call_with(cx, *def, coords, args, want, span),
        H::Builtin(builtin) => builtin::builtin_call(cx, *builtin, coords, args, want, span),
        H::Variant(def, index) => construct::make_variant(cx, *def, *index, args, want, span),
        H::Array(items) if functions::are_functions(cx.hir, items) => {
            functions::call_functions(cx, items, coords, args, want, span)
        }
        _ => {
            let value = expr::expr(cx, callee, None);
            call_value(cx, value, args, want, span)
        }
    }
}

/// Whether a bracket before the arguments can mean coordinates.
fn takes_coordinates(hir: &hir::Program, callee: ExprId) -> bool {
    match &hir.exprs[callee].kind {
        H::Fn(_) => true,
        H::Builtin(builtin) => builtin.takes_coordinates(),
        H::Array(items) => functions::are_functions(hir, items),
        H::Error => true,
        _ => false,
    }
}

fn no_coordinates(
    hir: &hir::Program,
    report: &mut Report,
    callee: ExprId,
    count: usize,
    span: Span,
) -> Expr {
    let name = match &hir.exprs[callee].kind {
        H::Builtin(builtin) => format!("`{}`", builtin_name(*builtin)),
        H::Local(local) => format!("`{}`", vars::local_name(hir, *local)),
        _ => "this function value".into(),
    };
    let d = error(Code::E0302, span, format!("{name} takes no coordinates"))
        .here(format!("{count} in brackets"))
        .help("leave the bracket out; a function of your own can take coordinates");
    report.fail(d)
}

/// Results of several functions as one array.
fn stack(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    items: Vec<Expr>,
    span: Span,
) -> Expr {
    let mut items = items;
    widen::widen_all(ix, build, report, &mut items);
    let what = "the functions of this array";
    let Some(ty) = layouts::join_values(ix, report, &items, what) else {
        return Expr::error(span);
    };
    if ty.is_broken() {
        return Expr::error(span);
    }
    let count = size::Expr::constant(items.len() as i64);
    let ty = Type::array(ty, vec![super::anonymous(count)]);
    Expr::new(ExprKind::Array(items), ty, span)
}

/// A call of a function value.
fn call_value(cx: &mut Cx, callee: Expr, args: &[Arg], want: Option<&Type>, span: Span) -> Expr {
    match callee.ty.clone() {
        Type::Template(template, _) => {
            template::call_template(cx, template, callee, args, want, span)
        }
        Type::Signature(of) => {
            let args = signature_args(cx, &callee, &of, args, span);
            call_signature(cx, callee, Vec::new(), &of, args, span)
        }
        Type::Array(array) => match &array.elem {
            Type::Signature(of) => {
                let args = signature_args(cx, &callee, of, args, span);
                let frame = (0..array.axes.len()).collect();
                call_signature(cx, callee, frame, of, args, span)
            }
            Type::Template(id, _) => {
                let args = template::value_args(cx, *id, args);
                functions::call_each(cx, *id, callee, args, span)
            }
            _ => not_callable(&cx.ix, &mut cx.report, &callee, span),
        },
        ty if ty.has_error() => {
            // Arguments may hold mistakes of their own.
            for arg in args {
                expr::expr(cx, arg.value, None);
            }
            Expr::error(span)
        }
        _ => not_callable(&cx.ix, &mut cx.report, &callee, span),
    }
}

fn not_callable(ix: &Index, report: &mut Report, callee: &Expr, span: Span) -> Expr {
    let have = ix.show(&callee.ty);
    let d = error(Code::E0510, span, format!("{} is not a function", ix.quote(callee)))
        .here("called like a function")
        .label(callee.span, format!("this is `{have}`"))
        .help(match callee.ty {
            Type::Array(_) => "index an array with brackets: `a[0]`",
            _ => "take the arguments away, or call a function or a closure",
        });
    report.fail(d)
}

/// Applies a function value to checked arguments.
pub(super) fn apply_value(cx: &mut Cx, callee: Expr, args: Vec<Expr>, span: Span) -> Expr {
    match callee.ty.clone() {
        Type::Template(id, _) => template::apply_template(cx, id, callee, args, span),
        Type::Signature(of) => {
            match as_many(&cx.ix, &mut cx.report, &callee, &of, args.len(), span) {
                true => call_signature(cx, callee, Vec::new(), &of, args, span),
                false => Expr::error(span),
            }
        }
        _ => Expr::error(span),
    }
}

/// Whether a function value gets as many arguments as it takes; reports it otherwise.
fn as_many(
    ix: &Index,
    report: &mut Report,
    callee: &Expr,
    of: &Signature,
    given: usize,
    span: Span,
) -> bool {
    let takes = of.params.len();
    if given == takes {
        return true;
    }
    let name = ix.show_name(callee).map_or("this function".into(), |name| format!("`{name}`"));
    let message = format!("{name} takes {takes} arguments, but gets {given}");
    let d = error(Code::E0508, span, message)
        .here(format!("{given} arguments"))
        .help("pass one argument for each parameter");
    report.report_at(d);
    false
}

fn signature_args(
    cx: &mut Cx,
    callee: &Expr,
    of: &Signature,
    args: &[Arg],
    span: Span,
) -> Vec<Expr> {
    let named = cx.report.refuse_names(args, "a function value");
    if named || !as_many(&cx.ix, &mut cx.report, callee, of, args.len(), span) {
        return Vec::new();
    }
    let pass = |(arg, ty): (&Arg, &Type)| {
        let value = expr::expr(cx, arg.value, Some(ty));
        match ty.scalar() {
            Some(to) if value.ty.scalar().is_some_and(|s| super::widen::holds(to, s)) => {
                widen::widen(&mut cx.ix, &mut cx.build, &mut cx.report, value, to)
            }
            _ => value,
        }
    };
    args.iter().zip(&of.params).map(pass).collect()
}

pub(super) fn call_signature(
    cx: &mut Cx,
    callee: Expr,
    frame: Vec<usize>,
    of: &Signature,
    args: Vec<Expr>,
    span: Span,
) -> Expr {
    let Signature { params, ret } = of;
    if args.len() != params.len() || args.iter().any(|arg| arg.ty.is_broken()) {
        return Expr::error(span);
    }
    let mut cells = vec![Cell { frame, cell: Vec::new() }];
    for (arg, param) in args.iter().zip(params) {
        if !coerce::same_kind(arg.ty.elem(), param.elem()) || arg.ty.rank() < param.rank() {
            let d = coerce::mismatch(&cx.ix, arg, param, "the parameter");
            return cx.report.fail(d);
        }
        let split = arg.ty.rank() - param.rank();
        let mut cell = arg.clone();
        cell.ty = stmt::without_axes(&arg.ty, split);
        if param.is_array()
            && layouts::adopt_type(
                &mut cx.ix,
                &mut cx.build,
                &mut cx.report,
                &cell,
                param,
                "the parameter",
            )
            .is_none()
        {
            return Expr::error(span);
        }
        cells.push(Cell { frame: (0..split).collect(), cell: (split..arg.ty.rank()).collect() });
    }
    let mut all = vec![callee];
    all.extend(args);
    let name = Symbol::intern("the function value");
    let ret = vars::map_sizes(ret.clone(), &mut |size| {
        if size.as_constant().is_some() { size } else { cx.ix.unknown_size(true) }
    });
    lift::lift(cx, name, all, &cells, span, |_, mut cells| {
        let callee = cells.remove(0);
        Expr::new(ExprKind::CallValue { callee, args: cells }, ret, span)
    })
}

// ---------------------------------------------------------------- functions

/// A call of a function by name.
pub(super) fn call_with(
    cx: &mut Cx,
    def: DefId,
    coords: &[CoordArg],
    args: &[Arg],
    want: Option<&Type>,
    span: Span,
) -> Expr {
    with_arguments(cx, def, coords, args, want, span, |cx, function, exprs| {
        apply(cx, def, function, coords, exprs, span)
    })
}

/// What is made of a function and the arguments of a call of it, where its coordinates are bound.
fn with_arguments(
    cx: &mut Cx,
    def: DefId,
    coords: &[CoordArg],
    args: &[Arg],
    want: Option<&Type>,
    span: Span,
    apply: impl FnOnce(&mut Cx, &Function, Vec<Expr>) -> Expr,
) -> Expr {
    let Some(function) = function::function(cx.hir, def) else { return Expr::error(span) };
    let name = format!("`{}`", cx.hir.defs[def].name);
    let assigned = cx.report.assign_args(&function.params, (&name, function.header), args, span);
    let Some(values) = assigned else {
        for arg in args {
            expr::expr(cx, arg.value, None);
        }
        return Expr::error(span);
    };
    let mapped = coords::enter_coords(&mut cx.ix, coords);
    let outer = std::mem::take(&mut cx.ix.f.indexed);
    let exprs = args::arguments(cx, function, &values, &mapped, want);
    let indexed = std::mem::replace(&mut cx.ix.f.indexed, outer);
    coords::leave_coords(&mut cx.ix, &mapped);
    let result = apply(cx, function, exprs);
    // With whole arguments it is an array, wherever it stands.
    match indexed {
        true => coords::at_point(&mut cx.ix, &mut cx.build, &mut cx.report, result, coords, span),
        false => result,
    }
}

/// Applies a function to checked arguments.
pub(super) fn apply(
    cx: &mut Cx,
    def: DefId,
    function: &Function,
    coords: &[CoordArg],
    args: Vec<Expr>,
    span: Span,
) -> Expr {
    if args.iter().any(|arg| arg.ty.is_broken()) {
        return Expr::error(span);
    }
    if let Some(value) = ragged::apply_to_rows(cx, def, function, coords, &args, span) {
        return value;
    }
    let settle = |(arg, param): (Expr, &hir::Param)| match param.ty.as_deref() {
        Some(hir::Type { kind: TypeKind::Tuple(_), .. }) => {
            parts::settle_inside(&cx.infer, &mut cx.ix, &mut cx.build, arg)
        }
        Some(_) | None => expr::settle_expr(&mut cx.ix, &mut cx.build, arg),
    };
    let args: Vec<Expr> = args.into_iter().zip(&function.params).map(settle).collect();
    let args = widen::widen_args(cx, &function.params, args);
    let (args, outer) = bind_values(&mut cx.ix, &mut cx.build, function, args);
    let result = apply_bound(cx, def, function, coords, args, span);
    for (local, binding) in outer {
        match binding {
            Some(binding) => cx.ix.f.env.insert(local, binding),
            None => cx.ix.f.env.remove(&local),
        };
    }
    result
}

/// Makes the values of integer parameters known to the extents of the signature that mention
/// them. Gives what these names meant before.
#[allow(clippy::type_complexity, reason = "used once, above")]
fn bind_values(
    ix: &mut Index,
    build: &mut Build,
    function: &Function,
    args: Vec<Expr>,
) -> (Vec<Expr>, Vec<(hir::LocalId, Option<Binding>)>) {
    let mut outer = Vec::new();
    let mut params = function.params.iter();
    let mut values = Vec::with_capacity(args.len());
    for arg in args {
        let local = params.next().and_then(|param| match (&param.pat.kind, &param.ty) {
            (hir::PatKind::Bind(local, _), Some(ty)) => match ty.kind {
                TypeKind::Scalar(scalar) if scalar.is_int() => Some(*local),
                _ => None,
            },
            _ => None,
        });
        let Some(local) = local.filter(|_| arg.ty.rank() == 0 && !arg.ty.has_error()) else {
            values.push(arg);
            continue;
        };
        let arg = vars::atomise(ix, build, arg);
        if let Some(size) = ix.to_size(&arg) {
            let name = ix.hir.locals[local].name;
            let var = ix.new_var(name.sym, name.span, arg.ty.clone());
            ix.var_sizes.insert(var, size);
            outer.push((local, ix.f.env.insert(local, Binding::Var(var))));
        }
        values.push(arg);
    }
    (values, outer)
}

/// The same, once the values of integer parameters are known.
fn apply_bound(
    cx: &mut Cx,
    def: DefId,
    function: &Function,
    coords: &[CoordArg],
    args: Vec<Expr>,
    span: Span,
) -> Expr {
    let name = cx.hir.defs[def].name.sym;
    let mut m = Match::of(name);
    if !coords::bracket(cx, &mut m, function, coords, span) {
        return Expr::error(span);
    }
    let args = functions::in_signatures(cx, &m, function, args);
    generics::infer_from_parts(cx, &mut m, function, &args);
    let Some(cells) = match_args(cx, &mut m, function, &args) else {
        return Expr::error(span);
    };
    let Some(args) = generics::infer_from_functions(cx, &mut m, function, args, span) else {
        return Expr::error(span);
    };
    if matching::sizes::solve_sizes(
        &mut cx.ix,
        &mut cx.build,
        &mut cx.report,
        &mut m,
        function,
        span,
    )
    .is_none()
    {
        return Expr::error(span);
    }
    let given: Vec<Option<Type>> = function
        .params
        .iter()
        .zip(&args)
        .map(|(param, arg)| {
            leaves_type(param, &arg.ty).then(|| coords::as_declared(cx.hir, &m, function, &arg.ty))
        })
        .collect();
    let packs: Vec<usize> =
        function.packs.iter().map(|pack| m.packs.get(pack).map_or(0, Vec::len)).collect();
    let types: Vec<Type> = function
        .generics
        .iter()
        .map(|generic| m.types.get(generic).cloned().unwrap_or(Type::Error))
        .collect();
    let args = adapt_functions(cx, function, &m, args);
    let Cx { infer, ix, build, report, .. } = cx;
    let closure = template::captured_by(infer, ix, build, report, def, span);
    if let Some(closure) = &closure {
        if closure.ty.is_broken() {
            return Expr::error(span);
        }
        if let Type::Template(_, types) = &closure.ty {
            cx.infer.f.captures = types.to_vec();
        }
    }
    let Some(at) = function::instance_of(cx, def, given, packs, types, (name, span), true) else {
        return Expr::error(span);
    };
    lift::lift(cx, name, args, &cells, span, |cx, args| {
        let mut call = call_instance(cx, at, &m, function, args, span);
        if let ExprKind::Call { closure: through, .. } = &mut *call.kind {
            *through = closure;
        }
        call
    })
}

/// A call of an instance on cells.
fn call_instance(
    cx: &mut Cx,
    at: usize,
    m: &Match,
    function: &Function,
    args: Vec<Expr>,
    span: Span,
) -> Expr {
    let instance = cx.infer.instances.items[at].clone();
    let sizes: Option<Vec<size::Expr>> =
        instance.sizes.iter().map(|key| size_argument(m, *key)).collect();
    let Some(sizes) = sizes else {
        let name = super::ranges::quote(m.function);
        let d = error(
            Code::E0410,
            span,
            format!("an extent of {name} cannot be inferred from this call"),
        )
        .here("no argument says it before the run")
        .label(function.header, "the signature")
        .help("pass the arrays of a tuple by themselves: `let (a, b) = …;`, then `a` and `b`");
        cx.report.report_at(d);
        return Expr::error(span);
    };
    if !check_assumed(&cx.ix, &mut cx.build, &mut cx.report, &instance, &sizes, &args, span) {
        return Expr::error(span);
    }
    let ty = match result::declared(function) {
        Some(ret) => {
            let declared = matching::result::result_type(cx, m, ret);
            match &instance.ret {
                Some(own) => as_far_as_held(&mut cx.ix, declared, own),
                None => declared,
            }
        }
        None => match &instance.ret {
            Some(ret) => {
                let ret = match &instance.over {
                    Some(over) => {
                        let own = function::written_over(&cx.infer, &cx.build, at);
                        function::rewritten(&cx.ix, ret.clone(), over, &own)
                    }
                    None => ret.clone(),
                };
                map_result(&mut cx.ix, &cx.build, ret, &instance, &sizes, &args)
            }
            None => Type::Error,
        },
    };
    let kind = ExprKind::Call { func: instance.func, sizes, closure: None, args };
    Expr::new(kind, ty, span)
}

/// A declared result, without the extents in it that the body is not held to: those of what an
/// enum may carry are compared where it is taken apart.
fn as_far_as_held(ix: &mut Index, declared: Type, own: &Type) -> Type {
    match (declared, own) {
        (Type::Data(id, args), Type::Data(_, own)) => {
            let args = args.iter().zip(own).map(|(arg, own)| match layouts::open_inside(ix, own) {
                true => vars::map_sizes(arg.clone(), &mut |_| ix.unknown_size(true)),
                false => arg.clone(),
            });
            Type::Data(id, args.collect())
        }
        (Type::Tuple(items), Type::Tuple(own)) => {
            let items = items.iter().zip(own);
            Type::Tuple(items.map(|(item, own)| as_far_as_held(ix, item.clone(), own)).collect())
        }
        (declared, _) => declared,
    }
}

/// Sizes that an unannotated function or closure compares at run time, where this call decides
/// them; what it does not decide is up to the calls of the function around it. Says whether nothing
/// differs.
pub(super) fn check_assumed(
    ix: &Index,
    build: &mut Build,
    report: &mut Report,
    instance: &Instance,
    sizes: &[size::Expr],
    args: &[Expr],
    span: Span,
) -> bool {
    for require in &instance.assumed {
        let left = in_caller(ix, build, &require.left, instance, sizes, args);
        let right = in_caller(ix, build, &require.right, instance, sizes, args);
        let difference = left.sub(&right).as_constant();
        if difference.is_some_and(|difference| difference != 0) {
            let name = build.out.funcs[instance.func].name;
            let (p, q) = (ix.show_size(&left), ix.show_size(&right));
            let d = error(
                Code::E0411,
                span,
                format!(
                    "`{name}` compares extents that differ in this call, {p} and {q}: {}",
                    require.what
                ),
            )
            .here("these arguments do not fit together")
            .label(require.span, "compared here")
            .help("pass arrays whose extents agree");
            report.report_at(d);
            return false;
        }
        let known = |size: &size::Expr| {
            let mut atoms = size.atoms().into_iter();
            atoms.all(|atom| caller_size(ix, build, atom, instance, sizes, args).is_some())
        };
        if difference.is_none() && known(&require.left) && known(&require.right) {
            let (what, span) = (require.what.clone(), require.span);
            build.f.assumed.push(Require { left, right, what, span });
        }
    }
    true
}

/// A size of an instance in the terms of one call, as far as the call decides it.
fn in_caller(
    ix: &Index,
    build: &Build,
    size: &size::Expr,
    instance: &Instance,
    sizes: &[size::Expr],
    args: &[Expr],
) -> size::Expr {
    size.substitute(&|atom| caller_size(ix, build, atom, instance, sizes, args))
}

/// What a hidden size, or a parameter's extent or value, is in a call.
fn caller_size(
    ix: &Index,
    build: &Build,
    atom: size::Atom,
    instance: &Instance,
    sizes: &[size::Expr],
    args: &[Expr],
) -> Option<size::Expr> {
    match ix.atoms[atom].def {
        AtomDef::Extent(var, axis) => {
            let at = instance.params.iter().position(|param| *param == var)?;
            Some(args.get(at)?.ty.axes().get(axis)?.size.clone())
        }
        AtomDef::Var(var) => {
            let hidden = &build.out.funcs[instance.func].sizes;
            if let Some(at) = hidden.iter().position(|size| *size == var) {
                return sizes.get(at).cloned();
            }
            let at = instance.params.iter().position(|param| *param == var)?;
            ix.to_size(args.get(at)?)
        }
        AtomDef::Length(_) | AtomDef::Unknown => None,
    }
}

fn size_argument(m: &Match, key: SizeKey) -> Option<size::Expr> {
    match key {
        SizeKey::Name(local) => m.sizes.get(&local).cloned(),
        SizeKey::Coord(name) => m.coord_sizes.get(&name).cloned(),
        SizeKey::Pack(local, position) => {
            m.packs.get(&local).and_then(|axes| axes.get(position)).map(|axis| axis.size.clone())
        }
    }
}

/// The result of an unannotated function in the caller's terms.
pub(super) fn map_result(
    ix: &mut Index,
    build: &Build,
    ret: Type,
    instance: &Instance,
    sizes: &[size::Expr],
    args: &[Expr],
) -> Type {
    // An extent of two parts of the result is one extent.
    let mut hidden: Vec<(size::Expr, size::Expr)> = Vec::new();
    vars::map_sizes(ret, &mut |size| {
        if let Some((_, known)) = hidden.iter().find(|(own, _)| *own == size) {
            return known.clone();
        }
        let mapped = in_caller(ix, build, &size, instance, sizes, args);
        let foreign = mapped.atoms().into_iter().find(|atom| {
            let mine = size.mentions(*atom)
                && caller_size(ix, build, *atom, instance, sizes, args).is_none();
            mine && match ix.atoms[*atom].def {
                AtomDef::Extent(var, _) | AtomDef::Var(var) | AtomDef::Length(var) => {
                    matches!(ix.vars[var].place, Place::Local(_))
                }
                AtomDef::Unknown => false,
            }
        });
        match foreign {
            Some(atom) => {
                let external = ix.atoms[atom].external;
                let external = external && !chosen_by_index(ix, atom, instance, args);
                let known = ix.unknown_size(external);
                hidden.push((size, known.clone()));
                known
            }
            None => mapped,
        }
    })
}

/// Whether a size is the value of an argument that differs from one step of a loop to the next.
fn chosen_by_index(ix: &Index, atom: size::Atom, instance: &Instance, args: &[Expr]) -> bool {
    let AtomDef::Var(var) = ix.atoms[atom].def else { return false };
    let at = instance.params.iter().position(|param| *param == var);
    at.and_then(|at| args.get(at)).is_some_and(|arg| !ix.index_deps(arg).is_empty())
}

fn match_args(cx: &mut Cx, m: &mut Match, function: &Function, args: &[Expr]) -> Option<Vec<Cell>> {
    let mut cells: Vec<Option<Cell>> = vec![None; args.len()];
    // Arguments without packs first: they may settle coordinates that split the others.
    let mut order: Vec<usize> = (0..args.len()).collect();
    order.sort_by_key(|at| usize::from(has_packs(&function.params[*at])));
    let mut failed = false;
    for at in order {
        let param = &function.params[at];
        let name = param.name.map_or(Symbol::intern("_"), |name| name.sym);
        let cell = match &param.ty {
            Some(ty) => matching::match_param(cx, m, ty, &args[at], name),
            None => Some(Cell { frame: Vec::new(), cell: (0..args[at].ty.rank()).collect() }),
        };
        failed |= cell.is_none();
        cells[at] = cell;
    }
    if failed { None } else { cells.into_iter().collect() }
}

/// Function arguments take the code that the parameter's type asks for.
fn adapt_functions(cx: &mut Cx, function: &Function, m: &Match, args: Vec<Expr>) -> Vec<Expr> {
    let adapt = |(param, arg): (&hir::Param, Expr)| match param.ty.as_deref() {
        Some(ty) if adapts(param, &arg.ty) => {
            let ty = matching::lower_quietly(cx, ty, m);
            coerce::expect_type(cx, arg, &ty, "the parameter")
        }
        _ => arg,
    };
    function.params.iter().zip(args).map(adapt).collect()
}

fn adapts(param: &hir::Param, arg: &Type) -> bool {
    param.ty.as_deref().is_some_and(|ty| match ty.kind {
        TypeKind::Function(..) => true,
        TypeKind::Tuple(_) | TypeKind::Jagged(..) | TypeKind::AnyRank(_) => {
            !leaves_type(param, arg)
        }
        _ => false,
    })
}

// ---------------------------------------------------------------- arguments

fn has_packs(param: &hir::Param) -> bool {
    match param.ty.as_deref() {
        Some(hir::Type { kind: TypeKind::Array { dims, .. }, .. }) => {
            dims.iter().filter(|dim| matches!(dim.kind, hir::DimKind::Pack(_))).count() > 1
        }
        _ => false,
    }
}

/// Whether a parameter leaves its type to the argument: it has no annotation, or leaves the rank open
/// (`[T; *]`) and gets an array.
fn leaves_type(param: &hir::Param, arg: &Type) -> bool {
    match param.ty.as_deref() {
        None => true,
        Some(ty) => matches!(ty.kind, TypeKind::AnyRank(_)) && arg.is_array(),
    }
}
