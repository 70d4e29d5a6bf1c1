# SPDX-License-Identifier: Apache-2.0
"""plumb-golden litert on a small network of images, integers and repeated names: which tensors, of which run, in which
order of dims, with which grid.

    recipe_test.py --bin build/release/bin --work build/release/golden_test
"""
import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[2] / "tools" / "python"
sys.path[:0] = [str(HERE), str(HERE.parent / "golden"), str(PYTHON)]
import packages  # noqa: E402

SAME, VALID = 0, 1


def network():
    """(the file's bytes, {what: index}): convolution, two results of one name, integers between, a product."""
    import numpy as np
    from lite import Network
    n, random = Network(), np.random.default_rng(3)
    x = n.input([1, 7, 7, 3])
    weight = n.constant("w", random.normal(0, 0.3, [4, 3, 3, 3]).astype(np.float32))
    bias = n.constant("b", np.zeros(4, np.float32))
    conv = n.op("CONV_2D", [x, weight, bias], [1, 3, 3, 4], options={"padding": VALID, "strideH": 2, "strideW": 2})
    relu = n.op("RELU", [conv], [1, 3, 3, 4])
    whole = n.op("QUANTIZE", [relu], [1, 3, 3, 4], "int8", scale=0.02, zero=-100)
    back = n.op("DEQUANTIZE", [whole], [1, 3, 3, 4], version=2)
    for tensor in (conv, relu):
        n.graph.tensors[tensor].name = "twice"
    flat = n.op("RESHAPE", [back, n.constant("flat", np.array([1, 36], np.int32))], [1, 36],
                options={"newShape": [1, 36]})
    rows = n.constant("rows", random.normal(0, 0.3, [5, 36]).astype(np.float32))
    y = n.op("FULLY_CONNECTED", [flat, rows, -1], [1, 5], options={"keepNumDims": False})
    return n.bytes([y]), {"x": x, "w": weight, "conv": conv, "relu": relu, "whole": whole, "flat": flat, "y": y}


class Dump:
    def __init__(self, work, *arguments):
        folder = work / "dump"
        command = [sys.executable, "-m", "plumb_golden", "litert", str(work / "net.tflite"), "-o", str(folder),
                   "--force", *arguments]
        self.run = subprocess.run(command, capture_output=True, text=True, env=packages.environment(PYTHON))
        self.code, self.files, self.folder = self.run.returncode, {}, folder
        if self.code == 0 and (folder / "manifest.json").exists():
            files = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["files"]
            self.files = {entry["blob"]: entry for entry in files}

    def value(self, blob):
        import numpy as np
        return np.load(self.folder / self.files[blob]["file"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    options = parser.parse_args()
    packages.ensure(options.work / "litert", ["ai-edge-litert==2.3.0", "numpy"], ["ai_edge_litert", "numpy"])
    import numpy as np
    work = options.work / "litert_recipe"
    work.mkdir(parents=True, exist_ok=True)
    content, index = network()
    (work / "net.tflite").write_bytes(content)
    failed = []

    def expect(holds, what, found=""):
        print(f"{'ok  ' if holds else 'FAIL'} {what} {'' if holds else found}")
        failed.extend([] if holds else [what])

    relu = f"twice#{index['relu']}"
    listed = Dump(work, "--list", "--json", "-").run.stdout
    rows = {row["index"]: row for row in json.loads(listed)}
    expect(rows[index["relu"]]["name"] == relu and rows[index["conv"]]["name"] == "twice", "names by index", listed)
    expect(rows[index["whole"]]["zero_point"] == [-100] and rows[index["whole"]]["dtype"] == "i8", "--list: the grid")
    whole = Dump(work)
    orders = {name: entry.get("order", "") for name, entry in whole.files.items()}
    kinds = {name: rows[i]["name"] for name, i in index.items()}
    expect([orders[kinds[k]] for k in ("x", "conv", "relu", "whole", "flat", "y")] == ["NHWC"] * 4 + ["", ""],
           "images are NHWC, rows are not", orders)
    grid = whole.files[kinds["whole"]]
    expect(grid["dtype"] == "i8" and grid["quantisation"]["zero_point"] == [-100], "integers stay integers", grid)
    two = Dump(work, "--tensors", f"{index['relu']},{index['w']}")
    expect(set(two.files) == {kinds["x"], relu, "w"} and two.files["w"]["constant"], "--tensors", list(two.files))
    for arguments in (["--kernels", "reference"], ["--kernels", "xnnpack"], ["--as-deployed"]):
        whole = Dump(work)
        plain = whole.value(kinds["conv"])
        other = Dump(work, *arguments)
        near = other.code == 0 and np.allclose(other.value(kinds["conv"]), plain, rtol=0, atol=1e-5)
        expect(near and set(other.files) == set(whole.files), " ".join(arguments), other.run.stderr)
    expect((work / "net.tflite").read_bytes() == content, "the file is as it was")
    wrong = Dump(work, "--tensors", "99")
    expect(wrong.code == 2 and "none is 99" in wrong.run.stderr, "an index that is not there", wrong.run.stderr)
    both = Dump(work, "--as-deployed", "--kernels", "xnnpack")
    expect(both.code == 2 and "give one of them" in both.run.stderr, "two ways at once", both.run.stderr)
    (work / "net.tflite").write_bytes(content[:len(content) // 2])
    cut = Dump(work, "--list")
    expect(cut.code == 2 and "Traceback" not in cut.run.stderr, "half a file", cut.run.stderr)
    print(f"{len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
