"""Ten functions of the library, for the checks of derivatives by PyTorch and JAX."""

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
