//! Arguments to parameters: by place, by name, by default.

use super::super::matching::Match;
use super::super::{Cx, IndexId, error};
use crate::check::literal::Class;
use crate::check::state::Report;
use crate::check::{annotation, call, close, expr, fields, literal, matching};
use crate::hir::{self, Arg, ExprId, Function, Param, TypeKind};
use ein_base::{Code, Span, Symbol};
use ein_ir::tensor::walk::each_in_stmt;
use ein_ir::tensor::{Expr, Signature, Type};
use rustc_hash::FxHashMap;

impl Report {
    /// Refuses arguments by name where parameters have none. Says whether there were any.
    pub(in crate::check) fn refuse_names(&mut self, args: &[Arg], what: &str) -> bool {
        let Some(name) = args.iter().find_map(|arg| arg.name) else { return false };
        let d = error(
            Code::E0509,
            name.span,
            format!("the parameters of {what} have no names, so no `{name}`"),
        )
        .here("an argument by name")
        .help("pass the arguments by position, in the order of the parameters");
        self.report_at(d);
        true
    }

    /// Which argument goes to which parameter; `None` stands for the default.
    pub(in crate::check) fn assign_args(
        &mut self,
        params: &[Param],
        (what, declared): (&str, Span),
        args: &[Arg],
        span: Span,
    ) -> Option<Vec<Option<ExprId>>> {
        let mut values: Vec<Option<ExprId>> = vec![None; params.len()];
        let count = params.len();
        let mut next = 0;
        for arg in args {
            let at = match arg.name {
                Some(named) => {
                    let at = params
                        .iter()
                        .position(|param| param.name.is_some_and(|param| param.sym == named.sym));
                    match at {
                        Some(at) if values[at].is_none() => at,
                        Some(_) => {
                            let d = error(
                                Code::E0509,
                                named.span,
                                format!("argument `{named}` of {what} is given twice"),
                            )
                            .here("already given by position")
                            .help("pass each argument once");
                            self.report_at(d);
                            return None;
                        }
                        None => {
                            let known = params.iter().filter_map(|p| p.name.map(|n| n.sym));
                            let nearest = crate::suggest::nearest(named.sym, known.clone());
                            let list: Vec<_> = known.map(|n| format!("`{n}`")).collect();
                            let d = error(
                                Code::E0509,
                                named.span,
                                format!("{what} has no parameter `{named}`"),
                            )
                            .here("no such parameter")
                            .label(declared, "declared here")
                            .note(format!("its parameters are {}", list.join(", ")));
                            let d = match nearest {
                                Some(near) => d.fix(
                                    format!("did you mean `{near}`?"),
                                    named.span,
                                    near.as_str(),
                                ),
                                None => d.help("use one of these names, or pass it by position"),
                            };
                            self.report_at(d);
                            return None;
                        }
                    }
                }
                None => {
                    next += 1;
                    next - 1
                }
            };
            if at < count {
                values[at] = Some(arg.value);
            }
        }
        let missing = params
            .iter()
            .zip(&values)
            .find(|(param, value)| value.is_none() && param.default.is_none());
        if next > count || missing.is_some() {
            let required = params.iter().filter(|param| param.default.is_none()).count();
            let takes = if required == count {
                format!("{count}")
            } else {
                format!("{required} to {count}")
            };
            let gets = match missing.and_then(|(param, _)| param.name) {
                // There are enough of them: they are for other parameters.
                Some(missing) if (required..=count).contains(&args.len()) => {
                    format!("{what} gets no value for `{missing}`")
                }
                _ => format!("{what} takes {takes} {}, but gets {}", plural(count), args.len()),
            };
            let d = error(Code::E0508, span, gets)
                .here(format!("{} {}", args.len(), plural(args.len())))
                .label(declared, "declared here");
            let d = match missing.and_then(|(param, _)| param.name) {
                Some(missing) if next <= count => d.help(format!("pass a value for `{missing}`")),
                _ => d.help("leave out what is too much"),
            };
            self.report_at(d);
            return None;
        }
        Some(values)
    }
}

