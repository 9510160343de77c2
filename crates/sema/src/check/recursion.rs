//! Whether recursion ends: a size, or a sum of sizes, that falls at every call of a function by
//! itself does so only finitely often, because sizes are never negative; a call that decides the
//! same branches again leads back to itself for ever.
//!
//! Needs: bodies that are checked, without errors.
//! Limit: only calls of a function by its own name, and only measures that are sums of some of its
//! first few size parameters. Nothing is said where neither holds.

use super::state::{Build, Index, Infer, Report};
use ein_base::{Code, Diagnostic, Span, Symbol};
use ein_ir::size::{self, Facts};
use ein_ir::tensor::walk::each_child;
use ein_ir::tensor::{AtomDef, Expr, ExprKind, FuncId, Place, StmtKind, VarId};
use ein_scalar::{BinaryOp, UnaryOp};

/// How many size parameters are combined to a measure.
const MEASURED: usize = 4;

/// Why the recursion of a function ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecursionFact {
    /// The function.
    pub name: Symbol,
    /// Where it is declared.
    pub span: Span,
    /// What falls at every call.
    pub why: String,
}

/// A call of a function by itself.
struct SelfCall {
    sizes: Vec<size::Expr>,
    args: Vec<Expr>,
    /// What is known on the path to it.
    facts: Facts,
    /// The conditions on that path, each with how it came out.
    path: Vec<(Expr, bool)>,
    /// Whether nothing but those conditions decides that it is reached.
    certain: bool,
    span: Span,
}

/// The function whose calls are looked for, and what was found.
struct Search {
    func: FuncId,
    path: Vec<(Expr, bool)>,
    calls: Vec<SelfCall>,
}

/// Says of every function that calls itself why it ends, or that it does not.
pub(super) fn check_recursion(infer: &Infer, ix: &Index, build: &Build, report: &mut Report) {
    if report.diagnostics.iter().any(Diagnostic::is_error) {
        return;
    }
    let recursive = infer.instances.items.iter().filter(|instance| instance.recursive);
    let recursive: Vec<FuncId> = recursive.map(|instance| instance.func).collect();
    for func in recursive {
        let mut search = Search { func, path: Vec::new(), calls: Vec::new() };
        let mut facts = Facts::default();
        for var in &build.out.funcs[func].sizes {
            if let Some(size) = ix.var_sizes.get(var) {
                facts.ge0(size.clone());
            }
        }
        find_calls(ix, &build.out.funcs[func].body, &mut search, &facts, true);
        if search.calls.is_empty() {
            continue;
        }
        match falling_measure(ix, build, func, &search.calls) {
            Some(why) => note_recursion(build, report, func, why),
            None => warn_of_endless(ix, build, report, func, &search.calls),
        }
    }
}

fn note_recursion(build: &Build, report: &mut Report, func: FuncId, why: String) {
    let (name, span) = (build.out.funcs[func].name, build.out.funcs[func].span);
    if !report.recursions.iter().any(|known| known.span == span) {
        report.recursions.push(RecursionFact { name, span, why });
    }
}

fn find_calls(ix: &Index, e: &Expr, search: &mut Search, facts: &Facts, certain: bool) {
    let branch = |on: &Expr, holds: bool, body: &Expr, search: &mut Search| {
        let mut inner = facts.clone();
        ix.assume(on, holds, &mut inner);
        search.path.push((on.clone(), holds));
        find_calls(ix, body, search, &inner, certain);
        search.path.pop();
    };
    match &*e.kind {
        ExprKind::If { cond, then, otherwise } => {
            find_calls(ix, cond, search, facts, certain);
            branch(cond, true, then, search);
            branch(cond, false, otherwise, search);
        }
        ExprKind::And(a, b) | ExprKind::Or(a, b) => {
            find_calls(ix, a, search, facts, certain);
            branch(a, matches!(&*e.kind, ExprKind::And(..)), b, search);
        }
        ExprKind::Block { stmts, value } => {
            for stmt in stmts {
                match &stmt.kind {
                    StmtKind::Let(_, value)
                    | StmtKind::Destructure(_, value)
                    | StmtKind::Expr(value) => find_calls(ix, value, search, facts, certain),
                    StmtKind::Require(_) => {}
                }
            }
            find_calls(ix, value, search, facts, certain);
        }
        ExprKind::Call { func, sizes, args, .. } => {
            each_child(e, &mut |child| find_calls(ix, child, search, facts, certain));
            if *func == search.func {
                search.calls.push(SelfCall {
                    sizes: sizes.clone(),
                    args: args.clone(),
                    facts: facts.clone(),
                    path: search.path.clone(),
                    certain,
                    span: e.span,
                });
            }
        }
        kind => {
            // What runs for each point, for one pattern or later may not run at all.
            let certain = certain && !may_skip(kind);
            each_child(e, &mut |child| find_calls(ix, child, search, facts, certain));
        }
    }
}

