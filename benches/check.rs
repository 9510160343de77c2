//! How long checking takes, at four lengths of a transformer model: 1,000 lines in 30 ms, 20,000 in a
//! second; a rate that falls with the length shows work that is not linear.

#![allow(missing_docs, reason = "criterion's macros make public functions")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ein_base::SourceMap;
use ein_benches::model_program;
use ein_driver::{FileSources, guarded};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

const LINES: [usize; 4] = [1_000, 5_000, 20_000, 40_000];

fn check(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("check");
    group.sample_size(10);
    group.warm_up_time(Duration::from_millis(500));
    group.measurement_time(Duration::from_secs(5));
    for lines in LINES {
        let text: Arc<str> = model_program(lines).into();
        let sources = FileSources::in_memory();
        let inputs = Default::default();
        group.throughput(Throughput::Elements(text.lines().count() as u64));
        group.bench_function(BenchmarkId::new("resolve_and_check", lines), |bencher| {
            bencher.iter(|| {
                let mut files = SourceMap::default();
                let root = files.add("bench.ein".into(), None, text.clone());
                let found = guarded(|| {
                    let resolved = ein_sema::resolve::resolve(&mut files, root, &sources);
                    let checked = ein_sema::check::check(&resolved.program, &inputs);
                    resolved.diagnostics.len() + checked.diagnostics.len()
                });
                black_box(found.map(|count| assert_eq!(count, 0, "the model checks clean")))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, check);
criterion_main!(benches);
