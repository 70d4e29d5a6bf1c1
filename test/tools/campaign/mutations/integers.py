# SPDX-License-Identifier: Apache-2.0
"""Quantised operators. Public threads: apache/tvm#13364 and #4807, pytorch/executorch#13576 (padding of 0),
pytorch/FBGEMM#199, microsoft/BitNet#629, tensil-ai/tensil#64 (sums of 16 bits that saturate or wrap)."""
import numpy as np
from onnx import TensorProto, helper

from .model import attribute, before, change, constant, fresh, kernel, of, set_attribute

CONVOLUTIONS = "QLinearConv ConvInteger"
ZERO_OF_INPUT = {"QLinearConv": 2, "QLinearMatMul": 2, "ConvInteger": 2, "MatMulInteger": 2}
ZERO_OF_WEIGHTS = {"QLinearConv": 5, "QLinearMatMul": 5, "MatMulInteger": 3}
WEIGHTS = {"QLinearConv": 3, "QLinearMatMul": 3, "ConvInteger": 1, "MatMulInteger": 1}


@of(CONVOLUTIONS, "padding of 0", r"padding")
def _(model, node):
    pads = attribute(node, "pads")
    amounts = np.array([0, 0, *pads[:2], 0, 0, *pads[2:]], np.int64)
    return set_attribute(node, "pads", [0] * 4) and before(model, node, ("Pad", [amounts, np.uint8(0)]))


@of(" ".join(ZERO_OF_INPUT), "the input's zero point ignored", r"zero point")
def _(model, node):
    node.input[ZERO_OF_INPUT[node.op_type]] = fresh(model, np.uint8(0))
    return True


@of("QLinearMatMul MatMulInteger", "the weights' zero point ignored", r"zero point")
def _(model, node):
    return change(model, node, ZERO_OF_WEIGHTS[node.op_type], np.zeros_like)


@of("QLinearConv QLinearMatMul", "the result's zero point lost", r"zero point|off by|added|offset")
def _(model, node):
    return change(model, node, 7, np.zeros_like)


@of("QLinearConv QLinearMatMul", "the input's scale for the result's", r"scale|factor|times")
def _(model, node):
    node.input[6] = node.input[1]
    return True


@of("QLinearConv", "the first channel's scale for all", r"first channel")
def _(model, node):
    return change(model, node, 4, lambda s: np.full_like(s, s[0]))


@of("QLinearConv", "the next channel's scale", r"channel behind")
def _(model, node):
    return change(model, node, 4, lambda s: np.roll(s, -1))


@of("QLinearConv", "i32 bias lost", r"without the bias")
def _(model, node):
    return change(model, node, 8, np.zeros_like)


@of("QLinearConv", "i32 bias of the channel before", r"bias of the channel")
def _(model, node):
    return change(model, node, 8, lambda b: np.roll(b, 1))


@of("QLinearConv", "i32 bias of half the scale", r"bias")
def _(model, node):
    return change(model, node, 8, lambda b: b // 2)


@of("QLinearConv", "i32 bias of 16 bits", r"bias")
def _(model, node):
    return change(model, node, 8, lambda b: np.round(b / 256) * 256)


@of("QLinearConv ConvInteger", "i8 weights taken for u8", r"u8")
def _(model, node):
    at = WEIGHTS[node.op_type]
    node.input[at] = fresh(model, constant(model, node.input[at]).view(np.uint8))
    if node.op_type == "QLinearConv":
        node.input[5] = fresh(model, np.zeros_like(constant(model, node.input[5])).view(np.uint8))
    return True


@of("QLinearMatMul MatMulInteger", "u8 weights taken for i8", r"i8")
def _(model, node):
    at, zero = WEIGHTS[node.op_type], ZERO_OF_WEIGHTS[node.op_type]
    node.input[at] = fresh(model, constant(model, node.input[at]).view(np.int8))
    node.input[zero] = fresh(model, constant(model, node.input[zero]).view(np.int8))
    return True


@of(CONVOLUTIONS, "kernel turned", r"turn|transpos|exchang|swap")
def _(model, node):
    return change(model, node, WEIGHTS[node.op_type], lambda w: w.swapaxes(2, 3))


@of(" ".join(WEIGHTS), "weights of 4 bits", r"4 bits|int4")
def _(model, node):
    return change(model, node, WEIGHTS[node.op_type], lambda w: w.astype(int) // 16 * 16 + 8)


@of(" ".join(WEIGHTS), "two output channels exchanged", r"values of|channel|only|columns")
def _(model, node):
    def swap(w):
        if "Conv" in node.op_type:
            w[[0, 1]] = w[[1, 0]]
        else:
            w[..., [0, 1]] = w[..., [1, 0]]
        return w
    return change(model, node, WEIGHTS[node.op_type], swap)


def through(model, node, *chain):
    """The i32 sums through nodes of (type, extra inputs, attributes)."""
    at, last = next(i for i, n in enumerate(model.graph.node) if n.name == node.name), node.output[0]
    current = node.output[0] = last + "_before"
    for k, (kind, extra, attributes) in enumerate(chain):
        made = last if k + 1 == len(chain) else f"{last}_half_{k}"
        reads = [current, *[fresh(model, e) for e in extra]]
        model.graph.node.insert(at + 1 + k, helper.make_node(kind, reads, [made], name=f"{node.name}_fault_{k}",
                                                             **attributes))
        current = made
    return True


@of("ConvInteger MatMulInteger", "sums that saturate at 16 bits", r"saturat|limited")
def _(model, node):
    return through(model, node, ("Clip", [np.int32(-32768), np.int32(32767)], {}))


@of("ConvInteger MatMulInteger", "sums that wrap at 16 bits", r"wrap")
def _(model, node):
    return through(model, node, ("Cast", [], {"to": TensorProto.INT16}), ("Cast", [], {"to": TensorProto.INT32}))


@of("QuantizeLinear DequantizeLinear", "zero point lost", r"zero point|off by|added|offset")
def _(model, node):
    return change(model, node, 2, np.zeros_like)


@of("QuantizeLinear DequantizeLinear", "scale of 1 %", r"scale|factor|times|a = ")
def _(model, node):
    return change(model, node, 1, lambda s: s * np.float32(1.01))


def requantised(total, values, rule):
    """u8 of real numbers in steps of the result."""
    scale, zero = (values[i] for i in (6, 7))
    made = rule(total / np.float64(scale)) + int(zero)
    return np.clip(made, 0, 255).astype(np.uint8)


def linear_sums(values):
    """The exact sums of a QLinearMatMul, and what 1 of them means."""
    a, az, b, bz = (values[i].astype(np.int64) for i in (0, 2, 3, 5))
    return (a - az) @ (b - bz), float(values[1]) * float(values[4])


@kernel("QLinearMatMul", "sums that wrap at 16 bits", r"wrap")
def _(values, *_):
    sums, unit = linear_sums(values)
    return requantised(sums.astype(np.int16) * unit, values, np.rint)


@kernel("QLinearMatMul", "sums that saturate at 16 bits", r"saturat")
def _(values, *_):
    sums, unit = linear_sums(values)
    return requantised(np.clip(sums, -32768, 32767) * unit, values, np.rint)


@kernel("QLinearMatMul", "rounded down", r"round|floor|cut|toward")
def _(values, *_):
    sums, unit = linear_sums(values)
    return requantised(sums * unit, values, np.floor)


@kernel("QuantizeLinear", "rounded down", r"round|floor|cut|toward")
def _(values, *_):
    x, scale, zero = values[:3]
    return np.clip(np.floor(x / scale) + int(zero), 0, 255).astype(zero.dtype)
