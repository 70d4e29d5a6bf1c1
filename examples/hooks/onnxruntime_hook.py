# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime: every node's output is made an output of the graph, and written by plumb_dump.h.

    DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 python onnxruntime_hook.py net.onnx inputs.npz &&
    model_check -m net.onnx --subject plumb_dump
"""
import sys

import numpy as np
import onnx
import onnxruntime
from dump import Dump


def main(path, inputs):
    model = onnx.load(path)
    places = [(index, node, slot, name) for index, node in enumerate(model.graph.node)
              for slot, name in enumerate(node.output) if name]
    outputs = {output.name for output in model.graph.output}
    for name in {name for *_, name in places} - outputs:
        model.graph.output.add().name = name
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = dict(np.load(inputs))
    values = session.run([name for *_, name in places], feeds)

    dump = Dump(f"onnxruntime {onnxruntime.__version__}", path)
    dump.forward()
    for name, array in feeds.items():
        dump.write(name, array, is_input=1)
    for (index, node, slot, name), value in zip(places, values):
        dump.write(name, value, node.name or name, node.op_type, index, slot)
    return dump.close()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
