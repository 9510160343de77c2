//! Writing loops: registers, scopes, addresses, and the values of nodes.
//!
//! Every open loop is a scope. The value of a node is written into the outermost scope in which
//! everything that it depends on is known, and remembered there: what is invariant in a loop is
//! computed before it, and what occurs twice is computed once.
//!
//! Failures: a value is written into the outermost loop in which it is known, where it may run
//! although no point of an inner loop does: an alarm, after which a careful kernel keeps what may
//! fail inside of the loops and branches that may not run. It is never left out, and what it guards
//! is inside its buffer whether or not it failed.

mod address;
mod quotient;
mod taken;

use super::packed::Packed;
use super::plan::Making;
use super::sample::Sample;
use super::view::View;
use crate::points::{Arr, Input, Ix, Kind, Node, Points};
use ein_ir::loops::{Buf, Buffer, BufferKind, For, ForKind, Kernel, Op, Operand, Reg, Stmt};
use ein_scalar::{BinaryOp, Scalar, ScalarType};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::sync::Arc;

/// What a buffer is to whoever runs the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Use {
    /// The elements of a variable, or the bits of a scalar.
    Input(Input),
    /// The elements of a result of this shape.
    Output(Vec<i64>),
    /// Room of this many elements.
    Scratch,
    /// Made by the kernel itself.
    Local,
}

/// Where the cells of an array are.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// In a buffer.
    Buffer(Buf, Vec<AxisPlace>),
    /// In a buffer, part after part: positions along the axes count as if cells were next to each other along
    /// each.
    Packed(Buf, Vec<AxisPlace>, Arc<Packed>),
    /// In a register, for the point that the loops around are at.
    Register(Operand),
}

impl Place {
    /// The buffer, if it is one.
    pub(crate) fn buffer(&self) -> Option<Buf> {
        match self {
            Place::Buffer(buf, _) | Place::Packed(buf, ..) => Some(*buf),
            Place::Register(_) => None,
        }
    }

    /// The parts that lie one after another, if there are any.
    pub(crate) fn packed(&self) -> Option<&Packed> {
        match self {
            Place::Packed(_, _, packed) => Some(packed),
            Place::Buffer(..) | Place::Register(_) => None,
        }
    }

    /// How positions count along an axis, but for how far apart cells of parts are.
    pub(crate) fn axis(&self, axis: usize) -> Option<AxisPlace> {
        match self {
            Place::Buffer(_, axes) | Place::Packed(_, axes, _) => axes.get(axis).copied(),
            Place::Register(_) => None,
        }
    }

    /// How positions count along all axes for a cell at these, and what is added.
    pub(crate) fn axes(&self, points: &Points, at: &[Node]) -> (Cow<'_, [AxisPlace]>, i64) {
        match self {
            Place::Buffer(_, axes) => (Cow::Borrowed(axes.as_slice()), 0),
            Place::Packed(_, each, packed) => {
                let (axes, offset) = packed.places(points, each, at);
                (Cow::Owned(axes), offset)
            }
            Place::Register(_) => (Cow::Borrowed(&[]), 0),
        }
    }
}

/// How a position along an axis counts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AxisPlace {
    /// So many elements per step.
    Strided(i64),
    /// Not at all: only the position of the loops around is kept.
    Fixed,
    /// So many elements per step from the start of the current tile.
    From(i64, Reg),
    /// So many elements per step, modulo the number of steps that are kept.
    Ring(i64, i64),
}

impl AxisPlace {
    /// The same where so many elements are at each place.
    pub(crate) fn times(self, cells: i64) -> AxisPlace {
        match self {
            AxisPlace::Strided(stride) => AxisPlace::Strided(stride * cells),
            AxisPlace::Fixed => AxisPlace::Fixed,
            AxisPlace::From(stride, origin) => AxisPlace::From(stride * cells, origin),
            AxisPlace::Ring(stride, steps) => AxisPlace::Ring(stride * cells, steps),
        }
    }
}

/// The terms and the offset of a position, and the number of steps kept.
type RingKey = (Vec<(Node, i64)>, i64, i64);

/// An open loop, or the kernel itself.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    pub(crate) stmts: Vec<Stmt>,
    ixs: Vec<(Ix, Reg)>,
    values: FxHashMap<Node, Operand>,
    /// Integer nodes as `i64`.
    positions: FxHashMap<Node, Reg>,
    rings: FxHashMap<RingKey, Reg>,
    head: Option<Head>,
}

#[derive(Debug)]
struct Head {
    var: Reg,
    lo: Operand,
    hi: Operand,
    kind: ForKind,
}

