"""Functions of a program for PyTorch, with autograd."""

from __future__ import annotations

from . import _errors
from ._grad import Request
from ._module import Function, _plain


def wrap(function: Function):
    """A PyTorch function that computes what an Einlang function does, with its derivatives."""
    import torch

    class Node(torch.autograd.Function):
        """A call in the graph. Its backward is a call again, so there is one of any order."""

        generate_vmap_rule = False

        @staticmethod
        def forward(request, *args):
            parts, pack = request.parts(request.made(*args))
            if not all(isinstance(part, torch.Tensor) for part in parts):
                message = f"`{function.__name__}` gives something that is no array"
                raise _errors.CompileError([_plain("E0703", message, ["call it without `torch()`"])])
            packs[request] = pack
            return tuple(parts)

        @staticmethod
        def setup_context(ctx, inputs, output):
            request, *args = inputs
            ctx.request = request
            ctx.is_tensor = [isinstance(arg, torch.Tensor) for arg in args]
            ctx.save_for_backward(*(arg for arg in args if isinstance(arg, torch.Tensor)))
            ctx.others = [None if isinstance(arg, torch.Tensor) else arg for arg in args]
            ctx.smooth = [part.is_floating_point() for part in output]
            ctx.mark_non_differentiable(*(part for part in output if not part.is_floating_point()))

        @staticmethod
        def backward(ctx, *cotangents):
            tensors = iter(ctx.saved_tensors)
            args = [
                next(tensors) if is_tensor else other
                for is_tensor, other in zip(ctx.is_tensor, ctx.others)
            ]
            names = [name for name, _, _ in ctx.request.params]
            wanted = tuple(
                name
                for name, arg, needs in zip(names, args, ctx.needs_input_grad[1:])
                if needs and isinstance(arg, torch.Tensor) and arg.is_floating_point()
            )
            found = {}
            if wanted and any(ctx.smooth):
                paths = ctx.request.paths
                smooth = [at for at, is_smooth in enumerate(ctx.smooth) if is_smooth]
                pull = ctx.request.pulled(wanted, tuple(paths[at] for at in smooth))
                grads = Node.apply(pull, *args, *(cotangents[at].contiguous() for at in smooth))
                found = dict(zip(wanted, grads))
            return (None, *(found.get(name) for name in names))

        @staticmethod
        def vmap(info, in_dims, request, *args):
            # The batched axis in front: the call is lifted over it.
            args = [
                arg if dim is None else arg.movedim(dim, 0) for arg, dim in zip(args, in_dims[1:])
            ]
            result = Node.apply(request, *args)
            return result, tuple(0 for _ in result)

    packs: dict = {}

    def call(*args, **kwargs):
        bound, args = function._bind(args, kwargs)
        if not any(isinstance(arg, torch.Tensor) for arg in args):
            return bound(*args)
        request = Request.of(bound)
        parts = Node.apply(request, *args)
        return packs[request](parts)

    call.__name__ = function.__name__
    call.__doc__ = function.__doc__
    call.__signature__ = function.__signature__
    call.__wrapped__ = function
    return call
