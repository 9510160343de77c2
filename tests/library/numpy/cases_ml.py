"""Every function of `std::ml` that computes with arrays as wholes, against formulas in NumPy."""

import numpy as np
from scipy import special

from text import Program

F32, F64 = np.float32, np.float64


def floats(rng, shape, dtype=F32):
    return rng.normal(size=shape).astype(dtype)


def ints(values):
    return np.array(values, dtype=np.int32)


def make(rng):
    uses = ["std::math::abs", "std::ml"]
    program = Program("`std::ml` against NumPy. Written by `make.py`.", uses)
    for part in (activations, arithmetic, reductions, products, convolutions, pools, norms, shapes,
                 places, choices, recurrences, attentions, losses, matrices, quantised):
        part(program, rng)
    return program


def check(program, name, arguments, want, exact=False):
    """One call; `want` in the type of the first float."""
    program.case(name, f"ml::{name}", arguments, want, False if exact else "near")


def sigmoid(x):
    return special.expit(x)


def softmax(x, axis=-1):
    return special.softmax(x, axis=axis).astype(x.dtype)


def log_softmax(x):
    return special.log_softmax(x, axis=-1).astype(x.dtype)


def activations(program, rng):
    s2, se = 1.0507009873554805, 1.6732632423543772
    one = {
        "relu": lambda x: np.maximum(x, 0),
        "selu": lambda x: s2 * np.where(x > 0, x, se * np.expm1(x)),
        "sigmoid": sigmoid,
        "softplus": lambda x: np.logaddexp(0, x),
        "softsign": lambda x: x / (1 + np.abs(x)),
        "swish": lambda x: x * sigmoid(x),
        "mish": lambda x: x * np.tanh(np.logaddexp(0, x)),
        "gelu": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        "relu6": lambda x: np.clip(x, 0, 6),
        "hardsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
        "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
        "tanhshrink": lambda x: x - np.tanh(x),
    }
    two = {
        "leaky_relu": lambda x, a: np.where(x < 0, a * x, x),
        "prelu": lambda x, a: np.where(x < 0, a * x, x),
        "elu": lambda x, a: np.where(x > 0, x, a * np.expm1(x)),
        "elu_alpha": lambda x, a: np.where(x > 0, x, a * np.expm1(x)),
        "celu": lambda x, a: np.where(x > 0, x, a * np.expm1(x / a)),
        "softshrink": lambda x, a: np.sign(x) * np.maximum(np.abs(x) - a, 0),
        "hardshrink": lambda x, a: np.where(np.abs(x) > a, x, 0),
        "thresholded_relu": lambda x, a: np.where(x > a, x, 0),
    }
    for dtype in (F32, F64):
        for shape in ((), (5,), (2, 3), (2, 1, 2), (0,)):
            x = (3 * floats(rng, shape)).astype(dtype)
            for name, f in one.items():
                check(program, name, [x], np.asarray(f(x.astype(F64))).astype(dtype))
            for name, f in two.items():
                check(program, name, [x, dtype(0.75)], np.asarray(f(x.astype(F64), 0.75)).astype(dtype))
            check(program, "hardtanh", [x, dtype(-1), dtype(0.5)], np.asarray(np.clip(x, -1, 0.5)).astype(dtype))
            check(program, "threshold", [x, dtype(0.25), dtype(-7)],
                  np.asarray(np.where(x > 0.25, x, -7)).astype(dtype))
    corners = np.array([np.nan, np.inf, -np.inf, 100, -100, 0], F32)
    with np.errstate(all="ignore"):
        for name in ("relu", "sigmoid", "softplus", "relu6"):
            check(program, name, [corners], one[name](corners.astype(F64)).astype(F32))
    for dtype in (F32, F64):
        for shape in ((4,), (2, 3), (2, 2, 3), (1, 1)):
            x = floats(rng, shape, dtype)
            check(program, "softmax", [x], softmax(x))
            check(program, "log_softmax", [x], log_softmax(x))
    check(program, "softmax", [F32([1000, 1001, -1000])], softmax(F32([1000, 1001, -1000])))


def arithmetic(program, rng):
    names = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide}
    for dtype in (F32, F64):
        for shape in ((), (3,), (2, 2)):
            a, b = floats(rng, shape, dtype), floats(rng, shape, dtype)
            for name, f in names.items():
                check(program, name, [a, b], f(a, b), exact=True)
    check(program, "divide", [ints([-7, 7, 8]), ints([2, -2, 4])], ints([-4, -4, 2]), exact=True)
    x = np.array([np.nan, np.inf, -np.inf, 2e38, 0], F32)
    check(program, "is_nan", [x], np.isnan(x).astype(F32), exact=True)
    check(program, "is_inf", [x], np.isinf(x).astype(F32), exact=True)
    a, b = F64([1, 2, np.nan]), F64([1, 3, np.nan])
    for name, f in (("equal", np.equal), ("not_equal", np.not_equal), ("less", np.less),
                    ("less_or_equal", np.less_equal), ("greater", np.greater),
                    ("greater_or_equal", np.greater_equal)):
        check(program, name, [a, b], f(a, b).astype(F64), exact=True)
        check(program, name, [ints([1, 2]), ints([2, 1])], f([1, 2], [2, 1]).astype(F32), exact=True)
    p, q = np.array([[True, True], [False, False]]), np.array([[True, False], [True, False]])
    for name, f in (("logical_and", np.logical_and), ("logical_or", np.logical_or),
                    ("logical_xor", np.logical_xor)):
        check(program, name, [p, q], f(p, q), exact=True)
        check(program, name, [F32([1, 0, 2]), q[0, 0]], f([1, 0, 2], True), exact=True)
    for name in ("not", "logical_not"):
        check(program, name, [p], ~p, exact=True)
        check(program, name, [ints([0, 3])], np.array([True, False]), exact=True)


