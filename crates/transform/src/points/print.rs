//! Points as text: `einlang dump points`. [`parse`](super::parse) reads it back.
//!
//! ```text
//! points
//! input x_0: f32[64, 8] by [8, 1] of 3
//! output y_1: f32[64]
//!
//! index i0 "i": 0..=63
//! index i1 "k": 0..=7
//! define y_1 {
//!   [i0 in 0..64] = reduce sum[i1 in 0..8](mul(x_0[i0, i1], x_0[i0, i1]))
//! }
//! ```
//!
//! * Arrays are names with a number, of which only the number counts; inputs say their strides, the
//!   variable that they are, and the way to the part of it.
//! * Numbers without a type are of type `i32`. `as f64(…)` is a conversion.
//! * Values that are used more than once, and those whose type or interval does not follow from
//!   what they are made of, stand before the definition that first needs them: `let n0 = …`.
//! * Index variables are declared with their intervals before the definition that first has them,
//!   with `bounds` if these depend on others.
//! * Index variables, arrays and values are numbered as they come, so texts of equal points are
//!   equal.

use super::{
    Act, Again, Arr, Body, Clause, Def, End, InPlace, Ix, Kind, Node, Phase, Points, Range,
    Reduction, Scatter, Source, Step, Until, Write,
};
use ein_base::{Idx as _, Symbol};
use ein_ir::text::{is_plain, scalar_text, write_string};
use ein_scalar::ScalarType;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write as _;

/// The type of a number without one.
pub(super) const PLAIN: ScalarType = ScalarType::I32;

/// How deep the text of a value may be nested.
const DEEP: u32 = 24;

/// The text of points; `wanted` are the arrays that matter outside.
pub fn print(points: &Points, wanted: &FxHashSet<Arr>) -> String {
    let mut printer = Printer {
        points,
        wanted,
        arrs: FxHashMap::default(),
        ixs: FxHashMap::default(),
        values: FxHashMap::default(),
        uses: uses(points),
        depths: FxHashMap::default(),
        out: String::new(),
    };
    printer.all();
    printer.out
}

/// How often each node is an operand or a root.
fn uses(points: &Points) -> FxHashMap<Node, u32> {
    let mut uses: FxHashMap<Node, u32> = FxHashMap::default();
    let roots: Vec<Node> = points.defs.iter().flat_map(|def| points.roots(def)).collect();
    for root in &roots {
        *uses.entry(*root).or_default() += 1;
    }
    for node in points.below(&roots) {
        points.each_child(node, &mut |child| *uses.entry(child).or_default() += 1);
    }
    uses
}

struct Printer<'a> {
    points: &'a Points,
    wanted: &'a FxHashSet<Arr>,
    arrs: FxHashMap<Arr, usize>,
    ixs: FxHashMap<Ix, usize>,
    /// The nodes that have names.
    values: FxHashMap<Node, usize>,
    uses: FxHashMap<Node, u32>,
    /// How deep the text of each node without a name is nested.
    depths: FxHashMap<Node, u32>,
    out: String,
}

