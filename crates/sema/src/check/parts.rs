//! Parts of structs and tuples as variables.
//!
//! The extents of a field are known when the program runs, as those of the variable that holds it.
//! So `layer.w` in a reduction becomes a variable that is bound right after `layer` is, outside of
//! all loops, and all reads of `layer.w` agree on its extents:
//!
//! Before:  `sum[k](layer.w[0, k])`
//! After:   `let layer.w = layer.w; sum[k in 0..layer.w.shape[1]](layer.w[0, k])`

use super::state::{Build, Index, Infer};
use super::{expr, layouts, vars};
use ein_base::Symbol;
use ein_ir::size;
use ein_ir::tensor::{AtomDef, Expr, ExprKind, HostOp, Stmt, StmtKind, Type, VarId};

/// One step from a value to a part of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// A field or component.
    Field(usize),
    /// An element.
    At(size::Expr),
}

/// A part of the value of a variable.
pub(super) type Part = (VarId, Vec<Step>);

/// The same part of a value, in a variable if its extents are not known yet.
pub(super) fn settle_part(infer: &Infer, ix: &mut Index, build: &mut Build, value: Expr) -> Expr {
    let open = value.ty.axes().iter().any(|axis| ix.unsettled(&axis.size).is_some());
    if !open {
        return value;
    }
    let Some(part) = part_of(ix, &value) else { return expr::settle_expr(ix, build, value) };
    let span = value.span;
    let frame = frame_of_part(infer, ix, build, &part);
    let known = build.f.parts.get(&part).copied();
    if let Some(var) = known.filter(|var| frame == 0 || build.binds(frame, *var)) {
        for axis in ix.vars[var].ty.clone().axes() {
            ix.f.facts.ge0(axis.size.clone());
        }
        return ix.var_expr(var, span);
    }
    let name = part_name(ix, &value);
    let var = match ix.f.top && frame == 0 {
        true => ix.new_global(name, span, value.ty.clone()),
        false => ix.new_var(name, span, value.ty.clone()),
    };
    ix.settle_type(var, value.ty.clone());
    build.f.part_values.insert(var, value.clone());
    if let Some(stmts) = build.f.pending.get_mut(frame) {
        stmts.push(Stmt { kind: StmtKind::Let(var, value), span });
    }
    build.f.parts.insert(part, var);
    ix.var_expr(var, span)
}

/// The same tuple, of parts that are in variables where their extents are not known yet.
pub(super) fn settle_inside(infer: &Infer, ix: &mut Index, build: &mut Build, value: Expr) -> Expr {
    match value.ty.clone() {
        Type::Tuple(types) if layouts::open_inside(ix, &value.ty) => {
            let span = value.span;
            let parts: Vec<Expr> = match *value.kind {
                ExprKind::Tuple(items) => items,
                _ => {
                    let whole = vars::atomise(ix, build, value);
                    let part = |(at, ty): (usize, &Type)| {
                        let kind = ExprKind::TupleGet(whole.clone(), at);
                        Expr::new(kind, ty.clone(), span)
                    };
                    types.iter().enumerate().map(part).collect()
                }
            };
            // What has one extent in several parts has it once.
            let mut known: Vec<(size::Expr, size::Expr)> = Vec::new();
            let settle = |mut part: Expr| {
                let before = part.ty.clone();
                part.ty = vars::map_sizes(part.ty, &mut |size| {
                    let same = known.iter().find(|(own, _)| *own == size);
                    same.map_or(size, |(_, settled)| settled.clone())
                });
                let part = settle_inside(infer, ix, build, part);
                let axes = before.axes().iter().zip(part.ty.axes());
                known.extend(axes.map(|(own, axis)| (own.size.clone(), axis.size.clone())));
                part
            };
            let parts: Vec<Expr> = parts.into_iter().map(settle).collect();
            let ty = Type::Tuple(parts.iter().map(|part| part.ty.clone()).collect());
            Expr::new(ExprKind::Tuple(parts), ty, span)
        }
        Type::Array(_) => settle_part(infer, ix, build, value),
        _ => value,
    }
}

impl Build {
    /// A part that has a variable of its own, as the part that it is: what is computed from the
    /// whole depends on the part, and not on the variable.
    pub(super) fn as_part(&self, value: Expr) -> Expr {
        let kind = match *value.kind {
            ExprKind::Index { base, indices } => {
                ExprKind::Index { base: self.as_part(base), indices }
            }
            ExprKind::Var(var) => match self.f.part_values.get(&var) {
                Some(part) => (*part.kind).clone(),
                None => ExprKind::Var(var),
            },
            kind => kind,
        };
        Expr::new(kind, value.ty, value.span)
    }

