# SPDX-License-Identifier: Apache-2.0
"""Networks of text, audio, sequences and tables."""
import numpy as np
from onnx import TensorProto


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
