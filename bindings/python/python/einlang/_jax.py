"""Functions of a program for JAX: `custom_vjp`, batching by lifting, and a callback inside `jit`."""

from __future__ import annotations

import numpy as np

from . import _errors
from ._grad import request
from ._module import Function, _plain


def wrap(function: Function):
    """A JAX function that computes what an Einlang function does."""
    import jax
    import jax.numpy as jnp

    def given(args, kwargs):
        bound, args = function._bind(args, kwargs)
        return bound, [jnp.asarray(arg) for arg in args]

    def numpy(args):
        # Callbacks may get arrays of JAX; NumPy sees them without a copy.
        return [np.asarray(arg) for arg in args]

    def like(results):
        single = not isinstance(results, tuple)
        results = (results,) if single else results
        return tuple(np.asarray(one) for one in results)

    def shapes(call, args):
        """The shapes of what a call gives: found by calling it once on zeros."""
        zeros = [np.zeros(arg.shape, arg.dtype) for arg in args]
        return tuple(jax.ShapeDtypeStruct(one.shape, one.dtype) for one in like(call(*zeros)))

    def outside(call, *args):
        """A call as an operation of JAX. What is batched is called once, lifted."""
        key = tuple((arg.shape, str(arg.dtype)) for arg in args)
        known = call_shapes.get((id(call), key))
        if known is None:
            known = call_shapes[(id(call), key)] = shapes(call, args)
            kept.append(call)

        def host(*args):
            return like(call(*numpy(args)))

        return jax.pure_callback(host, known, *args, vmap_method="expand_dims")

    call_shapes: dict = {}
    kept: list = []

    def made(bound):
        """The function with its derivative."""
        names = [name for name, _, _ in bound._params]

        @jax.custom_vjp
        def forward(*args):
            results = lifted(bound, *args)
            return results if len(results) > 1 else results[0]

        def save(*args):
            return forward(*args), args

        def back(args, cotangent):
            if isinstance(cotangent, tuple):
                message = f"`{function.__name__}` gives several arrays"
                hint = "give back one array, or call it once for each"
                raise _errors.CompileError([_plain("E0703", message, [hint])])
            floats = tuple(
                name
                for name, arg in zip(names, args)
                if jnp.issubdtype(arg.dtype, jnp.floating)
            )
            pull = request(bound, floats, "vjp")
            found = iter(lifted(pull, *args, cotangent)[1:])
            grads = []
            for name, arg in zip(names, args):
                if name in floats:
                    grads.append(next(found))
                else:
                    grads.append(np.zeros(arg.shape, jax.dtypes.float0))
            return tuple(grads)

        forward.defvjp(save, back)
        return forward

    def lifted(call, *args):
        """A call under `vmap`: one call of the lifted function instead of a loop."""

        @jax.custom_batching.custom_vmap
        def one(*args):
            return outside(call, *args)

        @one.def_vmap
        def many(size, batched, *args):
            if size == 0 or not can_lift(call, batched, args):
                results = jax.lax.map(
                    lambda own: one(*merge(own, batched, args)),
                    tuple(arg for arg, is_batched in zip(args, batched) if is_batched),
                )
            else:
                results = lifted(call, *args)
            return results, tuple(True for _ in results)

        return one(*args)

    def merge(own, batched, args):
        own = iter(own)
        return [next(own) if is_batched else arg for arg, is_batched in zip(args, batched)]

    def can_lift(call, batched, args):
        """Whether the lifted call has the frame in front of every result."""
        try:
            cell = [
                np.zeros(arg.shape[1:] if is_batched else arg.shape, arg.dtype)
                for arg, is_batched in zip(args, batched)
            ]
            cells = like(call(*cell))
            whole = like(call(*[np.zeros(arg.shape, arg.dtype) for arg in args]))
        except _errors.EinlangError:
            return False
        size = next(arg.shape[0] for arg, is_batched in zip(args, batched) if is_batched)
        return len(cells) == len(whole) and all(
            big.shape == (size, *small.shape) for small, big in zip(cells, whole)
        )

    cache: dict = {}

    def call(*args, **kwargs):
        bound, args = given(args, kwargs)
        inner = cache.get(bound)
        if inner is None:
            inner = cache[bound] = made(bound)
        return inner(*args)

    call.__name__ = function.__name__
    call.__doc__ = function.__doc__
    call.__signature__ = function.__signature__
    call.__wrapped__ = function
    return call
