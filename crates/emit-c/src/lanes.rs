//! Reductions of floats with an accumulator for each lane, written out: the lanes are an array, which
//! stays in registers, and are combined by halves. What a clause of the pragma says the compiler combines
//! one lane after the other.

use ein_ir::loops::For;
use ein_ir::loops::lanes::{Reduction, Sums, Tail};

use crate::emit::Function;
use crate::near::Far;
use crate::vector::{Accumulator, Lanes};

impl Function<'_> {
    /// Writes a loop that only reduces in this way. `false` if C has no such accumulators.
    pub fn by_lanes(&mut self, inner: &For, plan: &[Reduction], sums: &Sums) -> bool {
        let accumulators: Vec<Accumulator> =
            plan.iter().map(|it| Accumulator::new(it, self.kernel.regs[it.var])).collect();
        let forms: Option<Vec<Lanes>> = accumulators.iter().map(Accumulator::lanes).collect();
        let Some(forms) = forms else { return false };
        let wide = plan.iter().any(|it| self.kernel.regs[it.var].size_bytes() == 8);
        let (count, lane) = (sums.lanes, if wide { "int64_t" } else { "int32_t" });
        let size = count * sums.vectors;
        let (var, lo, hi) = (inner.var, self.operand(inner.lo), self.operand(inner.hi));
        for line in accumulators.iter().filter_map(Accumulator::before) {
            self.line(&line);
        }
        self.line("{");
        self.depth += 1;
        for (reduction, Lanes { ty, first, .. }) in plan.iter().zip(&forms) {
            let first = vec![*first; size as usize].join(", ");
            self.line(&format!("{ty} {}_lanes[{size}] = {{{first}}};", reduction.var));
        }
        self.line(&format!("int64_t {var}_from = {lo};"));
        let update = |i: usize, value: &str| {
            let lanes: &Accumulator = &accumulators[i];
            lanes.update_of(&format!("{}_lanes[{var} - {var}_from]", plan[i].var), value)
        };
        let each = |count: i64| {
            format!("for (int64_t {var} = {var}_from; {var} < {var}_from + {count}; {var}++) {{")
        };
        let vector = |function: &mut Function<'_>, head: &str, tail: &str| {
            function.line("#pragma omp simd");
            function.line(head);
            function.depth += 1;
            function.lane(inner, plan, Far::Taken, &update);
            function.depth -= 1;
            function.line(tail);
        };
        for (count, unrolled) in &sums.turns {
            if let Some(turns) = unrolled {
                self.line(&format!("#pragma GCC unroll {turns}"));
            }
            let last = count - 1;
            self.line(&format!("for (; {var}_from < {hi} - {last}; {var}_from += {count}) {{"));
            vector(self, &each(*count), "}");
            self.line("}");
        }
        match sums.tail {
            Tail::None => {}
            Tail::Single => {
                self.line(&format!("for (int64_t {var} = {var}_from; {var} < {hi}; {var}++) {{"));
                self.depth += 1;
                self.lane(inner, plan, Far::Taken, &|i, value| accumulators[i].update(value));
                self.depth -= 1;
                self.line("}");
            }
            Tail::Masked => {
                self.line(&format!("if ({var}_from < {hi}) {{"));
                self.line(&format!("const {lane} {var}_rest = ({lane})({hi} - {var}_from);"));
                let table = if wide { "ein_lane_i64" } else { "ein_lane_i32" };
                let inside = format!("{table}[{var} - {var}_from] < {var}_rest");
                self.masked(inner, plan, &accumulators, &forms, (&each(count), &inside));
                self.line("}");
            }
        }
        for ((reduction, form), accumulator) in plan.iter().zip(&forms).zip(&accumulators) {
            if sums.vectors > 1 {
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
        self.lane(inner, plan, Far::Taken, &|i, value| {
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
}
