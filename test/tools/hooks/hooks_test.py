# SPDX-License-Identifier: Apache-2.0
"""The hooks of examples/hooks, each run on a network in its runtime: model_check --subject judges what it wrote.
Healthy it is aligned, what the runtime fuses to another form, too (exit 0); with other
weights in one layer of the runtime's copy exactly that layer is wrong (exit 1).
What the hook does to the outputs is printed: the same bits as without it, or within rounding.

    hooks_test.py --bin build/release/bin --work build/release/golden_test onnx|openvino|mnn|ncnn|litert|ggml
"""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PYTHON, HOOKS = ROOT / "tools" / "python", ROOT / "examples" / "hooks"
sys.path[:0] = [str(HERE), str(HERE.parent / "golden"), str(PYTHON)]
import packages  # noqa: E402
import unwatched  # noqa: E402
from real_networks_test import RAPID, fetch  # noqa: E402
from recipes_test import run  # noqa: E402

# runtime: packages, modules; what the hook may do to the outputs here.
SAME, ROUNDED = {"same bits"}, {"same bits", "within rounding"}
MAY = {"onnx": ROUNDED, "openvino": ROUNDED, "litert": ROUNDED, "mnn": SAME, "ncnn": SAME, "ggml": SAME}
RUNTIMES = {
    "onnx": (["onnxruntime", "onnx", "numpy"], ["onnxruntime", "onnx"]),
    "openvino": (["openvino", "onnx", "numpy"], ["openvino", "onnx"]),
    "mnn": (["MNN", "onnx", "numpy"], ["MNN", "onnx"]),
    "ncnn": (["ncnn", "pnnx", "onnx", "numpy"], ["ncnn", "onnx"]),
    "litert": (["ai-edge-litert", "flatbuffers", "onnx", "numpy"], ["ai_edge_litert", "flatbuffers", "onnx"]),
    "ggml": (["onnx", "numpy"], ["onnx"]),
}


def compiler(name):
    found = os.environ.get({"gcc": "CC", "g++": "CXX"}[name]) or shutil.which(name)
    return found or packages.skip(f"there is no {name} here")


class Angle:
    """A trained MobileNet of 0.6 MB, and the same with one convolution's weights off by 5 %."""

    def __init__(self, options, work, faulty):
        import numpy as np
        import onnx
        self.options, self.work = options, work
        self.judged = fetch(options.work, RAPID, "ch_ppocr_mobile_v2.0_cls_infer.onnx")
        model = onnx.load(str(self.judged))
        weights = {n.output[0]: n.attribute[0].t for n in model.graph.node if n.op_type == "Constant"}
        convolutions = [n for n in model.graph.node if n.op_type == "Conv"]
        guilty = convolutions[len(convolutions) // 2]
        self.guilty = {guilty.name, *guilty.output}
        if faulty:
            weight = weights[guilty.input[1]]
            weight.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(weight) * np.float32(1.05)))
        self.path = work / "net.onnx"
        onnx.save(model, str(self.path))
        self.x = np.random.default_rng(1).uniform(-1, 1, (1, 3, 48, 192)).astype(np.float32)
        np.savez(work / "inputs.npz", x=self.x)

    def names(self, runtime, subject, written):
        """names.csv out of the recipe's manifest: the model's name and what the runtime calls it, of what was
        written."""
        run([sys.executable, "-m", "plumb_golden", runtime, self.path, "-i", self.work / "inputs.npz", "-o",
             self.work / "recipe"], env=packages.environment(PYTHON))
        files = json.loads((self.work / "recipe" / "manifest.json").read_text())["files"]
        pairs = {file["blob"]: subject(file["layer"], file["slot"]) for file in files
                 if file["direction"] == "out" and file["dtype"] == "f32"}
        (self.work / "names.csv").write_text("".join(f"{ours},{theirs}\n" for ours, theirs in pairs.items()
                                                     if theirs in written))
        return ["--names", self.work / "names.csv"]


def onnx_case(options, work, faulty):
    net = Angle(options, work, faulty)
    return net, [sys.executable, HOOKS / "onnxruntime_hook.py", net.path, work / "inputs.npz"], None


def openvino_case(options, work, faulty):
    import openvino
    net = Angle(options, work, faulty)
    package = pathlib.Path(openvino.__file__).parent
    libraries = sorted((package / "libs").glob("libopenvino.so*"))
    run([compiler("g++"), "-std=c++17", "-O1", "-Wall", "-Wextra", "-isystem", package / "include", "-I",
         ROOT / "include", HOOKS / "openvino_hook.cc", libraries[0], f"-Wl,-rpath,{package / 'libs'}", "-lpthread",
         "-o", work / "hook"])
    net.x.tofile(work / "input.raw")
    return net, [work / "hook", net.path, work / "input.raw", "1,3,48,192"], None


