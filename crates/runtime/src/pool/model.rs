//! The pool in a model of threads and memory: `cargo test -p ein-runtime --features loom pool::model`.
//!
//! Every order of steps is tried in which threads are interrupted at most so many times where they could
//! go on, as each test says, and with each every value that the memory model allows a load to see. A chunk that runs twice or
//! never, a read of a region that is being written, a result that is not there yet, and a worker that
//! is never woken are all found: cells are compared with what their users promise, and threads that
//! wait for ever end the test.

use super::sync::Slot;
use super::*;

/// Cells that a region writes, each in one iteration.
struct Cells([Slot<u32>; 3]);

unsafe extern "C" fn mark(captured: *const c_void, lo: i64, hi: i64) -> u32 {
    // SAFETY: the region of this test captured it, and it lives until the region has ended.
    let cells = unsafe { &*captured.cast::<Cells>() };
    for at in lo..hi {
        let cell = &cells.0[at as usize];
        // SAFETY: this iteration alone writes the cell; the model looks whether it does.
        unsafe { cell.set(cell.get() + 1) };
    }
    ((1 << hi) - (1 << lo)) << 2
}

fn region(pool: &Pool, count: i64) {
    let run = crate::Run::new(pool, &|| false);
    let rt = run.interface();
    let cells = Cells([0; 3].map(Slot::new));
    let at = (&raw const cells).cast();
    // SAFETY: the pool exists, and the cells live until the region has ended.
    let result = unsafe { (rt.parallel)(rt.context, mark, at, 0, count, 1) };
    assert_eq!(result >> 2, (1 << count) - 1, "every chunk gives its bits");
    for cell in &cells.0[..count as usize] {
        // SAFETY: the region has ended.
        assert_eq!(unsafe { cell.get() }, 1, "every iteration runs once");
    }
}

fn model(interruptions: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(interruptions));
    // Whoever waits looks again and again.
    builder.max_branches = 50_000;
    builder.check(test);
}

#[test]
fn a_pool_that_gets_no_work_ends() {
    model(3, || drop(Pool::new(2)));
}

#[test]
fn a_region_is_handed_over_and_ends() {
    model(2, || region(&Pool::new(2), 3));
}

#[test]
fn regions_follow_each_other() {
    model(2, || {
        let pool = Pool::new(2);
        region(&pool, 2);
        region(&pool, 2);
    });
}

#[test]
fn regions_of_two_callers_exclude_each_other() {
    model(1, || {
        let pool = std::sync::Arc::new(Pool::new(2));
        let other = std::sync::Arc::clone(&pool);
        let caller = loom::thread::spawn(move || region(&other, 2));
        region(&pool, 2);
        caller.join().expect("the caller ends");
    });
}

#[test]
fn two_workers_share_a_region() {
    model(1, || region(&Pool::new(3), 3));
}
