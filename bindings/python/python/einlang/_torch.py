"""Functions of a program for PyTorch, with autograd."""

from __future__ import annotations

from . import _errors
from ._module import Function
from ._wrapped import Wrapped, can_be_lifted, is_lifted, leaves, packed, remember


def wrap(function: Function):
    """A PyTorch function that computes what an Einlang function does, with its derivatives."""
    import torch

    class Node(torch.autograd.Function):
        """A call in the graph. Its backward is a call again, so there is one of any order."""

        generate_vmap_rule = False

        @staticmethod
        def forward(request, frames, *args):
            return tuple(request.flat("torch", torch.is_tensor, args))

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.request, ctx.frames, *args = inputs
            ctx.is_tensor = [torch.is_tensor(arg) for arg in args]
            tensors = [arg for arg in args if torch.is_tensor(arg)]
            ctx.save_for_backward(*tensors)
            ctx.save_for_forward(*tensors)
            ctx.others = [None if torch.is_tensor(arg) else arg for arg in args]
            ctx.smooth = [part.is_floating_point() for part in output]
            ctx.mark_non_differentiable(*(part for part in output if not part.is_floating_point()))

        @staticmethod
        def backward(ctx, *cotangents):
            args = given(ctx)
            names = [name for name, _, _ in ctx.request.params]
            wanted = tuple(
                name
                for name, arg, needs in zip(names, args, ctx.needs_input_grad[2:])
                if needs and torch.is_tensor(arg) and arg.is_floating_point()
            )
            found = {}
            if wanted and any(ctx.smooth):
                paths = ctx.request.paths
                smooth = [at for at, is_smooth in enumerate(ctx.smooth) if is_smooth]
                pull = ctx.request.pulled(wanted, tuple(paths[at] for at in smooth))
                seeds = [cotangents[at].contiguous() for at in smooth]
                frames = (*ctx.frames, *(max(ctx.frames) for _ in seeds))
                found = dict(zip(wanted, Node.apply(pull, frames, *args, *seeds)))
            return (None, None, *(found.get(name) for name in names))

        @staticmethod
        def jvp(ctx, _, __, *tangents):
            args = given(ctx)
            names = [name for name, _, _ in ctx.request.params]
            moving = [it for it in zip(names, tangents, ctx.frames) if it[1] is not None]
            smooth = [at for at, is_smooth in enumerate(ctx.smooth) if is_smooth]
            found = {}
            if moving and smooth:
                paths = tuple(ctx.request.paths[at] for at in smooth)
                along, seeds, frames = zip(*moving)
                push = ctx.request.pushed(along, paths)
                found = dict(zip(smooth, Node.apply(push, (*ctx.frames, *frames), *args, *seeds)))
            return tuple(found.get(at) for at in range(len(ctx.smooth)))

        @staticmethod
        def vmap(info, in_dims, request, frames, *args):
            # The batched axis in front: the call is lifted over it.
            batched = [dim is not None for dim in in_dims[2:]]
            args = [arg if dim is None else arg.movedim(dim, 0) for arg, dim in zip(args, in_dims[2:])]
            if can_lift(request, frames, batched, args, info.batch_size):
                frames = tuple(frame + is_batched for frame, is_batched in zip(frames, batched))
                result = Node.apply(request, frames, *args)
            else:
                rows = [
                    Node.apply(request, frames, *cell(args, batched, at))
                    for at in range(info.batch_size)
                ]
                result = tuple(torch.stack(parts) for parts in zip(*rows))
            return result, tuple(0 for _ in result)

    lifts: dict = {}

    def cell(args, batched, at):
        """The arguments of one of the calls that are batched."""
        return [arg[at] if is_batched else arg for arg, is_batched in zip(args, batched)]

    def can_lift(request, frames, batched, args, size):
        """Whether the lifted call gives what all calls give."""
        if not can_be_lifted(batched, frames):
            return False
        shapes = tuple(getattr(arg, "shape", None) for arg in args)
        key = (request, tuple(batched), shapes)
        if key not in lifts:
            try:
                one = Node.apply(request, frames, *cell(args, batched, 0)) if size else ()
                all_of_them = Node.apply(request, frames, *args)
            except _errors.EinlangError:
                return remember(lifts, key, False)
            remember(lifts, key, not size or is_lifted(size, one, all_of_them))
        return lifts[key]

    def given(ctx):
        """The arguments of a call."""
        tensors = iter(ctx.saved_tensors)
        return [
            next(tensors) if is_tensor else other
            for is_tensor, other in zip(ctx.is_tensor, ctx.others)
        ]

    def is_followed(part):
        return torch.is_tensor(part) and part.requires_grad

    def arrays(request, args):
        for (name, _, _), arg in zip(request.params, args):
            if not torch.is_tensor(arg) and any(map(is_followed, leaves(arg))):
                raise packed(name, "torch")
        frames = (0,) * len(args)
        return Node.apply(request, frames, *args) if any(map(torch.is_tensor, args)) else None

    return Wrapped(function, "torch", arrays)
