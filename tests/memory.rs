//! How much memory programs take, by the most bytes that their arrays had at once.

use ein_driver::{Engine, FileSources, Input, Options, RunOptions, Session};

/// The most bytes that arrays take.
fn peak(text: &str, engine: Engine, observe: &str) -> u64 {
    let mut session = Session::new(Options::default(), FileSources::in_memory());
    let input = Input::Text { name: "program.ein".into(), text: text.into() };
    let observe = Some(vec![observe.to_owned()]);
    let options = RunOptions { engine, observe, ..RunOptions::default() };
    let report = session.bench(&input, &options, Some(1), Default::default());
    let report = report.expect("the compiler does not break");
    assert!(report.failure.is_none(), "{:?}", report.failure);
    report.peak_bytes
}

/// Ten times the steps take the same memory within a twentieth.
fn does_not_grow(program: impl Fn(usize) -> String) {
    for engine in [Engine::Jit, Engine::Native] {
        let (few, many) =
            (peak(&program(100), engine, "last"), peak(&program(1000), engine, "last"));
        assert!(few > 0 && many * 20 <= few * 21, "{engine:?}: {few} and {many} bytes");
    }
}

#[test]
fn a_recurrent_network_keeps_its_state() {
    does_not_grow(|steps| {
        format!(
            "use std::math::tanh;
             let R[j in 0..16, k in 0..16] = ((j * 3 + k) % 7) as f32 * 0.05;
             let h[0, j in 0..16] = 0.1;
             let h[t in 1..{steps}, j] = tanh(sum[k](R[j, k] * h[t - 1, k]) + 0.01);
             let last[j] = h[{steps} - 1, j];"
        )
    });
}

#[test]
fn a_wave_keeps_three_states() {
    does_not_grow(|steps| {
        format!(
            "let h[0, i in 0..40, j in 0..40] = ((i * j) % 5) as f32;
             let h[1, i in 0..40, j in 0..40] = h[0, i, j];
             let h[t in 2..{steps}, i in 1..39, j in 1..39] = 2.0 * h[t - 1, i, j] - h[t - 2, i, j]
                 + 0.1 * (h[t - 1, i - 1, j] + h[t - 1, i + 1, j] + h[t - 1, i, j - 1]
                 + h[t - 1, i, j + 1] - 4.0 * h[t - 1, i, j]);
             let last[i, j] = h[{steps} - 1, i, j];"
        )
    });
}

#[test]
fn an_edit_distance_keeps_two_rows() {
    does_not_grow(|steps| {
        format!(
            "let d[0, j in 0..200] = j;
             let d[i in 1..{steps}, 0] = i;
             let d[i in 1..{steps}, j in 1..200] = min(min(d[i - 1, j], d[i, j - 1]) + 1,
                 d[i - 1, j - 1] + (if (i * 7) % 5 == (j * 3) % 5 {{ 0 }} else {{ 1 }}));
             let last = d[{steps} - 1, 199];"
        )
    });
}

#[test]
fn what_is_printed_of_the_end_of_a_recurrence_keeps_its_window() {
    does_not_grow(|steps| {
        format!(
            "let h[0, i in 0..200] = i as f32;
             let h[t in 1..{steps}, i] = 0.5 * h[t - 1, i] + 0.25 * h[t - 1, (i + 1) % 200];
             print(h[{steps} - 1, 3], \"{{h[{steps} - 2, 4]:.3f}}\", h[{steps} - 3..{steps}]);
             assert(h[{steps} - 1, 5] < 1e9);
             let last = h[{steps} - 1];"
        )
    });
}

#[test]
fn a_call_that_is_printed_keeps_the_window_of_its_recurrence() {
    does_not_grow(|steps| {
        format!(
            "fn solve(a: f32) -> [f32; 100] {{
                 let h[0, i in 0..100] = i as f32;
                 let h[t in 1..{steps}, i in 0..100] = 0.9999 * h[t - 1, i] + a until h[t, 0] > 99.0;
                 last[t](h)
             }}
             print(solve(0.001)[3]);
             let last = solve(0.002)[4];"
        )
    });
}

#[test]
fn the_end_of_a_system_and_of_states_is_printed_from_a_window() {
    does_not_grow(|steps| {
        format!(
            "struct S {{ u: [f32; 100], n: f32 }}
             fn step(s: S) -> S {{ S {{ u: s.u * 0.5 + s.n, n: s.u[0] }} }}
             let h[0, i in 0..100] = i as f32;
             let h[t in 1..{steps}, i in 0..100] = 0.5 * h[t - 1, i] + g[t - 1];
             let g[t in 0..{steps}] = mean[i](h[t, i]);
             let back[{steps} - 1, i in 0..100] = 1.0;
             let back[t in 0..{steps} - 1, i in 0..100] = 0.5 * back[t + 1, i] + 1.0;
             let one[i in 0..100] = 1.0;
             let s[0] = S {{ u: one, n: 2.0 }};
             let s[t in 1..{steps}] = step(s[t - 1]);
             if g[{steps} - 1] > 1.0 {{ print(h[{steps} - 1, 7]); }}
             print(g[{steps} - 1], back[0, 3], back[0..2, 4], s[{steps} - 1].u[4], s[{steps} - 1].n);
             let last = h[{steps} - 1, 7];"
        )
    });
}

#[test]
fn softmax_and_layer_norm_store_only_their_result() {
    let x = "let x[i in 0..512, j in 0..512] = ((i * 7 + j * 13) % 23) as f32 * 0.1;";
    let softmax = "use std::math::exp;
        let top[i] = max[j](x[i, j]);
        let e[i, j] = exp(x[i, j] - top[i]);
        let total[i] = sum[j](e[i, j]);
        let y[i, j] = e[i, j] / total[i];";
    let layer_norm = "use std::math::sqrt;
        let mu[i] = mean[j](x[i, j]);
        let var[i] = mean[j]((x[i, j] - mu[i]) ** 2.0);
        let y[i, j] = (x[i, j] - mu[i]) / sqrt(var[i] + 1e-5);";
    let array = 512 * 512 * 4;
    for program in [softmax, layer_norm] {
        for engine in [Engine::Jit, Engine::Native] {
            let most = peak(&format!("{x}\n{program}"), engine, "y");
            // `x` is an array of the program's own, or computed where it is read.
            assert!(most <= 2 * array + array / 8, "{engine:?}: {most} bytes, {program}");
        }
    }
}

#[test]
fn a_function_that_ends_with_a_call_of_itself_keeps_only_its_arguments() {
    // Rows of all turns would take eight times as much.
    let text = "fn grown(t: i32, n: i32, row: [i32]) -> [i32] {
            if t == n { row } else { grown(t + 1, n, append(row, t)) }
        }
        let last = sum(grown(0, 2000, []));";
    for engine in [Engine::Eval, Engine::Jit] {
        let mut session = Session::new(Options::default(), FileSources::in_memory());
        let input = Input::Text { name: "program.ein".into(), text: text.into() };
        let options = RunOptions { engine, memory_limit: Some(1 << 20), ..RunOptions::default() };
        let report = session.run(&input, &options, Default::default(), &mut |_| {});
        let report = report.expect("the compiler does not break");
        assert!(report.failure.is_none(), "{engine:?}: {:?}", report.failure);
    }
}
