# SPDX-License-Identifier: Apache-2.0
"""A float network that ONNX Runtime quantised to int8 and ran in integers (QLinearConv ...), as the subject of two
models: the float model, whose blobs it stores on grids (--arithmetic int8), and the quantised model itself, whose
integers must agree but for rounding ties. Healthy runs raise nothing; faults planted into the quantised model are
named.

    int8_test.py --bin build/release/bin --work build/release/golden_test
"""
import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[2] / "tools" / "python"
sys.path[:0] = [str(HERE), str(HERE.parent / "campaign")]
import packages  # noqa: E402


def build():
    import network
    import onnx
    from onnx import TensorProto, helper
    b = network.Builder()
    b.node("Conv", "conv1", ["data", b.weight("conv1_w", 16, 3, 3, 3), b.weight("conv1_b", 16, scale=0.3)],
           pads=[1] * 4, strides=[2, 2])
    b.node("Relu", "relu1", ["conv1"])
    b.node("Conv", "depthwise", ["relu1", b.weight("depthwise_w", 16, 1, 3, 3), b.weight("depthwise_b", 16, scale=0.1)],
           pads=[1] * 4, group=16)
    b.node("Conv", "pointwise",
           ["depthwise", b.weight("pointwise_w", 32, 16, 1, 1), b.weight("pointwise_b", 32, scale=0.3)])
    b.node("Relu", "relu2", ["pointwise"])
    b.node("MaxPool", "pool", ["relu2"], kernel_shape=[2, 2], strides=[2, 2])
    b.node("Conv", "left", ["pool", b.weight("left_w", 32, 32, 3, 3), b.weight("left_b", 32, scale=0.3)], pads=[1] * 4)
    b.node("Add", "residual", ["left", "pool"])
    b.node("Relu", "relu3", ["residual"])
    b.node("Conv", "fire", ["relu3", b.weight("fire_w", 16, 32, 1, 1), b.weight("fire_b", 16, scale=0.3)])
    b.node("Sigmoid", "gate", ["fire"])
    b.node("Mul", "gated", ["fire", "gate"])
    b.node("Concat", "join", ["gated", "relu3"], axis=1)
    b.node("GlobalAveragePool", "mean", ["join"])
    b.node("Flatten", "flat", ["mean"])
    b.node("Gemm", "fc", ["flat", b.weight("fc_w", 40, 48), b.weight("fc_b", 40, scale=0.3)], transB=1)
    b.node("Softmax", "prob", ["fc"], axis=1)
    graph = helper.make_graph(b.nodes, "int8",
                              [helper.make_tensor_value_info("data", TensorProto.FLOAT, [1, 3, 40, 40])],
                              [helper.make_tensor_value_info("prob", TensorProto.FLOAT, [1, 40])], b.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    return model


def quantise(source, target, runs, per_channel, reduce_range, unsigned=False):
    """quantize_static in QDQ form; nothing is left out. `runs`: inputs to calibrate with; `unsigned` weights have a
    zero point."""
    import logging
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.items = iter(runs)

        def get_next(self):
            return next(self.items, None)

    logging.getLogger().setLevel(logging.ERROR)
    quantize_static(str(source), str(target), Reader(), quant_format=QuantFormat.QDQ, per_channel=per_channel,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QUInt8 if unsigned else QuantType.QInt8,
                    reduce_range=reduce_range)


def initializer(model, name):
    from onnx import numpy_helper
    return numpy_helper.to_array(next(w for w in model.graph.initializer if w.name == name))


def run_integers(model, inputs):
    """Every quantised tensor of the model as its optimised run computes it, which really is in integers; and the
    outputs."""
    import numpy as np
    import onnxruntime as ort
    constants = {w.name for w in model.graph.initializer}
    quantised = [n.output[0] for n in model.graph.node
                 if n.op_type == "QuantizeLinear" and n.input[0] not in constants]
    outputs = [o.name for o in model.graph.output]
    for name in quantised:
        model.graph.output.add().name = name
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = 1
    settings.log_severity_level = 3
    settings.optimized_model_filepath = str(OPTIONS.work / "optimised.onnx")
    session = ort.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    import onnx
    kinds = {n.op_type for n in onnx.load(settings.optimized_model_filepath).graph.node}
    assert "QLinearConv" in kinds, kinds
    names = quantised + outputs
    return dict(zip(names, [np.asarray(v) for v in session.run(names, inputs)])), sorted(kinds)


def dequantised(model, integers, inputs):
    """The float tensors that the integers stand for, under the float model's names, and the inputs."""
    import numpy as np
    floats = dict(inputs)
    for n in model.graph.node:
        if n.op_type != "QuantizeLinear" or n.output[0] not in integers or n.input[0] in inputs:
            continue
        scale, zero = initializer(model, n.input[1]), initializer(model, n.input[2])
        q = integers[n.output[0]]
        name = n.input[0].removesuffix("_QuantizeLinear_Input")
        floats[name] = ((q.astype(np.int32) - int(zero)) * scale.astype(np.float32)).astype(np.float32)
    return floats


def check(model, subject, *arguments):
    report = OPTIONS.work / "int8_report.json"
    report.unlink(missing_ok=True)
    done = subprocess.run([f"{OPTIONS.bin}/model_check", "-m", str(model), "--json", str(report), "--subject",
                           str(subject), *arguments],
                          capture_output=True, text=True)
    run = json.loads(report.read_text())["runs"][0] if report.exists() else None
    return done, run


FAILED = []


def expect(condition, what, done):
    print(f"{'ok  ' if condition else 'FAIL'} {what}: {done.stdout.strip().splitlines()[-1:]}")
    if not condition:
        FAILED.append(what)
        print(done.stdout[-6000:] + done.stderr[-500:])


def scaled(name, factor):
    def edit(model):
        from onnx import numpy_helper
        tensor = next(w for w in model.graph.initializer if w.name == name)
        tensor.CopyFrom(numpy_helper.from_array((numpy_helper.to_array(tensor)
                                                 * factor).astype(numpy_helper.to_array(tensor).dtype), name))
    return edit


def attribute(name, key, value):
    def edit(model):
        from onnx import helper
        n = next(n for n in model.graph.node if n.name == name)
        for old in [a for a in n.attribute if a.name == key]:
            n.attribute.remove(old)
        n.attribute.append(helper.make_attribute(key, value))
    return edit


# (what, guilty node, edit of the quantised model, arguments of its names)
FAULTS = [
    ("bias dropped", "fire", scaled("fire_b_quantized", 0)),
    ("weights times 1.1", "pointwise", scaled("pointwise_w_scale", 1.1)),
    ("pads on the wrong side", "left", attribute("left", "pads", [0, 0, 2, 2])),
    ("pads on the wrong side", "conv1", attribute("conv1", "pads", [0, 0, 2, 2])),
    ("weights negated", "fc", scaled("fc_w_quantized", -1)),
]


def check_kind(per_channel):
    import numpy as np
    import onnx
    name = "per channel" if per_channel else "per tensor"
    float_model, quantised_model = OPTIONS.work / "int8_float.onnx", OPTIONS.work / "int8_qdq.onnx"
    rng = np.random.default_rng(3)
    runs = [{"data": rng.standard_normal((1, 3, 40, 40)).astype(np.float32)} for _ in range(8)]
    quantise(float_model, quantised_model, runs, per_channel, not adds_exactly())
    inputs = {"data": np.random.default_rng(5).standard_normal((1, 3, 40, 40)).astype(np.float32)}
    integers, kinds = run_integers(onnx.load(quantised_model), inputs)
    print("optimised:", *kinds)
    subject = OPTIONS.work / "int8_subject.npz"

    np.savez(subject, **dequantised(onnx.load(quantised_model), integers, inputs))
    for arguments in ([], ["--arithmetic", "int8"]):
        done, run = check(float_model, subject, *arguments)
        expect(done.returncode == 0 and "arithmetic int8 (" in done.stdout, f"float model, {name} {arguments}", done)
    for what, guilty, edit in FAULTS:
        model = onnx.load(quantised_model)
        edit(model)
        np.savez(subject, **dequantised(model, run_integers(model, inputs)[0], inputs))
        done, run = check(float_model, subject, "--arithmetic", "int8")
        found = run["first_wrong"]["nodes"] if run and run["first_wrong"] else []
        expect(guilty in found, f"float model, {name}, {guilty}: {what} found at {found}", done)

    np.savez(subject, **inputs, **integers)
    done, run = check(quantised_model, subject)
    compared = sum(layer["verdict"] == "aligned" for layer in run["layers"]) if run else 0
    expect(done.returncode == 0 and compared >= 10, f"quantised model, {name}: {compared} steps aligned", done)
    for what, guilty, edit in FAULTS:
        model = onnx.load(quantised_model)
        edit(model)
        np.savez(subject, **inputs, **run_integers(model, inputs)[0])
        done, run = check(quantised_model, subject)
        found = run["first_wrong"]["nodes"] if run and run["first_wrong"] else []
        expect(guilty in found, f"quantised model, {name}, {guilty}: {what} found at {found}", done)
    rounded = dict(integers)
    key = next(k for k in integers if k.startswith("left") or k.startswith("residual"))
    moved = rounded[key].copy().reshape(-1)
    moved[::100] = np.clip(moved[::100].astype(np.int32) + 1, 0, 255).astype(moved.dtype)
    rounded[key] = moved.reshape(rounded[key].shape)
    np.savez(subject, **inputs, **rounded)
    done, run = check(quantised_model, subject)
    expect(done.returncode == 1, f"quantised model, {name}: one step more in 1 % of '{key}'", done)


# Float networks of the campaign, each quantised in one of the ways. Without VNNI signed weights of 8 bits saturate.
ZOO = [("resnet", "normal"), ("mobilenet_v2", "sparse"), ("mobilenet_v3", "outliers"), ("efficientnet", "normal"),
       ("inception", "normal"), ("vgg", "heavy"), ("densenet", "normal"), ("shufflenet", "normal"),
       ("squeezenet", "normal"), ("unet", "normal")]
WAYS = [(per_channel, reduce_range, unsigned) for unsigned in (False, True) for reduce_range in (True, False)
        for per_channel in (True, False)]


def check_zoo():
    import numpy as np
    import onnx
    import zoo
    path, quantised_model = OPTIONS.work / "int8_float.onnx", OPTIONS.work / "int8_qdq.onnx"
    ways = [way for way in WAYS if adds_exactly() or way[1] or way[2]]
    for turn, (name, weights) in enumerate(ZOO):
        per_channel, reduce_range, unsigned = ways[turn % len(ways)]
        model = zoo.build(name, weights, 1, 1)
        inputs = zoo.inputs(model, "normal", 1)
        onnx.save(model, path)
        quantise(path, quantised_model, [inputs], per_channel, reduce_range, unsigned)
        integers, _ = run_integers(onnx.load(quantised_model), inputs)
        subject = OPTIONS.work / "int8_subject.npz"
        np.savez(subject, **dequantised(onnx.load(quantised_model), integers, inputs))
        np.savez(OPTIONS.work / "int8_inputs.npz", **inputs)
        done, _ = check(path, subject)
        how = " ".join([name, "per channel" if per_channel else "per tensor", "7 bits" if reduce_range else "8 bits",
                        "unsigned" if unsigned else "signed"])
        expect(done.returncode == 0 and "arithmetic int8 (" in done.stdout, how, done)


def check_dumps():
    """What plumb-golden writes of the quantised model of check_zoo's last network, as the float model's subject."""
    for optimized in ("none", "all"):
        dump = OPTIONS.work / f"int8_dump_{optimized}"
        done = subprocess.run([sys.executable, "-m", "plumb_golden", "onnx", OPTIONS.work / "int8_qdq.onnx", "--force",
                               "-i", OPTIONS.work / "int8_inputs.npz", "-o", dump,
                               *([] if optimized == "none" else ["--optimized", optimized])],
                              capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(PYTHON)})
        assert done.returncode == 0, done.stderr
        done, run = check(OPTIONS.work / "int8_float.onnx", dump)
        expect(done.returncode == 0 and "quantised copy of the model" in done.stdout,
               f"float model, plumb-golden of the quantised one, optimised: {optimized}", done)


def adds_exactly():
    """Whether ONNX Runtime's integer sums are exact here: on x86 without VNNI pairs of 8-bit products saturate at 16
    bits, so it advises weights of 7 bits there, and its run of 8-bit ones is rightly called wrong."""
    cpu = pathlib.Path("/proc/cpuinfo")
    return platform.machine() != "x86_64" or not cpu.exists() or "vnni" in cpu.read_text()


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    OPTIONS = parser.parse_args()
    print("weights of", 8 if adds_exactly() else 7, "bits")
    OPTIONS.work.mkdir(parents=True, exist_ok=True)
    packages.ensure(OPTIONS.work / "venv-onnx", ["onnx", "onnxruntime", "numpy"],
                    ["onnx", "onnxruntime", "onnxruntime.quantization", "numpy"])
    import onnx
    onnx.save(build(), OPTIONS.work / "int8_float.onnx")
    for per_channel in (True, False):
        check_kind(per_channel)
    check_zoo()
    check_dumps()
    print("failed: " + ", ".join(FAILED) if FAILED else "all int8 subjects are judged as they should be")
    sys.exit(bool(FAILED))


main()
