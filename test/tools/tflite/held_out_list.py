# SPDX-License-Identifier: Apache-2.0
"""Faults that int8 kernels of TFLite, XNNPACK, CMSIS-NN, NNAPI's and GPUs' delegates and others have had. The list was
written before its writer had seen Plumb's own (source/check/integer) or integer_faults.py."""
import collections

import fixed_point
import held_out_kernels as k
import numpy as np

# integers(step) -> int64 or None; cause: what a right one says; "": none is named.
Fault = collections.namedtuple("Fault", "what kinds integers cause")
CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
ANY = (*k.PRODUCTS, "ADD", "AVERAGE_POOL_2D", "MAX_POOL_2D", "MEAN", "SOFTMAX", "PAD")
FAULTS = []


def fault(what, kinds, integers, cause):
    FAULTS.append(Fault(what, kinds, integers, cause))


def clipped16(total):
    return np.clip(total, -32768, 32767)


def wrapped16(total):
    return (total + 32768) % 65536 - 32768


def with_channel(step, channel, times):
    by = k.factors(step).copy()
    by[channel] *= times
    return k.product(step, by=by)


def of_channels(step, integers):
    """integers(step) where each channel has a scale of its own."""
    return integers(step) if np.size(step.scales) > 1 else None


def bits(real, count):
    fraction, exponent = np.frexp(real)
    return np.ldexp(np.rint(fraction * 2**count) / 2**count, exponent)


def changed(integers, place, value):
    copy = integers.copy()
    copy[place] = value
    return copy


def turned(whole):
    """The highest of 8 bits."""
    return np.where(whole >= 0, whole - 128, whole + 128)


def other_side(step):
    """SAME with the odd pixel in front."""
    o = step.options
    sides = [k.padding(step.values[0].shape[1 + a], o["kernel"][a], o["stride"][a], o["dilation"][a], True)
             for a in (0, 1)]
    moved = tuple(before - after for before, after, _ in sides)
    return k.product(step, moved=moved) if o["same"] and any(moved) else None


def tail_reversed(step):
    whole = k.product(step)
    count = whole.shape[-1] % 8 or 4
    return np.concatenate([whole[..., :-count], whole[..., -count:][..., ::-1]], axis=-1)


def rows_not_written(step):
    whole = k.product(step)
    flat = whole.reshape(-1, whole.shape[-1]).copy()
    flat[-(flat.shape[0] % 8 or 4):] = 0
    return flat.reshape(whole.shape) if flat.shape[0] > 8 else None


def last_channels_lost(step):
    weights = step.weights.copy()
    weights[..., -(weights.shape[-1] % 4 or 1):] = 0
    return k.product(step, weights=weights)


def last_tap_lost(step):
    weights = step.weights.copy()
    weights[:, -1, -1] = 0
    return k.product(step, weights=weights) if max(step.options["kernel"]) > 1 else None


def in_nchw(whole):
    return whole.transpose(0, 3, 1, 2).reshape(whole.shape) if whole.ndim == 4 and whole.shape[1] > 1 else None


def square(step):
    return step.options["kernel"][0] == step.options["kernel"][1] > 1


