//! Points every error at the declarations of what it is about.
//!
//! An error is made where a mistake is found, and says there what it knows. Where the names in it
//! were introduced is the same question for all of them, so it is answered once, at the end: a
//! name that is read in the statement at fault, and that the error quotes or points at, gets a
//! label at its declaration, unless the error shows that place already.

use super::state::{Index, Report};
use crate::hir::{self, Def, DefKind, ExprKind, Local, LocalKind, Slot, Stmt};
use ein_base::{Diagnostic, Name, Span, Symbol};
use ein_ir::tensor::Type;
use rustc_hash::FxHashMap;

/// A place where a name is bound or read, or an index with which it is read, and where that name
/// was introduced.
struct Use {
    at: Span,
    declared: Name,
}

/// A statement or block, with the one around it.
struct Region {
    span: Span,
    is_block: bool,
    parent: Option<usize>,
}

/// Adds the declarations to all errors.
pub(super) fn point_at_declarations(ix: &Index, report: &mut Report) {
    if !report.diagnostics.iter().any(Diagnostic::is_error) {
        return;
    }
    let uses = uses(ix.hir);
    let regions = regions(ix.hir);
    let items = items(ix.hir);
    let types = types_by_declaration(ix);
    let mut diagnostics = std::mem::take(&mut report.diagnostics);
    for diagnostic in diagnostics.iter_mut().filter(|it| it.is_error()) {
        let at = diagnostic.primary.span;
        let region = enclosing(&regions, at);
        let around = region.map_or(at, |region| region.span);
        let bound = |span| region.is_some_and(|it| !it.is_block && it.span.covers(span));
        let mut found = concerned(diagnostic, &uses, around);
        found.extend(quoted_items(diagnostic, &items));
        for Name { sym, span } in found {
            if shows(diagnostic, span) {
                continue;
            }
            let text = match types.get(&(sym, span)) {
                // What the statement at fault binds may be of another type than was meant.
                Some(Some(ty)) if !bound(span) => format!("`{sym}` is `{ty}`"),
                _ => format!("`{sym}` is declared here"),
            };
            diagnostic.labels.push(ein_base::Label { span, text });
        }
    }
    report.diagnostics = diagnostics;
}

/// The type of each variable by its name and declaration; `None` where instances differ.
fn types_by_declaration(ix: &Index) -> FxHashMap<(Symbol, Span), Option<String>> {
    let mut types: FxHashMap<(Symbol, Span), Option<String>> = FxHashMap::default();
    for var in ix.vars.iter() {
        let shown = tells(ix, &var.ty).then(|| ix.show(&var.ty));
        types
            .entry((var.name, var.span))
            .and_modify(|known| *known = known.take().filter(|it| Some(it) == shown.as_ref()))
            .or_insert(shown);
    }
    types
}

/// Whether a type, as it is shown, says something about a value.
fn tells(ix: &Index, ty: &Type) -> bool {
    match ty {
        Type::Unit | Type::Range | Type::Error | Type::Template(..) | Type::Signature(_) => false,
        Type::Array(array) => {
            tells(ix, &array.elem)
                && array.axes.iter().all(|axis| ix.unsettled(&axis.size).is_none())
        }
        Type::AnyRank(elem) | Type::Jagged(elem, _) => tells(ix, elem),
        Type::Tuple(items) | Type::Data(_, items) => items.iter().all(|item| tells(ix, item)),
        Type::Scalar(_) | Type::Str => true,
    }
}

/// The items that are written in files, by their names.
fn items(hir: &hir::Program) -> FxHashMap<&'static str, Vec<&Def>> {
    let mut items: FxHashMap<&str, Vec<&Def>> = FxHashMap::default();
    for def in hir.defs.iter().filter(|def| !def.name.span.is_empty()) {
        let shown = match def.kind {
            DefKind::Struct(_) | DefKind::Enum(_) => !hir.modules[def.module].library,
            DefKind::Fn(_) | DefKind::Const(_) => true,
            DefKind::Error => false,
        };
        if shown {
            items.entry(def.name.sym.as_str()).or_default().push(def);
        }
    }
    items
}

/// The items that a diagnostic quotes: types, also as `Enum::Variant`, and functions and constants
/// of the file it is about.
fn quoted_items(diagnostic: &Diagnostic, items: &FxHashMap<&str, Vec<&Def>>) -> Vec<Name> {
    let file = diagnostic.primary.span.file();
    let mut found: Vec<Name> = Vec::new();
    for named in quotes(diagnostic).filter_map(|text| items.get(head(text))) {
        for def in named {
            let is_type = matches!(def.kind, DefKind::Struct(_) | DefKind::Enum(_));
            // A name that several functions have does not say which of them is meant.
            let is_meant = is_type || named.len() == 1 && def.name.span.file() == file;
            if is_meant && !found.contains(&def.name) {
                found.push(def.name);
            }
        }
    }
    found
}

