//! A whole program as one kernel with its inputs and outputs.

use super::{BuildOptions, Emit};
use crate::execute::root_file;
use ein_base::{Code, Diagnostic, Idx as _, Span, Symbol};
use ein_emit_c::ahead;
use ein_ir::cost::Cost;
use ein_ir::loops::Buf;
use ein_ir::tensor::{Expr, ExprKind, HostOp, Program, Stmt, StmtKind, VarId};
use ein_scalar::{Overflow, Scalar, ScalarType, UnaryOp};
use ein_transform::flatten::{self, Declared, Given, World};
use ein_transform::points::{Arithmetic, Input};
use ein_transform::schedule::{self, Lowered, Result as Computed, Settings, Use};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;

/// An array literal with more elements becomes a table.
const MAX_LITERAL: usize = 16;

/// A program that can be built.
pub(super) struct Whole {
    lowered: Lowered,
    buffers: Vec<ahead::Buffer>,
    inputs: Vec<ahead::Array>,
    outputs: Vec<ahead::Output>,
    tables: Vec<Vec<Scalar>>,
}

impl Whole {
    /// What C is made from.
    pub(super) fn program<'a>(&'a self, name: &'a str) -> ahead::Program<'a> {
        ahead::Program {
            name,
            kernel: &self.lowered.kernel,
            buffers: &self.buffers,
            inputs: &self.inputs,
            outputs: &self.outputs,
            tables: &self.tables,
        }
    }
}

/// An input: its name, the variable that it is bound to first, and where it is declared.
struct Parameter {
    name: Symbol,
    var: VarId,
    span: Span,
}

/// Inputs as they are declared; no scalar among them is known.
struct Outside<'a>(Declared<'a>);

impl World for Outside<'_> {
    fn given(&self, var: VarId) -> Given {
        self.0.given(var)
    }

    fn may_assume(&self, _var: VarId) -> bool {
        false
    }
}

/// The statements of a program without those that only bind what is there before.
#[derive(Default)]
struct Parts {
    parameters: Vec<Parameter>,
    /// Literals that are too long for code.
    tables: Vec<(VarId, Vec<Scalar>)>,
    rest: Vec<Stmt>,
}

impl Parts {
    fn of(program: &Program) -> Parts {
        let mut parts = Parts::default();
        for stmt in &program.top {
            let mut stmt = stmt.clone();
            if let StmtKind::Let(var, value) = &stmt.kind {
                let var = *var;
                let given = match (input_name(value), table(value)) {
                    (Some(name), _) => {
                        parts.parameters.push(Parameter { name, var, span: value.span });
                        true
                    }
                    (None, Some(elements)) => {
                        parts.tables.push((var, elements));
                        true
                    }
                    (None, None) => false,
                };
                if given {
                    // The variable is bound to what the world says it is.
                    let itself = Expr::new(ExprKind::Var(var), value.ty.clone(), value.span);
                    stmt.kind = StmtKind::Let(var, itself);
                }
            }
            parts.rest.push(stmt);
        }
        parts
    }

    fn parameter(&self, var: VarId) -> Option<usize> {
        self.parameters.iter().position(|it| it.var == var)
    }

    fn table(&self, var: VarId) -> Option<usize> {
        self.tables.iter().position(|(other, _)| *other == var)
    }
}

/// What an input leaves open that has to be known to build anything.
pub(super) fn open(program: &Program) -> Option<Box<Diagnostic>> {
    Parts::of(program).parameters.iter().find_map(|it| declared(program, it).err())
}

/// The bindings that become outputs. Unless they were named, inputs are none.
pub(super) fn outputs_of(program: &Program, named: bool) -> FxHashSet<VarId> {
    let parts = Parts::of(program);
    let is_input = |var: VarId| parts.parameters.iter().any(|it| it.name == program.vars[var].name);
    program.outputs.iter().copied().filter(|var| named || !is_input(*var)).collect()
}

