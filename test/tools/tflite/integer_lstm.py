# SPDX-License-Identifier: Apache-2.0
"""LiteRT's LSTM of int8 with cells of 16 bits in NumPy, as published and apart from Plumb's own; each part of it can be
another one, as a faulty kernel has it. And an LSTM that is trained here, in whole numbers."""
import dataclasses

import fixed_point as fixed
import lite
import numpy as np

F = np.float32
GATES = "ifgo"
CELL_BITS = 4


def limited(x, bits=16):
    return np.clip(x, -(1 << bits - 1), (1 << bits - 1) - 1)


def wrapped(x):
    return ((x + 32768) & 65535) - 32768


def short_high(a, b):
    product = np.asarray(a, np.int64) * b
    total = product + np.where(product >= 0, 1 << 14, 1 - (1 << 14))
    return limited(np.where(total >= 0, total >> 15, -(-total >> 15)))


def short(constant):
    return fixed.shifted(np.int64(constant), 16)


def exp_below_zero(x, bits):
    """A fraction of 15 bits; `bits` of x in front of the point."""
    below = 15 - bits
    quarter = 1 << below - 2
    within = (x & quarter - 1) - quarter
    y = limited(within << bits) + (1 << 12)
    squared = short_high(y, y)
    cubed, fourth = short_high(squared, y), short_high(squared, squared)
    third = short_high(fixed.shifted(fourth, 2) + cubed, short(715827883))
    made = limited(short(1895147668) + short_high(short(1895147668), y + fixed.shifted(third + squared, 1)))
    for exponent, power in enumerate((1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242), -2):
        if bits > exponent:
            made = np.where(within - x & 1 << below + exponent, short_high(made, short(power)), made)
    return np.where(x == 0, 32767, made)


def inverse_of_half_sum(x):
    half = x + 32768 >> 1
    made = short(1515870810) + short_high(half, short(-1010580540))
    for _ in range(3):
        made = made + limited(short_high(made, (1 << 13) - short_high(half, made)) << 2)
    return made


def sigmoid(x):
    positive = limited(inverse_of_half_sum(exp_below_zero(-np.abs(x), 3)) << 1)
    return np.where(x == 0, 1 << 14, np.where(x > 0, positive, 32767 - positive))


def tanh(x, bits):
    positive = limited(inverse_of_half_sum(exp_below_zero(-np.abs(x), bits + 1)) - (1 << 13) << 2)
    return np.where(x == 0, 0, np.where(x > 0, positive, -positive))


def nearest(function, x, bits):
    return limited(np.floor(function(x * 2.0**(bits - 15)) * 32768 + 0.5).astype(np.int64))


def lines(function, x, bits):
    """A table of 512 straight lines, each moved by half of what it is off by in its middle."""
    at = np.arange(513) * 2.0**(bits + 1) / 512 - 2.0**bits
    step = 2.0**(bits + 1) / 512
    whole = fixed.half_away(function(at) * 32768)
    between = fixed.half_away((function(at + step) * 32768 + whole) / 2)
    bias = fixed.half_away((between - fixed.half_away(function(at + step / 2) * 32768)) / 2)
    bias[512] = 0
    table = limited((whole - bias).astype(np.int64))
    piece = 256 + (x >> 7)
    return table[piece] + ((table[piece + 1] - table[piece]) * (x & 127) + 64 >> 7)


def logistic(v):
    return 1 / (1 + np.exp(-np.asarray(v, np.float64)))


