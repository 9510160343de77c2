"""Every function of the package, on NumPy arrays."""

import ast
import inspect
import os
import pathlib
import pickle
import subprocess
import sys
import time

import numpy as np
import pytest

import einlang as ein

RANDOM = np.random.default_rng(0)


def matrix(*shape, dtype=np.float32):
    return RANDOM.standard_normal(shape).astype(dtype)


def attention(q, k, v):
    s = np.einsum("...qd,...kd->...qk", q, k)
    e = np.exp(s - s.max(-1, keepdims=True))
    return np.einsum("...qk,...kd->...qd", e / e.sum(-1, keepdims=True), v)


def test_functions_are_callables(m):
    assert m.attention.__name__ == "attention"
    assert m.attention.__doc__ == "Softmax attention."
    assert list(inspect.signature(m.dense).parameters) == ["x", "w", "scale", "bias"]
    assert repr(inspect.signature(m.dense).parameters["scale"].default) == "2.0"
    assert m.attention.layout["q"] == ("..lead", "query", "d")
    assert "dense" in dir(m) and "dense" in m.functions
    with pytest.raises(AttributeError, match="no function `nothing`"):
        m.nothing


@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
def test_results_are_right(m, lead):
    q, k, v = (matrix(*lead, 5, 4) for _ in range(3))
    y = m.attention(q, k, v)
    assert type(y) is np.ndarray and y.dtype == np.float32
    np.testing.assert_allclose(y, attention(q, k, v), rtol=1e-4, atol=1e-5)


def test_keywords_and_defaults(m):
    x, w = matrix(3, 4), matrix(4, 2)
    np.testing.assert_allclose(m.dense(x, w), 2 * x @ w, rtol=1e-5)
    np.testing.assert_allclose(m.dense(w=w, x=x, scale=1), x @ w, rtol=1e-5)
    np.testing.assert_allclose(m.dense(x, w, bias=1.5), 2 * x @ w + 1.5, rtol=1e-5)
    np.testing.assert_allclose(m.dense(x, w, 3.0, 1.5), 3 * x @ w + 1.5, rtol=1e-5)


def test_several_results(m):
    x, w = matrix(3, 4), matrix(4, 2)
    y, total = m.both(x, w)
    np.testing.assert_allclose(y, x @ w, rtol=1e-5)
    assert isinstance(total, np.float32)
    np.testing.assert_allclose(total, (x @ w).sum(), rtol=1e-3)


def test_scalars_and_lists_are_literals(m):
    assert m.square(3) == 9 and isinstance(m.square(3), int)
    assert m.square(0.5) == 0.25 and isinstance(m.square(0.5), float)
    y = m.add3([1, 2], [0.5, 0.5], [1.0, 1.0])
    assert isinstance(y, ein.Tensor) and y.tolist() == [2.5, 3.5] and y.dims == ("i",)
    x = matrix(3)
    np.testing.assert_allclose(m.pick(x, 1), x[1])
    assert m.twice([[1, 2], [3, 4]]).tolist() == [[2, 4], [6, 8]]


def test_texts_and_structs(m):
    assert m.hello("you") == "hello you"
    p = {"w": matrix(3, 2, dtype=np.float64), "b": np.ones(2)}
    x = matrix(3, dtype=np.float64)
    np.testing.assert_allclose(m.affine(p, x), x @ p["w"] + 1)


def test_recurrences(m):
    x = matrix(4, dtype=np.float64)
    y = x
    for _ in range(9):
        y = 0.5 * y + 1
    np.testing.assert_allclose(m.steps(x, 10), y)
    np.testing.assert_allclose(m.steps(x, 1), x)


def test_ein():
    a, b = matrix(3, 4), matrix(4, 2)
    c = ein.ein("C[i, j] = sum[k](A[i, k] * B[k, j])", A=a, B=b)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    e = ein.ein("e[i] = std::math::exp(x[i])", x=a[0])
    np.testing.assert_allclose(e, np.exp(a[0]), rtol=1e-5)
    total = ein.ein("y[i] = 2.0 * x[i]; total = sum[i](y[i])", x=a[0])
    np.testing.assert_allclose(total, 2 * a[0].sum(), rtol=1e-5)
    with pytest.raises(ein.CompileError) as caught:
        ein.ein("sum[i](x[i])", x=a[0])
    assert caught.value.code == "E0101"
    with pytest.raises(ein.EinlangError):
        ein.ein("C[i, j] = sum[k](A[i, k] * B[k, j])", A=a, B=a)


