//! An array of functions is a frame: the frames of the arguments begin with it.
//!
//! Before:  `[up, down](m)` with `m`: `[2, n]` and functions of numbers
//! After:   `[up(m[0]), down(m[1])]`
//!
//! Limit: only functions whose parameters have types with fixed ranks take part of an argument;
//! all others take arguments whole.

use super::super::symbolic::SizeRelation;
use super::super::{Cx, error};
use crate::check::matching::{self, Cell, Match};
use crate::check::state::{Build, Index, Infer, Report};
use crate::check::template::Template;
use crate::check::{coerce, expr, function, lift, template, vars};
use crate::hir::{Arg, CoordArg, DimKind, ExprId, ExprKind as H, Function, Param, TypeKind};
use ein_base::{Code, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::{Bounds, Expr, Type};

/// The functions of an array, which may be nested, and how they are called.
#[derive(Clone, Copy)]
struct Frame<'c> {
    coords: &'c [CoordArg],
    args: &'c [Arg],
    want: Option<&'c Type>,
    span: Span,
    /// Whether all functions say the ranks of their cells.
    ranked: bool,
}

/// Calls each function of an array on its part of the arguments.
pub(super) fn call_functions(
    cx: &mut Cx,
    items: &[ExprId],
    coords: &[CoordArg],
    args: &[Arg],
    want: Option<&Type>,
    span: Span,
) -> Expr {
    let mut functions = Vec::new();
    each_function(cx.hir, items, &mut functions);
    let ranks: Option<Vec<Vec<usize>>> =
        functions.iter().map(|item| cell_ranks(cx.hir, *item)).collect();
    if let Some(ranks) = &ranks
        && let Some(other) = (1..ranks.len()).find(|at| ranks[*at] != ranks[0])
    {
        let [a, b] = [0, other].map(|at| function_name(cx.hir, functions[at]));
        let d = error(
            Code::E0409,
            span,
            format!("the functions of one array, {a} and {b}, take arguments of different ranks"),
        )
        .here("the function's frame is that of all of them")
        .help("call the functions one by one");
        return cx.report.fail(d);
    }
    let frame = Frame { coords, args, want, span, ranked: ranks.is_some() };
    call_frame(cx, items, frame, &mut Vec::new())
}

/// Calls each function of an array that is a value: the frames of arguments begin with its axes, as
/// far as the functions say the ranks of their cells.
pub(super) fn call_each(cx: &mut Cx, id: u32, callee: Expr, args: Vec<Expr>, span: Span) -> Expr {
    if args.iter().any(|arg| arg.ty.is_broken()) {
        return Expr::error(span);
    }
    let ranks = template_ranks(&cx.infer, id);
    let cell = |(at, arg): (usize, &Expr)| {
        let rank = arg.ty.rank();
        let cell =
            ranks.as_ref().and_then(|ranks| ranks.get(at)).map_or(rank, |cell| rank.min(*cell));
        Cell { frame: (0..rank - cell).collect(), cell: (rank - cell..rank).collect() }
    };
    let mut cells = vec![Cell { frame: (0..callee.ty.rank()).collect(), cell: Vec::new() }];
    cells.extend(args.iter().enumerate().map(cell));
    let mut all = vec![callee];
    all.extend(args);
    let name = Symbol::intern("the functions of an array");
    lift::lift(cx, name, all, &cells, span, |cx, mut cells| {
        let callee = cells.remove(0);
        template::apply_template(cx, id, callee, cells, span)
    })
}

/// Arrays of functions among arguments, in the signatures that the parameters declare.
pub(super) fn in_signatures(
    cx: &mut Cx,
    m: &Match,
    function: &Function,
    args: Vec<Expr>,
) -> Vec<Expr> {
    let declared = |param: &Param| match param.ty.as_deref().map(|ty| &ty.kind) {
        Some(TypeKind::Array { elem, .. }) if matches!(elem.kind, TypeKind::Function(..)) => {
            Some(elem.clone())
        }
        _ => None,
    };
    let adapt = |(arg, param): (Expr, &Param)| match (declared(param), arg.ty.elem()) {
        (Some(elem), Type::Template(..)) if arg.ty.is_array() => {
            let elem = matching::lower_quietly(cx, &elem, m);
            coerce::each_item(cx, arg, &elem, "the parameter")
        }
        _ => arg,
    };
    args.into_iter().zip(&function.params).map(adapt).collect()
}

/// The ranks of the cells of a function value, if it says them.
fn template_ranks(infer: &Infer, id: u32) -> Option<Vec<usize>> {
    match infer.templates.get(id as usize)? {
        Template::Fn(def) => {
            function::function(infer.hir, *def)?.params.iter().map(cell_rank).collect()
        }
        Template::Closure(closure) => cell_ranks(infer.hir, *closure),
        Template::Rerank(_, ranks) => Some(ranks.clone()),
        Template::Choice(ids) => {
            let mut ranks = ids.iter().map(|id| template_ranks(infer, *id));
            let first = ranks.next()??;
            ranks.all(|other| other.as_ref() == Some(&first)).then_some(first)
        }
        Template::Builtin(_) => None,
    }
}

/// Whether these are functions, or arrays of them.
pub(super) fn are_functions(hir: &crate::hir::Program, items: &[ExprId]) -> bool {
    !items.is_empty()
        && items.iter().all(|item| match &hir.exprs[*item].kind {
            H::Fn(_) | H::Builtin(_) | H::Closure { .. } => true,
            H::Array(items) => are_functions(hir, items),
            _ => false,
        })
}

