# SPDX-License-Identifier: Apache-2.0
"""Faults planted by editing an ONNX file, run by ONNX Runtime as the subject: each must be named at the right layer.
And healthy subjects: ONNX Runtime unoptimised, its optimised graphs, and inputs and outputs alone raise no fault.

    faults_test.py --bin build/release/bin --work build/release/golden_test
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools" / "python"))
import packages  # noqa: E402


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--only", default="")
    return parser.parse_args()


def model_check(o, model, *arguments):
    report = pathlib.Path(o.work) / "report.json"
    report.unlink(missing_ok=True)
    done = subprocess.run([f"{o.bin}/model_check", "-m", str(model), "--json", str(report), *map(str, arguments)],
                          capture_output=True, text=True)
    return done, json.loads(report.read_text()) if report.exists() else None


def run_subject(model, data, path, guilty):
    """All node outputs of the model in ONNX Runtime, unoptimised, as an .npz. What does not fit together any more
    because of another shape ends with the guilty node."""
    import onnx
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    try:
        run_nodes(whole, data, path)
    except Exception as error:  # ONNX Runtime's own classes derive from Exception only
        if "hape" not in str(error) and "imension" not in str(error):
            raise
        last = next(i for i, n in enumerate(model.graph.node) if guilty in n.output)
        del model.graph.node[last + 1:]
        del model.graph.output[:]
        run_nodes(model, data, path)


def run_nodes(model, data, path):
    import numpy as np
    import onnxruntime as ort
    names = [o for n in model.graph.node for o in n.output if o]
    have = {o.name for o in model.graph.output}
    for name in names:
        if name not in have:
            model.graph.output.add().name = name
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.intra_op_num_threads = 1
    settings.log_severity_level = 3
    session = ort.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    np.savez(path, data=data, **dict(zip(names, session.run(names, {"data": data}))))


def guilty_nodes(report):
    wrong = report["runs"][0]["first_wrong"]
    return wrong["nodes"] if wrong else []


def check_faults(o, build, healthy, data, faults, then=None):
    """`then` is done to the model after the fault was planted."""
    failed = []
    for name, guilty, edit in faults:
        if o.only and o.only not in f"{guilty}: {name}":
            continue
        model = build()
        edit(model)
        if then:
            then(model)
        subject = pathlib.Path(o.work) / "subject.npz"
        run_subject(model, data, subject, guilty)
        done, report = model_check(o, healthy, "--subject", subject)
        found = guilty_nodes(report) if report else []
        others = [layer["nodes"] for layer in report["runs"][0]["layers"]
                  if layer["verdict"] == "wrong"][1:] if report else []
        ok = done.returncode == 1 and found == [guilty] and not others
        print(f"{'ok  ' if ok else 'FAIL'} {guilty}: {name}: {found}" + (f", also {others}" if others else ""))
        if not ok:
            failed.append(f"{guilty}: {name}")
            print(done.stdout[-1500:] + done.stderr[-500:])
    return failed


def check_healthy(o, healthy, data):
    import numpy as np
    from plumb_golden.onnx_golden import run
    failed = []
    np.savez(pathlib.Path(o.work) / "input.npz", data=data)
    with tempfile.TemporaryDirectory(dir=o.work) as work:
        for level in (False, "basic", "extended", "all"):
            folder = pathlib.Path(work) / str(level)
            run(healthy, folder, input_files=[str(pathlib.Path(o.work) / "input.npz")], optimized=level)
            done, report = model_check(o, healthy, "--subject", folder)
            tested = sum(layer["verdict"] != "not tested" for layer in report["runs"][0]["layers"]) if report else 0
            print(f"{'ok  ' if done.returncode == 0 else 'FAIL'} healthy, optimised {level}: "
                  f"{done.stdout.strip().splitlines()[-1:]}")
            if done.returncode != 0 or tested == 0:
                failed.append(f"healthy {level}")
                print(done.stdout[-3000:] + done.stderr[-500:])
    return failed


def check_golden(o, healthy):
    """--golden onnxruntime in one go, and what it says where the package is missing."""
    root = pathlib.Path(__file__).resolve().parents[3]
    environment = {**os.environ, "PLUMB_PYTHON": sys.executable, "PYTHONPATH": str(root / "tools" / "python")}
    command = [f"{o.bin}/model_check", "-m", str(healthy), "-d", "X86", "--golden", "onnxruntime"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    ok = done.returncode == 0 and "conversion: the golden computed every layer" in done.stdout
    print(f"{'ok  ' if ok else 'FAIL'} --golden onnxruntime: {done.stdout.strip().splitlines()[-1:]}")
    missing = subprocess.run(command, capture_output=True, text=True,
                             env={**environment, "PLUMB_PYTHON": "/nonexistent/python"})
    told = missing.returncode == 2 and "platforms/linux/run.sh" in missing.stderr
    print(f"{'ok  ' if told else 'FAIL'} without the package: {missing.stderr.strip().splitlines()[-1:]}")
    return ([] if ok else ["--golden onnxruntime"]) + ([] if told else ["no package"])


def check_half(o, build, healthy, data):
    """The same network stored in fp16: found for the whole subject, healthy, and faults in it named."""
    import numpy as np
    from faults import HALF_FAULTS, store_as_half
    data = data.astype(np.float16).astype(np.float32)
    model = build()
    store_as_half(model)
    subject = pathlib.Path(o.work) / "subject.npz"
    run_subject(model, data, subject, "prob")
    done, _ = model_check(o, healthy, "--subject", subject)
    ok = done.returncode == 0 and "arithmetic fp16 (found" in done.stdout
    print(f"{'ok  ' if ok else 'FAIL'} healthy, stored as fp16: {done.stdout.strip().splitlines()[-1:]}")
    if not ok:
        print(done.stdout[-4000:] + done.stderr[-500:])
    return ([] if ok else ["healthy fp16"]) + check_faults(o, build, healthy, data, HALF_FAULTS, store_as_half)


def make_half(model):
    """A real fp16 network between f32 inputs and outputs: ONNX Runtime on CPUs computes chains of it in f32."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper
    graph = model.graph
    scales = {node.input[2] for node in graph.node if node.op_type == "Resize"}
    for weight in graph.initializer:
        if weight.data_type == TensorProto.FLOAT and weight.name not in scales:
            weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight).astype(np.float16), weight.name))
    for node in graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = "data_half" if name == "data" else name
        for i, name in enumerate(node.output):
            node.output[i] = "prob_half" if name == "prob" else name
    graph.node.insert(0, helper.make_node("Cast", ["data"], ["data_half"], name="data_half", to=TensorProto.FLOAT16))
    graph.node.append(helper.make_node("Cast", ["prob_half"], ["prob"], name="prob_cast", to=TensorProto.FLOAT))


