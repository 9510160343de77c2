"""The modules of methods: order, statistics, signals, linear algebra, transforms, pictures, equations."""

import numpy as np
from scipy import integrate, ndimage, optimize, signal

from text import Program

F32, F64 = np.float32, np.float64
NAN = np.nan


def make(rng):
    uses = ["std::fft", "std::image", "std::interp", "std::linalg", "std::math::{abs, sin}", "std::ode",
            "std::optim", "std::signal", "std::sort", "std::stats"]
    program = Program("Methods against NumPy and SciPy. Written by `make.py`.", uses)
    for part in (orders, statistics, signals, matrices, transforms, pictures, equations, corners):
        part(program, rng)
    return program


def within(program, function, got, want, bound):
    """A result that is as near as its method says."""
    name = program.value(function, want)
    program.functions[function][1].append(f"near({got}, {name}, {bound})")


def orders(program, rng):
    rows = [np.array([3, 1, 2, 1, 3, 0], np.int32), np.array([], F32), np.array([5], np.int64),
            rng.normal(size=33).astype(F32), np.array([2.0, NAN, -1.0, NAN, 0.0], F64),
            rng.integers(0, 4, (3, 7)).astype(np.uint8), rng.normal(size=(2, 0)).astype(F32)]
    for x in rows:
        program.case("argsort", "sort::argsort", [x], np.argsort(x, kind="stable").astype(np.int32))
        program.case("sort", "sort::sort", [x], np.sort(x))
    x = np.array([3, 1, 2, 1, 3, 0], np.int32)
    down = np.array([0, 4, 2, 1, 3, 5], np.int32)
    name = program.value("descending", x)
    program.agrees("descending", f"sort::argsort({name}, true)", down)
    program.agrees("descending", f"sort::sort({name}, true)", x[down])
    for x in (x, rng.integers(-3, 3, 40).astype(np.int64), np.array([1.5, 1.5], F32)):
        program.case("unique", "sort::unique", [x], np.unique(x))
    line = np.sort(rng.integers(0, 9, 20)).astype(np.int32)
    asked = np.arange(-1, 11, dtype=np.int32)
    for side in ("left", "right"):
        want = np.searchsorted(line, asked, side).astype(np.int32)
        program.case("searchsorted", "sort::searchsorted", [line, asked, side], want)
    x = rng.normal(size=(3, 8)).astype(F32)
    order = np.argsort(-x, axis=1, kind="stable")[:, :3]
    name = program.value("top_k", x)
    program.agrees("top_k", f"sort::top_k({name}, 3).0", np.take_along_axis(x, order, 1))
    program.agrees("top_k", f"sort::top_k({name}, 3).1", order.astype(np.int32))


def statistics(program, rng):
    for dtype in (F32, F64):
        for shape in ((9,), (3, 6), (2, 3, 4)):
            x = rng.normal(size=shape).astype(dtype)
            name = program.value("variance", x)
            for ddof in (0, 1):
                want = np.var(x, axis=-1, ddof=ddof).astype(dtype)
                program.agrees("variance", f"stats::variance({name}, {ddof})", want, "near")
                want = np.std(x, axis=-1, ddof=ddof).astype(dtype)
                deep = program.value("deviation", x)
                program.agrees("deviation", f"stats::deviation({deep}, {ddof})", want, "near")
        x = rng.normal(size=11).astype(dtype)
        for q in (0.0, 0.25, 0.37, 0.5, 1.0):
            want = np.quantile(x, q).astype(dtype)
            program.case("quantile", "stats::quantile", [x, dtype(q)], want, "near")
        program.case("median", "stats::median", [x], np.median(x).astype(dtype), "near")
        table = rng.normal(size=(12, 3)).astype(dtype)
        program.case("covariance", "stats::covariance", [table], np.cov(table.T).astype(dtype), "near")
        program.case("correlation", "stats::correlation", [table],
                     np.corrcoef(table.T).astype(dtype), "near")
        y = rng.normal(size=11).astype(dtype)
        # The specification of `line` is the offset and the slope.
        fit = np.polyfit(x.astype(F64), y.astype(F64), 1)
        got = f"stats::line({program.value('line', x)}, {program.value('line', y)})"
        within(program, "line", f"sum({got})", fit.sum().astype(dtype), "1e-5")
    x = rng.uniform(0, 4, 50).astype(F64)
    counts = np.histogram(x, 8, (0, 4))[0].astype(np.int32)
    program.case("histogram", "stats::histogram", [x, np.int32(8), F64(0), F64(4)], counts)


