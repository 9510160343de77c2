//! What to say about a name that means nothing where it stands.

use super::foreign;
use super::imports::ImportState;
use super::lower::{ContextKind, FrameKind, Lower, Places};
use super::scope::{Bound, Space};
use super::suggest::Nearest;
use super::{Anchor, ItemKind, Target};
use crate::hir::LocalId;
use ein_base::{Code, Diagnostic, Name, Span, Symbol};
use ein_syntax::ast::{self, Ast, PatId, PatKind, StmtKind, WhereItem};

/// The kind of name that is wanted, which decides what is suggested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// A value.
    Value,
    /// Something to call.
    Function,
}

impl Lower<'_, '_> {
    /// The diagnostic for a name that means nothing here; `None` if a failed import may have
    /// meant to bring it.
    pub(super) fn unknown(
        &mut self,
        name: Name,
        hidden: Option<LocalId>,
        want: Want,
    ) -> Option<Diagnostic> {
        if self.import_failed() {
            return None;
        }
        if let Some(local) = hidden {
            return Some(self.not_captured(name, local));
        }
        if let Some(diagnostic) = self.bound_later(name) {
            return Some(diagnostic);
        }
        if let Some(entry) = self.scopes.entry(self.scopes.head(Space::Pack, name.sym))
            && entry.frame >= self.floor
        {
            let text = format!("`{name}` is a pack of axes, not a value");
            return Some(
                self.at_local(entry.bound, Diagnostic::new(Code::E0212, name.span, text))
                    .here("stands for several axes")
                    .help(format!("write `..{name}` in an index or a reduction")),
            );
        }
        if self.is_module(name) {
            let text = format!("`{name}` is a module, not a value");
            return Some(
                Diagnostic::new(Code::E0212, name.span, text)
                    .here("a module")
                    .help(format!("name something in it: `{name}::…`")),
            );
        }
        let what = match want {
            Want::Value => format!("unknown name `{name}`"),
            Want::Function => format!("unknown function `{name}`"),
        };
        let diagnostic = Diagnostic::new(Code::E0201, name.span, what).here("not known here");
        if let Some(import) = self.r.import_of(name.sym) {
            return Some(diagnostic.help(import));
        }
        if self.scopes.entry(self.scopes.head(Space::Size, name.sym)).is_some() {
            return Some(diagnostic.help(format!("the size of that name is written `?{name}`")));
        }
        let elsewhere = foreign::our_name(name.sym.as_str()).map(Symbol::intern);
        if let Some(ours) = elsewhere
            && let Some(import) = self.r.import_of(ours)
        {
            return Some(diagnostic.help(format!("it is called `{ours}` here; {import}")));
        }
        let suggestion = self.nearest(name.sym, want);
        if let Some(way) = foreign::way(name.sym.as_str()) {
            let diagnostic = match suggestion {
                Some(sym) => self.r.with_suggestion(diagnostic, name, sym),
                None => diagnostic,
            };
            return Some(diagnostic.help(way));
        }
        Some(match (suggestion, want) {
            (Some(sym), _) => self.r.with_suggestion(diagnostic, name, sym),
            (None, Want::Value) => diagnostic
                .help(format!("bind it above: `let {name} = …;`, or import it with `use`")),
            (None, Want::Function) => diagnostic
                .help(format!("declare it: `fn {name}(…) {{ … }}`, or import it with `use`")),
        })
    }

    /// Points at the declaration of a local name.
    fn at_local(&self, bound: Bound, diagnostic: Diagnostic) -> Diagnostic {
        match bound {
            Bound::Local(local) => {
                diagnostic.label(self.r.program.locals[local].name.span, "declared here")
            }
            Bound::Coord | Bound::Item(_) | Bound::Import(_) | Bound::Module(_) | Bound::Error => {
                diagnostic
            }
        }
    }

    /// Reports it at once.
    pub(super) fn report_unknown(&mut self, name: Name, hidden: Option<LocalId>, want: Want) {
        if let Some(diagnostic) = self.unknown(name, hidden, want) {
            self.report(diagnostic);
        }
    }

