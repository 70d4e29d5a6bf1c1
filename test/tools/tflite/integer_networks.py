# SPDX-License-Identifier: Apache-2.0
"""Networks of integers that have each quantised operator once, and the same with an operator cut out: its output is an
input then, so that what a faulty kernel wrote can be handed on to LiteRT."""
import dataclasses

import integer_kernels as kernels
import lite
import numpy as np

F = np.float32


@dataclasses.dataclass
class Node:
    name: str
    kind: str
    reads: list       # names of tensors
    shape: list
    scale: float
    zero: int
    options: dict     # LiteRT's
    facts: dict       # what the kernels in NumPy take
    version: int


class Plan:
    """Nodes and constants in the order of execution."""

    def __init__(self, dtype, seed=3, ties=False):
        self.dtype, self.random, self.ties = dtype, np.random.default_rng(seed), ties
        self.fine = 256 if dtype == "int16" else 1  # the same reals in finer steps
        self.nodes, self.constants, self.states, self.grids, self.shapes = [], {}, {}, {}, {}
        self.input = ("x", [1, 12, 12, 8])
        self.grids["x"], self.shapes["x"] = (self.of(0.05 / self.fine), self.zero(3)), self.input[1]

    def of(self, scale):
        return F(2.0**np.rint(np.log2(scale))) if self.ties else F(scale)

    def zero(self, value):
        return {"int8": value, "uint8": value + 128, "int16": 0}[self.dtype]

    def node(self, name, kind, reads, shape, scale=None, zero=None, options=None, version=None, **facts):
        """scale: that of 8 bits; None takes the grid of the first input."""
        grid = self.grids[reads[0]] if scale is None else (self.of(scale / self.fine), self.zero(zero))
        self.grids[name], self.shapes[name] = grid, list(shape)
        self.nodes.append(Node(name, kind, list(reads), list(shape), grid[0], grid[1], options or {}, facts, version))
        return name

    def weights(self, name, shape, axis, scale):
        """Of u8 with one scale and a zero point; else of i8, one scale for each channel."""
        if self.dtype == "uint8":
            values, scales, zero = self.random.integers(0, 256, shape).astype(np.uint8), self.of(scale), 121
        else:
            values, zero = self.random.integers(-127, 128, shape).astype(np.int8), 0
            scales = np.array([self.of(scale * r) for r in self.random.uniform(0.4, 1.6, shape[axis])], F)
        self.constants[name] = (values, scales, zero, axis)
        return name

    def bias(self, name, x, weights, size=2500):
        scale = F(self.grids[x][0]) * np.asarray(self.constants[weights][1], F)
        count = self.constants[weights][0].shape[self.constants[weights][3]]
        dtype = np.int64 if self.dtype == "int16" else np.int32
        steps = self.random.integers(-size * self.fine, size * self.fine, count)
        self.constants[name] = (steps.astype(dtype), scale, 0, 0)
        return name

    def plain(self, name, values, scale=None, zero=0):
        self.constants[name] = (values, scale, zero, 0)
        return name

    def state(self, name, shape, scale):
        """A variable of 16 bits, which begins as zeros."""
        self.states[name] = (shape, F(scale))
        return name

    def as_floats(self):
        """The same whole numbers as floats, without grids."""
        for name, (values, _, _, axis) in self.constants.items():
            self.constants[name] = (values if name.endswith("_shape") else values.astype(F), None, 0, axis)
        self.dtype, self.grids = "float32", {name: (None, 0) for name in self.grids}
        self.nodes = [dataclasses.replace(node, scale=None, zero=0) for node in self.nodes]

    def build(self, cut=None):
        """(content of a .tflite, {name of a tensor: index})."""
        network, index = lite.Network(), {}
        index["x"] = network.input(self.input[1], self.dtype, scale=self.grids["x"][0], zero=self.grids["x"][1])
        network.graph.tensors[index["x"]].name = "x"
        for name, (values, scale, zero, axis) in self.constants.items():
            index[name] = network.constant(name, values, scale=scale, zero=zero, axis=axis)
        for name, (shape, scale) in self.states.items():
            index[name] = network.tensor(name, shape, "int16", scale=scale)
            network.graph.tensors[index[name]].isVariable = True
        for node in self.nodes:
            grid = {"scale": node.scale, "zero": node.zero}
            if node.name == cut:
                index[node.name] = network.input(node.shape, self.dtype, **grid)
            else:
                index[node.name] = network.op(node.kind, [index[r] for r in node.reads], node.shape, self.dtype,
                                              options=node.options, version=node.version, **grid)
            network.graph.tensors[index[node.name]].name = node.name
        read = {r for node in self.nodes for r in node.reads if node.name != cut}
        return network.bytes([index[n.name] for n in self.nodes if n.name not in read or n.name == cut]), index

    def call(self, name, tensors, family="reference"):
        """The Call of a node on the tensors of a run."""
        node = next(n for n in self.nodes if n.name == name)
        reads = []
        for read in node.reads:
            if read in self.constants:
                values, scale, zero, _ = self.constants[read]
                if scale is not None or self.dtype == "float32" and not read.endswith("_shape"):
                    reads.append(kernels.Tensor(values.astype(np.int64), scale, zero))
            elif read in self.states:
                reads.append(kernels.Tensor(None, self.states[read][1]))
            else:
                reads.append(kernels.Tensor(tensors[read].astype(np.int64), *self.grids[read]))
        if node.kind == "TRANSPOSE_CONV":  # which reads its weights first
            reads[:2] = reads[1::-1]
        return node.kind, kernels.Call(reads, node.shape, self.dtype, node.scale, node.zero, node.facts, family)


