//! From tensor IR to points: what a run of statements computes, cell by cell.
//!
//! Before:  `let p = softmax(x);`, a call of a library function on an array of known shape
//! After:   four definitions over rows and columns with plain scalar bodies
//!
//! The program is evaluated on symbolic scalars: functions are entered, tuples and structs taken
//! apart, views and whole-array operators become arithmetic on positions. Every indexed definition
//! at statement level becomes a definition of points; one inside a loop is substituted where it is
//! read, or, if it holds reductions, becomes a definition over the indices that it depends on.
//!
//! Needs: a checked program without derivative requests; the shapes of all arrays that are there.
//! Refuses ([`Declined`]): strings, input and output, values whose shape or structure depends on
//! data, recursion. The host evaluates these.
//! Limits: integers that decide a shape are taken as constants, and listed in
//! [`Flattened::assumed`].
//!
//! Failures: what a branch does not take keeps its failure under its condition; what is bound and
//! not used stays obliged (`oblige`), or the region is declined and evaluated.

mod again;
mod array;
mod call;
mod define;
mod descent;
mod expr;
mod extent;
mod oblige;
mod output;
mod pattern;
mod power;

use crate::points::{
    Arithmetic, Arr, ArrInfo, Body, Clause, Def, Input, Ix, Kind, Node, Points, Slot, Source, Step,
};
use array::{Array, ArrayKind};
pub(crate) use define::MAX_PARTS;
use define::stored::Stored;
use descent::Descent;
use ein_base::{Span, Symbol};
use ein_ir::size::{self, Atom, Operation};
use ein_ir::tensor::walk::any;
use ein_ir::tensor::{
    AtomDef, DataId, Expr, ExprKind, FuncId, HostOp, Program, Stmt, StmtKind, Type, VarId,
};
use ein_scalar::{BinaryOp, Scalar, ScalarType};
use extent::{Extent, fixed_shape};
pub use output::{Flattened, Output};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// A value that is there before the statements run.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// A number or truth value.
    Scalar(Scalar),
    /// An array, with strides in elements.
    Array {
        /// The type of its elements.
        ty: ScalarType,
        /// Its extents.
        shape: Vec<i64>,
        /// For each axis, how many elements further the next one lies.
        strides: Vec<i64>,
    },
    /// A tuple, or a struct of this type.
    Record(Option<Made>, Vec<Given>),
    /// Something else.
    Other,
}

/// What was made: a struct or enum, and its variant.
pub type Made = (DataId, usize);

/// What the host knows.
pub trait World {
    /// The value of a variable that is bound outside.
    fn given(&self, var: VarId) -> Given;

    /// Whether the value of a scalar may be taken as a constant. What depends on one that may not
    /// in its shape is refused.
    fn may_assume(&self, _var: VarId) -> bool {
        true
    }

    /// Whether a host stands beside the kernel, which computes functions that say so
    /// ([`ein_ir::tensor::Func::by`]).
    fn has_host(&self) -> bool {
        false
    }
}

/// Values as far as their types tell: arrays of known shape in row-major order, scalars as zero.
pub struct Declared<'p>(pub &'p Program);

impl World for Declared<'_> {
    fn given(&self, var: VarId) -> Given {
        let ty = &self.0.vars[var].ty;
        let Some(elem) = ty.scalar() else { return Given::Other };
        if let Type::Scalar(_) = ty {
            return Given::Scalar(Scalar::zero(elem));
        }
        let shape: Option<Vec<i64>> =
            ty.axes().iter().map(|axis| axis.size.as_constant()).collect();
        match shape {
            Some(shape) if ty.is_array() => {
                let strides = crate::schedule::row_major(&shape);
                Given::Array { ty: elem, shape, strides }
            }
            _ => Given::Other,
        }
    }
}

