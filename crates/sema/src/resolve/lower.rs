//! The state of resolving the statements of one module: scopes, frames, and what a bare name
//! means.

use super::builtins::Known;
use super::modules::{Body, statements};
use super::scope::{Bound, Entry, Scopes, Space};
use super::stmts::List;
use super::wheres::Plan;
use super::{Anchor, ImportId, ItemId, ItemKind, Resolver, Target};
use crate::hir::{self, DefId, ExprId, ExprKind, LocalId, LocalKind, ModuleId};
use ein_base::{Code, Diagnostic, Name, Span, Symbol};
use ein_syntax::ast::{self, Ast};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// How many statements of a module are resolved before what was written of them is given back.
const BATCH: usize = 64;

/// Resolves all statements of a module. What they said is given back on the way, so that the
/// resolved program takes the place of the tree instead of more memory.
pub(super) fn module(r: &mut Resolver<'_>, module: ModuleId) {
    let Some(mut tree) = r.modules[module].ast.take() else { return };
    let body = r.modules[module].body;
    let by_stmt = Rc::clone(&r.modules[module].table.by_stmt);
    let mut list = List::new(statements(&tree, body).len(), true);
    let mut state = State::default();
    loop {
        let stmts = statements(&tree, body);
        let places = state.places.take();
        let lower = Lower::new(r, &tree, module, state);
        state = lower.batch(&mut list, stmts, &by_stmt, places, BATCH);
        if list.done() == stmts.len() {
            break;
        }
        if let (Body::File, Some(tree)) = (body, Rc::get_mut(&mut tree)) {
            tree.forget(list.done());
        }
    }
    r.program.modules[module].stmts = list.finish();
}

/// Resolves one item of a module whose statements do nothing but declare.
pub(super) fn item(r: &mut Resolver<'_>, item: ItemId) {
    let module = r.items[item].module;
    let Some(ast) = r.modules[module].ast.clone() else { return };
    Lower::new(r, &ast, module, State::default()).lazy_item(item);
}

/// What an alias of another module stands for.
pub(super) fn other_alias(
    r: &mut Resolver<'_>,
    ast: &Rc<Ast>,
    module: ModuleId,
    item: ItemId,
) -> Option<hir::TypeKind> {
    Lower::new(r, ast, module, State::default()).alias_here(item)
}

/// Where an expression stands, which decides what an unknown bare name in it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pos {
    /// Anywhere else.
    Value,
    /// In an index, or in arithmetic there: an unknown name is a free coordinate, and so is one
    /// that could not be an index.
    Slot,
    /// Deeper in an index, say in the argument of a call.
    Deep,
}

impl Pos {
    /// The position of an operand that is not arithmetic.
    pub(super) fn inner(self) -> Pos {
        match self {
            Pos::Value => Pos::Value,
            Pos::Slot | Pos::Deep => Pos::Deep,
        }
    }
}

/// A function, a closure, or the module itself: whose locals a name belongs to.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) kind: FrameKind,
    pub(super) captures: Vec<LocalId>,
    pub(super) captured: FxHashSet<LocalId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// The statements of the module.
    Module,
    /// A function: sees items, what is bound at the top level, and the values of a body around it.
    Fn,
    /// A constant or a type: sees items only.
    Const,
    /// A closure: sees everything.
    Closure,
}

/// What belongs to one statement, or to the final expression of a function.
#[derive(Debug, Default)]
pub(super) struct Region {
    /// Free coordinates that occur in an index.
    pub(super) coords: FxHashSet<Symbol>,
    /// Unknown names outside of indices: errors unless the name is such a coordinate.
    pub(super) deferred: Vec<(ExprId, Name, Diagnostic)>,
    /// Packs that nothing declares.
    pub(super) packs: Vec<(Symbol, LocalId)>,
}

