//! What the host hears of the progress of definitions, reductions and recurrences.

mod support;

use ein_base::{Symbol, Work};
use ein_interp::{Host, InputError, Value, run, with_big_stack};
use ein_ir::tensor::*;
use support::*;

/// A world that remembers what it was told.
#[derive(Default)]
struct Listener(Vec<Work>);

impl Host for Listener {
    fn print(&mut self, _: &str) {}

    fn input(&mut self, _: Symbol, _: &Type) -> Result<Value, InputError> {
        unreachable!("these programs have no inputs")
    }

    fn progress(&mut self, work: Work) {
        self.0.push(work);
    }
}

/// What is told about the value of `it`: fractions that never fall, of one piece of work.
fn told(mut b: Build, value: Expr) -> Vec<f64> {
    b.output("it", value);
    let program = b.finish();
    let works = with_big_stack(|| {
        let mut listener = Listener::default();
        assert!(run(&program, &options(), &mut listener).error.is_none());
        listener.0
    })
    .expect("a thread");
    let first = works[0].number;
    assert!(works.iter().all(|work| (work.number, work.name.as_str()) == (first, "it")));
    let fractions: Vec<f64> = works.iter().filter_map(|work| work.fraction).collect();
    assert!(fractions.is_sorted(), "{fractions:?}");
    assert!(fractions.iter().all(|it| (0.0..=1.0).contains(it)), "{fractions:?}");
    fractions
}

/// Whether some fractions cover the whole way evenly.
#[track_caller]
fn check_even(fractions: &[f64]) {
    let count = fractions.len() as f64;
    assert!(count > 5.0, "{fractions:?}");
    for (at, fraction) in fractions.iter().enumerate() {
        assert!((fraction - (at as f64 + 0.5) / count).abs() < 2.0 / count, "{fractions:?}");
    }
}

#[test]
fn points_of_a_definition() {
    let mut b = Build::new();
    let (i, j) = (b.idx("i"), b.idx("j"));
    let value = add(b.get(i), b.get(j));
    let it = define(tensor("it", 2, vec![clause(vec![over(i, 0, 200), over(j, 0, 300)], value)]));
    check_even(&told(b, it));
}

#[test]
fn points_of_several_clauses() {
    let mut b = Build::new();
    let (i, j) = (b.idx("i"), b.idx("j"));
    let first = clause(vec![over(i, 0, 10)], int(0));
    let second = clause(vec![over(j, 10, 50_000)], b.get(j));
    check_even(&told(b, define(tensor("it", 1, vec![first, second]))));
}

#[test]
fn steps_of_a_recurrence() {
    let mut b = Build::new();
    let own = b.local("it", array(Type::I32, &[0]));
    let n = b.idx("n");
    let before = index(b.get(own), vec![sub(b.get(n), int(1))]);
    let clauses = vec![
        clause(vec![ClauseSlot::Point(0)], int(0)),
        clause(vec![over(n, 1, 50_000)], add(before, int(1))),
    ];
    let mut t = tensor("it", 1, clauses);
    t.self_var = Some(own);
    let axes = vec![RecurrenceAxis { axis: 0, backward: false }];
    t.recurrence = Some(Box::new(Recurrence { axes, lookback: Some(1), adjoint: false }));
    let fractions = told(b, define(t));
    // Before the first point it is settled which clause covers which point.
    let steps: Vec<f64> = fractions.into_iter().filter(|fraction| *fraction > 0.0).collect();
    check_even(&steps);
}

#[test]
fn only_the_outermost_loops_count() {
    let mut b = Build::new();
    let (i, k, l) = (b.idx("i"), b.idx("k"), b.idx("l"));
    // It mentions all indices around it: otherwise it would be computed once.
    let both = || mul(b.get(i), b.get(k));
    let inner = || reduce(ReduceOp::Max, vec![binder(l, int(0), int(50))], vec![], both());
    let ragged = binder(k, int(0), add(b.get(i), int(1)));
    let it = reduce(
        ReduceOp::Sum,
        vec![binder(i, int(0), int(60)), ragged],
        vec![],
        add(inner(), inner()),
    );
    let fractions = told(b, it);
    assert!(fractions.len() > 20 && fractions[fractions.len() - 1] > 0.9, "{fractions:?}");
}