/// The text that stands for a variable which the compiler has made: an argument before the loops of a
/// call. (One that the program names may be given from outside.)
fn text_of(program: &Program, var: VarId) -> Option<Symbol> {
    // What was computed before a part has no variable in the program.
    let info = program.vars.get(var)?;
    if info.ty != Type::Str || !info.name.as_str().starts_with('$') {
        return None;
    }
    let in_stmt = |stmt: &Stmt| match &stmt.kind {
        StmtKind::Let(bound, value) if *bound == var => match &*value.kind {
            ExprKind::Str(text) => Some(*text),
            _ => None,
        },
        _ => None,
    };
    let mut found = program.top.iter().find_map(in_stmt);
    for func in program.funcs.iter() {
        any(&func.body, &mut |e| {
            if let ExprKind::Block { stmts, .. } = &*e.kind {
                found = found.or_else(|| stmts.iter().find_map(in_stmt));
            }
            found.is_some()
        });
    }
    found
}

/// The bytes of the largest element, twice: what passes add to a size stays a number as well.
const LARGEST_ELEMENT: i64 = 16;

/// Why the host has to evaluate something itself.
#[derive(Clone, Debug)]
pub struct Declined {
    /// What is in the way.
    pub why: String,
    /// Where.
    pub span: Span,
}

/// A value under symbolic evaluation.
#[derive(Clone, Debug)]
pub(crate) enum Val {
    Unit,
    /// A text that stands in the program: it decides things, and nothing is made of it.
    Text(Symbol),
    Scalar(Node),
    Tuple(Rc<[Val]>),
    /// A struct or variant.
    Data(Made, Rc<[Val]>),
    Array(Rc<Array>),
    Fn(Option<FuncId>, Rc<[Val]>),
    /// How a turn of a function ends that calls itself last.
    Turn(Rc<again::Turn>),
}

/// The result of evaluating something.
pub(crate) type Flat<T> = Result<T, Declined>;

/// How many calls may be entered inside one another.
const MAX_DEPTH: usize = 48;

/// How many calls may be entered of functions that are being called already. Of a recursion that
/// branches, so much is one kernel; the calls around it are the host's, with kernels for each size.
const MAX_CALLS: usize = 24;

/// How many nodes a region may have; more are left to the host.
const MAX_NODES: usize = 200_000;

/// The evaluation under way.
pub(crate) struct Flatten<'p> {
    pub(crate) program: &'p Program,
    pub(crate) world: &'p dyn World,
    pub(crate) points: Points,
    /// The frames of the functions entered; the first is that of the statements.
    frames: Vec<FxHashMap<VarId, Val>>,
    /// The functions entered.
    entered: Vec<FuncId>,
    /// How many of the calls were of functions that had been entered already.
    again: usize,
    /// What variables of outside are.
    outside: FxHashMap<VarId, Val>,
    assumed: Vec<(Input, Scalar)>,
    /// The indices of the loops around.
    pub(crate) loops: Vec<Ix>,
    /// What holds here.
    pub(crate) when: Option<Node>,
    /// Definitions whose clauses are being evaluated.
    pub(crate) pending: FxHashSet<Arr>,
    /// Recurrences that are parts of those being evaluated.
    pub(crate) within: Vec<define::Within>,
    /// What may fail in the loop being entered, whether or not its value is used.
    pub(crate) obliged: Vec<Node>,
    /// What has definitions of its own, and fails there: as long as these are not given up.
    pub(crate) settled: Vec<(Arr, Node)>,
    /// The recursion whose body is being evaluated for all depths at once.
    pub(crate) descent: Option<Descent>,
    /// The function whose last action is to call itself, while its body is evaluated for all turns.
    pub(crate) turns: Option<again::Turns>,
    /// The number of steps of a recurrence that has as many as another, which ended by itself.
    pub(crate) made: Option<Node>,
    /// The last steps of what ended when a condition held.
    pub(crate) counts: FxHashSet<Arr>,
    /// The definitions inside of steps.
    pub(crate) stored: Stored,
}

