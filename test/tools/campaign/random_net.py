# SPDX-License-Identifier: Apache-2.0
"""Random small networks whose blobs and constants have any magnitude from 1e-4 to 1e4 and more: residuals that dwarf
what is added to them, constants that cancel, sums that begin with a large bias. What is healthy must stay so there."""
import numpy as np
import onnx
from onnx import TensorProto, helper
from zoo_net import Net

RANGES = [(-1, 1), (0, 255), (1000, 1001), (-1e-3, 1e-3), (0, 1)]


class RandomNet(Net):
    """Blobs so far by name, with their shapes; `now` is what the next layer reads."""

    def __init__(self, seed, *shape):
        super().__init__(seed, "normal", 1)
        self.shapes, self.now = {self.input("x", *shape): shape}, "x"

    def one_of(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def chance(self, share):
        return self.rng.random() < share

    def scale(self):
        return 10 ** self.rng.uniform(-4, 4) if self.chance(0.35) else 1

    def normal(self, *shape):
        return self.const(self.rng.standard_normal(shape) * self.scale())

    def matrix(self, *shape, fan):
        values = self.rng.standard_normal(shape) / np.sqrt(fan) * self.scale()
        return self.const(np.abs(values) if self.chance(0.2) else values)

    def keep(self, blob, *shape):
        self.shapes[blob], self.now = shape, blob

    def same(self, blob):
        self.keep(blob, *self.shapes[self.now])

    def earlier(self):
        """A blob of this shape, at times a hundred times as large or more."""
        blob = self.one_of(*[b for b, shape in self.shapes.items() if shape == self.shapes[self.now]])
        return self.op("Mul", blob, self.const(100 * self.scale())) if self.chance(0.4) else blob

    def two(self, kind, a, b):
        self.same(self.op(kind, a, b) if self.chance(0.5) else self.op(kind, b, a))

    # Layers of any blob.
    def activate(self):
        kind = self.one_of("Relu", "Sigmoid", "Tanh", "HardSwish", "LeakyRelu", "Elu", "Softplus")
        self.same(self.op(kind, self.now))

    def add(self):
        self.two("Add", self.now, self.earlier())

    def subtract(self):
        self.two("Sub", self.now, self.earlier())

    def multiply(self):
        self.two("Mul", self.now, self.earlier())
        if self.chance(0.7):  # else large values soon overflow
            self.same(self.op("Sigmoid", self.now))

    def scaled(self):
        self.same(self.op(self.one_of("Mul", "Add", "Sub"), self.now, self.normal(*self.per_channel())))

    def softmax(self):
        self.same(self.op("Softmax", self.now, axis=self.one_of(1, -1)))

    # Of images.
    def convolve(self, depthwise=False):
        c, h, w = self.shapes[self.now]
        k, stride = self.one_of(1, 1, 3, 3, 5, 7), self.one_of(1, 1, 2)
        group = c if depthwise else self.one_of(1, 1, 1, *(g for g in (2, 4) if c % g == 0))
        out = c if depthwise else self.one_of(8, 16, 24, 40, 64)
        inputs = [self.now, self.matrix(out, c // group, k, k, fan=c // group * k * k)]
        inputs += [self.normal(out)] if self.chance(0.7) else []
        pad = k // 2
        y = self.op("Conv", *inputs, kernel_shape=[k, k], strides=[stride, stride], pads=[pad] * 4, group=group)
        self.keep(y, out, (h + 2 * pad - k) // stride + 1, (w + 2 * pad - k) // stride + 1)

    def convolve_depthwise(self):
        self.convolve(depthwise=True)

    def deconvolve(self):
        c, h, w = self.shapes[self.now]
        if h < 40:
            y = self.op("ConvTranspose", self.now, self.matrix(c, 8, 2, 2, fan=c), kernel_shape=[2, 2], strides=[2, 2])
            self.keep(y, 8, 2 * h, 2 * w)

    def normalise(self):
        c = self.shapes[self.now][0]
        by, var = (self.const(self.rng.uniform(low, high, c) * self.scale()) for low, high in ((0.1, 2), (0.01, 4)))
        self.same(self.op("BatchNormalization", self.now, by, self.normal(c), self.normal(c), var))

    def pool(self):
        self.same(self.op(self.one_of("MaxPool", "AveragePool"), self.now, kernel_shape=[3, 3], pads=[1] * 4))

    def concatenate(self):
        c, h, w = self.shapes[self.now]
        other = self.one_of(*[b for b, shape in self.shapes.items() if shape[1:] == (h, w)])
        self.keep(self.op("Concat", self.now, other, axis=1), c + self.shapes[other][0], h, w)

    # Of rows of tokens.
    def project(self):
        tokens, size = self.shapes[self.now]
        out = self.one_of(8, 24, 32, 64, 100)
        self.keep(self.op("MatMul", self.now, self.matrix(size, out, fan=size)), tokens, out)
        if self.chance(0.6):
            self.two("Add", self.now, self.normal(out))

    def norm(self):
        size = self.shapes[self.now][1]
        if self.chance(0.5):
            self.same(self.op("LayerNormalization", self.now, self.normal(size), self.normal(size), axis=-1))
        else:
            self.same(self.rms_norm(self.now, size))

    def gelus(self):
        self.same(self.gelu(self.now) if self.chance(0.5) else self.gelu_tanh(self.now))

    def attend(self):
        tokens, size = self.shapes[self.now]
        if size % 4 == 0:
            hidden = np.triu(np.full((tokens, tokens), self.one_of(-1e4, -1e9, -np.inf)), 1)
            self.same(self.attention(self.now, size, tokens, 4, self.const(hidden) if self.chance(0.5) else None))

    def gate(self):
        tokens, size = self.shapes[self.now]
        a, b = (self.op("MatMul", self.now, self.matrix(size, 32, fan=size)) for _ in range(2))
        self.keep(self.op("Mul", self.silu(a) if self.chance(0.5) else self.op("Sigmoid", a), b), tokens, 32)

    def centre(self):
        self.same(self.op("Sub", self.now, self.op("ReduceMean", self.now, axes=[self.one_of(1, 2)], keepdims=1)))

    def per_channel(self):
        shape = self.shapes[self.now]
        return (shape[0], 1, 1) if len(shape) == 3 else shape[1:]


IMAGES = ["convolve", "convolve", "convolve", "convolve_depthwise", "normalise", "activate", "add", "subtract",
          "multiply", "pool", "concatenate", "scaled", "scaled", "deconvolve", "softmax"]
TOKENS = ["project", "project", "project", "add", "add", "norm", "gelus", "activate", "attend", "scaled", "scaled",
          "softmax", "gate", "centre", "multiply"]


def build(seed):
    """The model, and an array for its input."""
    rng = np.random.default_rng(seed)
    images = seed % 2 == 0
    size = int(rng.choice([5, 7, 14, 19, 28, 33]))
    shape = ((int(rng.choice([3, 8, 16, 24, 33, 64])), size, int(rng.choice([size, size, 13]))) if images else
             (int(rng.choice([1, 2, 7, 16, 33, 64])), int(rng.choice([8, 24, 32, 48, 64, 100]))))
    net = RandomNet(seed, *shape)
    for _ in range(int(rng.integers(3, 9))):
        getattr(net, net.one_of(*(IMAGES if images else TOKENS)))()
    if net.now == "x":
        net.activate()
    read = {name for node in net.nodes for name in node.input}
    ends = [name for node in net.nodes for name in node.output if name not in read]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ends]
    graph = helper.make_graph(net.nodes, f"random_{seed}", net.inputs, outputs, net.constants)
    low, high = RANGES[int(rng.integers(len(RANGES)))]
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model), rng.uniform(low, high, (1, *shape)).astype(np.float32)
