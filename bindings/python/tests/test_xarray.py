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


def test_fields_and_parts_have_names():
    m = ein.compile("""
        struct Fit { w: [f64; i, o], b: [f64; o], error: f64, free: [f64; ?, ?] }
        fn fit(x: [f64; i, o]) -> Fit {
            let b[o] = sum[i](x[i, o]);
            Fit { w: x, b: b, error: sum[o](b[o]), free: x }
        }
        fn two(x: [f64; i, o]) -> ([f64; o, i], ([f64; o], f64)) {
            let y[o, i] = x[i, o];
            let b[o] = sum[i](x[i, o]);
            (y, (b, 1.0))
        }
        fn rows(x: [f64; i, o], w: [f64; o]) -> [f64; i] { let y[i] = sum[o](x[i, o] * w[o]); y }
    """)
    x = xr.DataArray(np.arange(6.0).reshape(2, 3), dims=("i", "o"))
    found = m.fit(x)
    assert found.w.dims == ("i", "o") and found.b.dims == ("o",) and found.error.dims == ()
    assert found.free.dims == ("dim_0", "dim_1")
    assert m.fit(x.data.tolist()).w.dims == ("i", "o")
    y, (b, one) = m.two(x)
    assert y.dims == ("o", "i") and b.dims == ("o",) and one == 1
    w = xr.DataArray(np.ones(3), dims=("o",))
    assert ein.jacobian(m.rows, wrt="x")(x, w).dims[:1] == ("i",)
    value, pull = ein.vjp(m.rows, x, w)
    assert [it.dims for it in pull(value)] == [("i", "o"), ("o",)]
    with pytest.raises(ein.CompileError, match="`o` at axis 0, where the value has `i`"):
        pull(value.rename(i="o"))
    square = xr.DataArray(np.ones((3, 3)), dims=("i", "o"))
    ein.jvp(m.rows, (square, w), (square, w))
    with pytest.raises(ein.CompileError, match="the tangent of `x`"):
        ein.jvp(m.rows, (square, w), (square.T, w))
    c = ein.ein("C[i, j] = sum[k](A[i, k] * B[k, j])", A=x.rename(o="k"), B=x.T.rename(o="k", i="j"))
    assert c.dims == ("i", "j")
    with pytest.raises(ein.CompileError) as caught:
        ein.ein("C[i, j] = sum[k](A[i, k] * B[j, k])", A=x.rename(o="k"), B=x.T.rename(o="k", i="j"))
    assert caught.value.code.startswith("E03")


def test_names_of_inputs_of_programs():
    text = "let x: [f64; row: ?, col: ?] = input();\nlet y[col] = sum[row](x[row, col]);"
    x = xr.DataArray(np.ones((3, 3)), dims=("row", "col"))
    assert ein.run(text, {"x": x})["y"].dims == ("col",)
    assert ein.run(text, {"x": xr.DataArray(np.ones((2, 2)))})["y"].shape == (2,)
    for bad, code, fix in ((x.T, "E0311", "x.transpose"), (x.rename(col="time"), "E0309", "x.rename(time=")):
        with pytest.raises(ein.CompileError) as caught:
            ein.run(text, {"x": bad})
        assert caught.value.code == code and fix in str(caught.value) and "`col`" in str(caught.value)


def test_shapes_are_named_in_messages(m):
    with pytest.raises(ein.CompileError) as caught:
        m.dense(np.ones((2, 3), np.float32), np.ones((4, 2), np.float32))
    assert caught.value.code == "E0411" and "along `i`, axis 0 of `w`" in str(caught.value)


def test_words_that_are_names_of_axes_too():
    # `in` is a word of the language, and the name that the other axis of a weight has.
    m = ein.compile("""
pub fn dense(x: [f32; n, in], w: [f32; out, in]) -> [f32; n, out] {
    let y[n, out] = sum[in](x[n, in] * w[out, in]);
    y
}
pub fn doubled(x: [f32; n]) -> [f32; n] { x * 2.0 }
""")
    x, w = data("n", "in"), data("out", "in")
    y = m.dense(x, w)
    assert y.dims == ("n", "out")
    np.testing.assert_allclose(y.data, x.data @ w.data.T, rtol=1e-5)
    with pytest.raises(ein.CompileError) as caught:
        m.dense(x.T, w)
    assert caught.value.code.startswith("E03")
    assert "`n`" in str(caught.value) and "`in`" in str(caught.value)
    with pytest.raises(ein.CompileError) as caught:
        m.dense(x, data("in", "p"))
    assert caught.value.code.startswith("E03") and "`in`" in str(caught.value)
    # Its name is not lost on the way: `in` is not `n`.
    with pytest.raises(ein.CompileError) as caught:
        m.doubled(data("in"))
    assert caught.value.code.startswith("E03") and "`in`" in str(caught.value)
