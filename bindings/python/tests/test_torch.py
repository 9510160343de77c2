"""Functions for PyTorch: autograd, modules, `torch.func`."""

import sys

import numpy as np
import pytest

import einlang as ein

torch = pytest.importorskip("torch", reason="torch is not installed")

sys.path.insert(0, __file__.rsplit("/", 1)[0])
import library  # noqa: E402


@pytest.fixture(scope="module")
def lib():
    return ein.compile(library.PROGRAM)


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
