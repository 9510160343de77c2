"""What `Tensor` looks like, in terminals and in notebooks, and how NumPy sees it."""

from __future__ import annotations

from html import escape

from . import _arrays
from ._einlang import Tensor

#: At most so many rows and columns of a table, and cells of a picture.
_ROWS, _COLUMNS, _CELLS = 10, 12, 64
#: At most so many points of a line.
_POINTS = 4096


def _numpy(self):
    """The elements as a NumPy array over the same memory."""
    return _arrays.to_numpy(self)


def _array(self, dtype=None, copy=None):
    array = _arrays.to_numpy(self)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError("another type of elements needs a copy")
        return array.astype(dtype)
    return array.copy() if copy else array


def describe(tensor) -> str:
    """The type of a tensor: `[f32; row: 2, col: 3]`."""
    axes = (f"{n}: {k}" if n else str(k) for n, k in zip(tensor.dims, tensor.shape))
    axes = ", ".join(axes)
    return f"[{tensor.dtype}; {axes}]" if axes else tensor.dtype


def _repr(self):
    text = str(self)
    if "\n" in text or len(text) > 60:
        return f"Tensor {describe(self)}\n{text}"
    return f"Tensor {describe(self)} {text}"


def _pick(count, limit):
    """The positions that are shown of so many; None stands for those left out."""
    if count <= limit:
        return list(range(count))
    half = limit // 2
    return [*range(half), None, *range(count - (limit - half - 1), count)]


def _number(value):
    if isinstance(value, float):
        return f"{value:.5g}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _table(rows, dims, shape):
    """A table of a list of lists."""
    across, down = _pick(shape[1], _COLUMNS), _pick(shape[0], _ROWS)
    name = [escape(dims[0] or "0"), escape(dims[1] or "1")]
    head = "".join(f"<th>{'…' if j is None else j}</th>" for j in across)
    lines = [f"<tr><th>{name[0]} \\ {name[1]}</th>{head}</tr>"]
    for i in down:
        cells = "".join(
            f"<td>{'…' if i is None or j is None else escape(_number(rows[i][j]))}</td>"
            for j in across
        )
        lines.append(f"<tr><th>{'…' if i is None else i}</th>{cells}</tr>")
    return f"<table>{''.join(lines)}</table>"


def _finite(values):
    return [v for v in values if v == v and abs(v) != float("inf")]


def _scale(low, high):
    """Takes numbers from the least to the greatest to those from 0 to 1."""
    # Halves, since the difference may be more than a number can be.
    half = (high / 2 - low / 2) or 1.0
    return lambda value: min(1.0, max(0.0, (value / 2 - low / 2) / half))


def _heat(rows, dims):
    """A picture of numbers over two axes."""
    tall, wide = len(rows), len(rows[0])
    flat = _finite([float(v) for row in rows for v in row])
    if not flat:
        return ""
    low, high = min(flat), max(flat)
    scale = _scale(low, high)
    size = max(4, min(24, 320 // max(tall, wide)))
    cells = []
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            value = float(value)
            known = value == value and abs(value) != float("inf")
            t = scale(value) if known else 0.0
            # From dark blue over green to yellow, which prints well in grey too.
            r, g, b = (int(255 * c) for c in (t * t, 0.1 + 0.85 * t, 0.45 - 0.35 * t))
            colour = f"rgb({r},{g},{b})" if known else "#888"
            cells.append(
                f'<rect x="{j * size}" y="{i * size}" width="{size}" height="{size}" '
                f'fill="{colour}"><title>{_number(value)}</title></rect>'
            )
    caption = f"{escape(dims[0] or '0')} down, {escape(dims[1] or '1')} across"
    return (
        f'<svg width="{wide * size}" height="{tall * size}" role="img" '
        f'aria-label="heat map: {caption}">{"".join(cells)}</svg><br><small>{caption}; '
        f"{_number(low)} to {_number(high)}</small>"
    )


def _line(values, dims):
    """A picture of numbers along one axis."""
    numbers = [float(v) for v in values]
    flat = _finite(numbers)
    if len(flat) < 2:
        return ""
    low, high = min(flat), max(flat)
    scale = _scale(low, high)
    wide, tall = 320, 96
    step = wide / max(1, len(numbers) - 1)
    points = " ".join(
        f"{i * step:.1f},{tall - 4 - (tall - 8) * scale(v):.1f}"
        for i, v in enumerate(numbers)
        if v == v and abs(v) != float("inf")
    )
    caption = f"along {escape(dims[0] or '0')}"
    return (
        f'<svg width="{wide}" height="{tall}" role="img" aria-label="line {caption}">'
        f'<polyline fill="none" stroke="#268bd2" points="{points}"/></svg><br><small>{caption}; '
        f"{_number(low)} to {_number(high)}</small>"
    )


def _sample(count, limit):
    """So many positions from the first to the last."""
    if count <= limit:
        return list(range(count))
    return [i * (count - 1) // (limit - 1) for i in range(limit)]


def html(tensor) -> str:
    """A table with the names of the coordinates, and a picture."""
    title = f"<b>{escape(describe(tensor))}</b>"
    if tensor.ndim == 0 or not tensor.size:
        return f"{title}<pre>{escape(str(tensor))}</pre>"
    array = memoryview(tensor) if tensor.dtype not in ("f16", "bf16") else None
    if tensor.ndim == 1:
        numbers = tensor.tolist() if array is None or tensor.size <= _POINTS else array
        picture = _line([numbers[i] for i in _sample(tensor.size, _POINTS)], tensor.dims)
        table = _table([numbers], ("", tensor.dims[0]), (1, tensor.size))
        return f"{title}{table}{picture}"
    if tensor.ndim == 2 and tensor.size <= 1_000_000:
        rows = tensor.tolist()
        picture = [
            [rows[i][j] for j in _sample(tensor.shape[1], _CELLS)]
            for i in _sample(tensor.shape[0], _CELLS)
        ]
        return f"{title}{_table(rows, tensor.dims, tensor.shape)}{_heat(picture, tensor.dims)}"
    return f"{title}<pre>{escape(str(tensor))}</pre>"


Tensor.numpy = _numpy
Tensor.__array__ = _array
Tensor.__repr__ = _repr
Tensor._repr_html_ = html
Tensor.__doc__ = """An array of numbers whose axes may have names.

`dims`, `shape`, `dtype`, `numpy()`, `tolist()`, `item()`; it has the buffer protocol, `__dlpack__`
and `__array__`, so that other libraries take it without a copy. `Tensor(array, dims=[…])` makes one
of any array, with names for its axes.
"""