def signals(program, rng):
    for dtype in (F32, F64):
        x, k = rng.normal(size=12).astype(dtype), rng.normal(size=4).astype(dtype)
        program.case("convolve", "signal::convolve", [x, k], np.convolve(x, k), "near")
        b, a = np.array([0.3, 0.2], dtype), np.array([1.0, -0.4, 0.1], dtype)
        program.case("lfilter", "signal::lfilter", [b, a, x],
                     signal.lfilter(b, a, x).astype(dtype), "near")
        xs = np.sort(rng.normal(size=6)).astype(dtype)
        ys = rng.normal(size=6).astype(dtype)
        at = np.linspace(xs[0] - 1, xs[-1] + 1, 9).astype(dtype)
        program.case("linear", "interp::linear", [at, xs, ys], np.interp(at, xs, ys).astype(dtype), "near")


def matrices(program, rng):
    for dtype, bound in ((F32, "1e-3"), (F64, "1e-9")):
        for n in (1, 2, 5):
            a = (rng.normal(size=(n, n)) + 3 * np.eye(n)).astype(dtype)
            b = rng.normal(size=n).astype(dtype)
            call = lambda name, *values: f"linalg::{name}({', '.join(program.value(name, v) for v in values)})"
            within(program, "solve", call("solve", a, b), np.linalg.solve(a, b).astype(dtype), bound)
            within(program, "inv", call("inv", a), np.linalg.inv(a).astype(dtype), bound)
            within(program, "det", call("det", a), np.linalg.det(a).astype(dtype), bound)
            s = (a + a.T) / 2
            within(program, "eigh", call("eigh", s) + ".0", np.linalg.eigvalsh(s).astype(dtype), bound)
        stack = (rng.normal(size=(3, 2, 2)) + 3 * np.eye(2)).astype(dtype)
        within(program, "inv", call("inv", stack), np.linalg.inv(stack).astype(dtype), bound)
        tall, right = rng.normal(size=(6, 3)).astype(dtype), rng.normal(size=6).astype(dtype)
        within(program, "lstsq", call("lstsq", tall, right),
               np.linalg.lstsq(tall, right, rcond=None)[0].astype(dtype), bound)
        within(program, "svd", call("svd", tall) + ".1",
               np.linalg.svd(tall, compute_uv=False).astype(dtype), bound)
        within(program, "norm", call("norm", tall), np.linalg.norm(tall).astype(dtype), bound)
        wide, few = tall.T, right[:3]
        within(program, "lstsq", call("lstsq", wide, few),
               np.linalg.lstsq(wide, few, rcond=None)[0].astype(dtype), bound)
        within(program, "svd", call("svd", wide) + ".1",
               np.linalg.svd(wide, compute_uv=False).astype(dtype), bound)
        dependent = np.stack([tall[:, 0], tall[:, 1], 2 * tall[:, 0]], 1)
        within(program, "lstsq", call("lstsq", dependent, right),
               np.linalg.lstsq(dependent, right, rcond=None)[0].astype(dtype), bound)
        for m in (tall, wide):
            product = f"{{ let (q, r) = {call('qr', m)}; std::ml::matmul(q, r) }}"
            within(program, "qr", product, m, bound)


