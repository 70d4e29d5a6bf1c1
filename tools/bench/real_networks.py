#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times X86 beside other CPU runtimes on trained networks out of packages of PyPI, those of real_networks_test.py, in
interleaved rounds: least milliseconds, and the medians over the networks of each runtime's time over ours.

  tools/bench/real_networks.py --work FOLDER                 all networks, one thread, every runtime that is installed
  tools/bench/real_networks.py --work FOLDER --only magika --threads 2 --runtimes openvino
  PYTHONPATH=build/release/python tools/bench/real_networks.py --work FOLDER --executor ray --workers 8   on a cluster

The Python that runs it needs onnx, onnxruntime and numpy; openvino and MNN where they are to be timed. FOLDER keeps
the downloaded packages. A runtime that refuses a network, or computes other outputs, is left out there and named.
"""
import argparse
import functools
import importlib.util
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/tools/golden"))
from real_networks_test import NETWORKS, fetch  # noqa: E402


def onnxruntime_runner(model, feeds, threads, _work):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feeds)


def openvino_runner(model, feeds, threads, _work):
    import openvino
    core = openvino.Core()
    read = core.read_model(str(model))
    read.reshape({name: list(value.shape) for name, value in feeds.items()})
    compiled = core.compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY",
                                                "NUM_STREAMS": "1", "INFERENCE_NUM_THREADS": str(threads)})
    request = compiled.create_infer_request()
    outputs = [request.get_output_tensor(i) for i in range(len(compiled.outputs))]

    def run():
        request.infer(feeds, share_inputs=True)
        return [np.array(output.data) for output in outputs]
    return run


def mnn_runner(model, feeds, threads, work):
    import MNN
    import onnx
    converted = work / f"{model.stem}.mnn"
    convert = pathlib.Path(sys.executable).parent / "mnnconvert"
    subprocess.run([convert, "-f", "ONNX", "--modelFile", model, "--MNNModel", converted, "--bizCode", "MNN"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    names = [output.name for output in onnx.load(str(model)).graph.output]
    manager = MNN.nn.create_runtime_manager(({"backend": "CPU", "precision": "high", "numThread": threads},))
    module = MNN.nn.load_module_from_file(str(converted), list(feeds), names, runtime_manager=manager)
    given = []
    for value in feeds.values():
        narrow = value.astype(np.int32) if value.dtype == np.int64 else value
        given.append(MNN.expr.const(narrow, list(narrow.shape), MNN.expr.NCHW,
                                    MNN.expr.int if narrow.dtype == np.int32 else MNN.expr.float))
    return lambda: [np.array(output.read()) for output in module.forward(given)]


RUNTIMES = {"onnxruntime": onnxruntime_runner, "openvino": openvino_runner, "MNN": mnn_runner}


def draw(model, shapes, constants):
    """Inputs as model_run draws them in kind: uniform numbers, small integers."""
    import onnxruntime
    given = {text.rpartition("=")[0]: text.rpartition("=")[2] for text in shapes + constants}
    fixed = {text.rpartition("=")[0] for text in constants}
    rng, feeds = np.random.default_rng(1), {}
    for value in onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"]).get_inputs():
        kind = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}.get(value.type, np.float32)
        if value.name in fixed:
            shape = [d if isinstance(d, int) else 1 for d in value.shape]
            feeds[value.name] = np.full(shape, float(given[value.name]), kind)
            continue
        dims = given[value.name].split(",") if value.name in given else value.shape
        shape = [int(d) for d in dims]
        feeds[value.name] = rng.integers(0, 2, shape).astype(kind) if kind is not np.float32 \
            else rng.uniform(-1, 1, shape).astype(kind)
    return feeds


def least_ms(run, count):
    times = []
    for _ in range(count + 1):
        start = time.perf_counter()
        run()
        times.append(1e3 * (time.perf_counter() - start))
    return min(times[1:])


def alike(ours, theirs):
    return len(ours) == len(theirs) and all(
        np.abs(a.astype(float).ravel() - b.astype(float).ravel()).max(initial=0)
        <= 0.02 * max(np.abs(b.astype(float)).max(initial=0), 1e-30) for a, b in zip(theirs, ours))


def measure(options, name):
    package, file, shapes, constants, _ = NETWORKS[name]
    model = fetch(options.work, package, file)
    feeds = draw(model, shapes, constants)
    words = [f"{options.bin}/model_run", "-m", model, "-d", "X86", "--threads", options.threads, "-wc", 1, "-ic",
             options.count]
    words += [w for one in shapes for w in ("--shape", one)] + [w for one in constants for w in ("--constant", one)]
    runners, refused = {}, []
    for runtime in options.runtimes:
        try:
            run = RUNTIMES[runtime](model, feeds, options.threads, options.work)
            if runtime == "onnxruntime":
                expected = run()
            elif not alike(expected, run()):
                raise ValueError("computes something else")
            runners[runtime] = run
        except Exception as error:  # one network that fails must not end the run
            refused.append(f"{runtime}: {' '.join(str(error).split())[:60] or type(error).__name__}")
    least = {}
    for _ in range(options.rounds):
        for runtime, run in runners.items():
            least[runtime] = min(least.get(runtime, 1e9), least_ms(run, options.count))
            time.sleep(0.2)  # its threads turn on for tens of milliseconds
        done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
        found = re.search(r"min *= *([\d.]+)", done.stdout)
        if found is None:
            sys.exit(f"{' '.join(map(str, words))} exited with {done.returncode}: {done.stderr.strip()[-300:]}")
        least["plumb"] = min(least.get("plumb", 1e9), float(found.group(1)))
    return least, refused


def died(_name, why):
    return {}, [why]


def measured(options):
    """(name, what `measure` found), in the order of the names."""
    names = options.only.split(",")
    if options.executor == "loop":
        return ((name, measure(options, name)) for name in names)
    from plumbnn import _executors
    here = [str(ROOT / "test/tools/golden"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ["PYTHONPATH"] = os.pathsep.join(here)  # of workers
    work = functools.partial(measure, options)
    return zip(names, _executors.run(work, names, died, options.executor, options.workers))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", required=True, type=pathlib.Path, help="folder for the packages")
    parser.add_argument("--bin", default=ROOT / "build/release/bin", type=pathlib.Path, help="folder of model_run")
    parser.add_argument("--only", default=",".join(name for name, row in NETWORKS.items() if not row[4]))
    parser.add_argument("--runtimes", default=",".join(r for r in RUNTIMES if importlib.util.find_spec(r)),
                        help="onnxruntime, whose outputs the others' are compared with, is always among them")
    parser.add_argument("--threads", default=1, type=int)
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--count", default=10, type=int, help="timed runs a round")
    parser.add_argument("--executor", default="loop", choices=("loop", "processes", "ray"),
                        help="each network in a process of its own, here or on a Ray cluster (needs plumbnn)")
    parser.add_argument("--workers", default=1, type=int, help="more than one on a machine disturb each other")
    options = parser.parse_args()
    options.runtimes = ["onnxruntime", *(r for r in options.runtimes.split(",") if r != "onnxruntime")]
    unknown = set(options.runtimes) - set(RUNTIMES)
    if unknown:
        parser.error(f"--runtimes knows {', '.join(RUNTIMES)}, not {', '.join(sorted(unknown))}")
    sys.stdout = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # MNN tells of itself on standard output
    print(f"| network | {' | '.join(options.runtimes)} | Plumb | best / Plumb | left out |")
    print("|---" * (len(options.runtimes) + 4) + "|")
    ratios = {runtime: [] for runtime in [*options.runtimes, "best"]}
    for name, (least, refused) in measured(options):
        if not least:
            print(f"| {name} | {'; '.join(refused)} |", flush=True)
            continue
        ours = least.pop("plumb")
        for runtime, ms in least.items():
            ratios[runtime].append(ms / ours)
        best = min(least.values()) / ours if least else float("nan")
        ratios["best"].append(best)
        shown = [f"{least[r]:.2f}" if r in least else "" for r in options.runtimes]
        print(f"| {name} | {' | '.join(shown)} | {ours:.2f} | {best:.2f} | {'; '.join(refused)} |", flush=True)
    told = ", ".join(f"{runtime} {statistics.median(some):.2f} ({len(some)} networks)"
                     for runtime, some in ratios.items() if some)
    print(f"\nMedians of their time over Plumb's, {options.threads} thread(s): {told}")


if __name__ == "__main__":
    main()
