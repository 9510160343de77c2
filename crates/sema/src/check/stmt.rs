//! Statements, blocks and what they bind.

use super::state::Index;
use super::{
    Binding, CoordExtent, Cx, annotation, call, close, define, error, expr, facts, pattern, system,
    types, vars,
};
use crate::hir::{self, DimKind, ExprId, ExprKind as H, LocalId, LocalKind, PatKind, TypeKind};
use ein_base::{Code, Idx, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::{Axis, Expr, ExprKind, HostOp, Pattern, Stmt, StmtKind, Type, VarId};

pub(super) fn stmt(cx: &mut Cx, stmt: &hir::Stmt) {
    match &stmt.kind {
        hir::StmtKind::Let { pat, ty, value } => let_stmt(cx, pat, ty.as_deref(), *value),
        hir::StmtKind::Define(definition) => {
            cx.ix.defining.push(definition.local);
            define::define(cx, definition);
            cx.ix.defining.pop();
        }
        hir::StmtKind::System(definitions) => system::define_system(cx, definitions),
        hir::StmtKind::Expr(value) => {
            cx.infer.f.statement = true;
            let value = close::open_value(cx, *value, None, None);
            // What says something to the checker alone leaves nothing to do.
            if !matches!(*value.kind, ExprKind::Unit) {
                cx.build.emit(Stmt { kind: StmtKind::Expr(value), span: stmt.span });
            }
        }
    }
}

pub(super) fn block_expr(
    cx: &mut Cx,
    stmts: &[hir::Stmt],
    tail: Option<ExprId>,
    want: Option<&Type>,
    span: Span,
) -> Expr {
    let statement = std::mem::take(&mut cx.infer.f.statement);
    let outside = cx.ix.vars.len();
    let value = vars::scoped(cx, |cx| {
        stmts.iter().for_each(|stmt| self::stmt(cx, stmt));
        match tail {
            Some(tail) => {
                cx.infer.f.statement = statement;
                expr::expr(cx, tail, want)
            }
            None => Expr::new(ExprKind::Unit, Type::Unit, span),
        }
    });
    if matches!(value.ty, Type::Template(..)) {
        // A closure that leaves the block does not find the names of the block outside of it.
        let inner =
            |binding: &Binding| matches!(binding, Binding::Var(var) if var.index() >= outside);
        cx.ix.f.env.retain(|_, binding| !inner(binding));
    }
    value
}

fn let_stmt(cx: &mut Cx, pat: &hir::Pat, ty: Option<&hir::Type>, value: ExprId) {
    let (local, ty) = match &pat.kind {
        hir::PatKind::Bind(local, inner) => (Some(*local), ty.or(inner.as_deref())),
        _ => (None, ty),
    };
    let name = local.map(|local| vars::local_name(cx.hir, local));
    let checked = match (name, ty) {
        (Some(name), Some(ty)) if is_input(cx.hir, value) => input(cx, name, ty),
        (Some(name), None) if is_input(cx.hir, value) => {
            let span = cx.hir.exprs[value].span;
            let d = error(Code::E0516, span, format!("the type of input `{name}` is not known"))
                .here("a value from outside")
                .help(format!("write its type: `let {name}: [f32; ?, ?] = input();`"));
            cx.report.fail(d)
        }
        (_, Some(ty)) => {
            let what = match name {
                Some(name) => format!("the annotation of `{name}`"),
                None => "the annotation".into(),
            };
            annotation::annotated(cx, value, ty, &what)
        }
        (_, None) => {
            let want = wanted_by_pattern(cx, pat);
            close::open_value(cx, value, want.as_ref(), None)
        }
    };
    let checked = match cx.infer.is_large(&checked.ty) {
        true => cx.report.too_large("the type of this value", checked.span),
        false => checked,
    };
    match local {
        Some(local) => {
            let checked = replaced_by_input(&mut cx.ix, local, checked);
            let is_literal = matches!(&*checked.kind, ExprKind::Array(_) | ExprKind::Var(_));
            if ty.is_none() && is_literal && cx.infer.is_nothing(value) {
                cx.infer.empties.insert(local);
            }
            bind_local(cx, local, checked);
        }
        None => {
            let span = checked.span;
            let pattern = binding_pattern(cx, pat, &checked.ty, span);
            cx.build.emit(Stmt { kind: StmtKind::Destructure(pattern, checked), span });
        }
    }
}

/// A top-level binding that an input of the same name replaces.
fn replaced_by_input(ix: &mut Index, local: LocalId, value: Expr) -> Expr {
    let name = vars::local_name(ix.hir, local);
    let is_root_global =
        ix.f.top && ix.hir.locals[local].kind == LocalKind::Global && ix.inputs.contains(&name);
    if !is_root_global || value.ty.has_error() || is_input_expr(ix, &value) {
        return value;
    }
    let ty = open_type(ix, value.ty.clone());
    Expr::new(ExprKind::Host(HostOp::Input(name), Vec::new()), ty, value.span)
}

fn is_input_expr(ix: &Index, value: &Expr) -> bool {
    match &*value.kind {
        ExprKind::Host(HostOp::Input(_), _) => true,
        ExprKind::Assert { value, .. } => is_input_expr(ix, value),
        ExprKind::Var(var) => ix.input_vars.contains(var),
        _ => false,
    }
}

/// The same type with all extents open.
fn open_type(ix: &mut Index, ty: Type) -> Type {
    vars::map_sizes(ty, &mut |_| ix.unknown_size(true))
}

fn is_input(hir: &hir::Program, id: ExprId) -> bool {
    match &hir.exprs[id].kind {
        H::Call { callee, args } => {
            args.is_empty() && matches!(hir.exprs[*callee].kind, H::Builtin(hir::Builtin::Input))
        }
        _ => false,
    }
}

/// `let NAME: TYPE = input();`
fn input(cx: &mut Cx, name: Symbol, ty: &hir::Type) -> Expr {
    let span = ty.span;
    match &ty.kind {
        TypeKind::Array { elem, dims, .. } => {
            let elem = types::lower_type(cx, elem);
            // Constants are asserted where the array arrives, names after it is there.
            let mut extents = Vec::new();
            let mut axes = Vec::new();
            for dim in dims {
                let stated = match &dim.kind {
                    DimKind::Size(e) | DimKind::Coord { extent: Some(e), .. } => {
                        constant_extent(cx, *e)
                    }
                    DimKind::Unknown | DimKind::Coord { extent: None, .. } => None,
                    DimKind::Pack(_) => {
                        let d = error(Code::E0410, dim.span, "an input cannot have a pack of axes")
                            .here("how many axes?")
                            .help("write one entry for each axis: `[f32; ?, ?]`");
                        return cx.report.fail(d);
                    }
                };
                let size = match &stated {
                    Some(size) => size.clone(),
                    None => cx.ix.unknown_size(true),
                };
                axes.push(super::anonymous(size));
                extents.push(stated);
            }
            let ty = Type::array(elem, axes);
            let raw = Expr::new(ExprKind::Host(HostOp::Input(name), Vec::new()), ty.clone(), span);
            let what = format!("input `{name}`");
            let value = Expr::new(ExprKind::Assert { value: raw, extents, what }, ty, span);
            let Cx { ix, build, .. } = cx;
            let var = vars::bind(ix, build, Symbol::intern(super::vars::TEMPORARY), value);
            cx.ix.input_vars.insert(var);
            let value = cx.ix.var_expr(var, span);
            annotation::adopt(cx, value, dims, &format!("the annotation of `{name}`"))
        }
        _ => {
            let ty = types::lower_type(cx, ty);
            Expr::new(ExprKind::Host(HostOp::Input(name), Vec::new()), ty, span)
        }
    }
}

pub(super) fn constant_extent(cx: &mut Cx, e: ExprId) -> Option<size::Expr> {
    if mentions_new_size(&cx.ix, e) {
        return None;
    }
    let size = types::size_value(cx, e);
    cx.ix.unsettled(&size).is_none().then_some(size)
}

/// Whether an extent names a size for the first time.
fn mentions_new_size(ix: &Index, e: ExprId) -> bool {
    match &ix.hir.exprs[e].kind {
        H::Size(local) => !ix.f.sizes.contains_key(local),
        H::Binary(_, a, b) => mentions_new_size(ix, *a) || mentions_new_size(ix, *b),
        H::Unary(_, a) => mentions_new_size(ix, *a),
        _ => false,
    }
}

// ---------------------------------------------------------------- binding

/// Binds a local name to a value.
pub(super) fn bind_local(cx: &mut Cx, local: LocalId, value: Expr) -> VarId {
    let name = cx.hir.locals[local].name;
    let span = value.span;
    let var = cx.ix.new_var(name.sym, name.span, value.ty.clone());
    let ty = cx.ix.settle_type(var, value.ty.clone());
    cx.ix.size_variable(var, Some(&value), true);
    cx.ix.note_address(var, &value);
    if is_input_expr(&cx.ix, &value) {
        cx.ix.input_vars.insert(var);
    }
    cx.build.emit(Stmt { kind: StmtKind::Let(var, value), span });
    declare(cx, local, var, &ty);
    var
}

/// Makes a variable known under a local name.
pub(super) fn declare(cx: &mut Cx, local: LocalId, var: VarId, ty: &Type) {
    cx.ix.f.env.insert(local, Binding::Var(var));
    let (name, span) = (cx.ix.vars[var].name, cx.ix.vars[var].span);
    declare_extents(&mut cx.ix, name, span, ty);
    if cx.ix.f.top && cx.hir.locals[local].kind == LocalKind::Global {
        cx.ix.globals.insert(local, var);
        facts::note_global(&cx.infer, &cx.ix, &mut cx.build, &mut cx.report, var, ty);
    }
}

/// Notes the extents of the coordinates that a value carries.
pub(super) fn declare_extents(ix: &mut Index, owner: Symbol, span: Span, ty: &Type) {
    for axis in ty.axes() {
        if let Some(coord) = axis.coord {
            // One value speaks for all that agree with it, so that a long program does not
            // have a long list.
            let known = ix.f.extents.iter().any(|it| {
                it.name == coord.name
                    && it.over == coord.over
                    && it.contract == coord.contract
                    && it.size == axis.size
            });
            if known {
                continue;
            }
            ix.f.extents.push(CoordExtent {
                name: coord.name,
                over: coord.over,
                contract: coord.contract,
                size: axis.size.clone(),
                owner,
                span,
            });
        }
    }
}

/// The pattern of a `let` or of a parameter: nothing happens where it would not match.
pub(super) fn binding_pattern(cx: &mut Cx, pat: &hir::Pat, ty: &Type, value: Span) -> Pattern {
    if !irrefutable(cx.hir, pat) && !ty.has_error() {
        let d = error(Code::E0514, pat.span, "this pattern does not match every value")
            .here("a `let` needs a pattern that always matches")
            .label(value, format!("this is `{}`", cx.ix.show(ty)))
            .help("use `match` and say what happens otherwise");
        cx.report.report_at(d);
    }
    pattern::match_pattern(cx, pat, ty, None).pattern
}

/// What the annotations inside a pattern say about literals in the value; `Type::Error` for
/// parts of which they say nothing.
fn wanted_by_pattern(cx: &mut Cx, pat: &hir::Pat) -> Option<Type> {
    match &pat.kind {
        hir::PatKind::Bind(_, Some(ty)) => call::args::wanted_by(cx, ty),
        hir::PatKind::Tuple(items) => {
            let wants: Vec<_> = items.iter().map(|item| wanted_by_pattern(cx, item)).collect();
            if wants.iter().all(Option::is_none) {
                return None;
            }
            Some(Type::Tuple(wants.into_iter().map(|want| want.unwrap_or(Type::Error)).collect()))
        }
        hir::PatKind::Bind(_, None)
        | hir::PatKind::Wild
        | hir::PatKind::Literal(_)
        | hir::PatKind::Range { .. }
        | hir::PatKind::Const(_)
        | hir::PatKind::Array { .. }
        | hir::PatKind::Data { .. }
        | hir::PatKind::Or(_)
        | hir::PatKind::At(..)
        | hir::PatKind::Error => None,
    }
}

fn irrefutable(hir: &hir::Program, pat: &hir::Pat) -> bool {
    let all = |pats: &[hir::Pat]| pats.iter().all(|pat| irrefutable(hir, pat));
    match &pat.kind {
        PatKind::Wild | PatKind::Bind(..) | PatKind::Error => true,
        PatKind::Tuple(items) => all(items),
        PatKind::At(_, inner) => irrefutable(hir, inner),
        PatKind::Or(items) => items.iter().any(|item| irrefutable(hir, item)),
        PatKind::Data { def, fields, .. } => {
            let one = match &hir.defs[*def].kind {
                hir::DefKind::Enum(of) => of.variants.len() == 1,
                hir::DefKind::Fn(_)
                | hir::DefKind::Const(_)
                | hir::DefKind::Struct(_)
                | hir::DefKind::Error => true,
            };
            one && fields.iter().all(|(_, pat)| irrefutable(hir, pat))
        }
        PatKind::Array { before, rest, after } => {
            before.is_empty() && after.is_empty() && rest.is_some()
        }
        PatKind::Literal(_) | PatKind::Const(_) | PatKind::Range { .. } => false,
    }
}

/// A sub-array type: what is left after the leading axes.
pub(super) fn without_axes(ty: &Type, count: usize) -> Type {
    let rest: Vec<Axis> = ty.axes().iter().skip(count).cloned().collect();
    Type::array(ty.elem().clone(), rest)
}
