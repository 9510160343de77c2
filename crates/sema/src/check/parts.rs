//! Parts of structs and tuples as variables.
//!
//! The extents of a field are known when the program runs, as those of the variable that holds it.
//! So `layer.w` in a reduction becomes a variable that is bound right after `layer` is, outside of
//! all loops, and all reads of `layer.w` agree on its extents:
//!
//! Before:  `sum[k](layer.w[0, k])`
//! After:   `let layer.w = layer.w; sum[k in 0..layer.w.shape[1]](layer.w[0, k])`

use super::Cx;
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

impl Cx<'_> {
    /// The same part of a value, in a variable if its extents are not known yet.
    pub(super) fn settle_part(&mut self, value: Expr) -> Expr {
        let open = value.ty.axes().iter().any(|axis| self.unsettled(&axis.size).is_some());
        if !open {
            return value;
        }
        let Some(part) = self.part_of(&value) else { return self.settle_expr(value) };
        let span = value.span;
        let frame = self.frame_of_part(&part);
        let known = self.f.parts.get(&part).copied();
        if let Some(var) = known.filter(|var| frame == 0 || self.binds(frame, *var)) {
            for axis in self.out.vars[var].ty.clone().axes() {
                self.f.facts.ge0(axis.size.clone());
            }
            return self.var_expr(var, span);
        }
        let name = self.part_name(&value);
        let var = match self.f.top && frame == 0 {
            true => self.new_global(name, span, value.ty.clone()),
            false => self.new_var(name, span, value.ty.clone()),
        };
        self.settle_type(var, value.ty.clone());
        self.f.part_values.insert(var, value.clone());
        if let Some(stmts) = self.f.pending.get_mut(frame) {
            stmts.push(Stmt { kind: StmtKind::Let(var, value), span });
        }
        self.f.parts.insert(part, var);
        self.var_expr(var, span)
    }

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

    /// The variable that a value is a part of, and which part it is. Reading it must not fail,
    /// because it is read whether or not the program comes by.
    fn part_of(&self, value: &Expr) -> Option<Part> {
        match &*value.kind {
            ExprKind::Var(var) => Some((*var, Vec::new())),
            ExprKind::FieldGet(base, position) | ExprKind::TupleGet(base, position) => {
                let (root, mut path) = self.part_of(base)?;
                path.push(Step::Field(*position));
                Some((root, path))
            }
            ExprKind::Index { base, indices } => {
                let indices: Vec<&Expr> = indices.iter().map(|index| &index.value).collect();
                self.element_of(base, &indices)
            }
            ExprKind::Host(HostOp::ElementAt, args) => match args.as_slice() {
                [base, index] => self.element_of(base, &[index]),
                _ => None,
            },
            _ => None,
        }
    }

    /// The same for an element at positions that are known to be there.
    fn element_of(&self, base: &Expr, indices: &[&Expr]) -> Option<Part> {
        let (root, mut path) = self.part_of(base)?;
        for (index, axis) in indices.iter().zip(base.ty.axes()) {
            let index = self.to_size(index)?;
            let left = axis.size.sub(&index).offset(-1);
            if !self.non_negative(&index) || !self.non_negative(&left) {
                return None;
            }
            path.push(Step::At(index));
        }
        (indices.len() <= base.ty.rank()).then_some((root, path))
    }

    /// The outermost frame of statements in which all that a part is made of is known.
    fn frame_of_part(&self, (root, path): &Part) -> usize {
        let mut frame = self.frame_of(*root);
        for step in path {
            let Step::At(index) = step else { continue };
            for atom in index.atoms() {
                frame = frame.max(match self.out.atoms[atom].def {
                    AtomDef::Var(var) | AtomDef::Extent(var, _) | AtomDef::Length(var) => {
                        self.frame_of(var)
                    }
                    AtomDef::Unknown => self.f.pending.len().saturating_sub(1),
                });
            }
        }
        frame
    }

    /// The outermost frame of statements in which a variable is known.
    fn frame_of(&self, var: VarId) -> usize {
        let innermost = self.f.pending.len().saturating_sub(1);
        if let Some(frame) = (0..=innermost).find(|frame| self.binds(*frame, var)) {
            return frame;
        }
        let everywhere =
            self.globals.values().any(|global| *global == var)
                || self.instances.items.iter().any(|instance| {
                    instance.params.contains(&var) || instance.captures.contains(&var)
                });
        match self.f.frames.get(&var) {
            _ if everywhere => 0,
            Some(frame) => innermost.min(*frame),
            None => innermost,
        }
    }

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

    /// `layer.w`
    fn part_name(&self, value: &Expr) -> Symbol {
        match &*value.kind {
            ExprKind::Var(var) => self.out.vars[*var].name,
            ExprKind::FieldGet(base, position) => {
                let field = match &base.ty {
                    Type::Data(id, _) => self.out.data[*id]
                        .variants
                        .first()
                        .and_then(|variant| variant.fields.get(*position))
                        .map_or_else(|| position.to_string(), Symbol::to_string),
                    _ => position.to_string(),
                };
                Symbol::intern(&format!("{}.{field}", self.part_name(base)))
            }
            ExprKind::TupleGet(base, position) => {
                Symbol::intern(&format!("{}.{position}", self.part_name(base)))
            }
            ExprKind::Index { base, .. } => Symbol::intern(&format!("{}[…]", self.part_name(base))),
            _ => Symbol::intern(super::vars::TEMPORARY),
        }
    }
}
