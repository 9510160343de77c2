"""Diagnostics as objects, and the exceptions that carry them."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple


class Span(NamedTuple):
    """A place in a program, from 1, and what is said there."""

    file: str
    line: int
    column: int
    label: str


class Diagnostic:
    """One message: what is wrong, where, what else is involved, what would make it right."""

    __slots__ = ("code", "message", "severity", "spans", "notes", "fixes", "text", "coloured")

    def __init__(self, code, message, severity, spans, notes, fixes, text, coloured):
        self.code: str = code
        self.message: str = message
        self.severity: str = severity
        self.spans: list[Span] = [Span(*span) for span in spans]
        self.notes: list[str] = notes
        self.fixes: list[str] = fixes
        self.text: str = text
        self.coloured: str = coloured

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Diagnostic {self.code}: {self.message}>"

    def __reduce__(self):
        return Diagnostic, tuple(getattr(self, name) for name in self.__slots__)


def diagnostics(found) -> list[Diagnostic]:
    """Diagnostics from what the compiled part gives."""
    return [Diagnostic(**one) for one in found]


class EinlangError(Exception):
    """What is wrong with a program, a call or a run; `.diagnostics` has it as data."""

    def __init__(self, diagnostics=(), message: str = ""):
        self.diagnostics: list[Diagnostic] = list(diagnostics)
        self.message = message
        super().__init__(self.diagnostics, message)

    @property
    def code(self) -> str:
        """The code of the first diagnostic."""
        return self.diagnostics[0].code if self.diagnostics else ""

    def __str__(self) -> str:
        if not self.diagnostics:
            return self.message
        coloured = _shows_colours()
        texts = (one.coloured if coloured else one.text for one in self.diagnostics)
        return "\n" + "\n\n".join(texts)

    def _render_traceback_(self):
        """What notebooks show: the message with its carets, and the line of the call."""
        import traceback

        lines = str(self).lstrip("\n").splitlines()
        frames = [
            frame
            for frame in traceback.extract_tb(self.__traceback__)
            if not frame.filename.startswith(_PACKAGE) and "IPython" not in frame.filename
        ]
        # The line of a cell of ours is no line that anybody wrote.
        ours = any("run_cell_magic(" in (frame.line or "") for frame in frames)
        if frames and frames[-1].line and not ours:
            lines += ["", f"called at line {frames[-1].lineno}: {frames[-1].line}"]
        return [type(self).__name__, *lines]

    def __reduce__(self):
        return type(self), (self.diagnostics, self.message)


class CompileError(EinlangError):
    """The program or the call is rejected; nothing ran."""


class ArgumentError(CompileError, TypeError, ValueError):
    """An argument too many or too few, one of a name that no parameter has, or an option that is none."""


class RunError(EinlangError):
    """The run stopped."""


class InternalError(EinlangError, RuntimeError):
    """A bug of Einlang."""


def _shows_colours() -> bool:
    """Whether whoever shows an exception shows colours."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    if "ipykernel" in sys.modules and "IPython" in sys.modules:
        from IPython import get_ipython

        if get_ipython() is not None:
            return True
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


_PACKAGE = os.path.dirname(__file__)


def trim(error: BaseException) -> None:
    """Takes the frames of this package out of the traceback of an exception of ours."""
    if not isinstance(error, EinlangError):
        return
    left = []
    at = error.__traceback__
    while at is not None:
        if os.path.dirname(at.tb_frame.f_code.co_filename) != _PACKAGE:
            left.append(at)
        at = at.tb_next
    for one, after in zip(left, [*left[1:], None]):
        one.tb_next = after
    error.__traceback__ = left[0] if left else None


def fail(kind: str, found):
    """The exception for a failure; the compiled part raises it."""
    if kind == "internal":
        return InternalError((), found)
    classes = {"compile": CompileError, "run": RunError, "argument": ArgumentError}
    return classes[kind](diagnostics(found))