/// Evaluates statements; `wanted` says which variables matter afterwards.
pub fn statements(
    program: &Program,
    stmts: &[Stmt],
    world: &dyn World,
    wanted: &dyn Fn(VarId) -> bool,
    arithmetic: Arithmetic,
) -> Result<Flattened, (usize, Declined)> {
    let mut vars = Vec::new();
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Let(var, _) => vars.push(*var),
            StmtKind::Destructure(pattern, _) => pattern::bound(pattern, &mut vars),
            StmtKind::Expr(_) | StmtKind::Require(_) => {}
        }
    }
    vars.retain(|var| wanted(*var));
    let last = stmts.len().saturating_sub(1);
    let evaluated = |asked: FxHashSet<usize>| {
        let mut flatten = Flatten::new(program, world, arithmetic);
        flatten.stored = Stored::of(asked);
        for (at, stmt) in stmts.iter().enumerate() {
            flatten.stmt(stmt).map_err(|declined| (at, declined))?;
        }
        let wanted = flatten.stored.wanted();
        Ok((flatten.finish(&vars).map_err(|declined| (last, declined))?, wanted))
    };
    let (first, wanted) = evaluated(FxHashSet::default())?;
    if wanted.is_empty() {
        return Ok(first);
    }
    Ok(evaluated(wanted).map_or(first, |(second, _)| second))
}

/// Evaluates an expression to a number or an array of numbers, as the value of `var`.
pub fn expression(
    program: &Program,
    e: &Expr,
    var: VarId,
    world: &dyn World,
    arithmetic: Arithmetic,
) -> Result<Flattened, Declined> {
    let mut flatten = Flatten::new(program, world, arithmetic);
    let value = flatten.expr(e)?;
    flatten.bind(var, value);
    flatten.finish(&[var])
}

/// Evaluates a function whose last action is to call itself, with the values that its parameters have,
/// as the value of `var`. Of at most so many turns that is a tuple of the parameters that change.
pub fn turns(
    program: &Program,
    func: FuncId,
    most: Option<i64>,
    var: VarId,
    world: &dyn World,
    arithmetic: Arithmetic,
) -> Result<Flattened, Declined> {
    let mut flatten = Flatten::new(program, world, arithmetic);
    let info = &program.funcs[func];
    let mut fixed = Vec::new();
    for size in &info.sizes {
        // As a call says it, so that calls of itself are seen to have the same.
        let size = flatten.var(*size, info.span)?;
        let size = flatten.number(size, info.span)?;
        let size = flatten.constant_int(size, info.span)?;
        fixed.push(Val::Scalar(flatten.points.int(size)));
    }
    for capture in &info.captures {
        fixed.push(flatten.var(*capture, info.span)?);
    }
    let args: Flat<Vec<Val>> =
        info.params.iter().map(|param| flatten.var(*param, info.span)).collect();
    let args = args?;
    let value = again::turns(&mut flatten, func, (&fixed, &args), most, info.span);
    let value = value.ok_or_else(|| declined("a function that is no loop", info.span))??;
    flatten.bind(var, value);
    flatten.finish(&[var])
}

/// If the value of a call is computed by a recursion that is a loop: whether the loop overwrites what
/// it has written, and where the arguments are.
pub fn recursion(program: &Program, e: &Expr, var: VarId) -> Option<(bool, String)> {
    let world = Declared(program);
    let flat = expression(program, e, var, &world, Arithmetic::default()).ok()?;
    let (_, Output::Array(arr)) = flat.outputs.first()? else { return None };
    match &flat.points.defs[flat.points.def_of(*arr)?].body {
        Body::InPlace(body) => Some((body.overwrites(&flat.points, *arr), body.places.clone())),
        Body::Clauses(..) | Body::Scatter(_) | Body::Until(_) | Body::Again(_) => None,
    }
}