SAME, VALID = 0, 1


def window(padding, stride, **more):
    return {"padding": padding, "strideH": stride, "strideW": stride, **more}


def images(dtype, ties=False):
    """Convolutions and what stands between them."""
    p = Plan(dtype, ties=ties)
    p.weights("conv_w", [16, 3, 3, 8], 0, 0.006)
    p.node("conv", "CONV_2D", ["x", "conv_w", p.bias("conv_b", "x", "conv_w")], [1, 12, 12, 16], 0.5, -11,
           window(SAME, 1), 3, padding="SAME")
    p.weights("depthwise_w", [1, 3, 3, 16], 3, 0.008)
    p.node("depthwise", "DEPTHWISE_CONV_2D", ["conv", "depthwise_w", p.bias("depthwise_b", "conv", "depthwise_w")],
           [1, 12, 12, 16], 1.1, 7, window(SAME, 1, depthMultiplier=1), 3, padding="SAME")
    p.weights("relu6_w", [16, 3, 3, 16], 0, 0.0012)
    p.node("limited", "CONV_2D", ["conv", "relu6_w", p.bias("relu6_b", "conv", "relu6_w")], [1, 6, 6, 16], 0.05, -100,
           window(SAME, 2, fusedActivationFunction=lite.ACTIVATIONS["RELU6"]), 3, padding="SAME", stride=2,
           activation="RELU6")
    p.node("max", "MAX_POOL_2D", ["conv"], [1, 6, 6, 16], options=window(SAME, 2, filterHeight=3, filterWidth=3),
           padding="SAME", stride=2, window=(3, 3))
    p.node("average", "AVERAGE_POOL_2D", ["max"], [1, 6, 6, 16],
           options=window(SAME, 1, filterHeight=3, filterWidth=3), padding="SAME", window=(3, 3))
    p.constants["up_shape"] = (np.array([1, 12, 12, 8], np.int32), None, 0, 0)
    p.weights("up_w", [8, 3, 3, 16], 0, 0.004)
    p.node("up", "TRANSPOSE_CONV", ["up_shape", "up_w", "limited", p.bias("up_b", "limited", "up_w")], [1, 12, 12, 8],
           0.2, 5, window(SAME, 2), padding="SAME", stride=2)
    if dtype != "int16":
        p.plain("large", np.array([11, 13], np.int32))
        p.node("resize", "RESIZE_BILINEAR", ["average", "large"], [1, 11, 13, 16], options={"halfPixelCenters": True},
               size=(11, 13))
    p.plain("around", np.array([[0, 0], [1, 2], [2, 1], [0, 0]], np.int32))
    p.node("pad", "PAD", ["average", "around"], [1, 9, 9, 16], pads=((0, 0), (1, 2), (2, 1), (0, 0)))
    p.node("joined", "CONCATENATION", ["max", "average"], [1, 6, 6, 32], options={"axis": 3}, axis=3)
    p.plain("axes", np.array([1, 2], np.int32))
    p.node("mean", "MEAN", ["average", "axes"], [1, 16], 0.4, -60, {"keepDims": False}, axes=(1, 2))
    p.weights("dense_w", [10, 16], 0, 0.006)
    p.node("dense", "FULLY_CONNECTED", ["mean", "dense_w", p.bias("dense_b", "mean", "dense_w")], [1, 10], 0.4, 4)
    p.weights("first_w", [24, 8], 0, 0.006)
    p.node("first", "FULLY_CONNECTED", ["x", "first_w", p.bias("first_b", "x", "first_w")], [144, 24], 0.35, -6)
    return p


