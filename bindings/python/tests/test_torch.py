"""Functions for PyTorch: autograd, modules, `torch.func`."""

import pickle

import library
import numpy as np
import pytest

import einlang as ein

torch = pytest.importorskip("torch", reason="torch is not installed")



def test_wrapped_functions_can_be_pickled(m):
    again = pickle.loads(pickle.dumps(m.square.torch()))
    x = torch.tensor(3.0, requires_grad=True)
    again(x).backward()
    assert x.grad == 6.0 and again.__name__ == "square"


def test_what_cannot_be_read_is_refused(m):
    x = torch.ones(3)
    strange = [
        (x.to_sparse(), "cannot be read"),
        (torch.ones(2, device="meta"), "cannot be read"),
        (x.to(torch.float8_e5m2), r"x\.to\(torch\.float32\)"),
        (x.to(torch.complex64), r"`x\.real` and `x\.imag`"),
    ]
    for bad, text in strange:
        with pytest.raises(ein.CompileError, match=text):
            m.twice(bad)
    with pytest.raises(ein.CompileError, match=r"f\.torch\(\)"):
        torch.vmap(lambda a: m.twice(a))(torch.ones(2, 3))
    assert m.twice(torch.ones(2, dtype=torch.complex64).conj().imag).tolist() == [0, 0]


def test_tensors_come_back_in_kind(m):
    x = torch.ones(2, 3)
    y = m.dense(x, x.T)
    assert isinstance(y, torch.Tensor) and y.shape == (2, 2)
    assert m.same(torch.zeros(0, 3)).shape == (0, 3)
    for dtype in (torch.bool, torch.int8, torch.int64, torch.float16, torch.bfloat16, torch.float64):
        z = torch.zeros(2, 3, dtype=dtype)
        assert m.same(z).dtype == dtype
    assert torch.equal(m.turned(x.T[::2] if False else x), x.T)
    with pytest.raises(ein.EinlangError, match="torch.float32"):
        m.dense(x.double(), x.T)


@pytest.mark.parametrize("name", library.VECTORS)
def test_gradcheck_of_vectors(lib, name):
    x = torch.tensor([0.5, 1.25, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(getattr(lib, name).torch(), (x,))


@pytest.mark.parametrize("name", library.MATRICES)
def test_gradcheck_of_matrices(lib, name):
    a = (torch.arange(6.0, dtype=torch.float64).reshape(2, 3) / 5).requires_grad_()
    b = (torch.arange(12.0, dtype=torch.float64).reshape(3, 4) / 7).requires_grad_()
    assert torch.autograd.gradcheck(getattr(lib, name).torch(), (a, b))


def test_gradcheck_by_numbers(lib):
    x = torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True)
    a = torch.tensor(0.75, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lib.smooth.torch(), (x, a))
    lib.smooth.torch()(x, 0.5).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), x.detach().numpy())


def test_no_grad_and_modules(lib):
    f = lib.product.torch()
    a, b = torch.ones(2, 3, dtype=torch.float64, requires_grad=True), torch.ones(3, 4, dtype=torch.float64)
    with torch.no_grad():
        assert not f(a, b).requires_grad

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(3, 4, dtype=torch.float64))

        def forward(self, x):
            return f(x, self.w)

    layer = Layer()
    layer(a.detach()).sum().backward()
    np.testing.assert_allclose(layer.w.grad.numpy(), np.full((3, 4), 2.0))


def test_func(lib):
    f = lib.total.torch()
    a, b = torch.ones(2, 3, dtype=torch.float64), torch.ones(3, 4, dtype=torch.float64)
    got = torch.func.grad(f)(a, b)
    np.testing.assert_allclose(got.numpy(), (2 * (a @ b) @ b.T).numpy())
    many = torch.func.vmap(lib.tanhs.torch())(a)
    np.testing.assert_allclose(many.numpy(), np.tanh(a.numpy()))


