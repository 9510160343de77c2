"""Functions of a program for PyTorch, with autograd."""

from __future__ import annotations

from . import _errors
from ._grad import request
from ._module import Function, _plain


def wrap(function: Function):
    """A PyTorch function that computes what an Einlang function does, with its derivative."""
    import torch

    class Node(torch.autograd.Function):
        """A call in the graph."""

        generate_vmap_rule = False

        @staticmethod
        def forward(call, *args):
            return call(*args)

        @staticmethod
        def setup_context(ctx, inputs, output):
            call, *args = inputs
            ctx.call = call
            ctx.is_tensor = [isinstance(arg, torch.Tensor) for arg in args]
            ctx.save_for_backward(*(arg for arg in args if isinstance(arg, torch.Tensor)))
            ctx.others = [None if isinstance(arg, torch.Tensor) else arg for arg in args]
            ctx.several = isinstance(output, tuple)

        @staticmethod
        def backward(ctx, *cotangents):
            if ctx.several:
                message = f"`{function.__name__}` gives several arrays"
                hint = "give back one array, or call it once for each"
                raise _errors.CompileError([_plain("E0703", message, [hint])])
            tensors = iter(ctx.saved_tensors)
            args = [
                next(tensors) if is_tensor else other
                for is_tensor, other in zip(ctx.is_tensor, ctx.others)
            ]
            names = [name for name, _, _ in ctx.call._params]
            wanted = tuple(
                name
                for name, arg, needs in zip(names, args, ctx.needs_input_grad[1:])
                if needs and isinstance(arg, torch.Tensor) and arg.is_floating_point()
            )
            found = {}
            if wanted:
                grads = Back.apply(request(ctx.call, wanted, "vjp"), *args, *cotangents)
                found = dict(zip(wanted, grads))
            return (None, *(found.get(name) for name in names))

        @staticmethod
        def vmap(info, in_dims, call, *args):
            result = Node.apply(call, *in_front(args, in_dims))
            return result, (tuple(0 for _ in result) if isinstance(result, tuple) else 0)

    class Back(torch.autograd.Function):
        """The adjoint of a call, which `torch.func` wraps and batches as it does the call."""

        generate_vmap_rule = False

        @staticmethod
        def forward(pull, *args):
            return tuple(pull(*args)[1:])

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, *cotangents):
            message = f"the derivative of `{function.__name__}` has no derivative here"
            hint = "differentiate twice in the program: `@(@y / @x) / @x`"
            raise _errors.CompileError([_plain("E0703", message, [hint])])

        @staticmethod
        def vmap(info, in_dims, pull, *args):
            result = Back.apply(pull, *in_front(args, in_dims))
            return result, tuple(0 for _ in result)

    def in_front(args, dims):
        """The arguments with the batched axis in front: the call is lifted over it."""
        return [
            arg if dim is None else arg.movedim(dim, 0) for arg, dim in zip(args, dims[1:])
        ]

    def call(*args, **kwargs):
        bound, args = function._bind(args, kwargs)
        return Node.apply(bound, *args)

    call.__name__ = function.__name__
    call.__doc__ = function.__doc__
    call.__signature__ = function.__signature__
    call.__wrapped__ = function
    return call
