"""Types × strides × read-only × sizes, without copies, and lifetimes."""

import array
import gc
import re
import sys

import numpy as np
import pytest

import einlang as ein

TYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64",
]  # fmt: skip

SHAPES = [(), (0,), (1,), (5,), (0, 3), (3, 0), (2, 3), (1, 4), (2, 3, 4)]


def make(dtype, shape):
    count = int(np.prod(shape))
    return (np.arange(count) % 2 if dtype == "bool" else np.arange(count)).reshape(shape).astype(dtype)


LAYOUTS = {
    "plain": lambda x: x,
    "transposed": lambda x: np.ascontiguousarray(x.T).T if x.ndim else x,
    "reversed": lambda x: x[tuple(slice(None, None, -1) for _ in x.shape)] if x.ndim else x,
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x,
    "fortran": lambda x: np.asfortranarray(x) if x.ndim else x,
    "readonly": lambda x: (x.setflags(write=False), x)[1],
    "broadcast": lambda x: np.broadcast_to(x, x.shape),
    "offset": lambda x: np.concatenate([x, x])[len(x) :] if x.ndim else x,
}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_types_and_strides(m, dtype, layout):
    for shape in SHAPES:
        x = LAYOUTS[layout](make(dtype, shape))
        before = x.copy()
        y = m.same(x)
        assert y.shape == shape and y.dtype == x.dtype
        np.testing.assert_array_equal(y, before)
        if dtype != "bool":
            np.testing.assert_array_equal(m.twice(x), before + before)
        if len(shape) == 2:
            np.testing.assert_array_equal(m.turned(x), before.T)
        np.testing.assert_array_equal(x, before)


def test_results_own_their_memory(m):
    x = np.arange(4, dtype=np.float32)
    y = m.same(x)
    assert not np.shares_memory(x, y)
    y[0] = 7
    assert x[0] == 0 and y.flags.writeable


def test_strided_inputs_are_read_in_place():
    """Addresses of what kernels read are those of the caller's arrays."""
    base = np.arange(24, dtype=np.float64).reshape(4, 6)
    for view in (base, base.T, base[::2, ::-3], base[1:, 2:4]):
        t = ein._einlang.borrowed(view)
        assert t["address"] == view.ctypes.data and not t["copied"]
        size = view.itemsize
        assert [s * size for s in t["strides"]] == list(view.strides)


def test_other_sources(m):
    assert m.twice(array.array("d", [1, 2])).tolist() == [2, 4]
    assert m.twice(memoryview(array.array("i", [1, 2]))).tolist() == [2, 4]

    class Interface:
        def __init__(self, x):
            self.x = x
            self.__array_interface__ = x.__array_interface__

    class Capsule:
        def __init__(self, x, old):
            self.x, self.old = x, old

        def __dlpack__(self, **more):
            if self.old and more:
                raise TypeError("unexpected keyword")
            return self.x.__dlpack__(**more)

        def __dlpack_device__(self):
            return self.x.__dlpack_device__()

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for source in (Interface(x.T), Capsule(x.T, False), Capsule(x.T, True)):
        y = m.twice(source)
        assert isinstance(y, ein.Tensor)
        np.testing.assert_array_equal(y.numpy(), 2 * x.T)


def test_misaligned_elements_are_copied(m):
    odd = np.zeros(13, np.uint8)[1:].view(np.float32)
    odd[:] = [1, 2, 3]
    np.testing.assert_array_equal(m.twice(odd), [2, 4, 6])
    record = np.zeros(3, dtype=[("a", "u1"), ("b", "<f4")])
    record["b"] = [1, 2, 3]
    np.testing.assert_array_equal(m.twice(record["b"]), [2, 4, 6])


def test_bfloat16(m):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    x = np.array([1, 2.5], ml_dtypes.bfloat16)
    y = m.twice(x)
    assert np.asarray(y, dtype=np.float32).tolist() == [2, 5]
    assert m.twice(x[1]).astype(np.float32) == 5


@pytest.mark.parametrize(
    "bad",
    [
        np.array(["a", "b"]),
        np.array([1 + 2j]),
        np.array([object()]),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.arange(3, dtype=">f4"),
        np.zeros(2, dtype=[("a", "f4"), ("b", "i4")]),
        np.ma.masked_array([1.0, 2.0], mask=[True, False]),
        np.array([0, 2, 1], np.uint8).view(np.bool_),
        object(),
        {1: 2},
        [[1, 2], [3]],
        [1, [2]],
        [None],
        None,
        1 << 200,
        lambda: 0,
    ],
    ids=repr,
)
def test_what_is_no_array_is_refused(m, bad):
    with pytest.raises(ein.EinlangError) as caught:
        m.twice(bad)
    assert caught.value.code.startswith("E") and "`x`" in str(caught.value)


