//! Every answer of the solver against enumeration.

use super::support::{Random, a, at, c, cube, x};
use ein_base::Idx;
use ein_ir::size::{
    Budget, Expr, Facts, Truth, is_empty, prove_eq, prove_ge0, prove_ge0_within, prove_ne, simplify,
};

/// Counts of answers.
#[derive(Default, Debug)]
struct Tally {
    proved: usize,
    refuted: usize,
    unknown: usize,
}

impl Tally {
    fn count(&mut self, truth: &Truth) {
        match truth {
            Truth::Proved => self.proved += 1,
            Truth::Refuted(_) => self.refuted += 1,
            Truth::Unknown => self.unknown += 1,
        }
    }
    #[track_caller]
    fn unknown_at_most(&self, share: f64, what: &str) {
        let all = self.proved + self.refuted + self.unknown;
        let unknown = self.unknown as f64 / all as f64;
        println!("{what}: {self:?}, unknown {:.2} %", 100.0 * unknown);
        assert!(unknown <= share, "{what}: {self:?}");
        assert!(self.proved > 0 && self.refuted > 0, "{what}: {self:?}");
    }
}

/// Facts that keep every atom in a cube.
fn boxed(atoms: usize, lo: i64, hi: i64) -> Facts {
    let mut facts = Facts::new();
    for atom in 0..atoms {
        facts.with_range(a(atom), &c(lo), &c(hi + 1));
    }
    facts
}

/// Compares an answer with the points of a cube that the facts allow.
#[track_caller]
fn agrees(
    truth: &Truth,
    facts: &Facts,
    points: &[Vec<i64>],
    holds: &dyn Fn(&[i64]) -> Option<bool>,
) {
    match truth {
        Truth::Unknown => {}
        Truth::Refuted(witness) => {
            let value = |atom| witness.iter().find(|(own, _)| *own == atom).map(|(_, v)| *v);
            assert!(facts.hold_at(&value), "{witness:?} is not allowed by {facts:?}");
            let most = witness.iter().map(|(atom, _)| atom.index() + 1).max().unwrap_or(0);
            let mut point = vec![0; most.max(points.first().map_or(0, Vec::len))];
            for (atom, value) in witness {
                point[atom.index()] = *value;
            }
            assert_eq!(holds(&point), Some(false), "{witness:?} is no witness; facts {facts:?}");
        }
        Truth::Proved => {
            for point in points {
                if facts.hold_at(&|atom| point.get(atom.index()).copied()) {
                    assert_ne!(holds(point), Some(false), "{point:?} refutes it; facts {facts:?}");
                }
            }
        }
    }
}

#[test]
fn random_affine_systems() {
    let mut random = Random::new(11);
    let mut tally = Tally::default();
    for round in 0..6000 {
        let atoms = 2 + round % 3;
        let points = cube(atoms, -4, 4);
        let mut facts = boxed(atoms, -4, 4);
        for _ in 0..random.within(0, 4) {
            let e = random.affine(atoms, 4);
            if random.once_in(4) { facts.eq0(e) } else { facts.ge0(e) }
        }
        let goal = random.affine(atoms, 4).offset(random.within(0, 12));
        let truth = prove_ge0(&facts, &goal);
        tally.count(&truth);
        agrees(&truth, &facts, &points, &|p| at(&goal, p).map(|v| v >= 0));
        let truth = is_empty(&facts);
        tally.count(&truth);
        agrees(&truth, &facts, &points, &|_| Some(false));
        if round % 3 == 0 {
            let other = random.affine(atoms, 3);
            let truth = prove_eq(&facts, &goal, &other);
            tally.count(&truth);
            agrees(&truth, &facts, &points, &|p| Some(at(&goal, p)? == at(&other, p)?));
            let truth = prove_ne(&facts, &goal, &other);
            tally.count(&truth);
            agrees(&truth, &facts, &points, &|p| Some(at(&goal, p)? != at(&other, p)?));
        }
    }
    tally.unknown_at_most(0.0, "affine");
}

#[test]
fn random_unbounded_affine_systems() {
    let mut random = Random::new(12);
    let mut tally = Tally::default();
    let points = cube(3, -7, 7);
    for _ in 0..3000 {
        let mut facts = Facts::new();
        for _ in 0..random.within(1, 6) {
            facts.ge0(random.affine(3, 5));
        }
        let goal = random.affine(3, 5);
        let truth = prove_ge0(&facts, &goal);
        tally.count(&truth);
        agrees(&truth, &facts, &points, &|p| at(&goal, p).map(|v| v >= 0));
    }
    tally.unknown_at_most(0.001, "unbounded affine");
}

#[test]
fn random_quasi_affine_systems() {
    let mut random = Random::new(13);
    let mut tally = Tally::default();
    for round in 0..3000 {
        let atoms = 2 + round % 2;
        let points = cube(atoms, -5, 5);
        let mut facts = boxed(atoms, -5, 5);
        let term = |random: &mut Random| {
            let (e, f) = (random.affine(atoms, 3), random.affine(atoms, 2));
            let by = c(random.within(2, 5));
            let opaque = match random.within(0, 5) {
                0 => e.div_trunc(&by),
                1 => e.rem(&by),
                2 => e.div_floor(&by),
                3 => e.mod_floor(&by),
                4 => e.min(&f),
                _ => e.max(&f),
            };
            opaque.scale(random.within(-2, 2)).add(&random.affine(atoms, 2))
        };
        for _ in 0..random.within(0, 2) {
            let e = term(&mut random);
            match random.within(0, 3) {
                0 => facts.eq0(e),
                1 => facts.ne0(e),
                _ => facts.ge0(e),
            }
        }
        let goal = term(&mut random).offset(random.within(0, 15));
        let truth = prove_ge0(&facts, &goal);
        tally.count(&truth);
        agrees(&truth, &facts, &points, &|p| at(&goal, p).map(|v| v >= 0));
    }
    tally.unknown_at_most(0.001, "quasi-affine");
}

