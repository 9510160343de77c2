"""Einlang: a tensor language in which axes have names, checked before it runs.

    import numpy as np, einlang as ein

    m = ein.compile('''
        fn matmul(a: [f32; i, k], b: [f32; k, j]) -> [f32; i, j] {
            let c[i, j] = sum[k](a[i, k] * b[k, j]);
            c
        }
    ''')
    c = m.matmul(np.ones((2, 3), np.float32), np.ones((3, 4), np.float32))

Programs
    compile, load   a text or a file as a `Module`; its functions are attributes
    run             a whole program: inputs in, outputs by name
    ein             one definition: ein("C[i, j] = sum[k](A[i, k] * B[k, j])", A=a, B=b)
    check           what the checker says, as `Diagnostic`s; nothing runs
    Session         a program that is written entry by entry

Derivatives
    grad, value_and_grad, jacobian, vjp, jvp

Arrays of NumPy, PyTorch, JAX and xarray go in without copies, and results come back in kind.
What is wrong is an `EinlangError` with `.diagnostics`.
"""

from ._einlang import Tensor, __version__, explain
from ._errors import (
    ArgumentError,
    CompileError,
    Diagnostic,
    EinlangError,
    InternalError,
    RunError,
    Span,
)
from ._module import Function, Module, Record, check, compile, ein, load, run
from ._grad import grad, jacobian, jvp, value_and_grad, vjp
from ._session import Session
from . import _display as _display  # gives `Tensor` its representations

__all__ = [
    "ArgumentError",
    "CompileError",
    "Diagnostic",
    "EinlangError",
    "Function",
    "InternalError",
    "Module",
    "Record",
    "RunError",
    "Session",
    "Span",
    "Tensor",
    "check",
    "compile",
    "ein",
    "explain",
    "grad",
    "jacobian",
    "jvp",
    "load",
    "run",
    "value_and_grad",
    "vjp",
]


def load_ipython_extension(shell):
    """What `%load_ext einlang` does."""
    from ._magics import register

    register(shell)
