//! Why a recurrence has no order.

use super::SelfRead;
use super::order::find_order;
use crate::check::paths::Path;
use crate::check::state::{Build, Index};
use crate::check::{error, paths};
use ein_base::{Code, Diagnostic, Span, Symbol};
use ein_ir::size::{self, Atom, Truth};
use ein_ir::tensor::{ClauseSlot, Expr, RecurrenceAxis, Tensor};

/// Why no order serves all reads.
pub(super) fn no_order(
    ix: &Index,
    tensor: &Tensor,
    name: Symbol,
    reads: &[SelfRead],
    rank: usize,
) -> Diagnostic {
    let Some(read) = reads.iter().find(|read| find_order(&[*read], rank).is_none()) else {
        return two_directions(ix, tensor, name, reads, rank);
    };
    let point = show_point(ix, tensor, name, read.clause);
    if read.text == name.as_str() {
        return error(
            Code::E0601,
            read.span,
            format!("`{name}` is read as a whole while it is being defined"),
        )
        .here(format!("needs every point of `{name}`, also `{point}` itself"))
        .label(point_span(ix, tensor, read.clause), format!("defines `{point}`"))
        .help(format!("read single points that are computed earlier: `{name}[…]`"));
    }
    let text = &read.text;
    if !read.unknown.is_empty() {
        return data_dependent(ix, tensor, name, read, &point);
    }
    let mut same = read.facts.clone();
    read.distance.iter().for_each(|distance| same.eq0(distance.clone()));
    let itself = size::is_empty(&same);
    if itself.is_proved() {
        return error(
            Code::E0602,
            read.span,
            format!("`{point}` reads `{text}`, which may lie on either side of it"),
        )
        .here("not always earlier, and not always later")
        .label(point_span(ix, tensor, read.clause), format!("defines `{point}`"))
        .help("read at a fixed distance, or only where a condition makes it earlier: `if …`");
    }
    let always = read.distance.iter().all(|distance| distance.as_constant() == Some(0));
    let d = if always {
        error(Code::E0601, read.span, format!("`{point}` is defined by reading `{point}` itself"))
            .here("the point being defined")
    } else {
        let place = match &itself {
            Truth::Refuted(witness) => show_witness(ix, witness, read),
            Truth::Proved | Truth::Unknown => String::new(),
        };
        error(
            Code::E0601,
            read.span,
            format!("`{point}` reads `{text}`, which reaches `{point}` itself{place}"),
        )
        .here("not always an earlier point")
    };
    let help = match only_loop(ix, tensor, read.clause) {
        Some(index) => format!(
            "read an earlier point (`{index} - 1`), and end sums over earlier points before it: `k in 0..{index}`"
        ),
        None => "read a point that is computed earlier".into(),
    };
    d.label(point_span(ix, tensor, read.clause), format!("defines `{point}`"))
        .note(format!("the cycle: `{point}` needs `{point}`"))
        .help(help)
}

fn data_dependent(
    ix: &Index,
    tensor: &Tensor,
    name: Symbol,
    read: &SelfRead,
    point: &str,
) -> Diagnostic {
    let text = &read.text;
    // The first axis on which the data decides.
    let axis = read
        .distance
        .iter()
        .position(|distance| distance.as_constant().is_none_or(|distance| distance != 0))
        .unwrap_or(0);
    let what = read.at.get(axis).map_or_else(|| "…".to_string(), |at| ix.show_size(at));
    let slots = &tensor.clauses[read.clause].slots;
    let own = match slots.get(axis) {
        Some(ClauseSlot::Loop(binder)) => ix.vars[binder.var].name.to_string(),
        Some(ClauseSlot::Point(at)) => at.to_string(),
        None => "…".into(),
    };
    let mut names: Vec<String> = Vec::new();
    for known in &read.unknown {
        let known = format!("`{known}`");
        if !names.contains(&known) {
            names.push(known);
        }
    }
    error(
        Code::E0604,
        read.span,
        format!(
            "`{point}` reads `{text}`, a point of `{name}` that depends on the values of {}",
            names.join(" and ")
        ),
    )
    .here(format!("nothing says that `{what}` is earlier"))
    .label(point_span(ix, tensor, read.clause), format!("defines `{point}`"))
    .note(format!("`{text}` may be `{point}` itself, or a point that needs it"))
    .help(format!(
        "read it only where it is earlier: `if {what} < {own} {{ {text} }} else {{ … }}`"
    ))
}

