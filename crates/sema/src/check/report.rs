//! The whole program: what is checked, and in which order.

use super::bounds::Prover;
use super::ledger::Ledger;
use super::paths::Path;
use super::{Cx, FnState};
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

impl Cx<'_> {
    pub(super) fn program(&mut self) {
        let hir = self.hir;
        let mut second = Second::default();
        for module in &hir.init_order {
            self.top_level(*module, &mut second);
        }
        self.settle_outputs();
        self.uncalled_functions();
        if let Some(main) = hir.main
            && let Some(function) = self.function(main)
        {
            if function.params.is_empty() {
                let name = hir.defs[main].name;
                let at = self.instance_of(
                    main,
                    Vec::new(),
                    vec![0; function.packs.len()],
                    Vec::new(),
                    (name.sym, name.span),
                    false,
                );
                self.out.main = at.map(|at| self.instances.items[at].func);
            } else {
                let name = hir.defs[main].name;
                let d = super::error(
                    ein_base::Code::E0508,
                    name.span,
                    "`main` is called without arguments, so it takes no parameters",
                )
                .here("has parameters")
                .help("give it another name, or read values with `input()`");
                self.report_at(d);
            }
        }
        self.check_tests();
        self.look_at_consts(&mut second);
        self.look_at_funcs(&mut second);
        self.note_broadcasts(second.ledger);
        let mut top = std::mem::take(&mut self.const_stmts);
        top.append(&mut self.out.top);
        self.out.top = top;
    }

    /// Gives the reads of a statement of the top level their verdicts and finds its broadcasts.
    fn look_at_stmts(&mut self, stmts: &mut [Stmt], second: &mut Second) {
        for stmt in stmts {
            self.walk_stmt(stmt, &mut second.path, &mut second.prover);
            self.broadcasts_of_stmt(&stmt.kind, &mut second.ledger);
        }
    }

    /// The same for functions, of which everything is known when all were checked.
    fn look_at_funcs(&mut self, second: &mut Second) {
        for func in self.out.funcs.ids() {
            self.bounds_of_func(func, &mut second.prover);
            self.broadcasts_of_func(func, &mut second.ledger);
        }
    }

    /// The same for the statements that give new constants their values.
    fn look_at_consts(&mut self, second: &mut Second) {
        let mut new = self.const_stmts.split_off(second.consts);
        self.look_at_stmts(&mut new, second);
        self.const_stmts.append(&mut new);
        second.consts = self.const_stmts.len();
    }

    fn top_level(&mut self, module: ModuleId, second: &mut Second) {
        let hir = self.hir;
        self.f = FnState { top: true, pending: vec![Vec::new()], ..FnState::default() };
        self.root_module = module.index() == 0;
        for stmt in &hir.modules[module].stmts {
            self.stmt(stmt);
            let mut stmts = match self.f.pending.first_mut() {
                Some(stmts) => std::mem::take(stmts),
                None => Vec::new(),
            };
            self.look_at_consts(second);
            self.look_at_stmts(&mut stmts, second);
            self.out.top.extend(stmts);
        }
        self.out.top_slots = self.out.top_slots.max(self.f.slots);
    }

    /// Functions of the program's own modules that no call has reached, and constants.
    fn uncalled_functions(&mut self) {
        let hir = self.hir;
        let own = |module: ModuleId| !hir.modules[module].library;
        // Constants first: a function is tried for several types, and what it reads is not.
        for (def, item) in hir.defs.iter_enumerated().filter(|(_, item)| own(item.module)) {
            if let DefKind::Const(_) = item.kind {
                self.const_value(def, item.name.span);
            }
        }
        for (def, item) in hir.defs.iter_enumerated().filter(|(_, item)| own(item.module)) {
            if let DefKind::Fn(_) = item.kind {
                self.check_result_sizes(def);
                self.check_uncalled(def);
            }
        }
    }

    fn check_tests(&mut self) {
        let hir = self.hir;
        for module in hir.modules.iter() {
            if module.library && !self.check_library {
                continue;
            }
            for test in &module.tests {
                let key = super::instance::Key {
                    source: super::instance::Source::Closure(test.body),
                    captures: Vec::new(),
                    params: Vec::new(),
                    packs: Vec::new(),
                    types: Vec::new(),
                };
                let name = ein_base::Name { sym: test.name, span: test.span };
                let at = self.new_instance(key, name);
                self.fill_instance(at, |cx| {
                    cx.f.statement = true;
                    let value = cx.open_value(test.body, None, None);
                    if value.ty == Type::Unit { value } else { cx.discard(value) }
                });
                let func = self.instances.items[at].func;
                self.out.tests.push((test.name, test.span, func));
            }
        }
    }
}
