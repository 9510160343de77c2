"""Functions for the checks of derivatives by PyTorch and JAX: written here, and of the library."""

PROGRAM = """
use std::math::{exp, log, tanh, sin, sqrt, pow};

fn exps(x: [f64; i]) -> [f64; i] { let y[i] = exp(x[i]); y }
fn logs(x: [f64; i]) -> [f64; i] { let y[i] = log(x[i]); y }
fn tanhs(x: [f64; i]) -> [f64; i] { let y[i] = tanh(x[i]); y }
fn sines(x: [f64; i]) -> [f64; i] { let y[i] = sin(x[i]); y }
fn roots(x: [f64; i]) -> [f64; i] { let y[i] = sqrt(x[i]); y }
fn powers(x: [f64; i]) -> [f64; i] { let y[i] = pow(x[i], 2.5); y }
fn softmax(x: [f64; i]) -> [f64; i] {
    let e[i] = exp(x[i]);
    let y[i] = e[i] / sum[i](e[i]);
    y
}
fn product(a: [f64; i, k], b: [f64; k, j]) -> [f64; i, j] {
    let c[i, j] = sum[k](a[i, k] * b[k, j]);
    c
}
fn total(a: [f64; i, k], b: [f64; k, j]) -> f64 {
    let c[i, j] = sum[k](a[i, k] * b[k, j]);
    sum[i, j](c[i, j] * c[i, j])
}
fn smooth(x: [f64; i], a: f64) -> [f64; i] {
    let y[i] = a * x[i] * x[i] + tanh(a);
    y
}
"""

VECTORS = ["exps", "logs", "tanhs", "sines", "roots", "powers", "softmax"]
MATRICES = ["product", "total"]

PACKED = """
struct Fit { line: [f64; ?], error: f64 }
fn two(x: [f64; i], w: [f64; i]) -> ([f64; i], f64) {
    let y[i] = x[i] * x[i] * w[i];
    (y, sum[i](x[i] * w[i]))
}
fn fit(x: [f64; i]) -> Fit {
    let y[i] = x[i] * x[i] * x[i];
    Fit { line: y, error: sum[i](y[i]) }
}
fn best(x: [f64; i]) -> ([f64; i], i32) {
    let y[i] = x[i] * x[i];
    (y, argmax[i](x[i]))
}
fn named(x: [f64; i]) -> str { "x" }
"""

# Each takes arrays that `SQUARE`, `VECTOR` and `ROWS` of a test stand for.
STANDARD = """
use std::ml as ml;
use std::linalg as la;
use std::{fft, signal, stats, interp};

fn softmax(x: [f64; b, j]) -> [f64; b, j] { ml::softmax(x) }
fn log_softmax(x: [f64; b, j]) -> [f64; b, j] { ml::log_softmax(x) }
fn gelu(x: [f64; b, j]) -> [f64; b, j] { ml::gelu(x) }
fn softplus(x: [f64; b, j]) -> [f64; b, j] { ml::softplus(x) }
fn mish(x: [f64; b, j]) -> [f64; b, j] { ml::mish(x) }
fn variance(x: [f64; b, j]) -> [f64; b] { stats::variance[j](x) }
fn covariance(x: [f64; b, j]) { stats::covariance(x) }
fn solve(a: [f64; ?n, ?n], v: [f64; ?n]) { la::solve(a, v) }
fn inverse(a: [f64; ?n, ?n]) { la::inv(a) }
fn determinant(a: [f64; ?n, ?n]) -> f64 { la::det(a) }
fn cholesky(a: [f64; ?n, ?n]) { let s[p, q] = a[p, q] + a[q, p]; la::cholesky(s) }
fn fourier(v: [f64; i]) { fft::rfft(v) }
fn convolve(v: [f64; i], k: [f64; j]) { signal::convolve(v, k) }
fn filter(v: [f64; i]) { signal::smoothed(v, 0.3) }
fn between(x: f64, v: [f64; 3]) -> f64 { interp::linear(x, [0.0, 1.0, 2.0], v) }
"""

ROWS = ["softmax", "log_softmax", "gelu", "softplus", "mish", "variance", "covariance"]
SQUARES = ["inverse", "determinant", "cholesky"]
SIGNALS = ["fourier", "filter"]


def standard_arguments(name):
    """Numbers for a function of `STANDARD`."""
    rows = [[0.5, 1.25, -0.75], [0.1, 0.9, 0.4]]
    square = [[3.0, 0.5, 0.2], [0.4, 4.0, 0.1], [0.3, 0.2, 5.0]]
    vector = [0.5, 1.5, -1.0]
    if name in ROWS:
        return (rows,)
    if name in SQUARES:
        return (square,)
    return {
        "solve": (square, vector),
        "convolve": (vector, [0.25, 0.75]),
        "between": (0.3, vector),
    }.get(name, (vector,))


ALL_STANDARD = [*ROWS, *SQUARES, *SIGNALS, "solve", "convolve", "between"]
