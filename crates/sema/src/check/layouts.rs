//! Contracts where several values may stand for one: branches, arms, clauses, rows.
//!
//! Values that one expression may have agree in layout as well as in type (rule 5), and where the
//! result is declared, each of them is held to that by itself: its names, and its extents under what
//! the conditions on the way to it say.

use super::symbolic::SizeRelation;
use super::{Cx, error};
use crate::hir::{Dim, DimKind};
use ein_base::{Code, Symbol};
use ein_ir::size;
use ein_ir::tensor::{Axis, Coord, Expr, ExprKind, Type};

/// What is declared of one axis.
pub(super) struct Stated {
    pub name: Option<Symbol>,
    pub size: Option<size::Expr>,
}

impl Cx<'_> {
    /// The first axis at which two layouts do not fit together.
    pub(super) fn clashing_axis(&self, a: &[Axis], b: &[Axis]) -> Option<usize> {
        let has = |axes: &[Axis], at: usize, name: Symbol| {
            let mut others = axes.iter().enumerate().filter(|(other, _)| *other != at);
            others.any(|(_, axis)| axis.coord.is_some_and(|coord| coord.name == name))
        };
        a.iter().zip(b).enumerate().position(|(at, (p, q))| {
            let (Some(p), Some(q)) = (p.coord, q.coord) else { return false };
            if p.name == q.name {
                return false;
            }
            // The same names in another order.
            let swapped = has(a, at, q.name) && has(b, at, p.name);
            match (p.contract, q.contract) {
                (true, true) if p.root() != q.root() => true,
                // Roles that definitions gave to one coordinate may change places.
                (true, true) => swapped && self.is_declared_role(p) && self.is_declared_role(q),
                (true, false) | (false, true) => swapped,
                (false, false) => false,
            }
        })
    }

    fn is_declared_role(&self, coord: Coord) -> bool {
        coord.over.is_none() || self.declared_roles.contains(&(coord.name, coord.root()))
    }

    /// Holds two values that may stand for each other to one layout; says whether they have one.
    pub(super) fn agree_in_layout(&mut self, a: &Expr, b: &Expr, what: &str) -> bool {
        if a.ty.rank() != b.ty.rank() {
            return true;
        }
        let Some(axis) = self.clashing_axis(a.ty.axes(), b.ty.axes()) else { return true };
        let (x, y) = (self.show_coords(a.ty.axes()), self.show_coords(b.ty.axes()));
        let name = |e: &Expr| {
            e.ty.axes()[axis].coord.map_or("_".to_string(), |coord| coord.name.to_string())
        };
        let message = format!("{what} differ in layout: {x} and {y}");
        let d = error(Code::E0311, b.span, message)
            .here(format!("axis {axis} is `{}`", name(b)))
            .label(a.span, format!("axis {axis} is `{}`", name(a)))
            .help("give both the same coordinates in the same order, by indexing one by name");
        let d = self.with_declaration(d, b);
        self.report_at(d);
        false
    }

    /// The same for several values.
    pub(super) fn all_agree_in_layout(&mut self, values: &[Expr], what: &str) -> bool {
        let mut named = values.iter().filter(|value| value.ty.is_array());
        let Some(first) = named.next() else { return true };
        named.all(|other| self.agree_in_layout(first, other, what))
    }

    /// What dimensions state of axes, as far as it is known before a value is there.
    pub(super) fn stated(&mut self, dims: &[Dim]) -> Vec<Stated> {
        dims.iter()
            .map(|dim| match &dim.kind {
                DimKind::Unknown | DimKind::Pack(_) => Stated { name: None, size: None },
                DimKind::Size(e) => Stated { name: None, size: self.constant_extent(*e) },
                DimKind::Coord { name, extent: Some(e), .. } => {
                    Stated { name: Some(name.sym), size: self.constant_extent(*e) }
                }
                DimKind::Coord { name, extent: None, over } => {
                    let size = self.f.coord_sizes.get(&over.unwrap_or(*name).sym).cloned();
                    Stated { name: Some(name.sym), size }
                }
            })
            .collect()
    }

    /// Holds every value that an expression may have to what is declared of it. Says whether all is
    /// well, and what is proved of its extents.
    pub(super) fn check_paths(&mut self, value: &Expr, stated: &[Stated], what: &str) -> bool {
        match &*value.kind {
            ExprKind::Block { value, .. } => self.check_paths(value, stated, what),
            ExprKind::If { cond, then, otherwise } => {
                let known = self.f.facts.len();
                let mut fine = true;
                for (branch, holds) in [(then, true), (otherwise, false)] {
                    let mut facts = std::mem::take(&mut self.f.facts);
                    self.assume(cond, holds, &mut facts);
                    self.f.facts = facts;
                    fine &= self.check_branch(branch, stated, what);
                    self.f.facts.truncate(known);
                }
                fine
            }
            ExprKind::Match { arms, .. } => {
                let mut fine = true;
                for arm in arms {
                    // What an arm knows of sizes is not known here: only what differs anyway counts.
                    fine &= self.check_arm(&arm.value, stated, what);
                }
                fine
            }
            _ => true,
        }
    }

    fn check_branch(&mut self, value: &Expr, stated: &[Stated], what: &str) -> bool {
        match &*value.kind {
            ExprKind::Block { value, .. } => self.check_branch(value, stated, what),
            ExprKind::If { .. } | ExprKind::Match { .. } => self.check_paths(value, stated, what),
            _ => self.check_leaf(value, stated, what, false),
        }
    }

    fn check_arm(&mut self, value: &Expr, stated: &[Stated], what: &str) -> bool {
        match &*value.kind {
            ExprKind::Block { value, .. } => self.check_arm(value, stated, what),
            ExprKind::If { then, otherwise, .. } => {
                let first = self.check_arm(then, stated, what);
                self.check_arm(otherwise, stated, what) && first
            }
            ExprKind::Match { arms, .. } => {
                // Every arm is looked at, also behind one that is wrong.
                let wrong = arms.iter().filter(|arm| !self.check_arm(&arm.value, stated, what));
                wrong.count() == 0
            }
            _ => self.check_leaf(value, stated, what, true),
        }
    }

    /// The names of a value's axes against those of a type.
    pub(super) fn holds_names(&mut self, value: &Expr, axes: &[Axis], what: &str) -> bool {
        let names: Vec<Option<Symbol>> =
            axes.iter().map(|axis| axis.coord.map(|coord| coord.name)).collect();
        value.ty.rank() != names.len() || self.check_names(value, &names, what, value.span)
    }

    /// Holds the arrays in a value to the names and extents of a type; gives the type that it has
    /// then, or nothing if a mistake was reported.
    pub(super) fn adopt_type(&mut self, value: &Expr, ty: &Type, what: &str) -> Option<Type> {
        match (&value.ty, ty) {
            (Type::Array(have), Type::Array(want)) if have.axes.len() == want.axes.len() => {
                if !self.holds_names(value, &want.axes, what) {
                    return None;
                }
                let reported = self.diagnostics.len();
                self.expect_sizes(value, &self.known_sizes(ty, &value.ty), what);
                if self.diagnostics.len() > reported {
                    return None;
                }
                let axes = have.axes.iter().zip(&want.axes).map(|(have, want)| Axis {
                    coord: want.coord.or(have.coord),
                    size: have.size.clone(),
                });
                Some(Type::array(have.elem.clone(), axes.collect()))
            }
            (Type::Tuple(have), Type::Tuple(want)) if have.len() == want.len() => {
                let mut items = Vec::with_capacity(have.len());
                for (position, (have, want)) in have.iter().zip(want).enumerate() {
                    let item = match &*value.kind {
                        ExprKind::Tuple(items) => items[position].clone(),
                        _ => Expr::new(ExprKind::Error, have.clone(), value.span),
                    };
                    items.push(self.adopt_type(&item, want, what)?);
                }
                Some(Type::Tuple(items.into()))
            }
            (have, _) => Some(have.clone()),
        }
    }

    /// A type with the extents of another one where it leaves its own open.
    fn known_sizes(&self, ty: &Type, other: &Type) -> Type {
        let axes = ty.axes().iter().zip(other.axes()).map(|(axis, other)| {
            let open = self.unsettled(&axis.size).is_some();
            Axis { coord: axis.coord, size: if open { &other.size } else { &axis.size }.clone() }
        });
        Type::array(ty.elem().clone(), axes.collect())
    }

    /// One value. `surely`: only what differs whatever is known on the way to it is reported.
    pub(super) fn check_leaf(
        &mut self,
        value: &Expr,
        stated: &[Stated],
        what: &str,
        surely: bool,
    ) -> bool {
        if value.ty.has_error() || value.ty.rank() != stated.len() {
            return true;
        }
        let names: Vec<Option<Symbol>> = stated.iter().map(|stated| stated.name).collect();
        if !self.check_names(value, &names, what, value.span) {
            return false;
        }
        for (position, stated) in stated.iter().enumerate() {
            let Some(wanted) = &stated.size else { continue };
            let have = value.ty.axes()[position].size.clone();
            let differs = match have.sub(wanted).as_constant() {
                Some(difference) => difference != 0,
                None => {
                    !surely
                        && self.unsettled(&have).is_none()
                        && self.compare_sizes(&have, wanted) == SizeRelation::Different
                }
            };
            if !differs {
                continue;
            }
            let axis = match stated.name {
                Some(name) => format!("coordinate `{name}`"),
                None => format!("axis {position}"),
            };
            let (have, want) = (self.show_size(&have), self.show_size(wanted));
            let d = error(
                Code::E0405,
                value.span,
                format!("{axis} has extent {have} on this path, but {what} says {want}"),
            )
            .here(format!("this is `{}`", self.show(&value.ty)))
            .help(format!("make it {want} on every path, or state what it is: `some k. […; k]`"));
            self.report_at(d);
            return false;
        }
        true
    }
}
