//! Types: scalars, data types, axes, and the sizes and packs that axes name.

use super::defs::Signature;
use super::lower::{Found, FrameKind, Lower, Pos, other_alias};
use super::scope::{Bound, Space};
use super::{ItemId, ItemKind, Target};
use crate::hir::{self, Dim, DimKind, ExprId, ExprKind, LocalId, LocalKind, Type, TypeKind};
use ein_base::{Code, Diagnostic, Name, Symbol};
use ein_syntax::ast::{self, TypeId};

/// What other languages call our scalar types.
const FOREIGN: &[(&str, &str)] = &[
    ("float", "f32"),
    ("double", "f64"),
    ("int", "i32"),
    ("long", "i64"),
    ("uint", "u32"),
    ("byte", "u8"),
    ("boolean", "bool"),
    ("string", "str"),
    ("String", "str"),
];

impl<'r> Lower<'r, '_> {
    /// A type.
    pub(super) fn ty(&mut self, id: TypeId) -> Type {
        let ty = &self.ast.ty[id];
        let kind = match &ty.kind {
            ast::TypeKind::Path { path, args } => {
                let args: Vec<Type> = args.iter().map(|arg| self.ty(*arg)).collect();
                self.named_type(path, args)
            }
            ast::TypeKind::Array { elem, dims, no_broadcast } => {
                let mut elem = Box::new(self.ty(*elem));
                let mut dims = match dims {
                    None => vec![Dim { kind: DimKind::Unknown, span: ty.span }],
                    Some(dims) => dims.iter().map(|dim| self.dim(dim)).collect(),
                };
                // An array of rows has their axes after its own.
                if let TypeKind::Array { elem: inner, dims: rows, .. } = elem.kind {
                    dims.extend(rows);
                    elem = inner;
                }
                TypeKind::Array { elem, dims: dims.into(), no_broadcast: *no_broadcast }
            }
            ast::TypeKind::AnyRank(elem) => TypeKind::AnyRank(Box::new(self.ty(*elem))),
            ast::TypeKind::Jagged { elem, depth } => {
                TypeKind::Jagged(Box::new(self.ty(*elem)), depth.unwrap_or(2))
            }
            ast::TypeKind::Tuple(types) => {
                TypeKind::Tuple(types.iter().map(|ty| self.ty(*ty)).collect())
            }
            ast::TypeKind::Function { params, ret } => TypeKind::Function(
                params.iter().map(|ty| self.ty(*ty)).collect(),
                Box::new(self.ty(*ret)),
            ),
            ast::TypeKind::Some { sizes, body } => {
                let start = self.hidden_sizes.len();
                let locals: Vec<LocalId> = sizes
                    .iter()
                    .map(|name| {
                        let local = self.local(*name, LocalKind::Size);
                        self.hidden_sizes.push((name.sym, local));
                        local
                    })
                    .collect();
                let body = Box::new(self.ty(*body));
                self.hidden_sizes.truncate(start);
                TypeKind::Some(locals.into(), body)
            }
            ast::TypeKind::Error => TypeKind::Error,
        };
        Type { kind, span: ty.span }
    }

    fn named_type(&mut self, path: &[Name], args: Vec<Type>) -> TypeKind {
        let target = match path {
            [name] => {
                if let Some(&scalar) = self.r.builtins.scalars.get(&name.sym) {
                    return TypeKind::Scalar(scalar);
                }
                if name.sym == self.r.builtins.words.str {
                    return TypeKind::Str;
                }
                let entry = self.scopes.entry(self.scopes.head(Space::Type, name.sym));
                if let Some(entry) = entry
                    && entry.frame >= self.floor
                    && let Bound::Local(local) = entry.bound
                {
                    return TypeKind::Param(local);
                }
                self.find_type(name.sym)
            }
            _ => Some(self.path_target(path)),
        };
        match target {
            Some(Target::Error) => TypeKind::Error,
            Some(Target::Item(item)) if self.r.items[item].kind == ItemKind::Alias => {
                self.alias(item, path, &args)
            }
            Some(Target::Item(item)) if self.is_type(Target::Item(item)) => {
                TypeKind::Data(self.r.def_of(item), args.into())
            }
            Some(Target::Item(_) | Target::Variant(..) | Target::Known(_)) | None => {
                self.unknown_type(path, target.is_some());
                TypeKind::Error
            }
        }
    }

    /// What another name for a type stands for.
    fn alias(&mut self, item: ItemId, path: &[Name], args: &[Type]) -> TypeKind {
        let Some(&last) = path.last() else { return TypeKind::Error };
        if !args.is_empty() {
            let text = format!("`{last}` is another name for a type and takes no arguments");
            let declared = self.r.items[item].name.span;
            self.report(
                Diagnostic::new(Code::E0508, last.span, text)
                    .here("arguments are given")
                    .label(declared, "declared here")
                    .help(format!("write `{last}`")),
            );
            return TypeKind::Error;
        }
        if !self.r.aliases.contains_key(&item) {
            self.r.aliases.insert(item, None);
            let module = self.r.items[item].module;
            let ty = if module == self.module {
                self.alias_here(item)
            } else {
                let ast = self.r.modules[module].ast.clone();
                ast.and_then(|ast| other_alias(self.r, &ast, module, item))
            };
            self.r.aliases.insert(item, Some(ty.unwrap_or(TypeKind::Error)));
        }
        match self.r.aliases.get(&item) {
            Some(Some(kind)) => kind.clone(),
            Some(None) | None => {
                let declared = self.r.items[item].name.span;
                let text = format!("the type `{last}` is made of itself");
                self.report(
                    Diagnostic::new(Code::E0211, last.span, text)
                        .here("leads back to itself")
                        .label(declared, "declared here")
                        .help("a type that contains itself is an `enum` or a `struct`"),
                );
                TypeKind::Error
            }
        }
    }

    /// Reports a name that is no type; `known` if it is something else.
    pub(super) fn unknown_type(&mut self, path: &[Name], known: bool) {
        let Some(&last) = path.last() else { return };
        let text = if known {
            format!("`{last}` is not a type")
        } else {
            format!("unknown type `{last}`")
        };
        let diagnostic = Diagnostic::new(Code::E0517, last.span, text).here("no such type");
        let foreign = FOREIGN.iter().find(|(name, _)| *name == last.sym.as_str());
        let diagnostic = match foreign {
            Some((_, ours)) => {
                diagnostic.fix(format!("this type is called `{ours}`"), last.span, *ours)
            }
            None => {
                let names = self.type_names();
                let otherwise =
                    format!("declare it: `struct {last} {{ … }}`, or name a type: `f32`");
                self.r.suggest_among(diagnostic, last, &names, otherwise)
            }
        };
        self.report(diagnostic);
    }

    fn is_type(&self, target: Target) -> bool {
        match target {
            Target::Item(item) => {
                let kind = &self.r.items[item].kind;
                matches!(kind, ItemKind::Struct | ItemKind::Alias | ItemKind::Enum(_))
            }
            Target::Variant(..) | Target::Known(_) => false,
            Target::Error => true,
        }
    }

    /// What a name means as a type: values of that name do not hide it.
    fn find_type(&mut self, sym: Symbol) -> Option<Target> {
        let mut next = self.scopes.head(Space::Value, sym);
        while let Some(entry) = self.scopes.entry(next) {
            next = entry.hidden;
            let target = match entry.bound {
                Bound::Item(item) => Some(Target::Item(item)),
                Bound::Import(import) => self.r.import(import).target,
                Bound::Error => Some(Target::Error),
                Bound::Local(_) | Bound::Coord | Bound::Module(_) => None,
            };
            if let Some(target) = target
                && self.is_type(target)
            {
                if let Bound::Import(import) = entry.bound {
                    self.r.imports[import].used = true;
                }
                return Some(target);
            }
        }
        match self.find_item(sym) {
            Some(target) => Some(target),
            None => match self.find(sym, false) {
                Found::Target(target) => Some(target),
                Found::Local(..) | Found::Coord | Found::Nothing(_) => None,
            },
        }
    }

    /// The names of all types in scope, for suggestions.
    pub(super) fn type_names(&self) -> Vec<Symbol> {
        let types = |item: &super::ItemId| {
            let item = &self.r.items[*item];
            let is_type =
                matches!(item.kind, ItemKind::Struct | ItemKind::Alias | ItemKind::Enum(_));
            is_type.then_some(item.name.sym)
        };
        let mut names = self.r.builtins.scalar_names.clone();
        names.push(self.r.builtins.words.str);
        let table = &self.r.modules[self.module].table;
        names.extend(table.by_stmt.iter().take(self.r.budget).filter_map(|(_, i)| types(i)));
        names.extend(table.import_list.iter().map(|i| self.r.imports[*i].name.sym));
        for entry in self.scopes.entries().iter().take(self.r.budget) {
            match (entry.space, entry.bound) {
                (Space::Type, _) => names.push(entry.sym),
                (Space::Value, Bound::Item(item)) => names.extend(types(&item)),
                _ => {}
            }
        }
        names.extend(["Option", "Result"].map(Symbol::intern));
        names
    }

    fn dim(&mut self, dim: &'r ast::Dim) -> Dim {
        let kind = match &dim.kind {
            ast::DimKind::Size(expr) if self.is_hole(*expr) => DimKind::Unknown,
            ast::DimKind::Size(expr) => DimKind::Size(self.size_expr(*expr)),
            ast::DimKind::Pack(name) => DimKind::Pack(self.pack(*name)),
            ast::DimKind::Coord { name, extent: None, over: None } => {
                match self.extent_name(*name) {
                    Some(extent) => DimKind::Size(extent),
                    None => DimKind::Coord { name: *name, extent: None, over: None },
                }
            }
            ast::DimKind::Coord { name, extent, over } => {
                let extent = extent.filter(|e| !self.is_hole(*e)).map(|e| self.size_expr(e));
                DimKind::Coord { name: *name, extent, over: *over }
            }
        };
        Dim { kind, span: dim.span }
    }

    fn is_hole(&self, expr: ast::ExprId) -> bool {
        matches!(self.ast.expr[expr].kind, ast::ExprKind::Hole)
    }

    /// A bare name that is an extent: a hidden size or a constant.
    fn extent_name(&mut self, name: Name) -> Option<ExprId> {
        if let Some(size) = self.hidden_size(name.sym) {
            return Some(self.push(ExprKind::Size(size), name.span));
        }
        match self.find(name.sym, false) {
            Found::Target(Target::Item(item)) if self.r.items[item].kind == ItemKind::Const => {
                let def = self.refer(item, name.span);
                Some(self.push(ExprKind::Const(def), name.span))
            }
            Found::Local(local, frame) if self.int_params.contains(&local) => {
                if matches!(self.find(name.sym, true), Found::Coord) {
                    return None;
                }
                self.use_local(local, frame);
                Some(self.push(ExprKind::Local(local), name.span))
            }
            Found::Target(_) | Found::Local(..) | Found::Coord | Found::Nothing(_) => None,
        }
    }

    fn hidden_size(&mut self, sym: Symbol) -> Option<LocalId> {
        let size = self.hidden_sizes.iter().rev().find(|(name, _)| *name == sym)?.1;
        self.r.program.locals[size].used = true;
        Some(size)
    }

    /// An extent: arithmetic over literals, constants and sizes.
    fn size_expr(&mut self, id: ast::ExprId) -> ExprId {
        let expr = &self.ast.expr[id];
        let kind = match &expr.kind {
            ast::ExprKind::Size(name) => ExprKind::Size(self.size(*name)),
            ast::ExprKind::Path(path) => match path[..] {
                [name] => match self.hidden_size(name.sym) {
                    Some(size) => ExprKind::Size(size),
                    None => return self.expr(id, Pos::Value),
                },
                _ => return self.expr(id, Pos::Value),
            },
            // A size as it is.
            ast::ExprKind::Unary(hir::UnaryOp::Pos, a) => return self.size_expr(*a),
            ast::ExprKind::Unary(op, a) => ExprKind::Unary(*op, self.size_expr(*a)),
            ast::ExprKind::Binary(op, a, b) => {
                ExprKind::Binary(*op, self.size_expr(*a), self.size_expr(*b))
            }
            _ => return self.expr(id, Pos::Value),
        };
        self.push(kind, expr.span)
    }

    /// `?n` in a type: the first in a scope names the size.
    fn size(&mut self, name: Name) -> LocalId {
        match self.known_size(name.sym, false) {
            Some(size) => size,
            None => self.declare(name, LocalKind::Size),
        }
    }

    /// A size that is named in scope; `around` if those of the functions around a nested one are, which
    /// it has as values.
    pub(super) fn known_size(&mut self, sym: Symbol, around: bool) -> Option<LocalId> {
        let nested = self.frames[self.floor as usize].kind == FrameKind::Fn;
        let floor = if around && nested { 1 } else { self.floor };
        if let Some(size) = self.hidden_size(sym) {
            return Some(size);
        }
        let entry = self.scopes.entry(self.scopes.head(Space::Size, sym))?;
        let Bound::Local(size) = entry.bound else { return None };
        if entry.frame < floor {
            return None;
        }
        self.use_local(size, entry.frame);
        Some(size)
    }

    /// A pack in scope, or else a free one of this statement.
    pub(super) fn pack(&mut self, name: Name) -> LocalId {
        if let Some(pack) = self.known_pack(name.sym) {
            return pack;
        }
        let known = self.region().packs.iter().find(|(sym, _)| *sym == name.sym).copied();
        if let Some((_, pack)) = known {
            self.r.program.locals[pack].used = true;
            return pack;
        }
        let pack = self.local(name, LocalKind::Pack);
        self.region().packs.push((name.sym, pack));
        pack
    }

    /// A pack that is declared in scope.
    pub(super) fn known_pack(&mut self, sym: Symbol) -> Option<LocalId> {
        let entry = self.scopes.entry(self.scopes.head(Space::Pack, sym))?;
        let Bound::Local(pack) = entry.bound else { return None };
        if entry.frame < self.floor {
            return None;
        }
        self.use_local(pack, entry.frame);
        Some(pack)
    }

    /// Whether a bare name in the place of a domain is a coordinate rather than a value.
    pub(super) fn names_coord(&mut self, sym: Symbol) -> bool {
        match self.find(sym, true) {
            Found::Coord | Found::Nothing(_) => true,
            Found::Local(local, _) => self.r.program.locals[local].kind == LocalKind::Index,
            Found::Target(Target::Item(item)) => self.r.items[item].kind != ItemKind::Const,
            Found::Target(Target::Variant(..) | Target::Known(_)) => true,
            Found::Target(Target::Error) => false,
        }
    }

    /// Declares the coordinates, packs and sizes that a type of a signature names.
    pub(super) fn signature_names(&mut self, id: TypeId, signature: &mut Signature) {
        match &self.ast.ty[id].kind {
            ast::TypeKind::Path { args, .. } => {
                args.iter().for_each(|ty| self.signature_names(*ty, signature));
            }
            ast::TypeKind::Array { elem, dims, .. } => {
                self.signature_names(*elem, signature);
                for dim in dims.iter().flatten() {
                    self.signature_dim(dim, signature);
                }
            }
            ast::TypeKind::AnyRank(elem) | ast::TypeKind::Jagged { elem, .. } => {
                self.signature_names(*elem, signature);
            }
            ast::TypeKind::Tuple(types) => {
                types.iter().for_each(|ty| self.signature_names(*ty, signature));
            }
            ast::TypeKind::Function { params, ret } => {
                params.iter().for_each(|ty| self.signature_names(*ty, signature));
                self.signature_names(*ret, signature);
            }
            ast::TypeKind::Some { sizes, body } => {
                let start = self.hidden_sizes.len();
                for name in sizes {
                    // Only the name matters here: the type itself is resolved later.
                    let local = self.local(*name, LocalKind::Size);
                    self.hidden_sizes.push((name.sym, local));
                }
                self.signature_names(*body, signature);
                self.hidden_sizes.truncate(start);
            }
            ast::TypeKind::Error => {}
        }
    }

    fn signature_dim(&mut self, dim: &'r ast::Dim, signature: &mut Signature) {
        match &dim.kind {
            ast::DimKind::Size(expr) => self.signature_sizes(*expr, signature),
            ast::DimKind::Pack(name) => {
                if self.known_pack(name.sym).is_none() {
                    signature.packs.push(self.declare(*name, LocalKind::Pack));
                }
            }
            ast::DimKind::Coord { name, extent, over } => {
                if let Some(extent) = extent {
                    self.signature_sizes(*extent, signature);
                }
                let bare = extent.is_none() && over.is_none();
                if !(bare && self.is_extent_name(name.sym)) {
                    self.declare_coord(name.sym);
                }
                if let Some(over) = over {
                    self.declare_coord(over.sym);
                }
            }
        }
    }

    fn is_extent_name(&mut self, sym: Symbol) -> bool {
        if self.hidden_sizes.iter().any(|(name, _)| *name == sym) {
            return true;
        }
        match self.find(sym, false) {
            Found::Target(Target::Item(item)) => self.r.items[item].kind == ItemKind::Const,
            Found::Target(_) | Found::Local(..) | Found::Coord | Found::Nothing(_) => false,
        }
    }

    fn declare_coord(&mut self, sym: Symbol) {
        let frame = self.frame();
        let entry = self.scopes.entry(self.scopes.head(Space::Value, sym));
        let known = entry.is_some_and(|e| e.bound == Bound::Coord && e.frame == frame);
        if !known {
            self.scopes.declare(Space::Value, sym, Bound::Coord, frame, None);
        }
    }

    fn signature_sizes(&mut self, id: ast::ExprId, signature: &mut Signature) {
        match &self.ast.expr[id].kind {
            ast::ExprKind::Size(name) => {
                let known = self.known_size(name.sym, false);
                let new = known.is_none().then(|| self.declare(*name, LocalKind::Size));
                signature.sizes.extend(new);
            }
            ast::ExprKind::Unary(_, a) => self.signature_sizes(*a, signature),
            ast::ExprKind::Binary(_, a, b) => {
                self.signature_sizes(*a, signature);
                self.signature_sizes(*b, signature);
            }
            _ => {}
        }
    }

    /// Reports `?` where no extent can be left open.
    pub(super) fn lone_hole(&mut self, span: ein_base::Span) -> hir::ExprKind {
        self.report(
            Diagnostic::new(Code::E0101, span, "`?` stands only for a whole extent in a type")
                .help("give the size a name to compute with it: `?n`"),
        );
        ExprKind::Error
    }
}
