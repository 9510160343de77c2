//! Why an evaluation ends early, and what the user is told: the place, the values of the indices
//! around it, and the definitions they belong to.

use ein_base::{Code, Diagnostic, Label, Span, Symbol};
use ein_ir::tensor::{FuncId, VarId};
use ein_scalar::{ArithError, Scalar};

use crate::machine::Machine;
use crate::value::Value;

/// Why an evaluation ended early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// A run-time error.
    Error(Box<Diagnostic>),
    /// The user gave up.
    Interrupted,
}

impl From<Diagnostic> for Stop {
    fn from(diagnostic: Diagnostic) -> Stop {
        Stop::Error(Box::new(diagnostic))
    }
}

impl Stop {
    /// Adds what is to be said at the place at fault, and what would make it right.
    pub(crate) fn explained(self, here: &str, help: &str) -> Stop {
        match self {
            Stop::Error(diagnostic) => diagnostic.here(here).help(help).into(),
            Stop::Interrupted => Stop::Interrupted,
        }
    }
}

/// What is under way; the machine keeps a stack of these.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub(crate) kind: MarkKind,
    /// The frame in which the variable lives.
    pub(crate) base: u32,
}

/// A call as it is written: what is called, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) func: FuncId,
    pub(crate) at: Span,
}

/// The kinds of things under way.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MarkKind {
    /// A definition.
    Definition(Option<Symbol>),
    /// A binding.
    Let(VarId),
    /// A call, and the one from outside of the library that led to it without one in between.
    Call(FuncId, Entry),
    /// A loop over an index.
    Index(VarId),
}

/// How many enclosing definitions a message mentions.
const NOTES: usize = 3;

impl<'p> Machine<'p> {
    pub(crate) fn push_mark(&mut self, kind: MarkKind) {
        self.marks.push(Mark { kind, base: self.base as u32 });
    }

    /// `` in `fact` at k = 13`` for what is computed right now, and a note for each definition around
    /// it that has indices.
    fn surroundings(&self) -> (String, Vec<String>) {
        let mut indices: Vec<String> = Vec::new();
        let mut inner: Option<String> = None;
        let mut notes: Vec<String> = Vec::new();
        for mark in self.marks.iter().rev() {
            let name = match mark.kind {
                MarkKind::Index(var) => {
                    let name = self.program.vars[var].name.as_str();
                    let value = self.var_at(var, mark.base as usize);
                    if let (true, Value::Scalar(value)) = (is_written(name), value) {
                        indices.push(format!("{name} = {value}"));
                    }
                    continue;
                }
                MarkKind::Definition(Some(name)) => name.as_str(),
                MarkKind::Definition(None) => continue,
                MarkKind::Let(var) => self.program.vars[var].name.as_str(),
                MarkKind::Call(func, _) => self.program.funcs[func].name.as_str(),
            };
            let name = if is_written(name) { name } else { continue };
            if inner.is_some() && indices.is_empty() {
                continue;
            }
            indices.reverse();
            let place = if indices.is_empty() {
                format!("`{name}`")
            } else {
                format!("`{name}` at {}", indices.join(", "))
            };
            indices.clear();
            match &inner {
                None => inner = Some(format!(" in {place}")),
                Some(_) => notes.push(format!("while computing {place}")),
            }
            if notes.len() == NOTES {
                break;
            }
        }
        if !indices.is_empty() {
            indices.reverse();
            let at = format!("at {}", indices.join(", "));
            match &mut inner {
                None => inner = Some(format!(" {at}")),
                Some(_) => notes.push(at),
            }
        }
        (inner.unwrap_or_default(), notes)
    }

    /// An error as it is told: what fails in the library at the call that led there, with the place
    /// in the library beside it.
    pub(crate) fn told(&self, mut diagnostic: Diagnostic) -> Diagnostic {
        let inside = |span: Span| self.program.library.contains(&span.file());
        if !inside(diagnostic.primary.span) {
            return diagnostic;
        }
        let entry = self.marks.iter().rev().find_map(|mark| match mark.kind {
            MarkKind::Call(_, entry) => (!inside(entry.at)).then_some(entry),
            MarkKind::Definition(_) | MarkKind::Let(_) | MarkKind::Index(_) => None,
        });
        let Some(entry) = entry else { return diagnostic };
        let name = self.program.funcs[entry.func].name;
        let call = Label { span: entry.at, text: format!("in this call of `{name}`") };
        let mut place = std::mem::replace(&mut diagnostic.primary, call);
        if place.text.is_empty() {
            place.text = "here in the library".to_owned();
        }
        diagnostic.labels.insert(0, place);
        diagnostic
    }

    /// An error whose message is followed by where it happened: `integer overflow in …`.
    #[cold]
    #[inline(never)]
    pub(crate) fn fail_in(&self, code: Code, span: Span, what: &str, rest: &str) -> Stop {
        let (place, notes) = self.surroundings();
        let mut diagnostic = Diagnostic::new(code, span, format!("{what}{place}{rest}"));
        diagnostic.notes = notes;
        diagnostic.into()
    }

    /// An error with its whole message; where it happened becomes a note.
    #[cold]
    #[inline(never)]
    pub(crate) fn fail(&self, code: Code, span: Span, message: impl Into<String>) -> Stop {
        let (place, notes) = self.surroundings();
        let mut diagnostic = Diagnostic::new(code, span, message);
        if !place.is_empty() {
            diagnostic.notes.push(place.trim_start().to_owned());
        }
        diagnostic.notes.extend(notes);
        diagnostic.into()
    }

