//! Nested scopes as one table and one log.
//!
//! Every declaration is an entry that remembers the entry it hides; leaving a scope pops entries
//! and restores what they hid. Entering and leaving cost what was declared, never what is visible.

use super::{ImportId, ItemId};
use crate::hir::{LocalId, ModuleId};
use ein_base::{Span, Symbol};
use rustc_hash::FxHashMap;

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

/// All declarations that are in scope.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    heads: FxHashMap<(Space, Symbol), u32>,
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
        let hidden = self.heads.insert((space, sym), index).unwrap_or(NONE);
        self.entries.push(Entry { space, sym, bound, frame, warn, hidden });
    }

    /// Makes room for so many more declarations.
    pub(super) fn reserve(&mut self, more: usize) {
        self.heads.reserve(more);
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
        if entry.hidden == NONE {
            self.heads.remove(&(entry.space, entry.sym));
        } else {
            self.heads.insert((entry.space, entry.sym), entry.hidden);
        }
        Some(entry)
    }

    /// The innermost declaration of a name, for [`Scopes::entry`].
    pub(super) fn head(&self, space: Space, sym: Symbol) -> u32 {
        self.heads.get(&(space, sym)).copied().unwrap_or(NONE)
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
