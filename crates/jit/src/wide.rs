//! Vector loops with the widest vectors of the machine.
//!
//! Cranelift's vectors have 128 bits. On machines with AVX-512 or AVX2 the body of a vector loop, which
//! is straight code, is assembled here instead, with 512 or 256 bits: 16 or 8 lanes, or half as many
//! where there are elements of 8 bytes. Such a loop is a function of its own in the module of the kernel: it gets a block of
//! addresses and values, the first counter and the last, and gives the lanes that trapped. What has
//! no instruction here makes the whole loop run in short vectors.

mod asm;
mod avx2;
mod code;
mod convert;
mod divide;
mod memory;
mod operands;
mod ops;
mod signs;

use crate::Unsupported;
use crate::function::Function;
use crate::memory::memory;
use crate::module::{body_signature, reference};
use crate::ops::{Ops, Val, machine_four};
use crate::vector::{identity, plan::Plan};
use code::{Accumulator, Code, Shape, Slot};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{FuncRef, InstBuilder, Value, types};
use cranelift_module::{Linkage, Module};
use ein_ir::loops::{For, Kernel, Reg, Stmt};
use ein_ir::target::Vectors;
use ein_scalar::BinaryOp;

/// Bytes of an accumulator among the results.
const RESULT: i32 = 16;

/// The stages of a loop as functions.
pub(crate) struct Wide {
    stages: Vec<Stage>,
    lanes: usize,
    results: Value,
}

/// A stage: its function, the block it is called with, and the tiles in that block.
struct Stage {
    callee: FuncRef,
    block: Value,
    tiles: Vec<(Reg, i32)>,
    /// What it reduces, and where its results are.
    reduced: Vec<(Reg, BinaryOp, i32)>,
    traps: bool,
}

impl<'k> Function<'_, '_, 'k> {
    /// The stages of a loop in wide vectors, if all of them can be.
    pub(crate) fn wide(
        &mut self,
        inner: &'k For,
        reductions: &[(Reg, BinaryOp)],
        plan: &Plan<'k>,
        trip: Option<i64>,
    ) -> Result<Option<Wide>, Unsupported> {
        let (kernel, width) = (self.unit.kernel, self.unit.vectors.bytes());
        let lanes = plan.stages.lanes;
        if !cfg!(all(target_arch = "x86_64", unix))
            || self.unit.vectors == Vectors::Bits128
            || lanes == 0
        {
            return Ok(None);
        }
        let shapes = shapes(kernel, inner, reductions, plan, [lanes, width], trip);
        let codes: Option<Vec<Code>> = shapes.iter().map(code::build).collect();
        let Some(codes) = codes else { return Ok(None) };
        let results = self.room(RESULT as u64 * reductions.len() as u64)?;
        let mut stages = Vec::with_capacity(codes.len());
        for (code, shape) in codes.iter().zip(&shapes) {
            stages.push(self.stage(code, shape, results)?);
        }
        Ok(Some(Wide { stages, lanes, results }))
    }

    /// Adds a function to the module, and fills its block but for tiles.
    fn stage(
        &mut self,
        code: &Code,
        shape: &Shape<'k>,
        results: Value,
    ) -> Result<Stage, Unsupported> {
        let fail = |error: cranelift_module::ModuleError| Unsupported::new(format!("{error:?}"));
        let name = format!("wide{}", self.unit.loops);
        self.unit.loops += 1;
        let signature = body_signature(self.unit.host);
        let module = &mut self.unit.module;
        let id = module.declare_function(&name, Linkage::Local, &signature).map_err(fail)?;
        module.define_function_bytes(id, 64, &code.bytes, &[]).map_err(fail)?;
        let callee = reference(module, id, self.ops.b.func);
        let block = self.room(8 * code.slots.len() as u64)?;
        let mut tiles = Vec::new();
        for (n, slot) in code.slots.iter().enumerate() {
            let place = 8 * n as i32;
            let value = match slot {
                Slot::Tile(reg) => {
                    tiles.push((*reg, place));
                    continue;
                }
                Slot::Base(addr) => {
                    let (address, offset) = self.address(addr);
                    self.ops.b.ins().iadd_imm_s(address, i64::from(offset))
                }
                Slot::Splat(reg) => {
                    let value = self.reg(*reg);
                    self.ops.lane_of(self.unit.kernel.regs[*reg], value)
                }
                Slot::Results => results,
            };
            self.ops.b.ins().store(memory(), value, block, place);
        }
        let reduced = shape.accumulators.iter().map(|it| (it.reg, it.op, it.place)).collect();
        Ok(Stage { callee, block, tiles, reduced, traps: shape.traps })
    }

