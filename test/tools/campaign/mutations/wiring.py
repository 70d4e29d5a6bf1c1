# SPDX-License-Identifier: Apache-2.0
"""Operands of another node, another order, another axis; epsilon; what one operand alone is rounded to. Public threads:
tracel-ai/burn#2286 (groups), Tencent/ncnn#315 and tenstorrent/tt-metal#38002 (dilation), Samsung/TICO#420 and
robertknight/rten#1399 (pads of transposed convolutions), VeriSilicon/TIM-VX#589 and xlite-dev/LeetCUDA#309 (epsilon),
microsoft/onnxruntime#17564 (align_corners as asymmetric), tflearn/tflearn#335 (slopes of PReLU), apache/tvm#18750
(GELU), CanReader/FastNN#10 and ml-explore/mlx#4242 (tf32), PetrochukM/PyTorch-NLP#2 (Softmax over the batch).
"""
import numpy as np
from onnx import TensorProto

from .model import attribute, before, change, constant, fresh, of, set_attribute, shape_of

PRODUCTS = "Conv ConvTranspose Gemm MatMul"


def masked_bits(bits):
    mask = np.uint32((0xffffffff << (23 - bits)) & 0xffffffff)
    return lambda w: (np.ascontiguousarray(w, np.float32).view(np.uint32) & mask).view(np.float32)


def of_weights(name, cause, edit):
    of(PRODUCTS, name, cause)(lambda model, node: change(model, node, 1, edit))


of_weights("weights cut to 16 bits of mantissa", r"16-bit|16 bits|mantissa", masked_bits(15))
of_weights("weights cut to tf32", r"tf32|10 bits|f16 towards zero", masked_bits(10))
of_weights("weights cut to bf16", r"bf16", masked_bits(7))
of_weights("weights in two bits", r"int2|int4|bits|levels", lambda w: np.round(w / np.abs(w).max()) * np.abs(w).max())


def input_as(name, slot, cause, chain):
    def edit(model, node):
        if slot and constant(model, node.input[slot]) is not None:
            return False
        return before(model, node, *chain, slot=slot)
    of("MatMul" if slot else PRODUCTS, name, cause)(edit)


def cast(to):
    return [("Cast", [], {"to": to}), ("Cast", [], {"to": TensorProto.FLOAT})]


input_as("its input alone in f16", 0, r"f16|tf32", cast(TensorProto.FLOAT16))
input_as("its input alone in bf16", 0, r"bf16", cast(TensorProto.BFLOAT16))
input_as("its second operand alone in f16", 1, r"f16|tf32", cast(TensorProto.FLOAT16))
input_as("its second operand alone in bf16", 1, r"bf16", cast(TensorProto.BFLOAT16))


def gathered(model, node, index, axis):
    return before(model, node, ("Gather", [np.asarray(index, np.int64)], {"axis": axis}))


def groups_of(model, node):
    shape = shape_of(model, node.input[0])
    return attribute(node, "group", 1), shape[1] if shape else 0


@of("Conv ConvTranspose", "groups in reverse", r"groups")
def _(model, node):
    group, channels = groups_of(model, node)
    if group < 2 or group == channels:
        return False
    return gathered(model, node, np.arange(channels).reshape(group, -1)[::-1].reshape(-1), 1)


@of("Conv ConvTranspose", "groups of every n-th channel", r"groups|channels")
def _(model, node):
    group, channels = groups_of(model, node)
    if group < 2 or group == channels:
        return False
    return gathered(model, node, np.arange(channels).reshape(-1, group).T.reshape(-1), 1)


