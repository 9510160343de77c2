"""Every function of `std::math`.

Rounded results are computed in extended precision and rounded once.
"""

import math

import numpy as np

from cases_array import numbers
from cases_ops import SHAPES, aligned
from text import Program

NAN, INF = np.nan, np.inf

FLOATS = ("float32", "float64")

# The shapes of one argument.
RANKS = [(), (6,), (2, 2), (2, 1, 2), (0,), (0, 2)]


def erf(x):
    """The error function, which NumPy does not have."""
    values = [math.erf(it) for it in np.asarray(x, "float64").flat]
    return np.array(values).reshape(np.shape(x))


# Rounded functions: what they mean, six arguments inside their domain, and special arguments.
ROUNDED = {
    "sqrt": (np.sqrt, [0.25, 2, 3, 10, 0, 1e-20], [-1, INF, NAN]),
    "sin": (np.sin, [-2.5, -1, 0, 0.5, 3, 100], [INF, NAN]),
    "cos": (np.cos, [-2.5, -1, 0, 0.5, 3, 100], [-INF, NAN]),
    "tan": (np.tan, [-2.5, -1, 0, 0.5, 1.5, 100], [INF, NAN]),
    "asin": (np.arcsin, [-1, -0.75, 0, 0.001, 0.5, 1], [1.5, NAN]),
    "acos": (np.arccos, [-1, -0.75, 0, 0.001, 0.5, 1], [-1.5, NAN]),
    "atan": (np.arctan, [-1e6, -1, 0, 0.001, 0.5, 40], [INF, -INF, NAN]),
    "sinh": (np.sinh, [-20.5, -1, 0, 0.001, 0.5, 30], [INF, -INF, NAN]),
    "cosh": (np.cosh, [-20.5, -1, 0, 0.001, 0.5, 30], [INF, -INF, NAN]),
    "tanh": (np.tanh, [-20.5, -1, 0, 0.001, 0.5, 30], [INF, -INF, NAN]),
    "asinh": (np.arcsinh, [-1e6, -1, 0, 0.001, 0.5, 40], [INF, -INF, NAN]),
    "acosh": (np.arccosh, [1, 1.001, 1.5, 2, 40, 1e6], [0.5, INF, NAN]),
    "atanh": (np.arctanh, [-0.875, -0.5, 0, 0.001, 0.5, 0.99], [1, -1, 2, NAN]),
    "exp": (np.exp, [-80, -1, 0, 0.001, 0.5, 80], [-1000, 1000, INF, -INF, NAN]),
    "expm1": (np.expm1, [-40, -1, 0, 0.001, 0.5, 80], [1000, INF, -INF, NAN]),
    "log": (np.log, [1e-20, 0.5, 1, 2, 10, 1e20], [0, -1, INF, NAN]),
    "ln": (np.log, [1e-20, 0.5, 1, 2, 10, 1e20], [0, -1, INF, NAN]),
    "log10": (np.log10, [1e-20, 0.5, 1, 2, 1000, 1e20], [0, -1, INF, NAN]),
    "log2": (np.log2, [1e-20, 0.5, 1, 3, 1024, 1e20], [0, -1, INF, NAN]),
    "log1p": (np.log1p, [-0.875, -0.001, 0, 0.001, 2, 1e20], [-1, -2, INF, NAN]),
    "rsqrt": (lambda x: 1 / np.sqrt(x), [0.25, 2, 3, 10, 1e-20, 1e20], [0, INF, -1, NAN]),
    "erf": (erf, [-3, -1, 0, 0.001, 0.5, 2.5], [INF, -INF, NAN]),
    "reciprocal": (lambda x: 1 / x, [-4, -0.75, 0.001, 0.5, 3, 1e20], [0, INF, NAN]),
    "deg_to_rad": (np.deg2rad, [-720, -90, 0, 1, 45, 360], [INF, NAN]),
    "rad_to_deg": (np.rad2deg, [-7, -1, 0, 0.001, 0.5, 3], [INF, NAN]),
}

