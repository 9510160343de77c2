"""Names across the boundary."""

import numpy as np
import pytest

import einlang as ein

xr = pytest.importorskip("xarray", reason="xarray is not installed")


def data(*dims, **sizes):
    shape = [sizes.get(name, 3) for name in dims]
    return xr.DataArray(np.random.default_rng(2).random(shape).astype(np.float32), dims=dims)


def test_names_are_checked_and_given_back(m):
    x, w = data("n", "i"), data("i", "o", o=2)
    y = m.dense(x, w, 1.0)
    assert isinstance(y, xr.DataArray) and y.dims == ("n", "o")
    np.testing.assert_allclose(y.data, x.data @ w.data, rtol=1e-5)
    q = data("batch", "query", "d", query=5)
    k = data("batch", "key", "d", key=5)
    assert m.attention(q, k, k).dims == ("batch", "query", "d")


def test_a_swap_is_an_error_with_both_names(m):
    # All extents are equal: nothing but the names tells them apart.
    x, w = data("n", "i"), data("i", "o")
    with pytest.raises(ein.CompileError) as caught:
        m.dense(x.T, w)
    assert caught.value.code.startswith("E03")
    assert "`n`" in str(caught.value) and "`i`" in str(caught.value)
    with pytest.raises(ein.CompileError) as caught:
        m.dense(x, w.rename(o="p"))
    assert caught.value.code.startswith("E03") and "`o`" in str(caught.value)
    with pytest.raises(ein.CompileError) as caught:
        m.attention(data("query", "d"), data("query", "d"), data("key", "d"))
    assert caught.value.code.startswith("E03")


def test_axes_without_names_have_none(m):
    x = xr.DataArray(np.ones((2, 3), np.float32))
    assert m.dense(x, data("i", "o")).dims == ("n", "o")
    odd = data("a name", "let")
    assert m.turned(odd).shape == (3, 3)
    assert m.both(data("n", "i"), data("i", "o"))[1].dims == ()


def test_types_and_mixtures(m):
    x, w = data("n", "i"), data("i", "o")
    with pytest.raises(ein.CompileError) as caught:
        m.dense(x.astype(np.float64), w)
    assert caught.value.code == "E0904"
    assert isinstance(m.dense(x, w.data), ein.Tensor)
    assert m.dense(x, w.data).dims == ("n", "o")
    # A tensor of ours has names, too.
    with pytest.raises(ein.CompileError):
        m.dense(ein.Tensor(x.data, dims=["i", "n"]), w)


def test_derivatives_have_names():
    m = ein.compile("fn f(x: [f32; row, col]) -> f32 { sum[row, col](x[row, col] * x[row, col]) }")
    x = data("row", "col")
    g = ein.grad(m.f)(x)
    assert isinstance(g, xr.DataArray) and g.dims == ("row", "col")
    np.testing.assert_allclose(g.data, 2 * x.data, rtol=1e-6)
