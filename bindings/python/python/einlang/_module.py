"""Programs, their functions, and calls."""

from __future__ import annotations

import inspect
import operator
import os
import re
import textwrap
from typing import Any, Mapping, Sequence

from . import _arrays, _einlang, _errors
from ._einlang import Edge


class Record(dict):
    """A struct of a program: its fields as items and as attributes."""

    _name = ""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"{self._name or 'the struct'} has no field `{name}`") from None

    def __repr__(self):
        fields = ", ".join(f"{key}: {value!r}" for key, value in self.items())
        return f"{self._name} {{ {fields} }}"


def _record(name, fields):
    record = Record(fields)
    record.__dict__["_name"] = name
    return record


_einlang.set_hooks(
    {
        "fail": _errors.fail,
        "trim": _errors.trim,
        "take": _arrays.take,
        "give": _arrays.give,
        "jax": _arrays.jax_maker,
        "record": _record,
    }
)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_einlang.before_fork,
        after_in_parent=lambda: _einlang.after_fork(False),
        after_in_child=lambda: _einlang.after_fork(True),
    )


def _options(
    engine="auto",
    threads=None,
    deterministic=False,
    memory_limit=None,
    *,
    time_limit=None,
    ad_memory=None,
    wrapping=False,
    paranoid=False,
    sandbox=False,
    allow_read=(),
    allow_write=(),
    **more,
):
    """How a program is run: what the options of the command `einlang run` say."""
    if engine not in _ENGINES:
        raise _option(f"there is no engine {engine!r}", f"it is one of {', '.join(_ENGINES)}")
    if threads is not None and not 1 <= _whole("threads", threads) < 1 << 16:
        raise _option(f"{threads} is no number of threads", "pass a number from 1 on, or nothing")
    for name, value in (("memory_limit", memory_limit), ("ad_memory", ad_memory)):
        if value is not None and not 0 <= _whole(name, value) < 1 << 64:
            raise _option(
                f"`{name}` is a number of bytes, not {value}", "pass a number from 0 up to 2**64 - 1"
            )
    if time_limit is not None and not (
        isinstance(time_limit, (int, float)) and 0 <= time_limit
    ):
        raise _option(f"`time_limit` is a number of seconds, not {time_limit!r}", "pass a number")
    if sandbox and (allow_read or allow_write):
        raise _option(
            "in a sandbox no files can be read or written", "leave out `allow_read` and `allow_write`"
        )
    if more:
        raise _option(f"there is no option `{next(iter(more))}`", "`help(ein.compile)` lists them")
    return {
        "engine": engine,
        "threads": threads,
        "deterministic": bool(deterministic),
        "memory_limit": memory_limit,
        "time_limit": None if time_limit is None else float(time_limit),
        "ad_memory": ad_memory,
        "wrapping": bool(wrapping),
        "paranoid": bool(paranoid),
        "sandbox": bool(sandbox),
        "allow_read": _folders(allow_read),
        "allow_write": _folders(allow_write),
    }


_ENGINES = ("auto", "eval", "jit", "native")


def _option(message, hint):
    return _errors.ArgumentError([_plain("E0509", message, [hint])])


def _whole(name, value):
    try:
        return operator.index(value)
    except TypeError:
        raise _option(f"`{name}` is a whole number, not {value!r}", "pass an int") from None


def _folders(paths):
    try:
        return [os.fspath(path) for path in ([paths] if isinstance(paths, str) else paths)]
    except TypeError:
        raise _option(f"{paths!r} is no list of folders", "pass a list of paths") from None


