"""Kernels called from Python beside the same programs under `einlang bench`, in one run.

    python bindings/python/benches/kernels.py PROGRAM.ein… [--engine native] [--threads 1]

A program takes arrays by `let x: [f32; row: 64] = input();`; here these are the parameters of a
function whose body is the rest, and the last definition is its result. Build the package with
`maturin develop --release` first.

All are the same kernel on the same engine and threads, measured in turns; each figure is the least of all
rounds. What may differ is where inputs lie, and that matters: a wide load that straddles two cache lines
takes twice as long as one that does not. NumPy puts large arrays 16 bytes behind a page; `einlang bench`
reads files into memory of its own, which begins at a line. So each has two columns:

    NumPy   called with NumPy's own arrays             bench   an `.npy` file for each input
    own     called with `ein.Tensor`s, which lie       behind  files that are mapped, so that inputs lie
            where the inputs of `einlang bench` do             16 bytes behind a page, as NumPy's do

NumPy/behind and own/bench compare calls with `einlang bench` on inputs that lie alike. Inputs below 64 KiB
are not mapped, so they are at a line in `behind`, too.
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
        numbers = random.random(shape) if elem[0] == "f" else random.integers(1, 4, shape)
        made[name] = numbers.astype(TYPES[elem])
    return made


def called(call, args, seconds=0.5):
    """Milliseconds of a call: the least of as many as fit, which others on the machine disturb least."""
    call(*args)
    found, ends = [], time.perf_counter() + seconds
    while time.perf_counter() < ends or len(found) < 5:
        started = time.perf_counter()
        call(*args)
        found.append((time.perf_counter() - started) * 1e3)
    return min(found), len(found)


def mapped(path, name, array):
    """A file whose numbers lie 16 bytes behind a page when it is mapped."""
    types = {"float32": "F32", "float64": "F64", "int32": "I32", "int64": "I64", "uint8": "U8"}
    about = {name: {"dtype": types[str(array.dtype)], "shape": array.shape, "data_offsets": [0, array.nbytes]}}
    header = json.dumps(about).encode()
    header += b" " * ((16 - 8 - len(header)) % 4096)
    path.write_bytes(len(header).to_bytes(8, "little") + header + array.tobytes())


def files(made, folder):
    """The inputs of both benches, as arguments."""
    own, behind = [], []
    for name, array in made.items():
        np.save(folder / f"{name}.npy", array)
        own += ["--input", f"{name}={folder / f'{name}.npy'}"]
        if array.ndim:
            mapped(folder / f"{name}.safetensors", name, array)
            behind += ["--input", f"{name}={folder / f'{name}.safetensors'}"]
        else:
            behind += own[-2:]
    return own, behind


def benched(path, given, last, runs, options):
    """The same program under `einlang bench`."""
    command = [sys.executable, "-m", "einlang", "bench", str(path), "--json", "--observe", last]
    command += ["--engine", options.engine, "--threads", str(options.threads), "--runs", str(runs)]
    done = subprocess.run([*command, *given], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])["min_ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="+", type=Path)
    parser.add_argument("--engine", default="native")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    columns = ("NumPy", "own", "bench", "behind")
    head = " ".join(f"{column:>9}" for column in columns)
    print(f"{'milliseconds':18} {head}   NumPy/bench  own/bench NumPy/behind")
    ratios = []
    for path in options.programs:
        inputs, uses, body, last = split(path.read_text())
        params = ", ".join(f"{name}: {whole}" for name, whole, _, _ in inputs)
        text = "\n".join([*uses, f"fn kernel({params}) {{", *body, last, "}"])
        kernel = ein.compile(text, engine=options.engine, threads=options.threads).kernel
        made = arrays(inputs)
        arrays_of_numpy = list(made.values())
        tensors = [ein.Tensor(array) if array.ndim else array for array in arrays_of_numpy]
        found = []
        with tempfile.TemporaryDirectory() as folder:
            npy, behind = files(made, Path(folder))
            for _ in range(options.rounds):
                first, runs = called(kernel, arrays_of_numpy)
                second, _ = called(kernel, tensors)
                third = benched(path, npy, last, runs, options)
                found.append((first, second, third, benched(path, behind, last, runs, options)))
        least = [min(column) for column in zip(*found)]
        ratios.append((least[0] / least[2], least[1] / least[2], least[0] / least[3]))
        times = " ".join(f"{column:9.3f}" for column in least)
        shown = " ".join(f"{ratio:10.3f}" for ratio in ratios[-1])
        print(f"{path.stem:18} {times}   {shown}", flush=True)
    for name, column in zip(("NumPy/bench", "own/bench", "NumPy/behind"), zip(*ratios)):
        mean = statistics.geometric_mean(column)
        print(f"{name}: geometric mean {mean:.3f}, worst {max(column):.3f}")


if __name__ == "__main__":
    main()
