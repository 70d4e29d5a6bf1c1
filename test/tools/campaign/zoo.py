"""Some forty small networks of the kinds that people deploy, as ONNX: convolutional, transformers, recurrent, resizing.
Every one is made of what its family is known for; sizes are such that blocked layouts, tiles' rests and Winograd are
met.

    zoo.NETWORKS: name -> function(Net) that returns the network's output tensors
    zoo.build(name, weights="normal", batch=1): the model, every node named
"""
import numpy as np
from onnx import TensorProto, ValueInfoProto, checker, helper, numpy_helper, shape_inference

OPSET = 17


class Net:
    """A graph under construction. Every method adds nodes and returns the name of its output."""

    def __init__(self, seed, weights, batch):
        self.rng = np.random.default_rng(seed)
        self.kind, self.batch = weights, batch
        self.nodes, self.constants, self.inputs, self.count = [], [], [], 0

    def input(self, name, *shape, dtype=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, [self.batch, *shape]))
        return name

    def name(self, kind):
        self.count += 1
        return f"{kind.lower()}_{self.count}"

    def const(self, values, dtype=np.float32):
        name = self.name("const")
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def ints(self, *values):
        return self.const(values, np.int64)

    def weight(self, *shape, fan=None):
        fan = int(np.prod(shape[1:])) if fan is None else fan
        values = self.rng.standard_normal(shape) * np.sqrt(2 / fan)
        if self.kind == "outliers":  # one channel in 16 is 20 times as large: what quantisation suffers from
            values[self.rng.random(shape[0]) < 1 / 16] *= 20
        elif self.kind == "heavy":
            values = self.rng.standard_t(2.5, shape) * np.sqrt(1 / fan)
        elif self.kind == "sparse":
            values = values * (self.rng.random(shape) < 0.2) * np.sqrt(5)
        return self.const(values)

    def op(self, kind, *inputs, outputs=1, **attributes):
        name = self.name(kind)
        made = [name] if outputs == 1 else [f"{name}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), made, name=name, **attributes))
        return made[0] if outputs == 1 else made

    def conv(self, x, cin, cout, k=3, stride=1, group=1, dilation=1, bias=True, pads=None):
        kh, kw = (k, k) if isinstance(k, int) else k
        if pads is None:
            ph, pw = dilation * (kh - 1) // 2, dilation * (kw - 1) // 2
            pads = [ph, pw, ph, pw]
        inputs = [x, self.weight(cout, cin // group, kh, kw)]
        if bias:
            inputs.append(self.const(self.rng.standard_normal(cout) * 0.1))
        return self.op("Conv", *inputs, pads=pads, strides=[stride, stride], group=group,
                       dilations=[dilation, dilation], kernel_shape=[kh, kw])

    def bn(self, x, c):
        r = self.rng
        return self.op("BatchNormalization", x, self.const(r.uniform(0.5, 1.5, c)),
                       self.const(r.standard_normal(c) * 0.2),
                       self.const(r.standard_normal(c) * 0.3), self.const(r.uniform(0.3, 2, c)), epsilon=1e-5)

    def relu(self, x):
        return self.op("Relu", x)

    def relu6(self, x):
        return self.op("Clip", x, self.const(0), self.const(6))

    def silu(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    def hswish(self, x):
        return self.op("Mul", x, self.op("Div", self.op("Clip", self.op("Add", x, self.const(3)), self.const(0),
                                                        self.const(6)), self.const(6)))

    def gelu(self, x):
        inner = self.op("Add", self.op("Erf", self.op("Div", x, self.const(np.sqrt(2)))), self.const(1))
        return self.op("Mul", self.op("Mul", x, inner), self.const(0.5))

    def gelu_tanh(self, x):
        cube = self.op("Mul", self.op("Pow", x, self.const(3)), self.const(0.044715))
        t = self.op("Tanh", self.op("Mul", self.op("Add", x, cube), self.const(np.sqrt(2 / np.pi))))
        return self.op("Mul", self.op("Mul", x, self.const(0.5)), self.op("Add", t, self.const(1)))

    def linear(self, x, cin, cout, bias=True):
        y = self.op("MatMul", x, self.weight(cin, cout, fan=cin))
        return self.op("Add", y, self.const(self.rng.standard_normal(cout) * 0.1)) if bias else y

    def gemm(self, x, cin, cout):
        return self.op("Gemm", x, self.weight(cout, cin), self.const(self.rng.standard_normal(cout) * 0.1), transB=1)

    def layer_norm(self, x, c):
        return self.op("LayerNormalization", x, self.const(self.rng.uniform(0.5, 1.5, c)),
                       self.const(self.rng.standard_normal(c) * 0.1), axis=-1)

    def layer_norm_parts(self, x, c):
        mean = self.op("ReduceMean", x, axes=[-1])
        d = self.op("Sub", x, mean)
        var = self.op("ReduceMean", self.op("Pow", d, self.const(2)), axes=[-1])
        y = self.op("Div", d, self.op("Sqrt", self.op("Add", var, self.const(1e-5))))
        return self.op("Add", self.op("Mul", y, self.const(self.rng.uniform(0.5, 1.5, c))),
                       self.const(self.rng.standard_normal(c) * 0.1))

    def rms_norm(self, x, c):
        mean = self.op("ReduceMean", self.op("Pow", x, self.const(2)), axes=[-1])
        y = self.op("Mul", x, self.op("Reciprocal", self.op("Sqrt", self.op("Add", mean, self.const(1e-6)))))
        return self.op("Mul", self.const(self.rng.uniform(0.5, 1.5, c)), y)

    def heads(self, x, tokens, heads, size):
        return self.op("Transpose", self.op("Reshape", x, self.ints(self.batch, tokens, heads, size)),
                       perm=[0, 2, 1, 3])

    def attention(self, x, c, tokens, heads, mask=None, turn=None, key_heads=None):
        size, kv = c // heads, key_heads or heads
        q = self.heads(self.linear(x, c, c), tokens, heads, size)
        k = self.heads(self.linear(x, c, kv * size), tokens, kv, size)
        v = self.heads(self.linear(x, c, kv * size), tokens, kv, size)
        if turn:
            q, k = turn(q, heads), turn(k, kv)
        if kv != heads:
            def repeat(t):
                t = self.op("Expand", self.op("Unsqueeze", t, self.ints(2)),
                            self.ints(self.batch, kv, heads // kv, tokens, size))
                return self.op("Reshape", t, self.ints(self.batch, heads, tokens, size))
            k, v = repeat(k), repeat(v)
        s = self.op("Mul", self.op("MatMul", q, self.op("Transpose", k, perm=[0, 1, 3, 2])),
                    self.const(1 / np.sqrt(size)))
        if mask:
            s = self.op("Add", s, mask)
        y = self.op("MatMul", self.op("Softmax", s, axis=-1), v)
        y = self.op("Reshape", self.op("Transpose", y, perm=[0, 2, 1, 3]), self.ints(self.batch, tokens, c))
        return self.linear(y, c, c)

    def head(self, x, c, classes=10):
        x = self.op("Flatten", self.op("GlobalAveragePool", x))
        return [self.op("Softmax", self.gemm(x, c, classes), axis=-1)]


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


def selu_net(n):
    x = n.op("Selu", n.gemm(n.op("Flatten", n.input("features", 64)), 64, 96))
    x = n.op("Elu", n.gemm(x, 96, 96), alpha=1.0)
    x = n.op("Softplus", n.gemm(x, 96, 48))
    return [n.op("LogSoftmax", n.gemm(x, 48, 7), axis=-1)]


def tabular(n):
    """A wide product, and values over several magnitudes, as tables have them."""
    x = n.input("features", 300)
    x = n.op("Div", n.op("Sub", x, n.const(n.rng.standard_normal(300))), n.const(n.rng.uniform(0.1, 10, 300)))
    x = n.relu(n.linear(x, 300, 128))
    x = n.op("Concat", x, n.op("Tanh", n.linear(x, 128, 37)), axis=1)
    return [n.op("Sigmoid", n.linear(x, 165, 1))]


def bert(n, tokens=32, c=64):
    ids = n.input("ids", tokens, dtype=TensorProto.INT64)
    x = n.op("Gather", n.const(n.rng.standard_normal((97, c)) * 0.5), ids)
    x = n.layer_norm_parts(n.op("Add", x, n.const(n.rng.standard_normal((1, tokens, c)) * 0.5)), c)
    for _ in range(2):
        x = n.layer_norm_parts(n.op("Add", x, n.attention(x, c, tokens, 4)), c)
        x = n.layer_norm_parts(n.op("Add", x, n.linear(n.gelu(n.linear(x, c, 4 * c)), 4 * c, c)), c)
    first = n.op("Gather", x, n.const(0, np.int64), axis=1)
    return [n.gemm(n.op("Tanh", n.gemm(first, c, c)), c, 3)]


def gpt(n, tokens=33, c=64):
    x = n.op("Gather", n.const(n.rng.standard_normal((101, c)) * 0.5), n.input("ids", tokens, dtype=TensorProto.INT64))
    mask = n.const(np.triu(np.full((1, 1, tokens, tokens), -1e4), 1))
    for _ in range(2):
        x = n.op("Add", x, n.attention(n.layer_norm(x, c), c, tokens, 4, mask))
        x = n.op("Add", x, n.linear(n.gelu_tanh(n.linear(n.layer_norm(x, c), c, 4 * c)), 4 * c, c))
    return [n.linear(n.layer_norm(x, c), c, 101, bias=False)]


def llama(n, tokens=24, c=64, heads=4, key_heads=2):
    size = c // heads
    x = n.op("Gather", n.const(n.rng.standard_normal((89, c)) * 0.5), n.input("ids", tokens, dtype=TensorProto.INT64))
    angle = np.outer(np.arange(tokens), 1e4 ** (-np.arange(0, size, 2) / size))
    cos, sin = (n.const(np.tile(f(angle), 2)[None, None]) for f in (np.cos, np.sin))
    mask = n.const(np.triu(np.full((1, 1, tokens, tokens), -3e4), 1))

    def rotate(q, _):
        a, b = n.op("Split", q, n.ints(size // 2, size // 2), outputs=2, axis=3)
        return n.op("Add", n.op("Mul", q, cos), n.op("Mul", n.op("Concat", n.op("Neg", b), a, axis=3), sin))
    for _ in range(2):
        x = n.op("Add", x, n.attention(n.rms_norm(x, c), c, tokens, heads, mask, rotate, key_heads))
        y = n.rms_norm(x, c)
        y = n.op("Mul", n.silu(n.linear(y, c, 3 * c, bias=False)), n.linear(y, c, 3 * c, bias=False))
        x = n.op("Add", x, n.linear(y, 3 * c, c, bias=False))
    return [n.linear(n.rms_norm(x, c), c, 89, bias=False)]


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


def whisper(n, c=48):
    """An audio encoder: one-dimensional convolutions, then tokens."""
    x = n.input("mel", 40, 60)
    for cin in (40, c):
        x = n.op("Conv", x, n.weight(c, cin, 3), n.const(n.rng.standard_normal(c) * 0.1), pads=[1, 1],
                 strides=[1 if cin == 40 else 2])
        x = n.gelu(x)
    x = n.op("Add", n.op("Transpose", x, perm=[0, 2, 1]),
             n.const(np.sin(np.arange(30)[:, None] * np.arange(1, c + 1)[None] / 9)))
    x = n.op("Add", x, n.attention(n.layer_norm_parts(x, c), c, 30, 4))
    return [n.layer_norm_parts(x, c)]


def wavenet(n, c=24):
    x, skips = n.op("Conv", n.input("audio", 1, 200), n.weight(c, 1, 3), pads=[1, 1]), None
    for dilation in (1, 2, 4, 8):
        def one(cout, k, source, d):
            return n.op("Conv", source, n.weight(cout, c, k), n.const(n.rng.standard_normal(cout) * 0.1), dilations=[d],
                        pads=[d * (k - 1) // 2] * 2)
        gate = n.op("Mul", n.op("Tanh", one(c, 3, x, dilation)), n.op("Sigmoid", one(c, 3, x, dilation)))
        skip = one(c, 1, gate, 1)
        skips = skip if skips is None else n.op("Add", skips, skip)
        x = n.op("Add", x, one(c, 1, gate, 1))
    return [one(5, 1, n.relu(skips), 1)]


def recurrent(n, kind, gates, size=32):
    x, steps, features = n.input("sequence", 20, 12), 20, 12
    x = n.op("Transpose", x, perm=[1, 0, 2])
    for directions in (2, 1):
        inputs = [x, n.weight(directions, gates * size, features, fan=3 * features),
                  n.weight(directions, gates * size, size, fan=3 * size),
                  n.const(n.rng.standard_normal((directions, 2 * gates * size)) * 0.1)]
        extra = {"linear_before_reset": 1} if kind == "GRU" and directions == 2 else {}
        y = n.op(kind, *inputs, outputs=3 if kind == "LSTM" else 2, hidden_size=size,
                 direction="bidirectional" if directions == 2 else "forward", **extra)
        x = n.op("Reshape", n.op("Transpose", y[0], perm=[0, 2, 1, 3]), n.ints(steps, n.batch, directions * size))
        features = directions * size
    return [n.linear(n.op("Transpose", x, perm=[1, 0, 2]), size, 6)]


def crnn(n):
    x = n.relu(n.conv(n.input("image", 1, 16, 64), 1, 16))
    x = n.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = n.op("MaxPool", n.relu(n.bn(n.conv(x, 16, 32, bias=False), 32)), kernel_shape=[8, 1], strides=[8, 1])
    x = n.op("Transpose", n.op("Squeeze", x, n.ints(2)), perm=[2, 0, 1])
    y = n.op("LSTM", x, n.weight(2, 96, 32, fan=96), n.weight(2, 96, 24, fan=96), n.const(np.zeros((2, 192))),
             outputs=3, hidden_size=24,
             direction="bidirectional")[0]
    y = n.op("Reshape", n.op("Transpose", y, perm=[0, 2, 1, 3]), n.ints(32, n.batch, 48))
    return [n.op("Softmax", n.linear(y, 48, 37), axis=-1)]


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


def spectrogram(n):
    """Frames, a transform as a convolution, power, a logarithm."""
    x = n.op("Unsqueeze", n.input("audio", 800), n.ints(1))
    x = n.op("Pad", x, n.ints(0, 0, 40, 0, 0, 40), mode="reflect")
    t = np.arange(80)[None] * np.arange(41)[:, None] * 2 * np.pi / 80
    w = np.hanning(80)
    re = n.op("Conv", x, n.const((np.cos(t) * w)[:, None]), strides=[20])
    im = n.op("Conv", x, n.const((-np.sin(t) * w)[:, None]), strides=[20])
    power = n.op("Add", n.op("Mul", re, re), n.op("Mul", im, im))
    mel = n.op("MatMul", n.const(np.abs(n.rng.standard_normal((20, 41)))), power)
    return [n.op("Log", n.op("Max", mel, n.const(1e-5)))]


NETWORKS = {
    "vgg": vgg, "resnet": resnet, "resnet_bottleneck": lambda n: resnet(n, True), "mobilenet_v2": mobilenet_v2,
    "mobilenet_v3": mobilenet_v3,
    "efficientnet": efficientnet, "shufflenet": shufflenet, "densenet": densenet, "inception": inception,
    "squeezenet": squeezenet,
    "alexnet": alexnet, "unet": unet, "fpn": fpn, "deeplab": deeplab, "yolo": yolo, "convnext": convnext,
    "style": style,
    "super_resolution": super_resolution, "selu": selu_net, "tabular": tabular, "bert": bert, "gpt": gpt,
    "llama": llama, "vit": vit,
    "swin": swin, "mixer": mixer, "whisper": whisper, "wavenet": wavenet, "lstm": lambda n: recurrent(n, "LSTM", 4),
    "gru": lambda n: recurrent(n, "GRU", 3), "rnn": lambda n: recurrent(n, "RNN", 1), "crnn": crnn,
    "detection": detection, "pose": pose,
    "face": face, "group_norm": group_norm, "spectrogram": spectrogram,
}


def build(name, weights="normal", batch=1, seed=1):
    net = Net([seed, list(NETWORKS).index(name)], weights, batch)
    outputs = NETWORKS[name](net)
    graph = helper.make_graph(net.nodes, name, net.inputs, [ValueInfoProto(name=o) for o in outputs], net.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    model = shape_inference.infer_shapes(model, strict_mode=True)  # the outputs' types
    checker.check_model(model)
    return model


def inputs(model, kind="normal", seed=1):
    """One array per input. kind: normal, sparse, constant, huge or tiny; whole numbers are ids below 80."""
    rng, made = np.random.default_rng(seed), {}
    for value in model.graph.input:
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        if value.type.tensor_type.elem_type != TensorProto.FLOAT:
            made[value.name] = rng.integers(0, 80, shape)
            continue
        x = rng.standard_normal(shape)
        x = {"normal": lambda: x, "sparse": lambda: x * (rng.random(shape) < 0.05),
             "constant": lambda: np.full(shape, 0.7),
             "huge": lambda: x * 1e6, "tiny": lambda: x * 1e-6}[kind]()
        made[value.name] = x.astype(np.float32)
    return made