@of("Conv", "dilation lost", r"dilation")
def _(_, node):
    old = attribute(node, "dilations", [1, 1])
    if max(old) == 1:
        return False
    pads = attribute(node, "pads")
    kernel = attribute(node, "kernel_shape")
    lost = [(d - 1) * (k - 1) for d, k in zip(old, kernel)]
    pads = [p - part // 2 for p, part in zip(pads, lost + lost)]
    return min(pads) >= 0 and set_attribute(node, "dilations", [1] * len(old)) and set_attribute(node, "pads", pads)


@of("Conv", "pads of the other side", r"pad|side|further")
def _(_, node):
    pads = attribute(node, "pads", [])
    half = len(pads) // 2
    return pads[:half] != pads[half:] and set_attribute(node, "pads", pads[half:] + pads[:half])


@of("Conv ConvTranspose", "weights of the order OHWI", r"OHWI|order")
def _(model, node):
    return change(model, node, 1, lambda w: w.reshape(w.shape[0], *w.shape[2:], w.shape[1]).transpose(
        0, w.ndim - 1, *range(1, w.ndim - 1)) if w.ndim > 2 and w.shape[1] > 1 and w[0, 0].size > 1 else w)


def another(model, node, slot):
    """The constant of a node of the same type and shape, or None."""
    mine = constant(model, node.input[slot]) if slot < len(node.input) else None
    for other in model.graph.node:
        if mine is None or other.name == node.name or other.op_type != node.op_type or slot >= len(other.input):
            continue
        theirs = constant(model, other.input[slot])
        if theirs is not None and theirs.shape == mine.shape and other.input[slot] != node.input[slot]:
            return other.input[slot]
    return None


def of_another_node(types, slot, name, cause):
    def edit(model, node):
        other = another(model, node, slot)
        if other is None:
            return False
        node.input[slot] = other
        return True
    of(types, name, cause)(edit)


of_another_node(PRODUCTS, 1, "weights of another node", r"weights of")
of_another_node("Conv ConvTranspose Gemm", 2, "bias of another node", r"bias")
of_another_node("BatchNormalization LayerNormalization", 1, "gain of another node", r"gamma|gain|own factor|another")


def of_bias(name, edit):
    of("Conv ConvTranspose Gemm", name, r"bias|offset|Sub")(lambda model, node: change(model, node, 2, edit))


of_bias("the first channel's bias for all", lambda b: np.full_like(b, b.reshape(-1)[0]))
of_bias("bias subtracted", lambda b: -b)
of_bias("bias in steps of 1/128", lambda b: np.round(b * 128) / 128)


def last_inputs(share):
    def edit(w, axis):
        n = w.shape[axis]
        index = [slice(None)] * w.ndim
        index[axis] = slice(n - max(1, int(n * share)), n)
        w[tuple(index)] = 0
        return w
    return lambda model, node: change(
        model, node, 1, lambda w: edit(w, {"MatMul": -2, "Gemm": 1, "Conv": 1, "ConvTranspose": 0}[node.op_type]))


of(PRODUCTS, "the last input channels not read", r"input|last|channel|without")(last_inputs(1 / 16))
of(PRODUCTS, "the second half of the sum lost", r"half|input|without|last|first \d+ of \d+ terms")(last_inputs(1 / 2))


def attributes(types, name, cause, **values):
    def edit(_, node):
        return all(attribute(node, key, 1.0) != value and set_attribute(node, key, value)
                   for key, value in values.items())
    of(types, name, cause)(edit)


attributes("Gemm", "alpha ignored", r"times|alpha|product|multiplying", alpha=1.0)
attributes("Gemm", "beta ignored", r"times|beta|bias", beta=1.0)
attributes("Gemm", "alpha twice", r"times|alpha|product|the constant 2", alpha=2.0)
attributes("BatchNormalization InstanceNormalization LayerNormalization", "epsilon of 0.1", r"epsilon", epsilon=0.1)
attributes("Elu", "alpha of 0.5", r"alpha", alpha=0.5)
attributes("Resize", "asymmetric", r"asymmetric|coordinate|align|half_pixel",
           coordinate_transformation_mode="asymmetric")


@of("BatchNormalization InstanceNormalization LayerNormalization", "gamma and beta exchanged", r"gamma|beta")
def _(_, node):
    node.input[1], node.input[2] = node.input[2], node.input[1]
    return True


@of("BatchNormalization", "mean and variance exchanged", r"mean|NaN")
def _(_, node):
    node.input[3], node.input[4] = node.input[4], node.input[3]
    return True


@of("BatchNormalization", "variance squared", r"varian|own factor|a = ")
def _(model, node):
    return change(model, node, 4, np.square)


@of("BatchNormalization", "the mean added", r"mean|own offset|b = ")
def _(model, node):
    return change(model, node, 3, np.negative)


@of("PRelu", "slopes shifted", r"slope")
def _(model, node):
    return change(model, node, 1, lambda s: np.roll(s, 1, 0))


@of("PRelu", "slopes along another axis", r"slope")
def _(model, node):
    shape, slopes = shape_of(model, node.output[0]), constant(model, node.input[1])
    if slopes is None or slopes.shape[0] < shape[-1]:
        return False
    node.input[1] = fresh(model, slopes.reshape(-1)[:shape[-1]].reshape(1, 1, -1))
    return True


@of("Add", "an operand twice", r"twice|times")
def _(model, node):
    shapes = [shape_of(model, name) for name in node.input]
    if None in shapes or shapes[0] != shapes[1] or constant(model, node.input[1]) is not None:
        return False
    return before(model, node, ("Add", [node.input[0]]))


@of("Add", "one operand for both", r"twice|operand|instead|without")
def _(model, node):
    shapes = [shape_of(model, name) for name in node.input]
    if None in shapes or shapes[0] != shapes[1] or constant(model, node.input[1]) is not None:
        return False
    node.input[1] = node.input[0]
    return True


@of("Softmax", "over the batch", r"axis")
def _(model, node):
    shape = shape_of(model, node.output[0])
    return shape[0] > 1 and set_attribute(node, "axis", 0)


@of("Softmax", "input in f16", r"f16|half")
def _(model, node):
    return before(model, node, *cast(TensorProto.FLOAT16))


@of("Concat", "the first part twice", r"twice|part|order|in the place of")
def _(model, node):
    shapes = [shape_of(model, name) for name in node.input]
    if len(shapes) < 2 or None in shapes or shapes[0] != shapes[1]:
        return False
    node.input[1] = node.input[0]
    return True


@of("Gather", "the table in f16", r"f16")
def _(model, node):
    return change(model, node, 0, lambda t: t.astype(np.float16) if t.dtype == np.float32 else t)


@of("Gather", "the table in int8", r"int8")
def _(model, node):
    return change(model, node, 0, lambda t: np.round(t / np.abs(t).max() * 127) / 127 * np.abs(t).max()
                  if t.dtype == np.float32 else t)
