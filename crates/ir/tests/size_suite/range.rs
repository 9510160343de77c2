//! Inverted index expressions: what is inside is legal, what is just outside is not.

use super::support::{Random, a, at, c, name, x};
use ein_ir::size::{Expr, solve_range};

/// The range of `i` (atom 0), with `k` (atom 2) in the given range.
fn solve(e: &Expr, extent: &Expr, k: Option<(Expr, Expr)>) -> Option<(Expr, Expr)> {
    solve_range(e, a(0), extent, &|atom| if atom == a(2) { k.clone() } else { None })
}

#[track_caller]
fn gives(e: &Expr, extent: &Expr, k: Option<(Expr, Expr)>, text: &str) {
    let range = solve(e, extent, k);
    let shown = range.map(|(lo, hi)| format!("{}..{}", lo.display(&name), hi.display(&name)));
    assert_eq!(shown.as_deref(), (!text.is_empty()).then_some(text), "{}", e.display(&name));
}

#[test]
fn the_ranges_of_common_reads() {
    let (i, k, n, m) = (x(0), x(2), x(3), x(4));
    gives(&i, &n, None, "0..n");
    gives(&i.offset(1), &n, None, "-1..n - 1");
    gives(&i.offset(-1), &n, None, "1..n + 1");
    gives(&i.scale(2), &n, None, "0..(n + 1) / 2");
    gives(&i.scale(2).offset(1), &n, None, "0..n / 2");
    gives(&c(5).sub(&i), &c(6), None, "0..6");
    gives(&c(5).sub(&i.scale(2)), &c(6), None, "0..3");
    gives(&n.offset(-1).sub(&i), &n, None, "0..n");
    let some = |hi: &Expr| Some((c(0), hi.clone()));
    gives(&i.add(&k), &n, some(&m), "0..n - m + 1");
    gives(&i.scale(2).add(&k), &c(8), some(&c(3)), "0..3");
    gives(&i.scale(2).add(&k), &n, some(&c(3)), "0..(n - 1) / 2");
    gives(&i.add(&k.scale(3)), &c(8), some(&c(3)), "0..2");
    gives(&i.scale(2).add(&k.scale(2)), &c(8), some(&c(3)), "0..2");
    gives(&i.offset(2).sub(&k), &c(6), some(&c(3)), "0..4");
    gives(&i.scale(3).add(&k), &c(9), some(&c(3)), "0..3");
    gives(&i.div_trunc(&c(2)), &n, None, "0..2 * n");
    gives(&i.div_floor(&c(2)), &n, None, "0..2 * n");
    gives(&i.offset(1).div_floor(&c(2)), &n, None, "-1..2 * n - 1");
    gives(&i.add(&k).div_floor(&c(2)), &n, some(&c(3)), "0..2 * n - 2");
    gives(&i.rem(&c(5)), &n, None, "");
    gives(&n, &n, None, "");
    gives(&i.div_trunc(&c(3)).add(&i.rem(&c(3))), &n, None, "");
    gives(&i.mul(&x(6)).add(&k), &x(5).mul(&x(6)), some(&x(6)), "0..H");
    gives(&c(0), &n, None, "");
}

#[test]
fn dependent_ranges() {
    let (i, k, n) = (x(0), x(2), x(3));
    // k in i..n: the read i + k is greatest at k = n - 1 and least at k = i.
    gives(&i.add(&k), &n.scale(2), Some((i.clone(), n.clone())), "0..n + 1");
    gives(&i.sub(&k), &n, Some((c(0), i.offset(1))), "");
}

#[test]
fn random_ranges_are_exact() {
    let mut random = Random::new(21);
    let mut solved = 0;
    for _ in 0..20_000 {
        let step = match random.within(-4, 4) {
            0 => 1,
            step => step,
        };
        let (beside, start) = (random.within(-3, 3), random.within(-12, 12));
        let (lo, length) = (random.within(-2, 3), random.within(1, 4));
        let extent = random.within(0, 14);
        let linear = x(0).scale(step).add(&x(2).scale(beside)).offset(start);
        let (by, outer) = (random.within(2, 4), random.within(-3, 3));
        let e = match random.within(0, 2) {
            0 => linear.div_floor(&c(by)).offset(outer),
            _ => linear,
        };
        // The extent is symbolic in every second round.
        let symbolic = random.once_in(2);
        let size = if symbolic { x(3) } else { c(extent) };
        let range = solve(&e, &size, Some((c(lo), c(lo + length))));
        let Some((first, end)) = range else {
            assert!(e.affine_in(a(0)).is_none(), "{}", e.display(&name));
            continue;
        };
        solved += 1;
        let sizes = [0, 0, 0, extent];
        let (first, end) = (at(&first, &sizes).unwrap(), at(&end, &sizes).unwrap());
        for i in -80..80 {
            let legal = (lo..lo + length).all(|k| {
                let index = at(&e, &[i, 0, k, extent]).unwrap();
                0 <= index && index < extent
            });
            let inside = first <= i && i < end;
            assert_eq!(legal, inside, "{} < {extent}, i = {i}, {first}..{end}", e.display(&name));
        }
    }
    assert!(solved > 18_000, "{solved}");
}

#[test]
fn random_trunc_ranges_are_sound() {
    let mut random = Random::new(22);
    for _ in 0..5000 {
        let dividend = x(0).scale(random.within(1, 3)).offset(random.within(-6, 6));
        let quotient = dividend.div_trunc(&c(random.within(2, 4)));
        let e = quotient.scale(random.within(1, 2)).offset(random.within(-4, 4));
        let extent = random.within(0, 9);
        if quotient.affine_in(a(0)).is_some() {
            continue;
        }
        let Some((first, end)) = solve(&e, &x(3), None) else { continue };
        let sizes = [0, 0, 0, extent];
        let (first, end) = (at(&first, &sizes).unwrap(), at(&end, &sizes).unwrap());
        for i in -40..60 {
            let index = at(&e, &[i, 0, 0, extent]).unwrap();
            let legal = 0 <= index && index < extent && at(&dividend, &[i]).unwrap() >= 0;
            assert_eq!(legal, first <= i && i < end, "{} at {i}", e.display(&name));
        }
    }
}
