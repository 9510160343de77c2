"""Every function of `std::ops`."""

import numpy as np

from text import Program

NAN, INF = np.nan, np.inf

INTEGERS = ("int8", "int32", "int64", "uint8")
FLOATS = ("float16", "float32", "float64")


def truncated(a, b):
    """The quotient of integers, toward zero."""
    quotient = np.abs(a.astype("int64")) // np.abs(b.astype("int64"))
    return (quotient * np.sign(a.astype("int64")) * np.sign(b.astype("int64"))).astype(a.dtype)


def quotient(a, b):
    """What `/` gives."""
    return truncated(a, b) if a.dtype.kind in "iu" else a / b


ARITHMETIC = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": quotient,
    "rem": np.fmod,
    "min": np.minimum,
    "max": np.maximum,
}
COMPARISONS = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
CONDITIONS = {"and": np.logical_and, "or": np.logical_or}

# The shapes of two arguments. The axes of one are the leading axes of the other, which NumPy
# wants as axes of one at the end.
SHAPES = [((), ()), ((3,), (3,)), ((2, 2), ()), ((), (2, 1, 2)), ((2,), (2, 2)), ((2, 2), (2,)),
          ((0,), (0,)), ((0, 2), ())]


def aligned(a, b):
    """Two arrays whose leading axes agree, for NumPy."""
    rank = max(a.ndim, b.ndim)
    return [it.reshape(it.shape + (1,) * (rank - it.ndim)) for it in (a, b)]


def operands(rng, dtype, shapes):
    """Two arguments; the first is the larger one where the type has no sign."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return [rng.integers(0, 2, shape).astype(dtype) for shape in shapes]
    if kind == "u":
        ranges = [(6, 13), (1, 7)]
        return [rng.integers(*it, shape).astype(dtype) for it, shape in zip(ranges, shapes)]
    values = [rng.integers(-11, 12, shape) for shape in shapes]
    # No division by zero.
    values[1] = np.where(values[1] == 0, 3, values[1])
    scale = 4 if kind == "f" else 1
    return [np.asarray(it / scale).astype(dtype) for it in values]


def make(rng):
    program = Program("`std::ops` against NumPy. Written by `make.py`.", ["std::math::abs", "std::ops"])
    for name, meaning in (ARITHMETIC | COMPARISONS).items():
        for dtype in INTEGERS + FLOATS:
            for shapes in SHAPES if dtype in ("int32", "float32") else SHAPES[1:5:3]:
                a, b = operands(rng, dtype, shapes)
                binary(program, name, meaning, a, b)
        specials(program, name, meaning)
    for name, meaning in CONDITIONS.items():
        for shapes in SHAPES:
            binary(program, name, meaning, *operands(rng, "bool", shapes))
    powers(program)
    for shape in ((), (4,), (2, 3), (2, 1, 2), (0,), (0, 3)):
        truth = operands(rng, "bool", [shape, shape])[0]
        program.case("not", "ops::not", [truth], np.logical_not(truth))
        for dtype in ("int32", "int64", "float32", "float64"):
            x = operands(rng, dtype, [shape, shape])[0]
            program.case("neg", "ops::neg", [x], np.negative(x))
    return program


def binary(program, name, meaning, a, b):
    """One call of a function of two arguments."""
    want = np.asarray(meaning(*aligned(a, b)))
    rounded = name in ("div", "mul") and want.dtype.kind == "f"
    program.case(name, f"ops::{name}", [a, b], want, rounded)


def specials(program, name, meaning):
    """What is no number, and what is beyond all numbers."""
    a = np.float64([NAN, 1, NAN, INF, -INF, 0])
    b = np.float64([1, NAN, NAN, 2, 2, -INF])
    with np.errstate(invalid="ignore"):
        program.case(name, f"ops::{name}", [a, b], meaning(a, b))


def powers(program):
    """Integers to integers, and floats to either."""
    for dtype in ("int32", "int64", "uint8"):
        base, exponent = np.array([0, 1, 2, 3], dtype), np.array([0, 7, 5, 4], dtype)
        program.case("pow", "ops::pow", [base, exponent], base**exponent)
        square = np.array([[1, 2], [3, 4]], dtype)
        program.case("pow", "ops::pow", [square, np.asarray(2, dtype)], square**2)
    for dtype in ("float32", "float64"):
        base = np.array([[0.5, 1.5, 2.0], [2.5, 3.0, 10.0]], dtype)
        exponent = np.array([[2.0, -1.5, 0.5], [3.0, -2.0, 0.0]], dtype)
        want = np.power(base.astype("longdouble"), exponent.astype("longdouble")).astype(dtype)
        program.case("pow", "ops::pow", [base, exponent], want, True)
        whole = np.int32(-2)
        program.case("pow", "ops::pow", [base, whole], np.power(base, dtype_of(dtype)(-2)), True)
        cube = base.reshape(2, 1, 3)
        want = np.sqrt(cube)
        program.case("pow", "ops::pow", [cube, dtype_of(dtype)(0.5)], want, True)
        program.case("pow", "ops::pow", [np.array([], dtype), whole], np.array([], dtype))
    x = np.float64([NAN, INF, 0, -2])
    program.case("pow", "ops::pow", [x, np.float64(0)], np.ones(4))


def dtype_of(name):
    """The scalar type of a name."""
    return np.dtype(name).type