def transforms(program, rng):
    def both(name, call, want, bound):
        for part, value in enumerate((want.real, want.imag)):
            within(program, name, f"{call}.{part}", value.astype(dtype), bound)

    for dtype, bound in ((F32, "1e-4"), (F64, "1e-10")):
        for shape in ((1,), (8,), (7,), (3, 12)):
            re, im = rng.normal(size=shape).astype(dtype), rng.normal(size=shape).astype(dtype)
            names = lambda f: f"{program.value(f, re)}, {program.value(f, im)}"
            both("fft", f"fft::fft({names('fft')})", np.fft.fft(re + 1j * im), bound)
            both("ifft", f"fft::ifft({names('ifft')})", np.fft.ifft(re + 1j * im), bound)
            real = program.value("rfft", re)
            both("rfft", f"fft::rfft({real})", np.fft.rfft(re), bound)
            half = np.fft.rfft(re)
            parts = [program.value("irfft", it.astype(dtype)) for it in (half.real, half.imag)]
            within(program, "irfft", f"fft::irfft({parts[0]}, {parts[1]}, {shape[-1]})", re, bound)
        for shape in ((4, 4), (3, 5), (2, 4, 6)):
            re, im = rng.normal(size=shape).astype(dtype), rng.normal(size=shape).astype(dtype)
            both("fft2", f"fft::fft2({names('fft2')})", np.fft.fft2(re + 1j * im), bound)
            both("ifft2", f"fft::ifft2({names('ifft2')})", np.fft.ifft2(re + 1j * im), bound)
            both("rfft2", f"fft::rfft2({program.value('rfft2', re)})", np.fft.rfft2(re), bound)
            both("fftn", f"fft::fftn({names('fftn')})", np.fft.fftn(re + 1j * im), bound)
            both("ifftn", f"fft::ifftn({names('ifftn')})", np.fft.ifftn(re + 1j * im), bound)


def pictures(program, rng):
    for dtype in (F32, F64):
        x = rng.uniform(size=(6, 9)).astype(dtype)
        name = program.value("blur", x)
        for sigma in (0.6, 1.0, 2.0):
            want = ndimage.gaussian_filter(x.astype(F64), sigma, mode="nearest", truncate=3.0)
            within(program, "blur", f"image::blur({name}, {sigma})", want.astype(dtype), "1e-5")
        across, down = (ndimage.sobel(x.astype(F64), axis, mode="nearest") for axis in (0, 1))
        program.case("sobel", "image::sobel", [x], np.hypot(across, down).astype(dtype), "near")
        kernel = rng.normal(size=(3, 5)).astype(dtype)
        want = ndimage.correlate(x.astype(F64), kernel.astype(F64), mode="nearest").astype(dtype)
        program.case("conv", "image::conv", [x, kernel], want, "near")


def equations(program, rng):
    y0 = program.value("dopri5", np.array([1.0, 0.5], F64))
    pendulum = lambda t, y: [y[1], -np.sin(y[0]) - 0.1 * y[1]]
    want = integrate.solve_ivp(pendulum, (0, 5), [1.0, 0.5], method="DOP853", rtol=1e-12, atol=1e-13)
    f = "|_t, y| [y[1], -sin(y[0]) - 0.1 * y[1]]"
    within(program, "dopri5", f"ode::dopri5({f}, {y0}, 0.0, 5.0, 1e-9, 1e-11)", want.y[:, -1], "1e-7")
    times = np.array([0.0, 0.5, 2.0, 5.0])
    want = integrate.solve_ivp(pendulum, (0, 5), [1.0, 0.5], method="DOP853", rtol=1e-12, atol=1e-13,
                               t_eval=times).y.T
    at = program.value("dopri5", times)
    within(program, "dopri5", f"ode::dopri5_at({f}, {y0}, {at}, 1e-9, 1e-11)", want, "1e-7")
    y0 = program.value("rosenbrock", np.array([2.0, 0.0], F64))
    stiff = lambda t, y: [y[1], 50 * (1 - y[0] ** 2) * y[1] - y[0]]
    want = integrate.solve_ivp(stiff, (0, 20), [2.0, 0.0], method="Radau", rtol=1e-10, atol=1e-12)
    f = "|_t, y| [y[1], 50.0 * (1.0 - y[0] ** 2) * y[1] - y[0]]"
    within(program, "rosenbrock", f"ode::rosenbrock({f}, {y0}, 0.0, 20.0, 1e-7, 1e-9)", want.y[:, -1], "1e-5")
    x0 = program.value("lbfgs", np.array([-1.2, 1.0, 0.7], F64))
    want = optimize.minimize(optimize.rosen, [-1.2, 1.0, 0.7], method="BFGS", jac=optimize.rosen_der,
                             options={"gtol": 1e-10}).x
    f = ("|x| 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2"
         " + 100.0 * (x[2] - x[1] ** 2) ** 2 + (1.0 - x[1]) ** 2")
    within(program, "lbfgs", f"optim::lbfgs({f}, {x0}, 500, 1e-8)", want, "1e-5")


