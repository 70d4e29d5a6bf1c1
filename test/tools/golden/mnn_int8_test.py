# SPDX-License-Identifier: Apache-2.0
"""MNN's int8 inference: networks whose every tensor has a scale and a zero point, and the same as a Q-DQ .onnx. MNN
hands out reals on these grids; the integers that they stand for are right to the last one by MNN's rules, and a fault
in one layer is wrong there alone.

    mnn_int8_test.py --bin build/release/bin --work build/release/golden_test
"""
import argparse
import collections
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "tools" / "python")]
import expected  # noqa: E402
import packages  # noqa: E402
from expected import expect, lines  # noqa: E402

# kind, name, outputs, kernel, stride, ReLU; what an "add" takes besides the layer before
NETWORKS = {
    "mobile": [("conv", "conv1", 16, 3, 2, True), ("depthwise", "depthwise", 16, 3, 1, True),
               ("conv", "pointwise", 24, 1, 1, False), ("conv", "last", 12, 3, 1, True)],
    "wide": [("conv", "conv1", 24, 5, 1, True), ("conv", "conv2", 32, 3, 1, True), ("conv", "conv3", 32, 3, 2, False),
             ("conv", "last", 10, 1, 1, False)],
    "residual": [("conv", "conv1", 16, 3, 1, True), ("conv", "conv2", 16, 3, 1, False), ("add", "sum", "conv1", False),
                 ("depthwise", "deep", 16, 5, 2, False), ("conv", "last", 8, 1, 1, True)],
    "odd": [("conv", "conv1", 13, 3, 2, False), ("depthwise", "deep", 13, 3, 1, True), ("conv", "conv2", 7, 1, 1, True),
            ("conv", "last", 5, 3, 1, False)],
}

POOL = [("conv", "conv1", 16, 3, 1, True), ("max", "pool"), ("conv", "last", 8, 1, 1, False)]
FUSED = [("conv", "conv1", 16, 3, 1, True), ("conv", "conv2", 16, 3, 1, False), ("add", "sum", "conv1", True),
         ("conv", "last", 8, 1, 1, True)]


