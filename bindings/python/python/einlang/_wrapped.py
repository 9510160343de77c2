"""What functions of a program for other libraries have in common."""

from __future__ import annotations

from typing import Any, Callable

from ._einlang import Edge
from ._grad import Request
from ._module import Function


class Wrapped:
    """A function of a program as a function of another library, with derivatives.

    `library` is the method of `Function` that makes it. `arrays` takes a request and arguments to
    the arrays of the result; None if no argument is of that library, so that this is a usual call.
    """

    def __init__(self, function: Function, library: str, arrays: Callable):
        self._library = library
        self._arrays = arrays
        self.__name__ = self.__qualname__ = function.__name__
        self.__doc__ = function.__doc__
        self.__module__ = "einlang"
        self.__signature__ = function.__signature__
        self.__wrapped__ = function

    @Edge
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound, args = self.__wrapped__._bind(args, kwargs)
        request = Request.of(bound)
        flat = self._arrays(request, args)
        return bound(*args) if flat is None else request.pack(flat)

    def __repr__(self):
        return f"<{self.__wrapped__!r} for {self._library}>"

    def __reduce__(self):
        return _wrapped, (self.__wrapped__, self._library)


def _wrapped(function, library):
    return getattr(function, library)()


def is_lifted(size: int, cells, whole) -> bool:
    """Whether a lifted call has the frame in front of every result: what is summed over the batch,
    as a derivative by a parameter of all calls, has not."""
    return len(cells) == len(whole) and all(
        big.shape == (size, *small.shape) for small, big in zip(cells, whole)
    )


def can_be_lifted(batched, frames) -> bool:
    """Whether a call whose arguments are lifted over so many batches can be lifted over one more: the
    language takes leading axes for the same, so the new one must be in front of all that are there."""
    return all(is_batched or not frame for is_batched, frame in zip(batched, frames))
