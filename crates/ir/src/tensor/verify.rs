//! The rules that every checked program keeps.
//!
//! Ids and tables
//! * Every id is in range; elements of arrays are not arrays; no type of a function, an expression
//!   or a variable that is bound is or contains an error.
//! * A global lives below `global_slots`, a local below the slots of the one function that binds it
//!   (or of the top level).
//! * Outputs are globals that the top level binds. `main` and tests take nothing.
//!
//! Scopes
//! * A variable is bound before it is used, in expressions and in the sizes that are computed, and
//!   where it is used it is in scope. Functions may read any global that the top level binds.
//! * The alternatives of a pattern bind the same variables.
//!
//! Types (two types *agree* if they differ at most in coordinates and sizes)
//! * The operands and the result of a scalar operation are scalars as `ein-scalar` says; conditions
//!   and guards are `bool`; indices, domains and the ends of ranges and slices are integers.
//! * A read has at most as many indices as the array has axes; views name axes that are there.
//! * A definition has a slot per declared axis in every clause, values with its inner axes, and
//!   index variables of type `i32`; its recurrence orders declared axes, each once.
//! * A reduction takes scalars and has the type that its operation gives. A scatter adds numbers to
//!   cells, with one index per axis of the result.
//! * A call has the sizes, captures and arguments of its function; components, variants and fields
//!   exist; bindings, branches and arms agree with the value they are for.
//!
//! * No `Error` node is left, and, where `autodiff` has run, no derivative request. There a function
//!   and its tangents bind the same variables, each in its own frame.
//!
//! Limit: extents are not compared (that is the solver's work), nor what the run-time library is
//! given.

mod define;
mod expr;
mod pattern;
mod types;

use super::{AtomDef, Expr, FuncId, Place, Program, Require, Stmt, StmtKind, Type, VarId};
use crate::size;
use ein_base::Idx;
use std::fmt;

/// A rule that a program breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The function it is in, or the top level.
    pub place: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Checks a program; the violations come in the order of the program.
pub fn verify(program: &Program) -> Result<(), Vec<Violation>> {
    run(program, true)
}

/// Checks a program from which `autodiff` has removed all derivative requests.
pub fn verify_differentiated(program: &Program) -> Result<(), Vec<Violation>> {
    run(program, false)
}

fn run(program: &Program, derivatives: bool) -> Result<(), Vec<Violation>> {
    let mut verifier = Verifier {
        program,
        derivatives,
        place: "tables".into(),
        owner: Owner::Top,
        slots: program.top_slots,
        owners: vec![None; program.vars.len()],
        ever: vec![false; program.vars.len()],
        bound: vec![0; program.vars.len()],
        scope: Vec::new(),
        violations: Vec::new(),
    };
    verifier.program();
    if verifier.violations.is_empty() { Ok(()) } else { Err(verifier.violations) }
}

/// Whose frame a local lives in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Top,
    Func(FuncId),
}

struct Verifier<'a> {
    program: &'a Program,
    /// Whether derivative requests are allowed.
    derivatives: bool,
    place: String,
    owner: Owner,
    /// The slots of the function being looked at.
    slots: u32,
    /// Who binds each local.
    owners: Vec<Option<Owner>>,
    /// Whether the variable is bound anywhere.
    ever: Vec<bool>,
    /// How often each variable is bound in the scopes that are open.
    bound: Vec<u32>,
    /// The variables of the open scopes.
    scope: Vec<VarId>,
    violations: Vec<Violation>,
}

impl<'a> Verifier<'a> {
    fn program(&mut self) {
        let program = self.program;
        self.tables();
        self.place = "top level".into();
        for stmt in &program.top {
            self.stmt(stmt);
        }
        for var in &program.outputs {
            let at_top = self.bound.get(var.index()).is_some_and(|count| *count > 0);
            let global = matches!(self.place_of(*var), Some(Place::Global(_)));
            self.check(at_top && global, || format!("output {var} is not a global that is bound"));
        }
        self.leave(0);
        for id in program.funcs.ids() {
            self.func(id);
        }
        let entries = program.tests.iter().map(|(_, _, func)| *func).chain(program.main);
        for func in entries {
            self.place = format!("entry {func}");
            match program.funcs.get(func) {
                Some(info) => {
                    let bare =
                        info.params.is_empty() && info.sizes.is_empty() && info.captures.is_empty();
                    self.check(bare, || "`main` and tests take nothing".into());
                }
                None => self.report(format!("there is no function {func}")),
            }
        }
    }

    fn tables(&mut self) {
        let program = self.program;
        for (id, var) in program.vars.iter_enumerated() {
            self.place = format!("variable {}_{}", var.name, id.index());
            if let Place::Global(slot) = var.place {
                self.check(slot < program.global_slots, || {
                    format!("there is no global slot {slot}")
                });
            }
        }
        for (id, atom) in program.atoms.iter_enumerated() {
            self.place = format!("atom {}_{}", atom.name, id.index());
            match atom.def {
                AtomDef::Unknown => {}
                AtomDef::Var(var) | AtomDef::Length(var) | AtomDef::Extent(var, _) => {
                    self.check(program.vars.get(var).is_some(), || {
                        format!("there is no variable {var}")
                    });
                }
            }
            if let AtomDef::Extent(var, axis) = atom.def
                && let Some(Type::Array(array)) = program.vars.get(var).map(|var| &var.ty)
            {
                self.check(axis < array.axes.len(), || format!("{var} has no axis {axis}"));
            }
        }
    }

