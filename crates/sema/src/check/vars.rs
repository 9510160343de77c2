//! Variables of the program under construction: places, extents, scopes and indices.

use super::state::{Build, Index};
use super::{Binding, Cx, Declared, IndexId, IndexInfo};
use crate::hir::LocalId;
use ein_base::{Name, Span, Symbol};
use ein_ir::size::{self, Atom};
use ein_ir::tensor::{
    ArrayType, AtomDef, AtomInfo, Expr, ExprKind, Place, Stmt, StmtKind, Type, Var, VarId,
};
use std::sync::Arc;

/// What the compiler calls values that it names itself.
pub(super) const TEMPORARY: &str = "$value";

impl Index<'_> {
    pub(super) fn new_var(&mut self, name: Symbol, span: Span, ty: Type) -> VarId {
        if self.f.top && self.f.loops == 0 {
            // Functions may read what the top level bound, and the extents of it.
            return self.new_global(name, span, ty);
        }
        self.new_local(name, span, ty)
    }

    pub(super) fn new_local(&mut self, name: Symbol, span: Span, ty: Type) -> VarId {
        let place = Place::Local(self.f.slots);
        self.f.slots += 1;
        self.vars.push(Var { name, span, ty, place })
    }

    pub(super) fn new_global(&mut self, name: Symbol, span: Span, ty: Type) -> VarId {
        let place = Place::Global(self.global_slots);
        self.global_slots += 1;
        self.vars.push(Var { name, span, ty, place })
    }

    pub(super) fn new_atom(&mut self, name: Symbol, def: AtomDef, external: bool) -> Atom {
        self.atoms.push(AtomInfo { name, def, external })
    }

    /// A size that nothing is known of.
    pub(super) fn unknown_size(&mut self, external: bool) -> size::Expr {
        let name = Symbol::intern("?");
        size::Expr::atom(self.new_atom(name, AtomDef::Unknown, external))
    }

    /// Gives a variable the type of its value; extents that nothing at run time stands for yet
    /// become extents of this variable.
    pub(super) fn settle_type(&mut self, var: VarId, ty: Type) -> Type {
        let name = self.vars[var].name;
        let ty = match ty {
            Type::Array(mut array) => {
                for position in 0..array.axes.len() {
                    let size = array.axes[position].size.clone();
                    if let Some(external) = self.unsettled(&size) {
                        let size = self.extent_atom(var, name, position, external);
                        Arc::make_mut(&mut array).axes[position].size = size;
                    }
                }
                Type::Array(array)
            }
            other => other,
        };
        self.vars[var].ty = ty.clone();
        ty
    }

    /// Whether a size mentions something without a meaning at run time; says whether that came
    /// from outside.
    pub(super) fn unsettled(&self, size: &size::Expr) -> Option<bool> {
        let mut found = None;
        for atom in size.atoms() {
            let info = &self.atoms[atom];
            if info.def == AtomDef::Unknown {
                found = Some(found.unwrap_or(true) && info.external);
            }
        }
        found
    }

    pub(super) fn extent_atom(
        &mut self,
        var: VarId,
        name: Symbol,
        axis: usize,
        external: bool,
    ) -> size::Expr {
        let name = Symbol::intern(&format!("{name}.shape[{axis}]"));
        let atom = self.new_atom(name, AtomDef::Extent(var, axis), external);
        let size = size::Expr::atom(atom);
        self.f.facts.ge0(size.clone());
        size
    }
}

/// Binds a value to a new local variable in the current scope.
pub(super) fn bind(ix: &mut Index, build: &mut Build, name: Symbol, value: Expr) -> VarId {
    let span = value.span;
    let var = ix.new_var(name, span, value.ty.clone());
    ix.settle_type(var, value.ty.clone());
    if let Some(size) = ix.to_size(&value) {
        ix.var_sizes.insert(var, size);
    }
    build.emit(Stmt { kind: StmtKind::Let(var, value), span });
    var
}

impl Build {
    pub(super) fn emit(&mut self, stmt: Stmt) {
        if let Some(scope) = self.f.pending.last_mut() {
            scope.push(stmt);
        }
    }
}

/// The value itself if reading it again costs nothing, else a variable that holds it.
pub(super) fn atomise(ix: &mut Index, build: &mut Build, value: Expr) -> Expr {
    match &*value.kind {
        ExprKind::Var(_) | ExprKind::Const(_) | ExprKind::Size(_) | ExprKind::Error => value,
        _ => {
            let span = value.span;
            let var = bind(ix, build, Symbol::intern(TEMPORARY), value);
            ix.var_expr(var, span)
        }
    }
}

impl Index<'_> {
    pub(super) fn var_expr(&self, var: VarId, span: Span) -> Expr {
        Expr::new(ExprKind::Var(var), self.vars[var].ty.clone(), span)
    }
}

/// Builds an expression whose statements stay inside it.
pub(super) fn scoped(cx: &mut Cx, build: impl FnOnce(&mut Cx) -> Expr) -> Expr {
    let scope = open_scope(&cx.ix, &mut cx.build);
    let value = build(cx);
    close_scope(&mut cx.ix, &mut cx.build, scope, value)
}

/// Where an expression begins whose statements stay inside it.
pub(super) struct Scope {
    facts: usize,
    extents: usize,
}

