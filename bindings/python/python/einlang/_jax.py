"""Functions of a program for JAX: a primitive with derivatives, batching by lifting, and a callback
inside `jit`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from . import _errors
from ._grad import Request
from ._module import Function
from ._wrapped import Wrapped, can_be_lifted, is_lifted, packed, remember

#: A call of a request. `frames` says over how many batches each argument is lifted already.
CALL = Primitive("einlang")
CALL.multiple_results = True


def wrap(function: Function) -> Wrapped:
    """A JAX function that computes what an Einlang function does."""
    return Wrapped(function, "jax", _arrays)


def _arrays(request: Request, args):
    for (name, _, _), arg in zip(request.params, args):
        if isinstance(arg, (dict, tuple)):
            raise packed(name, "jax")
    return _call(request, map(jnp.asarray, args))


def _call(request: Request, args, frames=None):
    args = tuple(args)
    return CALL.bind(*args, request=request, frames=frames or (0,) * len(args))


def _is_array(part):
    return isinstance(part, jax.Array) or np.asarray(part).dtype.kind not in "OUS"


@CALL.def_impl
def _run(*args, request, frames):
    flat = request.flat("jax", _is_array, args)
    return [part if isinstance(part, jax.Array) else jnp.asarray(part) for part in flat]


def _host(request, args):
    """A call inside `jit`: callbacks get arrays of JAX, which NumPy sees without a copy."""
    flat = request.flat("jax", _is_array, map(np.asarray, args))
    return tuple(np.asarray(part) for part in flat)


def _lower(*args, request, frames):
    shapes = [jax.ShapeDtypeStruct(it.shape, it.dtype) for it in _shapes(request, args)]
    return jax.pure_callback(lambda *args: _host(request, args), shapes, *args)


mlir.register_lowering(CALL, mlir.lower_fun(_lower, multiple_results=True))


@CALL.def_abstract_eval
def _abstract(*args, request, frames):
    return _shapes(request, args)


def _shapes(request: Request, args):
    """What a call gives: what the request was made from says it of derivatives."""
    known = request.known.get(_key(args))
    if known is not None:
        return known
    kind, base, wrt, paths = request.derived or (None, None, (), ())
    if kind == "pulled":
        by_name = {name: arg for (name, _, _), arg in zip(base.params, args)}
        found = [jax.core.ShapedArray(by_name[name].shape, by_name[name].dtype) for name in wrt]
    elif kind == "pushed":
        by_path = dict(zip(base.paths, _shapes(base, args[: len(base.params)])))
        found = [by_path[path] for path in paths]
    else:
        found = _tried(request, args)
    return _remember(request, args, found)


def _tried(request: Request, args):
    """What a call gives: found by calling it once, on numbers that fit."""
    for fill in (np.zeros, np.ones):
        try:
            parts = _host(request, [fill(arg.shape, arg.dtype) for arg in args])
        except _errors.RunError as error:
            failed = error
        else:
            return [jax.core.ShapedArray(part.shape, part.dtype) for part in parts]
    raise failed


def _key(args):
    return tuple((arg.shape, str(arg.dtype)) for arg in args)


def _remember(request, args, found):
    return remember(request.known, _key(args), found)


def _is_smooth(array):
    return jnp.issubdtype(array.dtype, jnp.floating)


def _jvp(primals, tangents, *, request, frames):
    values = CALL.bind(*primals, request=request, frames=frames)
    _remember(request, primals, [jax.core.ShapedArray(it.shape, it.dtype) for it in values])
    moving = [
        (name, tangent, frame)
        for (name, _, _), primal, tangent, frame in zip(request.params, primals, tangents, frames)
        if not isinstance(tangent, ad.Zero) and _is_smooth(primal)
    ]
    smooth = [at for at, value in enumerate(values) if _is_smooth(value)]
    along = {}
    if moving and smooth:
        names, seeds, more = zip(*moving)
        push = request.pushed(names, tuple(request.paths[at] for at in smooth))
        along = dict(zip(smooth, _call(push, (*primals, *seeds), (*frames, *more))))
    zeros = (ad.Zero(jax.core.ShapedArray(it.shape, it.dtype).to_tangent_aval()) for it in values)
    return values, [along.get(at, zero) for at, zero in enumerate(zeros)]


ad.primitive_jvps[CALL] = _jvp


def _transpose(cotangents, *args, request, frames):
    """A derivative along tangents, which is linear in these, the other way."""
    _, base, wrt, paths = request.derived
    count = len(base.params)
    unknown = [ad.is_undefined_primal(arg) for arg in args]
    asked = [name for name, is_asked in zip(wrt, unknown[count:]) if is_asked]
    seeds = [(path, it) for path, it in zip(paths, cotangents) if not isinstance(it, ad.Zero)]
    found = [None] * len(args)
    if seeds:
        along, given = zip(*seeds)
        pull = base.pulled(tuple(asked), along)
        frame = max(frames)
        pulled = iter(_call(pull, (*args[:count], *given), (*frames[:count], *[frame] * len(given))))
        found = [next(pulled) if is_asked else None for is_asked in unknown]
    return found


ad.primitive_transposes[CALL] = _transpose


def _batch(args, dims, *, request, frames):
    """A call under `vmap`: one call of the lifted function instead of a loop, if that is the same."""
    batched = [dim is not None for dim in dims]
    args = [jnp.moveaxis(arg, dim, 0) if it else arg for arg, dim, it in zip(args, dims, batched)]
    size = next(arg.shape[0] for arg, is_batched in zip(args, batched) if is_batched)
    if size and _can_lift(request, args, batched, frames, size):
        frames = tuple(frame + is_batched for frame, is_batched in zip(frames, batched))
        results = _call(request, args, frames)
    else:
        own = tuple(arg for arg, is_batched in zip(args, batched) if is_batched)

        def one(own):
            own = iter(own)
            cell = [next(own) if it else arg for arg, it in zip(args, batched)]
            return tuple(_call(request, cell, frames))

        results = jax.lax.map(one, own)
    return list(results), [0] * len(results)


batching.primitive_batchers[CALL] = _batch


def _can_lift(request, args, batched, frames, size):
    """Whether the lifted call has the frame in front of every result."""
    if not can_be_lifted(batched, frames):
        return False
    try:
        cell = [
            jax.ShapeDtypeStruct(arg.shape[1:] if is_batched else arg.shape, arg.dtype)
            for arg, is_batched in zip(args, batched)
        ]
        return is_lifted(size, _tried(request, cell), _tried(request, args))
    except _errors.EinlangError:
        return False
