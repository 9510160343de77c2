"""Functions for JAX: gradients, `jit`, and `vmap` by lifting."""

import pickle

import library
import numpy as np
import pytest

import einlang as ein

jax = pytest.importorskip("jax", reason="jax is not installed")
jax.config.update("jax_enable_x64", True)
jnp = jax.numpy



def test_arrays_come_back_in_kind(m):
    x = jnp.ones((2, 3), jnp.float32)
    y = m.dense(x, x.T)
    assert isinstance(y, jax.Array) and y.shape == (2, 2)
    assert isinstance(m.both(x, x.T)[1], jax.Array)
    assert m.same(jnp.zeros((0, 3))).shape == (0, 3)
    for dtype in ("bool", "int8", "uint16", "int64", "float16", "bfloat16", "float64"):
        z = jnp.zeros((2, 3), dtype)
        assert m.same(z).dtype == z.dtype


def test_results_are_not_copied(m):
    """Small types take the shortest way, large ones the public one; both share the memory."""
    for dtype in ("float32", "float64", "int8"):
        x = jnp.arange(6, dtype=dtype).reshape(2, 3)
        y = m.turned(x)
        assert isinstance(y, jax.Array) and y.dtype == x.dtype
        np.testing.assert_array_equal(jax.jit(lambda y: y + y)(y), 2 * np.asarray(x).T)
    assert ein._arrays.jax_maker() is not None


def test_wrapped_functions_can_be_pickled(m):
    again = pickle.loads(pickle.dumps(m.square.jax()))
    assert jax.grad(again)(3.0) == 6.0 and again.__name__ == "square"


@pytest.mark.parametrize("name", library.VECTORS)
def test_gradients_of_vectors(lib, name):
    from jax.test_util import check_grads

    check_grads(getattr(lib, name).jax(), (jnp.array([0.5, 1.25, 2.0]),), order=1)


@pytest.mark.parametrize("name", library.MATRICES)
def test_gradients_of_matrices(lib, name):
    from jax.test_util import check_grads

    a, b = jnp.arange(6.0).reshape(2, 3) / 5, jnp.arange(12.0).reshape(3, 4) / 7
    check_grads(getattr(lib, name).jax(), (a, b), order=1)


def test_gradients_by_numbers(lib):
    from jax.test_util import check_grads

    check_grads(lib.smooth.jax(), (jnp.array([0.5, 1.5]), 0.75), order=1)


def test_inside_jit(lib):
    f = lib.product.jax()
    a, b = jnp.ones((2, 3)), jnp.ones((3, 4))

    @jax.jit
    def loss(a, b):
        return (f(a, b) ** 2).sum()

    np.testing.assert_allclose(loss(a, b), ((a @ b) ** 2).sum())
    got = jax.jit(jax.grad(loss, argnums=(0, 1)))(a, b)
    want = jax.grad(lambda a, b: ((a @ b) ** 2).sum(), argnums=(0, 1))(a, b)
    for one, other in zip(got, want):
        np.testing.assert_allclose(one, other)


def test_vmap_calls_the_lifted_function(lib):
    f = lib.tanhs.jax()
    x = jnp.arange(15.0).reshape(5, 3) / 10
    want = jnp.tanh(x)
    np.testing.assert_allclose(jax.vmap(f)(x), want, rtol=1e-12)
    np.testing.assert_allclose(jax.vmap(f, in_axes=1, out_axes=1)(x), want, rtol=1e-12)
    np.testing.assert_allclose(jax.jit(jax.vmap(f))(x), want, rtol=1e-12)
    np.testing.assert_allclose(jax.vmap(jax.vmap(f))(x[None]), want[None], rtol=1e-12)
    product = lib.product.jax()
    a, b = jnp.ones((4, 2, 3)), jnp.ones((3, 5))
    np.testing.assert_allclose(jax.vmap(product, (0, None))(a, b), a @ b)
    np.testing.assert_allclose(jax.vmap(product, (None, 0))(a[0], jnp.stack([b, 2 * b])), jnp.stack([a[0] @ b, 2 * a[0] @ b]))
    grads = jax.vmap(jax.grad(lambda x: f(x).sum()))(x)
    np.testing.assert_allclose(grads, 1 - want**2, rtol=1e-10)
    total = lib.total.jax()
    np.testing.assert_allclose(jax.vmap(total, (0, None))(a, b), ((a @ b) ** 2).sum((1, 2)))


def test_traced_arrays_are_refused_with_a_way_out(m):
    with pytest.raises(ein.EinlangError, match=r"f.jax\(\)"):
        jax.jit(lambda x: m.dense(x, x))(jnp.ones((2, 2), jnp.float32))


@pytest.mark.parametrize("name", ["tanhs", *library.VECTORS[:4]])
def test_second_derivatives(lib, name):
    from jax.test_util import check_grads

    check_grads(getattr(lib, name).jax(), (jnp.array([0.5, 1.25, 2.0]),), order=2)


