//! Coordinates are held to their names (checking.md, section 2). At a contract axis the index is the
//! coordinate's own name, a variable declared over it, a variable with an explicit range, or a
//! computed index that does not come from another axis of the same tensor. At any other axis an
//! index variable renames the axis for this definition.

use super::Part;
use crate::check::state::{Build, Index, Report};
use crate::check::{Declared, Ground, IndexId, error, function, show};
use ein_base::{Code, Diagnostic, Span, Symbol};
use ein_ir::tensor::walk::each_child;
use ein_ir::tensor::{Axis, Coord, Expr, ExprKind, VarId};

impl Index<'_> {
    /// The index variables that a value depends on.
    pub(in crate::check) fn index_deps(&self, e: &Expr) -> Vec<IndexId> {
        let mut found = Vec::new();
        self.collect_deps(e, &mut found);
        found
    }

    /// The index variables that a position is computed from. Those that only choose an element of
    /// a table (`label[b]`) are not among them: what the element says does not come from them.
    fn position_deps(&self, e: &Expr) -> Vec<IndexId> {
        let mut found = Vec::new();
        self.collect_position(e, &mut found);
        found
    }

    fn collect_position(&self, e: &Expr, found: &mut Vec<IndexId>) {
        match &*e.kind {
            ExprKind::Index { .. } => {}
            ExprKind::Var(_) | ExprKind::Size(_) => self.collect_deps(e, found),
            _ => each_child(e, &mut |child| self.collect_position(child, found)),
        }
    }

    fn collect_deps(&self, e: &Expr, found: &mut Vec<IndexId>) {
        let add = |atom, found: &mut Vec<IndexId>| {
            if let Some(index) = self.index_atoms.get(&atom)
                && !found.contains(index)
            {
                found.push(*index);
            }
        };
        match &*e.kind {
            ExprKind::Var(var) => {
                if let Some(size) = self.var_sizes.get(var) {
                    size.atoms().into_iter().for_each(|atom| add(atom, found));
                }
                for index in self.var_deps.get(var).into_iter().flatten() {
                    if !found.contains(index) {
                        found.push(*index);
                    }
                }
            }
            ExprKind::Size(size) => size.atoms().into_iter().for_each(|atom| add(atom, found)),
            _ => each_child(e, &mut |child| self.collect_deps(child, found)),
        }
    }

    /// The index variable that an index is, perhaps shifted by a constant.
    fn shifted_index(&self, value: &Expr) -> Option<IndexId> {
        let size = self.to_size(value)?;
        let atoms = size.atoms();
        let mut indices = atoms.iter().filter_map(|atom| self.index_atoms.get(atom));
        let index = *indices.next()?;
        if indices.next().is_some() {
            return None;
        }
        let (coefficient, rest) = size.affine_in(self.indices[index].atom)?;
        (coefficient == 1 && rest.as_constant().is_some()).then_some(index)
    }

    /// Whether an index variable may stand at a contract axis, by its name or by what it was
    /// declared over.
    fn fits_axis(&self, base: &Expr, position: usize, coord: Coord, index: IndexId) -> bool {
        let info = &self.indices[index];
        let names_another = self.names_another(base, position, coord, index);
        let own = info.name == coord.name || (info.name == coord.root() && !names_another);
        match info.declared {
            Declared::Name => own,
            Declared::Over(over) => {
                (over == coord.name || over == coord.root()) && (!names_another || own)
            }
            Declared::Range => !names_another,
            Declared::Any => true,
        }
    }

    /// The index variable of another axis of the tensor that a position at this one is computed
    /// from, and that axis.
    fn strayed(
        &self,
        base: &Expr,
        at: usize,
        coord: Coord,
        value: &Expr,
    ) -> Option<(IndexId, usize)> {
        self.position_deps(value).into_iter().find_map(|index| {
            let info = &self.indices[index];
            let known = match (info.ground, info.declared) {
                (Some(ground), _) => ground.coord.root(),
                (None, Declared::Over(over)) => over,
                // Also with a range of its own, the name of another axis means that axis.
                (None, Declared::Name | Declared::Range) => info.name,
                (None, Declared::Any) => return None,
            };
            let is = |coord: Coord| known == coord.root() || known == coord.name;
            let named = |axis: &Axis| axis.coord.is_some_and(|coord| coord.contract && is(coord));
            let mut axes = base.ty.axes().iter().enumerate();
            let home = axes.position(|(other, axis)| other != at && named(axis))?;
            (!is(coord) && !info.broken).then_some((index, home))
        })
    }

    /// Whether an index variable has the name of another axis of the tensor that it reads.
    fn names_another(&self, base: &Expr, position: usize, coord: Coord, index: IndexId) -> bool {
        let info = &self.indices[index];
        let name = info.name;
        // Roles that definitions gave to one coordinate may change places, those of types may not.
        let free_role = matches!(info.declared, Declared::Over(over) if over == coord.root())
            && !self.declared_roles.contains(&(coord.name, coord.root()));
        name != coord.name
            && base.ty.axes().iter().enumerate().any(|(other, axis)| {
                let named =
                    |it: Coord| it.name == name && !(free_role && it.root() == coord.root());
                other != position && axis.coord.is_some_and(named)
            })
    }

    /// Says in which order the axes of a tensor are.
    fn with_order(&self, d: Diagnostic, base: &Expr) -> Diagnostic {
        let layout = show::show_coords(base.ty.axes());
        let name = |axis: &Axis| axis.coord.map(|coord| coord.name);
        let mut written: Vec<String> = Vec::new();
        for name in base.ty.axes().iter().map(name) {
            let text = match name.map(|name| (name, function::pack_of(name))) {
                Some((_, Some(pack))) => format!("..{pack}"),
                Some((name, None)) => name.to_string(),
                None => "_".into(),
            };
            if written.last() != Some(&text) || !text.starts_with('.') {
                written.push(text);
            }
        }
        d.note(format!("{} has the coordinates {layout}, in this order", self.quote(base))).help(
            format!(
                "write the indices in the order of the layout: `{}[{}]`",
                self.show_name(base).map_or("x".into(), |n| n.to_string()),
                written.join(", ")
            ),
        )
    }
}

