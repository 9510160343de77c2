//! `where`: which items belong to the definition, and which to a reduction before it.
//!
//! Before:  `sum[k](a[j] * b[k]) + c where j = i + k, i > 0`
//! After:   `(sum[k](a[j] * b[k] where j = i + k) + c) where i > 0`
//!
//! An item belongs to the outermost place where all its names are visible. What a name depends on
//! through earlier items counts as well.

use super::lower::{Context, ContextKind, Found, Lower, Pos};
use super::unknown::pattern_names;
use crate::hir::{Domain, ExprId, ExprKind, LocalKind, WhereItem};
use ein_base::{Code, Diagnostic, Name, Span, Symbol};
use ein_syntax::ast::{self, SlotKind, StmtKind};

/// The items of a `where` that go to one place.
#[derive(Debug)]
pub(super) struct Plan<'r> {
    items: &'r [ast::WhereItem],
    picked: Vec<usize>,
}

/// A reduction in the body of a `where`.
struct Reduction {
    id: ast::ExprId,
    names: Vec<Symbol>,
    parent: Option<usize>,
}

impl<'r> Lower<'r, '_> {
    /// `e where a = …, cond else d`
    pub(super) fn where_expr(
        &mut self,
        body: ast::ExprId,
        items: &'r [ast::WhereItem],
        otherwise: Option<ast::ExprId>,
        (span, pos): (Span, Pos),
    ) -> ExprId {
        let mut outer = Plan { items, picked: Vec::new() };
        let mut reductions = Vec::new();
        self.find_reductions(body, None, &mut reductions);
        if reductions.is_empty() {
            outer.picked.extend(0..items.len());
        } else {
            for (index, place) in self.places(items, &reductions).into_iter().enumerate() {
                match place {
                    None => outer.picked.push(index),
                    Some(id) => {
                        let plan = self.plans.entry(id);
                        let plan = plan.or_insert_with(|| Plan { items, picked: Vec::new() });
                        plan.picked.push(index);
                    }
                }
            }
        }
        let mark = self.scopes.mark();
        let items = self.where_items(&outer, Pos::Value);
        let body = self.expr(body, pos);
        let otherwise = otherwise.map(|e| self.expr(e, pos));
        self.leave(mark);
        if items.is_empty() && otherwise.is_none() {
            return body;
        }
        self.push(ExprKind::Where { body, items: items.into(), otherwise }, span)
    }

    /// Resolves items in order, each in the scope of those before it.
    pub(super) fn where_items(&mut self, plan: &Plan<'r>, pos: Pos) -> Vec<WhereItem> {
        let frame = self.frame();
        let kind = ContextKind::Where(plan.items);
        self.contexts.push(Context { kind, done: 0, frame, places: None });
        let mut lowered = Vec::with_capacity(plan.picked.len());
        for &index in &plan.picked {
            if let Some(context) = self.contexts.last_mut() {
                context.done = index;
            }
            match &plan.items[index] {
                ast::WhereItem::Binding(name, value) => {
                    let value = self.expr(*value, pos.inner());
                    let local = self.declare(*name, LocalKind::Where);
                    lowered.push(WhereItem::Binding(local, value));
                }
                ast::WhereItem::Guard(guard) => {
                    if !self.range_in_where(*guard) {
                        lowered.push(WhereItem::Guard(self.expr(*guard, pos.inner())));
                    }
                }
            }
        }
        self.contexts.pop();
        lowered
    }

    /// Reports `i in 0..n` as a guard of an index: domains live in brackets.
    fn range_in_where(&mut self, guard: ast::ExprId) -> bool {
        let expr = &self.ast.expr[guard];
        let ast::ExprKind::Binary(ast::BinaryOp::In, left, right) = &expr.kind else {
            return false;
        };
        let range = &self.ast.expr[*right];
        let ast::ExprKind::Range { lo, hi, inclusive } = &range.kind else { return false };
        let Some(name) = self.bare(*left) else { return false };
        let index = match self.find(name.sym, true) {
            Found::Local(local, _) => {
                if self.r.program.locals[local].kind != LocalKind::Index {
                    return false;
                }
                Some(local)
            }
            Found::Coord | Found::Nothing(_) => None,
            Found::Target(_) => return false,
        };
        let text = self.r.files.text(range.span).to_string();
        self.report(
            Diagnostic::new(
                Code::E0407,
                expr.span,
                format!("the range of `{name}` cannot stand in a `where`"),
            )
            .here("domains live in brackets")
            .help(format!(
                "write it where `{name}` is introduced: `let y[{name} in {text}] = …` or \
                 `sum[{name} in {text}](…)`"
            )),
        );
        if let (Some(lo), Some(hi)) = (*lo, *hi) {
            let lo = self.expr(lo, Pos::Value);
            let hi = self.expr(hi, Pos::Value);
            if let Some(local) = index {
                let domain = Domain::Range { lo, hi, inclusive: *inclusive, span: range.span };
                self.recovered.insert(local, domain);
            }
        }
        true
    }

    /// The reductions in an expression, outer before inner, in source order.
    fn find_reductions(
        &mut self,
        id: ast::ExprId,
        parent: Option<usize>,
        found: &mut Vec<Reduction>,
    ) {
        let mut inside = parent;
        if let ast::ExprKind::BracketCall { callee, slots, .. } = &self.ast.expr[id].kind
            && let Some(name) = self.bare(*callee)
            && self.reduction(name).is_some()
        {
            let names = self.slot_names(slots);
            inside = Some(found.len());
            found.push(Reduction { id, names, parent });
        }
        for_each_child(self.ast, id, &mut |child| self.find_reductions(child, inside, found));
    }

    fn slot_names(&self, slots: &[ast::Slot]) -> Vec<Symbol> {
        let names = slots.iter().filter_map(|slot| match &slot.kind {
            SlotKind::Expr(expr) => self.bare(*expr),
            SlotKind::Domain { name, .. } | SlotKind::Pack(name) => Some(*name),
            SlotKind::Group(_)
            | SlotKind::Named { .. }
            | SlotKind::Axis(_)
            | SlotKind::Stepped { .. } => None,
        });
        names.map(|name| name.sym).collect()
    }

    /// For each item the reduction it belongs to, or `None` for the whole.
    fn places(
        &mut self,
        items: &'r [ast::WhereItem],
        reductions: &[Reduction],
    ) -> Vec<Option<ast::ExprId>> {
        let mut needs: Vec<(Symbol, Vec<Symbol>)> = Vec::new();
        let mut places = Vec::with_capacity(items.len());
        for item in items {
            let (ast::WhereItem::Binding(_, expr) | ast::WhereItem::Guard(expr)) = item;
            let mut mentioned = Vec::new();
            self.mentions(*expr, &mut Vec::new(), &mut mentioned);
            let mut need: Vec<Symbol> = Vec::new();
            for sym in mentioned {
                match needs.iter().rev().find(|(name, _)| *name == sym) {
                    Some((_, through)) => need.extend(through),
                    None if reductions.iter().any(|r| r.names.contains(&sym)) => need.push(sym),
                    None => {}
                }
            }
            places.push(place(&need, reductions));
            if let ast::WhereItem::Binding(name, _) = item {
                needs.push((name.sym, need));
            }
        }
        places
    }

    /// The names that an expression mentions and does not bind itself.
    fn mentions(&mut self, id: ast::ExprId, bound: &mut Vec<Symbol>, found: &mut Vec<Symbol>) {
        let depth = bound.len();
        match &self.ast.expr[id].kind {
            ast::ExprKind::Path(path) => {
                if let [Name { sym, .. }] = path[..]
                    && !bound.contains(&sym)
                {
                    found.push(sym);
                }
            }
            ast::ExprKind::BracketCall { callee, slots, .. } => {
                if let Some(name) = self.bare(*callee)
                    && self.reduction(name).is_some()
                {
                    bound.extend(self.slot_names(slots));
                }
            }
            ast::ExprKind::Closure { params, .. } => {
                let mut names = Vec::new();
                params.iter().for_each(|p| pattern_names(self.ast, p.pat, &mut names));
                bound.extend(names.iter().map(|name| name.sym));
            }
            ast::ExprKind::Comprehension { clauses, .. } => {
                let mut names = Vec::new();
                for clause in clauses {
                    match clause {
                        ast::CompClause::Generator(pat, _) => {
                            pattern_names(self.ast, *pat, &mut names);
                        }
                        ast::CompClause::Binding(name, _) => names.push(*name),
                        ast::CompClause::Condition(_) => {}
                    }
                }
                bound.extend(names.iter().map(|name| name.sym));
            }
            _ => {}
        }
        for_each_child(self.ast, id, &mut |child| self.mentions(child, bound, found));
        bound.truncate(depth);
    }
}

