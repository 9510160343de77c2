//! Function values. A function or closure without fixed types is a *template*: its code is chosen
//! where it is called, or where a signature asks for it.

mod inlined;
pub(in crate::check) mod signature;

use super::instance::{Key, Source};
use super::matching::Cell;
use super::state::{Build, Index, Infer, Report};
use super::{
    Binding, Cx, annotation, builtin, call, choice, close, error, expr, function, layouts, lift,
    stmt, types, vars,
};
use crate::hir::{self, Arg, Builtin, DefId, ExprId, ExprKind as H, LocalId, Param};
use crate::resolve::reads_what_is_defined;
use ein_base::{Code, Name, Span, Symbol};
use ein_ir::tensor::{Expr, ExprKind, Type};

/// What a function value stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Template {
    Fn(DefId),
    Builtin(Builtin),
    Closure(ExprId),
    /// The same function with other cell ranks.
    Rerank(u32, Vec<usize>),
    /// One of several functions, by number.
    Choice(Vec<u32>),
}

impl Infer<'_> {
    fn template(&mut self, template: Template) -> u32 {
        match self.templates.iter().position(|known| *known == template) {
            Some(at) => at as u32,
            None => {
                self.templates.push(template);
                self.templates.len() as u32 - 1
            }
        }
    }

    pub(super) fn template_value(
        &mut self,
        template: Template,
        captures: Vec<Expr>,
        span: Span,
    ) -> Expr {
        let id = self.template(template);
        let types = captures.iter().map(|capture| capture.ty.clone()).collect();
        let ty = Type::Template(id, types);
        Expr::new(ExprKind::Closure { func: None, captures }, ty, span)
    }
}

pub(super) fn fn_value(
    infer: &mut Infer,
    ix: &mut Index,
    report: &mut Report,
    def: DefId,
    span: Span,
) -> Expr {
    let captures = fn_captures(ix, report, def, span);
    infer.template_value(Template::Fn(def), captures, span)
}

/// The values of the body around it that a nested function reads.
fn fn_captures(ix: &mut Index, report: &mut Report, def: DefId, span: Span) -> Vec<Expr> {
    let Some(function) = function::function(ix.hir, def) else { return Vec::new() };
    let name = ix.hir.defs[def].name;
    function
        .captures
        .iter()
        .map(|local| {
            let known =
                ix.hir.locals[*local].kind == hir::LocalKind::Size || ix.f.env.contains_key(local);
            if known {
                return capture(ix, *local, span);
            }
            let value = ix.hir.locals[*local].name;
            if ix.defining.contains(local) {
                return report.fail(reads_what_is_defined(name, value, span));
            }
            let message = format!("`{name}` reads `{value}`, which is not bound where it is used");
            let d = error(Code::E0202, span, message)
                .here("used here")
                .label(value.span, "bound here")
                .help(format!("use `{name}` below the binding of `{value}`"));
            report.fail(d)
        })
        .collect()
}

/// What provides the captures of a call of a function; `None` if it has none.
pub(super) fn captured_by(
    infer: &mut Infer,
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    def: DefId,
    span: Span,
) -> Option<Expr> {
    if function::function(infer.hir, def)?.captures.is_empty() {
        return None;
    }
    match infer.f.callee.take() {
        Some((own, callee)) if own == def => Some(callee),
        _ => {
            let value = fn_value(infer, ix, report, def, span);
            Some(vars::atomise(ix, build, value))
        }
    }
}

impl Infer<'_> {
    pub(super) fn builtin_value(&mut self, builtin: Builtin, span: Span) -> Expr {
        self.template_value(Template::Builtin(builtin), Vec::new(), span)
    }
}

