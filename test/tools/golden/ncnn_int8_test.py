# SPDX-License-Identifier: Apache-2.0
"""ncnn's int8 inference: networks whose scales stand in its files, and the same as a Q-DQ .onnx. Convolutions that hand
on integers are right to the integer by ncnn's rule, the rest within its bound; a fault in one of them is wrong there
alone.

    ncnn_int8_test.py --bin build/release/bin --work build/release/golden_test
"""
import argparse
import collections
import pathlib
import re
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "tools" / "python")]
import expected  # noqa: E402
import packages  # noqa: E402
from expected import expect, lines  # noqa: E402

# name, outputs, kernel, stride, groups (0: one each), ReLU, hands on integers
NETWORKS = {
    "mobile": [("conv1", 16, 3, 2, 1, True, True), ("depthwise", 16, 3, 1, 0, True, True),
               ("pointwise", 24, 1, 1, 1, False, True), ("last", 12, 3, 1, 1, True, False)],
    "wide": [("conv1", 24, 5, 1, 1, True, True), ("conv2", 32, 3, 1, 1, True, True),
             ("conv3", 32, 3, 1, 1, False, True), ("groups", 32, 3, 2, 4, True, True),
             ("last", 10, 1, 1, 1, False, False)],
    "floats": [("conv1", 8, 3, 1, 1, True, False), ("conv2", 16, 3, 1, 1, False, False),
               ("last", 8, 1, 1, 1, True, True), ("behind", 8, 1, 1, 1, False, False)],
    "odd": [("conv1", 13, 3, 2, 1, False, True), ("conv2", 7, 1, 1, 1, True, True), ("last", 5, 3, 1, 1, False, False)],
}


def factor(value):
    """One near it that is the inverse of its inverse."""
    import numpy as np
    found = np.float32(value)
    while np.float32(1) / (np.float32(1) / found) != found:
        found = np.nextafter(found, np.float32(np.inf))
    return found


def rounded(value):
    import numpy as np
    away = np.sign(value) * np.floor(np.abs(value).astype(np.float64) + 0.5)
    return np.clip(away, -127, 127).astype(np.int64)


