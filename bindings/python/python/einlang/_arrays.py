"""Arrays of other libraries, where that is not hot."""

from __future__ import annotations

from ._einlang import Tensor


def take(library: str, array):
    """An array that we can read, and the names of its axes."""
    if library == "xarray":
        return array.data, [str(name) for name in array.dims]
    if library == "torch":
        import torch.utils.dlpack

        return torch.utils.dlpack.to_dlpack(array.detach().resolve_conj().resolve_neg()), None
    return array, None


def give(library: str, tensor: Tensor):
    """A tensor of ours as an array of another library that shares its memory."""
    if library == "numpy":
        return to_numpy(tensor)
    if library == "jax":
        import jax.dlpack

        if not tensor.size:
            # An empty array has no memory that could be shared.
            import jax.numpy

            return jax.numpy.zeros(tensor.shape, NAMES[tensor.dtype])
        return jax.dlpack.from_dlpack(tensor)
    if library == "xarray":
        import xarray

        names = [name or f"dim_{at}" for at, name in enumerate(tensor.dims)]
        return xarray.DataArray(to_numpy(tensor), dims=names)
    return tensor


def jax_maker():
    """The function of JAX that makes an array of a capsule for a device, and the device; or None.

    `jax.dlpack.from_dlpack` asks for devices, streams and types each time, which takes ten times as
    long as a small kernel. What it calls in the end is not public, so it is tried once, on one
    element, and left alone where it does not do what it did.
    """
    import jax

    try:
        from jaxlib._jax import dlpack_managed_tensor_to_buffer as make

        device = jax.local_devices(backend="cpu")[0]
        made = make(Tensor([1], dims=[None]).__dlpack__(), device, None, None)
    except Exception:
        return None
    return (make, device) if isinstance(made, jax.Array) and made.tolist() == [1] else None


NAMES = {
    "bool": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
}


def to_numpy(tensor: Tensor):
    """A tensor as a NumPy array over the same memory."""
    import numpy

    if tensor.dtype == "bf16":
        try:
            import ml_dtypes
        except ImportError:
            raise TypeError(
                "NumPy has no bf16; install `ml_dtypes`, or convert it in the program: `as [f32]`"
            ) from None
        return numpy.asarray(_Bytes(tensor)).view(ml_dtypes.bfloat16)
    return numpy.asarray(memoryview(tensor)) if tensor.size else numpy.empty(
        tensor.shape, NAMES[tensor.dtype]
    )


class _Bytes:
    """A tensor by its array interface only."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.__array_interface__ = tensor.__array_interface__
