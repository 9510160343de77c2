//! Functions that a library of the host computes where they are large ([`ein_ir::tensor::Func::by`]):
//! factorisations, transforms, sorting. Below that size, and in code built ahead of time, the body of
//! the function does it, which says what it means.
//!
//! What takes long runs on a thread of its own, so that a time limit or the user can end the wait; the
//! thread then ends by itself, and what it made is dropped.

use ein_base::{Code, Span};
use ein_ir::tensor::{ArrayOp, FuncId};
use ein_runtime::dense::{self, Real};
use ein_runtime::{Element, Tensor, fourier, order};
use ein_scalar::{Scalar, ScalarType, bf16, f16};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::machine::Machine;
use crate::stop::Stop;
use crate::value::Value;

/// Work of so many operations is done at once: it ends before anybody waits.
const SHORT: f64 = 1e8;

/// How often a wait looks whether it shall go on.
const LOOK: Duration = Duration::from_millis(20);

/// What a computation is given, as it lies in memory.
struct Given<T> {
    /// The elements of the arguments that are arrays.
    arrays: Vec<Vec<T>>,
    /// The extents of the first argument.
    shape: Vec<usize>,
    /// The extent along the last axis of the second one.
    width: usize,
}

/// The value of a function whose parameters are bound, if it is large enough for the host.
pub(crate) fn by_host(
    machine: &mut Machine<'_>,
    func: FuncId,
    span: Span,
) -> Result<Option<Value>, Stop> {
    let code = &machine.program.funcs[func];
    let Some(op) = code.by else { return Ok(None) };
    let mut args = Vec::new();
    for param in &code.params {
        let value = machine.var(*param).clone();
        args.push(match value {
            Value::Pending(_) => machine.settle(value, span)?,
            value => value,
        });
    }
    let Some(Value::Tensor(first)) = args.first() else { return Ok(None) };
    let shape: Vec<i64> = first.shape().iter().map(|n| *n as i64).collect();
    // A transform along several axes is made of transforms along one.
    let of_several = op == ArrayOp::Fourier && shape.len() != 2;
    if of_several || !op.pays(&shape) {
        return Ok(None);
    }
    let result = match (op, first.ty()) {
        (ArrayOp::Argsort, ty) => sorted(machine, ty, &args, span)?,
        (_, ScalarType::F32) => computed::<f32>(machine, op, &args, span)?,
        (_, ScalarType::F64) => computed::<f64>(machine, op, &args, span)?,
        _ => return Ok(None),
    };
    Ok(Some(Value::tensor(result)))
}

/// The places of the elements in order.
fn sorted(
    machine: &mut Machine<'_>,
    ty: ScalarType,
    args: &[Value],
    span: Span,
) -> Result<Tensor, Stop> {
    fn of<T: Element + PartialOrd>(
        machine: &mut Machine<'_>,
        args: &[Value],
        span: Span,
    ) -> Result<Tensor, Stop> {
        let descending = matches!(args.get(1), Some(Value::Scalar(Scalar::Bool(true))));
        let given = given::<T>(machine, args, span)?;
        let count = given.arrays[0].len();
        let work = count as f64 * 40.0;
        let sort = move |given: &Given<T>, places: &mut [i32]| {
            order::argsort(&given.arrays[0], descending, places);
        };
        made(machine, given, &[count], work, span, sort)
    }
    match ty {
        ScalarType::Bool => of::<bool>(machine, args, span),
        ScalarType::I8 => of::<i8>(machine, args, span),
        ScalarType::I16 => of::<i16>(machine, args, span),
        ScalarType::I32 => of::<i32>(machine, args, span),
        ScalarType::I64 => of::<i64>(machine, args, span),
        ScalarType::U8 => of::<u8>(machine, args, span),
        ScalarType::U16 => of::<u16>(machine, args, span),
        ScalarType::U32 => of::<u32>(machine, args, span),
        ScalarType::U64 => of::<u64>(machine, args, span),
        ScalarType::F16 => of::<f16>(machine, args, span),
        ScalarType::BF16 => of::<bf16>(machine, args, span),
        ScalarType::F32 => of::<f32>(machine, args, span),
        ScalarType::F64 => of::<f64>(machine, args, span),
    }
}

