//! Names for the parts of structs and tuples that derivatives are asked by.
//!
//! Before:  `let p = P { w: a, b: c }; … p.w …; @loss / @p.w`
//! After:   `let w = a; let p = P { w: w, b: c }; … w …; @loss / @w`
//!
//! A derivative is asked between variables. Everything that reads the part reads its name, and what
//! reads the whole reads a struct that is made of it, so every way from the part to the target leads
//! through the variable.
//!
//! Needs: a checked program. After: targets and parameters of requests are variables or entries of
//! them.

use crate::records::{Frame, Records, beside, part, record, settle};
use ein_ir::tensor::walk::{each_child, each_child_mut, each_in_stmt, each_in_stmt_mut};
use ein_ir::tensor::{Derivative, Expr, ExprKind, Item, Program, Stmt, StmtKind, Type, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Structs in structs are followed so deep.
const DEEPEST: usize = 16;

/// The parts of a variable that have names.
struct Split {
    /// Their numbers, with the variables.
    parts: Vec<(usize, VarId)>,
    /// What is read instead of the whole.
    whole: VarId,
}

/// The parts that requests name, by their variables: numbers and types.
type Asked = FxHashMap<VarId, Vec<(usize, Type)>>;

/// Gives the parts that requests name variables of their own.
pub(crate) fn run(program: &mut Program) {
    for _ in 0..DEEPEST {
        let mut asked = Asked::default();
        for func in program.funcs.iter() {
            requests(&func.body, &mut asked);
        }
        for stmt in &program.top {
            each_in_stmt(stmt, &mut |e| requests(e, &mut asked));
        }
        if asked.is_empty() {
            return;
        }
        let records = Records::of(program);
        let (splits, taken) = (FxHashMap::default(), FxHashSet::default());
        let mut pass = Pass { program, records, asked, splits, taken };
        pass.everywhere();
    }
}

/// Notes the parts that the requests in an expression name.
fn requests(e: &Expr, asked: &mut Asked) {
    if let ExprKind::Derivative(request) = &*e.kind {
        match request {
            Derivative::Quotient { target, parameter }
            | Derivative::Product { target, parameter, .. } => {
                note(target, asked);
                note(parameter, asked);
            }
            Derivative::Tangent(value) => note(value, asked),
        }
    }
    each_child(e, &mut |child| requests(child, asked));
}

/// Notes the outermost part that a name leads to.
fn note(e: &Expr, asked: &mut Asked) {
    let inner = match &*e.kind {
        ExprKind::FieldGet(base, at) | ExprKind::TupleGet(base, at) => match &*base.kind {
            ExprKind::Var(var) => {
                let parts = asked.entry(*var).or_default();
                if parts.iter().all(|(known, _)| known != at) {
                    parts.push((*at, e.ty.clone()));
                }
                return;
            }
            _ => base,
        },
        ExprKind::Index { base, .. } => base,
        _ => return,
    };
    note(inner, asked);
}

struct Pass<'p> {
    program: &'p mut Program,
    records: Records,
    asked: Asked,
    splits: FxHashMap<VarId, Split>,
    /// Names that are taken from what was bound.
    taken: FxHashSet<VarId>,
}

