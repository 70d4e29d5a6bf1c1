# SPDX-License-Identifier: Apache-2.0
"""Net: an ONNX graph under construction, with the blocks that networks share."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper


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
