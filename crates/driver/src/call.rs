//! Calling functions of a program from outside, with arrays of the caller.
//!
//! * A [`Module`] is a checked text with its functions.
//! * A [`Request`] says what is wanted of it: statements behind its text, over parameters whose
//!   values come from the caller.
//! * A request is compiled once for each list of [`Kind`]s of arguments ([`Special`]), and its kernel
//!   once for each list of extents and strides. A call that was made before costs little more than
//!   its kernel: it takes no thread and checks nothing again.
//! * [`Surroundings`] are what a call needs of the caller: where lines go, whether to stop.
//!
//! Does not know: languages that call, their arrays, their errors.

mod evaluate;
pub mod fork;
mod module;
mod request;
mod run;
mod signature;
mod special;
mod told;

pub use ein_interp::{DataValue, Value};
pub use ein_runtime::{Memory, Tensor};
pub use ein_scalar::{Scalar, ScalarType, bf16, f16};
pub use evaluate::Surroundings;
pub use module::{Module, Program};
pub use request::{Kind, Request};
pub(crate) use request::{Parts, Written, declare};
pub use run::Output;
pub(crate) use run::{dims, fields};
pub use signature::{Argument, Declared, Signature};
pub use special::{Field, Leaf, Special, Tree};
pub use told::{Place, Told};

use crate::InternalError;

/// A float of a type; `None` if the type is no float type or cannot hold a number of that size.
pub fn float(value: f64, ty: ScalarType) -> Option<Scalar> {
    let scalar = Scalar::from_f64(value, ty)?;
    (value.is_infinite() || !scalar.as_f64().is_infinite()).then_some(scalar)
}

/// What `print` shows of an array.
pub fn print_array(tensor: &Tensor) -> String {
    ein_interp::display(&Value::tensor(tensor.clone()), &ein_ir::tensor::Program::default())
}

/// Why there is no result.
#[derive(Debug)]
pub enum Failure {
    /// The program or the call is rejected; nothing ran.
    Rejected(Vec<Told>),
    /// The run stopped.
    Stopped(Vec<Told>),
    /// The caller wanted it to end.
    Interrupted,
    /// A bug of ours.
    Internal(InternalError),
}

impl From<InternalError> for Failure {
    fn from(error: InternalError) -> Failure {
        Failure::Internal(error)
    }
}