pub(super) fn closure_value(
    cx: &mut Cx,
    id: ExprId,
    _params: &[Param],
    captures: &[LocalId],
    want: Option<&Type>,
    span: Span,
) -> Expr {
    // What reads a tensor that is not there yet takes nothing along: it is read where it is called.
    let values = match inlined::is_inlined(&cx.infer, &cx.ix, id, &[]) {
        true => Vec::new(),
        false => captures.iter().map(|local| capture(&mut cx.ix, *local, span)).collect(),
    };
    let value = cx.infer.template_value(Template::Closure(id), values, span);
    match want {
        Some(Type::Signature(wanted)) => {
            signature::specialise_value(cx, value, wanted.params.clone(), wanted.ret.clone())
        }
        _ => value,
    }
}

fn capture(ix: &mut Index, local: LocalId, span: Span) -> Expr {
    match ix.hir.locals[local].kind {
        hir::LocalKind::Size => {
            let size = types::named_size(ix, local);
            Expr::size(size, span)
        }
        _ => ix.local(local, span),
    }
}

/// `rerank(f, r1, …)`
pub(super) fn rerank(cx: &mut Cx, args: &[Arg], span: Span) -> Expr {
    let Some((first, ranks)) = args.split_first() else {
        return cx.report.fail(
            error(Code::E0508, span, "`rerank` takes a function and its cell ranks")
                .here("no arguments")
                .help("write `rerank(f, 1, 1)`"),
        );
    };
    let value = expr::expr(cx, first.value, None);
    let Type::Template(inner, _) = value.ty else {
        if value.ty.has_error() {
            return value;
        }
        let d = error(Code::E0510, value.span, "`rerank` takes a function")
            .here(format!("this is `{}`", cx.ix.show(&value.ty)))
            .help("pass a function by name");
        return cx.report.fail(d);
    };
    let mut cells = Vec::new();
    for rank in ranks {
        match cx.hir.exprs[rank.value].kind {
            H::Int(rank, _) => cells.push(usize::try_from(rank).unwrap_or(usize::MAX)),
            _ => {
                let at = cx.hir.exprs[rank.value].span;
                return cx.report.fail(
                    error(Code::E0409, at, "a cell rank must be a literal")
                        .here("known only when the program runs")
                        .help("write a number: `rerank(f, 1, 1)`"),
                );
            }
        }
    }
    if let Some(takes) = cx.infer.parameter_count(inner)
        && takes != cells.len()
    {
        let name = cx.infer.template_name(inner);
        let d = error(
            Code::E0508,
            span,
            format!(
                "{name} takes {takes} arguments, but `rerank` gives {} cell ranks",
                cells.len()
            ),
        )
        .here(format!("{} cell ranks", cells.len()))
        .help("give one rank for each parameter of the function");
        return cx.report.fail(d);
    }
    let (captures, span) = match *value.kind {
        ExprKind::Closure { captures, .. } => (captures, value.span),
        _ => (Vec::new(), value.span),
    };
    cx.infer.template_value(Template::Rerank(inner, cells), captures, span)
}

impl Infer<'_> {
    /// How many arguments a function value takes; a built-in may take several numbers of them.
    fn parameter_count(&self, id: u32) -> Option<usize> {
        match self.templates.get(id as usize)? {
            Template::Fn(def) => Some(function::function(self.hir, *def)?.params.len()),
            Template::Closure(closure) => match &self.hir.exprs[*closure].kind {
                H::Closure { params, .. } => Some(params.len()),
                _ => None,
            },
            Template::Rerank(_, ranks) => Some(ranks.len()),
            Template::Choice(ids) => self.parameter_count(*ids.first()?),
            Template::Builtin(_) => None,
        }
    }

    /// The same by its type.
    pub(super) fn takes(&self, ty: &Type) -> Option<usize> {
        match ty {
            Type::Template(id, _) => self.parameter_count(*id),
            Type::Signature(of) => Some(of.params.len()),
            _ => None,
        }
    }

    /// What a function value is called in messages.
    fn template_name(&self, id: u32) -> String {
        match self.templates.get(id as usize) {
            Some(Template::Fn(def)) => format!("`{}`", self.hir.defs[*def].name),
            Some(Template::Rerank(inner, _)) => self.template_name(*inner),
            Some(Template::Closure(_)) => "this closure".into(),
            Some(Template::Builtin(_) | Template::Choice(_)) | None => "the function".into(),
        }
    }
}

