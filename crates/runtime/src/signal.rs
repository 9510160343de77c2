//! Limits of the system that come as signals, and are errors of a command.

/// A file that would pass the limit of the system (`ulimit -f`) is an error of whoever writes it from
/// now on, and no longer the end of the process. For commands: it changes the whole process.
pub fn long_files_are_errors() {
    #[cfg(unix)]
    {
        // SAFETY: a call of the system that changes what one signal does; nobody waits for this one.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    }
}
