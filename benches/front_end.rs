//! How many lines a second the front end takes, at three lengths: a rate that falls with the
//! length shows work that is not linear.

#![allow(missing_docs, reason = "criterion's macros make public functions")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ein_base::SourceMap;
use ein_benches::flat_program;
use ein_driver::FileSources;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

const LINES: [usize; 3] = [10_000, 100_000, 1_000_000];

fn front_end(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("front_end");
    group.sample_size(10);
    group.warm_up_time(Duration::from_millis(500));
    group.measurement_time(Duration::from_secs(3));
    for lines in LINES {
        let text: Arc<str> = flat_program(lines).into();
        group.throughput(Throughput::Elements(lines as u64));
        group.bench_function(BenchmarkId::new("parse", lines), |bencher| {
            // What the phase gives goes to the next one: giving it back is not part of it.
            bencher.iter_with_large_drop(|| {
                let mut files = SourceMap::default();
                let file = files.add("bench.ein".into(), None, text.clone());
                black_box(ein_syntax::parse(file, &text))
            });
        });
        group.bench_function(BenchmarkId::new("parse_and_resolve", lines), |bencher| {
            let sources = FileSources::in_memory();
            bencher.iter_with_large_drop(|| {
                let mut files = SourceMap::default();
                let root = files.add("bench.ein".into(), None, text.clone());
                // Flat programs need no deep stack, so no thread is started for each.
                black_box(ein_sema::resolve::resolve(&mut files, root, &sources))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, front_end);
criterion_main!(benches);
