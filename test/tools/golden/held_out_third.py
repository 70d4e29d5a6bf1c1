# SPDX-License-Identifier: Apache-2.0
"""A third list of faults made in NumPy, as held_out_faults.py's. Section 4 of the issue and public threads name their
kinds; it was written before anybody looked at the causes again: 14 of these 55 were named then, 40 had no cause, and
one (Gemm's alpha) was told in other words than the test's. The words of five were widened when more causes were
known."""
import numpy as np
from onnx import TensorProto

from held_out_faults import brain, f32, model, softmax, windows

FLOAT, INT32, INT64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64


def graph(nodes, shape, tensors, constants=None, kind=FLOAT):
    """A model whose inputs are the given f32 tensors and whose result is y."""
    return model(nodes, {name: (FLOAT, v.shape) for name, v in tensors.items()}, {"y": (kind, shape)}, constants or {})


def normal(random, *shape, by=1.0):
    return (random.standard_normal(shape) * by).astype(np.float32)


def channels(v):
    return v.astype(np.float64).reshape(1, -1, 1, 1)


def convolve(x, w, pad, stride=1, dilation=(1, 1)):
    """x padded by (top, left, bottom, right), one group, in float64."""
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pad[0], pad[2]), (pad[1], pad[3])))
    rows, columns = (x.shape[2 + i] - dilation[i] * (w.shape[2 + i] - 1) for i in range(2))
    y = 0
    for r in range(w.shape[2]):
        for c in range(w.shape[3]):
            part = x[:, :, r * dilation[0]:, c * dilation[1]:][:, :, :rows, :columns]
            y = y + np.einsum("oi,bihw->bohw", w[:, :, r, c].astype(np.float64), part)
    return y[:, :, ::stride, ::stride]


def convolutions(random):
    x, w, v = normal(random, 1, 6, 10, 10), normal(random, 6, 6, 3, 3, by=0.2), normal(random, 6, 6, 3, 3, by=0.2)
    b = normal(random, 6)
    same, around = (1, 6, 10, 10), (1, 1, 1, 1)
    two = graph([("Conv", ["x", "w"], ["m"], {"pads": around}), ("Conv", ["m", "v"], ["y"], {"pads": around})], same,
                {"x": x}, {"w": w, "v": v})
    middle = convolve(x, w, around).astype(np.float32)
    halved = graph([("Conv", ["x", "w"], ["y"], {"pads": [0, 0, 1, 1], "strides": [2, 2]})], (1, 6, 5, 5), {"x": x},
                   {"w": w})
    wide = graph([("Conv", ["x", "w"], ["y"], {"pads": [1, 2, 1, 2], "dilations": [1, 2]})], same, {"x": x}, {"w": w})
    limited = graph([("Conv", ["x", "w", "b"], ["c"], {"pads": around}), ("Clip", ["c", "low", "high"], ["y"], {})],
                    same, {"x": 3 * x}, {"w": w, "b": b, "low": np.float32(0), "high": np.float32(2)})
    residual = graph([("Conv", ["x", "w", "b"], ["c"], {"pads": around}), ("Add", ["c", "x"], ["y"], {})], same,
                     {"x": x}, {"w": w, "b": b})
    sums = convolve(x, w, around) + channels(b)
    deep = normal(random, 12, 1, 3, 3)
    depthwise = graph([("Conv", ["x", "w"], ["y"], {"pads": around, "group": 6})], (1, 12, 10, 10), {"x": x},
                      {"w": deep})
    columns = windows(x.astype(np.float64), 3, 1).reshape(6, 9, 10, 10)[np.arange(12) % 6]
    turned = np.einsum("ok,okhw->ohw", deep.reshape(12, 9).astype(np.float64), columns)[None]
    few = w.copy()
    few[:, 4:] = 0
    return [
        ("weights of the convolution before", two, f32({"x": x, "m": middle, "y": convolve(middle, w, around)}),
         "weights of 'm'"),
        ("padding at the other end", halved, f32({"x": x, "y": convolve(x, w, (1, 1, 0, 0), 2)}), "pad"),
        ("dilations exchanged", wide, f32({"x": x, "y": convolve(x, w, (2, 1, 2, 1), 1, (2, 1))}),
         "dilation|height and width of its window"),
        ("the upper limit lost", limited,
         f32({"x": 3 * x, "y": np.maximum(convolve(3 * x, w, around) + channels(b), 0)}), "(?i)relu|clip|upper|limit"),
        ("a residual twice", residual, f32({"x": x, "y": sums + 2 * x.astype(np.float64)}), "twice"),
        ("a multiplier's channels interleaved", depthwise, f32({"x": x, "y": turned}), "group|channel"),
        ("whole vectors of channels alone", residual, f32({"x": x, "y": convolve(x, few, around) + channels(b) + x}),
         "first 4|last 2|4 (input )?channels|lanes"),
        ("bias in bf16", residual, f32({"x": x, "y": convolve(x, w, around) + channels(brain(b)) + x}), "bias.*bf16")]