@dataclasses.dataclass
class Lstm:
    """Weights [gates, cells, ...] and factors (multiplier, shift) in the order i f g o; without an input gate its rows
    are there and not used. Everything that a kernel may do otherwise is a field."""
    w: object
    r: object
    b: object
    of_x: list
    of_h: list
    of_y: tuple
    x_zero: int
    y_zero: int
    inner_zero: int
    first_h: int
    input_gate: bool = True
    peepholes: object = None   # of i f o
    of_cell: tuple = ()        # their factors
    projection: object = None
    projection_bias: object = None
    of_projection: tuple = ()
    cell_bits: int = CELL_BITS
    cell_clip: int = 0
    projection_clip: int = 0
    first_c: object = 0
    h_zero: object = None      # in front of R
    gate_rounding: object = fixed.twice
    rounding: object = fixed.twice
    cut: object = fixed.shifted
    sigmoid: object = sigmoid
    tanh: object = tanh
    limits: object = limited
    limits_cell: object = limited
    keeps_h: bool = True
    keeps_c: bool = True
    tanh_of_cell: bool = True
    new_cell: bool = True
    turned: bool = False
    ends: tuple = (None, None)  # h and c behind the last step

    def gate(self, g, x, h, c):
        zero = self.y_zero if self.h_zero is None else self.h_zero
        of_x = self.gate_rounding((x - self.x_zero) @ self.w[g].T + self.b[g], *self.of_x[g])
        value = self.limits(self.limits(of_x) + self.gate_rounding((h - zero) @ self.r[g].T, *self.of_h[g]))
        if self.peepholes is not None and g != 2:
            at = min(g, 2)
            value = self.limits(value + self.gate_rounding(c * self.peepholes[at], *self.of_cell[at]))
        return self.tanh(value, 3) if g == 2 else self.sigmoid(value)

    def step(self, x, h, c):
        forget, fresh = self.gate(1, x, h, c), self.gate(2, x, h, c)
        share = self.gate(0, x, h, c) if self.input_gate else 32767 - forget
        made = self.limits_cell(self.cut(forget * c, 15) + self.cut(share * fresh, 15 + self.cell_bits))
        if self.cell_clip:
            made = np.clip(made, -self.cell_clip, self.cell_clip)
        out = self.gate(3, x, h, made if self.new_cell else c)
        of_cell = self.tanh(made, self.cell_bits) if self.tanh_of_cell else limited(made << self.cell_bits)
        y = limited(self.rounding(out * of_cell, *self.of_y) + self.inner_zero, 8)
        if self.projection is not None:
            total = (y - self.inner_zero) @ self.projection.T + self.projection_bias
            y = limited(self.rounding(total, *self.of_projection) + self.y_zero, 8)
            if self.projection_clip:
                y = np.clip(y, -self.projection_clip, self.projection_clip)
        return y, made

    def run(self, x):
        """x: [time, batch, size] of whole numbers."""
        hidden = self.projection.shape[0] if self.projection is not None else self.w.shape[1]
        h = np.zeros([x.shape[1], hidden], np.int64) + self.first_h
        c = np.zeros([x.shape[1], self.w.shape[1]], np.int64) + self.first_c
        begins, made = (h, c), []
        for each in x[::-1] if self.turned else x:
            y, c = self.step(each.astype(np.int64), h, c)
            h = y if self.keeps_h else begins[0]
            c = c if self.keeps_c else begins[1]
            made.append(y)
        self.ends = h, c
        return np.stack(made[::-1] if self.turned else made)


@dataclasses.dataclass
class Reals:
    """An LSTM of floats: w [4, cells, size], r [4, cells, hidden], b [4, cells]."""
    w: object
    r: object
    b: object
    peepholes: object = None
    projection: object = None
    projection_bias: object = None

    def run(self, x):
        """h, all c and the h in front of a projection, each with the steps first."""
        hidden = self.r.shape[2]
        h, c = np.zeros([x.shape[1], hidden]), np.zeros([x.shape[1], self.w.shape[1]])
        made = []
        for each in x:
            sums = [each @ self.w[g].T + h @ self.r[g].T + self.b[g] for g in range(4)]
            if self.peepholes is not None:
                sums[0], sums[1] = sums[0] + c * self.peepholes[0], sums[1] + c * self.peepholes[1]
            c = logistic(sums[1]) * c + logistic(sums[0]) * np.tanh(sums[2])
            if self.peepholes is not None:
                sums[3] = sums[3] + c * self.peepholes[2]
            inner = logistic(sums[3]) * np.tanh(c)
            h = inner if self.projection is None else inner @ self.projection.T + self.projection_bias
            made.append((h, c, inner))
        return [np.stack(part) for part in zip(*made)]


def rounded(values, most, scale=None):
    """Whole numbers from -most to most and their scale."""
    scale = F(np.abs(values).max() / most) if scale is None else F(scale)
    return np.clip(np.rint(values / scale), -most, most).astype(np.int64), scale


def grid_of(values):
    """Scale and zero point of int8."""
    low, high = min(values.min(), 0), max(values.max(), 0)
    scale = F((high - low) / 255)
    return scale, int(np.rint(-128 - low / scale))


