# SPDX-License-Identifier: Apache-2.0
"""TNN's 8-bit kernels in NumPy, from their published arithmetic and apart from Plumb's own: layers over integers with a
scale and a zero point, and tnnproto and tnnmodel files of them. `Naive` and `Arm` are its two families of kernels."""
import struct

import numpy as np

F32 = np.float32
MAGIC = 0xFABC0004
INT8, INT32, FLOAT = 2, 3, 0


class Naive:
    """A half is added in f32 behind the zero point, and the rest cut off."""
    name = "naive"

    def to_int8(self, value, zero=0):
        value = (value + F32(zero)).astype(F32)
        more = (value + np.where(value >= 0, F32(0.5), F32(-0.5))).astype(F32)
        return np.trunc(np.clip(more, -128, 127)).astype(np.int64)

    def quantise(self, x, scale, zero):
        return self.to_int8((x / scale).astype(F32), zero)

    def add(self, a, b, out):
        first, second = a.reals(), b.reals()
        return self.to_int8(((first + second).astype(F32) / out.scale).astype(F32), out.zero)

    def join(self, parts, out, axis):
        assert all(part.scale == out.scale for part in parts)  # its kernel copies
        return np.concatenate([part.q for part in parts], axis)

    def fused(self, steps, added, scale, rectified, one_operation):
        """A convolution into which TNN fused an Add: what becomes of its sums in steps of the result."""
        if rectified:
            steps = np.maximum(steps, F32(0))
        whole, factor = (added.q - added.zero).astype(F32), F32(added.scale / scale)
        if one_operation:  # 24 bits each: their product is exact
            return (whole.astype(np.longdouble) * factor + steps).astype(F32)
        return (steps + (whole * factor).astype(F32)).astype(F32)

    def sigmoid(self, x, out):
        reals = (F32(1) / (F32(1) + np.exp(-x.reals()).astype(F32))).astype(F32)
        return self.to_int8((reals / out.scale).astype(F32))

    def upsample(self, x, out):
        (top, bottom, above, below) = rows_of(x.reals(), out.shape, lambda a, wa, b, wb: wa * a + wb * b)
        return self.to_int8(((above * top + below * bottom) / out.scale).astype(F32))


class Arm(Naive):
    """Halves away from zero; no zero points."""
    name = "arm"

    def to_int8(self, value, zero=0):
        assert zero == 0
        away = np.sign(value) * np.floor(np.abs(value).astype(np.float64) + 0.5)
        return np.clip(away, -128, 127).astype(np.int64)

    def quantise(self, x, scale, zero):
        return self.to_int8((x * (F32(1) / scale)).astype(F32), zero)

    def add(self, a, b, out):
        first, second = a.reals(), b.reals()
        return self.to_int8(((first + second).astype(F32) * (F32(1) / out.scale)).astype(F32))

    def join(self, parts, out, axis):
        return np.concatenate([self.to_int8((part.q.astype(F32) * (part.scale / out.scale)).astype(F32))
                               for part in parts], axis)

    def upsample(self, x, out):
        def weight(part):
            return np.floor(part * F32(2048) + F32(0.5)).astype(np.int64)
        top, bottom, above, below = rows_of(x.q, out.shape,
                                            lambda a, wa, b, wb: (a * weight(wa) + b * weight(wb)) >> 4)
        return (((top * weight(above) + bottom * weight(below)) >> 16) + 2) >> 2


def places(size, out):
    """Along an axis: the pixel, the next one, and what the next one counts."""
    ratio = F32(size) / F32(out)
    at = np.maximum((np.float64(ratio) * (np.arange(out) + 0.5) - 0.5).astype(F32), F32(0))
    low = at.astype(np.int64)
    return low, np.minimum(low + 1, size - 1), (at - low.astype(F32)).astype(F32)


def rows_of(x, shape, blend):
    """Both rows around each output, blended along the row, and what each of them counts."""
    row, next_row, down = places(x.shape[2], shape[2])
    column, next_column, along = places(x.shape[3], shape[3])
    down = down[:, None]
    return (*(blend(x[:, :, r][:, :, :, column], F32(1) - along, x[:, :, r][:, :, :, next_column], along)
              for r in (row, next_row)), F32(1) - down, down)


class Blob:
    def __init__(self, q, scale, zero=0):
        self.q, self.scale, self.zero = q, F32(scale), zero

    def reals(self):
        return (self.scale * (self.q - self.zero).astype(F32)).astype(F32)


class Out:
    """What a layer's result looks like."""

    def __init__(self, shape, scale, zero=0):
        self.shape, self.scale, self.zero = shape, F32(scale), zero


def sums_of(x, weights, bias, stride, pad, group):
    """Exact sums of a convolution; padding counts for nothing."""
    whole = np.pad(x.q - x.zero, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    outputs, inner, height, width = weights.shape
    rows, columns = ((whole.shape[2 + i] - (height, width)[i]) // stride + 1 for i in (0, 1))
    sums = np.zeros((whole.shape[0], outputs, rows, columns), np.int64)
    each = outputs // group
    for channel in range(outputs):
        first = channel // each * inner
        for y in range(height):
            for along in range(width):
                part = whole[:, first:first + inner, y:y + rows * stride:stride, along:along + columns * stride:stride]
                sums[:, channel] += np.einsum("nchw,c->nhw", part, weights[channel, :, y, along])
    return sums + bias.reshape(1, -1, 1, 1)


def raw(values, dtype):
    kind = {FLOAT: np.float32, INT8: np.int8, INT32: np.int32}[dtype]
    data = np.ascontiguousarray(values, kind)
    dims = struct.pack(f"<i{data.ndim}i", data.ndim, *data.shape)
    return struct.pack("<Iii", MAGIC, dtype, data.nbytes) + dims + data.tobytes()


def text(word):
    return struct.pack("<i", len(word)) + word.encode()


class File:
    """A tnnproto and its tnnmodel, layer by layer."""

    def __init__(self, shape):
        self.shape, self.lines, self.records, self.last = shape, [], [], None

    def layer(self, kind, name, inputs, outputs, *words):
        self.lines.append(" ".join(map(str, [kind, name, len(inputs), len(outputs), *inputs, *outputs, *words])))
        self.last = outputs[0]

    def weights(self, number, kind, name, weights, bias, scales):
        has = struct.pack("<i", 1) if kind == "QuantizedConvolution" else b""
        self.records.append(struct.pack("<i", number) + text(kind) + text(name) + text(name) + has +
                            raw(weights, INT8) + raw(bias, INT32) + raw(np.zeros(len(scales)), INT8) +
                            raw(scales, FLOAT))

    def scale(self, blob, scale, zero=0):
        """scale: one, or one for each channel."""
        scales = np.ravel(scale)
        self.records.append(struct.pack("<i", 600) + text("BlobScale") + text(blob + "_scale_data_") +
                            raw(np.full(len(scales), zero), INT8) + raw(scales, FLOAT) +
                            raw(np.zeros(len(scales)), INT32))

    def save(self, path):
        header = [f"1 1 1 {MAGIC}", f"data 4 {' '.join(map(str, self.shape))} 0", "", self.last, str(len(self.lines))]
        path.write_text("".join(f'"{line} ,"\n' for line in header + self.lines))
        body = struct.pack("<Ii", MAGIC, len(self.records)) + b"".join(self.records)
        path.with_suffix(".tnnmodel").write_bytes(body)
