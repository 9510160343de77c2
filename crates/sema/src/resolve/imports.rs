//! `use`: what each import leads to, found when it is first needed.

use super::modules::Place;
use super::{Anchor, ImportId, Item, ItemKind, Resolver, Target, path_span};
use crate::hir::ModuleId;
use ein_base::{Code, Diagnostic, Name, Span, Symbol};
use std::rc::Rc;

/// One imported name, or one `*`.
#[derive(Debug)]
pub(super) struct Import {
    /// The module it stands in.
    pub(super) module: ModuleId,
    /// The whole path.
    pub(super) path: Rc<[Name]>,
    /// The name it is known by here.
    pub(super) name: Name,
    /// Re-exported?
    pub(super) public: bool,
    /// `*`
    pub(super) glob: bool,
    /// Where it stands.
    pub(super) span: Span,
    /// What the first segment means, if a block around the import says so.
    pub(super) start: Option<Anchor>,
    /// How far its resolution has come.
    pub(super) state: ImportState,
    /// Whether anything was found through it.
    pub(super) used: bool,
}

impl Import {
    /// Whether it was reported.
    pub(super) fn failed(&self) -> bool {
        matches!(&self.state, ImportState::Done(found) if found.target == Some(Target::Error))
    }
}

/// How far the resolution of an import has come.
#[derive(Clone, Copy, Debug)]
pub(super) enum ImportState {
    /// Nobody asked.
    Fresh,
    /// Being resolved; whoever asks now is part of a cycle.
    Busy,
    /// Resolved.
    Done(Imported),
}

/// What an import leads to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Imported {
    /// An item, variant or built-in.
    pub(super) target: Option<Target>,
    /// A module: of a name, the module of that name; of a `*`, where the names come from.
    pub(super) module: Option<Anchor>,
    /// The module that the name is a member of, where a submodule of that name may also lie.
    pub(super) owner: Option<ModuleId>,
}

const FAILED: Imported =
    Imported { target: Some(Target::Error), module: Some(Anchor::Error), owner: None };

/// A member of a module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) target: Target,
    /// Whether the asking module may use it.
    pub(super) visible: bool,
    /// Where it is declared.
    pub(super) declared: Option<Span>,
}

/// How many names of a module a message lists.
const LISTED: usize = 6;

