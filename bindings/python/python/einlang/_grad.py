"""Derivatives: requests with `@` about functions of a program."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Sequence

from . import _einlang, _errors
from ._einlang import Edge
from ._module import Function, _plain


class Request:
    """Statements over the parameters of a function, and the names of what they compute.

    It begins as a call of the function; derivatives add statements, and parameters for seeds.
    """

    def __init__(self, function, params, lines, outputs):
        self.function = function
        self.params = params
        self.lines = lines
        self.outputs = outputs
        #: Where the arrays of its results are, and how they are packed, once it was called.
        self.paths: list[str] = []
        self.pack: Callable = tuple
        #: For what libraries know of its results, by the shapes of arguments.
        self.known: dict = {}
        #: What it is the derivative of: whether pulled or pushed, the request, by what, and of what.
        self.derived: tuple[str, Request, tuple, tuple] | None = None
        self._made = None
        self._more: dict[tuple, Request] = {}

    @staticmethod
    def of(function: Function) -> Request:
        """A call of the function."""
        made = function._others.get("call")
        if made is None:
            made = Request(function, list(function._params), [], [])
            value = made._fresh("value")
            made.lines.append(f"let {value} = {function._call};")
            made.outputs.append(value)
            function._others["call"] = made
        return made

    @property
    def made(self) -> _einlang.Function:
        """What computes all outputs, as a tuple."""
        if self._made is None:
            self._made = _einlang.Function(
                self.function.module,
                self.function.__name__,
                self.params,
                "\n".join(self.lines),
                self.outputs,
                several=True,
            )
        return self._made

    def flat(self, library: str, is_array: Callable, args) -> list:
        """The arrays of what a call for a library gives, whatever they are packed in."""
        flat, paths = [], []
        result = self.made(*args)

        def walk(value, path):
            if isinstance(value, dict):
                packed = {key: walk(item, f"{path}.{key}") for key, item in value.items()}
                return lambda flat: _repacked(value, {k: p(flat) for k, p in packed.items()})
            if isinstance(value, tuple):
                items = [walk(item, f"{path}.{at}") for at, item in enumerate(value)]
                return lambda flat: tuple(item(flat) for item in items)
            at = len(flat)
            flat.append(value)
            paths.append(path)
            return lambda flat: flat[at]

        tops = [walk(value, name) for name, value in zip(self.outputs, result)]
        if not all(map(is_array, flat)):
            message = f"`{self.function.__name__}` gives something that is no array"
            hint = f"call it without `{library}()`"
            raise _errors.CompileError([_plain("E0703", message, [hint])])
        self.paths = paths
        self.pack = tops[0] if len(tops) == 1 else lambda flat: tuple(top(flat) for top in tops)
        return flat

    def quotients(self, wrt: tuple[str, ...]) -> Request:
        """Its first output, and the derivatives of it by some parameters."""

        def build(more):
            (value,) = self.outputs
            more.outputs = [value]
            for name, inner in self._inner(wrt):
                out = more._fresh(f"d_{name}")
                more.lines.append(f"let {out} = @{value} / @{inner};")
                more.outputs.append(out)

        return self._with(("quotients", wrt), build)

    def pulled(self, wrt: tuple[str, ...], parts: tuple[str, ...] | None = None) -> Request:
        """The products of cotangents of some parts of its outputs with their derivatives."""
        parts = tuple(self.outputs) if parts is None else parts

        def build(more):
            more.derived = ("pulled", self, wrt, parts)
            seeds = [more._param("cotangent") for _ in parts]
            named = list(zip(more._parts(parts), seeds))
            more.outputs = []
            for name, inner in self._inner(wrt):
                out = more._fresh(f"d_{name}")
                terms = [f"vjp({part}, {inner}, {seed})" for part, seed in named]
                more.lines.append(f"let {out} = {' + '.join(terms)};")
                more.outputs.append(out)

        return self._with(("pulled", wrt, parts), build)

    def pushed(self, wrt: tuple[str, ...], parts: tuple[str, ...] | None = None) -> Request:
        """The derivatives of some parts of its outputs along tangents of some parameters."""
        parts = tuple(self.outputs) if parts is None else parts

        def build(more):
            more.derived = ("pushed", self, wrt, parts)
            seeds = [(inner, more._param(f"tangent_{name}")) for name, inner in self._inner(wrt)]
            named = more._parts(parts)
            more.outputs = []
            for part in named:
                out = more._fresh("tangent")
                terms = [f"jvp({part}, {inner}, {seed})" for inner, seed in seeds]
                more.lines.append(f"let {out} = {' + '.join(terms)};")
                more.outputs.append(out)

        return self._with(("pushed", wrt, parts), build)

    def also(self, outputs: Sequence[str]) -> Request:
        """The same with other outputs of its statements before its own."""

        def build(more):
            more.outputs = [*outputs, *self.outputs]

        return self._with(("also", tuple(outputs)), build)

    def only(self, at: int) -> Request:
        """The same with one of its outputs."""

        def build(more):
            more.outputs = [self.outputs[at]]

        return self._with(("only", at), build)

    def _with(self, key, build):
        more = self._more.get(key)
        if more is None:
            more = Request(self.function, list(self.params), list(self.lines), list(self.outputs))
            build(more)
            self._more[key] = more
        return more

    def _inner(self, wrt):
        inner = {name: inside for name, inside, _ in self.params}
        for name in wrt:
            if name not in inner:
                message = f"`{name}` is left to its default, so there is no derivative by it"
                raise _errors.ArgumentError([_plain("E0703", message, [f"pass `{name}`"])])
        return [(name, inner[name]) for name in wrt]

    def _parts(self, paths):
        """Names for parts of outputs."""
        named = []
        for path in paths:
            if path not in self.outputs:
                part = self._fresh("part")
                self.lines.append(f"let {part} = {path};")
                path = part
            named.append(path)
        return named

    def _param(self, like):
        name = self._fresh(like)
        self.params.append((name, name, None))
        return name

    def _fresh(self, like):
        """A name that nothing here has."""
        taken = {inside for _, inside, _ in self.params} | {name for name, _, _ in self.params}
        taken |= {line.split()[1] for line in self.lines}
        name = self.function.module._free_name(like)
        while name in taken:
            name += "_"
        return name


def _repacked(like, fields):
    record = type(like)(fields)
    record.__dict__.update(like.__dict__)
    return record


class Derived:
    """The derivative of a function, which is a function itself."""

    def __init__(self, source, wrt, doc, needs_number, finish=None):
        _check(source)
        self._source = source
        self._single = wrt is None or isinstance(wrt, (str, int))
        self._names = _wanted(source, wrt)
        self._needs_number = needs_number
        self._finish = finish
        self._numbers: set[tuple] = set()
        self._params = source._params
        self.__name__ = source.__name__
        self.__doc__ = doc
        self.__module__ = "einlang"
        self.__wrapped__ = source

    @property
    def __signature__(self):
        return self._source.__signature__

    @Edge
    def __call__(self, *args, **kwargs):
        request, args = self._start(args, kwargs)
        value, *grads = request.made(*args)
        found = grads[0] if self._single else tuple(grads)
        return found if self._finish is None else self._finish(value, found)

    def _start(self, args, kwargs):
        """The request for these arguments, and the arguments in order."""
        request, args = _asked(self._source, args, kwargs)
        request = request.quotients(self._names)
        if self._needs_number:
            self._expect_number(request, args)
        return request, args

    def _expect_number(self, request, args):
        kinds = tuple((type(a), getattr(a, "ndim", None), getattr(a, "dtype", None)) for a in args)
        key = (id(request), kinds)
        if key in self._numbers:
            return
        types = request.made._results(*args)
        if len(types) != 1 + len(self._names) or types[0][1]:
            message = f"`{self.__name__}` gives an array, not one number"
            hint = "reduce it to one number, or use `ein.jacobian`"
            raise _errors.CompileError([_plain("E0702", message, [hint])])
        self._numbers.add(key)

    def __repr__(self):
        return f"<derivative of {self._source!r} by {', '.join(self._names)}>"

    def __reduce__(self):
        names = self._names[0] if self._single else self._names
        return Derived, (self._source, names, self.__doc__, self._needs_number, self._finish)


def _asked(source, args, kwargs):
    """What is asked of a function, or of a derivative as the function it is, and the arguments."""
    if isinstance(source, Derived):
        request, args = source._start(args, kwargs)
        return request.only(1), args
    bound, args = source._bind(args, kwargs)
    return Request.of(bound), args


def _wanted(function, wrt) -> tuple[str, ...]:
    names = [name for name, _, _ in function._params]
    if wrt is None:
        wrt = (0,)
    if isinstance(wrt, (str, int)):
        wrt = (wrt,)
    found = []
    if not isinstance(wrt, Iterable):
        wrt = (wrt,)
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
    if isinstance(function, Derived):
        if function._finish is None and function._single:
            return
        message = f"{function!r} gives several values"
        hint = "differentiate what `ein.grad` or `ein.jacobian` gives by one parameter"
        raise _errors.ArgumentError([_plain("E0703", message, [hint])])
    if not isinstance(function, Function):
        message = f"{function!r} is no function of an Einlang program"
        raise _errors.ArgumentError(
            [_plain("E0510", message, ["pass an attribute of `ein.compile(…)`"])]
        )


def _floating(request, args):
    """The parameters that can be differentiated by: all but those with integers, truths or texts."""
    types = request.made._types(*args)
    pairs = zip(request.params, types, args)
    found = tuple(
        name
        for (name, _, _), ty, arg in pairs
        if not isinstance(arg, str) and (ty is None or ty.startswith(("f", "bf")))
    )
    if not found:
        message = f"`{request.function.__name__}` has no parameter of floating-point numbers here"
        raise _errors.CompileError([_plain("E0703", message, ["pass arrays of floats"])])
    return found


class Pullback:
    """What takes a cotangent of a value to those of the parameters it was computed from."""

    def __init__(self, source, args, kwargs, names, axes):
        self._recipe = (source, args, kwargs, names, axes)
        self._axes = axes
        request, self._args = _asked(source, args, kwargs)
        self._request = request.pulled(names)

    @Edge
    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        _expect_names("the cotangent", cotangent, self._axes)
        return tuple(self._request.made(*self._args, cotangent))

    def __repr__(self):
        return f"<pullback of {self._recipe[0]!r} to {', '.join(self._recipe[3])}>"

    def __reduce__(self):
        return Pullback, self._recipe


def _names(array):
    """The names of the axes of an array, if it has names."""
    dims = getattr(array, "dims", ())
    return dims if isinstance(dims, tuple) else ()


def _expect_names(what, array, wanted):
    """Holds the names of the axes of a seed against those of what it belongs to."""
    for at, (have, want) in enumerate(zip(_names(array), wanted)):
        if have and want and have != want and not str(have).startswith("dim_"):
            message = f"{what} has `{have}` at axis {at}, where the value has `{want}`"
            hint = f"give it the axes {', '.join(str(name) for name in wanted)}"
            raise _errors.CompileError([_plain("E0311", message, [hint])])


def _named(function):
    return getattr(function, "__name__", function)


def _both(value, grads):
    return value, grads


@Edge
def grad(function: Callable, wrt: str | int | Sequence[str | int] | None = None) -> Callable:
    """The function that gives the derivative of one number by the parameters `wrt`.

    `wrt` is a name or number, or a sequence of these, for which a tuple comes back; the first
    parameter if it is not given. What comes back can be differentiated again:
    `ein.jacobian(ein.grad(f))` gives second derivatives.
    """
    return Derived(function, wrt, f"The derivative of `{_named(function)}`.", True)


@Edge
def value_and_grad(
    function: Callable, wrt: str | int | Sequence[str | int] | None = None
) -> Callable:
    """As `grad`, with the value before the derivatives."""
    doc = f"The value of `{_named(function)}`, and its derivative."
    return Derived(function, wrt, doc, True, _both)


@Edge
def jacobian(function: Callable, wrt: str | int | Sequence[str | int] | None = None) -> Callable:
    """The function that gives all derivatives of the result by the parameters `wrt`: the axes of
    the result, then those of the parameter."""
    return Derived(function, wrt, f"All derivatives of `{_named(function)}`.", False)


@Edge
def vjp(function: Callable, *args: Any, wrt=None, **kwargs: Any) -> tuple[Any, Callable]:
    """The value, and a function that takes a cotangent of its shape to one of each parameter
    `wrt`: of all with floating-point numbers, if it is not given."""
    _check(function)
    request, ordered = _asked(function, args, kwargs)
    names = _floating(request, ordered) if wrt is None else _wanted(function, wrt)
    (value,) = request.made(*ordered)
    return value, Pullback(function, args, kwargs, names, _names(value))


@Edge
def jvp(
    function: Callable, primals: Sequence[Any], tangents: Sequence[Any], wrt=None
) -> tuple[Any, Any]:
    """The value, and its derivative along tangents of the parameters `wrt`: of all
    with floating-point numbers, if it is not given."""
    _check(function)
    request, args = _asked(function, tuple(primals), {})
    names = _floating(request, args) if wrt is None else _wanted(function, wrt)
    if len(tangents) != len(names):
        message = f"{len(tangents)} tangents came for {len(names)} parameters"
        raise _errors.ArgumentError(
            [_plain("E0508", message, [f"give one for each of {', '.join(names)}"])]
        )
    given = dict(zip((name for name, _, _ in request.params), args))
    for name, tangent in zip(names, tangents):
        _expect_names(f"the tangent of `{name}`", tangent, _names(given.get(name)))
    return request.pushed(names).also(request.outputs).made(*args, *tangents)
