//! The line on a terminal that says how far a long run is.
//!
//! A thread looks ten times a second at what the run reports. It draws after a second, only where
//! standard error is a terminal, and `output` wipes the line before anything else is written.

use crate::output;
use ein_driver::{Progress, Work};
use std::io::{self, IsTerminal as _};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, mpsc::Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A run that ends before this shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a drawn line stays as it is.
const REDRAW: Duration = Duration::from_millis(100);

/// The columns that a name may take, so that the line fits any terminal.
const NAME: usize = 28;

/// A fraction says something about the time left once this much time and work lie behind it.
const LEAST_TIME: Duration = Duration::from_millis(500);
const LEAST_FRACTION: f64 = 0.005;

/// Somebody who watches a run, until this is dropped.
pub struct Watch(Option<(Sender<()>, JoinHandle<()>)>);

impl Watch {
    /// Begins to watch; nobody does where nobody would see it.
    pub fn begin(progress: &Arc<Progress>) -> Watch {
        if !is_shown() {
            return Watch(None);
        }
        let (stop, stopped) = mpsc::channel();
        let progress = Arc::clone(progress);
        let watch = move || {
            let mut seen = Seen::new(Instant::now());
            while stopped.recv_timeout(REDRAW) == Err(RecvTimeoutError::Timeout) {
                let now = Instant::now();
                if let Some(line) = progress.now().and_then(|work| seen.line(work, now)) {
                    output::draw(&line);
                }
            }
            output::wipe();
        };
        // Without a thread the run is as good, only silent.
        let spawned = std::thread::Builder::new().name("progress".into()).spawn(watch);
        Watch(spawned.ok().map(|thread| (stop, thread)))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            // It has wiped its line when it ends; a failure there is none of the run.
            let _ = thread.join();
        }
    }
}

/// Whether somebody looks at standard error, through something that understands control characters.
fn is_shown() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stderr().is_terminal() && !is_dumb
}

/// What has been seen of a run.
struct Seen {
    started: Instant,
    work: Option<Piece>,
}

/// The piece of work under way.
#[derive(Clone, Copy)]
struct Piece {
    number: u64,
    /// When it was first seen, and its fraction then.
    first: (Instant, f64),
    /// When the fraction changed for the last time, and to what.
    last: (Instant, f64),
}

impl Piece {
    /// How much longer it takes if it goes on as so far; absent while too little has been seen.
    fn left(&self, now: Instant) -> Option<Duration> {
        let (spent, gained) =
            (self.last.0.duration_since(self.first.0), self.last.1 - self.first.1);
        if spent < LEAST_TIME || gained < LEAST_FRACTION {
            return None;
        }
        // Fractions may come in large steps: between two of them time passes all the same.
        let left = spent.mul_f64(((1.0 - self.last.1) / gained).clamp(0.0, 1e6));
        Some(left.saturating_sub(now.duration_since(self.last.0)))
    }
}

impl Seen {
    fn new(started: Instant) -> Seen {
        Seen { started, work: None }
    }

    /// The line to draw now, if it is time for one.
    fn line(&mut self, work: Work, now: Instant) -> Option<String> {
        let fraction = work.fraction.unwrap_or(0.0);
        let here = (now, fraction);
        let piece = match self.work {
            Some(piece) if piece.number == work.number && piece.last.1 == fraction => piece,
            Some(piece) if piece.number == work.number => Piece { last: here, ..piece },
            Some(_) | None => Piece { number: work.number, first: here, last: here },
        };
        self.work = Some(piece);
        let elapsed = now.duration_since(self.started);
        if elapsed < PATIENCE {
            return None;
        }
        let left = work.fraction.and_then(|_| piece.left(now));
        // A fraction that never moves is none.
        let fraction = work.fraction.filter(|fraction| *fraction > 0.0);
        Some(line(work.name.as_str(), fraction, elapsed, left))
    }
}

/// `h   42 %, 0:12, about 0:17 left`
fn line(name: &str, fraction: Option<f64>, elapsed: Duration, left: Option<Duration>) -> String {
    let mut line = match name.char_indices().nth(NAME) {
        Some((cut, _)) => format!("{}…", &name[..cut]),
        None => name.to_owned(),
    };
    line.push_str(": ");
    if let Some(fraction) = fraction {
        // Rounded down: what is not done is never called done.
        line.push_str(&format!("{} %, ", (fraction * 100.0).floor()));
    }
    line.push_str(&clock(elapsed));
    if let Some(left) = left {
        line.push_str(&format!(", about {} left", clock(left)));
    }
    line
}

/// `0:07`, `12:34`, `1:02:03`.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ein_driver::Symbol;

    #[test]
    fn lines_say_what_is_known() {
        let seconds = Duration::from_secs;
        let check = |fraction, elapsed, left: Option<u64>, expected: &str| {
            assert_eq!(line("h", fraction, seconds(elapsed), left.map(seconds)), expected);
        };
        check(Some(0.428), 12, Some(17), "h: 42 %, 0:12, about 0:17 left");
        check(Some(0.999), 3723, Some(0), "h: 99 %, 1:02:03, about 0:00 left");
        check(Some(0.0), 2, None, "h: 0 %, 0:02");
        check(None, 754, None, "h: 12:34");
        let long = "ä".repeat(40);
        let cut = line(&long, None, seconds(1), None);
        assert_eq!(cut, format!("{}…: 0:01", "ä".repeat(NAME)));
    }

    #[test]
    fn time_left_is_told_from_the_work_under_way() {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let work = |number, fraction| Work { number, name: Symbol::intern("h"), fraction };
        let mut seen = Seen::new(start);
        assert_eq!(seen.line(work(1, Some(0.1)), at(100)), None, "too early");
        let second = seen.line(work(1, Some(0.3)), at(2100));
        assert_eq!(second.as_deref(), Some("h: 30 %, 0:02, about 0:07 left"));
        // The next piece of work has a clock of its own for the time left.
        let next = seen.line(work(2, Some(0.0)), at(5000));
        assert_eq!(next.as_deref(), Some("h: 0:05"));
        let later = seen.line(work(2, Some(0.5)), at(7000));
        assert_eq!(later.as_deref(), Some("h: 50 %, 0:07, about 0:02 left"));
        let standing = seen.line(work(2, Some(0.5)), at(8500));
        assert_eq!(standing.as_deref(), Some("h: 50 %, 0:08, about 0:00 left"));
        assert_eq!(seen.line(work(3, None), at(9000)).as_deref(), Some("h: 0:09"));
    }
}