/// A list of names that are bound one after the other; what is bound later is known for messages.
#[derive(Debug)]
pub(super) struct Context<'r> {
    pub(super) kind: ContextKind<'r>,
    /// How many of them are bound.
    pub(super) done: usize,
    /// The frame that the list belongs to.
    pub(super) frame: u32,
    /// Where each name is bound, made when it is first asked for.
    pub(super) places: Option<Places>,
}

/// Every place where a name is bound: the number of the statement and where it stands, in order.
pub(super) type Places = FxHashMap<Symbol, Vec<(usize, Span)>>;

#[derive(Clone, Copy, Debug)]
pub(super) enum ContextKind<'r> {
    /// The statements of a block or module.
    Block(&'r [ast::StmtId]),
    /// The items of a `where`.
    Where(&'r [ast::WhereItem]),
}

/// What resolving the statements of a module leaves for the statements after them.
#[derive(Default)]
pub(super) struct State {
    pub(super) scopes: Scopes,
    /// What belongs to no statement.
    pub(super) region: Region,
    /// The places of the module's own context.
    pub(super) places: Option<Places>,
}

/// What a bare name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A local name, with the frame it belongs to.
    Local(LocalId, u32),
    /// A coordinate of the signature.
    Coord,
    /// An item, variant or built-in.
    Target(Target),
    /// Nothing; perhaps there is a local of that name which a function may not see.
    Nothing(Option<LocalId>),
}

/// Resolves the statements of one module.
pub(super) struct Lower<'r, 'a> {
    pub(super) r: &'r mut Resolver<'a>,
    pub(super) tree: &'r Rc<Ast>,
    pub(super) ast: &'r Ast,
    pub(super) module: ModuleId,
    pub(super) scopes: Scopes,
    pub(super) frames: Vec<Frame>,
    /// The frame of the innermost function; what is local outside of it is not visible.
    pub(super) floor: u32,
    /// Parameters that are integers: their names in types are extents.
    pub(super) int_params: FxHashSet<LocalId>,
    /// Packs of signatures: what they stand for is known from the types around, and not captured.
    pub(super) signature_packs: FxHashSet<LocalId>,
    /// The item that is being resolved.
    pub(super) owner: Option<DefId>,
    pub(super) contexts: Vec<Context<'r>>,
    pub(super) regions: Vec<Region>,
    /// The definitions whose clauses are being resolved: reading them there is no use.
    pub(super) defining: Vec<LocalId>,
    /// The sizes that a `some` hides, innermost last.
    pub(super) hidden_sizes: Vec<(Symbol, LocalId)>,
    /// `use a::*` of blocks, innermost last.
    pub(super) globs: Vec<ImportId>,
    /// Items of a `where` that belong to a reduction in its body.
    pub(super) plans: FxHashMap<ast::ExprId, Plan<'r>>,
    /// Domains that were written in a `where`: reported, then taken as meant.
    pub(super) recovered: FxHashMap<LocalId, hir::Domain>,
    /// The index of the statement of the module that is being resolved.
    pub(super) stmt: u32,
}

impl<'r, 'a> Lower<'r, 'a> {
    fn new(r: &'r mut Resolver<'a>, tree: &'r Rc<Ast>, module: ModuleId, state: State) -> Self {
        let frame =
            Frame { kind: FrameKind::Module, captures: Vec::new(), captured: FxHashSet::default() };
        Self {
            r,
            tree,
            ast: tree,
            module,
            scopes: state.scopes,
            frames: vec![frame],
            floor: 0,
            int_params: FxHashSet::default(),
            signature_packs: FxHashSet::default(),
            owner: None,
            contexts: Vec::new(),
            regions: vec![state.region],
            defining: Vec::new(),
            hidden_sizes: Vec::new(),
            globs: Vec::new(),
            plans: FxHashMap::default(),
            recovered: FxHashMap::default(),
            stmt: 0,
        }
    }

