# SPDX-License-Identifier: Apache-2.0
"""More faults made in NumPy, as held_out_faults.py's, written when the list of causes was done: 7 of these 24 were
named then, none wrongly."""
import numpy as np
from onnx import TensorProto

from held_out_faults import f32, model, sigmoid, softmax, windows

FLOAT = TensorProto.FLOAT


def single(kind, x, shape=None, constants=None, **attributes):
    """A node of one input and constants."""
    constants = constants or {}
    return model([(kind, ["x", *constants], ["y"], attributes)], {"x": (FLOAT, x.shape)},
                 {"y": (FLOAT, shape or x.shape)}, constants)


def functions(random):
    x = (random.standard_normal((2, 6, 9, 10)) * 2).astype(np.float32)
    slopes = random.uniform(0.05, 0.6, (6, 1, 1)).astype(np.float32)
    wide = x.astype(np.float64)

    def written(y):
        return f32({"x": x, "y": y})
    return [
        ("Softplus of beta 2", single("Softplus", x), written(np.log1p(np.exp(2 * wide)) / 2), "Softplus|beta|2"),
        ("HardTanh for Tanh", single("Tanh", x), written(np.clip(wide, -1, 1)), "(?i)hard|clip|limit|held"),
        ("PReLU's slopes in reverse", single("PRelu", x, constants={"s": slopes}),
         written(np.where(wide > 0, wide, slopes[::-1] * wide)), "slope"),
        ("LeakyRelu turned round", single("LeakyRelu", x, alpha=0.1), written(np.where(wide > 0, 0.1 * wide, wide)),
         "slope"),
        ("the cube for the square", single("Pow", x, constants={"e": np.float32(2)}), written(wide ** 3),
         "3|exponent|cube|to 'e'"),
        ("logarithm of base 2", single("LogSoftmax", x, axis=-1), written(np.log2(softmax(wide))),
         "base 2|log2|times|1.44"),
        ("HardSwish for SiLU", model([("Sigmoid", ["x"], ["s"], {}), ("Mul", ["x", "s"], ["y"], {})],
                                     {"x": (FLOAT, x.shape)}, {"y": (FLOAT, x.shape)}, {}),
         written(wide * np.clip(wide / 6 + 0.5, 0, 1)), "HardSwish"),
        ("SiLU of 1.702 x", model([("Sigmoid", ["x"], ["s"], {}), ("Mul", ["x", "s"], ["y"], {})],
                                  {"x": (FLOAT, x.shape)}, {"y": (FLOAT, x.shape)}, {}),
         written(wide * sigmoid(1.702 * wide)), "1.702")]


def convolutions(random):
    x = random.standard_normal((1, 6, 9, 9)).astype(np.float32)
    w, b = random.standard_normal((8, 6, 3, 3)).astype(np.float32) * 0.2, random.standard_normal(8).astype(np.float32)
    w = w.astype(np.float32)
    shape, wide = (1, 8, 9, 9), x.astype(np.float64)
    plain = model([("Conv", ["x", "w", "b"], ["y"], {"pads": [1, 1, 1, 1]})], {"x": (FLOAT, x.shape)},
                  {"y": (FLOAT, shape)}, {"w": w, "b": b})
    active = model([("Conv", ["x", "w", "b"], ["c"], {"pads": [1, 1, 1, 1]}), ("Relu", ["c"], ["y"], {})],
                   {"x": (FLOAT, x.shape)}, {"y": (FLOAT, shape)}, {"w": w, "b": b})

    def sums(weight=w, padded=None):
        columns = windows(wide, 3, 1) if padded is None else windows(padded, 3, 0)
        return np.einsum("ok,bkhw->bohw", weight.astype(np.float64).reshape(8, -1), columns)

    def wrapped(mode):
        return np.pad(wide, ((0, 0), (0, 0), (1, 1), (1, 1)), mode=mode)
    bias = b.reshape(1, -1, 1, 1)
    pairs = w.reshape(-1, 2)[:, ::-1].reshape(w.shape)
    return [
        ("padding repeats the border", plain, f32({"x": x, "y": sums(padded=wrapped("edge")) + bias}), "(?i)pad|edge"),
        ("padding goes round", plain, f32({"x": x, "y": sums(padded=wrapped("wrap")) + bias}), "(?i)pad|wrap|circular"),
        ("padding reflects", plain, f32({"x": x, "y": sums(padded=wrapped("reflect")) + bias}), "(?i)pad|reflect"),
        ("nibbles exchanged", plain, f32({"x": x, "y": sums(pairs) + bias}), "pair|exchang|nibble|order"),
        ("bias behind the activation", active, f32({"x": x, "y": np.maximum(sums(), 0) + bias}), "(?i)bias"),
        ("no bias", active, f32({"x": x, "y": np.maximum(sums(), 0)}), "without the bias"),
        ("the kernel's rows upside down", plain, f32({"x": x, "y": sums(w[:, :, ::-1]) + bias}), "turn|kernel|flip"),
        ("the first half of the channels twice", plain,
         f32({"x": x, "y": sums(np.concatenate([2 * w[:, :3], 0 * w[:, 3:]], 1)) + bias}), "channel|half")]


