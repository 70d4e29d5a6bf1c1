# SPDX-License-Identifier: Apache-2.0
"""Convolutions, matrix products: weights, biases, pads."""
import numpy as np
from onnx import TensorProto, helper

from .model import attribute, change, constant, fresh, of, set_attribute, shape_of


PRODUCTS = "Conv ConvTranspose Gemm MatMul"


@of(PRODUCTS, "weights in f16", r"f16|half")
def _(model, node):
    return change(model, node, 1, lambda w: w.astype(np.float16))


@of(PRODUCTS, "weights in bf16", r"bf16")
def _(model, node):
    return change(model, node, 1, lambda w: (w.view(np.uint32) + 0x8000 & 0xffff0000).view(np.float32))


@of(PRODUCTS, "weights in int8", r"int8|i8|8 bits")
def _(model, node):
    return change(model, node, 1, lambda w: np.round(w / np.abs(w).max() * 127) / 127 * np.abs(w).max())


@of(PRODUCTS, "weights in int4", r"int4|i4|4 bits")
def _(model, node):
    return change(model, node, 1, lambda w: np.round(w / np.abs(w).max() * 7) / 7 * np.abs(w).max())


def by_groups(size, levels):
    """Steps of max |w| / levels in groups along each output channel's weights."""
    def edit(w):
        rows = w.T if w.ndim == 2 else w.reshape(w.shape[0], -1)
        flat = np.pad(rows, [(0, 0), (0, -rows.shape[1] % size)]).reshape(rows.shape[0], -1, size)
        step = np.maximum(np.abs(flat).max(-1, keepdims=True) / levels, 1e-30)
        made = (np.round(flat / step) * step).reshape(rows.shape[0], -1)[:, :rows.shape[1]]
        return made.T if w.ndim == 2 else made.reshape(w.shape)
    return edit


@of("Conv MatMul", "weights in int4 in groups of 32", r"int4.*groups|int4")
def _(model, node):
    old = constant(model, node.input[1])
    return old is not None and old.size // old.shape[-1 if node.op_type == "MatMul" else 0] > 32 and change(
        model, node, 1, by_groups(32, 7))


@of(PRODUCTS, "weights in int8 with a zero point", r"int8.*zero point|int8")
def _(model, node):
    def edit(w):
        low, high = min(w.min(), 0), max(w.max(), 0)
        step = (high - low) / 255
        zero = np.round(-low / step)
        return (np.clip(np.round(w / step) + zero, 0, 255) - zero) * step
    return change(model, node, 1, edit)


@of(PRODUCTS, "weights in fp8", r"fp8")
def _(model, node):
    def edit(w):
        exponent = np.maximum(np.floor(np.log2(np.maximum(np.abs(w), 1e-30))), -6)
        step = 2.0 ** (exponent - 3)
        return np.clip(np.round(w / step) * step, -448, 448)
    return change(model, node, 1, edit)


@of("Conv Gemm MatMul", "its input in dynamic int8", r"int8")
def _(model, node):
    at = next(i for i, n in enumerate(model.graph.node) if n.name == node.name)
    name = node.name + "_half"
    q = [name + part for part in ("_q", "_s", "_z")]
    model.graph.node.insert(at, helper.make_node("DynamicQuantizeLinear", [node.input[0]], q, name=name + "_quantise"))
    model.graph.node.insert(at + 1, helper.make_node("DequantizeLinear", q, [name], name=name))
    node.input[0] = name
    return True


@of("MatMul", "second operand transposed in memory", r"transpos|order")
def _(model, node):
    shape = shape_of(model, node.input[1])
    if constant(model, node.input[1]) is not None or not shape or len(shape) < 3 or min(shape[-2:]) < 2:
        return False
    at = next(i for i, n in enumerate(model.graph.node) if n.name == node.name)
    name = node.name + "_turned"
    perm = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    model.graph.node.insert(at, helper.make_node("Transpose", [node.input[1]], [name + "_t"], name=name + "_t",
                                                 perm=perm))
    model.graph.node.insert(at + 1, helper.make_node("Reshape", [name + "_t", fresh(model, np.array(shape, np.int64))],
                                                     [name], name=name))
    node.input[1] = name
    return True


