//! The reads that programs make: proved, refuted for all sizes, or refuted for some.

use super::support::{Random, a, at, c, cube, name, x};
use ein_base::Idx;
use ein_ir::size::{
    Expr, Facts, Truth, always_violated, prove_eq, prove_ge0, prove_le, prove_lt, prove_ne,
    simplify,
};

fn ranges(ranges: &[(usize, Expr, Expr)]) -> Facts {
    let mut facts = Facts::new();
    for (atom, lo, hi) in ranges {
        facts.with_range(a(*atom), lo, hi);
    }
    facts
}

#[track_caller]
fn in_bounds(facts: &Facts, index: &Expr, extent: &Expr) {
    assert_eq!(prove_ge0(facts, index), Truth::Proved, "{} >= 0", index.display(&name));
    assert_eq!(prove_lt(facts, index, extent), Truth::Proved, "{} < extent", index.display(&name));
}

#[test]
fn reads_that_stay_inside() {
    let (i, j, k, n, m) = (x(0), x(1), x(2), x(3), x(4));
    let twelve = c(12);
    in_bounds(&ranges(&[(0, c(0), c(12))]), &c(11).sub(&i), &twelve);
    let tile = ranges(&[(0, c(0), c(4)), (2, c(0), c(3))]);
    in_bounds(&tile, &i.scale(3).add(&k), &twelve);
    in_bounds(&ranges(&[(0, c(0), c(24))]), &i.div_trunc(&c(2)), &twelve);
    in_bounds(&ranges(&[(0, c(0), c(30))]), &i.rem(&twelve), &twelve);
    in_bounds(&ranges(&[(0, c(0), c(9))]), &i.div_trunc(&c(3)).add(&i.rem(&c(3))), &c(5));
    in_bounds(&ranges(&[(0, c(0), n.clone())]), &n.offset(-1).sub(&i), &n);
    in_bounds(&ranges(&[(0, c(0), n.min(&m))]), &i, &n);
    in_bounds(&ranges(&[(0, c(0), n.scale(2))]), &i.div_trunc(&c(2)), &n);
    in_bounds(&ranges(&[(0, c(0), n.offset(1).div_floor(&c(2)))]), &i.scale(2), &n);
    in_bounds(&ranges(&[(0, c(0), n.div_trunc(&c(2)))]), &i.scale(2).offset(1), &n);
    in_bounds(&ranges(&[(0, c(0), n.sub(&m).offset(1)), (2, c(0), m.clone())]), &i.add(&k), &n);
    let triangle = ranges(&[(0, c(0), n.clone()), (2, c(0), i.offset(1))]);
    in_bounds(&triangle, &i.sub(&k), &n);
    in_bounds(&triangle, &k, &n);
    let mut clip = ranges(&[(0, c(0), c(20))]);
    in_bounds(&clip, &i.min(&c(11)), &twelve);
    in_bounds(&clip, &i.sub(&c(4)).max(&c(0)).min(&c(11)), &twelve);
    clip.lt(&i, &c(12));
    in_bounds(&clip, &i, &twelve);
    in_bounds(&ranges(&[(0, c(0), n.clone()), (1, i.clone(), n.clone())]), &j.sub(&i), &n);
}

