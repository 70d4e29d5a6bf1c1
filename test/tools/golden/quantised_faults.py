# SPDX-License-Identifier: Apache-2.0
"""A convolution of integers, as a kernel with one fault computes it: what is wrong, and how its cause is named."""
import dataclasses

import numpy as np

F = np.float32


@dataclasses.dataclass
class Convolution:
    """One of a Q-DQ model, between the integers that it reads and those that it writes."""
    x: object       # [1, channels, height, width]
    x_zero: int
    x_scale: object
    w: object       # [out, in, height, width]
    w_zero: int
    w_scale: object  # [out]
    bias: object     # i32
    y_zero: int
    y_scale: object
    dtype: object
    pads: int
    stride: int
    group: int

    def sums(self, pad=None, x_zero=None, w_zero=None, x=None, bias=None):
        x = (self.x if x is None else x).astype(np.int64)
        x_zero = self.x_zero if x_zero is None else x_zero
        x = np.pad(x, ((0, 0), (0, 0), (self.pads,) * 2, (self.pads,) * 2),
                   constant_values=self.x_zero if pad is None else pad) - x_zero
        w = self.w.astype(np.int64) - (self.w_zero if w_zero is None else w_zero)
        out, each, high, wide = w.shape
        rows, columns = (x.shape[2] - high) // self.stride + 1, (x.shape[3] - wide) // self.stride + 1
        sums = np.zeros((1, out, rows, columns), np.int64)
        for o in range(out):
            first = o // (out // self.group) * each
            for i in range(high):
                for j in range(wide):
                    part = x[:, first:first + each, i:i + rows * self.stride:self.stride,
                             j:j + columns * self.stride:self.stride]
                    sums[:, o] += np.einsum("nchw,c->nhw", part, w[o, :, i, j])
        return sums + (self.bias if bias is None else bias)[None, :, None, None]

    def scaled(self, sums, w_scale=None):
        factor = (self.x_scale * (self.w_scale if w_scale is None else w_scale)).astype(F) / self.y_scale
        return sums.astype(F) * factor.astype(F)[None, :, None, None]

    def stored(self, rounded, zero=None):
        limits = np.iinfo(self.dtype)
        zero = self.y_zero if zero is None else zero
        return (np.clip(rounded, limits.min - zero, limits.max - zero) + zero).astype(self.dtype)

    def healthy(self):
        return self.stored(np.rint(self.scaled(self.sums())))


def of_sums(change):
    return lambda c: c.stored(np.rint(c.scaled(change(c.sums()))))


def half_away(v):
    return np.sign(v) * np.floor(np.abs(v) + F(0.5))


def wrapped(c):
    """Without the clamp: the lowest 8 bits."""
    return (np.rint(c.scaled(c.sums())).astype(np.int64) + c.y_zero).astype(np.uint8).view(c.dtype)


def rounded(round_, *zero):
    """Another rounding, or another zero point."""
    return lambda c: c.stored(round_(c.scaled(c.sums())), *[z(c) for z in zero])


def scales(change):
    return lambda c: c.stored(np.rint(c.scaled(c.sums(), change(c.w_scale))))


def sums(**given):
    """Sums with other zero points, padding or biases."""
    return lambda c: c.stored(np.rint(c.scaled(c.sums(**{name: f(c) for name, f in given.items()}))))


