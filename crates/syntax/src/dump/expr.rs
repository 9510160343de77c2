//! Expressions as text.

use super::{Dump, names};
use crate::ast::*;

impl Dump<'_> {
    fn exprs(&mut self, head: &str, items: &[ExprId]) {
        self.node(head, |d| {
            for item in items {
                d.expr(*item);
            }
        });
    }

    pub(super) fn expr(&mut self, id: ExprId) {
        match &self.ast.expr[id].kind {
            ExprKind::Int { value, suffix } => {
                let suffix = suffix.map_or("", |s| s.as_str());
                self.leaf(format_args!("int {value}{suffix}"));
            }
            ExprKind::Float { text, suffix } => {
                let suffix = suffix.map_or("", |s| s.as_str());
                self.leaf(format_args!("float {text} {suffix}"));
            }
            ExprKind::Bool(value) => self.leaf(value),
            ExprKind::Str(parts) => self.node("str", |d| {
                for part in parts {
                    d.str_part(part);
                }
            }),
            ExprKind::Path(path) => self.leaf(format_args!("path{}", names(path))),
            ExprKind::Size(name) => self.leaf(format_args!("size {name}")),
            ExprKind::Hole => self.leaf("hole"),
            ExprKind::Unary(UnaryOp::Neg, e) => self.exprs("neg", &[*e]),
            ExprKind::Unary(UnaryOp::Pos, e) => self.exprs("pos", &[*e]),
            ExprKind::Unary(UnaryOp::Not, e) => self.exprs("not", &[*e]),
            ExprKind::Binary(op, a, b) => self.exprs(op.as_str(), &[*a, *b]),
            ExprKind::Range { lo, hi, inclusive } => self.range(*lo, *hi, *inclusive),
            ExprKind::Cast(e, ty) => self.node("as", |d| {
                d.expr(*e);
                d.ty(*ty);
            }),
            ExprKind::At(e) => self.exprs("@", &[*e]),
            ExprKind::Call { callee, args } => self.node("call", |d| {
                d.expr(*callee);
                d.args(args);
            }),
            ExprKind::BracketCall { callee, slots, args } => self.node("bracket-call", |d| {
                d.expr(*callee);
                d.slots(slots);
                d.args(args);
            }),
            ExprKind::Index { base, slots } => self.node("index", |d| {
                d.expr(*base);
                d.slots(slots);
            }),
            ExprKind::Field(e, name) => self.node(format_args!("field {name}"), |d| d.expr(*e)),
            ExprKind::TupleField(e, index, _) => {
                self.node(format_args!("field {index}"), |d| d.expr(*e));
            }
            ExprKind::Array(items) => self.exprs("array", items),
            ExprKind::Tuple(items) => self.exprs("tuple", items),
            ExprKind::Comprehension { body, clauses } => self.node("comprehension", |d| {
                d.expr(*body);
                for clause in clauses {
                    d.comp_clause(clause);
                }
            }),
            ExprKind::Struct { path, fields } => {
                self.node(format_args!("struct{}", names(path)), |d| {
                    for (name, value) in fields {
                        d.node(format_args!("field {name}"), |d| d.expr(*value));
                    }
                })
            }
            ExprKind::Block { stmts, tail } => self.node("block", |d| {
                d.stmts(stmts);
                if let Some(tail) = tail {
                    d.node("tail", |d| d.expr(*tail));
                }
            }),
            ExprKind::If { cond, then, otherwise } => self.node("if", |d| {
                d.expr(*cond);
                d.expr(*then);
                if let Some(otherwise) = otherwise {
                    d.expr(*otherwise);
                }
            }),
            ExprKind::Match { scrutinee, arms } => self.node("match", |d| {
                d.expr(*scrutinee);
                for arm in arms {
                    d.arm(arm);
                }
            }),
            ExprKind::Closure { params, body } => self.node("closure", |d| {
                for param in params {
                    d.param(param);
                }
                d.expr(*body);
            }),
            ExprKind::Pipe(op, a, b) => self.exprs(op.as_str(), &[*a, *b]),
            ExprKind::OrElse(a, b) => self.exprs("or-else", &[*a, *b]),
            ExprKind::Catch { value, param, handler } => {
                self.node(format_args!("catch {param}"), |d| {
                    d.expr(*value);
                    d.expr(*handler);
                });
            }
            ExprKind::Try(e) => self.exprs("try", &[*e]),
            ExprKind::Where { body, items, otherwise } => self.node("where", |d| {
                d.expr(*body);
                for item in items {
                    match item {
                        WhereItem::Binding(name, e) => {
                            d.node(format_args!("binding {name}"), |d| d.expr(*e));
                        }
                        WhereItem::Guard(e) => d.node("guard", |d| d.expr(*e)),
                    }
                }
                if let Some(otherwise) = otherwise {
                    d.node("else", |d| d.expr(*otherwise));
                }
            }),
            ExprKind::Error => self.leaf("error"),
        }
    }

    fn str_part(&mut self, part: &StrPart) {
        match part {
            StrPart::Text(text) => self.leaf(format_args!("text {:?}", text.as_str())),
            StrPart::Value { expr, spec: None } => self.node("value", |d| d.expr(*expr)),
            StrPart::Value { expr, spec: Some(spec) } => {
                self.node(format_args!("value {spec:?}"), |d| d.expr(*expr));
            }
        }
    }

    fn args(&mut self, args: &[Arg]) {
        for arg in args {
            match arg.name {
                Some(name) => self.node(format_args!("arg {name}"), |d| d.expr(arg.value)),
                None => self.node("arg", |d| d.expr(arg.value)),
            }
        }
    }

    fn slots(&mut self, slots: &[Slot]) {
        self.node("slots", |d| {
            for slot in slots {
                match &slot.kind {
                    SlotKind::Expr(e) => d.expr(*e),
                    SlotKind::Stepped { range, step } => d.exprs("stepped", &[*range, *step]),
                    SlotKind::Domain { name, domain } => {
                        d.node(format_args!("domain {name}"), |d| d.expr(*domain));
                    }
                    SlotKind::Pack(name) => d.leaf(format_args!("pack {name}")),
                    SlotKind::Group(group) => d.leaf(format_args!("group{}", names(group))),
                    SlotKind::Named { name, value } => {
                        d.node(format_args!("named {name}"), |d| d.expr(*value));
                    }
                    SlotKind::Axis(axis) => d.leaf(format_args!("axis {axis}")),
                }
            }
        });
    }

    fn comp_clause(&mut self, clause: &CompClause) {
        match clause {
            CompClause::Generator(pat, e) => self.node("generator", |d| {
                d.pat(*pat);
                d.expr(*e);
            }),
            CompClause::Condition(e) => self.node("condition", |d| d.expr(*e)),
            CompClause::Binding(name, e) => {
                self.node(format_args!("binding {name}"), |d| d.expr(*e));
            }
        }
    }

    fn arm(&mut self, arm: &Arm) {
        self.node("arm", |d| {
            d.pat(arm.pat);
            if let Some(guard) = arm.guard {
                d.node("guard", |d| d.expr(guard));
            }
            d.expr(arm.body);
        });
    }
}