    /// Whether a `*` whose module could not be had may have been meant to bring the name.
    fn import_failed(&self) -> bool {
        let of_module = &self.r.modules[self.module].table.globs;
        self.globs.iter().chain(of_module).any(|id| {
            matches!(self.r.imports[*id].state,
                ImportState::Done(found) if found.module == Some(Anchor::Error))
        })
    }

    fn is_module(&mut self, name: Name) -> bool {
        if self.start_of(&[name]).is_some() {
            return true;
        }
        let table = &self.r.modules[self.module].table;
        table.mods.contains_key(&name.sym) || table.imports.contains_key(&name.sym)
    }

    /// A local of an enclosing body, in a function or constant that cannot see it.
    fn not_captured(&mut self, name: Name, local: LocalId) -> Diagnostic {
        let bound = self.r.program.locals[local].name.span;
        self.r.program.locals[local].used = true;
        if self.frames[self.floor as usize].kind == FrameKind::Const {
            return Diagnostic::new(
                Code::E0212,
                name.span,
                format!("`{name}` has its value only when the program runs"),
            )
            .here("constants and types are known before that")
            .label(bound, "bound here")
            .help(format!("write `const {name}` instead of `let {name}`"));
        }
        Diagnostic::new(
            Code::E0212,
            name.span,
            format!("a function does not see `{name}` of the body around it"),
        )
        .here("not visible in a nested `fn`")
        .label(bound, "bound here")
        .help(format!("pass `{name}` as a parameter, or write a closure `|x| …`, which sees it"))
    }

    /// A name that this scope, or one around it, binds further down.
    fn bound_later(&mut self, name: Name) -> Option<Diagnostic> {
        let ast = self.ast;
        for i in (0..self.contexts.len()).rev() {
            let crosses = self.contexts[i].frame < self.floor;
            // A nested function sees the body around it, a constant does not.
            if crosses && i > 0 && self.frames[self.floor as usize].kind != FrameKind::Fn {
                continue;
            }
            let context = &mut self.contexts[i];
            let kind = context.kind;
            let done = context.done;
            let places = context.places.get_or_insert_with(|| bound_names(ast, kind));
            let later = places
                .get(&name.sym)
                .and_then(|list| list.get(list.partition_point(|(at, _)| *at < done)));
            let Some(&(index, span)) = later else { continue };
            return Some(self.used_too_early(name, span, index == done, crosses));
        }
        None
    }

    fn used_too_early(
        &mut self,
        name: Name,
        bound: Span,
        itself: bool,
        in_function: bool,
    ) -> Diagnostic {
        let line = self.r.files.position(bound).0;
        if in_function && self.frames[self.floor as usize].kind == FrameKind::Const {
            return Diagnostic::new(
                Code::E0212,
                name.span,
                format!("`{name}` has its value only when the program runs"),
            )
            .here("constants and types are known before that")
            .label(bound, "bound here")
            .help(format!("write `const {name}` instead of `let {name}`"));
        }
        let diagnostic =
            Diagnostic::new(Code::E0202, name.span, format!("`{name}` is used before it is bound"));
        if in_function && !itself {
            return diagnostic
                .here("this function stands above the binding")
                .label(bound, format!("bound here, on line {line}"))
                .help(format!(
                    "a function sees the bindings above it: move it below line {line}, \
                     or pass `{name}` as a parameter"
                ));
        }
        if itself {
            return diagnostic
                .here("used in its own definition")
                .label(bound, "bound by this statement")
                .help(format!(
                    "bind `{name}` above this statement, or define it point by point: \
                     `let {name}[i in 0..n] = …`"
                ));
        }
        diagnostic
            .here("used here")
            .label(bound, format!("bound only here, on line {line}"))
            .help("move the binding above its use")
    }