# Functions with exact results, by the kinds of element that they take.
EXACT = {
    "abs": (np.abs, ("int8", "int32", "int64", "float16", "float32", "float64")),
    "floor": (np.floor, ("float16", "float32", "float64")),
    "ceil": (np.ceil, ("float16", "float32", "float64")),
    "trunc": (np.trunc, ("float16", "float32", "float64")),
    "round": (np.round, ("float16", "float32", "float64")),
    "square": (np.square, ("int8", "int32", "int64", "float32", "float64")),
    "neg": (np.negative, ("int8", "int32", "int64", "float16", "float32", "float64")),
    "saturate": (lambda x: np.clip(x, 0, 1), FLOATS),
}

NUMBERS = ("int32", "int64", "float32", "float64")

# Functions of two arguments with exact results.
BINARY = {
    "min": (np.minimum, NUMBERS),
    "max": (np.maximum, NUMBERS),
    "clamp_min": (np.maximum, NUMBERS),
    "clamp_max": (np.minimum, NUMBERS),
    "fmod": (np.fmod, NUMBERS),
    "mod": (np.mod, NUMBERS),
    "div_floor": (np.floor_divide, NUMBERS),
    "gcd": (np.gcd, ("int32", "int64")),
    "lcm": (np.lcm, ("int32", "int64")),
}

CONSTANTS = {
    "pi": np.pi,
    "e": np.e,
    "tau": 2 * np.pi,
    "phi": (1 + np.sqrt(np.longdouble(5))) / 2,
    "sqrt2": np.sqrt(np.longdouble(2)),
    "sqrt3": np.sqrt(np.longdouble(3)),
    "ln2": np.log(np.longdouble(2)),
    "ln10": np.log(np.longdouble(10)),
    "log2e": 1 / np.log(np.longdouble(2)),
    "log10e": 1 / np.log(np.longdouble(10)),
    "infinity": INF,
    "nan": NAN,
}


def make(rng):
    program = Program(
        "`std::math` against NumPy. Written by `make.py`.", ["std::math", "std::math::abs"]
    )
    with np.errstate(all="ignore"):
        for name, (meaning, inside, special) in ROUNDED.items():
            rounded(program, name, meaning, inside, special)
        for name, (meaning, types) in EXACT.items():
            exact(program, rng, name, meaning, types)
        for name, (meaning, types) in BINARY.items():
            binary(program, rng, name, meaning, types)
    signs(program, rng)
    clamps(program, rng)
    powers(program, rng)
    angles(program, rng)
    for dtype in ("int32", "int64"):
        n = np.array([[0, 1, 5], [12, 7, 2]], dtype)
        want = np.vectorize(math.factorial)(n).astype(dtype)
        program.case("factorial", "math::factorial", [n], want)
        program.case("factorial", "math::factorial", [n[1, 0]], want[1, 0])
    n = np.array([-3, 0, 1, 2, 3, 4, 5, 1023, 1024, 1025, 2**30], "int32")
    program.case("doublings", "math::doublings", [n], np.int32(np.ceil(np.log2(np.maximum(n, 1)))))
    sums(program, rng)
    constants(program)
    return program


def shaped(values, shape):
    """As many of the values as a shape takes."""
    return np.resize(values, shape) if np.prod(shape) else np.empty(shape, values.dtype)


def rounded(program, name, meaning, inside, special):
    """A rounded function on floats of all ranks."""
    for dtype in FLOATS:
        shapes = RANKS if dtype == "float32" else RANKS[1:3]
        cases = [shaped(np.array(inside, dtype), shape) for shape in shapes]
        for x in cases + [np.array(special, dtype)]:
            want = np.asarray(meaning(x.astype("longdouble"))).astype(dtype)
            program.case(name, f"math::{name}", [x], want, True)


def exact(program, rng, name, meaning, types):
    """A function with exact results on several types and all ranks."""
    for dtype in types:
        for shape in RANKS if dtype == "float32" else RANKS[1:4]:
            x = numbers(rng, dtype, shape)
            program.case(name, f"math::{name}", [x], np.asarray(meaning(x)))
    x = np.float64([NAN, INF, -INF])
    program.case(name, f"math::{name}", [x], meaning(x))


def pair(rng, dtype, shapes):
    """Two arguments, the second without zeros."""
    a, b = (numbers(rng, dtype, shape) for shape in shapes)
    return a, np.where(b == 0, np.asarray(2, dtype), b)


