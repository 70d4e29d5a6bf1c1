# SPDX-License-Identifier: Apache-2.0
"""What kernels do to values, made in NumPy: stores and sums of fewer bits, tiles and heads that read another's memory,
statistics of more lanes than there are. Public threads: ROCm/aiter#5151, tenstorrent/tt-metal#57408 and #56532,
mmastrac/diffgemma#18 (bf16 cut off), pytorch/executorch#22327 (tiles of rows), triton-lang/triton#9838 (LayerNorm over
padded lanes), flagos-ai/FlagGems#4984 (groups of no power of two), nntrainer/nntrainer#3935 (sums of squares in f16),
tensorflow/models#2776 (dropout and batch normalisation as in training), lucidrains/vit-pytorch#71 and
lsdefine/attention-is-all-you-need-keras#16 (masks of heads and batches), pytorch/pytorch#79270 (tf32).
"""
import numpy as np

from .model import attribute, kernel


def cut(y, bits):
    """f32 whose mantissa keeps so many bits, towards zero."""
    mask = np.uint32((0xffffffff << (23 - bits)) & 0xffffffff)
    return (np.ascontiguousarray(y).view(np.uint32) & mask).view(np.float32)


def brain(x):
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) & np.uint32(0xffff0000)).view(np.float32)


def is_f32(y):
    return y.dtype == np.float32 and y.size > 1


@kernel("", "stored in bf16, cut off", r"bf16|cut|toward|truncat")
def _(_, y, *rest):
    return cut(y, 7) if is_f32(y) else None


@kernel("", "stored in f16, cut off", r"f16|cut|toward|truncat")
def _(_, y, *rest):
    if not is_f32(y) or np.abs(y).max() > 6e4:
        return None
    half = y.astype(np.float16)
    over = np.abs(half.astype(np.float32)) > np.abs(y)
    return np.where(over, np.nextafter(half, np.float16(0)), half).astype(np.float32)


@kernel("", "16 bits of mantissa", r"16-bit|16 bits|mantissa")
def _(_, y, *rest):
    return cut(y, 15) if is_f32(y) else None


@kernel("", "rows of the tile before", r"rows|values of|row")
def _(_, y, *rest):
    if not is_f32(y) or y.ndim < 2 or y.shape[-2] < 8 or y.shape[-1] < 2:
        return None
    made = y.copy()
    made[..., 4:8, :] = made[..., :4, :]
    return made


@kernel("", "one lane of eight", r"lane|modulo|has the values of")
def _(_, y, *rest):
    if not is_f32(y) or y.size < 64:
        return None
    made = y.copy()
    made.reshape(-1)[3::8] = made.reshape(-1)[2::8][:made.reshape(-1)[3::8].size]
    return made


