"""Kernels called from Python beside the same programs under `einlang bench`, in one run.

    python bindings/python/benches/kernels.py PROGRAM.ein… [--engine native] [--threads 1]

A program takes arrays by `let x: [f32; row: 64] = input();`; here these are the parameters of a
function whose body is the rest, and the last definition is its result. Build the package with
`maturin develop --release` first.

Outputs are warm in both: a buffer that was given back is the next one of its size. What differs is where
inputs lie. NumPy puts large arrays at 16 bytes behind a page, so wide loads of them straddle cache lines;
such a load also waits for a store to the same place in another page, which is why large buffers of ours
begin in the middle of one. The second column has the same arrays at the start of a page.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import einlang as ein

INPUT = re.compile(r"let (\w+): (\[(\w+);([^\]]*)\]|\w+) = input\(\);")
TYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "u8": np.uint8}


def split(text):
    """The inputs of a program, its imports, its body, and the name that it defines last."""
    inputs = [match.groups() for match in INPUT.finditer(text)]
    lines = INPUT.sub("", text).splitlines()
    uses = [line for line in lines if line.startswith("use ")]
    body = [line for line in lines if line.strip() and not line.startswith("use ")]
    last = re.findall(r"^let (\w+)", "\n".join(body), re.M)[-1]
    return inputs, uses, body, last


def arrays(inputs):
    """Numbers of the declared shapes."""
    random = np.random.default_rng(0)
    made = {}
    for name, whole, elem, dims in inputs:
        if elem is None:
            made[name] = TYPES[whole](1)
            continue
        shape = [int(dim.split(":")[-1].replace("_", "")) for dim in dims.split(",")]
        numbers = random.random(shape) if elem[0] == "f" else random.integers(0, 4, shape)
        made[name] = numbers.astype(TYPES[elem])
    return made


def aligned(array):
    """The same numbers at the start of a page."""
    room = np.empty(array.nbytes + 4096, np.uint8)
    start = -room.ctypes.data % 4096
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def called(call, args, seconds=1.0):
    """Milliseconds of a call: the least of as many as fit, which others on the machine disturb least."""
    call(*args)
    found, ends = [], time.perf_counter() + seconds
    while time.perf_counter() < ends or len(found) < 5:
        started = time.perf_counter()
        call(*args)
        found.append((time.perf_counter() - started) * 1e3)
    return min(found)


def benched(path, inputs, last, options, folder):
    """The same program under `einlang bench`."""
    given = []
    for name, array in inputs.items():
        np.save(folder / f"{name}.npy", array)
        given += ["--input", f"{name}={folder / f'{name}.npy'}"]
    command = [sys.executable, "-m", "einlang", "bench", str(path), "--json", "--observe", last]
    command += ["--engine", options.engine, "--threads", str(options.threads), *given]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])["min_ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="+", type=Path)
    parser.add_argument("--engine", default="native")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{'program':20} {'NumPy ms':>10} {'page ms':>10} {'bench ms':>10} {'ratios':>11}")
    ratios = []
    for path in options.programs:
        inputs, uses, body, last = split(path.read_text())
        params = ", ".join(f"{name}: {whole}" for name, whole, _, _ in inputs)
        text = "\n".join([*uses, f"fn kernel({params}) {{", *body, last, "}"])
        module = ein.compile(text, engine=options.engine, threads=options.threads)
        made = arrays(inputs)
        with tempfile.TemporaryDirectory() as folder:
            found = [
                (
                    called(module.kernel, list(made.values())),
                    called(module.kernel, [aligned(array) for array in made.values()]),
                    benched(path, made, last, options, Path(folder)),
                )
                for _ in range(options.rounds)
            ]
        own, paged, bench = (min(column) for column in zip(*found))
        ratios.append((own / bench, paged / bench))
        print(
            f"{path.stem:20} {own:10.3f} {paged:10.3f} {bench:10.3f}"
            f" {own / bench:5.2f} {paged / bench:5.2f}",
            flush=True,
        )
    for name, column in zip(("NumPy's own", "at a page"), zip(*ratios)):
        mean = statistics.geometric_mean(column)
        print(f"{name}: geometric mean {mean:.3f}, worst {max(column):.3f}")


if __name__ == "__main__":
    main()
