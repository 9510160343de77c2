"""What functions of a program for other libraries have in common."""

from __future__ import annotations

from typing import Any, Callable

from . import _errors
from ._einlang import Edge
from ._grad import Request
from ._module import Function, _plain


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


def leaves(value):
    """What a struct or tuple consists of."""
    if isinstance(value, (dict, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from leaves(item)
    else:
        yield value


def packed(name: str, library: str) -> _errors.CompileError:
    """What is wrong with a struct or tuple whose arrays another library would have to follow."""
    message = f"`{name}` is a struct or tuple, through which `{library}()` has no derivative"
    hint = "pass its arrays as parameters of their own, and put them together in the function"
    return _errors.CompileError([_plain("E0703", message, [hint])])


def remember(known: dict, key, value):
    """Keeps what was found out about shapes; those of long ago go."""
    if len(known) >= 256:
        known.pop(next(iter(known)), None)
    known[key] = value
    return value


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
