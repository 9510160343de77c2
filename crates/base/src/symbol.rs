//! Interned strings: after lexing, a name is four bytes and comparing two names is one
//! instruction.

use crate::Span;
use rustc_hash::FxBuildHasher;
use std::cell::RefCell;
use std::fmt;
use std::hash::BuildHasher;
use std::num::NonZeroU32;
use std::sync::{OnceLock, RwLock};

/// An interned string.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(NonZeroU32);

/// All symbols: an open hash table that keeps the hashes, so that growing reads no text.
#[derive(Default)]
struct Interner {
    /// A hash and the symbol whose text has it; the length is a power of two, half of it in use.
    slots: Vec<Option<(u32, Symbol)>>,
    /// The text of symbol `n` is `texts[n - 1]`.
    texts: Vec<&'static str>,
    /// What is left of the block that new texts are copied into.
    room: &'static mut [u8],
}

/// How much text shares one allocation.
const BLOCK: usize = 1 << 16;

impl Interner {
    fn intern(&mut self, hash: u32, text: &str) -> (&'static str, Symbol) {
        if self.texts.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let mut place = hash as usize & (self.slots.len() - 1);
        while let Some((other, symbol)) = self.slots[place] {
            // Another hash is another text, which then need not be fetched.
            if other == hash {
                let known = self.texts[symbol.index()];
                if known == text {
                    return (known, symbol);
                }
            }
            place = (place + 1) & (self.slots.len() - 1);
        }
        let text = self.keep(text);
        self.texts.push(text);
        // Four billion names do not fit in text of legal size.
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        let symbol = Symbol(NonZeroU32::new(number).unwrap_or(NonZeroU32::MAX));
        self.slots[place] = Some((hash, symbol));
        (text, symbol)
    }

    fn grow(&mut self) {
        let len = (self.slots.len() * 2).max(1 << 12);
        let old = std::mem::replace(&mut self.slots, vec![None; len]);
        for (hash, symbol) in old.into_iter().flatten() {
            let mut place = hash as usize & (len - 1);
            while self.slots[place].is_some() {
                place = (place + 1) & (len - 1);
            }
            self.slots[place] = Some((hash, symbol));
        }
    }

    /// A copy that lives as long as the process.
    fn keep(&mut self, text: &str) -> &'static str {
        if text.len() > BLOCK / 8 {
            return Box::leak(text.into());
        }
        if text.len() > self.room.len() {
            self.room = Box::leak(vec![0; BLOCK].into());
        }
        let (copy, room) = std::mem::take(&mut self.room).split_at_mut(text.len());
        self.room = room;
        copy.copy_from_slice(text.as_bytes());
        std::str::from_utf8(copy).expect("the bytes of a text are a text")
    }
}

fn interner() -> &'static RwLock<Interner> {
    static INTERNER: OnceLock<RwLock<Interner>> = OnceLock::new();
    INTERNER.get_or_init(RwLock::default)
}

/// Keeps all other threads from the table.
pub(crate) fn locked() -> impl Sized {
    interner().write().unwrap_or_else(|e| e.into_inner())
}

/// How many recent names a thread remembers.
const RECENT: usize = 1 << 10;

thread_local! {
    // Most names were seen a few lines before: one comparison, and no lock.
    static SEEN: RefCell<Vec<Option<(&'static str, Symbol)>>> =
        RefCell::new(vec![None; RECENT]);
}

impl Symbol {
    /// The symbol of this text; the same text always gives the same symbol.
    pub fn intern(text: &str) -> Self {
        let hash = FxBuildHasher.hash_one(text) as u32;
        SEEN.with_borrow_mut(|seen| {
            let place = &mut seen[hash as usize % RECENT];
            if let Some((known, symbol)) = *place
                && known == text
            {
                return symbol;
            }
            // A thread that panicked while holding the lock cannot have left the table half
            // written: nothing that writes it can fail.
            let mut table = interner().write().unwrap_or_else(|e| e.into_inner());
            let found = table.intern(hash, text);
            *place = Some(found);
            found.1
        })
    }

    /// The text of this symbol.
    pub fn as_str(self) -> &'static str {
        let table = interner().read().unwrap_or_else(|e| e.into_inner());
        table.texts[self.index()]
    }

    /// The number of this symbol: how many were interned before it.
    pub fn index(self) -> usize {
        (self.0.get() - 1) as usize
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_is_the_same_symbol_however_many_there_are() {
        let text = |i: usize| format!("name_{i}");
        let symbols: Vec<Symbol> = (0..20_000).map(|i| Symbol::intern(&text(i))).collect();
        for (i, symbol) in symbols.iter().enumerate() {
            assert_eq!(symbol.as_str(), text(i));
            assert_eq!(*symbol, Symbol::intern(&text(i)));
        }
        let elsewhere = std::thread::spawn(move || Symbol::intern("name_7")).join();
        assert_eq!(elsewhere.ok(), Some(symbols[7]));
        let long = "x".repeat(BLOCK);
        assert_eq!(Symbol::intern(&long).as_str(), long);
        assert_eq!(Symbol::intern("").as_str(), "");
    }
}