    /// Makes room for what a module of so many statements comes to.
    pub(super) fn reserve(&mut self, stmts: usize) {
        self.scopes.reserve(stmts);
        // Patterns, and the indices of definitions.
        let locals = self.ast.pat.len() + 3 * stmts;
        self.r.program.locals.reserve(locals);
        self.r.facts.bound_at.reserve(locals);
    }

    pub(super) fn push(&mut self, kind: ExprKind, span: Span) -> ExprId {
        self.r.program.exprs.push(hir::Expr { kind, span })
    }

    pub(super) fn error(&mut self, span: Span) -> ExprId {
        self.push(ExprKind::Error, span)
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.r.report(diagnostic);
    }

    pub(super) fn frame(&self) -> u32 {
        self.frames.len() as u32 - 1
    }

    pub(super) fn local(&mut self, name: Name, kind: LocalKind) -> LocalId {
        self.r.new_local(name, kind)
    }

    /// Brings a local into scope.
    pub(super) fn bind(&mut self, space: Space, name: Name, local: LocalId) {
        let frame = self.frame();
        self.scopes.declare(space, name.sym, Bound::Local(local), frame, None);
    }

    /// Makes a local and brings it into scope.
    pub(super) fn declare(&mut self, name: Name, kind: LocalKind) -> LocalId {
        let local = self.local(name, kind);
        let space = match kind {
            LocalKind::Pack => Space::Pack,
            LocalKind::Size => Space::Size,
            LocalKind::TypeParam => Space::Type,
            LocalKind::Let
            | LocalKind::Global
            | LocalKind::Param
            | LocalKind::Index
            | LocalKind::Where => Space::Value,
        };
        self.bind(space, name, local);
        local
    }

    /// Leaves a scope and warns about what nothing in it read.
    pub(super) fn leave(&mut self, mark: usize) {
        let quiet = self.r.modules[self.module].broken_syntax
            || self.r.program.modules[self.module].library;
        while let Some(entry) = self.scopes.pop(mark) {
            if let (Some(span), Bound::Local(local), false) = (entry.warn, entry.bound, quiet)
                && !self.r.program.locals[local].used
                && !entry.sym.as_str().starts_with('_')
            {
                let name = entry.sym;
                self.report(
                    Diagnostic::new(Code::W0101, span, format!("`{name}` is never used"))
                        .here("bound here")
                        .help(format!("remove it, or call it `_{name}` if that is meant")),
                );
            }
        }
    }

    /// Whether code in the innermost function may use what an entry declares.
    fn visible(&self, entry: &Entry) -> bool {
        if entry.frame >= self.floor {
            return true;
        }
        match entry.bound {
            Bound::Local(local) => {
                // A nested function sees the values of the body around it, like a closure.
                let is_value = match self.r.program.locals[local].kind {
                    LocalKind::Global | LocalKind::Let | LocalKind::Param | LocalKind::Where => {
                        true
                    }
                    LocalKind::Index => true,
                    LocalKind::Pack | LocalKind::Size | LocalKind::TypeParam => false,
                };
                is_value && self.frames[self.floor as usize].kind == FrameKind::Fn
            }
            Bound::Coord => false,
            Bound::Item(_) | Bound::Import(_) | Bound::Module(_) | Bound::Error => true,
        }
    }

    /// What a bare name means here. Where only a value will do, coordinates are passed over.
    pub(super) fn find(&mut self, sym: Symbol, coords: bool) -> Found {
        let mut hidden = None;
        let mut next = self.scopes.head(Space::Value, sym);
        while let Some(entry) = self.scopes.entry(next) {
            next = entry.hidden;
            if !self.visible(&entry) {
                if let Bound::Local(local) = entry.bound {
                    hidden = hidden.or(Some(local));
                }
                continue;
            }
            match entry.bound {
                Bound::Local(local) => return Found::Local(local, entry.frame),
                Bound::Coord if coords => return Found::Coord,
                Bound::Coord | Bound::Module(_) => {}
                Bound::Item(item) => return Found::Target(Target::Item(item)),
                Bound::Error => return Found::Target(Target::Error),
                Bound::Import(import) => {
                    if let Some(target) = self.r.import(import).target {
                        self.r.imports[import].used = true;
                        return Found::Target(target);
                    }
                }
            }
        }
        match self.find_item(sym) {
            Some(target) => Found::Target(target),
            None => Found::Nothing(hidden),
        }
    }

