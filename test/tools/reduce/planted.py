# SPDX-License-Identifier: Apache-2.0
"""A command of model_reduce --run: ONNX Runtime with a fault in it, planted into whatever part of the network it is
given. Each fault is found by what it needs, as a bug of a runtime is, and not by a name.

    planted.py FAULT MODEL INPUTS.npz DUMP
"""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper


def constants(model):
    return {w.name: w for w in model.graph.initializer}


def convolutions(model, test):
    return [n for n in model.graph.node if n.op_type == "Conv" and test(n)]


def attributes(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def change(model, name, edit):
    tensor = constants(model)[name]
    values = np.asarray(edit(numpy_helper.to_array(tensor).copy()), np.float32)
    tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(values), name))


def set_attribute(node, name, value):
    for old in [a for a in node.attribute if a.name == name]:
        node.attribute.remove(old)
    node.attribute.append(helper.make_attribute(name, value))


def depthwise(n):
    return attributes(n).get("group", 1) > 1


def kernel_of(model, n):
    return list(numpy_helper.to_array(constants(model)[n.input[1]]).shape[2:])


def weights_of(test, edit):
    def plant(model):
        for n in convolutions(model, lambda n: test(model, n)):
            change(model, n.input[1], edit)
    return plant


def attribute_of(kind, name, value):
    def plant(model):
        for n in model.graph.node:
            if n.op_type == kind and name in attributes(n):
                set_attribute(n, name, value)
    return plant


def type_of(kind, other):
    def plant(model):
        for n in model.graph.node:
            if n.op_type == kind:
                n.op_type = other
                del n.attribute[:]
    return plant


def lost_bias(model):
    for n in model.graph.node:
        if n.op_type in ("Conv", "Gemm") and len(n.input) == 3:
            del n.input[2:]


def fused_relu(model):
    """Where a Relu follows a Conv, the two lose everything above 1: alone each is right."""
    made = {n.output[0]: n for n in model.graph.node}
    for n in list(model.graph.node):
        if n.op_type != "Relu" or made.get(n.input[0], n).op_type not in ("Conv", "Add"):
            continue
        limits = [f"{n.output[0]}_low", f"{n.output[0]}_high"]
        for name, value in zip(limits, (0.0, 1.0)):
            model.graph.initializer.append(numpy_helper.from_array(np.float32(value), name))
        n.op_type = "Clip"
        n.input.extend(limits)


def larger(w):
    return w * np.float32(1.001)


def last_channel(w):
    return np.concatenate([w[:-1], 0 * w[-1:]])


FAULTS = {
    "larger 3x3": weights_of(lambda m, n: kernel_of(m, n) == [3, 3] and not depthwise(n), larger),
    "larger 1x1": weights_of(lambda m, n: kernel_of(m, n) == [1, 1], larger),
    "flipped depthwise": weights_of(lambda m, n: depthwise(n), lambda w: w[..., ::-1]),
    "flipped dilated": weights_of(lambda m, n: max(attributes(n).get("dilations", [1])) > 1, lambda w: w[..., ::-1]),
    "last channel": weights_of(lambda m, n: max(attributes(n).get("strides", [1])) > 1, last_channel),
    "lost bias": lost_bias,
    "alpha": attribute_of("LeakyRelu", "alpha", 0.01),
    "epsilon": attribute_of("BatchNormalization", "epsilon", 1e-5),
    "axis": attribute_of("Softmax", "axis", 0),
    "mean with pads": attribute_of("AveragePool", "count_include_pad", 1),
    "no Relu": type_of("Relu", "Identity"),
    "Sigmoid for HardSigmoid": type_of("HardSigmoid", "Sigmoid"),
    "fused Relu": fused_relu,
    "none": lambda model: None,
}


def main():
    fault, path, inputs, dump = sys.argv[1:5]
    model = onnx.load(path)
    FAULTS[fault](model)
    names = [o for n in model.graph.node for o in n.output if o]
    have = {o.name for o in model.graph.output}
    for name in names:
        if name not in have:
            model.graph.output.add().name = name
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.intra_op_num_threads = 1
    settings.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    given = dict(np.load(inputs))
    made = dict(zip(names, session.run(names, given)))
    np.savez(pathlib.Path(dump) / "tensors.npz", **given, **made)


if __name__ == "__main__":
    main()
