# SPDX-License-Identifier: Apache-2.0
"""Faults planted into seven runtimes and the networks of ../campaign/zoo.py, each reduced by model_reduce: how many
reduced cases are still wrong in that runtime and right without the fault, of how many nodes, in what time.

    campaign_test.py --bin build/release/bin --work build/release/golden_test [--count 200 --only mnn --resume]
    campaign_test.py --bin build/release/bin --work W --model resnet50.onnx --only onnxruntime --count 5

A case counts when the check of the whole network says that it is wrong. Where the runtime cannot run the planted
network, or the check finds nothing wrong, another fault is drawn; both are counted and printed.
"""
import argparse
import collections
import json
import pathlib
import random
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "campaign"), str(HERE.parent / "golden")]
import packages  # noqa: E402

FEWEST_STILL_WRONG, MOST_NODES = 0.9, 2
NETWORKS = ("resnet", "mobilenet_v3", "bert", "gpt", "yolo", "detection", "lstm", "unet", "shufflenet", "style", "fpn",
            "convnext", "efficientnet", "squeezenet", "face", "inception")
# runtime: its packages of PyPI and modules, beyond those of all
RUNTIMES = {"onnxruntime": ([], []), "openvino": (["openvino"], ["openvino"]), "mnn": (["MNN"], ["MNN"]),
            "ncnn": (["ncnn", "pnnx"], ["ncnn", "pnnx"]), "torch": (["onnx2torch"], ["onnx2torch"]),
            "tract": (["tract"], ["tract"]), "opencv": (["opencv-python-headless"], ["cv2"])}
# How a whole network is computed, which a check may find and call right.
ARITHMETIC = re.compile(r"f16|fp8|int8|int4|tf32|mantissa|dropout|as in training")


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60, help="of model_reduce, for each case")
    parser.add_argument("--only", default="", help="these runtimes, separated by commas")
    parser.add_argument("--model", type=pathlib.Path, help="this .onnx in place of the networks")
    parser.add_argument("--resume", action="store_true", help="go on behind the results of the last call")
    parser.add_argument("--until", type=float, default=1e9, help="begin no case after so many seconds")
    return parser.parse_args()


class Runtime:
    """serve.py, started again where it crashed."""

    def __init__(self, name, work):
        self.name, self.socket = name, work / f"{name}.socket"
        self.log = open(work / f"{name}.log", "w")
        self.process = None

    def start(self):
        if self.process is not None and self.process.poll() is None:
            return
        self.socket.unlink(missing_ok=True)
        self.process = subprocess.Popen([sys.executable, str(HERE / "serve.py"), self.name, str(self.socket)],
                                        stdout=self.log, stderr=self.log)
        while not self.socket.exists() and self.process.poll() is None:
            time.sleep(0.05)

    def command(self, fault, model="{model}", inputs="{inputs}", dump="{dump}"):
        # Where it crashed, the next one finds it started again.
        return f"{sys.executable} -S -E {HERE / 'ask.py'} {self.socket} {shlex.quote(fault)} {model} {inputs} {dump}"

    def close(self):
        if self.process is not None:
            self.process.terminate()
            self.process.wait()


def verdict(o, runtime, fault, model, inputs, folder):
    """The last line of a check of what the runtime computes, or why it computes nothing."""
    runtime.start()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    ran = subprocess.run(runtime.command(fault, model, inputs, folder), shell=True, capture_output=True, text=True)
    if ran.returncode != 0:
        return "cannot run: " + ran.stderr.strip()[-150:]
    done = subprocess.run([f"{o.bin}/model_check", "-m", str(model), "-i", str(inputs), "--subject", str(folder),
                           "--quiet"], capture_output=True, text=True)
    return (done.stdout.strip() or done.stderr.strip()).splitlines()[-1]


def faults_of(model):
    """Those that find what they need in the model, without those of arithmetic."""
    import onnx
    import mutations
    import serve
    model = onnx.shape_inference.infer_shapes(model)
    found = {f"together: {name}" for name in serve.TOGETHER}
    for node in model.graph.node:
        for name, _, _ in mutations.candidates(node.op_type):
            if not ARITHMETIC.search(name):
                found.add(f"{node.op_type}|{name}|{serve.signature(model, node)}")
    made = []
    for fault in sorted(found):
        planted = onnx.ModelProto()
        planted.CopyFrom(model)
        if serve.plant(planted, fault) and planted.graph != model.graph:
            made.append(fault)
    return made


def kind_of(fault):
    """Operator and mutation."""
    return tuple(fault.split("|")[:2])


def draw(runtime, faults, used, rng):
    """The next (network, fault) of a runtime: of those networks and kinds that came least often, and of two nodes."""
    def weight(place):
        network, fault = place
        return used[kind_of(fault)] + used[runtime, network] - fault.startswith("together"), rng.random()
    return min(((network, fault) for network, some in faults.items() for fault in some
                if (runtime, network, fault) not in used), key=weight, default=None)


