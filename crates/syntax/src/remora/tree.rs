//! S-expressions to the forms they stand for.

use super::read::{Sexp, SexpKind};
use crate::notation::Elem;
use ein_base::{Code, Diagnostic, Name, Span, Symbol};
use std::rc::Rc;

/// A form at top level.
#[derive(Debug)]
pub(super) enum Form {
    /// `(define name expr)` and `(define (f …) body)`
    Define(Name, Node, Span),
    /// An expression, whose value is `result`.
    Value(Node),
}

/// An expression.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) span: Span,
}

/// The kinds of expression.
#[derive(Debug)]
pub(super) enum Kind {
    Int(i64),
    /// The digits as written.
    Float(String),
    Bool(bool),
    Name(Symbol),
    Array(Vec<Node>),
    Apply(Box<Node>, Vec<Node>),
    Lambda(Rc<Lambda>),
    Let(Vec<(Name, Node)>, Box<Node>),
    If(Box<[Node; 3]>),
    /// It was reported.
    Error,
}

/// `(λ ((x r) …) body)`
#[derive(Debug)]
pub(super) struct Lambda {
    /// Tells it from all others.
    pub(super) id: usize,
    /// The name it was defined by.
    pub(super) name: Option<Symbol>,
    pub(super) params: Vec<(Name, Cell)>,
    pub(super) body: Node,
    pub(super) span: Span,
}

/// The cell that a parameter takes.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    /// The type of its elements where it is written.
    pub(super) elem: Option<Elem>,
    /// Its leading axes.
    pub(super) dims: Vec<Index>,
    /// Whether all further axes belong to it.
    pub(super) rest: bool,
}

/// A size in a type.
#[derive(Clone, Debug)]
pub(super) enum Index {
    /// A rank says nothing about sizes.
    Any,
    Number(i64),
    Name(Symbol),
    Sum(Vec<Index>),
}

/// The forms of a program.
pub(super) fn program(forms: &[Sexp<'_>], diagnostics: &mut Vec<Diagnostic>) -> Vec<Form> {
    let mut parser = Parser { diagnostics, lambdas: 0 };
    forms.iter().filter_map(|it| parser.form(it)).collect()
}

struct Parser<'d> {
    diagnostics: &'d mut Vec<Diagnostic>,
    lambdas: usize,
}

