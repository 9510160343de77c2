//! Recurrences. Values stay bounded because every step is reduced to a fixed interval.

use super::{Ctx, E, Gen, Index, S};

impl Gen {
    fn step_type(&mut self) -> (S, f64) {
        let ty = [S::I32, S::I32, S::I64, S::F32, S::F32, S::F64][self.rng.below(6)];
        (ty, if ty.is_float() { 8.0 } else { 100.0 })
    }

    /// A step: a body that reads `own`, brought back into the interval.
    fn step(&mut self, ty: S, most: f64, indices: &[Index], own: &[String]) -> String {
        let own: Vec<(S, E)> =
            own.iter().map(|text| (ty, E { text: text.clone(), lo: -most, hi: most })).collect();
        let first = own[0].1.text.clone();
        let ctx = Ctx { indices: indices.to_vec(), own };
        let e = self.scalar(ty, 2, &ctx);
        let suffix = if matches!(ty, S::I32 | S::F32) { "" } else { ty.name() };
        // The sum of the step and an earlier point, so that one is read for sure.
        let text = format!("({} + {first})", e.text);
        match ty.is_float() {
            true => format!("max(min({text}, 8.0{suffix}), -8.0{suffix})"),
            false => format!("{text} % 101{suffix}"),
        }
    }

    /// One direction, one or two steps back, perhaps with a state that has an axis.
    pub(super) fn recurrence(&mut self) {
        let (ty, most) = self.step_type();
        let name = self.fresh("h");
        let back = self.rng.between(1, 2);
        let end = back + self.rng.between(1, 5);
        let t = self.fresh("i");
        let over_time =
            Index { name: t.clone(), lo: back, hi: end, inferred: false, lonely: false };
        let mut clauses = Vec::new();
        let mut shape = vec![end as usize];
        match self.rng.below(3) {
            0 => {
                for at in 0..back {
                    let base = self.literal(ty);
                    clauses.push(format!("let {name}[{at}] = {};", base.text));
                }
                let own: Vec<String> = (1..=back).map(|k| format!("{name}[{t} - {k}]")).collect();
                let step = self.step(ty, most, &[over_time], &own);
                clauses.push(format!("let {name}[{t} in {back}..{end}] = {step};"));
                if self.rng.one_in(3) {
                    clauses.reverse();
                }
            }
            1 => {
                // The base inside an `if`.
                let base = self.literal(ty);
                let own = vec![format!("{name}[{t} - 1]")];
                let index =
                    Index { name: t.clone(), lo: 1, hi: end, inferred: false, lonely: false };
                let step = self.step(ty, most, &[index], &own);
                clauses.push(format!(
                    "let {name}[{t} in 0..{end}] = if {t} == 0 {{ {} }} else {{ {step} }};",
                    base.text
                ));
            }
            _ => {
                let width = self.rng.between(1, 3);
                shape.push(width as usize);
                let (j, l, k) = (self.fresh("i"), self.fresh("i"), self.fresh("k"));
                for at in 0..back {
                    let base = self.literal(ty);
                    clauses.push(format!("let {name}[{at}, {l} in 0..{width}] = {};", base.text));
                }
                let over_state =
                    Index { name: j.clone(), lo: 0, hi: width, inferred: false, lonely: false };
                let own = vec![
                    format!("{name}[{t} - {back}, {j}]"),
                    format!("{name}[{t} - 1, {} - {j}]", width - 1),
                    format!("max[{k} in 0..{width}]({name}[{t} - 1, {k}])"),
                ];
                let step = self.step(ty, most, &[over_time, over_state], &own);
                clauses
                    .push(format!("let {name}[{t} in {back}..{end}, {j} in 0..{width}] = {step};"));
            }
        }
        self.statements.push(clauses.join("\n"));
        self.bind(name, ty, shape, -most, most);
    }

    /// Two directions.
    pub(super) fn dynamic_program(&mut self) {
        let (ty, most) = self.step_type();
        let name = self.fresh("d");
        let (n, m) = (self.rng.between(2, 4), self.rng.between(2, 4));
        let (i, j, a, b) = (self.fresh("i"), self.fresh("i"), self.fresh("i"), self.fresh("i"));
        let (top, side) = (self.literal(ty), self.literal(ty));
        let indices = [
            Index { name: i.clone(), lo: 1, hi: n, inferred: false, lonely: false },
            Index { name: j.clone(), lo: 1, hi: m, inferred: false, lonely: false },
        ];
        let all = [
            format!("{name}[{i} - 1, {j}]"),
            format!("{name}[{i}, {j} - 1]"),
            format!("{name}[{i} - 1, {j} - 1]"),
        ];
        let own: Vec<String> = all[self.rng.below(3)..].to_vec();
        let step = self.step(ty, most, &indices, &own);
        let mut clauses = [
            format!("let {name}[0, {a} in 0..{m}] = {};", top.text),
            format!("let {name}[{b} in 1..{n}, 0] = {};", side.text),
            format!("let {name}[{i} in 1..{n}, {j} in 1..{m}] = {step};"),
        ];
        if self.rng.one_in(3) {
            clauses.rotate_left(1);
        }
        self.statements.push(clauses.join("\n"));
        self.bind(name, ty, vec![n as usize, m as usize], -most, most);
    }

    /// Time runs backwards.
    pub(super) fn reverse(&mut self) {
        let (ty, most) = self.step_type();
        let (name, t) = (self.fresh("r"), self.fresh("i"));
        let end = self.rng.between(1, 5);
        let base = self.literal(ty);
        let index = Index { name: t.clone(), lo: 0, hi: end, inferred: false, lonely: false };
        let own = vec![format!("{name}[{t} + 1]")];
        let step = self.step(ty, most, &[index], &own);
        self.statements.push(format!(
            "let {name}[{end}] = {};\nlet {name}[{t} in 0..{end}] = {step};",
            base.text
        ));
        self.bind(name, ty, vec![end as usize + 1], -most, most);
    }

    /// Two clauses that step together.
    pub(super) fn same_step(&mut self) {
        let (ty, most) = self.step_type();
        let name = self.fresh("g");
        let (t, u, l) = (self.fresh("i"), self.fresh("i"), self.fresh("i"));
        let end = self.rng.between(2, 5);
        let base = self.literal(ty);
        let at = |name: &String| Index {
            name: name.clone(),
            lo: 1,
            hi: end,
            inferred: false,
            lonely: false,
        };
        let first = self.step(
            ty,
            most,
            &[at(&t)],
            &[format!("{name}[{t} - 1, 1]"), format!("{name}[{t} - 1, 0]")],
        );
        let second = self.step(
            ty,
            most,
            &[at(&u)],
            &[format!("{name}[{u}, 0]"), format!("{name}[{u} - 1, 1]")],
        );
        self.statements.push(format!(
            "let {name}[0, {l} in 0..2] = {};\nlet {name}[{t} in 1..{end}, 0] = {first};\nlet {name}[{u} in 1..{end}, 1] = {second};",
            base.text
        ));
        self.bind(name, ty, vec![end as usize, 2], -most, most);
    }
}
