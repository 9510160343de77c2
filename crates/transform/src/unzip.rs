//! Recurrences whose state is a struct or tuple, and other arrays of these, as arrays of numbers.
//!
//! Before:  `s[t] = step(s[t - 1])` with `(f32, [f32; 8])` for each `t`
//! After:   `z[t] = { let (a, b) = step((z[t - 1, 0, 0], z[t - 1, 1])); … }`, an array of rows, one
//!          for each part; `s[t] = (z[t, 0, 0], z[t, 1])`
//!
//! Derivatives and engines know recurrences of numbers. Parts of different shapes lie in the corner
//! of a common box, numbers of different types in one that holds them all. What is read of the state
//! becomes a read of its row; the state itself is there for whoever wants to see it whole.
//!
//! Extents that the types of the parts leave open are those of the first state, if every step keeps
//! them ([`shapes`]).
//!
//! Refuses (leaves as it is): parts that are not numbers, or whose extents may change from step to
//! step; reads of several states at once.
//!
//! Failures: every part of a state is computed when the state is, also one that nobody reads.

use crate::records::{Frame, Records, beside, part, settle};
use ein_base::Span;
use ein_ir::size;
use ein_ir::tensor::walk::{any, each_child, each_child_mut, each_in_clause_mut, each_in_stmt_mut};
use ein_ir::tensor::{
    Axis, Binder, Bounds, Clause, ClauseSlot, Expr, ExprKind, IndexArg, Program, Stmt, StmtKind,
    Tensor, Type, VarId,
};
use ein_scalar::{BinaryOp, Scalar, ScalarType as S};
use rustc_hash::FxHashMap;
use shapes::{Form, Shapes};

mod forget;
mod read;
mod shapes;

pub use forget::forget;

/// A box that is so much larger than what lies in it is not worth it,
const WASTE: i64 = 8;

/// unless it has no more cells than this: what is not written takes no time.
const SMALL: i64 = 1 << 20;

/// Whether an array is one of structs or tuples.
fn is_state(ty: &Type) -> bool {
    matches!(ty.elem(), Type::Tuple(_) | Type::Data(..))
}

/// Takes arrays of structs and tuples apart.
pub fn run(program: &mut Program) {
    let mut found = false;
    let mut look = |e: &Expr| {
        found = found
            || any(e, &mut |e| match &*e.kind {
                ExprKind::Tensor(_) => is_state(&e.ty),
                _ => false,
            });
    };
    program.funcs.iter().for_each(|func| look(&func.body));
    for stmt in &program.top {
        ein_ir::tensor::walk::each_in_stmt(stmt, &mut look);
    }
    if !found {
        return;
    }
    let records = Records::of(program);
    let mut pass = Pass { program, records, rows: FxHashMap::default(), frame: Frame::Top };
    let mut top = std::mem::take(&mut pass.program.top);
    pass.list(&mut top);
    pass.program.top = top;
    let funcs: Vec<_> = pass.program.funcs.ids().collect();
    for func in funcs.iter().copied() {
        let span = pass.program.funcs[func].span;
        let mut body = std::mem::replace(&mut pass.program.funcs[func].body, Expr::error(span));
        pass.frame = Frame::Func(func);
        pass.inside(&mut body);
        pass.program.funcs[func].body = body;
    }
    // Functions may read what the top level bound.
    for func in funcs {
        let span = pass.program.funcs[func].span;
        let mut body = std::mem::replace(&mut pass.program.funcs[func].body, Expr::error(span));
        pass.frame = Frame::Func(func);
        pass.moved(&mut body);
        pass.program.funcs[func].body = body;
    }
}

/// A part of a state.
#[derive(Clone)]
struct Leaf {
    /// The way to it.
    path: Vec<(usize, Type)>,
    ty: Type,
    scalar: S,
    /// Its extents.
    shape: Vec<size::Expr>,
}

impl Leaf {
    /// Gives it extents.
    fn settle(&mut self, shape: Vec<size::Expr>) {
        let mut axes = self.ty.axes().to_vec();
        for (axis, size) in axes.iter_mut().zip(&shape) {
            axis.size = size.clone();
        }
        self.ty = Type::array(self.ty.elem().clone(), axes);
        self.shape = shape;
    }
}

