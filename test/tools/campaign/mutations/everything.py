# SPDX-License-Identifier: Apache-2.0
"""What any kernel can do to its output."""
import numpy as np
from onnx import TensorProto

from .model import behind, generic, is_float, shape_of


def masked(model, node, edit):
    shape = shape_of(model, node.output[0])
    if not shape or not is_float(model, node.output[0]):
        return False
    mask = np.ones(shape, np.float32)
    if edit(mask) is False or (mask == 1).all():
        return False
    return behind(model, node, ("Mul", [mask], {}))


@generic("times 1.001", r"1\.001|times|scale")
def _(model, node):
    return behind(model, node, ("Mul", [np.float32(1.001)], {}))


@generic("plus 0.01", r"plus|added|off by 0\.0(1|099)|bias|b = |constant \d+\.01\b")
def _(model, node):
    return behind(model, node, ("Add", [np.float32(0.01)], {}))


@generic("sign", r"-1|sign|negat|operands exchanged|as -x|without 'neg")
def _(model, node):
    return behind(model, node, ("Neg", [], {}))


@generic("f16", r"f16|fp16|half")
def _(model, node):
    return behind(model, node, ("Cast", [], {"to": TensorProto.FLOAT16}), ("Cast", [], {"to": TensorProto.FLOAT}))


@generic("bf16", r"bf16")
def _(model, node):
    return behind(model, node, ("Cast", [], {"to": TensorProto.BFLOAT16}), ("Cast", [], {"to": TensorProto.FLOAT}))


@generic("last two axes exchanged", r"transpos|axes|order|swapped")
def _(model, node):
    shape = shape_of(model, node.output[0]) or []
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] < 2:
        return False
    perm = list(range(len(shape)))
    perm[-1], perm[-2] = perm[-2], perm[-1]
    return behind(model, node, ("Transpose", [], {"perm": perm}))


@generic("shifted by one along the last axis", r"shift|moved|further|values of")
def _(model, node):
    shape = shape_of(model, node.output[0]) or []
    if not shape or shape[-1] < 3:
        return False
    index = np.r_[0, np.arange(shape[-1] - 1)].astype(np.int64)
    return behind(model, node, ("Gather", [index], {"axis": len(shape) - 1}))


@generic("one value wrong", r"1 of |only")
def _(model, node):
    def edit(mask):
        if mask.size < 2:
            return False
        mask.reshape(-1)[mask.size // 3] = 1.5
    return masked(model, node, edit)


@generic("one channel zero", r"channel|only|zero|they are 0|it is 0|1 of ")
def _(model, node):
    def edit(mask):
        if mask.ndim < 2 or mask.shape[1] < 2:
            return False
        mask[:, mask.shape[1] // 2] = 0
    return masked(model, node, edit)


@generic("the end is not written", r"last|only|rest|zero")
def _(model, node):
    def edit(mask):
        if mask.size < 40:
            return False
        mask.reshape(-1)[-7:] = 0
    return masked(model, node, edit)


@generic("a tile is zero", r"tile|block|only|rows|columns|zero")
def _(model, node):
    def edit(mask):
        if mask.ndim < 3 or mask.shape[-1] < 9 or mask.shape[-2] < 9:
            return False
        mask[..., 4:8, 4:8] = 0
    return masked(model, node, edit)


@generic("the first batch element everywhere", r"batch")
def _(model, node):
    shape = shape_of(model, node.output[0]) or []
    if len(shape) < 2 or shape[0] != 4:
        return False
    return behind(model, node, ("Gather", [np.zeros(4, np.int64)], {"axis": 0}))


@generic("limited to +-1", r"limit|clip|clamp|satur|1")
def _(model, node):
    return behind(model, node, ("Clip", [np.float32(-1), np.float32(1)], {}))


@generic("all zero", r"0|zero|not written")
def _(model, node):
    return behind(model, node, ("Mul", [np.float32(0)], {}))


@generic("one value NaN", r"NaN")
def _(model, node):
    def edit(mask):
        mask.reshape(-1)[mask.size // 2] = np.nan
    return masked(model, node, edit)
