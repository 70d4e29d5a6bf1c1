# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's own operators (com.microsoft), one node per case: Plumb computes what ONNX Runtime computes, and
judges its dump operator by operator.

    microsoft_test.py --bin build/release/bin --work build/release/golden_test [--only NAME]
"""
import argparse
import contextlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[2] / "tools" / "python"
sys.path[:0] = [str(HERE), str(PYTHON)]
import packages  # noqa: E402

# What ONNX Runtime's CPU kernels do not run (it has no such kernel, or crashes), so that there is nothing to compare
# with; Plumb imports them.
NOT_ON_CPU = {"mha_packed_qkv": "packed QKV", "mha_packed_kv": "packed KV", "attention_no_bias": "SIGSEGV in 1.31",
              "qlinear_add_no_zero": "a type of zero point that is not there", "gqa_norm": "q_norm_weight",
              "nbits_8_64_float_zero": "float zero points", "nbits_8_40_float_zero": "float zero points"}
# What ONNX Runtime runs and Plumb refuses: the sentence says why.
REFUSED = {}


def output(op, name):
    """ONNX Runtime cannot infer the type of MultiHeadAttention's last one."""
    from onnx import TensorProto, helper
    if (op, name) == ("MultiHeadAttention", "o3"):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
    return helper.make_empty_tensor_value_info(name)


def build(path, name):
    import microsoft_cases
    import numpy as np
    from onnx import helper, numpy_helper, save
    op, inputs, wanted, domain, _, attributes = microsoft_cases.CASES[name]
    names, infos, constants, feeds = [], [], [], {}
    for i, value in enumerate(inputs):
        names.append("" if value is None else f"i{i}")
        if isinstance(value, microsoft_cases.Const):
            constants.append(numpy_helper.from_array(np.asarray(value.value, order="C"), f"i{i}"))
        elif value is not None:
            feeds[f"i{i}"] = np.asarray(value, order="C")
            infos.append(helper.make_tensor_value_info(f"i{i}", helper.np_dtype_to_tensor_dtype(value.dtype),
                                                       value.shape))
    outputs = [f"o{i}" if i in wanted else "" for i in range(max(wanted) + 1)]
    node = helper.make_node(op, names, outputs, name="the_node", domain=domain, **attributes)
    graph = helper.make_graph([node], "g", infos, [output(op, o) for o in outputs if o], constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return feeds


def onnxruntime_outputs(path, feeds):
    import onnxruntime
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    settings.intra_op_num_threads = 1
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    return {o.name: y for o, y in zip(session.get_outputs(), session.run(None, feeds))}


def difference(ours, theirs, slack):
    """"" when they agree: floats within `slack` of the largest, integers within one step in one of 20."""
    import numpy as np
    if ours.shape != theirs.shape:
        return f"shape {ours.shape}, expected {theirs.shape}"
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    off = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b))
    if np.issubdtype(theirs.dtype, np.floating):
        finite = b[np.isfinite(b) & (np.abs(b) < 1e30)]
        far = off.max(initial=0) / max(np.abs(finite).max(initial=0), 1e-30) if np.isfinite(off).all() else np.inf
        return "" if far <= slack else f"off by {far:.2g} of the largest value"
    if off.max(initial=0) <= 1 and (off != 0).mean() <= 0.05:
        return ""
    return f"off by {off.max():g}, {(off != 0).mean():.0%} of the values"


def check(options, name):
    """"" or what is wrong; and how many layers of ONNX Runtime's dump were judged."""
    import microsoft_cases
    import numpy as np
    from plumb_golden import cli
    work = options.work / "microsoft" / name
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    model = work / "m.onnx"
    feeds = build(model, name)
    theirs, why = None, ""
    try:
        if name not in NOT_ON_CPU:
            theirs = onnxruntime_outputs(model, feeds)
    except Exception as error:  # whatever it throws: it does not run the case
        why = str(error)
    np.savez(work / "in.npz", **feeds)
    given = ["-i", work / "in.npz"] if feeds else []
    done = subprocess.run([f"{options.bin}/model_run", "-m", model, "-d", "NAIVE", *given, "-o", work / "out.npz"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        return "refused: " + done.stderr.strip()[-600:]
    if theirs is None:
        return "" if name in NOT_ON_CPU else "ONNX Runtime: " + why[-400:]
    ours = np.load(work / "out.npz")
    for output, value in theirs.items():
        text = difference(ours[output], value, microsoft_cases.CASES[name][4])
        if text:
            return f"'{output}': {text}"
    words = ["onnx", str(model), "-q", "-o", str(work / "golden")] + (["-i", str(work / "in.npz")] if feeds else [])
    with contextlib.redirect_stdout(io.StringIO()):
        if cli.main(words) != 0:
            return "plumb_golden failed"
    report = work / "report.json"
    done = subprocess.run([f"{options.bin}/model_check", "-m", model, "-d", "X86", "--fallback", "--golden",
                           work / "golden", "--json", report],
                          capture_output=True, text=True)
    if done.returncode not in (0, 1) or not report.exists():
        return f"model_check: exit {done.returncode} {done.stderr.strip()[-400:]}"
    for run in json.loads(report.read_text())["runs"]:
        for layer in run["layers"]:
            if layer["verdict"] == "wrong":
                return f"{run['device']}: '{layer['name']}' is wrong: {layer.get('reason')}"
        if run["device"] == "golden" and all(layer["verdict"] != "aligned" for layer in run["layers"]):
            found = [(layer["verdict"], layer.get("reason")) for layer in run["layers"]]
            return f"golden: nothing is aligned: {found}"[:430]
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    packages.ensure(options.work / "onnxruntime", ["onnx", "onnxruntime", "numpy"], ["onnx", "onnxruntime"])
    os.environ["PYTHONPATH"] = str(PYTHON)
    import microsoft_cases
    names = [name for name in microsoft_cases.CASES if not options.only or name.startswith(options.only)]
    failed = {}
    for name in names:
        text = check(options, name)
        if name in REFUSED:
            refused = "refused" in text and REFUSED[name] in text
            text = "" if refused else f"is listed as refused ('{REFUSED[name]}'), found: {text or 'it runs'}"
        if text:
            failed[name] = text
            print(f"{name} ({microsoft_cases.CASES[name][0]}): {text}", flush=True)
    operators = {microsoft_cases.CASES[name][0] for name in names}
    bad = {microsoft_cases.CASES[name][0] for name in failed}
    print(f"{len(names) - len(failed)} of {len(names)} cases agree with ONNX Runtime; {len(operators - bad)} of "
          f"{len(operators)} operators in all of theirs")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
