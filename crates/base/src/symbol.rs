//! Interned strings: after lexing, a name is four bytes and comparing two names is one
//! instruction.

use crate::Span;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::fmt;
use std::sync::{OnceLock, RwLock};

/// An interned string.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(u32);

#[derive(Default)]
struct Interner {
    ids: FxHashMap<&'static str, u32>,
    texts: Vec<&'static str>,
}

fn interner() -> &'static RwLock<Interner> {
    static INTERNER: OnceLock<RwLock<Interner>> = OnceLock::new();
    INTERNER.get_or_init(RwLock::default)
}

thread_local! {
    // Most lookups hit names this thread has seen before and need no lock.
    static SEEN: RefCell<FxHashMap<&'static str, u32>> = RefCell::default();
}

impl Symbol {
    /// The symbol of this text; the same text always gives the same symbol.
    pub fn intern(text: &str) -> Self {
        SEEN.with_borrow_mut(|seen| {
            if let Some(&id) = seen.get(text) {
                return Self(id);
            }
            let (id, text) = Self::intern_shared(text);
            seen.insert(text, id);
            Self(id)
        })
    }

    fn intern_shared(text: &str) -> (u32, &'static str) {
        // A thread that panicked while holding the lock cannot have left the table half written:
        // both insertions below are infallible.
        let mut table = interner().write().unwrap_or_else(|e| e.into_inner());
        if let Some((&text, &id)) = table.ids.get_key_value(text) {
            return (id, text);
        }
        let text: &'static str = Box::leak(text.into());
        let id = table.texts.len() as u32;
        table.texts.push(text);
        table.ids.insert(text, id);
        (id, text)
    }

    /// The text of this symbol.
    pub fn as_str(self) -> &'static str {
        let table = interner().read().unwrap_or_else(|e| e.into_inner());
        table.texts[self.0 as usize]
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.as_str())
    }
}

/// A name as it stands in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// What it says.
    pub sym: Symbol,
    /// Where it stands.
    pub span: Span,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sym.fmt(f)
    }
}