/// All arguments. Those of a generic type that are made of literals come last: they take the
/// type of the others, or of the result that is asked for. So do floats for parameters without a
/// type, where all floats of the others are of one type.
pub(in crate::check) fn arguments(
    cx: &mut Cx,
    function: &Function,
    values: &[Option<ExprId>],
    mapped: &[(Symbol, IndexId)],
    want: Option<&Type>,
) -> Vec<Expr> {
    let mut exprs: Vec<Option<Expr>> = vec![None; values.len()];
    let mut known: FxHashMap<hir::LocalId, Type> = FxHashMap::default();
    let mut order: Vec<usize> = (0..values.len()).collect();
    // Nothing but literals says what the parameters are.
    let asked = want
        .and_then(Type::scalar)
        .filter(|ty| ty.is_float() && literal::is_open_call(cx.hir, function, values))
        .map(Type::Scalar);
    let class = |cx: &Cx, at: usize| {
        values[at].or(function.params[at].default).and_then(|id| literal::literal_class(cx.hir, id))
    };
    // Literals have a type of their own if need be, those with a point first, and `[]` has none.
    let open = |at: usize| {
        let param = &function.params[at];
        match class(cx, at) {
            _ if generic_of(param).is_some()
                && values[at].is_some_and(|id| cx.infer.is_empty(id)) =>
            {
                3
            }
            Some(Class::Int) if generic_of(param).is_some() => 2,
            Some(Class::Float) if generic_of(param).is_some() || param.ty.is_none() => 1,
            _ => 0,
        }
    };
    order.sort_by_key(|at| open(*at));
    for at in order {
        let param = &function.params[at];
        let generic = generic_of(param);
        let hint = generic.and_then(|generic| {
            known.get(&generic).map(|ty| ty.elem().clone()).or_else(|| {
                let same = function.ret.as_ref().and_then(generic_in) == Some(generic);
                want.filter(|_| same).map(|want| want.elem().clone())
            })
        });
        // Nothing says what it is: `2.0` in `pow(x, 2.0)` is like the floats beside it.
        let hint = hint.or_else(|| {
            let class = class(cx, at)?;
            match (generic, &param.ty, class) {
                (Some(_), _, _) => {
                    known.iter().find_map(|(_, ty)| literal::literal_like(class, ty))
                }
                (None, None, Class::Float) => asked
                    .clone()
                    .or_else(|| floats_beside(&exprs, &mut |whole| fields::part_types(cx, whole))),
                (None, ..) => None,
            }
        });
        let want = hint.or_else(|| wanted_by(cx, param.ty.as_ref()?));
        let empty = values[at].and_then(|id| wanted_of_empty(cx, id, want.as_ref(), param));
        let want = empty.or(want);
        let expr = match values[at] {
            // Coordinate arguments are bound in it, and it is closed over them.
            Some(id) => closed_argument(cx, id, want.as_ref(), mapped),
            None => default_argument(cx, param, want.as_ref()),
        };
        cx.ix.f.indexed |= !cx.ix.index_deps(&expr).is_empty();
        match (generic, &param.ty) {
            (Some(generic), _) if !expr.ty.has_error() => {
                known.entry(generic).or_insert_with(|| expr.ty.elem().clone());
            }
            (None, Some(ty)) if !function.generics.is_empty() => {
                call::generics::infer_from_part(cx, ty, &expr.ty, &mut known);
            }
            _ => {}
        }
        exprs[at] = Some(expr);
    }
    exprs.into_iter().flatten().collect()
}

/// The type of the floats in all these values, parts of tuples and structs among them, if it is one.
fn floats_beside(
    values: &[Option<Expr>],
    parts: &mut dyn FnMut(&Type) -> Vec<Type>,
) -> Option<Type> {
    let mut types: Vec<Type> = values.iter().flatten().map(|value| value.ty.clone()).collect();
    let mut found = None;
    while let Some(ty) = types.pop() {
        match ty.elem() {
            Type::Scalar(number) if number.is_float() => {
                if *found.get_or_insert(*number) != *number {
                    return None;
                }
            }
            whole => types.extend(parts(whole)),
        }
    }
    // A literal by itself is an `f32`; it is not to lose digits because of others.
    found.filter(|number| *number == ein_scalar::ScalarType::F64).map(Type::Scalar)
}

