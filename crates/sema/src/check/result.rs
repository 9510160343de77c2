//! What functions give: results against what their signatures say.

use super::{Cx, error};
use crate::hir::{self, DefId, Dim, DimKind, Function, LocalId, TypeKind};
use ein_base::{Code, Name, Span, Symbol};
use ein_ir::tensor::{Expr, Type};
use rustc_hash::FxHashMap;

impl<'a> Cx<'a> {
    /// The value of a body, held to the declared result.
    pub(super) fn function_result(&mut self, function: &Function, name: Symbol) -> Expr {
        let what = format!("the result of `{name}`");
        let Some(ret) = &function.ret else {
            self.f.statement = true;
            return self.open_value(function.body, None, None);
        };
        match &ret.kind {
            TypeKind::Array { elem, dims, .. } if !matches!(elem.kind, TypeKind::Some(..)) => {
                let layout = self.signature_layout(dims);
                let elem = self.lower_type(elem);
                let value = self.open_value(function.body, Some(&elem), layout.as_deref());
                let dims = self.expand_packs(dims);
                self.meet_result(value, elem, &dims, &what)
            }
            // The extents are those of the value: hidden, or of a type that only a call knows.
            TypeKind::Some(..) | TypeKind::Param(_) => {
                let want = match &ret.kind {
                    TypeKind::Some(_, body) => self.lower_type(body),
                    _ => self.lower_type(ret),
                };
                let value = self.open_value(function.body, Some(&want), None);
                if value.ty.is_broken() {
                    return value;
                }
                let value = self.widen_to(value, &want);
                if self.same_kind(&value.ty, &want) {
                    return super::arms::complete(value, &want);
                }
                let d = self.mismatch(&value, &want, &what);
                self.fail(d)
            }
            TypeKind::Tuple(items) if items.is_empty() => {
                self.f.statement = true;
                let value = self.open_value(function.body, None, None);
                self.discard(value)
            }
            _ => self.annotated(function.body, ret, &what),
        }
    }

    /// The coordinates of a declared result, packs expanded, if every axis has one.
    pub(super) fn signature_layout(&self, dims: &[Dim]) -> Option<Vec<Symbol>> {
        let mut layout = Vec::new();
        for dim in dims {
            match &dim.kind {
                DimKind::Coord { name, .. } => layout.push(name.sym),
                DimKind::Pack(local) => {
                    let axes = self.f.signature_packs.get(local)?;
                    layout.extend(axes.iter().filter_map(|axis| axis.coord.map(|c| c.name)));
                }
                DimKind::Unknown | DimKind::Size(_) => return None,
            }
        }
        Some(layout)
    }

    /// The dimensions with packs as the coordinates they stand for.
    pub(super) fn expand_packs(&self, dims: &[Dim]) -> Vec<Dim> {
        let mut expanded = Vec::new();
        for dim in dims {
            match &dim.kind {
                DimKind::Pack(local) => {
                    for axis in self.f.signature_packs.get(local).into_iter().flatten() {
                        if let Some(coord) = axis.coord {
                            let name = Name { sym: coord.name, span: dim.span };
                            let kind = DimKind::Coord { name, extent: None, over: None };
                            expanded.push(Dim { kind, span: dim.span });
                        }
                    }
                }
                _ => expanded.push(dim.clone()),
            }
        }
        expanded
    }

