# SPDX-License-Identifier: Apache-2.0
"""A runtime that puts the odd pixel of SAME at the other end, in both directions, for convolutions, depthwise and
transposed ones, and pools; floats and int8; .tflite judged beside LiteRT, .onnx beside ONNX Runtime. The layer alone is
wrong, and its cause says the pads of both.

    same_faults_test.py --bin build/release/bin --work FOLDER
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden"), str(HERE.parents[2] / "tools" / "python")]
import packages  # noqa: E402

KINDS = ("conv", "depthwise", "transposed", "max", "average")
ENDS = {(0, 1): "0 before and 1 after", (1, 0): "1 before and 0 after"}


def judged(options, model, dump):
    report = options.work / "same_faults.json"
    report.unlink(missing_ok=True)
    done = subprocess.run([f"{options.bin}/model_check", "-m", str(model), "--subject", str(dump), "--json",
                           str(report)], capture_output=True, text=True)
    assert report.exists(), done.stdout + done.stderr
    return json.loads(report.read_text())["runs"][0]["layers"]


def onnx_model(path, kind, pads, quantised):
    """x, with a grid in front where it is quantised, the window, the same behind it, Relu."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save
    random, nodes, constants = np.random.default_rng(5), [], []

    def constant(name, value):
        constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def grid(name, scale, zero):
        if not quantised:
            return name
        given = [constant(f"{name}_scale", np.float32(scale)), constant(f"{name}_zero", np.int8(zero))]
        nodes.append(helper.make_node("QuantizeLinear", [name, *given], [f"{name}_q"], name=f"{name}_q"))
        nodes.append(helper.make_node("DequantizeLinear", [f"{name}_q", *given], [f"{name}_dq"], name=f"{name}_dq"))
        return f"{name}_dq"

    def weights(shape):
        if not quantised:
            return constant("w", random.normal(size=shape).astype(np.float32))
        given = [constant("w_q", random.integers(-127, 128, shape).astype(np.int8)),
                 constant("w_scale", np.float32(0.01)), constant("w_zero", np.int8(0))]
        nodes.append(helper.make_node("DequantizeLinear", given, ["w"], name="w"))
        return "w"
    x = grid("x", 0.02, 3)
    window = {"strides": [2, 2], "pads": [pads[0], pads[0], pads[1], pads[1]]}
    if kind in ("max", "average"):
        name = {"max": "MaxPool", "average": "AveragePool"}[kind]
        node = helper.make_node(name, [x], ["y"], name="y", kernel_shape=[3, 3], **window)
    elif kind == "transposed":
        node = helper.make_node("ConvTranspose", [x, weights([4, 6, 3, 3])], ["y"], name="y", **window)
    else:
        groups = 4 if kind == "depthwise" else 1
        node = helper.make_node("Conv", [x, weights([4, 4 // groups, 3, 3])], ["y"], name="y", group=groups, **window)
    nodes.append(node)
    nodes.append(helper.make_node("Relu", [grid("y", 0.05, -2)], ["z"], name="z"))
    size = [1, 6, 24, 24] if kind == "transposed" else [1, 4, 6, 6]
    graph = helper.make_graph(nodes, "same", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 12, 12])],
                              [helper.make_tensor_value_info("z", TensorProto.FLOAT, size)], constants)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def onnx_cases(options):
    """(what, layers of the report, the pads of the graph, those of the run)."""
    from plumb_golden import onnx_golden
    for kind in KINDS:
        for quantised in (False, True):
            paths = {p: onnx_model(options.work / f"same_{p[0]}.onnx", kind, p, quantised) for p in ENDS}
            for graph, ran in (((0, 1), (1, 0)), ((1, 0), (0, 1))):
                onnx_golden.run(paths[ran], options.work / "same_dump", force=True)
                yield (f"{kind} {'int8' if quantised else 'float'} .onnx", judged(options, paths[graph],
                                                                                options.work / "same_dump"), graph, ran)


def tflite_plan(kind, dtype):
    """One window that SAME pads by 0 before and 1 after, on integers, which floats may be, too."""
    import integer_networks as nets
    import numpy as np
    plan = nets.Plan("int8", seed=9)
    grid = (0.4, -5)
    same = nets.window(nets.SAME, 2)
    if kind == "transposed":
        plan.constants["up_shape"] = (np.array([1, 24, 24, 8], np.int32), None, 0, 0)
        plan.weights("w", [8, 3, 3, 8], 0, 0.006)
        plan.node("y", "TRANSPOSE_CONV", ["up_shape", "w", "x", plan.bias("b", "x", "w")], [1, 24, 24, 8], *grid, same,
                  padding="SAME", stride=2)
    elif kind in ("max", "average"):
        plan.node("y", {"max": "MAX_POOL_2D", "average": "AVERAGE_POOL_2D"}[kind], ["x"], [1, 6, 6, 8],
                  options={**same, "filterHeight": 3, "filterWidth": 3}, padding="SAME", stride=2, window=(3, 3))
    else:
        plan.weights("w", [8, 3, 3, 8] if kind == "conv" else [1, 3, 3, 8], 0 if kind == "conv" else 3, 0.006)
        more = {} if kind == "conv" else {"depthMultiplier": 1}
        plan.node("y", "CONV_2D" if kind == "conv" else "DEPTHWISE_CONV_2D", ["x", "w", plan.bias("b", "x", "w")],
                  [1, 6, 6, 8], *grid, {**same, **more}, 3, padding="SAME", stride=2)
    if dtype == "float32":
        plan.as_floats()
    return plan


def moved(call, kind, dtype):
    """What the window makes that lies a pixel before where SAME puts it."""
    import integer_kernels as k
    if kind == "MAX_POOL_2D":
        return k.largest(call, shift=1)
    if kind == "AVERAGE_POOL_2D":
        return k.average(call, shift=1, **({"divide": lambda total, n: total / n} if dtype == "float32" else {}))
    if dtype == "float32":
        return k.SUMS[kind](call, shift=1)
    return k.product(call, kind, shift=1)


def tflite_cases(options):
    import numpy as np
    from plumb_golden import litert_golden
    for kind in KINDS:
        for dtype in ("float32", "int8"):
            plan = tflite_plan(kind, dtype)
            path, dump, given = options.work / "same.tflite", options.work / "same_dump", options.work / "same.npz"
            path.write_bytes(plan.build()[0])
            x = np.random.default_rng(1).integers(-128, 128, plan.input[1]).astype(dtype)
            np.savez(given, x=x)
            litert_golden.run(path, dump, input_files=[str(given)], force=True, kernels="reference")
            files = {e["blob"]: dump / e["file"] for e in json.loads((dump / "manifest.json").read_text())["files"]}
            node, call = plan.call("y", {"x": x})
            right = np.load(files["y"])
            np.save(files["y"], np.asarray(moved(call, node, dtype)).reshape(right.shape).astype(right.dtype))
            yield f"{kind} {dtype} .tflite", judged(options, path, dump), (0, 1), (1, 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.work = options.work / "same_faults"
    options.work.mkdir(parents=True, exist_ok=True)
    packages.ensure(options.work / "venv", ["ai-edge-litert==2.3.0", "onnxruntime", "onnx", "numpy"],
                    ["ai_edge_litert", "onnxruntime", "onnx", "numpy"])
    count, failures = 0, 0
    for cases in (onnx_cases, tflite_cases):
        for what, layers, graph, ran in cases(options):
            wrong = [layer for layer in layers if layer["verdict"] == "wrong"]
            # Of transposed windows what is padded is cut off.
            pattern = f"(pads|cuts of) {ENDS[ran]}; the graph says {ENDS[graph]}"
            good = len(wrong) == 1 and "y" in [o["blob"].split("_")[0] for o in wrong[0]["outputs"]] and \
                re.search(pattern, wrong[0]["cause"])
            count, failures = count + 1, failures + (not good)
            print(f"{'ok  ' if good else 'FAIL'} {what}, {ENDS[graph]} in the graph: "
                  f"{[(layer['name'], layer['cause'] or layer['reason']) for layer in wrong]}", flush=True)
    print(f"{count} windows moved by a pixel, {count - failures} named by their pads")
    return 1 if failures or count < 30 else 0


if __name__ == "__main__":
    sys.exit(main())