fn each_function(hir: &crate::hir::Program, items: &[ExprId], found: &mut Vec<ExprId>) {
    for item in items {
        match &hir.exprs[*item].kind {
            H::Array(items) => each_function(hir, items, found),
            _ => found.push(*item),
        }
    }
}

/// The calls of the functions of one axis; `path` says the places on the axes before it, and
/// their extents.
fn call_frame(
    cx: &mut Cx,
    items: &[ExprId],
    frame: Frame<'_>,
    path: &mut Vec<(usize, usize)>,
) -> Expr {
    let mut results = Vec::new();
    for (at, item) in items.iter().enumerate() {
        path.push((at, items.len()));
        results.push(call_item(cx, *item, frame, path));
        path.pop();
    }
    super::stack(&mut cx.ix, &mut cx.build, &mut cx.report, results, frame.span)
}

fn call_item(cx: &mut Cx, item: ExprId, frame: Frame<'_>, path: &mut Vec<(usize, usize)>) -> Expr {
    let hir = cx.hir;
    let Frame { coords, args, want, span, ranked } = frame;
    match &hir.exprs[item].kind {
        H::Array(items) => call_frame(cx, items, frame, path),
        H::Fn(def) if ranked => {
            super::with_arguments(cx, *def, coords, args, want, span, |cx, function, exprs| {
                let Cx { ix, build, report, .. } = cx;
                let parts = parts_for(ix, build, report, exprs, &function.params, path);
                super::apply(cx, *def, function, coords, parts, span)
            })
        }
        H::Closure { params, .. } if ranked && coords.is_empty() => {
            let callee = expr::expr(cx, item, None);
            let Type::Template(template, _) = callee.ty else { return Expr::error(span) };
            let Some(exprs) = template::closure_args(cx, item, args, span) else {
                return Expr::error(span);
            };
            let parts = parts_for(&mut cx.ix, &mut cx.build, &mut cx.report, exprs, params, path);
            template::apply_template(cx, template, callee, parts, span)
        }
        _ => super::call(cx, item, coords, args, want, span),
    }
}

/// The ranks of the cells of a function, if it says them.
fn cell_ranks(hir: &crate::hir::Program, item: ExprId) -> Option<Vec<usize>> {
    let params: &[Param] = match &hir.exprs[item].kind {
        H::Fn(def) => &function::function(hir, *def)?.params,
        H::Closure { params, .. } => params,
        _ => return None,
    };
    params.iter().map(cell_rank).collect()
}

fn function_name(hir: &crate::hir::Program, item: ExprId) -> String {
    match &hir.exprs[item].kind {
        H::Fn(def) => format!("`{}`", hir.defs[*def].name),
        _ => "a closure".into(),
    }
}

/// What the function at a place of the array gets of the arguments.
fn parts_for(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    args: Vec<Expr>,
    params: &[Param],
    path: &[(usize, usize)],
) -> Vec<Expr> {
    args.into_iter()
        .zip(params)
        .map(|(arg, param)| {
            path.iter()
                .fold(arg, |arg, (at, count)| part_for(ix, build, report, arg, param, *at, *count))
        })
        .collect()
}

/// What the function at a place along one axis gets of an argument.
fn part_for(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    arg: Expr,
    param: &Param,
    at: usize,
    count: usize,
) -> Expr {
    let (span, rank) = (arg.span, cell_rank(param).unwrap_or(0));
    if arg.ty.has_error() || arg.ty.rank() <= rank {
        return arg;
    }
    let arg = expr::settle_expr(ix, build, arg);
    let frame = arg.ty.axes()[0].size.clone();
    let wanted = size::Expr::constant(count as i64);
    match ix.compare_sizes(&frame, &wanted) {
        SizeRelation::Equal => {}
        SizeRelation::AtRunTime => {
            let what = "the frame of an array of functions".into();
            coerce::require(ix, build, frame, wanted, what, span);
        }
        SizeRelation::Different => {
            let d = error(
                Code::E0409,
                span,
                format!("an array of {count} functions meets a frame of {}", ix.show_size(&frame)),
            )
            .here(format!("this is `{}`", ix.show(&arg.ty)))
            .help("one frame must be a prefix of the other: compare the leading axes");
            return report.fail(d);
        }
    }
    let arg = vars::atomise(ix, build, arg);
    expr::read(arg, vec![Expr::int(at as i64, span)], Bounds::Proved, span)
}

/// The rank of the cells that a parameter takes, if its type says one.
fn cell_rank(param: &Param) -> Option<usize> {
    match &param.ty.as_deref()?.kind {
        // What a type parameter stands for is a number.
        TypeKind::Scalar(_) | TypeKind::Str | TypeKind::Data(..) | TypeKind::Param(_) => Some(0),
        TypeKind::Array { dims, .. } => {
            let packs = dims.iter().any(|dim| matches!(dim.kind, DimKind::Pack(_)));
            (!packs).then_some(dims.len())
        }
        TypeKind::Tuple(_)
        | TypeKind::AnyRank(_)
        | TypeKind::Jagged(..)
        | TypeKind::Function(..)
        | TypeKind::Some(..)
        | TypeKind::Error => None,
    }
}
