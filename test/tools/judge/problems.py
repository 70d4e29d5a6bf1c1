# SPDX-License-Identifier: Apache-2.0
"""Problems as kernel benchmarks have them (operators and small groups of them), each with a right kernel in NumPy that
takes its sums in any order; and what wrong kernels give in its place."""
import dataclasses
import math
from collections.abc import Callable

import numpy as np

F32 = np.float32
_erf = np.vectorize(math.erf, otypes=[np.float64])


class Sums:
    """Sums and products of f32 in an order of its own: by halves, one after the other, shuffled, in blocks, or split
    into parts that are added at the end. `accumulator`: the dtype that every partial sum is rounded to."""

    WAYS = ("halves", "serial", "shuffled", "blocks", "split")

    def __init__(self, way, seed=0, accumulator=F32):
        self.way, self.rng, self.accumulator = way, np.random.default_rng(seed), accumulator

    def _last(self, x):
        x = np.ascontiguousarray(x).astype(self.accumulator)
        if x.shape[-1] == 0 or self.way == "halves" and self.accumulator is F32:
            return x.sum(-1, dtype=F32)
        if self.way == "shuffled":
            x = x[..., self.rng.permutation(x.shape[-1])]
        if self.way in ("blocks", "split"):
            size = 32 if self.way == "blocks" else -(-x.shape[-1] // 4)
            parts = [np.add.accumulate(x[..., i:i + size], -1, dtype=self.accumulator)[..., -1]
                     for i in range(0, x.shape[-1], size)]
            x = np.stack(parts, -1)
        return np.add.accumulate(x, -1, dtype=self.accumulator)[..., -1].astype(F32)

    def sum(self, x, axis=None, keepdims=False):
        if axis is None:
            axis = tuple(range(x.ndim))
        axes = tuple(a % x.ndim for a in ((axis,) if isinstance(axis, int) else axis))
        rest = [a for a in range(x.ndim) if a not in axes]
        moved = np.transpose(x, rest + list(axes)).reshape([x.shape[a] for a in rest] + [-1])
        total = self._last(moved)
        return total.reshape([1 if a in axes else x.shape[a] for a in range(x.ndim)]) if keepdims else total

    def mean(self, x, axis=None, keepdims=False):
        total = self.sum(x, axis, keepdims)
        return total / F32(x.size // max(total.size, 1))

    def matmul(self, a, b):
        if self.accumulator is F32 and self.way == "halves":
            return np.matmul(a, b, dtype=F32)
        return self._last(a[..., :, None, :] * np.swapaxes(b, -1, -2)[..., None, :, :])


@dataclasses.dataclass
class Problem:
    name: str
    op: str
    inputs: list
    attributes: dict
    kernel: Callable  # (inputs, attributes, sums) -> output
    axis: str = ""  # the attribute that a wrong axis changes
    adds: int = 0  # terms of the longest sum
    products: bool = False


def softmax(x, axis, s):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / s.sum(e, axis, keepdims=True)


def normalised(x, axes, epsilon, s):
    centred = x - s.mean(x, axes, keepdims=True)
    return centred / np.sqrt(s.mean(centred * centred, axes, keepdims=True) + F32(epsilon))


def windows(x, size, stride, pads):
    x = np.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in pads])
    view = np.lib.stride_tricks.sliding_window_view(x, size, axis=tuple(range(2, x.ndim)))
    return view[(slice(None), slice(None)) + tuple(slice(None, None, stride) for _ in size)]