    /// What a name means at the level of the module, or without any definition.
    pub(super) fn find_item(&mut self, sym: Symbol) -> Option<Target> {
        for i in (0..self.globs.len()).rev() {
            let Some(anchor) = self.r.import(self.globs[i]).module else { continue };
            let found = self.r.through_anchor(anchor, sym, self.module);
            if found.is_some() {
                return found;
            }
        }
        if let Some(member) = self.r.member(self.module, sym, self.module) {
            return Some(member.target);
        }
        if let Some(&known) = self.r.builtins.functions.get(&sym) {
            return Some(Target::Known(known));
        }
        self.r.prelude.get(&sym).copied()
    }

    /// What the first segment of a path means, if a block around it says so.
    pub(super) fn start_of(&mut self, path: &[Name]) -> Option<Anchor> {
        let first = path.first()?.sym;
        let mut next = self.scopes.head(Space::Module, first);
        while let Some(entry) = self.scopes.entry(next) {
            next = entry.hidden;
            match entry.bound {
                Bound::Module(module) => return Some(Anchor::Module(module)),
                Bound::Import(import) => {
                    if let Some(anchor) = self.r.imported_module(import) {
                        self.r.imports[import].used = true;
                        return Some(anchor);
                    }
                }
                Bound::Local(_) | Bound::Coord | Bound::Item(_) | Bound::Error => {}
            }
        }
        let mut next = self.scopes.head(Space::Value, first);
        while let Some(entry) = self.scopes.entry(next) {
            next = entry.hidden;
            if let Bound::Item(item) = entry.bound
                && matches!(self.r.items[item].kind, ItemKind::Enum(_))
            {
                return Some(Anchor::Enum(item));
            }
        }
        let name = *path.first()?;
        for i in (0..self.globs.len()).rev() {
            let Some(anchor) = self.r.import(self.globs[i]).module else { continue };
            if let Some(found) = self.r.module_in_glob(anchor, name, self.module) {
                return Some(found);
            }
        }
        None
    }

    /// What a path leads to, as an item.
    pub(super) fn path_target(&mut self, path: &[Name]) -> Target {
        let start = self.start_of(path);
        self.r.path_target(self.module, start, path)
    }

    /// Notes that a local is read here.
    pub(super) fn use_local(&mut self, local: LocalId, frame: u32) {
        if !self.defining.contains(&local) {
            self.r.program.locals[local].used = true;
        }
        match self.r.program.locals[local].kind {
            LocalKind::Global => {
                if let Some(owner) = self.owner {
                    self.r.facts.globals.push((owner, local));
                }
            }
            LocalKind::TypeParam => {}
            LocalKind::Pack if self.signature_packs.contains(&local) => {}
            LocalKind::Let
            | LocalKind::Param
            | LocalKind::Index
            | LocalKind::Pack
            | LocalKind::Size
            | LocalKind::Where => {
                for frame in self.frames.iter_mut().skip(frame as usize + 1) {
                    if frame.kind != FrameKind::Const && frame.captured.insert(local) {
                        frame.captures.push(local);
                    }
                }
            }
        }
    }

    /// A function that calls one with captures needs them, too.
    fn capture_for(&mut self, def: DefId) {
        let Some(captures) = self.r.captures.get(&def).cloned() else { return };
        for local in captures {
            let sym = self.r.program.locals[local].name.sym;
            let mut next = self.scopes.head(Space::Value, sym);
            while let Some(entry) = self.scopes.entry(next) {
                if matches!(entry.bound, Bound::Local(own) if own == local) {
                    self.use_local(local, entry.frame);
                    break;
                }
                next = entry.hidden;
            }
        }
    }

