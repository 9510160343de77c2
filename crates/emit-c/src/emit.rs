//! The functions of a kernel: one for the kernel, one for the body of each loop that the interface
//! runs.

use std::collections::{BTreeMap, BTreeSet};

use ein_base::Idx;
use ein_ir::loops::lanes::{Lanes, Reduction, Twice, Update};
use ein_ir::loops::scan::Scan;
use ein_ir::loops::{
    Addr, Buf, BufferKind, For, ForKind, Gemm, Kernel, Matrix, Op, Operand, Reg, Stmt, captures,
};
use ein_runtime::kernel::LEFT;
use ein_scalar::ScalarType;

use crate::near::Far;
use crate::op::{self, Arg};
use crate::vector;

/// Who calls a kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// Whoever loads what was built; outputs are aligned as [`BufferKind::Output`] says.
    Loader,
    /// A function in the same file, with outputs that are aligned as their elements need.
    SameFile,
}

/// The functions of a kernel, those that are called first.
pub(crate) fn functions(kernel: &Kernel, name: &str, caller: Caller) -> String {
    let mut places = BTreeMap::new();
    count_places(kernel, &kernel.body, &mut places);
    let inside = places.iter().filter(|(_, it)| ***it == [Place::Parallel]).map(|(buf, _)| *buf);
    let mut body = Function {
        kernel,
        name,
        caller,
        inside: &inside.collect(),
        in_parallel: false,
        loops: 0,
        chained: false,
        masks: BTreeSet::new(),
        before: Vec::new(),
        text: String::new(),
        depth: 1,
    };
    for buf in captures(&kernel.body).bufs {
        match kernel.bufs[buf].kind {
            BufferKind::Local if body.inside.contains(&buf) => {}
            BufferKind::Local => body.local(buf),
            BufferKind::Input | BufferKind::Output | BufferKind::Scratch => {
                body.pointer(buf, &format!("bufs[{}]", buf.index()));
            }
        }
    }
    body.line("uint32_t trap = 0;");
    body.block(&kernel.body);
    body.line("return trap;");
    let Function { before, text, .. } = body;
    let title = kernel.name.replace("*/", "* /").replace('\n', " ");
    let comment = if title.is_empty() { String::new() } else { format!("/* {title} */\n") };
    let linkage = if caller == Caller::SameFile { "static " } else { "" };
    let signature =
        format!("{linkage}uint32_t {name}(uint8_t *const *bufs, const ein_interface *rt)");
    before.concat() + &format!("{comment}{signature} {{\n{text}}}\n")
}

/// Where a local buffer is used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Somewhere in a parallel loop.
    Parallel,
    /// Outside of parallel loops.
    Serial,
}

/// The places where each local buffer is used; a parallel loop is one of them.
fn count_places(kernel: &Kernel, block: &[Stmt], places: &mut BTreeMap<Buf, Vec<Place>>) {
    for stmt in block {
        let (used, place) = match stmt {
            Stmt::For(inner) if matches!(inner.kind, ForKind::Parallel { .. }) => {
                (inner.captures(), Place::Parallel)
            }
            Stmt::For(inner) => {
                count_places(kernel, &inner.body, places);
                continue;
            }
            Stmt::If(_, yes, no) => {
                count_places(kernel, yes, places);
                count_places(kernel, no, places);
                continue;
            }
            Stmt::Let(..) | Stmt::Var(..) | Stmt::Set(..) | Stmt::Store(..) | Stmt::Gemm(_) => {
                (captures(std::slice::from_ref(stmt)), Place::Serial)
            }
            Stmt::Trap(_) => continue,
        };
        for buf in used.bufs {
            if kernel.bufs[buf].kind == BufferKind::Local {
                places.entry(buf).or_default().push(place);
            }
        }
    }
}

