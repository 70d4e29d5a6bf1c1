#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""basic-pitch ships one network as .onnx and as .tflite. Each file judges what the other one's runtime computed on one
input: no layer is wrong and none is left out.

    pair_test.py --bin build/release/bin --work build/release/golden_test
"""
import argparse
import json
import pathlib
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "golden"), str(HERE.parents[2] / "tools" / "python")]
import packages  # noqa: E402

PACKAGE, FOLDER = "basic-pitch==0.4.0", "basic_pitch/saved_models/icassp_2022/"
INPUT, SAMPLES = "serving_default_input_2:0", 43844


def fetch(work):
    for path in work.glob("basic_pitch*.whl"):
        break
    else:
        done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(work), PACKAGE])
        if done.returncode != 0:
            packages.skip(f"pip cannot download {PACKAGE}")
        path = next(iter(work.glob("basic_pitch*.whl")))
    with zipfile.ZipFile(path) as wheel:
        for name in ("nmp.onnx", "nmp.tflite"):
            (work / name).write_bytes(wheel.read(FOLDER + name))


def judge(options, model, dump):
    report = options.work / "pair.json"
    subprocess.run([f"{options.bin}/model_check", "-m", str(model), "--subject", str(dump), "--json", str(report)],
                   capture_output=True, timeout=1200)
    run = json.loads(report.read_text())["runs"][0]
    verdicts = [layer["verdict"] for layer in run["layers"]]
    return {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    options = parser.parse_args()
    packages.ensure(options.work / "litert_and_onnx", ["ai-edge-litert", "onnx", "onnxruntime", "numpy"],
                    ["ai_edge_litert", "onnx", "onnxruntime", "numpy"])
    import numpy as np
    from plumb_golden import litert_golden, onnx_golden
    options.work = options.work / "pair"
    options.work.mkdir(parents=True, exist_ok=True)
    fetch(options.work)
    sound = options.work / f"{INPUT.replace(':', '_')}.npy"
    noise = np.random.default_rng(1).uniform(-1, 1, (1, SAMPLES, 1))
    np.save(sound, noise.astype(np.float32))
    given = [f"{INPUT}={sound}"]
    litert_golden.run(options.work / "nmp.tflite", options.work / "litert", input_files=given, force=True)
    onnx_golden.run(options.work / "nmp.onnx", options.work / "onnxruntime", input_files=given, force=True)
    failed = 0
    for model, dump in (("nmp.onnx", "litert"), ("nmp.tflite", "onnxruntime")):
        counts = judge(options, options.work / model, options.work / dump)
        print(f"{dump}'s tensors by {model}: {counts}")
        failed += counts.get("wrong", 0) > 0 or counts.get("not tested", 0) > 0 or counts.get("aligned", 0) < 150
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
