"""`std::io`: files that NumPy wrote, and paths as Python takes them apart."""

import json
import posixpath
import struct

import numpy as np

from cases_array import numbers
from text import Program, type_of

# The folder of the files, from that of the program.
DATA = "data"

PATHS = ["data/x.npy", "x", "a/b/", "/x", "a//b", "/", "", "/a/b/c.txt", "../up", "./here"]

# Paths that are joined, and the ways from one place to another.
JOINED = [["data", "run", "x.npy"], ["a/", "b"], ["a", "/b", "c"], ["one"], ["", "a"]]
WAYS = [("/data/a/x.npy", "/data/b"), ("/a", "/a"), ("/a/b", "/"), ("/", "/a/b"), ("/a/b/c", "/a/x/y")]


def arrays(rng):
    """What the files hold, by the name of the file."""
    found = {}
    types = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
             "float16", "float32", "float64")
    for dtype, shape in zip(types, [(3,), (2, 2), (1,), (2, 3), (2, 1, 2), (4,)] * 2):
        found[dtype] = numbers(rng, dtype, shape)
    found["scalar"] = np.float64(2.5)
    found["empty"] = np.empty((0, 3), "float32")
    found["special"] = np.float32([np.nan, np.inf, -np.inf, -0.0])
    found["columns_first"] = np.asfortranarray(numbers(rng, "float64", (2, 3)))
    found["big_endian"] = numbers(rng, "float32", (2, 2)).astype(">f4")
    found["limits"] = np.array([-(2**63), 2**63 - 1], "int64")
    return found


def make(rng, folder):
    """Writes the files, and gives the program that reads them."""
    program = Program("`std::io` against NumPy and Python's paths. Written by `make.py`.", ["std::io"])
    data = folder / DATA
    data.mkdir(exist_ok=True)
    for old in data.iterdir():
        old.unlink()
    for name, value in arrays(rng).items():
        path = data / f"{name}.npy"
        np.save(path, value)
        native = np.asarray(value).astype(np.asarray(value).dtype.newbyteorder("="))
        path_name = f"{DATA}/{name}.npy"
        read = f'io::load_npy("{path_name}") as {type_of(native)}'
        program.line("load_npy", f"let {name}_read = {read};")
        program.agrees("load_npy", f"{name}_read", native)
        size = np.int64(path.stat().st_size)
        program.agrees("file_size", f'io::file_size("{path_name}")', size)
    safetensors(program, data)
    table = numbers(rng, "float64", (3, 2))
    np.savetxt(data / "table.csv", table, fmt="%.2f", delimiter=",")
    text = (data / "table.csv").read_text()
    program.agrees("read_file", f'io::read_file("{DATA}/table.csv")', text)
    listing(program, data)
    paths(program)
    return program


def safetensors(program, data):
    """Several arrays in one file, each read by its name."""
    arrays = {
        "conv1.weight": np.arange(12, dtype="float32").reshape(2, 3, 2) / 8,
        "steps": np.array([-1, 2**40], "int64"),
        "on": np.array([True, False]),
        "bytes": np.array([[0, 255]], "uint8"),
        "scale": np.float64(0.1),
        "nothing": np.empty((0, 2), "float32"),
    }
    names = {"float32": "F32", "int64": "I64", "bool": "BOOL", "uint8": "U8", "float64": "F64"}
    header, blob = {}, b""
    for name, value in arrays.items():
        bytes_of = np.asarray(value).tobytes()
        offsets = [len(blob), len(blob) + len(bytes_of)]
        header[name] = {"dtype": names[value.dtype.name], "shape": list(value.shape), "data_offsets": offsets}
        blob += bytes_of
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (data / "arrays.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + blob)
    for at, (name, value) in enumerate(arrays.items()):
        read = f'io::load_safetensors("{DATA}/arrays.safetensors", "{name}") as {type_of(np.asarray(value))}'
        program.line("load_safetensors", f"let read{at} = {read};")
        program.agrees("load_safetensors", f"read{at}", np.asarray(value))


def listing(program, data):
    """What is there, and what is not."""
    names = sorted(it.name for it in data.iterdir())
    wanted = ", ".join(f'"{name}"' for name in names)
    program.line("list_dir", f"let names = [{wanted}];")
    program.line("list_dir", f'let found = io::list_dir("{DATA}");')
    program.functions["list_dir"][1].append("same(found, names)")
    for name, test in (("file_exists", [True, True, False]), ("is_file", [True, False, False]),
                       ("is_dir", [False, True, False])):
        for path, want in zip((f"{DATA}/empty.npy", DATA, "nothing"), test):
            program.agrees(name, f'io::{name}("{path}")', np.bool_(want))


def paths(program):
    """Paths, as `posixpath` takes them apart and puts them together."""
    for path in PATHS:
        head, tail = posixpath.split(path)
        program.agrees("basename", f'io::basename("{path}")', tail)
        program.agrees("dirname", f'io::dirname("{path}")', head)
        at = len(program.functions.setdefault("split_path", ([], []))[0])
        program.line("split_path", f'let (head{at}, tail{at}) = io::split_path("{path}");')
        program.agrees("split_path", f"head{at}", head)
        program.agrees("split_path", f"tail{at}", tail)
        if path.startswith("/"):
            want = posixpath.normpath(path)
            program.agrees("absolute_path", f'io::absolute_path("{path}")', want)
            resolve = "resolve_relative_to_script"
            program.agrees(resolve, f'io::{resolve}("{path}")', path)
    for parts in JOINED:
        listed = ", ".join(f'"{part}"' for part in parts)
        program.agrees("join_path", f"io::join_path([{listed}])", posixpath.join(*parts))
    for path, start in WAYS:
        want = posixpath.relpath(path, start)
        program.agrees("relative_path", f'io::relative_path("{path}", "{start}")', want)
