//! What a run needs of the interpreter: its standard output, and its signals.

use crate::class::Class;
use crate::convert::Taking;
use crate::{array, fail, give};
use ein_driver::call::fork::{Forking, Here};
use ein_driver::call::{Declared, Failure, Memory, ScalarType, Surroundings, Told, Value};
use ein_driver::{Code, Work};
use pyo3::exceptions::PySystemExit;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// What a run may take and do.
#[derive(Clone, Copy, Default)]
pub(crate) struct Bounds {
    /// How long it may take.
    pub(crate) time: Option<Duration>,
    /// Whether it may touch nothing outside; functions of Python can touch everything.
    pub(crate) sandbox: bool,
}

/// The interpreter around a run.
pub(crate) struct Around {
    /// What a signal handler or a failing `write` raised.
    raised: Mutex<Option<PyErr>>,
    /// Gets how far the run is, if anybody wants to know.
    progress: Option<Py<PyAny>>,
    /// When the run must have ended.
    deadline: Option<Instant>,
    /// Whether it had not.
    late: AtomicBool,
    /// When signals were last looked at, in nanoseconds after the first time in the process; nothing if they were not.
    looked: AtomicU64,
    sandbox: bool,
    /// The thread on which a function of Python is being called.
    calls_on: CallsOn,
    /// How many functions of Python called by programs this is inside of.
    depth: usize,
    _active: Active,
}

/// Signals are looked at so often, however often a loop asks: whoever looks waits for other threads of
/// Python.
const PATIENCE: Duration = Duration::from_millis(10);

/// How long ago a run of this process first asked for signals.
fn since_first_look() -> Duration {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed()
}

/// How many runs there are.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);

/// Whether the interpreter is ending.
static ENDING: AtomicBool = AtomicBool::new(false);

/// A run that is counted, in the process that began it.
struct Active(Here);

