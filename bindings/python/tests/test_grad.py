"""Derivatives against differences."""

import pickle

import numpy as np
import pytest

import einlang as ein

RANDOM = np.random.default_rng(1)


@pytest.fixture
def data():
    return (
        RANDOM.standard_normal(3),
        0.25,
        RANDOM.standard_normal((5, 3)),
        RANDOM.standard_normal(5),
    )


def slope(f, args, at, direction, h=1e-6):
    lo, hi = list(args), list(args)
    lo[at], hi[at] = args[at] - h * direction, args[at] + h * direction
    return (f(*hi) - f(*lo)) / (2 * h)


def test_grad(m, data):
    g = ein.grad(m.loss)(*data)
    assert g.shape == (3,)
    for at in range(3):
        unit = np.eye(3)[at]
        np.testing.assert_allclose(g[at], slope(m.loss, data, 0, unit), rtol=1e-6)


def test_value_and_grad(m, data):
    value, (dw, db, dx) = ein.value_and_grad(m.loss, wrt=("w", "b", "x"))(*data)
    np.testing.assert_allclose(value, m.loss(*data))
    np.testing.assert_allclose(db, slope(m.loss, data, 1, 1.0), rtol=1e-6)
    direction = RANDOM.standard_normal((5, 3))
    np.testing.assert_allclose((dx * direction).sum(), slope(m.loss, data, 2, direction), rtol=1e-5)
    by_number = ein.value_and_grad(m.loss, wrt=0)(*data)
    np.testing.assert_allclose(by_number[1], dw)


def test_jacobian_vjp_jvp():
    m = ein.compile("fn f(x: [f64; i], a: [f64; j, i]) -> [f64; j] { let y[j] = sum[i](a[j, i] * x[i] * x[i]); y }")
    x, a = RANDOM.standard_normal(3), RANDOM.standard_normal((2, 3))
    jac = ein.jacobian(m.f)(x, a)
    np.testing.assert_allclose(jac, 2 * a * x)
    value, pull = ein.vjp(m.f, x, a)
    seed = RANDOM.standard_normal(2)
    dx, da = pull(seed)
    np.testing.assert_allclose(dx, seed @ (2 * a * x))
    np.testing.assert_allclose(da, np.outer(seed, x * x))
    value, tangent = ein.jvp(m.f, (x, a), (x, a))
    np.testing.assert_allclose(tangent, 2 * (a * x) @ x + a @ (x * x))
    (only,) = ein.vjp(m.f, x, a, wrt="x")[1](seed)
    np.testing.assert_allclose(only, dx)


def test_what_is_no_float_has_no_derivative():
    m = ein.compile("""
        fn scaled(x: [f64; i], n: [i64; i], k: i64) -> [f64; i] {
            let y[i] = x[i] * x[i] * (n[i] + k) as f64;
            y
        }
        fn counted(n: [i64; i]) -> i64 { sum[i](n[i]) }
    """)
    x, n = np.array([1.0, 2.0, 3.0]), np.array([1, 2, 3])
    value, back = ein.vjp(m.scaled, x, n, 1)
    np.testing.assert_array_equal(value, x * x * (n + 1))
    (dx,) = back(np.ones(3))
    np.testing.assert_array_equal(dx, 2 * x * (n + 1))
    value, along = ein.jvp(m.scaled, (x, n, 1), (np.ones(3),))
    np.testing.assert_array_equal(along, dx)
    with pytest.raises(ein.CompileError) as caught:
        ein.vjp(m.counted, n)
    assert caught.value.code == "E0703"


def test_mistakes(m, data):
    with pytest.raises(ein.EinlangError) as caught:
        ein.grad(m.loss, wrt="nothing")
    assert caught.value.code == "E0509"
    with pytest.raises(ein.EinlangError):
        ein.grad(lambda x: x)
    with pytest.raises(ein.EinlangError) as caught:
        ein.grad(m.dense)(np.ones((2, 3), np.float32), np.ones((3, 2), np.float32))
    assert "jacobian" in str(caught.value)
    with pytest.raises(ein.EinlangError):
        ein.grad(m.pick, wrt="at")(np.ones(3, np.float32), 1)
    with pytest.raises(ein.EinlangError):
        ein.jvp(m.loss, data, ())


SECOND = """
fn loss(x: [f64; i], w: [f64; i]) -> f64 { sum[i](x[i] ** 3 * w[i]) }
fn cube(x: f64) -> f64 { x ** 3 }
"""


def test_derivatives_of_derivatives():
    m = ein.compile(SECOND)
    x, w = np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.5, 2.5])
    np.testing.assert_allclose(ein.jacobian(ein.grad(m.loss))(x, w), np.diag(6 * x * w))
    np.testing.assert_allclose(ein.jacobian(ein.grad(m.loss), wrt="w")(x, w), np.diag(3 * x * x))
    assert ein.grad(ein.grad(m.cube))(2.0) == 12.0
    assert ein.grad(ein.grad(ein.grad(m.cube)))(x=2.0) == 6.0
    assert ein.value_and_grad(ein.grad(m.cube))(2.0) == (12.0, 12.0)
    value, pull = ein.vjp(ein.grad(m.loss), x, w)
    np.testing.assert_allclose(value, 3 * x * x * w)
    by_x, by_w = pull(np.ones(3))
    np.testing.assert_allclose(by_x, 6 * x * w)
    np.testing.assert_allclose(by_w, 3 * x * x)
    _, tangent = ein.jvp(ein.grad(m.loss), (x, w), (np.ones(3),), wrt="x")
    np.testing.assert_allclose(tangent, 6 * x * w)
    again = pickle.loads(pickle.dumps(ein.jacobian(ein.grad(m.loss))))
    np.testing.assert_allclose(again(x, w), np.diag(6 * x * w))


def test_what_gives_several_values_has_no_derivative():
    m = ein.compile(SECOND)
    for several in (ein.value_and_grad(m.loss), ein.grad(m.loss, wrt=("x", "w"))):
        with pytest.raises(ein.EinlangError) as caught:
            ein.grad(several)
        assert caught.value.code == "E0703"
    with pytest.raises(ein.EinlangError, match="jacobian"):
        ein.grad(ein.grad(m.loss))(np.ones(3), np.ones(3))