/// How the states of a recurrence lie in an array.
#[derive(Clone)]
struct Rows {
    /// The array.
    var: VarId,
    ty: Type,
    /// The axes of the recurrence.
    rank: usize,
    /// The type of a state.
    state: Type,
    leaves: Vec<Leaf>,
    /// The extents of a row.
    row: Vec<size::Expr>,
    scalar: S,
}

struct Pass<'p> {
    program: &'p mut Program,
    records: Records,
    /// The arrays of states that were taken apart, by the variables that they were read by.
    rows: FxHashMap<VarId, Rows>,
    /// Whose slots new variables take.
    frame: Frame,
}

impl Pass<'_> {
    fn list(&mut self, stmts: &mut Vec<Stmt>) {
        let mut made = Vec::with_capacity(stmts.len());
        for mut stmt in std::mem::take(stmts) {
            each_in_stmt_mut(&mut stmt, &mut |e| self.inside(e));
            if let StmtKind::Let(var, value) = &mut stmt.kind
                && let Some(first) = self.apart(*var, value)
            {
                made.extend(first);
                made.push(stmt);
                continue;
            }
            each_in_stmt_mut(&mut stmt, &mut |e| self.moved(e));
            made.push(stmt);
        }
        *stmts = made;
    }

    fn inside(&mut self, e: &mut Expr) {
        if let ExprKind::Block { stmts, value } = &mut *e.kind {
            self.list(stmts);
            self.inside(value);
            self.moved(value);
            return;
        }
        each_child_mut(e, &mut |child| self.inside(child));
    }

    /// Takes the states of a definition apart: gives the statements that compute the numbers, and
    /// leaves a definition that puts them together.
    fn apart(&mut self, var: VarId, value: &mut Expr) -> Option<Vec<Stmt>> {
        let span = value.span;
        let ExprKind::Tensor(tensor) = &*value.kind else { return None };
        let self_var = tensor.self_var;
        let alone = self_var.is_some() != tensor.recurrence.is_some();
        if tensor.inner_rank > 0 || alone || !is_state(&value.ty) {
            return None;
        }
        let state = value.ty.elem().clone();
        let mut leaves = self.leaves(&state)?;
        let scalars: Vec<S> = leaves.iter().map(|leaf| leaf.scalar).collect();
        let scalar = common_scalar(&scalars)?;
        let rank = tensor.shape.len();
        let whole = tensor.clauses.iter().all(|clause| {
            let mut fine = true;
            ein_ir::tensor::walk::each_in_clause(clause, &mut |e| {
                fine = fine && self_var.is_none_or(|own| reads_states(e, own, rank));
            });
            fine
        });
        if !whole {
            return None;
        }
        let mut tensor = tensor.clone();
        let mut stmts = self.close(&mut leaves, &mut tensor, self_var)?;
        let row = row_of(&leaves)?;
        let mut axes = value.ty.axes().to_vec();
        axes.push(Axis::anonymous(size::Expr::constant(leaves.len() as i64)));
        axes.extend(row.iter().cloned().map(Axis::anonymous));
        let ty = Type::array(Type::Scalar(scalar), axes.clone());
        let name = self.program.vars[var].name;
        let new =
            beside(self.program, self.frame, Some(var), &format!("${name}"), ty.clone(), span);
        // Extents that only the run knows are those of the array of numbers.
        let own = settle(self.program, new);
        let outside = Rows { var: new, ty: own.clone(), rank, state, leaves, row, scalar };
        let rows = match self_var {
            Some(self_var) => inner(self, &outside, self_var, &format!("${name}"), span),
            None => outside.clone(),
        };
        let mut numbers = tensor;
        numbers.self_var = self_var.map(|_| rows.var);
        numbers.inner_rank = 1 + rows.row.len();
        for clause in &mut numbers.clauses {
            each_in_clause_mut(clause, &mut |e| self.moved(e));
            for value in [&mut clause.value].into_iter().chain(&mut clause.otherwise) {
                let state = std::mem::replace(value, Expr::error(span));
                *value = self.as_row(&rows, state);
            }
        }
        let numbers = Expr::new(ExprKind::Tensor(numbers), own.clone(), span);
        // How many steps there are is asked of the numbers, also where only the run knows.
        for atom in self.program.atoms.iter_mut() {
            if let ein_ir::tensor::AtomDef::Extent(of, axis) = atom.def
                && of == var
                && axis < rank
            {
                atom.def = ein_ir::tensor::AtomDef::Extent(new, axis);
            }
        }
        // Outside, the states are put together where they are read.
        *value = self.put_together(&outside, value.ty.clone(), name, span);
        self.rows.insert(var, outside);
        stmts.push(Stmt { kind: StmtKind::Let(new, numbers), span });
        Some(stmts)
    }

    /// Finds the extents that the types of the parts leave open: gives the statements that they are
    /// taken from.
    fn close(
        &mut self,
        leaves: &mut [Leaf],
        tensor: &mut Tensor,
        self_var: Option<VarId>,
    ) -> Option<Vec<Stmt>> {
        let open = |leaf: &Leaf| leaf.shape.iter().any(|size| size.as_constant().is_none());
        let mut stmts = Vec::new();
        if !leaves.iter().any(open) {
            return Some(stmts);
        }
        let self_var = self_var?;
        let mut reads = tensor.clauses.iter().map(|clause| {
            let mut reads = !clause.items.is_empty() || clause.otherwise.is_some();
            reads |= clause.indices().next().is_some();
            ein_ir::tensor::walk::each_in_clause(clause, &mut |e| {
                reads |=
                    any(e, &mut |e| matches!(&*e.kind, ExprKind::Var(var) if *var == self_var));
            });
            reads
        });
        let first = reads.position(|reads| !reads)?;
        let base = &mut tensor.clauses[first].value;
        match Shapes::new(self.program).form(base) {
            Some(form) => {
                for leaf in leaves.iter_mut().filter(|leaf| open(leaf)) {
                    leaf.settle(form.at(&leaf.path)?.to_vec());
                }
            }
            None => {
                // The first state is computed before the others, and asked.
                let (span, ty) = (base.span, base.ty.clone());
                let var = beside(self.program, self.frame, None, "$first", ty.clone(), span);
                let held = Expr::new(ExprKind::Var(var), ty, span);
                let state = std::mem::replace(base, held.clone());
                stmts.push(Stmt { kind: StmtKind::Let(var, state), span });
                for leaf in leaves.iter_mut().filter(|leaf| open(leaf)) {
                    let mut value = held.clone();
                    for (at, ty) in &leaf.path {
                        value = part(value, *at, ty.clone());
                    }
                    let ty = value.ty.clone();
                    let var = beside(self.program, self.frame, None, "$part", ty, span);
                    let own = settle(self.program, var);
                    let shape = own.axes().iter().map(|axis| axis.size.clone()).collect();
                    stmts.push(Stmt { kind: StmtKind::Let(var, value), span });
                    leaf.settle(shape);
                }
            }
        }
        let form = Form::of(leaves);
        let mut kept = tensor.clauses.iter().enumerate().filter(|(at, _)| *at != first);
        kept.all(|(_, clause)| Shapes::new(self.program).keeps(clause, self_var, &form))
            .then_some(stmts)
    }

    /// The parts of a state, if all of them are numbers or arrays of numbers.
    fn leaves(&self, state: &Type) -> Option<Vec<Leaf>> {
        let mut leaves = Vec::new();
        self.collect(state, &mut Vec::new(), &mut leaves)?;
        (!leaves.is_empty() && leaves.len() <= 64).then_some(leaves)
    }

    fn collect(
        &self,
        ty: &Type,
        path: &mut Vec<(usize, Type)>,
        leaves: &mut Vec<Leaf>,
    ) -> Option<()> {
        if let Some(parts) = self.records.parts(self.program, ty) {
            for (at, part) in parts.into_iter().enumerate() {
                path.push((at, part.clone()));
                self.collect(&part, path, leaves)?;
                path.pop();
            }
            return Some(());
        }
        let scalar = match ty {
            Type::Scalar(scalar) => *scalar,
            Type::Array(array) => match array.elem {
                Type::Scalar(scalar) => scalar,
                _ => return None,
            },
            _ => return None,
        };
        let shape: Vec<size::Expr> = ty.axes().iter().map(|axis| axis.size.clone()).collect();
        leaves.push(Leaf { path: path.clone(), ty: ty.clone(), scalar, shape });
        Some(())
    }

    // ---------------------------------------------------------------- writing

    /// A state as a row of numbers.
    fn as_row(&mut self, rows: &Rows, state: Expr) -> Expr {
        let span = state.span;
        let mut stmts = Vec::new();
        let simple = matches!(&*state.kind, ExprKind::Tuple(_) | ExprKind::Make { .. });
        let state = match simple {
            true => state,
            false => {
                let ty = rows.state.clone();
                let var = beside(self.program, self.frame, None, "$state", ty.clone(), span);
                stmts.push(Stmt { kind: StmtKind::Let(var, state), span });
                Expr::new(ExprKind::Var(var), ty, span)
            }
        };
        let alike =
            rows.leaves.iter().all(|leaf| leaf.scalar == rows.scalar && leaf.shape == rows.row);
        let mut parts = Vec::new();
        for leaf in &rows.leaves {
            let mut value = state.clone();
            for (at, ty) in &leaf.path {
                value = part(value, *at, ty.clone());
            }
            if !alike && !leaf.shape.is_empty() {
                let ty = value.ty.clone();
                let var = beside(self.program, self.frame, None, "$part", ty.clone(), span);
                stmts.push(Stmt { kind: StmtKind::Let(var, value), span });
                value = Expr::new(ExprKind::Var(var), ty, span);
            }
            parts.push(value);
        }
        let mut axes = vec![Axis::anonymous(size::Expr::constant(parts.len() as i64))];
        axes.extend(rows.row.iter().cloned().map(Axis::anonymous));
        let ty = Type::array(Type::Scalar(rows.scalar), axes);
        let value = match alike {
            true => Expr::new(ExprKind::Array(parts), ty.clone(), span),
            false => self.boxed(rows, parts, ty.clone(), span),
        };
        match stmts.is_empty() {
            true => value,
            false => Expr::new(ExprKind::Block { stmts, value }, ty, span),
        }
    }

    /// Parts of different shapes or types in one array.
    fn boxed(&mut self, rows: &Rows, parts: Vec<Expr>, ty: Type, span: Span) -> Expr {
        let mut clauses = Vec::new();
        for (number, (leaf, value)) in rows.leaves.iter().zip(parts).enumerate() {
            let mut slots = vec![ClauseSlot::Point(number as i64)];
            let mut at = Vec::new();
            for size in &leaf.shape {
                let (slot, index) = self.over(size, span);
                slots.push(slot);
                at.push(index);
            }
            slots.extend((leaf.shape.len()..rows.row.len()).map(|_| ClauseSlot::Point(0)));
            let value = element(value, at);
            let value = converted(value, leaf.scalar, rows.scalar);
            let (items, otherwise, until) = (Vec::new(), None, None);
            clauses.push(Clause { slots, items, value, otherwise, until, span });
        }
        let tensor = Tensor {
            name: None,
            self_var: None,
            shape: ty.axes().iter().map(|axis| Some(axis.size.clone())).collect(),
            inner_rank: 0,
            clauses,
            recurrence: None,
            requires: Vec::new(),
        };
        Expr::new(ExprKind::Tensor(tensor), ty, span)
    }

    /// A loop over an axis, and its index.
    fn over(&mut self, size: &size::Expr, span: Span) -> (ClauseSlot, Expr) {
        let var = beside(self.program, self.frame, None, "$i", Type::I32, span);
        let hi = Expr::size(size.clone(), span);
        let binder = Binder { var, lo: Expr::int(0, span), hi };
        (ClauseSlot::Loop(binder), Expr::new(ExprKind::Var(var), Type::I32, span))
    }
}