impl Printer<'_> {
    fn all(&mut self) {
        self.out.push_str("points");
        if self.points.wrapping {
            self.out.push_str(" wrapping");
        }
        if self.points.exact {
            self.out.push_str(" exact");
        }
        if self.points.careful {
            self.out.push_str(" careful");
        }
        self.out.push('\n');
        let points = self.points;
        let inputs = points.arrs.ids().filter(|arr| points.def_of(*arr).is_none());
        let defined = points.defs.iter().flat_map(Points::filled);
        for arr in inputs.chain(defined) {
            self.declare(arr);
        }
        for arr in points.arrs.ids().filter(|arr| self.arrs.contains_key(arr)) {
            for fact in points.facts.get(&arr).into_iter().flatten() {
                let (axis, at) = (fact.axis, inclusive(fact.steps));
                let name = self.arr(arr);
                let range = inclusive(fact.range);
                let _ = writeln!(self.out, "fact {name} along {axis} at {at}: {range}");
            }
        }
        for def in &points.defs {
            self.out.push('\n');
            self.def(def);
        }
    }

    fn declare(&mut self, arr: Arr) {
        let info = &self.points.arrs[arr];
        let number = self.arrs.len();
        if self.arrs.insert(arr, number).is_some() {
            return;
        }
        let kind = match info.source {
            Source::Input(..) => "input",
            Source::Defined(_) if self.wanted.contains(&arr) => "output",
            Source::Defined(_) => "array",
        };
        let name = self.arr(arr);
        let _ = write!(self.out, "{kind} {name}");
        if let Some(name) = info.name.filter(|name| !is_plain(name.as_str())) {
            self.out.push(' ');
            write_string(&mut self.out, name.as_str());
        }
        let _ = write!(self.out, ": {}{:?}", info.ty, info.shape);
        if let Source::Input(input, strides) = &info.source {
            let _ = write!(self.out, " by {strides:?} of {}", input.var.index());
            for part in &input.parts {
                let _ = write!(self.out, ", {part}");
            }
        }
        self.out.push('\n');
    }

    fn arr(&self, arr: Arr) -> String {
        let name = self.points.arrs[arr].name.map(Symbol::as_str).filter(|name| is_plain(name));
        let number = self.arrs.get(&arr).map_or_else(|| "?".to_owned(), usize::to_string);
        format!("{}_{number}", name.unwrap_or_default())
    }

    fn ix(&mut self, ix: Ix) -> String {
        let next = self.ixs.len();
        format!("i{}", self.ixs.entry(ix).or_insert(next))
    }

    fn def(&mut self, def: &Def) {
        self.values(def);
        if def.adjoint {
            self.out.push_str("adjoint ");
        }
        let name = self.arr(def.arr);
        match &def.body {
            Body::Clauses(clauses, steps) => {
                let _ = write!(self.out, "define {name}");
                self.steps(steps.as_deref().unwrap_or_default());
                if steps.as_ref().is_some_and(Vec::is_empty) {
                    self.out.push_str(" along");
                }
                self.clauses(clauses);
            }
            Body::Until(until) => self.until(&name, until),
            Body::Scatter(scatter) => self.scatter(&name, scatter),
            Body::InPlace(body) => self.in_place(&name, body),
            Body::Again(body) => self.again(&name, body),
        }
    }

    fn steps(&mut self, steps: &[Step]) {
        for (at, step) in steps.iter().enumerate() {
            let before = if at == 0 { " along " } else { ", " };
            let back = if step.backward { "back " } else { "" };
            let _ = write!(self.out, "{before}{back}{}", step.axis);
        }
    }

    fn clauses(&mut self, clauses: &[Clause]) {
        self.out.push_str(" {\n");
        for clause in clauses {
            let slots: Vec<_> = clause.slots.iter().map(|s| (s.ix, s.lo, s.hi)).collect();
            let slots = self.binders(&slots);
            let _ = write!(self.out, "  [{slots}]");
            if let Some(guard) = clause.guard {
                let guard = self.node(guard);
                let _ = write!(self.out, " where {guard}");
            }
            let value = self.node(clause.value);
            let _ = write!(self.out, " = {value}");
            if let Some(otherwise) = clause.otherwise {
                let otherwise = self.node(otherwise);
                let _ = write!(self.out, " else {otherwise}");
            }
            self.out.push('\n');
        }
        self.out.push_str("}\n");
    }

    fn until(&mut self, name: &str, until: &Until) {
        let last = self.arr(until.last);
        let _ = write!(self.out, "until {name}");
        self.steps(&until.steps);
        let around: Vec<String> = until.around.iter().map(|ix| self.ix(*ix)).collect();
        let _ = write!(self.out, " around [{}] last {last}", around.join(", "));
        match &until.end {
            End::Asked { ix, asked: (lo, hi), cond, fails } => {
                let (ix, cond) = (self.ix(*ix), self.node(*cond));
                let fails = if *fails { "must" } else { "may" };
                let _ = write!(self.out, " {fails} {ix} in {lo}..{hi}: {cond}");
            }
            End::Made(count) => {
                let count = self.node(*count);
                let _ = write!(self.out, " made {count}");
            }
        }
        self.clauses(&until.clauses);
    }

    fn scatter(&mut self, name: &str, scatter: &Scatter) {
        let binders = self.binders(&scatter.binders);
        let _ = write!(self.out, "scatter {name} by {} [{binders}]", scatter.op);
        if let Some(guard) = scatter.guard {
            let guard = self.node(guard);
            let _ = write!(self.out, " where {guard}");
        }
        let (at, value) = (self.nodes(&scatter.at), self.node(scatter.value));
        let _ = writeln!(self.out, " {{\n  [{at}] = {value}\n}}");
    }

    fn in_place(&mut self, name: &str, body: &InPlace) {
        let others: Vec<String> = body.others.iter().map(|arr| self.arr(*arr)).collect();
        let _ = write!(self.out, "place {name} with [{}] ", others.join(", "));
        write_string(&mut self.out, &body.places);
        self.out.push_str(" {\n");
        body.phases.iter().for_each(|phase| self.phase(phase, 1));
        self.out.push_str("}\n");
    }

    fn phase(&mut self, phase: &Phase, depth: usize) {
        let indent = "  ".repeat(depth);
        match &phase.steps {
            None => self.out.push_str(&format!("{indent}once {{\n")),
            Some(steps) => {
                let binder = self.binders(&[(steps.ix, steps.lo, steps.hi)]);
                let back = if steps.backward { "back " } else { "" };
                let _ = writeln!(self.out, "{indent}steps {back}[{binder}] {{");
            }
        }
        for act in &phase.acts {
            match act {
                Act::Phase(inner) => self.phase(inner, depth + 1),
                Act::Write(write) => {
                    let write = self.write(write);
                    let _ = writeln!(self.out, "{indent}  {write}");
                }
            }
        }
        let _ = writeln!(self.out, "{indent}}}");
    }

    fn write(&mut self, write: &Write) -> String {
        let (arr, loops) = (self.arr(write.arr), self.binders(&write.loops));
        let (at, value) = (self.nodes(&write.at), self.node(write.value));
        format!("{arr} [{loops}] at [{at}] = {value}")
    }

    fn again(&mut self, name: &str, body: &Again) {
        let around: Vec<String> = body.around.iter().map(|ix| self.ix(*ix)).collect();
        let _ = writeln!(self.out, "again {name} around [{}] {{", around.join(", "));
        for write in &body.first {
            let write = self.write(write);
            let _ = writeln!(self.out, "  first {write}");
        }
        for write in &body.parts {
            let write = self.write(write);
            let _ = writeln!(self.out, "  part {write}");
        }
        let (also, done) = (self.nodes(&body.also), self.node(body.done));
        let _ = writeln!(self.out, "  also [{also}]\n  until {done}");
        for (state, write) in &body.next {
            let (state, write) = (self.arr(*state), self.write(write));
            let _ = writeln!(self.out, "  next {state} by {write}");
        }
        for write in &body.results {
            let write = self.write(write);
            let _ = writeln!(self.out, "  keep {write}");
        }
        self.out.push_str("}\n");
    }

    fn binders(&mut self, binders: &[(Ix, Node, Node)]) -> String {
        let one = |printer: &mut Self, (ix, lo, hi): &(Ix, Node, Node)| {
            let (lo, hi) = (printer.node(*lo), printer.node(*hi));
            format!("{} in {lo}..{hi}", printer.ix(*ix))
        };
        binders.iter().map(|binder| one(self, binder)).collect::<Vec<_>>().join(", ")
    }

    fn nodes(&mut self, nodes: &[Node]) -> String {
        nodes.iter().map(|node| self.node(*node)).collect::<Vec<_>>().join(", ")
    }

    /// Declares the indices of a definition, and names what is used more than once below its roots,
    /// does not follow from its operands or is deep.
    fn values(&mut self, def: &Def) {
        let mut roots = self.points.roots(def);
        let mut fresh: Vec<Ix> = Vec::new();
        let mut found = self.points.bound(def);
        loop {
            let below = self.points.below(&roots);
            found.extend(below.iter().flat_map(|node| match &self.points.nodes[*node].kind {
                Kind::Index(ix) => vec![*ix],
                Kind::Reduce(reduction) => reduction.binders.iter().map(|it| it.0).collect(),
                _ => Vec::new(),
            }));
            let known = fresh.len();
            for ix in found.drain(..) {
                if self.index(ix) {
                    fresh.push(ix);
                }
            }
            let bounds = fresh[known..].iter().filter_map(|ix| self.points.ixs[*ix].bounds);
            let more: Vec<Node> = bounds.flat_map(|(lo, hi)| [lo, hi]).collect();
            if more.is_empty() {
                break;
            }
            roots.extend(more);
        }
        for node in self.points.below(&roots) {
            self.value(node);
        }
        for ix in fresh {
            if let Some((lo, hi)) = self.points.ixs[ix].bounds {
                let (ix, lo, hi) = (self.ix(ix), self.node(lo), self.node(hi));
                let _ = writeln!(self.out, "bounds {ix} in {lo}..{hi}");
            }
        }
    }

    /// Names a value, if it needs a name.
    fn value(&mut self, node: Node) {
        if self.values.contains_key(&node) || self.depths.contains_key(&node) {
            return;
        }
        let info = &self.points.nodes[node];
        let mut depth = 0;
        self.points.each_child(node, &mut |child| {
            depth = depth.max(self.depths.get(&child).map_or(0, |below| below + 1));
        });
        let kind = |at: &Node| &self.points.nodes[*at].kind;
        let leaf = match &info.kind {
            Kind::Const(_) | Kind::Index(_) => true,
            Kind::Load(_, at) => {
                at.iter().all(|at| matches!(kind(at), Kind::Const(_) | Kind::Index(_)))
            }
            _ => false,
        };
        let often = !leaf && self.uses.get(&node).is_some_and(|uses| *uses > 1);
        let plain = self.points.plain(&info.kind, info.ty) == Some((info.ty, info.range));
        if plain && !often && depth < DEEP {
            self.depths.insert(node, depth);
            return;
        }
        let text = self.expr(node);
        let number = self.values.len();
        self.values.insert(node, number);
        let _ = match (plain, info.range) {
            (true, _) => writeln!(self.out, "let n{number} = {text}"),
            (false, None) => writeln!(self.out, "let n{number}: {} = {text}", info.ty),
            (false, Some(range)) => {
                writeln!(self.out, "let n{number}: {} in {} = {text}", info.ty, inclusive(range))
            }
        };
    }

    /// Declares an index variable, if it is new.
    fn index(&mut self, ix: Ix) -> bool {
        if self.ixs.contains_key(&ix) {
            return false;
        }
        let (name, info) = (self.ix(ix), &self.points.ixs[ix]);
        let _ = write!(self.out, "index {name} ");
        write_string(&mut self.out, info.name.as_str());
        let _ = writeln!(self.out, ": {}", inclusive(info.range));
        true
    }

    fn node(&mut self, node: Node) -> String {
        match self.values.get(&node) {
            Some(number) => format!("n{number}"),
            None => self.expr(node),
        }
    }

    fn expr(&mut self, node: Node) -> String {
        let points = self.points;
        let info = &points.nodes[node];
        match &info.kind {
            Kind::Const(value) => scalar_text(*value, PLAIN),
            Kind::Index(ix) => self.ix(*ix),
            Kind::Load(arr, at) => format!("{}[{}]", self.arr(*arr), self.nodes(at)),
            Kind::Clamp { at, extent, traps, when } => {
                let operands: Vec<Node> = [*at].into_iter().chain(*when).collect();
                let name = if *traps { "inside" } else { "clamp" };
                format!("{name} {extent} ({})", self.nodes(&operands))
            }
            Kind::Unary(op, a) => format!("{op}({})", self.node(*a)),
            Kind::Binary(op, a, b) => format!("{op}({})", self.nodes(&[*a, *b])),
            Kind::Checked(op, a, b, when) => {
                let operands: Vec<Node> = [*a, *b].into_iter().chain(*when).collect();
                format!("checked {op}({})", self.nodes(&operands))
            }
            Kind::Wrapping(op, a, b) => format!("wrapping {op}({})", self.nodes(&[*a, *b])),
            Kind::Cast(a) => format!("as {}({})", info.ty, self.node(*a)),
            Kind::Select(c, a, b) => format!("select({})", self.nodes(&[*c, *a, *b])),
            Kind::Reduce(reduction) => self.reduction(reduction),
        }
    }

    fn reduction(&mut self, reduction: &Reduction) -> String {
        let binders = self.binders(&reduction.binders);
        let body = self.node(reduction.body);
        let guard = reduction.guard.map(|guard| format!(" where {}", self.node(guard)));
        format!("reduce {}[{binders}]({body}{})", reduction.op.as_str(), guard.unwrap_or_default())
    }
}

/// Both ends included.
fn inclusive((lo, hi): Range) -> String {
    format!("{lo}..={hi}")
}