/// Each read alone is fine, but not all of them.
fn two_directions(
    ix: &Index,
    tensor: &Tensor,
    name: Symbol,
    reads: &[SelfRead],
    rank: usize,
) -> Diagnostic {
    let mut pair = (&reads[0], &reads[reads.len() - 1]);
    'search: for (at, second) in reads.iter().enumerate() {
        for first in &reads[..at] {
            if find_order(&[first, second], rank).is_none() {
                pair = (first, second);
                break 'search;
            }
        }
    }
    let (first, second) = pair;
    let point = show_point(ix, tensor, name, second.clause);
    let other = show_point(ix, tensor, name, first.clause);
    error(
            Code::E0603,
            second.span,
            format!(
                "`{name}` is read in two directions: `{other}` reads `{}`, and `{point}` reads `{}`",
                first.text, second.text
            ),
        )
        .here("no order that computes this first …")
        .label(first.span, "… also computes this first")
        .label(point_span(ix, tensor, second.clause), format!("defines `{point}`"))
        .note(format!(
            "the cycle: `{point}` needs `{}`, and that point in turn needs `{point}`",
            second.text
        ))
        .help(format!(
            "read only earlier points, or only later ones; to iterate, add a step: `let {name}[step in 1..N, …] = … {name}[step - 1, …] …`"
        ))
}

/// A recurrence that runs backward needs a base at the far end.
pub(super) fn missing_base(
    ix: &Index,
    tensor: &Tensor,
    name: Symbol,
    reads: &[SelfRead],
    axes: &[RecurrenceAxis],
) -> Option<Diagnostic> {
    for read in reads.iter().filter(|read| read.exact) {
        for RecurrenceAxis { axis, .. } in axes.iter().filter(|axis| axis.backward) {
            let Some(Some(extent)) = tensor.shape.get(*axis) else { continue };
            let goal = extent.sub(&read.at[*axis]).offset(-1);
            let mut sizes = read.facts.atoms();
            sizes.extend(goal.atoms());
            sizes.retain(|atom| !ix.index_atoms.contains_key(atom));
            let Some(corner) = size::always_violated(&read.facts, &goal, &sizes) else {
                continue;
            };
            let place = |atom| Some(corner.iter().find(|(own, _)| *own == atom)?.1.clone());
            let at: Vec<_> =
                read.at.iter().map(|at| ix.show_size(&at.substitute(&place))).collect();
            let missing = format!("{name}[{}]", at.join(", "));
            let point = show_point(ix, tensor, name, read.clause);
            return Some(
                    error(
                        Code::E0602,
                        read.span,
                        format!(
                            "`{point}` reads the later point `{}`, and no clause defines `{missing}` to start from",
                            read.text
                        ),
                    )
                    .here(format!("reaches `{missing}`"))
                    .label(point_span(ix, tensor, read.clause), format!("defines `{point}`"))
                    .help(format!(
                        "read an earlier point, or add a base clause at the far end: `let {missing} = …;`"
                    )),
                );
        }
    }
    None
}

// ---------------------------------------------------------------- text

/// The point that a clause defines, as text.
pub(in crate::check) fn show_point(
    ix: &Index,
    tensor: &Tensor,
    name: Symbol,
    clause: usize,
) -> String {
    let slots: Vec<String> = tensor.clauses[clause]
        .slots
        .iter()
        .map(|slot| match slot {
            ClauseSlot::Point(at) => at.to_string(),
            ClauseSlot::Loop(binder) => ix.vars[binder.var].name.to_string(),
        })
        .collect();
    format!("{name}[{}]", slots.join(", "))
}

/// Where the point that a clause defines is written.
fn point_span(ix: &Index, tensor: &Tensor, clause: usize) -> Span {
    let clause = &tensor.clauses[clause];
    let named = clause.slots.iter().find_map(|slot| match slot {
        ClauseSlot::Loop(binder) => Some(ix.vars[binder.var].span),
        ClauseSlot::Point(_) => None,
    });
    named.unwrap_or(clause.span)
}

/// The index variable of a clause with one loop.
fn only_loop(ix: &Index, tensor: &Tensor, clause: usize) -> Option<Symbol> {
    let mut loops = tensor.clauses[clause].slots.iter().filter_map(|slot| match slot {
        ClauseSlot::Loop(binder) => Some(ix.vars[binder.var].name),
        ClauseSlot::Point(_) => None,
    });
    let first = loops.next()?;
    loops.next().is_none().then_some(first)
}

/// `` (at `k = 3`)`` for the index variables of a read.
fn show_witness(ix: &Index, witness: &[(Atom, i64)], read: &SelfRead) -> String {
    let shown: Vec<String> = witness
        .iter()
        .filter(|(atom, _)| {
            ix.index_atoms.contains_key(atom)
                && read.distance.iter().any(|distance| distance.mentions(*atom))
        })
        .map(|(atom, value)| format!("{} = {value}", ix.atoms[*atom].name))
        .collect();
    if shown.is_empty() { String::new() } else { format!(" (at {})", shown.join(", ")) }
}

/// An index in the words of the source.
pub(in crate::check) fn show_index(
    ix: &mut Index,
    build: &Build,
    e: &Expr,
    path: &mut Path,
) -> String {
    let size = paths::size_on(ix, build, e, path);
    ix.show_size(&size)
}
