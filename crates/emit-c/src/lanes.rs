//! Reductions of floats with an accumulator for each lane, written out.
//!
//! What a clause of the pragma says the compiler combines one lane after the other, and the last terms
//! it takes in one by one: more than all the rest where a few vectors of terms are reduced. Here the
//! lanes are an array, which stays in a register; they are combined by halves, and the last terms are
//! one more vector, in which lanes behind the end do nothing. There are two vectors of lanes where a
//! few variables would wait for each addition. Where elements may just have been
//! written one by one, a vector of them would wait until all are in memory: there the last terms are
//! taken in one by one.

use ein_ir::loops::{Buf, For, ForKind, Kernel, Op, Operand, Stmt};
use ein_ir::target::Target;

use crate::emit::Function;
use crate::vector::{Accumulator, Lanes, Reduction};

/// At most so many variables, in a body of so many statements, have two vectors of lanes.
const TWICE: (usize, usize) = (4, 24);

/// Loops of so many turns of such bodies are written out.
const UNROLLED: std::ops::RangeInclusive<i64> = 2..=8;

/// The longest loops that are written as several, and the longest bodies of them.
const PIECES: (i64, usize) = (128, 32);

/// The parts of a short loop of which each is whole vectors, ever shorter ones: the compiler makes one
/// length of them, and takes the rest one by one.
pub(crate) fn pieces(kernel: &Kernel, inner: &For) -> Option<Vec<(i64, i64)>> {
    let (Operand::Const(lo), Operand::Const(hi)) = (inner.lo, inner.hi) else { return None };
    let (lo, hi) = (lo.as_i64()?, hi.as_i64()?);
    let widths = inner.body.iter().map(|stmt| match stmt {
        Stmt::Let(reg, _) => Some(kernel.regs[*reg].size_bytes()),
        Stmt::Store(addr, _) => Some(kernel.bufs[addr.buf].ty.size_bytes()),
        Stmt::Var(..) | Stmt::Set(..) | Stmt::For(_) | Stmt::If(..) => None,
        Stmt::Gemm(_) | Stmt::Trap(_) => None,
    });
    let widths: Vec<usize> = widths.collect::<Option<_>>()?;
    let width = widths.iter().copied().max().filter(|width| [4, 8].contains(width))?;
    let lanes = (Target::host().vectors.bytes() / width) as i64;
    let extent = hi.checked_sub(lo)?;
    if extent > PIECES.0 || inner.body.len() > PIECES.1 || extent % lanes < 16 / width as i64 {
        return None;
    }
    let (mut from, mut pieces, mut lanes) = (lo, Vec::new(), lanes);
    while from < hi {
        let to = if lanes * width as i64 >= 16 { from + (hi - from) / lanes * lanes } else { hi };
        if from < to {
            pieces.push((from, to));
        }
        (from, lanes) = (to, lanes / 2);
    }
    Some(pieces)
}