def roundings():
    fault("the shift rounds down", k.PRODUCTS, lambda s: k.product(s, rounded=fixed_point.cut_off), "rounding")
    fault("the shift rounds towards zero", k.PRODUCTS, lambda s: k.product(s, rounded=fixed_point.towards_zero),
          "rounding")
    fault("one channel's shift less one", k.PRODUCTS, lambda s: with_channel(s, s.channels // 2, 2), "the scale of")
    fault("one channel's shift and one more", k.PRODUCTS, lambda s: with_channel(s, s.channels // 3, 0.5),
          "the scale of")
    fault("factors that are powers of two", k.PRODUCTS,
          lambda s: k.product(s, by=np.exp2(np.rint(np.log2(k.factors(s))))), "powers of two|scale times")
    fault("factors of 7 bits", k.PRODUCTS, lambda s: k.product(s, by=bits(k.factors(s), 7)), "bits|scale times")
    fault("the scale of another export", k.PRODUCTS, lambda s: k.product(s, by=k.factors(s) * 1.03), "scale times")
    fault("8 bits lost in front of the factor", k.PRODUCTS,
          lambda s: k.finish(s, k.sums(s) >> 8, by=k.factors(s) * 256), "")


def zeros_and_limits():
    fault("the input's zero point lost", k.PRODUCTS, lambda s: k.product(s, zero=0) if s.grids[0][1] else None,
          "zero point of the input")
    fault("the input's zero point off by one", k.PRODUCTS,
          lambda s: k.product(s, zero=s.grids[0][1] + 1, fill=s.grids[0][1] + 1), "zero point of the input")
    fault("the result's zero point lost", k.PRODUCTS, lambda s: k.finish(s, k.sums(s), zero=0) if s.grid[1] else None,
          "zero point of the result")
    fault("the result's zero point off by one", k.PRODUCTS,
          lambda s: np.clip(k.finish(s, k.sums(s), between=(-10**6, 10**6)) + 1, *k.limits(s)),
          "zero point of the result")
    fault("the activation lost", k.PRODUCTS,
          lambda s: k.product(s, between=(k.LOW, k.HIGH)) if s.activation and s.grid[1] > k.LOW else None, "activation")
    fault("a ReLU at the integer 0", k.PRODUCTS, lambda s: k.product(s, between=(0, k.HIGH)) if s.activation else None,
          "limit")
    fault("a ReLU too many", k.PRODUCTS,
          lambda s: k.product(s, between=k.limits(s, "RELU")) if not s.activation else None, "ReLU|limited")
    fault("the result's highest bit turned", ANY, lambda s: turned(k.right(s)), "highest bit|zero point of the result")
    fault("the input's highest bit turned", k.PRODUCTS, lambda s: k.product(s, x=turned(s.values[0])), "highest bit")
    fault("padding by the integer 0", CONVOLUTIONS,
          lambda s: k.product(s, fill=0) if s.options["same"] and s.grids[0][1] else None, "padding")
    fault("padding by the lowest integer", CONVOLUTIONS,
          lambda s: k.product(s, fill=k.LOW) if s.options["same"] and s.grids[0][1] != k.LOW else None, "padding")
    fault("limits of -127 to 127", ANY, lambda s: np.maximum(k.right(s), -127), "limits above the lowest")


def sums_and_biases():
    fault("sums that wrap at 16 bits", k.PRODUCTS, lambda s: k.finish(s, wrapped16(k.sums(s, bias=0)) + s.bias), "wrap")
    fault("sums that saturate at 16 bits", k.PRODUCTS, lambda s: k.finish(s, clipped16(k.sums(s, bias=0)) + s.bias),
          "saturate")
    fault("the bias of the channel behind", k.PRODUCTS, lambda s: k.product(s, bias=np.roll(s.bias, -1)), "bias")
    fault("the bias lost", k.PRODUCTS, lambda s: k.product(s, bias=0), "bias")
    fault("the bias twice", k.PRODUCTS, lambda s: k.product(s, bias=2 * s.bias), "bias")
    fault("the bias subtracted", k.PRODUCTS, lambda s: k.product(s, bias=-s.bias), "bias")
    fault("a bias of 16 bits", k.PRODUCTS, lambda s: k.product(s, bias=clipped16(s.bias)), "bias")
    fault("the bias of the first channel", k.PRODUCTS, lambda s: k.product(s, bias=np.full_like(s.bias, s.bias[0])),
          "bias")
    fault("biases by the first channel's scale", k.PRODUCTS, lambda s: of_channels(s, lambda s: k.product(
        s, bias=np.rint(s.bias * s.scales[0] / s.scales).astype(np.int64))), "bias")
    fault("the first channel's scale for all", k.PRODUCTS, lambda s: of_channels(
        s, lambda s: k.product(s, by=k.factors(s)[0])), "scale of the first")
    fault("the largest scale for all", k.PRODUCTS, lambda s: of_channels(
        s, lambda s: k.product(s, by=k.factors(s).max())), "largest scale|scale of the first")
    fault("the scale of the channel behind", k.PRODUCTS, lambda s: of_channels(
        s, lambda s: k.product(s, by=np.roll(k.factors(s), -1))), "scale of the channel")


def weights_and_windows():
    fault("weights of 7 bits", k.PRODUCTS, lambda s: k.product(s, weights=(s.weights >> 1) * 2), "weights of 7")
    fault("weights of 4 bits", k.PRODUCTS, lambda s: k.product(s, weights=(s.weights >> 4) * 16), "weights of 4")
    fault("the weights' highest bit turned", k.PRODUCTS, lambda s: k.product(s, weights=turned(s.weights)), "highest")
    fault("the weights of the channel before", k.PRODUCTS, lambda s: k.product(
        s, weights=np.roll(s.weights, 1, axis=3 if s.kind == "DEPTHWISE_CONV_2D" else 0)), "weights of the channel")
    fault("the kernel turned", CONVOLUTIONS, lambda s: k.product(s, weights=s.weights[:, ::-1, ::-1])
          if max(s.options["kernel"]) > 1 else None, "kernel")
    fault("the kernel transposed", CONVOLUTIONS, lambda s: k.product(s, weights=s.weights.transpose(0, 2, 1, 3))
          if square(s) else None, "height and width")
    fault("the last tap lost", CONVOLUTIONS, last_tap_lost, "last tap")
    fault("the last input channels lost", ("CONV_2D", "FULLY_CONNECTED"), last_channels_lost, "last")
    fault("a depthwise channel's neighbour", ("DEPTHWISE_CONV_2D",), lambda s: k.product(
        s, source=lambda out, of: (np.arange(out) // (out // of) + 1) % of) if s.values[0].shape[3] > 1 else None, "")
    fault("SAME on the other side", CONVOLUTIONS, other_side, "pads")
    fault("windows one column late", CONVOLUTIONS, lambda s: k.product(s, moved=(0, 1)), "pads|further")
    fault("the last channels in reverse", k.PRODUCTS, tail_reversed, "in reverse|each other's")
    fault("the last rows not written", CONVOLUTIONS, rows_not_written, "")
    fault("one channel not written", k.PRODUCTS, lambda s: changed(
        k.product(s), (..., s.channels // 2), s.grid[1]), "the zero point")


def other_operators():
    fault("no shift to the left", ("ADD",), lambda s: k.add(s, left=0), "shift")
    fault("the operands' scales exchanged", ("ADD",), lambda s: k.add(
        s, scales=[np.float64(s.grids[1][0]), np.float64(s.grids[0][0])]), "scales of its operands")
    fault("the first scale for both", ("ADD",), lambda s: k.add(s, scales=[np.float64(s.grids[0][0])] * 2), "scale")
    fault("the second zero point lost", ("ADD",), lambda s: k.add(s, zeros=[s.grids[0][1], 0])
          if s.grids[1][1] else None, "zero point of the second")
    fault("the difference", ("ADD",), lambda s: k.add(s, second=-1), "difference")
    fault("sums that wrap at 8 bits", ("ADD",), lambda s: (k.add(s, between=(-10**6, 10**6)) + 128) % 256 - 128
          if not s.activation else None, "wrap")
    fault("integers that are not rescaled", ("ADD",), lambda s: np.clip(s.values[0] + s.values[1], k.LOW, k.HIGH), "")
    fault("the mean rounds down", ("AVERAGE_POOL_2D",), lambda s: k.average(s, rounded=np.floor), "rounding")
    fault("padding counted", ("AVERAGE_POOL_2D",), lambda s: k.average(s, all_count=True), "padding")
    fault("a count of one less", ("AVERAGE_POOL_2D",), lambda s: k.average(s, count_off=-1), "count")
    fault("the largest for the mean", ("AVERAGE_POOL_2D",), k.largest, "max")
    fault("padding by the integer 0, of maxima", ("MAX_POOL_2D",), lambda s: k.largest(s, fill=0), "padding")
    fault("a window without its last row", ("MAX_POOL_2D",), lambda s: k.largest(
        s, kept=lambda row, column: row + 1 < s.options["kernel"][0]), "kernel")
    fault("a mean by one less", ("MEAN",), lambda s: k.mean(s, count_off=-1), "count|scale times")
    fault("a mean that rounds down", ("MEAN",), lambda s: k.mean(s, rounded=fixed_point.cut_off), "rounding")
    fault("beta twice", ("SOFTMAX",), lambda s: k.softmax(s, beta=2), "twice|times|beta")
    fault("softmax rounds down", ("SOFTMAX",), lambda s: k.softmax(s, rounded=np.floor), "rounding")
    fault("softmax without its zero point", ("SOFTMAX",), lambda s: k.softmax(s, zero=0), "zero point of the result")
    fault("a Pad by the integer 0", ("PAD",), lambda s: k.pad(s, 0) if s.grids[0][1] else None, "")


def of_any():
    fault("all saturated", ANY, lambda s: np.full_like(k.right(s), k.HIGH), "everywhere")
    fault("the zero point everywhere", ANY, lambda s: np.full_like(k.right(s), s.grid[1]), "everywhere")
    fault("one step more", ANY, lambda s: np.minimum(k.right(s) + 1, k.HIGH),
          "zero point of the result|above the lowest")
    fault("the lowest bit lost", ANY, lambda s: k.right(s) >> 1 << 1, "lowest bit|every second|one step")
    fault("written as NCHW", ANY, lambda s: in_nchw(k.right(s)), "order|axes")
    fault("the tail overwritten", ANY, lambda s: changed(
        k.right(s).reshape(-1), slice(-max(k.right(s).size // 16, 1), None), 7), "with 7 in")


for add_to_list in (roundings, zeros_and_limits, sums_and_biases, weights_and_windows, other_operators, of_any):
    add_to_list()