#[test]
fn reads_through_products_of_sizes() {
    let (h, d, k, big_h, big_d, big_b) = (x(0), x(1), x(2), x(5), x(6), x(7));
    let heads = ranges(&[(0, c(0), big_h.clone()), (1, c(0), big_d.clone())]);
    in_bounds(&heads, &h.mul(&big_d).add(&d), &big_h.mul(&big_d));
    in_bounds(&heads, &d.mul(&big_h).add(&h), &big_h.mul(&big_d));
    let mut deep = heads.clone();
    deep.with_range(a(2), &c(0), &big_b);
    let flat = k.mul(&big_h).add(&h).mul(&big_d).add(&d);
    in_bounds(&deep, &flat, &big_b.mul(&big_h).mul(&big_d));
    // A flat index taken apart again.
    let mut apart = ranges(&[(2, c(0), big_h.mul(&big_d))]);
    apart.ge0(big_h.clone());
    apart.ge0(big_d.clone());
    in_bounds(&apart, &k.div_trunc(&big_d), &big_h);
    in_bounds(&apart, &k.rem(&big_d), &big_d);
    in_bounds(&apart, &k.div_floor(&big_d), &big_h);
    in_bounds(&apart, &k.mod_floor(&big_d), &big_d);
    // A name for the product.
    let n = x(3);
    let mut named = heads;
    named.eq(&n, &big_h.mul(&big_d));
    in_bounds(&named, &h.mul(&big_d).add(&d), &n);
    let mut halves = ranges(&[(0, c(0), big_h.clone()), (1, c(0), c(4))]);
    halves.ge0(big_h.clone());
    in_bounds(&halves, &h.scale(4).add(&d), &big_h.scale(4));
    let mut rotated = ranges(&[(2, c(0), n.clone())]);
    rotated.lt(&c(0), &n);
    in_bounds(&rotated, &k.offset(5).rem(&n), &n);
    let ring = ranges(&[(0, c(0), big_h.clone()), (1, c(0), c(12))]);
    in_bounds(&ring, &d.rem(&c(4)).mul(&big_h).add(&h), &big_h.scale(4));
}

#[test]
fn sizes_compare() {
    let (n, m) = (x(3), x(4));
    let mut facts = Facts::new();
    facts.ge0(n.clone());
    facts.ge0(m.clone());
    let half_up = n.offset(1).div_trunc(&c(2));
    assert!(prove_eq(&facts, &half_up.add(&n.div_trunc(&c(2))), &n).is_proved());
    assert!(prove_eq(&facts, &half_up, &n.offset(1).div_floor(&c(2))).is_proved());
    assert!(!prove_eq(&Facts::new(), &half_up, &n.offset(1).div_floor(&c(2))).is_proved());
    assert_eq!(simplify(&facts, &half_up), n.offset(1).div_floor(&c(2)));
    assert!(prove_eq(&facts, &n.min(&m).add(&n.max(&m)), &n.add(&m)).is_proved());
    assert!(prove_eq(&facts, &n.add(&m).mul(&n.sub(&m)), &n.mul(&n).sub(&m.mul(&m))).is_proved());
    assert!(prove_eq(&facts, &n, &m).is_refuted());
    assert!(prove_ne(&facts, &n, &n.add(&m).offset(1)).is_proved());
    assert!(prove_le(&facts, &n.min(&m), &n).is_proved());
    assert!(prove_le(&facts, &n, &n.mul(&m)).is_refuted());
    facts.lt(&c(0), &m);
    assert!(prove_le(&facts, &n, &n.mul(&m)).is_proved());
    assert_eq!(simplify(&facts, &n.min(&n.add(&m))), n);
    assert_eq!(simplify(&facts, &m.max(&c(1))), m);
}

#[track_caller]
fn corner(facts: &Facts, goal: &Expr, sizes: &[usize]) -> Option<String> {
    let sizes: Vec<_> = sizes.iter().map(|size| a(*size)).collect();
    let corner = always_violated(facts, goal, &sizes)?;
    let places = corner.iter().map(|(at, e)| format!("{} = {}", name(*at), e.display(&name)));
    Some(places.collect::<Vec<_>>().join(", "))
}

