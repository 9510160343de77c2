//! How long one question to the solver of sizes takes at the worst: dense systems with large
//! coefficients, products and remainders, which use up its budget. The bar is 5 ms.

#![allow(missing_docs, reason = "criterion's macros make public functions")]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use ein_base::Idx;
use ein_ir::size::{Atom, Expr, Facts, prove_ge0};
use std::hint::black_box;
use std::time::Duration;

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn within(&mut self, lo: i64, hi: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        lo + ((self.0 >> 33) % (hi - lo + 1) as u64) as i64
    }
}

fn atom(number: usize) -> Expr {
    Expr::atom(Atom::from_usize(number))
}

/// So many inequalities over so many unknowns.
fn hard(atoms: usize, rows: usize) -> Facts {
    let mut numbers = Numbers(17);
    let mut facts = Facts::new();
    for _ in 0..rows {
        let mut e = Expr::constant(numbers.within(-1000, 100_000));
        for at in 0..atoms {
            e = e.add(&atom(at).scale(numbers.within(-997, 997)));
            if numbers.within(0, 2) == 0 {
                e = e.add(&atom(at).mul(&atom((at + 1) % atoms)).scale(numbers.within(-9, 9)));
            }
            if numbers.within(0, 3) == 0 {
                let rest = atom(at).rem(&Expr::constant(numbers.within(2, 50)));
                e = e.add(&rest.min(&atom((at + 3) % atoms)));
            }
        }
        facts.ge0(e);
    }
    facts
}

fn solver(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("solver");
    group.sample_size(20);
    group.warm_up_time(Duration::from_millis(200));
    group.measurement_time(Duration::from_secs(1));
    let goal = atom(0).scale(31).sub(&atom(1).scale(17)).offset(5);
    for (atoms, rows) in [(6, 10), (8, 30), (10, 40), (12, 50), (15, 69)] {
        let facts = hard(atoms, rows);
        group.bench_function(BenchmarkId::new("hard_question", rows), |bencher| {
            bencher.iter(|| black_box(prove_ge0(&facts, &goal)));
        });
    }
    group.finish();
}

criterion_group!(benches, solver);
criterion_main!(benches);