#[test]
fn random_expressions_of_all_kinds() {
    let mut random = Random::new(14);
    let mut tally = Tally::default();
    let points = cube(3, -3, 4);
    for _ in 0..2500 {
        let mut facts = boxed(3, -3, 4);
        for _ in 0..random.within(0, 2) {
            facts.ge0(random.tree(3, 2).build());
        }
        let tree = random.tree(3, 3);
        let goal = tree.build().offset(random.within(0, 10));
        let truth = prove_ge0(&facts, &goal);
        tally.count(&truth);
        agrees(&truth, &facts, &points, &|p| at(&goal, p).map(|v| v >= 0));
        let simple = simplify(&facts, &goal);
        for point in points.iter().step_by(7) {
            if facts.hold_at(&|atom| point.get(atom.index()).copied())
                && let Some(value) = at(&goal, point)
            {
                assert_eq!(at(&simple, point), Some(value), "{goal:?} became {simple:?}");
            }
        }
    }
    tally.unknown_at_most(0.01, "all kinds, boxed");
}

#[test]
fn random_polynomials() {
    let mut random = Random::new(15);
    let mut tally = Tally::default();
    let points = cube(4, 0, 5);
    for _ in 0..1500 {
        let mut facts = Facts::new();
        for atom in 0..4 {
            facts.ge0(x(atom));
        }
        facts.lt(&x(0), &x(2));
        facts.lt(&x(1), &x(3));
        let mut goal = c(random.within(-2, 3));
        for _ in 0..random.within(1, 3) {
            let (p, q) = (random.within(0, 3) as usize, random.within(0, 3) as usize);
            let product = if random.once_in(3) { x(p) } else { x(p).mul(&x(q)) };
            goal = goal.add(&product.scale(random.within(-1, 2)));
        }
        let truth = prove_ge0(&facts, &goal);
        tally.count(&truth);
        agrees(&truth, &facts, &points, &|p| at(&goal, p).map(|v| v >= 0));
    }
    tally.unknown_at_most(0.01, "polynomials, unbounded");
}

#[test]
fn answers_are_the_same_every_time() {
    let answers = || {
        let mut random = Random::new(16);
        let mut answers = Vec::new();
        for _ in 0..300 {
            let mut facts = boxed(3, -4, 6);
            facts.ge0(random.tree(3, 2).build());
            answers.push(prove_ge0(&facts, &random.tree(3, 3).build()));
        }
        answers
    };
    assert_eq!(answers(), answers());
}

/// A system that Fourier–Motzkin elimination cannot finish: dense, with large coprime coefficients.
fn hard(random: &mut Random, atoms: usize, rows: usize) -> (Facts, Expr) {
    let mut facts = Facts::new();
    for _ in 0..rows {
        let mut e = c(random.within(-1000, 100_000));
        for atom in 0..atoms {
            e = e.add(&x(atom).scale(random.within(-997, 997)));
            if random.once_in(3) {
                e = e.add(&x(atom).mul(&x((atom + 1) % atoms)).scale(random.within(-9, 9)));
            }
            if random.once_in(4) {
                e = e.add(&x(atom).rem(&c(random.within(2, 50))).min(&x((atom + 3) % atoms)));
            }
        }
        facts.ge0(e);
    }
    (facts, x(0).scale(31).sub(&x(1).scale(17)).offset(5))
}

#[test]
fn the_budget_bounds_the_work() {
    let mut random = Random::new(17);
    for round in 0..60 {
        let (facts, goal) = hard(&mut random, 6 + round % 10, 10 + round);
        let truth = prove_ge0(&facts, &goal);
        agrees(&truth, &facts, &[], &|p| at(&goal, p).map(|v| v >= 0));
        assert_eq!(prove_ge0_within(&facts, &goal, &mut Budget::new(10)), Truth::Unknown);
        let mut budget = Budget::new(1000);
        let _ = prove_ge0_within(&facts, &goal, &mut budget);
        assert!(budget.left() < 1000, "a question that took no steps");
    }
}

#[test]
fn huge_numbers_do_no_harm() {
    let mut random = Random::new(18);
    let big = |random: &mut Random| match random.within(0, 3) {
        0 => i64::MAX - random.within(0, 2),
        1 => i64::MIN + random.within(0, 2),
        2 => random.within(-3, 3),
        _ => random.next() as i64,
    };
    for _ in 0..2000 {
        let mut facts = Facts::new();
        for _ in 0..3 {
            let e = x(0).scale(big(&mut random)).add(&x(1).scale(big(&mut random)));
            let e = e.offset(big(&mut random)).add(&x(2).mul(&x(0)).scale(big(&mut random)));
            facts.ge0(e.min(&x(1)).div_trunc(&c(big(&mut random))));
        }
        let goal = x(0).scale(big(&mut random)).offset(big(&mut random)).sub(&x(2));
        let truth = prove_ge0(&facts, &goal);
        agrees(&truth, &facts, &cube(3, -2, 2), &|p| at(&goal, p).map(|v| v >= 0));
    }
}
