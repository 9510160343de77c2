//! Types as written.

use super::{Parse, Parser};
use crate::ast::*;
use crate::token::{Token, TokenKind};
use ein_base::{Code, Diagnostic};

impl Parser<'_> {
    /// Any type.
    pub(super) fn type_expr(&mut self) -> Parse<TypeId> {
        self.nested(|p| p.type_inner(true))
    }

    /// The type after `as`. A `<` after it compares: generic types need parentheses there.
    pub(super) fn cast_type(&mut self) -> Parse<TypeId> {
        self.nested(|p| p.type_inner(false))
    }

    fn type_inner(&mut self, generic: bool) -> Parse<TypeId> {
        let outer = (
            std::mem::replace(&mut self.hole_ok, true),
            std::mem::replace(&mut self.no_struct, false),
        );
        let result = match self.kind() {
            TokenKind::LBracket => self.array_type(),
            TokenKind::LParen => self.paren_type(),
            TokenKind::Some if self.ahead(1).is_name() => self.some_type(),
            kind if kind.is_name() => self.path_type(generic),
            _ => Err(self.missing_type()),
        };
        (self.hole_ok, self.no_struct) = outer;
        result
    }

    fn missing_type(&mut self) -> super::Reported {
        let span = self.span_here();
        if self.kind().is_closer() && !self.has_opener()
            || self.kind().is_keyword() && !self.token().first
        {
            return self.unexpected("a type");
        }
        let found = self.found();
        self.fail(
            Diagnostic::new(Code::E0101, span, format!("expected a type, found {found}"))
                .here("expected a type")
                .help("types are written `f32`, `[f32; 2, 3]`, `(f32, bool)`, `(f32) -> f32`"),
        )
    }

    /// `f32`, `Option<T>`, `jagged[T; 2d]`
    fn path_type(&mut self, generic: bool) -> Parse<TypeId> {
        let lo = self.lo();
        let mut path = vec![self.take_name()];
        if self.at(TokenKind::LBracket) && path[0].sym.as_str() == "jagged" {
            return self.jagged_type(lo);
        }
        while self.eat(TokenKind::ColonColon) {
            path.push(self.name("a name after `::`")?);
        }
        let mut args = Vec::new();
        if generic && self.at(TokenKind::Lt) {
            let open = self.token();
            self.bump();
            let outer = std::mem::replace(&mut self.angles, true);
            let list = self.angle_list(open, Self::type_expr);
            self.angles = outer;
            args = list?;
        }
        self.ty(TypeKind::Path { path: path.into(), args: args.into() }, lo)
    }

    /// Items up to `>`, which may be the start of `>=`.
    pub(super) fn angle_list<T>(
        &mut self,
        open: Token,
        mut item: impl FnMut(&mut Self) -> Parse<T>,
    ) -> Parse<Vec<T>> {
        let mut items = Vec::new();
        while !self.eat(TokenKind::Gt) && !self.split(TokenKind::Ge, TokenKind::Eq) {
            items.push(item(self)?);
            if !self.eat(TokenKind::Comma) && !matches!(self.kind(), TokenKind::Gt | TokenKind::Ge)
            {
                return Err(self.unclosed(open, TokenKind::Gt));
            }
        }
        Ok(items)
    }

    fn jagged_type(&mut self, lo: u32) -> Parse<TypeId> {
        let open = self.token();
        self.bump();
        let elem = self.type_expr()?;
        let mut depth = None;
        if self.eat(TokenKind::Semi) {
            let text = self.slice(self.span_here());
            let levels = text.strip_suffix('d').and_then(|digits| digits.parse::<u32>().ok());
            match levels {
                Some(levels) if self.at(TokenKind::Int) => depth = Some(levels),
                _ => return Err(self.unexpected("a number of levels such as `2d`")),
            }
            self.bump();
        }
        if !self.eat(TokenKind::RBracket) {
            return Err(self.unclosed(open, TokenKind::RBracket));
        }
        self.ty(TypeKind::Jagged { elem, depth }, lo)
    }

    /// `[T]`, `[T; *]`, `[T; 2, n: 3, ..s]`
    fn array_type(&mut self) -> Parse<TypeId> {
        let open = self.token();
        self.bump();
        let elem = self.type_expr()?;
        let mut dims = None;
        if self.at(TokenKind::Semi) {
            self.bump();
            if self.at(TokenKind::Star) && self.ahead(1) == TokenKind::RBracket {
                self.bump();
                self.bump();
                return self.ty(TypeKind::AnyRank(elem), open.start);
            }
            dims = Some(self.list(open, TokenKind::RBracket, Self::dim)?);
        } else if !self.eat(TokenKind::RBracket) {
            return Err(self.missing_dims(open));
        }
        // `!=` after a cast compares, so only a lone `!` forbids broadcasting.
        let no_broadcast = self.eat(TokenKind::Bang)
            || self.angles && self.split(TokenKind::PipeResult, TokenKind::Gt);
        self.ty(TypeKind::Array { elem, dims, no_broadcast }, open.start)
    }

    fn missing_dims(&mut self, open: Token) -> super::Reported {
        if self.at(TokenKind::Comma) || self.kind().starts_expr() && !self.token().first {
            let span = self.span_here();
            let found = self.found();
            let comma = self.at(TokenKind::Comma);
            let diagnostic =
                Diagnostic::new(Code::E0101, span, format!("expected `;` or `]`, found {found}"))
                    .here("expected `;` before the extents");
            let diagnostic = if comma {
                diagnostic.fix("the extents follow a semicolon: `[f32; 2, 3]`", span, ";")
            } else {
                let place = ein_base::Span::new(self.file, self.prev_end, self.prev_end);
                diagnostic.fix("the extents follow a semicolon: `[f32; 2, 3]`", place, ";")
            };
            return self.fail(diagnostic);
        }
        self.unclosed(open, TokenKind::RBracket)
    }

    fn dim(&mut self) -> Parse<Dim> {
        let lo = self.lo();
        let ends = |kind| matches!(kind, TokenKind::Comma | TokenKind::RBracket);
        self.hole_ok = true;
        let kind = if self.at(TokenKind::DotDot) {
            self.bump();
            DimKind::Pack(self.name("the name of a pack after `..`")?)
        } else if self.kind().is_name() && ends(self.ahead(1)) {
            DimKind::Coord { name: self.take_name(), extent: None, over: None }
        } else if self.kind().is_name() && self.ahead(1) == TokenKind::Colon {
            let name = self.take_name();
            self.bump();
            DimKind::Coord { name, extent: Some(self.extent()?), over: None }
        } else if self.kind().is_name() && self.ahead(1) == TokenKind::In {
            let name = self.take_name();
            self.bump();
            let over = self.name("the coordinate that this one is a role of")?;
            let stated = self.eat(TokenKind::Colon);
            let extent = if stated { Some(self.extent()?) } else { None };
            DimKind::Coord { name, extent, over: Some(over) }
        } else {
            DimKind::Size(self.extent()?)
        };
        Ok(Dim { kind, span: self.span_from(lo) })
    }

    /// Arithmetic over sizes.
    fn extent(&mut self) -> Parse<ExprId> {
        self.nested(|p| p.binary(7))
    }

    /// `()`, `(T)`, `(T, U)`, `(T, U) -> R`
    fn paren_type(&mut self) -> Parse<TypeId> {
        let open = self.token();
        self.bump();
        let mut items = Vec::new();
        let mut tuple = true;
        while !self.eat(TokenKind::RParen) {
            items.push(self.type_expr()?);
            tuple = self.eat(TokenKind::Comma);
            if !tuple && !self.at(TokenKind::RParen) {
                return Err(self.unclosed(open, TokenKind::RParen));
            }
        }
        if self.eat(TokenKind::Arrow) {
            let ret = self.type_expr()?;
            return self.ty(TypeKind::Function { params: items.into(), ret }, open.start);
        }
        match items[..] {
            [only] if !tuple => Ok(only),
            _ => self.ty(TypeKind::Tuple(items.into()), open.start),
        }
    }

    /// `some n m. T`
    fn some_type(&mut self) -> Parse<TypeId> {
        let lo = self.lo();
        self.bump();
        let mut sizes = Vec::new();
        while !self.eat(TokenKind::Dot) {
            if !self.kind().is_name() {
                return Err(self.unexpected("`.` after the hidden sizes"));
            }
            sizes.push(self.take_name());
        }
        let body = self.type_expr()?;
        self.ty(TypeKind::Some { sizes: sizes.into(), body }, lo)
    }
}