def convolve(x, w, attributes, s):
    groups, rank = attributes.get("groups", 1), x.ndim - 2
    pads = [attributes.get("padding", 0)] * rank
    view = windows(x, w.shape[2:], attributes.get("stride", 1), pads)
    outputs = []
    for g in range(groups):
        part = view[:, g * w.shape[1]:(g + 1) * w.shape[1]]
        kernels = w[g * (len(w) // groups):(g + 1) * (len(w) // groups)]
        out = part.shape[2:2 + rank]
        columns = np.moveaxis(part, 1, 1 + rank).reshape(len(x), int(np.prod(out)), -1)
        product = s.matmul(columns, kernels.reshape(len(kernels), -1).T)
        outputs.append(np.moveaxis(product, 2, 1).reshape((len(x), len(kernels)) + out))
    return np.concatenate(outputs, 1)


def attend(q, k, v, causal, s):
    repeat = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, repeat, 1), np.repeat(v, repeat, 1)
    scores = s.matmul(q, np.swapaxes(k, 2, 3)) * F32(1 / math.sqrt(q.shape[-1]))
    if causal:
        scores = np.where(np.tri(q.shape[2], k.shape[2], dtype=bool), scores, F32(-np.inf))
    return s.matmul(softmax(scores, -1, s), v)


def rotate(x, cos, sin):
    a, b = np.split(x, 2, -1)
    cos, sin = cos[:, None], sin[:, None]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


UNARY = {
    "relu": lambda x: np.maximum(x, 0), "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "tanh": np.tanh,
    "softplus": lambda x: np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "gelu": lambda x: (0.5 * x * (1 + _erf(x / math.sqrt(2)))), "silu": lambda x: x / (1 + np.exp(-x)),
    "exp": np.exp, "sin": np.sin, "cos": np.cos, "erf": _erf, "abs": np.abs, "square": lambda x: x * x,
    "hardswish": lambda x: x * np.clip(x / F32(6) + F32(0.5), 0, 1),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)),
}
POSITIVE = {"log": np.log, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x)}
BINARY = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "maximum": np.maximum,
          "minimum": np.minimum}


