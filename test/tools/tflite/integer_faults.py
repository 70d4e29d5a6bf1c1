# SPDX-License-Identifier: Apache-2.0
"""What kernels of integers do wrong: (what, which nodes, the faulty kernel, what names its cause, of which types).
Those of 16 bits alone are in integer_faults_16.py."""
import collections
import math

import fixed_point as fixed
import integer_kernels as k
import integer_kernels_16 as k16
import numpy as np

F = np.float32
EIGHT = ("int8", "uint8")
Fault = collections.namedtuple("Fault", "what nodes kernel cause types")
FAULTS = []
PRODUCTS = ["conv", "depthwise", "dense", "first", "up"]
WINDOWS = ["conv", "depthwise"]
ROUNDING = "with rounding|cut off|shift to the left|shifted by"


def fault(what, nodes, kernel, cause, types=(*EIGHT, "int16")):
    FAULTS.append(Fault(what, nodes.split() if isinstance(nodes, str) else nodes, kernel, cause, types))


def fault_of_8_bits(what, nodes, kernel, cause):
    fault(what, nodes, kernel, cause, EIGHT)


def product(**given):
    return lambda call, kind: k.product(call, kind, **given)


def healthy(call, kind):
    """What LiteRT's kernel gives, the reference one but for products; None: it is no kernel of this file."""
    if kind in k.SUMS:
        return k.product(call, kind)
    made = (OF_16_BITS if call.dtype == "int16" else {}).get(kind) or HEALTHY.get(kind)
    return None if made is None else made(call, kind)


def erf(v):
    return np.vectorize(math.erf)(v.astype(np.float64)).astype(F)


FUNCTIONS = {"LOGISTIC": lambda v: F(1) / (F(1) + np.exp(-v)), "TANH": np.tanh,
             "GELU": lambda v: F(0.5) * v * (F(1) + erf(v * F(math.sqrt(0.5))))}
HEALTHY = {
    "ADD": lambda c, kind: k.pair(c), "SUB": lambda c, kind: k.pair(c, -1), "MUL": lambda c, kind: k.times(c),
    "AVERAGE_POOL_2D": lambda c, kind: k.average(c), "MAX_POOL_2D": lambda c, kind: k.largest(c),
    "MEAN": lambda c, kind: k.reduced(c, True), "SUM": lambda c, kind: k.reduced(c, False),
    "SOFTMAX": lambda c, kind: k.softmax(c), "PRELU": lambda c, kind: k.two_slopes(c),
    "SVDF": lambda c, kind: k.svdf(c), "LEAKY_RELU": lambda c, kind: k.two_slopes(c),
    "HARD_SWISH": lambda c, kind: k.hard_swish(c),
    **{kind: lambda c, kind: k.table(c, FUNCTIONS[kind]) for kind in FUNCTIONS},
    **{kind: lambda c, kind: k.requantised(c) for kind in ("QUANTIZE", "RELU", "RELU6")},
}


OF_16_BITS = {"LOGISTIC": k16.element, "TANH": k16.element, "SOFTMAX": lambda c, kind: k16.softmax(c)}


def of_written(change):
    """A fault of what a healthy kernel wrote; the first argument: those integers."""
    return lambda call, kind, written: change(written.astype(np.int64), call)


def other_sign(v, bits=8):
    """The same bits as an unsigned integer in place of a signed one, or the other way."""
    return np.where(v >= 1 << bits - 1, v - (1 << bits), np.where(v < 0, v + (1 << bits), v))


