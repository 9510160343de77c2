//! From trees to ids: loads the modules of a program and resolves every name in them.
//!
//! Before:  the text of the root file, and [`Sources`] to ask for more
//! After:   [`hir::Program`], in which no name is looked up again
//!
//! Files are loaded when a path leads to them. The items of the library are resolved when
//! something first refers to them, everything else at once, so that all errors of a program are
//! found. After an error the node is [`hir::ExprKind::Error`], and nothing follows from it.
//!
//! Limits: a folder without a file of its own is a module only on the way to a file below it.

mod brackets;
pub(crate) mod builtins;
mod defs;
mod endless;
mod exprs;
mod foreign;
mod hidden;
mod imports;
mod known;
mod lower;
mod modules;
mod order;
mod padded;
mod paths;
mod patterns;
mod scope;
mod stmts;
mod suggest;
mod systems;
mod tables;
mod types;
mod unknown;
mod wheres;

pub(crate) use order::reads_what_is_defined;

use crate::hir::{self, DefId, LocalId, ModuleId};
use builtins::{Builtins, Known};
use ein_base::{
    Code, Diagnostic, FileId, Idx, IndexVec, Name, SourceMap, Sources, Span, Symbol, id,
};
use ein_syntax::ast::StmtId;
use modules::ModuleInfo;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::rc::Rc;

/// A resolved program with everything there is to say about it so far.
#[derive(Debug)]
pub struct Resolved {
    /// The program.
    pub program: hir::Program,
    /// Syntax errors of all files and what was found here, by file and place.
    pub diagnostics: Vec<Diagnostic>,
}

/// Resolves the program whose root file is `root`, which must be in `files`; the files it leads to
/// are added there.
pub fn resolve(files: &mut SourceMap, root: FileId, sources: &dyn Sources) -> Resolved {
    let mut resolver = Resolver {
        files,
        sources,
        known: None,
        builtins: Builtins::new(),
        program: hir::Program::default(),
        diagnostics: Vec::new(),
        modules: IndexVec::new(),
        items: IndexVec::new(),
        imports: IndexVec::new(),
        by_path: FxHashMap::default(),
        std: None,
        intrinsics: None,
        prelude: FxHashMap::default(),
        queue: VecDeque::new(),
        facts: order::Facts::default(),
        captures: FxHashMap::default(),
        rules: Vec::new(),
        aliases: FxHashMap::default(),
        budget: suggest::BUDGET,
    };
    resolver.load_root(root);
    resolver.define_prelude(root);
    while let Some(work) = resolver.queue.pop_front() {
        match work {
            Work::Module(module) => {
                resolver.check_imports(module);
                lower::module(&mut resolver, module);
            }
            Work::Item(item) => lower::item(&mut resolver, item),
        }
    }
    resolver.finish();
    let Resolver { program, mut diagnostics, .. } = resolver;
    diagnostics.sort_by_key(|d| (d.primary.span.file().index(), d.primary.span.lo()));
    // Two names of one group may fail for the same reason.
    diagnostics.dedup();
    Resolved { program, diagnostics }
}

id!(
    /// An item before it has a definition: library items get one when they are first used.
    ItemId,
    "item"
);
id!(
    /// One imported name, or one `*`.
    ImportId,
    "import"
);

/// What is left to do.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// All statements of a module.
    Module(ModuleId),
    /// One item of a library module.
    Item(ItemId),
}

/// An item as written.
#[derive(Debug)]
struct Item {
    name: Name,
    public: bool,
    module: ModuleId,
    kind: ItemKind,
    /// Where it stands in its module's tree; the prelude has no text.
    stmt: Option<StmtId>,
    /// The `@fn` that belongs to it.
    rule: Option<StmtId>,
    /// Whether it stands in a block, where only that block leads to it.
    nested: bool,
    /// Its id in the program, once something refers to it.
    def: Option<DefId>,
}

/// The kinds of item.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ItemKind {
    /// A function, and whether it has coordinate brackets.
    Fn { coords: bool },
    /// A constant.
    Const,
    /// A struct.
    Struct,
    /// Another name for a type.
    Alias,
    /// An enum: the names of its variants, and whether each carries nothing.
    Enum(Rc<[(Name, bool)]>),
}

/// What a path or an import leads to, modules aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// An item.
    Item(ItemId),
    /// A variant of an enum.
    Variant(ItemId, u32),
    /// A built-in.
    Known(Known),
    /// Something that was reported.
    Error,
}

/// What the front of a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchor {
    /// A module.
    Module(ModuleId),
    /// An enum, whose variants follow.
    Enum(ItemId),
    /// Something that was reported.
    Error,
}

