"""Random numbers, first weights and data for training: the generator written once more, in NumPy."""

import numpy as np

from text import Program

F32, F64 = np.float32, np.float64
FIXED = 14734989374561936917


def turned(x):
    return (x >> np.uint64(32)) | (x << np.uint64(32))


def drawn(key, places):
    """32 bits for each place: "Squares" of B. Widynski, with four rounds."""
    with np.errstate(over="ignore"):
        key, places = np.uint64(key), np.asarray(places, np.uint64)
        y = places * key
        z = y + key
        a = turned(y * y + y)
        b = turned(a * a + z)
        c = turned(b * b + y)
        return (c * c + z) >> np.uint64(32)


def key_of(key, place):
    high, low = (int(it) for it in drawn(key, [place, place + 1]))
    return (high << 32) + low // 2 * 2 + 1


def key(seed):
    return key_of(FIXED, 2 * (seed + 2**31))


def split(key, count):
    return [key_of(key, 2**63 + 2 * i) for i in range(count)]


def unit(key, places, dtype):
    places = np.asarray(places, np.uint64)
    if dtype == F32:
        return (drawn(key, places) // 256).astype(F32) * F32(2.0**-24)
    high, low = drawn(key, 2 * places) // 32, drawn(key, 2 * places + 1) // 64
    return (high * 67108864 + low).astype(F64) * 2.0**-53


def uniform(key, shape, low=0.0, high=1.0, dtype=F32):
    u = unit(key, np.arange(np.prod(shape)), dtype).astype(F64)
    return (low + (high - low) * u).astype(dtype).reshape(shape)


def normal(key, shape, mean=0.0, deviation=1.0, dtype=F32):
    at = np.arange(np.prod(shape), dtype=np.uint64)
    u, v = (unit(key, 2 * at + k, dtype).astype(F64) for k in (0, 1))
    radius = np.sqrt(-2 * np.log(1 - u))
    return (mean + deviation * radius * np.cos(2 * np.pi * v)).astype(dtype).reshape(shape)


def make(rng):
    uses = ["std::data", "std::init", "std::math::abs", "std::random"]
    program = Program("Random numbers, first weights and data against NumPy. Written by `make.py`.", uses)
    for part in (numbers, weights, rows):
        part(program, rng)
    return program


def numbers(program, rng):
    seeds = np.array([0, 1, -1, 7, 2147483647, -2147483648], np.int32)
    program.case("key", "random::key", [seeds], np.array([key(int(it)) for it in seeds], np.uint64))
    for seed in (1, 99):
        k = key(seed)
        for count in (0, 1, 5):
            program.agrees("split", f"random::split(random::key({seed}), {count})",
                           np.array(split(k, count), np.uint64))
        for shape in ((0,), (1,), (7,), (2, 3), (2, 0, 3), (2, 3, 2)):
            extents = list(shape)
            call = lambda name, rest="": f"random::{name}(random::key({seed}), {extents}{rest})"
            program.agrees("uniform", call("uniform"), uniform(k, shape), True)
            program.agrees("uniform", call("uniform", ", -2.0, 3.0"), uniform(k, shape, -2, 3), "near")
            # A bound that is `f64` makes all of them such.
            program.agrees("uniform", call("uniform", ", 0.0, 2.0f64"), uniform(k, shape, 0, 2, F64), True)
            program.agrees("normal", call("normal"), normal(k, shape), "near")
            program.agrees("normal", call("normal", ", 1.0, 2.0f64"), normal(k, shape, 1, 2, F64), "near")
            bits = drawn(k, np.arange(np.prod(shape))).reshape(shape)
            dice = 1 + (bits * np.uint64(6) >> np.uint64(32)).astype(np.int32)
            program.agrees("integers", call("integers", ", 1, 7"), dice)
            all_of_them = (bits.astype(np.int64) * (2**32 - 1) >> 32) - 2**31
            program.agrees("integers", call("integers", ", -2147483648, 2147483647"), all_of_them.astype(np.int32))
            program.agrees("bernoulli", call("bernoulli", ", 0.3"), uniform(k, shape) < F32(0.3))
        for n in (0, 1, 2, 9, 33):
            order = np.argsort(drawn(k, np.arange(n)), kind="stable").astype(np.int32)
            program.agrees("permutation", f"random::permutation(random::key({seed}), {n})", order)
            x = rng.normal(size=(n, 2)).astype(F32)
            program.agrees("shuffle", f"random::shuffle(random::key({seed}), {program.value('shuffle', x)})", x[order])
        for shape in ((), (9,), (2, 3)):
            x = np.asarray(rng.normal(size=shape), F32)
            kept = uniform(k, shape or (1,)).reshape(shape) >= F32(0.25)
            name = program.value("dropout", x)
            program.agrees("dropout", f"random::dropout(random::key({seed}), {name}, 0.25)",
                           np.where(kept, x / F32(0.75), F32(0)).astype(F32), True)
        logits = rng.normal(size=(3, 2, 4)).astype(F64)
        noise = -np.log(-np.log(unit(k, np.arange(24), F64) + 2.0**-53)).reshape(logits.shape)
        name = program.value("categorical", logits)
        program.agrees("categorical", f"random::categorical(random::key({seed}), {name})",
                       np.argmax(logits + noise, -1).astype(np.int32))


def weights(program, rng):
    k = key(5)
    for shape, fan_in, fan_out in (((3, 5), 5, 3), ((0, 2), 2, 1), ((2, 3, 2, 2), 12, 8), ((1,), 1, 1)):
        call = lambda name, *fans: f"init::{name}(random::key(5), {list(shape)}, {', '.join(map(str, fans))})"
        limit = np.sqrt(6 / (fan_in + fan_out))
        program.agrees("glorot_uniform", call("glorot_uniform", fan_in, fan_out), uniform(k, shape, -limit, limit), "near")
        for name, variance, fans in (("glorot_normal", 2 / (fan_in + fan_out), (fan_in, fan_out)),
                                     ("he_normal", 2 / fan_in, (fan_in,)), ("lecun_normal", 1 / fan_in, (fan_in,))):
            program.agrees(name, call(name, *fans), normal(k, shape, 0, np.sqrt(variance)), "near")


def rows(program, rng):
    for x in (rng.normal(size=7).astype(F32), rng.integers(0, 9, (5, 2)).astype(np.int64), np.zeros(0, F64)):
        for size in (1, 2, 9):
            n = len(x) // size
            want = x[: n * size].reshape((n, size) + x.shape[1:])
            program.case("batches", "data::batches", [x, np.int32(size)], want)
        for share in (0.0, 0.5, 0.75, 1.0):
            cut, name = int(F32(share) * F32(len(x))), program.value("parts", x)
            program.agrees("parts", f"data::parts({name}, {share}).0", x[:cut])
            program.agrees("parts", f"data::parts({name}, {share}).1", x[cut:])
    for dtype in (np.int32, np.int64, np.uint8, np.int16, np.uint64):
        classes = rng.integers(0, 4, (2, 3)).astype(dtype)
        program.case("one_hot", "data::one_hot", [classes, np.int32(4)], np.eye(4, dtype=F32)[classes.astype(int)])
        row = rng.integers(0, 3, 6).astype(dtype)
        logits = rng.normal(size=(6, 3)).astype(F64)
        want = F32(np.mean(np.argmax(logits, 1) == row))
        program.case("accuracy", "data::accuracy", [logits, row], want, "near")
    # Numbers that no class has; more classes than a `u8` can count.
    outside = np.array([-1, 3, 1], np.int32)
    program.case("one_hot", "data::one_hot", [outside, np.int32(3)], np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0]], F32))
    program.case("one_hot", "data::one_hot", [np.array([1], np.uint8), np.int32(258)], np.eye(258, dtype=F32)[1:2])
    ties = np.array([[1, 1], [np.nan, 0]], F32)
    program.case("accuracy", "data::accuracy", [ties, np.array([0, 0], np.int32)], F32(1))
    for epochs, n in ((0, 3), (2, 0), (3, 4)):
        orders = [np.argsort(drawn(it, np.arange(n)), kind="stable") for it in split(key(3), epochs)]
        want = np.array(orders, np.int32).reshape(epochs, n)
        program.agrees("orders", f"data::orders(random::key(3), {epochs}, {n})", want)
