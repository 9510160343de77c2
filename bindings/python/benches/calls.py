"""What a call costs, beside `numpy.add` and a jitted function of JAX, in one run.

    python bindings/python/benches/calls.py

Build the package with `maturin develop --release` first.
"""

import statistics
import time

import numpy as np

import einlang as ein

PROGRAM = """
fn add3(a: [f32; i], b: [f32; i], c: [f32; i]) -> [f32; i] {
    let y[i] = a[i] + b[i] + c[i];
    y
}
fn matmul(a: [f32; i, k], b: [f32; k, j]) -> [f32; i, j] {
    let c[i, j] = sum[k](a[i, k] * b[k, j]);
    c
}
"""


def cost(call, *args, rounds=7, times=20000):
    """Microseconds of a call: the median of some rounds."""
    for _ in range(200):
        call(*args)
    found = []
    for _ in range(rounds):
        started = time.perf_counter()
        for _ in range(times):
            call(*args)
        found.append((time.perf_counter() - started) / times * 1e6)
    return statistics.median(found), min(found)


def resident():
    """The memory of this process in kB."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def growth(call, *args, times=1_000_000):
    """How much memory a million calls leave behind."""
    for _ in range(10_000):
        call(*args)
    before = resident()
    for _ in range(times):
        call(*args)
    return resident() - before


def main():
    m = ein.compile(PROGRAM)
    a = np.ones(16, np.float32)
    rows = [
        ("einlang add3, NumPy arrays", cost(m.add3, a, a, a)),
        ("numpy.add", cost(np.add, a, a)),
        ("numpy a + b + c", cost(lambda a, b, c: a + b + c, a, a, a)),
    ]
    try:
        import jax

        j = jax.numpy.ones(16, jax.numpy.float32)
        jitted = jax.jit(lambda a, b, c: a + b + c)
        rows.append(("jax.jit, JAX arrays", cost(jitted, j, j, j, times=5000)))
        rows.append(("jax.jit, NumPy arrays", cost(jitted, a, a, a, times=2000)))
        rows.append(("einlang add3, JAX arrays", cost(m.add3, j, j, j, times=1000)))
    except ImportError:
        print("jax is not installed: skipped")
    print(f"{'call with three arrays of 16 numbers':40} median µs   least µs")
    for name, (median, least) in rows:
        print(f"{name:40} {median:9.2f}  {least:9.2f}")
    x = np.random.default_rng(0).random((512, 512)).astype(np.float32)
    for name, call in (("einlang matmul 512", m.matmul), ("numpy matmul 512", np.matmul)):
        median, least = cost(call, x, x, rounds=5, times=20)
        print(f"{name:40} {median:9.2f}  {least:9.2f}")
    try:
        print(f"memory after a million calls: {growth(m.add3, a, a, a):+d} kB")
    except OSError:
        print("memory is not counted here: skipped")


if __name__ == "__main__":
    main()