    /// A result against its declared array type: layout, and extents of coordinates and packs.
    pub(super) fn meet_result(
        &mut self,
        value: Expr,
        elem: Type,
        dims: &[Dim],
        what: &str,
    ) -> Expr {
        if dims.is_empty() {
            return self.expect_type(value, &elem, what);
        }
        let value = self.meet_array(value, elem, dims, what);
        if value.ty.has_error() {
            return value;
        }
        for (position, dim) in dims.iter().enumerate() {
            let DimKind::Coord { name, extent: None, over } = &dim.kind else { continue };
            let root = over.unwrap_or(*name).sym;
            let declared = self.f.coord_sizes.get(&root).cloned().or_else(|| {
                self.f
                    .signature_packs
                    .values()
                    .flatten()
                    .find(|axis| axis.coord.is_some_and(|coord| coord.name == name.sym))
                    .map(|axis| axis.size.clone())
            });
            let (Some(declared), Some(axis)) = (declared, value.ty.axes().get(position)) else {
                continue;
            };
            use super::symbolic::SizeRelation;
            let have = axis.size.clone();
            match self.compare_sizes(&have, &declared) {
                SizeRelation::Equal => {}
                SizeRelation::AtRunTime => {
                    let what = format!("coordinate `{name}` in {what}");
                    self.require(have, declared, what, value.span);
                }
                SizeRelation::Different => {
                    let d = error(
                        Code::E0405,
                        value.span,
                        format!(
                            "coordinate `{name}` of {what} has the extent that it has in the parameters, {}, but this value has {}",
                            self.show_size(&declared),
                            self.show_size(&have)
                        ),
                    )
                    .here(format!("this is `{}`", self.show(&value.ty)))
                    .help("state the extent in the result, for example `c: ?n - 1`");
                    self.report_at(d);
                    return value;
                }
            }
        }
        value
    }

    /// Sizes of a result that no parameter determines.
    pub(super) fn check_result_sizes(&mut self, def: DefId) {
        let Some(function) = self.function(def) else { return };
        let Some(ret) = &function.ret else { return };
        let mut in_params: FxHashMap<LocalId, ()> = FxHashMap::default();
        for param in &function.params {
            if let Some(ty) = &param.ty {
                self.sizes_in(ty, &mut |local, _| {
                    in_params.insert(local, ());
                });
            }
        }
        let mut hidden = Vec::new();
        self.sizes_in(ret, &mut |local, span| {
            if !in_params.contains_key(&local) {
                hidden.push((local, span));
            }
        });
        for (local, span) in hidden {
            let name = self.local_name(local);
            let d = error(
                Code::E0412,
                span,
                format!(
                    "size `?{name}` is not known to the caller of `{}`",
                    self.hir.defs[def].name
                ),
            )
            .here("appears in no parameter")
            .help(format!("hide it: `-> some {name}. […; {name}]`"));
            self.report_at(d);
        }
    }

    /// Calls `f` on every `?n` in a type, but for those that it hides itself.
    pub(super) fn sizes_in(&self, ty: &hir::Type, f: &mut dyn FnMut(LocalId, Span)) {
        match &ty.kind {
            TypeKind::Array { elem, dims, .. } => {
                self.sizes_in(elem, f);
                for dim in dims {
                    match &dim.kind {
                        DimKind::Size(e) | DimKind::Coord { extent: Some(e), .. } => {
                            self.sizes_in_expr(*e, f);
                        }
                        DimKind::Unknown
                        | DimKind::Coord { extent: None, .. }
                        | DimKind::Pack(_) => {}
                    }
                }
            }
            TypeKind::Tuple(items) | TypeKind::Data(_, items) => {
                items.iter().for_each(|item| self.sizes_in(item, f));
            }
            TypeKind::AnyRank(elem) | TypeKind::Jagged(elem, _) => self.sizes_in(elem, f),
            TypeKind::Some(hidden, body) => {
                self.sizes_in(body, &mut |local, span| {
                    if !hidden.contains(&local) {
                        f(local, span);
                    }
                });
            }
            TypeKind::Function(..)
            | TypeKind::Scalar(_)
            | TypeKind::Str
            | TypeKind::Param(_)
            | TypeKind::Error => {}
        }
    }

    pub(super) fn sizes_in_expr(&self, id: hir::ExprId, f: &mut dyn FnMut(LocalId, Span)) {
        let node = &self.hir.exprs[id];
        if let hir::ExprKind::Size(local) = &node.kind {
            f(*local, node.span);
        }
        crate::visit::each_child(self.hir, id, &mut |child| self.sizes_in_expr(child, f));
    }
}