# (what, kernel, what names its cause)
FAULTS = [
    ("rounded half away from zero", rounded(half_away), "half away"),
    ("rounded half up", rounded(lambda v: np.floor(v + F(0.5))), "half up|half away"),
    ("truncated", rounded(np.trunc), "towards zero|down"),
    ("floor", rounded(np.floor), "down|towards zero"),
    ("result's zero point off by one", rounded(np.rint, lambda c: c.y_zero + 1), "zero point of the result"),
    ("result's zero point lost", rounded(np.rint, lambda c: 0), "zero point of the result"),
    ("next channel's scale", scales(lambda s: np.roll(s, -1)), "channel behind"),
    ("first channel's scale", scales(lambda s: np.full_like(s, s[0])), "first channel"),
    ("scale 0.3 % too large", scales(lambda s: s * F(1.003)), "scale"),
    ("bias lost", sums(bias=lambda c: c.bias * 0), "without the bias"),
    ("bias of the channel before", sums(bias=lambda c: np.roll(c.bias, 1)), "bias of the channel before"),
    ("sums saturate at 16 bits", of_sums(lambda s: np.clip(s, -32768, 32767)), "saturate at 16"),
    ("sums wrap at 16 bits", of_sums(lambda s: s.astype(np.int16).astype(np.int64)), "wrap at 16"),
    ("padding by 0", sums(pad=lambda c: 0), "padding by the integer 0"),
    ("clamp missing", wrapped, "wrap at the ends of their type"),
    ("input's zero point ignored", sums(x_zero=lambda c: 0, pad=lambda c: 0), "zero point"),
    ("input's zero point off by one", sums(x_zero=lambda c: c.x_zero + 1), "zero point of the input"),
    ("one step more in 1 of 200", lambda c: one_more(c.healthy()), "one step"),
]


def one_more(healthy):
    values = healthy.reshape(-1).copy()
    limits = np.iinfo(values.dtype)
    at = np.arange(0, values.size, 200)
    values[at] = np.where(values[at] < limits.max, values[at] + 1, values[at] - 1)
    return values.reshape(healthy.shape)


def powers_of_two(model):
    """Every scale a power of two: then many sums lie on ties."""
    import onnx
    scales = {name for n in model.graph.node if n.op_type in ("QuantizeLinear", "DequantizeLinear")
              for name in n.input[1:2]}
    for tensor in model.graph.initializer:
        if tensor.name in scales:
            values = onnx.numpy_helper.to_array(tensor)
            tensor.CopyFrom(onnx.numpy_helper.from_array(np.exp2(np.rint(np.log2(values))).astype(F), tensor.name))
    exact_biases(model)


def exact_biases(model):
    """The scale of a bias is that of the input times that of the weights."""
    import onnx
    made = {n.output[0]: n for n in model.graph.node}
    values = {t.name: t for t in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type not in ("Conv", "Gemm") or len(node.input) < 3 or node.input[2] not in made:
            continue
        x, w, b = (made[name] for name in node.input[:3])
        scale = onnx.numpy_helper.to_array(values[x.input[1]]) * onnx.numpy_helper.to_array(values[w.input[1]])
        shape = onnx.numpy_helper.to_array(values[b.input[1]]).shape
        values[b.input[1]].CopyFrom(onnx.numpy_helper.from_array(scale.astype(F).reshape(shape), b.input[1]))


def convolution(model, name, tensors):
    """The Convolution of a Q-DQ model, and the name of the integers that it writes."""
    import onnx
    made = {n.output[0]: n for n in model.graph.node}
    values = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    node = next(n for n in model.graph.node if n.name == name)
    x, w, b = (made[i] for i in node.input[:3])
    blob = node.output[0]
    quantise = next((n for n in model.graph.node if n.op_type == "QuantizeLinear" and n.input[0] == blob), None)
    if quantise is None:
        blob = next(n for n in model.graph.node if n.op_type == "Relu" and n.input[0] == blob).output[0]
        quantise = next(n for n in model.graph.node if n.op_type == "QuantizeLinear" and n.input[0] == blob)
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    weights = values[w.input[0]]
    scale = np.broadcast_to(values[w.input[1]].reshape(-1), (weights.shape[0],)).astype(F)
    return quantise.output[0], Convolution(
        tensors[x.input[0]], int(values[x.input[2]]), F(values[x.input[1]]), weights,
        int(values[w.input[2]].reshape(-1)[0]), scale, values[b.input[0]], int(values[quantise.input[2]]),
        F(values[quantise.input[1]]), values[quantise.input[2]].dtype.type, attributes.get("pads", [0])[0],
        attributes.get("strides", [1])[0], attributes.get("group", 1))


def cut_in_front(model, blob):
    """A copy that reads the integers instead of making them."""
    import onnx
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    node = next(n for n in copy.graph.node if blob in n.output)
    zero = next(t for t in copy.graph.initializer if t.name == node.input[2])
    copy.graph.node.remove(node)
    copy.graph.input.append(onnx.helper.make_tensor_value_info(blob, zero.data_type, None))
    return copy
