//! How the bindings of the top level are stored, and why: a report.
//!
//! Where there is a plan, it says how histories are kept ([`History`]). For extents that only a run
//! knows there is none, and the report is about the bindings of the program, of which a plan may have
//! several arrays, or none: so what is read of a recurrence is found in tensor IR, and how many steps that
//! keeps, and the words for it, are those of the plan ([`Kept`]). The plan may keep fewer: there a new
//! cell may take the place of the oldest that it reads.
//!
//! * A number is a `scalar`; a piece or another name of an array is a `view`.
//! * A recurrence of which only the last steps are read keeps a `ring` of
//!   `max(lookback + 1, tail)` steps: `lookback` is its deepest self-read along the recurrence
//!   axis, `tail` the deepest later read from the end. Steps that are read at multiples of a number
//!   are kept beside the ring.
//! * A cheap definition that is only read element by element is `fused` into its readers.
//! * A recurrence whose history derivatives read back, and which is too large for them, is
//!   `checkpointed`: some steps are kept, the others computed again.
//! * Recursion on shrinking arrays that overwrites one buffer works `in_place`.
//! * Everything else is stored `full`.
//!
//! Needs: a checked program with its outputs chosen, and what the schedule says of its histories.
//! Limit: one axis of a recurrence is a ring.

mod observe;

use self::observe::{Observation, Steps, common};
use crate::flatten;
use crate::schedule::plan::Kept;
use crate::schedule::{History, Keeps};
use ein_base::Symbol;
use ein_ir::size::{self, Atom};
use ein_ir::tensor::symbolic::to_size;
use ein_ir::tensor::walk::{any, each_child, each_in_stmt};
use ein_ir::tensor::{AtomDef, Expr, ExprKind, Program, StmtKind, Tensor, Type, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// How a binding is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storage {
    /// The binding.
    pub name: Symbol,
    /// How.
    pub kind: Kind,
    /// In words.
    pub why: String,
}

/// The ways to store a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Scalar,
    /// Every element.
    Full,
    /// The last steps of a recurrence.
    Ring(u32),
    /// Every so many steps of a recurrence; the others are computed again.
    Checkpointed(u32),
    /// Nothing: computed where it is read.
    Fused,
    /// A part, or another name, of what is stored elsewhere.
    View,
    /// One buffer, which a recursion overwrites step by step.
    InPlace,
}

impl Kind {
    /// Its name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Scalar => "scalar",
            Kind::Full => "full",
            Kind::Ring(_) => "ring",
            Kind::Checkpointed(_) => "checkpointed",
            Kind::Fused => "fused",
            Kind::View => "view",
            Kind::InPlace => "in_place",
        }
    }
}

/// The storage of every named binding of the top level, in source order.
pub fn plan(program: &Program, histories: &[History]) -> Vec<Storage> {
    let mut planner = Planner {
        program,
        histories,
        sizes: FxHashMap::default(),
        ranges: FxHashMap::default(),
        live: live(program),
    };
    planner.index_variables();
    let mut result = Vec::new();
    for stmt in &program.top {
        let StmtKind::Let(var, value) = &stmt.kind else { continue };
        if let Some(size) = planner.size(value) {
            planner.sizes.insert(*var, size);
        }
        let name = program.vars[*var].name;
        if name.as_str().starts_with('$') {
            continue;
        }
        let (kind, why) = match planner.system_of(value) {
            Some((system, tensor)) => planner.kept(system, tensor),
            None => planner.storage(*var, value),
        };
        result.push(Storage { name, kind, why });
    }
    result
}

/// The bindings of the top level that outputs, effects and functions look at.
fn live(program: &Program) -> FxHashSet<VarId> {
    fn reads(e: &Expr, live: &mut FxHashSet<VarId>) {
        if let ExprKind::Var(var) = &*e.kind {
            live.insert(*var);
        }
        each_child(e, &mut |child| reads(child, live));
    }
    let mut live: FxHashSet<VarId> = program.outputs.iter().copied().collect();
    for func in program.funcs.iter() {
        reads(&func.body, &mut live);
    }
    for stmt in program.top.iter().rev() {
        // A call may print or stop the program.
        let acts = |e: &Expr| {
            any(e, &mut |e| {
                matches!(
                    &*e.kind,
                    ExprKind::Host(..) | ExprKind::Call { .. } | ExprKind::CallValue { .. }
                )
            })
        };
        match &stmt.kind {
            StmtKind::Let(var, value) => {
                if acts(value) {
                    live.insert(*var);
                }
                if live.contains(var) {
                    reads(value, &mut live);
                }
            }
            StmtKind::Destructure(..) | StmtKind::Expr(_) | StmtKind::Require(_) => {
                each_in_stmt(stmt, &mut |e| reads(e, &mut live));
            }
        }
    }
    live
}

struct Planner<'p> {
    program: &'p Program,
    /// What derivatives read back.
    histories: &'p [History],
    /// Integer variables whose value is known symbolically.
    sizes: FxHashMap<VarId, size::Expr>,
    /// The domains of index variables.
    ranges: FxHashMap<Atom, (size::Expr, size::Expr)>,
    /// The bindings that an output, an effect or a function looks at.
    live: FxHashSet<VarId>,
}

