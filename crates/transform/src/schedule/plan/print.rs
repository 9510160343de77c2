//! Plans as text: a line for each decision, with its reason behind a colon, and what is inside of it
//! indented under it.

use super::{
    Change, Decision, Form, How, Member, Name, Placed, Plan, Product, Reduced, Stepped, Turns,
    What, Where, Why,
};
use crate::schedule::Keeps;
use std::fmt;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.decisions.iter().try_for_each(|decision| line(f, decision, 0))
    }
}

fn line(f: &mut fmt::Formatter<'_>, decision: &Decision, depth: usize) -> fmt::Result {
    write!(f, "{:indent$}{}", "", decision.what, indent = 2 * depth)?;
    match decision.why {
        Why::Only => writeln!(f)?,
        ref why => writeln!(f, ": {why}")?,
    }
    decision.inside.iter().try_for_each(|inner| line(f, inner, depth + 1))
}

/// A name, or what stands for none.
fn named(name: Name) -> String {
    name.map_or_else(|| "_".to_owned(), |name| name.to_string())
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Group { members, shared, tile } => {
                match (shared.is_empty(), *tile > 1) {
                    (true, _) => {}
                    (false, true) => write!(f, "fused over {shared:?}, {tile} at a time: ")?,
                    (false, false) => write!(f, "fused over {shared:?}: ")?,
                }
                let member = |(name, kind): &(Name, Member)| format!("{} ({kind})", named(*name));
                let members: Vec<String> = members.iter().map(member).collect();
                f.write_str(&members.join(", "))
            }
            What::Sweep { names, every, steps, keeps } => {
                let names: Vec<String> = names.iter().map(|name| named(*name)).collect();
                let names = names.join(", ");
                match keeps {
                    Keeps::All => write!(
                        f,
                        "{names} (history of {steps} steps stored, read back in segments of {every})"
                    ),
                    Keeps::Checkpoints => write!(
                        f,
                        "{names} (checkpointed every {every} of {steps} steps, recomputed on the way back)"
                    ),
                    Keeps::Segment => {
                        write!(f, "{names} (together, {every} of {steps} steps at a time)")
                    }
                }
            }
            What::WholeHistory => f.write_str("a history is stored whole"),
            What::Place(placed) => placed.fmt(f),
            What::Loop { index, turns, how } => write!(f, "loop {index} of {turns}, {how}"),
            What::Nest(name, form) => write!(f, "nest of {}, {form}", named(*name)),
            What::Change(change) => change.fmt(f),
            What::Shares { buffer, with } => write!(f, "{buffer} takes the memory of {with}"),
            What::Reduction { count: 1, how } => write!(f, "reduction, {how}"),
            What::Reduction { count, how } => write!(f, "{count} reductions, {how}"),
            What::Product(product) => product.fmt(f),
            What::Steps { of, range: (lo, hi), how } => {
                write!(f, "steps {lo}..{hi} of {}, {how}", named(*of))
            }
        }
    }
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Member::Loops => "loops",
            Member::Contraction => "contraction",
            Member::Ordered => "ordered",
            Member::OrderedUntil => "ordered, until a condition holds",
            Member::InPlace => "in place",
            Member::Again => "step by step until a condition holds",
        })
    }
}

impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, shape) = (named(self.name), &self.shape);
        match &self.place {
            Where::Input => write!(f, "{name}{shape:?} is an input"),
            Where::Output => write!(f, "{name}{shape:?} is a result"),
            Where::Whole => write!(f, "{name}{shape:?} is stored"),
            Where::Ring { axis, steps, room } => {
                write!(f, "{name}{shape:?} is a ring of {steps} along axis {axis}, {room:?}")
            }
            Where::Tile(room) => write!(f, "{name}{shape:?} is kept as {room:?}"),
            Where::Register => write!(f, "{name}{shape:?} is kept in a register"),
            Where::Sample { every: 1 } => write!(f, "{name}{shape:?} are some cells of its steps"),
            Where::Sample { every } => write!(f, "{name}{shape:?} is one of {every} steps"),
            Where::Turned(axis) => write!(f, "{name}{shape:?} is a copy with axis {axis} last"),
        }?;
        match self.parts.is_empty() {
            true => Ok(()),
            false => write!(f, ", its parts {:?} one after another", self.parts),
        }
    }
}

