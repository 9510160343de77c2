"""Calls at random: a right result, or an error with a code."""

import os
import random

import numpy as np
import pytest

import einlang as ein

TYPES = ["bool", "int8", "int32", "int64", "uint8", "float16", "float32", "float64", ">f4", "complex64", "U3"]
#: How many calls; fewer where each takes long.
COUNT = int(os.environ.get("EINLANG_CALLS", "1000"))


def array(rng, dtype=None, rank=None):
    dtype = dtype or rng.choice(TYPES)
    rank = rng.randint(0, 4) if rank is None else rank
    shape = [rng.choice([0, 1, 2, 3, 3, 3, 4]) for _ in range(rank)]
    x = np.arange(int(np.prod(shape))).reshape(shape)
    x = (x % 2 if dtype == "bool" else x).astype(dtype)
    for axis in range(rank):
        step = rng.choice([1, 1, 1, -1, 2])
        x = x[(slice(None),) * axis + (slice(None, None, step),)]
    if rank > 1 and rng.random() < 0.3:
        x = x.T
    if rng.random() < 0.2:
        x = np.array(x)
        x.setflags(write=False)
    if rng.random() < 0.1:
        x = np.broadcast_to(x, (2, *x.shape))
    return x


def odd(rng):
    return rng.choice(
        [
            None, 1, -1, 2.5, True, 1 << 70, float("nan"), "text", b"bytes", [1, 2, 3], [[1.0], [2.0]],
            [], [[]], [1, "a"], {"w": 1}, (1, 2), (), object(), lambda: 0, ein, range(3), 1j, {1, 2},
            ein.Tensor([1.0, 2.0, 3.0], dims=["n"]),
        ]
    )  # fmt: skip


def argument(rng):
    if rng.random() < 0.35:
        return odd(rng)
    if rng.random() < 0.6:
        return array(rng, "float32")
    x = array(rng)
    if rng.random() < 0.2 and x.dtype.kind in "fiub":
        xr = pytest.importorskip("xarray", reason="xarray is not installed")
        names = rng.sample(["n", "i", "o", "d", "query", "key", "row", "let", "a b", "dim_0"], x.ndim)
        return xr.DataArray(x, dims=names)
    return x


RIGHT = {
    "add3": lambda a, b, c: np.asarray(a) + np.asarray(b) + np.asarray(c),
    "twice": lambda x: np.asarray(x) + np.asarray(x),
    "same": lambda x: np.asarray(x),
    "turned": lambda x: np.swapaxes(np.asarray(x), -1, -2),
}


@pytest.mark.parametrize("part", range(10))
def test_calls_at_random(m, part):
    rng = random.Random(part)
    outcomes = {"right": 0, "error": 0}
    for _ in range(max(COUNT // 10, 10)):
        name = rng.choice(sorted(m.functions))
        if name == "spin":
            continue
        f = getattr(m, name)
        count = len(f._params) if rng.random() < 0.9 else rng.randint(0, 4)
        args = [argument(rng) for _ in range(count)]
        kwargs = {} if rng.random() < 0.9 else {rng.choice("axwq"): argument(rng)}
        try:
            y = f(*args, **kwargs)
        except ein.InternalError:
            raise
        except ein.EinlangError as error:
            assert error.code, repr(error)
            assert str(error)
            outcomes["error"] += 1
            continue
        outcomes["right"] += 1
        want = RIGHT.get(name)
        args = [np.frombuffer(arg, np.uint8) if isinstance(arg, bytes) else arg for arg in args]
        if want and not kwargs and not isinstance(y, str):
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(np.asarray(y, dtype=np.float64), np.asarray(want(*args), dtype=np.float64))
    assert outcomes["error"] > 0


def test_some_calls_succeed(m):
    rng = random.Random(99)
    good = 0
    for _ in range(COUNT // 5):
        x = array(rng, rng.choice(["float32", "int32", "float64"]))
        try:
            np.testing.assert_array_equal(m.same(x), x)
            good += 1
        except ein.EinlangError:
            pass
    assert good > COUNT // 5 * 3 // 4


def test_texts_at_random():
    rng = random.Random(5)
    pieces = ["let ", "fn f", "(", ")", "[", "]", "{", "}", "x", "i", "1.0", "+", "sum[i]", ";", "=", ":", "f32", "\n", "\0", "é", '"']
    for _ in range(COUNT // 5):
        text = "".join(rng.choice(pieces) for _ in range(rng.randint(0, 30)))
        try:
            ein.compile(text)
        except ein.InternalError:
            raise
        except ein.CompileError as error:
            assert error.code
        ein.check(text)
