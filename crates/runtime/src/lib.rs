//! What a running program stands on: tensors, the memory they may take, their text, and the array
//! files that people have.
//!
//! * [`Tensor`]: a strided view of a shared buffer; copies are made on writing only.
//! * [`Memory`]: counts the bytes of all buffers and refuses what would exceed a limit.
//! * [`heap`]: counts everything else, for a command that wants it.
//! * [`print_array`]: arrays as `print` writes them.
//! * [`format`](mod@format): `.npy`, `.npz`, `.safetensors` and `.csv`, read with suspicion and
//!   written in one piece or not at all.
//! * [`kernel`]: what generated code calls; [`Pool`]: the threads that run it, and the matrix
//!   products.
//! * [`dense`], [`fourier`], [`order`]: factorisations, transforms and sorting, by libraries made for it.
//! * [`fork`]: what a child of the process leaves alone.
//!
//! Unsafe: buffers of raw memory and the typed views of them; threads that share the parts of a
//! loop; the counting allocator; files as memory, and the signals of those that are cut or too long. Every other crate gets safe types from here.
//!
//! Does not know: the compiler, programs, diagnostics.

pub mod dense;
mod element;
mod float;
pub mod fork;
pub mod format;
pub mod fourier;
pub mod heap;
pub mod kernel;
mod matrix;
mod memory;
pub mod order;
mod paint;
mod pool;
mod print;
mod run;
mod signal;
mod tensor;
mod torn;

pub use element::Element;
pub use format::{FileError, FileErrorKind};
pub use memory::{Memory, MemoryError};
pub use paint::{Canvas, MARK};
pub use pool::Pool;
pub use print::print_array;
pub use run::Run;
pub use signal::long_files_are_errors;
pub use tensor::{Elements, Tensor, TensorError};
