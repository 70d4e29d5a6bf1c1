# SPDX-License-Identifier: Apache-2.0
"""Networks of images: convolutional, and transformers of patches."""
import numpy as np


def vgg(n):
    x, c = n.input("image", 3, 48, 48), 3
    for width in (16, 32, 64):
        for _ in range(2):
            x, c = n.relu(n.conv(x, c, width)), width
        x = n.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = n.relu(n.gemm(n.op("Flatten", x), 64 * 36, 64))
    return [n.op("Softmax", n.gemm(x, 64, 10), axis=-1)]


def resnet(n, bottleneck=False):
    x = n.relu(n.bn(n.conv(n.input("image", 3, 64, 64), 3, 16, 7, 2, bias=False), 16))
    x, c = n.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), 16
    for width, stride in ((16, 1), (32, 2), (64, 2)):
        for block in range(2):
            s = stride if block == 0 else 1
            if bottleneck:
                y = n.relu(n.bn(n.conv(x, c, width // 2, 1, bias=False), width // 2))
                y = n.relu(n.bn(n.conv(y, width // 2, width // 2, 3, s, bias=False), width // 2))
                y = n.bn(n.conv(y, width // 2, width, 1, bias=False), width)
            else:
                y = n.relu(n.bn(n.conv(x, c, width, 3, s, bias=False), width))
                y = n.bn(n.conv(y, width, width, bias=False), width)
            short = x if c == width and s == 1 else n.bn(n.conv(x, c, width, 1, s, bias=False), width)
            x, c = n.relu(n.op("Add", y, short)), width
    return n.head(x, c)


def mobilenet_v2(n):
    x, c = n.relu6(n.conv(n.input("image", 3, 56, 56), 3, 16, 3, 2)), 16
    for width, stride in ((16, 1), (24, 2), (24, 1), (40, 2), (40, 1)):
        y = n.relu6(n.conv(x, c, c * 4, 1))
        y = n.relu6(n.conv(y, c * 4, c * 4, 3, stride, group=c * 4))
        y = n.conv(y, c * 4, width, 1)
        x, c = (n.op("Add", x, y) if stride == 1 and c == width else y), width
    return n.head(x, c)


def squeeze_excite(n, x, c, act):
    s = n.op("GlobalAveragePool", x)
    s = act(n.conv(s, c, c // 4, 1))
    return n.op("Mul", x, n.op("HardSigmoid", n.conv(s, c // 4, c, 1), alpha=1 / 6, beta=0.5))


def mobilenet_v3(n):
    x, c = n.hswish(n.conv(n.input("image", 3, 56, 56), 3, 16, 3, 2)), 16
    for width, k, stride in ((16, 3, 1), (24, 5, 2), (40, 5, 1)):
        y = n.hswish(n.conv(x, c, c * 4, 1))
        y = squeeze_excite(n, n.hswish(n.conv(y, c * 4, c * 4, k, stride, group=c * 4)), c * 4, n.relu)
        x, c = n.conv(y, c * 4, width, 1), width
    return n.head(n.op("HardSwish", x), c)


def efficientnet(n):
    x, c = n.silu(n.bn(n.conv(n.input("image", 3, 56, 56), 3, 16, 3, 2, bias=False), 16)), 16
    for width, k, stride in ((16, 3, 1), (24, 3, 2), (40, 5, 2)):
        y = n.silu(n.bn(n.conv(x, c, c * 4, 1, bias=False), c * 4))
        y = n.silu(n.bn(n.conv(y, c * 4, c * 4, k, stride, group=c * 4, bias=False), c * 4))
        s = n.op("ReduceMean", y, axes=[2, 3])
        s = n.op("Sigmoid", n.conv(n.silu(n.conv(s, c * 4, c, 1)), c, c * 4, 1))
        y = n.bn(n.conv(n.op("Mul", s, y), c * 4, width, 1, bias=False), width)
        x, c = y, width
    return n.head(x, c)


def shufflenet(n):
    x = n.relu(n.conv(n.input("image", 3, 48, 48), 3, 24, 3, 2))
    for _ in range(3):
        a, b = n.op("Split", x, n.ints(12, 12), outputs=2, axis=1)
        b = n.relu(n.conv(n.conv(n.relu(n.conv(b, 12, 12, 1)), 12, 12, 3, group=12), 12, 12, 1))
        x = n.op("Concat", a, b, axis=1)
        x = n.op("Reshape", x, n.ints(n.batch, 2, 12, 24, 24))
        x = n.op("Reshape", n.op("Transpose", x, perm=[0, 2, 1, 3, 4]), n.ints(n.batch, 24, 24, 24))
    return n.head(x, 24)


def densenet(n):
    x, c = n.conv(n.input("image", 3, 40, 40), 3, 16, 3, 2), 16
    for _ in range(2):
        for _ in range(4):
            y = n.conv(n.relu(n.bn(x, c)), c, 32, 1)
            y = n.conv(n.relu(n.bn(y, 32)), 32, 12, 3)
            x, c = n.op("Concat", x, y, axis=1), c + 12
        x = n.op("AveragePool", n.conv(n.relu(n.bn(x, c)), c, c // 2, 1), kernel_shape=[2, 2], strides=[2, 2])
        c //= 2
    return n.head(x, c)


def inception(n):
    x, c = n.relu(n.conv(n.input("image", 3, 51, 51), 3, 32, 3, 2, pads=[0] * 4)), 32
    for _ in range(2):
        a = n.relu(n.conv(x, c, 16, 1))
        b = n.relu(n.conv(n.relu(n.conv(n.relu(n.conv(x, c, 16, 1)), 16, 16, (1, 7))), 16, 24, (7, 1)))
        d = n.relu(n.conv(n.relu(n.conv(n.relu(n.conv(x, c, 16, 1)), 16, 24, 3)), 24, 24, 3))
        e = n.relu(n.conv(n.op("AveragePool", x, kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4), c, 16, 1))
        x, c = n.op("Concat", a, b, d, e, axis=1), 80
    return n.head(x, c)


def squeezenet(n):
    x, c = n.relu(n.conv(n.input("image", 3, 63, 63), 3, 24, 7, 2, pads=[0] * 4)), 24
    x = n.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    for width in (24, 32, 48):
        s = n.relu(n.conv(x, c, 8, 1))
        x, c = n.op("Concat", n.relu(n.conv(s, 8, width, 1)), n.relu(n.conv(s, 8, width, 3)), axis=1), 2 * width
    return n.head(n.relu(n.conv(x, c, 10, 1)), 10)


def alexnet(n):
    x = n.relu(n.conv(n.input("image", 3, 67, 67), 3, 24, 11, 4, pads=[2] * 4))
    x = n.op("MaxPool", n.op("LRN", x, size=5, alpha=1e-4, beta=0.75, bias=1.0), kernel_shape=[3, 3], strides=[2, 2])
    x = n.relu(n.conv(x, 24, 32, 5, group=2))
    x = n.op("LRN", x, size=5, alpha=1e-4, beta=0.75, bias=2.0)
    return n.head(n.relu(n.conv(x, 32, 48, 3)), 48)


def unet(n):
    x = n.input("image", 3, 48, 48)
    a = n.relu(n.conv(n.relu(n.conv(x, 3, 16)), 16, 16))
    b = n.relu(n.conv(n.op("MaxPool", a, kernel_shape=[2, 2], strides=[2, 2]), 16, 32))
    c = n.relu(n.conv(n.op("MaxPool", b, kernel_shape=[2, 2], strides=[2, 2]), 32, 64))
    for skip, cin, cout in ((b, 64, 32), (a, 32, 16)):
        u = n.op("ConvTranspose", c, n.weight(cin, cout, 2, 2, fan=cin), n.const(n.rng.standard_normal(cout) * 0.1),
                 strides=[2, 2])
        c = n.relu(n.conv(n.op("Concat", u, skip, axis=1), 2 * cout, cout))
    return [n.op("Sigmoid", n.conv(c, 16, 1, 1))]


def fpn(n):
    x = n.relu(n.conv(n.input("image", 3, 64, 64), 3, 16, 3, 2))
    a = n.relu(n.conv(x, 16, 32, 3, 2))
    b = n.relu(n.conv(a, 32, 32, 3, 2))
    up = n.op("Resize", b, "", n.const([1, 1, 2, 2]), mode="nearest", coordinate_transformation_mode="asymmetric",
              nearest_mode="floor")
    c = n.op("Add", n.conv(a, 32, 32, 1), up)
    up = n.op("Resize", c, "", n.const([1, 1, 2, 2]), mode="linear", coordinate_transformation_mode="half_pixel")
    d = n.op("Add", n.conv(x, 16, 32, 1), up)
    return [n.conv(d, 32, 8), n.op("Sigmoid", n.conv(b, 32, 8))]


def deeplab(n):
    x = n.relu(n.conv(n.input("image", 3, 49, 49), 3, 24, 3, 2))
    branches = [n.relu(n.conv(x, 24, 16, 1))] + [n.relu(n.conv(x, 24, 16, 3, dilation=d)) for d in (2, 4, 6)]
    pooled = n.relu(n.conv(n.op("GlobalAveragePool", x), 24, 16, 1))
    branches.append(n.op("Resize", pooled, "", "", n.ints(n.batch, 16, 25, 25), mode="linear",
                         coordinate_transformation_mode="align_corners"))
    x = n.relu(n.conv(n.op("Concat", *branches, axis=1), 80, 24, 1))
    x = n.op("Resize", n.conv(x, 24, 5, 1), "", "", n.ints(n.batch, 5, 49, 49), mode="linear",
             coordinate_transformation_mode="align_corners")
    return [n.op("Softmax", x, axis=1)]


def yolo(n):
    def c3(x, c):
        a = n.silu(n.conv(x, c, c // 2, 1))
        b = n.op("Add", a, n.silu(n.conv(n.silu(n.conv(a, c // 2, c // 2, 1)), c // 2, c // 2)))
        return n.silu(n.conv(n.op("Concat", b, n.silu(n.conv(x, c, c // 2, 1)), axis=1), c, c, 1))
    x = n.silu(n.conv(n.input("image", 3, 64, 64), 3, 16, 6, 2, pads=[2] * 4))
    x = c3(n.silu(n.conv(x, 16, 32, 3, 2)), 32)
    pools = [x]
    for _ in range(3):
        pools.append(n.op("MaxPool", pools[-1], kernel_shape=[5, 5], strides=[1, 1], pads=[2] * 4))
    x = n.silu(n.conv(n.op("Concat", *pools, axis=1), 128, 32, 1))
    y = n.op("Transpose", n.op("Reshape", n.conv(x, 32, 3 * 9, 1), n.ints(n.batch, 3, 9, 256)), perm=[0, 1, 3, 2])
    y = n.op("Sigmoid", y)
    xy, wh, rest = n.op("Split", y, n.ints(2, 2, 5), outputs=3, axis=3)
    xy = n.op("Mul", n.op("Add", n.op("Mul", xy, n.const(2)), n.const(n.rng.integers(0, 16, (1, 1, 256, 2)))),
              n.const(4))
    wh = n.op("Mul", n.op("Pow", n.op("Mul", wh, n.const(2)), n.const(2)), n.const(n.rng.uniform(4, 32, (1, 3, 1, 2))))
    return [n.op("Concat", xy, wh, rest, axis=3)]


def convnext(n):
    x, c = n.conv(n.input("image", 3, 48, 48), 3, 24, 4, 4, pads=[0] * 4), 24
    for _ in range(2):
        y = n.op("Transpose", n.conv(x, c, c, 7, group=c), perm=[0, 2, 3, 1])
        y = n.linear(n.gelu(n.linear(n.layer_norm_parts(y, c), c, 4 * c)), 4 * c, c)
        y = n.op("Mul", y, n.const(n.rng.uniform(0.5, 1, c)))
        x = n.op("Add", x, n.op("Transpose", y, perm=[0, 3, 1, 2]))
    return n.head(x, c)


def style(n):
    x = n.op("Pad", n.input("image", 3, 40, 40), n.ints(0, 0, 4, 4, 0, 0, 4, 4), mode="reflect")

    def norm(x, c):
        return n.op("InstanceNormalization", x, n.const(n.rng.uniform(0.5, 1.5, c)),
                    n.const(n.rng.standard_normal(c) * 0.1), epsilon=1e-5)
    x = n.relu(norm(n.conv(x, 3, 16, 9, pads=[0] * 4), 16))
    x = n.relu(norm(n.conv(x, 16, 32, 3, 2), 32))
    x = n.op("Add", x, norm(n.conv(n.relu(norm(n.conv(x, 32, 32), 32)), 32, 32), 32))
    x = n.op("ConvTranspose", x, n.weight(32, 16, 3, 3, fan=288), strides=[2, 2], pads=[1] * 4, output_padding=[1, 1])
    return [n.op("Tanh", n.conv(n.relu(norm(x, 16)), 16, 3, 9))]


def super_resolution(n):
    x = n.op("PRelu", n.conv(n.input("image", 1, 30, 30), 1, 24, 5), n.const(n.rng.uniform(0.1, 0.4, (24, 1, 1))))
    for _ in range(2):
        x = n.op("Add", x, n.conv(n.op("LeakyRelu", n.conv(x, 24, 24), alpha=0.2), 24, 24))
    return [n.op("DepthToSpace", n.conv(x, 24, 9), blocksize=3, mode="CRD")]


def vit(n, c=48):
    x = n.conv(n.input("image", 3, 40, 40), 3, c, 8, 8, pads=[0] * 4)
    x = n.op("Transpose", n.op("Reshape", x, n.ints(n.batch, c, 25)), perm=[0, 2, 1])
    first = n.op("Expand", n.const(n.rng.standard_normal((1, 1, c))), n.ints(n.batch, 1, c))
    x = n.op("Add", n.op("Concat", first, x, axis=1), n.const(n.rng.standard_normal((1, 26, c)) * 0.3))
    for _ in range(2):
        x = n.op("Add", x, n.attention(n.layer_norm_parts(x, c), c, 26, 3))
        x = n.op("Add", x, n.linear(n.gelu(n.linear(n.layer_norm_parts(x, c), c, 4 * c)), 4 * c, c))
    return [n.gemm(n.op("Gather", n.layer_norm(x, c), n.const(0, np.int64), axis=1), c, 10)]


def swin(n, c=32):
    x = n.op("Transpose", n.conv(n.input("image", 3, 32, 32), 3, c, 4, 4, pads=[0] * 4), perm=[0, 2, 3, 1])
    x = n.op("Concat", n.op("Slice", x, n.ints(2), n.ints(8), n.ints(1)),
             n.op("Slice", x, n.ints(0), n.ints(2), n.ints(1)), axis=1)
    w = n.op("Transpose", n.op("Reshape", x, n.ints(n.batch, 2, 4, 2, 4, c)), perm=[0, 1, 3, 2, 4, 5])
    w = n.op("Reshape", w, n.ints(n.batch * 4, 16, c))
    batch, n.batch = n.batch, n.batch * 4
    w = n.op("Add", w, n.attention(n.layer_norm(w, c), c, 16, 2, n.const(n.rng.standard_normal((1, 2, 16, 16)) * 0.1)))
    n.batch = batch
    x = n.op("Reshape", n.op("Transpose", n.op("Reshape", w, n.ints(n.batch, 2, 2, 4, 4, c)), perm=[0, 1, 3, 2, 4, 5]),
             n.ints(n.batch, 8, 8, c))
    parts = [n.op("Slice", x, n.ints(i, j), n.ints(8, 8), n.ints(1, 2), n.ints(2, 2)) for i in (0, 1) for j in (0, 1)]
    x = n.linear(n.layer_norm(n.op("Concat", *parts, axis=3), 4 * c), 4 * c, 2 * c, bias=False)
    return [n.op("ReduceMean", x, axes=[1, 2], keepdims=0)]


def mixer(n, c=40):
    x = n.conv(n.input("image", 3, 32, 32), 3, c, 4, 4, pads=[0] * 4)
    x = n.op("Transpose", n.op("Reshape", x, n.ints(n.batch, c, 64)), perm=[0, 2, 1])
    y = n.op("Transpose", n.layer_norm(x, c), perm=[0, 2, 1])
    x = n.op("Add", x, n.op("Transpose", n.linear(n.gelu(n.linear(y, 64, 96)), 96, 64), perm=[0, 2, 1]))
    x = n.op("Add", x, n.linear(n.gelu(n.linear(n.layer_norm(x, c), c, 120)), 120, c))
    return [n.gemm(n.op("ReduceMean", x, axes=[1], keepdims=0), c, 10)]


def detection(n):
    """Indices, comparisons and a TopK behind a small network."""
    x = n.relu(n.conv(n.input("image", 3, 32, 32), 3, 16, 3, 2))
    scores = n.op("Reshape", n.op("Sigmoid", n.conv(x, 16, 4, 1)), n.ints(n.batch, 4, 256))
    best = n.op("ArgMax", scores, axis=1, keepdims=0)
    top, where = n.op("TopK", n.op("ReduceMax", scores, axes=[1], keepdims=0), n.ints(10), outputs=2, axis=1)
    boxes = n.op("Reshape", n.conv(x, 16, 4, 1), n.ints(n.batch, 4, 256))
    index = n.op("Expand", n.op("Unsqueeze", where, n.ints(1)), n.ints(n.batch, 4, 10))
    kept = n.op("GatherElements", boxes, index, axis=2)
    masked = n.op("Where", n.op("Greater", top, n.const(0.5)), top, n.const(-1))
    return [best, kept, masked]


def pose(n):
    """Soft-argmax: an exponential, sums over a plane, a product with coordinates."""
    x = n.relu(n.conv(n.input("image", 3, 48, 48), 3, 24, 3, 2))
    x = n.op("Reshape", n.conv(x, 24, 7, 3), n.ints(n.batch, 7, 576))
    p = n.op("Softmax", x, axis=-1)
    return [n.op("MatMul", p, n.const(np.stack(np.meshgrid(np.arange(24), np.arange(24)), -1).reshape(576, 2)))]


def face(n):
    x, c = n.op("PRelu", n.bn(n.conv(n.input("image", 3, 40, 40), 3, 16, bias=False), 16),
                n.const(n.rng.uniform(0.1, 0.4, (16, 1, 1)))), 16
    x = n.op("PRelu", n.bn(n.conv(x, 16, 32, 3, 2, bias=False), 32), n.const(n.rng.uniform(0.1, 0.4, (32, 1, 1))))
    x = n.conv(n.conv(x, 32, 32, 20, group=32, pads=[0] * 4), 32, 64, 1)
    x = n.op("Flatten", x)
    return [n.op("Div", x, n.op("Clip", n.op("ReduceL2", x, axes=[1]), n.const(1e-12)))]


def group_norm(n):
    x = n.conv(n.input("image", 4, 32, 32), 4, 32)
    for _ in range(2):
        y = n.op("Reshape", x, n.ints(n.batch, 8, -1))
        y = n.op("InstanceNormalization", y, n.const(np.ones(8)), n.const(np.zeros(8)), epsilon=1e-5)
        y = n.op("Reshape", y, n.ints(n.batch, 32, 32, 32))
        y = n.op("Add", n.op("Mul", y, n.const(n.rng.uniform(0.5, 1.5, (32, 1, 1)))),
                 n.const(n.rng.standard_normal((32, 1, 1)) * 0.1))
        x = n.op("Add", x, n.conv(n.silu(y), 32, 32))
    return [n.conv(x, 32, 4)]
