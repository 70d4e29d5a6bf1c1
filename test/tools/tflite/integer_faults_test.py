# SPDX-License-Identifier: Apache-2.0
"""Faults planted into the integers of .tflite networks (integer_faults.py), one operator at a time: what a faulty
kernel writes is handed on to LiteRT, whose dump is judged. Each fault has to be wrong at its operator alone.

    integer_faults_test.py --bin build/release/bin --work FOLDER [--only PART] [--types int8,uint8,int16]
        [--kernels reference,optimised,xnnpack]
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
        self.failed, self.unnamed = [], collections.Counter()
        self.kinds, self.planted, self.named, self.invisible = set(), 0, 0, 0

    def expect(self, condition, what, more=""):
        if not condition:
            self.failed.append(what)
            print(f"FAIL {what} {more}", flush=True)

    def take(self, options, fault, node, text, off, layers):
        """One fault of a node and what the report says of all layers."""
        wrong = [layer for layer in layers if layer["verdict"] == "wrong"]
        right = len(wrong) == 1 and [o["blob"] for o in wrong[0]["outputs"]] == [node.name]
        named = right and bool(re.search(fault.cause, wrong[0]["cause"]))
        self.kinds.add((node.kind, fault.what))
        self.planted, self.named = self.planted + 1, self.named + named
        if right and not named:
            self.unnamed[fault.what] += 1
        if options.verbose or not right or not named:
            where = [layer["name"] for layer in wrong]
            why = wrong[0]["cause"] or wrong[0]["reason"] if wrong else ""
            print(f"{'ok  ' if right else 'FAIL'} {'named' if named else '     '} {text} ({off} integers): "
                  f"{where if not right else ''} {why[:200]}", flush=True)
        if not right:
            self.failed.append(text)


def faulty(fault, plan, node, healthy, family):
    kind, call = plan.call(node, healthy, family)
    if fault.kernel.__code__.co_argcount - len(fault.kernel.__defaults__ or ()) == 3:
        return fault.kernel(call, kind, healthy[node])
    return fault.kernel(call, kind)


def differing(a, b):
    import numpy as np
    return int(np.count_nonzero(np.asarray(a).reshape(-1) != b.reshape(-1)))


def check_healthy(runs, what, count):
    """What NumPy's kernels make of the run, by name of node, where they are LiteRT's or their rules are accepted."""
    import integer_faults as faults
    bad = [layer["name"] for layer in runs.judged() if layer["verdict"] in ("wrong", "grey")]
    count.expect(not bad, f"{what}: healthy", f"{bad}")
    made = {}
    for node in runs.plan.nodes:
        kind, call = runs.plan.call(node.name, runs.healthy, runs.kernels)
        made[node.name] = faults.healthy(call, kind)
        if runs.kernels == "reference" and made[node.name] is not None:
            off = differing(made[node.name], runs.healthy[node.name])
            count.expect(off <= MAY_PASS, f"{what}, {node.name}: NumPy's kernel is not LiteRT's", f"{off} differ")
    return made


def check(options, runs, what, count):
    import integer_faults as faults
    import integer_faults_16  # noqa: F401, which adds its own
    import numpy as np
    made = check_healthy(runs, what, count)
    nodes = {n.name: n for n in runs.plan.nodes}
    for fault in faults.FAULTS:
        for node in fault.nodes if runs.plan.dtype in fault.types else ():
            text = f"{what}, {node}: {fault.what}"
            if node not in nodes or (options.only and not re.search(options.only, text)):
                continue
            integers = np.asarray(faulty(fault, runs.plan, node, runs.healthy, runs.kernels))
            integers = integers.reshape(runs.healthy[node].shape)
            off = min(differing(integers, right) for right in (runs.healthy[node], made[node]) if right is not None)
            if off <= MAY_PASS:
                count.invisible += 1
                continue
            count.take(options, fault, nodes[node], text, off, runs.with_fault(node, integers))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--types", default="int8,uint8,int16")
    parser.add_argument("--kernels", default="reference,optimised,xnnpack")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.work = options.work / "tflite_faults"
    options.work.mkdir(parents=True, exist_ok=True)
    packages.ensure(options.work / "litert", ["ai-edge-litert==2.3.0", "numpy"], ["ai_edge_litert", "numpy"])
    import integer_networks
    counts = {}
    for dtype in options.types.split(","):
        for kernels in options.kernels.split(","):
            count = counts[dtype, kernels] = Count()
            for name, build in integer_networks.NETWORKS.items():
                for ties in (False, True):
                    what = f"{name} {dtype}{', powers of two' if ties else ''}, {kernels}"
                    plan = build(dtype, ties)
                    if plan is not None:
                        check(options, Runs(options, plan, kernels), what, count)
    failed = [text for count in counts.values() for text in count.failed]
    for (dtype, kernels), count in counts.items():
        names = {what for _, what in count.kinds}
        print(f"{dtype}, {kernels} kernels: {count.planted} faults of {len(names)} kinds in "
              f"{len({kind for kind, _ in count.kinds})} operators, {count.named} named, {len(count.failed)} failed; "
              f"{count.invisible} change {MAY_PASS} integers at most")
        if not options.only and (len(names) < LEAST_KINDS or count.named < LEAST_NAMED * count.planted):
            failed.append(f"{dtype}, {kernels}: too few kinds or names")
    print("failed: " + "; ".join(failed[:20]) if failed else "each fault is wrong at its operator alone")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