    fn func(&mut self, id: FuncId) {
        let func = &self.program.funcs[id];
        self.place = format!("function {}_{}", func.name, id.index());
        self.owner = Owner::Func(id);
        self.slots = func.slots;
        for var in func.sizes.iter().chain(&func.captures).chain(&func.params) {
            self.bind(*var);
        }
        for var in &func.sizes {
            let int = self.var_type(*var).is_some_and(is_int);
            self.check(int, || format!("the size {var} is not an integer"));
        }
        self.ty(&func.ret);
        self.expr(&func.body);
        self.agrees(&func.ret, &func.body.ty, "the result");
        self.leave(0);
    }

    // ---------------------------------------------------------------- reports

    fn report(&mut self, message: String) {
        let place = self.place.clone();
        self.violations.push(Violation { place, message });
    }

    fn check(&mut self, holds: bool, message: impl FnOnce() -> String) {
        if !holds {
            self.report(message());
        }
    }

    // ---------------------------------------------------------------- scopes

    fn place_of(&self, var: VarId) -> Option<Place> {
        self.program.vars.get(var).map(|info| info.place)
    }

    fn var_type(&self, var: VarId) -> Option<&'a Type> {
        self.program.vars.get(var).map(|info| &info.ty)
    }

    fn name(&self, var: VarId) -> String {
        match self.program.vars.get(var) {
            Some(info) => format!("{}_{}", info.name, var.index()),
            None => var.to_string(),
        }
    }

    /// Brings a variable into scope.
    fn bind(&mut self, var: VarId) {
        let name = self.name(var);
        match self.place_of(var) {
            None => return self.report(format!("there is no variable {var}")),
            Some(Place::Global(_)) => {
                let top = self.owner == Owner::Top;
                self.check(top, || format!("a function binds the global {name}"));
            }
            Some(Place::Local(slot)) => {
                let slots = self.slots;
                self.check(slot < slots, || format!("{name} lives in slot {slot} of {slots}"));
                let before = self.owners[var.index()].replace(self.owner);
                let own = before.is_none_or(|before| before == self.owner) || !self.derivatives;
                self.check(own, || format!("two functions bind {name}"));
            }
        }
        if !std::mem::replace(&mut self.ever[var.index()], true)
            && let Some(ty) = self.var_type(var)
        {
            self.ty(ty);
        }
        self.bound[var.index()] += 1;
        self.scope.push(var);
    }

    /// Closes the scopes opened since there were `start` variables in scope.
    fn leave(&mut self, start: usize) {
        while self.scope.len() > start {
            if let Some(var) = self.scope.pop() {
                self.bound[var.index()] -= 1;
            }
        }
    }

    /// A variable that is read.
    fn used(&mut self, var: VarId) {
        let name = self.name(var);
        match self.place_of(var) {
            None => self.report(format!("there is no variable {var}")),
            Some(_) if self.bound[var.index()] > 0 => {}
            Some(Place::Global(_)) if self.owner != Owner::Top => {
                let ever = self.ever[var.index()];
                self.check(ever, || format!("the global {name} is bound nowhere"));
            }
            Some(_) => self.report(format!("{name} is used where it is not bound")),
        }
    }

    /// A size that is computed.
    fn size(&mut self, size: &size::Expr) {
        for atom in size.atoms() {
            match self.program.atoms.get(atom).map(|info| info.def) {
                None => self.report(format!("there is no atom {atom}")),
                Some(AtomDef::Var(var) | AtomDef::Length(var) | AtomDef::Extent(var, _)) => {
                    self.used(var);
                }
                Some(AtomDef::Unknown) => {}
            }
        }
    }

    fn require(&mut self, require: &Require) {
        self.size(&require.left);
        self.size(&require.right);
    }

    // ---------------------------------------------------------------- statements

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Let(var, value) => self.let_var(*var, value),
            StmtKind::Destructure(pattern, value) => {
                self.expr(value);
                self.pattern(pattern, &value.ty);
            }
            StmtKind::Expr(value) => self.expr(value),
            StmtKind::Require(require) => self.require(require),
        }
    }

    fn let_var(&mut self, var: VarId, value: &Expr) {
        self.expr(value);
        if let Some(ty) = self.var_type(var) {
            let name = self.name(var);
            self.agrees(ty, &value.ty, &format!("the value of {name}"));
        }
        self.bind(var);
    }
}

/// Whether it is an integer.
fn is_int(ty: &Type) -> bool {
    matches!(ty, Type::Scalar(scalar) if scalar.is_int())
}
