//! Whole derivatives that are only looked at in part.
//!
//! Before:  `let J = @y / @x; … J[3] … J[i, 2] …`
//! After:   `let row = @y[3] / @x; let column = @y / @x[2]; … row … column[i] …`
//!
//! A row is one pullback and a column one pushforward. Where indices change with loops, the reads
//! become requests of their own (`@y[i] / @x[i]`), which `loops` looks at; if that would be all of
//! it, or anything else is done with the derivative, it is computed as a whole.

use super::{Pass, named};
use ein_ir::tensor::walk::{any, each_child, each_child_mut, each_in_stmt, each_in_stmt_mut};
use ein_ir::tensor::{
    Derivative, Expr, ExprKind, HostOp, IndexArg, Place, Stmt, StmtKind, Type, VarId,
};

/// A part that is read.
struct Part {
    /// Whether the axes of the target are fixed; otherwise those of the parameter.
    row: bool,
    at: Vec<IndexArg>,
    var: VarId,
}

impl Pass<'_> {
    /// Takes apart the derivatives that the statements bind and then read in part only.
    pub(super) fn take_parts(&mut self, stmts: &mut Vec<Stmt>, value: Option<&mut Expr>) {
        let mut value = value;
        let mut at = 0;
        while at < stmts.len() {
            let replaced = match &stmts[at].kind {
                StmtKind::Let(var, e) => self.parts_of(*var, e, &stmts[at + 1..], value.as_deref()),
                StmtKind::Destructure(..) | StmtKind::Expr(_) | StmtKind::Require(_) => None,
            };
            let Some((made, parts, target_rank)) = replaced else {
                let gone = self.take_entries(stmts, at, value.as_deref_mut());
                at += usize::from(!gone);
                continue;
            };
            let StmtKind::Let(var, _) = stmts[at].kind else { return };
            for stmt in &mut stmts[at + 1..] {
                each_in_stmt_mut(stmt, &mut |e| self.read_parts(e, var, &parts, target_rank));
            }
            if let Some(value) = value.as_deref_mut() {
                self.read_parts(value, var, &parts, target_rank);
            }
            let count = made.len();
            stmts.splice(at..=at, made);
            at += count;
        }
    }

    /// Replaces the reads of a derivative by requests of their own, if none of them is for all of
    /// it. Returns whether the derivative is gone; one that is an output stays.
    fn take_entries(&mut self, stmts: &mut Vec<Stmt>, at: usize, value: Option<&mut Expr>) -> bool {
        let StmtKind::Let(var, e) = &stmts[at].kind else { return false };
        let ExprKind::Derivative(Derivative::Quotient { target, parameter }) = &*e.kind else {
            return false;
        };
        let (Some((_, [])), Some((_, []))) = (named(target), named(parameter)) else {
            return false;
        };
        if !target.ty.is_array() || !parameter.ty.is_array() {
            return false;
        }
        let (var, target, parameter) = (*var, target.clone(), parameter.clone());
        let (mut reads, mut whole) = (Vec::new(), false);
        let mut look = |e: &Expr| find(e, var, &mut reads, &mut whole);
        stmts[at + 1..].iter().for_each(|stmt| each_in_stmt(stmt, &mut look));
        value.iter().for_each(|e| look(e));
        let rows = target.ty.rank();
        let known = reads.iter().all(|at| fixed(at) || at.len() >= rows && fixed(&at[..rows]));
        if whole || known {
            return false;
        }
        let mut rest = stmts[at + 1..].to_vec();
        let mut last = value.as_deref().cloned();
        let swap = |e: &mut Expr| request_reads(e, var, &target, &parameter);
        rest.iter_mut().for_each(|stmt| each_in_stmt_mut(stmt, &mut |e| swap(e)));
        last.iter_mut().for_each(swap);
        if self.out_of_loops(&mut rest, last.as_mut()) {
            return false;
        }
        stmts.splice(at + 1.., rest);
        if let (Some(value), Some(last)) = (value, last) {
            *value = last;
        }
        let local = matches!(self.program.vars[var].place, Place::Local(_));
        if local {
            stmts.remove(at);
        }
        local
    }

    /// The requests for the parts of a derivative that are read, if nothing else is done with it.
    fn parts_of(
        &mut self,
        var: VarId,
        e: &Expr,
        rest: &[Stmt],
        value: Option<&Expr>,
    ) -> Option<(Vec<Stmt>, Vec<Part>, usize)> {
        let ExprKind::Derivative(Derivative::Quotient { target, parameter }) = &*e.kind else {
            return None;
        };
        let (Some((_, [])), Some((_, []))) = (named(target), named(parameter)) else {
            return None;
        };
        let local = matches!(self.program.vars[var].place, Place::Local(_));
        if !local || !target.ty.is_array() || !parameter.ty.is_array() {
            return None;
        }
        let (rows, columns) = (target.ty.rank(), parameter.ty.rank());
        let mut reads = Vec::new();
        let mut whole = false;
        let mut look = |e: &Expr| find(e, var, &mut reads, &mut whole);
        rest.iter().for_each(|stmt| each_in_stmt(stmt, &mut look));
        value.iter().for_each(|e| look(e));
        // One that nobody looks at is not computed either.
        if whole {
            return None;
        }
        let mut parts: Vec<Part> = Vec::new();
        let mut made = Vec::new();
        for indices in reads {
            let row = indices.len() >= rows && fixed(&indices[..rows]);
            let column = indices.len() == rows + columns && fixed(&indices[rows..]);
            if !row && !column {
                return None;
            }
            let at = if row { indices[..rows].to_vec() } else { indices[rows..].to_vec() };
            if parts.iter().any(|part| part.row == row && same(&part.at, &at)) {
                continue;
            }
            let span = e.span;
            let fix = |base: &Expr| {
                let kind = ExprKind::Index { base: base.clone(), indices: at.clone() };
                Expr::new(kind, base.ty.elem().clone(), span)
            };
            let (y, x) = if row {
                (fix(target), parameter.clone())
            } else {
                (target.clone(), fix(parameter))
            };
            let kept = if row { &parameter.ty } else { &target.ty };
            let ty = Type::array(e.ty.elem().clone(), kept.axes().to_vec());
            let request = Derivative::Quotient { target: y, parameter: x };
            let request = Expr::new(ExprKind::Derivative(request), ty.clone(), span);
            let name = if row { "$row" } else { "$column" };
            let part = self.local(name, ty, span);
            made.push(super::let_stmt(part, request));
            parts.push(Part { row, at, var: part });
        }
        Some((made, parts, rows))
    }

    /// Reads the parts instead of the whole.
    fn read_parts(&self, e: &mut Expr, var: VarId, parts: &[Part], rows: usize) {
        each_child_mut(e, &mut |child| self.read_parts(child, var, parts, rows));
        let ExprKind::Index { base, indices } = &*e.kind else { return };
        if !matches!(&*base.kind, ExprKind::Var(own) if *own == var) {
            return;
        }
        for part in parts {
            let (at, rest) = if part.row {
                (&indices[..rows], &indices[rows..])
            } else {
                (indices.get(rows..).unwrap_or(&[]), &indices[..rows])
            };
            if same(&part.at, at) {
                let base = self.var(part.var, e.span);
                let rest = rest.to_vec();
                if rest.is_empty() {
                    *e = Expr { ty: e.ty.clone(), ..base };
                } else {
                    let kind = ExprKind::Index { base, indices: rest };
                    *e = Expr::new(kind, e.ty.clone(), e.span);
                }
                return;
            }
        }
    }
}