/// Lowers a program, or says why it cannot be built.
pub(super) fn lower(
    program: &Program,
    wanted: &FxHashSet<VarId>,
    options: &BuildOptions,
) -> Result<Whole, Box<Diagnostic>> {
    let parts = Parts::of(program);
    let declared = parts.parameters.iter().map(|it| declared(program, it));
    let inputs = declared.collect::<Result<Vec<_>, _>>()?;
    if let Some(main) = program.main {
        return Err(refused(program.funcs[main].span, "`main` is called for its effects"));
    }
    if wanted.is_empty() {
        let span = Span::new(root_file(program), 0, 0);
        return Err(Box::new(refused(span, "the program has no outputs").help(
            "bind something at its top level, or let a public function declare its parameters with \
             numbers as extents",
        )));
    }
    let world = Outside(Declared(program));
    let wants = |var| wanted.contains(&var);
    let flat = flatten::statements(program, &parts.rest, &world, &wants, Arithmetic::default());
    let flat = flat.map_err(|(at, declined)| {
        let refused = refused(declined.span, &declined.why);
        let effect = matches!(parts.rest.get(at).map(|it| &it.kind), Some(StmtKind::Expr(_)));
        match effect {
            true => Box::new(refused.help("leave effects to the program that calls the function")),
            false => refused,
        }
    })?;
    let settings =
        Settings { ad_memory: options.ad_memory, cost: Cost::host(), ..Settings::default() };
    let lowered = schedule::lower(flat, settings);
    debug_assert_eq!(ein_ir::loops::verify::verify(&lowered.kernel), Vec::<String>::new());
    let Outputs { list: outputs, written } = outputs(program, &parts, &lowered)?;
    let buffers = buffers(program, &parts, &lowered, &written)?;
    let tables = parts.tables.into_iter().map(|(_, elements)| elements).collect();
    let whole = Whole { lowered, buffers, inputs, outputs, tables };
    if options.emit == Emit::Command {
        no_bf16(program, &whole)?;
    }
    Ok(whole)
}

/// The outputs in the order of the source, and which of them each buffer is.
struct Outputs {
    list: Vec<ahead::Output>,
    written: FxHashMap<Buf, usize>,
}

fn outputs(
    program: &Program,
    parts: &Parts,
    lowered: &Lowered,
) -> Result<Outputs, Box<Diagnostic>> {
    let mut list: Vec<ahead::Output> = Vec::new();
    let mut written = FxHashMap::default();
    for (var, computed) in &lowered.outputs {
        let info = &program.vars[*var];
        let at = list.len();
        let mut extents = Vec::new();
        let mut of_kernel = |buf: Buf, at: usize| {
            let Use::Output(shape) = &lowered.uses[buf.index()] else {
                return Err(refused(info.span, "a value without room"));
            };
            let filled = match written.entry(buf) {
                Entry::Occupied(first) => ahead::Filled::Output(*first.get()),
                Entry::Vacant(free) => {
                    free.insert(at);
                    ahead::Filled::Kernel
                }
            };
            Ok((lowered.kernel.bufs[buf].ty, shape.clone(), filled))
        };
        let (ty, shape, filled) = match computed {
            Computed::Array(buf) | Computed::Scalar(buf) => of_kernel(*buf, at)?,
            Computed::Part(buf, ends) => {
                // The room for all steps, and then how many of them there are.
                let whole = of_kernel(*buf, at)?;
                for (axis, end) in ends {
                    let (ty, shape, filled) = of_kernel(*end, at + 1 + extents.len())?;
                    let name = format!("{}_extent{axis}", info.name);
                    extents.push(ahead::Output { array: ahead::Array { name, ty, shape }, filled });
                }
                whole
            }
            Computed::Constant(value) => (value.ty(), Vec::new(), ahead::Filled::Constant(*value)),
            Computed::Record(..) => {
                return Err(refused(info.span, "a value that is neither a number nor an array"));
            }
            Computed::Same(other) => {
                let filled = match (parts.parameter(other.var), parts.table(other.var)) {
                    (Some(at), _) => ahead::Filled::Input(at),
                    (None, Some(at)) => ahead::Filled::Table(at),
                    (None, None) => return Err(unknown(info.span)),
                };
                match Declared(program).given(other.var) {
                    Given::Array { ty, shape, .. } => (ty, shape, filled),
                    Given::Scalar(zero) => (zero.ty(), Vec::new(), filled),
                    Given::Record(..) | Given::Other => return Err(unknown(info.span)),
                }
            }
        };
        let array = ahead::Array { name: info.name.to_string(), ty, shape };
        list.push(ahead::Output { array, filled });
        list.append(&mut extents);
    }
    Ok(Outputs { list, written })
}

