"""Calls at random with what is rare: arrays of every making, structs in tuples in structs, options,
arrays that change while a call runs. A right result, or an error with a code that names the parameter."""

import os
import random
import threading

import numpy as np
import pytest

import einlang as ein

#: How many calls; fewer where each takes long.
COUNT = int(os.environ.get("EINLANG_CALLS", "1000"))

PROGRAM = """
struct Point { at: [f64; d], mass: f64 }
struct Pair { a: Point, b: (f64, Point) }

fn same<T>(x: [T; ..s]) -> [T; ..s] { x }
fn rows(x: [f32; i, j]) -> [f32; i] { let y[i] = sum[j](x[i, j]); y }
fn ends(x: [f64; n]) -> (f64, f64) { (x[0], x[len(x) - 1]) }
fn moved(p: Point, by: f64) -> Point { let q[d] = p.at[d] + by; Point { at: q, mass: p.mass } }
fn heavy(p: Pair) -> f64 { p.a.mass + p.b.0 * p.b.1.mass }
fn joined(t: (str, [i32; n])) -> str { "{t.0} {sum[n](t.1[n])}" }
fn found(x: [f64; n], limit: f64) -> Option<f64> { if x[0] > limit { Some(x[0]) } else { None } }
fn shout(name: str, times: i32) -> str { "{name}{times}" }
"""


@pytest.fixture(scope="module")
def strange():
    return ein.compile(PROGRAM)


def plain(rng, dtype="float64", rank=None):
    rank = rng.randint(1, 3) if rank is None else rank
    shape = [rng.choice([0, 1, 2, 3, 5]) for _ in range(rank)]
    numbers = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    return (numbers % 2 if dtype == "bool" else numbers % 100).astype(dtype)


def made(rng, tmp):
    """An array of a rare making that can be read, and what its elements are."""
    kind = rng.choice(MAKINGS)
    x = plain(rng, rng.choice(["float32", "float64", "int16", "uint64", "bool", "float16"]))
    if kind == "fortran":
        return np.asfortranarray(x), x
    if kind == "backward":
        return x[(slice(None, None, -1),) * x.ndim], x[(slice(None, None, -1),) * x.ndim].copy()
    if kind == "stretched":
        # Few elements that look like many: nothing of that size may be made of them here.
        y = np.broadcast_to(np.float64(3.0), (2, 3, 4))
        return y, y.copy()
    if kind == "memmap":
        if not x.size:
            return x, x
        path = tmp / f"{rng.random()}.bin"
        x.tofile(path)
        return np.memmap(path, dtype=x.dtype, mode="r", shape=x.shape), x
    if kind == "read-only":
        y = x.copy()
        y.setflags(write=False)
        return y, x
    if kind == "field":
        y = np.zeros(x.shape, dtype=[("a", "u1"), ("b", x.dtype), ("c", "i4")])
        y["b"] = x
        return y["b"], x
    if kind == "number":
        y = np.asarray(x.dtype.type(1))
        return y, y
    if kind == "memoryview":
        return memoryview(x.copy()) if x.ndim and x.size else x, x
    if kind == "matrix":
        y = np.atleast_2d(x)[:2, :2] if x.ndim < 3 else x[0] if len(x) else np.zeros((1, 1))
        return y.view(np.matrix), np.asarray(y)
    if kind == "bfloat16":
        dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
        y = x.astype(np.float32).astype(dtypes.bfloat16)
        return y, y
    y = np.lib.stride_tricks.sliding_window_view(np.arange(9, dtype=x.dtype if x.dtype != bool else "i4"), 4)
    return y, y.copy()


MAKINGS = [
    "fortran", "backward", "stretched", "memmap", "read-only", "field", "number", "memoryview",
    "matrix", "bfloat16", "windows",
]  # fmt: skip


def refused(rng):
    """An array that no parameter takes."""
    x = plain(rng, "float64", 1)
    return rng.choice(
        [
            x.astype(">f8"), x.astype("complex128"), x.astype("datetime64[s]"), x.astype("timedelta64[s]"),
            x.astype(object), x.astype("U4"), x.astype("S4"), x.astype("V8"), x.astype("longdouble"),
            np.zeros(3, dtype=[("a", "f4"), ("b", "i4")]), np.ma.masked_array([1.0, 2.0], [True, False]),
            np.ma.masked_array(x), np.array([[1], [2, 3]], dtype=object), np.recarray(2, dtype=[("a", "f4")]),
            np.datetime64("2020-01-01"), np.timedelta64(1, "s"), np.complex64(1), np.void(b"ab"), object(), type, print,
        ]
    )  # fmt: skip