/// The kernel being written.
pub(crate) struct Emit {
    pub(crate) points: Points,
    pub(crate) kernel: Kernel,
    pub(crate) uses: Vec<Use>,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) places: FxHashMap<Arr, Place>,
    /// Reads of these arrays stay inside this scope: it is what fills them.
    pub(crate) floors: FxHashMap<Arr, usize>,
    /// Buffers that are filled by one nest, each cell once.
    pub(crate) once: FxHashSet<Buf>,
    /// Arrays of which nobody reads what their definitions leave out.
    pub(crate) partial: FxHashSet<Arr>,
    /// What is copied of recurrences beside their rings.
    pub(crate) samples: FxHashMap<Arr, Sample>,
    /// Of these recurrences only some steps are filled.
    pub(crate) filled: FxHashMap<Arr, (i64, i64)>,
    /// Whether the loops around are those of a sweep: what is read there and has no floor was
    /// complete before them.
    pub(crate) sweeping: bool,
    /// Addresses that are written beside recurrences.
    pub(crate) beside: Vec<super::beside::Beside>,
    /// The extremes whose addresses are to be kept with them in the nest being written.
    pub(crate) kept: Option<super::beside::Kept>,
    /// Whether a parallel loop is open.
    pub(crate) in_parallel: bool,
    /// The step that is being filled of a recurrence.
    pub(crate) step: Option<Ix>,
    /// What ends the steps that are being filled.
    pub(crate) ends: Option<super::until::Ends>,
    /// The reductions that the code being written needs.
    pub(crate) wanted: Vec<Node>,
    /// Copies of arrays with an axis last: what their cells are.
    pub(crate) turned: FxHashMap<(Arr, usize), (Vec<Ix>, Node)>,
    /// Copies of recurrences with an axis last, which are written beside them.
    pub(crate) mirrors: FxHashMap<Arr, (Arr, usize)>,
    /// Divisors of the code being written whose reciprocals are known inside of a scope.
    pub(crate) reciprocals: FxHashMap<Node, (Operand, usize)>,
    /// Divisors of the code being written that have an inverse to multiply by.
    pub(crate) inverses: FxHashMap<Node, Operand>,
    /// What has been decided.
    pub(crate) plan: Making,
}

impl Scope {
    /// Whether an index has its value from here.
    pub(crate) fn binds(&self, ix: Ix) -> bool {
        self.ixs.iter().any(|(other, _)| *other == ix)
    }

    /// Whether the value of a node is known here.
    pub(crate) fn knows(&self, node: Node) -> bool {
        self.values.contains_key(&node)
    }
}

/// Makes the points of an open loop come one after the other.
pub(crate) fn takes_turns(emit: &mut Emit, level: usize) {
    if let Some(head) = emit.scopes[level].head.as_mut() {
        head.kind = ForKind::Serial;
    }
}

impl Emit {
    pub(crate) fn new(points: Points) -> Emit {
        Emit {
            points,
            kernel: Kernel::default(),
            uses: Vec::new(),
            scopes: vec![Scope::default()],
            places: FxHashMap::default(),
            floors: FxHashMap::default(),
            once: FxHashSet::default(),
            partial: FxHashSet::default(),
            samples: FxHashMap::default(),
            filled: FxHashMap::default(),
            sweeping: false,
            beside: Vec::new(),
            kept: None,
            in_parallel: false,
            step: None,
            ends: None,
            wanted: Vec::new(),
            turned: FxHashMap::default(),
            mirrors: FxHashMap::default(),
            reciprocals: FxHashMap::default(),
            inverses: FxHashMap::default(),
            plan: Making::default(),
        }
    }

    /// The finished kernel.
    pub(crate) fn finish(mut self) -> (Kernel, Vec<Use>, Making) {
        if let Some(scope) = self.scopes.pop() {
            self.kernel.body = scope.stmts;
        }
        (self.kernel, self.uses, self.plan)
    }

