//! Memory for what is not an array of numbers: texts, lists, what comes from files.
//!
//! Arrays ask when they are allocated. These ask before they grow, and everything together is looked
//! at where an evaluation looks whether it shall go on, so that the limit speaks before the system.

use ein_base::{Code, Span};
use ein_runtime::MemoryError;
use std::time::Instant;

use crate::machine::Machine;
use crate::stop::{MarkKind, Stop};
use crate::value::Value;

impl Machine<'_> {
    /// Whether there is room for so many bytes more; E0805 if not.
    #[inline]
    pub(crate) fn room(&self, bytes: usize, what: &str, span: Span) -> Result<(), Stop> {
        match self.options.memory.check_bytes(bytes as u128) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.no_room(&error, what, span)),
        }
    }

    /// Whether what is in use, with the stack, is within the limit.
    pub(crate) fn within_limit(&self) -> Result<(), Stop> {
        let stack = self.stack_top.saturating_sub(crate::stack::here());
        match self.options.memory.check_bytes(stack as u128) {
            Ok(()) => Ok(()),
            Err(error) => {
                let Some(place) = self.place() else { return Err(Stop::Interrupted) };
                Err(self.no_room(&error, "the program", place))
            }
        }
    }

    /// Whether there is time left; E0812 if not.
    pub(crate) fn within_time(&self) -> Result<(), Stop> {
        let Some(deadline) = self.options.deadline else { return Ok(()) };
        if Instant::now() < deadline {
            return Ok(());
        }
        let Some(place) = self.place() else { return Err(Stop::Interrupted) };
        let stop = self.fail(Code::E0812, place, "the time limit has passed");
        Err(match stop {
            Stop::Error(it) => it.help("allow more with `--time-limit SECONDS`").into(),
            Stop::Interrupted => stop,
        })
    }

    /// About where the evaluation is: the innermost thing that has a place.
    fn place(&self) -> Option<Span> {
        let marked = self.marks.iter().rev().find_map(|mark| match mark.kind {
            MarkKind::Let(var) | MarkKind::Index(var) => Some(self.program.vars[var].span),
            MarkKind::Call(func, _) => Some(self.program.funcs[func].body.span),
            MarkKind::Definition(_) => None,
        });
        marked.or_else(|| self.program.top.last().map(|stmt| stmt.span))
    }

    #[cold]
    #[inline(never)]
    fn no_room(&self, error: &MemoryError, what: &str, span: Span) -> Stop {
        let message = format!("{what} does not fit in memory");
        match self.fail(Code::E0805, span, message) {
            Stop::Error(it) => it.note(error.to_string()).into(),
            Stop::Interrupted => Stop::Interrupted,
        }
    }

    /// Adds an element to a list that is being made.
    #[inline]
    pub(crate) fn push_item(
        &self,
        items: &mut Vec<Value>,
        item: Value,
        span: Span,
    ) -> Result<(), Stop> {
        if items.len() == items.capacity() && items.len() >= 1 << 10 {
            // It doubles, and the old one is there until all is moved.
            self.room(2 * items.len() * size_of::<Value>(), "the list", span)?;
        }
        items.push(item);
        Ok(())
    }
}

/// Stops where a mapped file is not what it was when it was mapped.
#[cold]
pub(crate) fn unchanged_files(machine: &Machine<'_>) -> Result<(), Stop> {
    let Some(path) = machine.options.memory.changed_file() else { return Ok(()) };
    let Some(place) = machine.place() else { return Err(Stop::Interrupted) };
    let path = path.display();
    let message = format!("cannot read `{path}`: it was changed while the program ran");
    Err(match machine.fail(Code::E0902, place, message) {
        Stop::Error(it) => {
            let help = "write another file and move it to this place: that changes no run";
            it.note("large arrays of this file stay in it until they are read").help(help).into()
        }
        stop @ Stop::Interrupted => stop,
    })
}