def test_run(capsys, tmp_path):
    text = "let x: [f32; ?] = input();\nlet y = sum[i](x[i]);\nlet z[i] = x[i] * 2.0;\nprint(y);\n"
    x = np.arange(3, dtype=np.float32)
    out = ein.run(text, {"x": x})
    assert out["y"] == 3.0 and out["z"].tolist() == [0, 2, 4]
    assert capsys.readouterr().out == "3.0\n"
    assert list(ein.run(text, {"x": x}, observe=["z"])) == ["z"]
    path = tmp_path / "p.ein"
    path.write_text(text)
    assert ein.run(path, {"x": [1.0, 2.0]})["y"] == 3.0
    assert ein.run(str(path), {"x": x}, engine="eval")["y"] == 3.0
    with pytest.raises(ein.EinlangError) as caught:
        ein.run(text)
    assert caught.value.code == "E0901"
    with pytest.raises(ein.EinlangError) as caught:
        ein.run(text, {"x": x.astype(np.float64)})
    assert caught.value.code == "E0904" and "astype(np.float32)" in str(caught.value)


def test_check_runs_nothing():
    assert ein.check("let x = 1;") == []
    (found,) = ein.check("let a = 1;\nlet x = b;")
    assert found.code == "E0201" and found.severity == "error"
    assert found.spans[0][:3] == ("<einlang>", 2, 9)
    assert found.fixes and "error[E0201]" in str(found)


def test_load_with_modules(tmp_path):
    (tmp_path / "part.ein").write_text("pub fn half(x: f64) -> f64 { x / 2.0 }\n")
    (tmp_path / "main.ein").write_text("use part::half;\nfn quarter(x: f64) -> f64 { half(half(x)) }\n")
    m = ein.load(tmp_path / "main.ein")
    assert m.quarter(10) == 2.5
    with pytest.raises(ein.CompileError) as caught:
        ein.load(tmp_path / "none.ein")
    assert caught.value.code == "E0210"


def test_globals_of_a_program():
    m = ein.compile("let table = [1.0, 2.0, 3.0];\nlet b: f32 = 10.0;\nfn at(i: i32) -> f32 { table[i] + b }")
    assert m.at(2) == 13.0
    # A result that is a value of the program is a copy.
    m = ein.compile("let table = [1.0, 2.0];\nfn all(x: [f32; n]) { (table, x) }")
    first = m.all(np.zeros(2, np.float32))[0]
    first[0] = 99
    assert m.all(np.zeros(2, np.float32))[0].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("engine", ["auto", "eval", "jit", "native"])
def test_engines(engine):
    m = ein.compile("fn f(x: [f64; i]) -> f64 { sum[i](x[i] * x[i]) }", engine=engine, threads=1)
    x = matrix(100, dtype=np.float64)
    np.testing.assert_allclose(m.f(x), (x * x).sum())
    with pytest.raises(ValueError):
        ein.compile("", engine="none")


def test_options_hold():
    m = ein.compile("fn f(n: i32) -> f64 { let x[i in 0..n] = 1.0 as f64; let y[i] = x[i] + x[n - 1 - i]; sum[i](y[i] * y[n - 1 - i]) }", memory_limit=1000, engine="eval")
    assert m.f(10) == 40.0
    with pytest.raises(ein.RunError) as caught:
        m.f(100000)
    assert caught.value.code == "E0805"


def test_pickles(m):
    x, w = matrix(3, 4), matrix(4, 2)
    for it in (m.dense, m):
        again = pickle.loads(pickle.dumps(it))
        f = again if it is m.dense else again.dense
        np.testing.assert_array_equal(f(x, w), m.dense(x, w))
    with pytest.raises(ein.EinlangError) as caught:
        m.dense(x, x)
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.code == caught.value.code and str(again) == str(caught.value)


def test_plan(m):
    x = matrix(3)
    plan = m.add3.plan(x, x, x)
    assert "kernel" in plan and "f32[3]" in plan
    assert "copied" not in m.add3.plan(matrix(6)[::2], x, x)
    odd = np.frombuffer(b"\0" * 13, dtype=np.uint8)[1:].view(np.float32)
    assert "`a` is copied" in m.add3.plan(odd, x, x)
    assert "float" in m.add3.plan(x, x, x, c=True)


def test_prints_go_to_stdout(capsys):
    m = ein.compile('fn f(x: f64) -> f64 { print("x is {x}"); x }')
    assert m.f(2.0) == 2.0
    assert capsys.readouterr().out == "x is 2.0\n"


def test_session():
    s = ein.Session()
    assert s.execute("let a = [1.0, 2.0];") is None
    assert s.execute("a").tolist() == [1.0, 2.0]
    with pytest.raises(ein.CompileError):
        s.execute("let a = nothing;")
    assert s.execute("sum[i](a[i])") == 3.0
    assert "std::math::sqrt" in s.complete("std::math::sqr")
    assert "f32" in s.inspect("a") and s.inspect("nothing") is None
    assert s.inspect("std::math::exp").startswith("pub fn exp") and s.inspect("sum") is None
    s.execute("/// Twice as much.\nfn double(x) { x + x }")
    assert s.inspect("double") == "fn double(x)\n\nTwice as much."
    assert not s.is_complete("fn f() {") and s.is_complete("let x = 1;")


