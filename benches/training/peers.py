"""The trainings of `examples/` in JAX: the same first weights, batches and arithmetic."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import squares as sq

LETTERS = "\n !\"'(),-.:;?`abcdefghijklmnopqrstuvwxyz"


def he(key, shape, fan_in):
    return sq.normal(key, shape, math.sqrt(2 / fan_in))


def glorot(key, shape, fan_in, fan_out):
    return sq.normal(key, shape, math.sqrt(2 / (fan_in + fan_out)))


def zeros(*shape):
    return np.zeros(shape, np.float32)


def entropy(logits, classes):
    target = jax.nn.one_hot(classes, logits.shape[-1])
    return jnp.mean(-jnp.sum(target * jax.nn.log_softmax(logits), -1))


def linear(x, w, b):
    return x @ w.T + b


def mlp(data, steps):
    images, classes = data["images"].reshape(-1, 64), data["classes"]
    keys = sq.split(sq.key(1), 3)
    p = dict(w1=he(keys[0], (128, 64), 64), b1=zeros(128), w2=he(keys[1], (10, 128), 128), b2=zeros(10))
    rows = sq.integers(keys[2], (steps, 64), 0, len(classes))

    def loss(p, x, c):
        return entropy(linear(jax.nn.relu(linear(x, p["w1"], p["b1"])), p["w2"], p["b2"]), c)

    return p, loss, lambda t: (images[rows[t]], classes[rows[t]]), dict(warmup=100, peak=0.005, decay=0.3)


def cnn(data, steps):
    images, classes = data["images"], data["classes"]
    keys = sq.split(sq.key(1), 4)
    p = dict(
        k1=he(keys[0], (16, 3, 3), 9), b1=zeros(16), k2=he(keys[1], (32, 16, 3, 3), 144), b2=zeros(32),
        w3=he(keys[2], (10, 32, 4, 4), 512), b3=zeros(10),
    )
    rows = sq.integers(keys[3], (steps, 64), 0, len(classes))

    def conv(x, k, b):
        y = jax.lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))
        return jax.nn.relu(y + b[:, None, None])

    def loss(p, x, c):
        a = conv(x[:, None], p["k1"][:, None], p["b1"])
        b = conv(a, p["k2"], p["b2"])
        pooled = b.reshape(-1, 32, 4, 2, 4, 2).max((3, 5))
        return entropy(jnp.einsum("nmrc,kmrc->nk", pooled, p["w3"]) + p["b3"], c)

    return p, loss, lambda t: (images[rows[t]], classes[rows[t]]), dict(warmup=50, peak=0.005, decay=0.1)


def vae(data, steps):
    images = data["all"]
    keys = sq.split(sq.key(1), 8)
    p = dict(
        w1=glorot(keys[0], (96, 64), 64, 96), b1=zeros(96), middle=glorot(keys[1], (8, 96), 96, 8),
        spread=np.float32(0.1) * glorot(keys[2], (8, 96), 96, 8), w2=glorot(keys[3], (96, 8), 8, 96), b2=zeros(96),
        w3=glorot(keys[4], (64, 96), 96, 64), b3=zeros(64),
    )
    rows = sq.integers(keys[5], (steps, 64), 0, len(images))
    noise = [sq.normal(key, (64, 8)) for key in sq.split(keys[6], steps)]

    def loss(p, x, noise):
        h = jax.nn.relu(linear(x, p["w1"], p["b1"]))
        m, s = h @ p["middle"].T, h @ p["spread"].T
        z = m + jnp.exp(0.5 * s) * noise
        y = linear(jax.nn.relu(linear(z, p["w2"], p["b2"])), p["w3"], p["b3"])
        lost = jnp.mean(jnp.sum(jax.nn.softplus(y) - x * y, 1))
        return lost + jnp.mean(0.5 * jnp.sum(m**2 + jnp.exp(s) - s - 1, 1))

    return p, loss, lambda t: (images[rows[t]], noise[t]), dict(warmup=30, peak=0.005, decay=0.0)


def charlm(data, steps):
    text = np.array([LETTERS.index(c) for c in data["text"]], np.int32)
    keys = sq.split(sq.key(1), 6)

    def block_of(key):
        k = sq.split(key, 6)
        one, zero = np.ones(32, np.float32), zeros(32)
        return dict(
            wq=glorot(k[0], (2, 16, 32), 32, 32), wk=glorot(k[1], (2, 16, 32), 32, 32),
            wv=glorot(k[2], (2, 16, 32), 32, 32), wo=glorot(k[3], (32, 2, 16), 32, 32), gain1=one, shift1=zero,
            gain2=one, shift2=zero, w1=glorot(k[4], (128, 32), 32, 128), b1=zeros(128),
            w2=glorot(k[5], (32, 128), 128, 32), b2=zero,
        )

    p = dict(
        letter=sq.normal(keys[0], (40, 32), 0.1), place=sq.normal(keys[1], (32, 32), 0.1), first=block_of(keys[2]),
        second=block_of(keys[3]),
    )
    starts = sq.integers(keys[4], (steps, 16), 0, len(text) - 2000 - 32)

    def norm(x, gain, shift):
        middle = x.mean(-1, keepdims=True)
        spread = ((x - middle) ** 2).mean(-1, keepdims=True)
        return (x - middle) / jnp.sqrt(spread + 1e-5) * gain + shift

    def block(x, p):
        h = norm(x, p["gain1"], p["shift1"])
        q, k, v = (jnp.einsum("ntm,hdm->nhtd", h, p[w]) for w in ("wq", "wk", "wv"))
        score = jnp.einsum("nhid,nhjd->nhij", q, k) / 4
        score = jnp.where(jnp.tril(jnp.ones(score.shape[-2:], bool)), score, -1e9)
        seen = jnp.einsum("nhij,nhjd->nhid", jax.nn.softmax(score), v)
        y = x + jnp.einsum("nhtd,mhd->ntm", seen, p["wo"])
        h = norm(y, p["gain2"], p["shift2"])
        return y + linear(jax.nn.gelu(linear(h, p["w1"], p["b1"])), p["w2"], p["b2"])

    def loss(p, rows, _):
        x = p["letter"][rows[:, :-1]] + p["place"]
        y = block(block(x, p["first"]), p["second"])
        return entropy(y @ p["letter"].T, rows[:, 1:])

    at = np.arange(33)
    return p, loss, lambda t: (text[starts[t][:, None] + at], 0), dict(warmup=30, peak=0.004, decay=0.01)


def rate(step, warmup, total, peak):
    if step < warmup:
        return peak * step / warmup
    return peak * 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(total - warmup, 1)))


@partial(jax.jit, static_argnums=(0,), donate_argnums=(1,))
def adamw(loss, state, x, y, t, rate, decay):
    p, m, v = state
    cost, g = jax.value_and_grad(loss)(p, x, y)
    each = jax.tree_util.tree_map
    m = each(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = each(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
    a, b = 1 / (1 - 0.9**t), 1 / (1 - 0.999**t)
    p = each(lambda p, m, v: (1 - rate * decay) * p - rate * a * m / (jnp.sqrt(b * v) + 1e-8), p, m, v)
    return (p, m, v), cost


def neural_ode(data, steps):
    # A loop in one program, as ours: its steps are too short to be called one by one.
    h, points, dt = 12, 24, 0.25
    angle = 0.25 * np.arange(points, dtype=np.float32)
    radius = 2.0 - 0.05 * np.arange(points, dtype=np.float32)
    truth = jnp.asarray((radius * np.array([np.cos(angle), np.sin(angle)])).T, jnp.float32)

    def speed(z, w):
        return w[:, 3:].T @ jnp.tanh(w[:, :2] @ z + w[:, 2])

    def loss(w):
        def step(y, _):
            half = y + 0.5 * dt * speed(y, w)
            y = y + dt * speed(half, w)
            return y, y

        _, y = jax.lax.scan(step, truth[0], length=points - 1)
        return jnp.sum((y - truth[1:]) ** 2) / (points * 2)

    @jax.jit
    def learnt(w):
        return jax.lax.fori_loop(0, steps, lambda _, w: w - 0.03 * jax.grad(loss)(w), w)

    return sq.normal(sq.key(4), (h, 5), 0.4), loss, learnt, None


def train(build, data, steps, clock):
    """The losses, and what the clock says of all steps but the first, which compiles."""
    p, loss, batch, with_ = build(data, steps)
    if with_ is None:
        p = jnp.asarray(p)
        jax.block_until_ready(batch(p))
        start = clock()
        p = jax.block_until_ready(batch(p))
        took = clock() - start
        return [float(loss(p))], took
    state = jax.tree_util.tree_map(jnp.asarray, p)
    state = (state, *(jax.tree_util.tree_map(jnp.zeros_like, state) for _ in range(2)))
    costs, start = [], None
    for t in range(steps):
        r = rate(t + 1, with_["warmup"], steps, with_["peak"])
        x, y = batch(t)
        state, cost = adamw(loss, state, x, y, float(t + 1), r, with_["decay"])
        costs.append(cost)
        if t == 0:
            jax.block_until_ready(state)
            start = clock()
    jax.block_until_ready(state)
    return [float(c) for c in costs], clock() - start


PROGRAMS = {
    "mlp": (mlp, "digits/mlp.ein", 200, 1200),
    "cnn": (cnn, "digits/cnn.ein", 20, 100),
    "vae": (vae, "vae.ein", 200, 1200),
    "neural_ode": (neural_ode, "neural_ode.ein", 100, 1500),
    "charlm": (charlm, "charlm/charlm.ein", 20, 120),
}
