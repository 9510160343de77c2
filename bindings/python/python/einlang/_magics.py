"""`%%einlang` cells in notebooks of Python."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
import time

from . import _module
from ._errors import ArgumentError, CompileError, EinlangError


class _Meter:
    """Says how far a long run is, on one line."""

    def __init__(self):
        self.started = self.last = time.monotonic()
        self.shown = False

    def __call__(self, number, name, fraction):
        now = time.monotonic()
        if now - self.started < 1 or now - self.last < 0.25:
            return
        self.last = now
        self.shown = True
        how_far = "" if fraction is None else f" {100 * fraction:.0f} %"
        print(f"\r{name}{how_far} ({now - self.started:.0f} s) ", end="", file=sys.stderr)

    def end(self):
        if self.shown:
            print("\r" + " " * 60 + "\r", end="", file=sys.stderr)


def _names(text):
    return [name.strip() for name in (text or "").split(",") if name.strip()]


class _Parser(argparse.ArgumentParser):
    """Options of a cell; what is wrong with them is an exception, so that no later cell runs."""

    def error(self, message):
        raise ArgumentError([_module._plain("E0509", message, [self.format_usage().strip()])])


def _parser():
    parser = _Parser(prog="%%einlang", add_help=False)
    parser.add_argument("-i", "--input", help="variables of Python that the cell reads")
    parser.add_argument("-o", "--output", help="bindings of the cell that become variables")
    parser.add_argument("-m", "--module", default="ein_cell", help="what its functions become")
    parser.add_argument("--engine", default="auto")
    return parser


def cell(line: str, body: str, variables: dict):
    """Runs a cell with these variables of Python."""
    parser = _parser()
    try:
        words = shlex.split(line)
    except ValueError as error:
        parser.error(f"{error}: {line}")
    options = parser.parse_args(words)
    if not options.module.isidentifier():
        parser.error(f"`{options.module}` cannot be a name of a variable")
    wanted = _names(options.output)
    if options.input is None and options.output is None:
        variables[options.module] = _module.compile(body, path=None, engine=options.engine)
        return
    inputs = {}
    for name in _names(options.input):
        if name not in variables:
            message = f"there is no variable `{name}` to read"
            raise CompileError([_module._plain("E0901", message, [f"assign it: `{name} = …`"])])
        inputs[name] = variables[name]
    meter = _Meter()
    try:
        text = _declared(body, inputs)
        found = _module.run(
            text, inputs, wanted or None, progress=meter, engine=options.engine
        )
    finally:
        meter.end()
    variables.update({name: found[name] for name in wanted})


def _declared(body, inputs):
    """The cell with a declaration of each input that it does not declare itself."""
    missing = [name for name in inputs if not re.search(rf"\blet\s+{name}\b", body)]
    lines = []
    for name in missing:
        lines.append(f"let {name}: {_type(name, inputs[name])} = input();")
    # On one line, so that the lines of the cell keep their numbers.
    return " ".join(lines) + ("\n" if lines and not body.startswith("\n") else "") + body


def _type(name, value):
    """The type of a value of Python."""
    from ._einlang import Tensor

    if isinstance(value, str):
        return "str"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "i32" if -(2**31) <= value < 2**31 else "i64"
    if isinstance(value, float):
        return "f64"
    try:
        tensor = value if isinstance(value, Tensor) else Tensor(value)
    except EinlangError as error:
        (about,) = error.diagnostics
        message = about.message.replace("`array`", f"`{name}`", 1)
        raise CompileError([_module._plain(about.code, message, about.fixes)]) from None
    if not tensor.ndim:
        return tensor.dtype
    axes = ", ".join(f"{axis}: ?" if axis else "?" for axis in tensor.dims)
    return f"[{tensor.dtype}; {axes}]"


def register(shell):
    """Gives a shell of IPython the magic."""

    def einlang(line, body):
        cell(line, body, shell.user_ns)

    einlang.__doc__ = """Runs a cell of Einlang.

    `%%einlang -i x,y -o z` reads variables of Python and assigns some; without options the
    functions of the cell become those of a module `ein_cell`.
    """
    shell.register_magic_function(einlang, "cell", "einlang")