    /// A program that the checker should not have let through.
    #[cold]
    #[inline(never)]
    pub(crate) fn malformed(&self, span: Span, what: impl std::fmt::Display) -> Stop {
        let stop = self.fail(Code::E0809, span, format!("the program is malformed: {what}"));
        match stop {
            Stop::Error(diagnostic) => diagnostic
                .note("the checker should have rejected it: this is a bug in Einlang")
                .into(),
            Stop::Interrupted => stop,
        }
    }

    /// A value of a kind that cannot be here.
    #[cold]
    #[inline(never)]
    pub(crate) fn expected(&self, span: Span, wanted: &str, got: &Value) -> Stop {
        self.malformed(span, format_args!("expected {wanted}, got {}", got.kind()))
    }

    /// A scalar operation without a result. `text` shows it, as in `3 / 0`.
    #[cold]
    #[inline(never)]
    pub(crate) fn arithmetic(&self, error: ArithError, span: Span, text: &str) -> Stop {
        match error {
            ArithError::Overflow => {
                self.fail_in(Code::E0802, span, "integer overflow", &format!(": {text}"))
            }
            ArithError::DivisionByZero => {
                self.fail_in(Code::E0803, span, "division by zero", &format!(": {text}"))
            }
            ArithError::NegativeExponent => {
                let what = "an integer raised to a negative power";
                let stop = self.fail_in(Code::E0809, span, what, &format!(": {text}"));
                match stop {
                    Stop::Error(it) => it.help("use a float: `(x as f32) ** n`").into(),
                    Stop::Interrupted => stop,
                }
            }
            ArithError::Operands => self.malformed(span, format_args!("no such operation: {text}")),
        }
    }

    /// A size that does not fit where an integer of type `ty` is wanted.
    #[cold]
    #[inline(never)]
    pub(crate) fn too_large(&self, span: Span, value: impl Into<i128>, ty: &str) -> Stop {
        let value: i128 = value.into();
        self.fail_in(
            Code::E0802,
            span,
            "integer overflow",
            &format!(": {value} does not fit `{ty}`"),
        )
    }

    /// A read outside its array.
    #[cold]
    #[inline(never)]
    pub(crate) fn out_of_bounds(&self, read: &BadRead) -> Stop {
        let whose = read.name.map_or_else(|| "the array".to_owned(), |name| format!("`{name}`"));
        let axis = match read.coord {
            Some(coord) => format!("axis {} (`{coord}`)", read.axis),
            None => format!("axis {}", read.axis),
        };
        let (index, extent) = (read.index, read.extent);
        let message =
            format!("index {index} is out of bounds for {whose}: {axis} has extent {extent}");
        let stop = self.fail(Code::E0801, read.span, message);
        let Stop::Error(mut diagnostic) = stop else { return stop };
        diagnostic.primary.text = match extent {
            0 => "there is nothing to read".to_owned(),
            _ => format!("must be in 0..{extent}"),
        };
        if read.proved {
            // Where integers wrap no proof holds, and checks say so instead; an attempt looks at no
            // condition under which a proof holds.
            debug_assert!(
                self.overflow == ein_scalar::Overflow::Wrap || self.attempts > 0,
                "a read that had been proved: {}",
                diagnostic.message
            );
            diagnostic.notes.push("this read had been proved: a bug in Einlang".to_owned());
        }
        Stop::Error(diagnostic)
    }
}

/// What is to be said about a read outside its array.
pub(crate) struct BadRead {
    pub(crate) name: Option<Symbol>,
    pub(crate) coord: Option<Symbol>,
    pub(crate) axis: usize,
    pub(crate) index: i128,
    pub(crate) extent: usize,
    pub(crate) span: Span,
    pub(crate) proved: bool,
}

/// Whether a person wrote the name; the compiler's own start with another character.
pub(crate) fn is_written(name: &str) -> bool {
    name.starts_with(|first: char| first.is_alphabetic()) && name != "closure"
}

/// `[2, 3]`
pub(crate) fn show_shape<T: std::fmt::Display>(shape: &[T]) -> String {
    let extents: Vec<String> = shape.iter().map(T::to_string).collect();
    format!("[{}]", extents.join(", "))
}

/// `3 + 4`
pub(crate) fn show_binary(op: ein_scalar::BinaryOp, a: Scalar, b: Scalar) -> String {
    use ein_scalar::BinaryOp;
    let sign = match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Rem => "%",
        BinaryOp::Pow => "**",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::And => "&&",
        BinaryOp::Or => "||",
        BinaryOp::Min | BinaryOp::Max | BinaryOp::Atan2 => return format!("{op}({a}, {b})"),
        BinaryOp::FloorDiv => return format!("div_floor({a}, {b})"),
        BinaryOp::FloorMod => return format!("mod({a}, {b})"),
    };
    let (left, right) = (show_operand(a), show_operand(b));
    format!("{left} {sign} {right} in `{}`", a.ty())
}

fn show_operand(x: Scalar) -> String {
    let text = x.to_string();
    if text.starts_with('-') { format!("({text})") } else { text }
}
