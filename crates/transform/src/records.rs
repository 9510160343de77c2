//! What structs and tuples are made of.
//!
//! The types of the fields of a struct stand where values of it are made and taken apart, so they
//! are collected from there. Extents that are known only in such a place are open everywhere else.

use ein_ir::size;
use ein_ir::tensor::walk::{each_child, each_in_stmt};
use ein_ir::tensor::{AtomDef, AtomInfo, Expr, ExprKind, Place, Program, Type, Var, VarId};
use rustc_hash::FxHashMap;

/// The function whose slots new variables take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// The statements of the top level.
    Top,
    /// A function.
    Func(ein_ir::tensor::FuncId),
}

/// The types of the fields of structs.
#[derive(Default)]
pub(crate) struct Records {
    fields: FxHashMap<(Type, usize), Type>,
    /// A size that nothing says.
    open: Option<size::Atom>,
}

impl Records {
    /// What a program says of its structs.
    pub(crate) fn of(program: &Program) -> Records {
        let unknown = |atom: &size::Atom| program.atoms[*atom].def == AtomDef::Unknown;
        let open = program.atoms.ids().find(unknown);
        let mut records = Records { fields: FxHashMap::default(), open };
        for func in program.funcs.iter() {
            records.note(&func.body);
        }
        for stmt in &program.top {
            each_in_stmt(stmt, &mut |e| records.note(e));
        }
        records
    }

    fn note(&mut self, e: &Expr) {
        match &*e.kind {
            ExprKind::Make { fields, .. } => {
                for (at, field) in fields.iter().enumerate() {
                    let ty = self.opened(&field.ty);
                    self.fields.entry((e.ty.clone(), at)).or_insert(ty);
                }
            }
            // What a field is read as is what is declared.
            ExprKind::FieldGet(base, at) => {
                let ty = self.opened(&e.ty);
                self.fields.insert((base.ty.clone(), *at), ty);
            }
            _ => {}
        }
        each_child(e, &mut |child| self.note(child));
    }

    /// A type without the extents that are no numbers.
    fn opened(&self, ty: &Type) -> Type {
        let Some(open) = self.open else { return ty.clone() };
        let mut axes = ty.axes().to_vec();
        for axis in axes.iter_mut().filter(|axis| axis.size.as_constant().is_none()) {
            axis.size = size::Expr::atom(open);
        }
        Type::array(ty.elem().clone(), axes)
    }

    /// The types of the parts of a tuple or struct; nothing for anything else.
    pub(crate) fn parts(&self, program: &Program, ty: &Type) -> Option<Vec<Type>> {
        match ty {
            Type::Tuple(items) => Some(items.to_vec()),
            Type::Data(id, _) if !program.data[*id].is_enum => {
                let count = program.data[*id].variants.first()?.fields.len();
                (0..count).map(|at| self.fields.get(&(ty.clone(), at)).cloned()).collect()
            }
            _ => None,
        }
    }
}

/// A part of a tuple or struct.
pub(crate) fn part(value: Expr, at: usize, ty: Type) -> Expr {
    let span = value.span;
    if let ExprKind::Tuple(items) | ExprKind::Make { fields: items, .. } = &*value.kind
        && let Some(item) = items.get(at)
    {
        return item.clone();
    }
    let kind = match &value.ty {
        Type::Tuple(_) => ExprKind::TupleGet(value, at),
        _ => ExprKind::FieldGet(value, at),
    };
    Expr::new(kind, ty, span)
}

/// A tuple or struct of this type.
pub(crate) fn record(ty: &Type, parts: Vec<Expr>, span: ein_base::Span) -> Expr {
    let kind = match ty {
        Type::Data(data, _) => ExprKind::Make { data: *data, variant: 0, fields: parts },
        _ => ExprKind::Tuple(parts),
    };
    Expr::new(kind, ty.clone(), span)
}

/// A variable beside another one: global if that is.
pub(crate) fn beside(
    program: &mut Program,
    frame: Frame,
    like: Option<VarId>,
    name: &str,
    ty: Type,
    span: ein_base::Span,
) -> VarId {
    let global = like.is_some_and(|like| matches!(program.vars[like].place, Place::Global(_)));
    let slot = match frame {
        _ if global => &mut program.global_slots,
        Frame::Top => &mut program.top_slots,
        Frame::Func(func) => &mut program.funcs[func].slots,
    };
    let number = *slot;
    *slot += 1;
    let place = if global { Place::Global(number) } else { Place::Local(number) };
    let name = ein_base::Symbol::intern(name);
    program.vars.push(Var { name, span, ty, place })
}

/// Makes extents of a variable that nothing says its own: those that it has when the program runs.
pub(crate) fn settle(program: &mut Program, var: VarId) -> Type {
    let (name, ty) = (program.vars[var].name, program.vars[var].ty.clone());
    if ty.axes().is_empty() {
        return ty;
    }
    let mut axes = ty.axes().to_vec();
    for (at, axis) in axes.iter_mut().enumerate() {
        let open =
            axis.size.atoms().iter().any(|atom| program.atoms[*atom].def == AtomDef::Unknown);
        if open {
            let info = AtomInfo { name, def: AtomDef::Extent(var, at), external: false };
            axis.size = size::Expr::atom(program.atoms.push(info));
        }
    }
    let own = Type::array(ty.elem().clone(), axes);
    program.vars[var].ty = own.clone();
    own
}
