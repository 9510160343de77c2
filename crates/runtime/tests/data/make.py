#!/usr/bin/env python3
"""Writes the files beside this one, as other programs write them. Needs numpy and safetensors."""

import io
import os

import numpy as np
from numpy.lib import format as npy
from safetensors.numpy import save_file

here = os.path.dirname(os.path.abspath(__file__))
os.chdir(here)
x = np.arange(6, dtype=np.float64).reshape(2, 3) / 4
np.save("plain.npy", x)
np.save("fortran.npy", np.asfortranarray(x))
np.save("big_endian.npy", x.astype(">f8"))
np.save("scalar.npy", np.array(7, dtype=np.int16))
np.save("bools.npy", np.array([True, False, True]))
np.save("complex.npy", x.astype(np.complex64))
for version in ((2, 0), (3, 0)):
    with open("version%d.npy" % version[0], "wb") as out:
        npy.write_array(out, x.astype(np.float32), version=version)
np.savez("stored.npz", a=x, b=np.arange(4, dtype=np.uint8))
np.savez_compressed("deflated.npz", a=x, zeros=np.zeros((50, 50), dtype=np.int32))
save_file({"a": x, "h": x.astype(np.float16), "m": np.array([True, False])}, "arrays.safetensors")
