//! What each pass of a sweep computes, and how many rows of it.
//!
//! A member that is no recurrence is computed with as many rows beside those of the segment as its
//! readers look at. The rows beside a recurrence are kept from the segment before or after.

use super::find::{FARTHEST, Found, Member, Reader, Role, Why};
use std::collections::{BTreeMap, BTreeSet};

/// Rows beside those of a segment that are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Halo {
    pub before: i64,
    pub after: i64,
}

impl Halo {
    fn widen(&mut self, of_reader: Halo, offset: i64) {
        self.before = self.before.max(of_reader.before - offset);
        self.after = self.after.max(of_reader.after + offset);
    }
}

/// What is computed in each pass, and how many rows of it.
pub(super) struct Needs {
    /// Recurrences that run forward and what they read.
    pub core: BTreeSet<usize>,
    /// All that the pass forward computes, with the rows.
    pub early: BTreeMap<usize, Halo>,
    /// All that the pass back computes or reads, with the rows.
    pub late: BTreeMap<usize, Halo>,
}

impl Needs {
    /// Follows all reads of members.
    pub(super) fn of(found: &Found) -> Result<Needs, Why> {
        let members = || found.members.iter().enumerate();
        let forward = members().filter(|(_, member)| member.role == Role::Forward);
        let core = closure(found, forward.map(|(at, _)| at).collect(), true);
        let sums = |late: bool| {
            let reads = found.reads.iter();
            reads.filter(move |read| match read.reader {
                Reader::Sum(sum) => found.sums[sum].late == late,
                Reader::Member(_) => false,
            })
        };
        let mut first = core.clone();
        first.extend(sums(false).map(|read| read.member));
        let needed = |member: &Member| (member.wanted || member.traps) && !member.late;
        first.extend(members().filter(|(_, member)| needed(member)).map(|(at, _)| at));
        first.extend(found.singles.iter().map(|(at, _)| *at).filter(|at| !found.members[*at].late));
        let mut second: BTreeSet<usize> =
            members().filter(|(_, member)| member.late).map(|(at, _)| at).collect();
        second.extend(sums(true).map(|read| read.member));
        let early = rows(found, &closure(found, first, true), false);
        let late = rows(found, &closure(found, second, false), true);
        let needs = Needs { core, early, late };
        needs.check(found)?;
        Ok(needs)
    }

    fn check(&self, found: &Found) -> Result<(), Why> {
        for (at, member) in found.members.iter().enumerate() {
            let (early, late) = (self.early.get(&at), self.late.get(&at));
            let halos = || early.into_iter().chain(late);
            if halos().any(|halo| halo.before.max(halo.after) > FARTHEST) {
                return Err("its steps are read too far away");
            }
            let wrong = match member.role {
                Role::Forward => early.is_some_and(|halo| halo.after > 0),
                Role::Backward => late.is_some_and(|halo| halo.before > 0),
                Role::Plain => member.wanted && halos().any(|halo| *halo != Halo::default()),
            };
            if wrong {
                return Err("its steps are read before they are there");
            }
        }
        Ok(())
    }

    /// The rows that the window of a recurrence has beside those of a segment.
    pub(super) fn window(&self, member: usize) -> Halo {
        let early = self.early.get(&member).copied().unwrap_or_default();
        let late = self.late.get(&member).copied().unwrap_or_default();
        Halo { before: early.before.max(late.before), after: late.after }
    }
}

/// These members and all that they read; what recurrences that run forward read only if `through`.
fn closure(found: &Found, start: BTreeSet<usize>, through: bool) -> BTreeSet<usize> {
    let mut all = start;
    loop {
        let more: Vec<usize> = found
            .reads
            .iter()
            .filter(|read| match read.reader {
                Reader::Member(reader) => {
                    let ends = found.members[reader].role == Role::Forward && !through;
                    all.contains(&reader) && !ends
                }
                Reader::Sum(_) => false,
            })
            .map(|read| read.member)
            .filter(|member| !all.contains(member))
            .collect();
        if more.is_empty() {
            return all;
        }
        all.extend(more);
    }
}

/// The rows of members that a pass looks at, beside those of the segment.
fn rows(found: &Found, active: &BTreeSet<usize>, late: bool) -> BTreeMap<usize, Halo> {
    let mut halos: BTreeMap<usize, Halo> = active.iter().map(|at| (*at, Halo::default())).collect();
    for read in &found.reads {
        if let Reader::Sum(sum) = read.reader
            && found.sums[sum].late == late
            && let Some(halo) = halos.get_mut(&read.member)
        {
            halo.widen(Halo::default(), read.offset);
        }
    }
    // Readers come after what they read.
    for at in active.iter().rev() {
        let plain = found.members[*at].role == Role::Plain;
        let own = if plain { halos[at] } else { Halo::default() };
        let reads = found.reads.iter().filter(|read| read.reader == Reader::Member(*at));
        for read in reads {
            if let Some(halo) = halos.get_mut(&read.member) {
                halo.widen(own, read.offset);
            }
        }
    }
    halos
}