#[test]
fn violations_for_every_size() {
    let (i, j, k, n, m) = (x(0), x(1), x(2), x(3), x(4));
    let some = |text: &str| Some(text.to_string());
    let below = |index: &Expr, extent: &Expr| extent.sub(index).offset(-1);
    let constant = ranges(&[(0, c(0), c(4))]);
    assert_eq!(corner(&constant, &below(&i.offset(1), &c(4)), &[]), some("i = 3"));
    assert_eq!(corner(&constant, &i.offset(-1), &[]), some("i = 0"));
    assert_eq!(corner(&constant, &below(&i, &c(4)), &[]), None);
    assert_eq!(corner(&Facts::new(), &below(&c(3), &c(3)), &[]), some(""));
    let whole = ranges(&[(0, c(0), n.clone())]);
    assert_eq!(corner(&whole, &below(&i.offset(1), &n), &[3]), some("i = n - 1"));
    assert_eq!(corner(&whole, &i.offset(-1), &[3]), some("i = 0"));
    assert_eq!(corner(&whole, &below(&i, &n), &[3]), None);
    // Wrong for some sizes only.
    assert_eq!(corner(&whole, &below(&i, &m), &[3, 4]), None);
    assert_eq!(corner(&whole, &below(&i.add(&m), &n), &[3, 4]), None);
    let mut positive = whole.clone();
    positive.lt(&c(0), &m);
    assert_eq!(corner(&positive, &below(&i.add(&m), &n), &[3, 4]), some("i = n - 1"));
    let reaches = ranges(&[(3, c(1), m.clone()), (2, c(0), n.offset(1))]);
    assert_eq!(corner(&reaches, &below(&k, &n), &[4]), some("k = n"));
    let window = ranges(&[(0, c(0), n.clone()), (2, c(0), c(3))]);
    assert_eq!(corner(&window, &below(&i.add(&k), &n), &[3]), some("i = n - 1, k = 2"));
    let strided = ranges(&[(0, c(0), n.clone())]);
    assert_eq!(
        corner(&strided, &below(&i.scale(2), &n.scale(2).offset(-2)), &[3]),
        some("i = n - 1")
    );
    let mut never = whole.clone();
    never.lt(&n, &c(0));
    assert_eq!(corner(&never, &i.offset(-1), &[3]), None);
    let pair = ranges(&[(0, c(0), n.clone()), (1, i.clone(), n.clone())]);
    assert!(corner(&pair, &below(&j.add(&i), &n.scale(2).offset(-2)), &[3]).is_some());
}

/// A random bound in terms of `n` (atom 2) and, for `j`, of `i`.
fn bound(random: &mut Random, inner: bool) -> Expr {
    let mut e = c(random.within(-2, 3));
    if random.once_in(2) {
        e = e.add(&x(2).scale(random.within(1, 2)));
    }
    if inner && random.once_in(2) {
        e = e.add(&x(0).scale(random.within(-1, 1)));
    }
    if random.once_in(5) { e.div_floor(&c(2)) } else { e }
}

#[test]
fn random_violations_are_violations_for_every_size() {
    let mut random = Random::new(41);
    let points = cube(2, -12, 24);
    let mut found = 0;
    for _ in 0..1500 {
        let mut facts = Facts::new();
        facts.ge0(x(2));
        facts.with_range(a(0), &bound(&mut random, false), &bound(&mut random, false));
        facts.with_range(a(1), &bound(&mut random, true), &bound(&mut random, true));
        let goal = random.affine(3, 2);
        let Some(corner) = always_violated(&facts, &goal, &[a(2)]) else { continue };
        found += 1;
        for n in 0..6 {
            let allowed: Vec<[i64; 3]> = points
                .iter()
                .map(|p| [p[0], p[1], n])
                .filter(|p| facts.hold_at(&|atom| p.get(atom.index()).copied()))
                .collect();
            let fails = |p: &[i64; 3]| at(&goal, p).is_some_and(|value| value < 0);
            assert!(
                allowed.is_empty() || allowed.iter().any(fails),
                "{corner:?} {facts:?} {goal:?}"
            );
            // And the corner itself is one, from wherever in the domain it is looked for.
            for start in &allowed {
                let mut place = *start;
                for (atom, e) in &corner {
                    place[atom.index()] = at(e, start).expect("a defined corner");
                }
                assert!(facts.hold_at(&|atom| place.get(atom.index()).copied()), "{corner:?}");
                assert!(fails(&place), "{corner:?}");
            }
        }
        assert!(prove_ge0(&facts, &goal).is_refuted());
    }
    println!("{found} of 1500 are violated for every size");
    assert!(found > 150, "{found}");
}