/// A factorisation or a transform.
fn computed<T: Element + Real + fourier::Number + Default>(
    machine: &mut Machine<'_>,
    op: ArrayOp,
    args: &[Value],
    span: Span,
) -> Result<Tensor, Stop> {
    let given = given::<T>(machine, args, span)?;
    let (rows, cols) = match given.shape.as_slice() {
        [rows, cols] => (*rows, *cols),
        _ => return Err(machine.malformed(span, format_args!("{} of another rank", op.name()))),
    };
    let shape: &[usize] = match op {
        ArrayOp::Solve => &[rows, given.width],
        ArrayOp::Lu => &[rows, rows + 1],
        ArrayOp::Cholesky | ArrayOp::Orthonormal | ArrayOp::Fourier => &[rows, cols],
        ArrayOp::Eigh => &[2, rows, cols],
        ArrayOp::Svd => &[rows + cols, cols],
        ArrayOp::Argsort => &[],
    };
    let cube = rows as f64 * cols as f64 * rows.max(cols) as f64;
    let work = match op {
        ArrayOp::Fourier => cols as f64 * 100.0,
        ArrayOp::Eigh | ArrayOp::Svd => 20.0 * cube,
        _ => 2.0 * cube,
    };
    let compute = move |given: &Given<T>, made: &mut [T]| {
        let a = given.arrays[0].as_slice();
        match op {
            ArrayOp::Solve => dense::solve(a, &given.arrays[1], rows, given.width, made),
            ArrayOp::Lu => dense::lu(a, rows, made),
            ArrayOp::Cholesky => dense::cholesky(a, rows, made),
            ArrayOp::Orthonormal => dense::orthonormal(a, rows, cols, made),
            ArrayOp::Eigh => dense::eigh(a, rows, made),
            ArrayOp::Svd => dense::svd(a, rows, cols, made),
            ArrayOp::Fourier => fourier::transform(a, made),
            ArrayOp::Argsort => {}
        }
    };
    made(machine, given, shape, work, span, compute)
}

/// The elements of the arguments, for which there is room with what the computation needs beside them.
fn given<T: Element>(machine: &Machine<'_>, args: &[Value], span: Span) -> Result<Given<T>, Stop> {
    let tensors: Vec<&Tensor> = args
        .iter()
        .filter_map(|arg| match arg {
            Value::Tensor(tensor) => Some(&**tensor),
            _ => None,
        })
        .collect();
    let bytes: usize = tensors.iter().map(|it| it.len().saturating_mul(size_of::<T>())).sum();
    machine.room(bytes.saturating_mul(6), "what the library of the host needs", span)?;
    let mut arrays = Vec::new();
    for tensor in &tensors {
        match tensor.to_vec::<T>() {
            Some(elements) => arrays.push(elements),
            None => return Err(machine.malformed(span, "arguments of several types")),
        }
    }
    let shape = tensors.first().map(|it| it.shape().to_vec()).unwrap_or_default();
    let width = tensors.get(1).and_then(|it| it.shape().last()).copied().unwrap_or(1);
    Ok(Given { arrays, shape, width })
}

/// Computes an array of a shape; what takes long aside.
fn made<T: Element, R: Element + Default>(
    machine: &mut Machine<'_>,
    given: Given<T>,
    shape: &[usize],
    work: f64,
    span: Span,
    compute: impl Fn(&Given<T>, &mut [R]) + Send + 'static,
) -> Result<Tensor, Stop> {
    let no_room = |machine: &Machine<'_>, error: &dyn std::fmt::Display| {
        machine.fail(Code::E0805, span, format!("the result does not fit in memory: {error}"))
    };
    let mut own = match machine.options.memory.zeros(R::TYPE, shape) {
        Ok(own) => own,
        Err(error) => return Err(no_room(machine, &error)),
    };
    let cells = match own.as_mut_slice::<R>() {
        Ok(cells) => cells,
        Err(error) => return Err(no_room(machine, &error)),
    };
    if work <= SHORT {
        compute(&given, cells);
        return Ok(own);
    }
    let (tell, told) = channel();
    let count = cells.len();
    let thread = std::thread::Builder::new().stack_size(8 << 20).spawn(move || {
        let mut result = vec![R::default(); count];
        compute(&given, &mut result);
        // Nobody waits any more if this fails.
        let _ = tell.send(result);
    });
    if thread.is_err() {
        return Err(machine.fail(Code::E0805, span, "there is no room for another thread"));
    }
    loop {
        match told.recv_timeout(LOOK) {
            Ok(result) => {
                cells.copy_from_slice(&result);
                return Ok(own);
            }
            Err(RecvTimeoutError::Timeout) => machine.poll()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(machine.malformed(span, "the library of the host gave up"));
            }
        }
    }
}
