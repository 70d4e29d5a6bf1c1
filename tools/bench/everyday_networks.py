#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes everyday image networks at their published sizes as ONNX, with random weights: what the five networks of
test/data do not show (inverted residuals, channel shuffle, squeeze and excite, wide Inception blocks).

  tools/bench/everyday_networks.py FOLDER     FOLDER/<name>.onnx of each, unless it is there
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test/tools/campaign"))
from zoo_net import Net  # noqa: E402


class ImageNet(Net):
    """Batch normalisation is folded into the convolutions, as deployed models have it."""

    def unit(self, x, cin, cout, k=1, stride=1, act=Net.relu, **more):
        y = self.conv(x, cin, cout, k, stride, **more)
        return act(self, y) if act else y

    def depthwise(self, x, c, k=3, stride=1, act=Net.relu):
        return self.unit(x, c, c, k, stride, act, group=c)

    def pool(self, x, k=3, stride=2, pad=1, kind="MaxPool", **more):
        return self.op(kind, x, kernel_shape=[k, k], strides=[stride, stride], pads=[pad] * 4, **more)

    def concat(self, *parts):
        return self.op("Concat", *parts, axis=1)


def inverted_residual(n, x, cin, hidden, cout, k, stride, act, excite=None):
    y = x if hidden == cin else n.unit(x, cin, hidden, act=act)
    y = n.depthwise(y, hidden, k, stride, act)
    if excite:
        y = excite(y, hidden)
    y = n.unit(y, hidden, cout, act=None)
    return n.op("Add", x, y) if stride == 1 and cin == cout else y