impl Pass<'_> {
    fn everywhere(&mut self) {
        let funcs: Vec<_> = self.program.funcs.ids().collect();
        let mut top = std::mem::take(&mut self.program.top);
        self.list(&mut top, Frame::Top);
        self.program.top = top;
        for func in &funcs {
            let frame = Frame::Func(*func);
            let span = self.program.funcs[*func].span;
            let mut body =
                std::mem::replace(&mut self.program.funcs[*func].body, Expr::error(span));
            self.inside(&mut body, frame);
            let own = &self.program.funcs[*func];
            let given: Vec<VarId> = own.params.iter().chain(&own.captures).copied().collect();
            let mut first = Vec::new();
            for var in given {
                first.extend(self.parts_after(var, frame));
            }
            if !first.is_empty() {
                let (ty, span) = (body.ty.clone(), body.span);
                body = Expr::new(ExprKind::Block { stmts: first, value: body }, ty, span);
            }
            self.program.funcs[*func].body = body;
        }
        let mut top = std::mem::take(&mut self.program.top);
        top.iter_mut().for_each(|stmt| self.renamed_stmt(stmt));
        self.program.top = top;
        for func in funcs {
            let span = self.program.funcs[func].span;
            let mut body = std::mem::replace(&mut self.program.funcs[func].body, Expr::error(span));
            self.renamed(&mut body);
            self.program.funcs[func].body = body;
        }
    }

    /// Adds the names where the variables are bound.
    fn list(&mut self, stmts: &mut Vec<Stmt>, frame: Frame) {
        let mut made = Vec::with_capacity(stmts.len());
        for mut stmt in std::mem::take(stmts) {
            each_in_stmt_mut(&mut stmt, &mut |e| self.inside(e, frame));
            let bound = match &stmt.kind {
                StmtKind::Let(var, _) => vec![*var],
                StmtKind::Destructure(pattern, _) => pattern.variables(),
                StmtKind::Expr(_) | StmtKind::Require(_) => Vec::new(),
            };
            let literal = match stmt.kind {
                StmtKind::Let(var, ref value)
                    if self.asked.contains_key(&var)
                        && matches!(&*value.kind, ExprKind::Tuple(_) | ExprKind::Make { .. }) =>
                {
                    Some(var)
                }
                _ => None,
            };
            if let (Some(var), StmtKind::Let(_, value)) = (literal, &mut stmt.kind) {
                made.extend(self.parts_before(var, value, frame));
                made.push(stmt);
                continue;
            }
            made.push(stmt);
            for var in bound {
                made.extend(self.parts_after(var, frame));
            }
        }
        *stmts = made;
    }

    fn inside(&mut self, e: &mut Expr, frame: Frame) {
        if let ExprKind::Block { stmts, value } = &mut *e.kind {
            self.list(stmts, frame);
            self.inside(value, frame);
            return;
        }
        each_child_mut(e, &mut |child| self.inside(child, frame));
        for items in items_of(e) {
            self.items(items, frame);
        }
    }

    /// Adds the names where `where` binds the variables.
    fn items(&mut self, items: &mut Vec<Item>, frame: Frame) {
        let mut made = Vec::with_capacity(items.len());
        for item in std::mem::take(items) {
            match item {
                Item::Let(var, value) => {
                    let span = value.span;
                    let mut stmts = vec![Stmt { kind: StmtKind::Let(var, value), span }];
                    self.list(&mut stmts, frame);
                    made.extend(stmts.into_iter().filter_map(|stmt| match stmt.kind {
                        StmtKind::Let(var, value) => Some(Item::Let(var, value)),
                        StmtKind::Destructure(..) | StmtKind::Expr(_) | StmtKind::Require(_) => {
                            None
                        }
                    }));
                }
                Item::Guard(_) => made.push(item),
            }
        }
        *items = made;
    }

    fn name(&self, var: VarId, at: usize) -> String {
        format!("${}.{at}", self.program.vars[var].name)
    }

    /// Names for the parts of a struct that is written out.
    fn parts_before(&mut self, var: VarId, value: &mut Expr, frame: Frame) -> Vec<Stmt> {
        let asked = self.asked.get(&var).cloned().unwrap_or_default();
        let mut made = Vec::new();
        let mut parts = Vec::new();
        if let ExprKind::Tuple(items) | ExprKind::Make { fields: items, .. } = &mut *value.kind {
            for (at, ty) in asked {
                let Some(item) = items.get_mut(at) else { continue };
                let span = item.span;
                let name = self.name(var, at);
                let ty = if item.ty.has_error() { ty } else { item.ty.clone() };
                let own = beside(self.program, frame, Some(var), &name, ty, span);
                let read = Expr::new(ExprKind::Var(own), settle(self.program, own), span);
                let field = std::mem::replace(item, read);
                made.push(Stmt { kind: StmtKind::Let(own, field), span });
                parts.push((at, own));
            }
        }
        self.splits.insert(var, Split { parts, whole: var });
        made
    }

    /// Names for the parts of a variable that is bound here, and a struct made of them.
    fn parts_after(&mut self, var: VarId, frame: Frame) -> Vec<Stmt> {
        let Some(asked) = self.asked.get(&var).cloned() else { return Vec::new() };
        let (ty, span) = (self.program.vars[var].ty.clone(), self.program.vars[var].span);
        let Some(types) = self.records.parts(self.program, &ty) else { return Vec::new() };
        let mut made = Vec::new();
        let mut parts = Vec::new();
        let mut fields = Vec::new();
        for (at, own) in types.into_iter().enumerate() {
            let value = Expr::new(ExprKind::Var(var), ty.clone(), span);
            let field = part(value, at, own.clone());
            if asked.iter().all(|(known, _)| *known != at) {
                fields.push(field);
                continue;
            }
            let name = self.name(var, at);
            let new = beside(self.program, frame, Some(var), &name, own.clone(), span);
            made.push(Stmt { kind: StmtKind::Let(new, field), span });
            let own = settle(self.program, new);
            fields.push(Expr::new(ExprKind::Var(new), own, span));
            parts.push((at, new));
            self.taken.insert(new);
        }
        let name = format!("${}", self.program.vars[var].name);
        let whole = beside(self.program, frame, Some(var), &name, ty.clone(), span);
        made.push(Stmt { kind: StmtKind::Let(whole, record(&ty, fields, span)), span });
        self.taken.insert(whole);
        self.splits.insert(var, Split { parts, whole });
        made
    }

    fn renamed_stmt(&mut self, stmt: &mut Stmt) {
        // What the names are taken from stays.
        if matches!(&stmt.kind, StmtKind::Let(var, _) if self.taken.contains(var)) {
            return;
        }
        each_in_stmt_mut(stmt, &mut |e| self.renamed(e));
    }

    /// Reads of parts become reads of their names.
    fn renamed(&mut self, e: &mut Expr) {
        if let ExprKind::Block { stmts, value } = &mut *e.kind {
            stmts.iter_mut().for_each(|stmt| self.renamed_stmt(stmt));
            self.renamed(value);
            return;
        }
        if let ExprKind::FieldGet(base, at) | ExprKind::TupleGet(base, at) = &*e.kind
            && let ExprKind::Var(var) = &*base.kind
            && let Some(split) = self.splits.get(var)
            && let Some((_, own)) = split.parts.iter().find(|(known, _)| known == at)
        {
            *e.kind = ExprKind::Var(*own);
            e.ty = self.program.vars[*own].ty.clone();
            return;
        }
        if let ExprKind::Var(var) = &mut *e.kind
            && let Some(split) = self.splits.get(var)
        {
            *var = split.whole;
            return;
        }
        // What the names are taken from stays, also where `where` binds it.
        let mut items: Vec<Vec<Item>> = items_of(e).into_iter().map(std::mem::take).collect();
        each_child_mut(e, &mut |child| self.renamed(child));
        for item in items.iter_mut().flatten() {
            match item {
                Item::Let(var, _) if self.taken.contains(var) => {}
                Item::Let(_, value) | Item::Guard(value) => self.renamed(value),
            }
        }
        for (place, items) in items_of(e).into_iter().zip(items) {
            *place = items;
        }
    }
}

/// The bindings and conditions of an expression itself.
fn items_of(e: &mut Expr) -> Vec<&mut Vec<Item>> {
    match &mut *e.kind {
        ExprKind::Tensor(tensor) => {
            tensor.clauses.iter_mut().map(|clause| &mut clause.items).collect()
        }
        ExprKind::Reduce(reduce) => vec![&mut reduce.items],
        ExprKind::Scatter(scatter) => vec![&mut scatter.items],
        _ => Vec::new(),
    }
}
