//! Tensor IR as text: `einlang dump ir`. [`parse`](super::parse) reads it back.
//!
//! ```text
//! frame globals 2 locals 3
//! atom n_0 = extent x_0 0 external
//! var x_0: [f32; n_0] = global 0
//! var y_1: [f32; i: n_0] = global 1
//! var i_2: i32 = local 0
//! top {
//!   let y_1 = def y shape(n_0) : [f32; i: n_0] {
//!     [i_2: 0..$n_0] = x_0[i_2] / sum[k_3: 0..$n_0](x_0[k_3])
//!   };
//! }
//! outputs x_0, y_1
//! ```
//!
//! * Ids are names with a number: variables and symbolic integers `x_3`, functions `@f_3`, structs
//!   and enums `#P_3`. Only the number counts; a name that is no word is repeated as a string where
//!   the id is declared.
//! * `x[i, j?]`: an index with `?` is checked at run time, the others are proved.
//! * `$n_0` and `$(n_0 + 1)` are sizes as values.
//! * `(e : T)` states a type that the parts of `e` do not tell.
//! * A coordinate with `!` is a contract; `query in seq` is a role of `seq`.
//!
//! Everything is kept but the spans.

mod define;
mod expr;

pub use expr::infix;

use super::names::{id_text, readable, write_name};
use super::{AtomDef, DataVariant, Func, FuncId, Pattern, Place, Program, Require, Type};
use super::{DataId, VarId};
use crate::size::{self, Atom};
use crate::text::write_string;
use ein_base::{Idx, Symbol};
use ein_scalar::{Scalar, ScalarType, parse_float};
use std::fmt::Write;

/// The text of a program.
pub fn print(program: &Program) -> String {
    let mut printer = Printer { program, out: String::new(), indent: 0 };
    printer.program();
    printer.out
}

/// A text that grows.
struct Printer<'a> {
    program: &'a Program,
    out: String,
    indent: usize,
}