    /// Runs a stage over a range, and adds what it gives to the variables it reduces.
    pub(crate) fn wide_span(
        &mut self,
        wide: &Wide,
        stage: usize,
        tile: impl Fn(Reg) -> Value,
        first: Value,
        last: Value,
    ) {
        let stage = &wide.stages[stage];
        for (reg, place) in &stage.tiles {
            self.ops.b.ins().store(memory(), tile(*reg), stage.block, *place);
        }
        let call = self.ops.b.ins().call(stage.callee, &[stage.block, first, last]);
        if stage.traps {
            let trapped = self.ops.b.inst_results(call)[0];
            let trapped = self.ops.b.ins().icmp_imm_u(IntCC::NotEqual, trapped, 0);
            self.trap_if(trapped);
        }
        for (reg, op, place) in &stage.reduced {
            let ty = self.unit.kernel.regs[*reg];
            let total = if ty.is_bool() {
                let bits = self.ops.b.ins().load(types::I32, memory(), wide.results, *place);
                self.ops.truth_of_lanes(*op, bits, wide.lanes)
            } else {
                let lane = machine_four(ty).lane_type();
                let lane = self.ops.b.ins().load(lane, memory(), wide.results, *place);
                self.ops.scalar_of(ty, lane)
            };
            self.reduce_into(*reg, *op, Val::one(total));
        }
    }
}

impl Ops<'_> {
    /// Whether a condition holds in all of the lowest bits, or in one of them.
    fn truth_of_lanes(&mut self, op: BinaryOp, bits: Value, lanes: usize) -> Value {
        let all = (1 << lanes) - 1;
        let bits = self.b.ins().band_imm_u(bits, all);
        if matches!(op, BinaryOp::And | BinaryOp::Min) {
            self.b.ins().icmp_imm_u(IntCC::Equal, bits, all)
        } else {
            self.b.ins().icmp_imm_u(IntCC::NotEqual, bits, 0)
        }
    }
}

