//! What a program would become: its regions, their loops, or their C, without running it.

use super::region;
use crate::execute::{ad_memory, given_scalar};
use crate::run::{DumpOptions, InputValue};
use crate::{CheckReport, Input, InternalError, Session, guarded};
use ein_base::Symbol;
use ein_ir::cost::Cost;
use ein_ir::tensor::{ExprKind, HostOp, Program, StmtKind, Type, VarId};
use ein_runtime::Memory;
use ein_scalar::Scalar;
use ein_transform::counts::{Counts, counts};
use ein_transform::flatten::{self, Declared, Flattened, Given, World};
use ein_transform::points::Arithmetic;
use ein_transform::schedule::{self, History, Lowered, Settings};
use ein_transform::storage::Kind;
use rustc_hash::FxHashMap;

/// What to show of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// What each cell is: the points that the loops are made from.
    Points,
    /// The loops.
    Loops(Form),
}

/// How loops are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Which definitions run together and how, with the loops.
    Plan,
    /// The C that the optimising engine builds.
    C,
}

/// What the plan of a program says of its cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Planned {
    /// What its kernels take.
    pub counts: Counts,
    /// Why parts of it are evaluated.
    pub evaluated: Vec<String>,
}

impl Session {
    /// The plan of a program as text; none if it is rejected.
    pub fn dump_plan(
        &mut self,
        input: &Input,
        options: &DumpOptions,
        show: Show,
    ) -> Result<(String, CheckReport), InternalError> {
        guarded(|| {
            let mut report = CheckReport::default();
            let names = options.inputs.iter().map(|(name, _)| Symbol::intern(name)).collect();
            let compiled = self.compile(input, &names, &mut report.diagnostics)?;
            let Some(mut compiled) = compiled.filter(|_| !report.has_errors()) else {
                return Ok((String::new(), report));
            };
            keep_outputs(&mut compiled.program, options.observe.as_deref());
            let mut text = String::new();
            if show == Show::Loops(Form::Plan) {
                for decision in &compiled.derivatives {
                    text.push_str(&format!("# {decision}\n"));
                }
            }
            text.push_str(&options.text(&compiled.program, show));
            Ok((text, report))
        })
        .flatten()
    }

    /// What the kernels of a program take, and why parts of it are evaluated; none if it is rejected.
    pub fn plan_counts(
        &mut self,
        input: &Input,
        options: &DumpOptions,
    ) -> Result<(Planned, CheckReport), InternalError> {
        guarded(|| {
            let mut report = CheckReport::default();
            let mut planned = Planned::default();
            let names = options.inputs.iter().map(|(name, _)| Symbol::intern(name)).collect();
            let compiled = self.compile(input, &names, &mut report.diagnostics)?;
            let Some(mut compiled) = compiled.filter(|_| !report.has_errors()) else {
                return Ok((planned, report));
            };
            keep_outputs(&mut compiled.program, options.observe.as_deref());
            let make = |flat| counts(&schedule::lower(flat, options.settings()).kernel);
            for region in regions(&compiled.program, &options.inputs, &make) {
                match region {
                    Region::Host(why) => planned.evaluated.push(why),
                    Region::Kernel(taken) => planned.counts = planned.counts + taken,
                }
            }
            Ok((planned, report))
        })
        .flatten()
    }

    /// How each binding of a program is stored, as text; none if it is rejected.
    pub fn dump_storage(
        &mut self,
        input: &Input,
        options: &DumpOptions,
    ) -> Result<(String, CheckReport), InternalError> {
        guarded(|| {
            let mut report = CheckReport::default();
            let names = options.inputs.iter().map(|(name, _)| Symbol::intern(name)).collect();
            let compiled = self.compile(input, &names, &mut report.diagnostics)?;
            let Some(mut compiled) = compiled.filter(|_| !report.has_errors()) else {
                return Ok((String::new(), report));
            };
            keep_outputs(&mut compiled.program, options.observe.as_deref());
            let histories = histories(&compiled.program, &options.inputs, options.settings());
            let plan = ein_transform::storage::plan(&compiled.program, &histories);
            let line = |storage: &ein_transform::storage::Storage| {
                let kind = match storage.kind {
                    Kind::Ring(steps) => format!("ring of {steps}"),
                    kind => kind.as_str().to_owned(),
                };
                format!("{}: {kind}: {}\n", storage.name, storage.why)
            };
            Ok((plan.iter().map(line).collect(), report))
        })
        .flatten()
    }
}

impl DumpOptions {
    fn settings(&self) -> Settings {
        let ad_memory = ad_memory(self.ad_memory, &Memory::default());
        Settings { ad_memory, passes: self.passes, cost: Cost::host() }
    }

