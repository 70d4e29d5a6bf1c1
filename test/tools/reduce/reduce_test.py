# SPDX-License-Identifier: Apache-2.0
"""Faults planted into ONNX Runtime (planted.py), reduced by model_reduce: each case is still wrong there, by the
verdict of model_check, and of two nodes at the median.

    reduce_test.py --bin build/release/bin --work build/release/golden_test
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "golden"))
import packages  # noqa: E402


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--only", default="")
    return parser.parse_args()


def command_of(fault, model, inputs, dump):
    return f"{sys.executable} {HERE / 'planted.py'} '{fault}' {model} {inputs} {dump}"


def reduce(o, model, fault, folder):
    lines = folder.with_suffix(".jsonl")
    begin = time.time()
    done = subprocess.run([f"{o.bin}/model_reduce", "-m", str(model), "-o", str(folder), "--max-cases", "2",
                           "--json", str(lines), "--run", command_of(fault, "{model}", "{inputs}", "{dump}")],
                          capture_output=True, text=True)
    cases = []
    if done.returncode in (0, 1):
        cases = [one for one in map(json.loads, lines.read_text().splitlines()) if "reduced" in one]
    return done, cases, time.time() - begin


def still_wrong(o, fault, case):
    """In ONNX Runtime with the fault, and right without it."""
    verdicts = []
    for planted in (fault, "none"):
        dump = case / f"again {len(verdicts)}"
        dump.mkdir(exist_ok=True)
        command = command_of(planted, case / "model.onnx", case / "inputs.npz", f"'{dump}'")
        subprocess.run(command, shell=True, check=True)
        done = subprocess.run([f"{o.bin}/model_check", "-m", str(case / "model.onnx"), "-i", str(case / "inputs.npz"),
                               "--subject", str(dump), "--quiet"], capture_output=True, text=True)
        verdicts.append(done.stdout.strip().splitlines()[-1].split(":")[0])
    return verdicts[0] == "FAILED" and verdicts[1] in ("ALIGNED", "GREY")


def main():
    o = options()
    wanted = ["numpy", "onnx", "onnxruntime"]
    packages.ensure(pathlib.Path(o.work) / "venv", wanted, wanted)
    import network
    import onnx
    import planted
    work = pathlib.Path(o.work) / "reduce"
    work.mkdir(parents=True, exist_ok=True)
    model = work / "network.onnx"
    onnx.save(network.build(), model)
    failed, nodes, seconds = [], [], []
    for fault in planted.FAULTS:
        if o.only not in fault or fault == "none":
            continue
        done, cases, took = reduce(o, model, fault, work / fault.replace(" ", "_"))
        shown = [c for c in cases if c["reduced"] and still_wrong(o, fault, pathlib.Path(c["folder"]))]
        ok = bool(cases) and len(shown) == len(cases)
        nodes += [c["nodes"] for c in shown]
        seconds.append(took)
        print(f"{'ok  ' if ok else 'FAIL'} {fault}: {took:.0f} s, " + "; ".join(
            f"{c['layer']}: {c['nodes']} nodes, {c['inputs']}, before {c['needed_before']}" for c in cases), flush=True)
        if not ok:
            failed.append(fault)
            print(done.stdout[-3000:] + done.stderr[-2000:])
    if not o.only:
        done, cases, _ = reduce(o, model, "none", work / "none")
        print(f"{'ok  ' if done.returncode == 1 and not cases else 'FAIL'} nothing planted: {done.stdout.strip()}")
        if done.returncode != 1 or cases:
            failed.append("none")
    median = statistics.median(nodes) if nodes else 99
    print(f"{len(nodes)} cases still wrong, median {median} nodes, {statistics.median(seconds):.0f} s a fault")
    return 1 if failed or median > 2 else 0


if __name__ == "__main__":
    sys.exit(main())
