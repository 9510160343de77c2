"""Functions of Python, called from Einlang."""

import sys
import types

import numpy as np
import pytest

import einlang as ein


@pytest.fixture(autouse=True)
def helpers(monkeypatch):
    module = types.ModuleType("ein_helpers")

    def boom(x):
        raise ZeroDivisionError("on purpose")

    module.boom = boom
    module.half = lambda x: x / 2
    module.text = lambda x: f"<{x}>"
    module.number = lambda x: 3
    monkeypatch.setitem(sys.modules, "ein_helpers", module)


def test_calls():
    m = ein.compile("fn norm(x: [f64; n]) -> f64 { python::numpy::linalg::norm(x) }")
    assert m.norm(np.array([3.0, 4.0])) == 5.0
    m = ein.compile(
        """
        fn f(x: [f64; n]) -> f64 {
            let y: [f64; ?] = python::numpy::sort(x);
            let z[i] = y[i] * 2.0;
            z[0]
        }
        """
    )
    assert m.f(np.array([3.0, 1.0, 2.0])) == 2.0
    out = ein.run('let s: str = python::ein_helpers::text(3);\nlet n: f32 = python::ein_helpers::number(1.5);')
    assert out["s"] == "<3>" and out["n"] == 3.0


def test_types_are_checked_on_return():
    m = ein.compile("fn f(x: [f32; n]) -> f64 { let y: f64 = python::numpy::linalg::norm(x); y }")
    with pytest.raises(ein.RunError) as caught:
        m.f(np.ones(3, np.float32))
    assert caught.value.code == "E0904" and "f32" in str(caught.value)
    m = ein.compile("fn f(x: [f64; n]) -> f64 { let y: f64 = python::numpy::sort(x); y }")
    with pytest.raises(ein.RunError) as caught:
        m.f(np.ones(3))
    assert caught.value.code == "E0905"
    with pytest.raises(ein.CompileError) as caught:
        ein.compile("let y = python::numpy::sort([1.0]);")
    assert caught.value.code == "E0516"


def test_what_a_function_gave_does_not_change():
    module = sys.modules["ein_helpers"]
    room = np.zeros(2)

    def again(x):
        room[:] = x + 1
        return room

    module.again = again
    module.part = lambda x: again(x)[:]
    for name in ["again", "part"]:
        for engine in ["eval", "jit"]:
            m = ein.compile(
                f"""
                fn f(x: [f64; 2]) -> f64 {{
                    let a: [f64; ?] = python::ein_helpers::{name}(x);
                    let b: [f64; ?] = python::ein_helpers::{name}(a);
                    a[0] + 10.0 * b[0]
                }}
                """,
                engine=engine,
            )
            assert m.f(np.zeros(2)) == 21.0


def test_exceptions_pass_through():
    m = ein.compile("fn f(x: f64) -> f64 { python::ein_helpers::boom(x) }")
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        m.f(1.0)
    m = ein.compile("fn f(x: f64) -> f64 { python::no_such_module::f(x) }")
    with pytest.raises(ModuleNotFoundError):
        m.f(1.0)


def test_there_is_no_derivative_unless_one_is_given():
    text = "fn f(x: f64) -> f64 { python::ein_helpers::half(x) }\n"
    m = ein.compile(text + "fn g(x: f64) -> f64 { f(x) * 1.0 }")
    with pytest.raises(ein.CompileError) as caught:
        ein.grad(m.g)(2.0)
    assert caught.value.code == "E0703"
    m = ein.compile(text + "@fn f(x: f64) { 0.5 * @x }\nfn g(x: f64) -> f64 { f(x) * 3.0 }")
    assert m.g(2.0) == 3.0
    assert ein.grad(m.g)(2.0) == 1.5


def test_only_inside_python():
    import subprocess

    done = subprocess.run(
        [sys.executable, "-m", "einlang", "check", "-"],
        input="let y: f64 = python::math::sqrt(2.0);",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and "E0213" in done.stderr


def test_results_that_are_no_values():
    module = sys.modules["ein_helpers"]
    module.nothing = lambda x: None
    m = ein.compile("fn f(x: f64) -> f64 { let y: f64 = python::ein_helpers::nothing(x); y }")
    with pytest.raises(ein.RunError, match="`ein_helpers.nothing") as caught:
        m.f(1.0)
    assert caught.value.code == "E0904"


def test_a_sandbox_has_no_python():
    m = ein.compile("fn f(x: f64) -> f64 { let y: f64 = python::math::sqrt(x); y }", sandbox=True)
    with pytest.raises(ein.RunError, match="sandbox"):
        m.f(4.0)


def test_sessions_call_python():
    session = ein.Session()
    session.execute("let y: f64 = python::math::sqrt(16.0);")
    assert session.execute("y + 1.0") == 5.0
    module = sys.modules["ein_helpers"]

    def again(x):
        session.execute("y")

    module.again_in_session = again
    with pytest.raises(RuntimeError, match="runs the entry"):
        session.execute("let z: f64 = python::ein_helpers::again_in_session(1.0);")
    assert session.execute("y") == 4.0


def test_programs_and_python_that_call_each_other(monkeypatch):
    m = ein.compile("fn f(x: f64) -> f64 { let y: f64 = python::ein_helpers::again(x); y }")
    helpers = sys.modules["ein_helpers"]
    helpers.again = lambda x: m.f(x - 1.0) if x > 0 else 7.0
    assert m.f(5.0) == 7.0
    # Without an end it is stopped: each has a stack of its own, which the other does not see.
    helpers.again = lambda x: m.f(x)
    with pytest.raises(ein.RunError, match="does it call itself") as caught:
        m.f(1.0)
    assert caught.value.code
    helpers.again = lambda x: 2 * x
    assert m.f(1.0) == 2.0