/// The rows of the states as the steps of a recurrence read them.
fn inner(pass: &mut Pass, outside: &Rows, self_var: VarId, name: &str, span: Span) -> Rows {
    let mut axes = pass.program.vars[self_var].ty.axes().to_vec();
    axes.extend(outside.ty.axes()[outside.rank..].iter().cloned());
    let ty = Type::array(Type::Scalar(outside.scalar), axes);
    let var = beside(pass.program, pass.frame, Some(self_var), name, ty.clone(), span);
    let rows = Rows { var, ty, ..outside.clone() };
    pass.rows.insert(self_var, rows.clone());
    for atom in pass.program.atoms.iter_mut() {
        if let ein_ir::tensor::AtomDef::Extent(of, axis) = atom.def
            && of == self_var
        {
            atom.def = ein_ir::tensor::AtomDef::Extent(var, axis);
        }
    }
    rows
}

/// Whether an array of states is only read state by state.
fn reads_states(e: &Expr, var: VarId, rank: usize) -> bool {
    match &*e.kind {
        ExprKind::Var(own) => *own != var,
        ExprKind::Index { base, indices } => {
            let is_state = matches!(&*base.kind, ExprKind::Var(own) if *own == var);
            let whole = is_state && indices.len() == rank || reads_states(base, var, rank);
            whole && indices.iter().all(|index| reads_states(&index.value, var, rank))
        }
        _ => {
            let mut fine = true;
            each_child(e, &mut |child| fine = fine && reads_states(child, var, rank));
            fine
        }
    }
}

