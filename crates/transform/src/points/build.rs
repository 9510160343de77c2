//! Making nodes: equal ones are shared, constants are folded, integers are kept exact.

use super::interval::result_range;
use super::linear::reach_under;
use super::{Arr, Info, Ix, Kind, Node, Points, Range, Reduction, reduction};
use ein_scalar::{
    BinaryOp, Overflow, Scalar, ScalarType, UnaryOp, apply_binary, apply_unary, cast,
};

impl Points {
    /// Shares a node.
    pub(super) fn intern(&mut self, kind: Kind, ty: ScalarType) -> Node {
        let key = (kind, ty);
        if let Some(node) = self.shared.get(&key) {
            return *node;
        }
        let range = self.interval(&key.0, ty);
        self.intern_within(key, range)
    }

    /// Shares a node whose interval is known.
    pub(super) fn intern_within(&mut self, key: (Kind, ScalarType), range: Option<Range>) -> Node {
        if let Some(node) = self.shared.get(&key) {
            return *node;
        }
        let info = self.describe(key.0.clone(), key.1, range);
        let node = self.nodes.push(info);
        self.shared.insert(key, node);
        node
    }

    fn describe(&self, kind: Kind, ty: ScalarType, range: Option<Range>) -> Info {
        let mut info = Info {
            kind,
            ty,
            range,
            free: Box::new([]),
            level: 0,
            traps: false,
            reduces: false,
            cost: 0.0,
        };
        let mut free: Vec<Ix> = Vec::new();
        let mut children = Vec::new();
        info.kind.each_operand(&mut |child| children.push(child));
        for child in children {
            let child = &self.nodes[child];
            free.extend(child.free.iter());
            info.level = info.level.max(child.level);
            info.traps |= child.traps;
            info.reduces |= child.reduces;
            info.cost += child.cost;
        }
        match &info.kind {
            Kind::Index(ix) => free.push(*ix),
            Kind::Const(_) => {}
            Kind::Load(..) | Kind::Cast(_) | Kind::Select(..) => info.cost += 1.0,
            Kind::Clamp { traps, .. } => {
                info.cost += 2.0;
                info.traps |= traps;
            }
            Kind::Unary(op, _) => info.cost += unary_cost(*op),
            Kind::Binary(op, ..) | Kind::Wrapping(op, ..) => info.cost += binary_cost(*op),
            Kind::Checked(op, ..) => {
                info.cost += 2.0 + binary_cost(*op);
                info.traps = true;
            }
            Kind::Reduce(reduction) => {
                let mut points = 1.0;
                for (ix, lo, hi) in &reduction.binders {
                    free.retain(|other| other != ix);
                    points *= self.trip_count(*lo, *hi);
                }
                let inner = self.nodes[reduction.body].cost
                    + reduction.guard.map_or(0.0, |guard| self.nodes[guard].cost);
                info.cost = info.cost - inner + points * (inner + 1.0);
                info.level += reduction.binders.len() as u32;
                info.reduces = true;
                info.traps |= self.may_lack_points(reduction) || self.may_overflow(reduction, ty);
            }
        }
        free.sort_unstable();
        free.dedup();
        info.free = free.into();
        info
    }

    /// About how many values lie between two bounds.
    pub fn trip_count(&self, lo: Node, hi: Node) -> f64 {
        let middle =
            |node: Node| self.nodes[node].range.map_or(0.0, |(a, b)| (a as f64 + b as f64) / 2.0);
        (middle(hi) - middle(lo)).max(0.0)
    }

    /// A constant.
    pub fn constant(&mut self, value: Scalar) -> Node {
        self.intern(Kind::Const(value), value.ty())
    }

    /// An `i32` constant, or an `i64` one if it is too large.
    pub fn int(&mut self, value: i64) -> Node {
        match i32::try_from(value) {
            Ok(value) => self.constant(Scalar::I32(value)),
            Err(_) => self.constant(Scalar::I64(value)),
        }
    }

    /// A truth value.
    pub fn truth(&mut self, value: bool) -> Node {
        self.constant(Scalar::Bool(value))
    }

    /// An index variable.
    pub fn index(&mut self, ix: Ix) -> Node {
        let (lo, hi) = self.ixs[ix].range;
        if lo == hi {
            return self.int(lo as i64);
        }
        self.intern(Kind::Index(ix), ScalarType::I32)
    }

