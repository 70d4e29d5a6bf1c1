# SPDX-License-Identifier: Apache-2.0
"""Faults planted into the integers of .tflite networks (integer_faults.py), one operator at a time: what a faulty
kernel writes is handed on to LiteRT, whose dump is judged. Each fault has to be wrong at its operator alone.

    integer_faults_test.py --bin build/release/bin --work FOLDER [--only PART] [--types int8,uint8]
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden"), str(HERE.parents[2] / "tools" / "python")]
import packages  # noqa: E402

# So many integers on the other side of a tie may be another kernel's.
MAY_PASS = 3
LEAST_KINDS, LEAST_NAMED = 80, 0.7


class Runs:
    """One network, healthy and with an operator cut out."""

    def __init__(self, options, plan, kernels):
        import numpy as np
        self.options, self.plan, self.kernels = options, plan, kernels
        self.path, self.cut = options.work / "faulty.tflite", options.work / "faulty_cut.tflite"
        content, _ = plan.build()
        self.path.write_bytes(content)
        limits = np.iinfo(plan.dtype)
        x = np.random.default_rng(1).integers(limits.min, limits.max + 1, plan.input[1]).astype(plan.dtype)
        self.healthy = self.dump(self.path, {"x": x})

    def dump(self, path, feeds):
        import numpy as np
        from plumb_golden import litert_golden
        given, folder = self.options.work / "faulty_feeds.npz", self.options.work / "faulty_dump"
        np.savez(given, **feeds)
        litert_golden.run(path, folder, input_files=[str(given)], force=True, kernels=self.kernels)
        manifest = json.loads((folder / "manifest.json").read_text())
        return {entry["blob"]: np.load(folder / entry["file"]) for entry in manifest["files"]}

    def with_fault(self, node, integers):
        content, _ = self.plan.build(cut=node)
        self.cut.write_bytes(content)
        self.dump(self.cut, {"x": self.healthy["x"], node: integers.astype(self.plan.dtype)})
        return self.judged()

    def judged(self):
        """The layers of the report on the last dump."""
        report = self.options.work / "faulty.json"
        report.unlink(missing_ok=True)
        done = subprocess.run([f"{self.options.bin}/model_check", "-m", str(self.path), "--subject",
                               str(self.options.work / "faulty_dump"), "--json", str(report)],
                              capture_output=True, text=True)
        assert report.exists(), done.stdout + done.stderr
        return json.loads(report.read_text())["runs"][0]["layers"]


class Count:
    def __init__(self):
        self.failed, self.missed, self.unnamed = [], collections.Counter(), collections.Counter()
        self.kinds, self.planted, self.named, self.invisible = set(), 0, 0, 0

    def expect(self, condition, what, more=""):
        if not condition:
            self.failed.append(what)
            print(f"FAIL {what} {more}", flush=True)


def faulty(fault, plan, node, healthy):
    kind, call = plan.call(node, healthy)
    if fault.kernel.__code__.co_argcount - len(fault.kernel.__defaults__ or ()) == 3:
        return fault.kernel(call, kind, healthy[node])
    return fault.kernel(call, kind)


def check(options, runs, what, count):
    import integer_faults as faults
    import numpy as np
    layers = runs.judged()
    bad = [layer["name"] for layer in layers if layer["verdict"] in ("wrong", "grey")]
    count.expect(not bad, f"{what}: healthy", f"{bad}")
    nodes = {n.name: n for n in runs.plan.nodes}
    for node in nodes.values():
        kind, call = runs.plan.call(node.name, runs.healthy)
        same = faults.healthy(call, kind)
        off = 0 if same is None else np.count_nonzero(same.reshape(-1) != runs.healthy[node.name].reshape(-1))
        count.expect(off <= MAY_PASS, f"{what}, {node.name}: NumPy's kernel is not LiteRT's", f"{off} differ")
    for fault in faults.FAULTS:
        for node in fault.nodes:
            text = f"{what}, {node}: {fault.what}"
            if node not in nodes or (options.only and not re.search(options.only, text)):
                continue
            integers = np.asarray(faulty(fault, runs.plan, node, runs.healthy)).reshape(runs.healthy[node].shape)
            differing = np.count_nonzero(integers != runs.healthy[node])
            if differing <= MAY_PASS:
                count.invisible += 1
                continue
            wrong = [layer for layer in runs.with_fault(node, integers) if layer["verdict"] == "wrong"]
            right = len(wrong) == 1 and [o["blob"] for o in wrong[0]["outputs"]] == [node]
            named = right and bool(re.search(fault.cause, wrong[0]["cause"]))
            count.kinds.add((nodes[node].kind, fault.what))
            count.planted, count.named = count.planted + 1, count.named + named
            if right and not named:
                count.unnamed[fault.what] += 1
            if options.verbose or not right or not named:
                where = [layer["name"] for layer in wrong]
                why = wrong[0]["cause"] or wrong[0]["reason"] if wrong else ""
                print(f"{'ok  ' if right else 'FAIL'} {'named' if named else '     '} {text} ({differing} integers): "
                      f"{where if not right else ''} {why[:200]}", flush=True)
            if not right:
                count.failed.append(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--types", default="int8,uint8")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.work = options.work / "tflite_faults"
    options.work.mkdir(parents=True, exist_ok=True)
    packages.ensure(options.work / "litert", ["ai-edge-litert==2.3.0", "numpy"], ["ai_edge_litert", "numpy"])
    import integer_networks
    count = Count()
    for dtype in options.types.split(","):
        for name, build in integer_networks.NETWORKS.items():
            for ties in (False, True):
                what = f"{name} {dtype}{', powers of two' if ties else ''}"
                plan = build(dtype, ties)
                if plan is not None:
                    check(options, Runs(options, plan, "reference"), what, count)
    names = {what for _, what in count.kinds}
    print(f"{count.planted} faults of {len(names)} kinds in {len({k for k, _ in count.kinds})} operators, "
          f"{count.named} named, {len(count.failed)} failed; {count.invisible} change {MAY_PASS} integers at most")
    whole = not options.only and options.types == "int8,uint8"
    if whole and (len(names) < LEAST_KINDS or count.named < LEAST_NAMED * count.planted):
        count.failed.append("too few kinds or names")
    print("failed: " + "; ".join(count.failed[:20]) if count.failed else "each fault is wrong at its operator alone")
    sys.exit(bool(count.failed))


if __name__ == "__main__":
    main()