/// Indices that stand at each other's axes, or are computed from each other's, are one mistake: it is told
/// once, and the read goes on in the order of the layout, so that nothing else is wrong because of it.
pub(super) fn unswap(ix: &mut Index, report: &mut Report, base: &Expr, parts: &mut Vec<Part>) {
    let axes = base.ty.axes();
    let mut moved = Vec::new();
    let mut computed = false;
    for (position, part) in parts.iter().enumerate() {
        let Part::Point(value) = part else { continue };
        let Some(coord) = axes.get(position).and_then(|axis| axis.coord) else { continue };
        if !coord.contract {
            continue;
        }
        let wrong = match ix.shifted_index(value) {
            Some(index) if ix.fits_axis(base, position, coord, index) => None,
            Some(index) => {
                let name = ix.indices[index].name;
                let home = axes.iter().position(|axis| axis.coord.is_some_and(|c| c.name == name));
                home.map(|home| (index, home))
            }
            None => ix.strayed(base, position, coord, value),
        };
        if let Some((index, home)) = wrong.filter(|(index, _)| !ix.indices[*index].broken) {
            computed |= ix.shifted_index(value).is_none();
            moved.push((position, home, ix.indices[index].name, coord.name, value.span));
        }
    }
    let goes_home = |(position, ..): &(usize, usize, Symbol, Symbol, Span)| {
        moved.iter().filter(|(_, home, ..)| home == position).count() == 1
    };
    let [(_, _, name, at, span), others @ ..] = moved.as_slice() else { return };
    if others.is_empty() || !moved.iter().all(goes_home) {
        return;
    }
    let tensor = ix.quote(base);
    let of = if computed { "what is computed from " } else { "" };
    let mut message = format!("{of}`{name}` stands at the axis `{at}` of {tensor}");
    let last = others.len() - 1;
    for (i, (_, _, name, at, _)) in others.iter().enumerate() {
        let comma = if i == last { ", and" } else { "," };
        message += &format!("{comma} `{name}` at the axis `{at}`");
    }
    let code = if computed { Code::E0304 } else { Code::E0303 };
    let mut d = error(code, *span, message).here(format!("this axis is `{at}`"));
    for (_, _, _, at, span) in others {
        d = d.label(*span, format!("this axis is `{at}`"));
    }
    let d = match computed {
        true => d
            .note(format!("{tensor} has {}", show::show_coords(axes)))
            .help("swap the indices: each is computed from the axis at which it stands"),
        false => ix.with_order(d, base),
    };
    report.report_at(ix.with_declaration(d, base));
    let mut before: Vec<Option<Part>> = std::mem::take(parts).into_iter().map(Some).collect();
    let mut order: Vec<usize> = (0..before.len()).collect();
    moved.iter().for_each(|(position, home, ..)| order[*home] = *position);
    parts.extend(order.into_iter().filter_map(|from| before[from].take()));
}