class Network:
    """Numbers of a chain of layers, and what they make in NumPy; `faults` spoils one."""

    def __init__(self, chain, seed, faults=None):
        import numpy as np
        import mnn_kernels as mnn
        self.np, self.mnn, self.faults = np, mnn, faults or {}
        self.random = np.random.default_rng(seed)
        self.data = self.random.standard_normal((1, 3, 12, 12)).astype(np.float32)
        self.layers, self.integers, self.grids = [], {}, {"data": self.grid(self.data, False)}
        self.integers["data"] = mnn.quantise(self.data, *self.grids["data"])
        before = "data"
        for kind, name, *more in chain:
            before = self.add(kind, name, before, more)

    def grid(self, reals, relu):
        """As MNN's EMA calibration chooses it: behind a ReLU all 254 steps are above zero."""
        low, high = float(min(reals.min(), 0)), float(reals.max())
        scale = self.np.float32((high - (0 if relu else low)) / 254 * 0.9)
        return scale, -127 if relu else int(self.np.clip(round(-127 - low / float(scale)), -100, 100))

    def spoil(self, name, what, value):
        fault = self.faults.get(name, {}).get(what)
        return value if fault is None else fault(value)

    def add(self, kind, name, before, more):
        np, mnn, x, into = self.np, self.mnn, self.integers[before], self.grids[before]
        layer = {"kind": kind, "name": name, "inputs": [before], "into": into, "relu": False}
        if kind == "max":
            layer["onto"] = into
            y = mnn.max_pool(x)
        elif kind == "add":
            layer["inputs"], layer["relu"] = [before, more[0]], more[1]
            other, of_other = self.integers[more[0]], self.grids[more[0]]
            layer["onto"] = self.grid((x - into[1]) * into[0] + (other - of_other[1]) * of_other[0], layer["relu"])
            y = mnn.add(x, other, into, of_other, layer["onto"], layer["relu"])
        else:
            y = self.product(layer, x, *more)
        self.layers.append(layer)
        self.integers[name], self.grids[name] = y, layer["onto"]
        return name

    def product(self, layer, x, outputs, kernel, stride, relu):
        np, mnn, name = self.np, self.mnn, layer["name"]
        deep = layer["kind"] == "depthwise"
        inputs = 1 if deep else x.shape[1]
        weights = self.random.integers(-127, 128, (outputs, inputs, kernel, kernel))
        scales = self.random.uniform(0.002, 0.008, outputs).astype(np.float32)
        bias = self.random.normal(0, 0.5, outputs).astype(np.float32)
        layer.update(weights=weights, scales=scales, bias=bias, stride=stride, relu=relu)
        sums = mnn.tnn.sums_of(mnn.tnn.Blob(x - layer["into"][1], 1), weights, np.zeros(outputs, np.int64), stride,
                               kernel // 2, outputs if deep else 1)
        reals = sums * (layer["into"][0] * scales).reshape(1, -1, 1, 1) + bias.reshape(1, -1, 1, 1)
        layer["onto"] = self.grid(np.maximum(reals, 0) if relu else reals, relu)
        kernel_of = mnn.depthwise if deep else mnn.dense
        return self.spoil(name, "integers", kernel_of(
            x, self.spoil(name, "weights", weights), self.spoil(name, "scales", scales),
            self.spoil(name, "bias", bias), stride, layer["into"], layer["onto"],
            relu and "no ReLU" not in self.faults.get(name, {}), self.spoil(name, "round", mnn.away)))

    def run(self, MNN):
        """The integers of MNN itself, and how far its reals are from whole steps."""
        described = self.mnn.model(self.layers, self.data.shape)
        return self.integers_of(self.mnn.run(MNN, described, [layer["name"] for layer in self.layers], self.data,
                                             OPTIONS.work))

    def onnx(self, path):
        import onnx
        from onnx import TensorProto, helper, numpy_helper
        np, nodes, constants, blobs = self.np, [], [], {}

        def constant(name, value):
            constants.append(numpy_helper.from_array(np.asarray(value), name))
            return name

        def grid(name, blob):
            scale, zero = self.grids[name]
            of = [constant(name + "_scale", scale), constant(name + "_zero", np.int8(zero))]
            nodes.append(helper.make_node("QuantizeLinear", [blob, *of], [name + "_q"], name + "_quantise"))
            nodes.append(helper.make_node("DequantizeLinear", [name + "_q", *of], [name + "_real"]))
            blobs[name] = name + "_real"
        grid("data", "data")
        for layer in self.layers:
            name, inputs = layer["name"], [blobs[i] for i in layer["inputs"]]
            if layer["kind"] == "max":
                nodes.append(helper.make_node("MaxPool", inputs, [name], name, kernel_shape=[2, 2], strides=[2, 2]))
            elif layer["kind"] == "add":
                nodes.append(helper.make_node("Add", inputs, [name], name))
            else:
                weights, kernel = layer["weights"], layer["weights"].shape[-1]
                of = [constant(name + "_w_q", weights.astype(np.int8)), constant(name + "_w_scale", layer["scales"])]
                nodes.append(helper.make_node("DequantizeLinear", of, [name + "_w"], axis=0))
                nodes.append(helper.make_node(
                    "Conv", [*inputs, name + "_w", constant(name + "_bias", layer["bias"])], [name], name,
                    pads=[kernel // 2] * 4, strides=[layer["stride"]] * 2,
                    group=len(weights) if layer["kind"] == "depthwise" else 1))
            if layer["relu"]:
                nodes.append(helper.make_node("Relu", [name], [name + "_relu"]))
            grid(name, name + "_relu" if layer["relu"] else name)
        last = blobs[self.layers[-1]["name"]]
        graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("data", TensorProto.FLOAT,
                                                                               [*self.data.shape])],
                                  [helper.make_tensor_value_info(last, TensorProto.FLOAT, None)], constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)

    def integers_of(self, reals):
        """What MNN's reals stand for; how far they are from whole steps."""
        np, integers, off = self.np, {}, 0
        for layer in self.layers:
            name, (scale, zero) = layer["name"], layer["onto"]
            steps = reals[name].astype(np.float64) / np.float64(scale)
            off = max(off, np.abs(steps - np.rint(steps)).max())
            integers[name] = np.rint(steps).astype(np.int64) + zero
        return integers, off