class Function(_einlang.Function):
    """A function of a program. Call it with numbers and arrays; results come back in kind.

    `layout` has the coordinates of its parameters; `plan` shows how a call is computed; `torch()`
    and `jax()` are the same function for these libraries, with derivatives.
    """

    def __new__(cls, module, at, given=None):
        about = module._about[at]
        given = tuple(given) if given is not None else (True,) * len(about["params"])
        params, args = [], []
        for number, (param, there) in enumerate(zip(about["params"], given)):
            if not there:
                continue
            inner = module._free_name(param["name"])
            params.append((param["name"], inner, (at, number)))
            # After one that was left out, arguments have to be named.
            named = not all(given[:number])
            args.append(f"{param['name']} = {inner}" if named else inner)
        result = module._free_name("result")
        while any(result == inner for _, inner, _ in params):
            result += "_"
        body = f"let {result} = {about['name']}({', '.join(args)});"
        self = super().__new__(cls, module, about["name"], params, body, [result])
        self.module = module
        self._at = at
        self._given = given
        self._params = params
        self._call = f"{about['name']}({', '.join(args)})"
        self._others = {}
        self.__name__ = self.__qualname__ = about["name"]
        self.__doc__ = about["doc"] or None
        self.__module__ = "einlang"
        return self

    def __init__(self, *args, **kwargs):
        pass

    @property
    def __signature__(self):
        about = self.module._about[self._at]
        empty = inspect.Parameter.empty
        params = [
            inspect.Parameter(
                param["name"],
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=empty if param["default"] is None else _Default(param["default"]),
                annotation=empty if param["type"] is None else param["type"],
            )
            for param, there in zip(about["params"], self._given)
            if there
        ]
        result = about["result"]
        return inspect.Signature(
            params, return_annotation=inspect.Signature.empty if result is None else result
        )

    @property
    def layout(self) -> dict[str, tuple[str, ...]]:
        """The declared coordinates of each parameter that is an array, and of `return`."""
        about = self.module._about[self._at]
        layouts = {param["name"]: param["layout"] for param in about["params"]}
        layouts["return"] = about["layout"]
        return {name: tuple(axes) for name, axes in layouts.items() if axes is not None}

    @Edge
    def plan(self, *args, c: bool = False, **kwargs) -> str:
        """How a call with these arguments is computed: loops, storage, and why; or its C."""
        bound = self._bind(args, kwargs)
        return bound[0]._plan(*bound[1], c=c)

    @Edge
    def torch(self):
        """This function for PyTorch, with autograd: its backward is the adjoint we derive."""
        from ._torch import wrap

        return wrap(self)

    @Edge
    def jax(self):
        """This function for JAX, with a derivative, `vmap` by lifting, and `jit`."""
        from ._jax import wrap

        return wrap(self)

    def _bind(self, args, kwargs):
        """The function of just these arguments, and the arguments in order."""
        names = [name for name, _, _ in self._params]
        if len(args) > len(names) or any(name not in names for name in kwargs):
            self(*args, **kwargs)  # raises
        given = dict(zip(names, args))
        given.update(kwargs)
        function = self
        if len(given) < len(names):
            function = self._without(tuple(name in given for name in names))
        return function, [given[name] for name, _, _ in function._params]

    @Edge
    def _without(self, given):
        """The same function with some parameters left to their defaults."""
        about = self.module._about[self._at]
        missing = [
            name
            for (name, _, (_, number)), there in zip(self._params, given)
            if not there and about["params"][number]["default"] is None
        ]
        if missing:
            names = ", ".join(f"`{name}`" for name in missing)
            message = f"`{self.__name__}` misses {names}"
            hint = f"its parameters are {', '.join(name for name, _, _ in self._params)}"
            raise _errors.ArgumentError([_plain("E0508", message, [hint])])
        if given not in self._others:
            full = list(self._given)
            for (_, _, (_, number)), there in zip(self._params, given):
                full[number] = there
            self._others[given] = Function(self.module, self._at, full)
        return self._others[given]

    def __repr__(self):
        return f"<function {self.__name__}{self.__signature__} of {self.module!r}>"

    def __reduce__(self):
        return _function, (self.module, self.__name__, self._given)


