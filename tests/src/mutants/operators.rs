//! Makes the mutants of a program: walks over it with what is known of each name, and offers every
//! place to the operators.

use super::Mutant;
use super::layouts::{Scope, of_function, of_type, param_name};
use super::walk::{all, bare, binder, children, is_reduction};
use ein_base::{FileId, Idx, LineIndex, Span, Symbol};
use ein_syntax::ast::{Ast, ExprId, ExprKind, LeftSlotKind, PatKind, SlotKind, StmtId, StmtKind};

mod access;
mod calls;
mod declared;

/// All mutants of a program.
pub fn mutants(text: &str) -> Vec<Mutant> {
    let parsed = ein_syntax::parse(FileId::from_usize(0), text);
    let mut maker = Maker {
        ast: &parsed.ast,
        text,
        lines: LineIndex::new(text),
        scope: Scope::default(),
        found: Vec::new(),
    };
    let end = u32::try_from(text.len()).unwrap_or(u32::MAX);
    maker.stmts(&parsed.ast.stmts, end);
    maker.found
}

/// An index variable in scope.
#[derive(Clone, Copy, Debug)]
struct Index {
    name: Symbol,
    /// With an explicit range.
    ranged: bool,
    /// Declared over a coordinate.
    over: Option<Symbol>,
}

/// Where an expression stands.
#[derive(Clone, Debug)]
struct Place {
    /// The statement (all clauses of a definition) or the final expression of a function.
    span: Span,
    /// The whole body.
    body: ExprId,
    /// The index variables bound around it, innermost last.
    indices: Vec<Index>,
    /// Whether coordinates may be free.
    open: bool,
    /// Whether a declaration says what the free coordinates are.
    fixed: bool,
    /// What the statement binds.
    binds: Option<Symbol>,
    /// Where the scope ends.
    end: u32,
}

struct Maker<'a> {
    ast: &'a Ast,
    text: &'a str,
    lines: LineIndex,
    scope: Scope,
    found: Vec<Mutant>,
}

impl<'a> Maker<'a> {
    fn stmts(&mut self, stmts: &[StmtId], end: u32) {
        let ast = self.ast;
        for id in stmts {
            if let StmtKind::Fn(function) = &ast.stmt[*id].kind {
                self.scope.declare(function.name.sym, of_function(ast, function));
            }
        }
        for (at, id) in stmts.iter().enumerate() {
            self.stmt(stmts, at, ast.stmt[*id].span, end);
        }
    }

    fn stmt(&mut self, stmts: &[StmtId], at: usize, span: Span, end: u32) {
        let ast = self.ast;
        match &ast.stmt[stmts[at]].kind {
            StmtKind::Let(it) => {
                let PatKind::Bind { name, .. } = &ast.pat[it.pat].kind else { return };
                let place = Place {
                    span,
                    body: it.value,
                    indices: Vec::new(),
                    open: true,
                    fixed: it.ty.is_some(),
                    binds: Some(name.sym),
                    end,
                };
                self.expr(it.value, &place);
                let layout = match it.ty {
                    Some(ty) => of_type(ast, ty),
                    None => self.scope.of_value(ast, it.value),
                };
                if let Some(ty) = it.ty {
                    self.swap_annotation(ty, name.sym, &place);
                }
                self.scope.bind(name.sym, layout);
            }
            StmtKind::Clause(it) => {
                let (span, first) = self.group(stmts, at, it.name.sym);
                let mut layout = self.scope.of_clause(ast, it);
                if !first && let Some(before) = self.scope.layout(it.name.sym) {
                    for (axis, before) in layout.iter_mut().zip(before) {
                        if axis.name.is_none() || (before.contract && before.name == axis.name) {
                            *axis = before.clone();
                        }
                    }
                }
                self.scope.bind(it.name.sym, Some(layout));
                let indices = it.slots.iter().filter_map(|slot| match &slot.kind {
                    LeftSlotKind::Index { name, domain } => Some(self.index(name.sym, *domain)),
                    LeftSlotKind::Literal(_)
                    | LeftSlotKind::Point(_)
                    | LeftSlotKind::Pack(_)
                    | LeftSlotKind::Error => None,
                });
                let place = Place {
                    span,
                    body: it.value,
                    indices: indices.collect(),
                    open: false,
                    fixed: false,
                    binds: Some(it.name.sym),
                    end,
                };
                self.left(it, first && !self.continues(stmts, at), &place);
                self.expr(it.value, &place);
            }
            StmtKind::Fn(function) => {
                let outer = self.scope.depth();
                for param in &function.params {
                    if let Some(name) = param_name(ast, param) {
                        self.scope.bind(name, param.ty.and_then(|ty| of_type(ast, ty)));
                    }
                }
                self.swap_signature(function, end);
                if let ExprKind::Block { stmts, tail } = &ast.expr[function.body].kind {
                    let end = span.hi();
                    self.stmts(stmts, end);
                    if let Some(tail) = tail {
                        let place = Place {
                            span: ast.expr[*tail].span,
                            body: *tail,
                            indices: Vec::new(),
                            open: true,
                            fixed: function.ret.is_some(),
                            binds: None,
                            end,
                        };
                        self.expr(*tail, &place);
                    }
                }
                self.scope.truncate(outer);
            }
            _ => {}
        }
    }

    fn index(&self, name: Symbol, domain: Option<ExprId>) -> Index {
        let over = domain.and_then(|domain| bare(self.ast, domain));
        Index { name, ranged: domain.is_some() && over.is_none(), over }
    }