def check_real_half(o, build, healthy, data):
    model = build()
    make_half(model)
    subject = pathlib.Path(o.work) / "subject.npz"
    run_subject(model, data, subject, "prob")
    done, _ = model_check(o, healthy, "--subject", subject)
    ok = done.returncode == 0 and "arithmetic fp16+f32-chains (found" in done.stdout
    print(f"{'ok  ' if ok else 'FAIL'} healthy, an fp16 network: {done.stdout.strip().splitlines()[-1:]}")
    if not ok:
        print(done.stdout[-4000:] + done.stderr[-500:])
    return [] if ok else ["healthy fp16 network"]


def main():
    o = options()
    pathlib.Path(o.work).mkdir(parents=True, exist_ok=True)
    packages.ensure(pathlib.Path(o.work) / "venv", ["numpy", "onnx", "onnxruntime"], ["numpy", "onnx", "onnxruntime"])
    import numpy as np
    import onnx
    from faults import FAULTS, RESIZE_FAULTS
    from network import SIZE, build
    healthy = pathlib.Path(o.work) / "healthy.onnx"
    onnx.save(build(), healthy)
    done, _ = model_check(o, healthy, "-d", "NAIVE")
    with_resize = done.returncode == 0
    if not with_resize and "Resize" not in done.stderr:
        sys.exit(f"the healthy model does not run:\n{done.stdout[-2000:]}{done.stderr}")
    if not with_resize:
        print("the importer has no Resize: its faults are left out")
        onnx.save(build(False), healthy)
    data = np.random.default_rng(3).uniform(-1, 1, (1, 3, SIZE, SIZE)).astype(np.float32)
    faults = FAULTS + (RESIZE_FAULTS if with_resize else [])
    failed = check_healthy(o, healthy, data) + check_faults(o, lambda: build(with_resize), healthy, data, faults)
    failed += check_golden(o, healthy)
    failed += check_half(o, lambda: build(with_resize), healthy, data)
    failed += check_real_half(o, lambda: build(with_resize), healthy, data)
    print(f"{len(faults)} faults planted, 8 more under fp16 storage; {len(failed)} checks failed: {failed}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
