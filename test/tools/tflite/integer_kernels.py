# SPDX-License-Identifier: Apache-2.0
"""LiteRT's reference kernels of integers in NumPy. What a kernel does can be exchanged by keywords: that is how one
with a fault is made. Each takes a Call and gives the integers that it writes."""
import dataclasses

import fixed_point as fixed
import numpy as np

F = np.float32
LIMITS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767),
          "float32": (-1 << 30, 1 << 30)}


@dataclasses.dataclass
class Tensor:
    values: object  # int64
    scale: object   # f32; of weights an array
    zero: int = 0

    @property
    def whole(self):
        return self.values - self.zero


@dataclasses.dataclass
class Call:
    """One operator in a run: what it reads, and the grid of what it writes."""
    reads: list
    shape: list
    dtype: str
    scale: object
    zero: int
    options: dict
    family: str = "reference"  # of LiteRT's kernels, whose roundings of products are taken

    def stored(self, steps, zero=None, low=None, high=None):
        least, most = LIMITS[self.dtype]
        zero = self.zero if zero is None else zero
        low, high = least if low is None else low, most if high is None else high
        return np.clip(np.asarray(steps).astype(np.int64) + zero, low, high)

    def limits(self):
        """The limits that a fused activation sets."""
        least, most = LIMITS[self.dtype]
        name = self.options.get("activation", "")
        step = lambda real: self.zero + int(np.rint(real / self.scale))  # noqa: E731
        if name in ("RELU", "RELU6"):
            least = max(least, step(0))
        if name == "RELU6":
            most = min(most, step(6))
        return least, most


def changed(value, change):
    return value if change is None else change(value)