@pytest.mark.parametrize("part", range(5))
def test_arrays_of_every_making(strange, tmp_path, part):
    rng = random.Random(part)
    for _ in range(max(COUNT // 10, 10)):
        given, want = made(rng, tmp_path)
        got = strange.same(given)
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
        assert np.asarray(got).dtype == np.asarray(want).dtype


@pytest.mark.parametrize("part", range(5))
def test_arrays_that_no_parameter_takes(strange, part):
    rng = random.Random(part)
    for _ in range(max(COUNT // 10, 10)):
        name = rng.choice(["same", "rows", "ends"])
        with pytest.raises(ein.EinlangError) as caught:
            getattr(strange, name)(refused(rng))
        assert caught.value.code, repr(caught.value)
        assert not isinstance(caught.value, ein.InternalError)
        assert "`x" in str(caught.value), str(caught.value)


@pytest.mark.parametrize(
    "x, fix",
    [
        (np.ones(2, complex), "`x.real` and `x.imag`"),
        (np.complex64(1), "`x.real` and `x.imag`"),
        (np.array(["2020-01-01"], "datetime64[s]"), "`x.astype(np.int64)`"),
        (np.timedelta64(1, "s"), "`x.astype(np.int64)`"),
        (np.array(["a"]), "`x.astype(np.float32)`"),
    ],
)
def test_what_to_do_with_types_that_there_are_not(strange, x, fix):
    with pytest.raises(ein.CompileError) as caught:
        strange.same(x)
    assert caught.value.code == "E0904" and fix in str(caught.value)


def value(rng, depth=0):
    """Anything that a struct, tuple or option might be given."""
    pick = rng.randint(0, 9 if depth < 3 else 5)
    if pick == 0:
        return plain(rng, rng.choice(["float64", "float32", "int32"]))
    if pick == 1:
        return rng.choice([1, 2.5, True, None, "text", "", "\ud800", b"x", float("inf"), 1 << 65])
    if pick == 2:
        return refused(rng)
    if pick == 3:
        return rng.choice([[], [1.0], [[1.0, 2.0]], [[1.0], [2.0, 3.0]], [None], ["a"]])
    if pick == 4:
        return np.float64(2.0)
    if pick == 5:
        return np.arange(3.0)
    if pick == 6:
        return tuple(value(rng, depth + 1) for _ in range(rng.randint(0, 3)))
    keys = rng.choice([("at", "mass"), ("a", "b"), ("at",), ("mass", "at", "more"), (), (1, 2), ("let", "")])
    return {key: value(rng, depth + 1) for key in keys}


def point(rng):
    return {"at": np.arange(float(rng.randint(0, 3))), "mass": rng.choice([1, 2.0, np.float64(3.0)])}


@pytest.mark.parametrize("part", range(5))
def test_structs_tuples_and_options(strange, part):
    rng = random.Random(part)
    right = {
        "moved": lambda: ((point(rng), 1.5), lambda p, by: {"at": p["at"] + by, "mass": p["mass"]}),
        "heavy": lambda: (
            ({"a": point(rng), "b": (2.0, point(rng))},),
            lambda p: p["a"]["mass"] + 2.0 * p["b"][1]["mass"],
        ),
        "joined": lambda: ((("n", np.arange(4, dtype=np.int32)),), lambda t: "n 6"),
        "shout": lambda: (("é", 3), lambda name, times: "é3"),
    }
    for _ in range(max(COUNT // 20, 10)):
        name = rng.choice(sorted(right))
        args, want = right[name]()
        got, want = getattr(strange, name)(*args), want(*args)
        if isinstance(want, dict):
            np.testing.assert_array_equal(got["at"], want["at"])
            assert got["mass"] == want["mass"] and isinstance(got, ein.Record)
        else:
            assert got == want
    for _ in range(max(COUNT // 10, 10)):
        name = rng.choice(["moved", "heavy", "joined", "found", "shout"])
        count = {"heavy": 1, "joined": 1}.get(name, 2)
        try:
            getattr(strange, name)(*(value(rng) for _ in range(count)))
        except ein.InternalError:
            raise
        except ein.EinlangError as error:
            assert error.code and str(error)


def test_huge_shapes_of_few_elements(strange):
    assert strange.ends(np.broadcast_to(np.float64(1.0), (1 << 20,))) == (1.0, 1.0)
    wide = np.broadcast_to(np.float32(1.0), (2, 1 << 20))
    np.testing.assert_array_equal(strange.rows(wide), [1 << 20, 1 << 20])
    with pytest.raises(ein.RunError) as caught:
        strange.ends(np.broadcast_to(np.float64(1.0), (1 << 40,)))
    assert caught.value.code == "E0802"
    # A result of that size is no result; it is an error, not the end of the process.
    small = ein.compile("fn twice(x: [f64; n]) -> [f64; n] { let y[n] = x[n] + x[n]; y }", memory_limit=1 << 28)
    with pytest.raises(ein.RunError) as caught:
        small.twice(np.broadcast_to(np.float64(1.0), (1 << 30,)))
    assert caught.value.code == "E0805"


def test_arrays_that_change_while_calls_run(strange):
    x = np.zeros((200, 2000), np.float32)
    stop = threading.Event()

    def change():
        while not stop.is_set():
            x[:] = 1.0
            x[:] = 0.0

    writer = threading.Thread(target=change)
    writer.start()
    try:
        for _ in range(100):
            y = strange.rows(x)
            assert y.shape == (200,) and (y >= 0).all() and (y <= 2000).all()
    finally:
        stop.set()
        writer.join()
    grown = bytearray(800)
    seen = strange.same(memoryview(grown).cast("d"))
    assert len(seen) == 100
    # Nobody holds on to the memory when a call is over.
    grown.extend(b"more")