/// The state of one resolution; the files of this module add methods to it.
struct Resolver<'a> {
    files: &'a mut SourceMap,
    sources: &'a dyn Sources,
    /// What the library exports, once a message asked for it.
    known: Option<known::Known>,
    builtins: Builtins,
    program: hir::Program,
    diagnostics: Vec<Diagnostic>,
    /// Parallel to the modules of the program.
    modules: IndexVec<ModuleId, ModuleInfo>,
    items: IndexVec<ItemId, Item>,
    imports: IndexVec<ImportId, imports::Import>,
    by_path: FxHashMap<PathBuf, ModuleId>,
    std: Option<ModuleId>,
    intrinsics: Option<ModuleId>,
    prelude: FxHashMap<Symbol, Target>,
    queue: VecDeque<Work>,
    facts: order::Facts,
    /// What nested functions read of the bodies around them.
    captures: FxHashMap<DefId, Vec<LocalId>>,
    /// Tangent rules with the functions they belong to; attached at the end.
    rules: Vec<(ItemId, hir::Rule)>,
    /// What other names for types stand for; nothing while that is looked up.
    aliases: FxHashMap<ItemId, Option<hir::TypeKind>>,
    /// How many names may still be compared for suggestions.
    budget: usize,
}

impl Resolver<'_> {
    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    fn root(&self) -> ModuleId {
        ModuleId::from_usize(0)
    }

    /// The definition of an item, made when it is first asked for.
    fn def_of(&mut self, item: ItemId) -> DefId {
        if let Some(def) = self.items[item].def {
            return def;
        }
        let Item { name, public, module, nested, .. } = self.items[item];
        let def =
            self.program.defs.push(hir::Def { name, module, public, kind: hir::DefKind::Error });
        self.items[item].def = Some(def);
        if self.modules[module].lazy && !nested {
            self.queue.push_back(Work::Item(item));
        }
        def
    }

    /// Whether what is private to `owner` may be used in `from`.
    fn sees(&self, from: ModuleId, owner: ModuleId) -> bool {
        let mut at = Some(from);
        while let Some(module) = at {
            if module == owner {
                return true;
            }
            at = self.program.modules[module].parent;
        }
        false
    }

    /// The path of a module as users write it.
    fn module_path(&self, module: ModuleId) -> String {
        let info = &self.program.modules[module];
        match info.parent {
            None if self.std == Some(module) => "std".into(),
            None => "crate".into(),
            Some(parent) if self.program.modules[parent].parent.is_none() && !info.library => {
                info.name.as_str().into()
            }
            Some(parent) => format!("{}::{}", self.module_path(parent), info.name),
        }
    }

    /// What is left when every statement was visited: rules, order, unused imports, `main`.
    fn finish(&mut self) {
        for (item, rule) in std::mem::take(&mut self.rules) {
            let def = self.def_of(item);
            if let hir::DefKind::Fn(function) = &mut self.program.defs[def].kind {
                function.rule = Some(rule);
            }
        }
        self.check_order();
        self.find_main();
        warn_unused_imports(self);
    }

    fn find_main(&mut self) {
        let root = self.root();
        let Some(&item) = self.modules[root].table.items.get(&self.builtins.words.main) else {
            return;
        };
        if !matches!(self.items[item].kind, ItemKind::Fn { .. }) {
            return;
        }
        let def = self.def_of(item);
        let mut calls = self.facts.statement_calls.iter();
        if !calls.any(|c| c.module == root && c.def == def && c.stmt != stmts::LAST) {
            self.program.main = Some(def);
        }
    }
}

/// One warning for each `use`, whatever it brings in vain.
fn warn_unused_imports(
    Resolver { imports, modules, program, files, diagnostics, .. }: &mut Resolver,
) {
    let mut unused: Vec<(Option<Span>, Vec<ImportId>)> = Vec::new();
    for id in imports.ids() {
        let import = &imports[id];
        let info = &modules[import.module];
        if import.used || import.public || import.glob || info.broken_syntax || import.failed() {
            continue;
        }
        if program.modules[import.module].library {
            continue;
        }
        // The imports of one `use` share the first name of their paths.
        let start = import.path.first().map(|first| first.span);
        match unused.last_mut() {
            Some((same, ids)) if *same == start => ids.push(id),
            _ => unused.push((start, vec![id])),
        }
    }
    for (_, ids) in unused {
        let names: Vec<Name> = ids.iter().map(|id| imports[*id].name).collect();
        let texts: Vec<&str> = ids.iter().map(|id| files.text(imports[*id].span)).collect();
        let verb = if names.len() == 1 { "is" } else { "are" };
        let message = format!("{} {verb} imported and never used", listed(&names));
        let mut d = Diagnostic::new(Code::W0102, names[0].span, message)
            .here("not used below")
            .help(format!("remove {}", listed(&texts)));
        for other in &names[1..] {
            d = d.label(other.span, "nor this");
        }
        diagnostics.push(d);
    }
}

/// `a`, `a and b`, `a, b and c`, each in backticks.
fn listed<T: std::fmt::Display>(names: &[T]) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// The span from the first name to the last.
fn path_span(path: &[Name]) -> Option<Span> {
    let (first, last) = (path.first()?, path.last()?);
    Some(first.span.to(last.span))
}