def reductions(program, rng):
    f = {
        "reduce_sum": lambda x: x.sum(-1), "reduce_mean": lambda x: x.mean(-1),
        "reduce_max": lambda x: x.max(-1), "reduce_min": lambda x: x.min(-1),
        "reduce_prod": lambda x: x.prod(-1), "reduce_l1": lambda x: np.abs(x).sum(-1),
        "reduce_l2": lambda x: np.sqrt((x * x).sum(-1)), "reduce_sum_square": lambda x: (x * x).sum(-1),
        "reduce_log_sum": lambda x: np.log(x.sum(-1)),
        "reduce_log_sum_exp": lambda x: special.logsumexp(x, axis=-1),
    }
    for dtype in (F32, F64):
        for shape in ((4,), (2, 3), (2, 2, 3), (3, 1)):
            x = np.abs(floats(rng, shape, dtype)) + dtype(0.1)
            for name, g in f.items():
                check(program, name, [x], np.asarray(g(x.astype(F64))).astype(dtype))
    check(program, "reduce_log_sum_exp", [F32([[1000, 1000], [-np.inf, -np.inf]])],
          F32([1000 + np.log(2), -np.inf]))
    check(program, "reduce_sum", [ints([[1, 2], [3, 4]])], ints([3, 7]), exact=True)


def products(program, rng):
    for dtype in (F32, F64):
        a, b = floats(rng, (2, 3), dtype), floats(rng, (3, 4), dtype)
        for name in ("matmul", "batch_matmul"):
            check(program, name, [a, b], a @ b)
            batch = floats(rng, (2, 3, 4), dtype)
            check(program, name, [floats(rng, (2, 1, 3), dtype) * 0 + a[:, None, :], batch], a[:, None, :] @ batch)
            check(program, name, [batch, floats(rng, (4, 1), dtype) * 0 + b[0][:, None]], batch @ b[0][:, None])
        w, bias = floats(rng, (5, 3), dtype), floats(rng, (5,), dtype)
        for shape in ((3,), (2, 3), (2, 1, 3)):
            x = floats(rng, shape, dtype)
            check(program, "linear", [x, w, bias], x @ w.T + bias)
        alpha, beta = dtype(1.5), dtype(-0.5)
        for ta in (0, 1):
            for tb in (0, 1):
                left, right = (a.T.copy() if ta else a), (b.T.copy() if tb else b)
                for c in (floats(rng, (2, 4), dtype), floats(rng, (4,), dtype), dtype(2)):
                    check(program, "gemm", [left, right, c, alpha, beta, ints(ta), ints(tb)],
                          (alpha * (a @ b) + beta * c).astype(dtype))
        v = floats(rng, (4,), dtype)
        check(program, "vec_norm_2", [v], np.asarray(np.sqrt((v * v).sum())).astype(dtype))
        check(program, "matrix_norm_frobenius", [a], np.asarray(np.sqrt((a * a).sum())).astype(dtype))
        for n in (1, 2, 4):
            m = floats(rng, (n, n), dtype)
            spd = (m @ m.T + 2 * np.eye(n)).astype(dtype)
            b = floats(rng, (n,), dtype)
            lower = np.linalg.cholesky(spd)
            check(program, "cholesky", [spd], lower)
            check(program, "solve_cholesky", [spd, b], np.linalg.solve(spd, b))
            check(program, "solve_triangular_lower", [lower, b], np.linalg.solve(lower, b))
            unit = np.tril(lower, -1) + np.eye(n, dtype=dtype)
            check(program, "solve_triangular_lower_unit", [lower, b], np.linalg.solve(unit, b).astype(dtype))
            upper = lower.T.copy()
            check(program, "solve_triangular_upper", [upper, b], np.linalg.solve(upper, b))
            general = (m + np.eye(n)[::-1]).astype(dtype)
            check(program, "solve", [general, b], np.linalg.solve(general.astype(F64), b).astype(dtype))
            l, u = unpivoted(spd)
            for at, part in ((0, l), (1, u)):
                name = program.value("lu", spd)
                program.agrees("lu", f"ml::lu({name}).{at}", part.astype(dtype), "near")
        stack = np.stack([np.diag([4, 9]), np.diag([16, 25])]).astype(dtype)
        check(program, "cholesky", [stack], np.linalg.cholesky(stack))
    first, second = floats(rng, (2, 3, 4)), floats(rng, (4, 3))
    a, b = program.value("einsum", first), program.value("einsum", second)
    program.agrees("einsum", f'ml::einsum("bij,ji->b", ({a}, {b}))', np.einsum("bij,ji->b", first, second), "near")
    program.agrees("einsum", f'ml::einsum("bij->jb", ({a},))', np.einsum("bij->jb", first), "near")


