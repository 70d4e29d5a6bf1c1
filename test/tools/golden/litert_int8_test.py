# SPDX-License-Identifier: Apache-2.0
"""Float networks of the campaign that Google's quantiser made int8 and LiteRT runs: in integers, with weights of int8
alone, or with these and inputs rounded as the network runs; dumped by plumb-golden and judged with the float .onnx:
healthy runs are not wrong, and a quantised layer whose weights are negated is named.

    litert_int8_test.py --bin build/release/bin --work build/release/golden_test
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

NETWORKS = [("vgg", "normal"), ("vgg", "heavy"), ("resnet", "normal"), ("resnet", "outliers"), ("mobilenet", "normal"),
            ("unet", "outliers"), ("segmentation", "normal"), ("transformer", "normal"), ("tabular", "normal"),
            ("recurrent", "normal")]
FAULTS = ("vgg", "resnet", "mobilenet")
# The quantiser's recipe: what the report calls it.
ARITHMETIC = {"static_wi8_ai8": "int8", "weight_only_wi8_afp32": "fp32+narrow-products",
              "dynamic_wi8_afp32": "fp32+narrow-products"}


def quantise(source, target, x, how):
    from ai_edge_quantizer import quantizer, recipe
    made = quantizer.Quantizer(str(source), getattr(recipe, how)())
    calibrated = made.calibrate({"serving_default": [{"x": x}]}) if how.startswith("static") else None
    result = made.quantize(calibrated)
    target.unlink(missing_ok=True)
    result.export_model(str(target))


def negate(path, target, turn):
    """Negates the weights of one convolution of a .tflite; returns the name of its output."""
    import flatbuffers
    import numpy as np
    from ai_edge_litert import schema_py_generated as schema
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(path.read_bytes(), 0))
    graph = model.subgraphs[0]
    kinds = [code.builtinCode for code in model.operatorCodes]
    layers = [op for op in graph.operators if kinds[op.opcodeIndex] == schema.BuiltinOperator.CONV_2D]
    layer = layers[turn % len(layers)]
    made_by = {op.outputs[0]: op for op in graph.operators}
    weight = layer.inputs[1]
    while weight in made_by:  # dequantised before it is read
        weight = made_by[weight].inputs[0]
    buffer = model.buffers[graph.tensors[weight].buffer]
    buffer.data = (-buffer.data.view(np.int8)).view(np.uint8)
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    target.write_bytes(builder.Output())
    return graph.tensors[layer.outputs[0]].name.decode()


def judge(o, tflite, onnx):
    dump, report = o.work / "dump", o.work / "report.json"
    report.unlink(missing_ok=True)
    run = subprocess.run([sys.executable, "-m", "plumb_golden", "litert", tflite, "-i", o.work / "x.npy", "-o", dump,
                          "--force"], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(PYTHON)})
    assert run.returncode == 0, run.stderr
    # The floats that the quantised network rounded: no other input.
    done = subprocess.run([f"{o.bin}/model_check", "-m", onnx, "--subject", dump, "-i", f"x={o.work / 'nchw.npy'}",
                           "--json", report],
                          capture_output=True, text=True)
    runs = json.loads(report.read_text())["runs"] if report.exists() else []
    return done, runs[0] if runs else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    o = parser.parse_args()
    packages.ensure(o.work / "litert_int8", ["ai-edge-litert", "ai-edge-quantizer", "flatbuffers", "numpy", "onnx"],
                    ["ai_edge_litert", "ai_edge_quantizer", "flatbuffers", "numpy", "onnx"])
    import numpy as np
    import zoo
    import zoo_litert
    o.work = o.work / "litert_int8_files"
    o.work.mkdir(parents=True, exist_ok=True)
    path, quantised, faulty = o.work / "f.onnx", o.work / "q.tflite", o.work / "faulty.tflite"
    failed = []
    for how in ARITHMETIC:
        for turn, (name, weights) in enumerate(NETWORKS):
            shape = zoo_litert.build(name, weights, 1, 1, path)
            x = zoo.draw(np.random.default_rng(1), shape, "normal")
            np.save(o.work / "nchw.npy", x)
            x = x.transpose(0, 2, 3, 1) if x.ndim == 4 else x
            np.save(o.work / "x.npy", x)
            quantise(path.with_suffix(".tflite"), quantised, np.ascontiguousarray(x), how)
            done, run = judge(o, quantised, path)
            what = f"{how} {name} {weights}"
            if done.returncode != 0 or f"arithmetic {ARITHMETIC[how]} (" not in done.stdout:
                failed.append(what)
                print(done.stdout[-4000:], done.stderr[-400:])
            print(what, done.stdout.strip().splitlines()[-1:])
            if name not in FAULTS:
                continue
            guilty = negate(quantised, faulty, turn)
            done, run = judge(o, faulty, path)
            found = (run or {}).get("first_wrong") or {}
            if guilty not in [found.get("name"), *found.get("nodes", [])]:
                failed.append(f"{what}, {guilty} negated")
            print(f"{what}, {guilty} negated: found at {found.get('name')}")
    print("failed: " + ", ".join(failed) if failed else "all int8 subjects are judged as they should be")
    sys.exit(bool(failed))


main()
