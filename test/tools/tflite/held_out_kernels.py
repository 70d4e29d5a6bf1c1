# SPDX-License-Identifier: Apache-2.0
"""Operators of int8 .tflite networks in NumPy, each part of which a fault may exchange. Written for held-out faults,
without those of integer_kernels.py and integer_faults.py."""
import dataclasses

import fixed_point
import numpy as np

LOW, HIGH = -128, 127
PRODUCTS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


@dataclasses.dataclass
class Step:
    """An operator as the file has it, and what it read."""
    kind: str
    values: list       # of its inputs that are no constants, int64
    grids: list        # (scale, zero point) of each
    grid: tuple        # of the result
    activation: str    # "", "RELU", "RELU6"
    options: dict      # kernel, stride, dilation, same, axes, pads, beta
    weights: object = None
    scales: object = None  # of the weights, of each channel
    bias: object = None

    @property
    def channels(self):
        return self.weights.shape[3 if self.kind == "DEPTHWISE_CONV_2D" else 0]


def padding(size, kernel, stride, dilation, same):
    """(before, after, size of the result) along one axis."""
    extent = (kernel - 1) * dilation + 1
    if not same:
        return 0, 0, (size - extent) // stride + 1
    out = -(-size // stride)
    total = max((out - 1) * stride + extent - size, 0)
    return total // 2, total - total // 2, out


def windows(step, x, fill, moved=(0, 0)):
    """Of each place of the window: (row, column, what all results read there)."""
    room, o = 4, step.options
    axes = [padding(x.shape[1 + a], o["kernel"][a], o["stride"][a], o["dilation"][a], o["same"]) for a in (0, 1)]
    wide = [x.shape[1 + a] + axes[a][0] + axes[a][1] + 2 * room for a in (0, 1)]
    padded = np.full((x.shape[0], *wide, x.shape[3]), fill, np.int64)
    top, left = axes[0][0] + room, axes[1][0] + room
    padded[:, top:top + x.shape[1], left:left + x.shape[2]] = x
    for row in range(o["kernel"][0]):
        for column in range(o["kernel"][1]):
            places = []
            for a, at in ((0, row), (1, column)):
                first = room + moved[a] + at * o["dilation"][a]
                places.append(slice(first, first + (axes[a][2] - 1) * o["stride"][a] + 1, o["stride"][a]))
            yield row, column, padded[:, places[0], places[1]]


def sums(step, x=None, zero=None, weights=None, bias=None, fill=None, moved=(0, 0), source=None, narrow=None):
    """Exact, bias included. source(channels, of the input): which channel a depthwise one reads; narrow(total): after
    each place of the window."""
    x = step.values[0] if x is None else x
    zero = step.grids[0][1] if zero is None else zero
    fill = step.grids[0][1] if fill is None else fill
    weights = step.weights if weights is None else weights
    bias = step.bias if bias is None else bias
    if step.kind == "FULLY_CONNECTED":
        return (x.reshape(-1, weights.shape[1]) - zero) @ weights.T + bias
    total = 0
    for row, column, part in windows(step, x, fill, moved):
        if step.kind == "CONV_2D":
            total = total + (part - zero) @ weights[:, row, column].T
        else:
            out, of_input = weights.shape[3], part.shape[3]
            channel = np.arange(out) // (out // of_input) if source is None else source(out, of_input)
            total = total + (part[..., channel] - zero) * weights[0, row, column]
        total = total if narrow is None else narrow(total)
    return total + bias


def factors(step):
    return np.broadcast_to(np.float64(step.grids[0][0]) * step.scales / np.float64(step.grid[0]), (step.channels,))


def limits(step, activation=None):
    scale, zero = step.grid
    activation = step.activation if activation is None else activation
    low = max(LOW, zero) if activation else LOW
    high = min(HIGH, zero + int(np.floor(6 / scale + 0.5))) if activation == "RELU6" else HIGH
    return low, high


def finish(step, total, by=None, rounded=fixed_point.twice, zero=None, between=None):
    """The integers of sums. by: the factor of each channel; rounded: one of fixed_point.py's."""
    by = factors(step) if by is None else np.broadcast_to(by, (step.channels,))
    parts = [rounded(total[..., c], *fixed_point.factor(by[c])) for c in range(step.channels)]
    whole = np.stack(parts, axis=-1) + (step.grid[1] if zero is None else zero)
    return np.clip(whole, *(between or limits(step)))


def product(step, by=None, rounded=fixed_point.twice, between=None, **changes):
    return finish(step, sums(step, **changes), by, rounded, between=between)


def reals(step, operand=0):
    return (step.values[operand] - step.grids[operand][1]) * np.float64(step.grids[operand][0])


def quantised(step, values, rounded=fixed_point.half_away, zero=None):
    whole = rounded(values / np.float64(step.grid[0])) + (step.grid[1] if zero is None else zero)
    return np.clip(whole, *limits(step)).astype(np.int64)


def add(step, zeros=None, scales=None, left=20, rounded=fixed_point.twice, between=None, second=1):
    zeros = zeros or [zero for _, zero in step.grids]
    scales = scales or [np.float64(scale) for scale, _ in step.grids]
    top = 2 * max(scales)
    total = 0
    for k, sign in ((0, 1), (1, second)):
        part = (step.values[k] - zeros[k]) << left
        total = total + sign * fixed_point.twice(part, *fixed_point.factor(scales[k] / top))
    whole = rounded(total, *fixed_point.factor(top / (2.0**left * np.float64(step.grid[0])))) + step.grid[1]
    return np.clip(whole, *(between or limits(step)))


def pool_sums(step, all_count=False):
    """(sums, how many values each is of)."""
    x = step.values[0]
    total = sum(part for _, _, part in windows(step, x, 0))
    count = sum(part for _, _, part in windows(step, np.ones_like(x), 0))
    return total, np.full_like(count, count.max()) if all_count else count


def average(step, rounded=fixed_point.half_away, all_count=False, count_off=0):
    total, count = pool_sums(step, all_count)
    return np.clip(rounded(total / np.maximum(count + count_off, 1)), LOW, HIGH).astype(np.int64)


def largest(step, fill=-10**6, kept=lambda row, column: True, moved=(0, 0)):
    parts = [part for row, column, part in windows(step, step.values[0], fill, moved) if kept(row, column)]
    return np.clip(np.max(parts, axis=0), LOW, HIGH)


def mean(step, count_off=0, rounded=fixed_point.twice):
    x, axes = step.values[0] - step.grids[0][1], step.options["axes"]
    count = int(np.prod([x.shape[a] for a in axes])) + count_off
    real = np.float64(step.grids[0][0]) / np.float64(step.grid[0]) / count
    return np.clip(rounded(x.sum(axis=axes), *fixed_point.factor(real)) + step.grid[1], LOW, HIGH)


def softmax(step, beta=1.0, rounded=fixed_point.half_away, zero=None):
    x = reals(step) * step.options["beta"] * beta
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return quantised(step, powers / powers.sum(axis=-1, keepdims=True), rounded, zero)


def pad(step, fill):
    return np.pad(step.values[0], step.options["pads"], constant_values=fill)


def right(step):
    """As LiteRT's reference kernels, but for a few integers."""
    if step.kind in PRODUCTS:
        return product(step)
    return {"ADD": add, "AVERAGE_POOL_2D": average, "MAX_POOL_2D": largest, "MEAN": mean, "SOFTMAX": softmax,
            "PAD": lambda s: pad(s, s.grids[0][1])}[step.kind](step)