/// Rules 1 to 3 at one axis of a read.
pub(in crate::check) fn check_coordinate(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    base: &Expr,
    position: usize,
    value: &Expr,
) {
    let Some(axis) = base.ty.axes().get(position) else { return };
    let Some(coord) = axis.coord else {
        if let Some(index) = ix.shifted_index(value)
            && ix.indices[index].free
        {
            ghost(ix, report, base, position, index, value.span);
        }
        return;
    };
    match ix.shifted_index(value) {
        Some(index) if coord.contract => {
            check_index(ix, report, base, position, coord, index, value.span)
        }
        Some(index) => {
            let info = &ix.indices[index];
            if info.free && info.name != coord.name && !info.broken {
                ghost(ix, report, base, position, index, value.span);
            }
        }
        None if coord.contract => {
            let wrong = check_computed(ix, report, base, position, coord, value);
            // What its variables run along may be known only later.
            let again = (base.clone(), position, coord, value.clone());
            build.f.computed.extend((!wrong).then_some(again));
        }
        None => {}
    }
}

/// An index variable at a contract axis.
fn check_index(
    ix: &mut Index,
    report: &mut Report,
    base: &Expr,
    position: usize,
    coord: Coord,
    index: IndexId,
    span: Span,
) {
    let info = &ix.indices[index];
    if info.broken {
        return;
    }
    if !ix.fits_axis(base, position, coord, index) {
        match info.declared {
            Declared::Over(over) if !ix.names_another(base, position, coord, index) => {
                let ground = Ground {
                    coord: crate::check::types::contract(over, None),
                    tensor: None,
                    span: info.span,
                };
                joined(ix, report, base, coord, index, ground, span);
            }
            _ => ghost(ix, report, base, position, index, span),
        }
        return;
    }
    if let Some(ground) = ix.indices[index].ground
        && ground.coord.root() != coord.root()
        && ground.coord.name != coord.name
    {
        joined(ix, report, base, coord, index, ground, span);
        return;
    }
    if ix.indices[index].ground.is_none() {
        let tensor = ix.show_name(base);
        ix.indices[index].ground = Some(Ground { coord, tensor, span });
    }
}

/// A computed index must not come from another axis of the same tensor, and if its value is
/// known to address a coordinate, it must be this one. Says whether something was wrong.
fn check_computed(
    ix: &mut Index,
    report: &mut Report,
    base: &Expr,
    position: usize,
    coord: Coord,
    value: &Expr,
) -> bool {
    if let Some(address) = ix.address_of(value)
        && address != coord.root()
        && address != coord.name
    {
        let d = error(
            Code::E0305,
            value.span,
            format!(
                "this index addresses `{address}`, but axis {position} of {} is `{}`",
                ix.quote(base),
                coord.name
            ),
        )
        .here(format!("a position along `{address}`"))
        .help(format!("use an index that addresses `{}`", coord.name));
        let d = ix.with_declaration(d, base);
        report.report_at(d);
        return true;
    }
    let Some((index, _)) = ix.strayed(base, position, coord, value) else { return false };
    let name = ix.indices[index].name;
    let message = format!(
        "this index is computed from `{name}`, which is another axis of {}",
        ix.quote(base)
    );
    let d = error(Code::E0304, value.span, message)
        .here(format!("stands at axis `{}`", coord.name))
        .note(format!("{} has {}", ix.quote(base), show::show_coords(base.ty.axes())))
        .help(format!("compute it from `{}`, or swap the indices", coord.name));
    let d = ix.with_declaration(d, base);
    ix.indices[index].broken = true;
    report.report_at(d);
    true
}

/// Checks computed indices again, when the whole body has said which coordinates its index
/// variables run along.
pub(in crate::check) fn check_waiting(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    since: usize,
) {
    let waiting = build.f.computed.split_off(since.min(build.f.computed.len()));
    for (base, position, coord, value) in waiting {
        check_computed(ix, report, &base, position, coord, &value);
    }
}