/// The last of the outermost reductions inside which all of `need` is visible.
fn place(need: &[Symbol], reductions: &[Reduction]) -> Option<ast::ExprId> {
    if need.is_empty() {
        return None;
    }
    let visible = |mut at: Option<usize>, sym: &Symbol| {
        while let Some(index) = at {
            if reductions[index].names.contains(sym) {
                return true;
            }
            at = reductions[index].parent;
        }
        false
    };
    let covers = |at: Option<usize>| need.iter().all(|sym| visible(at, sym));
    let fitting = |i: &usize| covers(Some(*i)) && !covers(reductions[*i].parent);
    let indices = 0..reductions.len();
    let best = indices.clone().rev().find(fitting).or_else(|| {
        // No single reduction has them all: the names that are missing are reported there.
        indices.rev().find(|i| need.iter().any(|sym| reductions[*i].names.contains(sym)))
    });
    best.map(|i| reductions[i].id)
}

/// Visits the expressions directly inside an expression.
pub(super) fn for_each_child(ast: &ast::Ast, id: ast::ExprId, visit: &mut dyn FnMut(ast::ExprId)) {
    use ast::ExprKind as E;
    match &ast.expr[id].kind {
        E::Int { .. }
        | E::Float { .. }
        | E::Bool(_)
        | E::Path(_)
        | E::Size(_)
        | E::Hole
        | E::Error => {}
        E::Str(parts) => {
            for part in parts {
                match part {
                    ast::StrPart::Text(_) => {}
                    ast::StrPart::Value { expr, .. } => visit(*expr),
                }
            }
        }
        E::Unary(_, e)
        | E::Cast(e, _)
        | E::At(e)
        | E::Field(e, _)
        | E::TupleField(e, ..)
        | E::Try(e)
        | E::Closure { body: e, .. } => visit(*e),
        E::Binary(_, a, b) | E::Pipe(_, a, b) | E::OrElse(a, b) => {
            visit(*a);
            visit(*b);
        }
        E::Range { lo, hi, .. } => lo.iter().chain(hi).for_each(|e| visit(*e)),
        E::Call { callee, args } => {
            visit(*callee);
            args.iter().for_each(|arg| visit(arg.value));
        }
        E::BracketCall { callee, slots, args } => {
            visit(*callee);
            for_each_slot(slots, visit);
            args.iter().for_each(|arg| visit(arg.value));
        }
        E::Index { base, slots } => {
            visit(*base);
            for_each_slot(slots, visit);
        }
        E::Array(list) | E::Tuple(list) => list.iter().for_each(|e| visit(*e)),
        E::Comprehension { body, clauses } => {
            for clause in clauses {
                match clause {
                    ast::CompClause::Generator(_, e)
                    | ast::CompClause::Condition(e)
                    | ast::CompClause::Binding(_, e) => visit(*e),
                }
            }
            visit(*body);
        }
        E::Struct { fields, .. } => fields.iter().for_each(|(_, e)| visit(*e)),
        E::Block { stmts, tail } => {
            for stmt in stmts {
                match &ast.stmt[*stmt].kind {
                    StmtKind::Let(decl) => visit(decl.value),
                    StmtKind::Clause(clause) => visit(clause.value),
                    StmtKind::Expr(expr) => visit(*expr),
                    // Items see nothing of the expression around them.
                    _ => {}
                }
            }
            tail.iter().for_each(|e| visit(*e));
        }
        E::If { cond, then, otherwise } => {
            visit(*cond);
            visit(*then);
            otherwise.iter().for_each(|e| visit(*e));
        }
        E::Match { scrutinee, arms } => {
            visit(*scrutinee);
            for arm in arms {
                arm.guard.iter().for_each(|e| visit(*e));
                visit(arm.body);
            }
        }
        E::Catch { value, handler, .. } => {
            visit(*value);
            visit(*handler);
        }
        E::Where { body, items, otherwise } => {
            visit(*body);
            for item in items {
                let (ast::WhereItem::Binding(_, e) | ast::WhereItem::Guard(e)) = item;
                visit(*e);
            }
            otherwise.iter().for_each(|e| visit(*e));
        }
    }
}

fn for_each_slot(slots: &[ast::Slot], visit: &mut dyn FnMut(ast::ExprId)) {
    for slot in slots {
        match &slot.kind {
            SlotKind::Expr(e)
            | SlotKind::Domain { domain: e, .. }
            | SlotKind::Named { value: e, .. } => visit(*e),
            SlotKind::Stepped { range, step } => {
                visit(*range);
                visit(*step);
            }
            SlotKind::Pack(_) | SlotKind::Group(_) | SlotKind::Axis(_) => {}
        }
    }
}
