//! Reads types, constants and patterns.

use super::{Parser, Result};
use crate::tensor::lex::Token;
use crate::tensor::{ArrayType, Axis, Coord, Pattern, Type};
use ein_base::Symbol;
use ein_scalar::{Scalar, ScalarType, parse_float, parse_int};
use std::sync::Arc;

impl Parser {
    pub(super) fn ty(&mut self) -> Result<Type> {
        self.nested(|it| match it.peek().clone() {
            Token::Sign("(") => {
                it.at += 1;
                if it.eat(")") {
                    return Ok(Type::Unit);
                }
                it.eat(",");
                Ok(Type::Tuple(it.list(")", Self::ty)?.into()))
            }
            Token::Sign("[") => {
                it.at += 1;
                it.array_type()
            }
            Token::Sign("#") => {
                it.at += 1;
                let data = it.id()?;
                let args = if it.eat("<") { it.list(">", Self::ty)? } else { Vec::new() };
                Ok(Type::Data(data, args.into()))
            }
            Token::Word(word) => it.named_type(&word),
            _ => it.expected("a type"),
        })
    }

    fn named_type(&mut self, word: &str) -> Result<Type> {
        if let Some(scalar) = ScalarType::from_name(word) {
            self.at += 1;
            return Ok(Type::Scalar(scalar));
        }
        if !["str", "range", "error", "jagged", "template", "fn"].contains(&word) {
            return self.expected("a type");
        }
        self.at += 1;
        match word {
            "str" => Ok(Type::Str),
            "range" => Ok(Type::Range),
            "jagged" => {
                self.sign("[")?;
                let elem = self.ty()?;
                self.sign(";")?;
                let levels = self.count()?;
                self.sign("]")?;
                Ok(Type::Jagged(Box::new(elem), levels))
            }
            "template" => {
                let number = self.count()?;
                self.sign("(")?;
                let captures = self.list(")", Self::ty)?;
                Ok(Type::Template(number, captures.into()))
            }
            "fn" => {
                self.sign("(")?;
                let params = self.list(")", Self::ty)?;
                self.sign("->")?;
                Ok(Type::signature(params, self.ty()?))
            }
            _ => Ok(Type::Error),
        }
    }

    fn array_type(&mut self) -> Result<Type> {
        let elem = self.ty()?;
        self.sign(";")?;
        if self.eat("*") {
            self.sign("]")?;
            return Ok(Type::AnyRank(Box::new(elem)));
        }
        let axes = self.list("]", |it| {
            let coord = match (it.peek(), it.peek_at(1)) {
                (Token::Text(_), _) | (Token::Word(_), Token::Sign(":" | "!")) => Some(it.coord()?),
                (Token::Word(_), Token::Word(next)) if next == "in" => Some(it.coord()?),
                _ => None,
            };
            Ok(Axis { coord, size: it.size()? })
        })?;
        Ok(Type::Array(Arc::new(ArrayType { elem, axes })))
    }

    fn coord(&mut self) -> Result<Coord> {
        let name = self.name()?;
        let over = if self.eat_word("in") { Some(self.name()?) } else { None };
        let contract = self.eat("!");
        self.sign(":")?;
        Ok(Coord { name, over, contract })
    }

    /// Whether a constant starts here.
    pub(super) fn at_constant(&self) -> bool {
        match (self.peek(), self.peek_at(1)) {
            (Token::Number(..), _) | (Token::Sign("-"), Token::Number(..)) => true,
            (Token::Word(word), _) => ["true", "false", "bits"].contains(&word.as_str()),
            _ => false,
        }
    }

