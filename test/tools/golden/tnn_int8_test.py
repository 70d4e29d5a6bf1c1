# SPDX-License-Identifier: Apache-2.0
"""Networks of TNN's Quantized layers, computed in NumPy as its naive and its ARM kernels do: every integer is what a
rule of TNN's gives, and a fault in one layer is wrong there alone.

    tnn_int8_test.py --bin build/release/bin --work build/release/golden_test
"""
import argparse
import collections
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]
import expected  # noqa: E402
import packages  # noqa: E402
from expected import expect, lines  # noqa: E402


class Network:
    """Builds the files and computes the blobs; `faults` maps a layer to how its kernel is spoilt."""

    def __init__(self, kernels, seed, zero=0, scales="any scales", faults=None):
        import numpy as np
        import tnn_kernels as tnn
        self.np, self.tnn, self.kernels, self.zero = np, tnn, kernels, zero
        self.ties, self.channels = scales == "ties", scales == "scales of channels"
        self.random, self.faults, self.blobs = np.random.default_rng(seed), faults or {}, {}
        self.dump, self.file = {}, None

    def spoil(self, name, what, value):
        fault = self.faults.get(name, {}).get(what)
        return value if fault is None else fault(value)

    def begin(self, shape):
        np = self.np
        self.file = self.tnn.File(shape)
        data = self.random.standard_normal(shape).astype(np.float32)
        scale = np.float32(2.0 ** -5 if self.ties else 0.0237)
        if self.channels:
            scale = self.scale_of(self.largest(data) * 0.9)
        self.dump["data"] = data
        self.blobs["data"] = self.tnn.Blob(self.kernels.quantise(data, scale, self.zero), scale, self.zero)
        self.file.scale("data", scale, self.zero)

    def write(self, name, q, scale):
        blob = self.tnn.Blob(self.spoil(name, "result", q), scale, self.zero)
        self.blobs[name] = blob
        self.dump[name] = blob.reals()
        self.file.scale(name, blob.scale, self.zero)

    def largest(self, reals):
        """The largest value, or that of each channel."""
        return self.np.abs(reals).max(axis=(0, 2, 3), keepdims=True) if self.channels else self.np.abs(reals).max()

    def scale_of(self, largest):
        np = self.np
        scale = (np.maximum(largest, 1e-3) / 120).astype(np.float32)
        return np.float32(2.0 ** np.round(np.log2(scale))) if self.ties else scale

    def product(self, name, source, shape, sums, activation=0):
        np, x = self.np, self.blobs[source]
        weights = self.random.integers(-127, 128, shape)
        outputs = shape[0]
        scales = (np.mean(x.scale) * (self.random.uniform(0.6, 1.4, outputs) / 200)).astype(np.float32)
        if self.ties:
            scales = (2.0 ** np.round(np.log2(scales))).astype(np.float32)
        bias = self.random.integers(-3000, 3000, outputs)
        found = sums(x, self.spoil(name, "weights", weights), self.spoil(name, "bias", bias))
        wide = (1, outputs, *[1] * (found.ndim - 2))
        scale = self.scale_of(self.largest(found * scales.reshape(wide)) * 0.8)
        factors = (self.spoil(name, "scales", scales).reshape(wide) / scale).astype(np.float32)
        steps = (found.astype(np.float32) * factors).astype(np.float32)
        q = self.spoil(name, "round", self.kernels.to_int8)(steps, self.zero)
        if activation and not self.faults.get(name, {}).get("no activation"):
            q = np.maximum(q, self.zero)
            if activation == 2:
                q = np.minimum(q, self.kernels.to_int8(np.float32(6) / scale))
        self.write(name, q, scale)
        return weights, bias, scales

    def convolution(self, name, source, outputs, kernel=3, stride=1, group=1, activation=0):
        inputs, pad = self.blobs[source].q.shape[1], kernel // 2
        spoilt = self.faults.get(name, {})

        def sums(x, weights, bias):
            padded = self.tnn.sums_of(x, weights, bias, stride, pad, group)
            if "padding" not in spoilt or pad == 0:
                return padded
            filled = self.tnn.Blob(self.np.pad(x.q, [(0, 0), (0, 0), (pad, pad), (pad, pad)],
                                               constant_values=spoilt["padding"]), x.scale, x.zero)
            return self.tnn.sums_of(filled, weights, bias, stride, 0, group)
        shape = (outputs, inputs // group, kernel, kernel)
        self.file.layer("QuantizedConvolution", name, [source], [name], group, inputs // group, outputs, kernel, kernel,
                        stride, stride, pad, pad, 1, -1, 1, 1, activation)
        self.file.weights(1, "QuantizedConvolution", name, *self.product(name, source, shape, sums, activation))

    def inner_product(self, name, source, outputs):
        np = self.np
        terms = int(np.prod(self.blobs[source].q.shape[1:]))

        def sums(x, weights, bias):
            rows = (x.q - x.zero).reshape(len(x.q), -1) @ weights.T + bias
            return rows.reshape(len(x.q), outputs, 1, 1)
        self.file.layer("QuantizedInnerProduct", name, [source], [name], outputs, 1, 0, 1)
        self.file.weights(19, "QuantizedInnerProduct", name, *self.product(name, source, (outputs, terms), sums))

    def add(self, name, first, second):
        a, b = self.blobs[first], self.blobs[second]
        out = self.tnn.Out(a.q.shape, self.scale_of(self.largest(a.reals() + b.reals()) * 0.9), self.zero)
        kernels = self.faults.get(name, {}).get("kernels", self.kernels)
        self.file.layer("QuantizedAdd", name, [first, second], [name], 0)
        self.write(name, kernels.add(*self.spoil(name, "operands", (a, b)), out), out.scale)

    def fused(self, name, source, other, activation=0, behind=False, one=False):
        """A 1x1 convolution into which TNN fused an Add and then a ReLU: of their blobs only the last is there."""
        np, x, added = self.np, self.blobs[source], self.blobs[other]
        shape = (added.q.shape[1], x.q.shape[1], 1, 1)
        weights, bias = self.random.integers(-127, 128, shape), self.random.integers(-3000, 3000, shape[0])
        scales = (np.mean(x.scale) * (self.random.uniform(0.6, 1.4, shape[0]) / 200)).astype(np.float32)
        if self.ties:
            scales = (2.0 ** np.round(np.log2(scales))).astype(np.float32)
        found = self.tnn.sums_of(x, self.spoil(name, "weights", weights), self.spoil(name, "bias", bias), 1, 0, 1)
        wide = (1, shape[0], 1, 1)
        scale = self.scale_of(self.largest(found * scales.reshape(wide) + added.reals()) * 0.8)
        factors = (self.spoil(name, "scales", scales).reshape(wide) / scale).astype(np.float32)
        steps = (found.astype(np.float32) * factors).astype(np.float32)
        steps = self.kernels.fused(steps, self.spoil(name, "added", added), scale,
                                   self.spoil(name, "rectified", activation == 1), one)
        q = self.spoil(name, "round", self.kernels.to_int8)(steps, self.zero)
        limited = behind or self.faults.get(name, {}).get("rectified behind")
        inner = f"{name}_conv"
        self.file.layer("QuantizedConvolution", inner, [source], [inner], 1, shape[1], shape[0], 1, 1, 1, 1, 0, 0, 1,
                        -1, 1, 1, activation)
        self.file.weights(1, "QuantizedConvolution", inner, weights, bias, scales)
        self.file.scale(inner, scale * np.float32(0.7), self.zero)
        last = f"{name}_add" if behind else name
        self.file.layer("QuantizedAdd", last, [inner, other], [last], 0)
        if behind:
            self.file.scale(last, scale * np.float32(1.1), self.zero)
            self.file.layer("QuantizedReLU", name, [last], [name])
        self.write(name, np.maximum(q, self.zero) if limited else q, scale)

    def sigmoid(self, name, source):
        self.file.layer("QuantizedSigmoid", name, [source], [name])
        scale = self.np.float32(2.0 ** -7 if self.ties else 1 / 127)
        shape = self.blobs[source].q.shape
        self.write(name, self.kernels.sigmoid(self.spoil(name, "operand", self.blobs[source]),
                                              self.tnn.Out(shape, scale)), scale)

    def moved(self, kind, name, source, words, q):
        self.file.layer(kind, name, [source], [name], *words)
        self.write(name, q, self.blobs[source].scale)

    def relu(self, name, source):
        self.moved("QuantizedReLU", name, source, [], self.np.maximum(self.blobs[source].q, self.zero))

    def windows(self, source, kernel, stride):
        q = self.blobs[source].q
        rows, columns = ((q.shape[2 + i] - kernel) // stride + 1 for i in (0, 1))
        return self.np.stack([q[:, :, y:y + rows * stride:stride, x:x + columns * stride:stride]
                              for y in range(kernel) for x in range(kernel)])

    def max_pool(self, name, source):
        q = self.np.maximum(self.windows(source, 2, 2).max(0), -127)
        self.moved("QuantizedPooling", name, source, [0, 2, 2, 2, 2, 0, 0, -1, -1, -1, 0], q)

    def mean(self, name, source, kernel=0, stride=1):
        kernel = kernel or self.blobs[source].q.shape[2]
        sums = self.spoil(name, "sums", self.windows(source, kernel, stride).sum(0))
        q = self.np.trunc(sums / (kernel * kernel)).astype(self.np.int64)
        self.moved("QuantizedPooling", name, source, [1, kernel, kernel, stride, stride, 0, 0, -1, -1, -1, 0], q)

    def concat(self, name, parts):
        blobs = [self.blobs[part] for part in parts]
        largest = max((blob.scale for blob in blobs))
        shape = (len(blobs[0].q), sum(blob.q.shape[1] for blob in blobs), *blobs[0].q.shape[2:])
        self.file.layer("QuantizedConcat", name, parts, [name], 1)
        q = self.kernels.join(self.spoil(name, "operands", blobs), self.tnn.Out(shape, largest, self.zero), 1)
        self.write(name, q, largest)

    def upsample(self, name, source):
        x = self.blobs[source]
        shape = (*x.q.shape[:2], 2 * x.q.shape[2], 2 * x.q.shape[3])
        q = self.kernels.upsample(x, self.tnn.Out(shape, x.scale, self.zero))
        self.moved("QuantizedUpsample", name, source, [2, 2, 2, 0], q)


def mobile(net):
    """As quant_mobilenet_v1: convolutions with ReLU, depth-wise and point-wise, an average, a product of a row."""
    net.begin((1, 3, 16, 16))
    net.convolution("conv1", "data", 16, stride=2, activation=1)
    net.convolution("depthwise", "conv1", 16, group=16, activation=1)
    net.convolution("pointwise", "depthwise", 24, kernel=1, activation=0 if net.zero or net.channels else 2)
    net.convolution("conv2", "pointwise", 24, group=2)
    net.mean("mean", "conv2")
    net.inner_product("fc", "mean", 40)


def residual(net):
    """As quant_resnet50: sums behind convolutions, a ReLU and pools of their own."""
    net.begin((2, 3, 18, 18))
    net.convolution("stem", "data", 16)
    net.max_pool("pool", "stem")
    net.convolution("left", "pool", 16, activation=1)
    net.convolution("right", "pool", 16, kernel=1)
    net.add("sum", "left", "right")
    net.relu("relu", "sum")
    net.convolution("bottom", "relu", 12, kernel=5)
    net.mean("average", "bottom", 3, 2)
    net.inner_product("fc", "average", 20)


def branches(net):
    net.begin((1, 4, 8, 8))
    net.convolution("a", "data", 12, activation=1)
    net.convolution("b", "a", 12)
    if net.kernels.name == "arm":
        net.concat("join", ["a", "b"])  # of two grids
    else:
        net.concat("join", ["b", "b"])
    if net.zero == 0:
        net.upsample("larger", "join")
    net.convolution("c", "join" if net.zero else "larger", 8)
    net.add("twice", "c", "c")


def fused(net):
    """Convolutions that took an Add: as they are, with a ReLU behind it, with one in front; by an FMA or without."""
    net.begin((1, 6, 9, 9))
    net.convolution("stem", "data", 12)
    net.convolution("other", "data", 12)
    net.fused("plain", "stem", "other")
    net.fused("behind", "plain", "stem", behind=True)
    net.fused("front", "behind", "other", activation=1)
    net.fused("fma", "front", "behind", activation=1, one=True)
    net.fused("last", "fma", "front", one=True)
    if net.kernels.name == "naive" and net.zero == 0:  # its functions know no zero points
        net.sigmoid("function", "last")


NETWORKS = {"mobile": mobile, "residual": residual, "branches": branches, "fused": fused}


def judge(net):
    path = OPTIONS.work / "tnn_int8.tnnproto"
    net.file.save(path)
    net.np.savez(OPTIONS.work / "tnn_int8.npz", **net.dump)
    return expected.judge(OPTIONS, path, OPTIONS.work / "tnn_int8.npz")[0]


def kinds(kernels):
    """The kernels, on integers with and without zero points, on scales that are powers of two (ties), and on one scale
    for each channel."""
    ways = [(kernels, 0, scales) for scales in ("any scales", "ties", "scales of channels")]
    return ways + ([(kernels, -9, "any scales")] if kernels.name == "naive" else [])


def said(kernels, seed, zero, scales):
    return f"{kernels.name}, zero {zero}, {scales}, seed {seed}"


def check_healthy(families):
    rules = collections.Counter()
    for family in families:
        for name, build in NETWORKS.items():
            for kernels, zero, scales in kinds(family):
                if name == "branches" and scales == "scales of channels":
                    continue  # no rule: a Concat, a resize
                for seed in range(3):
                    net = Network(kernels, seed, zero, scales)
                    build(net)
                    run = judge(net)
                    off = [layer for layer in run["layers"] if layer["verdict"] != "aligned"]
                    loose = [layer for layer in run["layers"] for o in layer["outputs"] if not o["rule"]]
                    rules.update(o["rule"] for layer in run["layers"] for o in layer["outputs"])
                    expect(not off and not loose and run["layers"],
                           f"{name}, {said(kernels, seed, zero, scales)}: {len(run['layers'])} layers, {len(off)} off, "
                           f"{len(loose)} by no rule", lines(off + loose))
    for rule, count in rules.most_common():
        print(f"{count:6} tensors by {rule}")


def rounded(round_all):
    """In place of the kernel's rounding."""
    import numpy as np
    return lambda _: lambda steps, zero: np.clip(round_all(steps) + zero, -128, 127).astype(np.int64)


def scaled(blob, scale):
    import tnn_kernels as tnn
    return tnn.Blob(blob.q, scale, blob.zero)


def faults(kernels):
    """Layers, what is spoilt in them, and how the cause is said."""
    import numpy as np
    products = ["conv1", "depthwise", "pointwise", "conv2", "fc"]
    adds = ["plain", "front", "fma"]

    def plain(change):
        return lambda value: change(value)
    return [
        ("mobile", products, "half to even", {"round": rounded(np.round)}, "half to even"),
        ("mobile", products, "cut off", {"round": rounded(np.trunc)}, "towards zero"),
        ("mobile", products, "rounded down", {"round": rounded(np.floor)}, "rounding down|one less|lowest|towards"),
        ("mobile", ["conv2", "fc"], "limited at -127", {"result": plain(lambda q: np.maximum(q, -127))},
         "limits above the lowest"),
        ("mobile", ["conv1", "depthwise"], "no ReLU", {"no activation": True}, "without (its|the) activation"),
        ("mobile", products, "the scale of the channel before", {"scales": plain(lambda s: np.roll(s, 1))},
         "scale of the channel before"),
        ("mobile", products, "the first channel's scale", {"scales": plain(lambda s: np.full_like(s, s[0]))},
         "scale of the first channel"),
        ("mobile", products, "no bias", {"bias": plain(lambda b: b * 0)}, "without the bias"),
        ("mobile", products, "the bias of the channel behind", {"bias": plain(lambda b: np.roll(b, -1))},
         "bias of the channel behind"),
        ("mobile", ["conv1", "depthwise", "conv2"], "mirrored kernel", {"weights": plain(lambda w: w[..., ::-1])},
         "mirrored|columns of the kernel in reverse"),
        ("mobile", ["conv1", "conv2"], "padding by the lowest integer", {"padding": -128}, "padding by the lowest"),
        ("mobile", ["conv1", "conv2"], "wrapped",
         {"round": rounded(lambda v: (np.round(v) + 128) % 256 - 128)}, "wrap"),
        ("residual", ["sum"], "its operands' scales exchanged",
         {"operands": plain(lambda o: (scaled(o[0], o[1].scale), scaled(o[1], o[0].scale)))}, "exchanged"),
        ("residual", ["sum"], "without the second operand",
         {"operands": plain(lambda o: (o[0], scaled(o[1], 0)))}, "without the second|without adding"),
        ("residual", ["sum"], "one more step", {"result": plain(lambda q: np.minimum(q + 1, 127))}, "and one more"),
        ("residual", ["relu"], "a copy", {"result": plain(lambda q: q - 7)}, ""),
        ("residual", ["bottom"], "weights of 7 bits", {"weights": plain(lambda w: w & ~1)}, "7 bits"),
        ("fused", adds, "without the Add", {"added": plain(lambda blob: scaled(blob, 0))}, "without what the Add adds"),
        ("fused", adds, "twice what the Add adds", {"added": plain(lambda blob: scaled(blob, 2 * blob.scale))},
         "twice what the Add adds"),
        ("fused", adds, "no bias", {"bias": plain(lambda b: b * 0)}, "without the bias"),
        ("fused", adds, "the scale of the channel before", {"scales": plain(lambda s: np.roll(s, 1))},
         "scale of the channel before"),
        ("fused", ["front", "fma"], "the ReLU behind the Add", {"rectified": lambda _: False, "rectified behind": True},
         "ReLU behind the Add"),
        ("fused", ["plain", "last"], "the ReLU in front of the Add", {"rectified": lambda _: True},
         "ReLU in front of the Add"),
        ("fused", adds, "rounded down", {"round": rounded(np.floor)}, "rounding down|one less|lowest|towards"),
        *([("fused", ["function"], "twice the scale", {"operand": lambda blob: scaled(blob, 2 * blob.scale)}, "")]
          if kernels.name == "naive" else []),
    ]


def check_fault(network, way, layer, fault, spoilt, cause):
    """Whether the fault was planted, and whether it was named."""
    healthy, net = Network(*way), Network(*way, {layer: spoilt})
    for one in (healthy, net):
        NETWORKS[network](one)
    if layer not in net.blobs:
        return 0, 0
    differing = int((net.blobs[layer].q != healthy.blobs[layer].q).sum())
    if differing <= 3:
        return 0, 0
    run = judge(net)
    wrong = [step for step in run["layers"] if step["verdict"] == "wrong"]
    right = len(wrong) == 1 and layer in (*wrong[0]["nodes"], wrong[0]["name"])
    says = bool(wrong) and bool(re.search(cause, wrong[0]["cause"]))
    expect(right, f"{network}, {said(*way)}: {fault} in {layer} ({differing} integers)"
           f"{'' if says else ', NOT NAMED'}: '{wrong[0]['cause'] if wrong else ''}'", lines(run["layers"]))
    return 1, int(says)


def check_faults(families):
    counts = []
    for family in families:
        for network, layers, fault, spoilt, cause in faults(family):
            for kernels, zero, scales in kinds(family):
                if fault == "half to even" and scales != "ties":
                    continue  # hardly any tie
                counts += [check_fault(network, (kernels, 1, zero, scales), layer, fault, spoilt, cause)
                           for layer in layers]
    print(f"{sum(planted for planted, _ in counts)} faults, {sum(named for _, named in counts)} named")


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--healthy", action="store_true", help="no faults")
    OPTIONS = parser.parse_args()
    OPTIONS.work.mkdir(parents=True, exist_ok=True)
    packages.ensure(OPTIONS.work / "venv-onnx", ["onnx", "onnxruntime", "numpy"], ["numpy"])
    import tnn_kernels as tnn
    families = [tnn.Naive(), tnn.Arm()]
    check_healthy(families)
    if not OPTIONS.healthy:
        check_faults(families)
    sys.exit(expected.finish("subjects of TNN"))


if __name__ == "__main__":
    main()