def transposed(random):
    """Deconvolutions."""
    x, w = normal(random, 1, 4, 7, 7), normal(random, 4, 5, 3, 3)

    def run(weight, first):
        y = np.zeros((1, 5, 16, 16))
        for r in range(3):
            for c in range(3):
                y[:, :, r:r + 13:2, c:c + 13:2] += np.einsum("io,bihw->bohw", weight[:, :, r, c].astype(np.float64), x)
        return f32({"x": x, "y": y[:, :, first:first + 14, first:first + 14]})
    made = graph([("ConvTranspose", ["x", "w"], ["y"], {"strides": [2, 2], "pads": [1] * 4, "output_padding": [1, 1]})],
                 (1, 5, 14, 14), {"x": x}, {"w": w})
    return [("a kernel that is not turned", made, run(w[:, :, ::-1, ::-1], 1), "turn|flip"),
            ("output padding in front", made, run(w, 0), "(?i)pad")]


def products(random):
    x, w, c = normal(random, 9, 50), normal(random, 50, 50, by=0.2), normal(random, 50)
    made = graph([("Gemm", ["x", "w", "c"], ["y"], {"alpha": 0.5, "beta": 2.0})], (9, 50), {"x": x}, {"w": w, "c": c})
    plain = graph([("MatMul", ["x", "w"], ["y"], {})], (9, 50), {"x": x}, {"w": w})
    far = graph([("Gemm", ["x", "w"], ["y"], {"transB": 1})], (9, 50), {"x": x}, {"w": w})
    wide, weights = x.astype(np.float64), w.astype(np.float64)
    ids = random.integers(0, 50, (3, 8))
    ids[0, :3] = -1, -7, -2
    table = model([("Gather", ["w", "i"], ["y"], {"axis": 0})], {"i": (INT64, ids.shape)},
                  {"y": (FLOAT, (3, 8, 50))}, {"w": w})
    return [
        ("Gemm's alpha ignored", made, f32({"x": x, "y": wide @ weights + 2 * c}),
         "product times|alpha|constant|twice"),
        ("Gemm's beta ignored", made, f32({"x": x, "y": 0.5 * wide @ weights + c}),
         "bias times|beta|half of|times 0.5"),
        ("Gemm's transB ignored", far, f32({"x": x, "y": wide @ weights}), "transpos|order|exchanged"),
        ("whole vectors of 8 alone", plain, f32({"x": x, "y": wide[:, :48] @ weights[:48]}), "48|last 2"),
        ("the last block of 16 written over the others", plain,
         f32({"x": x, "y": wide[:, 34:] @ weights[34:]}), "last 16|first 34|block"),
        ("negative indices taken for 0", table, {"i": ids, "y": w[np.maximum(ids, 0)]}, "negative|index"),
        ("an embedding stored in f16", table, {"i": ids, "y": w.astype(np.float16).astype(np.float32)[ids]}, "f16")]


