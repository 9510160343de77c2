//! The exit codes; there are no others.

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// All went well.
    Success,
    /// The program was rejected.
    Rejected,
    /// It failed while running, or we did.
    Failed,
    /// The command was used wrongly.
    WrongUse,
    /// Ctrl-C.
    Interrupted,
}

impl Exit {
    /// The number the system sees.
    pub fn code(self) -> i32 {
        match self {
            Exit::Success => 0,
            Exit::Rejected => 1,
            Exit::Failed => 2,
            Exit::WrongUse => 3,
            Exit::Interrupted => 130,
        }
    }
}
