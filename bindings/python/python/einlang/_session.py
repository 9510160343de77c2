"""A program that is written entry by entry, as the REPL does."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from . import _einlang, _errors
from ._einlang import Edge


class Answer(NamedTuple):
    """What came of an entry."""

    #: What it gave, if it was an expression.
    value: Any
    #: What `print` shows of that.
    text: str | None
    #: What the checker warned of.
    warnings: list[_errors.Diagnostic]


class Session(_einlang.Session):
    """Entries, and the values of what they bind.

    An entry that is rejected or fails raises, and leaves everything as it was.
    """

    @Edge
    def execute(self, text: str) -> Any:
        """Runs an entry; gives the value if it is an expression."""
        return self.answer(text).value

    @Edge
    def answer(self, text: str) -> Answer:
        """The same with what is to be shown."""
        found = self._enter(text)
        return Answer(
            found.get("value"), found.get("text"), _errors.diagnostics(found["warnings"])
        )

    def complete(self, text: str, cursor: int | None = None) -> list[str]:
        """The names that may stand at the cursor."""
        start = word_start(text, cursor)
        begun = text[start : len(text) if cursor is None else cursor]
        names = {*self._bound(), *_words()}
        return sorted(name for name in names if name.startswith(begun) and name != begun)

    def inspect(self, name: str) -> str | None:
        """The type and layout of a binding or an expression, or how a function is declared and what is
        said of it; None if it is unknown."""
        described = self._described(name)
        if described is not None:
            return described
        try:
            found = self._type_of(name)
        except _errors.EinlangError:
            return None
        if found == "()":
            # A name of the language, which is no value.
            return None
        layout = self._layout_of(name)
        return f"{name}: {found}" + (f"\nlayout: {layout}" if layout else "")

    @Edge
    def type(self, expression: str) -> str:
        """The type of an expression; nothing runs."""
        return self._type_of(expression)

    @Edge
    def plan(self, text: str) -> str:
        """How an entry would be computed; nothing runs."""
        return self._plan_of(text)

    def is_complete(self, text: str) -> bool:
        """Whether nothing more must follow."""
        return not _einlang.is_unfinished(text)


def word_start(text: str, cursor: int | None = None) -> int:
    """Where the name that ends at the cursor begins."""
    before = text if cursor is None else text[:cursor]
    return re.search(r"(?:[^\W\d]\w*::)*(?:[^\W\d]\w*)?$", before).start()


_WORDS: list[str] = []


def _words() -> list[str]:
    if not _WORDS:
        _WORDS.extend(_einlang.words())
    return _WORDS
