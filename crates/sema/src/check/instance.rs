//! Instances of functions: one per element types, ranks, packs and layouts, never per extent.

use super::state::Infer;
use crate::hir::{DefId, ExprId, LocalId};
use ein_base::Symbol;
use ein_ir::tensor::{FuncId, Type, VarId};
use rustc_hash::FxHashMap;

/// How many instances one function may have.
pub(super) const LIMIT: usize = 256;

/// How many instances of one function may be inside of each other.
pub(super) const DEEP: usize = 32;

/// How many parts the types of one instance may have together.
pub(super) const PARTS: usize = 4096;

/// All instances, and those still being checked.
#[derive(Default)]
pub(super) struct Instances {
    pub table: FxHashMap<Key, usize>,
    pub items: Vec<Instance>,
    pub counts: FxHashMap<Source, usize>,
}

impl Infer<'_> {
    /// The function being checked, where a call met it or one around it before its result was known.
    pub(super) fn open_function(&self) -> Option<DefId> {
        let items = &self.instances.items;
        let open = |at: &usize| items[*at].called_itself && items[*at].ret.is_none();
        let last = self.filling.last().filter(|_| self.filling.iter().any(open))?;
        match items[*last].of {
            Source::Def(def) => Some(def),
            Source::Closure(_) | Source::Rule(_) | Source::Adapter(_) => None,
        }
    }
}

impl Infer<'_> {
    /// Notes that the bodies being checked take the result of an instance for what it is now. Says
    /// whether that still is what it was taken for when the instance was checked.
    pub(super) fn take_result(&mut self, at: usize) -> bool {
        let items = &self.instances.items;
        let around = self.filling.iter().position(|filling| *filling == at);
        let from = match around {
            Some(_) if items[at].declared => None,
            Some(around) => Some(around),
            None if !items[at].holds(items) => return false,
            None => {
                let rests = |it: &usize| items[at].rests.iter().any(|(on, _)| on == it);
                self.filling.iter().position(rests)
            }
        };
        let Some(from) = from else { return true };
        for inner in from + 1..self.filling.len() {
            for around in from..inner {
                let on = self.filling[around];
                let on = (on, self.instances.items[on].round);
                let rests = &mut self.instances.items[self.filling[inner]].rests;
                if !rests.contains(&on) {
                    rests.push(on);
                }
            }
        }
        true
    }
}

impl Instance {
    /// One that is to be checked.
    pub(super) fn new(of: Source, func: FuncId, round: u32) -> Instance {
        Instance {
            of,
            func,
            ret: None,
            over: None,
            params: Vec::new(),
            captures: Vec::new(),
            sizes: Vec::new(),
            assumed: Vec::new(),
            called_itself: false,
            declared: false,
            round,
            rests: Vec::new(),
            broken: None,
            recursive: false,
            done: false,
        }
    }

    /// Whether the results that it took for something still are that.
    pub(super) fn holds(&self, items: &[Instance]) -> bool {
        self.rests.iter().all(|(on, round)| items[*on].round == *round)
    }
}

/// What is instantiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Source {
    /// A function.
    Def(DefId),
    /// A closure.
    Closure(ExprId),
    /// The tangent rule of a function.
    Rule(DefId),
    /// A function value adapted to a signature: the number of its template.
    Adapter(u32),
}

/// What one instance is for; sizes are erased.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub source: Source,
    pub captures: Vec<Type>,
    pub params: Vec<Option<Type>>,
    pub packs: Vec<usize>,
    pub types: Vec<Type>,
}

impl Key {
    /// The key of what takes arguments of these types and nothing else.
    pub(super) fn new(source: Source, captures: &[Type], params: &[Type]) -> Key {
        let erase = super::function::erase;
        Key {
            source,
            captures: captures.iter().cloned().map(erase).collect(),
            params: params.iter().cloned().map(|ty| Some(erase(ty))).collect(),
            packs: Vec::new(),
            types: Vec::new(),
        }
    }

    /// All of its types, as one.
    pub(super) fn whole(&self) -> Type {
        let types = self.captures.iter().chain(self.params.iter().flatten()).chain(&self.types);
        Type::Tuple(types.cloned().collect())
    }
}

/// One instance.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    /// What was instantiated.
    pub of: Source,
    pub func: FuncId,
    /// The type of the result over the instance's own variables; `None` while that is not known.
    pub ret: Option<Type>,
    /// While its body is checked again: the variables of the frame in which `ret` was found.
    pub over: Option<Over>,
    pub params: Vec<VarId>,
    pub captures: Vec<VarId>,
    /// What the hidden size parameters stand for, in order.
    pub sizes: Vec<SizeKey>,
    /// Sizes that it compares at run time, over its own variables: a call that is known to break
    /// one is refused.
    pub assumed: Vec<ein_ir::tensor::Require>,
    /// Whether it called itself before its result was known.
    pub called_itself: bool,
    /// Whether its result is declared.
    pub declared: bool,
    /// How often something else was taken for its result.
    pub round: u32,
    /// The instances around it whose results it took for something, and in which round of theirs.
    pub rests: Vec<(usize, u32)>,
    /// What is wrong with a call of it, where it is a function of the library.
    pub broken: Option<Box<ein_base::Diagnostic>>,
    /// Whether it was asked for while its own body was being checked.
    pub recursive: bool,
    pub done: bool,
}

/// The variables of a frame: what it captured and its parameters, and its sizes.
#[derive(Clone, Debug)]
pub(super) struct Over {
    pub values: Vec<ein_ir::tensor::VarId>,
    pub sizes: Vec<ein_ir::tensor::VarId>,
}

/// A size that a signature leaves to its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SizeKey {
    /// `?n`
    Name(LocalId),
    /// The extent of a coordinate that the signature does not state.
    Coord(Symbol),
    /// An axis of a pack.
    Pack(LocalId, usize),
}
