//! Walking the resolved program: the expressions directly inside an expression.

use crate::hir::{
    Arg, Binder, CompClause, Definition, Domain, ExprId, ExprKind, LeftSlotKind, Param, Program,
    Slot, Stmt, StmtKind, StrPart, WhereItem,
};

/// Calls `f` with every expression that stands directly inside another one, in the order of the
/// text; also those of the statements, clauses, domains, arms and parameters in it.
pub(crate) fn each_child(hir: &Program, id: ExprId, f: &mut dyn FnMut(ExprId)) {
    match &hir.exprs[id].kind {
        ExprKind::Int(..)
        | ExprKind::Float(..)
        | ExprKind::Bool(_)
        | ExprKind::Local(_)
        | ExprKind::Size(_)
        | ExprKind::Fn(_)
        | ExprKind::Const(_)
        | ExprKind::Variant(..)
        | ExprKind::Builtin(_)
        | ExprKind::Coord(_)
        | ExprKind::Error => {}
        ExprKind::Str(parts) => {
            for part in parts {
                match part {
                    StrPart::Value(value, _) => f(*value),
                    StrPart::Text(_) => {}
                }
            }
        }
        ExprKind::Unary(_, inner)
        | ExprKind::Cast(inner, _)
        | ExprKind::At(inner)
        | ExprKind::Field(inner, _)
        | ExprKind::TupleField(inner, ..)
        | ExprKind::Try(inner) => f(*inner),
        ExprKind::Binary(_, a, b) | ExprKind::OrElse(a, b) => {
            f(*a);
            f(*b);
        }
        ExprKind::Range { lo, hi, inclusive: _ } => lo.iter().chain(hi).for_each(|e| f(*e)),
        ExprKind::Call { callee, args } => {
            f(*callee);
            each_arg(args, f);
        }
        ExprKind::CoordCall { callee, coords, args } => {
            f(*callee);
            for coord in coords {
                if let crate::hir::CoordArg::Size(_, size) = coord {
                    f(*size);
                }
            }
            each_arg(args, f);
        }
        ExprKind::Reduce { op: _, op_span: _, binders, body } => {
            binders.iter().for_each(|binder| each_in_binder(binder, f));
            f(*body);
        }
        ExprKind::Extent { of, coord: _ } => of.iter().for_each(|e| f(*e)),
        ExprKind::Index { base, slots } => {
            f(*base);
            for slot in slots {
                match slot {
                    Slot::Expr(e) => f(*e),
                    Slot::Stepped(range, step) => {
                        f(*range);
                        f(*step);
                    }
                    Slot::Pack(..) => {}
                }
            }
        }
        ExprKind::Array(items) | ExprKind::Tuple(items) => items.iter().for_each(|e| f(*e)),
        ExprKind::Comprehension { body, clauses } => {
            for clause in clauses {
                match clause {
                    CompClause::Generator(_, e)
                    | CompClause::Condition(e)
                    | CompClause::Binding(_, e) => f(*e),
                }
            }
            f(*body);
        }
        ExprKind::Struct { def: _, variant: _, fields } => {
            fields.iter().for_each(|(_, value)| f(*value));
        }
        ExprKind::Block { stmts, tail } => {
            stmts.iter().for_each(|stmt| each_in_stmt(stmt, f));
            tail.iter().for_each(|e| f(*e));
        }
        ExprKind::If { cond, then, otherwise } => {
            f(*cond);
            f(*then);
            otherwise.iter().for_each(|e| f(*e));
        }
        ExprKind::Match { scrutinee, arms } => {
            f(*scrutinee);
            for arm in arms {
                arm.guard.iter().for_each(|e| f(*e));
                f(arm.body);
            }
        }
        ExprKind::Closure { params, body, captures: _ } => {
            each_default(params, f);
            f(*body);
        }
        ExprKind::OptionPipe { value, local: _, call }
        | ExprKind::ResultPipe { value, local: _, call } => {
            f(*value);
            f(*call);
        }
        ExprKind::Catch { value, param: _, handler } => {
            f(*value);
            f(*handler);
        }
        ExprKind::Where { body, items, otherwise } => {
            f(*body);
            for item in items {
                match item {
                    WhereItem::Binding(_, e) | WhereItem::Guard(e) => f(*e),
                }
            }
            otherwise.iter().for_each(|e| f(*e));
        }
    }
}

/// Calls `f` with the expressions of a statement.
pub(crate) fn each_in_stmt(stmt: &Stmt, f: &mut dyn FnMut(ExprId)) {
    match &stmt.kind {
        StmtKind::Let { pat: _, ty: _, value } | StmtKind::Expr(value) => f(*value),
        StmtKind::Define(definition) => each_in_definition(definition, f),
        StmtKind::System(definitions) => {
            definitions.iter().for_each(|definition| each_in_definition(definition, f));
        }
    }
}

/// Calls `f` with the expressions of a definition.
pub(crate) fn each_in_definition(definition: &Definition, f: &mut dyn FnMut(ExprId)) {
    for clause in &definition.clauses {
        for slot in &clause.slots {
            match &slot.kind {
                LeftSlotKind::Index(binder) => each_in_binder(binder, f),
                LeftSlotKind::Point(point) => f(*point),
                LeftSlotKind::Literal(_) | LeftSlotKind::Error => {}
            }
        }
        f(clause.body);
        if let Some(until) = &clause.until {
            f(until.cond);
            until.otherwise.iter().for_each(|e| f(*e));
        }
    }
}

/// Calls `f` with the expressions of a binder's domain.
fn each_in_binder(binder: &Binder, f: &mut dyn FnMut(ExprId)) {
    match &binder.domain {
        Some(Domain::Range { lo, hi, inclusive: _, span: _ }) => {
            f(*lo);
            f(*hi);
        }
        Some(Domain::Other(e)) => f(*e),
        Some(Domain::Coord(_)) | None => {}
    }
}

fn each_arg(args: &[Arg], f: &mut dyn FnMut(ExprId)) {
    args.iter().for_each(|arg| f(arg.value));
}

fn each_default(params: &[Param], f: &mut dyn FnMut(ExprId)) {
    params.iter().filter_map(|param| param.default).for_each(f);
}