class ToolNetwork(Network):
    """A float network that mnnquant quantised: what its file says, and what that makes in NumPy."""

    def __init__(self, method, size=12, winograd=False):
        import numpy as np
        import mnn_kernels as mnn
        self.np, self.mnn, self.faults = np, mnn, {}
        random = np.random.default_rng(7)
        samples = [random.standard_normal((1, 3, size, size)).astype(np.float32) for _ in range(4)]
        self.data, path = samples[0], OPTIONS.work / "mnn_float.onnx"
        self.floats(random, path)
        self.described = mnn.by_mnnquant(path, samples, method, winograd, OPTIONS.work)
        self.layers, self.grids = mnn.layers_of(self.described)
        self.integers = {"data": mnn.quantise(self.data, *self.grids["data"])}
        for layer in self.layers:
            kernel_of = mnn.depthwise if layer["kind"] == "depthwise" else mnn.dense
            self.integers[layer["name"]] = kernel_of(
                self.integers[layer["inputs"][0]], layer["weights"], layer["scales"], layer["bias"], layer["stride"],
                layer["into"], layer["onto"], layer["relu"], low=layer["low"])

    def run(self, MNN):
        return self.integers_of(self.mnn.run(MNN, self.described, [layer["name"] for layer in self.layers], self.data,
                                             OPTIONS.work))

    def floats(self, random, path):
        import onnx
        from onnx import TensorProto, helper, numpy_helper
        np, nodes, constants, before, inputs = self.np, [], [], "data", 3
        for number, (outputs, kernel, groups, relu) in enumerate([(16, 3, 1, True), (16, 3, 16, True),
                                                                  (24, 1, 1, False), (12, 3, 1, True),
                                                                  (8, 1, 1, False)]):
            shape = (outputs, inputs // groups, kernel, kernel)
            weights = random.standard_normal(shape) * (2 / np.prod(shape[1:])) ** 0.5
            name, last = f"conv{number}", number == 4
            for slot, value in (("w", weights), ("b", random.normal(0, 0.3, outputs))):
                constants.append(numpy_helper.from_array(value.astype(np.float32), f"{name}_{slot}"))
            nodes.append(helper.make_node("Conv", [before, f"{name}_w", f"{name}_b"], ["out" if last else name], name,
                                          pads=[kernel // 2] * 4, group=groups))
            if relu:
                nodes.append(helper.make_node("Relu", [name], [name + "_relu"]))
            before, inputs = name + "_relu" if relu else name, outputs
        graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("data", TensorProto.FLOAT,
                                                                               [*self.data.shape])],
                                  [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)], constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def judge(net, integers, version):
    import numpy as np
    from plumb_golden.folder import Folder
    model = OPTIONS.work / "mnn_int8.onnx"
    net.onnx(model)
    out = Folder(OPTIONS.work / "mnn_int8_dump", framework="mnn", model=model, device=f"MNN {version}, CPU, int8",
                 source={"MNN": version}, force=True)
    out.add("data", net.data, is_input=True)
    for layer in net.layers:
        out.add(layer["name"] + "_q", integers[layer["name"]].astype(np.int8))
    scale, zero = layer["onto"]
    out.add(layer["name"] + "_real", (integers[layer["name"]] - zero).astype(np.float32) * scale)  # the output
    out.finish()
    return expected.judge(OPTIONS, model, OPTIONS.work / "mnn_int8_dump")[0]


def check_healthy(MNN, version):
    rules, layers = collections.Counter(), 0
    networks = [(f"{name}, seed {seed}", Network(chain, seed)) for name, chain in NETWORKS.items() for seed in range(5)]
    networks += [(f"mnnquant's {method}", ToolNetwork(method)) for method in ("EMA", "ADMM")]
    for name, net in networks:
        integers, apart = net.run(MNN)
        expect(apart < 1e-3, f"{name}: MNN's reals are whole steps to {apart:.0e}")
        expect(all((integers[layer["name"]] == net.integers[layer["name"]]).all() for layer in net.layers),
               f"{name}: integers as in NumPy")
        run = judge(net, integers, version)
        off = [layer for layer in run["layers"] if layer["verdict"] != "aligned"]
        outputs = [(layer, o) for layer in run["layers"] for o in layer["outputs"] if o["dtype"] == "i8"]
        loose = [layer for layer, o in outputs if not o["rule"]]
        rules.update(o["rule"] for _, o in outputs)
        layers += len(outputs)
        expect(not off and not loose and len(outputs) == len(net.layers),
               f"{name}: {len(outputs)} layers, {len(off)} off, {len(loose)} by no rule", lines(off + loose))
    print(f"{layers} layers of {len(networks)} networks")
    for rule, count in rules.most_common():
        print(f"{count:6} tensors by {rule}")


def check_own_faults(MNN, version):
    """What MNN 3.6.1 does wrong on x86, where it keeps integers as q + 128: a max pool compares these bytes as signed
    ones, and a ReLU fused into an Add limits integers at 0, not at their zero point."""
    import numpy as np
    import mnn_kernels

    def as_signed(net, integers):
        pooled = mnn_kernels.max_pool((integers["conv1"] + 128).astype(np.uint8).astype(np.int8))
        return pooled.astype(np.uint8).astype(np.int64) - 128

    def limited(net, integers):
        return np.maximum(net.integers["sum"], 0)
    for chain, layer, explained, cause in ((POOL, "pool", as_signed, "compared as signed"),
                                           (FUSED, "sum", limited, "lower limit at the integer 0")):
        for seed in range(3):
            net = Network(chain, seed)
            integers, _ = net.run(MNN)
            differing = int((integers[layer] != net.integers[layer]).sum())
            expect((explained(net, integers) == integers[layer]).all(), f"MNN's {layer}, seed {seed}: as is known")
            run = judge(net, integers, version)
            wrong = [step for step in run["layers"] if step["verdict"] == "wrong"]
            expect(len(wrong) == 1 and layer in wrong[0]["nodes"] and cause in wrong[0]["cause"],
                   f"MNN's {layer}, seed {seed}: {differing} integers differ: '{wrong[0]['cause'] if wrong else ''}'",
                   lines(run["layers"]))


def check_winograd(MNN, version):
    """By EMA mnnquant chooses its int8 Winograd algorithm for some convolutions, whose transformed input it rounds to
    int8, too: these layers, and they alone, are far from what the graph says."""
    net = ToolNetwork("EMA", 32, True)
    integers, _ = net.run(MNN)
    run = judge(net, integers, version)
    wrong = {node for layer in run["layers"] if layer["verdict"] == "wrong" for node in layer["nodes"]}
    chosen = {layer["name"] for layer in net.layers if layer["winograd"]}
    expect(chosen and chosen == wrong & {layer["name"] for layer in net.layers},
           f"mnnquant's EMA by Winograd: wrong at {sorted(chosen)}", lines(run["layers"]))


def faults():
    import numpy as np

    def by(round_all):
        return lambda _: lambda steps: round_all(steps).astype(np.int64)
    return [("cut off", {"round": by(np.trunc)}, "towards zero"),
            ("rounded down", {"round": by(np.floor)}, "rounding down|towards"),
            ("no bias", {"bias": lambda b: b * 0}, "without the bias"),
            ("bias of the channel behind", {"bias": lambda b: np.roll(b, -1)}, "bias of the channel behind"),
            ("the scale of the channel before", {"scales": lambda s: np.roll(s, 1)}, "scale of the channel before"),
            ("the first channel's scale", {"scales": lambda s: np.full_like(s, s[0])}, "scale of the first"),
            ("mirrored kernel", {"weights": lambda w: w[..., ::-1]}, "mirrored|columns of the kernel"),
            ("no ReLU", {"no ReLU": True}, "without (its|the) activation"),
            ("one more", {"integers": lambda q: np.minimum(q + 1, 127)}, "one more")]


def check_faults(version):
    planted = named = 0
    for network in ("mobile", "residual"):
        for layer in [layer[1] for layer in NETWORKS[network] if layer[0] in ("conv", "depthwise")]:
            for fault, spoilt, cause in faults():
                healthy, net = Network(NETWORKS[network], 1), Network(NETWORKS[network], 1, {layer: spoilt})
                differing = int((net.integers[layer] != healthy.integers[layer]).sum())
                if differing <= 3:
                    continue
                run = judge(net, net.integers, version)
                wrong = [step for step in run["layers"] if step["verdict"] == "wrong"]
                says = bool(wrong) and bool(re.search(cause, wrong[0]["cause"]))
                planted, named = planted + 1, named + says
                expect(len(wrong) == 1 and layer in wrong[0]["nodes"],
                       f"{network}: {fault} in {layer} ({differing} integers){'' if says else ', NOT NAMED'}: "
                       f"'{wrong[0]['cause'] if wrong else ''}'", lines(run["layers"]))
    print(f"{planted} faults, {named} named")


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    OPTIONS = parser.parse_args()
    OPTIONS.work.mkdir(parents=True, exist_ok=True)
    packages.ensure(OPTIONS.work / "venv-mnn", ["onnx", "MNN", "numpy"], ["onnx", "MNN", "numpy"])
    import importlib.metadata
    import MNN
    version = importlib.metadata.version("MNN")
    check_healthy(MNN, version)
    check_own_faults(MNN, version)
    check_winograd(MNN, version)
    check_faults(version)
    sys.exit(expected.finish("MNN's int8 subjects"))


if __name__ == "__main__":
    main()
