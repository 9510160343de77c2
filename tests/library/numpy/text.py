"""NumPy values as text of the language, and programs made of cases."""

import numpy as np

TYPES = {
    "bool": "bool",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
}

# How far a result may be from NumPy's, by its own size: two units in the last place.
BOUNDS = {"f16": "0.002", "f32": "2.4e-7", "f64": "4.5e-16"}

HELPERS = """\
/// Whether two arrays are equal, NaN being equal to itself.
fn same<T>(got: [T; ..s], want: [T; ..s]) -> bool {
    all[..s](got[..s] == want[..s] || got[..s] != got[..s] && want[..s] != want[..s])
}
"""

CLOSE = """
/// Whether two arrays of floats are equal up to a part of what is wanted.
fn close<T>(got: [T; ..s], want: [T; ..s], bound: T) -> bool {
    all[..s](
        got[..s] == want[..s]
            || got[..s] != got[..s] && want[..s] != want[..s]
            || abs(got[..s] - want[..s]) <= bound * abs(want[..s]),
    )
}
"""

NEAR = """
/// Whether two arrays of floats are equal up to a part of what is wanted, or of one.
fn near<T>(got: [T; ..s], want: [T; ..s], bound: T) -> bool {
    all[..s](
        got[..s] == want[..s]
            || got[..s] != got[..s] && want[..s] != want[..s]
            || abs(got[..s] - want[..s]) <= bound * max(abs(want[..s]), 1.0),
    )
}
"""

# How far a result of many operations may be from NumPy's.
FAR = {"f16": "0.01", "f32": "1e-5", "f64": "1e-11"}


def element_type(value):
    """The element type of an array, as the language calls it."""
    return TYPES[value.dtype.name]


def type_of(value):
    """The type of an array, a scalar or a text."""
    if isinstance(value, str):
        return "str"
    element = element_type(value)
    if value.ndim == 0:
        return element
    return f"[{element}; {', '.join(map(str, value.shape))}]"


def scalar(value):
    """A number or a truth value; what has no literal is computed."""
    kind = value.dtype.kind
    if kind == "b":
        return "true" if value else "false"
    if kind in "iu":
        return str(int(value))
    if np.isnan(value):
        return "0.0 / 0.0"
    if np.isinf(value):
        return "1.0 / 0.0" if value > 0 else "-1.0 / 0.0"
    text = repr(float(value)) if value.dtype.itemsize == 8 else str(value)
    return text if "." in text or "e" in text else text + ".0"


def literal(value):
    """A value, as an expression where its type is known."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    if value.ndim == 0:
        return scalar(value)
    return "[" + ", ".join(literal(part) for part in value) + "]"


class Program:
    """A program that prints for each function which of its cases agree."""

    def __init__(self, header, uses):
        self.header = header
        self.uses = uses
        self.functions = {}

    def value(self, function, value):
        """The name of a value in the body of a function's cases, bound there if it is new."""
        if isinstance(value, str):
            return self.bound(function, "str", literal(value))
        value = np.asarray(value)
        if value.size == 0 and value.ndim > 1:
            # A literal of several axes has elements.
            none = self.value(function, value.reshape(0))
            return self.bound(function, type_of(value), f"reshape({none}, {list(value.shape)})")
        return self.bound(function, type_of(value), literal(value))

    def bound(self, function, type_, expression):
        """The name that holds an expression in the body of a function's cases."""
        body, _ = self.functions.setdefault(function, ([], []))
        ending = f": {type_} = {expression};"
        for line in body:
            if line.endswith(ending) and line.startswith("let v"):
                return line.removeprefix("let ").removesuffix(ending)
        name = f"v{len(body)}"
        body.append(f"let {name}{ending}")
        return name

    def line(self, function, text):
        """Adds a statement to the body of a function's cases."""
        self.functions.setdefault(function, ([], []))[0].append(text)

    def agrees(self, function, got, want, rounded=False):
        """Compares an expression with a value."""
        name = self.value(function, want)
        if isinstance(want, str):
            check = f"{got} == {name}"
        elif rounded == "near":
            check = f"near({got}, {name}, {FAR[element_type(np.asarray(want))]})"
        elif rounded:
            check = f"close({got}, {name}, {BOUNDS[element_type(np.asarray(want))]})"
        else:
            check = f"same({got}, {name})"
        self.functions[function][1].append(check)

    def case(self, function, call, arguments, want, rounded=False):
        """A call with its arguments, and what it gives."""
        names = [self.value(function, it) for it in arguments]
        self.agrees(function, f"{call}({', '.join(names)})", want, rounded)

    def text(self):
        """The program."""
        parts = [f"//! {line}".rstrip() for line in self.header.splitlines()]
        parts += ["", *(f"use {it};" for it in self.uses), "", HELPERS.rstrip()]
        if any("close(" in check for _, checks in self.functions.values() for check in checks):
            parts.append(CLOSE.rstrip())
        if any("near(" in check for _, checks in self.functions.values() for check in checks):
            parts.append(NEAR.rstrip())
        for function, (body, checks) in self.functions.items():
            parts += ["", f"fn of_{function}() -> [bool; {len(checks)}] {{"]
            parts += [f"    {line}" for line in body]
            parts += [f"    [{', '.join(checks)}]", "}"]
        parts.append("")
        parts += [f'print("{it}", of_{it}());' for it in self.functions]
        return "\n".join(parts) + "\n"

    def output(self):
        """What the program prints."""
        lines = []
        for function, (_, checks) in self.functions.items():
            lines.append(f"{function} [{', '.join(['true'] * len(checks))}]")
        return "\n".join(lines) + "\n"
