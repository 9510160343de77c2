//! Reductions of floats with an accumulator for each lane, written out.
//!
//! What a clause of the pragma says the compiler combines one lane after the other, and the last terms
//! it takes in one by one: more than all the rest where a few vectors of terms are reduced. Here the
//! lanes are an array, which stays in a register; they are combined by halves, and the last terms are
//! one more vector, in which lanes behind the end do nothing. There are two vectors of lanes where a
//! few variables would wait for each addition. Where elements may just have been
//! written one by one, a vector of them would wait until all are in memory: there the last terms are
//! taken in one by one.

use ein_ir::loops::{Buf, For, ForKind, Op, Operand, Stmt};

use crate::emit::Function;
use crate::vector::{Accumulator, Lanes, Reduction};

/// At most so many variables, in a body of so many statements, have two vectors of lanes.
const TWICE: (usize, usize) = (4, 24);

/// Loops of so many turns of such bodies are written out.
const UNROLLED: std::ops::RangeInclusive<i64> = 2..=8;

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
            let some = format!("{} if ({inside}) {{", each(count));
            vector(self, &some, "}}");
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
