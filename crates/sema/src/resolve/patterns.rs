//! Patterns: what they bind, and which constants and variants they name.

use super::lower::{Found, Lower, Pos};
use super::{ItemKind, Target};
use crate::hir::{self, LocalId, LocalKind, Pat, PatKind};
use ein_base::{Code, Diagnostic, Name, Span, Symbol};
use ein_syntax::ast::{self, PatId};

/// The names that a pattern has bound so far; they come into scope when it is complete.
#[derive(Default)]
pub(super) struct Bindings {
    pub(super) names: Vec<(Name, LocalId)>,
    /// What earlier alternatives bound: the same names are the same locals.
    shared: Vec<(Symbol, LocalId)>,
}

impl<'r> Lower<'r, '_> {
    /// A pattern. Where it may fail to match, a bare name may be a constant or a variant.
    pub(super) fn pattern(
        &mut self,
        id: PatId,
        kind: LocalKind,
        refutable: bool,
        bindings: &mut Bindings,
    ) -> Pat {
        let pat = &self.ast.pat[id];
        let span = pat.span;
        let kind = match &pat.kind {
            ast::PatKind::Wild => PatKind::Wild,
            ast::PatKind::Error => PatKind::Error,
            ast::PatKind::Bind { name, ty } => {
                let ty = ty.map(|ty| Box::new(self.ty(ty)));
                self.name_pattern(*name, ty, kind, refutable, bindings)
            }
            ast::PatKind::Literal(expr) => PatKind::Literal(self.expr(*expr, Pos::Value)),
            ast::PatKind::Range { lo, hi, inclusive } => PatKind::Range {
                lo: lo.map(|e| self.expr(e, Pos::Value)),
                hi: hi.map(|e| self.expr(e, Pos::Value)),
                inclusive: *inclusive,
            },
            ast::PatKind::Tuple(pats) => {
                PatKind::Tuple(self.patterns(pats, kind, refutable, bindings).into())
            }
            ast::PatKind::Array { before, rest, after } => PatKind::Array {
                before: self.patterns(before, kind, refutable, bindings).into(),
                rest: rest
                    .as_ref()
                    .map(|r| r.name.map(|name| self.bind_name(name, kind, bindings))),
                after: self.patterns(after, kind, refutable, bindings).into(),
            },
            ast::PatKind::Path(path) => match self.path_target(path) {
                Target::Item(item) if self.r.items[item].kind == ItemKind::Const => {
                    PatKind::Const(self.refer(item, span))
                }
                target => self.data_pattern(target, path, Vec::new(), false),
            },
            ast::PatKind::Variant { path, args } => {
                let args = self.patterns(args, kind, refutable, bindings);
                let fields = args
                    .into_iter()
                    .enumerate()
                    .map(|(i, pat)| {
                        let sym = Symbol::intern(&i.to_string());
                        (Name { sym, span: pat.span }, pat)
                    })
                    .collect();
                let target = self.data_target(path);
                self.data_pattern(target, path, fields, false)
            }
            ast::PatKind::Struct { path, fields, rest } => {
                let fields = fields
                    .iter()
                    .map(|(name, pat)| (*name, self.pattern(*pat, kind, refutable, bindings)))
                    .collect();
                let target = self.data_target(path);
                self.data_pattern(target, path, fields, *rest)
            }
            ast::PatKind::Or(pats) => self.alternatives(pats, kind, refutable, bindings),
            ast::PatKind::At(name, inner) => {
                let local = self.bind_name(*name, kind, bindings);
                let inner = self.pattern(*inner, kind, refutable, bindings);
                PatKind::At(local, Box::new(inner))
            }
        };
        Pat { kind, span }
    }

    fn patterns(
        &mut self,
        pats: &'r [PatId],
        kind: LocalKind,
        refutable: bool,
        bindings: &mut Bindings,
    ) -> Vec<Pat> {
        pats.iter().map(|p| self.pattern(*p, kind, refutable, bindings)).collect()
    }

    fn name_pattern(
        &mut self,
        name: Name,
        ty: Option<Box<hir::Type>>,
        kind: LocalKind,
        refutable: bool,
        bindings: &mut Bindings,
    ) -> PatKind {
        if refutable && let Found::Target(target) = self.find(name.sym, false) {
            match target {
                Target::Item(item) if self.r.items[item].kind == ItemKind::Const => {
                    return PatKind::Const(self.refer(item, name.span));
                }
                Target::Variant(item, variant) => {
                    let ItemKind::Enum(variants) = &self.r.items[item].kind else {
                        return PatKind::Error;
                    };
                    if variants[variant as usize].1 {
                        return PatKind::Data {
                            def: self.r.def_of(item),
                            variant: Some(variant as usize),
                            fields: thin_vec::ThinVec::new(),
                            rest: false,
                        };
                    }
                }
                Target::Item(_) | Target::Known(_) | Target::Error => {}
            }
        }
        PatKind::Bind(self.bind_name(name, kind, bindings), ty)
    }

    fn bind_name(&mut self, name: Name, kind: LocalKind, bindings: &mut Bindings) -> LocalId {
        if let Some((first, _)) = bindings.names.iter().find(|(other, _)| other.sym == name.sym) {
            let first = *first;
            self.r.defined_twice(first, name);
        }
        let shared = bindings.shared.iter().find(|(sym, _)| *sym == name.sym);
        let local = match shared {
            Some((_, local)) => *local,
            None => self.local(name, kind),
        };
        bindings.names.push((name, local));
        local
    }

    /// `a | b`: every alternative must bind the same names.
    fn alternatives(
        &mut self,
        pats: &'r [PatId],
        kind: LocalKind,
        refutable: bool,
        bindings: &mut Bindings,
    ) -> PatKind {
        let start = bindings.names.len();
        let shared = bindings.shared.len();
        let mut first: Option<(Vec<(Name, LocalId)>, Span)> = None;
        let mut lowered = Vec::with_capacity(pats.len());
        for &pat in pats {
            lowered.push(self.pattern(pat, kind, refutable, bindings));
            let names = bindings.names.split_off(start);
            let span = self.ast.pat[pat].span;
            match &first {
                None => {
                    bindings.shared.extend(names.iter().map(|(name, local)| (name.sym, *local)));
                    first = Some((names, span));
                }
                Some((expected, at)) => {
                    let (expected, at) = (expected.clone(), *at);
                    self.same_names(&expected, span, &names);
                    self.same_names(&names, at, &expected);
                }
            }
        }
        bindings.shared.truncate(shared);
        bindings.names.extend(first.map(|(names, _)| names).unwrap_or_default());
        PatKind::Or(lowered.into())
    }

    /// Reports the names of one alternative that another one, at `span`, does not bind.
    fn same_names(&mut self, these: &[(Name, LocalId)], span: Span, those: &[(Name, LocalId)]) {
        for (name, _) in these {
            if !those.iter().any(|(other, _)| other.sym == name.sym) {
                self.report(
                    Diagnostic::new(
                        Code::E0201,
                        span,
                        format!("`{name}` is not bound in every alternative"),
                    )
                    .here(format!("this alternative does not bind `{name}`"))
                    .label(name.span, "bound here")
                    .help(format!("bind `{name}` in every alternative, or in none: `_`")),
                );
            }
        }
    }

    /// The struct or variant that a pattern or a literal names.
    pub(super) fn data_target(&mut self, path: &[Name]) -> Target {
        let [name] = path else { return self.path_target(path) };
        match self.find(name.sym, false) {
            Found::Target(target) => target,
            Found::Local(..) | Found::Coord | Found::Nothing(_) => {
                self.unknown_type(path, false);
                Target::Error
            }
        }
    }

    fn data_pattern(
        &mut self,
        target: Target,
        path: &[Name],
        fields: Vec<(Name, Pat)>,
        rest: bool,
    ) -> PatKind {
        match self.data_of(target, path) {
            Some((def, variant)) => PatKind::Data { def, variant, fields: fields.into(), rest },
            None => PatKind::Error,
        }
    }

    /// The definition behind a struct or variant; anything else is reported.
    pub(super) fn data_of(
        &mut self,
        target: Target,
        path: &[Name],
    ) -> Option<(hir::DefId, Option<usize>)> {
        match target {
            Target::Error => return None,
            Target::Variant(item, variant) => {
                return Some((self.r.def_of(item), Some(variant as usize)));
            }
            Target::Item(item) if self.r.items[item].kind == ItemKind::Struct => {
                return Some((self.r.def_of(item), None));
            }
            Target::Item(_) | Target::Known(_) => {}
        }
        if let Some(last) = path.last() {
            let what = format!("`{last}` is neither a struct nor a variant");
            self.report(
                Diagnostic::new(Code::E0212, last.span, what)
                    .here("has no fields")
                    .help("write a struct, or a variant of an enum: `Shape::Circle(r)`"),
            );
        }
        None
    }
}