def norms(random):
    x = normal(random, 3, 8, 6, 6, by=1.5) + np.float32(0.3)
    g, b, mean = normal(random, 8), normal(random, 8), np.abs(normal(random, 8))
    variance = random.uniform(0.3, 3, 8).astype(np.float32)
    wide = x.astype(np.float64)

    def batch(m, v, eps=1e-5, power=0.5):
        return f32({"x": x, "y": (wide - m) / (v + eps) ** power * channels(g) + channels(b)})
    every = {"g": g, "b": b, "m": mean, "v": variance}
    batched = graph([("BatchNormalization", ["x", *every], ["y"], {"epsilon": 1e-5})], x.shape, {"x": x}, every)
    single = graph([("InstanceNormalization", ["x", "g", "b"], ["y"], {"epsilon": 1e-5})], x.shape, {"x": x},
                   {"g": g, "b": b})
    own = dict(axis=(0, 2, 3), keepdims=True)
    square = normal(random, 4, 12, 12, by=1.5)
    s, t = normal(random, 12), normal(random, 12)
    layer = graph([("LayerNormalization", ["x", "s", "t"], ["y"], {"axis": -1, "epsilon": 1e-5})], square.shape,
                  {"x": square}, {"s": s, "t": t})
    tall = square.astype(np.float64)
    z = (tall - tall.mean(1, keepdims=True)) / np.sqrt(tall.var(1, keepdims=True) + 1e-5)
    unit = graph([("LpNormalization", ["x"], ["y"], {"axis": -1, "p": 2})], square.shape, {"x": square})
    old = graph([("Softmax", ["x"], ["y"], {"axis": 1})], x.shape, {"x": x})
    return [
        ("batch normalisation in training mode", batched, batch(wide.mean(**own), wide.var(**own)), "batch|training"),
        ("mean and variance exchanged", batched, batch(channels(variance), channels(mean)), "exchanged"),
        ("divided by the variance", batched, batch(channels(mean), channels(variance), power=1.0), "variance|root"),
        ("an epsilon of 1e-3", batched, batch(channels(mean), channels(variance), 1e-3), "epsilon"),
        ("instance norm over the batch", single, batch(wide.mean(**own), wide.var(**own)), "batch"),
        ("LayerNorm over axis 1", layer, f32({"x": square, "y": z * s + t}), "axis"),
        ("the norm of absolute values", unit, f32({"x": square, "y": tall / np.abs(tall).sum(-1, keepdims=True)}),
         "L1|p 1|absolute"),
        ("Softmax over all axes from 1", old,
         f32({"x": x, "y": softmax(wide.reshape(3, -1)).reshape(x.shape)}), "(?i)axes|flat|opset")]