def columns_of(values, node):
    """A convolution as products: [groups, rows, terms], [groups, terms, places] and the result's shape; None where it
    is none of two dimensions."""
    x, w = values[:2]
    if w.ndim != 4:
        return None
    group, (kh, kw) = attribute(node, "group", 1), w.shape[2:]
    sh, sw = attribute(node, "strides", [1, 1])
    dh, dw = attribute(node, "dilations", [1, 1])
    top, left, bottom, right = attribute(node, "pads", [0] * 4)
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    h, w_out = (x.shape[2] - dh * (kh - 1) - 1) // sh + 1, (x.shape[3] - dw * (kw - 1) - 1) // sw + 1
    parts = np.stack([x[:, :, i * dh:i * dh + sh * h:sh, j * dw:j * dw + sw * w_out:sw] for i in range(kh)
                      for j in range(kw)], 2)[..., :h, :w_out]
    batch, channels = x.shape[:2]
    terms = parts.reshape(batch, group, channels // group * kh * kw, h * w_out)
    return w.reshape(group, w.shape[0] // group, -1), terms, (batch, w.shape[0], h, w_out)


def summed(a, b, rounded):
    """a @ b, each product and each sum rounded."""
    total = np.zeros((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), np.float32)
    for k in range(a.shape[-1]):
        total = rounded(total + rounded(a[..., :, k:k + 1] * b[..., k:k + 1, :]))
    return total


def half(x):
    with np.errstate(over="ignore"):
        return np.asarray(x).astype(np.float16).astype(np.float32)


def in_fewer_bits(rounded):
    def run(values, y, node):
        if node.op_type == "Conv":
            made = columns_of(values, node)
            if made is None or y.size * made[1].shape[2] > 3e7:
                return None
            w, terms, shape = made
            result = summed(rounded(w)[None], rounded(terms), rounded).reshape(shape)
            return result + values[2].reshape(1, -1, 1, 1) if len(values) > 2 else result
        a, b = values[:2]
        if node.op_type == "Gemm":
            a = a.T if attribute(node, "transA", 0) else a
            b = b.T if attribute(node, "transB", 0) else b
            result = summed(rounded(a), rounded(b), rounded) * np.float32(attribute(node, "alpha", 1.0))
            return result + values[2] * np.float32(attribute(node, "beta", 1.0)) if len(values) > 2 else result
        return summed(rounded(a), rounded(b), rounded) if min(a.ndim, b.ndim) > 1 else None
    return run


kernel("Conv Gemm MatMul", "operands and sums in f16", r"f16")(in_fewer_bits(half))
kernel("Conv Gemm MatMul", "operands and sums in bf16", r"bf16")(in_fewer_bits(brain))


@kernel("MatMul", "head 0 for every head", r"head")
def _(values, *_):
    a, b = values[:2]
    return a @ np.broadcast_to(b[:, :1], b.shape) if b.ndim == 4 and b.shape[1] > 1 else None


@kernel("MatMul", "batch element 0's second operand for all of the batch", r"batch")
def _(values, *_):
    a, b = values[:2]
    return a @ np.broadcast_to(b[:1], b.shape) if b.ndim == 4 and b.shape[0] > 1 else None


def is_mask(values):
    return len(values) == 2 and values[1].ndim == 4 and values[1].min() < -1e3 and values[0].ndim == 4


@kernel("Add", "the mask lost in one head", r"head 2|channel 2|mask")
def _(values, y, _):
    if not is_mask(values):
        return None
    made = y.copy()
    made[:, 2] = values[0][:, 2]
    return made


@kernel("Add", "the mask of batch element 0 for all of the batch", r"batch element 0")
def _(values, *_):
    return values[0] + values[1][:1] if is_mask(values) and values[1].shape[0] > 1 else None


@kernel("Softmax Relu Add MatMul", "dropout left active", r"dropout")
def _(_, y, *rest):
    if not is_f32(y) or y.size < 64:
        return None
    return y * (np.random.default_rng(5).random(y.shape) > 0.1) / np.float32(0.9)


def normalised(x, axes, values, node, count=None, extra=0, squares=None):
    """(x - mean) / sqrt(variance + epsilon) over the axes, of `count` elements of which `extra` are zeros that the mean
    is taken from, too."""
    wide = x.astype(np.float64)
    count = count or np.prod([x.shape[a] for a in axes])
    mean = wide.sum(axes, keepdims=True) / count
    variance = (((wide - mean) ** 2).sum(axes, keepdims=True) + extra * mean ** 2) / count
    return (wide - mean) / np.sqrt(variance + attribute(node, "epsilon", 1e-5))


def scaled(y, values, per_channel):
    shape = (1, -1, *[1] * (y.ndim - 2)) if per_channel else values[1].shape
    gamma, beta = (v.reshape(shape) for v in values[1:3])
    return (y * gamma + beta).astype(np.float32)


@kernel("LayerNormalization", "padded lanes in the variance", r"lane|padded")
def _(values, y, node):
    x, n = values[0], values[0].shape[-1]
    block = 1 << int(n - 1).bit_length()
    block = 2 * block if block == n else block
    return scaled(normalised(x, (-1,), values, node, n, block - n), values, False)


@kernel("LayerNormalization", "divided by the padded width", r"lane|padded|of \d+|divided")
def _(values, y, node):
    x, n = values[0], values[0].shape[-1]
    return scaled(normalised(x, (-1,), values, node, n + 4), values, False)


@kernel("LayerNormalization", "over whole vectors of 8 alone", r"lane|first \d+|only")
def _(values, y, node):
    x = values[0].astype(np.float64)
    part = x[..., :(x.shape[-1] - 1) // 8 * 8]
    made = (x - part.mean(-1, keepdims=True)) / np.sqrt(part.var(-1, keepdims=True) + attribute(node, "epsilon", 1e-5))
    return scaled(made, values, False)


@kernel("LayerNormalization", "over the wrong axis", r"axis|axes")
def _(values, y, node):
    return scaled(normalised(values[0], (-2,), values, node), values, False) if y.ndim > 2 else None


@kernel("ReduceMean", "over whole vectors of 8 alone", r"lane|first \d+|only")
def _(values, y, node):
    x = values[0]
    axes = attribute(node, "axes")
    if axes not in ([-1], [x.ndim - 1]) or x.shape[-1] < 9:
        return None
    return x[..., :(x.shape[-1] - 1) // 8 * 8].mean(-1, keepdims=True, dtype=np.float64).astype(np.float32)


@kernel("ReduceMean", "divided by the padded width", r"divid|times|factor|scale|a = ")
def _(values, y, node):
    n = values[0].shape[-1]
    return y * np.float32(n / (n + 4)) if attribute(node, "axes") in ([-1], [values[0].ndim - 1]) else None


@kernel("InstanceNormalization", "statistics of all of the batch", r"batch")
def _(values, y, node):
    return scaled(normalised(values[0], (0, 2, 3)[:y.ndim - 1], values, node), values, True)


@kernel("InstanceNormalization", "over the channels, too", r"channel|axis|axes|group")
def _(values, y, node):
    return scaled(normalised(values[0], tuple(range(1, y.ndim)), values, node), values, True)


@kernel("BatchNormalization", "as in training, of a batch", r"training|batch")
def _(values, y, node):
    return scaled(normalised(values[0], (0, *range(2, y.ndim)), values, node), values, True)