/// A call of a template.
pub(super) fn call_template(
    cx: &mut Cx,
    id: u32,
    callee: Expr,
    args: &[Arg],
    want: Option<&Type>,
    span: Span,
) -> Expr {
    let Some(template) = cx.infer.templates.get(id as usize).cloned() else {
        return Expr::error(span);
    };
    let positional = !matches!(template, Template::Fn(_) | Template::Closure(_));
    if positional && cx.report.refuse_names(args, "a function value") {
        return Expr::error(span);
    }
    match template {
        Template::Fn(def) => {
            cx.infer.f.callee = Some((def, callee));
            call::call_with(cx, def, &[], args, want, span)
        }
        Template::Choice(ids) => {
            let args = value_args(cx, id, args);
            choice::call_choice(cx, id, &ids, callee, args, span)
        }
        Template::Builtin(builtin) => builtin::builtin_call(cx, builtin, &[], args, want, span),
        Template::Closure(closure) => {
            let Some(args) = closure_args(cx, closure, args, span) else {
                return Expr::error(span);
            };
            call_closure(cx, closure, callee, args, span)
        }
        Template::Rerank(inner, ranks) => {
            let args = value_args(cx, inner, args);
            call_reranked(cx, inner, callee, &ranks, args, span)
        }
    }
}

/// The arguments of a function value: literals take what its parameters ask for.
pub(super) fn value_args(cx: &mut Cx, inner: u32, args: &[Arg]) -> Vec<Expr> {
    match cx.infer.templates.get(inner as usize).cloned() {
        Some(Template::Fn(def)) => {
            if let Some(function) = function::function(cx.hir, def)
                && function.params.len() == args.len()
            {
                let values: Vec<Option<ExprId>> = args.iter().map(|arg| Some(arg.value)).collect();
                return call::args::arguments(cx, function, &values, &[], None);
            }
        }
        Some(Template::Closure(closure)) => {
            if cx.infer.parameter_count(inner) == Some(args.len())
                && let Some(args) = closure_args(cx, closure, args, cx.hir.exprs[closure].span)
            {
                return args;
            }
        }
        Some(Template::Rerank(inner, _)) => return value_args(cx, inner, args),
        // The first function that declares its parameters says what literals are.
        Some(Template::Choice(ids)) => {
            let declares =
                |id: &&u32| matches!(cx.infer.templates.get(**id as usize), Some(Template::Fn(_)));
            return match ids.iter().find(declares).or(ids.first()) {
                Some(id) => value_args(cx, *id, args),
                None => Vec::new(),
            };
        }
        Some(Template::Builtin(_)) | None => {}
    }
    args.iter().map(|arg| expr::expr(cx, arg.value, None)).collect()
}

/// The arguments of a closure: literals take the types of its parameters.
pub(super) fn closure_args(
    cx: &mut Cx,
    closure: ExprId,
    args: &[Arg],
    span: Span,
) -> Option<Vec<Expr>> {
    let hir = cx.hir;
    let H::Closure { params, .. } = &hir.exprs[closure].kind else { return None };
    let at = hir.exprs[closure].span;
    let values = cx.report.assign_args(params, ("this closure", at), args, span)?;
    let typed = values.into_iter().flatten().zip(params).map(|(value, param)| {
        let want = param.ty.as_ref().map(|ty| types::lower_type(cx, ty));
        expr::expr(cx, value, want.as_ref())
    });
    Some(typed.collect())
}