class _Default:
    """A default as the program writes it."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def _function(module, name, given):
    function = getattr(module, name)
    return function if all(given) else function._without(tuple(given))


def _plain(code, message, fixes):
    text = f"error[{code}]: {message}" + "".join(f"\n  = help: {fix}" for fix in fixes)
    return _errors.Diagnostic(code, message, "error", [], [], fixes, text, text)


class Module(_einlang.Module):
    """A checked program. Its functions are attributes."""

    def __new__(cls, text, name, path, how):
        self = super().__new__(cls, text, name, path, how)
        self._recipe = (text, name, path, how)
        self._about = self._functions()
        self._made = {}
        self._places = {about["name"]: at for at, about in enumerate(self._about)}
        return self

    def __init__(self, *args, **kwargs):
        pass

    def __getattr__(self, name):
        places = self.__dict__.get("_places", {})
        if name not in places:
            known = ", ".join(places) or "none"
            raise AttributeError(f"the program has no function `{name}`; it has {known}")
        function = self._made.get(name)
        if function is None:
            function = self._made.setdefault(name, Function(self, places[name]))
        self.__dict__[name] = function
        return function

    def __dir__(self):
        return sorted({*super().__dir__(), *self._places})

    @property
    def functions(self) -> dict[str, Function]:
        """All functions by name."""
        return {name: getattr(self, name) for name in self._places}

    @property
    def source(self) -> str:
        """The text of the program."""
        return self._recipe[0]

    @property
    def diagnostics(self) -> list[_errors.Diagnostic]:
        """What the checker warned of."""
        return _errors.diagnostics(self._warnings())

    def __repr__(self):
        return f"<einlang module {self._recipe[1]}: {', '.join(self._places) or 'no functions'}>"

    def __reduce__(self):
        return Module, self._recipe


@Edge
def compile(
    source: str,
    *,
    path: str | os.PathLike | None = None,
    engine: str = "auto",
    threads: int | None = None,
    deterministic: bool = False,
    memory_limit: int | None = None,
    **more: Any,
) -> Module:
    """Checks a program; its functions are attributes of what comes back.

    `path` says where the text lies, for messages and for the modules beside it. `engine` is one of
    auto, eval, jit and native; `memory_limit` is in bytes. There is more, as the command has it:
    `time_limit` in seconds for each call, `ad_memory` in bytes, `wrapping`, `paranoid`, `sandbox`,
    and lists of folders `allow_read` and `allow_write`.
    """
    how = _options(engine, threads, deterministic, memory_limit, **more)
    path = None if path is None else os.fspath(path)
    return Module(_text(source), path or "<einlang>", path, how)


def _text(source):
    """The text of a program, without the indentation that all of it has."""
    if not isinstance(source, str):
        message = f"the source of a program is a text, not {type(source).__name__}"
        raise _errors.ArgumentError([_plain("E0210", message, ["pass a str"])])
    try:
        source.encode()
    except UnicodeEncodeError as error:
        message = f"the source of the program is not Unicode: {error.reason}"
        raise _errors.CompileError([_plain("E0210", message, ["decode it as UTF-8"])]) from None
    return textwrap.dedent(source)


@Edge
def load(path: str | os.PathLike, **options: Any) -> Module:
    """The program in a file, with its modules; options as of `compile`."""
    path = os.fspath(path)
    return Module(_read(path), path, path, _options(**options))


def _read(path):
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except OSError as error:
        message = f"`{path}` cannot be read: {error.strerror}"
        raise _errors.CompileError([_plain("E0210", message, ["check the path"])]) from None
    except UnicodeDecodeError:
        message = f"`{path}` is not UTF-8"
        raise _errors.CompileError([_plain("E0210", message, ["save it as UTF-8"])]) from None


def _program(source_or_path):
    """Text, name and path of a program that is either."""
    if isinstance(source_or_path, os.PathLike):
        path = os.fspath(source_or_path)
        return _read(path), path, path
    text = _text(source_or_path)
    if "\n" not in text and re.fullmatch(r".*\.(ein|rem|svx)", text):
        return _read(text), text, text
    return text, "<einlang>", None


@Edge
def run(
    source_or_path: str | os.PathLike,
    inputs: Mapping[str, Any] | None = None,
    observe: Sequence[str] | None = None,
    *,
    progress=None,
    **options: Any,
) -> dict[str, Any]:
    """Runs a program and gives its outputs by name; `observe` names those that are wanted.

    What it prints goes to `sys.stdout`. `progress(number, name, fraction)` hears how far it is.
    """
    text, name, path = _program(source_or_path)
    how = _options(**options)
    observe = None if observe is None else list(observe)
    return _einlang.run(text, name, path, how, dict(inputs or {}), observe, progress)


@Edge
def check(source_or_path: str | os.PathLike) -> list[_errors.Diagnostic]:
    """Everything that the checker says about a program; nothing runs."""
    text, name, path = _program(source_or_path)
    return _errors.diagnostics(_einlang.check(text, name, path))


_EMPTY = None
_DEFINITIONS: dict[tuple, _einlang.Function] = {}


def _empty() -> Module:
    """A program without anything."""
    global _EMPTY
    if _EMPTY is None:
        _EMPTY = Module("", "<einlang>", None, _options())
    return _EMPTY


@Edge
def ein(definition: str, /, **arrays: Any) -> Any:
    """One definition as a function call: `ein("C[i, j] = sum[k](A[i, k] * B[k, j])", A=a, B=b)`.

    It is compiled once for each text, types and ranks. Functions of the library are called by
    their paths: `std::math::exp(x[i])`. Several definitions are separated by semicolons; the last
    one is the result.
    """
    key = (definition, tuple(arrays))
    function = _DEFINITIONS.get(key)
    if function is None:
        function = _define(definition, list(arrays))
        if len(_DEFINITIONS) > 1024:
            _DEFINITIONS.clear()
        _DEFINITIONS[key] = function
    return function(*arrays.values())


#: Texts, comments, brackets and what ends a statement.
_MARKS = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|[(\[{]|[)\]}]|;')


def _statements(text):
    """The statements of a text, without comments."""
    found, start, depth, parts = [], 0, 0, []
    for mark in _MARKS.finditer(text):
        token = mark[0]
        if token.startswith("//"):
            parts.append(text[start : mark.start()])
            start = mark.end()
        elif token == ";" and depth <= 0:
            found.append("".join([*parts, text[start : mark.start()]]).strip())
            start, parts = mark.end(), []
        elif token in "([{":
            depth += 1
        elif token in ")]}":
            depth -= 1
    found.append("".join([*parts, text[start:]]).strip())
    return [statement for statement in found if statement]


def _define(definition, names):
    for name in names:
        if not name.isidentifier():
            message = f"{name!r} cannot be a name of an argument"
            raise _errors.ArgumentError([_plain("E0509", message, ["use letters and digits"])])
    parts = _statements(_text(definition)) or [""]
    match = re.match(r"(?:let\s+)?([^\W\d]\w*)", parts[-1])
    if not match or not re.match(r"\s*(\[|=|:)", parts[-1][match.end() :]):
        message = f"`{definition.strip()}` is no definition"
        hint = 'write what is defined: `ein("c[i] = a[i] + b[i]", a=…, b=…)`'
        raise _errors.CompileError([_plain("E0101", message, [hint])])
    body = "".join(
        f"{'' if re.match(_BEGINS, part) else 'let '}{part}"
        f"{'' if part.endswith('}') and part.startswith('fn ') else ';'}\n"
        for part in parts
    )
    params = [(name, name, None) for name in names]
    return _einlang.Function(_empty(), match[1], params, body, [match[1]])


_BEGINS = r"(let|use|fn)\b"
