//! Statements and blocks, and the clauses that form one definition.

use super::lower::{Context, ContextKind, Found, Lower, Places, Pos, State};
use super::patterns::Bindings;
use super::scope::{Bound, Space};
use super::systems::Systems;
use super::tables::{Table, broken_names, declares};
use super::{ItemId, ItemKind, Target};
use crate::hir::{self, Binder, ExprId, ExprKind, LeftSlotKind, LocalId, LocalKind, Stmt};
use ein_base::{Code, Diagnostic, Name, Span};
use ein_syntax::ast::{self, StmtId, StmtKind};
use rustc_hash::FxHashMap;

/// The statement number of what runs when everything else has.
pub(super) const LAST: u32 = u32::MAX;

/// A definition that further clauses may join.
pub(super) struct Group {
    local: LocalId,
    pub(super) slots: usize,
    /// Whether one of the slots is a pack, which stands for any number of axes.
    pack: bool,
    /// Where its statement stands in the list.
    pub(super) at: usize,
}

/// Whether a clause has a slot that stands for any number of axes.
pub(super) fn has_pack(clause: &ast::Clause) -> bool {
    clause.slots.iter().any(|slot| matches!(slot.kind, ast::LeftSlotKind::Pack(_)))
}

/// A statement list on its way.
pub(super) struct List {
    pub(super) stmts: Vec<Stmt>,
    /// How many statements as written were resolved.
    done: usize,
    /// How many of them were items.
    items: usize,
    /// Statements that a later one has taken up.
    gone: Vec<usize>,
    /// The items that rules belong to, once there is a rule.
    rules: Option<FxHashMap<StmtId, ItemId>>,
    /// In the order of their locals.
    groups: Vec<Group>,
    /// Definitions that read each other.
    pub(super) systems: Systems,
    /// Whether it is the module's own.
    pub(super) top: bool,
}

impl List {
    /// The list that so many statements will be.
    pub(super) fn new(stmts: usize, top: bool) -> Self {
        Self {
            stmts: Vec::with_capacity(stmts),
            done: 0,
            items: 0,
            gone: Vec::new(),
            rules: None,
            groups: Vec::new(),
            systems: Systems::default(),
            top,
        }
    }

    /// How many statements as written were resolved.
    pub(super) fn done(&self) -> usize {
        self.done
    }

    /// The clauses of the definition that a statement is.
    pub(super) fn clauses(&self, at: usize) -> &[hir::Clause] {
        match &self.stmts[at].kind {
            hir::StmtKind::Define(definition) => &definition.clauses,
            hir::StmtKind::Let { .. } | hir::StmtKind::Expr(_) | hir::StmtKind::System(_) => &[],
        }
    }

    /// Takes the clauses of a definition out of its statement, which then is gone.
    fn take_up(&mut self, at: usize) -> Vec<hir::Clause> {
        self.gone.push(at);
        match &mut self.stmts[at].kind {
            hir::StmtKind::Define(definition) => std::mem::take(&mut definition.clauses),
            hir::StmtKind::Let { .. } | hir::StmtKind::Expr(_) | hir::StmtKind::System(_) => {
                Vec::new()
            }
        }
    }

    /// Moves statements behind the last one; the numbers are in order.
    pub(super) fn move_last(&mut self, moved: &[usize]) {
        let Some(first) = moved.first().copied() else { return };
        let tail: Vec<Stmt> = self.stmts.drain(first..).collect();
        let (mut stay, mut last) = (Vec::new(), Vec::new());
        for (at, stmt) in (first..).zip(tail) {
            let list = if moved.binary_search(&at).is_ok() { &mut last } else { &mut stay };
            list.push((at, stmt));
        }
        let mut now = Vec::with_capacity(stay.len() + last.len());
        for (at, stmt) in stay.into_iter().chain(last) {
            now.push(at);
            self.stmts.push(stmt);
        }
        let moved_to = |at: &mut usize| {
            if let Some(new) = now.iter().position(|old| old == at) {
                *at = first + new;
            }
        };
        self.gone.iter_mut().for_each(moved_to);
        self.groups.iter_mut().for_each(|group| moved_to(&mut group.at));
    }

