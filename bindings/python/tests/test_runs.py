"""Threads, signals, and failures that must leave the interpreter usable."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import einlang as ein


def test_threads_share_functions(m):
    rng = np.random.default_rng(3)
    work = [rng.random((n, n)).astype(np.float32) for n in (3, 17, 64, 120)]
    wrong = []

    def go(at):
        for step in range(30):
            x = work[(at + step) % len(work)]
            if not np.allclose(m.dense(x, x, 1.0), x @ x, rtol=1e-3):
                wrong.append((at, step))
            if step % 7 == at:
                m.hello(str(at))

    threads = [threading.Thread(target=go, args=(at,)) for at in range(4)]
    [it.start() for it in threads]
    [it.join() for it in threads]
    assert not wrong


def test_others_run_while_kernels_run():
    m = ein.compile(
        "fn f(n: i64) -> i64 { sum[i in 0..200, j in 0..1000000]((i * 7 + j * 3) % 11) as i64 + n }",
        threads=1,
    )
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.005)

    thread = threading.Thread(target=tick)
    thread.start()
    started = time.perf_counter()
    m.f(1)
    took = time.perf_counter() - started
    done.set()
    thread.join()
    if took > 0.2:
        assert len(ticks) > 5


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("engine", ["auto", "eval"])
def test_interrupts(engine):
    program = f"""
        import signal, threading, time, os
        import numpy as np
        import einlang as ein
        m = ein.compile('''
            fn long(n: i64) -> i64 {{
                sum[i in 0..100000, j in 0..1000000000]((i * 7 + j * 3 + n as i32) % 11) as i64
            }}
            fn f(x: [f64; i]) -> f64 {{ sum[i](x[i]) }}
        ''', engine={engine!r})
        threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        started = time.time()
        try:
            m.long(1)
            print("not interrupted")
        except KeyboardInterrupt:
            print("interrupted", time.time() - started < 20)
        print(m.f(np.ones(3)))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "interrupted True\n3.0\n", done.stdout + done.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize(
    "engine, call",
    [(engine, call) for engine in ["auto", "jit", "eval"] for call in ["m.ends(3)", "m.all(4)"]]
    + [("jit", "m.steps(2.0)"), ("jit", "m.ends(0) and m.ends(5)")],
)
def test_loops_without_end_are_interrupted(engine, call):
    program = f"""
        import signal, threading, time, os
        import einlang as ein
        m = ein.compile('''
            fn ends(n: i64) -> i64 {{ if n == 0 {{ 1 }} else {{ ends(n % 7 + 1) }} }}
            fn all(n: i64) -> i64 {{ sum[i in 0..1000](ends(n + i as i64)) }}
            fn steps(x: f64) -> f64 {{
                let y[0] = x;
                let y[t in 1..2000000000] = y[t - 1] * 0.5 + 1.0 / y[t - 1];
                y[1999999999]
            }}
        ''', engine={engine!r})
        threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        started = time.time()
        try:
            {call}
            print("not interrupted")
        except KeyboardInterrupt:
            print("interrupted", time.time() - started < 10)
        print(m.ends(0))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "interrupted True\n1\n", done.stdout + done.stderr


def test_a_handler_that_raises_stops_the_run():
    class Alarm(Exception):
        pass

    def ring(*_):
        raise Alarm

    m = ein.compile("fn long(n: i64) -> i64 { sum[i in 0..100000, j in 0..1000000000]((i + j + n as i32) % 11) as i64 }")
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(Alarm):
            m.long(1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_output_that_fails(monkeypatch):
    class Broken:
        def write(self, text):
            raise OSError("no room")

        def flush(self):
            pass

    m = ein.compile('fn f(x: f64) -> f64 { print("x"); x }')
    monkeypatch.setattr(sys, "stdout", Broken())
    with pytest.raises(OSError, match="no room"):
        m.f(1.0)


def test_deep_recursion_is_an_error():
    m = ein.compile("fn f(n: i64) -> i64 { if n == 0 { 0 } else { 1 + f(n - 1) } }")
    assert m.f(100) == 100
    with pytest.raises(ein.RunError) as caught:
        m.f(10_000_000)
    assert caught.value.code == "E0808"


@pytest.mark.parametrize("what", ["python::ein_slow::wait(x)", "sum[a in 0..1_000_000_000_000i64](x + a as f64)"])
def test_the_interpreter_ends_while_threads_run(what):
    program = f"""
        import sys, threading, time, types
        import einlang as ein
        slow = sys.modules["ein_slow"] = types.ModuleType("ein_slow")
        slow.wait = lambda x: time.sleep(0.01) or x
        m = ein.compile("fn f(x: f64) -> f64 {{ let y: f64 = {what}; y }}")
        def work():
            while True:
                m.f(1.0)
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.5)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_can_call():
    program = """
        import os, signal, sys
        import numpy as np
        import einlang as ein
        m = ein.compile("fn f(a: [f32; i, k], b: [f32; k, j]) { let c[i, j] = sum[k](a[i, k] * b[k, j]); c }", threads=2)
        x = np.ones((300, 300), np.float32)
        want = m.f(x, x)
        child = os.fork()
        if not child:
            signal.alarm(30)
            other = ein.compile("fn g(x: [f32; i]) -> f32 { sum[i](x[i]) }").g(x[0])
            os._exit(0 if np.array_equal(m.f(x, x), want) and other == 300 else 1)
        sys.exit(os.waitpid(child, 0)[1] != 0)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, timeout=90)
    assert done.returncode == 0, done.stderr


BEGIN = """
import os, signal, sys, threading, time, warnings
import numpy as np
import einlang as ein

