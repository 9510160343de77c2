//! Normal forms: equal as values means equal as functions, and the other way round for sums.

use super::support::{Random, a, at, c, cube, name, x};
use ein_ir::size::Expr;

#[test]
fn construction_keeps_the_value() {
    let mut random = Random::new(1);
    let points = cube(3, -3, 4);
    let mut defined = 0;
    for _ in 0..6000 {
        let tree = random.tree(3, 4);
        let e = tree.build();
        for _ in 0..12 {
            let point = &points[random.within(0, points.len() as i64 - 1) as usize];
            if let Some(value) = tree.eval(point) {
                defined += 1;
                assert_eq!(
                    at(&e, point),
                    Some(value),
                    "{tree:?} is {} at {point:?}",
                    e.display(&name)
                );
            }
        }
    }
    assert!(defined > 40_000, "{defined}");
}

#[test]
fn substitution_is_composition() {
    let mut random = Random::new(2);
    for _ in 0..3000 {
        let (outer, inner) = (random.tree(3, 3), random.tree(3, 2));
        let (e, f) = (outer.build(), inner.build());
        let composed = e.substitute(&|atom| (atom == a(1)).then(|| f.clone()));
        let point = [random.within(-3, 5), random.within(-3, 5), random.within(-3, 5)];
        let Some(middle) = inner.eval(&point) else { continue };
        if let Some(value) = outer.eval(&[point[0], middle, point[2]]) {
            assert_eq!(
                at(&composed, &point),
                Some(value),
                "{outer:?} after {inner:?} at {point:?}"
            );
        }
    }
}

#[test]
fn shuffled_sums_are_equal() {
    let mut random = Random::new(3);
    for _ in 0..2000 {
        let mut parts: Vec<Expr> = (0..6).map(|_| random.tree(4, 2).build()).collect();
        let sum = |parts: &[Expr]| parts.iter().fold(Expr::zero(), |sum, part| sum.add(part));
        let least = |parts: &[Expr]| parts.iter().skip(1).fold(parts[0].clone(), |m, p| m.min(p));
        let product = |parts: &[Expr]| parts[0].mul(&parts[1]).mul(&parts[2]);
        let before = (sum(&parts), least(&parts), product(&parts));
        let three = random.within(0, 2) as usize;
        parts.swap(0, three);
        parts[..3].reverse();
        assert_eq!(product(&parts), before.2);
        for i in (1..parts.len()).rev() {
            parts.swap(i, random.within(0, i as i64) as usize);
        }
        assert_eq!(sum(&parts), before.0);
        assert_eq!(least(&parts), before.1);
        assert_eq!(before.0.sub(&sum(&parts)), Expr::zero());
    }
}

#[test]
fn affine_parts_add_up() {
    let mut random = Random::new(4);
    for _ in 0..3000 {
        let e = random.tree(3, 3).build();
        let Some((coefficient, rest)) = e.affine_in(a(0)) else { continue };
        assert!(!rest.mentions(a(0)));
        assert_eq!(x(0).scale(coefficient).add(&rest), e);
        assert_eq!(e.atoms().contains(&a(0)), coefficient != 0);
    }
}

#[track_caller]
fn shows(e: &Expr, text: &str) {
    assert_eq!(e.display(&name), text, "{e:?}");
}