// ---------------------------------------------------------------- it ends

/// A sum of sizes that falls at every call, in words.
fn falling_measure(ix: &Index, build: &Build, func: FuncId, calls: &[SelfCall]) -> Option<String> {
    let vars = &build.out.funcs[func].sizes;
    let count = vars.len().min(MEASURED);
    let mut subsets: Vec<u32> = (1..1u32 << count).collect();
    subsets.sort_by_key(|subset| subset.count_ones());
    subsets.into_iter().find_map(|subset| {
        let chosen: Vec<usize> = (0..count).filter(|at| subset & (1 << at) != 0).collect();
        let falls: Option<Vec<size::Expr>> =
            calls.iter().map(|call| fall(ix, vars, &chosen, call)).collect();
        let names: Vec<String> =
            chosen.iter().map(|at| ix.vars[vars[*at]].name.to_string()).collect();
        let by = falls?.iter().map(size::Expr::as_constant).reduce(|a, b| a.min(b)).flatten();
        let name = names.join(" + ");
        Some(match by {
            Some(by) if calls.len() == 1 => format!("`{name}` falls by {by} at every call"),
            Some(by) => format!("`{name}` falls by {by} or more at every call"),
            None => format!("`{name}` falls at every call"),
        })
    })
}

/// How much the sum of some sizes falls at a call, if it certainly does.
fn fall(ix: &Index, vars: &[VarId], chosen: &[usize], call: &SelfCall) -> Option<size::Expr> {
    let mut fall = size::Expr::zero();
    for at in chosen {
        fall = fall.add(ix.var_sizes.get(&vars[*at])?).sub(call.sizes.get(*at)?);
    }
    size::prove_ge0(&call.facts, &fall.offset(-1)).is_proved().then_some(fall)
}

// ---------------------------------------------------------------- it does not

fn warn_of_endless(
    ix: &Index,
    build: &Build,
    report: &mut Report,
    func: FuncId,
    calls: &[SelfCall],
) {
    let endless = calls.iter().find(|call| {
        let again = |(cond, holds): &(Expr, bool)| holds_again(ix, build, cond, *holds, func, call);
        call.certain && call.path.iter().all(again)
    });
    let Some(call) = endless else { return };
    let name = build.out.funcs[func].name;
    let (message, here) = match call.path.is_empty() {
        true => (
            format!("`{name}` calls itself whatever its arguments are: this never ends"),
            "every call comes to this one",
        ),
        false => (
            format!("this call of `{name}` by itself comes to the same call again: it never ends"),
            "the conditions on the way here hold again",
        ),
    };
    let d = Diagnostic::new(Code::W0204, call.span, message)
        .here(here)
        .label(build.out.funcs[func].span, "in this function")
        .help("call it with a smaller size, or change what a condition on the way reads");
    report.report_at(d);
}

/// Whether a condition certainly comes out the same way inside the call.
fn holds_again(
    ix: &Index,
    build: &Build,
    cond: &Expr,
    holds: bool,
    func: FuncId,
    call: &SelfCall,
) -> bool {
    if stable(ix, build, cond, func, call) {
        return true;
    }
    match &*cond.kind {
        ExprKind::And(a, b) if holds => {
            holds_again(ix, build, a, true, func, call)
                && holds_again(ix, build, b, true, func, call)
        }
        ExprKind::Or(a, b) if !holds => {
            holds_again(ix, build, a, false, func, call)
                && holds_again(ix, build, b, false, func, call)
        }
        ExprKind::Unary(UnaryOp::Not, a) => holds_again(ix, build, a, !holds, func, call),
        ExprKind::Block { stmts, value } if stmts.is_empty() => {
            holds_again(ix, build, value, holds, func, call)
        }
        ExprKind::Binary(op, a, b) => {
            let inside = |e: &Expr| self::inside(ix, build, &ix.to_size(e)?, func, call);
            let (Some(a), Some(b)) = (inside(a), inside(b)) else { return false };
            compares(*op, &a, &b, holds, &call.facts)
        }
        _ => false,
    }
}

