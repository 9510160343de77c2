//! Packs: how many axes `..b` stands for, and the index variables it becomes.
//!
//! A pack is solved from a use that fixes its length: a read `x[..b, i]` of an array whose rank is
//! known. Packs of a signature have their length from the instance; closures and nested functions find
//! those of the bodies around in the axes of what they capture.

use super::state::{Index, Report};
use super::{Binding, Cx, Declared, IndexId, data, error, fields, function, vars};
use crate::hir::{ExprId, ExprKind as H, LocalId, Slot};
use ein_base::{Code, Name, Span, Symbol};
use ein_ir::tensor::{Axis, Expr, Type};
use rustc_hash::FxHashMap;

/// A read with packs among its indices.
struct PackRead {
    /// The rank of what is read.
    rank: usize,
    /// How many of the indices are single.
    fixed: usize,
    packs: Vec<LocalId>,
    span: Span,
}

impl PackRead {
    fn new(rank: usize, slots: &[Slot], span: Span) -> Self {
        let packs: Vec<LocalId> = slots
            .iter()
            .filter_map(|slot| match slot {
                Slot::Pack(local, _) => Some(*local),
                Slot::Expr(_) | Slot::Stepped(..) => None,
            })
            .collect();
        PackRead { rank, fixed: slots.len() - packs.len(), packs, span }
    }
}

impl Index<'_> {
    /// The index variables of a pack in scope. A pack that nothing bound is free: it is closed over
    /// like a free coordinate.
    pub(super) fn pack_members(&mut self, local: LocalId) -> Vec<IndexId> {
        if let Some(members) = self.f.packs.get(&local) {
            return members.clone();
        }
        let name = self.hir.locals[local].name;
        let count = match self.pack_axes(local) {
            Some(axes) => axes.len(),
            None => match self.f.pack_lengths.get(&local) {
                Some(count) => *count,
                None => return Vec::new(),
            },
        };
        let members = self.new_members(local, name, count);
        if let Some(Some(open)) = self.f.opens.last_mut() {
            open.extend(members.iter().copied());
        }
        self.f.packs.insert(local, members.clone());
        members
    }
}

/// Whether a pack may be read here: inside of a definition only what its left side, or a
/// reduction, binds.
pub(super) fn pack_is_bound(ix: &Index, report: &mut Report, local: LocalId, span: Span) -> bool {
    if ix.f.packs.contains_key(&local) || !matches!(ix.f.opens.last(), Some(None)) {
        return true;
    }
    let name = vars::local_name(ix.hir, local);
    let message = format!("pack `..{name}` is free here: nothing on the left binds it");
    let d = error(Code::E0313, span, message)
        .here("not bound by the definition or by a reduction")
        .help(format!(
            "add it on the left: `let …[…, ..{name}] = …`, or reduce over it: `sum[..{name}](…)`"
        ));
    report.report_at(d);
    false
}

impl Index<'_> {
    fn new_members(&mut self, local: LocalId, name: Name, count: usize) -> Vec<IndexId> {
        let axes = self.pack_axes(local).cloned();
        (0..count)
            .map(|position| {
                let coord = axes.as_ref().and_then(|axes| axes.get(position)?.coord);
                // What a signature names is held to its name, as a coordinate is.
                let (sym, declared) = match coord {
                    Some(coord) if coord.contract => (coord.name, Declared::Name),
                    Some(coord) => (coord.name, Declared::Any),
                    None => (function::pack_coord(name, position), Declared::Any),
                };
                self.new_index(Name { sym, span: name.span }, declared)
            })
            .collect()
    }
}

/// Finds the lengths of packs that a definition or reduction introduces, and makes their index
/// variables.
pub(super) fn solve_packs(
    cx: &mut Cx,
    packs: impl Iterator<Item = (LocalId, Name)>,
    bodies: &[ExprId],
) {
    let open: Vec<(LocalId, Name)> =
        packs.filter(|(local, _)| !cx.ix.f.signature_packs.contains_key(local)).collect();
    if open.is_empty() {
        return;
    }
    let mut uses = Vec::new();
    bodies.iter().for_each(|body| pack_uses(cx, *body, &mut uses));
    let mut lengths: FxHashMap<LocalId, usize> = FxHashMap::default();
    for (local, _) in &open {
        // `..left` on the left of a definition is the signature's `..left` again.
        if let Some(axes) = cx.ix.pack_axes(*local) {
            lengths.insert(*local, axes.len());
        }
    }
    loop {
        let before = lengths.len();
        for read in &uses {
            lengths.extend(cx.ix.last_unknown(read, &lengths));
        }
        if lengths.len() == before {
            break;
        }
    }
    let unsolved: Vec<&(LocalId, Name)> =
        open.iter().filter(|(local, _)| !lengths.contains_key(local)).collect();
    if let [first, rest @ ..] = unsolved.as_slice() {
        let read = uses.iter().find(|read| read.packs.contains(&first.0));
        cx.report.ambiguous_packs(first.1, rest.iter().map(|pack| pack.1).collect(), read);
    }
    for (local, name) in open {
        let count = lengths.get(&local).copied().unwrap_or(0);
        let members = cx.ix.new_members(local, name, count);
        cx.ix.f.packs.insert(local, members);
    }
}