def test_command_line():
    env = {**os.environ, "NO_COLOR": "1"}
    run = lambda *args, **more: subprocess.run(
        [sys.executable, "-m", "einlang", *args], capture_output=True, text=True, env=env, **more
    )
    done = run("run", "-", input="print(1 + 1);")
    assert (done.returncode, done.stdout) == (0, "2\n")
    done = run("check", "-", input="let x = y;")
    assert done.returncode == 1 and "E0201" in done.stderr


def test_tensor():
    x = matrix(2, 3)
    t = ein.Tensor(x, dims=["row", None])
    assert t.dims == ("row", None) and t.shape == (2, 3) and t.dtype == "f32" and t.ndim == 2
    np.testing.assert_array_equal(t.numpy(), x)
    np.testing.assert_array_equal(np.asarray(t), x)
    np.testing.assert_array_equal(np.from_dlpack(t), x)
    np.testing.assert_array_equal(np.asarray(memoryview(t)), x)
    assert t.numpy().ctypes.data == t.__array_interface__["data"][0]
    assert "row: 2" in repr(t) and "<table>" in t._repr_html_() and "row" in t._repr_html_()
    assert len(t) == 2 and t.size == 6
    assert "<svg" in ein.Tensor(x[0])._repr_html_()
    with pytest.raises(ValueError):
        ein.Tensor(x, dims=["row"])


def test_help_reads_well(m):
    import pydoc

    text = pydoc.render_doc(ein, renderer=pydoc.plaintext)
    for name in ("compile", "value_and_grad", "Session", "axes have names"):
        assert name in text
    assert ein.explain("E0311").strip()


def test_the_readme_runs():
    import pathlib
    import re

    readme = pathlib.Path(__file__).parents[1] / "README.md"
    for block in re.findall(r"```python\n(.*?)```", readme.read_text(), re.S):
        exec(compile(block, str(readme), "exec"), {})


def test_fields_of_structs(m):
    w, b, x = np.ones((2, 3)), np.zeros(3), np.ones(2)
    assert m.affine({"b": b, "w": w}, x).tolist() == [2, 2, 2]
    with pytest.raises(ein.CompileError, match=r"`p\.w` is declared with elements of type f64"):
        m.affine({"w": w.astype(np.float32), "b": b}, x)
    for key in ("b b", "x: 1 }; //", "let"):
        with pytest.raises(ein.CompileError) as caught:
            m.affine({"w": w, "b": b, key: 1.0}, x)
        assert caught.value.code == "E0511"


def test_texts_of_definitions():
    assert ein.ein('y = "a;b"') == "a;b"
    assert ein.ein("y[i] = a[i] * 2.0 // twice; or so", a=[1.0]).tolist() == [2.0]
    text = "fn f(x) { let y = x; y * 2.0 }; t[i] = f(a[i]); s = sum[i](t[i])"
    assert ein.ein(text, a=[1.0, 2.0]) == 6.0
    with pytest.raises(ein.ArgumentError, match="cannot be a name"):
        ein.ein("y = 1.0", **{"a b": 1.0})
    with pytest.raises(TypeError, match="not bytes"):
        ein.compile(b"let x = 1;")
    with pytest.raises(ein.CompileError):
        ein.compile("let x = '\ud800';")


def test_options_are_those_of_the_command():
    text = "fn f(x: [i8; i]) -> [i8; i] { let y[i] = x[i] + x[i]; y }"
    x = np.array([1, 100], np.int8)
    assert ein.compile(text, wrapping=True).f(x).tolist() == [2, -56]
    assert ein.compile(text, paranoid=True, engine="jit", threads=2).f(x[:1]).tolist() == [2]
    options = {"ad_memory": 1 << 20, "allow_read": ".", "allow_write": ["."], "deterministic": True}
    assert ein.compile(text, **options).f(x[:1]).tolist() == [2]
    for wrong in (
        {"threads": 0}, {"memory_limit": -1}, {"time_limit": float("nan")}, {"engine": "gpu"},
        {"sandbox": True, "allow_read": ["."]},
    ):  # fmt: skip
        with pytest.raises(ValueError):
            ein.compile(text, **wrong)
    for wrong in (
        {"speed": 3}, {"threads": 1.5}, {"engine": None}, {"threads": 1 << 70},
        {"time_limit": "soon"}, {"allow_read": 3}, {"memory_limit": 1 << 70},
    ):  # fmt: skip
        with pytest.raises(TypeError) as caught:
            ein.compile(text, **wrong)
        assert isinstance(caught.value, ein.EinlangError) and caught.value.code == "E0509"


