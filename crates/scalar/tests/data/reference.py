#!/usr/bin/env python3
"""Writes the reference values of the elementary functions beside this file.

    python3 reference.py [POINTS]       needs mpmath (gmpy2 makes it faster)

One file per function. A line of doubles is `d X Y E`: the bits of the argument and of the nearest
double to the value, in hexadecimal, and what that double lacks, in thousandths of its last bit. A
line of singles is `s X Y`: the bits of a single argument and of the double nearest to the value.
Functions of two arguments have `X1,X2` for `X`.
"""

import math
import os
import random
import struct
import sys

import mpmath
from mpmath import mp, mpf

mp.prec = 1300  # enough to reduce the largest argument of a sine
HERE = os.path.dirname(os.path.abspath(__file__))
MAX = 1.7976931348623157e308


def bits(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def from_bits(b):
    return struct.unpack("<d", struct.pack("<Q", b))[0]


def single(x):
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(3.4028234663852886e38, x)


def nearest(value):
    """The nearest double, also where it is subnormal or overflows."""
    if mpmath.isinf(value):
        return float(value)
    if value == 0:
        return 0.0
    exponent = mpmath.mag(value)  # value < 2^exponent
    ulp = max(exponent - 53, -1074)
    whole = mpmath.nint(mpmath.ldexp(value, -ulp))
    if abs(whole) >= mpmath.ldexp(mpf(1), 1024 - ulp):
        return math.copysign(math.inf, value)
    return math.ldexp(int(whole), ulp) if int(whole).bit_length() <= 53 else float(int(whole) * mpf(2) ** ulp)


def lacking(value, near):
    """value - near in thousandths of the last bit of near."""
    if math.isinf(near) or near == 0:
        return 0
    ulp = max(math.frexp(near)[1] - 53, -1074)
    return int(mpmath.nint(mpmath.ldexp(value - mpf(near), -ulp) * 1000))


# name: function, (low, high) of the domain, points that are hard
E, PI = math.e, math.pi
near = lambda x: [x, math.nextafter(x, -math.inf), math.nextafter(x, math.inf)]
multiples = [k * PI / 2 for k in (1, 2, 3, 4, 5, 11, 355 / 113, 1e3, 1e5, 1018000, 1018600, 1e6, 1e7, 1e10)]
cancelling = [6381956970095103.0 * 2.0**797, 5319372648326541.0 * 2.0**-48, 6411027962775774.0 * 2.0**-48, 3.0 * 2.0**500, MAX, 2.0**20, 1.6e6, 1599999.5, 1600000.5]
UNARY = {
    "exp": (mpmath.exp, (-746, 710), [709.782712893384, 709.7827128933841, -708.3964185322641, -744.4400719213812, -745.1332191019411, -745.1332191019412, 0.34657359, -0.34657359]),
    "exp2": (lambda x: mpf(2) ** x, (-1076, 1025), [1023.9999999999999, 1024.0, -1022.0, -1074.0, -1074.9, -1075.1, 0.5, -0.5, 1.5]),
    "expm1": (mpmath.expm1, (-60, 710), [709.782712893384, 0.34657359, -0.34657359, 1.0397, -1.0397, -36.7, -37.5, 38.0]),
    "log": (mpmath.log, (0, MAX), [5e-324, 2.2250738585072014e-308, 1e-310, MAX, math.sqrt(2), math.sqrt(0.5)]),
    "log1p": (mpmath.log1p, (-1, MAX), [-0.29, -0.2899, 0.41, 0.4101, -0.9999999999999999, -0.5, 1e300, 0.4142135, -0.2928932]),
    "log2": (lambda x: mpmath.log(x) / mpmath.log(2), (0, MAX), [5e-324, 1e-310, MAX, math.sqrt(2), math.sqrt(0.5)]),
    "log10": (mpmath.log10, (0, MAX), [5e-324, 1e-310, MAX, math.sqrt(2), math.sqrt(0.5)] + [10.0**k for k in range(0, 23)]),
    "sin": (mpmath.sin, (-MAX, MAX), multiples + cancelling),
    "cos": (mpmath.cos, (-MAX, MAX), multiples + cancelling),
    "tan": (mpmath.tan, (-MAX, MAX), multiples + cancelling),
    "asin": (mpmath.asin, (-1, 1), [0.5, -0.5, 0.999999, 1e-5]),
    "acos": (mpmath.acos, (-1, 1), [0.5, -0.5, 0.999999, 0.9999999999999999, 1e-5]),
    "atan": (mpmath.atan, (-MAX, MAX), [7 / 16, 11 / 16, 19 / 16, 39 / 16, 1e17, 1.0, 1e16]),
    "sinh": (mpmath.sinh, (-711, 711), [710.4758600739439, 22.0, 1.0, 1e-8]),
    "cosh": (mpmath.cosh, (-711, 711), [710.4758600739439, 22.0, 1.0, 1e-8]),
    "tanh": (mpmath.tanh, (-25, 25), [22.0, 1.0, 1e-8, 0.5493, 19.06]),
    "asinh": (mpmath.asinh, (-MAX, MAX), [1e-8, 1e9, 1.0, 0.4, 0.29]),
    "acosh": (mpmath.acosh, (1, MAX), [1.0000000000000002, 1e9, 1.5, 1.08, 2.0]),
    "atanh": (mpmath.atanh, (-1, 1), [0.9999999999999999, 1e-8, 0.17, 0.1701, 0.5]),
    "erf": (mpmath.erf, (-6.5, 6.5), [0.5 * k for k in range(1, 13)] + [5.92, 5.9215871957945065]),
    "rsqrt": (lambda x: 1 / mpmath.sqrt(x), (0, MAX), [5e-324, MAX, 2.0, 3.0]),
}


def spread(rng, low, high):
    """A point of the domain: uniform, near an end, near 0 or 1, or of any magnitude."""
    way = rng.randrange(6)
    if way == 0:
        x = rng.uniform(max(low, -50), min(high, 50))
    elif way == 1:
        x = rng.uniform(-4, 4)
    elif way == 2:
        x = rng.choice([-1, 1]) * 2.0 ** rng.uniform(-60, 60)
    elif way == 3:
        x = rng.choice([-1, 1]) * 2.0 ** rng.uniform(-1074, 1024)
    elif way == 4:
        x = 1 + rng.choice([-1, 1]) * 2.0 ** rng.uniform(-53, -1)
    else:
        end = rng.choice([low, high])
        x = end + (high - low if high - low < 1e4 else 1e4) * rng.choice([0.02, 0.5]) * rng.random() * (1 if end == low else -1)
    return x if low <= x <= high else None


def points(rng, count, low, high, hard):
    found = [y for x in hard for y in near(x) + near(-x) if low <= y <= high]
    while len(found) < count + len(hard):
        x = spread(rng, low, high)
        if x is not None:
            found.append(x)
    return [x for x in found if x != 0 and math.isfinite(x)]


def double_line(args, value):
    if not mpmath.isfinite(value):
        return None
    y = nearest(value)
    return "d %s %x %d" % (",".join("%x" % bits(x) for x in args), bits(y), lacking(value, y))


def single_line(args, value):
    if not mpmath.isfinite(value):
        return None
    return "s %s %x" % (",".join("%x" % bits(x) for x in args), bits(nearest(value)))


def write(name, lines):
    kept = dict.fromkeys(line for line in lines if line)
    with open(os.path.join(HERE, name + ".txt"), "w") as out:
        out.write("\n".join(kept) + "\n")


def pairs(rng, name, count):
    while count > 0:
        if name == "atan2":
            x = [rng.choice([-1, 1]) * 2.0 ** rng.uniform(*rng.choice([(-3, 3), (-60, 60), (-1070, 1023)])) for _ in range(2)]
        elif rng.randrange(2):
            x = [2.0 ** rng.uniform(-1070, 1023), rng.choice([-1, 1]) * 2.0 ** rng.uniform(-10, 10)]
        elif rng.randrange(3):
            x = [rng.uniform(0.5, 2), rng.uniform(-1000, 1000)]
        else:
            d = rng.choice([-1, 1]) * 2.0 ** rng.uniform(-53, -5)
            x = [1 + d, rng.uniform(-740, 709) / d]
        if name == "pow":
            exponent = abs(x[1] * math.log(x[0]))
            if not 0 < exponent < 745:
                continue
        yield x
        count -= 1


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 700
    rng = random.Random(20261115)
    for name, (f, (low, high), hard) in UNARY.items():
        args = points(rng, count, low, high, hard)
        lines = [double_line([x], f(mpf(x))) for x in args]
        singles = [single(x) for x in args if abs(x) < 3.5e38][: count // 2]
        write(name, lines + [single_line([x], f(mpf(x))) for x in singles if low < x < high and x != 0])
    for name, f in (("atan2", mpmath.atan2), ("pow", mpmath.power)):
        mp.prec = 300
        lines = []
        for i, args in enumerate(pairs(rng, name, count)):
            lines.append(double_line(args, f(*map(mpf, args))))
            args = [single(x) for x in args]
            if i % 2 == 0 and all(args) and args[0] != 1:
                lines.append(single_line(args, f(*map(mpf, args))))
        write(name, lines)


main()
