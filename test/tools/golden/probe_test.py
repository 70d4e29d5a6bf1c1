# SPDX-License-Identifier: Apache-2.0
"""plumb-golden --prove-probe, --runs, --threads and --batch on real networks: a runtime computes one with all its
tensors exposed and once more with its outputs alone; model_check's report says what became of them, and what a manifest
says of another result. And it computes it again: in a fresh session, as a later run, with two threads, as a batch.

    probe_test.py --bin build/release/bin --work build/release/golden_test onnx|openvino|mnn|ncnn|litert|torch
"""
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[2] / "tools" / "python"
sys.path[:0] = [str(HERE), str(PYTHON)]
import packages  # noqa: E402
from real_networks_test import PITCH, RAPID, fetch  # noqa: E402
from recipes_test import TORCH_SCRIPT, run  # noqa: E402

ANGLE = (RAPID, "ch_ppocr_mobile_v2.0_cls_infer.onnx", ["--shape", "x=1,3,48,192"])
# runtime: (packages, modules, network, the results that its outputs may have here). A delegate or a fusion rounds
# otherwise; where nothing but memory is kept the bits must be the same.
RUNTIMES = {
    "onnx": (["onnxruntime", "onnx", "numpy"], ["onnxruntime", "onnx"], ANGLE, {"same bits"}),
    "openvino": (["openvino", "onnx", "numpy"], ["openvino", "onnx"], ANGLE, {"same bits", "within rounding"}),
    "mnn": (["MNN", "onnx", "numpy"], ["MNN", "onnx"], ANGLE, {"same bits"}),
    "ncnn": (["ncnn", "pnnx", "onnx", "numpy"], ["ncnn", "onnx"], ANGLE, {"same bits"}),
    "litert": (["ai-edge-litert", "numpy"], ["ai_edge_litert", "numpy"], (PITCH, "nmp.tflite", []),
               {"same bits", "within rounding"}),
    "torch": ([], ["torch", "onnx"], None, {"same bits"}),
}


AGAIN = ["--runs", "2", "--threads", "2"]


def check_repeats(runtime, told):
    """The same number of threads and inputs must give the same bits again; otherwise it may round otherwise."""
    for one in told:
        print(f"{runtime}, {one['how']}: {one['result']}, {one['changed']} of {one['tensors']}, {one['first']}")
        again = one["how"] in ("a fresh session", "later runs of one session")
        assert one["tensors"] > 0 and one["result"] in (["same bits"] if again else ["same bits", "within rounding"])
    assert len(told) == (3 if runtime == "ncnn" else 4), told


def network(options, work):
    """(what plumb-golden reads, its options, the .onnx that model_check reads)."""
    found = RUNTIMES[options.runtime][2]
    if found is not None:
        package, file, shapes = found
        model = fetch(options.work, package, file)
        return model, shapes, model if model.suffix == ".onnx" else None
    (work / "net.py").write_text(TORCH_SCRIPT)
    run([sys.executable, "net.py"], cwd=work)
    return work / "net.py", ["--onnx", work / "net.onnx"], work / "net.onnx"


def probe_of(report):
    return json.loads(report.read_text())["runs"][0]["probe"]


def check_report(options, work, model, shapes, told):
    """The report says what the manifest says; of a dump whose output was changed, that it is another result."""
    words = [f"{options.bin}/model_check", "-m", model, *shapes, "--subject", work / "dump", "--json",
             work / "report.json"]
    said = " ".join(run(words).split())
    assert "probe: run unwatched (" in said, said
    assert probe_of(work / "report.json")["outputs"] == told["outputs"], probe_of(work / "report.json")
    manifest = json.loads((work / "dump" / "manifest.json").read_text())
    manifest["probe"]["outputs"][0].update(result="different", relative=0.5, reason="planted")
    (work / "dump" / "manifest.json").write_text(json.dumps(manifest))
    said = " ".join(run(words).split())
    assert "is another result, by 5.0e-01 of its largest value (planted)" in said, said


def main():
    options = packages.begin("probe", RUNTIMES)
    allowed, work = RUNTIMES[options.runtime][3], options.folder
    model, own, onnx = network(options, work)
    environment = packages.environment(PYTHON, PLUMB_BIN_DIR=options.bin)
    again = AGAIN + (["--batch", "2"] if options.runtime != "ncnn" else [])
    done = subprocess.run([sys.executable, "-m", "plumb_golden", options.runtime, str(model), *map(str, own), "-o",
                           str(work / "dump"), "--prove-probe", *again], capture_output=True, text=True,
                          env=environment)
    assert done.returncode == 0 and "probe: run unwatched (" in done.stderr, done.stdout + done.stderr
    told = json.loads((work / "dump" / "manifest.json").read_text())["probe"]
    for output in told["outputs"]:
        print(f"{options.runtime} ({told['unwatched']}): '{output['blob']}' {output['result']}, {output['relative']}")
        assert output["result"] in allowed, output
    check_repeats(options.runtime, json.loads((work / "dump" / "manifest.json").read_text())["repeats"])
    if onnx is not None:
        check_report(options, work, onnx, own if options.runtime != "torch" else [], told)


if __name__ == "__main__":
    main()