    /// Notes that a variable is bound by a pattern, and so known in the next inner frame only.
    pub(super) fn bound_inside(&mut self, var: VarId) {
        let frame = self.f.pending.len();
        self.f.frames.insert(var, frame);
    }
}

/// The variable that a value is a part of, and which part it is. Reading it must not fail,
/// because it is read whether or not the program comes by.
fn part_of(ix: &Index, value: &Expr) -> Option<Part> {
    match &*value.kind {
        ExprKind::Var(var) => Some((*var, Vec::new())),
        ExprKind::FieldGet(base, position) | ExprKind::TupleGet(base, position) => {
            let (root, mut path) = part_of(ix, base)?;
            path.push(Step::Field(*position));
            Some((root, path))
        }
        ExprKind::Index { base, indices } => {
            let indices: Vec<&Expr> = indices.iter().map(|index| &index.value).collect();
            element_of(ix, base, &indices)
        }
        ExprKind::Host(HostOp::ElementAt, args) => match args.as_slice() {
            [base, index] => element_of(ix, base, &[index]),
            _ => None,
        },
        _ => None,
    }
}

/// The same for an element at positions that are known to be there.
fn element_of(ix: &Index, base: &Expr, indices: &[&Expr]) -> Option<Part> {
    let (root, mut path) = part_of(ix, base)?;
    for (index, axis) in indices.iter().zip(base.ty.axes()) {
        let index = ix.to_size(index)?;
        let left = axis.size.sub(&index).offset(-1);
        if !ix.non_negative(&index) || !ix.non_negative(&left) {
            return None;
        }
        path.push(Step::At(index));
    }
    (indices.len() <= base.ty.rank()).then_some((root, path))
}

/// The outermost frame of statements in which all that a part is made of is known.
fn frame_of_part(infer: &Infer, ix: &Index, build: &Build, (root, path): &Part) -> usize {
    let mut frame = frame_of(infer, ix, build, *root);
    for step in path {
        let Step::At(index) = step else { continue };
        for atom in index.atoms() {
            frame = frame.max(match ix.atoms[atom].def {
                AtomDef::Var(var) | AtomDef::Extent(var, _) | AtomDef::Length(var) => {
                    frame_of(infer, ix, build, var)
                }
                AtomDef::Unknown => build.f.pending.len().saturating_sub(1),
            });
        }
    }
    frame
}

/// The outermost frame of statements in which a variable is known.
fn frame_of(infer: &Infer, ix: &Index, build: &Build, var: VarId) -> usize {
    let innermost = build.f.pending.len().saturating_sub(1);
    if let Some(frame) = (0..=innermost).find(|frame| build.binds(*frame, var)) {
        return frame;
    }
    let everywhere = ix.globals.values().any(|global| *global == var)
        || infer
            .instances
            .items
            .iter()
            .any(|instance| instance.params.contains(&var) || instance.captures.contains(&var));
    match build.f.frames.get(&var) {
        _ if everywhere => 0,
        Some(frame) => innermost.min(*frame),
        None => innermost,
    }
}

impl Build {
    /// Whether a statement of a frame binds a variable.
    fn binds(&self, frame: usize, var: VarId) -> bool {
        self.f.pending.get(frame).is_some_and(|stmts| {
            stmts.iter().any(|stmt| match &stmt.kind {
                StmtKind::Let(bound, _) => *bound == var,
                StmtKind::Destructure(pattern, _) => pattern.variables().contains(&var),
                StmtKind::Expr(_) | StmtKind::Require(_) => false,
            })
        })
    }
}

/// `layer.w`
fn part_name(ix: &Index, value: &Expr) -> Symbol {
    match &*value.kind {
        ExprKind::Var(var) => ix.vars[*var].name,
        ExprKind::FieldGet(base, position) => {
            let field = match &base.ty {
                Type::Data(id, _) => ix.data[*id]
                    .variants
                    .first()
                    .and_then(|variant| variant.fields.get(*position))
                    .map_or_else(|| position.to_string(), Symbol::to_string),
                _ => position.to_string(),
            };
            Symbol::intern(&format!("{}.{field}", part_name(ix, base)))
        }
        ExprKind::TupleGet(base, position) => {
            Symbol::intern(&format!("{}.{position}", part_name(ix, base)))
        }
        ExprKind::Index { base, .. } => Symbol::intern(&format!("{}[…]", part_name(ix, base))),
        _ => Symbol::intern(super::vars::TEMPORARY),
    }
}