    /// An element.
    pub fn load(&mut self, arr: Arr, at: &[Node]) -> Node {
        let ty = self.arrs[arr].ty;
        if let [at] = at
            && let Some(row) = self.rows.get(&arr)
            && let Some(cell) = self.as_int(*at).and_then(|at| row.get(usize::try_from(at).ok()?))
        {
            return self.constant(*cell);
        }
        self.intern(Kind::Load(arr, at.into()), ty)
    }

    /// A position that is inside `0..extent`, or made so.
    pub fn position(&mut self, at: Node, extent: i64, traps: bool, when: Option<Node>) -> Node {
        let range = self.nodes[at].range;
        let fits = |(lo, hi): Range| lo >= 0 && hi < i128::from(extent);
        if range.is_some_and(fits) {
            return at;
        }
        let sum = self.linear(at);
        if self.reach(&sum).is_some_and(fits) && !self.loses_a_trap(at, &sum) {
            return self.sum_node(&sum);
        }
        let ty = self.nodes[at].ty;
        let traps =
            traps && !when.is_some_and(|when| reach_under(self, &sum, when).is_some_and(fits));
        // A condition under which nothing happens would only make it depend on more.
        let when = when.filter(|_| traps);
        self.intern(Kind::Clamp { at, extent, traps, when }, ty)
    }

    /// The same for a position of the program, which may be of any integer type: what is read there
    /// may be computed from it instead, with positions of the type that they have here.
    pub fn given_position(
        &mut self,
        at: Node,
        extent: i64,
        traps: bool,
        when: Option<Node>,
    ) -> Node {
        let at = self.position(at, extent, traps, when);
        let narrow = i32::try_from(extent).is_ok();
        self.cast(at, if narrow { ScalarType::I32 } else { ScalarType::I64 })
    }

    /// A conversion between integers that may fail where `when` holds: the value has to fit.
    pub fn narrow(&mut self, a: Node, ty: ScalarType, when: Option<Node>) -> Node {
        let (Some((lo, hi)), Some((least, most))) = (self.nodes[a].range, ty.int_range()) else {
            return self.cast(a, ty);
        };
        if least <= lo && hi <= most {
            return self.cast(a, ty);
        }
        // Brought between nothing and the number of values of the type, from the least one on.
        let (Ok(first), Ok(extent)) = (i64::try_from(least), i64::try_from(most - least + 1))
        else {
            return self.cast(a, ty);
        };
        let (wide, first) = (self.cast(a, ScalarType::I64), self.constant(Scalar::I64(first)));
        let from_least = self.binary(BinaryOp::Sub, wide, first, when);
        let inside = self.position(from_least, extent, true, when);
        let value = self.binary(BinaryOp::Add, inside, first, when);
        self.cast(value, ty)
    }

    /// A scalar operation.
    pub fn unary(&mut self, op: UnaryOp, a: Node, when: Option<Node>) -> Node {
        let ty = self.nodes[a].ty;
        if let Kind::Const(value) = self.nodes[a].kind
            && let Ok(value) = apply_unary(op, value, Overflow::Trap)
        {
            return self.constant(value);
        }
        if op == UnaryOp::Not
            && let Some(opposite) = self.opposite(a)
        {
            return opposite;
        }
        if op == UnaryOp::Erf
            && let Some(of) = self.negated(a)
        {
            let value = self.unary(op, of, when);
            return self.unary(UnaryOp::Neg, value, when);
        }
        if ty.is_int() {
            let zero = self.constant(Scalar::zero(ty));
            match op {
                UnaryOp::Neg => return self.binary(BinaryOp::Sub, zero, a, when),
                UnaryOp::Abs => {
                    let negative = self.binary(BinaryOp::Lt, a, zero, when);
                    let when = self.both(when, Some(negative));
                    let minus = self.binary(BinaryOp::Sub, zero, a, when);
                    return self.select(negative, minus, a);
                }
                _ => {}
            }
        }
        let result = op.result_type(ty).unwrap_or(ty);
        self.intern(Kind::Unary(op, a), result)
    }