/// A size as it is inside the call; nothing if that is not known.
fn inside(
    ix: &Index,
    build: &Build,
    size: &size::Expr,
    func: FuncId,
    call: &SelfCall,
) -> Option<size::Expr> {
    let known = size.atoms().into_iter().all(|atom| passed(ix, build, atom, func, call).is_some());
    known.then(|| size.substitute(&|atom| passed(ix, build, atom, func, call)))
}

/// What the call gives for a size, a parameter or its extent.
fn passed(
    ix: &Index,
    build: &Build,
    atom: size::Atom,
    func: FuncId,
    call: &SelfCall,
) -> Option<size::Expr> {
    let function = &build.out.funcs[func];
    let place = |var: VarId| function.params.iter().position(|param| *param == var);
    match ix.atoms[atom].def {
        AtomDef::Var(var) => match function.sizes.iter().position(|size| *size == var) {
            Some(at) => call.sizes.get(at).cloned(),
            None => ix.to_size(call.args.get(place(var)?)?),
        },
        AtomDef::Extent(var, axis) => {
            Some(call.args.get(place(var)?)?.ty.axes().get(axis)?.size.clone())
        }
        AtomDef::Length(_) | AtomDef::Unknown => None,
    }
}

/// Whether a condition reads only what the call leaves as it is.
fn stable(ix: &Index, build: &Build, e: &Expr, func: FuncId, call: &SelfCall) -> bool {
    match &*e.kind {
        ExprKind::Var(var) => {
            let place = build.out.funcs[func].params.iter().position(|param| param == var);
            match place.and_then(|at| call.args.get(at)) {
                Some(arg) => matches!(*arg.kind, ExprKind::Var(given) if given == *var),
                None => matches!(ix.vars[*var].place, Place::Global(_)),
            }
        }
        ExprKind::Size(size) => inside(ix, build, size, func, call).is_some_and(|it| it == *size),
        // What these give may differ from one time to the next.
        ExprKind::Host(..) | ExprKind::Call { .. } | ExprKind::CallValue { .. } => false,
        kind => {
            let mut stable = !may_skip(kind);
            each_child(e, &mut |child| {
                stable = stable && self::stable(ix, build, child, func, call)
            });
            stable
        }
    }
}

/// Whether parts of this run for each point, for one pattern, or later.
fn may_skip(kind: &ExprKind) -> bool {
    matches!(
        kind,
        ExprKind::Match { .. }
            | ExprKind::Tensor(_)
            | ExprKind::Reduce(_)
            | ExprKind::Scatter(_)
            | ExprKind::Comprehension { .. }
            | ExprKind::Closure { .. }
            | ExprKind::Try(_)
            | ExprKind::Derivative(_)
            | ExprKind::Error
    )
}

/// Whether a comparison certainly comes out this way.
fn compares(op: BinaryOp, a: &size::Expr, b: &size::Expr, holds: bool, facts: &Facts) -> bool {
    let truth = match (op, holds) {
        (BinaryOp::Lt, true) | (BinaryOp::Ge, false) => size::prove_lt(facts, a, b),
        (BinaryOp::Le, true) | (BinaryOp::Gt, false) => size::prove_le(facts, a, b),
        (BinaryOp::Gt, true) | (BinaryOp::Le, false) => size::prove_lt(facts, b, a),
        (BinaryOp::Ge, true) | (BinaryOp::Lt, false) => size::prove_le(facts, b, a),
        (BinaryOp::Eq, true) | (BinaryOp::Ne, false) => size::prove_eq(facts, a, b),
        (BinaryOp::Ne, true) | (BinaryOp::Eq, false) => size::prove_ne(facts, a, b),
        _ => return false,
    };
    truth.is_proved()
}
