//! Loop IR to machine code in this process.
//!
//! [`compile`] translates a kernel with Cranelift in a few milliseconds; [`Compiled::run`] calls it.
//! Every operation means what `ein-scalar` says, to the bit, except in vector loops: there
//! reductions are reordered, and elementary functions, which are precompiled and work on tiles
//! of the loop, are accurate to 2 ulp only.
//!
//! Unsafe: calls of the code that was made, and the vector functions that such code calls.
//!
//! Does not know: tensor IR, decisions about fusion or storage, the driver.

mod access;
mod arith;
mod calls;
mod control;
mod convert;
mod function;
mod host;
mod integer;
mod locals;
mod memory;
mod module;
mod ops;
mod scan;
mod shims;
mod tiles;
mod vector;
mod wide;

use cranelift_jit::JITModule;
use ein_ir::loops::Kernel;
use ein_ir::target::{Target, Vectors};
use ein_runtime::kernel::{Interface, KernelFn};
use std::fmt;

/// Why a kernel cannot be compiled: the machine is not one that code can be made for, or the
/// kernel is larger than the code generator takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    message: String,
}

impl Unsupported {
    fn new(message: impl Into<String>) -> Self {
        Unsupported { message: message.into() }
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Unsupported {}

/// Machine code; its memory is freed with it.
pub struct Compiled {
    /// Taken only when the code is freed.
    module: Option<JITModule>,
    entry: KernelFn,
    buffers: usize,
}

// SAFETY: the code is finished and never changes; the module is only kept to be freed.
unsafe impl Send for Compiled {}
// SAFETY: as above.
unsafe impl Sync for Compiled {}

/// Translates a verified kernel for this machine.
pub fn compile(kernel: &Kernel) -> Result<Compiled, Unsupported> {
    compile_with(kernel, Target::host().vectors)
}

/// Translates a verified kernel, with vectors that this machine has.
pub fn compile_with(kernel: &Kernel, vectors: Vectors) -> Result<Compiled, Unsupported> {
    let (module, entry) = module::build(kernel, vectors)?;
    // SAFETY: `build` gives the address of a function that it made with this signature.
    let entry = unsafe { std::mem::transmute::<*const u8, KernelFn>(entry) };
    Ok(Compiled { module: Some(module), entry, buffers: kernel.bufs.len() })
}

impl Compiled {
    /// Runs the kernel. Gives zero unless something trapped.
    ///
    /// # Safety
    ///
    /// `bufs` has a pointer for each buffer of the kernel; those of buffers that are not local are
    /// valid for what the kernel reads and writes there, as [`ein_ir::loops::BufferKind`] says, and
    /// nobody else writes to them, or reads what the kernel writes, meanwhile.
    pub unsafe fn run(&self, bufs: &[*mut u8], interface: &Interface) -> u32 {
        assert_eq!(bufs.len(), self.buffers, "a pointer for each buffer");
        // SAFETY: the caller vouches for the buffers; the code belongs to the kernel.
        unsafe { (self.entry)(bufs.as_ptr(), interface) }
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: `run` borrows `self`, so nobody is inside the code.
            unsafe { module.free_memory() };
        }
    }
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled").field("buffers", &self.buffers).finish_non_exhaustive()
    }
}