#[test]
fn expressions_read_well() {
    let (i, k, n, m) = (x(0), x(2), x(3), x(4));
    shows(&n.scale(2).add(&i).offset(-1), "i + 2 * n - 1");
    shows(&n.offset(-1).sub(&i), "n - i - 1");
    shows(&c(5).sub(&i), "5 - i");
    shows(&c(-5).sub(&i), "-i - 5");
    shows(&Expr::zero(), "0");
    shows(&n.min(&m), "min(n, m)");
    shows(&m.offset(-1).min(&n), "min(n, m - 1)");
    shows(&n.min(&c(5)).offset(1), "min(n + 1, 6)");
    shows(&n.max(&m).offset(1), "max(n, m) + 1");
    shows(&n.offset(1).div_floor(&c(2)), "(n + 1) / 2");
    shows(&n.offset(-1).div_floor(&c(2)), "(n - 1) / 2");
    shows(&n.sub(&k).div_floor(&c(2)).offset(1), "(n - k) / 2 + 1");
    shows(&i.div_trunc(&c(2)), "i / 2");
    shows(&i.rem(&c(4)), "i % 4");
    shows(&i.rem(&c(4)).scale(3).add(&n), "3 * (i % 4) + n");
    shows(&i.rem(&n), "i % n");
    shows(&i.div_trunc(&c(4)).scale(10).add(&i.rem(&c(4))), "i + 6 * (i / 4)");
    shows(&n.mul(&m).add(&k), "k + n * m");
    shows(&n.mul(&n.div_trunc(&c(2))), "n * (n / 2)");
}

#[test]
fn simplifications() {
    let (i, n, m, d) = (x(0), x(3), x(4), x(6));
    assert_eq!(i.div_trunc(&c(4)).scale(4).add(&i.rem(&c(4))), i);
    assert_eq!(n.min(&n.offset(1)), n);
    assert_eq!(n.max(&n.offset(1)), n.offset(1));
    assert_eq!(n.offset(-1).min(&m.offset(-1)).offset(1), m.min(&n));
    assert_eq!(n.min(&m).min(&n), n.min(&m));
    assert_eq!(n.scale(6).div_trunc(&c(3)), n.scale(2));
    assert_eq!(n.scale(6).div_trunc(&c(4)), n.scale(3).div_trunc(&c(2)));
    assert_eq!(n.scale(3).offset(2).div_floor(&c(3)), n);
    assert_ne!(n.scale(3).offset(2).div_trunc(&c(3)), n);
    assert_eq!(n.div_floor(&c(2)).div_floor(&c(3)), n.div_floor(&c(6)));
    assert_eq!(n.mul(&d).div_trunc(&d), n);
    assert_eq!(n.mul(&d).add(&i).div_floor(&d), n.add(&i.div_floor(&d)));
    assert_eq!(c(-7).div_trunc(&c(2)), c(-3));
    assert_eq!(c(-7).div_floor(&c(2)), c(-4));
    assert_eq!(c(-7).rem(&c(2)), c(-1));
    assert_eq!(c(-7).mod_floor(&c(2)), c(1));
    assert_eq!(at(&c(7).div_trunc(&c(0)), &[]), None);
    assert_eq!(at(&c(7).rem(&c(0)), &[]), None);
}

#[test]
fn overflow_is_kept_apart() {
    let n = x(3);
    let big = n.scale(i64::MAX);
    let twice = big.add(&big);
    assert_eq!(twice, big.add(&big));
    assert_ne!(twice, big);
    assert_eq!(at(&twice, &[0, 0, 0, 0]), Some(0));
    assert_eq!(at(&twice, &[0, 0, 0, 1]), None);
    assert_eq!(twice.sub(&twice), Expr::zero());
    let least = c(i64::MIN);
    for e in [least.neg(), least.offset(-1), least.scale(i64::MIN), least.div_trunc(&c(-1))] {
        assert_eq!(at(&e, &[]), None);
    }
    assert_eq!(at(&least.div_floor(&least), &[]), Some(1));
    let _ = least.mod_floor(&c(-3)).min(&least.sub(&c(i64::MAX))).display(&name);
}

#[test]
fn what_grows_without_end_is_let_go() {
    let (n, d) = (x(3), x(6));
    let mut e = n.clone();
    for step in 0..200 {
        e = e.div_trunc(&d).add(&e.rem(&d)).min(&e.offset(step)).mul(&e);
    }
    assert!(e.mentions(a(3)) && e.mentions(a(6)));
    assert_eq!(e, e.clone());
    assert_eq!(e.sub(&e), Expr::zero());
    assert!(e.display(&name).len() < 100_000);
    let moved = e.substitute(&|atom| (atom == a(3)).then(|| x(0)));
    assert!(moved.mentions(a(0)) && !moved.mentions(a(3)));
}