def mnn_case(options, work, faulty):
    from plumb_golden import mnn_subject
    net = Angle(options, work, faulty)
    made, _ = mnn_subject.convert(net.path, work)
    return (net, [sys.executable, HOOKS / "mnn_hook.py", made, work / "inputs.npz"],
            lambda layer, slot: layer + (f":{slot}" if slot else ""))


def ncnn_case(options, work, faulty):
    from plumb_golden import ncnn_subject
    net = Angle(options, work, faulty)
    (work / "converted").mkdir()
    layers, param = ncnn_subject.convert(ncnn_subject.load_frameworks()[2], net.path, {"x": net.x}, work / "converted")
    blobs = {layer["name"]: layer["outputs"] for layer in layers}
    return (net, [sys.executable, HOOKS / "ncnn_hook.py", param, work / "inputs.npz"],
            lambda layer, slot: blobs[layer][slot])


class Small:
    """A small network of random weights in two forms."""

    def __init__(self, judged, guilty):
        self.judged, self.guilty = judged, {guilty}


def litert_case(options, work, faulty):
    import litert_test
    import numpy as np
    twin = litert_test.Twin((1, 8, 12, 12), nhwc=True)
    if faulty:
        sound = twin.only_lite
        twin.only_lite = lambda **values: sound(**{**values, "second": values["second"] * 1.05})
    litert_test.convolutions(twin)
    twin.save(work / "net", "y", 14)
    np.savez(work / "inputs.npz", x=np.random.default_rng(3).standard_normal((1, 12, 12, 8)).astype(np.float32))
    command = [sys.executable, HOOKS / "litert_hook.py", work / "net.tflite", work / "inputs.npz"]
    return Small(work / "net.onnx", "deep"), command, None


def ggml_case(options, work, faulty):
    import ggml_build
    import numpy as np
    weights = ggml_build.weights()
    ggml_build.save_onnx(weights, work / "net.onnx")
    if faulty:
        weights["k_w"] = weights["k_w"] * np.float32(1.05)
    np.concatenate([array.ravel() for array in weights.values()]).tofile(work / "weights.raw")
    program = ggml_build.program(options.work / "ggml_source", ROOT, compiler("gcc"), "hooks/ggml_program.c")
    return Small(work / "net.onnx", "k"), [program, work / "weights.raw"], None


def note_effect(options, runtime, net, command, written, work):
    """What watching did to the outputs, noted in the dump by the command that users have."""
    import numpy as np
    outputs, how = getattr(unwatched, runtime)(net, command, written)
    assert outputs, sorted(written)
    np.savez(work / "outputs.npz", **outputs)
    run([sys.executable, "-m", "plumb_golden", "probe", work / "dump", work / "outputs.npz", "--how", how],
        env={**packages.environment(PYTHON), "PLUMB_BIN_DIR": options.bin})  # blob_diff's


def check_effect(runtime, told):
    """The report's answer."""
    assert told and told["outputs"], told
    for output in told["outputs"]:
        print(f"{runtime}, unwatched ({told['unwatched']}): {output}")
        assert output["result"] in MAY[runtime], told


def judge(options, runtime, faulty):
    work = options.work / f"hook_{runtime}" / ("faulty" if faulty else "healthy")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    with contextlib.chdir(work) if hasattr(contextlib, "chdir") else contextlib.nullcontext():
        net, command, name = globals()[f"{runtime}_case"](options, work, faulty)
    told = run(command, env={**os.environ, "DUMP_INPUT_BLOB": "1", "DUMP_OUTPUT_BLOB": "1",
                             "DUMP_BLOB_DIR": str(work / "dump")})
    assert (work / "dump" / "manifest.json").exists(), told
    written = {file["blob"] for file in json.loads((work / "dump" / "manifest.json").read_text())["files"]}
    if not faulty:
        note_effect(options, runtime, net, command, written, work)
    words = net.names(runtime, name, written) if name else []
    report = work / "report.json"
    done = subprocess.run([str(word) for word in (f"{options.bin}/model_check", "-m", net.judged, "--subject",
                                                  work / "dump", *words, "--json", report)],
                          capture_output=True, text=True)
    print(f"{runtime}, {'faulty' if faulty else 'healthy'}: {done.stdout.splitlines()[-1:]}")
    assert done.returncode == int(faulty), done.stdout + done.stderr
    told = json.loads(report.read_text())["runs"][0]
    layers = told["layers"]
    if not faulty:
        check_effect(runtime, told["probe"])
    for layer in layers:
        assert faulty or layer["verdict"] == "aligned", layer
    wrong = [layer for layer in layers if layer["verdict"] == "wrong"]
    named = [{layer["name"], *layer["nodes"], *(member["name"] for member in layer["members"])} for layer in wrong]
    assert len(wrong) == int(faulty) and all(names & net.guilty for names in named), (net.guilty, named)


def main():
    options = packages.begin("hook", RUNTIMES)
    for faulty in (False, True):
        judge(options, options.runtime, faulty)


if __name__ == "__main__":
    main()
