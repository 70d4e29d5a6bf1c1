# SPDX-License-Identifier: Apache-2.0
"""Healthy pipelines raise nothing; YOLOs-CPP#145's two causes come out of one run; the example of doc/pipeline.md
prints what the page says.

    pipelines_test.py --work FOLDER --bin FOLDER [--print]     with plumbnn on PYTHONPATH
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden")]
import packages  # noqa: E402
import planted_test  # noqa: E402

ROOT = HERE.parents[2]
WANTED = 20


def healthy(work):
    import healthy as right
    import plumbnn
    failed, table = [], right.pipelines()
    for name, original, port in table:
        sides = [planted_test.write(work / side, stages) for side, stages in (("original", original), ("port", port))]
        report = plumbnn.stage_diff(*sides)
        print(f"{report.verdict:<10} {name}")
        if report.verdict != "aligned":
            failed.append(f"{name}: {report.text(width=200)}")
    print(f"{len(table)} healthy pipelines, {len(table) - len(failed)} aligned")
    if len(table) < WANTED:
        failed.append(f"expected {WANTED} healthy pipelines or more")
    return failed


def rebuilt(work):
    """Both causes in one run."""
    import healthy as right
    import plumbnn
    original, port = right.yolos_cpp_145()
    report = plumbnn.stage_diff(planted_test.write(work / "original", original),
                                planted_test.write(work / "port", port))
    print(report.text(width=140))
    rows = {row["stage"]: row for row in report.samples[0]["stages"]}
    failed = []
    for stage, verdict, words in (("decode", "aligned", ""), ("resize", "introduced", "INTER_LINEAR"),
                                  ("resize", "introduced", "Pillow's antialiased BILINEAR"),
                                  ("crop", "introduced", "rounded down"), ("normalise", "inherited", "")):
        row = rows[stage]
        if row["verdict"] != verdict or words not in row["cause"]:
            failed.append(f"YOLOs-CPP#145: '{stage}' is {row['verdict']} ({row['cause']}), wanted {verdict} {words}")
    answer = report.samples[0]["answer"]
    if answer["same"]:
        failed.append("YOLOs-CPP#145: the port answers the same; another seed is needed")
    if answer["mended"] != answer["original"]:
        failed.append(f"YOLOs-CPP#145: mended it answers {answer['mended']}, the original {answer['original']}")
    return failed


def example(work, bin_folder):
    """What a user types and sees, as the page has it."""
    folder = work / "example"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in ("original.py", "port.py", "photo.png"):
        shutil.copy(ROOT / "examples/pipeline" / file, folder)
    for file in ("digits.tnnproto", "digits.tnnmodel"):
        shutil.copy(ROOT / "examples/digits" / file, folder)
    environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", "COLUMNS": "110"}

    def run(command):
        words = command.split()
        variables = dict(word.split("=", 1) for word in words if word.startswith("DUMP_"))
        words = [word for word in words if not word.startswith("DUMP_")]
        words[0] = sys.executable if words[0] == "python" else words[0]
        done = subprocess.run(words, cwd=folder, env={**environment, **variables}, capture_output=True, text=True)
        lines = [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]
        return "\n".join([f"$ {command}", *lines, ""])
    commands = ["DUMP_STAGE_DIR=original python original.py photo.png digits.tnnproto",
                "DUMP_STAGE_DIR=port python port.py photo.png digits.tnnproto",
                "stage_diff original port -m digits.tnnproto",
                "DUMP_STAGE_DIR=mended python port.py photo.png digits.tnnproto --mended",
                "stage_diff original mended -q"]
    return "\n".join(run(command) for command in commands)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--bin", required=True, type=os.path.abspath)
    parser.add_argument("--print", action="store_true", help="the example alone, for the page")
    options = parser.parse_args()
    packages.ensure(options.work / "stage", planted_test.PACKAGES, planted_test.MODULES)
    work = options.work / "pipelines"
    work.mkdir(parents=True, exist_ok=True)
    transcript = example(work, options.bin)
    print(transcript)
    if options.print:
        return 0
    failed = [] if transcript in (ROOT / "doc/pipeline.md").read_text(encoding="utf-8") else [
        "doc/pipeline.md does not hold what the example prints (--print)"]
    failed += rebuilt(work) + healthy(work)
    for reason in failed:
        print(f"FAILED: {reason}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
