//! A kernel as functions: one for the kernel and one for the body of each parallel loop.

use crate::Unsupported;
use crate::function::Function;
use crate::host::Host;
use crate::locals::{self, LoopId};
use crate::ops::Ops;
use cranelift_codegen::Context;
use cranelift_codegen::ir::{self, AbiParam, FuncRef, Signature, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};
use ein_ir::loops::{Buf, For, Kernel, Reg};
use ein_ir::target::Vectors;

/// The body of a loop that is compiled as a function.
pub(crate) struct Body<'k> {
    /// Its function.
    pub(crate) id: FuncId,
    /// The loop.
    pub(crate) inner: &'k For,
    /// The registers in the block of captures, eight bytes each.
    pub(crate) regs: Vec<Reg>,
    /// The buffers, after the registers.
    pub(crate) bufs: Vec<Buf>,
}

/// What the functions of a kernel share while they are made.
pub(crate) struct Unit<'k> {
    pub(crate) kernel: &'k Kernel,
    pub(crate) host: &'static Host,
    pub(crate) module: JITModule,
    /// For each local buffer the parallel loop that makes it.
    pub(crate) owners: Vec<Option<LoopId>>,
    /// Bodies met and not yet compiled.
    pub(crate) bodies: Vec<Body<'k>>,
    /// How many loops have been made functions.
    pub(crate) loops: usize,
    /// The vectors of vector loops.
    pub(crate) vectors: Vectors,
}

/// The signature of a kernel: buffers and interface.
pub(crate) fn kernel_signature(host: &Host) -> Signature {
    signature(host, 2)
}

/// The signature of a body: captures, first and last iteration.
pub(crate) fn body_signature(host: &Host) -> Signature {
    signature(host, 3)
}

fn signature(host: &Host, params: usize) -> Signature {
    let mut signature = Signature::new(host.call_conv());
    signature.params.extend(std::iter::repeat_n(AbiParam::new(types::I64), params));
    signature.returns.push(AbiParam::new(types::I32));
    signature
}

/// A function of a module as another one of it names it: by its whole address. Memory for code comes
/// in pieces, and where a process has much mapped already they may lie further apart than relative
/// addresses reach.
pub(crate) fn reference(module: &mut JITModule, id: FuncId, within: &mut ir::Function) -> FuncRef {
    let reference = module.declare_func_in_func(id, within);
    within.dfg.ext_funcs[reference].colocated = false;
    reference
}

/// The code of a kernel and the address of its entry.
pub(crate) fn build(
    kernel: &Kernel,
    vectors: Vectors,
) -> Result<(JITModule, *const u8), Unsupported> {
    let host = Host::get()?;
    let builder = JITBuilder::with_isa(host.isa.clone(), default_libcall_names());
    let mut unit = Unit {
        kernel,
        host,
        module: JITModule::new(builder),
        owners: locals::owners(kernel),
        bodies: Vec::new(),
        loops: 0,
        vectors,
    };
    match define(&mut unit) {
        Ok(entry) => {
            let address = unit.module.get_finalized_function(entry);
            Ok((unit.module, address))
        }
        Err(error) => {
            // SAFETY: no code of this module has been handed out.
            unsafe { unit.module.free_memory() };
            Err(error)
        }
    }
}

fn define(unit: &mut Unit<'_>) -> Result<FuncId, Unsupported> {
    let fail = |error: cranelift_module::ModuleError| Unsupported::new(format!("{error:?}"));
    let mut context = Context::new();
    let mut frontend = FunctionBuilderContext::new();
    let signature = kernel_signature(unit.host);
    let entry = unit.module.declare_function("kernel", Linkage::Local, &signature).map_err(fail)?;
    context.func.signature = signature;
    let config = unit.host.isa.frontend_config();
    {
        let builder = FunctionBuilder::new(&mut context.func, &mut frontend);
        let function = Function::new(Ops::new(builder, unit.host), unit);
        function.kernel()?.finalize(config);
    }
    unit.module.define_function(entry, &mut context).map_err(fail)?;
    while let Some(body) = unit.bodies.pop() {
        unit.module.clear_context(&mut context);
        context.func.signature = body_signature(unit.host);
        let builder = FunctionBuilder::new(&mut context.func, &mut frontend);
        let function = Function::new(Ops::new(builder, unit.host), unit);
        function.body(&body)?.finalize(config);
        unit.module.define_function(body.id, &mut context).map_err(fail)?;
    }
    unit.module.finalize_definitions().map_err(fail)?;
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_named_by_whole_addresses() {
        let host = Host::get().expect("this machine has an engine");
        let builder = JITBuilder::with_isa(host.isa.clone(), default_libcall_names());
        let mut module = JITModule::new(builder);
        let signature = body_signature(host);
        let id = module.declare_function("body", Linkage::Local, &signature).expect("a new name");
        let mut within = ir::Function::new();
        let body = reference(&mut module, id, &mut within);
        assert!(!within.dfg.ext_funcs[body].colocated);
    }
}