    /// The resolved statements.
    pub(super) fn finish(mut self) -> Vec<Stmt> {
        if !self.gone.is_empty() {
            self.gone.sort_unstable();
            let mut gone = self.gone.iter().peekable();
            let mut index = 0;
            self.stmts.retain(|_| {
                let drop = gone.next_if(|at| **at == index).is_some();
                index += 1;
                !drop
            });
        }
        self.stmts
    }
}

impl<'r> Lower<'r, '_> {
    /// Resolves the next statements of the module, `most` of them if there are so many.
    pub(super) fn batch(
        mut self,
        list: &mut List,
        stmts: &'r [StmtId],
        by_stmt: &[(StmtId, ItemId)],
        places: Option<Places>,
        most: usize,
    ) -> State {
        if list.done == 0 {
            self.reserve(stmts.len());
        }
        self.open_context(stmts, places);
        self.stmt_list(list, stmts, by_stmt, stmts.len().min(list.done + most));
        let places = self.contexts.pop().and_then(|context| context.places);
        let region = self.regions.pop().unwrap_or_default();
        State { scopes: self.scopes, region, places }
    }

    /// A block and its value.
    pub(super) fn block(
        &mut self,
        stmts: &'r [StmtId],
        tail: Option<ast::ExprId>,
        pos: Pos,
    ) -> ExprKind {
        let mark = self.scopes.mark();
        let globs = self.globs.len();
        let table = if declares(self.ast, stmts) { Some(self.enter_table(stmts)) } else { None };
        let by_stmt = table.as_ref().map_or(&[][..], |t| &t.by_stmt);
        let broken = stmts
            .last()
            .filter(|stmt| tail.is_none() && matches!(self.ast.stmt[**stmt].kind, StmtKind::Error));
        let broken = broken.map(|stmt| self.ast.stmt[*stmt].span);
        let mut list = List::new(stmts.len(), false);
        self.open_context(stmts, None);
        self.stmt_list(&mut list, stmts, by_stmt, stmts.len());
        let stmts = list.finish();
        let tail = tail.map(|e| self.expr(e, pos));
        // The broken statement may have been the value.
        let tail = tail.or_else(|| broken.map(|span| self.push(ExprKind::Error, span)));
        self.contexts.pop();
        self.leave(mark);
        self.globs.truncate(globs);
        ExprKind::Block { stmts: stmts.into(), tail }
    }

    /// Brings the items, modules and imports of a block into scope.
    fn enter_table(&mut self, stmts: &[StmtId]) -> Table {
        let table = self.r.collect(self.tree, stmts, self.module);
        let frame = self.frame();
        for (_, item) in table.by_stmt.iter() {
            self.r.items[*item].nested = true;
            self.r.def_of(*item);
            let name = self.r.items[*item].name.sym;
            if table.items.get(&name) == Some(item) {
                self.scopes.declare(Space::Value, name, Bound::Item(*item), frame, None);
            }
        }
        for name in &table.mod_names {
            let module = table.mods.get(&name.sym).and_then(|sub| sub.module);
            let module = module.or_else(|| self.r.load_submodule(self.module, *name));
            let module = module.unwrap_or_else(|| {
                self.r.unknown_module(self.module, &[*name], 0);
                self.r.broken_module(self.module, name.sym)
            });
            self.scopes.declare(Space::Module, name.sym, Bound::Module(module), frame, None);
        }
        for import in &table.import_list {
            let name = self.r.imports[*import].name.sym;
            for space in [Space::Value, Space::Module] {
                self.scopes.declare(space, name, Bound::Import(*import), frame, None);
            }
        }
        for stmt in stmts {
            let stmt = &self.ast.stmt[*stmt];
            if matches!(stmt.kind, StmtKind::Error) {
                for sym in broken_names(self.r.files.text(stmt.span)).items {
                    self.scopes.declare(Space::Value, sym, Bound::Error, frame, None);
                }
            }
        }
        for import in table.import_list.iter().chain(&table.globs) {
            let path = std::rc::Rc::clone(&self.r.imports[*import].path);
            self.r.imports[*import].start = self.start_of(&path);
            self.r.import(*import);
        }
        self.globs.extend(&table.globs);
        table
    }

    /// Makes the names that statements bind known for messages.
    fn open_context(&mut self, stmts: &'r [StmtId], places: Option<Places>) {
        let (kind, frame) = (ContextKind::Block(stmts), self.frame());
        self.contexts.push(Context { kind, done: 0, frame, places });
    }

    /// Resolves statements in order up to `end`; their context stays open for the final expression.
    fn stmt_list(
        &mut self,
        list: &mut List,
        stmts: &'r [StmtId],
        by_stmt: &[(StmtId, ItemId)],
        end: usize,
    ) {
        let frame = self.frame();
        if list.done == 0 {
            list.systems = self.find_systems(stmts);
        }
        for (index, id) in stmts.iter().enumerate().take(end).skip(list.done) {
            if let Some(context) = self.contexts.last_mut() {
                context.done = index;
            }
            if list.top {
                self.stmt = index as u32;
            }
            let stmt = &self.ast.stmt[*id];
            match &stmt.kind {
                StmtKind::Let(decl) => self.let_stmt(decl, stmt.span, list),
                StmtKind::Clause(clause) if list.systems.contains(index) => {
                    self.system_clause(clause, stmt.span, index, list);
                }
                StmtKind::Clause(clause) => self.clause(clause, stmt.span, list),
                StmtKind::Expr(expr) => {
                    self.open_region();
                    let expr = self.expr(*expr, Pos::Value);
                    self.close_region();
                    let kind = hir::StmtKind::Expr(expr);
                    list.stmts.push(Stmt { kind, span: stmt.span });
                }
                StmtKind::Fn(_) | StmtKind::Const(_) | StmtKind::Struct(_) | StmtKind::Enum(_) => {
                    if let Some((_, item)) = by_stmt.get(list.items) {
                        self.item(*item);
                    }
                    list.items += 1;
                }
                StmtKind::Rule(rule) => {
                    let rules = list.rules.get_or_insert_with(|| {
                        let items = by_stmt.iter().map(|(_, item)| *item);
                        items.filter_map(|item| Some((self.r.items[item].rule?, item))).collect()
                    });
                    let item = rules.get(id).copied();
                    self.rule(item, rule, stmt.span);
                }
                StmtKind::Test(test) => self.test(test, stmt.span, list.top),
                StmtKind::Use(_) | StmtKind::Mod(_) => {}
                StmtKind::Error => {
                    for sym in broken_names(self.r.files.text(stmt.span)).bindings {
                        self.scopes.declare(Space::Value, sym, Bound::Error, frame, None);
                    }
                }
            }
        }
        list.done = end;
        if let Some(context) = self.contexts.last_mut() {
            context.done = end;
        }
    }

    fn test(&mut self, test: &'r ast::Test, span: Span, top: bool) {
        let stmt = std::mem::replace(&mut self.stmt, LAST);
        self.open_region();
        let body = self.expr(test.body, Pos::Value);
        self.close_region();
        self.stmt = stmt;
        if top {
            let test = hir::Test { name: test.name, span, body };
            self.r.program.modules[self.module].tests.push(test);
        }
    }

    fn let_stmt(&mut self, decl: &'r ast::Let, span: Span, list: &mut List) {
        self.open_region();
        let ty = decl.ty.map(|ty| Box::new(self.ty(ty)));
        let value = self.expr(decl.value, Pos::Value);
        self.close_region();
        let kind = if list.top { LocalKind::Global } else { LocalKind::Let };
        let mut bindings = Bindings::default();
        let pat = self.pattern(decl.pat, kind, false, &mut bindings);
        for (name, local) in bindings.names {
            self.bind_stmt(name, local, list.top);
        }
        list.stmts.push(Stmt { kind: hir::StmtKind::Let { pat, ty, value }, span });
    }

    /// Brings what a statement binds into scope.
    pub(super) fn bind_stmt(&mut self, name: Name, local: LocalId, top: bool) {
        let frame = self.frame();
        if top {
            self.r.facts.bound_at[local] = self.stmt;
        }
        let warn = (!top).then_some(name.span);
        self.scopes.declare(Space::Value, name.sym, Bound::Local(local), frame, warn);
    }

    /// One clause: a definition of its own, or a part of the one before it.
    fn clause(&mut self, clause: &'r ast::Clause, span: Span, list: &mut List) {
        let name = clause.name;
        let joined = self.joins(clause, list);
        let local = match joined {
            Some((local, _)) => {
                if list.top {
                    self.r.facts.bound_at[local] = self.stmt;
                }
                local
            }
            None => {
                let kind = if list.top { LocalKind::Global } else { LocalKind::Let };
                let local = self.local(name, kind);
                self.bind_stmt(name, local, list.top);
                local
            }
        };
        let (slots, pack) = (clause.slots.len(), has_pack(clause));
        let clause = self.clause_body(clause, &[local], span);
        let at = list.stmts.len();
        let mut clauses = match joined {
            Some((_, group)) => {
                list.groups[group].slots = list.groups[group].slots.max(slots);
                let old = std::mem::replace(&mut list.groups[group].at, at);
                list.take_up(old)
            }
            None => {
                list.groups.push(Group { local, slots, pack, at });
                // Most definitions have one clause.
                Vec::with_capacity(1)
            }
        };
        let span = clauses.first().map_or(span, |first: &hir::Clause| first.span.to(span));
        clauses.push(clause);
        let clauses = self.of_one_rank(clauses);
        let kind = hir::StmtKind::Define(hir::Definition { local, clauses });
        list.stmts.push(Stmt { kind, span });
    }

    /// The definition that a clause continues, with its place among the groups.
    fn joins(&mut self, clause: &ast::Clause, list: &List) -> Option<(LocalId, usize)> {
        let entry = self.scopes.entry(self.scopes.head(Space::Value, clause.name.sym))?;
        let Bound::Local(local) = entry.bound else { return None };
        let at = list.groups.binary_search_by_key(&local, |group| group.local).ok()?;
        let read = self.r.program.locals[local].used;
        let group = &list.groups[at];
        // Whether the axes agree is known when a pack has been matched with some.
        let fits = group.slots == clause.slots.len() || group.pack || has_pack(clause);
        (!read && (fits || self.continues(clause, group, list))).then_some((local, at))
    }

    /// A clause of what is being defined, whose names it sees.
    pub(super) fn clause_body(
        &mut self,
        clause: &'r ast::Clause,
        locals: &[LocalId],
        span: Span,
    ) -> hir::Clause {
        let mark = self.scopes.mark();
        self.open_region();
        let defining = self.defining.len();
        self.defining.extend(locals);
        let mut slots: Vec<hir::LeftSlot> = Vec::with_capacity(clause.slots.len());
        for slot in &clause.slots {
            let before = slots.iter().filter_map(|slot| match &slot.kind {
                LeftSlotKind::Index(binder) => Some(binder.name),
                LeftSlotKind::Literal(_) | LeftSlotKind::Point(_) | LeftSlotKind::Error => None,
            });
            let kind = match &slot.kind {
                ast::LeftSlotKind::Index { name, domain: None } if self.names_const(*name) => {
                    LeftSlotKind::Point(self.const_slot(*name))
                }
                ast::LeftSlotKind::Point(point) => self.point_slot(*point, slot.span),
                ast::LeftSlotKind::Index { name, domain } => {
                    self.check_new(*name, before);
                    LeftSlotKind::Index(self.binder(*name, false, *domain))
                }
                ast::LeftSlotKind::Pack(name) => {
                    self.check_new(*name, before);
                    LeftSlotKind::Index(self.binder(*name, true, None))
                }
                ast::LeftSlotKind::Literal(value) => LeftSlotKind::Literal(*value),
                ast::LeftSlotKind::Error => LeftSlotKind::Error,
            };
            slots.push(hir::LeftSlot { kind, span: slot.span });
        }
        let body = self.expr(clause.value, Pos::Value);
        for slot in &mut slots {
            if let LeftSlotKind::Index(binder) = &mut slot.kind {
                self.recover_domain(binder);
            }
        }
        let until = clause.until.as_ref().map(|until| {
            let cond = self.expr(until.cond, Pos::Value);
            let otherwise = until.otherwise.map(|e| self.expr(e, Pos::Value));
            Box::new(hir::Until { cond, otherwise, span: until.span })
        });
        self.defining.truncate(defining);
        self.close_region();
        self.leave(mark);
        hir::Clause { name: clause.name, slots: slots.into(), body, until, span }
    }

    /// Whether a bare name is that of a constant, and of nothing nearer.
    fn names_const(&mut self, name: Name) -> bool {
        match self.find(name.sym, true) {
            Found::Target(Target::Item(item)) => self.r.items[item].kind == ItemKind::Const,
            Found::Target(_) | Found::Local(..) | Found::Coord | Found::Nothing(_) => false,
        }
    }

    /// The value of a constant in a slot.
    fn const_slot(&mut self, name: Name) -> ExprId {
        let Found::Target(Target::Item(item)) = self.find(name.sym, true) else {
            return self.error(name.span);
        };
        let kind = ExprKind::Const(self.refer(item, name.span));
        self.push(kind, name.span)
    }

    /// A constant expression in a slot; one that mentions an index is none.
    fn point_slot(&mut self, point: ast::ExprId, span: Span) -> LeftSlotKind {
        if !self.mentions_index(point) {
            return LeftSlotKind::Point(self.expr(point, Pos::Deep));
        }
        let text = self.r.files.text(span);
        let message = format!("`{text}` is no constant, and stands on the left of a definition");
        self.report(
            Diagnostic::new(Code::E0113, span, message)
                .here("expected a name, a name with a domain, a constant, or a pack")
                .help("put the index itself here, such as `t in 1..n`, and shift the reads in the body: `h[t - 1]`"),
        );
        LeftSlotKind::Error
    }

    /// Whether an expression mentions an index variable, or a name that could only be one.
    fn mentions_index(&mut self, id: ast::ExprId) -> bool {
        let ast = self.ast;
        if let ast::ExprKind::Path(path) = &ast.expr[id].kind
            && let [name] = path[..]
        {
            return match self.find(name.sym, true) {
                Found::Local(local, _) => self.r.program.locals[local].kind == LocalKind::Index,
                Found::Coord | Found::Nothing(_) => true,
                Found::Target(_) => false,
            };
        }
        let mut found = false;
        super::wheres::for_each_child(ast, id, &mut |child| {
            found = found || self.mentions_index(child);
        });
        found
    }

    /// Reports a name that a bracket has already.
    pub(super) fn check_new(&mut self, name: Name, mut before: impl Iterator<Item = Name>) {
        if let Some(first) = before.find(|other| other.sym == name.sym) {
            self.r.defined_twice(first, name);
        }
    }

    /// Declares an index variable or pack; its domain sees what was declared before it.
    pub(super) fn binder(&mut self, name: Name, pack: bool, domain: Option<ast::ExprId>) -> Binder {
        let domain = domain.map(|domain| self.domain(domain));
        let kind = if pack { LocalKind::Pack } else { LocalKind::Index };
        let local = self.declare(name, kind);
        Binder { local, name, pack, domain }
    }

    /// Takes a domain that was written in a `where` as if it stood in the bracket.
    pub(super) fn recover_domain(&mut self, binder: &mut Binder) {
        if binder.domain.is_none() && !self.recovered.is_empty() {
            binder.domain = self.recovered.remove(&binder.local);
        }
    }

    /// The domain of an index variable.
    fn domain(&mut self, id: ast::ExprId) -> hir::Domain {
        let expr = &self.ast.expr[id];
        match &expr.kind {
            ast::ExprKind::Range { lo: Some(lo), hi: Some(hi), inclusive } => hir::Domain::Range {
                lo: self.expr(*lo, Pos::Value),
                hi: self.expr(*hi, Pos::Value),
                inclusive: *inclusive,
                span: expr.span,
            },
            ast::ExprKind::Path(path) => match path[..] {
                [name] if self.names_coord(name.sym) => hir::Domain::Coord(self.coord_ref(name)),
                _ => hir::Domain::Other(self.expr(id, Pos::Value)),
            },
            _ => hir::Domain::Other(self.expr(id, Pos::Value)),
        }
    }

    /// A final expression, or any other that has a region of its own.
    pub(super) fn own_region(&mut self, id: ast::ExprId) -> ExprId {
        self.open_region();
        let expr = self.expr(id, Pos::Value);
        self.close_region();
        expr
    }
}