@pytest.mark.parametrize("engine", ["auto", "eval"])
def test_time_limit(engine):
    text = "sum[i in 0..100000, j in 0..1000000000]((i * 7 + j) % 11)"
    m = ein.compile(f"fn f(x: i32) -> i32 {{ {text} + x }}\nfn g(x: i32) -> i32 {{ x }}", engine=engine, time_limit=0.5)
    with pytest.raises(ein.RunError) as caught:
        m.f(1)
    assert caught.value.code == "E0812"
    assert m.g(1) == 1
    with pytest.raises(ein.RunError) as caught:
        ein.run(f"let y = {text};", engine=engine, time_limit=0.5)
    assert caught.value.code == "E0812"


def test_stubs_are_of_this_package():
    package = pathlib.Path(ein.__file__).parent
    assert (package / "py.typed").exists()
    stub = ast.parse((package / "__init__.pyi").read_text())
    said = {node.name: node for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert set(ein.__all__) <= set(said)
    for name in ein.__all__:
        node, real = said[name], getattr(ein, name)
        if isinstance(node, ast.FunctionDef):
            named = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            assert set(named) <= set(inspect.signature(real).parameters), name
        else:
            methods = [it.name for it in node.body if isinstance(it, ast.FunctionDef)]
            assert all(hasattr(real, it) for it in methods if it != "__buffer__"), name


def test_derivatives_by_what_is_left_out():
    m = ein.compile("fn f(x: [f64; i], a: f64 = 2.0) -> f64 { sum[i](a * x[i] * x[i]) }")
    x = np.ones(3)
    assert ein.grad(m.f, wrt=("x", "a"))(x, 3.0)[1] == 3.0
    for wrong in (
        lambda: ein.grad(m.f, wrt=("x", "a"))(x),
        lambda: ein.vjp(m.f, x, wrt="a")[1](1.0),
        lambda: ein.jvp(m.f, (x,), (1.0,), wrt="a"),
    ):
        with pytest.raises(ein.ArgumentError, match="left to its default") as caught:
            wrong()
        assert caught.value.code == "E0703"


def test_derivatives_can_be_pickled(tmp_path):
    (tmp_path / "part.ein").write_text("pub fn square(x: f64) -> f64 { x * x }\n")
    (tmp_path / "main.ein").write_text("use part::square;\nfn f(x: f64) -> f64 { 3.0 * square(x) }\n")
    m = ein.load(tmp_path / "main.ein")
    for it, want in (
        (ein.grad(m.f), 12.0),
        (ein.value_and_grad(m.f), (12.0, 12.0)),
        (ein.jacobian(ein.grad(m.f)), 6.0),
        (m.f, 12.0),
    ):
        assert pickle.loads(pickle.dumps(it))(2.0) == want
    pull = ein.vjp(m.f, 2.0)[1]
    assert pickle.loads(pickle.dumps(pull))(1.0) == pull(1.0) == (12.0,)


def test_without_standard_output(monkeypatch):
    """As Python has it without a console: what is printed goes nowhere."""
    m = ein.compile('fn say(x: f64) -> f64 { print("x"); x }')
    monkeypatch.setattr(sys, "stdout", None)
    assert m.say(2.0) == 2.0


def test_the_top_level_runs_on_kernels():
    m = ein.compile(
        "let table[i in 0..3000, j in 0..3000] = ((i * j) % 7) as f64;\n"
        "let total = sum[i, j](table[i, j]);\nfn f(x: f64) -> f64 { x + total }"
    )
    started = time.perf_counter()
    i = np.arange(3000)
    assert m.f(0.0) == (np.outer(i, i) % 7).sum()
    assert time.perf_counter() - started < 60


def test_types_for_mypy(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    program = tmp_path / "typed.py"
    program.write_text(
        "import einlang as ein\n"
        "m: ein.Module = ein.compile('fn f(x: f64) -> f64 { x }', engine='jit', time_limit=2.0)\n"
        "f: ein.Function = m.f\n"
        "y: float = f(1.0)\n"
        "h = ein.jacobian(ein.grad(m.f), wrt=('x',))\n"
        "value, pull = ein.vjp(m.f, 1.0)\n"
        "print(ein.Session().answer('1').text, f.layout, pull(1.0), [d.code for d in ein.check('')])\n"
        "try:\n    m.f()\nexcept ein.EinlangError as error:\n    print(error.diagnostics[0].spans)\n"
        "print(memoryview(ein.Tensor([1.0], dims=['i'])).nbytes, f.jax()(1.0), f.torch()(1.0))\n"
    )
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
