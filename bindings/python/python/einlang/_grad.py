"""Derivatives: requests with `@` about functions of a program."""

from __future__ import annotations

import functools
from typing import Any, Callable, Sequence

from . import _einlang, _errors
from ._module import Function, _plain


def _wanted(function: Function, wrt) -> tuple[str, ...]:
    names = [name for name, _, _ in function._params]
    if wrt is None:
        wrt = (0,)
    if isinstance(wrt, (str, int)):
        wrt = (wrt,)
    found = []
    for one in wrt:
        if isinstance(one, int):
            if not -len(names) <= one < len(names):
                raise _errors.ArgumentError(
                    [_plain("E0508", f"`{function.__name__}` has {len(names)} parameters", [])]
                )
            one = names[one]
        if one not in names:
            message = f"`{function.__name__}` has no parameter `{one}`"
            raise _errors.ArgumentError(
                [_plain("E0509", message, [f"its parameters are {', '.join(names)}"])]
            )
        found.append(one)
    return tuple(found)


def _check(function):
    if not isinstance(function, Function):
        message = f"{function!r} is no function of an Einlang program"
        raise _errors.ArgumentError(
            [_plain("E0510", message, ["pass an attribute of `ein.compile(…)`"])]
        )


def _fresh(function, like, taken):
    name = function.module._free_name(like)
    while name in taken:
        name += "_"
    return name


def request(function: Function, wrt: tuple[str, ...], kind: str) -> _einlang.Function:
    """The value of a function and its derivatives, as one request."""
    key = (kind, wrt)
    made = function._others.get(key)
    if made is not None:
        return made
    inner = {name: inside for name, inside, _ in function._params}
    taken = set(inner.values())
    value = _fresh(function, "value", taken)
    taken.add(value)
    params = list(function._params)
    lines = [f"let {value} = {function._call};"]
    outputs = [value]

    def extra(like):
        name = _fresh(function, like, taken)
        taken.add(name)
        params.append((name, name, None))
        return name

    if kind == "vjp":
        seed = extra("cotangent")
    terms = []
    for name in wrt:
        out = _fresh(function, f"d_{name}", taken)
        taken.add(out)
        if kind == "quotient":
            lines.append(f"let {out} = @{value} / @{inner[name]};")
        elif kind == "vjp":
            lines.append(f"let {out} = vjp({value}, {inner[name]}, {seed});")
        else:
            seed = extra(f"tangent_{name}")
            terms.append(f"jvp({value}, {inner[name]}, {seed})")
            continue
        outputs.append(out)
    if kind == "jvp":
        out = _fresh(function, "tangent", taken)
        lines.append(f"let {out} = {' + '.join(terms)};")
        outputs.append(out)
    made = _einlang.Function(
        function.module, function.__name__, params, "\n".join(lines), outputs, several=True
    )
    function._others[key] = made
    return made


def _derivative(function, wrt, finish, doc, needs_scalar):
    _check(function)
    single = wrt is None or isinstance(wrt, (str, int))
    names = _wanted(function, wrt)

    @functools.wraps(function, assigned=("__name__", "__module__"), updated=())
    def derived(*args, **kwargs):
        bound, args = function._bind(args, kwargs)
        made = request(bound, names, "quotient")
        if needs_scalar:
            types = made._results(*args)
            if len(types) != 1 + len(names) or types[0][1]:
                message = f"`{function.__name__}` gives an array, not one number"
                hint = "reduce it to one number, or use `ein.jacobian`"
                raise _errors.CompileError([_plain("E0702", message, [hint])])
        value, *grads = made(*args)
        return finish(value, grads[0] if single else tuple(grads))

    derived.__doc__ = doc
    derived.__wrapped__ = function
    return derived


def grad(function: Function, wrt: str | int | Sequence[str | int] | None = None) -> Callable:
    """The function that gives the derivative of one number by the parameters `wrt`.

    `wrt` is a name or number, or a sequence of these, for which a tuple comes back; the first
    parameter if it is not given.
    """
    doc = f"The derivative of `{getattr(function, '__name__', function)}`."
    return _derivative(function, wrt, lambda value, grads: grads, doc, True)


def value_and_grad(
    function: Function, wrt: str | int | Sequence[str | int] | None = None
) -> Callable:
    """As `grad`, with the value before the derivatives."""
    doc = f"The value of `{getattr(function, '__name__', function)}`, and its derivative."
    return _derivative(function, wrt, lambda value, grads: (value, grads), doc, True)


def jacobian(function: Function, wrt: str | int | Sequence[str | int] | None = None) -> Callable:
    """The function that gives all derivatives of the result by the parameters `wrt`: the axes of
    the result, then those of the parameter."""
    doc = f"All derivatives of `{getattr(function, '__name__', function)}`."
    return _derivative(function, wrt, lambda value, grads: grads, doc, False)


def vjp(function: Function, *args: Any, wrt=None, **kwargs: Any) -> tuple[Any, Callable]:
    """The value, and a function that takes a cotangent of its shape to one of each parameter."""
    _check(function)
    bound, args = function._bind(args, kwargs)
    names = tuple(name for name, _, _ in bound._params) if wrt is None else _wanted(bound, wrt)
    value = bound(*args)

    def pullback(cotangent):
        made = request(bound, names, "vjp")
        return tuple(made(*args, cotangent)[1:])

    return value, pullback


def jvp(
    function: Function, primals: Sequence[Any], tangents: Sequence[Any], wrt=None
) -> tuple[Any, Any]:
    """The value, and its derivative along tangents of the parameters `wrt` (all of them)."""
    _check(function)
    bound, args = function._bind(tuple(primals), {})
    names = tuple(name for name, _, _ in bound._params) if wrt is None else _wanted(bound, wrt)
    if len(tangents) != len(names):
        message = f"{len(tangents)} tangents came for {len(names)} parameters"
        raise _errors.ArgumentError(
            [_plain("E0508", message, [f"give one for each of {', '.join(names)}"])]
        )
    value, tangent = request(bound, names, "jvp")(*args, *tangents)
    return value, tangent
