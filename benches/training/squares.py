"""`std::random` in NumPy: the same keys give the same numbers as the programs draw."""

import numpy as np

M32 = np.uint64(0xFFFFFFFF)
S32 = np.uint64(32)


def _drawn(key, place):
    """32 random bits for each place (Widynski's "Squares")."""
    with np.errstate(over="ignore"):
        key = np.uint64(key)
        y = np.asarray(place, dtype=np.uint64) * key
        z = y + key
        turn = lambda x: (x >> S32) | (x << S32)
        x = turn(y * y + y)
        x = turn(x * x + z)
        x = turn(x * x + y)
        return (x * x + z) >> S32


def _key_of(high, low):
    return (high << S32) + (low >> np.uint64(1) << np.uint64(1)) + np.uint64(1)


def key(seed):
    """The key of a number."""
    place = np.uint64(seed + 2147483648)
    fixed = 14734989374561936917
    two = np.uint64(2)
    return _key_of(_drawn(fixed, two * place), _drawn(fixed, two * place + np.uint64(1)))


def split(key, count):
    """Several keys of one."""
    first = np.uint64(9223372036854775808)
    i = np.arange(count, dtype=np.uint64) * np.uint64(2)
    return _key_of(_drawn(key, first + i), _drawn(key, first + i + np.uint64(1)))


def _unit(key, place):
    return (_drawn(key, place) >> np.uint64(8)).astype(np.float32) * np.float32(2**-24)


def integers(key, shape, low, high):
    """Whole numbers from `low` up to but without `high`."""
    n = int(np.prod(shape))
    drawn = _drawn(key, np.arange(n, dtype=np.uint64))
    return (low + ((drawn * np.uint64(high - low)) >> S32).astype(np.int64)).astype(np.int32).reshape(shape)


def normal(key, shape, deviation=1.0):
    """Numbers of a normal distribution around zero."""
    n = int(np.prod(shape))
    i = np.arange(n, dtype=np.uint64) * np.uint64(2)
    radius = np.sqrt(np.float32(-2.0) * np.log(np.float32(1.0) - _unit(key, i)))
    wave = np.cos(np.float32(6.2831855) * _unit(key, i + np.uint64(1)))
    return (np.float32(deviation) * radius * wave).astype(np.float32).reshape(shape)
