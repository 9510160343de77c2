//! Statements, blocks, and values that meet an annotation.

use super::symbolic::SizeRelation;
use super::{Binding, CoordExtent, Cx, error};
use crate::hir::{self, Dim, DimKind, ExprId, ExprKind as H, LocalId, LocalKind, TypeKind};
use ein_base::{Code, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::{AtomDef, Axis, Expr, ExprKind, HostOp, Pattern, Stmt, StmtKind, Type, VarId};

impl Cx<'_> {
    pub(super) fn stmt(&mut self, stmt: &hir::Stmt) {
        match &stmt.kind {
            hir::StmtKind::Let { pat, ty, value } => self.let_stmt(pat, ty.as_deref(), *value),
            hir::StmtKind::Define(definition) => self.define(definition),
            hir::StmtKind::Expr(value) => {
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
        self.scoped(|cx| {
            stmts.iter().for_each(|stmt| cx.stmt(stmt));
            match tail {
                Some(tail) => cx.expr(tail, want),
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
        match local {
            Some(local) => {
                let checked = self.replaced_by_input(local, checked);
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
                let var = self.bind(Symbol::intern(super::TEMPORARY), value);
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

    fn constant_extent(&mut self, e: ExprId) -> Option<size::Expr> {
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

    /// Checks a value against an annotation.
    pub(super) fn annotated(&mut self, value: ExprId, ty: &hir::Type, what: &str) -> Expr {
        match &ty.kind {
            TypeKind::Array { elem, dims, .. } if !matches!(elem.kind, TypeKind::Some(..)) => {
                let layout = layout_of(dims);
                let elem = self.lower_type(elem);
                let want = match self.wanted_of_nothing(value, &elem, dims) {
                    Some(whole) => whole,
                    None => elem.clone(),
                };
                let value = self.open_value(value, Some(&want), layout.as_deref());
                self.meet_array(value, elem, dims, what)
            }
            TypeKind::Array { elem, .. } => {
                // A frame of rows whose lengths differ.
                let TypeKind::Some(_, row) = &elem.kind else { return Expr::error(ty.span) };
                let row = self.lower_type(row);
                let want = Type::Jagged(Box::new(row.elem().clone()), 2);
                let value = self.open_value(value, Some(&want), None);
                self.expect_type(value, &want, what)
            }
            TypeKind::Some(sizes, body) => {
                for size in sizes {
                    self.f.sizes.remove(size);
                }
                self.annotated(value, body, what)
            }
            _ => {
                let ty = self.lower_type(ty);
                let value = self.open_value(value, Some(&ty), None);
                self.expect_type(value, &ty, what)
            }
        }
    }

    /// What is asked of `[]`: without rows nothing but the annotation tells how long they are.
    pub(super) fn wanted_of_nothing(
        &mut self,
        value: ExprId,
        elem: &Type,
        dims: &[Dim],
    ) -> Option<Type> {
        let is_empty = self.is_empty(value);
        let in_row = dims.iter().any(|dim| matches!(dim.kind, DimKind::Pack(_)));
        if !is_empty || in_row || dims.len() < 2 || elem.is_array() {
            return None;
        }
        let mut axes = Vec::new();
        for dim in dims {
            let stated = match &dim.kind {
                DimKind::Size(e) | DimKind::Coord { extent: Some(e), .. } => {
                    self.constant_extent(*e)
                }
                DimKind::Unknown | DimKind::Coord { extent: None, .. } | DimKind::Pack(_) => None,
            };
            axes.push(super::anonymous(stated.unwrap_or_else(size::Expr::zero)));
        }
        Some(Type::array(elem.clone(), axes))
    }

    /// A value against an array type.
    pub(super) fn meet_array(&mut self, value: Expr, elem: Type, dims: &[Dim], what: &str) -> Expr {
        if value.ty.is_broken() {
            let axes = self.lower_dims(dims);
            return Expr::new(ExprKind::Error, Type::array(elem, axes), value.span);
        }
        let value = super::arms::complete(value, &elem);
        if let Type::AnyRank(_) = &value.ty {
            let axes = self.lower_dims(dims);
            let span = value.span;
            return self.assert_shape(value, Type::array(elem, axes), span);
        }
        if !self.same_kind(value.ty.elem(), &elem)
            || value.ty.rank() != dims.len()
            || !value.ty.is_array()
        {
            let axes = self.lower_dims(dims);
            let mut d = self.mismatch(&value, &Type::array(elem, axes), what);
            if matches!(value.ty, Type::Jagged(..)) {
                d.code = Code::E0405;
                d.message = format!(
                    "{what} is a rectangular array, but the rows of this value differ in length"
                );
            }
            return self.fail(d);
        }
        let value = self.settle_expr(value);
        self.adopt(value, dims, what)
    }

    /// Gives a value the coordinates and sizes that an annotation declares, after comparing them
    /// with its own.
    pub(super) fn adopt(&mut self, value: Expr, dims: &[Dim], what: &str) -> Expr {
        let declared: Vec<Option<Symbol>> = dims
            .iter()
            .map(|dim| match &dim.kind {
                DimKind::Coord { name, .. } => Some(name.sym),
                DimKind::Unknown | DimKind::Size(_) | DimKind::Pack(_) => None,
            })
            .collect();
        if !self.check_names(&value, &declared, what, value.span) {
            return Expr::error(value.span);
        }
        let mut axes = value.ty.axes().to_vec();
        for (position, dim) in dims.iter().enumerate() {
            let (extent, coord) = match &dim.kind {
                DimKind::Unknown => (None, None),
                DimKind::Size(e) => (Some(*e), None),
                DimKind::Coord { name, extent, over } => {
                    (*extent, Some(self.declared_coord(name.sym, over.map(|over| over.sym))))
                }
                DimKind::Pack(_) => continue,
            };
            let Some(axis) = axes.get_mut(position) else { break };
            if let Some(coord) = coord {
                // A role keeps what it is a role of.
                let over = coord.over.or(axis
                    .coord
                    .and_then(|old| (old.name == coord.name).then_some(old.over).flatten()));
                axis.coord = Some(super::types::contract(coord.name, over));
            }
            if let Some(extent) = extent {
                let size = axis.size.clone();
                if let Some(stated) =
                    self.match_extent(extent, &size, &value, position, coord.map(|c| c.name), what)
                {
                    axes[position].size = stated;
                }
            }
        }
        self.check_dims_distinct(dims);
        let mut value = value;
        value.ty = Type::array(value.ty.elem().clone(), axes);
        value
    }

    fn check_dims_distinct(&mut self, dims: &[Dim]) {
        let names: Vec<_> = dims
            .iter()
            .filter_map(|dim| match &dim.kind {
                DimKind::Coord { name, .. } => Some(name.sym),
                _ => None,
            })
            .collect();
        let twice = names.iter().enumerate().any(|(i, name)| names[..i].contains(name));
        if twice {
            self.lower_dims(dims);
        }
    }

    /// One stated extent against the extent that is there; gives the size to go on with.
    fn match_extent(
        &mut self,
        extent: ExprId,
        actual: &size::Expr,
        value: &Expr,
        position: usize,
        coord: Option<Symbol>,
        what: &str,
    ) -> Option<size::Expr> {
        if let H::Size(local) = &self.hir.exprs[extent].kind
            && !self.f.sizes.contains_key(local)
        {
            let name = self.local_name(*local);
            if let Some(atom) = actual.as_atom()
                && self.out.atoms[atom].name.as_str().contains(".shape[")
            {
                self.out.atoms[atom].name = name;
            }
            self.f.sizes.insert(*local, actual.clone());
            return Some(actual.clone());
        }
        let stated = self.size_value(extent);
        let stated = self.solve_new_size(&stated, actual);
        match self.compare_sizes(actual, &stated) {
            SizeRelation::Equal => Some(stated),
            SizeRelation::AtRunTime => {
                let axis = match coord {
                    Some(name) => format!("coordinate `{name}` in {what}"),
                    None => format!("axis {position} in {what}"),
                };
                self.require(actual.clone(), stated.clone(), axis, value.span);
                Some(stated)
            }
            SizeRelation::Different => {
                let axis = match coord {
                    Some(name) => format!("coordinate `{name}`"),
                    None => format!("axis {position}"),
                };
                let (have, want) = (self.show_size(actual), self.show_size(&stated));
                let d = error(
                    Code::E0405,
                    value.span,
                    format!("{axis} has extent {have}, but {what} says {want}"),
                )
                .here(format!("this is `{}`", self.show(&value.ty)))
                .label(self.hir.exprs[extent].span, format!("stated as {want}"))
                .help(format!("state the extent that the value has: `{have}`"));
                self.report_at(d);
                None
            }
        }
    }

    /// Solves `?n + 1 == actual` for the new name `?n`, if there is one.
    fn solve_new_size(&mut self, stated: &size::Expr, actual: &size::Expr) -> size::Expr {
        let open: Vec<_> = stated
            .atoms()
            .into_iter()
            .filter(|atom| self.out.atoms[*atom].def == AtomDef::Unknown)
            .collect();
        if let [atom] = open.as_slice()
            && let Some((1, rest)) = stated.affine_in(*atom)
        {
            let solved = actual.sub(&rest);
            for size in self.f.sizes.values_mut() {
                if size.as_atom() == Some(*atom) {
                    *size = solved.clone();
                }
            }
            return actual.clone();
        }
        stated.clone()
    }

    /// The names of a value's axes against declared ones. Contract axes must carry the declared
    /// names; given ones are renamed by position unless they are the declared names in another
    /// order.
    pub(super) fn check_names(
        &mut self,
        value: &Expr,
        declared: &[Option<Symbol>],
        what: &str,
        span: Span,
    ) -> bool {
        let axes = value.ty.axes();
        let have: Vec<Option<Symbol>> =
            axes.iter().map(|axis| axis.coord.map(|coord| coord.name)).collect();
        let wrong =
            axes.iter().zip(declared).position(|(axis, declared)| match (axis.coord, declared) {
                (Some(coord), Some(name)) => coord.name != *name && coord.root() != *name,
                _ => false,
            });
        let Some(position) = wrong else { return true };
        let Some(wanted) = declared[position] else { return true };
        let swapped =
            have.iter().enumerate().any(|(other, name)| other != position && *name == Some(wanted));
        let contract = axes[position].coord.is_some_and(|coord| coord.contract);
        let found = have[position].map_or("_".into(), |name| name.to_string());
        let names: Vec<_> = declared.iter().flatten().map(Symbol::to_string).collect();
        let names = format!("{{{}}}", names.join(", "));
        let layout = self.show_coords(axes);
        let quoted = self.quote(value);
        let d = if swapped {
            error(
                Code::E0311,
                span,
                format!("{quoted} has the layout {layout}, but {what} says {names}"),
            )
            .here(format!("axis {position} is `{found}`, declared as `{wanted}`"))
            .help(format!(
                "write the declared order by name: `{}[{}]`",
                self.show_name(value).map_or("x".into(), |name| name.to_string()),
                have.iter().flatten().map(Symbol::to_string).collect::<Vec<_>>().join(", ")
            ))
        } else if contract {
            error(
                Code::E0309,
                span,
                format!("{quoted} has no coordinate `{wanted}`: it has {layout}, and {what} says {names}"),
            )
            .here(format!("axis {position} is `{found}`"))
            .help(format!("declare it as `{found}`, or pass a value that has `{wanted}`"))
        } else {
            return true;
        };
        let d = match self.declared_at(value) {
            Some(at) => d.label(at, format!("declared with {layout}")),
            None => d,
        };
        self.report_at(d);
        false
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

/// The coordinates of an annotation, if every axis has one.
pub(super) fn layout_of(dims: &[Dim]) -> Option<Vec<Symbol>> {
    dims.iter()
        .map(|dim| match &dim.kind {
            DimKind::Coord { name, .. } => Some(name.sym),
            DimKind::Unknown | DimKind::Size(_) | DimKind::Pack(_) => None,
        })
        .collect()
}