/// Applies a template to checked arguments.
pub(super) fn apply_template(
    cx: &mut Cx,
    id: u32,
    callee: Expr,
    args: Vec<Expr>,
    span: Span,
) -> Expr {
    let Some(template) = cx.infer.templates.get(id as usize).cloned() else {
        return Expr::error(span);
    };
    match template {
        Template::Choice(ids) => choice::call_choice(cx, id, &ids, callee, args, span),
        Template::Fn(def) => match function::function(cx.hir, def) {
            Some(function) if function.params.len() == args.len() => {
                cx.infer.f.callee = Some((def, callee));
                call::apply(cx, def, function, &[], args, span)
            }
            Some(function) => {
                let name = cx.hir.defs[def].name;
                let d = error(
                    Code::E0508,
                    span,
                    format!(
                        "`{name}` takes {} arguments, but gets {}",
                        function.params.len(),
                        args.len()
                    ),
                )
                .here(format!("{} arguments", args.len()))
                .label(function.header, "declared here")
                .help("pass a function with that many parameters");
                cx.report.fail(d)
            }
            None => Expr::error(span),
        },
        Template::Builtin(builtin) => builtin::apply_builtin(cx, builtin, &[], args, span),
        Template::Closure(closure) => {
            let hir = cx.hir;
            let H::Closure { params, .. } = &hir.exprs[closure].kind else {
                return Expr::error(span);
            };
            if params.len() != args.len() {
                let d = error(
                    Code::E0508,
                    hir.exprs[closure].span,
                    format!(
                        "this closure takes {} arguments, but is given {}",
                        params.len(),
                        args.len()
                    ),
                )
                .here("the closure")
                .label(span, "called here")
                .help("give the closure that many parameters");
                return cx.report.fail(d);
            }
            call_closure(cx, closure, callee, args, span)
        }
        Template::Rerank(inner, ranks) => call_reranked(cx, inner, callee, &ranks, args, span),
    }
}

/// A call of a closure on checked arguments, lifted over what they have beyond the cells that
/// its parameters declare.
fn call_closure(cx: &mut Cx, closure: ExprId, callee: Expr, args: Vec<Expr>, span: Span) -> Expr {
    if args.iter().any(|arg| arg.ty.is_broken()) {
        return Expr::error(span);
    }
    let hir = cx.hir;
    let H::Closure { params, .. } = &hir.exprs[closure].kind else { return Expr::error(span) };
    let cells: Vec<Cell> = params
        .iter()
        .zip(&args)
        .map(|(param, arg)| {
            let rank = arg.ty.rank();
            let cell = param.ty.as_deref().and_then(cell_rank).unwrap_or(rank).min(rank);
            Cell { frame: (0..rank - cell).collect(), cell: (rank - cell..rank).collect() }
        })
        .collect();
    for (param, arg) in params.iter().zip(&args) {
        let Some(hir::Type { kind: hir::TypeKind::Array { dims, .. }, .. }) = param.ty.as_deref()
        else {
            continue;
        };
        let dims = super::result::expand_packs(&cx.ix, dims);
        let stated = layouts::stated(cx, &dims);
        let mut cell = arg.clone();
        cell.ty = stmt::without_axes(&arg.ty, arg.ty.rank().saturating_sub(dims.len()));
        let name = param.name.map_or(Symbol::intern("_"), |name| name.sym);
        let what = format!("parameter `{name}` of this closure");
        if !layouts::check_leaf(&cx.ix, &mut cx.report, &cell, &stated, &what, false) {
            return Expr::error(span);
        }
    }
    if cells.iter().all(|cell| cell.frame.is_empty()) {
        return call_closure_cells(cx, closure, callee, args, span);
    }
    let callee = vars::atomise(&mut cx.ix, &mut cx.build, callee);
    lift::lift(cx, Symbol::intern("closure"), args, &cells, span, |cx, args| {
        call_closure_cells(cx, closure, callee, args, span)
    })
}