    /// A scalar operation, which on integers may fail only where `when` holds.
    pub fn binary(&mut self, op: BinaryOp, a: Node, b: Node, when: Option<Node>) -> Node {
        let (ta, tb) = (self.nodes[a].ty, self.nodes[b].ty);
        if ta.is_int() && tb.is_int() && ta != tb {
            // Positions are `i32` as long as they fit; beside one that does not, both are wide.
            let (a, b) = (self.cast(a, ScalarType::I64), self.cast(b, ScalarType::I64));
            return self.binary(op, a, b, when);
        }
        let ty = op.result_type(ta, tb).unwrap_or(ta);
        if let (Kind::Const(x), Kind::Const(y)) = (&self.nodes[a].kind, &self.nodes[b].kind)
            && let Ok(value) = apply_binary(op, *x, *y, Overflow::Trap)
        {
            return self.constant(value);
        }
        if let Some(known) = self.simpler(op, a, b) {
            return known;
        }
        if let Some(root) = self.root(op, a, b) {
            return root;
        }
        if let Some(exponent) = self.float_exponent(op, ta, b) {
            return self.binary(op, a, exponent, None);
        }
        if let Some(unbounded) = self.unbounded(op, a, b) {
            return unbounded;
        }
        if !ta.is_int() || !tb.is_int() {
            return self.intern(Kind::Binary(op, a, b), ty);
        }
        let exact = match (self.nodes[a].range, self.nodes[b].range) {
            (Some(x), Some(y)) => result_range(op, x, y),
            _ => None,
        };
        if op.is_comparison() {
            let traps = self.nodes[a].traps || self.nodes[b].traps;
            let known = match exact {
                Some((lo, hi)) if lo == hi => Some(lo == 1),
                _ => self.compare(op, a, b),
            };
            return match known {
                Some(known) if !traps => self.truth(known),
                _ => self.intern(Kind::Binary(op, a, b), ty),
            };
        }
        if let Some((op, b)) = self.without_sign(op, b) {
            return self.binary(op, a, b, when);
        }
        if let Some(straight) = self.straight(op, a, b, ty) {
            return straight;
        }
        let limits = ty.int_range().unwrap_or((0, 0));
        match exact {
            Some((lo, hi)) if limits.0 <= lo && hi <= limits.1 => {
                let shorter = self.shorter(op, a, b, ty);
                shorter.unwrap_or_else(|| self.intern(Kind::Binary(op, a, b), ty))
            }
            _ if self.wrapping && matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul) => {
                self.intern(Kind::Wrapping(op, a, b), ty)
            }
            // Where it fails the register holds some number of its type, and what reads the number may
            // run before anybody looks at the trap.
            _ => self.intern(Kind::Checked(op, a, b, when), ty),
        }
    }

    /// What a float is the negative of: distributions are asked for on both sides of their middle.
    fn negated(&mut self, a: Node) -> Option<Node> {
        match self.nodes[a].kind {
            Kind::Unary(UnaryOp::Neg, of) => Some(of),
            Kind::Binary(op @ (BinaryOp::Div | BinaryOp::Mul), of, by) => {
                let Kind::Unary(UnaryOp::Neg, of) = self.nodes[of].kind else { return None };
                Some(self.binary(op, of, by, None))
            }
            _ => None,
        }
    }

    /// An integer exponent of a float as a float that is the same number.
    fn float_exponent(&mut self, op: BinaryOp, base: ScalarType, n: Node) -> Option<Node> {
        let most = match base {
            ScalarType::F32 => 1 << 24,
            ScalarType::F64 => 1 << 53,
            _ => return None,
        };
        let (lo, hi) = self.nodes[n].range.filter(|_| op == BinaryOp::Pow)?;
        (-most <= lo && hi <= most).then(|| self.cast(n, base))
    }

    /// A power that is a square root, or one over it. Powers of -0.0 and of minus infinity have no
    /// sign, which these roots keep or fail at. Engines know short powers in vectors; here scalar code
    /// gets them too, which otherwise computes powers as the oracle does.
    fn root(&mut self, op: BinaryOp, a: Node, exponent: Node) -> Option<Node> {
        let ty = self.nodes[a].ty;
        let number = |value: f64| match ty {
            ScalarType::F32 => Some(Scalar::F32(value as f32)),
            ScalarType::F64 => Some(Scalar::F64(value)),
            _ => None,
        };
        let Kind::Const(exponent) = self.nodes[exponent].kind else { return None };
        let exponent = exponent.as_f64();
        if op != BinaryOp::Pow || exponent.abs() != 0.5 || self.exact {
            return None;
        }
        let [zero, one, inf] = [0.0, 1.0, f64::INFINITY].map(number);
        let (zero, one, inf) = (self.constant(zero?), self.constant(one?), self.constant(inf?));
        let least = self.constant(number(f64::NEG_INFINITY)?);
        let positive = self.binary(BinaryOp::Add, a, zero, None);
        let root = self.unary(UnaryOp::Sqrt, positive, None);
        let endless = self.binary(BinaryOp::Eq, a, least, None);
        let root = self.select(endless, inf, root);
        Some(if exponent < 0.0 { self.binary(BinaryOp::Div, one, root, None) } else { root })
    }

    /// What needs no operation.
    fn simpler(&mut self, op: BinaryOp, a: Node, b: Node) -> Option<Node> {
        let is = |points: &Points, node: Node, value: i128| match points.nodes[node].kind {
            Kind::Const(c) if c.ty().is_int() => c.as_i128() == Some(value),
            Kind::Const(c) if c.ty().is_float() => c.as_f64() == value as f64 && value != 0,
            _ => false,
        };
        let truth = |points: &Points, node: Node| match points.nodes[node].kind {
            Kind::Const(Scalar::Bool(value)) => Some(value),
            _ => None,
        };
        match op {
            BinaryOp::Add if is(self, b, 0) => Some(a),
            BinaryOp::Add if is(self, a, 0) => Some(b),
            BinaryOp::Sub if is(self, b, 0) => Some(a),
            BinaryOp::Mul | BinaryOp::Div if is(self, b, 1) => Some(a),
            BinaryOp::Mul if is(self, a, 1) => Some(b),
            BinaryOp::And => match (truth(self, a), truth(self, b)) {
                (Some(true), _) => Some(b),
                (_, Some(true)) => Some(a),
                (Some(false), _) => Some(self.truth(false)),
                (_, Some(false)) if !self.nodes[a].traps => Some(self.truth(false)),
                _ => (a == b).then_some(a),
            },
            BinaryOp::Or => match (truth(self, a), truth(self, b)) {
                (Some(false), _) => Some(b),
                (_, Some(false)) => Some(a),
                (Some(true), _) => Some(self.truth(true)),
                (_, Some(true)) if !self.nodes[a].traps => Some(self.truth(true)),
                _ => (a == b).then_some(a),
            },
            // A square is exact in both forms; higher powers are left to the engines.
            BinaryOp::Pow if is(self, b, 2) && self.nodes[a].ty.is_float() => {
                Some(self.binary(BinaryOp::Mul, a, a, None))
            }
            BinaryOp::Pow if is(self, b, 1) => Some(a),
            BinaryOp::Div | BinaryOp::Rem => self.whole_and_rest(op, a, b),
            _ => None,
        }
    }

    /// A conversion.
    pub fn cast(&mut self, a: Node, ty: ScalarType) -> Node {
        if self.nodes[a].ty == ty {
            return a;
        }
        if let Kind::Const(value) = self.nodes[a].kind {
            return self.constant(cast(value, ty));
        }
        self.intern(Kind::Cast(a), ty)
    }

    /// Both conditions, where they are there.
    pub fn both(&mut self, a: Option<Node>, b: Option<Node>) -> Option<Node> {
        match (a, b) {
            (Some(a), Some(b)) => {
                let both = self.binary(BinaryOp::And, a, b, None);
                match self.nodes[both].kind {
                    Kind::Const(Scalar::Bool(true)) => None,
                    _ => Some(both),
                }
            }
            (a, b) => a.or(b),
        }
    }

    /// A reduction; its indices are renamed so that equal reductions are equal nodes and
    /// reductions over equal domains share their indices.
    pub fn reduce(&mut self, reduction: Reduction, ty: ScalarType) -> Node {
        let known =
            self.known_truth(&reduction).or_else(|| reduction::only_address(self, &reduction));
        if let Some(known) = known.or_else(|| reduction::known_number(self, &reduction, ty)) {
            return known;
        }
        let mut reduction = self.in_one(reduction, ty);
        let level = self.level(&reduction);
        let count = reduction.binders.len();
        for at in 0..count {
            let (ix, lo, hi) = reduction.binders[at];
            let depth = level + (count - at) as u32;
            let canonical = match self.canonical.get(&(depth, lo, hi)) {
                Some(ix) => *ix,
                None => {
                    let mut info = self.ixs[ix].clone();
                    info.bounds = self.dependent(lo, hi);
                    info.range =
                        within_ends(info.range, self.nodes[lo].range, self.nodes[hi].range);
                    let fresh = self.ixs.push(info);
                    self.canonical.insert((depth, lo, hi), fresh);
                    fresh
                }
            };
            if canonical == ix {
                continue;
            }
            // One of those after it may have that name, as in a part of another reduction.
            if let Some(later) = reduction.binders[at + 1..].iter().position(|it| it.0 == canonical)
            {
                let free = self.ixs.push(self.ixs[canonical].clone());
                reduction::rename_binder(self, &mut reduction, at + 1 + later, free);
            }
            // What is not its own keeps its meaning.
            let taken = reduction.binders[..at].iter().any(|it| it.0 == canonical)
                || reduction::mentions(self, &reduction, canonical);
            let name = match taken {
                true => self.ixs.push(self.ixs[ix].clone()),
                false => canonical,
            };
            reduction::rename_binder(self, &mut reduction, at, name);
        }
        self.intern(Kind::Reduce(Box::new(reduction)), ty)
    }

    /// How many levels of reductions are inside a reduction.
    fn level(&self, reduction: &Reduction) -> u32 {
        let inside = [Some(reduction.body), reduction.guard].into_iter().flatten();
        inside.map(|node| self.nodes[node].level).max().unwrap_or_default()
    }

    /// The indices of a reduction are those that others over equal domains shall share.
    pub(super) fn remember(&mut self, reduction: &Reduction) {
        let (level, count) = (self.level(reduction), reduction.binders.len());
        for (at, (ix, lo, hi)) in reduction.binders.iter().enumerate() {
            let depth = level + (count - at) as u32;
            self.canonical.entry((depth, *lo, *hi)).or_insert(*ix);
        }
    }
}