pub(super) fn open_scope(ix: &Index, build: &mut Build) -> Scope {
    build.f.pending.push(Vec::new());
    Scope { facts: ix.f.facts.len(), extents: ix.f.extents.len() }
}

pub(super) fn close_scope(ix: &mut Index, build: &mut Build, scope: Scope, value: Expr) -> Expr {
    ix.f.facts.truncate(scope.facts);
    ix.f.extents.truncate(scope.extents);
    let stmts = build.f.pending.pop().unwrap_or_default();
    ix.block(stmts, value)
}

impl Index<'_> {
    /// Statements before a value; sizes of variables that end here become unknown.
    pub(super) fn block(&mut self, stmts: Vec<Stmt>, value: Expr) -> Expr {
        if stmts.is_empty() {
            return value;
        }
        let bound = |stmt: &Stmt| match &stmt.kind {
            StmtKind::Let(var, _) => vec![*var],
            StmtKind::Destructure(pattern, _) => pattern.variables(),
            StmtKind::Expr(_) | StmtKind::Require(_) => Vec::new(),
        };
        let bound: Vec<VarId> = stmts.iter().flat_map(bound).collect();
        let ty = self.forget_vars(value.ty.clone(), &|var| bound.contains(&var));
        let span = value.span;
        Expr::new(ExprKind::Block { stmts, value }, ty, span)
    }

    /// Replaces extents that mention variables about to leave scope.
    pub(super) fn forget_vars(&mut self, ty: Type, dead: &dyn Fn(VarId) -> bool) -> Type {
        // Parts of one extent stay parts of one extent.
        let shared = matches!(ty, Type::Tuple(_));
        let mut known: Vec<(size::Expr, size::Expr)> = Vec::new();
        map_sizes(ty, &mut |size| {
            if let Some((_, same)) = known.iter().find(|(own, _)| shared && *own == size) {
                return same.clone();
            }
            let gone = size.atoms().into_iter().find(|atom| match self.atoms[*atom].def {
                AtomDef::Var(var) | AtomDef::Extent(var, _) | AtomDef::Length(var) => dead(var),
                AtomDef::Unknown => false,
            });
            match gone {
                Some(atom) => {
                    let external = self.atoms[atom].external;
                    // The name stays, so that messages still speak of `k`.
                    let name = self.atoms[atom].name;
                    let open = size::Expr::atom(self.new_atom(name, AtomDef::Unknown, external));
                    known.push((size, open.clone()));
                    open
                }
                None => size,
            }
        })
    }

    pub(super) fn new_index(&mut self, name: Name, declared: Declared) -> IndexId {
        let var = self.new_local(name.sym, name.span, Type::I32);
        let atom = self.new_atom(name.sym, AtomDef::Var(var), false);
        self.var_sizes.insert(var, size::Expr::atom(atom));
        let info = IndexInfo {
            name: name.sym,
            span: name.span,
            var,
            atom,
            declared,
            ground: None,
            free: false,
            broken: false,
        };
        let index = self.indices.push(info);
        self.index_atoms.insert(atom, index);
        index
    }

    pub(super) fn index_expr(&self, index: IndexId, span: Span) -> Expr {
        Expr::new(ExprKind::Var(self.indices[index].var), Type::I32, span)
    }

    /// The value of a local name.
    pub(super) fn local(&mut self, local: LocalId, span: Span) -> Expr {
        match self.f.env.get(&local) {
            Some(Binding::Var(var)) => self.var_expr(*var, span),
            Some(Binding::Index(index)) => self.index_expr(*index, span),
            None => match self.globals.get(&local) {
                Some(var) => self.var_expr(*var, span),
                // Its binding was broken, or a cycle of errors hid it; that was reported.
                None => Expr::error(span),
            },
        }
    }
}

pub(super) fn local_name(hir: &crate::hir::Program, local: LocalId) -> Symbol {
    hir.locals[local].name.sym
}

/// Applies a function to every size in a type.
pub(super) fn map_sizes(ty: Type, map: &mut dyn FnMut(size::Expr) -> size::Expr) -> Type {
    let mut ty = map_parts(ty, &mut |part| map_sizes(part, map));
    if let Type::Array(array) = &mut ty {
        for axis in &mut Arc::make_mut(array).axes {
            axis.size = map(axis.size.clone());
        }
    }
    ty
}

/// A type with other types as its parts: elements, items and type arguments.
pub(super) fn map_parts(ty: Type, map: &mut dyn FnMut(Type) -> Type) -> Type {
    match ty {
        Type::Array(array) => {
            let ArrayType { elem, axes } = Arc::unwrap_or_clone(array);
            Type::Array(Arc::new(ArrayType { elem: map(elem), axes }))
        }
        Type::AnyRank(elem) => Type::AnyRank(Box::new(map(*elem))),
        Type::Jagged(elem, depth) => Type::Jagged(Box::new(map(*elem)), depth),
        Type::Tuple(items) => Type::Tuple(items.into_iter().map(map).collect()),
        Type::Data(id, args) => Type::Data(id, args.into_iter().map(map).collect()),
        Type::Template(..)
        | Type::Signature(_)
        | Type::Unit
        | Type::Scalar(_)
        | Type::Str
        | Type::Range
        | Type::Error => ty,
    }
}
