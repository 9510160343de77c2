//! Reads of states as reads of their numbers.

use super::{Pass, Rows, converted, element};
use crate::records::{part, record};
use ein_base::Span;
use ein_ir::tensor::walk::each_child_mut;
use ein_ir::tensor::{Axis, Bounds, Clause, Expr, ExprKind, IndexArg, Tensor, Type, VarId};
use ein_scalar::ScalarType as S;

impl Pass<'_> {
    /// The array of states, made of the numbers.
    pub(super) fn put_together(
        &mut self,
        rows: &Rows,
        ty: Type,
        name: ein_base::Symbol,
        span: Span,
    ) -> Expr {
        let mut axes = ty.axes().to_vec();
        for (axis, own) in axes.iter_mut().zip(rows.ty.axes()) {
            axis.size = own.size.clone();
        }
        let mut slots = Vec::new();
        let mut at = Vec::new();
        for axis in &axes {
            let (slot, index) = self.over(&axis.size, span);
            slots.push(slot);
            at.push(IndexArg { value: index, bounds: Bounds::Proved });
        }
        let value = self.state_at(rows, &at, span);
        let (items, otherwise, until) = (Vec::new(), None, None);
        let clause = Clause { slots, items, value, otherwise, until, span };
        let tensor = Tensor {
            name: Some(name),
            self_var: None,
            shape: axes.iter().map(|axis| Some(axis.size.clone())).collect(),
            inner_rank: 0,
            clauses: vec![clause],
            recurrence: None,
            requires: Vec::new(),
        };
        let ty = Type::array(rows.state.clone(), axes);
        Expr::new(ExprKind::Tensor(tensor), ty, span)
    }

    /// A state, put together from its row.
    fn state_at(&mut self, rows: &Rows, at: &[IndexArg], span: Span) -> Expr {
        let mut next = 0;
        self.state_of(rows, &rows.state, &mut next, at, span)
    }

    fn state_of(
        &mut self,
        rows: &Rows,
        ty: &Type,
        next: &mut usize,
        at: &[IndexArg],
        span: Span,
    ) -> Expr {
        match self.records.parts(self.program, ty) {
            Some(parts) => {
                let mut made = Vec::new();
                for part in &parts {
                    made.push(self.state_of(rows, part, next, at, span));
                }
                record(ty, made, span)
            }
            None => {
                let number = *next;
                *next += 1;
                self.read(rows, number, at, Vec::new(), span)
            }
        }
    }

    /// A part of a state, or what is read of it.
    fn read(
        &mut self,
        rows: &Rows,
        number: usize,
        at: &[IndexArg],
        inside: Vec<IndexArg>,
        span: Span,
    ) -> Expr {
        let leaf = &rows.leaves[number];
        let known = |at: i64| IndexArg { value: Expr::int(at, span), bounds: Bounds::Proved };
        let base = Expr::new(ExprKind::Var(rows.var), rows.ty.clone(), span);
        let mut indices = at.to_vec();
        indices.push(known(number as i64));
        let missing = rows.row.len() - leaf.shape.len();
        let given = inside.len();
        let fits = leaf.shape[..].iter().zip(&rows.row).all(|(a, b)| a == b);
        if given == leaf.shape.len() && (fits || inside.iter().all(|i| i.bounds == Bounds::Proved))
        {
            indices.extend(inside);
            indices.extend((0..missing).map(|_| known(0)));
            let ty = Type::Scalar(rows.scalar);
            let value = Expr::new(ExprKind::Index { base, indices }, ty, span);
            return converted(value, rows.scalar, leaf.scalar);
        }
        let ty = Type::array(Type::Scalar(rows.scalar), rows.ty.axes()[indices.len()..].to_vec());
        let mut part = Expr::new(ExprKind::Index { base, indices }, ty, span);
        if missing > 0 {
            // The axes that the part does not have come first, and are read at 0.
            let (own, rank) = (leaf.shape.len(), rows.row.len());
            let order: Vec<usize> = (own..rank).chain(0..own).collect();
            let axes: Vec<Axis> = order.iter().map(|axis| part.ty.axes()[*axis].clone()).collect();
            let ty = Type::array(Type::Scalar(rows.scalar), axes.clone());
            part = Expr::new(ExprKind::Permute { base: part, order }, ty, span);
            let ty = Type::array(Type::Scalar(rows.scalar), axes[missing..].to_vec());
            let indices = (0..missing).map(|_| known(0)).collect();
            part = Expr::new(ExprKind::Index { base: part, indices }, ty, span);
        }
        for (axis, (own, whole)) in leaf.shape.iter().zip(&rows.row).enumerate() {
            if own != whole {
                let mut axes = part.ty.axes().to_vec();
                axes[axis].size = own.clone();
                let ty = Type::array(Type::Scalar(rows.scalar), axes);
                let hi = Some(Expr::size(own.clone(), span));
                part = Expr::new(ExprKind::Slice { base: part, axis, lo: None, hi }, ty, span);
            }
        }
        if leaf.scalar == rows.scalar && !part.ty.axes().is_empty() {
            part.ty = leaf.ty.clone();
        }
        if !inside.is_empty() {
            let ty = Type::array(Type::Scalar(rows.scalar), part.ty.axes()[given..].to_vec());
            part = Expr::new(ExprKind::Index { base: part, indices: inside }, ty, span);
        }
        self.elementwise(part, rows.scalar, leaf.scalar)
    }

    /// An array in another type, element by element.
    fn elementwise(&mut self, value: Expr, from: S, to: S) -> Expr {
        if from == to || value.ty.axes().is_empty() {
            return converted(value, from, to);
        }
        let span = value.span;
        let axes = value.ty.axes().to_vec();
        let (mut slots, mut at) = (Vec::new(), Vec::new());
        for axis in &axes {
            let (slot, index) = self.over(&axis.size, span);
            slots.push(slot);
            at.push(index);
        }
        let value = converted(element(value, at), from, to);
        let (items, otherwise, until) = (Vec::new(), None, None);
        let tensor = Tensor {
            name: None,
            self_var: None,
            shape: axes.iter().map(|axis| Some(axis.size.clone())).collect(),
            inner_rank: 0,
            clauses: vec![Clause { slots, items, value, otherwise, until, span }],
            recurrence: None,
            requires: Vec::new(),
        };
        Expr::new(ExprKind::Tensor(tensor), Type::array(Type::Scalar(to), axes), span)
    }

    /// Reads of states become reads of their rows.
    pub(super) fn moved(&mut self, e: &mut Expr) {
        if self.rows.is_empty() {
            return;
        }
        let span = e.span;
        // `s[t].0[i]`: the indices of the part go to the row.
        if let ExprKind::Index { base, indices } = &mut *e.kind
            && let Some((var, path)) = self.path_to(base)
            && let Some(rows) = self.rows.get(&var).cloned()
            && let Some(number) = leaf_at(&rows, &path)
        {
            let mut at = state_index(base);
            at.iter_mut().for_each(|index| self.moved(&mut index.value));
            indices.iter_mut().for_each(|index| self.moved(&mut index.value));
            let inside = std::mem::take(indices);
            let ty = e.ty.clone();
            *e = self.read(&rows, number, &at, inside, span);
            e.ty = ty;
            return;
        }
        if let Some((var, path)) = self.path_to(e)
            && let Some(rows) = self.rows.get(&var).cloned()
        {
            let mut at = state_index(e);
            at.iter_mut().for_each(|index| self.moved(&mut index.value));
            *e = match leaf_at(&rows, &path) {
                Some(number) => self.read(&rows, number, &at, Vec::new(), span),
                None => {
                    // A struct in the state, or all of it.
                    let mut value = self.state_at(&rows, &at, span);
                    for number in &path {
                        let ty = match &*value.kind {
                            ExprKind::Tuple(items) | ExprKind::Make { fields: items, .. } => {
                                items.get(*number).map(|item| item.ty.clone())
                            }
                            _ => None,
                        };
                        value = part(value, *number, ty.unwrap_or(Type::Error));
                    }
                    value
                }
            };
            return;
        }
        each_child_mut(e, &mut |child| self.moved(child));
    }

    /// The variable and the parts that `s[t].0.1` names, if the states of `s` were taken apart.
    fn path_to(&self, e: &Expr) -> Option<(VarId, Vec<usize>)> {
        match &*e.kind {
            ExprKind::FieldGet(base, at) | ExprKind::TupleGet(base, at) => {
                let (var, mut path) = self.path_to(base)?;
                path.push(*at);
                Some((var, path))
            }
            ExprKind::Index { base, indices } => match &*base.kind {
                ExprKind::Var(var) => {
                    let rows = self.rows.get(var)?;
                    (indices.len() == rows.rank).then(|| (*var, Vec::new()))
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// The indices of the state that an expression is a part of.
fn state_index(e: &Expr) -> Vec<IndexArg> {
    match &*e.kind {
        ExprKind::FieldGet(base, _) | ExprKind::TupleGet(base, _) => state_index(base),
        ExprKind::Index { indices, .. } => indices.clone(),
        _ => Vec::new(),
    }
}

fn leaf_at(rows: &Rows, path: &[usize]) -> Option<usize> {
    rows.leaves.iter().position(|leaf| {
        leaf.path.len() == path.len() && leaf.path.iter().zip(path).all(|((at, _), own)| at == own)
    })
}
