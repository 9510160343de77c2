//! Regions of clauses: overlap and coverage, against enumeration and on symbolic sizes.

use super::support::{Random, a, at, c, name, x};
use ein_ir::size::{Coverage, Expr, Facts, Overlap, covers, overlap, overlap_along};

type Sides = Vec<(Expr, Expr)>;

fn sides(random: &mut Random, rank: usize) -> (Sides, Vec<(i64, i64)>) {
    let numbers: Vec<(i64, i64)> = (0..rank)
        .map(|_| {
            let lo = random.within(0, 5);
            (lo, lo + random.within(0, 4))
        })
        .collect();
    (numbers.iter().map(|(lo, hi)| (c(*lo), c(*hi))).collect(), numbers)
}

fn inside(point: &[i64], numbers: &[(i64, i64)]) -> bool {
    point.iter().zip(numbers).all(|(p, (lo, hi))| lo <= p && p < hi)
}

fn numbers_of(sides: &Sides) -> Vec<(i64, i64)> {
    sides
        .iter()
        .map(|(lo, hi)| (at(lo, &[]).expect("a literal"), at(hi, &[]).expect("a literal")))
        .collect()
}

#[test]
fn random_literal_boxes() {
    let mut random = Random::new(31);
    let facts = Facts::new();
    for round in 0..1500 {
        let rank = 1 + round % 2;
        let points = super::support::cube(rank, 0, 9);
        let ((p, p_numbers), (q, q_numbers)) = (sides(&mut random, rank), sides(&mut random, rank));
        let meets = points.iter().any(|at| inside(at, &p_numbers) && inside(at, &q_numbers));
        match overlap(&p, &q, &facts) {
            Overlap::Disjoint => assert!(!meets),
            Overlap::Shared(both) => {
                let both = numbers_of(&both);
                for at in &points {
                    let expected = inside(at, &p_numbers) && inside(at, &q_numbers);
                    assert_eq!(inside(at, &both), expected);
                }
                assert!(meets);
            }
            Overlap::Unknown => panic!("literal boxes are always decided"),
        }
        let mut regions = vec![p, q];
        let mut all_numbers = vec![p_numbers, q_numbers];
        for _ in 0..random.within(0, 3) {
            let (r, numbers) = sides(&mut random, rank);
            regions.push(r);
            all_numbers.push(numbers);
        }
        let (whole, whole_numbers) = sides(&mut random, rank);
        let missing = |at: &Vec<i64>| !all_numbers.iter().any(|numbers| inside(at, numbers));
        let complete = !points.iter().any(|at| inside(at, &whole_numbers) && missing(at));
        match covers(&regions, &whole, &facts) {
            Coverage::Covered => assert!(complete),
            Coverage::Missing(hole) => {
                let hole = numbers_of(&hole);
                let holes: Vec<_> = points.iter().filter(|at| inside(at, &hole)).collect();
                assert!(!holes.is_empty());
                assert!(holes.into_iter().all(|at| inside(at, &whole_numbers) && missing(at)));
            }
            Coverage::Unknown => panic!("literal boxes are always decided"),
        }
    }
}

fn show(sides: &Sides) -> String {
    let texts: Vec<String> = sides
        .iter()
        .map(|(lo, hi)| format!("{}..{}", lo.display(&name), hi.display(&name)))
        .collect();
    texts.join(", ")
}