def corners(program, rng):
    """Infinities, NaN, ties, matrices without an inverse, nothing."""
    inf = np.inf
    for row in ([1, 2, inf], [inf, inf], [1, inf], [-inf, inf], [NAN, 1, 2], [1, NAN], [3], [2, 2, 2]):
        for dtype in (F32, F64):
            x = np.array(row, dtype)
            with np.errstate(invalid="ignore"):
                program.case("median_corners", "stats::median", [x], np.median(x).astype(dtype))
    x = np.array([NAN, 1, 2], F64)
    program.case("quantile_corners", "stats::quantile", [x, F64(0)], F64(NAN))
    program.case("quantile_corners", "stats::quantile", [np.array([1, 2, inf], F64), F64(0.5)], F64(2))
    for n, ddof in ((1, 1), (1, 2), (2, 2), (2, 3)):
        x = np.arange(n).astype(F64)
        with np.errstate(all="ignore"):
            want = F64(np.float64(((x - x.mean()) ** 2).sum()) / max(n - ddof, 0))
        name = program.value("variance_corners", x)
        program.agrees("variance_corners", f"stats::variance({name}, {ddof})", want)
    for scale in (1e-15, 1.0, 1e15):
        table = (scale * np.array([[1, -2], [3, -6], [3.5, -6]])).astype(F32)
        program.case("correlation_corners", "stats::correlation", [table],
                     np.corrcoef(table.T.astype(F64)).astype(F32), "near")
    for dtype in (np.int32, np.uint8, np.int64):
        x = rng.integers(0, 9, 30).astype(dtype)
        counts = np.histogram(x, 4, (1, 8))[0].astype(np.int32)
        program.case("histogram_corners", "stats::histogram", [x, np.int32(4), dtype(1), dtype(8)], counts)
    x = np.array([NAN, inf, -inf, 0.5, 1, 0], F32)
    program.case("histogram_corners", "stats::histogram", [x, np.int32(4), F32(0), F32(1)], np.array([1, 0, 1, 1], np.int32))
    program.case("unique_corners", "sort::unique", [np.array([NAN, 1, NAN, 1, -0.0, 0.0], F64)], np.array([0, 1, NAN], F64))
    line = np.array([1, 2, NAN, NAN], F64)
    asked = np.array([NAN, 1.5, inf, -inf, 2], F64)
    for side in ("left", "right"):
        want = np.searchsorted(line, asked, side).astype(np.int32)
        program.case("searchsorted_corners", "sort::searchsorted", [line, asked, side], want)
    nothing = np.zeros(0, F32)
    program.case("convolve_corners", "signal::convolve", [nothing, np.array([1, 2], F32)], nothing)
    program.case("convolve_corners", "signal::convolve", [np.array([1, 2], F32), nothing], nothing)
    for n in (0, 1, 2, 7):
        for name, window in (("hann", np.hanning(n)), ("hamming", np.hamming(n))):
            within(program, "windows", f"signal::{name}({n})", window.astype(F32), "1e-7")
            within(program, "windows", f"signal::{name}({n}, 1.0f64)", window.astype(F64), "1e-15")
    for a in ([[0, 0], [0, 3]], [[0, 0], [0, 0]], [[1, 2], [2, 4]], [[0, 1], [0, 2]], [[5]], [[0]]):
        a = np.array(a, F64)
        program.case("det_corners", "linalg::det", [a], F64(np.linalg.det(a)), "near")
        name = program.value("lu_corners", a)
        within(program, "lu_corners", f"{{ let (p, l, u) = linalg::lu({name}); let y[i, j] = sum[k](l[i, k] * u[k, j]) - {name}[p[i], j]; y }}",
               np.zeros_like(a), "1e-12")
    # `f16` cannot count the points of such a picture.
    wide = rng.uniform(size=(1, 300)).astype(np.float16)
    at = np.clip((np.arange(400) + 0.5) * 300 / 400 - 0.5, 0, 299)
    want = np.interp(at, np.arange(300), wide[0].astype(F64))[None].astype(np.float16)
    within(program, "resize_corners", f"image::resize({program.value('resize_corners', wide)}, 1, 400)", want, "0.002")
