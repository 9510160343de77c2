"""Functions of a program for JAX: `custom_vjp`, batching by lifting, and a callback inside `jit`."""

from __future__ import annotations

import numpy as np

from . import _errors
from ._module import Function
from ._wrapped import Wrapped, is_lifted


def wrap(function: Function):
    """A JAX function that computes what an Einlang function does."""
    import jax
    import jax.numpy as jnp

    def parts(request, *args):
        """The arrays of a call with arrays of NumPy."""
        flat = wrapped.apart(request, request.made(*args), is_array)
        return tuple(np.asarray(part) for part in flat)

    def is_array(part):
        return np.asarray(part).dtype.kind not in "OUS"

    def shapes(request, args):
        """The shapes of what a call gives: found by calling it once, on numbers that fit."""
        for fill in (np.zeros, np.ones):
            try:
                found = parts(request, *(fill(arg.shape, arg.dtype) for arg in args))
            except _errors.RunError as error:
                failed = error
            else:
                return tuple(jax.ShapeDtypeStruct(part.shape, part.dtype) for part in found)
        raise failed

    def outside(request, *args):
        """A call as an operation of JAX. What is batched is called once, lifted."""
        if not any(isinstance(arg, jax.core.Tracer) for arg in args):
            # Callbacks may get arrays of JAX, too; NumPy sees them without a copy.
            return tuple(jnp.asarray(part) for part in parts(request, *map(np.asarray, args)))
        key = (request, tuple((arg.shape, str(arg.dtype)) for arg in args))
        if key not in known:
            known[key] = shapes(request, args)

        def host(*args):
            return parts(request, *map(np.asarray, args))

        return jax.pure_callback(host, known[key], *args, vmap_method="expand_dims")

    known: dict = {}
    made: dict = {}

    def smooth(request):
        """The call with its derivative, which is such a call itself."""
        if request in made:
            return made[request]
        names = [name for name, _, _ in request.params]

        @jax.custom_vjp
        def forward(*args):
            return lifted(request, *args)

        def save(*args):
            return forward(*args), args

        def back(args, cotangents):
            wanted = tuple(
                name for name, arg in zip(names, args) if jnp.issubdtype(arg.dtype, jnp.floating)
            )
            seeds = [
                (path, seed)
                for path, seed in zip(request.paths, cotangents)
                if seed.dtype != jax.dtypes.float0
            ]
            found = {}
            if wanted and seeds:
                pull = smooth(request.pulled(wanted, tuple(path for path, _ in seeds)))
                found = dict(zip(wanted, pull(*args, *(seed for _, seed in seeds))))
            zero = lambda arg: np.zeros(  # noqa: E731
                arg.shape, arg.dtype if jnp.issubdtype(arg.dtype, jnp.floating) else jax.dtypes.float0
            )
            return tuple(found[name] if name in found else zero(arg) for name, arg in zip(names, args))

        forward.defvjp(save, back)
        made[request] = forward
        return forward

    def lifted(request, *args):
        """A call under `vmap`: one call of the lifted function instead of a loop."""

        @jax.custom_batching.custom_vmap
        def one(*args):
            return outside(request, *args)

        @one.def_vmap
        def many(size, batched, *args):
            if size == 0 or not can_lift(request, batched, args):
                results = jax.lax.map(
                    lambda own: one(*merge(own, batched, args)),
                    tuple(arg for arg, is_batched in zip(args, batched) if is_batched),
                )
            else:
                results = lifted(request, *args)
            return results, tuple(True for _ in results)

        return one(*args)

    def merge(own, batched, args):
        own = iter(own)
        return [next(own) if is_batched else arg for arg, is_batched in zip(args, batched)]

    def can_lift(request, batched, args):
        """Whether the lifted call has the frame in front of every result."""
        try:
            cell = [
                jax.ShapeDtypeStruct(arg.shape[1:] if is_batched else arg.shape, arg.dtype)
                for arg, is_batched in zip(args, batched)
            ]
            cells, whole = shapes(request, cell), shapes(request, args)
        except _errors.EinlangError:
            return False
        size = next(arg.shape[0] for arg, is_batched in zip(args, batched) if is_batched)
        return is_lifted(size, cells, whole)

    def arrays(request, args):
        return smooth(request)(*(jnp.asarray(arg) for arg in args))

    wrapped = Wrapped(function, "jax", arrays)
    return wrapped
