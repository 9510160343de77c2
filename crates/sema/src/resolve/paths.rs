//! Paths: from segments to modules, items and variants.

use super::imports::{ImportState, Member};
use super::tables::Sub;
use super::{Anchor, Item, ItemId, ItemKind, Known, Resolver, Target};
use crate::hir::{Builtin, ModuleId};
use ein_base::{Code, Diagnostic, Name, Symbol};

impl Resolver<'_> {
    /// What a path of at least two segments leads to, as an item. What is wrong with it is
    /// reported; `start` is what its first segment means where a block says so.
    pub(super) fn path_target(
        &mut self,
        module: ModuleId,
        start: Option<Anchor>,
        path: &[Name],
    ) -> Target {
        let Some((&last, front)) = path.split_last() else { return Target::Error };
        if start.is_none()
            && let Some(python) = self.python_path(module, path)
        {
            return Target::Known(Known::Builtin(Builtin::Python(python)));
        }
        let owner = match self.anchor(module, start, front) {
            None | Some(Anchor::Error) => return Target::Error,
            Some(Anchor::Enum(item)) => return self.variant(item, last),
            Some(Anchor::Module(owner)) => owner,
        };
        self.note_use(module, owner);
        match self.member(owner, last.sym, module) {
            Some(member) => {
                self.check_visible(&member, owner, last);
                member.target
            }
            None => {
                if self.step(owner, &[last], module).is_some() {
                    let text = format!("`{last}` is a module, not a value");
                    self.report(
                        Diagnostic::new(Code::E0212, last.span, text)
                            .here("a module")
                            .help(format!("name something in it: `{last}::…`")),
                    );
                } else {
                    self.no_such_member(owner, last, module);
                }
                Target::Error
            }
        }
    }

    /// The path of a function of Python, where there is a Python to call: `numpy.linalg.norm`.
    fn python_path(&self, module: ModuleId, path: &[Name]) -> Option<Symbol> {
        let (first, rest) = path.split_first()?;
        let is_python = first.sym == self.builtins.words.python
            && !self.declares_module(module, first.sym)
            && self.sources.has_python();
        let names: Vec<&str> = rest.iter().map(|name| name.sym.as_str()).collect();
        is_python.then(|| Symbol::intern(&names.join(".")))
    }

    /// Remembers that `module` needs `target` to have run before it.
    fn note_use(&mut self, module: ModuleId, target: ModuleId) {
        let uses = &mut self.modules[module].uses;
        if uses.last() != Some(&target) {
            uses.push(target);
        }
    }

    /// The module or enum that a path leads to; `None` if that was reported.
    pub(super) fn anchor(
        &mut self,
        module: ModuleId,
        start: Option<Anchor>,
        path: &[Name],
    ) -> Option<Anchor> {
        let mut at = match start.or_else(|| self.first_segment(module, path)) {
            Some(at) => at,
            None => {
                self.unknown_module(module, path, 0);
                return None;
            }
        };
        for i in 1..path.len() {
            let name = path[i];
            at = match at {
                Anchor::Error => return Some(Anchor::Error),
                Anchor::Enum(item) => {
                    let owner = self.items[item].name;
                    let text = format!("`{owner}` is an enum: nothing lies below its variants");
                    self.report(
                        Diagnostic::new(Code::E0212, name.span, text)
                            .here("below a variant")
                            .label(owner.span, format!("`{owner}` is declared here"))
                            .help(format!("end the path at the variant: `{owner}::…`")),
                    );
                    return None;
                }
                Anchor::Module(owner) if name.sym == self.builtins.words.parent => {
                    self.parent_of(owner, name)
                }
                Anchor::Module(owner) => match self.step(owner, &path[i..], module) {
                    Some(next) => next,
                    None => {
                        self.no_such_module(owner, path, i, module);
                        return None;
                    }
                },
            };
        }
        Some(at)
    }

    fn parent_of(&mut self, module: ModuleId, name: Name) -> Anchor {
        if let Some(parent) = self.program.modules[module].parent {
            return Anchor::Module(parent);
        }
        let text = "the root module has no `super`";
        self.report(
            Diagnostic::new(Code::E0203, name.span, text)
                .here("already at the top")
                .help("leave `super::` out, or start at the root: `crate::…`"),
        );
        Anchor::Error
    }

    /// What the first segment of a path means in a module; `None` if nothing.
    pub(super) fn first_segment(&mut self, module: ModuleId, path: &[Name]) -> Option<Anchor> {
        let first = *path.first()?;
        let words = &self.builtins.words;
        if first.sym == words.krate {
            return Some(Anchor::Module(self.crate_root(module)));
        }
        if first.sym == words.itself {
            return Some(Anchor::Module(module));
        }
        if first.sym == words.parent {
            return Some(self.parent_of(module, first));
        }
        let (std, python) = (first.sym == words.std, first.sym == words.python);
        // A folder of that name does not hide the library; a declared module does.
        if !(std || python) || self.declares_module(module, first.sym) {
            if let Some(found) = self.step(module, path, module) {
                return Some(found);
            }
            let root = self.crate_root(module);
            if root != module
                && let Some(found) = self.step(root, path, module)
            {
                return Some(found);
            }
        }
        if std {
            return Some(Anchor::Module(self.std()));
        }
        if python {
            let names: Vec<&str> = path.iter().map(|name| name.sym.as_str()).collect();
            let text = match self.sources.has_python() {
                true => format!("`{}`: functions of Python are not imported", names.join("::")),
                false => format!(
                    "`{}` is part of Python, whose functions can be called only inside the Python package",
                    names.join("::")
                ),
            };
            let help = match self.sources.has_python() {
                true => "call them by their whole path: `python::numpy::linalg::norm(x)`",
                false => "run this program with `einlang.run` from Python",
            };
            self.report(
                Diagnostic::new(Code::E0213, self.whole(path, first.span), text)
                    .here("a function of Python")
                    .help(help),
            );
            return Some(Anchor::Error);
        }
        match self.prelude.get(&first.sym) {
            Some(&Target::Item(item)) => Some(Anchor::Enum(item)),
            _ => None,
        }
    }

    fn declares_module(&self, owner: ModuleId, sym: Symbol) -> bool {
        let table = &self.modules[owner].table;
        table.mods.contains_key(&sym) || table.imports.contains_key(&sym)
    }

    /// What `path[0]` means as a part of `owner`; the rest of the path says whether a folder on
    /// the way may count as a module.
    pub(super) fn step(
        &mut self,
        owner: ModuleId,
        path: &[Name],
        from: ModuleId,
    ) -> Option<Anchor> {
        let name = *path.first()?;
        if self.modules[owner].broken {
            return Some(Anchor::Error);
        }
        if self.std == Some(owner) && name.sym == self.builtins.words.intrinsics {
            return self.intrinsics.map(Anchor::Module);
        }
        if let Some(item) = self.own_enum(owner, name, from) {
            return Some(Anchor::Enum(item));
        }
        if let Some(found) = self.named_module(owner, name, from) {
            return Some(found);
        }
        if let Some(module) = self.submodule(owner, name, from) {
            return Some(Anchor::Module(module));
        }
        if let Some(found) = self.module_through_globs(owner, name, from) {
            return Some(found);
        }
        if let Some(member) = self.member(owner, name.sym, from) {
            match member.target {
                Target::Item(item) if matches!(self.items[item].kind, ItemKind::Enum(_)) => {
                    self.check_visible(&member, owner, name);
                    return Some(Anchor::Enum(item));
                }
                Target::Error => return Some(Anchor::Error),
                Target::Item(_) | Target::Variant(..) | Target::Known(_) => {}
            }
        }
        if path.len() > 1 && self.leads_to_file(owner, path) {
            let folder = self.add_folder(owner, name.sym);
            self.enter_module(owner, name, folder);
            return Some(Anchor::Module(folder));
        }
        None
    }

    /// A module that a module imports by name, and that the asking one may see.
    fn named_module(&mut self, owner: ModuleId, name: Name, from: ModuleId) -> Option<Anchor> {
        let &import = self.modules[owner].table.imports.get(&name.sym)?;
        if !(self.imports[import].public || self.sees(from, owner)) {
            return None;
        }
        let found = self.imported_module(import)?;
        self.imports[import].used = true;
        Some(found)
    }

    /// A module that another one exports again: `pub use a::m;`, or through `pub use a::*;`.
    pub(super) fn reexported_module(
        &mut self,
        owner: ModuleId,
        name: Name,
        from: ModuleId,
    ) -> Option<Anchor> {
        let declared = self.modules[owner].table.mods.contains_key(&name.sym);
        if declared {
            return None;
        }
        self.named_module(owner, name, from)
    }

    /// An enum that a module itself defines.
    fn own_enum(&mut self, owner: ModuleId, name: Name, from: ModuleId) -> Option<ItemId> {
        let &item = self.modules[owner].table.items.get(&name.sym)?;
        let Item { public, name: declared, .. } = self.items[item];
        if !matches!(self.items[item].kind, ItemKind::Enum(_)) {
            return None;
        }
        let member = Member {
            target: Target::Item(item),
            visible: public || self.sees(from, owner),
            declared: Some(declared.span),
        };
        self.check_visible(&member, owner, name);
        Some(item)
    }

    /// A submodule of `owner`: declared, or a file beside it.
    pub(super) fn submodule(
        &mut self,
        owner: ModuleId,
        name: Name,
        from: ModuleId,
    ) -> Option<ModuleId> {
        if let Some(module) = self.declared_module(owner, name.sym) {
            let Sub { public, name: declared, .. } = self.modules[owner].table.mods[&name.sym];
            let member = Member {
                target: Target::Error,
                visible: public || self.sees(from, owner),
                declared: Some(declared.span),
            };
            self.check_visible(&member, owner, name);
            return Some(module);
        }
        if self.std == Some(owner) && name.sym == self.builtins.words.intrinsics {
            return self.intrinsics;
        }
        let module = self.load_submodule(owner, name)?;
        self.enter_module(owner, name, module);
        Some(module)
    }

    /// A public module that the `*` imports of a module bring.
    pub(super) fn module_through_globs(
        &mut self,
        owner: ModuleId,
        name: Name,
        from: ModuleId,
    ) -> Option<Anchor> {
        for id in self.modules[owner].table.globs.clone() {
            // A cycle of globs ends where it meets itself.
            let visible = self.imports[id].public || self.sees(from, owner);
            if !visible || matches!(self.imports[id].state, ImportState::Busy) {
                continue;
            }
            let Some(anchor) = self.import(id).module else { continue };
            let state = std::mem::replace(&mut self.imports[id].state, ImportState::Busy);
            let found = self.module_in_glob(anchor, name, owner);
            self.imports[id].state = state;
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// The module of a name that one `*` brings.
    pub(super) fn module_in_glob(
        &mut self,
        anchor: Anchor,
        name: Name,
        from: ModuleId,
    ) -> Option<Anchor> {
        let Anchor::Module(module) = anchor else { return None };
        let sees = self.sees(from, module);
        let table = &self.modules[module].table;
        if table.mods.get(&name.sym).is_some_and(|sub| sub.public || sees) {
            return self.declared_module(module, name.sym).map(Anchor::Module);
        }
        if let Some(&import) = table.imports.get(&name.sym)
            && (self.imports[import].public || sees)
            && let Some(found) = self.imported_module(import)
        {
            self.imports[import].used = true;
            return Some(found);
        }
        self.module_through_globs(module, name, from)
    }

    fn enter_module(&mut self, owner: ModuleId, name: Name, module: ModuleId) {
        let table = &mut self.modules[owner].table;
        table.mods.insert(name.sym, Sub { module: Some(module), public: true, name });
        table.mod_names.push(name);
    }

    /// A submodule that a `mod` declares or that was found before; a declared one is loaded.
    pub(super) fn declared_module(&mut self, owner: ModuleId, sym: Symbol) -> Option<ModuleId> {
        let sub = *self.modules[owner].table.mods.get(&sym)?;
        if sub.module.is_some() {
            return sub.module;
        }
        let module = match self.load_submodule(owner, sub.name) {
            Some(module) => module,
            None => {
                self.unknown_module(owner, &[sub.name], 0);
                self.broken_module(owner, sym)
            }
        };
        if let Some(sub) = self.modules[owner].table.mods.get_mut(&sym) {
            sub.module = Some(module);
        }
        Some(module)
    }

    /// Reports a first segment that is no module.
    pub(super) fn unknown_module(&mut self, module: ModuleId, path: &[Name], at: usize) {
        let Some(&name) = path.get(at) else { return };
        let root = self.crate_root(module);
        let mut searched = self.searched(module, name.sym);
        if root != module {
            searched.extend(self.searched(root, name.sym));
        }
        let mut known: Vec<Symbol> = vec![self.builtins.words.std, self.builtins.words.krate];
        known.extend(self.module_names(module));
        known.extend(self.module_names(root));
        self.no_module_here(name, format!("there is no module `{name}`"), &searched, &known);
    }

    /// Reports a later segment that is no module.
    fn no_such_module(&mut self, owner: ModuleId, path: &[Name], at: usize, from: ModuleId) {
        let name = path[at];
        let owner_path = self.module_path(owner);
        if let Some(member) = self.member(owner, name.sym, from)
            && member.target != Target::Error
        {
            let text = format!("`{name}` in `{owner_path}` is not a module");
            let mut diagnostic =
                Diagnostic::new(Code::E0212, name.span, text).here("nothing lies below it");
            if let Some(span) = member.declared {
                diagnostic = diagnostic.label(span, format!("`{name}` is declared here"));
            }
            self.report(diagnostic.help(format!("end the path here: `{owner_path}::{name}`")));
            return;
        }
        let searched = self.searched(owner, name.sym);
        let known = self.module_names(owner);
        let text = format!("there is no module `{name}` in `{owner_path}`");
        self.no_module_here(name, text, &searched, &known);
    }

    fn no_module_here(&mut self, name: Name, text: String, searched: &[String], known: &[Symbol]) {
        let diagnostic = Diagnostic::new(Code::E0203, name.span, text).here("no such module");
        let otherwise = match searched.first() {
            Some(file) => {
                format!("write the file `{file}`, or declare it here: `mod {name} {{ … }}`")
            }
            None => format!("declare it here: `mod {name} {{ … }}`"),
        };
        let mut diagnostic = self.suggest_among(diagnostic, name, known, otherwise);
        diagnostic = if searched.is_empty() {
            diagnostic.note("this text is no file, so there are no files beside it")
        } else {
            diagnostic.note(format!("searched {}", super::listed(searched)))
        };
        self.report(diagnostic);
    }

    fn searched(&self, owner: ModuleId, sym: Symbol) -> Vec<String> {
        self.modules[owner].place.candidates(sym).iter().map(|c| c.name()).collect()
    }

    /// The names of the modules that a module knows.
    fn module_names(&self, owner: ModuleId) -> Vec<Symbol> {
        let table = &self.modules[owner].table;
        let imports = table.import_list.iter().map(|import| self.imports[*import].name.sym);
        let files = self.modules[owner].place.modules(self.sources);
        table.mod_names.iter().map(|name| name.sym).chain(imports).chain(files).collect()
    }
}