@pytest.mark.parametrize("name", ["tanhs", *library.VECTORS[:4]])
def test_second_derivatives(lib, name):
    x = torch.tensor([0.5, 1.25, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(getattr(lib, name).torch(), (x,))


def test_several_arrays_have_derivatives():
    packed = ein.compile(library.PACKED)
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    w = torch.tensor([0.5, 1.5, 2.5], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(packed.two.torch(), (x, w))
    assert torch.autograd.gradgradcheck(packed.two.torch(), (x, w))
    fit = packed.fit.torch()
    (found,) = torch.autograd.grad(fit(x).error, x)
    np.testing.assert_allclose(found.numpy(), 3 * x.detach().numpy() ** 2)
    y, at = packed.best.torch()(x)
    assert at.item() == 2 and not at.requires_grad
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.detach().numpy())
    hessian = torch.func.hessian(lambda x: packed.fit.torch()(x).error)
    np.testing.assert_allclose(hessian(x.detach()).numpy(), np.diag(6 * x.detach().numpy()))
    with pytest.raises(ein.EinlangError, match="no array"):
        packed.named.torch()(x)
    assert packed.two.torch()([1.0], [2.0])[1] == 2.0


@pytest.mark.parametrize("name", library.ALL_STANDARD)
def test_gradcheck_of_the_library(standard, name):
    args = tuple(
        torch.tensor(arg, dtype=torch.float64, requires_grad=True)
        for arg in library.standard_arguments(name)
    )
    assert torch.autograd.gradcheck(getattr(standard, name).torch(), args)


def test_gradients_of_each_sample(lib):
    f = lib.total.torch()
    a = torch.arange(12.0, dtype=torch.float64).reshape(2, 2, 3) / 7
    b = torch.arange(12.0, dtype=torch.float64).reshape(3, 4) / 5
    got = torch.func.vmap(torch.func.grad(f, argnums=1), in_dims=(0, None))(a, b)
    want = torch.stack([2 * one.T @ (one @ b) for one in a])
    np.testing.assert_allclose(got.numpy(), want.numpy())
    tangents = torch.func.jvp(lib.tanhs.torch(), (a[0, 0],), (torch.ones(3, dtype=torch.float64),))[1]
    np.testing.assert_allclose(tangents.numpy(), 1 - np.tanh(a[0, 0].numpy()) ** 2)


@pytest.mark.parametrize("axes", [((0, 0), (0, None)), ((0, None), (0, 0)), ((0, None), (None, 0)), ((None, 0), (0, 0))])
def test_batches_in_batches(lib, axes):
    """Of the same size, so that shapes do not tell one batch from the other."""
    inner, outer = axes
    torch.manual_seed(5)
    shapes = [
        (3,) * sum(level[at] is not None for level in axes) + shape
        for at, shape in enumerate([(2, 4), (4, 5)])
    ]
    a, b = (torch.rand(shape, dtype=torch.float64) for shape in shapes)
    sums = lambda a, b: ((a @ b) ** 2).sum()  # noqa: E731
    for ours, theirs in (
        (lib.product.torch(), torch.matmul),
        (torch.func.grad(lib.total.torch()), torch.func.grad(sums)),
        (torch.func.grad(lib.total.torch(), 1), torch.func.grad(sums, 1)),
    ):
        got = torch.func.vmap(torch.func.vmap(ours, inner), outer)(a, b)
        want = torch.func.vmap(torch.func.vmap(theirs, inner), outer)(a, b)
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-10)


@pytest.mark.parametrize("name", library.MATRICES)
def test_second_derivatives_of_matrices(lib, name):
    a = (torch.arange(6.0, dtype=torch.float64).reshape(2, 3) / 5).requires_grad_()
    b = (torch.arange(12.0, dtype=torch.float64).reshape(3, 4) / 7).requires_grad_()
    assert torch.autograd.gradgradcheck(getattr(lib, name).torch(), (a, b))


def test_second_derivatives_by_numbers(lib):
    x = torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True)
    a = torch.tensor(0.75, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lib.smooth.torch(), (x, a))


@pytest.mark.parametrize("name", library.ALL_STANDARD)
def test_second_derivatives_of_the_library(standard, name):
    args = tuple(
        torch.tensor(arg, dtype=torch.float64, requires_grad=True)
        for arg in library.standard_arguments(name)
    )
    assert torch.autograd.gradgradcheck(getattr(standard, name).torch(), args)


def test_forward_mode(lib):
    total = lib.total.torch()
    a = torch.arange(6.0, dtype=torch.float64).reshape(2, 3) / 5
    b = torch.arange(12.0, dtype=torch.float64).reshape(3, 4) / 7
    sums = lambda a, b: ((a @ b) ** 2).sum()  # noqa: E731
    for make in (torch.func.jacfwd, torch.func.jacrev, torch.func.hessian):
        for at in (0, 1):
            np.testing.assert_allclose(make(total, at)(a, b).numpy(), make(sums, at)(a, b).numpy(), atol=1e-10)


def test_structs_are_not_followed_in_silence(m):
    p = {"w": torch.ones(3, 2, dtype=torch.float64), "b": torch.ones(2, dtype=torch.float64)}
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    m.affine.torch()(p, x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2.0)
    p["w"].requires_grad_()
    with pytest.raises(ein.CompileError, match="`p` is a struct"):
        m.affine.torch()(p, x)