/// The lengths of packs that are free in an expression.
pub(super) fn solve_free_packs(cx: &mut Cx, body: ExprId) {
    let mut uses = Vec::new();
    pack_uses(cx, body, &mut uses);
    for read in uses {
        let solved = cx.ix.last_unknown(&read, &cx.ix.f.pack_lengths);
        cx.ix.f.pack_lengths.extend(solved);
    }
}

impl Index<'_> {
    /// The length of a free pack that is read here for the first time, of an array that was not
    /// known when the expression began.
    pub(super) fn solve_pack_read(&mut self, base: &Expr, slots: &[Slot], span: Span) {
        let read = PackRead::new(base.ty.rank(), slots, span);
        let solved = self.last_unknown(&read, &self.f.pack_lengths);
        self.f.pack_lengths.extend(solved);
    }

    /// The pack of a read whose length follows from those of its other packs.
    fn last_unknown(
        &self,
        read: &PackRead,
        lengths: &FxHashMap<LocalId, usize>,
    ) -> Option<(LocalId, usize)> {
        let mut rest = read.rank.saturating_sub(read.fixed);
        let mut unknown = Vec::new();
        for pack in &read.packs {
            match self.pack_length(*pack, lengths) {
                Some(length) => rest = rest.saturating_sub(length),
                None => unknown.push(*pack),
            }
        }
        match unknown.as_slice() {
            [pack] => Some((*pack, rest)),
            [pack, ..] if rest == 0 => Some((*pack, 0)),
            _ => None,
        }
    }

    fn pack_length(&self, pack: LocalId, solved: &FxHashMap<LocalId, usize>) -> Option<usize> {
        solved
            .get(&pack)
            .copied()
            .or_else(|| self.f.packs.get(&pack).map(Vec::len))
            .or_else(|| self.pack_axes(pack).map(Vec::len))
    }

    /// The axes of the pack of this name, of the signature or of the bodies around.
    pub(super) fn pack_axes(&self, local: LocalId) -> Option<&Vec<Axis>> {
        let name = vars::local_name(self.hir, local);
        let packs = &self.f.signature_packs;
        let same = || packs.iter().find(|(other, _)| vars::local_name(self.hir, **other) == name);
        packs
            .get(&local)
            .or_else(|| same().map(|(_, axes)| axes))
            .or_else(|| self.f.captured_packs.get(&name))
    }

    /// Remembers the axes of a value that belong to packs of the bodies around.
    pub(super) fn capture_packs(&mut self, ty: &Type) {
        let mut packs: FxHashMap<Symbol, Vec<Axis>> = FxHashMap::default();
        for axis in ty.axes() {
            if let Some(pack) = axis.coord.and_then(|coord| function::pack_of(coord.name)) {
                packs.entry(pack).or_default().push(axis.clone());
            }
        }
        for (pack, axes) in packs {
            self.f.captured_packs.entry(pack).or_insert(axes);
        }
    }
}

impl Report {
    fn ambiguous_packs(&mut self, first: Name, rest: Vec<Name>, read: Option<&PackRead>) {
        let mut d = match rest.first() {
            Some(second) => error(
                Code::E0406,
                first.span,
                format!("nothing says where `..{first}` ends and `..{second}` begins"),
            ),
            None => error(
                Code::E0406,
                first.span,
                format!("nothing says how many axes `..{first}` stands for"),
            ),
        }
        .here("could be any number of axes");
        for other in rest {
            d = d.label(other.span, format!("`..{other}` takes the rest"));
        }
        if let Some(read) = read {
            let axes = super::index::axes_word(read.rank);
            d = d.label(read.span, format!("{} {axes} to share out", read.rank));
        }
        d = d.help(format!(
            "use one pack, or read an array that has only `..{first}` and named axes"
        ));
        self.report_at(d);
    }
}

/// The reads with packs in an expression.
fn pack_uses(cx: &mut Cx, id: ExprId, found: &mut Vec<PackRead>) {
    let hir = cx.hir;
    let node = &hir.exprs[id];
    if let H::Index { base, slots } = &node.kind {
        let packs = slots.iter().any(|slot| matches!(slot, Slot::Pack(..)));
        // The rank of an expression that needs no checking to know.
        let known = if packs { known_type(cx, *base) } else { None };
        if let Some(ty @ (Type::Array(_) | Type::Scalar(_))) = known {
            found.push(PackRead::new(ty.rank(), slots, node.span));
        }
    }
    crate::visit::each_child(hir, id, &mut |child| pack_uses(cx, child, found));
}

/// The type of a variable, or of a field of one.
fn known_type(cx: &mut Cx, id: ExprId) -> Option<Type> {
    let hir = cx.hir;
    match &hir.exprs[id].kind {
        H::Local(local) => {
            let var = match cx.ix.f.env.get(local) {
                Some(Binding::Var(var)) => *var,
                Some(Binding::Index(_)) => return None,
                None => *cx.ix.globals.get(local)?,
            };
            Some(cx.ix.vars[var].ty.clone())
        }
        H::Field(base, name) => {
            let Type::Data(data, args) = known_type(cx, *base)? else { return None };
            let def = cx.infer.data_def(data)?;
            let position = data::declared(cx.hir, def, 0)?.position(name.sym)?;
            let mut types = fields::types_of_fields(cx, data, def, &args);
            (position < types.len()).then(|| types.swap_remove(position))
        }
        H::TupleField(base, position, _) => match known_type(cx, *base)? {
            Type::Tuple(types) => types.get(*position as usize).cloned(),
            _ => None,
        },
        _ => None,
    }
}