def unpivoted(a):
    n = len(a)
    u, l = a.astype(F64).copy(), np.eye(n)
    for k in range(n):
        l[k + 1:, k] = u[k + 1:, k] / u[k, k]
        u[k + 1:] -= l[k + 1:, k:k + 1] * u[k]
    return l, u


def convolved(x, w, b, strides, pads, dilations, group):
    """A convolution, point by point."""
    k = len(strides)
    x = np.pad(x.astype(F64), [(0, 0), (0, 0)] + [(pads[i], pads[i + k]) for i in range(k)])
    outs = [(x.shape[2 + i] - (w.shape[2 + i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(k)]
    y = np.zeros((x.shape[0], w.shape[0], *outs))
    per_group = w.shape[0] // group
    for m in range(w.shape[0]):
        first = m // per_group * w.shape[1]
        for at in np.ndindex(*outs):
            window = tuple(slice(at[i] * strides[i], at[i] * strides[i] + (w.shape[2 + i] - 1) * dilations[i] + 1,
                                 dilations[i]) for i in range(k))
            part = x[(slice(None), slice(first, first + w.shape[1]), *window)]
            y[(slice(None), m, *at)] = (part * w[m]).reshape(len(x), -1).sum(1) + (b[m] if b is not None else 0)
    return y


def transposed(x, w, b, strides, pads, more):
    k = len(strides)
    full = [(x.shape[2 + i] - 1) * strides[i] + w.shape[2 + i] for i in range(k)]
    y = np.zeros((x.shape[0], w.shape[1], *[full[i] + more[i] for i in range(k)]))
    for at in np.ndindex(*x.shape[2:]):
        window = tuple(slice(at[i] * strides[i], at[i] * strides[i] + w.shape[2 + i]) for i in range(k))
        y[(slice(None), slice(None), *window)] += np.tensordot(x[(slice(None), slice(None), *at)], w, (1, 0))
    cut = tuple(slice(pads[i], y.shape[2 + i] - pads[i]) for i in range(k))
    return y[(slice(None), slice(None), *cut)] + b.reshape(-1, *[1] * k)


def convolutions(program, rng):
    forms = [
        ((1, 2, 5), (3, 2, 2), [1], [0, 0], [1], 1),
        ((2, 2, 6), (4, 1, 3), [2], [1, 2], [1], 2),
        ((1, 1, 7), (1, 1, 2), [1], [2, 0], [3], 1),
        ((2, 3, 4, 5), (2, 3, 2, 3), [1, 1], [0, 0, 0, 0], [1, 1], 1),
        ((1, 4, 5, 4), (4, 2, 3, 2), [2, 1], [1, 0, 2, 1], [1, 2], 2),
        ((1, 2, 3, 3, 4), (2, 2, 2, 1, 3), [1, 1, 2], [0, 1, 1, 1, 0, 0], [1, 1, 1], 1),
    ]
    for dtype in (F32, F64):
        for xs, ws, strides, pads, dilations, group in forms:
            x, w, b = floats(rng, xs, dtype), floats(rng, ws, dtype), floats(rng, (ws[0],), dtype)
            rest = [ints(strides), ints(pads), ints(dilations), ints(group)]
            want = convolved(x, w, b, strides, pads, dilations, group).astype(dtype)
            check(program, "conv", [x, w, b, *rest], want)
        check(program, "conv", [x, w, dtype(0), *rest],
              convolved(x, w, None, strides, pads, dilations, group).astype(dtype))
    x, w, b = floats(rng, (2, 2, 4, 5)), floats(rng, (3, 2, 3, 2)), floats(rng, (3,))
    check(program, "conv2d", [x, w, b, *map(ints, (1, 2, 1, 1, 1, 2))],
          convolved(x, w, b, [1, 2], [1, 1, 1, 1], [1, 2], 1).astype(F32))
    xq, wq = rng.integers(-9, 9, (1, 2, 4, 4)).astype(np.int32), rng.integers(-9, 9, (2, 2, 2, 2)).astype(np.int32)
    want = convolved(xq, wq, None, [1, 1], [1, 0, 0, 1], [1, 1], 1) * 0.125 * 0.5 + np.array([1, 2])[:, None, None]
    check(program, "qconv", [xq, F32(0.125), wq, F32(0.5), F32([1, 2]), ints([1, 1]), ints([1, 0, 0, 1]),
                             ints([1, 1]), ints(1)], want.astype(F32))
    check(program, "qconv", [xq.astype(F32), F32(0.125), wq.astype(F32), F32(0.5), F32([1, 2]), ints([1, 1]),
                             ints([1, 0, 0, 1]), ints([1, 1]), ints(1)], want.astype(F32))
    for xs, ws, strides, pads, more in (((1, 2, 3), (2, 3, 2), [2], [0], [1]), ((2, 1, 3), (1, 2, 3), [1], [1], [0]),
                                        ((1, 2, 2, 3), (2, 2, 3, 2), [2, 1], [1, 0], [1, 0]),
                                        ((1, 1, 2, 2, 2), (1, 2, 2, 1, 2), [1, 2, 2], [0, 0, 0], [0, 1, 0])):
        x, w, b = floats(rng, xs, F64), floats(rng, ws, F64), floats(rng, (ws[1],), F64)
        check(program, "conv_transpose", [x, w, b, ints(strides), ints(pads), ints(more)],
              transposed(x, w, b, strides, pads, more))
    x, w, b = floats(rng, (2, 3, 4, 4)), floats(rng, (3, 1, 2, 3)), floats(rng, (3,))
    check(program, "depthwise_conv", [x, w, b, ints([1, 1]), ints([1, 1]), ints([1, 1])],
          convolved(x, w, b, [1, 1], [1, 1, 1, 1], [1, 1], 3).astype(F32))


def pooled(x, kernel, strides, pads, how, fill):
    k = len(kernel)
    x = np.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in pads], constant_values=fill)
    outs = [(x.shape[2 + i] - kernel[i]) // strides[i] + 1 for i in range(k)]
    y = np.zeros((*x.shape[:2], *outs), x.dtype)
    for at in np.ndindex(*outs):
        window = tuple(slice(at[i] * strides[i], at[i] * strides[i] + kernel[i]) for i in range(k))
        y[(slice(None), slice(None), *at)] = how(x[(slice(None), slice(None), *window)].reshape(*x.shape[:2], -1))
    return y


def pools(program, rng):
    forms = [((2, 2, 5), [2], [1], [0]), ((1, 2, 5), [3], [2], [1]), ((2, 1, 4, 5), [2, 3], [1, 2], [1, 1]),
             ((1, 2, 3, 4, 3), [2, 2, 1], [1, 2, 1], [1, 0, 0])]
    for dtype in (F32, F64):
        for shape, kernel, strides, pads in forms:
            x = floats(rng, shape, dtype)
            lists = [ints(kernel), ints(strides), ints(pads)]
            check(program, "max_pool", [x, *lists], pooled(x, kernel, strides, pads, lambda w: w.max(-1), -np.inf))
            check(program, "average_pool", [x, *lists], pooled(x, kernel, strides, pads, lambda w: w.mean(-1), 0))
            for p in (1, 2, 3):
                want = pooled(x, kernel, strides, [0] * len(kernel), lambda w: (np.abs(w)**p).sum(-1)**(1 / p), 0)
                check(program, "lp_pool", [x, *lists[:2], ints(p)], want)
            axes = tuple(range(2, x.ndim))
            check(program, "global_average_pool", [x], x.mean(axes, keepdims=True))
            check(program, "global_max_pool", [x], x.max(axes, keepdims=True))
    x = floats(rng, (2, 2, 6, 6))
    rois = F32([[1, 0, 0, 3, 3], [0, 2, 1, 5, 4]])
    want = np.zeros((2, 2, 2, 2), F32)
    for r, (image, x1, y1, x2, y2) in enumerate(rois.astype(int)):
        part = x[image, :, y1:y2 + 1, x1:x2 + 1]
        for i in range(2):
            for j in range(2):
                want[r, :, i, j] = part[:, 2 * i:2 * i + 2, 2 * j:2 * j + 2].max((1, 2))
    check(program, "max_roi_pool", [x, rois, ints([2, 2]), F32(1)], want)


def norms(program, rng):
    for dtype in (F32, F64):
        eps = dtype(1e-3)
        for shape in ((2, 3), (2, 3, 4), (2, 3, 2, 2), (1, 3, 2, 1, 2)):
            x = floats(rng, shape, dtype)
            c = (1, 3, *[1] * (len(shape) - 2))
            g, b, m = (floats(rng, (3,), dtype) for _ in range(3))
            v = np.abs(floats(rng, (3,), dtype)) + dtype(0.5)
            want = (x - m.reshape(c)) / np.sqrt(v.reshape(c) + eps) * g.reshape(c) + b.reshape(c)
            check(program, "batch_normalization", [x, g, b, m, v, eps], want.astype(dtype))
            if len(shape) > 2:
                axes = tuple(range(2, len(shape)))
                z = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)
                check(program, "instance_normalization", [x, g, b, eps], (z * g.reshape(c) + b.reshape(c)).astype(dtype))
            for size in (1, 2, 3, 5):
                total = np.zeros_like(x)
                for k in range(3):
                    lo, hi = max(0, k - (size - 1) // 2), min(3, k - (size - 1) // 2 + size)
                    total[:, k] = (x[:, lo:hi]**2).sum(1)
                want = x / (1.5 + 0.5 / size * total)**0.75
                check(program, "lrn", [x, ints(size), dtype(0.5), dtype(0.75), dtype(1.5)], want.astype(dtype))
        for shape in ((4,), (2, 3), (2, 3, 4)):
            x = floats(rng, shape, dtype)
            for axis in range(-len(shape), len(shape)):
                axes = tuple(range(axis % len(shape), len(shape)))
                g, b = floats(rng, [shape[i] for i in axes], dtype), floats(rng, [shape[i] for i in axes], dtype)
                z = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)
                check(program, "layer_normalization", [x, g, b, eps, ints(axis)], (z * g + b).astype(dtype))
                for p in (1, 2):
                    norm = np.linalg.norm(x, p, axis, keepdims=True)
                    check(program, "lp_normalization", [x, ints(axis), ints(p)], (x / norm).astype(dtype))
            total = np.sqrt((x * x).sum(-1, keepdims=True) + eps)
            check(program, "l2_normalize", [x, eps], (x / total).astype(dtype))
            g, b = floats(rng, shape[-1:], dtype), floats(rng, shape[-1:], dtype)
            z = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)
            check(program, "layer_norm", [x, g, b, eps], (z * g + b).astype(dtype))
            z = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
            check(program, "rms_norm", [x, g, eps], (z * g).astype(dtype))
        x = floats(rng, (2, 3, 4), dtype)
        for axes in ([0], [-1], [0, 2], [0, 1, 2]):
            a = tuple(axes)
            z = (x - x.mean(a, keepdims=True)) / np.sqrt(x.var(a, keepdims=True) + 1e-9)
            check(program, "mean_variance_normalization", [x, ints(axes)], z.astype(dtype))