impl Kind {
    /// Calls `f` with every operand, guards and bounds included.
    pub(super) fn each_operand(&self, f: &mut dyn FnMut(Node)) {
        match self {
            Kind::Const(_) | Kind::Index(_) => {}
            Kind::Load(_, at) => at.iter().for_each(|n| f(*n)),
            Kind::Clamp { at, when, .. } => {
                f(*at);
                when.iter().for_each(|n| f(*n));
            }
            Kind::Unary(_, a) | Kind::Cast(a) => f(*a),
            Kind::Binary(_, a, b) | Kind::Wrapping(_, a, b) => [*a, *b].into_iter().for_each(f),
            Kind::Checked(_, a, b, when) => {
                [*a, *b].into_iter().chain(*when).for_each(f);
            }
            Kind::Select(c, a, b) => [*c, *a, *b].into_iter().for_each(f),
            Kind::Reduce(reduction) => {
                for (_, lo, hi) in &reduction.binders {
                    f(*lo);
                    f(*hi);
                }
                reduction.guard.iter().for_each(|n| f(*n));
                f(reduction.body);
            }
        }
    }
}

/// The values of an index that are also between its ends: a condition may have moved these since.
fn within_ends(range: Range, lo: Option<Range>, hi: Option<Range>) -> Range {
    let (Some((first, _)), Some((_, end))) = (lo, hi) else { return range };
    let both = (range.0.max(first), range.1.min(end - 1));
    if both.0 <= both.1 { both } else { range }
}

fn unary_cost(op: UnaryOp) -> f64 {
    match op {
        UnaryOp::Neg | UnaryOp::Not | UnaryOp::Abs | UnaryOp::Sign => 1.0,
        UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Trunc => 1.0,
        UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite => 1.0,
        UnaryOp::Sqrt | UnaryOp::Rsqrt => 4.0,
        _ => 20.0,
    }
}

fn binary_cost(op: BinaryOp) -> f64 {
    match op {
        BinaryOp::Pow | BinaryOp::Atan2 => 30.0,
        BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::FloorMod => 4.0,
        _ => 1.0,
    }
}
