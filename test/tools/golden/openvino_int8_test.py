# SPDX-License-Identifier: Apache-2.0
"""A float network in OpenVINO with a FakeQuantize in front of every convolution, on its input and on its weights (of 7
bits: full ones saturate on x86 without VNNI), as NNCF makes them: plumb-golden dumps what each makes of its tensor, and
model_check judges that with the float .onnx. A convolution with other weights than the model's is named. Then files
of NNCF's own.

    openvino_int8_test.py --bin build/release/bin --work build/release/golden_test
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[2] / "tools" / "python"
sys.path[:0] = [str(HERE), str(HERE.parent / "campaign")]
import packages  # noqa: E402


def values_of(model, ports, feeds):
    """What the float model computes at these ports."""
    import openvino as ov
    named = {}
    for port in ports:
        name = port.get_any_name()
        if port.get_node().get_type_name() == "Parameter":
            named[name] = feeds[name]
        else:
            named[name] = None
    probe = model.clone()
    have = {port.get_any_name() for port in probe.outputs}
    probe.add_outputs([name for name, value in named.items() if value is None and name not in have])
    results = ov.Core().compile_model(probe, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(feeds)
    for port, value in results.items():
        for name in port.get_names() & set(named):
            named[name] = value
    return named


def name_of(layer):
    return layer.get_friendly_name().partition("/WithoutBiases")[0]  # the bias is an Add of the node's name


def quantise(path, feeds, spoilt):
    """The model with FakeQuantize; the weights of the convolution `spoilt` are turned round."""
    import numpy as np
    import openvino as ov
    from openvino import opset13 as ops
    model = ov.Core().read_model(str(path))
    layers = [op for op in model.get_ordered_ops() if op.get_type_name() in ("Convolution", "GroupConvolution")]
    values = values_of(model, [layer.input_value(0) for layer in layers], feeds)  # before anything reads rounded ones
    for layer in layers:
        source = layer.input_value(0)
        if source.get_node().get_type_name() != "FakeQuantize":  # of another reader
            name = source.get_any_name()
            low, high = min(0.0, float(values[name].min())), max(0.0, float(values[name].max()))
            zero = round(-low / (high - low) * 255)  # a step lies on zero
            step = max(high / (255 - zero), -low / zero if zero else 0)
            ends = [np.float32(-zero * step), np.float32((255 - zero) * step)] * 2
            readers = list(source.get_target_inputs())
            quantised = ops.fake_quantize(source, *ends, 256, name=f"{name}/fq")
            for reader in readers:
                reader.replace_source_output(quantised.output(0))
        weight = layer.input_value(1).get_node().data.copy()
        if name_of(layer) == spoilt:
            weight = np.ascontiguousarray(weight[::-1])
        axes = tuple(range(2 if layer.get_type_name() == "GroupConvolution" else 1, weight.ndim))
        largest = np.abs(weight).max(axes, keepdims=True).astype(np.float32)
        rounded = ops.fake_quantize(ops.constant(weight), -largest, largest, -largest, largest, 127)
        layer.input(1).replace_source_output(rounded.output(0))
    return model, [name_of(layer) for layer in layers]


def by_nncf(path, samples, default):
    """As NNCF makes it; its default rounds the weights of the first layer to half of their range."""
    import nncf
    import openvino as ov
    whole = nncf.AdvancedQuantizationParameters(overflow_fix=nncf.OverflowFix.DISABLE, disable_bias_correction=True)
    return nncf.quantize(ov.Core().read_model(str(path)), nncf.Dataset(samples), subset_size=len(samples),
                         advanced_parameters=None if default else whole)


def change_weights(model, position, change):
    """Changes the integers of the convolution at that place in the order of execution; its name."""
    from openvino import opset13 as ops
    layer = [op for op in model.get_ordered_ops() if op.get_type_name() == "Convolution"][position]
    reader, node = layer.input(1), layer.input_value(1).get_node()
    while node.get_type_name() != "Constant":
        reader, node = node.input(0), node.input_value(0).get_node()
    reader.replace_source_output(ops.constant(change(node.data.copy())).output(0))
    return name_of(layer)


def half_of_range(weight):
    return (weight // 2 * 2).astype(weight.dtype)


def turned(weight):
    return weight[::-1].copy()


HALF = "int8 weights of half of their range in 1 of"
# The first convolution's floats are in the dump, not on a coarse grid, so its weights can be told.
TOLD = ["vgg", "squeezenet", "inception"]


def check_nncf(o, path):
    """NNCF's own files, as they are and with one layer changed; what failed."""
    import numpy as np
    import onnx
    import zoo
    failed, judged = [], {True: [], False: []}
    for name in ["vgg", "resnet", "squeezenet", "densenet", "inception"]:
        model = zoo.build(name, "normal", 1, 1)
        samples = [zoo.inputs(model, "normal", seed) for seed in range(1, 9)]
        onnx.save(model, path)
        np.savez(o.work / "x.npz", **samples[0])
        for default in (True, False):
            what = f"{name} by NNCF" + ("" if default else " without overflow_fix")
            done, run = judge(o, by_nncf(path, samples, default), path)
            print(what, done.stdout.strip().splitlines()[-1:])
            judged[default].append(len(run.get("layers", [])))
            if done.returncode != 0 or (HALF in done.stdout) != (default and name in TOLD):
                failed.append(what)
                print(done.stdout[-4000:], done.stderr[-400:])
        for position, change in ((0, turned), (2, half_of_range)) if name in TOLD else ():
            model = by_nncf(path, samples, True)
            spoilt = change_weights(model, position, change)
            done, run = judge(o, model, path)
            found = run.get("first_wrong") or {}
            print(f"{name} by NNCF, {spoilt} {change.__name__}: found at {found.get('name')}")
            if spoilt not in [found.get("name"), *found.get("nodes", [])]:
                failed.append(f"{name} by NNCF, {spoilt} {change.__name__}")
    for default, layers in judged.items():
        print(f"layers of NNCF's files {'by default' if default else 'without overflow_fix'}: "
              f"{' + '.join(map(str, layers))} = {sum(layers)}")
    return failed


