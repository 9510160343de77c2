//! A tree as text, without spans: equal trees give equal text.

mod expr;

use crate::ast::*;
use ein_base::Name;
use std::fmt::{Display, Write};

/// The tree as indented S-expressions, without spans. Two files give the same text exactly if
/// they have the same tree.
pub fn dump(ast: &Ast) -> String {
    let mut dump = Dump { ast, out: String::new(), indent: 0 };
    dump.docs(&ast.docs);
    for stmt in &ast.stmts {
        dump.stmt(*stmt);
    }
    if !dump.out.is_empty() {
        dump.out.push('\n');
    }
    dump.out
}

struct Dump<'a> {
    ast: &'a Ast,
    out: String,
    indent: usize,
}

impl Dump<'_> {
    /// `(head …)` with its children on lines of their own.
    fn node(&mut self, head: impl Display, children: impl FnOnce(&mut Self)) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        for _ in 0..self.indent {
            self.out.push(' ');
        }
        // Writing to a string cannot fail.
        let _ = write!(self.out, "({head}");
        self.indent += 2;
        children(self);
        self.indent -= 2;
        self.out.push(')');
    }

    fn leaf(&mut self, head: impl Display) {
        self.node(head, |_| {});
    }

    fn docs(&mut self, docs: &[Doc]) {
        for doc in docs {
            self.leaf(format_args!("doc {:?}", doc.text.as_str()));
        }
    }

    fn stmts(&mut self, stmts: &[StmtId]) {
        for stmt in stmts {
            self.stmt(*stmt);
        }
    }

    fn stmt(&mut self, id: StmtId) {
        let stmt = &self.ast.stmt[id];
        self.docs(&stmt.docs);
        match &stmt.kind {
            StmtKind::Let(it) => self.node("let", |d| {
                d.pat(it.pat);
                d.annotation(it.ty);
                d.expr(it.value);
            }),
            StmtKind::Clause(it) => self.node(format_args!("clause {}", it.name), |d| {
                for slot in &it.slots {
                    d.left_slot(slot);
                }
                d.expr(it.value);
            }),
            StmtKind::Const(it) => {
                self.node(format_args!("{}const {}", public(it.public), it.name), |d| {
                    d.annotation(it.ty);
                    d.expr(it.value);
                })
            }
            StmtKind::Fn(it) => self.function("fn", it),
            StmtKind::Rule(it) => self.function("rule", it),
            StmtKind::Use(it) => {
                self.node(format_args!("{}use", public(it.public)), |d| d.use_tree(&it.tree));
            }
            StmtKind::Mod(it) => {
                self.node(format_args!("{}mod {}", public(it.public), it.name), |d| {
                    match &it.body {
                        Some(body) => d.node("body", |d| d.stmts(body)),
                        None => d.leaf("file"),
                    }
                })
            }
            StmtKind::Struct(it) => {
                let head =
                    format!("{}struct {}{}", public(it.public), it.name, names(&it.generics));
                self.node(head, |d| d.fields(&it.fields));
            }
            StmtKind::Enum(it) => {
                let head = format!("{}enum {}{}", public(it.public), it.name, names(&it.generics));
                self.node(head, |d| {
                    for variant in &it.variants {
                        d.variant(variant);
                    }
                });
            }
            StmtKind::Test(it) => {
                self.node(format_args!("test {:?}", it.name.as_str()), |d| d.expr(it.body));
            }
            StmtKind::Expr(expr) => self.node("expr", |d| d.expr(*expr)),
            StmtKind::Error => self.leaf("error"),
        }
    }

    fn left_slot(&mut self, slot: &LeftSlot) {
        match &slot.kind {
            LeftSlotKind::Index { name, domain } => self.node(format_args!("index {name}"), |d| {
                if let Some(domain) = domain {
                    d.expr(*domain);
                }
            }),
            LeftSlotKind::Point(point) => self.node("point", |d| d.expr(*point)),
            LeftSlotKind::Literal(value) => self.leaf(format_args!("literal {value}")),
            LeftSlotKind::Pack(name) => self.leaf(format_args!("pack {name}")),
            LeftSlotKind::Error => self.leaf("error"),
        }
    }

    fn function(&mut self, what: &str, it: &Function) {
        let head = format!("{}{what} {}{}", public(it.public), it.name, names(&it.generics));
        self.node(head, |d| {
            if let Some(coords) = &it.coords {
                d.node("coords", |d| {
                    for coord in coords {
                        d.leaf(format_args!(
                            "{} {}",
                            if coord.pack { "pack" } else { "coord" },
                            coord.name
                        ));
                    }
                });
            }
            for param in &it.params {
                d.param(param);
            }
            d.annotation(it.ret);
            d.expr(it.body);
        });
    }

    fn param(&mut self, param: &Param) {
        self.node("param", |d| {
            d.pat(param.pat);
            d.annotation(param.ty);
            if let Some(default) = param.default {
                d.node("default", |d| d.expr(default));
            }
        });
    }

    fn use_tree(&mut self, tree: &UseTree) {
        let prefix = names(&tree.prefix);
        match &tree.kind {
            UseKind::Name(None) => self.leaf(format_args!("name{prefix}")),
            UseKind::Name(Some(alias)) => self.leaf(format_args!("name{prefix} as {alias}")),
            UseKind::Glob => self.leaf(format_args!("all{prefix}")),
            UseKind::Group(trees) => self.node(format_args!("group{prefix}"), |d| {
                for tree in trees {
                    d.use_tree(tree);
                }
            }),
        }
    }

    fn fields(&mut self, fields: &[Field]) {
        for field in fields {
            self.node(format_args!("field {}", field.name), |d| d.ty(field.ty));
        }
    }

    fn variant(&mut self, variant: &Variant) {
        match &variant.data {
            VariantData::Unit => self.leaf(format_args!("unit {}", variant.name)),
            VariantData::Tuple(types) => self.node(format_args!("tuple {}", variant.name), |d| {
                for ty in types {
                    d.ty(*ty);
                }
            }),
            VariantData::Struct(fields) => {
                self.node(format_args!("struct {}", variant.name), |d| d.fields(fields));
            }
        }
    }

    fn annotation(&mut self, ty: Option<TypeId>) {
        if let Some(ty) = ty {
            self.node("type", |d| d.ty(ty));
        }
    }

    fn ty(&mut self, id: TypeId) {
        match &self.ast.ty[id].kind {
            TypeKind::Path { path, args } => self.node(format_args!("named{}", names(path)), |d| {
                for arg in args {
                    d.ty(*arg);
                }
            }),
            TypeKind::Array { elem, dims, no_broadcast } => {
                let head = if *no_broadcast { "array!" } else { "array" };
                self.node(head, |d| {
                    d.ty(*elem);
                    match dims {
                        Some(dims) => d.node("dims", |d| {
                            for dim in dims {
                                d.dim(dim);
                            }
                        }),
                        None => d.leaf("unknown"),
                    }
                });
            }
            TypeKind::AnyRank(elem) => self.node("any-rank", |d| d.ty(*elem)),
            TypeKind::Jagged { elem, depth } => {
                let depth = depth.map(|d| format!(" {d}d")).unwrap_or_default();
                self.node(format_args!("jagged{depth}"), |d| d.ty(*elem));
            }
            TypeKind::Tuple(types) => self.node("tuple", |d| {
                for ty in types {
                    d.ty(*ty);
                }
            }),
            TypeKind::Function { params, ret } => self.node("function", |d| {
                for ty in params {
                    d.ty(*ty);
                }
                d.node("to", |d| d.ty(*ret));
            }),
            TypeKind::Some { sizes, body } => {
                self.node(format_args!("some{}", names(sizes)), |d| d.ty(*body));
            }
            TypeKind::Error => self.leaf("error"),
        }
    }

    fn dim(&mut self, dim: &Dim) {
        match &dim.kind {
            DimKind::Size(size) => self.node("size", |d| d.expr(*size)),
            DimKind::Coord { name, extent, over } => {
                let over = over.map(|over| format!(" in {over}")).unwrap_or_default();
                self.node(format_args!("coord {name}{over}"), |d| {
                    if let Some(extent) = extent {
                        d.expr(*extent);
                    }
                });
            }
            DimKind::Pack(name) => self.leaf(format_args!("pack {name}")),
        }
    }

    fn pats(&mut self, head: impl Display, pats: &[PatId]) {
        self.node(head, |d| {
            for pat in pats {
                d.pat(*pat);
            }
        });
    }

    fn pat(&mut self, id: PatId) {
        match &self.ast.pat[id].kind {
            PatKind::Wild => self.leaf("_"),
            PatKind::Bind { name, ty } => {
                self.node(format_args!("bind {name}"), |d| d.annotation(*ty));
            }
            PatKind::Literal(expr) => self.node("literal", |d| d.expr(*expr)),
            PatKind::Range { lo, hi, inclusive } => self.range(*lo, *hi, *inclusive),
            PatKind::Tuple(items) => self.pats("tuple", items),
            PatKind::Array { before, rest, after } => self.node("array", |d| {
                for pat in before {
                    d.pat(*pat);
                }
                match rest.as_deref() {
                    Some(RestPat { name: Some(name), .. }) => d.leaf(format_args!("rest {name}")),
                    Some(_) => d.leaf("rest"),
                    None => {}
                }
                for pat in after {
                    d.pat(*pat);
                }
            }),
            PatKind::Path(path) => self.leaf(format_args!("path{}", names(path))),
            PatKind::Variant { path, args } => {
                self.pats(format_args!("variant{}", names(path)), args)
            }
            PatKind::Struct { path, fields, rest } => {
                let rest = if *rest { " .." } else { "" };
                self.node(format_args!("struct{}{rest}", names(path)), |d| {
                    for (name, pat) in fields {
                        d.node(format_args!("field {name}"), |d| d.pat(*pat));
                    }
                });
            }
            PatKind::Or(items) => self.pats("or", items),
            PatKind::At(name, inner) => self.node(format_args!("at {name}"), |d| d.pat(*inner)),
            PatKind::Error => self.leaf("error"),
        }
    }

    fn range(&mut self, lo: Option<ExprId>, hi: Option<ExprId>, inclusive: bool) {
        self.node(if inclusive { "range=" } else { "range" }, |d| {
            for (what, end) in [("from", lo), ("to", hi)] {
                if let Some(end) = end {
                    d.node(what, |d| d.expr(end));
                }
            }
        });
    }
}

/// The names, each with a space in front.
fn names(names: &[Name]) -> String {
    names.iter().fold(String::new(), |mut out, name| {
        out.push(' ');
        out.push_str(name.sym.as_str());
        out
    })
}

fn public(public: bool) -> &'static str {
    if public { "pub " } else { "" }
}
