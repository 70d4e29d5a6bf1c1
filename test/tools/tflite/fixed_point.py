# SPDX-License-Identifier: Apache-2.0
"""TFLite's fixed-point arithmetic in NumPy, as published: real factors as 31 bits and a shift, and how products with
one are rounded."""
import numpy as np

F = np.float32


def factor(real):
    """(multiplier, shift): multiplier * 2^(shift - 31)."""
    fraction, shift = np.frexp(np.float64(real))
    multiplier, shift = int(np.floor(fraction * 2**31 + 0.5)), int(shift)
    if multiplier == 1 << 31:
        multiplier, shift = multiplier // 2, shift + 1
    return multiplier, shift


def high(a, b):
    """The upper 32 bits of twice the product, halves away from zero."""
    product = np.asarray(a, np.int64) * b
    total = product + np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    return np.where(total >= 0, total >> 31, -((-total) >> 31))


def shifted(x, by):
    """x / 2^by, halves away from zero."""
    if by <= 0:
        return x << -by
    rest = x & ((1 << by) - 1)
    return (x >> by) + (rest > ((1 << by) - 1 >> 1) + (x < 0))


def twice(x, multiplier, shift):
    """gemmlowp: rounded behind the product and behind the shift."""
    return shifted(high(np.asarray(x, np.int64) << max(shift, 0), multiplier), max(-shift, 0))


def by_15_bits(x, multiplier, shift):
    """Of sums of 48 bits: a factor of 15 bits, halves up."""
    reduced = multiplier + (1 << 15) >> 16 if multiplier < 0x7FFF0000 else 0x7FFF
    return np.asarray(x, np.int64) * reduced + (1 << 14 - shift) >> 15 - shift


def twice_up(x, multiplier, shift):
    """As ruy's kernels: rounded behind the product and behind the shift, halves up."""
    high_up = (np.asarray(x, np.int64) << max(shift, 0)) * multiplier + (1 << 30) >> 31
    return high_up + (1 << -shift - 1) >> -shift if shift < 0 else high_up


def in_f32(x, multiplier, shift):
    """XNNPACK: an f32 scale, to an even half."""
    return np.rint(np.asarray(x, F) * F(multiplier * 2.0**(shift - 31))).astype(np.int64)


def in_f64(x, multiplier, shift):
    return half_away(np.asarray(x, np.float64) * (multiplier * 2.0**(shift - 31))).astype(np.int64)


def cut_off(x, multiplier, shift):
    """Rounded down, once."""
    return np.asarray(x, np.int64) * multiplier >> (31 - shift)


def towards_zero(x, multiplier, shift):
    product = np.asarray(x, np.int64) * multiplier
    return np.sign(product) * (np.abs(product) >> (31 - shift))


def upwards(x, multiplier, shift):
    return -(-np.asarray(x, np.int64) * multiplier >> (31 - shift))


def last_cut_off(x, multiplier, shift):
    """Rounded behind the product, cut off behind the shift."""
    return high(np.asarray(x, np.int64) << max(shift, 0), multiplier) >> max(-shift, 0)


def half_away(v):
    return np.sign(v) * np.floor(np.abs(v) + v.dtype.type(0.5))