def test_arrays_of_ctypes(m):
    """Their buffers have no strides."""
    import ctypes

    assert m.twice((ctypes.c_float * 3)(1, 2, 3)).tolist() == [2, 4, 6]
    assert m.turned(((ctypes.c_int * 2) * 3)((1, 2), (3, 4), (5, 6))).tolist() == [[1, 3, 5], [2, 4, 6]]
    assert m.same((ctypes.c_double * 0)()).shape == (0,)
    assert m.same(ctypes.c_float(3)) == 3.0


def test_numbers(m):
    import enum

    class Level(enum.IntEnum):
        HIGH = 3

    assert m.square(Level.HIGH) == 9
    y = m.twice(np.float32(3))
    assert type(y) is np.float32 and y == 6
    assert type(m.dense(np.ones((1, 1), np.float32), np.ones((1, 1), np.float32), np.float32(3))) is np.ndarray
    with pytest.raises(ein.CompileError, match="surrogate"):
        m.hello("\ud800")
    with pytest.raises(ein.CompileError, match="`x` is of type i32 here"):
        m.square(1 << 200)


def test_tensors(m):
    import copy
    import pickle

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for array, dims in ((x, ("a", None)), (x[:0], ("a", "b")), (x > 2, (None, "b"))):
        t = ein.Tensor(array, dims=dims)
        for again in (pickle.loads(pickle.dumps(t)), copy.deepcopy(t)):
            assert (again.dims, again.dtype, again.shape) == (dims, t.dtype, t.shape)
            np.testing.assert_array_equal(again.numpy(), array)
    with pytest.raises(TypeError):
        ein.Tensor((1, 2))
    with pytest.raises(BufferError):
        ein.Tensor(x).__dlpack__(dl_device=(2, 0))
    with pytest.raises(ValueError):
        ein._einlang.tensor_of_bytes("f32", [2], [None], b"123")


def test_large_results_lie_apart_from_arrays_of_numpy(m):
    """Both at the start of a page, loads of one wait for stores to the other."""
    x = np.zeros((1024, 1024), np.float32)
    assert m.twice(x).ctypes.data % 4096 == 2048


def test_lifetimes(m):
    x = np.arange(5, dtype=np.float64)
    before = sys.getrefcount(x)
    y = m.twice(x)
    assert sys.getrefcount(x) == before
    del x
    gc.collect()
    assert y.tolist() == [0, 2, 4, 6, 8]
    t = m.twice([1.0, 2.0])
    view, other, pack = np.asarray(t), memoryview(t), np.from_dlpack(t)
    del t
    gc.collect()
    assert view.tolist() == list(other) == pack.tolist() == [2.0, 4.0]


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_memory_does_not_grow(m):
    a = np.ones(16, np.float32)
    big = np.ones((300, 300), np.float32)
    wrong = np.ones(3, np.int32)

    def rounds(count):
        for at in range(count):
            m.add3(a, a, a)
            m.twice([1.0, 2.0])
            if at % 10 == 0:
                m.turned(big)
                try:
                    m.add3(wrong, a, a)
                except ein.EinlangError:
                    pass

    rounds(2000)
    gc.collect()
    before = resident()
    rounds(10000)
    gc.collect()
    assert resident() - before < 8 << 20


def test_values_that_are_too_deep_or_too_large(m):
    deep = 1.0
    for _ in range(100_000):
        deep = (deep,)
    with pytest.raises(ein.CompileError, match="nested more than") as caught:
        m.same(deep)
    assert caught.value.code == "E0905"
    # Read in place it is one number; the result would need memory for all.
    with pytest.raises(ein.RunError) as caught:
        m.same(np.broadcast_to(np.float32(1), (1 << 50,)))
    assert caught.value.code == "E0805"


def test_what_is_strange_about_elements_is_said(m):
    record = np.zeros(2, dtype=[("a", "f4"), ("b", "i4")])
    for bad, says in (
        (np.arange(3, dtype=">f8"), r"another order .*newbyteorder"),
        (record, r"pass a field: `x\[\"a\"\]`"),
        (np.ones(2, np.longdouble), "float128|longdouble"),
        (np.ones(2, np.complex64), r"complex64, which Einlang does not have"),
    ):
        with pytest.raises(ein.CompileError, match=re.compile(says, re.S)) as caught:
            m.twice(bad)
        assert caught.value.code == "E0904"
    swapped = np.arange(3, dtype=">f8")
    assert m.twice(swapped.astype(swapped.dtype.newbyteorder("="))).tolist() == [0, 2, 4]


def test_an_array_changes_while_a_call_reads_it():
    """The buffer is held: it can be written to, but neither freed nor resized."""
    import threading

    m = ein.compile("fn f(x: [f64; i]) -> f64 { sum[i, k in 0..200](x[i] + k as f64) }")
    data = array.array("d", [1.0]) * 20_000
    done, refused = threading.Event(), []

    def resize():
        while not done.is_set():
            try:
                data.append(1.0)
                data.pop()
            except BufferError:
                refused.append(True)

    thread = threading.Thread(target=resize)
    thread.start()
    try:
        for _ in range(200):
            m.f(data)
    finally:
        done.set()
        thread.join()