def test_several_arrays_have_derivatives():
    packed = ein.compile(library.PACKED)
    f = packed.two.jax()
    x, w = jnp.array([1.0, 2.0, 3.0]), jnp.array([0.5, 1.5, 2.5])

    def loss(f):
        def inner(x, w):
            y, s = f(x, w)
            return (y**2).sum() + s**3

        return inner

    ours, theirs = loss(f), loss(lambda x, w: (x * x * w, (x * w).sum()))
    for wrap in (lambda f: f, jax.jit):
        for one, other in zip(wrap(jax.grad(ours, (0, 1)))(x, w), jax.grad(theirs, (0, 1))(x, w)):
            np.testing.assert_allclose(one, other, rtol=1e-12)
        got, want = wrap(jax.jacrev(jax.grad(ours)))(x, w), jax.jacrev(jax.grad(theirs))(x, w)
        np.testing.assert_allclose(got, want, rtol=1e-12)
    fit = packed.fit.jax()
    assert fit(x).error == (x**3).sum()
    np.testing.assert_allclose(jax.grad(lambda x: fit(x).error)(x), 3 * x * x)
    best = packed.best.jax()
    assert best(x)[1] == 2
    np.testing.assert_allclose(jax.grad(lambda x: best(x)[0].sum())(x), 2 * x)
    with pytest.raises(ein.EinlangError, match="no array"):
        packed.named.jax()(x)


@pytest.mark.parametrize("name", library.ALL_STANDARD)
def test_gradients_of_the_library(standard, name):
    from jax.test_util import check_grads

    args = tuple(jnp.array(arg) for arg in library.standard_arguments(name))
    check_grads(getattr(standard, name).jax(), args, order=1)


@pytest.mark.parametrize("axes", [((0, 0), (0, None)), ((0, None), (0, 0)), ((0, None), (None, 0)), ((None, 0), (0, 0))])
def test_batches_in_batches(lib, axes):
    """Of the same size, so that shapes do not tell one batch from the other."""
    inner, outer = axes
    random = np.random.default_rng(5)
    shapes = [
        (3,) * sum(level[at] is not None for level in axes) + shape
        for at, shape in enumerate([(2, 4), (4, 5)])
    ]
    a, b = (jnp.array(random.random(shape)) for shape in shapes)
    sums = lambda a, b: ((a @ b) ** 2).sum()  # noqa: E731
    for ours, theirs in (
        (lib.product.jax(), jnp.matmul),
        (jax.grad(lib.total.jax()), jax.grad(sums)),
        (jax.grad(lib.total.jax(), 1), jax.grad(sums, 1)),
    ):
        got = jax.vmap(jax.vmap(ours, inner), outer)(a, b)
        want = jax.vmap(jax.vmap(theirs, inner), outer)(a, b)
        np.testing.assert_allclose(got, want, rtol=1e-10)


def test_forward_mode(lib):
    f, x, v = lib.softmax.jax(), jnp.array([0.5, 1.25, 2.0]), jnp.array([1.0, -1.0, 0.5])
    theirs = jax.nn.softmax
    for wrap in (lambda f: f, jax.jit):
        value, along = wrap(lambda x, v: jax.jvp(f, (x,), (v,)))(x, v)
        want, want_along = jax.jvp(theirs, (x,), (v,))
        np.testing.assert_allclose(value, want)
        np.testing.assert_allclose(along, want_along, rtol=1e-12)
        np.testing.assert_allclose(wrap(jax.jacfwd(f))(x), jax.jacfwd(theirs)(x), atol=1e-12)
        np.testing.assert_allclose(wrap(jax.jacrev(f))(x), jax.jacrev(theirs)(x), atol=1e-12)
    total, a, b = lib.total.jax(), jnp.arange(6.0).reshape(2, 3) / 5, jnp.arange(12.0).reshape(3, 4) / 7
    sums = lambda a, b: ((a @ b) ** 2).sum()  # noqa: E731
    for wrap in (lambda f: f, jax.jit):
        for mine, want in zip(
            jax.tree.leaves(wrap(jax.hessian(total, (0, 1)))(a, b)),
            jax.tree.leaves(jax.hessian(sums, (0, 1))(a, b)),
        ):
            np.testing.assert_allclose(mine, want, atol=1e-10)
    linear = jax.linearize(f, x)[1]
    np.testing.assert_allclose(linear(v), jax.linearize(theirs, x)[1](v), rtol=1e-12)
    kept = jax.checkpoint(lambda x: f(x).max())
    np.testing.assert_allclose(jax.grad(kept)(x), jax.grad(lambda x: theirs(x).max())(x), atol=1e-12)


def test_inside_control_flow(lib):
    f = lib.tanhs.jax()

    @jax.jit
    def steps(x):
        return jax.lax.scan(lambda x, _: (f(x), f(x).sum()), x, None, length=4)[1].sum()

    def theirs(x):
        return jax.lax.scan(lambda x, _: (jnp.tanh(x), jnp.tanh(x).sum()), x, None, length=4)[1].sum()

    x = jnp.array([0.5, 1.25, 2.0])
    np.testing.assert_allclose(steps(x), theirs(x))
    np.testing.assert_allclose(jax.grad(steps)(x), jax.grad(theirs)(x), rtol=1e-12)


def test_large_arrays_inside_jit(lib):
    """The callback looks at arrays that JAX may still be computing."""
    f = lib.product.jax()
    a = jnp.ones((400, 400))
    for _ in range(3):
        got = jax.jit(lambda a: f(a @ a, a + 1).sum())(a)
        np.testing.assert_allclose(got, 400.0**2 * 400 * 400 * 2)


def test_structs_are_refused(m):
    with pytest.raises(ein.CompileError, match="`p` is a struct"):
        m.affine.jax()({"w": jnp.ones((3, 2)), "b": jnp.ones(2)}, jnp.ones(3))
