# SPDX-License-Identifier: Apache-2.0
"""Faults made in NumPy, without anything of Plumb: (name, model, tensors of the faulty run, what its cause must say).
No list of causes makes them."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

SEED = 11


def model(nodes, inputs, outputs, constants, opset=17):
    """inputs and outputs: {name: (type, shape)}"""
    def infos(of):
        return [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in of.items()]
    made = [helper.make_node(kind, ins, outs, name=outs[0], **attributes) for kind, ins, outs, attributes in nodes]
    graph = helper.make_graph(made, "held_out", infos(inputs), infos(outputs),
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def windows(x, kernel, pad, value=0):
    """[batch, channels * kernel * kernel, height, width] of stride 1."""
    batch, channels, height, width = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), constant_values=value)
    rows, columns = height + 2 * pad - kernel + 1, width + 2 * pad - kernel + 1
    parts = [padded[:, :, r:r + rows, c:c + columns] for r in range(kernel) for c in range(kernel)]
    return np.stack(parts, 2).reshape(batch, channels * kernel * kernel, rows, columns)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def brain(x):
    bits = np.asarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) & np.uint32(0xffff0000)).view(np.float32)


def mantissa(x, bits):
    """Cut towards zero."""
    mask = np.uint32((0xffffffff << (23 - bits)) & 0xffffffff)
    return (np.asarray(x, np.float32).view(np.uint32) & mask).view(np.float32)


def f32(tensors):
    return {k: v.astype(np.float32) if v.dtype == np.float64 else v for k, v in tensors.items()}


def quantised(random):
    """QLinearConv between a QuantizeLinear and a DequantizeLinear; u8 activations, i8 weights per channel."""
    shape, outs, kernel = (1, 6, 9, 9), 8, 3
    x_scale, x_zero, y_scale, y_zero = 0.03, 117, 0.05, 121
    w = random.integers(-127, 128, (outs, shape[1], kernel, kernel)).astype(np.int8)
    w_scale = random.uniform(0.002, 0.006, outs).astype(np.float32)
    bias = random.integers(-4000, 4000, outs).astype(np.int32)
    q = random.integers(20, 240, shape).astype(np.uint8)
    constants = {"xs": np.float32(x_scale), "xz": np.uint8(x_zero), "w": w, "ws": w_scale,
                 "wz": np.zeros(outs, np.int8), "ys": np.float32(y_scale), "yz": np.uint8(y_zero), "b": bias}
    made = model([("QLinearConv", ["q", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["y"], {"pads": [1, 1, 1, 1]})],
                 {"q": (TensorProto.UINT8, shape)}, {"y": (TensorProto.UINT8, (1, outs, 9, 9))}, constants)

    def run(pad=x_zero, zero=x_zero, scales=w_scale, add=bias, x=q, weight=w, sums=lambda s: s):
        columns = windows(x.astype(np.int64), kernel, 1, pad) - zero
        total = np.einsum("ok,bkhw->bohw", weight.astype(np.int64).reshape(outs, -1), columns)
        total = sums(total) + add.astype(np.int64).reshape(1, -1, 1, 1)
        real = total * (np.float64(np.float32(x_scale)) * scales.astype(np.float64)).reshape(1, -1, 1, 1)
        value = np.clip(np.rint(real / np.float64(np.float32(y_scale))) + y_zero, 0, 255)
        return {"q": q, "y": value.astype(np.uint8)}

    def wrap(s):
        return s.astype(np.int16).astype(np.int64)
    unsigned = q.astype(np.int8).astype(np.int64)
    return [
        ("padding of 0", made, run(pad=0), "padding"),
        ("int16 sums that wrap", made, run(sums=wrap), "wrap"),
        ("int16 sums that saturate", made, run(sums=lambda s: np.clip(s, -32768, 32767)), "saturate"),
        ("the first channel's scale", made, run(scales=np.full_like(w_scale, w_scale[0])), "first channel"),
        ("the next channel's scale", made, run(scales=np.roll(w_scale, -1)), "channel behind"),
        ("int32 bias lost", made, run(add=0 * bias), "without the bias"),
        ("int32 bias shifted", made, run(add=np.roll(bias, 1)), "bias of the channel before"),
        ("int32 bias of another scale", made, run(add=bias * 2), "bias"),
        ("u8 taken for i8", made, run(x=unsigned), "i8"),
        ("input's zero point ignored", made, run(zero=0, pad=0), "zero point"),
        ("i8 weights taken for u8", made, run(weight=w.view(np.uint8)), "u8"),
    ]


def written_in_floats(random):
    """The same convolution between DequantizeLinear and QuantizeLinear, as exporters of PyTorch and TensorFlow write
    it."""
    faults = quantised(random)
    given = {w.name: numpy_helper.to_array(w) for w in faults[0][1].graph.initializer}
    shape = (1, 6, 9, 9)
    bias_scale = (given["xs"] * given["ws"]).astype(np.float32)
    made = model([("DequantizeLinear", ["q", "xs", "xz"], ["x"], {}),
                  ("DequantizeLinear", ["w", "ws", "wz"], ["wf"], {"axis": 0}),
                  ("DequantizeLinear", ["b", "bs", "bz"], ["bf"], {"axis": 0}),
                  ("Conv", ["x", "wf", "bf"], ["c"], {"pads": [1, 1, 1, 1]}),
                  ("QuantizeLinear", ["c", "ys", "yz"], ["y"], {})],
                 {"q": (TensorProto.UINT8, shape)}, {"y": (TensorProto.UINT8, (1, 8, 9, 9))},
                 {**given, "bs": bias_scale, "bz": np.zeros(8, np.int32)})
    return [(name + ", as Q-DQ", made, tensors, words) for name, _, tensors, words in faults
            if "i8" not in name]


def integers(random):
    """MatMulInteger with both zero points."""
    a, b = (random.integers(0, 256, s).astype(np.uint8) for s in ((12, 40), (40, 16)))
    made = model([("MatMulInteger", ["a", "b", "az", "bz"], ["y"], {})], {"a": (TensorProto.UINT8, a.shape)},
                 {"y": (TensorProto.INT32, (12, 16))}, {"b": b, "az": np.uint8(130), "bz": np.uint8(110)})

    def run(za, zb):
        return {"a": a, "y": ((a.astype(np.int64) - za) @ (b.astype(np.int64) - zb)).astype(np.int32)}
    return [("zero point of a ignored", made, run(0, 110), "zero point"),
            ("zero point of b ignored", made, run(130, 0), "zero point"),
            ("both zero points ignored", made, run(0, 0), "zero point")]


def attention(random):
    """softmax(q k^T / sqrt(d) + mask) v of two batch elements, every tensor known."""
    batch, heads, tokens, size = 2, 4, 9, 8
    q, k, v = (random.standard_normal((batch, heads, tokens, size)).astype(np.float32) for _ in range(3))
    mask = np.zeros((batch, 1, 1, tokens), np.float32)
    mask[0, ..., 7:], mask[1, ..., 5:] = -1e9, -1e9
    shape = (batch, heads, tokens, size)
    scale = np.float32(size ** -0.5)
    made = model([("Transpose", ["k"], ["kt"], {"perm": [0, 1, 3, 2]}), ("MatMul", ["q", "kt"], ["s"], {}),
                  ("Mul", ["s", "scale"], ["t"], {}), ("Add", ["t", "mask"], ["m"], {}),
                  ("Softmax", ["m"], ["p"], {"axis": -1}), ("MatMul", ["p", "v"], ["y"], {})],
                 {n: (TensorProto.FLOAT, shape) for n in "qkv"} | {"mask": (TensorProto.FLOAT, mask.shape)},
                 {"y": (TensorProto.FLOAT, shape)}, {"scale": scale})

    def run(keys=k, values=v, hidden=np.broadcast_to(mask, (batch, heads, 1, tokens)), drop=lambda p: p):
        kt = k.transpose(0, 1, 3, 2)
        s = (q.astype(np.float64) @ keys.transpose(0, 1, 3, 2)).astype(np.float32)
        t = (s * scale).astype(np.float32)
        m = (t + hidden).astype(np.float32)
        p = drop(softmax(m.astype(np.float64))).astype(np.float32)
        y = p.astype(np.float64) @ values
        return f32({"q": q, "k": k, "v": v, "mask": mask, "kt": kt, "s": s, "t": t, "m": m, "p": p, "y": y})
    lost = np.broadcast_to(mask, (batch, heads, 1, tokens)).copy()
    lost[:, 2] = 0
    kept = random.random((batch, heads, tokens, tokens)) > 0.1
    return [
        ("every head reads head 0's keys", made, run(keys=np.broadcast_to(k[:, :1], k.shape)), "head|channel"),
        ("every head reads head 0's values", made, run(values=np.broadcast_to(v[:, :1], v.shape)), "head|channel"),
        ("the mask lost in one head", made, run(hidden=lost), "channel 2|head 2"),
        ("the mask of batch 0 for all", made,
         run(hidden=np.broadcast_to(mask[:1], (batch, heads, 1, tokens))), "batch element 0"),
        ("dropout left active", made, run(drop=lambda p: p * kept / 0.9), "dropout"),
    ]


def rotary(random):
    """A rotary embedding whose angles the graph holds as tables."""
    tokens, heads, size = 12, 3, 16
    x = random.standard_normal((1, heads, tokens, size)).astype(np.float32)

    def tables(base):
        angle = np.outer(np.arange(tokens), base ** (-np.arange(0, size, 2) / size))
        angle = np.concatenate([angle, angle], 1)[None, None]
        return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)

    def run(base):
        cos, sin = tables(base)
        low, high = np.split(x, 2, -1)
        return f32({"x": x, "y": x * cos.astype(np.float64) + np.concatenate([-high, low], -1) * sin})
    cos, sin = tables(10000.0)
    half = size // 2
    made = model([("Slice", ["x", "zero", "half", "axis"], ["low"], {}),
                  ("Slice", ["x", "half", "size", "axis"], ["high"], {}), ("Neg", ["high"], ["minus"], {}),
                  ("Concat", ["minus", "low"], ["turned"], {"axis": -1}), ("Mul", ["x", "cos"], ["a"], {}),
                  ("Mul", ["turned", "sin"], ["b"], {}), ("Add", ["a", "b"], ["y"], {})],
                 {"x": (TensorProto.FLOAT, x.shape)}, {"y": (TensorProto.FLOAT, x.shape)},
                 {"cos": cos, "sin": sin, "zero": np.array([0]), "half": np.array([half]), "size": np.array([size]),
                  "axis": np.array([3])})
    return [("RoPE's base is 500000", made, run(500000.0), "base 500000"),
            ("RoPE's base is 1e6", made, run(1e6), "base 1e")]


def norms(random):
    """LayerNormalization and an RMS norm of single operators."""
    x = (random.standard_normal((4, 10, 30)) * 1.5 + 0.4).astype(np.float32)
    g, b = (random.uniform(0.5, 1.5, 30).astype(np.float32) for _ in range(2))
    layer = model([("LayerNormalization", ["x", "g", "b"], ["y"], {"axis": -1, "epsilon": 1e-5})],
                  {"x": (TensorProto.FLOAT, x.shape)}, {"y": (TensorProto.FLOAT, x.shape)}, {"g": g, "b": b})
    rms = model([("Mul", ["x", "x"], ["q"], {}), ("ReduceMean", ["q"], ["v"], {"axes": [-1], "keepdims": 1}),
                 ("Add", ["v", "e"], ["w"], {}), ("Sqrt", ["w"], ["s"], {}), ("Div", ["x", "s"], ["n"], {}),
                 ("Mul", ["n", "g"], ["y"], {})],
                {"x": (TensorProto.FLOAT, x.shape)}, {"y": (TensorProto.FLOAT, x.shape)},
                {"g": g, "e": np.float32(1e-5)})
    wide = x.astype(np.float64)

    def normal(count, zeros):
        mean = wide.sum(-1, keepdims=True) / count
        squares = ((wide - mean) ** 2).sum(-1, keepdims=True) + zeros * mean ** 2
        return f32({"x": x, "y": (wide - mean) / np.sqrt(squares / count + 1e-5) * g + b})
    few = (wide[..., :24] ** 2).mean(-1, keepdims=True)
    part = (wide[..., :24] ** 2).sum(-1, keepdims=True) / 30
    return [("LayerNorm divides by the padded width", layer, normal(32, 0), "32"),
            ("LayerNorm counts padded lanes", layer, normal(32, 2), "32"),
            ("RMS over whole vectors only", rms, f32({"x": x, "y": wide / np.sqrt(few + 1e-5) * g}), "24"),
            ("RMS sums whole vectors only", rms, f32({"x": x, "y": wide / np.sqrt(part + 1e-5) * g}), "24")]


def products(random):
    """A Gemm, a convolution in groups, a MatMul of two activations."""
    x = random.standard_normal((8, 64)).astype(np.float32)
    w = (random.standard_normal((64, 32)) * 0.2).astype(np.float32)
    gemm = model([("MatMul", ["x", "w"], ["y"], {})], {"x": (TensorProto.FLOAT, x.shape)},
                 {"y": (TensorProto.FLOAT, (8, 32))}, {"w": w})
    a, b = (random.standard_normal((3, 10, 48)).astype(np.float32) for _ in range(2))
    b = b.transpose(0, 2, 1).copy()
    both = model([("MatMul", ["a", "b"], ["y"], {})],
                 {"a": (TensorProto.FLOAT, a.shape), "b": (TensorProto.FLOAT, b.shape)},
                 {"y": (TensorProto.FLOAT, (3, 10, 10))}, {})
    image = random.standard_normal((1, 8, 9, 9)).astype(np.float32)
    filters = random.standard_normal((8, 2, 3, 3)).astype(np.float32)
    conv = model([("Conv", ["x", "w"], ["y"], {"group": 4, "pads": [1, 1, 1, 1]})],
                 {"x": (TensorProto.FLOAT, image.shape)}, {"y": (TensorProto.FLOAT, (1, 8, 9, 9))}, {"w": filters})
    columns = windows(image.astype(np.float64), 3, 1).reshape(4, 18, 9, 9)[::-1]
    turned = np.einsum("gok,gkhw->gohw", filters.astype(np.float64).reshape(4, 2, 18), columns).reshape(1, 8, 9, 9)

    def times(p, q):
        return p.astype(np.float64) @ q.astype(np.float64)
    return [("weights alone in bf16", gemm, f32({"x": x, "y": times(x, brain(w))}), "weights rounded to bf16"),
            ("the input alone in bf16", gemm, f32({"x": x, "y": times(brain(x), w)}), "input rounded to bf16"),
            ("the first operand alone in bf16", both, f32({"a": a, "b": b, "y": times(brain(a), b)}),
             "first operand rounded to bf16"),
            ("the second operand alone in f16", both,
             f32({"a": a, "b": b, "y": times(a, b.astype(np.float16))}), "second operand rounded to f16"),
            ("weights cut to 16 bits of mantissa", gemm, f32({"x": x, "y": times(x, mantissa(w, 15))}), "16-bit"),
            ("operands cut to 16 bits of mantissa", gemm,
             f32({"x": x, "y": times(mantissa(x, 15), mantissa(w, 15))}), "16-bit"),
            ("groups of a convolution in reverse", conv, f32({"x": image, "y": turned}), "groups in reverse")]


def resized(random):
    """OpenCV's INTER_LINEAR of 8-bit images has weights of 11 bits."""
    x = random.standard_normal((1, 3, 12, 12)).astype(np.float32)
    made = model([("Resize", ["x", "", "", "sizes"], ["y"],
                   {"mode": "linear", "coordinate_transformation_mode": "half_pixel"})],
                 {"x": (TensorProto.FLOAT, x.shape)}, {"y": (TensorProto.FLOAT, (1, 3, 19, 19))},
                 {"sizes": np.array([1, 3, 19, 19])})
    at = np.clip((np.arange(19) + 0.5) * 12 / 19 - 0.5, 0, 11)
    low = np.minimum(at.astype(int), 10)
    part = np.rint((at - low) * 2048) / 2048
    matrix = np.zeros((19, 12))
    matrix[np.arange(19), low] += 1 - part
    matrix[np.arange(19), low + 1] += part
    return [("OpenCV's weights of 11 bits", made, f32({"x": x, "y": matrix @ x.astype(np.float64) @ matrix.T}),
             "11 bits")]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def recurrent(random):
    """An LSTM with peepholes, clip and lengths; a GRU whose state begins at 0."""
    steps, batch, size, hidden = 7, 3, 5, 6
    x = random.standard_normal((steps, batch, size)).astype(np.float32)
    lengths = np.array([7, 4, 6], np.int32)

    def weights(gates):
        return [(random.standard_normal(s) * 0.6).astype(np.float32)
                for s in ((1, gates * hidden, size), (1, gates * hidden, hidden), (1, 2 * gates * hidden))]
    w, r, b = weights(4)
    p = random.standard_normal((1, 3 * hidden)).astype(np.float32)
    shape = (steps, 1, batch, hidden)

    def lstm(clip=np.inf, peep=0 * p, ends=np.full(batch, steps), forget=0.0):
        h, c = np.zeros((2, batch, hidden))
        y = np.zeros((steps, batch, hidden))
        bias = (b[0, :4 * hidden].astype(np.float64) + b[0, 4 * hidden:])
        bias[2 * hidden:3 * hidden] += forget
        pi, po, pf = np.split(peep[0].astype(np.float64), 3)
        limit = np.clip if np.isfinite(clip) else lambda v, low, high: v
        for t in range(steps):
            i, o, f, g = np.split(x[t].astype(np.float64) @ w[0].T + h @ r[0].T + bias, 4, 1)
            i, f = sigmoid(limit(i + pi * c, -clip, clip)), sigmoid(limit(f + pf * c, -clip, clip))
            new = f * c + i * np.tanh(limit(g, -clip, clip))
            o = sigmoid(limit(o + po * new, -clip, clip))
            on = (t < ends)[:, None]
            c, h = np.where(on, new, c), np.where(on, o * np.tanh(new), h)
            y[t] = np.where(on, h, 0)
        return f32({"x": x, "y": y[:, None]})

    def made(inputs, constants, **attributes):
        return model([("LSTM", inputs, ["y"], {"hidden_size": hidden, **attributes})],
                     {"x": (TensorProto.FLOAT, x.shape)}, {"y": (TensorProto.FLOAT, shape)},
                     {"w": w, "r": r, "b": b, **constants})
    clipped = made(["x", "w", "r", "b"], {}, clip=0.5)
    peeped = made(["x", "w", "r", "b", "", "", "", "p"], {"p": p})
    ended = made(["x", "w", "r", "b", "n"], {"n": lengths})
    plain = made(["x", "w", "r", "b"], {})
    gw, gr, gb = weights(3)
    gru = model([("GRU", ["x", "gw", "gr", "gb"], ["y"], {"hidden_size": hidden})], {"x": (TensorProto.FLOAT, x.shape)},
                {"y": (TensorProto.FLOAT, shape)}, {"gw": gw, "gr": gr, "gb": gb})

    def run_gru(h):
        y = np.zeros((steps, batch, hidden))
        for t in range(steps):
            u = x[t].astype(np.float64) @ gw[0].T + gb[0, :3 * hidden]
            v = gr[0].astype(np.float64)
            rb = gb[0, 3 * hidden:].astype(np.float64)
            z = sigmoid(u[:, :hidden] + h @ v[:hidden].T + rb[:hidden])
            s = sigmoid(u[:, hidden:2 * hidden] + h @ v[hidden:2 * hidden].T + rb[hidden:2 * hidden])
            n = np.tanh(u[:, 2 * hidden:] + (s * h) @ v[2 * hidden:].T + rb[2 * hidden:])
            h = (1 - z) * n + z * h
            y[t] = h
        return y, h
    _, last = run_gru(np.zeros((batch, hidden)))
    again, _ = run_gru(last)
    return [("LSTM's clip ignored", clipped, lstm(), "clip"),
            ("LSTM's peepholes ignored", peeped, lstm(), "peephole"),
            ("sequence_lens ignored", ended, lstm(), "sequence_lens"),
            ("a forget bias of 1", plain, lstm(forget=1.0), "forget"),
            ("the GRU keeps its state", gru, f32({"x": x, "y": again[:, None]}), "state")]


def all_faults():
    random = np.random.default_rng(SEED)
    every = (quantised, written_in_floats, integers, attention, rotary, norms, products, resized, recurrent)
    return [fault for make in every for fault in make(random)]