impl Resolver<'_> {
    /// Resolves all imports and loads all declared submodules of a module, for their errors.
    pub(super) fn check_imports(&mut self, module: ModuleId) {
        let names = self.modules[module].table.mod_names.clone();
        for name in names {
            if let Some(child) = self.declared_module(module, name.sym)
                && !self.modules[module].uses.contains(&child)
            {
                self.modules[module].uses.push(child);
            }
        }
        let table = &self.modules[module].table;
        let imports: Vec<ImportId> =
            table.import_list.iter().chain(&table.globs).copied().collect();
        for import in imports {
            self.import(import);
            self.check_clash(module, import);
        }
    }

    /// Reports an import of a name that is also defined here.
    fn check_clash(&mut self, module: ModuleId, import: ImportId) {
        let Import { name, glob: false, state: ImportState::Done(found), .. } =
            self.imports[import]
        else {
            return;
        };
        let Some(&item) = self.modules[module].table.items.get(&name.sym) else { return };
        if matches!(found.target, Some(target) if target != Target::Error) {
            let defined = self.items[item].name;
            self.imports[import].used = true;
            let (first, second) =
                if defined.span.lo() < name.span.lo() { (defined, name) } else { (name, defined) };
            self.report(
                Diagnostic::new(
                    Code::E0207,
                    second.span,
                    format!("`{name}` is both imported and defined here"),
                )
                .here("the second one")
                .label(first.span, "the other one")
                .help(format!("import it under another name: `as other_{name}`")),
            );
        }
    }

    /// What an import leads to.
    pub(super) fn import(&mut self, id: ImportId) -> Imported {
        match self.imports[id].state {
            ImportState::Done(found) => return found,
            ImportState::Busy => return Imported { target: None, module: None, owner: None },
            ImportState::Fresh => {}
        }
        self.imports[id].state = ImportState::Busy;
        let found = self.resolve_import(id);
        self.imports[id].state = ImportState::Done(found);
        found
    }

    fn resolve_import(&mut self, id: ImportId) -> Imported {
        let Import { module, start, glob, span, .. } = self.imports[id];
        let path = Rc::clone(&self.imports[id].path);
        let Some((&last, front)) = path.split_last() else { return FAILED };
        if glob {
            let found = self.anchor(module, start, &path);
            return match found {
                None => FAILED,
                Some(anchor) => {
                    self.note_import(module, anchor, span);
                    Imported { target: None, module: Some(anchor), owner: None }
                }
            };
        }
        if front.is_empty() {
            return match start.or_else(|| self.first_segment(module, &path)) {
                Some(Anchor::Enum(item)) => Imported {
                    target: Some(Target::Item(item)),
                    module: Some(Anchor::Enum(item)),
                    owner: None,
                },
                Some(Anchor::Error) => FAILED,
                Some(anchor) => {
                    self.note_import(module, anchor, span);
                    Imported { target: None, module: Some(anchor), owner: None }
                }
                None => self.import_single(module, last),
            };
        }
        let owner = match self.anchor(module, start, front) {
            None | Some(Anchor::Error) => return FAILED,
            Some(Anchor::Enum(item)) => {
                return Imported {
                    target: Some(self.variant(item, last)),
                    module: None,
                    owner: None,
                };
            }
            Some(Anchor::Module(owner)) => owner,
        };
        if self.modules[owner].broken {
            return FAILED;
        }
        self.note_import(module, Anchor::Module(owner), span);
        if let Some(member) = self.member(owner, last.sym, module) {
            self.check_visible(&member, owner, last);
            self.imports[id].used |= !member.visible;
            let mut found =
                Imported { target: Some(member.target), module: None, owner: Some(owner) };
            if let Target::Item(item) = member.target
                && matches!(self.items[item].kind, ItemKind::Enum(_))
            {
                found.module = Some(Anchor::Enum(item));
            }
            return found;
        }
        if let Some(found) = self.reexported_module(owner, last, module) {
            self.note_import(module, found, span);
            return Imported { target: None, module: Some(found), owner: None };
        }
        match self.submodule(owner, last, module) {
            Some(found) => {
                self.note_import(module, Anchor::Module(found), span);
                Imported { target: None, module: Some(Anchor::Module(found)), owner: None }
            }
            None => match self.module_through_globs(owner, last, module) {
                Some(found) => {
                    self.note_import(module, found, span);
                    Imported { target: None, module: Some(found), owner: None }
                }
                None => {
                    self.no_such_member(owner, last, module);
                    FAILED
                }
            },
        }
    }

    /// `use f;` of an item of the same crate, which only another name makes useful.
    fn import_single(&mut self, module: ModuleId, name: Name) -> Imported {
        let root = self.crate_root(module);
        if root != module
            && let Some(member) = self.member(root, name.sym, module)
        {
            self.check_visible(&member, root, name);
            return Imported { target: Some(member.target), module: None, owner: Some(root) };
        }
        self.unknown_module(module, &[name], 0);
        FAILED
    }

    /// Remembers that `module` imports from `anchor`: for cycles, and for the order of running.
    fn note_import(&mut self, module: ModuleId, anchor: Anchor, span: Span) {
        if let Anchor::Module(target) = anchor {
            self.modules[module].imported.push((target, span));
            self.modules[module].uses.push(target);
        }
    }

    /// The module of the name that an import gave, if there is one.
    pub(super) fn imported_module(&mut self, id: ImportId) -> Option<Anchor> {
        let found = self.import(id);
        if found.module.is_some() {
            return found.module;
        }
        let owner = found.owner?;
        let last = *self.imports[id].path.last()?;
        let module = self.imports[id].module;
        let found = self.submodule(owner, last, module)?;
        Some(Anchor::Module(found))
    }

    /// The item, variant or built-in that a module knows by this name.
    pub(super) fn member(
        &mut self,
        owner: ModuleId,
        sym: Symbol,
        from: ModuleId,
    ) -> Option<Member> {
        if self.intrinsics == Some(owner) {
            let builtin = *self.builtins.intrinsics.get(&sym)?;
            let target = Target::Known(super::Known::Builtin(builtin));
            return Some(Member { target, visible: true, declared: None });
        }
        let table = &self.modules[owner].table;
        let mut private = None;
        if let Some(&item) = table.items.get(&sym) {
            let Item { name, public, .. } = self.items[item];
            return Some(Member {
                target: Target::Item(item),
                visible: public || self.sees(from, owner),
                declared: Some(name.span),
            });
        }
        if table.broken.contains(&sym) || self.modules[owner].broken {
            return Some(Member { target: Target::Error, visible: true, declared: None });
        }
        if let Some(&import) = table.imports.get(&sym) {
            let Import { public, name, .. } = self.imports[import];
            if let Some(target) = self.import(import).target {
                self.imports[import].used = true;
                let visible = public || self.sees(from, owner);
                let member = Member { target, visible, declared: Some(name.span) };
                if visible {
                    return Some(member);
                }
                private = Some(member);
            }
        }
        self.through_globs(owner, sym, from).or(private)
    }

    /// What the `*` imports of a module give for a name.
    fn through_globs(&mut self, owner: ModuleId, sym: Symbol, from: ModuleId) -> Option<Member> {
        if self.modules[owner].table.globs.is_empty() {
            return None;
        }
        let inside = self.sees(from, owner);
        if inside && let Some(found) = self.modules[owner].table.glob_cache.get(&sym) {
            let target = (*found)?;
            return Some(Member { target, visible: true, declared: None });
        }
        let mut first = None;
        let mut complete = true;
        for id in self.modules[owner].table.globs.clone() {
            if !(inside || self.imports[id].public) {
                continue;
            }
            // A cycle of globs ends where it meets itself.
            if matches!(self.imports[id].state, ImportState::Busy) {
                complete = false;
                continue;
            }
            let Some(anchor) = self.import(id).module else { continue };
            let state = std::mem::replace(&mut self.imports[id].state, ImportState::Busy);
            let target = self.through_anchor(anchor, sym, owner);
            self.imports[id].state = state;
            match (first, target) {
                (None, Some(target)) => first = Some((target, id)),
                (Some((other, by)), Some(target))
                    if other != target && target != Target::Error && other != Target::Error =>
                {
                    self.two_globs(sym, by, id);
                    return Some(Member { target: Target::Error, visible: true, declared: None });
                }
                _ => {}
            }
        }
        let target = first.map(|(target, _)| target);
        if inside && complete {
            self.modules[owner].table.glob_cache.insert(sym, target);
        }
        Some(Member { target: target?, visible: true, declared: None })
    }

    /// What one `*` gives for a name.
    pub(super) fn through_anchor(
        &mut self,
        anchor: Anchor,
        sym: Symbol,
        from: ModuleId,
    ) -> Option<Target> {
        match anchor {
            // The names it would have given are not known, so no name is unknown.
            Anchor::Error => None,
            Anchor::Enum(item) => {
                let index = self.variant_index(item, sym)?;
                Some(Target::Variant(item, index))
            }
            Anchor::Module(module) => {
                let member = self.member(module, sym, from)?;
                member.visible.then_some(member.target)
            }
        }
    }

    fn two_globs(&mut self, sym: Symbol, first: ImportId, second: ImportId) {
        let (first, second) = (&self.imports[first], &self.imports[second]);
        let diagnostic = Diagnostic::new(
            Code::E0206,
            second.span,
            format!("`{sym}` is imported by two `*` that mean different things"),
        )
        .here("from here")
        .label(first.span, "and from here")
        .help(format!("import the one that is meant by its name: `use …::{sym};`"));
        if !self.diagnostics.contains(&diagnostic) {
            self.report(diagnostic);
        }
    }

    /// Reports a private member.
    pub(super) fn check_visible(&mut self, member: &Member, owner: ModuleId, name: Name) {
        if member.visible {
            return;
        }
        let path = self.module_path(owner);
        let mut diagnostic = Diagnostic::new(
            Code::E0205,
            name.span,
            format!("`{name}` is private to the module `{path}`"),
        )
        .here("not visible here");
        if let Some(span) = member.declared {
            diagnostic = diagnostic.label(span, "declared here, without `pub`");
        }
        self.report(diagnostic.help(format!("write `pub` before the declaration of `{name}`")));
    }

    /// Reports a name that a module does not have.
    pub(super) fn no_such_member(&mut self, owner: ModuleId, name: Name, from: ModuleId) {
        let path = self.module_path(owner);
        let imports = self.modules[owner].table.import_list.iter().map(|id| &self.imports[*id]);
        let busy = |it: &&Import| it.name.sym == name.sym && matches!(it.state, ImportState::Busy);
        // A name that is being looked for there is looked for here.
        if let Some(other) = imports.filter(|it| !it.glob).find(busy).map(|it| it.span) {
            // Of files that import each other it is said that they do.
            if self.file_module(owner) == self.file_module(from) {
                let message = format!("`{name}` is imported in a ring, and nothing defines it");
                let diagnostic = Diagnostic::new(Code::E0209, name.span, message)
                    .here(format!("imported from `{path}`"))
                    .label(other, format!("`{path}` imports it here"))
                    .help(format!("define `{name}` in one of the modules of the ring"));
                self.report(diagnostic);
            }
            return;
        }
        let mut diagnostic =
            Diagnostic::new(Code::E0204, name.span, format!("there is no `{name}` in `{path}`"))
                .here(format!("not in `{path}`"));
        if self.modules[owner].body.is_text() {
            let file = &self.files.file(self.program.modules[owner].file).name;
            diagnostic = diagnostic.note(format!("looked in `{file}`"));
        }
        let mut known = self.member_names(owner, from);
        let files = self.modules[owner].place.modules(self.sources);
        known.extend(files.into_iter().filter(|file| !known.contains(file)).collect::<Vec<_>>());
        let otherwise = match known.as_slice() {
            [] => format!("declare it in `{path}`: `pub fn {name}(…) {{ … }}`"),
            some => format!("`{path}` has {}", super::listed(&some[..some.len().min(LISTED)])),
        };
        let elsewhere = super::foreign::our_name(name.sym.as_str()).map(Symbol::intern);
        let import = match self.modules[owner].place {
            Place::Library(_) => self.import_of(name.sym),
            _ => None,
        };
        let diagnostic = match elsewhere.filter(|ours| known.contains(ours)) {
            None if import.is_some() => diagnostic.help(import.unwrap_or_default()),
            None if self.builtins.functions.contains_key(&name.sym) => {
                diagnostic.help(format!("it is built in: write `{name}` without a path"))
            }
            Some(ours) => {
                diagnostic.fix(format!("it is called `{ours}` here"), name.span, ours.as_str())
            }
            None => self.suggest_among(diagnostic, name, &known, otherwise),
        };
        self.report(diagnostic);
    }

    /// The names that `from` may ask of `owner`, for suggestions.
    pub(super) fn member_names(&mut self, owner: ModuleId, from: ModuleId) -> Vec<Symbol> {
        if self.intrinsics == Some(owner) {
            return self.builtins.intrinsic_names.clone();
        }
        let inside = self.sees(from, owner);
        let table = &self.modules[owner].table;
        let items = table.by_stmt.iter().map(|(_, item)| &self.items[*item]);
        let mut names: Vec<Symbol> = items
            .filter(|item| inside || item.public)
            .map(|item| item.name.sym)
            .chain(table.import_list.iter().filter_map(|import| {
                let import = &self.imports[*import];
                (inside || import.public).then_some(import.name.sym)
            }))
            .chain(table.mod_names.iter().map(|name| name.sym))
            .collect();
        for id in self.modules[owner].table.globs.clone() {
            if let ImportState::Done(Imported { module: Some(Anchor::Module(module)), .. }) =
                self.imports[id].state
                && module != owner
            {
                let items = self.modules[module].table.by_stmt.iter();
                let items = items.map(|(_, item)| &self.items[*item]);
                names.extend(items.filter(|item| item.public).map(|item| item.name.sym));
            }
        }
        names
    }

    /// The variant of an enum by its name; a wrong one is reported.
    pub(super) fn variant(&mut self, item: super::ItemId, name: Name) -> Target {
        match self.variant_index(item, name.sym) {
            Some(index) => Target::Variant(item, index),
            None => {
                let ItemKind::Enum(variants) = &self.items[item].kind else {
                    return Target::Error;
                };
                let known: Vec<Symbol> = variants.iter().map(|(name, _)| name.sym).collect();
                let owner = self.items[item].name;
                let text = format!("the enum `{owner}` has no variant `{name}`");
                let mut diagnostic =
                    Diagnostic::new(Code::E0204, name.span, text).here("no such variant");
                if self.items[item].stmt.is_some() {
                    diagnostic =
                        diagnostic.label(owner.span, format!("`{owner}` is declared here"));
                }
                let otherwise = "write one of its variants, or add this one where it is declared";
                let diagnostic = self.suggest_among(diagnostic, name, &known, otherwise);
                self.report(diagnostic.note(format!("its variants are {}", super::listed(&known))));
                Target::Error
            }
        }
    }

    fn variant_index(&self, item: super::ItemId, sym: Symbol) -> Option<u32> {
        let ItemKind::Enum(variants) = &self.items[item].kind else { return None };
        variants.iter().position(|(name, _)| name.sym == sym).map(|i| i as u32)
    }

    /// Where a path stands, for a message about all of it.
    pub(super) fn whole(&self, path: &[Name], otherwise: Span) -> Span {
        path_span(path).unwrap_or(otherwise)
    }
}
