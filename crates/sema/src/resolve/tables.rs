//! What a statement list declares before anything in it is resolved: items, submodules, imports.

use super::imports::{Import, ImportState};
use super::modules::{Body, NewModule};
use super::{ImportId, Item, ItemId, ItemKind, Resolver};
use crate::hir::ModuleId;
use ein_base::{Code, Diagnostic, Name, Symbol};
use ein_syntax::ast::{self, Ast, StmtId, StmtKind, VariantData};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// The names that a module or a block declares for its whole length.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Functions, constants, structs and enums.
    pub(super) items: FxHashMap<Symbol, ItemId>,
    /// Submodules, declared or found.
    pub(super) mods: FxHashMap<Symbol, Sub>,
    /// Their names in source order; those that were found by a path come after.
    pub(super) mod_names: Vec<Name>,
    /// Imported names.
    pub(super) imports: FxHashMap<Symbol, ImportId>,
    /// Imported names in source order.
    pub(super) import_list: Vec<ImportId>,
    /// `use a::*`
    pub(super) globs: Vec<ImportId>,
    /// What was asked of the globs before.
    pub(super) glob_cache: FxHashMap<Symbol, Option<super::Target>>,
    /// Names of items that could not be parsed.
    pub(super) broken: FxHashSet<Symbol>,
    /// All items in source order, with the statements that declare them.
    pub(super) by_stmt: Rc<[(StmtId, ItemId)]>,
}

/// A submodule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sub {
    /// The module, once it is loaded.
    pub(super) module: Option<ModuleId>,
    /// Exported? Files that no `mod` declares are.
    pub(super) public: bool,
    /// Where it is declared.
    pub(super) name: Name,
}

/// Whether a statement list declares anything for its whole length.
pub(super) fn declares(ast: &Ast, stmts: &[StmtId]) -> bool {
    stmts.iter().any(|stmt| match ast.stmt[*stmt].kind {
        StmtKind::Const(_)
        | StmtKind::Fn(_)
        | StmtKind::Rule(_)
        | StmtKind::Use(_)
        | StmtKind::Mod(_)
        | StmtKind::Struct(_)
        | StmtKind::Enum(_)
        | StmtKind::Error => true,
        StmtKind::Let(_) | StmtKind::Clause(_) | StmtKind::Test(_) | StmtKind::Expr(_) => false,
    })
}