impl Active {
    fn new() -> PyResult<Active> {
        if ENDING.load(Ordering::SeqCst) {
            return Err(ended());
        }
        ACTIVE.fetch_add(1, Ordering::SeqCst);
        Ok(Active(Here::now()))
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        if self.0 == Here::now() {
            ACTIVE.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

thread_local! {
    /// What this thread holds while it forks the process.
    static FORKING: Cell<Option<Forking>> = const { Cell::new(None) };
}

/// Called before the process is forked.
#[pyfunction]
pub(crate) fn before_fork() {
    FORKING.set(Some(Forking::begin()));
}

/// Called in both processes after it.
#[pyfunction]
pub(crate) fn after_fork(in_child: bool) {
    let forking = FORKING.take();
    if let Some(forking) = forking
        && in_child
    {
        forking.in_child();
        ACTIVE.store(0, Ordering::SeqCst);
    }
}

/// Ends a thread without a word.
fn ended() -> PyErr {
    PySystemExit::new_err("the interpreter is ending")
}

/// Stops all runs, and lets no other begin. Called when the interpreter ends: a thread that comes
/// back to it afterwards is ended by it, through our frames, which ends the process badly.
#[pyfunction]
pub(crate) fn end_runs(py: Python<'_>) {
    ENDING.store(true, Ordering::SeqCst);
    let patience = Instant::now() + Duration::from_secs(5);
    py.detach(|| {
        while ACTIVE.load(Ordering::SeqCst) > 0 && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(2));
        }
    });
}

/// How deep programs and functions of Python may call each other. Every program has a stack of its
/// own, so that Python does not see the depth.
const DEEPEST: usize = 48;

thread_local! {
    /// How many functions of Python called by programs this thread is inside of.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// A thread on which an entry calls a function of Python.
pub(crate) type CallsOn = Arc<Mutex<Option<ThreadId>>>;

impl Around {
    /// With bounds, and somebody to tell how far it is. Fails while the interpreter is ending.
    pub(crate) fn new(
        _py: Python<'_>,
        bounds: Bounds,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Around> {
        let active = Active::new()?;
        let deadline = bounds.time.and_then(|limit| Instant::now().checked_add(limit));
        Ok(Around {
            raised: Mutex::default(),
            progress,
            deadline,
            late: AtomicBool::default(),
            looked: AtomicU64::default(),
            sandbox: bounds.sandbox,
            calls_on: CallsOn::default(),
            depth: DEPTH.get(),
            _active: active,
        })
    }

    /// For entries of a session, which wants to know where they call Python.
    pub(crate) fn of_session(py: Python<'_>, calls_on: CallsOn) -> PyResult<Around> {
        Ok(Around { calls_on, ..Around::new(py, Bounds::default(), None)? })
    }

    /// What came of the run, or the exception that says why nothing did.
    pub(crate) fn outcome<T>(&self, py: Python<'_>, outcome: Result<T, Failure>) -> PyResult<T> {
        if let Some(error) = self.raised() {
            return Err(error);
        }
        outcome.map_err(|failure| match failure {
            Failure::Interrupted if ENDING.load(Ordering::Relaxed) => ended(),
            Failure::Interrupted if self.late.load(Ordering::Relaxed) => {
                let message = "the time limit has passed".to_owned();
                let fix = "pass a larger `time_limit`".to_owned();
                fail::raise(
                    py,
                    Failure::Stopped(vec![Told::alone(Code::E0812, message, vec![fix])]),
                )
            }
            failure => fail::raise(py, failure),
        })
    }

    /// What ended the run, if Python did.
    pub(crate) fn raised(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn keep(&self, error: PyErr) {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        raised.get_or_insert(error);
    }

    /// Whether signals were not looked at for a while. A run that is over soon never does.
    fn is_time_to_look(&self) -> bool {
        let now = since_first_look().as_nanos() as u64 + 1;
        let before = self.looked.load(Ordering::Relaxed);
        let is_time = before != 0 && now.saturating_sub(before) >= PATIENCE.as_nanos() as u64;
        if before == 0 || is_time {
            self.looked.store(now, Ordering::Relaxed);
        }
        is_time
    }

    fn has_raised(&self) -> bool {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

impl Surroundings for Around {
    fn print(&self, line: &str) {
        let wrote = Python::try_attach(|py| -> PyResult<()> {
            let out = py.import("sys")?.getattr("stdout")?;
            // Without one, `print` of Python says nothing either.
            if !out.is_none() {
                out.call_method1("write", (format!("{line}\n"),))?;
            }
            Ok(())
        });
        if let Some(Err(error)) = wrote {
            self.keep(error);
        }
    }

    fn interrupted(&self) -> bool {
        if self.has_raised() || ENDING.load(Ordering::Relaxed) {
            return true;
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.late.store(true, Ordering::Relaxed);
            return true;
        }
        if !self.is_time_to_look() {
            return false;
        }
        let checked = Python::try_attach(|py| py.check_signals());
        match checked {
            Some(Err(error)) => {
                self.keep(error);
                true
            }
            Some(Ok(())) | None => false,
        }
    }

    fn python(&self, path: &str, args: &[Value], ty: Option<ScalarType>) -> Result<Value, String> {
        if self.sandbox {
            return Err(format!("`{path}` of Python is not called in a sandbox"));
        }
        if self.depth >= DEEPEST {
            return Err(format!(
                "`{path}` is inside of {DEEPEST} calls of Python by programs: does it call itself?"
            ));
        }
        let mark = |thread| *self.calls_on.lock().unwrap_or_else(PoisonError::into_inner) = thread;
        mark(Some(std::thread::current().id()));
        let before = DEPTH.replace(self.depth + 1);
        let done = Python::try_attach(|py| called(py, path, args, ty));
        DEPTH.set(before);
        mark(None);
        match done {
            Some(Ok(value)) => Ok(value),
            Some(Err(error)) => {
                let message = format!("`{path}` of Python raised: {error}");
                // The caller gets the exception itself.
                self.keep(error);
                Err(message)
            }
            None => Err("the interpreter has ended".into()),
        }
    }

    fn progress(&self, work: Work) {
        let Some(progress) = &self.progress else { return };
        let told = Python::try_attach(|py| -> PyResult<()> {
            progress.call1(py, (work.number, work.name.to_string(), work.fraction))?;
            Ok(())
        });
        if let Some(Err(error)) = told {
            self.keep(error);
        }
    }
}

/// Calls a function of Python with arrays of NumPy, where that is there.
fn called(py: Python<'_>, path: &str, args: &[Value], ty: Option<ScalarType>) -> PyResult<Value> {
    let function = find(py, path)?;
    let class = py.import("numpy").is_ok().then_some(Class::Numpy);
    let mut objects = Vec::with_capacity(args.len());
    for arg in args {
        // Numbers are numbers of Python; arrays are copies, which the function may keep.
        let class = if matches!(arg, Value::Scalar(_)) { None } else { class };
        objects.push(give::give(py, class, arg.clone(), &[], &|_| None)?);
    }
    let result = function.call1(PyTuple::new(py, objects)?)?;
    let memory = Memory::unlimited();
    let mut taking = Taking::new(&memory);
    let declared = ty.map_or(Declared::Open, Declared::Scalar);
    let literal = crate::convert::is_literal(&result);
    let declared = if literal { declared } else { Declared::Open };
    taking
        .one(&format!("{path}(…)"), &declared, &result)
        .map_err(|error| fail::while_running(py, error))?;
    match taking.values.pop().unwrap_or_default() {
        // What gave an array may use it again.
        Value::Tensor(tensor) => {
            let detached = tensor.detached();
            detached.map(Value::tensor).map_err(|error| array::no_room(py, &error.to_string()))
        }
        value => Ok(value),
    }
}

/// The object at a path: modules as far as there are any, then attributes.
fn find<'py>(py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyAny>> {
    let mut parts = path.split('.');
    let mut name = parts.next().unwrap_or_default().to_owned();
    let mut object = match py.import(name.as_str()) {
        Ok(module) => module.into_any(),
        Err(error) => match py.import("builtins")?.getattr(name.as_str()) {
            Ok(function) => function,
            Err(_) => return Err(error),
        },
    };
    for part in parts {
        name = format!("{name}.{part}");
        object = match object.getattr(part) {
            Ok(found) => found,
            Err(error) => match py.import(name.as_str()) {
                Ok(module) => module.into_any(),
                Err(_) => return Err(error),
            },
        };
    }
    Ok(object)
}