class Network:
    """Numbers of a chain of convolutions, and what they make in NumPy; `faults` spoils one."""

    def __init__(self, chain, seed, faults=None):
        import numpy as np
        import tnn_kernels as tnn
        self.np, self.tnn, self.chain, self.faults = np, tnn, chain, faults or {}
        self.random = np.random.default_rng(seed)
        self.data = self.random.standard_normal((1, 3, 12, 12)).astype(np.float32)
        self.layers, self.blobs = [], {}
        reals, integers, into = self.data, None, factor(30)
        for layer in chain:
            reals, integers, into = self.compute(layer, reals, integers, into)

    def spoil(self, name, what, value):
        fault = self.faults.get(name, {}).get(what)
        return value if fault is None else fault(value)

    def compute(self, layer, reals, integers, into):
        np = self.np
        name, outputs, kernel, stride, groups, relu, hands_on = layer
        x = rounded((reals * into).astype(np.float32)) if integers is None else integers
        inputs = x.shape[1]
        groups = groups or inputs
        weights = self.random.integers(-127, 128, (outputs, inputs // groups, kernel, kernel))
        of_groups = [factor(v) for v in self.random.uniform(100, 300, groups if groups > 1 else outputs)]
        factors = np.repeat(np.array(of_groups, np.float32), outputs // len(of_groups))
        bias = self.random.normal(0, 0.5, outputs).astype(np.float32)
        sums = self.tnn.sums_of(self.tnn.Blob(x, 1), self.spoil(name, "weights", weights),
                                np.zeros(outputs, np.int64), stride, kernel // 2, groups)
        scales = (np.float32(1) / (into * self.spoil(name, "factors", factors))).astype(np.float32).reshape(1, -1, 1, 1)
        product = sums.astype(np.float32).astype(np.float64) * scales + self.spoil(name, "bias", bias).reshape(
            1, -1, 1, 1)  # one rounding
        out = product.astype(np.float32)
        if relu and "no ReLU" not in self.faults.get(name, {}):
            out = np.maximum(out, np.float32(0))
        onto = factor(127 / np.abs(out).max() * 1.2)
        self.layers.append((layer, weights, factors, of_groups, bias, into, onto, groups))
        if not hands_on:
            self.blobs[name] = out
            return out, None, onto
        q = self.spoil(name, "round", rounded)((out * onto).astype(np.float32))
        self.blobs[name + "_q"] = q.astype(np.int8)
        return None, q, onto

    def param(self, path):
        """ncnn's two files, with float weights, which it rounds by their factors."""
        np, lines, data, before = self.np, ["Input data 0 1 data"], b"", "data"
        for layer, w, factors, of_groups, bias, into, onto, g in self.layers:
            name, outputs, kernel, stride, _, relu, hands_on = layer
            kind = "Convolution" if g == 1 else "ConvolutionDepthWise"
            lines.append(f"{kind} {name} 1 1 {before} {name} 0={outputs} 1={kernel} 3={stride} 4={kernel // 2} 5=1 "
                         f"6={w.size} 8={101 if hands_on else 1} 9={int(relu)}{'' if g == 1 else f' 7={g}'}")
            reals = (w * (1 / factors.astype(np.float64)).reshape(-1, 1, 1, 1)).astype(np.float32)
            data += struct.pack("<I", 0) + reals.tobytes() + bias.tobytes() + np.array(of_groups, np.float32).tobytes()
            data += into.tobytes() + (onto.tobytes() if hands_on else b"")
            before = name
        path.with_suffix(".param").write_text("\n".join(["7767517", f"{len(lines)} {len(lines)}", *lines, ""]))
        path.with_suffix(".bin").write_bytes(data)

    def run(self, ncnn, path):
        net = ncnn.Net()
        net.opt.lightmode, net.opt.num_threads = False, 1
        for option in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
            setattr(net.opt, option, False)
        assert net.load_param(str(path) + ".param") == 0 and net.load_model(str(path) + ".bin") == 0
        extractor = net.create_extractor()
        extractor.input("data", ncnn.Mat(self.data[0]).clone())
        found = {}
        for (name, *_, hands_on), *_ in self.layers:
            code, values = extractor.extract(name)  # integers as floats
            assert code == 0
            values = self.np.array(values)[None]
            found[name + "_q" if hands_on else name] = values.astype(self.np.int8) if hands_on else values
        return found

    def onnx(self, path):
        import onnx
        from onnx import TensorProto, helper, numpy_helper
        np, nodes, constants = self.np, [], []

        def constant(name, value):
            constants.append(numpy_helper.from_array(np.asarray(value), name))
            return name

        def grid(name, blob, onto):
            scale, zero = constant(name + "_scale", np.float32(1) / onto), constant(name + "_zero", np.int8(0))
            nodes.append(helper.make_node("QuantizeLinear", [blob, scale, zero], [name + "_q"], name + "_quantise"))
            nodes.append(helper.make_node("DequantizeLinear", [name + "_q", scale, zero], [name + "_real"]))
            return name + "_real"
        blob = grid("data", "data", self.layers[0][5])
        for (name, _, kernel, stride, _, relu, hands_on), w, factors, _, bias, into, onto, groups in self.layers:
            scales = constant(name + "_w_scale", np.float32(1) / factors)
            nodes.append(helper.make_node("DequantizeLinear", [constant(name + "_w_q", w.astype(np.int8)), scales],
                                          [name + "_w"], axis=0))
            sums = name + "_sums" if relu or hands_on else name
            nodes.append(helper.make_node("Conv", [blob, name + "_w", constant(name + "_bias", bias)], [sums], name,
                                          pads=[kernel // 2] * 4, strides=[stride] * 2, group=groups))
            if relu:
                nodes.append(helper.make_node("Relu", [sums], [name if not hands_on else name + "_relu"]))
            last = name if not hands_on else name + "_relu" if relu else sums
            blob = grid(name, last, onto) if hands_on or name != self.layers[-1][0][0] else last
        shape = [*self.data.shape]
        graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("data", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info(blob, TensorProto.FLOAT, None)], constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def judge(net, tensors, version):
    from plumb_golden.folder import Folder
    model = OPTIONS.work / "ncnn_int8.onnx"
    net.onnx(model)
    out = Folder(OPTIONS.work / "ncnn_int8_dump", framework="ncnn", model=model, device=f"ncnn {version}, CPU, int8",
                 source={"ncnn": version}, force=True)
    out.add("data", net.data, is_input=True)
    for name, values in tensors.items():
        out.add(name, values)
    out.finish()
    return expected.judge(OPTIONS, model, OPTIONS.work / "ncnn_int8_dump")[0]


def check_healthy(ncnn):
    rules, bounds, path = collections.Counter(), 0, OPTIONS.work / "ncnn_int8"
    for name, chain in NETWORKS.items():
        for seed in range(5):
            net = Network(chain, seed)
            net.param(path)
            found = net.run(ncnn, path)
            run = judge(net, found, ncnn.__version__)
            off = [layer for layer in run["layers"] if layer["verdict"] != "aligned"]
            outputs = [(layer, o) for layer in run["layers"] for o in layer["outputs"]]
            loose = [layer for layer, o in outputs if o["dtype"] == "i8" and not o["rule"]]
            bounds += sum(o["dtype"] != "i8" for _, o in outputs)
            rules.update(o["rule"] for _, o in outputs if o["dtype"] == "i8")
            expect(not off and not loose and run["layers"], f"{name}, seed {seed}: {len(run['layers'])} layers, "
                   f"{len(off)} off, {len(loose)} by no rule", lines(off + loose))
            if name != "mobile":  # with a depth-wise convolution, whose 1 / x is rough
                expect(all((found[blob] == values).all() for blob, values in net.blobs.items()
                           if values.dtype.kind == "i"), f"{name}, seed {seed}: integers as in NumPy")
    for rule, count in rules.most_common():
        print(f"{count:6} tensors by {rule}")
    print(f"{bounds:6} tensors of floats within their bounds")


def faults():
    import numpy as np

    def by(round_all):
        return lambda _: lambda steps: np.clip(round_all(steps), -127, 127).astype(np.int64)
    return [("cut off", {"round": by(np.trunc)}, "towards zero"),
            ("rounded down", {"round": by(np.floor)}, "rounding down|towards"),
            ("no bias", {"bias": lambda b: b * 0}, "without the bias"),
            ("bias of the channel behind", {"bias": lambda b: np.roll(b, -1)}, "bias of the channel behind"),
            ("the factor of the channel before", {"factors": lambda f: np.roll(f, 1)}, "scale of the channel before"),
            ("the first channel's factor", {"factors": lambda f: np.full_like(f, f[0])}, "scale of the first"),
            ("mirrored kernel", {"weights": lambda w: w[..., ::-1]}, "mirrored|columns of the kernel"),
            ("no ReLU", {"no ReLU": True}, "without (its|the) activation"),
            ("one more", {"round": lambda r: lambda steps: np.minimum(r(steps) + 1, 127)}, "one more")]


def check_faults(version):
    planted = named = 0
    for network in ("mobile", "wide"):
        for layer in [layer[0] for layer in NETWORKS[network] if layer[-1]]:
            for fault, spoilt, cause in faults():
                healthy, net = Network(NETWORKS[network], 1), Network(NETWORKS[network], 1, {layer: spoilt})
                differing = int((net.blobs[layer + "_q"] != healthy.blobs[layer + "_q"]).sum())
                if differing <= 3:
                    continue
                run = judge(net, net.blobs, version)
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
    packages.ensure(OPTIONS.work / "venv-ncnn", ["onnx", "ncnn", "pnnx", "numpy"], ["onnx", "ncnn", "numpy"])
    import ncnn
    check_healthy(ncnn)
    check_faults(ncnn.__version__)
    sys.exit(expected.finish("int8 subjects of ncnn"))


if __name__ == "__main__":
    main()