def add_products():
    """Roundings, zero points, scales, biases, limits and sums of products."""
    for what, how in (("rounded down", fixed.cut_off), ("rounded towards zero", fixed.towards_zero),
                      ("rounded up", fixed.upwards), ("the shift cut off", fixed.last_cut_off)):
        fault(f"product {what}", PRODUCTS, product(requant=how), ROUNDING)
    fault("a shift one too large", PRODUCTS, product(factor=lambda m, s: (m, s - 1)),
          r"times 0\.(5|49|50)|half the scale")
    fault("a shift one too small", PRODUCTS, product(factor=lambda m, s: (m, s + 1)),
          r"times (2|1\.99|2\.0)|twice the scale")
    fault("a factor of 8 bits", PRODUCTS, product(factor=lambda m, s: (m >> 23 << 23, s)), "factor|scale|bits")
    fault("a factor of 4 bits", PRODUCTS, product(factor=lambda m, s: (m >> 27 << 27, s)), "factor|scale|bits")
    fault("the input's zero point ignored", PRODUCTS, product(x_zero=0, pad=0), "zero point")
    fault("the input's zero point and one", PRODUCTS,
          lambda c, kind: k.product(c, kind, x_zero=c.reads[0].zero + 1), "zero point")
    fault("the weights' zero point ignored", PRODUCTS, product(w_zero=0), "weights|zero point")
    fault("the weights' zero point and one", PRODUCTS,
          lambda c, kind: k.product(c, kind, w_zero=c.reads[1].zero + 1), "weights|zero point")
    fault("the result's zero point lost", PRODUCTS, product(zero=0), "zero point of the result")
    fault("the result's zero point and one", PRODUCTS,
          lambda c, kind: k.product(c, kind, zero=c.zero + 1), "zero point of the result")
    fault("the result's zero point with another sign", PRODUCTS,
          lambda c, kind: k.product(c, kind, zero=-c.zero), "zero point of the result")
    fault("padded by the integer 0", WINDOWS, product(pad=0), "padding")
    fault("padded by the lowest integer", WINDOWS,
          lambda c, kind: k.product(c, kind, pad=k.LIMITS[c.dtype][0]), "padding")
    fault("the window one pixel further", WINDOWS, product(shift=1), "SAME|pad|window|shift|moved|pixel")
    fault("the first tap left out", [*WINDOWS, "up"], product(taps=lambda i, j, kernel: i + j > 0), "tap|kernel|weight")
    fault("the last tap left out", [*WINDOWS, "up"],
          product(taps=lambda i, j, kernel: (i + 1, j + 1) != tuple(kernel)), "tap|kernel|weight")
    fault("the kernel upside down", [*WINDOWS, "up"], product(w=lambda w: w[:, ::-1]),
          "flip|upside|mirror|weight|revers")
    fault("the last terms left out", ["first", "dense"], product(terms=lambda n: n - n % 8 - (n % 8 == 0) * 4), "term")
    for what, change, cause in (
            ("lost", lambda b: b * 0, "without the bias"), ("twice", lambda b: b * 2, "bias twice"),
            ("of the channel before", lambda b: np.roll(b, 1), "bias of the channel before"),
            ("of the channel behind", lambda b: np.roll(b, -1), "bias of the channel behind"),
            ("in reverse", lambda b: b[::-1], "bias"),
            ("of 16 bits", lambda b: b.astype(np.int8).astype(np.int64), "bias"),
            ("of the first channel", lambda b: np.full_like(b, b[0]), "bias"),
            ("with another sign", lambda b: -b, "bias"), ("of half the scale", lambda b: b // 2, "bias"),
            ("of eight times the scale", lambda b: b * 8, "bias")):
        fault(f"the bias {what}", PRODUCTS, product(bias=change), cause)
    for what, change, cause in (
            ("of the channel before", lambda s: np.roll(s, 1), "scale of the channel before"),
            ("of the channel behind", lambda s: np.roll(s, -1), "scale of the channel behind"),
            ("of the first channel", lambda s: np.full_like(s, s[0]), "first channel"),
            ("in reverse", lambda s: s[::-1], "scale"),
            ("the largest for all", lambda s: np.full_like(s, s.max()), "scale"),
            ("their mean for all", lambda s: np.full_like(s, s.mean()), "scale"),
            ("of the last channel lost", lambda s: np.where(np.arange(s.size) == s.size - 1, s[0], s), "scale"),
            ("half a percent too large", lambda s: s * 1.005, "scale")):
        fault(f"the scale {what}", PRODUCTS, product(scales=change), cause)
    fault("no limits", PRODUCTS, product(wraps=True), "wrap")
    fault("limits of -127", PRODUCTS, product(limits=lambda c: (k.LIMITS[c.dtype][0] + 1, k.LIMITS[c.dtype][1])),
          "limit")
    fault("limits of 7 bits", PRODUCTS, product(limits=lambda c: (c.zero - 64, c.zero + 63)), "limit")
    fault_of_8_bits("limited in front of the zero point", PRODUCTS,
          product(behind=lambda s: np.clip(s, -128, 127)), "limit|front of the zero")
    fault("no activation", "limited", product(limits=lambda c: k.LIMITS[c.dtype]), "without|limit|activation|clip|ReLU")
    fault("the activation's upper limit and one", "limited",
          product(limits=lambda c: (c.limits()[0], c.limits()[1] + 1)), "limit")
    fault("the activation's lower limit at 0", "limited",
          product(limits=lambda c: (max(0, c.limits()[0] + 1), c.limits()[1])), "limit|zero point")
    fault("relu in place of relu6", "limited", product(limits=lambda c: (c.limits()[0], k.LIMITS[c.dtype][1])),
          "limit|ReLU")
    fault("sums that saturate at 16 bits", PRODUCTS, product(sums=lambda s: np.clip(s, -32768, 32767)), "16 bits")
    fault("sums that wrap at 16 bits", PRODUCTS, product(sums=lambda s: s.astype(np.int16).astype(np.int64)), "16 bits")
    fault_of_8_bits("pairs that saturate at 16 bits", "conv first", product(pairs=lambda s: np.clip(s, -8192, 8191)),
                    "pairs")
    fault("weights of 7 bits", PRODUCTS, product(w=lambda w: w >> 1 << 1), "weight|bits")
    fault("weights of 4 bits", PRODUCTS, product(w=lambda w: w >> 4 << 4), "weight|bits")
    fault("weights with the other sign", PRODUCTS, product(w=other_sign), "sign")
    fault("weights of the neighbouring channel", PRODUCTS, product(w=lambda w: np.roll(w, 1, 0)), "weight|channel")
    fault("the input's bits taken with the other sign", PRODUCTS,
          lambda c, kind: k.product(c, kind, x=lambda v: other_sign(v, 16 if c.dtype == "int16" else 8)), "sign")
    fault("the input without its lowest bit", PRODUCTS, product(x=lambda x: x >> 1 << 1), "input|bits")


def add_written():
    """What is done to the integers of a healthy kernel."""
    every = ["conv", "add", "mul", "average", "softmax", "logistic", "resize", "dense", "prelu", "requantised"]

    def some_more(v, call):
        flat = v.reshape(-1).copy()
        flat[::200] += np.where(flat[::200] < k.LIMITS[call.dtype][1], 1, -1)
        return flat.reshape(v.shape)
    fault("one step more in 1 of 200", every, of_written(some_more), "one step")
    fault("the last channel is not written", ["conv", "add", "resize", "logistic"],
          of_written(lambda v, c: np.where(np.arange(v.shape[-1]) == v.shape[-1] - 1, c.zero, v)),
          "last|writ|channel")
    fault("the last row is the one before", ["conv", "add", "resize"],
          of_written(lambda v, c: np.concatenate([v[:, :-1], v[:, -2:-1]], axis=1)), "last|row|copied|one before")
    fault("channels in reverse", ["conv", "add", "resize"], of_written(lambda v, c: v[..., ::-1]),
          "revers|order|channel")
    fault("rows and columns exchanged", ["conv", "add"], of_written(lambda v, c: v.swapaxes(1, 2)),
          "transpos|order|exchang")
    fault("the largest integer is never given", ["conv", "add", "mul", "prelu"],
          of_written(lambda v, c: np.minimum(v, k.LIMITS[c.dtype][1] - 1)), "limit")
    fault("the next integer in odd channels", ["conv", "mul"],
          of_written(lambda v, c: np.minimum(v + np.arange(v.shape[-1]) % 2, k.LIMITS[c.dtype][1])), "one more|channel")


def add_pairs():
    for sign, node in ((1, "add"), (-1, "sub")):
        def pair(sign=sign, **given):
            return lambda c, kind: k.pair(c, sign, **given)
        name = "sum" if sign > 0 else "difference"
        fault(f"{name} without a shift to the left", node, pair(left=0), "shift|left")
        fault(f"{name} shifted by 4 to the left", node, pair(left=4), "shift|left")
        fault(f"{name} rounded down", node, pair(requant=fixed.cut_off), ROUNDING)
        fault(f"{name} with its last shift cut off", node, pair(requant=fixed.last_cut_off), ROUNDING)
        fault(f"{name} without the first zero point", node,
              lambda c, kind, sign=sign: k.pair(c, sign, a=lambda a: a + c.reads[0].zero), "zero point")
        fault(f"{name} without the second zero point", node,
              lambda c, kind, sign=sign: k.pair(c, sign, b=lambda b: b + c.reads[1].zero), "zero point")
        fault(f"{name} without the result's zero point", node, pair(zero=0), "zero point of the result")
        fault(f"{name} with the other operand's scale", node, pair(swap=True), "scale")
        fault(f"{name} with a result's scale of half", node, pair(out=lambda s: s * 2), "scale|twice|double")
        fault(f"{name} limited to -127", node,
              lambda c, kind, sign=sign: k.pair(c, sign, limits=lambda c: (k.LIMITS[c.dtype][0] + 1,
                                                                            k.LIMITS[c.dtype][1])), "limit")
    fault("a difference the other way", "sub",
          lambda c, kind: c.stored(-(k.pair(c, -1, limits=lambda c: (-9999, 9999)) - c.zero)),
          "swap|sign|operand|other way")
    fault("a sum for a difference", "sub", lambda c, kind: k.pair(c, 1), "Add|sum|added")
    fault("only the first operand", "add", lambda c, kind: k.pair(c, b=lambda b: b * 0), "operand|without")
    fault("a product rounded down", "mul", lambda c, kind: k.times(c, requant=fixed.cut_off), ROUNDING)
    fault("a product rounded towards zero", "mul", lambda c, kind: k.times(c, requant=fixed.towards_zero), ROUNDING)
    fault("a product without the first zero point", "mul",
          lambda c, kind: k.times(c, a=lambda a: a + c.reads[0].zero), "zero point")
    fault("a product without the second zero point", "mul",
          lambda c, kind: k.times(c, b=lambda b: b + c.reads[1].zero), "zero point")
    fault("a product without the result's zero point", "mul", lambda c, kind: k.times(c, zero=0),
          "zero point of the result")
    fault("a product without the second scale", "mul",
          lambda c, kind: k.times(c, out=lambda s: s / np.float64(c.reads[1].scale) / 8), "scale")
    fault("a product in steps of 15 bits", "mul",
          lambda c, kind: k.times(c, products=lambda v: np.clip(v, -4096, 4095)), "satur|limit")


def add_pools():
    fault("an average rounded down", "average", lambda c, kind: k.average(c, divide=lambda t, n: t // n), ROUNDING)
    fault("an average rounded towards zero", "average",
          lambda c, kind: k.average(c, divide=lambda t, n: np.sign(t) * (np.abs(t) // n)), ROUNDING)
    fault("an average that counts the padding", "average",
          lambda c, kind: k.average(c, counts=lambda n: np.full_like(n, n.max())), "count|padding")
    fault("an average that counts a zero point of padding", "average",
          lambda c, kind: k.average(c, counts=lambda n: np.full_like(n, n.max()), edge=c.zero), "count|padding")
    fault("an average by one more", "average", lambda c, kind: k.average(c, counts=lambda n: n + 1), "count|one more")
    fault("an average one pixel further", "average", lambda c, kind: k.average(c, shift=1),
          "SAME|pad|window|shift|moved|pixel")
    fault("a maximum that starts at 0", "max", lambda c, kind: k.largest(c, start=0), "limit|padding")
    fault("a maximum with padding of zeros", "max", lambda c, kind: k.largest(c, edge=0), "padding")
    fault("a maximum one pixel further", "max", lambda c, kind: k.largest(c, shift=1),
          "SAME|pad|window|shift|moved|pixel")
    fault("a maximum of a smaller window", "max", lambda c, kind: k.largest(c, kernel=(2, 2)),
          "window|kernel|tap|SAME|pad")
    for mean, node, name in ((True, "mean", "a mean"), (False, "sum", "a sum of axes")):
        def reduced(mean=mean, **given):
            return lambda c, kind: k.reduced(c, mean, **given)
        fault(f"{name} rounded down", node, reduced(requant=fixed.cut_off), ROUNDING)
        fault(f"{name} without the input's zero point", node, reduced(x_zero=0), "zero point")
        fault(f"{name} without the result's zero point", node, reduced(zero=0), "zero point of the result")
        fault(f"{name} without limits", node, reduced(wraps=True), "wrap")
        fault(f"{name} without its last term", node, reduced(terms=lambda v: v[:, :-1]), "term|count|last")
    fault("a mean by one more", "mean", lambda c, kind: k.reduced(c, True, count=lambda n: n + 1), "count|one more")


def add_tables(fault=fault_of_8_bits):
    for node, kind_ in (("logistic", "LOGISTIC"), ("tanh", "TANH"), ("gelu", "GELU")):
        def table(function=FUNCTIONS[kind_], **given):
            return lambda c, kind: k.table(c, function, **given)
        name = kind_.lower()
        fault(f"{name} by the next entry", node, table(index=1), "entry|zero point of the")
        fault(f"{name} by the entry before", node, table(index=-1), "entry|zero point of the")
        fault(f"{name} by every second entry", node,
              lambda c, kind, f=FUNCTIONS[kind_]: k.table(shortened(c), f), "entry|bits|entries")
        fault(f"{name} rounded down", node, table(round_=np.floor), ROUNDING)
        fault(f"{name} rounded towards zero", node, table(round_=np.trunc), ROUNDING)
        fault(f"{name} of half the input's scale", node, table(scale=lambda s: s / 2), "scale|half")
        fault(f"{name} without the input's zero point", node, table(x_zero=0), "zero point")
        fault(f"{name} without the result's zero point", node, table(zero=0), "zero point of the result")
    fault("logistic in steps of 1 / 255", "logistic",
          lambda c, kind: k.table(c, FUNCTIONS["LOGISTIC"], out=lambda s: F(1 / 255)), "scale|255")
    fault("logistic by straight lines", "logistic",
          lambda c, kind: k.table(c, lambda v: np.clip(v / 4 + F(0.5), 0, 1)), "line|hard|approx|HardSigmoid")
    fault("tanh by a rational function", "tanh",
          lambda c, kind: k.table(c, lambda v: np.clip(v * (27 + v * v) / (27 + 9 * v * v), -1, 1)), "approx|Pad")
    fault("gelu by its approximation of sigmoid", "gelu",
          lambda c, kind: k.table(c, lambda v: v / (1 + np.exp(F(-1.702) * v))), "1.702|approx|sigmoid")
    fault("softmax by the next entry of exp", "softmax", lambda c, kind: k.softmax(c, index=1), "entry|scale|exp")
    fault("softmax with a factor of half", "softmax", lambda c, kind: k.softmax(c, beta=0.5),
          "beta|half|scale|temper|time")
    fault("softmax with a factor of 1.1", "softmax", lambda c, kind: k.softmax(c, beta=1.1), "beta|scale|temper|time")
    fault("softmax rounded down", "softmax", lambda c, kind: k.softmax(c, round_=np.floor), ROUNDING)
    fault("softmax in steps of 1 / 255", "softmax", lambda c, kind: k.softmax(c, out=lambda s: F(1 / 255)), "scale|255")
    fault("softmax along another axis", "softmax", lambda c, kind: k.softmax(c, axis=2), "axis")
    fault("softmax without the result's zero point", "softmax", lambda c, kind: k.softmax(c, zero=0),
          "zero point of the result")
    fault("softmax below the largest of all rows", "softmax",
          lambda c, kind: k.softmax(c, largest_of=lambda v: v.max()), "largest|max|entry|limit")


def shortened(call):
    source = call.reads[0]
    call.reads[0] = k.Tensor(source.values >> 1 << 1, source.scale, source.zero)
    return call


def add_elements():
    fault("prelu without the slopes' zero point", "prelu",
          lambda c, kind: k.two_slopes(c, slopes=lambda s: s), "zero point")
    fault("prelu with the slope of the channel before", "prelu",
          lambda c, kind: k.two_slopes(c, slopes=lambda s: np.roll(s, 1) - c.reads[1].zero), "slope|channel")
    fault("prelu with the first slope for all", "prelu",
          lambda c, kind: k.two_slopes(c, slopes=lambda s: s * 0 + s.reshape(-1)[0] - c.reads[1].zero), "slope|channel")
    fault("prelu at the integer 0", "prelu", lambda c, kind: k.two_slopes(c, at_zero=lambda s: s.values >= 0),
          "zero point")
    fault("prelu without its slopes", "prelu", lambda c, kind: k.two_slopes(c, slopes=lambda s: s * 0),
          "ReLU|slope|zero")
    for node in ("prelu", "leaky"):
        fault(f"{node} rounded down", node, lambda c, kind: k.two_slopes(c, requant=fixed.cut_off), ROUNDING)
        fault(f"{node} without a factor above zero", node, lambda c, kind: k.two_slopes(c, identity=lambda s: 1.0),
              "factor|scale|above")
        fault(f"{node} without the result's zero point", node, lambda c, kind: k.two_slopes(c, zero=0),
              "zero point of the result")
    fault("leaky with twice the slope", "leaky", lambda c, kind: k.two_slopes(c, below=lambda s: 2 * s),
          "slope|alpha|twice")
    fault("leaky with a slope of 0.01", "leaky",
          lambda c, kind: k.two_slopes(c, below=lambda s: s * 0.01 / c.options["alpha"]), "slope|alpha|0.01")
    fault("hard swish without its half", "swish", lambda c, kind: k.hard_swish(c, half=0), "half|gate|3|add")
    fault("hard swish with its last shift cut off", "swish", lambda c, kind: k.hard_swish(c, last=lambda v, s: v >> s),
          ROUNDING)
    fault("hard swish with twice its gate",
          "swish", lambda c, kind: k.hard_swish(c, gate=lambda g: np.minimum(2 * g, 32767)),
          "gate|twice|scale")
    fault("hard swish without the input's zero point", "swish", lambda c, kind: k.hard_swish(c, x_zero=0), "zero point")
    fault("hard swish without the result's zero point", "swish", lambda c, kind: k.hard_swish(c, zero=0),
          "zero point of the result")
    for node in ("requantised", "relu"):
        def again(**given):
            return lambda c, kind: k.requantised(c, **given)
        fault(f"{node}: rounded down", node, again(requant=fixed.cut_off), ROUNDING)
        fault(f"{node}: the ratio upside down", node, again(ratio=lambda r: 1 / r), "scale|ratio|invers")
        fault(f"{node}: no ratio", node, again(ratio=lambda r: 1.0), "scale|ratio")
        fault(f"{node}: without the input's zero point", node, again(x_zero=0), "zero point")
        fault(f"{node}: without the result's zero point", node, again(zero=0), "zero point of the result")
        fault(f"{node}: without limits", node, again(wraps=True), "wrap|limit")
    fault("relu at the integer 0", "relu", lambda c, kind: k.requantised(c, limits=lambda c: (0, k.LIMITS[c.dtype][1])),
          "zero point|limit")
    fault("relu6 without its upper limit", "relu6",
          lambda c, kind: k.requantised(c, limits=lambda c: (c.limits()[0], k.LIMITS[c.dtype][1])), "limit|ReLU")
    fault("relu6 with an upper limit of 5", "relu6",
          lambda c, kind: k.requantised(c, limits=lambda c: (c.limits()[0], c.zero + int(5 / c.scale))), "limit|clip")


def resize(call, round_=np.trunc, half=True, nearest=False, moved=0):
    """RESIZE_BILINEAR in f32, halves away from zero where it is healthy."""
    x, (rows, columns) = call.reads[0].values, call.options["size"]

    def axis(size, out):
        at = (np.arange(out) + (0.5 if half else 0)) * size / out - (0.5 if half else 0) + moved
        at = np.rint(at) if nearest else at
        low = np.clip(np.floor(at), 0, size - 1).astype(int)
        return low, np.minimum(np.clip(np.ceil(at), 0, size - 1).astype(int), size - 1), np.clip(at - low, 0, 1)
    top, bottom, down = axis(x.shape[1], rows)
    left, right, along = axis(x.shape[2], columns)
    down, along = down[:, None, None], along[None, :, None]
    upper = x[:, top][:, :, left] * (1 - along) + x[:, top][:, :, right] * along
    lower = x[:, bottom][:, :, left] * (1 - along) + x[:, bottom][:, :, right] * along
    return np.clip(round_(upper * (1 - down) + lower * down).astype(np.int64), *k.LIMITS[call.dtype])


def add_moves():
    fault("a resize rounded down", "resize", lambda c, kind: resize(c, np.floor), ROUNDING)
    fault("a resize rounded towards zero", "resize", lambda c, kind: resize(c, np.trunc), ROUNDING)
    fault("a resize rounded up", "resize", lambda c, kind: resize(c, np.ceil), ROUNDING)
    fault("a resize by corners", "resize", lambda c, kind: resize(c, fixed.half_away, half=False),
          "corner|asymmetric|half_pixel|middle|coordinates")
    fault("a resize to the nearest", "resize", lambda c, kind: resize(c, fixed.half_away, nearest=True), "nearest")
    fault("a resize a pixel further", "resize", lambda c, kind: resize(c, fixed.half_away, moved=1),
          "shift|pixel|moved")

    def padded(by, swap=False):
        def kernel(call, kind):
            pads = [p[::-1] for p in call.options["pads"]] if swap else call.options["pads"]
            return np.pad(call.reads[0].values, pads, constant_values=by(call))
        return kernel
    fault("padded by the integer 0 in place of the zero point", "pad", padded(lambda c: 0), "padd|zero point")
    fault("padded by the lowest integer of all", "pad", padded(lambda c: k.LIMITS[c.dtype][0]), "padd|constant")
    fault("pads at the other end", "pad", padded(lambda c: c.zero, swap=True), "pad|shift|moved|other end")

    def joined(change):
        return lambda call, kind: np.concatenate(change(call), axis=call.options["axis"])
    fault("a concatenation the other way", "joined", joined(lambda c: [r.values for r in c.reads[::-1]]),
          "order|swap|exchanged")
    fault("a concatenation without the second", "joined",
          joined(lambda c: [c.reads[0].values, np.full_like(c.reads[1].values, c.zero)]), "second|writ|zero|part|last")


def add_filters():
    def svdf(**given):
        return lambda c, kind: k.svdf(c, **given)
    fault("svdf rounded down", "svdf", svdf(requant=fixed.cut_off), ROUNDING)
    fault("svdf without its bias", "svdf", svdf(bias=lambda b: b * 0), "without (the bias|adding)")
    fault("svdf with another channel's bias", "svdf", svdf(bias=lambda b: np.roll(b, 1)),
          "bias of the channel before|constant shifted")
    fault("svdf without the result's zero point", "svdf", svdf(zero=0), "zero point of the result")
    fault("svdf without the input's zero point", "svdf", svdf(x_zero=0), "zero point")
    fault("svdf with its oldest weights", "svdf", svdf(newest=0), "weight")
    fault("svdf with a state of 8 bits", "svdf", svdf(state=lambda s: s >> 8 << 8), "state|bits")
    fault("svdf of rank 1", "svdf", svdf(rank=1), "rank|term")


def add_rescaled():
    """Of u8 alone: a concatenation that has to rescale its second operand."""
    fault("a concatenation without rescaling", "joined",
          lambda c, kind: np.concatenate([r.values for r in c.reads], axis=c.options["axis"]), "scale")


for make in (add_products, add_written, add_pairs, add_pools, add_tables, add_elements, add_moves, add_filters,
             add_rescaled):
    make()
