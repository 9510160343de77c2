"""What a call costs, beside `numpy.add` and a jitted function of JAX, in one run.

    python bindings/python/benches/calls.py

Build the package with `maturin develop --release` first. All are measured in turns, a millisecond at a
time, which is less than others on the machine interrupt; the figure is the least.
"""

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


def least(calls, rounds=300, seconds=1e-3):
    """Microseconds of each call."""
    times, found = {}, {}
    for name, (call, *args) in calls.items():
        for _ in range(200):
            call(*args)
        started = time.perf_counter()
        call(*args)
        times[name] = max(1, int(seconds / (time.perf_counter() - started)))
        found[name] = float("inf")
    for _ in range(rounds):
        for name, (call, *args) in calls.items():
            count = range(times[name])
            started = time.perf_counter()
            for _ in count:
                call(*args)
            found[name] = min(found[name], (time.perf_counter() - started) / len(count) * 1e6)
    return found


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


def add(a, b, c):
    return a + b + c


def main():
    m = ein.compile(PROGRAM)
    a = np.ones(16, np.float32)
    x = np.random.default_rng(0).random((512, 512)).astype(np.float32)
    calls = {
        "einlang add3, NumPy arrays": (m.add3, a, a, a),
        "numpy.add": (np.add, a, a),
        "numpy a + b + c": (add, a, a, a),
        "einlang matmul 512": (m.matmul, x, x),
        "numpy matmul 512": (np.matmul, x, x),
    }
    try:
        import jax

        j = jax.numpy.ones(16, jax.numpy.float32)
        jitted = jax.jit(add)
        calls["jax.jit, JAX arrays"] = (jitted, j, j, j)
        calls["jax.jit, NumPy arrays"] = (jitted, a, a, a)
        calls["einlang add3, JAX arrays"] = (m.add3, j, j, j)
        # What JAX takes for each argument and for the result, whoever computes it.
        tensor = ein.Tensor(a)
        maker = ein._arrays.jax_maker()
        if maker:
            make, device = maker
            calls["of that: JAX makes the result"] = (
                lambda: make(tensor.__dlpack__(), device, None, None),
            )
        calls["of that: JAX shows its arrays"] = (
            lambda: (memoryview(j), memoryview(j), memoryview(j)),
        )
    except ImportError:
        print("jax is not installed: skipped")
    try:
        import torch

        t = torch.ones(16)
        calls["torch a + b + c"] = (add, t, t, t)
        calls["einlang add3, PyTorch tensors"] = (m.add3, t, t, t)
    except ImportError:
        print("torch is not installed: skipped")
    print(f"{'call with three arrays of 16 numbers':40} least µs")
    for name, cost in least(calls).items():
        print(f"{name:40} {cost:8.2f}")
    try:
        print(f"memory after a million calls: {growth(m.add3, a, a, a):+d} kB")
    except OSError:
        print("memory is not counted here: skipped")


if __name__ == "__main__":
    main()
