//! Changes of layouts: of annotations, of signatures, and of the left side of definitions.

use super::{Maker, Place};
use crate::mutants::layouts::{Layout, of_type, param_name};
use crate::mutants::walk::{bare, free};
use ein_base::{Span, Symbol};
use ein_syntax::ast::{
    Clause, Dim, ExprKind, Function, LeftSlotKind, PatKind, StmtKind, TypeId, TypeKind,
};

impl Maker<'_> {
    /// Two axes of an annotation change places: wrong if the value has a layout of its own, or if
    /// the name is read by its coordinates later.
    pub(super) fn swap_annotation(&mut self, ty: TypeId, name: Symbol, place: &Place) {
        let Some(layout) = of_type(self.ast, ty) else { return };
        let value = self.scope.of_value(self.ast, place.body).is_some();
        for (i, j) in pairs(&layout) {
            let read = self.read_swapped(name, &layout, (i, j), place.span.hi(), place.end);
            if !value && !read {
                continue;
            }
            let lines = (value && !read).then_some(place.span);
            self.swap_dims(ty, (i, j), lines, &[name]);
        }
    }

    /// Two axes of a parameter or of the result change places.
    pub(super) fn swap_signature(&mut self, function: &Function, _end: u32) {
        let ast = self.ast;
        let body = ast.expr[function.body].span;
        for param in &function.params {
            let (Some(ty), Some(name)) = (param.ty, param_name(ast, param)) else { continue };
            let Some(layout) = of_type(ast, ty) else { continue };
            for (i, j) in pairs(&layout) {
                if self.read_swapped(name, &layout, (i, j), body.lo(), body.hi()) {
                    self.swap_dims(ty, (i, j), None, &[name, function.name.sym]);
                }
            }
        }
        let Some(ret) = function.ret else { return };
        let Some(layout) = of_type(ast, ret) else { return };
        let Some(mentions) = self.result_is_held(function.name.sym) else { return };
        for (i, j) in pairs(&layout) {
            self.swap_dims(ret, (i, j), None, &mentions);
        }
    }

    /// Whether the result of a function is bound to an annotated name, or to one that is read
    /// later; the names involved if so.
    fn result_is_held(&self, function: Symbol) -> Option<Vec<Symbol>> {
        let ast = self.ast;
        for stmt in ast.stmt.iter() {
            let StmtKind::Let(it) = &stmt.kind else { continue };
            let PatKind::Bind { name, .. } = &ast.pat[it.pat].kind else { continue };
            let callee = match &ast.expr[it.value].kind {
                ExprKind::Call { callee, .. } | ExprKind::BracketCall { callee, .. } => callee,
                _ => continue,
            };
            if bare(ast, *callee) != Some(function) {
                continue;
            }
            let mut mentions = vec![name.sym, function];
            if let Some(layout) = it.ty.and_then(|ty| of_type(ast, ty)) {
                mentions.extend(layout.iter().filter_map(|axis| axis.name));
                return Some(mentions);
            }
        }
        None
    }

    /// Whether a tensor is read such that a swap of two of its axes puts a name at another axis.
    fn read_swapped(
        &self,
        name: Symbol,
        layout: &Layout,
        (i, j): (usize, usize),
        after: u32,
        end: u32,
    ) -> bool {
        let axes: Vec<(usize, Symbol)> =
            [i, j].iter().filter_map(|at| Some((*at, layout[*at].name?))).collect();
        self.read_by_name(name, &axes, after, end)
    }

    fn swap_dims(
        &mut self,
        ty: TypeId,
        (i, j): (usize, usize),
        lines: Option<Span>,
        mentions: &[Symbol],
    ) {
        let ast = self.ast;
        let TypeKind::Array { dims: Some(dims), .. } = &ast.ty[ty].kind else { return };
        let text = |dim: &Dim| self.source(dim.span).to_owned();
        let edits = [(dims[i].span, text(&dims[j])), (dims[j].span, text(&dims[i]))];
        let layout = of_type(ast, ty).unwrap_or_default();
        let mut mentions = mentions.to_vec();
        mentions.extend([i, j].iter().filter_map(|at| layout.get(*at)?.name));
        self.make("swap-type", ast.ty[ty].span, &edits, lines, mentions);
    }

    /// Mutants of the left side of a clause.
    pub(super) fn left(&mut self, clause: &Clause, alone: bool, place: &Place) {
        let layout = match self.scope.layout(clause.name.sym) {
            Some(layout) => layout.clone(),
            None => return,
        };
        let shown = clause.slots.first().zip(clause.slots.last());
        let Some(shown) = shown.map(|(a, b)| clause.name.span.to(a.span.to(b.span))) else {
            return;
        };
        self.swap_left(clause, &layout, alone, shown, place);
        if clause.slots.len() > 1 {
            self.drop_left(clause, shown, place);
        }
    }

    /// Two names on the left change places: wrong if the tensor is read by them later, or if it
    /// has other clauses.
    fn swap_left(
        &mut self,
        clause: &Clause,
        layout: &Layout,
        alone: bool,
        shown: Span,
        place: &Place,
    ) {
        for (i, j) in pairs(layout) {
            let named = |at: usize| matches!(clause.slots[at].kind, LeftSlotKind::Index { .. });
            if !named(i) || !named(j) {
                continue;
            }
            let name = clause.name.sym;
            if alone && !self.read_swapped(name, layout, (i, j), place.span.hi(), place.end) {
                continue;
            }
            let (a, b) = (clause.slots[i].span, clause.slots[j].span);
            let edits = [(a, self.source(b).to_owned()), (b, self.source(a).to_owned())];
            let mut mentions = vec![name];
            mentions.extend([i, j].iter().filter_map(|at| layout[*at].name));
            self.make("swap-left", shown, &edits, None, mentions);
        }
    }

    /// A name is left out on the left, but the body still uses it: it is bound nowhere.
    fn drop_left(&mut self, clause: &Clause, shown: Span, place: &Place) {
        for (at, slot) in clause.slots.iter().enumerate() {
            let LeftSlotKind::Index { name, .. } = &slot.kind else { continue };
            if free(self.ast, clause.value, name.sym) == 0 {
                continue;
            }
            let edit = match at {
                0 => Span::new(slot.span.file(), slot.span.lo(), clause.slots[1].span.lo()),
                _ => Span::new(slot.span.file(), clause.slots[at - 1].span.hi(), slot.span.hi()),
            };
            let mentions = vec![clause.name.sym, name.sym];
            self.make("drop-left", shown, &[(edit, String::new())], Some(place.span), mentions);
        }
    }
}

/// The pairs of contract axes with different coordinates.
fn pairs(layout: &Layout) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for i in 0..layout.len() {
        for j in i + 1..layout.len() {
            let (a, b) = (&layout[i], &layout[j]);
            let plain = |axis: &crate::mutants::layouts::Axis| {
                axis.contract && !axis.pack && axis.name.is_some()
            };
            if plain(a) && plain(b) && a.name != b.name && a.root() != b.root() {
                found.push((i, j));
            }
        }
    }
    found
}