def pads_of(call, size, kernel, stride):
    if call.options.get("padding") != "SAME":
        return 0, 0, (size - kernel) // stride + 1
    out = -(-size // stride)
    total = max(0, (out - 1) * stride + kernel - size)
    return total // 2, total - total // 2, out


def window(call, x, kernel, pad, shift):
    """(padded input, rows, columns): `shift` moves the window by so many pixels."""
    stride = call.options.get("stride", 1)
    top, bottom, rows = pads_of(call, x.shape[1], kernel[0], stride)
    left, right, columns = pads_of(call, x.shape[2], kernel[1], stride)
    moved = ((0, 0), (top + shift, bottom - shift), (left + shift, right - shift), (0, 0))
    most = max(0, -min(map(min, moved)))
    wide = np.pad(x, [(a + most, b + most) if i in (1, 2) else (a, b) for i, (a, b) in enumerate(moved)],
                  constant_values=pad)
    if most:
        wide = wide[:, most:wide.shape[1] - most, most:wide.shape[2] - most]
    return wide, rows, columns


def convolution_sums(call, x_zero=None, w_zero=None, pad=None, x=None, w=None, bias=None, shift=0, taps=None,
                     pairs=None, depthwise=False):
    """pairs: what becomes of the sum of each pair of products."""
    source, weights = call.reads[0], call.reads[1]
    values = changed(source.values, x)
    zero = source.zero if x_zero is None else x_zero
    whole = changed(weights.values, w) - (weights.zero if w_zero is None else w_zero)
    kernel, stride = whole.shape[1:3], call.options.get("stride", 1)
    wide, rows, columns = window(call, values, kernel, source.zero if pad is None else pad, shift)
    wide = wide - zero
    channels = call.shape[3]
    sums = np.zeros((wide.shape[0], rows, columns, channels), np.int64)
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            if taps is not None and not taps(i, j, kernel):
                continue
            part = wide[:, i:i + (rows - 1) * stride + 1:stride, j:j + (columns - 1) * stride + 1:stride]
            if depthwise:
                sums += np.repeat(part, channels // part.shape[3], axis=3) * whole[0, i, j]
            elif pairs is None:
                sums += np.einsum("nhwc,oc->nhwo", part, whole[:, i, j])
            else:
                products = part[:, :, :, None, :] * whole[:, i, j]
                sums += pairs(products[..., 0::2] + products[..., 1::2]).sum(axis=4)
    return sums + bias_of(call, bias)


def bias_of(call, change):
    return changed(call.reads[2].values, change) if len(call.reads) > 2 else 0


def transposed_sums(call, shift=0, taps=None, bias=None, x_zero=None, w=None, **_):
    source, weights = call.reads[0], call.reads[1]
    x = source.values - (source.zero if x_zero is None else x_zero)
    whole = changed(weights.values, w) - weights.zero
    stride, (rows, columns) = call.options["stride"], call.shape[1:3]
    high, wide = (x.shape[1] - 1) * stride + whole.shape[1], (x.shape[2] - 1) * stride + whole.shape[2]
    sums = np.zeros((x.shape[0], high, wide, call.shape[3]), np.int64)
    for i in range(whole.shape[1]):
        for j in range(whole.shape[2]):
            if taps is None or taps(i, j, whole.shape[1:3]):
                sums[:, i:i + (x.shape[1] - 1) * stride + 1:stride, j:j + (x.shape[2] - 1) * stride + 1:stride] += \
                    np.einsum("nhwc,oc->nhwo", x, whole[:, i, j])
    top = max(0, high - rows) // 2 if call.options.get("padding") == "SAME" else 0
    return np.roll(sums, (-top - shift, -top - shift), (1, 2))[:, :rows, :columns] + bias_of(call, bias)


def dense_sums(call, x_zero=None, w_zero=None, x=None, w=None, bias=None, terms=None, pairs=None, **_):
    source, weights = call.reads[0], call.reads[1]
    left = changed(source.values, x) - (source.zero if x_zero is None else x_zero)
    right = changed(weights.values, w) - (weights.zero if w_zero is None else w_zero)
    left = left.reshape(-1, right.shape[1])
    if terms is not None:
        left, right = left[:, :terms(left.shape[1])], right[:, :terms(right.shape[1])]
    if pairs is None:
        sums = left @ right.T
    else:
        products = left[:, None, :] * right[None]
        sums = pairs(products[..., 0::2] + products[..., 1::2]).sum(axis=2)
    return (sums + bias_of(call, bias)).reshape(call.shape)


SUMS = {"CONV_2D": convolution_sums, "FULLY_CONNECTED": dense_sums, "TRANSPOSE_CONV": transposed_sums,
        "DEPTHWISE_CONV_2D": lambda call, **given: convolution_sums(call, depthwise=True, **given)}


def rounding_of(call, kind):
    if kind == "FULLY_CONNECTED" and (call.family == "reference" or call.dtype == "int16"):
        return fixed.in_f64
    if call.dtype == "int16":
        return fixed.by_15_bits
    by_family = {"reference": fixed.twice, "xnnpack": fixed.in_f32,
                 "optimised": fixed.twice_up if kind in ("FULLY_CONNECTED", "CONV_2D") else fixed.twice}
    return by_family[call.family]


def product(call, kind, sums=None, scales=None, zero=None, limits=None, requant=None, factor=None, behind=None,
            wraps=False, **given):
    """A sum of products, requantised channel by channel."""
    requant = requant or rounding_of(call, kind)
    total = changed(SUMS[kind](call, **given), sums)
    channels = call.shape[-1]
    scale = np.broadcast_to(np.asarray(call.reads[1].scale, np.float64), (channels,))
    factors = changed(np.float64(call.reads[0].scale) * scale / np.float64(call.scale), scales)
    grids = [fixed.factor(real) if factor is None else factor(*fixed.factor(real)) for real in factors]
    steps = np.stack([requant(total[..., c], *grids[c]) for c in range(channels)], axis=-1)
    steps = changed(steps, behind)
    if wraps:
        return wrapped(steps + call.zero, call.dtype)
    low, high = call.limits() if limits is None else limits(call)
    return call.stored(steps, zero, low, high)


def wrapped(values, dtype):
    low, high = LIMITS[dtype]
    return (values - low) % (high - low + 1) + low


def pair(call, sign=1, left=None, a=None, b=None, swap=False, zero=None, requant=fixed.twice, limits=None, out=None):
    """ADD, SUB."""
    first, second = call.reads
    left = (15 if call.dtype == "int16" else 20) if left is None else left
    one, two = changed(first.whole, a), changed(second.whole, b)
    scale_one, scale_two = np.float64(first.scale), np.float64(second.scale)
    if swap:
        scale_one, scale_two = scale_two, scale_one
    double = 2 * max(scale_one, scale_two)
    total = requant(one << left, *fixed.factor(scale_one / double)) \
        + sign * requant(two << left, *fixed.factor(scale_two / double))
    steps = requant(total, *fixed.factor(changed(double / (2.0**left * np.float64(call.scale)), out)))
    low, high = call.limits() if limits is None else limits(call)
    return call.stored(steps, zero, low, high)


def times(call, a=None, b=None, zero=None, requant=fixed.twice, out=None, products=None, limits=None):
    """MUL."""
    first, second = call.reads
    real = np.float64(F(first.scale) * F(second.scale) / F(call.scale))
    total = changed(changed(first.whole, a) * changed(second.whole, b), products)
    low, high = call.limits() if limits is None else limits(call)
    return call.stored(requant(total, *fixed.factor(changed(real, out))), zero, low, high)


def away(total, count):
    return np.where(total > 0, (total + count // 2) // count, -((-total + count // 2) // count))


def average(call, divide=away, counts=None, edge=0, shift=0):
    """AVERAGE_POOL_2D."""
    x, kernel, stride = call.reads[0].values, call.options["window"], call.options.get("stride", 1)
    wide, rows, columns = window(call, x, kernel, edge, shift)
    inside, _, _ = window(call, np.ones_like(x), kernel, 0, shift)
    total = np.zeros((x.shape[0], rows, columns, x.shape[3]), np.int64)
    count = np.zeros_like(total)
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            at = (slice(None), slice(i, i + (rows - 1) * stride + 1, stride),
                  slice(j, j + (columns - 1) * stride + 1, stride))
            total, count = total + wide[at], count + inside[at]
    return np.clip(divide(total, changed(count, counts)), *LIMITS[call.dtype])


def largest(call, edge=None, shift=0, kernel=None, start=None):
    """MAX_POOL_2D."""
    x, kernel, stride = call.reads[0].values, kernel or call.options["window"], call.options.get("stride", 1)
    low = LIMITS[call.dtype][0]
    wide, rows, columns = window(call, x, kernel, low if edge is None else edge, shift)
    result = np.full((x.shape[0], rows, columns, x.shape[3]), low if start is None else start, np.int64)
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            result = np.maximum(result, wide[:, i:i + (rows - 1) * stride + 1:stride,
                                             j:j + (columns - 1) * stride + 1:stride])
    return result


def reduced(call, mean, requant=fixed.twice, x_zero=None, zero=None, count=None, terms=None, wraps=False):
    """MEAN (with the count in the factor), SUM."""
    source, axes = call.reads[0], tuple(call.options["axes"])
    whole = source.values - (source.zero if x_zero is None else x_zero)
    total = changed(whole, terms).sum(axis=axes).reshape(call.shape)
    number = changed(int(np.prod([source.values.shape[a] for a in axes])), count)
    multiplier, shift = fixed.factor(np.float64(source.scale) / np.float64(call.scale))
    if mean:
        more = min(int(number).bit_length() - 1, 31 + shift)
        multiplier, shift = (multiplier << more) // number, shift - more
    steps = requant(total, multiplier, shift)
    return wrapped(steps + call.zero, call.dtype) if wraps else call.stored(steps, zero)


def table(call, function, round_=fixed.half_away, index=0, scale=None, zero=None, x_zero=None, out=None):
    """LOGISTIC, TANH, ELU, GELU: of 256 integers. index: the entry is so many further on."""
    source = call.reads[0]
    low, high = LIMITS[call.dtype]
    values = np.clip(source.values + index, low, high) - (source.zero if x_zero is None else x_zero)
    real = values.astype(F) * F(changed(source.scale, scale))
    steps = function(real).astype(F) * (F(1) / F(changed(call.scale, out)))
    return call.stored(round_(steps), zero)


def softmax(call, beta=1.0, index=0, round_=np.rint, axis=-1, zero=None, out=None, largest_of=None):
    """SOFTMAX by a table of exp."""
    source = call.reads[0]
    most = source.values.max(axis=axis, keepdims=True) if largest_of is None else largest_of(source.values)
    below = np.clip(most - source.values + index, 0, 255)
    entries = np.exp((-F(source.scale) * F(beta)) * np.arange(256).astype(F)).astype(F)[below]
    share = entries / entries.sum(axis=axis, keepdims=True, dtype=F) / F(changed(call.scale, out))
    return call.stored(round_(share), zero)


def two_slopes(call, slopes=None, at_zero=None, requant=fixed.twice, identity=None, below=None, zero=None):
    """PRELU (slopes: a Tensor), LEAKY_RELU."""
    source = call.reads[0]
    x = source.whole
    real = np.float64(F(source.scale) / F(call.scale))
    own = requant(x, *fixed.factor(changed(real, identity)))
    if len(call.reads) > 1:
        slope = call.reads[1]
        product_, factor = x * changed(slope.values, slopes) - (0 if slopes else x * slope.zero), F(slope.scale)
    else:
        product_, factor = x, F(call.options["alpha"])
    small = requant(product_, *fixed.factor(changed(np.float64(F(source.scale) * factor / F(call.scale)), below)))
    return call.stored(np.where(x >= 0 if at_zero is None else at_zero(source), own, small), zero)


def requantised(call, requant=fixed.twice, x_zero=None, zero=None, ratio=None, wraps=False, limits=None, behind=None):
    """QUANTIZE from integers to others, RELU, RELU6."""
    source = call.reads[0]
    real = changed(np.float64(source.scale) / np.float64(call.scale), ratio)
    steps = changed(requant(source.values - (source.zero if x_zero is None else x_zero), *fixed.factor(real)), behind)
    low, high = call.limits() if limits is None else limits(call)
    return wrapped(steps + call.zero, call.dtype) if wraps else call.stored(steps, zero, low, high)


def svdf(call, requant=fixed.twice, bias=None, zero=None, x_zero=None, newest=-1, state=None, rank=None):
    """SVDF behind a state of zeros: the newest weight of each filter alone."""
    source, feature, time, given, memory = call.reads
    x = source.values - (source.zero if x_zero is None else x_zero)
    made = requant(x @ feature.values.T, *fixed.factor(np.float64(source.scale) * feature.scale / memory.scale))
    terms = changed(np.clip(made, -32768, 32767), state) * time.values[:, newest]
    rank = call.options["rank"] if rank is None else rank
    units = call.shape[1]
    total = terms.reshape(len(x), units, -1)[:, :, :rank].sum(axis=2) + changed(given.values, bias)
    return call.stored(requant(total, *fixed.factor(np.float64(memory.scale) * time.scale / call.scale)), zero)


def hard_swish(call, half=1 << 15, gate=None, scale=None, zero=None, last=None, x_zero=None):
    """x relu6(x + 3) / 6 in 16 bits."""
    source = call.reads[0]
    x = (source.values - (source.zero if x_zero is None else x_zero)) * 128
    fine = F(1 / 128) * F(source.scale)
    sat = lambda v: np.clip(v, -32768, 32767)  # noqa: E731
    nudge = lambda p: p + np.where(p >= 0, 1 << 14, 1 - (1 << 14))  # noqa: E731
    times15 = lambda a, b: sat(np.trunc(nudge(a * b) / (1 << 15)).astype(np.int64))  # noqa: E731
    bits15 = lambda m: 32767 if m >= 0x7FFF0000 else (m + (1 << 15)) >> 16  # noqa: E731
    to_y, to_relu = fixed.factor(changed(fine / F(call.scale), scale)), fixed.factor(fine / (F(3) / F(32768)))
    relu = x
    if to_relu[1] > 0:
        relu = sat(relu << (to_relu[1] - 1))
    relu = times15(relu, bits15(to_relu[0]))
    if to_relu[1] > 0:
        relu = sat(relu * 2)
    if to_relu[1] < 0:
        relu = fixed.shifted(relu, -to_relu[1])
    relu = changed((relu + half) >> 1, gate)
    scaled = times15(x, bits15(to_y[0]))
    last = fixed.shifted if last is None else last
    return call.stored(last(sat(np.trunc(relu * scaled / (1 << 15)).astype(np.int64)), -to_y[1]), zero)
