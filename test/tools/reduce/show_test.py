# SPDX-License-Identifier: Apache-2.0
"""show.py of a case for each runtime that it is written for: right by the reference, wrong by another one.

    show_test.py --bin build/release/bin --work build/release/golden_test [--only ncnn]
"""
import argparse
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "golden"))
import packages  # noqa: E402

RUNTIMES = {"onnxruntime": (["onnxruntime"], ["onnxruntime"]), "openvino": (["openvino"], ["openvino"]),
            "mnn": (["MNN"], ["MNN"]), "ncnn": (["ncnn", "pnnx"], ["ncnn", "pnnx"]),
            "torch": (["onnx2torch"], ["onnx2torch"]), "tract": (["tract"], ["tract"]),
            "opencv": (["opencv-python-headless"], ["cv2"])}
LAYERS = ("conv", "difference", "pooled")


def build():
    """A convolution; a difference, whose two inputs have an order; a pooling, which rounds nothing: tau is 0."""
    from network import Builder
    from onnx import TensorProto, helper
    b = Builder()
    b.node("Conv", "conv", ["data", b.weight("w", 4, 3, 3, 3), b.weight("b", 4)], pads=[1] * 4)
    b.node("Sigmoid", "gate", ["conv"])
    b.node("Sub", "difference", ["gate", "conv"])
    b.node("MaxPool", "pooled", ["difference"], kernel_shape=[2, 2], strides=[2, 2])
    graph = helper.make_graph(b.nodes, "net", [helper.make_tensor_value_info("data", TensorProto.FLOAT, [1, 3, 8, 8])],
                              [helper.make_tensor_value_info("pooled", TensorProto.FLOAT, [1, 4, 4, 4])], b.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def show(folder):
    return subprocess.run([sys.executable, str(folder / "show.py")], capture_output=True, text=True)


def check(o, model, runtime, layer, folder):
    """What is not as it should be, or ""."""
    import numpy as np
    done = subprocess.run([f"{o.bin}/model_check", "-m", str(model), "-d", "NAIVE", "--layers", layer, "--extract",
                           str(folder), "--show", runtime, "-q"], capture_output=True, text=True)
    if done.returncode != 0:
        return "no case: " + done.stderr
    lines = (folder / "show.py").read_text().splitlines()
    if len(lines) > 20 or max(map(len, lines)) > 120:
        return f"{len(lines)} lines of up to {max(map(len, lines))} characters"
    right = show(folder)
    if right.returncode != 0 or f"{layer}: off by" not in right.stdout or ": right" not in right.stdout:
        return f"not right: {right.stdout} {right.stderr}"
    reference = dict(np.load(folder / "reference.npz"))
    values = reference[layer].reshape(-1)
    for what, value in (("off", values[0] + 0.01), ("NaN", np.nan)):
        values[0] = value
        np.savez(folder / "reference.npz", **reference)
        wrong = show(folder)
        if wrong.returncode != 1 or ": wrong" not in wrong.stdout:
            return f"not wrong where the reference is {what}: {wrong.stdout} {wrong.stderr}"
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--only", default="")
    o = parser.parse_args()
    wanted = ["numpy", "onnx", "onnxruntime"]
    packages.ensure(o.work / "reduce_campaign", wanted, wanted)
    import onnx
    work = (o.work / "show").absolute()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    onnx.save(build(), work / "net.onnx")
    failed = tried = 0
    for runtime in RUNTIMES:
        if o.only not in runtime:
            continue
        lacks = packages.more(o.work / "reduce_campaign", *RUNTIMES[runtime])
        if lacks:
            print(f"left out: {runtime}: {lacks}")
            continue
        tried += 1
        for layer in LAYERS:
            said = check(o, work / "net.onnx", runtime, layer, work / f"{runtime}_{layer}")
            print(f"{'FAIL' if said else 'ok  '} {runtime} {layer} {said}", flush=True)
            failed += bool(said)
    for command, said in (("litert", "--show: LiteRT reads no .onnx"), ("onnx", "--show: expected onnxruntime")):
        done = subprocess.run([f"{o.bin}/model_check", "-m", str(work / "net.onnx"), "--extract", str(work / "none"),
                               "--show", command], capture_output=True, text=True)
        is_so = done.returncode == 2 and said in done.stderr
        print(f"{'ok  ' if is_so else 'FAIL'} --show {command}: {done.stderr.strip()}")
        failed += not is_so
    return 1 if failed or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