/// The names in a statement that a diagnostic is about, in the order of their uses, each once.
fn concerned(diagnostic: &Diagnostic, uses: &[Use], around: Span) -> Vec<Name> {
    let quoted: Vec<&str> = quotes(diagnostic).map(head).collect();
    let pointed_at = |it: &Use| {
        // A label at a read, a call or a field begins with the name that is read.
        let is_name = it.at.len() == it.declared.sym.as_str().len();
        let begins = |place: Span| is_name && place.covers(it.at) && it.at.lo() == place.lo();
        places(diagnostic).any(|place| place == it.at || begins(place))
    };
    let mut found: Vec<Name> = Vec::new();
    let first =
        uses.partition_point(|it| (it.at.file(), it.at.lo()) < (around.file(), around.lo()));
    for it in uses[first..].iter().take_while(|it| around.covers(it.at)) {
        let concerns = quoted.contains(&it.declared.sym.as_str()) || pointed_at(it);
        if concerns && !found.contains(&it.declared) {
            found.push(it.declared);
        }
    }
    found
}

/// Every place where a value, function or constant of the program is named, in the order of the
/// text.
fn uses(hir: &hir::Program) -> Vec<Use> {
    let bound = hir.locals.iter().filter(|local| is_value(local)).map(|local| local.name);
    let mut uses: Vec<Use> = bound.map(|declared| Use { at: declared.span, declared }).collect();
    for expr in hir.exprs.iter() {
        uses.extend(named(hir, expr).map(|declared| Use { at: expr.span, declared }));
        if let ExprKind::Index { base, slots } = &expr.kind
            && let Some(declared) = named(hir, &hir.exprs[*base])
        {
            uses.extend(slots.iter().map(|slot| match slot {
                Slot::Expr(index) | Slot::Stepped(index, _) => {
                    Use { at: hir.exprs[*index].span, declared }
                }
                Slot::Pack(_, at) => Use { at: *at, declared },
            }));
        }
    }
    uses.sort_by_key(|it| (it.at.file(), it.at.lo()));
    uses
}

/// The declaration of what an expression names.
fn named(hir: &hir::Program, expr: &hir::Expr) -> Option<Name> {
    match &expr.kind {
        ExprKind::Local(local) => {
            let local = &hir.locals[*local];
            is_value(local).then_some(local.name)
        }
        ExprKind::Fn(def) | ExprKind::Const(def) => {
            let def = &hir.defs[*def];
            (!hir.modules[def.module].library).then_some(def.name)
        }
        _ => None,
    }
}

/// Whether a local name stands for a value; an index is introduced in the statement at fault.
fn is_value(local: &Local) -> bool {
    match local.kind {
        LocalKind::Let | LocalKind::Global | LocalKind::Param | LocalKind::Where => true,
        LocalKind::Index | LocalKind::Pack | LocalKind::Size | LocalKind::TypeParam => false,
    }
}

/// All statements and blocks, by place, the outer before the inner.
fn regions(hir: &hir::Program) -> Vec<Region> {
    let mut found: Vec<(Span, bool)> = Vec::new();
    let each = |stmts: &[Stmt], found: &mut Vec<(Span, bool)>| {
        found.extend(stmts.iter().map(|stmt| (stmt.span, false)));
    };
    hir.modules.iter().for_each(|module| each(&module.stmts, &mut found));
    for expr in hir.exprs.iter() {
        if let ExprKind::Block { stmts, .. } = &expr.kind {
            found.push((expr.span, true));
            each(stmts, &mut found);
        }
    }
    found.sort_by_key(|(span, _)| (span.file(), span.lo(), std::cmp::Reverse(span.hi())));
    let mut regions: Vec<Region> = Vec::new();
    for (span, is_block) in found {
        let mut parent = regions.len().checked_sub(1);
        while let Some(outer) = parent.filter(|outer| !regions[*outer].span.covers(span)) {
            parent = regions[outer].parent;
        }
        regions.push(Region { span, is_block, parent });
    }
    regions
}

/// The smallest region around a place.
fn enclosing(regions: &[Region], at: Span) -> Option<&Region> {
    let after =
        regions.partition_point(|it| (it.span.file(), it.span.lo()) <= (at.file(), at.lo()));
    let mut region = after.checked_sub(1);
    while let Some(it) = region {
        if regions[it].span.covers(at) {
            return Some(&regions[it]);
        }
        region = regions[it].parent;
    }
    None
}

/// What stands in backquotes anywhere in a diagnostic.
fn quotes(diagnostic: &Diagnostic) -> impl Iterator<Item = &str> {
    let labels = diagnostic.labels.iter().map(|label| &label.text);
    let texts = [&diagnostic.message, &diagnostic.primary.text].into_iter();
    let texts = texts.chain(labels).chain(&diagnostic.notes);
    texts.flat_map(|text| text.split('`').skip(1).step_by(2))
}

/// The places that a diagnostic shows.
fn places(diagnostic: &Diagnostic) -> impl Iterator<Item = Span> {
    let labels = diagnostic.labels.iter().map(|label| label.span);
    std::iter::once(diagnostic.primary.span).chain(labels)
}

/// Whether a diagnostic shows a place already.
fn shows(diagnostic: &Diagnostic, place: Span) -> bool {
    places(diagnostic).any(|shown| shown.covers(place) || place.covers(shown))
}

/// The name with which a piece of code begins: `x` of `x[i]`.
fn head(code: &str) -> &str {
    let end = code.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(code.len());
    &code[..end]
}