impl<'p> Planner<'p> {
    /// The system of recurrences that a value is one name of.
    fn system_of(&self, value: &Expr) -> Option<(VarId, &'p Tensor)> {
        let var = viewed(value)?;
        let program: &'p Program = self.program;
        let is_system = program.vars[var].name.as_str().starts_with('$');
        let bound = program.top.iter().find_map(|stmt| match &stmt.kind {
            StmtKind::Let(own, value) if *own == var => Some(value),
            _ => None,
        });
        match &*bound.filter(|_| is_system)?.kind {
            ExprKind::Tensor(tensor) if tensor.self_var.is_some() => Some((var, tensor)),
            _ => None,
        }
    }
}

impl Planner<'_> {
    /// Index variables and size parameters stand for themselves.
    fn index_variables(&mut self) {
        for (atom, info) in self.program.atoms.iter_enumerated() {
            if let AtomDef::Var(var) = info.def {
                self.sizes.entry(var).or_insert_with(|| size::Expr::atom(atom));
            }
        }
    }

    fn size(&self, e: &Expr) -> Option<size::Expr> {
        to_size(e, &|e| match &*e.kind {
            ExprKind::Var(var) => self.sizes.get(var).cloned(),
            _ => None,
        })
    }

    fn storage(&mut self, var: VarId, value: &Expr) -> (Kind, String) {
        if !value.ty.is_array() {
            return (Kind::Scalar, "not an array".into());
        }
        match &*value.kind {
            ExprKind::Tensor(tensor) if tensor.self_var.is_some() => self.kept(var, tensor),
            ExprKind::Tensor(tensor) if self.is_fused(var, tensor) => {
                (Kind::Fused, "computed where it is read, at the same points".into())
            }
            ExprKind::Var(_) => (Kind::View, "another name for a value".into()),
            ExprKind::Slice { base, .. }
            | ExprKind::Permute { base, .. }
            | ExprKind::Index { base, .. }
                if is_stored(base) =>
            {
                (Kind::View, "a part of another array".into())
            }
            ExprKind::Call { .. } => self.call(var, value),
            _ => (Kind::Full, "every element is kept".into()),
        }
    }

    /// What is kept of a recurrence.
    fn kept(&mut self, var: VarId, tensor: &Tensor) -> (Kind, String) {
        let name = tensor.name.unwrap_or(self.program.vars[var].name);
        match self.recurrence(var, tensor) {
            (Kind::Full, why) => self.history(name).unwrap_or((Kind::Full, why)),
            other => other,
        }
    }

    /// The names of a system of recurrences.
    fn names_of(&self, system: VarId) -> Vec<VarId> {
        let program = self.program;
        let named = program.top.iter().filter_map(|stmt| match &stmt.kind {
            StmtKind::Let(var, value) if viewed(value) == Some(system) => Some(*var),
            _ => None,
        });
        named.collect()
    }

    /// The result of a call: recursion may have turned into a loop over one buffer.
    fn call(&self, var: VarId, value: &Expr) -> (Kind, String) {
        match flatten::recursion(self.program, value, var) {
            Some((true, places)) => {
                (Kind::InPlace, format!("the recursion is a loop over one buffer: {places}"))
            }
            Some((false, places)) => {
                let why = format!("the recursion writes each element in its place: {places}");
                (Kind::Full, why)
            }
            None => (Kind::Full, "every element is kept".into()),
        }
    }

    /// Whether a definition is only read element by element, and costs less than its traffic.
    fn is_fused(&self, var: VarId, tensor: &Tensor) -> bool {
        let [clause] = tensor.clauses.as_slice() else { return false };
        let plain = clause.items.is_empty() && tensor.inner_rank == 0;
        let cheap = !any(&clause.value, &mut |e| {
            matches!(
                &*e.kind,
                ExprKind::Reduce(_)
                    | ExprKind::Tensor(_)
                    | ExprKind::Call { .. }
                    | ExprKind::CallValue { .. }
                    | ExprKind::Host(..)
                    | ExprKind::Scatter(_)
            )
        });
        plain && cheap && !self.program.outputs.contains(&var) && self.read_by_element(var)
    }

    /// Whether all that is read of a variable are elements.
    fn read_by_element(&self, var: VarId) -> bool {
        let mut whole = false;
        for stmt in &self.program.top {
            match &stmt.kind {
                StmtKind::Let(_, e) | StmtKind::Destructure(_, e) | StmtKind::Expr(e) => {
                    whole |= reads_whole(e, var);
                }
                StmtKind::Require(_) => {}
            }
        }
        let in_functions =
            self.program.funcs.iter().any(|func| any(&func.body, &mut |e| is_var(e, var)));
        !whole && !in_functions
    }

    /// How a history that derivatives read back is kept.
    fn history(&self, name: Symbol) -> Option<(Kind, String)> {
        let History { every, keeps, .. } =
            self.histories.iter().find(|history| history.name == name)?;
        let steps = u32::try_from(*every).ok()?;
        Some(match keeps {
            Keeps::All => (Kind::Full, "derivatives read its history back".into()),
            Keeps::Checkpoints => {
                let why = format!(
                    "checkpointed every {every} steps, recomputed where derivatives read it"
                );
                (Kind::Checkpointed(steps), why)
            }
            Keeps::Segment => {
                (Kind::Ring(steps), "what reads it runs along with it, some steps at a time".into())
            }
        })
    }

    fn recurrence(&mut self, var: VarId, tensor: &Tensor) -> (Kind, String) {
        let mut watched = vec![var];
        if self.program.vars[var].name.as_str().starts_with('$') {
            watched.extend(self.names_of(var));
        }
        if watched.iter().any(|var| self.program.outputs.contains(var)) {
            return (Kind::Full, "it is an output: every step is observed".into());
        }
        let Some(recurrence) = &tensor.recurrence else {
            return (Kind::Full, "its order is not known".into());
        };
        let Some(axis) = recurrence.axes.first() else {
            return (Kind::Full, "no axis orders its steps".into());
        };
        let Some(lookback) = recurrence.lookback else {
            return (Kind::Full, "it reads itself at a distance that is not constant".into());
        };
        let ends = tensor.clauses.iter().any(|clause| clause.until.is_some());
        let mut observations = Vec::new();
        for name in &watched {
            let size = self.program.vars[*name].ty.axes().get(axis.axis);
            let end = size.filter(|_| ends).map(|axis| axis.size.clone());
            let steps = Steps { tensor, axis: axis.axis, backward: axis.backward, end };
            for stmt in &self.program.top {
                // Not its own definition, and not what is computed for nobody.
                if let StmtKind::Let(bound, _) = &stmt.kind
                    && (watched.contains(bound) || !self.live.contains(bound))
                {
                    continue;
                }
                each_in_stmt(stmt, &mut |e| {
                    self.observe(e, *name, &steps, &mut observations);
                });
            }
            for func in self.program.funcs.iter() {
                self.observe(&func.body, *name, &steps, &mut observations);
            }
        }
        let mut tail = 0;
        let mut sample: Option<(i64, size::Expr)> = None;
        for observation in observations {
            match observation {
                Observation::FromEnd(distance) => tail = tail.max(distance),
                Observation::Every(every, from) => match common(sample.take(), every, from) {
                    Some(both) => sample = Some(both),
                    None => return (Kind::Full, "all of it is observed".into()),
                },
                Observation::Whole => return (Kind::Full, "all of it is observed".into()),
                Observation::Unknown => {
                    let why = "it is observed at an index that is not known relative to the end";
                    return (Kind::Full, why.into());
                }
            }
        }
        let kept = Kept { back: i64::from(lookback), in_place: false, tail };
        match u32::try_from(kept.steps()) {
            Ok(steps) => {
                let mut why = kept.to_string();
                if let Some((every, _)) = sample {
                    why += &format!("; besides, one of {every} steps is kept, as it is observed");
                }
                (Kind::Ring(steps), why)
            }
            Err(_) => (Kind::Full, "all of it is observed".into()),
        }
    }
}

