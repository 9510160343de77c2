//! Types, patterns and parameters.

use super::Formatter;
use super::doc::{Doc, concat, group, nil, text};
use super::expr::joined;
use crate::ast::*;

impl Formatter<'_> {
    pub(super) fn ty(&mut self, id: TypeId) -> Doc {
        let span = self.ast.ty[id].span;
        let before = self.leading(span.lo());
        let ast = self.ast;
        let doc = match &ast.ty[id].kind {
            TypeKind::Path { path, args } if args.is_empty() => text(joined(path)),
            TypeKind::Path { path, args } => {
                let head = format!("{}<", joined(path));
                self.types((&head, ">"), args, span.hi())
            }
            TypeKind::Array { elem, dims, no_broadcast } => {
                let elem = self.ty(*elem);
                let dims = dims.as_ref().map_or_else(nil, |dims| {
                    let mut docs = Vec::new();
                    for (i, dim) in dims.iter().enumerate() {
                        docs.push(text(if i == 0 { "; " } else { ", " }));
                        docs.push(self.dim(dim));
                    }
                    // `[T;]` has no axes, `[T]` one.
                    if dims.is_empty() { text(";") } else { concat(docs) }
                });
                concat([text("["), elem, dims, text(if *no_broadcast { "]!" } else { "]" })])
            }
            TypeKind::AnyRank(elem) => concat([text("["), self.ty(*elem), text("; *]")]),
            TypeKind::Jagged { elem, depth } => {
                let depth = depth.map_or_else(nil, |depth| text(format!("; {depth}d")));
                concat([text("jagged["), self.ty(*elem), depth, text("]")])
            }
            TypeKind::Tuple(items) => match &items[..] {
                [only] => concat([text("("), self.ty(*only), text(",)")]),
                _ => self.types(("(", ")"), items, span.hi()),
            },
            TypeKind::Function { params, ret } => {
                let end = self.ast.ty[*ret].span.lo();
                let params = self.types(("(", ")"), params, end);
                concat([params, text(" -> "), self.ty(*ret)])
            }
            TypeKind::Some { sizes, body } => {
                let sizes: Vec<&str> = sizes.iter().map(|name| name.sym.as_str()).collect();
                concat([text(format!("some {}. ", sizes.join(" "))), self.ty(*body)])
            }
            TypeKind::Error => self.as_written(span),
        };
        concat([before, doc])
    }

    fn types(&mut self, brackets: (&str, &str), types: &[TypeId], end: u32) -> Doc {
        self.list(
            brackets,
            types,
            end,
            |f, ty| (f.ast.ty[ty].span.lo(), f.ast.ty[ty].span.hi()),
            |f, ty, _| f.ty(ty),
        )
    }

    /// The type after `as`, where `<` would compare.
    pub(super) fn cast_type(&mut self, id: TypeId) -> Doc {
        let apart = match &self.ast.ty[id].kind {
            TypeKind::Path { args, .. } => !args.is_empty(),
            TypeKind::Function { .. } | TypeKind::Some { .. } => true,
            _ => false,
        };
        let doc = self.ty(id);
        if apart { concat([text("("), doc, text(")")]) } else { doc }
    }

    fn dim(&mut self, dim: &Dim) -> Doc {
        let before = self.leading(dim.span.lo());
        let doc = match &dim.kind {
            // A bare name would be a coordinate.
            DimKind::Size(e) if self.single_name(*e).is_some() => self.parens(*e),
            DimKind::Size(e) => self.operand(*e, 7),
            DimKind::Coord { name, extent, over } => {
                let head = match over {
                    Some(over) => format!("{name} in {over}"),
                    None => name.to_string(),
                };
                match extent {
                    Some(extent) => concat([text(head + ": "), self.operand(*extent, 7)]),
                    None => text(head),
                }
            }
            DimKind::Pack(name) => text(format!("..{name}")),
        };
        concat([before, doc])
    }

    pub(super) fn param(&mut self, param: &Param) -> Doc {
        let before = self.leading(param.span.lo());
        let pat = self.whole_pat(param.pat);
        let ty = match param.ty {
            Some(ty) => concat([text(": "), self.ty(ty)]),
            None => nil(),
        };
        let default = match param.default {
            Some(default) => concat([text(" = "), self.where_item(default)]),
            None => nil(),
        };
        group(concat([before, pat, ty, default]))
    }

    /// A pattern that is not part of a tuple: with a type of its own it needs parentheses.
    pub(super) fn whole_pat(&mut self, id: PatId) -> Doc {
        let doc = self.pat(id);
        if matches!(self.ast.pat[id].kind, PatKind::Bind { ty: Some(_), .. }) {
            return concat([text("("), doc, text(")")]);
        }
        doc
    }

    pub(super) fn pat(&mut self, id: PatId) -> Doc {
        let span = self.ast.pat[id].span;
        let before = self.leading(span.lo());
        let ast = self.ast;
        let doc = match &ast.pat[id].kind {
            PatKind::Wild => text("_"),
            PatKind::Bind { name, ty } => match ty {
                Some(ty) => concat([text(format!("{name}: ")), self.ty(*ty)]),
                None => text(name.sym.as_str()),
            },
            PatKind::Literal(e) => self.expr(*e),
            PatKind::Range { lo, hi, inclusive } => {
                let lo = lo.map_or_else(nil, |lo| self.expr(lo));
                let hi = hi.map_or_else(nil, |hi| self.expr(hi));
                concat([lo, text(if *inclusive { "..=" } else { ".." }), hi])
            }
            PatKind::Tuple(items) => match &items[..] {
                [only] => concat([text("("), self.pat(*only), text(",)")]),
                _ => self.pats(("(", ")"), items, span.hi()),
            },
            PatKind::Array { before, rest, after } => {
                self.array_pattern(before, rest.as_deref(), after, span.hi())
            }
            PatKind::Path(path) => text(joined(path)),
            PatKind::Variant { path, args } => {
                let head = format!("{}(", joined(path));
                self.pats((&head, ")"), args, span.hi())
            }
            PatKind::Struct { path, fields, rest } => {
                self.struct_pattern(path, fields, *rest, span.hi())
            }
            PatKind::Or(items) => {
                let mut docs = Vec::new();
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        docs.push(self.trailing(ast.pat[*item].span.lo()));
                        docs.push(super::doc::line());
                        docs.push(text("| "));
                    }
                    docs.push(self.single_pat(*item));
                }
                group(concat(docs))
            }
            PatKind::At(name, inner) => {
                concat([text(format!("{name} @ ")), self.single_pat(*inner)])
            }
            PatKind::Error => self.as_written(span),
        };
        concat([before, doc])
    }

    /// A pattern where alternatives need parentheses.
    fn single_pat(&mut self, id: PatId) -> Doc {
        let doc = self.pat(id);
        if matches!(self.ast.pat[id].kind, PatKind::Or(_)) {
            return concat([text("("), doc, text(")")]);
        }
        doc
    }

    fn pats(&mut self, brackets: (&str, &str), pats: &[PatId], end: u32) -> Doc {
        self.list(
            brackets,
            pats,
            end.saturating_sub(1),
            |f, pat| (f.ast.pat[pat].span.lo(), f.ast.pat[pat].span.hi()),
            |f, pat, _| f.pat(pat),
        )
    }

    fn array_pattern(
        &mut self,
        before: &[PatId],
        rest: Option<&RestPat>,
        after: &[PatId],
        end: u32,
    ) -> Doc {
        let items: Vec<Option<PatId>> = before
            .iter()
            .map(|pat| Some(*pat))
            .chain(rest.map(|_| None))
            .chain(after.iter().map(|pat| Some(*pat)))
            .collect();
        let rest_span = rest.map(|rest| (rest.span.lo(), rest.span.hi())).unwrap_or_default();
        let rest_name = rest.and_then(|rest| rest.name).map_or("", |name| name.sym.as_str());
        self.list(
            ("[", "]"),
            &items,
            end.saturating_sub(1),
            |f, item| item.map_or(rest_span, |pat| (f.ast.pat[pat].span.lo(), f.ast.pat[pat].span.hi())),
            |f, item, _| match item {
                Some(pat) => {
                    // `..n` alone would be a rest.
                    let range = matches!(f.ast.pat[pat].kind, PatKind::Range { lo: None, hi: Some(hi), inclusive: false } if f.single_name(hi).is_some());
                    concat([if range { text("| ") } else { nil() }, f.pat(pat)])
                }
                None => text(format!("..{rest_name}")),
            },
        )
    }

    fn struct_pattern(
        &mut self,
        path: &[ein_base::Name],
        fields: &[(ein_base::Name, PatId)],
        rest: bool,
        end: u32,
    ) -> Doc {
        let items: Vec<Option<(ein_base::Name, PatId)>> =
            fields.iter().map(|field| Some(*field)).chain(rest.then_some(None)).collect();
        let head = format!("{} {{", joined(path));
        self.list(
            (&head, "}"),
            &items,
            end.saturating_sub(1),
            |f, item| match item {
                Some((name, pat)) => (name.span.lo(), f.ast.pat[pat].span.hi()),
                None => (end.saturating_sub(1), end.saturating_sub(1)),
            },
            |f, item, _| match item {
                Some((name, pat)) => match &f.ast.pat[pat].kind {
                    PatKind::Bind { name: bound, ty: None } if bound.sym == name.sym => {
                        text(name.sym.as_str())
                    }
                    _ => concat([text(format!("{name}: ")), f.pat(pat)]),
                },
                None => text(".."),
            },
        )
    }
}