    /// What decisions may look at.
    pub(crate) fn view(&self) -> View<'_> {
        let Emit { points, places, floors, scopes, in_parallel, .. } = self;
        View { points, places, floors, scopes, in_parallel: *in_parallel }
    }

    pub(crate) fn buffer(
        &mut self,
        name: String,
        ty: ScalarType,
        len: i64,
        kind: BufferKind,
        used: Use,
    ) -> Buf {
        self.uses.push(used);
        self.kernel.bufs.push(Buffer { name, ty, len, kind })
    }

    pub(crate) fn reg(&mut self, ty: ScalarType) -> Reg {
        self.kernel.regs.push(ty)
    }

    /// The number of the innermost scope.
    pub(crate) fn here(&self) -> usize {
        self.scopes.len() - 1
    }

    pub(crate) fn push(&mut self, stmt: Stmt) {
        let here = self.here();
        self.push_at(here, stmt);
    }

    pub(crate) fn push_at(&mut self, level: usize, stmt: Stmt) {
        self.scopes[level].stmts.push(stmt);
    }

    pub(crate) fn let_at(&mut self, level: usize, ty: ScalarType, op: Op) -> Operand {
        let reg = self.reg(ty);
        self.push_at(level, Stmt::Let(reg, op));
        Operand::Reg(reg)
    }

    pub(crate) fn let_here(&mut self, ty: ScalarType, op: Op) -> Operand {
        let here = self.here();
        self.let_at(here, ty, op)
    }

    // ---------------------------------------------------------------- loops

    /// Opens a loop over an index.
    pub(crate) fn open(&mut self, ix: Ix, lo: Operand, hi: Operand, kind: ForKind) -> Reg {
        // Vector code may use other approximations of elementary functions.
        let kind = match kind {
            ForKind::Vector { .. } if self.points.exact => ForKind::Serial,
            kind => kind,
        };
        let var = self.reg(ScalarType::I64);
        if matches!(kind, ForKind::Parallel { .. }) {
            self.in_parallel = true;
        }
        let head = Some(Head { var, lo, hi, kind });
        self.scopes.push(Scope { ixs: vec![(ix, var)], head, ..Scope::default() });
        var
    }

    /// Closes a loop whose points must come one after the other, whatever it was opened as.
    pub(crate) fn close_in_turns(&mut self) {
        let here = self.here();
        takes_turns(self, here);
        self.close();
    }

    /// Closes the innermost loop.
    pub(crate) fn close(&mut self) {
        let Some(Scope { stmts: body, head: Some(head), .. }) = self.scopes.pop() else { return };
        let Head { var, lo, hi, kind } = head;
        if matches!(kind, ForKind::Parallel { .. }) {
            self.in_parallel = false;
        }
        if !body.is_empty() {
            self.push(Stmt::For(Box::new(For { var, lo, hi, kind, body })));
        }
    }

    /// Closes the innermost loop, which was opened to run in vectors: it does if nothing but values is
    /// computed in it.
    pub(crate) fn close_vector(&mut self) {
        let value = |stmt: &Stmt| matches!(stmt, Stmt::Let(..) | Stmt::Store(..) | Stmt::Trap(_));
        match self.scopes.last().is_some_and(|scope| scope.stmts.iter().all(value)) {
            true => self.close(),
            false => self.close_in_turns(),
        }
    }

    /// Starts a block of its own.
    pub(crate) fn open_block(&mut self) {
        self.scopes.push(Scope::default());
    }

    /// The statements of the innermost block, which ends here.
    pub(crate) fn close_block(&mut self) -> Vec<Stmt> {
        self.scopes.pop().map_or_else(Vec::new, |scope| scope.stmts)
    }

    /// Makes an index another name for the counter of an open loop.
    pub(crate) fn alias(&mut self, ix: Ix, counter: Reg) {
        let owner = self.scopes.iter().rposition(|scope| {
            scope.ixs.iter().any(|(other, reg)| *reg == counter && *other != ix)
        });
        if let Some(owner) = owner {
            self.scopes[owner].ixs.push((ix, counter));
        }
    }

    /// Whether a loop over an index is open.
    pub(crate) fn is_bound(&self, ix: Ix) -> bool {
        self.bound(ix).is_some()
    }

    /// Whether a scope is a loop in vectors.
    pub(crate) fn is_vector(&self, level: usize) -> bool {
        let head = &self.scopes[level].head;
        matches!(head, Some(Head { kind: ForKind::Vector { .. }, .. }))
    }

    /// Whether one of the open loops is parallel.
    pub(crate) fn any_parallel(&self) -> bool {
        self.scopes
            .iter()
            .any(|scope| matches!(&scope.head, Some(Head { kind: ForKind::Parallel { .. }, .. })))
    }

    /// Binds an index to a value in a scope of its own, without a loop.
    pub(crate) fn bind(&mut self, ix: Ix, value: Operand) {
        let reg = self.reg(ScalarType::I64);
        self.push(Stmt::Let(reg, Op::Copy(value)));
        let here = self.here();
        self.scopes[here].ixs.push((ix, reg));
    }

    /// Forgets an index that was bound without a loop, with all that depends on it.
    pub(crate) fn unbind(&mut self, ix: Ix) {
        let here = self.here();
        let points = &self.points;
        let scope = &mut self.scopes[here];
        scope.ixs.retain(|(other, _)| *other != ix);
        scope.values.retain(|node, _| !points.depends(*node, ix));
        scope.positions.retain(|node, _| !points.depends(*node, ix));
        scope.rings.retain(|(terms, ..), _| !terms.iter().any(|(n, _)| points.depends(*n, ix)));
    }

    /// The scope that binds an index, and its register.
    pub(crate) fn bound(&self, ix: Ix) -> Option<(usize, Reg)> {
        self.scopes.iter().enumerate().rev().find_map(|(level, scope)| {
            let found = scope.ixs.iter().find(|(other, _)| *other == ix);
            found.map(|(_, reg)| (level, *reg))
        })
    }

    /// The innermost scope that a node depends on.
    pub(crate) fn level(&self, node: Node) -> usize {
        let free = self.points.nodes[node].free.iter();
        let of_indices = free.filter_map(|ix| self.bound(*ix)).map(|(level, _)| level).max();
        let floors = if self.floors.is_empty() {
            0
        } else {
            let loads = self.points.loads(&[node]);
            loads.iter().filter_map(|(arr, _)| self.floors.get(arr)).copied().max().unwrap_or(0)
        };
        let level = of_indices.unwrap_or(0).max(floors);
        if self.points.nodes[node].traps { level.max(unsure(self)) } else { level }
    }

    // ---------------------------------------------------------------- values

    /// The value of a node, where everything it depends on is bound.
    pub(crate) fn value(&mut self, node: Node) -> Operand {
        self.valued(node).0
    }

    /// The value of a node and the scope it is in.
    fn valued(&mut self, node: Node) -> (Operand, usize) {
        if let Kind::Const(value) = self.points.nodes[node].kind {
            return (Operand::Const(value), 0);
        }
        let known = self.scopes.iter().enumerate().rev();
        for (level, scope) in known {
            if let Some(value) = scope.values.get(&node) {
                return (*value, level);
            }
        }
        let (value, level) = self.compute(node);
        self.scopes[level].values.insert(node, value);
        (value, level)
    }

    fn compute(&mut self, node: Node) -> (Operand, usize) {
        let info = &self.points.nodes[node];
        let (kind, ty) = (info.kind.clone(), info.ty);
        match kind {
            Kind::Const(value) => (Operand::Const(value), 0),
            Kind::Index(ix) => match self.bound(ix) {
                Some((level, reg)) => (self.let_at(level, ty, Op::Cast(Operand::Reg(reg))), level),
                // Not reached: nodes are emitted inside the loops of their indices.
                None => (Operand::Const(Scalar::zero(ty)), 0),
            },
            Kind::Load(arr, at) => self.load(arr, &at, ty),
            Kind::Clamp { .. } => {
                let (reg, level) = self.position(node);
                (self.let_at(level, ty, Op::Cast(Operand::Reg(reg))), level)
            }
            Kind::Unary(op, a) => {
                let (a, level) = self.valued(a);
                (self.let_at(level, ty, Op::Unary(op, a)), level)
            }
            Kind::Binary(BinaryOp::Div, a, b) if self.reciprocals.contains_key(&b) => {
                self.divided(a, b, ty)
            }
            Kind::Binary(BinaryOp::Div, a, b) if let Some(parts) = self.inverse_of(b) => {
                let ((x, level), divisor) = (self.valued(a), self.value(b));
                let op = match parts {
                    (r, None) => Op::Binary(BinaryOp::Mul, x, r),
                    (r, Some(more)) if self.is_vector(level) => {
                        let more = self.let_at(level, ty, Op::Binary(BinaryOp::Mul, x, more));
                        Op::MulAdd(x, r, more)
                    }
                    _ => Op::Binary(BinaryOp::Div, x, divisor),
                };
                (self.let_at(level, ty, op), level)
            }
            Kind::Binary(BinaryOp::Div, a, b) if self.inverses.contains_key(&b) => {
                let (a, inverse) = (self.value(a), self.inverses[&b]);
                let here = self.here();
                (self.let_at(here, ty, Op::Binary(BinaryOp::Mul, a, inverse)), here)
            }
            Kind::Binary(op, a, b) => {
                let ((a, la), (b, lb)) = (self.valued(a), self.valued(b));
                (quotient::in_range(self, op, [a, b], (ty, la.max(lb))), la.max(lb))
            }
            Kind::Wrapping(op, a, b) => {
                let ((a, la), (b, lb)) = (self.valued(a), self.valued(b));
                let level = la.max(lb);
                (self.let_at(level, ty, Op::Binary(op, a, b)), level)
            }
            Kind::Checked(op, a, b, when) => self.checked(op, a, b, when, ty),
            Kind::Cast(a) => {
                let (a, level) = self.valued(a);
                (self.let_at(level, ty, Op::Cast(a)), level)
            }
            Kind::Select(c, a, b) if self.is_dear_choice(node, a, b) => self.taken(node, c, a, b),
            Kind::Select(c, a, b) => {
                let ((c, lc), (a, la), (b, lb)) = (self.valued(c), self.valued(a), self.valued(b));
                let level = lc.max(la).max(lb);
                (self.let_at(level, ty, Op::Select(c, a, b)), level)
            }
            Kind::Reduce(_) => self.reduction(node),
        }
    }

    fn load(&mut self, arr: Arr, at: &[Node], ty: ScalarType) -> (Operand, usize) {
        if let Some(Place::Register(value)) = self.places.get(&arr) {
            return (*value, self.floors.get(&arr).copied().unwrap_or(0));
        }
        let (addr, level) = self.address(arr, at);
        let level = level.max(self.floors.get(&arr).copied().unwrap_or(0));
        (self.let_at(level, ty, Op::Load(addr)), level)
    }

    fn checked(
        &mut self,
        op: BinaryOp,
        a: Node,
        b: Node,
        when: Option<Node>,
        ty: ScalarType,
    ) -> (Operand, usize) {
        let ((x, la), (y, lb)) = (self.valued(a), self.valued(b));
        let level = la.max(lb).max(unsure(self));
        let divides =
            matches!(op, BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::FloorMod);
        if !divides {
            let overflows = self.let_at(level, ScalarType::Bool, Op::Overflows(op, x, y));
            self.trap(overflows, level, when);
            return (self.let_at(level, ty, Op::Binary(op, x, y)), level);
        }
        let zero = Operand::Const(Scalar::zero(ty));
        let one = Operand::Const(Scalar::one(ty));
        let by_zero = self.let_at(level, ScalarType::Bool, Op::Binary(BinaryOp::Eq, y, zero));
        self.trap(by_zero, level, when);
        let mut divisor = self.let_at(level, ty, Op::Select(by_zero, one, y));
        if ty.is_signed() {
            let op = Op::Overflows(BinaryOp::Div, x, divisor);
            let overflows = self.let_at(level, ScalarType::Bool, op);
            self.trap(overflows, level, when);
            divisor = self.let_at(level, ty, Op::Select(overflows, one, divisor));
        }
        (quotient::in_range(self, op, [x, divisor], (ty, level)), level)
    }

    /// Traps if a condition holds, where another holds.
    fn trap(&mut self, cond: Operand, level: usize, when: Option<Node>) {
        match when {
            None => self.push_at(level, Stmt::Trap(cond)),
            Some(when) => {
                let (when, other) = self.valued(when);
                let level = level.max(other);
                let both = Op::Binary(BinaryOp::And, cond, when);
                let both = self.let_at(level, ScalarType::Bool, both);
                self.push_at(level, Stmt::Trap(both));
            }
        }
    }

    /// Forgets values that were read from arrays which have changed since.
    pub(crate) fn forget(&mut self, arrs: &[Arr]) {
        let points = &self.points;
        for scope in &mut self.scopes {
            scope.values.retain(|node, _| {
                !points.loads(&[*node]).iter().any(|(arr, _)| arrs.contains(arr))
            });
            scope.positions.retain(|node, _| {
                !points.loads(&[*node]).iter().any(|(arr, _)| arrs.contains(arr))
            });
        }
    }

    /// Remembers a value for the innermost scope.
    pub(crate) fn remember(&mut self, node: Node, value: Operand) {
        let here = self.here();
        self.remember_at(here, node, value);
    }

    /// Remembers a value for a scope.
    pub(crate) fn remember_at(&mut self, level: usize, node: Node, value: Operand) {
        self.scopes[level].values.insert(node, value);
    }
}

/// The innermost scope that may not run, if what fails has to stay inside.
fn unsure(emit: &Emit) -> usize {
    let runs = |scope: &Scope| match &scope.head {
        Some(Head { lo: Operand::Const(lo), hi: Operand::Const(hi), .. }) => {
            lo.as_i64() < hi.as_i64()
        }
        Some(_) | None => false,
    };
    let inner = emit.scopes.iter().skip(1).rposition(|scope| !runs(scope));
    inner.filter(|_| emit.points.careful).map_or(0, |at| at + 1)
}
