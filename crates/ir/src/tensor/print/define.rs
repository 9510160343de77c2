//! Definitions and reductions as text.

use super::Printer;
use crate::tensor::names::write_name;
use crate::tensor::{Binder, Clause, ClauseSlot, Expr, Item, Reduce, Require, Scatter, Tensor};
use std::fmt::Write;

impl Printer<'_> {
    pub(super) fn tensor(&mut self, tensor: &Tensor, e: &Expr) {
        self.put("def ");
        match tensor.name {
            Some(name) => write_name(&mut self.out, name),
            None => self.put("_"),
        }
        self.put(" shape(");
        self.list(&tensor.shape, |it, extent| it.optional_size(extent.as_ref()));
        self.put(")");
        if tensor.inner_rank > 0 {
            let _ = write!(self.out, " inner {}", tensor.inner_rank);
        }
        if let Some(var) = tensor.self_var {
            let _ = write!(self.out, " self {}", self.var(var));
        }
        if let Some(recurrence) = &tensor.recurrence {
            self.put(" recurrent(");
            self.list(&recurrence.axes, |it, axis| {
                let down = if axis.backward { " down" } else { "" };
                let _ = write!(it.out, "{}{down}", axis.axis);
            });
            self.put(")");
            if let Some(lookback) = recurrence.lookback {
                let _ = write!(self.out, " lookback {lookback}");
            }
            if recurrence.adjoint {
                self.put(" adjoint");
            }
        }
        self.requires(&tensor.requires);
        self.put(" : ");
        self.ty(&e.ty);
        self.put(" {");
        self.indent += 1;
        for clause in &tensor.clauses {
            self.line();
            self.clause(clause);
        }
        self.indent -= 1;
        self.line();
        self.put("}");
    }

    fn clause(&mut self, clause: &Clause) {
        self.put("[");
        self.list(&clause.slots, |it, slot| match slot {
            ClauseSlot::Point(at) => {
                let _ = write!(it.out, "{at}");
            }
            ClauseSlot::Loop(binder) => it.binder(binder),
        });
        self.put("]");
        self.items(&clause.items);
        self.put(" = ");
        self.expr(&clause.value, 0);
        if let Some(otherwise) = &clause.otherwise {
            self.put(" else ");
            self.expr(otherwise, 0);
        }
        if let Some(until) = &clause.until {
            self.put(" until ");
            self.expr(&until.cond, 0);
            if let Some(message) = &until.otherwise {
                self.put(" error ");
                self.expr(message, 0);
            }
        }
        self.put(";");
    }

    pub(super) fn reduce(&mut self, reduce: &Reduce) {
        self.put(reduce.op.as_str());
        self.put("[");
        self.list(&reduce.binders, |it, binder| it.binder(binder));
        self.items(&reduce.items);
        self.requires(&reduce.requires);
        self.put("](");
        self.expr(&reduce.value, 0);
        self.put(")");
    }

    pub(super) fn scatter(&mut self, scatter: &Scatter) {
        self.put("scatter shape(");
        self.list(&scatter.shape, |it, extent| it.size(extent));
        self.put(") [");
        self.list(&scatter.binders, |it, binder| it.binder(binder));
        self.items(&scatter.items);
        self.put("] ");
        self.indices(&scatter.indices);
        self.put("(");
        self.expr(&scatter.value, 0);
        self.put(")");
    }

    fn binder(&mut self, binder: &Binder) {
        let _ = write!(self.out, "{}: ", self.var(binder.var));
        self.expr(&binder.lo, 0);
        self.put("..");
        self.expr(&binder.hi, 0);
    }

    fn items(&mut self, items: &[Item]) {
        if items.is_empty() {
            return;
        }
        self.put(" where ");
        self.list(items, |it, item| match item {
            Item::Let(var, value) => {
                let _ = write!(it.out, "let {} = ", it.var(*var));
                it.expr(value, 0);
            }
            Item::Guard(cond) => {
                it.put("if ");
                it.expr(cond, 0);
            }
        });
    }

    fn requires(&mut self, requires: &[Require]) {
        if requires.is_empty() {
            return;
        }
        self.put(" requires(");
        self.list(requires, |it, require| it.require(require));
        self.put(")");
    }
}