/// The array that a value is a part of, or that states are made of, if it is one.
fn viewed(value: &Expr) -> Option<VarId> {
    match &*value.kind {
        ExprKind::Tensor(tensor)
            if tensor.self_var.is_none()
                && matches!(value.ty.elem(), Type::Tuple(_) | Type::Data(..)) =>
        {
            let clause = tensor.clauses.first()?;
            let mut found = None;
            any(&clause.value, &mut |e| {
                if let ExprKind::Var(var) = &*e.kind
                    && e.ty.is_array()
                {
                    found = found.or(Some(*var));
                }
                false
            });
            found
        }
        ExprKind::Var(var) => Some(*var),
        ExprKind::Slice { base, .. } | ExprKind::Permute { base, .. } => viewed(base),
        ExprKind::Index { base, indices } => {
            let fixed =
                |index: &ein_ir::tensor::IndexArg| matches!(&*index.value.kind, ExprKind::Const(_));
            if indices.iter().all(fixed) { viewed(base) } else { None }
        }
        _ => None,
    }
}

/// Whether an array is read other than element by element.
fn reads_whole(e: &Expr, var: VarId) -> bool {
    if is_var(e, var) {
        return true;
    }
    if let ExprKind::Index { base, indices } = &*e.kind
        && is_var(base, var)
        && indices.len() == base.ty.rank()
    {
        return indices.iter().any(|index| reads_whole(&index.value, var));
    }
    let mut found = false;
    each_child(e, &mut |child| found = found || reads_whole(child, var));
    found
}

fn is_var(e: &Expr, var: VarId) -> bool {
    matches!(&*e.kind, ExprKind::Var(read) if *read == var)
}

/// Whether a value lies in a variable, perhaps behind other views.
fn is_stored(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Var(_) => true,
        ExprKind::Slice { base, .. }
        | ExprKind::Permute { base, .. }
        | ExprKind::Index { base, .. } => is_stored(base),
        _ => false,
    }
}
