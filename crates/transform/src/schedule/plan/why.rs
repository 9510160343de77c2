//! Reasons, with the numbers that decided.

use std::fmt;

/// Why something was decided.
#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// There was no choice.
    Only,
    /// A reason in words.
    Since(&'static str),
    /// A reason in words that somebody else has given.
    Told(String),
    /// So many operations, which are enough for threads.
    Work {
        /// The operations.
        work: f64,
        /// The turns that they are in.
        turns: f64,
        /// From how many on threads pay.
        least: f64,
    },
    /// So many operations, which are too few for threads.
    LittleWork {
        /// The operations.
        work: f64,
        /// From how many on threads pay.
        least: f64,
    },
    /// The steps that a recurrence has to keep.
    Steps(Kept),
    /// A size that fits, in bytes or elements.
    Fits {
        /// The size.
        size: i64,
        /// What it fits into.
        limit: i64,
        /// Of what.
        of: &'static str,
    },
    /// A size that does not fit.
    TooLarge {
        /// The size.
        size: i64,
        /// What it does not fit into.
        limit: i64,
        /// Of what.
        of: &'static str,
    },
    /// A number of things.
    Count(i64, &'static str),
}

/// How many steps of a recurrence are looked at together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// How many steps back a step reads at most.
    pub back: i64,
    /// Whether what it reads so far back is only the cell that it overwrites.
    pub in_place: bool,
    /// How many of the last steps others read.
    pub tail: i64,
}

impl Kept {
    /// The same for a step that also reads so many steps back, only the cell that it overwrites or
    /// others as well.
    pub(crate) fn with(self, back: i64, in_place: bool) -> Kept {
        let other = Kept { back, in_place, ..self };
        match (other.own(), other.back) > (self.own(), self.back) {
            true => other,
            false => self,
        }
    }

    /// The steps that a step itself looks at.
    fn own(self) -> i64 {
        if self.in_place { self.back } else { self.back + 1 }
    }

    /// The steps that have to be there at the same time: as many as are read back and the one that is
    /// being made, unless that takes the place of the oldest; and those that others read.
    pub fn steps(self) -> i64 {
        self.own().max(self.tail)
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Kept { back, in_place, tail } = self;
        write!(f, "each step reads {back} back, and the last {tail} are observed")?;
        match in_place {
            true => f.write_str("; a new cell takes the place of the oldest that it reads"),
            false => Ok(()),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Only => Ok(()),
            Why::Since(text) => f.write_str(text),
            Why::Told(text) => f.write_str(text),
            Why::Work { work, turns, least } => {
                write!(f, "{work:.1e} operations over {turns} turns; threads pay from {least:.1e}")
            }
            Why::LittleWork { work, least } => {
                write!(f, "{work:.1e} operations; threads pay from {least:.1e}")
            }
            Why::Steps(kept) => kept.fmt(f),
            Why::Fits { size, limit, of } => write!(f, "{size} of {limit} {of}"),
            Why::TooLarge { size, limit, of } => write!(f, "{size} and not {limit} {of}"),
            Why::Count(count, of) => write!(f, "{count} {of}"),
        }
    }
}