def binary(program, rng, name, meaning, types):
    """A function of two arguments, one of them perhaps of lower rank."""
    for dtype in types:
        for shapes in SHAPES if dtype == "int32" else SHAPES[1:5]:
            a, b = pair(rng, dtype, shapes)
            program.case(name, f"math::{name}", [a, b], np.asarray(meaning(*aligned(a, b))))
    if "float64" in types:
        a, b = np.float64([NAN, 1, NAN]), np.float64([1, NAN, NAN])
        program.case(name, f"math::{name}", [a, b], meaning(a, b))


def signs(program, rng):
    """The sign is a float; that of an integer an `f32`."""
    for dtype in ("int8", "uint8", "int32", "int64", "float16", "float32", "float64"):
        for shape in RANKS[:4]:
            x = numbers(rng, dtype, shape)
            kind = dtype if np.dtype(dtype).kind == "f" else "float32"
            program.case("sign", "math::sign", [x], np.sign(x).astype(kind))
    x = np.float32([NAN, INF, -INF])
    program.case("sign", "math::sign", [x], np.sign(x))


def clamps(program, rng):
    """Clamping between numbers, and between arrays."""
    for name in ("clamp", "clip"):
        for dtype in NUMBERS:
            low, high = np.asarray(-2, dtype), np.asarray(1, dtype)
            for shape in RANKS:
                x = numbers(rng, dtype, shape)
                program.case(name, f"math::{name}", [x, low, high], np.clip(x, low, high))
            x, lows = numbers(rng, dtype, (2, 3)), numbers(rng, dtype, (2, 3))
            highs = lows + np.asarray(3, dtype)
            program.case(name, f"math::{name}", [x, lows, highs], np.clip(x, lows, highs))
        x = np.float64([NAN, INF, -INF])
        want = np.clip(x, -1.0, 1.0)
        program.case(name, f"math::{name}", [x, np.float64(-1), np.float64(1)], want)


def powers(program, rng):
    """Integers to integers, and floats to either."""
    for dtype in ("int32", "int64"):
        for shape in RANKS:
            base = numbers(rng, dtype, shape)
            exponent = rng.integers(0, 5, shape).astype(dtype)
            program.case("pow", "math::pow", [base, exponent], np.asarray(base**exponent))
    for dtype in FLOATS:
        for shape in RANKS:
            base = shaped(np.array([0.5, 1.5, 2, 2.5, 3, 10], dtype), shape)
            exponent = shaped(np.array([2, -1.5, 0.5, 3, -2, 0], dtype), shape)
            want = np.power(base.astype("longdouble"), exponent.astype("longdouble"))
            program.case("pow", "math::pow", [base, exponent], np.asarray(want).astype(dtype), True)
            whole = np.power(base.astype("longdouble"), 3)
            arguments = [base, np.int32(3)]
            program.case("pow", "math::pow", arguments, np.asarray(whole).astype(dtype), True)


def angles(program, rng):
    """`atan2` in all quarters, and on the axes."""
    for dtype in FLOATS:
        for shapes in SHAPES:
            y, x = pair(rng, dtype, shapes)
            wide = [it.astype("longdouble") for it in aligned(y, x)]
            want = np.asarray(np.arctan2(*wide)).astype(dtype)
            program.case("atan2", "math::atan2", [y, x], want, True)
        y = np.array([0, 0, 1, -1, NAN, INF], dtype)
        x = np.array([1, -1, 0, 0, 1, INF], dtype)
        program.case("atan2", "math::atan2", [y, x], np.arctan2(y, x), True)


def sums(program, rng):
    """The sum of everything, in the type of the elements."""
    for dtype in NUMBERS:
        for shape in RANKS:
            x = numbers(rng, dtype, shape)
            program.case("sum", "math::sum", [x], np.sum(x, dtype=dtype))
    program.case("sum", "math::sum", [np.float32([[1, NAN]])], np.float32(NAN))


def constants(program):
    """Constants take the type that is asked for; some are of one type only."""
    for name, value in CONSTANTS.items():
        for dtype, element in (("float32", "f32"), ("float64", "f64")):
            program.line(name, f"let in_{element}: {element} = math::{name}();")
            program.agrees(name, f"in_{element}", np.dtype(dtype).type(value))
    limits = np.finfo("float64")
    for name, value in (("epsilon", limits.eps), ("max_float", limits.max), ("min_float", limits.tiny)):
        program.agrees(name, f"math::{name}()", np.float64(value))
