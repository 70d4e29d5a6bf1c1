# SPDX-License-Identifier: Apache-2.0
"""Networks of what the others lack, for the faults campaign: integers, groups, masks of a batch, everything that a
recurrent operator may have."""
import numpy as np
from onnx import TensorProto


def scalar(n, value, dtype=np.float32):
    return n.const(np.asarray(value), dtype)


def integer_weights(n, *shape):
    return n.const(n.rng.integers(-63, 64, shape), np.int8)  # 7 bits: no pair of products saturates on x86


def quantised(n):
    """QLinearConv twice, QLinearMatMul; u8 activations, i8 weights per channel."""
    def scale_and_zero(scale, zero):
        return scalar(n, scale), scalar(n, zero, np.uint8)
    last = scale_and_zero(0.02, 117)
    x = n.op("QuantizeLinear", n.input("image", 6, 11, 11), *last)
    for cin, scale, zero in ((6, 0.05, 121), (8, 0.09, 131)):
        here = scale_and_zero(scale, zero)
        x = n.op("QLinearConv", x, *last, integer_weights(n, 8, cin, 3, 3), n.const(n.rng.uniform(2e-3, 6e-3, 8)),
                 n.const(np.zeros(8), np.int8), *here, n.const(n.rng.integers(-2000, 2000, 8), np.int32),
                 pads=[1, 1, 1, 1])
        last = here
    here = scale_and_zero(0.2, 125)
    weights = n.const(n.rng.integers(30, 157, (11, 16)), np.uint8)
    y = n.op("QLinearMatMul", x, *last, weights, scalar(n, 0.01), scalar(n, 93, np.uint8), *here)
    return [n.op("DequantizeLinear", y, *here)]


def integers(n):
    """ConvInteger and MatMulInteger behind dynamic quantisation."""
    q, scale, zero = n.op("DynamicQuantizeLinear", n.input("image", 5, 9, 9), outputs=3)
    y = n.op("ConvInteger", q, integer_weights(n, 8, 5, 3, 3), zero, pads=[1, 1, 1, 1])
    y = n.op("Mul", n.op("Cast", y, to=TensorProto.FLOAT), n.op("Mul", scale, scalar(n, 0.01)))
    q, scale, zero = n.op("DynamicQuantizeLinear", n.op("Flatten", y, axis=2), outputs=3)
    weights = n.const(n.rng.integers(40, 167, (81, 12)), np.uint8)
    y = n.op("MatMulInteger", q, weights, zero, scalar(n, 101, np.uint8))
    return [n.op("Mul", n.op("Cast", y, to=TensorProto.FLOAT), n.op("Mul", scale, scalar(n, 0.02)))]


def masked(n, tokens=12, c=32, heads=4):
    """Attention whose mask differs from one batch element to the next."""
    x = n.input("tokens", tokens, c)
    hidden = np.zeros((n.batch, 1, 1, tokens))
    for b in range(n.batch):
        hidden[b, ..., tokens - 2 - b:] = -1e9
    x = n.op("Add", x, n.attention(n.layer_norm(x, c), c, tokens, heads, n.const(hidden)))
    return [n.linear(n.rms_norm(x, c), c, 10)]


def grouped(n):
    x = n.conv(n.input("image", 12, 13, 13), 12, 16, group=4)
    x = n.op("PRelu", x, n.const(n.rng.uniform(0.05, 0.5, (16, 1, 1))))
    x = n.conv(x, 16, 16, 3, dilation=2)
    x = n.op("InstanceNormalization", x, n.const(n.rng.uniform(0.5, 1.5, 16)),
             n.const(n.rng.standard_normal(16) * 0.2))
    x = n.op("ConvTranspose", x, n.weight(16, 3, 3, 3), n.const(n.rng.standard_normal(12) * 0.1), group=4,
             strides=[2, 2], pads=[1, 1, 0, 0], kernel_shape=[3, 3])
    x = n.op("Conv", x, n.weight(8, 12, 3, 3), n.const(n.rng.standard_normal(8) * 0.1), pads=[0, 1, 2, 1],
             kernel_shape=[3, 3])
    return [n.op("LayerNormalization", x, n.const(n.rng.uniform(0.5, 1.5, 26)),
                 n.const(n.rng.standard_normal(26) * 0.1), axis=-1)]


def scaled(n):
    """Gemms whose alpha and beta are none."""
    x = n.input("features", 48)
    for cin, cout in ((48, 40), (40, 40)):
        x = n.op("Tanh", n.op("Gemm", x, n.weight(cout, cin), n.const(n.rng.standard_normal(cout)), transB=1,
                              alpha=0.5, beta=0.25))
    return [x]


def remembering(n, size=12, steps=9, features=7):
    """An LSTM with peepholes, a clip, lengths and a state at the beginning; a GRU and an RNN with a state."""
    x = n.op("Transpose", n.input("sequence", steps, features), perm=[1, 0, 2])
    for kind, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        lengths = n.const(steps - np.arange(n.batch) % 3 - 2, np.int32)
        inputs = [x, n.weight(1, gates * size, features, fan=features), n.weight(1, gates * size, size, fan=size),
                  n.const(n.rng.standard_normal((1, 2 * gates * size)) * 0.3), lengths,
                  n.const(n.rng.standard_normal((1, n.batch, size)) * 0.5)]
        clip = {}
        if kind == "LSTM":
            inputs += [n.const(n.rng.standard_normal((1, n.batch, size)) * 0.5),
                       n.const(n.rng.standard_normal((1, 3 * size)) * 0.5)]
            # ONNX Runtime clips no cell in front of h (microsoft/onnxruntime#27224): c stays below.
            clip = {"clip": 2.0}
        y = n.op(kind, *inputs, outputs=3 if kind == "LSTM" else 2, hidden_size=size, **clip)
        x, features = n.op("Reshape", y[0], n.ints(steps, n.batch, size)), size
    return [n.linear(x, size, 6)]


NETWORKS = {"quantised": quantised, "integers": integers, "masked": masked, "grouped": grouped, "scaled": scaled,
            "remembering": remembering}
