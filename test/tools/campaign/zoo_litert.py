# SPDX-License-Identifier: Apache-2.0
"""Small networks for LiteRT: each is written twice, operator by operator, as .tflite (NHWC) and as .onnx (NCHW), with
the same names.

    zoo_litert.NETWORKS: name -> function(Dual) that returns the output
    zoo_litert.build(name, weights, batch, seed, path): writes path.tflite and path.onnx; returns the input's NCHW shape
"""
import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save

import litert_network
from zoo_net import Net


class Dual:
    """A graph under construction in both forms. Shapes are NCHW; tensors of rank 4 are NHWC in the .tflite."""

    def __init__(self, seed, weights, batch):
        self.net = Net(seed, weights, batch)  # draws the weights
        self.rng, self.batch = self.net.rng, batch
        self.lite, self.nodes, self.constants, self.shapes, self.count = litert_network.Lite(), [], [], {}, 0

    def name(self, kind):
        self.count += 1
        return f"{kind.lower()}_{self.count}"

    def turned(self, shape):
        return [shape[0], *shape[2:], shape[1]] if len(shape) == 4 else list(shape)

    def input(self, *shape):
        self.shapes["x"] = [self.batch, *shape]
        self.lite.tensor("x", self.turned(self.shapes["x"]))
        return "x"

    def drawn(self, *shape, fan):
        self.net.weight(*shape, fan=fan)
        return numpy_helper.to_array(self.net.constants.pop())

    def to_lite(self, values, dtype=np.float32):
        name = self.name("lite")
        self.lite.constant(name, np.ascontiguousarray(np.asarray(values, dtype)))
        return name

    def to_onnx(self, values, dtype=np.float32):
        name = self.name("const")
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def both(self, lite, lite_reads, onnx, onnx_reads, shape, attributes=None, fused="", **options):
        """One operator; `fused`: its activation, which is a node of its own in the .onnx and bears the name."""
        made = self.name(fused or onnx)
        self.lite.op(lite, lite_reads, made, self.turned(shape), fused=fused, **options)
        before = made if not fused else made + "_before"
        self.nodes.append(helper.make_node(onnx, onnx_reads, [before], name=before, **(attributes or {})))
        if fused:
            extra = [self.to_onnx(0), self.to_onnx(6)] if fused == "RELU6" else []
            kind = {"RELU": "Relu", "RELU6": "Clip"}[fused]
            self.nodes.append(helper.make_node(kind, [before, *extra], [made], name=made))
        self.shapes[made] = list(shape)
        return made

    def same(self, lite, onnx, *reads, **attributes):
        """An element-wise operator of tensors of one shape."""
        return self.both(lite, list(reads), onnx, list(reads), self.shapes[reads[0]], attributes)

    def conv(self, x, cout, k=3, stride=1, fused="", depthwise=False):
        batch, cin, *size = self.shapes[x]
        cout = cin if depthwise else cout
        weight = self.drawn(cout, 1 if depthwise else cin, k, k, fan=k * k * (1 if depthwise else cin))
        bias = self.rng.standard_normal(cout) * 0.1
        out = [-(-s // stride) for s in size]
        total = [max((o - 1) * stride + k - s, 0) for o, s in zip(out, size)]  # TensorFlow's SAME
        pads = [t // 2 for t in total] + [t - t // 2 for t in total]
        lite = weight.transpose(1, 2, 3, 0) if depthwise else weight.transpose(0, 2, 3, 1)
        return self.both("DEPTHWISE_CONV_2D" if depthwise else "CONV_2D", [x, self.to_lite(lite), self.to_lite(bias)],
                         "Conv", [x, self.to_onnx(weight), self.to_onnx(bias)], [batch, cout, *out],
                         {"pads": pads, "strides": [stride] * 2, "group": cin if depthwise else 1}, fused,
                         strideW=stride, strideH=stride)

    def up(self, x, cout):
        """A transposed convolution of 2x2, stride 2."""
        batch, cin, h, w = self.shapes[x]
        weight, bias = self.drawn(cin, cout, 2, 2, fan=cin), self.rng.standard_normal(cout) * 0.1
        shape = [batch, cout, 2 * h, 2 * w]
        return self.both("TRANSPOSE_CONV", [self.to_lite(self.turned(shape), np.int32),
                                            self.to_lite(weight.transpose(1, 2, 3, 0)), x, self.to_lite(bias)],
                         "ConvTranspose", [x, self.to_onnx(weight), self.to_onnx(bias)], shape, {"strides": [2, 2]})

    def pool(self, x, kind="max"):
        batch, c, h, w = self.shapes[x]
        attributes = {"kernel_shape": [2, 2], "strides": [2, 2]}
        return self.both(f"{'MAX' if kind == 'max' else 'AVERAGE'}_POOL_2D", [x],
                         "MaxPool" if kind == "max" else "AveragePool", [x], [batch, c, h // 2, w // 2], attributes)

    def resize(self, x, h, w, mode="linear", corners=False):
        batch, c, _, _ = self.shapes[x]
        kind = "RESIZE_BILINEAR" if mode == "linear" else "RESIZE_NEAREST_NEIGHBOR"
        coordinates = "align_corners" if corners else "half_pixel" if mode == "linear" else "asymmetric"
        return self.both(kind, [x, self.to_lite([h, w], np.int32)], "Resize",
                         [x, "", "", self.to_onnx([batch, c, h, w], np.int64)], [batch, c, h, w],
                         {"mode": mode, "coordinate_transformation_mode": coordinates, "nearest_mode": "floor"},
                         alignCorners=corners, halfPixelCenters=coordinates == "half_pixel")

    def concat(self, *reads):
        shape = list(self.shapes[reads[0]])
        shape[1] = sum(self.shapes[r][1] for r in reads)
        return self.both("CONCATENATION", list(reads), "Concat", list(reads), shape, {"axis": 1}, axis=3)

    def mean(self, x, axes=(2, 3)):
        """Over the map of an image, or the last axis of tokens; kept as 1."""
        shape = [1 if i in axes else n for i, n in enumerate(self.shapes[x])]
        lite = [{1: 3, 2: 1, 3: 2}[a] if len(shape) == 4 else a for a in axes]
        return self.both("MEAN", [x, self.to_lite(lite, np.int32)], "ReduceMean", [x], shape, {"axes": list(axes)})

    def dense(self, x, cout, fused=""):
        cin = self.shapes[x][-1]
        weight, bias = self.drawn(cin, cout, fan=cin), self.rng.standard_normal(cout) * 0.1
        made = self.name("dense")
        shape = [*self.shapes[x][:-1], cout]
        self.lite.op("FULLY_CONNECTED", [x, self.to_lite(weight.T), self.to_lite(bias)], made, shape, fused=fused)
        last = made if not fused else made + "_before"
        self.nodes += [helper.make_node("MatMul", [x, self.to_onnx(weight)], [made + "_product"],
                                        name=made + "_product"),
                       helper.make_node("Add", [made + "_product", self.to_onnx(bias)], [last], name=last)]
        if fused:
            self.nodes.append(helper.make_node("Relu", [last], [made], name=made))
        self.shapes[made] = shape
        return made

    def with_constant(self, lite, onnx, x, values):
        """x and a number, or a vector along the last axis."""
        return self.both(lite, [x, self.to_lite(values)], onnx, [x, self.to_onnx(values)], self.shapes[x])

    def flat(self, x):
        """Of a map of 1x1."""
        shape = [self.batch, int(np.prod(self.shapes[x][1:]))]
        return self.both("RESHAPE", [x, self.to_lite(shape, np.int32)], "Reshape", [x, self.to_onnx(shape, np.int64)],
                         shape)

    def product(self, a, b, turned=False):
        """Of tokens: a b, or a b^T."""
        shape = [*self.shapes[a][:2], self.shapes[b][1 if turned else 2]]
        reads = [a, b]
        if turned:
            reads[1] = self.name("turned")
            self.nodes.append(helper.make_node("Transpose", [b], [reads[1]], name=reads[1], perm=[0, 2, 1]))
        return self.both("BATCH_MATMUL", [a, b], "MatMul", reads, shape, adjY=turned)

    def layer_norm(self, x):
        c, last = self.shapes[x][-1], (len(self.shapes[x]) - 1,)
        mean = self.mean(x, last)
        d = self.both("SUB", [x, mean], "Sub", [x, mean], self.shapes[x])
        v = self.mean(self.same("MUL", "Mul", d, d), last)
        root = self.same("SQRT", "Sqrt", self.with_constant("ADD", "Add", v, 1e-5))
        y = self.both("DIV", [d, root], "Div", [d, root], self.shapes[x])
        y = self.with_constant("MUL", "Mul", y, self.rng.uniform(0.5, 1.5, c))
        return self.with_constant("ADD", "Add", y, self.rng.standard_normal(c) * 0.1)

    def softmax(self, x):
        return self.same("SOFTMAX", "Softmax", x, axis=-1)

    def head(self, x, classes=10):
        return self.softmax(self.dense(self.flat(self.mean(x)), classes))


def vgg(n):
    x = n.input(3, 40, 40)
    for width in (16, 32, 48):
        x = n.pool(n.conv(n.conv(x, width, fused="RELU"), width, fused="RELU"))
    return n.head(x)


def resnet(n):
    x = n.pool(n.conv(n.input(3, 48, 48), 16, 7, 2, fused="RELU"))
    for width, stride in ((16, 1), (32, 2), (48, 2)):
        short = x if stride == 1 else n.conv(x, width, 1, stride)
        y = n.conv(n.conv(x, width, 3, stride, fused="RELU"), width)
        x = n.same("RELU", "Relu", n.same("ADD", "Add", y, short))
    return n.head(x)


def mobilenet(n):
    def hswish(x):
        return n.same("HARD_SWISH", "HardSwish", x)
    x = hswish(n.conv(n.input(3, 48, 48), 16, 3, 2))
    for width, k, stride in ((16, 3, 1), (24, 5, 2), (40, 5, 1)):
        y = n.conv(n.conv(x, 4 * n.shapes[x][1], 1, fused="RELU6"), 0, k, stride, fused="RELU6", depthwise=True)
        gate = n.same("LOGISTIC", "Sigmoid", n.conv(n.conv(n.mean(y), 8, 1, fused="RELU"), n.shapes[y][1], 1))
        x = n.conv(n.both("MUL", [y, gate], "Mul", [y, gate], n.shapes[y]), width, 1)
    return n.head(hswish(x))


def unet(n):
    a = n.conv(n.input(3, 40, 40), 16, fused="RELU")
    b = n.conv(n.pool(a), 24, fused="RELU")
    c = n.conv(n.pool(b, "average"), 32, fused="RELU")
    c = n.conv(n.concat(n.up(c, 24), b), 24, fused="RELU")
    return n.same("LOGISTIC", "Sigmoid", n.conv(n.concat(n.up(c, 16), a), 1, 1))


def segmentation(n):
    x = n.conv(n.conv(n.input(3, 33, 33), 16, 3, 2, fused="RELU"), 24, fused="RELU")
    x = n.concat(n.resize(n.mean(x), 17, 17, "nearest"), n.resize(n.pool(x), 17, 17), x)
    x = n.resize(n.conv(x, 5, 1), 33, 33, corners=True)
    return n.same("TANH", "Tanh", x)


def transformer(n, c=48):
    x = n.dense(n.input(24, 20), c)
    for _ in range(2):
        y = n.layer_norm(x)
        for _ in range(2):  # heads
            q, k, v = (n.dense(y, 16) for _ in range(3))
            scores = n.with_constant("MUL", "Mul", n.product(q, k, turned=True), 0.25)
            x = n.same("ADD", "Add", x, n.dense(n.product(n.softmax(scores), v), c))
        x = n.same("ADD", "Add", x, n.dense(n.dense(n.layer_norm(x), 4 * c, "RELU"), c))
    return n.dense(n.layer_norm(x), 7)


def tabular(n):
    x = n.with_constant("MUL", "Mul", n.with_constant("SUB", "Sub", n.input(200), n.rng.standard_normal(200)),
                        n.rng.uniform(0.1, 10, 200))
    x = n.same("ELU", "Elu", n.dense(x, 96))
    x = n.same("TANH", "Tanh", n.dense(x, 64))
    return n.same("LOG_SOFTMAX", "LogSoftmax", n.dense(x, 9))


def recurrent(n, steps=12, size=24):
    """LiteRT has the batch before the steps, ONNX the other way round."""
    x = n.dense(n.input(steps, 10), 16)
    weight, again = n.drawn(size, 16, fan=48), n.drawn(size, size, fan=3 * size)
    bias = n.rng.standard_normal(size) * 0.1
    made, state = n.name("rnn"), n.name("state")
    n.lite.state(state, [n.batch, size])
    n.lite.op("UNIDIRECTIONAL_SEQUENCE_RNN", [x, n.to_lite(weight), n.to_lite(again), n.to_lite(bias), state], made,
              [n.batch, steps, size], fused="TANH")
    parts = [n.name("part") for _ in range(3)]
    n.nodes += [helper.make_node("Transpose", [x], [parts[0]], name=parts[0], perm=[1, 0, 2]),
                helper.make_node("RNN", [parts[0], n.to_onnx(weight[None]), n.to_onnx(again[None]),
                                         n.to_onnx(np.concatenate([bias, 0 * bias])[None])], [parts[1]],
                                 name=parts[1], hidden_size=size),
                helper.make_node("Squeeze", [parts[1], n.to_onnx([1], np.int64)], [parts[2]], name=parts[2]),
                helper.make_node("Transpose", [parts[2]], [made], name=made, perm=[1, 0, 2])]
    n.shapes[made] = [n.batch, steps, size]
    return n.dense(made, 6)


NETWORKS = {"vgg": vgg, "resnet": resnet, "mobilenet": mobilenet, "unet": unet, "segmentation": segmentation,
            "transformer": transformer, "tabular": tabular, "recurrent": recurrent}


def build(name, weights, batch, seed, path):
    dual = Dual([seed, list(NETWORKS).index(name)], weights, batch)
    output = NETWORKS[name](dual)
    dual.lite.save(path.with_suffix(".tflite"), ["x"], [output])
    shape = dual.shapes["x"]
    graph = helper.make_graph(dual.nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info(output, TensorProto.FLOAT, dual.shapes[output])],
                              dual.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model)
    save(model, path.with_suffix(".onnx"))
    return shape