impl Function<'_> {
    /// Writes a loop that only reduces in this way. `false` if it is no such loop.
    pub fn by_lanes(&mut self, inner: &For, plan: &[Reduction]) -> bool {
        let values = |stmt: &Stmt| matches!(stmt, Stmt::Let(..) | Stmt::Set(..));
        let accumulators: Vec<Accumulator> =
            plan.iter().map(|it| Accumulator::new(it, self.kernel.regs[it.var])).collect();
        let forms: Option<Vec<Lanes>> = accumulators.iter().map(Accumulator::lanes).collect();
        let Some(forms) = forms.filter(|_| !plan.is_empty() && inner.body.iter().all(values))
        else {
            return false;
        };
        let wide = forms[0].wide;
        if forms.iter().any(|form| form.wide != wide) {
            return false;
        }
        let (count, lane) = if wide { (8, "int64_t") } else { (16, "int32_t") };
        let (var, lo, hi) = (inner.var, self.operand(inner.lo), self.operand(inner.hi));
        let extent = match (inner.lo, inner.hi) {
            (Operand::Const(lo), Operand::Const(hi)) => {
                lo.as_i64().zip(hi.as_i64()).and_then(|(lo, hi)| hi.checked_sub(lo))
            }
            _ => None,
        };
        let few = plan.len() <= TWICE.0 && inner.body.len() <= TWICE.1;
        let long = extent.is_none_or(|extent| extent >= 2 * count as i64);
        let size = if few && long { 2 * count } else { count };
        for line in accumulators.iter().filter_map(Accumulator::before) {
            self.line(&line);
        }
        self.line("{");
        self.depth += 1;
        for (reduction, Lanes { ty, first, .. }) in plan.iter().zip(&forms) {
            let first = vec![*first; size].join(", ");
            self.line(&format!("{ty} {}_lanes[{size}] = {{{first}}};", reduction.var));
        }
        self.line(&format!("int64_t {var}_from = {lo};"));
        let update = |i: usize, value: &str| {
            let lanes: &Accumulator = &accumulators[i];
            lanes.update_of(&format!("{}_lanes[{var} - {var}_from]", plan[i].var), value)
        };
        let each = |count: usize| {
            format!("for (int64_t {var} = {var}_from; {var} < {var}_from + {count}; {var}++) {{")
        };
        let vector = |function: &mut Function<'_>, head: &str, tail: &str| {
            function.line("#pragma omp simd");
            function.line(head);
            function.depth += 1;
            function.lane(inner, plan, false, &update);
            function.depth -= 1;
            function.line(tail);
        };
        // What is left for one vector after those of two.
        let mut left = extent;
        for count in if size > count { vec![size, count] } else { vec![count] } {
            if left.is_none_or(|left| left >= count as i64) {
                let last = count - 1;
                let turns = left.map(|left| left / count as i64);
                if let Some(turns) = turns.filter(|turns| few && UNROLLED.contains(turns)) {
                    self.line(&format!("#pragma GCC unroll {turns}"));
                }
                self.line(&format!("for (; {var}_from < {hi} - {last}; {var}_from += {count}) {{"));
                vector(self, &each(count), "}");
                self.line("}");
            }
            left = left.map(|left| left % count as i64);
        }
        let rest = extent.is_none_or(|extent| extent % count as i64 != 0);
        if rest && self.reads_single(inner) {
            self.line(&format!("for (int64_t {var} = {var}_from; {var} < {hi}; {var}++) {{"));
            self.depth += 1;
            self.lane(inner, plan, false, &|i, value| accumulators[i].update(value));
            self.depth -= 1;
            self.line("}");
        } else if rest {
            self.line(&format!("if ({var}_from < {hi}) {{"));
            self.line(&format!("const {lane} {var}_rest = ({lane})({hi} - {var}_from);"));
            let table = if wide { "ein_lane_i64" } else { "ein_lane_i32" };
            let inside = format!("{table}[{var} - {var}_from] < {var}_rest");
            self.masked(inner, plan, &accumulators, &forms, (&each(count), &inside));
            self.line("}");
        }
        for ((reduction, form), accumulator) in plan.iter().zip(&forms).zip(&accumulators) {
            if size > count {
                let lanes = format!("{}_lanes", reduction.var);
                let (into, other) = (format!("{lanes}[i]"), format!("{lanes}[i + {count}]"));
                let both = accumulator.gather(Some(&into), &other);
                self.line("#pragma omp simd");
                self.line(&format!("for (int i = 0; i < {count}; i++) {both}"));
            }
            let name = format!("{}_all", reduction.var);
            self.line(&format!(
                "const {} {name} = {}({}_lanes);",
                form.ty, form.total, reduction.var
            ));
            self.line(&accumulator.gather(None, &name));
        }
        self.depth -= 1;
        self.line("}");
        for line in accumulators.iter().filter_map(Accumulator::after) {
            self.line(&line);
        }
        true
    }

    /// One more vector, in which lanes that are not inside take in what changes nothing: were they left
    /// out, they would be stored by themselves, and who adds up the lanes would wait for that.
    fn masked(
        &mut self,
        inner: &For,
        plan: &[Reduction],
        accumulators: &[Accumulator],
        forms: &[Lanes],
        (head, inside): (&str, &str),
    ) {
        let var = inner.var;
        self.line("#pragma omp simd");
        self.line(head);
        self.depth += 1;
        for (reduction, Lanes { ty, first, .. }) in plan.iter().zip(forms) {
            self.line(&format!("{ty} {}_term = {first};", reduction.var));
        }
        self.line(&format!("if ({inside}) {{"));
        self.depth += 1;
        self.lane(inner, plan, false, &|i, value| {
            format!("{}_term = {};", plan[i].var, accumulators[i].value(value))
        });
        self.depth -= 1;
        self.line("}");
        for (reduction, accumulator) in plan.iter().zip(accumulators) {
            let lanes = format!("{}_lanes[{var} - {var}_from]", reduction.var);
            self.line(&accumulator.gather(Some(&lanes), &format!("{}_term", reduction.var)));
        }
        self.depth -= 1;
        self.line("}");
    }

    /// Whether a loop reads what is written one element at a time.
    fn reads_single(&self, inner: &For) -> bool {
        inner.body.iter().any(|stmt| match stmt {
            Stmt::Let(_, Op::Load(addr)) => writes_single(&self.kernel.body, addr.buf),
            _ => false,
        })
    }
}

/// Whether elements of a buffer are written outside of vector loops.
fn writes_single(block: &[Stmt], buf: Buf) -> bool {
    block.iter().any(|stmt| match stmt {
        Stmt::Store(addr, _) => addr.buf == buf,
        Stmt::For(inner) => {
            !matches!(inner.kind, ForKind::Vector { .. }) && writes_single(&inner.body, buf)
        }
        Stmt::If(_, yes, no) => writes_single(yes, buf) || writes_single(no, buf),
        Stmt::Let(..) | Stmt::Var(..) | Stmt::Set(..) | Stmt::Gemm(_) | Stmt::Trap(_) => false,
    })
}