/// A function that is being written.
pub(crate) struct Function<'a> {
    pub kernel: &'a Kernel,
    name: &'a str,
    caller: Caller,
    /// The local buffers that bodies of parallel loops make.
    inside: &'a BTreeSet<Buf>,
    /// Whether it is the body of a parallel loop, or called by one.
    in_parallel: bool,
    /// How many loops have become functions.
    loops: usize,
    /// Whether the steps of the loop that is being written wait for each other.
    chained: bool,
    /// Truths that the vector loop that is being written takes as masks.
    pub masks: BTreeSet<Reg>,
    /// The functions that it calls.
    before: Vec<String>,
    text: String,
    pub depth: usize,
}

impl Function<'_> {
    pub fn line(&mut self, text: &str) {
        if text.starts_with('#') {
            self.text.push_str(text);
        } else {
            self.text.push_str(&"    ".repeat(self.depth));
            self.text.push_str(text);
        }
        self.text.push('\n');
    }

    /// A local buffer, on the stack.
    fn local(&mut self, buf: Buf) {
        let buffer = &self.kernel.bufs[buf];
        let (element, len) = (op::element_type(buffer.ty), buffer.len.max(1));
        self.line(&format!("{element} {buf}[{len}] __attribute__((aligned(64)));"));
    }

    /// The pointer to a buffer that is given.
    fn pointer(&mut self, buf: Buf, given: &str) {
        let buffer = &self.kernel.bufs[buf];
        let element = op::element_type(buffer.ty);
        let name = buffer.name.replace("*/", "* /").replace('\n', " ");
        let comment = if name.is_empty() { String::new() } else { format!(" /* {name} */") };
        self.line(&match buffer.kind {
            BufferKind::Input => {
                format!(
                    "const {element} *restrict const {buf} = (const {element} *){given};{comment}"
                )
            }
            BufferKind::Output if self.caller == Caller::SameFile => {
                format!("{element} *restrict const {buf} = ({element} *){given};{comment}")
            }
            BufferKind::Output | BufferKind::Scratch | BufferKind::Local => {
                let aligned = format!("__builtin_assume_aligned({given}, 64)");
                format!("{element} *restrict const {buf} = ({element} *){aligned};{comment}")
            }
        });
    }

    pub fn block(&mut self, block: &[Stmt]) {
        for stmt in block {
            self.stmt(stmt);
        }
    }

    pub fn nested(&mut self, head: &str, block: &[Stmt], tail: &str) {
        self.line(head);
        self.depth += 1;
        self.block(block);
        self.depth -= 1;
        self.line(tail);
    }

    pub fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let(reg, op) => {
                let (ty, text) = (self.kernel.regs[*reg], self.op(*reg, op));
                self.line(&format!("const {} {reg} = {text};", op::register_type(ty)));
            }
            Stmt::Var(reg, value) => {
                let (ty, text) = (self.kernel.regs[*reg], self.operand(*value));
                self.line(&format!("{} {reg} = {text};", op::register_type(ty)));
            }
            Stmt::Set(reg, value) => {
                let text = self.operand(*value);
                self.line(&format!("{reg} = {text};"));
            }
            Stmt::Store(addr, value) => {
                let value = self.operand(*value);
                self.store(addr, &value);
            }
            Stmt::For(inner) => self.for_loop(inner),
            Stmt::If(condition, yes, no) => {
                let head = format!("if ({}) {{", self.operand(*condition));
                if no.is_empty() {
                    self.nested(&head, yes, "}");
                } else {
                    self.nested(&head, yes, "} else {");
                    self.depth += 1;
                    self.block(no);
                    self.depth -= 1;
                    self.line("}");
                }
            }
            Stmt::Gemm(gemm) => self.gemm(gemm),
            Stmt::Trap(condition) => {
                let text = self.operand(*condition);
                self.line(&format!("trap |= {text};"));
            }
        }
    }

    fn for_loop(&mut self, inner: &For) {
        let carries = |stmt: &Stmt| matches!(stmt, Stmt::Set(..));
        let chained = match inner.kind {
            ForKind::Serial | ForKind::Backward | ForKind::Until(_) => {
                inner.body.iter().any(carries)
            }
            ForKind::Vector { .. } | ForKind::Lanes(_) | ForKind::Unrolled => false,
            ForKind::Scan(_) | ForKind::Parallel { .. } | ForKind::Flushed | ForKind::Apart => {
                false
            }
        };
        let outside = std::mem::replace(&mut self.chained, chained);
        self.each_turn(inner);
        self.chained = outside;
    }

    fn each_turn(&mut self, inner: &For) {
        let (var, lo, hi) = (inner.var, self.operand(inner.lo), self.operand(inner.hi));
        let upward = format!("for (int64_t {var} = {lo}; {var} < {hi}; {var}++) {{");
        match &inner.kind {
            // What nobody has decided runs in no vectors.
            ForKind::Serial | ForKind::Vector { .. } => {
                self.asking(inner, (&lo, &hi), &upward, "}");
            }
            ForKind::Scan(scan) => self.scan(inner, *scan, &lo, &hi),
            ForKind::Until(ends) => {
                self.asking(inner, (&lo, &hi), &upward, &format!("if ({ends}) break; }}"));
            }
            ForKind::Backward => {
                let head = format!("for (int64_t {var} = {hi} - 1; {var} >= {lo}; {var}--) {{");
                self.nested(&head, &inner.body, "}");
            }
            ForKind::Unrolled => {
                if let (Operand::Const(lo), Operand::Const(hi)) = (inner.lo, inner.hi)
                    && let (Some(lo), Some(hi)) = (lo.as_i64(), hi.as_i64())
                    && (2..=256).contains(&hi.saturating_sub(lo))
                {
                    self.line(&format!("#pragma GCC unroll {}", hi - lo));
                }
                self.nested(&upward, &inner.body, "}");
            }
            ForKind::Lanes(lanes) => match inner.reduced(&lanes.reductions) {
                Some(plan) => self.decided(inner, lanes, &plan, &upward),
                // The verifier refuses it; without vectors it is still right.
                None => self.nested(&upward, &inner.body, "}"),
            },
            ForKind::Parallel { .. } | ForKind::Flushed | ForKind::Apart => {
                self.by_itself(inner, &lo, &hi);
            }
        }
    }

    /// A loop upward, some turns at a time if it is long: in between it is asked whether to leave.
    fn asking(&mut self, inner: &For, (lo, hi): (&str, &str), upward: &str, end: &str) {
        let Some(turns) = inner.asks_after() else {
            self.nested(upward, &inner.body, end);
            return;
        };
        let (var, part) = (inner.var, format!("{}_part", inner.var));
        self.line(&format!("for (int64_t {part} = {lo}; {part} < {hi};) {{"));
        self.depth += 1;
        self.line(&format!("const int64_t {part}_first = {part};"));
        self.line(&format!("{part} = {hi} - {part} > {turns} ? {part} + {turns} : {hi};"));
        let head = format!("for (int64_t {var} = {part}_first; {var} < {part}; {var}++) {{");
        self.nested(&head, &inner.body, end);
        if let ForKind::Until(ends) = inner.kind {
            self.line(&format!("if ({ends}) break;"));
        }
        let leaves = "(trap || rt->leaves(rt->context))";
        self.line(&format!("if ({part} < {hi} && {leaves}) return {LEFT};"));
        self.depth -= 1;
        self.line("}");
    }

    /// A loop that carries a greatest or least value along a row.
    fn scan(&mut self, inner: &For, scan: Scan, lo: &str, hi: &str) {
        let [input, output] = inner.scanned().expect("a scan reads and writes");
        let (carry, input, output) = (scan.carry, self.place(input), self.place(output));
        let ty = self.kernel.regs[carry];
        // Turned over, the least is the greatest.
        let (step, flip) = if scan.least { (-scan.step, -1) } else { (scan.step, 0) };
        self.line("{");
        self.depth += 1;
        self.line(&format!("const int64_t {} = {lo};", inner.var));
        let places = format!("&{output}, &{input}, {hi} - {lo}, {carry}");
        self.line(&match ty.is_float() {
            true => format!("{carry} = ein_scan_{ty}({places}, {flip});"),
            false => format!("{carry} = ein_scan_i32({places}, {step}, {flip}, &trap);"),
        });
        self.depth -= 1;
        self.line("}");
    }

    /// A loop in vectors, as is decided about it.
    fn decided(&mut self, inner: &For, lanes: &Lanes, plan: &[Reduction], upward: &str) {
        if let Some(asks) = &lanes.asks {
            self.fetching(inner, lanes, asks);
        } else if lanes.pieces.is_empty() {
            self.vector(inner, lanes, plan, upward);
        }
        for (lo, hi) in &lanes.pieces {
            let (var, lo, hi) = (inner.var, op::int64(*lo), op::int64(*hi));
            let piece = format!("for (int64_t {var} = {lo}; {var} < {hi}; {var}++) {{");
            self.vector(inner, lanes, plan, &piece);
        }
    }

    /// A part of a loop in vectors, or all of it.
    pub fn vector(&mut self, inner: &For, lanes: &Lanes, plan: &[Reduction], head: &str) {
        self.with_masks(inner, |body| body.in_vectors(inner, lanes, plan, head));
    }

    /// The same, with masks for the truths that its iterations share.
    fn in_vectors(&mut self, inner: &For, lanes: &Lanes, plan: &[Reduction], head: &str) {
        match lanes.twice {
            Twice::Whole => self.near(inner, plan, head),
            Twice::Parts(size) => self.near_in_parts(inner, plan, size),
            Twice::Never => {
                let sums = lanes.sums.as_ref();
                if !sums.is_some_and(|sums| self.by_lanes(inner, plan, sums)) {
                    self.lanes(inner, plan, head, Far::Taken);
                }
            }
        }
    }

    /// The body of a loop in vectors; what is taken into an accumulator is said by its number.
    pub fn lane(
        &mut self,
        inner: &For,
        plan: &[Reduction],
        far: Far,
        update: &dyn Fn(usize, &str) -> String,
    ) {
        for (n, stmt) in inner.body.iter().enumerate() {
            let reduced = match stmt {
                Stmt::Let(reg, _) if plan.iter().any(|it| it.result == *reg) => continue,
                Stmt::Set(reg, _) => plan.iter().position(|it| it.var == *reg),
                _ => None,
            };
            match reduced {
                Some(i) => {
                    let line = match plan[i].update {
                        Update::Value(x) | Update::Outside(x, ..) => update(i, &self.arg(x).text),
                        Update::Product(a, b) => {
                            let product = format!("{} * {}", self.operand(a), self.operand(b));
                            update(i, &product)
                        }
                    };
                    self.line(&line);
                }
                None => self.noting(inner, (n, stmt), far),
            }
        }
    }

    /// A loop in vectors: the reduced variables are replaced by accumulators.
    pub fn lanes(&mut self, inner: &For, plan: &[Reduction], head: &str, far: Far) {
        let accumulators: Vec<_> =
            plan.iter().map(|it| vector::Accumulator::new(it, self.kernel.regs[it.var])).collect();
        let mut clauses: String = accumulators.iter().map(|it| it.clause()).collect();
        if inner.body.iter().any(|stmt| matches!(stmt, Stmt::Trap(_))) {
            clauses.push_str(" reduction(| : trap)");
        }
        if far != Far::Taken {
            clauses.push_str(" reduction(| : far)");
        }
        for line in accumulators.iter().filter_map(|it| it.before()) {
            self.line(&line);
        }
        self.line(&format!("#pragma omp simd{clauses}"));
        self.line(head);
        self.depth += 1;
        self.lane(inner, plan, far, &|i, value| accumulators[i].update(value));
        self.depth -= 1;
        self.line("}");
        for line in accumulators.iter().filter_map(|it| it.after()) {
            self.line(&line);
        }
    }

    /// A loop whose body becomes a function of what it captures.
    fn by_itself(&mut self, inner: &For, lo: &str, hi: &str) {
        let parallel = matches!(inner.kind, ForKind::Parallel { .. });
        let name = format!("{}_loop{}", self.name, self.loops);
        let found = inner.captures();
        let mut fields = Vec::new();
        let mut values = Vec::new();
        let mut body = Function {
            kernel: self.kernel,
            name: self.name,
            caller: self.caller,
            inside: self.inside,
            in_parallel: self.in_parallel || parallel,
            loops: self.loops + 1,
            chained: false,
            masks: BTreeSet::new(),
            before: std::mem::take(&mut self.before),
            text: String::new(),
            depth: 1,
        };
        body.line(&format!("const struct {name} *const c = captured;"));
        // By use, so that equal loops become equal functions.
        for reg in found.regs_by_use {
            let ty = op::register_type(self.kernel.regs[reg]);
            fields.push(format!("    {ty} {reg};\n"));
            values.push(reg.to_string());
            body.line(&format!("const {ty} {reg} = c->{reg};"));
        }
        for buf in found.bufs_by_use {
            let buffer = &self.kernel.bufs[buf];
            if self.inside.contains(&buf) && !self.in_parallel {
                // It belongs to this loop, or to a parallel one in it.
                if parallel {
                    body.local(buf);
                }
                continue;
            }
            let constant = if buffer.kind == BufferKind::Input { "const " } else { "" };
            fields.push(format!("    {constant}{} *{buf};\n", op::element_type(buffer.ty)));
            values.push(buf.to_string());
            body.pointer(buf, &format!("c->{buf}"));
        }
        if found.interface {
            fields.push("    const ein_interface *rt;\n".into());
            values.push("rt".into());
            body.line("const ein_interface *const rt = c->rt;");
        }
        body.line("uint32_t trap = 0;");
        let var = inner.var;
        let head = format!("for (int64_t {var} = lo; {var} < hi; {var}++) {{");
        body.nested(&head, &inner.body, "}");
        body.line("return trap;");
        let Function { text, before, loops, .. } = body;
        (self.before, self.loops) = (before, loops);
        let fields = fields.concat();
        let signature =
            format!("static uint32_t {name}(const void *captured, int64_t lo, int64_t hi)");
        self.before.push(format!("struct {name} {{\n{fields}}};\n{signature} {{\n{text}}}\n\n"));
        let values = values.join(", ");
        if inner.has_long_loops() {
            self.line(&format!("if (trap) return {LEFT};"));
        }
        self.line("{");
        self.depth += 1;
        self.line(&format!("const struct {name} captured = {{{values}}};"));
        let runner = match inner.kind {
            ForKind::Parallel { grain } => Some(("parallel", grain)),
            ForKind::Flushed => Some(("flushed", 1)),
            _ => None,
        };
        match runner {
            Some((runner, grain)) => {
                let what = format!("rt->context, {name}, &captured, {lo}, {hi}");
                let call = format!("rt->{runner}({what}, {})", op::int64(grain));
                self.line(&format!("const uint32_t came = {call};"));
            }
            None => {
                // The compiler must not see who is called.
                self.line(&format!("ein_body volatile apart = {name};"));
                self.line(&format!("const uint32_t came = apart(&captured, {lo}, {hi});"));
            }
        }
        self.line(&format!("if (came & {LEFT}) return {LEFT};"));
        self.line("trap |= came;");
        self.depth -= 1;
        self.line("}");
    }

    fn gemm(&mut self, gemm: &Gemm) {
        let ty = self.kernel.bufs[gemm.c.addr.buf].ty;
        let size = |this: &Self, it: Operand| this.operand(it);
        let matrix = |this: &Self, it: &Matrix| {
            format!("&{}, {}, {}", this.place(&it.addr), op::int64(it.rows), op::int64(it.cols))
        };
        let (m, n, k) = (size(self, gemm.m), size(self, gemm.n), size(self, gemm.k));
        let (a, b, c) = (matrix(self, &gemm.a), matrix(self, &gemm.b), matrix(self, &gemm.c));
        let (accumulate, parallel) = (u32::from(gemm.accumulate), u32::from(gemm.parallel));
        self.line("{");
        self.depth += 1;
        self.line("const ein_gemm args = {");
        self.line(&format!("    {m}, {n}, {k}, {a}, {b}, {c}, {accumulate}, {parallel},"));
        self.line("};");
        let which = if ty == ScalarType::F64 { "gemm_f64" } else { "gemm_f32" };
        self.line(&format!("rt->{which}(rt->context, &args);"));
        self.depth -= 1;
        self.line("}");
    }

    fn arg(&self, operand: Operand) -> Arg {
        match operand {
            Operand::Reg(reg) => {
                Arg { text: reg.to_string(), ty: self.kernel.regs[reg], value: None }
            }
            Operand::Const(value) => {
                let text = op::constant(value);
                let text = if text.starts_with('-') { format!("({text})") } else { text };
                Arg { text, ty: value.ty(), value: Some(value) }
            }
        }
    }

    pub fn operand(&self, operand: Operand) -> String {
        self.arg(operand).text
    }

    fn op(&self, reg: Reg, op: &Op) -> String {
        let ty = self.kernel.regs[reg];
        match op {
            Op::Copy(a) => self.operand(*a),
            Op::Load(addr) => {
                let place = self.place(addr);
                match self.kernel.bufs[addr.buf].ty {
                    ScalarType::F16 => format!("ein_load_f16({place})"),
                    ScalarType::BF16 => format!("ein_load_bf16({place})"),
                    _ => place,
                }
            }
            Op::Unary(op, a) => op::unary(*op, &self.arg(*a)),
            Op::Binary(op, a, b) => op::binary(*op, &self.arg(*a), &self.arg(*b), self.chained),
            Op::MulAdd(a, b, c) => {
                let (a, b, c) = (self.operand(*a), self.operand(*b), self.operand(*c));
                match ty {
                    // In one rounding if there is one that takes no longer, and of this product.
                    ScalarType::F32 => format!("ein_fma_f32({a}, {b}, {c})"),
                    ScalarType::F64 => format!("ein_fma_f64({a}, {b}, {c})"),
                    _ => op::rounded(ty, format!("{a} * {b} + {c}")),
                }
            }
            Op::NearRsqrt(a) => format!("ein_near_rsqrt_f32({})", self.operand(*a)),
            Op::Overflows(op, a, b) => op::overflows(*op, &self.arg(*a), &self.arg(*b)),
            Op::Cast(a) => op::cast(&self.arg(*a), ty),
            Op::Select(c, a, b) => {
                format!("{} ? {} : {}", self.condition(*c), self.operand(*a), self.operand(*b))
            }
        }
    }

    /// Writes a value to where it belongs.
    pub fn store(&mut self, addr: &Addr, value: &str) {
        let place = self.place(addr);
        self.line(&match self.kernel.bufs[addr.buf].ty {
            ScalarType::F16 => format!("{place} = ein_store_f16({value});"),
            ScalarType::BF16 => format!("{place} = ein_store_bf16({value});"),
            _ => format!("{place} = {value};"),
        });
    }

    /// An element of a buffer.
    pub fn place(&self, addr: &Addr) -> String {
        let mut text = String::new();
        for &(reg, factor) in &addr.terms {
            let (sign, size) =
                if factor < 0 { (" - ", factor.unsigned_abs()) } else { (" + ", factor as u64) };
            match (text.is_empty(), factor < 0) {
                (true, false) => {}
                (true, true) => text.push('-'),
                (false, _) => text.push_str(sign),
            }
            text.push_str(&reg.to_string());
            if size != 1 {
                text.push_str(&format!(" * {size}"));
            }
        }
        match addr.offset {
            0 if text.is_empty() => text.push('0'),
            0 => {}
            offset if text.is_empty() => text.push_str(&offset.to_string()),
            offset if offset < 0 => text.push_str(&format!(" - {}", offset.unsigned_abs())),
            offset => text.push_str(&format!(" + {offset}")),
        }
        format!("{}[{text}]", addr.buf)
    }
}
