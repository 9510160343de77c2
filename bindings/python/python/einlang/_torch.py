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
            tensors = [arg for arg in args if isinstance(arg, torch.Tensor)]
            ctx.save_for_backward(*tensors)
            ctx.save_for_forward(*tensors)
            ctx.others = [None if isinstance(arg, torch.Tensor) else arg for arg in args]
            ctx.smooth = [part.is_floating_point() for part in output]
            ctx.mark_non_differentiable(*(part for part in output if not part.is_floating_point()))

        @staticmethod
        def backward(ctx, *cotangents):
            args = given(ctx)
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
        def jvp(ctx, _, *tangents):
            args = given(ctx)
            names = [name for name, _, _ in ctx.request.params]
            moving = [
                (name, tangent) for name, tangent in zip(names, tangents) if tangent is not None
            ]
            smooth = [at for at, is_smooth in enumerate(ctx.smooth) if is_smooth]
            found = {}
            if moving and smooth:
                paths = tuple(ctx.request.paths[at] for at in smooth)
                push = ctx.request.pushed(tuple(name for name, _ in moving), paths)
                along = Node.apply(push, *args, *(tangent for _, tangent in moving))
                found = dict(zip(smooth, along))
            return tuple(found.get(at) for at in range(len(ctx.smooth)))

        @staticmethod
        def vmap(info, in_dims, request, *args):
            # The batched axis in front: the call is lifted over it.
            batched = [dim is not None for dim in in_dims[1:]]
            args = [arg if dim is None else arg.movedim(dim, 0) for arg, dim in zip(args, in_dims[1:])]
            if can_lift(request, batched, args, info.batch_size):
                result = Node.apply(request, *args)
            else:
                rows = [
                    Node.apply(request, *cell(args, batched, at)) for at in range(info.batch_size)
                ]
                result = tuple(torch.stack(parts) for parts in zip(*rows))
            return result, tuple(0 for _ in result)

    packs: dict = {}
    lifts: dict = {}

    def cell(args, batched, at):
        """The arguments of one of the calls that are batched."""
        return [arg[at] if is_batched else arg for arg, is_batched in zip(args, batched)]

    def can_lift(request, batched, args, size):
        """Whether the lifted call has the frame in front of every result: what is summed over the
        batch, as a derivative by a parameter of all calls, has not."""
        shapes = tuple(getattr(arg, "shape", None) for arg in args)
        key = (request, tuple(batched), shapes)
        if key not in lifts:
            try:
                one = Node.apply(request, *cell(args, batched, 0)) if size else ()
                all_of_them = Node.apply(request, *args)
            except _errors.EinlangError:
                lifts[key] = False
            else:
                lifts[key] = not size or all(
                    whole.shape == (size, *part.shape) for part, whole in zip(one, all_of_them)
                )
        return lifts[key]

    def given(ctx):
        """The arguments of a call."""
        tensors = iter(ctx.saved_tensors)
        return [
            next(tensors) if is_tensor else other
            for is_tensor, other in zip(ctx.is_tensor, ctx.others)
        ]

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
