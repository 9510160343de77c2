//! Nested scopes as one table and one log.
//!
//! Every declaration is an entry that remembers the entry it hides; leaving a scope pops entries
//! and restores what they hid. Entering and leaving cost what was declared, never what is visible.

use super::{ImportId, ItemId};
use crate::hir::{LocalId, ModuleId};
use ein_base::{Span, Symbol};

/// The name spaces: one name may mean something in each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Space {
    /// Bindings, parameters, index variables, coordinates of a signature, and items.
    Value,
    /// Modules of a block.
    Module,
    /// Type parameters.
    Type,
    /// `..s`
    Pack,
    /// `?n`
    Size,
}

impl Space {
    /// How many there are.
    const ALL: usize = Space::Size as usize + 1;
}

/// What a name in a scope stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// A local name.
    Local(LocalId),
    /// A coordinate of the enclosing function's signature.
    Coord,
    /// An item of a block.
    Item(ItemId),
    /// An import of a block.
    Import(ImportId),
    /// A module of a block.
    Module(ModuleId),
    /// A name whose declaration was broken.
    Error,
}

/// One declaration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) space: Space,
    pub(super) sym: Symbol,
    pub(super) bound: Bound,
    /// The frame (function or closure) it was made in.
    pub(super) frame: u32,
    /// Where to warn if nothing reads it.
    pub(super) warn: Option<Span>,
    /// The declaration of the same name that it hides.
    pub(super) hidden: u32,
}

const NONE: u32 = u32::MAX;

/// How many symbols share a page of [`Heads`].
const PAGE: usize = 256;

/// The innermost declaration of every name, by the number of its symbol. Names that stand together
/// in the text have numbers that are close, so this is a lookup in memory that was just used, where
/// a hash table of a long program would be somewhere else each time.
#[derive(Debug, Default)]
struct Heads {
    pages: [Vec<Option<Box<[u32; PAGE]>>>; Space::ALL],
}

impl Heads {
    fn get(&self, space: Space, sym: Symbol) -> u32 {
        match self.pages[space as usize].get(sym.index() / PAGE) {
            Some(Some(page)) => page[sym.index() % PAGE],
            Some(None) | None => NONE,
        }
    }

    /// Sets a declaration and returns the one that was there.
    fn replace(&mut self, space: Space, sym: Symbol, entry: u32) -> u32 {
        let pages = &mut self.pages[space as usize];
        let at = sym.index() / PAGE;
        if pages.len() <= at {
            pages.resize(at + 1, None);
        }
        let page = pages[at].get_or_insert_with(|| Box::new([NONE; PAGE]));
        std::mem::replace(&mut page[sym.index() % PAGE], entry)
    }
}

/// All declarations that are in scope.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    heads: Heads,
    entries: Vec<Entry>,
}

impl Scopes {
    /// Declares a name from here on.
    pub(super) fn declare(
        &mut self,
        space: Space,
        sym: Symbol,
        bound: Bound,
        frame: u32,
        warn: Option<Span>,
    ) {
        let index = self.entries.len() as u32;
        let hidden = self.heads.replace(space, sym, index);
        self.entries.push(Entry { space, sym, bound, frame, warn, hidden });
    }

    /// Makes room for so many more declarations.
    pub(super) fn reserve(&mut self, more: usize) {
        self.entries.reserve(more);
    }

    /// The place to return to with [`Scopes::pop`].
    pub(super) fn mark(&self) -> usize {
        self.entries.len()
    }

    /// Takes back the last declaration made after `mark`.
    pub(super) fn pop(&mut self, mark: usize) -> Option<Entry> {
        if self.entries.len() <= mark {
            return None;
        }
        let entry = self.entries.pop()?;
        self.heads.replace(entry.space, entry.sym, entry.hidden);
        Some(entry)
    }

    /// The innermost declaration of a name, for [`Scopes::entry`].
    pub(super) fn head(&self, space: Space, sym: Symbol) -> u32 {
        self.heads.get(space, sym)
    }

    /// A declaration; its `hidden` is the next one outward of the same name.
    pub(super) fn entry(&self, index: u32) -> Option<Entry> {
        self.entries.get(index as usize).copied()
    }

    /// All declarations, outermost first.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }
}