pub(in crate::check) fn closed_argument(
    cx: &mut Cx,
    id: ExprId,
    want: Option<&Type>,
    mapped: &[(Symbol, IndexId)],
) -> Expr {
    if mapped.is_empty() {
        return expr::expr(cx, id, want);
    }
    cx.build.f.pending.push(Vec::new());
    let value = expr::expr(cx, id, want);
    let stmts = cx.build.f.pending.pop().unwrap_or_default();
    let mut used = cx.ix.index_deps(&value);
    for stmt in &stmts {
        each_in_stmt(stmt, &mut |e| used.extend(cx.ix.index_deps(e)));
    }
    let used: Vec<IndexId> =
        mapped.iter().map(|(_, bound)| *bound).filter(|bound| used.contains(bound)).collect();
    if used.is_empty() {
        for stmt in stmts {
            cx.build.emit(stmt);
        }
        return value;
    }
    cx.ix.f.indexed = true;
    let body = cx.ix.block(stmts, value);
    close::close_over(&mut cx.ix, &mut cx.build, &mut cx.report, used, body)
}

/// What `[]` is as an argument: an array without rows, of the rank of the parameter.
fn wanted_of_empty(
    cx: &mut Cx,
    id: ExprId,
    elem: Option<&Type>,
    param: &hir::Param,
) -> Option<Type> {
    let TypeKind::Array { dims, .. } = &param.ty.as_ref()?.kind else { return None };
    let elem = elem?;
    // Sizes are names of the signature, which may be that of the function being checked.
    let sizes = std::mem::take(&mut cx.ix.f.sizes);
    let want = annotation::wanted_of_nothing(cx, id, elem, dims);
    cx.ix.f.sizes = sizes;
    want
}

/// What the type of a parameter or of a part of a pattern says about literals and closures.
pub(in crate::check) fn wanted_by(cx: &mut Cx, ty: &hir::Type) -> Option<Type> {
    match &ty.kind {
        TypeKind::Scalar(scalar) => Some(Type::Scalar(*scalar)),
        TypeKind::Array { elem, .. } => match &elem.kind {
            TypeKind::Scalar(scalar) => Some(Type::Scalar(*scalar)),
            TypeKind::Str => Some(Type::Str),
            TypeKind::Data(..) | TypeKind::Tuple(_) => {
                let of = matching::lower_quietly(cx, elem, &Match::default());
                (!of.has_error()).then_some(of)
            }
            TypeKind::Function(..) => {
                let of = matching::lower_quietly(cx, elem, &Match::default());
                let known = |of: &Signature| !of.params.iter().any(Type::has_error);
                matches!(&of, Type::Signature(of) if known(of)).then_some(of)
            }
            _ => None,
        },
        TypeKind::Function(..) => None,
        TypeKind::Tuple(_) | TypeKind::Data(..) | TypeKind::Jagged(..) | TypeKind::Str => {
            let m = Match::default();
            Some(matching::lower_quietly(cx, ty, &m))
        }
        TypeKind::AnyRank(_) => {
            Some(matching::lower_quietly(cx, ty, &Match::default())).filter(|ty| !ty.has_error())
        }
        TypeKind::Param(_) | TypeKind::Some(..) | TypeKind::Error => None,
    }
}

fn default_argument(cx: &mut Cx, param: &hir::Param, want: Option<&Type>) -> Expr {
    match param.default {
        Some(_) if cx.infer.defaults.contains(&param.span) => {
            let name = param.name.map_or(Symbol::intern("_"), |name| name.sym);
            let message = format!("the default of `{name}` depends on itself");
            let d = error(Code::E0211, param.span, message)
                .here(format!("a call here takes the default of `{name}` again"))
                .help("pass the argument in that call");
            cx.report.fail(d)
        }
        Some(default) => {
            cx.infer.defaults.push(param.span);
            let value = expr::expr(cx, default, want);
            cx.infer.defaults.pop();
            value
        }
        None => Expr::error(param.span),
    }
}

// ---------------------------------------------------------------- coordinate arguments

fn plural(count: usize) -> &'static str {
    if count == 1 { "argument" } else { "arguments" }
}

/// The type parameter that a parameter (or its elements) is of.
fn generic_of(param: &hir::Param) -> Option<hir::LocalId> {
    param.ty.as_deref().and_then(generic_in)
}

fn generic_in(ty: &hir::Type) -> Option<hir::LocalId> {
    match &ty.kind {
        TypeKind::Param(local) => Some(*local),
        TypeKind::Array { elem, .. } => generic_in(elem),
        _ => None,
    }
}