    /// Notes that an item is needed here.
    pub(super) fn refer(&mut self, item: ItemId, span: Span) -> DefId {
        let def = self.r.def_of(item);
        self.capture_for(def);
        match self.owner {
            Some(owner) => self.r.facts.needs.push((owner, def)),
            None => self.r.facts.statement_calls.push(super::order::StatementCall {
                module: self.module,
                stmt: self.stmt,
                def,
                span,
            }),
        }
        def
    }

    /// An item, variant or built-in as an expression.
    pub(super) fn target_expr(&mut self, target: Target, name: Name) -> ExprKind {
        match target {
            Target::Error => ExprKind::Error,
            Target::Known(Known::Builtin(builtin)) => ExprKind::Builtin(builtin),
            Target::Known(Known::Extent) => {
                self.report(
                    Diagnostic::new(
                        Code::E0212,
                        name.span,
                        "`extent` takes the name of a coordinate and is no value by itself",
                    )
                    .here("not called")
                    .help("write `extent(c)` or `extent(x, c)`"),
                );
                ExprKind::Error
            }
            Target::Variant(item, variant) => {
                ExprKind::Variant(self.r.def_of(item), variant as usize)
            }
            Target::Item(item) => match self.r.items[item].kind {
                ItemKind::Fn { .. } => ExprKind::Fn(self.refer(item, name.span)),
                ItemKind::Const => ExprKind::Const(self.refer(item, name.span)),
                ItemKind::Struct => {
                    self.type_as_value(item, name, &format!("{name} {{ … }}"));
                    ExprKind::Error
                }
                ItemKind::Alias => {
                    self.type_as_value(item, name, &format!("let x: {name} = …;"));
                    ExprKind::Error
                }
                ItemKind::Enum(_) => {
                    self.type_as_value(item, name, &format!("{name}::…"));
                    ExprKind::Error
                }
            },
        }
    }

    fn type_as_value(&mut self, item: ItemId, name: Name, form: &str) {
        let declared = self.r.items[item].name.span;
        let mut diagnostic =
            Diagnostic::new(Code::E0212, name.span, format!("`{name}` is a type, not a value"))
                .here("a type");
        if self.r.items[item].stmt.is_some() {
            diagnostic = diagnostic.label(declared, "declared here");
        }
        self.report(diagnostic.help(format!("a value of it is written `{form}`")));
    }

    /// The index variable of this name that is in scope, if there is one.
    pub(super) fn coord_ref(&mut self, name: Name) -> hir::CoordRef {
        let mut local = None;
        if let Found::Local(found, frame) = self.find(name.sym, true)
            && self.r.program.locals[found].kind == LocalKind::Index
        {
            self.use_local(found, frame);
            local = Some(found);
        }
        hir::CoordRef { name, local }
    }

    /// Opens what belongs to one statement.
    pub(super) fn open_region(&mut self) {
        self.regions.push(Region::default());
    }

    /// Closes it: an unknown name that is a free coordinate in an index is one everywhere.
    pub(super) fn close_region(&mut self) {
        let Some(region) = self.regions.pop() else { return };
        for (expr, name, diagnostic) in region.deferred {
            if region.coords.contains(&name.sym) {
                self.r.program.exprs[expr].kind = ExprKind::Coord(name);
            } else {
                self.report(diagnostic);
            }
        }
    }

    /// What belongs to the current statement.
    pub(super) fn region(&mut self) -> &mut Region {
        if self.regions.is_empty() {
            self.regions.push(Region::default());
        }
        let last = self.regions.len() - 1;
        &mut self.regions[last]
    }
}

impl Resolver<'_> {
    /// Makes a local.
    pub(super) fn new_local(&mut self, name: Name, kind: LocalKind) -> LocalId {
        self.facts.bound_at.push(0);
        self.program.locals.push(hir::Local { name, kind, used: false })
    }
}
