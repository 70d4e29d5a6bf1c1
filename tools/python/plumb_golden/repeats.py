# SPDX-License-Identifier: Apache-2.0
"""--runs, --threads and --batch: whether a runtime computes the same tensors again. Each variant is a dump of the same
recipe on the same inputs, compared tensor by tensor: equal bits need no measure, for others blob_diff has one
(probe.py). What changes first, in the order of the layers, is the operator to look at."""
import collections
import json
import pathlib
import subprocess
import tempfile

import numpy as np

from .draw import plumb_tool
from .folder import UsageError
from .probe import RESULTS


class How(collections.namedtuple("How", "threads warm batch", defaults=(None, 0, 1))):
    """How a recipe runs its model. threads: None is the recipe's own number; warm: so many runs of the same session go
    before the one that is dumped; batch: the inputs so many times, one behind the other."""

    def batched(self, feeds):
        if self.batch == 1:
            return feeds
        flat = [name for name, array in feeds.items() if np.ndim(array) == 0]
        if flat:
            raise UsageError(f"the input '{flat[0]}' is a scalar, which has no batch")
        return {name: np.concatenate([np.asarray(array)] * self.batch) for name, array in feeds.items()}


PLAIN = How()


def variants(runs, threads, batch):
    """[(the option, what it is, How)]."""
    found = [("--runs", "a fresh session", PLAIN) if number % 2 else
             ("--runs", "later runs of one session", How(warm=number)) for number in range(1, runs + 1)]
    if threads:
        found.append(("--threads", f"{threads} thread{'s' if threads > 1 else ''}", How(threads=threads)))
    if batch > 1:
        found.append(("--batch", f"a batch of {batch} times the input", How(batch=batch)))
    return found


def prove(folder, recipe, runs=0, threads=None, batch=1):
    """Notes in the Folder, which is finished, what became of its tensors; recipe(path, how) writes another dump."""
    found = {}
    for option, what, how in variants(runs, threads, batch):
        with tempfile.TemporaryDirectory(prefix="plumb_golden_") as work:
            try:
                one = compare(folder, recipe(pathlib.Path(work) / "again", how), how.batch)
            except UsageError as error:
                raise UsageError(f"{option}: with {what}: {' '.join(str(error).split())}") from error
        merge(found.setdefault(what, {"how": what, "runs": 0, "result": RESULTS[0], "tensors": 0, "changed": 0,
                                      "first": None, "relative": 0.0, "reason": ""}), one)
    if found:
        folder.repeats = list(found.values())
        folder.finish()


def merge(all_of_them, one):
    """The worst of several runs that were made the same way."""
    all_of_them["runs"] += 1
    worse = RESULTS.index(one["result"]) > RESULTS.index(all_of_them["result"])
    if worse or (one["changed"] and not all_of_them["changed"]) or all_of_them["runs"] == 1:
        all_of_them.update(one)


def parts_of(again, shape, batch):
    """The tensor's rows for each of the inputs; None where it has another shape."""
    if batch == 1:
        return [again] if list(again.shape) == list(shape) else None
    if not shape or list(again.shape) != [shape[0] * batch, *shape[1:]]:
        return None
    return np.split(again, batch)


def compare(folder, again, batch):
    others = {entry["blob"]: entry for entry in again.files}
    changed, tensors = {}, 0
    for entry in folder.files:
        other = others.get(entry["blob"])
        if entry["direction"] == "in" or other is None:
            continue
        one, two = np.load(folder.path / entry["file"]), np.load(again.path / other["file"])
        parts = parts_of(two, one.shape, batch)
        if parts is None:
            if batch > 1:
                continue  # has no batch, or is turned
            raise UsageError(f"tensor '{entry['blob']}' has the shape {list(two.shape)}, at first it had "
                             f"{list(one.shape)}")
        tensors += 1
        part = next((part for part in parts if part.tobytes() != one.tobytes()), None)
        if part is not None:
            changed[entry["blob"]] = (entry, one, part)
    if tensors == 0:
        raise UsageError("no tensor of it has the batch in front, so there is nothing to compare")
    return judged(changed, tensors)


def judged(changed, tensors):
    told = {"result": RESULTS[0], "tensors": tensors, "changed": len(changed), "first": None, "relative": 0.0,
            "reason": ""}
    if not changed:
        return told
    verdicts, rule = differences({name: (one, part) for name, (_, one, part) in changed.items()})
    wrong = [name for name in changed if verdicts[name]["verdict"] != "aligned"]
    first = wrong[0] if wrong else next(iter(changed))
    entry, pair = changed[first][0], verdicts[first]
    extremes = [abs(pair["a"][key]) for key in ("min", "max") if isinstance(pair["a"][key], (int, float))]
    known = isinstance(pair["max_abs"], (int, float)) and max(extremes, default=0) > 0
    told.update(result=RESULTS[2 if wrong else 1], relative=pair["max_abs"] / max(extremes) if known else None,
                first={"blob": first, "layer": entry["layer"], "type": entry["type"]},
                reason=f"{pair['reason']}; {rule}" if wrong else "")
    return told


def differences(pairs):
    """({name: blob_diff's pair}, its rule) of {name: (array, array)}."""
    tool = plumb_tool("blob_diff")
    if tool is None:
        raise UsageError("tensors differ from run to run, and blob_diff, which measures by how much, is not found; put "
                         "Plumb's tools on the path or set PLUMB_BIN_DIR")
    with tempfile.TemporaryDirectory(prefix="plumb_golden_") as work:
        work, names = pathlib.Path(work), list(pairs)
        for side in (0, 1):
            np.savez(work / f"{side}.npz", **{f"t{i}": pairs[name][side] for i, name in enumerate(names)})
        done = subprocess.run([tool, "--quiet", str(work / "0.npz"), str(work / "1.npz"), "--json",
                               str(work / "diff.json")], capture_output=True, text=True)
        if not (work / "diff.json").exists():
            raise UsageError(f"blob_diff cannot compare the runs: {done.stderr.strip()}")
        told = json.loads((work / "diff.json").read_text(encoding="utf-8"))
    return {names[int(pair["blob"][1:])]: pair for pair in told["pairs"]}, told["rule"]


def sentence(one):
    """Of one variant, for the last lines of the command."""
    text = f"repeated: with {one['how']}" + (f" ({one['runs']} times)" if one["runs"] > 1 else "")
    if not one["changed"]:
        return f"{text} {one['tensors']} tensors have the same bits"
    first = one["first"]
    which = "the first wrong one" if one["result"] == RESULTS[2] else "the first"
    kind = f" ({first['type']})" if first["type"] else ""
    by = "" if one["relative"] is None else f", by {one['relative']:.1e} of its largest value"
    return (f"{text} {one['changed']} of {one['tensors']} tensors change, {one['result']}; {which}: "
            f"'{first['blob']}'{kind}{by}{' (' + one['reason'] + ')' if one['reason'] else ''}")