def all_problems(seed=7):
    rng = np.random.default_rng(seed)
    found = []

    def draw(*shape, positive=False):
        values = rng.standard_normal(shape)
        return (np.abs(values) + 0.1 if positive else values).astype(F32)

    def put(op, inputs, attributes, kernel, **more):
        found.append(Problem(f"{len(found):03d}_{op}", op, inputs, attributes, kernel, **more))

    for shape in ((64,), (33, 65), (7, 300), (2, 3, 16, 17)):
        for op, f in UNARY.items():
            put(op, [draw(*shape)], {}, lambda i, a, s, f=f: f(i[0]))
        for op, f in POSITIVE.items():
            put(op, [draw(*shape, positive=True)], {}, lambda i, a, s, f=f: f(i[0]))
        for op, f in BINARY.items():
            put(op, [draw(*shape), draw(*shape, positive=True)], {}, lambda i, a, s, f=f: f(i[0], i[1]))
        put("leaky_relu", [draw(*shape)], {"negative_slope": 0.1},
            lambda i, a, s: np.where(i[0] > 0, i[0], F32(a["negative_slope"]) * i[0]))
        put("gelu", [draw(*shape)], {"approximate": "tanh"}, lambda i, a, s: F32(0.5) * i[0] * (1 + np.tanh(
            F32(math.sqrt(2 / math.pi)) * (i[0] + F32(0.044715) * i[0] ** 3))))
        put("swiglu", [draw(*shape), draw(*shape)], {}, lambda i, a, s: i[0] / (1 + np.exp(-i[0])) * i[1])
        put("geglu", [draw(*shape), draw(*shape)], {},
            lambda i, a, s: 0.5 * i[0] * (1 + _erf(i[0] / math.sqrt(2))) * i[1])
        put("where", [rng.random(shape) < 0.5, draw(*shape), draw(*shape)], {}, lambda i, a, s: np.where(*i))
    for n in (16, 65, 256, 1000):
        x = draw(32, n)
        square = draw(48, 48)
        put("softmax", [x], {"axis": -1}, lambda i, a, s: softmax(i[0], a["axis"], s), adds=n)
        put("softmax", [square], {"axis": 0}, lambda i, a, s: softmax(i[0], a["axis"], s), axis="axis", adds=48)
        put("log_softmax", [x], {"axis": -1}, lambda i, a, s: (i[0] - i[0].max(-1, keepdims=True)) - np.log(
            s.sum(np.exp(i[0] - i[0].max(-1, keepdims=True)), -1, keepdims=True)), adds=n)
        put("logsumexp", [x], {"axis": 1}, lambda i, a, s: np.log(
            s.sum(np.exp(i[0] - i[0].max(1, keepdims=True)), 1)) + i[0].max(1), adds=n)
        put("sum", [x], {"axis": 1}, lambda i, a, s: s.sum(i[0], a["axis"]), adds=n)
        put("sum", [square], {"axis": 0}, lambda i, a, s: s.sum(i[0], a["axis"]), axis="axis", adds=48)
        put("mean", [x], {"axis": 1}, lambda i, a, s: s.mean(i[0], a["axis"]), adds=n)
        put("mean", [draw(4, 5, n)], {}, lambda i, a, s: s.mean(i[0]), adds=20 * n)
        put("max", [x], {"axis": 1}, lambda i, a, s: i[0].max(a["axis"]))
        put("min", [square], {"axis": 0}, lambda i, a, s: i[0].min(a["axis"]), axis="axis")
        put("argmax", [x], {"axis": 1}, lambda i, a, s: i[0].argmax(a["axis"]))
        put("norm", [x], {"axis": 1}, lambda i, a, s: np.sqrt(s.sum(i[0] * i[0], a["axis"])), adds=n)
        put("cumsum", [x], {"axis": 1}, lambda i, a, s: np.add.accumulate(i[0], 1, dtype=F32), adds=n)
        put("layer_norm", [x, draw(n), draw(n)], {"eps": 1e-5},
            lambda i, a, s: normalised(i[0], -1, a["eps"], s) * i[1] + i[2], adds=n)
        put("rms_norm", [x, draw(n)], {"eps": 1e-6},
            lambda i, a, s: i[0] / np.sqrt(s.mean(i[0] * i[0], -1, keepdims=True) + F32(a["eps"])) * i[1], adds=n)
        put("instance_norm", [draw(2, 6, n), draw(6), draw(6)], {"eps": 1e-5},
            lambda i, a, s: normalised(i[0], -1, a["eps"], s) * i[1][:, None] + i[2][:, None], adds=n)
        put("group_norm", [draw(2, 8, n), draw(8), draw(8)], {"num_groups": 4, "eps": 1e-5},
            lambda i, a, s: normalised(i[0].reshape(2, 4, -1), -1, a["eps"], s).reshape(i[0].shape) * i[1][:, None]
            + i[2][:, None], adds=2 * n)
        put("batch_norm", [draw(4, 8, n), draw(8), draw(8), draw(8), draw(8, positive=True)], {"eps": 1e-5},
            lambda i, a, s: (i[0] - i[3][:, None]) / np.sqrt(i[4] + F32(a["eps"]))[:, None] * i[1][:, None]
            + i[2][:, None])
        put("matmul", [draw(24, n), draw(n, 40)], {}, lambda i, a, s: s.matmul(*i), adds=n, products=True)
        put("matmul", [draw(3, 9, n), draw(3, n, 17)], {}, lambda i, a, s: s.matmul(*i), adds=n, products=True)
        put("linear", [draw(20, n), draw(30, n), draw(30)], {}, lambda i, a, s: s.matmul(i[0], i[1].T) + i[2], adds=n,
            products=True)
        put("einsum", [draw(2, 9, n), draw(2, n, 13)], {"equation": "bij,bjk->bik"}, lambda i, a, s: s.matmul(*i),
            adds=n, products=True)
        put("cross_entropy", [draw(12, n), rng.integers(0, n, 12)], {}, lambda i, a, s: -s.mean(
            ((i[0] - i[0].max(1, keepdims=True)) - np.log(s.sum(np.exp(i[0] - i[0].max(1, keepdims=True)), 1,
                                                                 keepdims=True)))[np.arange(12), i[1]]), adds=n)
        put("embedding", [draw(50, n), rng.integers(0, 50, 16)], {}, lambda i, a, s: i[0][i[1]])
        put("concatenate", [draw(5, n), draw(6, n)], {"axis": 0}, lambda i, a, s: np.concatenate(i, a["axis"]))
        put("transpose", [draw(16, n)], {"axes": [1, 0]}, lambda i, a, s: i[0].T)
    for channels, side, attributes in ((8, 16, {"padding": 1}), (16, 15, {}), (24, 9, {"padding": 1, "stride": 2}),
                                       (8, 14, {"groups": 8, "padding": 1})):
        groups = attributes.get("groups", 1)
        x = draw(2, channels, side, side)
        put("conv", [x, draw(channels, channels // groups, 3, 3)], attributes,
            lambda i, a, s: convolve(i[0], i[1], a, s), adds=9 * channels // groups, products=groups == 1)
        put("conv", [x, draw(12, channels, 1, 1), draw(12)], {},
            lambda i, a, s: convolve(i[0], i[1], a, s) + i[2][:, None, None], adds=channels, products=True)
        put("conv", [draw(2, channels, 40), draw(10, channels, 5)], {"padding": 2},
            lambda i, a, s: convolve(i[0], i[1], a, s), adds=5 * channels, products=True)
        put("max_pool", [x], {"kernel_size": 3, "stride": 2},
            lambda i, a, s: windows(i[0], (3, 3), 2, (0, 0)).max((4, 5)))
        put("avg_pool", [x], {"kernel_size": 3, "stride": 1},
            lambda i, a, s: s.mean(windows(i[0], (3, 3), 1, (0, 0)), (4, 5)), adds=9)
    for heads, kv, length, width in ((4, 4, 16, 32), (8, 2, 24, 16), (2, 1, 70, 64), (1, 1, 130, 8)):
        q, k, v = draw(2, heads, length, width), draw(2, kv, length, width), draw(2, kv, length, width)
        for causal in (0, 1):
            put("scaled_dot_product_attention", [q, k, v], {"is_causal": causal},
                lambda i, a, s: attend(*i, a["is_causal"], s), adds=length, products=True)
        angles = rng.random((2, length, width // 2)) * 6
        put("rope", [q, np.cos(angles).astype(F32), np.sin(angles).astype(F32)], {}, lambda i, a, s: rotate(*i))
    return found


def tf32(x):
    bits = x.astype(F32).view(np.uint32)
    return ((bits + 0xFFF + ((bits >> 13) & 1)) & np.uint32(0xFFFFE000)).view(F32)


def truncated(y, dtype):
    """Stored towards zero."""
    y = np.asarray(y, F32)
    near = y.astype(dtype)
    over = np.abs(near.astype(F32)) > np.abs(y)
    return np.where(over, np.nextafter(near, dtype(0)), near).astype(dtype)


def faults(problem, right, other, rng):
    """(kind, output, inputs) of wrong kernels. `right`: the output in f32; `other`: that of other inputs."""
    inputs = problem.inputs
    spread = float(np.std(right)) or 1.0
    flat = right.reshape(-1)
    yield "zeros", np.zeros_like(right), inputs
    yield "constant", np.full_like(right, right.mean()), inputs
    for value in problem.inputs:
        if value.size == right.size and value.dtype == right.dtype:
            yield "input handed through", value.reshape(right.shape).copy(), inputs
            break
    yield "noise", (rng.standard_normal(right.shape) * spread).astype(right.dtype), inputs
    if flat.size >= 16:
        tail = flat.copy()
        tail[-max(1, flat.size // 16):] = 0
        yield "dropped tail", tail.reshape(right.shape), inputs
        stale = flat.copy()
        tile = max(1, flat.size // 16)
        begin = int(rng.integers(0, flat.size - tile + 1))
        stale[begin:begin + tile] = other.reshape(-1)[begin:begin + tile]
        yield "stale tile", stale.reshape(right.shape), inputs
    if problem.axis:
        attributes = dict(problem.attributes, **{problem.axis: 1 - problem.attributes[problem.axis]})
        yield "wrong axis", np.asarray(problem.kernel(problem.inputs, attributes, Sums("halves"))), inputs
    if problem.adds >= 16 and right.dtype == F32:
        narrow = problem.kernel(problem.inputs, problem.attributes, Sums("serial", accumulator=np.float16))
        yield "f16 accumulators", np.asarray(narrow, F32), inputs
    if right.dtype == F32 and flat.size >= 256:  # 32 of 64 values are not enough to be certain
        stored = [v.astype(np.float16) if v.dtype == F32 else v for v in inputs]
        wide = [v.astype(F32) if v.dtype == np.float16 else v for v in stored]
        exact = np.asarray(problem.kernel(wide, problem.attributes, Sums("halves")), F32)
        yield "one-sided rounding", truncated(exact, np.float16), stored
