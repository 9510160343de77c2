//! Programs of the system that are at work for us, and how they are ended.
//!
//! A C compiler starts others in turn, so each is the head of a process group of its own, which can
//! be ended as a whole from another thread: when the user gives up, or the time is over.

use std::io::Write as _;
use std::process::{Child, Command, Output};
use std::sync::{Mutex, PoisonError};

/// The groups under way; `None` once all shall end, and none shall begin.
static GROUPS: Mutex<Option<Vec<u32>>> = Mutex::new(Some(Vec::new()));

/// Ends every compiler that is at work; no further one starts.
pub fn stop_compilers() {
    let groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner).take();
    groups.into_iter().flatten().for_each(end_group);
}

/// Whether all compilers were ended: what one of them says since then is no fault of its own.
pub fn compilers_are_stopped() -> bool {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner).is_none()
}

/// The list of compilers at work, locked until it is dropped.
pub fn locked_compilers() -> impl Sized {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a program with a text as its input, and waits for its output.
pub(crate) fn run(command: &mut Command, input: &[u8]) -> std::io::Result<Output> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut child = begin(command)?;
    let group = child.id();
    if let Some(mut stdin) = child.stdin.take() {
        // If the program ends early its message says why.
        let _ = stdin.write_all(input);
    }
    let output = child.wait_with_output();
    if let Some(groups) = GROUPS.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        groups.retain(|it| *it != group);
    }
    output
}

/// Starts a program, under a lock: it is known before it can be asked to end.
fn begin(command: &mut Command) -> std::io::Result<Child> {
    let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(groups) = groups.as_mut() else {
        return Err(std::io::Error::other("the work is being ended"));
    };
    let child = command.spawn()?;
    groups.push(child.id());
    Ok(child)
}

#[cfg(unix)]
fn end_group(group: u32) {
    const SIGKILL: i32 = 9;
    unsafe extern "C" {
        fn kill(pid: i32, signal: i32) -> i32;
    }
    if let Ok(group) = i32::try_from(group) {
        // SAFETY: a call of the system with two numbers. The group is that of a child that has not
        // been waited for, so its number is not another's.
        let _ = unsafe { kill(-group, SIGKILL) };
    }
}

#[cfg(not(unix))]
fn end_group(_: u32) {}