impl<'p> Flatten<'p> {
    fn new(program: &'p Program, world: &'p dyn World, arithmetic: Arithmetic) -> Flatten<'p> {
        Flatten {
            program,
            world,
            points: Points::new(arithmetic),
            frames: vec![FxHashMap::default()],
            entered: Vec::new(),
            again: 0,
            outside: FxHashMap::default(),
            assumed: Vec::new(),
            loops: Vec::new(),
            when: None,
            pending: FxHashSet::default(),
            within: Vec::new(),
            obliged: Vec::new(),
            settled: Vec::new(),
            descent: None,
            turns: None,
            made: None,
            counts: FxHashSet::default(),
            stored: Stored::default(),
        }
    }

    fn finish(mut self, vars: &[VarId]) -> Flat<Flattened> {
        let mut outputs = Vec::new();
        for var in vars {
            let span = self.program.vars[*var].span;
            let value = self.frames[0].get(var).cloned();
            let value = value.ok_or_else(|| declined("a variable without a value", span))?;
            let name = self.program.vars[*var].name;
            let output = self.output(&value, name, span)?;
            outputs.push((*var, output));
        }
        self.fits(&outputs)?;
        // Every pass may multiply extents, also those of an array that is empty.
        let countable = |arr: &crate::points::ArrInfo| {
            let mut extents = arr.shape.iter().map(|extent| (*extent).max(1));
            extents.try_fold(LARGEST_ELEMENT, i64::checked_mul).is_some()
        };
        if let Some(var) = vars.first()
            && !self.points.arrs.iter().all(countable)
        {
            let span = self.program.vars[*var].span;
            return Err(declined("an array that no memory holds", span));
        }
        // Definitions were put before others that need them.
        self.points.renumber();
        Ok(Flattened { points: self.points, outputs, assumed: self.assumed, rows: None })
    }

    fn output(&mut self, value: &Val, name: Symbol, span: Span) -> Flat<Output> {
        match value {
            Val::Scalar(node) => match self.points.nodes[*node].kind.clone() {
                Kind::Const(value) => Ok(Output::Constant(value)),
                Kind::Load(arr, at) if at.is_empty() => match self.points.arrs[arr].source {
                    Source::Input(ref input, _) => Ok(Output::Same(input.clone())),
                    Source::Defined(_) => Ok(Output::Scalar(arr)),
                },
                _ => Ok(Output::Scalar(self.store_scalar(*node, Some(name), span))),
            },
            Val::Array(array) if array.shape.iter().any(|extent| extent.counted.is_some()) => {
                self.part(array, name, span)
            }
            Val::Array(array) => match &array.kind {
                ArrayKind::Stored(arr, leading) if leading.is_empty() => {
                    match self.points.arrs[*arr].source {
                        Source::Input(ref input, _) => Ok(Output::Same(input.clone())),
                        Source::Defined(_) => Ok(Output::Array(*arr)),
                    }
                }
                _ => Ok(Output::Array(self.store(array, Some(name), span))),
            },
            Val::Tuple(items) => {
                let parts = items.iter().map(|item| self.output(item, name, span));
                Ok(Output::Record(None, parts.collect::<Flat<_>>()?))
            }
            Val::Data(made, items) => {
                let parts = items.iter().map(|item| self.output(item, name, span));
                Ok(Output::Record(Some(*made), parts.collect::<Flat<_>>()?))
            }
            Val::Unit | Val::Text(_) | Val::Fn(..) | Val::Turn(_) => {
                Err(declined("a value that is neither a number nor an array", span))
            }
        }
    }

    /// Runs a statement.
    pub(crate) fn stmt(&mut self, stmt: &'p Stmt) -> Flat<()> {
        match &stmt.kind {
            StmtKind::Let(var, value) => {
                let span = value.span;
                let value = self.expr(value)?;
                let value = match value {
                    Val::Scalar(node) if self.loops.is_empty() && self.is_heavy(node) => {
                        let name = self.program.vars[*var].name;
                        let arr = self.store_scalar(node, Some(name), span);
                        Val::Scalar(self.points.load(arr, &[]))
                    }
                    value => value,
                };
                self.oblige(&value, span)?;
                self.bind(*var, value);
                Ok(())
            }
            StmtKind::Destructure(pattern, value) => {
                let value = self.expr(value)?;
                self.destructure(pattern, &value, stmt.span)
            }
            StmtKind::Expr(value) => match &*value.kind {
                ExprKind::Host(HostOp::Assert, _) => self.expr(value).map(drop),
                _ => Err(declined("a statement that is evaluated for its effect", value.span)),
            },
            StmtKind::Require(require) => self.require(require),
        }
    }

    /// Two sizes that must be equal; if they are not, the host says so.
    pub(crate) fn require(&mut self, require: &ein_ir::tensor::Require) -> Flat<()> {
        let left = self.extent(&require.left, require.span)?;
        let right = self.extent(&require.right, require.span)?;
        if left == right { Ok(()) } else { Err(declined("sizes that differ", require.span)) }
    }

    /// Whether a scalar is worth a cell of its own.
    fn is_heavy(&self, node: Node) -> bool {
        let info = &self.points.nodes[node];
        info.reduces || info.traps || info.cost > 4.0
    }

    // ---------------------------------------------------------------- variables

    pub(crate) fn bind(&mut self, var: VarId, value: Val) {
        if let Some(frame) = self.frames.last_mut() {
            frame.insert(var, value);
        }
    }

    /// The name of a variable; parts of a definition have some that the program does not.
    pub(crate) fn name_of(&self, var: VarId) -> Symbol {
        self.program.vars.get(var).map_or_else(|| Symbol::intern("_"), |it| it.name)
    }

    pub(crate) fn var(&mut self, var: VarId, span: Span) -> Flat<Val> {
        let inner = self.frames.last().and_then(|frame| frame.get(&var));
        // A function sees its own variables and those of the top level.
        let found = inner.or_else(|| self.frames[0].get(&var)).or_else(|| self.outside.get(&var));
        if let Some(value) = found {
            return Ok(value.clone());
        }
        if let Some(text) = text_of(self.program, var) {
            return Ok(Val::Text(text));
        }
        let value = self.given(Input { var, parts: Vec::new() }, self.world.given(var), span)?;
        self.outside.insert(var, value.clone());
        Ok(value)
    }

    /// What is there before, as a value.
    fn given(&mut self, input: Input, given: Given, span: Span) -> Flat<Val> {
        let name = Some(self.name_of(input.var));
        match given {
            Given::Scalar(value) => {
                let source = Source::Input(input, Vec::new());
                let info = ArrInfo { name, ty: value.ty(), shape: Vec::new(), source };
                let arr = self.points.arrs.push(info);
                Ok(Val::Scalar(self.points.load(arr, &[])))
            }
            Given::Array { ty, shape, strides } => {
                let source = Source::Input(input, strides);
                let info = ArrInfo { name, ty, shape: shape.clone(), source };
                let arr = self.points.arrs.push(info);
                let kind = ArrayKind::Stored(arr, Vec::new());
                Ok(Val::Array(Rc::new(Array { ty, shape: fixed_shape(&shape), kind })))
            }
            Given::Record(made, given) => {
                let mut items = Vec::with_capacity(given.len());
                for (at, part) in given.into_iter().enumerate() {
                    let mut input = input.clone();
                    input.parts.push(at);
                    items.push(self.given(input, part, span)?);
                }
                Ok(match made {
                    Some(made) => Val::Data(made, items.into()),
                    None => Val::Tuple(items.into()),
                })
            }
            Given::Other => Err(declined("a value that is not a number or array", span)),
        }
    }

    /// What a variable of this frame is, if it is one.
    pub(crate) fn frame_value(&self, var: VarId) -> Option<Val> {
        self.frames.last().and_then(|frame| frame.get(&var)).cloned()
    }

    /// The constant that an integer is; one of outside is taken as such.
    pub(crate) fn constant_int(&mut self, node: Node, span: Span) -> Flat<i64> {
        if let Some(value) = self.points.as_int(node) {
            return Ok(value);
        }
        let known = self.with_known_integers(node).and_then(|node| self.points.as_int(node));
        known.ok_or_else(|| declined("a size that depends on data", span))
    }

    /// The value of a number of outside, of which the code then depends.
    pub(crate) fn assumed_value(&mut self, arr: Arr) -> Option<Scalar> {
        let Source::Input(input, _) = &self.points.arrs[arr].source else { return None };
        let input = input.clone();
        if !self.world.may_assume(input.var) {
            return None;
        }
        let mut given = self.world.given(input.var);
        for part in &input.parts {
            let Given::Record(_, parts) = given else { return None };
            given = parts.into_iter().nth(*part)?;
        }
        let Given::Scalar(value) = given else { return None };
        if !self.assumed.iter().any(|(other, _)| *other == input) {
            let node = self.points.constant(value);
            let whole = self.outside.get(&input.var).cloned();
            let known = match input.parts.as_slice() {
                [] => Some(Val::Scalar(node)),
                parts => whole.and_then(|whole| with_part(&whole, parts, node)),
            };
            self.outside.extend(known.map(|known| (input.var, known)));
            self.assumed.push((input, value));
        }
        Some(value)
    }

    // ---------------------------------------------------------------- sizes

    /// A size as a node, perhaps over index variables.
    pub(crate) fn size(&mut self, size: &size::Expr, span: Span) -> Flat<Node> {
        if let Some(value) = size.as_constant() {
            return Ok(self.points.int(value));
        }
        let mut nodes: Vec<(Atom, Node)> = Vec::new();
        let mut known = FxHashMap::default();
        for atom in size.atoms() {
            let node = self.atom(atom, span)?;
            // What arrays hold is a number like any other: only extents need to be known.
            match self.points.nodes[node].free.is_empty() && !self.is_counted(node) {
                true => match self.constant_int(node, span) {
                    Ok(value) => drop(known.insert(atom, value)),
                    Err(_) => nodes.push((atom, node)),
                },
                false => nodes.push((atom, node)),
            }
        }
        if nodes.is_empty() {
            let value = size.eval(&|atom| known.get(&atom).copied());
            let value = value.ok_or_else(|| declined("a size without a value", span))?;
            return Ok(self.points.int(value));
        }
        let fixed = |atom: Atom| known.get(&atom).map(|value| size::Expr::constant(*value));
        let size = size.substitute(&fixed);
        for (atom, node) in nodes.iter().rev() {
            if let Some((factor, rest)) = size.affine_in(*atom) {
                let rest = self.size(&rest, span)?;
                let factor = self.points.int(factor);
                let when = self.when;
                let product = self.points.binary(BinaryOp::Mul, factor, *node, when);
                return Ok(self.points.binary(BinaryOp::Add, product, rest, when));
            }
        }
        let when = self.when;
        let points = &mut self.points;
        let node = size.compute(&mut |operation| {
            let (op, a, b) = match operation {
                Operation::Constant(value) => return Some(points.int(value)),
                Operation::Atom(atom) => {
                    return nodes.iter().find(|(it, _)| *it == atom).map(|(_, node)| *node);
                }
                Operation::Add(a, b) => (BinaryOp::Add, a, b),
                Operation::Mul(a, b) => (BinaryOp::Mul, a, b),
                Operation::Min(a, b) => (BinaryOp::Min, a, b),
                Operation::Max(a, b) => (BinaryOp::Max, a, b),
                Operation::Div(a, b) => (BinaryOp::Div, a, b),
                Operation::Rem(a, b) => (BinaryOp::Rem, a, b),
                Operation::DivFloor(a, b) => {
                    let least = |node: Node| points.nodes[node].range.map(|(lo, _)| lo);
                    // Where nothing is negative both roundings are the same.
                    let same = least(a).is_some_and(|a| a >= 0) && least(b).is_some_and(|b| b > 0);
                    same.then_some((BinaryOp::Div, a, b))?
                }
            };
            Some(points.binary(op, a, b, when))
        });
        node.ok_or_else(|| declined("a bound that is too complicated", span))
    }

    pub(crate) fn atom(&mut self, atom: Atom, span: Span) -> Flat<Node> {
        match self.program.atoms[atom].def {
            AtomDef::Var(var) => match self.var(var, span)? {
                Val::Scalar(node) => Ok(node),
                _ => Err(declined("a size that is not a number", span)),
            },
            AtomDef::Extent(var, axis) => match self.var(var, span)? {
                Val::Array(array) if axis < array.shape.len() => {
                    Ok(self.extent_node(array.shape[axis]))
                }
                _ => Err(declined("the extent of a value that is not an array", span)),
            },
            AtomDef::Length(_) => Err(declined("the length of a jagged array", span)),
            AtomDef::Unknown => Err(declined("a size that nothing tells", span)),
        }
    }

    // ---------------------------------------------------------------- definitions

    /// Makes a definition of an array.
    pub(crate) fn define(
        &mut self,
        name: Option<Symbol>,
        ty: ScalarType,
        shape: Vec<i64>,
        span: Span,
        body: Body,
    ) -> Arr {
        let source = Source::Defined(self.points.defs.len());
        let arr = self.points.arrs.push(ArrInfo { name, ty, shape, source });
        self.points.defs.push(Def { arr, span, body, adjoint: false });
        arr
    }

    /// Gives a scalar a cell.
    pub(crate) fn store_scalar(&mut self, node: Node, name: Option<Symbol>, span: Span) -> Arr {
        let ty = self.points.nodes[node].ty;
        let clause = Clause { slots: Vec::new(), guard: None, value: node, otherwise: None };
        self.define(name, ty, Vec::new(), span, Body::Clauses(vec![clause], None))
    }

    /// Gives an array cells of its own.
    pub(crate) fn store(&mut self, array: &Array, name: Option<Symbol>, span: Span) -> Arr {
        let body = Body::Clauses(vec![self.cells(array)], None);
        // Outside of recursion this is the most that an extent can be.
        let shape = array.shape.iter().map(|extent| extent.first).collect();
        self.define(name, array.ty, shape, span, body)
    }

    /// All cells of an array as a clause.
    pub(crate) fn cells(&mut self, array: &Array) -> Clause {
        let slots: Vec<Slot> =
            array.shape.iter().map(|extent| self.whole_axis(*extent, "i")).collect();
        let at: Vec<Node> = slots.iter().map(|slot| self.points.index(slot.ix)).collect();
        let value = self.element(array, &at);
        Clause { slots, guard: None, value, otherwise: None }
    }

    /// A slot for all of an axis.
    pub(crate) fn whole_axis(&mut self, extent: Extent, name: &str) -> Slot {
        let most = self.span_of(extent).1;
        let range = (0, i128::from(most - 1).max(0));
        let (lo, hi) = (self.points.int(0), self.extent_node(extent));
        let ix = self.points.fresh_between(Symbol::intern(name), range, lo, hi);
        Slot { ix, lo, hi }
    }

    /// Refuses regions that grow out of hand.
    pub(crate) fn not_too_large(&self, span: Span) -> Flat<()> {
        if self.points.nodes.len() > MAX_NODES {
            return Err(declined("more code than is worth compiling", span));
        }
        Ok(())
    }
}