def shapes(program, rng):
    for dtype in (np.int32, F64):
        x = rng.integers(-9, 9, (2, 3, 4)).astype(dtype)
        flat = x.reshape(-1)

        def same(name, arguments, want):
            check(program, name, arguments, np.asarray(want), exact=True)

        same("shape", [x], F32([2, 3, 4]))
        same("numel", [x], F32(24))
        same("size", [x], F32(24))
        same("size", [dtype(3)], F32(1))
        for dims in ([24], [6, 4], [2, 12], [2, 2, 2, 3], [4, -1], [-1, 2, 3], [0, -1], [1, 24]):
            want = x.reshape([x.shape[i] if d == 0 else d for i, d in enumerate(dims)])
            same("reshape", [x, ints(dims)], want)
        y = x.reshape(1, 2, 1, 3, 4, 1)
        for axes in ([0], [2], [-1], [0, 2], [0, 2, 5], [-1, -6]):
            same("squeeze", [y, ints(axes)], y.squeeze(tuple(axes)))
        for axes in ([0], [3], [-1], [0, 2], [1, -1]):
            same("unsqueeze", [x, ints(axes)], np.expand_dims(x, tuple(axes)))
        for source, dims in ((flat[:3], [2, 3]), (x[:1, :, :1], [2, 3, 4]), (x[0], [2, 1, 1]), (flat[:1], [4]),
                             (x[0, :, :1], [2, 1, 3, 4])):
            want = np.broadcast_to(source, np.broadcast_shapes(source.shape, tuple(dims))).copy()
            same("expand", [source.copy(), ints(dims)], want)
        for axis, sizes in ((0, [1, 1]), (1, [1, 2]), (-1, [1, 0, 3]), (2, [1, 1, 1, 1]), (1, [3])):
            pieces = np.split(x, np.cumsum(sizes)[:-1], axis)
            names = [program.value("split", it) for it in (x, ints(sizes), ints(axis))]
            for at, piece in enumerate(pieces):
                program.agrees("split", f"ml::split({', '.join(names)}).{at}", piece)
        same("transpose", [x], x.swapaxes(1, 2))
        same("transpose", [x[0]], x[0].T)
        same("flatten", [x], flat)
        same("concat", [x, x[:, :1].copy()], np.concatenate([x, x[:, :1]], 1))
        same("concat", [x[0], x[0, :, :2].copy()], np.concatenate([x[0], x[0, :, :2]], 1))
        same("tile", [x[0], ints(3)], np.tile(x[0], (1, 3)))
        same("tile", [x, ints([2, 1, 2])], np.tile(x, (2, 1, 2)))
        same("pad", [flat[:3], ints([2]), dtype(7)], np.pad(flat[:3], 2, constant_values=7))
        same("pad", [x[0], ints([1]), dtype(7)], np.pad(x[0], 1, constant_values=7))
        same("pad", [x, ints([0, 1, 2, 1, 0, 0]), dtype(0)], np.pad(x, ((0, 1), (1, 0), (2, 0))))
        same("pad", [x[0], ints([0, -1, 1, 0]), dtype(5)], np.pad(x[0][:, 1:], ((0, 1), (0, 0)), constant_values=5))
        for starts, ends, axes, steps, want in (
            ([1], [3], [1], [1], x[:, 1:3]), ([0, 1], [2, 4], [0, 2], [1, 2], x[:, :, 1:4:2]),
            ([-2], [99], [2], [1], x[:, :, -2:]), ([3], [-99], [2], [-1], x[:, :, ::-1]),
            ([0], [-1], [-1], [3], x[:, :, 0:-1:3]), ([5], [9], [1], [1], x[:, 5:9]),
        ):
            same("slice", [x, ints(starts), ints(ends), ints(axes), ints(steps)], want.copy())
        d = rng.integers(-9, 9, (2, 8, 2, 3)).astype(dtype)
        want = d.reshape(2, 2, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(2, 2, 4, 6)
        same("depth_to_space", [d, ints(2)], want)
        same("space_to_depth", [want, ints(2)], d)
        same("range", [dtype(1), dtype(8), dtype(2)], np.arange(3).astype(dtype) * 2 + 1)
        same("range", [dtype(5), dtype(1), dtype(-1)], np.arange(5, 1, -1).astype(dtype))
        same("constant_of_shape", [ints([3]), dtype(4)], np.full(3, 4, dtype))
        same("constant_of_shape", [ints([2, 3]), dtype(4)], np.full((2, 3), 4, dtype))
    x = floats(rng, (1, 2, 3, 4))
    for name in ("resize", "upsample"):
        for sh, sw in ((2, 2), (1, 1.5), (0.5, 1)):
            rows, columns = int(3 * sh), int(4 * sw)
            i, j = (np.arange(rows) / sh).astype(int), (np.arange(columns) / sw).astype(int)
            check(program, name, [x, F32([sh, sw]), "nearest"], x[:, :, i][:, :, :, j])
            a, b = np.arange(rows) / sh - i, np.arange(columns) / sw - j
            down, right = np.minimum(i + 1, 2), np.minimum(j + 1, 3)
            tops = x[:, :, i][..., j] * (1 - b) + x[:, :, i][..., right] * b
            bottoms = x[:, :, down][..., j] * (1 - b) + x[:, :, down][..., right] * b
            want = tops * (1 - a)[:, None] + bottoms * a[:, None]
            check(program, name, [x, F32([1, 1, sh, sw]), "linear"], want.astype(F32))


def places(program, rng):
    for dtype in (np.int32,):
        for shape in ((5,), (3, 4), (2, 3, 2)):
            x = rng.integers(-9, 9, shape).astype(dtype)
            for axis in range(-len(shape), len(shape)):
                n = shape[axis]
                for index in (rng.integers(-n, n, (2,)), rng.integers(-n, n, (2, 2)), np.array(n - 1)):
                    index = index.astype(np.int32)
                    check(program, "gather", [x, index, ints(axis)], np.take(x, index % n, axis), exact=True)
                index = rng.integers(-n, n, shape).astype(np.int32)
                check(program, "gather_elements", [x, index, ints(axis)],
                      np.take_along_axis(x, index % n, axis), exact=True)
                new = rng.integers(10, 99, shape).astype(dtype)
                want = x.copy()
                for at in np.ndindex(*shape):
                    to = list(at)
                    to[axis] = index[at] % n
                    want[tuple(to)] = new[at]
                for name in ("scatter_elements", "scatter"):
                    check(program, name, [x, index, new, ints(axis)], want, exact=True)
            rows = np.stack([rng.integers(0, n, 4) for n in shape], -1).astype(np.int32)
            check(program, "gather_nd", [x, rows], x[tuple(rows.T)], exact=True)
            new = rng.integers(10, 99, 4).astype(dtype)
            want = x.copy()
            for row, value in zip(rows, new):
                want[tuple(row)] = value
            check(program, "scatter_nd", [x, rows, new], want, exact=True)
    for index in (ints([1, 0, -1]), ints([[2, 0], [1, 1]])):
        want = np.where(np.arange(3) == (index % 3)[..., None], 5, -1).astype(F32)
        check(program, "onehot", [index, ints(3), F32([-1, 5])], want, exact=True)
        check(program, "onehot", [index, ints([3]), F32([-1, 5])], want, exact=True)


def choices(program, rng):
    for dtype in (np.int32, F32):
        for shape in ((7,), (3, 4), (2, 3, 2)):
            x = rng.integers(-5, 5, shape).astype(dtype)
            for axis in range(-len(shape), len(shape)):
                order = np.argsort(-x, axis, kind="stable")
                k = shape[axis] - 1
                taken = np.take(order, range(k), axis)
                names = [program.value("topk", it) for it in (x, ints(k), ints(axis))]
                program.agrees("topk", f"ml::topk({', '.join(names)}).0", np.take_along_axis(x, taken, axis))
                program.agrees("topk", f"ml::topk({', '.join(names)}).1", taken.astype(F32))
            check(program, "argmax", [x], np.asarray(x.argmax(-1)).astype(np.int32), exact=True)
            check(program, "argmin", [x], np.asarray(x.argmin(-1)).astype(np.int32), exact=True)
            want = np.argwhere(x) if x.ndim > 1 else np.flatnonzero(x)
            name = program.value("nonzero", x)
            dims = ", ".join(map(str, want.shape))
            program.agrees("nonzero", f"ml::nonzero({name}) as [i32; {dims}]", want.astype(np.int32))
            check(program, "cumsum", [x], np.cumsum(x, -1).astype(dtype), exact=True)
            y = rng.integers(-5, 5, shape).astype(dtype)
            check(program, "where", [x > 0, x, y], np.where(x > 0, x, y), exact=True)
            check(program, "where", [x, x, y], np.where(x != 0, x, y), exact=True)
    x = F32([[-1.5, 0, 2.5]])
    for to, want in ((0, x), (1, np.trunc(x)), (2, (x != 0).astype(F32))):
        check(program, "cast", [x, ints(to)], want, exact=True)


def recurrences(program, rng):
    for dtype in (F32, F64):
        t, n, i, h = 4, 2, 3, 2
        x = floats(rng, (t, n, i), dtype)
        for activation, f in (("Tanh", np.tanh), ("Sigmoid", sigmoid), ("Relu", lambda v: np.maximum(v, 0))):
            for direction in (0, 1):
                w, r, b = floats(rng, (h, i), dtype), floats(rng, (h, h), dtype), floats(rng, (2 * h,), dtype)
                start = floats(rng, (n, h), dtype)
                for bias, first in ((b, start), (dtype(0), dtype(0))):
                    state = np.zeros((n, h)) + first
                    total = np.zeros(2 * h) + bias
                    ys = []
                    for step in (x[::-1] if direction else x):
                        state = f(step @ w.T + state @ r.T + total[:h] + total[h:])
                        ys.append(state)
                    ys = np.stack(ys[::-1] if direction else ys).astype(dtype)
                    several(program, "rnn", [x, w, r, bias, first, ints(h), ints(direction), activation],
                            [ys, state.astype(dtype)])
        for direction in (0, 1):
            for clip in (0, 0.5):
                w, r, b = floats(rng, (4 * h, i), dtype), floats(rng, (4 * h, h), dtype), floats(rng, (8 * h,), dtype)
                state, cell = floats(rng, (n, h), dtype), floats(rng, (n, h), dtype)
                arguments = [x, w, r, b, state, cell, ints(h), ints(direction), dtype(clip)]
                ys = []
                for step in (x[::-1] if direction else x):
                    gates = step @ w.T + state @ r.T + b[:4 * h] + b[4 * h:]
                    gates = np.clip(gates, -clip, clip) if clip else gates
                    a, g, c, o = np.split(gates, 4, 1)
                    cell = sigmoid(g) * cell + sigmoid(a) * np.tanh(c)
                    state = sigmoid(o) * np.tanh(cell)
                    ys.append(state)
                ys = np.stack(ys[::-1] if direction else ys).astype(dtype)
                several(program, "lstm", arguments, [ys, state.astype(dtype), cell.astype(dtype)])
            for linear in (0, 1):
                w, r, b = floats(rng, (3 * h, i), dtype), floats(rng, (3 * h, h), dtype), floats(rng, (6 * h,), dtype)
                state = floats(rng, (n, h), dtype)
                arguments = [x, w, r, b, state, ints(h), ints(direction), ints(linear)]
                ys = []
                for step in (x[::-1] if direction else x):
                    wr, wz, wh = np.split(step @ w.T + b[:3 * h], 3, 1)
                    reset = sigmoid(wr + state @ r[:h].T + b[3 * h:4 * h])
                    update = sigmoid(wz + state @ r[h:2 * h].T + b[4 * h:5 * h])
                    own = (reset * (state @ r[2 * h:].T + b[5 * h:]) if linear
                           else (reset * state) @ r[2 * h:].T + b[5 * h:])
                    state = (1 - update) * state + update * np.tanh(wh + own)
                    ys.append(state)
                ys = np.stack(ys[::-1] if direction else ys).astype(dtype)
                several(program, "gru", arguments, [ys, state.astype(dtype)])


def several(program, name, arguments, wants):
    """A call that gives a tuple."""
    names = [program.value(name, it) for it in arguments]
    for at, want in enumerate(wants):
        program.agrees(name, f"ml::{name}({', '.join(names)}).{at}", want, "near")


def attended(q, k, v, scale, mask=None):
    score = q @ k.swapaxes(-1, -2) * scale
    if mask is not None:
        score = np.where(mask > 0, score, -1e9)
    return softmax(score) @ v


def attentions(program, rng):
    for dtype in (F32, F64):
        q, k, v = floats(rng, (2, 3, 4), dtype), floats(rng, (2, 5, 4), dtype), floats(rng, (2, 5, 4), dtype)
        scale = dtype(0.5)
        check(program, "attention", [q, k, v], attended(q, k, v, 0.5).astype(dtype))
        check(program, "attention_dummy", [q, k, v, scale], attended(q, k, v, scale).astype(dtype))
        mask = (rng.random((2, 3, 5)) > 0.4).astype(dtype)
        mask[..., 0] = 1
        for heads in (1, 2, 4):
            split = lambda x: x.reshape(2, -1, heads, 4 // heads).swapaxes(1, 2)
            join = lambda x: x.swapaxes(1, 2).reshape(2, 3, 4)
            want = join(attended(split(q), split(k), split(v), scale)).astype(dtype)
            check(program, "multi_head_attention_simple", [q, k, v, ints(heads), scale], want)
            check(program, "multi_head_attention", [q, k, v, ints(heads), scale, dtype(0)], want)
            want = join(attended(split(q), split(k), split(v), scale, mask[:, None])).astype(dtype)
            check(program, "multi_head_attention", [q, k, v, ints(heads), scale, mask], want)


def losses(program, rng):
    for dtype in (F32, F64):
        for shape in ((4,), (2, 3), (2, 2, 3)):
            p = floats(rng, shape, dtype)
            t = softmax(floats(rng, shape, dtype))
            entropy = np.asarray(-(t * log_softmax(p)).sum(-1)).astype(dtype)
            for name in ("cross_entropy", "cross_entropy_loss", "softmax_cross_entropy_loss"):
                check(program, name, [p, t], entropy)
            d = (p - t).astype(F64)
            check(program, "mse_loss", [p, t], np.asarray((d * d).mean(-1)).astype(dtype))
            check(program, "mae_loss", [p, t], np.asarray(np.abs(d).mean(-1)).astype(dtype))
            huber = np.where(np.abs(d) <= 0.5, 0.5 * d * d, 0.5 * (np.abs(d) - 0.25))
            check(program, "huber_loss", [p, t, dtype(0.5)], np.asarray(huber.mean(-1)).astype(dtype))
            s = np.clip(sigmoid(p.astype(F64)), 1e-7, 1 - 1e-7)
            want = -(t * np.log(s) + (1 - t) * np.log(1 - s)).sum(-1)
            check(program, "binary_cross_entropy", [s.astype(dtype), t], np.asarray(want).astype(dtype))
            dot = (p * t).sum(-1) / np.linalg.norm(p, axis=-1) / np.linalg.norm(t, axis=-1)
            check(program, "cosine_similarity", [p, t], np.asarray(dot).astype(dtype))


def matrices(program, rng):
    check(program, "eye", [ints(3)], np.eye(3, dtype=F32), exact=True)
    for dtype in (np.int32, F32, F64):
        x = rng.integers(-9, 9, (3, 4)).astype(dtype)
        v = rng.integers(-9, 9, (3,)).astype(dtype)

        def same(name, arguments, want):
            check(program, name, arguments, np.asarray(want), exact=True)

        same("diag_extract", [x], np.diag(x).copy())
        same("diag_construct", [v], np.diag(v))
        same("trace", [x], np.trace(x).astype(dtype))
        same("outer", [v, x[0]], np.outer(v, x[0]))
        same("kron", [x[:2, :2].copy(), x[:1, :3].copy()], np.kron(x[:2, :2], x[:1, :3]))
        for k in (-2, 0, 1):
            same("tril", [x, ints(k)], np.tril(x, k))
            same("triu", [x, ints(k)], np.triu(x, k))
            same("roll", [x, ints(k)], np.roll(x, k, 1))
        same("roll", [x, ints(9)], np.roll(x, 9, 1))
        same("repeat_interleave", [x, ints(2)], np.repeat(x, 2, 1))
        same("flip", [x], x[:, ::-1].copy())
        same("identity", [x], x)
        same("constant", [x], x)
    x = floats(rng, (3, 2), F64)
    check(program, "frobenius_norm", [x], np.asarray(np.linalg.norm(x)))
    x = floats(rng, (2, 3, 2, 2))
    check(program, "image_scaler", [x, F32(2), F32([1, 2, 3])], x * 2 + F32([1, 2, 3])[:, None, None])


def quantised(program, rng):
    x = F32([[0.24, -0.25, 0.26], [100, -100, 0.75]])
    steps = x.astype(F64) / 0.5
    want = np.clip(np.sign(steps) * np.floor(np.abs(steps) + 0.5) + 3, -128, 127).astype(F32)
    check(program, "quantize_linear", [x, F32(0.5), F32(3)], want, exact=True)
    check(program, "dequantize_linear", [want, F32(0.5), F32(3)], (want - 3) * F32(0.5), exact=True)
    a, b = rng.integers(-9, 9, (2, 3)).astype(np.int32), rng.integers(-9, 9, (3, 2)).astype(np.int32)
    check(program, "qmatmul", [a, F32(0.5), b, F32(0.25)], ((a @ b) * 0.125).astype(F32))
    check(program, "qmatmul", [a.astype(F32), F32(0.5), b.astype(F32), F32(0.25)], ((a @ b) * 0.125).astype(F32))
    check(program, "qlinear", [a[0], F32(0.5), b, F32(0.25), F32([1, 2])],
          (a[0] @ b * 0.125 + [1, 2]).astype(F32))
    check(program, "qlinear", [a, F32(0.5), b, F32(0.25), F32([1, 2])], (a @ b * 0.125 + [1, 2]).astype(F32))
    x = floats(rng, (2, 2))
    check(program, "dropout", [x, F32(0.25), ints(0)], x)
    check(program, "dropout", [x, F32(0.25), ints(1)], x * F32(0.75))