class Network:
    """One LSTM of whole numbers, and a FULLY_CONNECTED behind it; x: inputs to find the ranges by, steps first."""

    def __init__(self, reals, x, dense, input_gate=True, cell_clip=0.0, projection_clip=0.0):
        self.shape, self.input_gate = list(x.shape), input_gate
        self.clips = cell_clip, projection_clip
        y, c, inner = reals.run(x)
        self.x, self.y, self.inner = grid_of(x), grid_of(y), grid_of(inner)
        self.cell = F(2.0**(CELL_BITS - 15))
        self.w, self.r = [rounded(g, 127) for g in reals.w], [rounded(g, 127) for g in reals.r]
        self.b = [rounded(b, 2**31 - 1, self.x[0] * w[1]) for b, w in zip(reals.b, self.w)]
        self.peepholes = None if reals.peepholes is None else [rounded(p, 32767) for p in reals.peepholes]
        self.projection = None
        if reals.projection is not None:
            self.projection = rounded(reals.projection, 127)
            self.projection_bias = rounded(reals.projection_bias, 2**31 - 1, self.inner[0] * self.projection[1])
        self.dense = rounded(dense, 127)
        self.made = grid_of(y @ dense.T)
        self.given = np.clip(np.rint(x / self.x[0]) + self.x[1], -128, 127).astype(np.int8)
        assert np.abs(c).max() < 2**CELL_BITS

    def lstm(self):
        """What LiteRT computes."""
        one = F(2.0**-12)
        more = {}
        if self.peepholes is not None:
            more = {"peepholes": [p for p, _ in self.peepholes],
                    "of_cell": [fixed.factor(F(float(s) * float(self.cell) / float(one))) for _, s in self.peepholes]}
        if self.projection is not None:
            more |= {"projection": self.projection[0], "projection_bias": self.projection_bias[0],
                     "of_projection": fixed.factor(self.projection[1] * self.inner[0] / self.y[0]),
                     "projection_clip": limited(int(self.clips[1] / self.y[0]), 8) if self.clips[1] else 0}
        # LiteRT subtracts the zero point of h in front of a projection.
        inner = self.y if self.projection is None else (self.inner[0], -self.inner[1])
        w, r, b = (np.stack([part for part, _ in parts]) for parts in (self.w, self.r, self.b))
        return Lstm(w, r, b, [fixed.factor(s * self.x[0] / one) for _, s in self.w],
                    [fixed.factor(s * self.y[0] / one) for _, s in self.r],
                    fixed.factor(F(2.0**-15) / inner[0] * F(2.0**-15)), self.x[1], self.y[1], inner[1], self.y[1],
                    self.input_gate, cell_clip=limited(int(self.clips[0] / self.cell)) if self.clips[0] else 0, **more)

    def bytes(self, cut=False):
        """cut: what the LSTM wrote is an input."""
        net = lite.Network()
        steps, batch, size = self.shape
        cells, hidden = self.w[0][0].shape[0], self.r[0][0].shape[1]
        grid = {"scale": self.y[0], "zero": self.y[1]}
        x = net.input(self.shape, "int8", scale=self.x[0], zero=self.x[1])
        net.graph.tensors[x].name = "x"
        if cut:
            h = net.input([steps, batch, hidden], "int8", **grid)
        else:
            h = self.operator(net, x, [steps, batch, hidden], cells, grid)
        net.graph.tensors[h].name = "h"
        weights = net.constant("dense_w", self.dense[0].astype(np.int8), scale=self.dense[1])
        made = net.op("FULLY_CONNECTED", [h, weights, -1], [steps, batch, len(self.dense[0])], "int8",
                      options={"keepNumDims": True}, scale=self.made[0], zero=self.made[1])
        net.graph.tensors[made].name = "y"
        return net.bytes([made])

    def operator(self, net, x, shape, cells, grid):
        def constants(name, parts, dtype, first=0):
            made = [net.constant(f"{name}{i}", v.astype(dtype), scale=s) for i, (v, s) in enumerate(parts)]
            return [-1] * first + made[first:]
        first = 0 if self.input_gate else 1
        reads = [x, *constants("w", self.w, np.int8, first), *constants("r", self.r, np.int8, first)]
        reads += [-1] * 3 if self.peepholes is None else constants("p", self.peepholes, np.int16, first)
        bias = [(b, self.x[0] * w) for (b, _), (_, w) in zip(self.b, self.w)]
        reads += constants("b", bias, np.int32, first)
        if self.projection is None:
            reads += [-1, -1]
        else:
            reads += constants("h", [self.projection], np.int8)
            reads += constants("hb", [(self.projection_bias[0], self.inner[0] * self.projection[1])], np.int32)
        for name, size, dtype, more in (("s", shape[2], "int8", grid), ("c", cells, "int16", {"scale": self.cell})):
            reads.append(net.tensor(name, [shape[1], size], dtype, **more))
            net.graph.tensors[reads[-1]].isVariable = True
        made = net.op("UNIDIRECTIONAL_SEQUENCE_LSTM", reads + [-1] * 4, shape, "int8", **grid,
                      options={"timeMajor": True, "fusedActivationFunction": lite.ACTIVATIONS["TANH"],
                               "cellClip": self.clips[0], "projClip": self.clips[1]})
        inner = self.y if self.projection is None else self.inner
        net.graph.operators[-1].intermediates = [
            *(net.tensor(f"gate{i}", [0], "int16", scale=2.0**-12) for i in range(4)),
            net.tensor("inner", [0], "int8", scale=inner[0], zero=inner[1])]
        return made