/// The same on cells, which are held to what the parameters declare.
fn call_closure_cells(
    cx: &mut Cx,
    closure: ExprId,
    callee: Expr,
    args: Vec<Expr>,
    span: Span,
) -> Expr {
    let hir = cx.hir;
    let H::Closure { params, .. } = &hir.exprs[closure].kind else { return Expr::error(span) };
    // Each call gives the sizes that the parameters name values of its own.
    let outer = cx.ix.f.sizes.clone();
    let hold = |(arg, param): (Expr, &Param)| {
        let Some(ty) = param.ty.as_deref() else { return arg };
        let name = param.name.map_or(Symbol::intern("_"), |name| name.sym);
        annotation::meet(cx, arg, ty, &format!("parameter `{name}` of this closure"))
    };
    let args: Vec<Expr> = args.into_iter().zip(params).map(hold).collect();
    cx.ix.f.sizes = outer;
    if let Type::Template(_, captures) = &callee.ty
        && inlined::is_inlined(&cx.infer, &cx.ix, closure, captures)
    {
        return inlined::call(cx, closure, args, span);
    }
    call_captured(cx, callee, args, span, |cx, captures, types| {
        closure_instance(cx, closure, captures, types, span)
    })
}

/// A call of a value that carries what it captured, by the code for arguments of some types.
pub(super) fn call_captured(
    cx: &mut Cx,
    callee: Expr,
    args: Vec<Expr>,
    span: Span,
    instance: impl FnOnce(&mut Cx, Vec<Type>, Vec<Type>) -> Option<usize>,
) -> Expr {
    if args.iter().any(|arg| arg.ty.is_broken()) {
        return Expr::error(span);
    }
    let args: Vec<Expr> =
        args.into_iter().map(|arg| expr::settle_expr(&mut cx.ix, &mut cx.build, arg)).collect();
    let types: Vec<Type> = args.iter().map(|arg| arg.ty.clone()).collect();
    let captures = match &callee.ty {
        Type::Template(_, captures) => captures.to_vec(),
        _ => Vec::new(),
    };
    let Some(at) = instance(cx, captures, types) else { return Expr::error(span) };
    let instance = cx.infer.instances.items[at].clone();
    call::check_assumed(&cx.ix, &mut cx.build, &mut cx.report, &instance, &[], &args, span);
    let ty = match &instance.ret {
        Some(ret) => call::map_result(&mut cx.ix, &cx.build, ret.clone(), &instance, &[], &args),
        None => Type::Error,
    };
    let closure = Some(callee);
    let kind = ExprKind::Call { func: instance.func, sizes: Vec::new(), closure, args };
    Expr::new(kind, ty, span)
}

fn closure_instance(
    cx: &mut Cx,
    closure: ExprId,
    captures: Vec<Type>,
    types: Vec<Type>,
    span: Span,
) -> Option<usize> {
    let hir = cx.hir;
    let node = &hir.exprs[closure];
    let H::Closure { params, body, captures: locals } = &node.kind else { return None };
    let key = Key::new(Source::Closure(closure), &captures, &types);
    let name = Name { sym: Symbol::intern("closure"), span: node.span };
    function::instance(cx, key, name, Some((name.sym, span)), |cx, at| {
        cx.infer.instances.items[at].captures = enter_captures(&mut cx.ix, locals, &captures);
        let mut vars = Vec::new();
        for (param, ty) in params.iter().zip(&types) {
            enter_packs(&mut cx.ix, param, ty);
            vars.push(function::enter_parameter(cx, param, Some(ty)));
        }
        cx.infer.instances.items[at].params = vars;
        cx.infer.f.statement = true;
        close::open_value(cx, *body, None, None)
    })
}

/// Packs in the type of a closure's parameter: those of the bodies around are known by the axes of the
/// argument, and one more stands for the axes that the other dimensions leave.
fn enter_packs(ix: &mut Index, param: &Param, given: &Type) {
    let Some(hir::Type { kind: hir::TypeKind::Array { dims, .. }, .. }) = param.ty.as_deref()
    else {
        return;
    };
    let pack = |dim: &hir::Dim| match dim.kind {
        hir::DimKind::Pack(local) => Some(local),
        hir::DimKind::Unknown | hir::DimKind::Size(_) | hir::DimKind::Coord { .. } => None,
    };
    // Extents of the argument mean nothing here.
    let given = vars::map_sizes(given.clone(), &mut |_| ix.unknown_size(true));
    if dims.iter().filter_map(pack).count() > 1 {
        ix.capture_packs(&given);
    }
    let new = |dim: &hir::Dim| pack(dim).filter(|local| ix.pack_axes(*local).is_none());
    let Some((at, local)) = dims.iter().enumerate().find_map(|(at, dim)| Some((at, new(dim)?)))
    else {
        return;
    };
    let width =
        |dim: &hir::Dim| pack(dim).and_then(|local| ix.pack_axes(local)).map_or(1, Vec::len);
    let before: usize = dims[..at].iter().map(width).sum();
    let after: usize = dims[at + 1..].iter().map(width).sum();
    if let Some(end) = given.rank().checked_sub(after)
        && before <= end
    {
        let axes = given.axes()[before..end].to_vec();
        ix.f.signature_packs.insert(local, axes);
    }
}