def values(dtype, ties=False):
    """Operators of elements and rows behind a convolution."""
    p = Plan(dtype, seed=5, ties=ties)
    p.weights("conv_w", [16, 1, 1, 8], 0, 0.006)
    p.node("conv", "CONV_2D", ["x", "conv_w", p.bias("conv_b", "x", "conv_w")], [1, 12, 12, 16], 0.12, -11,
           window(SAME, 1), 3, padding="SAME")
    p.weights("other_w", [16, 1, 1, 8], 0, 0.005)
    p.node("other", "CONV_2D", ["x", "other_w", p.bias("other_b", "x", "other_w")], [1, 12, 12, 16], 0.09, 20,
           window(SAME, 1), 3, padding="SAME")
    both, shape = ["conv", "other"], [1, 12, 12, 16]
    p.node("add", "ADD", both, shape, 0.14, 9, {"potScaleInt16": False}, 2)
    p.node("sub", "SUB", both, shape, 0.15, -7, {"potScaleInt16": False}, 2)
    p.node("mul", "MUL", both, shape, 0.3, 6, {}, 2)
    p.node("relu", "RELU", ["conv"], shape, 0.06, -90, activation="RELU")
    if dtype != "int16":
        p.node("relu6", "RELU6", ["conv"], shape, 0.05, -90, activation="RELU6")
        p.node("swish", "HARD_SWISH", ["add"], shape, 0.13, -70)
        p.plain("slope", np.clip(p.random.integers(-90, 100, [1, 1, 16]) + (128 if dtype == "uint8" else 0), -128, 255)
                .astype(dtype), p.of(0.006), p.zero(-14))
        p.node("prelu", "PRELU", ["conv", "slope"], shape, 0.11, 3)
        p.node("gelu", "GELU", ["add"], shape, 0.1, -100, {"approximate": False})
        p.node("norm", "L2_NORMALIZATION", ["sub"], shape, 1 / 128, 0)
        p.node("logs", "LOG_SOFTMAX", ["add"], shape, 16 / 256, 127)
        p.node("squared", "SQUARED_DIFFERENCE", both, shape, 0.8, -128) if dtype == "int8" else None
    p.node("leaky", "LEAKY_RELU", ["sub"], shape, 0.14, 5, {"alpha": 0.3}, alpha=0.3)
    one = 1 / 256 if dtype != "int16" else 1 / 128
    p.node("logistic", "LOGISTIC", ["conv"], shape, one, -128)
    p.node("tanh", "TANH", ["other"], shape, 1 / 128, 0)
    p.node("softmax", "SOFTMAX", ["add"], shape, one, -128, {"beta": 1.0})
    p.node("requantised", "QUANTIZE", ["conv"], shape, 0.2, 30)
    p.node("largest", "MAXIMUM", ["requantised", "requantised"], shape)
    if dtype == "uint8":
        p.plain("axes", np.array([1], np.int32))
        p.node("sum", "SUM", ["conv", "axes"], [1, 12, 16], 0.5, 11, {"keepDims": False}, axes=(1,))
        p.node("joined", "CONCATENATION", both, [1, 12, 12, 32], 0.12, -11, {"axis": 3}, axis=3)
    return p


def filters(dtype, ties=False):
    """SVDF, which LiteRT has of int8 alone; None: not of this type."""
    p = Plan(dtype, seed=7, ties=ties)
    if dtype != "int8":
        return None
    p.weights("rows_w", [24, 8], 0, 0.006)
    p.node("rows", "FULLY_CONNECTED", ["x", "rows_w", p.bias("rows_b", "x", "rows_w")], [144, 24], 0.35, -6)
    p.plain("feature", p.random.integers(-127, 128, [20, 24]).astype(np.int8), p.of(0.007))
    p.plain("time", p.random.integers(-3000, 3001, [20, 3]).astype(np.int16), p.of(0.0004))
    p.state("memory", [144, 60], p.of(0.001))
    p.plain("svdf_b", p.random.integers(-2000000, 2000000, 10).astype(np.int32), p.of(0.001) * p.of(0.0004))
    p.node("svdf", "SVDF", ["rows", "feature", "time", "svdf_b", "memory"], [144, 10], 0.25, 5,
           {"rank": 2, "fusedActivationFunction": lite.ACTIVATIONS["RELU"]}, 3, rank=2)
    p.node("behind", "LOGISTIC", ["svdf"], [144, 10], 1 / 256, -128)
    return p


NETWORKS = {"images": images, "values": values, "filters": filters}
