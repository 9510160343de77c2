//! Which way a derivative is computed, and how much of it.
//!
//! The requests of a list of statements on one target share one reverse sweep, which stands before
//! the first of them. One number by one number is a single tangent.

use super::reverse::Done;
use super::tensor::defined;
use super::{Mode, Named, Pass, let_stmt, named};
use ein_base::Span;
use ein_ir::tensor::walk::each_child;
use ein_ir::tensor::{
    Binder, Bounds, Clause, ClauseSlot, Derivative, Expr, ExprKind, HostOp, IndexArg, Stmt,
    StmtKind, Tensor, Type, VarId,
};
use ein_scalar::BinaryOp;

/// From so many numbers on, adjoints are cheaper than tangents.
const MANY: usize = 3;

impl Pass<'_> {
    /// Removes the requests of statements; the value is what stands after them.
    pub(super) fn clean_stmts(&mut self, stmts: &mut Vec<Stmt>, mut value: Option<&mut Expr>) {
        let mut list = std::mem::take(stmts);
        for at in 0..list.len() {
            let mut wanted = Vec::new();
            ein_ir::tensor::walk::each_in_stmt(&list[at], &mut |e| requests(e, &mut wanted));
            let mut later = Vec::new();
            if !wanted.is_empty() {
                for stmt in &list[at + 1..] {
                    ein_ir::tensor::walk::each_in_stmt(stmt, &mut |e| requests(e, &mut later));
                }
            }
            self.prepare(&wanted, &later, stmts);
            let (before, rest) = list.split_at_mut(at + 1);
            if self.bind_band(&before[at], rest, value.as_deref_mut(), stmts) {
                continue;
            }
            let mut stmt = list[at].clone();
            self.clean_stmt(&mut stmt);
            stmts.push(stmt);
        }
    }

    /// The same for the value after the statements of a block.
    pub(super) fn prepare_value(&mut self, stmts: &mut Vec<Stmt>, value: &Expr) {
        let mut wanted = Vec::new();
        requests(value, &mut wanted);
        self.prepare(&wanted, &[], stmts);
    }

    /// Makes the adjoints that requests want and that can stand before them.
    fn prepare(
        &mut self,
        wanted: &[(VarId, VarId)],
        later: &[(VarId, VarId)],
        stmts: &mut Vec<Stmt>,
    ) {
        let mut done: Vec<VarId> = Vec::new();
        for (target, _) in wanted {
            let scalar = matches!(self.program.vars[*target].ty, Type::Scalar(_));
            if done.contains(target) || !scalar {
                continue;
            }
            done.push(*target);
            let Some(bound) = self.scope.iter().rposition(|it| it.var == *target) else {
                continue;
            };
            let mut params: Vec<VarId> = Vec::new();
            for (other, param) in wanted.iter().chain(later) {
                let before = !self.scope[bound..].iter().any(|it| it.var == *param);
                if other == target
                    && before
                    && !self.is_mixed(*target, *param)
                    && !params.contains(param)
                    && !self.adjoints.contains_key(&(*target, *param))
                {
                    params.push(*param);
                }
            }
            let arrays = params.iter().any(|param| self.program.vars[*param].ty.is_array());
            if params.is_empty() || !arrays && params.len() < MANY {
                continue;
            }
            if self.prepare_all(*target, &params, stmts).is_err() {
                // One of them may be what is in the way of the others.
                for param in params {
                    if let Err(unsupported) = self.prepare_all(*target, &[param], stmts) {
                        self.refused.insert((*target, param), unsupported.why);
                    }
                }
            }
        }
    }

    fn prepare_all(&mut self, target: VarId, params: &[VarId], stmts: &mut Vec<Stmt>) -> Done {
        let span = self.program.vars[target].span;
        let ty = self.program.vars[target].ty.clone();
        let seed = self.number(&ty, 1.0, span);
        let Some(adjoints) = self.adjoints((target, &[]), seed, params)? else { return Ok(()) };
        let needs = self.needs(target, &adjoints);
        let mut found = Vec::new();
        for stmt in adjoints.stmts {
            if let StmtKind::Let(var, value) = &stmt.kind {
                self.enter_scope(*var, value);
            }
            stmts.push(stmt);
        }
        for (param, adjoint) in params.iter().zip(adjoints.of) {
            let Some(adjoint) = adjoint else { continue };
            let adjoint = match &*adjoint.kind {
                ExprKind::Var(_) | ExprKind::Const(_) => adjoint,
                _ => {
                    let var = self.local("$g", adjoint.ty.clone(), span);
                    self.enter_scope(var, &adjoint);
                    stmts.push(let_stmt(var, adjoint));
                    self.var(var, span)
                }
            };
            found.push(*param);
            self.adjoints.insert((target, *param), adjoint);
        }
        self.decide_with(target, &found, Mode::Adjoints, None, needs);
        Ok(())
    }
}

