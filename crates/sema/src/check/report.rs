//! The whole program: what is checked, and in which order.

use super::bounds::{Prover, Proving};
use super::instance::{Key, Source};
use super::ledger::Ledger;
use super::paths::Path;
use super::state::{Build, Index, Report};
use super::{Cx, bounds, close, consts, expr, facts, function, ledger, paths, stmt};
use crate::hir::{DefKind, ModuleId};
use ein_base::Idx;
use ein_ir::size::Facts;
use ein_ir::tensor::{Stmt, Type};

/// The second look at statements, for their bounds and broadcasts: right after the first, while they
/// are at hand.
struct Second {
    prover: Prover,
    ledger: Ledger,
    /// What the statements of the top level say, up to here.
    path: Path,
    /// How many statements of constants were looked at.
    consts: usize,
}

impl Default for Second {
    fn default() -> Self {
        let (prover, ledger) = (Prover::default(), Ledger::default());
        Self { prover, ledger, path: Path::new(Facts::new()), consts: 0 }
    }
}

pub(super) fn program(cx: &mut Cx) {
    let hir = cx.hir;
    let mut second = Second::default();
    for module in &hir.init_order {
        top_level(cx, *module, &mut second);
    }
    facts::settle_outputs(&cx.ix, &mut cx.build, &mut cx.report);
    uncalled_functions(cx);
    if let Some(main) = hir.main
        && let Some(function) = function::function(cx.hir, main)
    {
        if function.params.is_empty() {
            let name = hir.defs[main].name;
            let at = function::instance_of(
                cx,
                main,
                Vec::new(),
                vec![0; function.packs.len()],
                Vec::new(),
                (name.sym, name.span),
                false,
            );
            cx.build.out.main = at.map(|at| cx.infer.instances.items[at].func);
        } else {
            let name = hir.defs[main].name;
            let d = super::error(
                ein_base::Code::E0508,
                name.span,
                "`main` is called without arguments, so it takes no parameters",
            )
            .here("has parameters")
            .help("give it another name, or read values with `input()`");
            cx.report.report_at(d);
        }
    }
    check_tests(cx);
    look_at_consts(&mut cx.ix, &mut cx.build, &mut cx.report, &mut second);
    look_at_funcs(&mut cx.ix, &mut cx.build, &mut cx.report, &mut second);
    ledger::note_broadcasts(&cx.ix, &mut cx.report, second.ledger);
    let mut top = std::mem::take(&mut cx.build.const_stmts);
    top.append(&mut cx.build.out.top);
    cx.build.out.top = top;
}

/// Gives the reads of a statement of the top level their verdicts and finds its broadcasts.
fn look_at_stmts(
    ix: &mut Index,
    build: &Build,
    report: &mut Report,
    stmts: &mut [Stmt],
    second: &mut Second,
) {
    for stmt in stmts {
        let mut proving = Proving { prover: &mut second.prover, report };
        paths::walk::walk_stmt(ix, build, stmt, &mut second.path, &mut proving);
        ledger::broadcasts_of_stmt(ix, &stmt.kind, &mut second.ledger);
    }
}

/// The same for functions, of which everything is known when all were checked.
fn look_at_funcs(ix: &mut Index, build: &mut Build, report: &mut Report, second: &mut Second) {
    for func in build.out.funcs.ids() {
        report.instantiated_at = report.led_to.get(&func).cloned().unwrap_or_default();
        let mut proving = Proving { prover: &mut second.prover, report };
        bounds::bounds_of_func(ix, build, func, &mut proving);
        ledger::broadcasts_of_func(ix, build, func, &mut second.ledger);
    }
    report.instantiated_at.clear();
}

/// The same for the statements that give new constants their values.
fn look_at_consts(ix: &mut Index, build: &mut Build, report: &mut Report, second: &mut Second) {
    let mut new = build.const_stmts.split_off(second.consts);
    look_at_stmts(ix, build, report, &mut new, second);
    build.const_stmts.append(&mut new);
    second.consts = build.const_stmts.len();
}

fn top_level(cx: &mut Cx, module: ModuleId, second: &mut Second) {
    let hir = cx.hir;
    cx.enter_frame(true);
    cx.infer.root_module = module.index() == 0;
    for stmt in &hir.modules[module].stmts {
        stmt::stmt(cx, stmt);
        let mut stmts = match cx.build.f.pending.first_mut() {
            Some(stmts) => std::mem::take(stmts),
            None => Vec::new(),
        };
        look_at_consts(&mut cx.ix, &mut cx.build, &mut cx.report, second);
        look_at_stmts(&mut cx.ix, &cx.build, &mut cx.report, &mut stmts, second);
        cx.build.out.top.extend(stmts);
    }
    cx.build.out.top_slots = cx.build.out.top_slots.max(cx.ix.f.slots);
}

/// Functions of the program's own modules that no call has reached, and constants.
fn uncalled_functions(cx: &mut Cx) {
    let hir = cx.hir;
    let own = |module: ModuleId| !hir.modules[module].library;
    for (def, item) in hir.defs.iter_enumerated().filter(|(_, item)| own(item.module)) {
        if let DefKind::Const(_) = item.kind {
            consts::const_value(cx, def, item.name.span);
        }
    }
    for (def, item) in hir.defs.iter_enumerated().filter(|(_, item)| own(item.module)) {
        if let DefKind::Fn(_) = item.kind {
            function::check_uncalled(cx, def);
        }
    }
}

fn check_tests(cx: &mut Cx) {
    let hir = cx.hir;
    for module in hir.modules.iter() {
        if module.library {
            continue;
        }
        for test in &module.tests {
            let key = Key::new(Source::Closure(test.body), &[], &[]);
            let name = ein_base::Name { sym: test.name, span: test.span };
            let at = function::instance(cx, key, name, None, |cx, _| {
                cx.infer.f.statement = true;
                let value = close::open_value(cx, test.body, None, None);
                if value.ty == Type::Unit { value } else { expr::branch::discard(value) }
            });
            let Some(at) = at else { continue };
            let func = cx.infer.instances.items[at].func;
            cx.build.out.tests.push((test.name, test.span, func));
        }
    }
}
