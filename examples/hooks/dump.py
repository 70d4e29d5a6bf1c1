# SPDX-License-Identifier: Apache-2.0
"""plumb_dump.h from Python, compiled into a small library: it writes arrays as they lie in memory, whatever their
strides. The environment switches it on (DUMP_INPUT_BLOB=1: the network's inputs; DUMP_OUTPUT_BLOB=1: every output).

    dump = Dump("mine 1.2", "net.onnx")
    dump.forward()
    dump.write("data", image, is_input=1)
    dump.write("conv1", array, type="Conv")
    dump.close()
"""
import ctypes
import os
import pathlib
import subprocess
import tempfile

import numpy as np

HEADER = pathlib.Path(__file__).resolve().parents[2] / "include" / "plumb_dump.h"
DTYPES = ["float32", "float16", "bfloat16", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
          "bool"]  # plumb_dtype


class Place(ctypes.Structure):  # plumb_dump_place
    _fields_ = [("layer", ctypes.c_char_p), ("type", ctypes.c_char_p), ("index", ctypes.c_int),
                ("is_input", ctypes.c_int), ("slot", ctypes.c_int), ("constant", ctypes.c_int), ("pack", ctypes.c_int),
                ("layout", ctypes.c_char_p), ("kernel", ctypes.c_char_p), ("inputs", ctypes.c_void_p),
                ("attributes", ctypes.c_void_p)]


def library():
    with tempfile.TemporaryDirectory() as work:
        path = pathlib.Path(work) / "plumb_dump.so"
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O2", "-x", "c", "-DPLUMB_DUMP_IMPLEMENTATION",
                        str(HEADER), "-o", str(path)], check=True)
        return ctypes.CDLL(str(path))


class Dump:
    def __init__(self, runtime, model):
        self.lib = library()
        self.lib.plumb_dump_open.restype = ctypes.c_void_p
        self.dumper = ctypes.c_void_p(self.lib.plumb_dump_open(runtime.encode(), str(model).encode()))

    def forward(self):
        self.lib.plumb_dump_forward(self.dumper)

    def write(self, name, array, layer=None, type="", index=-1, slot=0, is_input=0, layout=""):
        """The array is read in place. A tensor that the header has no dtype for (strings) is left out."""
        if array.dtype.name not in DTYPES:
            return
        place = Place(layer=(layer or name).encode(), type=type.encode(), index=index, slot=slot,
                      is_input=is_input, layout=layout.encode())
        numbers = ctypes.c_int64 * max(array.ndim, 1)
        self.lib.plumb_dump_write(self.dumper, ctypes.byref(place), name.encode(), ctypes.c_void_p(array.ctypes.data),
                                  DTYPES.index(array.dtype.name), array.ndim, numbers(*array.shape),
                                  numbers(*array.strides))

    def close(self):
        return self.lib.plumb_dump_close(self.dumper)  # 0: the dump is complete
