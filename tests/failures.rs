//! Failures late in reductions and recurrences: every engine tells the one that the evaluator tells, and
//! few steps are evaluated to find it.
//!
//! `EINLANG_PROGRAMS=2000` runs more programs, `EINLANG_SEED=7` begins at another number,
//! `EINLANG_NATIVE=200` builds more of them with the system's compiler.

use ein_driver::Engine;
use ein_tests::engines::{Agreement, Setting, compare, few_steps, shrink};
use ein_tests::{generate, seeds};
use std::sync::Mutex;

/// Compares programs that mostly fail on an engine with the evaluator.
fn late(engine: Engine, count: u64) {
    let found = Mutex::new((0u64, 0u64, 0u64, Vec::new()));
    seeds::run(count, |seed| {
        let statements = generate::late(seed);
        if count == 1 {
            println!("{}", statements.join("\n"));
        }
        let setting = Setting { threads: 1 + (seed % 2) as usize, ..Setting::new(engine) };
        let agreement = compare(&statements.join("\n"), &[setting]);
        let mut found = found.lock().expect("no worker panics with the lock");
        match agreement {
            Agreement::Same(_) => found.0 += 1,
            Agreement::BothFail => found.1 += 1,
            Agreement::Rejected(why) => {
                found.2 += 1;
                println!("--- program {seed} is rejected: {why}");
            }
            Agreement::Endless => {}
            Agreement::Differs(_) => found.3.push(seed),
        }
    });
    let (same, fail, rejected, mut wrong) =
        found.into_inner().expect("no worker panics with the lock");
    wrong.sort_unstable();
    println!(
        "{count} programs on {}: {same} same, {fail} fail in both, {rejected} rejected, {} differ",
        engine.as_str(),
        wrong.len()
    );
    for seed in wrong.iter().take(seeds::setting("EINLANG_SHOWN", 3) as usize) {
        let setting = Setting { threads: 1 + (seed % 2) as usize, ..Setting::new(engine) };
        let (statements, why) = shrink(&generate::late(*seed), &[setting]);
        println!("--- program {seed}\n{}\n--- {why}\n", statements.join("\n"));
    }
    assert!(wrong.is_empty(), "programs that differ: {wrong:?}");
    assert!(rejected <= count / 50, "{rejected} of {count} are rejected");
    assert!(fail >= count / 3, "only {fail} of {count} fail");
}

#[test]
fn late_failures_are_told_by_kernels() {
    late(Engine::Jit, seeds::setting("EINLANG_PROGRAMS", 300));
}

#[test]
fn late_failures_are_told_by_native_code() {
    late(Engine::Native, seeds::setting("EINLANG_NATIVE", 6));
}

#[test]
fn a_failing_reduction_is_not_evaluated() {
    few_steps("let s = sum[i in 0..30000000](i % 7 / (29999999 - i));", Some("E0803"), 400);
    few_steps("let s = sum[i in 0..30000000](i % 100);", None, 0);
    // All terms are there, and the sum does not fit.
    few_steps("let s = sum[i in 0..30000000](i);", Some("E0802"), 400);
    few_steps("let s = sum[i in 0..30000000](i as i64 * 1000000000000);", Some("E0802"), 400);
    few_steps("let s = prod[i in 0..30000000](1 + i % 3);", Some("E0802"), 400);
    few_steps(
        "let s = max[i in 0..5000, j in 0..5000](i / (4998 - j + 4999 - i));",
        Some("E0803"),
        400,
    );
    few_steps("let s = argmax[i in 0..20000000](9 / (i - 19999990));", Some("E0803"), 400);
}

#[test]
fn a_failing_recurrence_is_not_evaluated() {
    few_steps(
        "let s[0] = 0;\nlet s[t in 1..20000000] = s[t - 1] + 110;\nprint(s[19999999]);",
        Some("E0802"),
        400,
    );
    few_steps(
        "let u[0, i in 0..1000] = i;\n\
         let u[t in 1..9000, i in 0..1000] = (u[t - 1, (i + 1) % 1000] + u[t - 1, i]) % 1000 + 8 / (t * 1000 + i - 8500300);\n\
         print(u[8999, 3]);",
        Some("E0803"),
        400,
    );
    few_steps(
        "let x[0] = 1;\nlet x[n in 1..8000000] = x[n - 1] + 400 until x[n] == 5;\nprint(x[extent(n) - 1]);",
        Some("E0802"),
        400,
    );
}

#[test]
fn a_failing_loop_of_calls_is_not_evaluated() {
    few_steps(
        "fn total(n: i32, acc: i32) -> i32 {\n\
             if n == 0 { acc } else { total(n - 1, acc + n % 300) }\n\
         }\n\
         print(total(30000000, 0));",
        Some("E0802"),
        400,
    );
    // With what is left of a number that does not fit it would never end.
    few_steps(
        "fn up(n: i32) -> i32 { if n == 5 { n } else { up(n + 4) } }\nprint(up(2000000000));",
        Some("E0802"),
        400,
    );
}

#[test]
fn a_failing_recurrence_inside_another_is_not_evaluated() {
    few_steps(
        "let s[0] = 5;\n\
         let s[t in 1..3000] = {\n\
             let z[0] = s[t - 1];\n\
             let z[k in 1..3000] = (z[k - 1] * 3 + 1) % 200 + 8 / (t * 3000 + k - 8100017);\n\
             z[2999]\n\
         };\n\
         print(s[2999]);",
        Some("E0803"),
        400,
    );
    few_steps(
        "fn run(n: i32) -> i32 {\n\
             let s[0] = n;\n\
             let s[t in 1..3000] = s[t - 1] % 100 + 8 / (n * 3000 + t - 8100017);\n\
             s[2999]\n\
         }\n\
         let y[i in 0..3000] = run(i);\n\
         print(sum(y));",
        Some("E0803"),
        400,
    );
}

#[test]
fn a_false_alarm_is_not_evaluated() {
    // What comes after the term that decides is not evaluated, and would fail.
    few_steps(
        "let d[i in 0..3000, j in 0..3000] = j % 50;\n\
         let y[i in 0..3000] = any[j in 0..3000](1000 / (49 - d[i, j]) > 20);\n\
         print(count[i](y[i]));",
        None,
        400,
    );
    few_steps(
        "let d[i in 0..3000] = i % 5;\n\
         let y[i in 0..3000] = sum[j in 0..d[i] * 700](j % 7 + 1000 / d[i]);\n\
         print(sum[i](y[i] % 10));",
        None,
        400,
    );
    // What does not change in a loop is computed before it, also where the loop has no point.
    few_steps(
        "let d[i in 0..2000] = i % 3;\n\
         let a[i in 0..2000, j in 0..2000] = i * j % 11;\n\
         let p[i in 0..2000, q in 0..2000] = sum[j in 0..d[i]](a[j, q] * (100 / d[i]));\n\
         print(sum[i, q](p[i, q]));",
        None,
        400,
    );
    // Positions that no step changes are looked at before all steps, also those after the last.
    few_steps(
        "let at[n in 0..2000000] = if n == 1900000 { 99 } else { n % 10 };\n\
         let x[q in 0..10] = q;\n\
         let w[0] = 0;\n\
         let w[n in 1..2000000] = w[n - 1] + x[at[n]] % 2 until w[n] >= 900000;\n\
         print(w[extent(w, n) - 1]);",
        None,
        400,
    );
}
