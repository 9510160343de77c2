//! The functions of a text as callers see them.

use ein_scalar::ScalarType;
use ein_syntax::ast::{Ast, Dim, DimKind, Function, PatKind, StmtKind, TypeId, TypeKind};
use rustc_hash::FxHashMap;

/// A function at the top level of a text.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Its name.
    pub name: String,
    /// Its documentation, line by line.
    pub doc: String,
    /// Its parameters.
    pub params: Vec<Argument>,
    /// The declared result, as written.
    pub result: Option<String>,
    /// The coordinates of the declared result, as in [`Argument::layout`].
    pub layout: Option<Vec<String>>,
    /// The line it begins at.
    pub line: usize,
    /// Whether it is exported.
    pub public: bool,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// The declared type, as written.
    pub text: Option<String>,
    /// What is known of the declared type.
    pub declared: Declared,
    /// The coordinates of its axes: `..lead`, `query`, `?` for one without a name. None unless it is
    /// declared as an array.
    pub layout: Option<Vec<String>>,
    /// Its default, as written.
    pub default: Option<String>,
}

/// The fields of structs by the names of these: for each its name and its coordinates, as in
/// [`Argument::layout`]; none if it is no array.
pub(super) type Structs = FxHashMap<String, Vec<(String, Vec<String>)>>;

/// What a declared type says about values that fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Declared {
    /// Nothing.
    #[default]
    Open,
    /// A number or truth value.
    Scalar(ScalarType),
    /// A number of a type that the call decides: the name of the type parameter.
    Generic(String),
    /// A text.
    Text,
    /// An array of a type of elements, if that is fixed, and at least so many axes; exactly so many
    /// unless there is a pack.
    Array(Option<ScalarType>, Option<String>, usize, bool),
    /// A tuple.
    Tuple(Vec<Declared>),
    /// A struct or another type with a name, and what is declared of its fields as far as they are
    /// known.
    Named(String, Vec<(String, Declared)>),
}

/// Structs within structs are looked at so deep: they may contain lists of themselves.
const DEEPEST: usize = 8;

impl Declared {
    /// The type of its numbers, if that is fixed.
    pub fn scalar(&self) -> Option<ScalarType> {
        match self {
            Declared::Scalar(ty) | Declared::Array(Some(ty), ..) => Some(*ty),
            Declared::Open
            | Declared::Generic(_)
            | Declared::Text
            | Declared::Array(None, ..)
            | Declared::Tuple(_)
            | Declared::Named(..) => None,
        }
    }

    /// The type parameter that its numbers are of.
    pub fn generic(&self) -> Option<&str> {
        match self {
            Declared::Generic(name) | Declared::Array(None, Some(name), ..) => Some(name),
            _ => None,
        }
    }
}

/// The functions of a tree.
pub(super) fn of(ast: &Ast, text: &str, line_of: &dyn Fn(usize) -> usize) -> Vec<Signature> {
    let mut found = Vec::new();
    for stmt in &ast.stmts {
        let stmt = &ast.stmt[*stmt];
        let StmtKind::Fn(function) = &stmt.kind else { continue };
        let doc: Vec<&str> = stmt.docs.iter().map(|doc| doc.text.as_str()).collect();
        let reader = Reader { ast, text, function: Some(function), depth: 0 };
        found.push(Signature {
            name: function.name.to_string(),
            doc: doc.join("\n"),
            params: reader.params(),
            result: function.ret.map(|ty| reader.shown(ty)),
            layout: function.ret.and_then(|ty| reader.layout(ty)),
            line: line_of(stmt.span.lo() as usize),
            public: function.public,
        });
    }
    found
}

/// The structs of a tree: for each field its name, and its coordinates as in [`Argument::layout`].
pub(super) fn structs(ast: &Ast, text: &str) -> Structs {
    let reader = Reader { ast, text, function: None, depth: 0 };
    let of_struct = |stmt: &StmtKind| match stmt {
        StmtKind::Struct(it) if it.alias.is_none() => {
            let layout = |ty| reader.layout(ty).unwrap_or_default();
            let fields = it.fields.iter().map(|field| (field.name.to_string(), layout(field.ty)));
            Some((it.name.to_string(), fields.collect()))
        }
        _ => None,
    };
    ast.stmts.iter().filter_map(|stmt| of_struct(&ast.stmt[*stmt].kind)).collect()
}

/// What the binding of this name at the top level is declared to be, and its coordinates as in
/// [`Argument::layout`]; none if it is no array.
pub(super) fn binding(ast: &Ast, text: &str, name: &str) -> Option<(Declared, Vec<String>)> {
    let declared = |stmt: &StmtKind| match stmt {
        StmtKind::Let(it) => match &ast.pat[it.pat].kind {
            PatKind::Bind { name: bound, .. } if bound.to_string() == name => it.ty,
            _ => None,
        },
        _ => None,
    };
    let ty = ast.stmts.iter().find_map(|stmt| declared(&ast.stmt[*stmt].kind))?;
    let reader = Reader { ast, text, function: None, depth: 0 };
    Some((reader.declared(ty), reader.layout(ty).unwrap_or_default()))
}

