//! The module tree: which file a module is, how it is loaded, and what lies below it.

use super::tables::Table;
use super::{Item, ItemKind, Resolver, Target, Work};
use crate::hir::{self, ModuleId};
use ein_base::{Code, Diagnostic, FileId, Name, SourceError, Sources, Span, Symbol};
use ein_syntax::ast::{self, Ast, StmtId};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// What resolution knows of a module beyond what the program does.
#[derive(Debug)]
pub(super) struct ModuleInfo {
    /// The tree its statements stand in, until they are resolved; folders have none.
    pub(super) ast: Option<Rc<Ast>>,
    /// Which statements of that tree are its own.
    pub(super) body: Body,
    /// Where the files of its submodules lie.
    pub(super) place: Place,
    /// Its names.
    pub(super) table: Table,
    /// Whether its items wait until something refers to them.
    pub(super) lazy: bool,
    /// Whether nothing of it could be read; everything in it was reported already.
    pub(super) broken: bool,
    /// Whether its file has syntax errors, so that what is unused cannot be told.
    pub(super) broken_syntax: bool,
    /// The modules that paths in it lead to, in order.
    pub(super) uses: Vec<ModuleId>,
    /// The modules that its `use` declarations name, with the place of each.
    pub(super) imported: Vec<(ModuleId, Span)>,
}

/// Which statements belong to a module.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body {
    /// Those of the whole file.
    File,
    /// Those in the braces of this `mod`.
    Inline(StmtId),
    /// None: a folder, or a file that could not be read.
    None,
}

impl Body {
    /// Whether there is text that says what the module has.
    pub(super) fn is_text(self) -> bool {
        match self {
            Body::File | Body::Inline(_) => true,
            Body::None => false,
        }
    }
}

/// Where the files of submodules lie.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// In this directory.
    Dir(PathBuf),
    /// In this directory of the embedded library: empty, or ending in `/`.
    Library(String),
    /// Nowhere: text that is no file.
    None,
}

/// A file that a module may be.
#[derive(Clone, Debug)]
pub(super) enum Candidate {
    Path(PathBuf),
    Library(String),
}

impl Candidate {
    /// What diagnostics call it.
    pub(super) fn name(&self) -> String {
        match self {
            Candidate::Path(path) => path.display().to_string(),
            Candidate::Library(path) => format!("std/{path}"),
        }
    }
}

impl Place {
    /// The directory of the submodule `name`.
    pub(super) fn below(&self, name: Symbol) -> Place {
        match self {
            Place::Dir(dir) => Place::Dir(dir.join(name.as_str())),
            Place::Library(dir) => Place::Library(format!("{dir}{name}/")),
            Place::None => Place::None,
        }
    }

    /// The submodules that files and folders there are. Nothing else about a folder is asked: a
    /// name from here is only compared with a misspelt one.
    pub(super) fn modules(&self, sources: &dyn Sources) -> Vec<Symbol> {
        let names = match self {
            Place::Dir(dir) => sources.names_in(dir),
            Place::Library(dir) => sources.library_names_in(dir),
            Place::None => Vec::new(),
        };
        let modules = names.iter().map(|name| name.strip_suffix(".ein").unwrap_or(name));
        modules.filter(|name| *name != "mod" && !name.contains('.')).map(Symbol::intern).collect()
    }

    /// The two files that the submodule `name` may be.
    pub(super) fn candidates(&self, name: Symbol) -> Vec<Candidate> {
        match self {
            Place::Dir(dir) => vec![
                Candidate::Path(dir.join(format!("{name}.ein"))),
                Candidate::Path(dir.join(name.as_str()).join("mod.ein")),
            ],
            Place::Library(dir) => vec![
                Candidate::Library(format!("{dir}{name}.ein")),
                Candidate::Library(format!("{dir}{name}/mod.ein")),
            ],
            Place::None => Vec::new(),
        }
    }
}

/// The statements of a module.
pub(super) fn statements(ast: &Ast, body: Body) -> &[StmtId] {
    match body {
        Body::File => &ast.stmts,
        Body::Inline(stmt) => match &ast.stmt[stmt].kind {
            ast::StmtKind::Mod(module) => module.body.as_deref().unwrap_or_default(),
            _ => &[],
        },
        Body::None => &[],
    }
}

/// How a new module comes about.
pub(super) struct NewModule {
    pub(super) name: Symbol,
    pub(super) parent: Option<ModuleId>,
    pub(super) file: FileId,
    pub(super) ast: Option<Rc<Ast>>,
    pub(super) body: Body,
    pub(super) place: Place,
    pub(super) library: bool,
    pub(super) broken_syntax: bool,
}

