"""What the tests share: a program, and a report of the libraries that are missing."""

import importlib.util

import library
import pytest

import einlang as ein

PROGRAM = """
use std::math::{exp, tanh};

/// Softmax attention.
pub fn attention(
    q: [f32; ..lead, query in seq, d],
    k: [f32; ..lead, key in seq, d],
    v: [f32; ..lead, key in seq, d],
) -> [f32; ..lead, query in seq, d] {
    let s[..lead, query, key] = sum[d](q[..lead, query, d] * k[..lead, key, d]);
    let m[..lead, query] = max[key](s[..lead, query, key]);
    let e[..lead, query, key] = exp(s[..lead, query, key] - m[..lead, query]);
    let z[..lead, query] = sum[key](e[..lead, query, key]);
    let o[..lead, query, d] = sum[key](e[..lead, query, key] * v[..lead, key, d]) / z[..lead, query];
    o
}

fn dense(x: [f32; n, i], w: [f32; i, o], scale: f32 = 2.0, bias: f32 = 0.0) -> [f32; n, o] {
    let y[n, o] = scale * sum[i](x[n, i] * w[i, o]) + bias;
    y
}

fn both(x: [f32; n, i], w: [f32; i, o]) -> ([f32; n, o], f32) {
    let y[n, o] = sum[i](x[n, i] * w[i, o]);
    (y, sum[n, o](y[n, o]))
}

fn add3(a: [f32; i], b: [f32; i], c: [f32; i]) -> [f32; i] {
    let y[i] = a[i] + b[i] + c[i];
    y
}

fn twice<T>(x: [T; ..s]) -> [T; ..s] {
    let y[..s] = x[..s] + x[..s];
    y
}

fn same<T>(x: [T; ..s]) -> [T; ..s] {
    x
}

fn turned<T>(x: [T; row, col]) -> [T; col, row] {
    let y[col, row] = x[row, col];
    y
}

fn square(x) {
    x * x
}

fn loss(w: [f64; i], b: f64, x: [f64; n, i], t: [f64; n]) -> f64 {
    let p[n] = tanh(sum[i](w[i] * x[n, i]) + b) - t[n];
    sum[n](p[n] * p[n])
}

fn pick(x: [f32; n], at: i32) -> f32 {
    x[at]
}

struct Params {
    w: [f64; i, o],
    b: [f64; o],
}

fn affine(p: Params, x: [f64; i]) -> [f64; o] {
    let y[o] = sum[i](p.w[i, o] * x[i]) + p.b[o];
    y
}

fn hello(name: str) -> str {
    "hello {name}"
}

fn steps(x: [f64; n], count: i32) -> [f64; n] {
    let y[t in 0..1, n] = x[n];
    let y[t in 1..count, n] = 0.5 * y[t - 1, n] + 1.0;
    let z[n] = y[count - 1, n];
    z
}

fn spin(count: i64) -> i64 {
    sum[i in 0..1000, j in 0..1000000000]((i * j + i) % 7) as i64 + count
}
"""


@pytest.fixture(scope="session")
def m():
    return ein.compile(PROGRAM)


@pytest.fixture(scope="session")
def lib():
    return ein.compile(library.PROGRAM)


@pytest.fixture(scope="session")
def standard():
    return ein.compile(library.STANDARD)


def pytest_report_header(config):
    missing = [
        name
        for name in ("torch", "jax", "xarray", "nbclient", "ipykernel", "ml_dtypes", "mypy")
        if importlib.util.find_spec(name) is None
    ]
    return f"not installed, so skipped: {', '.join(missing)}" if missing else "all libraries are here"