/// Rule 1: the tensor has no such coordinate here.
fn ghost(
    ix: &mut Index,
    report: &mut Report,
    base: &Expr,
    position: usize,
    index: IndexId,
    span: Span,
) {
    let axes = base.ty.axes();
    let name = ix.indices[index].name;
    let tensor = ix.quote(base);
    let layout = show::show_coords(axes);
    let here = axes.get(position).and_then(|axis| axis.coord);
    let elsewhere = axes.iter().position(|axis| axis.coord.is_some_and(|c| c.name == name));
    let d = match (elsewhere, here) {
        (Some(_), Some(here)) => {
            let message = format!("`{name}` stands at the axis `{}` of {tensor}", here.name);
            let d = error(Code::E0303, span, message).here(format!("this axis is `{}`", here.name));
            ix.with_order(d, base)
        }
        (_, here) => {
            let d = error(Code::E0301, span, format!("{tensor} has no coordinate `{name}`"))
                .here(format!("not a coordinate of {tensor}"));
            match here {
                    Some(here) => d
                        .note(format!("{tensor} has the coordinates {layout}"))
                        .fix(format!("did you mean `{}`?", here.name), span, here.name.as_str()),
                    None => d
                        .note(format!("axis {position} of {tensor} has no name"))
                        .help(format!("declare the axes: `let …: [f32; {name}, …] = …`, or give the index a domain in brackets: `let y[{name}] = …`")),
                }
        }
    };
    let d = ix.with_declaration(d, base);
    ix.indices[index].broken = true;
    report.report_at(d);
}

/// Rule 2: one index over two different coordinates.
fn joined(
    ix: &mut Index,
    report: &mut Report,
    base: &Expr,
    coord: Coord,
    index: IndexId,
    ground: Ground,
    span: Span,
) {
    let name = ix.indices[index].name;
    let (a, b) = (ground.coord.name, coord.name);
    let mut d = error(
        Code::E0307,
        span,
        format!("index `{name}` joins two different coordinates: `{a}` and `{b}`"),
    )
    .here(format!("the axis of {} is `{b}`", ix.quote(base)));
    d = match ground.tensor {
        Some(tensor) => d.label(ground.span, format!("the axis of `{tensor}` is `{a}`")),
        None => d.label(ground.span, format!("declared over `{a}`")),
    };
    d = d.note("their extents may be equal, but they are not the same thing").help(format!(
        "index {} by `{b}`, or rename the coordinate where it is declared",
        ix.quote(base)
    ));
    let d = ix.with_declaration(d, base);
    ix.indices[index].broken = true;
    report.report_at(d);
}

impl Index<'_> {
    /// Points at the declaration of a tensor.
    pub(in crate::check) fn with_declaration(&self, d: Diagnostic, base: &Expr) -> Diagnostic {
        match self.declared_at(base) {
            Some(at) => {
                let layout = show::show_coords(base.ty.axes());
                d.label(at, format!("declared with {layout}"))
            }
            None => d,
        }
    }

    // ---------------------------------------------------------------- addresses

    /// Remembers that the value of a variable addresses a coordinate.
    pub(in crate::check) fn note_address(&mut self, var: VarId, value: &Expr) {
        if let Some(address) = self.address_of(value) {
            self.addresses.insert(var, address);
        }
    }

    /// The coordinate that a value addresses: that of an `argmax`, also element by element.
    fn address_of(&self, e: &Expr) -> Option<Symbol> {
        match &*e.kind {
            ExprKind::Var(var) => self.addresses.get(var).copied(),
            ExprKind::Index { base, .. } => self.address_of(base),
            ExprKind::Block { value, .. } => self.address_of(value),
            ExprKind::Tensor(tensor) => {
                tensor.clauses.first().and_then(|clause| self.address_of(&clause.value))
            }
            ExprKind::Reduce(reduce) => {
                use ein_ir::tensor::ReduceOp;
                let (ReduceOp::Argmax | ReduceOp::Argmin, [binder]) =
                    (reduce.op, reduce.binders.as_slice())
                else {
                    return None;
                };
                let atom = self.var_sizes.get(&binder.var)?.as_atom()?;
                let index = self.index_atoms.get(&atom)?;
                Some(self.indices[*index].ground?.coord.root())
            }
            _ => None,
        }
    }
}
