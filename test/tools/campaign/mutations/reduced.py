# SPDX-License-Identifier: Apache-2.0
"""Reductions, pools, softmax."""
import numpy as np
from onnx import helper

from .model import attribute, behind, fresh, of, renamed, replace, set_attribute, shape_of


@of("ReduceMean", "sum", r"sum|divid")
def _(model, node):
    return replace(node, "ReduceSumSquare", axes=attribute(node, "axes"), keepdims=attribute(node, "keepdims", 1))


renamed("ReduceMean", "max", "ReduceMax", r"max")


@of("ReduceMean", "divided by n - 1", r"n - 1|unbiased|n-1")
def _(model, node):
    shape = shape_of(model, node.input[0])
    n = int(np.prod([shape[a] for a in attribute(node, "axes")]))
    return n > 1 and behind(model, node, ("Mul", [np.float32(n / (n - 1))], {}))


renamed("ReduceL2", "L1", "ReduceL1", r"L1|absolute")
renamed("ReduceMax", "min", "ReduceMin", r"min")


@of("GlobalAveragePool", "max", r"max")
def _(model, node):
    return replace(node, "GlobalMaxPool")


@of("MaxPool", "mean", r"mean|average")
def _(model, node):
    if attribute(node, "ceil_mode", 0):
        return False
    node.op_type = "AveragePool"
    return True


@of("AveragePool", "max", r"max")
def _(model, node):
    for a in [a for a in node.attribute if a.name == "count_include_pad"]:
        node.attribute.remove(a)
    node.op_type = "MaxPool"
    return True


@of("AveragePool", "padding counted", r"pad|count")
def _(model, node):
    return any(attribute(node, "pads", [])) and set_attribute(node, "count_include_pad", 1)


@of("MaxPool", "starts at zero", r"zero|0|start")
def _(model, node):
    pads = attribute(node, "pads", [])
    return any(pads) and behind(model, node, ("Relu", [], {}))


@of("Softmax LogSoftmax", "another axis", r"axis")
def _(model, node):
    shape = shape_of(model, node.output[0])
    axis = attribute(node, "axis", -1) % len(shape)
    other = next((a for a in range(len(shape)) if a != axis and shape[a] > 1), None)
    return other is not None and set_attribute(node, "axis", other)


renamed("Softmax", "logarithm kept", "LogSoftmax", r"log")
renamed("LogSoftmax", "no logarithm", "Softmax", r"log|Softmax")


@of("Softmax", "temperature", r"temperature|scale|twice|2|input times")
def _(model, node):
    at = next(i for i, n in enumerate(model.graph.node) if n.name == node.name)
    model.graph.node.insert(at, helper.make_node("Mul", [node.input[0], fresh(model, np.float32(0.5))],
                                                 [node.name + "_warm"], name=node.name + "_warm"))
    node.input[0] = node.name + "_warm"
    return True