/// A number in another type that holds it, or back.
fn converted(value: Expr, from: S, to: S) -> Expr {
    let span = value.span;
    if from == to {
        return value;
    }
    let number = |ty: S, one: bool| {
        let value = if one { Scalar::one(ty) } else { Scalar::zero(ty) };
        Expr::new(ExprKind::Const(value), Type::Scalar(ty), span)
    };
    if from == S::Bool {
        let kind =
            ExprKind::If { cond: value, then: number(to, true), otherwise: number(to, false) };
        return Expr::new(kind, Type::Scalar(to), span);
    }
    if to == S::Bool {
        let kind = ExprKind::Binary(BinaryOp::Ne, value, number(from, false));
        return Expr::new(kind, Type::BOOL, span);
    }
    Expr::new(ExprKind::Cast(value), Type::Scalar(to), span)
}

/// An element at positions that are inside.
fn element(base: Expr, at: Vec<Expr>) -> Expr {
    if at.is_empty() {
        return base;
    }
    let span = base.span;
    let ty = Type::array(base.ty.elem().clone(), base.ty.axes()[at.len()..].to_vec());
    let indices = at.into_iter().map(|value| IndexArg { value, bounds: Bounds::Proved }).collect();
    Expr::new(ExprKind::Index { base, indices }, ty, span)
}

