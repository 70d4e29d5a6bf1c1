# SPDX-License-Identifier: Apache-2.0
"""LiteRT: every tensor of the plain kernels, read where LiteRT keeps it and written by plumb_dump.h in the order NCHW.

    DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 python litert_hook.py net.tflite inputs.npz &&
    model_check -m net.onnx --subject plumb_dump

A delegate hides tensors, and memory is reused unless all are preserved.
"""
import sys

import ai_edge_litert
import numpy as np
from ai_edge_litert import interpreter
from dump import Dump

HANDLES = ("VAR_HANDLE", "CALL_ONCE", "HASHTABLE")  # LiteRT crashes when their outputs are read


def channels_first(array):
    """A view: the strides say where the values are."""
    return np.moveaxis(array, -1, 1) if array.ndim == 4 else array


def main(path, inputs):
    lite = interpreter.Interpreter(
        path, num_threads=1, experimental_preserve_all_tensors=True,
        experimental_op_resolver_type=interpreter.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    lite.allocate_tensors()
    dump = Dump(f"LiteRT {ai_edge_litert.__version__}", path)
    dump.forward()
    given = np.load(inputs)
    for detail in lite.get_input_details():
        lite.set_tensor(detail["index"], given[detail["name"]])
        dump.write(detail["name"], channels_first(given[detail["name"]]), is_input=1)
    lite.invoke()
    names = {detail["index"]: detail["name"] for detail in lite.get_tensor_details()}
    for index, operator in enumerate(lite._get_ops_details()):
        for slot, tensor in enumerate(operator["outputs"]):
            if operator["op_name"] not in HANDLES:
                value = lite.tensor(tensor)()  # no copy
                dump.write(names[tensor], channels_first(value), type=operator["op_name"], index=index, slot=slot,
                           layout="NHWC")
                del value  # LiteRT refuses to run while it is held
    return dump.close()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