    /// The span of all clauses of a definition, and whether this one is the first.
    fn group(&self, stmts: &[StmtId], at: usize, name: Symbol) -> (Span, bool) {
        let same = |at: &usize| {
            let kind = stmts.get(*at).map(|id| &self.ast.stmt[*id].kind);
            matches!(kind, Some(StmtKind::Clause(it)) if it.name.sym == name)
        };
        let first = (0..=at).rev().take_while(same).last().unwrap_or(at);
        let last = (at..stmts.len()).take_while(same).last().unwrap_or(at);
        (self.ast.stmt[stmts[first]].span.to(self.ast.stmt[stmts[last]].span), first == at)
    }

    /// Whether the statement after a clause is one of the same definition.
    fn continues(&self, stmts: &[StmtId], at: usize) -> bool {
        let clause = |at: usize| match stmts.get(at).map(|id| &self.ast.stmt[*id].kind) {
            Some(StmtKind::Clause(it)) => Some(it.name.sym),
            _ => None,
        };
        clause(at + 1).is_some() && clause(at + 1) == clause(at)
    }

    fn expr(&mut self, id: ExprId, place: &Place) {
        let ast = self.ast;
        match &ast.expr[id].kind {
            ExprKind::Index { base, slots } => {
                if let Some(name) = bare(ast, *base)
                    && let Some(layout) = self.scope.layout(name).cloned()
                {
                    self.access(id, name, &layout, slots, place);
                }
            }
            ExprKind::BracketCall { callee, slots, args } if is_reduction(ast, *callee) => {
                self.reduction(id, slots, args, place);
                let mut inner = place.clone();
                for slot in slots {
                    if let Some(name) = binder(ast, &slot.kind) {
                        let domain = match &slot.kind {
                            SlotKind::Domain { domain, .. } => Some(*domain),
                            _ => None,
                        };
                        inner.indices.push(self.index(name, domain));
                    }
                }
                for arg in args {
                    self.expr(arg.value, &inner);
                }
                return;
            }
            ExprKind::BracketCall { callee, slots, args } => {
                self.call(id, *callee, slots, args, place);
                // Coordinate arguments are not indices.
                for arg in args {
                    if bare(ast, arg.value).is_none() {
                        let mut inner = place.clone();
                        inner.open = false;
                        self.expr(arg.value, &inner);
                    }
                }
                return;
            }
            ExprKind::Call { callee, args } => self.call(id, *callee, &[], args, place),
            _ => {}
        }
        for child in children(ast, id) {
            self.expr(child, place);
        }
    }

    // ---------------------------------------------------------------- making

    fn line(&self, offset: u32) -> usize {
        self.lines.line(offset) + 1
    }

    fn source(&self, span: Span) -> &'a str {
        &self.text[span.lo() as usize..span.hi() as usize]
    }

    /// Adds the mutant that some edits give; `shown` is what the change is described by.
    fn make(
        &mut self,
        operator: &'static str,
        shown: Span,
        edits: &[(Span, String)],
        lines: Option<Span>,
        mentions: Vec<Symbol>,
    ) {
        let mut edits = edits.to_vec();
        edits.sort_by_key(|(span, _)| std::cmp::Reverse(span.lo()));
        let mut text = self.text.to_owned();
        let mut after = self.source(shown).to_owned();
        for (span, replacement) in &edits {
            text.replace_range(span.lo() as usize..span.hi() as usize, replacement);
            let (lo, hi) = ((span.lo() - shown.lo()) as usize, (span.hi() - shown.lo()) as usize);
            after.replace_range(lo..hi, replacement);
        }
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mutant = Mutant {
            operator,
            line: self.line(edits.last().map_or(shown.lo(), |(span, _)| span.lo())),
            what: format!("{} -> {}", words(self.source(shown)), words(&after)),
            lines: lines.map(|span| (self.line(span.lo()), self.line(span.hi()))),
            mentions: mentions.iter().map(|name| name.to_string()).collect(),
            text,
        };
        if !self.found.iter().any(|it| it.text == mutant.text) {
            self.found.push(mutant);
        }
    }

    /// Whether a tensor is read later by the name of a contract coordinate at one of these axes,
    /// or passed on as a whole.
    fn read_by_name(&self, name: Symbol, axes: &[(usize, Symbol)], after: u32, end: u32) -> bool {
        let ast = self.ast;
        let within = |span: Span| span.lo() >= after && span.hi() <= end;
        ast.expr.iter().any(|expr| match &expr.kind {
            ExprKind::Index { base, slots } if bare(ast, *base) == Some(name) => {
                within(expr.span)
                    && axes.iter().any(|(at, coord)| {
                        slots.get(*at).is_some_and(|slot| match &slot.kind {
                            SlotKind::Expr(index) => bare(ast, *index) == Some(*coord),
                            _ => false,
                        })
                    })
            }
            ExprKind::Call { callee, args } | ExprKind::BracketCall { callee, args, .. } => {
                within(expr.span)
                    && !is_reduction(ast, *callee)
                    && bare(ast, *callee).is_some_and(|it| self.scope.function(it).is_some())
                    && args.iter().any(|arg| bare(ast, arg.value) == Some(name))
            }
            _ => false,
        })
    }

    /// The names that stand alone in index brackets of an expression.
    fn slot_names(&self, id: ExprId) -> Vec<Symbol> {
        let mut found = Vec::new();
        for id in all(self.ast, id) {
            if let ExprKind::Index { slots, .. } = &self.ast.expr[id].kind {
                for slot in slots {
                    if let SlotKind::Expr(index) = &slot.kind
                        && let Some(name) = bare(self.ast, *index)
                        && !found.contains(&name)
                    {
                        found.push(name);
                    }
                }
            }
        }
        found
    }
}
