//! Loop IR to C, built by the system's compiler and kept in a cache.
//!
//! * [`source`]: a kernel as a C file of its own.
//! * [`Compiler`]: finds the system's compiler, builds kernels, loads them. [`Compiled`] is one
//!   that can run.
//! * [`ahead`]: programs and functions as C functions with a header, for use without us.
//! * [`Passing`]: a folder for what is built and then goes.
//!
//! Unsafe: loading the libraries that the system's compiler built and calling what is in them;
//! ending its processes.
//!
//! Does not know: tensor IR, decisions about fusion or storage, the driver.

pub mod ahead;
mod cache;
mod children;
mod compiler;
mod emit;
mod fetch;
mod lanes;
mod masks;
mod near;
mod op;
mod passing;
mod prelude;
mod vector;

pub use children::{compilers_are_stopped, locked_compilers, stop_compilers};
pub use compiler::{BuildError, Compiled, Compiler, Unavailable};
pub use passing::Passing;

use ein_ir::loops::Kernel;

/// A kernel as C11 with the extensions of GCC: a function
/// `uint32_t NAME(uint8_t *const *bufs, const ein_interface *rt)`, which is what
/// [`KernelFn`](ein_runtime::kernel::KernelFn) says, after all that it needs.
pub fn source(kernel: &Kernel, name: &str) -> String {
    with_prelude(&emit::functions(kernel, name, emit::Caller::Loader))
}

fn with_prelude(functions: &str) -> String {
    let mut names = vec!["ein_interface"];
    names.extend(prelude::names(functions));
    format!("{}\n{functions}", prelude::select(names))
}
