//! Running many generated programs, each from a number, on all threads of the machine.

use std::sync::atomic::{AtomicU64, Ordering};

/// Generated programs recurse as deep as they are nested.
const STACK: usize = 64 << 20;

/// A number that the environment may set.
pub fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Calls `each` with `count` numbers from `EINLANG_SEED` on (0 if absent), on several threads.
pub fn run(count: u64, each: impl Fn(u64) + Sync) {
    let first = setting("EINLANG_SEED", 0);
    let next = AtomicU64::new(first);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count {
                return;
            }
            each(seed);
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            std::thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, work)
                .expect("a test may start threads");
        }
    });
}