impl Pass<'_> {
    /// `@y / @x`, entries included.
    pub(super) fn quotient(
        &mut self,
        target: &Expr,
        parameter: &Expr,
        ty: Type,
        span: Span,
    ) -> Expr {
        let (Some((y, y_at)), Some((x, x_at))) = (named(target), named(parameter)) else {
            return self.refuse(span, "only named values have derivatives");
        };
        let (y_at, x_at) = (&self.positions(y, y_at)[..], &self.positions(x, x_at)[..]);
        if y_at.is_empty()
            && let Some(adjoint) = self.adjoints.get(&(y, x))
        {
            let adjoint = adjoint.clone();
            if x_at.is_empty() {
                return Expr { ty, ..adjoint };
            }
            let kind = ExprKind::Index { base: adjoint, indices: x_at.to_vec() };
            return Expr::new(kind, ty, span);
        }
        let (y_rank, x_rank) = (self.program.vars[y].ty.rank(), self.program.vars[x].ty.rank());
        // Adjoints would be rounded to the type of the parameter on the way back.
        let mixed = self.is_mixed(y, x);
        if y_at.is_empty()
            && x_at.is_empty()
            && !mixed
            && let Some(band) = self.whole_band(y, x, &ty, span)
        {
            return band;
        }
        let (row, column) = (y_at.len() == y_rank, x_at.len() == x_rank);
        let mut why = self.refused.get(&(y, x)).copied();
        if mixed {
            why = Some("two precisions");
        } else if row && column && y_rank + x_rank > 0 && y != x {
            match self.entry((y, y_at), (x, x_at), &ty, span) {
                Ok(Some(entry)) => return entry,
                Ok(None) => {}
                Err(unsupported) => why = Some(unsupported.why),
            }
        } else if self.by_rows((y, y_at), (x, x_at)) {
            match self.rows((y, y_at), (x, x_at), &ty, span) {
                Ok(Some(rows)) => return rows,
                Ok(None) => {}
                Err(unsupported) => why = Some(unsupported.why),
            }
        }
        self.decide(y, &[x], if column { Mode::Column } else { Mode::Columns }, why);
        self.columns((y, y_at), (x, x_at), ty, span)
    }

    /// Whether two variables have numbers of different types.
    fn is_mixed(&self, y: VarId, x: VarId) -> bool {
        self.program.vars[y].ty.scalar() != self.program.vars[x].ty.scalar()
    }

    /// One element by one element, by adjoints: only the points between them are looked at.
    fn entry(
        &mut self,
        (y, y_at): Named,
        (x, x_at): Named,
        ty: &Type,
        span: Span,
    ) -> Done<Option<Expr>> {
        let Some(adjoints) = self.entry_adjoint((y, y_at), (x, x_at), span)? else {
            return Ok(None);
        };
        let needs = self.needs(y, &adjoints);
        self.decide_with(y, &[x], Mode::Entry, None, needs);
        let zero = self.number(ty, 0.0, span);
        let value = adjoints.of.into_iter().next().flatten().unwrap_or(zero);
        let kind = ExprKind::Block { stmts: adjoints.stmts, value };
        Ok(Some(Expr::new(kind, ty.clone(), span)))
    }

    /// Indices as positions: negative literals count from the end, and all are `i32`.
    pub(super) fn positions(&self, var: VarId, at: &[IndexArg]) -> Vec<IndexArg> {
        let axes = self.program.vars[var].ty.axes();
        let place = |(index, axis): (&IndexArg, &ein_ir::tensor::Axis)| {
            let negative = match &*index.value.kind {
                ExprKind::Const(value) => value.as_i64().filter(|at| *at < 0),
                _ => None,
            };
            let value = match negative {
                Some(at) => Expr::size(axis.size.offset(at), index.value.span),
                None => super::positions::checked(index.value.clone()),
            };
            IndexArg { value, bounds: index.bounds }
        };
        at.iter().zip(axes).map(place).collect()
    }

    /// Whether adjoints are the cheaper way.
    fn by_rows(&self, (y, y_at): Named, (x, x_at): Named) -> bool {
        let left = |var: VarId, fixed: usize| {
            let axes = self.program.vars[var].ty.axes();
            elements(&axes[fixed.min(axes.len())..])
        };
        y != x && left(y, y_at.len()) < left(x, x_at.len())
    }

    /// All entries by adjoints, one row at a time.
    fn rows(
        &mut self,
        (y, y_at): Named,
        (x, x_at): Named,
        ty: &Type,
        span: Span,
    ) -> Done<Option<Expr>> {
        let axes = self.program.vars[y].ty.axes().to_vec();
        let mut at = y_at.to_vec();
        let mut slots = Vec::new();
        for axis in &axes[y_at.len()..] {
            let var = self.local("$p", Type::I32, span);
            let hi = Expr::size(axis.size.clone(), span);
            slots.push(ClauseSlot::Loop(Binder { var, lo: Expr::int(0, span), hi }));
            at.push(IndexArg { value: self.var(var, span), bounds: Bounds::Proved });
        }
        let one = self.number(&self.program.vars[y].ty.clone(), 1.0, span);
        let Some(adjoints) = self.adjoints((y, &at), one, &[x])? else { return Ok(None) };
        let needs = self.needs(y, &adjoints);
        let Some(row) = adjoints.of.into_iter().next().flatten() else { return Ok(None) };
        let mode = if slots.is_empty() { Mode::Row } else { Mode::Rows };
        self.decide_with(y, &[x], mode, None, needs);
        let x_ty = self.program.vars[x].ty.clone();
        let inner = Type::array(x_ty.elem().clone(), x_ty.axes()[x_at.len()..].to_vec());
        let value = if x_at.is_empty() {
            row
        } else {
            let kind = ExprKind::Index { base: row, indices: x_at.to_vec() };
            Expr::new(kind, inner.clone(), span)
        };
        let body = Expr::new(ExprKind::Block { stmts: adjoints.stmts, value }, inner.clone(), span);
        if slots.is_empty() {
            return Ok(Some(Expr { ty: ty.clone(), ..body }));
        }
        let tensor = Tensor {
            name: None,
            self_var: None,
            shape: axes[y_at.len()..].iter().map(|axis| Some(axis.size.clone())).collect(),
            inner_rank: inner.rank(),
            clauses: vec![Clause {
                slots,
                items: Vec::new(),
                value: body,
                otherwise: None,
                until: None,
                span,
            }],
            recurrence: None,
            requires: Vec::new(),
        };
        Ok(Some(Expr::new(ExprKind::Tensor(tensor), ty.clone(), span)))
    }

    /// `jvp` and `vjp`.
    pub(super) fn product(
        &mut self,
        target: &Expr,
        parameter: &Expr,
        direction: &Expr,
        forward: bool,
        ty: Type,
        span: Span,
    ) -> Expr {
        let (Some((y, y_at)), Some((x, x_at))) = (named(target), named(parameter)) else {
            return self.refuse(span, "only named values have derivatives");
        };
        let (y_at, x_at) = (&self.positions(y, y_at)[..], &self.positions(x, x_at)[..]);
        let mut stmts = Vec::new();
        if forward {
            self.decide(y, &[x], Mode::Pushforward, None);
            let direction = self.spread(x, x_at, direction, &mut stmts);
            return match self.along(y, x, direction, &mut stmts) {
                Some(tangent) => {
                    let value = part(tangent, y_at, &ty);
                    Expr::new(ExprKind::Block { stmts, value }, ty, span)
                }
                None => {
                    self.independent(y, x, span);
                    self.zeros_like(target.clone())
                }
            };
        }
        let flows = self.spread(y, y_at, direction, &mut stmts);
        let flows = self.name(flows, &mut stmts);
        match self.adjoints((y, &[]), flows, &[x]) {
            Ok(Some(adjoints)) => {
                let needs = self.needs(y, &adjoints);
                self.decide_with(y, &[x], Mode::Pullback, None, needs);
                stmts.extend(adjoints.stmts);
                let row = adjoints.of.into_iter().next().flatten();
                let row = row.unwrap_or_else(|| self.zeros_of_var(x, span));
                let value = part(row, x_at, &ty);
                Expr::new(ExprKind::Block { stmts, value }, ty, span)
            }
            Ok(None) => {
                self.independent(y, x, span);
                self.zeros_like(parameter.clone())
            }
            Err(unsupported) => {
                self.refused.insert((y, x), unsupported.why);
                self.contracted(target, parameter, direction, ty, span)
            }
        }
    }

    /// A value under a name.
    pub(super) fn name(&mut self, value: Expr, stmts: &mut Vec<Stmt>) -> Expr {
        if matches!(&*value.kind, ExprKind::Var(_)) {
            return value;
        }
        let span = value.span;
        let var = self.local("$d", value.ty.clone(), span);
        stmts.push(let_stmt(var, value));
        self.var(var, span)
    }

    /// A direction of a part as a direction of the whole: zero elsewhere.
    pub(super) fn spread(
        &mut self,
        var: VarId,
        at: &[IndexArg],
        direction: &Expr,
        stmts: &mut Vec<Stmt>,
    ) -> Expr {
        if at.is_empty() {
            return direction.clone();
        }
        let span = direction.span;
        let direction = self.name(direction.clone(), stmts);
        let ty = self.program.vars[var].ty.clone();
        let mut slots = Vec::new();
        let mut rest = Vec::new();
        let mut cond: Option<Expr> = None;
        for (number, axis) in ty.axes().iter().enumerate() {
            let var = self.local("$i", Type::I32, span);
            let hi = Expr::size(axis.size.clone(), span);
            slots.push(ClauseSlot::Loop(Binder { var, lo: Expr::int(0, span), hi }));
            let here = self.var(var, span);
            let Some(fixed) = at.get(number) else {
                rest.push(IndexArg { value: here, bounds: Bounds::Proved });
                continue;
            };
            let test = ExprKind::Binary(BinaryOp::Eq, here, fixed.value.clone());
            let test = Expr::new(test, Type::BOOL, span);
            cond = Some(match cond {
                None => test,
                Some(cond) => Expr::new(ExprKind::And(cond, test), Type::BOOL, span),
            });
        }
        let elem = ty.elem().clone();
        let then = part(direction, &rest, &elem);
        let otherwise = self.number(&ty, 0.0, span);
        let value = match cond {
            Some(cond) => Expr::new(ExprKind::If { cond, then, otherwise }, elem, span),
            None => then,
        };
        defined(slots, value, ty, span)
    }

    /// The whole derivative, contracted: where adjoints cannot be made. It may still be a band.
    fn contracted(
        &mut self,
        target: &Expr,
        parameter: &Expr,
        direction: &Expr,
        ty: Type,
        span: Span,
    ) -> Expr {
        let mut stmts = Vec::new();
        let direction = self.name(direction.clone(), &mut stmts);
        let mut axes = target.ty.axes().to_vec();
        axes.extend(parameter.ty.axes().iter().cloned());
        let whole = Type::array(target.ty.elem().clone(), axes);
        let request = Derivative::Quotient { target: target.clone(), parameter: parameter.clone() };
        let whole = Expr::new(ExprKind::Derivative(request), whole, span);
        let whole = self.name(whole, &mut stmts);
        let index = |pass: &mut Self, axes: &[ein_ir::tensor::Axis]| {
            let mut binders = Vec::new();
            for axis in axes {
                let var = pass.local("$k", Type::I32, span);
                let hi = Expr::size(axis.size.clone(), span);
                binders.push(Binder { var, lo: Expr::int(0, span), hi });
            }
            binders
        };
        let rows = index(self, target.ty.axes());
        let columns = index(self, parameter.ty.axes());
        let at = |pass: &Self, binders: &[Binder]| {
            let at = |binder: &Binder| IndexArg {
                value: pass.var(binder.var, span),
                bounds: Bounds::Proved,
            };
            binders.iter().map(at).collect::<Vec<_>>()
        };
        let elem = target.ty.elem().clone();
        let (i, j) = (at(self, &rows), at(self, &columns));
        let entry = part(whole, &[i.clone(), j].concat(), &elem);
        let mut value = self.times(part(direction, &i, &elem), entry);
        if !rows.is_empty() {
            let sum = ein_ir::tensor::Reduce {
                op: ein_ir::tensor::ReduceOp::Sum,
                binders: rows,
                items: Vec::new(),
                value,
                requires: Vec::new(),
            };
            value = Expr::new(ExprKind::Reduce(sum), elem, span);
        }
        if !columns.is_empty() {
            let shape = parameter.ty.axes().iter().map(|axis| Some(axis.size.clone())).collect();
            let slots = columns.into_iter().map(ClauseSlot::Loop).collect();
            let tensor = Tensor {
                name: None,
                self_var: None,
                shape,
                inner_rank: 0,
                clauses: vec![Clause {
                    slots,
                    items: Vec::new(),
                    value,
                    otherwise: None,
                    until: None,
                    span,
                }],
                recurrence: None,
                requires: Vec::new(),
            };
            value = Expr::new(ExprKind::Tensor(tensor), ty.clone(), span);
        }
        self.clean_stmts(&mut stmts, Some(&mut value));
        Expr::new(ExprKind::Block { stmts, value }, ty, span)
    }
}

