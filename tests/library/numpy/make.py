#!/usr/bin/env python3
"""Makes the tests of the library against NumPy.

    python3 make.py EINLANG

writes `math.ein`, `array.ein`, `ops.ein`, `ml.ein`, `numerics.ein`, `random.ein` and `io.ein` beside this file, what each must print, and
the files under `data/` that `io.ein` reads. `EINLANG` is the command, which formats the programs.
The same numbers come out of every run. Needs NumPy and SciPy; the tests themselves need neither.

What the specification of the library says wins over what NumPy does: quotients of integers
truncate, the sign of an integer is a float, functions of two arguments agree in leading axes.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

sys.dont_write_bytecode = True

import cases_array
import cases_io
import cases_math
import cases_ml
import cases_numerics
import cases_ops
import cases_random


def main(einlang):
    folder = Path(__file__).resolve().parent
    programs = {
        "array": cases_array.make(np.random.default_rng(1)),
        "ops": cases_ops.make(np.random.default_rng(2)),
        "math": cases_math.make(np.random.default_rng(3)),
        "ml": cases_ml.make(np.random.default_rng(5)),
        "numerics": cases_numerics.make(np.random.default_rng(6)),
        "random": cases_random.make(np.random.default_rng(7)),
        "io": cases_io.make(np.random.default_rng(4), folder),
    }
    for name, program in programs.items():
        path = folder / f"{name}.ein"
        path.write_text(program.text())
        path.with_suffix(".out").write_text(program.output())
        subprocess.run([einlang, "fmt", path], check=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