struct Reader<'a> {
    ast: &'a Ast,
    text: &'a str,
    function: Option<&'a Function>,
    /// How many structs this is inside of.
    depth: usize,
}

impl Reader<'_> {
    fn params(&self) -> Vec<Argument> {
        let params = self.function.iter().flat_map(|it| &it.params);
        params
            .enumerate()
            .map(|(at, param)| Argument {
                name: match &self.ast.pat[param.pat].kind {
                    PatKind::Bind { name, .. } => name.to_string(),
                    _ => format!("arg{at}"),
                },
                text: param.ty.map(|ty| self.shown(ty)),
                declared: param.ty.map(|ty| self.declared(ty)).unwrap_or_default(),
                layout: param.ty.and_then(|ty| self.layout(ty)),
                default: param.default.map(|e| self.slice(self.ast.expr[e].span)),
            })
            .collect()
    }

    fn slice(&self, span: ein_base::Span) -> String {
        let (lo, hi) = (span.lo() as usize, span.hi() as usize);
        self.text.get(lo..hi).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn shown(&self, ty: TypeId) -> String {
        self.slice(self.ast.ty[ty].span)
    }

    fn declared(&self, ty: TypeId) -> Declared {
        match &self.ast.ty[ty].kind {
            TypeKind::Path { .. } => self.named(ty),
            TypeKind::Array { elem, dims, .. } => {
                let elem = self.declared(*elem);
                let (ty, generic) = (elem.scalar(), elem.generic().map(str::to_owned));
                let Some(dims) = dims else { return Declared::Array(ty, generic, 1, true) };
                let pack = |dim: &&Dim| matches!(dim.kind, DimKind::Pack(_));
                let packs = dims.iter().filter(pack).count();
                Declared::Array(ty, generic, dims.len() - packs, packs > 0)
            }
            TypeKind::AnyRank(elem) => {
                let elem = self.declared(*elem);
                Declared::Array(elem.scalar(), elem.generic().map(str::to_owned), 0, true)
            }
            TypeKind::Tuple(items) => {
                Declared::Tuple(items.iter().map(|item| self.declared(*item)).collect())
            }
            TypeKind::Some { body, .. } => self.declared(*body),
            TypeKind::Jagged { .. } | TypeKind::Function { .. } | TypeKind::Error => Declared::Open,
        }
    }

    fn named(&self, ty: TypeId) -> Declared {
        let text = self.shown(ty);
        if let Some(scalar) = ScalarType::ALL.iter().find(|it| it.to_string() == text) {
            return Declared::Scalar(*scalar);
        }
        if text == "str" {
            return Declared::Text;
        }
        let mut generics = self.function.iter().flat_map(|it| &it.generics);
        match generics.any(|name| name.to_string() == text) {
            true => Declared::Generic(text),
            false => self.fields(text),
        }
    }

    /// A struct of the text, with its fields.
    fn fields(&self, name: String) -> Declared {
        let of_name = |stmt: &StmtKind| match stmt {
            StmtKind::Struct(it) if it.alias.is_none() && it.name.to_string() == name => {
                Some(it.fields.iter().map(|field| (field.name.to_string(), field.ty)).collect())
            }
            _ => None,
        };
        let found: Option<Vec<(String, TypeId)>> =
            self.ast.stmts.iter().find_map(|stmt| of_name(&self.ast.stmt[*stmt].kind));
        if self.depth == DEEPEST {
            return Declared::Named(name, Vec::new());
        }
        let inner = Reader { depth: self.depth + 1, ..*self };
        let fields = found.into_iter().flatten();
        Declared::Named(name, fields.map(|(field, ty)| (field, inner.declared(ty))).collect())
    }

    fn layout(&self, ty: TypeId) -> Option<Vec<String>> {
        match &self.ast.ty[ty].kind {
            TypeKind::Array { dims, .. } => {
                let shown = |dim: &Dim| match &dim.kind {
                    DimKind::Size(_) => "?".to_owned(),
                    DimKind::Coord { name, .. } => name.to_string(),
                    DimKind::Pack(name) => format!("..{name}"),
                };
                Some(dims.as_ref()?.iter().map(shown).collect())
            }
            TypeKind::Some { body, .. } => self.layout(*body),
            TypeKind::Path { .. }
            | TypeKind::AnyRank(_)
            | TypeKind::Jagged { .. }
            | TypeKind::Tuple(_)
            | TypeKind::Function { .. }
            | TypeKind::Error => None,
        }
    }
}