def blocks(random):
    """A residual, a norm, scores."""
    x, r = (random.standard_normal((2, 8, 12)).astype(np.float32) for _ in range(2))
    g = random.uniform(-0.3, 0.3, 12).astype(np.float32)
    wide, other = x.astype(np.float64), r.astype(np.float64)
    two = {"x": (FLOAT, x.shape), "r": (FLOAT, x.shape)}
    residual = model([("Add", ["x", "r"], ["a"], {}), ("Relu", ["a"], ["y"], {})], two, {"y": (FLOAT, x.shape)}, {})
    gain = model([("Mul", ["x", "g"], ["y"], {})], {"x": (FLOAT, x.shape)}, {"y": (FLOAT, x.shape)}, {"g": g})
    norm = model([("LayerNormalization", ["x", "g"], ["y"], {"axis": -1, "epsilon": 1e-5})], {"x": (FLOAT, x.shape)},
                 {"y": (FLOAT, x.shape)}, {"g": g})
    z = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    scores = model([("Mul", ["x", "s"], ["t"], {}), ("Softmax", ["t"], ["y"], {"axis": -1})], {"x": (FLOAT, x.shape)},
                   {"y": (FLOAT, x.shape)}, {"s": np.float32(1 / 8)})
    both = {"x": x, "r": r}
    return [
        ("the activation before the residual", residual, f32({**both, "y": np.maximum(wide, 0) + other}),
         "(?i)relu|activation|before"),
        ("the residual lost", residual, f32({**both, "y": np.maximum(wide, 0)}), "without adding 'r'"),
        ("1 + gain (Gemma)", gain, f32({"x": x, "y": wide * (1 + g)}), r"1 \+|added|plus|factor"),
        ("gain of 1 more in a norm", norm, f32({"x": x, "y": z * (1 + g.astype(np.float64))}),
         r"1 \+|gamma|gain|1 added to 'g'"),
        ("gain squared in a norm", norm, f32({"x": x, "y": z * g.astype(np.float64) ** 2}), "gamma|gain|square"),
        ("a mean of absolute deviations", norm, f32({"x": x, "y": g * (wide - wide.mean(-1, keepdims=True)) / np.abs(
            wide - wide.mean(-1, keepdims=True)).mean(-1, keepdims=True)}), "deviation|variance|absolute"),
        ("scores times 1 / sqrt(8)", scores, f32({"x": x, "y": softmax(wide / np.sqrt(8))}), r"sqrt\(8\)|2\.828"),
        ("Softmax over tokens", scores, f32({"x": x, "y": softmax((wide / 8).swapaxes(1, 2)).swapaxes(1, 2)}), "axis")]


def more_faults():
    random = np.random.default_rng(29)
    return [fault for make in (functions, convolutions, blocks) for fault in make(random)]
