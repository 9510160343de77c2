//! Statements, blocks and what they bind.

use super::{Binding, CoordExtent, Cx, error};
use crate::hir::{self, DimKind, ExprId, ExprKind as H, LocalId, LocalKind, TypeKind};
use ein_base::{Code, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::{Axis, Expr, ExprKind, HostOp, Pattern, Stmt, StmtKind, Type, VarId};

impl Cx<'_> {
    pub(super) fn stmt(&mut self, stmt: &hir::Stmt) {
        match &stmt.kind {
            hir::StmtKind::Let { pat, ty, value } => self.let_stmt(pat, ty.as_deref(), *value),
            hir::StmtKind::Define(definition) => self.define(definition),
            hir::StmtKind::System(definitions) => self.define_system(definitions),
            hir::StmtKind::Expr(value) => {
                self.f.statement = true;
                let value = self.open_value(*value, None, None);
                self.emit(Stmt { kind: StmtKind::Expr(value), span: stmt.span });
            }
        }
    }

    pub(super) fn block_expr(
        &mut self,
        stmts: &[hir::Stmt],
        tail: Option<ExprId>,
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        let statement = std::mem::take(&mut self.f.statement);
        self.scoped(|cx| {
            stmts.iter().for_each(|stmt| cx.stmt(stmt));
            match tail {
                Some(tail) => {
                    cx.f.statement = statement;
                    cx.expr(tail, want)
                }
                None => Expr::new(ExprKind::Unit, Type::Unit, span),
            }
        })
    }

    fn let_stmt(&mut self, pat: &hir::Pat, ty: Option<&hir::Type>, value: ExprId) {
        let (local, ty) = match &pat.kind {
            hir::PatKind::Bind(local, inner) => (Some(*local), ty.or(inner.as_deref())),
            _ => (None, ty),
        };
        let name = local.map(|local| self.local_name(local));
        let checked = match (name, ty) {
            (Some(name), Some(ty)) if self.is_input(value) => self.input(name, ty),
            (Some(name), None) if self.is_input(value) => {
                let span = self.hir.exprs[value].span;
                let d =
                    error(Code::E0516, span, format!("the type of input `{name}` is not known"))
                        .here("a value from outside")
                        .help(format!("write its type: `let {name}: [f32; ?, ?] = input();`"));
                self.fail(d)
            }
            (_, Some(ty)) => {
                let what = match name {
                    Some(name) => format!("the annotation of `{name}`"),
                    None => "the annotation".into(),
                };
                self.annotated(value, ty, &what)
            }
            (_, None) => {
                let want = self.wanted_by_pattern(pat);
                self.open_value(value, want.as_ref(), None)
            }
        };
        let checked = match self.is_large(&checked.ty) {
            true => self.too_large("the type of this value", checked.span),
            false => checked,
        };
        match local {
            Some(local) => {
                let checked = self.replaced_by_input(local, checked);
                let is_literal = matches!(&*checked.kind, ExprKind::Array(_) | ExprKind::Var(_));
                if ty.is_none() && is_literal && self.is_nothing(value) {
                    self.empties.insert(local);
                }
                self.bind_local(local, checked);
            }
            None => self.destructure(pat, checked),
        }
    }

    /// A top-level binding that an input of the same name replaces.
    fn replaced_by_input(&mut self, local: LocalId, value: Expr) -> Expr {
        let name = self.local_name(local);
        let is_root_global = self.f.top
            && self.hir.locals[local].kind == LocalKind::Global
            && self.inputs.contains(&name);
        if !is_root_global || value.ty.has_error() || self.is_input_expr(&value) {
            return value;
        }
        let ty = self.open_type(value.ty.clone());
        Expr::new(ExprKind::Host(HostOp::Input(name), Vec::new()), ty, value.span)
    }

    fn is_input_expr(&self, value: &Expr) -> bool {
        match &*value.kind {
            ExprKind::Host(HostOp::Input(_), _) => true,
            ExprKind::Assert { value, .. } => self.is_input_expr(value),
            ExprKind::Var(var) => self.input_vars.contains(var),
            _ => false,
        }
    }

    /// The same type with all extents open.
    fn open_type(&mut self, ty: Type) -> Type {
        self.map_sizes(ty, &mut |cx, _| cx.unknown_size(true))
    }

    fn is_input(&self, id: ExprId) -> bool {
        match &self.hir.exprs[id].kind {
            H::Call { callee, args } => {
                args.is_empty()
                    && matches!(self.hir.exprs[*callee].kind, H::Builtin(hir::Builtin::Input))
            }
            _ => false,
        }
    }

    /// `let NAME: TYPE = input();`
    fn input(&mut self, name: Symbol, ty: &hir::Type) -> Expr {
        let span = ty.span;
        match &ty.kind {
            TypeKind::Array { elem, dims, .. } => {
                let elem = self.lower_type(elem);
                // Constants are asserted where the array arrives, names after it is there.
                let mut extents = Vec::new();
                let mut axes = Vec::new();
                for dim in dims {
                    let stated = match &dim.kind {
                        DimKind::Size(e) | DimKind::Coord { extent: Some(e), .. } => {
                            self.constant_extent(*e)
                        }
                        DimKind::Unknown | DimKind::Coord { extent: None, .. } => None,
                        DimKind::Pack(_) => {
                            let d =
                                error(Code::E0410, dim.span, "an input cannot have a pack of axes")
                                    .here("how many axes?")
                                    .help("write one entry for each axis: `[f32; ?, ?]`");
                            return self.fail(d);
                        }
                    };
                    let size = match &stated {
                        Some(size) => size.clone(),
                        None => self.unknown_size(true),
                    };
                    axes.push(super::anonymous(size));
                    extents.push(stated);
                }
                let ty = Type::array(elem, axes);
                let raw =
                    Expr::new(ExprKind::Host(HostOp::Input(name), Vec::new()), ty.clone(), span);
                let what = format!("input `{name}`");
                let value = Expr::new(ExprKind::Assert { value: raw, extents, what }, ty, span);
                let var = self.bind(Symbol::intern(super::vars::TEMPORARY), value);
                self.input_vars.insert(var);
                let value = self.var_expr(var, span);
                self.adopt(value, dims, &format!("the annotation of `{name}`"))
            }
            _ => {
                let ty = self.lower_type(ty);
                Expr::new(ExprKind::Host(HostOp::Input(name), Vec::new()), ty, span)
            }
        }
    }

    pub(super) fn constant_extent(&mut self, e: ExprId) -> Option<size::Expr> {
        if self.mentions_new_size(e) {
            return None;
        }
        let size = self.size_value(e);
        self.unsettled(&size).is_none().then_some(size)
    }

    /// Whether an extent names a size for the first time.
    fn mentions_new_size(&self, e: ExprId) -> bool {
        match &self.hir.exprs[e].kind {
            H::Size(local) => !self.f.sizes.contains_key(local),
            H::Binary(_, a, b) => self.mentions_new_size(*a) || self.mentions_new_size(*b),
            H::Unary(_, a) => self.mentions_new_size(*a),
            _ => false,
        }
    }

    // ---------------------------------------------------------------- binding

    /// Binds a local name to a value.
    pub(super) fn bind_local(&mut self, local: LocalId, value: Expr) -> VarId {
        let name = self.hir.locals[local].name;
        let span = value.span;
        let var = self.new_var(name.sym, name.span, value.ty.clone());
        let ty = self.settle_type(var, value.ty.clone());
        self.size_variable(var, Some(&value), true);
        self.note_address(var, &value);
        if self.is_input_expr(&value) {
            self.input_vars.insert(var);
        }
        self.emit(Stmt { kind: StmtKind::Let(var, value), span });
        self.declare(local, var, &ty);
        var
    }

    /// Makes a variable known under a local name.
    pub(super) fn declare(&mut self, local: LocalId, var: VarId, ty: &Type) {
        self.f.env.insert(local, Binding::Var(var));
        self.declare_extents(self.out.vars[var].name, self.out.vars[var].span, ty);
        if self.f.top && self.hir.locals[local].kind == LocalKind::Global {
            self.globals.insert(local, var);
            self.note_global(var, ty);
        }
    }

    /// Notes the extents of the coordinates that a value carries.
    pub(super) fn declare_extents(&mut self, owner: Symbol, span: Span, ty: &Type) {
        for axis in ty.axes() {
            if let Some(coord) = axis.coord {
                // One value speaks for all that agree with it, so that a long program does not
                // have a long list.
                let known = self.f.extents.iter().any(|it| {
                    it.name == coord.name
                        && it.over == coord.over
                        && it.contract == coord.contract
                        && it.size == axis.size
                });
                if known {
                    continue;
                }
                self.f.extents.push(CoordExtent {
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

    fn destructure(&mut self, pat: &hir::Pat, value: Expr) {
        let span = value.span;
        let ty = value.ty.clone();
        let pattern = self.pattern(pat, &ty);
        if !self.irrefutable(&pattern) && !ty.has_error() {
            let d = error(Code::E0514, pat.span, "this pattern does not match every value")
                .here("a `let` needs a pattern that always matches")
                .label(span, format!("this is `{}`", self.show(&ty)))
                .help("use `match` and say what happens otherwise");
            self.report_at(d);
        }
        self.emit(Stmt { kind: StmtKind::Destructure(pattern, value), span });
    }

    /// What the annotations inside a pattern say about literals in the value; `Type::Error` for
    /// parts of which they say nothing.
    fn wanted_by_pattern(&mut self, pat: &hir::Pat) -> Option<Type> {
        match &pat.kind {
            hir::PatKind::Bind(_, Some(ty)) => self.wanted_by(ty),
            hir::PatKind::Tuple(items) => {
                let wants: Vec<_> = items.iter().map(|item| self.wanted_by_pattern(item)).collect();
                if wants.iter().all(Option::is_none) {
                    return None;
                }
                Some(Type::Tuple(
                    wants.into_iter().map(|want| want.unwrap_or(Type::Error)).collect(),
                ))
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

    fn irrefutable(&self, pattern: &Pattern) -> bool {
        match pattern {
            Pattern::Wild | Pattern::Bind(_) => true,
            Pattern::Tuple(items) => items.iter().all(|item| self.irrefutable(item)),
            Pattern::At(_, inner) => self.irrefutable(inner),
            Pattern::Or(items) => items.iter().any(|item| self.irrefutable(item)),
            Pattern::Data { variant: 0, fields } => {
                fields.iter().all(|item| self.irrefutable(item))
            }
            Pattern::Array { before, rest, after } => {
                before.is_empty() && after.is_empty() && rest.is_some()
            }
            Pattern::Data { .. }
            | Pattern::Literal(_)
            | Pattern::Str(_)
            | Pattern::Range { .. } => false,
        }
    }

    /// A sub-array type: what is left after the leading axes.
    pub(super) fn without_axes(&self, ty: &Type, count: usize) -> Type {
        let rest: Vec<Axis> = ty.axes().iter().skip(count).cloned().collect();
        Type::array(ty.elem().clone(), rest)
    }
}
