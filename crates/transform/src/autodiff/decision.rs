//! How each request is computed, for `einlang dump plan`.
//!
//! `derivative @loss / @w, @b: one reverse sweep; reads h, x; computes 2 values again`

use super::Pass;
use super::reverse::Adjoints;
use ein_base::Symbol;
use ein_ir::tensor::{StmtKind, VarId};
use rustc_hash::FxHashSet;
use std::fmt;

/// How a request is computed.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The target and the parameters.
    pub target: Symbol,
    /// With respect to what; several if they share a sweep.
    pub parameters: Vec<Symbol>,
    /// The way.
    pub mode: Mode,
    /// Why not by adjoints, where that was tried first.
    pub why: Option<&'static str>,
    /// The arrays that adjoints read: what must be kept until then.
    pub kept: Vec<Symbol>,
    /// How many values inside expressions adjoints compute again.
    pub again: usize,
    /// Where it can be different from zero, if that is not everywhere.
    pub sparse: Option<Sparse>,
}

/// A derivative that is zero outside a diagonal or band.
#[derive(Clone, Debug)]
pub struct Sparse {
    /// Where it is not, in words, along the axes of the parameter that matter.
    pub windows: Vec<String>,
    /// How many sweeps compute it, if that is known before the run.
    pub sweeps: Option<i64>,
}

/// The ways to compute a derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One reverse sweep, shared by the requests on one target.
    Adjoints,
    /// One reverse sweep from one element of the target.
    Row,
    /// One reverse sweep for each element of the target.
    Rows,
    /// One tangent.
    Column,
    /// One tangent for each element of the parameter.
    Columns,
    /// A tangent for each colour of the parameter: elements that no element of the target sees
    /// together.
    BandColumns,
    /// A reverse sweep for each colour of the target.
    BandRows,
    /// One element by one element: only the points between them.
    Entry,
    /// A product with a direction of the parameter.
    Pushforward,
    /// A product with a direction of the target.
    Pullback,
}

impl Mode {
    /// The way in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Adjoints => "one reverse sweep",
            Mode::Row => "a row: one reverse sweep",
            Mode::Rows => "all of it, by rows: a reverse sweep for each element of the target",
            Mode::Column => "a column: one tangent",
            Mode::Columns => "all of it, by columns: a tangent for each element of the parameter",
            Mode::BandColumns | Mode::BandRows => "all of it",
            Mode::Entry => "an entry: only the points between",
            Mode::Pushforward => "a product: one tangent",
            Mode::Pullback => "a product: one reverse sweep",
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "derivative @{} / ", self.target)?;
        for (at, parameter) in self.parameters.iter().enumerate() {
            let separator = if at > 0 { ", " } else { "" };
            write!(f, "{separator}@{parameter}")?;
        }
        write!(f, ": {}", self.mode.as_str())?;
        if let Some(sparse) = &self.sparse {
            write!(f, ", {}: ", sparse.windows.join(", "))?;
            let sweep = if self.mode == Mode::BandRows { "reverse sweep" } else { "tangent" };
            match sparse.sweeps {
                Some(1) => write!(f, "one {sweep}")?,
                Some(sweeps) => write!(f, "{sweeps} {sweep}s")?,
                None => write!(f, "a {sweep} for each position along the other axes")?,
            }
        }
        if let Some(why) = self.why {
            write!(f, "; no adjoints because of {why}")?;
        }
        for (at, kept) in self.kept.iter().enumerate() {
            let separator = if at > 0 { ", " } else { "; reads " };
            write!(f, "{separator}{kept}")?;
        }
        match self.again {
            0 => Ok(()),
            1 => write!(f, "; computes 1 value again"),
            again => write!(f, "; computes {again} values again"),
        }
    }
}

/// What adjoints need besides themselves.
#[derive(Clone, Debug, Default)]
pub(super) struct Needs {
    kept: Vec<Symbol>,
    again: usize,
}

impl Pass<'_> {
    pub(super) fn decide(&mut self, y: VarId, x: &[VarId], mode: Mode, why: Option<&'static str>) {
        self.decide_with(y, x, mode, why, Needs::default());
    }

    /// Notes a decision for adjoints.
    pub(super) fn decide_with(
        &mut self,
        y: VarId,
        x: &[VarId],
        mode: Mode,
        why: Option<&'static str>,
        needs: Needs,
    ) {
        let target = self.program.vars[y].name;
        let parameters = x.iter().map(|x| self.program.vars[*x].name).collect();
        let Needs { kept, again } = needs;
        let sparse = None;
        self.decisions.push(Decision { target, parameters, mode, why, kept, again, sparse });
    }

    /// Notes a decision for a band.
    pub(super) fn decide_sparse(
        &mut self,
        y: VarId,
        x: VarId,
        (mode, sparse): (Mode, Sparse),
        why: Option<&'static str>,
        needs: Needs,
    ) {
        self.decide_with(y, &[x], mode, why, needs);
        if let Some(decision) = self.decisions.last_mut() {
            decision.sparse = Some(sparse);
        }
    }

    /// What adjoints read of the values between parameters and target, and what they repeat.
    pub(super) fn needs(&self, y: VarId, adjoints: &Adjoints) -> Needs {
        let mut read = FxHashSet::default();
        let mut again = 0;
        let mut look = |e| self.reads_in(e, &mut read, &mut FxHashSet::default());
        for stmt in &adjoints.stmts {
            if let StmtKind::Let(var, value) = &stmt.kind {
                again += usize::from(self.program.vars[*var].name.as_str() == "$r");
                look(value);
            }
        }
        adjoints.of.iter().flatten().for_each(look);
        let between = self.behind(y);
        let kept = between
            .iter()
            .filter(|bound| read.contains(&bound.var) && bound.value.ty.is_array())
            .map(|bound| self.program.vars[bound.var].name)
            .collect();
        Needs { kept, again }
    }
}