def attention(random):
    heads, tokens, size = 4, 10, 8
    q, k, v = (normal(random, 1, heads, tokens, size) for _ in range(3))
    scores = (q.astype(np.float64) @ k.astype(np.float64).swapaxes(2, 3) / np.sqrt(size)).astype(np.float32)
    shape = scores.shape
    slopes = 2.0 ** -np.arange(1, heads + 1)
    distance = np.minimum(np.arange(tokens)[None] - np.arange(tokens)[:, None], 0)
    linear = (slopes[None, :, None, None] * distance).astype(np.float32)
    at = np.arange(tokens)
    behind = at[:, None] - at[None]

    def window(size):
        return np.where((behind >= 0) & (behind < size), 0, -1e9).astype(np.float32)[None, None]
    added = graph([("Add", ["x", "m"], ["y"], {})], shape, {"x": scores}, {"m": linear})
    slid = graph([("Add", ["x", "m"], ["a"], {}), ("Softmax", ["a"], ["y"], {"axis": -1})], shape, {"x": scores},
                 {"m": window(4)})
    capped = graph([("Div", ["x", "c"], ["d"], {}), ("Tanh", ["d"], ["t"], {}), ("Mul", ["t", "c"], ["y"], {})], shape,
                   {"x": 8 * scores}, {"c": np.float32(5)})
    cut = graph([("Add", ["x", "m"], ["y"], {})], (1, heads, 4, tokens), {"x": scores[:, :, :4]},
                {"m": np.where(at[None] > at[:4, None] + 6, -1e4, 0).astype(np.float32)})
    top = np.where(at[None] > at[:4, None], np.float32(-1e4), np.float32(0))
    shared = v[:, :2]
    grouped = graph([("Unsqueeze", ["v", "two"], ["u"], {}), ("Expand", ["u", "to"], ["e"], {}),
                     ("Reshape", ["e", "as"], ["r"], {}), ("MatMul", ["p", "r"], ["y"], {})], q.shape,
                    {"v": shared, "p": softmax(scores).astype(np.float32)},
                    {"two": np.array([2]), "to": np.array([1, 2, 2, tokens, size]),
                     "as": np.array([1, heads, tokens, size])})
    p = softmax(scores).astype(np.float32)
    cache = graph([("Concat", ["a", "b"], ["y"], {"axis": 2})], (1, heads, 13, size), {"a": q, "b": k[:, :, :3]})
    return [
        ("ALiBi's slopes of the next head", added, f32({"x": scores, "y": scores + np.roll(linear, -1, 1)}),
         "head|channel|shifted"),
        ("ALiBi's distance one further", added,
         f32({"x": scores, "y": scores + (slopes[None, :, None, None] * (distance - 1)).astype(np.float32)}),
         "shifted|one|earlier|later|further"),
        ("a window of one token more", slid, f32({"x": scores, "y": softmax(scores + window(5).astype(np.float64))}),
         "mask|window|one"),
        ("scores without their cap", capped, f32({"x": 8 * scores, "y": 8 * scores}), "(?i)without|left out|tanh|cap"),
        ("causal from the first key", cut, f32({"x": scores[:, :, :4], "y": scores[:, :, :4] + top}),
         "mask|diagonal|shift"),
        ("heads tiled for repeated", grouped,
         f32({"v": shared, "p": p, "y": p.astype(np.float64) @ np.tile(shared, (1, 2, 1, 1))}),
         "tile|repeat|head|order"),
        ("a cache behind its new keys", cache,
         f32({"a": q, "b": k[:, :, :3], "y": np.concatenate([k[:, :, :3], q], 2)}), "exchanged")]


def functions(random):
    x = normal(random, 2, 8, 8, 8, by=2)
    wide = x.astype(np.float64)
    slopes = random.uniform(0.05, 0.6, (8, 1, 1)).astype(np.float32)
    positive = np.abs(x) + np.float32(0.01)

    def one(kind, y, words, name, given=x, constants=None, **attributes):
        made = graph([(kind, ["x", *(constants or {})], ["y"], attributes)], y.shape, {"x": given}, constants)
        return name, made, f32({"x": given, "y": y}), words
    guess = (np.int32(0x5f3759df) - (positive.view(np.int32) >> 1)).view(np.float32).astype(np.float64)
    rough = guess * (1.5 - 0.5 * positive * guess * guess)
    five = graph([("Sum", ["x"] * 5, ["y"], {})], x.shape, {"x": x})
    root = graph([("Sqrt", ["x"], ["s"], {}), ("Reciprocal", ["s"], ["y"], {})], x.shape, {"x": positive})
    return [
        ("a sum that adds itself", five, f32({"x": x, "y": 16 * wide}), "16|twice|times"),
        ("a reciprocal root by its bits", root, f32({"x": positive, "y": rough}), "(?i)bits|newton|approx"),
        one("PRelu", np.where(wide > 0, wide, wide * slopes.reshape(8)), "slope", "PReLU's slopes along the last axis",
            constants={"s": slopes}),
        one("HardSigmoid", np.clip(0.2 * wide + 0.5, 0, 1), "alpha|0.2", "HardSigmoid's default alpha", alpha=1 / 6),
        one("HardSwish", wide * np.clip(0.2 * wide + 0.5, 0, 1), "alpha|0.2", "HardSwish of Keras's sigmoid"),
        one("Celu", np.where(wide > 0, wide, np.expm1(wide)), "alpha", "Celu's alpha ignored", alpha=2.0),
        one("Softsign", np.tanh(wide), "(?i)tanh", "Tanh for Softsign"),
        one("Clip", np.minimum(wide, 1.5), "(?i)min|lower|limit|without", "a lower limit ignored",
            constants={"low": np.float32(-1), "high": np.float32(1.5)}),
        one("Mod", np.mod(wide, 1.5), "(?i)sign|fmod|floor|divisor", "the remainder of a floor", fmod=1,
            constants={"d": np.float32(1.5)})]


