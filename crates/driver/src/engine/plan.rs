//! What a program would become: its regions, their loops, or their C, without running it.

use super::region;
use crate::execute::{ad_memory, given_scalar};
use crate::run::{DumpOptions, InputValue};
use crate::{CheckReport, Input, InternalError, Session, guarded};
use ein_base::Symbol;
use ein_ir::tensor::{ExprKind, HostOp, Program, StmtKind, Type, VarId};
use ein_runtime::Memory;
use ein_scalar::Scalar;
use ein_transform::counts::{Counts, counts};
use ein_transform::flatten::{self, Declared, Given, World};
use ein_transform::points::Arithmetic;
use ein_transform::schedule::{self, History, Lowered};
use ein_transform::storage::Kind;
use rustc_hash::FxHashMap;

/// What to show of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
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
            if show == Show::Plan {
                for decision in &compiled.derivatives {
                    text.push_str(&format!("# {decision}\n"));
                }
            }
            let ad_memory = ad_memory(options.ad_memory, &Memory::default());
            text.push_str(&plan_text(&compiled.program, &options.inputs, ad_memory, show));
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
            let ad_memory = ad_memory(options.ad_memory, &Memory::default());
            for region in regions(&compiled.program, &options.inputs, ad_memory) {
                match region {
                    Region::Host(why) => planned.evaluated.push(why),
                    Region::Kernel(lowered) => {
                        planned.counts = planned.counts + counts(&lowered.kernel);
                    }
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
            let ad_memory = ad_memory(options.ad_memory, &Memory::default());
            let histories = histories(&compiled.program, &options.inputs, ad_memory);
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

/// The plan of a program as text.
pub(crate) fn plan_text(
    program: &Program,
    inputs: Inputs<'_>,
    memory: Option<u64>,
    show: Show,
) -> String {
    let mut text = String::new();
    for region in regions(program, inputs, memory) {
        match region {
            Region::Host(why) => text.push_str(&format!("# host: {why}\n")),
            Region::Kernel(lowered) => text.push_str(&region_text(&lowered, show)),
        }
    }
    text
}

/// How the histories are kept that derivatives in a program read back.
pub(crate) fn histories(
    program: &Program,
    inputs: Inputs<'_>,
    ad_memory: Option<u64>,
) -> Vec<History> {
    let kept = |region| match region {
        Region::Host(_) => Vec::new(),
        Region::Kernel(lowered) => lowered.histories,
    };
    regions(program, inputs, ad_memory).into_iter().flat_map(kept).collect()
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
enum Region {
    /// It ends where the host has to do something, for this reason.
    Host(String),
    /// It is a kernel.
    Kernel(Box<Lowered>),
}

/// The regions of a program, for the shapes that are declared.
fn regions(program: &Program, inputs: Inputs<'_>, ad_memory: Option<u64>) -> Vec<Region> {
    let world = Told::new(program, inputs);
    let mut regions = Vec::new();
    let mut rest = program.top.as_slice();
    while !rest.is_empty() {
        let mut count = region::eligible(program, rest);
        let mut lowered = None;
        while count > 0 && lowered.is_none() {
            let wanted = region::needed_after(program, &rest[..count]);
            let wants = |var| wanted.contains(&var);
            let plain = Arithmetic::default();
            match flatten::statements(program, &rest[..count], &world, &wants, plain) {
                Ok(flat) => lowered = Some(schedule::lower(flat, ad_memory)),
                Err((at, declined)) => {
                    regions.push(Region::Host(declined.why));
                    count = at;
                }
            }
        }
        match lowered {
            Some(lowered) => {
                regions.push(Region::Kernel(Box::new(lowered)));
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
    }
}

/// A lowered region as text.
pub(super) fn region_text(lowered: &Lowered, show: Show) -> String {
    let mut text = String::new();
    for note in &lowered.notes {
        text.push_str(&format!("# {note}\n"));
    }
    match show {
        Show::Plan => text.push_str(&ein_ir::loops::print::print(&lowered.kernel)),
        Show::C => text = ein_emit_c::source(&lowered.kernel, "kernel"),
    }
    text.push('\n');
    text
}