    /// A number or truth value.
    pub(super) fn constant(&mut self) -> Result<Scalar> {
        if self.eat_word("true") {
            return Ok(Scalar::Bool(true));
        }
        if self.eat_word("false") {
            return Ok(Scalar::Bool(false));
        }
        if self.eat_word("bits") {
            self.sign("(")?;
            let Type::Scalar(ty) = self.ty()? else { return self.expected("a scalar type") };
            self.sign(",")?;
            let bits = self.count()?;
            self.sign(")")?;
            return Ok(Scalar::from_bits(ty, bits));
        }
        let minus = if self.eat("-") { "-" } else { "" };
        let Token::Number(digits, suffix) = self.peek().clone() else {
            return self.expected("a number");
        };
        let ty = match suffix.as_str() {
            "" if digits.contains(['.', 'e']) => Some(ScalarType::F32),
            "" => Some(ScalarType::I32),
            name => ScalarType::from_name(name),
        };
        let text = format!("{minus}{digits}");
        let value = ty.and_then(|ty| match parse_int(&text) {
            _ if ty.is_float() => parse_float(&text, ty),
            Some(value) => Scalar::from_i128(value, ty),
            None => None,
        });
        match value {
            Some(value) => {
                self.at += 1;
                Ok(value)
            }
            None => self.expected("a number that fits its type"),
        }
    }

    pub(super) fn pattern(&mut self) -> Result<Pattern> {
        self.nested(|it| {
            if it.at_constant() {
                return it.constant().map(Pattern::Literal);
            }
            match it.peek().clone() {
                Token::Text(text) => {
                    it.at += 1;
                    Ok(Pattern::Str(Symbol::intern(&text)))
                }
                Token::Sign("(") => it.group_pattern(),
                Token::Sign("[") => it.array_pattern(),
                Token::Sign(".") => {
                    it.at += 1;
                    let variant = it.count()?;
                    it.sign("(")?;
                    let fields = it.list(")", Self::pattern)?;
                    Ok(Pattern::Data { variant, fields })
                }
                Token::Word(word) if word == "_" => {
                    it.at += 1;
                    Ok(Pattern::Wild)
                }
                Token::Word(word) if word == "in" => it.range_pattern(),
                Token::Word(_) => {
                    let var = it.id()?;
                    if it.eat("@") {
                        return Ok(Pattern::At(var, Box::new(it.pattern()?)));
                    }
                    Ok(Pattern::Bind(var))
                }
                Token::Number(..) | Token::Sign(_) | Token::End => it.expected("a pattern"),
            }
        })
    }

    /// A tuple `(a, b)` or a choice `(a | b)`.
    fn group_pattern(&mut self) -> Result<Pattern> {
        self.sign("(")?;
        if self.eat("|") {
            self.sign(")")?;
            return Ok(Pattern::Or(Vec::new()));
        }
        if self.eat(",") {
            self.sign(")")?;
            return Ok(Pattern::Tuple(Vec::new()));
        }
        let mut items = vec![self.pattern()?];
        if self.eat(",") {
            items.extend(self.list(")", Self::pattern)?);
            return Ok(Pattern::Tuple(items));
        }
        while self.eat("|") {
            if self.is_sign(")") {
                break;
            }
            items.push(self.pattern()?);
        }
        self.sign(")")?;
        Ok(Pattern::Or(items))
    }

    fn array_pattern(&mut self) -> Result<Pattern> {
        self.sign("[")?;
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let mut rest = None;
        while !self.eat("]") {
            if rest.is_none() && self.eat("..") {
                rest = Some(if self.id_number().is_some() { Some(self.id()?) } else { None });
            } else if rest.is_some() {
                after.push(self.pattern()?);
            } else {
                before.push(self.pattern()?);
            }
            if !self.eat(",") {
                self.sign("]")?;
                break;
            }
        }
        Ok(Pattern::Array { before, rest, after })
    }

    fn range_pattern(&mut self) -> Result<Pattern> {
        self.word("in")?;
        let end = |it: &mut Self| -> Result<Option<Scalar>> {
            if it.at_constant() { it.constant().map(Some) } else { Ok(None) }
        };
        let lo = end(self)?;
        let inclusive = self.eat("..=");
        if !inclusive {
            self.sign("..")?;
        }
        Ok(Pattern::Range { lo, hi: end(self)?, inclusive })
    }
}