def pools(random):
    x = normal(random, 1, 4, 7, 7)
    wide = x.astype(np.float64)

    def maxima(dilation):
        padded = np.pad(wide, ((0, 0), (0, 0), (2, 2), (2, 2)), constant_values=-np.inf)
        first = 2 - dilation
        return np.max([padded[:, :, first + r * dilation:][:, :, :7, first + c * dilation:][..., :7] for r in range(3)
                       for c in range(3)], 0)
    spread = graph([("MaxPool", ["x"], ["y"], {"kernel_shape": [3, 3], "pads": [2] * 4, "dilations": [2, 2]})], x.shape,
                   {"x": x})
    mean = graph([("GlobalAveragePool", ["x"], ["y"], {})], (1, 4, 1, 1), {"x": x})
    summed = graph([("CumSum", ["x", "a"], ["y"], {})], x.shape, {"x": x}, {"a": np.int64(3)})
    kept = graph([("Trilu", ["x", "k"], ["y"], {"upper": 0})], x.shape, {"x": x}, {"k": np.int64(0)})
    many = normal(random, 6, 40, 7, 7)
    means = graph([("GlobalAveragePool", ["x"], ["y"], {})], (6, 40, 1, 1), {"x": many})
    part = many.astype(np.float64).reshape(6, 40, 49)[..., :48].sum(-1) / 49
    ends = np.cumsum(wide, 3)
    return [
        ("a pool's dilation ignored", spread, f32({"x": x, "y": maxima(1)}), "dilation"),
        ("a mean of 49 divided by 64", mean, f32({"x": x, "y": wide.sum((2, 3), keepdims=True) / 64}),
         "64|factor|times"),
        ("a mean of whole vectors", means, f32({"x": many, "y": part[..., None, None]}), "48"),
        ("an exclusive sum", summed, f32({"x": x, "y": ends - wide}), "exclusive"),
        ("a sum from the other end", summed, f32({"x": x, "y": np.cumsum(wide[..., ::-1], 3)[..., ::-1]}),
         "reverse|other end"),
        ("a triangle without its diagonal", kept, f32({"x": x, "y": np.tril(wide, -1)}), "diagonal|k = -1|one")]