/// How many sweeps something takes: how many factors are not known, and the product of the others.
/// What only the run knows counts as more than what is known.
pub(super) type Count = (usize, i64);

/// The number of elements: a sweep for each.
pub(super) fn elements(axes: &[ein_ir::tensor::Axis]) -> Count {
    axes.iter().fold((0, 1), |count, axis| times(count, &axis.size))
}

/// As many sweeps for each of so many.
pub(super) fn times((unknown, known): Count, extent: &ein_ir::size::Expr) -> Count {
    match extent.as_constant() {
        Some(extent) => (unknown, known.saturating_mul(extent)),
        None => (unknown + 1, known),
    }
}

/// A part of an array.
pub(super) fn part(base: Expr, at: &[IndexArg], ty: &Type) -> Expr {
    if at.is_empty() {
        return base;
    }
    let span = base.span;
    Expr::new(ExprKind::Index { base, indices: at.to_vec() }, ty.clone(), span)
}

/// The targets and parameters of all requests in an expression.
fn requests(e: &Expr, found: &mut Vec<(VarId, VarId)>) {
    if let ExprKind::Derivative(Derivative::Quotient { target, parameter }) = &*e.kind
        && let (Some((y, [])), Some((x, _))) = (named(target), named(parameter))
    {
        found.push((y, x));
    }
    // What is printed as it stands is shown as text.
    let printed = matches!(&*e.kind, ExprKind::Host(HostOp::Print, _));
    each_child(e, &mut |child| {
        if !(printed && matches!(&*child.kind, ExprKind::Derivative(_))) {
            requests(child, found);
        }
    });
}
