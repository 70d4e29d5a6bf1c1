# SPDX-License-Identifier: Apache-2.0
"""A fourth list of faults made in NumPy, as held_out_faults.py's: blocks of networks that are put together otherwise.
It was written when the general ways (source/check/cause/general_ways.h) were done and known: 11 of these 16 were named
then, none wrongly."""
import numpy as np
from onnx import TensorProto

from held_out_faults import f32, sigmoid, softmax
from held_out_third import convolve, graph, normal

FLOAT = TensorProto.FLOAT


def gates(random):
    """A linear unit of two halves; SwiGLU of two inputs."""
    x, other = normal(random, 2, 6, 16), normal(random, 2, 6, 16)
    low, high = np.split(x.astype(np.float64), 2, -1)
    halves = graph([("Split", ["x"], ["a", "b"], {"axis": -1}), ("Sigmoid", ["b"], ["g"], {}),
                    ("Mul", ["a", "g"], ["y"], {})], (2, 6, 8), {"x": x})
    gated = graph([("Sigmoid", ["x"], ["s"], {}), ("Mul", ["x", "s"], ["t"], {}), ("Mul", ["t", "u"], ["y"], {})],
                  x.shape, {"x": x, "u": other})
    wide, up = x.astype(np.float64), other.astype(np.float64)
    return [("the halves of a GLU exchanged", halves, f32({"x": x, "y": high * sigmoid(low)}), "exchanged"),
            ("SwiGLU's gate on the other input", gated, f32({"x": x, "u": other, "y": wide * up * sigmoid(up)}),
             "'u'|exchanged")]


def scores(random):
    x = normal(random, 1, 3, 9, 9, by=2)
    wide, at = x.astype(np.float64), np.arange(9)
    mask = np.where(at[None] > at[:, None], np.float32(-1e9), np.float32(0))
    masked = graph([("Add", ["x", "m"], ["a"], {}), ("Softmax", ["a"], ["y"], {"axis": -1})], x.shape, {"x": x},
                   {"m": mask})
    warm = graph([("Mul", ["x", "t"], ["a"], {}), ("Softmax", ["a"], ["y"], {"axis": -1})], x.shape, {"x": x},
                 {"t": np.float32(4)})
    table = normal(random, 9, 9)
    placed = graph([("Add", ["x", "p"], ["y"], {})], x.shape, {"x": x}, {"p": table})
    return [("a causal mask transposed", masked, f32({"x": x, "y": softmax(wide + mask.T)}), "(?i)transpos|mask|axis"),
            ("divided by the temperature", warm, f32({"x": x, "y": softmax(wide / 4)}), "0.25|1 / "),
            ("positions from 1 on", placed, f32({"x": x, "y": wide + np.roll(table, -1, 0)}), "shifted one further"),
            ("positions in reverse", placed, f32({"x": x, "y": wide + table[::-1]}), "reverse"),
            ("positions transposed", placed, f32({"x": x, "y": wide + table.T}), "(?i)transpos|order")]


def norms(random):
    x = normal(random, 2, 5, 12)
    wide, g = x.astype(np.float64), random.uniform(0.5, 1.5, 12).astype(np.float32)
    unit = graph([("ReduceL2", ["x"], ["n"], {"axes": [-1], "keepdims": 1}), ("Div", ["x", "n"], ["y"], {})], x.shape,
                 {"x": x})
    squares = (wide ** 2).sum(-1, keepdims=True)
    seen = np.ones((2, 5, 1), np.float32)
    seen[0, 3:], seen[1, 4:] = 0, 0
    pooled = graph([("Mul", ["x", "m"], ["a"], {}), ("ReduceSum", ["a", "axis"], ["s"], {"keepdims": 0}),
                    ("ReduceSum", ["m", "axis"], ["c"], {"keepdims": 0}), ("Div", ["s", "c"], ["y"], {})], (2, 12),
                   {"x": x, "m": seen}, {"axis": np.array([1])})
    scaled = graph([("LayerNormalization", ["x", "g"], ["y"], {"axis": -1, "epsilon": 1e-5})], x.shape, {"x": x},
                   {"g": g})
    z = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    return [("a norm without its root", unit, f32({"x": x, "y": wide / squares}), "SumSquare"),
            ("a mean over padding, too", pooled,
             f32({"x": x, "m": seen, "y": (wide * seen).sum(1) / 5}), "5|count|divi|ReduceMean"),
            ("a mean without its mask", pooled, f32({"x": x, "m": seen, "y": wide.sum(1) / seen.sum(1)}),
             "without multiplying by 'm'"),
            ("gamma in reverse", scaled, f32({"x": x, "y": z * g[::-1]}), "reverse"),
            ("gamma of the lane beside", scaled, f32({"x": x, "y": z * np.roll(g, 1)}), "shifted one earlier")]


def images(random):
    x, w = normal(random, 1, 4, 8, 8), normal(random, 4, 4, 3, 3, by=0.3)
    g, b, mean = random.uniform(0.5, 1.5, 4).astype(np.float32), normal(random, 4), normal(random, 4)
    variance = random.uniform(0.5, 2, 4).astype(np.float32)
    statistics = {"g": g, "b": b, "m": mean, "v": variance}
    block = graph([("Conv", ["x", "w"], ["c"], {"pads": [1] * 4}),
                   ("BatchNormalization", ["c", *statistics], ["n"], {"epsilon": 1e-5}), ("Relu", ["n"], ["y"], {})],
                  x.shape, {"x": x}, {"w": w, **statistics})
    c = convolve(x, w, (1, 1, 1, 1))

    def normed(v):
        s = (g / np.sqrt(variance + 1e-5)).reshape(1, -1, 1, 1)
        return (v - mean.reshape(1, -1, 1, 1)) * s + b.reshape(1, -1, 1, 1)
    halved = graph([("Conv", ["x", "w"], ["y"], {"pads": [1] * 4, "strides": [2, 2]})], (1, 4, 4, 4), {"x": x},
                   {"w": w})
    mean_of = graph([("GlobalAveragePool", ["x"], ["y"], {})], (1, 4, 1, 1), {"x": x})
    turned = graph([("Conv", ["x", "w"], ["y"], {"pads": [1] * 4})], x.shape, {"x": x}, {"w": w})
    wide = x.astype(np.float64)
    return [("the activation before the norm", block, f32({"x": x, "y": normed(np.maximum(c, 0))}),
             "(?i)relu|before|order"),
            ("odd pixels of a stride of 2", halved, f32({"x": x, "y": c[:, :, 1::2, 1::2]}), "(?i)pad"),
            ("the maximum for the mean", mean_of, f32({"x": x, "y": wide.max((2, 3), keepdims=True)}), "(?i)max"),
            ("an image upside down", turned, f32({"x": x, "y": convolve(x[:, :, ::-1], w, (1, 1, 1, 1))}),
             "reverse along axis 2")]


def fourth_faults():
    random = np.random.default_rng(83)
    return [fault for make in (gates, scores, norms, images) for fault in make(random)]
