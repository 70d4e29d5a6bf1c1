# SPDX-License-Identifier: Apache-2.0
"""LiteRT's kernels of 16 bits that look functions up in tables between whose entries lies a straight line, in NumPy:
LOGISTIC, TANH, SOFTMAX. As in integer_kernels.py keywords make them faulty."""
import fixed_point as fixed
import numpy as np


def sigmoid_table():
    """sigmoid(i / 24) in steps of 2^-16, and half of what the line to the next entry is off by in the middle."""
    entries = np.arange(257)
    real = 1 / (1 + np.exp(-entries / 24))
    between = 1 / (1 + np.exp(-(entries[:-1] + 0.5) / 24))
    table = np.floor(65536 * (real[:-1] + (between - (real[:-1] + real[1:]) / 2) / 2) + 0.5).astype(np.int64)
    table[255] = 65535
    return table


def thirds(x, scale):
    """In steps of 1 / (3 * 4096), by a factor of 15 bits that is cut off."""
    factor, shift = float(scale) * 4096 * 3, 0
    while factor <= 32767 / 2 and shift <= 30:
        factor, shift = factor * 2, shift + 1
    return x * int(factor) + ((1 << shift - 1) if shift else 0) >> shift


def element(call, kind, lines=True, entry=0, scale=None, half=True, twice=True, mirrored=True):
    """LOGISTIC, TANH. lines: between entries; entry: so many further on; half: rounded, else cut off; twice: tanh(x) is
    of sigmoid(2 x); mirrored: below zero, too."""
    source, sigmoid = call.reads[0], kind == "LOGISTIC"
    at = thirds(source.whole, source.scale if scale is None else scale(source.scale))
    bits = 9 if sigmoid or not twice else 8
    size, table = np.abs(at), sigmoid_table()
    place = np.clip((size >> bits) + entry, 0, 254)
    between = (size & (1 << bits) - 1) if lines else 0
    value = (table[place] << bits) + between * (table[place + 1] - table[place])
    value = np.where(size >> bits >= 255, 0x7FFF << 10 if sigmoid else 0xFFFF << bits, value)
    whole, drop = 16 + bits, bits + 1 if sigmoid else bits
    nudge = 1 << drop - 1 if half else 0
    if sigmoid:
        return np.where((at >= 0) | (not mirrored), value + nudge, (1 << whole) - value + nudge - half) >> drop
    value = value - (1 << whole - 1)
    return np.where((at >= 0) | (not mirrored), value + nudge, nudge - half - value) >> drop


def lined_table(low, high, function):
    """512 pieces of a function to steps of 2^-15."""
    step = (high - low) / 512
    at = low + step * np.arange(513)
    whole = lambda x: fixed.half_away(function(x) * 32768.0)  # noqa: E731
    values = whole(at)
    between = fixed.half_away((function(at + step) * 32768.0 + values) / 2)
    bias = fixed.half_away((between - whole(at + step / 2)) / 2)
    bias[512] = 0
    return np.clip(values - bias, -32768, 32767).astype(np.int64)


EXP, INVERSE = lined_table(-10, 0, np.exp), lined_table(0, 1, lambda x: 1 / (1 + x))


def looked_up(table, x, lines, entry=0):
    x = np.clip(x, -32768, 32767)
    piece = np.clip(256 + (x >> 7) + entry, 0, 511)
    return table[piece] + ((table[piece + 1] - table[piece]) * (x & 127) + 64 >> 7 if lines else 0)


def softmax(call, lines=True, entry=0, beta=1.0, axis=-1, half=True, largest_of=None):
    """SOFTMAX: tables of exp and of 1 / (1 + x)."""
    source = call.reads[0]
    factor = fixed.factor(np.float64(beta) * np.float64(source.scale) / (10.0 / 65535.0))
    most = source.values.max(axis=axis, keepdims=True) if largest_of is None else largest_of(source.values)
    exps = looked_up(EXP, fixed.twice(source.values - most, *factor) + 32767, lines, entry)
    total = exps.sum(axis=axis, keepdims=True)
    bits = np.frompyfunc(lambda v: int(v).bit_length(), 1, 1)(total).astype(np.int64)
    mantissa = (total << 31 - bits) + (1 << 13) >> 14
    inverse = looked_up(INVERSE, mantissa - (1 << 15) - (1 << 16), lines)
    share = exps * inverse + ((1 << bits - 2) if half else 0) >> bits - 1
    return np.clip(share, 0, 32767)
