//! Items: functions, tangent rules, constants, structs and enums; and closures.

use super::ItemId;
use super::lower::{Frame, FrameKind, Lower, Pos};
use super::patterns::Bindings;
use super::scope::{Bound, Space};
use crate::hir::{self, CoordParam, DefKind, ExprKind, LocalId, LocalKind};
use ein_base::{Code, Diagnostic, Name, Span};
use ein_syntax::ast::{self, StmtKind, VariantData};
use rustc_hash::FxHashSet;

/// What a frame hides until it is left.
struct Outside {
    floor: u32,
    owner: Option<hir::DefId>,
    mark: usize,
    hidden_sizes: Vec<(ein_base::Symbol, LocalId)>,
}

impl<'r> Lower<'r, '_> {
    /// Resolves an item where it stands.
    pub(super) fn item(&mut self, item: ItemId) {
        let def = self.r.def_of(item);
        let Some(stmt) = self.r.items[item].stmt else { return };
        let kind = match &self.ast.stmt[stmt].kind {
            StmtKind::Fn(function) => {
                DefKind::Fn(Box::new(self.function(def, function, self.ast.stmt[stmt].span)))
            }
            StmtKind::Const(decl) => {
                let outside = self.enter_item(FrameKind::Const, Some(def));
                let ty = decl.ty.map(|ty| self.ty(ty));
                let value = self.own_region(decl.value);
                self.leave_item(outside);
                DefKind::Const(hir::Const { ty: ty.map(Box::new), value })
            }
            StmtKind::Struct(decl) if decl.alias.is_some() => {
                self.ty_of_alias(item);
                DefKind::Error
            }
            StmtKind::Struct(decl) => {
                let outside = self.enter_item(FrameKind::Const, Some(def));
                let generics = self.generics(&decl.generics);
                let fields = self.fields(&decl.fields);
                self.leave_item(outside);
                DefKind::Struct(hir::Struct { generics: generics.into(), fields: fields.into() })
            }
            StmtKind::Enum(decl) => {
                let outside = self.enter_item(FrameKind::Const, Some(def));
                let generics = self.generics(&decl.generics);
                let variants = self.variants(decl);
                self.leave_item(outside);
                DefKind::Enum(hir::Enum { generics: generics.into(), variants: variants.into() })
            }
            StmtKind::Let(_)
            | StmtKind::Clause(_)
            | StmtKind::Rule(_)
            | StmtKind::Use(_)
            | StmtKind::Mod(_)
            | StmtKind::Test(_)
            | StmtKind::Expr(_)
            | StmtKind::Error => DefKind::Error,
        };
        self.r.program.defs[def].kind = kind;
    }

    /// Makes sure that what another name for a type stands for is known, and right.
    fn ty_of_alias(&mut self, item: ItemId) {
        if !self.r.aliases.contains_key(&item) {
            self.r.aliases.insert(item, None);
            let kind = self.alias_here(item);
            self.r.aliases.insert(item, Some(kind.unwrap_or(hir::TypeKind::Error)));
        }
    }

    /// What an alias of this module stands for.
    pub(super) fn alias_here(&mut self, item: ItemId) -> Option<hir::TypeKind> {
        let def = self.r.def_of(item);
        let stmt = self.r.items[item].stmt?;
        let StmtKind::Struct(decl) = &self.ast.stmt[stmt].kind else { return None };
        let ty = decl.alias?;
        let outside = self.enter_item(FrameKind::Const, Some(def));
        let ty = self.ty(ty);
        self.leave_item(outside);
        Some(ty.kind)
    }

    /// Resolves an item of the library, and the rule that belongs to it.
    pub(super) fn lazy_item(&mut self, item: ItemId) {
        self.item(item);
        let Some(rule) = self.r.items[item].rule else { return };
        let stmt = &self.ast.stmt[rule];
        if let StmtKind::Rule(function) = &stmt.kind {
            self.rule(Some(item), function, stmt.span);
        }
    }

    fn enter_item(&mut self, kind: FrameKind, owner: Option<hir::DefId>) -> Outside {
        self.frames.push(Frame { kind, captures: Vec::new(), captured: FxHashSet::default() });
        let outside = Outside {
            floor: self.floor,
            owner: self.owner,
            mark: self.scopes.mark(),
            hidden_sizes: std::mem::take(&mut self.hidden_sizes),
        };
        self.floor = self.frame();
        self.owner = owner;
        self.open_region();
        outside
    }

    fn leave_item(&mut self, outside: Outside) {
        self.close_region();
        self.leave(outside.mark);
        self.frames.pop();
        self.floor = outside.floor;
        self.owner = outside.owner;
        self.hidden_sizes = outside.hidden_sizes;
    }

    fn generics(&mut self, names: &[Name]) -> Vec<LocalId> {
        let mut seen: Vec<Name> = Vec::new();
        names
            .iter()
            .map(|name| {
                self.once(*name, &mut seen);
                self.declare(*name, LocalKind::TypeParam)
            })
            .collect()
    }

    /// Reports a name that a list has already.
    fn once(&mut self, name: Name, seen: &mut Vec<Name>) {
        match seen.iter().find(|other| other.sym == name.sym) {
            Some(&first) => self.r.defined_twice(first, name),
            None => seen.push(name),
        }
    }

    fn fields(&mut self, fields: &[ast::Field]) -> Vec<hir::Field> {
        let mut seen = Vec::new();
        fields
            .iter()
            .map(|field| {
                self.once(field.name, &mut seen);
                hir::Field { name: field.name, ty: self.ty(field.ty) }
            })
            .collect()
    }

    fn variants(&mut self, decl: &'r ast::Enum) -> Vec<hir::Variant> {
        let mut seen = Vec::new();
        decl.variants
            .iter()
            .map(|variant| {
                self.once(variant.name, &mut seen);
                let (fields, shape) = match &variant.data {
                    VariantData::Unit => (Vec::new(), hir::VariantShape::Unit),
                    VariantData::Struct(fields) => (self.fields(fields), hir::VariantShape::Struct),
                    VariantData::Tuple(types) => {
                        let fields = types.iter().enumerate().map(|(i, ty)| {
                            let sym = ein_base::Symbol::intern(&i.to_string());
                            let name = Name { sym, span: self.ast.ty[*ty].span };
                            hir::Field { name, ty: self.ty(*ty) }
                        });
                        (fields.collect(), hir::VariantShape::Tuple)
                    }
                };
                hir::Variant { name: variant.name, fields: fields.into(), shape }
            })
            .collect()
    }

    fn function(
        &mut self,
        def: hir::DefId,
        function: &'r ast::Function,
        span: Span,
    ) -> hir::Function {
        let outside = self.enter_item(FrameKind::Fn, Some(def));
        let generics = self.generics(&function.generics);
        let mut signature = self.signature(function);
        let params = self.params(&function.params, LocalKind::Param);
        let mut ret = function.ret.map(|ty| self.ty(ty));
        if let Some(ret) = &mut ret {
            super::hidden::hide_sizes(self, function.name, &params, ret, &mut signature);
        }
        let body = self.own_region(function.body);
        let captures = self.frames.last().map(|frame| frame.captures.clone()).unwrap_or_default();
        self.leave_item(outside);
        if !captures.is_empty() {
            self.r.captures.insert(def, captures.clone());
        }
        let header = self.header(function, span);
        hir::Function {
            generics: generics.into(),
            coords: signature.coords.map(Into::into),
            params: params.into(),
            ret,
            body,
            sizes: signature.sizes.into(),
            packs: signature.packs.into(),
            captures: captures.into(),
            rule: None,
            header,
        }
    }

    /// The span from `fn` to the result type.
    fn header(&self, function: &ast::Function, span: Span) -> Span {
        let body = self.ast.expr[function.body].span;
        let header = span.until(body.lo().max(span.lo()));
        let text = self.r.files.text(header);
        header.until(header.lo() + text.trim_end().len() as u32)
    }

    /// Declares the coordinates, packs and sizes of a signature.
    fn signature(&mut self, function: &ast::Function) -> Signature {
        let mut signature = Signature::default();
        let frame = self.frame();
        if let Some(coords) = &function.coords {
            let mut seen = Vec::new();
            let mut params = Vec::with_capacity(coords.len());
            for coord in coords {
                self.once(coord.name, &mut seen);
                let pack = coord.pack.then(|| self.declare(coord.name, LocalKind::Pack));
                signature.packs.extend(pack);
                if pack.is_none() {
                    self.scopes.declare(Space::Value, coord.name.sym, Bound::Coord, frame, None);
                }
                params.push(CoordParam { name: coord.name, pack, empty: coord.empty });
            }
            signature.coords = Some(params);
        }
        let types = function.params.iter().filter_map(|p| p.ty).chain(function.ret);
        for ty in types {
            self.signature_names(ty, &mut signature);
        }
        self.signature_packs.extend(&signature.packs);
        signature
    }

    /// The parameters of a function or closure; each sees the ones before it.
    pub(super) fn params(&mut self, params: &'r [ast::Param], kind: LocalKind) -> Vec<hir::Param> {
        let mut bindings = Bindings::default();
        params
            .iter()
            .map(|param| {
                let ty = param.ty.map(|ty| self.ty(ty));
                let default = param.default.map(|e| self.own_region(e));
                let start = bindings.names.len();
                let pat = self.pattern(param.pat, kind, false, &mut bindings);
                for (name, local) in bindings.names.iter().skip(start) {
                    self.bind(Space::Value, *name, *local);
                }
                if let (hir::PatKind::Bind(local, _), Some(hir::TypeKind::Scalar(scalar))) =
                    (&pat.kind, ty.as_ref().map(|ty| &ty.kind))
                    && scalar.is_int()
                {
                    self.int_params.insert(*local);
                }
                let name = match &self.ast.pat[param.pat].kind {
                    ast::PatKind::Bind { name, .. } => Some(*name),
                    _ => None,
                };
                hir::Param { pat, name, ty: ty.map(Box::new), default, span: param.span }
            })
            .collect()
    }

    /// `@fn f(p, q) { … }`; without its function only its errors matter.
    pub(super) fn rule(&mut self, item: Option<ItemId>, rule: &'r ast::Function, span: Span) {
        let owner = item.map(|item| self.r.def_of(item)).or(self.owner);
        let outside = self.enter_item(FrameKind::Fn, owner);
        self.generics(&rule.generics);
        self.signature(rule);
        let params = self.params(&rule.params, LocalKind::Param);
        let body = self.own_region(rule.body);
        let captured = self.frames.last().and_then(|frame| frame.captures.first().copied());
        self.leave_item(outside);
        if let Some(local) = captured {
            let name = self.r.program.locals[local].name;
            let text = format!("a tangent rule does not see `{name}` of the body around it");
            self.report(
                Diagnostic::new(Code::E0212, span, text)
                    .here("this rule reads it")
                    .label(name.span, "bound here")
                    .help(format!("pass `{name}` to the function, and so to its rule")),
            );
        }
        if let Some(item) = item {
            self.r.rules.push((item, hir::Rule { params: params.into(), body, span }));
        }
    }

    /// `|x, y| e`
    pub(super) fn closure(
        &mut self,
        params: &'r [ast::Param],
        body: ast::ExprId,
        pos: Pos,
    ) -> ExprKind {
        let kind = FrameKind::Closure;
        self.frames.push(Frame { kind, captures: Vec::new(), captured: FxHashSet::default() });
        let mark = self.scopes.mark();
        let params = self.params(params, LocalKind::Param);
        let body = self.expr(body, pos.inner());
        self.leave(mark);
        let captures = self.frames.pop().map(|frame| frame.captures).unwrap_or_default();
        ExprKind::Closure { params: params.into(), body, captures: captures.into() }
    }
}

/// What a signature declares for the whole function.
#[derive(Default)]
pub(super) struct Signature {
    pub(super) coords: Option<Vec<CoordParam>>,
    pub(super) sizes: Vec<LocalId>,
    pub(super) packs: Vec<LocalId>,
}