/// The type that holds all parts.
pub(crate) fn common_scalar(parts: &[S]) -> Option<S> {
    let first = *parts.first()?;
    if parts.iter().all(|part| *part == first) {
        return Some(first);
    }
    let wide = parts.iter().any(|part| matches!(part, S::I64 | S::U64));
    let floats = parts.iter().any(|part| part.is_float());
    match (floats, wide) {
        (true, false) => Some(S::F64),
        (false, _) if !parts.contains(&S::U64) => Some(S::I64),
        _ => None,
    }
}

/// The extents of a row that holds every part, unless most of it would be empty.
fn row_of(leaves: &[Leaf]) -> Option<Vec<size::Expr>> {
    let rank = leaves.iter().map(|leaf| leaf.shape.len()).max()?;
    let one = |axis: usize| {
        let open = |leaf: &Leaf| leaf.shape.get(axis).is_some_and(|it| it.as_constant().is_none());
        // Extents that only the run knows stay what they are where all parts have them.
        if leaves.iter().all(open) { leaves[0].shape[axis].clone() } else { size::Expr::one() }
    };
    let mut row: Vec<size::Expr> = (0..rank).map(one).collect();
    let mut used = Some(0i64);
    for leaf in leaves {
        let mut cells = Some(1i64);
        for (axis, size) in leaf.shape.iter().enumerate() {
            row[axis] = row[axis].max(size);
            cells = cells.and_then(|cells| cells.checked_mul(size.as_constant()?));
        }
        used = used.and_then(|used| used.checked_add(cells?));
    }
    // Extents that only the run knows are taken for extents of one order.
    let Some(used) = used else { return Some(row) };
    let all = row
        .iter()
        .try_fold(leaves.len() as i64, |all, size| all.checked_mul(size.as_constant()?))?;
    let fine = all <= used.saturating_mul(WASTE) || all <= SMALL;
    fine.then_some(row)
}
