//! Functions that ask for derivatives by what is bound outside of them, written out where they are called.
//!
//! Before:  `let y = f(x); fn g() { let z = y * y; @z / @x }  let d = g();`
//! After:   `let y = f(x); let d = { let z = y * y; @z / @x };`
//!
//! A derivative follows the bindings between its parameter and its target, and a function sees only its own.
//! Where something else from outside depends on the parameter, what the function sees is not all there is
//! (closure conversion hides it), and a derivative of it alone would be wrong. What is passed to such a function
//! counts as well: a derivative by `x` follows an argument that is computed from `x`.
//!
//! Needs: calls of functions whose captured values are known where they are called.
//! Refuses (E0703): other calls of such functions, functions that call themselves, and `main` and tests,
//! which nothing in the program calls.

use super::unfold::{Call, unfolded};
use super::{Frame, Pass, known, named};
use ein_base::{Code, Diagnostic, Span};
use ein_ir::tensor::walk::{any, each_child, each_child_mut, each_in_stmt};
use ein_ir::tensor::{
    Clause, Derivative, Expr, ExprKind, FuncId, HostOp, Item, Place, Program, Stmt, StmtKind, VarId,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Functions that call each other are written out into each other so many times.
const DEEP: usize = 16;

/// A request by something outside of its function.
struct Asked {
    target: VarId,
    parameter: VarId,
    span: Span,
}

/// Writes them out, and reports those that cannot be.
pub(super) fn run(pass: &mut Pass<'_>) {
    for _ in 0..DEEP {
        let asking = asking(pass);
        if asking.is_empty() {
            return;
        }
        let funcs: FxHashSet<FuncId> = asking.iter().map(|(func, _)| *func).collect();
        let values = function_values(pass.program);
        let mut written = false;
        pass.each_body(&mut |pass, body| write_out(pass, body, &funcs, &values, &mut written));
        pass.written_out.extend(funcs);
        if !written {
            break;
        }
    }
    let called = known::called(pass.program);
    for (func, asked) in asking(pass) {
        if called.contains(&func) {
            let names = [asked.target, asked.parameter].map(|var| pass.program.vars[var].name);
            let [y, x] = names;
            pass.diagnostics.push(
                Diagnostic::new(
                    Code::E0703,
                    asked.span,
                    format!("`{y}` depends on `{x}` outside of this function"),
                )
                .here("what is between them is not known here")
                .help(format!(
                    "ask for it where they are bound, `let d = @{y} / @{x};`, and read `d` here"
                )),
            );
        }
    }
}

/// The functions that ask by something outside on which something else outside depends.
fn asking(pass: &Pass<'_>) -> Vec<(FuncId, Asked)> {
    let program = &*pass.program;
    let mut found: Vec<(FuncId, Asked)> = Vec::new();
    for (func, callee) in program.funcs.iter_enumerated() {
        let outside = |var: &VarId| {
            callee.captures.contains(var) || matches!(program.vars[*var].place, Place::Global(_))
        };
        requests(&callee.body, &mut |asked| {
            if outside(&asked.parameter) {
                found.push((func, asked));
            }
        });
    }
    if found.is_empty() {
        return found;
    }
    let reads = all_reads(pass);
    let captures: FxHashSet<VarId> =
        program.funcs.iter().flat_map(|func| func.captures.iter().copied()).collect();
    found.retain(|(func, asked)| {
        let mut seen = FxHashSet::default();
        pass.reads(*func, &mut seen, &mut FxHashSet::default());
        let callee = &program.funcs[*func];
        let same = behind(&reads, asked.parameter, |var| captures.contains(&var));
        seen.iter().any(|var| {
            let outside = callee.captures.contains(var)
                || callee.params.contains(var)
                || matches!(program.vars[*var].place, Place::Global(_));
            let own = behind(&reads, *var, |var| captures.contains(&var));
            outside && own.is_disjoint(&same) && !behind(&reads, *var, |_| true).is_disjoint(&same)
        })
    });
    found
}

/// A variable, and what it is computed from as long as that is to be followed.
fn behind(
    reads: &FxHashMap<VarId, FxHashSet<VarId>>,
    var: VarId,
    follow: impl Fn(VarId) -> bool,
) -> FxHashSet<VarId> {
    let mut found: FxHashSet<VarId> = FxHashSet::default();
    let mut open = vec![var];
    while let Some(var) = open.pop() {
        if found.insert(var)
            && follow(var)
            && let Some(next) = reads.get(&var)
        {
            open.extend(next);
        }
    }
    found
}

/// Calls `f` on the requests in an expression, but not on those that name no variables.
fn requests(e: &Expr, f: &mut dyn FnMut(Asked)) {
    if let ExprKind::Derivative(
        Derivative::Quotient { target, parameter } | Derivative::Product { target, parameter, .. },
    ) = &*e.kind
        && let (Some((target, _)), Some((parameter, _))) = (named(target), named(parameter))
    {
        f(Asked { target, parameter, span: e.span });
    }
    each_child(e, &mut |child| requests(child, f));
}

/// What each variable of the program is computed from; what is captured, from what it is outside, and what
/// is passed, from what it is where it is passed.
fn all_reads(pass: &Pass<'_>) -> FxHashMap<VarId, FxHashSet<VarId>> {
    let program = &*pass.program;
    let mut reads: FxHashMap<VarId, FxHashSet<VarId>> = FxHashMap::default();
    let mut closures: Vec<(Option<FuncId>, Vec<Expr>)> = Vec::new();
    let mut bind = |var: VarId, value: &Expr| {
        let known = reads.entry(var).or_default();
        pass.reads_in(value, known, &mut FxHashSet::default());
    };
    each_body(program, &mut |body| bindings(body, &mut bind, &mut closures));
    for stmt in &program.top {
        bindings_of(stmt, &mut bind, &mut closures);
    }
    let mut pass_on = |e: &Expr| {
        any(e, &mut |part| {
            if let ExprKind::Call { func, args, .. } = &*part.kind {
                for (var, arg) in program.funcs[*func].params.iter().zip(args) {
                    bind(*var, arg);
                }
            }
            false
        });
    };
    each_body(program, &mut pass_on);
    program.top.iter().for_each(|stmt| each_in_stmt(stmt, &mut pass_on));
    for (func, callee) in program.funcs.iter_enumerated() {
        for (known, captures) in &closures {
            let name = |var: &VarId| program.vars[*var].name;
            let alike = || {
                callee.captures.iter().zip(captures).all(|(var, value)| match &*value.kind {
                    ExprKind::Var(outside) => name(var) == name(outside),
                    _ => true,
                })
            };
            let own = known.map_or_else(alike, |known| known == func);
            if callee.captures.len() == captures.len() && own {
                for (var, value) in callee.captures.iter().zip(captures) {
                    let known = reads.entry(*var).or_default();
                    pass.reads_in(value, known, &mut FxHashSet::default());
                }
            }
        }
    }
    reads
}

fn each_body(program: &Program, f: &mut dyn FnMut(&Expr)) {
    program.funcs.iter().for_each(|func| f(&func.body));
}

type Bind<'a> = dyn FnMut(VarId, &Expr) + 'a;

/// The bindings in an expression, and the closures that are made in it.
fn bindings(e: &Expr, bind: &mut Bind<'_>, closures: &mut Vec<(Option<FuncId>, Vec<Expr>)>) {
    let mut items = |items: &[Item]| {
        for item in items {
            if let Item::Let(var, value) = item {
                bind(*var, value);
            }
        }
    };
    match &*e.kind {
        ExprKind::Block { stmts, value } => {
            stmts.iter().for_each(|stmt| bindings_of(stmt, bind, closures));
            bindings(value, bind, closures);
            return;
        }
        ExprKind::Tensor(tensor) => {
            tensor.clauses.iter().for_each(|clause: &Clause| items(&clause.items));
            if let Some(var) = tensor.self_var {
                bind(var, e);
            }
        }
        ExprKind::Reduce(reduce) => items(&reduce.items),
        ExprKind::Scatter(scatter) => items(&scatter.items),
        ExprKind::Closure { func, captures } => closures.push((*func, captures.clone())),
        _ => {}
    }
    each_child(e, &mut |child| bindings(child, bind, closures));
}

fn bindings_of(stmt: &Stmt, bind: &mut Bind<'_>, closures: &mut Vec<(Option<FuncId>, Vec<Expr>)>) {
    match &stmt.kind {
        StmtKind::Let(var, value) => bind(*var, value),
        StmtKind::Destructure(pattern, value) => {
            let mut vars = Vec::new();
            super::pattern::bound_by(pattern, &mut vars);
            vars.into_iter().for_each(|var| bind(var, value));
        }
        StmtKind::Expr(_) | StmtKind::Require(_) => {}
    }
    each_in_stmt(stmt, &mut |e| bindings(e, bind, closures));
}

/// The function values that variables are bound to.
fn function_values(program: &Program) -> FxHashMap<VarId, Expr> {
    let mut values = FxHashMap::default();
    let mut bind = |var: VarId, value: &Expr| {
        if matches!(&*value.kind, ExprKind::Closure { .. } | ExprKind::Specialise { .. }) {
            values.insert(var, value.clone());
        }
    };
    each_body(program, &mut |body| bindings(body, &mut bind, &mut Vec::new()));
    program.top.iter().for_each(|stmt| bindings_of(stmt, &mut bind, &mut Vec::new()));
    values
}

/// What a function value captured.
fn captured(value: &Expr, values: &FxHashMap<VarId, Expr>) -> Option<Vec<Expr>> {
    match &*value.kind {
        ExprKind::Closure { captures, .. } => Some(captures.clone()),
        ExprKind::Specialise { value, .. } => captured(value, values),
        ExprKind::Var(var) => captured(values.get(var)?, values),
        ExprKind::Host(HostOp::MergeClosures, args) => {
            let all: Option<Vec<Vec<Expr>>> =
                args.iter().map(|arg| captured(arg, values)).collect();
            Some(all?.concat())
        }
        _ => None,
    }
}

/// Puts bodies in the place of calls.
fn write_out(
    pass: &mut Pass<'_>,
    e: &mut Expr,
    funcs: &FxHashSet<FuncId>,
    values: &FxHashMap<VarId, Expr>,
    written: &mut bool,
) {
    each_child_mut(e, &mut |child| write_out(pass, child, funcs, values, written));
    let ExprKind::Call { func, sizes, closure, args } = &*e.kind else { return };
    // A function that calls itself cannot be written out.
    if !funcs.contains(func) || pass.frame == Frame::Func(*func) {
        return;
    }
    let captures = match closure {
        Some(closure) => captured(closure, values),
        None => Some(Vec::new()),
    };
    let Some(captures) = captures else { return };
    let call = Call { func: *func, sizes: sizes.clone(), captures, args: args.clone() };
    if let Some((stmts, value)) = unfolded(pass, &call, e.span) {
        let kind = ExprKind::Block { stmts, value };
        *e = Expr::new(kind, e.ty.clone(), e.span);
        *written = true;
    }
}