impl Printer<'_> {
    fn program(&mut self) {
        let program = self.program;
        let frame = (program.global_slots, program.top_slots);
        let _ = writeln!(self.out, "frame globals {} locals {}", frame.0, frame.1);
        for id in program.data.ids() {
            self.data(id);
        }
        for (id, atom) in program.atoms.iter_enumerated() {
            self.put("atom ");
            self.declared(atom.name, id);
            self.put(" = ");
            match atom.def {
                AtomDef::Var(var) => self.put(&format!("var {}", self.var(var))),
                AtomDef::Extent(var, axis) => {
                    self.put(&format!("extent {} {axis}", self.var(var)));
                }
                AtomDef::Length(var) => self.put(&format!("length {}", self.var(var))),
                AtomDef::Unknown => self.put("unknown"),
            }
            self.put(if atom.external { " external\n" } else { "\n" });
        }
        for (id, var) in program.vars.iter_enumerated() {
            self.put("var ");
            self.declared(var.name, id);
            self.put(": ");
            self.ty(&var.ty);
            let _ = match var.place {
                Place::Global(slot) => writeln!(self.out, " = global {slot}"),
                Place::Local(slot) => writeln!(self.out, " = local {slot}"),
            };
        }
        for (id, func) in program.funcs.iter_enumerated() {
            self.function(id, func);
        }
        self.put("top {");
        self.indent += 1;
        for stmt in &program.top {
            self.line();
            self.stmt(stmt);
        }
        self.indent -= 1;
        self.put("\n}\noutputs");
        let outputs: Vec<String> = program.outputs.iter().map(|var| self.var(*var)).collect();
        let _ = writeln!(self.out, " {}", outputs.join(", "));
        if let Some(main) = program.main {
            let _ = writeln!(self.out, "main {}", self.func(main));
        }
        for (name, _, func) in &program.tests {
            self.put("test ");
            write_string(&mut self.out, name.as_str());
            let _ = writeln!(self.out, " {}", self.func(*func));
        }
    }

    fn data(&mut self, id: DataId) {
        let data = &self.program.data[id];
        self.put("data #");
        self.declared(data.name, id);
        self.put(if data.is_enum { " enum { " } else { " struct { " });
        self.list(&data.variants, |it, variant: &DataVariant| {
            write_name(&mut it.out, variant.name);
            it.put(if variant.positional { " positional(" } else { "(" });
            it.list(&variant.fields, |it, field: &Symbol| write_name(&mut it.out, *field));
            it.put(")");
        });
        self.put(" }\n");
    }

    fn function(&mut self, id: FuncId, func: &Func) {
        self.put("func @");
        self.declared(func.name, id);
        if !func.sizes.is_empty() {
            self.put("<");
            self.vars(&func.sizes);
            self.put(">");
        }
        if !func.captures.is_empty() {
            self.put("{");
            self.vars(&func.captures);
            self.put("}");
        }
        self.put("(");
        self.vars(&func.params);
        self.put(") -> ");
        self.ty(&func.ret);
        let _ = write!(self.out, " slots {}", func.slots);
        if let Some(rule) = func.rule {
            let rule = self.func(rule);
            let _ = write!(self.out, " rule {rule}");
        }
        if let Some(op) = func.by {
            let _ = write!(self.out, " {}", op.name());
        }
        self.put(" {");
        self.indent += 1;
        self.line();
        self.expr(&func.body, 0);
        self.indent -= 1;
        self.put("\n}\n");
    }

    /// An id where it is declared, with the name if the id does not show it.
    fn declared(&mut self, name: Symbol, id: impl Idx) {
        self.put(&id_text(name, id));
        if readable(name) != name.as_str() {
            self.put(" ");
            write_string(&mut self.out, name.as_str());
        }
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// A new line, indented.
    fn line(&mut self) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n("  ", self.indent));
    }

    /// Items with commas between them.
    fn list<T>(&mut self, items: &[T], mut one: impl FnMut(&mut Self, &T)) {
        for (position, item) in items.iter().enumerate() {
            if position > 0 {
                self.put(", ");
            }
            one(self, item);
        }
    }

    fn vars(&mut self, vars: &[VarId]) {
        self.list(vars, |it, var| it.put(&it.var(*var)));
    }

    fn var(&self, var: VarId) -> String {
        match self.program.vars.get(var) {
            Some(info) => id_text(info.name, var),
            None => format!("_{}", var.index()),
        }
    }

    fn func(&self, func: FuncId) -> String {
        match self.program.funcs.get(func) {
            Some(info) => format!("@{}", id_text(info.name, func)),
            None => format!("@_{}", func.index()),
        }
    }

    fn data_name(&self, data: DataId) -> String {
        match self.program.data.get(data) {
            Some(info) => format!("#{}", id_text(info.name, data)),
            None => format!("#_{}", data.index()),
        }
    }

    fn size(&mut self, size: &size::Expr) {
        let program = self.program;
        let name = |atom: Atom| match program.atoms.get(atom) {
            Some(info) => id_text(info.name, atom),
            None => format!("_{}", atom.index()),
        };
        size.write_exact(&mut self.out, &name);
    }

    /// A size, or `_`.
    fn optional_size(&mut self, size: Option<&size::Expr>) {
        match size {
            Some(size) => self.size(size),
            None => self.put("_"),
        }
    }

    fn require(&mut self, require: &Require) {
        self.size(&require.left);
        self.put(" == ");
        self.size(&require.right);
        self.put(" ");
        write_string(&mut self.out, &require.what);
    }

    fn ty(&mut self, ty: &Type) {
        match ty {
            Type::Unit => self.put("()"),
            Type::Scalar(scalar) => self.put(scalar.name()),
            Type::Str => self.put("str"),
            Type::Array(array) => {
                self.put("[");
                self.ty(&array.elem);
                self.put("; ");
                self.list(&array.axes, |it, axis| {
                    if let Some(coord) = axis.coord {
                        write_name(&mut it.out, coord.name);
                        if let Some(over) = coord.over {
                            it.put(" in ");
                            write_name(&mut it.out, over);
                        }
                        it.put(if coord.contract { "!: " } else { ": " });
                    }
                    it.size(&axis.size);
                });
                self.put("]");
            }
            Type::AnyRank(elem) => {
                self.put("[");
                self.ty(elem);
                self.put("; *]");
            }
            Type::Jagged(elem, levels) => {
                self.put("jagged[");
                self.ty(elem);
                let _ = write!(self.out, "; {levels}]");
            }
            Type::Tuple(items) => self.types("(", items, true),
            Type::Data(data, args) => {
                self.put(&self.data_name(*data));
                if !args.is_empty() {
                    self.put("<");
                    self.list(args, |it, arg| it.ty(arg));
                    self.put(">");
                }
            }
            Type::Template(number, captures) => {
                self.types(&format!("template {number} ("), captures, false);
            }
            Type::Signature(of) => {
                self.types("fn(", &of.params, false);
                self.put(" -> ");
                self.ty(&of.ret);
            }
            Type::Range => self.put("range"),
            Type::Error => self.put("error"),
        }
    }

    /// Types in parentheses; a tuple of one or none has a comma.
    fn types(&mut self, open: &str, items: &[Type], tuple: bool) {
        self.put(open);
        self.list(items, |it, item| it.ty(item));
        self.put(if tuple && items.len() < 2 { ",)" } else { ")" });
    }

    fn pattern(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Wild => self.put("_"),
            Pattern::Bind(var) => self.put(&self.var(*var)),
            Pattern::Literal(value) => self.put(&scalar(*value)),
            Pattern::Str(text) => write_string(&mut self.out, text.as_str()),
            Pattern::Range { lo, hi, inclusive } => {
                self.put("in ");
                self.put(&lo.map(scalar).unwrap_or_default());
                self.put(if *inclusive { "..=" } else { ".." });
                self.put(&hi.map(scalar).unwrap_or_default());
            }
            Pattern::Tuple(items) => {
                self.put("(");
                self.list(items, |it, item| it.pattern(item));
                self.put(if items.len() < 2 { ",)" } else { ")" });
            }
            Pattern::Array { before, rest, after } => {
                self.put("[");
                self.list(before, |it, item| it.pattern(item));
                if let Some(rest) = rest {
                    self.put(if before.is_empty() { ".." } else { ", .." });
                    if let Some(var) = rest {
                        self.put(&self.var(*var));
                    }
                }
                for item in after {
                    self.put(", ");
                    self.pattern(item);
                }
                self.put("]");
            }
            Pattern::Data { variant, fields } => {
                let _ = write!(self.out, ".{variant}(");
                self.list(fields, |it, field| it.pattern(field));
                self.put(")");
            }
            Pattern::Or(items) => {
                self.put("(");
                for (position, item) in items.iter().enumerate() {
                    self.put(if position > 0 { " | " } else { "" });
                    self.pattern(item);
                }
                self.put(if items.len() < 2 { " |)" } else { ")" });
            }
            Pattern::At(var, inner) => {
                let _ = write!(self.out, "{} @ ", self.var(*var));
                self.pattern(inner);
            }
        }
    }
}

/// A constant with its type where its look does not tell it.
fn scalar(value: Scalar) -> String {
    let ty = value.ty();
    let text = match value {
        Scalar::Bool(truth) => return truth.to_string(),
        value => ein_scalar::display(value),
    };
    let exact = !ty.is_float()
        || text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit())
            && parse_float(&text, ty).is_some_and(|read| read.to_bits() == value.to_bits());
    match ty {
        _ if !exact => format!("bits({}, {})", ty.name(), value.to_bits()),
        ScalarType::I32 | ScalarType::F32 => text,
        ty => format!("{text}{}", ty.name()),
    }
}
