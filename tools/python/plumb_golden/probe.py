# SPDX-License-Identifier: Apache-2.0
"""--prove-probe: whether being watched changes what a runtime computes. The network's outputs of a run that exposed
nothing else stand beside those of the dump; equal bits need no measure, for others blob_diff has one. The command
`probe` notes the same in a dump that a program wrote through plumb_dump.h."""
import json
import pathlib
import subprocess
import tempfile

import numpy as np

from .draw import plumb_tool
from .files import write_text
from .folder import UsageError, to_text
from .foreign import read_tensors

RESULTS = ("same bits", "within rounding", "different")  # plumb/check.h


def prove(folder, unwatched, outputs):
    """Notes in the Folder what became of its network outputs. unwatched: how that run was made, for the report;
    outputs: {name: array} of it, on the same input."""
    written = {entry["blob"]: entry for entry in folder.files}
    lost = sorted(set(outputs) - set(written))
    if lost or not outputs:
        raise UsageError(f"--prove-probe: the dump lacks the network outputs {lost}, so there is nothing to compare")
    found = [compare(name, folder.path / written[name]["file"], np.asarray(array)) for name, array in outputs.items()]
    folder.probe = {"unwatched": unwatched, "outputs": found}


class WrittenDump:
    """A dump folder that is there, to note an answer in."""
    repeats = ()

    def __init__(self, path):
        self.path = pathlib.Path(path)
        manifest = self.path / "manifest.json"
        if not manifest.is_file():
            raise UsageError(f"there is no dump in '{path}': it has no manifest.json (plumb_dump_close writes it)")
        try:
            self.manifest = json.loads(manifest.read_text(encoding="utf-8"))
            self.files = [entry for entry in self.manifest["files"] if isinstance(entry["blob"], str)]
            strange = [entry["file"] for entry in self.files if pathlib.Path(entry["file"]).name != entry["file"]]
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"'{manifest}' is no manifest of a dump ({type(error).__name__}: {error})") from None
        if strange:
            raise UsageError(f"'{manifest}': the file '{strange[0]}' is outside of the folder")
        device = self.manifest.get("device")
        self.device = device.get("name", "") if isinstance(device, dict) else ""
        self.probe, self.notes, self.lost = None, [], []

    def finish(self):
        write_text(self.path / "manifest.json", to_text({**self.manifest, "probe": self.probe}))

    def summary(self):
        return f"noted in {self.path / 'manifest.json'}; model_check --subject {self.path} repeats it"


def note(path, outputs_file, unwatched):
    """The command `probe`: outputs_file holds the outputs of a run of the same program that dumped nothing."""
    dump = WrittenDump(path)
    outputs = read_tensors(outputs_file)
    known = {entry["blob"] for entry in dump.files}
    for name in sorted(set(outputs) - known):
        near = ", ".join(f"'{known_name}'" for known_name in sorted(known)[-3:])
        raise UsageError(f"'{outputs_file}' has a tensor '{name}', which the dump in '{path}' has not (it has {near} "
                         f"...); name the arrays as the dump's manifest names the blobs")
    prove(dump, unwatched, outputs)
    dump.finish()
    return dump


def compare(name, file, array):
    if file.suffix != ".npy":
        raise UsageError(f"'{file}' is no .npy; dump with DUMP_BLOB_FORMAT=npy")
    watched = read_tensors(file)[""]
    if array.dtype == object:  # a recipe has no values in the model's shape
        return {"blob": name, "result": RESULTS[2], "relative": None, "reason": "of another shape unwatched"}
    if watched.shape == array.shape and watched.dtype == array.dtype and watched.tobytes() == array.tobytes():
        return {"blob": name, "result": RESULTS[0], "relative": 0.0, "reason": ""}
    with tempfile.TemporaryDirectory(prefix="plumb_golden_") as work:
        other = pathlib.Path(work) / "unwatched.npy"
        np.save(other, array)
        pair, rule = difference(file, other)
    reason = f"{pair['reason']}; {rule}" if pair["verdict"] != "aligned" else ""
    if watched.shape != array.shape:
        reason = f"shape {list(watched.shape)} watched, {list(array.shape)} unwatched"
    extremes = [abs(pair["b"][key]) for key in ("min", "max") if isinstance(pair["b"][key], (int, float))]
    largest = max(extremes, default=0)
    known = isinstance(pair["max_abs"], (int, float)) and largest > 0
    return {"blob": name, "result": RESULTS[2 if reason else 1],
            "relative": pair["max_abs"] / largest if known else None, "reason": reason}


def difference(watched, unwatched):
    """blob_diff's pair, and its rule."""
    tool = plumb_tool("blob_diff")
    if tool is None:
        raise UsageError("--prove-probe: the outputs differ when nobody watches, and blob_diff, which measures by how "
                         "much, is not found; put Plumb's tools on the path or set PLUMB_BIN_DIR")
    with tempfile.TemporaryDirectory(prefix="plumb_golden_") as work:
        report = pathlib.Path(work) / "diff.json"
        done = subprocess.run([tool, "--quiet", str(watched), str(unwatched), "--json", str(report)],
                              capture_output=True, text=True)
        if not report.exists():
            raise UsageError(f"--prove-probe: blob_diff cannot compare the outputs: {done.stderr.strip()}")
        told = json.loads(report.read_text(encoding="utf-8"))
    return told["pairs"][0], told["rule"]


def sentence(probe):
    """Of one run, for the last lines of the command."""
    counts = {result: sum(one["result"] == result for one in probe["outputs"]) for result in RESULTS}
    return f"probe: run unwatched ({probe['unwatched']}), of {len(probe['outputs'])} outputs " + ", ".join(
        f"{count} {result}" for result, count in counts.items() if count)
