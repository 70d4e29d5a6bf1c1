# SPDX-License-Identifier: Apache-2.0
"""MNN: its callbacks hand out every operator's tensors, which plumb_dump.h writes.

    DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 python mnn_hook.py net.mnn inputs.npz &&
    model_check -m net.onnx --subject plumb_dump --names names.csv

Tensors are named after MNN's operators, which its converter names after the first ONNX node of what it fused: where
that is a convolution with its activation, names.csv says whose value it is (relu1,conv1: the model's name, MNN's).
"""
import importlib.metadata
import sys

import MNN
import numpy as np
from dump import Dump

NUMPY = {MNN.Halide_Type_Int: np.int32, MNN.Halide_Type_Uint8: np.uint8, MNN.Halide_Type_Float: np.float32}


def values(tensor):
    """A copy in the order NCHW: inside, channels lie in blocks of four."""
    kind = tensor.getDataType()
    host = MNN.Tensor(tensor.getShape(), kind, np.zeros(tensor.getShape(), NUMPY[kind]), MNN.Tensor_DimensionType_Caffe)
    tensor.copyToHostTensor(host)
    return np.array(host.getData(), NUMPY[kind]).reshape(tensor.getShape())


def main(path, inputs):
    net = MNN.Interpreter(path)
    session = net.createSession({"precision": "high", "backend": "CPU", "numThread": 1})
    dump = Dump(f"MNN {importlib.metadata.version('MNN')}", path)
    dump.forward()
    for name, array in np.load(inputs).items():
        port = net.getSessionInput(session, name)
        net.resizeTensor(port, array.shape)
        net.resizeSession(session)
        port.copyFrom(MNN.Tensor(array.shape, MNN.Halide_Type_Float, array, MNN.Tensor_DimensionType_Caffe))
        dump.write(name, array, is_input=1)

    def after(tensors, operator):
        for slot, tensor in enumerate(tensors):
            name = operator.getName() + (f":{slot}" if slot else "")
            dump.write(name, values(tensor), operator.getName(), operator.getType(), slot=slot)
        return True  # go on

    net.runSessionWithCallBackInfo(session, lambda tensors, operator: True, after)
    for name, tensor in net.getSessionOutputAll(session).items():  # an operator that only moves memory is not run
        dump.write(name, values(tensor), f"{name} (output)")
    return dump.close()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