impl Resolver<'_> {
    /// Parses the root file and makes the root module of it.
    pub(super) fn load_root(&mut self, file: FileId) {
        let source = self.files.file(file);
        let path = source.path.clone();
        let stem = path.as_ref().and_then(|p| p.file_stem()).and_then(|s| s.to_str());
        let name = Symbol::intern(stem.unwrap_or(&source.name));
        let place = match &path {
            Some(path) => {
                Place::Dir(path.parent().map_or_else(PathBuf::new, std::path::Path::to_path_buf))
            }
            None => Place::None,
        };
        let (ast, broken_syntax) = self.parse(file);
        let root = self.add_module(NewModule {
            name,
            parent: None,
            file,
            ast: Some(ast),
            body: Body::File,
            place,
            library: false,
            broken_syntax,
        });
        if let Some(path) = path {
            self.by_path.insert(path, root);
        }
    }

    fn parse(&mut self, file: FileId) -> (Rc<Ast>, bool) {
        let source = self.files.file(file);
        let notation = ein_syntax::Notation::of(source.path.as_deref());
        let text = Arc::clone(&source.text);
        let parsed = ein_syntax::parse_as(notation, file, &text);
        let broken = parsed.diagnostics.iter().any(Diagnostic::is_error);
        self.diagnostics.extend(parsed.diagnostics);
        (Rc::new(parsed.ast), broken)
    }

    /// Enters a module and collects what it declares.
    pub(super) fn add_module(&mut self, new: NewModule) -> ModuleId {
        let module = self.program.modules.push(hir::Module {
            name: new.name,
            file: new.file,
            parent: new.parent,
            stmts: Vec::new(),
            tests: Vec::new(),
            library: new.library,
        });
        let stmts = new.ast.as_deref().map_or(&[][..], |ast| statements(ast, new.body));
        let runs = new.ast.as_deref().is_some_and(|ast| {
            stmts.iter().any(|s| {
                matches!(
                    ast.stmt[*s].kind,
                    ast::StmtKind::Let(_) | ast::StmtKind::Clause(_) | ast::StmtKind::Expr(_)
                )
            })
        });
        self.modules.push(ModuleInfo {
            ast: new.ast.clone(),
            body: new.body,
            place: new.place,
            table: Table::default(),
            lazy: new.library && !runs,
            broken: false,
            broken_syntax: new.broken_syntax,
            uses: Vec::new(),
            imported: Vec::new(),
        });
        if let Some(ast) = &new.ast {
            let table = self.collect(ast, stmts, module);
            self.modules[module].table = table;
            if !self.modules[module].lazy {
                self.make_definitions(module);
                self.queue.push_back(Work::Module(module));
            }
        }
        module
    }

    /// Gives the items of a module their definitions, in source order.
    fn make_definitions(&mut self, module: ModuleId) {
        let items = self.modules[module].table.by_stmt.clone();
        for (_, item) in items.iter() {
            self.def_of(*item);
        }
    }

    /// The module that is the embedded library.
    pub(super) fn std(&mut self) -> ModuleId {
        if let Some(std) = self.std {
            return std;
        }
        let new = self.folder(self.builtins.words.std, None, Place::Library(String::new()), true);
        let std = self.add_module(new);
        self.std = Some(std);
        let new = self.folder(self.builtins.words.intrinsics, Some(std), Place::None, true);
        self.intrinsics = Some(self.add_module(new));
        std
    }

    fn folder(
        &self,
        name: Symbol,
        parent: Option<ModuleId>,
        place: Place,
        library: bool,
    ) -> NewModule {
        let file = self.program.modules[self.root()].file;
        NewModule {
            name,
            parent,
            file,
            ast: None,
            body: Body::None,
            place,
            library,
            broken_syntax: false,
        }
    }

    /// The root of the tree that a module belongs to: the program's, or the library's.
    pub(super) fn crate_root(&mut self, module: ModuleId) -> ModuleId {
        if self.program.modules[module].library { self.std() } else { self.root() }
    }

    fn exists(&self, candidate: &Candidate) -> bool {
        match candidate {
            Candidate::Path(path) => self.sources.is_file(path),
            Candidate::Library(path) => self.sources.library(path).is_some(),
        }
    }

    /// The file of the submodule `name.sym` of `parent`, loaded; `None` if there is none.
    pub(super) fn load_submodule(&mut self, parent: ModuleId, name: Name) -> Option<ModuleId> {
        let mut found = self.modules[parent].place.candidates(name.sym);
        found.retain(|candidate| self.exists(candidate));
        if let [first, second] = &found[..] {
            let help = format!("keep one of them: move or remove `{}`", second.name());
            self.report(
                Diagnostic::new(
                    Code::E0208,
                    name.span,
                    format!(
                        "the module `{name}` is both `{}` and `{}`",
                        first.name(),
                        second.name()
                    ),
                )
                .here("two files answer to this name")
                .help(help),
            );
        }
        Some(self.load_file(parent, name, found.into_iter().next()?))
    }

    fn load_file(&mut self, parent: ModuleId, name: Name, candidate: Candidate) -> ModuleId {
        let library = matches!(candidate, Candidate::Library(_));
        let place = self.modules[parent].place.below(name.sym);
        let (read, path) = match &candidate {
            Candidate::Path(path) => {
                if let Some(module) = self.by_path.get(path) {
                    return *module;
                }
                (self.sources.read(path), Some(path.clone()))
            }
            Candidate::Library(path) => {
                (self.sources.library(path).ok_or(SourceError::Missing), None)
            }
        };
        let module = match read {
            Ok(text) => {
                let file = self.files.add(candidate.name(), path.clone(), text);
                let (ast, broken_syntax) = self.parse(file);
                self.add_module(NewModule {
                    name: name.sym,
                    parent: Some(parent),
                    file,
                    ast: Some(ast),
                    body: Body::File,
                    place,
                    library,
                    broken_syntax,
                })
            }
            Err(error) => {
                self.report(
                    Diagnostic::new(
                        Code::E0210,
                        name.span,
                        format!("`{}` cannot be read: {error}", candidate.name()),
                    )
                    .here("asked for here")
                    .help(error.remedy()),
                );
                self.broken_module(parent, name.sym)
            }
        };
        if let Some(path) = path {
            self.by_path.insert(path, module);
        }
        module
    }

    /// Stands for a module that was reported as missing or unreadable.
    pub(super) fn broken_module(&mut self, parent: ModuleId, name: Symbol) -> ModuleId {
        let library = self.program.modules[parent].library;
        let new = self.folder(name, Some(parent), Place::None, library);
        let module = self.add_module(new);
        self.modules[module].broken = true;
        module
    }

    /// Whether `path[0]` is a folder on the way to a file along this path.
    pub(super) fn leads_to_file(&self, parent: ModuleId, path: &[Name]) -> bool {
        let mut place = self.modules[parent].place.clone();
        for (i, name) in path.iter().enumerate() {
            if i > 0 && place.candidates(name.sym).iter().any(|c| self.exists(c)) {
                return true;
            }
            place = place.below(name.sym);
        }
        false
    }

    /// A folder without a file of its own, as a module.
    pub(super) fn add_folder(&mut self, parent: ModuleId, name: Symbol) -> ModuleId {
        let place = self.modules[parent].place.below(name);
        let library = self.program.modules[parent].library;
        let mut new = self.folder(name, Some(parent), place, library);
        new.file = self.program.modules[parent].file;
        self.add_module(new)
    }

    /// `Option` and `Result`.
    pub(super) fn define_prelude(&mut self, file: FileId) {
        self.program.prelude.option =
            Some(self.prelude_enum(file, "Option", &["T"], |t| {
                vec![("None", None), ("Some", Some(t[0]))]
            }));
        self.program.prelude.result = Some(self.prelude_enum(file, "Result", &["T", "E"], |t| {
            vec![("Ok", Some(t[0])), ("Err", Some(t[1]))]
        }));
    }

    fn prelude_enum(
        &mut self,
        file: FileId,
        name: &str,
        params: &[&str],
        variants: impl Fn(&[hir::LocalId]) -> Vec<(&'static str, Option<hir::LocalId>)>,
    ) -> hir::DefId {
        let span = Span::new(file, 0, 0);
        let named = |text: &str| Name { sym: Symbol::intern(text), span };
        let generics: Vec<hir::LocalId> =
            params.iter().map(|p| self.new_local(named(p), hir::LocalKind::TypeParam)).collect();
        let variants: Vec<hir::Variant> = variants(&generics)
            .into_iter()
            .map(|(name, param)| hir::Variant {
                name: named(name),
                shape: match param {
                    Some(_) => hir::VariantShape::Tuple,
                    None => hir::VariantShape::Unit,
                },
                fields: param
                    .map(|p| hir::Field {
                        name: named("0"),
                        ty: hir::Type { kind: hir::TypeKind::Param(p), span },
                    })
                    .into_iter()
                    .collect(),
            })
            .collect();
        let item = self.items.push(Item {
            name: named(name),
            public: true,
            module: self.root(),
            kind: ItemKind::Enum(
                variants.iter().map(|v| (v.name, v.shape == hir::VariantShape::Unit)).collect(),
            ),
            stmt: None,
            rule: None,
            nested: false,
            def: None,
        });
        self.prelude.insert(Symbol::intern(name), Target::Item(item));
        for (i, variant) in variants.iter().enumerate() {
            self.prelude.insert(variant.name.sym, Target::Variant(item, i as u32));
        }
        let def = self.def_of(item);
        self.program.defs[def].kind =
            hir::DefKind::Enum(hir::Enum { generics: generics.into(), variants: variants.into() });
        def
    }
}
