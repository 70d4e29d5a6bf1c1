# SPDX-License-Identifier: Apache-2.0
"""model_check --subject without -m: dumps of ggml's CPU backend that carry their own graph. Healthy networks of each
type of weights are aligned in every layer; a planted fault is named at its node.

    ggml_graph_test.py --bin build/release/bin --work build/release/golden_test ggml
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE.parent / name) for name in ("hooks", "golden")] + [str(ROOT / "tools" / "python")]
import ggml_build  # noqa: E402
import packages  # noqa: E402

HEALTHY = [("mlp", "f32"), *(("llama", kind) for kind in (
    "f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "iq4_nl",
    "iq4_xs")), ("rows", "f16"),
           *((kind, weights) for kind in ("experts", "few") for weights in ("f32", "f16", "q8_0", "q4_1", "q4_K")),
           ("images", "f32"), ("images", "f16"), ("states", "f32"), ("elements", "f32"),
           ("flash32", "q8_0"), ("flash16", "q8_0"), ("tiles", "f16"), ("parts", "f16")]
# network, weights, fault: the node that must be named.
CAUSES = {"keys": "differs: they are 0", "weights": "one element further along axis 2"}  # by the node
FAULTS = {("llama", "f32", "rope"): "k_rope", ("llama", "f16", "mask"): "weights", ("llama", "q4_0", "stale"): "keys",
          ("rows", "f16", "stale"): "keys", ("flash16", "f16", "stale"): "keys",
          **{(kind, "f16", fault): "attended" for kind in ("flash16", "tiles") for fault in ("mask", "row")},
          ("parts", "f16", "row"): "attended",
          ("experts", "f32", "gain"): "down", ("few", "q4_K", "gain"): "down", ("experts", "f32", "places"): "scores",
          ("experts", "f32", "order"): "node_3", ("experts", "f32", "top"): "top",
          **{("llama", kind, "block"): "up" for kind in ("q8_0", "q4_0", "q4_1", "q2_K", "q3_K", "q4_K", "q6_K",
                                                            "iq4_xs")}}


class Test:
    def __init__(self, options):
        compiler = os.environ.get("CC") or shutil.which("gcc") or packages.skip("there is no gcc here")
        self.options, self.folder = options, options.folder
        self.program = ggml_build.program(options.work / "ggml_source", ROOT, compiler, "ggml/ggml_networks.c")

    def dump(self, *words, **environment):
        folder = self.folder / "_".join(words + tuple(environment))
        done = subprocess.run([self.program, *words], capture_output=True, text=True,
                              env={**os.environ, "DUMP_INPUT_BLOB": "1", "DUMP_OUTPUT_BLOB": "1",
                                   "DUMP_BLOB_DIR": str(folder), **environment})
        assert done.returncode == 0, done.stderr
        return folder

    def check(self, folder):
        report = folder / "report.json"
        done = subprocess.run([f"{self.options.bin}/model_check", "--subject", folder, "--json", report],
                              capture_output=True, text=True)
        print(f"{folder.name}: {done.stdout.splitlines()[-1:]}")
        runs = json.loads(report.read_text())["runs"] if done.returncode != 2 else []
        return done, runs[0]["layers"] if runs else []


def main():
    test = Test(packages.begin("ggml_graph", {"ggml": (["numpy"], ["numpy"])}))
    for words in HEALTHY:
        done, layers = test.check(test.dump(*words, "none"))
        assert done.returncode == 0, done.stdout + done.stderr
        assert layers and all(layer["verdict"] == "aligned" for layer in layers), done.stdout
    for words, node in FAULTS.items():
        done, layers = test.check(test.dump(*words))
        wrong = [layer["name"] for layer in layers if layer["verdict"] == "wrong"]
        assert done.returncode == 1 and wrong == [node], (wrong, done.stdout)
        cause = CAUSES.get(node, "the weights 0 to" if words[1] in ("q8_0", "q4_0", "q6_K") else "")
        reason = next(layer["reason"] for layer in layers if layer["verdict"] == "wrong")
        assert cause in reason, reason
    # An operator that Plumb has not is said, and all else is judged.
    done, layers = test.check(test.dump("others", "f32", "none"))
    untested = {layer["name"]: layer["reason"] for layer in layers if layer["verdict"] != "aligned"}
    assert done.returncode == 0 and list(untested) == ["rolled"], (untested, done.stdout)
    assert "no operator for ggml's ROLL" in untested["rolled"], untested
    # The output of what is not known is no result.
    done, layers = test.check(test.dump("llama", "tq2_0", "none"))
    assert done.returncode == 1 and "'logits' was not compared" in done.stdout, done.stdout
    # Without what the layers read there is no graph to judge.
    done, _ = test.check(test.dump("mlp", "f32", "none", DUMP_INPUT_BLOB="0"))
    assert done.returncode == 2 and "dump with DUMP_INPUT_BLOB=1" in done.stderr, done.stderr


if __name__ == "__main__":
    main()
