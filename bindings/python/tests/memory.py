"""The calls at random where accesses to memory are watched.

    python bindings/python/tests/memory.py debug       # a debug build of CPython (`python3-dbg`)
    python bindings/python/tests/memory.py valgrind    # valgrind, some minutes

Both run `test_fuzz.py` with the packages of the Python that runs this; under valgrind with a tenth of
its calls, or as many as `EINLANG_CALLS` says. The debug build checks
reference counts and the borders of what Python allocates. valgrind checks every address that is read,
written or freed; it does not know the vectors of 512 bits that a C compiler makes for this machine, so
kernels are those of the engine `jit`.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent / "test_fuzz.py"


def main(how):
    # Packages of this Python, but the standard library of the other one.
    packages = [path for path in sys.path if "site-packages" in path or (Path(path) / "einlang").is_dir()]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(packages), PYTHONDONTWRITEBYTECODE="1")
    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider", str(TESTS)]
    if how == "debug":
        version = f"python3.{sys.version_info.minor}-dbg"
        python = shutil.which(version) or sys.exit(f"there is no `{version}`")
        return subprocess.run([python, "-X", "dev", *pytest], env=environment).returncode
    if how == "valgrind":
        valgrind = shutil.which("valgrind") or sys.exit("there is no valgrind")
        environment.update(PYTHONMALLOC="malloc", CC="false", OPENBLAS_NUM_THREADS="1")
        environment.setdefault("EINLANG_CALLS", "100")
        watch = [valgrind, "--error-exitcode=9", "--undef-value-errors=no", "--num-callers=30"]
        watch.append(f"--suppressions={TESTS.with_name('valgrind.supp')}")
        python = os.path.realpath(sys.executable)
        return subprocess.run([*watch, python, *pytest], env=environment).returncode
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) == 2 else ""))