/// Requests in the place of reads of a derivative.
fn request_reads(e: &mut Expr, var: VarId, target: &Expr, parameter: &Expr) {
    each_child_mut(e, &mut |child| request_reads(child, var, target, parameter));
    if let ExprKind::Host(HostOp::Print, args) = &mut *e.kind {
        args.iter_mut().for_each(as_value);
    }
    let ExprKind::Index { base, indices } = &*e.kind else { return };
    if !matches!(&*base.kind, ExprKind::Var(own) if *own == var) {
        return;
    }
    let rows = target.ty.rank().min(indices.len());
    let fix = |base: &Expr, at: &[IndexArg]| {
        let rest = base.ty.axes().get(at.len()..).unwrap_or(&[]).to_vec();
        super::modes::part(base.clone(), at, &Type::array(base.ty.elem().clone(), rest))
    };
    let request = Derivative::Quotient {
        target: fix(target, &indices[..rows]),
        parameter: fix(parameter, &indices[rows..]),
    };
    *e = Expr::new(ExprKind::Derivative(request), e.ty.clone(), e.span);
}

/// Keeps what has a name from being printed as text.
fn as_value(e: &mut Expr) {
    if matches!(&*e.kind, ExprKind::Derivative(_)) {
        let (ty, span) = (e.ty.clone(), e.span);
        let value = std::mem::replace(e, Expr::error(span));
        *e = Expr::new(ExprKind::Block { stmts: Vec::new(), value }, ty, span);
    }
}

/// Finds the reads of a variable, and whether it is used in another way.
fn find(e: &Expr, var: VarId, reads: &mut Vec<Vec<IndexArg>>, whole: &mut bool) {
    // A part of it that is differentiated, or differentiated by, has to stay a part of it.
    if let ExprKind::Derivative(request) = &*e.kind
        && operands(request).into_iter().flatten().any(|operand| is_of(operand, var))
    {
        *whole = true;
    }
    match &*e.kind {
        ExprKind::Var(own) if *own == var => *whole = true,
        ExprKind::Index { base, indices } if matches!(&*base.kind, ExprKind::Var(own) if *own == var) =>
        {
            reads.push(indices.clone());
            indices.iter().for_each(|index| find(&index.value, var, reads, whole));
        }
        _ => each_child(e, &mut |child| find(child, var, reads, whole)),
    }
}

/// The target and the parameter of a request.
fn operands(request: &Derivative) -> [Option<&Expr>; 2] {
    match request {
        Derivative::Quotient { target, parameter }
        | Derivative::Product { target, parameter, .. } => [Some(target), Some(parameter)],
        Derivative::Tangent(_) => [None, None],
    }
}

fn is_of(operand: &Expr, var: VarId) -> bool {
    named(operand).is_some_and(|(own, _)| own == var)
}

/// Whether something is differentiated by a variable, so that its reads have to stay reads of it.
pub(super) fn is_parameter(e: &Expr, var: VarId) -> bool {
    any(e, &mut |part| match &*part.kind {
        ExprKind::Derivative(request) => {
            operands(request)[1].is_some_and(|parameter| is_of(parameter, var))
        }
        _ => false,
    })
}

/// Whether indices are the same for all points: literals.
fn fixed(indices: &[IndexArg]) -> bool {
    indices.iter().all(|index| matches!(&*index.value.kind, ExprKind::Const(_)))
}

fn same(a: &[IndexArg], b: &[IndexArg]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| match (&*a.value.kind, &*b.value.kind) {
            (ExprKind::Const(a), ExprKind::Const(b)) => a.as_i64() == b.as_i64(),
            _ => false,
        })
}