def judge(o, model, onnx):
    import openvino as ov
    ov.save_model(model, o.work / "q.xml", compress_to_fp16=False)
    dump, report = o.work / "dump", o.work / "report.json"
    report.unlink(missing_ok=True)
    run = subprocess.run([sys.executable, "-m", "plumb_golden", "openvino", o.work / "q.xml", "-i", o.work / "x.npz",
                          "-o", dump, "--force"], capture_output=True, text=True,
                         env={**os.environ, "PYTHONPATH": str(PYTHON)})
    assert run.returncode == 0, run.stderr
    done = subprocess.run([f"{o.bin}/model_check", "-m", onnx, "--subject", dump, "--json", report],
                          capture_output=True, text=True)
    runs = json.loads(report.read_text())["runs"] if report.exists() else []
    return done, runs[0] if runs else {}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    o = parser.parse_args()
    folder = o.work / "openvino_int8"
    packages.ensure(folder, ["openvino", "numpy", "onnx"], ["openvino", "numpy", "onnx"])
    import numpy as np
    import onnx
    import zoo
    o.work = o.work / "openvino_int8_files"
    o.work.mkdir(parents=True, exist_ok=True)
    path, failed = o.work / "f.onnx", []
    for turn, name in enumerate(["vgg", "resnet", "squeezenet", "densenet", "inception"]):
        model = zoo.build(name, "normal", 1, 1)
        feeds = zoo.inputs(model, "normal", 1)
        onnx.save(model, path)
        np.savez(o.work / "x.npz", **feeds)
        quantised, layers = quantise(path, feeds, None)
        done, run = judge(o, quantised, path)
        print(name, done.stdout.strip().splitlines()[-1:])
        if done.returncode != 0 or "of a quantised copy of the model" not in done.stdout:
            failed.append(name)
            print(done.stdout[-4000:], done.stderr[-400:])
        spoilt = layers[(turn + 2) % len(layers)]
        done, run = judge(o, quantise(path, feeds, spoilt)[0], path)
        found = run.get("first_wrong") or {}
        print(f"{name}, {spoilt} with turned weights: found at {found.get('name')}")
        if spoilt not in [found.get("name"), *found.get("nodes", [])]:
            failed.append(f"{name}, {spoilt}")
    without = packages.more(folder, ["nncf"], ["nncf"])
    if without:
        print(f"not by NNCF itself: {without}")
    else:
        failed += check_nncf(o, path)
    print("failed: " + ", ".join(failed) if failed else "all int8 subjects are judged as they should be")
    sys.exit(bool(failed))


main()
