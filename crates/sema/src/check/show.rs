//! Types, layouts and sizes as people read them.

use super::state::Index;
use ein_base::Symbol;
use ein_ir::size;
use ein_ir::tensor::{Axis, Expr, ExprKind, Type};

/// How many axes of an array are written out.
const MOST_AXES: usize = 12;

impl Index<'_> {
    /// A size in the words of the source.
    pub(super) fn show_size(&self, size: &size::Expr) -> String {
        size.display(&|atom| {
            let name = self.atoms[atom].name.as_str();
            // Values that the compiler named itself have no name for users.
            if name.starts_with('$') { "?".into() } else { name.into() }
        })
    }

    /// A type in the syntax of the language.
    pub(super) fn show(&self, ty: &Type) -> String {
        match ty {
            Type::Unit => "()".into(),
            Type::Scalar(ty) => ty.name().into(),
            Type::Str => "str".into(),
            Type::Array(array) => {
                let shown = array.axes.iter().take(MOST_AXES);
                let mut axes: Vec<_> = shown.map(|axis| self.show_axis(axis)).collect();
                if let more @ 1.. = array.axes.len() - axes.len() {
                    axes.push(format!("… {more} more"));
                }
                format!("[{}; {}]", self.show(&array.elem), axes.join(", "))
            }
            Type::AnyRank(elem) => format!("[{}; *]", self.show(elem)),
            Type::Jagged(elem, 2) => format!("jagged[{}]", self.show(elem)),
            Type::Jagged(elem, depth) => format!("jagged[{}; {depth}d]", self.show(elem)),
            Type::Tuple(items) => {
                let items: Vec<_> = items.iter().map(|item| self.show(item)).collect();
                format!("({})", items.join(", "))
            }
            Type::Data(id, args) if args.is_empty() => self.data[*id].name.to_string(),
            Type::Data(id, args) => {
                let args: Vec<_> = args.iter().map(|arg| self.show(arg)).collect();
                format!("{}<{}>", self.data[*id].name, args.join(", "))
            }
            Type::Template(..) => "function".into(),
            Type::Signature(of) => {
                let params: Vec<_> = of.params.iter().map(|param| self.show(param)).collect();
                format!("({}) -> {}", params.join(", "), self.show(&of.ret))
            }
            Type::Range => "range".into(),
            Type::Error => "?".into(),
        }
    }

    fn show_axis(&self, axis: &Axis) -> String {
        let size = match self.unsettled(&axis.size) {
            Some(_) => "?".to_string(),
            None => self.show_size(&axis.size),
        };
        match axis.coord {
            // The extent that a signature leaves open is called like its coordinate.
            Some(coord) if size == coord.name.as_str() => size,
            Some(coord) => format!("{}: {size}", coord.name),
            None => size,
        }
    }
}

/// An axis: by its coordinate, or by its number.
pub(super) fn show_axis(coord: Option<Symbol>, position: usize) -> String {
    match coord {
        Some(name) => format!("coordinate `{name}`"),
        None => format!("axis {position}"),
    }
}

/// The coordinates of some axes, as a set.
pub(super) fn show_coords(axes: &[Axis]) -> String {
    let names: Vec<_> = axes
        .iter()
        .map(|axis| axis.coord.map_or("_".to_string(), |coord| coord.name.to_string()))
        .collect();
    format!("{{{}}}", names.join(", "))
}

impl Index<'_> {
    /// What an expression is called in messages.
    pub(super) fn show_name(&self, e: &Expr) -> Option<Symbol> {
        match &*e.kind {
            ExprKind::Var(var) => {
                let name = self.vars[*var].name;
                (!name.as_str().starts_with('$')).then_some(name)
            }
            ExprKind::Index { base, .. } | ExprKind::Slice { base, .. } => self.show_name(base),
            _ => None,
        }
    }

    /// The name in backquotes, or a description.
    pub(super) fn quote(&self, e: &Expr) -> String {
        match self.show_name(e) {
            Some(name) => format!("`{name}`"),
            None => "this value".into(),
        }
    }

    /// Where the variable of an expression was declared.
    pub(super) fn declared_at(&self, e: &Expr) -> Option<ein_base::Span> {
        match &*e.kind {
            ExprKind::Var(var) => {
                let var = &self.vars[*var];
                (!var.name.as_str().starts_with('$')).then_some(var.span)
            }
            ExprKind::Index { base, .. } | ExprKind::Slice { base, .. } => self.declared_at(base),
            _ => None,
        }
    }
}
