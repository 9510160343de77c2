"""What is wrong says which parameter, what was expected, what came, and how to mend it."""

import inspect
import pickle
import pydoc
import traceback

import numpy as np
import pytest

import einlang as ein

F = np.float32


def caught(call, *args, **kwargs):
    with pytest.raises(ein.EinlangError) as found:
        call(*args, **kwargs)
    return found.value


def test_types_must_agree(m):
    error = caught(m.dense, np.ones((2, 3)), np.ones((3, 2), F))
    assert error.code == "E0904" and isinstance(error, ein.CompileError)
    for text in ("`x`", "f32", "f64", "x.astype(np.float32)"):
        assert text in str(error)
    error = caught(m.pick, np.ones(3, F), 1.5)
    assert error.code == "E0904" and "`at`" in str(error) and "i32" in str(error)
    assert caught(m.pick, np.ones(3, F), True).code == "E0904"
    assert caught(m.pick, np.ones(3, F), 1 << 40).code == "E0904"
    assert caught(m.dense, np.ones((2, 3), F), np.ones((3, 2), F), 1e60).code == "E0904"


def test_shapes_are_compared_before_anything_runs(m):
    error = caught(m.dense, np.ones((2, 3), F), np.ones((4, 2), F))
    assert isinstance(error, ein.CompileError) and error.code == "E0411"
    assert "`w`" in str(error) and "3" in str(error) and "4" in str(error)
    # The same shapes again: the kernel that fits others is not used.
    assert caught(m.dense, np.ones((2, 3), F), np.ones((4, 2), F)).code == "E0411"
    assert m.dense(np.ones((2, 3), F), np.ones((3, 2), F)).shape == (2, 2)


def test_too_few_axes(m):
    error = caught(m.dense, np.ones(3, F), np.ones((3, 2), F))
    assert "`x`" in str(error)


def test_arguments(m):
    x = np.ones(3, F)
    for call in (
        lambda: m.add3(x, x),
        lambda: m.add3(x, x, x, x),
        lambda: m.add3(x, x, x, d=x),
        lambda: m.add3(x, x, a=x, c=x),
        lambda: m.add3(),
    ):
        error = caught(call)
        assert isinstance(error, TypeError) and error.code in ("E0508", "E0509")
        assert "add3" in str(error)


def test_runs_that_stop(m):
    error = caught(m.pick, np.ones(3, F), 7)
    assert isinstance(error, ein.RunError) and error.code == "E0801"
    assert error.diagnostics[0].spans[0].line > 0
    mm = ein.compile("fn f(a: i32, b: i32) -> i32 { a / b }\nfn g(a: i32) -> i32 { a * a }")
    assert caught(mm.f, 1, 0).code == "E0803"
    assert caught(mm.g, 100000).code == "E0802"
    assert mm.f(7, 2) == 3


def test_programs_that_are_rejected():
    error = caught(ein.compile, "fn f(x: [f32; i]) { x[j] }")
    assert isinstance(error, ein.CompileError) and error.diagnostics
    assert "^" in str(error)
    with pytest.raises(TypeError):
        ein.compile(12)


def test_tracebacks_end_at_the_call(m):
    try:
        m.dense(1)
    except ein.EinlangError as error:
        frames = traceback.extract_tb(error.__traceback__)
        assert frames[0].filename == __file__
    error = caught(m.dense, np.ones((2, 3), F), np.ones((4, 2), F))
    assert [it.filename for it in traceback.extract_tb(error.__traceback__)][-1] == __file__


@pytest.mark.parametrize(
    "wrong",
    [
        lambda m: ein.compile("let x = "),
        lambda m: ein.load("nowhere.ein"),
        lambda m: ein.run("let x = y;"),
        lambda m: ein.check("nowhere.ein"),
        lambda m: ein.ein("c[i] = a[i] + q", a=[1.0]),
        lambda m: ein.grad(3),
        lambda m: ein.grad(m.dense)(np.ones((2, 3), F), np.ones((3, 2), F)),
        lambda m: ein.jacobian(m.dense)(1),
        lambda m: ein.vjp(m.dense, 1),
        lambda m: ein.vjp(m.twice, np.ones(3, F))[1](np.ones((4, 4), F)),
        lambda m: m.dense(np.ones((2, 3), F)),
        lambda m: m.dense.plan(1, 2, 3, 4),
        lambda m: ein.Session().execute("1 +"),
        lambda m: ein.Session().type("y"),
    ],
)
def test_no_frame_of_the_package_is_shown(m, wrong):
    frames = traceback.extract_tb(caught(wrong, m).__traceback__)
    assert frames[-1].filename == __file__ and frames[-1].name == "<lambda>"


def test_tracebacks_keep_what_others_raised():
    session = ein.Session()

    def inner():
        ein.compile("let x = ")

    with pytest.raises(ZeroDivisionError):
        ein.run("let y: f64 = python::operator::truediv(1.0, 0.0);")
    error = caught(inner)
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert names[-1] == "inner"
    assert session.execute("1 + 1") == 2


def test_functions_of_the_package_are_functions():
    for name in ("compile", "load", "run", "check", "ein", "grad", "value_and_grad", "jacobian", "vjp", "jvp"):
        function = getattr(ein, name)
        assert inspect.isroutine(function) and function.__doc__ and function.__name__ == name
        assert list(inspect.signature(function).parameters)
        assert pickle.loads(pickle.dumps(function)) is function
        assert name + "(" in pydoc.render_doc(ein, renderer=pydoc.plaintext)


def test_colours(m, monkeypatch):
    error = caught(m.pick, np.ones(3, F), 7)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in str(error)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in str(error)