impl Parser<'_> {
    fn wrong(&mut self, span: Span, message: &str, form: &str) -> Kind {
        let diagnostic =
            Diagnostic::new(Code::E0101, span, message).help(format!("write `{form}`"));
        self.diagnostics.push(diagnostic);
        Kind::Error
    }

    fn form(&mut self, sexp: &Sexp<'_>) -> Option<Form> {
        const SHAPE: &str = "(define name value)` or `(define (f (x 0)) body)";
        let SexpKind::List(items) = &sexp.kind else { return Some(Form::Value(self.node(sexp))) };
        if items.first().and_then(atom) != Some("define") {
            return Some(Form::Value(self.node(sexp)));
        }
        let [_, head, body] = &items[..] else {
            self.wrong(sexp.span, "a definition has a name and one value", SHAPE);
            return None;
        };
        match &head.kind {
            SexpKind::Atom(text) => {
                let name = Name { sym: Symbol::intern(text), span: head.span };
                if self.constant(head).is_some() {
                    self.wrong(head.span, "a number cannot be defined", SHAPE);
                    return None;
                }
                let mut value = self.node(body);
                if let Kind::Lambda(lambda) = &mut value.kind
                    && let Some(lambda) = Rc::get_mut(lambda)
                {
                    lambda.name = Some(name.sym);
                }
                Some(Form::Define(name, value, sexp.span))
            }
            SexpKind::List(parts) => {
                let Some((first, params)) = parts.split_first() else {
                    self.wrong(head.span, "the function has no name", SHAPE);
                    return None;
                };
                let Some(text) = atom(first) else {
                    self.wrong(first.span, "this is not a name", SHAPE);
                    return None;
                };
                let name = Name { sym: Symbol::intern(text), span: first.span };
                let kind = self.lambda(Some(name.sym), params, body, sexp.span);
                Some(Form::Define(name, Node { kind, span: sexp.span }, sexp.span))
            }
            SexpKind::Vector(_) => {
                self.wrong(head.span, "an array cannot be defined", SHAPE);
                None
            }
        }
    }

    fn node(&mut self, sexp: &Sexp<'_>) -> Node {
        let span = sexp.span;
        let kind = match &sexp.kind {
            SexpKind::Atom(text) => match self.constant(sexp) {
                Some(kind) => kind,
                None => Kind::Name(Symbol::intern(text)),
            },
            SexpKind::Vector(items) => Kind::Array(self.nodes(items)),
            SexpKind::List(items) => self.list(items, span),
        };
        Node { kind, span }
    }

    fn nodes(&mut self, items: &[Sexp<'_>]) -> Vec<Node> {
        items.iter().map(|it| self.node(it)).collect()
    }

    fn list(&mut self, items: &[Sexp<'_>], span: Span) -> Kind {
        let Some((head, rest)) = items.split_first() else {
            return self.wrong(span, "an empty list has no value", "(f x)");
        };
        match (atom(head), rest) {
            (Some("λ" | "lambda" | "fn"), [params, body]) => match &params.kind {
                SexpKind::List(params) | SexpKind::Vector(params) => {
                    self.lambda(None, params, body, span)
                }
                SexpKind::Atom(_) => {
                    self.wrong(params.span, "this is not a list of parameters", "((x 0) (y 1))")
                }
            },
            (Some("λ" | "lambda" | "fn"), _) => {
                self.wrong(span, "a function has parameters and one body", "(λ ((x 0)) body)")
            }
            (Some("let"), [bindings, body]) => self.bindings(bindings, body),
            (Some("let"), _) => {
                self.wrong(span, "`let` has bindings and one body", "(let ((x 1)) body)")
            }
            (Some("if"), [c, a, b]) => {
                Kind::If(Box::new([self.node(c), self.node(a), self.node(b)]))
            }
            (Some("if"), _) => {
                self.wrong(span, "`if` has a condition and two branches", "(if c a b)")
            }
            // Types and sizes are found again by the checker.
            (Some("T-APP" | "I-APP"), [value, ..]) => self.node(value).kind,
            (Some("PACK"), [.., value, _]) => self.node(value).kind,
            (Some("UNPACK"), [binding, body]) => self.unpack(binding, body),
            (Some(form @ ("T-APP" | "I-APP" | "PACK" | "UNPACK")), _) => {
                let message = format!("`{form}` lacks a part");
                self.wrong(span, &message, "(UNPACK (n v (iota [3])) body)")
            }
            (Some("define"), _) => {
                self.wrong(span, "definitions stand at top level", "(let ((x 1)) body)")
            }
            _ => {
                let callee = Box::new(self.node(head));
                Kind::Apply(callee, self.nodes(rest))
            }
        }
    }

    fn bindings(&mut self, bindings: &Sexp<'_>, body: &Sexp<'_>) -> Kind {
        let mut out = Vec::new();
        for binding in items(bindings).unwrap_or_default() {
            match items(binding) {
                Some([name, value]) if let Some(text) = atom(name) => {
                    let name = Name { sym: Symbol::intern(text), span: name.span };
                    out.push((name, self.node(value)));
                }
                _ => _ = self.wrong(binding.span, "this is not a binding", "(x value)"),
            }
        }
        Kind::Let(out, Box::new(self.node(body)))
    }

    /// `(UNPACK (n … v value) body)`: the sizes are found again by the checker.
    fn unpack(&mut self, binding: &Sexp<'_>, body: &Sexp<'_>) -> Kind {
        match items(binding) {
            Some([.., name, value]) if let Some(text) = atom(name) => {
                let name = Name { sym: Symbol::intern(text), span: name.span };
                let value = self.node(value);
                Kind::Let(vec![(name, value)], Box::new(self.node(body)))
            }
            _ => self.wrong(binding.span, "this names no value", "(n v (iota [3]))"),
        }
    }

    fn lambda(
        &mut self,
        name: Option<Symbol>,
        params: &[Sexp<'_>],
        body: &Sexp<'_>,
        span: Span,
    ) -> Kind {
        let mut out = Vec::new();
        for param in params {
            let parts = items(param).unwrap_or_default();
            let (name, cell) = match parts {
                [name, cell] => (name, cell),
                [name, colon, cell] if atom(colon) == Some(":") => (name, cell),
                _ => {
                    self.wrong(param.span, "a parameter has a name and a rank", "(x 0)");
                    continue;
                }
            };
            let Some(text) = atom(name) else {
                self.wrong(name.span, "this is not a name", "(x 0)");
                continue;
            };
            let name = Name { sym: Symbol::intern(text), span: name.span };
            out.push((name, self.cell(cell)));
        }
        self.lambdas += 1;
        let id = self.lambdas;
        let body = self.node(body);
        Kind::Lambda(Rc::new(Lambda { id, name, params: out, body, span }))
    }

    /// A rank or a type.
    fn cell(&mut self, sexp: &Sexp<'_>) -> Cell {
        let mut cell = Cell::default();
        match &sexp.kind {
            SexpKind::Atom("all") => cell.rest = true,
            SexpKind::Atom("Num") => {}
            SexpKind::Atom("Int") => cell.elem = Some(Elem::Int),
            SexpKind::Atom("Float") => cell.elem = Some(Elem::Float),
            SexpKind::Atom("Bool") => cell.elem = Some(Elem::Bool),
            SexpKind::Atom(text) => match text.parse::<u32>() {
                Ok(rank) if rank <= 16 => cell.dims = vec![Index::Any; rank as usize],
                Ok(_) => _ = self.wrong(sexp.span, "this rank is too high", "1"),
                // A type variable.
                Err(_) if !text.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {}
                Err(_) => _ = self.wrong(sexp.span, "this is not a rank", "0` or `all"),
            },
            SexpKind::Vector(_) => {
                self.wrong(sexp.span, "this is not a type", "(Num [n])");
            }
            SexpKind::List(parts) => match &parts[..] {
                [head, ..] if matches!(atom(head), Some("->" | "→")) => {}
                [head, shape] if atom(head) != Some("A") => {
                    cell = self.cell(head);
                    self.shape(shape, &mut cell);
                }
                [_, elem, shape] => {
                    self.shape(shape, &mut cell);
                    let inner = self.cell(elem);
                    cell.elem = inner.elem;
                    if !cell.rest {
                        cell.dims.extend(inner.dims);
                        cell.rest = inner.rest;
                    }
                }
                _ => _ = self.wrong(sexp.span, "this is not a type", "(A Num [n])"),
            },
        }
        cell
    }

    fn shape(&mut self, sexp: &Sexp<'_>, cell: &mut Cell) {
        match &sexp.kind {
            SexpKind::Vector(parts) => {
                let indices: Vec<Index> = parts.iter().map(|it| self.index(it)).collect();
                cell.dims.extend(indices);
            }
            // A shape variable stands for any number of axes.
            SexpKind::Atom(_) => cell.rest = true,
            SexpKind::List(_) => {
                self.wrong(sexp.span, "this is not a shape", "[n m]");
            }
        }
    }

    fn index(&mut self, sexp: &Sexp<'_>) -> Index {
        match &sexp.kind {
            SexpKind::Atom(text) => match text.parse::<i64>() {
                Ok(number) => Index::Number(number),
                Err(_) => Index::Name(Symbol::intern(text)),
            },
            SexpKind::List(parts) if parts.first().and_then(atom) == Some("+") => {
                Index::Sum(parts.iter().skip(1).map(|it| self.index(it)).collect())
            }
            SexpKind::List(_) | SexpKind::Vector(_) => {
                self.wrong(sexp.span, "this is not a size", "(+ n 1)");
                Index::Any
            }
        }
    }

    /// A number or truth value.
    fn constant(&mut self, sexp: &Sexp<'_>) -> Option<Kind> {
        let text = atom(sexp)?;
        match text {
            "true" | "#t" => return Some(Kind::Bool(true)),
            "false" | "#f" => return Some(Kind::Bool(false)),
            _ => {}
        }
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        if !digits.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        if let Ok(value) = text.parse::<i64>() {
            return Some(Kind::Int(value));
        }
        let plain = digits.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c));
        if plain && text.parse::<f64>().is_ok_and(f64::is_finite) && digits.contains(['.', 'e']) {
            return Some(Kind::Float(decimal(text)));
        }
        let message = format!("`{text}` is not a number");
        self.diagnostics.push(Diagnostic::new(Code::E0108, sexp.span, message));
        Some(Kind::Error)
    }
}

/// The number with digits on both sides of its point, as Einlang writes it.
pub(crate) fn decimal(text: &str) -> String {
    let text = text.strip_prefix('+').unwrap_or(text).replace('E', "e");
    let (number, exponent) = match text.split_once('e') {
        Some((number, exponent)) => (number, format!("e{exponent}")),
        None => (&text[..], String::new()),
    };
    match number.strip_suffix('.') {
        Some(whole) => format!("{whole}.0{exponent}"),
        None => format!("{number}{exponent}"),
    }
}

fn atom<'a>(sexp: &Sexp<'a>) -> Option<&'a str> {
    match sexp.kind {
        SexpKind::Atom(text) => Some(text),
        _ => None,
    }
}

fn items<'s, 'a>(sexp: &'s Sexp<'a>) -> Option<&'s [Sexp<'a>]> {
    match &sexp.kind {
        SexpKind::List(items) | SexpKind::Vector(items) => Some(items),
        SexpKind::Atom(_) => None,
    }
}
