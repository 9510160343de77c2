//! Programs of any length for benchmarks: `cargo bench -p ein-benches`.
//!
//! Does not know: the compiler.

use std::fmt::Write as _;

/// What is measured has the allocator of the command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A program of so many lines, of the kinds that programs have: functions, bindings, definitions
/// and reductions. Each group of lines uses names of the group before it, and every name is bound.
pub fn flat_program(lines: usize) -> String {
    let mut text = String::with_capacity(lines * 44);
    let mut written = 0;
    let mut group = 0;
    while written < lines {
        let before = if group == 0 { 0 } else { group - 1 };
        // Eight lines a group; a short last group only has bindings.
        if lines - written < 8 {
            let _ = writeln!(text, "let rest_{written} = {written} * 2 + 1;");
            written += 1;
            continue;
        }
        let _ = write!(
            text,
            "fn scale_{group}(x, factor = 2.0) {{\n    \
                 let shifted = x * factor + 1.5;\n    \
                 shifted * shifted - x / 3.0\n\
             }}\n\
             let weight_{group} = scale_{before}({group}.25) + 0.5;\n\
             let table_{group}[i in 0..8, j in 0..4] = i * 4 + j;\n\
             let row_{group}[i] = sum[j](table_{group}[i, j] * 2);\n\
             let total_{group} = sum[i](row_{group}[i]) + row_{before}[0];\n"
        );
        written += 8;
        group += 1;
    }
    text
}

/// A transformer of at least so many lines, rounded up to whole layers: annotated functions for
/// attention, normalisation, the network after it and the loss, and for each layer its weights and
/// calls.
pub fn model_program(lines: usize) -> String {
    let mut text = String::with_capacity(lines * 64);
    text.push_str(MODEL_HEAD);
    let mut written = MODEL_HEAD.lines().count();
    let mut layer = 0;
    while written < lines {
        let before = match layer {
            0 => "tokens".to_owned(),
            _ => format!("out_{}", layer - 1),
        };
        let one = MODEL_LAYER.replace("LAYER", &layer.to_string()).replace("BEFORE", &before);
        written += one.lines().count();
        text.push_str(&one);
        layer += 1;
    }
    text
}

const MODEL_HEAD: &str = "\
use std::math::{exp, log, sqrt};

let tokens: [f32; batch: 2, seq: 16, model: 64] = input();

fn softmax[c](x: [f32; ..lead, c]) -> [f32; ..lead, c] {
    let top[..lead] = max[c](x[..lead, c]);
    let e[..lead, c] = exp(x[..lead, c] - top[..lead]);
    let total[..lead] = sum[c](e[..lead, c]);
    e[..lead, c] / total[..lead]
}

fn project[in, out](x: [f32; ..lead, in], w: [f32; out, in], b: [f32; out]) -> [f32; ..lead, out] {
    sum[in](x[..lead, in] * w[out, in]) + b[out]
}
";

const MODEL_LAYER: &str = "
fn norm_LAYER[model](x: [f32; ..lead, model], gain: [f32; model], shift: [f32; model]) -> [f32; ..lead, model] {
    let mu[..lead] = mean[model](x[..lead, model]);
    let centred[..lead, model] = x[..lead, model] - mu[..lead];
    let variance[..lead] = mean[model](centred[..lead, model] * centred[..lead, model]);
    centred[..lead, model] / sqrt(variance[..lead] + 1e-5) * gain[model] + shift[model]
}

fn attend_LAYER(
    q: [f32; batch, seq, head, dim],
    k: [f32; batch, seq, head, dim],
    v: [f32; batch, seq, head, dim],
) -> [f32; batch, seq, head, dim] {
    let score[batch, head, seq, key in seq] =
        sum[dim](q[batch, seq, head, dim] * k[batch, key, head, dim]) / sqrt(extent(dim) as f32);
    let masked[batch, head, seq, key in seq] =
        score[batch, head, seq, key] where key <= seq else -1e9;
    let top[batch, head, seq] = max[key in seq](masked[batch, head, seq, key]);
    let e[batch, head, seq, key in seq] = exp(masked[batch, head, seq, key] - top[batch, head, seq]);
    let total[batch, head, seq] = sum[key in seq](e[batch, head, seq, key]);
    sum[key in seq](e[batch, head, seq, key] * v[batch, key, head, dim]) / total[batch, head, seq]
}

let gain_LAYER: [f32; model: 64] = input();
let shift_LAYER: [f32; model: 64] = input();
let wq_LAYER: [f32; head: 4, dim: 16, model: 64] = input();
let wk_LAYER: [f32; head: 4, dim: 16, model: 64] = input();
let wv_LAYER: [f32; head: 4, dim: 16, model: 64] = input();
let wo_LAYER: [f32; model: 64, head: 4, dim: 16] = input();
let up_LAYER: [f32; hidden: 128, model: 64] = input();
let up_bias_LAYER: [f32; hidden: 128] = input();
let down_LAYER: [f32; model: 64, hidden: 128] = input();
let down_bias_LAYER: [f32; model: 64] = input();
let n_LAYER: [f32; batch, seq, model] = norm_LAYER[model](BEFORE, gain_LAYER, shift_LAYER);
let q_LAYER[batch, seq, head, dim] = sum[model](n_LAYER[batch, seq, model] * wq_LAYER[head, dim, model]);
let k_LAYER[batch, seq, head, dim] = sum[model](n_LAYER[batch, seq, model] * wk_LAYER[head, dim, model]);
let v_LAYER[batch, seq, head, dim] = sum[model](n_LAYER[batch, seq, model] * wv_LAYER[head, dim, model]);
let mix_LAYER = attend_LAYER(q_LAYER, k_LAYER, v_LAYER);
let res_LAYER[batch, seq, model] =
    BEFORE[batch, seq, model] + sum[head, dim](mix_LAYER[batch, seq, head, dim] * wo_LAYER[model, head, dim]);
let wide_LAYER: [f32; batch, seq, hidden] = project[model, hidden](res_LAYER, up_LAYER, up_bias_LAYER);
let act_LAYER[batch, seq, hidden] = wide_LAYER[batch, seq, hidden] / (1.0 + exp(-wide_LAYER[batch, seq, hidden]));
let narrow_LAYER: [f32; batch, seq, model] = project[hidden, model](act_LAYER, down_LAYER, down_bias_LAYER);
let out_LAYER[batch, seq, model] = res_LAYER[batch, seq, model] + narrow_LAYER[batch, seq, model];
let p_LAYER: [f32; batch, seq, model] = softmax[model](out_LAYER);
let loss_LAYER = -mean[batch, seq](log(p_LAYER[batch, seq, 0]));
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_the_lines_asked_for() {
        for lines in [0, 1, 7, 8, 9, 100, 1000] {
            assert_eq!(flat_program(lines).lines().count(), lines);
        }
        let text = flat_program(10_000);
        let width = text.len() / 10_000;
        assert!((25..50).contains(&width), "{width}");
    }
}