def reduce(o, runtime, network, fault, folder):
    """A row of the results."""
    row = {"runtime": runtime.name, "network": network, "fault": fault, "seconds": 0.0}
    model, inputs = o.work / f"{network}.onnx", o.work / f"{network}.npz"
    runtime.start()
    begin = time.time()
    done = subprocess.run([f"{o.bin}/model_reduce", "-m", str(model), "-i", str(inputs), "-o", str(folder),
                           "--max-cases", "1", "--seconds", str(o.seconds), "--json", f"{folder}.jsonl", "--run",
                           runtime.command(fault)], capture_output=True, text=True)
    row["seconds"] = round(time.time() - begin, 1)
    if done.returncode not in (0, 1):
        return {**row, "outcome": "cannot run", "why": (done.stderr.strip() or "crashed")[-200:]}
    cases = [one for one in map(json.loads, pathlib.Path(f"{folder}.jsonl").read_text().splitlines())
             if "reduced" in one]
    if not cases:
        return {**row, "outcome": "nothing wrong"}
    row.update({key: cases[0][key] for key in ("layer", "type", "nodes", "all_layers", "inputs", "E", "in_time",
                                               "needed_before", "needed_behind")})
    if not cases[0]["reduced"]:
        return {**row, "outcome": "not reduced"}
    with_it, without = (verdict(o, runtime, planted, folder / "case-1" / "model.onnx", folder / "case-1" / "inputs.npz",
                                folder / "again") for planted in (fault, "none"))
    still = with_it.startswith("FAILED") and not without.startswith(("FAILED", "cannot"))
    return {**row, "outcome": "still wrong" if still else "not wrong again", "why": "" if still else
            f"with it: {with_it}; without: {without}"}


def prepare(o):
    """{network: its faults}"""
    import numpy as np
    import onnx
    import zoo
    faults = {}
    models = {network: zoo.build(network) for network in NETWORKS} if o.model is None else {
        o.model.stem: onnx.load(o.model)}
    for network, model in models.items():
        onnx.save(model, o.work / f"{network}.onnx")
        np.savez(o.work / f"{network}.npz", **zoo.inputs(model))
        faults[network] = faults_of(model)
    return faults


def is_healthy(o, runtime, network):
    """Whether the runtime computes it rightly when nothing is planted."""
    said = verdict(o, runtime, "none", o.work / f"{network}.onnx", o.work / f"{network}.npz", o.work / "healthy")
    if said.startswith(("ALIGNED", "GREY")):
        return True
    print(f"left out: {network} in {runtime.name} with nothing planted: {said[:150]}", flush=True)
    return False


def run_all(o, runtimes, rows, keep):
    begin, faults = time.time(), prepare(o)
    left, healthy = {name: dict(faults) for name in runtimes}, {(row["runtime"], row["network"]) for row in rows}
    used, rng = collections.Counter(), random.Random(1)
    for row in rows:
        note(used, row)
    while sum(map(is_case, rows)) < o.count and time.time() - begin < o.until:
        name = min(runtimes, key=lambda name: sum(is_case(row) and row["runtime"] == name for row in rows))
        place = draw(name, left[name], used, rng)
        if place is None:
            print(f"{name} has no more faults to draw")
            break
        if (name, place[0]) not in healthy and not is_healthy(o, runtimes[name], place[0]):
            del left[name][place[0]]
            continue
        healthy.add((name, place[0]))
        row = reduce(o, runtimes[name], *place, o.work / f"{name}-{len(rows)}")
        note(used, row)
        rows.append(row)
        keep(row)


def note(used, row):
    fault = row["fault"]
    used[row["runtime"], row["network"], fault] += 1
    used[row["runtime"], row["network"]] += 1
    used[kind_of(fault)] += 1


def is_case(row):
    return row["outcome"] not in ("cannot run", "nothing wrong")


def table(rows):
    text = "runtime      cases  still wrong  nodes: median, most  seconds: median, most  nothing wrong  cannot run\n"
    for name in [*RUNTIMES, "all"]:
        mine = [row for row in rows if name in (row["runtime"], "all")]
        cases = [row for row in mine if is_case(row)]
        wrong = [row for row in cases if row["outcome"] == "still wrong"]
        if not wrong:
            continue
        nodes, seconds = [row["nodes"] for row in wrong], [row["seconds"] for row in cases]
        count = collections.Counter(row["outcome"] for row in mine)
        text += (f"{name:12} {len(cases):5}  {len(wrong):4} {len(wrong) / len(cases):6.0%}  "
                 f"{statistics.median(nodes):13g} {max(nodes):5}  "
                 f"{statistics.median(seconds):15.1f} {max(seconds):6.1f}  "
                 f"{count['nothing wrong']:13}  {count['cannot run']:10}\n")
    return text


def main():
    o = options()
    wanted = ["numpy", "onnx", "onnxruntime"]
    packages.ensure(o.work / "reduce_campaign", wanted, wanted)
    names = [name for name in RUNTIMES if not o.only or name in o.only.split(",")]
    for name in list(names):
        lacks = packages.more(o.work / "reduce_campaign", *RUNTIMES[name]) if RUNTIMES[name][0] else ""
        if lacks:
            print(f"left out: {name}: {lacks}")
            names.remove(name)
    o.work = (o.work / "reduce_planted").absolute()
    if not o.resume:
        shutil.rmtree(o.work, ignore_errors=True)
    o.work.mkdir(parents=True, exist_ok=True)
    results = o.work / "results.jsonl"
    rows = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    runtimes = {name: Runtime(name, o.work) for name in names}

    def keep(row):
        with open(results, "a") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{row['outcome']:14} {row['runtime']} {row['network']} {row['fault']}: {row['seconds']} s, "
              f"{row.get('nodes', 0)} nodes {row.get('why', '')}", flush=True)
    try:
        run_all(o, runtimes, rows, keep)
    finally:
        for runtime in runtimes.values():
            runtime.close()
    print(table(rows), end="")
    cases = [row for row in rows if is_case(row)]
    wrong = [row["nodes"] for row in cases if row["outcome"] == "still wrong"]
    print(f"{len({(r['runtime'], r['network'], r['fault']) for r in cases})} distinct cases, {len(wrong)} still wrong")
    short = not o.only and len(cases) < o.count
    few = len(wrong) < FEWEST_STILL_WRONG * len(cases) or statistics.median(wrong or [99]) > MOST_NODES
    return 1 if short or few else 0


if __name__ == "__main__":
    sys.exit(main())