impl Resolver<'_> {
    /// Collects what a statement list of `module` declares.
    pub(super) fn collect(&mut self, ast: &Rc<Ast>, stmts: &[StmtId], module: ModuleId) -> Table {
        let mut table = Table::default();
        let mut by_stmt = Vec::new();
        for &stmt in stmts {
            let (name, public, kind) = match &ast.stmt[stmt].kind {
                StmtKind::Fn(f) => (f.name, f.public, ItemKind::Fn { coords: f.coords.is_some() }),
                StmtKind::Const(c) => (c.name, c.public, ItemKind::Const),
                StmtKind::Struct(s) if s.alias.is_some() => (s.name, s.public, ItemKind::Alias),
                StmtKind::Struct(s) => (s.name, s.public, ItemKind::Struct),
                StmtKind::Enum(e) => (e.name, e.public, ItemKind::Enum(variants(e))),
                StmtKind::Use(u) => {
                    self.collect_use(u, module, &mut table);
                    continue;
                }
                StmtKind::Mod(m) => {
                    self.collect_mod(ast, stmt, m, module, &mut table);
                    continue;
                }
                StmtKind::Error => {
                    let text = self.files.text(ast.stmt[stmt].span);
                    table.broken.extend(broken_names(text).items);
                    continue;
                }
                StmtKind::Let(_)
                | StmtKind::Clause(_)
                | StmtKind::Rule(_)
                | StmtKind::Test(_)
                | StmtKind::Expr(_) => continue,
            };
            let item = Item {
                name,
                public,
                module,
                kind,
                stmt: Some(stmt),
                rule: None,
                nested: false,
                def: None,
            };
            let item = self.items.push(item);
            by_stmt.push((stmt, item));
            match table.items.get(&name.sym) {
                None => {
                    table.items.insert(name.sym, item);
                }
                Some(&first) => {
                    let first = self.items[first].name;
                    self.defined_twice(first, name);
                }
            }
        }
        table.by_stmt = by_stmt.into();
        self.collect_rules(ast, stmts, &table);
        table
    }

    /// Reports the second of two definitions of one name.
    pub(super) fn defined_twice(&mut self, first: Name, second: Name) {
        self.report(
            Diagnostic::new(Code::E0207, second.span, format!("`{second}` is defined twice"))
                .here("defined again here")
                .label(first.span, "first defined here")
                .help(format!("rename or remove one of them: `other_{second}`")),
        );
    }

    fn collect_mod(
        &mut self,
        ast: &Rc<Ast>,
        stmt: StmtId,
        decl: &ast::Module,
        parent: ModuleId,
        table: &mut Table,
    ) {
        if let Some(first) = table.mods.get(&decl.name.sym) {
            let first = first.name;
            self.defined_twice(first, decl.name);
            return;
        }
        let module = decl.body.is_some().then(|| {
            let new = NewModule {
                name: decl.name.sym,
                parent: Some(parent),
                file: ast.file,
                ast: Some(Rc::clone(ast)),
                body: Body::Inline(stmt),
                place: self.modules[parent].place.below(decl.name.sym),
                library: self.program.modules[parent].library,
                broken_syntax: self.modules[parent].broken_syntax,
            };
            let module = self.add_module(new);
            self.modules[parent].uses.push(module);
            module
        });
        table.mods.insert(decl.name.sym, Sub { module, public: decl.public, name: decl.name });
        table.mod_names.push(decl.name);
    }

    fn collect_use(&mut self, decl: &ast::Use, module: ModuleId, table: &mut Table) {
        let mut prefix = Vec::new();
        self.flatten_use(&decl.tree, decl.public, module, &mut prefix, table);
    }

    fn flatten_use(
        &mut self,
        tree: &ast::UseTree,
        public: bool,
        module: ModuleId,
        prefix: &mut Vec<Name>,
        table: &mut Table,
    ) {
        let depth = prefix.len();
        for name in &tree.prefix {
            // `a::{self, b}`: `self` is `a` itself.
            if prefix.is_empty() || name.sym != self.builtins.words.itself {
                prefix.push(*name);
            }
        }
        match &tree.kind {
            ast::UseKind::Group(trees) => {
                for tree in trees {
                    self.flatten_use(tree, public, module, prefix, table);
                }
            }
            ast::UseKind::Glob => {
                if let Some(&last) = prefix.last() {
                    let import = self.add_import(module, prefix, last, public, tree, true);
                    table.globs.push(import);
                }
            }
            ast::UseKind::Name(alias) => {
                if let Some(&last) = prefix.last() {
                    let name = alias.unwrap_or(last);
                    let import = self.add_import(module, prefix, name, public, tree, false);
                    self.enter_import(import, name, table);
                }
            }
        }
        prefix.truncate(depth);
    }

    fn add_import(
        &mut self,
        module: ModuleId,
        path: &[Name],
        name: Name,
        public: bool,
        tree: &ast::UseTree,
        glob: bool,
    ) -> ImportId {
        self.imports.push(Import {
            module,
            path: path.into(),
            name,
            public,
            glob,
            span: tree.span,
            start: None,
            state: ImportState::Fresh,
            used: false,
        })
    }

    fn enter_import(&mut self, import: ImportId, name: Name, table: &mut Table) {
        let Some(&first) = table.imports.get(&name.sym) else {
            table.imports.insert(name.sym, import);
            table.import_list.push(import);
            return;
        };
        let first = self.imports[first].name;
        self.imports[import].used = true;
        self.report(
            Diagnostic::new(Code::E0206, name.span, format!("`{name}` is imported twice"))
                .here("imported again here")
                .label(first.span, "first imported here")
                .help("remove one of them, or give one another name with `as`"),
        );
    }

    /// Finds the functions that the `@fn`s of a statement list belong to.
    fn collect_rules(&mut self, ast: &Ast, stmts: &[StmtId], table: &Table) {
        for &stmt in stmts {
            let StmtKind::Rule(rule) = &ast.stmt[stmt].kind else { continue };
            let item = table.items.get(&rule.name.sym).copied();
            match item.filter(|item| matches!(self.items[*item].kind, ItemKind::Fn { .. })) {
                Some(item) => match self.items[item].rule {
                    None => self.items[item].rule = Some(stmt),
                    Some(first) => {
                        let first = ast.stmt[first].span;
                        self.report(
                            Diagnostic::new(
                                Code::E0207,
                                rule.name.span,
                                format!("`{}` has two tangent rules", rule.name),
                            )
                            .here("a second rule")
                            .label(first, "the first rule")
                            .help("remove one of the rules"),
                        );
                    }
                },
                None if table.broken.contains(&rule.name.sym) => {}
                None => {
                    let functions: Vec<Symbol> = table
                        .by_stmt
                        .iter()
                        .map(|(_, item)| &self.items[*item])
                        .filter(|item| matches!(item.kind, ItemKind::Fn { .. }))
                        .map(|item| item.name.sym)
                        .collect();
                    let text = format!("there is no function `{}` here for this rule", rule.name);
                    let diagnostic =
                        Diagnostic::new(Code::E0201, rule.name.span, text).here("not known here");
                    let otherwise = format!("declare `fn {}` beside its rule", rule.name);
                    let diagnostic =
                        self.suggest_among(diagnostic, rule.name, &functions, otherwise);
                    self.report(
                        diagnostic
                            .note("an `@fn` stands in the same block or module as its function"),
                    );
                }
            }
        }
    }
}

fn variants(decl: &ast::Enum) -> Rc<[(Name, bool)]> {
    decl.variants.iter().map(|v| (v.name, matches!(v.data, VariantData::Unit))).collect()
}

/// The names that a statement would have declared had it been well formed.
pub(super) struct BrokenNames {
    /// Of items.
    pub(super) items: Vec<Symbol>,
    /// Of bindings.
    pub(super) bindings: Vec<Symbol>,
}

/// Reads from the text of a broken statement what it was going to declare, so that uses of it are
/// not reported as well.
pub(super) fn broken_names(text: &str) -> BrokenNames {
    let mut names = BrokenNames { items: Vec::new(), bindings: Vec::new() };
    let text = text.split('=').next().unwrap_or(text);
    let mut words = text
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'))
        .skip_while(|word| *word == "pub");
    match words.next() {
        Some("let") => names.bindings = words.take(16).map(Symbol::intern).collect(),
        Some("const" | "fn" | "struct" | "enum" | "mod") => {
            names.items = words.take(1).map(Symbol::intern).collect();
        }
        Some("use") => names.items = words.take(64).map(Symbol::intern).collect(),
        _ => {}
    }
    names
}