warnings.simplefilter("ignore")
TEXT = "fn f(a: [f32; i, k], b: [f32; k, j]) { let c[i, j] = sum[k](a[i, k] * b[k, j]); c }"
m = ein.compile(TEXT, threads=2)
x = np.ones((300, 300), np.float32)

def right(size=300):
    x = np.ones((size, size), np.float32)
    return bool((m.f(x, x) == size).all())
"""


def alone(text):
    """What a program prints in a process of its own."""
    program = BEGIN + textwrap.dedent(text)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("leave", ["os._exit(code)", "sys.exit(code)"])
def test_forks_while_threads_call(leave):
    """Threads compile, evaluate and run kernels; each child does all of it, and ends at once."""
    text = f"""
        end = threading.Event()
        other = ein.compile('fn g(x: [f64; i]) -> f64 {{ let s: f64 = python::math::fsum(x); s + sum[i](x[i]) }}')
        other.g(np.ones(3))
        session = ein.Session()

        def busy(work):
            while not end.is_set():
                work()

        def fresh():
            number = time.perf_counter()
            ein.compile("fn h(x: [f64; i]) -> f64 {{ sum[i](x[i] * %r) }}" % number).h(np.ones(5))

        works = [right, lambda: other.g(np.ones(3)), fresh, lambda: session.execute("let a = 1 + 1;")]
        threads = [threading.Thread(target=busy, args=(work,)) for work in works]
        [it.start() for it in threads]
        for number in range(12):
            time.sleep(0.03)
            child = os.fork()
            if not child:
                signal.alarm(60)
                good = right() and right(17 + number) and other.g(np.ones(4)) == 8
                fresh()
                try:
                    session.execute("let b = 2;")
                except RuntimeError as error:
                    good = good and "forked" in str(error)
                good = good and ein.Session().execute("2 + 3") == 5
                code = 0 if good else 1
                {leave}
            code = os.waitpid(child, 0)[1]
            if code:
                print("child", number, code)
                break
        end.set()
        [it.join() for it in threads]
        print(right())
    """
    assert alone(text) == "True\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_ends_although_its_parent_runs_on():
    text = """
        long = ein.compile("fn f(x: f64) -> f64 { sum[a in 0..1_000_000_000_000i64](x + a as f64) }", time_limit=30)
        def run():
            try:
                long.f(1.0)
            except ein.RunError:
                pass
        threading.Thread(target=run, daemon=True).start()
        time.sleep(0.3)
        started = time.time()
        child = os.fork()
        if not child:
            sys.exit(0 if right() else 1)
        code = os.waitpid(child, 0)[1]
        print(code, time.time() - started < 4)
    """
    assert alone(text) == "0 True\n"


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_multiprocessing(how, tmp_path):
    import multiprocessing

    if how not in multiprocessing.get_all_start_methods():
        pytest.skip(f"there is no {how}")
    path = tmp_path / "many.py"
    path.write_text(
        BEGIN
        + textwrap.dedent(f"""
            import multiprocessing
            from concurrent.futures import ProcessPoolExecutor

            def work(size):
                return right(size) and m.f(x, x)[0, 0] == 300

            def passed(f):
                return float(f(x, x)[0, 0])

            if __name__ == "__main__":
                right()
                context = multiprocessing.get_context({how!r})
                with context.Pool(2) as pool:
                    print(all(pool.map(work, range(2, 40))))
                    print(pool.map(passed, [m.f, m.f]))
                with ProcessPoolExecutor(2, context) as pool:
                    print(all(pool.map(work, range(2, 10))))
                print(right())
        """)
    )
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=200)
    assert done.stdout == "True\n[300.0, 300.0]\nTrue\nTrue\n", done.stdout + done.stderr
    assert done.returncode == 0


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("engine", ["jit", "native"])
def test_a_long_recurrence_ends_soon_after_ctrl_c(engine):
    text = f"""
        long = ein.compile('''
            fn steps(x: f64) -> f64 {{
                let y[0] = x;
                let y[t in 1..2_000_000_000] = 3.7 * y[t - 1] * (1.0 - y[t - 1]);
                y[1_999_999_999]
            }}
            fn f(x: [f64; i]) -> f64 {{ sum[i](x[i]) }}
        ''', engine={engine!r})
        assert long.f(np.ones(2)) == 2
        sent = []
        def send():
            time.sleep(1.5)
            sent.append(time.time())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=send).start()
        try:
            long.steps(0.5)
            print("not interrupted")
        except KeyboardInterrupt:
            print("interrupted", time.time() - sent[0] < 1)
        print(long.f(np.ones(3)), right())
    """
    assert alone(text) == "interrupted True\n3.0 True\n"


def test_a_second_interpreter_is_refused():
    text = """
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            import _interpreters as interpreters
        other = interpreters.create()
        inside = "try:\\n    import einlang\\nexcept ImportError as error:\\n    print(error)"
        (interpreters.run_string if hasattr(interpreters, "run_string") else interpreters.exec)(other, inside)
        interpreters.destroy(other)
        print(right())
    """
    said = alone(text)
    assert "interpreter" in said and said.endswith("True\n"), said