    /// The nearest name of the right kind; it counts as used.
    fn nearest(&mut self, wanted: Symbol, want: Want) -> Option<Symbol> {
        let mut nearest = Nearest::new(wanted.as_str());
        let mut left = self.r.budget;
        for entry in self.scopes.entries().iter().rev().take(left) {
            left -= 1;
            if entry.space != Space::Value {
                continue;
            }
            let right = match entry.bound {
                Bound::Local(_) => true,
                Bound::Coord => want == Want::Value,
                Bound::Item(item) => self.fits(item, want),
                Bound::Import(_) => true,
                Bound::Module(_) | Bound::Error => continue,
            };
            nearest.offer(entry.sym, right);
        }
        let table = &self.r.modules[self.module].table;
        for (_, item) in table.by_stmt.iter().take(left) {
            left -= 1;
            nearest.offer(self.r.items[*item].name.sym, self.fits(*item, want));
        }
        if left > 0 {
            for import in &table.import_list {
                let import = &self.r.imports[*import];
                let function = match import.state {
                    ImportState::Done(found) => match found.target {
                        Some(Target::Item(item)) => self.fits(item, want),
                        _ => want == Want::Function,
                    },
                    ImportState::Fresh | ImportState::Busy => true,
                };
                nearest.offer(import.name.sym, function);
            }
            for sym in &self.r.builtins.function_names {
                nearest.offer(*sym, want == Want::Function);
            }
        }
        self.r.budget = left;
        let best = nearest.best()?;
        let entry = self.scopes.entry(self.scopes.head(Space::Value, best));
        if let Some(Bound::Local(local)) = entry.map(|e| e.bound) {
            self.r.program.locals[local].used = true;
        }
        if let Some(&import) = self.r.modules[self.module].table.imports.get(&best) {
            self.r.imports[import].used = true;
        }
        Some(best)
    }

    fn fits(&self, item: super::ItemId, want: Want) -> bool {
        match self.r.items[item].kind {
            ItemKind::Fn { .. } => want == Want::Function,
            ItemKind::Const => want == Want::Value,
            ItemKind::Struct | ItemKind::Alias | ItemKind::Enum(_) => false,
        }
    }
}

/// Every name that a list binds, with its place in the list and in the text.
fn bound_names(ast: &Ast, kind: ContextKind<'_>) -> Places {
    let mut names = Vec::new();
    let mut places = Places::default();
    match kind {
        ContextKind::Block(stmts) => {
            for (index, stmt) in stmts.iter().enumerate() {
                match &ast.stmt[*stmt].kind {
                    StmtKind::Let(ast::Let { pat, .. }) => pattern_names(ast, *pat, &mut names),
                    StmtKind::Clause(clause) => names.push(clause.name),
                    _ => {}
                }
                for name in names.drain(..) {
                    places.entry(name.sym).or_default().push((index, name.span));
                }
            }
        }
        ContextKind::Where(items) => {
            for (index, item) in items.iter().enumerate() {
                if let WhereItem::Binding(name, _) = item {
                    places.entry(name.sym).or_default().push((index, name.span));
                }
            }
        }
    }
    places
}

/// The names that a pattern binds.
pub(super) fn pattern_names(ast: &Ast, pat: PatId, names: &mut Vec<Name>) {
    match &ast.pat[pat].kind {
        PatKind::Bind { name, .. } => names.push(*name),
        PatKind::At(name, inner) => {
            names.push(*name);
            pattern_names(ast, *inner, names);
        }
        PatKind::Tuple(pats) | PatKind::Or(pats) | PatKind::Variant { args: pats, .. } => {
            pats.iter().for_each(|p| pattern_names(ast, *p, names));
        }
        PatKind::Array { before, rest, after } => {
            before.iter().chain(after).for_each(|p| pattern_names(ast, *p, names));
            names.extend(rest.as_ref().and_then(|r| r.name));
        }
        PatKind::Struct { fields, .. } => {
            fields.iter().for_each(|(_, p)| pattern_names(ast, *p, names));
        }
        PatKind::Wild
        | PatKind::Literal(_)
        | PatKind::Range { .. }
        | PatKind::Path(_)
        | PatKind::Error => {}
    }
}
