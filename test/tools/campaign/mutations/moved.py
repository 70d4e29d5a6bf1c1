# SPDX-License-Identifier: Apache-2.0
"""Layers that move or choose: another order, one further, the other end."""
import numpy as np
from onnx import helper

from .model import attribute, behind, change, constant, fresh, of, renamed, replace, set_attribute, shape_of


@of("Concat", "other order", r"order|swap|exchang")
def _(model, node):
    shapes = [shape_of(model, i) for i in node.input]
    if shapes[0] is None or shapes[0] != shapes[1]:
        return False
    node.input[0], node.input[1] = node.input[1], node.input[0]
    return True


@of("Split", "outputs exchanged", r"order|swap|exchang|other output|offset|from")
def _(model, node):
    if shape_of(model, node.output[0]) != shape_of(model, node.output[1]):
        return False
    node.output[0], node.output[1] = node.output[1], node.output[0]
    return True


@of("Slice", "one later", r"offset|start|later|shift|moved|further|earlier")
def _(model, node):
    ends = constant(model, node.input[2])
    shape = shape_of(model, node.input[0])
    axes = constant(model, node.input[3])
    starts = constant(model, node.input[1])
    if ends is None or starts.reshape(-1)[0] < 1 or int(ends.reshape(-1)[0]) < shape[int(axes.reshape(-1)[0])]:
        return False
    return change(model, node, 1, lambda s: s - 1) and change(model, node, 2, lambda e: e - 1)


@of("Gather", "index one later", r"index|offset|row|shift|moved|later|further")
def _(model, node):
    return change(model, node, 1, lambda i: i + 1)


@of("Gather", "table rows exchanged", r"row|table|data|constant")
def _(model, node):
    return change(model, node, 0, lambda t: np.roll(t, 1, 0))


@of("Transpose", "another order of axes", r"order|axes|perm|transpos")
def _(model, node):
    perm, shape = list(attribute(node, "perm")), shape_of(model, node.input[0])
    for a in range(len(perm)):
        for b in range(a):
            if shape[perm[a]] == shape[perm[b]] and shape[perm[a]] > 1:
                perm[a], perm[b] = perm[b], perm[a]
                return set_attribute(node, "perm", perm)
    return False


@of("Reshape", "read in columns", r"order|transpos|axes|moved|column")
def _(model, node):
    shape = shape_of(model, node.input[0])
    if not shape or len(shape) < 2 or shape[-1] < 2 or shape[-2] < 2:
        return False
    at = next(i for i, n in enumerate(model.graph.node) if n.name == node.name)
    perm = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    model.graph.node.insert(at, helper.make_node("Transpose", [node.input[0]], [node.name + "_turned"],
                                                 name=node.name + "_turned", perm=perm))
    node.input[0] = node.name + "_turned"
    return True


@of("DepthToSpace", "the other mode", r"mode|DCR|order|CRD")
def _(model, node):
    return set_attribute(node, "mode", "DCR" if attribute(node, "mode", b"DCR") == b"CRD" else "CRD")


@of("Pad", "edge for reflect", r"edge|replicate|mode|pad")
def _(model, node):
    return set_attribute(node, "mode", "edge")


@of("Pad", "zeros for reflect", r"constant|zero|mode|pad")
def _(model, node):
    return set_attribute(node, "mode", "constant")


@of("Resize", "align_corners", r"align|corner|half_pixel|asymmetric|coordinate")
def _(model, node):
    if attribute(node, "coordinate_transformation_mode") == b"align_corners":
        return set_attribute(node, "coordinate_transformation_mode", "half_pixel")
    return set_attribute(node, "coordinate_transformation_mode", "align_corners")


@of("Resize", "nearest for linear", r"nearest|linear")
def _(model, node):
    if attribute(node, "mode") == b"linear":
        return set_attribute(node, "mode", "nearest") and set_attribute(node, "nearest_mode", "floor")
    return set_attribute(node, "mode", "linear")

renamed("ArgMax", "ArgMin", "ArgMin", r"min")


@of("TopK", "the smallest", r"small|largest")
def _(model, node):
    return set_attribute(node, "largest", 0)


@of("Where", "branches exchanged", r"exchang|swap|other")
def _(model, node):
    if constant(model, node.input[2]) is not None:
        return False
    node.input[1], node.input[2] = node.input[2], node.input[1]
    return True


@of("Where", "another constant", r"constant|value|operand")
def _(model, node):
    return change(model, node, 2, lambda v: v + 1)


@of("Greater", "less", r"less|Less")
def _(model, node):
    return replace(node, "Less")


@of("Expand", "parts tiled for repeated", r"tiled|order")
def _(model, node):
    shape = shape_of(model, node.output[0])
    if len(shape) < 3 or shape[1] < 2 or shape[2] < 2:
        return False
    perm = [0, 2, 1, *range(3, len(shape))]
    return behind(model, node, ("Transpose", [], {"perm": perm}), ("Reshape", [np.array(shape, np.int64)], {}))


@of("Transpose", "left out", r"order|memory")
def _(model, node):
    shape = shape_of(model, node.output[0])
    replace(node, "Reshape")
    node.input.append(fresh(model, np.array(shape, np.int64)))
    return True