/// Binds what a function captured in its own frame.
pub(super) fn enter_captures(
    ix: &mut Index,
    locals: &[LocalId],
    types: &[Type],
) -> Vec<ein_ir::tensor::VarId> {
    let mut vars = Vec::new();
    for (local, ty) in locals.iter().zip(types) {
        let name = ix.hir.locals[*local].name;
        let ty = vars::map_sizes(ty.clone(), &mut |size| {
            if size.as_constant().is_some() { size } else { ix.unknown_size(true) }
        });
        let var = ix.new_var(name.sym, name.span, ty.clone());
        let ty = ix.settle_type(var, ty);
        ix.size_variable(var, None, true);
        if ix.hir.locals[*local].kind == hir::LocalKind::Size
            && let Some(size) = ix.var_sizes.get(&var).cloned()
        {
            ix.f.sizes.insert(*local, size);
        }
        ix.f.env.insert(*local, Binding::Var(var));
        stmt::declare_extents(ix, name.sym, name.span, &ty);
        ix.capture_packs(&ty);
        vars.push(var);
    }
    vars
}

/// A call with other cell ranks: lifted over what each argument has beyond them.
fn call_reranked(
    cx: &mut Cx,
    inner: u32,
    callee: Expr,
    ranks: &[usize],
    args: Vec<Expr>,
    span: Span,
) -> Expr {
    if args.iter().any(|arg| arg.ty.is_broken()) {
        return Expr::error(span);
    }
    if ranks.len() != args.len() {
        let d = error(
            Code::E0508,
            span,
            format!(
                "`rerank` gave {} cell ranks, but there are {} arguments",
                ranks.len(),
                args.len()
            ),
        )
        .here(format!("{} arguments", args.len()))
        .help("give one rank for each argument");
        return cx.report.fail(d);
    }
    let mut cells = Vec::new();
    for (arg, cell) in args.iter().zip(ranks) {
        let rank = arg.ty.rank();
        let Some(split) = rank.checked_sub(*cell) else {
            let d = error(
                Code::E0405,
                arg.span,
                format!("`rerank` says cells of rank {cell}, but this argument has rank {rank}"),
            )
            .here(format!("this is `{}`", cx.ix.show(&arg.ty)))
            .help("give a rank that the argument has");
            return cx.report.fail(d);
        };
        cells.push(Cell { frame: (0..split).collect(), cell: (split..rank).collect() });
    }
    let name = match cx.infer.templates.get(inner as usize) {
        Some(Template::Fn(def)) => cx.hir.defs[*def].name.sym,
        _ => Symbol::intern("the function"),
    };
    lift::lift(cx, name, args, &cells, span, |cx, args| {
        apply_template(cx, inner, callee, args, span)
    })
}

/// The rank of the cells that a declared type takes; `None` if it takes the whole argument.
fn cell_rank(ty: &hir::Type) -> Option<usize> {
    match &ty.kind {
        hir::TypeKind::Scalar(_) | hir::TypeKind::Str => Some(0),
        hir::TypeKind::Array { dims, .. } => {
            let packs = dims.iter().any(|dim| matches!(dim.kind, hir::DimKind::Pack(_)));
            (!packs).then_some(dims.len())
        }
        _ => None,
    }
}
