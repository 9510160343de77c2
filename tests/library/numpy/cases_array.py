"""Every function of `std::array`."""

import numpy as np

from text import Program

NAN = np.nan


def numbers(rng, dtype, shape):
    """Some numbers, with ties and both signs."""
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(dtype)
    if np.dtype(dtype).kind == "f":
        return (rng.integers(-12, 13, shape) / 4).astype(dtype)
    low = 0 if np.dtype(dtype).kind == "u" else -9
    return rng.integers(low, 10, shape).astype(dtype)


def make(rng):
    program = Program("`std::array` against NumPy. Written by `make.py`.", ["std::array"])
    rearranged(program, rng)
    lists(program)
    sums(program, rng)
    places(program, rng)
    partitions(program, rng)
    largest(program, rng)
    return program


def rearranged(program, rng):
    """Functions that only move elements, on all kinds of element."""
    ranks = [("i32", (4,)), ("i64", (2, 3)), ("u8", (2, 1, 3)), ("f32", (2, 2, 1, 2)),
             ("f64", (3, 1)), ("bool", (2, 2)), ("f16", (1, 1, 1)), ("f32", (0,)),
             ("i32", (0, 3)), ("f64", (2, 0, 2))]
    names = {"i32": "int32", "i64": "int64", "u8": "uint8", "f32": "float32", "f64": "float64",
             "bool": "bool", "f16": "float16"}
    for element, shape in ranks:
        x = numbers(rng, names[element], shape)
        program.case("flatten", "array::flatten", [x], x.reshape(-1))
        if len(shape) > 1:
            program.case("transpose", "array::transpose", [x], np.swapaxes(x, -1, -2))
        for length in (2, 0):
            y = numbers(rng, names[element], (length, *shape[1:]))
            program.case("concatenate", "array::concatenate", [x, y], np.concatenate([x, y]))


def lists(program):
    """Numbers in an array, however they are given."""
    for values in ([4], [2, 3], [1, 2, 3, 4, 5, 6]):
        program.case("listed", "array::listed", [np.int32(values)], np.int32(values))
        program.agrees("listed", f"array::listed(({', '.join(map(str, values))},))", np.int32(values))


def sums(program, rng):
    """The sum over the first axis, in the type of the elements."""
    for dtype in ("int32", "int64", "float32", "float64"):
        for shape in ((5,), (1,), (0,), (3, 2), (0, 3), (2, 0), (2, 3, 2)):
            x = numbers(rng, dtype, shape)
            program.case("sum", "array::sum", [x], np.sum(x, axis=0, dtype=dtype))
    program.case("sum", "array::sum", [np.float32([1, NAN])], np.float32(NAN))


def places(program, rng):
    """The places of extremes: the first, or all of them; along the last axis of higher ranks."""
    for name, first, extreme in (("argmax", np.argmax, np.max), ("argmin", np.argmin, np.min)):
        for dtype in ("int32", "int64", "uint8", "float32", "float64"):
            for shape in ((7,), (1,), (3, 4), (2, 2, 3)):
                x = numbers(rng, dtype, shape)
                program.case(name, f"array::{name}", [x], first(x, axis=-1).astype("int32"))
            for shape in ((8,), (1,), (0,)):
                x = numbers(rng, dtype, shape)
                want = np.flatnonzero(x == extreme(x)) if x.size else np.array([])
                program.case(f"{name}_all", f"array::{name}_all", [x], want.astype("int32"))
        # NumPy counts a NaN as the extreme, and so do we.
        x = np.float64([2, NAN, -1, NAN])
        program.case(name, f"array::{name}", [x], np.int32(first(x)))
        want = np.flatnonzero(np.isnan(x)).astype("int32")
        program.case(f"{name}_all", f"array::{name}_all", [x], want)


def partitions(program, rng):
    """Elements, rows and columns by their side of a pivot."""
    for dtype in ("int32", "int64", "float32", "float64"):
        for size in (9, 1, 0):
            x = numbers(rng, dtype, size)
            pivot = np.asarray(1, dtype)
            parts = [x[x < pivot], x[x == pivot], x[x > pivot]]
            several(program, "partition", [x, pivot], parts)
        for axis in (0, 1):
            x = np.array([[1, 2, 1], [3, 3, 3], [5, 1, 4], [7, 8, 9], [0, 0, 2]], dtype)
            x = x if axis == 0 else x.T
            pivot = np.asarray(3, dtype)
            parts = []
            for side in (x < pivot, x == pivot, x > pivot):
                parts.append(np.compress(np.all(side, axis=1 - axis), x, axis=axis))
            several(program, "partition_2d", [x, pivot, np.int32(axis)], parts)


def several(program, function, arguments, parts):
    """A call that gives a tuple of arrays."""
    names = [program.value(function, it) for it in arguments]
    at = len(program.functions[function][0])
    got = [f"part{at}{letter}" for letter, _ in zip("abc", parts)]
    program.line(function, f"let ({', '.join(got)}) = array::{function}({', '.join(names)});")
    for name, part in zip(got, parts):
        program.agrees(function, name, part)


def largest(program, rng):
    """The largest elements, in descending order; a NaN is larger than every number."""
    for dtype in ("int32", "int64", "uint8", "float32", "float64"):
        for size, k in ((9, 3), (6, 6), (4, 9), (5, 0), (1, 1), (0, 2)):
            x = numbers(rng, dtype, size)
            order = np.argsort(-x.astype("float64"), kind="stable")[:k]
            program.case("topk_extract", "array::topk_extract", [x, np.int32(k)], x[order])
            labels = (np.arange(size) * 10).astype("int64")
            several(program, "topk_with_indices_extract", [x, labels, np.int32(k)],
                [x[order], labels[order]])
    x = np.float32([1, NAN, 3, NAN])
    program.case("topk_extract", "array::topk_extract", [x, np.int32(3)], np.float32([NAN, NAN, 3]))