#[test]
fn symbolic_boxes() {
    let (n, m) = (x(3), x(4));
    let mut facts = Facts::new();
    facts.ge0(n.clone());
    facts.ge0(m.clone());
    let one = |lo: Expr, hi: Expr| vec![(lo, hi)];
    // let f[0] = …; let f[i in 1..n] = …
    let (first, rest) = (one(c(0), c(1)), one(c(1), n.clone()));
    assert_eq!(overlap(&first, &rest, &facts), Overlap::Disjoint);
    assert_eq!(
        covers(&[first.clone(), rest.clone()], &one(c(0), n.clone()), &facts),
        Coverage::Covered
    );
    let (half, other) = (n.div_floor(&c(2)), n.clone());
    let (low, high) = (one(c(0), half.clone()), one(half, other));
    assert_eq!(overlap(&low, &high, &facts), Overlap::Disjoint);
    assert_eq!(covers(&[low, high], &one(c(0), n.clone()), &facts), Coverage::Covered);
    match covers(std::slice::from_ref(&first), &one(c(0), n.offset(2)), &facts) {
        Coverage::Missing(hole) => assert_eq!(show(&hole), "1..n + 2"),
        other @ (Coverage::Covered | Coverage::Unknown) => panic!("{other:?}"),
    }
    assert_eq!(
        covers(std::slice::from_ref(&first), &one(c(0), n.clone()), &facts),
        Coverage::Unknown
    );
    match overlap(&one(c(0), n.clone()), &one(c(0), m.clone()), &facts) {
        Overlap::Shared(both) => assert_eq!(show(&both), "0..min(n, m)"),
        other @ (Overlap::Disjoint | Overlap::Unknown) => panic!("{other:?}"),
    }
    assert_eq!(overlap(&one(c(0), n.clone()), &one(c(2), m.clone()), &facts), Overlap::Unknown);
    // A grid: the first row, the first column, and what is left.
    let grid = vec![(c(0), n.clone()), (c(0), m.clone())];
    let parts = [
        vec![(c(0), c(1)), (c(0), m.clone())],
        vec![(c(1), n.clone()), (c(0), c(1))],
        vec![(c(1), n.clone()), (c(1), m.clone())],
    ];
    assert_eq!(covers(&parts, &grid, &facts), Coverage::Covered);
    for (place, p) in parts.iter().enumerate() {
        for q in &parts[place + 1..] {
            assert_eq!(overlap(p, q, &facts), Overlap::Disjoint);
        }
    }
    // Below and above the diagonal.
    let axes = [a(0), a(1)];
    let lower = vec![(c(0), n.clone()), (c(0), x(0))];
    let upper = vec![(c(0), n.clone()), (x(0), n.clone())];
    assert_eq!(overlap_along(&axes, &lower, &upper, &facts), Overlap::Disjoint);
}

/// A random side in terms of `n` (atom 0).
fn side(random: &mut Random) -> Expr {
    let whole = x(0).scale(random.within(0, 1));
    let e = if random.once_in(4) { x(0).div_floor(&c(2)) } else { whole };
    e.offset(random.within(-1, 2))
}

#[test]
fn random_symbolic_boxes() {
    let mut random = Random::new(32);
    let mut facts = Facts::new();
    facts.ge0(x(0));
    let mut decided = [0; 4];
    for round in 0..1500 {
        let rank = 1 + round % 2;
        let mut make =
            || -> Sides { (0..rank).map(|_| (side(&mut random), side(&mut random))).collect() };
        let (p, q, r, whole) = (make(), make(), make(), make());
        let numbers = |sides: &Sides, n: i64| -> Vec<(i64, i64)> {
            let value = |e: &Expr| at(e, &[n]).expect("a size");
            sides.iter().map(|(lo, hi)| (value(lo), value(hi))).collect()
        };
        let meeting = overlap(&p, &q, &facts);
        let coverage = covers(&[p.clone(), q.clone(), r.clone()], &whole, &facts);
        let points = super::support::cube(rank, -2, 10);
        for n in 0..8 {
            let (p, q, r) = (numbers(&p, n), numbers(&q, n), numbers(&r, n));
            let whole = numbers(&whole, n);
            let any = |sides: &[(i64, i64)]| points.iter().any(|at| inside(at, sides));
            let meets = points.iter().any(|at| inside(at, &p) && inside(at, &q));
            match &meeting {
                Overlap::Disjoint => assert!(!meets),
                Overlap::Shared(both) => {
                    assert!(!(any(&p) && any(&q)) || meets && any(&numbers(both, n)));
                }
                Overlap::Unknown => {}
            }
            let filled = |at: &Vec<i64>| [&p, &q, &r].iter().any(|sides| inside(at, sides));
            match &coverage {
                Coverage::Covered => {
                    assert!(points.iter().all(|at| !inside(at, &whole) || filled(at)));
                }
                Coverage::Missing(hole) => {
                    let hole = numbers(hole, n);
                    assert!(!any(&whole) || any(&hole));
                    let empty = |at: &&Vec<i64>| inside(at, &hole) && inside(at, &whole);
                    assert!(!any(&whole) || points.iter().filter(empty).all(|at| !filled(at)));
                }
                Coverage::Unknown => {}
            }
        }
        decided[0] += usize::from(meeting == Overlap::Disjoint);
        decided[1] += usize::from(matches!(meeting, Overlap::Shared(_)));
        decided[2] += usize::from(coverage == Coverage::Covered);
        decided[3] += usize::from(matches!(coverage, Coverage::Missing(_)));
    }
    println!("of 1500: disjoint, shared, covered, missing: {decided:?}");
    assert!(decided.iter().all(|count| *count > 50), "{decided:?}");
}