/// What each buffer of the kernel is.
fn buffers(
    program: &Program,
    parts: &Parts,
    lowered: &Lowered,
    written: &FxHashMap<Buf, usize>,
) -> Result<Vec<ahead::Buffer>, Box<Diagnostic>> {
    let mut buffers = Vec::new();
    for (used, buf) in lowered.uses.iter().zip(lowered.kernel.bufs.ids()) {
        buffers.push(match used {
            Use::Input(Input { var, .. }) => match (parts.parameter(*var), parts.table(*var)) {
                (Some(at), _) => ahead::Buffer::Input(at),
                (None, Some(at)) => ahead::Buffer::Table(at),
                (None, None) => return Err(unknown(program.vars[*var].span)),
            },
            Use::Output(_) => match written.get(&buf) {
                Some(at) => ahead::Buffer::Output(*at),
                None => ahead::Buffer::Scratch,
            },
            Use::Scratch => ahead::Buffer::Scratch,
            Use::Local => ahead::Buffer::Local,
        });
    }
    Ok(buffers)
}

/// An input as it is declared.
fn declared(program: &Program, parameter: &Parameter) -> Result<ahead::Array, Box<Diagnostic>> {
    let (info, name) = (&program.vars[parameter.var], parameter.name);
    match Declared(program).given(parameter.var) {
        Given::Array { ty, shape, .. } => Ok(ahead::Array { name: name.to_string(), ty, shape }),
        Given::Scalar(zero) => {
            Ok(ahead::Array { name: name.to_string(), ty: zero.ty(), shape: Vec::new() })
        }
        Given::Other if info.ty.is_array() && info.ty.scalar().is_some() => {
            let why = format!("the shape of input `{name}` is not known");
            let help = "declare every extent as a number, as in `[f32; 4, 8]`";
            Err(Box::new(refused(parameter.span, &why).help(help)))
        }
        Given::Record(..) | Given::Other => Err(refused(
            parameter.span,
            &format!("input `{name}` is neither a number nor an array"),
        )),
    }
}

/// The name of the input that a binding is.
fn input_name(value: &Expr) -> Option<Symbol> {
    match &*value.kind {
        ExprKind::Host(HostOp::Input(name), _) => Some(*name),
        ExprKind::Assert { value, .. } => input_name(value),
        _ => None,
    }
}

/// The elements of a literal of numbers that is longer than code should be.
fn table(value: &Expr) -> Option<Vec<Scalar>> {
    fn collect(value: &Expr, elements: &mut Vec<Scalar>) -> Option<()> {
        match &*value.kind {
            ExprKind::Array(items) => items.iter().try_for_each(|item| collect(item, elements)),
            _ => {
                elements.push(number(value)?);
                Some(())
            }
        }
    }
    if !matches!(*value.kind, ExprKind::Array(_)) {
        return None;
    }
    let mut elements = Vec::new();
    collect(value, &mut elements)?;
    let ty = value.ty.scalar()?;
    let extents: Option<Vec<i64>> =
        value.ty.axes().iter().map(|axis| axis.size.as_constant()).collect();
    let count: i64 = extents?.iter().product();
    let fits = count == elements.len() as i64 && elements.iter().all(|it| it.ty() == ty);
    (fits && elements.len() > MAX_LITERAL).then_some(elements)
}

fn number(value: &Expr) -> Option<Scalar> {
    match &*value.kind {
        ExprKind::Const(value) => Some(*value),
        ExprKind::Unary(UnaryOp::Neg, value) => {
            ein_scalar::apply_unary(UnaryOp::Neg, number(value)?, Overflow::Trap).ok()
        }
        _ => None,
    }
}

/// Commands read and write `.npy` files, which know no bf16.
fn no_bf16(program: &Program, whole: &Whole) -> Result<(), Box<Diagnostic>> {
    let outputs = whole.outputs.iter().map(|it| &it.array);
    let mut arrays = whole.inputs.iter().chain(outputs);
    let Some(array) = arrays.find(|it| it.ty == ScalarType::BF16) else { return Ok(()) };
    let span = Span::new(root_file(program), 0, 0);
    let why = format!("`{}` is of type bf16, which `.npy` files do not have", array.name);
    Err(Box::new(refused(span, &why).help("use `--emit lib`, or convert it to f32")))
}

fn unknown(span: Span) -> Box<Diagnostic> {
    refused(span, "a value that only a run can know")
}

/// A program that cannot be built ahead of time, and what is in the way.
pub(super) fn refused(span: Span, why: &str) -> Box<Diagnostic> {
    let message = format!("this cannot be built ahead of time: {why}");
    Box::new(Diagnostic::new(Code::E0811, span, message))
}