/// The stages of a loop.
fn shapes<'k>(
    kernel: &'k Kernel,
    inner: &'k For,
    reductions: &[(Reg, BinaryOp)],
    plan: &Plan<'k>,
    [lanes, width]: [usize; 2],
    trip: Option<i64>,
) -> Vec<Shape<'k>> {
    let tiled = !plan.stages.calls.is_empty();
    (0..=plan.stages.last())
        .map(|stage| {
            let items: Vec<&Stmt> = plan.items(stage).collect();
            let is_set =
                |reg: Reg| items.iter().any(|it| matches!(it, Stmt::Set(set, _) if *set == reg));
            let all = reductions.iter().enumerate().filter(|(_, (reg, _))| is_set(*reg));
            let accumulators = all.map(|(n, (reg, op))| Accumulator {
                reg: *reg,
                op: *op,
                identity: identity(*op, kernel.regs[*reg]),
                place: RESULT * n as i32,
            });
            Shape {
                kernel,
                counter: inner.var,
                width,
                lanes,
                accumulators: accumulators.collect(),
                traps: items.iter().any(|it| matches!(it, Stmt::Trap(_))),
                items,
                reads: plan.reads(stage),
                writes: plan.writes(stage),
                trip: trip.filter(|_| !tiled),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ein_ir::cost::Cost;
    use ein_ir::loops::{ForKind, parse::parse, vectorise};
    use ein_ir::target::Target;

    /// Whether a vector loop over arrays of two types has code, in vectors of 64 and of 32 bytes.
    fn has_code(types: [&str; 2], reductions: &str, body: &str) -> [bool; 2] {
        let [a, b] = types;
        let text = format!(
            "kernel \"k\" input a_0: {a}[400] input b_1: {b}[400] output c_2: {b}[400]
             {{ var r9: {b} = bits({b}, 0) vector({reductions}) for r0 in 0..100 {{ {body} }} }}"
        );
        let given = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        [Vectors::Bits512, Vectors::Bits256].map(|vectors| {
            let mut kernel = given.clone();
            vectorise::run(&mut kernel, Cost::of(Target { vectors, ..Target::REFERENCE }));
            let Some(Stmt::For(inner)) = kernel.body.last() else { panic!("the loop is last") };
            let ForKind::Lanes(lanes) = &inner.kind else { panic!("of vectors") };
            let Some(stages) = &lanes.stages else { return false };
            let plan = Plan::of(&kernel, inner, stages);
            let sizes = [stages.lanes, vectors.bytes()];
            let shapes = shapes(&kernel, inner, &lanes.reductions, &plan, sizes, Some(100));
            shapes.iter().all(|shape| code::build(shape).is_some())
        })
    }

    #[test]
    fn loops_that_have_code() {
        let sum = "r1: f32 = load a_0[r0] r2: f32 = load b_1[r0*3 + 1] r3: f32 = muladd r1, r2, r9
                   set r9 = r3";
        assert_eq!(has_code(["f32", "f32"], "add r9", sum), [true; 2]);
        let mixed = "r1: i32 = load a_0[r0] r2: f64 = cast r1 r3: f64 = load b_1[r0]
                     r4: f64 = max r2, r3 r5: bool = isnan r4 trap r5 store c_2[r0] = r4";
        assert_eq!(has_code(["i32", "f64"], "", mixed), [true; 2]);
        let calls = "r1: f32 = load a_0[r0] r2: f32 = exp r1 r3: f32 = tanh r2 r4: f32 = add r9, r3
                     set r9 = r4 store c_2[r0] = r2";
        assert_eq!(has_code(["f32", "f32"], "add r9", calls), [true; 2]);
        let truths = "r1: u8 = load a_0[r0] r2: bool = load b_1[r0] r3: bool = gt r1, 3u8
                      r4: bool = and r2, r3 r5: bool = or r9, r4 set r9 = r5 store c_2[r0] = r4";
        assert_eq!(has_code(["u8", "bool"], "or r9", truths), [true; 2]);
        let places = "r1: i64 = load a_0[r0] r2: f32 = load b_1[r1*2 + r0] r3: f32 = mul r2, r2
                      r4: f32 = add r3, r2 store c_2[r0*-1 + 200] = r4";
        let rest = "r1: i32 = load a_0[r0] r2: i32 = rem r1, 7i32 r3: bool = overflows mul r2, r1
                    trap r3 store c_2[r0] = r2";
        assert_eq!(has_code(["i32", "i32"], "", rest), [true; 2]);
        let signs =
            "r1: i8 = load a_0[r0] r2: i8 = sign r1 r3: f64 = load b_1[r0] r4: f64 = sign r3
                     r5: f64 = cast r2 r6: f64 = mul r4, r5 store c_2[r0] = r6";
        assert_eq!(has_code(["i8", "f64"], "", signs), [true; 2]);
        // Only the longer ones write to places anywhere.
        assert_eq!(has_code(["i64", "f32"], "", places), [true, false]);
        let reads = "r1: i64 = load a_0[r0] r2: f32 = load b_1[r1*2 + r0] store c_2[r0] = r2";
        assert_eq!(has_code(["i64", "f32"], "", reads), [true; 2]);
    }

    #[test]
    fn loops_that_have_none() {
        let quotient = "r1: i64 = load a_0[r0] r2: i64 = div r1, 3 store c_2[r0] = r2";
        assert_eq!(has_code(["i64", "i64"], "", quotient), [false; 2]);
        let by_another = "r1: i32 = load a_0[r0] r2: i32 = load b_1[r0] r3: i32 = rem r1, r2
                          store c_2[r0] = r3";
        assert_eq!(has_code(["i32", "i32"], "", by_another), [false; 2]);
        let half = "r1: f16 = load a_0[r0] store c_2[r0] = r1";
        assert_eq!(has_code(["f16", "f16"], "", half), [false; 2]);
    }
}
