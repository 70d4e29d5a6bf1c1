# SPDX-License-Identifier: Apache-2.0
"""Compares the verdicts of two builds over the same dumps: what was right before must stay right.

    compare_verdicts.py before/ after/ [--faulty]

Each side is a folder of reports (`model_check --json`), at any depth, or one report; they are paired by their paths
below the folder, and layers by the blobs that they write. Prints every layer whose verdict changed. Exit code: 1 where
a layer is judged worse than before (with --faulty, whose wrong layers are to stay wrong: milder) or a report or layer
is gone, 2 for what cannot be read, else 0.
"""
import argparse
import collections
import json
import pathlib
import sys

WORSE = ["aligned", "not tested", "grey", "wrong"]


class Unreadable(Exception):
    """One sentence."""


def reports(path):
    """{path below the folder: file}"""
    if path.is_dir():
        found = {str(file.relative_to(path)): file for file in sorted(path.rglob("*.json"))
                 if file.name != "manifest.json"}
        if not found:
            raise Unreadable(f"the folder '{path}' holds no .json; give what model_check --json wrote")
        return found
    if not path.exists():
        raise Unreadable(f"there is no file or folder '{path}'")
    return {"": path}


def layers(file):
    """{(device, blobs): layer} of a report, in order."""
    try:
        runs = json.loads(file.read_text(encoding="utf-8"))["runs"]
        return {(run["device"], *([o["blob"] for o in layer["outputs"]] or [layer["name"]])): layer
                for run in runs for layer in run["layers"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Unreadable(f"'{file}' is no report of model_check --json ({type(error).__name__}: {error})") from error


def differences(before, after, faulty):
    """(sentence, whether it is bad) of two reports' layers."""
    for key, old in before.items():
        new = after.get(key)
        if new is None:
            yield f"{old['name']}: {old['verdict']} -> gone", True
        elif new["verdict"] != old["verdict"]:
            rank = WORSE.index(new["verdict"]) - WORSE.index(old["verdict"])
            why = new.get("reason") or new.get("cause") or old.get("reason") or ""
            yield f"{old['name']}: {old['verdict']} -> {new['verdict']}: {why[:160]}", rank < 0 if faulty else rank > 0
    for key in after.keys() - before.keys():
        yield f"{after[key]['name']}: new, {after[key]['verdict']}", not faulty and after[key]["verdict"] == "wrong"


def compare(o):
    before, after = reports(o.before), reports(o.after)
    counts, bad = collections.Counter(), 0
    for name, file in before.items():
        if name not in after:
            print(f"{name}: gone")
            bad += 1
            continue
        old, new = layers(file), layers(after[name])
        counts.update(layer["verdict"] for layer in new.values())
        for sentence, worse in differences(old, new, o.faulty):
            print(f"{name or file.name}: {sentence}" + (" (bad)" if worse else ""))
            bad += worse
    print(f"{len(before)} reports; now {', '.join(f'{counts[word]} {word}' for word in WORSE)}; {bad} bad changes")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("--faulty", action="store_true", help="the runs are faulty: wrong is to stay wrong")
    try:
        sys.exit(compare(parser.parse_args()))
    except Unreadable as error:
        print(f"compare_verdicts.py: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
