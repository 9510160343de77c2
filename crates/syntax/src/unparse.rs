//! Source text for a tree that has none: what the other notations are translated to.
//!
//! Operands are put in parentheses throughout and everything stands on one line; the formatter
//! brings that into shape.
//!
//! Limits: strings, patterns other than names, and statements that no translator makes.

use crate::ast::*;
use std::fmt::Write as _;

/// The Einlang source of a tree, formatted; the text before formatting if that does not parse.
pub fn unparse(ast: &Ast) -> String {
    let mut out = String::new();
    let mut last = None;
    for stmt in &ast.stmts {
        let group = match ast.stmt[*stmt].kind {
            StmtKind::Let(_) | StmtKind::Clause(_) => Group::Values,
            StmtKind::Use(_) => Group::Uses,
            _ => Group::Alone,
        };
        if last.is_some_and(|it| it != group || it == Group::Alone) {
            out.push('\n');
        }
        last = Some(group);
        Unparser { ast, out: &mut out }.stmt(*stmt);
    }
    crate::format(&out).unwrap_or(out)
}

/// What stands together without blank lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Uses,
    Values,
    Alone,
}

struct Unparser<'a> {
    ast: &'a Ast,
    out: &'a mut String,
}

impl Unparser<'_> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.put(", ");
            }
            each(self, item);
        }
    }

    fn stmt(&mut self, id: StmtId) {
        match &self.ast.stmt[id].kind {
            StmtKind::Let(it) => {
                self.put("let ");
                self.pat(it.pat);
                self.annotation(it.ty);
                self.put(" = ");
                self.expr(it.value);
                self.put(";");
            }
            StmtKind::Clause(it) => {
                self.put("let ");
                self.put(it.name.sym.as_str());
                self.put("[");
                self.list(&it.slots, Self::left_slot);
                self.put("] = ");
                self.expr(it.value);
                self.put(";");
            }
            StmtKind::Fn(it) => self.function(it),
            StmtKind::Use(it) => {
                self.put("use ");
                self.use_tree(&it.tree);
                self.put(";");
            }
            StmtKind::Expr(it) => {
                self.expr(*it);
                self.put(";");
            }
            _ => {}
        }
        self.put("\n");
    }

    fn function(&mut self, it: &Function) {
        self.put("fn ");
        self.put(it.name.sym.as_str());
        if !it.generics.is_empty() {
            self.put("<");
            self.list(&it.generics, |out, name| out.put(name.sym.as_str()));
            self.put(">");
        }
        self.put("(");
        self.list(&it.params, Self::param);
        self.put(")");
        if let Some(ret) = it.ret {
            self.put(" -> ");
            self.ty(ret);
        }
        self.put(" ");
        self.expr(it.body);
    }

    fn use_tree(&mut self, tree: &UseTree) {
        for (at, name) in tree.prefix.iter().enumerate() {
            if at > 0 {
                self.put("::");
            }
            self.put(name.sym.as_str());
        }
        match &tree.kind {
            UseKind::Name(None) => {}
            UseKind::Name(Some(name)) => {
                self.put(" as ");
                self.put(name.sym.as_str());
            }
            UseKind::Glob => self.put("::*"),
            UseKind::Group(trees) => {
                self.put("::{");
                self.list(trees, Self::use_tree);
                self.put("}");
            }
        }
    }

    fn param(&mut self, param: &Param) {
        self.pat(param.pat);
        self.annotation(param.ty);
    }

    fn annotation(&mut self, ty: Option<TypeId>) {
        if let Some(ty) = ty {
            self.put(": ");
            self.ty(ty);
        }
    }

    fn pat(&mut self, id: PatId) {
        match &self.ast.pat[id].kind {
            PatKind::Bind { name, .. } => self.put(name.sym.as_str()),
            _ => self.put("_"),
        }
    }

    fn left_slot(&mut self, slot: &LeftSlot) {
        match &slot.kind {
            LeftSlotKind::Index { name, domain } => {
                self.put(name.sym.as_str());
                if let Some(domain) = domain {
                    self.put(" in ");
                    self.expr(*domain);
                }
            }
            LeftSlotKind::Point(point) => self.expr(*point),
            LeftSlotKind::Literal(value) => _ = write!(self.out, "{value}"),
            LeftSlotKind::Pack(name) => {
                self.put("..");
                self.put(name.sym.as_str());
            }
            LeftSlotKind::Error => self.put("_"),
        }
    }

    fn slot(&mut self, slot: &Slot) {
        match &slot.kind {
            SlotKind::Expr(it) => self.expr(*it),
            SlotKind::Stepped { range, step } => {
                self.expr(*range);
                self.put("; ");
                self.expr(*step);
            }
            SlotKind::Domain { name, domain } => {
                self.put(name.sym.as_str());
                self.put(" in ");
                self.expr(*domain);
            }
            SlotKind::Pack(name) => {
                self.put("..");
                self.put(name.sym.as_str());
            }
            SlotKind::Group(names) => {
                self.put("(");
                self.list(names, |out, name| out.put(name.sym.as_str()));
                self.put(")");
            }
            SlotKind::Named { name, value } => {
                self.put(name.sym.as_str());
                self.put(" = ");
                self.expr(*value);
            }
            SlotKind::Axis(axis) => _ = write!(self.out, "#{axis}"),
        }
    }

    fn arg(&mut self, arg: &Arg) {
        if let Some(name) = arg.name {
            self.put(name.sym.as_str());
            self.put(" = ");
        }
        self.expr(arg.value);
    }

    /// An operand: in parentheses unless it is one thing.
    fn operand(&mut self, id: ExprId) {
        let simple = matches!(
            self.ast.expr[id].kind,
            ExprKind::Int { .. }
                | ExprKind::Float { .. }
                | ExprKind::Bool(_)
                | ExprKind::Path(_)
                | ExprKind::Size(_)
                | ExprKind::Call { .. }
                | ExprKind::BracketCall { .. }
                | ExprKind::Index { .. }
                | ExprKind::Field(..)
                | ExprKind::Array(_)
                | ExprKind::Tuple(_)
        );
        if simple {
            self.expr(id);
        } else {
            self.put("(");
            self.expr(id);
            self.put(")");
        }
    }

    fn expr(&mut self, id: ExprId) {
        match &self.ast.expr[id].kind {
            ExprKind::Int { value, .. } => _ = write!(self.out, "{value}"),
            ExprKind::Float { text, .. } => self.put(text.as_str()),
            ExprKind::Bool(value) => self.put(if *value { "true" } else { "false" }),
            ExprKind::Path(path) => {
                for (at, name) in path.iter().enumerate() {
                    if at > 0 {
                        self.put("::");
                    }
                    self.put(name.sym.as_str());
                }
            }
            ExprKind::Size(name) => {
                self.put("?");
                self.put(name.sym.as_str());
            }
            ExprKind::Hole => self.put("?"),
            ExprKind::Unary(op, a) => {
                self.put(op.as_str());
                self.operand(*a);
            }
            ExprKind::Binary(op, a, b) => {
                self.operand(*a);
                _ = write!(self.out, " {} ", op.as_str());
                self.operand(*b);
            }
            ExprKind::Range { lo, hi, .. } => {
                if let Some(lo) = lo {
                    self.operand(*lo);
                }
                self.put("..");
                if let Some(hi) = hi {
                    self.operand(*hi);
                }
            }
            ExprKind::Cast(value, ty) => {
                self.operand(*value);
                self.put(" as ");
                self.ty(*ty);
            }
            ExprKind::Call { callee, args } => {
                self.operand(*callee);
                self.put("(");
                self.list(args, Self::arg);
                self.put(")");
            }
            ExprKind::BracketCall { callee, slots, args } => {
                self.operand(*callee);
                self.put("[");
                self.list(slots, Self::slot);
                self.put("](");
                self.list(args, Self::arg);
                self.put(")");
            }
            ExprKind::Index { base, slots } => {
                self.operand(*base);
                self.put("[");
                self.list(slots, Self::slot);
                self.put("]");
            }
            ExprKind::Field(base, name) => {
                self.operand(*base);
                self.put(".");
                self.put(name.sym.as_str());
            }
            ExprKind::Array(items) => {
                self.put("[");
                self.list(items, |out, it| out.expr(*it));
                self.put("]");
            }
            ExprKind::Tuple(items) => {
                self.put("(");
                self.list(items, |out, it| out.expr(*it));
                self.put(")");
            }
            ExprKind::Block { stmts, tail } => {
                self.put("{\n");
                for stmt in stmts {
                    self.stmt(*stmt);
                }
                if let Some(tail) = tail {
                    self.expr(*tail);
                }
                self.put("\n}");
            }
            ExprKind::If { cond, then, otherwise } => {
                self.put("if ");
                self.expr(*cond);
                self.put(" ");
                self.expr(*then);
                if let Some(otherwise) = otherwise {
                    self.put(" else ");
                    self.expr(*otherwise);
                }
            }
            ExprKind::Closure { params, body } => {
                self.put("|");
                self.list(params, Self::param);
                self.put("| ");
                self.expr(*body);
            }
            _ => self.put("()"),
        }
    }

    fn ty(&mut self, id: TypeId) {
        match &self.ast.ty[id].kind {
            TypeKind::Path { path, .. } => {
                for (at, name) in path.iter().enumerate() {
                    if at > 0 {
                        self.put("::");
                    }
                    self.put(name.sym.as_str());
                }
            }
            TypeKind::Array { elem, dims, .. } => {
                self.put("[");
                self.ty(*elem);
                if let Some(dims) = dims {
                    self.put("; ");
                    self.list(dims, Self::dim);
                }
                self.put("]");
            }
            _ => self.put("_"),
        }
    }

    fn dim(&mut self, dim: &Dim) {
        match &dim.kind {
            DimKind::Size(size) => self.expr(*size),
            DimKind::Coord { name, .. } => self.put(name.sym.as_str()),
            DimKind::Pack(name) => {
                self.put("..");
                self.put(name.sym.as_str());
            }
        }
    }
}