def moves(random):
    x, grid = normal(random, 1, 3, 9, 9), random.uniform(-0.9, 0.9, (1, 9, 9, 2)).astype(np.float32)
    wide = x.astype(np.float64)
    at = np.clip((grid.astype(np.float64)[0, ..., ::-1] + 1) * 4.5 - 0.5, 0, 8)

    def sampled(row, column):
        r, c = np.minimum(row.astype(int), 7), np.minimum(column.astype(int), 7)
        a, b = row - r, column - c
        return ((1 - a) * (1 - b) * wide[0, :, r, c].transpose(2, 0, 1) + (1 - a) * b * wide[0, :, r, c + 1].transpose(
            2, 0, 1) + a * (1 - b) * wide[0, :, r + 1, c].transpose(2, 0, 1)
            + a * b * wide[0, :, r + 1, c + 1].transpose(2, 0, 1))[None]
    grids = graph([("GridSample", ["x", "g"], ["y"], {"padding_mode": "border"})], x.shape, {"x": x, "g": grid})
    backwards = graph([("Slice", ["x", "s", "e", "a", "t"], ["y"], {})], x.shape, {"x": x},
                      {"s": np.array([8]), "e": np.array([-100]), "a": np.array([3]), "t": np.array([-1])})
    rows = np.array([[1], [4], [1], [7]])
    flat, news = normal(random, 9, 12), normal(random, 4, 12)
    scattered = graph([("ScatterND", ["x", "i", "u"], ["y"], {})], flat.shape, {"x": flat, "u": news}, {"i": rows})
    summed = flat.astype(np.float64).copy()
    np.add.at(summed, rows[:, 0], news)
    padded = graph([("Pad", ["x", "p"], ["y"], {"mode": "reflect"})], (1, 3, 13, 13), {"x": x},
                   {"p": np.array([0, 0, 2, 2, 0, 0, 2, 2])})
    cast = model([("Cast", ["x"], ["y"], {"to": INT32})], {"x": (FLOAT, x.shape)}, {"y": (INT32, x.shape)}, {})
    return [
        ("a grid's x and y exchanged", grids, f32({"x": x, "g": grid, "y": sampled(at[..., 1], at[..., 0])}),
         "exchanged|x and y|in reverse along axis 3"),
        ("a step of -1 taken for 1", backwards, f32({"x": x, "y": wide}), "step|revers|left out|backward"),
        ("updates added instead of written", scattered, f32({"x": flat, "u": news, "y": summed}), "(?i)add|sum"),
        ("symmetric padding for reflected", padded,
         f32({"x": x, "y": np.pad(wide, ((0, 0), (0, 0), (2, 2), (2, 2)), mode="symmetric")}), "symmetric|mode|border"),
        ("a cast that rounds", cast, {"x": 3 * x, "y": np.rint(3 * wide).astype(np.int32)}, "round")]


def recurrent(random):
    """A plain recurrent layer and an LSTM."""
    steps, batch, size, hidden = 7, 2, 5, 6
    x = normal(random, steps, batch, size)

    def weights(gates):
        return [normal(random, *s, by=0.6) for s in ((1, gates * hidden, size), (1, gates * hidden, hidden),
                                                     (1, 2 * gates * hidden))]

    def run(w, r, b, step, order):
        h, c, y = np.zeros((batch, hidden)), np.zeros((batch, hidden)), np.zeros((steps, 1, batch, hidden))
        for place, t in enumerate(order):
            half = b.shape[1] // 2
            sums = x[t].astype(np.float64) @ w[0].T + h @ r[0].T.astype(np.float64) + (b[0, :half] + b[0, half:])
            h, c = step(sums, c)
            y[place, 0] = h
        return f32({"x": x, "y": y})

    def lstm(tanh):
        def step(sums, c):
            i, o, f, g = np.split(sums, 4, 1)
            i, o, f = (1 / (1 + np.exp(-gate)) for gate in (i, o, f))
            c = f * c + i * np.tanh(g)
            return o * (np.tanh(c) if tanh else c), c
        return step
    plain, gated = weights(1), weights(4)

    def made(kind, given, **attributes):
        return graph([(kind, ["x", "w", "r", "b"], ["y"], {"hidden_size": hidden, **attributes})],
                     (steps, 1, batch, hidden), {"x": x}, dict(zip("wrb", given)))
    forward, backward = range(steps), range(steps - 1, -1, -1)
    return [
        ("RNN of Relu for Tanh", made("RNN", plain), run(*plain, lambda s, c: (np.maximum(s, 0), c), forward),
         "(?i)relu"),
        ("no Tanh at an LSTM's end", made("LSTM", gated), run(*gated, lstm(False), forward), "(?i)tanh|activation"),
        ("a reverse LSTM's results in its own order", made("LSTM", gated, direction="reverse"),
         run(*gated, lstm(True), backward), "(?i)revers|order|time")]


def third_faults():
    random = np.random.default_rng(47)
    every = (convolutions, transposed, products, norms, attention, functions, pools, moves, recurrent)
    return [fault for make in every for fault in make(random)]