pub(crate) fn declined(why: impl Into<String>, span: Span) -> Declined {
    Declined { why: why.into(), span }
}

/// The scalar type of an element, if it is one.
pub(crate) fn element_type(ty: &Type, span: Span) -> Flat<ScalarType> {
    ty.scalar().ok_or_else(|| declined("elements that are not numbers", span))
}

/// The recurrence axes of a definition.
pub(crate) fn steps(recurrence: &ein_ir::tensor::Recurrence) -> Vec<Step> {
    let step =
        |axis: &ein_ir::tensor::RecurrenceAxis| Step { axis: axis.axis, backward: axis.backward };
    recurrence.axes.iter().map(step).collect()
}

/// A tuple or struct with another number in one place.
fn with_part(whole: &Val, parts: &[usize], node: Node) -> Option<Val> {
    let Some((first, rest)) = parts.split_first() else { return Some(Val::Scalar(node)) };
    let replaced = |items: &[Val]| -> Option<Vec<Val>> {
        let mut items = items.to_vec();
        let item = items.get_mut(*first)?;
        *item = with_part(item, rest, node)?;
        Some(items)
    };
    match whole {
        Val::Tuple(items) => Some(Val::Tuple(replaced(items)?.into())),
        Val::Data(made, items) => Some(Val::Data(*made, replaced(items)?.into())),
        _ => None,
    }
}
