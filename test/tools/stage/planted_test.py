# SPDX-License-Identifier: Apache-2.0
"""Every convention of planted.py, planted once, is named; healthy pipelines of several libraries raise nothing. The
table goes into doc/pipeline.md, which must say what this prints.

    planted_test.py --work FOLDER [--only STAGE] [--print]     with plumbnn on PYTHONPATH
"""
import argparse
import json
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden")]
import packages  # noqa: E402

PACKAGES = ["numpy", "opencv-python-headless", "pillow", "simplejpeg", "torch", "torchvision"]
MODULES = ["numpy", "cv2", "PIL", "torch", "torchvision"]
PAGE = HERE.parents[2] / "doc" / "pipeline.md"
WANTED, RIGHT = 100, 0.95


def write(folder, stages):
    """[(name, array, fields of its entry)] as a sample's folder."""
    import numpy as np
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    dtypes = {"uint8": "u8", "int8": "i8", "float16": "f16", "float32": "f32", "float64": "f64", "int64": "i64",
              "uint16": "u16", "int32": "i32"}
    files = []
    for index, (name, array, fields) in enumerate(stages):
        file = f"{index:05}.npy"
        array = np.ascontiguousarray(array)
        np.save(folder / file, array)
        files.append({"file": file, "blob": name, "shape": list(array.shape), "dtype": dtypes[array.dtype.name],
                      **fields})
    (folder / "manifest.json").write_text(json.dumps({"files": files}))
    return folder


def plant(work, row):
    """(what stage_diff says, whether it named it)."""
    import planted
    import plumbnn
    stage, original, port, words = row
    name, _, file = stage.partition(":")
    before = planted.before(stage)
    fields = {"parameters": {"file": str(work / file)}} if file else {}
    sides = []
    for side, compute in (("original", original), ("port", port)):
        if isinstance(before, dict):
            stages = [(part, values, {}) for part, values in before.items()]
            fields = {"parameters": {"of": ", ".join(before)}}
        else:
            stages = [] if before is None else [("before", before, {})]
        sides.append(write(work / side, [*stages, (name, compute(before), fields)]))
    report = plumbnn.stage_diff(*sides)
    guilty = report.first_guilty
    if guilty is None or guilty["stage"] != name:
        return f"no guilty stage: {report.summary.strip()}", False
    says = "; ".join([guilty["port_does"], guilty["cause"].rpartition("the port")[2], guilty["reason"]])
    return says, words in says


def table_of(results):
    """Per family: how many were planted and named."""
    counts = {}
    for (stage, _, _, _), (_, right) in results:
        family = stage.partition(":")[0].partition("_")[0]
        planted, named = counts.get(family, (0, 0))
        counts[family] = planted + 1, named + right
    lines = ["| stage | planted | named with the right variant |", "|---|---|---|"]
    lines += [f"| {family} | {planted} | {named} |" for family, (planted, named) in counts.items()]
    total = [sum(column) for column in zip(*counts.values())]
    return [*lines, f"| all | {total[0]} | {total[1]} |"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--bin", help="not used: the library does the work")
    parser.add_argument("--only", default="")
    parser.add_argument("--print", action="store_true", help="the table alone, for the page")
    options = parser.parse_args()
    packages.ensure(options.work / "stage", PACKAGES, MODULES)
    import planted
    work = options.work / "planted"
    work.mkdir(parents=True, exist_ok=True)
    results = []
    for row in planted.rows(set(MODULES), work):
        if not row[0].startswith(options.only):
            continue
        says, right = plant(work, row)
        results.append((row, (says, right)))
        if not options.print:
            print(f"{'right' if right else 'WRONG'}  {row[0]:<16} wanted '{row[3]}'\n       {says}", flush=True)
    table = table_of(results)
    print("\n".join(table))
    named = sum(right for _, (_, right) in results)
    print(f"{len(results)} planted, {named} named with the right variant")
    if options.only or options.print:
        return 0
    failed = []
    if len(results) < WANTED or named < RIGHT * len(results):
        failed.append(f"expected {WANTED} planted or more and {RIGHT:.0%} named")
    page = PAGE.read_text(encoding="utf-8")
    failed += [f"doc/pipeline.md lacks the line '{line}'" for line in table if line not in page]
    for reason in failed:
        print(f"FAILED: {reason}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