    /// What is shown of a region.
    fn shown(&self, flat: Flattened, show: Show) -> String {
        match show {
            Show::Points => schedule::points_text(flat, self.passes) + "\n",
            Show::Loops(form) => region_text(&schedule::lower(flat, self.settings()), form),
        }
    }

    /// A program as text, region by region.
    pub(crate) fn text(&self, program: &Program, show: Show) -> String {
        let make = |flat| self.shown(flat, show);
        let text = |region| match region {
            Region::Host(why) => format!("# host: {why}\n"),
            Region::Kernel(shown) => shown,
        };
        regions(program, &self.inputs, &make).into_iter().map(text).collect()
    }
}

/// The loops of a region as text.
pub(super) fn region_text(lowered: &Lowered, form: Form) -> String {
    match form {
        Form::Plan => {
            let text = lowered.plan.to_string();
            let notes = text.lines().map(|line| format!("# {line}\n"));
            notes.collect::<String>() + &ein_ir::loops::print::print(&lowered.kernel) + "\n"
        }
        Form::C => ein_emit_c::source(&lowered.kernel, "kernel") + "\n",
    }
}

/// How the histories are kept that derivatives in a program read back.
pub(crate) fn histories(program: &Program, inputs: Inputs<'_>, settings: Settings) -> Vec<History> {
    let kept = |region| match region {
        Region::Host(_) => Vec::new(),
        Region::Kernel(histories) => histories,
    };
    let make = |flat| schedule::lower(flat, settings).plan.histories();
    regions(program, inputs, &make).into_iter().flat_map(kept).collect()
}

/// The values that are given from outside.
type Inputs<'a> = &'a [(String, InputValue)];

/// Values as far as their types tell, and the scalars that are given. An input that is not given is
/// not known: what depends on it in its shape has no plan yet.
struct Told<'p> {
    declared: Declared<'p>,
    inputs: FxHashMap<VarId, Option<Scalar>>,
}

impl<'p> Told<'p> {
    fn new(program: &'p Program, given: Inputs<'_>) -> Told<'p> {
        let mut inputs = FxHashMap::default();
        for stmt in &program.top {
            let StmtKind::Let(var, value) = &stmt.kind else { continue };
            let ExprKind::Host(HostOp::Input(name), _) = &*value.kind else { continue };
            let ty = &program.vars[*var].ty;
            let text = given.iter().rev().find(|(given, _)| given == name.as_str());
            let told = match text {
                Some((_, InputValue::Scalar(text))) => given_scalar(*name, text, ty),
                Some((_, InputValue::File(_))) | None => None,
            };
            if matches!(ty, Type::Scalar(_)) {
                inputs.insert(*var, told);
            }
        }
        Told { declared: Declared(program), inputs }
    }
}

impl World for Told<'_> {
    fn has_host(&self) -> bool {
        true
    }

    fn given(&self, var: VarId) -> Given {
        match self.inputs.get(&var) {
            Some(Some(scalar)) => Given::Scalar(*scalar),
            Some(None) | None => self.declared.given(var),
        }
    }

    fn may_assume(&self, var: VarId) -> bool {
        !matches!(self.inputs.get(&var), Some(None))
    }
}

/// A piece of a program.
enum Region<T> {
    /// It ends where the host has to do something, for this reason.
    Host(String),
    /// It is a kernel, of which this was made.
    Kernel(T),
}

/// The regions of a program, for the shapes that are declared.
fn regions<T>(
    program: &Program,
    inputs: Inputs<'_>,
    make: &dyn Fn(Flattened) -> T,
) -> Vec<Region<T>> {
    let world = Told::new(program, inputs);
    let mut regions = Vec::new();
    let mut rest = program.top.as_slice();
    while !rest.is_empty() {
        let mut count = region::eligible(program, rest);
        let mut made = None;
        while count > 0 && made.is_none() {
            let wanted = region::needed_after(program, &rest[..count]);
            let wants = |var| wanted.contains(&var);
            let plain = Arithmetic::default();
            match flatten::statements(program, &rest[..count], &world, &wants, plain) {
                Ok(flat) => made = Some(make(flat)),
                Err((at, declined)) => {
                    regions.push(Region::Host(declined.why));
                    count = at;
                }
            }
        }
        match made {
            Some(made) => {
                regions.push(Region::Kernel(made));
                rest = &rest[count..];
            }
            None => rest = &rest[1..],
        }
    }
    regions
}

fn keep_outputs(program: &mut Program, observe: Option<&[String]>) {
    if let Some(names) = observe {
        let vars = &program.vars;
        program.outputs.retain(|var| names.iter().any(|name| vars[*var].name.as_str() == name));
        ein_transform::unzip::forget(program);
    }
    ein_transform::tails::run(program);
}
