//! Items: functions, constants, imports, modules, data types, tests.

use super::stmt::Statement;
use super::{Parse, Parser, Reported};
use crate::ast::*;
use crate::token::TokenKind;
use ein_base::{Code, Diagnostic, Span, Symbol};
use thin_vec::ThinVec;

impl Parser<'_> {
    pub(super) fn pub_item(&mut self) -> Statement {
        let span = self.span_here();
        self.bump();
        match self.kind() {
            TokenKind::Fn => self.fn_item(true),
            TokenKind::Const => self.const_item(true),
            TokenKind::Use => self.use_item(true),
            TokenKind::Struct => self.struct_item(true),
            _ if self.at_alias() => self.alias_item(true),
            TokenKind::Enum => self.enum_item(true),
            TokenKind::Mod => self.mod_item(true),
            TokenKind::Let | TokenKind::At => {
                let word = self.found();
                let place = Span::new(self.file, span.lo(), self.lo());
                self.report(
                    Diagnostic::new(Code::E0101, span, format!("`pub` cannot stand before {word}"))
                        .here("only `fn`, `const`, `use`, `mod`, `struct` and `enum` are exported")
                        .fix(
                            "leave it out; a value known at compile time may be a `pub const`",
                            place,
                            "",
                        ),
                );
                if self.at(TokenKind::Let) { self.let_stmt() } else { self.rule_item() }
            }
            _ => {
                self.unexpected("an item after `pub`");
                Err(StmtKind::Error)
            }
        }
    }

    /// `const N: i32 = 10`
    pub(super) fn const_item(&mut self, public: bool) -> Statement {
        self.bump();
        let Ok(name) = self.name("the name of the constant") else { return Err(StmtKind::Error) };
        let (ty, value) = match self.annotation() {
            Ok(ty) => (ty, self.bound_value()),
            Err(ty) => (Some(ty), Err(self.error_expr())),
        };
        match value {
            Ok(value) => Ok(StmtKind::Const(Const { public, name, ty, value })),
            Err(value) => Err(StmtKind::Const(Const { public, name, ty, value })),
        }
    }

    pub(super) fn fn_item(&mut self, public: bool) -> Statement {
        self.bump();
        self.function(public, StmtKind::Fn)
    }

    /// `@fn f(x) { … }`
    pub(super) fn rule_item(&mut self) -> Statement {
        self.bump();
        if !self.eat(TokenKind::Fn) {
            self.unexpected("`fn` after `@`");
            return Err(StmtKind::Error);
        }
        self.function(false, StmtKind::Rule)
    }

    fn function(&mut self, public: bool, kind: fn(Box<Function>) -> StmtKind) -> Statement {
        let start = self.anchor;
        let Ok(name) = self.name("the name of the function") else { return Err(StmtKind::Error) };
        let body = self.error_expr();
        let mut function = Box::new(Function {
            public,
            name,
            generics: ThinVec::new(),
            coords: None,
            params: ThinVec::new(),
            ret: None,
            body,
        });
        if self.fn_header(&mut function).is_err() && !self.skip_to(start, &[TokenKind::LBrace], &[])
        {
            return Err(kind(function));
        }
        match self.nested(Self::block) {
            Ok(body) => {
                function.body = body;
                Ok(kind(function))
            }
            Err(Reported) => Err(kind(function)),
        }
    }

    fn fn_header(&mut self, function: &mut Function) -> Parse<()> {
        function.generics = self.generics()?.into();
        if self.at(TokenKind::LBracket) {
            let open = self.token();
            self.bump();
            function.coords = Some(self.declarations(open, TokenKind::RBracket, |p| {
                let pack = p.eat(TokenKind::DotDot);
                let name = p.name("the name of a coordinate")?;
                let empty = pack && p.eat(TokenKind::Eq);
                if empty {
                    p.expect(TokenKind::LParen)?;
                    p.expect(TokenKind::RParen)?;
                }
                Ok(CoordParam { name, pack, empty })
            })?);
        }
        let open = self.token();
        if !self.eat(TokenKind::LParen) {
            return Err(self.unexpected("the parameters of the function in `(` and `)`"));
        }
        function.params = self.declarations(open, TokenKind::RParen, Self::param)?;
        if self.eat(TokenKind::Arrow) {
            function.ret = Some(self.type_expr()?);
        }
        if self.at(TokenKind::LBrace) {
            return Ok(());
        }
        let (span, found) = (self.span_here(), self.found());
        let diagnostic = Diagnostic::new(
            Code::E0101,
            span,
            format!("expected the body of `{}`, found {found}", function.name),
        )
        .here("expected `{`");
        let diagnostic = match self.kind() {
            TokenKind::Eq => diagnostic.help("the body is a block: `fn f(x) { x + 1 }`"),
            TokenKind::Colon => diagnostic.fix("the result is declared with `->`", span, "->"),
            _ => diagnostic
                .help("every function has a body in braces; its last expression is its value"),
        };
        Err(self.fail(diagnostic))
    }

    fn generics(&mut self) -> Parse<Vec<ein_base::Name>> {
        if !self.at(TokenKind::Lt) {
            return Ok(Vec::new());
        }
        let open = self.token();
        self.bump();
        self.angle_list(open, |p| p.name("the name of a type parameter"))
    }

    fn param(&mut self) -> Parse<Param> {
        let lo = self.lo();
        let name = self.name("the name of a parameter")?;
        let pat = self.pat(PatKind::Bind { name, ty: None }, lo)?;
        let ty = if self.eat(TokenKind::Colon) {
            let start = self.pos;
            match self.type_expr() {
                Ok(ty) => Some(ty),
                Err(Reported) => {
                    // The parameter stays, so that its uses are not reported too.
                    let ty = self.error_ty();
                    if !self.skip_to(start, &[], &[TokenKind::Comma, TokenKind::RParen]) {
                        return Err(Reported);
                    }
                    Some(ty)
                }
            }
        } else {
            None
        };
        let default = if self.eat(TokenKind::Eq) { Some(self.expression()?) } else { None };
        Ok(Param { pat, ty, default, span: self.span_from(lo) })
    }

    /// `use a::b::{c, d as e}`
    pub(super) fn use_item(&mut self, public: bool) -> Statement {
        self.bump();
        match self.use_tree() {
            Ok(tree) => Ok(StmtKind::Use(Box::new(Use { public, tree }))),
            Err(Reported) => Err(StmtKind::Error),
        }
    }

    fn use_tree(&mut self) -> Parse<UseTree> {
        let lo = self.lo();
        let mut prefix = Vec::new();
        let kind = loop {
            match self.kind() {
                TokenKind::LBrace => {
                    let open = self.token();
                    self.bump();
                    let trees = self.nested(|p| p.list(open, TokenKind::RBrace, Self::use_tree))?;
                    break UseKind::Group(trees);
                }
                TokenKind::Star => {
                    self.bump();
                    break UseKind::Glob;
                }
                _ => prefix.push(self.name("the path of what is imported")?),
            }
            if self.eat(TokenKind::ColonColon) {
                continue;
            }
            if self.at(TokenKind::Dot) || self.at(TokenKind::Slash) {
                let (span, found) = (self.span_here(), self.found());
                return Err(self.fail(
                    Diagnostic::new(Code::E0101, span, format!("expected `::`, found {found}"))
                        .here("the parts of a path are joined by `::`")
                        .fix("write `::`", span, "::"),
                ));
            }
            let alias =
                if self.eat(TokenKind::As) { Some(self.name("a name after `as`")?) } else { None };
            break UseKind::Name(alias);
        };
        Ok(UseTree { prefix: prefix.into(), kind, span: self.span_from(lo) })
    }

    /// `mod m;` and `mod m { … }`
    pub(super) fn mod_item(&mut self, public: bool) -> Statement {
        self.bump();
        let Ok(name) = self.name("the name of the module") else { return Err(StmtKind::Error) };
        if !self.at(TokenKind::LBrace) {
            return Ok(StmtKind::Mod(Box::new(Module { public, name, body: None })));
        }
        let open = self.token();
        let body = self.nested(|p| {
            p.bump();
            let outer = p.anchor;
            p.blocks += 1;
            let mut stmts = Vec::new();
            let tail = p.statements(|_, stmt| stmts.push(stmt));
            p.blocks -= 1;
            p.anchor = outer;
            if let Some((tail, docs)) = tail {
                let lo = p.ast.expr[tail].span.lo();
                stmts.push(p.stmt(StmtKind::Expr(tail), lo, docs));
            }
            if !p.eat(TokenKind::RBrace) {
                p.unclosed(open, TokenKind::RBrace);
            }
            Ok(stmts)
        });
        match body {
            Ok(body) => {
                Ok(StmtKind::Mod(Box::new(Module { public, name, body: Some(body.into()) })))
            }
            Err(Reported) => {
                Err(StmtKind::Mod(Box::new(Module { public, name, body: Some(ThinVec::new()) })))
            }
        }
    }

    /// `struct S<T> { x: T }`
    pub(super) fn struct_item(&mut self, public: bool) -> Statement {
        self.bump();
        let Ok(name) = self.name("the name of the struct") else { return Err(StmtKind::Error) };
        let mut item =
            Struct { public, name, generics: ThinVec::new(), fields: ThinVec::new(), alias: None };
        let fields = self.generics().and_then(|generics| {
            item.generics = generics.into();
            let open = self.token();
            if !self.eat(TokenKind::LBrace) {
                return Err(self.unexpected("`{` and the fields of the struct"));
            }
            self.declarations(open, TokenKind::RBrace, Self::struct_field)
        });
        match fields {
            Ok(fields) => {
                item.fields = fields;
                Ok(StmtKind::Struct(Box::new(item)))
            }
            Err(Reported) => Err(StmtKind::Struct(Box::new(item))),
        }
    }

    /// Whether a statement is `type T = …;`: a word only there.
    pub(super) fn at_alias(&self) -> bool {
        self.kind().is_name()
            && self.slice(self.span_here()) == "type"
            && self.ahead(1).is_name()
            && self.ahead(2) == TokenKind::Eq
    }

    /// `type Weights = [f32; out, in];`
    pub(super) fn alias_item(&mut self, public: bool) -> Statement {
        self.bump();
        let Ok(name) = self.name("the name of the type") else { return Err(StmtKind::Error) };
        self.bump();
        let (generics, fields) = (ThinVec::new(), ThinVec::new());
        match self.type_expr() {
            Ok(ty) => {
                let item = Struct { public, name, generics, fields, alias: Some(ty) };
                Ok(StmtKind::Struct(Box::new(item)))
            }
            Err(Reported) => {
                let alias = Some(self.error_ty());
                let item = Struct { public, name, generics, fields, alias };
                Err(StmtKind::Struct(Box::new(item)))
            }
        }
    }

    fn struct_field(&mut self) -> Parse<Field> {
        if self.at(TokenKind::Pub) {
            let span = self.span_here();
            self.bump();
            let place = Span::new(self.file, span.lo(), self.lo());
            self.report(
                Diagnostic::new(Code::E0101, span, "fields take no `pub`")
                    .here("fields are visible wherever the type is")
                    .fix("leave it out", place, ""),
            );
        }
        let name = self.name("the name of a field")?;
        if !self.eat(TokenKind::Colon) {
            return Err(self.unexpected("`:` and the type of the field"));
        }
        let start = self.pos;
        let ty = match self.type_expr() {
            Ok(ty) => ty,
            Err(Reported) => {
                let ty = self.error_ty();
                if !self.skip_to(start, &[], &[TokenKind::Comma, TokenKind::RBrace]) {
                    return Err(Reported);
                }
                ty
            }
        };
        Ok(Field { name, ty })
    }

    /// `enum E<T> { A, B(T), C { x: T } }`
    pub(super) fn enum_item(&mut self, public: bool) -> Statement {
        self.bump();
        let Ok(name) = self.name("the name of the enum") else { return Err(StmtKind::Error) };
        let mut item = Enum { public, name, generics: ThinVec::new(), variants: ThinVec::new() };
        let variants = self.generics().and_then(|generics| {
            item.generics = generics.into();
            let open = self.token();
            if !self.eat(TokenKind::LBrace) {
                return Err(self.unexpected("`{` and the variants of the enum"));
            }
            self.declarations(open, TokenKind::RBrace, Self::variant)
        });
        match variants {
            Ok(variants) => {
                item.variants = variants;
                Ok(StmtKind::Enum(Box::new(item)))
            }
            Err(Reported) => Err(StmtKind::Enum(Box::new(item))),
        }
    }

    fn variant(&mut self) -> Parse<Variant> {
        let name = self.name("the name of a variant")?;
        let open = self.token();
        let data = match open.kind {
            TokenKind::LParen => {
                self.bump();
                VariantData::Tuple(self.list(open, TokenKind::RParen, Self::type_expr)?)
            }
            TokenKind::LBrace => {
                self.bump();
                VariantData::Struct(self.declarations(
                    open,
                    TokenKind::RBrace,
                    Self::struct_field,
                )?)
            }
            _ => VariantData::Unit,
        };
        Ok(Variant { name, data })
    }

    /// `test "name" { … }`
    pub(super) fn test_item(&mut self) -> Statement {
        self.bump();
        let name_span = self.span_here();
        let text = self.slice(name_span);
        let name = Symbol::intern(text.get(1..text.len().saturating_sub(1)).unwrap_or(""));
        // The name is taken as it is written, but must be a correct string.
        let mark = self.mark();
        let checked = self.string();
        self.rewind(mark);
        if checked.is_err() {
            return Err(StmtKind::Error);
        }
        match self.nested(Self::block) {
            Ok(body) => Ok(StmtKind::Test(Test { name, name_span, body })),
            Err(Reported) => {
                let body = self.error_expr();
                Err(StmtKind::Test(Test { name, name_span, body }))
            }
        }
    }
}
