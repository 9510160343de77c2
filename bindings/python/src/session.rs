//! A program that is written entry by entry, as notebooks and the REPL do.

use crate::around::{Around, CallsOn};
use crate::{fail, give};
use ein_driver::call::fork::Here;
use ein_driver::call::{Failure, Surroundings as _, Told, Value};
use ein_driver::interactive::{self, Interactive};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Entries and the values of what they bind.
#[pyclass(subclass, frozen, module = "einlang._einlang")]
pub(crate) struct Session {
    state: Mutex<Interactive>,
    calls_on: CallsOn,
    /// How many have or want the state, and in which process. Locked with the interpreter only, whose
    /// lock whoever forks has.
    users: Mutex<(usize, Here)>,
}

/// One of those who have or want the state of a session.
struct User<'a>(&'a Session);

impl Drop for User<'_> {
    fn drop(&mut self) {
        self.0.users().0 -= 1;
    }
}

/// Whether a text ends inside a bracket or a comment, so that more must follow.
#[pyfunction]
pub(crate) fn is_unfinished(py: Python<'_>, text: &str) -> bool {
    py.detach(|| interactive::is_unfinished(text))
}

/// The words that mean something in every program.
#[pyfunction]
pub(crate) fn words(py: Python<'_>) -> Vec<String> {
    py.detach(interactive::words)
}

#[pymethods]
impl Session {
    #[new]
    fn new() -> Self {
        Self {
            state: Mutex::new(Interactive::inside_python()),
            calls_on: CallsOn::default(),
            users: Mutex::new((0, Here::now())),
        }
    }

    /// Runs an entry: what it gave and the text of it, its warnings; raises what stopped it.
    fn _enter<'py>(&self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyDict>> {
        let around = Around::of_session(py, Arc::clone(&self.calls_on))?;
        let interrupted = Arc::new(AtomicBool::new(false));
        let _user = self.user()?;
        let answer = py.detach(|| {
            std::thread::scope(|scope| {
                let flag = Arc::clone(&interrupted);
                let around = &around;
                let work = scope.spawn(move || self.state().enter(text, flag, around));
                // Signals arrive at the thread that came from Python.
                while !work.is_finished() {
                    std::thread::sleep(std::time::Duration::from_millis(2));
                    if around.interrupted() {
                        interrupted.store(true, Ordering::Relaxed);
                    }
                }
                work.join()
            })
        });
        if let Some(error) = around.raised() {
            return Err(error);
        }
        let answer = match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(bug)) => return Err(fail::raise(py, Failure::Internal(bug))),
            Err(_) => return Err(PyRuntimeError::new_err("a thread was lost")),
        };
        let told = Told::all(&answer.session, &answer.diagnostics);
        if answer.interrupted {
            return Err(fail::raise(py, Failure::Interrupted));
        }
        if told.iter().any(|it| it.is_error) {
            let stopped = told.iter().any(|it| it.code.starts_with("E08"));
            return Err(fail::error(py, if stopped { "run" } else { "compile" }, &told));
        }
        let dict = PyDict::new(py);
        dict.set_item("warnings", fail::told(py, &told)?)?;
        dict.set_item("text", &answer.value)?;
        if let Some(shown) = answer.shown {
            let names = |_: &Value| Some((String::new(), give::fields(&shown.fields)));
            let value = give::give(py, None, shown.value.clone(), &shown.dims, &names)?;
            dict.set_item("value", value)?;
        }
        Ok(dict)
    }

    /// The type of an expression; raises what is wrong with it.
    fn _type_of(&self, py: Python<'_>, text: &str) -> PyResult<String> {
        self.asked(py, |state| state.type_of(text))
    }

    /// How an entry would be computed; raises what is wrong with it.
    fn _plan_of(&self, py: Python<'_>, text: &str) -> PyResult<String> {
        self.asked(py, |state| state.plan_of(text))
    }

    /// The coordinates and extents of a binding.
    fn _layout_of(&self, py: Python<'_>, name: &str) -> PyResult<Option<String>> {
        let _user = self.user()?;
        let found = py.detach(|| self.state().layout_of(name));
        found.map_err(|bug| fail::raise(py, Failure::Internal(bug)))
    }

    /// How an item is declared, and what is said of it.
    fn _described(&self, py: Python<'_>, name: &str) -> PyResult<Option<String>> {
        let _user = self.user()?;
        let found = py.detach(|| self.state().described(name));
        found.map_err(|bug| fail::raise(py, Failure::Internal(bug)))
    }

    /// The names that entries have bound.
    fn _bound(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let _user = self.user()?;
        Ok(py.detach(|| self.state().bound()))
    }
}

/// A text, or what is wrong.
type Asked = Result<Result<String, interactive::Answer>, ein_driver::InternalError>;

impl Session {
    fn state(&self) -> MutexGuard<'_, Interactive> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn users(&self) -> MutexGuard<'_, (usize, Here)> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses what a function of Python that an entry calls wants of its own session, which would wait
    /// for itself, and what a child of the process wants of a session that a thread of its parent had.
    fn user(&self) -> PyResult<User<'_>> {
        let mut users = self.users();
        if users.1 != Here::now() {
            if users.0 > 0 {
                return Err(PyRuntimeError::new_err(
                    "the session was at work when the process was forked: make another one here",
                ));
            }
            users.1 = Here::now();
        }
        let calls_on = *self.calls_on.lock().unwrap_or_else(PoisonError::into_inner);
        if calls_on == Some(std::thread::current().id()) {
            return Err(PyRuntimeError::new_err("the session runs the entry that calls this"));
        }
        users.0 += 1;
        Ok(User(self))
    }

    fn asked(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&Interactive) -> Asked + Send,
    ) -> PyResult<String> {
        let _user = self.user()?;
        let asked = py.detach(|| question(&self.state()));
        match asked {
            Ok(Ok(text)) => Ok(text),
            Ok(Err(answer)) => {
                let told = Told::all(&answer.session, &answer.diagnostics);
                Err(fail::error(py, "compile", &told))
            }
            Err(bug) => Err(fail::raise(py, Failure::Internal(bug))),
        }
    }
}
