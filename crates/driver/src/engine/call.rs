//! One run of a kernel: its buffers, and the thread it runs on.

use super::Code;
use super::progress::Course;
use ein_base::{Idx, Symbol};
use ein_interp::{DataValue, Environment, Value};
use ein_ir::loops::{Buf, Buffer, BufferKind, Kernel};
use ein_runtime::kernel::Interface;
use ein_runtime::{Memory, Pool, Run, Tensor};
use ein_transform::schedule::{Result as Computed, Use};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// The stack of a thread that runs a kernel: local buffers live there.
const KERNEL_STACK: usize = 64 << 20;

/// A run of a kernel, with all that has to live as long.
pub(super) struct Call {
    pub(super) held: Vec<Held>,
    pub(super) code: Code,
    pub(super) pool: Arc<Pool>,
}

impl Call {
    /// The buffers after the run, and whether something trapped; nothing if it was to end before, which
    /// the kernel asks for in its long loops.
    pub(super) fn run(mut self, ends: &dyn Fn() -> bool) -> Option<(Vec<Held>, u32)> {
        let pointers: Vec<*mut u8> = self.held.iter_mut().map(Held::pointer).collect();
        let run = Run::new(&self.pool, ends);
        let interface: Interface = run.interface();
        // SAFETY: each pointer is that of a buffer of the type and length that the kernel states,
        // outputs and scratch are held by nobody else, and all live until the call returns.
        let trapped = unsafe {
            match &self.code {
                Code::Jit(code) => code.run(&pointers, &interface),
                Code::Native(code) => code.run(&pointers, &interface),
                // Nothing was computed, which is what a trap says.
                Code::None => 1,
                Code::Empty => 0,
            }
        };
        (!run.was_ended()).then_some((self.held, trapped))
    }

    /// The same on a thread of its own, so that the user can stop waiting for it: then it is left
    /// to itself, with its buffers, until it asks. Meanwhile says how far it is.
    pub(super) fn run_aside(
        self,
        kernel: &Kernel,
        env: &mut dyn Environment,
    ) -> Option<(Vec<Held>, u32)> {
        let (course, name) = (Course::of(kernel), Symbol::intern(&kernel.name));
        let (number, pool) = (env.start_work(), Arc::clone(&self.pool));
        let before = pool.iterations();
        let (send, receive) = std::sync::mpsc::channel();
        let given_up = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&given_up);
        let work = move || {
            // Nobody listens any more if the user gave up.
            let _ = send.send(self.run(&|| asked.load(Ordering::Relaxed)));
        };
        std::thread::Builder::new().stack_size(KERNEL_STACK).spawn(work).ok()?;
        loop {
            match receive.recv_timeout(Duration::from_millis(20)) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Timeout) if env.interrupted() => {
                    given_up.store(true, Ordering::Relaxed);
                    return None;
                }
                Err(RecvTimeoutError::Timeout) => {
                    let done = pool.iterations().wrapping_sub(before);
                    let fraction = course.as_ref().map(|course| course.fraction(done));
                    env.progress(number, name, fraction);
                }
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }
}

/// The elements behind a buffer.
pub(super) enum Held {
    /// A value, and its bits if it is a number.
    Shared(Value, Option<Box<u64>>),
    Own(Tensor),
    Nothing,
}

impl Held {
    fn pointer(&mut self) -> *mut u8 {
        match self {
            Held::Shared(Value::Tensor(tensor), _) => tensor.as_ptr().cast_mut(),
            Held::Shared(_, Some(bits)) => std::ptr::from_mut(&mut **bits).cast(),
            Held::Shared(_, None) => std::ptr::null_mut(),
            // Made a moment ago and not shared, so this copies nothing.
            Held::Own(tensor) => tensor.as_mut_ptr().unwrap_or(std::ptr::null_mut()),
            Held::Nothing => std::ptr::null_mut(),
        }
    }

    /// The array of an output.
    pub(super) fn tensor(&self) -> Option<&Tensor> {
        match self {
            Held::Own(tensor) => Some(tensor),
            Held::Shared(..) | Held::Nothing => None,
        }
    }
}

/// A part of a value.
pub(super) fn part(mut value: Value, parts: &[usize]) -> Option<Value> {
    for at in parts {
        value = match &value {
            Value::Tuple(items) => items.get(*at)?.clone(),
            Value::Data(data) => data.fields.get(*at)?.clone(),
            _ => return None,
        };
    }
    Some(value)
}

/// What a variable is after a run.
pub(super) fn outcome(computed: &Computed, held: &[Held], env: &dyn Environment) -> Option<Value> {
    let made = |buf: Buf| held[buf.index()].tensor();
    Some(match computed {
        Computed::Array(buf) => Value::tensor(made(*buf)?.clone()),
        Computed::Part(buf, ends) => {
            let mut part = made(*buf)?.clone();
            for (axis, end) in ends {
                let end = made(*end)?.get(&[]).ok()?.as_i64()?;
                part = part.slice(*axis, 0, usize::try_from(end).ok()?).ok()?;
            }
            Value::tensor(part)
        }
        Computed::Scalar(buf) => Value::Scalar(made(*buf)?.get(&[]).ok()?),
        Computed::Constant(value) => Value::Scalar(*value),
        Computed::Same(input) => part(env.get(input.var), &input.parts)?,
        Computed::Record(made, parts) => {
            let fields: Option<_> = parts.iter().map(|part| outcome(part, held, env)).collect();
            match *made {
                Some((data, variant)) => {
                    Value::Data(Arc::new(DataValue { data, variant, fields: fields? }))
                }
                None => Value::tuple(fields?),
            }
        }
    })
}

/// What is behind a buffer now; nothing if there is no memory for it. What is new holds anything, or zeros
/// if it is to be `clean`.
pub(super) fn hold(
    used: &Use,
    buffer: &Buffer,
    env: &dyn Environment,
    clean: bool,
) -> Option<Held> {
    let memory: &Memory = env.memory();
    let room = |shape: &[usize]| match clean {
        true => memory.zeros(buffer.ty, shape),
        false => memory.room(buffer.ty, shape),
    };
    match used {
        Use::Input(input) => {
            let value = part(env.get(input.var), &input.parts)?;
            let bits = match &value {
                Value::Scalar(scalar) => Some(Box::new(scalar.to_bits())),
                _ => None,
            };
            Some(Held::Shared(value, bits))
        }
        Use::Output(shape) => {
            let shape: Vec<usize> = shape.iter().map(|extent| *extent as usize).collect();
            room(&shape).ok().map(Held::Own)
        }
        Use::Scratch => {
            debug_assert_eq!(buffer.kind, BufferKind::Scratch, "what it was lowered to");
            room(&[buffer.len.max(1) as usize]).ok().map(Held::Own)
        }
        Use::Local => Some(Held::Nothing),
    }
}
