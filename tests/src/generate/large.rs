//! Programs for engines: arrays that fill vectors, tiles and threads, and the constructs that
//! lowering has to take apart.

mod calls;
mod parts;
mod planes;
mod steps;
mod sums;

use super::{Gen, S, Var};

/// Extents around the widths that engines care about.
const EXTENTS: [usize; 16] = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 20, 31, 33, 40];

/// At most so many cells.
const CELLS: usize = 700;

/// All types of numbers.
const NUMBERS: [S; 12] =
    [S::I8, S::I16, S::I32, S::I64, S::U8, S::U16, S::U32, S::U64, S::F16, S::BF16, S::F32, S::F64];

impl Gen {
    pub(super) fn large_shape(&mut self, most: usize) -> Vec<usize> {
        if most > 0 && self.rng.one_in(24) {
            return vec![[130, 260, 1030][self.rng.below(3)]];
        }
        let mut cells = 1;
        let mut shape = Vec::new();
        for _ in 0..1 + self.rng.below(most) {
            let extent = EXTENTS[self.rng.below(EXTENTS.len())];
            let extent = if cells * extent > CELLS { 1 + self.rng.below(3) } else { extent };
            cells *= extent;
            shape.push(extent);
        }
        shape
    }

    /// `let a[i in 0..20, j in 0..9] = ((i * 7 + j * 3) % 11 - 5) as f32;`
    pub(super) fn formula(&mut self) {
        let ty = self.element_type();
        let shape = self.shape(3);
        self.formula_of(ty, shape);
    }

    fn formula_of(&mut self, ty: S, shape: Vec<usize>) -> Var {
        let name = self.fresh("a");
        let mut slots = Vec::new();
        let mut sum = Vec::new();
        for extent in &shape {
            let i = self.fresh("i");
            sum.push(format!("{i} * {}", self.rng.between(1, 13)));
            slots.push(format!("{i} in 0..{extent}"));
        }
        let modulus = self.rng.between(2, 11);
        // Small numbers from zero up serve as indices.
        let low = if ty.is_signed() && !self.rng.one_in(3) { self.rng.between(0, 6) } else { 0 };
        let (lo, hi) = (-low as f64, (modulus - 1 - low) as f64);
        let whole = format!("(({}) % {modulus} - {low})", sum.join(" + "));
        let (text, lo, hi) = match ty {
            S::Bool => (format!("{whole} > 1"), 0.0, 1.0),
            S::I32 => (whole, lo, hi),
            ty if ty.is_float() => {
                let suffix = if ty == S::F32 { "" } else { ty.name() };
                (format!("{whole} as {} * 0.5{suffix}", ty.name()), lo * 0.5, hi * 0.5)
            }
            ty => (format!("{whole} as {}", ty.name()), lo, hi),
        };
        self.statements.push(format!("let {name}[{}] = {text};", slots.join(", ")));
        self.bind(name, ty, shape, lo, hi);
        self.vars[self.vars.len() - 1].clone()
    }

    pub(super) fn large_statement(&mut self) {
        match self.rng.below(30) {
            0..=2 => self.contraction(),
            3 => self.normalised(),
            4 | 5 => self.reductions(),
            6 => self.long_recurrence(),
            7 => self.grid(),
            8 => self.waves(),
            9 => self.contract(),
            10 => self.pieces(),
            11 => self.guarded_gather(),
            12 => self.attempts(),
            13 => self.empty(),
            14 => self.prefixes(),
            15 => self.nested_calls(),
            16 => self.jagged(),
            17 => self.failing(),
            18 => self.chain(),
            19 => self.views(),
            20 => self.overlapping(),
            21 => self.matrix_steps(),
            22 => self.inner_definition(),
            23 | 24 => self.short_rows(),
            26 | 27 => self.planes(),
            28 | 29 => self.triangles(),
            _ => self.bound_by_data(),
        }
    }

    /// A tensor of this type and rank, made if there is none.
    fn tensor(&mut self, ty: S, rank: usize, most: f64) -> Var {
        let fits = |var: &&Var| {
            var.ty == ty && var.shape.len() == rank && var.lo.abs().max(var.hi.abs()) <= most
        };
        let vars: Vec<Var> = self.vars.iter().filter(fits).cloned().collect();
        match self.rng.pick(&vars) {
            Some(var) if !self.rng.one_in(3) => var.clone(),
            _ => {
                let shape = (0..rank).map(|_| EXTENTS[self.rng.below(13)]).collect();
                self.formula_of(ty, shape)
            }
        }
    }

    fn float(&mut self) -> S {
        if self.rng.one_in(3) { S::F64 } else { S::F32 }
    }

    /// A copy of an array without the names of its coordinates, to be read by what follows.
    fn by_position(&mut self, of: &str, ty: S, shape: &[usize], most: f64) {
        let name = self.fresh("t");
        let holes = vec!["?"; shape.len()].join(", ");
        self.statements.push(format!("let {name} = {of} as [{}; {holes}];", ty.name()));
        self.bind(name, ty, shape.to_vec(), -most, most);
    }
}

impl Var {
    fn size(&self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }
}