@of("Conv ConvTranspose", "kernel flipped", r"flip|mirror|turn|rotat|in reverse")
def _(model, node):
    return change(model, node, 1, lambda w: w[..., ::-1, ::-1] if w.ndim == 4 else w[..., ::-1])


@of("Conv ConvTranspose", "kernel transposed", r"transpos|exchang|swap")
def _(model, node):
    return change(model, node, 1, lambda w: w.swapaxes(-1, -2) if w.ndim == 4 and w.shape[-1] == w.shape[-2] else w)


@of("Conv ConvTranspose Gemm", "in and out exchanged", r"transpos|exchang|swap")
def _(model, node):
    return change(model, node, 1, lambda w: w.swapaxes(0, 1) if w.shape[0] == w.shape[1] else w)


@of("MatMul", "weights transposed", r"transpos|exchang|swap")
def _(model, node):
    return change(model, node, 1, lambda w: w.T if w.ndim == 2 and w.shape[0] == w.shape[1] else w)


@of("Conv", "input channels reversed", r"channel|revers|order")
def _(model, node):
    return change(model, node, 1, lambda w: w[:, ::-1])


@of(PRODUCTS, "two output channels exchanged", r"channel|exchang|swap|order|only|values of")
def _(model, node):
    def swap(w):
        if node.op_type == "MatMul":
            w[..., [0, 1]] = w[..., [1, 0]]
        else:
            w[[0, 1]] = w[[1, 0]]
        return w
    old = constant(model, node.input[1])
    if old is None or (old.shape[-1] if node.op_type == "MatMul" else old.shape[0]) < 2:
        return False
    return change(model, node, 1, swap)


@of("Conv ConvTranspose Gemm", "bias lost", r"bias|without adding")
def _(model, node):
    if len(node.input) < 3:
        return False
    del node.input[2]
    return True


@of("Conv ConvTranspose Gemm", "bias twice", r"bias")
def _(model, node):
    return change(model, node, 2, lambda b: b * 2)


@of("Conv ConvTranspose Gemm", "bias in f16", r"bias|f16")
def _(model, node):
    return change(model, node, 2, lambda b: b.astype(np.float16))


@of("Conv ConvTranspose Gemm", "bias of the next channel", r"bias|shifted one")
def _(model, node):
    return change(model, node, 2, lambda b: np.roll(b, 1))


@of(PRODUCTS, "one weight zero", r"only|weight|1 of ")
def _(model, node):
    def zero(w):
        w.reshape(-1)[np.abs(w).argmax()] = 0
        return w
    return change(model, node, 1, zero)


@of("Conv", "padding on one side", r"pad|shift")
def _(model, node):
    pads = list(attribute(node, "pads", []))
    if not pads or not any(pads):
        return False
    half = len(pads) // 2
    return set_attribute(node, "pads", [0] * half + [a + b for a, b in zip(pads[:half], pads[half:])])


@of("Conv", "operands in f16", r"f16|half")
def _(model, node):
    made = change(model, node, 1, lambda w: w.astype(np.float16))
    at = next(i for i, n in enumerate(model.graph.node) if n.name == node.name)
    name = node.name + "_half"
    model.graph.node.insert(at, helper.make_node("Cast", [node.input[0]], [name + "16"], name=name + "16",
                                                 to=TensorProto.FLOAT16))
    model.graph.node.insert(at + 1, helper.make_node("Cast", [name + "16"], [name], name=name, to=TensorProto.FLOAT))
    node.input[0] = name
    return made


@of("Conv", "batch norm's shift lost in folding", r"bias|a = |b = |mean")
def _(model, node):
    return change(model, node, 2, lambda b: b * 0.5)