impl fmt::Display for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Turns::Exactly(turns) => write!(f, "{turns}"),
            Turns::About(turns) => write!(f, "about {turns}"),
        }
    }
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            How::Serial => f.write_str("in turn"),
            How::Vector => f.write_str("in vectors"),
            How::Parallel { grain: 1 } => f.write_str("by threads"),
            How::Parallel { grain } => write!(f, "by threads, {grain} turns at a time"),
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Form::Point => f.write_str("at one point"),
            Form::Around(loops) => write!(f, "in {loops} loops around the others"),
            Form::Plain => f.write_str("cell by cell"),
            Form::Rows(cells) => write!(f, "with a row of {cells} accumulators"),
            Form::ThenRow(cells) => write!(f, "with a row of {cells} reductions before its cells"),
            Form::AfterRows(cells) => {
                write!(f, "after rows of {cells} reductions that its own read")
            }
            Form::Jammed(cells) => write!(f, "{cells} neighbours at a time"),
            Form::OneByOne => f.write_str("one cell after another"),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Chosen(1) => f.write_str("a choice before the loops"),
            Change::Chosen(count) => write!(f, "{count} choices before the loops"),
            Change::WrittenOut(ix, count) => write!(f, "{ix} written out {count} times"),
            Change::Merged(loops) => write!(f, "the last {loops} loops as one"),
            Change::Moved(ix) => write!(f, "{ix} as the last loop"),
            Change::Pieces(count) => write!(f, "{count} pieces between edges"),
            Change::Crossed(ix, [along, across]) => {
                write!(f, "tiles of {along} along {ix} by {across}")
            }
            Change::Columns(count) => write!(f, "{count} values in rows before the loops"),
            Change::Reciprocals(count) => write!(f, "{count} reciprocals instead of divisors"),
            Change::Together(rows) => write!(f, "{rows} rows at a time"),
        }
    }
}

impl fmt::Display for Reduced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reduced::Parts(parts) => write!(f, "in {parts} parts by threads"),
            Reduced::InTurn => f.write_str("until a term decides"),
            Reduced::Lanes => f.write_str("in lanes"),
            Reduced::Blocks { terms, streams } => {
                write!(f, "in lanes, blocks of {terms} terms in {streams} streams")
            }
            Reduced::Serial => f.write_str("term by term"),
            Reduced::WrittenOut(terms) => write!(f, "{terms} terms written out"),
        }
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Product { size: [m, n, k], loops, copied, parallel } = self;
        write!(f, "product of {m} by {k} and {k} by {n}")?;
        if *loops > 0 {
            write!(f, " in {loops} loops")?;
        }
        for (copied, what) in copied.iter().zip(["left", "right", "result"]) {
            if *copied {
                write!(f, ", {what} copied")?;
            }
        }
        if *parallel { f.write_str(", by threads") } else { Ok(()) }
    }
}

impl fmt::Display for Stepped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stepped::InOrder => f.write_str("one after another"),
            Stepped::State(cells) => write!(f, "written out with {cells} cells in variables"),
            Stepped::Carried => f.write_str("with the last cell in a variable"),
            Stepped::TwoPasses(cells) => {
                write!(f, "in two passes over {cells} cells, the first in vectors")
            }
            Stepped::Wavefront(tile) => {
                write!(f, "along diagonals of tiles of {tile} by {tile}, by threads")
            }
            Stepped::Skewed { rows, steps } => {
                write!(f, "in blocks of {steps} steps over {rows} moving rows, by threads")
            }
        }
    }
}