def mobilenet_v2(n):
    """Sandler et al., arXiv:1801.04381, table 2."""
    x, c = n.unit(n.input("image", 3, 224, 224), 3, 32, 3, 2, Net.relu6), 32
    for expand, width, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                         (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(count):
            x, c = inverted_residual(n, x, c, c * expand, width, 3, stride if i == 0 else 1, Net.relu6), width
    return n.head(n.unit(x, c, 1280, act=Net.relu6), 1280, 1000)


def mobilenet_v3_large(n):
    """Howard et al., arXiv:1905.02244, table 1."""
    def excite(y, c):
        inner = -(-c // 32) * 8
        s = n.unit(n.unit(n.op("GlobalAveragePool", y), c, inner), inner, c, act=None)
        return n.op("Mul", y, n.op("HardSigmoid", s, alpha=1 / 6, beta=0.5))

    def hswish(net, x):
        return net.op("HardSwish", x)

    x, c = n.unit(n.input("image", 3, 224, 224), 3, 16, 3, 2, hswish), 16
    for k, hidden, width, se, hard, stride in (
            (3, 16, 16, 0, 0, 1), (3, 64, 24, 0, 0, 2), (3, 72, 24, 0, 0, 1), (5, 72, 40, 1, 0, 2),
            (5, 120, 40, 1, 0, 1), (5, 120, 40, 1, 0, 1), (3, 240, 80, 0, 1, 2), (3, 200, 80, 0, 1, 1),
            (3, 184, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1), (3, 480, 112, 1, 1, 1), (3, 672, 112, 1, 1, 1),
            (5, 672, 160, 1, 1, 2), (5, 960, 160, 1, 1, 1), (5, 960, 160, 1, 1, 1)):
        x = inverted_residual(n, x, c, hidden, width, k, stride, hswish if hard else Net.relu, excite if se else None)
        c = width
    x = n.op("GlobalAveragePool", n.unit(x, c, 960, act=hswish))
    return n.head(n.unit(x, 960, 1280, act=hswish), 1280, 1000)


def efficientnet_b0(n):
    """Tan and Le, arXiv:1905.11946, table 1."""
    x, c = n.unit(n.input("image", 3, 224, 224), 3, 32, 3, 2, Net.silu), 32
    for expand, width, count, k, stride in ((1, 16, 1, 3, 1), (6, 24, 2, 3, 2), (6, 40, 2, 5, 2), (6, 80, 3, 3, 2),
                                            (6, 112, 3, 5, 1), (6, 192, 4, 5, 2), (6, 320, 1, 3, 1)):
        for i in range(count):
            narrow = c // 4

            def excite(y, hidden):
                s = n.unit(n.op("GlobalAveragePool", y), hidden, narrow, act=Net.silu)
                return n.op("Mul", y, n.op("Sigmoid", n.unit(s, narrow, hidden, act=None)))
            x = inverted_residual(n, x, c, c * expand, width, k, stride if i == 0 else 1, Net.silu, excite)
            c = width
    return n.head(n.unit(x, c, 1280, act=Net.silu), 1280, 1000)


def shufflenet_v2(n):
    """Ma et al., arXiv:1807.11164, table 5, 1x."""
    x, c, size = n.pool(n.unit(n.input("image", 3, 224, 224), 3, 24, 3, 2)), 24, 56
    for width, count in ((116, 4), (232, 8), (464, 4)):
        half, size = width // 2, size // 2
        for i in range(count):
            if i == 0:
                a = n.unit(n.depthwise(x, c, stride=2, act=None), c, half)
                b = n.unit(n.depthwise(n.unit(x, c, half), half, stride=2, act=None), half, half)
            else:
                a, b = n.op("Split", x, n.ints(half, half), outputs=2, axis=1)
                b = n.unit(n.depthwise(n.unit(b, half, half), half, act=None), half, half)
            x = n.op("Reshape", n.concat(a, b), n.ints(1, 2, half, size, size))
            x = n.op("Reshape", n.op("Transpose", x, perm=[0, 2, 1, 3, 4]), n.ints(1, width, size, size))
            c = width
    return n.head(n.unit(x, c, 1024), 1024, 1000)


def squeezenet_v1_1(n):
    """Iandola et al., arXiv:1602.07360, and the release 1.1 of its model."""
    x, c = n.pool(n.unit(n.input("image", 3, 224, 224), 3, 64, 3, 2, pads=[0] * 4), pad=0, ceil_mode=1), 64
    for i, (narrow, wide) in enumerate(((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256),
                                        (64, 256))):
        if i in (2, 4):
            x = n.pool(x, pad=0, ceil_mode=1)
        s = n.unit(x, c, narrow)
        x, c = n.concat(n.unit(s, narrow, wide), n.unit(s, narrow, wide, 3)), 2 * wide
    x = n.op("GlobalAveragePool", n.unit(x, c, 1000))
    return [n.op("Softmax", n.op("Flatten", x), axis=-1)]


def resnet18(n):
    """He et al., arXiv:1512.03385, table 1."""
    x, c = n.pool(n.unit(n.input("image", 3, 224, 224), 3, 64, 7, 2)), 64
    for width, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        for i in range(2):
            s = stride if i == 0 else 1
            y = n.unit(n.unit(x, c, width, 3, s), width, width, 3, act=None)
            short = x if s == 1 and c == width else n.unit(x, c, width, 1, s, act=None)
            x, c = n.relu(n.op("Add", y, short)), width
    return n.head(x, c, 1000)


def inception_v4(n):
    """Szegedy et al., arXiv:1602.07261, figures 3 to 9."""
    def chain(x, c, *steps):
        for width, k, *rest in steps:
            valid = rest and rest[-1] == "valid"
            more = {"pads": [0] * 4} if valid else {}
            x, c = n.unit(x, c, width, k, rest[0] if rest else 1, **more), width
        return x

    def average(x):
        return n.pool(x, stride=1, kind="AveragePool")

    x = chain(n.input("image", 3, 299, 299), 3, (32, 3, 2, "valid"), (32, 3, 1, "valid"), (64, 3))
    x = n.concat(n.pool(x, pad=0), chain(x, 64, (96, 3, 2, "valid")))
    x = n.concat(chain(x, 160, (64, 1), (96, 3, 1, "valid")),
                 chain(x, 160, (64, 1), (64, (7, 1)), (64, (1, 7)), (96, 3, 1, "valid")))
    x = n.concat(chain(x, 192, (192, 3, 2, "valid")), n.pool(x, pad=0))
    for _ in range(4):
        x = n.concat(chain(average(x), 384, (96, 1)), chain(x, 384, (96, 1)), chain(x, 384, (64, 1), (96, 3)),
                     chain(x, 384, (64, 1), (96, 3), (96, 3)))
    x = n.concat(n.pool(x, pad=0), chain(x, 384, (384, 3, 2, "valid")),
                 chain(x, 384, (192, 1), (224, 3), (256, 3, 2, "valid")))
    for _ in range(7):
        x = n.concat(chain(average(x), 1024, (128, 1)), chain(x, 1024, (384, 1)),
                     chain(x, 1024, (192, 1), (224, (1, 7)), (256, (7, 1))),
                     chain(x, 1024, (192, 1), (192, (1, 7)), (224, (7, 1)), (224, (1, 7)), (256, (7, 1))))
    x = n.concat(n.pool(x, pad=0), chain(x, 1024, (192, 1), (192, 3, 2, "valid")),
                 chain(x, 1024, (256, 1), (256, (1, 7)), (320, (7, 1)), (320, 3, 2, "valid")))
    for _ in range(3):
        a = n.unit(x, 1536, 384)
        b = chain(x, 1536, (384, 1), (448, (1, 3)), (512, (3, 1)))
        x = n.concat(chain(average(x), 1536, (256, 1)), n.unit(x, 1536, 256), n.unit(a, 384, 256, (1, 3)),
                     n.unit(a, 384, 256, (3, 1)), n.unit(b, 512, 256, (1, 3)), n.unit(b, 512, 256, (3, 1)))
    return n.head(x, 1536, 1000)


NETWORKS = {f.__name__: f for f in (mobilenet_v2, mobilenet_v3_large, efficientnet_b0, shufflenet_v2, squeezenet_v1_1,
                                    resnet18, inception_v4)}


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, build in NETWORKS.items():
        path = folder / f"{name}.onnx"
        if path.exists():
            continue
        net = ImageNet(1, "normal", 1)
        outputs = [helper.make_tensor_value_info(out, onnx.TensorProto.FLOAT, None) for out in build(net)]
        graph = helper.make_graph(net.nodes, name, net.inputs, outputs, net.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    np.seterr(all="raise")
    write(pathlib.Path(sys.argv[1]))
