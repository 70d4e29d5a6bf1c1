# SPDX-License-Identifier: Apache-2.0
"""Writes Apple's NAME.aimodelintermediates, which Core AI Debugger opens as a reference run.

The format is coreai-torch's (0.4.3, coreai_torch/debugging/torch_utils.py, save_intermediates): data/*.npy and
metadata.json with "inputs", "outputs" and "intermediates". Core AI finds a tensor by the name of its torch.export node,
so names should be the dynamo exporter's.
"""
import json
import pathlib

import numpy as np

from .files import whole, write_text
from .folder import UsageError, check_free, file_part, lock
from .foreign import read_tensors

SUFFIX = ".aimodelintermediates"


class CoreAiFolder:
    """What was written, as plumb-golden's last lines and --json want it."""

    def __init__(self, path):
        self.path, self.device = path, "Core AI intermediates"
        self.files, self.names, self.notes, self.lost = [], set(), [], []
        self.probe, self.repeats = None, []

    def summary(self):
        return f"{len(self.files)} tensors in {self.path}"


def entries_of(path):
    """{tensor: its entry of the manifest, its last one as output}, {} without a manifest."""
    manifest = pathlib.Path(path) / "manifest.json"
    if not manifest.is_file():
        return {}
    files = json.loads(manifest.read_text(encoding="utf-8"))["files"]
    return {entry["blob"]: entry for entry in sorted(files, key=lambda entry: entry.get("direction") != "in")
            if isinstance(entry["blob"], str)}


def kind_of(name, entry, last):
    if entry.get("direction") == "in":
        return "inputs"
    return "outputs" if name == last else "intermediates"


def convert(source, output, force=False):
    """Writes the tensors of a dump folder, or of whatever read_tensors reads."""
    output = pathlib.Path(output)
    if output.suffix != SUFFIX:
        raise UsageError(f"-o names NAME{SUFFIX}, the folder that Core AI Debugger opens; found '{output}'")
    check_free(output, force)
    tensors, entries = read_tensors(source), entries_of(source)
    output.mkdir(parents=True, exist_ok=True)
    locked = lock(output)
    check_free(output, force)  # another run may have finished in between
    if (output / "data").is_symlink():
        raise UsageError(f"'{output / 'data'}' is a link to another folder; remove it, or give another with -o")
    (output / "data").mkdir(exist_ok=True)
    (output / "metadata.json").unlink(missing_ok=True)
    written = CoreAiFolder(output)
    metadata = {"inputs": {}, "outputs": {}, "intermediates": {}}
    outs = [name for name in tensors if entries.get(name, {}).get("direction") != "in"]
    for number, (name, array) in enumerate(tensors.items()):
        entry = entries.get(name, {})
        if entry.get("dtype") == "bf16" and array.dtype == np.uint16:  # as f32, as coreai-torch stores it
            array = (array.astype(np.uint32) << 16).view(np.float32)
        file = f"{file_part(name)}_{number:04d}.npy"
        with whole(output / "data" / file) as stream:
            np.save(stream, array, allow_pickle=False)
        kind = kind_of(name, entry, outs[-1] if outs else None)
        metadata[kind][name] = {
            "node_name": name, "node_op": "placeholder" if kind == "inputs" else "call_function",
            "node_target": entry.get("type") or name, "data_file": f"data/{file}", "shape": list(array.shape),
            "torch_dtype": f"torch.{array.dtype}", "numel": int(array.size)}
        written.files.append({"blob": name})
    write_text(output / "metadata.json", json.dumps(metadata, indent=2))
    locked.release()
    return written
