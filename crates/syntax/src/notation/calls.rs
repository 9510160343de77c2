//! Which functions are being translated, and which must be translated again.
//!
//! The result of a recursive function is not known while it is translated for the first time.
//! What was translated in that time and asked for it is translated again, once it is known.

use super::{MAX_CALLS, MAX_INSTANCES};
use crate::ast::StmtId;
use ein_base::Diagnostic;
use rustc_hash::FxHashMap;

/// The functions that wait for one that they call, and what came of those that do not.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Their keys, the outermost first, each with whether it asked for an unknown result.
    waiting: Vec<(String, bool)>,
    /// What must be translated again when the function at a place is known: key and place.
    stale: Vec<(String, usize)>,
    made: usize,
    /// Functions made since they were last taken, with their keys.
    items: Vec<(String, StmtId)>,
    /// What was reported, with the function in which.
    said: Vec<(String, Diagnostic)>,
    /// The names of functions, which they keep when they are translated again.
    names: FxHashMap<String, String>,
}

impl Calls {
    /// The key of the innermost function; empty outside of all.
    fn current(&self) -> String {
        self.waiting.last().map(|it| it.0.clone()).unwrap_or_default()
    }

    /// Reports something.
    pub(crate) fn say(&mut self, diagnostic: Diagnostic) {
        let key = self.current();
        self.said.push((key, diagnostic));
    }

    /// Everything that was reported.
    pub(crate) fn said(&mut self) -> Vec<Diagnostic> {
        self.said.drain(..).map(|it| it.1).collect()
    }

    /// Adds a function that belongs to the innermost one, or to the program.
    pub(crate) fn add(&mut self, item: StmtId) {
        let key = self.current();
        self.items.push((key, item));
    }

    /// The functions made since this was last asked.
    pub(crate) fn items(&mut self) -> Vec<StmtId> {
        self.items.drain(..).map(|it| it.1).collect()
    }

    /// The name of the function with a key.
    pub(crate) fn name(&mut self, key: &str, fresh: impl FnOnce() -> String) -> String {
        self.names.entry(key.to_owned()).or_insert_with(fresh).clone()
    }

    /// Begins a function; says whether there may be another one.
    pub(crate) fn begin(&mut self, key: &str) -> bool {
        if self.made >= MAX_INSTANCES || self.waiting.len() >= MAX_CALLS {
            return false;
        }
        self.made += 1;
        self.waiting.push((key.to_owned(), false));
        true
    }

    /// Notes that the result of a waiting function was asked for.
    pub(crate) fn asked(&mut self, key: &str) {
        let Some(place) = self.waiting.iter().position(|it| it.0 == key) else { return };
        let inside: Vec<String> =
            self.waiting.iter().skip(place + 1).map(|it| it.0.clone()).collect();
        self.stale.extend(inside.into_iter().map(|it| (it, place)));
        if let Some(it) = self.waiting.get_mut(place) {
            it.1 = true;
        }
    }

    /// The innermost function is known after its first translation: what must be forgotten, or
    /// `None` if nobody asked for its result.
    pub(crate) fn known(&mut self) -> Option<Vec<String>> {
        let place = self.waiting.len().checked_sub(1)?;
        if !self.waiting.last()?.1 {
            return None;
        }
        let (now, later) =
            std::mem::take(&mut self.stale).into_iter().partition(|it| it.1 >= place);
        self.stale = later;
        let now: Vec<(String, usize)> = now;
        let mut keys: Vec<String> = now.into_iter().map(|it| it.0).collect();
        keys.push(self.current());
        self.items.retain(|it| !keys.contains(&it.0));
        self.said.retain(|it| !keys.contains(&it.0));
        Some(keys)
    }

    /// Ends the innermost function.
    pub(crate) fn end(&mut self) {
        self.waiting.pop();
    }
}
